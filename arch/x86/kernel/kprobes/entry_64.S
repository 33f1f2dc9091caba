/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes on x86_64: assembly between probed code and handlers.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/alternative.h>
#include <asm/asm-offsets.h>
#include <asm/cpufeatures.h>
#include <asm/frame.h>
#include <asm/nospec-branch.h>
#include <asm/ptrace-abi.h>
#include <asm/segment.h>
#include <asm/smap.h>
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

#ifdef CONFIG_OPTPROBES
/*
 * The end of a detour that does not continue with the displaced instructions. The detour
 * jumps here with pt_regs on top of the stack. Execution continues with those registers at
 * regs->ip. This code puts that address where RET finds it, right below the final
 * stack pointer. If a handler has moved the stack pointer down into pt_regs, first
 * move pt_regs down, in an order that keeps all of it above the stack pointer.
 *
 * The calls are for the return stack buffer; DETOUR_LEAVE in detour.h explains how
 * many. The RET takes one entry, and the entries of the callers stay in step.
 *
 * The displaced instructions may use the flags. Where returns are counted, the thunk that
 * counts them changes the flags. So this ends with a plain RET. Its call is not counted,
 * either, unless a return was emulated.
 */
SYM_CODE_START(detour_leave)
	UNWIND_HINT_REGS
	ANNOTATE_NOENDBR
	cmp	$3, %eax
	ja	.Lcalled
	jb	.Lcounted
	CALL_DEPTH_ACCOUNT
.Lcounted:
	cmp	$1, %eax
	je	.Lcall
	ANNOTATE_INTRA_FUNCTION_CALL
	call	.Lcall_once
	int3
.Lcall_once:
	UNWIND_HINT_REGS offset=8
	add	$8, %rsp
	UNWIND_HINT_REGS
.Lcall:
	ANNOTATE_INTRA_FUNCTION_CALL
	call	.Lcall_again
	int3
.Lcall_again:
	UNWIND_HINT_REGS offset=8
	add	$8, %rsp
	UNWIND_HINT_REGS
.Lcalled:
	mov	RIP(%rsp), %r8
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
	mov	%r8, (%rdx)
	mov	%rdx, RSP(%rsp)
	cmp	$3, %eax
	ja	.Lcounted_return
	RESTORE_GENERAL
	add	$24, %rsp
	popf
	pop	%rsp
	UNWIND_HINT_FUNC
	ALTERNATIVE __stringify(RET), \
		    __stringify(ANNOTATE_UNRET_SAFE; ret; int3), \
		    X86_FEATURE_CALL_DEPTH
.Lcounted_return:
	UNWIND_HINT_REGS
	RESTORE_GENERAL
	add	$24, %rsp
	popf
	pop	%rsp
	UNWIND_HINT_FUNC
	RET
SYM_CODE_END(detour_leave)
#endif

#if defined(CONFIG_KPROBES_ON_FTRACE) && !defined(CONFIG_FRAME_POINTER)
/*
 * Called at a function's entry if kprobes are the only user of its ftrace site.
 * This does less than ftrace's general callers: each register is saved and restored
 * once, and the handler looks up only the point.
 *
 * Functions are called with the direction flag clear. The alignment check flag is
 * clear, too, except in a few functions of UBSAN that report on accesses to user
 * memory. Other tracers run with it set there, as well.
 */
SYM_FUNC_START(kprobe_ftrace_trampoline)
	push	$__KERNEL_DS
	push	%rsp			/* fixed up below */
	pushf
	CALL_DEPTH_ACCOUNT
	push	$__KERNEL_CS
	push	4*8(%rsp)		/* ip: after the site */
	push	$-1			/* orig_ax */
	SAVE_GENERAL
	/* The stack pointer as on function entry: at the return address. */
	addq	$2*8, RSP(%rsp)

	mov	%rsp, %rdi
	call	kprobe_ftrace_call_hit

	/* Go to regs->ip, with the return address off the stack. */
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

#ifdef CONFIG_KPROBES_ON_FTRACE
/*
 * Execution gets here from an ftrace site if a handler has dropped words from the stack:
 * see arch_kprobe_ftrace_leave().
 */
SYM_CODE_START(kprobe_ftrace_return)
	UNWIND_HINT_FUNC
	ANNOTATE_NOENDBR
	RET
SYM_CODE_END(kprobe_ftrace_return)

SYM_CODE_START(kprobe_ftrace_return_far)
	UNWIND_HINT_UNDEFINED
	ANNOTATE_NOENDBR
	pop	%rsp
	UNWIND_HINT_FUNC
	RET
SYM_CODE_END(kprobe_ftrace_return_far)
#endif

#ifdef CONFIG_KRETPROBES
/*
 * Functions under a return probe return to this code instead of to their caller.
 *
 * The return address was popped, so an interrupt may overwrite the slot that held
 * it, right below the stack pointer. This holds only at the very first instruction,
 * where unwinders find the true address by the place of its slot. The call reclaims
 * the slot, for unwinders and for the RET at the end, and fills it with an address
 * that unwinders know. It also puts an entry in the return stack buffer for that RET,
 * so that the entries of the callers stay in step.
 *
 * Some functions that copy to and from user space return with SMAP suspended: the AC flag
 * is set. Handlers must not run like that, nor a task that preempts this one.
 */
SYM_CODE_START(__kretprobe_trampoline)
	UNWIND_HINT_UNDEFINED
	ANNOTATE_NOENDBR
	ANNOTATE_INTRA_FUNCTION_CALL
	call	.Lreturned
	int3
.Lreturned:
	UNWIND_HINT_FUNC
	push	$__KERNEL_DS
	push	%rsp			/* fixed up below */
	pushf
	ASM_CLAC
	push	$__KERNEL_CS
	push	$__kretprobe_trampoline	/* replaced by the handler */
	push	$-1			/* orig_ax */
	SAVE_GENERAL
	ENCODE_FRAME_POINTER
	/* The stack pointer as the caller will have it. */
	addq	$2*8, RSP(%rsp)

	mov	%rsp, %rdi
	call	kretprobe_return

	RESTORE_GENERAL
	add	$24, %rsp
	popf
	lea	16(%rsp), %rsp
	/* Depth tracking has not counted our own call. */
	ALTERNATIVE __stringify(RET), \
		    __stringify(ANNOTATE_UNRET_SAFE; ret; int3), \
		    X86_FEATURE_CALL_DEPTH
SYM_CODE_END(__kretprobe_trampoline)
#endif
