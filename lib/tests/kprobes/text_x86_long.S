/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A long function, never called, and a table of where its instructions begin. These are
 * full of bytes that could begin other instructions, breakpoints and jumps.
 */
#include <linux/linkage.h>

.macro I insn:vararg
	.pushsection .rodata
	.2byte 661f - kpt_long_text
	.popsection
661:	\insn
.endm

	.pushsection .rodata
	.balign 2
SYM_DATA_START(kpt_long_text_starts)
	.popsection

	.text
SYM_FUNC_START(kpt_long_text)
.rept 24
	I mov $0xe9cce8cc, %eax
	I test $0xcc, %al
	I nop
	I lea 0x0ccce9e8(%eax,%ecx,4), %edx
	I imul $0x0fe90fcc, %ecx, %edx
	I nopl 0x0f1f0f1f(%eax)
	I movl $0xe8e9cccc, 0x66(%edi)
	I xor %eax, %eax
	I add $0x48484848, %ecx
	I movzwl %cx, %edx
	I cmpb $0xe9, 0x2e2e2e2e(%esi)
	I bswap %eax
	I shld $0xcc, %eax, %edx
	I lock incl 0x656565(%edi)
.endr
	I RET
SYM_FUNC_END(kpt_long_text)

	.pushsection .rodata
	.2byte 0
SYM_DATA_END(kpt_long_text_starts)
	.popsection
