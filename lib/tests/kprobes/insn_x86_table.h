/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions that the kprobes_insn suite probes. Included twice: to make
 * a function of each, and to make the table of them.
 *
 * INSN(name, title, setup, insn, rest, ...): a function that runs @setup, the
 * probed @insn and @rest, and returns. What follows initialises members of
 * struct insn_case.
 *
 * REFUSED(name, title, insn): a function that jumps over @insn, which may not
 * be probed.
 *
 * On entry the general registers are random, but for SI, DI, BX and BP, which
 * point into a buffer of random bytes.
 */

/* Conditions, with their encoding. */
#define CONDITIONS(M)							\
	M(o, 0) M(no, 1) M(b, 2) M(ae, 3) M(e, 4) M(ne, 5) M(be, 6) M(a, 7)	\
	M(s, 8) M(ns, 9) M(p, a) M(np, b) M(l, c) M(ge, d) M(le, e) M(g, f)

/* --- Nothing at all --- */
INSN(nop, "nop", "", "nop", "")
INSN(nop3, "nop of three bytes", "", ".byte 0x0f, 0x1f, 0x00", "")
INSN(nop5, "nop of five bytes", "", ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00", "")
INSN(nop9, "nop of nine bytes", "",
     ".byte 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00", "")
INSN(pause, "pause", "", "pause", "")
INSN(nop_66, "prefix 66 nop", "", ".byte 0x66, 0x90", "")
INSN(nop_cs, "prefix cs nop", "", ".byte 0x2e, 0x90", "")
INSN(nop_f2, "prefix f2 nop", "", ".byte 0xf2, 0x90", "")
INSN(mfence, "lock or to the stack as a fence", "", "lock; orl $0, (%" _ASM_SP ")", "")
INSN(prefetch, "prefetch", "", "prefetcht0 (%" _ASM_SI ")", "")

/* --- The stack --- */
#define PUSH_POP(reg)							\
INSN(push_##reg, "push " #reg, "", "push %" #reg, "pop %" _ASM_AX)	\
INSN(pop_##reg, "pop " #reg, "push %" _ASM_DX, "pop %" #reg, "")
#ifdef CONFIG_X86_64
PUSH_POP(rax) PUSH_POP(rbx) PUSH_POP(rcx) PUSH_POP(rdx)
PUSH_POP(rsi) PUSH_POP(rdi) PUSH_POP(rbp)
PUSH_POP(r8) PUSH_POP(r9) PUSH_POP(r10) PUSH_POP(r11)
PUSH_POP(r12) PUSH_POP(r13) PUSH_POP(r14) PUSH_POP(r15)
#else
PUSH_POP(eax) PUSH_POP(ebx) PUSH_POP(ecx) PUSH_POP(edx)
PUSH_POP(esi) PUSH_POP(edi) PUSH_POP(ebp)
#endif
#undef PUSH_POP
INSN(push_sp, "push sp", "", "push %" _ASM_SP, "pop %" _ASM_AX)
INSN(pop_sp, "pop sp", "mov %" _ASM_SP ", %" _ASM_AX "\n push %" _ASM_AX,
     "pop %" _ASM_SP, "")
INSN(push_imm8, "push imm8", "", ".byte 0x6a, 0x85", "pop %" _ASM_AX)
INSN(push_imm32, "push imm32", "", ".byte 0x68, 0x78, 0x56, 0x34, 0x92",
     "pop %" _ASM_AX)
INSN(push_16, "push 16 bit", "", "pushw %ax", "popw %dx")
INSN(pop_16, "pop 16 bit", "pushw %ax", "popw %dx", "")
INSN(push_mem, "push mem", "", PUSH_L " 8(%" _ASM_SI ")", "pop %" _ASM_AX)
INSN(pop_mem, "pop mem", "push %" _ASM_AX, POP_L " 8(%" _ASM_DI ")", "")
INSN(push_mem_sp, "push mem, sp relative", "push %" _ASM_DX,
     PUSH_L " (%" _ASM_SP ")", "pop %" _ASM_AX "\n pop %" _ASM_CX)
INSN(pop_mem_sp, "pop mem, sp relative", "push %" _ASM_DX "\n push %" _ASM_AX,
     POP_L " (%" _ASM_SP ")", "pop %" _ASM_CX)
INSN(pushf, "pushf", "", "pushf", "pop %" _ASM_AX, .how = ALL_FLAGS)
INSN(popf, "popf, arithmetic flags", "pushf\n xorl $0x8d5, (%" _ASM_SP ")", "popf", "",
     .how = ALL_FLAGS)
INSN(popf_df, "popf, direction flag", "pushf\n xorl $0x400, (%" _ASM_SP ")", "popf",
     "pushf\n pop %" _ASM_AX "\n cld", .how = ALL_FLAGS)
INSN(popf_if, "popf, interrupts off", "pushf\n andl $~0x200, (%" _ASM_SP ")", "popf",
     "pushf\n pop %" _ASM_AX "\n sti")
INSN(popf_if_on, "popf, interrupts on", "pushf\n cli", "popf",
     "pushf\n pop %" _ASM_AX)
INSN(leave, "leave",
     "push %" _ASM_BP "\n mov %" _ASM_SP ", %" _ASM_BP "\n sub $24, %" _ASM_SP,
     "leave", "")
INSN(enter, "enter", "", "enter $16, $0", "mov %" _ASM_BP ", %" _ASM_AX "\n leave")
INSN(add_sp, "add to sp", "push %" _ASM_AX "\n push %" _ASM_CX,
     "add $(2 * " LONG "), %" _ASM_SP, "")
INSN(sub_sp, "sub from sp", "", "sub $64, %" _ASM_SP,
     "mov %" _ASM_SP ", %" _ASM_AX "\n lea 64(%" _ASM_SP "), %" _ASM_SP)
INSN(mov_from_sp, "mov from sp", "", "mov %" _ASM_SP ", %" _ASM_AX, "")
INSN(lea_sp, "lea of sp", "", "lea -16(%" _ASM_SP "), %" _ASM_AX, "")
INSN(xchg_sp, "xchg with sp, twice", "mov %" _ASM_SP ", %" _ASM_AX,
     "xchg %" _ASM_AX ", %" _ASM_SP, "")

/* --- Moves --- */
INSN(mov_32, "mov reg to reg, 32 bit", "", "mov %ecx, %edx", "")
INSN(mov_16, "mov reg to reg, 16 bit", "", "mov %cx, %dx", "")
INSN(mov_8, "mov reg to reg, 8 bit", "", "mov %ch, %dl", "")
INSN(mov_imm_32, "mov imm32", "", "mov $0x87654321, %edx", "")
INSN(mov_imm_8, "mov imm8", "", "mov $0x81, %dh", "")
INSN(mov_load, "mov load", "", "mov (%" _ASM_SI "), %edx", "")
INSN(mov_load_disp8, "mov load, disp8", "", "mov -16(%" _ASM_SI "), %" _ASM_DX, "")
INSN(mov_load_disp32, "mov load, disp32", "", "mov 0xff(%" _ASM_BX "), %" _ASM_DX, "")
INSN(mov_load_sib, "mov load, base and index", "and $7, %" _ASM_CX,
     "mov 8(%" _ASM_SI ",%" _ASM_CX ",8), %" _ASM_DX, "")
INSN(mov_load_16, "mov load, 16 bit", "", "mov 2(%" _ASM_SI "), %dx", "")
INSN(mov_store, "mov store", "", "mov %edx, (%" _ASM_DI ")", "")
INSN(mov_store_8, "mov store, 8 bit", "", "mov %dh, 3(%" _ASM_DI ")", "")
INSN(mov_store_imm, "mov store, imm32", "", "movl $0x12345678, 4(%" _ASM_DI ")", "")
INSN(mov_store_imm16, "mov store, imm16", "", "movw $0x1234, 4(%" _ASM_DI ")", "")
INSN(movzx_8, "movzx from 8 bit", "", "movzbl %ch, %edx", "")
INSN(movzx_16, "movzx from 16 bit, mem", "", "movzwl 2(%" _ASM_SI "), %edx", "")
INSN(movsx_8, "movsx from 8 bit, mem", "", "movsbl 1(%" _ASM_SI "), %edx", "")
INSN(movsx_16, "movsx from 16 bit", "", "movswl %cx, %edx", "")
INSN(mov_from_seg, "mov from a segment register", "", "mov %ds, %edx", "")
INSN(mov_to_seg, "mov to es", "mov %es, %eax", "mov %eax, %es", "mov %es, %edx")
INSN(mov_from_cr, "mov from cr0", "", "mov %cr0, %" _ASM_DX, "")
INSN(mov_from_dr, "mov from dr6", "", "mov %dr6, %" _ASM_DX, "")
INSN(bswap, "bswap", "", "bswap %ecx", "")
INSN(xlat, "xlat", "and $63, %eax", "xlat", "")
#ifdef CONFIG_X86_64
INSN(mov_64, "mov reg to reg, 64 bit", "", "mov %r13, %r8", "")
INSN(mov_imm_64, "mov imm64", "", "movabs $0x1122334455667788, %r9", "")
INSN(mov_imm_s32, "mov imm32, sign extended", "", "movq $-5, %r9", "")
INSN(mov_spl, "mov to sil", "", "mov %cl, %sil", "mov %rdi, %rsi")
INSN(mov_r11, "mov load to r11", "", "mov 8(%rsi), %r11", "")
INSN(mov_r11_base, "mov load, base r11", "mov %rsi, %r11", "mov 8(%r11), %rdx", "")
INSN(mov_moffs, "mov load, 64 bit address", "",
     "movabs kpt_insn_scratch+8, %rax", "")
INSN(mov_percpu, "mov load, per CPU", "", "mov %gs:this_cpu_off(%rip), %rdx", "")
INSN(mov_percpu_abs, "mov load, gs and absolute", "", "mov %gs:40, %rdx", "")
INSN(movsx_32, "movsx from 32 bit", "", "movslq %ecx, %r10", "")
INSN(bswap_64, "bswap, 64 bit", "", "bswap %r12", "")
#else
INSN(mov_moffs, "mov load, absolute", "", "mov kpt_insn_scratch+8, %eax", "")
INSN(mov_percpu, "mov load, per CPU", "", "mov %fs:this_cpu_off, %edx", "")
#endif

/* --- lea --- */
INSN(lea, "lea, base and disp8", "", "lea 5(%" _ASM_CX "), %" _ASM_DX, "")
INSN(lea_sib, "lea, base, index, disp32", "",
     "lea 0x12345(%" _ASM_CX ",%" _ASM_DX ",4), %" _ASM_AX, "")
INSN(lea_index, "lea, index only", "", "lea 0x1234(,%" _ASM_DX ",8), %" _ASM_AX, "")
INSN(lea_16, "lea, 16 bit result", "", "lea 5(%" _ASM_CX "), %dx", "")
#ifdef CONFIG_X86_64
INSN(lea_rip, "lea, rip relative", "", "lea kpt_insn_scratch+9(%rip), %rdx", "")
INSN(lea_rip_here, "lea, rip itself", "", "lea 0(%rip), %rdx", "")
INSN(lea_67, "lea, 32 bit address", "", "lea 5(%ecx,%edx,2), %rax", "")

/* --- Relative to the instruction pointer --- */
INSN(rip_load, "rip relative load", "", "mov kpt_insn_scratch+16(%rip), %rdx", "")
INSN(rip_load_r11, "rip relative load to r11", "", "mov kpt_insn_scratch+16(%rip), %r11", "")
INSN(rip_load_8, "rip relative load, 8 bit", "", "movb kpt_insn_scratch+17(%rip), %dl", "")
INSN(rip_store, "rip relative store", "", "mov %rdx, kpt_insn_scratch+16(%rip)", "")
INSN(rip_store_imm8, "rip relative store, imm8", "",
     "movb $0x5a, kpt_insn_scratch+16(%rip)", "")
INSN(rip_store_imm16, "rip relative store, imm16", "",
     "movw $0x5aa5, kpt_insn_scratch+16(%rip)", "")
INSN(rip_store_imm32, "rip relative store, imm32", "",
     "movq $0x5aa51234, kpt_insn_scratch+16(%rip)", "")
INSN(rip_cmp_imm, "rip relative cmp, imm8", "",
     "cmpl $0x5a, kpt_insn_scratch+16(%rip)", "")
INSN(rip_test_imm, "rip relative test, imm32", "",
     "testl $0x5a5a5a5a, kpt_insn_scratch+16(%rip)", "", .undef = AF)
INSN(rip_add, "rip relative add to mem", "", "add %rcx, kpt_insn_scratch+24(%rip)", "")
INSN(rip_inc, "rip relative inc", "", "incl kpt_insn_scratch+24(%rip)", "",
     .how = ALL_FLAGS)
INSN(rip_lock, "rip relative lock cmpxchg", "",
     "lock; cmpxchg %rcx, kpt_insn_scratch+24(%rip)", "")
INSN(rip_push, "rip relative push", "", "pushq kpt_insn_scratch+24(%rip)", "pop %rax")
INSN(rip_pop, "rip relative pop", "push %rcx", "popq kpt_insn_scratch+24(%rip)", "")
INSN(rip_cmov, "rip relative cmov", "", "cmovc kpt_insn_scratch+24(%rip), %rdx", "",
     .how = ALL_FLAGS)
INSN(rip_setcc, "rip relative setcc", "", "setc kpt_insn_scratch+24(%rip)", "",
     .how = ALL_FLAGS)
INSN(rip_shift, "rip relative shift, imm8", "", "shll $3, kpt_insn_scratch+24(%rip)", "",
     .undef = AF | OF)
INSN(rip_imul, "rip relative imul, imm32", "",
     "imul $0x1234567, kpt_insn_scratch+24(%rip), %rdx", "", .undef = ZF | SF | AF | PF)
#endif

/* --- Arithmetic --- */
#define ARITHMETIC(op, und)						\
INSN(op##_rr, #op " reg, reg", "", #op " %ecx, %edx", "",		\
     .how = ALL_FLAGS, .undef = und)					\
INSN(op##_long, #op " reg, reg, full width", "", #op " %" _ASM_CX ", %" _ASM_DX, "",	\
     .undef = und)							\
INSN(op##_8, #op " reg, reg, 8 bit", "", #op " %ch, %dl", "", .undef = und)	\
INSN(op##_imm8, #op " imm8", "", #op " $-3, %" _ASM_DX, "", .undef = und)	\
INSN(op##_imm32, #op " imm32", "", #op "l $0x76543210, %ecx", "", .undef = und)	\
INSN(op##_imm_ax, #op " imm32, ax", "", #op "l $0x76543210, %eax", "", .undef = und) \
INSN(op##_imm16, #op " imm16", "", #op "w $0x7654, %cx", "", .undef = und)	\
INSN(op##_mr, #op " mem, reg", "", #op " 8(%" _ASM_SI "), %edx", "", .undef = und) \
INSN(op##_rm, #op " reg, mem", "", #op " %edx, 8(%" _ASM_DI ")", "", .undef = und) \
INSN(op##_im, #op " imm, mem", "", #op "l $0x12345, 8(%" _ASM_DI ")", "", .undef = und)
ARITHMETIC(add, 0) ARITHMETIC(adc, 0) ARITHMETIC(sub, 0) ARITHMETIC(sbb, 0)
ARITHMETIC(and, AF) ARITHMETIC(or, AF) ARITHMETIC(xor, AF) ARITHMETIC(cmp, 0)
#undef ARITHMETIC
INSN(test_rr, "test reg, reg", "", "test %ecx, %edx", "", .undef = AF, .how = ALL_FLAGS)
INSN(test_imm, "test imm, reg", "", "testl $0x80000001, %ecx", "", .undef = AF)
INSN(test_imm8, "test imm8, al", "", "testb $0x81, %al", "", .undef = AF)
INSN(test_im, "test imm, mem", "", "testb $0x81, 5(%" _ASM_SI ")", "", .undef = AF)
INSN(test_rm, "test reg, mem", "", "test %edx, 4(%" _ASM_SI ")", "", .undef = AF)
INSN(xor_zero, "xor of a register with itself", "", "xor %ecx, %ecx", "", .undef = AF)
#define UNARY(op)							\
INSN(op##_reg, #op " reg", "", #op " %ecx", "", .how = ALL_FLAGS)	\
INSN(op##_8, #op " reg, 8 bit", "", #op " %dh", "")			\
INSN(op##_long, #op " reg, full width", "", #op " %" _ASM_DX, "")	\
INSN(op##_mem, #op " mem", "", #op "l 4(%" _ASM_DI ")", "")		\
INSN(op##_lock, "lock " #op " mem", "", "lock; " #op "l 4(%" _ASM_DI ")", "")
UNARY(inc) UNARY(dec) UNARY(neg) UNARY(not)
#undef UNARY
#define SHIFT(op)							\
INSN(op##_1, #op " by one", "", #op " %ecx", "", .undef = AF, .how = ALL_FLAGS) \
INSN(op##_imm, #op " by imm8", "", #op " $5, %edx", "", .undef = AF | OF)	\
INSN(op##_cl, #op " by cl", "", #op " %cl, %" _ASM_DX, "", .undef = AF | OF)	\
INSN(op##_mem, #op " mem by one", "", #op "l 4(%" _ASM_DI ")", "", .undef = AF)
SHIFT(shl) SHIFT(shr) SHIFT(sar) SHIFT(rol) SHIFT(ror) SHIFT(rcl) SHIFT(rcr)
#undef SHIFT
INSN(shld, "shld imm8", "", "shld $5, %ecx, %edx", "", .undef = AF | OF)
INSN(shrd, "shrd by cl", "", "shrd %cl, %eax, %edx", "", .undef = AF | OF)
INSN(mul, "mul", "", "mul %ecx", "", .undef = ZF | SF | AF | PF)
INSN(mul_mem, "mul mem", "", "mull 8(%" _ASM_SI ")", "", .undef = ZF | SF | AF | PF)
INSN(imul1, "imul, one operand", "", "imul %ecx", "", .undef = ZF | SF | AF | PF)
INSN(imul2, "imul, two operands", "", "imul %ecx, %edx", "", .undef = ZF | SF | AF | PF)
INSN(imul3, "imul, three operands", "", "imul $-7, %ecx, %edx", "",
     .undef = ZF | SF | AF | PF)
INSN(div, "div", "xor %edx, %edx\n or $1, %ecx", "div %ecx", "",
     .undef = ARITHMETIC_FLAGS)
INSN(idiv, "idiv", "cltd\n or $0x100, %ecx\n and $0xffff, %ecx", "idiv %ecx", "",
     .undef = ARITHMETIC_FLAGS)
INSN(cbw, "cbw", "", "cbtw", "")
INSN(cwde, "cwde", "", "cwtl", "")
INSN(cwd, "cwd", "", "cwtd", "")
INSN(cdq, "cdq", "", "cltd", "")
#ifdef CONFIG_X86_64
INSN(cdqe, "cdqe", "", "cltq", "")
INSN(cqo, "cqo", "", "cqto", "")
#endif
INSN(xchg_rr, "xchg reg, reg", "", "xchg %ecx, %edx", "")
INSN(xchg_ax, "xchg with ax", "", "xchg %" _ASM_AX ", %" _ASM_CX, "")
INSN(xchg_mem, "xchg reg, mem", "", "xchg %ecx, 4(%" _ASM_DI ")", "")
INSN(cmpxchg_rr, "cmpxchg, different", "", "cmpxchg %ecx, %edx", "")
INSN(cmpxchg_eq, "cmpxchg, equal", "mov (%" _ASM_DI "), %eax",
     "lock; cmpxchg %ecx, (%" _ASM_DI ")", "")
INSN(cmpxchg8b, "cmpxchg8b, different", "", "cmpxchg8b (%" _ASM_SI ")", "")
INSN(cmpxchg8b_eq, "lock cmpxchg8b, equal",
     "mov (%" _ASM_SI "), %eax\n mov 4(%" _ASM_SI "), %edx",
     "lock; cmpxchg8b (%" _ASM_SI ")", "")
INSN(xadd, "xadd reg, reg", "", "xadd %ecx, %edx", "")
INSN(xadd_lock, "lock xadd", "", "lock; xadd %ecx, 4(%" _ASM_DI ")", "")
INSN(add_lock, "lock add", "", "lock; addl $9, 4(%" _ASM_DI ")", "")
#define BITS(op)							\
INSN(op##_imm, #op " imm8", "", #op " $13, %edx", "",			\
     .undef = OF | SF | AF | PF, .how = ALL_FLAGS)			\
INSN(op##_reg, #op " reg", "", #op " %ecx, %edx", "", .undef = OF | SF | AF | PF) \
INSN(op##_mem, #op " mem", "and $31, %" _ASM_CX,			\
     #op " %" _ASM_CX ", (%" _ASM_DI ")", "", .undef = OF | SF | AF | PF)
BITS(bt) BITS(bts) BITS(btr) BITS(btc)
#undef BITS
INSN(bsf, "bsf", "or $0x100, %ecx", "bsf %ecx, %edx", "", .undef = ARITHMETIC_FLAGS & ~ZF)
INSN(bsr, "bsr", "or $0x100, %ecx", "bsr %ecx, %edx", "", .undef = ARITHMETIC_FLAGS & ~ZF)

/* --- Flags --- */
INSN(clc, "clc", "", "clc", "", .how = ALL_FLAGS)
INSN(stc, "stc", "", "stc", "", .how = ALL_FLAGS)
INSN(cmc, "cmc", "", "cmc", "", .how = ALL_FLAGS)
INSN(lahf, "lahf", "", "lahf", "", .how = ALL_FLAGS)
INSN(sahf, "sahf", "", "sahf", "", .how = ALL_FLAGS)
INSN(std, "std", "", "std", "pushf\n pop %" _ASM_AX "\n cld")
INSN(cld, "cld", "std", "cld", "pushf\n pop %" _ASM_AX)
INSN(cli, "cli", "", "cli", "pushf\n pop %" _ASM_AX "\n sti")
INSN(sti, "sti", "cli", "sti", "nop\n pushf\n pop %" _ASM_AX)
INSN(nop_irqs_off, "nop with interrupts off", "cli", "nop",
     "pushf\n pop %" _ASM_AX "\n sti")
INSN(mov_irqs_off, "mov with interrupts off", "cli", "mov (%" _ASM_SI "), %edx",
     "pushf\n pop %" _ASM_AX "\n sti")
INSN(nop_df, "nop with the direction flag set", "std", "nop",
     "pushf\n pop %" _ASM_AX "\n cld")
#define SETCC(cc, code)							\
INSN(set##cc, "set" #cc, "", "set" #cc " %dl", "", .how = ALL_FLAGS)
CONDITIONS(SETCC)
#undef SETCC
INSN(setcc_mem, "setcc mem", "", "setl 4(%" _ASM_DI ")", "", .how = ALL_FLAGS)
#define CMOVCC(cc, code)						\
INSN(cmov##cc, "cmov" #cc, "", "cmov" #cc " %ecx, %edx", "", .how = ALL_FLAGS)
CONDITIONS(CMOVCC)
#undef CMOVCC
INSN(cmov_mem, "cmov mem", "", "cmovs 4(%" _ASM_SI "), %edx", "", .how = ALL_FLAGS)

/* --- Strings --- */
#define STRING(op)							\
INSN(op, #op, "", #op, "")						\
INSN(op##_rep, "rep " #op, "mov $5, %ecx", "rep; " #op, "")		\
INSN(op##_rep0, "rep " #op ", zero times", "xor %ecx, %ecx", "rep; " #op, "")	\
INSN(op##_down, "rep " #op " downwards", "std\n mov $5, %ecx", "rep; " #op, "cld")
STRING(movsb) STRING(movsw) STRING(movsl)
STRING(stosb) STRING(stosw) STRING(stosl)
STRING(lodsb) STRING(lodsl)
#ifdef CONFIG_X86_64
STRING(movsq) STRING(stosq)
#endif
#undef STRING
INSN(scasb, "scasb", "", "scasb", "")
INSN(repne_scasb, "repne scasb", "mov $60, %ecx\n mov 20(%" _ASM_DI "), %al",
     "repne; scasb", "")
INSN(cmpsb, "cmpsb", "", "cmpsb", "")
INSN(repe_cmpsb, "repe cmpsb", "mov $60, %ecx\n mov %" _ASM_SI ", %" _ASM_DI,
     "repe; cmpsb", "")

/* --- Calls --- */
#define CALLED	"jmp 3f\n 2: mov (%" _ASM_SP "), %" _ASM_DX "\n" RAW_RET "3:\n"
INSN(call_rel, "call rel32", "", ".byte 0xe8\n .long 2f - . - 4", CALLED, .how = BRANCH)
INSN(call_reg, "call reg", LEA_LABEL("2f", AX), ANNOTATE_RETPOLINE_SAFE "call *%" _ASM_AX, CALLED,
     .how = BRANCH)
INSN(call_cx, "call reg, another one", LEA_LABEL("2f", CX),
     ANNOTATE_RETPOLINE_SAFE "call *%" _ASM_CX, CALLED, .how = BRANCH)
INSN(call_mem, "call mem", LEA_LABEL("2f", AX) "mov %" _ASM_AX ", 8(%" _ASM_DI ")",
     ANNOTATE_RETPOLINE_SAFE "call *8(%" _ASM_DI ")", CALLED, .how = BRANCH)
INSN(call_mem_sp, "call mem, sp relative",
     LEA_LABEL("2f", AX) "push %" _ASM_AX "\n push %" _ASM_CX,
     ANNOTATE_RETPOLINE_SAFE "call *" LONG "(%" _ASM_SP ")",
     "pop %" _ASM_CX "\n pop %" _ASM_CX "\n" CALLED, .how = BRANCH)
INSN(call_pop, "call that pops its return address", "", ".byte 0xe8\n .long 0",
     "pop %" _ASM_DX, .how = BRANCH)
#ifdef CONFIG_X86_64
INSN(call_r8, "call r8", LEA_LABEL("2f", R8), ANNOTATE_RETPOLINE_SAFE "call *%r8", CALLED,
     .how = BRANCH)
INSN(call_r11, "call r11", LEA_LABEL("2f", R11), ANNOTATE_RETPOLINE_SAFE "call *%r11", CALLED,
     .how = BRANCH)
INSN(call_rip, "call mem, rip relative",
     LEA_LABEL("2f", AX) "mov %rax, kpt_insn_scratch+32(%rip)",
     ANNOTATE_RETPOLINE_SAFE "call *kpt_insn_scratch+32(%rip)", CALLED, .how = BRANCH)
INSN(call_cs, "call reg, cs prefix", LEA_LABEL("2f", AX),
     ANNOTATE_RETPOLINE_SAFE ".byte 0x2e\n call *%rax", CALLED, .how = BRANCH)
#endif
#undef CALLED

/* --- Jumps --- */
#define JUMPED	"mov $1, %eax\n jmp 3f\n 2: mov $2, %eax\n 3:\n"
INSN(jmp_short, "jmp rel8", "", "jmp 2f", JUMPED, .how = BRANCH)
INSN(jmp_near, "jmp rel32", "", ".byte 0xe9\n .long 2f - . - 4", JUMPED, .how = BRANCH)
INSN(jmp_back, "jmp backwards", "jmp 1f\n 2: mov $2, %eax\n jmp 3f\n 1:", "jmp 2b", "3:",
     .how = BRANCH)
INSN(jmp_reg, "jmp reg", LEA_LABEL("2f", AX),
     ANNOTATE_RETPOLINE_SAFE "jmp *%" _ASM_AX "\n int3", JUMPED, .how = BRANCH)
INSN(jmp_mem, "jmp mem", LEA_LABEL("2f", AX) "mov %" _ASM_AX ", 8(%" _ASM_DI ")",
     ANNOTATE_RETPOLINE_SAFE "jmp *8(%" _ASM_DI ")\n int3", JUMPED, .how = BRANCH)
#ifdef CONFIG_X86_64
INSN(jmp_r11, "jmp r11", LEA_LABEL("2f", R11), ANNOTATE_RETPOLINE_SAFE "jmp *%r11\n int3",
     JUMPED, .how = BRANCH)
INSN(jmp_rip, "jmp mem, rip relative",
     LEA_LABEL("2f", AX) "mov %rax, kpt_insn_scratch+32(%rip)",
     ANNOTATE_RETPOLINE_SAFE "jmp *kpt_insn_scratch+32(%rip)\n int3", JUMPED, .how = BRANCH)
#endif
#define JCC(cc, code)							\
INSN(j##cc##_short, "j" #cc " rel8", "", "j" #cc " 2f", JUMPED,	\
     .how = BRANCH | ALL_FLAGS)						\
INSN(j##cc##_near, "j" #cc " rel32", "",				\
     ".byte 0x0f, 0x8" #code "\n .long 2f - . - 4", JUMPED, .how = BRANCH | ALL_FLAGS)
CONDITIONS(JCC)
#undef JCC
INSN(loop, "loop", "mov $3, %ecx\n xor %eax, %eax\n 1: inc %eax", "loop 1b", "",
     .how = BRANCH, .hits = 3)
INSN(loope, "loope", "mov $3, %ecx", "loope 2f", JUMPED, .how = BRANCH | ALL_FLAGS)
INSN(loopne, "loopne", "mov $3, %ecx", "loopne 2f", JUMPED, .how = BRANCH | ALL_FLAGS)
INSN(loop_last, "loop, last time", "mov $1, %ecx", "loop 2f", JUMPED, .how = BRANCH)
INSN(loop_zero, "loop from zero", "xor %ecx, %ecx", "loop 2f", JUMPED, .how = BRANCH)
INSN(jcxz_taken, "jrcxz, taken", "xor %ecx, %ecx", JCXZ " 2f", JUMPED, .how = BRANCH)
INSN(jcxz_not, "jrcxz, not taken", "mov $1, %ecx", JCXZ " 2f", JUMPED, .how = BRANCH)
#ifdef CONFIG_X86_64
INSN(jecxz, "jecxz, upper half set", "movabs $0x100000000, %rcx", "jecxz 2f", JUMPED,
     .how = BRANCH)
INSN(loopl, "loop, 32 bit count", "movabs $0x100000001, %rcx", "addr32 loop 2f", JUMPED,
     .how = BRANCH)
#endif
#undef JUMPED

/* --- Returns --- */
INSN(ret, "ret", "", RAW_RET, "", .how = BRANCH)
INSN(ret_imm, "ret imm16", "", ANNOTATE_RETPOLINE_SAFE "ret $16\n int3", "", .how = BRANCH)
INSN(ret_rep, "rep ret", "", ANNOTATE_RETPOLINE_SAFE ".byte 0xf3\n ret\n int3", "",
     .how = BRANCH)
INSN(ret_thunk, "jmp to the return thunk, or ret", "", ASM_RET, "", .how = BRANCH)

/* --- Prefixes that do nothing --- */
INSN(prefix_ds, "mov with a ds prefix", "", ".byte 0x3e\n mov (%" _ASM_SI "), %edx", "")
INSN(prefix_cs, "mov with cs prefixes", "", ".byte 0x2e, 0x2e\n mov (%" _ASM_SI "), %edx", "")

/* --- The machine --- */
INSN(rdtsc, "rdtsc", "", "rdtsc", "", .how = CLOBBERS)
INSN(cpuid, "cpuid", "xor %eax, %eax", "cpuid", "", .how = CLOBBERS)
INSN(rdmsr, "rdmsr", "mov $0xc0000080, %ecx", "rdmsr", "")
INSN(out, "out to a port", "xor %eax, %eax", "outb %al, $0x80", "")
INSN(clts, "clts", "", "clts", "")
INSN(smsw, "smsw", "", "smsw %edx", "")

/* --- Refused --- */
REFUSED(r_iret, "iret", ".byte 0xcf")
REFUSED(r_lret, "far return", ".byte 0xcb")
REFUSED(r_int3, "int3", "int3")
REFUSED(r_ud2, "ud2", "ud2")
REFUSED(r_hlt, "hlt", "hlt")
REFUSED(r_mov_ss, "mov to ss", "mov %eax, %ss")
REFUSED(r_endbr64, "endbr64 inside a function", ".byte 0xf3, 0x0f, 0x1e, 0xfa")
REFUSED(r_endbr32, "endbr32 inside a function", ".byte 0xf3, 0x0f, 0x1e, 0xfb")
#ifdef CONFIG_X86_32
REFUSED(r_pop_ss, "pop ss", "pop %ss")
#endif

#undef CONDITIONS
