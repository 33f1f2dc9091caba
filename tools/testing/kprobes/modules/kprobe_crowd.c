// SPDX-License-Identifier: GPL-2.0
/*
 * Sets and removes many probes on command, and measures the cost.
 *
 * The addresses are read from a file, one a line. In debugfs:
 *
 *	kprobe_crowd/run	write: a command, one of
 *		set N		all up to the Nth, in one call
 *		set_each N	one call each
 *		remove N	all but the first N, in one call
 *		remove_each N	one call each
 *		grow N		one call each, skipping refused addresses;
 *				only "grow" may follow until all are removed
 *		settle N	like "set", timed as "set_ns", then wait until no
 *				more of them become jumps. The cost is that of the
 *				wait; "done" is the number of jumps
 *	kprobe_crowd/result	read: the cost of the last command
 *
 * A command with one call each ends after "seconds".
 *
 * With returns=1 they are return probes.
 *
 * With find=1 there are no commands: loading tries all addresses with disabled probes,
 * and kprobe_crowd/result has those that can carry one.
 *
 * This uses the public API only, so that it measures any implementation.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/kernel_read_file.h>
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/tick.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <asm/text-patching.h>

#include "kprobe_common.h"

static char *sites = "/sites";
module_param(sites, charp, 0444);
MODULE_PARM_DESC(sites, "file of addresses to set probes on, one a line");

static int nr = 10000;
module_param(nr, int, 0444);
MODULE_PARM_DESC(nr, "how many of them");

static bool find;
module_param(find, bool, 0444);
MODULE_PARM_DESC(find, "try them, and show which can carry a probe");

static int seconds = 60;
module_param(seconds, int, 0644);
MODULE_PARM_DESC(seconds, "what is done in one call each ends after this time");

static bool returns;
module_param(returns, bool, 0444);
MODULE_PARM_DESC(returns, "return probes instead");

/* Only one of the two pairs is used. */
static struct kprobe *probes;
static struct kprobe **batch;
static struct kretprobe *ret_probes;
static struct kretprobe **ret_batch;
static int count, offered;
static struct dentry *dir;

/* Protects all variables here, and the probes. */
static DEFINE_MUTEX(lock);

/*
 * The cost of one command. "Grace periods" are all that began and ended meanwhile, whoever
 * asked for them.
 */
static struct {
	u64 ns;
	u64 set_ns;	/* of "settle" */
	u64 idle_us;
	struct rcu_gp_oldstate rcu;
	int done;
} took;

static int pre(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static int on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

/* The address of the Ith probe */
static kprobe_opcode_t **address(int i)
{
	return returns ? &ret_probes[i].kp.addr : &probes[i].addr;
}

/*
 * Makes the Ith probe of the batch one for the NRth address read, as if it had never been
 * registered.
 */
static void fresh(int i, int nr, u32 flags)
{
	kprobe_opcode_t *addr = *address(nr);

	if (returns) {
		ret_probes[nr] = (struct kretprobe){
			.kp.addr = addr,
			.kp.flags = flags,
			.handler = on_return,
		};
		ret_batch[i] = &ret_probes[nr];
	} else {
		probes[nr] = (struct kprobe){
			.addr = addr,
			.pre_handler = pre,
			.flags = flags,
		};
		batch[i] = &probes[nr];
	}
}

static int enter(int from, int n)
{
	return returns ? register_kretprobes(ret_batch + from, n) :
			 register_kprobes(batch + from, n);
}

static int enter_one(int i)
{
	return returns ? register_kretprobe(ret_batch[i]) : register_kprobe(batch[i]);
}

static void leave(int from, int n)
{
	if (returns)
		unregister_kretprobes(ret_batch + from, n);
	else
		unregister_kprobes(batch + from, n);
}

static void leave_one(int i)
{
	if (returns)
		unregister_kretprobe(ret_batch[i]);
	else
		unregister_kprobe(batch[i]);
}

static u64 idle_us(void)
{
	u64 sum = 0;
	int cpu;

	for_each_online_cpu(cpu)
		sum += get_cpu_idle_time_us(cpu, NULL);
	return sum;
}

static void begin(void)
{
	get_state_synchronize_rcu_full(&took.rcu);
	took.idle_us = idle_us();
	took.ns = ktime_get_ns();
}

static void end(int done)
{
	struct rcu_gp_oldstate now;

	took.ns = ktime_get_ns() - took.ns;
	took.idle_us = idle_us() - took.idle_us;
	get_state_synchronize_rcu_full(&now);
	/* The two low bits are the state of the current grace period. */
	took.rcu.rgos_norm = (now.rgos_norm - took.rcu.rgos_norm) >> 2;
	took.rcu.rgos_exp = (now.rgos_exp - took.rcu.rgos_exp) >> 2;
	took.done = done;
}

static bool late(u64 began)
{
	return ktime_get_ns() - began > (u64)seconds * NSEC_PER_SEC;
}

static int set(int until)
{
	int err, from = count, i;

	for (i = from; i < until; i++)
		fresh(i, i, 0);
	begin();
	err = enter(from, until - from);
	if (!err)
		count = until;
	end(count - from);
	return err;
}

static int set_each(int until)
{
	int err = 0, from = count, i;

	for (i = from; i < until; i++)
		fresh(i, i, 0);
	begin();
	while (count < until && !late(took.ns)) {
		err = enter_one(count);
		if (err)
			break;
		count++;
		cond_resched();
	}
	end(count - from);
	return err;
}

static int grow(int until)
{
	int from = count;

	if (!count)
		offered = 0;
	begin();
	while (count < until && offered < nr && !late(took.ns)) {
		fresh(count, offered++, 0);
		if (!enter_one(count))
			count++;
		cond_resched();
	}
	end(count - from);
	return 0;
}

/* The number of jumps now, taken from the text, so it works with any implementation. */
static int jumps(void)
{
	int i, n = 0;

	for (i = 0; i < count; i++)
		n += *(u8 *)batch[i]->addr == JMP32_INSN_OPCODE;
	return n;
}

/* Not a limit on speed: in an emulator, points that the optimizer itself hits took 48 s. */
#define SETTLE_NS	(120ULL * NSEC_PER_SEC)

/* The optimizer does not tell when it is done: it is after three seconds without a change. */
static int settle(int until)
{
	u64 began, last, idle, idle_last;
	int err, n, had = 0;

	if (returns)
		return -EINVAL;
	err = set(until);
	if (err)
		return err;
	took.set_ns = took.ns;
	begin();
	began = took.ns;
	idle = took.idle_us;
	last = began;
	idle_last = idle;
	/* On a busy machine a grace period may take longer than that. */
	while ((!had || ktime_get_ns() - last < 3ULL * NSEC_PER_SEC) &&
	       ktime_get_ns() - began < SETTLE_NS) {
		msleep(50);
		n = jumps();
		if (n == had)
			continue;
		had = n;
		last = ktime_get_ns();
		idle_last = idle_us();
	}
	end(had);
	took.ns = last - began;
	took.idle_us = idle_last - idle;
	return 0;
}

static int remove(int downto)
{
	int from = count;

	begin();
	leave(downto, count - downto);
	count = downto;
	end(from - downto);
	return 0;
}

static int remove_each(int downto)
{
	int from = count;

	begin();
	while (count > downto && !late(took.ns)) {
		leave_one(--count);
		cond_resched();
	}
	end(from - count);
	if (count > downto)
		leave(downto, count - downto);
	count = downto;
	return 0;
}

static ssize_t run_write(struct file *file, const char __user *user,
			 size_t len, loff_t *pos)
{
	char buf[32], what[16];
	int n, err;

	err = copy_text(buf, sizeof(buf), user, len);
	if (err)
		return err;
	if (sscanf(buf, "%15s %d", what, &n) != 2)
		return -EINVAL;

	mutex_lock(&lock);
	err = -EINVAL;
	if (n > count && n <= nr) {
		if (!strcmp(what, "set"))
			err = set(n);
		else if (!strcmp(what, "set_each"))
			err = set_each(n);
		else if (!strcmp(what, "grow"))
			err = grow(n);
		else if (!strcmp(what, "settle"))
			err = settle(n);
	} else if (n >= 0 && n < count) {
		if (!strcmp(what, "remove"))
			err = remove(n);
		else if (!strcmp(what, "remove_each"))
			err = remove_each(n);
	}
	mutex_unlock(&lock);
	return err ?: len;
}
DEFINE_WRITE_ATTRIBUTE(run);

static int result_show(struct seq_file *m, void *unused)
{
	int i;

	mutex_lock(&lock);
	if (find)
		for (i = 0; i < count; i++)
			seq_printf(m, "%lx\n", (unsigned long)batch[i]->addr);
	else
		seq_printf(m, "done %d\nns %llu\nset_ns %llu\nbusy_ns %lld\ngrace %lu\nexpedited %lu\nsizeof %zu\n",
			   took.done, took.ns, took.set_ns,
			   took.ns - took.idle_us * NSEC_PER_USEC,
			   took.rcu.rgos_norm, took.rcu.rgos_exp,
			   returns ? sizeof(struct kretprobe) : sizeof(struct kprobe));
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

/* Tries the addresses with disabled probes, which is faster. */
static int read_sites(void)
{
	int n = 0;
	unsigned long addr;
	char *line, *next;
	void *buf = NULL;
	ssize_t len;

	len = kernel_read_file_from_path(sites, 0, &buf, SZ_16M, NULL,
					 READING_UNKNOWN);
	if (len <= 0) {
		pr_err("cannot read %s: %zd\n", sites, len);
		return len ?: -EINVAL;
	}
	((char *)buf)[len - 1] = '\0';
	next = buf;
	while (n < nr && (line = strsep(&next, "\n"))) {
		if (kstrtoul(line, 16, &addr))
			break;
		offered++;
		*address(n) = (kprobe_opcode_t *)addr;
		if (find) {
			fresh(n, n, KPROBE_FLAG_DISABLED);
			if (enter_one(n))
				continue;
			cond_resched();
		}
		n++;
	}
	vfree(buf);
	if (find) {
		pr_info("%d of %d can carry a probe\n", n, offered);
		count = n;
		nr = n;
	}
	if (n == nr)
		return 0;
	pr_err("%s has only %d of %d addresses\n", sites, n, nr);
	return -EINVAL;
}

static void free_all(void)
{
	vfree(batch);
	vfree(probes);
	vfree(ret_batch);
	vfree(ret_probes);
}

static int __init kprobe_crowd_init(void)
{
	int err = -ENOMEM;

	if (nr <= 0)
		return -EINVAL;
	if (returns) {
		ret_probes = vcalloc(nr, sizeof(*ret_probes));
		ret_batch = vcalloc(nr, sizeof(*ret_batch));
	} else {
		probes = vcalloc(nr, sizeof(*probes));
		batch = vcalloc(nr, sizeof(*batch));
	}
	if ((probes && batch) || (ret_probes && ret_batch))
		err = read_sites();
	if (err) {
		free_all();
		return err;
	}
	dir = control_dir(&run_fops, &result_fops);
	return 0;
}

static void __exit kprobe_crowd_exit(void)
{
	debugfs_remove(dir);
	if (count)
		leave(0, count);
	free_all();
}

module_init(kprobe_crowd_init);
module_exit(kprobe_crowd_exit);

MODULE_DESCRIPTION("Kprobes: a crowd of probes, to see what it costs");
MODULE_LICENSE("GPL");
