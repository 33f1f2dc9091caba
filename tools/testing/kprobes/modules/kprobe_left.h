/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run leaves allocated, if kprobes are ours: a file "begin", and lines of "result". */
#ifndef _KPROBE_LEFT_H
#define _KPROBE_LEFT_H

#include "kprobe_common.h"

#if defined(KPROBES_TELL_COUNTS) && IS_ENABLED(CONFIG_KUNIT)
#include "testing.h"

static struct kprobe_counts before;

static void remember(void)
{
	kprobe_test_counts(&before, true);
}

static void show_left(struct seq_file *m)
{
	struct kprobe_counts now;

	kprobe_test_counts(&now, true);
	seq_printf(m, "left_points %d\nleft_found %d\nleft_users %d\n",
		   now.points - before.points, now.found - before.found,
		   now.users - before.users);
	seq_printf(m, "left_copies %d\nleft_detours %d\nleft_pools %d\n",
		   now.copies.taken - before.copies.taken,
		   now.detours.taken - before.detours.taken, now.pools - before.pools);
}

MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
#else
static void remember(void) { }
static void show_left(struct seq_file *m) { }
#endif

static ssize_t begin_write(struct file *file, const char __user *ubuf, size_t count,
			   loff_t *ppos)
{
	remember();
	return count;
}
DEFINE_WRITE_ATTRIBUTE(begin);

#endif /* _KPROBE_LEFT_H */
