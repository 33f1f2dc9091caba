/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions to probe: the stack, moves, addresses and strings. */
#include "insn_x86_case.S"

TABLE kpt_insn_data

/* --- Nothing at all --- */
INSN_EMULATED "nop", nop
INSN_EMULATED "nop of three bytes", .byte 0x0f, 0x1f, 0x00
INSN_EMULATED "nop of five bytes", .byte 0x0f, 0x1f, 0x44, 0x00, 0x00
INSN_EMULATED "nop of nine bytes", .byte 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00
INSN_EMULATED "pause", pause
INSN_EMULATED "prefix 66 nop", .byte 0x66, 0x90
INSN_EMULATED "prefix cs nop", .byte 0x2e, 0x90
INSN_EMULATED "prefix f2 nop", .byte 0xf2, 0x90
INSN "lock or to the stack as a fence", lock orl $0, (%_ASM_SP)
INSN "prefetch", prefetcht0 (%_ASM_SI)

/* --- The stack --- */

.macro PUSH_POP reg
CASE "push \reg" how=EMULATED
	PROBE push %\reg
	pop	%_ASM_AX
DONE

CASE "pop \reg" how=EMULATED
	push	%_ASM_DX
	PROBE pop %\reg
DONE
.endm

#ifdef CONFIG_X86_64
PUSH_POP rax
PUSH_POP rbx
PUSH_POP rcx
PUSH_POP rdx
PUSH_POP rsi
PUSH_POP rdi
PUSH_POP rbp
PUSH_POP r8
PUSH_POP r9
PUSH_POP r10
PUSH_POP r11
PUSH_POP r12
PUSH_POP r13
PUSH_POP r14
PUSH_POP r15
#else
PUSH_POP eax
PUSH_POP ebx
PUSH_POP ecx
PUSH_POP edx
PUSH_POP esi
PUSH_POP edi
PUSH_POP ebp
#endif

CASE "push sp" how=EMULATED
	PROBE push %_ASM_SP
	pop	%_ASM_AX
DONE

CASE "pop sp" how=EMULATED_64
	mov	%_ASM_SP, %_ASM_AX
	push	%_ASM_AX
	PROBE pop %_ASM_SP
DONE

CASE "push imm8" how=EMULATED
	PROBE .byte 0x6a, 0x85
	pop	%_ASM_AX
DONE

CASE "push imm32" how=EMULATED
	PROBE .byte 0x68, 0x78, 0x56, 0x34, 0x92
	pop	%_ASM_AX
DONE

CASE "push 16 bit"
	PROBE pushw %ax
	popw	%dx
DONE

CASE "pop 16 bit"
	pushw	%ax
	PROBE popw %dx
DONE

CASE "push imm, 16 bit"
	PROBE pushw $0x1234
	popw	%ax
DONE

CASE "push fs"
	PROBE push %fs
	pop	%_ASM_AX
DONE

CASE "push gs"
	PROBE push %gs
	pop	%_ASM_AX
DONE

CASE "push mem"
	PROBE PUSH_L 8(%_ASM_SI)
	pop	%_ASM_AX
DONE

CASE "pop mem"
	push	%_ASM_AX
	PROBE POP_L 8(%_ASM_DI)
DONE

CASE "push mem, sp relative"
	push	%_ASM_DX
	PROBE PUSH_L (%_ASM_SP)
	pop	%_ASM_AX
	pop	%_ASM_CX
DONE

CASE "pop mem, sp relative"
	push	%_ASM_DX
	push	%_ASM_AX
	PROBE POP_L (%_ASM_SP)
	pop	%_ASM_CX
DONE

CASE "pushf" how=ALL_FLAGS
	PROBE pushf
	pop	%_ASM_AX
DONE

CASE "popf, arithmetic flags" how=ALL_FLAGS
	pushf
	xorl	$0x8d5, (%_ASM_SP)
	PROBE popf
DONE

CASE "popf, direction flag" how=ALL_FLAGS
	pushf
	xorl	$0x400, (%_ASM_SP)
	PROBE popf
	pushf
	pop	%_ASM_AX
	cld
DONE

CASE "popf, interrupts off"
	pushf
	andl	$~0x200, (%_ASM_SP)
	PROBE popf
	pushf
	pop	%_ASM_AX
	sti
DONE

CASE "popf, interrupts on"
	pushf
	cli
	PROBE popf
	pushf
	pop	%_ASM_AX
DONE

CASE "leave"
	push	%_ASM_BP
	mov	%_ASM_SP, %_ASM_BP
	sub	$24, %_ASM_SP
	PROBE leave
DONE

CASE "enter"
	PROBE enter $16, $0
	mov	%_ASM_BP, %_ASM_AX
	leave
DONE

CASE "add to sp" how=EMULATED_64
	push	%_ASM_AX
	push	%_ASM_CX
	PROBE add $(2 * WORD), %_ASM_SP
DONE

CASE "sub from sp" how=EMULATED_64
	PROBE sub $64, %_ASM_SP
	mov	%_ASM_SP, %_ASM_AX
	lea	64(%_ASM_SP), %_ASM_SP
DONE

/* So far down that the exception's frame could overwrite its own source. */
.macro DOWN bytes
CASE "sub \bytes, sp" how=EMULATED_64
	PROBE sub $\bytes, %_ASM_SP
	mov	%_ASM_SP, %_ASM_AX
	lea	\bytes(%_ASM_SP), %_ASM_SP
DONE

CASE "sub reg, sp, \bytes down" how=EMULATED_64
	mov	$\bytes, %ecx
	PROBE sub %_ASM_CX, %_ASM_SP
	mov	%_ASM_SP, %_ASM_AX
	lea	\bytes(%_ASM_SP), %_ASM_SP
DONE

CASE "lea of sp to sp, \bytes down" how=EMULATED_64
	PROBE lea -\bytes(%_ASM_SP), %_ASM_SP
	mov	%_ASM_SP, %_ASM_AX
	lea	\bytes(%_ASM_SP), %_ASM_SP
DONE

CASE "mov to sp, \bytes down" how=EMULATED_64
	lea	-\bytes(%_ASM_SP), %_ASM_CX
	PROBE mov %_ASM_CX, %_ASM_SP
	mov	%_ASM_SP, %_ASM_AX
	lea	\bytes(%_ASM_SP), %_ASM_SP
DONE

CASE "pop to sp, \bytes down" how=EMULATED_64
	lea	-\bytes(%_ASM_SP), %_ASM_CX
	push	%_ASM_CX
	PROBE pop %_ASM_SP
	mov	%_ASM_SP, %_ASM_AX
	lea	\bytes(%_ASM_SP), %_ASM_SP
DONE
.endm

DOWN 0x24
DOWN 0x28
DOWN 0x2c
DOWN 0x30

INSN_EMULATED "mov from sp", mov %_ASM_SP, %_ASM_AX
INSN_EMULATED "cmp with sp", cmp %_ASM_CX, %_ASM_SP

CASE "test with sp" how=EMULATED undef=UNDEF_LOGIC
	PROBE test %_ASM_SP, %_ASM_SP
DONE

INSN_EMULATED "lea of sp", lea -16(%_ASM_SP), %_ASM_AX

CASE "xchg with sp, twice"
	mov	%_ASM_SP, %_ASM_AX
	PROBE xchg %_ASM_AX, %_ASM_SP
DONE

/* --- Moves --- */
INSN_EMULATED "mov reg to reg, 32 bit", mov %ecx, %edx
INSN_EMULATED "mov reg to reg, 16 bit", mov %cx, %dx
INSN_EMULATED "mov reg to reg, 8 bit", mov %ch, %dl
INSN_EMULATED "mov imm32", mov $0x87654321, %edx
INSN_EMULATED "mov reg to reg, by its other opcode", {load} mov %ecx, %edx
INSN_EMULATED "mov imm16", mov $0x8765, %dx
INSN_EMULATED "mov imm16, by its other opcode", .byte 0x66, 0xc7, 0xc2, 0x65, 0x87
INSN_EMULATED "mov imm8", mov $0x81, %dh
INSN_EMULATED "mov imm8, by its other opcode", .byte 0xc6, 0xc2, 0x81
INSN_EMULATED "mov imm8, to ah", mov $0x81, %ah
INSN "mov load", mov (%_ASM_SI), %edx
INSN "mov load, disp8", mov -16(%_ASM_SI), %_ASM_DX
INSN "mov load, disp32", mov 0xff(%_ASM_BX), %_ASM_DX

CASE "mov load, base and index"
	and	$7, %_ASM_CX
	PROBE mov 8(%_ASM_SI,%_ASM_CX,8), %_ASM_DX
DONE

INSN "mov load, 16 bit", mov 2(%_ASM_SI), %dx
INSN "mov store", mov %edx, (%_ASM_DI)
INSN "mov store, 8 bit", mov %dh, 3(%_ASM_DI)
INSN "mov store, imm32", movl $0x12345678, 4(%_ASM_DI)
INSN "mov store, imm16", movw $0x1234, 4(%_ASM_DI)
INSN "movzx from 8 bit", movzbl %ch, %edx
INSN "movzx from 16 bit, mem", movzwl 2(%_ASM_SI), %edx
INSN "movsx from 8 bit, mem", movsbl 1(%_ASM_SI), %edx
INSN "movsx from 16 bit", movswl %cx, %edx
INSN "mov from a segment register", mov %ds, %edx

CASE "mov to es"
	mov	%es, %eax
	PROBE mov %eax, %es
	mov	%es, %edx
DONE

INSN "mov from cr0", mov %cr0, %_ASM_DX
INSN "mov from dr6", mov %dr6, %_ASM_DX
INSN "bswap", bswap %ecx
INSN "bswap, last register", bswap %edi

CASE "xlat"
	and	$63, %eax
	PROBE xlat
DONE

#ifdef CONFIG_X86_64
INSN_EMULATED "mov reg to reg, 64 bit", mov %r13, %r8
INSN "mov imm64", movabs $0x1122334455667788, %r9
INSN_EMULATED "mov imm32, sign extended", movq $-5, %r9
INSN_EMULATED "mov imm32, to a register that needs rex", mov $-5, %r9d

CASE "mov to sil" how=EMULATED
	PROBE mov %cl, %sil
	mov	%rdi, %rsi
DONE

INSN "mov load to r11", mov 8(%rsi), %r11

CASE "mov load, base r11"
	mov	%rsi, %r11
	PROBE mov 8(%r11), %rdx
DONE

INSN "mov load, 64 bit address", movabs kpt_insn_scratch+8, %rax
INSN "mov load, per CPU", mov PER_CPU_VAR(pcpu_hot), %rdx
INSN "mov load, gs and absolute", mov %gs:40, %rdx
INSN "movsx from 32 bit", movslq %ecx, %r10
INSN "bswap, 64 bit", bswap %r12

#else
INSN "mov load, absolute", mov kpt_insn_scratch+8, %eax
INSN "mov load, per CPU", mov PER_CPU_VAR(pcpu_hot), %edx

#endif

/* --- lea --- */
INSN_EMULATED "lea, base and disp8", lea 5(%_ASM_CX), %_ASM_DX
INSN_EMULATED "lea, base, index, disp32", lea 0x12345(%_ASM_CX,%_ASM_DX,4), %_ASM_AX
INSN_EMULATED "lea, base bp", lea 5(%_ASM_BP), %_ASM_AX
INSN_EMULATED "lea, base bp, index", lea 5(%_ASM_BP,%_ASM_CX,2), %_ASM_AX
INSN_EMULATED "lea, index only", lea 0x1234(,%_ASM_DX,8), %_ASM_AX
INSN "lea, 16 bit result", lea 5(%_ASM_CX), %dx

#ifdef CONFIG_X86_64
INSN_EMULATED "lea, rip relative", lea kpt_insn_scratch+9(%rip), %rdx
INSN_EMULATED "lea, rip itself", lea 0(%rip), %rdx
INSN "lea, 32 bit address", lea 5(%ecx,%edx,2), %rax
INSN_EMULATED "lea to a register that needs rex", lea 5(%rcx), %r9
INSN_EMULATED "lea, base and index that need rex", lea (%r12,%r9,4), %r10
INSN_EMULATED "lea, index r12", lea 5(%rcx,%r12,4), %rdx
INSN_EMULATED "lea, base r13", lea 8(%r13), %r11
INSN_EMULATED "lea, 32 bit result, to a register that needs rex", lea 5(%rcx), %r8d

/* --- Relative to the instruction pointer --- */
INSN "rip relative load", mov kpt_insn_scratch+16(%rip), %rdx
INSN "rip relative load to r11", mov kpt_insn_scratch+16(%rip), %r11
INSN "rip relative load, 8 bit", movb kpt_insn_scratch+17(%rip), %dl
INSN "rip relative store", mov %rdx, kpt_insn_scratch+16(%rip)
INSN "rip relative store, imm8", movb $0x5a, kpt_insn_scratch+16(%rip)
INSN "rip relative store, imm16", movw $0x5aa5, kpt_insn_scratch+16(%rip)
INSN "rip relative store, imm32", movq $0x5aa51234, kpt_insn_scratch+16(%rip)
INSN "rip relative cmp, imm8", cmpl $0x5a, kpt_insn_scratch+16(%rip)

CASE "rip relative test, imm32" undef=UNDEF_LOGIC
	PROBE testl $0x5a5a5a5a, kpt_insn_scratch+16(%rip)
DONE

INSN "rip relative add to mem", add %rcx, kpt_insn_scratch+24(%rip)

CASE "rip relative inc" how=ALL_FLAGS
	PROBE incl kpt_insn_scratch+24(%rip)
DONE

INSN "rip relative lock cmpxchg", lock cmpxchg %rcx, kpt_insn_scratch+24(%rip)

CASE "rip relative push"
	PROBE pushq kpt_insn_scratch+24(%rip)
	pop	%rax
DONE

CASE "rip relative pop"
	push	%rcx
	PROBE popq kpt_insn_scratch+24(%rip)
DONE

CASE "rip relative cmov" how=ALL_FLAGS
	PROBE cmovc kpt_insn_scratch+24(%rip), %rdx
DONE

CASE "rip relative setcc" how=ALL_FLAGS
	PROBE setc kpt_insn_scratch+24(%rip)
DONE

CASE "rip relative shift, imm8" undef=UNDEF_SHIFT
	PROBE shll $3, kpt_insn_scratch+24(%rip)
DONE

CASE "rip relative imul, imm32" undef=UNDEF_MUL
	PROBE imul $0x1234567, kpt_insn_scratch+24(%rip), %rdx
DONE
#endif

/* --- Strings --- */

.macro STRING op
INSN "\op", \op

CASE "rep \op"
	mov	$5, %ecx
	PROBE rep \op
DONE

CASE "rep \op, zero times"
	xor	%ecx, %ecx
	PROBE rep \op
DONE

CASE "rep \op downwards"
	std
	mov	$5, %ecx
	PROBE rep \op
	cld
DONE
.endm

STRING movsb
STRING movsw
STRING movsl
STRING stosb
STRING stosw
STRING stosl
STRING lodsb
STRING lodsl
#ifdef CONFIG_X86_64
STRING movsq
STRING stosq
#endif
INSN "scasb", scasb

CASE "repne scasb"
	mov	$60, %ecx
	mov	20(%_ASM_DI), %al
	PROBE repne scasb
DONE

INSN "cmpsb", cmpsb

CASE "repe cmpsb"
	mov	$60, %ecx
	mov	%_ASM_SI, %_ASM_DI
	PROBE repe cmpsb
DONE

TABLE_END
