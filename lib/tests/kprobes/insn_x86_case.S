/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Included by the files of instructions to probe: how these are written down.
 * Each is a function of its own, with an entry in the table that the suite
 * walks.
 *
 *	CASE "title" [undef=] [how=] [hits=] [to=]
 *		what prepares it
 *		PROBE the instruction
 *		what shows its effects
 *	DONE
 *
 * INSN "title", the instruction - where there is nothing else to say.
 *
 * On entry the general registers are random, but for SI, DI, BX and BP, which
 * point into a buffer of random bytes; see struct insn_case for the rest.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/bitsperlong.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>

#include "insn_x86.h"

#define WORD	(__BITS_PER_LONG / 8)
#define PUSH_L	__ASM_SIZE(push)
#define POP_L	__ASM_SIZE(pop)

/* The table is in .rodata, the titles are behind all of it. */
.macro TABLE name:req
	.pushsection .rodata, "a", @progbits
	_ASM_ALIGN
	.globl \name
	.type \name, @object
\name:
	.popsection
.endm

.macro TABLE_END name:req
	.pushsection .rodata
	_ASM_PTR 0, 0
	.long 0, 0, 0, 0, 0, 0, 0
	.size \name, . - \name
	.popsection
.endm

.macro CASE title:req undef=0 how=0 hits=1 to
	.pushsection .rodata
	_ASM_ALIGN
	_ASM_PTR .Ltitle_\@, kpt_insn_\@
	.long 101f - kpt_insn_\@, 102f - kpt_insn_\@, 103f - kpt_insn_\@
	.ifb \to
	.long 0
	.else
	.long \to - kpt_insn_\@
	.endif
	.long \undef, \how, \hits
	.subsection 1
.Ltitle_\@:
	.asciz "\title"
	.popsection

	/* What it does to the stack is for the suite to judge. */
	STACK_FRAME_NON_STANDARD kpt_insn_\@
	.balign 16
	.type kpt_insn_\@, @function
	.size kpt_insn_\@, 104f - kpt_insn_\@
kpt_insn_\@:
	ENDBR
.endm

.macro PROBE insn:vararg
101:
	\insn
102:
.endm

.macro DONE
103:
	RET
104:
.endm

.macro INSN title:req insn:vararg
	CASE "\title"
	PROBE \insn
	DONE
.endm

/* The address of a label that has no ENDBR, without a relocation. */
.macro LEA_LABEL label:req reg:req
#ifdef CONFIG_X86_64
	lea	\label(%rip), %\reg
#else
	call	109f
109:
	pop	%\reg
	lea	\label - 109b(%\reg), %\reg
#endif
.endm

/* All conditions, with their encoding. */
.macro CONDITIONS case:req
	\case o, 0x0
	\case no, 0x1
	\case b, 0x2
	\case ae, 0x3
	\case e, 0x4
	\case ne, 0x5
	\case be, 0x6
	\case a, 0x7
	\case s, 0x8
	\case ns, 0x9
	\case p, 0xa
	\case np, 0xb
	\case l, 0xc
	\case ge, 0xd
	\case le, 0xe
	\case g, 0xf
.endm

	.text
