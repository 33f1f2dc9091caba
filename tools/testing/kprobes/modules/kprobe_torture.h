/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kprobe_torture.ko shares with the live patch of one of its targets. */
#ifndef _KPROBE_TORTURE_H
#define _KPROBE_TORTURE_H

#include <linux/percpu.h>

#include "kprobe_common.h"

enum { ORIGINAL, REPLACED, NR_VERSIONS };

/* The calls of each version. */
DECLARE_PER_CPU(unsigned long [NR_VERSIONS], torture_versions);

unsigned long torture_patched(unsigned long x);

/* What each version does. */
static __always_inline unsigned long torture_version(unsigned long x, unsigned int version)
{
	this_cpu_inc(torture_versions[version]);
	OPTIMIZER_HIDE_VAR(x);
	return RESULT(x);
}

#endif /* _KPROBE_TORTURE_H */
