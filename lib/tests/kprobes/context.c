// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: probes that are hit while a handler runs. A hit from the handler
 * itself is recursion: it is missed and counted. A hit from an interrupt that
 * arrives over the handler is not recursion: its handlers run.
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kdebug.h>
#include <linux/ktime.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "fixture.h"
#include "fprobe.h"
#ifdef CONFIG_X86
#include "watch_x86.h"
#endif

/* --- Recursion ----------------------------------------------------------- */

static void check_hit_from_handler(struct kunit *test, bool from_post,
				   kpt_fn_t fn)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *outer = kpt_alloc(test, kpt_addr(site));
	struct kpt_probe *a = kpt_probe(test, fn);
	struct kpt_probe *b = kpt_probe_post(test, fn);
	struct kpt_inner inner = { .fn = fn, .arg = 5 };

	kpt_let_call(outer, from_post, &inner);
	kpt_register(test, outer);

	KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, outer->pre, 1);
	KUNIT_EXPECT_EQ(test, inner.calls, 1);
	/* The instruction ran, the handlers did not, each was counted. */
	KUNIT_EXPECT_EQ(test, inner.result, KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, a->pre, 0);
	KUNIT_EXPECT_EQ(test, b->pre, 0);
	KUNIT_EXPECT_EQ(test, b->post, 0);
	KUNIT_EXPECT_EQ(test, a->kp.nmissed, 1ul);
	KUNIT_EXPECT_EQ(test, b->kp.nmissed, 1ul);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0ul);

	/* Once the handler is done, the function is hit as usual. */
	KUNIT_EXPECT_EQ(test, fn(6), KPT_RESULT(6ul));
	KUNIT_EXPECT_EQ(test, a->pre, 1);
	KUNIT_EXPECT_EQ(test, b->pre, 1);
	KUNIT_EXPECT_EQ(test, b->post, 1);
	KUNIT_EXPECT_EQ(test, a->kp.nmissed, 1ul);
}

static void breakpoint_hit_from_pre_handler_is_missed(struct kunit *test)
{
	check_hit_from_handler(test, false, kpt_plain2);
}

static void breakpoint_hit_from_post_handler_is_missed(struct kunit *test)
{
	check_hit_from_handler(test, true, kpt_plain2);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
static void ftrace_hit_from_pre_handler_is_missed(struct kunit *test)
{
	check_hit_from_handler(test, false, kpt_traced2);
}

static void ftrace_hit_from_post_handler_is_missed(struct kunit *test)
{
	check_hit_from_handler(test, true, kpt_traced2);
}
#endif

/* The handler calls the function that it probes: if it ran again, it would never end. */
static void check_own_hit(struct kunit *test, bool from_post)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_alloc(test, kpt_addr(site));
	struct kpt_inner inner = { .fn = site->fn, .arg = 5 };

	kpt_let_call(pr, from_post, &inner);
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, from_post);
	KUNIT_EXPECT_EQ(test, inner.result, KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 1ul);
}

static void own_hit_from_handler_is_missed(struct kunit *test)
{
	check_own_hit(test, false);
}

static void own_hit_from_post_handler_is_missed(struct kunit *test)
{
	check_own_hit(test, true);
}

#ifdef CONFIG_X86
static unsigned long run_load(unsigned long arg)
{
	return kpt_load((void *)arg);
}

/*
 * A stepped instruction: its copy ends in a breakpoint, whose exception runs the
 * post-handler. Another probe in its bytes keeps it from becoming a jump. The probe
 * that its handler hits is either another stepped one or the same one.
 */
static void hit_from_post_handler_after_a_second_trap_is_missed(struct kunit *test)
{
	char *divide = (char *)kpt_divide, *load = (char *)kpt_load;
	struct kpt_inner inner = { .fn = kpt_divide, .arg = 7 };
	unsigned long value = 17, seen;
	struct kpt_probe *pr, *inside, *other;
	unsigned int own;

	OPTIMIZER_HIDE_VAR(divide);
	OPTIMIZER_HIDE_VAR(load);
	inside = kpt_alloc(test, divide + kpt_divide_next);
	inside->kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, inside);
	inside = kpt_alloc(test, load + kpt_load_next);
	inside->kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, inside);
	other = kpt_probe_post(test, load + kpt_load_at);
	seen = kpt_load(&value);
	KUNIT_ASSERT_EQ(test, other->post, 1);
	KUNIT_ASSERT_EQ(test, seen, 17ul);

	for (own = 0; own < 2; own++) {
		pr = kpt_alloc(test, divide + kpt_divide_at);
		inner.fn = own ? kpt_divide : run_load;
		inner.arg = own ? 5 : (unsigned long)&value;
		inner.calls = 0;
		kpt_let_call(pr, true, &inner);
		kpt_register(test, pr);
		wait_for_kprobe_optimizer();
		KUNIT_ASSERT_FALSE(test, kprobe_optimized(&pr->kp));
		KUNIT_EXPECT_EQ(test, kpt_divide(7), 14ul);
		KUNIT_EXPECT_EQ(test, pr->pre, 1);
		KUNIT_EXPECT_EQ(test, pr->post, 1);
		KUNIT_EXPECT_EQ(test, inner.calls, 1);
		KUNIT_EXPECT_EQ(test, inner.result, own ? 20ul : 17ul);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, (unsigned long)own);
		KUNIT_EXPECT_EQ(test, other->kp.nmissed, 1ul);
		KUNIT_EXPECT_EQ(test, other->post, 1);
		/* The hit is over: the next one is not missed. */
		KUNIT_EXPECT_EQ(test, kpt_divide(7), 14ul);
		KUNIT_EXPECT_EQ(test, pr->post, 2);
		kpt_unregister(test, pr);
		if (!own)
			KUNIT_EXPECT_EQ(test, other->kp.nmissed, 2ul);
		other->kp.nmissed = 1;
	}
	KUNIT_EXPECT_EQ(test, kpt_load(&value), 17ul);
	KUNIT_EXPECT_EQ(test, other->post, 2);
}
#endif

#define DEPTH	64

static void hits_from_handler_are_missed_however_many(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *outer = kpt_alloc(test, kpt_addr(site));
	struct kpt_probe *pr = kpt_probe_post(test, kpt_recurse);
	struct kpt_inner inner = { .fn = kpt_recurse, .arg = DEPTH };

	kpt_let_call(outer, false, &inner);
	kpt_register(test, outer);
	KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, inner.result, (unsigned long)DEPTH);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, DEPTH + 1ul);
}

#define DOWN	5
#define UP	4

/**
 * struct every - a probe on every instruction of a function
 * @pr: the probes; NULL where none can be
 * @nr: how long the function is
 */
struct every {
	struct kpt_probe **pr;
	unsigned int nr;
};

static struct every probe_every_instruction(struct kunit *test, kpt_fn_t fn)
{
	struct every every = { .nr = kpt_size(test, fn) };
	struct kpt_probe *pr;
	unsigned int at;

	every.pr = kunit_kcalloc(test, every.nr, sizeof(*every.pr), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, every.pr);
	for (at = 0; at < every.nr; at++) {
		pr = kpt_alloc_with(test, (char *)kpt_text(fn) + at, true, true);
		if (!kpt_try_register(test, &pr->kp))
			every.pr[at] = pr;
	}
	return every;
}

static unsigned long count_missed(const struct every *every, unsigned long *hits)
{
	unsigned long missed = 0;
	unsigned int at;

	*hits = 0;
	for (at = 0; at < every->nr; at++) {
		if (every->pr[at]) {
			*hits += every->pr[at]->pre;
			missed += every->pr[at]->kp.nmissed;
		}
	}
	return missed;
}

#if defined(CONFIG_MIPS) && !defined(CONFIG_CPU_MIPSR6)
/* The instruction in the delay slot runs only if the branch is taken. */
static noinline notrace unsigned long branch_likely(unsigned long arg)
{
	unsigned long sum = 0;

	asm volatile(".set	push\n\t"
		     ".set	noreorder\n\t"
		     "beql	%1, $0, 1f\n\t"
		     "addiu	%0, %0, 1\n\t"
		     "addiu	%0, %0, 2\n"
		     "1:\n\t"
		     ".set	pop" : "+r" (sum) : "r" (arg));
	return sum;
}
#endif

/* A probe on each instruction of @fn in turn, whose handlers call what @every probes. */
static void check_hits_from_handler(struct kunit *test, kpt_fn_t fn, unsigned long arg,
				    const struct every *every)
{
	struct kpt_inner inner = { .fn = kpt_count_up, .arg = UP };
	unsigned long result = fn(arg), up = kpt_count_up(UP);
	unsigned int at, post, size, nr = 0;
	unsigned long hits, before, missed, now;
	struct kpt_probe *pr;

	missed = count_missed(every, &before);
	size = kpt_size(test, fn);
	for (at = 0; at < size; at++) {
		for (post = 0; post < 2; post++) {
			pr = kpt_alloc_with(test, (char *)kpt_text(fn) + at, true, true);
			kpt_let_call(pr, post, &inner);
			if (kpt_try_register(test, &pr->kp))
				continue;
			inner.calls = 0;
			inner.result = up;
			KUNIT_EXPECT_EQ_MSG(test, fn(arg), result, "at %u", at);
			KUNIT_EXPECT_EQ_MSG(test, inner.result, up, "at %u", at);
			KUNIT_EXPECT_EQ(test, inner.calls, pr->pre);
			KUNIT_EXPECT_EQ(test, pr->post, pr->pre);
			KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
			now = count_missed(every, &hits);
			KUNIT_EXPECT_EQ(test, hits, before);
			if (pr->pre)
				KUNIT_EXPECT_GT(test, now, missed);
			missed = now;
			nr += !!pr->pre;
			kpt_unregister(test, pr);
		}
	}
	KUNIT_EXPECT_GT(test, nr, 2);
}

/*
 * State that an architecture keeps for a hit, such as the target of a branch, has to
 * survive hits that are missed in the handlers.
 */
static void hits_from_handler_do_not_change_where_the_branch_leads(struct kunit *test)
{
	unsigned long up = kpt_count_up(UP), missed, hits, before, alone;
	struct every every;

	if (IS_ENABLED(CONFIG_S390))
		kunit_skip(test, "QEMU 7.2 steps branches wrongly");
	every = probe_every_instruction(test, kpt_count_up);
	KUNIT_EXPECT_EQ(test, kpt_count_up(UP), up);
	KUNIT_EXPECT_EQ(test, count_missed(&every, &alone), 0ul);
	KUNIT_EXPECT_GT(test, alone, 10ul);
	check_hits_from_handler(test, kpt_count_down, DOWN, &every);
#if defined(CONFIG_MIPS) && !defined(CONFIG_CPU_MIPSR6)
	KUNIT_EXPECT_EQ(test, branch_likely(0), 1ul);
	KUNIT_EXPECT_EQ(test, branch_likely(1), 2ul);
	check_hits_from_handler(test, branch_likely, 0, &every);
	check_hits_from_handler(test, branch_likely, 1, &every);
#endif
	missed = count_missed(&every, &before);
	/* Outside of a handler, nothing is missed. */
	KUNIT_EXPECT_EQ(test, kpt_count_up(UP), up);
	KUNIT_EXPECT_EQ(test, count_missed(&every, &hits), missed);
	KUNIT_EXPECT_EQ(test, hits - before, alone);
}

static void recursive_function_is_hit_at_every_depth(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe_post(test, kpt_recurse);

	KUNIT_EXPECT_EQ(test, kpt_recurse(DEPTH), (unsigned long)DEPTH);
	KUNIT_EXPECT_EQ(test, pr->pre, DEPTH + 1);
	KUNIT_EXPECT_EQ(test, pr->post, DEPTH + 1);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
}

static void missed_hits_of_a_disabled_probe_are_not_counted(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *outer = kpt_alloc(test, kpt_addr(site));
	struct kpt_probe *on = kpt_probe(test, kpt_plain2);
	struct kpt_probe *off = kpt_probe(test, kpt_plain2);
	struct kpt_inner inner = { .fn = kpt_plain2, .arg = 5 };

	KUNIT_ASSERT_EQ(test, disable_kprobe(&off->kp), 0);
	kpt_let_call(outer, false, &inner);
	kpt_register(test, outer);
	KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, on->kp.nmissed, 1ul);
	KUNIT_EXPECT_EQ(test, off->kp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, inner.calls, 1);
	/* A point whose probes are all off is not hit. */
	KUNIT_ASSERT_EQ(test, disable_kprobe(&on->kp), 0);
	KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, on->kp.nmissed, 1ul);
	KUNIT_EXPECT_EQ(test, off->kp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, inner.calls, 2);
}

/**
 * struct misser - threads that miss hits at once
 * @fn:    hits the outer probe
 * @ready: threads that have started
 * @done:  threads that have finished
 */
struct misser {
	kpt_fn_t fn;
	atomic_t ready;
	atomic_t done;
};

#define MISS_CALLS	1000
#define MISSES		20

/* Records nothing, as threads run it side by side. */
static int pre_misses(struct kprobe *p, struct pt_regs *regs)
{
	unsigned int i;

	for (i = 0; i < MISSES; i++)
		kpt_plain2(i);
	return 0;
}

static int miss_thread(void *arg)
{
	struct misser *m = arg;
	unsigned int i;

	atomic_inc(&m->ready);
	while (atomic_read(&m->ready) < num_online_cpus() && !kthread_should_stop())
		cond_resched();
	for (i = 0; i < MISS_CALLS; i++)
		m->fn(i);
	atomic_inc(&m->done);
	while (!kthread_should_stop())
		usleep_range(500, 1000);
	return 0;
}

static void hits_missed_on_all_cpus_at_once_are_all_counted(struct kunit *test)
{
	struct kpt_probe *outer = kpt_alloc(test, kpt_addr(kpt_site(test)));
	struct misser *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct kpt_probe *pr = kpt_probe(test, kpt_plain2);
	unsigned int nr = num_online_cpus();
	int cpu;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->fn = kpt_site(test)->fn;
	outer->kp.pre_handler = pre_misses;
	kpt_register(test, outer);
	wait_for_kprobe_optimizer();
	for_each_online_cpu(cpu)
		kpt_thread(test, miss_thread, m, cpu, "misses");
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(atomic_read(&m->done) == nr));
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, (unsigned long)nr * MISS_CALLS * MISSES);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0ul);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
static void ftrace_lives(void *unused)
{
	kprobe_test_ftrace_kill(false);
}

static void call_traced(void *result)
{
	*(unsigned long *)result = kpt_traced(7);
}

/* ftrace has found its text in an unexpected state. Breakpoints do not need ftrace. */
static void ftrace_sites_have_no_hits_when_ftrace_is_killed(struct kunit *test)
{
	struct kpt_probe *site = kpt_probe(test, kpt_traced);
	struct kpt_probe *plain = kpt_probe(test, kpt_plain);
	unsigned long result = 0;

	kprobe_test_ftrace_kill(true);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ftrace_lives, NULL), 0);
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	/* In an interrupt. */
	smp_call_function_single(raw_smp_processor_id(), call_traced, &result, 1);
	KUNIT_EXPECT_EQ(test, result, KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, site->pre, 0);
	KUNIT_EXPECT_EQ(test, site->kp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, plain->pre, 1);
	kunit_release_action(test, ftrace_lives, NULL);
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, site->pre, 1);
}
#endif

#if defined(CONFIG_X86) && defined(CONFIG_KPROBES_ON_FTRACE)
static void look_at_interrupts(struct kpt_watch *w, struct pt_regs *regs)
{
	unsigned int *on = w->arg;

	*on += !!(regs->flags & X86_EFLAGS_IF);
}

/*
 * Unregistering waits for an interrupt on each CPU. If that could arrive before the count
 * is written, the probe might be freed first. The handler of an ftrace site runs with
 * interrupts on.
 */
static void missed_hit_is_counted_with_interrupts_off(struct kunit *test)
{
	static const kpt_fn_t fns[] = { kpt_traced2, kpt_plain2 };
	unsigned int *on = kunit_kzalloc(test, sizeof(*on), GFP_KERNEL);
	unsigned int cpu = raw_smp_processor_id(), i;
	struct kpt_probe *outer, *pr;
	struct kpt_watch *w;

	KUNIT_ASSERT_NOT_NULL(test, on);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	for (i = 0; i < ARRAY_SIZE(fns); i++) {
		struct kpt_inner inner = { .fn = fns[i], .arg = 5 };

		outer = kpt_alloc(test, kpt_traced);
		kpt_let_call(outer, false, &inner);
		kpt_register(test, outer);
		pr = kpt_probe(test, fns[i]);
		/* The second is a jump, as a breakpoint turns interrupts off. */
		wait_for_kprobe_optimizer();
		if (i && IS_ENABLED(CONFIG_OPTPROBES))
			KUNIT_EXPECT_TRUE(test, kprobe_optimized(&pr->kp));
		w = kpt_watch(test, kprobe_test_owner_word(&pr->kp), sizeof(long), cpu,
			      look_at_interrupts, on);
		KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
		kpt_unwatch(test, w);
		KUNIT_EXPECT_TRUE(test, outer->irqs_on);
		KUNIT_EXPECT_EQ(test, inner.result, KPT_RESULT(5ul));
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 1ul);
		KUNIT_EXPECT_EQ(test, w->times, 1);
		KUNIT_EXPECT_EQ_MSG(test, *on, 0, "%ps", fns[i]);
		kpt_unregister(test, outer);
	}
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}
#endif

#if defined(CONFIG_FPROBE) && defined(CONFIG_KPROBES_ON_FTRACE)
/* --- Fprobes that share their callbacks with kprobes ---------------------- */

/**
 * struct shared - an fprobe whose handler counts as one of a kprobe
 * @fp:	   the fprobe
 * @inner: what its handler calls
 */
struct shared {
	struct fprobe fp;
	struct kpt_inner inner;
};

static int shared_entry(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			struct pt_regs *regs, void *data)
{
	kpt_call_inner(&container_of(fp, struct shared, fp)->inner);
	return 0;
}

static void remove_shared(void *fp)
{
	unregister_fprobe(fp);
}

/* Calls the function of the fprobe first. */
static int pre_calls_both(struct kpt_probe *pr, struct pt_regs *regs)
{
	kpt_traced(5);
	kpt_plain2(5);
	return 0;
}

static void shared_fprobe_is_a_handler_while_it_runs(struct kunit *test)
{
	struct shared *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct kpt_probe *outer, *pr = kpt_probe(test, kpt_plain2);
	unsigned long ip = (unsigned long)kpt_traced;
	int count;

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->fp.flags = FPROBE_FL_KPROBE_SHARED;
	s->fp.entry_handler = shared_entry;
	s->inner.fn = kpt_plain2;
	s->inner.arg = 5;
	KUNIT_ASSERT_EQ(test, register_fprobe_ips(&s->fp, &ip, 1), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, remove_shared, &s->fp), 0);
	/* Anything that it failed to undo would show on this CPU. */
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	count = preempt_count();
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, preempt_count(), count);
	KUNIT_EXPECT_EQ(test, s->inner.calls, 1);
	KUNIT_EXPECT_EQ(test, s->inner.result, KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 1ul);
	KUNIT_EXPECT_EQ(test, kpt_plain2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 1ul);

	/* Over a handler the fprobe does not run, and hits in that handler are still missed. */
	outer = kpt_alloc(test, kpt_plain);
	outer->on_pre = pre_calls_both;
	kpt_register(test, outer);
	KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, outer->pre, 1);
	KUNIT_EXPECT_EQ(test, s->inner.calls, 1);
	KUNIT_EXPECT_EQ(test, s->fp.nmissed, 1ul);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 2ul);

	/* In an interrupt the fprobe counts as a handler, too. */
	kpt_call_in_irq(kpt_traced);
	KUNIT_EXPECT_EQ(test, s->inner.calls, 2);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 3ul);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/* What hooks the return may be a probe, too, whose hit must not be missed. */
static void function_of_an_fprobe_returns_in_a_handler(struct kunit *test)
{
	unsigned long ip = (unsigned long)kpt_traced;
	struct kpt_fprobe *f = kpt_fprobe(test, &ip, 1, 0);
	struct kpt_inner inner = { .fn = kpt_traced, .arg = 5 };
	struct kpt_probe *pr = kpt_alloc(test, kpt_plain);
	unsigned int i;

	pr->on_pre = kpt_pre_calls;
	pr->arg = &inner;
	kpt_register(test, pr);
	/* First with breakpoints, then with jumps */
	for (i = 1; i <= 2; i++) {
		KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, inner.calls, i);
		KUNIT_EXPECT_EQ(test, inner.result, KPT_RESULT(5ul));
		KUNIT_EXPECT_EQ(test, f->entries, i);
		KUNIT_EXPECT_EQ(test, f->returns, i);
		wait_for_kprobe_optimizer();
	}
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
}
#endif

/* --- Interrupts ---------------------------------------------------------- */

/**
 * struct shower - many interrupts, each of which hits a probe
 * @timer: raises them
 * @inner: what the handler calls meanwhile
 * @calls: how many interrupts there were
 * @over:  so many of them over the handler
 * @wrong: a call in one of them had a wrong result
 */
struct shower {
	struct hrtimer timer;
	struct kpt_inner inner;
	unsigned int calls;
	unsigned int over;
	bool wrong;
};

static enum hrtimer_restart shower_drop(struct hrtimer *timer)
{
	struct shower *shower = container_of(timer, struct shower, timer);

	shower->wrong |= kpt_plain2(5) != KPT_RESULT(5ul);
	shower->calls++;
	hrtimer_forward_now(timer, ns_to_ktime(200 * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

static void stop_shower(void *shower)
{
	hrtimer_cancel(&((struct shower *)shower)->timer);
}

#define SHOWER_ROUNDS	20

static int pre_misses_for_a_while(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct shower *shower = pr->arg;
	unsigned int before = READ_ONCE(shower->calls), i;

	for (i = 0; i < 1000; i++) {
		kpt_call_inner(&shower->inner);
		/* Time passes, however fast a call is. */
		if (i % 5 == 0)
			udelay(5);
	}
	shower->over += READ_ONCE(shower->calls) - before;
	return 0;
}

/*
 * Where handlers run with interrupts on, three hits at once: the handler's own, one that
 * is missed in it, and the interrupt's.
 */
static void interrupts_over_missed_hits_change_nothing(struct kunit *test)
{
	struct shower *shower = kunit_kzalloc(test, sizeof(*shower), GFP_KERNEL);
	struct kpt_probe *outer, *missed, *over;
	const bool irqs_on = IS_ENABLED(CONFIG_X86) && IS_ENABLED(CONFIG_OPTPROBES);
	unsigned long up = kpt_count_up(UP), deadline;
	struct kpt_inner *inner;
	unsigned int i, *seen;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, shower);
	seen = irqs_on ? &shower->over : &shower->calls;
	inner = &shower->inner;
	*inner = (struct kpt_inner){ .fn = kpt_count_up, .arg = UP };
	/* The timer stays on the CPU where it is started. */
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	outer = kpt_alloc(test, kpt_plain);
	outer->on_pre = pre_misses_for_a_while;
	outer->arg = shower;
	kpt_register(test, outer);
	wait_for_kprobe_optimizer();
	missed = kpt_alloc_with(test, kpt_count_up, true, true);
	ret = kpt_try_register(test, &missed->kp);
	if (ret == -EINVAL && IS_ENABLED(CONFIG_PARISC))
		kunit_skip(test, "a function begins with a relative branch");
	KUNIT_ASSERT_EQ(test, ret, 0);
	over = kpt_probe_post(test, kpt_plain2);
	hrtimer_init(&shower->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	shower->timer.function = shower_drop;
	hrtimer_start(&shower->timer, ns_to_ktime(200 * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_PINNED_HARD);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stop_shower, shower), 0);
	/* The timer of a guest may be late by more than that if its host is busy. */
	deadline = jiffies + msecs_to_jiffies(KPT_TIMEOUT_MS);
	for (i = 1; i <= SHOWER_ROUNDS || (!READ_ONCE(*seen) && time_before(jiffies, deadline));
	     i++) {
		KUNIT_ASSERT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
		KUNIT_ASSERT_EQ(test, inner->result, up);
		KUNIT_ASSERT_EQ(test, outer->pre, i);
		cond_resched();
	}
	kunit_release_action(test, stop_shower, shower);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, missed->pre, 0);
	KUNIT_EXPECT_EQ(test, missed->kp.nmissed, (unsigned long)inner->calls);
	KUNIT_EXPECT_GT(test, shower->calls, 0);
	if (irqs_on)
		KUNIT_EXPECT_TRUE(test, outer->irqs_on);
	KUNIT_EXPECT_EQ(test, outer->irqs_on, shower->over > 0);
	KUNIT_EXPECT_FALSE(test, shower->wrong);
	KUNIT_EXPECT_EQ(test, over->pre, over->post);
	KUNIT_EXPECT_EQ(test, over->pre + over->kp.nmissed, (unsigned long)shower->calls);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/*
 * An interrupt that calls @inner. The handler that it has to arrive over has set
 * @armed and waits for @done. @over says that the interrupt came in time.
 */
struct intrusion {
	struct kpt_inner inner;
	struct irq_work work;
	struct hrtimer timer;
	enum hrtimer_mode mode;
	bool armed;
	bool done;
	bool over;
	bool in_hardirq;
	bool in_softirq;
};

static void intrude(struct intrusion *in)
{
	in->in_hardirq = in_hardirq();
	in->in_softirq = in_serving_softirq() && !in->in_hardirq;
	in->over = READ_ONCE(in->armed);
	kpt_call_inner(&in->inner);
	/* The handler spins for this on the same CPU. */
	WRITE_ONCE(in->done, true);
}

static void intrude_by_irq_work(struct irq_work *work)
{
	intrude(container_of(work, struct intrusion, work));
}

static struct intrusion *alloc_intrusion(struct kunit *test,
					 kpt_fn_t fn)
{
	struct intrusion *in = kunit_kzalloc(test, sizeof(*in), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, in);
	in->inner.fn = fn;
	in->inner.arg = 5;
	in->work = IRQ_WORK_INIT_HARD(intrude_by_irq_work);
	return in;
}

static void spin_until_done(struct intrusion *in)
{
	kpt_spin_until(READ_ONCE(in->done), KPT_TIMEOUT_MS);
}

static int pre_awaits_irq_work(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct intrusion *in = pr->arg;

	/* The interrupt over this handler may run it again. */
	if (in->armed || in->done)
		return 0;
	WRITE_ONCE(in->armed, true);
	irq_work_queue(&in->work);
	if (!irqs_disabled())
		spin_until_done(in);
	WRITE_ONCE(in->armed, false);
	return 0;
}

/* Raised with interrupts off, it arrives after the handler. */
static void interrupt_raised_in_handler_is_hit(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct intrusion *in = alloc_intrusion(test, kpt_plain2);
	struct kpt_probe *outer = kpt_alloc(test, kpt_addr(site));
	struct kpt_probe *pr = kpt_probe_post(test, kpt_plain2);

	outer->on_pre = pre_awaits_irq_work;
	outer->arg = in;
	kpt_register(test, outer);
	KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(7ul));
	irq_work_sync(&in->work);
	KUNIT_EXPECT_TRUE(test, in->in_hardirq);
	KUNIT_EXPECT_EQ(test, in->over, outer->irqs_on);
	/* At an ftrace site, and on some architectures always, it arrives over the handler. */
	if (in->over)
		kpt_needs_nesting(test);
	KUNIT_EXPECT_EQ(test, in->inner.result, KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, outer->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0ul);
}

static void probe_hit_in_hardirq_runs(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct intrusion *in = alloc_intrusion(test, site->fn);
	struct kpt_probe *pr = kpt_probe_post(test, kpt_addr(site));

	irq_work_queue(&in->work);
	irq_work_sync(&in->work);
	KUNIT_EXPECT_TRUE(test, in->in_hardirq);
	KUNIT_EXPECT_EQ(test, in->inner.result, KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
}

static void hit_from_handler_in_hardirq_is_missed(struct kunit *test)
{
	static const kpt_fn_t fns[] = { kpt_plain2, kpt_traced2 };
	const struct kpt_site *site = kpt_site(test);
	struct intrusion *in = alloc_intrusion(test, site->fn);
	struct kpt_probe *outer, *pr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fns); i++) {
		struct kpt_inner inner = { .fn = fns[i], .arg = 5 };

		outer = kpt_alloc(test, kpt_addr(site));
		pr = kpt_probe(test, fns[i]);
		kpt_let_call(outer, false, &inner);
		kpt_register(test, outer);
		irq_work_queue(&in->work);
		irq_work_sync(&in->work);
		KUNIT_EXPECT_EQ(test, outer->pre, 1);
		KUNIT_EXPECT_EQ(test, inner.result, KPT_RESULT(5ul));
		KUNIT_EXPECT_EQ_MSG(test, pr->pre, 0, "%ps", fns[i]);
		KUNIT_EXPECT_EQ_MSG(test, pr->kp.nmissed, 1ul, "%ps", fns[i]);
		kpt_unregister(test, outer);
	}
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/* These need a handler that runs with interrupts on: that of an ftrace site. */

static enum hrtimer_restart intrude_by_timer(struct hrtimer *timer)
{
	intrude(container_of(timer, struct intrusion, timer));
	return HRTIMER_NORESTART;
}

static void post_awaits_irq_work(struct kpt_probe *pr, struct pt_regs *regs)
{
	pre_awaits_irq_work(pr, regs);
}

static int pre_awaits_timer(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct intrusion *in = pr->arg;

	WRITE_ONCE(in->armed, true);
	hrtimer_start(&in->timer, ms_to_ktime(2), in->mode);
	spin_until_done(in);
	WRITE_ONCE(in->armed, false);
	return 0;
}

static int pre_awaits_ipi(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct intrusion *in = pr->arg;

	WRITE_ONCE(in->armed, true);
	spin_until_done(in);
	WRITE_ONCE(in->armed, false);
	return 0;
}

/* The post-handler waits, if there is no @on_pre. */
static struct kpt_probe *busy_handler(struct kunit *test, struct intrusion *in,
				      int (*on_pre)(struct kpt_probe *pr,
						    struct pt_regs *regs))
{
	struct kpt_probe *busy = kpt_alloc_with(test, kpt_traced, true, !on_pre);

	kpt_needs_nesting(test);
	busy->on_pre = on_pre;
	busy->on_post = post_awaits_irq_work;
	busy->arg = in;
	kpt_register(test, busy);
	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&busy->kp));
	return busy;
}

/* The interrupt arrives while the handler of kpt_traced() waits for it. */
static void call_busy(struct kunit *test, struct intrusion *in)
{
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	irq_work_sync(&in->work);
	KUNIT_ASSERT_TRUE(test, in->done);
}

static void check_not_missed(struct kunit *test, struct intrusion *in,
			     struct kpt_probe *busy, struct kpt_probe *pr)
{
	/* Otherwise no interrupt came over the handler, and the test proves nothing. */
	KUNIT_ASSERT_TRUE(test, in->done);
	KUNIT_ASSERT_TRUE(test, in->over);
	KUNIT_EXPECT_EQ(test, in->inner.result, KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, busy->pre, 1);
	KUNIT_EXPECT_EQ(test, busy->kp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
}

static void check_hit_over_handler(struct kunit *test, kpt_fn_t fn)
{
	struct intrusion *in = alloc_intrusion(test, fn);
	struct kpt_probe *busy = busy_handler(test, in, pre_awaits_irq_work);
	struct kpt_probe *pr = kpt_probe_post(test, fn);

	call_busy(test, in);
	KUNIT_EXPECT_TRUE(test, in->in_hardirq);
	check_not_missed(test, in, busy, pr);
}

static void breakpoint_hit_by_interrupt_over_handler_runs(struct kunit *test)
{
	check_hit_over_handler(test, kpt_plain2);
}

static void ftrace_hit_by_interrupt_over_handler_runs(struct kunit *test)
{
	check_hit_over_handler(test, kpt_traced2);
}

/* The interrupt calls the function over whose handler it arrived. */
static void own_hit_by_interrupt_over_handler_runs(struct kunit *test)
{
	struct intrusion *in = alloc_intrusion(test, kpt_traced);
	struct kpt_probe *first = kpt_probe(test, kpt_traced);
	struct kpt_probe *busy = busy_handler(test, in, NULL);

	call_busy(test, in);
	KUNIT_EXPECT_EQ(test, in->inner.result, KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, first->pre, 2);
	KUNIT_EXPECT_EQ(test, first->kp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, busy->pre, 2);
	KUNIT_EXPECT_EQ(test, busy->kp.nmissed, 0ul);
}

static void hit_by_interrupt_over_post_handler_runs(struct kunit *test)
{
	struct intrusion *in = alloc_intrusion(test, kpt_plain2);
	struct kpt_probe *busy = busy_handler(test, in, NULL);
	struct kpt_probe *pr = kpt_probe_post(test, kpt_plain2);

	call_busy(test, in);
	check_not_missed(test, in, busy, pr);
}

static void check_hit_by_timer(struct kunit *test, enum hrtimer_mode mode,
			       kpt_fn_t fn)
{
	struct kpt_probe *busy, *pr;
	struct intrusion *in;

	/* A handler cannot be preempted, so no thread runs over it. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && mode & HRTIMER_MODE_SOFT)
		kunit_skip(test, "softirqs are threads here");
	in = alloc_intrusion(test, fn);
	busy = busy_handler(test, in, pre_awaits_timer);
	pr = kpt_probe_post(test, fn);
	hrtimer_init(&in->timer, CLOCK_MONOTONIC, mode);
	in->timer.function = intrude_by_timer;
	in->mode = mode;
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	hrtimer_cancel(&in->timer);
	check_not_missed(test, in, busy, pr);
	KUNIT_EXPECT_EQ(test, in->in_hardirq, !(mode & HRTIMER_MODE_SOFT));
	KUNIT_EXPECT_EQ(test, in->in_softirq, !!(mode & HRTIMER_MODE_SOFT));
}

static void hit_by_timer_interrupt_over_handler_runs(struct kunit *test)
{
	check_hit_by_timer(test, HRTIMER_MODE_REL_PINNED_HARD, kpt_plain2);
}

static void breakpoint_hit_by_softirq_over_handler_runs(struct kunit *test)
{
	check_hit_by_timer(test, HRTIMER_MODE_REL_PINNED_SOFT, kpt_plain2);
}

static void ftrace_hit_by_softirq_over_handler_runs(struct kunit *test)
{
	check_hit_by_timer(test, HRTIMER_MODE_REL_PINNED_SOFT, kpt_traced2);
}

static void intrude_by_ipi(void *arg)
{
	intrude(arg);
}

static int send_ipi_fn(void *arg)
{
	struct intrusion *in = arg;

	/* Interrupt the CPU of the test once the handler waits there. */
	while (!kthread_should_stop()) {
		if (READ_ONCE(in->armed) && !READ_ONCE(in->done)) {
			smp_call_function_single((int)in->inner.arg, intrude_by_ipi, in, 1);
			break;
		}
		cond_resched();
	}
	while (!kthread_should_stop())
		usleep_range(500, 1000);
	return 0;
}

static void hit_by_ipi_over_handler_runs(struct kunit *test)
{
	struct intrusion *in = alloc_intrusion(test, kpt_plain2);
	struct kpt_probe *busy = busy_handler(test, in, pre_awaits_ipi);
	struct kpt_probe *pr = kpt_probe_post(test, kpt_plain2);
	struct task_struct *sender;
	unsigned long result;
	int cpu, other;

	other = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	if (other >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");
	sender = kpt_thread(test, send_ipi_fn, in, other, "ipi");
	/* Do not start on the sender's CPU, where it could not run. */
	do {
		cpu = get_cpu();
		if (cpu != other)
			break;
		put_cpu();
		usleep_range(500, 1000);
	} while (1);
	in->inner.arg = cpu;
	result = kpt_traced(7);
	put_cpu();
	kpt_stop(test, sender);
	KUNIT_EXPECT_EQ(test, result, KPT_RESULT(7ul));
	KUNIT_ASSERT_TRUE(test, in->done);
	KUNIT_ASSERT_TRUE(test, in->over);
	KUNIT_EXPECT_EQ(test, busy->kp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
}

/* After the interrupt, the handler below is still a handler. */
static int pre_awaits_irq_work_then_recurses(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct intrusion *in = pr->arg;

	pre_awaits_irq_work(pr, regs);
	kpt_call_inner(&in->inner);
	return 0;
}

static void interrupt_leaves_the_handler_below_as_it_was(struct kunit *test)
{
	struct intrusion *in = alloc_intrusion(test, kpt_plain2);
	struct kpt_probe *busy = busy_handler(test, in, pre_awaits_irq_work_then_recurses);
	struct kpt_probe *pr = kpt_probe_post(test, kpt_plain2);

	call_busy(test, in);
	KUNIT_EXPECT_EQ(test, in->inner.calls, 2);
	KUNIT_EXPECT_EQ(test, busy->pre, 1);
	/* The interrupt's hit ran, the handler's hit was missed. */
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 1ul);
	/* No handler runs any more. */
	KUNIT_EXPECT_EQ(test, kpt_plain2(6), KPT_RESULT(6ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 1ul);
}

/* A handler over a handler is still a handler: hits in what it calls are missed. */
static void recursion_in_an_interrupt_over_a_handler_is_missed(struct kunit *test)
{
	struct intrusion *in = alloc_intrusion(test, kpt_plain);
	struct kpt_probe *busy = busy_handler(test, in, pre_awaits_irq_work);
	struct kpt_probe *above = kpt_alloc(test, kpt_plain);
	struct kpt_probe *pr = kpt_probe(test, kpt_plain2);
	struct kpt_inner inner = { .fn = kpt_plain2, .arg = 5 };

	kpt_let_call(above, false, &inner);
	kpt_register(test, above);
	call_busy(test, in);
	KUNIT_EXPECT_EQ(test, busy->pre, 1);
	KUNIT_EXPECT_EQ(test, above->pre, 1);
	KUNIT_EXPECT_EQ(test, above->kp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, inner.calls, 1);
	KUNIT_EXPECT_EQ(test, inner.result, KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 1ul);
}

/* Interrupts off around the call: the handler runs, and they stay off. */
static void handler_of_an_ftrace_site_keeps_interrupts_off(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe_post(test, kpt_traced);

	kpt_call_irqs_off(test, pr, kpt_traced);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
}
#endif /* CONFIG_KPROBES_ON_FTRACE */

/* --- Probed tasklets and timers, no handler below ------------------------ */

struct softirq_hit {
	struct tasklet_struct tasklet;
	struct kpt_inner inner;
	bool in_softirq;
};

static void softirq_hit_fn(struct tasklet_struct *t)
{
	struct softirq_hit *hit = container_of(t, struct softirq_hit, tasklet);

	hit->in_softirq = in_serving_softirq();
	kpt_call_inner(&hit->inner);
}

static void probe_hit_in_softirq_runs(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct softirq_hit *hit = kunit_kzalloc(test, sizeof(*hit), GFP_KERNEL);
	struct kpt_probe *pr = kpt_probe_post(test, kpt_addr(site));

	KUNIT_ASSERT_NOT_NULL(test, hit);
	hit->inner.fn = site->fn;
	hit->inner.arg = 5;
	tasklet_setup(&hit->tasklet, softirq_hit_fn);
	tasklet_schedule(&hit->tasklet);
	kpt_wait_until(READ_ONCE(hit->inner.calls));
	tasklet_kill(&hit->tasklet);
	KUNIT_EXPECT_TRUE(test, hit->in_softirq);
	KUNIT_EXPECT_EQ(test, hit->inner.result, KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
}

/* --- A handler that has ended in an oops ---------------------------------- */

/* The CPU continues, and must not treat everything that follows as part of the handler. */
static void hits_after_an_oops_in_a_handler_run(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	const char *line = "a handler of the probe at";
	struct kpt_probe *pr = kpt_probe(test, kpt_addr(site));
	unsigned long during, after;
	u64 from = kpt_log_end();
	int ret;

	kprobe_busy_begin();
	during = site->fn(7);
	ret = disable_kprobe(&pr->kp);
	kprobe_test_oops();
	after = site->fn(8);
	/* The end of the task does this. */
	preempt_enable_notrace();

	KUNIT_EXPECT_EQ(test, during, KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 1ul);
	KUNIT_EXPECT_EQ(test, after, KPT_RESULT(8ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	/* What ran belongs to no probe. */
	KUNIT_EXPECT_EQ(test, kpt_log_lines(test, from, line), 0);
	KUNIT_EXPECT_EQ(test, ret, -EDEADLK);
	KUNIT_EXPECT_EQ(test, kpt_log_lines(test, from, "in a handler of"), 0);
}

#ifdef CONFIG_PPC
/**
 * struct step_intrusion - an interrupt that arrives before an instruction is stepped, and faults
 * @work: raises it
 * @bad:  what cannot be read
 * @ret:  the result of reading it
 * @over: the hit was in progress
 */
struct step_intrusion {
	struct irq_work work;
	void *bad;
	long ret;
	bool over;
};

static void fault_in_irq_work(struct irq_work *work)
{
	struct step_intrusion *in = container_of(work, struct step_intrusion, work);
	long word;

	in->over = kprobe_running();
	in->ret = copy_from_kernel_nofault(&word, in->bad, sizeof(word));
}

static int pre_raises_fault(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct step_intrusion *in = pr->arg;
	unsigned int i;

	irq_work_queue(&in->work);
	/* The interrupt becomes pending. A single long delay should sleep, for checkpatch. */
	for (i = 0; i < 20; i++)
		udelay(5);
	return 0;
}

extern char kpt_mftb[];

/* Emulation does not know this instruction, so it is stepped. */
static noinline __noclone notrace unsigned long read_time(void)
{
	unsigned long time;

	asm volatile("kpt_mftb: mftb %0" : "=r" (time));
	return time;
}

static void fault_of_an_interrupt_is_not_that_of_the_step(struct kunit *test)
{
	struct step_intrusion *in = kunit_kzalloc(test, sizeof(*in), GFP_KERNEL);
	struct kpt_probe *pr = kpt_alloc(test, kpt_mftb);

	KUNIT_ASSERT_NOT_NULL(test, in);
	in->bad = kpt_bad_address(test);
	in->work = IRQ_WORK_INIT_HARD(fault_in_irq_work);
	pr->on_pre = pre_raises_fault;
	pr->arg = in;
	kpt_register(test, pr);
	read_time();
	irq_work_sync(&in->work);
	KUNIT_EXPECT_TRUE(test, in->over);
	KUNIT_EXPECT_EQ(test, in->ret, (long)-EFAULT);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}
#endif

#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
/* The report of a stack overflow comes from another context than the handler. */
static void oops_names_the_probe_of_every_context(struct kunit *test)
{
	const char *line = "a handler of the probe at kpt_plain+0x";
	struct kpt_probe *pr = kpt_probe(test, kpt_plain);
	struct kprobe **running;
	unsigned long flags;
	unsigned int ctx;
	u64 from;

	for (ctx = 0; ctx < KPROBE_NR_CTX; ctx++) {
		from = kpt_log_end();
		local_irq_save(flags);
		running = (struct kprobe **)kprobe_test_running_word(smp_processor_id()) + ctx;
		WRITE_ONCE(*running, get_kprobe(pr->kp.addr));
		kprobe_test_oops();
		WRITE_ONCE(*running, NULL);
		local_irq_restore(flags);
		KUNIT_EXPECT_EQ_MSG(test, kpt_log_lines(test, from, line), 1, "%u", ctx);
	}
}
#else
static void oops_names_the_probe_whose_handler_ran(struct kunit *test)
{
	/* Where pointers are descriptors, the symbol of code begins with a dot. */
	const char *line = IS_ENABLED(CONFIG_PPC64_ELF_ABI_V1) ?
			   "a handler of the probe at .kpt_plain+0x" :
			   "a handler of the probe at kpt_plain+0x";
	struct kpt_probe *pr = kpt_probe(test, kpt_plain);
	u64 from = kpt_log_end();

	preempt_disable();
	kprobe_enter(get_kprobe(pr->kp.addr));
	/* It forgets the handler, so nothing is left for kprobe_leave() but preemption. */
	kprobe_test_oops();
	preempt_enable_notrace();
	preempt_enable();
	KUNIT_EXPECT_EQ(test, kpt_log_lines(test, from, line), 1);
	KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}
#endif

static int let_it_go_on(struct notifier_block *nb, unsigned long what, void *args)
{
	return what == DIE_OOPS ? NOTIFY_STOP : NOTIFY_DONE;
}

static struct notifier_block debugger = {
	.notifier_call = let_it_go_on,
};

/* The handler is not over: hits in what it calls are missed, and unregistering waits. */
static void handler_that_a_debugger_lets_go_on_still_runs(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_plain);
	unsigned long result;
	int ret;

	KUNIT_ASSERT_EQ(test, register_die_notifier(&debugger), 0);
	kprobe_busy_begin();
	ret = kprobe_test_oops();
	result = kpt_plain(7);
	kprobe_busy_end();
	unregister_die_notifier(&debugger);

	KUNIT_EXPECT_EQ(test, ret, NOTIFY_STOP);
	KUNIT_EXPECT_EQ(test, result, KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 1ul);
}

#ifdef CONFIG_X86
/* As in an fprobe that shares its callbacks. No probe has a fault handler to ask. */
static void fault_where_no_handler_runs_is_fixed_up(struct kunit *test)
{
	void *bad = kpt_bad_address(test);
	unsigned long ret;

	kprobe_busy_begin();
	ret = kpt_load(bad);
	kprobe_busy_end();
	KUNIT_EXPECT_EQ(test, ret, KPT_FAULTED);
	KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
}
#endif

#define SITE_CASE(fn)	KUNIT_CASE_PARAM(fn, kpt_site_gen)

static struct kunit_case context_cases[] = {
	SITE_CASE(breakpoint_hit_from_pre_handler_is_missed),
	SITE_CASE(breakpoint_hit_from_post_handler_is_missed),
#ifdef CONFIG_KPROBES_ON_FTRACE
	SITE_CASE(ftrace_hit_from_pre_handler_is_missed),
	SITE_CASE(ftrace_hit_from_post_handler_is_missed),
#endif
	SITE_CASE(own_hit_from_handler_is_missed),
	SITE_CASE(own_hit_from_post_handler_is_missed),
#ifdef CONFIG_X86
	KUNIT_CASE(hit_from_post_handler_after_a_second_trap_is_missed),
	KUNIT_CASE(fault_where_no_handler_runs_is_fixed_up),
#endif
	SITE_CASE(hits_from_handler_are_missed_however_many),
	KUNIT_CASE(hits_from_handler_do_not_change_where_the_branch_leads),
	KUNIT_CASE(recursive_function_is_hit_at_every_depth),
	SITE_CASE(missed_hits_of_a_disabled_probe_are_not_counted),
	SITE_CASE(hits_missed_on_all_cpus_at_once_are_all_counted),
#if defined(CONFIG_X86) && defined(CONFIG_KPROBES_ON_FTRACE)
	KUNIT_CASE(missed_hit_is_counted_with_interrupts_off),
#endif
#if defined(CONFIG_FPROBE) && defined(CONFIG_KPROBES_ON_FTRACE)
	KUNIT_CASE(shared_fprobe_is_a_handler_while_it_runs),
	KUNIT_CASE(function_of_an_fprobe_returns_in_a_handler),
#endif
	KUNIT_CASE(interrupts_over_missed_hits_change_nothing),
	SITE_CASE(interrupt_raised_in_handler_is_hit),
	SITE_CASE(probe_hit_in_hardirq_runs),
	SITE_CASE(probe_hit_in_softirq_runs),
	SITE_CASE(hits_after_an_oops_in_a_handler_run),
#ifdef CONFIG_PPC
	KUNIT_CASE(fault_of_an_interrupt_is_not_that_of_the_step),
#endif
#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
	KUNIT_CASE(oops_names_the_probe_of_every_context),
#else
	KUNIT_CASE(oops_names_the_probe_whose_handler_ran),
#endif
	KUNIT_CASE(handler_that_a_debugger_lets_go_on_still_runs),
	SITE_CASE(hit_from_handler_in_hardirq_is_missed),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(ftrace_sites_have_no_hits_when_ftrace_is_killed),
	KUNIT_CASE(breakpoint_hit_by_interrupt_over_handler_runs),
	KUNIT_CASE(ftrace_hit_by_interrupt_over_handler_runs),
	KUNIT_CASE(own_hit_by_interrupt_over_handler_runs),
	KUNIT_CASE(hit_by_interrupt_over_post_handler_runs),
	KUNIT_CASE(hit_by_timer_interrupt_over_handler_runs),
	KUNIT_CASE(breakpoint_hit_by_softirq_over_handler_runs),
	KUNIT_CASE(ftrace_hit_by_softirq_over_handler_runs),
	KUNIT_CASE(hit_by_ipi_over_handler_runs),
	KUNIT_CASE(interrupt_leaves_the_handler_below_as_it_was),
	KUNIT_CASE(recursion_in_an_interrupt_over_a_handler_is_missed),
	KUNIT_CASE(handler_of_an_ftrace_site_keeps_interrupts_off),
#endif
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite context_suite = {
	.name = "kprobes_context",
	.suite_init = kpt_suite_init,
	.init = kpt_case_init,
	.test_cases = context_cases,
};

kunit_test_suite(context_suite);
