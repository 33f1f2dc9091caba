// SPDX-License-Identifier: GPL-2.0
/*
 * Tests that return probes pair every entry with its return, and lose none.
 *
 *	kprobe_returns/sleepers	write TASKS CALLS: that many tasks sleep at once
 *				in a function with a return probe that leaves
 *				maxactive to the kernel, again and again, until
 *				there were that many calls. It begins with
 *				bursts, in which all tasks are in a call at the
 *				same time, until one of them misses none
 *	kprobe_returns/pairing	write SECONDS: for that time, 64 tasks call each
 *				other's functions, to a depth of 50
 *	kprobe_returns/hold	write 1 during a pairing run: all tasks stop in
 *				these functions, and none is on a CPU; write 0:
 *				they go on. Fails if the run has ended, or ends
 *				meanwhile.
 *	kprobe_returns/maxactive
 *				write N: registers a return probe with that
 *				maxactive and removes it
 *	kprobe_returns/result	read: the result of the last run
 *
 * In a pairing run each of two functions, an ftrace site and one that is not, has two
 * return probes, and the former an fprobe as well. A third function, which jumps to the
 * former, has one return probe: in its calls, return probes replace the return address
 * before the fprobe and after it. All tasks sleep, take faults that
 * are fixed up, and get signals meanwhile. For each probe, each task has a list of the
 * calls that it is in: a return has to belong to the latest entry, and have the
 * argument of that call.
 *
 * This uses the public API only, so that it tests any implementation.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fprobe.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <asm/asm.h>

#include "kprobe_common.h"

#define TASKS		64
#define DEPTH		50
#define PROBES		5
#define WATCHERS	(PROBES + 1)	/* the last is the fprobe */
#define MAX_IN		(DEPTH + 1)

/**
 * struct caller - a task of a pairing run
 * @rnd:   random numbers, which choose what it does next
 * @in:	   the arguments of the calls that it is in, for each probe and the fprobe
 * @nr_in: the number of those calls
 */
struct caller {
	struct rnd_state rnd;
	unsigned long in[WATCHERS][MAX_IN];
	unsigned int nr_in[WATCHERS];
};

static DEFINE_MUTEX(lock);
static char result[512];
static struct dentry *dir;
static void *nowhere;
static bool stop;
static atomic_long_t calls, entries, returns, wrong, fprobe_entries, fprobe_returns;

/* ------------------------------- Sleepers ------------------------------- */

/* As long as it takes the pool to grow, however slow its worker is. */
#define MAX_BURSTS	20

static unsigned long calls_each;
static bool burst;
static atomic_t in_burst;
static DECLARE_COMPLETION(all_in);
static DECLARE_COMPLETION(go_on);

/* Without a time, it waits for the end of the burst. */
static noinline unsigned long sleeps(unsigned long ms)
{
	if (ms) {
		msleep(ms);
	} else {
		atomic_inc(&in_burst);
		wait_for_completion(&all_in);
	}
	return RESULT(ms);
}

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_long_inc(&returns);
	return 0;
}

static int sleeper_thread(void *unused)
{
	unsigned long i;

	do {
		if (sleeps(0) != RESULT(0))
			atomic_long_inc(&wrong);
		atomic_long_inc(&calls);
		atomic_dec(&in_burst);
		wait_for_completion(&go_on);
	} while (READ_ONCE(burst));
	for (i = 1; i < calls_each; i++) {
		if (sleeps(20) != RESULT(20))
			atomic_long_inc(&wrong);
		atomic_long_inc(&calls);
	}
	return threads_stay();
}

/* Returns how many bursts there were. */
static unsigned int run_bursts(struct kretprobe *rp, unsigned int nr)
{
	unsigned int nr_bursts = 0, missed = 0, before;

	do {
		while (atomic_read(&in_burst) < nr)
			msleep(20);
		before = missed;
		missed = READ_ONCE(rp->nmissed);
		WRITE_ONCE(burst, ++nr_bursts < MAX_BURSTS && missed != before);
		reinit_completion(&go_on);
		complete_all(&all_in);
		while (atomic_read(&in_burst))
			msleep(20);
		reinit_completion(&all_in);
		complete_all(&go_on);
	} while (burst);
	return nr_bursts;
}

static int run_sleepers(unsigned int nr, unsigned long nr_calls)
{
	struct kretprobe rp = {
		.kp.addr = (kprobe_opcode_t *)sleeps,
		.handler = count_return,
	};
	struct task_struct **tasks;
	unsigned int i, missed, nr_bursts;
	int ret;

	tasks = kvcalloc(nr, sizeof(*tasks), GFP_KERNEL);
	if (!tasks)
		return -ENOMEM;
	ret = register_kretprobe(&rp);
	if (ret)
		goto out;

	calls_each = max(nr_calls / nr, 2ul);
	reinit_completion(&all_in);
	reinit_completion(&go_on);
	atomic_set(&in_burst, 0);
	for (i = 0; i < nr; i++) {
		tasks[i] = kthread_create(sleeper_thread, NULL, "kpr_sleep/%u", i);
		if (IS_ERR(tasks[i])) {
			ret = PTR_ERR(tasks[i]);
			break;
		}
	}
	nr = i;
	for (i = 0; i < nr; i++)
		wake_up_process(tasks[i]);
	nr_bursts = run_bursts(&rp, nr);
	missed = READ_ONCE(rp.nmissed);
	while (!ret && atomic_long_read(&calls) < nr * (nr_bursts + calls_each - 1))
		msleep(20);
	for (i = 0; i < nr; i++)
		kthread_stop(tasks[i]);
	unregister_kretprobe(&rp);
	snprintf(result, sizeof(result),
		 "tasks %u\ncalls %ld\nreturns %ld\nmissed_first %u\nmissed_later %u\nwrong %ld\n",
		 nr, atomic_long_read(&calls), atomic_long_read(&returns), missed,
		 rp.nmissed - missed, atomic_long_read(&wrong));
out:
	kvfree(tasks);
	return ret;
}

/* ------------------------------- Holding -------------------------------- */

/*
 * A stack can be checked only if its task does not start to run during the walk.
 */
static DEFINE_MUTEX(hold_lock);		/* protects the following */
static struct task_struct *callers_of_run[TASKS];
static unsigned int nr_callers;		/* 0 if there is no run */
static bool hold;
static atomic_t nr_held;
static DECLARE_WAIT_QUEUE_HEAD(hold_over);

static noinline notrace void be_held(void)
{
	atomic_inc(&nr_held);
	wait_event(hold_over, !READ_ONCE(hold));
	atomic_dec(&nr_held);
}

static bool on_a_cpu(struct task_struct *t)
{
#ifdef CONFIG_SMP
	/* Pairs with the end of the context switch, in finish_task(). */
	if (smp_load_acquire(&t->on_cpu))
		return true;
#endif
	return task_is_running(t);
}

static void hold_all(void)
{
	unsigned int i;

	WRITE_ONCE(hold, true);
	while (atomic_read(&nr_held) < nr_callers)
		msleep(20);
	/* It is counted, but may not be asleep yet. */
	for (i = 0; i < nr_callers; i++) {
		while (on_a_cpu(callers_of_run[i]))
			msleep(20);
	}
}

static void let_all_go(void)
{
	WRITE_ONCE(hold, false);
	wake_up_all(&hold_over);
	while (atomic_read(&nr_held))
		msleep(20);
}

static void run_begins(struct task_struct **tasks, unsigned int nr)
{
	mutex_lock(&hold_lock);
	memcpy(callers_of_run, tasks, nr * sizeof(*tasks));
	nr_callers = nr;
	mutex_unlock(&hold_lock);
}

static void run_ends(void)
{
	unsigned int i;

	/* The reader of the stacks ends this, or else a timeout. */
	for (i = 0; READ_ONCE(hold) && i < 3000; i++)
		msleep(20);
	mutex_lock(&hold_lock);
	nr_callers = 0;
	let_all_go();
	mutex_unlock(&hold_lock);
}

/* ------------------------------- Pairing -------------------------------- */

static unsigned long traced(struct caller *c, unsigned long x, unsigned long depth);
static unsigned long tails(struct caller *c, unsigned long x, unsigned long depth);

/* A page fault that the exception tables fix up. */
static __always_inline void fault(void)
{
	unsigned long x = 0;

	asm volatile("1: " _ASM_MOV " (%1), %0\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : "+r" (x) : "r" (nowhere));
}

static __always_inline void disturb(struct caller *c)
{
	u32 r = prandom_u32_state(&c->rnd);

	if (r % 16 == 0)
		fault();
	if (r % 64 == 1)
		msleep_interruptible(1 + (r >> 8) % 10);
	if (r % 64 == 2)
		cond_resched();
	if (READ_ONCE(hold))
		be_held();
}

static noinline notrace unsigned long plain(struct caller *c, unsigned long x,
					    unsigned long depth)
{
	disturb(c);
	if (depth && traced(c, x + 1, depth - 1) != RESULT(x + 1))
		atomic_long_inc(&wrong);
	disturb(c);
	return RESULT(x);
}

static noinline unsigned long traced(struct caller *c, unsigned long x,
				     unsigned long depth)
{
	unsigned long ret;
	u32 r;

	disturb(c);
	if (depth) {
		r = prandom_u32_state(&c->rnd);
		if (r & 1)
			ret = plain(c, x + 1, depth - 1);
		else if (r & 2)
			ret = tails(c, x + 1, depth - 1);
		else
			ret = traced(c, x + 1, depth - 1);
		if (ret != RESULT(x + 1))
			atomic_long_inc(&wrong);
	}
	disturb(c);
	return RESULT(x);
}

/* A jump, not a call: it leaves nothing on the stack except a return probe. */
static noinline notrace unsigned long tails(struct caller *c, unsigned long x,
					    unsigned long depth)
{
	return traced(c, x, depth);
}

static void enters(struct caller *c, unsigned int which, unsigned long x)
{
	if (c->nr_in[which] == MAX_IN)
		atomic_long_inc(&wrong);
	else
		c->in[which][c->nr_in[which]++] = x;
}

static void leaves(struct caller *c, unsigned int which, unsigned long x,
		   unsigned long value)
{
	if (!c->nr_in[which] || c->in[which][--c->nr_in[which]] != x || value != RESULT(x))
		atomic_long_inc(&wrong);
}

struct watched {
	struct caller *caller;
	unsigned long x;
};

static struct kretprobe probes[PROBES];

static int on_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct watched *w = (struct watched *)ri->data;

	w->caller = (struct caller *)regs_get_kernel_argument(regs, 0);
	w->x = regs_get_kernel_argument(regs, 1);
	enters(w->caller, get_kretprobe(ri) - probes, w->x);
	atomic_long_inc(&entries);
	return 0;
}

static int on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct watched *w = (struct watched *)ri->data;

	leaves(w->caller, get_kretprobe(ri) - probes, w->x, regs_return_value(regs));
	atomic_long_inc(&returns);
	return 0;
}

#ifdef CONFIG_FPROBE
static int on_fprobe_entry(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			   struct pt_regs *regs, void *data)
{
	struct watched *w = data;

	w->caller = (struct caller *)regs_get_kernel_argument(regs, 0);
	w->x = regs_get_kernel_argument(regs, 1);
	enters(w->caller, PROBES, w->x);
	atomic_long_inc(&fprobe_entries);
	return 0;
}

static void on_fprobe_exit(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			   struct pt_regs *regs, void *data)
{
	struct watched *w = data;

	leaves(w->caller, PROBES, w->x, regs_return_value(regs));
	atomic_long_inc(&fprobe_returns);
}

static struct fprobe fprobe;
#endif

static int caller_thread(void *arg)
{
	struct caller *c = arg;

	allow_signal(SIGUSR1);
	while (!READ_ONCE(stop)) {
		unsigned long x = prandom_u32_state(&c->rnd);

		if (traced(c, x, x % (DEPTH + 1)) != RESULT(x))
			atomic_long_inc(&wrong);
		atomic_long_inc(&calls);
		flush_signals(current);
		cond_resched_tasks_rcu_qs();
	}
	return threads_stay();
}

static void *const probed[PROBES] = { traced, plain, traced, plain, tails };

static int set_probes(void)
{
	struct kretprobe *rps[PROBES];
	unsigned int i;
	int ret;

	for (i = 0; i < PROBES; i++) {
		probes[i] = (struct kretprobe){
			.kp.addr = probed[i],
			.entry_handler = on_entry,
			.handler = on_return,
			.maxactive = TASKS * (DEPTH + 2),
			.data_size = sizeof(struct watched),
		};
		rps[i] = &probes[i];
	}
	/* One is registered before the fprobe, the others after it. */
	ret = register_kretprobe(rps[0]);
#ifdef CONFIG_FPROBE
	if (!ret) {
		unsigned long ip = (unsigned long)traced;

		/* The counts still include what the last run freed. */
		fprobe = (struct fprobe){
			.entry_data_size = sizeof(struct watched),
			.nr_maxactive = TASKS * (DEPTH + 2),
			.entry_handler = on_fprobe_entry,
			.exit_handler = on_fprobe_exit,
		};
		ret = register_fprobe_ips(&fprobe, &ip, 1);
		if (ret)
			unregister_kretprobe(rps[0]);
	}
#endif
	if (!ret) {
		ret = register_kretprobes(rps + 1, PROBES - 1);
		if (ret) {
#ifdef CONFIG_FPROBE
			unregister_fprobe(&fprobe);
#endif
			unregister_kretprobe(rps[0]);
		}
	}
	return ret;
}

static void remove_probes(void)
{
	unsigned int i;

	for (i = 0; i < PROBES; i++)
		unregister_kretprobe(&probes[i]);
#ifdef CONFIG_FPROBE
	unregister_fprobe(&fprobe);
#endif
}

static int run_pairing(unsigned int seconds)
{
	struct task_struct *tasks[TASKS];
	unsigned int i, nr, round, missed = 0;
	struct caller *callers;
	int ret;

	callers = kvcalloc(TASKS, sizeof(*callers), GFP_KERNEL);
	if (!callers)
		return -ENOMEM;
	ret = set_probes();
	if (ret)
		goto out;

	WRITE_ONCE(stop, false);
	for (nr = 0; nr < TASKS; nr++) {
		prandom_seed_state(&callers[nr].rnd, nr + 1);
		tasks[nr] = kthread_run(caller_thread, &callers[nr], "kpr_pair/%u", nr);
		if (IS_ERR(tasks[nr])) {
			ret = PTR_ERR(tasks[nr]);
			break;
		}
	}
	if (!ret)
		run_begins(tasks, nr);
	for (round = 0; !ret && round < seconds * 50; round++) {
		msleep(20);
		send_sig(SIGUSR1, tasks[round % nr], 1);
	}
	run_ends();
	WRITE_ONCE(stop, true);
	for (i = 0; i < nr; i++)
		kthread_stop(tasks[i]);
	remove_probes();
	for (i = 0; i < PROBES; i++)
		missed += probes[i].nmissed;
	snprintf(result, sizeof(result),
		 "calls %ld\nentries %ld\nreturns %ld\nfprobe_entries %ld\nfprobe_returns %ld\nmissed %u\nwrong %ld\n",
		 atomic_long_read(&calls), atomic_long_read(&entries),
		 atomic_long_read(&returns), atomic_long_read(&fprobe_entries),
		 atomic_long_read(&fprobe_returns), missed, atomic_long_read(&wrong));
out:
	kvfree(callers);
	return ret;
}

/* ------------------------------ Control files --------------------------- */

static void start_over(void)
{
	atomic_long_set(&calls, 0);
	atomic_long_set(&entries, 0);
	atomic_long_set(&returns, 0);
	atomic_long_set(&fprobe_entries, 0);
	atomic_long_set(&fprobe_returns, 0);
	atomic_long_set(&wrong, 0);
	result[0] = '\0';
}

static ssize_t sleepers_write(struct file *file, const char __user *ubuf, size_t count,
			      loff_t *ppos)
{
	unsigned long nr_calls;
	unsigned int nr;
	char buf[32];
	int ret;

	ret = copy_text(buf, sizeof(buf), ubuf, count);
	if (ret)
		return ret;
	if (sscanf(buf, "%u %lu", &nr, &nr_calls) != 2 || !nr)
		return -EINVAL;
	mutex_lock(&lock);
	start_over();
	ret = run_sleepers(nr, nr_calls);
	mutex_unlock(&lock);
	return ret ? ret : count;
}
DEFINE_WRITE_ATTRIBUTE(sleepers);

static int start_pairing(unsigned int seconds)
{
	start_over();
	return run_pairing(seconds);
}

DEFINE_WRITE_ATTRIBUTE_BY(pairing, write_seconds, &lock, start_pairing);

static ssize_t hold_write(struct file *file, const char __user *ubuf, size_t count,
			  loff_t *ppos)
{
	bool on;
	int ret;

	ret = kstrtobool_from_user(ubuf, count, &on);
	if (ret)
		return ret;
	mutex_lock(&hold_lock);
	if (!nr_callers || on == hold)
		ret = -ESRCH;
	else if (on)
		hold_all();
	else
		let_all_go();
	mutex_unlock(&hold_lock);
	return ret ? ret : count;
}
DEFINE_WRITE_ATTRIBUTE(hold);

static ssize_t maxactive_write(struct file *file, const char __user *ubuf, size_t count,
			       loff_t *ppos)
{
	struct kretprobe rp = {
		.kp.addr = (kprobe_opcode_t *)sleeps,
		.handler = count_return,
	};
	int ret;

	ret = kstrtoint_from_user(ubuf, count, 0, &rp.maxactive);
	if (ret)
		return ret;
	ret = register_kretprobe(&rp);
	if (ret)
		return ret;
	unregister_kretprobe(&rp);
	return count;
}
DEFINE_WRITE_ATTRIBUTE(maxactive);

static int result_show(struct seq_file *m, void *v)
{
	seq_puts(m, result);
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(result);

static void *page;

static int __init kprobe_returns_init(void)
{
	page = vmalloc(PAGE_SIZE);
	if (!page)
		return -ENOMEM;
	/* Nothing is mapped after this page. */
	nowhere = page + PAGE_SIZE;
	dir = debugfs_create_dir("kprobe_returns", NULL);
	debugfs_create_file("sleepers", 0200, dir, NULL, &sleepers_fops);
	debugfs_create_file("pairing", 0200, dir, NULL, &pairing_fops);
	debugfs_create_file("hold", 0200, dir, NULL, &hold_fops);
	debugfs_create_file("maxactive", 0200, dir, NULL, &maxactive_fops);
	debugfs_create_file("result", 0400, dir, NULL, &result_fops);
	return 0;
}

static void __exit kprobe_returns_exit(void)
{
	debugfs_remove_recursive(dir);
	vfree(page);
}

module_init(kprobe_returns_init);
module_exit(kprobe_returns_exit);

MODULE_DESCRIPTION("Whether return probes pair entries and returns");
MODULE_LICENSE("GPL");
