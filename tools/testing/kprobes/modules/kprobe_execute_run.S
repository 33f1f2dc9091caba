/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sites of kprobe_execute.h, and what enters and leaves them: see there.
 *
 * The stack of a run is a piece of the thread's, below that of the caller, so exceptions
 * have room. It is at the same address in all runs. No instruction between the one under
 * test and the end uses the stack or changes flags.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/bitsperlong.h>
#include <asm/nospec-branch.h>

#include "kprobe_execute.h"

#define WORD		(__BITS_PER_LONG / 8)
#define IN(n)		_ASM_RIP(exec_gpr + (n) * __BITS_PER_LONG / 8)
#define OUT(n)		_ASM_RIP(exec_gpr_out + (n) * __BITS_PER_LONG / 8)

#ifdef CONFIG_X86_64
#define MOVS		movsq
#else
#define MOVS		movsl
#endif

	.text

/* Run what exec_target leads to. */
SYM_FUNC_START(exec_enter)
	push	%_ASM_BP
	push	%_ASM_BX
#ifdef CONFIG_X86_64
	push	%r12
	push	%r13
	push	%r14
	push	%r15
#else
	push	%esi
	push	%edi
#endif
	pushf
	mov	%_ASM_SP, _ASM_RIP(exec_caller)

	/* Below the stack pointer, but interrupts are off. */
	cld
	lea	_ASM_RIP(exec_stack), %_ASM_SI
	mov	_ASM_RIP(exec_sp), %_ASM_DI
	sub	$STACK_BELOW, %_ASM_DI
	mov	$(STACK_SIZE / WORD), %ecx
	rep	MOVS

	lea	_ASM_RIP(exec_flags), %_ASM_SP
	popf
	mov	_ASM_RIP(exec_sp), %_ASM_SP
	mov	IN(R_AX), %_ASM_AX
	mov	IN(R_CX), %_ASM_CX
	mov	IN(R_DX), %_ASM_DX
	mov	IN(R_BX), %_ASM_BX
	mov	IN(R_BP), %_ASM_BP
	mov	IN(R_SI), %_ASM_SI
	mov	IN(R_DI), %_ASM_DI
#ifdef CONFIG_X86_64
	mov	IN(8), %r8
	mov	IN(9), %r9
	mov	IN(10), %r10
	mov	IN(11), %r11
	mov	IN(12), %r12
	mov	IN(13), %r13
	mov	IN(14), %r14
	mov	IN(15), %r15
#endif
	ANNOTATE_RETPOLINE_SAFE
	jmp	*_ASM_RIP(exec_target)
	int3
SYM_FUNC_END(exec_enter)
STACK_FRAME_NON_STANDARD exec_enter

/* Sites jump to one of these, with all registers as the instruction has left them. */
.macro EXIT name:req how:req
SYM_FUNC_START(\name)
	movl	$\how, _ASM_RIP(exec_exit)
	jmp	exec_leave
SYM_FUNC_END(\name)
STACK_FRAME_NON_STANDARD \name
.endm

	EXIT exec_exit_fall, EXIT_FALL
	EXIT exec_exit_taken, EXIT_TAKEN
	EXIT exec_exit_back, EXIT_BACK
	EXIT exec_exit_fault, EXIT_FAULT

SYM_FUNC_START_LOCAL(exec_leave)
	mov	%_ASM_AX, OUT(R_AX)
	mov	%_ASM_CX, OUT(R_CX)
	mov	%_ASM_DX, OUT(R_DX)
	mov	%_ASM_BX, OUT(R_BX)
	mov	%_ASM_SP, OUT(R_SP)
	mov	%_ASM_BP, OUT(R_BP)
	mov	%_ASM_SI, OUT(R_SI)
	mov	%_ASM_DI, OUT(R_DI)
#ifdef CONFIG_X86_64
	mov	%r8, OUT(8)
	mov	%r9, OUT(9)
	mov	%r10, OUT(10)
	mov	%r11, OUT(11)
	mov	%r12, OUT(12)
	mov	%r13, OUT(13)
	mov	%r14, OUT(14)
	mov	%r15, OUT(15)
#endif
	lea	_ASM_RIP(exec_flags_out + WORD), %_ASM_SP
	pushf
	mov	_ASM_RIP(exec_caller), %_ASM_SP

	cld
	mov	_ASM_RIP(exec_sp), %_ASM_SI
	sub	$STACK_BELOW, %_ASM_SI
	lea	_ASM_RIP(exec_stack_out), %_ASM_DI
	mov	$(STACK_SIZE / WORD), %ecx
	rep	MOVS

	popf
#ifdef CONFIG_X86_64
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
#else
	pop	%edi
	pop	%esi
#endif
	pop	%_ASM_BX
	pop	%_ASM_BP
	RET
SYM_FUNC_END(exec_leave)
STACK_FRAME_NON_STANDARD exec_leave

/* Functions of sites, which are written at run time. */
.macro SITES
	STACK_FRAME_NON_STANDARD exec_fn_\@
	.type	exec_fn_\@, @function
exec_fn_\@:
	ENDBR
	.fill	FN_SIZE - (. - exec_fn_\@), 1, 0xcc
	.size	exec_fn_\@, . - exec_fn_\@
.endm

	.balign	4096, 0xcc
	.globl	exec_text
exec_text:
	.rept	NR_FNS
	SITES
	.endr
