// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: detours of architectures that implement struct optimized_kprobe.
 *
 * The optimizer calls arch_detour_*(). This file implements these on top of the functions
 * of arm and powerpc. These architectures replace one instruction with one jump, so no
 * task can be about to enter the middle of the replaced bytes, and a diverted point is an
 * ordinary breakpoint until it becomes a jump.
 *
 * A detour holds the address of its point and calls opt_pre_handler(), which handles the
 * hit like any other. So the detour stays valid when probes are added and removed.
 * But it runs no post-handler, and ignores a changed instruction pointer, so points
 * with post-handlers stay breakpoints. A probe that changes the instruction pointer
 * must have a post-handler. Those that inject errors have none, so points where that is
 * allowed stay breakpoints, too.
 *
 * A task can be preempted in a detour before it gets to the handlers, while its CPU does
 * not show the point. The slot is freed only after such tasks have left, see slots.c, and
 * so is the point: kprobe_point_free(). If the probes are gone when the task continues,
 * no handler runs. If a probe with a post-handler has been added, only its pre-handler
 * runs for this hit.
 */
#include <linux/error-injection.h>
#include <linux/execmem.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "internal.h"

/* The optimizer relies on this, and does not wait for tasks. */
static_assert(sizeof(kprobe_opcode_t) == MAX_OPTIMIZED_LENGTH);

static struct optimized_kprobe *optprobe_of(struct kprobe *p)
{
	return container_of(p, struct optimized_kprobe, kp);
}

/* ------------------------------- Memory --------------------------------- */

/**
 * alloc_optinsn_page - allocate a page for detours; architectures may override it
 *
 * Context: may sleep.
 * Return: as alloc_insn_page().
 */
void *__weak alloc_optinsn_page(void)
{
	return alloc_insn_page();
}

/**
 * free_optinsn_page - undo alloc_optinsn_page()
 * @page: what alloc_optinsn_page() returned
 *
 * Context: may sleep.
 */
void __weak free_optinsn_page(void *page)
{
	execmem_free(page);
}

static void *optprobe_alloc_pages(unsigned int nr)
{
	return nr == 1 ? alloc_optinsn_page() : NULL;
}

struct slot_cache kprobe_detour_slots = {
	SLOT_CACHE_INIT(kprobe_detour_slots, "kprobe_optinsn_page",
			optprobe_alloc_pages, free_optinsn_page),
};

/**
 * get_optinsn_slot - for architectures: allocate memory for one detour
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: MAX_OPTINSN_SIZE units, or NULL.
 */
kprobe_opcode_t *get_optinsn_slot(void)
{
	kprobe_assert_held(&kprobe_mutex);
	/* MAX_OPTINSN_SIZE may be the difference of two symbols, which is no constant. */
	kprobe_detour_slots.size = MAX_OPTINSN_SIZE * sizeof(kprobe_opcode_t);
	return get_detour_slot();
}

/**
 * free_optinsn_slot - free what get_optinsn_slot() returned
 * @slot:  the slot
 * @dirty: a task may be in it
 *
 * Context: may sleep, but does not wait.
 */
void free_optinsn_slot(kprobe_opcode_t *slot, int dirty)
{
	free_detour_slot(slot, dirty);
}

static void optprobe_free_point(struct rcu_head *rcu)
{
	struct kprobe_point *pt = container_of(rcu, struct kprobe_point, rcu);

	kfree_rcu(pt, rcu);
}

/**
 * kprobe_point_free - free a point once no hit uses it
 * @pt: the point
 *
 * A breakpoint hit uses it with preemption off, a jump hit until the task schedules.
 * Idle tasks, which tasks-RCU leaves out, have preemption off. The RCU grace period
 * that follows waits for them, as for breakpoints. Where RCU does not watch them,
 * kprobe_wait_for_unwatched() has done so.
 *
 * Context: may sleep.
 */
void kprobe_point_free(struct kprobe_point *pt)
{
	if (pt->op.used)
		call_rcu_tasks(&pt->rcu, optprobe_free_point);
	else
		kfree_rcu(pt, rcu);
}

/* -------------------------------- Hits ---------------------------------- */

/**
 * opt_pre_handler - for detours: run the pre-handlers of a point
 * @p:	  the point
 * @regs: registers of the context that was hit
 *
 * Context: preemption off.
 */
void __kprobe_hit opt_pre_handler(struct kprobe *p, struct pt_regs *regs)
{
	kprobe_run_pre(p, regs);
}

/* ------------------------------- Detours -------------------------------- */

/**
 * arch_kprobes_sync - wait for breakpoints that are being handled
 *
 * Context: may sleep.
 */
void arch_kprobes_sync(void)
{
	/* kick_all_cpus_sync() is for idle code that RCU does not watch. */
	kick_all_cpus_sync();
	synchronize_rcu();
}

/**
 * arch_detour_prepare - make the detour of a point
 * @p: the point, a breakpoint
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0; a value of enum kprobe_why if a jump is impossible; or -ENOMEM.
 */
int arch_detour_prepare(struct kprobe *p)
{
	struct optimized_kprobe *op = optprobe_of(p);
	int ret;

	kprobe_assert_held(&kprobe_mutex);
	if (kprobe_wants_post(p) || within_error_injection_list((unsigned long)p->addr))
		return KPROBE_WHY_POST;

	kprobe_text_lock();
	ret = arch_prepare_optimized_kprobe(op, p);
	kprobe_text_unlock();
	switch (ret) {
	case 0:
		break;
	case -ENOMEM:
		return ret;
	case -ERANGE:
		return KPROBE_WHY_FAR;
	default:
		return KPROBE_WHY_INSN;
	}
	if (arch_check_optimized_kprobe(op)) {
		arch_remove_optimized_kprobe(op);
		return KPROBE_WHY_NEIGHBOUR;
	}
	op->live = true;
	return 0;
}

/* Makes the architecture's list from a list of the optimizer. */
static void optprobe_list(struct list_head *points, struct list_head *ops)
{
	struct kprobe *p;

	list_for_each_entry(p, points, list)
		list_add_tail(&optprobe_of(p)->list, ops);
}

/**
 * arch_detour_arm - write the jumps
 * @points: breakpoints with detours
 *
 * Context: kprobe_mutex held; may sleep.
 */
void arch_detour_arm(struct list_head *points)
{
	struct optimized_kprobe *op;
	LIST_HEAD(ops);

	kprobe_assert_held(&kprobe_mutex);
	optprobe_list(points, &ops);
	list_for_each_entry(op, &ops, list)
		op->used = true;
	kprobe_text_lock();
	arch_optimize_kprobes(&ops);
	kprobe_text_unlock();
}

/**
 * arch_detour_disarm - stop sending hits to detours
 * @points:	points with detours
 * @jumps:	they are jumps, which are to be removed
 * @breakpoint: breakpoints replace the jumps; otherwise the original instructions do
 *
 * Context: kprobe_mutex held; may sleep.
 */
void arch_detour_disarm(struct list_head *points, bool jumps, bool breakpoint)
{
	struct kprobe *p;
	LIST_HEAD(done);
	LIST_HEAD(ops);

	kprobe_assert_held(&kprobe_mutex);
	if (jumps) {
		optprobe_list(points, &ops);
		kprobe_text_lock();
		arch_unoptimize_kprobes(&ops, &done);
		if (!breakpoint) {
			list_for_each_entry(p, points, list)
				arch_disarm_kprobe(p);
		}
		kprobe_text_unlock();
	}
	list_for_each_entry(p, points, list)
		optprobe_of(p)->live = false;
}

/**
 * arch_detour_free - free a detour
 * @p: the point; nothing happens if it has no detour, or its detour is in use
 *
 * Context: kprobe_mutex held; may sleep.
 */
void arch_detour_free(struct kprobe *p)
{
	struct optimized_kprobe *op = optprobe_of(p);

	kprobe_assert_held(&kprobe_mutex);
	if (!op->live && arch_prepared_optinsn(&op->optinsn))
		arch_remove_optimized_kprobe(op);
}
