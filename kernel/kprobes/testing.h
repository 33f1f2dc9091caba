/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes: what the KUnit suites use. Without KUnit it compiles to nothing.
 */
#ifndef _KERNEL_KPROBES_TESTING_H
#define _KERNEL_KPROBES_TESTING_H

#include <linux/atomic.h>
#include <linux/jump_label.h>
#include <linux/types.h>

struct kmem_cache;
struct kprobe;
struct kretprobe;
struct kretprobe_instance;
struct module;

/**
 * enum kprobe_stage - where a test can interfere
 * @KPROBE_STAGE_RESOLVED: registering: the targets have been looked up
 * @KPROBE_STAGE_ARMING:   points are about to be armed, in one round
 * @KPROBE_STAGE_ARMED:	   registering: the points are armed, their new users
 *			   are not linked yet
 * @KPROBE_STAGE_LEAVING:  unregistering: the users are unlinked, their points are
 *			   still armed
 * @KPROBE_STAGE_DISARMED: the text is restored, the points are still in the table
 * @KPROBE_STAGE_UNLINKED: the points are not in the table any more; their handlers may
 *			   be running
 * @KPROBE_STAGE_SYNCED:   in kprobe_quiesce(): each CPU has been interrupted, and none
 *			   has been looked at yet
 * @KPROBE_STAGE_QUIET:	   unregistering: no handler runs, nothing is freed yet
 * @KPROBE_STAGE_CHOSEN:   the optimizer is about to decide if a point can be a jump
 * @KPROBE_STAGE_PLANNED:  the optimizer has chosen the instructions of a detour, and is
 *			   about to allocate memory for it
 * @KPROBE_STAGE_DIVERTED: the optimizer has made detours, and is about to wait
 *			   for tasks
 * @KPROBE_STAGE_NOTED:	   points move from one ftrace_ops to the other; it is about
 *			   to change which of the two counts a hit
 * @KPROBE_STAGE_GREW:	   a pool of instances has grown; its calls do not ask for more yet
 * @KPROBE_STAGE_RETIRED:  the worker is about to wait for retired slots
 * @KPROBE_STAGE_ARRIVED:  CPUs that RCU does not watch are not in a hit from before
 *
 * kprobe_mutex is held, except at RESOLVED, DIVERTED, GREW (pool_mutex is) and RETIRED. At
 * ARRIVED it depends on the caller of kprobe_wait_for_unwatched().
 */
enum kprobe_stage {
	KPROBE_STAGE_RESOLVED,
	KPROBE_STAGE_ARMING,
	KPROBE_STAGE_ARMED,
	KPROBE_STAGE_LEAVING,
	KPROBE_STAGE_DISARMED,
	KPROBE_STAGE_UNLINKED,
	KPROBE_STAGE_SYNCED,
	KPROBE_STAGE_QUIET,
	KPROBE_STAGE_CHOSEN,
	KPROBE_STAGE_PLANNED,
	KPROBE_STAGE_DIVERTED,
	KPROBE_STAGE_NOTED,
	KPROBE_STAGE_GREW,
	KPROBE_STAGE_RETIRED,
	KPROBE_STAGE_ARRIVED,
};

/* A function that every kernel has; one probe on it is registered too early. */
#define KPROBE_TEST_EARLY_SYMBOL	"ksys_sync"

/**
 * struct kprobe_slot_counts - the slots of a cache
 * @live:  slots that are in use
 * @taken: slots that are in use, or retired and not free yet
 * @pages: pages
 */
struct kprobe_slot_counts {
	unsigned int live;
	unsigned int taken;
	unsigned int pages;
};

/**
 * struct kprobe_counts - what kprobes have allocated
 * @points:  points in the list of all points
 * @found:   points in the table
 * @users:   registered probes
 * @copies:  slots for out-of-line copies
 * @detours: slots for detours
 * @pools:   pools of return probes that are registered, or have calls in flight; 0 on
 *	     architectures that use rethook
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
void kprobe_test_ftrace_kill(bool killed);
void kprobe_test_counts(struct kprobe_counts *counts, bool settle);
void *kprobe_test_entry(const void *fn);
struct kprobe *kprobe_test_running(void);
bool kprobe_test_shown(unsigned int ctx);
unsigned int kprobe_test_covered(unsigned int cpu);
void *kprobe_test_symbol(const char *name);
bool kprobe_test_ftrace_walks(void);
void kprobe_test_ftrace_call(struct kprobe *kp);
void *kprobe_test_only_word(struct kprobe *kp);
void *kprobe_test_hits_word(struct kprobe *kp, unsigned int cpu);
void *kprobe_test_users_word(struct kprobe *kp);
void *kprobe_test_enabled_byte(struct kprobe *kp);
void *kprobe_test_owner_word(struct kprobe *kp);
void *kprobe_test_covered_word(unsigned int cpu);
void *kprobe_test_running_word(unsigned int cpu);
void *kprobe_test_slots_word(void);
void *kprobe_test_blacklist_word(void);
void *kprobe_test_points_word(void);
struct kmem_cache *kprobe_test_point_cache(void);
void *kprobe_test_copies_word(void);
void *kprobe_test_handler_word(struct kretprobe_instance *ri);
void *kprobe_test_free_word(struct kretprobe_instance *ri);
void kprobe_test_given_back(struct kretprobe_instance *ri);
atomic_t *kprobe_test_attention(struct kretprobe_instance *ri);
void *kprobe_test_asked(struct kretprobe_instance *ri);
void *kprobe_test_todo_word(struct kretprobe_instance *ri);
bool kprobe_test_held_to_grow(struct kretprobe_instance *ri);
bool kprobe_test_wanted(struct kretprobe_instance *ri);
bool kprobe_test_idle_keeps(struct kretprobe_instance *ri, unsigned int cpu, bool online,
			    bool again);
unsigned int kprobe_test_instances(struct kretprobe *rp);
void *kprobe_test_chain_word(struct kretprobe_instance *ri, unsigned int cpu);
unsigned long kprobe_test_ftrace_site(const void *fn);
unsigned long kprobe_test_patched(bool call, unsigned int nr, unsigned int *len);
int kprobe_test_blacklist(struct module *mod, bool add);
int kprobe_test_module_event(struct module *mod, unsigned long event);
int kprobe_test_oops(void);
void kprobe_test_oops_at(unsigned long ip);
bool kprobe_test_arrays_wait(void);
int kprobe_test_too_early(bool *refused);
int kprobe_test_too_late(bool *text);
bool kprobe_test_left_in_init(void);
bool kprobe_test_fault_nests(void);
bool kprobe_test_idle_noted(unsigned int cpu);
unsigned long kprobe_test_retry_delay(bool *pending);
void kprobe_test_retry_at_most(void);
void kprobe_test_init_text_gone(void);
bool kprobe_test_mce_recovers(unsigned long ip);
int kprobe_test_debug(unsigned long addr, bool set);
bool kprobe_test_reserved(unsigned long start, unsigned long end);
void kprobe_test_forget_reserved(void);
unsigned long kprobe_test_label_target(unsigned int nr);
bool kprobe_test_is_label_target(unsigned long addr);
int kprobe_test_stack(unsigned long *entries, unsigned int nr);
int kprobe_test_each_symbol(int (*fn)(void *, const char *, unsigned long), void *data);
bool kprobe_test_refused_by_name(const char *name, bool in_any);

/* While this is set, there is no memory for detours. */
extern bool kprobe_test_no_detours;

static inline bool kprobe_test_fails_detour(void)
{
	return READ_ONCE(kprobe_test_no_detours);
}

/* While the first is set, there is no memory for instances. The second counts failures. */
extern bool kprobe_test_no_instances;
extern atomic_t kprobe_test_instances_failed;

static inline bool kprobe_test_fails_instances(void)
{
	if (!READ_ONCE(kprobe_test_no_instances))
		return false;
	atomic_inc(&kprobe_test_instances_failed);
	return true;
}

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
static inline void kprobe_test_init_text_gone(void) { }
static inline void kprobe_test_count_pool(int by) { }

static inline bool kprobe_test_fails_detour(void)
{
	return false;
}

static inline bool kprobe_test_fails_instances(void)
{
	return false;
}
#endif

#endif /* _KERNEL_KPROBES_TESTING_H */
