/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions to probe: calls, jumps and returns, and what is refused. */
#include "insn_x86_case.S"

TABLE kpt_insn_flow

.macro JMP_NEAR label:req
	.byte	0xe9
	.long	\label - . - 4
.endm

.macro JCC_NEAR code:req label:req
	.byte	0x0f, 0x80 + \code
	.long	\label - . - 4
.endm

/* At the end of a case that calls 2: or not, and jumps to 2: or not. */
.macro CALLED
	jmp	3f
2:
	mov	(%_ASM_SP), %_ASM_DX
	ANNOTATE_UNRET_SAFE
	ret
	int3
3:
.endm

.macro JUMPED
	mov	$1, %eax
	jmp	3f
2:
	mov	$2, %eax
3:
.endm

#ifdef CONFIG_X86_64
#define JCXZ	jrcxz
#else
#define JCXZ	jecxz
#endif

/* --- Calls --- */

CASE "call rel32" how=BRANCH to=2f
	PROBE call 2f
	CALLED
DONE

CASE "call reg" how=BRANCH to=2f
	LEA_LABEL 2f, _ASM_AX
	ANNOTATE_RETPOLINE_SAFE
	PROBE call *%_ASM_AX
	CALLED
DONE

CASE "call reg, another one" how=BRANCH to=2f
	LEA_LABEL 2f, _ASM_CX
	ANNOTATE_RETPOLINE_SAFE
	PROBE call *%_ASM_CX
	CALLED
DONE

CASE "call mem" how=BRANCH to=2f
	LEA_LABEL 2f, _ASM_AX
	mov	%_ASM_AX, 8(%_ASM_DI)
	ANNOTATE_RETPOLINE_SAFE
	PROBE call *8(%_ASM_DI)
	CALLED
DONE

CASE "call mem, sp relative" how=BRANCH to=2f
	LEA_LABEL 2f, _ASM_AX
	push	%_ASM_AX
	push	%_ASM_CX
	ANNOTATE_RETPOLINE_SAFE
	PROBE call *WORD(%_ASM_SP)
	pop	%_ASM_CX
	pop	%_ASM_CX
	CALLED
DONE

CASE "call that pops its return address" how=BRANCH
	PROBE call 1f
1:
	pop	%_ASM_DX
DONE

#ifdef CONFIG_X86_64
CASE "call r8" how=BRANCH to=2f
	LEA_LABEL 2f, r8
	ANNOTATE_RETPOLINE_SAFE
	PROBE call *%r8
	CALLED
DONE

CASE "call r11" how=BRANCH to=2f
	LEA_LABEL 2f, r11
	ANNOTATE_RETPOLINE_SAFE
	PROBE call *%r11
	CALLED
DONE

CASE "call mem, rip relative" how=BRANCH to=2f
	LEA_LABEL 2f, _ASM_AX
	mov	%rax, kpt_insn_scratch+32(%rip)
	ANNOTATE_RETPOLINE_SAFE
	PROBE call *kpt_insn_scratch+32(%rip)
	CALLED
DONE

CASE "call reg, cs prefix" how=BRANCH to=2f
	LEA_LABEL 2f, _ASM_AX
	ANNOTATE_RETPOLINE_SAFE
	PROBE cs call *%rax
	CALLED
DONE
#endif

/* --- Jumps --- */

CASE "jmp rel8" how=BRANCH to=2f
	PROBE jmp 2f
	JUMPED
DONE

CASE "jmp rel32" how=BRANCH to=2f
	PROBE JMP_NEAR 2f
	JUMPED
DONE

CASE "jmp backwards" how=BRANCH to=2f
	jmp	1f
2:
	mov	$2, %eax
	jmp	3f
1:
	PROBE jmp 2b
3:
DONE

CASE "jmp reg" how=BRANCH to=2f
	LEA_LABEL 2f, _ASM_AX
	ANNOTATE_RETPOLINE_SAFE
	PROBE jmp *%_ASM_AX
	int3
	JUMPED
DONE

CASE "jmp mem" how=BRANCH to=2f
	LEA_LABEL 2f, _ASM_AX
	mov	%_ASM_AX, 8(%_ASM_DI)
	ANNOTATE_RETPOLINE_SAFE
	PROBE jmp *8(%_ASM_DI)
	int3
	JUMPED
DONE

#ifdef CONFIG_X86_64
CASE "jmp r11" how=BRANCH to=2f
	LEA_LABEL 2f, r11
	ANNOTATE_RETPOLINE_SAFE
	PROBE jmp *%r11
	int3
	JUMPED
DONE

CASE "jmp mem, rip relative" how=BRANCH to=2f
	LEA_LABEL 2f, _ASM_AX
	mov	%rax, kpt_insn_scratch+32(%rip)
	ANNOTATE_RETPOLINE_SAFE
	PROBE jmp *kpt_insn_scratch+32(%rip)
	int3
	JUMPED
DONE
#endif

.macro JCC cc code
CASE "j\cc rel8" how=BRANCH|CONDITIONAL|ALL_FLAGS to=2f
	PROBE j\cc 2f
	JUMPED
DONE

CASE "j\cc rel32" how=BRANCH|CONDITIONAL|ALL_FLAGS to=2f
	PROBE JCC_NEAR \code, 2f
	JUMPED
DONE
.endm

CONDITIONS JCC

CASE "loop" how=BRANCH hits=3
	mov	$3, %ecx
	xor	%eax, %eax
1:
	inc	%eax
	PROBE loop 1b
DONE

CASE "loope" how=BRANCH|CONDITIONAL|ALL_FLAGS to=2f
	mov	$3, %ecx
	PROBE loope 2f
	JUMPED
DONE

CASE "loopne" how=BRANCH|CONDITIONAL|ALL_FLAGS to=2f
	mov	$3, %ecx
	PROBE loopne 2f
	JUMPED
DONE

CASE "loop, last time" how=BRANCH|CONDITIONAL to=2f
	mov	$1, %ecx
	PROBE loop 2f
	JUMPED
DONE

CASE "loop from zero" how=BRANCH|CONDITIONAL to=2f
	xor	%ecx, %ecx
	PROBE loop 2f
	JUMPED
DONE

CASE "jrcxz, taken" how=BRANCH|CONDITIONAL to=2f
	xor	%ecx, %ecx
	PROBE JCXZ 2f
	JUMPED
DONE

CASE "jrcxz, not taken" how=BRANCH|CONDITIONAL to=2f
	mov	$1, %ecx
	PROBE JCXZ 2f
	JUMPED
DONE

#ifdef CONFIG_X86_64
CASE "jecxz, upper half set" how=BRANCH|CONDITIONAL to=2f
	movabs	$0x100000000, %rcx
	PROBE jecxz 2f
	JUMPED
DONE

CASE "loop, 32 bit count" how=BRANCH|CONDITIONAL to=2f
	movabs	$0x100000001, %rcx
	PROBE addr32 loop 2f
	JUMPED
DONE
#endif

/* --- Returns --- */

CASE "ret" how=BRANCH
	ANNOTATE_UNRET_SAFE
	PROBE ret
	int3
DONE

CASE "ret imm16" how=BRANCH
	ANNOTATE_UNRET_SAFE
	PROBE ret $16
	int3
DONE

CASE "rep ret" how=BRANCH
	ANNOTATE_UNRET_SAFE
	PROBE .byte 0xf3, 0xc3
	int3
DONE

CASE "jmp to the return thunk, or ret" how=BRANCH
	PROBE RET
DONE

/* --- Prefixes that do nothing --- */

CASE "mov with a ds prefix"
	PROBE ds mov (%_ASM_SI), %edx
DONE

CASE "mov with cs prefixes"
	/* mov (%_ASM_SI), %edx */
	PROBE .byte 0x2e, 0x2e, 0x8b, 0x16
DONE

/* --- The machine --- */

CASE "rdtsc" how=CLOBBERS
	PROBE rdtsc
DONE

CASE "cpuid" how=CLOBBERS
	xor	%eax, %eax
	PROBE cpuid
DONE

CASE "rdmsr"
	mov	$0xc0000080, %ecx
	PROBE rdmsr
DONE

CASE "out to a port"
	xor	%eax, %eax
	PROBE outb %al, $0x80
DONE

INSN "clts", clts
INSN "smsw", smsw %edx

/* --- Refused --- */

CASE "iret" how=REFUSED
	jmp	1f
	PROBE .byte 0xcf
1:
DONE

CASE "far return" how=REFUSED
	jmp	1f
	PROBE .byte 0xcb
1:
DONE

CASE "int3" how=REFUSED
	jmp	1f
	PROBE int3
1:
DONE

CASE "ud2" how=REFUSED
	jmp	1f
	PROBE ud2
1:
DONE

CASE "hlt" how=REFUSED
	jmp	1f
	PROBE hlt
1:
DONE

CASE "mov to ss" how=REFUSED
	jmp	1f
	PROBE mov %eax, %ss
1:
DONE

CASE "endbr64 inside a function" how=REFUSED
	jmp	1f
	PROBE .byte 0xf3, 0x0f, 0x1e, 0xfa
1:
DONE

CASE "endbr32 inside a function" how=REFUSED
	jmp	1f
	PROBE .byte 0xf3, 0x0f, 0x1e, 0xfb
1:
DONE

#ifdef CONFIG_X86_32
CASE "pop ss" how=REFUSED
	jmp	1f
	PROBE pop %ss
1:
DONE
#endif

TABLE_END kpt_insn_flow
