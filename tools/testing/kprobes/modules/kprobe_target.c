// SPDX-License-Identifier: GPL-2.0
/*
 * Functions to probe, which run on command:
 *
 *	echo add 5 >/sys/kernel/debug/kprobe_target/call
 *	cat /sys/kernel/debug/kprobe_target/calls
 *
 * calls kprobe_target_add(0, 1000), (1, 1000), ... and shows how often each
 * function was called since the module was loaded, and the last result.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/static_call.h>
#include <linux/uaccess.h>

#include "kprobe_common.h"
#include "kprobe_target.h"

#define NR_ARG 1000

noinline int kprobe_target_add(int a, int b)
{
	barrier();
	return a + b;
}
EXPORT_SYMBOL_GPL(kprobe_target_add);

/* Not a tail call, so every depth has a return. */
noinline int kprobe_target_recurse(int depth, int sum)
{
	int below = depth > 0 ? kprobe_target_recurse(depth - 1, sum) : sum;

	barrier();
	return below + 1;
}
EXPORT_SYMBOL_GPL(kprobe_target_recurse);

noinline int kprobe_target_hidden(int a, int b)
{
	barrier();
	return a - b;
}
NOKPROBE_SYMBOL(kprobe_target_hidden);

noinline notrace int kprobe_target_untraced(int a, int b)
{
	barrier();
	return a * b;
}
EXPORT_SYMBOL_GPL(kprobe_target_untraced);

/* Has a jump label, which is patched when the key is switched. */
static DEFINE_STATIC_KEY_FALSE(key);

noinline int kprobe_target_branch(int a, int b)
{
	if (static_branch_unlikely(&key))
		a++;
	barrier();
	return a + b;
}
EXPORT_SYMBOL_GPL(kprobe_target_branch);

/* Has a static call, whose displacement is patched when the call is given another target. */
DEFINE_STATIC_CALL(kprobe_target_call, kprobe_target_add);

noinline int kprobe_target_static(int a, int b)
{
	int sum = static_call(kprobe_target_call)(a, b);

	barrier();
	return sum + 1;
}

/* The label again, with an instruction shorter than a jump right before the label. */
noinline int kprobe_target_near(int a, int b)
{
#ifdef CONFIG_X86
	asm volatile("nopl (%0)" : : "r" (current));
#endif
	if (static_branch_unlikely(&key))
		a++;
	barrier();
	return a + b;
}
EXPORT_SYMBOL_GPL(kprobe_target_near);

/* A tail call, so the callee returns to the caller of this. */
noinline int kprobe_target_leave(int a, int b)
{
	return kprobe_target_add(a, b);
}

/* The console is watched for stack dumps, and does not get what is only for debugging. */
noinline int kprobe_target_dump(int a, int b)
{
	dump_stack_lvl(KERN_DEBUG);
	return a + b;
}

static const struct {
	const char *name;
	int (*fn)(int a, int b);
} targets[] = {
	{ "add", kprobe_target_add },
	{ "recurse", kprobe_target_recurse },
	{ "hidden", kprobe_target_hidden },
	{ "branch", kprobe_target_branch },
	{ "near", kprobe_target_near },
	{ "static", kprobe_target_static },
	{ "leave", kprobe_target_leave },
	{ "dump", kprobe_target_dump },
};

static atomic_long_t calls[ARRAY_SIZE(targets)];
static atomic_t last;

static ssize_t call_write(struct file *file, const char __user *user,
			  size_t len, loff_t *pos)
{
	char buf[32], name[16];
	unsigned int i, n, times;
	int ret;

	ret = copy_text(buf, sizeof(buf), user, len);
	if (ret)
		return ret;
	if (sscanf(buf, "%15s %u", name, &times) != 2)
		return -EINVAL;

	for (i = 0; i < ARRAY_SIZE(targets); i++) {
		if (strcmp(name, targets[i].name))
			continue;
		for (n = 0; n < times; n++)
			atomic_set(&last, targets[i].fn(n, NR_ARG));
		atomic_long_add(times, &calls[i]);
		return len;
	}

	return -EINVAL;
}
DEFINE_WRITE_ATTRIBUTE(call);

static int calls_show(struct seq_file *m, void *v)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(targets); i++)
		seq_printf(m, "%s %ld\n", targets[i].name,
			   atomic_long_read(&calls[i]));
	seq_printf(m, "last %d\n", atomic_read(&last));
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(calls);

static struct dentry *dir;

static int magic = 41;
module_param(magic, int, 0444);

/* In init text, which is freed after initialisation. */
static noinline __noclone int __init kprobe_target_starts(int magic)
{
	barrier();
	return magic + 1;
}

static int __init kprobe_target_init(void)
{
	pr_info("starts: %d\n", kprobe_target_starts(magic));
	dir = debugfs_create_dir("kprobe_target", NULL);
	debugfs_create_file("call", 0200, dir, NULL, &call_fops);
	debugfs_create_file("calls", 0400, dir, NULL, &calls_fops);
	return 0;
}

static void __exit kprobe_target_exit(void)
{
	debugfs_remove_recursive(dir);
}

module_init(kprobe_target_init);
module_exit(kprobe_target_exit);

MODULE_DESCRIPTION("Functions for the kprobes tests to probe");
MODULE_LICENSE("GPL");
