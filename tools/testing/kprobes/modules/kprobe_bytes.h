/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Targets in which several probes fit into the bytes of one jump. */
#ifndef _KPROBE_BYTES_H
#define _KPROBE_BYTES_H

#include <linux/linkage.h>
#include <linux/stringify.h>

#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/nops.h>

#ifdef CONFIG_X86_KERNEL_IBT
#define ENDBR_SIZE	4
#else
#define ENDBR_SIZE	0
#endif

/* The first two arguments of a function, and what it returns. */
#define ARG1		"%" _ASM_ARG1
#define ARG2		"%" _ASM_ARG2
#define RETURNED	"%" _ASM_AX

/* Of the instruction after the first five. */
#define LEA_LENGTH	(IS_ENABLED(CONFIG_X86_64) ? 5 : 4)

/* Which of the first five instructions of these targets is a nop. */
#define NOP_PLACE	3

/* After the entry: five instructions of one byte, then one of LEA_LENGTH. */
#define BYTES(name)							\
	unsigned long name(unsigned long x);				\
	asm(".pushsection .text\n"					\
	    "	.balign	16, 0xcc\n"					\
	    "	.type	" #name ", @function\n"				\
	    "	.globl	" #name "\n"					\
	    #name ":\n"							\
	    ASM_ENDBR							\
	    "	push	" ARG1 "\n"					\
	    "	pop	" ARG2 "\n"					\
	    "	push	" ARG2 "\n"					\
	    "	nop\n"							\
	    "	pop	" ARG1 "\n"					\
	    "	lea	1(" ARG1 "," ARG1 ",2), " RETURNED "\n"		\
	    ASM_RET							\
	    "	.size	" #name ", . - " #name "\n"			\
	    ".popsection\n")

/*
 * A jump label after five instructions of one byte: a jump at the entry ends before it, and
 * none fits at the others. NAME_sides are the offsets of the label, and of what follows it
 * while the key is off and on.
 */
#define BYTES_LABEL(name, key)						\
	unsigned long name(unsigned long x);				\
	extern const unsigned int name##_sides[3];			\
	asm(".pushsection .text\n"					\
	    "	.balign	16, 0xcc\n"					\
	    "	.type	" #name ", @function\n"				\
	    "	.globl	" #name "\n"					\
	    #name ":\n"							\
	    ASM_ENDBR							\
	    "	push	" ARG1 "\n"					\
	    "	pop	" ARG2 "\n"					\
	    "	push	" ARG2 "\n"					\
	    "	nop\n"							\
	    "	pop	" ARG1 "\n"					\
	    "1:	.byte	" __stringify(BYTES_NOP5) "\n"			\
	    "2:	lea	1(" ARG1 "," ARG1 ",2), " RETURNED "\n"		\
	    ASM_RET							\
	    "3:	lea	1(" ARG2 "," ARG2 ",2), " RETURNED "\n"		\
	    ASM_RET							\
	    "	.size	" #name ", . - " #name "\n"			\
	    ".popsection\n"						\
	    ".pushsection __jump_table, \"aw\"\n"			\
	    _ASM_ALIGN "\n"						\
	    "	.long	1b - ., 3b - .\n"				\
	    _ASM_PTR #key " - .\n"					\
	    ".popsection\n"						\
	    ".pushsection .rodata\n"					\
	    "	.balign	4\n"						\
	    "	.globl	" #name "_sides\n"				\
	    #name "_sides:\n"						\
	    "	.long	1b - " #name ", 2b - " #name ", 3b - " #name "\n" \
	    ".popsection\n")

#endif /* _KPROBE_BYTES_H */
