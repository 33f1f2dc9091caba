// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: enabling and disabling probes, and switching all of them off and on. The text is
 * patched in one round.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/cleanup.h>
#include <linux/kprobes.h>

#include "internal.h"

/* The master switch in debugfs. While it is off, only a return trampoline may be armed. */
static bool switched_off;

/*
 * Waits for the handlers of the probes that were disabled at these points, and then
 * for their fault handlers, which faults in the handlers could call until then.
 */
static void kprobe_quiesce_switched(struct list_head *points)
{
	struct kprobe_user *user;
	struct kprobe_point *pt;
	bool again = false;

	kprobe_quiesce(points);
	kprobe_optimizer_free(points);
	list_for_each_entry(pt, points, kp.list) {
		list_for_each_entry(user, &pt->users, list) {
			if (!user->enabled)
				again |= kprobe_fault_switch(user, false);
		}
	}
	if (again)
		kprobe_quiesce(points);
}

/* -EINVAL if one of them is not registered, or its text is gone. */
static int kprobe_users_check(struct kprobe **kps, int num)
{
	struct kprobe_user *user;
	int i;

	for (i = 0; i < num; i++) {
		user = kps[i] ? kprobe_user_of(kps[i]) : NULL;
		if (user && !kprobe_point_gone(user->point))
			continue;
		kprobe_refuse(kprobe_stray_addr(kps[i]), -EINVAL,
			      user ? "cannot switch: its text is gone" :
				     "cannot switch: it is not registered");
		kprobe_refuse_batch(i, num, -EINVAL);
		return -EINVAL;
	}
	return 0;
}

static void kprobe_user_disable(struct kprobe_user *user)
{
	WRITE_ONCE(user->enabled, false);
	if (user->hook)
		kretprobe_switch(user->hook, false);
	kprobe_choose_only(user->point);
	kprobe_count_user(user, -1);
	kprobe_report_flags(user);
}

static void kprobe_user_enable(struct kprobe_user *user)
{
	kprobe_count_user(user, 1);
	kprobe_fault_switch(user, true);
	if (user->hook)
		kretprobe_switch(user->hook, true);
	WRITE_ONCE(user->enabled, true);
	kprobe_choose_only(user->point);
	kprobe_report_flags(user);
	kprobe_optimizer_want(user->point);
}

static int kprobe_users_disable(struct kprobe **kps, int num)
{
	struct kprobe_point *pt, *next;
	struct kprobe_user *user;
	LIST_HEAD(switched);
	LIST_HEAD(disarm);
	int i;

	for (i = 0; i < num; i++) {
		user = kprobe_user_of(kps[i]);
		if (!user->enabled)
			continue;
		kprobe_user_disable(user);
		kprobe_batch_add(user->point, &switched);
	}
	if (list_empty(&switched))
		return 0;

	list_for_each_entry_safe(pt, next, &switched, kp.list) {
		if (!pt->nr_enabled && kprobe_point_armed(pt))
			list_move_tail(&pt->kp.list, &disarm);
	}
	kprobe_points_disarm(&disarm);
	list_splice(&disarm, &switched);
	kprobe_quiesce_switched(&switched);
	kprobe_batch_end(&switched);
	return 0;
}

static int kprobe_users_enable(struct kprobe **kps, int num)
{
	struct kprobe_user *user;
	LIST_HEAD(arm);
	int i, ret;

	for (i = 0; i < num; i++) {
		user = kprobe_user_of(kps[i]);
		/* Even if it is enabled: kprobe_arm_possible() may have failed to arm it. */
		if (!kprobe_point_armed(user->point) && !switched_off)
			kprobe_batch_add(user->point, &arm);
	}
	ret = kprobe_points_arm(&arm);
	/* As in kprobes_switch(): other probes of the points may have been hit. */
	if (ret)
		kprobe_quiesce(&arm);
	kprobe_batch_end(&arm);
	if (ret)
		return ret;
	for (i = 0; i < num; i++) {
		user = kprobe_user_of(kps[i]);
		if (!user->enabled)
			kprobe_user_enable(user);
	}
	return 0;
}

static int kprobe_users_switch(struct kprobe **kps, int num, bool on)
{
	int ret;

	if (num <= 0 || !kps)
		return kprobe_refuse_call(on ? "enable" : "disable", kps, num);
	if (kprobe_deny_caller(on ? "enable" : "disable", *kps))
		return -EDEADLK;

	guard(mutex)(&kprobe_mutex);

	ret = kprobe_users_check(kps, num);
	if (ret)
		return ret;
	return on ? kprobe_users_enable(kps, num) : kprobe_users_disable(kps, num);
}

/**
 * disable_kprobes - disable many probes at once
 * @kps: registered probes
 * @num: how many
 *
 * The text is patched in one round for all. A point without an enabled probe is
 * disarmed, and costs nothing.
 *
 * Context: may sleep. Not from a handler.
 * Return: 0, even if some were already disabled: no handler of the probes is running or
 * will run, except return handlers of calls in flight. With nothing changed:
 * -EINVAL if one of them is not registered or its text is gone, if @num is not positive,
 * or @kps is NULL; -EDEADLK from a handler, or if the caller must not sleep.
 */
int disable_kprobes(struct kprobe **kps, int num)
{
	return kprobe_users_switch(kps, num, false);
}
EXPORT_SYMBOL_GPL(disable_kprobes);

/**
 * disable_kprobe - disable a probe
 * @p: a registered probe
 *
 * Context: may sleep. Not from a handler.
 * Return: as disable_kprobes().
 */
int disable_kprobe(struct kprobe *p)
{
	return disable_kprobes(&p, 1);
}
EXPORT_SYMBOL_GPL(disable_kprobe);

/**
 * enable_kprobes - enable many probes at once
 * @kps: registered probes
 * @num: how many
 *
 * The text is patched in one round for all. While all probes are switched off, by "enabled" in
 * debugfs, the handlers run once they are on again.
 *
 * Context: may sleep. Not from a handler.
 * Return: 0, even if some were already enabled. With nothing changed: -EINVAL if one of
 * them is not registered or its text is gone, if @num is not positive, or @kps is
 * NULL; -EDEADLK from a handler, or if the caller must not sleep; -ENOMEM or another
 * error from ftrace if a probe is on an ftrace site.
 */
int enable_kprobes(struct kprobe **kps, int num)
{
	return kprobe_users_switch(kps, num, true);
}
EXPORT_SYMBOL_GPL(enable_kprobes);

/**
 * enable_kprobe - enable a probe
 * @p: a registered probe
 *
 * Context: may sleep. Not from a handler.
 * Return: as enable_kprobes().
 */
int enable_kprobe(struct kprobe *p)
{
	return enable_kprobes(&p, 1);
}
EXPORT_SYMBOL_GPL(enable_kprobe);

/*
 * While all probes were off, ftrace may have given a site to another user. One failure must
 * not keep the other points off. Arming is all or nothing and does not name the point that
 * was refused, so this halves the batch until that point is alone. Moves the points that stay
 * off to @refused, and returns the error of the first.
 */
static int kprobe_arm_possible(struct list_head *points, struct list_head *refused)
{
	struct list_head *middle = points;
	LIST_HEAD(half);
	int ret, ret2;
	size_t nr;

	ret = kprobe_points_arm(points);
	if (!ret)
		return 0;
	if (list_is_singular(points)) {
		list_splice_tail_init(points, refused);
		return ret;
	}
	for (nr = list_count_nodes(points) / 2; nr; nr--)
		middle = middle->next;
	list_cut_position(&half, points, middle);
	ret = kprobe_arm_possible(&half, refused);
	ret2 = kprobe_arm_possible(points, refused);
	list_splice(&half, points);
	return ret ?: ret2;
}

/**
 * kprobes_switch - set the master switch
 * @on: arm all points with enabled probes; otherwise disarm all points except the
 *	trampoline of return probes
 *
 * Points that cannot be armed stay off, and the log names the first. When probes have been
 * switched off, no handler of a hit is running. When they have been switched on, no handler
 * of a point that stayed off is running.
 *
 * Context: may sleep.
 */
void kprobes_switch(bool on)
{
	struct kprobe_point *pt;
	LIST_HEAD(refused);
	LIST_HEAD(batch);
	int ret;

	guard(mutex)(&kprobe_mutex);

	if (switched_off == !on)
		return;

	list_for_each_entry(pt, &kprobe_points, all) {
		if (on ? pt->state != KPROBE_OFF || !pt->nr_enabled :
			 !kprobe_point_armed(pt))
			continue;
		/* Calls in flight will return to the trampoline, which has to stay armed. */
		if (!arch_trampoline_kprobe(&pt->kp))
			kprobe_batch_add(pt, &batch);
	}
	if (on) {
		ret = kprobe_arm_possible(&batch, &refused);
		if (ret) {
			/* One line: while ftrace is off, these are all ftrace sites. */
			pt = list_first_entry(&refused, struct kprobe_point, kp.list);
			pr_warn("points that cannot be armed: %zu, the first is %pS: %d\n",
				list_count_nodes(&refused), pt->kp.addr, ret);
			/* A site may have been armed until another one was refused. */
			kprobe_quiesce(&refused);
		}
		kprobe_batch_end(&refused);
		list_for_each_entry(pt, &batch, kp.list)
			kprobe_optimizer_want(pt);
	} else {
		kprobe_points_disarm(&batch);
		kprobe_quiesce(&batch);
		kprobe_optimizer_free(&batch);
	}
	kprobe_batch_end(&batch);
	WRITE_ONCE(switched_off, !on);
}

/**
 * kprobes_switched_on - get the state of the master switch
 *
 * Context: any.
 * Return: true if it is on.
 */
bool kprobes_switched_on(void)
{
	return !READ_ONCE(switched_off);
}
