// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: arming points and disarming them, a batch at a time, and waiting
 * until no handler runs any more that started before.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/sched.h>

#include "internal.h"

/**
 * kprobe_batch_add - add a point to a batch, unless it is in one
 * @pt:	   the point
 * @batch: linked by kprobe::list
 *
 * Context: kprobe_mutex held.
 */
void kprobe_batch_add(struct kprobe_point *pt, struct list_head *batch)
{
	lockdep_assert_held(&kprobe_mutex);

	if (list_empty(&pt->kp.list))
		list_add_tail(&pt->kp.list, batch);
}

/**
 * kprobe_batch_end - a batch falls apart
 * @batch: empty on return
 *
 * Context: kprobe_mutex held.
 */
void kprobe_batch_end(struct list_head *batch)
{
	struct kprobe_point *pt, *next;

	lockdep_assert_held(&kprobe_mutex);
	list_for_each_entry_safe(pt, next, batch, kp.list)
		list_del_init(&pt->kp.list);
}

#ifndef CONFIG_ARCH_HAS_KPROBE_BATCHES
static void arch_arm_kprobes(struct list_head *points)
{
	struct kprobe *p;

	kprobe_text_lock();
	list_for_each_entry(p, points, list)
		arch_arm_kprobe(p);
	kprobe_text_unlock();
}

static void arch_disarm_kprobes(struct list_head *points)
{
	struct kprobe *p;

	kprobe_text_lock();
	list_for_each_entry(p, points, list)
		arch_disarm_kprobe(p);
	kprobe_text_unlock();
}
#endif

#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
/*
 * A hit stores the point in kprobe_cpu::running before it looks at the users
 * of the point, and clears it when the last handler has returned. So after
 * arch_kprobes_sync() has interrupted each CPU, which orders memory there, a
 * CPU either shows the point to us or will see what we have changed. Handlers
 * of breakpoints run with interrupts off: the interrupt itself outlasts them.
 *
 * A point that stays armed may be hit again and again while we look. Handlers
 * run with preemption off, so a grace period ends that, should it last.
 */
#define QUIESCE_SPINS	100
#define QUIESCE_TRIES	20

/*
 * A late return handler may show a point that is freed: compare, no more. The
 * code that an odd value leads to was in use when the value was read, but its
 * CPU may leave it at once, and its memory go to others. That is given back
 * after an RCU grace period, so it stays mapped while preemption is off; what
 * is read there may be anything.
 */
static bool runs_any(int cpu, struct list_head *points)
{
	struct kprobe_cpu *kc = per_cpu_ptr(&kprobe_cpu, cpu);
	unsigned int covered = READ_ONCE(kc->covered);
	struct kprobe *p, *running;
	unsigned int i;

	smp_rmb();	/* pairs with kprobe_enter() */
	for (i = 0; i < KPROBE_NR_CTX; i++) {
		scoped_guard(preempt)
			running = kprobe_running_point(READ_ONCE(kc->running[i]));
		if (!running || running == &kprobe_busy_point.kp)
			continue;
		list_for_each_entry(p, points, list) {
			if (p == running)
				return true;
		}
	}
	smp_rmb();	/* likewise, with kprobe_leave() */
	/* What is covered is not to be seen: it could be any of the points. */
	return covered & KPROBE_COVERED_MASK || covered != READ_ONCE(kc->covered);
}

/**
 * kprobe_quiesce - wait for handlers
 * @points: a batch
 *
 * Context: kprobe_mutex held; may sleep.
 * On return no handler of the points runs any more that saw them as they were
 * before the caller changed them.
 */
void kprobe_quiesce(struct list_head *points)
{
	unsigned int tries = 0, spins;
	int cpu;

	lockdep_assert_held(&kprobe_mutex);
	/* Who comes up now starts with what we have changed. */
	guard(cpus_read_lock)();
	arch_kprobes_sync();
	kprobe_test_stage(KPROBE_STAGE_SYNCED);

	for_each_online_cpu(cpu) {
		for (spins = 0; runs_any(cpu, points); spins++) {
			cpu_relax();
			if (spins < QUIESCE_SPINS)
				continue;
			if (tries++ == QUIESCE_TRIES) {
				synchronize_rcu();
				return;
			}
			schedule_timeout_uninterruptible(1);
			spins = 0;
		}
	}
}
#else
void kprobe_quiesce(struct list_head *points)
{
	lockdep_assert_held(&kprobe_mutex);
	/* Handlers run with preemption off, and so are readers of RCU. */
	synchronize_rcu();
}
#endif

static void split_ftrace(struct list_head *points, struct list_head *ftrace)
{
	struct kprobe *p, *next;

	list_for_each_entry_safe(p, next, points, list) {
		if (kprobe_ftrace(p))
			list_move_tail(&p->list, ftrace);
	}
}

/**
 * kprobe_points_arm - arm a batch, all or nothing
 * @points: the batch; its order may be another on return
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0, or an error of ftrace's with none of them armed.
 */
int kprobe_points_arm(struct list_head *points)
{
	struct kprobe_point *pt;
	LIST_HEAD(ftrace);
	int ret = 0;

	lockdep_assert_held(&kprobe_mutex);
	split_ftrace(points, &ftrace);
	if (!list_empty(&ftrace))
		ret = kprobe_ftrace_arm(&ftrace);
	if (!ret && !list_empty(points))
		arch_arm_kprobes(points);
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
 * @points: the batch; its order may be another on return
 *
 * The caller calls kprobe_quiesce() and then kprobe_optimizer_free() before
 * anything else happens to the points.
 *
 * Context: kprobe_mutex held; may sleep.
 */
void kprobe_points_disarm(struct list_head *points)
{
	struct kprobe_point *pt, *next;
	LIST_HEAD(ftrace);
	LIST_HEAD(jumps);

	lockdep_assert_held(&kprobe_mutex);
	split_ftrace(points, &ftrace);
	if (!list_empty(&ftrace))
		kprobe_ftrace_disarm(&ftrace);
	list_for_each_entry_safe(pt, next, points, kp.list) {
		/* What undoes the jump changes the text. */
		if (pt->state == KPROBE_JUMP)
			list_move_tail(&pt->kp.list, &jumps);
	}
	if (!list_empty(points)) {
		arch_disarm_kprobes(points);
		kprobe_optimizer_undo(points, KPROBE_RESTORE_NOTHING);
	}
	kprobe_optimizer_undo(&jumps, KPROBE_RESTORE_ORIGINAL);
	list_splice_tail(&jumps, points);
	list_splice_tail(&ftrace, points);

	list_for_each_entry(pt, points, kp.list)
		kprobe_point_move(pt, KPROBE_UNARMED);
}
