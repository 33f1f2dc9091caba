/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes on x86_64: where code and handlers meet.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm-offsets.h>
#include <asm/nospec-branch.h>
#include <asm/ptrace-abi.h>
#include <asm/segment.h>
#include <asm/unwind_hints.h>

.macro SAVE_GENERAL
	push	%rdi
	push	%rsi
	push	%rdx
	push	%rcx
	push	%rax
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
.endm

.macro RESTORE_GENERAL
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rax
	pop	%rcx
	pop	%rdx
	pop	%rsi
	pop	%rdi
.endm

.section .kprobes.text, "ax"

/*
 * The end of a detour that does not fall through to the displaced code. Jumped
 * to with pt_regs on top of the stack: goes on with those registers, at
 * regs->ip, which is put where RET finds it: right below the stack as it will
 * be. If a handler has moved that down, so that pt_regs is in the way, pt_regs
 * moves down first, in an order that keeps all of it above the stack pointer.
 */
SYM_CODE_START(detour_leave)
	UNWIND_HINT_REGS
	ANNOTATE_NOENDBR
	mov	RIP(%rsp), %rax
	mov	RSP(%rsp), %rdx
	sub	$8, %rdx
	lea	PTREGS_SIZE(%rsp), %rcx
	cmp	%rcx, %rdx
	jae	.Lroom
	mov	%rsp, %rsi
	lea	-PTREGS_SIZE(%rdx), %rdi
	mov	%rdi, %rsp
	UNWIND_HINT_UNDEFINED
	mov	$PTREGS_SIZE / 8, %ecx
	rep	movsq
	UNWIND_HINT_REGS
.Lroom:
	mov	%rax, (%rdx)
	mov	%rdx, RSP(%rsp)
	RESTORE_GENERAL
	add	$24, %rsp
	popf
	pop	%rsp
	UNWIND_HINT_FUNC
	RET
SYM_CODE_END(detour_leave)

#ifdef CONFIG_KPROBES_ON_FTRACE
/*
 * Called at a function's entry where nobody but kprobes uses its ftrace site.
 * Less work than what ftrace has for all comers: the registers go in one
 * direction each, and the handler looks up nothing but the point.
 *
 * Functions are called with the direction and alignment check flags clear, so
 * these need no care.
 */
SYM_FUNC_START(kprobe_ftrace_trampoline)
	push	$__KERNEL_DS
	push	%rsp			/* mended below */
	pushf
	CALL_DEPTH_ACCOUNT
	push	$__KERNEL_CS
	push	4*8(%rsp)		/* ip: behind the site */
	push	$-1			/* orig_ax */
	SAVE_GENERAL
	/* What the function's caller has pushed last. */
	addq	$2*8, RSP(%rsp)

	mov	%rsp, %rdi
	CALL_DEPTH_ACCOUNT
	call	kprobe_ftrace_call_hit

	/* Where regs->ip says, with the return address off the stack. */
	mov	RIP(%rsp), %rax
	mov	%rax, PTREGS_SIZE(%rsp)
	RESTORE_GENERAL
	add	$24, %rsp
	popf
	lea	16(%rsp), %rsp
	RET
SYM_INNER_LABEL(kprobe_ftrace_trampoline_end, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	int3
SYM_FUNC_END(kprobe_ftrace_trampoline)
#endif
