/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that are, or are not, to be probed by a jump: see jump_x86.h.
 *
 * Inner labels are local to the assembler, as in targets_x86.S.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/frame.h>
#include <asm/ibt.h>
#include <asm/nops.h>
#include <asm/nospec-branch.h>

#include "asm_x86.S"
#include "jump_x86.h"

#define KPT_FAULTED	0x5afe

/* The probe goes here. */
.macro AT name:req
	.pushsection .rodata, "a", @progbits
	.balign 4
	.globl kpt_jump_\name\()_at
	.type kpt_jump_\name\()_at, @object
	.size kpt_jump_\name\()_at, 4
kpt_jump_\name\()_at:
	.long	100f - kpt_jump_\name
	.popsection
100:
.endm

	.text

SYM_FUNC_START(kpt_jump_two)
	GET_ARG
	AT two
	xor	%eax, %eax
	ADD_ARG
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_two)

SYM_FUNC_START(kpt_jump_fills)
#ifdef CONFIG_X86_32
	push	%edi
	mov	%eax, %edi
#endif
	mov	%_ASM_DI, %_ASM_DX
	mov	$KPT_FILLS_BYTES, %ecx
	xor	%eax, %eax
	AT fills
	nop
	rep stosb
	mov	%_ASM_DX, %_ASM_AX
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
#ifdef CONFIG_X86_32
	pop	%edi
#endif
	RETURN
SYM_FUNC_END(kpt_jump_fills)

SYM_FUNC_START(kpt_jump_alone)
	GET_ARG
	mov	$2, %ecx
	mov	ARG, %_ASM_AX
	jmp	1f
	AT alone
	test	$0x1111, %eax
1:
	add	ARG, %_ASM_AX
	dec	%ecx
	jz	2f
	cmp	$1, %ecx
	je	3f
2:
	inc	%_ASM_AX
	RETURN
3:
	jmp	100b
SYM_FUNC_END(kpt_jump_alone)

SYM_FUNC_START(kpt_jump_loop)
	GET_ARG
	mov	$3, %ecx
	xor	%eax, %eax
	AT loop
	{disp32} lea 0(%_ASM_AX,ARG,1), %_ASM_AX
	dec	%ecx
	jnz	100b
	inc	%_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_loop)

SYM_FUNC_START(kpt_jump_target)
	GET_ARG
	mov	$3, %ecx
	AT target
	xor	%eax, %eax
1:
	ADD_ARG
	dec	%ecx
	jnz	1b
	inc	%_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_target)

.macro INNER n:req
SYM_FUNC_START(kpt_jump_inner\n)
	GET_ARG
	mov	$3, %ecx
	xor	%eax, %eax
	AT inner\n
	.rept	\n
	nop
	.endr
.Linner\n:
	.rept	5 - \n
	nop
	.endr
	ADD_ARG
	dec	%ecx
	jnz	.Linner\n
	inc	%_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_inner\n)
.endm

INNER 1
INNER 2
INNER 3
INNER 4
INNER 5

SYM_FUNC_START(kpt_jump_label)
	GET_ARG
	mov	ARG, %_ASM_AX
.Llabel_site:
	.byte	BYTES_NOP5
	AT label
	ADD_ARG
.Llabel_target:
	lea	1(%_ASM_AX,ARG), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_label)

	.pushsection __jump_table, "aw"
	_ASM_ALIGN
	.long	.Llabel_site - ., .Llabel_target - .
	_ASM_PTR kpt_jump_label_key - .
	.popsection

	.pushsection .text.unlikely, "ax", @progbits
SYM_FUNC_START_LOCAL_NOALIGN(kpt_jump_split.cold)
	dec	%ecx
	jmp	.Lsplit_inside
SYM_FUNC_END(kpt_jump_split.cold)
	.popsection

SYM_FUNC_START(kpt_jump_split)
	GET_ARG
	mov	$3, %ecx
	AT split
	xor	%eax, %eax
.Lsplit_inside:
	ADD_ARG
	cmp	$1, %ecx
	jne	kpt_jump_split.cold
	inc	%_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_split)
STACK_FRAME_NON_STANDARD kpt_jump_split
STACK_FRAME_NON_STANDARD kpt_jump_split.cold

/* The same; but that name is also that of a cold part in targets_x86.S. */
	.pushsection .text.unlikely, "ax", @progbits
SYM_FUNC_START_LOCAL_NOALIGN(kpt_jump_twin.cold)
	dec	%ecx
	jmp	.Ltwin_inside
SYM_FUNC_END(kpt_jump_twin.cold)
	.popsection

SYM_FUNC_START(kpt_jump_twin)
	GET_ARG
	mov	$3, %ecx
	AT twin
	xor	%eax, %eax
.Ltwin_inside:
	ADD_ARG
	cmp	$1, %ecx
	jne	kpt_jump_twin.cold
	inc	%_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_twin)
STACK_FRAME_NON_STANDARD kpt_jump_twin
STACK_FRAME_NON_STANDARD kpt_jump_twin.cold

/* The same, with the name of compilers that number cold parts. */
	.pushsection .text.unlikely, "ax", @progbits
SYM_FUNC_START_LOCAL_NOALIGN(kpt_jump_numbered.cold.12)
	dec	%ecx
	jmp	.Lnumbered_inside
SYM_FUNC_END(kpt_jump_numbered.cold.12)
	.popsection

SYM_FUNC_START(kpt_jump_numbered)
	GET_ARG
	mov	$3, %ecx
	AT numbered
	xor	%eax, %eax
.Lnumbered_inside:
	ADD_ARG
	cmp	$1, %ecx
	jne	kpt_jump_numbered.cold.12
	inc	%_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_numbered)
STACK_FRAME_NON_STANDARD kpt_jump_numbered
STACK_FRAME_NON_STANDARD kpt_jump_numbered.cold.12

SYM_FUNC_START(kpt_jump_fixup)
	GET_ARG
.Lfixup_load:
	mov	(ARG), %_ASM_CX
	AT fixup
	xor	%ecx, %ecx
.Lfixup:
	lea	1(ARG,ARG,2), %_ASM_AX
	RETURN
	_ASM_EXTABLE(.Lfixup_load, .Lfixup)
SYM_FUNC_END(kpt_jump_fixup)

SYM_FUNC_START(kpt_jump_load)
	GET_ARG
	AT load
	xor	SPARE, SPARE
.Lload:
	mov	(ARG), %_ASM_AX
	RETURN
.Lload_fault:
	mov	$KPT_FAULTED, %eax
	RETURN
	_ASM_EXTABLE(.Lload, .Lload_fault)
SYM_FUNC_END(kpt_jump_load)

SYM_FUNC_START(kpt_jump_ud2)
	GET_ARG
	test	%_ASM_SP, %_ASM_SP
	jnz	1f
	AT ud2
	nop
	ud2
	.skip	5, 0xcc
1:
	lea	1(ARG,ARG,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_ud2)
STACK_FRAME_NON_STANDARD kpt_jump_ud2

SYM_FUNC_START(kpt_jump_fentry)
	GET_ARG
	AT fentry
	nop
#ifdef CONFIG_DYNAMIC_FTRACE
.Lfentry:
#ifdef CC_USING_NOP_MCOUNT
	.byte	BYTES_NOP5
#else
	call	__fentry__
#endif
	.pushsection __mcount_loc, "a", @progbits
	_ASM_ALIGN
	_ASM_PTR .Lfentry
	.popsection
#endif
	lea	1(ARG,ARG,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_fentry)

SYM_FUNC_START(kpt_jump_last)
	lea	1(FIRST,FIRST,2), %_ASM_AX
	AT last
	ANNOTATE_UNRET_SAFE
	ret
SYM_FUNC_END(kpt_jump_last)
SYM_FUNC_START_LOCAL_NOALIGN(kpt_jump_behind_last)
	mov	$1, %eax
	RETURN
SYM_FUNC_END(kpt_jump_behind_last)

SYM_FUNC_START(kpt_jump_padded)
	lea	1(FIRST,FIRST,2), %_ASM_AX
	AT padded
	ANNOTATE_UNRET_SAFE
	ret
	.skip	8, 0xcc
SYM_FUNC_END(kpt_jump_padded)

	.balign	4096, 0xcc
	.skip	4096 - 64, 0xcc
SYM_START(kpt_jump_pages, SYM_L_GLOBAL, SYM_A_NONE)
	ENDBR
	GET_ARG
	jmp	100f
	.skip	64 - 2 - ENDBR_INSN_SIZE - GET_ARG_SIZE - 2, 0xcc
	AT pages
	xor	%eax, %eax
	ADD_ARG
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_pages)

SYM_FUNC_START(kpt_jump_sp)
	mov	%_ASM_SP, %_ASM_CX
	AT sp
	mov	%_ASM_SP, %_ASM_AX
	sub	%_ASM_CX, %_ASM_AX
	mov	%_ASM_CX, %_ASM_SP
	RETURN
SYM_FUNC_END(kpt_jump_sp)
STACK_FRAME_NON_STANDARD kpt_jump_sp

SYM_FUNC_START(kpt_jump_calls)
	FRAME_BEGIN
	sub	$8, %_ASM_SP
	AT calls
	nop
	call	kpt_jump_traced
	add	$8, %_ASM_SP
	FRAME_END
	RETURN
SYM_FUNC_END(kpt_jump_calls)

SYM_FUNC_START(kpt_jump_nops)
	GET_ARG
	AT nops
	.rept	40
	nop
	.endr
	lea	1(ARG,ARG,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_nops)

#ifdef CONFIG_X86_32
SYM_FUNC_START(kpt_jump_computed)
	GET_ARG
	push	%ebx
	mov	$3, %ecx
	mov	$.Lcomputed_inside, %ebx
	AT computed
	xor	%eax, %eax
.Lcomputed_inside:
	add	ARG, %eax
	dec	%ecx
	jz	1f
	JMP_NOSPEC ebx
1:
	inc	%eax
	pop	%ebx
	RETURN
SYM_FUNC_END(kpt_jump_computed)

SYM_FUNC_START(kpt_jump_shares)
	GET_ARG
	xor	%eax, %eax
	jmp	.Lcommon_inside
SYM_FUNC_END(kpt_jump_shares)

	.skip	16, 0xcc
SYM_FUNC_START(kpt_jump_common)
	GET_ARG
	AT common
	xor	%eax, %eax
.Lcommon_inside:
	ADD_ARG
	lea	1(%eax,%eax,2), %eax
	RETURN
SYM_FUNC_END(kpt_jump_common)

SYM_FUNC_START(kpt_jump_segments)
	GET_ARG
	push	%ds
	push	%es
	push	%fs
	xor	%ecx, %ecx
	mov	%ecx, %ds
	mov	%ecx, %es
	mov	%ecx, %fs
	AT segments
	xor	%eax, %eax
	ADD_ARG
	lea	1(%eax,%eax,2), %eax
	mov	%ds, %ecx
	pop	%fs
	pop	%es
	pop	%ds
	jecxz	1f
	xor	%eax, %eax
1:
	RETURN
SYM_FUNC_END(kpt_jump_segments)
#endif

SYM_FUNC_START(kpt_jump_registers)
	AT registers
	add	%eax, %ebx
	not	%_ASM_CX
	bswap	%_ASM_DX
#ifdef CONFIG_X86_64
	inc	%r8
	dec	%r9
	neg	%r10
#endif
	RETURN
SYM_FUNC_END(kpt_jump_registers)

SYM_FUNC_START(kpt_jump_traced)
	FRAME_BEGIN
	sub	$24, %_ASM_SP
	GET_ARG
	AT traced
	xor	%eax, %eax
	lea	1(ARG,ARG,2), %_ASM_AX
	add	$24, %_ASM_SP
	FRAME_END
	RETURN
SYM_FUNC_END(kpt_jump_traced)

SYM_FUNC_START(kpt_jump_caller)
	FRAME_BEGIN
	sub	$8, %_ASM_SP
	mov	FIRST, %_ASM_AX
	ANNOTATE_RETPOLINE_SAFE
	call	*%_ASM_AX
	add	$8, %_ASM_SP
	FRAME_END
	RETURN
SYM_FUNC_END(kpt_jump_caller)
