/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls a function with all registers and flags set, and stores what they are afterwards. */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/nospec-branch.h>

#include "insn_x86.h"
#include "regs_x86.S"

	.text

SYM_FUNC_START(kpt_insn_run)
	SAVE_CALLER
	mov	%_ASM_SP, _ASM_RIP(kpt_insn_sp)
	sub	$INSN_STACK, %_ASM_SP

	/* No instruction from here to the call changes flags. */
	__ASM_SIZE(push) _ASM_RIP(kpt_insn_in + R_FLAGS * WORD)
	popf
	LOAD_REGS kpt_insn_in
	ANNOTATE_RETPOLINE_SAFE
	call	*_ASM_RIP(kpt_insn_fn)

	/* Nor does one from here to the pushf. */
	STORE_REGS kpt_insn_out
	mov	_ASM_RIP(kpt_insn_sp), %_ASM_SP
	pushf
	__ASM_SIZE(pop) _ASM_RIP(kpt_insn_out + R_FLAGS * WORD)
	RESTORE_CALLER
	RET
SYM_FUNC_END(kpt_insn_run)
STACK_FRAME_NON_STANDARD kpt_insn_run
