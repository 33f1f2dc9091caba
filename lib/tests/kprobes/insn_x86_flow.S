/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions to probe: calls, jumps and returns, and what is refused. */
#include "insn_x86_case.S"

TABLE kpt_insn_flow

.macro JCC_NEAR code:req label:req
	.byte	0x0f, 0x80 + \code
	.long	\label - . - 4
.endm

/*
 * At the end of a case that may call 2: or jump there. The label is five bytes away,
 * because the target of a call through a register is not known.
 */
.macro CALLED
	JMP_NEAR 3f
2:
	mov	(%_ASM_SP), %_ASM_DX
	ANNOTATE_UNRET_SAFE
	ret
	int3
3:
.endm

/* Room for a jump after an instruction where execution does not continue. */
.macro UNUSED
	.skip	4, 0xcc
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

CASE "call rel32" how=BRANCH|CALLS to=2f
	PROBE call 2f
	CALLED
DONE

.macro CALL_REG title:req reg:req
CASE "\title" how=BRANCH|CALLS to=2f
	LEA_LABEL 2f, \reg
	PROBE_SAFE call *%\reg
	CALLED
DONE
.endm

CALL_REG "call reg", _ASM_AX
CALL_REG "call reg, another one", _ASM_CX

CASE "call mem" how=BRANCH|CALLS to=2f
	LEA_LABEL 2f, _ASM_AX
	mov	%_ASM_AX, 8(%_ASM_DI)
	PROBE_SAFE call *8(%_ASM_DI)
	CALLED
DONE

/* In ModRM or SIB, the numbers of bp and r13 mean another address if no displacement follows. */
CASE "call mem, bp and index" how=BRANCH|CALLS to=2f
	LEA_LABEL 2f, _ASM_AX
	mov	$2, %ecx
	mov	%_ASM_AX, 16(%_ASM_BP,%_ASM_CX,8)
	PROBE_SAFE call *16(%_ASM_BP,%_ASM_CX,8)
	CALLED
DONE

CASE "call mem, sp relative" how=BRANCH|CALLS to=2f
	LEA_LABEL 2f, _ASM_AX
	push	%_ASM_AX
	push	%_ASM_CX
	PROBE_SAFE call *WORD(%_ASM_SP)
	pop	%_ASM_CX
	pop	%_ASM_CX
	CALLED
DONE

CASE "call that pops its return address" how=BRANCH|CALLS
	PROBE call 1f
1:
	pop	%_ASM_DX
DONE

#ifdef CONFIG_X86_64
CALL_REG "call r8", r8
CALL_REG "call r11", r11

CASE "call mem, rip relative" how=BRANCH|CALLS to=2f
	LEA_LABEL 2f, _ASM_AX
	mov	%rax, kpt_insn_scratch+32(%rip)
	PROBE_SAFE call *kpt_insn_scratch+32(%rip)
	CALLED
DONE

CASE "call reg, cs prefix" how=BRANCH|CALLS to=2f
	LEA_LABEL 2f, _ASM_AX
	PROBE_SAFE cs call *%rax
	CALLED
DONE
#else
/* The same ModRM as relative to the instruction in 64 bits. */
CASE "call mem, absolute" how=BRANCH|CALLS to=2f
	LEA_LABEL 2f, _ASM_AX
	mov	%eax, kpt_insn_scratch+32
	PROBE_SAFE call *kpt_insn_scratch+32
	CALLED
DONE
#endif

/* --- Jumps --- */

CASE "jmp rel8" how=BRANCH to=2f
	PROBE jmp 2f
	UNUSED
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
	UNUSED
3:
DONE

.macro JMP_REG title:req reg:req
CASE "\title" how=BRANCH|INDIRECT to=2f
	LEA_LABEL 2f, \reg
	PROBE_SAFE jmp *%\reg
	UNUSED
	JUMPED
DONE
.endm

JMP_REG "jmp reg", _ASM_AX

CASE "jmp mem" how=BRANCH|INDIRECT to=2f
	LEA_LABEL 2f, _ASM_AX
	mov	%_ASM_AX, 8(%_ASM_DI)
	PROBE_SAFE jmp *8(%_ASM_DI)
	UNUSED
	JUMPED
DONE

#ifdef CONFIG_X86_64
JMP_REG "jmp r11", r11

CASE "jmp mem, rip relative" how=BRANCH|INDIRECT to=2f
	LEA_LABEL 2f, _ASM_AX
	mov	%rax, kpt_insn_scratch+32(%rip)
	PROBE_SAFE jmp *kpt_insn_scratch+32(%rip)
	UNUSED
	JUMPED
DONE
#else
CASE "jmp mem, absolute" how=BRANCH|INDIRECT to=2f
	LEA_LABEL 2f, _ASM_AX
	mov	%eax, kpt_insn_scratch+32
	PROBE_SAFE jmp *kpt_insn_scratch+32
	UNUSED
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

.macro COUNTS title:req count:req how:req insn:vararg
CASE "\title" how=BRANCH|CONDITIONAL|\how to=2f
	mov	$\count, %ecx
	PROBE \insn
	JUMPED
DONE
.endm

COUNTS "loope", 3, ALL_FLAGS, loope 2f
COUNTS "loopne", 3, ALL_FLAGS, loopne 2f
COUNTS "loop, last time", 1, 0, loop 2f
COUNTS "loope, last time", 1, ALL_FLAGS, loope 2f
COUNTS "loopne, last time", 1, ALL_FLAGS, loopne 2f
COUNTS "loop from zero", 0, 0, loop 2f
COUNTS "jrcxz, taken", 0, 0, JCXZ 2f
COUNTS "jrcxz, not taken", 1, 0, JCXZ 2f

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
#else
COUNTS "jcxz, upper half set", 0x10000, 0, jcxz 2f
COUNTS "loop, 16 bit count", 0x10001, 0, addr16 loop 2f
COUNTS "loop, 16 bit count from zero", 0x20000, 0, addr16 loop 2f
#endif

/* --- Returns --- */

CASE "ret" how=BRANCH
	PROBE_SAFE ret
	UNUSED
DONE

CASE "ret imm16" how=BRANCH|STAYS
	PROBE_SAFE ret $16
	UNUSED
DONE

CASE "rep ret" how=BRANCH
	PROBE_SAFE .byte 0xf3, 0xc3
	UNUSED
DONE

CASE "jmp to the return thunk, or ret" how=BRANCH
	PROBE RET
	UNUSED
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
INSN "wbinvd", wbinvd
INSN "smsw", smsw %edx

/* --- Allowed --- */

/* The decoder does not know that they have no operand. */
ALLOW "clac", .byte 0x0f, 0x01, 0xca
ALLOW "invd", .byte 0x0f, 0x08
ALLOW "femms", .byte 0x0f, 0x0e
ALLOW "wrmsr", .byte 0x0f, 0x30
ALLOW "rdpmc", .byte 0x0f, 0x33
ALLOW "getsec", .byte 0x0f, 0x37
ALLOW "emms", .byte 0x0f, 0x77
ALLOW "push fs", .byte 0x0f, 0xa0
ALLOW "pop fs", .byte 0x0f, 0xa1
ALLOW "push gs", .byte 0x0f, 0xa8
ALLOW "pop gs", .byte 0x0f, 0xa9
/* Compilers never use the stack pointer as the target, so there is no thunk for it. */
STAY_SAFE "jmp sp", jmp *%_ASM_SP
STAY_SAFE "call sp", call *%_ASM_SP

/* --- Refused --- */

REFUSE "iret", .byte 0xcf
REFUSE "far return", .byte 0xcb
REFUSE "far return, dropping arguments", .byte 0xca, 0x08, 0x00
REFUSE_SAFE "far call", .byte 0xff, 0x1f
REFUSE "far jump", .byte 0xff, 0x2f
REFUSE_TRAP "int3", int3
REFUSE "int", int $0x90
REFUSE "int1", .byte 0xf1
REFUSE_TRAP "ud0", .byte 0x0f, 0xff
REFUSE_TRAP "ud1", .byte 0x0f, 0xb9, 0xc0
REFUSE_TRAP "ud2", ud2
REFUSE "syscall", .byte 0x0f, 0x05
REFUSE "sysret", .byte 0x0f, 0x07
REFUSE "sysenter", .byte 0x0f, 0x34
REFUSE "sysexit", .byte 0x0f, 0x35
REFUSE "rsm", .byte 0x0f, 0xaa
REFUSE "hlt", hlt
REFUSE "hlt with lock", .byte 0xf0, 0xf4
REFUSE "cmov with a prefix that the decoder takes for another's", .byte 0xf3, 0x0f, 0x41, 0xf5
/* On 32 bits, text that cannot be decoded keeps neighbouring functions from having jumps. */
#ifdef CONFIG_X86_64
REFUSE "a prefix after rex", .byte 0x48, 0x66, 0x89, 0xd8
REFUSE "rex after rex", .byte 0x48, 0x48, 0x89, 0xd8
REFUSE "rex2 after rex", .byte 0x48, 0xd5, 0x00, 0x90
REFUSE "more prefixes than the decoder counts", .byte 0x66, 0xf2, 0x3e, 0x26, 0x67, 0x89, 0xd8
#endif
REFUSE "an operand of mov from cr0 that is ignored", .byte 0x0f, 0x20, 0x40, 0x00
REFUSE "an operand of mov from dr0 that is ignored", .byte 0x0f, 0x21, 0x40, 0x00
REFUSE "an operand of mov to cr0 that is ignored", .byte 0x0f, 0x22, 0x40, 0x00
REFUSE "an operand of mov to dr0 that is ignored", .byte 0x0f, 0x23, 0x40, 0x00
REFUSE "eretu", .byte 0xf3, 0x0f, 0x01, 0xca
REFUSE "erets", .byte 0xf2, 0x0f, 0x01, 0xca
REFUSE "mwait", .byte 0x0f, 0x01, 0xc9
REFUSE "mwaitx", .byte 0x0f, 0x01, 0xfb
REFUSE "sti in front of hlt", .byte 0xfb, 0xf4
REFUSE "sti in front of mwait", .byte 0xfb, 0x0f, 0x01, 0xc9
REFUSE "sti in front of mwaitx", .byte 0xfb, 0x0f, 0x01, 0xfb
REFUSE "mov to ss", mov %eax, %ss
REFUSE "lss", .byte 0x0f, 0xb2, 0x27
REFUSE "xabort", .byte 0xc6, 0xf8, 0x05
REFUSE "xbegin", .byte 0xc7, 0xf8, 0, 0, 0, 0
REFUSE "mov of a byte with another operation", .byte 0xc6, 0xc8, 0x05
REFUSE "mov of a word with another operation", .byte 0xc7, 0xf0, 0x05, 0, 0, 0
/* BLCFILL and BEXTR of AMD's XOP, which begin like POP but are longer. */
REFUSE "xop", .byte 0x8f, 0xe9, 0x40, 0x01, 0xc8
REFUSE "xop with an immediate", .byte 0x8f, 0xea, 0x40, 0x10, 0xc0, 0x90, 0x90, 0x90, 0x90
REFUSE "endbr64 inside a function", .byte 0xf3, 0x0f, 0x1e, 0xfa
REFUSE "endbr32 inside a function", .byte 0xf3, 0x0f, 0x1e, 0xfb
/* Others of that opcode. */
ALLOW "rdsspd", .byte 0xf3, 0x0f, 0x1e, 0xc8
ALLOW "nop like endbr64, without its prefix", .byte 0x0f, 0x1e, 0xfa
ALLOW "nop like endbr64, with another operand", .byte 0xf3, 0x0f, 0x1e, 0xf9

/* CPUs disagree about these, or they truncate the instruction pointer. */
REFUSE "call with an operand size prefix", .byte 0x66, 0xe8, 0, 0, 0, 0
REFUSE "jmp rel8 with an operand size prefix", .byte 0x66, 0xeb, 0
REFUSE "jmp rel32 with an operand size prefix", .byte 0x66, 0xe9, 0, 0, 0, 0
REFUSE "jcc rel8 with an operand size prefix", .byte 0x66, 0x74, 0
REFUSE "jcc rel32 with an operand size prefix", .byte 0x66, 0x0f, 0x84, 0, 0, 0, 0
REFUSE "loop with an operand size prefix", .byte 0x66, 0xe2, 0
REFUSE_SAFE "call reg with an operand size prefix", .byte 0x66, 0xff, 0xd0
REFUSE_SAFE "jmp reg with an operand size prefix", .byte 0x66, 0xff, 0xe0
REFUSE_SAFE "ret with an operand size prefix", .byte 0x66, 0xc3
REFUSE_SAFE "ret imm16 with an operand size prefix", .byte 0x66, 0xc2, 0x08, 0x00

/* Operands that the emulation cannot address. */
REFUSE_SAFE "call mem, of fs", call *%fs:8
REFUSE_SAFE "jmp mem, of fs", jmp *%fs:8
REFUSE_SAFE "call mem, of gs", call *%gs:8
REFUSE_SAFE "jmp mem, of gs", jmp *%gs:8
#ifdef CONFIG_X86_64
REFUSE_SAFE "call mem, 32 bit address", call *(%eax)
REFUSE "call reg, with rex2", .byte 0xd5, 0x10, 0xff, 0xd0
REFUSE "jmp reg, with rex2", .byte 0xd5, 0x10, 0xff, 0xe0
REFUSE "syscall, with rex2", .byte 0xd5, 0x80, 0x05
REFUSE "ud2, with rex2", .byte 0xd5, 0x80, 0x0b
REFUSE "int3, with rex2", .byte 0xd5, 0x00, 0xcc
REFUSE "jmpabs", .byte 0xd5, 0x00, 0xa1, 0, 0, 0, 0, 0, 0, 0, 0
REFUSE "mov between registers of apx", .byte 0xd5, 0x19, 0x89, 0xd8
REFUSE "swapgs", swapgs
#else
REFUSE "pop ss", pop %ss
REFUSE "far call to an address", .byte 0x9a, 0, 0, 0, 0, 0, 0
REFUSE "far jump to an address", .byte 0xea, 0, 0, 0, 0, 0, 0
REFUSE "into", .byte 0xce
#endif

TABLE_END
