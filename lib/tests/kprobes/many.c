// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: enable_kprobes() and disable_kprobes(); and calls from handlers and from
 * contexts that must not sleep, which must change nothing.
 */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/prandom.h>
#include <linux/ratelimit.h>
#include <linux/spinlock.h>

#include "fixture.h"

#define NR	3

/* Two probes on the site of the case and one on another function. */
static void many_probes(struct kunit *test, struct kpt_probe *pr[NR], struct kprobe *kps[NR])
{
	unsigned int i;

	for (i = 0; i < NR; i++) {
		pr[i] = kpt_probe(test, i < 2 ? kpt_addr(kpt_site(test)) : (void *)kpt_plain2);
		kps[i] = &pr[i]->kp;
	}
}

static void expect_hits(struct kunit *test, struct kpt_probe *pr[NR], unsigned int wanted)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		pr[i]->pre = 0;
	KUNIT_EXPECT_EQ(test, kpt_site(test)->fn(5), KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, kpt_plain2(5), KPT_RESULT(5ul));
	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_EQ_MSG(test, pr[i]->pre, wanted, "probe %u", i);
}

static void all_are_switched_at_once(struct kunit *test)
{
	unsigned char off[16], on[16], *text = kpt_text(kpt_plain2);
	struct kpt_probe *pr[NR];
	struct kprobe *kps[NR];
	unsigned int i;

	memcpy(off, text, sizeof(off));
	many_probes(test, pr, kps);
	wait_for_kprobe_optimizer();
	memcpy(on, text, sizeof(on));
	KUNIT_ASSERT_TRUE(test, memcmp(off, on, sizeof(off)));
	expect_hits(test, pr, 1);

	KUNIT_EXPECT_EQ(test, disable_kprobes(kps, NR), 0);
	KUNIT_EXPECT_MEMEQ(test, off, text, sizeof(off));
	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_TRUE(test, kprobe_disabled(kps[i]));
	expect_hits(test, pr, 0);
	/* Again: nothing happens. */
	KUNIT_EXPECT_EQ(test, disable_kprobes(kps, NR), 0);

	KUNIT_EXPECT_EQ(test, enable_kprobes(kps, NR), 0);
	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_FALSE(test, kprobe_disabled(kps[i]));
	expect_hits(test, pr, 1);
	KUNIT_EXPECT_EQ(test, enable_kprobes(kps, NR), 0);
	expect_hits(test, pr, 1);
}

static void one_that_is_given_twice_counts_once(struct kunit *test)
{
	struct kprobe_counts before = kpt_counts(false), now;
	struct kprobe *kps[NR], *twice[2], *again[NR + 1];
	struct kpt_probe *pr[NR];
	const char *what;

	many_probes(test, pr, kps);
	twice[0] = kps[0];
	twice[1] = kps[0];
	KUNIT_EXPECT_EQ(test, disable_kprobes(twice, 2), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobes(twice, 2), 0);
	expect_hits(test, pr, 1);
	/* If one of them were counted twice, the point would stay armed. */
	KUNIT_EXPECT_EQ(test, disable_kprobes(twice, 2), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobes(kps, NR), 0);
	expect_hits(test, pr, 0);

	/* The second time it is not registered. */
	memcpy(again, kps, sizeof(kps));
	again[NR] = kps[0];
	unregister_kprobes(again, NR + 1);
	now = kpt_counts(false);
	what = kpt_differs(&before, &now);
	KUNIT_EXPECT_NULL_MSG(test, what, "%s", what);
	KUNIT_EXPECT_NULL(test, kps[0]->addr);
	KUNIT_EXPECT_NOT_NULL(test, kps[1]->addr);
	kps[0]->addr = kpt_addr(kpt_site(test));
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, NR), 0);
	expect_hits(test, pr, 0);
	KUNIT_EXPECT_EQ(test, enable_kprobes(kps, NR), 0);
	expect_hits(test, pr, 1);
}

static void an_invalid_one_keeps_all_as_they_are(struct kunit *test)
{
	struct kpt_probe *never = kpt_alloc(test, kpt_plain2);
	struct kpt_probe *pr[NR];
	struct kprobe *kps[NR], *with[2];

	many_probes(test, pr, kps);
	with[0] = kps[2];
	with[1] = &never->kp;
	KUNIT_EXPECT_EQ(test, disable_kprobes(with, 2), -EINVAL);
	expect_hits(test, pr, 1);
	with[1] = NULL;
	KUNIT_EXPECT_EQ(test, disable_kprobes(with, 2), -EINVAL);
	expect_hits(test, pr, 1);

	KUNIT_EXPECT_EQ(test, disable_kprobes(kps, NR), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobes(with, 2), -EINVAL);
	with[1] = &never->kp;
	KUNIT_EXPECT_EQ(test, enable_kprobes(with, 2), -EINVAL);
	expect_hits(test, pr, 0);
}

static void no_array_or_a_bad_count_is_einval(struct kunit *test)
{
	struct kpt_probe *pr[NR];
	struct kprobe *kps[NR];

	many_probes(test, pr, kps);
	KUNIT_EXPECT_EQ(test, disable_kprobes(kps, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kprobes(kps, -1), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kprobes(NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, enable_kprobes(kps, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, enable_kprobes(NULL, 1), -EINVAL);
	expect_hits(test, pr, 1);
}

#ifdef CONFIG_KRETPROBES
static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	(*(unsigned int *)rp->kp.symbol_name)++;
	return 0;
}

/* The probes give addresses, so symbol_name is free to point to a counter. */
static void return_probes_are_switched_at_once(struct kunit *test)
{
	static unsigned int returns[2];
	static struct kretprobe rp[2];
	struct kretprobe *rps[2] = { &rp[0], &rp[1] };
	unsigned int i;

	memset(rp, 0, sizeof(rp));
	memset(returns, 0, sizeof(returns));
	for (i = 0; i < 2; i++) {
		rp[i].kp.addr = i ? kpt_text(kpt_plain2) : kpt_text(kpt_traced);
		rp[i].handler = count_return;
	}
	KUNIT_ASSERT_EQ(test, register_kretprobes(rps, 2), 0);
	for (i = 0; i < 2; i++)
		rp[i].kp.symbol_name = (char *)&returns[i];
	KUNIT_EXPECT_EQ(test, disable_kretprobes(rps, 2), 0);
	kpt_traced(1);
	kpt_plain2(1);
	KUNIT_EXPECT_EQ(test, returns[0] + returns[1], 0u);
	KUNIT_EXPECT_EQ(test, enable_kretprobes(rps, 2), 0);
	kpt_traced(1);
	kpt_plain2(1);
	KUNIT_EXPECT_EQ(test, returns[0], 1u);
	KUNIT_EXPECT_EQ(test, returns[1], 1u);
	unregister_kretprobes(rps, 2);
}
#endif

/* --- Calls from handlers ------------------------------------------------- */

/**
 * kpt_misuse_init - prepare calls that are to be refused
 * @m:	    the calls
 * @victim: a probe on kpt_plain2(), which is registered
 * @self:   another probe, or the same
 */
void kpt_misuse_init(struct kpt_misuse *m, struct kpt_probe *victim, struct kpt_probe *self)
{
	m->fresh.symbol_name = "kpt_plain2";
	m->victim = &victim->kp;
	m->self = &self->kp;
#ifdef CONFIG_KRETPROBES
	m->fresh_return.kp.addr = kpt_text(kpt_plain2);
#endif
}

/**
 * kpt_misuse - try the calls where they are not allowed
 * @m: the calls
 */
void kpt_misuse(struct kpt_misuse *m)
{
	m->reg = register_kprobe(&m->fresh);
	m->dis = disable_kprobe(m->victim);
	m->en = enable_kprobe(m->victim);
	m->dis_self = disable_kprobe(m->self);
	unregister_kprobe(m->victim);
	unregister_kprobe(m->self);
#ifdef CONFIG_KRETPROBES
	m->reg_return = register_kretprobe(&m->fresh_return);
	unregister_kretprobe(&m->fresh_return);
#endif
}

/**
 * kpt_expect_denied - check that the calls were refused and have changed nothing
 * @test: the case
 * @m:	  the calls
 */
void kpt_expect_denied(struct kunit *test, const struct kpt_misuse *m)
{
	struct kpt_probe *victim = container_of(m->victim, struct kpt_probe, kp);
	unsigned int pre = victim->pre;

	KUNIT_EXPECT_EQ(test, m->reg, -EDEADLK);
	KUNIT_EXPECT_EQ(test, m->dis, -EDEADLK);
	KUNIT_EXPECT_EQ(test, m->en, -EDEADLK);
	KUNIT_EXPECT_EQ(test, m->dis_self, -EDEADLK);
	KUNIT_EXPECT_NULL(test, m->fresh.addr);
#ifdef CONFIG_KRETPROBES
	KUNIT_EXPECT_EQ(test, m->reg_return, -EDEADLK);
	KUNIT_EXPECT_PTR_EQ(test, (void *)m->fresh_return.kp.addr, kpt_text(kpt_plain2));
#endif
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(m->victim));
	kpt_plain2(5);
	KUNIT_EXPECT_EQ(test, victim->pre, pre + 1);
}

static int misuse_api(struct kpt_probe *pr, struct pt_regs *regs)
{
	kpt_misuse(pr->arg);
	return 0;
}

/* Does a call of the function log this? */
static bool is_logged_by(struct kunit *test, kpt_fn_t fn, unsigned long arg, const char *line)
{
	u64 from = kpt_log_end();

	fn(arg);
	return kpt_log_lines(test, from, line) > 0;
}

/* These lines are rate-limited, so try until one is logged. */
static void expect_logged_by(struct kunit *test, kpt_fn_t fn, unsigned long arg,
			     const char *line)
{
	if (IS_ENABLED(CONFIG_PRINTK))
		KUNIT_EXPECT_TRUE_MSG(test, kpt_wait_until(is_logged_by(test, fn, arg, line)),
				      "not in the log: %s", line);
}

#define MISUSES		50

/* A caller that does so again and again does not flood the log, however long that takes. */
static void expect_no_flood(struct kunit *test, kpt_fn_t fn, unsigned long arg)
{
	unsigned long begin = jiffies;
	u64 from = kpt_log_end();
	unsigned int i, most;

	for (i = 0; i < MISUSES; i++)
		fn(arg);
	most = DEFAULT_RATELIMIT_BURST * ((jiffies - begin) / DEFAULT_RATELIMIT_INTERVAL + 2);
	if (IS_ENABLED(CONFIG_PRINTK))
		KUNIT_EXPECT_LE(test, kpt_log_lines(test, from, "kprobes: cannot "), most);
}

static void calls_from_a_handler_fail_and_change_nothing(struct kunit *test)
{
	struct kpt_misuse *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *victim = kpt_probe(test, kpt_plain2);
	struct kpt_probe *pr = kpt_alloc(test, kpt_addr(site));
	char line[256];
	void *was;

	KUNIT_ASSERT_NOT_NULL(test, m);
	kpt_misuse_init(m, victim, pr);
	pr->on_pre = misuse_api;
	pr->arg = m;
	kpt_register(test, pr);
	was = pr->kp.addr;

	KUNIT_EXPECT_EQ(test, site->fn(5), KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	kpt_expect_denied(test, m);
	KUNIT_EXPECT_PTR_EQ(test, (void *)pr->kp.addr, was);
	pr->on_pre = NULL;
	site->fn(5);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	/* Outside of a handler the calls are allowed. */
	KUNIT_EXPECT_EQ(test, register_kprobe(&m->fresh), 0);
	unregister_kprobe(&m->fresh);

	pr->on_pre = misuse_api;
	snprintf(line, sizeof(line), "kprobes: cannot disable a probe of %pS in a handler of %pS",
		 victim->kp.addr, was);
	expect_logged_by(test, site->fn, 5, line);
	/* The log names a probe that is not registered by its symbol_name. */
	m->fresh.addr = NULL;
	snprintf(line, sizeof(line),
		 "kprobes: cannot register a probe of kpt_plain2+0x1 in a handler of %pS", was);
	m->fresh.offset = 1;
	expect_logged_by(test, site->fn, 5, line);

	/* Each hit could log six lines or more. */
	expect_no_flood(test, site->fn, 5);
}

/* --- Calls where one must not sleep --------------------------------------- */

static unsigned long call_with_irqs_off(int (*call)(struct kprobe *p), unsigned long p)
{
	unsigned long flags;
	int ret;

	local_irq_save(flags);
	ret = call((struct kprobe *)p);
	local_irq_restore(flags);
	return ret;
}

static unsigned long enable_with_irqs_off(unsigned long p)
{
	return call_with_irqs_off(enable_kprobe, p);
}

static unsigned long register_with_irqs_off(unsigned long p)
{
	return call_with_irqs_off(register_kprobe, p);
}

/* In the interrupt of a timer. */
struct misuse_timer {
	struct hrtimer timer;
	struct kpt_misuse *m;
	bool done;
};

static enum hrtimer_restart misuse_in_timer(struct hrtimer *timer)
{
	struct misuse_timer *mt = container_of(timer, struct misuse_timer, timer);

	kpt_misuse(mt->m);
	WRITE_ONCE(mt->done, true);
	return HRTIMER_NORESTART;
}

static void misuse_in_hardirq(struct kpt_misuse *m)
{
	struct misuse_timer mt = { .m = m };

	hrtimer_init_on_stack(&mt.timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	mt.timer.function = misuse_in_timer;
	hrtimer_start(&mt.timer, 0, HRTIMER_MODE_REL_HARD);
	kpt_wait_until(READ_ONCE(mt.done));
	hrtimer_cancel(&mt.timer);
	destroy_hrtimer_on_stack(&mt.timer);
}

static void misuse_with_irqs_off(struct kpt_misuse *m)
{
	unsigned long flags;

	local_irq_save(flags);
	kpt_misuse(m);
	local_irq_restore(flags);
}

static void misuse_with_softirqs_off(struct kpt_misuse *m)
{
	local_bh_disable();
	kpt_misuse(m);
	local_bh_enable();
}

static void misuse_with_preemption_off(struct kpt_misuse *m)
{
	preempt_disable();
	kpt_misuse(m);
	preempt_enable();
}

static void misuse_in_rcu_reader(struct kpt_misuse *m)
{
	rcu_read_lock();
	kpt_misuse(m);
	rcu_read_unlock();
}

/**
 * struct misuse_place - a context that must not sleep
 * @name:    for the test's title
 * @call:    calls the API there
 * @counted: only a kernel that counts preemption knows
 * @reader:  only a kernel with preemptible RCU knows
 */
struct misuse_place {
	const char *name;
	void (*call)(struct kpt_misuse *m);
	bool counted;
	bool reader;
};

static const struct misuse_place misuse_places[] = {
	{ "in an interrupt", misuse_in_hardirq },
	{ "with interrupts off", misuse_with_irqs_off },
	{ "with softirqs off", misuse_with_softirqs_off },
	{ "with preemption off", misuse_with_preemption_off, .counted = true },
	{ "in an RCU reader", misuse_in_rcu_reader, .reader = true },
};

KUNIT_ARRAY_PARAM_DESC(misuse_places, misuse_places, name);

static void calls_that_must_not_sleep_fail_and_change_nothing(struct kunit *test)
{
	const struct misuse_place *place = test->param_value;
	struct kpt_misuse *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct kpt_probe *victim = kpt_probe(test, kpt_plain2);

	if (place->counted && !IS_ENABLED(CONFIG_PREEMPT_COUNT))
		kunit_skip(test, "this kernel does not count preemption");
	if (place->reader && !IS_ENABLED(CONFIG_PREEMPT_RCU))
		kunit_skip(test, "this kernel does not count RCU readers");
	KUNIT_ASSERT_NOT_NULL(test, m);
	kpt_misuse_init(m, victim, victim);
	place->call(m);

	kpt_expect_denied(test, m);
	expect_no_flood(test, enable_with_irqs_off, (unsigned long)&victim->kp);
}

/* --- Many, one by one ------------------------------------------------------ */

#define CROWD		320
#define CROWD_STEP	24
/* KUnit waits for five minutes. */
#define CROWD_ROUNDS	(IS_ENABLED(CONFIG_KCSAN) ? 30 : 150)

struct crowd {
	struct kprobe kp[CROWD];
	struct kprobe *kps[CROWD];
	bool there[CROWD];
	struct rnd_state rnd;
};

/* A probe that is not found cannot be disabled: this is an error only in that case. */
static unsigned int crowd_lost(struct crowd *c)
{
	unsigned int i, lost = 0;

	for (i = 0; i < CROWD; i++)
		lost += disable_kprobe(&c->kp[i]) != (c->there[i] ? 0 : -EINVAL);
	return lost;
}

static void crowd_go(struct crowd *c, unsigned int nr)
{
	unsigned int i, at, n = 0;

	at = prandom_u32_state(&c->rnd) % CROWD;
	for (i = 0; i < CROWD && n < nr; i++, at = (at + 7) % CROWD) {
		if (!c->there[at])
			continue;
		c->kps[n++] = &c->kp[at];
		c->there[at] = false;
	}
	unregister_kprobes(c->kps, n);
}

static void crowd_goes(void *c)
{
	crowd_go(c, CROWD);
}

/* The table grows, is copied, and has holes. Steps of 7 visit every probe. */
static void each_is_found_while_others_come_and_go(struct kunit *test)
{
	struct crowd *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	unsigned int round, i, at, come;

	KUNIT_ASSERT_NOT_NULL(test, c);
	BUILD_BUG_ON(CROWD % 7 == 0);
	prandom_seed_state(&c->rnd, 1);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, crowd_goes, c), 0);
	for (round = 0; round < CROWD_ROUNDS; round++) {
		come = prandom_u32_state(&c->rnd) % (2 * CROWD_STEP);
		at = prandom_u32_state(&c->rnd) % CROWD;
		for (i = 0; i < CROWD && come; i++, at = (at + 7) % CROWD) {
			if (c->there[at])
				continue;
			memset(&c->kp[at], 0, sizeof(c->kp[at]));
			c->kp[at].addr = kpt_text(kpt_plain);
			c->kp[at].flags = KPROBE_FLAG_DISABLED;
			KUNIT_ASSERT_EQ(test, register_kprobe(&c->kp[at]), 0);
			c->there[at] = true;
			come--;
		}
		KUNIT_ASSERT_EQ_MSG(test, crowd_lost(c), 0, "registered, round %u", round);
		crowd_go(c, prandom_u32_state(&c->rnd) % (2 * CROWD_STEP));
		KUNIT_ASSERT_EQ_MSG(test, crowd_lost(c), 0, "unregistered, round %u", round);
	}
}

#define PASSERS_BY	(IS_ENABLED(CONFIG_KCSAN) ? 500 : 4000)

/* Leaves a tombstone where the address of @p is looked up. */
static void come_and_go(struct kunit *test, struct kprobe *p)
{
	memset(p, 0, sizeof(*p));
	p->addr = kpt_text(kpt_plain);
	p->flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, register_kprobe(p), 0);
	unregister_kprobe(p);
}

/*
 * A lookup ends at a bucket that has never been used. So the table must not fill up with
 * the tombstones of probes that are gone, each from a different address.
 */
static void table_does_not_fill_up_with_probes_that_are_gone(struct kunit *test)
{
	char *room = kunit_kzalloc(test, PASSERS_BY * sizeof(long) + sizeof(struct kprobe),
				   GFP_KERNEL);
	struct kprobe never = { };
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, room);
	for (i = 0; i < PASSERS_BY; i++) {
		struct kprobe *p = (struct kprobe *)(room + i * sizeof(long));

		come_and_go(test, p);
		KUNIT_ASSERT_EQ(test, enable_kprobe(p), -EINVAL);
	}
	KUNIT_EXPECT_EQ(test, disable_kprobe(&never), -EINVAL);
}

/*
 * All tombstones have the same key. They fill at most half of the table, so it takes several
 * until one is where a lookup of that key begins.
 */
static void pointers_that_are_no_structures_are_not_registered(struct kunit *test)
{
	const unsigned int nr = 1000 / KPT_STRIDE;
	static const struct kprobe constant = { .addr = (kprobe_opcode_t *)sizeof(long) };
	struct kprobe *p, *nameless;
	char line[160];
	unsigned int i;
	int error[4];

	p = kunit_kcalloc(test, nr, sizeof(*p), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p);
	for (i = 0; i < nr; i++) {
		come_and_go(test, &p[i]);
		KUNIT_ASSERT_EQ(test, enable_kprobe(ERR_PTR(-1)), -EINVAL);
	}
	KUNIT_EXPECT_EQ(test, disable_kprobe(ERR_PTR(-1)), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kprobe(ERR_PTR(-ENOMEM)), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kprobe(kpt_bad_address(test)), -EINVAL);
	unregister_kprobe(ERR_PTR(-1));
	unregister_kprobe(ERR_PTR(-ENOMEM));
	unregister_kprobe(kpt_bad_address(test));
	/* Nor can this be written to. */
	unregister_kprobe((struct kprobe *)&constant);
#ifdef CONFIG_KRETPROBES
	unregister_kretprobe(ERR_PTR(-ENOMEM));
#endif

	/* The log names what was passed, so it must not follow such pointers. */
	p = kpt_bad_address(test);
	nameless = kunit_kzalloc(test, sizeof(*nameless), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, nameless);
	nameless->symbol_name = kpt_bad_address(test);
	local_irq_disable();
	error[0] = disable_kprobe(ERR_PTR(-1));
	error[1] = register_kprobe(ERR_PTR(-ENOMEM));
	error[2] = enable_kprobe(p);
	error[3] = register_kprobe(nameless);
	unregister_kprobe(ERR_PTR(-ENOMEM));
	local_irq_enable();
	for (i = 0; i < ARRAY_SIZE(error); i++)
		KUNIT_EXPECT_EQ(test, error[i], -EDEADLK);
	snprintf(line, sizeof(line), "kprobes: cannot enable a probe of ? where %s must not sleep",
		 current->comm);
	expect_logged_by(test, enable_with_irqs_off, (unsigned long)p, line);
	snprintf(line, sizeof(line),
		 "kprobes: cannot register a probe of ? where %s must not sleep", current->comm);
	expect_logged_by(test, register_with_irqs_off, (unsigned long)nameless, line);

	/* The name of a probe that is registered may have been freed. */
	nameless->symbol_name = "kpt_plain2";
	KUNIT_ASSERT_EQ(test, register_kprobe(nameless), 0);
	nameless->symbol_name = "kpt_freed";
	snprintf(line, sizeof(line),
		 "kprobes: cannot enable a probe of %pS where %s must not sleep", nameless->addr,
		 current->comm);
	expect_logged_by(test, enable_with_irqs_off, (unsigned long)nameless, line);
	unregister_kprobe(nameless);
}

#define SITE_CASE(fn)		KUNIT_CASE_PARAM(fn, kpt_site_gen)
#define SLOW_SITE_CASE(fn)	KPT_CASE_PARAM_SLOW(fn, kpt_site_gen)

static struct kunit_case many_cases[] = {
	SITE_CASE(all_are_switched_at_once),
	SITE_CASE(one_that_is_given_twice_counts_once),
	SITE_CASE(an_invalid_one_keeps_all_as_they_are),
	SITE_CASE(no_array_or_a_bad_count_is_einval),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(return_probes_are_switched_at_once),
#endif
	KUNIT_CASE_SLOW(each_is_found_while_others_come_and_go),
	KUNIT_CASE_SLOW(table_does_not_fill_up_with_probes_that_are_gone),
	KUNIT_CASE(pointers_that_are_no_structures_are_not_registered),
	SLOW_SITE_CASE(calls_from_a_handler_fail_and_change_nothing),
	KUNIT_CASE_PARAM(calls_that_must_not_sleep_fail_and_change_nothing,
			 misuse_places_gen_params),
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite many_suite = {
	.name = "kprobes_many",
	.suite_init = kpt_suite_init,
	.init = kpt_case_init,
	.test_cases = many_cases,
};

kunit_test_suite(many_suite);
