/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions to probe: arithmetic and flags. */
#include "insn_x86_case.S"

TABLE kpt_insn_alu

/* --- Arithmetic --- */

.macro ARITHMETIC op undef
CASE "\op reg, reg" how=EMULATED|ALL_FLAGS undef=\undef
	PROBE \op %ecx, %edx
DONE

CASE "\op reg, reg, full width" how=EMULATED undef=\undef
	PROBE \op %_ASM_CX, %_ASM_DX
DONE

CASE "\op reg, reg, 8 bit" how=EMULATED undef=\undef
	PROBE \op %ch, %dl
DONE

CASE "\op reg, reg, by its other opcode" how=EMULATED undef=\undef
	PROBE {load} \op %ecx, %edx
DONE

CASE "\op reg, reg, 8 bit, by its other opcode" how=EMULATED undef=\undef
	PROBE {load} \op %ch, %dl
DONE

CASE "\op imm8" how=EMULATED undef=\undef
	PROBE \op $-3, %_ASM_DX
DONE

CASE "\op imm32" how=EMULATED undef=\undef
	PROBE \op\()l $0x76543210, %ecx
DONE

CASE "\op imm32, ax" how=EMULATED undef=\undef
	PROBE \op\()l $0x76543210, %eax
DONE

CASE "\op imm16" how=EMULATED undef=\undef
	PROBE \op\()w $0x7654, %cx
DONE

#ifdef CONFIG_X86_64
CASE "\op reg, reg, which need rex" how=EMULATED undef=\undef
	PROBE \op %r9, %r12
DONE

CASE "\op reg, reg, which need rex, by its other opcode" how=EMULATED undef=\undef
	PROBE {load} \op %r9, %r12
DONE

CASE "\op imm8, to a register that needs rex" how=EMULATED undef=\undef
	PROBE \op $-3, %r12
DONE
#endif

CASE "\op mem, reg" undef=\undef
	PROBE \op 8(%_ASM_SI), %edx
DONE

CASE "\op reg, mem" undef=\undef
	PROBE \op %edx, 8(%_ASM_DI)
DONE

CASE "\op imm, mem" undef=\undef
	PROBE \op\()l $0x12345, 8(%_ASM_DI)
DONE
.endm

ARITHMETIC add, 0
ARITHMETIC adc, 0
ARITHMETIC sub, 0
ARITHMETIC sbb, 0
ARITHMETIC and, UNDEF_LOGIC
ARITHMETIC or, UNDEF_LOGIC
ARITHMETIC xor, UNDEF_LOGIC
ARITHMETIC cmp, 0

CASE "test reg, reg" undef=UNDEF_LOGIC how=EMULATED|ALL_FLAGS
	PROBE test %ecx, %edx
DONE

CASE "test imm, reg" how=EMULATED undef=UNDEF_LOGIC
	PROBE testl $0x80000001, %ecx
DONE

CASE "test imm8, al" how=EMULATED undef=UNDEF_LOGIC
	PROBE testb $0x81, %al
DONE

CASE "test imm8, ah" how=EMULATED undef=UNDEF_LOGIC
	PROBE testb $0x81, %ah
DONE

CASE "test imm8, bh" how=EMULATED undef=UNDEF_LOGIC
	PROBE testb $0x81, %bh
DONE

#ifdef CONFIG_X86_64
CASE "test imm8, dil" how=EMULATED undef=UNDEF_LOGIC
	PROBE testb $0x81, %dil
DONE

CASE "test reg, reg, which need rex" how=EMULATED undef=UNDEF_LOGIC
	PROBE test %r9, %r12
DONE

CASE "test imm, of a register that needs rex" how=EMULATED undef=UNDEF_LOGIC
	PROBE testl $0x80000001, %r12d
DONE
#endif

CASE "add imm8, al" how=EMULATED
	PROBE add $0x81, %al
DONE

CASE "add to ah" how=EMULATED
	PROBE add %dl, %ah
DONE

CASE "add imm8, ah" how=EMULATED
	PROBE add $0x81, %ah
DONE

CASE "test imm, mem" undef=UNDEF_LOGIC
	PROBE testb $0x81, 5(%_ASM_SI)
DONE

CASE "test reg, mem" undef=UNDEF_LOGIC
	PROBE test %edx, 4(%_ASM_SI)
DONE

CASE "xor of a register with itself" how=EMULATED undef=UNDEF_LOGIC
	PROBE xor %ecx, %ecx
DONE

.macro UNARY op
CASE "\op reg" how=ALL_FLAGS
	PROBE \op %ecx
DONE

INSN "\op reg, 8 bit", \op %dh
INSN "\op reg, full width", \op %_ASM_DX
INSN "\op mem", \op\()l 4(%_ASM_DI)
INSN "lock \op mem", lock \op\()l 4(%_ASM_DI)
.endm

UNARY inc
UNARY dec
UNARY neg
UNARY not

.macro SHIFT op
CASE "\op by one" undef=UNDEF_LOGIC how=ALL_FLAGS
	PROBE \op %ecx
DONE

CASE "\op by imm8" undef=UNDEF_SHIFT
	PROBE \op $5, %edx
DONE

CASE "\op by cl" undef=UNDEF_SHIFT
	PROBE \op %cl, %_ASM_DX
DONE

CASE "\op mem by one" undef=UNDEF_LOGIC
	PROBE \op\()l 4(%_ASM_DI)
DONE
.endm

SHIFT shl
SHIFT shr
SHIFT sar
SHIFT rol
SHIFT ror
SHIFT rcl
SHIFT rcr

CASE "shld imm8" undef=UNDEF_SHIFT
	PROBE shld $5, %ecx, %edx
DONE

CASE "shrd by cl" undef=UNDEF_SHIFT
	PROBE shrd %cl, %eax, %edx
DONE

CASE "mul" undef=UNDEF_MUL
	PROBE mul %ecx
DONE

CASE "mul mem" undef=UNDEF_MUL
	PROBE mull 8(%_ASM_SI)
DONE

CASE "imul, one operand" undef=UNDEF_MUL
	PROBE imul %ecx
DONE

CASE "imul, two operands" undef=UNDEF_MUL
	PROBE imul %ecx, %edx
DONE

CASE "imul, three operands" undef=UNDEF_MUL
	PROBE imul $-7, %ecx, %edx
DONE

CASE "div" undef=UNDEF_DIV
	xor	%edx, %edx
	or	$1, %ecx
	PROBE div %ecx
DONE

CASE "idiv" undef=UNDEF_DIV
	cltd
	or	$0x100, %ecx
	and	$0xffff, %ecx
	PROBE idiv %ecx
DONE

INSN "cbw", cbtw
INSN "cwde", cwtl
INSN "cwd", cwtd
INSN "cdq", cltd

#ifdef CONFIG_X86_64
INSN "cdqe", cltq
INSN "cqo", cqto
INSN "xchg r8 with ax", xchg %rax, %r8

#endif
INSN "xchg reg, reg", xchg %ecx, %edx
INSN "xchg with ax", xchg %_ASM_AX, %_ASM_CX
INSN "xchg reg, mem", xchg %ecx, 4(%_ASM_DI)
INSN "cmpxchg, different", cmpxchg %ecx, %edx

CASE "cmpxchg, equal"
	mov	(%_ASM_DI), %eax
	PROBE lock cmpxchg %ecx, (%_ASM_DI)
DONE

INSN "cmpxchg8b, different", cmpxchg8b (%_ASM_SI)

CASE "lock cmpxchg8b, equal"
	mov	(%_ASM_SI), %eax
	mov	4(%_ASM_SI), %edx
	PROBE lock cmpxchg8b (%_ASM_SI)
DONE

INSN "xadd reg, reg", xadd %ecx, %edx
INSN "lock xadd", lock xadd %ecx, 4(%_ASM_DI)
INSN "lock add", lock addl $9, 4(%_ASM_DI)

.macro BITS op
CASE "\op imm8" undef=UNDEF_BIT how=ALL_FLAGS
	PROBE \op $13, %edx
DONE

CASE "\op reg" undef=UNDEF_BIT
	PROBE \op %ecx, %edx
DONE

CASE "\op mem" undef=UNDEF_BIT
	and	$31, %_ASM_CX
	PROBE \op %_ASM_CX, (%_ASM_DI)
DONE
.endm

BITS bt
BITS bts
BITS btr
BITS btc

CASE "bsf" undef=UNDEF_SCAN
	or	$0x100, %ecx
	PROBE bsf %ecx, %edx
DONE

CASE "bsr" undef=UNDEF_SCAN
	or	$0x100, %ecx
	PROBE bsr %ecx, %edx
DONE

/* --- Flags --- */

CASE "clc" how=ALL_FLAGS
	PROBE clc
DONE

CASE "stc" how=ALL_FLAGS
	PROBE stc
DONE

CASE "cmc" how=ALL_FLAGS
	PROBE cmc
DONE

CASE "lahf" how=ALL_FLAGS
	PROBE lahf
DONE

CASE "sahf" how=ALL_FLAGS
	PROBE sahf
DONE

CASE "std"
	PROBE std
	pushf
	pop	%_ASM_AX
	cld
DONE

CASE "cld"
	std
	PROBE cld
	pushf
	pop	%_ASM_AX
DONE

CASE "cli"
	PROBE cli
	pushf
	pop	%_ASM_AX
	sti
DONE

CASE "sti"
	cli
	PROBE sti
	nop
	pushf
	pop	%_ASM_AX
DONE

CASE "nop with interrupts off" how=EMULATED
	cli
	PROBE nop
	pushf
	pop	%_ASM_AX
	sti
DONE

CASE "mov with interrupts off"
	cli
	PROBE mov (%_ASM_SI), %edx
	pushf
	pop	%_ASM_AX
	sti
DONE

CASE "nop with the direction flag set" how=EMULATED
	std
	PROBE nop
	pushf
	pop	%_ASM_AX
	cld
DONE

.macro SETCC cc code
CASE "set\cc" how=ALL_FLAGS
	PROBE set\cc %dl
DONE
.endm

CONDITIONS SETCC

CASE "setcc mem" how=ALL_FLAGS
	PROBE setl 4(%_ASM_DI)
DONE

.macro CMOVCC cc code
CASE "cmov\cc" how=ALL_FLAGS
	PROBE cmov\cc %ecx, %edx
DONE
.endm

CONDITIONS CMOVCC

CASE "cmov mem" how=ALL_FLAGS
	PROBE cmovs 4(%_ASM_SI), %edx
DONE

TABLE_END
