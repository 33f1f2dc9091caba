// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Many probes at once: counts the calls of several functions.
 *
 *	insmod kprobe_batch.ko symbols=vfs_read,vfs_write,do_sys_openat2
 *	rmmod kprobe_batch
 *	dmesg | grep 'kprobe_batch: '
 *
 * One register_kprobes() call sets all of them, or none. It is much faster than a
 * loop, because it patches kernel text in one round.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/percpu.h>

#define MAX_PROBES 64

static char *symbols[MAX_PROBES] = { "vfs_read", "vfs_write", "do_sys_openat2" };
static int nr_symbols = 3;
module_param_array(symbols, charp, &nr_symbols, 0444);
MODULE_PARM_DESC(symbols, "functions to count, separated by commas");

static struct kprobe probes[MAX_PROBES];
static struct kprobe *batch[MAX_PROBES];

/* Each CPU has its own counters, so hits do not share cache lines. */
static DEFINE_PER_CPU(unsigned long [MAX_PROBES], hits);

static int count_hit(struct kprobe *p, struct pt_regs *regs)
{
	this_cpu_inc(hits[p - probes]);
	return 0;
}

static unsigned long sum_hits(int i)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(hits[i], cpu);

	return sum;
}

static int __init kprobe_batch_init(void)
{
	int err, i;

	for (i = 0; i < nr_symbols; i++) {
		probes[i].symbol_name = symbols[i];
		probes[i].pre_handler = count_hit;
		batch[i] = &probes[i];
	}

	err = register_kprobes(batch, nr_symbols);
	if (err) {
		pr_err("cannot set %d probes: %pe: try the functions one by one\n",
		       nr_symbols, ERR_PTR(err));
		return err;
	}

	pr_info("%d probes set\n", nr_symbols);
	return 0;
}

static void __exit kprobe_batch_exit(void)
{
	int i;

	unregister_kprobes(batch, nr_symbols);

	pr_info("%-32s %12s %12s\n", "function", "hits", "missed");
	for (i = 0; i < nr_symbols; i++)
		pr_info("%-32s %12lu %12lu\n", symbols[i], sum_hits(i),
			probes[i].nmissed);
}

module_init(kprobe_batch_init);
module_exit(kprobe_batch_exit);

MODULE_DESCRIPTION("Sample: call counts of many functions");
MODULE_LICENSE("GPL");
