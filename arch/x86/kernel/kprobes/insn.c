// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes on x86: what an instruction is.
 *
 * When a point is made, this decides whether the instruction may be displaced and
 * how it will be executed, and makes the copies for that. Nothing is decoded when
 * the probe is hit.
 *
 * Opcode numbers are those of the Intel SDM, Vol. 2, appendix A.
 */
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/perf_event.h>
#include <linux/string.h>

#include <asm/insn.h>
#include <asm/ptrace.h>
#include <asm/text-patching.h>

#include "common.h"

/*
 * The trampolines of the kernel image are refused as an area. Those of a module are
 * recognised by the UD1 after their five bytes, the signature that static_call() itself
 * checks. The five bytes are a jump or, as long as there is nothing to call, a return with
 * padding. @buf is the text of the instruction, and what follows it.
 */
static bool x86_is_static_call_trampoline(const u8 *buf, unsigned int len)
{
	static const u8 signature[] = { 0x0f, 0xb9, 0xcc };
	unsigned int i;

	for (i = len; i <= JMP32_INSN_SIZE; i++) {
		if (!memcmp(buf + i, signature, sizeof(signature)))
			return true;
	}
	return false;
}

/* --------------------------- Classification ----------------------------- */

/* The offset of general register @nr in pt_regs. */
static u8 x86_reg_offset(unsigned int nr)
{
#define OFF(r)	offsetof(struct pt_regs, r)
	static const u8 offsets[] = {
		OFF(ax), OFF(cx), OFF(dx), OFF(bx), OFF(sp), OFF(bp), OFF(si), OFF(di),
#ifdef CONFIG_X86_64
		OFF(r8), OFF(r9), OFF(r10), OFF(r11), OFF(r12), OFF(r13), OFF(r14), OFF(r15),
#endif
	};
#undef OFF
	return offsets[nr];
}

/* The bits that the REX prefix adds to register numbers. */
static unsigned int x86_rex(struct insn *insn)
{
	return insn->rex_prefix.nbytes ? insn->rex_prefix.bytes[0] : 0;
}

static unsigned int x86_modrm_reg(struct insn *insn)
{
	return X86_MODRM_REG(insn->modrm.value) + (X86_REX_R(x86_rex(insn)) ? 8 : 0);
}

static unsigned int x86_modrm_rm(struct insn *insn)
{
	return X86_MODRM_RM(insn->modrm.value) + (X86_REX_B(x86_rex(insn)) ? 8 : 0);
}

static bool x86_rm_is_reg(struct insn *insn)
{
	return X86_MODRM_MOD(insn->modrm.value) == 3;
}

/*
 * An 8-bit operand: without REX, 4 to 7 are the second bytes of the first four
 * registers (SDM Vol. 2, 2.2.1.2), one byte further in pt_regs.
 */
static u8 x86_operand_offset(struct insn *insn, unsigned int nr, unsigned int size)
{
	if (size == 1 && nr >= 4 && nr < 8 && !insn->rex_prefix.nbytes)
		return x86_reg_offset(nr - 4) + 1;
	return x86_reg_offset(nr);
}

static bool x86_has_prefix(struct insn *insn, u8 prefix)
{
	insn_byte_t b;
	int i;

	for_each_insn_prefix(insn, i, b) {
		if (b == prefix)
			return true;
	}
	return false;
}

/*
 * For stack operations and branches an operand size prefix means 16 bits in 32-bit
 * code. In 64-bit code CPUs disagree about branches.
 */
static bool x86_is_word(struct insn *insn)
{
	return x86_has_prefix(insn, 0x66);
}

static bool x86_has_segment_base(struct insn *insn)
{
	return x86_has_prefix(insn, 0x64) || x86_has_prefix(insn, 0x65);
}

/* Decode a memory operand. False if the emulation does not support it. */
static bool x86_take_memory_operand(struct arch_specific_insn *a, struct insn *insn)
{
	unsigned int mod = X86_MODRM_MOD(insn->modrm.value);
	unsigned int rm = X86_MODRM_RM(insn->modrm.value);

	if (x86_has_segment_base(insn) || insn->addr_bytes != sizeof(long))
		return false;

	a->imm = insn->displacement.value;
	a->base = X86_NO_REG;
	a->index = X86_NO_REG;

	if (rm == 4) {
		unsigned int index = X86_SIB_INDEX(insn->sib.value) +
				     (X86_REX_X(x86_rex(insn)) ? 8 : 0);
		unsigned int base = X86_SIB_BASE(insn->sib.value);

		if (index != 4) {
			a->index = x86_reg_offset(index);
			a->scale = X86_SIB_SCALE(insn->sib.value);
		}
		if (base != 5 || mod)
			a->base = x86_reg_offset(base + (X86_REX_B(x86_rex(insn)) ? 8 : 0));
	} else if (rm == 5 && !mod) {
		if (IS_ENABLED(CONFIG_X86_64))
			a->base = X86_BASE_IP;
	} else {
		a->base = x86_reg_offset(x86_modrm_rm(insn));
	}
	return true;
}

static int x86_take_target_operand(struct arch_specific_insn *a, struct insn *insn,
				   enum x86_insn_kind kind)
{
	if (x86_rm_is_reg(insn)) {
		a->src = x86_reg_offset(x86_modrm_rm(insn));
	} else {
		a->src = X86_NO_REG;
		if (!x86_take_memory_operand(a, insn))
			return -EILSEQ;
	}
	a->kind = kind;
	return 0;
}

static int x86_take_branch(struct arch_specific_insn *a, struct insn *insn,
			   enum x86_insn_kind kind, unsigned int op)
{
	if (x86_is_word(insn))
		return -EILSEQ;
	a->kind = kind;
	a->op = op;
	a->imm = insn->immediate.value;
	return 0;
}

static void x86_take_alu(struct arch_specific_insn *a, struct insn *insn, unsigned int op,
			 unsigned int dst, unsigned int src, unsigned int size)
{
	a->kind = X86_ALU_REG;
	a->op = op;
	a->size = size;
	a->dst = x86_operand_offset(insn, dst, size);
	a->src = x86_operand_offset(insn, src, size);
}

static void x86_take_alu_imm(struct arch_specific_insn *a, struct insn *insn,
			     unsigned int op, unsigned int dst, unsigned int size)
{
	a->kind = X86_ALU_IMM;
	a->op = op;
	a->size = size;
	a->dst = x86_operand_offset(insn, dst, size);
	a->imm = insn->immediate.value;
}

static int x86_classify_0f(struct arch_specific_insn *a, struct insn *insn, const u8 *buf)
{
	u8 op = insn->opcode.bytes[1];
	u32 head;

	switch (op) {
	case 0x0b:	/* UD2: a trap that the kernel expects at this address */
	case 0xb9:	/* UD1 */
	case 0xff:	/* UD0 */
		return -EINVAL;
	case 0x05:	/* SYSCALL */
	case 0x07:	/* SYSRET */
	case 0x34:	/* SYSENTER */
	case 0x35:	/* SYSEXIT */
	case 0xaa:	/* RSM */
	case 0xb2:	/* LSS: masks breakpoints on what follows */
		return -EILSEQ;
	case 0x01:
		switch (insn->modrm.value) {
		case 0xf8:
			/* SWAPGS: GS does not hold the kernel's base around it. */
			return -EILSEQ;
		case 0xc9:	/* MWAIT, MWAITX: see HLT */
		case 0xfb:
			return -EILSEQ;
		case 0xca:
			/* With a prefix it is ERETU or ERETS, which return as IRET does. */
			return insn_last_prefix_id(insn) ? -EILSEQ : 0;
		}
		return 0;
	case 0x1e:
		memcpy(&head, buf, sizeof(head));
		if ((head & ~0x01000000u) == 0xfa1e0ff3)	/* ENDBR */
			return -EILSEQ;
		return 0;
	case 0x1f:
		a->kind = X86_NOP;
		return 0;
	case 0x80 ... 0x8f:
		return x86_take_branch(a, insn, X86_JCC, op & 0xf);
	}
	return 0;
}

static int x86_classify_group5(struct arch_specific_insn *a, struct insn *insn)
{
	switch (X86_MODRM_REG(insn->modrm.value)) {
	case 2:
		if (x86_is_word(insn))
			return -EILSEQ;
		return x86_take_target_operand(a, insn, X86_CALL_IND);
	case 4:
		if (x86_is_word(insn))
			return -EILSEQ;
		return x86_take_target_operand(a, insn, X86_JMP_IND);
	case 3:		/* far CALL */
	case 5:		/* far JMP */
		return -EILSEQ;
	}
	return 0;
}

/* Does the CPU sleep there until an interrupt arrives? */
static bool x86_halts(const u8 *text)
{
	return text[0] == 0xf4 ||					/* HLT */
	       (text[0] == 0x0f && text[1] == 0x01 &&
		(text[2] == 0xc9 || text[2] == 0xfb));			/* MWAIT, MWAITX */
}

/*
 * The decoder takes opcodes that it does not know for instructions without operands. So
 * if it finds no ModRM, trust it only for opcodes that are known to have none (SDM
 * Vol. 2, A.3). Among the others are conditional moves with a superfluous prefix. It also
 * trusts the ModRM of MOV CR and DR, whose operand is always a register.
 */
static bool x86_is_known(struct insn *insn)
{
	if (insn_is_avx(insn) || insn->opcode.bytes[0] != 0x0f)
		return true;
	switch (insn->opcode.bytes[1]) {
	case 0x20 ... 0x23:
		return x86_rm_is_reg(insn);
	case 0x05 ... 0x09: case 0x0b: case 0x0e: case 0x30 ... 0x37: case 0x77:
	case 0x80 ... 0x8f: case 0xa0 ... 0xa2: case 0xa8 ... 0xaa: case 0xc8 ... 0xcf:
		return true;
	}
	return insn->modrm.nbytes;
}

static int x86_classify(struct arch_specific_insn *a, struct insn *insn, const u8 *buf)
{
	u8 op = insn->opcode.bytes[0];
	unsigned int size = op & 1 ? insn->opnd_bytes : 1;

	a->kind = X86_COPY;
	a->src = X86_NO_REG;

	/*
	 * pt_regs lacks the registers of APX, which has branches of its own, too (JMPABS). The
	 * kernel is built without it.
	 */
	if (insn_is_rex2(insn))
		return -EILSEQ;
	if (insn_is_avx(insn))
		return 0;

	switch (op) {
	case 0x0f:
		if (insn->opcode.nbytes > 2)
			return 0;
		return x86_classify_0f(a, insn, buf);

	/* ADD and the like, on registers */
	case 0x00: case 0x01: case 0x08: case 0x09: case 0x10: case 0x11:
	case 0x18: case 0x19: case 0x20: case 0x21: case 0x28: case 0x29:
	case 0x30: case 0x31: case 0x38: case 0x39:
		if (x86_rm_is_reg(insn))
			x86_take_alu(a, insn, op >> 3, x86_modrm_rm(insn),
				     x86_modrm_reg(insn), size);
		return 0;
	case 0x02: case 0x03: case 0x0a: case 0x0b: case 0x12: case 0x13:
	case 0x1a: case 0x1b: case 0x22: case 0x23: case 0x2a: case 0x2b:
	case 0x32: case 0x33: case 0x3a: case 0x3b:
		if (x86_rm_is_reg(insn))
			x86_take_alu(a, insn, op >> 3, x86_modrm_reg(insn),
				     x86_modrm_rm(insn), size);
		return 0;
	case 0x04: case 0x05: case 0x0c: case 0x0d: case 0x14: case 0x15:
	case 0x1c: case 0x1d: case 0x24: case 0x25: case 0x2c: case 0x2d:
	case 0x34: case 0x35: case 0x3c: case 0x3d:
		x86_take_alu_imm(a, insn, op >> 3, 0, size);
		return 0;
	case 0x80: case 0x81: case 0x83:
		if (x86_rm_is_reg(insn))
			x86_take_alu_imm(a, insn, X86_MODRM_REG(insn->modrm.value),
					 x86_modrm_rm(insn), size);
		return 0;
	case 0x84: case 0x85:	/* TEST */
		if (x86_rm_is_reg(insn))
			x86_take_alu(a, insn, X86_TEST, x86_modrm_rm(insn),
				     x86_modrm_reg(insn), size);
		return 0;
	case 0xa8: case 0xa9:
		x86_take_alu_imm(a, insn, X86_TEST, 0, size);
		return 0;
	case 0xf6: case 0xf7:
		if (x86_rm_is_reg(insn) && X86_MODRM_REG(insn->modrm.value) < 2)
			x86_take_alu_imm(a, insn, X86_TEST, x86_modrm_rm(insn), size);
		return 0;

	case 0x50 ... 0x57:	/* PUSH */
		if (x86_is_word(insn))
			return 0;
		a->kind = X86_PUSH_REG;
		a->src = x86_reg_offset((op & 7) + (X86_REX_B(x86_rex(insn)) ? 8 : 0));
		return 0;
	case 0x58 ... 0x5f:	/* POP */
		if (x86_is_word(insn))
			return 0;
		a->kind = X86_POP_REG;
		a->dst = x86_reg_offset((op & 7) + (X86_REX_B(x86_rex(insn)) ? 8 : 0));
		return 0;
	case 0x68: case 0x6a:
		if (x86_is_word(insn))
			return 0;
		a->kind = X86_PUSH_IMM;
		a->imm = insn->immediate.value;
		return 0;

	case 0x70 ... 0x7f:
		return x86_take_branch(a, insn, X86_JCC, op & 0xf);

	case 0x88: case 0x89: case 0x8a: case 0x8b:	/* MOV */
		if (x86_rm_is_reg(insn)) {
			unsigned int to = op & 2 ? x86_modrm_reg(insn) : x86_modrm_rm(insn);
			unsigned int from = op & 2 ? x86_modrm_rm(insn) : x86_modrm_reg(insn);

			a->kind = X86_MOV_REG;
			a->size = size;
			a->dst = x86_operand_offset(insn, to, size);
			a->src = x86_operand_offset(insn, from, size);
		}
		return 0;
	case 0x8e:		/* MOV to a segment register */
		if (X86_MODRM_REG(insn->modrm.value) == 2)
			return -EILSEQ;	/* SS: masks breakpoints on what follows */
		return 0;
	case 0x17:		/* POP SS, in 32-bit code */
		return -EILSEQ;
	case 0xb0 ... 0xbf:
		if (insn->immediate2.nbytes || insn->immediate.nbytes == 8)
			return 0;
		if (IS_ENABLED(CONFIG_X86_64) && op >= 0xb8 && X86_REX_W(x86_rex(insn)))
			return 0;	/* 64 bits of immediate: not emulated */
		a->kind = X86_MOV_IMM;
		a->size = op & 8 ? insn->opnd_bytes : 1;
		a->dst = x86_operand_offset(insn, (op & 7) + (X86_REX_B(x86_rex(insn)) ? 8 : 0),
					    a->size);
		a->imm = insn->immediate.value;
		return 0;
	case 0xc6: case 0xc7:
		if (X86_MODRM_REG(insn->modrm.value))
			return -EILSEQ;	/* XABORT, XBEGIN; others are undefined */
		if (x86_rm_is_reg(insn)) {
			a->kind = X86_MOV_IMM;
			a->size = size;
			a->dst = x86_operand_offset(insn, x86_modrm_rm(insn), size);
			a->imm = insn->immediate.value;
		}
		return 0;
	case 0x8d:		/* LEA */
		if (insn->opnd_bytes >= 4 && !x86_rm_is_reg(insn)) {
			struct arch_specific_insn m = *a;

			if (x86_take_memory_operand(&m, insn)) {
				*a = m;
				a->kind = X86_LEA;
				a->size = insn->opnd_bytes;
				a->dst = x86_reg_offset(x86_modrm_reg(insn));
			}
		}
		return 0;

	case 0x8f:		/* POP; others are the first byte of AMD's XOP */
		return X86_MODRM_REG(insn->modrm.value) ? -EILSEQ : 0;
	case 0x90:
		/* 41 90 exchanges R8 and RAX; f3 90 is PAUSE, as good as a NOP. */
		if (!X86_REX_B(x86_rex(insn)))
			a->kind = X86_NOP;
		return 0;

	case 0xc2:		/* RET, dropping arguments */
	case 0xc3:
		if (x86_is_word(insn))
			return -EILSEQ;
		a->kind = X86_RET;
		a->imm = op == 0xc2 ? (u16)insn->immediate.value : 0;
		return 0;
	case 0xe0 ... 0xe3:	/* LOOPNE, LOOPE, LOOP, JCXZ */
		a->size = insn->addr_bytes;
		return x86_take_branch(a, insn, X86_LOOP, op);
	case 0xe8:
		return x86_take_branch(a, insn, X86_CALL, 0);
	case 0xe9: case 0xeb:
		return x86_take_branch(a, insn, X86_JMP, 0);
	case 0xff:
		return x86_classify_group5(a, insn);

	case 0xcc:		/* INT3, of a debugger */
		return -EINVAL;
	case 0x9a: case 0xea:	/* far CALL and JMP, in 32-bit code */
	case 0xca: case 0xcb:	/* far RET */
	case 0xcd: case 0xce:	/* INT, INTO */
	case 0xcf:		/* IRET */
	case 0xf1:		/* INT1 */
		return -EILSEQ;
	case 0xf4:		/* HLT: no interrupt may arrive right before it */
		return -EILSEQ;
	case 0xfb:
		/* STI: the same, if one of those follows */
		if (insn->length + 2 <= MAX_INSN_SIZE && x86_halts(buf + insn->length))
			return -EILSEQ;
		return 0;
	}
	return 0;
}

/* Would its emulation change the stack pointer by more than a push or pop? */
static bool x86_moves_stack(const struct arch_specific_insn *a)
{
	switch (a->kind) {
	case X86_ALU_REG:
	case X86_ALU_IMM:
		if (a->op == X86_CMP || a->op == X86_TEST)
			return false;
		fallthrough;
	case X86_POP_REG:
	case X86_MOV_REG:
	case X86_MOV_IMM:
	case X86_LEA:
		return a->dst == offsetof(struct pt_regs, sp);
	}
	return false;
}

/**
 * x86_insn_classify - find out how an instruction can be executed elsewhere
 * @a:	  the result, except for its copies
 * @insn: the instruction
 * @buf:  its text, and three bytes more
 *
 * Instructions for which x86_classify() sets no other kind run from a copy (X86_COPY). That
 * is right for those that neither depend on their address nor store it somewhere; operands
 * relative to the instruction pointer are adjusted. Those of the x87 note the address of the
 * copy as that of the last instruction, which only a handler of their exceptions reads (SDM
 * Vol. 1, 8.1.8); the kernel's own code has none.
 *
 * Context: any.
 * Return: 0, or an error of arch_prepare_kprobe().
 */
int x86_insn_classify(struct arch_specific_insn *a, struct insn *insn, const u8 *buf)
{
	int ret = x86_classify(a, insn, buf);

	if (!ret && !x86_is_known(insn))
		return -EILSEQ;
	/*
	 * No emulated instruction allows a LOCK prefix. If it has one, run the copy,
	 * which raises the exception (SDM Vol. 2, LOCK).
	 */
	if (x86_has_prefix(insn, 0xf0))
		a->kind = X86_COPY;

	/*
	 * A 32-bit exception returns through a frame that it builds below the
	 * stack pointer it returns to. If emulation moved that pointer down by
	 * more than the gap that exception entry leaves, the frame would overwrite
	 * the saved registers that it is built from (IRET_FRAME in entry_32.S).
	 */
	if (!ret && !IS_ENABLED(CONFIG_X86_64) && x86_moves_stack(a))
		a->kind = X86_COPY;
	return ret;
}

/* ------------------------------- Copies --------------------------------- */

/*
 * Copies that are made, but not written yet. A write to executable memory is expensive,
 * whatever its length, and the slots of a batch are mostly adjacent.
 */
static struct {
	u8 *to;
	unsigned int nr;
	struct x86_slot {
		struct x86_copy copy;
	} __aligned(__ARCH_KPROBE_SLOT_SIZE) slot[16];
} unwritten;

static_assert(sizeof(struct x86_slot) == __ARCH_KPROBE_SLOT_SIZE);

static void x86_write_copies(void)
{
	size_t size = unwritten.nr * sizeof(struct x86_slot);

	if (!size)
		return;
	perf_event_text_poke(unwritten.to, NULL, 0, unwritten.slot, size);
	text_poke_copy(unwritten.to, unwritten.slot, size);
	unwritten.nr = 0;
}

static void x86_add_copy(u8 *slot, const struct x86_copy *copy)
{
	unsigned long room = PAGE_SIZE - offset_in_page(unwritten.to);

	if (unwritten.nr == ARRAY_SIZE(unwritten.slot) ||
	    unwritten.nr * sizeof(struct x86_slot) >= room ||
	    slot != unwritten.to + unwritten.nr * sizeof(struct x86_slot))
		x86_write_copies();
	if (!unwritten.nr)
		unwritten.to = slot;
	unwritten.slot[unwritten.nr++].copy = *copy;
}

/**
 * x86_insn_batch - begin or end a batch of points: write the copies made so far
 *
 * On return all copies that have been made can be executed.
 *
 * Context: kprobe_mutex held.
 */
void x86_insn_batch(void)
{
	kprobe_assert_held(&kprobe_mutex);
	x86_write_copies();
}

/* What follows the instruction in a copy. */
enum copy_end {
	COPY_JUMP,	/* a jump to the next instruction: boost */
	COPY_TRAP,	/* a breakpoint, for a post-handler */
	COPY_AGAIN,	/* a breakpoint that undoes a push; then another hit, or a fault */
};

static const u8 fault_text[X86_FAULT_SIZE] = X86_FAULT_TEXT;

/*
 * Write a copy of the instruction into a slot. Operands relative to the instruction
 * pointer are adjusted. Such a distance may not fit, depending on where the slot
 * was allocated.
 */
static int x86_make_copy(struct kprobe *p, struct insn *insn, const u8 *buf,
			 enum copy_end end, kprobe_opcode_t **where)
{
	struct x86_copy copy = {
		.len = insn->length,
		.again = end == COPY_AGAIN,
		.addr = p->addr,
	};
	void *slot = get_insn_slot();
	void *next = p->addr + insn->length;
	s64 disp;

	if (!slot)
		return -ENOMEM;

	memset(copy.text, INT3_INSN_OPCODE, sizeof(copy.text));
	memcpy(copy.text, buf, insn->length);
	if (insn_rip_relative(insn)) {
		disp = (s64)insn->displacement.value + ((u8 *)p->addr - (u8 *)slot);
		if (disp != (s32)disp) {
			free_insn_slot(slot, false);
			return -ENOMEM;
		}
		*(s32 *)(copy.text + insn_offset_displacement(insn)) = disp;
	}
	if (end == COPY_AGAIN && IS_ENABLED(CONFIG_X86_64))
		memcpy(copy.text + insn->length + X86_COPY_FAULT, fault_text, X86_FAULT_SIZE);
	if (end == COPY_JUMP)
		__text_gen_insn(copy.text + insn->length, JMP32_INSN_OPCODE,
				slot + insn->length, next, JMP32_INSN_SIZE);

	x86_add_copy(slot, &copy);
	*where = slot;
	return 0;
}

/*
 * The copy of an indirect branch runs if the operand cannot be read in emulation,
 * and faults as the branch would. If the operand can be read by then, the copy must
 * not branch, since a call would leave the address of a slot on the stack. So it
 * pushes the operand: FF /6 instead of /2 or /4 (SDM Vol. 2, A.4) reads it in the
 * same way, and changes no flag and only the stack pointer. Without redundant prefixes,
 * the longest one has ten bytes.
 */
static int x86_make_reader(struct kprobe *p, struct insn *insn, const u8 *buf)
{
	unsigned int modrm = insn_offset_modrm(insn);
	u8 push[MAX_INSN_SIZE];

	if (IS_ENABLED(CONFIG_X86_64) &&
	    insn->length + X86_COPY_FAULT + X86_FAULT_SIZE > sizeof_field(struct x86_copy, text))
		return kprobe_refuse((unsigned long)p->addr, -EILSEQ,
				     "this indirect branch is too long");
	memcpy(push, buf, sizeof(push));
	push[modrm] = (push[modrm] & ~0x38) | 6 << 3;
	return x86_make_copy(p, insn, push, COPY_AGAIN, &p->ainsn.step);
}

/* The copy of a return, or of a branch through a register: see X86_FAULT_TEXT. */
static int x86_make_faulter(struct kprobe *p)
{
	struct x86_copy copy = {
		.len = X86_FAULT_SIZE,
		.addr = p->addr,
	};
	void *slot;

	if (!IS_ENABLED(CONFIG_X86_64))
		return 0;
	slot = get_insn_slot();
	if (!slot)
		return -ENOMEM;
	memset(copy.text, INT3_INSN_OPCODE, sizeof(copy.text));
	memcpy(copy.text, fault_text, X86_FAULT_SIZE);
	x86_add_copy(slot, &copy);
	p->ainsn.step = slot;
	return 0;
}

static void x86_drop_copy(kprobe_opcode_t **where)
{
	if (!*where)
		return;
	/* From here on the slot may be freed at any time. */
	x86_write_copies();
	free_insn_slot(*where, true);
	*where = NULL;
}

/**
 * x86_insn_prepare - check and classify the instruction at a point, and copy it
 * @p: the point
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0 with @p->ainsn and @p->opcode filled in, or an error of
 * arch_prepare_kprobe().
 */
int x86_insn_prepare(struct kprobe *p)
{
	unsigned long addr = (unsigned long)p->addr;
	struct arch_specific_insn *a = &p->ainsn;
	u8 buf[MAX_INSN_SIZE + 1] = { };
	struct insn insn;
	const char *why;
	int ret;

	kprobe_assert_held(&kprobe_mutex);
	/*
	 * Text that other code is patching may be neither the old nor the new
	 * text.
	 */
	mutex_lock(&text_mutex);
	x86_text_prepare(addr);
	why = "not the start of an instruction";
	ret = x86_boundary_check(addr);
	if (!ret && x86_is_nameless_padding(addr)) {
		why = "padding before a function";
		ret = -EINVAL;
	}
	if (!ret) {
		why = "the decoder does not know the instruction";
		ret = x86_insn_read(&insn, buf, addr);
	}
	if (!ret && x86_is_static_call_trampoline(buf, insn.length)) {
		why = "the trampoline of a static call";
		ret = -EINVAL;
	}
	mutex_unlock(&text_mutex);
	if (!ret) {
		why = "this instruction cannot be probed";
		ret = x86_insn_classify(a, &insn, buf);
	}
	if (ret)
		return kprobe_refuse(addr, ret, why);

	a->len = insn.length;
	p->opcode = buf[0];
	if (a->kind == X86_CALL_IND || a->kind == X86_JMP_IND || a->kind == X86_RET) {
		if (a->kind != X86_RET && a->src == X86_NO_REG)
			return x86_make_reader(p, &insn, buf);
		return x86_make_faulter(p);
	}
	if (x86_always_emulated(a->kind))
		return 0;
	ret = x86_make_copy(p, &insn, buf, COPY_JUMP, &a->slot);
	a->copy = a->slot;
	return ret;
}

/**
 * x86_insn_prepare_step - make the copy that traps after the instruction
 * @p: the point
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0, even if there is a copy already or none is needed; or -ENOMEM.
 */
int x86_insn_prepare_step(struct kprobe *p)
{
	struct arch_specific_insn *a = &p->ainsn;
	u8 buf[MAX_INSN_SIZE + 1];
	struct insn insn;
	int ret;

	kprobe_assert_held(&kprobe_mutex);
	if (a->step || a->kind != X86_COPY)
		return 0;
	mutex_lock(&text_mutex);
	ret = x86_insn_read(&insn, buf, (unsigned long)p->addr);
	mutex_unlock(&text_mutex);
	if (ret)
		return ret;
	return x86_make_copy(p, &insn, buf, COPY_TRAP, &a->step);
}

/**
 * x86_insn_forget - drop the copies of a point
 * @p: the point, disarmed and quiescent
 *
 * Context: kprobe_mutex held; may sleep.
 */
void x86_insn_forget(struct kprobe *p)
{
	kprobe_assert_held(&kprobe_mutex);
	p->ainsn.copy = NULL;
	x86_drop_copy(&p->ainsn.slot);
	x86_drop_copy(&p->ainsn.step);
}
