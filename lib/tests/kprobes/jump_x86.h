/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions whose probes have to become jumps, or must not: jump_x86_text.S.
 * Unless noted otherwise, a function returns KPT_RESULT() of its argument.
 * kpt_NAME_at is where the probe goes, from the start of the function.
 */
#ifndef _LIB_TESTS_KPROBES_JUMP_X86_H
#define _LIB_TESTS_KPROBES_JUMP_X86_H

#define KPT_FILLS_BYTES		0x100000
#define KPT_JUMP_SIZE		5

#ifndef __ASSEMBLY__

#include <linux/jump_label.h>

#include "fixture.h"

/* Where the probe of a target goes, computed without a relocation for objtool to see. */
static inline unsigned char *kpt_jump_at(void *fn, u32 at)
{
	OPTIMIZER_HIDE_VAR(fn);
	return (unsigned char *)fn + at;
}

#define KPT_JUMP_AT(name)	kpt_jump_at(kpt_jump_##name, kpt_jump_##name##_at)

/* The register with the argument at the probe: see asm_x86.S. */
#ifdef CONFIG_X86_64
#define KPT_JUMP_ARG(regs)	((regs)->di)
#else
#define KPT_JUMP_ARG(regs)	((regs)->dx)
#endif

/* What kpt_elsewhere() returns if a handler sets ax on the way there. */
static inline unsigned long kpt_elsewhere_with(unsigned long arg, unsigned long ax)
{
	return KPT_ELSEWHERE(IS_ENABLED(CONFIG_X86_64) ? arg : ax);
}

/* A function, and where its probe goes. */
struct kpt_jump_target {
	kpt_fn_t fn;
	unsigned char *addr;
};

#define KPT_JUMP_AND_AT(name)	{ kpt_jump_##name, KPT_JUMP_AT(name) }

#define KPT_JUMP_TARGET(name)						\
	unsigned long kpt_jump_##name(unsigned long arg);		\
	extern const u32 kpt_jump_##name##_at

/* Two instructions, of 2 and of 3 bytes. The second adds the argument to AX. */
KPT_JUMP_TARGET(two);
#define KPT_TWO_SECOND	2

/* Three, the first of which is emulated, or has to run from a copy; otherwise the same. */
KPT_JUMP_TARGET(emulated);
KPT_JUMP_TARGET(copied);
#define KPT_THREE_SECOND	1
#define KPT_THREE_THIRD		3
#define KPT_THREE_AFTER	6

/* Two, the first of which uses the flags. */
KPT_JUMP_TARGET(sets);

/* One of 5 bytes; the code after it is a branch target. */
KPT_JUMP_TARGET(alone);

/* A string instruction, one byte after the probe, fills the buffer at the argument. */
KPT_JUMP_TARGET(fills);
#define KPT_FILLS_SECOND	1

/* The same two in functions that end in different ways. */
KPT_JUMP_TARGET(ends_ret);
KPT_JUMP_TARGET(ends_ret_imm);
KPT_JUMP_TARGET(ends_jmp8);
KPT_JUMP_TARGET(ends_jmp32);
KPT_JUMP_TARGET(ends_jmp_reg);
KPT_JUMP_TARGET(ends_call);
KPT_JUMP_TARGET(ends_int3);
KPT_JUMP_TARGET(ends_ud1);
KPT_JUMP_TARGET(ends_ud2);
KPT_JUMP_TARGET(ends_nop);
KPT_JUMP_TARGET(ends_nop3);

/* A longer one, which is a branch target itself, and is passed three times. */
KPT_JUMP_TARGET(loop);

/* Two instructions, the second of which is a branch target: of the function, */
KPT_JUMP_TARGET(target);
/* at the n-th byte of a jump, and right after the jump, */
KPT_JUMP_TARGET(inner1);
KPT_JUMP_TARGET(inner2);
KPT_JUMP_TARGET(inner3);
KPT_JUMP_TARGET(inner4);
KPT_JUMP_TARGET(inner5);
KPT_JUMP_TARGET(overlap1);
KPT_JUMP_TARGET(overlap2);
KPT_JUMP_TARGET(overlap3);
KPT_JUMP_TARGET(overlap4);
KPT_JUMP_TARGET(overlap5);
/* of a branch that is the n-th byte of the function, */
KPT_JUMP_TARGET(away108);
KPT_JUMP_TARGET(away109);
KPT_JUMP_TARGET(away110);
KPT_JUMP_TARGET(away111);
KPT_JUMP_TARGET(away112);
KPT_JUMP_TARGET(away113);
KPT_JUMP_TARGET(away114);
KPT_JUMP_TARGET(away115);
KPT_JUMP_TARGET(away116);
KPT_JUMP_TARGET(away117);
KPT_JUMP_TARGET(away118);
KPT_JUMP_TARGET(away119);
KPT_JUMP_TARGET(away120);
KPT_JUMP_TARGET(away121);
KPT_JUMP_TARGET(away122);
KPT_JUMP_TARGET(away123);
KPT_JUMP_TARGET(away124);
KPT_JUMP_TARGET(away125);
KPT_JUMP_TARGET(away126);
KPT_JUMP_TARGET(away127);
KPT_JUMP_TARGET(away128);
/* of each kind of branch, */
KPT_JUMP_TARGET(by_jcc8);
KPT_JUMP_TARGET(by_jcc32);
KPT_JUMP_TARGET(by_jmp8);
KPT_JUMP_TARGET(by_jmp32);
KPT_JUMP_TARGET(by_loopne);
KPT_JUMP_TARGET(by_loope);
KPT_JUMP_TARGET(by_loop);
KPT_JUMP_TARGET(by_jcxz);
KPT_JUMP_TARGET(by_call);
KPT_JUMP_TARGET(by_xbegin);
KPT_JUMP_TARGET(by_jcc8_0);
KPT_JUMP_TARGET(by_jcc8_1);
KPT_JUMP_TARGET(by_jcc8_2);
KPT_JUMP_TARGET(by_jcc8_3);
KPT_JUMP_TARGET(by_jcc8_4);
KPT_JUMP_TARGET(by_jcc8_5);
KPT_JUMP_TARGET(by_jcc8_6);
KPT_JUMP_TARGET(by_jcc8_7);
KPT_JUMP_TARGET(by_jcc8_8);
KPT_JUMP_TARGET(by_jcc8_9);
KPT_JUMP_TARGET(by_jcc8_a);
KPT_JUMP_TARGET(by_jcc8_b);
KPT_JUMP_TARGET(by_jcc8_c);
KPT_JUMP_TARGET(by_jcc8_d);
KPT_JUMP_TARGET(by_jcc8_e);
KPT_JUMP_TARGET(by_jcc8_f);
KPT_JUMP_TARGET(by_jcc32_0);
KPT_JUMP_TARGET(by_jcc32_1);
KPT_JUMP_TARGET(by_jcc32_2);
KPT_JUMP_TARGET(by_jcc32_3);
KPT_JUMP_TARGET(by_jcc32_4);
KPT_JUMP_TARGET(by_jcc32_5);
KPT_JUMP_TARGET(by_jcc32_6);
KPT_JUMP_TARGET(by_jcc32_7);
KPT_JUMP_TARGET(by_jcc32_8);
KPT_JUMP_TARGET(by_jcc32_9);
KPT_JUMP_TARGET(by_jcc32_a);
KPT_JUMP_TARGET(by_jcc32_b);
KPT_JUMP_TARGET(by_jcc32_c);
KPT_JUMP_TARGET(by_jcc32_d);
KPT_JUMP_TARGET(by_jcc32_e);
KPT_JUMP_TARGET(by_jcc32_f);
/* of the function before or after it, with which it shares code, */
KPT_JUMP_TARGET(unaligned);
KPT_JUMP_TARGET(both);
extern const u32 kpt_jump_both_second;
KPT_JUMP_TARGET(falls);
KPT_JUMP_TARGET(falls_far);
/* of a jump label that is off: on, it returns 2 * arg + 1, */
KPT_JUMP_TARGET(label);
extern struct static_key_false kpt_jump_label_key;
/* of its cold part, */
KPT_JUMP_TARGET(split);
/* of its cold part, which is not the only one of that name, */
KPT_JUMP_TARGET(twin);
/* of its cold part, whose name ends in a number, */
KPT_JUMP_TARGET(numbered);
/* of its cold part, whose name is made from another name of the function, */
KPT_JUMP_TARGET(merged);
KPT_JUMP_TARGET(fused);
/* and the fix-up of a fault, if the argument is no address; */
KPT_JUMP_TARGET(fixup);
/* at the n-th byte of a jump, and right after the jump. */
KPT_JUMP_TARGET(fixup1);
KPT_JUMP_TARGET(fixup2);
KPT_JUMP_TARGET(fixup3);
KPT_JUMP_TARGET(fixup4);
KPT_JUMP_TARGET(fixup5);

/* The same with an instruction that faults then. */
KPT_JUMP_TARGET(loads1);
KPT_JUMP_TARGET(loads2);
KPT_JUMP_TARGET(loads3);
KPT_JUMP_TARGET(loads4);
KPT_JUMP_TARGET(loads5);

/* The same with the return address of a call. */
KPT_JUMP_TARGET(returns3);
KPT_JUMP_TARGET(returns4);
KPT_JUMP_TARGET(returns5);

/*
 * The function branches into the bytes at the entry of its cold part. At the probe, and at
 * KPT_COOLED_LATER in the cold part, are a short instruction and a long one.
 */
KPT_JUMP_TARGET(cooled);
#define KPT_COOLED_LATER	5

/* As kpt_load(), but the load is the second of two instructions. */
KPT_JUMP_TARGET(load);

/* A short instruction, and then a UD2 that is not reached. */
KPT_JUMP_TARGET(ud2);

/* A short instruction, and then an ftrace site. */
KPT_JUMP_TARGET(fentry);

/* Branches to code that has no symbol, which branches back. */
KPT_JUMP_TARGET(nameless);

/* Such code is reached by a fix-up or a jump label only. */
KPT_JUMP_TARGET(mended);
KPT_JUMP_TARGET(switched);

/* Calls such code. */
KPT_JUMP_TARGET(calls_nameless);

/*
 * Branches to either of two instructions of code that has no symbol. The probe goes to the
 * first of them, from the start of the function before that code.
 */
KPT_JUMP_TARGET(twice);

/* The second of two instructions has a symbol inside. */
KPT_JUMP_TARGET(cut);

/* A return of one byte: directly before another function, */
KPT_JUMP_TARGET(last);
/* and with padding, of traps or of a NOP. */
KPT_JUMP_TARGET(padded);
KPT_JUMP_TARGET(padded_nop);
#ifdef CONFIG_X86_32
/* On 32 bits there are longer ones that are LEAs, but only without a displacement. */
KPT_JUMP_TARGET(padded_lea);
KPT_JUMP_TARGET(padded_no_lea);
#endif

/* Five bytes that span two pages, if ENDBR takes 4 bytes in this kernel. */
KPT_JUMP_TARGET(pages);

/*
 * The direction flag is set at the probe, in two ways, or the flag that allows access to
 * user memory. Then as the first, with an instruction that has to run from a copy; and
 * with one of more than five bytes, in a function that shares code with another, which
 * sets the flag.
 */
KPT_JUMP_TARGET(std);
KPT_JUMP_TARGET(popf);
KPT_JUMP_TARGET(stac);
#ifdef CONFIG_X86_32
KPT_JUMP_TARGET(far);
KPT_JUMP_TARGET(far_mem);
#endif
KPT_JUMP_TARGET(std_copied);
KPT_JUMP_TARGET(std_shared);
/* That, and its cold part sets the flag. */
KPT_JUMP_TARGET(std_split);
/* That, in code without a symbol, after another function. */
KPT_JUMP_TARGET(before_std);
unsigned long kpt_jump_std_nameless(unsigned long arg);

/* Five bytes, in a function that shares its code. */
KPT_JUMP_TARGET(five_shared);

/* Returns by how much a handler moved the stack pointer. */
KPT_JUMP_TARGET(sp);
/* The same, at a CALL, and at a PUSH, which moves it, too. */
KPT_JUMP_TARGET(sp_call);
KPT_JUMP_TARGET(sp_push);

/* Calls kpt_jump_traced(), after a short instruction. */
KPT_JUMP_TARGET(calls);

/* 40 instructions of one byte. */
KPT_JUMP_TARGET(nops);
#define KPT_JUMP_NOPS		40

/* The same with four bytes of padding, all on one page, which are not reached. */
KPT_JUMP_TARGET(garbled);
extern const u32 kpt_jump_garbled_hole;
KPT_JUMP_TARGET(cleared);

/*
 * Five instructions of one byte, each of which pushes a word. Returns how many bytes they
 * have pushed. A handler that resumes among them has to put the stack pointer in CX.
 */
KPT_JUMP_TARGET(pushes);

/* In functions that may branch to their labels through a register. */
KPT_JUMP_TARGET(interpreter);
KPT_JUMP_TARGET(checksum);
KPT_JUMP_TARGET(backward);
/* In a clone of the first, as compilers make them. */
KPT_JUMP_TARGET(interpreter_copy);
/* In another function, whose name is longer than that of the second. */
KPT_JUMP_TARGET(checksum_longer);

#ifdef CONFIG_X86_32
/* The second of two instructions is the target of a computed jump. */
KPT_JUMP_TARGET(computed);
KPT_JUMP_TARGET(computed_lea);
KPT_JUMP_TARGET(computed_eax);
KPT_JUMP_TARGET(computed_edi);

/* The second of two is the target of a branch in the other function, far before it. */
unsigned long kpt_jump_shares(unsigned long arg);
KPT_JUMP_TARGET(common);
KPT_JUMP_TARGET(common_after);
unsigned long kpt_jump_shares_after(unsigned long arg);
/* As far before it as is looked at. */
unsigned long kpt_jump_shares_afar(unsigned long arg);
KPT_JUMP_TARGET(common_afar);

/* Has an indirect jump, and the address of its own first byte. */
KPT_JUMP_TARGET(computed_self);

/* Runs with segments that are not the kernel's, and returns 0 if one has changed; */
KPT_JUMP_TARGET(segments);
KPT_JUMP_TARGET(segments_copied);
/* with one that is loaded by an instruction of one kind. */
KPT_JUMP_TARGET(segment_mov);
KPT_JUMP_TARGET(segment_pop_ds);
KPT_JUMP_TARGET(segment_pop_es);
KPT_JUMP_TARGET(segment_pop_fs);
KPT_JUMP_TARGET(segment_lds);
KPT_JUMP_TARGET(segment_les);
KPT_JUMP_TARGET(segment_lfs);
#endif

/* For kpt_insn_run(): changes some registers, and flags, from the probe on. */
void kpt_jump_registers(void);
extern const u32 kpt_jump_registers_at;
#define KPT_REGISTERS_SECOND	2

/* Calls the function at the address given, and has a frame of its own. */
unsigned long kpt_jump_caller(unsigned long fn);

/* Writes a stack trace to where the argument points, through a handler. */
KPT_JUMP_TARGET(traced);

#endif /* __ASSEMBLY__ */
#endif /* _LIB_TESTS_KPROBES_JUMP_X86_H */
