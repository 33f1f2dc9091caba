// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions that the kprobes suites probe.
 *
 * They stand in a file of their own, so that the compiler cannot see through
 * the calls.
 */
#include <linux/compiler.h>
#include <linux/module.h>

#include "fixture.h"

noinline notrace unsigned long kpt_plain(unsigned long arg)
{
	barrier();
	return KPT_RESULT(arg);
}

noinline unsigned long kpt_traced(unsigned long arg)
{
	barrier();
	return KPT_RESULT(arg);
}

noinline notrace unsigned long kpt_plain2(unsigned long arg)
{
	barrier();
	return KPT_RESULT(arg);
}

noinline unsigned long kpt_traced2(unsigned long arg)
{
	barrier();
	return KPT_RESULT(arg);
}

noinline notrace unsigned long kpt_elsewhere(unsigned long arg)
{
	barrier();
	return KPT_ELSEWHERE(arg);
}

noinline notrace unsigned long kpt_recurse(unsigned long depth)
{
	unsigned long below;

	if (!depth)
		return 0;
	below = kpt_recurse(depth - 1);
	barrier();
	return below + 1;
}

static const struct kpt_site kpt_sites[] = {
#ifdef CONFIG_X86
	KPT_SITES_X86,
#else
	{ .name = "function entry", .fn = kpt_plain },
#endif
#ifdef CONFIG_KPROBES_ON_FTRACE
	{
		.name = "ftrace site",
		.fn = kpt_traced,
#ifdef CONFIG_X86
		.at = ENDBR_INSN_SIZE,
		.next = ENDBR_INSN_SIZE + MCOUNT_INSN_SIZE,
#endif
		.ftrace = true,
	},
#endif
};

const void *kpt_site_gen(const void *prev, char *desc)
{
	const struct kpt_site *site = prev;

	site = site ? site + 1 : kpt_sites;
	if (site == kpt_sites + ARRAY_SIZE(kpt_sites))
		return NULL;
	strscpy(desc, site->name, KUNIT_PARAM_DESC_SIZE);
	return site;
}

MODULE_DESCRIPTION("KUnit suites for kprobes");
MODULE_LICENSE("GPL");
