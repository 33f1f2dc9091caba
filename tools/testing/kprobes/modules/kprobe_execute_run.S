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
#include <asm/nospec-branch.h>

#include "kprobe_execute.h"
#include "regs_x86.S"

#ifdef CONFIG_X86_64
#define MOVS		movsq
#else
#define MOVS		movsl
#endif

	.text

/* Run what exec_target leads to. */
SYM_FUNC_START(exec_enter)
	SAVE_CALLER
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
	LOAD_REGS exec_gpr
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
	STORE_REGS exec_gpr_out
	lea	_ASM_RIP(exec_flags_out + WORD), %_ASM_SP
	pushf
	mov	_ASM_RIP(exec_caller), %_ASM_SP

	cld
	mov	_ASM_RIP(exec_sp), %_ASM_SI
	sub	$STACK_BELOW, %_ASM_SI
	lea	_ASM_RIP(exec_stack_out), %_ASM_DI
	mov	$(STACK_SIZE / WORD), %ecx
	rep	MOVS

	RESTORE_CALLER
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
