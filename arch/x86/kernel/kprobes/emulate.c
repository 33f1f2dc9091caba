// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes on x86: executing an instruction on saved registers.
 *
 * This is for instructions whose effect depends on their address, and for common
 * simple ones at points with a post-handler. It is on the hit path: all of it is inline,
 * so nothing here can carry a probe. With KCSAN, pagefault_disable() is not inline, but by
 * then the point is shown, and a hit there is missed.
 */
#include <linux/array_size.h>
#include <linux/bits.h>
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/uaccess.h>

#include <asm/insn.h>
#include <asm/processor-flags.h>
#include <asm/ptrace.h>
#include <asm/smap.h>
#include <asm/text-patching.h>

#include "common.h"

#define ARITH_FLAGS	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |	\
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF)

static __always_inline unsigned long emulate_reg(struct pt_regs *regs, unsigned int off)
{
	return *(unsigned long *)((u8 *)regs + off);
}

/*
 * Write an operand: 32 bits clear the upper half of the register, fewer bits leave
 * the rest of it unchanged (SDM Vol. 1, 3.4.1.1).
 */
static __always_inline void emulate_set_operand(struct pt_regs *regs, unsigned int off,
						unsigned int size, unsigned long val)
{
	void *reg = (u8 *)regs + off;

	switch (size) {
	case 1:
		*(u8 *)reg = val;
		break;
	case 2:
		*(u16 *)reg = val;
		break;
	case 4:
		*(unsigned long *)reg = (u32)val;
		break;
	default:
		*(unsigned long *)reg = val;
	}
}

static __always_inline unsigned long emulate_operand_address(struct kprobe *p,
							     struct pt_regs *regs)
{
	const struct arch_specific_insn *a = &p->ainsn;
	unsigned long addr = a->imm;

	if (a->base == X86_BASE_IP)
		addr += (unsigned long)p->addr + a->len;
	else if (a->base != X86_NO_REG)
		addr += emulate_reg(regs, a->base);
	if (a->index != X86_NO_REG)
		addr += emulate_reg(regs, a->index) << a->scale;
	return addr;
}

/* LOOP and JCXZ change no flag. */
static __always_inline bool emulate_loop_taken(const struct arch_specific_insn *a,
					       struct pt_regs *regs)
{
	unsigned long mask = a->size == 2 ? 0xffff : a->size == 4 ? 0xffffffff : ~0ul;
	unsigned long count = regs->cx & mask;

	if (a->op == 0xe3)
		return !count;

	count = (count - 1) & mask;
	if (a->size == 2)
		*(u16 *)&regs->cx = count;
	else
		regs->cx = count;

	switch (a->op) {
	case 0xe0:
		return count && !(regs->flags & X86_EFLAGS_ZF);
	case 0xe1:
		return count && (regs->flags & X86_EFLAGS_ZF);
	}
	return count;
}

/*
 * The CPU executes the operation itself, to compute the flags. Carry is the only
 * flag that any of these operations reads.
 */
#define ALU_DO(insn, type)						\
	do {								\
		type __d = *(type *)dst, __s = src;			\
									\
		asm ("bt $0, %[in]\n\t"					\
		     insn " %[s], %[d]\n\t"				\
		     "pushf\n\tpop %[out]"				\
		     : [d] "+q" (__d), [out] "=r" (out)			\
		     : [s] "q" (__s), [in] "r" (regs->flags)		\
		     : "cc");						\
		res = __d;						\
	} while (0)

#define ALU_CASES(type)							\
	do {								\
		switch (a->op) {					\
		case X86_ADD:						\
			ALU_DO("add", type);				\
			break;						\
		case X86_OR:						\
			ALU_DO("or", type);				\
			break;						\
		case X86_ADC:						\
			ALU_DO("adc", type);				\
			break;						\
		case X86_SBB:						\
			ALU_DO("sbb", type);				\
			break;						\
		case X86_AND:						\
			ALU_DO("and", type);				\
			break;						\
		case X86_SUB:						\
			ALU_DO("sub", type);				\
			break;						\
		case X86_XOR:						\
			ALU_DO("xor", type);				\
			break;						\
		case X86_CMP:						\
			ALU_DO("cmp", type);				\
			break;						\
		default:						\
			ALU_DO("test", type);				\
		}							\
	} while (0)

static __always_inline void emulate_alu_op(const struct arch_specific_insn *a,
					   struct pt_regs *regs, unsigned long src)
{
	void *dst = (u8 *)regs + a->dst;
	unsigned long out, res;

	switch (a->size) {
	case 1:
		ALU_CASES(u8);
		break;
	case 2:
		ALU_CASES(u16);
		break;
#ifdef CONFIG_X86_64
	case 8:
		ALU_CASES(u64);
		break;
#endif
	default:
		ALU_CASES(u32);
	}

	if (a->op != X86_CMP && a->op != X86_TEST)
		emulate_set_operand(regs, a->dst, a->size, res);
	regs->flags = (regs->flags & ~ARITH_FLAGS) | (out & ARITH_FLAGS);
}

/*
 * pgtable_l5_enabled() would do, but until alternatives are applied, and forever in the
 * vmlinux file, it branches to init text.
 */
#define EMULATE_LA57	(IS_ENABLED(CONFIG_X86_5LEVEL) && boot_cpu_has(X86_FEATURE_LA57))

static __always_inline bool emulate_canonical(unsigned long addr)
{
#ifdef CONFIG_X86_64
	return likely(addr + BIT(47) < BIT(48)) || (EMULATE_LA57 && addr + BIT(56) < BIT(57));
#else
	return true;
#endif
}

/* Can kernel memory be there? On 64 bits, non-canonical addresses are excluded, too. */
static __always_inline bool emulate_in_kernel_half(unsigned long addr)
{
#ifdef CONFIG_X86_64
	return likely(addr >= -1ul << 47) || (EMULATE_LA57 && addr >= -1ul << 56);
#else
	return addr >= TASK_SIZE_MAX;
#endif
}

/*
 * Read an operand where kernel memory cannot be. Most likely it is a member of a structure
 * at NULL. A fix-up does not help there: with SMAP, reading user memory while AC is clear
 * is an oops all the same. So leave the fault to the instruction. With AC set, or without
 * SMAP, the instruction may be able to read the operand, so this function must be able to.
 * An address that is not canonical always faults.
 */
static __always_inline bool emulate_read_user(struct pt_regs *regs, unsigned long addr,
					      unsigned long *val)
{
	if (addr >= TASK_SIZE_MAX)
		return false;
	/* Not static_cpu_has(): its code is in init text. */
	if (boot_cpu_has(X86_FEATURE_SMAP) && !(regs->flags & X86_EFLAGS_AC))
		return false;
	pagefault_disable();
	stac();
	__get_kernel_nofault(val, (void *)addr, unsigned long, fault);
	clac();
	pagefault_enable();
	return true;
fault:
	clac();
	pagefault_enable();
	return false;
}

/* The target of an indirect branch. False if the branch would fault. */
static __always_inline bool emulate_branch_target(struct kprobe *p, struct pt_regs *regs,
						  unsigned long *target)
{
	unsigned long addr;

	if (p->ainsn.src != X86_NO_REG) {
		*target = emulate_reg(regs, p->ainsn.src);
	} else {
		addr = emulate_operand_address(p, regs);
		if (likely(emulate_in_kernel_half(addr)))
			__get_kernel_nofault(target, (void *)addr, unsigned long, fault);
		else if (!emulate_read_user(regs, addr, target))
			return false;
	}
	return emulate_canonical(*target);
fault:
	return false;
}

/*
 * If @kind is constant, the compiler drops all other cases. False if the instruction
 * was not executed, because it is not emulated or would fault; then only @regs->ip
 * is undefined.
 */
static __always_inline bool emulate_insn(struct kprobe *p, struct pt_regs *regs,
					 unsigned int kind)
{
	const struct arch_specific_insn *a = &p->ainsn;
	unsigned long next = (unsigned long)p->addr + a->len;
	unsigned long target;

	switch (kind) {
	case X86_NOP:
		break;

	case X86_JMP:
		next += a->imm;
		break;
	case X86_CALL:
		int3_emulate_push(regs, next);
		next += a->imm;
		break;
	case X86_JCC:
		int3_emulate_jcc(regs, a->op, next, a->imm);
		next = regs->ip;
		break;
	case X86_LOOP:
		if (emulate_loop_taken(a, regs))
			next += a->imm;
		break;
	case X86_RET:
		/* As with a real fault, the address stays on the stack. */
		target = *(unsigned long *)regs->sp;
		if (!emulate_canonical(target))
			return false;
		regs->sp += sizeof(long) + a->imm;
		next = target;
		break;
	case X86_JMP_IND:
		if (!emulate_branch_target(p, regs, &target))
			return false;
		next = target;
		break;
	case X86_CALL_IND:
		/* The operand is read before the push. */
		if (!emulate_branch_target(p, regs, &target))
			return false;
		int3_emulate_push(regs, next);
		next = target;
		break;

	case X86_PUSH_REG:
		int3_emulate_push(regs, emulate_reg(regs, a->src));
		break;
	case X86_PUSH_IMM:
		int3_emulate_push(regs, a->imm);
		break;
	case X86_POP_REG:
		/* POP SP: the popped value replaces the incremented one. */
		target = int3_emulate_pop(regs);
		emulate_set_operand(regs, a->dst, sizeof(long), target);
		break;
	case X86_MOV_REG:
		emulate_set_operand(regs, a->dst, a->size, emulate_reg(regs, a->src));
		break;
	case X86_MOV_IMM:
		emulate_set_operand(regs, a->dst, a->size, a->imm);
		break;
	case X86_LEA:
		emulate_set_operand(regs, a->dst, a->size, emulate_operand_address(p, regs));
		break;
	case X86_ALU_REG:
		emulate_alu_op(a, regs, emulate_reg(regs, a->src));
		break;
	case X86_ALU_IMM:
		emulate_alu_op(a, regs, a->imm);
		break;

	default:
		return false;
	}
	regs->ip = next;
	return true;
}

/**
 * x86_emulate - execute the instruction at a point
 * @p:	  the point
 * @regs: registers before the instruction; on return, those after it
 *
 * Context: in the exception of the breakpoint at @p, or in its detour. Both leave
 * room for a push below the stack of @regs.
 * Return: false if it was not executed, because it is not emulated or would fault;
 * only @regs->ip is undefined then.
 */
bool __kprobe_hit x86_emulate(struct kprobe *p, struct pt_regs *regs)
{
	return emulate_insn(p, regs, p->ainsn.kind);
}

/**
 * x86_is_canonical - test if a branch may go to an address
 * @addr: the address
 *
 * Context: any.
 * Return: false if the branch itself faults. On 32 bits none does.
 */
bool __kprobe_hit x86_is_canonical(unsigned long addr)
{
	return emulate_canonical(addr);
}

#ifdef CONFIG_OPTPROBES
/* For detours, which are made for one kind and need not test for it. */
#define EMULATE_ONLY(kind)						\
static bool __kprobe_hit emulate_##kind(struct kprobe *p, struct pt_regs *regs) \
{									\
	return emulate_insn(p, regs, kind);					\
}

EMULATE_ONLY(X86_NOP)
EMULATE_ONLY(X86_JMP)
EMULATE_ONLY(X86_JCC)
EMULATE_ONLY(X86_PUSH_REG)
EMULATE_ONLY(X86_PUSH_IMM)
EMULATE_ONLY(X86_POP_REG)
EMULATE_ONLY(X86_MOV_REG)
EMULATE_ONLY(X86_MOV_IMM)
EMULATE_ONLY(X86_LEA)

static const x86_emulator_t emulator[] = {
	[X86_NOP] = emulate_X86_NOP,
	[X86_JMP] = emulate_X86_JMP,
	[X86_JCC] = emulate_X86_JCC,
	[X86_PUSH_REG] = emulate_X86_PUSH_REG,
	[X86_PUSH_IMM] = emulate_X86_PUSH_IMM,
	[X86_POP_REG] = emulate_X86_POP_REG,
	[X86_MOV_REG] = emulate_X86_MOV_REG,
	[X86_MOV_IMM] = emulate_X86_MOV_IMM,
	[X86_LEA] = emulate_X86_LEA,
};

/**
 * x86_emulator - choose the function that emulates instructions of one kind
 * @kind: enum x86_insn_kind
 *
 * Context: any.
 * Return: x86_emulate(), or a faster function that does the same for @kind only.
 */
x86_emulator_t x86_emulator(unsigned int kind)
{
	if (kind < ARRAY_SIZE(emulator) && emulator[kind])
		return emulator[kind];
	return x86_emulate;
}
#endif
