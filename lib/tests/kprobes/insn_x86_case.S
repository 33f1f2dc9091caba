/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _LIB_TESTS_KPROBES_INSN_X86_CASE_S
#define _LIB_TESTS_KPROBES_INSN_X86_CASE_S
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
 * INSN "title", the instruction - if nothing else is needed.
 * INSN_EMULATED - the same, if it is emulated at a breakpoint.
 * REFUSE "title", the instruction - one that may not be probed, and never runs.
 * REFUSE_TRAP - the same, but it is refused because it is a trap of other code.
 * ALLOW "title", the instruction - one that may be probed, but must not run.
 * STAY_SAFE "title", the instruction - the same, but no jump displaces it.
 *
 * All this is built once more with the probe on a short instruction before the
 * tested one, and again with more of them in between (INSN_AFTER), so that a jump
 * at the first displaces the tested instruction as well. Only direct branches may
 * lead to code within five bytes from the probe.
 *
 * On entry the general registers are random, but for SI, DI, BX and BP, which
 * point into a buffer of random bytes; see struct insn_case for the rest.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>

#include "asm_x86.S"
#include "insn_x86.h"

#define PUSH_L	__ASM_SIZE(push)
#define POP_L	__ASM_SIZE(pop)

#ifndef INSN_AFTER
#define INSN_AFTER 0
#endif

/* The table is in .rodata, and all titles follow it. */
.macro TABLE name:req
#if INSN_AFTER == 0
	TABLE_AS \name
#elif INSN_AFTER == 1
	TABLE_AS \name\()_after_one
#else
	TABLE_AS \name\()_after_four
#endif
.endm

.macro TABLE_AS name:req
	.pushsection .rodata, "a", @progbits
	_ASM_ALIGN
	.globl \name
	.type \name, @object
\name:
	.popsection
.endm

.macro TABLE_END
	.pushsection .rodata
	_ASM_PTR 0, 0
	.long 0, 0, 0, 0, 0, 0, 0, 0
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
	.long \undef, \how, \hits, 105f - kpt_insn_\@
	.subsection 1
.Ltitle_\@:
	.asciz "\title"
	.popsection

	/* The suite checks the changes to the stack. */
	STACK_FRAME_NON_STANDARD kpt_insn_\@
	.balign 16
	.type kpt_insn_\@, @function
	.size kpt_insn_\@, 104f - kpt_insn_\@
kpt_insn_\@:
	ENDBR
.endm

/* The code before the instruction, from the probe on. */
.macro FRONT
#if INSN_AFTER == 1
	nop
102:
#elif INSN_AFTER == 4
	push	%_ASM_CX
102:
	pop	%_ASM_CX
	push	%_ASM_CX
	pop	%_ASM_CX
#endif
.endm

.macro BACK
#if INSN_AFTER == 0
102:
#endif
105:
.endm

.macro PROBE insn:vararg
101:
	FRONT
	\insn
	BACK
.endm

/* The same for an indirect branch or a return. */
.macro PROBE_SAFE insn:vararg
101:
	FRONT
	ANNOTATE_RETPOLINE_SAFE
	\insn
	BACK
.endm

.macro DONE
103:
	RETURN
104:
.endm

.macro INSN title:req insn:vararg
	CASE "\title"
	PROBE \insn
	DONE
.endm

.macro INSN_EMULATED title:req insn:vararg
	CASE "\title" how=EMULATED
	PROBE \insn
	DONE
.endm

.macro NEVER_RUN_BY probe:req how:req title:req insn:vararg
	CASE "\title" how=\how
	jmp	108f
	\probe \insn
	.skip	5, 0x90
108:
	DONE
.endm

.macro REFUSE title:req insn:vararg
	NEVER_RUN_BY PROBE, REFUSED, "\title", \insn
.endm

.macro REFUSE_TRAP title:req insn:vararg
	NEVER_RUN_BY PROBE, REFUSED|TRAP, "\title", \insn
.endm

.macro ALLOW title:req insn:vararg
	NEVER_RUN_BY PROBE, ALLOWED, "\title", \insn
.endm

/* The same for an indirect branch or a return that objtool recognises. */
.macro REFUSE_SAFE title:req insn:vararg
	NEVER_RUN_BY PROBE_SAFE, REFUSED, "\title", \insn
.endm

.macro STAY_SAFE title:req insn:vararg
	NEVER_RUN_BY PROBE_SAFE, ALLOWED|STAYS, "\title", \insn
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
#endif /* _LIB_TESTS_KPROBES_INSN_X86_CASE_S */
