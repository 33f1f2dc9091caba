/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes on i386: assembly between probed code and handlers. entry_64.S explains it.
 */
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/frame.h>
#include <asm/nospec-branch.h>
#include <asm/segment.h>
#include <asm/smap.h>

.macro RESTORE_GENERAL
	pop	%ebx
	pop	%ecx
	pop	%edx
	pop	%esi
	pop	%edi
	pop	%ebp
	pop	%eax
.endm

.section .kprobes.text, "ax"

#ifdef CONFIG_OPTPROBES
/* Restores segments, too: the probed code may have its own. */
SYM_CODE_START(detour_leave)
	cmp	$4, %eax
	je	.Lcalled
	cmp	$1, %eax
	je	.Lcall
	call	.Lcall_once
	int3
.Lcall_once:
	add	$4, %esp
.Lcall:
	call	.Lcall_again
	int3
.Lcall_again:
	add	$4, %esp
.Lcalled:
	mov	PT_EIP(%esp), %eax
	mov	PT_OLDESP(%esp), %edx
	sub	$4, %edx
	lea	PTREGS_SIZE(%esp), %ecx
	cmp	%ecx, %edx
	jae	.Lroom
	mov	%esp, %esi
	lea	-PTREGS_SIZE(%edx), %edi
	mov	%edi, %esp
	mov	$PTREGS_SIZE / 4, %ecx
	rep	movsl
.Lroom:
	mov	%eax, (%edx)
	mov	%edx, PT_OLDESP(%esp)
	RESTORE_GENERAL
	pop	%ds
	pop	%es
	pop	%fs
	/* gs, which is unused, orig_ax, ip, cs */
	add	$4*4, %esp
	popf
	pop	%esp
	RET
SYM_CODE_END(detour_leave)
#endif

#ifdef CONFIG_KPROBES_ON_FTRACE
SYM_CODE_START(kprobe_ftrace_return)
	RET
SYM_CODE_END(kprobe_ftrace_return)

SYM_CODE_START(kprobe_ftrace_return_far)
	pop	%esp
	RET
SYM_CODE_END(kprobe_ftrace_return_far)
#endif

#ifdef CONFIG_KRETPROBES
SYM_CODE_START(__kretprobe_trampoline)
	call	.Lreturned
	int3
.Lreturned:
	push	$__KERNEL_DS
	push	%esp			/* fixed up below */
	pushf
	ASM_CLAC
	push	$__KERNEL_CS
	push	$__kretprobe_trampoline	/* replaced by the handler */
	push	$-1			/* orig_ax */
	push	%gs
	push	%fs
	push	%es
	push	%ds
	push	%eax
	push	%ebp
	push	%edi
	push	%esi
	push	%edx
	push	%ecx
	push	%ebx
	ENCODE_FRAME_POINTER
	/* The stack pointer as the caller will have it. */
	addl	$2*4, PT_OLDESP(%esp)

	push	%esp
	call	kretprobe_return
	add	$4, %esp

	RESTORE_GENERAL
	/* Segments, orig_ax, ip, cs */
	add	$(4*4 + 3*4), %esp
	popf
	lea	8(%esp), %esp
	RET
SYM_CODE_END(__kretprobe_trampoline)
#endif
