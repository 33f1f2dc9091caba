// SPDX-License-Identifier: GPL-2.0
/*
 * All CPUs hit probes at once, to see if each hit is counted, and what the CPUs share.
 *
 *	echo "plain one" >/sys/kernel/debug/kprobe_cpus/run
 *	cat /sys/kernel/debug/kprobe_cpus/result
 *
 * The first word is the kind of site, "plain" or "traced", with "_return" for
 * a return probe; "control" sets no probe but makes all CPUs write to one
 * variable. With "one" all CPUs call the same function, with "distinct" each
 * calls its own.
 *
 * This uses the public API only, so that it works with any implementation.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "kprobe_common.h"

#define MAX_CPUS	8
/* Calls in one window, in which interrupts are off, and in a run. */
#define CALLS		50
#define WINDOWS		200

static int settle = 2000;
module_param(settle, int, 0644);
MODULE_PARM_DESC(settle, "milliseconds from setting probes to hitting them");

/*
 * Long nops that no other code uses, as marks for QEMU's plugin: the next run begins; from
 * here on this CPU only calls probed functions; the end of that.
 */
#define MARK(n)		".byte 0x0f, 0x1f, 0x80, " #n ", 0x62, 0x70, 0x6b"
#define MARK_RUN	MARK(1)
#define MARK_OPEN	MARK(2)
#define MARK_CLOSE	MARK(3)

typedef unsigned long (*site_fn_t)(unsigned long x);

/* They all differ, or the compiler would merge them. */
#define SITES(n)								\
static noinline __noclone notrace unsigned long plain_##n(unsigned long x)	\
{										\
	asm volatile("lea " #n "(%0), %0\n\t"					\
		     "lea 2(%0), %0\n\t"					\
		     "lea 3(%0), %0\n\t"					\
		     "lea 4(%0), %0" : "+r" (x));				\
	return x;								\
}										\
static noinline __noclone unsigned long traced_##n(unsigned long x)		\
{										\
	asm volatile("lea " #n "(%0), %0" : "+r" (x));				\
	return x;								\
}

SITES(10) SITES(11) SITES(12) SITES(13) SITES(14) SITES(15) SITES(16) SITES(17)

static const site_fn_t plain[MAX_CPUS] = {
	plain_10, plain_11, plain_12, plain_13, plain_14, plain_15, plain_16, plain_17,
};

static const site_fn_t traced[MAX_CPUS] = {
	traced_10, traced_11, traced_12, traced_13, traced_14, traced_15, traced_16, traced_17,
};

/* A cache line for each CPU: the test itself must not share any. */
struct counts {
	unsigned long calls;
	unsigned long hits;
	site_fn_t fn;
} ____cacheline_aligned;

static DEFINE_PER_CPU(struct counts, counts);
static atomic_t shared ____cacheline_aligned;
static atomic_t waiting ____cacheline_aligned;
static int nr_cpus;
static bool control;
static struct completion done[MAX_CPUS];

static struct kprobe kps[MAX_CPUS], *kp_batch[MAX_CPUS];
static struct kretprobe rps[MAX_CPUS], *rp_batch[MAX_CPUS];
static unsigned long missed;
static struct dentry *dir;
static DEFINE_MUTEX(lock);

static int pre(struct kprobe *p, struct pt_regs *regs)
{
	this_cpu_inc(counts.hits);
	return 0;
}

static int on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	this_cpu_inc(counts.hits);
	return 0;
}

static int hitter(void *unused)
{
	struct counts *mine = this_cpu_ptr(&counts);
	unsigned int n, call;

	/* All CPUs start at once. */
	atomic_dec(&waiting);
	while (atomic_read(&waiting))
		cond_resched();

	for (n = 0; n < WINDOWS; n++) {
		unsigned long flags;

		local_irq_save(flags);
		asm volatile(MARK_OPEN : : : "memory");
		for (call = 0; call < CALLS; call++) {
			mine->fn(call);
			if (control)
				atomic_inc(&shared);
		}
		asm volatile(MARK_CLOSE : : : "memory");
		mine->calls += CALLS;
		local_irq_restore(flags);
		cond_resched();
	}
	complete(&done[smp_processor_id()]);
	return 0;
}

static int hit_all(void)
{
	struct task_struct *task[MAX_CPUS];
	int cpu;

	atomic_set(&waiting, nr_cpus);
	for (cpu = 0; cpu < nr_cpus; cpu++) {
		init_completion(&done[cpu]);
		task[cpu] = kthread_create_on_cpu(hitter, NULL, cpu, "kprobe_cpus/%u");
		if (IS_ERR(task[cpu])) {
			int err = PTR_ERR(task[cpu]);

			while (cpu--)
				kthread_stop(task[cpu]);
			return err;
		}
	}
	for (cpu = 0; cpu < nr_cpus; cpu++)
		wake_up_process(task[cpu]);
	for (cpu = 0; cpu < nr_cpus; cpu++)
		wait_for_completion(&done[cpu]);
	return 0;
}

static int run(const char *kind, bool distinct)
{
	const site_fn_t *site = strstarts(kind, "traced") ? traced : plain;
	bool returns = strstr(kind, "_return");
	int nr = distinct ? nr_cpus : 1;
	int i, err = 0;

	asm volatile(MARK_RUN : : : "memory");
	control = !strcmp(kind, "control");
	for (i = 0; i < nr_cpus; i++) {
		struct counts *c = per_cpu_ptr(&counts, i);

		*c = (struct counts){ .fn = site[distinct ? i : 0] };
		kps[i] = (struct kprobe){
			.addr = (kprobe_opcode_t *)site[i],
			.pre_handler = pre,
		};
		rps[i] = (struct kretprobe){
			.kp.addr = (kprobe_opcode_t *)site[i],
			.handler = on_return,
		};
		kp_batch[i] = &kps[i];
		rp_batch[i] = &rps[i];
	}
	if (!control)
		err = returns ? register_kretprobes(rp_batch, nr) : register_kprobes(kp_batch, nr);
	if (err)
		return err;
	msleep(settle);
	err = hit_all();
	if (control)
		return err;
	if (returns)
		unregister_kretprobes(rp_batch, nr);
	else
		unregister_kprobes(kp_batch, nr);
	missed = 0;
	for (i = 0; i < nr; i++)
		missed += returns ? rps[i].nmissed + rps[i].kp.nmissed : kps[i].nmissed;
	return err;
}

static ssize_t run_write(struct file *file, const char __user *user,
			 size_t len, loff_t *pos)
{
	char buf[48], kind[16], which[16];
	int err;

	err = copy_text(buf, sizeof(buf), user, len);
	if (err)
		return err;

	mutex_lock(&lock);
	if (sscanf(buf, "%15s %15s", kind, which) == 2)
		err = run(kind, !strcmp(which, "distinct"));
	else
		err = -EINVAL;
	mutex_unlock(&lock);
	return err ?: len;
}
DEFINE_WRITE_ATTRIBUTE(run);

/* "unequal" is the number of CPUs whose hits are not equal to their calls. */
static int result_show(struct seq_file *m, void *unused)
{
	unsigned long calls = 0, hits = 0;
	int cpu, unequal = 0;

	mutex_lock(&lock);
	for (cpu = 0; cpu < nr_cpus; cpu++) {
		struct counts *c = per_cpu_ptr(&counts, cpu);

		calls += c->calls;
		hits += c->hits;
		unequal += c->calls != c->hits;
	}
	seq_printf(m, "calls %lu\nhits %lu\nunequal %d\nmissed %lu\n", calls, hits,
		   unequal, missed);
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static int __init kprobe_cpus_init(void)
{
	/* A guest numbers its CPUs without gaps. */
	nr_cpus = min_t(int, num_online_cpus(), MAX_CPUS);
	dir = control_dir(&run_fops, &result_fops);
	return 0;
}

static void __exit kprobe_cpus_exit(void)
{
	debugfs_remove(dir);
}

module_init(kprobe_cpus_init);
module_exit(kprobe_cpus_exit);

MODULE_DESCRIPTION("Kprobes test: all CPUs hit at once");
MODULE_LICENSE("GPL");
