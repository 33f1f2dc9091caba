// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: calls under return probes that return late, after the probe is gone,
 * or never, because their task has ended.
 */
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/ftrace.h>
#include <linux/interrupt.h>
#include <linux/preempt.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "fixture.h"
#ifdef CONFIG_X86
#include "watch_x86.h"
#endif

/**
 * struct late_probe - a return probe that counts
 * @rp:	     the probe
 * @entries: runs of the entry handler
 * @returns: runs of the return handler
 * @ri:	     the latest call
 */
struct late_probe {
	struct kretprobe rp;
	atomic_t entries;
	atomic_t returns;
	struct kretprobe_instance *ri;
};

static atomic_t orphans;

static int late_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct late_probe *p = container_of(get_kretprobe(ri), struct late_probe, rp);

	atomic_inc(&p->entries);
	WRITE_ONCE(p->ri, ri);
	return 0;
}

static int late_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	if (rp)
		atomic_inc(&container_of(rp, struct late_probe, rp)->returns);
	else
		atomic_inc(&orphans);
	return 0;
}

static struct late_probe *late_probe(struct kunit *test, void *fn, int maxactive)
{
	struct late_probe *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->rp.kp.addr = kpt_text(fn);
	p->rp.handler = late_return;
	p->rp.entry_handler = late_entry;
	p->rp.maxactive = maxactive;
	kpt_register_return(test, &p->rp);
	return p;
}

static void late_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, atomic_xchg(&orphans, 0), 0);
}

#ifndef CONFIG_KRETPROBE_ON_RETHOOK
#define OURS	1
#else
#define OURS	0
#endif

/* The number of pools: one more than before as long as calls are under way. */
static void expect_pools(struct kunit *test, unsigned int nr)
{
	struct kprobe_counts now;

	if (OURS)
		KUNIT_EXPECT_TRUE_MSG(test, kpt_wait_until((now = kpt_counts(false)).pools == nr),
				      "%u pools, not %u", now.pools, nr);
}

/* Time for a worker to free something too early. */
static void expect_pools_stay(struct kunit *test, unsigned int nr)
{
	msleep(50);
	if (OURS)
		KUNIT_EXPECT_EQ(test, kpt_counts(false).pools, nr);
}

/* --- From tasks -------------------------------------------------------------- */

/**
 * struct caller - a task that waits inside the probed function
 * @gate:   it waits for this
 * @inside: counts those that wait
 * @depth:  depth of its recursion
 * @result: what the function returned
 * @done:   the function has returned
 */
struct caller {
	struct completion gate;
	atomic_t *inside;
	unsigned long depth;
	unsigned long result;
	bool done;
};

static int caller_fn(void *arg)
{
	struct caller *c = arg;

	c->result = kpt_recurse_waits(c->depth, &c->gate, c->inside);
	WRITE_ONCE(c->done, true);
	while (!kthread_should_stop())
		usleep_range(500, 1000);
	return 0;
}

static void open_gate(void *gate)
{
	complete_all(gate);
}

/* One CPU has instances for all of these calls, even if its pool has not grown yet. */
#define CALLERS		3
#define CALLER_DEPTH	2

/* The last call gives back the last instances of two probes, at once. */
static void check_late(struct kunit *test, int maxactive)
{
	struct caller *c = kunit_kcalloc(test, CALLERS, sizeof(*c), GFP_KERNEL);
	atomic_t *inside = kunit_kzalloc(test, sizeof(*inside), GFP_KERNEL);
	unsigned int before = kpt_counts(false).pools, i;
	struct late_probe *p[2];

	KUNIT_ASSERT_NOT_NULL(test, c);
	KUNIT_ASSERT_NOT_NULL(test, inside);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = late_probe(test, kpt_recurse_waits, maxactive);
	for (i = 0; i < CALLERS; i++) {
		init_completion(&c[i].gate);
		c[i].inside = inside;
		c[i].depth = CALLER_DEPTH;
		kpt_thread(test, caller_fn, &c[i], -1, "caller");
		KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, open_gate, &c[i].gate),
				0);
	}
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(atomic_read(inside) == CALLERS));
	expect_pools(test, before + ARRAY_SIZE(p));
	for (i = 0; i < ARRAY_SIZE(p); i++) {
		KUNIT_EXPECT_EQ(test, atomic_read(&p[i]->entries), CALLERS * (CALLER_DEPTH + 1));
		kpt_unregister_return(test, &p[i]->rp);
		memset(p[i], 0x6b, sizeof(*p[i]));
	}
	for (i = 0; i < CALLERS; i++) {
		expect_pools_stay(test, before + ARRAY_SIZE(p));
		complete_all(&c[i].gate);
		KUNIT_EXPECT_TRUE(test, kpt_wait_until(READ_ONCE(c[i].done)));
		KUNIT_EXPECT_EQ(test, c[i].result, (unsigned long)CALLER_DEPTH);
	}
	expect_pools(test, before);
}

static void the_last_late_call_of_tasks_frees_the_pool(struct kunit *test)
{
	check_late(test, 2 * CALLERS * (CALLER_DEPTH + 1));
}

/* A pool that grows has several chunks on a CPU. */
static void the_last_late_call_frees_a_pool_that_has_grown(struct kunit *test)
{
	unsigned int i;

	kpt_skip_if_pools_stay(test);
	for (i = 0; i < 3; i++)
		check_late(test, 0);
}

static struct kretprobe *probe_of(struct kretprobe_instance *ri)
{
	struct kretprobe *rp;

	preempt_disable();
	rp = get_kretprobe(ri);
	preempt_enable();
	return rp;
}

/* The probe may have been freed. BPF programs and others may ask for it at any time. */
static void a_late_call_belongs_to_no_probe(struct kunit *test)
{
	struct caller *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	atomic_t *inside = kunit_kzalloc(test, sizeof(*inside), GFP_KERNEL);
	struct kretprobe_instance *ri;
	struct late_probe *p;

	KUNIT_ASSERT_TRUE(test, c && inside);
	p = late_probe(test, kpt_recurse_waits, 1);
	init_completion(&c->gate);
	c->inside = inside;
	kpt_thread(test, caller_fn, c, -1, "caller");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, open_gate, &c->gate), 0);
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(atomic_read(inside)));
	ri = READ_ONCE(p->ri);
	KUNIT_ASSERT_NOT_NULL(test, ri);
	KUNIT_EXPECT_PTR_EQ(test, probe_of(ri), &p->rp);

	kpt_unregister_return(test, &p->rp);
	KUNIT_EXPECT_NULL(test, probe_of(ri));
	/* Only the rethook is left, which does not lead to freed memory. */
	if (IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK))
		KUNIT_EXPECT_LT(test, (unsigned long)kprobe_test_handler_word(ri), PAGE_SIZE);
	complete_all(&c->gate);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(READ_ONCE(c->done)));
}

static void a_pool_without_calls_goes_with_its_probe(struct kunit *test)
{
	unsigned int before = kpt_counts(false).pools;
	struct late_probe *p = late_probe(test, kpt_recurse_waits, 0);

	expect_pools(test, before + OURS);
	kpt_unregister_return(test, &p->rp);
	expect_pools(test, before);
}

/* --- What a late return shows ------------------------------------------------ */

#if defined(CONFIG_DYNAMIC_FTRACE) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
/**
 * struct late_leaver - probes of a function that are unregistered while it runs
 * @ops:    calls note_shown() for the function that replaces the return handler
 * @rp:	    the return probe
 * @other:  a kprobe on the same function, which is unregistered after it
 * @shared: @other is registered
 * @task:   the task that runs the function
 * @shown:  the point that is shown when the function returns
 * @times:  how often that was noted
 * @bad:    what that reads, and cannot
 * @error:  result of reading it
 */
struct late_leaver {
	struct ftrace_ops ops;
	struct kretprobe rp;
	struct kprobe other;
	bool shared;
	struct task_struct *task;
	struct kprobe *shown;
	unsigned int times;
	void *bad;
	long error;
};

static noinline notrace unsigned long kpt_late_leaves(struct late_leaver *l)
{
	unregister_kretprobe(&l->rp);
	if (l->shared)
		unregister_kprobe(&l->other);
	barrier();
	return 1;
}

static void note_shown(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
		       struct ftrace_regs *fregs)
{
	struct late_leaver *l = container_of(ops, struct late_leaver, ops);
	u8 byte;

	if (current != l->task)
		return;
	l->shown = kprobe_test_running();
	l->times++;
	/* Fault handlers of its point are asked: it has none. */
	l->error = copy_from_kernel_nofault(&byte, l->bad, sizeof(byte));
}

static void remove_note(void *ops)
{
	unregister_ftrace_function(ops);
	ftrace_free_filter(ops);
}

/* Otherwise a fault would be offered to the fault handlers of a freed point. */
static void late_return_shows_no_point_that_is_gone(struct kunit *test)
{
	struct late_leaver *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	char late_handler[] = "kretprobe_no_handler";
	struct kprobe *point;

	KUNIT_ASSERT_NOT_NULL(test, l);
	l->task = current;
	l->bad = kpt_bad_address(test);
	l->ops.func = note_shown;
	KUNIT_ASSERT_EQ(test, ftrace_set_filter(&l->ops, late_handler,
						strlen(late_handler), 1), 0);
	KUNIT_ASSERT_EQ(test, register_ftrace_function(&l->ops), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, remove_note, &l->ops), 0);
	do {
		memset(&l->rp, 0, sizeof(l->rp));
		memset(&l->other, 0, sizeof(l->other));
		l->rp.kp.addr = kpt_text(kpt_late_leaves);
		l->other.addr = kpt_text(kpt_late_leaves);
		KUNIT_ASSERT_EQ(test, register_kretprobe(&l->rp), 0);
		if (l->shared)
			KUNIT_EXPECT_EQ(test, register_kprobe(&l->other), 0);
		preempt_disable();
		point = get_kprobe(l->rp.kp.addr);
		preempt_enable();
		l->times = 0;
		KUNIT_EXPECT_EQ(test, kpt_late_leaves(l), 1ul);
		KUNIT_EXPECT_EQ(test, l->times, 1);
		KUNIT_EXPECT_NOT_NULL(test, l->shown);
		KUNIT_EXPECT_PTR_NE(test, l->shown, point);
		KUNIT_EXPECT_EQ(test, l->error, -EFAULT);
		l->shared = !l->shared;
	} while (l->shared);
}
#endif

#ifdef CONFIG_X86
static void look_if_shown(struct kpt_watch *w, struct pt_regs *regs)
{
	unsigned int *hidden = w->arg;

	*hidden += !kprobe_test_shown(KPROBE_CTX_TASK);
}

/*
 * Otherwise the probe could be unregistered in between, without waiting for its handler.
 * kretprobe_return() handles the return of a single probe, kretprobe_run_handler() others.
 */
static void return_reads_its_handler_when_the_point_is_shown(struct kunit *test)
{
	unsigned int *hidden = kunit_kzalloc(test, sizeof(*hidden), GFP_KERNEL), cpu;
	struct late_probe *p = late_probe(test, kpt_traced, 2);
	struct kpt_watch *w;

	KUNIT_ASSERT_NOT_NULL(test, hidden);
	cpu = raw_smp_processor_id();
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	w = kpt_watch(test, kprobe_test_handler_word(p->ri), sizeof(long), cpu, look_if_shown,
		      hidden);
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, w->times, 1);
	late_probe(test, kpt_traced, 2);
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, w->times, 2);
	KUNIT_EXPECT_EQ(test, *hidden, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->returns), 3);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}
#endif

#ifdef CONFIG_X86
/**
 * struct leaver - a call that returns while its pool is released
 * @inside: it is under way
 * @go:	    it may return
 * @done:   it has returned
 */
struct leaver {
	bool inside;
	bool go;
	bool done;
};

static noinline notrace unsigned long kpt_late_waits(struct leaver *l)
{
	WRITE_ONCE(l->inside, true);
	while (!READ_ONCE(l->go) && !kthread_should_stop()) {
		cpu_relax();
		cond_resched();
	}
	return 1;
}

static int leave_then(void *arg)
{
	struct leaver *l = arg;

	kpt_late_waits(l);
	WRITE_ONCE(l->done, true);
	while (!kthread_should_stop())
		usleep_range(100, 1000);
	return 0;
}

static void let_it_leave(struct kpt_watch *w, struct pt_regs *regs)
{
	struct leaver *l = w->arg;

	if (w->times != 1)
		return;
	WRITE_ONCE(l->go, true);
	kpt_spin_until(READ_ONCE(l->done), KPT_WATCH_MS);
}

/*
 * The pool tells calls that it is dead, and then takes the instances that are free, CPU by
 * CPU. The call gives back one of the first CPU when that has been done for the others:
 * either the pool or the call has to drop its reference.
 */
static void call_that_returns_during_the_release_frees_the_pool(struct kunit *test)
{
	unsigned int before = kpt_counts(false).pools;
	unsigned int first = cpumask_first(cpu_possible_mask);
	unsigned int last = cpumask_last(cpu_possible_mask);
	struct leaver *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct task_struct *task;
	struct late_probe *p;
	struct kpt_watch *w;

	KUNIT_ASSERT_NOT_NULL(test, l);
	if (first == last || !cpu_online(first) || !cpu_online(last))
		kunit_skip(test, "needs two CPUs");
	set_cpus_allowed_ptr(current, cpumask_of(last));
	p = late_probe(test, kpt_late_waits, num_possible_cpus());
	task = kpt_thread(test, leave_then, l, first, "leaver");
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(l->inside)));
	w = kpt_watch(test, kprobe_test_chain_word(p->ri, last), sizeof(long), last,
		      let_it_leave, l);
	kpt_unregister_return(test, &p->rp);
	kpt_unwatch(test, w);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(l->done));
	expect_pools(test, before);
	kpt_stop(test, task);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}
#endif

#ifdef CONFIG_X86
/**
 * struct early_leaver - a call that returns when its pool is dead, and is seen to be so
 * @l:	it
 * @ri: its instance
 */
struct early_leaver {
	struct leaver l;
	struct kretprobe_instance *ri;
};

static void let_it_leave_first(struct kpt_watch *w, struct pt_regs *regs)
{
	struct early_leaver *e = w->arg;

	if (READ_ONCE(e->l.go) || !atomic_read(kprobe_test_attention(e->ri)))
		return;
	WRITE_ONCE(e->l.go, true);
	kpt_spin_until(READ_ONCE(e->l.done), KPT_WATCH_MS);
}

/* The call drops its reference, and the pool must not drop it again. */
static void call_that_returns_before_the_release_takes_its_instance(struct kunit *test)
{
	unsigned int before = kpt_counts(false).pools;
	unsigned int first = cpumask_first(cpu_possible_mask);
	unsigned int last = cpumask_last(cpu_possible_mask);
	struct early_leaver *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	struct leaver *stays = kunit_kzalloc(test, sizeof(*stays), GFP_KERNEL);
	struct late_probe *p;
	struct kpt_watch *w;

	KUNIT_ASSERT_NOT_NULL(test, e);
	KUNIT_ASSERT_NOT_NULL(test, stays);
	if (first == last || !cpu_online(first) || !cpu_online(last))
		kunit_skip(test, "needs two CPUs");
	set_cpus_allowed_ptr(current, cpumask_of(last));
	p = late_probe(test, kpt_late_waits, num_possible_cpus());
	kpt_thread(test, leave_then, stays, last, "stays");
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(stays->inside)));
	kpt_thread(test, leave_then, &e->l, first, "leaver");
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(e->l.inside)));
	e->ri = p->ri;
	w = kpt_watch(test, kprobe_test_chain_word(p->ri, first), sizeof(long), last,
		      let_it_leave_first, e);
	kpt_unregister_return(test, &p->rp);
	kpt_unwatch(test, w);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(e->l.done));
	expect_pools_stay(test, before + 1);
	WRITE_ONCE(stays->go, true);
	expect_pools(test, before);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/**
 * struct described - an instance that is used again
 * @ri: the instance
 * @fp: its place on the stack when its return address was accessed first
 */
struct described {
	struct kretprobe_instance *ri;
	void *fp;
};

static void note_its_place(struct kpt_watch *w, struct pt_regs *regs)
{
	struct described *d = w->arg;

	if (w->times == 1)
		d->fp = READ_ONCE(d->ri->fp);
}

static noinline notrace unsigned long call_deeper(struct leaver *l)
{
	unsigned long result = kpt_late_waits(l);

	barrier();
	return result + 1;
}

/* Otherwise the unwinder of another task would see the new address at the old place. */
static void place_of_a_call_is_told_before_its_address(struct kunit *test)
{
	int cpu = raw_smp_processor_id();
	struct leaver l = { .go = true };
	struct late_probe *p;
	struct described d;
	struct kpt_watch *w;
	void *fp;

	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	p = late_probe(test, kpt_late_waits, 1);
	KUNIT_EXPECT_EQ(test, kpt_late_waits(&l), 1ul);
	KUNIT_ASSERT_NOT_NULL(test, p->ri);
	fp = p->ri->fp;
	d = (struct described){ .ri = p->ri };
	w = kpt_watch(test, &p->ri->ret_addr, sizeof(long), cpu, note_its_place, &d);
	KUNIT_EXPECT_EQ(test, call_deeper(&l), 2ul);
	KUNIT_EXPECT_GE(test, w->times, 2);
	kpt_unwatch(test, w);
	KUNIT_EXPECT_PTR_EQ(test, p->ri, d.ri);
	KUNIT_EXPECT_PTR_NE(test, p->ri->fp, fp);
	/* While its entry handler runs, one is added to the place. */
	KUNIT_EXPECT_PTR_EQ(test, d.fp, p->ri->fp + 1);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/* The call has returned, and its instance is used for one of another task. */
static void use_it_again(struct kpt_watch *w, struct pt_regs *regs)
{
	struct kretprobe_instance *ri = w->arg;

	if (w->times != 1)
		return;
	WRITE_ONCE(ri->fp, NULL);
	WRITE_ONCE(ri->ret_addr, (void *)use_it_again);
}

/* An unwinder has just seen that a call of the task has the right place on the stack. */
static void address_of_another_task_s_call_is_not_found(struct kunit *test)
{
	unsigned int first = cpumask_first(cpu_online_mask);
	unsigned int last = cpumask_last(cpu_online_mask);
	struct leaver *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct llist_node *cur = NULL;
	struct task_struct *task;
	kprobe_opcode_t *caller;
	struct late_probe *p;
	struct kpt_watch *w;
	void *fp;

	KUNIT_ASSERT_NOT_NULL(test, l);
	if (first == last)
		kunit_skip(test, "needs two CPUs");
	set_cpus_allowed_ptr(current, cpumask_of(last));
	p = late_probe(test, kpt_late_waits, 1);
	task = kpt_thread(test, leave_then, l, first, "leaver");
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(l->inside)));
	fp = p->ri->fp;
	caller = p->ri->ret_addr;
	KUNIT_EXPECT_EQ(test, kretprobe_calls_find(task, fp, &cur), (unsigned long)caller);
	KUNIT_EXPECT_PTR_EQ(test, cur, &p->ri->llist);
	cur = NULL;
	w = kpt_watch(test, &p->ri->fp, sizeof(long), last, use_it_again, p->ri);
	KUNIT_EXPECT_EQ(test, kretprobe_calls_find(task, fp, &cur), 0ul);
	KUNIT_EXPECT_NULL(test, cur);
	KUNIT_EXPECT_EQ(test, w->times, 2);
	kpt_unwatch(test, w);
	p->ri->ret_addr = caller;
	p->ri->fp = fp;
	WRITE_ONCE(l->go, true);
	kpt_stop(test, task);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->returns), 1);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}
#endif

#if defined(CONFIG_HOTPLUG_CPU) && defined(CONFIG_GENERIC_SMP_IDLE_THREAD)
/* It never returns from its calls when its CPU goes offline, and starts over with the CPU. */
static void calls_of_an_idle_task_are_not_lost_with_its_cpu(struct kunit *test)
{
	unsigned int before = kpt_counts(false).pools, cpu = cpumask_last(cpu_online_mask), round;
	struct late_probe *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	if (num_online_cpus() == 1)
		kunit_skip(test, "needs two CPUs");
	p->rp.kp.symbol_name = "cpu_startup_entry";
	p->rp.entry_handler = late_entry;
	p->rp.maxactive = 1;
	kpt_register_return(test, &p->rp);
	for (round = 1; round <= 3; round++) {
		KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
		KUNIT_ASSERT_EQ(test, add_cpu(cpu), 0);
		KUNIT_EXPECT_TRUE(test, kpt_wait_until(atomic_read(&p->entries) == round));
	}
	KUNIT_EXPECT_EQ(test, p->rp.nmissed, 0);
	kpt_unregister_return(test, &p->rp);
	/* The last call is still there. */
	expect_pools_stay(test, before + 1);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_ASSERT_EQ(test, add_cpu(cpu), 0);
	expect_pools(test, before);
}
#endif

#if defined(CONFIG_X86) && defined(CONFIG_HOTPLUG_CPU)
/* A CPU that is slow to come online is given up, but may still run, and return. */
static void calls_of_an_idle_task_are_freed_if_its_cpu_is_dead(struct kunit *test)
{
	struct late_probe *p = late_probe(test, kpt_traced, 2);
	unsigned int cpu;

	for_each_online_cpu(cpu)
		KUNIT_EXPECT_TRUE_MSG(test, kprobe_test_idle_noted(cpu), "%u", cpu);
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_ASSERT_NOT_NULL(test, p->ri);
	preempt_disable();
	KUNIT_EXPECT_TRUE(test, kprobe_test_idle_keeps(p->ri, smp_processor_id(), false, false));
	/* Nor if it dies and then does not come back in time. */
	KUNIT_EXPECT_TRUE(test, kprobe_test_idle_keeps(p->ri, smp_processor_id(), true, true));
	KUNIT_EXPECT_FALSE(test, kprobe_test_idle_keeps(p->ri, smp_processor_id(), true, false));
	preempt_enable();
	KUNIT_EXPECT_EQ(test, kpt_traced(8), KPT_RESULT(8ul));
	KUNIT_EXPECT_EQ(test, atomic_read(&p->returns), 2);
}

/* Once it is free, its pool may be, too. */
static void calls_of_a_dead_cpu_are_given_back_with_preemption_off(struct kunit *test)
{
	struct late_probe *p = late_probe(test, kpt_traced, 2);
	unsigned int cpu = raw_smp_processor_id();
	struct kpt_reader *r;

	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_ASSERT_NOT_NULL(test, p->ri);
	r = kpt_watch_reader(test, kprobe_test_attention(p->ri), sizeof(atomic_t),
			     kpt_watch_preemptible);
	KUNIT_EXPECT_FALSE(test, kprobe_test_idle_keeps(p->ri, cpu, true, false));
	kpt_unwatch_reader(test, r);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}
#endif

/* --- From a softirq ----------------------------------------------------------- */

/**
 * struct late_softirq - a call that is under way in a softirq
 * @tasklet: makes the call
 * @inside:  the call is under way
 * @go:	     it may return
 * @done:    it has returned
 */
struct late_softirq {
	struct tasklet_struct tasklet;
	bool inside;
	bool go;
	bool done;
};

/* Waits without a grace period, which a softirq would hold up. */
#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
#define LEAVES_SOFTIRQS	1
#else
#define LEAVES_SOFTIRQS	0
#endif

/* Interrupts are on, so other CPUs can interrupt this one. */
static noinline notrace unsigned long kpt_late_spins(struct late_softirq *s)
{
	WRITE_ONCE(s->inside, true);
	kpt_spin_until(READ_ONCE(s->go), 2 * KPT_TIMEOUT_MS);
	return 1;
}

static void late_tasklet(struct tasklet_struct *t)
{
	struct late_softirq *s = container_of(t, struct late_softirq, tasklet);

	kpt_late_spins(s);
	WRITE_ONCE(s->done, true);
}

static int schedule_tasklet(void *arg)
{
	struct late_softirq *s = arg;

	local_bh_disable();
	tasklet_schedule(&s->tasklet);
	local_bh_enable();
	while (!kthread_should_stop())
		usleep_range(500, 1000);
	return 0;
}

static void a_late_call_in_a_softirq_frees_the_pool(struct kunit *test)
{
	struct late_softirq *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	unsigned int before = kpt_counts(false).pools, cpu = raw_smp_processor_id();
	struct task_struct *task;
	struct late_probe *p;
	bool inside;

	if (!LEAVES_SOFTIRQS)
		kunit_skip(test, "unregistering waits for softirqs here");
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, s);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	p = late_probe(test, kpt_late_spins, 4);
	tasklet_setup(&s->tasklet, late_tasklet);
	task = kpt_thread(test, schedule_tasklet, s, cpumask_any_but(cpu_online_mask, cpu),
			  "softirq");
	/* The softirq may keep timers from running. */
	inside = kpt_poll_until(READ_ONCE(s->inside));
	kpt_unregister_return(test, &p->rp);
	KUNIT_EXPECT_TRUE(test, inside && !s->done);
	if (OURS)
		KUNIT_EXPECT_EQ(test, kpt_counts(false).pools, before + 1);
	WRITE_ONCE(s->go, true);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(READ_ONCE(s->done)));
	expect_pools(test, before);
	kpt_stop(test, task);
	tasklet_kill(&s->tasklet);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/* --- Tasks that end inside ----------------------------------------------------- */

#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_ARCH_HAS_KPROBE_CONTEXTS)
/**
 * struct victim - a task that ends in a handler, as after an oops
 * @pr:	    the handler's probe, on an ftrace site
 * @gone:   completed by its end
 * @passes: the task does not end
 */
struct victim {
	struct kpt_probe pr;
	struct completion gone;
	bool passes;
};

static int pre_ends(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct victim *v = container_of(pr, struct victim, pr);

	if (v->passes || !(current->flags & PF_KTHREAD) || pr->arg != current)
		return 0;
	kpt_end_task(&v->gone);
	return 0;
}

/* A function under a return probe, which calls the function that the victim ends in. */
static noinline notrace unsigned long kpt_late_victim(unsigned long arg)
{
	unsigned long ret = kpt_traced(arg);

	barrier();
	return ret;
}

static int victim_fn(void *arg)
{
	struct victim *v = arg;

	v->pr.arg = current;
	return kpt_late_victim(7);
}

static bool is_followed(struct late_probe *p)
{
	int returns = atomic_read(&p->returns);

	kpt_late_victim(3);
	return atomic_read(&p->returns) > returns;
}

/* Its instances are freed, and the CPU does not show the handler any more. */
static void a_task_that_ends_in_a_handler_leaves_nothing(struct kunit *test)
{
	struct victim *v = kunit_kzalloc(test, sizeof(*v), GFP_KERNEL);
	struct late_probe *p = late_probe(test, kpt_late_victim, 1);
	unsigned long missed;
	unsigned int i, cpu;
#ifdef CONFIG_X86
	struct kpt_free_watch *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	struct kpt_watch *w = NULL;

	KUNIT_ASSERT_NOT_NULL(test, f);
#endif

	KUNIT_ASSERT_NOT_NULL(test, v);
	v->pr.kp.addr = (void *)kpt_traced;
	v->pr.kp.pre_handler = kpt_pre;
	v->pr.on_pre = pre_ends;
	kpt_register(test, &v->pr);
	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&v->pr.kp));
	cpu = raw_smp_processor_id();
	set_cpus_allowed_ptr(current, cpumask_of(cpu));

	for (i = 1; i <= 3; i++) {
		v->passes = false;
		KUNIT_ASSERT_TRUE(test, kpt_run_to_its_end(victim_fn, v, cpu, &v->gone));
		v->passes = true;
		/* The one instance is free again once the task is freed. */
		KUNIT_EXPECT_TRUE(test, kpt_wait_until(is_followed(p)));
		/* On that CPU, hits in task context are not recursion. */
		missed = v->pr.kp.nmissed;
		v->pr.pre = 0;
		KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, v->pr.pre, 1);
		KUNIT_EXPECT_EQ(test, v->pr.kp.nmissed, missed);
		KUNIT_EXPECT_EQ(test, missed, 0ul);
#ifdef CONFIG_X86
		/* Before it is free, it says which call is next. */
		f->ri = p->ri;
		w = w ?: kpt_watch(test, &p->ri->llist.next, sizeof(long), cpu,
				   kpt_watch_free, f);
#endif
	}
#ifdef CONFIG_X86
	/* In each round two calls, the first of which ends with its task. */
	KUNIT_EXPECT_GE(test, w->times, 2 * 2 * 2);
	KUNIT_EXPECT_EQ(test, f->times, 0);
#endif
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/**
 * struct entry_victim - a task that ends in an entry handler
 * @rp:      the handler's return probe, on an ftrace site
 * @task:    the task, while it is to end
 * @gone:    completed by its end
 * @returns: calls that have returned
 */
struct entry_victim {
	struct kretprobe rp;
	struct task_struct *task;
	struct completion gone;
	unsigned int returns;
};

static int entry_ends(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct entry_victim *v = container_of(get_kretprobe(ri), struct entry_victim, rp);

	if (v->task == current)
		kpt_end_task(&v->gone);
	return 0;
}

static int count_victim_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	container_of(get_kretprobe(ri), struct entry_victim, rp)->returns++;
	return 0;
}

static int entry_victim_fn(void *arg)
{
	struct entry_victim *v = arg;

	v->task = current;
	return kpt_traced(7);
}

static bool victim_is_followed(struct entry_victim *v)
{
	unsigned int returns = v->returns;

	kpt_traced(3);
	return v->returns > returns;
}

/* It has taken the only instance, and the call is not followed yet. */
static void a_task_that_ends_in_an_entry_handler_leaves_nothing(struct kunit *test)
{
	struct entry_victim *v = kunit_kzalloc(test, sizeof(*v), GFP_KERNEL);
	unsigned int i, before = kpt_counts(true).pools;
	bool ended;

	KUNIT_ASSERT_NOT_NULL(test, v);
	v->rp.kp.addr = kpt_text(kpt_traced);
	v->rp.entry_handler = entry_ends;
	v->rp.handler = count_victim_return;
	v->rp.maxactive = 1;
	kpt_register_return(test, &v->rp);
	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&v->rp.kp));
	for (i = 0; i < 3; i++) {
		ended = kpt_run_to_its_end(entry_victim_fn, v, raw_smp_processor_id(), &v->gone);
		KUNIT_ASSERT_TRUE(test, ended);
		v->task = NULL;
		KUNIT_EXPECT_TRUE(test, kpt_wait_until(victim_is_followed(v)));
	}
	kpt_unregister_return(test, &v->rp);
	expect_pools(test, before);
}
#endif

/* Tasks that end inside, after the probe is gone, free its pool. */
static int leaver_fn(void *completion)
{
	return kpt_ret_exits((unsigned long)completion);
}

struct waiter {
	struct completion *gate;
	struct completion gone;
	atomic_t *inside;
};

static noinline notrace unsigned long kpt_late_ends(struct waiter *w)
{
	atomic_inc(w->inside);
	wait_for_completion(w->gate);
	leaver_fn(&w->gone);
	return 1;
}

static int waiter_fn(void *arg)
{
	return kpt_late_ends(arg);
}

static void tasks_that_end_late_free_the_pool(struct kunit *test)
{
	struct waiter *w = kunit_kcalloc(test, CALLERS, sizeof(*w), GFP_KERNEL);
	struct completion *gate = kunit_kzalloc(test, sizeof(*gate), GFP_KERNEL);
	atomic_t *inside = kunit_kzalloc(test, sizeof(*inside), GFP_KERNEL);
	unsigned int before = kpt_counts(false).pools, i, nr = 0;
	struct late_probe *p;

	KUNIT_ASSERT_TRUE(test, w && gate && inside);
	init_completion(gate);
	p = late_probe(test, kpt_late_ends, CALLERS);
	for (i = 0; i < CALLERS; i++) {
		w[i].gate = gate;
		w[i].inside = inside;
		init_completion(&w[i].gone);
		if (IS_ERR(kthread_run(waiter_fn, &w[i], "kpt_waiter")))
			break;
		nr++;
	}
	KUNIT_EXPECT_EQ(test, nr, CALLERS);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(atomic_read(inside) == nr));
	kpt_unregister_return(test, &p->rp);
	expect_pools_stay(test, before + 1);
	complete_all(gate);
	for (i = 0; i < nr; i++)
		wait_for_completion(&w[i].gone);
	expect_pools(test, before);
}

static struct kunit_case late_cases[] = {
	KUNIT_CASE(the_last_late_call_of_tasks_frees_the_pool),
	KUNIT_CASE(the_last_late_call_frees_a_pool_that_has_grown),
	KUNIT_CASE(a_late_call_belongs_to_no_probe),
	KUNIT_CASE(a_pool_without_calls_goes_with_its_probe),
#if defined(CONFIG_DYNAMIC_FTRACE) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
	KUNIT_CASE(late_return_shows_no_point_that_is_gone),
#endif
#ifdef CONFIG_X86
	KUNIT_CASE(return_reads_its_handler_when_the_point_is_shown),
	KUNIT_CASE(call_that_returns_during_the_release_frees_the_pool),
	KUNIT_CASE(call_that_returns_before_the_release_takes_its_instance),
	KUNIT_CASE(place_of_a_call_is_told_before_its_address),
	KUNIT_CASE(address_of_another_task_s_call_is_not_found),
#ifdef CONFIG_HOTPLUG_CPU
	KUNIT_CASE(calls_of_an_idle_task_are_freed_if_its_cpu_is_dead),
	KUNIT_CASE(calls_of_a_dead_cpu_are_given_back_with_preemption_off),
#endif
#endif
#if defined(CONFIG_HOTPLUG_CPU) && defined(CONFIG_GENERIC_SMP_IDLE_THREAD)
	KUNIT_CASE(calls_of_an_idle_task_are_not_lost_with_its_cpu),
#endif
	KUNIT_CASE(a_late_call_in_a_softirq_frees_the_pool),
	KUNIT_CASE(tasks_that_end_late_free_the_pool),
#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_ARCH_HAS_KPROBE_CONTEXTS)
	KUNIT_CASE(a_task_that_ends_in_a_handler_leaves_nothing),
	KUNIT_CASE(a_task_that_ends_in_an_entry_handler_leaves_nothing),
#endif
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite late_suite = {
	.name = "kretprobe_late",
	.suite_init = kpt_suite_init,
	.init = kpt_case_init,
	.exit = late_exit,
	.test_cases = late_cases,
};

kunit_test_suite(late_suite);
