/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions to probe whose every instruction is known.
 *
 * Their inner labels are local to the assembler: a symbol in the middle would
 * end the function as far as kallsyms is concerned. Constants give the tests their
 * offsets from the function's start.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/cpufeatures.h>
#include <asm/frame.h>
#include <asm/nospec-branch.h>
#include <asm/processor-flags.h>
#include <asm/smap.h>
#include <asm/trapnr.h>

#include "asm_x86.S"

	.text

SYM_FUNC_START(kpt_asm_entry)
	lea	1(FIRST,FIRST,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_asm_entry)

SYM_FUNC_START(kpt_asm_tail)
	xor	SPARE, SPARE
	{disp32} jmp	kpt_asm_entry
SYM_FUNC_END(kpt_asm_tail)

SYM_FUNC_START(kpt_asm_outer)
	FRAME_BEGIN
	call	kpt_asm_entry
	FRAME_END
	RETURN
SYM_FUNC_END(kpt_asm_outer)

SYM_FUNC_START(kpt_asm_outer_tail)
	FRAME_BEGIN
	call	kpt_asm_entry
SYM_INNER_LABEL(kpt_asm_after, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	FRAME_END
	{disp32} jmp	kpt_plain
SYM_FUNC_END(kpt_asm_outer_tail)

SYM_FUNC_START(kpt_asm_passes)
	push	%_ASM_BP
	mov	%_ASM_SP, %_ASM_BP
	push	FIRST
	push	FIRST
	push	FIRST
	call	kpt_traced
	mov	%_ASM_BP, %_ASM_AX
	sub	%_ASM_SP, %_ASM_AX
	mov	%_ASM_BP, %_ASM_SP
	pop	%_ASM_BP
	RETURN
SYM_FUNC_END(kpt_asm_passes)

SYM_FUNC_START(kpt_asm_aligns)
	FRAME_BEGIN
	.rept 16 / WORD
	mov	$KPT_AX, %eax
	call	kpt_asm_entry
	push	%_ASM_AX
	.endr
	add	$16, %_ASM_SP
	FRAME_END
	RETURN
SYM_FUNC_END(kpt_asm_aligns)

#ifdef CONFIG_JPROBES
SYM_FUNC_START(kpt_asm_jprobe)
#ifdef CONFIG_X86_64
	mov	%rax, %rdi
	mov	%rsp, %rsi
#else
	mov	%esp, %edx
#endif
	jmp	kpt_jprobe_noted
SYM_FUNC_END(kpt_asm_jprobe)
#endif

/* Nothing calls this one. */
SYM_FUNC_START(kpt_asm_refused)
	hlt
	RETURN
SYM_FUNC_END(kpt_asm_refused)

SYM_FUNC_START(kpt_asm_carry)
	bt	$0, FIRST
	RETURN
SYM_FUNC_END(kpt_asm_carry)

SYM_FUNC_START(kpt_asm_reads_carry)
	FRAME_BEGIN
	call	kpt_asm_carry
	setc	%al
	movzbl	%al, %eax
	FRAME_END
	RETURN
SYM_FUNC_END(kpt_asm_reads_carry)

/* The instruction of one byte is followed by what a jump can replace. */
SYM_FUNC_START(kpt_asm_extends)
	mov	FIRST, %_ASM_AX
.Lone_byte:
	cwtl
	add	$1, %eax
	cltd
	RETURN
SYM_FUNC_END(kpt_asm_extends)
OFFSET kpt_asm_one_byte_at, .Lone_byte, kpt_asm_extends

SYM_FUNC_START(kpt_asm_sets_ac)
	pushf
	orl	$X86_EFLAGS_AC, (%_ASM_SP)
	popf
	RETURN
SYM_FUNC_END(kpt_asm_sets_ac)

SYM_FUNC_START(kpt_asm_reads_ac)
	FRAME_BEGIN
	pushf
	call	kpt_asm_sets_ac
	pushf
	pop	%_ASM_AX
	popf
	and	$X86_EFLAGS_AC, %eax
	FRAME_END
	RETURN
SYM_FUNC_END(kpt_asm_reads_ac)

SYM_FUNC_START(kpt_asm_returns)
	RETURN
SYM_FUNC_END(kpt_asm_returns)

SYM_FUNC_START(kpt_asm_traced)
	FTRACE_SITE
	RETURN
SYM_FUNC_END(kpt_asm_traced)

SYM_FUNC_START(kpt_asm_inside)
	xor	SPARE, SPARE
.Linside_at:
	lea	1(FIRST,FIRST,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_asm_inside)
OFFSET kpt_asm_inside_at, .Linside_at, kpt_asm_inside

/* The three bytes in its middle are a symbol of their own, and on the blacklist. */
SYM_FUNC_START(kpt_around_refused)
	nop
.Laround_refused_at:
	nop
SYM_INNER_LABEL(kpt_refused_bytes, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	nop
	nop
	nop
SYM_INNER_LABEL(kpt_after_refused, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	nop
	lea	1(FIRST,FIRST,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_around_refused)
OFFSET kpt_around_refused_at, .Laround_refused_at, kpt_around_refused
_ASM_NOKPROBE(kpt_refused_bytes)

/* Its first instruction is long enough to be a jump. */
SYM_FUNC_START(kpt_many)
	{disp32} lea 0(%_ASM_SI), %_ASM_SI
	jmp	kpt_many_c
SYM_FUNC_END(kpt_many)

SYM_FUNC_START(kpt_load)
	xor	SPARE, SPARE
.Lload_at:
	mov	(FIRST), %_ASM_AX
.Lload_next:
	RETURN
.Lload_fault:
	mov	$KPT_FAULTED, %_ASM_AX
	RETURN
	_ASM_EXTABLE(.Lload_at, .Lload_fault)
SYM_FUNC_END(kpt_load)
OFFSET kpt_load_at, .Lload_at, kpt_load
OFFSET kpt_load_next, .Lload_next, kpt_load

/* A fix-up that also serves for errors of memory, as in copy_mc_fragile(). */
SYM_FUNC_START(kpt_load_mc)
	xor	SPARE, SPARE
.Lload_mc_at:
	mov	(FIRST), %_ASM_AX
	RETURN
.Lload_mc_fault:
	mov	$KPT_FAULTED, %_ASM_AX
	RETURN
	_ASM_EXTABLE_TYPE(.Lload_mc_at, .Lload_mc_fault, EX_TYPE_DEFAULT_MCE_SAFE)
SYM_FUNC_END(kpt_load_mc)
OFFSET kpt_load_mc_at, .Lload_mc_at, kpt_load_mc

SYM_FUNC_START(kpt_peek)
	xor	SPARE, SPARE
.Lpeek_at:
	mov	(FIRST), %_ASM_AX
.Lpeek_next:
	add	$1, SPARE
	RETURN
SYM_FUNC_END(kpt_peek)
OFFSET kpt_peek_at, .Lpeek_at, kpt_peek
OFFSET kpt_peek_next, .Lpeek_next, kpt_peek

/* As load_unaligned_zeropad() does it; the fix-up is the next instruction. */
SYM_FUNC_START(kpt_zeropad)
	xor	SPARE, SPARE
.Lzeropad_at:
	{disp32} mov (FIRST), %_ASM_AX
.Lzeropad_next:
	RETURN
	_ASM_EXTABLE_TYPE(.Lzeropad_at, .Lzeropad_next, EX_TYPE_ZEROPAD)
SYM_FUNC_END(kpt_zeropad)
OFFSET kpt_zeropad_at, .Lzeropad_at, kpt_zeropad

SYM_FUNC_START(kpt_zeropad_short)
	xor	SPARE, SPARE
.Lzeropad_short_at:
	mov	(FIRST), %_ASM_AX
.Lzeropad_short_next:
	RETURN
	_ASM_EXTABLE_TYPE(.Lzeropad_short_at, .Lzeropad_short_next, EX_TYPE_ZEROPAD)
SYM_FUNC_END(kpt_zeropad_short)
OFFSET kpt_zeropad_short_at, .Lzeropad_short_at, kpt_zeropad_short

SYM_FUNC_START(kpt_call_at)
	xor	SPARE, SPARE
.Lcall_at:
	ANNOTATE_RETPOLINE_SAFE
	{disp32} call	*(FIRST)
.Lcall_next:
	RETURN
SYM_FUNC_END(kpt_call_at)
#ifdef CONFIG_FRAME_POINTER
/* It has no frame: fault handlers return from it through the top of the stack. */
STACK_FRAME_NON_STANDARD kpt_call_at
#endif
OFFSET kpt_call_at_at, .Lcall_at, kpt_call_at
OFFSET kpt_call_at_next, .Lcall_next, kpt_call_at

#ifdef CONFIG_X86_64
/*
 * Branches to the argument. The padding leaves room for a jump before the place where the
 * branch may lead. Returns by how much the stack pointer is off, plus KPT_FAULTED after a
 * fault. objtool cannot know where the branch goes.
 */
.macro FAR_BRANCH name:req, insn:vararg
SYM_FUNC_START(kpt_far_\name)
	mov	%rsp, %rdx
	push	%rdi
.Lfar_\name\()_at:
	ANNOTATE_RETPOLINE_SAFE
	\insn
	.skip	8, 0x90
.Lfar_\name\()_done:
	ENDBR
	lea	-8(%rdx), %rax
.ifc \name, ret
	mov	%rdx, %rax
.endif
	sub	%rsp, %rax
	mov	%rdx, %rsp
	RETURN
.Lfar_\name\()_fault:
	lea	KPT_FAULTED-8(%rdx), %rax
	sub	%rsp, %rax
	mov	%rdx, %rsp
	RETURN
	_ASM_EXTABLE(.Lfar_\name\()_at, .Lfar_\name\()_fault)
SYM_FUNC_END(kpt_far_\name)
STACK_FRAME_NON_STANDARD kpt_far_\name
OFFSET kpt_far_\name\()_at, .Lfar_\name\()_at, kpt_far_\name
OFFSET kpt_far_\name\()_done, .Lfar_\name\()_done, kpt_far_\name
.endm

FAR_BRANCH call, call *%rdi
FAR_BRANCH call_mem, {disp32} call *0(%rsp)
/* The same with prefixes that mean nothing: of 11 and 12 bytes. */
FAR_BRANCH call_11, .byte 0x2e, 0x2e, 0x2e, 0x2e, 0xff, 0x94, 0x24, 0, 0, 0, 0
FAR_BRANCH call_12, .byte 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0xff, 0x94, 0x24, 0, 0, 0, 0
/* What it reads is in kpt_far_word, too. */
FAR_BRANCH call_rip, call *kpt_far_word(%rip)
FAR_BRANCH jmp, jmp *%rdi
FAR_BRANCH jmp_mem, jmp *(%rsp)
FAR_BRANCH ret, ret

	.pushsection .data, "aw"
	.balign	8
SYM_DATA(kpt_far_word, .quad 0)
	.popsection
#endif

SYM_FUNC_START(kpt_call_user)
	xor	SPARE, SPARE
	ASM_STAC
.Lcall_user_at:
	ANNOTATE_RETPOLINE_SAFE
	{disp32} call	*(FIRST)
	ASM_CLAC
	RETURN
SYM_FUNC_END(kpt_call_user)
/* objtool allows no call while user memory can be accessed. */
STACK_FRAME_NON_STANDARD kpt_call_user
OFFSET kpt_call_user_at, .Lcall_user_at, kpt_call_user

SYM_FUNC_START(kpt_load_user)
	ASM_STAC
.Lload_user_at:
	mov	(FIRST), %_ASM_AX
	/* Four bytes, so that a jump fits before what others patch. */
	nopl	0x7f(%_ASM_AX)
.Lload_user_done:
	ASM_CLAC
	RETURN
.Lload_user_fault:
	mov	$KPT_FAULTED, %_ASM_AX
	jmp	.Lload_user_done
	_ASM_EXTABLE_UA(.Lload_user_at, .Lload_user_fault)
SYM_FUNC_END(kpt_load_user)
OFFSET kpt_load_user_at, .Lload_user_at, kpt_load_user

SYM_FUNC_START(kpt_divide)
	mov	FIRST, %_ASM_CX
	mov	$100, %eax
	xor	%edx, %edx
.Ldivide_at:
	div	%_ASM_CX
.Ldivide_next:
	RETURN
.Ldivide_fault:
	mov	$KPT_FAULTED, %_ASM_AX
	RETURN
	_ASM_EXTABLE(.Ldivide_at, .Ldivide_fault)
SYM_FUNC_END(kpt_divide)
OFFSET kpt_divide_at, .Ldivide_at, kpt_divide
OFFSET kpt_divide_next, .Ldivide_next, kpt_divide

/* LOCK is for memory only: it raises #UD. */
SYM_FUNC_START(kpt_locked)
	GET_ARG
.Llocked_at:
	.byte	0xf0
	add	%eax, %eax
	RETURN
	/* AX is the trap. */
.Llocked_fault:
	cmp	$X86_TRAP_UD, %eax
	jne	1f
	lea	1(ARG,ARG,2), %_ASM_AX
1:	RETURN
	_ASM_EXTABLE_TYPE(.Llocked_at, .Llocked_fault, EX_TYPE_FAULT)
SYM_FUNC_END(kpt_locked)
OFFSET kpt_locked_at, .Llocked_at, kpt_locked

SYM_FUNC_START(kpt_rdmsr)
	mov	FIRST, %_ASM_CX
.Lrdmsr_at:
	rdmsr
	xor	%eax, %eax
	RETURN
.Lrdmsr_fault:
	mov	$KPT_FAULTED, %_ASM_AX
	RETURN
	_ASM_EXTABLE(.Lrdmsr_at, .Lrdmsr_fault)
SYM_FUNC_END(kpt_rdmsr)
OFFSET kpt_rdmsr_at, .Lrdmsr_at, kpt_rdmsr

SYM_FUNC_START(kpt_xgetbv)
	mov	FIRST, %_ASM_CX
.Lxgetbv_at:
	xgetbv
	xor	%eax, %eax
	RETURN
.Lxgetbv_fault:
	mov	$KPT_FAULTED, %_ASM_AX
	RETURN
	_ASM_EXTABLE(.Lxgetbv_at, .Lxgetbv_fault)
SYM_FUNC_END(kpt_xgetbv)
OFFSET kpt_xgetbv_at, .Lxgetbv_at, kpt_xgetbv

SYM_FUNC_START(kpt_traps)
	jmp	.Ltraps_run
.Ltraps_int3_at:
	int3
.Ltraps_ud2_at:
	ud2
.Ltraps_run:
	lea	1(FIRST,FIRST,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_traps)
OFFSET kpt_traps_int3_at, .Ltraps_int3_at, kpt_traps
OFFSET kpt_traps_ud2_at, .Ltraps_ud2_at, kpt_traps
/* Traps that are jumped over make no sense to objtool. */
STACK_FRAME_NON_STANDARD kpt_traps

SYM_FUNC_START(kpt_drops)
	lea	1(FIRST,FIRST,2), %_ASM_AX
	PROBE_AT kpt_drops
	ANNOTATE_UNRET_SAFE
	.byte	0xc2, 0x08, 0x80
SYM_FUNC_END(kpt_drops)
STACK_FRAME_NON_STANDARD kpt_drops

/*
 * The trampoline of a static call that calls nothing, as it is where returns need no thunk.
 * It does not run.
 */
SYM_FUNC_START(kpt_null_tramp)
	jmp	.Lnull_tramp_run
.Lnull_tramp_at:
	ANNOTATE_RETPOLINE_SAFE
	.byte	0xc3, 0xcc, 0x90, 0x90, 0x90, 0x0f, 0xb9, 0xcc
.Lnull_tramp_run:
	lea	1(FIRST,FIRST,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_null_tramp)
OFFSET kpt_null_tramp_at, .Lnull_tramp_at, kpt_null_tramp
STACK_FRAME_NON_STANDARD kpt_null_tramp

/* The NOP is followed by a lock prefix, which is there only with several CPUs. */
SYM_FUNC_START(kpt_locks)
.Llocks_at:
	nop
	LOCK_PREFIX
	incl	(FIRST)
	RETURN
SYM_FUNC_END(kpt_locks)
OFFSET kpt_locks_at, .Llocks_at, kpt_locks

/*
 * The unwinder's table has entries for the push and the pop, which are replaced. Decoding
 * the replacement from there runs into the next instruction.
 */
SYM_FUNC_START(kpt_alternative)
#ifdef CONFIG_X86_64
	ALTERNATIVE "push %rax; pop %rax; nop; nop; nop", \
		    ".byte 0xb9, 0x90, 0x48, 0xb8, 0x90", X86_FEATURE_ALWAYS
#else
	ALTERNATIVE "push %ecx; pop %ecx; nop; nop; nop", \
		    ".byte 0xb9, 0x90, 0x90, 0xb8, 0x90", X86_FEATURE_ALWAYS
#endif
.Lalternative_after:
	lea	1(FIRST,FIRST,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_alternative)
OFFSET kpt_alternative_after, .Lalternative_after, kpt_alternative

/*
 * Vector instructions, which do not run. Their opcodes are those of PUSH, a conditional
 * jump, two prefixes, RET, and CALL in the other map.
 */
SYM_FUNC_START(kpt_vector)
	jmp	.Lvector_run
.Lvector_at:
	.byte	0xc5, 0xf8, 0x50, 0xc1
	.byte	0xc5, 0xf8, 0x77, 0x90
	.byte	0xc5, 0xf9, 0xe8, 0xc1
	.byte	0xc5, 0xf9, 0xf2, 0xc1
	.byte	0xc5, 0xf1, 0x66, 0xc2
	.byte	0xc5, 0xf8, 0xc2, 0xc1, 0x00
.Lvector_run:
	lea	1(FIRST,FIRST,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_vector)
OFFSET kpt_vector_at, .Lvector_at, kpt_vector
STACK_FRAME_NON_STANDARD kpt_vector

/*
 * A static function with a cold part. Other functions have the same names: see
 * jump_x86_text.S. objtool looks for the function in the same file.
 */
	.pushsection .text.unlikely, "ax", @progbits
SYM_START(kpt_jump_twin.cold, SYM_L_LOCAL, SYM_A_NONE)
	xor	%eax, %eax
	RETURN
SYM_FUNC_END(kpt_jump_twin.cold)
	.popsection

SYM_FUNC_START_LOCAL(kpt_jump_twin)
	jmp	kpt_jump_twin.cold
SYM_FUNC_END(kpt_jump_twin)

/* The cold part of that name is not one of data. These bytes are no instruction. */
	.section .rodata, "a"
	.type	kpt_jump_cooled, @object
	.size	kpt_jump_cooled, 4
kpt_jump_cooled:
	.byte	0x0f, 0x38, 0xf2, 0xf2
