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
#include <asm/nospec-branch.h>

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
	AT two
	xor	%eax, %eax
	add	%rdi, %rax
	lea	1(%rax,%rax,2), %rax
	RET
SYM_FUNC_END(kpt_jump_two)

SYM_FUNC_START(kpt_jump_alone)
	mov	$2, %ecx
	mov	%rdi, %rax
	jmp	1f
	AT alone
	mov	$0x1111, %edx
1:
	add	%rdi, %rax
	dec	%ecx
	jz	2f
	cmp	$1, %ecx
	je	3f
2:
	inc	%rax
	RET
3:
	jmp	100b
SYM_FUNC_END(kpt_jump_alone)

SYM_FUNC_START(kpt_jump_loop)
	mov	$3, %ecx
	xor	%eax, %eax
	AT loop
	{disp8} lea 0(%rax,%rdi,1), %rax
	dec	%ecx
	jnz	100b
	inc	%rax
	RET
SYM_FUNC_END(kpt_jump_loop)

SYM_FUNC_START(kpt_jump_target)
	mov	$3, %ecx
	AT target
	xor	%eax, %eax
1:
	add	%rdi, %rax
	dec	%ecx
	jnz	1b
	inc	%rax
	RET
SYM_FUNC_END(kpt_jump_target)

.macro INNER n:req
SYM_FUNC_START(kpt_jump_inner\n)
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
	add	%rdi, %rax
	dec	%ecx
	jnz	.Linner\n
	inc	%rax
	RET
SYM_FUNC_END(kpt_jump_inner\n)
.endm

INNER 1
INNER 2
INNER 3
INNER 4
INNER 5

SYM_FUNC_START(kpt_jump_label)
	mov	%rdi, %rax
.Llabel_site:
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
	AT label
	add	%rdi, %rax
.Llabel_target:
	lea	1(%rax,%rdi), %rax
	RET
SYM_FUNC_END(kpt_jump_label)

	.pushsection __jump_table, "aw"
	.balign 8
	.long	.Llabel_site - ., .Llabel_target - .
	.quad	kpt_jump_label_key - .
	.popsection

	.pushsection .text.unlikely, "ax", @progbits
SYM_FUNC_START_LOCAL_NOALIGN(kpt_jump_split.cold)
	dec	%ecx
	jmp	.Lsplit_inside
SYM_FUNC_END(kpt_jump_split.cold)
	.popsection

SYM_FUNC_START(kpt_jump_split)
	mov	$3, %ecx
	AT split
	xor	%eax, %eax
.Lsplit_inside:
	add	%rdi, %rax
	cmp	$1, %ecx
	jne	kpt_jump_split.cold
	inc	%rax
	RET
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
	mov	$3, %ecx
	AT twin
	xor	%eax, %eax
.Ltwin_inside:
	add	%rdi, %rax
	cmp	$1, %ecx
	jne	kpt_jump_twin.cold
	inc	%rax
	RET
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
	mov	$3, %ecx
	AT numbered
	xor	%eax, %eax
.Lnumbered_inside:
	add	%rdi, %rax
	cmp	$1, %ecx
	jne	kpt_jump_numbered.cold.12
	inc	%rax
	RET
SYM_FUNC_END(kpt_jump_numbered)
STACK_FRAME_NON_STANDARD kpt_jump_numbered
STACK_FRAME_NON_STANDARD kpt_jump_numbered.cold.12

SYM_FUNC_START(kpt_jump_fixup)
.Lfixup_load:
	mov	(%rdi), %rcx
	AT fixup
	xor	%ecx, %ecx
.Lfixup:
	lea	1(%rdi,%rdi,2), %rax
	RET
	_ASM_EXTABLE(.Lfixup_load, .Lfixup)
SYM_FUNC_END(kpt_jump_fixup)

SYM_FUNC_START(kpt_jump_load)
	AT load
	xor	%esi, %esi
.Lload:
	mov	(%rdi), %rax
	RET
.Lload_fault:
	mov	$KPT_FAULTED, %eax
	RET
	_ASM_EXTABLE(.Lload, .Lload_fault)
SYM_FUNC_END(kpt_jump_load)

SYM_FUNC_START(kpt_jump_ud2)
	test	%rsp, %rsp
	jnz	1f
	AT ud2
	nop
	ud2
	.skip	5, 0xcc
1:
	lea	1(%rdi,%rdi,2), %rax
	RET
SYM_FUNC_END(kpt_jump_ud2)
STACK_FRAME_NON_STANDARD kpt_jump_ud2

SYM_FUNC_START(kpt_jump_fentry)
	AT fentry
	nop
#ifdef CONFIG_DYNAMIC_FTRACE
.Lfentry:
#ifdef CC_USING_NOP_MCOUNT
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
#else
	call	__fentry__
#endif
	.pushsection __mcount_loc, "a", @progbits
	.balign 8
	.quad	.Lfentry
	.popsection
#endif
	lea	1(%rdi,%rdi,2), %rax
	RET
SYM_FUNC_END(kpt_jump_fentry)

SYM_FUNC_START(kpt_jump_last)
	lea	1(%rdi,%rdi,2), %rax
	AT last
	ANNOTATE_UNRET_SAFE
	ret
SYM_FUNC_END(kpt_jump_last)
SYM_FUNC_START_LOCAL_NOALIGN(kpt_jump_behind_last)
	mov	$1, %eax
	RET
SYM_FUNC_END(kpt_jump_behind_last)

SYM_FUNC_START(kpt_jump_padded)
	lea	1(%rdi,%rdi,2), %rax
	AT padded
	ANNOTATE_UNRET_SAFE
	ret
	.balign	16, 0xcc
SYM_FUNC_END(kpt_jump_padded)

	.balign	4096, 0xcc
	.skip	4096 - 64, 0xcc
SYM_START(kpt_jump_pages, SYM_L_GLOBAL, SYM_A_NONE)
	ENDBR
	jmp	100f
	.skip	64 - 2 - ENDBR_INSN_SIZE - 2, 0xcc
	AT pages
	xor	%eax, %eax
	add	%rdi, %rax
	lea	1(%rax,%rax,2), %rax
	RET
SYM_FUNC_END(kpt_jump_pages)

SYM_FUNC_START(kpt_jump_sp)
	mov	%rsp, %rcx
	AT sp
	mov	%rsp, %rax
	sub	%rcx, %rax
	mov	%rcx, %rsp
	RET
SYM_FUNC_END(kpt_jump_sp)
STACK_FRAME_NON_STANDARD kpt_jump_sp

SYM_FUNC_START(kpt_jump_calls)
	FRAME_BEGIN
	sub	$8, %rsp
	AT calls
	nop
	call	kpt_plain
	add	$8, %rsp
	FRAME_END
	RET
SYM_FUNC_END(kpt_jump_calls)

SYM_FUNC_START(kpt_jump_nops)
	AT nops
	.rept	40
	nop
	.endr
	lea	1(%rdi,%rdi,2), %rax
	RET
SYM_FUNC_END(kpt_jump_nops)

SYM_FUNC_START(kpt_jump_registers)
	AT registers
	add	%eax, %ebx
	not	%rcx
	bswap	%rdx
	inc	%r8
	dec	%r9
	neg	%r10
	RET
SYM_FUNC_END(kpt_jump_registers)

SYM_FUNC_START(kpt_jump_traced)
	FRAME_BEGIN
	sub	$24, %rsp
	AT traced
	xor	%eax, %eax
	lea	1(%rdi,%rdi,2), %rax
	add	$24, %rsp
	FRAME_END
	RET
SYM_FUNC_END(kpt_jump_traced)

SYM_FUNC_START(kpt_jump_caller)
	FRAME_BEGIN
	sub	$8, %rsp
	mov	%rdi, %rax
	ANNOTATE_RETPOLINE_SAFE
	call	*%rax
	add	$8, %rsp
	FRAME_END
	RET
SYM_FUNC_END(kpt_jump_caller)
