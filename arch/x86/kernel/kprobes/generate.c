// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes on x86: generating detours. detour.c explains what they look like and
 * why.
 *
 * The stack. Handlers must see the stack pointer of the code, and words that they
 * or the emulation push belong right below it. So pt_regs is some words further
 * down, see STACK_GAP.
 *
 * 32 bits. A detour has the same parts in the same order, and almost the same code,
 * without REX prefixes. These are the differences:
 *
 *  - emit_save() and emit_restore(): struct pt_regs is a different one. It has what
 *    exception entry stores: ds, es and fs as they are, nothing for gs, and the
 *    stack pointer of the code. Exception entry also loads the kernel's own segments.
 *    All compiled code runs with those (ds and es: __USER_DS, fs: __KERNEL_PERCPU),
 *    so a detour loads them only for a function that changes segments itself, and
 *    only there restores what the handlers leave in regs->ds, es and fs.
 *  - emit_args(): C functions take their arguments in ax, dx and cx.
 *  - emit_percpu(): the segment of per-CPU variables is fs.
 *  - Each slot can reach all text, modulo 2^32. No operand is relative to the
 *    instruction pointer, so copies are never adjusted.
 *  - Calls are not counted, and functions do not begin with ENDBR.
 *
 * Unwinders. The frame pointer unwinder, the usual one on 32 bits, finds pt_regs as it
 * does in exceptions: through the frame pointer, which holds the encoded address of
 * pt_regs while handlers run. The ORC unwinder asks kprobe_unwind().
 */
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/string.h>

#include <asm/alternative.h>
#include <asm/current.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#include <asm/segment.h>
#include <asm/text-patching.h>

#include "detour.h"

/*
 * Room between the stack of the code and pt_regs, for words that an emulated instruction
 * or a handler pushes before the registers are restored. As much as at a breakpoint, where
 * the entry code leaves six words.
 */
#define STACK_GAP	(6 * (int)sizeof(long))

/**
 * struct gen - a detour that is being written
 * @buf:  where it is written, __ARCH_KPROBE_DETOUR_SIZE bytes
 * @nr:	  bytes written
 * @slot: where it will run
 * @far:  a branch does not reach
 */
struct gen {
	u8 *buf;
	unsigned int nr;
	unsigned long slot;
	bool far;
};

static void emit_bytes(struct gen *g, const void *bytes, unsigned int nr)
{
	if (g->nr + nr <= __ARCH_KPROBE_DETOUR_SIZE)
		memcpy(g->buf + g->nr, bytes, nr);
	g->nr += nr;
}

#define EMIT(g, ...)							\
	do {								\
		const u8 __bytes[] = { __VA_ARGS__ };			\
									\
		emit_bytes(g, __bytes, sizeof(__bytes));			\
	} while (0)

static void emit32(struct gen *g, u32 val)
{
	emit_bytes(g, &val, sizeof(val));
}

/* An instruction on operands of the size of long. */
#ifdef CONFIG_X86_64
#define EMIT_LONG(g, ...)	EMIT(g, 0x48, __VA_ARGS__)	/* REX.W */
#else
#define EMIT_LONG(g, ...)	EMIT(g, __VA_ARGS__)
#endif

/* The last four bytes of a branch. */
static void emit_rel32(struct gen *g, unsigned long target)
{
	long rel;

	/*
	 * Hide the address. Otherwise the compiler folds the subtraction into the
	 * relocation, and objtool sees an address taken that starts no function.
	 */
	OPTIMIZER_HIDE_VAR(target);
	rel = target - (g->slot + g->nr + 4);
	if (rel != (s32)rel)
		g->far = true;
	emit32(g, rel);
}

static void emit_jcc(struct gen *g, u8 cc, unsigned long target)
{
	EMIT(g, 0x0f, 0x80 | cc);
	emit_rel32(g, target);
}

static void emit_jmp(struct gen *g, unsigned long target)
{
	EMIT(g, JMP32_INSN_OPCODE);
	emit_rel32(g, target);
}

/* Some CPUs need calls and returns counted. @func is the callee, or NULL if not known. */
static void emit_depth(struct gen *g, void *func)
{
	u8 *at = g->buf + g->nr;

	if (!IS_ENABLED(CONFIG_BPF_JIT) || !cpu_feature_enabled(X86_FEATURE_CALL_DEPTH))
		return;
	if (g->nr + 32 > __ARCH_KPROBE_DETOUR_SIZE)
		g->far = true;
	else
		g->nr += x86_call_depth_emit_accounting(&at, func,
							(void *)(g->slot + g->nr));
}

static void emit_call(struct gen *g, void *func)
{
	emit_depth(g, func);
	EMIT(g, CALL_INSN_OPCODE);
	emit_rel32(g, (unsigned long)func);
}

/* Forward branches, to be completed by emit_land32(). */
static unsigned int emit_jcc32(struct gen *g, u8 cc)
{
	EMIT(g, 0x0f, 0x80 | cc, 0, 0, 0, 0);
	return g->nr;
}

static unsigned int emit_jmp32(struct gen *g)
{
	EMIT(g, JMP32_INSN_OPCODE, 0, 0, 0, 0);
	return g->nr;
}

static void emit_land32(struct gen *g, unsigned int from)
{
	if (g->nr <= __ARCH_KPROBE_DETOUR_SIZE)
		*(u32 *)(g->buf + from - 4) = g->nr - from;
}

/* Opcode and operand of an instruction on a per-CPU variable. */
static void emit_percpu(struct gen *g, const u8 *op, unsigned int nr, void *var)
{
	if (IS_ENABLED(CONFIG_SMP))
		EMIT(g, IS_ENABLED(CONFIG_X86_64) ? 0x65 : 0x64);	/* %gs:, %fs: */
	emit_bytes(g, op, nr);
	EMIT(g, 0x25);			/* SIB: an absolute address of 32 bits */
	emit32(g, (unsigned long)var);
}

#define EMIT_PERCPU(g, var, ...)					\
	do {								\
		const u8 __op[] = { __VA_ARGS__ };			\
									\
		emit_percpu(g, __op, sizeof(__op), (void __force *)&(var)); \
	} while (0)

#ifdef CONFIG_X86_64
#define EMIT_PERCPU_LONG(g, var, ...)	EMIT_PERCPU(g, var, 0x48, __VA_ARGS__)
#else
#define EMIT_PERCPU_LONG(g, var, ...)	EMIT_PERCPU(g, var, __VA_ARGS__)
#endif

/* The general registers of struct pt_regs, from orig_ax down. */
static void emit_push_regs(struct gen *g)
{
#ifdef CONFIG_X86_64
	EMIT(g, 0x57, 0x56, 0x52, 0x51, 0x50);		/* di si dx cx ax */
	EMIT(g, 0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53);	/* r8-r11 */
	EMIT(g, 0x53, 0x55);				/* bx bp */
	EMIT(g, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57);	/* r12-r15 */
#else
	EMIT(g, 0x6a, 0);				/* gs: unused */
	EMIT(g, 0x0f, 0xa0, 0x06, 0x1e);		/* fs es ds */
	EMIT(g, 0x50, 0x55, 0x57, 0x56);		/* ax bp di si */
	EMIT(g, 0x52, 0x51, 0x53);			/* dx cx bx */
#endif
}

/* Up to the flags. @segments: those that emit_segments() has loaded, too. */
static void emit_pop_regs(struct gen *g, bool segments)
{
#ifdef CONFIG_X86_64
	EMIT(g, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c);
	EMIT(g, 0x5d, 0x5b);
	EMIT(g, 0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58);
	EMIT(g, 0x58, 0x59, 0x5a, 0x5e, 0x5f);
	EMIT(g, 0x48, 0x83, 0xc4, 24);			/* add $24, %rsp */
#else
	EMIT(g, 0x5b, 0x59, 0x5a);
	EMIT(g, 0x5e, 0x5f, 0x5d, 0x58);
	if (segments) {
		EMIT(g, 0x1f, 0x07, 0x0f, 0xa1);
		EMIT(g, 0x83, 0xc4, 16);		/* add $16, %esp */
	} else {
		EMIT(g, 0x83, 0xc4, 28);
	}
#endif
}

/* 32 bits only: as on entry to an exception. */
static void emit_segments(struct gen *g)
{
#ifdef CONFIG_X86_32
	EMIT(g, 0xba);					/* mov $__USER_DS, %edx */
	emit32(g, __USER_DS);
	EMIT(g, 0x8e, 0xda, 0x8e, 0xc2);		/* mov %edx, %ds, %es */
	EMIT(g, 0xba);					/* mov $__KERNEL_PERCPU, %edx */
	emit32(g, __KERNEL_PERCPU);
	EMIT(g, 0x8e, 0xe2);				/* mov %edx, %fs */
#endif
}

/* The frame pointer unwinder finds pt_regs by this: ENCODE_FRAME_POINTER */
static void emit_encode_frame_pointer(struct gen *g)
{
	if (!IS_ENABLED(CONFIG_FRAME_POINTER))
		return;
#ifdef CONFIG_X86_64
	EMIT(g, 0x48, 0x8d, 0x6c, 0x24, 1);		/* lea 1(%rsp), %rbp */
#else
	EMIT(g, 0x89, 0xe5);				/* mov %esp, %ebp */
	EMIT(g, 0x81, 0xe5);				/* and $0x7fffffff, %ebp */
	emit32(g, 0x7fffffff);
#endif
}

/*
 * Before the probed instruction, ip is what a breakpoint would show. If orig_ax has the
 * same value, the ORC unwinder knows that the instruction has not run yet.
 */
static void emit_save(struct gen *g, unsigned long ip, bool before, bool odd)
{
	bool mark = before && IS_ENABLED(CONFIG_UNWINDER_ORC);

	EMIT_LONG(g, 0x8d, 0x64, 0x24, -STACK_GAP);	/* lea -gap(%sp), %sp */
	EMIT(g, 0x6a, __KERNEL_DS);			/* push $ss */
	EMIT(g, 0x54);					/* push %sp, fixed up below */
	EMIT(g, 0x9c);					/* pushf */
	EMIT(g, 0x6a, __KERNEL_CS);			/* push $cs */
	EMIT(g, 0x68);					/* push $ip */
	emit32(g, ip);
	EMIT(g, 0x68);					/* push $orig_ax */
	emit32(g, mark ? ip : -1);
	emit_push_regs(g);
	/* add $(a word + gap), sp(%sp) */
	EMIT_LONG(g, 0x83, 0x84, 0x24);
	emit32(g, offsetof(struct pt_regs, sp));
	EMIT(g, sizeof(long) + STACK_GAP);
	emit_encode_frame_pointer(g);
	/* Compiled code relies on this, as on entry to an exception. */
	if (odd) {
		EMIT(g, 0xfc);				/* cld */
		emit_segments(g);
	}
	if (boot_cpu_has(X86_FEATURE_SMAP))
		EMIT(g, 0x0f, 0x01, 0xca);		/* clac */
}

static void emit_restore(struct gen *g, bool odd)
{
	emit_pop_regs(g, odd);
	EMIT(g, 0x9d);					/* popf */
	EMIT(g, 0x5c);					/* pop %sp */
}

/* The first two arguments of a C function: a constant, and the saved registers. */
static void emit_args(struct gen *g, unsigned long first)
{
#ifdef CONFIG_X86_64
	if ((long)first == (s32)first) {
		EMIT(g, 0x48, 0xc7, 0xc7);		/* mov $first, %rdi */
		emit32(g, first);
	} else {
		EMIT(g, 0x48, 0xbf);			/* the same, of 64 bits */
		emit_bytes(g, &first, sizeof(first));
	}
	EMIT(g, 0x48, 0x89, 0xe6);			/* mov %rsp, %rsi */
#else
	EMIT(g, 0xb8);					/* mov $first, %eax */
	emit32(g, first);
	EMIT(g, 0x89, 0xe2);				/* mov %esp, %edx */
#endif
}

/* The third argument of a post-handler: flags is 0. */
static void emit_no_flags(struct gen *g)
{
	if (IS_ENABLED(CONFIG_X86_64))
		EMIT(g, 0x31, 0xd2);			/* xor %edx, %edx */
	else
		EMIT(g, 0x31, 0xc9);			/* xor %ecx, %ecx */
}

/* Call func(head, regs); then continue and restore the registers, or leave. */
static void emit_dispatch(struct gen *g, void *func)
{
	emit_args(g, g->slot);
	emit_call(g, func);
	EMIT(g, 0x85, 0xc0);				/* test %eax, %eax */
	emit_jcc(g, 5, (unsigned long)detour_leave);	/* jnz */
}

static void emit_copy(struct gen *g, const struct x86_displaced *di,
		      unsigned long addr)
{
	u8 text[MAX_INSN_SIZE];
	long disp;

	memcpy(text, di->text, di->len);
	if (di->rip) {
		disp = *(s32 *)(text + di->rip) + (long)(addr - (g->slot + g->nr));
		if (disp != (s32)disp)
			g->far = true;
		*(s32 *)(text + di->rip) = disp;
	}
	emit_bytes(g, text, di->len);
}

/* ------------------------ Displaced branches ---------------------------- */

/*
 * The alternative that the kernel has chosen for an indirect branch is only right in
 * its original place: because of the cache line, or an LFENCE before it. So generate
 * what the BPF JIT would, see emit_indirect_jump() of arch/x86/net/bpf_jit_comp.c.
 *
 * The return stack buffer expects a return for each call. A displaced call must
 * return to its original place. So the detour executes a call for the buffer, and
 * then replaces the return address: the callee's return is mispredicted, but those
 * of its callers are not. CPUs do not record a call to the very next instruction.
 * Hence the INT3 in between, which also ends speculation.
 */
static void emit_call_over(struct gen *g)
{
	EMIT(g, CALL_INSN_OPCODE, INT3_INSN_SIZE, 0, 0, 0, INT3_INSN_OPCODE);
}

static void emit_return_address(struct gen *g, struct x86_detour_map *m,
				unsigned long next)
{
	emit_call_over(g);
	m->called = g->nr - m->to;
	EMIT_LONG(g, 0xc7, 0x04, 0x24);			/* mov $next, (%sp) */
	emit32(g, next);
}

static void emit_return(struct gen *g)
{
	if (cpu_wants_rethunk()) {
		emit_jmp(g, (unsigned long)x86_return_thunk);
		return;
	}
	EMIT(g, RET_INSN_OPCODE, INT3_INSN_OPCODE);
}

/* Through a register, by its number. */
static void emit_indirect_jump(struct gen *g, unsigned int reg)
{
	if (cpu_feature_enabled(X86_FEATURE_INDIRECT_THUNK_ITS)) {
		emit_jmp(g, (unsigned long)its_static_thunk(reg));
		return;
	}
	if (cpu_feature_enabled(X86_FEATURE_RETPOLINE_LFENCE)) {
		EMIT(g, 0x0f, 0xae, 0xe8);		/* lfence */
	} else if (cpu_feature_enabled(X86_FEATURE_RETPOLINE)) {
		if (cpu_feature_enabled(X86_FEATURE_CALL_DEPTH))
			emit_jmp(g, (unsigned long)&__x86_indirect_jump_thunk_array[reg]);
		else
			emit_jmp(g, (unsigned long)&__x86_indirect_thunk_array[reg]);
		return;
	}
	if (reg & 8)
		EMIT(g, 0x41);				/* REX.B */
	EMIT(g, 0xff, 0xe0 | (reg & 7), INT3_INSN_OPCODE);
}

/*
 * Through memory: there are no thunks for that. So push the operand and return to
 * it. The CPU predicts a return to the INT3 after the latest call, which is how a
 * retpoline works. PUSH takes the same operand (SDM Vol. 2, 4.3), so a fault comes
 * before anything else.
 */
static void emit_push_operand(struct gen *g, struct x86_detour_map *m,
			      const struct x86_displaced *di, unsigned long addr)
{
	unsigned int i = g->nr;

	emit_copy(g, di, addr);
	if (g->nr <= __ARCH_KPROBE_DETOUR_SIZE) {
		while (g->buf[i] != 0xff)
			i++;
		/* FF /6 (SDM Vol. 2, A.4) */
		g->buf[i + 1] |= 6 << 3;
	}
	m->lost = g->nr - m->to;
}

static void emit_pushed_return(struct gen *g)
{
	/* The thunk would count a return whose call was not counted. */
	if (cpu_feature_enabled(X86_FEATURE_CALL_DEPTH))
		EMIT(g, RET_INSN_OPCODE, INT3_INSN_OPCODE);
	else
		emit_return(g);
}

/* The number of the register that is the operand of an indirect branch. */
static unsigned int gen_register_operand(const struct x86_displaced *di)
{
	unsigned int i = 0, rex = 0;

	while (di->text[i] != 0xff)
		i++;
	if (i && (di->text[i - 1] & 0xf0) == 0x40)
		rex = di->text[i - 1];
	return (di->text[i + 1] & 7) | (rex & 1) << 3;
}

static void emit_jump_indirect(struct gen *g, struct x86_detour_map *m,
			       const struct x86_displaced *di, unsigned long addr)
{
	if (di->insn.src != X86_NO_REG) {
		emit_indirect_jump(g, gen_register_operand(di));
		return;
	}
	emit_push_operand(g, m, di, addr);
	emit_call_over(g);
	/* lea a word(%sp), %sp */
	EMIT_LONG(g, 0x8d, 0x64, 0x24, sizeof(long));
	emit_pushed_return(g);
}

static void emit_call_indirect(struct gen *g, struct x86_detour_map *m,
			       const struct x86_displaced *di, unsigned long addr)
{
	if (di->insn.src != X86_NO_REG) {
		emit_return_address(g, m, addr + di->len);
		emit_depth(g, NULL);
		emit_indirect_jump(g, gen_register_operand(di));
		return;
	}
	emit_push_operand(g, m, di, addr);
	EMIT(g, 0xff, 0x34, 0x24);			/* push (%sp) */
	/* mov $next, a word(%sp) */
	EMIT_LONG(g, 0xc7, 0x44, 0x24, sizeof(long));
	emit32(g, addr + di->len);
	emit_depth(g, NULL);
	/* One for the callee's return, and one for ours. */
	emit_call_over(g);
	emit_call_over(g);
	/* lea two words(%sp), %sp */
	EMIT_LONG(g, 0x8d, 0x64, 0x24, 2 * sizeof(long));
	emit_pushed_return(g);
}

/* One displaced instruction that is at @addr. */
static void emit_displaced(struct gen *g, struct x86_detour_map *m,
			   const struct x86_displaced *di, unsigned long addr)
{
	const struct arch_specific_insn *a = &di->insn;
	unsigned long next = addr + di->len;

	switch (a->kind) {
	case X86_NOP:
		break;
	case X86_JMP:
		emit_jmp(g, next + a->imm);
		break;
	case X86_CALL:
		emit_return_address(g, m, next);
		emit_jmp(g, next + a->imm);
		break;
	case X86_JMP_IND:
		emit_jump_indirect(g, m, di, addr);
		break;
	case X86_CALL_IND:
		emit_call_indirect(g, m, di, addr);
		break;
	case X86_RET:
		emit_return(g);
		break;
	case X86_JCC:
		emit_jcc(g, a->op, next + a->imm);
		break;
	case X86_LOOP:
		if (a->size != sizeof(long))
			EMIT(g, 0x67);
		EMIT(g, a->op, 2, JMP8_INSN_OPCODE, 5);
		emit_jmp(g, next + a->imm);
		break;
	default:
		emit_copy(g, di, addr);
	}
}

/* ------------------------------ Layout ---------------------------------- */

/**
 * struct direct - the handlers that a direct detour calls itself
 * @only: the probe
 * @pre:  its pre-handler
 * @post: its post-handler, if the probed instruction is emulated; or NULL
 */
struct direct {
	struct kprobe *only;
	kprobe_pre_handler_t pre;
	kprobe_post_handler_t post;
};

/* handler(only, regs) */
static void emit_handler(struct gen *g, struct kprobe *only, void *handler)
{
	emit_args(g, (unsigned long)only);
	/* Only indirect calls need to find ENDBR. */
	if (is_endbr(*(u32 *)handler))
		handler += ENDBR_INSN_SIZE;
	emit_call(g, handler);
}

/* preempt_disable_notrace() */
static void emit_preempt_disable(struct gen *g)
{
	/* incl preempt_count */
	if (IS_ENABLED(CONFIG_PREEMPT_COUNT))
		EMIT_PERCPU(g, pcpu_hot.preempt_count, 0xff, 0x04);
}

/* preempt_enable_no_resched_notrace(); the count is 0 if a reschedule is due. */
static void emit_preempt_enable(struct gen *g)
{
	/* decl preempt_count */
	if (IS_ENABLED(CONFIG_PREEMPT_COUNT))
		EMIT_PERCPU(g, pcpu_hot.preempt_count, 0xff, 0x0c);
}

/* Enter the handler's context, call it, leave the context: see detour_hit(). */
static void emit_direct(struct gen *g, struct x86_detour *d, struct kprobe *p,
			const struct direct *to, unsigned int branch[5])
{
	emit_preempt_disable(g);
	/* cmp $0, running */
	EMIT_PERCPU_LONG(g, kprobe_cpu.running[KPROBE_CTX_TASK], 0x83, 0x3c);
	EMIT(g, 0);
	branch[0] = emit_jcc32(g, 5);			/* jne */
	/* mov $head + 1, running: see kprobe_running_point() */
	EMIT_PERCPU_LONG(g, kprobe_cpu.running[KPROBE_CTX_TASK], 0xc7, 0x04);
	emit32(g, g->slot + 1);
	/* testl $contexts, preempt_count */
	EMIT_PERCPU(g, pcpu_hot.preempt_count, 0xf7, 0x04);
	emit32(g, NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET);
	branch[1] = emit_jcc32(g, 5);			/* jnz, see detour_retire() */
	d->branch = g->nr - JCC32_INSN_SIZE;

	emit_handler(g, to->only, to->pre);
	EMIT(g, 0x85, 0xc0);				/* test %eax, %eax */
	branch[2] = emit_jcc32(g, 5);			/* jnz */
	if (to->post) {
		emit_handler(g, p, x86_emulator(p->ainsn.kind));
		if (IS_ENABLED(CONFIG_UNWINDER_ORC) && p->ainsn.len == INT3_INSN_SIZE) {
			/* mov $-1, orig_ax(%sp): see emit_save() */
			EMIT_LONG(g, 0xc7, 0x84, 0x24);
			emit32(g, offsetof(struct pt_regs, orig_ax));
			emit32(g, -1);
		}
		emit_no_flags(g);
		emit_handler(g, to->only, to->post);
		/* cmp $next, ip(%sp) */
		EMIT_LONG(g, 0x81, 0xbc, 0x24);
		emit32(g, offsetof(struct pt_regs, ip));
		emit32(g, (unsigned long)p->addr + p->ainsn.len);
		branch[4] = emit_jcc32(g, 5);		/* jne */
	}

	/* mov $0, running */
	EMIT_PERCPU_LONG(g, kprobe_cpu.running[KPROBE_CTX_TASK], 0xc7, 0x04);
	emit32(g, 0);
	emit_preempt_enable(g);
	if (IS_ENABLED(CONFIG_PREEMPT_COUNT))
		branch[3] = emit_jcc32(g, 4);		/* jz */
}

/* Can the detour call the handlers itself, and would that be faster? */
static bool gen_choose_direct(struct kprobe *p, struct direct *to)
{
	/* KMSAN has to be told of the registers, which detour_hit() does. */
	if (IS_ENABLED(CONFIG_KMSAN))
		return false;
	to->only = kprobe_only(p, &to->pre, &to->post);
	if (!to->only)
		return false;
	if (!kprobe_wants_post(p))
		return true;
	switch (p->ainsn.kind) {
	case X86_COPY:
		/* Not emulated: the code at x86_detour::post calls the post-handler. */
		to->post = NULL;
		return true;
	case X86_CALL:
	case X86_CALL_IND:
	case X86_JMP_IND:
	case X86_RET:
		/* These may fault, or need DETOUR_LEAVE_*: see detour_hit(). */
		return false;
	}
	return to->post;
}

/* Where emit_direct() branches to when it cannot continue. */
static void emit_turned_away(struct gen *g, const struct x86_detour *d,
			     const struct direct *to, const unsigned int *branch)
{
	/* Not task context, or a late hit: undo the entry. */
	emit_land32(g, branch[1]);
	EMIT_PERCPU_LONG(g, kprobe_cpu.running[KPROBE_CTX_TASK], 0xc7, 0x04);
	emit32(g, 0);
	emit_land32(g, branch[0]);
	emit_preempt_enable(g);
	emit_dispatch(g, detour_hit);
	emit_jmp(g, g->slot + d->restore);
	emit_land32(g, branch[2]);
	if (to->post)
		emit_land32(g, branch[4]);
	emit_dispatch(g, detour_changed);
	if (!IS_ENABLED(CONFIG_PREEMPT_COUNT))
		return;
	emit_land32(g, branch[3]);
	emit_call(g, detour_resched);
	emit_jmp(g, g->slot + d->restore);
}

/* A copy of the probed instruction, with the post-handlers after it. */
static void emit_post(struct gen *g, struct x86_detour *d, struct kprobe *p,
		      const struct x86_plan *plan)
{
	unsigned long addr = (unsigned long)p->addr;

	d->post = g->nr;
	emit_copy(g, &plan->insn[0], addr);
	emit_save(g, addr + plan->insn[0].len, false, plan->odd);
	d->post_saved = g->nr;
	emit_dispatch(g, detour_post);
	d->post_restore = g->nr;
	emit_restore(g, plan->odd);
	emit_jmp(g, d->nr > 1 ? g->slot + d->map[1].to : addr + plan->total);
}

/* Generate the detour, with the handlers that it calls directly, or none. */
static void gen_write_detour(struct gen *g, struct x86_detour *d, struct kprobe *p,
			     const struct x86_plan *plan, const struct direct *to)
{
	unsigned int branch[5], over = 0, i;
	unsigned long addr = (unsigned long)p->addr;

	if (!kprobe_wants_post(p))
		d->next = DETOUR_EXEC;
	else if (p->ainsn.kind == X86_COPY)
		d->next = DETOUR_POST;
	else
		d->next = DETOUR_NEXT;

	g->nr = sizeof(*d);
	d->entry = g->nr;
	emit_save(g, addr + INT3_INSN_SIZE, true, plan->odd);
	d->saved = g->nr;
	if (to)
		emit_direct(g, d, p, to, branch);
	else
		emit_dispatch(g, detour_hit);
	d->restore = g->nr;
	emit_restore(g, plan->odd);
	/* To be completed when the target is known. */
	if (d->next != DETOUR_EXEC)
		over = emit_jmp32(g);

	for (i = 0; i < plan->nr; i++) {
		d->map[i].to = g->nr;
		d->map[i].from = plan->insn[i].from;
		d->map[i].len = plan->insn[i].len;
		if (i == 1 && d->next == DETOUR_NEXT)
			emit_land32(g, over);
		emit_displaced(g, &d->map[i], &plan->insn[i],
			       addr + plan->insn[i].from);
	}
	if (i == 1 && d->next == DETOUR_NEXT)
		emit_land32(g, over);
	emit_jmp(g, addr + plan->total);
	d->exec_end = g->nr;

	if (to)
		emit_turned_away(g, d, to, branch);
	if (d->next == DETOUR_POST) {
		emit_land32(g, over);
		emit_post(g, d, p, plan);
	}
}

/**
 * x86_detour_generate - write a detour
 * @d:	  where to write it; its head is set, except for what depends on the code
 * @slot: where it will run
 * @p:	  its point
 * @plan: what it displaces
 *
 * Context: kprobe_mutex held.
 * Return: 0, or KPROBE_WHY_FAR.
 */
int x86_detour_generate(struct x86_detour *d, struct x86_detour *slot,
			struct kprobe *p, const struct x86_plan *plan)
{
	struct gen g = { .buf = (u8 *)d, .slot = (unsigned long)slot };
	const struct x86_detour head = *d;
	struct direct to;
	bool direct;

	direct = gen_choose_direct(p, &to);
	gen_write_detour(&g, d, p, plan, direct ? &to : NULL);
	if (direct && (g.far || g.nr > __ARCH_KPROBE_DETOUR_SIZE)) {
		/* A dispatched detour needs less room. */
		memset(d, INT3_INSN_OPCODE, __ARCH_KPROBE_DETOUR_SIZE);
		*d = head;
		g.far = false;
		gen_write_detour(&g, d, p, plan, NULL);
	}
	if (g.far || g.nr > __ARCH_KPROBE_DETOUR_SIZE)
		return KPROBE_WHY_FAR;
	return 0;
}
