/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs code with all registers set, and stores what they are afterwards. They are in
 * arrays, at the indices R_* of the including file's header.
 */
#ifndef _LIB_TESTS_KPROBES_REGS_X86_S
#define _LIB_TESTS_KPROBES_REGS_X86_S

#include <asm/asm.h>
#include <asm/bitsperlong.h>

#define WORD	(__BITS_PER_LONG / 8)

/* What the caller has in registers and flags. */
.macro SAVE_CALLER
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
.endm

.macro RESTORE_CALLER
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
.endm

/* All but the stack pointer. Flags stay as they are. */
.macro LOAD_REGS from:req
#ifdef CONFIG_X86_64
	mov	_ASM_RIP(\from + R_R8 * WORD), %r8
	mov	_ASM_RIP(\from + R_R9 * WORD), %r9
	mov	_ASM_RIP(\from + R_R10 * WORD), %r10
	mov	_ASM_RIP(\from + R_R11 * WORD), %r11
	mov	_ASM_RIP(\from + R_R12 * WORD), %r12
	mov	_ASM_RIP(\from + R_R13 * WORD), %r13
	mov	_ASM_RIP(\from + R_R14 * WORD), %r14
	mov	_ASM_RIP(\from + R_R15 * WORD), %r15
#endif
	mov	_ASM_RIP(\from + R_AX * WORD), %_ASM_AX
	mov	_ASM_RIP(\from + R_BX * WORD), %_ASM_BX
	mov	_ASM_RIP(\from + R_CX * WORD), %_ASM_CX
	mov	_ASM_RIP(\from + R_DX * WORD), %_ASM_DX
	mov	_ASM_RIP(\from + R_SI * WORD), %_ASM_SI
	mov	_ASM_RIP(\from + R_DI * WORD), %_ASM_DI
	mov	_ASM_RIP(\from + R_BP * WORD), %_ASM_BP
.endm

/* With the stack pointer. Flags stay as they are. */
.macro STORE_REGS to:req
	mov	%_ASM_AX, _ASM_RIP(\to + R_AX * WORD)
	mov	%_ASM_BX, _ASM_RIP(\to + R_BX * WORD)
	mov	%_ASM_CX, _ASM_RIP(\to + R_CX * WORD)
	mov	%_ASM_DX, _ASM_RIP(\to + R_DX * WORD)
	mov	%_ASM_SI, _ASM_RIP(\to + R_SI * WORD)
	mov	%_ASM_DI, _ASM_RIP(\to + R_DI * WORD)
	mov	%_ASM_BP, _ASM_RIP(\to + R_BP * WORD)
#ifdef CONFIG_X86_64
	mov	%r8, _ASM_RIP(\to + R_R8 * WORD)
	mov	%r9, _ASM_RIP(\to + R_R9 * WORD)
	mov	%r10, _ASM_RIP(\to + R_R10 * WORD)
	mov	%r11, _ASM_RIP(\to + R_R11 * WORD)
	mov	%r12, _ASM_RIP(\to + R_R12 * WORD)
	mov	%r13, _ASM_RIP(\to + R_R13 * WORD)
	mov	%r14, _ASM_RIP(\to + R_R14 * WORD)
	mov	%r15, _ASM_RIP(\to + R_R15 * WORD)
#endif
	mov	%_ASM_SP, _ASM_RIP(\to + R_SP * WORD)
.endm

#endif /* _LIB_TESTS_KPROBES_REGS_X86_S */
