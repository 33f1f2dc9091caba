/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes: what the KUnit suites ask the manager for. Without KUnit nothing of
 * it is there.
 */
#ifndef _KERNEL_KPROBES_TESTING_H
#define _KERNEL_KPROBES_TESTING_H

#include <linux/atomic.h>
#include <linux/jump_label.h>
#include <linux/types.h>

/**
 * enum kprobe_stage - where a test can stop the order of events
 * @KPROBE_STAGE_ARMED:	   registering: the points are armed, their new users
 *			   are not linked yet
 * @KPROBE_STAGE_LEAVING:  unregistering: the users are unlinked from points that
 *			   are armed
 * @KPROBE_STAGE_DISARMED: the text is restored, the points can still be found
 * @KPROBE_STAGE_UNLINKED: the points cannot be found either, and nobody has
 *			   waited for their handlers
 * @KPROBE_STAGE_SYNCED:   in kprobe_quiesce(): each CPU has been interrupted,
 *			   none looked at
 * @KPROBE_STAGE_QUIET:	   unregistering: no handler runs, nothing is freed
 * @KPROBE_STAGE_PLANNED:  the optimizer is about to get memory for a detour, and
 *			   knows what it is to displace where that is more than
 *			   one instruction
 * @KPROBE_STAGE_DIVERTED: the optimizer has made detours and is about to wait
 *			   for tasks
 * @KPROBE_STAGE_RETIRED:  retired slots are about to be waited for
 *
 * In the last two kprobe_mutex is free, in all others it is held.
 */
enum kprobe_stage {
	KPROBE_STAGE_ARMED,
	KPROBE_STAGE_LEAVING,
	KPROBE_STAGE_DISARMED,
	KPROBE_STAGE_UNLINKED,
	KPROBE_STAGE_SYNCED,
	KPROBE_STAGE_QUIET,
	KPROBE_STAGE_PLANNED,
	KPROBE_STAGE_DIVERTED,
	KPROBE_STAGE_RETIRED,
};

/**
 * struct kprobe_slot_counts - what a slot cache has handed out
 * @live:  slots that are in use
 * @taken: those, and those that are retired and not free yet
 * @pages: all there are
 */
struct kprobe_slot_counts {
	unsigned int live;
	unsigned int taken;
	unsigned int pages;
};

/**
 * struct kprobe_counts - what there is of everything
 * @points:  in the list of all points
 * @found:   those of them that are in the table
 * @users:   registered probes
 * @copies:  memory for out-of-line copies
 * @detours: memory for detours
 * @pools:   of return probes, registered or with calls under way; 0 where
 *	     rethook has them
 */
struct kprobe_counts {
	unsigned int points;
	unsigned int found;
	unsigned int users;
	struct kprobe_slot_counts copies;
	struct kprobe_slot_counts detours;
	unsigned int pools;
};

#if IS_ENABLED(CONFIG_KUNIT)
typedef void (*kprobe_stop_t)(enum kprobe_stage stage, void *arg);

void kprobe_test_stop(kprobe_stop_t stop, void *arg);
void kprobe_test_counts(struct kprobe_counts *counts, bool settle);
unsigned long kprobe_test_patched(bool call, unsigned int nr, unsigned int *len);

DECLARE_STATIC_KEY_FALSE(kprobe_test_stops);
void kprobe_test_reached(enum kprobe_stage stage);

static inline void kprobe_test_stage(enum kprobe_stage stage)
{
	if (static_branch_unlikely(&kprobe_test_stops))
		kprobe_test_reached(stage);
}

extern atomic_t kprobe_test_nr_pools;

static inline void kprobe_test_count_pool(int by)
{
	atomic_add(by, &kprobe_test_nr_pools);
}
#else
static inline void kprobe_test_stage(enum kprobe_stage stage) { }
static inline void kprobe_test_count_pool(int by) { }
#endif

#endif /* _KERNEL_KPROBES_TESTING_H */
