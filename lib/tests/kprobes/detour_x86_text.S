/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions whose detours are looked into: see detour_x86.h.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/frame.h>
#include <asm/nospec-branch.h>

/* The probe goes here. */
.macro AT name:req
	.pushsection .rodata, "a", @progbits
	.balign 4
	.globl kpt_detour_\name\()_at
	.type kpt_detour_\name\()_at, @object
	.size kpt_detour_\name\()_at, 4
kpt_detour_\name\()_at:
	.long	100f - kpt_detour_\name
	.popsection
100:
.endm

	.text

/* The way of a return: no indirect branch, so no ENDBR where it leads. */
SYM_FUNC_START(kpt_detour_enter)
	push	%rdi
	mov	%rsi, %rdi
	RET
SYM_FUNC_END(kpt_detour_enter)
STACK_FRAME_NON_STANDARD kpt_detour_enter

SYM_FUNC_START(kpt_detour_late)
	AT late
	xor	%eax, %eax
	add	%rdi, %rax
	lea	1(%rax,%rax,2), %rax
	RET
SYM_FUNC_END(kpt_detour_late)
