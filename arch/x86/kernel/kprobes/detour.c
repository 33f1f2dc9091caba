// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes on x86: a hit that comes as a jump.
 *
 * A detour is code made for one point. It completes a struct pt_regs on the
 * stack, runs the handlers, restores, executes the displaced instructions and
 * jumps back behind them. There are two forms:
 *
 *  direct	the point has one probe. The detour calls its handlers itself, if
 *		the hit comes from a task's context in which no handler runs;
 *		all else goes to the dispatcher.
 *  dispatched	always goes there: detour_hit().
 *
 * Where the handlers have changed nothing, the detour restores the registers
 * and goes on. Otherwise detour_leave() goes where regs->ip says.
 *
 *	entry:	build pt_regs
 *		[direct: enter the handler's context, call it, leave it]
 *		[dispatched: detour_hit(head, regs)]
 *		restore
 *		[jump to where it goes on, if not here]
 *	exec:	displaced instructions
 *		jump back
 *	slow:	[direct: detour_hit(head, regs), back to restoring]
 *	...
 *	post:	the first displaced instruction, build pt_regs,
 *		detour_post(head, regs), restore, go on behind it
 *
 * If a post-handler waits, the probed instruction is emulated where that can be
 * done, and exec is there for hits that are missed. Where not, it runs at post.
 *
 * Late hits. A task may be preempted right behind the jump, and go on when the
 * point is a breakpoint again, has other probes, or is gone. It must not call
 * the handler that the detour knows, nor look at the point that it knows; but if
 * there still is a point, that has been hit. So when the jump goes, hits in the
 * detour are sent another way: the dispatcher looks the point up by its address
 * unless x86_detour::live is set. A direct detour has a branch to it that the
 * common hit does not take; it becomes a breakpoint, the only thing that text
 * may change to while it runs (SDM Vol. 3, 9.1.3), and that takes the branch.
 * All of that is looked at after kprobe_cpu::running is set, so after the next
 * interrupt of all CPUs, who waits in kprobe_quiesce() sees every hit that will call a
 * handler that was there before. The detour itself stays until no task can be
 * in it: slots.c.
 *
 * The stack. Handlers must see the stack pointer that the code had, and what
 * they and the emulation push belongs right below it. So where that may happen,
 * pt_regs lies some words further down.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/string.h>

#include <asm/alternative.h>
#include <asm/cpuid.h>
#include <asm/current.h>
#include <asm/ibt.h>
#include <asm/segment.h>
#include <asm/text-patching.h>

#include "detour.h"

/* Between the stack of the code and pt_regs. */
#define STACK_GAP	32

#define JCC32_INSN_SIZE	6

/* ----------------------- What a detour calls ---------------------------- */

/* The point that this is a hit of, which stays as long as preemption is off. */
static __always_inline struct kprobe *point_of(const struct x86_detour *d)
{
	struct kprobe *p;

	if (likely(READ_ONCE(d->live)))
		return d->p;
	p = get_kprobe(d->addr);
	return p && !kprobe_ftrace(p) ? p : NULL;
}

/* Its handlers run from here on, in @ctx, where none did. NULL if there is none. */
static __always_inline struct kprobe *enter(const struct x86_detour *d,
					    unsigned int ctx)
{
	struct kprobe *p = NULL, *now;

	/* First to be seen, then to look: see kprobe_quiesce(). */
	while ((now = point_of(d)) != p) {
		p = now;
		raw_cpu_write(kprobe_cpu.running[ctx], p);
		barrier();
	}
	return p;
}

static __always_inline void leave(unsigned int ctx)
{
	barrier();
	raw_cpu_write(kprobe_cpu.running[ctx], NULL);
}

/* What C code answers if @next is what has been decided: see DETOUR_STAY. */
static __always_inline int go_on(const struct x86_detour *d, struct pt_regs *regs,
				 enum x86_detour_next next)
{
	if (likely(next == d->next))
		return DETOUR_STAY;
	if (next == DETOUR_EXEC)
		regs->ip = x86_detour_exec(d, 0);
	else if (next == DETOUR_POST)
		regs->ip = (unsigned long)d + d->post;
	else
		regs->ip = x86_detour_ip(d, regs->ip);
	return DETOUR_LEAVE;
}

/* All that a direct detour does not do itself. */
static int __kprobe_hit detour_hit(struct x86_detour *d, struct pt_regs *regs)
{
	enum x86_detour_next next = DETOUR_EXEC;
	int called = 0, ret;
	unsigned int ctx;
	struct kprobe *p;

	preempt_disable_notrace();
	ctx = kprobe_context(raw_cpu_read(kprobe_cpu.traps));
	if (unlikely(raw_cpu_read(kprobe_cpu.running[ctx]))) {
		p = point_of(d);
		if (p)
			kprobes_inc_nmissed_count(p);
		goto out;
	}
	p = enter(d, ctx);
	if (unlikely(!p)) {
		/* The hit is late, and there is no point any more. */
	} else if (kprobe_run_pre(p, regs)) {
		next = DETOUR_AWAY;
	} else if (!READ_ONCE(p->post_handler)) {
		/* It just goes on. */
	} else if (x86_emulate(p, regs)) {
		if (p->ainsn.kind == X86_CALL || p->ainsn.kind == X86_CALL_IND)
			called = DETOUR_LEAVE_CALLED;
		else if (p->ainsn.kind == X86_RET)
			called = DETOUR_LEAVE_RETURNED;
		/* For unwinders: see emit_save(). */
		regs->orig_ax = -1;
		kprobe_run_post(p, regs, 0);
		next = regs->ip == (unsigned long)d->addr + d->map[0].len ?
		       DETOUR_NEXT : DETOUR_AWAY;
	} else if (d->post) {
		next = DETOUR_POST;
	} else {
		/* The hit is late, and the post-handler was not there yet. */
		regs->ip = (unsigned long)p->ainsn.step;
		next = DETOUR_AWAY;
	}
	leave(ctx);
out:
	preempt_enable_notrace();
	ret = go_on(d, regs, next);
	return ret && called ? called : ret;
}

/* A handler that a direct detour has called wants to go elsewhere. */
static int __kprobe_hit detour_changed(struct x86_detour *d, struct pt_regs *regs)
{
	regs->ip = x86_detour_ip(d, regs->ip);
	leave(KPROBE_CTX_TASK);
	preempt_enable_notrace();
	return DETOUR_LEAVE;
}

/* Behind an instruction that a post-handler waits for. */
static int __kprobe_hit detour_post(struct x86_detour *d, struct pt_regs *regs)
{
	unsigned long behind = (unsigned long)d->addr + d->map[0].len;
	unsigned int ctx;
	struct kprobe *p;

	preempt_disable_notrace();
	ctx = kprobe_context(raw_cpu_read(kprobe_cpu.traps));
	if (!raw_cpu_read(kprobe_cpu.running[ctx])) {
		p = enter(d, ctx);
		if (p)
			kprobe_run_post(p, regs, 0);
		leave(ctx);
	}
	preempt_enable_notrace();
	if (likely(regs->ip == behind))
		return DETOUR_STAY;
	regs->ip = x86_detour_ip(d, regs->ip);
	return DETOUR_LEAVE;
}

/* Somebody has asked for the CPU while the handler ran. */
static void __kprobe_hit detour_resched(void)
{
	preempt_disable_notrace();
	preempt_enable_notrace();
}

/* ------------------------------ Generator ------------------------------- */

/**
 * struct gen - a detour that is being written
 * @buf:  where it is written
 * @nr:	  how much there is of it
 * @slot: where it will run
 * @far:  a branch does not reach
 */
struct gen {
	u8 buf[__ARCH_KPROBE_DETOUR_SIZE];
	unsigned int nr;
	unsigned long slot;
	bool far;
};

static void emit(struct gen *g, const void *bytes, unsigned int nr)
{
	if (g->nr + nr <= sizeof(g->buf))
		memcpy(g->buf + g->nr, bytes, nr);
	g->nr += nr;
}

#define EMIT(g, ...)							\
	do {								\
		const u8 __bytes[] = { __VA_ARGS__ };			\
									\
		emit(g, __bytes, sizeof(__bytes));			\
	} while (0)

static void emit32(struct gen *g, u32 val)
{
	emit(g, &val, sizeof(val));
}

static void emit64(struct gen *g, u64 val)
{
	emit(g, &val, sizeof(val));
}

/* The last four bytes of a branch. */
static void emit_rel32(struct gen *g, unsigned long target)
{
	long rel;

	/*
	 * Or the compiler subtracts from the address of a known function in the
	 * relocation, and objtool sees that something else than its start is taken.
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

static void emit_call(struct gen *g, void *func)
{
	u8 *at = g->buf + g->nr;

	/* Returns are counted on some CPUs, so calls must be, too. */
	if (IS_ENABLED(CONFIG_BPF_JIT) && g->nr + 32 <= sizeof(g->buf))
		g->nr += x86_call_depth_emit_accounting(&at, func,
							(void *)(g->slot + g->nr));
	EMIT(g, CALL_INSN_OPCODE);
	emit_rel32(g, (unsigned long)func);
}

/* Forward branches, to be completed by land32(). */
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

static void land32(struct gen *g, unsigned int from)
{
	if (g->nr <= sizeof(g->buf))
		*(u32 *)(g->buf + from - 4) = g->nr - from;
}

/* Opcode and operand of an instruction on a per-CPU variable. */
static void emit_percpu(struct gen *g, const u8 *op, unsigned int nr, void *var)
{
	if (IS_ENABLED(CONFIG_SMP))
		EMIT(g, 0x65);		/* %gs: */
	emit(g, op, nr);
	EMIT(g, 0x25);			/* SIB: an absolute address of 32 bits */
	emit32(g, (unsigned long)var);
}

#define EMIT_PERCPU(g, var, ...)					\
	do {								\
		const u8 __op[] = { __VA_ARGS__ };			\
									\
		emit_percpu(g, __op, sizeof(__op), (void __force *)&(var)); \
	} while (0)

/*
 * In front of the probed instruction, ip is what a breakpoint would show. That
 * nothing has been executed yet, unwinders see by orig_ax having the same value.
 */
static void emit_save(struct gen *g, unsigned long ip, bool before,
		      unsigned int gap, bool cld)
{
	if (gap)
		EMIT(g, 0x48, 0x8d, 0x64, 0x24, -gap);	/* lea -gap(%rsp), %rsp */
	EMIT(g, 0x6a, __KERNEL_DS);			/* push $ss */
	EMIT(g, 0x54);					/* push %rsp, mended below */
	EMIT(g, 0x9c);					/* pushf */
	EMIT(g, 0x6a, __KERNEL_CS);			/* push $cs */
	EMIT(g, 0x68);					/* push $ip */
	emit32(g, ip);
	EMIT(g, 0x68);					/* push $orig_ax */
	emit32(g, before ? ip : -1);
	EMIT(g, 0x57, 0x56, 0x52, 0x51, 0x50);		/* di si dx cx ax */
	EMIT(g, 0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53);	/* r8-r11 */
	EMIT(g, 0x53, 0x55);				/* bx bp */
	EMIT(g, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57);	/* r12-r15 */
	/* addq $8 + gap, sp(%rsp) */
	EMIT(g, 0x48, 0x83, 0x84, 0x24);
	emit32(g, offsetof(struct pt_regs, sp));
	EMIT(g, 8 + gap);
	/* As on entry to an exception, for compiled code to rely on. */
	if (cld)
		EMIT(g, 0xfc);				/* cld */
	if (boot_cpu_has(X86_FEATURE_SMAP))
		EMIT(g, 0x0f, 0x01, 0xca);		/* clac */
}

static void emit_restore(struct gen *g)
{
	EMIT(g, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c);
	EMIT(g, 0x5d, 0x5b);
	EMIT(g, 0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58);
	EMIT(g, 0x58, 0x59, 0x5a, 0x5e, 0x5f);
	EMIT(g, 0x48, 0x83, 0xc4, 24);			/* add $24, %rsp */
	EMIT(g, 0x9d);					/* popf */
	EMIT(g, 0x5c);					/* pop %rsp */
}

/* func(head, regs), and on behind this with registers to restore, or away. */
static void emit_dispatch(struct gen *g, void *func)
{
	EMIT(g, 0x48, 0xc7, 0xc7);			/* mov $head, %rdi */
	emit32(g, g->slot);
	EMIT(g, 0x48, 0x89, 0xe6);			/* mov %rsp, %rsi */
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
	emit(g, text, di->len);
}

/* ------------------------ Displaced branches ---------------------------- */

/*
 * What the base has chosen for an indirect branch is good for its old place: in
 * a cache line, behind an LFENCE, as an alternative. Here stands what its JIT
 * would generate, see emit_indirect_jump() of arch/x86/net/bpf_jit_comp.c.
 *
 * The return stack buffer expects a return for each call. A displaced call must
 * return to where it would have, so the detour calls, for the buffer, what is
 * next, and puts the return address there: the callee's return is mispredicted,
 * but the ones of its callers are not. Calls of the very next instruction do
 * not count, hence the INT3, which also ends speculation.
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
	EMIT(g, 0x48, 0xc7, 0x04, 0x24);		/* movq $next, (%rsp) */
	emit32(g, next);
}

/* As one of the calls that it counts by what stands in front of functions. */
static void emit_depth(struct gen *g)
{
	u8 *at = g->buf + g->nr;

	if (IS_ENABLED(CONFIG_BPF_JIT) && g->nr + 32 <= sizeof(g->buf))
		g->nr += x86_call_depth_emit_accounting(&at, NULL,
							(void *)(g->slot + g->nr));
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
 * Through memory: there are no thunks for that, but a return goes to what was
 * pushed, and is predicted to go to the INT3 behind the latest call, which is
 * how a retpoline works. PUSH takes the operand as it is (SDM Vol. 2, 4.3), so
 * a fault comes first.
 */
static void emit_push_operand(struct gen *g, struct x86_detour_map *m,
			      const struct x86_displaced *di, unsigned long addr)
{
	unsigned int i = g->nr;

	emit_copy(g, di, addr);
	if (g->nr <= sizeof(g->buf)) {
		while (g->buf[i] != 0xff)
			i++;
		/* FF /6 (SDM Vol. 2, A.4) */
		g->buf[i + 1] |= 6 << 3;
	}
	m->lost = g->nr - m->to;
}

static void emit_pushed_return(struct gen *g)
{
	/* The thunk would count what was no call of those that are counted. */
	if (cpu_feature_enabled(X86_FEATURE_CALL_DEPTH))
		EMIT(g, RET_INSN_OPCODE, INT3_INSN_OPCODE);
	else
		emit_return(g);
}

/* The operand of an indirect branch, if it is a register: its number. */
static unsigned int register_operand(const struct x86_displaced *di)
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
		emit_indirect_jump(g, register_operand(di));
		return;
	}
	emit_push_operand(g, m, di, addr);
	emit_call_over(g);
	EMIT(g, 0x48, 0x8d, 0x64, 0x24, 8);		/* lea 8(%rsp), %rsp */
	emit_pushed_return(g);
}

static void emit_call_indirect(struct gen *g, struct x86_detour_map *m,
			       const struct x86_displaced *di, unsigned long addr)
{
	if (di->insn.src != X86_NO_REG) {
		emit_return_address(g, m, addr + di->len);
		emit_depth(g);
		emit_indirect_jump(g, register_operand(di));
		return;
	}
	emit_push_operand(g, m, di, addr);
	EMIT(g, 0xff, 0x34, 0x24);			/* push (%rsp) */
	EMIT(g, 0x48, 0xc7, 0x44, 0x24, 8);		/* movq $next, 8(%rsp) */
	emit32(g, addr + di->len);
	emit_depth(g);
	/* One for the callee's return, and one for ours. */
	emit_call_over(g);
	emit_call_over(g);
	EMIT(g, 0x48, 0x8d, 0x64, 0x24, 16);		/* lea 16(%rsp), %rsp */
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
		if (a->size == 4)
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
 * struct direct - what a direct detour calls itself
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
	EMIT(g, 0x48, 0xbf);				/* mov $only, %rdi */
	emit64(g, (unsigned long)only);
	EMIT(g, 0x48, 0x89, 0xe6);			/* mov %rsp, %rsi */
	/* Only indirect calls need to find ENDBR. */
	if (is_endbr(*(u32 *)handler))
		handler += ENDBR_INSN_SIZE;
	emit_call(g, handler);
}

/* Enters the handler's context, calls it, leaves it: see detour_hit(). */
static void emit_direct(struct gen *g, struct x86_detour *d, struct kprobe *p,
			const struct direct *to, unsigned int branch[5])
{
	/* incl preempt_count */
	EMIT_PERCPU(g, pcpu_hot.preempt_count, 0xff, 0x04);
	/* cmpq $0, running */
	EMIT_PERCPU(g, kprobe_cpu.running[KPROBE_CTX_TASK], 0x48, 0x83, 0x3c);
	EMIT(g, 0);
	branch[0] = emit_jcc32(g, 5);			/* jne */
	/* movq $head + 1, running: see kprobe_running_point() */
	EMIT_PERCPU(g, kprobe_cpu.running[KPROBE_CTX_TASK], 0x48, 0xc7, 0x04);
	emit32(g, g->slot + 1);
	/* testl $contexts, preempt_count */
	EMIT_PERCPU(g, pcpu_hot.preempt_count, 0xf7, 0x04);
	emit32(g, NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET);
	branch[1] = emit_jcc32(g, 5);			/* jnz, see retire() */
	d->branch = g->nr - JCC32_INSN_SIZE;

	emit_handler(g, to->only, to->pre);
	EMIT(g, 0x85, 0xc0);				/* test %eax, %eax */
	branch[2] = emit_jcc32(g, 5);			/* jnz */
	if (to->post) {
		emit_handler(g, p, x86_emulate);
		if (p->ainsn.len == INT3_INSN_SIZE) {
			/* movq $-1, orig_ax(%rsp): see emit_save() */
			EMIT(g, 0x48, 0xc7, 0x84, 0x24);
			emit32(g, offsetof(struct pt_regs, orig_ax));
			emit32(g, -1);
		}
		EMIT(g, 0x31, 0xd2);			/* xor %edx, %edx */
		emit_handler(g, to->only, to->post);
		/* cmpq $next, ip(%rsp) */
		EMIT(g, 0x48, 0x81, 0xbc, 0x24);
		emit32(g, offsetof(struct pt_regs, ip));
		emit32(g, (unsigned long)p->addr + p->ainsn.len);
		branch[4] = emit_jcc32(g, 5);		/* jne */
	}

	/* movq $0, running */
	EMIT_PERCPU(g, kprobe_cpu.running[KPROBE_CTX_TASK], 0x48, 0xc7, 0x04);
	emit32(g, 0);
	/* decl preempt_count, which is 0 if somebody wants the CPU */
	EMIT_PERCPU(g, pcpu_hot.preempt_count, 0xff, 0x0c);
	branch[3] = emit_jcc32(g, 4);			/* jz */
}

/* Is it worth it, and can it be done? */
static bool choose_direct(struct kprobe *p, struct direct *to)
{
	to->only = kprobe_only(p, &to->pre, &to->post);
	if (!to->only)
		return false;
	if (!kprobe_wants_post(p))
		return true;
	switch (p->ainsn.kind) {
	case X86_COPY:
		/* Not emulated: what stands at x86_detour::post calls it. */
		to->post = NULL;
		return true;
	case X86_CALL:
	case X86_CALL_IND:
	case X86_JMP_IND:
	case X86_RET:
		/* They may fault, or have more to leave: see detour_hit(). */
		return false;
	}
	return to->post;
}

static int generate(struct gen *g, struct x86_detour *d, struct kprobe *p,
		    const struct x86_plan *plan)
{
	unsigned long addr = (unsigned long)p->addr;
	unsigned int branch[5], over = 0, gap = STACK_GAP, i;
	struct direct to;
	bool direct;

	direct = choose_direct(p, &to);
	if (direct && !kprobe_wants_post(p))
		gap = 0;
	if (!kprobe_wants_post(p))
		d->next = DETOUR_EXEC;
	else if (p->ainsn.kind == X86_COPY)
		d->next = DETOUR_POST;
	else
		d->next = DETOUR_NEXT;

	g->nr = sizeof(*d);
	d->entry = g->nr;
	emit_save(g, addr + INT3_INSN_SIZE, true, gap, plan->std);
	d->saved = g->nr;
	if (direct)
		emit_direct(g, d, p, &to, branch);
	else
		emit_dispatch(g, detour_hit);
	d->restore = g->nr;
	emit_restore(g);
	/* To be completed when it is known where that is. */
	if (d->next != DETOUR_EXEC)
		over = emit_jmp32(g);

	for (i = 0; i < plan->nr; i++) {
		d->map[i].to = g->nr;
		d->map[i].from = plan->insn[i].from;
		d->map[i].len = plan->insn[i].len;
		if (i == 1 && d->next == DETOUR_NEXT)
			land32(g, over);
		emit_displaced(g, &d->map[i], &plan->insn[i],
			       addr + plan->insn[i].from);
	}
	if (i == 1 && d->next == DETOUR_NEXT)
		land32(g, over);
	emit_jmp(g, addr + plan->total);
	d->exec_end = g->nr;

	if (direct) {
		/* Not a task's context, or a late hit: as if never entered. */
		land32(g, branch[1]);
		EMIT_PERCPU(g, kprobe_cpu.running[KPROBE_CTX_TASK], 0x48, 0xc7, 0x04);
		emit32(g, 0);
		land32(g, branch[0]);
		EMIT_PERCPU(g, pcpu_hot.preempt_count, 0xff, 0x0c);
		emit_dispatch(g, detour_hit);
		emit_jmp(g, g->slot + d->restore);
		land32(g, branch[2]);
		if (to.post)
			land32(g, branch[4]);
		emit_dispatch(g, detour_changed);
		land32(g, branch[3]);
		emit_call(g, detour_resched);
		emit_jmp(g, g->slot + d->restore);
	}
	if (d->next == DETOUR_POST) {
		land32(g, over);
		d->post = g->nr;
		emit_copy(g, &plan->insn[0], addr);
		emit_save(g, addr + plan->insn[0].len, false, STACK_GAP,
			  plan->std);
		d->post_saved = g->nr;
		emit_dispatch(g, detour_post);
		d->post_restore = g->nr;
		emit_restore(g);
		emit_jmp(g, d->nr > 1 ? g->slot + d->map[1].to : addr + plan->total);
	}
	if (g->far || g->nr > sizeof(g->buf))
		return KPROBE_WHY_FAR;
	return 0;
}

/**
 * arch_detour_prepare - make the detour of a point
 * @p: the point, a breakpoint
 *
 * From here on hits by the breakpoint go on in the detour, instead of in the
 * bytes that the jump will replace.
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0; a value of enum kprobe_why if there can be no jump; or -ENOMEM.
 */
int arch_detour_prepare(struct kprobe *p)
{
	static struct x86_plan plan;	/* kprobe_mutex */
	static struct gen g;
	struct x86_detour *d = (void *)g.buf;
	struct x86_detour *slot;
	unsigned int i;
	int ret;

	ret = x86_reach_plan(p, &plan);
	if (ret)
		return ret;

	slot = get_detour_slot();
	if (!slot)
		return -ENOMEM;

	memset(&g, 0, sizeof(g));
	memset(g.buf, INT3_INSN_OPCODE, sizeof(g.buf));
	memset(d, 0, sizeof(*d));
	g.slot = (unsigned long)slot;
	d->p = p;
	d->addr = (u8 *)p->addr;
	d->live = true;
	d->nr = plan.nr;
	d->total = plan.total;
	memcpy(d->orig, p->addr, sizeof(d->orig));
	for (i = 0; i < plan.nr; i++) {
		u8 *to = d->orig + plan.insn[i].from;
		size_t room = sizeof(d->orig) - plan.insn[i].from;

		memcpy(to, plan.insn[i].text, min_t(size_t, room, plan.insn[i].len));
	}
	ret = generate(&g, d, p, &plan);
	if (ret) {
		free_detour_slot(slot, false);
		return ret;
	}
	perf_event_text_poke(slot, NULL, 0, g.buf, sizeof(g.buf));
	text_poke_copy(slot, g.buf, sizeof(g.buf));

	p->ainsn.detour = slot;
	/* Hits go there as soon as they see it. */
	smp_store_release(&p->ainsn.copy, (kprobe_opcode_t *)x86_detour_exec(slot, 0));
	return 0;
}

/* ------------------------------ Patching -------------------------------- */

static void jump_text(struct kprobe *p, u8 *text)
{
	struct x86_detour *d = p->ainsn.detour;

	__text_gen_insn(text, JMP32_INSN_OPCODE, p->addr, (u8 *)d + d->entry,
			JMP32_INSN_SIZE);
}

/**
 * arch_detour_arm - put the jumps in
 * @points: breakpoints with detours, by ascending address
 *
 * Context: kprobe_mutex held; may sleep. No task rests in the bytes behind any
 * of the breakpoints.
 */
void arch_detour_arm(struct list_head *points)
{
	u8 text[JMP32_INSN_SIZE];
	struct kprobe *p;

	mutex_lock(&text_mutex);
	list_for_each_entry(p, points, list) {
		jump_text(p, text);
		text_poke_queue(p->addr, text, sizeof(text), NULL);
	}
	text_poke_finish();
	mutex_unlock(&text_mutex);
}

/* Hits that are in the detour, but not yet in a handler, look up the point. */
static void retire(struct kprobe *p)
{
	struct x86_detour *d = p->ainsn.detour;
	u8 never = false, trap = INT3_INSN_OPCODE;

	WRITE_ONCE(p->ainsn.copy, p->ainsn.slot);
	text_poke(&d->live, &never, 1);
	if (d->branch)
		text_poke((u8 *)d + d->branch, &trap, INT3_INSN_SIZE);
}

/**
 * x86_detour_trap - a breakpoint that is not one of a point
 * @regs: registers of the trap
 *
 * Context: in the exception, interrupts off.
 * Return: true if it was that of a detour whose jump is gone: its hit goes to
 * the dispatcher.
 */
__kprobe_hit bool x86_detour_trap(struct pt_regs *regs)
{
	unsigned long addr = regs->ip - INT3_INSN_SIZE;
	const struct x86_detour *d = x86_detour_at(addr);

	if (!d || !d->branch || addr != (unsigned long)d + d->branch)
		return false;
	/* The distance is what it was. */
	regs->ip = addr + JCC32_INSN_SIZE + *(s32 *)(addr + 2);
	return true;
}

/**
 * arch_detour_disarm - take the jumps out
 * @points:	points with detours, by ascending address
 * @jumps:	they are jumps; otherwise only their detours are given up
 * @breakpoint: they are to be breakpoints again; otherwise nothing
 *
 * On return nothing enters the detours any more, and after the next
 * arch_kprobes_sync() the hits in them go by what the table of points says.
 * arch_detour_free() gives them back, after that.
 *
 * Context: kprobe_mutex held; may sleep.
 */
void arch_detour_disarm(struct list_head *points, bool jumps, bool breakpoint)
{
	u8 jump[JMP32_INSN_SIZE], text[JMP32_INSN_SIZE];
	struct kprobe *p;

	mutex_lock(&text_mutex);
	if (jumps) {
		list_for_each_entry(p, points, list) {
			jump_text(p, jump);
			memcpy(text, p->ainsn.detour->orig, sizeof(text));
			if (breakpoint)
				text[0] = INT3_INSN_OPCODE;
			/* Who comes meanwhile takes the jump. */
			text_poke_queue(p->addr, text, sizeof(text), jump);
		}
		text_poke_finish();
	}
	list_for_each_entry(p, points, list)
		retire(p);
	mutex_unlock(&text_mutex);
}

/**
 * arch_detour_free - give a detour back
 * @p: the point
 *
 * Context: kprobe_mutex held; may sleep. After arch_detour_disarm() of the
 * point, if it has been given a detour at all, and arch_kprobes_sync().
 */
void arch_detour_free(struct kprobe *p)
{
	struct x86_detour *d = p->ainsn.detour;

	if (!d || READ_ONCE(d->live))
		return;
	WRITE_ONCE(p->ainsn.detour, NULL);
	free_detour_slot(d, true);
}

/* ----------------------- Faults and stack traces ------------------------ */

/**
 * x86_detour_unwind - how the stack looks somewhere in a detour
 * @d:	  the detour
 * @ip:	  where
 * @same: set to the address at which it looks the same
 *
 * Context: any, preemption off.
 * Return: as kprobe_unwind().
 */
__kprobe_hit enum kprobe_unwind x86_detour_unwind(const struct x86_detour *d,
						  unsigned long ip,
						  unsigned long *same)
{
	unsigned int at = ip - (unsigned long)d, i;

	if (at >= d->saved && at < d->restore)
		return KPROBE_UNWIND_REGS;
	if (at >= d->map[0].to && at < d->exec_end) {
		*same = (unsigned long)d->addr;
		/* The jump back */
		if (at >= d->exec_end - JMP32_INSN_SIZE) {
			*same += d->total;
			return KPROBE_UNWIND_SAME;
		}
		for (i = d->nr; i--;) {
			if (at >= d->map[i].to)
				break;
		}
		if (d->map[i].lost && at >= d->map[i].to + d->map[i].lost)
			return KPROBE_UNWIND_UNKNOWN;
		if (d->map[i].called && at >= d->map[i].to + d->map[i].called)
			return KPROBE_UNWIND_CALL;
		*same += d->map[i].from;
		return KPROBE_UNWIND_SAME;
	}
	if (!d->post)
		return at >= d->exec_end ? KPROBE_UNWIND_REGS : KPROBE_UNWIND_UNKNOWN;
	if (at == d->post) {
		*same = (unsigned long)d->addr;
		return KPROBE_UNWIND_SAME;
	}
	if ((at >= d->exec_end && at < d->post) ||
	    (at >= d->post_saved && at < d->post_restore))
		return KPROBE_UNWIND_REGS;
	return KPROBE_UNWIND_UNKNOWN;
}

/**
 * x86_detour_at - the detour around an address
 * @addr: any address
 *
 * Context: any, preemption off.
 * Return: the detour, or NULL if the address is in none.
 */
__kprobe_hit const struct x86_detour *x86_detour_at(unsigned long addr)
{
	if (!is_kprobe_optinsn_slot(addr))
		return NULL;
	return (void *)((addr & PAGE_MASK) +
			rounddown(addr & ~PAGE_MASK, __ARCH_KPROBE_DETOUR_SIZE));
}
