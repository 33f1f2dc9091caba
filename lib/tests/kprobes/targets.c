// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions that the kprobes suites probe.
 *
 * They are in a separate file, so that the compiler does not know the callees.
 */
#include <linux/compiler.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/stacktrace.h>
#include <linux/vmalloc.h>

#include "fixture.h"
#if defined(CONFIG_X86) && defined(CONFIG_UNWINDER_ORC)
#include <asm/unwind.h>
#endif

notrace KPT_FUNCTION(plain, KPT_RESULT(arg))
kpt_traceable KPT_FUNCTION(traced, KPT_RESULT(arg))
notrace KPT_FUNCTION(plain2, KPT_RESULT(arg))
kpt_traceable KPT_FUNCTION(traced2, KPT_RESULT(arg))
notrace KPT_FUNCTION(elsewhere, KPT_ELSEWHERE(arg))

/*
 * The first instruction must not be a branch, which the compiler would choose if the
 * function began with a test: QEMU 7.2 for s390 seems to continue after a branch that is
 * taken when it single-steps one. So the function uses the stack first.
 */
noinline notrace unsigned long kpt_recurse(unsigned long depth)
{
	unsigned long left = depth, below;

	barrier_data(&left);
	if (!left)
		return 0;
	below = kpt_recurse(left - 1);
	barrier();
	return below + 1;
}

noinline notrace unsigned long kpt_recurse_waits(unsigned long depth,
						 struct completion *gate, atomic_t *inside)
{
	unsigned long left = depth, below;

	barrier_data(&left);	/* as above */
	if (!left) {
		atomic_inc(inside);
		wait_for_completion(gate);
		return 0;
	}
	below = kpt_recurse_waits(left - 1, gate, inside);
	barrier();
	return below + 1;
}

noinline notrace unsigned long kpt_count_down(unsigned long n)
{
	unsigned long sum = 0;

	while (n) {
		if (n & 1)
			sum += n;
		OPTIMIZER_HIDE_VAR(sum);
		n--;
	}
	return sum;
}

noinline notrace unsigned long kpt_count_up(unsigned long n)
{
	unsigned long i, sum = 1;

	for (i = 0; i != n; i++) {
		sum = sum * 3 + i;
		OPTIMIZER_HIDE_VAR(sum);
	}
	return sum;
}

noinline notrace unsigned long kpt_ret_wanders(unsigned long arg)
{
	unsigned int cpu = cpumask_next(raw_smp_processor_id(), cpu_online_mask);

	if (cpu >= nr_cpu_ids)
		cpu = cpumask_first(cpu_online_mask);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	return KPT_RESULT(arg);
}

noinline notrace unsigned long kpt_ret_where(unsigned long to)
{
	/* Where a call returns to is not what a call saves on every architecture. */
	*(unsigned long *)to =
		(unsigned long)__builtin_extract_return_addr(__builtin_return_address(0));
	barrier();
	return 0;
}

noinline notrace unsigned long kpt_ret_calls_both(unsigned long arg)
{
	unsigned long a = kpt_plain(arg);
	unsigned long b = kpt_traced(arg + 1);

	barrier();
	return a + b;
}

noinline notrace unsigned long kpt_ret_wraps(unsigned long arg)
{
	unsigned long ret = kpt_plain(arg);

	barrier();
	return ret;
}

noinline notrace unsigned long kpt_ret_sleeps(unsigned long ms)
{
	msleep(ms);
	return KPT_RESULT(ms);
}

noinline notrace unsigned long kpt_ret_exits(unsigned long leave)
{
	unsigned long done = leave;

	barrier_data(&done);	/* as in kpt_recurse() */
	if (done)
		kthread_complete_and_exit((struct completion *)done, 0);
	return 1;
}

noinline notrace unsigned long kpt_many_c(KPT_MANY_PARAMS)
{
	barrier();
	return kpt_many_result(a, b, c, d, e, f, g, h, i, j);
}

noinline kpt_traceable unsigned long kpt_many_traced(KPT_MANY_PARAMS)
{
	barrier();
	return kpt_many_result(a, b, c, d, e, f, g, h, i, j);
}

asmlinkage noinline notrace unsigned long kpt_many_asmlinkage(KPT_MANY_PARAMS)
{
	barrier();
	return kpt_many_result(a, b, c, d, e, f, g, h, i, j);
}

noinline notrace unsigned long kpt_bulky(unsigned long a, struct kpt_bulk bulk,
					 unsigned long b)
{
	unsigned long sum = a ^ b;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bulk.word); i++)
		sum = sum * 3 + bulk.word[i];
	return sum;
}

#ifdef CONFIG_STACKTRACE
noinline notrace unsigned long kpt_ret_trace_inner(unsigned long to)
{
	struct kpt_trace *trace = (struct kpt_trace *)to;

	trace->nr = stack_trace_save(trace->entries, KPT_TRACE_LEN, 0);
	return trace->nr;
}

noinline notrace unsigned long kpt_ret_trace_outer(unsigned long to)
{
	unsigned long nr = kpt_ret_trace_inner(to);

	barrier();
	return nr + 1;
}
#endif

#if defined(CONFIG_X86) && defined(CONFIG_UNWINDER_ORC)
bool kpt_walk(struct kpt_trace *trace, struct pt_regs *regs)
{
	struct unwind_state state;

	trace->nr = 0;
	/* A walk that is given registers begins after them. */
	if (regs)
		trace->entries[trace->nr++] = regs->ip;
	for (unwind_start(&state, current, regs, NULL);
	     !unwind_done(&state) && trace->nr < KPT_TRACE_LEN;
	     unwind_next_frame(&state))
		trace->entries[trace->nr++] = unwind_get_return_address(&state);
	return !unwind_error(&state);
}
#endif

static const struct kpt_site kpt_sites[] = {
#ifdef CONFIG_X86
	{
		.name = "function entry",
		.fn = kpt_asm_entry,
		.at = ENDBR_INSN_SIZE,
		.next = ENDBR_INSN_SIZE + KPT_ASM_LEA_SIZE,
	}, {
		.name = "inside a function",
		.fn = kpt_asm_inside,
		.offset = ENDBR_INSN_SIZE + KPT_ASM_CLEAR_SIZE,
		.at = ENDBR_INSN_SIZE + KPT_ASM_CLEAR_SIZE,
		.next = ENDBR_INSN_SIZE + KPT_ASM_CLEAR_SIZE + KPT_ASM_LEA_SIZE,
	},
#else
	{ .name = "function entry", .fn = kpt_plain },
#endif
#ifdef CONFIG_KPROBES_ON_FTRACE
	{
		.name = "ftrace site",
		.fn = kpt_traced,
#ifdef CONFIG_X86
		.at = ENDBR_INSN_SIZE,
		.next = ENDBR_INSN_SIZE + MCOUNT_INSN_SIZE,
#endif
		.ftrace = true,
	},
#endif
};

const void *kpt_site_gen(const void *prev, char *desc)
{
	const struct kpt_site *site = prev;

	site = site ? site + 1 : kpt_sites;
	if (site == kpt_sites + ARRAY_SIZE(kpt_sites))
		return NULL;
	strscpy(desc, site->name, KUNIT_PARAM_DESC_SIZE);
	return site;
}

const void *kpt_entry_site_gen(const void *prev, char *desc)
{
	const struct kpt_site *site = prev;

	do {
		site = kpt_site_gen(site, desc);
	} while (site && site->offset);
	return site;
}

static const char *const states[] = {
	[KPT_BREAKPOINT] = "breakpoint",
#ifdef CONFIG_OPTPROBES
	[KPT_JUMP] = "jump",
#endif
#ifdef CONFIG_KPROBES_ON_FTRACE
	[KPT_FTRACE] = "ftrace site",
#endif
};

const void *kpt_state_gen(const void *prev, char *desc)
{
	const char *const *state = prev;

	do {
		state = state ? state + 1 : states;
		if (state == states + ARRAY_SIZE(states))
			return NULL;
	} while (!*state);
	strscpy(desc, *state, KUNIT_PARAM_DESC_SIZE);
	return state;
}

const void *kpt_displaced_state_gen(const void *prev, char *desc)
{
	const char *const *state = kpt_state_gen(prev, desc);

	return state && state - states != KPT_FTRACE ? state : NULL;
}

enum kpt_state kpt_state(struct kunit *test)
{
	return (const char *const *)test->param_value - states;
}

void kpt_settle(struct kunit *test, struct kprobe *kp)
{
	enum kpt_state state = kpt_state(test);

	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_EQ_MSG(test, kprobe_optimized(kp), state == KPT_JUMP, "%s",
			    kpt_jump_reason(test, kp));
	KUNIT_ASSERT_EQ(test, kprobe_ftrace(kp), state == KPT_FTRACE);
}

static void vfree_action(void *p)
{
	vfree(p);
}

/* The address is in the guard page after an area. */
void *kpt_bad_address(struct kunit *test)
{
	void *area = vmalloc(PAGE_SIZE);

	KUNIT_ASSERT_NOT_NULL(test, area);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, vfree_action, area), 0);
	return area + PAGE_SIZE;
}

MODULE_DESCRIPTION("KUnit suites for kprobes");
MODULE_LICENSE("GPL");
