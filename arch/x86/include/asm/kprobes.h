/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes on x86: what the manager and the exception entries need to know.
 */
#ifndef _ASM_X86_KPROBES_H
#define _ASM_X86_KPROBES_H

#include <asm-generic/kprobes.h>

#ifdef CONFIG_KPROBES

#include <linux/types.h>

struct kprobe;
struct pt_regs;
struct x86_detour;

typedef u8 kprobe_opcode_t;

/* The sizes of a slot for a detour, and of the jump that leads there, in bytes. */
#define __ARCH_KPROBE_DETOUR_SIZE	512
#define __ARCH_KPROBE_JUMP_SIZE		5

/* How far past the point the instruction pointer is in a pre-handler. */
#define __ARCH_KPROBE_IP_AFTER	1

/*
 * The stack pointer at an ftrace site, whatever handlers have done to regs->sp: the return
 * address of our trampoline follows the registers that it has saved.
 */
#define __ARCH_KPROBE_FTRACE_SP(regs)	((unsigned long)((regs) + 1) + sizeof(long))

/* The trampoline begins with a call, whose return address means the trampoline. */
#define __ARCH_KRETPROBE_CALL	(5 + 1)

#define __ARCH_WANT_KPROBES_INSN_SLOT

/* The size of a slot, which holds a struct x86_copy (arch/x86/kernel/kprobes/common.h). */
#define __ARCH_KPROBE_SLOT_SIZE	32

/**
 * struct arch_specific_insn - what a hit needs to know of an instruction
 * @copy:  where a breakpoint hit continues; NULL if there is no detour, and the
 *	   instruction is always emulated because of its @kind
 * @slot:  runs the instruction and jumps to the next one in place; @copy is this,
 *	   unless there is a detour
 * @detour: set while there is a detour
 * @step:  runs the instruction and traps, made when a post-handler needs it; or
 *	   faults in place of an emulated instruction that would fault
 * @imm:   branch displacement, immediate, or displacement of a memory operand
 * @kind:  how it is executed, enum x86_insn_kind
 * @len:   its length in bytes
 * @op:    condition, ALU operation or other detail, by @kind
 * @size:  operand size in bytes
 * @dst:   offset in pt_regs of the register operand written
 * @src:   offset in pt_regs of the register operand read, or X86_NO_REG
 * @base:  offset in pt_regs of the base of a memory operand, or X86_NO_REG
 * @index: offset in pt_regs of its index, or X86_NO_REG
 * @scale: shift count of the index
 */
struct arch_specific_insn {
	kprobe_opcode_t *copy;
	kprobe_opcode_t *slot;
	kprobe_opcode_t *step;
#ifdef CONFIG_OPTPROBES
	struct x86_detour *detour;
#endif
	s32 imm;
	u8 kind;
	u8 len;
	u8 op;
	u8 size;
	u8 dst;
	u8 src;
	u8 base;
	u8 index;
	u8 scale;
};

#define X86_NO_REG	0xff

extern const int kretprobe_blacklist_size;

/**
 * enum kprobe_unwind - what an unwinder finds in generated code
 * @KPROBE_UNWIND_UNKNOWN: nothing that it can use, or the code is not ours
 * @KPROBE_UNWIND_REGS:	   struct pt_regs on top of the stack
 * @KPROBE_UNWIND_SAME:	   the same stack as at another address
 * @KPROBE_UNWIND_CALL:	   a return address on top of the stack
 */
enum kprobe_unwind {
	KPROBE_UNWIND_UNKNOWN,
	KPROBE_UNWIND_REGS,
	KPROBE_UNWIND_SAME,
	KPROBE_UNWIND_CALL,
};

enum kprobe_unwind kprobe_unwind(unsigned long ip, unsigned long *same);
bool kprobe_leave_copy(struct pt_regs *regs);
unsigned long kprobe_original_ip(unsigned long ip);
void kprobe_text(u8 *buf, unsigned long addr, unsigned int len);
bool kprobe_has_text(unsigned long addr);
void arch_remove_kprobe(struct kprobe *p);
int kprobe_int3_handler(struct pt_regs *regs);
int kprobe_fault_handler(struct pt_regs *regs, int trapnr);

#else /* !CONFIG_KPROBES */

#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>

struct pt_regs;

static inline int kprobe_int3_handler(struct pt_regs *regs) { return 0; }
static inline bool kprobe_leave_copy(struct pt_regs *regs) { return false; }

static inline unsigned long kprobe_original_ip(unsigned long ip)
{
	return ip;
}

static inline void kprobe_text(u8 *buf, unsigned long addr, unsigned int len)
{
	if (copy_from_kernel_nofault(buf, (void *)addr, len))
		memset(buf, 0, len);
}

static inline bool kprobe_has_text(unsigned long addr) { return false; }

#endif /* CONFIG_KPROBES */

#endif /* _ASM_X86_KPROBES_H */
