// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: points on their way from a breakpoint to a jump. The optimizer is
 * stopped when it has made detours: the point under test is diverted. A point that
 * is registered while the optimizer is stopped stays queued.
 */
#include <linux/completion.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/percpu-rwsem.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <asm/irq_regs.h>
#include <asm/text-patching.h>

#include "jump_x86.h"

/* --- Where the optimizer is ------------------------------------------------ */

/**
 * struct way - the optimizer, stopped
 * @reached: it has made detours
 * @go:	     it may go on
 * @armed:   it has to stop
 * @other:   the point that it works on, or NULL if that is the point under test
 */
struct way {
	struct completion reached;
	struct completion go;
	bool armed;
	struct kpt_probe *other;
};

static void hold_optimizer(enum kprobe_stage stage, void *arg)
{
	struct way *w = arg;

	if (stage != KPROBE_STAGE_DIVERTED || !READ_ONCE(w->armed))
		return;
	complete(&w->reached);
	wait_for_completion_timeout(&w->go, msecs_to_jiffies(3 * KPT_TIMEOUT_MS));
}

static void release_optimizer(void *arg)
{
	struct way *w = arg;

	WRITE_ONCE(w->armed, false);
	complete_all(&w->go);
	kprobe_test_stop(NULL, NULL);
}

#define AT(name)	KPT_JUMP_AT(name)

static unsigned char text_at(const void *addr)
{
	return READ_ONCE(*(const unsigned char *)addr);
}

/* kprobes/points says "soon" in both states. */
static void expect_on_the_way(struct kunit *test, struct kpt_probe *pr)
{
	const char *line;

	KUNIT_EXPECT_FALSE(test, kprobe_optimized(&pr->kp));
	KUNIT_EXPECT_EQ(test, text_at(pr->kp.addr), INT3_INSN_OPCODE);
	if (!kpt_debugfs.mnt)
		return;
	line = kpt_jump_reason(test, &pr->kp);
	KUNIT_EXPECT_TRUE_MSG(test, strstr(line, "  breakpoint  ") && strstr(line, "  soon"), "%s",
			      line);
}

static void expect_jump(struct kunit *test, struct kpt_probe *pr)
{
	KUNIT_EXPECT_TRUE_MSG(test, kprobe_optimized(&pr->kp), "%s",
			      kpt_jump_reason(test, &pr->kp));
	KUNIT_EXPECT_EQ(test, text_at(pr->kp.addr), JMP32_INSN_OPCODE);
}

static void expect_breakpoint(struct kunit *test, struct kpt_probe *pr)
{
	KUNIT_EXPECT_FALSE(test, kprobe_optimized(&pr->kp));
	KUNIT_EXPECT_EQ(test, text_at(pr->kp.addr), INT3_INSN_OPCODE);
}

static struct way *way_alloc(struct kunit *test)
{
	struct way *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	init_completion(&w->reached);
	init_completion(&w->go);
	w->armed = true;
	kprobe_test_stop(hold_optimizer, w);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, release_optimizer, w), 0);
	return w;
}

/* Registers the probe, and returns when its point is diverted. */
static struct way *divert(struct kunit *test, struct kpt_probe *pr)
{
	struct kprobe_counts before = kpt_counts(false), now;
	struct way *w = way_alloc(test);

	kpt_register(test, pr);
	KUNIT_ASSERT_NE(test, 0ul, wait_for_completion_timeout(&w->reached,
							       msecs_to_jiffies(KPT_TIMEOUT_MS)));
	now = kpt_counts(false);
	KUNIT_ASSERT_EQ(test, now.detours.live, before.detours.live + 1);
	expect_on_the_way(test, pr);
	return w;
}

static void let_go(struct kunit *test, struct way *w)
{
	kunit_release_action(test, release_optimizer, w);
	wait_for_kprobe_optimizer();
	if (w->other)
		kpt_unregister(test, w->other);
}

/*
 * The two states between breakpoint and jump. If the point under test is queued,
 * the optimizer works on another point.
 */
static const char *const ways[] = { "queued", "diverted" };

static const void *way_gen(const void *prev, char *desc)
{
	const char *const *name = prev;

	name = name ? name + 1 : ways;
	if (name == ways + ARRAY_SIZE(ways))
		return NULL;
	strscpy(desc, *name, KUNIT_PARAM_DESC_SIZE);
	return name;
}

static bool is_diverted(struct kunit *test)
{
	return test->param_value == &ways[1];
}

static struct way *bring(struct kunit *test, struct kpt_probe *pr)
{
	struct kpt_probe *other;
	struct way *w;

	if (is_diverted(test))
		return divert(test, pr);
	other = kpt_alloc(test, AT(alone));
	w = divert(test, other);
	w->other = other;
	kpt_register(test, pr);
	expect_on_the_way(test, pr);
	return w;
}

static struct kpt_probe *probe_on_two(struct kunit *test, bool post)
{
	struct kpt_probe *pr = kpt_alloc(test, AT(two));

	if (post)
		pr->kp.post_handler = kpt_post;
	return pr;
}

static void call(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
}

/* The optimizer may find another reason, or none. */
static void reason_is_forgotten_when_a_point_sets_out_again(struct kunit *test)
{
	static const char reason[] = "a branch leads inside";
	struct kpt_probe *pr, *other;
	struct way *w;

	kpt_needs_debugfs(test);
	pr = kpt_probe(test, AT(target));
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_NOT_NULL(test, strstr(kpt_jump_reason(test, &pr->kp), reason));
	other = kpt_alloc(test, AT(alone));
	w = divert(test, other);
	w->other = other;
	KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&pr->kp), 0);
	expect_on_the_way(test, pr);
	KUNIT_EXPECT_NULL(test, strstr(kpt_jump_reason(test, &pr->kp), reason));
	let_go(test, w);
	KUNIT_EXPECT_NOT_NULL(test, strstr(kpt_jump_reason(test, &pr->kp), reason));
}

/* --- Hits ------------------------------------------------------------------- */

static void hits_on_the_way_are_hits(struct kunit *test)
{
	unsigned int post, i;

	for (post = 0; post < 2; post++) {
		struct kpt_probe *pr = probe_on_two(test, post);
		struct way *w = bring(test, pr);

		for (i = 1; i <= 3; i++) {
			call(test);
			KUNIT_EXPECT_EQ(test, pr->pre, i);
			KUNIT_EXPECT_EQ(test, pr->post, post ? i : 0);
			KUNIT_EXPECT_EQ(test, pr->pre_regs.ip, (unsigned long)AT(two) + 1);
			if (post)
				KUNIT_EXPECT_EQ(test, pr->post_regs.ip,
						(unsigned long)AT(two) + KPT_TWO_SECOND);
		}
		expect_on_the_way(test, pr);
		let_go(test, w);
		expect_jump(test, pr);
		call(test);
		KUNIT_EXPECT_EQ(test, pr->pre, 4);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
		kpt_unregister(test, pr);
	}
}

/**
 * struct arrival - an interrupt that arrives as soon as the handler is done
 * @timer: raises it
 * @ip:	   where it arrived
 * @done:  it has arrived
 */
struct arrival {
	struct hrtimer timer;
	unsigned long ip;
	bool done;
};

static enum hrtimer_restart arrive(struct hrtimer *timer)
{
	struct arrival *a = container_of(timer, struct arrival, timer);

	a->ip = get_irq_regs() ? get_irq_regs()->ip : 0;
	WRITE_ONCE(a->done, true);
	return HRTIMER_NORESTART;
}

/* It is started before the hit, because lockdep takes the exception for an NMI. */
static void start_arrival(struct arrival *a)
{
	hrtimer_start(&a->timer, ns_to_ktime(2 * NSEC_PER_MSEC), HRTIMER_MODE_REL_PINNED_HARD);
}

/* Interrupts are off, so that of the timer arrives when the exception returns. */
static int pre_holds_timer(struct kpt_probe *pr, struct pt_regs *regs)
{
	/* A busy host raises it late. Wait for longer with each try. */
	mdelay(5 + min(pr->pre / 4, 50));
	return 0;
}

/*
 * Call until the timer that the handler holds up has arrived in a copy or a detour. On an
 * emulated machine it may arrive too late for that.
 */
static void call_until_arrival(struct kunit *test, struct arrival *a)
{
	unsigned int tries;

	for (tries = 0; tries < 200 && !is_kprobe_optinsn_slot(a->ip) &&
	     !is_kprobe_insn_slot(a->ip); tries++) {
		start_arrival(a);
		call(test);
		hrtimer_cancel(&a->timer);
	}
}

/*
 * The instructions that the jump will replace already run in the detour. Otherwise there
 * would be no way to know when the last task has left them.
 */
static void hits_go_on_in_the_detour_once_there_is_one(struct kunit *test)
{
	struct arrival *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	struct kpt_probe *pr = probe_on_two(test, false);

	KUNIT_ASSERT_NOT_NULL(test, a);
	hrtimer_init(&a->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	a->timer.function = arrive;
	pr->on_pre = pre_holds_timer;
	bring(test, pr);
	call_until_arrival(test, a);
	KUNIT_ASSERT_TRUE(test, a->done);
	KUNIT_EXPECT_TRUE(test, pr->irqs_off);
	KUNIT_EXPECT_EQ_MSG(test, is_kprobe_optinsn_slot(a->ip), is_diverted(test),
			    "%pS", (void *)a->ip);
	KUNIT_EXPECT_EQ_MSG(test, is_kprobe_insn_slot(a->ip), !is_diverted(test),
			    "%pS", (void *)a->ip);
}

/* Live patching relies on these walks. */
#if defined(CONFIG_STACKTRACE) && defined(CONFIG_HAVE_RELIABLE_STACKTRACE)
/**
 * struct walker - walks of the stack that do not miss a function
 * @arrival: the interrupt that walks
 * @entries: what the last walk found
 * @nr:	     how much, or an error
 */
struct walker {
	struct arrival arrival;
	unsigned long entries[128];
	int nr;
};

static void walk_reliably(struct walker *w)
{
	w->nr = kprobe_test_stack(w->entries, ARRAY_SIZE(w->entries));
}

static enum hrtimer_restart arrive_and_walk(struct hrtimer *timer)
{
	struct walker *w = container_of(timer, struct walker, arrival.timer);

	walk_reliably(w);
	return arrive(timer);
}

static int pre_walks_reliably(struct kpt_probe *pr, struct pt_regs *regs)
{
	walk_reliably(pr->arg);
	return 0;
}

/* Does the walk contain the probed function? The probe is near the end of it. */
static bool walk_found_two(const struct walker *w)
{
	unsigned long first = (unsigned long)kpt_jump_at(kpt_jump_two, 0);
	int i;

	for (i = 0; i < w->nr; i++) {
		if (w->entries[i] >= first && w->entries[i] < (unsigned long)AT(two) + 16)
			return true;
	}
	return false;
}

/* Otherwise a live patch could take effect for a task that is still in the function. */
static void reliable_walks_find_the_function_or_fail(struct kunit *test)
{
	struct walker *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	struct kpt_probe *pr = probe_on_two(test, false);
	struct arrival *a;

	KUNIT_ASSERT_NOT_NULL(test, w);
	a = &w->arrival;
	hrtimer_init(&a->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	a->timer.function = arrive_and_walk;
	pr->arg = w;
	bring(test, pr);

	pr->on_pre = pre_walks_reliably;
	call(test);
	/* Frame pointers are not reliable in exceptions. */
	if (IS_ENABLED(CONFIG_UNWINDER_ORC))
		KUNIT_EXPECT_GT(test, w->nr, 0);
	KUNIT_EXPECT_TRUE_MSG(test, w->nr < 0 || walk_found_two(w), "in a handler: %d", w->nr);

	pr->on_pre = pre_holds_timer;
	call_until_arrival(test, a);
	KUNIT_ASSERT_TRUE_MSG(test, is_diverted(test) ? is_kprobe_optinsn_slot(a->ip) :
			      is_kprobe_insn_slot(a->ip), "%pS", (void *)a->ip);
	KUNIT_EXPECT_TRUE_MSG(test, w->nr < 0 || walk_found_two(w), "in %pS: %d",
			      (void *)a->ip, w->nr);
}
#endif

static void post_holds_timer(struct kpt_probe *pr, struct pt_regs *regs)
{
	pre_holds_timer(pr, regs);
}

/* After an emulated instruction, and after the copy of one. */
static void post_handlers_go_on_in_the_detour_once_there_is_one(struct kunit *test)
{
	const struct kpt_jump_target kinds[] = {
		KPT_JUMP_AND_AT(emulated), KPT_JUMP_AND_AT(copied),
	};
	struct arrival *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	unsigned int i, tries;
	struct kpt_probe *pr;
	struct way *w;

	KUNIT_ASSERT_NOT_NULL(test, a);
	hrtimer_init(&a->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	a->timer.function = arrive;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		pr = kpt_alloc(test, kinds[i].addr);
		pr->kp.post_handler = kpt_post;
		pr->on_post = post_holds_timer;
		w = divert(test, pr);
		a->ip = 0;
		for (tries = 0; tries < 100 && !is_kprobe_optinsn_slot(a->ip); tries++) {
			start_arrival(a);
			KUNIT_EXPECT_EQ(test, kinds[i].fn(7), KPT_RESULT(7ul));
			hrtimer_cancel(&a->timer);
		}
		KUNIT_EXPECT_TRUE_MSG(test, is_kprobe_optinsn_slot(a->ip), "%ps: %pS", kinds[i].fn,
				      (void *)a->ip);
		let_go(test, w);
		kpt_unregister(test, pr);
	}
}

static int go_where_told(struct kpt_probe *pr, struct pt_regs *regs)
{
	regs->ip = (unsigned long)pr->arg;
	regs->ax = 100;
	return 1;
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/**
 * struct late_step - a step that ends while a handler runs
 * @regs: registers at the breakpoint after the copy
 * @ret:  what the breakpoint handler has returned
 */
struct late_step {
	struct pt_regs regs;
	int ret;
};

static int end_step(struct kpt_probe *outer, struct pt_regs *unused)
{
	struct late_step *step = outer->arg;
	unsigned long flags;

	local_irq_save(flags);
	__preempt_count_add(KPROBE_TRAP);
	step->ret = kprobe_int3_handler(&step->regs);
	__preempt_count_sub(KPROBE_TRAP);
	local_irq_restore(flags);
	return 0;
}

/* Its post-handlers do not run, but the task must stay out of the bytes all the same. */
static void step_over_a_handler_goes_on_in_the_detour_once_there_is_one(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc_with(test, AT(copied), true, true);
	struct late_step *step = kunit_kzalloc(test, sizeof(*step), GFP_KERNEL);
	struct kpt_probe *outer = kpt_alloc(test, kpt_traced);
	enum kprobe_unwind how;
	unsigned long same = 0;
	struct way *w;

	KUNIT_ASSERT_NOT_NULL(test, step);
	outer->on_pre = end_step;
	outer->arg = step;
	kpt_register(test, outer);
	w = divert(test, pr);
	preempt_disable();
	step->regs.ip = (unsigned long)get_kprobe(pr->kp.addr)->ainsn.step +
			KPT_THREE_SECOND + INT3_INSN_SIZE;
	preempt_enable();
	step->regs.cs = __KERNEL_CS;
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, outer->pre, 1);
	KUNIT_EXPECT_EQ(test, step->ret, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 0);
	KUNIT_EXPECT_PTR_NE(test, (void *)step->regs.ip,
			    (void *)(pr->kp.addr + KPT_THREE_SECOND));
	preempt_disable();
	how = kprobe_unwind(step->regs.ip, &same);
	preempt_enable();
	KUNIT_EXPECT_EQ(test, how, KPROBE_UNWIND_SAME);
	KUNIT_EXPECT_EQ(test, same, (unsigned long)pr->kp.addr + KPT_THREE_SECOND);
	let_go(test, w);
}
#endif

static void changed_ip_on_the_way_is_honoured(struct kunit *test)
{
	const struct {
		void *to;
		unsigned long result;
	} places[] = {
		{ kpt_elsewhere, kpt_elsewhere_with(7, 100) },
		{ AT(two) + KPT_TWO_SECOND, KPT_RESULT(107ul) },
		{ AT(two) + KPT_JUMP_SIZE, KPT_RESULT(100ul) },
	};
	struct kpt_probe *pr = probe_on_two(test, true);
	struct way *w;
	unsigned int i;

	pr->on_pre = go_where_told;
	w = bring(test, pr);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		pr->arg = places[i].to;
		KUNIT_EXPECT_EQ(test, kpt_jump_two(7), places[i].result);
	}
	KUNIT_EXPECT_EQ(test, pr->pre, ARRAY_SIZE(places));
	KUNIT_EXPECT_EQ(test, pr->post, 0);
	let_go(test, w);
}

static int pre_goes_into_two(struct kpt_probe *pr, struct pt_regs *regs)
{
	pre_holds_timer(pr, regs);
	regs->ip = (unsigned long)AT(two) + KPT_TWO_SECOND;
	regs->ax = 100;
	return 1;
}

/* No hit, even of another point, may continue in bytes that a jump will replace. */
static void changed_ip_into_the_bytes_of_another_on_the_way(struct kunit *test)
{
	struct arrival *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	struct kpt_probe *pr = probe_on_two(test, false), *leaves;
	unsigned long second = (unsigned long)AT(two) + KPT_TWO_SECOND;
	unsigned int tries;

	KUNIT_ASSERT_NOT_NULL(test, a);
	hrtimer_init(&a->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	a->timer.function = arrive;
	leaves = kpt_alloc(test, AT(target));
	leaves->on_pre = pre_goes_into_two;
	kpt_register(test, leaves);
	wait_for_kprobe_optimizer();
	expect_breakpoint(test, leaves);
	bring(test, pr);
	for (tries = 0; tries < 200 && !is_kprobe_optinsn_slot(a->ip) && a->ip != second;
	     tries++) {
		start_arrival(a);
		KUNIT_EXPECT_EQ(test, kpt_jump_target(7), KPT_RESULT(107ul));
		hrtimer_cancel(&a->timer);
	}
	KUNIT_EXPECT_EQ_MSG(test, is_kprobe_optinsn_slot(a->ip), is_diverted(test), "%pS",
			    (void *)a->ip);
	KUNIT_EXPECT_EQ_MSG(test, a->ip == second, !is_diverted(test), "%pS", (void *)a->ip);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
}

/* --- Changes ---------------------------------------------------------------- */

static void unregistered_on_the_way_it_leaves_the_text_alone(struct kunit *test)
{
	struct kprobe_counts before = kpt_counts(false), now;
	unsigned char text[16];
	struct kpt_probe *pr;
	unsigned int post;
	struct way *w;

	memcpy(text, AT(two), sizeof(text));
	for (post = 0; post < 2; post++) {
		pr = probe_on_two(test, post);
		w = bring(test, pr);
		call(test);
		kpt_unregister(test, pr);
		KUNIT_EXPECT_MEMEQ(test, text, AT(two), sizeof(text));
		now = kpt_counts(false);
		/* The detour of the other point remains. */
		KUNIT_EXPECT_EQ(test, now.detours.live,
				before.detours.live + !is_diverted(test));
		call(test);
		let_go(test, w);
		KUNIT_EXPECT_MEMEQ(test, text, AT(two), sizeof(text));
		call(test);
		KUNIT_EXPECT_EQ(test, pr->pre, 1);
	}
}

/**
 * struct synced_detour - a detour, and the first interrupt of all CPUs by a task
 * @task:  the task; NULL if nothing is to be looked at
 * @p:	   its point
 * @first: the detour at that time
 * @times: how often the task has interrupted all CPUs
 */
struct synced_detour {
	struct task_struct *task;
	struct kprobe *p;
	void *first;
	unsigned int times;
};

static int note_detour(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct synced_detour *s = pr->arg;

	if (current == READ_ONCE(s->task) && !s->times++)
		s->first = READ_ONCE(s->p->ainsn.detour);
	return 0;
}

/* Otherwise a CPU that has hit the breakpoint could continue in a freed detour. */
static void every_cpu_is_interrupted_before_a_detour_is_freed(struct kunit *test)
{
	struct kpt_probe *sync = kpt_alloc(test, NULL), *second = probe_on_two(test, false);
	struct synced_detour *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct kpt_probe *pr = probe_on_two(test, false);
	struct way *w;

	KUNIT_ASSERT_NOT_NULL(test, s);
	sync->kp.symbol_name = "text_poke_sync";
	sync->on_pre = note_detour;
	sync->arg = s;
	kpt_register(test, sync);
	wait_for_kprobe_optimizer();
	w = divert(test, pr);
	scoped_guard(preempt)
		s->p = get_kprobe(pr->kp.addr);
	KUNIT_ASSERT_NOT_NULL(test, s->p);
	WRITE_ONCE(s->task, current);
	kpt_register(test, second);
	WRITE_ONCE(s->task, NULL);
	KUNIT_EXPECT_GT(test, s->times, 0);
	/* No text has to be restored, so this was for the detour. */
	KUNIT_EXPECT_NOT_NULL(test, s->first);
	let_go(test, w);
	expect_jump(test, pr);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, second->pre, 1);
}

#ifdef CONFIG_HOTPLUG_CPU
/**
 * struct poked - interrupts of all CPUs while jumps are written and removed
 * @text:     text_mutex, held while text is written
 * @hotplug:  keeps CPUs from coming and going
 * @task:     removes jumps; NULL if nothing is to be looked at
 * @worker:   writes jumps
 * @times:    interrupts while text was written, by these two
 * @unlocked: how many of them while CPUs could come and go
 */
struct poked {
	void *text;
	struct percpu_rw_semaphore *hotplug;
	struct task_struct *task;
	struct task_struct *worker;
	unsigned int times[2];
	unsigned int unlocked[2];
};

static int note_poke(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct poked *p = pr->arg;
	bool worker = current == READ_ONCE(p->worker);
	struct mutex *text = p->text;

	if ((worker || current == READ_ONCE(p->task)) && mutex_is_locked(text)) {
		p->times[worker]++;
		p->unlocked[worker] += !percpu_is_read_locked(p->hotplug);
	}
	return 0;
}

static void note_worker(enum kprobe_stage stage, void *arg)
{
	struct poked *p = arg;

	if (stage == KPROBE_STAGE_DIVERTED)
		WRITE_ONCE(p->worker, current);
}

/* A CPU that does would not be interrupted between the writes of a jump. */
static void no_cpu_comes_or_goes_while_jumps_are_written(struct kunit *test)
{
	struct kpt_probe *sync = kpt_alloc(test, NULL), *pr;
	struct poked *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->text = kprobe_test_symbol("text_mutex");
	p->hotplug = kprobe_test_symbol("cpu_hotplug_lock");
	if (!p->text || !p->hotplug)
		kunit_skip(test, "needs the symbols of data");
	sync->kp.symbol_name = "on_each_cpu_cond_mask";
	sync->on_pre = note_poke;
	sync->arg = p;
	kpt_register(test, sync);
	wait_for_kprobe_optimizer();
	kpt_watch_stages(test, note_worker, p);
	pr = probe_on_two(test, false);
	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	kpt_unwatch_stages(test);
	WRITE_ONCE(p->worker, NULL);
	WRITE_ONCE(p->task, current);
	kpt_unregister(test, pr);
	WRITE_ONCE(p->task, NULL);
	KUNIT_EXPECT_GT(test, p->times[0], 0);
	KUNIT_EXPECT_EQ(test, p->unlocked[0], 0);
	KUNIT_EXPECT_GT(test, p->times[1], 0);
	KUNIT_EXPECT_EQ(test, p->unlocked[1], 0);
}
#endif

/**
 * struct kept_detour - a detour that is still there when no handler runs any more
 * @p:	   its point
 * @there: how often it was
 * @gone:  how often it was not
 * @found: how often hits could find the point
 */
struct kept_detour {
	struct kprobe *p;
	unsigned int there;
	unsigned int gone;
	unsigned int found;
};

static void look_for_detour(enum kprobe_stage stage, void *arg)
{
	struct kept_detour *k = arg;

	if (stage != KPROBE_STAGE_SYNCED)
		return;
	if (READ_ONCE(k->p->ainsn.detour))
		k->there++;
	else
		k->gone++;
	scoped_guard(preempt)
		k->found += get_kprobe(k->p->addr) == k->p;
}

/* Until then a CPU may be in a handler, and will go on in the detour. */
static void detour_stays_until_no_handler_runs(struct kunit *test)
{
	struct kept_detour *k = kunit_kzalloc(test, sizeof(*k), GFP_KERNEL);
	struct kpt_probe *pr = kpt_probe(test, AT(two));
#ifdef MODULE
	struct module *mod = kunit_kzalloc(test, sizeof(*mod), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mod);
#endif
	KUNIT_ASSERT_NOT_NULL(test, k);
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	scoped_guard(preempt)
		k->p = get_kprobe(pr->kp.addr);
	KUNIT_ASSERT_NOT_NULL(test, k->p);
	kpt_watch_stages(test, look_for_detour, k);

	KUNIT_EXPECT_EQ(test, disable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_EQ(test, k->there, 1);
	KUNIT_EXPECT_NULL(test, k->p->ainsn.detour);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&pr->kp), 0);
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	if (kpt_debugfs.mnt) {
		KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kpt_all_on, test), 0);
		KUNIT_EXPECT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/enabled", "0"), 1l);
		KUNIT_EXPECT_EQ(test, k->there, 2);
		KUNIT_EXPECT_NULL(test, k->p->ainsn.detour);
		kunit_release_action(test, kpt_all_on, test);
		wait_for_kprobe_optimizer();
		expect_jump(test, pr);
	}
	k->there = 0;
	k->found = 0;
	kpt_unregister(test, pr);
	KUNIT_EXPECT_EQ(test, k->there, 1);
	KUNIT_EXPECT_EQ(test, k->found, 0);
#ifdef MODULE
	pr = kpt_probe(test, AT(two));
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	scoped_guard(preempt)
		k->p = get_kprobe(pr->kp.addr);
	KUNIT_ASSERT_NOT_NULL(test, k->p);
	/* As if the function were all of a module that goes. */
	k->there = 0;
	mod->mem[MOD_TEXT].base = kpt_text(kpt_jump_two);
	mod->mem[MOD_TEXT].size = kpt_size(test, kpt_jump_two);
	KUNIT_EXPECT_EQ(test, kprobe_test_module_event(mod, MODULE_STATE_GOING), 0);
	KUNIT_EXPECT_EQ(test, k->there, 1);
	KUNIT_EXPECT_NULL(test, k->p->ainsn.detour);
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&pr->kp));
	KUNIT_EXPECT_EQ(test, k->found, 0);
#endif
	KUNIT_EXPECT_EQ(test, k->gone, 0);
	kpt_unwatch_stages(test);
}

/**
 * struct wait_watch - what the optimizer does before it waits for tasks
 * @sync:  counts when it interrupts all CPUs
 * @cpus:  counts when it waits for CPU hotplug
 * @syncs: how often it has done the one between two stages
 * @locks: how often the other
 * @times: how often it was at the last stage
 */
struct wait_watch {
	struct kpt_probe *sync;
	struct kpt_probe *cpus;
	unsigned int syncs;
	unsigned int locks;
	unsigned int times;
};

static void watch_the_wait(enum kprobe_stage stage, void *arg)
{
	struct wait_watch *w = arg;

	if (stage == KPROBE_STAGE_PLANNED) {
		w->sync->post = 0;
		w->cpus->post = 0;
		WRITE_ONCE(w->sync->arg, current);
		WRITE_ONCE(w->cpus->arg, current);
	} else if (stage == KPROBE_STAGE_DIVERTED) {
		w->syncs += w->sync->post;
		w->locks += w->cpus->post;
		w->times++;
		WRITE_ONCE(w->sync->arg, NULL);
		WRITE_ONCE(w->cpus->arg, NULL);
	}
}

/* Tasks are waited for only once no CPU is about to enter the old copy, or comes or goes. */
static void every_cpu_is_there_and_interrupted_before_tasks_are_waited_for(struct kunit *test)
{
	struct wait_watch *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	struct kpt_probe *pr = probe_on_two(test, false);

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->sync = kpt_alloc(test, NULL);
	w->sync->kp.symbol_name = "text_poke_sync";
	w->sync->on_pre = kpt_pre_counts_task;
	w->cpus = kpt_alloc(test, NULL);
	w->cpus->kp.symbol_name = "cpus_read_lock";
	w->cpus->on_pre = kpt_pre_counts_task;
	kpt_register(test, w->sync);
	if (IS_ENABLED(CONFIG_HOTPLUG_CPU))
		kpt_register(test, w->cpus);
	wait_for_kprobe_optimizer();
	kpt_watch_stages(test, watch_the_wait, w);
	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
	kpt_unwatch_stages(test);
	expect_jump(test, pr);
	KUNIT_EXPECT_GT(test, w->times, 0);
	KUNIT_EXPECT_GE(test, w->syncs, w->times);
	if (IS_ENABLED(CONFIG_HOTPLUG_CPU))
		KUNIT_EXPECT_GE(test, w->locks, w->times);
}

static void disabled_on_the_way_it_leaves_the_text_alone(struct kunit *test)
{
	struct kpt_probe *pr = probe_on_two(test, true);
	unsigned char text[16];
	struct way *w;

	memcpy(text, AT(two), sizeof(text));
	w = bring(test, pr);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_MEMEQ(test, text, AT(two), sizeof(text));
	call(test);
	let_go(test, w);
	KUNIT_EXPECT_MEMEQ(test, text, AT(two), sizeof(text));
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&pr->kp), 0);
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
}

static void disabled_and_enabled_on_the_way_it_sets_out_again(struct kunit *test)
{
	struct kpt_probe *pr = probe_on_two(test, false);
	struct way *w = bring(test, pr);

	KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&pr->kp), 0);
	expect_on_the_way(test, pr);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	let_go(test, w);
	expect_jump(test, pr);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
}

static void probe_added_on_the_way_is_hit_too(struct kunit *test)
{
	unsigned int post;

	for (post = 0; post < 2; post++) {
		struct kpt_probe *pr = probe_on_two(test, false), *more;
		struct way *w = bring(test, pr);

		more = post ? kpt_probe_post(test, AT(two)) : kpt_probe(test, AT(two));
		expect_on_the_way(test, pr);
		call(test);
		KUNIT_EXPECT_EQ(test, pr->pre, 1);
		KUNIT_EXPECT_EQ(test, more->pre, 1);
		KUNIT_EXPECT_EQ(test, more->post, post);
		let_go(test, w);
		expect_jump(test, pr);
		expect_jump(test, more);
		call(test);
		KUNIT_EXPECT_EQ(test, pr->pre, 2);
		KUNIT_EXPECT_EQ(test, more->pre, 2);
		KUNIT_EXPECT_EQ(test, more->post, 2 * post);
		kpt_unregister(test, more);
		kpt_unregister(test, pr);
	}
}

static void neighbour_set_on_the_way_keeps_it_a_breakpoint(struct kunit *test)
{
	struct kpt_probe *pr = probe_on_two(test, false), *inside;
	struct way *w = bring(test, pr);

	inside = kpt_probe(test, AT(two) + KPT_TWO_SECOND);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, inside->pre, 1);
	let_go(test, w);
	expect_breakpoint(test, pr);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	KUNIT_EXPECT_EQ(test, inside->pre, 2);
	kpt_unregister(test, inside);
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 3);
}

static void jumps_switched_off_on_the_way(struct kunit *test)
{
	struct kpt_probe *pr = probe_on_two(test, true);
	struct way *w;

	w = bring(test, pr);
	kpt_forbid_jumps(test);
	call(test);
	let_go(test, w);
	expect_breakpoint(test, pr);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	KUNIT_EXPECT_EQ(test, pr->post, 2);
	kpt_allow_jumps(test);
	expect_jump(test, pr);
}

static bool listed_as_jump(struct kunit *test)
{
	char *list = kpt_read(test, &kpt_debugfs, "kprobes/list");
	char *line = kpt_line_with(test, list, "kpt_jump_two+");

	KUNIT_ASSERT_NOT_NULL(test, line);
	return strstr(line, "[OPTIMIZED]");
}

/* The optimizer is held for longer than a reader of the list waits. */
static void list_is_read_on_the_way(struct kunit *test)
{
	struct kpt_probe *pr = probe_on_two(test, false);
	struct way *w;

	kpt_needs_debugfs(test);
	w = bring(test, pr);
	KUNIT_EXPECT_FALSE(test, listed_as_jump(test));
	let_go(test, w);
	KUNIT_EXPECT_TRUE(test, listed_as_jump(test));
}

/*
 * The optimizer is done with a first point, and is held at a second one. So a reader waits,
 * until it has waited too long.
 */
static void reader_waits_for_points_that_were_queued_meanwhile(struct kunit *test)
{
	struct kpt_probe *other = kpt_alloc(test, AT(alone));
	struct way *w = divert(test, other);
	unsigned long begin;

	w->other = other;
	kpt_probe(test, AT(two));
	complete(&w->go);
	KUNIT_ASSERT_NE(test, 0ul, wait_for_completion_timeout(&w->reached,
							       msecs_to_jiffies(KPT_TIMEOUT_MS)));
	KUNIT_ASSERT_TRUE(test, kprobe_optimized(&other->kp));
	begin = jiffies;
	KUNIT_EXPECT_FALSE(test, listed_as_jump(test));
	KUNIT_EXPECT_GE(test, jiffies - begin, HZ / 2);
	let_go(test, w);
	KUNIT_EXPECT_TRUE(test, listed_as_jump(test));
}

/* Whenever a record does not fit into its buffer, the list is begun again, as it is here. */
static void list_that_is_begun_again_does_not_wait_again(struct kunit *test)
{
	struct kpt_probe *pr = probe_on_two(test, false);
	unsigned long began, least = ULONG_MAX;
	unsigned int i, tries;
	struct file *file;
	char __user *buf;
	struct way *w;
	loff_t pos;

	kpt_needs_debugfs(test);
	buf = (char __user *)kpt_user_area(test, PAGE_SIZE);
	w = divert(test, pr);
	/* Each wait would be a second. A machine that is slow is not slow each time. */
	for (tries = 0; tries < 3 && least >= 3 * HZ; tries++) {
		file = kpt_open(test, &kpt_debugfs, "kprobes/list", O_RDONLY);
		began = jiffies;
		for (i = 0; i < 5; i++) {
			pos = 0;
			KUNIT_EXPECT_GT(test, file->f_op->read(file, buf, PAGE_SIZE, &pos), 0l);
		}
		least = min(least, jiffies - began);
		fput(file);
	}
	KUNIT_EXPECT_LT(test, least, 3ul * HZ);
	let_go(test, w);
}

/* A fatal signal ends the wait. Each would be a second, see above. */
static void reader_that_is_killed_does_not_wait(struct kunit *test)
{
	struct kpt_probe *pr = probe_on_two(test, false);
	unsigned long began, least = ULONG_MAX;
	unsigned int tries;
	char __user *buf;
	struct file *file;
	struct way *w;
	loff_t pos;

	kpt_needs_debugfs(test);
	buf = (char __user *)kpt_user_area(test, PAGE_SIZE);
	w = divert(test, pr);
	for (tries = 0; tries < 3 && least >= HZ / 2; tries++) {
		allow_signal(SIGKILL);
		send_sig(SIGKILL, current, 1);
		began = jiffies;
		file = kpt_open(test, &kpt_debugfs, "kprobes/list", O_RDONLY);
		pos = 0;
		KUNIT_EXPECT_GT(test, file->f_op->read(file, buf, PAGE_SIZE, &pos), 0l);
		least = min(least, jiffies - began);
		KUNIT_EXPECT_TRUE(test, fatal_signal_pending(current));
		flush_signals(current);
		disallow_signal(SIGKILL);
		fput(file);
	}
	KUNIT_EXPECT_LT(test, least, HZ / 2ul);
	let_go(test, w);
}

/* The detour that has been made calls the handlers that were there before. */
static void counting_is_switched_on_the_way(struct kunit *test)
{
	static const char *const column[] = { "-", "2" };
	unsigned int on;
	const char *line;
	char hits[24];
	struct way *w;
	int found;

	kpt_needs_debugfs(test);
	/* Ends with counting off, as it was. */
	for (on = 2; on--; ) {
		struct kpt_probe *pr = probe_on_two(test, false);

		kpt_write(test, &kpt_debugfs, "kprobes/hits", on ? "0" : "1");
		w = bring(test, pr);
		kpt_write(test, &kpt_debugfs, "kprobes/hits", on ? "1" : "0");
		call(test);
		let_go(test, w);
		expect_jump(test, pr);
		call(test);
		KUNIT_EXPECT_EQ(test, pr->pre, 2);
		/* After the address, how it is hit, and the number of probes. */
		line = kpt_jump_reason(test, &pr->kp);
		found = sscanf(line, "%*s %*s %*s %23s", hits);
		KUNIT_ASSERT_EQ_MSG(test, found, 1, "%s", line);
		KUNIT_EXPECT_STREQ(test, hits, column[on]);
		kpt_unregister(test, pr);
	}
}

static void all_switched_off_on_the_way(struct kunit *test)
{
	struct kpt_probe *pr = probe_on_two(test, false);
	unsigned char text[16];
	struct way *w;

	kpt_needs_debugfs(test);
	memcpy(text, AT(two), sizeof(text));
	w = bring(test, pr);
	KUNIT_ASSERT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/enabled", "0"), 1l);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kpt_all_on, test), 0);
	KUNIT_EXPECT_MEMEQ(test, text, AT(two), sizeof(text));
	let_go(test, w);
	KUNIT_EXPECT_MEMEQ(test, text, AT(two), sizeof(text));
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	kunit_release_action(test, kpt_all_on, test);
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

/* --- Waiting ---------------------------------------------------------------- */

/**
 * struct passes - how often a stage was reached
 * @stage: the stage
 * @times: so often
 */
struct passes {
	enum kprobe_stage stage;
	unsigned int times;
};

static void count_stage(enum kprobe_stage stage, void *arg)
{
	struct passes *p = arg;

	if (stage == p->stage)
		WRITE_ONCE(p->times, p->times + 1);
}

static struct passes *count_passes(struct kunit *test, enum kprobe_stage stage)
{
	struct passes *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->stage = stage;
	kpt_watch_stages(test, count_stage, p);
	return p;
}

/* Without a point that can become a jump, the worker does not wait for tasks. */
static void waiting_for_nothing_makes_no_detour(struct kunit *test)
{
	struct kprobe_counts before = kpt_counts(true), now;
	struct passes *waits = count_passes(test, KPROBE_STAGE_DIVERTED);
	struct kpt_probe *pr;

	wait_for_kprobe_optimizer();
	pr = kpt_alloc(test, AT(two));
	pr->kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
	pr = kpt_probe(test, AT(target));
	wait_for_kprobe_optimizer();
	expect_breakpoint(test, pr);
	KUNIT_EXPECT_EQ(test, waits->times, 0);
	now = kpt_counts(false);
	KUNIT_EXPECT_EQ(test, now.detours.taken, before.detours.taken);

	/* With such a point, it does. */
	pr = kpt_probe(test, AT(alone));
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	KUNIT_EXPECT_EQ(test, waits->times, 1);
}

/**
 * struct inside - a task that is preempted in the bytes that a jump will replace
 * @way:    the optimizer
 * @timer:  interrupts the task
 * @buffer: what the task fills
 * @result: what its function returned
 * @caught: the interrupt came when the task was there
 * @left:   the task runs again
 * @over:   the CPU is free again
 * @ready:  the thread that keeps the CPU is a real-time task
 * @hogged: tells it to begin
 */
struct inside {
	struct way *way;
	struct hrtimer timer;
	void *buffer;
	unsigned long result;
	bool caught;
	bool left;
	bool over;
	bool ready;
	struct completion hogged;
};

static enum hrtimer_restart catch(struct hrtimer *timer)
{
	struct inside *in = container_of(timer, struct inside, timer);
	struct pt_regs *regs = get_irq_regs();

	if (regs && regs->ip == (unsigned long)AT(fills) + KPT_FILLS_SECOND) {
		in->caught = true;
		complete(&in->hogged);
	}
	return HRTIMER_NORESTART;
}

/* A real-time task that an interrupt has woken up runs as soon as the interrupt is over. */
static int hog_cpu(void *arg)
{
	struct inside *in = arg;
	unsigned long deadline;

	sched_set_fifo(current);
	WRITE_ONCE(in->ready, true);
	while (!kthread_should_stop()) {
		if (!wait_for_completion_timeout(&in->hogged, HZ / 10))
			continue;
		deadline = jiffies + msecs_to_jiffies(KPT_TIMEOUT_MS);
		/* The optimizer must not have to wait for this task. */
		while (!READ_ONCE(in->over) && time_before(jiffies, deadline))
			cond_resched_tasks_rcu_qs();
	}
	return 0;
}

static int fill_buffer(void *arg)
{
	struct inside *in = arg;
	unsigned int tries;

	/* Whatever real-time tasks do, the scheduler leaves some time to other tasks. */
	sched_set_fifo_low(current);
	for (tries = 0; tries < 1000 && !in->caught && !kthread_should_stop(); tries++) {
		hrtimer_start(&in->timer, ns_to_ktime((1 + tries % 20) * 20 * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_PINNED_HARD);
		in->result = kpt_jump_fills((unsigned long)in->buffer);
		WRITE_ONCE(in->left, in->caught);
		hrtimer_cancel(&in->timer);
		cond_resched_tasks_rcu_qs();
	}
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

static void stop_hogging(void *in)
{
	WRITE_ONCE(((struct inside *)in)->over, true);
}

/* Returns false if the task was not preempted long enough, which is up to the scheduler. */
static bool wait_for_task_inside(struct kunit *test)
{
	struct inside *in = kunit_kzalloc(test, sizeof(*in), GFP_KERNEL);
	unsigned int cpu = raw_smp_processor_id(), other;
	struct task_struct *task, *hog;
	struct kpt_probe *pr;
	bool jump, left;

	KUNIT_ASSERT_NOT_NULL(test, in);
	in->buffer = kunit_kmalloc(test, KPT_FILLS_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, in->buffer);
	hrtimer_init(&in->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	in->timer.function = catch;
	init_completion(&in->hogged);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	other = cpumask_any_but(cpu_online_mask, cpu);
	pr = kpt_alloc(test, AT(fills));
	hog = kpt_thread(test, hog_cpu, in, other, "hog");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stop_hogging, in), 0);
	/* Until then, the other task would not let it run at all. */
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(in->ready)));
	task = kpt_thread(test, fill_buffer, in, other, "fills");
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(in->caught)));

	in->way = divert(test, pr);
	kunit_release_action(test, release_optimizer, in->way);
	msleep(200);
	jump = text_at(pr->kp.addr) == JMP32_INSN_OPCODE;
	left = READ_ONCE(in->left);
	KUNIT_EXPECT_TRUE_MSG(test, !jump || left, "a jump while a task is in its bytes");
	kunit_release_action(test, stop_hogging, in);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(READ_ONCE(in->left)));
	KUNIT_EXPECT_EQ(test, in->result, KPT_RESULT((unsigned long)in->buffer));
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_fills((unsigned long)in->buffer),
			KPT_RESULT((unsigned long)in->buffer));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	kpt_unregister(test, pr);
	kpt_stop(test, task);
	kpt_stop(test, hog);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	return !left;
}

static void task_in_the_bytes_is_waited_for(struct kunit *test)
{
	unsigned int tries;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	if (!preempt_model_preemptible())
		kunit_skip(test, "no task is preempted there");
	for (tries = 0; tries < 10; tries++) {
		if (wait_for_task_inside(test))
			return;
	}
	KUNIT_FAIL(test, "the task went on each time");
}

/* --- What a handler leaves to be done --------------------------------------- */

static int pre_asks_to_reschedule(struct kpt_probe *pr, struct pt_regs *regs)
{
	set_tsk_need_resched(current);
	set_preempt_need_resched();
	return 0;
}

/* It must not wait for the next interrupt. A single probe is called by its detour. */
static void reschedule_that_a_handler_has_delayed_is_done(struct kunit *test)
{
	unsigned int several, left, i;
	struct kpt_probe *pr;

	if (!preempt_model_preemptible())
		kunit_skip(test, "no task is preempted there");
	pr = kpt_alloc(test, AT(two));
	pr->on_pre = pre_asks_to_reschedule;
	kpt_register(test, pr);
	for (several = 0; several < 2; several++) {
		if (several)
			kpt_probe(test, AT(two));
		wait_for_kprobe_optimizer();
		expect_jump(test, pr);
		left = 0;
		for (i = 0; i < 10; i++) {
			call(test);
			left += need_resched();
		}
		KUNIT_EXPECT_LT_MSG(test, left, 5, "several %u", several);
	}
	KUNIT_EXPECT_EQ(test, pr->pre, 20);
}

/* --- What a debugger does meanwhile ---------------------------------------- */

/**
 * struct debugger - sets a breakpoint once the jump is planned
 * @pr:	   the probe whose point becomes the jump
 * @addr:  where
 * @alias: the same, to be written
 * @was:   what was there
 * @times: how often a jump was planned
 * @gone:  there is no breakpoint at the next plan
 *
 * On a slow machine, the optimizer tries again before the test has looked. The kernel does not
 * know this breakpoint as one of a debugger, and would find an instruction that may not be
 * displaced. So it is not there while a jump is planned.
 */
struct debugger {
	struct kpt_probe *pr;
	unsigned char *addr;
	unsigned char *alias;
	unsigned char was;
	unsigned int times;
	bool gone;
};

static void set_breakpoint(enum kprobe_stage stage, void *arg)
{
	struct debugger *d = arg;

	if (stage == KPROBE_STAGE_CHOSEN && d->times)
		WRITE_ONCE(*d->alias, d->was);
	if (stage != KPROBE_STAGE_PLANNED)
		return;
	d->times++;
	if (!READ_ONCE(d->gone))
		WRITE_ONCE(*d->alias, INT3_INSN_OPCODE);
}

static void expect_waiting_for_debugger(struct kunit *test, struct kpt_probe *pr)
{
	const char *reason = kpt_reason_between_tries(test, &pr->kp);

	expect_breakpoint(test, pr);
	KUNIT_EXPECT_TRUE_MSG(test, *reason == '(' ||
			      strstr(reason, "  a debugger has a breakpoint there"), "%s", reason);
}

static struct debugger *debugger_on_the_way(struct kunit *test, unsigned char *addr)
{
	struct debugger *d = kunit_kzalloc(test, sizeof(*d), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, d);
	wait_for_kprobe_optimizer();
	d->addr = addr;
	d->alias = kpt_writable(test, d->addr);
	d->was = *d->addr;
	KUNIT_ASSERT_EQ(test, *d->alias, d->was);
	kpt_watch_stages(test, set_breakpoint, d);
	d->pr = kpt_probe(test, AT(nops));
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_GE(test, d->times, 1);
	expect_waiting_for_debugger(test, d->pr);
	return d;
}

static void check_debugger_on_the_way(struct kunit *test, unsigned char *addr)
{
	struct debugger *d = debugger_on_the_way(test, addr);

	/* After this, no jump is planned. */
	kpt_unregister(test, d->pr);
	kpt_unwatch_stages(test);
	KUNIT_EXPECT_EQ(test, text_at(d->addr), INT3_INSN_OPCODE);
	WRITE_ONCE(*d->alias, d->was);
}

static void breakpoint_of_a_debugger_on_the_way_is_left_alone(struct kunit *test)
{
	struct kpt_probe *pr;
	unsigned int i;

	for (i = 1; i < KPT_JUMP_SIZE; i++)
		check_debugger_on_the_way(test, AT(nops) + i);

	/* Without the debugger there is a jump. */
	pr = kpt_probe(test, AT(nops));
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_nops(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

static void expect_erased(struct kunit *test, const void *slot)
{
	unsigned int i;

	for (i = 0; i < __ARCH_KPROBE_DETOUR_SIZE; i++)
		KUNIT_ASSERT_EQ_MSG(test, text_at(slot + i), INT3_INSN_OPCODE, "byte %u", i);
}

/* The next detour is in the slot that the last one has left, as it is the first free one. */
static void detour_that_is_given_up_is_erased(struct kunit *test)
{
	struct kpt_probe *pr;
	const void *slot;

	kpt_counts(true);
	/* Its slot keeps the page. */
	kpt_probe(test, AT(alone));
	pr = kpt_probe(test, AT(nops));
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	slot = kpt_insn_at(AT(nops)).detour;
	kpt_unregister(test, pr);
	kpt_counts(true);
	check_debugger_on_the_way(test, AT(nops) + 1);
	kpt_counts(true);
	expect_erased(test, slot);
}

static void detour_that_is_given_back_is_erased(struct kunit *test)
{
	struct kpt_probe *pr;
	const void *slot;

	/* Its slot keeps the page. */
	kpt_probe(test, AT(alone));
	pr = kpt_probe(test, AT(two));
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	slot = kpt_insn_at(AT(two)).detour;
	kpt_unregister(test, pr);
	kpt_counts(true);
	expect_erased(test, slot);
}

static void pages_of_detours_are_in_kallsyms(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, AT(two));
	unsigned int symnum, nr = 0, unknown = 0;
	char name[KSYM_NAME_LEN], type;
	unsigned long addr, slot;
	bool found = false;

	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	slot = (unsigned long)kpt_insn_at(AT(two)).detour;
	for (symnum = 0; !kprobe_get_kallsym(symnum, &addr, &type, name); symnum++) {
		if (strcmp(name, "kprobe_optinsn_page"))
			continue;
		nr++;
		unknown += type != 't' || !is_kprobe_optinsn_slot(addr) ||
			   is_kprobe_insn_slot(addr);
		found |= slot >= addr && slot - addr < PAGE_SIZE;
	}
	KUNIT_EXPECT_EQ(test, nr, kpt_counts(false).detours.pages);
	KUNIT_EXPECT_EQ(test, unknown, 0);
	KUNIT_EXPECT_TRUE(test, found);
}

static void expect_jump_within(struct kunit *test, struct kpt_probe *pr, unsigned int seconds)
{
	unsigned long deadline = jiffies + seconds * HZ;

	while (!kprobe_optimized(&pr->kp) && time_before(jiffies, deadline))
		msleep(20);
	expect_jump(test, pr);
}

static void jump_comes_when_the_breakpoint_on_the_way_is_gone(struct kunit *test)
{
	struct debugger *d = debugger_on_the_way(test, AT(nops) + 1);

	WRITE_ONCE(d->gone, true);
	expect_jump_within(test, d->pr, 30);
	KUNIT_EXPECT_EQ(test, kpt_jump_nops(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, d->pr->pre, 1);
}

static void debugger_leaves(void *addr)
{
	kprobe_test_debug((unsigned long)addr, false);
}

static void need_debugger(struct kunit *test)
{
	/* kgdb patches text with interrupts off, under a lock that sleeps on RT. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "kgdb cannot patch text there");
	if (!IS_ENABLED(CONFIG_KGDB))
		kunit_skip(test, "needs CONFIG_KGDB");
}

/* @at: anywhere in the function of AT(two) */
static void check_debugger_before(struct kunit *test, unsigned char *at)
{
	struct kpt_probe *pr;

	need_debugger(test);
	KUNIT_ASSERT_EQ(test, kprobe_test_debug((unsigned long)at, true), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, debugger_leaves, at), 0);
	KUNIT_ASSERT_EQ(test, text_at(at), INT3_INSN_OPCODE);
	pr = kpt_probe(test, AT(two));
	wait_for_kprobe_optimizer();
	expect_waiting_for_debugger(test, pr);
	/* The next try also fails. */
	msleep(1500);
	wait_for_kprobe_optimizer();
	expect_breakpoint(test, pr);

	kunit_release_action(test, debugger_leaves, at);
	KUNIT_ASSERT_NE(test, text_at(at), INT3_INSN_OPCODE);
	expect_jump_within(test, pr, 30);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	kpt_unregister(test, pr);
}

/* The decoder cannot know the instruction under the breakpoint, nor its length. */
static void jump_waits_for_a_debugger_elsewhere_in_the_function(struct kunit *test)
{
	check_debugger_before(test, AT(two) + KPT_JUMP_SIZE);
}

static void jump_waits_for_a_debugger_in_its_bytes(struct kunit *test)
{
	check_debugger_before(test, AT(two) + KPT_TWO_SECOND);
}

/**
 * struct padding - a debugger that sets a breakpoint in padding once the jump is planned
 * @addr:    where
 * @planned: the jump is planned
 * @set:     the breakpoint is set
 * @err:     or the error
 */
struct padding {
	unsigned char *addr;
	struct completion planned;
	struct completion set;
	int err;
};

static void await_breakpoint(enum kprobe_stage stage, void *arg)
{
	struct padding *pa = arg;

	if (stage != KPROBE_STAGE_PLANNED || completion_done(&pa->set))
		return;
	complete(&pa->planned);
	wait_for_completion_timeout(&pa->set, msecs_to_jiffies(KPT_TIMEOUT_MS));
}

static int set_in_padding(void *arg)
{
	struct padding *pa = arg;

	if (wait_for_completion_timeout(&pa->planned, msecs_to_jiffies(KPT_TIMEOUT_MS)))
		pa->err = kprobe_test_debug((unsigned long)pa->addr, true);
	complete_all(&pa->set);
	while (!kthread_should_stop())
		usleep_range(500, 1000);
	return 0;
}

/* The bytes are the same as before. */
static void breakpoint_that_a_debugger_sets_in_padding_on_the_way_is_noticed(struct kunit *test)
{
	struct kpt_probe *pr;
	struct padding *pa;
	unsigned int i;

	need_debugger(test);
	for (i = 1; i < KPT_JUMP_SIZE; i++) {
		pa = kunit_kzalloc(test, sizeof(*pa), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, pa);
		init_completion(&pa->planned);
		init_completion(&pa->set);
		pa->addr = AT(padded) + i;
		pa->err = -ETIMEDOUT;
		KUNIT_ASSERT_EQ(test, *pa->addr, INT3_INSN_OPCODE);
		kpt_watch_stages(test, await_breakpoint, pa);
		kpt_thread(test, set_in_padding, pa, -1, "debugger");
		pr = kpt_probe(test, AT(padded));
		wait_for_kprobe_optimizer();
		kpt_unwatch_stages(test);
		KUNIT_ASSERT_EQ(test, pa->err, 0);
		expect_waiting_for_debugger(test, pr);
		debugger_leaves(pa->addr);
		expect_jump_within(test, pr, 30);
		KUNIT_EXPECT_EQ(test, kpt_jump_padded(7), KPT_RESULT(7ul));
		kpt_unregister(test, pr);
	}
}

/* --- No memory for a detour ------------------------------------------------- */

static void memory_is_back(void *unused)
{
	WRITE_ONCE(kprobe_test_no_detours, false);
}

static bool tries_within(struct passes *plans, unsigned int times, unsigned int seconds)
{
	unsigned long deadline = jiffies + seconds * HZ;

	while (READ_ONCE(plans->times) < times && time_before(jiffies, deadline))
		msleep(20);
	return READ_ONCE(plans->times) >= times;
}

/*
 * Waits until the worker has asked for memory this often, and returns when it did. The delays
 * of its tries add up.
 */
static unsigned long wait_for_tries(struct kunit *test, struct passes *plans, unsigned int times)
{
	unsigned long when;

	KUNIT_ASSERT_TRUE(test, tries_within(plans, times, 30));
	when = jiffies;
	wait_for_kprobe_optimizer();
	return when;
}

static void point_without_memory_tries_again(struct kunit *test)
{
	struct passes *plans = count_passes(test, KPROBE_STAGE_PLANNED);
	struct kpt_probe *pr, *another;
	const char *reason;

	WRITE_ONCE(kprobe_test_no_detours, true);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, memory_is_back, NULL), 0);
	pr = kpt_probe(test, AT(two));
	another = kpt_probe(test, AT(alone));
	wait_for_kprobe_optimizer();
	expect_breakpoint(test, pr);
	reason = kpt_reason_between_tries(test, &pr->kp);
	KUNIT_EXPECT_TRUE_MSG(test, *reason == '(' || strstr(reason, "  out of memory"),
			      "%s", reason);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	/* The next try of each also fails. */
	wait_for_tries(test, plans, 4);
	expect_breakpoint(test, pr);

	kunit_release_action(test, memory_is_back, NULL);
	expect_jump_within(test, pr, 30);
	expect_jump_within(test, another, 30);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
}

/*
 * The next try of the first point is far off, but another point gets memory before that. False
 * if the point does not become a jump long before that try, as when the machine has stalled, or
 * when the grace period of the other point took too long.
 */
static bool long_wait_is_ended(struct kunit *test, struct passes *plans)
{
	struct kpt_probe *pr, *another;
	bool in_time, pending;
	unsigned long next;

	WRITE_ONCE(plans->times, 0);
	WRITE_ONCE(kprobe_test_no_detours, true);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, memory_is_back, NULL), 0);
	pr = kpt_probe(test, AT(two));
	/* Tries after 1, 2 and 4 more seconds fail. The next one is 8 seconds later. */
	next = wait_for_tries(test, plans, 4) + 8 * HZ;
	in_time = kprobe_test_retry_delay(&pending) == 8ul * HZ && pending;
	expect_breakpoint(test, pr);
	kunit_release_action(test, memory_is_back, NULL);
	another = kpt_probe(test, AT(alone));
	wait_for_kprobe_optimizer();
	expect_jump(test, another);
	in_time = in_time && time_before(jiffies, next - 5 * HZ) && tries_within(plans, 6, 10) &&
		  time_before(jiffies, next - HZ);
	expect_jump_within(test, pr, 30);
	kpt_unregister(test, another);
	kpt_unregister(test, pr);
	return in_time;
}

/* The next point without memory waits one second, not 8 or more. False as above. */
static bool next_wait_is_short(struct kunit *test, struct passes *plans)
{
	struct kpt_probe *pr;
	unsigned int tries;
	bool in_time;

	WRITE_ONCE(plans->times, 0);
	WRITE_ONCE(kprobe_test_no_detours, true);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, memory_is_back, NULL), 0);
	pr = kpt_probe(test, AT(alone));
	wait_for_tries(test, plans, 1);
	expect_breakpoint(test, pr);
	tries = READ_ONCE(plans->times);
	kunit_release_action(test, memory_is_back, NULL);
	in_time = tries_within(plans, tries + 1, 6);
	expect_jump_within(test, pr, 30);
	kpt_unregister(test, pr);
	return in_time;
}

static void memory_for_another_point_ends_a_long_wait(struct kunit *test)
{
	struct passes *plans = count_passes(test, KPROBE_STAGE_PLANNED);
	unsigned int tries = 0;

	while (!(long_wait_is_ended(test, plans) && next_wait_is_short(test, plans)) &&
	       ++tries < 5)
		kunit_info(test, "the next try was late");
	KUNIT_EXPECT_LT(test, tries, 5);
}

static bool no_more_tries(void)
{
	bool pending;

	kprobe_test_retry_delay(&pending);
	return !pending;
}

static void leaves(struct kunit *test, struct kpt_probe *pr)
{
	kpt_unregister(test, pr);
}

static void is_disabled(struct kunit *test, struct kpt_probe *pr)
{
	KUNIT_EXPECT_EQ(test, disable_kprobe(&pr->kp), 0);
}

static void is_forbidden(struct kunit *test, struct kpt_probe *pr)
{
	kpt_forbid_jumps(test);
}

typedef void end_t(struct kunit *test, struct kpt_probe *pr);

/* False also if the machine has stalled: a try comes between the first one and the end. */
static bool wait_is_short_after(struct kunit *test, struct passes *plans, end_t *end)
{
	struct kpt_probe *another = kpt_probe(test, AT(alone)), *pr;
	unsigned long delay;
	bool pending, none;

	/* The detour of the other point makes waits short, whatever they were before. */
	wait_for_kprobe_optimizer();
	expect_jump(test, another);
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(no_more_tries()));
	WRITE_ONCE(kprobe_test_no_detours, true);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, memory_is_back, NULL), 0);
	WRITE_ONCE(plans->times, 0);
	pr = kpt_probe(test, AT(two));
	wait_for_tries(test, plans, 1);
	expect_breakpoint(test, pr);
	kprobe_test_retry_delay(&pending);
	end(test, pr);
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(no_more_tries()));
	delay = kprobe_test_retry_delay(&none);
	kunit_release_action(test, memory_is_back, NULL);
	if (end == is_forbidden)
		kpt_allow_jumps(test);
	if (end != leaves)
		kpt_unregister(test, pr);
	kpt_unregister(test, another);
	return pending && delay == HZ;
}

/*
 * The only point that waits goes meanwhile, or cannot be a jump any more: the next one that
 * has to wait waits one second.
 */
static void waits_are_short_again_after_a_try_for_no_point(struct kunit *test)
{
	static end_t *const ends[] = { leaves, is_disabled, is_forbidden };
	struct passes *plans = count_passes(test, KPROBE_STAGE_PLANNED);
	unsigned int i, tries;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		for (tries = 0; tries < 5 && !wait_is_short_after(test, plans, ends[i]); tries++)
			;
		KUNIT_EXPECT_LT_MSG(test, tries, 5, "%u", i);
	}
}

/* The manual promises a try each minute. */
static void tries_are_a_minute_apart_at_most(struct kunit *test)
{
	struct passes *plans = count_passes(test, KPROBE_STAGE_PLANNED);
	unsigned int tries;
	struct kpt_probe *pr;
	bool pending;

	KUNIT_ASSERT_TRUE(test, kpt_wait_until(no_more_tries()));
	WRITE_ONCE(kprobe_test_no_detours, true);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, memory_is_back, NULL), 0);
	pr = kpt_probe(test, AT(two));
	wait_for_tries(test, plans, 1);
	tries = READ_ONCE(plans->times);
	kprobe_test_retry_at_most();
	KUNIT_EXPECT_TRUE(test, tries_within(plans, tries + 1, 30));
	expect_breakpoint(test, pr);
	KUNIT_EXPECT_EQ(test, kprobe_test_retry_delay(&pending), 60ul * HZ);
	/* The try of a second ago may have come in between. */
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(!no_more_tries()));

	/* A detour of another point ends the wait. */
	kunit_release_action(test, memory_is_back, NULL);
	kpt_probe(test, AT(alone));
	expect_jump_within(test, pr, 30);
	KUNIT_EXPECT_EQ(test, kprobe_test_retry_delay(&pending), (unsigned long)HZ);
}

/* --- Many points ------------------------------------------------------------ */

/* Otherwise a stream of them would keep all points from becoming jumps. */
static void points_that_come_do_not_put_the_worker_off(struct kunit *test)
{
	struct passes *chosen = count_passes(test, KPROBE_STAGE_CHOSEN);
	unsigned int i;

	/* One every few milliseconds: unregistering would take longer than the worker's delay. */
	for (i = 0; !READ_ONCE(chosen->times) && i < 300; i++) {
		kpt_probe(test, kpt_long_text + kpt_long_text_starts[i]);
		usleep_range(1000, 2000);
	}
	KUNIT_EXPECT_GE(test, chosen->times, 1);
	KUNIT_EXPECT_LT(test, i, 300);
}

/*
 * The optimizer keeps the mutex for one round at a time. There are several rounds, as the task
 * that waits for the mutex may be late.
 */
#define ROUND		32
#define MANY_POINTS	(4 * ROUND + 1)

/* kpt_long_text repeats 14 instructions: these of them are as long as a jump. */
static const u8 long_ones[] = { 0, 3, 4, 5, 6, 8, 10 };

/**
 * struct many - points that become jumps together
 * @pr:	     their probes; those after MANY_POINTS come when the first has its detour
 * @go:	     the optimizer may go on with the first
 * @planned: detours begun until the optimizer waited for tasks for the first time
 * @armed:   how many of them when the latest probe came
 * @waits:   it has waited
 * @hold_ms: how long it works on each, without sleeping
 * @for_ms:  how long it works, at most, on the first of a round, until @passed
 * @rcu:     a grace period of tasks-RCU that begins with the first detour
 * @passed:  that has ended
 * @ended:   it had when the optimizer waited for tasks
 */
struct many {
	struct kpt_probe *pr[MANY_POINTS + ROUND];
	struct completion go;
	unsigned int planned;
	unsigned int armed;
	bool waits;
	unsigned int hold_ms;
	unsigned int for_ms;
	struct rcu_head rcu;
	bool passed;
	bool ended;
};

#ifdef CONFIG_TASKS_RCU
static void many_passed(struct rcu_head *rcu)
{
	WRITE_ONCE(container_of(rcu, struct many, rcu)->passed, true);
}
#endif

/* The grace period has begun to wait for this task, the worker, in the first round. */
static void begin_many(struct many *m)
{
#ifdef CONFIG_TASKS_RCU
	unsigned int ms;

	call_rcu_tasks(&m->rcu, many_passed);
	for (ms = 0; ms < m->for_ms && !READ_ONCE(current->rcu_tasks_holdout); ms++)
		mdelay(1);
#endif
}

static void watch_many(enum kprobe_stage stage, void *arg)
{
	struct many *m = arg;
	unsigned int ms;

	/* The optimizer cannot go on now: it needs the mutex. */
	if (stage == KPROBE_STAGE_ARMED)
		m->armed = m->planned;
	if (READ_ONCE(m->waits))
		return;
	if (stage == KPROBE_STAGE_PLANNED) {
		WRITE_ONCE(m->planned, m->planned + 1);
		/* This may sleep, for which a grace period would not have to wait. */
		wait_for_completion_timeout(&m->go, msecs_to_jiffies(KPT_TIMEOUT_MS));
		if (m->planned == 1)
			begin_many(m);
		mdelay(m->hold_ms);
		if (m->planned > 1 && m->planned % ROUND == 1) {
			for (ms = 0; ms < m->for_ms && !READ_ONCE(m->passed); ms++)
				mdelay(1);
		}
	} else if (stage == KPROBE_STAGE_DIVERTED) {
		m->ended = READ_ONCE(m->passed);
		WRITE_ONCE(m->waits, true);
	}
}

static void unwatch_many(void *arg)
{
	complete_all(&((struct many *)arg)->go);
	kprobe_test_stop(NULL, NULL);
#ifdef CONFIG_TASKS_RCU
	rcu_barrier_tasks();
#endif
}

/* Queues all of them at the same time. */
static struct many *many_at_once(struct kunit *test, unsigned int hold_ms)
{
	struct many *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned int i, n;

	KUNIT_ASSERT_NOT_NULL(test, m);
	init_completion(&m->go);
	m->hold_ms = hold_ms;
	kpt_forbid_jumps(test);
	for (i = 0; i < ARRAY_SIZE(m->pr); i++) {
		n = i / ARRAY_SIZE(long_ones) * 14 + long_ones[i % ARRAY_SIZE(long_ones)];
		m->pr[i] = kpt_alloc(test, kpt_long_text + kpt_long_text_starts[n]);
		if (i < MANY_POINTS)
			kpt_register(test, m->pr[i]);
	}
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unwatch_many, m), 0);
	kprobe_test_stop(watch_many, m);
	kpt_queue_jumps(test);
	return m;
}

static void points_that_come_meanwhile_do_not_keep_others_from_their_jumps(struct kunit *test)
{
	struct many *m = many_at_once(test, 10);
	unsigned int i;

	KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(m->planned)));
	complete_all(&m->go);
	for (i = MANY_POINTS; i < ARRAY_SIZE(m->pr) && !READ_ONCE(m->waits); i++)
		kpt_register(test, m->pr[i]);
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(m->waits)));
	KUNIT_EXPECT_GT(test, i, MANY_POINTS + 0U);
	KUNIT_EXPECT_EQ(test, m->planned, MANY_POINTS);
	wait_for_kprobe_optimizer();
}

/* The detours of thousands of points take seconds to make. */
static void probe_is_registered_while_many_detours_are_made(struct kunit *test)
{
	struct many *m = many_at_once(test, 20);

	KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(m->planned)));
	complete_all(&m->go);
	kpt_register(test, m->pr[MANY_POINTS]);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(READ_ONCE(m->waits)));
	KUNIT_EXPECT_GT(test, m->armed, 0);
	KUNIT_EXPECT_LT(test, m->armed, MANY_POINTS);
	wait_for_kprobe_optimizer();
}

/* The slots of other probes wait for such grace periods, and live patches may, too. */
static void grace_periods_end_while_many_detours_are_made(struct kunit *test)
{
	unsigned int tries;
	struct many *m;

	if (!IS_ENABLED(CONFIG_TASKS_RCU))
		kunit_skip(test, "tasks-RCU is RCU");
	/*
	 * It checks once a second whether the worker has reached the end of a round. An
	 * earlier one may have to end first.
	 */
	m = many_at_once(test, 20);
	m->for_ms = 6000;
	complete_all(&m->go);
	for (tries = 0; tries < 5 && !READ_ONCE(m->waits); tries++)
		kpt_wait_until(READ_ONCE(m->waits));
	KUNIT_ASSERT_TRUE(test, m->waits);
	KUNIT_EXPECT_TRUE(test, m->ended);
}

#define WAY_CASE(fn)	KUNIT_CASE_PARAM(fn, way_gen)

static struct kunit_case way_cases[] = {
	WAY_CASE(hits_on_the_way_are_hits),
	WAY_CASE(hits_go_on_in_the_detour_once_there_is_one),
#if defined(CONFIG_STACKTRACE) && defined(CONFIG_HAVE_RELIABLE_STACKTRACE)
	WAY_CASE(reliable_walks_find_the_function_or_fail),
#endif
	KUNIT_CASE(post_handlers_go_on_in_the_detour_once_there_is_one),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(step_over_a_handler_goes_on_in_the_detour_once_there_is_one),
#endif
	WAY_CASE(changed_ip_on_the_way_is_honoured),
	WAY_CASE(changed_ip_into_the_bytes_of_another_on_the_way),
	WAY_CASE(unregistered_on_the_way_it_leaves_the_text_alone),
	WAY_CASE(disabled_on_the_way_it_leaves_the_text_alone),
	WAY_CASE(disabled_and_enabled_on_the_way_it_sets_out_again),
	WAY_CASE(probe_added_on_the_way_is_hit_too),
	KUNIT_CASE(reason_is_forgotten_when_a_point_sets_out_again),
	WAY_CASE(neighbour_set_on_the_way_keeps_it_a_breakpoint),
	WAY_CASE(jumps_switched_off_on_the_way),
	WAY_CASE(list_is_read_on_the_way),
	KUNIT_CASE_SLOW(reader_waits_for_points_that_were_queued_meanwhile),
	KUNIT_CASE_SLOW(list_that_is_begun_again_does_not_wait_again),
	KUNIT_CASE(reader_that_is_killed_does_not_wait),
	WAY_CASE(counting_is_switched_on_the_way),
	WAY_CASE(all_switched_off_on_the_way),
	KUNIT_CASE(every_cpu_is_interrupted_before_a_detour_is_freed),
#ifdef CONFIG_HOTPLUG_CPU
	KUNIT_CASE(no_cpu_comes_or_goes_while_jumps_are_written),
#endif
	KUNIT_CASE(detour_stays_until_no_handler_runs),
	KUNIT_CASE(every_cpu_is_there_and_interrupted_before_tasks_are_waited_for),
	KUNIT_CASE(waiting_for_nothing_makes_no_detour),
	KUNIT_CASE_SLOW(task_in_the_bytes_is_waited_for),
	KUNIT_CASE(reschedule_that_a_handler_has_delayed_is_done),
	KUNIT_CASE(breakpoint_of_a_debugger_on_the_way_is_left_alone),
	KUNIT_CASE(detour_that_is_given_up_is_erased),
	KUNIT_CASE(detour_that_is_given_back_is_erased),
	KUNIT_CASE(pages_of_detours_are_in_kallsyms),
	KUNIT_CASE_SLOW(jump_comes_when_the_breakpoint_on_the_way_is_gone),
	KUNIT_CASE_SLOW(breakpoint_that_a_debugger_sets_in_padding_on_the_way_is_noticed),
	KUNIT_CASE_SLOW(jump_waits_for_a_debugger_elsewhere_in_the_function),
	KUNIT_CASE_SLOW(jump_waits_for_a_debugger_in_its_bytes),
	KUNIT_CASE_SLOW(point_without_memory_tries_again),
	KUNIT_CASE_SLOW(memory_for_another_point_ends_a_long_wait),
	KUNIT_CASE_SLOW(waits_are_short_again_after_a_try_for_no_point),
	KUNIT_CASE_SLOW(tries_are_a_minute_apart_at_most),
	KUNIT_CASE(points_that_come_do_not_put_the_worker_off),
	KUNIT_CASE_SLOW(points_that_come_meanwhile_do_not_keep_others_from_their_jumps),
	KUNIT_CASE_SLOW(probe_is_registered_while_many_detours_are_made),
	KUNIT_CASE_SLOW(grace_periods_end_while_many_detours_are_made),
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite way_suite = {
	.name = "kprobes_diverted",
	.suite_init = kpt_files_suite_init,
	.suite_exit = kpt_unmount_files,
	.init = kpt_case_init,
	.test_cases = way_cases,
};

kunit_test_suite(way_suite);
