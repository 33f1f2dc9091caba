// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: a handler that another one covers. Functions that end an interrupt
 * are called in its context and return in that of the task. The return handler of
 * such a function runs over a handler of the task.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/objtool.h>
#include <linux/preempt.h>

#include "fixture.h"
#ifdef CONFIG_X86
#include "watch_x86.h"
#endif

#ifdef CONFIG_KRETPROBES

/* How long the return handler waits for the event that must not happen. */
#define COVER_MS	1000

/**
 * struct cover - what the handlers and the test tell each other
 * @inside: the handler that is covered has not ended
 * @start:  it may let itself be covered
 * @covers: the return handler runs
 * @end:    the return handler may end
 * @gone:   the probe of the covered handler has been unregistered
 * @early:  that happened while the handler was running
 * @during: unregistering had still to look at the CPU while the handler was running
 */
struct cover {
	bool inside;
	bool start;
	bool covers;
	bool end;
	bool gone;
	bool early;
	bool during;
};

static struct cover cover;

/* Called as if in an interrupt, and returns as if the interrupt were over. */
static noinline notrace unsigned long kpt_ends_interrupt(unsigned long arg)
{
	OPTIMIZER_HIDE_VAR(arg);
	__preempt_count_sub(HARDIRQ_OFFSET);
	return arg + 1;
}

static int covering(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	WRITE_ONCE(cover.covers, true);
	kpt_spin_until(READ_ONCE(cover.gone) || READ_ONCE(cover.end), COVER_MS);
	return 0;
}

static int covered(struct kpt_probe *pr, struct pt_regs *regs)
{
	kpt_fn_t fn = kpt_ends_interrupt;

	OPTIMIZER_HIDE_VAR(fn);
	WRITE_ONCE(cover.inside, true);
	kpt_spin_until(READ_ONCE(cover.start), KPT_TIMEOUT_MS);
	__preempt_count_add(HARDIRQ_OFFSET);
	fn(1);
	if (READ_ONCE(cover.end))
		kpt_spin_until(READ_ONCE(cover.gone), COVER_MS);
	WRITE_ONCE(cover.inside, false);
	return 0;
}

static int calls_plain(void *unused)
{
	kpt_plain(1);
	while (!kthread_should_stop())
		usleep_range(100, 1000);
	return 0;
}

static void note_inside(enum kprobe_stage stage, void *task)
{
	if (stage == KPROBE_STAGE_SYNCED && current == task)
		cover.during |= READ_ONCE(cover.inside);
}

/* False if the handler was over too early to be waited for, because the machine has stalled. */
static bool covered_is_waited_for(struct kunit *test, int cpu, bool start)
{
	static struct kretprobe rp;
	struct task_struct *task;
	struct kpt_probe *pr;

	memset(&cover, 0, sizeof(cover));
	cover.start = start;
	memset(&rp, 0, sizeof(rp));
	rp.kp.addr = kpt_text(kpt_ends_interrupt);
	rp.handler = covering;
	kpt_register_return(test, &rp);
	pr = kpt_alloc(test, kpt_plain);
	pr->on_pre = covered;
	kpt_register(test, pr);
	/* A jump, because disarming a breakpoint waits for the CPU in any case. */
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE(test, kprobe_optimized(&pr->kp));

	task = kpt_thread(test, calls_plain, NULL, cpu, "covered");
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(start ? READ_ONCE(cover.covers) :
						       READ_ONCE(cover.inside)));
	kpt_unregister(test, pr);
	cover.early = READ_ONCE(cover.inside);
	WRITE_ONCE(cover.gone, true);

	KUNIT_EXPECT_TRUE(test, cover.covers);
	KUNIT_EXPECT_FALSE(test, cover.early);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(!READ_ONCE(cover.inside)));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	kpt_stop(test, task);
	kpt_unregister_return(test, &rp);
	return cover.during;
}

/* Covers the handler before its probe is unregistered or, with @watch, during that. */
static void check_covered(struct kunit *test,
			  void (*watch)(struct kunit *test, int here, int cpu))
{
	int here = raw_smp_processor_id(), cpu = cpumask_any_but(cpu_online_mask, here);
	unsigned int tries = 0;

	if (!IS_ENABLED(CONFIG_X86) || !IS_ENABLED(CONFIG_OPTPROBES))
		kunit_skip(test, "needs handlers that run with interrupts on");
	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");

	set_cpus_allowed_ptr(current, cpumask_of(here));
	if (watch)
		watch(test, here, cpu);
	kpt_watch_stages(test, note_inside, current);
	while (!covered_is_waited_for(test, cpu, !watch) && ++tries < 5)
		;
	KUNIT_EXPECT_LT(test, tries, 5);
	kpt_unwatch_stages(test);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/* Only the count of covered points shows that the handler runs. */
static void unregistering_waits_for_a_covered_handler(struct kunit *test)
{
	check_covered(test, NULL);
}

#if defined(CONFIG_X86) && defined(CONFIG_OPTPROBES)
/* kprobe_quiesce() has read that nothing is covered, but not yet what is shown. */
static void cover_it_now(struct kpt_watch *w, struct pt_regs *regs)
{
	if (!READ_ONCE(cover.inside) || READ_ONCE(cover.start))
		return;
	WRITE_ONCE(cover.start, true);
	kpt_spin_until(READ_ONCE(cover.covers), KPT_WATCH_MS);
}

static void cover_while_looking(struct kunit *test, int here, int cpu)
{
	kpt_watch(test, kprobe_test_covered_word(cpu), sizeof(int), here, cover_it_now, NULL);
}

/* The handler is not covered at the first look, and not shown at the next. */
static void unregistering_waits_for_a_handler_that_is_covered_meanwhile(struct kunit *test)
{
	check_covered(test, cover_while_looking);
}

/* What is shown has been read, but not yet again what is covered. */
static void uncover_it_now(struct kpt_watch *w, struct pt_regs *regs)
{
	int cpu = (long)w->arg;

	if (!READ_ONCE(cover.covers) || READ_ONCE(cover.end))
		return;
	WRITE_ONCE(cover.end, true);
	kpt_spin_until(!kprobe_test_covered(cpu), KPT_WATCH_MS);
}

static void cover_between_looks(struct kunit *test, int here, int cpu)
{
	cover_while_looking(test, here, cpu);
	kpt_watch(test, kprobe_test_running_word(cpu), sizeof(long), here, uncover_it_now,
		  (void *)(long)cpu);
}

/* The handler is covered neither at the first look nor at the second, and never shown. */
static void unregistering_waits_for_a_handler_that_was_covered_between_looks(struct kunit *test)
{
	check_covered(test, cover_between_looks);
	KUNIT_EXPECT_TRUE(test, cover.end);
}
#endif

#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_ARCH_HAS_KPROBE_CONTEXTS)
/**
 * struct ending - a task that ends in a handler that covers another
 * @pr:	  the probe of the handler that is covered
 * @rp:	  that of the other
 * @gone: completed by the end of the task
 */
struct ending {
	struct kpt_probe pr;
	struct kretprobe rp;
	struct completion gone;
};

static int covered_in_task(struct kpt_probe *pr, struct pt_regs *regs)
{
	return pr->arg == current ? covered(pr, regs) : 0;
}

static int covers_and_ends(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct ending *e = container_of(get_kretprobe(ri), struct ending, rp);

	WRITE_ONCE(cover.covers, kprobe_test_covered(raw_smp_processor_id()));
	kpt_end_task(&e->gone);
	return 0;
}

static int ends_covering(void *arg)
{
	struct ending *e = arg;

	e->pr.arg = current;
	return kpt_traced(1);
}

/* Otherwise each later call to unregister a probe would wait for a grace period in vain. */
static void task_that_ends_in_a_covering_handler_leaves_none_covered(struct kunit *test)
{
	struct ending *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	unsigned int cpu = raw_smp_processor_id();
	bool gone;

	KUNIT_ASSERT_NOT_NULL(test, e);
	memset(&cover, 0, sizeof(cover));
	cover.start = true;
	/* At an ftrace site the handler runs on the stack of the task. */
	e->pr.kp.addr = kpt_text(kpt_traced);
	e->pr.kp.pre_handler = kpt_pre;
	e->pr.on_pre = covered_in_task;
	kpt_register(test, &e->pr);
	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&e->pr.kp));
	e->rp.kp.addr = kpt_text(kpt_ends_interrupt);
	e->rp.handler = covers_and_ends;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&e->rp), 0);
	gone = kpt_run_to_its_end(ends_covering, e, cpu, &e->gone);
	unregister_kretprobe(&e->rp);
	KUNIT_EXPECT_TRUE(test, gone);
	KUNIT_EXPECT_TRUE(test, cover.inside);
	KUNIT_EXPECT_TRUE(test, cover.covers);
	KUNIT_EXPECT_EQ(test, kprobe_test_covered(cpu), 0);
}
#endif

#if defined(CONFIG_ARCH_HAS_KPROBE_CONTEXTS) && defined(CONFIG_KPROBES_ON_FTRACE)
/**
 * struct again - a handler that is covered, and goes on
 * @shown:  it is shown as running again
 * @over:   runs of the handler that covers it
 * @outer:  what is shown as running, while it is of interest
 * @hidden: how often another was shown when the count of covered handlers changed
 */
struct again {
	bool shown;
	unsigned int over;
	struct kprobe *outer;
	unsigned int hidden;
};

static struct again again;

static int covers_for_a_moment(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	again.over++;
	return 0;
}

static int goes_on_and_calls(struct kpt_probe *pr, struct pt_regs *regs)
{
	kpt_fn_t fn = kpt_ends_interrupt;

	OPTIMIZER_HIDE_VAR(fn);
	again.outer = kprobe_test_running();
	barrier();
	__preempt_count_add(HARDIRQ_OFFSET);
	fn(1);
	barrier();
	again.outer = NULL;
	again.shown = kprobe_test_shown(KPROBE_CTX_TASK);
	kpt_plain2(5);
	return 0;
}

/* So its own hits are missed, and unregistering waits for it. */
static void handler_that_was_covered_is_shown_again(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, kpt_traced), *inner = kpt_probe(test, kpt_plain2);
	static struct kretprobe rp;
	unsigned int cpu;

	again = (struct again){ };
	memset(&rp, 0, sizeof(rp));
	rp.kp.addr = kpt_text(kpt_ends_interrupt);
	rp.handler = covers_for_a_moment;
	kpt_register_return(test, &rp);
	pr->on_pre = goes_on_and_calls;
	kpt_register(test, pr);
	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&pr->kp));
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	kpt_unregister_return(test, &rp);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, again.over, 1);
	KUNIT_EXPECT_TRUE(test, again.shown);
	KUNIT_EXPECT_EQ(test, inner->pre, 0);
	KUNIT_EXPECT_EQ(test, inner->kp.nmissed, 1ul);
	for_each_online_cpu(cpu)
		KUNIT_EXPECT_EQ_MSG(test, kprobe_test_covered(cpu), 0, "CPU %u", cpu);
}

#ifdef CONFIG_X86
static void look_what_is_shown(struct kpt_watch *w, struct pt_regs *regs)
{
	if (READ_ONCE(again.outer) && READ_ONCE(*(struct kprobe **)w->arg) != again.outer)
		again.hidden++;
}

/* Another CPU finds it among those that are shown, or sees that the count has changed. */
static void covered_handler_is_counted_while_it_is_shown(struct kunit *test)
{
	int cpu = raw_smp_processor_id();
	struct kpt_watch *w;

	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	w = kpt_watch(test, kprobe_test_covered_word(cpu), sizeof(int), cpu,
		      look_what_is_shown, kprobe_test_running_word(cpu));
	handler_that_was_covered_is_shown_again(test);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_EXPECT_GE(test, w->times, 2);
	KUNIT_EXPECT_EQ(test, again.hidden, 0);
}
#endif
#endif

#if defined(CONFIG_X86) && defined(CONFIG_OPTPROBES) && defined(CONFIG_KPROBES_ON_FTRACE)
extern unsigned char kpt_ends_here[];

/* Ends the interrupt with an instruction that a jump fits in. */
static noinline __noclone notrace unsigned long kpt_ends_at_a_label(unsigned long arg)
{
	asm volatile("kpt_ends_here:\n"
		     ANNOTATE_NOENDBR
		     "subl %1, " __percpu_arg(0)
		     : "+m" (__my_cpu_var(pcpu_hot.preempt_count))
		     : "i" (HARDIRQ_OFFSET));
	return arg + 1;
}

static int ends_at_a_label(struct kpt_probe *pr, struct pt_regs *regs)
{
	__preempt_count_add(HARDIRQ_OFFSET);
	kpt_ends_at_a_label(1);
	*(bool *)pr->arg = kprobe_test_shown(KPROBE_CTX_TASK);
	return 0;
}

/*
 * The pre-handler runs in the interrupt. After the instruction the context is that of the
 * task, in which a handler runs. The post-handler must neither run over it nor hide it, and
 * is counted as missed.
 */
static void post_handler_does_not_run_over_a_handler(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc_with(test, kpt_ends_here, true, true);
	struct kpt_probe *off = kpt_alloc_with(test, kpt_ends_here, true, true);
	struct kpt_probe *outer = kpt_alloc(test, kpt_traced), *plain;
	unsigned int jump;
	bool shown;

	outer->on_pre = ends_at_a_label;
	outer->arg = &shown;
	kpt_register(test, outer);
	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&outer->kp));
	kpt_forbid_jumps(test);
	kpt_register(test, pr);
	plain = kpt_probe(test, kpt_ends_here);
	off->kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, off);
	for (jump = 0; jump < 2; jump++) {
		if (jump)
			kpt_allow_jumps(test);
		KUNIT_ASSERT_EQ(test, kprobe_optimized(&pr->kp), jump);
		shown = false;
		KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, outer->pre, jump + 1);
		KUNIT_EXPECT_EQ(test, pr->pre, jump + 1);
		KUNIT_EXPECT_EQ(test, pr->post, 0);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, jump + 1ul);
		KUNIT_EXPECT_EQ(test, plain->kp.nmissed, 0ul);
		KUNIT_EXPECT_EQ(test, off->kp.nmissed, 0ul);
		KUNIT_EXPECT_TRUE(test, shown);
	}
}
#endif

static struct kunit_case covered_cases[] = {
	KUNIT_CASE(unregistering_waits_for_a_covered_handler),
#if defined(CONFIG_X86) && defined(CONFIG_OPTPROBES)
	KUNIT_CASE(unregistering_waits_for_a_handler_that_is_covered_meanwhile),
	KUNIT_CASE(unregistering_waits_for_a_handler_that_was_covered_between_looks),
#endif
#if defined(CONFIG_X86) && defined(CONFIG_OPTPROBES) && defined(CONFIG_KPROBES_ON_FTRACE)
	KUNIT_CASE(post_handler_does_not_run_over_a_handler),
#endif
#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_ARCH_HAS_KPROBE_CONTEXTS)
	KUNIT_CASE(handler_that_was_covered_is_shown_again),
#ifdef CONFIG_X86
	KUNIT_CASE(covered_handler_is_counted_while_it_is_shown),
#endif
	KUNIT_CASE(task_that_ends_in_a_covering_handler_leaves_none_covered),
#endif
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite covered_suite = {
	.name = "kprobes_covered",
	.suite_init = kpt_suite_init,
	.init = kpt_case_init,
	.test_cases = covered_cases,
};

kunit_test_suite(covered_suite);

#endif /* CONFIG_KRETPROBES */
