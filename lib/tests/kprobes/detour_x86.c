// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: what is in a detour. Hits that are late, branches that are
 * displaced, and stacks taken there.
 */
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <asm/text-patching.h>

#include "detour_x86.h"

/* Where the probe of a target goes, without a relocation that objtool sees. */
static unsigned char *detour_target(void *fn, u32 at)
{
	OPTIMIZER_HIDE_VAR(fn);
	return (unsigned char *)fn + at;
}

#define AT(name)	detour_target(kpt_detour_##name, kpt_detour_##name##_at)

static void settle(struct kunit *test, struct kpt_probe *pr)
{
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE_MSG(test, kprobe_optimized(&pr->kp), "%s",
			      kpt_jump_reason(test, &pr->kp));
}

/* Where the jump at @addr leads. */
static unsigned long entry_of(const unsigned char *addr)
{
	s32 rel;

	memcpy(&rel, addr + 1, sizeof(rel));
	return (unsigned long)addr + JMP32_INSN_SIZE + rel;
}

/* --- Late hits ----------------------------------------------------------- */

/* Of a detour's code, from its entry, what is sure to be there. */
#define LATE_BYTES	256

/**
 * struct late - a task that has jumped, but is not in the handler yet
 * @entry:    of the detour
 * @irqs_off: goes on with interrupts off
 * @ready:    from here on the detour is not freed, for it does not sleep
 * @go:	      it may go on
 * @done:     it has
 * @result:   of the function
 */
struct late {
	unsigned long entry;
	bool irqs_off;
	bool ready;
	bool go;
	bool done;
	unsigned long result;
};

static int be_late(void *arg)
{
	struct late *l = arg;

	WRITE_ONCE(l->ready, true);
	while (!READ_ONCE(l->go) && !kthread_should_stop())
		cpu_relax();
	if (READ_ONCE(l->go)) {
		if (l->irqs_off)
			local_irq_disable();
		l->result = kpt_detour_enter(l->entry, 7);
		if (l->irqs_off)
			local_irq_enable();
	}
	WRITE_ONCE(l->done, true);
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

static struct late *start_late(struct kunit *test, bool irqs_off)
{
	struct late *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, l);
	KUNIT_ASSERT_TRUE(test, *AT(late) == JMP32_INSN_OPCODE);
	l->entry = entry_of(AT(late));
	l->irqs_off = irqs_off;
	kpt_thread(test, be_late, l, -1, "late");
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(l->ready)));
	return l;
}

static void finish_late(struct kunit *test, struct late *l)
{
	WRITE_ONCE(l->go, true);
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(l->done)));
	KUNIT_EXPECT_EQ(test, l->result, KPT_RESULT(7ul));
}

/* Whoever does not sleep keeps the detour; on one CPU nobody else would run. */
static void need_two_cpus(struct kunit *test)
{
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
}

static void late_hit_of_a_probe_that_left_is_none(struct kunit *test)
{
	struct kpt_probe *pr;
	struct late *l;
	unsigned int irqs_off;

	need_two_cpus(test);
	for (irqs_off = 0; irqs_off < 2; irqs_off++) {
		pr = kpt_probe(test, AT(late));
		settle(test, pr);
		l = start_late(test, irqs_off);
		kpt_unregister(test, pr);
		finish_late(test, l);
		KUNIT_EXPECT_EQ(test, pr->pre, 0);
	}
}

static void late_hit_is_one_of_the_probes_that_are_there_then(struct kunit *test)
{
	struct kpt_probe *first, *second;
	struct late *l;

	need_two_cpus(test);
	first = kpt_probe(test, AT(late));
	settle(test, first);
	l = start_late(test, false);
	second = kpt_probe_post(test, AT(late));
	finish_late(test, l);
	KUNIT_EXPECT_EQ(test, first->pre, 1);
	KUNIT_EXPECT_EQ(test, second->pre, 1);
	KUNIT_EXPECT_EQ(test, second->post, 1);
	KUNIT_EXPECT_EQ(test, first->kp.nmissed + second->kp.nmissed, 0ul);
}

/* A CPU may be executing it: SDM Vol. 3, 9.1.3. */
static void running_detour_changes_to_breakpoints_only(struct kunit *test)
{
	static unsigned char before[LATE_BYTES], after[LATE_BYTES];
	unsigned int i, changed = 0;
	struct kpt_probe *pr;
	struct late *l;

	need_two_cpus(test);
	pr = kpt_probe(test, AT(late));
	settle(test, pr);
	l = start_late(test, false);
	memcpy(before, (void *)l->entry, sizeof(before));
	kpt_unregister(test, pr);
	memcpy(after, (void *)l->entry, sizeof(after));
	for (i = 0; i < sizeof(before); i++) {
		if (before[i] == after[i])
			continue;
		changed++;
		KUNIT_EXPECT_EQ_MSG(test, after[i], INT3_INSN_OPCODE, "byte %u", i);
	}
	KUNIT_EXPECT_EQ(test, changed, 1);
	finish_late(test, l);
}

static struct kunit_case detour_cases[] = {
	KUNIT_CASE(late_hit_of_a_probe_that_left_is_none),
	KUNIT_CASE(late_hit_is_one_of_the_probes_that_are_there_then),
	KUNIT_CASE(running_detour_changes_to_breakpoints_only),
	{}
};

static struct kunit_suite detour_suite = {
	.name = "kprobes_jump_detour",
	.test_cases = detour_cases,
};

kunit_test_suite(detour_suite);
