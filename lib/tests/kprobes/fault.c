// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: fault handlers. Each rule runs for each state of a point in which
 * there is such a fault.
 */
#include <linux/kdebug.h>
#include <linux/mm.h>
#include <linux/processor.h>
#include <linux/uaccess.h>
#include <asm/trapnr.h>

#include "fixture.h"
#include "watch_x86.h"

/* The result if a fault handler, rather than a fix-up, has set it. */
#define MENDED		0x1234ul

/**
 * struct fault_probe - a probe that records its faults
 * @pr:	      the probe; its arg is what the handlers read
 * @on_fault: what the fault handler does besides recording; its result is the
 *	      handler's
 * @faults:   runs of the fault handler
 * @tick:     the probe's clock at the latest run
 * @trapnr:   its argument then
 * @regs:     the registers then
 * @got:      what the faulting handler got
 * @hidden:   times that the handler was not shown as running after its fault
 */
struct fault_probe {
	struct kpt_probe pr;
	int (*on_fault)(struct fault_probe *fp, struct pt_regs *regs);
	unsigned int faults;
	unsigned int tick;
	int trapnr;
	struct pt_regs regs;
	unsigned long got;
	unsigned int hidden;
};

static int record_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	struct fault_probe *fp = container_of(p, struct fault_probe, pr.kp);

	fp->faults++;
	if (fp->pr.clock)
		fp->tick = ++*fp->pr.clock;
	fp->trapnr = trapnr;
	fp->regs = *regs;
	kpt_record_context(&fp->pr);
	return fp->on_fault ? fp->on_fault(fp, regs) : 0;
}

static void *at(void *fn, u32 offset)
{
	OPTIMIZER_HIDE_VAR(fn);
	return fn + offset;
}

/* As if kpt_peek() had read something. */
static int mend_peek(struct fault_probe *fp, struct pt_regs *regs)
{
	regs->ax = MENDED;
	regs->ip = (unsigned long)at(kpt_peek, kpt_peek_next);
	return 1;
}

/* Returns from the function that has faulted, which has pushed nothing. */
static int mend_return(struct fault_probe *fp, struct pt_regs *regs)
{
	regs->ax = MENDED;
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(long);
	return 1;
}

static struct fault_probe *fault_alloc(struct kunit *test, void *addr,
				       int (*on_fault)(struct fault_probe *fp,
						       struct pt_regs *regs))
{
	struct fault_probe *fp = kunit_kzalloc(test, sizeof(*fp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fp);
	fp->pr.kp.addr = addr;
	fp->pr.kp.pre_handler = kpt_pre;
	fp->pr.kp.fault_handler = record_fault;
	fp->on_fault = on_fault;
	return fp;
}

/* --- Faults of handlers --------------------------------------------------- */

static kpt_fn_t hit_fn(struct kunit *test)
{
	return kpt_state(test) == KPT_FTRACE ? kpt_traced : kpt_asm_entry;
}

static void call(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, hit_fn(test)(7), KPT_RESULT(7ul));
}

static int pre_peeks(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct fault_probe *fp = container_of(pr, struct fault_probe, pr);

	fp->got = kpt_peek(pr->arg);
	fp->hidden += !kprobe_test_running();
	return 0;
}

static void post_peeks(struct kpt_probe *pr, struct pt_regs *regs)
{
	pre_peeks(pr, regs);
}

static int pre_loads(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct fault_probe *fp = container_of(pr, struct fault_probe, pr);

	fp->got = kpt_load(pr->arg);
	fp->hidden += !kprobe_test_running();
	return 0;
}

static int pre_divides(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct fault_probe *fp = container_of(pr, struct fault_probe, pr);

	fp->got = kpt_divide((unsigned long)pr->arg);
	fp->hidden += !kprobe_test_running();
	return 0;
}

/* A probe whose handler reads what cannot be read, in the state of the case. */
static struct fault_probe *peeking_probe(struct kunit *test,
					 int (*on_fault)(struct fault_probe *fp,
							 struct pt_regs *regs))
{
	struct fault_probe *fp = fault_alloc(test, hit_fn(test), on_fault);

	fp->pr.on_pre = pre_peeks;
	fp->pr.arg = kpt_bad_address(test);
	kpt_register(test, &fp->pr);
	kpt_settle(test, &fp->pr.kp);
	return fp;
}

static void check_mended(struct kunit *test, struct fault_probe *fp, void *where,
			 int trapnr)
{
	KUNIT_EXPECT_EQ(test, fp->faults, 1);
	KUNIT_EXPECT_EQ(test, fp->trapnr, trapnr);
	KUNIT_EXPECT_EQ(test, fp->regs.ip, (unsigned long)where);
	KUNIT_EXPECT_FALSE(test, user_mode(&fp->regs));
	KUNIT_EXPECT_FALSE(test, fp->pr.preemptible);
	KUNIT_EXPECT_EQ(test, fp->pr.kp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, fp->hidden, 0);
}

static void fault_in_pre_handler_is_dealt_with(struct kunit *test)
{
	struct fault_probe *fp = peeking_probe(test, mend_peek);

	call(test);
	check_mended(test, fp, at(kpt_peek, kpt_peek_at), X86_TRAP_PF);
	KUNIT_EXPECT_EQ(test, fp->got, MENDED);
	call(test);
	KUNIT_EXPECT_EQ(test, fp->faults, 2);
	KUNIT_EXPECT_EQ(test, fp->pr.pre, 2);
}

static struct kpt_misuse *fault_misuse;

static int misuse_and_mend(struct fault_probe *fp, struct pt_regs *regs)
{
	kpt_misuse(fault_misuse);
	return mend_peek(fp, regs);
}

static void calls_from_a_fault_handler_fail_and_change_nothing(struct kunit *test)
{
	struct kpt_probe *victim = kpt_probe(test, kpt_plain2);
	struct fault_probe *fp;

	fault_misuse = kunit_kzalloc(test, sizeof(*fault_misuse), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fault_misuse);
	fp = peeking_probe(test, misuse_and_mend);
	kpt_misuse_init(fault_misuse, victim, &fp->pr);
	call(test);
	KUNIT_ASSERT_EQ(test, fp->faults, 1);
	KUNIT_EXPECT_EQ(test, fp->got, MENDED);
	kpt_expect_denied(test, fault_misuse);
	call(test);
	KUNIT_EXPECT_EQ(test, fp->faults, 2);
}

static void fault_in_post_handler_is_dealt_with(struct kunit *test)
{
	struct fault_probe *fp = fault_alloc(test, hit_fn(test), mend_peek);

	fp->pr.kp.post_handler = kpt_post;
	fp->pr.on_post = post_peeks;
	fp->pr.arg = kpt_bad_address(test);
	kpt_register(test, &fp->pr);
	kpt_settle(test, &fp->pr.kp);
	call(test);
	check_mended(test, fp, at(kpt_peek, kpt_peek_at), X86_TRAP_PF);
	KUNIT_EXPECT_EQ(test, fp->got, MENDED);
	KUNIT_EXPECT_EQ(test, fp->pr.pre, 1);
	KUNIT_EXPECT_EQ(test, fp->pr.post, 1);
}

/*
 * A handler reads, or divides by, @arg in a function that has a fix-up. The fix-up
 * is used if the fault handler returns 0.
 */
static void check_comes_first(struct kunit *test, void *arg,
			      int (*pre)(struct kpt_probe *pr, struct pt_regs *regs),
			      void *where, int trapnr)
{
	struct fault_probe *fp = fault_alloc(test, hit_fn(test), mend_return);

	fp->pr.on_pre = pre;
	fp->pr.arg = arg;
	kpt_register(test, &fp->pr);
	kpt_settle(test, &fp->pr.kp);
	call(test);
	check_mended(test, fp, where, trapnr);
	KUNIT_EXPECT_EQ(test, fp->got, MENDED);

	fp->on_fault = NULL;
	fp->faults = 0;
	call(test);
	check_mended(test, fp, where, trapnr);
	KUNIT_EXPECT_EQ(test, fp->got, (unsigned long)KPT_FAULTED);
}

static void page_fault_comes_before_the_exception_tables(struct kunit *test)
{
	check_comes_first(test, kpt_bad_address(test), pre_loads, at(kpt_load, kpt_load_at),
			  X86_TRAP_PF);
}

static void general_protection_comes_before_the_exception_tables(struct kunit *test)
{
#ifdef CONFIG_X86_64
	/* This address is not canonical. */
	check_comes_first(test, (void *)0x5a5a5a5a5a5a5a5aul, pre_loads,
			  at(kpt_load, kpt_load_at), X86_TRAP_GP);
#else
	kunit_skip(test, "64-bit only");
#endif
}

static void divide_error_comes_before_the_exception_tables(struct kunit *test)
{
	check_comes_first(test, NULL, pre_divides, at(kpt_divide, kpt_divide_at),
			  X86_TRAP_DE);
}

static unsigned int traps_seen;

static int see_trap(struct notifier_block *nb, unsigned long what, void *args)
{
	traps_seen += what == DIE_TRAP;
	return NOTIFY_DONE;
}

/* Called before all other notifiers, such as that of a debugger. */
static struct notifier_block trap_nb = {
	.notifier_call = see_trap,
	.priority = INT_MAX - 1,
};

static void other_notifiers_do_not_see_what_is_dealt_with(struct kunit *test)
{
	struct fault_probe *fp = fault_alloc(test, hit_fn(test), mend_return);
	unsigned long result;

	fp->pr.on_pre = pre_divides;
	kpt_register(test, &fp->pr);
	kpt_settle(test, &fp->pr.kp);
	traps_seen = 0;
	KUNIT_ASSERT_EQ(test, register_die_notifier(&trap_nb), 0);
	result = hit_fn(test)(7);
	unregister_die_notifier(&trap_nb);
	KUNIT_EXPECT_EQ(test, result, KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, fp->faults, 1);
	KUNIT_EXPECT_EQ(test, fp->got, MENDED);
	KUNIT_EXPECT_EQ(test, traps_seen, 0);
}

static void faults_of_no_probe_are_left_to_other_notifiers(struct kunit *test)
{
	unsigned long result;

	traps_seen = 0;
	KUNIT_ASSERT_EQ(test, register_die_notifier(&trap_nb), 0);
	result = kpt_divide(0);
	unregister_die_notifier(&trap_nb);
	KUNIT_EXPECT_EQ(test, result, (unsigned long)KPT_FAULTED);
	KUNIT_EXPECT_EQ(test, traps_seen, 1);
}

static int fault_again(struct fault_probe *fp, struct pt_regs *regs)
{
	if (kpt_load(fp->pr.arg) != KPT_FAULTED)
		return 0;
	return mend_peek(fp, regs);
}

static void fault_of_the_fault_handler_does_not_come_back(struct kunit *test)
{
	struct fault_probe *fp = peeking_probe(test, fault_again);

	call(test);
	KUNIT_EXPECT_EQ(test, fp->faults, 1);
	KUNIT_EXPECT_EQ(test, fp->got, MENDED);
	/* The fault handler runs the next time. */
	call(test);
	KUNIT_EXPECT_EQ(test, fp->faults, 2);
}

static void fault_handlers_are_asked_in_order_until_one_is_nonzero(struct kunit *test)
{
	static int (*const on_fault[])(struct fault_probe *fp, struct pt_regs *regs) = {
		NULL, NULL, mend_peek, mend_peek,
	};
	struct fault_probe *fp[ARRAY_SIZE(on_fault)];
	unsigned int clock = 0, i;

	for (i = 0; i < ARRAY_SIZE(fp); i++) {
		fp[i] = fault_alloc(test, hit_fn(test), on_fault[i]);
		fp[i]->pr.clock = &clock;
		kpt_register(test, &fp[i]->pr);
	}
	fp[3]->pr.on_pre = pre_peeks;
	fp[3]->pr.arg = kpt_bad_address(test);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&fp[0]->pr.kp), 0);
	kpt_settle(test, &fp[3]->pr.kp);
	call(test);
	KUNIT_EXPECT_EQ(test, fp[3]->got, MENDED);
	KUNIT_EXPECT_EQ(test, fp[0]->faults, 0);
	/* After three pre-handlers. */
	KUNIT_EXPECT_EQ(test, fp[1]->tick, 4);
	KUNIT_EXPECT_EQ(test, fp[2]->tick, 5);
	KUNIT_EXPECT_EQ(test, fp[3]->faults, 0);

	KUNIT_ASSERT_EQ(test, enable_kprobe(&fp[0]->pr.kp), 0);
	kpt_settle(test, &fp[3]->pr.kp);
	clock = 0;
	call(test);
	/* The probe has kept its place. */
	KUNIT_EXPECT_EQ(test, fp[0]->tick, 5);
	KUNIT_EXPECT_EQ(test, fp[1]->tick, 6);
	KUNIT_EXPECT_EQ(test, fp[2]->tick, 7);
	kpt_unregister(test, &fp[2]->pr);
	kpt_settle(test, &fp[3]->pr.kp);
	call(test);
	KUNIT_EXPECT_EQ(test, fp[2]->faults, 2);
	KUNIT_EXPECT_EQ(test, fp[3]->faults, 1);
}

/* The same holds for its other handlers. */
static void fault_handler_of_a_probe_registered_off_does_not_run(struct kunit *test)
{
	struct fault_probe *off = fault_alloc(test, hit_fn(test), NULL), *fp;

	off->pr.kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, &off->pr);
	fp = peeking_probe(test, mend_peek);
	call(test);
	KUNIT_EXPECT_EQ(test, off->faults, 0);
	KUNIT_EXPECT_EQ(test, fp->faults, 1);
	KUNIT_EXPECT_EQ(test, fp->got, MENDED);

	KUNIT_ASSERT_EQ(test, enable_kprobe(&off->pr.kp), 0);
	kpt_settle(test, &fp->pr.kp);
	call(test);
	KUNIT_EXPECT_EQ(test, off->faults, 1);
	KUNIT_EXPECT_EQ(test, fp->faults, 2);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/**
 * struct hits_now - hits between any two accesses to the handlers of a point
 * @fp:	   a probe of it
 * @on:	   hit it
 * @linked: the probe was linked before: no hit may find its post-handler alone, either
 * @hits:  how many hits the probe had
 * @wrong: how many of these lacked its fault handler, or its post-handler
 */
struct hits_now {
	struct fault_probe *fp;
	bool on;
	bool linked;
	unsigned int hits;
	unsigned int wrong;
};

/* A hit from an NMI. */
static void hit_now(struct kpt_watch *w, struct pt_regs *regs)
{
	struct hits_now *n = w->arg;
	unsigned int pre = n->fp->pr.pre, post = n->fp->pr.post;

	if (!n->on)
		return;
	n->fp->got = MENDED;
	kpt_traced(7);
	pre = n->fp->pr.pre - pre;
	post = n->fp->pr.post - post;
	n->hits += pre;
	if (pre || n->linked)
		n->wrong += n->fp->got != MENDED || post != pre;
}

static void check_complete(struct kunit *test, struct kpt_probe *stays)
{
	struct hits_now *n = kunit_kzalloc(test, sizeof(*n), GFP_KERNEL);
	unsigned int cpu = raw_smp_processor_id(), i;
	struct kpt_watch *w[3];

	KUNIT_ASSERT_NOT_NULL(test, n);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	n->fp = fault_alloc(test, kpt_traced, mend_return);
	n->fp->pr.on_pre = pre_loads;
	n->fp->pr.arg = kpt_bad_address(test);
	n->fp->pr.kp.post_handler = kpt_post;
	w[0] = kpt_watch(test, kprobe_test_only_word(&stays->kp), sizeof(long), cpu, hit_now, n);
	w[1] = kpt_watch(test, kprobe_test_users_word(&stays->kp), sizeof(long), cpu, hit_now, n);
	n->on = true;
	kpt_register(test, &n->fp->pr);
	n->on = false;
	KUNIT_EXPECT_GE(test, n->hits, 1);
	KUNIT_EXPECT_EQ(test, n->wrong, 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&n->fp->pr.kp), 0);

	n->hits = 0;
	w[2] = kpt_watch(test, kprobe_test_enabled_byte(&n->fp->pr.kp), 1, cpu, hit_now, n);
	n->on = true;
	KUNIT_EXPECT_EQ(test, enable_kprobe(&n->fp->pr.kp), 0);
	n->on = false;
	KUNIT_EXPECT_GE(test, n->hits, 1);
	KUNIT_EXPECT_EQ(test, n->wrong, 0);
	for (i = 0; i < ARRAY_SIZE(w); i++)
		kpt_unwatch(test, w[i]);
	kpt_unregister(test, &n->fp->pr);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/*
 * A hit that finds the pre-handler finds the others, too. If there are two probes already,
 * hits look at all of them, and find the third as soon as it is in the list.
 */
static void probe_that_is_linked_or_enabled_is_complete(struct kunit *test)
{
	struct kpt_probe *stays = kpt_probe(test, kpt_traced);

	check_complete(test, stays);
	kpt_probe(test, kpt_traced);
	check_complete(test, stays);
}

/* Nor does a hit find only some of the handlers while its probe goes. */
static void probe_that_goes_or_is_disabled_is_complete(struct kunit *test)
{
	struct hits_now *n = kunit_kzalloc(test, sizeof(*n), GFP_KERNEL);
	struct kpt_probe *stays = kpt_probe(test, kpt_traced);
	unsigned int cpu = raw_smp_processor_id(), before;
	struct kpt_watch *w;
	struct kprobe *p;

	KUNIT_ASSERT_NOT_NULL(test, n);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	n->fp = fault_alloc(test, kpt_traced, mend_return);
	n->fp->pr.on_pre = pre_loads;
	n->fp->pr.arg = kpt_bad_address(test);
	n->fp->pr.kp.post_handler = kpt_post;
	kpt_register(test, &n->fp->pr);
	scoped_guard(preempt)
		p = get_kprobe(stays->kp.addr);
	KUNIT_ASSERT_NOT_NULL(test, p);
	n->linked = true;
	/* It is set while any probe of the point has one. */
	w = kpt_watch(test, &p->post_handler, sizeof(long), cpu, hit_now, n);
	before = w->times;
	n->on = true;
	KUNIT_EXPECT_EQ(test, disable_kprobe(&n->fp->pr.kp), 0);
	n->on = false;
	KUNIT_EXPECT_GT(test, w->times, before);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&n->fp->pr.kp), 0);
	before = w->times;
	n->on = true;
	kpt_unregister(test, &n->fp->pr);
	n->on = false;
	KUNIT_EXPECT_GT(test, w->times, before);
	KUNIT_EXPECT_EQ(test, n->wrong, 0);
	kpt_unwatch(test, w);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

#ifdef CONFIG_KRETPROBES
/**
 * struct returns_now - calls between any two accesses to the handlers of a point
 * @rp:	    a return probe of it
 * @on:	    make the calls
 * @hits:   how often its handler ran
 * @hidden: how many of these runs could not be waited for
 */
struct returns_now {
	struct kretprobe rp;
	bool on;
	unsigned int hits;
	unsigned int hidden;
};

static int return_now(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct returns_now *r = container_of(get_kretprobe(ri), struct returns_now, rp);

	r->hits++;
	r->hidden += !kprobe_test_running();
	return 0;
}

/* A call from an NMI. */
static void call_now(struct kpt_watch *w, struct pt_regs *regs)
{
	struct returns_now *r = w->arg;

	if (r->on)
		kpt_traced(7);
}

static void check_return_complete(struct kunit *test, struct kpt_probe *stays)
{
	struct returns_now *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	unsigned int cpu = raw_smp_processor_id();
	struct kpt_watch *w[2];
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, r);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	r->rp.kp.addr = (kprobe_opcode_t *)kpt_traced;
	r->rp.handler = return_now;
	w[0] = kpt_watch(test, kprobe_test_only_word(&stays->kp), sizeof(long), cpu, call_now, r);
	w[1] = kpt_watch(test, kprobe_test_users_word(&stays->kp), sizeof(long), cpu, call_now, r);
	r->on = true;
	ret = register_kretprobe(&r->rp);
	r->on = false;
	kpt_unwatch(test, w[0]);
	kpt_unwatch(test, w[1]);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_ASSERT_EQ(test, ret, 0);
	unregister_kretprobe(&r->rp);
	KUNIT_EXPECT_GE(test, r->hits, 1);
	KUNIT_EXPECT_EQ(test, r->hidden, 0);
}

/* The same for a return: the handler runs for a point. */
static void return_probe_that_is_linked_is_complete(struct kunit *test)
{
	struct kpt_probe *stays = kpt_probe(test, kpt_traced);

	check_return_complete(test, stays);
	kpt_probe(test, kpt_traced);
	check_return_complete(test, stays);
}
#endif

/* As if there were an oops in the fault handler. Code that runs next here may fault as well. */
static int abandon_and_hit(struct fault_probe *fp, struct pt_regs *regs)
{
	kprobe_test_oops();
	kpt_traced2(7);
	return mend_peek(fp, regs);
}

static void fault_handler_that_was_abandoned_keeps_none_from_running(struct kunit *test)
{
	struct fault_probe *fp = fault_alloc(test, kpt_traced, abandon_and_hit);
	struct fault_probe *next = fault_alloc(test, kpt_traced2, mend_return);

	fp->pr.on_pre = pre_peeks;
	fp->pr.arg = kpt_bad_address(test);
	kpt_register(test, &fp->pr);
	next->pr.on_pre = pre_loads;
	next->pr.arg = kpt_bad_address(test);
	kpt_register(test, &next->pr);
	KUNIT_ASSERT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, fp->got, MENDED);
	KUNIT_EXPECT_EQ(test, next->pr.pre, 1);
	KUNIT_EXPECT_EQ(test, next->faults, 1);
	KUNIT_EXPECT_EQ(test, next->got, MENDED);
}
#endif

static void handlers_are_those_of_the_time_of_registration(struct kunit *test)
{
	struct fault_probe *fp = peeking_probe(test, mend_peek);

	fp->pr.kp.fault_handler = NULL;
	call(test);
	KUNIT_EXPECT_EQ(test, fp->got, MENDED);
}

#ifdef CONFIG_KRETPROBES
/**
 * struct fault_ret - a return probe that records its faults
 * @rp:	    the probe
 * @bad:    the address that its handlers read
 * @entry:  what the entry handler got
 * @ret:    what the return handler got
 * @faults: runs of the fault handler
 */
struct fault_ret {
	struct kretprobe rp;
	void *bad;
	unsigned long entry;
	unsigned long ret;
	unsigned int faults;
};

static int entry_peeks(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct fault_ret *fr = container_of(get_kretprobe(ri), struct fault_ret, rp);

	fr->entry = kpt_peek(fr->bad);
	return 0;
}

static int return_peeks(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct fault_ret *fr = container_of(get_kretprobe(ri), struct fault_ret, rp);

	fr->ret = kpt_peek(fr->bad);
	return 0;
}

static int mend_ret(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	container_of(p, struct fault_ret, rp.kp)->faults++;
	return mend_peek(NULL, regs);
}

static struct fault_ret *fault_ret_alloc(struct kunit *test, void *addr,
					 kprobe_fault_handler_t mend,
					 kretprobe_handler_t handler)
{
	struct fault_ret *fr = kunit_kzalloc(test, sizeof(*fr), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fr);
	fr->bad = kpt_bad_address(test);
	fr->rp.kp.addr = addr;
	fr->rp.kp.fault_handler = mend;
	fr->rp.handler = handler;
	return fr;
}

static void faults_of_return_probes_are_dealt_with(struct kunit *test)
{
	struct fault_ret *fr = fault_ret_alloc(test, hit_fn(test), mend_ret, return_peeks);

	fr->rp.entry_handler = entry_peeks;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&fr->rp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kprobe_optimized(&fr->rp.kp), kpt_state(test) == KPT_JUMP);
	KUNIT_EXPECT_EQ(test, hit_fn(test)(7), KPT_RESULT(7ul));
	unregister_kretprobe(&fr->rp);
	KUNIT_EXPECT_EQ(test, fr->entry, MENDED);
	KUNIT_EXPECT_EQ(test, fr->ret, MENDED);
	KUNIT_EXPECT_EQ(test, fr->faults, 2);
}

/* Without a fault handler, the fix-up is used. */
static int return_loads(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct fault_ret *fr = container_of(get_kretprobe(ri), struct fault_ret, rp);

	fr->ret = kpt_load(fr->bad);
	return 0;
}

static int mend_ret_load(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	container_of(p, struct fault_ret, rp.kp)->faults++;
	return mend_return(NULL, regs);
}

/* A call that is under way when its probe is disabled; or, with NULL, just a call. */
static noinline notrace unsigned long kpt_fault_disables(struct fault_ret *fr)
{
	int ret = fr ? disable_kretprobe(&fr->rp) : 0;

	barrier();
	return ret;
}

static void late_return_handler_has_its_fault_handler(struct kunit *test)
{
	struct fault_probe *other = fault_alloc(test, kpt_fault_disables, NULL);
	struct fault_ret *fr = fault_ret_alloc(test, kpt_fault_disables, mend_ret_load,
					       return_loads);

	KUNIT_ASSERT_EQ(test, register_kretprobe(&fr->rp), 0);
	KUNIT_EXPECT_EQ(test, kpt_fault_disables(fr), 0ul);
	KUNIT_EXPECT_EQ(test, fr->ret, MENDED);
	KUNIT_EXPECT_EQ(test, fr->faults, 1);

	/* It does not get the faults of other probes' handlers. */
	other->pr.kp.fault_handler = NULL;
	other->pr.on_pre = pre_loads;
	other->pr.arg = fr->bad;
	kpt_register(test, &other->pr);
	KUNIT_EXPECT_EQ(test, kpt_fault_disables(fr), 0ul);
	KUNIT_EXPECT_EQ(test, other->got, (unsigned long)KPT_FAULTED);
	KUNIT_EXPECT_EQ(test, fr->faults, 1);

	/* The second fault comes after it was disabled again. */
	KUNIT_EXPECT_EQ(test, enable_kretprobe(&fr->rp), 0);
	fr->ret = 0;
	KUNIT_EXPECT_EQ(test, kpt_fault_disables(fr), 0ul);
	KUNIT_EXPECT_EQ(test, other->got, MENDED);
	KUNIT_EXPECT_EQ(test, fr->ret, MENDED);
	KUNIT_EXPECT_EQ(test, fr->faults, 3);
	unregister_kretprobe(&fr->rp);
}

static unsigned long disable_nothing(unsigned long unused)
{
	return kpt_fault_disables(NULL);
}

static int return_interrupted(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct fault_ret *fr = container_of(get_kretprobe(ri), struct fault_ret, rp);

	fr->ret = 1 + kpt_call_in_irq(disable_nothing);
	return 0;
}

/* Loads in the interrupt only. */
static int pre_loads_for_nothing(struct kpt_probe *pr, struct pt_regs *regs)
{
	return regs_get_kernel_argument(regs, 0) ? 0 : pre_loads(pr, regs);
}

/* The handler that faults is not the one that the fault handler is on for. */
static void fault_handler_of_a_late_return_is_off_in_an_interrupt(struct kunit *test)
{
	struct fault_probe *other = fault_alloc(test, kpt_fault_disables, NULL);
	struct fault_ret *fr = fault_ret_alloc(test, kpt_fault_disables, mend_ret_load,
					       return_interrupted);

	KUNIT_ASSERT_EQ(test, register_kretprobe(&fr->rp), 0);
	other->pr.kp.fault_handler = NULL;
	other->pr.on_pre = pre_loads_for_nothing;
	other->pr.arg = kpt_bad_address(test);
	kpt_register(test, &other->pr);
	KUNIT_EXPECT_EQ(test, kpt_fault_disables(fr), 0ul);
	KUNIT_EXPECT_EQ(test, fr->ret, 1ul);
	KUNIT_EXPECT_EQ(test, other->pr.pre, 2);
	KUNIT_EXPECT_EQ(test, other->got, (unsigned long)KPT_FAULTED);
	KUNIT_EXPECT_EQ(test, fr->faults, 0);
	unregister_kretprobe(&fr->rp);
}

/**
 * struct fault_end - a late return handler that ends its task
 * @fr:	  the return probe
 * @gone: completed by the end of the task
 */
struct fault_end {
	struct fault_ret fr;
	struct completion gone;
};

static int return_ends(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct fault_end *e = container_of(get_kretprobe(ri), struct fault_end, fr.rp);

	kpt_end_task(&e->gone);
	return 0;
}

static int disable_inside(void *fr)
{
	return kpt_fault_disables(fr);
}

/* Otherwise it would run for a handler of another probe, although its own is disabled. */
static void fault_handler_of_a_late_return_is_forgotten_with_its_task(struct kunit *test)
{
	struct fault_probe *other = fault_alloc(test, kpt_fault_disables, NULL);
	struct fault_end *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	unsigned int cpu = raw_smp_processor_id();
	bool gone;

	KUNIT_ASSERT_NOT_NULL(test, e);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	other->pr.kp.fault_handler = NULL;
	other->pr.on_pre = pre_loads;
	other->pr.arg = kpt_bad_address(test);
	e->fr.rp.kp.addr = (kprobe_opcode_t *)kpt_fault_disables;
	e->fr.rp.kp.fault_handler = mend_ret_load;
	e->fr.rp.handler = return_ends;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&e->fr.rp), 0);
	gone = kpt_run_to_its_end(disable_inside, &e->fr, cpu, &e->gone);
	if (gone) {
		kpt_register(test, &other->pr);
		KUNIT_EXPECT_EQ(test, kpt_fault_disables(&e->fr), 0ul);
	}
	unregister_kretprobe(&e->fr.rp);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_EXPECT_TRUE(test, gone);
	KUNIT_EXPECT_EQ(test, other->pr.pre, 1);
	KUNIT_EXPECT_EQ(test, other->got, (unsigned long)KPT_FAULTED);
	KUNIT_EXPECT_EQ(test, e->fr.faults, 0);
}
#endif /* CONFIG_KRETPROBES */

/* --- Probes that are removed while a handler runs ------------------------- */

/**
 * struct parting - a handler that faults while its probe is being removed
 * @fp:	     the probe
 * @inside:  the handler runs
 * @seen:    the handler has seen that the removal is under way
 * @disable: the probe is disabled instead
 * @fn:	     the function probed
 */
struct parting {
	struct fault_probe fp;
	bool inside;
	bool seen;
	bool disable;
	kpt_fn_t fn;
};

/*
 * How long a handler waits for that. It keeps interrupts off, and whatever waits for this CPU
 * meanwhile may keep the other CPU from removing the probe. Then it is tried again.
 */
#define PARTING_MS	2000
#define PARTING_TRIES	5

static int pre_awaits_parting(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct parting *pa = container_of(pr, struct parting, fp.pr);

	WRITE_ONCE(pa->inside, true);
	pa->seen = kpt_spin_until(pa->disable ? kprobe_disabled(&pr->kp) :
				  hlist_unhashed_lockless(&pr->kp.hlist), PARTING_MS);
	return pre_peeks(pr, regs);
}

static int call_once(void *arg)
{
	struct parting *pa = arg;

	pa->fn(7);
	while (!kthread_should_stop())
		usleep_range(100, 1000);
	return 0;
}

/* Returns true if the handler has seen the removal. */
static bool try_parting(struct kunit *test, struct parting *pa, unsigned int cpu)
{
	struct fault_probe *fp = &pa->fp;
	struct task_struct *task;

	WRITE_ONCE(pa->inside, false);
	fp->faults = 0;
	fp->got = 0;
	fp->pr.kp.addr = (kprobe_opcode_t *)pa->fn;
	fp->pr.kp.flags = 0;
	kpt_register(test, &fp->pr);
	/* This shows the handler when its probe is being removed. */
	KUNIT_ASSERT_FALSE(test, hlist_unhashed(&fp->pr.kp.hlist));
	kpt_settle(test, &fp->pr.kp);
	task = kpt_thread(test, call_once, pa, cpumask_any_but(cpu_online_mask, cpu),
			  "parting");
	KUNIT_ASSERT_TRUE(test, kpt_poll_until(READ_ONCE(pa->inside)));
	if (pa->disable)
		KUNIT_EXPECT_EQ(test, disable_kprobe(&fp->pr.kp), 0);
	else
		kpt_unregister(test, &fp->pr);
	/* Its handlers have finished, and so has the fault handler. */
	KUNIT_EXPECT_EQ(test, fp->faults, 1);
	KUNIT_EXPECT_EQ(test, fp->got, MENDED);
	if (pa->disable)
		kpt_unregister(test, &fp->pr);
	kpt_stop(test, task);
	return pa->seen;
}

static void check_parting(struct kunit *test, bool disable)
{
	struct parting *pa = kunit_kzalloc(test, sizeof(*pa), GFP_KERNEL);
	unsigned int cpu = raw_smp_processor_id(), tries = 1;
	struct fault_probe *fp = &pa->fp;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, pa);
	/* Stay off the CPU where the handler keeps interrupts off, and with them the clock. */
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	pa->disable = disable;
	pa->fn = hit_fn(test);
	fp->pr.kp.pre_handler = kpt_pre;
	fp->pr.kp.fault_handler = record_fault;
	fp->on_fault = mend_peek;
	fp->pr.on_pre = pre_awaits_parting;
	fp->pr.arg = kpt_bad_address(test);
	while (tries <= PARTING_TRIES && !try_parting(test, pa, cpu))
		tries++;
	KUNIT_EXPECT_LE(test, tries, PARTING_TRIES);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

static void unregistering_keeps_the_fault_handler_to_the_end(struct kunit *test)
{
	check_parting(test, false);
}

static void disabling_keeps_the_fault_handler_to_the_end(struct kunit *test)
{
	check_parting(test, true);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/**
 * struct lingering - a fault handler that runs nearly all the time
 * @fp:	    its probe
 * @inside: it runs
 */
struct lingering {
	struct fault_probe fp;
	bool inside;
};

static int lingers(struct fault_probe *fp, struct pt_regs *regs)
{
	struct lingering *l = container_of(fp, struct lingering, fp);

	WRITE_ONCE(l->inside, true);
	mdelay(1);
	WRITE_ONCE(l->inside, false);
	return 0;
}

static int call_again_and_again(void *unused)
{
	while (!kthread_should_stop()) {
		kpt_traced(7);
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

#define LINGER_ROUNDS	10

/*
 * The handler that faults belongs to another probe, which stays. So it may fault when the
 * leaving probe's own handlers are done. In a batch, probes without fault handlers come
 * before and after the leaving one.
 */
static void check_lingering(struct kunit *test, bool disable, bool batch)
{
	struct lingering *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct fault_probe *stays = fault_alloc(test, kpt_traced, NULL);
	unsigned int cpu = raw_smp_processor_id(), round, late = 0, nr = batch ? 3 : 1;
	struct fault_probe *fp;
	struct kprobe *kps[3];

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, l);
	fp = &l->fp;
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	stays->pr.kp.fault_handler = NULL;
	stays->pr.on_pre = pre_loads;
	stays->pr.arg = kpt_bad_address(test);
	kpt_register(test, &stays->pr);
	fp->pr.kp.addr = (kprobe_opcode_t *)kpt_traced;
	fp->pr.kp.fault_handler = record_fault;
	fp->on_fault = lingers;
	kps[batch] = &fp->pr.kp;
	if (batch) {
		kps[0] = &kpt_alloc(test, kpt_traced)->kp;
		kps[2] = &kpt_alloc(test, kpt_traced)->kp;
	}
	kpt_thread(test, call_again_and_again, NULL, cpumask_any_but(cpu_online_mask, cpu),
		   "faults");
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, nr), 0);
	for (round = 0; round < LINGER_ROUNDS; round++) {
		WRITE_ONCE(fp->faults, 0);
		if (round && disable)
			KUNIT_EXPECT_EQ(test, enable_kprobes(kps, nr), 0);
		else if (round)
			KUNIT_EXPECT_EQ(test, register_kprobes(kps, nr), 0);
		KUNIT_EXPECT_TRUE(test, kpt_wait_until(READ_ONCE(fp->faults)));
		if (disable)
			KUNIT_EXPECT_EQ(test, disable_kprobes(kps, nr), 0);
		else
			unregister_kprobes(kps, nr);
		late += READ_ONCE(l->inside);
		/* If the fault handler is still running, let it end before the next round. */
		KUNIT_EXPECT_TRUE(test, kpt_wait_until(!READ_ONCE(l->inside)));
	}
	if (disable)
		unregister_kprobes(kps, nr);
	KUNIT_EXPECT_EQ(test, late, 0);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

static void no_fault_handler_runs_after_unregister(struct kunit *test)
{
	check_lingering(test, false, false);
}

static void no_fault_handler_runs_after_disable(struct kunit *test)
{
	check_lingering(test, true, false);
}

static void no_fault_handler_of_a_batch_runs_after_unregister(struct kunit *test)
{
	check_lingering(test, false, true);
}

static void no_fault_handler_of_a_batch_runs_after_disable(struct kunit *test)
{
	check_lingering(test, true, true);
}
#endif

/* --- Faults of displaced instructions ------------------------------------- */

static unsigned long run_peek(unsigned long arg)
{
	return kpt_peek((void *)arg);
}

static unsigned long run_load(unsigned long arg)
{
	return kpt_load((void *)arg);
}

/* Probes the instruction at @addr in @run, which faults for @bad. */
static void check_displaced(struct kunit *test, void *addr, kpt_fn_t run,
			    unsigned long bad, int trapnr, bool fixup,
			    int (*mend)(struct fault_probe *fp, struct pt_regs *regs))
{
	struct fault_probe *fp;
	struct kpt_probe *other;
	unsigned int post;

	for (post = 0; post < 2; post++) {
		fp = fault_alloc(test, addr, mend);
		if (post)
			fp->pr.kp.post_handler = kpt_post;
		kpt_register(test, &fp->pr);
		kpt_settle(test, &fp->pr.kp);
		KUNIT_EXPECT_EQ(test, run(bad), MENDED);
		/* As if it had faulted in place. */
		check_mended(test, fp, addr, trapnr);
		KUNIT_EXPECT_EQ(test, fp->regs.sp, fp->pr.pre_regs.sp);
		KUNIT_EXPECT_EQ(test, fp->regs.flags & X86_EFLAGS_IF, X86_EFLAGS_IF);
		KUNIT_EXPECT_EQ(test, fp->pr.pre, 1);
		KUNIT_EXPECT_EQ(test, fp->pr.post, 0);
		if (fixup) {
			fp->on_fault = NULL;
			KUNIT_EXPECT_EQ(test, run(bad), (unsigned long)KPT_FAULTED);
			KUNIT_EXPECT_EQ(test, fp->faults, 2);
			/* The fault handler of a disabled probe does not run. */
			fp->on_fault = mend;
			if (kpt_debugfs.mnt) {
				KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kpt_all_on,
										test), 0);
				KUNIT_ASSERT_EQ(test, kpt_write(test, &kpt_debugfs,
								"kprobes/enabled", "0"), 1l);
				KUNIT_EXPECT_EQ(test, run(bad), (unsigned long)KPT_FAULTED);
				KUNIT_EXPECT_EQ(test, fp->faults, 2);
				kunit_release_action(test, kpt_all_on, test);
			}
			other = kpt_probe(test, addr);
			KUNIT_ASSERT_EQ(test, disable_kprobe(&fp->pr.kp), 0);
			kpt_settle(test, &fp->pr.kp);
			KUNIT_EXPECT_EQ(test, run(bad), (unsigned long)KPT_FAULTED);
			KUNIT_EXPECT_EQ(test, fp->faults, 2);
			kpt_unregister(test, other);
		}
		kpt_unregister(test, &fp->pr);
	}
}

static void page_fault_of_the_instruction_is_dealt_with(struct kunit *test)
{
	check_displaced(test, at(kpt_load, kpt_load_at), run_load,
			(unsigned long)kpt_bad_address(test), X86_TRAP_PF, true, mend_return);
}

static void execution_goes_on_at_the_next_displaced_instruction(struct kunit *test)
{
	check_displaced(test, at(kpt_peek, kpt_peek_at), run_peek,
			(unsigned long)kpt_bad_address(test), X86_TRAP_PF, false, mend_peek);
}

static void general_protection_of_the_instruction_is_dealt_with(struct kunit *test)
{
#ifdef CONFIG_X86_64
	check_displaced(test, at(kpt_load, kpt_load_at), run_load, 0x5a5a5a5a5a5a5a5aul,
			X86_TRAP_GP, true, mend_return);
#else
	kunit_skip(test, "64-bit only");
#endif
}

static void divide_error_of_the_instruction_is_dealt_with(struct kunit *test)
{
	check_displaced(test, at(kpt_divide, kpt_divide_at), kpt_divide, 0, X86_TRAP_DE,
			true, mend_return);
}

static unsigned long run_call(unsigned long arg)
{
	return kpt_call_at((kpt_fn_t *)arg);
}

/* An operand in the user's half, such as a member of a structure at NULL. */
static void call_through_a_null_pointer_is_dealt_with(struct kunit *test)
{
	check_displaced(test, at(kpt_call_at, kpt_call_at_at), run_call, 8, X86_TRAP_PF,
			false, mend_return);
}

/* The operand is not canonical. */
static void call_through_no_address_is_dealt_with(struct kunit *test)
{
#ifdef CONFIG_X86_64
	/* What freed memory may hold, and both ends of that range. */
	const unsigned long operands[] = {
		0x5a5a5a5a5a5a5a5aul, 0xa5a5a5a5a5a5a5a5ul,
		1ul << __VIRTUAL_MASK_SHIFT, (-1ul << __VIRTUAL_MASK_SHIFT) - sizeof(long),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(operands); i++)
		check_displaced(test, at(kpt_call_at, kpt_call_at_at), run_call, operands[i],
				X86_TRAP_GP, false, mend_return);
#else
	kunit_skip(test, "64-bit only");
#endif
}

static int mend_access(struct fault_probe *fp, struct pt_regs *regs)
{
	regs->flags &= ~X86_EFLAGS_AC;
	return mend_return(fp, regs);
}

#define NOT_CANONICAL	0x5a5a5a5a5a5a5a5aul

static void post_notes_access(struct kpt_probe *pr, struct pt_regs *regs)
{
	container_of(pr, struct fault_probe, pr)->got = native_save_fl() & X86_EFLAGS_AC;
}

/* With SMAP, such an access is a fault unless the flag is set. */
static void call_through_user_memory_reads_it_if_it_may(struct kunit *test)
{
	unsigned long good = kpt_user_area(test, 2 * PAGE_SIZE), bad = good + PAGE_SIZE;
	struct fault_probe *fp;
	unsigned int post;

	KUNIT_ASSERT_EQ(test, vm_munmap(bad, PAGE_SIZE), 0);
	KUNIT_ASSERT_EQ(test, put_user((unsigned long)kpt_plain, (unsigned long __user *)good), 0);
	KUNIT_ASSERT_EQ(test, kpt_call_user((kpt_fn_t __user *)good), KPT_RESULT(good));
	for (post = 0; post < 2; post++) {
		fp = fault_alloc(test, at(kpt_call_user, kpt_call_user_at), NULL);
		if (post)
			fp->pr.kp.post_handler = kpt_post;
		fp->pr.on_post = post_notes_access;
		kpt_register(test, &fp->pr);
		kpt_settle(test, &fp->pr.kp);
		KUNIT_EXPECT_EQ(test, kpt_call_user((kpt_fn_t __user *)good), KPT_RESULT(good));
		KUNIT_EXPECT_EQ(test, fp->faults, 0);
		KUNIT_EXPECT_EQ(test, fp->pr.pre, 1);
		KUNIT_EXPECT_EQ(test, fp->pr.post, post);
		/* The right to access user memory was the instruction's only. */
		KUNIT_EXPECT_EQ(test, fp->got, 0ul);
		/* If the memory is not there, the instruction faults. */
		fp->on_fault = mend_access;
		KUNIT_EXPECT_EQ(test, kpt_call_user((kpt_fn_t __user *)bad), MENDED);
		check_mended(test, fp, at(kpt_call_user, kpt_call_user_at), X86_TRAP_PF);
		KUNIT_EXPECT_EQ(test, fp->pr.post, post);
#ifdef CONFIG_X86_64
		/* So it does at an address that is not canonical. */
		fp->faults = 0;
		KUNIT_EXPECT_EQ(test, kpt_call_user((kpt_fn_t __user *)NOT_CANONICAL), MENDED);
		check_mended(test, fp, at(kpt_call_user, kpt_call_user_at), X86_TRAP_GP);
		KUNIT_EXPECT_EQ(test, fp->pr.post, post);
#endif
		/* Whether it could be read or not, that is over. */
		KUNIT_EXPECT_FALSE(test, pagefault_disabled());
		kpt_unregister(test, &fp->pr);
	}
}

/* The memory is there, but the flag is not set. */
static void call_through_user_memory_faults_if_it_may_not(struct kunit *test)
{
	unsigned long area = kpt_user_area(test, PAGE_SIZE);

	if (!boot_cpu_has(X86_FEATURE_SMAP))
		kunit_skip(test, "no SMAP");
	KUNIT_ASSERT_EQ(test, put_user((unsigned long)kpt_plain, (unsigned long __user *)area), 0);
	check_displaced(test, at(kpt_call_at, kpt_call_at_at), run_call, area, X86_TRAP_PF,
			false, mend_return);
}

static void call_through_bad_memory_is_dealt_with(struct kunit *test)
{
	kpt_fn_t good = kpt_plain;
	struct fault_probe *fp;

	KUNIT_ASSERT_EQ(test, run_call((unsigned long)&good),
			KPT_RESULT((unsigned long)&good));
	check_displaced(test, at(kpt_call_at, kpt_call_at_at), run_call,
			(unsigned long)kpt_bad_address(test), X86_TRAP_PF, false, mend_return);
	fp = fault_alloc(test, at(kpt_call_at, kpt_call_at_at), mend_return);
	kpt_register(test, &fp->pr);
	kpt_settle(test, &fp->pr.kp);
	KUNIT_EXPECT_EQ(test, run_call((unsigned long)&good),
			KPT_RESULT((unsigned long)&good));
	KUNIT_EXPECT_EQ(test, fp->faults, 0);
}

/* Loads across the end of an area whose last bytes are 1, 2 and so on. */
static void check_zeropad(struct kunit *test, unsigned long (*load)(const void *from),
			  u32 at_load)
{
	unsigned long expected[sizeof(long)] = { };
	char *end = kpt_bad_address(test);
	struct kpt_probe *pr;
	unsigned int post, n;

	for (n = 1; n < sizeof(long); n++) {
		*(end - n) = sizeof(long) - n;
		memcpy(&expected[n], end - n, n);
		KUNIT_ASSERT_EQ(test, load(end - n), expected[n]);
	}
	for (post = 0; post < 2; post++) {
		pr = kpt_alloc(test, at(load, at_load));
		if (post)
			pr->kp.post_handler = kpt_post;
		kpt_register(test, pr);
		kpt_settle(test, &pr->kp);
		for (n = 1; n < sizeof(long); n++)
			KUNIT_EXPECT_EQ(test, load(end - n), expected[n]);
		KUNIT_EXPECT_EQ(test, pr->pre, sizeof(long) - 1);
		/* The fix-up does the work of the instruction, which itself has not completed. */
		KUNIT_EXPECT_EQ(test, pr->post, 0);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
		kpt_unregister(test, pr);
	}
}

static void load_beyond_a_page_is_padded_with_zeros(struct kunit *test)
{
	check_zeropad(test, kpt_zeropad, kpt_zeropad_at);
	if (kpt_state(test) == KPT_BREAKPOINT)
		check_zeropad(test, kpt_zeropad_short, kpt_zeropad_short_at);
}

/* --- Which fault handlers run --------------------------------------------- */

static void check_missed_hit(struct kunit *test, bool mends)
{
	struct fault_probe *outer = fault_alloc(test, hit_fn(test), mend_return);
	struct fault_probe *inner = fault_alloc(test, at(kpt_load, kpt_load_at), mend_return);

	if (!mends)
		outer->pr.kp.fault_handler = NULL;
	outer->pr.on_pre = pre_loads;
	outer->pr.arg = kpt_bad_address(test);
	kpt_register(test, &outer->pr);
	kpt_register(test, &inner->pr);
	kpt_settle(test, &outer->pr.kp);
	call(test);
	KUNIT_EXPECT_EQ(test, outer->got, mends ? MENDED : (unsigned long)KPT_FAULTED);
	KUNIT_EXPECT_EQ(test, outer->faults, mends);
	if (mends)
		KUNIT_EXPECT_EQ(test, outer->regs.ip, (unsigned long)at(kpt_load, kpt_load_at));
	KUNIT_EXPECT_EQ(test, inner->faults, 0);
	KUNIT_EXPECT_EQ(test, inner->pr.kp.nmissed, 1ul);
	kpt_unregister(test, &inner->pr);
	kpt_unregister(test, &outer->pr);
}

/*
 * The instruction of a missed hit faults: that is a fault of the handler, even if the
 * handler's probe does not deal with faults.
 */
static void fault_of_a_missed_hit_is_the_handlers(struct kunit *test)
{
	check_missed_hit(test, true);
	check_missed_hit(test, false);
}

static int mend_calling(struct fault_probe *fp, struct pt_regs *regs)
{
	fp->got = kpt_plain2(7);
	return mend_return(fp, regs);
}

static void hit_from_a_fault_handler_is_missed(struct kunit *test)
{
	struct fault_probe *fp = fault_alloc(test, at(kpt_load, kpt_load_at), mend_calling);
	struct kpt_probe *other = kpt_probe(test, kpt_plain2);

	kpt_register(test, &fp->pr);
	kpt_settle(test, &fp->pr.kp);
	KUNIT_EXPECT_EQ(test, run_load((unsigned long)kpt_bad_address(test)), MENDED);
	KUNIT_EXPECT_EQ(test, fp->got, KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, other->pre, 0);
	KUNIT_EXPECT_EQ(test, other->kp.nmissed, 1ul);
}

static void faults_elsewhere_are_none_of_its_business(struct kunit *test)
{
	struct fault_probe *fp = fault_alloc(test, hit_fn(test), mend_return);

	kpt_register(test, &fp->pr);
	kpt_settle(test, &fp->pr.kp);
	call(test);
	KUNIT_EXPECT_EQ(test, run_load((unsigned long)kpt_bad_address(test)),
			(unsigned long)KPT_FAULTED);
	KUNIT_EXPECT_EQ(test, fp->faults, 0);
}

/* A late return runs a handler in the context of another one's. */
static void handler_that_was_covered_has_its_fault_handler_again(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, kprobe_test_fault_nests());
}

#define STATE_CASE(name)		KUNIT_CASE_PARAM(name, kpt_state_gen)
#define DISPLACED_CASE(name)	KUNIT_CASE_PARAM(name, kpt_displaced_state_gen)

static struct kunit_case fault_cases[] = {
	STATE_CASE(fault_in_pre_handler_is_dealt_with),
	STATE_CASE(fault_in_post_handler_is_dealt_with),
	STATE_CASE(page_fault_comes_before_the_exception_tables),
	STATE_CASE(general_protection_comes_before_the_exception_tables),
	STATE_CASE(divide_error_comes_before_the_exception_tables),
	STATE_CASE(other_notifiers_do_not_see_what_is_dealt_with),
	KUNIT_CASE(faults_of_no_probe_are_left_to_other_notifiers),
	STATE_CASE(fault_of_the_fault_handler_does_not_come_back),
	STATE_CASE(fault_handlers_are_asked_in_order_until_one_is_nonzero),
	STATE_CASE(fault_handler_of_a_probe_registered_off_does_not_run),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(probe_that_is_linked_or_enabled_is_complete),
	KUNIT_CASE(probe_that_goes_or_is_disabled_is_complete),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(return_probe_that_is_linked_is_complete),
#endif
	KUNIT_CASE(fault_handler_that_was_abandoned_keeps_none_from_running),
#endif
	KUNIT_CASE(handler_that_was_covered_has_its_fault_handler_again),
	STATE_CASE(handlers_are_those_of_the_time_of_registration),
#ifdef CONFIG_KRETPROBES
	STATE_CASE(faults_of_return_probes_are_dealt_with),
	KUNIT_CASE(late_return_handler_has_its_fault_handler),
	KUNIT_CASE(fault_handler_of_a_late_return_is_off_in_an_interrupt),
	KUNIT_CASE(fault_handler_of_a_late_return_is_forgotten_with_its_task),
#endif
	STATE_CASE(unregistering_keeps_the_fault_handler_to_the_end),
	STATE_CASE(disabling_keeps_the_fault_handler_to_the_end),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE_SLOW(no_fault_handler_runs_after_unregister),
	KUNIT_CASE_SLOW(no_fault_handler_runs_after_disable),
	KUNIT_CASE_SLOW(no_fault_handler_of_a_batch_runs_after_unregister),
	KUNIT_CASE_SLOW(no_fault_handler_of_a_batch_runs_after_disable),
#endif
	DISPLACED_CASE(page_fault_of_the_instruction_is_dealt_with),
	DISPLACED_CASE(execution_goes_on_at_the_next_displaced_instruction),
	DISPLACED_CASE(general_protection_of_the_instruction_is_dealt_with),
	DISPLACED_CASE(divide_error_of_the_instruction_is_dealt_with),
	DISPLACED_CASE(call_through_bad_memory_is_dealt_with),
	DISPLACED_CASE(call_through_a_null_pointer_is_dealt_with),
	DISPLACED_CASE(call_through_no_address_is_dealt_with),
	DISPLACED_CASE(call_through_user_memory_reads_it_if_it_may),
	DISPLACED_CASE(call_through_user_memory_faults_if_it_may_not),
	DISPLACED_CASE(load_beyond_a_page_is_padded_with_zeros),
	STATE_CASE(fault_of_a_missed_hit_is_the_handlers),
	STATE_CASE(calls_from_a_fault_handler_fail_and_change_nothing),
	DISPLACED_CASE(hit_from_a_fault_handler_is_missed),
	STATE_CASE(faults_elsewhere_are_none_of_its_business),
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite fault_suite = {
	.name = "kprobes_fault",
	.suite_init = kpt_files_suite_init,
	.suite_exit = kpt_unmount_files,
	.init = kpt_state_case_init,
	.test_cases = fault_cases,
};

kunit_test_suite(fault_suite);
