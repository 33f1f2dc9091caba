/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For functions in assembly whose probes become jumps, on 64 or 32 bits. On 32 bits, the
 * first argument is in the register of the result, so they move it first.
 */
#ifndef _LIB_TESTS_KPROBES_ASM_X86_S
#define _LIB_TESTS_KPROBES_ASM_X86_S

#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/bitsperlong.h>
#include <asm/nops.h>

#include "values_x86.h"

#define WORD	(__BITS_PER_LONG / 8)

#ifdef CONFIG_X86_64
#define FIRST	%rdi		/* the argument, on entry */
#define ARG	%rdi		/* after GET_ARG */
#define GET_ARG
#define GET_ARG_SIZE	0
#define SPARE	%esi		/* a register that is not used */
#define ADD_ARG	add %rdi, %rax	/* of three bytes */
#else
#define FIRST	%eax
#define ARG	%edx
#define GET_ARG	mov %eax, %edx
#define GET_ARG_SIZE	2
#define SPARE	%ecx
#define ADD_ARG	ds add %edx, %eax
#endif

/*
 * A RET always takes the five bytes that it has where it goes to a thunk. So the code
 * before it has room for a jump in every kernel.
 */
.macro RETURN
.Lreturn\@:
	RET
	.skip 5 - (. - .Lreturn\@), 0xcc
.endm

/* KPT_RESULT() of the argument, without changing flags. */
.macro RETURN_RESULT
	lea	1(ARG,ARG,2), %_ASM_AX
	RETURN
.endm

/* A jump of five bytes, however near the label is. */
.macro JMP_NEAR label:req
	.byte	0xe9
	.long	\label - . - 4
.endm

/* The code that the compiler puts at the entry of a function that can be traced. */
.macro FTRACE_SITE
#ifdef CONFIG_DYNAMIC_FTRACE
.Lftrace_site\@:
#ifdef CC_USING_NOP_MCOUNT
	.byte	BYTES_NOP5
#else
	call	__fentry__
#endif
/* If objtool makes the list, it skips a module that has one already. */
#ifndef CONFIG_FTRACE_MCOUNT_USE_OBJTOOL
	.pushsection __mcount_loc, "a", @progbits
	_ASM_ALIGN
	_ASM_PTR .Lftrace_site\@
	.popsection
#endif
#endif
.endm

/* A constant: where a label is, from the start of its function. */
.macro OFFSET name:req, label:req, fn:req
	.pushsection .rodata, "a", @progbits
	.balign 4
SYM_DATA(\name, .long \label - \fn)
	.popsection
.endm

/* The probe of a function goes here: that is its constant fn_at. */
.macro PROBE_AT fn:req
	OFFSET \fn\()_at, 100f, \fn
100:
.endm

#endif /* _LIB_TESTS_KPROBES_ASM_X86_S */
