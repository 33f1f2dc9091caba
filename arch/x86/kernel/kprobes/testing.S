/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes on x86: functions that the KUnit suites probe, but do not call. They are part of
 * the kernel image even if the suites are a module.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>

/*
 * Five instructions of one byte, two bytes after the start, which a jump can replace unless
 * the cold part leads to the third of them. The cold part has no ENDBR, like those that a
 * compiler makes.
 */
.macro SPLIT name:req to:req
	.pushsection .text.unlikely, "ax", @progbits
SYM_START(kprobe_test_\name\().cold, SYM_L_LOCAL, SYM_A_NONE)
	jmp	kprobe_test_\name + \to
SYM_FUNC_END(kprobe_test_\name\().cold)
	.popsection

SYM_START(kprobe_test_\name, SYM_L_LOCAL, SYM_F_ALIGN)
	xor	%eax, %eax
	.fill	5, 1, 0x90
	test	%eax, %eax
	jz	kprobe_test_\name\().cold
	RET
SYM_FUNC_END(kprobe_test_\name)
STACK_FRAME_NON_STANDARD kprobe_test_\name
STACK_FRAME_NON_STANDARD kprobe_test_\name\().cold
.endm

	.text

SPLIT split, 4
SPLIT apart, 7

/*
 * The same without a cold part: a jump can replace the five instructions unless the fix-up
 * of the load before them leads to one of them.
 */
.macro FIXED name:req to:req
SYM_START(kprobe_test_\name, SYM_L_LOCAL, SYM_F_ALIGN)
.Lload_\name:
	mov	(%_ASM_AX), %eax
	.fill	5, 1, 0x90
	test	%eax, %eax
	RET
	_ASM_EXTABLE(.Lload_\name, kprobe_test_\name + \to)
SYM_FUNC_END(kprobe_test_\name)
STACK_FRAME_NON_STANDARD kprobe_test_\name
.endm

FIXED fixed, 6
FIXED fixed_after, 7

/* Here the load is the third of the instructions, and its fix-up leads past them. */
SYM_START(kprobe_test_faults, SYM_L_LOCAL, SYM_F_ALIGN)
	xor	%eax, %eax
	nop
	nop
.Lload_faults:
	mov	(%_ASM_AX), %eax
	nop
.Lafter_faults:
	test	%eax, %eax
	RET
	_ASM_EXTABLE(.Lload_faults, .Lafter_faults)
SYM_FUNC_END(kprobe_test_faults)
STACK_FRAME_NON_STANDARD kprobe_test_faults
