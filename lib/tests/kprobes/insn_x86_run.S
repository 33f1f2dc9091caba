/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls a function with all registers and flags given, and keeps those it leaves. */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/bitsperlong.h>
#include <asm/nospec-branch.h>

#include "insn_x86.h"

#define IN(n)	_ASM_RIP(kpt_insn_in + (n) * __BITS_PER_LONG / 8)
#define OUT(n)	_ASM_RIP(kpt_insn_out + (n) * __BITS_PER_LONG / 8)

	.text

SYM_FUNC_START(kpt_insn_run)
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
	mov	%_ASM_SP, _ASM_RIP(kpt_insn_sp)
	sub	$INSN_STACK, %_ASM_SP

	/* No instruction from here to the call changes flags. */
	__ASM_SIZE(push) IN(R_FLAGS)
	popf
#ifdef CONFIG_X86_64
	mov	IN(R_R8), %r8
	mov	IN(R_R9), %r9
	mov	IN(R_R10), %r10
	mov	IN(R_R11), %r11
	mov	IN(R_R12), %r12
	mov	IN(R_R13), %r13
	mov	IN(R_R14), %r14
	mov	IN(R_R15), %r15
#endif
	mov	IN(R_AX), %_ASM_AX
	mov	IN(R_BX), %_ASM_BX
	mov	IN(R_CX), %_ASM_CX
	mov	IN(R_DX), %_ASM_DX
	mov	IN(R_SI), %_ASM_SI
	mov	IN(R_DI), %_ASM_DI
	mov	IN(R_BP), %_ASM_BP
	ANNOTATE_RETPOLINE_SAFE
	call	*_ASM_RIP(kpt_insn_fn)

	/* Nor does one from here to the pushf. */
	mov	%_ASM_AX, OUT(R_AX)
	mov	%_ASM_BX, OUT(R_BX)
	mov	%_ASM_CX, OUT(R_CX)
	mov	%_ASM_DX, OUT(R_DX)
	mov	%_ASM_SI, OUT(R_SI)
	mov	%_ASM_DI, OUT(R_DI)
	mov	%_ASM_BP, OUT(R_BP)
#ifdef CONFIG_X86_64
	mov	%r8, OUT(R_R8)
	mov	%r9, OUT(R_R9)
	mov	%r10, OUT(R_R10)
	mov	%r11, OUT(R_R11)
	mov	%r12, OUT(R_R12)
	mov	%r13, OUT(R_R13)
	mov	%r14, OUT(R_R14)
	mov	%r15, OUT(R_R15)
#endif
	mov	%_ASM_SP, OUT(R_SP)
	mov	_ASM_RIP(kpt_insn_sp), %_ASM_SP
	pushf
	__ASM_SIZE(pop) OUT(R_FLAGS)
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
SYM_FUNC_END(kpt_insn_run)
STACK_FRAME_NON_STANDARD kpt_insn_run
