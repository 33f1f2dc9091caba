/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes on x86: what the files of this directory share.
 *
 *	core.c	 what kernel/kprobes/ calls: preparing, arming, what is refused
 *	text.c	 the text without probes, and where its instructions begin
 *	orc.c	 instructions that the unwinder's table knows
 *	insn.c	 what an instruction is: may it be probed, where can it run
 *	emulate.c executing an instruction on saved registers
 *	int3.c	 breakpoint hits
 *	reach.c	 may the bytes after a point become part of a jump?
 *	detour.c jump hits
 *	generate.c the code of detours
 *	ftrace.c hits through ftrace
 *	jprobe.c, jprobe_call.S calling the handler of a jprobe
 *	entry_*.S assembly between probed code and handlers, for returns as well
 *	testing.S functions that the KUnit suites probe
 *
 * rethook's trampoline uses the two register macros.
 */
#ifndef _ARCH_X86_KPROBES_COMMON_H
#define _ARCH_X86_KPROBES_COMMON_H

#include <linux/build_bug.h>
#include <asm/asm.h>
#include <asm/frame.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

/*
 * The first macro completes a struct pt_regs on the stack, on top of ss, sp and
 * flags. C code fills in cs, ip and orig_ax. The second macro pops everything
 * down to the flags.
 */
#ifdef CONFIG_X86_64
#define SAVE_REGS_STRING						\
	"	sub  $24, %rsp\n"					\
	"	push %rdi; push %rsi; push %rdx; push %rcx; push %rax\n"	\
	"	push %r8;  push %r9;  push %r10; push %r11\n"		\
	"	push %rbx; push %rbp\n"					\
	"	push %r12; push %r13; push %r14; push %r15\n"		\
	ENCODE_FRAME_POINTER
#define RESTORE_REGS_STRING						\
	"	pop  %r15; pop  %r14; pop  %r13; pop  %r12\n"		\
	"	pop  %rbp; pop  %rbx\n"					\
	"	pop  %r11; pop  %r10; pop  %r9;  pop  %r8\n"		\
	"	pop  %rax; pop  %rcx; pop  %rdx; pop  %rsi; pop  %rdi\n"	\
	"	add  $24, %rsp\n"
#else
#define SAVE_REGS_STRING						\
	"	sub  $12, %esp\n"					\
	"	push %gs;  push %fs;  push %es;  push %ds\n"		\
	"	push %eax; push %ebp; push %edi; push %esi\n"		\
	"	push %edx; push %ecx; push %ebx\n"			\
	ENCODE_FRAME_POINTER
#define RESTORE_REGS_STRING						\
	"	pop  %ebx; pop  %ecx; pop  %edx\n"			\
	"	pop  %esi; pop  %edi; pop  %ebp; pop  %eax\n"		\
	"	add  $28, %esp\n"
#endif

#ifdef CONFIG_KPROBES

struct kprobe;
struct pt_regs;

/**
 * enum x86_insn_kind - how a displaced instruction is executed
 * @X86_COPY:	  out of line, as it is
 * @X86_NOP:	  not at all
 * @X86_JMP:	  this and the following are emulated, except in a detour: they depend
 *		  on their address, store it, or never reach the end of a copy
 * @X86_CALL:	  with @imm relative to the next instruction
 * @X86_JCC:	  @op being the condition
 * @X86_LOOP:	  @op the opcode, @size that of the counter
 * @X86_RET:	  @imm bytes of arguments to drop
 * @X86_JMP_IND:  through a register or memory operand
 * @X86_CALL_IND: likewise
 * @X86_PUSH_REG: this and the following run out of line, but are emulated if there
 *		  is a post-handler: that saves the second trap
 * @X86_PUSH_IMM: of @imm
 * @X86_POP_REG:  to @dst
 * @X86_MOV_REG:  from @src to @dst, of @size
 * @X86_MOV_IMM:  of @imm
 * @X86_LEA:	  of @base, @index, @scale, @imm
 * @X86_ALU_REG:  @op on registers, of @size; see x86_alu_op
 * @X86_ALU_IMM:  @op with @imm
 */
enum x86_insn_kind {
	X86_COPY,
	X86_NOP,
	X86_JMP,
	X86_CALL,
	X86_JCC,
	X86_LOOP,
	X86_RET,
	X86_JMP_IND,
	X86_CALL_IND,
	X86_PUSH_REG,
	X86_PUSH_IMM,
	X86_POP_REG,
	X86_MOV_REG,
	X86_MOV_IMM,
	X86_LEA,
	X86_ALU_REG,
	X86_ALU_IMM,
};

/* Executed without a copy, whatever handlers there are, unless there is a detour. */
static __always_inline bool x86_always_emulated(unsigned int kind)
{
	return kind >= X86_NOP && kind <= X86_CALL_IND;
}

/* The encoding of the opcodes 00-3f and 80-83 (SDM Vol. 2, A.3), and TEST. */
enum x86_alu_op {
	X86_ADD, X86_OR, X86_ADC, X86_SBB, X86_AND, X86_SUB, X86_XOR, X86_CMP,
	X86_TEST,
};

/* In arch_specific_insn::base: the address of the next instruction. */
#define X86_BASE_IP	0xfe

/**
 * struct x86_copy - an out-of-line copy, as stored in its slot
 * @text: the instruction, its operands adjusted; after it either a jump to
 *	  the next instruction or, if a post-handler is to run, a breakpoint
 * @len:  length of the instruction in bytes
 * @again: the original is an indirect branch, and the copy pushes its operand;
 *	  the breakpoint after the copy undoes that and goes back to @addr, or on to
 *	  X86_COPY_FAULT
 * @addr: where the original is
 *
 * Fault and breakpoint handlers find the original through this, without a
 * lock: it is constant while anything can execute in the slot.
 */
struct x86_copy {
	u8 text[MAX_INSN_SIZE + 7];
	u8 len;
	u8 again;
	void *addr;
} __packed;

static_assert(sizeof(struct x86_copy) <= __ARCH_KPROBE_SLOT_SIZE);

/*
 * A branch to an address that is not canonical faults itself (SDM Vol. 2, CALL, JMP, RET).
 * If it were emulated, the return from the exception would fault instead, in the middle of
 * the entry code. So emulation leaves such a branch to this instruction, which always
 * faults in the same way, and then stands for the branch:
 *
 *	movabs 0x8000000000000000, %al
 *
 * For a return or a branch through a register, the copy is this instruction and nothing
 * else. A copy that pushes the operand has it after two breakpoints: the address after the
 * first one belongs to the trap.
 */
#define X86_FAULT_TEXT	{ 0xa0, 0, 0, 0, 0, 0, 0, 0, 0x80 }
#define X86_FAULT_SIZE	9
#define X86_COPY_FAULT	(2 * INT3_INSN_SIZE)

/* Is @ip at an instruction that stands for the original, and has not been executed yet? */
static __always_inline bool x86_copy_is_before(const struct x86_copy *copy, unsigned long ip)
{
	unsigned long end = (unsigned long)copy->text + copy->len;

	return ip < end || (copy->again && ip == end + X86_COPY_FAULT);
}

/**
 * struct x86_text - text as it is without probes, read ahead
 * @addr: of its first byte, or 0
 * @buf:  the text; probes are undone up to the instruction that was read last
 */
struct x86_text {
	unsigned long addr;
	u8 buf[128];
};

/* text.c */
int x86_insn_read(struct insn *insn, u8 *buf, unsigned long addr);
int x86_text_insn(struct x86_text *t, struct insn *insn, unsigned long addr);
void x86_text_batch(void);
void x86_text_prepare(unsigned long addr);
bool x86_text_debugged(u8 byte, unsigned long addr);
int x86_boundary_check(unsigned long addr);
bool x86_is_padding(struct insn *insn, bool last);
bool x86_is_nameless_padding(unsigned long addr);

/* orc.c */
#ifdef CONFIG_UNWINDER_ORC
void x86_orc_init(void);
unsigned long x86_orc_start(unsigned long start, unsigned long addr);
#else
static inline void x86_orc_init(void) { }

static inline unsigned long x86_orc_start(unsigned long start, unsigned long addr)
{
	return start;
}
#endif

/* insn.c */
int x86_insn_classify(struct arch_specific_insn *a, struct insn *insn, const u8 *buf);
int x86_insn_prepare(struct kprobe *p);
void x86_insn_forget(struct kprobe *p);
int x86_insn_prepare_step(struct kprobe *p);
void x86_insn_batch(void);

/* emulate.c */
typedef bool (*x86_emulator_t)(struct kprobe *p, struct pt_regs *regs);

bool x86_emulate(struct kprobe *p, struct pt_regs *regs);
bool x86_is_canonical(unsigned long addr);
x86_emulator_t x86_emulator(unsigned int kind);

/* core.c */
const struct x86_copy *x86_copy_at(unsigned long addr);

/* A free slot is full of breakpoints. No hit gets there: this is for stray execution only. */
static __always_inline const struct x86_copy *x86_copy_in_use(unsigned long addr)
{
	const struct x86_copy *copy = x86_copy_at(addr);

	return copy && copy->len != INT3_INSN_OPCODE ? copy : NULL;
}

#ifdef CONFIG_SMP
bool x86_lock_prefix_within(unsigned long first, unsigned long last);
#else
static inline bool x86_lock_prefix_within(unsigned long first, unsigned long last)
{
	return false;
}
#endif

#endif /* CONFIG_KPROBES */

#endif /* _ARCH_X86_KPROBES_COMMON_H */
