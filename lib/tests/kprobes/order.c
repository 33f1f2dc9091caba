// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: registering and unregistering, stopped between any two steps. Tests what
 * a hit finds there, for which handlers unregistering waits, and when memory is free
 * again.
 */
#include <linux/completion.h>
#include <linux/context_tracking.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/interrupt.h>
#include <linux/irqflags.h>
#include <linux/percpu-rwsem.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#ifdef CONFIG_X86
#include <asm/text-patching.h>
#endif

#include "fixture.h"

#if defined(CONFIG_X86) && defined(CONFIG_OPTPROBES)
#include "jump_x86.h"
#define JUMPS	1
#else
#define JUMPS	0
#endif

/**
 * struct stop - a test that looks at a stage
 * @task:  the task whose calls it stops
 * @at:	   the stage
 * @look:  what to do there
 * @arg:   argument of @look
 * @times: how often the stage was reached
 */
struct stop {
	struct task_struct *task;
	enum kprobe_stage at;
	void (*look)(struct stop *stop);
	void *arg;
	unsigned int times;
};

static void stop_here(enum kprobe_stage stage, void *arg)
{
	struct stop *stop = arg;

	if (current != stop->task || stage != stop->at)
		return;
	stop->times++;
	stop->look(stop);
}

static struct stop *stop_alloc(struct kunit *test, enum kprobe_stage at,
			       void (*look)(struct stop *stop), void *arg)
{
	struct stop *stop = kunit_kzalloc(test, sizeof(*stop), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, stop);
	stop->at = at;
	stop->look = look;
	stop->arg = arg;
	return stop;
}

static void stop_at(struct kunit *test, struct stop *stop)
{
	stop->task = current;
	kpt_watch_stages(test, stop_here, stop);
}

/* Does kprobe_quiesce() have a stage between the last hit and the last handler's end? */
#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
#define SYNCS	1
#else
#define SYNCS	0
#endif

/* --- Hits between the steps ----------------------------------------------- */

/**
 * struct visit - the first hit, at a stage
 * @site:   the function to call
 * @leaver: the probe that is registered or unregistered
 * @stayer: another probe on the point, or NULL
 * @result: what the function returned
 * @jump:   @leaver was hit by a jump
 * @found:  the point was in the table
 */
struct visit {
	const struct kpt_site *site;
	struct kpt_probe *leaver;
	struct kpt_probe *stayer;
	unsigned long result;
	bool jump;
	bool found;
};

static void visit(struct stop *stop)
{
	struct visit *v = stop->arg;

	scoped_guard(preempt)
		v->found = get_kprobe(v->leaver->kp.addr);
	v->jump = kprobe_optimized(&v->leaver->kp);
	v->result = v->site->fn(7);
}

static const struct {
	const char *name;
	enum kprobe_stage stage;
} leaving[] = {
	{ "leaving", KPROBE_STAGE_LEAVING },
	{ "disarmed", KPROBE_STAGE_DISARMED },
	{ "unlinked", KPROBE_STAGE_UNLINKED },
#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
	{ "synced", KPROBE_STAGE_SYNCED },
#endif
	{ "quiet", KPROBE_STAGE_QUIET },
};

/*
 * The detour of a jump calls the handlers of a single probe directly, until disarming
 * sends its hits to the dispatcher.
 */
static bool called_by_detour(const struct stop *stop, const struct visit *v)
{
	return stop->at == KPROBE_STAGE_LEAVING && !v->stayer && v->jump;
}

static void check_visit(struct kunit *test, const char *when, const struct stop *stop,
			const struct visit *v)
{
	const struct kpt_probe *leaver = v->leaver, *stayer = v->stayer;

	KUNIT_EXPECT_EQ_MSG(test, stop->times, 1, "%s", when);
	KUNIT_EXPECT_EQ_MSG(test, v->result, KPT_RESULT(7ul), "%s", when);
	if (!called_by_detour(stop, v))
		KUNIT_EXPECT_EQ_MSG(test, leaver->pre, 0, "%s", when);
	KUNIT_EXPECT_EQ_MSG(test, leaver->post, leaver->pre, "%s", when);
	if (!stayer)
		return;
	KUNIT_EXPECT_EQ_MSG(test, stayer->pre, !kprobe_disabled(&stayer->kp), "%s", when);
	KUNIT_EXPECT_EQ_MSG(test, stayer->post, stayer->kp.post_handler ? stayer->pre : 0,
			    "%s", when);
}

enum stays {
	NONE, ANOTHER, ANOTHER_WITH_MORE_HANDLERS, ANOTHER_THAT_IS_OFF,
	ANOTHER_THAT_WAS_ON, NR_STAYS,
};

static struct kpt_probe *stayer(struct kunit *test, enum stays kind)
{
	void *addr = kpt_addr(kpt_site(test));
	struct kpt_probe *pr;

	switch (kind) {
	case ANOTHER:
		return kpt_probe(test, addr);
	case ANOTHER_WITH_MORE_HANDLERS:
		return kpt_probe_post(test, addr);
	case ANOTHER_THAT_IS_OFF:
		pr = kpt_alloc(test, addr);
		pr->kp.flags = KPROBE_FLAG_DISABLED;
		kpt_register(test, pr);
		return pr;
	case ANOTHER_THAT_WAS_ON:
		pr = kpt_probe(test, addr);
		KUNIT_EXPECT_EQ(test, disable_kprobe(&pr->kp), 0);
		return pr;
	default:
		return NULL;
	}
}

static void hit_while_a_probe_leaves_runs_none_of_its_handlers(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	unsigned int i, kind, jump;

	for (i = 0; i < ARRAY_SIZE(leaving); i++) {
		for (kind = 0; kind < 2 * NR_STAYS; kind++) {
			struct visit v = { .site = site };
			struct stop *stop = stop_alloc(test, leaving[i].stage, visit, &v);

			jump = kind >= NR_STAYS;
			v.stayer = stayer(test, kind % NR_STAYS);
			v.leaver = kpt_probe_post(test, kpt_addr(site));
			if (jump) {
				wait_for_kprobe_optimizer();
				KUNIT_EXPECT_EQ(test, kprobe_optimized(&v.leaver->kp),
						JUMPS && !site->ftrace);
			}
			stop_at(test, stop);
			kpt_unregister(test, v.leaver);
			kpt_unwatch_stages(test);
			check_visit(test, leaving[i].name, stop, &v);
			/* A task that waits for its handlers must not find more hits. */
			KUNIT_EXPECT_EQ_MSG(test, v.found,
					    v.stayer || stop->at < KPROBE_STAGE_UNLINKED,
					    "%s", leaving[i].name);
			if (v.stayer) {
				KUNIT_EXPECT_EQ(test, v.stayer->kp.nmissed, 0ul);
				kpt_unregister(test, v.stayer);
			}
		}
	}
}

static void hit_before_a_probe_is_linked_runs_none_of_its_handlers(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	unsigned int kind;

	for (kind = 0; kind < NR_STAYS; kind++) {
		struct visit v = { .site = site };
		struct stop *stop = stop_alloc(test, KPROBE_STAGE_ARMED, visit, &v);

		v.stayer = stayer(test, kind);
		v.leaver = kpt_alloc(test, kpt_addr(site));
		v.leaver->kp.post_handler = kpt_post;
		stop_at(test, stop);
		kpt_register(test, v.leaver);
		kpt_unwatch_stages(test);
		check_visit(test, "armed", stop, &v);
		KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, v.leaver->pre, 1);
		KUNIT_EXPECT_EQ(test, v.leaver->post, 1);
		kpt_unregister(test, v.leaver);
		if (v.stayer)
			kpt_unregister(test, v.stayer);
	}
}

#ifdef CONFIG_KRETPROBES
/**
 * struct return_visit - calls of a function whose return probe leaves, one at each stage
 * @site:    the function
 * @task:    the task that unregisters
 * @entries: entry handlers that have run
 * @returns: return handlers that have run
 * @seen:    the stages
 */
struct return_visit {
	const struct kpt_site *site;
	struct task_struct *task;
	unsigned int entries;
	unsigned int returns;
	unsigned long seen;
};

static struct return_visit *return_visit;

static int visit_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return_visit->entries++;
	return 0;
}

static int visit_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return_visit->returns++;
	return 0;
}

static void call_at_each_stage(enum kprobe_stage stage, void *arg)
{
	struct return_visit *v = arg;
	unsigned int i;

	if (current != v->task)
		return;
	for (i = 0; i < ARRAY_SIZE(leaving); i++) {
		if (leaving[i].stage == stage) {
			v->seen |= BIT(i);
			v->site->fn(7);
		}
	}
}

static void call_while_a_return_probe_leaves_runs_both_handlers_or_none(struct kunit *test)
{
	struct return_visit v = { .site = kpt_site(test), .task = current };
	struct kretprobe rp = {
		.kp.addr = kpt_addr(v.site),
		.entry_handler = visit_entry,
		.handler = visit_return,
	};
	unsigned int jump;

	return_visit = &v;
	for (jump = 0; jump < 2; jump++) {
		rp.kp.addr = kpt_addr(v.site);
		v.seen = 0;
		v.entries = 0;
		v.returns = 0;
		kpt_register_return(test, &rp);
		if (jump) {
			wait_for_kprobe_optimizer();
			if (IS_ENABLED(CONFIG_X86))
				KUNIT_EXPECT_EQ(test, kprobe_optimized(&rp.kp),
						JUMPS && !v.site->ftrace);
		}
		v.site->fn(7);
		KUNIT_EXPECT_EQ(test, v.entries, 1);
		kpt_watch_stages(test, call_at_each_stage, &v);
		kpt_unregister_return(test, &rp);
		kpt_unwatch_stages(test);
		KUNIT_EXPECT_EQ(test, v.seen, GENMASK(ARRAY_SIZE(leaving) - 1, 0));
		KUNIT_EXPECT_EQ_MSG(test, v.returns, v.entries, "jump %u", jump);
	}
}
#endif

/* --- Slow handlers -------------------------------------------------------- */

/**
 * struct slow - a handler that runs until it is told to go on, and a little longer
 * @pr:	    its probe
 * @fn:	    the function, which a thread on another CPU calls once
 * @softirq: the thread calls it in a softirq
 * @tasklet: that softirq
 * @result: what the function returned
 * @inside: the handler runs
 * @go:	    the handler may go on
 * @done:   the handler is about to return
 * @tired:  the handler waited so long to be told to go on that it gave up
 * @early:  at the stage the handler had not begun, or was done already
 * @rest:   how long the handler runs after @go, in milliseconds
 */
struct slow {
	struct kpt_probe pr;
	kpt_fn_t fn;
	bool softirq;
	struct tasklet_struct tasklet;
	unsigned long result;
	bool inside;
	bool go;
	bool done;
	bool tired;
	bool early;
	unsigned int rest;
};

/* Long enough for a call to return if it does not wait. */
#define REST_MS		100

/*
 * With interrupts off, the handler holds up everything that waits for its CPU. If that
 * happens on the test's CPU, the test cannot tell the handler to go on, and the handler has
 * to give up.
 */
#define TIRED_MS	2000

static void take_time(struct slow *s)
{
	WRITE_ONCE(s->inside, true);
	WRITE_ONCE(s->tired, !kpt_spin_until(READ_ONCE(s->go), TIRED_MS));
	if (!irqs_disabled())
		mdelay(s->rest);
	WRITE_ONCE(s->done, true);
}

static int pre_takes_its_time(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct slow *s = container_of(pr, struct slow, pr);

	if (!s->inside)
		take_time(s);
	return 0;
}

static void post_takes_its_time(struct kpt_probe *pr, struct pt_regs *regs)
{
	pre_takes_its_time(pr, regs);
}

static void call_in_softirq(struct tasklet_struct *tasklet)
{
	struct slow *s = container_of(tasklet, struct slow, tasklet);

	s->result = s->fn(7);
}

static int call_slow(void *arg)
{
	struct slow *s = arg;

	if (s->softirq) {
		tasklet_setup(&s->tasklet, call_in_softirq);
		tasklet_schedule(&s->tasklet);
		tasklet_kill(&s->tasklet);
	} else {
		s->result = s->fn(7);
	}
	while (!kthread_should_stop())
		usleep_range(100, 1000);
	return 0;
}

static void let_go(struct stop *stop)
{
	struct slow *s = stop->arg;

	s->early = s->done || !s->inside;
	WRITE_ONCE(s->go, true);
}

static void let_go_action(void *s)
{
	WRITE_ONCE(((struct slow *)s)->go, true);
}

enum who { ITSELF, ITSELF_BEFORE_ANOTHER, ONE_BEFORE, ONE_AFTER };
enum how { LEAVES, IS_SWITCHED_OFF, ALL_ARE_SWITCHED_OFF };

#ifdef CONFIG_DEBUG_FS
static int switch_all(struct kunit *test, const char *on)
{
	return kpt_write(test, &kpt_debugfs, "kprobes/enabled", on) == 1 ? 0 : -EIO;
}

static void all_on(void *test)
{
	switch_all(test, "1");
}
#else
static int switch_all(struct kunit *test, const char *on)
{
	return -ENODEV;
}
#endif

/* Removing the last post-handler of an ftrace site would wait for the running handler. */
static struct kpt_probe *leaver_on(struct kunit *test, const struct kpt_site *site)
{
	return site->ftrace ? kpt_probe(test, kpt_addr(site)) :
			      kpt_probe_post(test, kpt_addr(site));
}

/* It is not the only one that is waited for, nor the first, and the last one needs no wait. */
static void leave_in_a_batch(struct kunit *test, struct kpt_probe *other, struct kpt_probe *pr,
			     struct kpt_probe *off)
{
	struct kprobe *kps[] = { &other->kp, &pr->kp, &off->kp };
	unsigned int i;

	unregister_kprobes(kps, ARRAY_SIZE(kps));
	for (i = 0; i < ARRAY_SIZE(kps); i++)
		kunit_remove_action(test, kpt_unregister_action, kps[i]);
}

/*
 * The handler runs on another CPU while a probe of the same point is unregistered. On
 * return, no handler that may have seen the probe is running. False if the handler gave
 * up before, so that nothing is proved.
 */
static bool check_slow(struct kunit *test, bool softirq, bool post, bool jump, enum who who,
		       enum how how, unsigned int rest)
{
	const struct kpt_site *site = kpt_site(test);
	struct slow *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	unsigned int cpu = post ? cpumask_first(cpu_online_mask) : cpumask_last(cpu_online_mask);
	unsigned int hits;
	struct kpt_probe *leaver = NULL, *after = NULL, *other = NULL, *off = NULL;
	struct stop *stop = stop_alloc(test, 0, let_go, s);
	struct task_struct *task;
	bool synced;

	KUNIT_ASSERT_NOT_NULL(test, s);
	/*
	 * Stay off the handler's CPU, and do not sleep: see fault.c. Each waits once for the
	 * other.
	 */
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	/* The optimizer would wait for the handler, and everything else for the optimizer. */
	if (!jump)
		kpt_forbid_jumps(test);
	s->fn = site->fn;
	s->softirq = softirq;
	s->rest = rest;
	s->pr.kp.addr = kpt_addr(site);
	s->pr.kp.pre_handler = kpt_pre;
	if (post) {
		s->pr.kp.post_handler = kpt_post;
		s->pr.on_post = post_takes_its_time;
	} else {
		s->pr.on_pre = pre_takes_its_time;
	}
	if (how == LEAVES) {
		other = kpt_probe(test, kpt_plain2);
		off = kpt_alloc(test, kpt_plain2);
		off->kp.flags = KPROBE_FLAG_DISABLED;
		kpt_register(test, off);
	}
	if (who == ONE_BEFORE)
		leaver = leaver_on(test, site);
	kpt_register(test, &s->pr);
	if (who == ONE_AFTER)
		leaver = leaver_on(test, site);
	if (who == ITSELF_BEFORE_ANOTHER) {
		after = kpt_alloc_with(test, kpt_addr(site), true, post);
		kpt_register(test, after);
	}
	if (jump) {
		wait_for_kprobe_optimizer();
		KUNIT_ASSERT_EQ(test, kprobe_optimized(&s->pr.kp), !site->ftrace);
	}
	/* With interrupts off, the handler holds up changes to text, and the sync. */
	synced = SYNCS && (site->ftrace || jump);
	stop->at = synced ? KPROBE_STAGE_SYNCED : KPROBE_STAGE_LEAVING;
	/* Set the stop before the handler runs: this changes text, too. Not all have a stage. */
	if (how != LEAVES && !synced)
		s->go = true;
	else
		stop_at(test, stop);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, let_go_action, s), 0);
	task = kpt_thread(test, call_slow, s, cpumask_any_but(cpu_online_mask, cpu), "slow");
	KUNIT_ASSERT_TRUE(test, kpt_poll_until(READ_ONCE(s->inside)));

	if (how == LEAVES)
		leave_in_a_batch(test, other, leaver ?: &s->pr, off);
	else if (how == IS_SWITCHED_OFF)
		KUNIT_EXPECT_EQ(test, disable_kprobe(leaver ? &leaver->kp : &s->pr.kp), 0);
	else
		KUNIT_EXPECT_EQ(test, switch_all(test, "0"), 0);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(s->done));
	if (how == LEAVES || synced) {
		KUNIT_EXPECT_EQ(test, stop->times, 1);
		KUNIT_EXPECT_TRUE(test, !s->early || s->tired);
		kpt_unwatch_stages(test);
	}
	kpt_stop(test, task);
	KUNIT_EXPECT_EQ(test, s->result, KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, s->pr.pre, 1);
	KUNIT_EXPECT_EQ(test, s->pr.kp.nmissed, 0ul);

	/* The hit's walk over the probes continues from the one that has left. */
	if (after) {
		KUNIT_EXPECT_EQ(test, after->pre, 1);
		KUNIT_EXPECT_EQ(test, after->post, post);
	}

	/* The remaining probe is hit as usual, the removed one is not. */
	hits = leaver ? leaver->pre : 0;
	if (how == LEAVES && who == ONE_AFTER && !post && !s->tired)
		KUNIT_EXPECT_EQ(test, hits, 0);
	if (who == ONE_BEFORE)
		KUNIT_EXPECT_EQ(test, hits, 1);
	KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, s->pr.pre, leaver ? 2 : 1);
	if (after) {
		KUNIT_EXPECT_EQ(test, after->pre, 2);
		kpt_unregister(test, after);
	}
	if (leaver) {
		KUNIT_EXPECT_EQ(test, leaver->pre, hits);
		if (how == IS_SWITCHED_OFF)
			kpt_unregister(test, leaver);
		kpt_unregister(test, &s->pr);
	} else if (how != LEAVES) {
		kpt_unregister(test, &s->pr);
	}
	if (how == ALL_ARE_SWITCHED_OFF)
		KUNIT_EXPECT_EQ(test, switch_all(test, "1"), 0);
	if (!jump)
		kpt_allow_jumps(test);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	return !s->tired;
}

#define SLOW_TRIES	5

static void check_slow_all(struct kunit *test, enum who who, enum how how)
{
	unsigned int kind, try;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	for (kind = 0; kind < (who == ITSELF ? 8 : 4); kind++) {
		if (kind & 2 && (!JUMPS || kpt_site(test)->ftrace))
			continue;
		for (try = 0; try < SLOW_TRIES; try++) {
			if (check_slow(test, kind & 4, kind & 1, kind & 2, who, how, REST_MS))
				break;
		}
		KUNIT_EXPECT_LT_MSG(test, try, SLOW_TRIES, "the handler gave up each time");
	}
}

#if JUMPS
/* The instruction is not emulated for a post-handler. */
static const struct kpt_site *copied_site(char *desc)
{
	static struct kpt_site copied = { .fn = kpt_jump_copied };

	copied.offset = kpt_jump_copied_at;
	copied.at = kpt_jump_copied_at;
	strscpy(desc, "copy", KUNIT_PARAM_DESC_SIZE);
	return &copied;
}
#endif

/* The sites and, where there are jumps, one more. */
static const void *slow_site_gen(const void *prev, char *desc)
{
	const struct kpt_site *site = prev;

#if JUMPS
	if (site && site->fn == kpt_jump_copied)
		return NULL;
	return kpt_site_gen(site, desc) ?: copied_site(desc);
#else
	return kpt_site_gen(site, desc);
#endif
}

static void unregistering_waits_for_its_slow_handler(struct kunit *test)
{
	check_slow_all(test, ITSELF, LEAVES);
}

#if defined(CONFIG_ARCH_HAS_KPROBE_CONTEXTS)
static void look_away(struct stop *stop)
{
}

/* Nor is a CPU interrupted. */
static void disabling_what_is_off_waits_for_nothing(struct kunit *test)
{
	struct stop *stop = stop_alloc(test, KPROBE_STAGE_SYNCED, look_away, NULL);
	struct kpt_probe *pr = kpt_probe(test, kpt_addr(kpt_site(test)));

	stop_at(test, stop);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_EQ(test, stop->times, 1);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_EQ(test, stop->times, 1);
	kpt_unwatch_stages(test);
}

/* After some tries, unregistering stops polling and waits for a grace period. */
static void unregistering_waits_however_long_its_handler_takes(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	unsigned int try;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	if (!site->ftrace && !JUMPS)
		kunit_skip(test, "the handler runs with interrupts off here");
	for (try = 0; try < SLOW_TRIES; try++) {
		if (check_slow(test, false, false, !site->ftrace, ITSELF, LEAVES,
			       jiffies_to_msecs(120)))
			break;
	}
	KUNIT_EXPECT_LT_MSG(test, try, SLOW_TRIES, "the handler gave up each time");
}
#endif

#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
/**
 * struct leaver - a task that unregisters a probe
 * @pr:	  the probe
 * @gone: it has done so
 * @took: that took so long, in jiffies
 */
struct leaver {
	struct kpt_probe *pr;
	bool gone;
	unsigned long took;
};

static int leaves(void *arg)
{
	struct leaver *l = arg;
	unsigned long start = jiffies;

	unregister_kprobe(&l->pr->kp);
	l->took = jiffies - start;
	/* With @took. */
	smp_store_release(&l->gone, true);
	while (!kthread_should_stop())
		usleep_range(100, 1000);
	return 0;
}

static void show_everywhere(unsigned int ctx, struct kprobe *p)
{
	int cpu;

	for_each_online_cpu(cpu)
		WRITE_ONCE(((struct kprobe **)kprobe_test_running_word(cpu))[ctx], p);
}

/*
 * On each CPU, another handler of the point is seen at each look, so looking again is of no
 * use. No handler runs in an interrupt, so nothing else stores there.
 */
static void unregistering_ends_although_handlers_are_always_seen(struct kunit *test)
{
	static const unsigned int contexts[] = { KPROBE_CTX_HARDIRQ, KPROBE_CTX_NMI };
	struct kpt_probe *pr = kpt_probe(test, kpt_plain);
	struct leaver *l;
	unsigned int i;
	bool gone;

	if (num_online_cpus() == 1)
		kunit_skip(test, "needs two CPUs");
	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, l);
		l->pr = kpt_alloc(test, kpt_plain);
		KUNIT_ASSERT_EQ(test, register_kprobe(&l->pr->kp), 0);
		scoped_guard(preempt)
			show_everywhere(contexts[i], get_kprobe(pr->kp.addr));
		kpt_thread(test, leaves, l, raw_smp_processor_id(), "leaver");
		gone = kpt_wait_until(READ_ONCE(l->gone));
		show_everywhere(contexts[i], NULL);
		KUNIT_EXPECT_TRUE_MSG(test, gone, "%u", i);
		/* Pairs with leaves(). */
		KUNIT_ASSERT_TRUE(test, kpt_wait_until(smp_load_acquire(&l->gone)));
		/* It has looked, and slept, 20 times. */
		KUNIT_EXPECT_GE_MSG(test, l->took, 20ul, "%u", i);
	}
}
#endif

#ifdef CONFIG_KRETPROBES
/**
 * struct slow_return - a call that is under way when its return probe is disabled
 * @slow:   its return handler
 * @rp:	    the return probe
 * @gate:   the call waits for this
 * @inside: counts the calls that wait
 * @back:   the call has returned
 */
struct slow_return {
	struct slow slow;
	struct kretprobe rp;
	struct completion gate;
	atomic_t inside;
	bool back;
};

static int return_takes_its_time(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	if (rp)
		take_time(&container_of(rp, struct slow_return, rp)->slow);
	return 0;
}

static int call_and_wait(void *arg)
{
	struct slow_return *r = arg;

	kpt_recurse_waits(0, &r->gate, &r->inside);
	WRITE_ONCE(r->back, true);
	while (!kthread_should_stop())
		usleep_range(100, 1000);
	return 0;
}

static void open_gate(void *gate)
{
	complete_all(gate);
}

/* False if the handler has given up before. */
static bool check_slow_return(struct kunit *test)
{
	struct slow_return *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct stop *stop = stop_alloc(test, KPROBE_STAGE_DISARMED, let_go, NULL);
	unsigned int cpu = raw_smp_processor_id();
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, r);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	stop->arg = &r->slow;
	r->slow.rest = REST_MS;
	init_completion(&r->gate);
	r->rp.kp.addr = kpt_text(kpt_recurse_waits);
	r->rp.handler = return_takes_its_time;
	kpt_register_return(test, &r->rp);
	task = kpt_thread(test, call_and_wait, r, cpumask_any_but(cpu_online_mask, cpu), "slow");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, open_gate, &r->gate), 0);
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(atomic_read(&r->inside)));
	KUNIT_EXPECT_EQ(test, disable_kretprobe(&r->rp), 0);
	stop_at(test, stop);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, let_go_action, &r->slow), 0);
	complete_all(&r->gate);
	KUNIT_ASSERT_TRUE(test, kpt_poll_until(READ_ONCE(r->slow.inside)));

	kpt_unregister_return(test, &r->rp);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(r->slow.done));
	KUNIT_EXPECT_EQ(test, stop->times, 1);
	KUNIT_EXPECT_TRUE(test, !r->slow.early || r->slow.tired);
	kpt_unwatch_stages(test);
	kpt_stop(test, task);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	return !r->slow.tired;
}

static void call_comes_back(struct stop *stop)
{
	struct slow_return *r = stop->arg;

	complete_all(&r->gate);
	kpt_wait_until(READ_ONCE(r->back));
}

/* What follows waits only for handlers that have begun. */
static void check_return_during_unregistering(struct kunit *test)
{
	struct slow_return *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct stop *stop = stop_alloc(test, KPROBE_STAGE_DISARMED, call_comes_back, r);
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, r);
	init_completion(&r->gate);
	r->rp.kp.addr = kpt_text(kpt_recurse_waits);
	r->rp.handler = return_takes_its_time;
	kpt_register_return(test, &r->rp);
	task = kpt_thread(test, call_and_wait, r, raw_smp_processor_id(), "late");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, open_gate, &r->gate), 0);
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(atomic_read(&r->inside)));
	stop_at(test, stop);
	kpt_unregister_return(test, &r->rp);
	kpt_unwatch_stages(test);
	KUNIT_EXPECT_EQ(test, stop->times, 1);
	KUNIT_EXPECT_TRUE(test, r->back);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(r->slow.inside));
	kpt_stop(test, task);
}

/* The call was in flight when its probe was disabled. */
static void unregistering_waits_for_the_handler_of_a_late_return(struct kunit *test)
{
	unsigned int try;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	for (try = 0; try < SLOW_TRIES; try++) {
		if (check_slow_return(test))
			break;
	}
	KUNIT_EXPECT_LT_MSG(test, try, SLOW_TRIES, "the handler gave up each time");
	check_return_during_unregistering(test);
}

/**
 * struct last_hit - a hit of two return probes that leave in the middle of it
 * @rp:	     the probes
 * @entries: entry handlers that have run
 * @inside:  the first one is running
 * @left:    both probes have been stopped
 * @tired:   the first one has not waited for that
 */
struct last_hit {
	struct kretprobe *rp[2];
	unsigned int entries;
	bool inside;
	bool left;
	bool tired;
};

static struct last_hit *last_hit;

static int first_entry_waits(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (!last_hit->entries++) {
		WRITE_ONCE(last_hit->inside, true);
		last_hit->tired = !kpt_spin_until(READ_ONCE(last_hit->left), TIRED_MS);
	}
	return 0;
}

static int hits_last(void *arg)
{
	kpt_plain(7);
	while (!kthread_should_stop())
		usleep_range(100, 1000);
	return 0;
}

static void both_have_left(struct stop *stop)
{
	WRITE_ONCE(last_hit->left, true);
}

static void unregister_both(void *arg)
{
	struct last_hit *h = arg;

	unregister_kretprobes(h->rp, 2);
}

/* False if the first handler has given up before. */
static bool check_last_hit(struct kunit *test)
{
	struct last_hit *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);
	struct stop *stop = stop_alloc(test, KPROBE_STAGE_DISARMED, both_have_left, NULL);
	unsigned int cpu = raw_smp_processor_id(), i;
	struct task_struct *task;
	struct kpt_probe *stays;

	KUNIT_ASSERT_NOT_NULL(test, h);
	last_hit = h;
	/* Some architectures could not change the text as long as the handler runs. */
	stays = kpt_probe(test, kpt_plain);
	for (i = 0; i < 2; i++) {
		h->rp[i] = kunit_kzalloc(test, sizeof(*h->rp[i]), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, h->rp[i]);
		h->rp[i]->kp.addr = kpt_text(kpt_plain);
		h->rp[i]->entry_handler = first_entry_waits;
	}
	KUNIT_ASSERT_EQ(test, register_kretprobes(h->rp, 2), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unregister_both, h), 0);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	/* This may interrupt all CPUs, and wait for them. */
	stop_at(test, stop);
	task = kpt_thread(test, hits_last, h, cpumask_any_but(cpu_online_mask, cpu), "last");
	KUNIT_EXPECT_TRUE(test, kpt_poll_until(READ_ONCE(h->inside)));
	kunit_release_action(test, unregister_both, h);
	kpt_unwatch_stages(test);
	kpt_stop(test, task);
	kpt_unregister(test, stays);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_EXPECT_EQ(test, stop->times, 1);
	KUNIT_EXPECT_EQ(test, h->rp[0]->nmissed, 0);
	KUNIT_EXPECT_EQ(test, h->rp[1]->nmissed, 0);
	if (h->tired)
		return false;
	KUNIT_EXPECT_EQ(test, h->entries, IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK) ? 1 : 2);
	return true;
}

/* The hit comes to the second probe when that has been stopped, and does not lack instances. */
static void leaving_in_the_middle_of_a_hit_is_no_missed_call(struct kunit *test)
{
	unsigned int try;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	kpt_forbid_jumps(test);
	for (try = 0; try < SLOW_TRIES; try++) {
		if (check_last_hit(test))
			break;
	}
	kpt_allow_jumps(test);
	KUNIT_EXPECT_LT_MSG(test, try, SLOW_TRIES, "the handler gave up each time");
}
#endif /* CONFIG_KRETPROBES */

static void probe_of_a_slow_handler_may_leave_before_another(struct kunit *test)
{
	check_slow_all(test, ITSELF_BEFORE_ANOTHER, LEAVES);
}

static void probe_before_a_slow_handler_may_leave(struct kunit *test)
{
	check_slow_all(test, ONE_BEFORE, LEAVES);
}

static void probe_after_a_slow_handler_may_leave(struct kunit *test)
{
	check_slow_all(test, ONE_AFTER, LEAVES);
}

static void disabling_waits_for_its_slow_handler(struct kunit *test)
{
	check_slow_all(test, ITSELF, IS_SWITCHED_OFF);
}

#ifdef CONFIG_DEBUG_FS
static void switching_all_off_waits_for_a_slow_handler(struct kunit *test)
{
	KUNIT_ASSERT_NOT_NULL(test, kpt_debugfs.mnt);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, all_on, test), 0);
	check_slow_all(test, ITSELF, ALL_ARE_SWITCHED_OFF);
}
#endif

static void probe_beside_a_slow_handler_may_be_disabled(struct kunit *test)
{
	check_slow_all(test, ONE_BEFORE, IS_SWITCHED_OFF);
	check_slow_all(test, ONE_AFTER, IS_SWITCHED_OFF);
}

#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
/**
 * struct masked - a thread that keeps interrupts off for a while
 * @task:   the task of the case
 * @inside: they are off
 * @done:   they are about to be on again
 * @late:   they were on again before CPUs were interrupted: this proves nothing
 * @early:  after that they were still off
 * @times:  how often CPUs were interrupted
 */
struct masked {
	struct task_struct *task;
	bool inside;
	bool done;
	bool late;
	bool early;
	unsigned int times;
};

static int mask_interrupts(void *arg)
{
	struct masked *m = arg;

	local_irq_disable();
	WRITE_ONCE(m->inside, true);
	mdelay(300);
	WRITE_ONCE(m->done, true);
	local_irq_enable();
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

static void look_if_masked(enum kprobe_stage stage, void *arg)
{
	struct masked *m = arg;

	if (current != m->task)
		return;
	if (stage == KPROBE_STAGE_UNLINKED) {
		m->late = READ_ONCE(m->done);
	} else if (stage == KPROBE_STAGE_SYNCED) {
		m->early = !READ_ONCE(m->done);
		m->times++;
	}
}

/* On a slow machine, some are late. */
#define TRIES	20

/* No text changes here. What a CPU shows means something only after an interrupt. */
static void every_cpu_is_interrupted_before_handlers_are_looked_for(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct masked *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned int cpu = raw_smp_processor_id(), tries;
	struct kpt_probe *stays, *leaves;
	struct task_struct *task;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, m);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	kpt_forbid_jumps(test);
	stays = kpt_probe(test, kpt_addr(site));
	for (tries = 0; tries < TRIES; tries++) {
		leaves = kpt_probe(test, kpt_addr(site));
		*m = (struct masked){ .task = current };
		kpt_watch_stages(test, look_if_masked, m);
		task = kpt_thread(test, mask_interrupts, m,
				  cpumask_any_but(cpu_online_mask, cpu), "masks");
		KUNIT_ASSERT_TRUE(test, kpt_poll_until(READ_ONCE(m->inside)));
		kpt_unregister(test, leaves);
		kpt_unwatch_stages(test);
		kpt_stop(test, task);
		KUNIT_EXPECT_EQ(test, m->times, 1);
		if (!m->late)
			break;
	}
	KUNIT_EXPECT_FALSE(test, m->late);
	KUNIT_EXPECT_FALSE(test, m->early);
	KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, stays->pre, 1);
	KUNIT_EXPECT_EQ(test, leaves->pre, 0);
	kpt_unregister(test, stays);
	kpt_allow_jumps(test);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}
#endif

/* --- Slots ----------------------------------------------------------------- */

/**
 * struct reclaim - the worker that reclaims slots, stopped before it waits for tasks
 * @reached: the worker is there
 * @go:	     it may go on
 */
struct reclaim {
	struct completion reached;
	struct completion go;
};

static void hold_reclaim(enum kprobe_stage stage, void *arg)
{
	struct reclaim *r = arg;

	if (stage != KPROBE_STAGE_RETIRED)
		return;
	complete(&r->reached);
	wait_for_completion_timeout(&r->go, msecs_to_jiffies(KPT_TIMEOUT_MS));
}

static void release_reclaim(void *arg)
{
	complete_all(&((struct reclaim *)arg)->go);
	kprobe_test_stop(NULL, NULL);
}

static void slots_are_not_used_again_before_tasks_have_left(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct reclaim *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct kprobe_counts before, with, now;
	struct kpt_probe *pr;

	if (site->ftrace)
		kunit_skip(test, "nothing is displaced there");
#ifndef __ARCH_WANT_KPROBES_INSN_SLOT
	kunit_skip(test, "copies are in the points, or there are none");
#endif
	KUNIT_ASSERT_NOT_NULL(test, r);
	init_completion(&r->reached);
	init_completion(&r->go);
	before = kpt_counts(true);
	kprobe_test_stop(hold_reclaim, r);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, release_reclaim, r), 0);

	pr = kpt_probe(test, kpt_addr(site));
	with = kpt_counts(false);
	KUNIT_ASSERT_EQ(test, with.copies.live, before.copies.live + 1);
	kpt_unregister(test, pr);
	/* With contexts, copies run with preemption on. */
	if (!IS_ENABLED(CONFIG_ARCH_HAS_KPROBE_CONTEXTS) &&
	    kpt_counts(false).copies.taken == before.copies.taken)
		kunit_skip(test, "no task can be preempted in a copy here");
	KUNIT_ASSERT_NE(test, 0ul, wait_for_completion_timeout(&r->reached,
							       msecs_to_jiffies(KPT_TIMEOUT_MS)));
	now = kpt_counts(false);
	KUNIT_EXPECT_EQ(test, now.copies.live, before.copies.live);
	KUNIT_EXPECT_EQ(test, now.copies.taken, before.copies.taken + 1);

	/* The next probe gets another slot, and retires it during the wait for the first. */
	pr = kpt_probe(test, kpt_addr(site));
	now = kpt_counts(false);
	KUNIT_EXPECT_EQ(test, now.copies.taken, before.copies.taken + 2);
	kpt_unregister(test, pr);
	now = kpt_counts(false);
	KUNIT_EXPECT_EQ(test, now.copies.live, before.copies.live);
	KUNIT_EXPECT_EQ(test, now.copies.taken, before.copies.taken + 2);

	kunit_release_action(test, release_reclaim, r);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until((now = kpt_counts(true)).copies.taken ==
					       before.copies.taken));
}

#if JUMPS
static void detours_are_not_used_again_before_tasks_have_left(struct kunit *test)
{
	struct reclaim *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct kprobe_counts before, now;
	struct kpt_probe *pr;

	KUNIT_ASSERT_NOT_NULL(test, r);
	init_completion(&r->reached);
	init_completion(&r->go);
	before = kpt_counts(true);
	pr = kpt_probe(test, KPT_JUMP_AT(two));
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE(test, kprobe_optimized(&pr->kp));
	kprobe_test_stop(hold_reclaim, r);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, release_reclaim, r), 0);

	kpt_unregister(test, pr);
	KUNIT_ASSERT_NE(test, 0ul, wait_for_completion_timeout(&r->reached,
							       msecs_to_jiffies(KPT_TIMEOUT_MS)));
	now = kpt_counts(false);
	KUNIT_EXPECT_EQ(test, now.detours.live, before.detours.live);
	KUNIT_EXPECT_EQ(test, now.detours.taken, before.detours.taken + 1);

	kunit_release_action(test, release_reclaim, r);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until((now = kpt_counts(true)).detours.taken ==
					       before.detours.taken));
}
#endif

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
static void slot_that_no_hit_has_used_is_free_at_once(struct kunit *test)
{
	struct kprobe_counts before = kpt_counts(true), now;
	kprobe_opcode_t *slot[2];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(slot); i++) {
		slot[i] = get_insn_slot();
		KUNIT_EXPECT_NOT_NULL(test, slot[i]);
	}
	KUNIT_EXPECT_PTR_NE(test, slot[0], slot[1]);
	now = kpt_counts(false);
	KUNIT_EXPECT_EQ(test, now.copies.live, before.copies.live + 2);
	if (slot[0])
		free_insn_slot(slot[0], 0);
	/* It is the first that is free, so it is taken next. */
	KUNIT_EXPECT_PTR_EQ(test, get_insn_slot(), slot[0]);
	if (slot[0])
		free_insn_slot(slot[0], 0);
	now = kpt_counts(false);
	KUNIT_EXPECT_EQ(test, now.copies.live, before.copies.live + 1);
	KUNIT_EXPECT_EQ(test, now.copies.taken, before.copies.taken + 1);
	if (slot[1])
		free_insn_slot(slot[1], 1);
	now = kpt_counts(true);
	KUNIT_EXPECT_EQ(test, now.copies.live, before.copies.live);
	KUNIT_EXPECT_EQ(test, now.copies.taken, before.copies.taken);
	/* So is one that had to wait. The first keeps the page. */
	for (i = 0; i < ARRAY_SIZE(slot); i++)
		slot[i] = get_insn_slot();
	if (slot[1])
		free_insn_slot(slot[1], 1);
	kpt_counts(true);
	KUNIT_EXPECT_PTR_EQ(test, get_insn_slot(), slot[1]);
	for (i = 0; i < ARRAY_SIZE(slot); i++) {
		if (slot[i])
			free_insn_slot(slot[i], 0);
	}
}

static void note_retired(enum kprobe_stage stage, void *reached)
{
	if (stage == KPROBE_STAGE_RETIRED)
		WRITE_ONCE(*(bool *)reached, true);
}

static bool retire_slot(void)
{
	kprobe_opcode_t *slot = get_insn_slot();

	if (slot)
		free_insn_slot(slot, 1);
	return slot;
}

/* If they did, the slots of probes that come and go would never be free. */
static void slots_that_are_retired_do_not_put_the_worker_off(struct kunit *test)
{
	bool *reached = kunit_kzalloc(test, sizeof(*reached), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, reached);
	kpt_counts(true);
	kpt_watch_stages(test, note_retired, reached);
	kpt_wait_until(!retire_slot() || READ_ONCE(*reached));
	KUNIT_EXPECT_TRUE(test, *reached);
}

/**
 * struct runner - a thread that runs in the kernel, with interrupts and preemption on
 * @slot:  it might be in here
 * @found: what is there at last
 * @began: it runs
 * @ended: it is about to sleep
 */
struct runner {
	kprobe_opcode_t *slot;
	kprobe_opcode_t found;
	bool began;
	bool ended;
};

static int run_on(void *arg)
{
	struct runner *r = arg;

	WRITE_ONCE(r->began, true);
	/* Nothing in here may be taken for a voluntary switch. */
	mdelay(500);
	r->found = READ_ONCE(*r->slot);
	WRITE_ONCE(r->ended, true);
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

/* It might be in the slot: an instruction with a REP prefix is interrupted many times. */
static void slots_are_not_free_while_a_task_that_was_interrupted_runs_on(struct kunit *test)
{
	struct runner *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	unsigned int cpu = raw_smp_processor_id(), tries;
	struct task_struct *task;
	bool late = true;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, r);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	kpt_counts(true);
	/* If the thread sleeps before the slot is given back, that proves nothing. */
	for (tries = 0; late && tries < 20; tries++) {
		*r = (struct runner){ .slot = get_insn_slot() };
		KUNIT_ASSERT_NOT_NULL(test, r->slot);
#ifdef CONFIG_X86
		*kpt_writable(test, r->slot) = 0x90;
#endif
		task = kpt_thread(test, run_on, r, cpumask_any_but(cpu_online_mask, cpu), "runs");
		if (!kpt_poll_until(READ_ONCE(r->began)))
			KUNIT_FAIL(test, "the thread does not run");
		free_insn_slot(r->slot, 1);
		late = READ_ONCE(r->ended);
		kpt_counts(true);
		KUNIT_EXPECT_TRUE(test, READ_ONCE(r->ended));
#ifdef CONFIG_X86
		/* Nor is it erased before. */
		KUNIT_EXPECT_EQ(test, r->found, 0x90);
#endif
		kpt_stop(test, task);
	}
	KUNIT_EXPECT_FALSE(test, late);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/* Enough for blocks of several pages, whatever the size of a slot. */
#define NR_PAGES	20
/* Three pages of 64 KiB, with slots of two words of powerpc. */
#define MOST_SLOTS	(3 * 8192)

struct slots {
	kprobe_opcode_t *slot[MOST_SLOTS];
	unsigned int nr;
};

static void give_slots_back(void *arg)
{
	struct slots *s = arg;

	while (s->nr)
		free_insn_slot(s->slot[--s->nr], 0);
}

/* Until there are so many pages of them. */
static void take_slots(struct kunit *test, struct slots *s, unsigned int pages)
{
	kprobe_opcode_t *slot;

	while (kpt_counts(false).copies.pages < pages && s->nr < MOST_SLOTS) {
		slot = get_insn_slot();
		KUNIT_ASSERT_NOT_NULL(test, slot);
		s->slot[s->nr++] = slot;
	}
}

static struct slots *take_pages_of_slots(struct kunit *test)
{
	unsigned int pages = kpt_counts(true).copies.pages + NR_PAGES;
	struct slots *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, give_slots_back, s), 0);
	take_slots(test, s, pages);
	return s;
}

#ifdef CONFIG_X86
/*
 * An eighth of the pages that are there, so that there are few blocks; at most 32. Other
 * architectures have one page at a time.
 */
static void blocks_of_pages_grow_with_their_number(struct kunit *test)
{
	struct slots *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	unsigned int before, pages, more;

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, give_slots_back, s), 0);
	kpt_counts(true);
	for (before = kpt_counts(false).copies.pages; before < 3 * NR_PAGES && s->nr < MOST_SLOTS;
	     before = pages) {
		s->slot[s->nr] = get_insn_slot();
		KUNIT_ASSERT_NOT_NULL(test, s->slot[s->nr]);
		s->nr++;
		pages = kpt_counts(false).copies.pages;
		more = clamp(before / 8, 1u, 32u);
		if (pages != before)
			KUNIT_EXPECT_EQ(test, pages - before, more);
	}
}
#endif

/* How often kallsyms names a page of copies; counts all such pages, and wrong entries. */
static unsigned int pages_in_kallsyms(unsigned long page, unsigned int *all,
				      unsigned int *unknown)
{
	unsigned int symnum, nr = 0;
	char name[KSYM_NAME_LEN];
	unsigned long addr;
	char type;
	int ret;

	*all = 0;
	*unknown = 0;
	for (symnum = 0; ; symnum++) {
		type = '?';
		ret = kprobe_get_kallsym(symnum, &addr, &type, name);
		if (ret)
			break;
		/* A local symbol of text. */
		*unknown += type != 't';
		if (strcmp(name, "kprobe_insn_page"))
			continue;
		++*all;
		nr += addr == page;
		*unknown += !is_kprobe_insn_slot(addr) ||
			    !is_kprobe_insn_slot(addr + PAGE_SIZE - 1);
	}
	*unknown += ret != -ERANGE;
	return nr;
}

/* A new block may be below the others: it takes the place of one that was freed. */
static void check_blocks_that_come_below(struct kunit *test)
{
	unsigned int i, pages, nr;
	struct slots *s;

	/* Large pages hold more slots than are taken. */
	if (PAGE_SIZE > SZ_4K)
		return;
	s = take_pages_of_slots(test);
	pages = kpt_counts(false).copies.pages;
	nr = s->nr / 2;
	for (i = 0; i < nr; i++)
		free_insn_slot(s->slot[i], 0);
	s->nr -= nr;
	memmove(s->slot, s->slot + nr, s->nr * sizeof(s->slot[0]));
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(kpt_counts(true).copies.pages < pages));
	take_slots(test, s, kpt_counts(false).copies.pages + 2);
	for (i = 0; i < s->nr; i++)
		KUNIT_EXPECT_TRUE_MSG(test, is_kprobe_insn_slot((unsigned long)s->slot[i]),
				      "%u of %u", i, s->nr);
	kunit_release_action(test, give_slots_back, s);
}

static void pages_of_slots_are_known_as_long_as_they_are_there(struct kunit *test)
{
	struct slots *s = take_pages_of_slots(test);
	struct kprobe_counts counts = kpt_counts(false);
	unsigned int i, all = 0, unknown = 0, size = 0, code = 0;
	unsigned long page, last = 0;
	unsigned long *pages;
	kprobe_opcode_t text;

	pages = kunit_kcalloc(test, s->nr, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	for (i = 0; i < s->nr; i++) {
		page = (unsigned long)s->slot[i] & PAGE_MASK;
		KUNIT_EXPECT_TRUE_MSG(test, is_kprobe_insn_slot((unsigned long)s->slot[i]),
				      "%u", i);
#ifdef CONFIG_X86
		/* Nothing has been written there, or it was erased. */
		code += !!memchr_inv(s->slot[i], INT3_INSN_OPCODE, __ARCH_KPROBE_SLOT_SIZE);
#endif
		if (page != last)
			KUNIT_EXPECT_EQ_MSG(test, pages_in_kallsyms(page, &all, &unknown), 1,
					    "%u", i);
		last = page;
		pages[size++] = page;
	}
	KUNIT_EXPECT_EQ(test, code, 0);
	KUNIT_EXPECT_EQ(test, all, counts.copies.pages);
	/* This includes the last page, even if no slot of it is in use yet. */
	KUNIT_EXPECT_EQ(test, unknown, 0);

	kunit_release_action(test, give_slots_back, s);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(kpt_counts(true).copies.pages <=
					       counts.copies.pages - NR_PAGES));
	for (i = 0; i < size; i++) {
		/* Other probes may have slots there. */
		if (pages_in_kallsyms(pages[i], &all, &unknown))
			continue;
		KUNIT_EXPECT_FALSE_MSG(test, is_kprobe_insn_slot(pages[i]), "%u", i);
		if (IS_ENABLED(CONFIG_X86))
			KUNIT_EXPECT_NE_MSG(test, copy_from_kernel_nofault(&text, (void *)pages[i],
									   sizeof(text)),
					    0l, "%u is still mapped", i);
	}
	KUNIT_EXPECT_EQ(test, all, kpt_counts(false).copies.pages);
	check_blocks_that_come_below(test);
}

#ifdef CONFIG_X86
/**
 * struct reader - reads pages of slots that kallsyms has named, again and again
 * @page:   the pages of one round
 * @rounds: how many there were
 * @faults: pages that were not there any more
 */
struct reader {
	unsigned long page[256];
	unsigned int rounds;
	unsigned int faults;
};

static int read_pages(void *arg)
{
	struct reader *r = arg;
	char name[KSYM_NAME_LEN];
	unsigned int i, nr;
	u8 text;
	char type;

	while (!kthread_should_stop()) {
		/* All of this is an RCU reader. */
		preempt_disable();
		for (nr = 0; nr < ARRAY_SIZE(r->page); nr++) {
			if (kprobe_get_kallsym(nr, &r->page[nr], &type, name))
				break;
		}
		mdelay(20);
		for (i = 0; i < nr; i++) {
			if (copy_from_kernel_nofault(&text, (void *)r->page[i], sizeof(text)))
				r->faults++;
		}
		preempt_enable();
		WRITE_ONCE(r->rounds, r->rounds + 1);
		usleep_range(10, 50);
	}
	return 0;
}

#define READ_TIMES	10

/* A stack dump, for instance, looks at them without a lock. */
static void pages_of_slots_stay_as_long_as_a_reader_has_found_them(struct kunit *test)
{
	struct reader *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct task_struct *reader;
	unsigned int i, pages;
	struct slots *s;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, r);
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	reader = kpt_thread(test, read_pages, r,
			    cpumask_any_but(cpu_online_mask, raw_smp_processor_id()), "reads");
	for (i = 0; i < READ_TIMES; i++) {
		s = take_pages_of_slots(test);
		pages = kpt_counts(false).copies.pages;
		kunit_release_action(test, give_slots_back, s);
		KUNIT_EXPECT_TRUE(test, kpt_wait_until(kpt_counts(true).copies.pages < pages));
	}
	kpt_stop(test, reader);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_EXPECT_GT(test, r->rounds, READ_TIMES);
	KUNIT_EXPECT_EQ(test, r->faults, 0);
}
#endif

#if defined(CONFIG_X86) && defined(CONFIG_TASKS_RCU)
/**
 * struct erases - pages of slots that a worker erases
 * @page: the latest of them
 * @nr:	  how many
 * @held: the grace period of tasks-RCU waited from one page to the next
 */
struct erases {
	unsigned long page;
	unsigned int nr;
	unsigned int held;
};

/* A grace period sets this, and waits until the task clears it. */
static int look_at_holdout(struct kpt_probe *pr, struct pt_regs *regs)
{
	unsigned long page = regs_get_kernel_argument(regs, 0) & PAGE_MASK;
	struct erases *e = pr->arg;

	if (!(current->flags & PF_WQ_WORKER) || page == e->page)
		return 0;
	e->held += e->nr && READ_ONCE(current->rcu_tasks_holdout);
	e->page = page;
	e->nr++;
	WRITE_ONCE(current->rcu_tasks_holdout, true);
	return 0;
}

/* The grace period of the optimizer, for instance. */
static void tasks_rcu_goes_on_while_slots_are_erased(struct kunit *test)
{
	struct slots *s = take_pages_of_slots(test);
	struct kpt_probe *pr = kpt_alloc(test, NULL);
	struct erases *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, e);
	pr->kp.symbol_name = "text_poke_set";
	pr->on_pre = look_at_holdout;
	pr->arg = e;
	kpt_register(test, pr);
	/* As if hits had been sent there. */
	while (s->nr)
		free_insn_slot(s->slot[--s->nr], 1);
	kpt_counts(true);
	kpt_unregister(test, pr);
	KUNIT_EXPECT_GE(test, e->nr, NR_PAGES / 2);
	/* A real grace period may begin at any time. */
	KUNIT_EXPECT_LT(test, e->held, e->nr / 2);
}
#endif

/* A page that was full has a slot for the next probe as soon as one is given back. */
static void slots_of_full_pages_are_used_again(struct kunit *test)
{
	struct slots *s = take_pages_of_slots(test);
	unsigned int pages = kpt_counts(false).copies.pages, i, nr = s->nr / 2;

	/* All slots of the last page are taken as well. */
	take_slots(test, s, pages + 1);
	pages = kpt_counts(false).copies.pages;
	for (i = 0; i < nr; i += 2)
		free_insn_slot(s->slot[i], 0);
	for (i = 0; i < nr; i += 2) {
		s->slot[i] = get_insn_slot();
		KUNIT_EXPECT_NOT_NULL(test, s->slot[i]);
	}
	KUNIT_EXPECT_EQ(test, kpt_counts(false).copies.pages, pages);
}
#endif

#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_DYNAMIC_FTRACE_WITH_REGS)
/* --- From one of the ftrace_ops to the other -------------------------------- */

/*
 * A hit of a point that moves is stopped between the calls of the two ops. Which of them
 * counts changes there. Then the point, and another one that moves with it, are hit in the
 * same context.
 */
enum step { IDLE, WAITS, INSIDE, CHANGES, OVER };

static enum step step;

static void between_the_ops(unsigned long ip, unsigned long parent,
			    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	unsigned int i;

	if (cmpxchg(&step, WAITS, INSIDE) != WAITS)
		return;
	for (i = 0; READ_ONCE(step) != CHANGES && i < KPT_TIMEOUT_MS; i++)
		mdelay(1);
	/* The stage is over, and the next one waits for this hit. */
	mdelay(50);
	kpt_traced(7);
	kpt_traced2(7);
	WRITE_ONCE(step, OVER);
}

static struct ftrace_ops in_between = {
	.func = between_the_ops,
};

/* Longer than the end of a move takes once the grace period before it is over. */
static void slowly_between_the_ops(unsigned long ip, unsigned long parent,
				   struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	mdelay(20);
}

static struct ftrace_ops slow_between = {
	.func = slowly_between_the_ops,
};

static unsigned long between_ip;

static void remove_between(void *ops)
{
	unregister_ftrace_function(ops);
	ftrace_set_filter_ip(ops, between_ip, 1, 0);
}

/* ftrace calls first what came last. So this comes before the second of the two ops. */
static void put_between(struct kunit *test, struct kpt_probe *first, struct ftrace_ops *ops)
{
	between_ip = (unsigned long)first->kp.addr;
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(ops, between_ip, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, register_ftrace_function(ops), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, remove_between, ops), 0);
}

static int call_between(void *unused)
{
	while (READ_ONCE(step) == IDLE && !kthread_should_stop())
		cond_resched_tasks_rcu_qs();
	kpt_traced(7);
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

static void let_it_begin(struct stop *stop)
{
	WRITE_ONCE(step, WAITS);
	kpt_poll_until(READ_ONCE(step) != WAITS);
	WRITE_ONCE(step, CHANGES);
}

/*
 * A task is preempted in ftrace_caller, which saves no full registers, and the tracer that
 * it was about to call goes. If the ops are all that is left, ftrace calls them directly.
 */
static void call_without_registers_is_for_no_point(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_traced);

	kprobe_test_ftrace_call(&pr->kp);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0);
}

#if defined(CONFIG_X86_64) && !defined(CONFIG_FRAME_POINTER)
/*
 * A task may be preempted in the trampoline that all ops share when the other user of the
 * function goes. If it called the plain ops directly, later, the point may have moved.
 */
static void shared_trampoline_calls_by_the_list(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_traced), *post;

	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&pr->kp));
	KUNIT_EXPECT_TRUE(test, kprobe_test_ftrace_walks());
	post = kpt_probe_post(test, kpt_traced);
	KUNIT_EXPECT_TRUE(test, kprobe_test_ftrace_walks());
	kpt_unregister(test, post);
	KUNIT_EXPECT_TRUE(test, kprobe_test_ftrace_walks());
}
#endif

#ifdef CONFIG_X86
/* The address that a call of ftrace passes on; see call_with_the_ops_of_another_user_is_a_hit(). */
static unsigned long passed_ip;

static void pass_on(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
		    struct ftrace_regs *fregs)
{
	kprobe_ftrace_handler(passed_ip, parent, ops, fregs);
}

static struct ftrace_ops passer = {
	.func = pass_on,
	.flags = FTRACE_OPS_FL_SAVE_REGS,
};

static void remove_passer(void *addr)
{
	unregister_ftrace_function(&passer);
	ftrace_set_filter_ip(&passer, (unsigned long)addr, 1, 0);
}

/*
 * Where one trampoline serves all ops, a task that was preempted in it may call the handler
 * with the ops of another user. The handler finds the point all the same.
 */
static void call_with_the_ops_of_another_user_is_a_hit(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_traced), *site = kpt_probe(test, kpt_traced2);
	void *addr = site->kp.addr;

	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&pr->kp));
	kpt_unregister(test, site);
	passed_ip = (unsigned long)pr->kp.addr;
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&passer, (unsigned long)addr, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, register_ftrace_function(&passer), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, remove_passer, addr), 0);
	KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
	kunit_release_action(test, remove_passer, addr);
}
#endif

static void remove_batch(void *kps)
{
	unregister_kprobes(kps, 2);
}

/* @back: the points move to the plain ops; otherwise from them */
static void check_nested_hit(struct kunit *test, bool back)
{
	struct stop *stop = stop_alloc(test, KPROBE_STAGE_NOTED, let_it_begin, NULL);
	unsigned int cpu = raw_smp_processor_id(), other, i;
	struct kprobe **kps = kunit_kcalloc(test, 2, sizeof(*kps), GFP_KERNEL);
	kpt_fn_t fn[] = { kpt_traced, kpt_traced2 };
	struct kpt_probe *pr[2], *post[2];
	struct task_struct *task;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, kps);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	step = IDLE;
	for (i = 0; i < 2; i++) {
		pr[i] = kpt_probe(test, fn[i]);
		post[i] = kpt_alloc_with(test, fn[i], true, true);
		kps[i] = &post[i]->kp;
	}
	put_between(test, pr[0], &in_between);
	if (back)
		KUNIT_ASSERT_EQ(test, register_kprobes(kps, 2), 0);
	other = cpumask_any_but(cpu_online_mask, cpu);
	task = kpt_thread(test, call_between, NULL, other, "between");
	stop_at(test, stop);
	if (back)
		unregister_kprobes(kps, 2);
	else
		KUNIT_EXPECT_EQ(test, register_kprobes(kps, 2), 0);
	kpt_unwatch_stages(test);
	if (!back)
		KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, remove_batch, kps), 0);
	KUNIT_EXPECT_EQ(test, stop->times, 1);
	KUNIT_EXPECT_EQ(test, READ_ONCE(step), OVER);
	kpt_stop(test, task);
	KUNIT_EXPECT_EQ(test, pr[0]->pre, 2);
	KUNIT_EXPECT_EQ(test, pr[1]->pre, 1);
	for (i = 0; i < 2; i++) {
		if (back)
			KUNIT_EXPECT_EQ(test, post[i]->pre, 0);
		KUNIT_EXPECT_EQ(test, pr[i]->kp.nmissed, 0ul);
	}
	kunit_release_action(test, remove_between, &in_between);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

static void nested_hit_of_a_moving_point_is_counted_once(struct kunit *test)
{
	check_nested_hit(test, false);
}

/*
 * Ops without points are unregistered, and called first when they come back. So another point,
 * which does not move, keeps the plain ops where they are: the last that ftrace calls.
 */
static void keep_plain_ops(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_many_traced);

	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&pr->kp));
}

/*
 * The other way round, the first call of the outer hit counts, and the second has to
 * remember that.
 */
static void nested_hit_of_a_point_that_moves_back_is_counted_once(struct kunit *test)
{
	keep_plain_ops(test);
	check_nested_hit(test, true);
}

static int calls_slowly(void *arg)
{
	unsigned long *calls = arg;

	while (!kthread_should_stop()) {
		kpt_traced(7);
		WRITE_ONCE(*calls, *calls + 1);
		/* No grace period that has begun by now waits for the next hit. */
		usleep_range(100, 200);
	}
	return 0;
}

/* Its second call finds that the move is over, and that the ops of the first now count. */
static void hit_at_the_end_of_a_move_is_counted_once(struct kunit *test)
{
	unsigned long *calls = kunit_kzalloc(test, sizeof(*calls), GFP_KERNEL);
	unsigned int cpu = raw_smp_processor_id();
	struct kpt_probe *pr, *post;
	struct task_struct *task;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, calls);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	pr = kpt_probe(test, kpt_traced);
	put_between(test, pr, &slow_between);
	task = kpt_thread(test, calls_slowly, calls, cpumask_any_but(cpu_online_mask, cpu),
			  "slowly");
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(READ_ONCE(*calls)));
	post = kpt_probe_post(test, kpt_traced);
	kpt_unregister(test, post);
	/* The first call of a hit that began before a move has counted, without a note. */
	keep_plain_ops(test);
	kunit_release_action(test, remove_between, &slow_between);
	/* A hit that is in it would call the plain ops again, which come after it from now on. */
	synchronize_rcu();
	put_between(test, pr, &slow_between);
	post = kpt_probe_post(test, kpt_traced);
	kpt_unregister(test, post);
	kpt_stop(test, task);
	KUNIT_EXPECT_EQ(test, pr->pre, *calls);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
	kunit_release_action(test, remove_between, &slow_between);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/**
 * struct hog - keeps a CPU from a task, for a while, again and again
 * @calls: of the task
 * @go:	   begin; cleared when it is over
 * @on:	   the task does not run
 */
struct hog {
	unsigned long calls;
	bool go;
	bool on;
};

#define HOG_MS		300
#define HOG_TIMES	20

static int hog_thread(void *arg)
{
	struct hog *h = arg;

	sched_set_fifo(current);
	while (!kthread_should_stop()) {
		usleep_range(100, 1000);
		if (!READ_ONCE(h->go))
			continue;
		WRITE_ONCE(h->on, true);
		mdelay(HOG_MS);
		WRITE_ONCE(h->on, false);
		WRITE_ONCE(h->go, false);
	}
	return 0;
}

static int hogged_thread(void *arg)
{
	struct hog *h = arg;

	while (!kthread_should_stop()) {
		kpt_traced(7);
		if (!(++h->calls % 64))
			cond_resched_tasks_rcu_qs();
	}
	return 0;
}

/* The task may have been preempted anywhere between the site and the handler. */
static void task_on_the_way_to_a_moving_point_hits_it(struct kunit *test)
{
	struct hog *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);
	unsigned int cpu = raw_smp_processor_id(), other, i;
	struct kpt_probe *pr, *post;
	struct task_struct *hogged;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	if (!preempt_model_full())
		kunit_skip(test, "no task is preempted there");
	KUNIT_ASSERT_NOT_NULL(test, h);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	other = cpumask_any_but(cpu_online_mask, cpu);
	pr = kpt_probe(test, kpt_traced);
	/* Registering ops interrupts all CPUs: keep both registered. */
	kpt_probe_post(test, kpt_traced2);
	hogged = kpt_thread(test, hogged_thread, h, other, "hogged");
	kpt_thread(test, hog_thread, h, other, "hog");
	for (i = 0; i < HOG_TIMES; i++) {
		WRITE_ONCE(h->go, true);
		KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(h->on) || !READ_ONCE(h->go)));
		post = kpt_probe_post(test, kpt_traced);
		KUNIT_ASSERT_TRUE(test, kpt_wait_until(!READ_ONCE(h->go)));
		kpt_unregister(test, post);
	}
	kpt_stop(test, hogged);
	KUNIT_EXPECT_GT(test, h->calls, (unsigned long)HOG_TIMES);
	KUNIT_EXPECT_EQ(test, pr->pre + pr->kp.nmissed, h->calls);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}
#endif

#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
static void look_at_hotplug(struct stop *stop)
{
	struct percpu_rw_semaphore *lock = stop->arg;

	if (!percpu_is_read_locked(lock))
		stop->arg = NULL;
}

/* One that comes meanwhile would be neither interrupted nor waited for. */
static void no_cpu_comes_while_handlers_are_waited_for(struct kunit *test)
{
	struct percpu_rw_semaphore *lock = kprobe_test_symbol("cpu_hotplug_lock");
	struct stop *stop = stop_alloc(test, KPROBE_STAGE_SYNCED, look_at_hotplug, lock);
	struct kpt_probe *pr = kpt_probe(test, kpt_plain);

	if (!IS_ENABLED(CONFIG_HOTPLUG_CPU))
		kunit_skip(test, "no CPU comes");
	if (!lock)
		kunit_skip(test, "needs the symbols of data");
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(!percpu_is_read_locked(lock)));
	stop_at(test, stop);
	kpt_unregister(test, pr);
	kpt_unwatch_stages(test);
	KUNIT_EXPECT_EQ(test, stop->times, 1);
	KUNIT_EXPECT_PTR_EQ(test, stop->arg, (void *)lock);
}
#endif

/* --- CPUs that come online or go offline ------------------------------------ */

/*
 * One may be in a hit, and no grace period waits for it. So what a hit may read is freed by
 * a task that has waited for CPU hotplug as well.
 */

/**
 * struct arrivals - counts the waits for CPUs that come and go
 * @task:  the task of the case
 * @own:   waits of the task
 * @work:  the function of a worker, or NULL
 * @works: its waits
 * @left:  how many of them came before it took the arrays that wait
 * @freed: whether the task, and the worker, have freed anything; known on x86 only
 * @early: which of them had done so when the first wait was over
 */
struct arrivals {
	struct task_struct *task;
	const char *work;
	unsigned int own;
	unsigned int works;
	unsigned int left;
	bool freed[2];
	bool early[2];
};

static bool works_in(const char *function)
{
	struct work_struct *work = current_work();
	char name[64];

	if (!work)
		return false;
	snprintf(name, sizeof(name), "%ps", work->func);
	/* Where pointers are descriptors, the code's own symbol begins with a dot. */
	return str_has_prefix(name + (name[0] == '.'), function);
}

static void note_arrival(enum kprobe_stage stage, void *arg)
{
	struct arrivals *a = arg;

	if (stage != KPROBE_STAGE_ARRIVED)
		return;
	if (current == a->task) {
		if (!a->own++)
			a->early[0] = a->freed[0];
	} else if (a->work && works_in(a->work)) {
		if (!a->works++)
			a->early[1] = a->freed[1];
		a->left += kprobe_test_arrays_wait();
	}
}

#if defined(CONFIG_X86) && defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_TREE_RCU)
/* What the case's own task frees by itself, or by files that it opens, is not of interest. */
static bool frees_ours(struct kpt_probe *pr, struct pt_regs *regs)
{
	char name[64];

	if (strcmp(pr->kp.symbol_name, "call_rcu"))
		return !strcmp(pr->kp.symbol_name, "kvfree_call_rcu");
	snprintf(name, sizeof(name), "%ps", (void *)regs_get_kernel_argument(regs, 1));
	return str_has_prefix(name, "counter_free_rcu");
}

static int pre_notes_free(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct arrivals *a = pr->arg;

	if (current == a->task)
		a->freed[0] |= frees_ours(pr, regs);
	else if (a->work && works_in(a->work))
		a->freed[1] = true;
	return 0;
}

static void note_frees(struct kunit *test, struct arrivals *a)
{
	static const char * const frees[] = { "kvfree", "kvfree_call_rcu", "call_rcu" };
	struct kpt_probe *pr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(frees); i++) {
		pr = kpt_alloc(test, NULL);
		pr->kp.symbol_name = frees[i];
		pr->on_pre = pre_notes_free;
		pr->arg = a;
		kpt_register(test, pr);
	}
}
#else
/* Elsewhere a handler may not know which worker has called, or with which arguments. */
static void note_frees(struct kunit *test, struct arrivals *a)
{
}
#endif

/* Nothing was freed before the first wait. */
static void expect_frees_later(struct kunit *test, struct arrivals *a)
{
	kpt_unwatch_stages(test);
	KUNIT_EXPECT_FALSE(test, a->early[0]);
	KUNIT_EXPECT_FALSE(test, a->early[1]);
}

static struct arrivals *note_arrivals(struct kunit *test, const char *work)
{
	struct arrivals *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, a);
	note_frees(test, a);
	wait_for_kprobe_optimizer();
	kpt_counts(true);
	a->work = work;
	a->task = current;
	kpt_watch_stages(test, note_arrival, a);
	return a;
}

#define NR_USERS	1000

/* Each round adds so many users, and a table that is half full gets a new array. */
#define MOST_ROUNDS	400

static void array_of_a_table_is_not_freed_while_a_cpu_comes(struct kunit *test)
{
	struct kprobe **kps = kunit_kcalloc(test, NR_USERS, sizeof(*kps), GFP_KERNEL);
	struct kprobe *kp = kunit_kcalloc(test, NR_USERS, sizeof(*kp), GFP_KERNEL);
	struct kpt_probe *pr = kpt_probe(test, kpt_plain);
	struct arrivals *a;
	unsigned int i, n;

	KUNIT_ASSERT_NOT_NULL(test, kps);
	KUNIT_ASSERT_NOT_NULL(test, kp);
	a = note_arrivals(test, "arrays_work_fn");
	for (n = 0; !READ_ONCE(a->works) && n < MOST_ROUNDS; n++) {
		for (i = 0; i < NR_USERS; i++) {
			kps[i] = &kp[i];
			kp[i] = (struct kprobe){ .addr = pr->kp.addr };
		}
		KUNIT_ASSERT_EQ(test, register_kprobes(kps, NR_USERS), 0);
		unregister_kprobes(kps, NR_USERS);
		kpt_counts(true);
	}
	expect_frees_later(test, a);
	KUNIT_EXPECT_GE(test, a->works, 1);
	/* What comes after this has to wait for the next grace period. */
	KUNIT_EXPECT_EQ(test, a->left, 0);
}

/* Its other users keep the point, and nobody waits for handlers: disabling has done so. */
static void disabled_probe_does_not_leave_while_a_cpu_comes(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_plain), *off = kpt_probe(test, kpt_plain);
	struct arrivals *a;

	KUNIT_ASSERT_EQ(test, disable_kprobe(&off->kp), 0);
	a = note_arrivals(test, NULL);
	kpt_unregister(test, off);
	KUNIT_EXPECT_GE(test, a->own, 1);
	a->own = 0;
	kpt_unregister(test, pr);
	/* Where handlers are looked for, hotplug is locked out: see the case above. */
	KUNIT_EXPECT_GE(test, a->own, SYNCS ? 0 : 1);
	kpt_unwatch_stages(test);
}

static void point_of_a_refused_batch_is_not_freed_while_a_cpu_comes(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, kpt_plain);
	struct kprobe *twice[] = { &pr->kp, &pr->kp };
	struct arrivals *a = note_arrivals(test, NULL);

	KUNIT_EXPECT_EQ(test, register_kprobes(twice, 2), -EINVAL);
	expect_frees_later(test, a);
	KUNIT_EXPECT_EQ(test, a->own, 1);
}

#ifdef CONFIG_KRETPROBES
static int return_of_no_interest(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

static void return_probe_is_not_freed_while_a_cpu_comes(struct kunit *test)
{
	struct kretprobe *rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);
	bool rethook = IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK);
	struct arrivals *a;

	KUNIT_ASSERT_NOT_NULL(test, rp);
	rp->kp.addr = kpt_text(kpt_plain);
	rp->handler = return_of_no_interest;
	kpt_register_return(test, rp);
	kpt_plain(7);
	a = note_arrivals(test, "pool_work_fn");
	kpt_unregister_return(test, rp);
	KUNIT_EXPECT_GE(test, a->own, 1 + !SYNCS);
	if (!rethook)
		KUNIT_EXPECT_TRUE(test, kpt_wait_until(READ_ONCE(a->works)));
	expect_frees_later(test, a);
}
#endif

#ifdef CONFIG_DEBUG_FS
static void stop_counting_hits(void *test)
{
	kpt_write(test, &kpt_debugfs, "kprobes/hits", "0");
}

static void counter_is_not_freed_while_a_cpu_comes(struct kunit *test)
{
	struct arrivals *a;

	KUNIT_ASSERT_NOT_NULL(test, kpt_debugfs.mnt);
	kpt_probe(test, kpt_plain);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stop_counting_hits, test), 0);
	KUNIT_ASSERT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/hits", "1"), 1l);
	a = note_arrivals(test, NULL);
	kunit_release_action(test, stop_counting_hits, test);
	expect_frees_later(test, a);
	KUNIT_EXPECT_GE(test, a->own, 1);
}

#if !defined(CONFIG_ARCH_HAS_KPROBE_CONTEXTS) && defined(CONFIG_SMP)
/**
 * struct idler - a CPU that RCU takes for idle
 * @inside: it is idle, with interrupts off, as if it handled a hit
 * @waited: the test's task has waited for CPUs that RCU does not watch
 * @early:  ... while this one was still idle
 */
struct idler {
	bool inside;
	bool waited;
	bool early;
};

#define IDLE_MS	1000

static int is_idle_for_a_while(void *arg)
{
	struct idler *i = arg;

	local_irq_disable();
	ct_idle_enter();
	WRITE_ONCE(i->inside, true);
	kpt_spin_until(READ_ONCE(i->waited), IDLE_MS);
	WRITE_ONCE(i->inside, false);
	ct_idle_exit();
	local_irq_enable();
	while (!kthread_should_stop())
		usleep_range(100, 1000);
	return 0;
}

static void look_if_idle(struct stop *stop)
{
	struct idler *i = stop->arg;

	if (stop->times == 1)
		i->early = READ_ONCE(i->inside);
	WRITE_ONCE(i->waited, true);
}

/* A counter stands for all that is freed after such a wait. */
static void counter_is_not_freed_while_an_idle_cpu_is_in_a_hit(struct kunit *test)
{
	struct idler *i = kunit_kzalloc(test, sizeof(*i), GFP_KERNEL);
	struct stop *stop = stop_alloc(test, KPROBE_STAGE_ARRIVED, look_if_idle, i);
	unsigned int cpu = raw_smp_processor_id();
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, i);
	KUNIT_ASSERT_NOT_NULL(test, kpt_debugfs.mnt);
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	kpt_forbid_jumps(test);
	kpt_probe(test, kpt_plain);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stop_counting_hits, test), 0);
	KUNIT_ASSERT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/hits", "1"), 1l);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	stop_at(test, stop);
	task = kpt_thread(test, is_idle_for_a_while, i, cpumask_any_but(cpu_online_mask, cpu),
			  "idle");
	KUNIT_EXPECT_TRUE(test, kpt_poll_until(READ_ONCE(i->inside)));
	kunit_release_action(test, stop_counting_hits, test);
	kpt_unwatch_stages(test);
	kpt_stop(test, task);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	kpt_allow_jumps(test);
	KUNIT_EXPECT_GE(test, stop->times, 1);
	KUNIT_EXPECT_FALSE(test, i->early);
}
#endif
#endif

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
/**
 * struct reclaims - rounds of the worker that frees slots
 * @s:	     the slots of the case
 * @nr:	     how many
 * @known:   how many of them the round found in pages that are known
 * @waits:   the round has not waited yet
 * @rounds:  rounds with such slots
 * @slots:   how many of those waited before their pages were unknown
 * @pages:   how many waited after that
 * @worker:  runs the round
 * @tasks:   counts the waits for tasks
 * @idle:    counts the waits for idle tasks
 * @collected: the round has collected its slots, and has not waited for tasks yet
 * @settled: it has waited for tasks, and for idle tasks after that
 * @waited:  rounds that have waited for tasks after they had collected their slots
 * @early:   rounds that made pages unknown before they had settled
 */
struct reclaims {
	struct slots *s;
	unsigned int nr;
	unsigned int known;
	bool waits;
	unsigned int rounds;
	unsigned int slots;
	unsigned int pages;
	struct task_struct *worker;
	struct kpt_probe tasks;
	struct kpt_probe idle;
	bool collected;
	bool settled;
	unsigned int waited;
	unsigned int early;
};

static unsigned int known_slots(struct reclaims *r)
{
	unsigned int i, known = 0;

	for (i = 0; i < r->nr; i++)
		known += is_kprobe_insn_slot((unsigned long)r->s->slot[i]);
	return known;
}

static void note_reclaim(enum kprobe_stage stage, void *arg)
{
	struct reclaims *r = arg;

	if (!works_in("slots_reclaim"))
		return;
	if (stage == KPROBE_STAGE_RETIRED) {
		WRITE_ONCE(r->worker, current);
		r->collected = true;
		r->settled = false;
		r->known = known_slots(r);
		r->waits = true;
		r->rounds += !!r->known;
	} else if (stage == KPROBE_STAGE_ARRIVED && r->known) {
		if (known_slots(r) < r->known) {
			r->early += IS_ENABLED(CONFIG_TASKS_RCU) && !r->settled;
			r->pages++;
		} else if (r->waits) {
			r->slots++;
		}
		r->waits = false;
	}
}

static int note_wait_for_tasks(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct reclaims *r = container_of(pr, struct reclaims, tasks);

	/* On some architectures a handler is not in a task, and so has no current_work(). */
	if (current != READ_ONCE(r->worker))
		return 0;
	r->waited += r->collected;
	r->collected = false;
	return 0;
}

static int note_wait_for_idle_tasks(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct reclaims *r = container_of(pr, struct reclaims, idle);

	if (current == READ_ONCE(r->worker) && !r->collected)
		r->settled = true;
	return 0;
}

/* One may be in a slot, or may look for the page of an address. */
static void slots_are_not_free_while_a_cpu_comes(struct kunit *test)
{
	struct reclaims *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	kpt_counts(true);
	r->tasks.kp.symbol_name = "synchronize_rcu_tasks";
	r->tasks.kp.pre_handler = kpt_pre;
	r->tasks.on_pre = note_wait_for_tasks;
	r->idle.kp.symbol_name = "synchronize_rcu";
	r->idle.kp.pre_handler = kpt_pre;
	r->idle.on_pre = note_wait_for_idle_tasks;
	/* Before the slots are taken: their own slots keep only a page that had room. */
	if (IS_ENABLED(CONFIG_TASKS_RCU)) {
		kpt_register(test, &r->tasks);
		kpt_register(test, &r->idle);
	}
	r->s = take_pages_of_slots(test);
	r->nr = r->s->nr;
	kpt_watch_stages(test, note_reclaim, r);
	kunit_release_action(test, give_slots_back, r->s);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until((kpt_counts(true), READ_ONCE(r->pages))));
	if (IS_ENABLED(CONFIG_TASKS_RCU)) {
		kpt_unregister(test, &r->tasks);
		kpt_unregister(test, &r->idle);
	}
	kpt_unwatch_stages(test);
	KUNIT_EXPECT_GE(test, r->rounds, 1);
	KUNIT_EXPECT_EQ(test, r->slots, r->rounds);
	/* A task may still be in a slot that came meanwhile. */
	KUNIT_EXPECT_EQ(test, r->early, 0);
	KUNIT_EXPECT_GE(test, r->waited, IS_ENABLED(CONFIG_TASKS_RCU) ? r->rounds : 0);
}
#endif

#define SITE_CASE(fn)		KUNIT_CASE_PARAM(fn, kpt_site_gen)
#define SLOW_SITE_CASE(fn)	KPT_CASE_PARAM_SLOW(fn, kpt_site_gen)

static struct kunit_case order_cases[] = {
	SLOW_SITE_CASE(hit_while_a_probe_leaves_runs_none_of_its_handlers),
	SITE_CASE(hit_before_a_probe_is_linked_runs_none_of_its_handlers),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_PARAM(call_while_a_return_probe_leaves_runs_both_handlers_or_none,
			 kpt_entry_site_gen),
#endif
	KPT_CASE_PARAM_SLOW(unregistering_waits_for_its_slow_handler, slow_site_gen),
#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
	SITE_CASE(disabling_what_is_off_waits_for_nothing),
	SITE_CASE(unregistering_waits_however_long_its_handler_takes),
	KUNIT_CASE(unregistering_ends_although_handlers_are_always_seen),
#endif
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(unregistering_waits_for_the_handler_of_a_late_return),
	KUNIT_CASE(leaving_in_the_middle_of_a_hit_is_no_missed_call),
#endif
	SITE_CASE(probe_of_a_slow_handler_may_leave_before_another),
	SITE_CASE(probe_before_a_slow_handler_may_leave),
	SITE_CASE(probe_after_a_slow_handler_may_leave),
	SLOW_SITE_CASE(disabling_waits_for_its_slow_handler),
#ifdef CONFIG_DEBUG_FS
	SLOW_SITE_CASE(switching_all_off_waits_for_a_slow_handler),
#endif
	SLOW_SITE_CASE(probe_beside_a_slow_handler_may_be_disabled),
#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
	SITE_CASE(every_cpu_is_interrupted_before_handlers_are_looked_for),
	KUNIT_CASE(no_cpu_comes_while_handlers_are_waited_for),
#endif
	SITE_CASE(slots_are_not_used_again_before_tasks_have_left),
#if JUMPS
	KUNIT_CASE(detours_are_not_used_again_before_tasks_have_left),
#endif
#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
	KUNIT_CASE(slot_that_no_hit_has_used_is_free_at_once),
	KUNIT_CASE(slots_that_are_retired_do_not_put_the_worker_off),
	KUNIT_CASE(slots_are_not_free_while_a_task_that_was_interrupted_runs_on),
	KUNIT_CASE(pages_of_slots_are_known_as_long_as_they_are_there),
#ifdef CONFIG_X86
	KUNIT_CASE_SLOW(pages_of_slots_stay_as_long_as_a_reader_has_found_them),
#endif
	KUNIT_CASE(slots_of_full_pages_are_used_again),
#if defined(CONFIG_X86) && defined(CONFIG_TASKS_RCU)
	KUNIT_CASE(tasks_rcu_goes_on_while_slots_are_erased),
#endif
#ifdef CONFIG_X86
	KUNIT_CASE(blocks_of_pages_grow_with_their_number),
#endif
#endif
#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_DYNAMIC_FTRACE_WITH_REGS)
	KUNIT_CASE(call_without_registers_is_for_no_point),
#ifdef CONFIG_X86
	KUNIT_CASE(call_with_the_ops_of_another_user_is_a_hit),
#if defined(CONFIG_X86_64) && !defined(CONFIG_FRAME_POINTER)
	KUNIT_CASE(shared_trampoline_calls_by_the_list),
#endif
#endif
	KUNIT_CASE(nested_hit_of_a_moving_point_is_counted_once),
	KUNIT_CASE(nested_hit_of_a_point_that_moves_back_is_counted_once),
	KUNIT_CASE(hit_at_the_end_of_a_move_is_counted_once),
	KUNIT_CASE_SLOW(task_on_the_way_to_a_moving_point_hits_it),
#endif
	KUNIT_CASE(array_of_a_table_is_not_freed_while_a_cpu_comes),
	KUNIT_CASE(disabled_probe_does_not_leave_while_a_cpu_comes),
	KUNIT_CASE(point_of_a_refused_batch_is_not_freed_while_a_cpu_comes),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(return_probe_is_not_freed_while_a_cpu_comes),
#endif
#ifdef CONFIG_DEBUG_FS
	KUNIT_CASE(counter_is_not_freed_while_a_cpu_comes),
#if !defined(CONFIG_ARCH_HAS_KPROBE_CONTEXTS) && defined(CONFIG_SMP)
	KUNIT_CASE(counter_is_not_freed_while_an_idle_cpu_is_in_a_hit),
#endif
#endif
#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
	KUNIT_CASE(slots_are_not_free_while_a_cpu_comes),
#endif
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite order_suite = {
	.name = "kprobes_order",
	.suite_init = kpt_files_suite_init,
	.suite_exit = kpt_unmount_files,
	.init = kpt_case_init,
	.test_cases = order_cases,
};

kunit_test_suite(order_suite);
