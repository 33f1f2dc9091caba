// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: which handler runs on this CPU, and waiting for handlers, on architectures
 * with one current_kprobe for all contexts. running.c is for the others.
 *
 * No CPU looks at the current_kprobe of another one, so it needs no barrier. What orders a
 * change of a point against hits is the grace period in kprobe_quiesce(), on arm64 and
 * powerpc as anywhere. A hit that began before it has ended before kprobe_quiesce() returns,
 * with all its accesses. A hit that begins after it sees all that was stored before. The
 * interrupts of kprobe_wait_for_unwatched() do the same for CPUs that RCU does not watch.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <kunit/visibility.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>

#include "internal.h"

/* Shown by kprobe_busy_begin(), where no handler runs. It stands for no probe. */
static struct kprobe not_a_handler;

/**
 * kprobe_busy_begin - count hits as missed from here on
 *
 * Context: any; preemption is off until kprobe_busy_end().
 */
void __kprobe_hit kprobe_busy_begin(void)
{
	kprobe_enter(&not_a_handler);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_busy_begin);

/**
 * kprobe_busy_end - undo kprobe_busy_begin()
 *
 * Context: that of kprobe_busy_begin().
 */
void __kprobe_hit kprobe_busy_end(void)
{
	kprobe_leave(NULL);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_busy_end);

/**
 * kprobe_abandon - forget the handler that runs here
 *
 * After an oops the task is gone, and its handler with it, while the CPU continues. If
 * the handler were still shown, this CPU would miss all hits, and could not unregister
 * any probe.
 *
 * Context: an oops, in the context of the handler.
 */
void kprobe_abandon(void)
{
	const struct kprobe *running;

	preempt_disable_notrace();
	running = kprobe_running();
	if (running && running->addr)
		pr_emerg("a handler of the probe at %pS was running\n", running->addr);
	raw_cpu_write(current_kprobe, NULL);
	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(kprobe_abandon);

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
	kprobe_assert_held(&kprobe_mutex);
	kprobe_wait_for_unwatched();
	/* All other handlers run with preemption off, which makes them RCU readers. */
	synchronize_rcu();
}
