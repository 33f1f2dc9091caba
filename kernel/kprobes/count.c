// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: counting the hits of each point, if that is switched on.
 *
 * If kprobe_point::only is set, a hit calls its handlers. While hits are counted, these
 * are the counter's rather than the only user's: the counter's pre-handler adds one, and
 * then runs the pre-handlers of all users. So a hit need not check whether it is counted,
 * and counting costs nothing while it is off. Detours call a counter like an only user.
 *
 * A counter has a number for each CPU, which no other CPU writes. If one hit interrupts
 * another, both are counted.
 *
 * If there is no memory for a point's counter, its hits are handled as usual, but not
 * counted.
 */
#include <kunit/visibility.h>
#include <linux/cleanup.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "internal.h"

/* Under kprobe_mutex. */
static bool counting;

/**
 * struct kprobe_counter - counts the hits of a point
 * @run:  what a hit runs in place of the handlers of the point's users
 * @hits: number of hits, by CPU
 * @rcu:  frees it once no hit uses it
 */
struct kprobe_counter {
	struct kprobe_handlers run;
	unsigned long __percpu *hits;
	struct rcu_head rcu;
};

/* Preemption is off, so the counter is not freed before this hit is done. */
static int __kprobe_hit count_hit(struct kprobe *p, struct pt_regs *regs)
{
	struct kprobe_point *pt = to_point(p);
	struct kprobe_counter *counter = READ_ONCE(pt->counter);

	if (likely(counter))
		raw_cpu_inc(*counter->hits);
	return kprobe_run_all_pre(pt, regs);
}

static void counter_free_rcu(struct rcu_head *rcu)
{
	struct kprobe_counter *counter = container_of(rcu, struct kprobe_counter, rcu);

	free_percpu(counter->hits);
	kfree(counter);
}

/**
 * kprobe_counter_add - give a point a counter, if hits are counted
 * @pt: the point; kprobe_choose_only() makes its hits call the counter
 *
 * Context: kprobe_mutex held; may sleep.
 */
void kprobe_counter_add(struct kprobe_point *pt)
{
	struct kprobe_counter *counter;

	kprobe_assert_held(&kprobe_mutex);
	if (!counting || pt->counter || kprobe_point_gone(pt))
		return;
	counter = kzalloc(sizeof(*counter), GFP_KERNEL | __GFP_NOWARN);
	if (!counter)
		return;
	counter->hits = alloc_percpu_gfp(unsigned long, GFP_KERNEL | __GFP_NOWARN);
	if (!counter->hits) {
		kfree(counter);
		return;
	}
	counter->run.pre = count_hit;
	counter->run.self = &pt->kp;
	/*
	 * A hit that was sent to the previous counter may read this pointer in count_hit().
	 * Its dependent reads are ordered after the stores above.
	 */
	smp_store_release(&pt->counter, counter);
}

/**
 * kprobe_counter_free - free the counter of a point, if it has one
 * @pt: the point; no new hit calls the counter. Hits may still be in it, but only on CPUs
 *	that RCU waits for: the caller has waited for the others
 *
 * Context: kprobe_mutex held; does not wait.
 */
void kprobe_counter_free(struct kprobe_point *pt)
{
	struct kprobe_counter *counter = pt->counter;

	kprobe_assert_held(&kprobe_mutex);
	if (!counter)
		return;
	WRITE_ONCE(pt->counter, NULL);
	call_rcu(&counter->rcu, counter_free_rcu);
}

/**
 * kprobe_counter_handlers - get the handlers that count a point's hits
 * @pt: the point
 *
 * Context: kprobe_mutex held.
 * Return: the counter's handlers; NULL if hits of the point are not counted, or it has no user.
 */
struct kprobe_handlers *kprobe_counter_handlers(struct kprobe_point *pt)
{
	kprobe_assert_held(&kprobe_mutex);
	/* A hit before the first user is linked is a hit of no probe. */
	if (!counting || !pt->counter || list_empty(&pt->users))
		return NULL;
	return &pt->counter->run;
}

/**
 * kprobe_counter_sum - get the number of hits of a point
 * @pt:	  the point
 * @hits: set to the number of hits since counting was switched on, or since the point
 *	  was made; missed hits are not included
 *
 * Context: kprobe_mutex held.
 * Return: true; or false if they are not counted.
 */
bool kprobe_counter_sum(struct kprobe_point *pt, unsigned long *hits)
{
	unsigned long sum = 0;
	int cpu;

	kprobe_assert_held(&kprobe_mutex);
	if (!pt->counter)
		return false;
	/* More hits may be counted meanwhile. */
	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(pt->counter->hits, cpu));
	*hits = sum;
	return true;
}

/**
 * kprobes_count - switch the counting of hits on or off
 * @on: true to start from 0, false to stop and discard the numbers
 *
 * Probes stay armed, and no hit is lost. Jumps become breakpoints for a moment, because
 * a detour holds the address of the handler that it calls.
 *
 * Context: may sleep, and waits for the other CPUs if there are jumps.
 */
void kprobes_count(bool on)
{
	struct kprobe_point *pt;
	LIST_HEAD(batch);

	guard(mutex)(&kprobe_mutex);

	if (counting == on)
		return;
	WRITE_ONCE(counting, on);
	list_for_each_entry(pt, &kprobe_points, all) {
		kprobe_counter_add(pt);
		kprobe_choose_only(pt);
		kprobe_batch_add(pt, &batch);
	}
	kprobe_optimizer_revert(&batch);
	kprobe_wait_for_unwatched();
	list_for_each_entry(pt, &batch, kp.list) {
		if (!on)
			kprobe_counter_free(pt);
		kprobe_optimizer_want(pt);
	}
	kprobe_batch_end(&batch);
}

/**
 * kprobes_counting - test if hits are counted
 *
 * Context: any.
 * Return: true if they are.
 */
bool kprobes_counting(void)
{
	return READ_ONCE(counting);
}

#if IS_ENABLED(CONFIG_KUNIT)
/**
 * kprobe_test_hits_word - find where the hits on a CPU are counted
 * @kp:  a registered probe, on a point whose hits are counted
 * @cpu: the CPU
 *
 * Context: may sleep; not from a stage.
 * Return: the address of an element of kprobe_counter::hits.
 */
void *kprobe_test_hits_word(struct kprobe *kp, unsigned int cpu)
{
	guard(mutex)(&kprobe_mutex);
	return per_cpu_ptr(kprobe_user_of(kp)->point->counter->hits, cpu);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_hits_word);
#endif
