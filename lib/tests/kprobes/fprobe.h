/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For suites that test kprobes beside fprobes, which also hook returns. */
#ifndef _LIB_TESTS_KPROBES_FPROBE_H
#define _LIB_TESTS_KPROBES_FPROBE_H

#include <linux/fprobe.h>

#include "fixture.h"

/* Without KPROBES_ON_FTRACE, the suites' functions have no ftrace sites. */
#if defined(CONFIG_FPROBE) && defined(CONFIG_KPROBES_ON_FTRACE)
/**
 * struct kpt_fprobe - an fprobe that counts
 * @fp:	     the fprobe
 * @entries: runs of its entry handler
 * @returns: runs of its exit handler
 */
struct kpt_fprobe {
	struct fprobe fp;
	unsigned int entries;
	unsigned int returns;
};

static int kpt_fprobe_entry(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			    struct pt_regs *regs, void *data)
{
	container_of(fp, struct kpt_fprobe, fp)->entries++;
	return 0;
}

static void kpt_fprobe_exit(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			    struct pt_regs *regs, void *data)
{
	container_of(fp, struct kpt_fprobe, fp)->returns++;
}

static void kpt_fprobe_action(void *fp)
{
	unregister_fprobe(fp);
}

/* An fprobe on the functions at @ips. It hooks up to @maxactive calls, 0 for the default. */
static struct kpt_fprobe *kpt_fprobe(struct kunit *test, unsigned long *ips, unsigned int nr,
				     unsigned int maxactive)
{
	struct kpt_fprobe *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->fp.entry_handler = kpt_fprobe_entry;
	f->fp.exit_handler = kpt_fprobe_exit;
	f->fp.nr_maxactive = maxactive;
	KUNIT_ASSERT_EQ(test, register_fprobe_ips(&f->fp, ips, nr), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kpt_fprobe_action, &f->fp), 0);
	return f;
}
#endif

#endif /* _LIB_TESTS_KPROBES_FPROBE_H */
