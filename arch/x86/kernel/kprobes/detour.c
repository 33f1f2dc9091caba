// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes on x86: jump hits.
 *
 * A detour is code made for one point. It builds a struct pt_regs on the
 * stack, runs the handlers, restores the registers, executes the displaced
 * instructions and jumps to the instruction after them. There are two forms:
 *
 *  direct	the point has one probe, or its hits are counted. The detour calls the
 *		handlers itself if the hit is in task context and no handler is running
 *		there; all other hits go to the dispatcher.
 *  dispatched	all hits go to the dispatcher, detour_hit().
 *
 * If the handlers have not changed where execution continues, the detour restores
 * the registers and continues. Otherwise detour_leave() goes to regs->ip.
 *
 *	entry:	build pt_regs
 *		[direct: enter the handler's context, call it, leave it]
 *		[dispatched: detour_hit(head, regs)]
 *		restore
 *		[jump to where execution continues, if not here]
 *	exec:	displaced instructions
 *		jump back
 *	slow:	[direct: detour_hit(head, regs), back to restoring]
 *	...
 *	post:	the first displaced instruction, build pt_regs,
 *		detour_post(head, regs), restore, continue after it
 *
 * If there is a post-handler, the probed instruction is emulated where possible, and
 * exec is for missed hits. If it cannot be emulated, it runs at post.
 *
 * Late hits. A task may be preempted right after the jump, and continue when the point
 * is a breakpoint again, has other probes, or is gone. It must use neither the
 * handler nor the point that the detour knows; but if there still is a point, that
 * point has been hit. So when the jump is removed, hits in the detour take another
 * path: unless x86_detour::live is set, the dispatcher looks up the point by its
 * address. A direct detour has a branch to the dispatcher that the common hit does not
 * take. That branch becomes a breakpoint, the only safe change of running text
 * (SDM Vol. 3, 9.1.3), and the breakpoint handler takes the branch. Hits check
 * all of this after they have set kprobe_cpu::running. So once every CPU has been
 * interrupted, kprobe_quiesce() sees every hit that will call a handler from before
 * the change. The detour itself stays until no task can be in it: see slots.c.
 */
#include <linux/cleanup.h>
#include <linux/kmsan.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>

#include <asm/text-patching.h>

#include "detour.h"

/* ------------------------- Called by detours ---------------------------- */

/* The point that was hit. It stays while preemption is off. */
static __always_inline struct kprobe *detour_point(const struct x86_detour *d)
{
	struct kprobe *p;

	if (likely(READ_ONCE(d->live)))
		return d->p;
	p = get_kprobe(d->addr);
	return p && !kprobe_ftrace(p) ? p : NULL;
}

/*
 * Shows the point that was hit: its handlers run in @ctx from here on, where none were
 * running. Returns NULL if there is no point, or if it was gone before it was shown.
 */
static __always_inline struct kprobe *detour_show(const struct x86_detour *d,
						  unsigned int ctx)
{
	struct kprobe *p = NULL, *now;

	while ((now = detour_point(d)) != p) {
		p = now;
		kprobe_show(ctx, p);
	}
	return p;
}

/* The value that C code returns to the detour so that @next runs: see DETOUR_STAY. */
static __always_inline int detour_go_on(const struct x86_detour *d, struct pt_regs *regs,
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

/**
 * x86_detour_resume - continue at the address that a handler has chosen
 * @regs: registers that the handler has left
 *
 * The handler of one point may choose an address in the bytes that the jump of another
 * point has replaced, or will replace. Those instructions then run in its detour: no task
 * may enter the bytes once the detour is made, so that none is in them when they change.
 *
 * Context: where a hit runs; preemption off.
 */
void __kprobe_hit x86_detour_resume(struct pt_regs *regs)
{
	unsigned long ip = regs->ip;
	const struct x86_detour *d;
	unsigned int back;
	struct kprobe *p;

	/* This is not kernel text, and get_kprobe() must not be asked for ~0UL. */
	if (ip < TASK_SIZE_MAX)
		return;
	for (back = 1; back < JMP32_INSN_SIZE; back++) {
		p = get_kprobe((void *)(ip - back));
		d = p ? READ_ONCE(p->ainsn.detour) : NULL;
		if (d)
			regs->ip = x86_detour_ip(d, ip);
		if (regs->ip != ip)
			return;
	}
}

/**
 * detour_hit - the dispatcher: handle a hit that the detour does not handle itself
 * @d:	  the detour
 * @regs: registers of the code
 *
 * Context: called by the detour.
 * Return: DETOUR_STAY or one of DETOUR_LEAVE*.
 */
int __kprobe_hit detour_hit(struct x86_detour *d, struct pt_regs *regs)
{
	enum x86_detour_next next = DETOUR_EXEC;
	int called = 0, ret;
	unsigned long ip;
	unsigned int ctx;
	struct kprobe *p;

	/* Detours build the registers by instructions that KMSAN does not see. */
	kmsan_unpoison_entry_regs(regs);
	preempt_disable_notrace();
	ctx = kprobe_this_context();
	if (unlikely(kprobe_shown(ctx))) {
		p = detour_point(d);
		if (p)
			kprobes_inc_nmissed_count(p);
		goto out;
	}
	p = detour_show(d, ctx);
	if (unlikely(!p)) {
		/* The hit is late, and there is no point any more. */
	} else if (kprobe_run_pre(p, regs)) {
		if (!kprobe_forgot_ip(p->addr, regs, p->ainsn.len)) {
			x86_detour_resume(regs);
			next = DETOUR_AWAY;
		}
	} else if (!READ_ONCE(p->post_handler)) {
		/* Only the instruction is left to do. */
	} else if (x86_emulate(p, regs)) {
		if (p->ainsn.kind == X86_CALL)
			called = DETOUR_LEAVE_CALLED;
		else if (p->ainsn.kind == X86_CALL_IND)
			called = DETOUR_LEAVE_CALLED_UNCOUNTED;
		else if (p->ainsn.kind == X86_RET)
			called = DETOUR_LEAVE_RETURNED;
		/* For unwinders: see emit_save(). */
		regs->orig_ax = -1;
		ip = regs->ip;
		kprobe_run_post(p, regs, 0);
		if (unlikely(regs->ip != ip))
			x86_detour_resume(regs);
		next = regs->ip == (unsigned long)d->addr + d->map[0].len ?
		       DETOUR_NEXT : DETOUR_AWAY;
	} else if (d->post && p->ainsn.step == d->step) {
		next = DETOUR_POST;
	} else {
		/*
		 * The instruction faults, see X86_FAULT_TEXT. Or the hit is late, and the
		 * point or the post-handler was not there yet.
		 */
		regs->ip = (unsigned long)p->ainsn.step;
		next = DETOUR_AWAY;
	}
	kprobe_unshow(ctx);
out:
	preempt_enable_notrace();
	ret = detour_go_on(d, regs, next);
	return ret && called ? called : ret;
}

/**
 * detour_changed - leave a direct detour whose handler has changed regs->ip
 * @d:	  the detour
 * @regs: registers that the handler has left
 *
 * Or one whose pre-handler has returned non-zero without doing so. A post-handler has no
 * reason to choose the address that shows this, which is inside the instruction.
 *
 * Context: called by the detour, in the handler's context.
 * Return: DETOUR_LEAVE.
 */
int __kprobe_hit detour_changed(struct x86_detour *d, struct pt_regs *regs)
{
	if (kprobe_forgot_ip(d->addr, regs, d->map[0].len))
		regs->ip = x86_detour_exec(d, 0);
	else
		x86_detour_resume(regs);
	kprobe_unshow(KPROBE_CTX_TASK);
	preempt_enable_notrace();
	return DETOUR_LEAVE;
}

/**
 * detour_post - run the post-handlers after the probed instruction
 * @d:	  the detour
 * @regs: registers of the code
 *
 * Context: called by the detour.
 * Return: DETOUR_STAY or DETOUR_LEAVE.
 */
int __kprobe_hit detour_post(struct x86_detour *d, struct pt_regs *regs)
{
	unsigned long after = (unsigned long)d->addr + d->map[0].len;
	unsigned int ctx;
	struct kprobe *p;

	kmsan_unpoison_entry_regs(regs);
	preempt_disable_notrace();
	ctx = kprobe_this_context();
	/* If it is another point, its pre-handlers have not run for this hit. */
	if (unlikely(kprobe_shown(ctx))) {
		p = detour_point(d);
		if (p && p->ainsn.step == d->step)
			kprobe_miss_post(p);
	} else {
		p = detour_show(d, ctx);
		if (p && p->ainsn.step == d->step)
			kprobe_run_post(p, regs, 0);
		kprobe_unshow(ctx);
	}
	if (likely(regs->ip == after)) {
		preempt_enable_notrace();
		return DETOUR_STAY;
	}
	x86_detour_resume(regs);
	preempt_enable_notrace();
	return DETOUR_LEAVE;
}

/**
 * detour_resched - reschedule, if that was requested while the handler ran
 *
 * Context: called by the detour, after it has left the handler's context.
 */
void __kprobe_hit detour_resched(void)
{
	preempt_disable_notrace();
	preempt_enable_notrace();
}

/*
 * Does a debugger have a breakpoint in the bytes that the jump will replace? In
 * padding, which consists of breakpoints, comparing the text would not show it.
 */
static bool detour_debugged(const u8 *addr)
{
	unsigned int i;

	kprobe_assert_held(&text_mutex);
	/* The first byte, too: the point may have been too new for kprobe_has_text(). */
	for (i = 0; i < JMP32_INSN_SIZE; i++) {
		if (x86_text_debugged(addr[i], (unsigned long)addr + i))
			return true;
	}
	return false;
}

/*
 * Sends breakpoint hits to the detour. From here on debuggers leave alone the bytes that
 * the jump will replace. Returns false if a debugger has set a breakpoint there since the
 * plan was made. It cannot do so meanwhile: although it stops all CPUs, it patches no text
 * while text_mutex is held.
 */
static bool detour_divert(struct kprobe *p, struct x86_detour *slot)
{
	guard(mutex)(&text_mutex);
	if (detour_debugged(p->addr) ||
	    memcmp(p->addr + INT3_INSN_SIZE, slot->orig + INT3_INSN_SIZE,
		   JMP32_INSN_SIZE - INT3_INSN_SIZE))
		return false;
	WRITE_ONCE(p->ainsn.detour, slot);
	/* Hits go there as soon as they see it. */
	smp_store_release(&p->ainsn.copy, (kprobe_opcode_t *)x86_detour_exec(slot, 0));
	return true;
}

/**
 * arch_detour_prepare - make the detour of a point
 * @p: the point, a breakpoint
 *
 * From here on breakpoint hits continue in the detour, instead of in the bytes
 * that the jump will replace.
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0; a value of enum kprobe_why if there can be no jump; or, if there may be one
 * later, -ENOMEM, or -EBUSY because of a debugger.
 */
int arch_detour_prepare(struct kprobe *p)
{
	static struct x86_plan plan;	/* kprobe_mutex */
	static u8 buf[__ARCH_KPROBE_DETOUR_SIZE] __aligned(sizeof(long));
	struct x86_detour *d = (void *)buf;
	struct x86_detour *slot;
	unsigned int i;
	int ret;

	kprobe_assert_held(&kprobe_mutex);
	ret = x86_reach_plan(p, &plan);
	if (ret)
		return ret;

	slot = get_detour_slot();
	if (!slot)
		return -ENOMEM;

	memset(buf, INT3_INSN_OPCODE, sizeof(buf));
	memset(d, 0, sizeof(*d));
	d->p = p;
	d->addr = (u8 *)p->addr;
	d->step = p->ainsn.step;
	d->live = true;
	d->nr = plan.nr;
	d->total = plan.total;
	memcpy(d->orig, p->addr, sizeof(d->orig));
	for (i = 0; i < plan.nr; i++) {
		u8 *to = d->orig + plan.insn[i].from;
		size_t room = sizeof(d->orig) - plan.insn[i].from;

		memcpy(to, plan.insn[i].text, min_t(size_t, room, plan.insn[i].len));
	}
	ret = x86_detour_generate(d, slot, p, &plan);
	if (ret) {
		free_detour_slot(slot, false);
		return ret;
	}
	perf_event_text_poke(slot, NULL, 0, buf, sizeof(buf));
	text_poke_copy(slot, buf, sizeof(buf));

	if (!detour_divert(p, slot)) {
		/* No task can be in it, but it holds code that has to be erased. */
		free_detour_slot(slot, true);
		return -EBUSY;
	}
	return 0;
}

/* ------------------------------ Patching -------------------------------- */

static void detour_jump_text(struct kprobe *p, u8 *text)
{
	struct x86_detour *d = p->ainsn.detour;

	kprobe_assert_held(&text_mutex);
	__text_gen_insn(text, JMP32_INSN_OPCODE, p->addr, (u8 *)d + d->entry,
			JMP32_INSN_SIZE);
}

/**
 * arch_detour_arm - write the jumps
 * @points: breakpoints with detours, by ascending address
 *
 * Context: kprobe_mutex held; may sleep. No task is preempted in the bytes after
 * any of the breakpoints.
 */
void arch_detour_arm(struct list_head *points)
{
	u8 text[JMP32_INSN_SIZE];
	struct kprobe *p;

	kprobe_assert_held(&kprobe_mutex);
	/* Between the writes of a jump, CPUs are interrupted. None may come or go then. */
	guard(cpus_read_lock)();
	mutex_lock(&text_mutex);
	list_for_each_entry(p, points, list) {
		detour_jump_text(p, text);
		text_poke_queue(p->addr, text, sizeof(text), NULL);
	}
	text_poke_finish();
	mutex_unlock(&text_mutex);
}

/* Make hits that are in the detour but not yet in a handler look up the point. */
static void detour_retire(struct kprobe *p)
{
	struct x86_detour *d = p->ainsn.detour;
	u8 never = false, trap = INT3_INSN_OPCODE, was, *branch;

	kprobe_assert_held(&text_mutex);
	WRITE_ONCE(p->ainsn.copy, p->ainsn.slot);
	text_poke(&d->live, &never, 1);
	if (!d->branch)
		return;
	branch = (u8 *)d + d->branch;
	was = *branch;
	text_poke(branch, &trap, INT3_INSN_SIZE);
	perf_event_text_poke(branch, &was, INT3_INSN_SIZE, &trap, INT3_INSN_SIZE);
}

/**
 * x86_detour_trap - handle the breakpoint of a detour whose jump is gone
 * @regs: registers of a trap at no point
 *
 * Context: in the exception, interrupts off.
 * Return: true if it was such a breakpoint: the hit goes on to the dispatcher.
 */
__kprobe_hit bool x86_detour_trap(struct pt_regs *regs)
{
	unsigned long addr = regs->ip - INT3_INSN_SIZE;
	const struct x86_detour *d = x86_detour_at(addr);

	if (!d || !d->branch || addr != (unsigned long)d + d->branch)
		return false;
	/* Take the branch, whose distance is still there. */
	regs->ip = addr + JCC32_INSN_SIZE + *(s32 *)(addr + 2);
	return true;
}

/**
 * arch_detour_disarm - remove the jumps
 * @points:	points with detours, by ascending address
 * @jumps:	they are jumps; otherwise only their detours are retired
 * @breakpoint: they become breakpoints again; otherwise the original text is restored
 *
 * On return no hit enters the detours any more. After the next arch_kprobes_sync()
 * hits in them use the table of points, and arch_detour_free() may free the detours.
 *
 * Context: kprobe_mutex held; may sleep.
 */
void arch_detour_disarm(struct list_head *points, bool jumps, bool breakpoint)
{
	u8 jump[JMP32_INSN_SIZE], text[JMP32_INSN_SIZE];
	struct kprobe *p;

	kprobe_assert_held(&kprobe_mutex);
	/* As in arch_detour_arm(). */
	guard(cpus_read_lock)();
	mutex_lock(&text_mutex);
	if (jumps) {
		list_for_each_entry(p, points, list) {
			detour_jump_text(p, jump);
			memcpy(text, p->ainsn.detour->orig, sizeof(text));
			if (breakpoint)
				text[0] = INT3_INSN_OPCODE;
			/* CPUs that hit this meanwhile take the jump. */
			text_poke_queue(p->addr, text, sizeof(text), jump);
		}
		text_poke_finish();
	}
	list_for_each_entry(p, points, list) {
		detour_retire(p);
		cond_resched_tasks_rcu_qs();
	}
	mutex_unlock(&text_mutex);
}

/**
 * arch_detour_free - free a detour
 * @p: the point
 *
 * Context: kprobe_mutex held; may sleep. If the point has a detour, after
 * arch_detour_disarm() of the point and arch_kprobes_sync().
 */
void arch_detour_free(struct kprobe *p)
{
	struct x86_detour *d = p->ainsn.detour;

	kprobe_assert_held(&kprobe_mutex);
	if (!d || READ_ONCE(d->live))
		return;
	WRITE_ONCE(p->ainsn.detour, NULL);
	free_detour_slot(d, true);
}

/* ----------------------- Faults and stack traces ------------------------ */

/**
 * x86_detour_unwind - tell what the stack looks like at an address in a detour
 * @d:	  the detour
 * @ip:	  the address
 * @same: set to the address in the original text where it looks the same
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
 * x86_detour_at - find the detour that contains an address
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
