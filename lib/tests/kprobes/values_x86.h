/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values that the C and the assembly of the tests agree on. */
#ifndef _LIB_TESTS_KPROBES_VALUES_X86_H
#define _LIB_TESTS_KPROBES_VALUES_X86_H

/* Returned by a function whose instruction has faulted. */
#define KPT_FAULTED	0x5afe

/* What kpt_asm_aligns() has in the register of the result. */
#define KPT_AX		0x5a5a

#endif
