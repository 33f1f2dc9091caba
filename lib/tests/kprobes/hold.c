// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: many probes switched at once, between kprobes_hold() and
 * kprobes_settle(). Nothing in between may end a case: the test's thread must
 * not go while it holds.
 */
#include <linux/completion.h>

#include "fixture.h"

static void switched_while_held_has_its_effect_when_settled(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	unsigned char off[16];
	struct kpt_probe *pr;

	memcpy(off, site->fn, sizeof(off));
	pr = kpt_probe(test, kpt_addr(site));
	KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
	KUNIT_ASSERT_MEMEQ(test, off, site->fn, sizeof(off));

	KUNIT_ASSERT_TRUE(test, kprobes_hold());
	KUNIT_EXPECT_EQ(test, enable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_MEMEQ(test, off, site->fn, sizeof(off));
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&pr->kp));
	kprobes_settle();
	site->fn(1);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);

	KUNIT_ASSERT_TRUE(test, kprobes_hold());
	KUNIT_EXPECT_EQ(test, disable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_TRUE(test, memcmp(off, site->fn, sizeof(off)));
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&pr->kp));
	kprobes_settle();
	KUNIT_EXPECT_MEMEQ(test, off, site->fn, sizeof(off));
	site->fn(1);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

static void the_last_switch_while_held_counts(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_probe(test, kpt_addr(site));
	unsigned int i;

	for (i = 1; i <= 4; i++) {
		KUNIT_ASSERT_TRUE(test, kprobes_hold());
		KUNIT_EXPECT_EQ(test, disable_kprobe(&pr->kp), 0);
		KUNIT_EXPECT_EQ(test, enable_kprobe(&pr->kp), 0);
		if (i % 2)
			KUNIT_EXPECT_EQ(test, disable_kprobe(&pr->kp), 0);
		kprobes_settle();
		pr->pre = 0;
		site->fn(1);
		KUNIT_EXPECT_EQ(test, pr->pre, !(i % 2));
	}
}

static void others_on_the_point_are_not_held(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *a = kpt_probe(test, kpt_addr(site));
	struct kpt_probe *b = kpt_probe(test, kpt_addr(site));

	KUNIT_ASSERT_TRUE(test, kprobes_hold());
	KUNIT_EXPECT_EQ(test, disable_kprobe(&a->kp), 0);
	site->fn(1);
	KUNIT_EXPECT_EQ(test, a->pre, 0);
	KUNIT_EXPECT_EQ(test, b->pre, 1);
	kprobes_settle();
	site->fn(1);
	KUNIT_EXPECT_EQ(test, a->pre, 0);
	KUNIT_EXPECT_EQ(test, b->pre, 2);
}

/* A point that has been disarmed on paper only must not lose its text. */
static void unregistered_while_held_is_gone_at_once(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	unsigned char off[16];
	struct kpt_probe *pr;

	memcpy(off, site->fn, sizeof(off));
	pr = kpt_probe(test, kpt_addr(site));
	KUNIT_ASSERT_TRUE(test, kprobes_hold());
	KUNIT_EXPECT_EQ(test, disable_kprobe(&pr->kp), 0);
	kpt_unregister(test, pr);
	KUNIT_EXPECT_MEMEQ(test, off, site->fn, sizeof(off));
	site->fn(1);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	kprobes_settle();

	pr = kpt_probe(test, kpt_addr(site));
	KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
	KUNIT_ASSERT_TRUE(test, kprobes_hold());
	KUNIT_EXPECT_EQ(test, enable_kprobe(&pr->kp), 0);
	kpt_unregister(test, pr);
	kprobes_settle();
	KUNIT_EXPECT_MEMEQ(test, off, site->fn, sizeof(off));
}

static void registered_while_held_is_armed_at_once(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *a = kpt_probe(test, kpt_addr(site)), *b;

	KUNIT_ASSERT_EQ(test, disable_kprobe(&a->kp), 0);
	b = kpt_alloc(test, kpt_addr(site));
	KUNIT_ASSERT_TRUE(test, kprobes_hold());
	KUNIT_EXPECT_EQ(test, enable_kprobe(&a->kp), 0);
	KUNIT_EXPECT_EQ(test, kpt_try_register(test, &b->kp), 0);
	site->fn(1);
	KUNIT_EXPECT_EQ(test, b->pre, 1);
	kprobes_settle();
	site->fn(1);
	KUNIT_EXPECT_EQ(test, b->pre, 2);
	KUNIT_EXPECT_GE(test, a->pre, 1);
}

struct other {
	struct kprobe *kp;
	int held, off, on;
	struct completion done;
};

static int other_switches(void *arg)
{
	struct other *o = arg;

	o->held = kprobes_hold();
	o->off = disable_kprobe(o->kp);
	o->on = enable_kprobe(o->kp);
	complete(&o->done);
	while (!kthread_should_stop())
		usleep_range(100, 1000);
	return 0;
}

static void only_the_holder_is_held(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_probe(test, kpt_addr(site));
	struct other *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, o);
	o->kp = &pr->kp;
	init_completion(&o->done);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
	task = kthread_create(other_switches, o, "kpt_other");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));

	KUNIT_EXPECT_TRUE(test, kprobes_hold());
	wake_up_process(task);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&o->done,
							    msecs_to_jiffies(KPT_TIMEOUT_MS)));
	site->fn(1);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	kprobes_settle();
	kthread_stop(task);
	KUNIT_EXPECT_FALSE(test, o->held);
	KUNIT_EXPECT_EQ(test, o->off, 0);
	KUNIT_EXPECT_EQ(test, o->on, 0);
	site->fn(1);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
}

#define SITE_CASE(fn)	KUNIT_CASE_PARAM(fn, kpt_site_gen)

static struct kunit_case hold_cases[] = {
	SITE_CASE(switched_while_held_has_its_effect_when_settled),
	SITE_CASE(the_last_switch_while_held_counts),
	SITE_CASE(others_on_the_point_are_not_held),
	SITE_CASE(unregistered_while_held_is_gone_at_once),
	SITE_CASE(registered_while_held_is_armed_at_once),
	SITE_CASE(only_the_holder_is_held),
	{}
};

static struct kunit_suite hold_suite = {
	.name = "kprobes_hold",
	.test_cases = hold_cases,
};

kunit_test_suite(hold_suite);
