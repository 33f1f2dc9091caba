/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions whose detours are looked into: detour_x86_text.S. kpt_NAME_at is
 * where the probe goes, from the start of the function.
 */
#ifndef _LIB_TESTS_KPROBES_DETOUR_X86_H
#define _LIB_TESTS_KPROBES_DETOUR_X86_H

#include "fixture.h"

#define KPT_DETOUR_TARGET(name)						\
	unsigned long kpt_detour_##name(unsigned long arg);		\
	extern const u32 kpt_detour_##name##_at

/* Goes to @entry, no function, and comes back as @arg's function returns. */
unsigned long kpt_detour_enter(unsigned long entry, unsigned long arg);

/* Returns KPT_RESULT() of its argument; the probe is at the entry. */
KPT_DETOUR_TARGET(late);

#endif /* _LIB_TESTS_KPROBES_DETOUR_X86_H */
