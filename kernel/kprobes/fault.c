// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: fault handlers.
 *
 * The architecture notices a fault in a handler, or in a displaced instruction, finds
 * the point, and calls kprobe_run_fault(). It is not known which handler has faulted:
 * recording that would slow down every hit. So the fault handlers of all probes of the
 * point run, in the order of registration, until one of them has handled the fault.
 *
 * While a probe is being unregistered or disabled, its last handler may still be running,
 * and may fault. So fault handlers are on a separate list, and leave it only after the
 * handlers have finished. If there are any, unregistering then waits a second time, for
 * the fault handlers.
 *
 * The return handler of a disabled return probe still runs for calls in flight. The fault
 * handler of such a probe is on only while that handler runs: see kretprobe_run_off().
 */
#include <kunit/visibility.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "internal.h"

/* A bit for each context in which a fault handler runs. Its own faults run no fault handler. */
static DEFINE_PER_CPU(unsigned int, fault_running);

/* By context, the fault handler of the disabled return probe whose return handler runs. */
static DEFINE_PER_CPU(struct kprobe_faulter *, fault_off[KPROBE_NR_CTX]);

/**
 * kprobe_fault_enter - let a fault handler run although its probe is disabled
 * @f: the fault handler; or NULL
 *
 * Context: preemption off, the point is shown.
 * Return: the argument for kprobe_fault_leave().
 */
struct kprobe_faulter *kprobe_fault_enter(struct kprobe_faulter *f)
{
	unsigned int ctx = kprobe_this_context();
	struct kprobe_faulter *prev = raw_cpu_read(fault_off[ctx]);

	raw_cpu_write(fault_off[ctx], f);
	barrier();
	return prev;
}

/**
 * kprobe_fault_leave - undo kprobe_fault_enter()
 * @prev: what that returned
 *
 * Context: that of kprobe_fault_enter().
 */
void kprobe_fault_leave(struct kprobe_faulter *prev)
{
	barrier();
	raw_cpu_write(fault_off[kprobe_this_context()], prev);
}

/**
 * kprobe_has_fault - test if a probe of a point has a fault handler
 * @p: the point
 *
 * Context: any, preemption off.
 * Return: false if kprobe_run_fault() would do nothing.
 */
bool __kprobe_hit kprobe_has_fault(struct kprobe *p)
{
	return !list_empty(&to_point(p)->faulters);
}

/**
 * kprobe_run_fault - run the fault handlers of a point
 * @p:	    the point; kprobe_running() returns it
 * @regs:   registers of the fault
 * @trapnr: number of the exception
 *
 * A fault in a fault handler runs no fault handler.
 *
 * Context: in the exception, preemption off.
 * Return: non-zero if one of them has handled the fault, and execution is to go
 * on with @regs.
 */
int __kprobe_hit kprobe_run_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	struct kprobe_point *pt = to_point(p);
	unsigned int ctx = kprobe_this_context(), bit = BIT(ctx);
	struct kprobe_faulter *f;
	int ret = 0;

	if (raw_cpu_read(fault_running) & bit)
		return 0;
	raw_cpu_or(fault_running, bit);
	barrier();

	list_for_each_entry_lockless(f, &pt->faulters, list) {
		if (!READ_ONCE(f->on) && f != raw_cpu_read(fault_off[ctx]))
			continue;
		ret = f->handler(f->kp, regs, trapnr);
		if (ret)
			break;
	}

	barrier();
	raw_cpu_and(fault_running, ~bit);
	return ret;
}

/**
 * kprobe_fault_abandon - forget the fault handler that runs, or could run, here
 *
 * Context: an oops, in the context of the handler; preemption off.
 */
void kprobe_fault_abandon(void)
{
	raw_cpu_and(fault_running, ~BIT(kprobe_this_context()));
	raw_cpu_write(fault_off[kprobe_this_context()], NULL);
}
NOKPROBE_SYMBOL(kprobe_fault_abandon);

/**
 * kprobe_fault_alloc - allocate the fault handler of a user
 * @user: a user that is being made
 *
 * Context: may sleep.
 * Return: 0, even if the probe has no fault handler; or -ENOMEM.
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
 * kprobe_fault_free - undo kprobe_fault_alloc()
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
 * kprobe_fault_add - add the fault handler of a user that is being linked
 * @user: the user
 *
 * Context: kprobe_mutex held.
 */
void kprobe_fault_add(struct kprobe_user *user)
{
	struct kprobe_faulter *f = user->faulter;

	kprobe_assert_held(&kprobe_mutex);
	if (!f)
		return;
	f->on = user->enabled;
	list_add_tail_rcu(&f->list, &user->point->faulters);
}

/**
 * kprobe_fault_del - remove the fault handler of a user whose handlers are done
 * @user: the user
 *
 * Context: kprobe_mutex held.
 * Return: true if there is one, which may still be running.
 */
bool kprobe_fault_del(struct kprobe_user *user)
{
	kprobe_assert_held(&kprobe_mutex);

	if (!user->faulter)
		return false;
	list_del_rcu(&user->faulter->list);
	return true;
}

/**
 * kprobe_fault_switch - switch the fault handler of a user on or off
 * @user: a user that is about to be enabled, or whose handlers are done
 * @on:	  on or off
 *
 * Context: kprobe_mutex held.
 * Return: true if this changed a fault handler. One that has been switched off may
 * still be running.
 */
bool kprobe_fault_switch(struct kprobe_user *user, bool on)
{
	kprobe_assert_held(&kprobe_mutex);

	if (!user->faulter || user->faulter->on == on)
		return false;
	WRITE_ONCE(user->faulter->on, on);
	return true;
}

#if IS_ENABLED(CONFIG_KUNIT)
/**
 * kprobe_test_fault_nests - cover a handler in the same context, as a late return may
 *
 * Context: task, no handler runs.
 * Return: true if the outer handler's faults are its own again afterwards.
 */
bool kprobe_test_fault_nests(void)
{
	struct kprobe_faulter outer = { }, inner = { }, *first, *second, *last;

	guard(preempt_notrace)();
	first = kprobe_fault_enter(&outer);
	second = kprobe_fault_enter(&inner);
	kprobe_fault_leave(second);
	last = kprobe_fault_enter(NULL);
	kprobe_fault_leave(first);
	return !first && second == &outer && last == &outer;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_fault_nests);
#endif
