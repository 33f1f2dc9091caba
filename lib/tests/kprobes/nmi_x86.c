// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: probes that are hit in an NMI. An NMI also arrives with interrupts off,
 * so over the handler of a breakpoint as well as over any other.
 */
#include <linux/preempt.h>
#include <linux/smp.h>
#include <asm/apic.h>
#include <asm/nmi.h>

#include "fixture.h"

/**
 * struct kpt_nmi - an NMI that a CPU sends to itself
 * @fn:	    the function that it calls
 * @result: what the function returned
 * @wanted: an NMI is to be handled
 * @done:   the NMI has been handled
 * @was:    it ran in NMI context
 * @armed:  a handler waits for it
 * @over:   it has arrived over that handler
 */
static struct kpt_nmi {
	kpt_fn_t fn;
	unsigned long result;
	bool wanted;
	bool done;
	bool was;
	bool armed;
	bool over;
} nmi;

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	if (!READ_ONCE(nmi.wanted))
		return NMI_DONE;
	WRITE_ONCE(nmi.wanted, false);
	nmi.was = in_nmi();
	nmi.over = nmi.armed;
	nmi.result = nmi.fn(5);
	WRITE_ONCE(nmi.done, true);
	return NMI_HANDLED;
}

/* In any context; only one at a time. */
static void raise_nmi(void)
{
	preempt_disable();
	WRITE_ONCE(nmi.wanted, true);
	apic->send_IPI(smp_processor_id(), NMI_VECTOR);
	kpt_spin_until(READ_ONCE(nmi.done), KPT_TIMEOUT_MS);
	preempt_enable();
}

static void call_in_nmi(struct kunit *test, kpt_fn_t fn)
{
	memset(&nmi, 0, sizeof(nmi));
	nmi.fn = fn;
	raise_nmi();
	KUNIT_ASSERT_TRUE(test, nmi.done);
	KUNIT_EXPECT_TRUE(test, nmi.was);
}

static void remove_handler(void *unused)
{
	unregister_nmi_handler(NMI_LOCAL, "kprobes_nmi");
}

static int nmi_init(struct kunit *test)
{
	int ret = kpt_case_init(test);

	if (ret)
		return ret;
	if (!boot_cpu_has(X86_FEATURE_APIC) || !apic->send_IPI)
		kunit_skip(test, "no way to send an NMI");
	memset(&nmi, 0, sizeof(nmi));
	ret = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "kprobes_nmi");
	return ret ?: kunit_add_action_or_reset(test, remove_handler, NULL);
}

static int pre_raises_nmi(struct kpt_probe *pr, struct pt_regs *regs)
{
	/* The NMI may run this again. */
	if (nmi.armed || nmi.done)
		return 0;
	WRITE_ONCE(nmi.armed, true);
	raise_nmi();
	WRITE_ONCE(nmi.armed, false);
	return 0;
}

static void post_raises_nmi(struct kpt_probe *pr, struct pt_regs *regs)
{
	pre_raises_nmi(pr, regs);
}

/* --- Over the code of a task ------------------------------------------------ */

/* @kp is at the site of the case: a breakpoint and then a jump, or only an ftrace site. */
static bool next_state(struct kunit *test, unsigned int *state, struct kprobe *kp)
{
	bool ftrace = kpt_site(test)->ftrace;

	KUNIT_ASSERT_EQ(test, kprobe_ftrace(kp), ftrace);
	if (++*state == 1 && !ftrace)
		kpt_forbid_jumps(test);
	if (*state == 1)
		return true;
	if (*state > 2 || ftrace || !IS_ENABLED(CONFIG_OPTPROBES))
		return false;
	kpt_allow_jumps(test);
	KUNIT_ASSERT_TRUE_MSG(test, kprobe_optimized(kp), "%s", kpt_jump_reason(test, kp));
	return true;
}

static struct kpt_misuse *nmi_misuse;

static unsigned long misuse_in_nmi(unsigned long arg)
{
	kpt_misuse(nmi_misuse);
	return arg;
}

static void calls_in_an_nmi_fail_and_change_nothing(struct kunit *test)
{
	struct kpt_probe *victim = kpt_probe(test, kpt_plain2);

	nmi_misuse = kunit_kzalloc(test, sizeof(*nmi_misuse), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, nmi_misuse);
	kpt_misuse_init(nmi_misuse, victim, victim);
	call_in_nmi(test, misuse_in_nmi);
	kpt_expect_denied(test, nmi_misuse);
}

static void probe_hit_in_nmi_runs(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *plain = kpt_probe(test, kpt_addr(site));
	struct kpt_probe *pr = kpt_probe_post(test, kpt_addr(site));
	unsigned int state = 0;

	while (next_state(test, &state, &pr->kp)) {
		call_in_nmi(test, site->fn);
		KUNIT_EXPECT_EQ(test, nmi.result, KPT_RESULT(5ul));
		KUNIT_EXPECT_EQ(test, plain->pre, state);
		KUNIT_EXPECT_EQ(test, pr->pre, state);
		KUNIT_EXPECT_EQ(test, pr->post, state);
		KUNIT_EXPECT_EQ(test, plain->kp.nmissed, 0ul);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
	}
}

/* With a pre-handler only: the detour of a jump calls it directly. */
static void lone_probe_hit_in_nmi_runs(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_probe(test, kpt_addr(site));
	unsigned int state = 0;

	while (next_state(test, &state, &pr->kp)) {
		call_in_nmi(test, site->fn);
		KUNIT_EXPECT_EQ(test, nmi.result, KPT_RESULT(5ul));
		KUNIT_EXPECT_EQ(test, pr->pre, state);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
	}
}

static void hit_from_a_handler_in_nmi_is_missed(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *outer = kpt_alloc(test, kpt_addr(site));
	struct kpt_probe *pr = kpt_probe_post(test, kpt_plain2);
	struct kpt_inner inner = { .fn = kpt_plain2, .arg = 6 };
	unsigned int state = 0;

	kpt_let_call(outer, false, &inner);
	kpt_register(test, outer);
	while (next_state(test, &state, &outer->kp)) {
		call_in_nmi(test, site->fn);
		KUNIT_EXPECT_EQ(test, inner.result, KPT_RESULT(6ul));
		KUNIT_EXPECT_EQ(test, outer->pre, state);
		KUNIT_EXPECT_EQ(test, pr->pre, 0);
		KUNIT_EXPECT_EQ(test, pr->post, 0);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, (unsigned long)state);
	}
	/* No handler is left running. */
	KUNIT_EXPECT_EQ(test, kpt_plain2(6), KPT_RESULT(6ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	call_in_nmi(test, kpt_plain2);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	KUNIT_EXPECT_EQ(test, pr->post, 2);
}

/* --- Over handlers ---------------------------------------------------------- */

/* The handler of the site raises an NMI, which calls @fn. */
static void call_busy(struct kunit *test, kpt_fn_t fn)
{
	memset(&nmi, 0, sizeof(nmi));
	nmi.fn = fn;
	KUNIT_EXPECT_EQ(test, kpt_site(test)->fn(7), KPT_RESULT(7ul));
	KUNIT_ASSERT_TRUE(test, nmi.done && nmi.was && nmi.over);
	KUNIT_EXPECT_EQ(test, nmi.result, KPT_RESULT(5ul));
}

static void check_over_handler(struct kunit *test, bool post, kpt_fn_t fn)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *busy = kpt_alloc(test, kpt_addr(site));
	struct kpt_probe *pr = kpt_probe_post(test, fn);
	unsigned int state = 0;

	if (post) {
		busy->kp.post_handler = kpt_post;
		busy->on_post = post_raises_nmi;
	} else {
		busy->on_pre = pre_raises_nmi;
	}
	kpt_register(test, busy);
	while (next_state(test, &state, &busy->kp)) {
		call_busy(test, fn);
		KUNIT_EXPECT_EQ(test, busy->pre, state);
		KUNIT_EXPECT_EQ(test, busy->kp.nmissed, 0ul);
		KUNIT_EXPECT_EQ(test, pr->pre, state);
		KUNIT_EXPECT_EQ(test, pr->post, state);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
	}
}

static void breakpoint_hit_by_nmi_over_a_handler_runs(struct kunit *test)
{
	check_over_handler(test, false, kpt_plain2);
}

static void breakpoint_hit_by_nmi_over_a_post_handler_runs(struct kunit *test)
{
	check_over_handler(test, true, kpt_plain2);
}

static void ftrace_hit_by_nmi_over_a_handler_runs(struct kunit *test)
{
	check_over_handler(test, false, kpt_traced2);
}

static void own_hit_by_nmi_over_a_handler_runs(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *first = kpt_probe(test, kpt_addr(site));
	struct kpt_probe *busy = kpt_alloc(test, kpt_addr(site));
	unsigned int state = 0;

	busy->on_pre = pre_raises_nmi;
	busy->kp.post_handler = kpt_post;
	kpt_register(test, busy);
	while (next_state(test, &state, &busy->kp)) {
		call_busy(test, site->fn);
		KUNIT_EXPECT_EQ(test, first->pre, 2 * state);
		KUNIT_EXPECT_EQ(test, busy->pre, 2 * state);
		KUNIT_EXPECT_EQ(test, busy->post, 2 * state);
		KUNIT_EXPECT_EQ(test, first->kp.nmissed, 0ul);
		KUNIT_EXPECT_EQ(test, busy->kp.nmissed, 0ul);
	}
}

static int pre_raises_nmi_then_calls(struct kpt_probe *pr, struct pt_regs *regs)
{
	pre_raises_nmi(pr, regs);
	return kpt_pre_calls(pr, regs);
}

/* After the NMI's hit, the handler's own hits are still missed. */
static void nmi_leaves_the_handler_below_as_it_was(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *busy = kpt_alloc(test, kpt_addr(site));
	struct kpt_probe *pr = kpt_probe_post(test, kpt_plain2);
	struct kpt_inner inner = { .fn = kpt_plain2, .arg = 6 };
	unsigned int state = 0;

	busy->on_pre = pre_raises_nmi_then_calls;
	busy->arg = &inner;
	kpt_register(test, busy);
	while (next_state(test, &state, &busy->kp)) {
		inner.result = 0;
		call_busy(test, kpt_plain2);
		KUNIT_EXPECT_EQ(test, inner.result, KPT_RESULT(6ul));
		KUNIT_EXPECT_EQ(test, pr->pre, state);
		KUNIT_EXPECT_EQ(test, pr->post, state);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, (unsigned long)state);
	}
}

static void nmi_over_a_handler_of_an_interrupt_runs(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *busy = kpt_alloc(test, kpt_addr(site));
	struct kpt_probe *pr = kpt_probe_post(test, kpt_plain2);
	unsigned int state = 0;

	busy->on_pre = pre_raises_nmi;
	kpt_register(test, busy);
	while (next_state(test, &state, &busy->kp)) {
		memset(&nmi, 0, sizeof(nmi));
		nmi.fn = kpt_plain2;
		KUNIT_EXPECT_EQ(test, kpt_call_in_irq(site->fn), KPT_RESULT(7ul));
		KUNIT_ASSERT_TRUE(test, nmi.done && nmi.was && nmi.over);
		KUNIT_EXPECT_EQ(test, busy->pre, state);
		KUNIT_EXPECT_EQ(test, pr->pre, state);
		KUNIT_EXPECT_EQ(test, pr->post, state);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
	}
}

/* --- Return probes ----------------------------------------------------------- */

#ifdef CONFIG_KRETPROBES
/**
 * struct nmi_ret - a return probe that counts
 * @rp:	     the probe
 * @raises:  its handler raises an NMI
 * @entries: calls that are followed
 * @returns: of these, those that have returned
 * @value:   what the latest returned
 * @in_nmi:  it was in an NMI
 */
struct nmi_ret {
	struct kretprobe rp;
	bool raises;
	unsigned int entries;
	unsigned int returns;
	unsigned long value;
	bool in_nmi;
};

static int nmi_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	container_of(get_kretprobe(ri), struct nmi_ret, rp)->entries++;
	return 0;
}

static int nmi_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct nmi_ret *r = container_of(get_kretprobe(ri), struct nmi_ret, rp);

	r->returns++;
	r->value = regs_return_value(regs);
	r->in_nmi = in_nmi();
	if (r->raises)
		pre_raises_nmi(NULL, regs);
	return 0;
}

static struct nmi_ret *nmi_ret(struct kunit *test, kpt_fn_t fn, bool raises)
{
	struct nmi_ret *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->rp.kp.addr = (void *)fn;
	r->rp.handler = nmi_return;
	r->rp.entry_handler = nmi_entry;
	r->raises = raises;
	kpt_register_return(test, &r->rp);
	return r;
}

static void return_in_nmi_is_seen(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct nmi_ret *r = nmi_ret(test, site->fn, false);
	unsigned int state = 0;

	while (next_state(test, &state, &r->rp.kp)) {
		call_in_nmi(test, site->fn);
		KUNIT_EXPECT_EQ(test, nmi.result, KPT_RESULT(5ul));
		KUNIT_EXPECT_EQ(test, r->entries, state);
		KUNIT_EXPECT_EQ(test, r->returns, state);
		KUNIT_EXPECT_EQ(test, r->value, KPT_RESULT(5ul));
		KUNIT_EXPECT_EQ(test, r->rp.nmissed, 0);
	}
}

/* The same function in a task and in an NMI, called while the task's call returns. */
static void return_in_nmi_over_a_return_handler_is_seen(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct nmi_ret *r = nmi_ret(test, site->fn, true);
	struct nmi_ret *above = nmi_ret(test, kpt_plain2, false);
	unsigned int state = 0;

	while (next_state(test, &state, &r->rp.kp)) {
		call_busy(test, kpt_plain2);
		KUNIT_EXPECT_EQ(test, r->returns, state);
		KUNIT_EXPECT_EQ(test, r->value, KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, above->returns, state);
		KUNIT_EXPECT_EQ(test, above->value, KPT_RESULT(5ul));

		call_busy(test, site->fn);
		KUNIT_EXPECT_EQ(test, r->returns, state + 2);
		r->returns = state;
	}
}
#endif

#ifdef CONFIG_KPROBES_ON_FTRACE
/* --- Faults ------------------------------------------------------------------ */

#define MENDED	0x1234ul

/**
 * struct nmi_faulter - a probe whose handler faults
 * @pr:	    the probe; its arg is what the handler reads
 * @faults: runs of its fault handler
 * @got:    what the handler got
 * @raises: its fault handler sends an NMI
 */
struct nmi_faulter {
	struct kpt_probe pr;
	unsigned int faults;
	unsigned long got;
	bool raises;
};

static int pre_loads(struct kpt_probe *pr, struct pt_regs *regs)
{
	container_of(pr, struct nmi_faulter, pr)->got = kpt_load(pr->arg);
	return 0;
}

/* Returns from the function that has faulted, which has pushed nothing. */
static int mend_load(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	struct nmi_faulter *f = container_of(p, struct nmi_faulter, pr.kp);

	f->faults++;
	if (f->raises)
		raise_nmi();
	regs->ax = MENDED;
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(long);
	return 1;
}

static struct nmi_faulter *nmi_faulter(struct kunit *test, void *addr, bool raises)
{
	struct nmi_faulter *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->pr.kp.addr = addr;
	f->pr.kp.pre_handler = kpt_pre;
	f->pr.kp.fault_handler = mend_load;
	f->pr.on_pre = pre_loads;
	f->pr.arg = kpt_bad_address(test);
	f->raises = raises;
	kpt_register(test, &f->pr);
	return f;
}

static void fault_handler_in_nmi_over_a_fault_handler_runs(struct kunit *test)
{
	struct nmi_faulter *below = nmi_faulter(test, kpt_traced, true);
	struct nmi_faulter *over = nmi_faulter(test, kpt_traced2, false);

	memset(&nmi, 0, sizeof(nmi));
	nmi.fn = kpt_traced2;
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_TRUE(test, nmi.done && nmi.was);
	KUNIT_EXPECT_EQ(test, nmi.result, KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, below->faults, 1);
	KUNIT_EXPECT_EQ(test, below->got, MENDED);
	KUNIT_EXPECT_EQ(test, over->faults, 1);
	KUNIT_EXPECT_EQ(test, over->got, MENDED);
}
#endif

#define SITE_CASE(fn)	KUNIT_CASE_PARAM(fn, kpt_site_gen)

static struct kunit_case nmi_cases[] = {
	SITE_CASE(probe_hit_in_nmi_runs),
	KUNIT_CASE(calls_in_an_nmi_fail_and_change_nothing),
	SITE_CASE(lone_probe_hit_in_nmi_runs),
	SITE_CASE(hit_from_a_handler_in_nmi_is_missed),
	SITE_CASE(breakpoint_hit_by_nmi_over_a_handler_runs),
	SITE_CASE(breakpoint_hit_by_nmi_over_a_post_handler_runs),
	SITE_CASE(ftrace_hit_by_nmi_over_a_handler_runs),
	SITE_CASE(own_hit_by_nmi_over_a_handler_runs),
	SITE_CASE(nmi_leaves_the_handler_below_as_it_was),
	SITE_CASE(nmi_over_a_handler_of_an_interrupt_runs),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(fault_handler_in_nmi_over_a_fault_handler_runs),
#endif
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_PARAM(return_in_nmi_is_seen, kpt_entry_site_gen),
	KUNIT_CASE_PARAM(return_in_nmi_over_a_return_handler_is_seen, kpt_entry_site_gen),
#endif
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite nmi_suite = {
	.name = "kprobes_nmi",
	.suite_init = kpt_files_suite_init,
	.suite_exit = kpt_unmount_files,
	.init = nmi_init,
	.test_cases = nmi_cases,
};

kunit_test_suite(nmi_suite);
