// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: points that are jumps on architectures with struct optimized_kprobe.
 * A jump behaves as the breakpoint did, and becomes a breakpoint again where it cannot
 * do so. The optimizer itself is tested on x86.
 */
#ifdef CONFIG_PPC
#include <asm/asm-compat.h>
#include <asm/hw_irq.h>
#endif

#include <linux/error-injection.h>

#include "fixture.h"

static bool is_jump(struct kpt_probe *pr)
{
	wait_for_kprobe_optimizer();
	return kprobe_optimized(&pr->kp);
}

static void expect_jump(struct kunit *test, struct kpt_probe *pr)
{
	KUNIT_ASSERT_TRUE_MSG(test, is_jump(pr), "%s", kpt_jump_reason(test, &pr->kp));
}

static void call(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
}

static void jump_is_hit_once_per_call(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_plain);
	unsigned int i;

	expect_jump(test, pr);
	for (i = 1; i <= 100; i++) {
		call(test);
		KUNIT_ASSERT_EQ(test, pr->pre, i);
	}
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
	KUNIT_EXPECT_FALSE(test, pr->preemptible);
	KUNIT_EXPECT_EQ(test, instruction_pointer(&pr->pre_regs),
			(unsigned long)pr->kp.addr);
#ifdef CONFIG_HAVE_FUNCTION_ARG_ACCESS_API
	KUNIT_EXPECT_EQ(test, regs_get_kernel_argument(&pr->pre_regs, 0), 7ul);
#endif
}

static void count_waits(enum kprobe_stage stage, void *arg)
{
	if (stage == KPROBE_STAGE_DIVERTED)
		++*(unsigned int *)arg;
}

/* The jump replaces a single instruction, so no task can be preempted inside it. */
static void jump_waits_for_no_task(struct kunit *test)
{
	unsigned int *waits = kunit_kzalloc(test, sizeof(*waits), GFP_KERNEL);
	struct kpt_probe *pr;

	KUNIT_ASSERT_NOT_NULL(test, waits);
	kpt_watch_stages(test, count_waits, waits);
	pr = kpt_probe(test, kpt_plain);
	expect_jump(test, pr);
	kpt_unwatch_stages(test);
	KUNIT_EXPECT_EQ(test, *waits, 0);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

static void allow_detours(void *unused)
{
	WRITE_ONCE(kprobe_test_no_detours, false);
}

static void point_without_memory_becomes_a_jump_later(struct kunit *test)
{
	struct kpt_probe *pr;

	KUNIT_ASSERT_EQ(test, kunit_add_action(test, allow_detours, NULL), 0);
	WRITE_ONCE(kprobe_test_no_detours, true);
	pr = kpt_probe(test, kpt_plain);
	KUNIT_EXPECT_FALSE(test, is_jump(pr));
	if (kpt_debugfs.mnt)
		KUNIT_EXPECT_NOT_NULL(test, strstr(kpt_reason_between_tries(test, &pr->kp),
						   "out of memory"));
	call(test);
	kunit_release_action(test, allow_detours, NULL);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(kprobe_optimized(&pr->kp)));
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
}

static void probes_that_share_a_jump_all_run(struct kunit *test)
{
	struct kpt_probe *pr[3];
	unsigned int i, n, detours;

	for (n = 0; n < 3; n++) {
		pr[n] = kpt_probe(test, kpt_plain);
		expect_jump(test, pr[n]);
		call(test);
	}
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, pr[i]->pre, 3 - i);
	/* And remove them again, one by one. The detour stays until the last of them goes. */
	detours = kpt_counts(true).detours.live;
	for (n = 0; n < 3; n++) {
		kpt_unregister(test, pr[n]);
		KUNIT_EXPECT_EQ(test, kpt_counts(true).detours.live, detours - (n == 2));
		call(test);
		for (i = 0; i < 3; i++)
			KUNIT_EXPECT_EQ(test, pr[i]->pre, 3 - i + min(i, n + 1));
	}
}

/* A detour does not run post-handlers. */
static void post_handler_turns_a_jump_into_a_breakpoint(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_plain), *post;

	expect_jump(test, pr);
	post = kpt_probe_post(test, kpt_plain);
	KUNIT_EXPECT_FALSE(test, kprobe_optimized(&pr->kp));
	KUNIT_EXPECT_FALSE(test, is_jump(post));
	if (kpt_debugfs.mnt)
		KUNIT_EXPECT_NOT_NULL(test, strstr(kpt_jump_reason(test, &pr->kp),
						   "a handler may continue elsewhere"));
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, post->pre, 1);
	KUNIT_EXPECT_EQ(test, post->post, 1);

	/* Once nothing prevents it, the point is a jump again. */
	kpt_unregister(test, post);
	expect_jump(test, pr);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
}

static void switched_off_jump_leaves_the_text_as_it_was(struct kunit *test)
{
	unsigned char before[16], *text = kpt_text(kpt_plain);
	struct kpt_probe *pr;

	memcpy(before, text, sizeof(before));
	pr = kpt_probe(test, kpt_plain);
	expect_jump(test, pr);
	KUNIT_EXPECT_TRUE(test, memcmp(before, text, sizeof(before)));
	KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_MEMEQ(test, before, text, sizeof(before));
	KUNIT_EXPECT_FALSE(test, is_jump(pr));
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);

	KUNIT_ASSERT_EQ(test, enable_kprobe(&pr->kp), 0);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	expect_jump(test, pr);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	kpt_unregister(test, pr);
	KUNIT_EXPECT_MEMEQ(test, before, text, sizeof(before));
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
}

static int calls_it_again(struct kpt_probe *pr, struct pt_regs *regs)
{
	kpt_plain(1);
	return 0;
}

static void jump_taken_in_a_handler_is_missed(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, kpt_plain);

	pr->on_pre = calls_it_again;
	kpt_register(test, pr);
	expect_jump(test, pr);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 1ul);
}

#define NR_CALLERS	2
#define NR_ROUNDS	20

static int keep_calling(void *wrong)
{
	unsigned long i;

	for (i = 0; !kthread_should_stop(); i++) {
		if (kpt_plain(i) != KPT_RESULT(i))
			atomic_inc(wrong);
		if (!(i % 64))
			cond_resched_tasks_rcu_qs();
	}
	return 0;
}

/* A task may be preempted anywhere in a detour while its point is removed. */
static void points_come_and_go_under_callers(struct kunit *test)
{
	atomic_t *wrong = kunit_kzalloc(test, sizeof(*wrong), GFP_KERNEL);
	struct kpt_probe *pr;
	unsigned int i, jumps = 0;

	KUNIT_ASSERT_NOT_NULL(test, wrong);
	/* More callers than CPUs, so that they preempt each other. */
	for (i = 0; i < NR_CALLERS * num_online_cpus(); i++)
		kpt_thread(test, keep_calling, wrong, -1, "caller");
	for (i = 0; i < NR_ROUNDS; i++) {
		pr = kpt_probe(test, kpt_plain);
		if (i % 2)
			jumps += is_jump(pr);
		else
			usleep_range(1000, 100000);
		kpt_unregister(test, pr);
	}
	KUNIT_EXPECT_EQ(test, jumps, NR_ROUNDS / 2);
	KUNIT_EXPECT_EQ(test, atomic_read(wrong), 0);
}

static int count_task_waits(struct kprobe *p, struct pt_regs *regs)
{
	struct kpt_probe *pr = container_of(p, struct kpt_probe, kp);

	pr->pre += current == pr->arg;
	return 0;
}

/* A task that was preempted in the detour still uses the point. */
static void point_of_a_jump_is_freed_after_its_tasks_have_left(struct kunit *test)
{
	struct kpt_probe *frees = kpt_alloc(test, NULL), *pr;

	frees->kp.symbol_name = "call_rcu_tasks";
	frees->kp.pre_handler = count_task_waits;
	frees->arg = current;
	kpt_register(test, frees);
	pr = kpt_probe(test, kpt_plain);
	expect_jump(test, pr);
	kpt_unregister(test, pr);
	KUNIT_EXPECT_EQ(test, frees->pre, 1);

	/* It was never a jump. */
	pr = kpt_probe_post(test, kpt_plain);
	KUNIT_EXPECT_FALSE(test, is_jump(pr));
	kpt_unregister(test, pr);
	KUNIT_EXPECT_EQ(test, frees->pre, 1);
}

/* Detours are copies of a template; on powerpc they lie in the kernel's own text. */
static void text_that_detours_are_made_of_is_refused(struct kunit *test)
{
	static const char *const labels[] = {
		"optprobe_template_entry",
#ifdef CONFIG_ARM
		"optprobe_template_add_sp", "optprobe_template_restore_begin",
		"optprobe_template_restore_end", "optprobe_template_val",
		"optprobe_template_call",
#else
		"optprobe_template_op_address", "optprobe_template_call_handler",
		"optprobe_template_insn", "optprobe_template_call_emulate",
		"optprobe_template_ret", "optinsn_slot",
#endif
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(labels); i++)
		KUNIT_EXPECT_TRUE_MSG(test, kpt_all_refused(test, labels[i], 4), "no %s",
				      labels[i]);
}

#ifdef CONFIG_PPC
extern kprobe_opcode_t kpt_sp_addi[], kpt_sp_add[], kpt_sp_mr[], kpt_sp_mflr[];

/*
 * sp_NAME() runs an instruction, at kpt_sp_NAME, that restores the stack pointer, and
 * returns how far off that is. A wrong stack pointer is not used.
 */
#define STACK_USER(name, before, insn)					\
static noinline notrace long sp_##name(void)				\
{									\
	long sp, off;							\
									\
	asm volatile("mr	%0, 1\n\t"				\
		     PPC_STLU "	1, -1024(1)\n\t"			\
		     before "\n"					\
		     ".globl kpt_sp_" #name "\n"			\
		     "kpt_sp_" #name ":	" insn "\n\t"			\
		     "subf	%1, %0, 1\n\t"				\
		     "mr	1, %0"					\
		     : "=&r" (sp), "=&r" (off) : : "r0", "lr", "memory"); \
	return off;							\
}

STACK_USER(addi, "", "addi	1, 1, 1024")
STACK_USER(add, "li	0, 1024", "add	1, 1, 0")
STACK_USER(mr, "", "mr	1, %0")
STACK_USER(mflr, "mtlr	%0", "mflr	1")

/* A detour removes its own frame at its end: a value written to r1 would be lost. */
static void instruction_that_moves_the_stack_is_no_jump(struct kunit *test)
{
	static const struct {
		const char *name;
		kprobe_opcode_t *addr;
		long (*fn)(void);
	} insns[] = {
		{ "addi", kpt_sp_addi, sp_addi },
		{ "add", kpt_sp_add, sp_add },
		{ "mr", kpt_sp_mr, sp_mr },
		{ "mflr", kpt_sp_mflr, sp_mflr },
	};
	struct kpt_probe *pr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(insns); i++) {
		KUNIT_EXPECT_EQ_MSG(test, insns[i].fn(), 0l, "%s", insns[i].name);
		pr = kpt_probe(test, insns[i].addr);
		KUNIT_EXPECT_FALSE_MSG(test, is_jump(pr), "%s", insns[i].name);
		KUNIT_EXPECT_EQ_MSG(test, insns[i].fn(), 0l, "%s", insns[i].name);
		KUNIT_EXPECT_EQ_MSG(test, pr->pre, 1, "%s", insns[i].name);
	}
}

extern kprobe_opcode_t kpt_links[];

/* How far the return address of a call is from the call. Nothing returns to it. */
static noinline notrace unsigned long links(void)
{
	unsigned long lr;

	asm volatile(".globl kpt_links\n"
		     "kpt_links:\n"
		     "0:	bl	1f\n"
		     "1:	mflr	%0\n\t"
		     /* Like ANNOTATE_INTRA_FUNCTION_CALL, which is for assembly. */
		     ".pushsection .discard.intra_function_calls\n\t"
		     ".long	0b\n\t"
		     ".popsection" : "=r" (lr) : : "lr");
	return lr - (unsigned long)kpt_links;
}

#define LINKS	4ul

static int calls_links(struct kpt_probe *pr, struct pt_regs *regs)
{
	*(unsigned long *)pr->arg = links();
	return 0;
}

/* The call is emulated, even if no handler runs. */
static void missed_jump_on_a_call_returns_after_it(struct kunit *test)
{
	unsigned long *linked = kunit_kzalloc(test, sizeof(*linked), GFP_KERNEL);
	struct kpt_probe *pr = kpt_alloc(test, kpt_plain), *missed;

	KUNIT_ASSERT_NOT_NULL(test, linked);
	pr->on_pre = calls_links;
	pr->arg = linked;
	kpt_register(test, pr);
	missed = kpt_probe(test, kpt_links);
	expect_jump(test, missed);
	call(test);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, missed->pre, 0);
	KUNIT_EXPECT_EQ(test, missed->kp.nmissed, 1ul);
	KUNIT_EXPECT_EQ(test, *linked, LINKS);
	KUNIT_EXPECT_EQ(test, links(), LINKS);
	KUNIT_EXPECT_EQ(test, missed->pre, 1);
}

/* At this stage, the point is disabled and still a jump. */
static void call_links_while_leaving(enum kprobe_stage stage, void *linked)
{
	if (stage == KPROBE_STAGE_LEAVING)
		*(unsigned long *)linked = links();
}

static void jump_on_a_call_returns_after_it_while_its_probe_leaves(struct kunit *test)
{
	unsigned long *linked = kunit_kzalloc(test, sizeof(*linked), GFP_KERNEL);
	struct kpt_probe *pr = kpt_probe(test, kpt_links);

	KUNIT_ASSERT_NOT_NULL(test, linked);
	expect_jump(test, pr);
	kpt_watch_stages(test, call_links_while_leaving, linked);
	kpt_unregister(test, pr);
	kpt_unwatch_stages(test);
	KUNIT_EXPECT_EQ(test, *linked, LINKS);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_EXPECT_EQ(test, links(), LINKS);
}
#endif /* CONFIG_PPC */

#ifdef CONFIG_PPC64
extern kprobe_opcode_t kpt_keeps_paca[];

/* How far the PACA is from what it was before an instruction. */
static noinline notrace unsigned long paca_moves(void)
{
	unsigned long before, after;

	asm volatile("mr	%0, 13\n"
		     ".globl kpt_keeps_paca\n"
		     "kpt_keeps_paca:	nop\n\t"
		     "mr	%1, 13\n\t"
		     "mr	13, %0" : "=&r" (before), "=&r" (after) : : "memory");
	return after - before;
}

static int saves_another_paca(struct kpt_probe *pr, struct pt_regs *regs)
{
	regs->gpr[13] += PAGE_SIZE;
	return 0;
}

/*
 * A task that is preempted in a detour, and continues on another CPU, has the first CPU's
 * PACA among its saved registers.
 */
static void detour_keeps_the_paca_of_the_cpu_that_leaves_it(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, kpt_keeps_paca);
	unsigned long flags, moved;

	pr->on_pre = saves_another_paca;
	kpt_register(test, pr);
	expect_jump(test, pr);
	/* No interrupt may use a wrong PACA. */
	local_irq_save(flags);
	hard_irq_disable();
	moved = paca_moves();
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, moved, 0ul);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_TRUE(test, pr->irqs_off);
}
#endif

#ifdef CONFIG_FUNCTION_ERROR_INJECTION
static noinline notrace unsigned long kpt_may_fail(unsigned long arg)
{
	OPTIMIZER_HIDE_VAR(arg);
	barrier();
	return KPT_RESULT(arg);
}
ALLOW_ERROR_INJECTION(kpt_may_fail, ERRNO);

static int pre_injects_an_error(struct kpt_probe *pr, struct pt_regs *regs)
{
	regs_set_return_value(regs, -ENOMEM);
	override_function_with_return(regs);
	return 1;
}

/* Events and BPF programs that inject errors have no post-handler. */
static void error_is_injected_however_long_the_probe_is_there(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, kpt_text(kpt_may_fail));
	unsigned int i;

	KUNIT_ASSERT_EQ(test, kpt_may_fail(7), KPT_RESULT(7ul));
	pr->on_pre = pre_injects_an_error;
	kpt_register(test, pr);
	for (i = 1; i <= 2; i++) {
		KUNIT_EXPECT_EQ(test, (long)kpt_may_fail(7), -ENOMEM);
		KUNIT_EXPECT_EQ(test, pr->pre, i);
		KUNIT_EXPECT_FALSE(test, is_jump(pr));
	}
}
#endif

static struct kunit_case optinsn_cases[] = {
	KUNIT_CASE(jump_is_hit_once_per_call),
	KUNIT_CASE(jump_waits_for_no_task),
	KUNIT_CASE(point_without_memory_becomes_a_jump_later),
	KUNIT_CASE(probes_that_share_a_jump_all_run),
	KUNIT_CASE(post_handler_turns_a_jump_into_a_breakpoint),
#ifdef CONFIG_FUNCTION_ERROR_INJECTION
	KUNIT_CASE(error_is_injected_however_long_the_probe_is_there),
#endif
	KUNIT_CASE(switched_off_jump_leaves_the_text_as_it_was),
	KUNIT_CASE(jump_taken_in_a_handler_is_missed),
	KUNIT_CASE(points_come_and_go_under_callers),
	KUNIT_CASE(point_of_a_jump_is_freed_after_its_tasks_have_left),
	KUNIT_CASE(text_that_detours_are_made_of_is_refused),
#ifdef CONFIG_PPC
	KUNIT_CASE(instruction_that_moves_the_stack_is_no_jump),
	KUNIT_CASE(missed_jump_on_a_call_returns_after_it),
	KUNIT_CASE(jump_on_a_call_returns_after_it_while_its_probe_leaves),
#endif
#ifdef CONFIG_PPC64
	KUNIT_CASE(detour_keeps_the_paca_of_the_cpu_that_leaves_it),
#endif
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite optinsn_suite = {
	.name = "kprobes_optinsn",
	.suite_init = kpt_suite_init,
	.init = kpt_case_init,
	.test_cases = optinsn_cases,
};

kunit_test_suite(optinsn_suite);
