/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watches on memory, by debug registers: each stops a CPU right after an access. So a test
 * can act between two instructions of the code under test, without a hook in that code.
 */
#ifndef _LIB_TESTS_KPROBES_WATCH_X86_H
#define _LIB_TESTS_KPROBES_WATCH_X86_H

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>

#include "fixture.h"

/**
 * struct kpt_watch - a watch on what a CPU reads or writes
 * @seen:  what to do after an access, in an exception that counts as an NMI; may be NULL
 * @arg:   for @seen
 * @times: accesses so far
 * @event: the perf event
 */
struct kpt_watch {
	void (*seen)(struct kpt_watch *w, struct pt_regs *regs);
	void *arg;
	unsigned int times;
	struct perf_event *event;
};

static inline void kpt_watch_hit(struct perf_event *event, struct perf_sample_data *data,
				 struct pt_regs *regs)
{
	struct kpt_watch *w = event->overflow_handler_context;

	WRITE_ONCE(w->times, w->times + 1);
	if (w->seen)
		w->seen(w, regs);
}

static inline void kpt_unwatch_action(void *event)
{
	perf_event_release_kernel(event);
}

static inline void kpt_unwatch(struct kunit *test, struct kpt_watch *w)
{
	kunit_release_action(test, kpt_unwatch_action, w->event);
}

/*
 * Watches the 1, 2, 4 or 8 bytes at @word on @cpu until the test ends. QEMU before 8.1 does not
 * notice atomic operations.
 */
static inline struct kpt_watch *
kpt_watch(struct kunit *test, const void *word, size_t size, int cpu,
	  void (*seen)(struct kpt_watch *w, struct pt_regs *regs), void *arg)
{
	struct kpt_watch *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	struct perf_event_attr attr;

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->seen = seen;
	w->arg = arg;
	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)word;
	attr.bp_len = size;
	attr.bp_type = HW_BREAKPOINT_RW;
	w->event = perf_event_create_kernel_counter(&attr, cpu, NULL, kpt_watch_hit, w);
	if (IS_ERR(w->event))
		kunit_skip(test, "no debug register is free");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kpt_unwatch_action, w->event), 0);
	return w;
}

/*
 * The notifier chain of the exception is an RCU reader. Without CONFIG_PREEMPT_RCU, that
 * counts as one more guard against preemption.
 */
#define KPT_WATCH_READERS	1

/* Counts in @arg the accesses while preemption is on. */
static inline void kpt_watch_preemptible(struct kpt_watch *w, struct pt_regs *regs)
{
	unsigned int *times = w->arg, guards = preempt_count() & PREEMPT_MASK;

	*times += guards == (IS_ENABLED(CONFIG_PREEMPT_RCU) ? 0 : KPT_WATCH_READERS);
}

/* Counts in @arg the accesses outside of RCU readers. */
static inline void kpt_watch_unread(struct kpt_watch *w, struct pt_regs *regs)
{
#ifdef CONFIG_PREEMPT_RCU
	unsigned int *times = w->arg;

	*times += rcu_preempt_depth() == KPT_WATCH_READERS;
#else
	kpt_watch_preemptible(w, regs);
#endif
}

/* How long a CPU that is stopped waits for another one. */
#define KPT_WATCH_MS	5000

/**
 * struct kpt_reader - a watch on a word that has to be read under a guard
 * @w:	    the watch
 * @before: accesses before those that the test is about
 * @times:  accesses without the guard
 */
struct kpt_reader {
	struct kpt_watch *w;
	unsigned int before;
	unsigned int times;
};

/*
 * Watches @word on this CPU, which the test has to stay on. @seen is one of the functions
 * above. One access here, without a guard, shows that it can fail.
 */
static inline struct kpt_reader *
kpt_watch_reader(struct kunit *test, const void *word, size_t size,
		 void (*seen)(struct kpt_watch *w, struct pt_regs *regs))
{
	struct kpt_reader *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	/* Without it, neither guard can be seen. */
	if (!IS_ENABLED(CONFIG_PREEMPT_COUNT))
		kunit_skip(test, "preemption is not counted");
	KUNIT_ASSERT_NOT_NULL(test, r);
	r->w = kpt_watch(test, word, size, raw_smp_processor_id(), seen, &r->times);
	READ_ONCE(*(const u8 *)word);
	barrier();
	/* Lockdep and KASAN look at modules at any time. */
	r->before = r->w->times;
	KUNIT_EXPECT_GE(test, r->before, 1);
	KUNIT_EXPECT_EQ(test, r->times, 1);
	return r;
}

/* Ends the watch. The word was read since, each time under the guard. */
static inline void kpt_unwatch_reader(struct kunit *test, struct kpt_reader *r)
{
	kpt_unwatch(test, r->w);
	KUNIT_EXPECT_GT(test, r->w->times, r->before);
	KUNIT_EXPECT_EQ(test, r->times, 1);
}

#ifdef CONFIG_KRETPROBE_POOL
/**
 * struct kpt_free_watch - a watch on an instance
 * @ri:	   the instance
 * @times: accesses to it while it was free
 */
struct kpt_free_watch {
	struct kretprobe_instance *ri;
	unsigned int times;
};

/* Another call may have it then. */
static inline void kpt_watch_free(struct kpt_watch *w, struct pt_regs *regs)
{
	struct kpt_free_watch *f = w->arg;

	f->times += !!(*(unsigned long *)kprobe_test_free_word(f->ri) & f->ri->bit);
}
#endif

#endif /* _LIB_TESTS_KPROBES_WATCH_X86_H */
