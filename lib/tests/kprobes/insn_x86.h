/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the instructions to probe, in assembly, and the suite, in C. */
#ifndef _LIB_TESTS_KPROBES_INSN_X86_H
#define _LIB_TESTS_KPROBES_INSN_X86_H

/* insn_case::how */
#define ALL_FLAGS	0x01	/* run with all combinations of the flags */
#define BRANCH		0x02	/* execution need not continue after it */
#define CLOBBERS	0x04	/* AX, BX, CX, DX differ each time */
#define REFUSED		0x08	/* never runs, and may not be probed: -EILSEQ */
#define CONDITIONAL	0x10	/* a branch that leaves 2 in AX if taken */
#define CALLS		0x20	/* a branch that leaves a return address */
#define STAYS		0x40	/* no jump displaces it */
#define INDIRECT	0x80	/* a jump to where a register or memory says */
#define TRAP		0x100	/* REFUSED, but as a trap of other code: -EINVAL */
#define ALLOWED		0x200	/* never runs, and may be probed */
#define FTRACE		0x400	/* a call of ftrace, which does not restore r11 */
#define EMULATED	0x800	/* no copy runs at a breakpoint; so it is for each BRANCH */
/* 32 bits do not emulate what changes the stack pointer otherwise than a push or a pop does. */
#ifdef CONFIG_X86_64
#define EMULATED_64	EMULATED
#else
#define EMULATED_64	0
#endif
#define NEVER_RUN	(REFUSED | ALLOWED)

/* insn_case::undef, flags that the architecture leaves undefined */
#define UNDEF_LOGIC	0x010	/* AF */
#define UNDEF_SHIFT	0x810	/* OF, AF */
#define UNDEF_MUL	0x0d4	/* SF, ZF, AF, PF */
#define UNDEF_DIV	0x8d5	/* all */
#define UNDEF_BIT	0x894	/* OF, SF, AF, PF */
#define UNDEF_SCAN	0x895	/* all but ZF */

/* Registers in kpt_insn_in and kpt_insn_out. */
#define R_AX		0
#define R_BX		1
#define R_CX		2
#define R_DX		3
#define R_SI		4
#define R_DI		5
#define R_BP		6
#ifdef CONFIG_X86_64
#define R_R8		7
#define R_R9		8
#define R_R10		9
#define R_R11		10
#define R_R12		11
#define R_R13		12
#define R_R14		13
#define R_R15		14
#define R_FLAGS		15
#define R_SP		16
#define NR_REGS		17
#else
#define R_FLAGS		7
#define R_SP		8
#define NR_REGS		9
#endif

#define SCRATCH_SIZE	512

/* Stack that the function may use above its return address. */
#define INSN_STACK	128

#ifndef __ASSEMBLY__

#include <linux/types.h>

/**
 * struct insn_case - an instruction to probe
 * @title: the parameter's name; NULL ends the table
 * @fn:	   the function that holds it
 * @at:	   where the probe goes, from the start of @fn
 * @next:  where the code after it is
 * @done:  where only the return is left
 * @to:	   where a branch goes; 0 if that is not in @fn
 * @undef: see above
 * @how:   see above
 * @hits:  how often a call to @fn passes it
 * @end:   where the instruction ends, which is after @next if the probe is
 *	   on another instruction before it
 */
struct insn_case {
	const char *title;
	void (*fn)(void);
	u32 at;
	u32 next;
	u32 done;
	u32 to;
	u32 undef;
	u32 how;
	u32 hits;
	u32 end;
};

extern const struct insn_case kpt_insn_data[];
extern const struct insn_case kpt_insn_alu[];
extern const struct insn_case kpt_insn_flow[];
extern const struct insn_case kpt_insn_data_after_one[];
extern const struct insn_case kpt_insn_alu_after_one[];
extern const struct insn_case kpt_insn_flow_after_one[];
extern const struct insn_case kpt_insn_data_after_four[];
extern const struct insn_case kpt_insn_alu_after_four[];
extern const struct insn_case kpt_insn_flow_after_four[];

/*
 * kpt_insn_run() calls kpt_insn_fn with all registers and flags from kpt_insn_in, and
 * writes to kpt_insn_out what they are afterwards. The function has its own piece of
 * stack, and some more above its return address.
 */
void kpt_insn_run(void);
extern unsigned long kpt_insn_in[NR_REGS];
extern unsigned long kpt_insn_out[NR_REGS];
extern unsigned long kpt_insn_sp;
extern void (*kpt_insn_fn)(void);
extern unsigned char kpt_insn_scratch[SCRATCH_SIZE];

#endif /* !__ASSEMBLY__ */
#endif /* _LIB_TESTS_KPROBES_INSN_X86_H */
