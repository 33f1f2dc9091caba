// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes on x86: a hit that comes as a jump.
 *
 * A detour is code made for one point. It completes a struct pt_regs on the
 * stack, runs the handlers, restores, executes the displaced instructions and
 * jumps back behind them. There are two forms:
 *
 *  direct	the point has one probe with no more than a pre-handler. The
 *		detour calls it itself, if the hit comes from a task's context
 *		in which no handler runs; all else goes to the dispatcher.
 *  dispatched	always goes there: detour_hit().
 *
 * From the dispatcher, execution goes on where regs->ip says: that may be in
 * the detour again, or where a handler wants it.
 *
 *	entry:	build pt_regs
 *		[direct: enter the handler's context, call it, leave it]
 *		restore
 *	exec:	displaced instructions
 *		jump back
 *	slow:	detour_hit(head, regs), go where regs->ip says
 *	...
 *	post:	the first displaced instruction, build pt_regs,
 *		detour_post(head, regs), go where regs->ip says
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

/* All that a direct detour does not do itself. */
static void __kprobe_hit detour_hit(struct x86_detour *d, struct pt_regs *regs)
{
	unsigned int ctx;
	struct kprobe *p;

	preempt_disable_notrace();
	ctx = kprobe_context(raw_cpu_read(kprobe_cpu.traps));
	if (unlikely(raw_cpu_read(kprobe_cpu.running[ctx]))) {
		p = point_of(d);
		if (p)
			kprobes_inc_nmissed_count(p);
		regs->ip = x86_detour_exec(d, 0);
		goto out;
	}
	p = enter(d, ctx);
	if (unlikely(!p)) {
		regs->ip = x86_detour_exec(d, 0);
	} else if (kprobe_run_pre(p, regs)) {
		regs->ip = x86_detour_ip(d, regs->ip);
	} else if (!READ_ONCE(p->post_handler)) {
		regs->ip = x86_detour_exec(d, 0);
	} else if (x86_emulate(p, regs)) {
		kprobe_run_post(p, regs, 0);
		regs->ip = x86_detour_ip(d, regs->ip);
	} else if (d->post) {
		regs->ip = (unsigned long)d + d->post;
	} else {
		/* The hit is late, and the post-handler was not there yet. */
		regs->ip = (unsigned long)p->ainsn.step;
	}
	leave(ctx);
out:
	preempt_enable_notrace();
}

/* The handler that a direct detour has called wants to go elsewhere. */
static void __kprobe_hit detour_changed(struct x86_detour *d, struct pt_regs *regs)
{
	regs->ip = x86_detour_ip(d, regs->ip);
	leave(KPROBE_CTX_TASK);
	preempt_enable_notrace();
}

/* Behind an instruction that a post-handler waits for. */
static void __kprobe_hit detour_post(struct x86_detour *d, struct pt_regs *regs)
{
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
	regs->ip = x86_detour_ip(d, regs->ip);
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
	long rel = target - (g->slot + g->nr + 4);

	if (rel != (s32)rel)
		g->far = true;
	emit32(g, rel);
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

/* Forward branches, to be completed by their land functions. */
static unsigned int emit_jcc8(struct gen *g, u8 cc)
{
	EMIT(g, 0x70 | cc, 0);
	return g->nr;
}

static void land8(struct gen *g, unsigned int from)
{
	if (g->nr > sizeof(g->buf))
		return;
	if (g->nr - from > 127)
		g->far = true;
	g->buf[from - 1] = g->nr - from;
}

static unsigned int emit_jcc32(struct gen *g, u8 cc)
{
	EMIT(g, 0x0f, 0x80 | cc, 0, 0, 0, 0);
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

static void emit_save(struct gen *g, unsigned long ip, unsigned int gap, bool cld)
{
	if (gap)
		EMIT(g, 0x48, 0x8d, 0x64, 0x24, -gap);	/* lea -gap(%rsp), %rsp */
	EMIT(g, 0x6a, __KERNEL_DS);			/* push $ss */
	EMIT(g, 0x54);					/* push %rsp, mended below */
	EMIT(g, 0x9c);					/* pushf */
	EMIT(g, 0x6a, __KERNEL_CS);			/* push $cs */
	EMIT(g, 0x68);					/* push $ip */
	emit32(g, ip);
	EMIT(g, 0x6a, 0xff);				/* push $-1: orig_ax */
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

/* func(head, regs), and on from where regs->ip says. */
static void emit_dispatch(struct gen *g, void *func)
{
	EMIT(g, 0x48, 0xc7, 0xc7);			/* mov $head, %rdi */
	emit32(g, g->slot);
	EMIT(g, 0x48, 0x89, 0xe6);			/* mov %rsp, %rsi */
	emit_call(g, func);
	emit_jmp(g, (unsigned long)detour_leave);
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

/* One displaced instruction that is at @addr. */
static void emit_displaced(struct gen *g, const struct x86_displaced *di,
			   unsigned long addr)
{
	const struct arch_specific_insn *a = &di->insn;
	unsigned long next = addr + di->len;
	unsigned int i;

	switch (a->kind) {
	case X86_NOP:
		break;
	case X86_JMP:
		emit_jmp(g, next + a->imm);
		break;
	case X86_CALL:
		/* The callee returns to where it would have: behind the jump. */
		EMIT(g, 0x68);
		emit32(g, next);
		emit_jmp(g, next + a->imm);
		break;
	case X86_CALL_IND:
		EMIT(g, 0x68);
		emit32(g, next);
		/* FF /2 is the call, FF /4 the jump (SDM Vol. 2, A.4). */
		i = g->nr;
		emit_copy(g, di, addr);
		if (g->nr <= sizeof(g->buf)) {
			while (g->buf[i] != 0xff)
				i++;
			g->buf[i + 1] = (g->buf[i + 1] & ~0x38) | 4 << 3;
		}
		break;
	case X86_JCC:
		EMIT(g, 0x0f, 0x80 | a->op);
		emit_rel32(g, next + a->imm);
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

/* Enters the handler's context, calls it, leaves it: see detour_hit(). */
static void emit_direct(struct gen *g, struct x86_detour *d, struct kprobe *only,
			kprobe_pre_handler_t handler, unsigned int branch[4])
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
	branch[1] = emit_jcc8(g, 5);			/* jnz, see retire() */
	d->branch = g->nr - 2;

	EMIT(g, 0x48, 0xbf);				/* mov $only, %rdi */
	emit64(g, (unsigned long)only);
	EMIT(g, 0x48, 0x89, 0xe6);			/* mov %rsp, %rsi */
	/* Only indirect calls need to find ENDBR. */
	if (is_endbr(*(u32 *)handler))
		handler = (void *)handler + ENDBR_INSN_SIZE;
	emit_call(g, handler);
	EMIT(g, 0x85, 0xc0);				/* test %eax, %eax */
	branch[2] = emit_jcc32(g, 5);			/* jnz */

	/* movq $0, running */
	EMIT_PERCPU(g, kprobe_cpu.running[KPROBE_CTX_TASK], 0x48, 0xc7, 0x04);
	emit32(g, 0);
	/* decl preempt_count, which is 0 if somebody wants the CPU */
	EMIT_PERCPU(g, pcpu_hot.preempt_count, 0xff, 0x0c);
	branch[3] = emit_jcc32(g, 4);			/* jz */
}

static int generate(struct gen *g, struct x86_detour *d, struct kprobe *p,
		    const struct x86_plan *plan)
{
	unsigned long addr = (unsigned long)p->addr;
	unsigned int branch[4], restored = 0, i;
	kprobe_pre_handler_t handler;
	struct kprobe *only;
	bool direct;

	only = kprobe_only(p, &handler);
	direct = only && !kprobe_wants_post(p);

	g->nr = sizeof(*d);
	d->entry = g->nr;
	emit_save(g, addr + INT3_INSN_SIZE, direct ? 0 : STACK_GAP, plan->std);
	d->saved = g->nr;
	if (direct) {
		emit_direct(g, d, only, handler, branch);
		restored = g->nr;
		d->restore = g->nr;
		emit_restore(g);
	} else {
		emit_dispatch(g, detour_hit);
		d->restore = g->nr;
	}

	for (i = 0; i < plan->nr; i++) {
		d->map[i].to = g->nr;
		d->map[i].from = plan->insn[i].from;
		d->map[i].len = plan->insn[i].len;
		emit_displaced(g, &plan->insn[i], addr + plan->insn[i].from);
	}
	emit_jmp(g, addr + plan->total);
	d->exec_end = g->nr;

	if (direct) {
		/* Not a task's context, or a late hit: as if never entered. */
		land8(g, branch[1]);
		EMIT_PERCPU(g, kprobe_cpu.running[KPROBE_CTX_TASK], 0x48, 0xc7, 0x04);
		emit32(g, 0);
		land32(g, branch[0]);
		EMIT_PERCPU(g, pcpu_hot.preempt_count, 0xff, 0x0c);
		emit_dispatch(g, detour_hit);
		land32(g, branch[2]);
		emit_dispatch(g, detour_changed);
		land32(g, branch[3]);
		emit_call(g, detour_resched);
		emit_jmp(g, g->slot + restored);
	}
	if (kprobe_wants_post(p) && p->ainsn.kind == X86_COPY) {
		d->post = g->nr;
		emit_copy(g, &plan->insn[0], addr);
		emit_save(g, addr + plan->insn[0].len, STACK_GAP, plan->std);
		d->post_saved = g->nr;
		emit_dispatch(g, detour_post);
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
	regs->ip = addr + JMP8_INSN_SIZE + *(s8 *)(addr + 1);
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
		/* A call that has pushed already, see emit_displaced() */
		if (at >= d->map[i].to + 5 && *((u8 *)d + d->map[i].to) == 0x68)
			return KPROBE_UNWIND_UNKNOWN;
		*same += d->map[i].from;
		return KPROBE_UNWIND_SAME;
	}
	if (at >= d->exec_end && (!d->post || at < d->post || at >= d->post_saved))
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
