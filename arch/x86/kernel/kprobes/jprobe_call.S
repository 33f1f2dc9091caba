/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes on x86: calling the handler of a jprobe, and returning from any depth
 * in it.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm-offsets.h>
#include <asm/nospec-branch.h>
#include <asm/ptrace-abi.h>
#include <asm/unwind_hints.h>

#include "jprobe.h"

.section .kprobes.text, "ax"

#ifdef CONFIG_X86_64

/* What x86_jprobe_call() has pushed. */
.macro RESTORE_CALLER
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
.endm

/*
 * x86_jprobe_call(regs, handler, args, nr, frame): calls the handler with the
 * argument registers of regs, and nr words from args as the arguments on the stack.
 * Stores in *frame the argument for x86_jprobe_leave().
 */
SYM_FUNC_START(x86_jprobe_call)
	push	%rbp
	mov	%rsp, %rbp
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, (%r8)

	sub	$X86_JPROBE_STACK, %rsp
	and	$-16, %rsp
	mov	%rdi, %r10
	mov	%rsi, %r11
	mov	%rsp, %rdi
	mov	%rdx, %rsi
	rep movsq

	mov	RDI(%r10), %rdi
	mov	RSI(%r10), %rsi
	mov	RDX(%r10), %rdx
	mov	RCX(%r10), %rcx
	mov	R8(%r10), %r8
	mov	R9(%r10), %r9
	/* For functions with variable arguments. */
	mov	RAX(%r10), %rax
	CALL_NOSPEC r11

	lea	-5*8(%rbp), %rsp
	RESTORE_CALLER
	RET
SYM_FUNC_END(x86_jprobe_call)

/* x86_jprobe_leave(frame): returns from that x86_jprobe_call(). */
SYM_CODE_START(x86_jprobe_leave)
	UNWIND_HINT_FUNC
	ANNOTATE_NOENDBR
	mov	%rdi, %rsp
	UNWIND_HINT_UNDEFINED
	RESTORE_CALLER
	UNWIND_HINT_FUNC
	RET
SYM_CODE_END(x86_jprobe_leave)

#else /* CONFIG_X86_32 */

.macro RESTORE_CALLER
	pop	%edi
	pop	%esi
	pop	%ebx
	pop	%ebp
.endm

/* The same; nr and frame are on the stack. */
SYM_FUNC_START(x86_jprobe_call)
	push	%ebp
	mov	%esp, %ebp
	push	%ebx
	push	%esi
	push	%edi
	mov	12(%ebp), %esi
	mov	%esp, (%esi)

	sub	$X86_JPROBE_STACK, %esp
	and	$-16, %esp
	mov	%edx, %ebx
	mov	%ecx, %esi
	mov	8(%ebp), %ecx
	mov	%esp, %edi
	rep movsl

	mov	PT_EDX(%eax), %edx
	mov	PT_ECX(%eax), %ecx
	mov	PT_EAX(%eax), %eax
	CALL_NOSPEC ebx

	lea	-3*4(%ebp), %esp
	RESTORE_CALLER
	RET
SYM_FUNC_END(x86_jprobe_call)

SYM_CODE_START(x86_jprobe_leave)
	mov	%eax, %esp
	RESTORE_CALLER
	RET
SYM_CODE_END(x86_jprobe_leave)

#endif
