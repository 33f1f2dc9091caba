// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: fault handlers.
 *
 * A fault in a handler, or in a displaced instruction, is the architecture's
 * to notice. It finds the point and asks here. Which of several probes' handlers
 * it was that faulted is not known: to write it down would cost every hit. So
 * all of them are asked, in the order of their registration, until one says
 * that it has dealt with the fault.
 *
 * When a probe leaves, or is switched off, its last handler may still be
 * running, and fault. So fault handlers stay on a list of their own, and leave
 * that when the handlers are done; then it takes another round of waiting until
 * they, too, are done, for those who have one.
 */
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "internal.h"

/* Contexts whose faults are being asked about; a fault in there is not. */
static DEFINE_PER_CPU(unsigned int, asking);

/**
 * kprobe_has_fault - does a probe of a point have a fault handler?
 * @p: the point
 *
 * Context: any, preemption off.
 * Return: true if it is worth to call kprobe_run_fault().
 */
bool __kprobe_hit kprobe_has_fault(struct kprobe *p)
{
	return !list_empty(&to_point(p)->faulters);
}

/**
 * kprobe_run_fault - run the fault handlers of a point
 * @p:	    the point whose handlers run; kprobe_running() is this
 * @regs:   registers of the fault
 * @trapnr: which
 *
 * Faults of a fault handler do not come back to it.
 *
 * Context: in the exception, preemption off.
 * Return: non-zero if one of them has dealt with the fault: execution is to go
 * on with @regs.
 */
int __kprobe_hit kprobe_run_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	struct kprobe_point *pt = to_point(p);
	unsigned int bit = BIT(kprobe_this_context());
	struct kprobe_faulter *f;
	int ret = 0;

	if (raw_cpu_read(asking) & bit)
		return 0;
	raw_cpu_or(asking, bit);
	barrier();

	list_for_each_entry_lockless(f, &pt->faulters, list) {
		if (!READ_ONCE(f->on))
			continue;
		ret = f->handler(f->kp, regs, trapnr);
		if (ret)
			break;
	}

	barrier();
	raw_cpu_and(asking, ~bit);
	return ret;
}

/**
 * kprobe_fault_abandon - forget the fault handler that runs here
 *
 * Context: an oops, in the context of the handler; preemption off.
 */
void kprobe_fault_abandon(void)
{
	raw_cpu_and(asking, ~BIT(kprobe_this_context()));
}
NOKPROBE_SYMBOL(kprobe_fault_abandon);

/**
 * kprobe_fault_alloc - make room for a fault handler
 * @user: a user that is being made
 *
 * Context: may sleep.
 * Return: 0, also if the probe has none; or -ENOMEM.
 */
int kprobe_fault_alloc(struct kprobe_user *user)
{
	struct kprobe_faulter *f;

	if (!user->kp->fault_handler)
		return 0;
	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	INIT_LIST_HEAD(&f->list);
	f->kp = user->kp;
	f->handler = user->kp->fault_handler;
	user->faulter = f;
	return 0;
}

/**
 * kprobe_fault_free - the reverse
 * @user: a user that is being freed
 *
 * Context: any.
 */
void kprobe_fault_free(struct kprobe_user *user)
{
	if (user->faulter)
		kfree_rcu(user->faulter, rcu);
}

/**
 * kprobe_fault_add - hits are about to see a user
 * @user: it
 *
 * Context: kprobe_mutex held.
 */
void kprobe_fault_add(struct kprobe_user *user)
{
	struct kprobe_faulter *f = user->faulter;

	lockdep_assert_held(&kprobe_mutex);
	if (!f)
		return;
	f->on = user->enabled;
	list_add_tail_rcu(&f->list, &user->point->faulters);
}

/**
 * kprobe_fault_del - a user has left, and its handlers are done
 * @user: it
 *
 * Context: kprobe_mutex held.
 * Return: true if it has a fault handler, which may be running.
 */
bool kprobe_fault_del(struct kprobe_user *user)
{
	lockdep_assert_held(&kprobe_mutex);

	if (!user->faulter)
		return false;
	list_del_rcu(&user->faulter->list);
	return true;
}

/**
 * kprobe_fault_switch - a user is about to be enabled, or is off and done
 * @user: it
 * @on:	  which
 *
 * Context: kprobe_mutex held.
 * Return: true if it has a fault handler that was not so before; one that is
 * off from now on may be running.
 */
bool kprobe_fault_switch(struct kprobe_user *user, bool on)
{
	lockdep_assert_held(&kprobe_mutex);

	if (!user->faulter || user->faulter->on == on)
		return false;
	WRITE_ONCE(user->faulter->on, on);
	return true;
}
