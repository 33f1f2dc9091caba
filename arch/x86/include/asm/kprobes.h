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

typedef u8 kprobe_opcode_t;

/* Hits nest by context, see struct kprobe_cpu. */
#define __ARCH_KPROBES_NEST

/* Points are armed and disarmed many at a time. */
#define __ARCH_KPROBES_BATCH

#define __ARCH_WANT_KPROBES_INSN_SLOT

/* The size of a slot: what struct x86_copy takes, see arch/x86/kernel/kprobes/common.h. */
#define __ARCH_KPROBE_SLOT_SIZE	32

/**
 * struct arch_specific_insn - what a hit needs to know of an instruction
 * @copy:  runs the instruction and jumps back behind the probe point; NULL if
 *	   @kind says that it is emulated in every case
 * @step:  runs the instruction and traps; made when a post-handler needs it, or
 *	   if emulating it may fault, to fault in its stead
 * @imm:   branch displacement, immediate, or displacement of a memory operand
 * @kind:  how it is executed, enum x86_insn_kind
 * @len:   its length in bytes
 * @op:    condition, ALU operation or other detail, by @kind
 * @size:  operand size in bytes
 * @dst:   offset in pt_regs of the register operand written
 * @src:   offset in pt_regs of the register operand read, or X86_NO_REG
 * @base:  the same for the base of a memory operand
 * @index: the same for its index
 * @scale: shift count of the index
 */
struct arch_specific_insn {
	kprobe_opcode_t *copy;
	kprobe_opcode_t *step;
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

void arch_remove_kprobe(struct kprobe *p);
int kprobe_int3_handler(struct pt_regs *regs);
int kprobe_fault_handler(struct pt_regs *regs, int trapnr);

#else /* !CONFIG_KPROBES */

struct pt_regs;

static inline int kprobe_int3_handler(struct pt_regs *regs) { return 0; }

#endif /* CONFIG_KPROBES */

#endif /* _ASM_X86_KPROBES_H */
