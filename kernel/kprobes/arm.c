// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: arming points and disarming them, a batch at a time.
 */
#include <linux/kprobes.h>
#include <linux/sched.h>

#include "internal.h"

/**
 * kprobe_batch_add - add a point to a batch, unless it is in one already
 * @pt:	   the point
 * @batch: linked by kprobe::list
 *
 * Context: kprobe_mutex held.
 */
void kprobe_batch_add(struct kprobe_point *pt, struct list_head *batch)
{
	kprobe_assert_held(&kprobe_mutex);

	if (list_empty(&pt->kp.list))
		list_add_tail(&pt->kp.list, batch);
}

/**
 * kprobe_batch_end - unlink the points of a batch
 * @batch: empty on return
 *
 * Context: kprobe_mutex held.
 */
void kprobe_batch_end(struct list_head *batch)
{
	struct kprobe_point *pt, *next;

	kprobe_assert_held(&kprobe_mutex);
	list_for_each_entry_safe(pt, next, batch, kp.list)
		list_del_init(&pt->kp.list);
}

/* Patches all points at once if the architecture can, else one by one. */
static void batch_patch(struct list_head *points, bool arm)
{
	struct kprobe *p;

	if (IS_ENABLED(CONFIG_ARCH_HAS_KPROBE_BATCHES)) {
		if (arm)
			arch_arm_kprobes(points);
		else
			arch_disarm_kprobes(points);
		return;
	}
	kprobe_text_lock();
	list_for_each_entry(p, points, list) {
		if (arm)
			arch_arm_kprobe(p);
		else
			arch_disarm_kprobe(p);
		cond_resched_tasks_rcu_qs();
	}
	kprobe_text_unlock();
}

static void split_ftrace(struct list_head *points, struct list_head *ftrace)
{
	struct kprobe *p, *next;

	list_for_each_entry_safe(p, next, points, list) {
		if (kprobe_ftrace(p))
			list_move_tail(&p->list, ftrace);
	}
}

/**
 * kprobe_points_arm - arm all points of a batch or none
 * @points: the batch; its order may change
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0, or an error from ftrace with none of them armed. Some sites may have been armed
 * until another one was refused. The caller waits by kprobe_quiesce(), not this function:
 * kprobe_arm_possible() fails for each halving, and needs to wait only once.
 */
int kprobe_points_arm(struct list_head *points)
{
	struct kprobe_point *pt;
	LIST_HEAD(ftrace);
	int ret = 0;

	kprobe_assert_held(&kprobe_mutex);
	kprobe_test_stage(KPROBE_STAGE_ARMING);
	split_ftrace(points, &ftrace);
	if (!list_empty(&ftrace))
		ret = kprobe_ftrace_arm(&ftrace);
	/*
	 * A CPU that hits the breakpoint must find the point in the table, fully
	 * initialised. The release that added the point does not order the later
	 * store to the text. Pairs with the exception: a CPU looks up the point
	 * only after taking it.
	 */
	smp_wmb();
	if (!ret && !list_empty(points))
		batch_patch(points, true);
	list_splice_tail(&ftrace, points);
	if (ret)
		return ret;

	list_for_each_entry(pt, points, kp.list)
		kprobe_point_move(pt, kprobe_ftrace(&pt->kp) ? KPROBE_FTRACE :
							       KPROBE_BREAKPOINT);
	return 0;
}

/**
 * kprobe_points_disarm - disarm a batch
 * @points: the batch; its order may change
 *
 * The caller must call kprobe_quiesce() and then kprobe_optimizer_free() before it arms,
 * releases or frees the points.
 *
 * Context: kprobe_mutex held; may sleep.
 */
void kprobe_points_disarm(struct list_head *points)
{
	struct kprobe_point *pt, *next;
	LIST_HEAD(ftrace);
	LIST_HEAD(jumps);

	kprobe_assert_held(&kprobe_mutex);
	split_ftrace(points, &ftrace);
	if (!list_empty(&ftrace))
		kprobe_ftrace_disarm(&ftrace);
	list_for_each_entry_safe(pt, next, points, kp.list) {
		/* Undoing the jump restores the text. */
		if (pt->state == KPROBE_JUMP)
			list_move_tail(&pt->kp.list, &jumps);
	}
	if (!list_empty(points)) {
		batch_patch(points, false);
		kprobe_optimizer_undo(points, KPROBE_RESTORE_ORIGINAL);
	}
	kprobe_optimizer_undo(&jumps, KPROBE_RESTORE_ORIGINAL);
	list_splice_tail(&jumps, points);
	list_splice_tail(&ftrace, points);
	/* Pairs with get_kprobe(): a hit that finds no point finds no breakpoint. */
	smp_wmb();

	list_for_each_entry(pt, points, kp.list)
		kprobe_point_move(pt, KPROBE_OFF);
}
