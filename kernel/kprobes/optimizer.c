// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: turning breakpoints into jumps.
 *
 * A point starts as a breakpoint. Where that is possible, a worker soon turns it into a
 * jump to a detour. No caller waits for that, and the worker changes all points queued
 * by then together. The states are those of enum kprobe_state.
 *
 * A *queued* point waits for the worker. A *diverted* point has its detour: it is hit
 * through the breakpoint, but the hit continues in the detour. So the only tasks that
 * can still enter the bytes that the jump will replace are those already on the way
 * there. When these have left, the worker writes the jumps, in one round for all points.
 *
 * When have they left? A task is on the way if it is about to execute one of the
 * replaced instructions except the first, or if it is in an out-of-line copy that leads
 * there. None of these instructions sleeps, and a task that sleeps in a displaced call
 * returns after the jump (the architecture makes sure, see
 * arch/x86/kernel/kprobes/reach.c). So such a task is preempted or interrupted there,
 * as in a slot, and the wait is the same; slots.c has the argument. It covers a kernel
 * with PREEMPT_DYNAMIC: that is built for full preemption, whatever is chosen at boot.
 *
 * A jump is undone at once when the point is disarmed, when a probe is added to it,
 * when a probe is set in the replaced bytes, and when jumps are switched off or the
 * counting of hits is switched. There is no need to wait for tasks: the original bytes
 * are back, and the detour leads to the instruction after them. The detour is freed when
 * no task can be in it, see slots.c.
 *
 * kprobe_mutex protects all state here. The worker drops it while it waits.
 */
#include <kunit/visibility.h>
#include <linux/execmem.h>
#include <linux/kprobes.h>
#include <linux/list_sort.h>
#include <linux/sched.h>
#include <linux/sysctl.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "internal.h"

/* Registrations in quick succession make one batch. */
#define OPTIMIZE_DELAY	(HZ / 20)

/* The worker drops the mutex after this many detours. */
#define OPTIMIZE_CHUNK	32U

/* How long points wait for memory, or for a debugger. */
#define RETRY_DELAY	((unsigned long)HZ)
#define RETRY_DELAY_MAX	(60 * RETRY_DELAY)

/* How long a reader waits for the optimizer. */
#define HURRY_TIMEOUT	HZ

static LIST_HEAD(queued);
static LIST_HEAD(diverted);
static LIST_HEAD(jumps);

static unsigned int allowed = 1;

/* No point waits for the worker. Written under kprobe_mutex. */
static bool idle = true;
static DECLARE_WAIT_QUEUE_HEAD(idle_wait);

static void optimizer_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(optimizer_work, optimizer_work_fn);

/* Changes the state of a point, and moves it to @list or, if that is NULL, to none. */
static void optimizer_move(struct kprobe_point *pt, enum kprobe_state state,
			   struct list_head *list)
{
	kprobe_point_move(pt, state);
	if (list)
		list_move_tail(&pt->opt, list);
	else
		list_del_init(&pt->opt);
}

/**
 * kprobe_optimizer_want - queue a point for the optimizer
 * @pt: a point in any state; only an ordinary breakpoint is queued
 *
 * Context: kprobe_mutex held.
 */
void kprobe_optimizer_want(struct kprobe_point *pt)
{
	kprobe_assert_held(&kprobe_mutex);

	if (pt->state != KPROBE_BREAKPOINT || !allowed)
		return;
	optimizer_move(pt, KPROBE_QUEUED, &queued);
	WRITE_ONCE(idle, false);
	queue_delayed_work(system_unbound_wq, &optimizer_work, OPTIMIZE_DELAY);
}

static int optimizer_by_address(void *unused, const struct list_head *a,
				const struct list_head *b)
{
	unsigned long x = (unsigned long)list_entry(a, struct kprobe, list)->addr;
	unsigned long y = (unsigned long)list_entry(b, struct kprobe, list)->addr;

	return x < y ? -1 : x > y;
}

static int optimizer_queued_by_address(void *unused, const struct list_head *a,
				       const struct list_head *b)
{
	unsigned long x = list_entry(a, struct kprobe_point, opt)->node.key;
	unsigned long y = list_entry(b, struct kprobe_point, opt)->node.key;

	return x < y ? -1 : x > y;
}

/**
 * kprobe_optimizer_undo - stop sending hits to the detours of points
 * @points:  linked by kprobe::list, in any state
 * @restore: what replaces jumps
 *
 * With KPROBE_RESTORE_BREAKPOINT the points stay armed. With KPROBE_RESTORE_ORIGINAL the
 * caller has removed the breakpoints of those that are not jumps.
 *
 * Hits may still be in the detours. If this returns true, the caller must call
 * kprobe_quiesce() or arch_kprobes_sync(), and then kprobe_optimizer_free().
 * kprobe_optimizer_revert() does all that for points that stay armed.
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: true if there are such detours.
 */
bool kprobe_optimizer_undo(struct list_head *points, enum kprobe_restore restore)
{
	bool breakpoint = restore == KPROBE_RESTORE_BREAKPOINT;
	struct kprobe_point *pt, *next;
	LIST_HEAD(was_diverted);
	LIST_HEAD(was_jump);

	kprobe_assert_held(&kprobe_mutex);
	list_for_each_entry_safe(pt, next, points, kp.list) {
		switch (pt->state) {
		case KPROBE_DIVERTED:
			list_move_tail(&pt->kp.list, &was_diverted);
			break;
		case KPROBE_JUMP:
			list_move_tail(&pt->kp.list, &was_jump);
			break;
		case KPROBE_QUEUED:
			if (breakpoint)
				continue;
			break;
		default:
			continue;
		}
		optimizer_move(pt, breakpoint ? KPROBE_BREAKPOINT : KPROBE_OFF, NULL);
	}
	if (list_empty(&was_diverted) && list_empty(&was_jump))
		return false;

	if (!list_empty(&was_jump)) {
		list_sort(NULL, &was_jump, optimizer_by_address);
		arch_detour_disarm(&was_jump, true, breakpoint);
	}
	if (!list_empty(&was_diverted))
		arch_detour_disarm(&was_diverted, false, breakpoint);

	list_splice(&was_diverted, points);
	list_splice(&was_jump, points);
	return true;
}

/**
 * kprobe_optimizer_free - free detours that kprobe_optimizer_undo() has left
 * @points: linked by kprobe::list; those without such a detour are skipped
 *
 * Context: kprobe_mutex held; may sleep. arch_kprobes_sync() or kprobe_quiesce()
 * has been called since kprobe_optimizer_undo().
 */
void kprobe_optimizer_free(struct list_head *points)
{
	struct kprobe *p;

	kprobe_assert_held(&kprobe_mutex);
	list_for_each_entry(p, points, list)
		arch_detour_free(p);
}

/**
 * kprobe_optimizer_revert - turn points into breakpoints without detours
 * @points: linked by kprobe::list; those that are off stay off
 *
 * Context: kprobe_mutex held; may sleep, and waits for the other CPUs.
 */
void kprobe_optimizer_revert(struct list_head *points)
{
	if (!kprobe_optimizer_undo(points, KPROBE_RESTORE_BREAKPOINT))
		return;
	arch_kprobes_sync();
	kprobe_optimizer_free(points);
}

/**
 * kprobe_optimizer_over - find the point whose jump would replace an address
 * @addr: the address
 *
 * Context: kprobe_mutex held.
 * Return: the nearest point before @addr whose jump would reach it, or NULL.
 */
struct kprobe_point *kprobe_optimizer_over(unsigned long addr)
{
	unsigned int back;
	struct kprobe *p;

	kprobe_assert_held(&kprobe_mutex);
	for (back = 1; back < __ARCH_KPROBE_JUMP_SIZE; back++) {
		p = get_kprobe((void *)(addr - back));
		if (p)
			return kprobe_ftrace(p) ? NULL : to_point(p);
	}
	return NULL;
}

/**
 * kprobe_only - get the handlers that a detour may call directly
 * @p:	  the point
 * @pre:  set to the pre-handler
 * @post: set to the post-handler, or NULL
 *
 * The answer is valid until kprobe_optimizer_undo() is called for the point.
 *
 * Context: kprobe_mutex held.
 * Return: the first argument of the handlers, which are those of the point's only probe
 * or, while hits are counted, of its counter; NULL if hits are not counted and the point
 * has several probes, or its probe is disabled or has no pre-handler.
 */
struct kprobe *kprobe_only(struct kprobe *p, kprobe_pre_handler_t *pre,
			   kprobe_post_handler_t *post)
{
	struct kprobe_handlers *only = to_point(p)->only;

	kprobe_assert_held(&kprobe_mutex);
	if (!only)
		return NULL;
	*pre = only->pre;
	*post = only->post;
	return only->self;
}

/**
 * kprobe_wants_post - test if post-handlers may run at a point
 * @p: the point
 *
 * The answer is valid until kprobe_optimizer_undo() is called for the point.
 *
 * Context: kprobe_mutex held.
 * Return: true if a probe there has a post-handler, even if the probe is disabled.
 */
bool kprobe_wants_post(struct kprobe *p)
{
	kprobe_assert_held(&kprobe_mutex);

	return to_point(p)->nr_want_post;
}

/*
 * How long to wait before the next try; under kprobe_mutex. On some architectures the
 * memory for detours has a fixed size and may stay full as long as the probes exist, and
 * a debugger's breakpoint may stay for days. So do not try too often.
 */
static unsigned long retry_delay = RETRY_DELAY;

/* There may be memory now, or the debugger's breakpoint may be gone: try again. */
static void optimizer_retry(struct work_struct *work)
{
	struct kprobe_point *pt;
	bool any = false;

	guard(mutex)(&kprobe_mutex);
	list_for_each_entry(pt, &kprobe_points, all) {
		/* A point that is off does not wait: arming queues it. */
		if (pt->why < 0 && pt->state == KPROBE_BREAKPOINT && allowed) {
			kprobe_optimizer_want(pt);
			any = true;
		}
	}
	retry_delay = any ? min(2 * retry_delay, RETRY_DELAY_MAX) : RETRY_DELAY;
}

static DECLARE_DELAYED_WORK(optimizer_retry_work, optimizer_retry);

/* A detour could be made, so the points that wait need not wait so long. */
static void optimizer_retry_soon(void)
{
	if (retry_delay == RETRY_DELAY)
		return;
	retry_delay = RETRY_DELAY;
	if (delayed_work_pending(&optimizer_retry_work))
		mod_delayed_work(system_unbound_wq, &optimizer_retry_work, retry_delay);
}

#if IS_ENABLED(CONFIG_KUNIT)
/**
 * kprobe_test_retry_delay - tell how long points wait for the next try
 * @pending: set to whether there will be one
 *
 * Context: may sleep.
 * Return: the delay, for a point that has to wait next.
 */
unsigned long kprobe_test_retry_delay(bool *pending)
{
	guard(mutex)(&kprobe_mutex);
	*pending = delayed_work_pending(&optimizer_retry_work);
	return retry_delay;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_retry_delay);

/**
 * kprobe_test_retry_at_most - try again now, as if the longest delay were over
 *
 * Context: may sleep.
 */
void kprobe_test_retry_at_most(void)
{
	guard(mutex)(&kprobe_mutex);
	retry_delay = RETRY_DELAY_MAX;
	mod_delayed_work(system_unbound_wq, &optimizer_retry_work, 0);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_retry_at_most);
#endif

/* Makes the detours of the first @nr queued points. */
static void optimizer_make_detours(unsigned int nr)
{
	struct kprobe_point *pt, *next;

	arch_kprobes_batch();
	list_for_each_entry_safe(pt, next, &queued, opt) {
		if (!nr--)
			break;
		kprobe_test_stage(KPROBE_STAGE_CHOSEN);
		pt->why = arch_detour_prepare(&pt->kp);
		if (pt->why < 0)
			queue_delayed_work(system_unbound_wq, &optimizer_retry_work, retry_delay);
		if (pt->why) {
			optimizer_move(pt, KPROBE_BREAKPOINT, NULL);
		} else {
			optimizer_move(pt, KPROBE_DIVERTED, &diverted);
			optimizer_retry_soon();
		}
	}
	arch_kprobes_batch();
}

/* Drops kprobe_mutex until no task is about to enter bytes that jumps replace. */
static void optimizer_wait_for_tasks(void)
{
	/* A jump that replaces one instruction has no such bytes, see optprobe.c. */
	if (IS_ENABLED(CONFIG_KPROBE_OPTINSN))
		return;

	mutex_unlock(&kprobe_mutex);
	/*
	 * A CPU that comes online or goes offline is not interrupted below. One that
	 * starts from now on sees the detours.
	 */
	kprobe_wait_for_unwatched();
	/* Hits that were about to enter the old copies have done so after this. */
	arch_kprobes_sync();

	kprobe_test_stage(KPROBE_STAGE_DIVERTED);
	kprobe_wait_for_tasks();

	mutex_lock(&kprobe_mutex);
}

static void optimizer_work_fn(struct work_struct *work)
{
	struct kprobe_point *pt;
	unsigned int left, nr;
	LIST_HEAD(batch);

	mutex_lock(&kprobe_mutex);
	list_sort(NULL, &queued, optimizer_queued_by_address);
	/*
	 * Points queued from here on make another batch, for which the work is queued again.
	 * Otherwise a steady stream of them would keep these from ever becoming jumps.
	 */
	for (left = list_count_nodes(&queued); left; left -= nr) {
		nr = min(left, OPTIMIZE_CHUNK);
		optimizer_make_detours(nr);
		mutex_unlock(&kprobe_mutex);
		/* Without this, the loop would hold up grace periods of tasks-RCU. */
		cond_resched_tasks_rcu_qs();
		mutex_lock(&kprobe_mutex);
	}
	if (list_empty(&diverted))
		goto out;

	optimizer_wait_for_tasks();

	/* Only this worker diverts points: those diverted now were diverted before the wait. */
	list_for_each_entry(pt, &diverted, opt)
		kprobe_batch_add(pt, &batch);
	list_sort(NULL, &batch, optimizer_by_address);
	if (!list_empty(&batch))
		arch_detour_arm(&batch);
	list_for_each_entry(pt, &batch, kp.list)
		optimizer_move(pt, KPROBE_JUMP, &jumps);
	kprobe_batch_end(&batch);
out:
	/* Otherwise the work has been queued again. */
	if (list_empty(&queued)) {
		WRITE_ONCE(idle, true);
		wake_up_all(&idle_wait);
	}
	mutex_unlock(&kprobe_mutex);
}

/**
 * kprobe_optimizer_hurry - let the points that wait become jumps now
 *
 * The worker is delayed so that it finds more points to work on. A reader that looks at a
 * new probe should not find a breakpoint for that reason alone. A tasks-RCU grace period
 * can take very long, so there is no guarantee: this returns after a second, or on a fatal
 * signal.
 *
 * Context: may sleep, without kprobe_mutex.
 */
void kprobe_optimizer_hurry(void)
{
	lockdep_assert_not_held(&kprobe_mutex);

	if (READ_ONCE(idle))
		return;
	mod_delayed_work(system_unbound_wq, &optimizer_work, 0);
	wait_event_killable_timeout(idle_wait, READ_ONCE(idle), HURRY_TIMEOUT);
}

/**
 * wait_for_kprobe_optimizer - wait until all points that can be jumps are jumps
 *
 * On return every point that was registered or enabled before the call has become
 * a jump, unless that is impossible, or will be tried again for lack of memory or because
 * of a debugger, or has been undone since.
 *
 * Context: may sleep, for several grace periods. Not from a handler.
 */
void wait_for_kprobe_optimizer(void)
{
	bool done;

	do {
		flush_delayed_work(&optimizer_work);
		mutex_lock(&kprobe_mutex);
		done = list_empty(&queued) && list_empty(&diverted);
		mutex_unlock(&kprobe_mutex);
	} while (!done);
}
EXPORT_SYMBOL_GPL(wait_for_kprobe_optimizer);

/* ------------------------------- Memory --------------------------------- */

#ifndef CONFIG_KPROBE_OPTINSN	/* else in optprobe.c */
struct slot_cache kprobe_detour_slots = {
	SLOT_CACHE_INIT(kprobe_detour_slots, "kprobe_optinsn_page",
			alloc_insn_pages, execmem_free),
	.size = __ARCH_KPROBE_DETOUR_SIZE,
};
#endif

/**
 * is_kprobe_optinsn_slot - test if an address lies in a page of detours
 * @addr: any address
 *
 * Context: any.
 * Return: true if it does.
 */
bool __kprobe_hit is_kprobe_optinsn_slot(unsigned long addr)
{
	return slot_cache_has(&kprobe_detour_slots, addr);
}
EXPORT_SYMBOL_IF_KUNIT(is_kprobe_optinsn_slot);

/**
 * get_detour_slot - for architectures: allocate memory for one detour
 *
 * Context: may sleep.
 * Return: __ARCH_KPROBE_DETOUR_SIZE bytes, or MAX_OPTINSN_SIZE units for
 * get_optinsn_slot(); or NULL.
 */
void *get_detour_slot(void)
{
	kprobe_test_stage(KPROBE_STAGE_PLANNED);
	if (kprobe_test_fails_detour())
		return NULL;
	return slot_alloc(&kprobe_detour_slots);
}

/**
 * free_detour_slot - free what get_detour_slot() returned
 * @slot: the slot
 * @used: a task may be in it
 *
 * Context: may sleep, but does not wait.
 */
void free_detour_slot(void *slot, bool used)
{
	slot_retire(&kprobe_detour_slots, slot, used);
}

/* ------------------------------ The switch ------------------------------ */

static void optimizer_switch(bool on)
{
	struct kprobe_point *pt, *next;
	LIST_HEAD(batch);

	if (on) {
		list_for_each_entry(pt, &kprobe_points, all)
			kprobe_optimizer_want(pt);
		return;
	}
	list_for_each_entry_safe(pt, next, &queued, opt)
		optimizer_move(pt, KPROBE_BREAKPOINT, NULL);
	list_for_each_entry(pt, &diverted, opt)
		kprobe_batch_add(pt, &batch);
	list_for_each_entry(pt, &jumps, opt)
		kprobe_batch_add(pt, &batch);
	kprobe_optimizer_revert(&batch);
	kprobe_batch_end(&batch);
}

static int optimizer_sysctl(const struct ctl_table *table, int write,
			    void *buffer, size_t *length, loff_t *ppos)
{
	unsigned int before;
	int ret;

	/* A reader need not wait for a batch. */
	if (!write)
		return proc_dointvec_minmax(table, write, buffer, length, ppos);

	guard(mutex)(&kprobe_mutex);
	before = allowed;
	ret = proc_dointvec_minmax(table, write, buffer, length, ppos);
	if (!ret && allowed != before)
		optimizer_switch(allowed);
	return ret;
}

static struct ctl_table optimizer_table[] = {
	{
		.procname	= "kprobes-optimization",
		.data		= &allowed,
		.maxlen		= sizeof(allowed),
		.mode		= 0644,
		.proc_handler	= optimizer_sysctl,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

static int __init optimizer_init(void)
{
	register_sysctl_init("debug", optimizer_table);
	return 0;
}
subsys_initcall(optimizer_init);

static const char *const why_text[] = {
	[KPROBE_WHY_UNKNOWN] = "the function cannot be decoded",
	[KPROBE_WHY_INSN] = "an instruction cannot run elsewhere",
	[KPROBE_WHY_END] = "the function ends",
	[KPROBE_WHY_TARGET] = "a branch leads inside",
	[KPROBE_WHY_FAULT] = "a fault is fixed up inside",
	[KPROBE_WHY_CALL] = "a call would return inside",
	[KPROBE_WHY_PATCHED] = "others patch this text",
	[KPROBE_WHY_NEIGHBOUR] = "another probe is inside",
	[KPROBE_WHY_INDIRECT] = "the function has indirect jumps",
	[KPROBE_WHY_SHARED] = "the function shares code with others",
	[KPROBE_WHY_FAR] = "the detour is too far away, or too long",
	[KPROBE_WHY_POST] = "a handler may continue elsewhere",
};

/**
 * kprobe_optimizer_why - say how a point is hit, and why not through a jump
 * @pt: the point
 *
 * Context: kprobe_mutex held.
 * Return: a constant string, as shown in debugfs.
 */
const char *kprobe_optimizer_why(struct kprobe_point *pt)
{
	kprobe_assert_held(&kprobe_mutex);

	if (kprobe_point_gone(pt))
		return "gone";
	if (kprobe_ftrace(&pt->kp))
		return "ftrace site";
	if (pt->state == KPROBE_JUMP)
		return "jump";
	if (pt->state == KPROBE_OFF)
		return "disarmed";
	if (!allowed)
		return "switched off";
	if (pt->state != KPROBE_BREAKPOINT)
		return "soon";
	if (pt->why == -ENOMEM)
		return "out of memory";
	if (pt->why == -EBUSY)
		return "a debugger has a breakpoint there";
	if (pt->why > 0 && pt->why < ARRAY_SIZE(why_text))
		return why_text[pt->why];
	return "soon";
}

unsigned long __weak arch_detour_branch(struct kprobe *p)
{
	return 0;
}

/**
 * kprobe_optimizer_branch - find a branch that keeps a point from being a jump
 * @pt: the point
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: its address, or 0 if kprobe_optimizer_why() gives another reason, or
 * the address is not known.
 */
unsigned long kprobe_optimizer_branch(struct kprobe_point *pt)
{
	kprobe_assert_held(&kprobe_mutex);

	if (pt->state != KPROBE_BREAKPOINT || !allowed || pt->why != KPROBE_WHY_TARGET)
		return 0;
	return arch_detour_branch(&pt->kp);
}
