// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: what happens when a probe is hit. Each rule runs for each way
 * of being hit, see kpt_sites[].
 */
#include <linux/ftrace.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/trace_events.h>
#include <linux/uaccess.h>

#include "fixture.h"
#if defined(CONFIG_X86) && defined(CONFIG_KPROBES_ON_FTRACE)
#include "fprobe.h"
#endif

/* The probed function must work, whatever probes are set on it. */
static void call(struct kunit *test, const struct kpt_site *site)
{
	KUNIT_ASSERT_EQ(test, site->fn(7), KPT_RESULT(7ul));
}

/* --- Handlers and what they see ------------------------------------------ */

static void probe_gets_hit_once_per_call(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_alloc(test, kpt_addr(site));
	unsigned int i;

	/* All other flags of the caller are ignored. */
	pr->kp.flags = ~(u32)KPROBE_FLAG_DISABLED;
	kpt_register(test, pr);
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&pr->kp));
	KUNIT_EXPECT_EQ(test, pr->kp.flags & ~(KPROBE_FLAG_FTRACE | KPROBE_FLAG_OPTIMIZED |
					       KPROBE_FLAG_ON_FUNC_ENTRY), 0);
	KUNIT_EXPECT_EQ(test, kprobe_ftrace(&pr->kp), site->ftrace);
	/* Modules may test this. */
	KUNIT_EXPECT_TRUE(test, list_empty(&pr->kp.list));
	if (site->at)
		KUNIT_EXPECT_PTR_EQ(test, (char *)pr->kp.addr, (char *)site->fn + site->at);
	for (i = 1; i <= 100; i++) {
		call(test, site);
		KUNIT_ASSERT_EQ(test, pr->pre, i);
	}
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
}

static int note_probe(struct kpt_probe *pr, struct pt_regs *regs)
{
	*(struct kprobe **)pr->arg = &pr->kp;
	return 0;
}

static void pre_handler_gets_the_probe_it_belongs_to(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *a = kpt_alloc(test, kpt_addr(site));
	struct kpt_probe *b = kpt_alloc(test, kpt_addr(site));
	struct kprobe *seen_a = NULL, *seen_b = NULL;

	a->on_pre = note_probe;
	a->arg = &seen_a;
	b->on_pre = note_probe;
	b->arg = &seen_b;
	kpt_register(test, a);
	kpt_register(test, b);
	call(test, site);
	KUNIT_EXPECT_PTR_EQ(test, seen_a, &a->kp);
	KUNIT_EXPECT_PTR_EQ(test, seen_b, &b->kp);
}

static void pre_handler_sees_the_live_registers(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_probe(test, kpt_addr(site));
	struct pt_regs *regs = &pr->pre_regs;	/* arc's macro takes names only */

	KUNIT_EXPECT_EQ(test, site->fn(0x1234567), KPT_RESULT(0x1234567ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
#ifdef CONFIG_HAVE_FUNCTION_ARG_ACCESS_API
	KUNIT_EXPECT_EQ(test, regs_get_kernel_argument(regs, 0), 0x1234567ul);
#endif
	KUNIT_EXPECT_FALSE(test, user_mode(regs));
}

static void stack_pointer_is_that_of_the_function(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_probe(test, kpt_addr(site));
	unsigned long sp, here = (unsigned long)__builtin_frame_address(0);

	call(test, site);
	sp = kernel_stack_pointer(&pr->pre_regs);
#ifdef CONFIG_SPARC64
	sp += STACK_BIAS;
#endif
	if (IS_ENABLED(CONFIG_STACK_GROWSUP)) {
		KUNIT_EXPECT_GE(test, sp, here);
		KUNIT_EXPECT_LT(test, sp, here + 1024);
	} else {
		KUNIT_EXPECT_LT(test, sp, here + sizeof(long));
		KUNIT_EXPECT_GT(test, sp, here - 1024);
	}
}

#if defined(CONFIG_X86) && defined(CONFIG_KPROBES_ON_FTRACE)
#define WORDS_PASSED	3

static void return_and_drop(struct kpt_probe *pr, struct pt_regs *regs)
{
	unsigned long words = (unsigned long)pr->arg;

	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += (1 + words) * sizeof(long);
}

static int pre_returns(struct kpt_probe *pr, struct pt_regs *regs)
{
	return_and_drop(pr, regs);
	return 1;
}

static void check_returns_in_place(struct kunit *test, bool post, const char *what)
{
	struct kpt_probe *pr = kpt_alloc(test, kpt_text(kpt_traced));
	unsigned long words;

	if (post) {
		pr->kp.post_handler = kpt_post;
		pr->on_post = return_and_drop;
	} else {
		pr->on_pre = pre_returns;
	}
	kpt_register(test, pr);
	for (words = 0; words <= WORDS_PASSED; words++) {
		pr->arg = (void *)words;
		KUNIT_EXPECT_EQ_MSG(test, kpt_asm_passes(7),
				    (WORDS_PASSED - words) * sizeof(long),
				    "%s, %s, %lu words", what, post ? "post" : "pre", words);
	}
	KUNIT_EXPECT_EQ(test, pr->pre, WORDS_PASSED + 1);
	kpt_unregister(test, pr);
}

/* The handler drops the return address, and none, some or all of the words after it. */
static void handler_may_return_from_the_function(struct kunit *test)
{
	check_returns_in_place(test, false, "alone");
	check_returns_in_place(test, true, "alone");
}

#ifdef CONFIG_X86_64
static int pre_moves_stack(struct kpt_probe *pr, struct pt_regs *regs)
{
	regs->sp += (long)pr->arg;
	/* If the function returned at once, this must not look like the last result. */
	regs->ax = 0;
	regs->ip = (unsigned long)kpt_elsewhere;
	return 1;
}

/* The handler moves it down, to where the registers are, or to the middle of a word. */
static void check_stack_stays(struct kunit *test, const char *what)
{
	static const long moves[] = { -8, -16, -24, -512, -4, 4 };
	struct kpt_probe *pr = kpt_alloc(test, kpt_text(kpt_traced));
	unsigned int i;

	pr->on_pre = pre_moves_stack;
	kpt_register(test, pr);
	for (i = 0; i < ARRAY_SIZE(moves); i++) {
		pr->arg = (void *)moves[i];
		KUNIT_EXPECT_EQ_MSG(test, kpt_traced(7), KPT_ELSEWHERE(7ul), "%s, by %ld",
				    what, moves[i]);
	}
	KUNIT_EXPECT_EQ(test, pr->pre, ARRAY_SIZE(moves));
	kpt_unregister(test, pr);
}

static void stack_pointer_that_cannot_be_is_ignored(struct kunit *test)
{
	check_stack_stays(test, "alone");
}
#endif

static void trace_call(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
		       struct ftrace_regs *fregs)
{
}

static struct ftrace_ops tracer = {
	.func = trace_call,
};

static void remove_tracer(void *addr)
{
	unregister_ftrace_function(&tracer);
	ftrace_set_filter_ip(&tracer, (unsigned long)addr, 1, 0);
}

static int pre_goes_elsewhere(struct kpt_probe *pr, struct pt_regs *regs)
{
	regs->ip = (unsigned long)kpt_elsewhere;
	return 1;
}

/* An interrupt has a path of its own to the handler, which knows where the stack was. */
static void check_leaves_in_an_interrupt(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, kpt_text(kpt_traced));

	pr->on_pre = pre_goes_elsewhere;
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_call_in_irq(kpt_traced), KPT_ELSEWHERE(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	kpt_unregister(test, pr);
}

/* With two users, ftrace's own trampoline calls the handler. */
static void handler_may_return_from_a_function_that_is_traced(struct kunit *test)
{
	void *addr = kpt_text(kpt_traced);

	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&tracer, (unsigned long)addr, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, register_ftrace_function(&tracer), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, remove_tracer, addr), 0);
	check_returns_in_place(test, false, "traced");
	check_returns_in_place(test, true, "traced");
	check_leaves_in_an_interrupt(test);
#ifdef CONFIG_X86_64
	check_stack_stays(test, "traced");
#endif
}

#ifdef CONFIG_FPROBE
static int note_where_it_returns(struct kpt_probe *pr, struct pt_regs *regs)
{
	pr->arg = *(void **)regs->sp;
	return 0;
}

/*
 * The fprobe's ops are the older ones, so it is called after the handler, unless there are
 * probes on ftrace sites already.
 */
static void return_from_a_handler_may_be_hooked(struct kunit *test)
{
	unsigned long ip = (unsigned long)kpt_traced;
	struct kpt_fprobe *f = kpt_fprobe(test, &ip, 1, 0);
	struct kpt_probe *pr = kpt_alloc(test, kpt_text(kpt_traced));

	pr->on_pre = note_where_it_returns;
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_asm_passes(7), WORDS_PASSED * sizeof(long));
	kpt_unregister(test, pr);
	if ((unsigned long)pr->arg - (unsigned long)kpt_asm_passes >= 64)
		kunit_skip(test, "the return is hooked before the handler runs");
	f->entries = 0;
	f->returns = 0;
	check_returns_in_place(test, false, "hooked");
	check_returns_in_place(test, true, "hooked");
	KUNIT_EXPECT_EQ(test, f->entries, 2 * (WORDS_PASSED + 1));
	KUNIT_EXPECT_EQ(test, f->returns, f->entries);
#ifdef CONFIG_X86_64
	check_stack_stays(test, "hooked");
	KUNIT_EXPECT_GT(test, f->entries, 2 * (WORDS_PASSED + 1));
	KUNIT_EXPECT_EQ(test, f->returns, f->entries);
#endif
}
#endif
#endif

static void ip_reads_one_after_the_probe_in_pre_handler(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_probe(test, kpt_addr(site));

	kpt_needs_x86(test);
	call(test, site);
	KUNIT_EXPECT_EQ(test, instruction_pointer(&pr->pre_regs),
			(unsigned long)pr->kp.addr + 1);
}

static void ip_is_the_next_instruction_in_post_handler(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_probe_post(test, kpt_addr(site));

	if (!site->next)
		kunit_skip(test, "needs known instructions");
	call(test, site);
	KUNIT_EXPECT_EQ(test, instruction_pointer(&pr->post_regs),
			(unsigned long)site->fn + site->next);
}

static void post_handler_runs_after_the_instruction(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_alloc(test, kpt_addr(site));
	unsigned int clock = 0;

	pr->kp.post_handler = kpt_post;
	pr->clock = &clock;
	kpt_register(test, pr);
	call(test, site);
	KUNIT_EXPECT_EQ(test, pr->pre_tick, 1);
	KUNIT_EXPECT_EQ(test, pr->post_tick, 2);
	KUNIT_EXPECT_EQ(test, pr->post_flags, 0ul);
#ifdef CONFIG_X86
	/* Either the instruction computes the result, or it does nothing. */
	if (!site->ftrace)
		KUNIT_EXPECT_EQ(test, regs_return_value(&pr->post_regs), KPT_RESULT(7ul));
	else
		KUNIT_EXPECT_EQ(test, pr->post_regs.sp, pr->pre_regs.sp);
	KUNIT_EXPECT_EQ(test, pr->post_regs.flags, pr->pre_regs.flags);
#endif
}

static void flags_show_no_single_stepping(struct kunit *test)
{
#ifdef CONFIG_X86
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_probe_post(test, kpt_addr(site));

	call(test, site);
	KUNIT_EXPECT_FALSE(test, pr->pre_regs.flags & X86_EFLAGS_TF);
	KUNIT_EXPECT_FALSE(test, pr->post_regs.flags & X86_EFLAGS_TF);
	KUNIT_EXPECT_TRUE(test, pr->pre_regs.flags & X86_EFLAGS_IF);
	KUNIT_EXPECT_TRUE(test, pr->post_regs.flags & X86_EFLAGS_IF);
#else
	kunit_skip(test, "x86 only");
#endif
}

static void handlers_run_with_preemption_off(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_probe_post(test, kpt_addr(site));

	call(test, site);
	KUNIT_EXPECT_EQ(test, pr->pre + pr->post, 2);
	KUNIT_EXPECT_FALSE(test, pr->preemptible);
}

/* A breakpoint turns them off; an ftrace site leaves them as they are. */
static void handlers_see_interrupts_as_the_path_promises(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_probe_post(test, kpt_addr(site));

	kpt_needs_x86(test);
	kpt_forbid_jumps(test);
	call(test, site);
	KUNIT_EXPECT_EQ(test, pr->pre + pr->post, 2);
	KUNIT_EXPECT_EQ(test, pr->irqs_off, !site->ftrace);
	KUNIT_EXPECT_EQ(test, pr->irqs_on, site->ftrace);
}

static void interrupt_state_survives_a_hit(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_probe_post(test, kpt_addr(site));
	unsigned long flags, result;
	bool off;

	call(test, site);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	local_irq_save(flags);
	result = site->fn(7);
	off = irqs_disabled();
	local_irq_restore(flags);
	KUNIT_EXPECT_TRUE(test, off);
	KUNIT_EXPECT_EQ(test, result, KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	KUNIT_EXPECT_EQ(test, pr->post, 2);
}

static void preempt_count_survives_a_hit(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_probe_post(test, kpt_addr(site));
	int before, after;

	before = preempt_count();
	call(test, site);
	after = preempt_count();
	KUNIT_EXPECT_EQ(test, before, after);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

/* --- What handlers may change -------------------------------------------- */

#ifdef CONFIG_X86
static int change_argument(struct kpt_probe *pr, struct pt_regs *regs)
{
#ifdef CONFIG_X86_64
	regs->di = 1000;
#else
	regs->ax = 1000;
#endif
	return 0;
}
#endif

static void pre_handler_may_change_registers(struct kunit *test)
{
#ifdef CONFIG_X86
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_alloc(test, kpt_addr(site));

	pr->on_pre = change_argument;
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(1000ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
#else
	kunit_skip(test, "x86 only");
#endif
}

static void later_pre_handlers_see_changed_registers(struct kunit *test)
{
#ifdef CONFIG_X86
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *first = kpt_alloc(test, kpt_addr(site));
	struct kpt_probe *second = kpt_alloc(test, kpt_addr(site));

	first->on_pre = change_argument;
	kpt_register(test, first);
	kpt_register(test, second);
	KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(1000ul));
	KUNIT_EXPECT_EQ(test, regs_get_kernel_argument(&second->pre_regs, 0), 1000ul);
#else
	kunit_skip(test, "x86 only");
#endif
}

static void pre_handler_may_change_memory(struct kunit *test)
{
#ifdef CONFIG_X86
	struct kpt_probe *pr = kpt_alloc(test, (char *)kpt_load + kpt_load_at);
	unsigned long value = 1;

	/* note_probe() writes to the address in arg, which the load then reads. */
	pr->on_pre = note_probe;
	pr->arg = &value;
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_load(&value), (unsigned long)&pr->kp);
#else
	kunit_skip(test, "x86 only");
#endif
}

/* There, ftrace goes on after its call, wherever a handler leads. */
static void skip_if_ftrace_goes_on(struct kunit *test, const struct kpt_site *site)
{
	struct kpt_probe *pr;

	if (!IS_ENABLED(CONFIG_PARISC))
		return;
	pr = kpt_probe(test, kpt_addr(site));
	if (kprobe_ftrace(&pr->kp))
		kunit_skip(test, "a handler at an ftrace site cannot go elsewhere here");
	kpt_unregister(test, pr);
}

static int go_elsewhere(struct kpt_probe *pr, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)kpt_text(kpt_elsewhere));
	return 1;
}

static void nonzero_pre_handler_resumes_at_its_ip_without_post(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_alloc(test, kpt_addr(site));
	unsigned int i;

	skip_if_ftrace_goes_on(test, site);
	pr->on_pre = go_elsewhere;
	pr->kp.post_handler = kpt_post;
	kpt_register(test, pr);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, site->fn(7), KPT_ELSEWHERE(7ul));
		KUNIT_EXPECT_EQ(test, pr->pre, i);
	}
	KUNIT_EXPECT_EQ(test, pr->post, 0);
	/* The hit is over: the next one is not recursion. */
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
}

#ifdef CONFIG_X86
static void post_goes_elsewhere(struct kpt_probe *pr, struct pt_regs *regs)
{
#ifdef CONFIG_X86_32
	/* The instruction has put its result where the argument was. */
	regs->ax = 7;
#endif
	instruction_pointer_set(regs, (unsigned long)kpt_text(kpt_elsewhere));
}

/* The probed instructions leave the stack as it is. */
static void post_handler_may_change_where_execution_goes_on(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_alloc(test, kpt_addr(site));
	unsigned int i;

	pr->kp.post_handler = kpt_post;
	pr->on_post = post_goes_elsewhere;
	kpt_register(test, pr);
	for (i = 1; i <= 2; i++) {
		KUNIT_EXPECT_EQ(test, site->fn(7), KPT_ELSEWHERE(7ul));
		KUNIT_EXPECT_EQ(test, pr->post, i);
#ifdef CONFIG_OPTPROBES
		/* The second time by a jump, where there can be one. */
		wait_for_kprobe_optimizer();
#endif
	}
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
}
#endif

static void nonzero_pre_handler_without_a_post_handler(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_alloc(test, kpt_addr(site));

	skip_if_ftrace_goes_on(test, site);
	/* On other architectures a jump ignores a changed instruction pointer. */
	if (!IS_ENABLED(CONFIG_X86))
		kpt_forbid_jumps(test);
	pr->on_pre = go_elsewhere;
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, site->fn(7), KPT_ELSEWHERE(7ul));
	/* The second time by a jump, where there can be one. */
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, site->fn(8), KPT_ELSEWHERE(8ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
}

static int skip_instruction(struct kpt_probe *pr, struct pt_regs *regs)
{
	const struct kpt_site *site = pr->arg;

	instruction_pointer_set(regs, (unsigned long)site->fn + site->next);
#ifdef CONFIG_X86
	if (!site->ftrace)
		regs->ax = 4242;
#endif
	return 1;
}

static void nonzero_pre_handler_skips_the_instruction(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_alloc(test, kpt_addr(site));

	if (!site->next)
		kunit_skip(test, "needs known instructions");
	pr->on_pre = skip_instruction;
	pr->arg = (void *)site;
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, site->fn(7), site->ftrace ? KPT_RESULT(7ul) : 4242ul);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

#ifdef CONFIG_X86
static int goes_nowhere(struct kpt_probe *pr, struct pt_regs *regs)
{
	return 1;
}

/* Is it all that the breakpoint takes? Then the handler has skipped it. */
static bool is_one_byte(struct kpt_probe *pr)
{
	struct kprobe *p;
	bool ret;

	preempt_disable();
	p = get_kprobe(pr->kp.addr);
	ret = !kprobe_ftrace(p) && p->ainsn.len == 1;
	preempt_enable();
	return ret;
}

/* Not a mistake: the instruction pointer is at the next instruction. */
static void nonzero_pre_handler_may_skip_one_byte(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, (char *)kpt_asm_extends + kpt_asm_one_byte_at);
	u32 (*fn)(u32 arg) = kpt_asm_extends;
	unsigned int i;

	OPTIMIZER_HIDE_VAR(fn);
	KUNIT_EXPECT_EQ(test, fn(0x8000), 0xffff8001);
	pr->on_pre = goes_nowhere;
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, fn(0x8000), 0x8001);
		/* The second time by a jump, where there can be one. */
		wait_for_kprobe_optimizer();
	}
	KUNIT_EXPECT_EQ(test, pr->pre, 3);
}

/* A mistake: the instruction pointer is inside the instruction. */
static void nonzero_pre_handler_that_sets_no_ip_runs_the_instruction(struct kunit *test)
{
	/* Without its first byte, an instruction of 64 bits is the same of 32 bits. */
	const struct kpt_site *site = kpt_site(test);
	unsigned long arg = ~0ul / 5;
	enum { ALONE, WITH_POST, WITH_ANOTHER, NR } how;
	struct kpt_probe *pr;
	unsigned int i;

	for (how = ALONE; how < NR; how++) {
		pr = kpt_alloc(test, kpt_addr(site));
		if (how == WITH_POST)
			pr->kp.post_handler = kpt_post;
		if (how == WITH_ANOTHER)
			kpt_probe(test, kpt_addr(site));
		kpt_register(test, pr);
		if (is_one_byte(pr))
			return;
		pr->on_pre = goes_nowhere;
		for (i = 1; i <= 2; i++) {
			KUNIT_EXPECT_EQ(test, site->fn(arg), KPT_RESULT(arg));
			KUNIT_EXPECT_EQ(test, pr->pre, i);
			/* The second time by a jump, where there can be one. */
			wait_for_kprobe_optimizer();
		}
		KUNIT_EXPECT_EQ(test, pr->post, 0);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
		kpt_unregister(test, pr);
	}
}
#endif

/* --- Several probes ------------------------------------------------------ */

static void several_probes_run_in_registration_order(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr[5];
	struct kprobe *kps[5];
	unsigned int clock = 0, i;

	for (i = 0; i < 5; i++) {
		pr[i] = kpt_alloc(test, kpt_addr(site));
		pr[i]->clock = &clock;
		kpt_register(test, pr[i]);
	}
	call(test, site);
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_EQ(test, pr[i]->pre, 1);
		KUNIT_EXPECT_EQ(test, pr[i]->pre_tick, i + 1);
	}
	/* A probe that is registered again is the last. */
	kpt_unregister(test, pr[1]);
	kpt_register(test, pr[1]);
	clock = 0;
	call(test, site);
	KUNIT_EXPECT_EQ(test, pr[0]->pre_tick, 1);
	KUNIT_EXPECT_EQ(test, pr[2]->pre_tick, 2);
	KUNIT_EXPECT_EQ(test, pr[4]->pre_tick, 4);
	KUNIT_EXPECT_EQ(test, pr[1]->pre_tick, 5);

	/* Those of a batch run in the order of the array. */
	for (i = 0; i < 5; i++) {
		kpt_unregister(test, pr[i]);
		kps[i] = &pr[4 - i]->kp;
	}
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, 5), 0);
	clock = 0;
	call(test, site);
	unregister_kprobes(kps, 5);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, pr[4 - i]->pre_tick, i + 1);
}

static void several_probes_run_until_one_is_nonzero(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr[4];
	unsigned int stop, i;

	skip_if_ftrace_goes_on(test, site);
	for (stop = 0; stop < 4; stop++) {
		for (i = 0; i < 4; i++) {
			pr[i] = kpt_alloc(test, kpt_addr(site));
			pr[i]->kp.post_handler = kpt_post;
			if (i == stop)
				pr[i]->on_pre = go_elsewhere;
			kpt_register(test, pr[i]);
		}
		KUNIT_EXPECT_EQ(test, site->fn(7), KPT_ELSEWHERE(7ul));
		for (i = 0; i < 4; i++) {
			KUNIT_EXPECT_EQ(test, pr[i]->pre, i <= stop);
			KUNIT_EXPECT_EQ(test, pr[i]->post, 0);
			kpt_unregister(test, pr[i]);
		}
	}
}

/* One probe with a post-handler among plain ones, in each place. */
static void check_post_among_plain(struct kunit *test, unsigned int place)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr[3];
	unsigned int i, n;

	for (i = 0; i < 3; i++) {
		pr[i] = i == place ? kpt_probe_post(test, kpt_addr(site)) :
				     kpt_probe(test, kpt_addr(site));
		/* Hit it in between: choices made for fewer probes must not persist. */
		call(test, site);
	}
	for (n = 0; n < 3; n++)
		call(test, site);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, pr[i]->pre, 6 - i);
		KUNIT_EXPECT_EQ(test, pr[i]->post, i == place ? 6 - i : 0);
	}
	if (site->next)
		KUNIT_EXPECT_EQ(test, instruction_pointer(&pr[place]->post_regs),
				(unsigned long)site->fn + site->next);
}

static void post_handler_arrives_first(struct kunit *test)
{
	check_post_among_plain(test, 0);
}

static void post_handler_arrives_in_the_middle(struct kunit *test)
{
	check_post_among_plain(test, 1);
}

static void post_handler_arrives_last(struct kunit *test)
{
	check_post_among_plain(test, 2);
}

static void several_post_handlers_all_run(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		pr[i] = kpt_probe_post(test, kpt_addr(site));
	call(test, site);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, pr[i]->pre, 1);
		KUNIT_EXPECT_EQ(test, pr[i]->post, 1);
	}
}

static void disabled_post_probe_has_no_say(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *plain = kpt_probe(test, kpt_addr(site));
	struct kpt_probe *post = kpt_probe_post(test, kpt_addr(site));

	KUNIT_ASSERT_EQ(test, disable_kprobe(&post->kp), 0);
	call(test, site);
	KUNIT_EXPECT_EQ(test, post->post, 0);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&post->kp), 0);
	call(test, site);
	KUNIT_EXPECT_EQ(test, post->pre, 1);
	KUNIT_EXPECT_EQ(test, post->post, 1);
	KUNIT_EXPECT_EQ(test, plain->pre, 2);
}

static void null_handlers_in_every_combination(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr;
	unsigned int kinds;

	for (kinds = 0; kinds < 4; kinds++) {
		pr = kpt_alloc_with(test, kpt_addr(site), kinds & 1, kinds & 2);
		kpt_register(test, pr);
		call(test, site);
		call(test, site);
		KUNIT_EXPECT_EQ(test, pr->pre, kinds & 1 ? 2 : 0);
		KUNIT_EXPECT_EQ(test, pr->post, kinds & 2 ? 2 : 0);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
		kpt_unregister(test, pr);
	}
}

static void null_handlers_in_every_pair_of_combinations(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	unsigned int kinds, n, k;
	struct kpt_probe *pr[2];

	for (kinds = 0; kinds < 16; kinds++) {
		for (n = 0; n < 2; n++) {
			k = kinds >> (2 * n);
			pr[n] = kpt_alloc_with(test, kpt_addr(site), k & 1, k & 2);
			kpt_register(test, pr[n]);
		}
		call(test, site);
		for (n = 0; n < 2; n++) {
			k = kinds >> (2 * n);
			KUNIT_EXPECT_EQ(test, pr[n]->pre, !!(k & 1));
			KUNIT_EXPECT_EQ(test, pr[n]->post, !!(k & 2));
			kpt_unregister(test, pr[n]);
		}
	}
}

static void disable_and_unregister_reach_every_kind_of_site(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_probe_post(test, kpt_addr(site));
	unsigned char before[32], *text = kpt_text(site->fn);

	KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
	memcpy(before, text, sizeof(before));
	call(test, site);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_TRUE(test, memcmp(before, text, sizeof(before)));
	call(test, site);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	kpt_unregister(test, pr);
	KUNIT_EXPECT_MEMEQ(test, before, text, sizeof(before));
	call(test, site);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
}

/* --- Both on all CPUs ---------------------------------------------------- */

struct crowd {
	const struct kpt_site *site;
	struct kprobe kp;
	atomic_t inside;
	atomic_t most;
	atomic_long_t hits;
	atomic_long_t calls;
	atomic_t wrong;
};

/* Waits a moment for another CPU: handlers must be able to run in parallel. */
static int crowd_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct crowd *crowd = container_of(p, struct crowd, kp);
	int i, n = atomic_inc_return(&crowd->inside);

	atomic_long_inc(&crowd->hits);
	for (i = 0; i < 100 && atomic_read(&crowd->most) < 2; i++) {
		if (n < atomic_read(&crowd->inside))
			n = atomic_read(&crowd->inside);
		ndelay(2000);
	}
	if (n > atomic_read(&crowd->most))
		atomic_set(&crowd->most, n);
	atomic_dec(&crowd->inside);
	return 0;
}

static int crowd_fn(void *arg)
{
	struct crowd *crowd = arg;
	unsigned long i = 0;

	while (!kthread_should_stop()) {
		if (crowd->site->fn(i) != KPT_RESULT(i))
			atomic_inc(&crowd->wrong);
		atomic_long_inc(&crowd->calls);
		if (!(++i % 64))
			cond_resched();
	}
	return 0;
}

static void unregister_crowd(void *arg)
{
	struct crowd *crowd = arg;

	unregister_kprobe(&crowd->kp);
}

static void handlers_run_on_all_cpus_at_once(struct kunit *test)
{
	struct crowd *crowd = kunit_kzalloc(test, sizeof(*crowd), GFP_KERNEL);
	struct task_struct *threads[2];
	unsigned int cpu, n = 0;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, crowd);
	crowd->site = kpt_site(test);
	crowd->kp.addr = kpt_addr(crowd->site);
	crowd->kp.pre_handler = crowd_pre;
	KUNIT_ASSERT_EQ(test, register_kprobe(&crowd->kp), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unregister_crowd, crowd), 0);
	for_each_online_cpu(cpu) {
		threads[n] = kpt_thread(test, crowd_fn, crowd, cpu, "crowd");
		if (++n == 2)
			break;
	}
	kpt_wait_until(atomic_read(&crowd->most) >= 2 &&
		       atomic_long_read(&crowd->hits) > 1000);
	while (n--)
		kpt_stop(test, threads[n]);
	KUNIT_EXPECT_EQ(test, atomic_read(&crowd->most), 2);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&crowd->hits),
			atomic_long_read(&crowd->calls));
	KUNIT_EXPECT_EQ(test, atomic_read(&crowd->wrong), 0);
	KUNIT_EXPECT_EQ(test, crowd->kp.nmissed, 0ul);
}

/* --- Functions that run everywhere --------------------------------------- */

static const char * const busy_functions[] = {
	"schedule", "try_to_wake_up", "kick_process", "wake_up_process",
	"hrtimer_interrupt", "hrtimer_start_range_ns", "update_process_times",
	"ktime_get", "ktime_get_update_offsets_now", "tick_nohz_handler",
	"kmem_cache_alloc_noprof", "kmem_cache_free", "__kmalloc_noprof", "kfree",
	"_raw_spin_lock", "_raw_spin_unlock", "_raw_spin_lock_irqsave",
	"_raw_spin_unlock_irqrestore", "rcu_sched_clock_irq", "__rcu_read_lock",
	"raise_softirq", "handle_softirqs", "irq_enter_rcu", "irq_exit_rcu",
	"vprintk_emit", "console_unlock", "memchr", "strlen", "vsnprintf",
	"find_vma", "handle_mm_fault", "lock_vma_under_rcu",
};

struct busy {
	struct kprobe kp;
	atomic_long_t hits;
};

static int busy_pre(struct kprobe *p, struct pt_regs *regs)
{
	atomic_long_inc(&container_of(p, struct busy, kp)->hits);
	return 0;
}

static void busy_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static void unregister_busy(void *busy)
{
	unregister_kprobe(&((struct busy *)busy)->kp);
}

/*
 * Scheduler, timers, interrupts, allocator, locks: hit from every context, and by
 * functions that kprobes itself calls.
 */
static void functions_that_everybody_runs_can_be_probed(struct kunit *test)
{
	struct busy *busy;
	unsigned int i, nr = 0;
	long hits = 0;
	int ret;

	if (IS_ENABLED(CONFIG_ARM))
		kunit_skip(test, "breakpoints are handled under a lock");
	if (IS_ENABLED(CONFIG_X86) && IS_ENABLED(CONFIG_DYNAMIC_FTRACE) &&
	    !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		kunit_skip(test, "their entries are ftrace sites, which are refused here");
	busy = kunit_kcalloc(test, ARRAY_SIZE(busy_functions), sizeof(*busy), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, busy);
	for (i = 0; i < ARRAY_SIZE(busy_functions); i++) {
		busy[i].kp.symbol_name = busy_functions[i];
		busy[i].kp.pre_handler = busy_pre;
		if (i & 1)
			busy[i].kp.post_handler = busy_post;
		ret = register_kprobe(&busy[i].kp);
		/* Not every kernel has all of them. */
		if (ret == -ENOENT)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, ret, 0, "%s", busy_functions[i]);
		if (ret)
			continue;
		KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unregister_busy,
								&busy[i]), 0);
		nr++;
	}
	KUNIT_EXPECT_GT(test, nr, ARRAY_SIZE(busy_functions) / 2);
	for (i = 0; i < 50; i++) {
		msleep(20);
		kfree(kzalloc(100 * i + 1, GFP_KERNEL));
	}
	for (i = 0; i < ARRAY_SIZE(busy_functions); i++)
		hits += atomic_long_read(&busy[i].hits);
	KUNIT_EXPECT_GT(test, atomic_long_read(&busy[0].hits), 50l);
	KUNIT_EXPECT_GT(test, hits, 500l);
}

/* --- Faults -------------------------------------------------------------- */

/*
 * riscv treats breakpoints of the kernel as NMIs, where it does not trace the interrupt
 * flag. So for lockdep, interrupts are on after a fault in a handler.
 */
static void skip_if_lockdep_is_misled(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_RISCV) && IS_ENABLED(CONFIG_PROVE_LOCKING))
		kunit_skip(test, "lockdep does not follow breakpoints here");
}

static int read_bad_address(struct kpt_probe *pr, struct pt_regs *regs)
{
	unsigned long value;

	if (copy_from_kernel_nofault(&value, pr->arg, sizeof(value)) == -EFAULT)
		pr->arg = NULL;
	return 0;
}

static void post_reads_bad_address(struct kpt_probe *pr, struct pt_regs *regs)
{
	read_bad_address(pr, regs);
}

static void check_fixed_up(struct kunit *test, bool post)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_alloc_with(test, kpt_addr(site), true, post);
	unsigned int i;

	skip_if_lockdep_is_misled(test);
	if (post)
		pr->on_post = post_reads_bad_address;
	else
		pr->on_pre = read_bad_address;
	pr->arg = kpt_bad_address(test);
	kpt_register(test, pr);
	for (i = 1; i <= 2; i++) {
		call(test, site);
		KUNIT_EXPECT_EQ(test, pr->pre, i);
		KUNIT_EXPECT_EQ(test, pr->post, post ? i : 0);
		KUNIT_EXPECT_NULL(test, pr->arg);
	}
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
}

static void fault_in_pre_handler_is_fixed_up(struct kunit *test)
{
	check_fixed_up(test, false);
}

static void fault_in_post_handler_is_fixed_up(struct kunit *test)
{
	check_fixed_up(test, true);
}

static int read_user_address(struct kpt_probe *pr, struct pt_regs *regs)
{
	unsigned long value = 0;
	long ret;

	ret = copy_from_user_nofault(&value, (const void __user *)pr->arg, sizeof(value));
	pr->arg = ERR_PTR(ret ?: -(long)value);
	return 0;
}

/* A page that is not present stays absent: a handler cannot wait for it. */
static void user_access_in_a_handler_does_not_page_in(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_alloc(test, kpt_addr(site));
	unsigned long area;

	skip_if_lockdep_is_misled(test);
	area = kpt_user_area(test, PAGE_SIZE);
	pr->on_pre = read_user_address;
	pr->arg = (void *)area;
	kpt_register(test, pr);
	call(test, site);
	KUNIT_EXPECT_EQ(test, PTR_ERR(pr->arg), (long)-EFAULT);

	KUNIT_ASSERT_EQ(test, put_user(99ul, (unsigned long __user *)area), 0);
	pr->arg = (void *)area;
	call(test, site);
	KUNIT_EXPECT_EQ(test, PTR_ERR(pr->arg), -99l);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
}

#define FAILED		5ul

/* An exception table entry leads from the load to the error. */
static noinline notrace unsigned long load_or_fail(unsigned long from)
{
	unsigned long value;

	__get_kernel_nofault(&value, (unsigned long *)from, unsigned long, failed);
	return value;
failed:
	return FAILED;
}

#ifdef CONFIG_MIPS
/* The load is in the delay slot of a branch. */
static noinline notrace unsigned long load_or_fail_in_delay_slot(unsigned long from)
{
	unsigned long value = FAILED;

	asm volatile(".set	push\n\t"
		     ".set	noreorder\n\t"
		     "b		2f\n"
		     "1:	" __stringify(LONG_L) "	%0, 0(%1)\n\t"
		     "move	%0, $0\n"
		     "2:\n\t"
		     ".set	pop\n\t"
		     ".section	__ex_table, \"a\"\n\t"
		     STR(PTR_WD)	"	1b, 2b\n\t"
		     ".previous"
		     : "+r" (value) : "r" (from) : "memory");
	return value;
}
#endif

/* The function works with a probe on each of its instructions. */
static void check_load(struct kunit *test, kpt_fn_t load)
{
	unsigned long bad = (unsigned long)kpt_bad_address(test);
	unsigned int at, size = kpt_size(test, load);
	unsigned int nr = 0, loads = 0, pre, post;
	unsigned long good = 17, result;
	struct kpt_probe *pr;
	void *text;
	bool hit;

	/* If it is known, and only reads memory, one call may do for two. */
	OPTIMIZER_HIDE_VAR(load);
	for (at = 0; at < size; at++) {
		pr = kpt_alloc_with(test, (char *)kpt_text(load) + at, true, true);
		text = pr->kp.addr;
		if (kpt_try_register(test, &pr->kp))
			continue;
		if (pr->kp.addr != text) {	/* to the next one */
			kpt_unregister(test, pr);
			continue;
		}
		KUNIT_EXPECT_EQ_MSG(test, load((unsigned long)&good), good, "at %u", at);
		hit = pr->pre;
		KUNIT_EXPECT_EQ(test, pr->pre, hit);
		KUNIT_EXPECT_EQ(test, pr->post, hit);

		pagefault_disable();
		result = load(bad);
		pagefault_enable();
		KUNIT_EXPECT_EQ_MSG(test, result, FAILED, "at %u", at);
		KUNIT_EXPECT_EQ(test, preempt_count(), 0);
		KUNIT_EXPECT_FALSE(test, irqs_disabled());
		pre = pr->pre - hit;
		post = pr->post - hit;
		/* An instruction that does not complete has no post-handler. */
		if (pre != post) {
			KUNIT_EXPECT_EQ(test, pre, 1);
			KUNIT_EXPECT_EQ(test, post, 0);
			loads++;
		}

		KUNIT_EXPECT_EQ_MSG(test, load((unsigned long)&good), good, "at %u", at);
		KUNIT_EXPECT_EQ(test, pr->pre, pre + 2 * hit);
		KUNIT_EXPECT_EQ(test, pr->post, post + 2 * hit);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
		nr += hit;
		kpt_unregister(test, pr);
	}
	KUNIT_EXPECT_GT(test, nr, 0);
	/* arm64 refuses instructions that may fault. */
	KUNIT_EXPECT_EQ(test, loads, IS_ENABLED(CONFIG_ARM64) ? 0 : 1);
}

static void fault_is_fixed_up_with_a_probe_on_each_instruction(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_ARM))
		kunit_skip(test, "instructions run on the stack of the exception");
	/* The fault and the step are reported together, and only do_per_trap() is called. */
	if (IS_ENABLED(CONFIG_S390))
		kunit_skip(test, "the event of the single step hides the fault");
	skip_if_lockdep_is_misled(test);
	check_load(test, load_or_fail);
#ifdef CONFIG_MIPS
	check_load(test, load_or_fail_in_delay_slot);
#endif
}

#ifdef CONFIG_X86
/*
 * An instruction that faults and has a fix-up. @run executes it with a @good and a
 * @bad operand. If the instruction does not complete, no post-handler runs.
 */
static void check_fault(struct kunit *test, void *addr,
			kpt_fn_t run,
			unsigned long good, unsigned long bad)
{
	unsigned long unprobed = run(good);
	struct kpt_probe *pr;
	unsigned int post;

	KUNIT_ASSERT_NE(test, unprobed, (unsigned long)KPT_FAULTED);
	KUNIT_ASSERT_EQ(test, run(bad), (unsigned long)KPT_FAULTED);
	for (post = 0; post < 2; post++) {
		pr = post ? kpt_probe_post(test, addr) : kpt_probe(test, addr);
		KUNIT_EXPECT_EQ(test, run(good), unprobed);
		KUNIT_EXPECT_EQ(test, pr->pre, 1);
		KUNIT_EXPECT_EQ(test, run(bad), (unsigned long)KPT_FAULTED);
		KUNIT_EXPECT_EQ(test, pr->pre, 2);
		KUNIT_EXPECT_EQ(test, run(bad), (unsigned long)KPT_FAULTED);
		KUNIT_EXPECT_EQ(test, run(good), unprobed);
		KUNIT_EXPECT_EQ(test, pr->pre, 4);
		KUNIT_EXPECT_EQ(test, pr->post, post ? 2 : 0);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
		kpt_unregister(test, pr);
	}
	/* The same in a context where no fault may be resolved. */
	pr = kpt_probe_post(test, addr);
	preempt_disable();
	pagefault_disable();
	unprobed = run(bad);
	pagefault_enable();
	preempt_enable();
	KUNIT_EXPECT_EQ(test, unprobed, (unsigned long)KPT_FAULTED);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 0);
}

static unsigned long run_load(unsigned long arg)
{
	return kpt_load((void *)arg);
}

static void page_fault_in_the_instruction_is_fixed_up(struct kunit *test)
{
	unsigned long *good = kunit_kzalloc(test, sizeof(*good), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, good);
	*good = 17;
	check_fault(test, (char *)kpt_load + kpt_load_at, run_load,
		    (unsigned long)good, (unsigned long)kpt_bad_address(test));
}

static void general_protection_in_the_instruction_is_fixed_up(struct kunit *test)
{
#ifdef CONFIG_X86_64
	unsigned long *good = kunit_kzalloc(test, sizeof(*good), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, good);
	/* This address is not canonical. */
	check_fault(test, (char *)kpt_load + kpt_load_at, run_load,
		    (unsigned long)good, 0x5a5a5a5a5a5a5a5aul);
#else
	kunit_skip(test, "64-bit only");
#endif
}

static void divide_error_in_the_instruction_is_fixed_up(struct kunit *test)
{
	check_fault(test, (char *)kpt_divide + kpt_divide_at, kpt_divide, 7, 0);
}

/* The instruction is not emulated either. */
static void lock_that_is_not_allowed_raises_its_exception(struct kunit *test)
{
	struct kpt_probe *pr;
	unsigned int post;

	KUNIT_ASSERT_EQ(test, kpt_locked(7), KPT_RESULT(7ul));
	for (post = 0; post < 2; post++) {
		pr = kpt_alloc(test, (char *)kpt_locked + kpt_locked_at);
		pr->kp.post_handler = post ? kpt_post : NULL;
		kpt_register(test, pr);
		KUNIT_EXPECT_EQ(test, kpt_locked(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, pr->pre, 1);
		KUNIT_EXPECT_EQ(test, pr->post, 0);
		kpt_unregister(test, pr);
	}
}

static void bad_msr_in_the_instruction_is_fixed_up(struct kunit *test)
{
	unsigned long bad = 0x4dead;

	/* Some machines have a value for every MSR. */
	if (kpt_rdmsr(bad) != KPT_FAULTED)
		kunit_skip(test, "this MSR exists here");
	check_fault(test, (char *)kpt_rdmsr + kpt_rdmsr_at, kpt_rdmsr, MSR_EFER, bad);
}

static void bad_control_register_in_the_instruction_is_fixed_up(struct kunit *test)
{
	if (!boot_cpu_has(X86_FEATURE_OSXSAVE))
		kunit_skip(test, "this CPU has none");
	check_fault(test, (char *)kpt_xgetbv + kpt_xgetbv_at, kpt_xgetbv, 0, 5);
}

static unsigned long run_load_user(unsigned long arg)
{
	return kpt_load_user((const unsigned long __user *)arg);
}

static void null_pointer_read_with_fixup(struct kunit *test)
{
	unsigned long good;

	good = kpt_user_area(test, PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, put_user(98ul, (unsigned long __user *)good), 0);
	check_fault(test, (char *)kpt_load_user + kpt_load_user_at, run_load_user,
		    good, 0);
}

static void user_fault_in_the_instruction_is_fixed_up(struct kunit *test)
{
	unsigned long good, bad;

	good = kpt_user_area(test, 2 * PAGE_SIZE);
	bad = good + PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, vm_munmap(bad, PAGE_SIZE), 0);
	KUNIT_ASSERT_EQ(test, put_user(99ul, (unsigned long __user *)good), 0);
	check_fault(test, (char *)kpt_load_user + kpt_load_user_at, run_load_user,
		    good, bad);
}

/*
 * A page that is not present yet: the fault is resolved, which may sleep, and the
 * instruction completes. Either its copy is resumed or the probe is hit again.
 */
static void user_fault_in_the_instruction_is_paged_in(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe_post(test, (char *)kpt_load_user + kpt_load_user_at);
	unsigned long area;
	unsigned int i;

	area = kpt_user_area(test, 16 * PAGE_SIZE);
	for (i = 0; i < 16; i++) {
		pr->pre = 0;
		pr->post = 0;
		KUNIT_EXPECT_EQ(test, run_load_user(area + i * PAGE_SIZE), 0ul);
		KUNIT_EXPECT_GE(test, pr->pre, 1);
		KUNIT_EXPECT_LE(test, pr->pre, 2);
		KUNIT_EXPECT_EQ(test, pr->post, 1);
	}
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
}

static void own_breakpoint_and_ud2_of_the_text_are_refused(struct kunit *test)
{
	struct kpt_probe *pr;

	KUNIT_EXPECT_EQ(test, kpt_refused((char *)kpt_traps + kpt_traps_int3_at), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused((char *)kpt_traps + kpt_traps_ud2_at), -EINVAL);
	pr = kpt_probe(test, kpt_traps);
	KUNIT_EXPECT_EQ(test, kpt_traps(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
static void inside_an_ftrace_call_is_refused(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_traced);
	char *site = (char *)pr->kp.addr;
	unsigned int i, used;
	int ret;

	/* While the site is in use, and when it is not. */
	for (used = 1; used < 2; used--) {
		for (i = 1; i < MCOUNT_INSN_SIZE; i++) {
			ret = kpt_refused(site + i);
			/* Elsewhere the address may not be that of any instruction. */
			if (IS_ENABLED(CONFIG_X86))
				KUNIT_EXPECT_EQ_MSG(test, ret, -EILSEQ, "%u", i);
			else
				KUNIT_EXPECT_TRUE(test, ret == -EILSEQ || ret == -EINVAL);
		}
		KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, pr->pre, 1);
		if (used)
			kpt_unregister(test, pr);
	}
}

/* The instruction after the call is an ordinary one. */
static void after_an_ftrace_call_both_are_hit(struct kunit *test)
{
	struct kpt_probe *site = kpt_probe_post(test, kpt_traced);
	char *next = (char *)site->kp.addr + MCOUNT_INSN_SIZE;
	struct kpt_probe *after = kpt_probe_post(test, next);

	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&site->kp));
	KUNIT_EXPECT_FALSE(test, kprobe_ftrace(&after->kp));
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, site->pre, 1);
	KUNIT_EXPECT_EQ(test, site->post, 1);
	KUNIT_EXPECT_EQ(test, after->pre, 1);
	KUNIT_EXPECT_EQ(test, after->post, 1);
}
#endif
#endif /* CONFIG_X86 */

#if defined(CONFIG_X86) && defined(CONFIG_KPROBES_ON_FTRACE)
static void opcode_of_an_ftrace_site_is_the_original_one(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_traced);
	u8 first;

	/* An ENDBR may come before the site. */
	kpt_unregister(test, pr);
	first = *(u8 *)pr->kp.addr;
	pr->kp.opcode = 0;
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, pr->kp.opcode, first);
	KUNIT_EXPECT_NE(test, first, 0);
}
#endif

#if defined(CONFIG_RCU_TRACE) && defined(CONFIG_EVENT_TRACING)
static void event_off(void *unused)
{
	trace_set_clr_event("rcu", "rcu_watching", 0);
}

/*
 * On x86 and arm64, a breakpoint enters as an NMI for RCU, before kprobes find out that
 * it is a hit. Only on x86 is it one for in_nmi(), too.
 */
static void breakpoint_in_the_tracer_of_nmis_does_not_recurse(struct kunit *test)
{
	struct kpt_probe *pr, *plain;

	kpt_forbid_jumps(test);
	pr = kpt_alloc(test, NULL);
	pr->kp.symbol_name = "ring_buffer_lock_reserve";
	kpt_register(test, pr);
	plain = kpt_probe(test, kpt_plain);
	KUNIT_ASSERT_EQ(test, trace_set_clr_event("rcu", "rcu_watching", 1), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, event_off, NULL), 0);
	KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, plain->pre, 1);
	KUNIT_EXPECT_EQ(test, plain->kp.nmissed, 0ul);
	/* An interrupt of an idle CPU is traced. */
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(READ_ONCE(pr->pre)));
	kunit_release_action(test, event_off, NULL);
	kpt_unregister(test, pr);
	kpt_unregister(test, plain);
	kpt_allow_jumps(test);
}
#endif

#define SITE_CASE(fn)	KUNIT_CASE_PARAM(fn, kpt_site_gen)

static struct kunit_case hit_cases[] = {
	SITE_CASE(probe_gets_hit_once_per_call),
	SITE_CASE(pre_handler_gets_the_probe_it_belongs_to),
	SITE_CASE(pre_handler_sees_the_live_registers),
	SITE_CASE(stack_pointer_is_that_of_the_function),
#if defined(CONFIG_X86) && defined(CONFIG_KPROBES_ON_FTRACE)
	KUNIT_CASE(opcode_of_an_ftrace_site_is_the_original_one),
	KUNIT_CASE(handler_may_return_from_the_function),
	KUNIT_CASE(handler_may_return_from_a_function_that_is_traced),
#ifdef CONFIG_X86_64
	KUNIT_CASE(stack_pointer_that_cannot_be_is_ignored),
#endif
#ifdef CONFIG_FPROBE
	KUNIT_CASE(return_from_a_handler_may_be_hooked),
#endif
#endif
	SITE_CASE(ip_reads_one_after_the_probe_in_pre_handler),
	SITE_CASE(ip_is_the_next_instruction_in_post_handler),
	SITE_CASE(post_handler_runs_after_the_instruction),
	SITE_CASE(flags_show_no_single_stepping),
	SITE_CASE(handlers_run_with_preemption_off),
	SITE_CASE(handlers_see_interrupts_as_the_path_promises),
	SITE_CASE(interrupt_state_survives_a_hit),
	SITE_CASE(preempt_count_survives_a_hit),
	SITE_CASE(pre_handler_may_change_registers),
	SITE_CASE(later_pre_handlers_see_changed_registers),
	KUNIT_CASE(pre_handler_may_change_memory),
	SITE_CASE(nonzero_pre_handler_resumes_at_its_ip_without_post),
	SITE_CASE(nonzero_pre_handler_without_a_post_handler),
#ifdef CONFIG_X86
	SITE_CASE(post_handler_may_change_where_execution_goes_on),
#endif
	SITE_CASE(nonzero_pre_handler_skips_the_instruction),
#ifdef CONFIG_X86
	SITE_CASE(nonzero_pre_handler_that_sets_no_ip_runs_the_instruction),
	KUNIT_CASE(nonzero_pre_handler_may_skip_one_byte),
#endif
	SITE_CASE(several_probes_run_in_registration_order),
	SITE_CASE(several_probes_run_until_one_is_nonzero),
	SITE_CASE(post_handler_arrives_first),
	SITE_CASE(post_handler_arrives_in_the_middle),
	SITE_CASE(post_handler_arrives_last),
	SITE_CASE(several_post_handlers_all_run),
	SITE_CASE(disabled_post_probe_has_no_say),
	SITE_CASE(null_handlers_in_every_combination),
	SITE_CASE(null_handlers_in_every_pair_of_combinations),
	SITE_CASE(disable_and_unregister_reach_every_kind_of_site),
	SITE_CASE(handlers_run_on_all_cpus_at_once),
	KUNIT_CASE(functions_that_everybody_runs_can_be_probed),
	SITE_CASE(fault_in_pre_handler_is_fixed_up),
	SITE_CASE(fault_in_post_handler_is_fixed_up),
	SITE_CASE(user_access_in_a_handler_does_not_page_in),
	KUNIT_CASE(fault_is_fixed_up_with_a_probe_on_each_instruction),
#if defined(CONFIG_RCU_TRACE) && defined(CONFIG_EVENT_TRACING)
	KUNIT_CASE(breakpoint_in_the_tracer_of_nmis_does_not_recurse),
#endif
#ifdef CONFIG_X86
	KUNIT_CASE(page_fault_in_the_instruction_is_fixed_up),
	KUNIT_CASE(null_pointer_read_with_fixup),
	KUNIT_CASE(general_protection_in_the_instruction_is_fixed_up),
	KUNIT_CASE(divide_error_in_the_instruction_is_fixed_up),
	KUNIT_CASE(lock_that_is_not_allowed_raises_its_exception),
	KUNIT_CASE(bad_msr_in_the_instruction_is_fixed_up),
	KUNIT_CASE(bad_control_register_in_the_instruction_is_fixed_up),
	KUNIT_CASE(user_fault_in_the_instruction_is_fixed_up),
	KUNIT_CASE(user_fault_in_the_instruction_is_paged_in),
	KUNIT_CASE(own_breakpoint_and_ud2_of_the_text_are_refused),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(inside_an_ftrace_call_is_refused),
	KUNIT_CASE(after_an_ftrace_call_both_are_hit),
#endif
#endif
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite hit_suite = {
	.name = "kprobes_hit",
	.suite_init = kpt_suite_init,
	.init = kpt_case_init,
	.test_cases = hit_cases,
};

kunit_test_suite(hit_suite);

MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
