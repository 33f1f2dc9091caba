// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: what happens when a point is hit.
 *
 * Runs with preemption off, at least, in any context, on any CPU, while points
 * and their users come and go. Nothing here may be probed, take a lock, or write
 * to what another CPU reads, but for the count of hits that are missed.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <kunit/visibility.h>
#include <linux/export.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/rculist.h>

#include "internal.h"

/**
 * get_kprobe - find the point at an address
 * @addr: the address
 *
 * Context: any, with preemption or interrupts off for as long as the point is
 * looked at, or kprobe_mutex held.
 * Return: what the architecture works with, or NULL if nothing is there.
 */
__kprobe_hit struct kprobe *get_kprobe(void *addr)
{
	struct kprobe_point *pt = kprobe_point_at((unsigned long)addr);

	if (likely(pt))
		return &pt->kp;
	/*
	 * Whose breakpoint was it? What the caller reads of the text now is no
	 * older than the table. Pairs with kprobe_points_disarm().
	 */
	smp_rmb();
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(get_kprobe);

/**
 * kprobe_run_all_pre - run the pre-handlers of a point with several probes
 * @pt:	  the point
 * @regs: registers of the context that was hit
 *
 * Users come and go while this runs. Both a user and what follows it stay valid
 * until preemption is on again.
 *
 * Context: as kprobe_run_pre().
 * Return: as kprobe_run_pre().
 */
noinline int __kprobe_hit kprobe_run_all_pre(struct kprobe_point *pt,
					     struct pt_regs *regs)
{
	struct kprobe_user *user;

	list_for_each_entry_lockless(user, &pt->users, list) {
		if (!READ_ONCE(user->enabled))
			continue;
		if (user->pre && user->pre(user->self, regs))
			return 1;
	}
	return 0;
}

/**
 * kprobe_run_pre - run the pre-handlers of a point
 * @p:	  the point
 * @regs: registers of the context that was hit
 *
 * Context: preemption off; called for every hit by the architecture, directly
 * or as the pre_handler of @p.
 * Return: non-zero as soon as a handler has decided where to go on.
 */
int __kprobe_hit kprobe_run_pre(struct kprobe *p, struct pt_regs *regs)
{
	return kprobe_point_run_pre(to_point(p), regs);
}

/**
 * kprobe_run_post - run the post-handlers of a point
 * @p:	   the point
 * @regs:  registers behind the instruction
 * @flags: passed on
 *
 * Context: as kprobe_run_pre().
 */
void __kprobe_hit kprobe_run_post(struct kprobe *p, struct pt_regs *regs,
				  unsigned long flags)
{
	struct kprobe_point *pt = to_point(p);
	struct kprobe_user *user;

	list_for_each_entry_lockless(user, &pt->users, list) {
		if (user->post && READ_ONCE(user->enabled))
			user->post(user->kp, regs, flags);
	}
}

/**
 * kprobes_inc_nmissed_count - a hit will not be handled
 * @p: the point that was hit
 *
 * Counts for each of its probes. Missed hits may come on several CPUs at once
 * and must all be counted, but they are the exception, so an atomic will do.
 *
 * The count is in the users' own structures, and kprobe_cpu::running shows
 * another point. Unregistering does not wait for what is not shown; but with
 * interrupts off this is outlasted by the interrupt that kprobe_quiesce() sends.
 *
 * Context: any, preemption off.
 */
void __kprobe_hit kprobes_inc_nmissed_count(struct kprobe *p)
{
	struct kprobe_point *pt = to_point(p);
	struct kprobe_user *user;
	unsigned long flags;

	BUILD_BUG_ON(sizeof(user->kp->nmissed) != sizeof(atomic_long_t));
	raw_local_irq_save(flags);
	list_for_each_entry_lockless(user, &pt->users, list) {
		if (READ_ONCE(user->enabled))
			raw_atomic_long_inc((atomic_long_t *)&user->kp->nmissed);
	}
	raw_local_irq_restore(flags);
}

/**
 * dump_kprobe - say what is known of a point, before the worst
 * @p: the point
 *
 * Context: any.
 */
void dump_kprobe(struct kprobe *p)
{
	struct kprobe_point *pt = to_point(p);

	pr_err("point at %pS: %u probes, %u enabled, flags %#x\n",
	       p->addr, pt->nr_users, pt->nr_enabled, p->flags);
}
NOKPROBE_SYMBOL(dump_kprobe);
