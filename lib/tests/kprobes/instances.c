// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit suite: the instances of return probes, and what a return looks like. */
#include <linux/align.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/stacktrace.h>

#include "fixture.h"
#include "fprobe.h"
#ifdef CONFIG_X86
#include "watch_x86.h"
#endif

/**
 * struct inst_probe - a return probe that counts
 * @rp:		the probe itself
 * @entries:	calls that are followed
 * @returns:	of these, those that have returned
 * @most:	calls that were under way at once
 * @wrong:	counts of violated rules
 * @ri:		the latest of them
 * @at_entry:	registers at the latest entry
 * @entry_ret:	return address there
 * @entry_true:	what get_kretprobe_retaddr() says there, on x86
 * @at_return:	registers at the latest return
 * @retaddr:	latest return address
 * @slot:	what was in the place of the return address there, on x86
 * @order:	if not NULL, ticks with each return
 * @tick:	its value at the latest return
 *
 * What is that of the latest call races where threads run side by side. The cases with
 * such threads look at the counts only.
 */
struct inst_probe {
	struct kretprobe rp;
	atomic_t entries;
	atomic_t returns;
	atomic_t most;
	atomic_t wrong;
	struct kretprobe_instance *ri;
	struct pt_regs at_entry;
	unsigned long entry_ret;
	unsigned long entry_true;
	struct pt_regs at_return;
	unsigned long retaddr;
	unsigned long slot;
	int *order;
	int tick;
};

static struct inst_probe *to_inst(struct kretprobe_instance *ri)
{
	return container_of(get_kretprobe(ri), struct inst_probe, rp);
}

static int inst_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct inst_probe *p = to_inst(ri);
	int under_way, most;

	atomic_inc(&p->entries);
	WRITE_ONCE(p->ri, ri);
	/* Read in this order, the difference is never more than the instances in use. */
	under_way = atomic_read(&p->entries);
	under_way -= atomic_read(&p->returns);
	most = atomic_read(&p->most);
	while (under_way > most && !atomic_try_cmpxchg(&p->most, &most, under_way))
		;
#ifdef CONFIG_X86
	/* See struct inst_probe. */
	data_race(p->at_entry = *regs);
	/* The same. */
	data_race(p->entry_ret = *(unsigned long *)kernel_stack_pointer(regs));
	/* And here. */
	data_race(p->entry_true = get_kretprobe_retaddr(ri));
#endif
	return 0;
}

static int inst_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct inst_probe *p = to_inst(ri);

	/* See struct inst_probe. */
	data_race(p->at_return = *regs);
#ifdef CONFIG_X86
	/* The return has popped it. The same. */
	data_race(p->slot = ((unsigned long *)kernel_stack_pointer(regs))[-1]);
#endif
	/* The same. */
	data_race(p->retaddr = get_kretprobe_retaddr(ri));
	if (p->order)
		p->tick = ++*p->order;
	atomic_inc(&p->returns);
	return 0;
}

static struct inst_probe *inst_alloc(struct kunit *test, void *addr, int maxactive)
{
	struct inst_probe *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->rp.kp.addr = kpt_text(addr);
	p->rp.handler = inst_return;
	p->rp.entry_handler = inst_entry;
	p->rp.maxactive = maxactive;
	return p;
}

static struct inst_probe *inst_probe(struct kunit *test, void *addr, int maxactive)
{
	struct inst_probe *p = inst_alloc(test, addr, maxactive);

	kpt_register_return(test, &p->rp);
	return p;
}

static int inst_missed(struct inst_probe *p)
{
	return READ_ONCE(p->rp.nmissed);
}

/* How many there are. With rethook, the number is not known, and cases that ask are skipped. */
static unsigned int inst_total(struct inst_probe *p)
{
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	return 0;
#else
	return kprobe_test_instances(&p->rp);
#endif
}

/* The case stays on this CPU, so its calls use the instances of this CPU first. */
static void stay_on_first_cpu(struct kunit *test)
{
	int here = cpumask_first(cpu_possible_mask);

	if (!cpu_online(here))
		kunit_skip(test, "needs the first CPU");
	set_cpus_allowed_ptr(current, cpumask_of(here));
}

/**
 * struct worker - a thread that runs calls
 * @depth:	how deep it recurses
 * @gate:	it waits for this at the bottom
 * @times:	number of calls
 * @wrong:	number of wrong results
 * @inside:	counts the threads at the bottom
 * @done:	counts the threads that have finished
 */
struct worker {
	unsigned long depth;
	struct completion *gate;
	unsigned int times;
	unsigned int wrong;
	atomic_t *inside;
	atomic_t *done;
};

static int worker_fn(void *arg)
{
	struct worker *w = arg;
	unsigned int i;

	for (i = 0; i < w->times; i++) {
		if (w->gate) {
			if (kpt_recurse_waits(w->depth, w->gate, w->inside) != w->depth)
				w->wrong++;
		} else if (kpt_recurse(w->depth) != w->depth) {
			w->wrong++;
		}
		cond_resched();
	}
	atomic_inc(w->done);
	while (!kthread_should_stop())
		usleep_range(500, 1000);
	return 0;
}

/* What a CPU has, by the rule for the default number. */
static int share_of_first_cpu(void)
{
	int first = max_t(int, 10, 2 * num_possible_cpus());

	return DIV_ROUND_UP(first, num_possible_cpus());
}

/* --- A given bound --------------------------------------------------------- */

/* Instances are spread over the CPUs, and yet each CPU can use all of them. */
static void every_cpu_has_all_instances(struct kunit *test)
{
	int nr = 2 * num_online_cpus() + 3, cpu, n = 0;
	struct inst_probe *p = inst_probe(test, kpt_recurse, nr);
	atomic_t done = ATOMIC_INIT(0);

	for_each_online_cpu(cpu) {
		/* nr + 2 calls */
		struct worker w = { .depth = nr + 1, .times = 1, .done = &done };
		struct task_struct *task = kpt_thread(test, worker_fn, &w, cpu, "deep");

		n++;
		KUNIT_EXPECT_TRUE(test, kpt_wait_until(atomic_read(&done) == n));
		kpt_stop(test, task);
		KUNIT_EXPECT_EQ(test, w.wrong, 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&p->entries), n * nr);
		KUNIT_EXPECT_EQ(test, atomic_read(&p->returns), n * nr);
		KUNIT_EXPECT_EQ(test, inst_missed(p), n * 2);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&p->most), nr);
}

#define CONTENDERS	6
#define CONTENTIONS	(2000 / KPT_STRIDE)

/* State of no_call_is_missed_below_the_bound() that outlives its threads. */
struct contention {
	struct completion shut;
	struct completion open;
	atomic_t hogs;
	atomic_t inside;
	atomic_t done;
	struct worker hog;
	struct worker w[CONTENDERS];
};

static void release_hog(void *gate)
{
	complete_all(gate);
}

/*
 * There are never more calls in flight than instances, so none may be missed. Waiting
 * calls hold all instances of one CPU, so each other call there has to search those of
 * another CPU, which takes and returns them meanwhile.
 */
static void no_call_is_missed_below_the_bound(struct kunit *test)
{
	int held = CONTENDERS * 3 * num_possible_cpus(), cpu = raw_smp_processor_id();
	int other = cpumask_any_but(cpu_online_mask, cpu);
	struct contention *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct inst_probe *p;
	int i;

	if (other >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, c);
	init_completion(&c->shut);
	init_completion(&c->open);
	complete_all(&c->open);
	p = inst_probe(test, kpt_recurse_waits, held + CONTENDERS * 3);
	c->hog = (struct worker){
		.depth = held - 1, .gate = &c->shut, .times = 1, .inside = &c->hogs,
		.done = &c->done,
	};
	kpt_thread(test, worker_fn, &c->hog, cpu, "hog");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, release_hog, &c->shut), 0);
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(atomic_read(&c->hogs)));
	KUNIT_ASSERT_EQ(test, atomic_read(&p->entries), held);

	for (i = 0; i < CONTENDERS; i++) {
		c->w[i] = (struct worker){
			.depth = 2, .gate = &c->open, .times = CONTENTIONS,
			.inside = &c->inside, .done = &c->done,
		};
		kpt_thread(test, worker_fn, &c->w[i], i & 1 ? other : cpu, "contender");
	}
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(atomic_read(&c->done) == CONTENDERS));
	KUNIT_EXPECT_EQ(test, inst_missed(p), 0);
	complete_all(&c->shut);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(atomic_read(&c->done) == CONTENDERS + 1));
	KUNIT_EXPECT_EQ(test, inst_missed(p), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->entries), held + CONTENDERS * CONTENTIONS * 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->returns), held + CONTENDERS * CONTENTIONS * 3);
	KUNIT_EXPECT_EQ(test, c->hog.wrong, 0);
}

#ifdef CONFIG_X86
/**
 * struct keeper - a task that always keeps one of two instances
 * @there: the CPU that it moves to during its first call, and makes the second one on
 * @nth:   the first call returns after this access to the other CPU's instances
 * @calls: the number of calls that it has made
 * @waits: it is in the first call, and has moved
 * @go:    the first call may return
 * @done:  it is in the second call
 */
struct keeper {
	int there;
	unsigned int nth;
	unsigned int calls;
	bool waits;
	bool go;
	bool done;
};

static noinline notrace unsigned long kpt_inst_keeps(struct keeper *k)
{
	OPTIMIZER_HIDE_VAR(k);
	if (!k)
		return 1;
	if (!k->calls++) {
		set_cpus_allowed_ptr(current, cpumask_of(k->there));
		WRITE_ONCE(k->waits, true);
		/* Do not sleep: the timer may be on the other CPU, which has interrupts off. */
		while (!READ_ONCE(k->go) && !kthread_should_stop()) {
			cpu_relax();
			cond_resched();
		}
	} else {
		WRITE_ONCE(k->done, true);
		while (!kthread_should_stop())
			usleep_range(100, 200);
	}
	return 1;
}

static int keeper_fn(void *arg)
{
	while (!kthread_should_stop())
		kpt_inst_keeps(arg);
	return 0;
}

static void let_keeper_go(struct kpt_watch *w, struct pt_regs *regs)
{
	struct keeper *k = w->arg;

	if (w->times != k->nth)
		return;
	WRITE_ONCE(k->go, true);
	kpt_spin_until(READ_ONCE(k->done), KPT_WATCH_MS);
}

/*
 * A CPU has found none of its own instances free. Before it looks at the other CPU's, the
 * keeper gives back the former and takes the latter. The first access is the attempt to
 * take an instance without a search, the second is that of the search.
 */
static void search_finds_an_instance_that_moves(struct kunit *test)
{
	int here = cpumask_first(cpu_possible_mask);
	int there = cpumask_next(here, cpu_possible_mask);
	struct keeper *k = kunit_kzalloc(test, sizeof(*k), GFP_KERNEL);
	struct task_struct *task;
	struct inst_probe *p;
	struct kpt_watch *w;
	unsigned int nth;
	void *word;

	if (there >= nr_cpu_ids || !cpu_online(here) || !cpu_online(there))
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, k);
	set_cpus_allowed_ptr(current, cpumask_of(here));
	/* One instance for each of these two CPUs, and none for others. */
	p = inst_probe(test, kpt_inst_keeps, 2);
	KUNIT_EXPECT_EQ(test, kpt_inst_keeps(NULL), 1ul);
	KUNIT_ASSERT_NOT_NULL(test, p->ri);
	word = kprobe_test_free_word(p->ri);
	for (nth = 1; nth <= 2; nth++) {
		*k = (struct keeper){ .there = there, .nth = nth };
		task = kpt_thread(test, keeper_fn, k, here, "keeper");
		KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(k->waits)));
		w = kpt_watch(test, word, sizeof(long), here, let_keeper_go, k);
		KUNIT_EXPECT_EQ(test, kpt_inst_keeps(NULL), 1ul);
		KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(k->done), "%u", nth);
		KUNIT_EXPECT_EQ_MSG(test, inst_missed(p), 0, "%u", nth);
		kpt_stop(test, task);
		kpt_unwatch(test, w);
		KUNIT_EXPECT_EQ(test, atomic_read(&p->entries), 1 + 3 * nth);
	}
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/**
 * struct leaver - a call that returns once its probe is gone
 * @p:	  the probe
 * @in:	  it has been called
 * @go:	  it may return
 * @done: the thread has done all that the case is about
 */
struct leaver {
	struct inst_probe *p;
	bool in;
	bool go;
	bool done;
};

/* Returns with preemption off, so that what it gives back is not freed meanwhile. */
static noinline notrace unsigned long kpt_inst_leaves(struct leaver *l)
{
	WRITE_ONCE(l->in, true);
	while (!READ_ONCE(l->go) && !kthread_should_stop())
		usleep_range(100, 200);
	preempt_disable();
	return 1;
}

static int leaver_fn(void *arg)
{
	struct leaver *l = arg;

	kpt_inst_leaves(l);
	/* A second call has come too late: the first has taken the free instances of both. */
	kprobe_test_given_back(l->p->ri);
	preempt_enable();
	WRITE_ONCE(l->done, true);
	while (!kthread_should_stop())
		usleep_range(100, 200);
	return 0;
}

/* If two of them did, the pool would be freed twice. */
static void last_of_the_calls_frees_the_pool(struct kunit *test)
{
	struct leaver *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	unsigned int pools = kpt_counts(true).pools;
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, l);
	l->p = inst_probe(test, kpt_inst_leaves, 1);
	task = kpt_thread(test, leaver_fn, l, -1, "leaver");
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(READ_ONCE(l->in)));
	KUNIT_EXPECT_EQ(test, atomic_read(&l->p->entries), 1);
	kpt_unregister_return(test, &l->p->rp);
	KUNIT_EXPECT_EQ(test, kpt_counts(true).pools, pools + 1);
	WRITE_ONCE(l->go, true);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(READ_ONCE(l->done)));
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(kpt_counts(true).pools == pools));
	kpt_stop(test, task);
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, kpt_counts(true).pools, pools);
}

/* A probe of kpt_recurse(), which has been called once. */
static struct inst_probe *inst_used(struct kunit *test, int maxactive)
{
	struct inst_probe *p = inst_probe(test, kpt_recurse, maxactive);

	KUNIT_EXPECT_EQ(test, kpt_recurse(0), 0ul);
	KUNIT_ASSERT_NOT_NULL(test, p->ri);
	return p;
}

static void give_back_elsewhere(struct kpt_watch *w, struct pt_regs *regs)
{
	kprobe_test_given_back(w->arg);
}

/* Other CPUs give the only instance back, and take it, whenever the search looks. */
static void search_that_is_always_too_late_ends(struct kunit *test)
{
	struct inst_probe *p;
	struct kpt_watch *w;

	stay_on_first_cpu(test);
	p = inst_used(test, 1);
	w = kpt_watch(test, kprobe_test_free_word(p->ri), sizeof(long),
		      raw_smp_processor_id(), give_back_elsewhere, p->ri);
	/* The inner call finds none. */
	KUNIT_EXPECT_EQ(test, kpt_recurse(1), 1ul);
	KUNIT_EXPECT_GT(test, w->times, 50);
	KUNIT_EXPECT_LT(test, w->times, 300);
	kpt_unwatch(test, w);
	/* Otherwise each later return would write what all CPUs read. */
	KUNIT_EXPECT_EQ(test, atomic_read(kprobe_test_attention(p->ri)), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->entries), 2);
	KUNIT_EXPECT_EQ(test, inst_missed(p), 1);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/**
 * struct order - what has to be true when a word is read
 * @p:     the probe
 * @times: reads
 * @wrong: those at which it was not true
 */
struct order {
	struct inst_probe *p;
	unsigned int times;
	unsigned int wrong;
};

static void look_who_is_free(struct kpt_watch *w, struct pt_regs *regs)
{
	struct order *o = w->arg;
	struct kretprobe_instance *ri = o->p->ri;

	o->times++;
	o->wrong += !(*(unsigned long *)kprobe_test_free_word(ri) & ri->bit);
}

static void look_who_wants(struct kpt_watch *w, struct pt_regs *regs)
{
	struct order *o = w->arg;

	o->times++;
	o->wrong += !kprobe_test_wanted(o->p->ri);
}

static void look_who_holds(struct kpt_watch *w, struct pt_regs *regs)
{
	struct order *o = w->arg;

	o->times++;
	o->wrong += !kprobe_test_held_to_grow(o->p->ri);
}

/* Calls once with @depth while @look looks at each read of @word, an address in the pool. */
static void check_order(struct kunit *test, struct inst_probe *p, void *word,
			void (*look)(struct kpt_watch *w, struct pt_regs *regs), int depth)
{
	struct order *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	struct kpt_watch *w;

	KUNIT_ASSERT_NOT_NULL(test, o);
	o->p = p;
	w = kpt_watch(test, word, sizeof(int), raw_smp_processor_id(), look, o);
	KUNIT_EXPECT_EQ(test, kpt_recurse(depth), (unsigned long)depth);
	kpt_unwatch(test, w);
	KUNIT_EXPECT_GT(test, o->times, 0);
	KUNIT_EXPECT_EQ(test, o->wrong, 0);
}

/* Otherwise a search that begins in between is not told of the instance. */
static void instance_is_free_before_the_return_looks_for_searches(struct kunit *test)
{
	struct inst_probe *p;

	stay_on_first_cpu(test);
	p = inst_used(test, 1);
	check_order(test, p, kprobe_test_attention(p->ri), look_who_is_free, 0);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/*
 * The worker stops to be asked before it looks what is wanted. It gives back a reference
 * when it is done, which must not be the one of a call.
 */
static void call_says_what_it_wants_before_it_asks(struct kunit *test)
{
	struct inst_probe *p;

	kpt_skip_if_pools_stay(test);
	stay_on_first_cpu(test);
	p = inst_used(test, 0);
	check_order(test, p, kprobe_test_asked(p->ri), look_who_wants,
		    share_of_first_cpu() / 2);
	p = inst_used(test, 0);
	check_order(test, p, kprobe_test_todo_word(p->ri), look_who_holds,
		    share_of_first_cpu() / 2);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}
#endif

static void calls_and_missed_calls_add_up(struct kunit *test)
{
	struct inst_probe *p = inst_probe(test, kpt_recurse, 2);
	/* Not on the stack: a case that fails ends before its threads do. */
	atomic_t *done = kunit_kzalloc(test, sizeof(*done), GFP_KERNEL);
	struct worker *w;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, done);
	w = kunit_kcalloc(test, CONTENDERS, sizeof(*w), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, w);
	for (i = 0; i < CONTENDERS; i++) {
		w[i] = (struct worker){ .depth = 2, .times = CONTENTIONS, .done = done };
		kpt_thread(test, worker_fn, &w[i], -1, "contender");
	}
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(atomic_read(done) == CONTENDERS));
	KUNIT_EXPECT_EQ(test, atomic_read(&p->entries), atomic_read(&p->returns));
	KUNIT_EXPECT_EQ(test, atomic_read(&p->entries) + inst_missed(p),
			CONTENDERS * CONTENTIONS * 3);
	/* Calls three deep with two instances: at least every third is missed. */
	KUNIT_EXPECT_GE(test, inst_missed(p), CONTENDERS * CONTENTIONS);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->most), 2);
}

static int wanderer_fn(void *arg)
{
	struct worker *w = arg;
	unsigned int i;

	for (i = 0; i < w->times; i++)
		if (kpt_ret_wanders(i) != KPT_RESULT(i))
			w->wrong++;
	atomic_inc(w->done);
	while (!kthread_should_stop())
		usleep_range(500, 1000);
	return 0;
}

/* The only instance is taken on one CPU and given back on another. */
static void instance_survives_migration(struct kunit *test)
{
	struct inst_probe *p = inst_probe(test, kpt_ret_wanders, 1);
	atomic_t done = ATOMIC_INIT(0);
	struct worker w = { .times = 20, .done = &done };
	struct task_struct *task;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	task = kpt_thread(test, wanderer_fn, &w, -1, "wanderer");
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(atomic_read(&done)));
	kpt_stop(test, task);
	KUNIT_EXPECT_EQ(test, w.wrong, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->returns), 20);
	KUNIT_EXPECT_EQ(test, inst_missed(p), 0);
}

/* --- Pools whose size the subsystem chooses --------------------------------- */

#define DEEP		60

static void pool_grows_until_nothing_is_missed(struct kunit *test)
{
	/* Any number that is not positive is as good as 0. */
	struct inst_probe *p = inst_probe(test, kpt_recurse, -1);
	int first = max_t(int, 10, 2 * num_possible_cpus());
	int round, before = 0;
	unsigned int total;

	kpt_skip_if_pools_stay(test);
	if (first > DEEP)
		kunit_skip(test, "too many CPUs");
	for (round = 1; round <= 20; round++) {
		before = inst_missed(p);
		total = inst_total(p);
		KUNIT_EXPECT_EQ(test, kpt_recurse(DEEP), (unsigned long)DEEP);
		KUNIT_EXPECT_EQ(test, atomic_read(&p->returns) + inst_missed(p),
				round * (DEEP + 1));
		if (inst_missed(p) == before)
			break;
		KUNIT_ASSERT_TRUE(test, kpt_wait_until(inst_total(p) > total));
	}
	KUNIT_EXPECT_LE(test, round, 20);
	/* The pool had to grow, and did: in the end nothing was missed. */
	KUNIT_EXPECT_GT(test, DEEP + 1, first);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->most), DEEP + 1);
}

/*
 * Half of the newest share of a CPU may be in use. The next call asks for as many instances as
 * the CPU has, but at least eight, for that CPU.
 */
static void pool_grows_where_half_is_in_use(struct kunit *test)
{
	int total = max_t(int, 10, 2 * num_possible_cpus());
	int share = share_of_first_cpu(), newest = share, more, round;
	struct inst_probe *p;

	kpt_skip_if_pools_stay(test);
	stay_on_first_cpu(test);
	p = inst_probe(test, kpt_recurse, 0);
	for (round = 0; round < 2; round++) {
		KUNIT_EXPECT_EQ(test, kpt_recurse(newest / 2 - 1), newest / 2 - 1ul);
		msleep(50);
		KUNIT_EXPECT_EQ_MSG(test, inst_total(p), total, "%d", round);
		KUNIT_EXPECT_EQ(test, kpt_recurse(newest / 2), (unsigned long)newest / 2);
		KUNIT_ASSERT_TRUE(test, kpt_wait_until(inst_total(p) > total));
		more = max(share, 8);
		total += more;
		KUNIT_EXPECT_EQ_MSG(test, inst_total(p), total, "%d", round);
		share += more;
		/* A chunk has as many as a long has bits. */
		newest = min_t(int, more, BITS_PER_LONG);
	}
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

static void recurse_while_it_grows(enum kprobe_stage stage, void *arg)
{
	int *depth = arg, once = *depth;

	if (stage != KPROBE_STAGE_GREW)
		return;
	*depth = 0;
	if (once)
		kpt_recurse(once);
}

/*
 * No call asks while the worker makes the pool grow. If half of the new instances are in use
 * before it is done, it goes on by itself.
 */
static void pool_that_is_used_while_it_grows_grows_again(struct kunit *test)
{
	int total = max_t(int, 10, 2 * num_possible_cpus());
	int share = share_of_first_cpu(), more = max(share, 8);
	int *depth = kunit_kzalloc(test, sizeof(*depth), GFP_KERNEL);
	struct inst_probe *p;

	kpt_skip_if_pools_stay(test);
	KUNIT_ASSERT_NOT_NULL(test, depth);
	stay_on_first_cpu(test);
	p = inst_probe(test, kpt_recurse, 0);
	/* The worker runs on the CPU that has asked, and so do its calls. */
	*depth = min_t(int, more, BITS_PER_LONG) / 2;
	kpt_watch_stages(test, recurse_while_it_grows, depth);
	KUNIT_EXPECT_EQ(test, kpt_recurse(share / 2), share / 2 + 0ul);
	total += more;
	total += max(share + more, 8);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(inst_total(p) >= total));
	KUNIT_EXPECT_EQ(test, inst_total(p), total);
	KUNIT_EXPECT_EQ(test, *depth, 0);
	kpt_unwatch_stages(test);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

static void given_maxactive_never_grows(struct kunit *test)
{
	struct inst_probe *p = inst_probe(test, kpt_recurse, 12);
	int round;

	for (round = 0; round < 5; round++) {
		KUNIT_EXPECT_EQ(test, kpt_recurse(DEEP), (unsigned long)DEEP);
		msleep(20);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&p->returns), 5 * 12);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->most), 12);
}

/* A CPU has more of them than a word has bits. */
static void every_one_of_many_instances_is_there(struct kunit *test)
{
	int nr = (BITS_PER_LONG + 1) * num_possible_cpus() + 1;
	struct inst_probe *p = inst_probe(test, kpt_recurse, nr);

	if (!IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK))
		KUNIT_EXPECT_EQ(test, inst_total(p), (unsigned int)nr);
	stay_on_first_cpu(test);
	KUNIT_EXPECT_EQ(test, kpt_recurse(BITS_PER_LONG), (unsigned long)BITS_PER_LONG);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_EXPECT_EQ(test, inst_missed(p), 0);
}

/* On sparc64 a frame has at least 176 bytes. */
#ifdef CONFIG_SPARC64
#define CROWD		144
#define CROWD_DEPTH	30
#else
#define CROWD		48
#define CROWD_DEPTH	90
#endif

/* The limit that the manual names: 4,096 instances. */
static void growth_ends_at_its_bound(struct kunit *test)
{
	struct inst_probe *p = inst_probe(test, kpt_recurse_waits, 0);
	unsigned int total = 0;
	int round, i, before = 0;

	kpt_skip_if_pools_stay(test);
	for (round = 0; round < 20 && atomic_read(&p->most) < 4096; round++) {
		atomic_t inside = ATOMIC_INIT(0), done = ATOMIC_INIT(0);
		struct task_struct *tasks[CROWD];
		DECLARE_COMPLETION_ONSTACK(gate);
		struct worker w = {
			.depth = CROWD_DEPTH, .gate = &gate, .times = 1,
			.inside = &inside, .done = &done,
		};

		KUNIT_ASSERT_TRUE(test, kpt_wait_until(inst_total(p) > total ||
						       inst_total(p) == 4096));
		total = inst_total(p);
		before = atomic_read(&p->returns) + inst_missed(p);
		for (i = 0; i < CROWD; i++)
			tasks[i] = kpt_thread(test, worker_fn, &w, -1, "crowd");
		KUNIT_EXPECT_TRUE(test, kpt_wait_until(atomic_read(&inside) == CROWD));
		complete_all(&gate);
		for (i = 0; i < CROWD; i++)
			kpt_stop(test, tasks[i]);
		KUNIT_EXPECT_EQ(test, w.wrong, 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&p->returns) + inst_missed(p) - before,
				CROWD * (CROWD_DEPTH + 1));
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&p->most), 4096);
}

/* The other limit: 4 MiB of instances, however many these are. */
static void growth_ends_at_its_bound_of_memory(struct kunit *test)
{
	struct inst_probe *p = inst_alloc(test, kpt_recurse_waits, 0);
	atomic_t inside = ATOMIC_INIT(0), done = ATOMIC_INIT(0);
	unsigned int total = 0;
	int bound, round, i;

	kpt_skip_if_pools_stay(test);
	p->rp.data_size = KRETPROBE_MAX_DATA_SIZE;
	bound = SZ_4M / ALIGN(sizeof(struct kretprobe_instance) + KRETPROBE_MAX_DATA_SIZE,
			      __alignof__(struct kretprobe_instance));
	kpt_register_return(test, &p->rp);
	for (round = 0; round < 12; round++) {
		DECLARE_COMPLETION_ONSTACK(gate);
		struct task_struct *tasks[CROWD];
		struct worker w = {
			.depth = CROWD_DEPTH, .gate = &gate, .times = 1,
			.inside = &inside, .done = &done,
		};

		KUNIT_ASSERT_TRUE(test, kpt_wait_until(inst_total(p) > total ||
						       inst_total(p) == bound));
		total = inst_total(p);
		atomic_set(&inside, 0);
		for (i = 0; i < CROWD / 3; i++)
			tasks[i] = kpt_thread(test, worker_fn, &w, -1, "crowd");
		KUNIT_EXPECT_TRUE(test, kpt_wait_until(atomic_read(&inside) == CROWD / 3));
		complete_all(&gate);
		for (i = 0; i < CROWD / 3; i++)
			kpt_stop(test, tasks[i]);
		KUNIT_EXPECT_EQ(test, w.wrong, 0);
	}
	/* The crowd has more calls in flight than that. */
	KUNIT_EXPECT_LT(test, bound, CROWD / 3 * (CROWD_DEPTH + 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&p->most), bound);
}

/* The worker has been asked to grow the pool, and finds it unregistered. */
static void pool_that_grows_may_go_at_once(struct kunit *test)
{
	int i;

	for (i = 0; i < 50; i++) {
		struct inst_probe *p = inst_probe(test, kpt_recurse, 0);

		KUNIT_EXPECT_EQ(test, kpt_recurse(DEEP), (unsigned long)DEEP);
		kpt_unregister_return(test, &p->rp);
		KUNIT_EXPECT_EQ(test, kpt_recurse(DEEP), (unsigned long)DEEP);
		KUNIT_EXPECT_EQ(test, atomic_read(&p->returns) + inst_missed(p), DEEP + 1);
	}
}

static void memory_is_back(void *unused)
{
	WRITE_ONCE(kprobe_test_no_instances, false);
}

static void memory_is_out(struct kunit *test)
{
	atomic_set(&kprobe_test_instances_failed, 0);
	WRITE_ONCE(kprobe_test_no_instances, true);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, memory_is_back, NULL), 0);
}

/* State of the next case that outlives its threads. */
struct shortage {
	struct completion gate;
	atomic_t inside;
	atomic_t done;
	struct worker w[2];
};

/*
 * All instances are in use, so no call asks again. Each CPU gets more of them, even one
 * whose instances only calls of others have taken.
 */
static void check_grows_later(struct kunit *test, struct inst_probe *p)
{
	int first = max_t(int, 10, 2 * num_possible_cpus());
	int more = min_t(int, 8 * num_possible_cpus(), DEEP), i;
	struct shortage *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	kpt_skip_if_pools_stay(test);
	KUNIT_ASSERT_NOT_NULL(test, s);
	init_completion(&s->gate);
	kpt_register_return(test, &p->rp);
	memory_is_out(test);
	for (i = 0; i < ARRAY_SIZE(s->w); i++) {
		s->w[i] = (struct worker){
			.depth = (i ? more : first) - 1, .gate = &s->gate, .times = 1,
			.inside = &s->inside, .done = &s->done,
		};
	}
	kpt_thread(test, worker_fn, &s->w[0], -1, "first");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, release_hog, &s->gate), 0);
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(atomic_read(&s->inside) == 1));
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(atomic_read(&kprobe_test_instances_failed)));

	kunit_release_action(test, memory_is_back, NULL);
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(inst_total(p) >=
					       first + 8 * num_possible_cpus()));
	memory_is_out(test);
	kpt_thread(test, worker_fn, &s->w[1], -1, "more");
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(atomic_read(&s->inside) == 2));
	KUNIT_EXPECT_EQ(test, inst_missed(p), 0);
	complete_all(&s->gate);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(atomic_read(&s->done) == 2));
	KUNIT_EXPECT_EQ(test, atomic_read(&p->returns), first + more);
}

static void pool_grows_once_there_is_memory(struct kunit *test)
{
	check_grows_later(test, inst_alloc(test, kpt_recurse_waits, 0));
}

/* Its calls take an instance in another way. */
static void pool_without_an_entry_handler_grows_once_there_is_memory(struct kunit *test)
{
	struct inst_probe *p = inst_alloc(test, kpt_recurse_waits, 0);

	p->rp.entry_handler = NULL;
	check_grows_later(test, p);
}

/* Calls ask again and again, but the worker waits a second after it has failed. */
static void pool_without_memory_is_left_alone(struct kunit *test)
{
	int first = max_t(int, 10, 2 * num_possible_cpus()), round;
	struct inst_probe *p = inst_probe(test, kpt_recurse, 0);
	unsigned long begin = jiffies;

	kpt_skip_if_pools_stay(test);
	memory_is_out(test);
	for (round = 0; round < 50; round++) {
		kpt_recurse(first - 1);
		usleep_range(4000, 5000);
	}
	KUNIT_EXPECT_EQ(test, inst_missed(p), 0);
	KUNIT_EXPECT_GE(test, atomic_read(&kprobe_test_instances_failed), 1);
	KUNIT_EXPECT_LE(test, atomic_read(&kprobe_test_instances_failed),
			1 + (int)((jiffies - begin) / HZ));
	/* The pool is still on the worker's list, which finds it unregistered. */
	kpt_unregister_return(test, &p->rp);
}

/* The worker has both on one list, and keeps both for the next time. */
static void all_pools_that_wait_for_memory_grow(struct kunit *test)
{
	int first = max_t(int, 10, 2 * num_possible_cpus()), i, failed;
	struct inst_probe *p[2];

	kpt_skip_if_pools_stay(test);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = inst_probe(test, kpt_recurse, 0);
	memory_is_out(test);
	kpt_recurse(first - 1);
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(atomic_read(&kprobe_test_instances_failed) >= 2));
	failed = atomic_read(&kprobe_test_instances_failed);
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(atomic_read(&kprobe_test_instances_failed) >=
					       failed + ARRAY_SIZE(p)));
	kunit_release_action(test, memory_is_back, NULL);
	for (i = 0; i < ARRAY_SIZE(p); i++) {
		KUNIT_EXPECT_TRUE_MSG(test, kpt_wait_until(inst_total(p[i]) > first), "%d", i);
		KUNIT_EXPECT_EQ_MSG(test, inst_missed(p[i]), 0, "%d", i);
	}
}

/* --- What a return looks like ------------------------------------------------ */

#ifdef CONFIG_X86
/* Functions preserve these registers. */
static void expect_same_kept(struct kunit *test, const struct pt_regs *a,
			     const struct pt_regs *b)
{
	KUNIT_EXPECT_EQ(test, a->bx, b->bx);
	KUNIT_EXPECT_EQ(test, a->bp, b->bp);
#ifdef CONFIG_X86_64
	KUNIT_EXPECT_EQ(test, a->r12, b->r12);
	KUNIT_EXPECT_EQ(test, a->r13, b->r13);
	KUNIT_EXPECT_EQ(test, a->r14, b->r14);
	KUNIT_EXPECT_EQ(test, a->r15, b->r15);
#else
	KUNIT_EXPECT_EQ(test, a->si, b->si);
	KUNIT_EXPECT_EQ(test, a->di, b->di);
#endif
}

static void registers_are_those_after_the_return(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct inst_probe *p = inst_probe(test, site->fn, 0);

	KUNIT_ASSERT_EQ(test, site->fn(7), KPT_RESULT(7ul));
	KUNIT_ASSERT_EQ(test, atomic_read(&p->returns), 1);
	expect_same_kept(test, &p->at_return, &p->at_entry);
	KUNIT_EXPECT_EQ(test, p->at_return.cs & 0xffff, __KERNEL_CS);
	KUNIT_EXPECT_EQ(test, p->at_return.ss & 0xffff, __KERNEL_DS);
#ifdef CONFIG_X86_32
	KUNIT_EXPECT_EQ(test, p->at_return.ds & 0xffff, __USER_DS);
	KUNIT_EXPECT_EQ(test, p->at_return.es & 0xffff, __USER_DS);
	KUNIT_EXPECT_EQ(test, p->at_return.fs & 0xffff, __KERNEL_PERCPU);
#endif
	KUNIT_EXPECT_EQ(test, kernel_stack_pointer(&p->at_return),
			kernel_stack_pointer(&p->at_entry) + sizeof(long));
	KUNIT_EXPECT_EQ(test, instruction_pointer(&p->at_return), p->entry_ret);
	KUNIT_EXPECT_EQ(test, p->retaddr, p->entry_ret);
	KUNIT_EXPECT_EQ(test, regs_return_value(&p->at_return), KPT_RESULT(7ul));
	KUNIT_EXPECT_FALSE(test, user_mode(&p->at_return));
}

/* Two functions return through one return address, the last called first. */
static void tail_call_returns_in_order(struct kunit *test)
{
	struct inst_probe *outer = inst_probe(test, kpt_asm_tail, 0);
	struct inst_probe *inner = inst_probe(test, kpt_asm_entry, 0);
	int order = 0;

	outer->order = &order;
	inner->order = &order;
	KUNIT_EXPECT_EQ(test, kpt_asm_tail(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, atomic_read(&outer->returns), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner->returns), 1);
	KUNIT_EXPECT_EQ(test, inner->tick, 1);
	KUNIT_EXPECT_EQ(test, outer->tick, 2);
	KUNIT_EXPECT_EQ(test, inner->retaddr, outer->entry_ret);
	KUNIT_EXPECT_EQ(test, outer->retaddr, outer->entry_ret);
	/* Traces that start in a handler find no trampoline. */
	KUNIT_EXPECT_EQ(test, instruction_pointer(&inner->at_return), outer->entry_ret);
	KUNIT_EXPECT_EQ(test, instruction_pointer(&outer->at_return), outer->entry_ret);
	KUNIT_EXPECT_EQ(test, inner->slot, outer->entry_ret);
	KUNIT_EXPECT_EQ(test, outer->slot, outer->entry_ret);
}
#endif

#ifdef CONFIG_X86
/* Returns from the called function and from its caller. */
static int leave_both(struct kpt_probe *pr, struct pt_regs *regs)
{
	unsigned long *sp = (unsigned long *)kernel_stack_pointer(regs) + 1;

	if (IS_ENABLED(CONFIG_FRAME_POINTER))
		regs->bp = *sp++;
	regs->sp = (unsigned long)sp;
	regs->ax = KPT_RESULT(7ul);
	regs->ip = (unsigned long)kpt_asm_returns;
	return 1;
}

/*
 * As after an oops in a task that goes on, or if a task leaves its functions by itself. With
 * one probe on the called function, its instance holds another return address than that of
 * the caller; with two, the newer one holds the trampoline's.
 */
static void call_that_does_not_return_gives_its_instance_back(struct kunit *test)
{
	struct inst_probe *outer = inst_probe(test, kpt_asm_outer, 1), *inner[2];
	int i, nr, round, returns;

	for (nr = 1; nr <= ARRAY_SIZE(inner); nr++) {
		struct kpt_probe *leaves = kpt_alloc(test, kpt_asm_entry);

		inner[nr - 1] = inst_probe(test, kpt_asm_entry, 1);
		leaves->on_pre = leave_both;
		kpt_register(test, leaves);
		returns = atomic_read(&outer->returns);
		for (round = 1; round <= 3; round++) {
			KUNIT_EXPECT_EQ(test, kpt_asm_outer(1), KPT_RESULT(7ul));
			KUNIT_EXPECT_EQ(test, atomic_read(&outer->returns), returns + round);
		}
		kpt_unregister(test, leaves);
		KUNIT_EXPECT_EQ(test, kpt_asm_outer(1), KPT_RESULT(1ul));
		KUNIT_EXPECT_EQ(test, inst_missed(outer), 0);
		for (i = 0; i < nr; i++) {
			KUNIT_EXPECT_EQ(test, atomic_read(&inner[i]->entries), 4 * (nr - i));
			KUNIT_EXPECT_EQ(test, atomic_read(&inner[i]->returns), nr - i);
			KUNIT_EXPECT_EQ(test, inst_missed(inner[i]), 0);
		}
	}
}

static int leave_inner(struct kpt_probe *pr, struct pt_regs *regs)
{
	regs->sp = kernel_stack_pointer(regs) + sizeof(long);
	regs->ip = (unsigned long)kpt_asm_after;
	return 1;
}

/* Its instance is between two of another frame, which share a return address. */
static void call_that_does_not_return_is_not_taken_for_its_caller(struct kunit *test)
{
	struct inst_probe *outer = inst_probe(test, kpt_asm_outer_tail, 1);
	struct inst_probe *inner = inst_probe(test, kpt_asm_entry, 1);
	struct inst_probe *tail = inst_probe(test, kpt_plain, 1);
	struct kpt_probe *leaves = kpt_alloc(test, kpt_asm_entry);
	int round, order = 0;

	outer->order = &order;
	tail->order = &order;
	leaves->on_pre = leave_inner;
	kpt_register(test, leaves);
	for (round = 1; round <= 3; round++) {
		KUNIT_EXPECT_EQ(test, kpt_asm_outer_tail(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, atomic_read(&outer->returns), round);
		KUNIT_EXPECT_EQ(test, atomic_read(&tail->returns), round);
		KUNIT_EXPECT_EQ(test, tail->retaddr, outer->entry_ret);
		KUNIT_EXPECT_EQ(test, outer->retaddr, outer->entry_ret);
	}
	KUNIT_EXPECT_EQ(test, outer->tick, tail->tick + 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner->entries), 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner->returns), 0);
	KUNIT_EXPECT_EQ(test, inst_missed(outer), 0);
	KUNIT_EXPECT_EQ(test, inst_missed(inner), 0);
	KUNIT_EXPECT_EQ(test, inst_missed(tail), 0);
}

/**
 * struct list_watch - what has been seen of the calls of the current task
 * @first:   the first call in its list
 * @entered: calls whose entry handler runs, which do not count below
 * @added:   calls that were put before it
 * @early:   of these, those whose return address had been replaced already
 * @removed: calls that were removed
 * @free:    of these, those whose instance was free already
 */
struct list_watch {
	struct llist_node *first;
	int entered;
	unsigned int added;
	unsigned int early;
	unsigned int removed;
	unsigned int free;
};

/* One is added to the place while the entry handler runs. */
static bool is_entered(const struct kretprobe_instance *ri)
{
	return !IS_ALIGNED((unsigned long)ri->fp, sizeof(long));
}

static void look_at_list(struct kpt_watch *w, struct pt_regs *regs)
{
	struct llist_node *now = current->kretprobe_instances.first;
	struct list_watch *l = w->arg;
	struct kretprobe_instance *ri;

	if (now != l->first && now && now->next == l->first) {
		ri = container_of(now, struct kretprobe_instance, llist);
		if (is_entered(ri)) {
			l->entered++;
		} else {
			l->added++;
			l->early += *(unsigned long *)ri->fp != (unsigned long)ri->ret_addr;
		}
	} else if (now != l->first && l->first && l->first->next == now) {
		ri = container_of(l->first, struct kretprobe_instance, llist);
		if (is_entered(ri))
			l->entered--;
		else
			l->removed++;
		l->free += !!(*(unsigned long *)kprobe_test_free_word(ri) & ri->bit);
	}
	l->first = now;
}

/*
 * An unwinder in an interrupt needs the call as long as the stack has the trampoline's
 * address. And an instance that is free while it is in the list could get into that of
 * another task.
 */
static void calls_are_listed_as_long_as_they_are_needed(struct kunit *test)
{
	struct list_watch *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct kpt_probe *leaves = kpt_alloc(test, kpt_asm_entry);
	unsigned int nr, cpu = raw_smp_processor_id();
	struct kpt_watch *w;

	KUNIT_ASSERT_NOT_NULL(test, l);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	w = kpt_watch(test, &current->kretprobe_instances.first, sizeof(long), cpu,
		      look_at_list, l);
	/* A return of one call, then one of two. */
	for (nr = 1; nr <= 2; nr++) {
		inst_probe(test, kpt_asm_entry, 2);
		*l = (struct list_watch){ };
		KUNIT_EXPECT_EQ(test, kpt_asm_entry(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, l->added, nr);
		KUNIT_EXPECT_EQ(test, l->early, 0);
		KUNIT_EXPECT_EQ(test, l->removed, nr);
		KUNIT_EXPECT_EQ(test, l->entered, 0);
		KUNIT_EXPECT_EQ(test, l->free, 0);
	}
	/* Two calls do not return. */
	inst_probe(test, kpt_asm_outer, 1);
	leaves->on_pre = leave_both;
	kpt_register(test, leaves);
	*l = (struct list_watch){ };
	KUNIT_EXPECT_EQ(test, kpt_asm_outer(1), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, l->added, 3);
	KUNIT_EXPECT_EQ(test, l->early, 0);
	KUNIT_EXPECT_EQ(test, l->removed, 3);
	KUNIT_EXPECT_EQ(test, l->free, 0);
	kpt_unwatch(test, w);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/* Otherwise an interrupt could use it for another call in between. */
static void instance_is_not_read_once_it_is_free(struct kunit *test)
{
	struct kpt_free_watch *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	struct inst_probe *outer = inst_probe(test, kpt_asm_entry, 2);
	struct inst_probe *inner = inst_probe(test, kpt_asm_entry, 2);
	unsigned int cpu = raw_smp_processor_id();
	struct kpt_watch *next, *addr;

	KUNIT_ASSERT_NOT_NULL(test, f);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	KUNIT_EXPECT_EQ(test, kpt_asm_entry(7), KPT_RESULT(7ul));
	f->ri = inner->ri;
	KUNIT_ASSERT_NOT_NULL(test, f->ri);
	next = kpt_watch(test, &f->ri->llist.next, sizeof(long), cpu, kpt_watch_free, f);
	addr = kpt_watch(test, &f->ri->ret_addr, sizeof(long), cpu, kpt_watch_free, f);
	KUNIT_EXPECT_EQ(test, kpt_asm_entry(7), KPT_RESULT(7ul));
	kpt_unwatch(test, next);
	kpt_unwatch(test, addr);
	KUNIT_EXPECT_PTR_EQ(test, inner->ri, f->ri);
	/* Written at the entry, and read at the return. */
	KUNIT_EXPECT_GE(test, next->times, 2);
	KUNIT_EXPECT_GE(test, addr->times, 2);
	KUNIT_EXPECT_EQ(test, f->times, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&outer->returns), 2);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/* --- Calls of another task ---------------------------------------------------- */

/* More than a stack has room for: a few probes on a deep recursion. */
#define MANY_CALLS	8192

/*
 * Without a bound, the walk would not end in a loop, nor while the task calls and returns all
 * the time. And what the list consists of is freed by RCU.
 */
static void walk_of_another_task_ends(struct kunit *test)
{
	struct keeper *k = kunit_kzalloc(test, sizeof(*k), GFP_KERNEL);
	struct kretprobe_instance *many = kunit_kcalloc(test, MANY_CALLS, sizeof(*many),
							GFP_KERNEL);
	struct inst_probe *p = inst_probe(test, kpt_inst_keeps, 2);
	int here = raw_smp_processor_id(), there;
	struct llist_node *cur = NULL, *next;
	struct task_struct *task;
	struct kpt_reader *r;
	unsigned int i;

	there = cpumask_any_but(cpu_online_mask, here);
	if (there >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, k);
	KUNIT_ASSERT_NOT_NULL(test, many);
	set_cpus_allowed_ptr(current, cpumask_of(here));
	*k = (struct keeper){ .there = there };
	task = kpt_thread(test, keeper_fn, k, there, "keeper");
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(k->waits)));
	KUNIT_ASSERT_NOT_NULL(test, p->ri);

	r = kpt_watch_reader(test, &task->kretprobe_instances.first, sizeof(long),
			     kpt_watch_preemptible);
	KUNIT_EXPECT_EQ(test, kretprobe_find_ret_addr(task, p->ri->fp, &cur),
			(unsigned long)p->ri->ret_addr);
	KUNIT_EXPECT_PTR_EQ(test, cur, &p->ri->llist);
	kpt_unwatch_reader(test, r);

	/* Those of many calls before it are passed. */
	cur = NULL;
	for (i = 0; i < MANY_CALLS; i++)
		many[i].llist.next = i ? &many[i - 1].llist : &p->ri->llist;
	KUNIT_ASSERT_PTR_EQ(test, task->kretprobe_instances.first, &p->ri->llist);
	WRITE_ONCE(task->kretprobe_instances.first, &many[MANY_CALLS - 1].llist);
	KUNIT_EXPECT_EQ(test, kretprobe_find_ret_addr(task, p->ri->fp, &cur),
			(unsigned long)p->ri->ret_addr);
	WRITE_ONCE(task->kretprobe_instances.first, &p->ri->llist);

	cur = NULL;
	next = p->ri->llist.next;
	WRITE_ONCE(p->ri->llist.next, &p->ri->llist);
	KUNIT_EXPECT_EQ(test, kretprobe_find_ret_addr(task, NULL, &cur), 0ul);
	KUNIT_EXPECT_NULL(test, cur);
	WRITE_ONCE(p->ri->llist.next, next);
	WRITE_ONCE(k->go, true);
	kpt_stop(test, task);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}
#endif

#if defined(CONFIG_FPROBE) && defined(CONFIG_KPROBES_ON_FTRACE)
/* One place to call it from, and so one return address. */
static noinline unsigned long call_traced(void)
{
	unsigned long ret = kpt_traced(7);

	barrier();
	return ret;
}

#ifdef CONFIG_X86
struct two_words {
	unsigned long first;
	unsigned long second;
};

static noinline __noclone struct two_words traced_two(unsigned long arg)
{
	OPTIMIZER_HIDE_VAR(arg);
	return (struct two_words){ arg, ~arg };
}

/* It returns through our saving and restoring of registers. */
static void function_with_an_fprobe_returns_two_words(struct kunit *test)
{
	struct two_words (*fn)(unsigned long) = traced_two, got;
	unsigned long ip = (unsigned long)traced_two;
	struct kpt_fprobe *f = kpt_fprobe(test, &ip, 1, 0);

	OPTIMIZER_HIDE_VAR(fn);
	got = fn(7);
	KUNIT_EXPECT_EQ(test, got.first, 7ul);
	KUNIT_EXPECT_EQ(test, got.second, ~7ul);
	KUNIT_EXPECT_EQ(test, f->returns, 1);
}
#endif

/* Whichever of them has replaced the return address first. */
static void fprobe_on_the_same_function_pairs(struct kunit *test)
{
	struct inst_probe *p = inst_probe(test, kpt_traced, 0), *q;
	unsigned long ip = (unsigned long)kpt_traced;
	struct kpt_fprobe *f;
	unsigned long retaddr;

	KUNIT_EXPECT_EQ(test, call_traced(), KPT_RESULT(7ul));
	retaddr = p->retaddr;
	f = kpt_fprobe(test, &ip, 1, 0);
	q = inst_probe(test, kpt_traced, 0);
	KUNIT_EXPECT_EQ(test, call_traced(), KPT_RESULT(7ul));
	/* The other order of registration. */
	kpt_unregister_return(test, &p->rp);
	kpt_unregister_return(test, &q->rp);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->returns), 2);
	KUNIT_EXPECT_EQ(test, p->retaddr, retaddr);
	KUNIT_EXPECT_EQ(test, atomic_read(&q->returns), 1);
	KUNIT_EXPECT_EQ(test, q->retaddr, retaddr);
	if (IS_ENABLED(CONFIG_X86)) {
		KUNIT_EXPECT_EQ(test, p->entry_true, retaddr);
		KUNIT_EXPECT_EQ(test, q->entry_true, retaddr);
	}
	p = inst_probe(test, kpt_traced, 0);
	KUNIT_EXPECT_EQ(test, call_traced(), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, atomic_read(&p->returns), 1);
	KUNIT_EXPECT_EQ(test, p->retaddr, retaddr);
	KUNIT_EXPECT_EQ(test, f->entries, 2);
	KUNIT_EXPECT_EQ(test, f->returns, 2);
}

#ifdef CONFIG_X86
/* As if the function ended in a jump to kpt_traced(). */
static int go_to_traced(struct kpt_probe *pr, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)kpt_traced);
	return 1;
}

/* A slot on the stack has two calls, between which an fprobe has replaced the address. */
static void fprobe_between_two_calls_of_a_slot_pairs(struct kunit *test)
{
	struct inst_probe *outer = inst_probe(test, kpt_asm_entry, 0), *inner;
	struct kpt_probe *tail = kpt_alloc(test, kpt_asm_entry);
	unsigned long ip = (unsigned long)kpt_traced;
	struct kpt_fprobe *f;

	tail->on_pre = go_to_traced;
	kpt_register(test, tail);
	/* ftrace calls the one that was registered later first. */
	inner = inst_probe(test, kpt_traced, 0);
	f = kpt_fprobe(test, &ip, 1, 0);
	KUNIT_EXPECT_EQ(test, kpt_asm_entry(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, tail->pre, 1);
	KUNIT_EXPECT_EQ(test, f->returns, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&outer->returns), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner->returns), 1);
	KUNIT_EXPECT_EQ(test, kernel_stack_pointer(&inner->at_entry),
			kernel_stack_pointer(&outer->at_entry));
	KUNIT_EXPECT_NE(test, inner->entry_ret, outer->entry_ret);
	KUNIT_EXPECT_EQ(test, inner->retaddr, outer->entry_ret);
	KUNIT_EXPECT_EQ(test, outer->retaddr, outer->entry_ret);
}

static noinline unsigned long call_traced2(void)
{
	unsigned long ret = kpt_traced2(7);

	barrier();
	return ret;
}

/* Two trampolines of rethook, and one of ours between them, lead to the true address. */
static void fprobe_on_both_calls_of_a_slot_pairs(struct kunit *test)
{
	unsigned long ips[] = { (unsigned long)kpt_traced, (unsigned long)kpt_traced2 };
	struct inst_probe *outer = inst_probe(test, kpt_traced2, 0), *inner;
	struct kpt_probe *tail = kpt_alloc(test, kpt_traced2);
	unsigned long retaddr;
	struct kpt_fprobe *f;

	KUNIT_EXPECT_EQ(test, call_traced2(), KPT_RESULT(7ul));
	retaddr = outer->retaddr;
	tail->on_pre = go_to_traced;
	kpt_register(test, tail);
	inner = inst_probe(test, kpt_traced, 0);
	/* ftrace calls the one that was registered later first. */
	f = kpt_fprobe(test, ips, ARRAY_SIZE(ips), 0);
	KUNIT_EXPECT_EQ(test, call_traced2(), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, tail->pre, 1);
	KUNIT_EXPECT_EQ(test, f->returns, 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&outer->returns), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner->returns), 1);
	/* Both have saved the trampoline of rethook. */
	KUNIT_EXPECT_NE(test, outer->entry_ret, retaddr);
	KUNIT_EXPECT_EQ(test, inner->entry_ret, outer->entry_ret);
	KUNIT_EXPECT_EQ(test, inner->retaddr, retaddr);
	KUNIT_EXPECT_EQ(test, outer->retaddr, retaddr);
}

#ifdef CONFIG_STACKTRACE
static DECLARE_COMPLETION(tail_gate);
static bool tail_inside;

static noinline unsigned long kpt_tail_waits(unsigned long arg)
{
	OPTIMIZER_HIDE_VAR(arg);
	WRITE_ONCE(tail_inside, true);
	wait_for_completion(&tail_gate);
	return KPT_RESULT(arg);
}

static int go_to_wait(struct kpt_probe *pr, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)kpt_tail_waits);
	return 1;
}

struct tail_call {
	kpt_fn_t fn;
	unsigned long result;
};

static int kpt_tail_caller(void *data)
{
	struct tail_call *call = data;

	call->result = call->fn(7);
	while (!kthread_should_stop())
		usleep_range(100, 1000);
	return 0;
}

/* Its stack does not change any more: the switch to another task is over. */
static bool tail_waits(struct task_struct *task)
{
#ifdef CONFIG_SMP
	/* Pairs with the end of the context switch, in finish_task(). */
	if (smp_load_acquire(&task->on_cpu))
		return false;
#endif
	return !task_is_running(task);
}

static void open_tail_gate(void *unused)
{
	complete_all(&tail_gate);
}

/* The functions at @ips have an fprobe, kpt_tail_waits() among them. */
static void check_trace_through_calls(struct kunit *test, kpt_fn_t fn, unsigned long *ips,
				      unsigned int nr_ips)
{
	struct inst_probe *outer = inst_probe(test, fn, 0), *inner;
	struct kpt_probe *tail = kpt_alloc(test, fn);
	struct task_struct *task;
	struct tail_call *call;
	unsigned long *entries;
	bool found = false;
	unsigned int i, nr;
	char *name;

	if (IS_ENABLED(CONFIG_UNWINDER_GUESS))
		kunit_skip(test, "an unwinder that guesses finds all that is on the stack");
	entries = kunit_kcalloc(test, KPT_TRACE_LEN, sizeof(*entries), GFP_KERNEL);
	call = kunit_kzalloc(test, sizeof(*call), GFP_KERNEL);
	name = kunit_kzalloc(test, KSYM_SYMBOL_LEN, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, entries);
	KUNIT_ASSERT_NOT_NULL(test, call);
	KUNIT_ASSERT_NOT_NULL(test, name);
	call->fn = fn;
	reinit_completion(&tail_gate);
	tail_inside = false;
	tail->on_pre = go_to_wait;
	kpt_register(test, tail);
	/* ftrace calls the one that was registered later first. */
	inner = inst_probe(test, kpt_tail_waits, 0);
	kpt_fprobe(test, ips, nr_ips, 0);
	task = kpt_thread(test, kpt_tail_caller, call, -1, "tail");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, open_tail_gate, NULL), 0);
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(tail_inside) && tail_waits(task)));
	nr = stack_trace_save_tsk(task, entries, KPT_TRACE_LEN, 0);
	kunit_release_action(test, open_tail_gate, NULL);
	kpt_stop(test, task);

	for (i = 0; i < nr; i++) {
		sprint_symbol(name, entries[i]);
		found |= str_has_prefix(name, "kpt_tail_caller+") != 0;
		KUNIT_EXPECT_NULL_MSG(test, strstr(name, "trampoline"), "%s", name);
	}
	KUNIT_EXPECT_TRUE_MSG(test, found, "not among %u entries", nr);
	KUNIT_EXPECT_EQ(test, call->result, KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, atomic_read(&outer->returns), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&inner->returns), 1);
}

/* From our trampoline to that of the fprobe, and from there to ours again. */
static void trace_of_a_task_goes_on_through_both_calls_of_a_slot(struct kunit *test)
{
	unsigned long ip = (unsigned long)kpt_tail_waits;

	check_trace_through_calls(test, kpt_asm_entry, &ip, 1);
}

/* From the trampoline of the fprobe to ours, and from there to that of the fprobe again. */
static void trace_of_a_task_goes_on_through_an_fprobe_on_both_calls(struct kunit *test)
{
	unsigned long ips[] = { (unsigned long)kpt_tail_waits, (unsigned long)kpt_traced2 };

	check_trace_through_calls(test, kpt_traced2, ips, ARRAY_SIZE(ips));
}
#endif
#endif
#endif

static struct kunit_case instance_cases[] = {
	KUNIT_CASE(every_cpu_has_all_instances),
	KUNIT_CASE(no_call_is_missed_below_the_bound),
#ifdef CONFIG_X86
	KUNIT_CASE(search_finds_an_instance_that_moves),
	KUNIT_CASE(last_of_the_calls_frees_the_pool),
	KUNIT_CASE(search_that_is_always_too_late_ends),
	KUNIT_CASE(instance_is_free_before_the_return_looks_for_searches),
	KUNIT_CASE(call_says_what_it_wants_before_it_asks),
#endif
	KUNIT_CASE(calls_and_missed_calls_add_up),
	KUNIT_CASE(instance_survives_migration),
	KUNIT_CASE(pool_grows_until_nothing_is_missed),
	KUNIT_CASE(pool_grows_where_half_is_in_use),
	KUNIT_CASE(pool_that_is_used_while_it_grows_grows_again),
	KUNIT_CASE(given_maxactive_never_grows),
	KUNIT_CASE(every_one_of_many_instances_is_there),
	KUNIT_CASE_SLOW(growth_ends_at_its_bound),
	KUNIT_CASE_SLOW(growth_ends_at_its_bound_of_memory),
	KUNIT_CASE(pool_that_grows_may_go_at_once),
	KUNIT_CASE_SLOW(pool_grows_once_there_is_memory),
	KUNIT_CASE_SLOW(pool_without_an_entry_handler_grows_once_there_is_memory),
	KUNIT_CASE(pool_without_memory_is_left_alone),
	KUNIT_CASE_SLOW(all_pools_that_wait_for_memory_grow),
#ifdef CONFIG_X86
	KUNIT_CASE_PARAM(registers_are_those_after_the_return, kpt_entry_site_gen),
	KUNIT_CASE(tail_call_returns_in_order),
	KUNIT_CASE(call_that_does_not_return_gives_its_instance_back),
	KUNIT_CASE(call_that_does_not_return_is_not_taken_for_its_caller),
	KUNIT_CASE(calls_are_listed_as_long_as_they_are_needed),
	KUNIT_CASE(instance_is_not_read_once_it_is_free),
	KUNIT_CASE(walk_of_another_task_ends),
#endif
#if defined(CONFIG_FPROBE) && defined(CONFIG_KPROBES_ON_FTRACE)
#ifdef CONFIG_X86
	KUNIT_CASE(function_with_an_fprobe_returns_two_words),
#endif
	KUNIT_CASE(fprobe_on_the_same_function_pairs),
#ifdef CONFIG_X86
	KUNIT_CASE(fprobe_between_two_calls_of_a_slot_pairs),
	KUNIT_CASE(fprobe_on_both_calls_of_a_slot_pairs),
#ifdef CONFIG_STACKTRACE
	KUNIT_CASE(trace_of_a_task_goes_on_through_both_calls_of_a_slot),
	KUNIT_CASE(trace_of_a_task_goes_on_through_an_fprobe_on_both_calls),
#endif
#endif
#endif
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite instance_suite = {
	.name = "kretprobe_instances",
	.suite_init = kpt_suite_init,
	.init = kpt_case_init,
	.test_cases = instance_cases,
};

kunit_test_suite(instance_suite);
