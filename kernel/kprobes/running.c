// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: which handlers run on each CPU, and waiting for them, on architectures that
 * tell contexts apart. current.c is for the others.
 *
 * A hit stores the point in kprobe_cpu::running before it reads the users of the
 * point, and clears it after the last handler has returned. arch_kprobes_sync()
 * interrupts each CPU, which orders memory there. So from then on a CPU either shows
 * the point, or sees the change that the caller of kprobe_quiesce() has made. Handlers
 * of breakpoints run with interrupts off: the interrupt itself waits for them.
 *
 * The interrupt orders memory on weakly ordered architectures, too: arch_kprobes_sync()
 * returns after each CPU has run a function in it, through smp_call_function(). A CPU
 * releases its earlier stores to the caller, and its later loads come after the acquire
 * of the request. So a compiler barrier is enough in kprobe_show(). It is enough in
 * kprobe_unshow() only because x86 moves no access past a later store: elsewhere that
 * would have to be a release. It pairs with the reads in running_any(), which come
 * before anything is freed.
 *
 * A point that stays armed may be hit again and again during the wait. Handlers run
 * with preemption off, so a grace period ends the wait if it takes too long.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <kunit/visibility.h>
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>

#include "internal.h"

#define QUIESCE_SPINS	100
#define QUIESCE_TRIES	20

DEFINE_PER_CPU(struct kprobe_cpu, kprobe_cpu);

/* Shown by kprobe_busy_begin(), where no handler runs. It is in no batch. */
static struct kprobe_point busy_point = {
	.faulters = LIST_HEAD_INIT(busy_point.faulters),
};

/**
 * kprobe_busy_begin - count hits as missed from here on
 *
 * Context: any; preemption is off until kprobe_busy_end().
 */
void __kprobe_hit kprobe_busy_begin(void)
{
	preempt_disable_notrace();
	kprobe_show(kprobe_this_context(), &busy_point.kp);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_busy_begin);

/**
 * kprobe_busy_end - undo kprobe_busy_begin()
 *
 * Context: that of kprobe_busy_begin().
 */
void __kprobe_hit kprobe_busy_end(void)
{
	kprobe_unshow(kprobe_this_context());
	preempt_enable_notrace();
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_busy_end);

/**
 * kprobe_abandon - forget the handler that runs here
 *
 * After an oops the task is gone, and its handler with it, while the CPU continues.
 * The handler must no longer be shown: otherwise hits would be missed forever, and
 * faults would be attributed to a probe that is gone.
 *
 * The log names the probe: the stack shows neither the function whose return was probed,
 * nor that a function on it is a handler. All contexts are checked, because a stack
 * overflow is reported from a different context than the handler's.
 *
 * Context: an oops, in the context of the handler.
 */
void kprobe_abandon(void)
{
	const struct kprobe *running;
	unsigned int ctx;

	preempt_disable_notrace();
	for (ctx = 0; ctx < KPROBE_NR_CTX; ctx++) {
		running = kprobe_running_point(raw_cpu_read(kprobe_cpu.running[ctx]));
		/* busy_point and gone_point have no address: they stand for no probe. */
		if (running && running->addr)
			pr_emerg("a handler of the probe at %pS was running\n", running->addr);
	}
	kprobe_fault_abandon();
	jprobe_abandon();
	kprobe_unshow(kprobe_this_context());
	/* The handlers that it covered are gone as well. */
	raw_cpu_and(kprobe_cpu.covered, ~KPROBE_COVERED_MASK);
	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(kprobe_abandon);

/*
 * Points are compared but not dereferenced: by now the handler may have finished and the
 * point may have been freed. An odd value is one more than the address of a word in a
 * detour, which was in use when the value was read. The CPU may leave the detour right
 * after that, and the slot may be reused. It is unmapped only after an RCU grace period,
 * so the word stays readable while preemption is off, whatever it holds.
 */
static bool running_any(int cpu, struct list_head *points)
{
	struct kprobe_cpu *kc = per_cpu_ptr(&kprobe_cpu, cpu);
	unsigned int covered = READ_ONCE(kc->covered);
	struct kprobe *p, *running;
	unsigned int i;

	smp_rmb();	/* pairs with kprobe_enter() */
	for (i = 0; i < KPROBE_NR_CTX; i++) {
		scoped_guard(preempt)
			running = kprobe_running_point(READ_ONCE(kc->running[i]));
		if (!running || running == &busy_point.kp)
			continue;
		list_for_each_entry(p, points, list) {
			if (p == running)
				return true;
		}
	}
	smp_rmb();	/* likewise, with kprobe_leave() */
	/* A covered point is not shown: it could be any of the points. */
	return covered & KPROBE_COVERED_MASK || covered != READ_ONCE(kc->covered);
}

/**
 * kprobe_quiesce - wait for handlers
 * @points: a batch
 *
 * On return, all handlers that saw the points as they were before the caller changed
 * them have finished.
 *
 * Context: kprobe_mutex held; may sleep.
 */
void kprobe_quiesce(struct list_head *points)
{
	unsigned int tries = 0, spins;
	int cpu;

	kprobe_assert_held(&kprobe_mutex);
	/* CPUs that come online see the change. */
	guard(cpus_read_lock)();
	arch_kprobes_sync();
	kprobe_test_stage(KPROBE_STAGE_SYNCED);

	for_each_online_cpu(cpu) {
		for (spins = 0; running_any(cpu, points); spins++) {
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
