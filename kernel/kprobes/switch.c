// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: switching probes off and on: one, many with a single change of the
 * text, or all.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/cleanup.h>
#include <linux/kprobes.h>
#include <linux/sched.h>

#include "internal.h"

/* The master switch of debugfs: off, nothing is armed. */
static bool switched_off;

/*
 * Who switches many probes, and wants the text changed once for all of them;
 * and the points whose text that is.
 */
static struct task_struct *holder;
static LIST_HEAD(held);

/* True if the text of a point is changed later, by kprobes_settle(). */
static bool hold(struct kprobe_point *pt)
{
	if (READ_ONCE(holder) != current)
		return false;
	list_move_tail(&pt->held, &held);
	return true;
}

/*
 * Waits for the handlers of what was switched off at these points; then for the
 * fault handlers, which those may have needed until then.
 */
static void quiesce_switched(struct list_head *points)
{
	struct kprobe_user *user;
	struct kprobe_point *pt;
	bool again = false;

	kprobe_quiesce(points);
	list_for_each_entry(pt, points, kp.list) {
		list_for_each_entry(user, &pt->users, list) {
			if (!user->enabled)
				again |= kprobe_fault_switch(user, false);
		}
	}
	if (again)
		kprobe_quiesce(points);
}

/**
 * disable_kprobe - switch a probe's handlers off
 * @p: a registered probe
 *
 * A point all of whose probes are off is disarmed: it costs nothing.
 *
 * Context: may sleep. Not from a handler.
 * Return: 0, also if it was off already; and no handler of the probe starts
 * any more. -EINVAL if it is not registered or its text is gone.
 */
int disable_kprobe(struct kprobe *p)
{
	struct kprobe_user *user;
	struct kprobe_point *pt;
	LIST_HEAD(batch);

	guard(mutex)(&kprobe_mutex);

	user = kprobe_user_of(p);
	if (!user || user->point->gone)
		return -EINVAL;
	if (!user->enabled)
		return 0;

	pt = user->point;
	WRITE_ONCE(user->enabled, false);
	kprobe_choose_only(pt);
	kprobe_count_user(user, -1);
	kprobe_report_flags(user);
	if (!pt->nr_enabled && hold(pt))
		return 0;
	kprobe_batch_add(pt, &batch);
	if (!pt->nr_enabled && pt->armed)
		kprobe_points_disarm(&batch);
	quiesce_switched(&batch);
	kprobe_batch_end(&batch);
	return 0;
}
EXPORT_SYMBOL_GPL(disable_kprobe);

/**
 * enable_kprobe - switch a probe's handlers on again
 * @p: a registered probe
 *
 * Context: may sleep. Not from a handler.
 * Return: 0, also if it was on already. -EINVAL if it is not registered or its
 * text is gone. Where the probe uses ftrace, an error of ftrace's, with the
 * probe still off.
 */
int enable_kprobe(struct kprobe *p)
{
	struct kprobe_user *user;
	struct kprobe_point *pt;
	LIST_HEAD(batch);
	int ret = 0;

	guard(mutex)(&kprobe_mutex);

	user = kprobe_user_of(p);
	if (!user || user->point->gone)
		return -EINVAL;
	if (user->enabled)
		return 0;

	pt = user->point;
	/* Whether ftrace lets it change the instruction pointer, it must hear. */
	if (!pt->armed && !switched_off && (pt->nr_want_post || !hold(pt))) {
		kprobe_batch_add(pt, &batch);
		ret = kprobe_points_arm(&batch);
		kprobe_batch_end(&batch);
		if (ret)
			return ret;
	}
	kprobe_count_user(user, 1);
	kprobe_fault_switch(user, true);
	WRITE_ONCE(user->enabled, true);
	kprobe_choose_only(pt);
	kprobe_report_flags(user);
	kprobe_optimizer_want(pt);
	return 0;
}
EXPORT_SYMBOL_GPL(enable_kprobe);

/*
 * One site that ftrace has given to somebody else meanwhile must not keep all
 * other probes off.
 */
static void arm_what_can_be(struct list_head *points)
{
	struct kprobe_point *pt, *next;
	LIST_HEAD(done);
	LIST_HEAD(one);
	int ret;

	list_for_each_entry_safe(pt, next, points, kp.list) {
		list_move(&pt->kp.list, &one);
		ret = kprobe_points_arm(&one);
		if (ret)
			pr_warn("%pS stays off: %d\n", pt->kp.addr, ret);
		list_splice_tail_init(&one, &done);
	}
	list_splice(&done, points);
}

/**
 * kprobes_hold - from here on change text for many switches at once
 *
 * What the caller switches with enable_kprobe() and disable_kprobe(), and the
 * same of return probes, has its full effect when kprobes_settle() returns: an
 * enabled probe may not be hit before, and a handler of a disabled one may
 * run. All that others do, and what the caller does otherwise, is as ever.
 *
 * Context: may sleep.
 * Return: true if kprobes_settle() is to be called; false if somebody else has
 * not settled yet, and each switch is on its own.
 */
bool kprobes_hold(void)
{
	return !cmpxchg(&holder, NULL, current);
}
EXPORT_SYMBOL_GPL(kprobes_hold);

/**
 * kprobes_settle - change the text for all that was switched
 *
 * A point that cannot be armed, for want of memory, stays off and the kernel's
 * log has it.
 *
 * Context: may sleep, the task that kprobes_hold() returned true to.
 */
void kprobes_settle(void)
{
	struct kprobe_point *pt, *next;
	LIST_HEAD(arm);
	LIST_HEAD(disarm);
	LIST_HEAD(quiet);
	bool on;

	guard(mutex)(&kprobe_mutex);

	WRITE_ONCE(holder, NULL);
	/* Others may have armed or disarmed some of them meanwhile. */
	list_for_each_entry_safe(pt, next, &held, held) {
		list_del_init(&pt->held);
		on = pt->nr_enabled && !switched_off;
		if (pt->gone || pt->armed == on)
			kprobe_batch_add(pt, &quiet);
		else
			kprobe_batch_add(pt, on ? &arm : &disarm);
	}

	if (kprobe_points_arm(&arm))
		arm_what_can_be(&arm);
	list_for_each_entry(pt, &arm, kp.list)
		kprobe_optimizer_want(pt);
	kprobe_batch_end(&arm);

	kprobe_points_disarm(&disarm);
	list_splice(&disarm, &quiet);
	if (!list_empty(&quiet))
		quiesce_switched(&quiet);
	kprobe_batch_end(&quiet);
}
EXPORT_SYMBOL_GPL(kprobes_settle);

/**
 * kprobes_switch - arm what is enabled, or disarm everything
 * @on: which
 *
 * Context: may sleep.
 */
void kprobes_switch(bool on)
{
	struct kprobe_point *pt;
	LIST_HEAD(batch);

	guard(mutex)(&kprobe_mutex);

	if (switched_off == !on)
		return;

	list_for_each_entry(pt, &kprobe_points, all) {
		if (!pt->gone && (on ? pt->nr_enabled && !pt->armed : pt->armed))
			kprobe_batch_add(pt, &batch);
	}
	if (on) {
		if (kprobe_points_arm(&batch))
			arm_what_can_be(&batch);
		list_for_each_entry(pt, &batch, kp.list)
			kprobe_optimizer_want(pt);
	} else {
		kprobe_points_disarm(&batch);
		kprobe_quiesce(&batch);
	}
	kprobe_batch_end(&batch);
	switched_off = !on;
}

/**
 * kprobes_switched_on - the state of the master switch
 *
 * Context: any.
 * Return: true if points are armed.
 */
bool kprobes_switched_on(void)
{
	return !READ_ONCE(switched_off);
}
