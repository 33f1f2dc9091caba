// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Concurrent batches: several threads set and remove probes on the same addresses
 * at once. Each thread has to see every hit that it causes itself while its own
 * probes are set, whatever the other threads do to the points meanwhile.
 */
#include <linux/completion.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/log2.h>
#include <linux/string.h>

#include "fixture.h"
#if defined(CONFIG_X86) && defined(CONFIG_OPTPROBES)
#include "jump_x86.h"
#endif

#define NR_THREADS	3
/* With KCSAN, all of them take longer than KUnit lets a case run. */
#define NR_ROUNDS	(IS_ENABLED(CONFIG_KCSAN) ? 4 : 25)
#define NR_CALLS	20
/* These are never executed: the probes on them only share points, and bytes of jumps. */
#define NR_IDLE		32

static const kpt_fn_t called[] = { kpt_plain, kpt_traced, kpt_plain2, kpt_traced2 };

#define NR_CALLED	ARRAY_SIZE(called)
#define NR_PROBES	(NR_CALLED + NR_IDLE)

/**
 * struct member - one probe of a thread
 * @kp:	   the probe
 * @owner: the thread whose hits it counts
 * @hits:  their number
 */
struct member {
	struct kprobe kp;
	struct task_struct *owner;
	unsigned long hits;
};

/**
 * struct party - a thread with its batch
 * @nr:	   which one
 * @set:   its probes
 * @batch: for the calls that take many
 * @error: of registering
 * @lost:  calls that were not seen, of each function
 * @missed: those of them that were counted as missed
 * @extra: hits after unregistering
 * @jumps: points that have become jumps
 * @done:  the thread has finished
 */
struct party {
	unsigned int nr;
	struct member set[NR_PROBES];
	struct kprobe *batch[NR_PROBES];
	int error;
	unsigned long lost[NR_CALLED];
	unsigned long missed;
	unsigned long extra;
	unsigned long jumps;
	struct completion done;
};

static int count_own(struct kprobe *kp, struct pt_regs *regs)
{
	struct member *m = container_of(kp, struct member, kp);

	if (current == m->owner)
		m->hits++;
	return 0;
}

static void count_own_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

static void call_all(void)
{
	unsigned int i, call;

	for (i = 0; i < NR_CALLED; i++) {
		for (call = 0; call < NR_CALLS; call++)
			called[i](call);
	}
}

static unsigned int fill(struct party *p)
{
	unsigned int i, n = 0;

	memset(p->set, 0, sizeof(p->set));
	for (i = 0; i < NR_CALLED; i++)
		p->set[n++].kp.addr = kpt_text(called[i]);
#ifdef CONFIG_X86
	/* Half of these points are common to all threads, the others adjoin another thread's. */
	for (i = 0; i < NR_IDLE; i++)
		p->set[n++].kp.addr = kpt_long_text +
			kpt_long_text_starts[i & 1 ? i : i + p->nr];
#endif
	for (i = 0; i < n; i++) {
		p->set[i].kp.pre_handler = count_own;
		/* Vary the kinds of handlers on the points as well. */
		if (i % NR_THREADS == p->nr)
			p->set[i].kp.post_handler = count_own_post;
		p->set[i].owner = current;
		p->batch[i] = &p->set[i].kp;
	}
	return n;
}

static int take_part(void *arg)
{
	struct party *p = arg;
	unsigned int round, i, n;

	for (round = 0; round < NR_ROUNDS && !p->error; round++) {
		n = fill(p);
		p->error = register_kprobes(p->batch, n);
		if (p->error)
			break;
		call_all();
		/* Sometimes give the optimizer time to make jumps. */
		if (round % 4 == p->nr) {
			wait_for_kprobe_optimizer();
			for (i = 0; i < NR_CALLED; i++)
				p->jumps += kprobe_optimized(&p->set[i].kp);
		}
		call_all();
		unregister_kprobes(p->batch, n);
		for (i = 0; i < NR_CALLED; i++) {
			p->lost[i] += 2 * NR_CALLS - p->set[i].hits;
			p->missed += p->set[i].kp.nmissed;
			p->set[i].hits = 0;
		}
		call_all();
		for (i = 0; i < n; i++)
			p->extra += p->set[i].hits;
	}
	complete(&p->done);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(HZ / 100);
	return 0;
}

static void threads_with_overlapping_batches_lose_no_hit(struct kunit *test)
{
	struct party *p = kunit_kcalloc(test, NR_THREADS, sizeof(*p), GFP_KERNEL);
	unsigned long jumps = 0;
	unsigned int i, fn;

	KUNIT_ASSERT_NOT_NULL(test, p);
	for (i = 0; i < NR_THREADS; i++) {
		p[i].nr = i;
		init_completion(&p[i].done);
	}
	for (i = 0; i < NR_THREADS; i++)
		kpt_thread(test, take_part, &p[i], -1, "batch");
	for (i = 0; i < NR_THREADS; i++)
		wait_for_completion(&p[i].done);
	for (i = 0; i < NR_THREADS; i++) {
		KUNIT_EXPECT_EQ(test, p[i].error, 0);
		for (fn = 0; fn < NR_CALLED; fn++)
			KUNIT_EXPECT_EQ_MSG(test, p[i].lost[fn], 0UL, "of %ps", called[fn]);
		KUNIT_EXPECT_EQ(test, p[i].missed, 0UL);
		KUNIT_EXPECT_EQ(test, p[i].extra, 0UL);
		jumps += p[i].jumps;
	}
	if (IS_ENABLED(CONFIG_X86) && IS_ENABLED(CONFIG_OPTPROBES))
		KUNIT_EXPECT_GT(test, jumps, 0UL);
}

#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_DYNAMIC_FTRACE_WITH_REGS)
/* --- Refused when it is armed ------------------------------------------------ */

/* The rival redirects calls to the function, as a live patch does. */
static bool rival_redirects;

static void other_tracer(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			 struct ftrace_regs *fregs)
{
	if (READ_ONCE(rival_redirects))
		instruction_pointer_set(ftrace_get_regs(fregs), (unsigned long)kpt_elsewhere);
}

/* Has the right to change the instruction pointer at a site (IPMODIFY). */
static struct ftrace_ops rival = {
	.func = other_tracer,
	.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
};

static void remove_rival(void *addr)
{
	unregister_ftrace_function(&rival);
	ftrace_set_filter_ip(&rival, (unsigned long)addr, 1, 0);
	WRITE_ONCE(rival_redirects, false);
}

static void add_rival(struct kunit *test, void *addr)
{
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&rival, (unsigned long)addr, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, register_ftrace_function(&rival), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, remove_rival, addr), 0);
}

static void expect_no_rival(struct kunit *test, void *addr)
{
	int ret;

	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&rival, (unsigned long)addr, 0, 0), 0);
	ret = register_ftrace_function(&rival);
	KUNIT_EXPECT_EQ(test, ret, -EBUSY);
	if (!ret)
		unregister_ftrace_function(&rival);
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&rival, (unsigned long)addr, 1, 0), 0);
}

static const kpt_fn_t armed[] = { kpt_plain, kpt_traced, kpt_plain2, kpt_traced2 };

#define NR_ARMED	ARRAY_SIZE(armed)

static void call_armed(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NR_ARMED; i++)
		KUNIT_EXPECT_EQ(test, armed[i](7), KPT_RESULT(7ul));
}

/*
 * A post-handler on an ftrace site needs a right that another user of ftrace has.
 * By the time this is detected, all points are placed and other sites are armed. The
 * batch disarms and removes them again, in whatever order it names them.
 */
static void batch_that_cannot_be_armed_registers_nothing(struct kunit *test)
{
	struct kpt_probe *site = kpt_probe(test, kpt_traced2), *there;
	unsigned int turn, i, at;

	add_rival(test, site->kp.addr);
	there = kpt_probe(test, kpt_plain2);
	for (turn = 0; turn < NR_ARMED; turn++) {
		struct kprobe_counts before, now;
		struct kprobe *kps[NR_ARMED];
		/* Less than a function, more than a jump. */
		unsigned char text[NR_ARMED][8];
		struct kpt_probe *pr[NR_ARMED];

		kpt_unregister(test, site);
		wait_for_kprobe_optimizer();
		before = kpt_counts(false);
		for (i = 0; i < NR_ARMED; i++) {
			at = (i + turn) % NR_ARMED;
			memcpy(text[at], kpt_text(armed[at]), sizeof(text[at]));
			pr[at] = kpt_alloc(test, armed[at]);
			if (armed[at] == kpt_traced2)
				pr[at]->kp.post_handler = kpt_post;
			kps[i] = &pr[at]->kp;
		}
		KUNIT_EXPECT_EQ(test, register_kprobes(kps, NR_ARMED), -EBUSY);
		wait_for_kprobe_optimizer();
		now = kpt_counts(false);
		KUNIT_EXPECT_NULL(test, kpt_differs(&before, &now));
		there->pre = 0;
		call_armed(test);
		KUNIT_EXPECT_EQ(test, there->pre, 1);
		for (i = 0; i < NR_ARMED; i++) {
			/* kpt_plain2() may begin with a jump to a different detour now. */
			if (armed[i] != kpt_plain2)
				KUNIT_EXPECT_MEMEQ(test, text[i], kpt_text(armed[i]),
						   sizeof(text[i]));
			KUNIT_EXPECT_PTR_EQ(test, (void *)pr[i]->kp.addr, kpt_text(armed[i]));
			KUNIT_EXPECT_EQ(test, pr[i]->pre, 0);
		}

		/* Once the other user is gone, all can be set. */
		pr[NR_ARMED - 1]->kp.post_handler = NULL;
		KUNIT_ASSERT_EQ(test, register_kprobes(kps, NR_ARMED), 0);
		call_armed(test);
		unregister_kprobes(kps, NR_ARMED);
		for (i = 0; i < NR_ARMED; i++)
			KUNIT_EXPECT_EQ(test, pr[i]->pre, 1);
		kpt_register(test, site);
	}
}

#if defined(CONFIG_X86) && defined(CONFIG_OPTPROBES)
/* A jump makes way for a probe of the batch, and comes back when the batch is refused. */
static void check_jump_comes_back(struct kunit *test, unsigned int offset)
{
	unsigned char *two = (unsigned char *)kpt_jump_two;
	struct kpt_probe *jump, *refused, *site;
	struct kprobe *kps[2];
	int ret;

	OPTIMIZER_HIDE_VAR(two);
	two += kpt_jump_two_at;
	site = kpt_probe(test, kpt_traced2);
	add_rival(test, site->kp.addr);
	kpt_unregister(test, site);
	jump = kpt_probe(test, two);
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE(test, kprobe_optimized(&jump->kp));

	refused = kpt_alloc(test, two + offset);
	site = kpt_alloc_with(test, kpt_traced2, true, true);
	kps[0] = &refused->kp;
	kps[1] = &site->kp;
	ret = register_kprobes(kps, ARRAY_SIZE(kps));
	if (!ret)
		unregister_kprobes(kps, ARRAY_SIZE(kps));
	KUNIT_EXPECT_EQ(test, ret, -EBUSY);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE_MSG(test, kprobe_optimized(&jump->kp), "%s",
			      kpt_jump_reason(test, &jump->kp));
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, jump->pre, 1);
	KUNIT_EXPECT_EQ(test, refused->pre, 0);
}

static void jump_in_the_way_of_a_refused_batch_comes_back(struct kunit *test)
{
	check_jump_comes_back(test, KPT_TWO_SECOND);
}

static void jump_at_a_point_of_a_refused_batch_comes_back(struct kunit *test)
{
	check_jump_comes_back(test, 0);
}
#endif

/* The right is needed later: by a second probe, or when a probe is enabled. */
static void probe_that_cannot_be_armed_changes_nothing(struct kunit *test)
{
	struct kpt_probe *site = kpt_probe(test, kpt_traced2);
	struct kpt_probe *post = kpt_alloc(test, kpt_traced2);
	struct kprobe_counts before, now;

	add_rival(test, site->kp.addr);
	before = kpt_counts(false);
	post->kp.post_handler = kpt_post;
	KUNIT_EXPECT_EQ(test, kpt_try_register(test, &post->kp), -EBUSY);
	now = kpt_counts(false);
	KUNIT_EXPECT_NULL(test, kpt_differs(&before, &now));
	KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, site->pre, 1);
	KUNIT_EXPECT_EQ(test, post->pre, 0);
	/* Nor can one that is registered disabled have the right at an armed point. */
	post->kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_EXPECT_EQ(test, kpt_try_register(test, &post->kp), -EBUSY);
	post->kp.flags = 0;
	/* The probe that was there still does not need the right. */
	KUNIT_EXPECT_EQ(test, disable_kprobe(&site->kp), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&site->kp), 0);
	KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, site->pre, 2);
	/* On other sites, nobody else has the right. */
	kpt_unregister(test, kpt_probe_post(test, kpt_traced));
	kpt_unregister(test, site);

	post->kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, post);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&post->kp), -EBUSY);
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&post->kp));
	KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, post->pre, 0);

	kunit_release_action(test, remove_rival, (void *)post->kp.addr);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&post->kp), 0);
	KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, post->pre, 1);
	KUNIT_EXPECT_EQ(test, post->post, 1);
}

/* The same for a probe on a point that was not armed. */
static void probe_that_cannot_be_armed_leaves_a_disabled_one(struct kunit *test)
{
	struct kpt_probe *site = kpt_probe(test, kpt_traced2);
	struct kpt_probe *post = kpt_alloc(test, kpt_traced2);

	KUNIT_ASSERT_EQ(test, disable_kprobe(&site->kp), 0);
	add_rival(test, site->kp.addr);
	post->kp.post_handler = kpt_post;
	KUNIT_EXPECT_EQ(test, kpt_try_register(test, &post->kp), -EBUSY);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&site->kp), 0);
	KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, site->pre, 1);
	KUNIT_EXPECT_EQ(test, post->pre, 0);
}

/*
 * The last probe with a post-handler leaves, and with it the need for the right. A disabled
 * one needs it, too: enabling it could fail otherwise.
 */
static void right_is_given_back_when_nobody_needs_it(struct kunit *test)
{
	struct kpt_probe *site = kpt_probe(test, kpt_traced2);
	struct kpt_probe *post = kpt_alloc_with(test, kpt_traced2, true, true);
	void *addr = site->kp.addr;

	post->kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, post);
	kpt_unregister(test, post);
	add_rival(test, addr);
	kunit_release_action(test, remove_rival, addr);
	post = kpt_probe_post(test, kpt_traced2);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&post->kp), 0);
	kpt_unregister(test, post);
	add_rival(test, addr);
	kunit_release_action(test, remove_rival, addr);
	post = kpt_probe_post(test, kpt_traced2);

	expect_no_rival(test, addr);
	kpt_unregister(test, post);
	add_rival(test, addr);
	KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, site->pre, 1);
}

static void right_stays_while_another_probe_needs_it(struct kunit *test)
{
	struct kpt_probe *post = kpt_probe_post(test, kpt_traced2);
	struct kpt_probe *leaver = kpt_probe_post(test, kpt_traced2);
	void *addr = post->kp.addr;

	kpt_unregister(test, leaver);
	expect_no_rival(test, addr);
	KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, post->post, 1);
	kpt_unregister(test, post);
	add_rival(test, addr);
}

static void right_is_not_asked_for_without_need(struct kunit *test)
{
	struct kpt_probe *first = kpt_probe(test, kpt_traced2), *second;

	add_rival(test, first->kp.addr);
	second = kpt_probe(test, kpt_traced2);
	KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, first->pre, 1);
	KUNIT_EXPECT_EQ(test, second->pre, 1);
}

/* On parisc, the function that return probes lead to has an ftrace site, with a probe. */
static void skip_if_ftrace_stays_on(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_PARISC) && IS_ENABLED(CONFIG_KRETPROBES))
		kunit_skip(test, "an ftrace site has a probe at all times here");
}

static void switch_ftrace_on(void *test)
{
	kpt_write_sysctl(test, "sys/kernel/ftrace_enabled", "1\n");
}

/* If it could, that would silence the points. */
static void ftrace_cannot_be_switched_off_under_points(struct kunit *test)
{
	static const char name[] = "sys/kernel/ftrace_enabled";
	struct kpt_probe *site = kpt_probe(test, kpt_traced);
	struct kpt_probe *post = kpt_alloc_with(test, kpt_traced2, true, true);
	ssize_t ret;

	skip_if_ftrace_stays_on(test);
	if (!IS_ENABLED(CONFIG_PROC_SYSCTL))
		kunit_skip(test, "no files in /proc/sys");
	KUNIT_EXPECT_EQ(test, kpt_write_sysctl(test, name, "0\n"), (ssize_t)-EBUSY);
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, site->pre, 1);
	kpt_unregister(test, site);

	KUNIT_ASSERT_EQ(test, kunit_add_action(test, switch_ftrace_on, test), 0);
	ret = kpt_write_sysctl(test, name, "0\n");
	KUNIT_EXPECT_EQ(test, ret, 2l);
	KUNIT_EXPECT_EQ(test, kpt_try_register(test, &site->kp), -EBUSY);
	KUNIT_EXPECT_EQ(test, kpt_try_register(test, &post->kp), -EBUSY);
	ret = kpt_write_sysctl(test, name, "1\n");
	KUNIT_EXPECT_EQ(test, ret, 2l);

	kpt_register(test, post);
	KUNIT_EXPECT_EQ(test, kpt_write_sysctl(test, name, "0\n"), (ssize_t)-EBUSY);
	KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, post->post, 1);
	kpt_unregister(test, post);
}

#if defined(CONFIG_X86) && defined(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS)
/**
 * struct direct - a function with a direct trampoline, which does nothing but return
 * @ops:   its ops
 * @on:	   how often it was asked to share the function
 * @off:   how often it was told that it need not share it any more
 * @error: what it answers each time, if not 0
 * @again: how many more times it answers that it is busy
 * @last:  when it has done so
 * @at_once: how often it has done so twice in one tick
 * @mutex: protects the direct trampolines; NULL if its symbol is not known
 * @unlocked: how often it was asked without that mutex held
 */
struct direct {
	struct ftrace_ops ops;
	void *mutex;
	unsigned int unlocked;
	unsigned int on;
	unsigned int off;
	int error;
	unsigned int again;
	unsigned long last;
	unsigned int at_once;
};

static int direct_command(struct ftrace_ops *ops, enum ftrace_ops_cmd cmd)
{
	struct direct *d = container_of(ops, struct direct, ops);
	struct mutex *mutex = d->mutex;

	if (cmd == FTRACE_OPS_CMD_DISABLE_SHARE_IPMODIFY_PEER)
		d->off++;
	if (cmd != FTRACE_OPS_CMD_ENABLE_SHARE_IPMODIFY_PEER)
		return 0;
	d->unlocked += mutex && !mutex_is_locked(mutex);
	if (d->error)
		return d->error;
	if (d->again) {
		d->again--;
		d->at_once += !time_after(jiffies, d->last);
		d->last = jiffies;
		return -EAGAIN;
	}
	d->on++;
	return 0;
}

static struct direct direct;

static void remove_direct(void *unused)
{
	unregister_ftrace_direct(&direct.ops, (unsigned long)kpt_asm_returns, true);
}

static void add_direct(struct kunit *test, void *addr)
{
	memset(&direct, 0, sizeof(direct));
	direct.ops.ops_func = direct_command;
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&direct.ops, (unsigned long)addr, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, register_ftrace_direct(&direct.ops,
						     (unsigned long)kpt_asm_returns), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, remove_direct, NULL), 0);
}

/* With the first point that has the right to redirect calls, and with a later one. */
static void direct_trampoline_shares_the_function(struct kunit *test)
{
	struct kpt_probe *site = kpt_probe(test, kpt_traced2);
	struct kpt_probe *post = kpt_alloc_with(test, kpt_traced2, true, true);
	unsigned int i;

	add_direct(test, site->kp.addr);
	direct.mutex = kprobe_test_symbol("direct_mutex");
	for (i = 1; i <= 2; i++) {
		kpt_register(test, post);
		KUNIT_EXPECT_EQ(test, direct.on, i);
		KUNIT_EXPECT_EQ(test, direct.off, i - 1);
		KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
		kpt_unregister(test, post);
		KUNIT_EXPECT_EQ(test, direct.on, i);
		KUNIT_EXPECT_EQ(test, direct.off, i);
		if (i == 1)
			kpt_probe_post(test, kpt_traced);
	}
	KUNIT_EXPECT_EQ(test, site->pre, 2);
	KUNIT_EXPECT_EQ(test, post->post, 2);
	KUNIT_EXPECT_EQ(test, direct.unlocked, 0);
}

static noinline unsigned long third_traced(void)
{
	barrier();
	return 3;
}

/*
 * An ops with that right can be given the function by its address, which is not the site's;
 * alone, or with others, wherever it is among them.
 */
static void direct_trampoline_shares_what_is_named_by_address(struct kunit *test)
{
	unsigned long ips[] = {
		(unsigned long)third_traced, (unsigned long)kpt_traced2,
		(unsigned long)third_traced,
	};
	struct kpt_probe *other = kpt_probe(test, kpt_traced);
	struct kpt_probe *site = kpt_probe(test, kpt_traced2);
	unsigned int i;

	add_rival(test, other->kp.addr);
	add_direct(test, site->kp.addr);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, i < 3 ? ftrace_set_filter_ips(&rival, ips + i - 1, 2, 0, 0) :
				ftrace_set_filter_ip(&rival, ips[1], 0, 0), 0);
		KUNIT_EXPECT_EQ(test, direct.on, i);
		KUNIT_EXPECT_EQ(test, direct.off, i - 1);
		KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, third_traced(), 3ul);
		KUNIT_EXPECT_EQ(test, i < 3 ? ftrace_set_filter_ips(&rival, ips + i - 1, 2, 1, 0) :
				ftrace_set_filter_ip(&rival, ips[1], 1, 0), 0);
		KUNIT_EXPECT_EQ(test, direct.on, i);
		KUNIT_EXPECT_EQ(test, direct.off, i);
	}
	KUNIT_EXPECT_EQ(test, site->pre, 3);
}

static void direct_trampoline_that_cannot_share_is_ebusy(struct kunit *test)
{
	struct kpt_probe *site = kpt_probe(test, kpt_traced2);
	struct kpt_probe *post = kpt_alloc_with(test, kpt_traced2, true, true);
	unsigned int i;

	add_direct(test, site->kp.addr);
	for (i = 0; i < 2; i++) {
		direct.ops.ops_func = NULL;
		KUNIT_EXPECT_EQ(test, kpt_try_register(test, &post->kp), -EBUSY);
		direct.ops.ops_func = direct_command;
		/* Busy for longer than kprobes try: a hundred times, and a tick between two. */
		direct.again = UINT_MAX;
		direct.last = jiffies - 1;
		KUNIT_EXPECT_EQ(test, kpt_try_register(test, &post->kp), -EBUSY);
		KUNIT_EXPECT_EQ(test, UINT_MAX - direct.again, 100u);
		KUNIT_EXPECT_LT(test, direct.at_once, 10u);
		KUNIT_EXPECT_EQ(test, direct.on, i);
		direct.again = 3;
		kpt_register(test, post);
		KUNIT_EXPECT_EQ(test, direct.on, i + 1);
		KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
		kpt_unregister(test, post);
		if (!i)
			kpt_probe_post(test, kpt_traced);
	}
	KUNIT_EXPECT_EQ(test, site->pre, 2);
	KUNIT_EXPECT_EQ(test, post->post, 2);
}
#endif

/* An existing point gets the right for a probe of the batch, before the batch is refused. */
static void right_is_given_back_when_a_batch_is_refused(struct kunit *test)
{
	struct kpt_probe *there = kpt_probe(test, kpt_traced2);
	struct kpt_probe *other = kpt_probe(test, kpt_traced);
	void *rivals = other->kp.addr;
	struct kprobe *kps[2];
	int ret;

	kpt_unregister(test, other);
	add_rival(test, rivals);
	kps[0] = &kpt_alloc_with(test, kpt_traced2, true, true)->kp;
	kps[1] = &kpt_alloc_with(test, kpt_traced, true, true)->kp;
	ret = register_kprobes(kps, ARRAY_SIZE(kps));
	if (!ret)
		unregister_kprobes(kps, ARRAY_SIZE(kps));
	KUNIT_EXPECT_EQ(test, ret, -EBUSY);
	kunit_release_action(test, remove_rival, rivals);

	add_rival(test, there->kp.addr);
	KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, there->pre, 1);
}

/*
 * ftrace gives the right to one site after the other, by address. The last one is refused, with
 * the first user of the right, and with one that is there already.
 */
static void right_is_given_back_at_each_site_of_a_refused_batch(struct kunit *test)
{
	struct kpt_probe *site[] = { kpt_probe(test, kpt_traced), kpt_probe(test, kpt_traced2) };
	bool swap = site[0]->kp.addr > site[1]->kp.addr;
	void *low = site[swap]->kp.addr, *high = site[!swap]->kp.addr;
	struct kprobe *kps[] = {
		&kpt_alloc_with(test, kpt_traced, true, true)->kp,
		&kpt_alloc_with(test, kpt_traced2, true, true)->kp,
	};
	unsigned int there;

	kpt_unregister(test, site[0]);
	kpt_unregister(test, site[1]);
	for (there = 0; there < 2; there++) {
		if (there)
			kpt_probe_post(test, kpt_many_traced);
		add_rival(test, high);
		KUNIT_EXPECT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), -EBUSY);
		kunit_release_action(test, remove_rival, high);
		add_rival(test, low);
		kunit_release_action(test, remove_rival, low);
		KUNIT_ASSERT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), 0);
		unregister_kprobes(kps, ARRAY_SIZE(kps));
	}
}

/* On powerpc, a redirected call gets its TOC only where there are live patches. */
#if defined(CONFIG_ARCH_HAS_KPROBE_CONTEXTS) || defined(CONFIG_S390) || \
	(defined(CONFIG_PPC64) && defined(CONFIG_LIVEPATCH))
#define CALLS_REDIRECTED
#endif

#ifdef CALLS_REDIRECTED
/* The rival is registered later, so ftrace calls it before the probe's handler. */
static void redirected_call_stays_redirected(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_traced2);
	unsigned long missed;

	add_rival(test, pr->kp.addr);
	KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
	WRITE_ONCE(rival_redirects, true);
	KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_ELSEWHERE(7ul));
	/* The handler sees where the hit is. */
	KUNIT_EXPECT_EQ(test, instruction_pointer(&pr->pre_regs),
			(unsigned long)pr->kp.addr + IS_ENABLED(CONFIG_X86));
	KUNIT_EXPECT_EQ(test, kpt_call_in_irq(kpt_traced2), KPT_ELSEWHERE(7ul));
	/* A hit that is missed leaves it alone, too. */
	kprobe_busy_begin();
	missed = kpt_traced2(7);
	kprobe_busy_end();
	KUNIT_EXPECT_EQ(test, missed, KPT_ELSEWHERE(7ul));
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 1ul);
	KUNIT_EXPECT_EQ(test, pr->pre, 3);
}
#endif

#if defined(CONFIG_DEBUG_FS) && defined(CONFIG_DYNAMIC_DEBUG_CORE)
static void silence(void *test)
{
	kpt_write(test, &kpt_debugfs, "dynamic_debug/control", "func kprobe_refuse* -p");
}

/* A call was refused with @ret, and the log ends with the reason. */
static void expect_refused(struct kunit *test, int ret, int err, const char *reason)
{
	char line[256] = "";

	KUNIT_EXPECT_EQ_MSG(test, ret, err, "%s", reason);
	kpt_log_last(test, 0, "kprobes: ", line, sizeof(line));
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(line, reason), "%s: %s", reason, line);
}

static const struct kprobe constant = { .symbol_name = "kpt_plain" };
static struct kprobe constant_after_init __ro_after_init = { .symbol_name = "kpt_plain" };

static void refusals_say_why(struct kunit *test)
{
	static const char on[] = "func kprobe_refuse* +p";
	struct kpt_probe *pr[3];
	struct kprobe *kps[3] = { }, kp;
#ifdef CONFIG_KRETPROBES
	struct kretprobe rp;
#endif
#ifdef CONFIG_JPROBES
	struct jprobe jp;
#endif
#ifdef MODULE
	int ret;
#endif
	unsigned int i;
	char text[64];

	KUNIT_ASSERT_NOT_NULL(test, kpt_debugfs.mnt);
	KUNIT_ASSERT_EQ(test, kpt_write(test, &kpt_debugfs, "dynamic_debug/control", on),
			(ssize_t)strlen(on));
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, silence, test), 0);

	kp = (struct kprobe){ };
	expect_refused(test, register_kprobe(&kp), -EINVAL,
		       "-EINVAL: neither a symbol nor an address is given");
	kp = (struct kprobe){ .symbol_name = "kpt_plain", .addr = kpt_text(kpt_plain) };
	expect_refused(test, register_kprobe(&kp), -EINVAL,
		       "kprobes: kpt_plain+0x0: -EINVAL: a symbol and an address are given");
	kp = (struct kprobe){ .symbol_name = "kpt_no_such_function", .offset = 1 };
	expect_refused(test, register_kprobe(&kp), -ENOENT,
		       "kprobes: kpt_no_such_function+0x1: -ENOENT: no such symbol");
	/* A module has symbols without a name. */
	kp = (struct kprobe){ .symbol_name = KBUILD_MODNAME ":" };
	expect_refused(test, register_kprobe(&kp), -ENOENT,
		       "kprobes: " KBUILD_MODNAME ":+0x0: -ENOENT: no such symbol");
	expect_refused(test, register_kprobe((struct kprobe *)&constant), -EINVAL,
		       "kprobes: kpt_plain+0x0: -EINVAL: its structure is a constant");
	expect_refused(test, register_kprobe(&constant_after_init), -EINVAL,
		       "kprobes: kpt_plain+0x0: -EINVAL: its structure is a constant");
	kp = (struct kprobe){ .addr = (kprobe_opcode_t *)pr };
	expect_refused(test, register_kprobe(&kp), -ENOENT,
		       "-ENOENT: no symbol covers the address");
	kp = (struct kprobe){ .addr = (kprobe_opcode_t *)pr, .offset = 8 };
	snprintf(text, sizeof(text), "kprobes: %pS: -ENOENT: no symbol", (char *)pr + 8);
	expect_refused(test, register_kprobe(&kp), -ENOENT, text);

	expect_refused(test, register_kprobes(NULL, 1), -EINVAL,
		       "kprobes: cannot register probes: the array is NULL");
	expect_refused(test, register_kprobes(kps, -1), -EINVAL,
		       "kprobes: cannot register -1 probes");
	expect_refused(test, enable_kprobes(NULL, 1), -EINVAL,
		       "kprobes: cannot enable probes: the array is NULL");
	expect_refused(test, disable_kprobes(kps, 0), -EINVAL,
		       "kprobes: cannot disable 0 probes");

	for (i = 0; i < ARRAY_SIZE(pr); i++) {
		pr[i] = i < 2 ? kpt_probe(test, armed[i]) : kpt_alloc(test, armed[i]);
		kps[i] = &pr[i]->kp;
	}
	expect_refused(test, disable_kprobes(&kps[2], 1), -EINVAL,
		       "-EINVAL: cannot switch: it is not registered");
	expect_refused(test, enable_kprobes(kps, 3), -EINVAL,
		       "kprobes: -EINVAL: batch of 3: because of index 2");
	expect_refused(test, register_kprobe(kps[1]), -EINVAL,
		       "-EINVAL: the probe is registered already");
	kps[0] = NULL;
	expect_refused(test, register_kprobes(kps, 1), -EINVAL, "-EINVAL: a pointer is NULL");
	kp = (struct kprobe){ .symbol_name = "get_kprobe" };
	expect_refused(test, register_kprobe(&kp), -EINVAL, "-EINVAL: it is on the blacklist");
#ifdef CONFIG_X86
	kp = (struct kprobe){ .addr = kpt_text(kpt_asm_refused) };
	expect_refused(test, register_kprobe(&kp), -EILSEQ,
		       "-EILSEQ: this instruction cannot be probed");
#endif
#ifdef CONFIG_KRETPROBES
	rp = (struct kretprobe){ .kp.addr = kpt_text(kpt_plain),
				 .data_size = KRETPROBE_MAX_DATA_SIZE + 1 };
	expect_refused(test, register_kretprobe(&rp), -EINVAL,
		       "-EINVAL: data_size is above KRETPROBE_MAX_DATA_SIZE");
#ifdef CONFIG_X86
	rp = (struct kretprobe){ .kp.addr = (void *)((u8 *)kpt_asm_inside + kpt_asm_inside_at) };
	expect_refused(test, register_kretprobe(&rp), -EINVAL,
		       "-EINVAL: a return probe has to be on the entry of a function");
#endif
#endif
#ifdef CONFIG_JPROBES
	jp = (struct jprobe){ .kp.addr = kpt_text(kpt_traced) };
	expect_refused(test, register_jprobe(&jp), -EINVAL, "-EINVAL: a jprobe needs a handler");
	jp = (struct jprobe){ .kp.addr = (void *)((u8 *)kpt_asm_inside + kpt_asm_inside_at),
			      .entry = kpt_plain };
	expect_refused(test, register_jprobe(&jp), -EINVAL,
		       "-EINVAL: a jprobe has to be on the entry of a function");
#endif
#ifdef MODULE
	kp = (struct kprobe){ .addr = kpt_text(kpt_plain) };
	THIS_MODULE->state = MODULE_STATE_GOING;
	ret = register_kprobe(&kp);
	THIS_MODULE->state = MODULE_STATE_LIVE;
	expect_refused(test, ret, -ENOENT, "-ENOENT: its module is being loaded or unloaded");
#endif
}
#endif

#ifdef CONFIG_DEBUG_FS
static void switch_to(struct kunit *test, const char *state)
{
	KUNIT_EXPECT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/enabled", state), 1l);
}

/* While all probes are off, another user of ftrace may take a site. */
static void switch_arms_all_but_what_cannot_be_armed(struct kunit *test)
{
	struct kpt_probe *pr[NR_ARMED];
	char line[128];
	unsigned int i;
	u64 from;

	KUNIT_ASSERT_NOT_NULL(test, kpt_debugfs.mnt);
	for (i = 0; i < NR_ARMED; i++)
		pr[i] = armed[i] == kpt_traced2 ? kpt_probe_post(test, armed[i]) :
						  kpt_probe(test, armed[i]);
	switch_to(test, "0");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kpt_all_on, test), 0);
	add_rival(test, pr[NR_ARMED - 1]->kp.addr);
	snprintf(line, sizeof(line),
		 "kprobes: points that cannot be armed: 1, the first is %pS: %d",
		 pr[NR_ARMED - 1]->kp.addr, -EBUSY);
	from = kpt_log_end();
	switch_to(test, "1");
	if (IS_ENABLED(CONFIG_PRINTK))
		KUNIT_EXPECT_EQ_MSG(test, kpt_log_lines(test, from, line), 1, "%s", line);
	KUNIT_EXPECT_STREQ(test, kpt_read(test, &kpt_debugfs, "kprobes/enabled"), "1\n");
	call_armed(test);
	wait_for_kprobe_optimizer();
	call_armed(test);
	for (i = 0; i < NR_ARMED; i++) {
		KUNIT_EXPECT_EQ_MSG(test, pr[i]->pre, armed[i] == kpt_traced2 ? 0 : 2, "%ps",
				    armed[i]);
		KUNIT_EXPECT_FALSE(test, kprobe_disabled(&pr[i]->kp));
	}

	/* Once the other user is gone, switching on arms that site, too. */
	kunit_release_action(test, remove_rival, pr[NR_ARMED - 1]->kp.addr);
	/* They are on: this changes nothing. */
	switch_to(test, "1");
	call_armed(test);
	KUNIT_EXPECT_EQ(test, pr[NR_ARMED - 1]->pre, 0);
	switch_to(test, "0");
	switch_to(test, "1");
	call_armed(test);
	for (i = 0; i < NR_ARMED; i++)
		KUNIT_EXPECT_EQ_MSG(test, pr[i]->pre, armed[i] == kpt_traced2 ? 1 : 4, "%ps",
				    armed[i]);

	/* Enabling the probe arms it as well, although it was never disabled. */
	switch_to(test, "0");
	add_rival(test, pr[NR_ARMED - 1]->kp.addr);
	switch_to(test, "1");
	kunit_release_action(test, remove_rival, pr[NR_ARMED - 1]->kp.addr);
	call_armed(test);
	KUNIT_EXPECT_EQ(test, pr[NR_ARMED - 1]->pre, 1);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&pr[NR_ARMED - 1]->kp), 0);
	call_armed(test);
	KUNIT_EXPECT_EQ(test, pr[NR_ARMED - 1]->pre, 2);
	KUNIT_EXPECT_EQ(test, pr[0]->pre, 6);
}

#if defined(CONFIG_X86) && defined(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS)
/* Two sites are refused, each for its own reason. */
static void switch_logs_why_the_first_cannot_be_armed(struct kunit *test)
{
	struct kpt_probe *pr[2];
	unsigned int rival;
	char line[128];
	u64 from;

	KUNIT_ASSERT_NOT_NULL(test, kpt_debugfs.mnt);
	pr[0] = kpt_probe_post(test, kpt_traced);
	pr[1] = kpt_probe_post(test, kpt_traced2);
	if (pr[0]->kp.addr > pr[1]->kp.addr)
		swap(pr[0], pr[1]);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kpt_all_on, test), 0);
	for (rival = 0; rival < 2; rival++) {
		switch_to(test, "0");
		add_direct(test, pr[!rival]->kp.addr);
		direct.error = -EPERM;
		add_rival(test, pr[rival]->kp.addr);
		snprintf(line, sizeof(line),
			 "kprobes: points that cannot be armed: 2, the first is %pS: %d",
			 pr[0]->kp.addr, rival ? -EPERM : -EBUSY);
		from = kpt_log_end();
		switch_to(test, "1");
		if (IS_ENABLED(CONFIG_PRINTK))
			KUNIT_EXPECT_EQ_MSG(test, kpt_log_lines(test, from, line), 1, "%s", line);
		kunit_release_action(test, remove_rival, pr[rival]->kp.addr);
		kunit_release_action(test, remove_direct, NULL);
	}
}
#endif

/* Switching ftrace off is allowed then, and all ftrace sites are refused. */
static void switch_logs_one_line_however_many_cannot_be_armed(struct kunit *test)
{
	static const char name[] = "sys/kernel/ftrace_enabled";
	struct kpt_probe *pr[NR_ARMED];
	char line[128];
	unsigned int i;
	u64 from;

	skip_if_ftrace_stays_on(test);
	if (!IS_ENABLED(CONFIG_PROC_SYSCTL))
		kunit_skip(test, "no files in /proc/sys");
	KUNIT_ASSERT_NOT_NULL(test, kpt_debugfs.mnt);
	for (i = 0; i < NR_ARMED; i++)
		pr[i] = kpt_probe(test, armed[i]);
	switch_to(test, "0");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kpt_all_on, test), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, switch_ftrace_on, test), 0);
	KUNIT_ASSERT_EQ(test, kpt_write_sysctl(test, name, "0\n"), 2l);
	snprintf(line, sizeof(line),
		 "kprobes: points that cannot be armed: 2, the first is %pS: %d",
		 pr[1]->kp.addr, -EBUSY);
	KUNIT_ASSERT_PTR_EQ(test, (void *)armed[1], (void *)kpt_traced);
	from = kpt_log_end();
	switch_to(test, "1");
	if (IS_ENABLED(CONFIG_PRINTK)) {
		KUNIT_EXPECT_EQ(test, kpt_log_lines(test, from, line), 1);
		KUNIT_EXPECT_EQ(test, kpt_log_lines(test, from, "kprobes: "), 1);
	}
	call_armed(test);
	for (i = 0; i < NR_ARMED; i++)
		KUNIT_EXPECT_EQ_MSG(test, pr[i]->pre, !kprobe_ftrace(&pr[i]->kp), "%ps",
				    armed[i]);

	/* Enabling a probe arms it, once ftrace is on again. */
	KUNIT_EXPECT_EQ(test, enable_kprobe(&pr[NR_ARMED - 1]->kp), -EBUSY);
	KUNIT_ASSERT_EQ(test, kpt_write_sysctl(test, name, "1\n"), 2l);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&pr[NR_ARMED - 1]->kp), 0);
	call_armed(test);
	KUNIT_EXPECT_EQ(test, pr[NR_ARMED - 1]->pre, 1);
}

#ifdef CONFIG_X86
/**
 * struct unarmed - a site that is armed, until another one is refused
 * @task:    the task that arms them
 * @file:    ftrace_enabled
 * @arming:  rounds of arming so far
 * @hold:    the handler of the first site waits from here on
 * @inside:  it does
 * @refuse:  ftrace is to be switched off, by the thread that lets the handler go on: writing
 *	     to a file takes a lock that comes before those of @task
 * @off:     the site stays off meanwhile
 * @go:	     the handler may go on
 * @done:    it has gone on
 */
struct unarmed {
	struct task_struct *task;
	struct file *file;
	unsigned int arming;
	bool hold;
	bool inside;
	bool refuse;
	bool off;
	bool go;
	bool done;
};

static int hold_here(struct kpt_probe *pr, struct pt_regs *regs)
{
	unsigned long end = jiffies + msecs_to_jiffies(KPT_TIMEOUT_MS);
	struct unarmed *u = pr->arg;

	if (!READ_ONCE(u->hold))
		return 0;
	WRITE_ONCE(u->inside, true);
	while (!READ_ONCE(u->go) && time_before(jiffies, end))
		cpu_relax();
	WRITE_ONCE(u->done, true);
	return 0;
}

/* The second round is for one of the two sites alone. */
static void refuse_the_rest(enum kprobe_stage stage, void *arg)
{
	struct unarmed *u = arg;

	if (stage != KPROBE_STAGE_ARMING || current != u->task)
		return;
	u->arming++;
	WRITE_ONCE(u->hold, u->arming == 1 || READ_ONCE(u->inside));
	if (u->arming == 2 && READ_ONCE(u->inside)) {
		WRITE_ONCE(u->refuse, true);
		kpt_wait_until(READ_ONCE(u->off));
	}
}

static void hold_while_arming(enum kprobe_stage stage, void *arg)
{
	struct unarmed *u = arg;

	if (stage == KPROBE_STAGE_ARMING && current == u->task)
		WRITE_ONCE(u->hold, true);
}

/* The arming task may wait for the handler. */
static int let_it_go_on(void *arg)
{
	struct unarmed *u = arg;
	loff_t pos = 0;

	while (!kthread_should_stop()) {
		if (READ_ONCE(u->refuse) && !u->off)
			WRITE_ONCE(u->off, kernel_write(u->file, "0\n", 2, &pos) == 2);
		if (READ_ONCE(u->off) || (!u->file && READ_ONCE(u->inside))) {
			msleep(1000);
			WRITE_ONCE(u->go, true);
		}
		usleep_range(1000, 2000);
	}
	WRITE_ONCE(u->go, true);
	return 0;
}

static int call_the_first(void *arg)
{
	while (!kthread_should_stop()) {
		kpt_traced(7);
		cond_resched();
	}
	return 0;
}

static void put_file(void *file)
{
	fput(file);
}

/* Two points that are off: the site of the first, and one that the rival has. */
static struct unarmed *two_sites(struct kunit *test, struct kprobe **kps)
{
	struct kpt_probe *first = kpt_alloc(test, kpt_traced), *second;
	struct unarmed *u = kunit_kzalloc(test, sizeof(*u), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, u);
	KUNIT_ASSERT_NOT_NULL(test, kpt_debugfs.mnt);
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	if (!IS_ENABLED(CONFIG_PROC_SYSCTL))
		kunit_skip(test, "no files in /proc/sys");
	u->task = current;
	first->on_pre = hold_here;
	first->arg = u;
	kpt_register(test, first);
	second = kpt_probe_post(test, kpt_traced2);
	kps[0] = &first->kp;
	kps[1] = &second->kp;
	switch_to(test, "0");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kpt_all_on, test), 0);
	add_rival(test, second->kp.addr);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, switch_ftrace_on, test), 0);
	return u;
}

static void start_threads(struct kunit *test, struct unarmed *u)
{
	kpt_thread(test, call_the_first, NULL, cpumask_last(cpu_online_mask), "calls");
	kpt_thread(test, let_it_go_on, u, cpumask_first(cpu_online_mask), "lets_go");
}

static void switched_off_after_the_handler(struct kunit *test, struct unarmed *u)
{
	kpt_unwatch_stages(test);
	switch_to(test, "0");
	KUNIT_EXPECT_TRUE(test, READ_ONCE(u->done));
	/* If it was too early, the handler still uses @u. */
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(READ_ONCE(u->done)));
}

/* A site is refused after another one was armed, which then cannot be armed again. */
static void switching_off_waits_for_a_site_that_was_refused(struct kunit *test)
{
	struct kprobe *kps[2];
	struct unarmed *u = two_sites(test, kps);
	unsigned int round;

	u->file = kpt_open_sysctl(test, "sys/kernel/ftrace_enabled");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put_file, u->file), 0);
	start_threads(test, u);
	kpt_watch_stages(test, refuse_the_rest, u);
	for (round = 0; round < 100; round++) {
		u->arming = 0;
		switch_to(test, "1");
		if (u->off)
			break;
		/* It was not hit in time. */
		WRITE_ONCE(u->hold, false);
		WRITE_ONCE(u->go, true);
		switch_to(test, "0");
		u->inside = false;
		u->go = false;
		u->done = false;
	}
	KUNIT_EXPECT_TRUE(test, u->off);
	switched_off_after_the_handler(test, u);
}

/* Both sites are refused once. From now on, what arms them holds the handler of the first. */
static void start_refused_once(struct kunit *test, struct unarmed *u)
{
	static const char name[] = "sys/kernel/ftrace_enabled";

	KUNIT_ASSERT_EQ(test, kpt_write_sysctl(test, name, "0\n"), 2l);
	switch_to(test, "1");
	KUNIT_ASSERT_EQ(test, kpt_write_sysctl(test, name, "1\n"), 2l);
	start_threads(test, u);
	kpt_watch_stages(test, hold_while_arming, u);
}

/* The same, after both had been refused once. */
static void switching_off_waits_for_a_site_that_was_refused_again(struct kunit *test)
{
	struct kprobe *kps[2];
	struct unarmed *u = two_sites(test, kps);
	unsigned int round;

	start_refused_once(test, u);
	for (round = 0; round < 100 && !READ_ONCE(u->inside); round++)
		KUNIT_EXPECT_EQ(test, enable_kprobes(kps, 2), -EBUSY);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(u->inside));
	switched_off_after_the_handler(test, u);
}

/* The same in a batch that is refused: its points are there already, and off. */
static void switching_off_waits_for_a_site_of_a_refused_batch(struct kunit *test)
{
	struct kprobe *kps[2];
	struct unarmed *u = two_sites(test, kps);
	struct kprobe *more[] = {
		&kpt_alloc(test, kpt_traced)->kp,
		&kpt_alloc_with(test, kpt_traced2, true, true)->kp,
	};
	unsigned int round;

	start_refused_once(test, u);
	for (round = 0; round < 100 && !READ_ONCE(u->inside); round++)
		KUNIT_EXPECT_EQ(test, register_kprobes(more, 2), -EBUSY);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(u->inside));
	switched_off_after_the_handler(test, u);
}

static void count_rounds(enum kprobe_stage stage, void *arg)
{
	unsigned int *rounds = arg;

	*rounds += stage == KPROBE_STAGE_ARMING;
}

/* However many points there are, one that is refused takes two rounds for each halving. */
static void one_refused_site_does_not_arm_the_others_one_by_one(struct kunit *test)
{
	unsigned int *rounds = kunit_kzalloc(test, sizeof(*rounds), GFP_KERNEL);
	struct kpt_probe *site = kpt_probe_post(test, kpt_traced2);
	struct kpt_probe *other = kpt_probe(test, kpt_traced);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, rounds);
	KUNIT_ASSERT_NOT_NULL(test, kpt_debugfs.mnt);
	for (i = 0; i < NR_IDLE; i++)
		kpt_probe(test, kpt_long_text + kpt_long_text_starts[i]);
	switch_to(test, "0");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kpt_all_on, test), 0);
	add_rival(test, site->kp.addr);
	kpt_watch_stages(test, count_rounds, rounds);
	switch_to(test, "1");
	kpt_unwatch_stages(test);
	KUNIT_EXPECT_LE(test, *rounds, 2u * (ilog2(NR_IDLE) + 1) + 1);
	call_armed(test);
	KUNIT_EXPECT_EQ(test, site->pre, 0);
	KUNIT_EXPECT_EQ(test, other->pre, 1);
}
#endif
#endif

static void count_moves(enum kprobe_stage stage, void *arg)
{
	unsigned int *moves = arg;

	*moves += stage == KPROBE_STAGE_NOTED;
}

/* In the task of the case, which is the only one that moves points. */
static void count_arrivals(enum kprobe_stage stage, void *arg)
{
	unsigned int *arrivals = arg;

	*arrivals += stage == KPROBE_STAGE_ARRIVED && !(current->flags & PF_WQ_WORKER);
}

/* Moving to the other ops takes grace periods, and is useless if the point is then disarmed. */
static void point_that_all_probes_leave_is_not_moved(struct kunit *test)
{
	struct kpt_probe *post = kpt_probe_post(test, kpt_traced2);
	struct kpt_probe *plain = kpt_probe(test, kpt_traced2);
	struct kprobe *kps[] = { &post->kp, &plain->kp };
	unsigned int *moves = kunit_kzalloc(test, sizeof(*moves), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, moves);
	kpt_watch_stages(test, count_moves, moves);
	unregister_kprobes(kps, ARRAY_SIZE(kps));
	KUNIT_EXPECT_EQ(test, *moves, 0);

	/* A point that stays armed is moved. */
	kpt_register(test, plain);
	kpt_register(test, post);
	*moves = 0;
	kpt_unregister(test, post);
	KUNIT_EXPECT_NE(test, *moves, 0);
	KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, plain->pre, 1);
	KUNIT_EXPECT_EQ(test, post->pre, 0);

	/* Before each stage, a CPU that comes online may be between the two calls of a hit. */
	kpt_register(test, post);
	*moves = 0;
	kprobe_test_stop(count_arrivals, moves);
	kpt_unregister(test, post);
	KUNIT_EXPECT_GE(test, *moves, 3);
}

static void point_with_a_post_handler_is_not_moved_for_another(struct kunit *test)
{
	unsigned int *moves = kunit_kzalloc(test, sizeof(*moves), GFP_KERNEL);
	struct kpt_probe *plain, *post[2];

	KUNIT_ASSERT_NOT_NULL(test, moves);
	kpt_watch_stages(test, count_moves, moves);
	plain = kpt_probe(test, kpt_traced2);
	post[0] = kpt_probe_post(test, kpt_traced2);
	KUNIT_EXPECT_EQ(test, *moves, 1);
	post[1] = kpt_probe_post(test, kpt_traced2);
	KUNIT_EXPECT_EQ(test, kpt_traced2(7), KPT_RESULT(7ul));
	kpt_unregister(test, post[0]);
	KUNIT_EXPECT_EQ(test, *moves, 1);
	kpt_unregister(test, post[1]);
	KUNIT_EXPECT_EQ(test, *moves, 2);
	kpt_unregister(test, plain);
	KUNIT_EXPECT_EQ(test, *moves, 2);
	KUNIT_EXPECT_EQ(test, plain->pre, 1);
	KUNIT_EXPECT_EQ(test, post[1]->post, 1);
}

/* The points of a batch move together, and so they do if it leaves, or is refused. */
static void batch_moves_its_points_at_once(struct kunit *test)
{
	static const kpt_fn_t fn[] = { kpt_traced, kpt_traced2 };
	unsigned int *moves = kunit_kzalloc(test, sizeof(*moves), GFP_KERNEL);
	struct kpt_probe *plain[ARRAY_SIZE(fn)], *post[ARRAY_SIZE(fn) + 1];
	struct kprobe *kps[ARRAY_SIZE(post)];
	unsigned int i;
	void *refused;

	KUNIT_ASSERT_NOT_NULL(test, moves);
	for (i = 0; i < ARRAY_SIZE(fn); i++) {
		plain[i] = kpt_probe(test, fn[i]);
		post[i] = kpt_alloc_with(test, fn[i], true, true);
		kps[i] = &post[i]->kp;
	}
	post[i] = kpt_probe(test, kpt_many_traced);
	kps[i] = &post[i]->kp;
	refused = post[i]->kp.addr;
	kpt_unregister(test, post[i]);
	post[i]->kp.post_handler = kpt_post;

	kpt_watch_stages(test, count_moves, moves);
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, ARRAY_SIZE(fn)), 0);
	KUNIT_EXPECT_EQ(test, *moves, 1);
	for (i = 0; i < ARRAY_SIZE(fn); i++)
		fn[i](7);
	unregister_kprobes(kps, ARRAY_SIZE(fn));
	KUNIT_EXPECT_EQ(test, *moves, 2);
	for (i = 0; i < ARRAY_SIZE(fn); i++) {
		fn[i](7);
		KUNIT_EXPECT_EQ(test, plain[i]->pre, 2);
		KUNIT_EXPECT_EQ(test, post[i]->post, 1);
	}

	add_rival(test, refused);
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), -EBUSY);
	KUNIT_EXPECT_EQ(test, *moves, 4);
	for (i = 0; i < ARRAY_SIZE(fn); i++) {
		fn[i](7);
		KUNIT_EXPECT_EQ(test, plain[i]->pre, 3);
		KUNIT_EXPECT_EQ(test, post[i]->post, 1);
	}
	kunit_release_action(test, remove_rival, refused);
	for (i = 0; i < ARRAY_SIZE(fn); i++) {
		add_rival(test, plain[i]->kp.addr);
		kunit_release_action(test, remove_rival, (void *)plain[i]->kp.addr);
	}
}
#endif

#ifdef MODULE
/* --- The target changes ------------------------------------------------------ */

/**
 * struct renamed - a symbol whose meaning changes after it has been looked up
 * @name:  the name that a probe has, "kpt_plain" at first
 * @often: how many times it changes: to "kpt_plain2", and back
 * @times: how often it was looked up
 */
struct renamed {
	char name[32];
	unsigned int often;
	unsigned int times;
};

static void rename_target(enum kprobe_stage stage, void *arg)
{
	struct renamed *r = arg;

	if (stage == KPROBE_STAGE_RESOLVED && r->times++ < r->often)
		strscpy(r->name, r->times % 2 ? "kpt_plain2" : "kpt_plain");
}

static struct renamed *rename_often(struct kunit *test, struct kpt_probe *pr,
				    unsigned int often)
{
	struct renamed *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	strscpy(r->name, "kpt_plain");
	r->often = often;
	kpt_watch_stages(test, rename_target, r);
	pr->kp.addr = NULL;
	pr->kp.symbol_name = r->name;
	return r;
}

/*
 * As if a module with a symbol of that name had been loaded after the target was looked
 * up, or unloaded: what was found is not what the name means now. A few in a row may be.
 */
static void target_that_is_elsewhere_by_then_is_found_there(struct kunit *test)
{
	struct kpt_probe *first = kpt_alloc(test, kpt_traced);
	struct kpt_probe *pr = kpt_alloc(test, kpt_plain);
	struct kprobe *kps[] = { &first->kp, &pr->kp };
	struct renamed *r = rename_often(test, pr, 5);

	KUNIT_ASSERT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), 0);
	KUNIT_EXPECT_EQ(test, r->times, 6);
	KUNIT_EXPECT_EQ(test, kpt_plain2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, first->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	unregister_kprobes(kps, ARRAY_SIZE(kps));
}

/* The lookup is not repeated forever. */
static void target_that_is_never_where_it_was_is_enoent(struct kunit *test)
{
	struct kpt_probe *first = kpt_alloc(test, kpt_plain2);
	struct kpt_probe *pr = kpt_alloc(test, kpt_plain);
	struct kprobe *kps[] = { &first->kp, &pr->kp };
	struct renamed *r = rename_often(test, pr, 1000);
	struct kprobe_counts before, now;

	before = kpt_counts(false);
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), -ENOENT);
	now = kpt_counts(false);
	KUNIT_EXPECT_NULL(test, kpt_differs(&before, &now));
	KUNIT_EXPECT_PTR_EQ(test, (void *)pr->kp.addr, NULL);
	KUNIT_EXPECT_GT(test, r->times, 1);
	KUNIT_EXPECT_LT(test, r->times, r->often);

	/* A symbol that does not move is accepted. */
	r->often = 0;
	strscpy(r->name, "kpt_plain2");
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), 0);
	KUNIT_EXPECT_EQ(test, kpt_plain2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, first->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	unregister_kprobes(kps, ARRAY_SIZE(kps));
}

/**
 * struct replaced - a symbol that changes after it has been looked up
 * @name:  the name that a probe gives
 * @by:	   what the name is changed to
 * @times: how often it was looked up
 */
struct replaced {
	char name[32];
	const char *by;
	unsigned int times;
};

static void replace_target(enum kprobe_stage stage, void *arg)
{
	struct replaced *r = arg;

	if (stage == KPROBE_STAGE_RESOLVED && !r->times++)
		strscpy(r->name, r->by);
}

static struct replaced *replace_once(struct kunit *test, struct kpt_probe *pr,
				     const char *name, const char *by)
{
	struct replaced *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	strscpy(r->name, name);
	r->by = by;
	kpt_watch_stages(test, replace_target, r);
	pr->kp.symbol_name = r->name;
	return r;
}

/* The first lookup finds a place that may not be probed, but the name now means another. */
static void target_that_was_a_refused_one_is_found(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, NULL);
	struct replaced *r = replace_once(test, pr, "kpt_marked", "kpt_plain2");

	KUNIT_ASSERT_EQ(test, kpt_try_register(test, &pr->kp), 0);
	KUNIT_EXPECT_EQ(test, r->times, 2);
	KUNIT_EXPECT_EQ(test, kpt_plain2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	kpt_unregister(test, pr);
}

static void target_that_is_gone_by_then_is_enoent(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, NULL);
	struct replaced *r = replace_once(test, pr, "kpt_plain", "kpt_no_such_one");
	struct kprobe_counts before = kpt_counts(false), now;

	KUNIT_EXPECT_EQ(test, kpt_try_register(test, &pr->kp), -ENOENT);
	KUNIT_EXPECT_EQ(test, r->times, 1);
	now = kpt_counts(false);
	KUNIT_EXPECT_NULL(test, kpt_differs(&before, &now));
	KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
}

#if defined(CONFIG_X86_KERNEL_IBT) && defined(CONFIG_OPTPROBES)
static void replace_endbr(enum kprobe_stage stage, void *endbr)
{
	if (stage == KPROBE_STAGE_RESOLVED)
		memset(endbr, BYTES_NOP1, ENDBR_INSN_SIZE);
}

/* As if another module were there: a function does not begin in front of the address any more. */
static void address_that_is_in_another_module_by_then_is_enoent(struct kunit *test)
{
	struct kprobe_counts before = kpt_counts(false), now;
	struct kpt_probe *pr = kpt_alloc(test, kpt_plain);
	u8 *endbr = kpt_writable(test, kpt_plain), was[ENDBR_INSN_SIZE];
	int ret;

	memcpy(was, endbr, sizeof(was));
	kpt_watch_stages(test, replace_endbr, endbr);
	ret = kpt_try_register(test, &pr->kp);
	kpt_unwatch_stages(test);
	memcpy(endbr, was, sizeof(was));
	KUNIT_EXPECT_EQ(test, ret, -ENOENT);
	if (!ret)
		kpt_unregister(test, pr);
	now = kpt_counts(false);
	KUNIT_EXPECT_NULL(test, kpt_differs(&before, &now));
	pr->kp.addr = (kprobe_opcode_t *)kpt_plain;
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}
#endif
#endif

/* A number that was never set, for instance: a caller's mistake, and no bug of the kernel. */
static void batch_too_large_for_memory_is_enomem(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, kpt_plain);
	struct kprobe *kps[] = { &pr->kp };
#ifdef CONFIG_KRETPROBES
	struct kretprobe *rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL), *rps[] = { rp };

	KUNIT_ASSERT_NOT_NULL(test, rp);
	rp->kp.addr = kpt_text(kpt_plain);
	KUNIT_EXPECT_EQ(test, register_kretprobes(rps, INT_MAX), -ENOMEM);
#endif
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, INT_MAX), -ENOMEM);
	/* If it warns, the test run fails. */
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

static struct kunit_case batch_cases[] = {
#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_DYNAMIC_FTRACE_WITH_REGS)
	KUNIT_CASE(batch_that_cannot_be_armed_registers_nothing),
#if defined(CONFIG_X86) && defined(CONFIG_OPTPROBES)
	KUNIT_CASE(jump_in_the_way_of_a_refused_batch_comes_back),
	KUNIT_CASE(jump_at_a_point_of_a_refused_batch_comes_back),
#endif
	KUNIT_CASE(probe_that_cannot_be_armed_changes_nothing),
	KUNIT_CASE(probe_that_cannot_be_armed_leaves_a_disabled_one),
	KUNIT_CASE(right_is_given_back_when_nobody_needs_it),
	KUNIT_CASE(right_stays_while_another_probe_needs_it),
	KUNIT_CASE(right_is_not_asked_for_without_need),
	KUNIT_CASE(ftrace_cannot_be_switched_off_under_points),
#if defined(CONFIG_X86) && defined(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS)
	KUNIT_CASE(direct_trampoline_shares_the_function),
	KUNIT_CASE(direct_trampoline_shares_what_is_named_by_address),
	KUNIT_CASE(direct_trampoline_that_cannot_share_is_ebusy),
#endif
	KUNIT_CASE(right_is_given_back_when_a_batch_is_refused),
	KUNIT_CASE(right_is_given_back_at_each_site_of_a_refused_batch),
#ifdef CALLS_REDIRECTED
	KUNIT_CASE(redirected_call_stays_redirected),
#endif
	KUNIT_CASE(point_that_all_probes_leave_is_not_moved),
	KUNIT_CASE(point_with_a_post_handler_is_not_moved_for_another),
	KUNIT_CASE(batch_moves_its_points_at_once),
#ifdef CONFIG_DEBUG_FS
#ifdef CONFIG_DYNAMIC_DEBUG_CORE
	KUNIT_CASE(refusals_say_why),
#endif
	KUNIT_CASE(switch_arms_all_but_what_cannot_be_armed),
#if defined(CONFIG_X86) && defined(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS)
	KUNIT_CASE(switch_logs_why_the_first_cannot_be_armed),
#endif
	KUNIT_CASE(switch_logs_one_line_however_many_cannot_be_armed),
#ifdef CONFIG_X86
	KUNIT_CASE(switching_off_waits_for_a_site_that_was_refused),
	KUNIT_CASE(switching_off_waits_for_a_site_that_was_refused_again),
	KUNIT_CASE(switching_off_waits_for_a_site_of_a_refused_batch),
	KUNIT_CASE(one_refused_site_does_not_arm_the_others_one_by_one),
#endif
#endif
#endif
#ifdef MODULE
	KUNIT_CASE(target_that_is_elsewhere_by_then_is_found_there),
	KUNIT_CASE(target_that_is_never_where_it_was_is_enoent),
	KUNIT_CASE(target_that_was_a_refused_one_is_found),
	KUNIT_CASE(target_that_is_gone_by_then_is_enoent),
#if defined(CONFIG_X86_KERNEL_IBT) && defined(CONFIG_OPTPROBES)
	KUNIT_CASE(address_that_is_in_another_module_by_then_is_enoent),
#endif
#endif
	KUNIT_CASE(batch_too_large_for_memory_is_enomem),
	KUNIT_CASE_SLOW(threads_with_overlapping_batches_lose_no_hit),
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite batch_suite = {
	.name = "kprobes_batch",
	.suite_init = kpt_files_suite_init,
	.suite_exit = kpt_unmount_files,
	.init = kpt_case_init,
	.test_cases = batch_cases,
};

kunit_test_suite(batch_suite);
