/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A target in which several probes fit into the bytes of one jump. */
#ifndef _KPROBE_BYTES_H
#define _KPROBE_BYTES_H

#include <linux/linkage.h>

#include <asm/ibt.h>

#ifdef CONFIG_X86_KERNEL_IBT
#define ENDBR_SIZE	4
#else
#define ENDBR_SIZE	0
#endif

/* After the entry: five instructions of one byte, then one of five bytes. */
#define BYTES(name)							\
	unsigned long name(unsigned long x);				\
	asm(".pushsection .text\n"					\
	    "	.balign	16, 0xcc\n"					\
	    "	.type	" #name ", @function\n"				\
	    "	.globl	" #name "\n"					\
	    #name ":\n"							\
	    ASM_ENDBR							\
	    "	push	%rdi\n"						\
	    "	pop	%rsi\n"						\
	    "	push	%rsi\n"						\
	    "	nop\n"							\
	    "	pop	%rdi\n"						\
	    "	lea	1(%rdi,%rdi,2), %rax\n"				\
	    ASM_RET							\
	    "	.size	" #name ", . - " #name "\n"			\
	    ".popsection\n")

#endif /* _KPROBE_BYTES_H */
