/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions whose probes have to become jumps, or must not: see jump_x86.h.
 *
 * Inner labels are local to the assembler, as in targets_x86.S. Local functions right after
 * others have no ENDBR. With kCFI, the kernel clears the four bytes that are 15 before an
 * ENDBR that nothing needs.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/frame.h>
#include <asm/ibt.h>
#include <asm/nops.h>
#include <asm/nospec-branch.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include <asm/smap.h>
#include <asm/unwind_hints.h>

#include "asm_x86.S"
#include "jump_x86.h"

.macro AT name:req
	PROBE_AT kpt_jump_\name
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

/* Returns 1 if the flags are those of its first instruction. */
SYM_FUNC_START(kpt_jump_sets)
	xor	%ecx, %ecx
	AT sets
	sete	%cl
	mov	%ecx, %eax
	RETURN
SYM_FUNC_END(kpt_jump_sets)

/* Three instructions: of one byte, of two, of three. */
.macro THREE name:req insn:vararg
SYM_FUNC_START(kpt_jump_\name)
	GET_ARG
	AT \name
	\insn
	xor	%eax, %eax
	ADD_ARG
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_\name)
.endm

THREE emulated, nop
THREE copied, cwtl

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
	.fill	\n, 1, 0x90
.Linner\n:
	.fill	5 - \n, 1, 0x90
.Linner_after\n:
	ADD_ARG
	dec	%ecx
	jnz	.Linner\n
	/* Never taken, and to right after the bytes. */
	jnz	.Linner_after\n
	inc	%_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_inner\n)
.endm

.irp n, 1, 2, 3, 4, 5
	INNER \n
.endr

/*
 * An instruction of at least five bytes, whose last bytes are one without the prefixes. Objtool
 * does not know that XBEGIN branches, so that may lead there.
 */
.macro OVERLAP n:req
SYM_FUNC_START(kpt_jump_overlap\n)
	GET_ARG
	AT overlap\n
	.fill	\n, 1, 0x3e
.Loverlap\n:
	lea	1(ARG,ARG,2), %_ASM_AX
	jmp	1f
	xbegin	.Loverlap\n
1:
	RETURN
SYM_FUNC_END(kpt_jump_overlap\n)
STACK_FRAME_NON_STANDARD kpt_jump_overlap\n
.endm

.irp n, 1, 2, 3, 4, 5
	OVERLAP \n
.endr

.macro JCC_NEAR label:req
	.byte	0x0f, 0x85
	.long	\label - . - 4
.endm

/* The branch, which is not taken, is the n-th byte of the function. */
.macro AWAY n:req
SYM_FUNC_START(kpt_jump_away\n)
	GET_ARG
	xor	%ecx, %ecx
	AT away\n
	.fill	2, 1, 0x90
.Laway\n:
	.fill	3, 1, 0x90
	.skip	\n - (. - kpt_jump_away\n), 0x90
	JCC_NEAR .Laway\n
	RETURN_RESULT
SYM_FUNC_END(kpt_jump_away\n)
.endm

.irp n, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, \
	124, 125, 126, 127, 128
	AWAY \n
.endr

/* A branch into the bytes, which is never reached. */
.macro INTO kind:req insn:vararg
SYM_FUNC_START(kpt_jump_by_\kind)
	GET_ARG
	AT by_\kind
	xor	%eax, %eax
.Lby_\kind:
	ADD_ARG
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	jmp	1f
	\insn	.Lby_\kind
1:
	RETURN
SYM_FUNC_END(kpt_jump_by_\kind)
STACK_FRAME_NON_STANDARD kpt_jump_by_\kind
.endm

INTO jcc8, js
INTO jcc32, JCC_NEAR
INTO jmp8, jmp
INTO jmp32, JMP_NEAR
INTO loopne, loopne
INTO loope, loope
INTO loop, loop
#ifdef CONFIG_X86_64
INTO jcxz, jrcxz
#else
INTO jcxz, jecxz
#endif
INTO call, call
INTO xbegin, xbegin

.macro JCC_CODE8 code:req label:req
	.byte	0x70 + \code
	.byte	\label - . - 1
.endm

.macro JCC_CODE32 code:req label:req
	.byte	0x0f, 0x80 + \code
	.long	\label - . - 4
.endm

.irp c, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, a, b, c, d, e, f
	INTO jcc8_\c, JCC_CODE8 0x\c,
	INTO jcc32_\c, JCC_CODE32 0x\c,
.endr

/* Not aligned as functions are: it shares code with its neighbour. */
SYM_FUNC_START_LOCAL(kpt_jump_in_front)
	GET_ARG
	xor	%eax, %eax
	jmp	.Lunaligned_inside
SYM_FUNC_END(kpt_jump_in_front)
SYM_START(kpt_jump_unaligned, SYM_L_GLOBAL, SYM_A_NONE)
	ENDBR
	GET_ARG
	AT unaligned
	xor	%eax, %eax
.Lunaligned_inside:
	ADD_ARG
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_unaligned)
STACK_FRAME_NON_STANDARD kpt_jump_in_front

/* The same with two places for probes. */
SYM_FUNC_START_LOCAL(kpt_jump_in_front_of_both)
	GET_ARG
	xor	%eax, %eax
	jmp	.Lboth_inside
SYM_FUNC_END(kpt_jump_in_front_of_both)
SYM_START(kpt_jump_both, SYM_L_GLOBAL, SYM_A_NONE)
	ENDBR
	GET_ARG
	AT both
	xor	%eax, %eax
.Lboth_inside:
	ADD_ARG
	.fill	5, 1, 0x90
	OFFSET kpt_jump_both_second, .Lboth_second, kpt_jump_both
.Lboth_second:
	.fill	5, 1, 0x90
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_both)
STACK_FRAME_NON_STANDARD kpt_jump_in_front_of_both

/* Runs into its neighbour, which branches back. */
SYM_FUNC_START(kpt_jump_falls)
	GET_ARG
	mov	$3, %ecx
	AT falls
	xor	%eax, %eax
.Lfalls_inside:
	ADD_ARG
SYM_FUNC_END(kpt_jump_falls)
SYM_START(kpt_jump_falls_here, SYM_L_LOCAL, SYM_A_NONE)
	dec	%ecx
	jnz	.Lfalls_inside
	inc	%_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_falls_here)
STACK_FRAME_NON_STANDARD kpt_jump_falls
STACK_FRAME_NON_STANDARD kpt_jump_falls_here

/* The same with a neighbour that begins where functions do. */
SYM_FUNC_START(kpt_jump_falls_far)
	GET_ARG
	mov	$3, %ecx
	AT falls_far
	xor	%eax, %eax
.Lfalls_far_inside:
	ADD_ARG
SYM_FUNC_END(kpt_jump_falls_far)
SYM_START(kpt_jump_falls_there, SYM_L_LOCAL, SYM_F_ALIGN)
	dec	%ecx
	jnz	.Lfalls_far_inside
	inc	%_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_falls_there)
STACK_FRAME_NON_STANDARD kpt_jump_falls_far
STACK_FRAME_NON_STANDARD kpt_jump_falls_there

/* Ends unaligned, because the next one begins there, but does not run into it. */
.macro ENDS kind:req safe insn:vararg
SYM_FUNC_START(kpt_jump_ends_\kind)
	GET_ARG
	AT ends_\kind
	xor	%eax, %eax
	ADD_ARG
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
	.ifnb	\safe
	ANNOTATE_RETPOLINE_SAFE
	.endif
	\insn
SYM_FUNC_END(kpt_jump_ends_\kind)
SYM_START(kpt_jump_after_\kind, SYM_L_LOCAL, SYM_A_NONE)
	RETURN
SYM_FUNC_END(kpt_jump_after_\kind)
STACK_FRAME_NON_STANDARD kpt_jump_ends_\kind
STACK_FRAME_NON_STANDARD kpt_jump_after_\kind
.endm

ENDS ret, 1, .byte 0xc3
ENDS ret_imm, 1, .byte 0xc2, 0, 0
ENDS jmp8, , .byte 0xeb, 0xfe
ENDS jmp32, , .byte 0xe9, 0xfb, 0xff, 0xff, 0xff
ENDS jmp_reg, 1, .byte 0xff, 0xe0
ENDS call, , call kpt_plain
ENDS int3, , int3
ENDS ud1, , .byte 0x0f, 0xb9, 0xc0
ENDS ud2, , ud2
ENDS nop, , nop
ENDS nop3, , .byte 0x0f, 0x1f, 0x00

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

/* Two functions: the cold part branches into the bytes. */
.macro SPLIT name:req cold:req
	.pushsection .text.unlikely, "ax", @progbits
	/* For bytes that a test replaces, on one page. */
	.balign	4, 0xcc
SYM_START(kpt_jump_\cold, SYM_L_LOCAL, SYM_A_NONE)
	dec	%ecx
	jmp	.L\name\()_inside
SYM_FUNC_END(kpt_jump_\cold)
	.popsection

SYM_FUNC_START(kpt_jump_\name)
	GET_ARG
	mov	$3, %ecx
	AT \name
	xor	%eax, %eax
.L\name\()_inside:
	ADD_ARG
	cmp	$1, %ecx
	jne	kpt_jump_\cold
	inc	%_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_\name)
STACK_FRAME_NON_STANDARD kpt_jump_\name
STACK_FRAME_NON_STANDARD kpt_jump_\cold
.endm

SPLIT split, split.cold
/* That name is also that of a cold part in targets_x86.S. */
SPLIT twin, twin.cold
/* Some compilers number cold parts. */
SPLIT numbered, numbered.cold.12
/* Of merged functions, one has given its name to the cold part. */
SPLIT merged, merged.cold
SYM_FUNC_ALIAS_LOCAL(kpt_jump_a_merged, kpt_jump_merged)
SPLIT fused, z_fused.cold
SYM_FUNC_ALIAS_LOCAL(kpt_jump_z_fused, kpt_jump_fused)

/*
 * The other way round: the bytes are in the cold part. The probe is at its entry. In
 * targets_x86.S there is data of that name.
 */
	.pushsection .text.unlikely, "ax", @progbits
SYM_START(kpt_jump_cooled.cold, SYM_L_LOCAL, SYM_A_NONE)
	xor	%eax, %eax
.Lcooled_inside:
	ADD_ARG
	nop
	{disp32} lea 0(%_ASM_AX), %_ASM_AX
	dec	%ecx
	jmp	.Lcooled_back
SYM_FUNC_END(kpt_jump_cooled.cold)
	.popsection

SYM_FUNC_START(kpt_jump_cooled)
	GET_ARG
	.balign	8, 0x90
	AT cooled
	nop
	mov	$3, %ecx
	jmp	kpt_jump_cooled.cold
.Lcooled_back:
	jnz	.Lcooled_inside
	inc	%_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_cooled)
STACK_FRAME_NON_STANDARD kpt_jump_cooled
STACK_FRAME_NON_STANDARD kpt_jump_cooled.cold

SYM_FUNC_START(kpt_jump_fixup)
	GET_ARG
.Lfixup_load:
	mov	(ARG), %_ASM_CX
	AT fixup
	xor	%ecx, %ecx
.Lfixup:
	RETURN_RESULT
	_ASM_EXTABLE(.Lfixup_load, .Lfixup)
SYM_FUNC_END(kpt_jump_fixup)

/* The fix-up at the n-th byte of a jump, or right after it. */
.macro FIXUP n:req
SYM_FUNC_START(kpt_jump_fixup\n)
	GET_ARG
.Lfixup_load\n:
	mov	(ARG), %_ASM_CX
	AT fixup\n
	.fill	\n, 1, 0x90
.Lfixup\n:
	.fill	5 - \n, 1, 0x90
	RETURN_RESULT
	_ASM_EXTABLE(.Lfixup_load\n, .Lfixup\n)
SYM_FUNC_END(kpt_jump_fixup\n)
.endm

/* What may fault is at the n-th byte, or right after the jump. */
.macro LOADS n:req
SYM_FUNC_START(kpt_jump_loads\n)
	GET_ARG
	AT loads\n
	.fill	\n, 1, 0x90
.Lloads\n:
	mov	(ARG), %_ASM_CX
.Lloads_fault\n:
	RETURN_RESULT
	_ASM_EXTABLE(.Lloads\n, .Lloads_fault\n)
SYM_FUNC_END(kpt_jump_loads\n)
.endm

.irp n, 1, 2, 3, 4, 5
	FIXUP \n
	LOADS \n
.endr

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
	RETURN_RESULT
SYM_FUNC_END(kpt_jump_ud2)
STACK_FRAME_NON_STANDARD kpt_jump_ud2

SYM_FUNC_START(kpt_jump_fentry)
	GET_ARG
	AT fentry
	nop
	FTRACE_SITE
	RETURN_RESULT
SYM_FUNC_END(kpt_jump_fentry)

SYM_FUNC_START(kpt_jump_last)
	lea	1(FIRST,FIRST,2), %_ASM_AX
	AT last
	ANNOTATE_UNRET_SAFE
	ret
SYM_FUNC_END(kpt_jump_last)
SYM_START(kpt_jump_after_last, SYM_L_LOCAL, SYM_A_NONE)
	mov	$1, %eax
	RETURN
SYM_FUNC_END(kpt_jump_after_last)

/* The second instruction, add $1, %eax, has a symbol inside: of data, for objtool. */
SYM_FUNC_START(kpt_jump_cut)
	lea	0(FIRST,FIRST,2), %_ASM_AX
	AT cut
	mov	%eax, %eax
	.byte	0x83
	.type	kpt_jump_cut_inside, @object
	.size	kpt_jump_cut_inside, 0
kpt_jump_cut_inside:
	.byte	0xc0, 0x01
	RETURN
SYM_FUNC_END(kpt_jump_cut)

/* After it is code without a symbol. */
SYM_START(kpt_jump_before_nameless, SYM_L_LOCAL, SYM_A_NONE)
	RETURN
SYM_FUNC_END(kpt_jump_before_nameless)
.Lnameless:
	mov	FIRST, %_ASM_AX
	jmp	.Lnameless_back

SYM_FUNC_START(kpt_jump_nameless)
	GET_ARG
	test	FIRST, FIRST
	jns	.Lnameless
	AT nameless
	mov	FIRST, %_ASM_AX
	/* Never: a later branch to a function, which does not make up for the one before. */
	jns	kpt_asm_entry
.Lnameless_back:
	lea	1(%_ASM_AX,FIRST,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_nameless)

/* Only a fix-up leads to the code without a symbol. */
SYM_START(kpt_jump_before_mended, SYM_L_LOCAL, SYM_A_NONE)
	RETURN
SYM_FUNC_END(kpt_jump_before_mended)
.Lmended:
	jmp	.Lmended_back

SYM_FUNC_START(kpt_jump_mended)
	GET_ARG
	AT mended
.Lmended_load:
	mov	(ARG), %ecx
.Lmended_back:
	RETURN_RESULT
	_ASM_EXTABLE(.Lmended_load, .Lmended)
SYM_FUNC_END(kpt_jump_mended)

/* Only a jump label, while it is on. */
SYM_START(kpt_jump_before_switched, SYM_L_LOCAL, SYM_A_NONE)
	RETURN
SYM_FUNC_END(kpt_jump_before_switched)
.Lswitched:
	jmp	.Lswitched_back

SYM_FUNC_START(kpt_jump_switched)
	GET_ARG
.Lswitched_site:
	.byte	BYTES_NOP5
	AT switched
	mov	ARG, %_ASM_CX
.Lswitched_back:
	RETURN_RESULT
SYM_FUNC_END(kpt_jump_switched)

	.pushsection __jump_table, "aw"
	_ASM_ALIGN
	.long	.Lswitched_site - ., .Lswitched - .
	_ASM_PTR kpt_jump_label_key - .
	.popsection

/* After it is a routine without a symbol. */
SYM_START(kpt_jump_before_called, SYM_L_LOCAL, SYM_A_NONE)
	RETURN
SYM_FUNC_END(kpt_jump_before_called)
.Lcalled:
	UNWIND_HINT_FUNC
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN

SYM_FUNC_START(kpt_jump_calls_nameless)
	GET_ARG
	AT calls_nameless
	mov	FIRST, %_ASM_AX
	lea	0(%_ASM_AX,%_ASM_AX,1), %_ASM_DX
	call	.Lcalled
	RETURN
SYM_FUNC_END(kpt_jump_calls_nameless)
STACK_FRAME_NON_STANDARD kpt_jump_calls_nameless

/* After it is code without a symbol, with two entries, that ends by itself. */
SYM_FUNC_START_LOCAL(kpt_jump_before_twice)
	RETURN
SYM_FUNC_END(kpt_jump_before_twice)
/* Another symbol of its start has no size, and comes after it in the table. */
	.set	kpt_jump_before_twice_label, kpt_jump_before_twice
	.type	kpt_jump_before_twice_label, @notype
	.size	kpt_jump_before_twice_label, 0
	OFFSET kpt_jump_twice_at, .Ltwice, kpt_jump_before_twice
.Ltwice:
	xor	%eax, %eax
.Ltwice_second:
	ADD_ARG
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN

SYM_FUNC_START(kpt_jump_twice)
	GET_ARG
	test	FIRST, FIRST
	jns	.Ltwice
	xor	%eax, %eax
	jmp	.Ltwice_second
SYM_FUNC_END(kpt_jump_twice)

SYM_FUNC_START(kpt_jump_padded)
	lea	1(FIRST,FIRST,2), %_ASM_AX
	AT padded
	ANNOTATE_UNRET_SAFE
	ret
	.skip	8, 0xcc
SYM_FUNC_END(kpt_jump_padded)

/* nopw 0(%rax,%rax), as compilers fill gaps. */
SYM_FUNC_START(kpt_jump_padded_nop)
	lea	1(FIRST,FIRST,2), %_ASM_AX
	AT padded_nop
	ANNOTATE_UNRET_SAFE
	ret
	.byte	0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00
SYM_FUNC_END(kpt_jump_padded_nop)

#ifdef CONFIG_X86_32
.macro PADDED_LEA name:req displacement:req
SYM_FUNC_START(kpt_jump_\name)
	lea	1(FIRST,FIRST,2), %_ASM_AX
	AT \name
	ANNOTATE_UNRET_SAFE
	ret
	/* lea displacement(%esi), %esi */
	.byte	0x8d, 0xb6, \displacement, 0x00, 0x00, 0x00
SYM_FUNC_END(kpt_jump_\name)
.endm

PADDED_LEA padded_lea, 0
PADDED_LEA padded_no_lea, 1
#endif

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

/* Runs with flags that compiled code never has, and that its handlers must not have. */
SYM_FUNC_START(kpt_jump_std)
	GET_ARG
	std
	AT std
	xor	%eax, %eax
	ADD_ARG
	cld
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_std)

SYM_FUNC_START(kpt_jump_std_copied)
	GET_ARG
	std
	AT std_copied
	cwtl
	xor	%eax, %eax
	ADD_ARG
	cld
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_std_copied)

/* The other function, with which this one shares code, sets the flag. */
SYM_FUNC_START(kpt_jump_std_shared)
	GET_ARG
	xor	%eax, %eax
	std
	jmp	.Lstd_shared
SYM_FUNC_END(kpt_jump_std_shared)
SYM_START(kpt_jump_shares_std, SYM_L_LOCAL, SYM_A_NONE)
	GET_ARG
	xor	%eax, %eax
.Lstd_shared:
	AT std_shared
	{disp32} lea 0(%_ASM_AX,ARG,1), %_ASM_AX
	cld
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_shares_std)
STACK_FRAME_NON_STANDARD kpt_jump_std_shared
STACK_FRAME_NON_STANDARD kpt_jump_shares_std

/* Code without a symbol after the first function, which the second enters with the flag set. */
SYM_FUNC_START(kpt_jump_before_std)
	RETURN
SYM_FUNC_END(kpt_jump_before_std)
.Lstd_nameless:
	AT before_std
	{disp32} lea 0(%_ASM_AX,ARG,1), %_ASM_AX
	cld
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN

SYM_FUNC_START(kpt_jump_std_nameless)
	GET_ARG
	xor	%eax, %eax
	std
	jmp	.Lstd_nameless
SYM_FUNC_END(kpt_jump_std_nameless)

/* One of five bytes, in code of two functions. Neither can be examined as a whole. */
SYM_FUNC_START(kpt_jump_five_shared)
	GET_ARG
	jmp	.Lfive_shared
SYM_FUNC_END(kpt_jump_five_shared)
SYM_START(kpt_jump_shares_five, SYM_L_LOCAL, SYM_A_NONE)
	ENDBR
	GET_ARG
.Lfive_shared:
	AT five_shared
	mov	$0x12345, %eax
	lea	1(ARG,ARG,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_shares_five)
STACK_FRAME_NON_STANDARD kpt_jump_five_shared
STACK_FRAME_NON_STANDARD kpt_jump_shares_five

/* Its cold part does. */
	.pushsection .text.unlikely, "ax", @progbits
SYM_START(kpt_jump_std_split.cold, SYM_L_LOCAL, SYM_A_NONE)
	std
	jmp	.Lstd_split_back
SYM_FUNC_END(kpt_jump_std_split.cold)
	.popsection

SYM_FUNC_START(kpt_jump_std_split)
	GET_ARG
	xor	%eax, %eax
	jmp	kpt_jump_std_split.cold
.Lstd_split_back:
	AT std_split
	{disp32} lea 0(%_ASM_AX,ARG,1), %_ASM_AX
	cld
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_std_split)
STACK_FRAME_NON_STANDARD kpt_jump_std_split
STACK_FRAME_NON_STANDARD kpt_jump_std_split.cold

SYM_FUNC_START(kpt_jump_popf)
	GET_ARG
	pushf
	orl	$X86_EFLAGS_DF, (%_ASM_SP)
	popf
	AT popf
	xor	%eax, %eax
	ADD_ARG
	cld
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_popf)
STACK_FRAME_NON_STANDARD kpt_jump_popf

#ifdef CONFIG_X86_32
/* A far call, as of the BIOS, which returns with the flag set. */
	.pushsection .text.unlikely, "ax", @progbits
SYM_START(kpt_jump_sets_far, SYM_L_LOCAL, SYM_A_NONE)
	std
	lret
SYM_FUNC_END(kpt_jump_sets_far)
	.popsection
	.pushsection .rodata, "a", @progbits
kpt_jump_far_pointer:
	.long	kpt_jump_sets_far
	.word	__KERNEL_CS
	.popsection

.macro FAR name:req insn:vararg
SYM_FUNC_START(kpt_jump_\name)
	GET_ARG
	\insn
	AT \name
	xor	%eax, %eax
	ADD_ARG
	cld
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_\name)
.endm

/* Neighbours without the instructions that set the flag: what they do counts, too. */
.macro NEIGHBOUR name:req
SYM_START(kpt_jump_\name, SYM_L_LOCAL, SYM_A_NONE)
	.skip	1024, 0xcc
SYM_FUNC_END(kpt_jump_\name)
.endm

NEIGHBOUR before_far
FAR far, lcall $__KERNEL_CS, $kpt_jump_sets_far
FAR far_mem, lcall *kpt_jump_far_pointer
NEIGHBOUR after_far
#endif

SYM_FUNC_START(kpt_jump_stac)
	GET_ARG
	ASM_STAC
	AT stac
	xor	%eax, %eax
	ADD_ARG
	ASM_CLAC
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_jump_stac)

SYM_FUNC_START(kpt_jump_sp)
	mov	%_ASM_SP, %_ASM_CX
	AT sp
	mov	%_ASM_SP, %_ASM_AX
	sub	%_ASM_CX, %_ASM_AX
	mov	%_ASM_CX, %_ASM_SP
	RETURN
SYM_FUNC_END(kpt_jump_sp)
STACK_FRAME_NON_STANDARD kpt_jump_sp

/*
 * The same, but with an instruction that pushes. The stack pointer is aligned, so exception
 * entry on 64 bits leaves no more room than it has to.
 */
.macro SP_PUSHES name:req insn:vararg
SYM_FUNC_START(kpt_jump_\name)
	push	%_ASM_BP
	mov	%_ASM_SP, %_ASM_BP
	and	$-16, %_ASM_SP
	mov	%_ASM_SP, %_ASM_CX
	AT \name
	\insn
	mov	%_ASM_SP, %_ASM_AX
	sub	%_ASM_CX, %_ASM_AX
	mov	%_ASM_BP, %_ASM_SP
	pop	%_ASM_BP
	RETURN
SYM_FUNC_END(kpt_jump_\name)
STACK_FRAME_NON_STANDARD kpt_jump_\name
.endm

SYM_FUNC_START_LOCAL(kpt_jump_returns)
	RETURN
SYM_FUNC_END(kpt_jump_returns)

SP_PUSHES sp_call, call kpt_jump_returns
SP_PUSHES sp_push, push %_ASM_CX

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

/* The return address of a call is after these bytes and two more. */
.macro CALLS_SHORTLY name:req bytes:vararg
SYM_FUNC_START(kpt_jump_\name)
	FRAME_BEGIN
	sub	$8, %_ASM_SP
	lea	_ASM_RIP(kpt_jump_traced), %_ASM_CX
	AT \name
	.byte	\bytes
	ANNOTATE_RETPOLINE_SAFE
	call	*%_ASM_CX
	add	$8, %_ASM_SP
	FRAME_END
	RETURN
SYM_FUNC_END(kpt_jump_\name)
.endm

CALLS_SHORTLY returns3, 0x90
CALLS_SHORTLY returns4, 0x66, 0x90
CALLS_SHORTLY returns5, 0x0f, 0x1f, 0x00

SYM_FUNC_START(kpt_jump_nops)
	GET_ARG
	AT nops
	.rept	40
	nop
	.endr
	RETURN_RESULT
SYM_FUNC_END(kpt_jump_nops)

SYM_FUNC_START(kpt_jump_garbled)
	GET_ARG
	AT garbled
	xor	%eax, %eax
	ADD_ARG
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	jmp	1f
	.balign	4, 0xcc
.Lgarbled_hole:
	.skip	4, 0xcc
1:
	RETURN
SYM_FUNC_END(kpt_jump_garbled)
OFFSET kpt_jump_garbled_hole, .Lgarbled_hole, kpt_jump_garbled

#ifdef CONFIG_CFI_CLANG
/* A case replaces the 16 bytes before the next function. */
SYM_FUNC_START(kpt_jump_cleared)
	GET_ARG
	AT cleared
	xor	%eax, %eax
	ADD_ARG
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
	.skip	16, 0xcc
SYM_FUNC_END(kpt_jump_cleared)
#endif

SYM_FUNC_START(kpt_jump_pushes)
	GET_ARG
	mov	%_ASM_SP, %_ASM_CX
	AT pushes
	.rept	KPT_JUMP_SIZE
	push	ARG
	.endr
	mov	%_ASM_CX, %_ASM_AX
	sub	%_ASM_SP, %_ASM_AX
	mov	%_ASM_CX, %_ASM_SP
	RETURN
SYM_FUNC_END(kpt_jump_pushes)
STACK_FRAME_NON_STANDARD kpt_jump_pushes

/* A function whose name is that of one that takes the addresses of its labels. */
.macro LABELS name:req symbol:req
SYM_FUNC_START(kpt_jump_\name)
	GET_ARG
	jmp	\symbol
SYM_FUNC_END(kpt_jump_\name)

SYM_FUNC_START_LOCAL(\symbol)
	AT \name
	xor	%eax, %eax
	ADD_ARG
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
SYM_FUNC_END(\symbol)
.endm

LABELS interpreter, ___bpf_prog_run
LABELS checksum, crc_pcl
LABELS backward, lkdtm_CFI_BACKWARD
/* The name that a compiler gives to a copy. */
LABELS interpreter_copy, ___bpf_prog_run.constprop.0
/* Another function, whose name begins like that of one. */
LABELS checksum_longer, crc_pcl_longer

#ifdef CONFIG_X86_32
.macro COMPUTED name:req insn:vararg
SYM_FUNC_START(kpt_jump_\name)
	GET_ARG
	push	%ebx
	mov	$3, %ecx
	xor	%ebx, %ebx
	\insn
	AT \name
	xor	%eax, %eax
.L\name\()_inside:
	add	ARG, %eax
	dec	%ecx
	jz	1f
	JMP_NOSPEC ebx
1:
	inc	%eax
	pop	%ebx
	RETURN
SYM_FUNC_END(kpt_jump_\name)
.endm

/* The jump is never reached. */
SYM_FUNC_START(kpt_jump_computed_self)
	GET_ARG
	push	%ebx
	mov	$kpt_jump_computed_self, %ebx
	AT computed_self
	xor	%eax, %eax
	ADD_ARG
	lea	1(%eax,%eax,2), %eax
	test	%ebx, %ebx
	jnz	1f
	JMP_NOSPEC ebx
1:
	pop	%ebx
	RETURN
SYM_FUNC_END(kpt_jump_computed_self)

COMPUTED computed, mov $.Lcomputed_inside, %ebx
COMPUTED computed_lea, lea .Lcomputed_lea_inside(%ebx,%ebx,2), %ebx

/* The jump, through the thunk of another register, is never reached. */
.macro COMPUTED_BY reg:req
SYM_FUNC_START(kpt_jump_computed_\reg)
	GET_ARG
	AT computed_\reg
	xor	%eax, %eax
.Lcomputed_\reg\()_inside:
	ADD_ARG
	lea	1(%eax,%eax,2), %eax
	jmp	1f
	mov	$.Lcomputed_\reg\()_inside, %\reg
	JMP_NOSPEC \reg
1:
	RETURN
SYM_FUNC_END(kpt_jump_computed_\reg)
.endm

COMPUTED_BY eax
COMPUTED_BY edi

SYM_FUNC_START(kpt_jump_shares)
	GET_ARG
	xor	%eax, %eax
	jmp	.Lcommon_inside
SYM_FUNC_END(kpt_jump_shares)

/* The two are no direct neighbours. */
SYM_FUNC_START_LOCAL(kpt_jump_between)
	RETURN
SYM_FUNC_END(kpt_jump_between)

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

/* The same with more than 400 bytes between them. */
SYM_FUNC_START(kpt_jump_shares_afar)
	GET_ARG
	xor	%eax, %eax
	jmp	.Lcommon_afar_inside
SYM_FUNC_END(kpt_jump_shares_afar)
SYM_START(kpt_jump_between_afar, SYM_L_LOCAL, SYM_A_NONE)
	.skip	400, 0xcc
SYM_FUNC_END(kpt_jump_between_afar)
SYM_FUNC_START(kpt_jump_common_afar)
	GET_ARG
	AT common_afar
	xor	%eax, %eax
.Lcommon_afar_inside:
	ADD_ARG
	lea	1(%eax,%eax,2), %eax
	RETURN
SYM_FUNC_END(kpt_jump_common_afar)

/* The same the other way round. */
SYM_FUNC_START(kpt_jump_common_after)
	GET_ARG
	AT common_after
	xor	%eax, %eax
.Lcommon_after_inside:
	ADD_ARG
	lea	1(%eax,%eax,2), %eax
	RETURN
SYM_FUNC_END(kpt_jump_common_after)

	.skip	16, 0xcc
SYM_FUNC_START_LOCAL(kpt_jump_between_after)
	RETURN
SYM_FUNC_END(kpt_jump_between_after)

SYM_FUNC_START(kpt_jump_shares_after)
	GET_ARG
	xor	%eax, %eax
	jmp	.Lcommon_after_inside
SYM_FUNC_END(kpt_jump_shares_after)

.macro SEGMENTS name:req insn:vararg
SYM_FUNC_START(kpt_jump_\name)
	GET_ARG
	push	%ds
	push	%es
	push	%fs
	xor	%ecx, %ecx
	mov	%ecx, %ds
	mov	%ecx, %es
	mov	%ecx, %fs
	AT \name
	\insn
	xor	%eax, %eax
	ADD_ARG
	lea	1(%eax,%eax,2), %eax
	mov	%ds, %ecx
	mov	%es, %edx
	or	%edx, %ecx
	mov	%fs, %edx
	or	%edx, %ecx
	pop	%fs
	pop	%es
	pop	%ds
	jecxz	1f
	xor	%eax, %eax
1:
	RETURN
SYM_FUNC_END(kpt_jump_\name)
.endm

SEGMENTS segments
SEGMENTS segments_copied, cwtl

/* More than the bytes in which neighbours of a function are looked at. */
.macro APART name:req
SYM_CODE_START(kpt_jump_before_\name)
	.skip	512, 0xcc
SYM_CODE_END(kpt_jump_before_\name)
.endm

/* One segment, by one kind of instruction only. It is saved before SEGMENT, and restored after. */
.macro SEGMENT name:req seg:req
	AT \name
	xor	%eax, %eax
	ADD_ARG
	lea	1(%eax,%eax,2), %eax
	mov	%\seg, %ecx
.endm

.macro SEGMENT_RETURN
	jecxz	1f
	xor	%eax, %eax
1:
	RETURN
.endm

	APART	segment_mov
SYM_FUNC_START(kpt_jump_segment_mov)
	GET_ARG
	push	%ebx
	mov	%ds, %ebx
	xor	%ecx, %ecx
	mov	%ecx, %ds
	SEGMENT segment_mov, ds
	mov	%ebx, %ds
	pop	%ebx
	SEGMENT_RETURN
SYM_FUNC_END(kpt_jump_segment_mov)

.macro SEGMENT_POP seg:req
	APART	segment_pop_\seg
SYM_FUNC_START(kpt_jump_segment_pop_\seg)
	GET_ARG
	push	%\seg
	push	$0
	pop	%\seg
	SEGMENT segment_pop_\seg, \seg
	pop	%\seg
	SEGMENT_RETURN
SYM_FUNC_END(kpt_jump_segment_pop_\seg)
.endm

SEGMENT_POP ds
SEGMENT_POP es
SEGMENT_POP fs

/* Loads an offset, and the segment after it. */
.macro SEGMENT_LOAD seg:req
	APART	segment_l\seg
SYM_FUNC_START(kpt_jump_segment_l\seg)
	GET_ARG
	push	%\seg
	push	$0
	push	$0
	push	$0
	l\seg	(%esp), %ecx
	add	$8, %esp
	SEGMENT segment_l\seg, \seg
	l\seg	(%esp), %edx
	add	$8, %esp
	SEGMENT_RETURN
SYM_FUNC_END(kpt_jump_segment_l\seg)
.endm

SEGMENT_LOAD ds
SEGMENT_LOAD es
SEGMENT_LOAD fs
	APART	others
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
