// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: making points cheaper to hit.
 *
 * A point starts as a breakpoint. Where the architecture can, it becomes a jump
 * to a detour soon after, and nobody waits for that: the worker here takes all
 * points that have come together. The states are those of enum kprobe_state.
 *
 * A *queued* point waits for the worker. A *diverted* one has its detour: hits
 * come by the breakpoint, but go on in the detour, so nothing enters the bytes
 * that the jump will replace, except for who has been on the way before. When
 * those are through, the text changes, in one round for all.
 *
 * When are they through? A task is on the way if it is in front of one of the
 * replaced instructions but the first, or in an out-of-line copy that leads
 * there. None of those instructions sleeps, and a task that does in a call
 * returns behind the jump (the architecture makes sure, see arch/x86/kernel/
 * kprobes/reach.c). So it got there and did not leave because it was preempted
 * or interrupted, as in a slot, and what is waited for is the same: slots.c has
 * the argument. With PREEMPT_DYNAMIC the kernel is built for full preemption,
 * whatever is chosen.
 *
 * The way back is taken at once, by whoever needs it: who disarms the point, or
 * adds a probe to it, or sets one in the replaced bytes. Nobody needs to wait
 * for tasks then: the bytes are what they were, and the detour leads behind
 * them. Detours that are given up stay until no task is in them, see slots.c.
 *
 * All state is under kprobe_mutex, which the worker gives up while it waits.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <kunit/visibility.h>
#include <linux/execmem.h>
#include <linux/kprobes.h>
#include <linux/list_sort.h>
#include <linux/sched.h>
#include <linux/sysctl.h>
#include <linux/workqueue.h>

#include "internal.h"

/* So that a burst of registrations makes one batch. */
#define OPTIMIZE_DELAY	(HZ / 20)

/* Detours to make before others get the mutex. */
#define OPTIMIZE_CHUNK	32

static LIST_HEAD(queued);
static LIST_HEAD(diverted);
static LIST_HEAD(jumps);

static unsigned int allowed = 1;

static void optimize(struct work_struct *work);
static DECLARE_DELAYED_WORK(optimize_work, optimize);

/* Moves a point to one of the optimizer's lists, or off them. */
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
 * kprobe_optimizer_want - a point may be worth a jump
 * @pt: the point
 *
 * Context: kprobe_mutex held.
 */
void kprobe_optimizer_want(struct kprobe_point *pt)
{
	lockdep_assert_held(&kprobe_mutex);

	if (pt->state != KPROBE_BREAKPOINT || !allowed)
		return;
	optimizer_move(pt, KPROBE_QUEUED, &queued);
	queue_delayed_work(system_unbound_wq, &optimize_work, OPTIMIZE_DELAY);
}

static int by_address(void *unused, const struct list_head *a,
		      const struct list_head *b)
{
	unsigned long x = (unsigned long)list_entry(a, struct kprobe, list)->addr;
	unsigned long y = (unsigned long)list_entry(b, struct kprobe, list)->addr;

	return x < y ? -1 : x > y;
}

static int by_address_queued(void *unused, const struct list_head *a,
			     const struct list_head *b)
{
	unsigned long x = list_entry(a, struct kprobe_point, opt)->node.key;
	unsigned long y = list_entry(b, struct kprobe_point, opt)->node.key;

	return x < y ? -1 : x > y;
}

/**
 * kprobe_optimizer_undo - points give up their detours
 * @points:  linked by kprobe::list, of any state
 * @restore: what the text of jumps becomes
 *
 * With KPROBE_RESTORE_BREAKPOINT the points stay armed. KPROBE_RESTORE_NOTHING
 * is for text that goes away, or of which the caller takes the breakpoints out.
 *
 * Whatever @restore is, hits may be on their way through the detours: those are
 * still there, and the caller owes a wait, by kprobe_quiesce(), and then
 * kprobe_optimizer_free(). kprobe_optimizer_settle() does all of it for points that
 * stay armed.
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: true if there are such detours; false if nothing is owed.
 */
bool kprobe_optimizer_undo(struct list_head *points, enum kprobe_restore restore)
{
	bool breakpoint = restore == KPROBE_RESTORE_BREAKPOINT;
	struct kprobe_point *pt, *next;
	LIST_HEAD(was_diverted);
	LIST_HEAD(was_jump);

	lockdep_assert_held(&kprobe_mutex);
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
		optimizer_move(pt, breakpoint ? KPROBE_BREAKPOINT : KPROBE_UNARMED,
			       NULL);
	}
	if (list_empty(&was_diverted) && list_empty(&was_jump))
		return false;

	if (!list_empty(&was_jump)) {
		list_sort(NULL, &was_jump, by_address);
		arch_detour_disarm(&was_jump, restore != KPROBE_RESTORE_NOTHING,
				   breakpoint);
	}
	if (!list_empty(&was_diverted))
		arch_detour_disarm(&was_diverted, false, breakpoint);

	list_splice(&was_diverted, points);
	list_splice(&was_jump, points);
	return true;
}

/**
 * kprobe_optimizer_free - detours that have been given up go back
 * @points: linked by kprobe::list
 *
 * Points that have none, or still use theirs, are left alone.
 *
 * Context: kprobe_mutex held; may sleep. arch_kprobes_sync() or kprobe_quiesce()
 * has been called since kprobe_optimizer_undo().
 */
void kprobe_optimizer_free(struct list_head *points)
{
	struct kprobe *p;

	lockdep_assert_held(&kprobe_mutex);
	list_for_each_entry(p, points, list)
		arch_detour_free(p);
}

/**
 * kprobe_optimizer_settle - points become breakpoints, without detours
 * @points: linked by kprobe::list; those that are not armed stay so
 *
 * Context: kprobe_mutex held; may sleep, and waits for the other CPUs.
 */
void kprobe_optimizer_settle(struct list_head *points)
{
	if (!kprobe_optimizer_undo(points, KPROBE_RESTORE_BREAKPOINT))
		return;
	arch_kprobes_sync();
	kprobe_optimizer_free(points);
}

/**
 * kprobe_optimizer_over - the point whose jump would replace an address
 * @addr: the address
 *
 * Context: kprobe_mutex held.
 * Return: the nearest point in front of @addr in whose bytes it is, or NULL.
 */
struct kprobe_point *kprobe_optimizer_over(unsigned long addr)
{
	unsigned int back;
	struct kprobe *p;

	lockdep_assert_held(&kprobe_mutex);
	for (back = 1; back < __ARCH_KPROBE_JUMP_SIZE; back++) {
		p = get_kprobe((void *)(addr - back));
		if (p)
			return kprobe_ftrace(p) ? NULL : to_point(p);
	}
	return NULL;
}

/**
 * kprobe_only - the probe of a point that has just one
 * @p:	  the point
 * @pre:  what to call in front of the instruction is stored here
 * @post: what to call behind it, with the probe itself, or NULL
 *
 * Context: kprobe_mutex held. Holds until kprobe_optimizer_undo() of the point.
 * Return: what to call the handler with; NULL if the point has
 * more to run in front of the instruction, or nothing.
 */
struct kprobe *kprobe_only(struct kprobe *p, kprobe_pre_handler_t *pre,
			   kprobe_post_handler_t *post)
{
	struct kprobe_user *user = to_point(p)->only;

	lockdep_assert_held(&kprobe_mutex);
	if (!user)
		return NULL;
	*pre = user->pre;
	*post = user->post;
	return user->self;
}

/**
 * kprobe_wants_post - may post-handlers run at a point?
 * @p: the point
 *
 * Context: kprobe_mutex held. Holds until kprobe_optimizer_undo() of the point.
 * Return: true if a probe there has one, be it disabled.
 */
bool kprobe_wants_post(struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);

	return to_point(p)->nr_want_post;
}
/* Makes the detours of queued points, each time some of them. */
static void make_detours(void)
{
	struct kprobe_point *pt, *next;
	unsigned int nr = 0;

	arch_kprobes_batch(true);
	list_for_each_entry_safe(pt, next, &queued, opt) {
		if (nr++ == OPTIMIZE_CHUNK)
			break;
		pt->why = arch_detour_prepare(&pt->kp);
		if (pt->why)
			optimizer_move(pt, KPROBE_BREAKPOINT, NULL);
		else
			optimizer_move(pt, KPROBE_DIVERTED, &diverted);
	}
	arch_kprobes_batch(false);
}

static void optimize(struct work_struct *work)
{
	struct kprobe_point *pt;
	LIST_HEAD(batch);

	mutex_lock(&kprobe_mutex);
	list_sort(NULL, &queued, by_address_queued);
	while (!list_empty(&queued)) {
		make_detours();
		mutex_unlock(&kprobe_mutex);
		cond_resched();
		mutex_lock(&kprobe_mutex);
	}
	if (list_empty(&diverted))
		goto out;

	/* Hits that have been on the way to the old copies are there now. */
	arch_kprobes_sync();
	mutex_unlock(&kprobe_mutex);

	kprobe_test_stage(KPROBE_STAGE_DIVERTED);
	kprobe_wait_for_tasks();

	/* Only we divert points, so who still is has been for all that time. */
	mutex_lock(&kprobe_mutex);
	list_for_each_entry(pt, &diverted, opt)
		kprobe_batch_add(pt, &batch);
	list_sort(NULL, &batch, by_address);
	if (!list_empty(&batch))
		arch_detour_arm(&batch);
	list_for_each_entry(pt, &batch, kp.list)
		optimizer_move(pt, KPROBE_JUMP, &jumps);
	kprobe_batch_end(&batch);
out:
	mutex_unlock(&kprobe_mutex);
}

/**
 * wait_for_kprobe_optimizer - wait until what can be a jump is one
 *
 * Context: may sleep, for some grace periods. Not from a handler.
 * On return every point that was registered or enabled before the call has
 * become a jump, unless it cannot be one, or has been given up since.
 */
void wait_for_kprobe_optimizer(void)
{
	bool done;

	do {
		flush_delayed_work(&optimize_work);
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
 * is_kprobe_optinsn_slot - does the address lie among detours?
 * @addr: any address
 *
 * Context: any.
 * Return: true if so.
 */
bool __kprobe_hit is_kprobe_optinsn_slot(unsigned long addr)
{
	return slot_cache_has(&kprobe_detour_slots, addr);
}
EXPORT_SYMBOL_IF_KUNIT(is_kprobe_optinsn_slot);

/**
 * get_detour_slot - for architectures: memory for one detour
 *
 * Context: may sleep.
 * Return: room for a detour, of the size that the architecture says; or NULL.
 */
void *get_detour_slot(void)
{
	kprobe_test_stage(KPROBE_STAGE_PLANNED);
	return slot_alloc(&kprobe_detour_slots);
}

/**
 * free_detour_slot - give back what get_detour_slot() returned
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

static void switch_jumps(bool on)
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
	kprobe_optimizer_settle(&batch);
	kprobe_batch_end(&batch);
}

static int optimization_sysctl(const struct ctl_table *table, int write,
			       void *buffer, size_t *length, loff_t *ppos)
{
	unsigned int before;
	int ret;

	guard(mutex)(&kprobe_mutex);
	before = allowed;
	ret = proc_dointvec_minmax(table, write, buffer, length, ppos);
	if (!ret && write && allowed != before)
		switch_jumps(allowed);
	return ret;
}

static struct ctl_table optimizer_table[] = {
	{
		.procname	= "kprobes-optimization",
		.data		= &allowed,
		.maxlen		= sizeof(allowed),
		.mode		= 0644,
		.proc_handler	= optimization_sysctl,
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
	[KPROBE_WHY_UNKNOWN] = "the function cannot be made out",
	[KPROBE_WHY_INSN] = "an instruction cannot run elsewhere",
	[KPROBE_WHY_END] = "the function ends",
	[KPROBE_WHY_TARGET] = "a branch leads inside",
	[KPROBE_WHY_FAULT] = "a fault is fixed up inside",
	[KPROBE_WHY_CALL] = "a call would return inside",
	[KPROBE_WHY_PATCHED] = "others patch this text",
	[KPROBE_WHY_NEIGHBOUR] = "another probe is inside",
	[KPROBE_WHY_INDIRECT] = "the function has indirect jumps",
	[KPROBE_WHY_SHARED] = "the function shares code with others",
	[KPROBE_WHY_FAR] = "a branch does not reach, or too much code",
	[KPROBE_WHY_POST] = "a probe has a post-handler",
};

/**
 * kprobe_optimizer_why - in words: how a point is hit, and why not by a jump
 * @pt: the point
 *
 * Context: kprobe_mutex held.
 * Return: a string that stays.
 */
const char *kprobe_optimizer_why(struct kprobe_point *pt)
{
	lockdep_assert_held(&kprobe_mutex);

	if (kprobe_point_gone(pt))
		return "gone";
	if (kprobe_ftrace(&pt->kp))
		return "ftrace site";
	if (pt->state == KPROBE_JUMP)
		return "jump";
	if (pt->state == KPROBE_UNARMED)
		return "disarmed";
	if (!allowed)
		return "switched off";
	if (pt->state != KPROBE_BREAKPOINT)
		return "soon";
	if (pt->why == -ENOMEM)
		return "out of memory";
	if (pt->why > 0 && pt->why < ARRAY_SIZE(why_text))
		return why_text[pt->why];
	return "soon";
}
