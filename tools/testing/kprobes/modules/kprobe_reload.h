/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two modules with the same functions at the same places, but different instructions in
 * them. The second is loaded where the first was, so nothing that kprobes learned from the
 * first still holds. The functions are only probed, never called.
 *
 * kprobe_reload_starts: instructions begin at +4 in the first module only.
 * kprobe_reload_branch: a branch leads to +4 in the second module only.
 * kprobe_reload_warm: its cold part leads to +4, which only the second module has.
 */
#ifndef _KPROBE_RELOAD_H
#define _KPROBE_RELOAD_H

#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/stringify.h>

/* Five bytes, at +2 of the functions. */
#define FIVE_NOPS	"nop; nop; nop; nop; nop"
#define ONE_MOV		"movl $0x90909090, %ecx"

#define FUNCTION(name, five_bytes, target)				\
	asm(".pushsection .text, \"ax\"\n"				\
	    "	.balign	" __stringify(CONFIG_FUNCTION_ALIGNMENT) "\n"	\
	    "	.type	" #name ", @function\n"				\
	    #name ":\n"							\
	    "	xorl	%eax, %eax\n"					\
	    "	" five_bytes "\n"					\
	    "	testl	%eax, %eax\n"					\
	    "	jz	" #name target "\n"				\
	    ASM_RET							\
	    "	.size	" #name ", . - " #name "\n"			\
	    ".popsection\n")

#define COLD(name, target)						\
	asm(".pushsection .text.unlikely, \"ax\"\n"			\
	    "	.type	" #name ".cold, @function\n"			\
	    #name ".cold:\n"						\
	    "	jmp	" #name target "\n"				\
	    "	.size	" #name ".cold, . - " #name ".cold\n"		\
	    ".popsection\n")

MODULE_DESCRIPTION("Functions whose text changes from one module to the next");
MODULE_LICENSE("GPL");

#endif /* _KPROBE_RELOAD_H */
