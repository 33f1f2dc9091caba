// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: jprobes. Cases that depend on how the point is hit run for each state
 * of it.
 */
#include <linux/atomic.h>
#include <linux/bottom_half.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/vmalloc.h>

#include "fixture.h"
#include "fprobe.h"

/* What the handlers record. They do not know which probe they belong to. */
static struct seen {
	unsigned long arg[10];
	unsigned int calls;
	unsigned int second;
	unsigned int after;
	unsigned int inner;
	unsigned int ax;
	unsigned int aligned;
	bool preemptible;
	kpt_fn_t call;
	unsigned long got;
	unsigned int clock;
	unsigned int tick;
	unsigned int second_tick;
} seen;

static int jprobe_init(struct kunit *test)
{
	memset(&seen, 0, sizeof(seen));
	return kpt_state_case_init(test);
}

static kpt_many_t *many_fn(struct kunit *test)
{
	return kpt_state(test) == KPT_FTRACE ? kpt_many_traced : kpt_many;
}

static void unregister_action(void *jp)
{
	unregister_jprobe(jp);
}

static struct jprobe *jprobe_alloc(struct kunit *test, void *addr, void *entry)
{
	struct jprobe *jp = kunit_kzalloc(test, sizeof(*jp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, jp);
	jp->kp.addr = addr;
	jp->entry = entry;
	return jp;
}

static void jprobe_register(struct kunit *test, struct jprobe *jp)
{
	KUNIT_ASSERT_EQ(test, register_jprobe(jp), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unregister_action, jp), 0);
}

static struct jprobe *jprobe_set(struct kunit *test, void *addr, void *entry)
{
	struct jprobe *jp = jprobe_alloc(test, addr, entry);

	jprobe_register(test, jp);
	return jp;
}

static unsigned long call_many(kpt_many_t *fn)
{
	return fn(0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa);
}

#define RESULT	call_many(kpt_many_result)

/* The function gets the arguments, whatever handlers do to their copies. */
static void call(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, call_many(many_fn(test)), RESULT);
}

static void note_args(KPT_MANY_PARAMS)
{
	const unsigned long arg[] = { a, b, c, d, e, f, g, h, i, j };

	memcpy(seen.arg, arg, sizeof(arg));
	seen.calls++;
	seen.tick = ++seen.clock;
	seen.preemptible = IS_ENABLED(CONFIG_PREEMPT_COUNT) && !preempt_count();
}

static void expect_args(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(seen.arg); i++)
		KUNIT_EXPECT_EQ_MSG(test, seen.arg[i], 0x11ul * (i + 1), "argument %u", i);
}

/* --- Handlers ------------------------------------------------------------- */

static unsigned long plain_handler(KPT_MANY_PARAMS)
{
	note_args(a, b, c, d, e, f, g, h, i, j);
	jprobe_return();
	seen.after++;
	return 0;
}

static unsigned long second_handler(KPT_MANY_PARAMS)
{
	seen.second++;
	seen.second_tick = ++seen.clock;
	/* These must not be the copies that the first handler has changed. */
	note_args(a, b, c, d, e, f, g, h, i, j);
	jprobe_return();
	return 0;
}

/* Changes arguments in registers and on the stack. */
static unsigned long clobbering_handler(KPT_MANY_PARAMS)
{
	note_args(a, b, c, d, e, f, g, h, i, j);
	WRITE_ONCE(a, 0xbad);
	WRITE_ONCE(b, 0xbad);
	WRITE_ONCE(c, 0xbad);
	WRITE_ONCE(d, 0xbad);
	WRITE_ONCE(e, 0xbad);
	WRITE_ONCE(f, 0xbad);
	WRITE_ONCE(g, 0xbad);
	WRITE_ONCE(h, 0xbad);
	WRITE_ONCE(i, 0xbad);
	WRITE_ONCE(j, 0xbad);
	jprobe_return();
	return 0;
}

static unsigned long returning_handler(KPT_MANY_PARAMS)
{
	note_args(a, b, c, d, e, f, g, h, i, j);
	return 0xbad;
}

/* The frames that it leaves contain buffers. */
static noinline unsigned long returns_deep(unsigned int depth)
{
	char buf[64];

	snprintf(buf, sizeof(buf), "%u", depth);
	OPTIMIZER_HIDE_VAR(depth);
	if (!depth)
		jprobe_return();
	else
		depth = returns_deep(depth - 1);
	seen.after++;
	return depth + buf[0];
}

/* For KASAN: no poison of those frames may remain. */
static noinline int uses_stack(unsigned int depth)
{
	char buf[512];
	int below = depth ? uses_stack(depth - 1) : 0;

	memset(buf, 0, sizeof(buf));
	barrier_data(buf);
	return below + !!memchr_inv(buf, 0, sizeof(buf));
}

static unsigned long deep_handler(KPT_MANY_PARAMS)
{
	note_args(a, b, c, d, e, f, g, h, i, j);
	return returns_deep(10);
}

/* Its caller relies on these registers. Its own code would restore them, but does not run. */
static unsigned long overwriting_handler(KPT_MANY_PARAMS)
{
	note_args(a, b, c, d, e, f, g, h, i, j);
#ifdef CONFIG_X86_64
	asm volatile("xorl %%ebx, %%ebx\n\t"
		     "xorl %%r12d, %%r12d\n\t"
		     "xorl %%r13d, %%r13d\n\t"
		     "xorl %%r14d, %%r14d\n\t"
		     "xorl %%r15d, %%r15d"
		     : : : "rbx", "r12", "r13", "r14", "r15", "cc");
#else
	asm volatile("xorl %%ebx, %%ebx\n\t"
		     "xorl %%esi, %%esi\n\t"
		     "xorl %%edi, %%edi"
		     : : : "ebx", "esi", "edi", "cc");
#endif
	jprobe_return();
	seen.after++;
	return 0;
}

static unsigned long calling_handler(KPT_MANY_PARAMS)
{
	seen.got = seen.call(7);
	return plain_handler(a, b, c, d, e, f, g, h, i, j);
}

/* --- Rules for every way of being hit ------------------------------------- */

static void handler_sees_all_arguments(struct kunit *test)
{
	struct jprobe *jp = jprobe_set(test, many_fn(test), plain_handler);
	unsigned int i;

	kpt_settle(test, &jp->kp);
	for (i = 1; i <= 100; i++) {
		memset(seen.arg, 0, sizeof(seen.arg));
		call(test);
		expect_args(test);
		KUNIT_ASSERT_EQ(test, seen.calls, i);
	}
	KUNIT_EXPECT_EQ(test, jp->kp.nmissed, 0ul);
}

static void check_called_once(struct kunit *test, struct jprobe *jp)
{
	kpt_settle(test, &jp->kp);
	call(test);
	KUNIT_EXPECT_EQ(test, seen.calls, 1);
	KUNIT_EXPECT_EQ(test, seen.after, 0);
}

static void handler_ends_with_jprobe_return(struct kunit *test)
{
	check_called_once(test, jprobe_set(test, many_fn(test), plain_handler));
}

/* The handler leaves nothing in the task, so tracers of calls continue where they were. */
static void tracers_do_not_notice_how_the_handler_ends(struct kunit *test)
{
	struct jprobe *jp = jprobe_set(test, many_fn(test), plain_handler);

	kpt_settle(test, &jp->kp);
	call(test);
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	KUNIT_EXPECT_EQ(test, atomic_read(&current->tracing_graph_pause), 0);
#endif
	KUNIT_EXPECT_EQ(test, seen.calls, 1);
}

static void unexpected_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	seen.after++;
}

static void post_handler_of_the_kprobe_in_it_does_not_run(struct kunit *test)
{
	struct jprobe *jp = jprobe_alloc(test, many_fn(test), plain_handler);

	jp->kp.post_handler = unexpected_post;
	jprobe_register(test, jp);
	check_called_once(test, jp);
}

static void check_called_twice(struct kunit *test, void *handler)
{
	struct jprobe *jp = jprobe_set(test, many_fn(test), handler);

	kpt_settle(test, &jp->kp);
	call(test);
	call(test);
	expect_args(test);
	KUNIT_EXPECT_EQ(test, seen.calls, 2);
	KUNIT_EXPECT_EQ(test, seen.after, 0);
}

static void handler_may_clobber_its_copies(struct kunit *test)
{
	check_called_twice(test, clobbering_handler);
}

static void handler_may_return_instead(struct kunit *test)
{
	check_called_twice(test, returning_handler);
}

static void jprobe_return_works_from_a_function_of_the_handler(struct kunit *test)
{
	check_called_twice(test, deep_handler);
	KUNIT_EXPECT_EQ(test, uses_stack(8), 0);
}

/* A post-handler runs after it, and is called with values from these registers. */
static void jprobe_return_restores_the_registers_of_the_caller(struct kunit *test)
{
	struct kpt_probe *other = kpt_alloc(test, many_fn(test));
	struct jprobe *jp;

	other->kp.post_handler = kpt_post;
	kpt_register(test, other);
	jp = jprobe_set(test, many_fn(test), overwriting_handler);
	kpt_settle(test, &jp->kp);
	call(test);
	expect_args(test);
	KUNIT_EXPECT_EQ(test, seen.calls, 1);
	KUNIT_EXPECT_EQ(test, seen.after, 0);
	KUNIT_EXPECT_EQ(test, other->pre, 1);
	KUNIT_EXPECT_EQ(test, other->post, 1);
}

#if defined(CONFIG_FPROBE) && defined(CONFIG_KPROBES_ON_FTRACE)
/*
 * The calls that jprobe_return() ends do not return, but an fprobe has hooked their returns.
 * If the hooks were kept, the next hooked return of the task would be taken for one of
 * theirs, and there would be no instances for the second hit.
 */
static void hooked_returns_of_the_ended_handler_are_forgotten(struct kunit *test)
{
	struct jprobe *jp = jprobe_set(test, many_fn(test), deep_handler);
	unsigned long ips[] = { (unsigned long)returns_deep, (unsigned long)kpt_traced };
	struct kpt_fprobe *e = kpt_fprobe(test, ips, ARRAY_SIZE(ips), 12);
	unsigned int nr;

	kpt_settle(test, &jp->kp);
	for (nr = 1; nr <= 3; nr++) {
		call(test);
		KUNIT_EXPECT_EQ(test, seen.calls, nr);
		KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, e->returns, nr);
	}
	KUNIT_EXPECT_EQ(test, seen.after, 0);
	KUNIT_EXPECT_EQ(test, e->fp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, e->entries, 3 * 12);
}
#endif

static void handler_runs_with_preemption_off(struct kunit *test)
{
	struct jprobe *jp = jprobe_set(test, many_fn(test), plain_handler);
	int before = preempt_count();

	kpt_settle(test, &jp->kp);
	call(test);
	KUNIT_EXPECT_EQ(test, seen.calls, 1);
	KUNIT_EXPECT_FALSE(test, seen.preemptible);
	KUNIT_EXPECT_EQ(test, preempt_count(), before);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
}

static void registers_and_stack_stay_as_they_are(struct kunit *test)
{
	struct kpt_probe *front = kpt_probe(test, many_fn(test));
	struct jprobe *jp = jprobe_set(test, many_fn(test), clobbering_handler);
	struct kpt_probe *after = kpt_probe(test, many_fn(test));

	kpt_settle(test, &jp->kp);
	call(test);
	KUNIT_EXPECT_EQ(test, seen.calls, 1);
	KUNIT_EXPECT_EQ(test, front->pre, 1);
	KUNIT_EXPECT_MEMEQ(test, &front->pre_regs, &after->pre_regs,
			   sizeof(struct pt_regs));
}

static void several_probes_on_one_function_run_in_order(struct kunit *test)
{
	struct kpt_probe *front = kpt_alloc(test, many_fn(test));
	struct kpt_probe *last = kpt_alloc(test, many_fn(test));
	struct jprobe *first;

	front->clock = &seen.clock;
	last->clock = &seen.clock;
	last->kp.post_handler = kpt_post;
	kpt_register(test, front);
	first = jprobe_set(test, many_fn(test), clobbering_handler);
	jprobe_set(test, many_fn(test), second_handler);
	kpt_register(test, last);
	kpt_settle(test, &first->kp);
	call(test);
	KUNIT_EXPECT_EQ(test, seen.calls, 2);
	KUNIT_EXPECT_EQ(test, seen.second, 1);
	expect_args(test);
	KUNIT_EXPECT_EQ(test, front->pre_tick, 1);
	KUNIT_EXPECT_EQ(test, seen.second_tick, 3);
	KUNIT_EXPECT_EQ(test, last->pre_tick, 5);
	KUNIT_EXPECT_EQ(test, last->post_tick, 6);
}

#ifdef CONFIG_KRETPROBES
static unsigned long returned;

static int note_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	returned = regs_return_value(regs);
	return 0;
}

static void return_probe_on_the_same_function(struct kunit *test)
{
	struct jprobe *jp = jprobe_set(test, many_fn(test), clobbering_handler);
	struct kretprobe rp = {
		.kp.addr = (kprobe_opcode_t *)many_fn(test),
		.handler = note_return,
	};

	returned = 0;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, call_many(many_fn(test)), RESULT);
	unregister_kretprobe(&rp);
	KUNIT_EXPECT_EQ(test, seen.calls, 1);
	KUNIT_EXPECT_EQ(test, returned, RESULT);
	kpt_settle(test, &jp->kp);
}
#endif

static void hits_from_the_handler_are_missed(struct kunit *test)
{
	struct jprobe *jp = jprobe_set(test, many_fn(test), calling_handler);
	struct kpt_probe *inner = kpt_probe(test, kpt_plain);

	kpt_settle(test, &jp->kp);
	seen.call = kpt_plain;
	call(test);
	KUNIT_EXPECT_EQ(test, seen.got, KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, seen.calls, 1);
	KUNIT_EXPECT_EQ(test, inner->pre, 0);
	KUNIT_EXPECT_EQ(test, inner->kp.nmissed, 1ul);
}

static unsigned long call_probed(unsigned long arg)
{
	return call_many(kpt_many) == RESULT &&
	       call_many(kpt_many_traced) == RESULT ? KPT_RESULT(arg) : 0;
}

static void jprobes_hit_from_the_handler_are_missed(struct kunit *test)
{
	bool swap = many_fn(test) == kpt_many;
	struct jprobe *jp = jprobe_set(test, many_fn(test), calling_handler);
	struct jprobe *inner = jprobe_set(test, swap ? kpt_many_traced : kpt_many,
					  second_handler);

	kpt_settle(test, &jp->kp);
	seen.call = call_probed;
	call(test);
	KUNIT_EXPECT_EQ(test, seen.got, KPT_RESULT(7ul));
	/* jprobe_return() ends the handler that runs. */
	KUNIT_EXPECT_EQ(test, seen.calls, 1);
	KUNIT_EXPECT_EQ(test, seen.after, 0);
	KUNIT_EXPECT_EQ(test, seen.second, 0);
	KUNIT_EXPECT_EQ(test, jp->kp.nmissed, 1ul);
	KUNIT_EXPECT_EQ(test, inner->kp.nmissed, 1ul);
}

static struct kpt_misuse *jprobe_misuse;

static unsigned long misusing_handler(KPT_MANY_PARAMS)
{
	kpt_misuse(jprobe_misuse);
	return plain_handler(a, b, c, d, e, f, g, h, i, j);
}

static void calls_from_the_handler_fail_and_change_nothing(struct kunit *test)
{
	struct jprobe *jp = jprobe_alloc(test, many_fn(test), misusing_handler);
	struct kpt_probe *victim = kpt_probe(test, kpt_plain2);

	jprobe_misuse = kunit_kzalloc(test, sizeof(*jprobe_misuse), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, jprobe_misuse);
	kpt_misuse_init(jprobe_misuse, victim, victim);
	jprobe_misuse->self = &jp->kp;
	jprobe_register(test, jp);
	kpt_settle(test, &jp->kp);
	call(test);
	KUNIT_ASSERT_EQ(test, seen.calls, 1);
	kpt_expect_denied(test, jprobe_misuse);
	call(test);
	KUNIT_EXPECT_EQ(test, seen.calls, 2);
}

static void intrude(struct irq_work *work)
{
	/* This runs a handler of its own, while the interrupted one has not ended. */
	seen.got = call_many(kpt_many_c);
	/* No handler runs here now. */
	jprobe_return();
	seen.inner++;
}

/* HARD, because on RT a thread would do the work, and could not run over the handler. */
static struct irq_work intruder = IRQ_WORK_INIT_HARD(intrude);

static unsigned long interrupted_handler(KPT_MANY_PARAMS)
{
	irq_work_queue(&intruder);
	while (irq_work_is_busy(&intruder))
		cpu_relax();
	return plain_handler(a, b, c, d, e, f, g, h, i, j);
}

static void handler_is_that_of_the_context(struct kunit *test)
{
	struct jprobe *jp, *inner;

	if (kpt_state(test) == KPT_BREAKPOINT)
		kunit_skip(test, "interrupts are off there");
	inner = jprobe_set(test, kpt_many_c, second_handler);
	jp = jprobe_set(test, many_fn(test), interrupted_handler);
	kpt_settle(test, &jp->kp);
	call(test);
	KUNIT_EXPECT_EQ(test, seen.got, RESULT);
	/* jprobe_return() in the interrupt has not ended this handler. */
	KUNIT_EXPECT_EQ(test, seen.inner, 1);
	/* kpt_many() ends in kpt_many_c(). */
	KUNIT_EXPECT_EQ(test, seen.second, kpt_state(test) == KPT_JUMP ? 2 : 1);
	KUNIT_EXPECT_EQ(test, seen.calls, kpt_state(test) == KPT_JUMP ? 3 : 2);
	KUNIT_EXPECT_EQ(test, seen.after, 0);
	KUNIT_EXPECT_EQ(test, jp->kp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, inner->kp.nmissed, 0ul);
}

static unsigned long faulting_handler(KPT_MANY_PARAMS)
{
	note_args(a, b, c, d, e, f, g, h, i, j);
	seen.got = kpt_peek((unsigned long *)PAGE_SIZE);
	seen.after++;
	return 0;
}

static int end_handler(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	seen.inner++;
	instruction_pointer_set(regs, (unsigned long)jprobe_return);
	return 1;
}

static void fault_handler_may_end_the_handler(struct kunit *test)
{
	struct jprobe *jp = jprobe_alloc(test, many_fn(test), faulting_handler);

	jp->kp.fault_handler = end_handler;
	jprobe_register(test, jp);
	check_called_once(test, jp);
	KUNIT_EXPECT_EQ(test, seen.inner, 1);
}

static void disabled_jprobe_sees_nothing(struct kunit *test)
{
	struct jprobe *jp = jprobe_set(test, many_fn(test), plain_handler);

	kpt_settle(test, &jp->kp);
	KUNIT_ASSERT_EQ(test, disable_jprobe(jp), 0);
	call(test);
	KUNIT_EXPECT_EQ(test, seen.calls, 0);
	KUNIT_ASSERT_EQ(test, enable_jprobe(jp), 0);
	kpt_settle(test, &jp->kp);
	call(test);
	KUNIT_EXPECT_EQ(test, seen.calls, 1);
	kunit_release_action(test, unregister_action, jp);
	call(test);
	KUNIT_EXPECT_EQ(test, seen.calls, 1);
	KUNIT_EXPECT_EQ(test, disable_jprobe(jp), -EINVAL);
}

static void handler_is_that_of_the_time_of_registration(struct kunit *test)
{
	struct jprobe *jp = jprobe_set(test, many_fn(test), plain_handler);

	jp->entry = NULL;
	jp->kp.pre_handler = kpt_pre;
	kpt_settle(test, &jp->kp);
	call(test);
	KUNIT_EXPECT_EQ(test, seen.calls, 1);
}

/* --- Arguments ------------------------------------------------------------ */

static asmlinkage unsigned long asmlinkage_handler(KPT_MANY_PARAMS)
{
	note_args(a, b, c, d, e, f, g, h, i, j);
	WRITE_ONCE(a, 0xbad);
	WRITE_ONCE(j, 0xbad);
	jprobe_return();
	return 0;
}

void kpt_jprobe_noted(unsigned long ax, unsigned long sp)
{
	seen.calls++;
	if (ax == KPT_AX)
		seen.ax++;
	/* Aligned before the call, which has pushed the return address. */
	if (IS_ALIGNED(sp + sizeof(sp), 16))
		seen.aligned++;
	jprobe_return();
}

/* Functions with variable arguments look at AL, and compiled code may need an aligned stack. */
static void handler_gets_ax_and_an_aligned_stack(struct kunit *test)
{
	struct jprobe *jp = jprobe_set(test, kpt_asm_entry, kpt_asm_jprobe);

	kpt_settle(test, &jp->kp);
	kpt_asm_aligns();
	KUNIT_EXPECT_EQ(test, seen.calls, 16 / sizeof(long));
	KUNIT_EXPECT_EQ(test, seen.ax, seen.calls);
	KUNIT_EXPECT_EQ(test, seen.aligned, seen.calls);
}

static void handler_of_an_asmlinkage_function(struct kunit *test)
{
	jprobe_set(test, kpt_many_asmlinkage, asmlinkage_handler);
	KUNIT_EXPECT_EQ(test, kpt_many_asmlinkage(0x11, 0x22, 0x33, 0x44, 0x55, 0x66,
						  0x77, 0x88, 0x99, 0xaa), RESULT);
	KUNIT_EXPECT_EQ(test, seen.calls, 1);
	expect_args(test);
}

static struct kpt_bulk seen_bulk;

static unsigned long bulky_handler(unsigned long a, struct kpt_bulk bulk, unsigned long b)
{
	seen.arg[0] = a;
	seen.arg[1] = b;
	seen_bulk = bulk;
	memset(&bulk, 0xff, sizeof(bulk));
	OPTIMIZER_HIDE_VAR(b);
	barrier_data(&bulk);
	jprobe_return();
	return b;
}

static void handler_sees_a_structure_by_value(struct kunit *test)
{
	struct kpt_bulk bulk;
	unsigned long result;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bulk.word); i++)
		bulk.word[i] = i * 0x1111;
	result = kpt_bulky(0x11, bulk, 0x22);
	jprobe_set(test, kpt_bulky, bulky_handler);
	KUNIT_EXPECT_EQ(test, kpt_bulky(0x11, bulk, 0x22), result);
	KUNIT_EXPECT_EQ(test, seen.arg[0], 0x11ul);
	KUNIT_EXPECT_EQ(test, seen.arg[1], 0x22ul);
	KUNIT_EXPECT_MEMEQ(test, &seen_bulk, &bulk, sizeof(bulk));
}

#if defined(CONFIG_X86_64) && !defined(CONFIG_PREEMPT_RT)
static atomic_t softirqs;

static void softirq_handler(void)
{
	atomic_inc(&softirqs);
	jprobe_return();
}

static void do_nothing(struct tasklet_struct *unused)
{
}

static DECLARE_TASKLET(nothing, do_nothing);

/*
 * One word is above the return address of this function, the last word of the stack that
 * it runs on. The next page is not mapped.
 */
static void arguments_end_where_the_stack_does(struct kunit *test)
{
	struct jprobe *jp = jprobe_alloc(test, NULL, softirq_handler);
	unsigned int i;

	atomic_set(&softirqs, 0);
	jp->kp.symbol_name = "__do_softirq";
	jprobe_register(test, jp);
	for (i = 0; i < 10; i++) {
		local_bh_disable();
		tasklet_schedule(&nothing);
		local_bh_enable();
	}
	kunit_release_action(test, unregister_action, jp);
	tasklet_kill(&nothing);
	KUNIT_EXPECT_GT(test, atomic_read(&softirqs), 0);
}
#endif

/* --- Outside of a handler ------------------------------------------------- */

static int pre_returns(struct kpt_probe *pr, struct pt_regs *regs)
{
	jprobe_return();
	pr->arg = pr;
	return 0;
}

static void jprobe_return_outside_of_a_handler_warns_once(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, kpt_plain);
	bool fresh = kpt_debugfs.mnt;
	unsigned int lines;
	u64 log;

	/* Earlier runs may have got the warning. */
	if (fresh)
		KUNIT_EXPECT_EQ(test, kpt_write(test, &kpt_debugfs, "clear_warn_once", "1"), 1l);
	log = kpt_log_end();
	jprobe_return();
	jprobe_return();
	/* Not even while another kind of handler runs. */
	pr->on_pre = pre_returns;
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_PTR_EQ(test, pr->arg, (void *)pr);
	lines = kpt_log_lines(test, log, "jprobe_return() outside");
	if (IS_ENABLED(CONFIG_PRINTK) && fresh)
		KUNIT_EXPECT_EQ(test, lines, 1);
	else
		KUNIT_EXPECT_LE(test, lines, 1);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
static unsigned long abandoned_handler(KPT_MANY_PARAMS)
{
	seen.calls++;
	kprobe_test_oops();
	jprobe_return();
	seen.after++;
	return 0;
}

/* After an oops in a handler, this CPU no longer runs that handler. */
static void handler_that_was_abandoned_cannot_be_ended(struct kunit *test)
{
	struct jprobe *jp = jprobe_set(test, kpt_many_traced, abandoned_handler);

	KUNIT_EXPECT_EQ(test, call_many(kpt_many_traced), RESULT);
	KUNIT_EXPECT_EQ(test, seen.calls, 1);
	KUNIT_EXPECT_EQ(test, seen.after, 1);
	KUNIT_EXPECT_EQ(test, jp->kp.nmissed, 0ul);
}
#endif

/* --- Registering ---------------------------------------------------------- */

static void elsewhere_than_an_entry_is_refused(struct kunit *test)
{
	struct jprobe *jp = jprobe_alloc(test, kpt_asm_inside, plain_handler);

	jp->kp.offset = kpt_asm_inside_at;
	KUNIT_EXPECT_EQ(test, register_jprobe(jp), -EINVAL);
	/* A plain kprobe may be there. */
	KUNIT_EXPECT_EQ(test, kpt_refused((char *)kpt_asm_inside + kpt_asm_inside_at), 0);
}

static void without_a_handler_is_refused(struct kunit *test)
{
	struct jprobe *jp = jprobe_alloc(test, kpt_many, NULL);

	KUNIT_EXPECT_EQ(test, register_jprobe(jp), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_jprobe(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_jprobes(&jp, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_jprobes(&jp, -1), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_jprobes(NULL, 1), -EINVAL);
}

static void registered_twice_is_refused(struct kunit *test)
{
	struct jprobe *jp = jprobe_set(test, kpt_many, plain_handler);

	jp->kp.symbol_name = NULL;
	KUNIT_EXPECT_EQ(test, register_jprobe(jp), -EINVAL);
	KUNIT_EXPECT_EQ(test, call_many(kpt_many), RESULT);
	KUNIT_EXPECT_EQ(test, seen.calls, 1);
}

static void batch_is_all_or_nothing(struct kunit *test)
{
	struct jprobe *jps[3];

	jps[0] = jprobe_alloc(test, kpt_many, plain_handler);
	jps[1] = jprobe_alloc(test, kpt_many_traced, plain_handler);
	jps[2] = jprobe_alloc(test, NULL, plain_handler);
	jps[2]->kp.symbol_name = "no_such_function_for_jprobes";
	KUNIT_EXPECT_EQ(test, register_jprobes(jps, 3), -ENOENT);
	call_many(kpt_many);
	KUNIT_EXPECT_EQ(test, seen.calls, 0);

	KUNIT_ASSERT_EQ(test, register_jprobes(jps, 2), 0);
	call_many(kpt_many);
	call_many(kpt_many_traced);
	KUNIT_EXPECT_EQ(test, seen.calls, 2);
	/* The unregistered one does not affect the others. */
	unregister_jprobes(jps, 3);
	call_many(kpt_many);
	call_many(kpt_many_traced);
	KUNIT_EXPECT_EQ(test, seen.calls, 2);
}

static void list_shows_type_j(struct kunit *test)
{
	char *line;

	kpt_needs_debugfs(test);
	jprobe_set(test, kpt_many_c, plain_handler);
	line = kpt_line_with(test, kpt_read(test, &kpt_debugfs, "kprobes/list"), "kpt_many_c+");
	KUNIT_ASSERT_NOT_NULL(test, line);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(line, "  j  kpt_many_c+0x"), "%s", line);
}

#define STATE_CASE(name)	KUNIT_CASE_PARAM(name, kpt_state_gen)

static struct kunit_case jprobe_cases[] = {
	STATE_CASE(handler_sees_all_arguments),
	STATE_CASE(handler_ends_with_jprobe_return),
	STATE_CASE(tracers_do_not_notice_how_the_handler_ends),
	STATE_CASE(post_handler_of_the_kprobe_in_it_does_not_run),
	STATE_CASE(handler_may_clobber_its_copies),
	STATE_CASE(handler_may_return_instead),
	STATE_CASE(jprobe_return_works_from_a_function_of_the_handler),
	STATE_CASE(jprobe_return_restores_the_registers_of_the_caller),
#if defined(CONFIG_FPROBE) && defined(CONFIG_KPROBES_ON_FTRACE)
	STATE_CASE(hooked_returns_of_the_ended_handler_are_forgotten),
#endif
	STATE_CASE(handler_runs_with_preemption_off),
	STATE_CASE(registers_and_stack_stay_as_they_are),
	STATE_CASE(several_probes_on_one_function_run_in_order),
#ifdef CONFIG_KRETPROBES
	STATE_CASE(return_probe_on_the_same_function),
#endif
	STATE_CASE(hits_from_the_handler_are_missed),
	STATE_CASE(calls_from_the_handler_fail_and_change_nothing),
	STATE_CASE(jprobes_hit_from_the_handler_are_missed),
	STATE_CASE(handler_is_that_of_the_context),
	STATE_CASE(fault_handler_may_end_the_handler),
	STATE_CASE(disabled_jprobe_sees_nothing),
	STATE_CASE(handler_is_that_of_the_time_of_registration),
	KUNIT_CASE_PARAM(handler_gets_ax_and_an_aligned_stack, kpt_displaced_state_gen),
	KUNIT_CASE(handler_of_an_asmlinkage_function),
	KUNIT_CASE(handler_sees_a_structure_by_value),
#if defined(CONFIG_X86_64) && !defined(CONFIG_PREEMPT_RT)
	KUNIT_CASE(arguments_end_where_the_stack_does),
#endif
	KUNIT_CASE(jprobe_return_outside_of_a_handler_warns_once),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(handler_that_was_abandoned_cannot_be_ended),
#endif
	KUNIT_CASE(elsewhere_than_an_entry_is_refused),
	KUNIT_CASE(without_a_handler_is_refused),
	KUNIT_CASE(registered_twice_is_refused),
	KUNIT_CASE(batch_is_all_or_nothing),
	KUNIT_CASE(list_shows_type_j),
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite jprobe_suite = {
	.name = "kprobes_jprobe",
	.suite_init = kpt_files_suite_init,
	.suite_exit = kpt_unmount_files,
	.init = jprobe_init,
	.test_cases = jprobe_cases,
};

kunit_test_suite(jprobe_suite);
