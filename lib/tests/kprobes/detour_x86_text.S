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

/* The probe goes here. */
.macro AT name:req
	.pushsection .rodata, "a", @progbits
	.balign 4
	.globl kpt_detour_\name\()_at
	.type kpt_detour_\name\()_at, @object
	.size kpt_detour_\name\()_at, 4
kpt_detour_\name\()_at:
	.long	100f - kpt_detour_\name
	.popsection
100:
.endm

#define KPT_FAULTED	0x5afe

	.text

/* Goes there as a return does: not an indirect branch, so it needs no ENDBR. */
SYM_FUNC_START(kpt_detour_enter)
	push	%rdi
	mov	%rsi, %rdi
	RET
SYM_FUNC_END(kpt_detour_enter)
STACK_FRAME_NON_STANDARD kpt_detour_enter

SYM_FUNC_START(kpt_detour_late)
	AT late
	xor	%eax, %eax
	add	%rdi, %rax
	lea	1(%rax,%rax,2), %rax
	RET
SYM_FUNC_END(kpt_detour_late)

SYM_FUNC_START(kpt_detour_jump)
	lea	.Ljump_to(%rip), %rax
	AT jump
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%rax
	.skip	8, 0xcc
.Ljump_to:
	ENDBR
	lea	1(%rdi,%rdi,2), %rax
	RET
SYM_FUNC_END(kpt_detour_jump)
STACK_FRAME_NON_STANDARD kpt_detour_jump

	.pushsection .data, "aw", @progbits
	.balign	8
.Ljump_mem_to_at:
	.quad	.Ljump_mem_to
.Lplain_at:
	.quad	kpt_plain
	.popsection

SYM_FUNC_START(kpt_detour_jump_mem)
	AT jump_mem
	ANNOTATE_RETPOLINE_SAFE
	jmp	*.Ljump_mem_to_at(%rip)
	.skip	8, 0xcc
.Ljump_mem_to:
	ENDBR
	lea	1(%rdi,%rdi,2), %rax
	RET
SYM_FUNC_END(kpt_detour_jump_mem)
STACK_FRAME_NON_STANDARD kpt_detour_jump_mem

SYM_FUNC_START(kpt_detour_call)
	FRAME_BEGIN
	sub	$8, %rsp
	AT call
	call	kpt_plain
	add	$8, %rsp
	FRAME_END
	RET
SYM_FUNC_END(kpt_detour_call)

SYM_FUNC_START(kpt_detour_call_reg)
	FRAME_BEGIN
	sub	$8, %rsp
	mov	.Lplain_at(%rip), %r11
	AT call_reg
	xor	%eax, %eax
	ANNOTATE_RETPOLINE_SAFE
	call	*%r11
	add	$8, %rsp
	FRAME_END
	RET
SYM_FUNC_END(kpt_detour_call_reg)

SYM_FUNC_START(kpt_detour_call_stack)
	FRAME_BEGIN
	push	.Lplain_at(%rip)
	sub	$16, %rsp
	AT call_stack
	xor	%eax, %eax
	ANNOTATE_RETPOLINE_SAFE
	call	*16(%rsp)
	add	$24, %rsp
	FRAME_END
	RET
SYM_FUNC_END(kpt_detour_call_stack)

SYM_FUNC_START(kpt_detour_call_mem)
	FRAME_BEGIN
	sub	$8, %rsp
	AT call_mem
.Lcall_mem:
	ANNOTATE_RETPOLINE_SAFE
	{disp32} call *0(%rdi)
.Lcall_mem_done:
	add	$8, %rsp
	FRAME_END
	RET
.Lcall_mem_fault:
	mov	$KPT_FAULTED, %eax
	jmp	.Lcall_mem_done
	_ASM_EXTABLE(.Lcall_mem, .Lcall_mem_fault)
SYM_FUNC_END(kpt_detour_call_mem)

SYM_FUNC_START(kpt_detour_ret)
	lea	1(%rdi,%rdi,2), %rax
	AT ret
	ANNOTATE_UNRET_SAFE
	ret
	.balign	16, 0xcc
SYM_FUNC_END(kpt_detour_ret)

SYM_FUNC_START(kpt_detour_push)
	AT push
	push	%rbx
	mov	%rdi, %rbx
	lea	1(%rbx,%rbx,2), %rax
	pop	%rbx
	RET
SYM_FUNC_END(kpt_detour_push)

SYM_FUNC_START(kpt_detour_pop)
	push	%rbx
	mov	%rdi, %rbx
	lea	1(%rbx,%rbx,2), %rax
	AT pop
	pop	%rbx
	{disp32} lea 0(%rax), %rax
	RET
SYM_FUNC_END(kpt_detour_pop)

SYM_FUNC_START(kpt_detour_caller)
	FRAME_BEGIN
	push	FRAME_OFFSET(%rsp)
	mov	%rdi, %rax
	mov	$7, %edi
	ANNOTATE_RETPOLINE_SAFE
	call	*%rax
	add	$8, %rsp
	FRAME_END
	RET
SYM_FUNC_END(kpt_detour_caller)
