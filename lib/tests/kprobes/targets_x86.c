// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions to probe whose every instruction is known.
 *
 * Their inner labels are local to the assembler: a symbol in the middle would
 * end the function as far as kallsyms is concerned. What the tests need to
 * know of them stands in constants, as offsets from the function's start.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/cpufeatures.h>
#include <asm/ibt.h>
#include <asm/smap.h>

#include "fixture.h"

#define KPT_FN(name)							\
	".pushsection .text, \"ax\", @progbits\n"			\
	"	.balign 16\n"						\
	"	.globl " #name "\n"					\
	"	.type " #name ", @function\n"				\
	#name ":\n"							\
	ASM_ENDBR "\n"

#define KPT_FN_END(name)						\
	"	.size " #name ", . - " #name "\n"			\
	"	.popsection\n"

#define KPT_OFFSET(name, fn, label)					\
	".pushsection .rodata, \"a\", @progbits\n"			\
	"	.balign 4\n"						\
	"	.globl " #name "\n"					\
	"	.type " #name ", @object\n"				\
	#name ":	.long " label " - " #fn "\n"			\
	"	.size " #name ", 4\n"					\
	"	.popsection\n"

/* The first argument, and a register that nobody needs. */
#ifdef CONFIG_X86_64
#define ARG	"%rdi"
#define SPARE	"%esi"
#else
#define ARG	"%eax"
#define SPARE	"%edx"
#endif
#define AX	"%" _ASM_AX
#define DX	"%" _ASM_DX
#define CX	"%" _ASM_CX

asm(KPT_FN(kpt_asm_entry)
    "	lea 1(" ARG "," ARG ",2), " AX "\n"
    ASM_RET
    KPT_FN_END(kpt_asm_entry));

asm(KPT_FN(kpt_asm_inside)
    "	xor " SPARE ", " SPARE "\n"
    ".Linside_at:\n"
    "	lea 1(" ARG "," ARG ",2), " AX "\n"
    ASM_RET
    KPT_FN_END(kpt_asm_inside)
    KPT_OFFSET(kpt_asm_inside_at, kpt_asm_inside, ".Linside_at"));

asm(KPT_FN(kpt_load)
    "	xor " SPARE ", " SPARE "\n"
    ".Lload_at:\n"
    "	mov (" ARG "), " AX "\n"
    ASM_RET
    ".Lload_fault:\n"
    "	mov $" __stringify(KPT_FAULTED) ", " AX "\n"
    ASM_RET
    _ASM_EXTABLE(.Lload_at, .Lload_fault)
    KPT_FN_END(kpt_load)
    KPT_OFFSET(kpt_load_at, kpt_load, ".Lload_at"));

asm(KPT_FN(kpt_load_user)
    ALTERNATIVE("", __ASM_STAC, X86_FEATURE_SMAP)
    ".Lload_user_at:\n"
    "	mov (" ARG "), " AX "\n"
    ".Lload_user_done:\n"
    ALTERNATIVE("", __ASM_CLAC, X86_FEATURE_SMAP)
    ASM_RET
    ".Lload_user_fault:\n"
    "	mov $" __stringify(KPT_FAULTED) ", " AX "\n"
    "	jmp .Lload_user_done\n"
    _ASM_EXTABLE_UA(.Lload_user_at, .Lload_user_fault)
    KPT_FN_END(kpt_load_user)
    KPT_OFFSET(kpt_load_user_at, kpt_load_user, ".Lload_user_at"));

asm(KPT_FN(kpt_divide)
    "	mov " ARG ", " CX "\n"
    "	mov $100, %eax\n"
    "	xor %edx, %edx\n"
    ".Ldivide_at:\n"
    "	div " CX "\n"
    ASM_RET
    ".Ldivide_fault:\n"
    "	mov $" __stringify(KPT_FAULTED) ", " AX "\n"
    ASM_RET
    _ASM_EXTABLE(.Ldivide_at, .Ldivide_fault)
    KPT_FN_END(kpt_divide)
    KPT_OFFSET(kpt_divide_at, kpt_divide, ".Ldivide_at"));

asm(KPT_FN(kpt_rdmsr)
    "	mov " ARG ", " CX "\n"
    ".Lrdmsr_at:\n"
    "	rdmsr\n"
    "	xor %eax, %eax\n"
    ASM_RET
    ".Lrdmsr_fault:\n"
    "	mov $" __stringify(KPT_FAULTED) ", " AX "\n"
    ASM_RET
    _ASM_EXTABLE(.Lrdmsr_at, .Lrdmsr_fault)
    KPT_FN_END(kpt_rdmsr)
    KPT_OFFSET(kpt_rdmsr_at, kpt_rdmsr, ".Lrdmsr_at"));

asm(KPT_FN(kpt_traps)
    "	jmp .Ltraps_run\n"
    ".Ltraps_int3_at:\n"
    "	int3\n"
    ".Ltraps_ud2_at:\n"
    "	ud2\n"
    ".Ltraps_run:\n"
    "	lea 1(" ARG "," ARG ",2), " AX "\n"
    ASM_RET
    KPT_FN_END(kpt_traps)
    KPT_OFFSET(kpt_traps_int3_at, kpt_traps, ".Ltraps_int3_at")
    KPT_OFFSET(kpt_traps_ud2_at, kpt_traps, ".Ltraps_ud2_at"));

/* Traps that are jumped over make no sense to objtool. */
STACK_FRAME_NON_STANDARD(kpt_traps);
