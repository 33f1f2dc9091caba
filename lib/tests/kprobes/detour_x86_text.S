/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions whose detours are examined: see detour_x86.h.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/frame.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>

#include "asm_x86.S"

.macro AT name:req
	PROBE_AT kpt_detour_\name
.endm

	.text

/* Goes there by a return, which is not an indirect branch and needs no ENDBR. */
SYM_FUNC_START(kpt_detour_enter)
	push	FIRST
#ifdef CONFIG_X86_64
	mov	%rsi, ARG
#endif
	RETURN
SYM_FUNC_END(kpt_detour_enter)
STACK_FRAME_NON_STANDARD kpt_detour_enter

SYM_FUNC_START(kpt_detour_late)
	GET_ARG
	AT late
	xor	%eax, %eax
	ADD_ARG
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_detour_late)

SYM_FUNC_START(kpt_detour_late_copied)
	GET_ARG
	AT late_copied
	movzbl	%al, %eax
	xor	%eax, %eax
	ADD_ARG
	lea	1(%_ASM_AX,%_ASM_AX,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_detour_late_copied)

SYM_FUNC_START(kpt_detour_nop)
	AT nop
	nop
	{disp32} lea 1(FIRST,FIRST,2), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_detour_nop)

SYM_FUNC_START(kpt_detour_jump)
	GET_ARG
	mov	_ASM_RIP(.Ljump_to_at), %_ASM_AX
	AT jump
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%_ASM_AX
	.skip	8, 0xcc
.Ljump_to:
	ENDBR
	RETURN_RESULT
SYM_FUNC_END(kpt_detour_jump)
STACK_FRAME_NON_STANDARD kpt_detour_jump

	.pushsection .data, "aw", @progbits
	_ASM_ALIGN
.Ljump_to_at:
	_ASM_PTR .Ljump_to
.Ljump_mem_to_at:
	_ASM_PTR .Ljump_mem_to
.Lplain_at:
	_ASM_PTR kpt_plain
	.popsection

SYM_FUNC_START(kpt_detour_jump_mem)
	GET_ARG
	AT jump_mem
	ANNOTATE_RETPOLINE_SAFE
	jmp	*_ASM_RIP(.Ljump_mem_to_at)
	.skip	8, 0xcc
.Ljump_mem_to:
	ENDBR
	RETURN_RESULT
SYM_FUNC_END(kpt_detour_jump_mem)
STACK_FRAME_NON_STANDARD kpt_detour_jump_mem

SYM_FUNC_START(kpt_detour_call)
	FRAME_BEGIN
	sub	$8, %_ASM_SP
	AT call
	call	kpt_plain
	add	$8, %_ASM_SP
	FRAME_END
	RETURN
SYM_FUNC_END(kpt_detour_call)

#ifdef CONFIG_X86_64
#define THROUGH	%r11
#else
#define THROUGH	%ecx
#endif

SYM_FUNC_START(kpt_detour_call_reg)
	FRAME_BEGIN
	sub	$8, %_ASM_SP
	mov	_ASM_RIP(.Lplain_at), THROUGH
	AT call_reg
	{disp8} lea 0(%_ASM_DX), %_ASM_DX
	ANNOTATE_RETPOLINE_SAFE
	call	*THROUGH
	add	$8, %_ASM_SP
	FRAME_END
	RETURN
SYM_FUNC_END(kpt_detour_call_reg)

SYM_FUNC_START(kpt_detour_call_stack)
	FRAME_BEGIN
	__ASM_SIZE(push) _ASM_RIP(.Lplain_at)
	sub	$16, %_ASM_SP
	AT call_stack
	xor	SPARE, SPARE
	ANNOTATE_RETPOLINE_SAFE
	call	*16(%_ASM_SP)
	add	$16 + WORD, %_ASM_SP
	FRAME_END
	RETURN
SYM_FUNC_END(kpt_detour_call_stack)

SYM_FUNC_START(kpt_detour_long)
	FRAME_BEGIN
	__ASM_SIZE(push) _ASM_RIP(.Lplain_at)
	sub	$16, %_ASM_SP
	AT long
	cwtl
	ANNOTATE_RETPOLINE_SAFE
	{disp32} call *16(%_ASM_SP)
	add	$16 + WORD, %_ASM_SP
	FRAME_END
	RETURN
SYM_FUNC_END(kpt_detour_long)

SYM_FUNC_START(kpt_detour_call_mem)
	FRAME_BEGIN
	sub	$8, %_ASM_SP
	AT call_mem
.Lcall_mem:
	ANNOTATE_RETPOLINE_SAFE
	{disp32} call *0(FIRST)
.Lcall_mem_done:
	add	$8, %_ASM_SP
	FRAME_END
	RETURN
.Lcall_mem_fault:
	mov	$KPT_FAULTED, %eax
	jmp	.Lcall_mem_done
	_ASM_EXTABLE(.Lcall_mem, .Lcall_mem_fault)
SYM_FUNC_END(kpt_detour_call_mem)

SYM_FUNC_START(kpt_detour_ret)
	lea	1(FIRST,FIRST,2), %_ASM_AX
	AT ret
	ANNOTATE_UNRET_SAFE
	ret
	.skip	8, 0xcc
SYM_FUNC_END(kpt_detour_ret)

SYM_FUNC_START(kpt_detour_push)
	AT push
	push	%_ASM_BX
	mov	FIRST, %_ASM_BX
	lea	1(%_ASM_BX,%_ASM_BX,2), %_ASM_AX
	pop	%_ASM_BX
	RETURN
SYM_FUNC_END(kpt_detour_push)

SYM_FUNC_START(kpt_detour_pop)
	push	%_ASM_BX
	mov	FIRST, %_ASM_BX
	lea	1(%_ASM_BX,%_ASM_BX,2), %_ASM_AX
	AT pop
	pop	%_ASM_BX
	{disp32} lea 0(%_ASM_AX), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_detour_pop)

SYM_FUNC_START(kpt_detour_leave)
	push	%_ASM_BP
	mov	%_ASM_SP, %_ASM_BP
	sub	$16, %_ASM_SP
	lea	1(FIRST,FIRST,2), %_ASM_AX
	AT leave
	leave
	{disp32} lea 0(%_ASM_AX), %_ASM_AX
	RETURN
SYM_FUNC_END(kpt_detour_leave)

SYM_FUNC_START(kpt_detour_caller)
	FRAME_BEGIN
	__ASM_SIZE(push) FRAME_OFFSET(%_ASM_SP)
	mov	FIRST, %_ASM_DX
#ifdef CONFIG_X86_64
	mov	$7, %edi
#else
	mov	$7, %eax
#endif
	ANNOTATE_RETPOLINE_SAFE
	call	*%_ASM_DX
	add	$WORD, %_ASM_SP
	FRAME_END
	RETURN
SYM_FUNC_END(kpt_detour_caller)
