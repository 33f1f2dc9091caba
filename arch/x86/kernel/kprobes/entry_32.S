/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes on i386: where functions under a return probe return to.
 */
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/frame.h>
#include <asm/nospec-branch.h>
#include <asm/segment.h>

/* In struct pt_regs */
#define REGS_SEGMENTS	(4*4)
#define REGS_SP		(15*4)

.section .kprobes.text, "ax"

/* entry_64.S explains this, and especially the call. */
SYM_CODE_START(__kretprobe_trampoline)
	call	.Lreturned
	int3
.Lreturned:
	push	$__KERNEL_DS
	push	%esp			/* mended below */
	pushf
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
	addl	$2*4, REGS_SP(%esp)

	push	%esp
	call	kretprobe_return
	add	$4, %esp

	pop	%ebx
	pop	%ecx
	pop	%edx
	pop	%esi
	pop	%edi
	pop	%ebp
	pop	%eax
	/* Segments, orig_ax, ip, cs */
	add	$(REGS_SEGMENTS + 3*4), %esp
	popf
	lea	8(%esp), %esp
	RET
SYM_CODE_END(__kretprobe_trampoline)
