// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A live patch of a target of kprobe_torture.ko: the new version does the same, and counts its
 * calls elsewhere. It is removed as any live patch:
 *
 *	echo 0 >/sys/kernel/livepatch/kprobe_livepatch/enabled
 *	rmmod kprobe_livepatch
 */
#include <linux/livepatch.h>
#include <linux/module.h>

#include "kprobe_torture.h"

static noinline unsigned long torture_replaced(unsigned long x)
{
	return torture_version(x, REPLACED);
}

static struct klp_func funcs[] = {
	{ .old_name = "torture_patched", .new_func = torture_replaced },
	{ }
};

static struct klp_object objects[] = {
	{ .name = "kprobe_torture", .funcs = funcs },
	{ }
};

static struct klp_patch patch = {
	.mod = THIS_MODULE,
	.objs = objects,
};

static int __init kprobe_livepatch_init(void)
{
	return klp_enable_patch(&patch);
}

static void __exit kprobe_livepatch_exit(void)
{
}

module_init(kprobe_livepatch_init);
module_exit(kprobe_livepatch_exit);

MODULE_INFO(livepatch, "Y");
MODULE_DESCRIPTION("Kprobes test: a live patch of a probed function");
MODULE_LICENSE("GPL");
