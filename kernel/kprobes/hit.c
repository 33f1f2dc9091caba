// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: what happens when a point is hit.
 *
 * This code runs in any context, with preemption off, while other CPUs register and
 * unregister probes. Nothing here may be probed or take a lock. Nothing here writes to
 * memory that another CPU reads, except to count missed hits, and to log a handler's
 * mistake, once.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <kunit/visibility.h>
#include <linux/export.h>
#include <linux/kprobes.h>
#include <linux/rculist.h>

#include "internal.h"

/**
 * get_kprobe - find the point at an address
 * @addr: the address
 *
 * Context: any. The point stays valid while preemption or interrupts are off, or
 * kprobe_mutex is held.
 * Return: the architecture's view of the point, or NULL if there is none.
 */
__kprobe_hit struct kprobe *get_kprobe(void *addr)
{
	struct kprobe_point *pt = kprobe_point_at((unsigned long)addr);

	if (likely(pt))
		return &pt->kp;
	/*
	 * The caller now checks whether the breakpoint is still there. The text that
	 * it reads must not be older than the table. Pairs with kprobe_points_disarm().
	 */
	smp_rmb();
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(get_kprobe);

/**
 * kprobe_run_all_pre - run the pre-handlers of a point, one after the other
 * @pt:	  the point
 * @regs: registers of the context that was hit
 *
 * Other CPUs may link and unlink users during the walk. A user, and the rest of the list
 * after it, stay valid until preemption is on again.
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
		if (user->run.pre && user->run.pre(user->run.self, regs))
			return 1;
	}
	return 0;
}

/**
 * kprobe_run_pre - run the pre-handlers of a point
 * @p:	  the point
 * @regs: registers of the context that was hit
 *
 * The architecture calls this for a hit, directly or as the pre_handler of @p. ftrace
 * sites and direct detours have shorter ways to the same handlers.
 *
 * Context: preemption off.
 * Return: non-zero if a handler has set the instruction pointer; no further handler
 * has run then.
 */
int __kprobe_hit kprobe_run_pre(struct kprobe *p, struct pt_regs *regs)
{
	return kprobe_point_run_pre(to_point(p), regs);
}

/**
 * kprobe_run_post - run the post-handlers of a point
 * @p:	   the point
 * @regs:  registers after the instruction
 * @flags: passed on to the handlers
 *
 * Context: as kprobe_run_pre().
 */
void __kprobe_hit kprobe_run_post(struct kprobe *p, struct pt_regs *regs,
				  unsigned long flags)
{
	struct kprobe_point *pt = to_point(p);
	struct kprobe_user *user;

	list_for_each_entry_lockless(user, &pt->users, list) {
		if (user->run.post && READ_ONCE(user->enabled))
			user->run.post(user->kp, regs, flags);
	}
}

/*
 * Count a missed hit for all probes of a point, or for those with a post-handler.
 *
 * Several CPUs may miss hits at once, and all must be counted. Missed hits are rare, so
 * an atomic is cheap enough.
 *
 * This writes to the callers' structures while another point is shown as running, so with
 * contexts kprobe_quiesce() does not see it in progress. But interrupts are off here, and
 * the CPU takes the interrupt of kprobe_quiesce() only after this is done. Without contexts
 * kprobe_quiesce() waits for a grace period, and preemption is off. There, functions that
 * enable interrupts may be probed. A hit in one of them is counted here, so this must not
 * call them.
 */
static __always_inline void count_missed(struct kprobe *p, bool post)
{
	struct kprobe_point *pt = to_point(p);
	struct kprobe_user *user;
	unsigned long flags;

	BUILD_BUG_ON(sizeof(user->kp->nmissed) != sizeof(atomic_long_t));
	if (IS_ENABLED(CONFIG_ARCH_HAS_KPROBE_CONTEXTS))
		raw_local_irq_save(flags);
	list_for_each_entry_lockless(user, &pt->users, list) {
		if (READ_ONCE(user->enabled) && (!post || user->run.post))
			raw_atomic_long_inc((atomic_long_t *)&user->kp->nmissed);
	}
	if (IS_ENABLED(CONFIG_ARCH_HAS_KPROBE_CONTEXTS))
		raw_local_irq_restore(flags);
}

/**
 * kprobes_inc_nmissed_count - count a missed hit for all probes of a point
 * @p: the point that was hit
 *
 * Context: any, preemption off.
 */
void __kprobe_hit kprobes_inc_nmissed_count(struct kprobe *p)
{
	count_missed(p, false);
}

#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
/**
 * kprobe_forgot_ip - test for a handler that returned non-zero for no reason
 * @addr: the point's address
 * @regs: registers that the handlers have left
 * @len:  length of the probed instruction in bytes
 *
 * Non-zero means that a handler has set the instruction pointer. If none has, it is where the
 * breakpoint left it, which is inside the instruction, unless that is as short as the
 * breakpoint and is to be skipped.
 *
 * Context: that of kprobe_run_pre().
 * Return: true if so: the instruction has to run. The log names the first such point.
 */
bool __kprobe_hit kprobe_forgot_ip(const void *addr, struct pt_regs *regs, unsigned int len)
{
	if (len <= __ARCH_KPROBE_IP_AFTER ||
	    instruction_pointer(regs) != (unsigned long)addr + __ARCH_KPROBE_IP_AFTER)
		return false;
	/* The probed code may hold locks that the console needs. */
	printk_deferred_once("kprobes: a handler at %pS returned non-zero, but has not set the instruction pointer\n",
			     addr);
	return true;
}

/**
 * kprobe_miss_post - count a hit whose post-handlers cannot run
 * @p: the point that was hit
 *
 * The displaced instruction has ended an interrupt, and the CPU is back in a context where
 * a handler runs. The pre-handlers of the hit have run.
 *
 * Context: that of kprobes_inc_nmissed_count().
 */
void __kprobe_hit kprobe_miss_post(struct kprobe *p)
{
	count_missed(p, true);
}
#endif

/**
 * dump_kprobe - print a point, before the architecture gives up
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
