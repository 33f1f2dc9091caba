// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: points on ftrace sites.
 *
 * The call at a function's entry belongs to ftrace, which patches it. Arming a point
 * there adds its address to the filter of one of two ftrace_ops. A probe with a
 * post-handler may change the instruction pointer, so its point goes into the ops with
 * IPMODIFY. ftrace allows a function only one such user, and a live patch is one. All
 * other points go into the other ops, which coexists with any user.
 *
 * Points are added, moved and removed in batches, because ftrace walks all of its records
 * for each change of a filter, and a move takes three grace periods. An empty filter
 * selects all functions, so the ops are registered only while their filters have an entry.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/cpumask.h>
#include <linux/ftrace.h>
#include <linux/kmsan.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "internal.h"

/**
 * struct ftrace_side - one of the two ops
 * @ops:   registered with ftrace
 * @nr:	   number of points armed in it
 * @since: @registrations when it was registered
 */
struct ftrace_side {
	struct ftrace_ops ops;
	unsigned int nr;
	unsigned long since;
};

#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
/* The handler of the architecture calls kprobe_ftrace_hit(), which checks the ops. */
#define kprobe_ftrace_call	kprobe_ftrace_handler
#else
static void kprobe_ftrace_call(unsigned long ip, unsigned long parent_ip,
			       struct ftrace_ops *ops, struct ftrace_regs *fregs);
#endif

/*
 * Writing 0 to the sysctl kernel.ftrace_enabled would silence all points on ftrace sites.
 * PERMANENT makes that fail while there are any. If ftrace is off already, arming the
 * first point fails instead.
 */
static struct ftrace_side plain_side = {
	.ops = {
		.func = kprobe_ftrace_call,
		.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_PERMANENT,
	},
};

static struct ftrace_side ipmodify_side = {
	.ops = {
		.func = kprobe_ftrace_call,
		.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_PERMANENT |
			 FTRACE_OPS_FL_IPMODIFY,
	},
};

/* How often either of them was registered; protected by kprobe_mutex. */
static unsigned long registrations;

/* Read by the handlers of architectures. */
bool kprobe_ftrace_disabled __read_mostly;

/**
 * kprobe_ftrace_kill - stop handlers on ftrace sites, because ftrace is broken
 *
 * No hit of an ftrace site that begins after this runs handlers.
 *
 * Context: any.
 */
void kprobe_ftrace_kill(void)
{
	WRITE_ONCE(kprobe_ftrace_disabled, true);
}

/*
 * Points that move from one of the ops to the other are in both for a while, and
 * ftrace calls both for one hit, one after the other. The ops that were registered last
 * are called first. Exactly one of the calls has to count. So the first call of a hit
 * notes whether it has counted, and once all first calls do so, the second call follows
 * the note:
 *
 *	MOVE_NONE	the calls of kprobe_point::ops count
 *	MOVE_NOTED	the same; the first call notes whether it has counted
 *	MOVE_COUNTED	the first call counts if it is a call of @by; the second
 *			counts if the first has not
 *
 * Preemption is off from the first call to the second, and the stages are separated by an
 * RCU grace period and a wait for CPUs that come online, which RCU does not know. So no
 * hit sees more than two of them, and if a hit sees the last one, its first call has made
 * a note.
 *
 * Hits nest, so each context of a CPU has its own notes. Hits also nest within a context:
 * ftrace may mistake one context for another, once, in an interrupt that has not updated
 * preempt_count() yet. So a note is a bit, which the first call pushes and the second call
 * pops. The stages are written with kprobe_mutex held, the notes by the calls.
 *
 * The points of a batch are marked as moving one after the other, and the nested hit may be
 * of another point than the outer one:
 *
 * - While they are being marked, the nested hit may find its point marked in its second call
 *   only, and pops the note of the outer hit. No call needs it: both hits began before
 *   the grace period that ends MOVE_NOTED, and in that stage notes do not count yet.
 * - While the marks are being removed, the nested hit may find its point marked in its first
 *   call only, and leaves a note on top of that of the outer hit. The outer hit may take
 *   either: both first calls were made in MOVE_COUNTED, where all notes are the same.
 *
 * powerpc, for one, may reorder what a call reads: the mark of the point, then the stage, then
 * the ops. The first two reads are acquires. The move sets up all of @move before it sets a
 * mark, and at the end it writes the ops, then the mark, then the stage; the last two stores
 * are releases. So a call that sees a mark sees the stage MOVE_NOTED or a later one. One that
 * sees no mark any more, or that the last stage is over, sees the new ops. A CPU reads only
 * its own notes, and the first wait comes between the last call that used them and their
 * clearing.
 */
enum move_stage {
	MOVE_NONE,
	MOVE_NOTED,
	MOVE_COUNTED,
};

static struct {
	struct ftrace_ops *by;
	struct ftrace_ops *first;
	struct ftrace_ops *second;
	enum move_stage stage;
} move;

static DEFINE_PER_CPU(unsigned int [KPROBE_NR_CTX], has_counted);

static noinline __kprobe_hit bool kprobe_ftrace_moving(struct kprobe_point *pt,
						       struct ftrace_ops *ops)
{
	unsigned int ctx = kprobe_this_context(), notes;
	enum move_stage stage;
	bool counts;

	/* Pairs with the releases of the stage in sides_swap(). */
	stage = smp_load_acquire(&move.stage);

	counts = ops == (stage == MOVE_COUNTED ? move.by : READ_ONCE(pt->ops));
	notes = raw_cpu_read(has_counted[ctx]);
	if (ops == move.first) {
		raw_cpu_write(has_counted[ctx], notes << 1 | counts);
	} else if (ops == move.second) {
		raw_cpu_write(has_counted[ctx], notes >> 1);
		if (stage == MOVE_COUNTED)
			counts = !(notes & 1);
	}
	return counts;
}

/*
 * True if @ops is one of ours, but not the one that the point is armed in. Where ftrace has
 * one trampoline for all ops, a task may be preempted in it, and continue after ours have
 * become the only ones. It then passes the ops of another user, or none.
 */
static __always_inline bool kprobe_ftrace_other_side(struct kprobe_point *pt,
						     struct ftrace_ops *ops)
{
	return READ_ONCE(pt->ops) != ops &&
	       (ops == &plain_side.ops || ops == &ipmodify_side.ops);
}

/* Is a call of @ops for this point? Preemption is off. */
static __always_inline bool kprobe_ftrace_wanted(struct kprobe_point *pt, struct ftrace_ops *ops)
{
	if (unlikely(!pt))
		return false;
	/* Pairs with the end of sides_swap(): if the move is over, pt->ops is the new one. */
	if (unlikely(smp_load_acquire(&pt->moving)))
		return kprobe_ftrace_moving(pt, ops);
	return likely(!kprobe_ftrace_other_side(pt, ops));
}

#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
/*
 * @sp is the stack pointer at the site, or 0 if our own trampoline saved the registers:
 * then it follows from their address, so the common hit need not keep it.
 */
static __always_inline void kprobe_ftrace_leave(struct pt_regs *regs, unsigned long sp)
{
	arch_kprobe_ftrace_leave(regs, sp ?: __ARCH_KPROBE_FTRACE_SP(regs));
}

/* Execution continues at @resume, unless a handler decides otherwise. */
static __always_inline void kprobe_ftrace_handle(struct kprobe_point *pt,
						 struct pt_regs *regs, unsigned long ip,
						 unsigned long resume, unsigned long sp,
						 unsigned int ctx)
{
	unsigned long after = ip + MCOUNT_INSN_SIZE;

	if (unlikely(kprobe_shown(ctx))) {
		kprobes_inc_nmissed_count(&pt->kp);
		return;
	}
	kprobe_show(ctx, &pt->kp);

	/*
	 * Other users of ftrace share these registers, and a live patch may have
	 * redirected the call. Keep that, unless a handler decides otherwise.
	 */
	instruction_pointer_set(regs, ip + __ARCH_KPROBE_IP_AFTER);
	if (likely(!kprobe_point_run_pre(pt, regs))) {
		if (unlikely(READ_ONCE(pt->kp.post_handler))) {
			instruction_pointer_set(regs, after);
			kprobe_run_post(&pt->kp, regs, 0);
			if (instruction_pointer(regs) != after) {
				kprobe_ftrace_leave(regs, sp);
				resume = instruction_pointer(regs);
			}
		}
		instruction_pointer_set(regs, resume);
	} else if (kprobe_forgot_ip(pt->kp.addr, regs, MCOUNT_INSN_SIZE)) {
		instruction_pointer_set(regs, resume);
	} else {
		kprobe_ftrace_leave(regs, sp);
	}

	kprobe_unshow(ctx);
}

static noinline void __kprobe_hit kprobe_ftrace_handle_nested(struct kprobe_point *pt,
							      struct pt_regs *regs,
							      unsigned long ip,
							      unsigned long sp)
{
	if (READ_ONCE(kprobe_ftrace_disabled))
		return;
	kprobe_ftrace_handle(pt, regs, ip, instruction_pointer(regs), sp,
			     kprobe_this_context());
}

static __always_inline void kprobe_ftrace_find(struct pt_regs *regs,
					       unsigned long ip,
					       unsigned long resume, unsigned long sp,
					       struct ftrace_ops *ops)
{
	struct kprobe_point *pt;

	preempt_disable_notrace();
	pt = kprobe_point_at(ip);
	if (likely(pt) && (!ops || kprobe_ftrace_wanted(pt, ops))) {
		if (likely(kprobe_in_task(raw_cpu_read(kprobe_cpu.traps)) &&
			   !READ_ONCE(kprobe_ftrace_disabled)))
			kprobe_ftrace_handle(pt, regs, ip, resume, sp, KPROBE_CTX_TASK);
		else
			kprobe_ftrace_handle_nested(pt, regs, ip, sp);
	}
	preempt_enable_notrace();
}

/**
 * kprobe_ftrace_hit - handle a call from ftrace
 * @regs: registers after the site
 * @ip:	  the site
 * @ops:  the ops that ftrace calls
 *
 * Handlers see the same registers as for a breakpoint. Interrupts are on or off as in
 * the caller of the function.
 *
 * Context: any that calls traced functions.
 */
void __kprobe_hit kprobe_ftrace_hit(struct pt_regs *regs, unsigned long ip,
				    struct ftrace_ops *ops)
{
	kprobe_ftrace_find(regs, ip, instruction_pointer(regs), kernel_stack_pointer(regs),
			   ops);
}

/**
 * kprobe_ftrace_call_hit - handle a call from the architecture's trampoline
 * @regs: registers after the site
 *
 * ftrace calls the trampoline only if the function has no other user, so there is no
 * need to check the ops.
 *
 * Context: any that calls traced functions.
 */
void __kprobe_hit kprobe_ftrace_call_hit(struct pt_regs *regs)
{
	unsigned long after = instruction_pointer(regs);

	kmsan_unpoison_entry_regs(regs);
	kprobe_ftrace_find(regs, after - MCOUNT_INSN_SIZE, after, 0, NULL);
}
#else /* !CONFIG_ARCH_HAS_KPROBE_CONTEXTS */

/*
 * The handlers of these architectures find the point by its address, and do not check the
 * ops. If the point is not at the address of the site, they know how to find it, so a call
 * for an unknown address is left to them.
 *
 * There are no registers if a task was preempted in a trampoline that saves none, and the
 * tracer that it was about to call is gone. If our ops are the only ones left, ftrace calls
 * them directly. No point was armed there when the task entered the trampoline, so this is
 * not a hit.
 */
static void __kprobe_hit kprobe_ftrace_call(unsigned long ip, unsigned long parent_ip,
					    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct kprobe_point *pt;

	if (!ftrace_get_regs(fregs))
		return;
	preempt_disable_notrace();
	pt = kprobe_point_at(ip);
	if (!pt || kprobe_ftrace_wanted(pt, ops))
		kprobe_ftrace_handler(ip, parent_ip, ops, fregs);
	preempt_enable_notrace();
}

#endif /* CONFIG_ARCH_HAS_KPROBE_CONTEXTS */

/* An architecture may set a trampoline that is faster than ftrace's. */
void __weak arch_kprobe_ftrace_ops(struct ftrace_ops *ops)
{
}

static struct ftrace_side *side_of(struct kprobe_point *pt)
{
	return pt->ops == &ipmodify_side.ops ? &ipmodify_side : &plain_side;
}

/* A site must not stay in the filter, so try until there is memory. */
static int side_forget(struct ftrace_side *side, unsigned long *ips, unsigned int nr)
{
	int ret;

	while ((ret = ftrace_set_filter_ips(&side->ops, ips, nr, 1, 0)) == -ENOMEM)
		schedule_timeout_uninterruptible(1);
	return ret;
}

/*
 * With IPMODIFY, ftrace asks the owners of direct trampolines. An owner that is busy returns
 * -EAGAIN. Give up after many tries: it may be waiting for something that we hold.
 */
static bool side_try_again(int *ret, unsigned int *tries)
{
	if (*ret != -EAGAIN)
		return false;
	if (++*tries == 100) {
		*ret = -EBUSY;
		return false;
	}
	schedule_timeout_uninterruptible(1);
	return true;
}

/* Adds addresses to the filter of a side. ftrace takes all of them or none. */
static int side_arm(struct ftrace_side *side, unsigned long *ips, unsigned int nr)
{
	unsigned int tries = 0;
	int ret;

	if (!nr)
		return 0;
	do {
		ret = ftrace_set_filter_ips(&side->ops, ips, nr, 0, 0);
	} while (side_try_again(&ret, &tries));
	if (ret)
		return ret;
	if (!side->nr) {
		arch_kprobe_ftrace_ops(&side->ops);
		do {
			ret = register_ftrace_function(&side->ops);
		} while (side_try_again(&ret, &tries));
		if (ret) {
			side_forget(side, ips, nr);
			return ret;
		}
		side->since = ++registrations;
	}
	side->nr += nr;
	return 0;
}

static void side_disarm(struct ftrace_side *side, unsigned long *ips, unsigned int nr)
{
	int ret = 0;

	if (!nr)
		return;
	side->nr -= nr;
	if (!side->nr)
		ret = unregister_ftrace_function(&side->ops);
	if (!ret)
		ret = side_forget(side, ips, nr);
	/* ftrace fails here only if it has been killed. Then no handler runs. */
	if (ret && !READ_ONCE(kprobe_ftrace_disabled))
		pr_warn("cannot remove %u points from ftrace: %d\n", nr, ret);
}

/* ftrace does not say which of the sites it refuses. */
static int side_refused(struct list_head *points, int err)
{
	struct kprobe_point *pt = list_first_entry(points, struct kprobe_point, kp.list);

	return kprobe_refuse(pt->node.key, err,
			     list_is_singular(points) ? "ftrace refuses this site" :
			     "ftrace refuses this site or another one of the batch");
}

/* Collects the addresses of the points on a side, and returns their number. */
static unsigned int side_ips(struct ftrace_side *side, struct list_head *points,
			     unsigned long *ips)
{
	struct kprobe_point *pt;
	unsigned int nr = 0;

	list_for_each_entry(pt, points, kp.list) {
		if (side_of(pt) == side)
			ips[nr++] = pt->node.key;
	}
	return nr;
}

/**
 * kprobe_ftrace_arm - arm points on ftrace sites
 * @points: linked by kprobe::list
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0; or, with none of them armed, -EBUSY if a function has another user with
 * IPMODIFY, or a direct trampoline that cannot share it, or if ftrace is switched off;
 * another error from ftrace; or -ENOMEM.
 */
int kprobe_ftrace_arm(struct list_head *points)
{
	size_t room = list_count_nodes(points);
	unsigned int nr_plain, nr_ipmodify;
	struct kprobe_point *pt;
	unsigned long *ips;
	int ret;

	kprobe_assert_held(&kprobe_mutex);
	ips = kvmalloc_array(room, sizeof(*ips), GFP_KERNEL);
	if (!ips)
		return -ENOMEM;
	list_for_each_entry(pt, points, kp.list)
		pt->ops = pt->nr_want_post ? &ipmodify_side.ops : &plain_side.ops;

	nr_plain = side_ips(&plain_side, points, ips);
	nr_ipmodify = side_ips(&ipmodify_side, points, ips + nr_plain);
	ret = side_arm(&plain_side, ips, nr_plain);
	if (!ret) {
		ret = side_arm(&ipmodify_side, ips + nr_plain, nr_ipmodify);
		if (ret)
			side_disarm(&plain_side, ips, nr_plain);
	}
	kvfree(ips);
	return ret ? side_refused(points, ret) : 0;
}

/**
 * kprobe_ftrace_disarm - disarm points on ftrace sites
 * @points: armed ones, linked by kprobe::list
 *
 * Without memory this is slower, but it still works.
 *
 * Context: kprobe_mutex held; may sleep.
 */
void kprobe_ftrace_disarm(struct list_head *points)
{
	size_t room = list_count_nodes(points);
	struct kprobe_point *pt;
	unsigned long *ips;

	kprobe_assert_held(&kprobe_mutex);
	ips = kvmalloc_array(room, sizeof(*ips), GFP_KERNEL | __GFP_NOWARN);
	if (ips) {
		side_disarm(&plain_side, ips, side_ips(&plain_side, points, ips));
		side_disarm(&ipmodify_side, ips, side_ips(&ipmodify_side, points, ips));
		kvfree(ips);
		return;
	}
	list_for_each_entry(pt, points, kp.list) {
		unsigned long ip = pt->node.key;

		side_disarm(side_of(pt), &ip, 1);
	}
}

/*
 * Does the architecture have its own trampoline for this side? Its calls count for either
 * of the ops, see kprobe_ftrace_call_hit(). If so, the trampoline that all ops share walks
 * the list of all ops, with preemption off, even if ours are the only ones.
 */
static bool side_has_own_trampoline(struct ftrace_side *side)
{
	return side->ops.trampoline &&
	       !(side->ops.flags & FTRACE_OPS_FL_ALLOC_TRAMP);
}

/*
 * Waits until each call that began before has ended, also on a CPU that comes online. A task
 * may have been preempted in a trampoline of ftrace, before it has called anything (@tasks).
 */
static void sides_wait(bool tasks)
{
	kprobe_wait_for_unwatched();
	if (tasks)
		kprobe_wait_for_tasks();
	else
		synchronize_rcu();
}

/*
 * Makes the calls of @new count at points of @old. Both sides are armed there: every hit
 * that begins after the first wait calls both. One that began before may be in a trampoline
 * of ftrace that calls only @old.
 */
static void sides_swap(struct list_head *points, struct ftrace_side *old,
		       struct ftrace_side *new)
{
	struct kprobe_point *pt;
	unsigned int ctx;
	int cpu;

	sides_wait(!side_has_own_trampoline(old));
	/* Clear the notes of the last move. */
	for_each_possible_cpu(cpu) {
		for (ctx = 0; ctx < KPROBE_NR_CTX; ctx++)
			per_cpu(has_counted[ctx], cpu) = 0;
	}
	move.by = &new->ops;
	move.first = new->since > old->since ? &new->ops : &old->ops;
	move.second = new->since > old->since ? &old->ops : &new->ops;
	move.stage = MOVE_NOTED;
	list_for_each_entry(pt, points, kp.list) {
		/* Pairs with kprobe_ftrace_wanted(): a call that sees the move sees all of it. */
		smp_store_release(&pt->moving, true);
	}
	sides_wait(false);

	kprobe_test_stage(KPROBE_STAGE_NOTED);
	/* Pairs with kprobe_ftrace_moving(): all first calls have made their notes. */
	smp_store_release(&move.stage, MOVE_COUNTED);
	sides_wait(false);

	list_for_each_entry(pt, points, kp.list) {
		WRITE_ONCE(pt->ops, &new->ops);
		/* A call that sees no move sees the new ops. */
		smp_store_release(&pt->moving, false);
	}
	/* So does a call that has seen the move, and now sees it is over. */
	smp_store_release(&move.stage, MOVE_NONE);
}

static int side_move(struct list_head *points, struct ftrace_side *old,
		     struct ftrace_side *new)
{
	size_t room = list_count_nodes(points);
	unsigned long *ips;
	unsigned int nr;
	int ret;

	ips = kvmalloc_array(room, sizeof(*ips), GFP_KERNEL);
	if (!ips)
		return -ENOMEM;
	nr = side_ips(old, points, ips);
	ret = side_arm(new, ips, nr);
	if (!ret) {
		sides_swap(points, old, new);
		side_disarm(old, ips, nr);
	}
	kvfree(ips);
	return ret ? side_refused(points, ret) : 0;
}

/**
 * kprobe_ftrace_choose - choose the ops of points again
 * @points: linked by kprobe::list; their order may change
 * @post:   true: move points with a post-handler to the ops with IPMODIFY;
 *	    false: move points without one back to the plain ops
 *
 * Points that are not armed on ftrace sites are ignored: arming chooses the ops.
 *
 * First the points are added to the new filter. Then the calls of the new ops count in
 * place of the old ones. Then the points are removed from the old filter. A hit meanwhile
 * counts once.
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0, or an error of kprobe_ftrace_arm() with nothing changed.
 */
int kprobe_ftrace_choose(struct list_head *points, bool post)
{
	struct ftrace_side *old = post ? &plain_side : &ipmodify_side;
	struct ftrace_side *new = post ? &ipmodify_side : &plain_side;
	struct kprobe_point *pt, *next;
	LIST_HEAD(moving);
	int ret;

	kprobe_assert_held(&kprobe_mutex);
	list_for_each_entry_safe(pt, next, points, kp.list) {
		if (pt->state == KPROBE_FTRACE && side_of(pt) == old &&
		    !pt->nr_want_post == !post)
			list_move_tail(&pt->kp.list, &moving);
	}
	if (list_empty(&moving))
		return 0;
	ret = side_move(&moving, old, new);
	list_splice_tail(&moving, points);
	return ret;
}
