// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: points on ftrace sites.
 *
 * The call at a function's entry belongs to ftrace, which patches it itself.
 * A point there is armed by adding its address to the filter of one of two
 * ftrace_ops: probes with a post-handler announce by it, as ever, that they
 * mean to change the instruction pointer, so they go into the one that may
 * (IPMODIFY), of which ftrace allows only one user a function, livepatch for
 * instance; all others go into the one that coexists with anything.
 *
 * Points are added and removed a batch at a time, because ftrace walks all of
 * its records for each change of a filter. An empty filter means every
 * function, so the ops are registered only while they have one.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/cpumask.h>
#include <linux/ftrace.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "internal.h"

/**
 * struct ftrace_side - one of the two ops
 * @ops:   what ftrace knows
 * @nr:	   points armed in it
 * @since: which registration of either of them this one was
 */
struct ftrace_side {
	struct ftrace_ops ops;
	unsigned int nr;
	unsigned long since;
};

#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
/* Asks by itself whether the call is for the point: kprobe_ftrace_hit(). */
#define site_call	kprobe_ftrace_handler
#else
static void site_call(unsigned long ip, unsigned long parent_ip,
		      struct ftrace_ops *ops, struct ftrace_regs *fregs);
#endif

static struct ftrace_side plain_side = {
	.ops = {
		.func = site_call,
		.flags = FTRACE_OPS_FL_SAVE_REGS,
	},
};

static struct ftrace_side ipmodify_side = {
	.ops = {
		.func = site_call,
		.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
	},
};

/* How often one of them was registered; under kprobe_mutex. */
static unsigned long registrations;

/* Read by the architectures' handlers. */
bool kprobe_ftrace_disabled __read_mostly;

/**
 * kprobe_ftrace_kill - ftrace has found itself broken
 *
 * Context: any. On return no handler starts from an ftrace site any more.
 */
void kprobe_ftrace_kill(void)
{
	WRITE_ONCE(kprobe_ftrace_disabled, true);
}

/*
 * A point that moves from one of the ops to the other is in both for a while,
 * and ftrace calls both for one hit, one after the other: those first that were
 * registered last. Which of the calls counts must not change in between. So the
 * first call of a hit notes whether it has counted, and once that is known of
 * all hits, the second one goes by the note:
 *
 *	MOVE_NONE	the calls of kprobe_point::ops count
 *	MOVE_NOTED	so they do; the first call notes it
 *	MOVE_COUNTED	the calls of @by count; but the second call counts only
 *			if the first has not, whatever it went by
 *
 * Preemption is off from the one call to the other, so that an RCU grace period
 * separates the stages: no hit sees more than two of them, and no hit that sees
 * the last one has a first call that did not note.
 *
 * The notes are for each context of a CPU: hits nest. Stages and notes are
 * written with kprobe_mutex held, and by the calls.
 */
enum move_stage {
	MOVE_NONE,
	MOVE_NOTED,
	MOVE_COUNTED,
};

static struct {
	struct kprobe_point *pt;
	struct ftrace_ops *by;
	struct ftrace_ops *first;
	enum move_stage stage;
} move;

static DEFINE_PER_CPU(bool [KPROBE_NR_CTX], has_counted);

static noinline __kprobe_hit bool is_for_moving(struct kprobe_point *pt,
						struct ftrace_ops *ops)
{
	unsigned int ctx = kprobe_this_context();
	enum move_stage stage;
	bool counts;

	/* Pairs with the releases of the stage in count_by(). */
	stage = smp_load_acquire(&move.stage);

	if (stage == MOVE_COUNTED) {
		if (ops != move.first)
			return !raw_cpu_read(has_counted[ctx]);
		counts = ops == move.by;
	} else {
		counts = ops == READ_ONCE(pt->ops);
	}
	if (ops == move.first)
		raw_cpu_write(has_counted[ctx], counts);
	return counts;
}

/* Is a call of @ops for this point? Preemption is off. */
static __always_inline bool is_for(struct kprobe_point *pt, struct ftrace_ops *ops)
{
	if (unlikely(!pt))
		return false;
	/* Pairs with the end of count_by(): without a move, the ops are the new. */
	if (unlikely(pt == smp_load_acquire(&move.pt)))
		return is_for_moving(pt, ops);
	return likely(READ_ONCE(pt->ops) == ops);
}

#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
/* @resume is where the call goes on if no handler of ours decides. */
static __always_inline void ftrace_handle(struct kprobe_point *pt,
					  struct pt_regs *regs, unsigned long ip,
					  unsigned long resume, unsigned int ctx)
{
	unsigned long behind = ip + MCOUNT_INSN_SIZE;

	if (unlikely(kprobe_shown(ctx))) {
		kprobes_inc_nmissed_count(&pt->kp);
		return;
	}
	kprobe_show(ctx, &pt->kp);

	/*
	 * Other users of ftrace share these registers, and a live patch may
	 * have redirected the call already: what no handler of ours has
	 * decided stays as it is.
	 */
	instruction_pointer_set(regs, ip + __ARCH_KPROBE_IP_BEHIND);
	if (likely(!kprobe_point_run_pre(pt, regs))) {
		if (unlikely(READ_ONCE(pt->kp.post_handler))) {
			instruction_pointer_set(regs, behind);
			kprobe_run_post(&pt->kp, regs, 0);
			if (instruction_pointer(regs) != behind)
				resume = instruction_pointer(regs);
		}
		instruction_pointer_set(regs, resume);
	}

	kprobe_unshow(ctx);
}

static noinline void __kprobe_hit ftrace_handle_nested(struct kprobe_point *pt,
						       struct pt_regs *regs,
						       unsigned long ip)
{
	if (READ_ONCE(kprobe_ftrace_disabled))
		return;
	ftrace_handle(pt, regs, ip, instruction_pointer(regs), kprobe_this_context());
}

static __always_inline void ftrace_find_and_handle(struct pt_regs *regs,
						   unsigned long ip,
						   unsigned long resume,
						   struct ftrace_ops *ops)
{
	struct kprobe_point *pt;

	preempt_disable_notrace();
	pt = kprobe_point_at(ip);
	if (likely(pt) && (!ops || is_for(pt, ops))) {
		if (likely(kprobe_in_task(raw_cpu_read(kprobe_cpu.traps)) &&
			   !READ_ONCE(kprobe_ftrace_disabled)))
			ftrace_handle(pt, regs, ip, resume, KPROBE_CTX_TASK);
		else
			ftrace_handle_nested(pt, regs, ip);
	}
	preempt_enable_notrace();
}

/**
 * kprobe_ftrace_hit - ftrace calls one of our ops
 * @regs: registers behind the site
 * @ip:	  the site
 * @ops:  which
 *
 * Handlers see what a breakpoint would show them. Interrupts are as the caller
 * of the function has them.
 *
 * Context: any that calls traced functions.
 */
void __kprobe_hit kprobe_ftrace_hit(struct pt_regs *regs, unsigned long ip,
				    struct ftrace_ops *ops)
{
	ftrace_find_and_handle(regs, ip, instruction_pointer(regs), ops);
}

/**
 * kprobe_ftrace_call_hit - ftrace calls the architecture's trampoline
 * @regs: registers behind the site
 *
 * That happens where nobody else is interested in the function, so there is no
 * question which of the ops it is for.
 *
 * Context: any that calls traced functions.
 */
void __kprobe_hit kprobe_ftrace_call_hit(struct pt_regs *regs)
{
	unsigned long behind = instruction_pointer(regs);

	ftrace_find_and_handle(regs, behind - MCOUNT_INSN_SIZE, behind, NULL);
}
#else /* !CONFIG_ARCH_HAS_KPROBE_CONTEXTS */

/*
 * These architectures' handlers find the point by its address and do not ask
 * which of the ops it is. Where a site's address is not that of the point, they
 * know how to find it: what is not known here is theirs.
 */
static void __kprobe_hit site_call(unsigned long ip, unsigned long parent_ip,
				   struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct kprobe_point *pt;

	preempt_disable_notrace();
	pt = kprobe_point_at(ip);
	if (!pt || is_for(pt, ops))
		kprobe_ftrace_handler(ip, parent_ip, ops, fregs);
	preempt_enable_notrace();
}

#endif /* CONFIG_ARCH_HAS_KPROBE_CONTEXTS */

/* Some bring a trampoline that is quicker than ftrace's own. */
void __weak arch_kprobe_ftrace_ops(struct ftrace_ops *ops)
{
}

static struct ftrace_side *side_of(struct kprobe_point *pt)
{
	return pt->ops == &ipmodify_side.ops ? &ipmodify_side : &plain_side;
}

/* A site that stays would be hit for nobody; memory comes back. */
static int side_forget(struct ftrace_side *side, unsigned long *ips, unsigned int nr)
{
	int ret;

	while ((ret = ftrace_set_filter_ips(&side->ops, ips, nr, 1, 0)) == -ENOMEM)
		schedule_timeout_uninterruptible(1);
	return ret;
}

/*
 * Adds addresses to the filter of a side, or removes them, in one go: ftrace
 * takes all of them or none.
 */
static int side_arm(struct ftrace_side *side, unsigned long *ips, unsigned int nr)
{
	int ret;

	if (!nr)
		return 0;
	ret = ftrace_set_filter_ips(&side->ops, ips, nr, 0, 0);
	if (ret)
		return ret;
	if (!side->nr) {
		arch_kprobe_ftrace_ops(&side->ops);
		ret = register_ftrace_function(&side->ops);
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
	/* ftrace fails here only when it has been killed: nothing runs then. */
	if (ret && !READ_ONCE(kprobe_ftrace_disabled))
		pr_warn("ftrace kept %u points: %d\n", nr, ret);
}

/* The addresses of the points on one side; how many is returned. */
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
 * Return: 0, or an error of ftrace's with none of them armed; -EBUSY if
 * another user of ftrace holds the right to change the instruction pointer;
 * -ENOMEM.
 */
int kprobe_ftrace_arm(struct list_head *points)
{
	size_t room = list_count_nodes(points);
	unsigned int nr_plain, nr_ipmodify;
	struct kprobe_point *pt;
	unsigned long *ips;
	int ret;

	lockdep_assert_held(&kprobe_mutex);
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
	return ret;
}

/**
 * kprobe_ftrace_disarm - disarm points on ftrace sites
 * @points: armed ones, linked by kprobe::list
 *
 * Works without memory too, if slower.
 *
 * Context: kprobe_mutex held; may sleep.
 */
void kprobe_ftrace_disarm(struct list_head *points)
{
	size_t room = list_count_nodes(points);
	struct kprobe_point *pt;
	unsigned long *ips;

	lockdep_assert_held(&kprobe_mutex);
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
 * From here on the calls of @new count. Both sides are armed: every hit that
 * begins after the first grace period calls both.
 */
static void count_by(struct kprobe_point *pt, struct ftrace_side *new)
{
	struct ftrace_side *old = side_of(pt);
	unsigned int ctx;
	int cpu;

	lockdep_assert_held(&kprobe_mutex);

	synchronize_rcu();
	/* What the last move has left. */
	for_each_possible_cpu(cpu) {
		for (ctx = 0; ctx < KPROBE_NR_CTX; ctx++)
			per_cpu(has_counted[ctx], cpu) = false;
	}
	move.by = &new->ops;
	move.first = new->since > old->since ? &new->ops : &old->ops;
	move.stage = MOVE_NOTED;
	/* Pairs with is_for(): a call that finds the move finds all of it. */
	smp_store_release(&move.pt, pt);
	synchronize_rcu();

	/* Pairs with is_for_moving(): what was noted is known by now. */
	smp_store_release(&move.stage, MOVE_COUNTED);
	synchronize_rcu();

	WRITE_ONCE(pt->ops, &new->ops);
	/* A call that finds no move finds the ops. */
	smp_store_release(&move.pt, NULL);
	/* One that has found the move, and now finds it done, likewise. */
	smp_store_release(&move.stage, MOVE_NONE);
}

/**
 * kprobe_ftrace_choose - a point has got its first post-handler or lost its last
 * @pt: a point on an ftrace site, armed or not
 *
 * Into the new filter first, then the calls of the new ops count, then out of
 * the old filter: a hit meanwhile is seen once.
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0; or -EBUSY or another error of ftrace's, or -ENOMEM, with nothing
 * changed.
 */
int kprobe_ftrace_choose(struct kprobe_point *pt)
{
	struct ftrace_side *new = pt->nr_want_post ? &ipmodify_side : &plain_side;
	struct ftrace_side *old = side_of(pt);
	unsigned long ip = pt->node.key;
	int ret;

	lockdep_assert_held(&kprobe_mutex);
	/* What is not armed is put where it belongs when it is. */
	if (pt->state != KPROBE_FTRACE || new == old)
		return 0;
	ret = side_arm(new, &ip, 1);
	if (ret)
		return ret;
	count_by(pt, new);
	side_disarm(old, &ip, 1);
	return 0;
}
