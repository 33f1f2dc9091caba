// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: what runs on this CPU, and waiting for it, on architectures with one
 * current_kprobe for all contexts. running.c does this for the others.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/kprobes.h>
#include <linux/rcupdate.h>

#include "internal.h"

/* Shown for code that is not a handler. */
static struct kprobe not_a_handler = {
	.addr = (void *)get_kprobe,
};

/**
 * kprobe_busy_begin - count hits as missed from here on
 *
 * Context: any; preemption is off until kprobe_busy_end().
 */
void __kprobe_hit kprobe_busy_begin(void)
{
	kprobe_enter(&not_a_handler);
}

/**
 * kprobe_busy_end - undo kprobe_busy_begin()
 *
 * Context: that of kprobe_busy_begin().
 */
void __kprobe_hit kprobe_busy_end(void)
{
	kprobe_leave(NULL);
}

/**
 * kprobe_quiesce - wait for handlers
 * @points: a batch
 *
 * On return, no handler is running that saw the points as they were before the
 * caller changed them.
 *
 * Context: kprobe_mutex held; may sleep.
 */
void kprobe_quiesce(struct list_head *points)
{
	lockdep_assert_held(&kprobe_mutex);
	/* Handlers run with preemption off, which makes them RCU readers. */
	synchronize_rcu();
}
