/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes that come and go: a handler that runs after its probe is gone finds no poison. */
#ifndef _KPROBE_CHURN_H
#define _KPROBE_CHURN_H

#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/slab.h>

#define POISON		0x70727565

/**
 * struct churned - a probe that comes and goes
 * @kp:	   the probe, or the kprobe of @rp or @jp
 * @rp:	   a return probe
 * @jp:	   a jprobe
 * @alive: POISON until it is freed
 */
struct churned {
	union {
		struct kprobe kp;
		struct kretprobe rp;
#ifdef CONFIG_JPROBES
		struct jprobe jp;
#endif
	};
	unsigned int alive;
};

static_assert(!offsetof(struct kretprobe, kp));
#ifdef CONFIG_JPROBES
static_assert(!offsetof(struct jprobe, kp));
#endif

static atomic_long_t late, churned_hits;

static void churned_look(struct churned *c)
{
	if (READ_ONCE(c->alive) != POISON)
		atomic_long_inc(&late);
	atomic_long_inc(&churned_hits);
}

static int churned_hit(struct kprobe *kp, struct pt_regs *regs)
{
	churned_look(container_of(kp, struct churned, kp));
	return 0;
}

static void churned_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	churned_look(container_of(kp, struct churned, kp));
}

static struct churned *churned_alloc(void)
{
	struct churned *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (c)
		c->alive = POISON;
	return c;
}

/* A handler that is still running is noticed. */
static void churned_free(struct churned *c)
{
	if (!c)
		return;
	WRITE_ONCE(c->alive, 0);
	kfree(c);
}

#endif /* _KPROBE_CHURN_H */
