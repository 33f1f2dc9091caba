/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions whose detours are examined: detour_x86_text.S. kpt_NAME_at is the offset
 * of the probe in the function.
 */
#ifndef _LIB_TESTS_KPROBES_DETOUR_X86_H
#define _LIB_TESTS_KPROBES_DETOUR_X86_H

#include "fixture.h"

#define KPT_DETOUR_TARGET(name)						\
	unsigned long kpt_detour_##name(unsigned long arg);		\
	extern const u32 kpt_detour_##name##_at

/* Goes to @entry, in a detour, with @arg as argument. Returns when the probed function does. */
unsigned long kpt_detour_enter(unsigned long entry, unsigned long arg);

/* Returns KPT_RESULT() of its argument; the probe is at the entry. */
KPT_DETOUR_TARGET(late);

/* The same, whose first instruction has to run as a copy. */
KPT_DETOUR_TARGET(late_copied);

/* The same, whose first instruction is a NOP. */
KPT_DETOUR_TARGET(nop);

/* The same, whose detour is long. */
KPT_DETOUR_TARGET(long);

/* The same, with one of these inside: an indirect jump, through a register or memory, */
KPT_DETOUR_TARGET(jump);
KPT_DETOUR_TARGET(jump_mem);
/* a call to kpt_plain(), direct or through a register, */
KPT_DETOUR_TARGET(call);
KPT_DETOUR_TARGET(call_reg);
/* a call through the stack, with the stack pointer as base, */
KPT_DETOUR_TARGET(call_stack);
/* or a return and padding. */
KPT_DETOUR_TARGET(ret);

/* Calls through the pointer that its argument points to, or returns KPT_FAULTED. */
KPT_DETOUR_TARGET(call_mem);

/* The probed instruction is a push, or a pop, or a leave, of one byte. */
KPT_DETOUR_TARGET(push);
KPT_DETOUR_TARGET(pop);
KPT_DETOUR_TARGET(leave);

/* Calls @fn. Its stack holds another return address, which must not be found. */
unsigned long kpt_detour_caller(unsigned long fn);

#endif /* _LIB_TESTS_KPROBES_DETOUR_X86_H */
