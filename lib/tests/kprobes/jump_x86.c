// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: probes that are hit through a jump. Tests when a breakpoint becomes a
 * jump, when it must not, and that nothing else changes.
 */
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <linux/stacktrace.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <asm/ibt.h>
#include <asm/processor-flags.h>
#include <asm/text-patching.h>

#include "../../../arch/x86/kernel/kprobes/detour.h"
#include "insn_x86.h"
#include "jump_x86.h"
#include "watch_x86.h"

#define AT(name)	KPT_JUMP_AT(name)

static unsigned char text_at(const void *addr)
{
	return READ_ONCE(*(const unsigned char *)addr);
}

static bool is_jump(const void *addr)
{
	return text_at(addr) == JMP32_INSN_OPCODE;
}

/* The text and the flags of the probe must agree. */
static void expect_jump(struct kunit *test, struct kpt_probe *pr)
{
	KUNIT_EXPECT_TRUE_MSG(test, kprobe_optimized(&pr->kp), "%s",
			      kpt_jump_reason(test, &pr->kp));
	KUNIT_EXPECT_TRUE_MSG(test, is_jump(pr->kp.addr), "%pS", pr->kp.addr);
}

static void expect_no_jump(struct kunit *test, struct kpt_probe *pr)
{
	KUNIT_EXPECT_FALSE_MSG(test, kprobe_optimized(&pr->kp), "%pS", pr->kp.addr);
	KUNIT_EXPECT_EQ_MSG(test, text_at(pr->kp.addr), INT3_INSN_OPCODE, "%pS",
			    pr->kp.addr);
}

/* The end of a line of kprobes/points, after two blanks. */
static const char *last_column(const char *line)
{
	const char *at = line, *next;

	while ((next = strstr(at, "  ")))
		at = next + 2;
	return at;
}

/* The reason may be followed by where the branch is. */
static void expect_no_jump_because(struct kunit *test, struct kpt_probe *pr, const char *why)
{
	const char *line;

	expect_no_jump(test, pr);
	if (!kpt_debugfs.mnt)
		return;
	line = kpt_jump_reason(test, &pr->kp);
	KUNIT_EXPECT_TRUE_MSG(test, str_has_prefix(last_column(line), why), "%s", line);
}

/* A probe that has become a jump. */
static struct kpt_probe *settle(struct kunit *test, struct kpt_probe *pr)
{
	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE_MSG(test, kprobe_optimized(&pr->kp), "%s",
			      kpt_jump_reason(test, &pr->kp));
	return pr;
}

/* For cases that hit a probe as a breakpoint, and then as a jump. */
static void set_as(struct kunit *test, struct kpt_probe *pr, bool jump)
{
	if (jump) {
		kpt_allow_jumps(test);
		expect_jump(test, pr);
	} else {
		kpt_forbid_jumps(test);
		kpt_register(test, pr);
		expect_no_jump(test, pr);
	}
}

static struct kpt_probe *jump_probe(struct kunit *test, void *addr)
{
	return settle(test, kpt_alloc(test, addr));
}

static struct kpt_probe *jump_probe_post(struct kunit *test, void *addr)
{
	return settle(test, kpt_alloc_with(test, addr, true, true));
}

/*
 * A probe that must not become a jump, and works nevertheless. If this were inlined, it
 * would call each function directly, and objtool would follow the function to its end.
 */
static noinline void check_stays_breakpoint(struct kunit *test, void *addr, kpt_fn_t fn,
					    const char *why)
{
	struct kpt_probe *pr = kpt_probe(test, addr);

	wait_for_kprobe_optimizer();
	expect_no_jump_because(test, pr, why);
	/* A branch into the middle of a jump would crash. */
	KUNIT_ASSERT_FALSE(test, is_jump(addr));
	KUNIT_EXPECT_EQ(test, fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

static void check_becomes_jump(struct kunit *test, void *addr, kpt_fn_t fn,
			       unsigned int hits)
{
	struct kpt_probe *pr = jump_probe(test, addr);

	expect_jump(test, pr);
	KUNIT_EXPECT_EQ(test, fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, hits);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
}

/* --- Becoming a jump ----------------------------------------------------- */

static void text_becomes_a_jump_soon_after_registration(struct kunit *test)
{
	unsigned char before[16], after[16];
	struct kpt_probe *pr;
	unsigned int i;

	memcpy(before, AT(two), sizeof(before));
	pr = kpt_probe(test, AT(two));
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	/* It becomes a jump by itself. */
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(is_jump(AT(two))));
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	memcpy(after, AT(two), sizeof(after));
	KUNIT_EXPECT_MEMEQ(test, before + KPT_JUMP_SIZE, after + KPT_JUMP_SIZE,
			   sizeof(before) - KPT_JUMP_SIZE);
	for (i = 0; i < 100; i++)
		KUNIT_ASSERT_EQ(test, kpt_jump_two(i), KPT_RESULT((unsigned long)i));
	KUNIT_EXPECT_EQ(test, pr->pre, 101);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
}

static void instruction_of_five_bytes_alone_becomes_one(struct kunit *test)
{
	check_becomes_jump(test, AT(alone), kpt_jump_alone, 1);
}

/* The jump replaces the instruction and nothing else. */
static void five_bytes_need_no_view_of_the_function(struct kunit *test)
{
	check_becomes_jump(test, AT(five_shared), kpt_jump_five_shared, 1);
}

static void branch_to_the_first_byte_is_no_obstacle(struct kunit *test)
{
	check_becomes_jump(test, AT(loop), kpt_jump_loop, 3);
}

static void padding_after_a_return_is_room_enough(struct kunit *test)
{
	check_becomes_jump(test, AT(padded), kpt_jump_padded, 1);
	check_becomes_jump(test, AT(padded_nop), kpt_jump_padded_nop, 1);
#ifdef CONFIG_X86_32
	check_becomes_jump(test, AT(padded_lea), kpt_jump_padded_lea, 1);
	/* This one does something. */
	check_stays_breakpoint(test, AT(padded_no_lea), kpt_jump_padded_no_lea,
			       "the function ends");
#endif
}

/* Removing it would write into the jump. */
static void probe_in_the_padding_after_a_return_refuses(struct kunit *test)
{
	struct kpt_probe *inside = kpt_probe(test, AT(padded_nop) + 1);
	struct kpt_probe *pr = kpt_probe(test, AT(padded_nop));

	wait_for_kprobe_optimizer();
	expect_no_jump_because(test, pr, "another probe is inside");
	kpt_unregister(test, inside);
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_padded_nop(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

static void bytes_on_two_pages_become_one(struct kunit *test)
{
	check_becomes_jump(test, AT(pages), kpt_jump_pages, 1);
}

static void displaced_call_returns_into_the_function(struct kunit *test)
{
	struct kpt_probe *pr = jump_probe_post(test, AT(calls));

	KUNIT_EXPECT_EQ(test, kpt_jump_calls(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
}

static int note_return_address(struct kpt_probe *pr, struct pt_regs *regs)
{
	pr->arg = (void *)*(unsigned long *)kernel_stack_pointer(regs);
	return 0;
}

static void displaced_call_leaves_the_true_return_address(struct kunit *test)
{
	struct kpt_probe *callee = kpt_alloc(test, kpt_jump_traced);

	callee->on_pre = note_return_address;
	kpt_register(test, callee);
	jump_probe(test, AT(calls));
	KUNIT_EXPECT_EQ(test, kpt_jump_calls(7), KPT_RESULT(7ul));
	/* After the NOP of one byte and the call. */
	KUNIT_EXPECT_PTR_EQ(test, callee->arg, (void *)(AT(calls) + 1 + CALL_INSN_SIZE));
}

static void disabled_at_registration_becomes_one_when_enabled(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, AT(two));
	unsigned char before[KPT_JUMP_SIZE];

	memcpy(before, AT(two), sizeof(before));
	pr->kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_MEMEQ(test, before, AT(two), sizeof(before));
	KUNIT_ASSERT_EQ(test, enable_kprobe(&pr->kp), 0);
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

/* --- What keeps a point from becoming one -------------------------------- */

static void branch_target_inside_refuses(struct kunit *test)
{
	check_stays_breakpoint(test, AT(target), kpt_jump_target, "a branch leads inside");
}

/* Without the prefix, some of their opcodes would be branches. */
static void vector_instructions_do_not_branch(struct kunit *test)
{
	struct kpt_probe *pr;
	unsigned int i;

	for (i = 0; i < KPT_VECTORS; i++) {
		pr = kpt_probe(test, (char *)kpt_vector + kpt_vector_at + i * sizeof(u32));
		wait_for_kprobe_optimizer();
		expect_jump(test, pr);
		kpt_unregister(test, pr);
	}
	KUNIT_EXPECT_EQ(test, kpt_vector(7), KPT_RESULT(7ul));
}

/* At each of the inner bytes, and right after them. */
static void branch_target_at_each_inner_byte_refuses(struct kunit *test)
{
	const struct kpt_jump_target inner[] = {
		KPT_JUMP_AND_AT(inner1), KPT_JUMP_AND_AT(inner2), KPT_JUMP_AND_AT(inner3),
		KPT_JUMP_AND_AT(inner4),
	};
	struct kpt_probe *pr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(inner); i++) {
		pr = kpt_probe(test, inner[i].addr);
		wait_for_kprobe_optimizer();
		expect_no_jump_because(test, pr, "a branch leads inside: kpt_jump_inner");
		KUNIT_ASSERT_FALSE(test, is_jump(inner[i].addr));
		/* The branch leads inside twice, but only the first pass hits the probe. */
		KUNIT_EXPECT_EQ(test, inner[i].fn(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, pr->pre, 1);
	}
	check_becomes_jump(test, AT(inner5), kpt_jump_inner5, 1);
}

/* The rest of a long instruction may be one itself, reached by a branch. */
static void branch_target_inside_a_long_first_instruction_refuses(struct kunit *test)
{
	const struct kpt_jump_target overlap[] = {
		KPT_JUMP_AND_AT(overlap1), KPT_JUMP_AND_AT(overlap2),
		KPT_JUMP_AND_AT(overlap3), KPT_JUMP_AND_AT(overlap4),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(overlap); i++)
		check_stays_breakpoint(test, overlap[i].addr, overlap[i].fn,
				       "a branch leads inside: kpt_jump_overlap");
	/* It leads to right after the jump. */
	check_becomes_jump(test, AT(overlap5), kpt_jump_overlap5, 1);
}

/* The text of a function is read in pieces: x86_text_insn(). */
static void branch_at_the_end_of_what_is_read_at_once_is_found(struct kunit *test)
{
	const struct kpt_jump_target away[] = {
		KPT_JUMP_AND_AT(away108), KPT_JUMP_AND_AT(away109), KPT_JUMP_AND_AT(away110),
		KPT_JUMP_AND_AT(away111), KPT_JUMP_AND_AT(away112), KPT_JUMP_AND_AT(away113),
		KPT_JUMP_AND_AT(away114), KPT_JUMP_AND_AT(away115), KPT_JUMP_AND_AT(away116),
		KPT_JUMP_AND_AT(away117), KPT_JUMP_AND_AT(away118), KPT_JUMP_AND_AT(away119),
		KPT_JUMP_AND_AT(away120), KPT_JUMP_AND_AT(away121), KPT_JUMP_AND_AT(away122),
		KPT_JUMP_AND_AT(away123), KPT_JUMP_AND_AT(away124), KPT_JUMP_AND_AT(away125),
		KPT_JUMP_AND_AT(away126), KPT_JUMP_AND_AT(away127), KPT_JUMP_AND_AT(away128),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(away); i++)
		check_stays_breakpoint(test, away[i].addr, away[i].fn,
				       "a branch leads inside: kpt_jump_away");
}

/* The address given is that of the branch, not that of its target. */
static void branch_that_leads_inside_is_named(struct kunit *test)
{
	unsigned char *jnz = AT(inner1) + KPT_JUMP_SIZE;
	char where[sizeof("a branch leads inside: ") + KSYM_SYMBOL_LEN];
	unsigned char *target;
	struct kpt_probe *pr;

	kpt_needs_debugfs(test);
	/* JNZ comes after an addition and DEC. */
	while (*jnz != 0x75 && jnz < AT(inner1) + 16)
		jnz++;
	KUNIT_ASSERT_EQ(test, *jnz, 0x75);
	target = jnz + 2 + (signed char)jnz[1];
	snprintf(where, sizeof(where), "a branch leads inside: %pS", jnz);
	pr = kpt_probe(test, AT(inner1));
	wait_for_kprobe_optimizer();
	expect_no_jump(test, pr);
	KUNIT_EXPECT_STREQ(test, last_column(kpt_jump_reason(test, &pr->kp)), where);
	/* Nor is it named if it is not the reason. */
	kpt_probe(test, target);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_STREQ(test, last_column(kpt_jump_reason(test, &pr->kp)),
			   "another probe is inside");
}

#ifdef MODULE
/* The module may be gone when the file is read again. */
static void what_a_file_needs_to_know_of_a_module_is_not_kept(struct kunit *test)
{
	unsigned int cpu = raw_smp_processor_id(), times;
	struct kpt_watch *w;
	struct kpt_probe *pr;

	kpt_needs_debugfs(test);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	pr = kpt_probe(test, AT(inner1));
	wait_for_kprobe_optimizer();
	w = kpt_watch(test, &THIS_MODULE->kallsyms, sizeof(long), cpu, NULL, NULL);
	kpt_jump_reason(test, &pr->kp);
	times = w->times;
	KUNIT_EXPECT_GT(test, times, 0);
	/* It has to look as often as the first time. */
	kpt_jump_reason(test, &pr->kp);
	KUNIT_EXPECT_EQ(test, w->times, 2 * times);
	kpt_unwatch(test, w);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}
#endif

/* A displaced call must be the last displaced instruction. */
static void return_into_the_bytes_of_a_jump_refuses(struct kunit *test)
{
	check_stays_breakpoint(test, AT(returns3), kpt_jump_returns3,
			       "a call would return inside");
	check_stays_breakpoint(test, AT(returns4), kpt_jump_returns4,
			       "a call would return inside");
	check_becomes_jump(test, AT(returns5), kpt_jump_returns5, 1);
}

static void target_of_each_kind_of_branch_refuses(struct kunit *test)
{
	const struct kpt_jump_target by[] = {
		KPT_JUMP_AND_AT(by_jcc8), KPT_JUMP_AND_AT(by_jcc32),
		KPT_JUMP_AND_AT(by_jmp8), KPT_JUMP_AND_AT(by_jmp32),
		KPT_JUMP_AND_AT(by_loopne), KPT_JUMP_AND_AT(by_loope),
		KPT_JUMP_AND_AT(by_loop), KPT_JUMP_AND_AT(by_jcxz),
		KPT_JUMP_AND_AT(by_call), KPT_JUMP_AND_AT(by_xbegin),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(by); i++)
		check_stays_breakpoint(test, by[i].addr, by[i].fn, "a branch leads inside");
}

static void target_of_a_branch_of_each_condition_refuses(struct kunit *test)
{
	const struct kpt_jump_target by[] = {
		KPT_JUMP_AND_AT(by_jcc8_0), KPT_JUMP_AND_AT(by_jcc8_1),
		KPT_JUMP_AND_AT(by_jcc8_2), KPT_JUMP_AND_AT(by_jcc8_3),
		KPT_JUMP_AND_AT(by_jcc8_4), KPT_JUMP_AND_AT(by_jcc8_5),
		KPT_JUMP_AND_AT(by_jcc8_6), KPT_JUMP_AND_AT(by_jcc8_7),
		KPT_JUMP_AND_AT(by_jcc8_8), KPT_JUMP_AND_AT(by_jcc8_9),
		KPT_JUMP_AND_AT(by_jcc8_a), KPT_JUMP_AND_AT(by_jcc8_b),
		KPT_JUMP_AND_AT(by_jcc8_c), KPT_JUMP_AND_AT(by_jcc8_d),
		KPT_JUMP_AND_AT(by_jcc8_e), KPT_JUMP_AND_AT(by_jcc8_f),
		KPT_JUMP_AND_AT(by_jcc32_0), KPT_JUMP_AND_AT(by_jcc32_1),
		KPT_JUMP_AND_AT(by_jcc32_2), KPT_JUMP_AND_AT(by_jcc32_3),
		KPT_JUMP_AND_AT(by_jcc32_4), KPT_JUMP_AND_AT(by_jcc32_5),
		KPT_JUMP_AND_AT(by_jcc32_6), KPT_JUMP_AND_AT(by_jcc32_7),
		KPT_JUMP_AND_AT(by_jcc32_8), KPT_JUMP_AND_AT(by_jcc32_9),
		KPT_JUMP_AND_AT(by_jcc32_a), KPT_JUMP_AND_AT(by_jcc32_b),
		KPT_JUMP_AND_AT(by_jcc32_c), KPT_JUMP_AND_AT(by_jcc32_d),
		KPT_JUMP_AND_AT(by_jcc32_e), KPT_JUMP_AND_AT(by_jcc32_f),
	};
	struct kpt_probe *pr[ARRAY_SIZE(by)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(by); i++)
		pr[i] = kpt_probe(test, by[i].addr);
	wait_for_kprobe_optimizer();
	for (i = 0; i < ARRAY_SIZE(by); i++) {
		expect_no_jump_because(test, pr[i], "a branch leads inside");
		KUNIT_EXPECT_FALSE_MSG(test, is_jump(by[i].addr), "%ps", by[i].fn);
		KUNIT_EXPECT_EQ(test, by[i].fn(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, pr[i]->pre, 1);
	}
}

static void function_that_shares_code_with_its_neighbour_is_left_alone(struct kunit *test)
{
	check_stays_breakpoint(test, AT(unaligned), kpt_jump_unaligned,
			       "the function shares code with others");
	/* On 32 bits its end is aligned as a function's is, so the neighbours are examined. */
	check_stays_breakpoint(test, AT(falls), kpt_jump_falls,
			       IS_ENABLED(CONFIG_X86_64) ?
			       "the function shares code with others" : "a branch leads inside");
	check_stays_breakpoint(test, AT(falls_far), kpt_jump_falls_far,
			       IS_ENABLED(CONFIG_X86_64) ?
			       "the function shares code with others" : "a branch leads inside");
}

/* What was found out about the function for the first point holds for the next. */
static void each_point_of_a_function_that_shares_code_is_left_alone(struct kunit *test)
{
	struct kpt_probe *pr[2] = {
		kpt_alloc(test, AT(both)),
		kpt_alloc(test, kpt_jump_at(kpt_jump_both, kpt_jump_both_second)),
	};
	struct kprobe *batch[] = { &pr[0]->kp, &pr[1]->kp };
	unsigned int i;

	KUNIT_ASSERT_EQ(test, register_kprobes(batch, ARRAY_SIZE(batch)), 0);
	wait_for_kprobe_optimizer();
	for (i = 0; i < ARRAY_SIZE(pr); i++)
		expect_no_jump_because(test, pr[i], "the function shares code with others");
	KUNIT_EXPECT_EQ(test, kpt_jump_both(7), KPT_RESULT(7ul));
	unregister_kprobes(batch, ARRAY_SIZE(batch));
}

/* As that of a cold part in a module that was stripped. The kernel keeps its symbols. */
static void branch_target_of_code_without_a_symbol_refuses(struct kunit *test)
{
	struct kpt_probe *pr;

	if (!IS_MODULE(CONFIG_KPROBES_SANITY_TEST))
		kunit_skip(test, "the suite is built in");
	pr = kpt_probe(test, AT(nameless));
	wait_for_kprobe_optimizer();
	expect_no_jump_because(test, pr, "the function shares code with others");
	KUNIT_ASSERT_FALSE(test, is_jump(AT(nameless)));
	/* It is reached by the branch only, and then by a call that does not branch. */
	KUNIT_EXPECT_EQ(test, kpt_jump_nameless(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_EXPECT_EQ(test, kpt_jump_nameless(-7ul), KPT_RESULT(-7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

/* It returns, and does not branch back. */
static void call_of_code_without_a_symbol_does_not_refuse(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, AT(calls_nameless));

	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE_MSG(test, is_jump(AT(calls_nameless)), "%s",
			      kpt_jump_reason(test, &pr->kp));
	KUNIT_EXPECT_EQ(test, kpt_jump_calls_nameless(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	/* Nor does a branch to a function refuse. */
	check_becomes_jump(test, kpt_text(kpt_asm_tail), kpt_asm_tail, 1);
}

/* Nor does a branch show in the text that leads there. */
static void fixup_or_label_in_code_without_a_symbol_refuses(struct kunit *test)
{
	unsigned long good = 7, off, on;

	if (!IS_MODULE(CONFIG_KPROBES_SANITY_TEST))
		kunit_skip(test, "the suite is built in");
	kpt_probe(test, AT(mended));
	kpt_probe(test, AT(switched));
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_FALSE(test, is_jump(AT(mended)));
	KUNIT_EXPECT_EQ(test, kpt_jump_mended((unsigned long)&good),
			KPT_RESULT((unsigned long)&good));
	KUNIT_EXPECT_EQ(test, kpt_jump_mended(KPT_BAD_ADDRESS), KPT_RESULT(KPT_BAD_ADDRESS));
	if (!IS_ENABLED(CONFIG_JUMP_LABEL))
		return;
	KUNIT_ASSERT_FALSE(test, is_jump(AT(switched)));
	off = kpt_jump_switched(7);
	static_branch_enable(&kpt_jump_label_key);
	on = kpt_jump_switched(7);
	static_branch_disable(&kpt_jump_label_key);
	KUNIT_EXPECT_EQ(test, off, KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, on, KPT_RESULT(7ul));
}

/* The same the other way round: the branch leads to code without a symbol. */
static void code_without_a_symbol_gets_no_jump(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, NULL);
	kpt_fn_t fn = kpt_jump_twice;

	if (!IS_MODULE(CONFIG_KPROBES_SANITY_TEST))
		kunit_skip(test, "the suite is built in");
	/* Objtool does not see that it returns. */
	OPTIMIZER_HIDE_VAR(fn);
	pr->kp.symbol_name = "kpt_jump_before_twice";
	pr->kp.offset = kpt_jump_twice_at;
	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
	expect_no_jump_because(test, pr, "the function shares code with others");
	KUNIT_ASSERT_FALSE(test, is_jump(pr->kp.addr));
	KUNIT_EXPECT_EQ(test, fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, fn(-7ul), KPT_RESULT(-7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

/* A function that does not run into the next one shares no code with it. */
static void end_that_is_not_aligned_is_no_obstacle(struct kunit *test)
{
	const struct kpt_jump_target ends[] = {
		KPT_JUMP_AND_AT(ends_ret), KPT_JUMP_AND_AT(ends_ret_imm),
		KPT_JUMP_AND_AT(ends_jmp8), KPT_JUMP_AND_AT(ends_jmp32),
		KPT_JUMP_AND_AT(ends_call), KPT_JUMP_AND_AT(ends_int3),
		KPT_JUMP_AND_AT(ends_ud1), KPT_JUMP_AND_AT(ends_ud2),
		KPT_JUMP_AND_AT(ends_nop), KPT_JUMP_AND_AT(ends_nop3),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ends); i++)
		check_becomes_jump(test, ends[i].addr, ends[i].fn, 1);
	/* The function might have a jump table. */
	if (!KPT_JUMP_TABLES)
		check_becomes_jump(test, AT(ends_jmp_reg), kpt_jump_ends_jmp_reg, 1);
}

static void branch_target_in_the_cold_part_refuses(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, NULL);

	pr->kp.symbol_name = "kpt_jump_cooled.cold";
	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
	expect_no_jump_because(test, pr, "a branch leads inside");
	KUNIT_ASSERT_FALSE(test, is_jump(pr->kp.addr));
	KUNIT_EXPECT_EQ(test, kpt_jump_cooled(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

/* The function enters the part at two places, and the part branches back. */
static void function_and_its_cold_part_share_no_code_with_others(struct kunit *test)
{
	struct kpt_probe *pr = jump_probe(test, AT(cooled)), *cold = kpt_alloc(test, NULL);

	cold->kp.symbol_name = "kpt_jump_cooled.cold";
	cold->kp.offset = KPT_COOLED_LATER;
	settle(test, cold);
	KUNIT_EXPECT_EQ(test, kpt_jump_cooled(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, cold->pre, 3);
}

/* Functions of the kernel image, which are not called: see testing.S. */
static void check_in_kernel(struct kunit *test, const char *refused, const char *why,
			    const char *allowed)
{
	struct kpt_probe *pr = kpt_alloc(test, NULL), *other = kpt_alloc(test, NULL);

	pr->kp.symbol_name = refused;
	pr->kp.offset = 2;
	kpt_register(test, pr);
	other->kp.symbol_name = allowed;
	other->kp.offset = 2;
	settle(test, other);
	expect_no_jump_because(test, pr, why);
}

static void branch_target_of_a_cold_part_of_the_kernel_refuses(struct kunit *test)
{
	check_in_kernel(test, "kprobe_test_split", "a branch leads inside",
			"kprobe_test_apart");
}

DEFINE_STATIC_KEY_FALSE(kpt_jump_label_key);

static void target_of_a_jump_label_inside_refuses(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_JUMP_LABEL))
		kunit_skip(test, "no jump labels");
	check_stays_breakpoint(test, AT(label), kpt_jump_label, "a branch leads inside");
	static_branch_enable(&kpt_jump_label_key);
	KUNIT_EXPECT_EQ(test, kpt_jump_label(7), 15UL);
	static_branch_disable(&kpt_jump_label_key);
	KUNIT_EXPECT_EQ(test, kpt_jump_label(7), KPT_RESULT(7ul));
}

static void label_whose_address_is_taken_refuses(struct kunit *test)
{
	check_stays_breakpoint(test, AT(interpreter), kpt_jump_interpreter,
			       "the function has indirect jumps");
	check_stays_breakpoint(test, AT(checksum), kpt_jump_checksum,
			       "the function has indirect jumps");
	check_stays_breakpoint(test, AT(backward), kpt_jump_backward,
			       "the function has indirect jumps");
	check_stays_breakpoint(test, AT(interpreter_copy), kpt_jump_interpreter_copy,
			       "the function has indirect jumps");
	check_becomes_jump(test, AT(checksum_longer), kpt_jump_checksum_longer, 1);
}

/* ANDN without its mandatory prefix. */
static const unsigned char garbage[] = { 0x0f, 0x38, 0xf2 };

/**
 * struct other_text - text that a test has replaced
 * @alias: where it can be written
 * @was:   what was there
 * @len:   bytes
 */
struct other_text {
	unsigned char *alias;
	unsigned char was[16];
	unsigned int len;
};

static void restore_text(void *arg)
{
	struct other_text *text = arg;

	memcpy(text->alias, text->was, text->len);
}

/* Until restore_text() or the end of the test. The text is on one page. */
static struct other_text *replace_text(struct kunit *test, unsigned char *at,
				       const unsigned char *bytes, unsigned int len)
{
	struct other_text *text = kunit_kzalloc(test, sizeof(*text), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, text);
	KUNIT_ASSERT_LE(test, len, sizeof(text->was));
	KUNIT_ASSERT_LE(test, offset_in_page(at) + len, PAGE_SIZE);
	text->alias = kpt_writable(test, at);
	text->len = len;
	memcpy(text->was, text->alias, len);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, restore_text, text), 0);
	memcpy(text->alias, bytes, len);
	return text;
}

/* A branch that is not found might lead inside. */
static void function_that_cannot_be_decoded_is_left_alone(struct kunit *test)
{
	unsigned char *hole = kpt_jump_at(kpt_jump_garbled, kpt_jump_garbled_hole);
	struct other_text *text = replace_text(test, hole, garbage, sizeof(garbage));
	struct kpt_probe *pr;

	KUNIT_EXPECT_EQ(test, kpt_refused(hole), -EILSEQ);
	pr = kpt_probe(test, AT(garbled));
	wait_for_kprobe_optimizer();
	expect_no_jump_because(test, pr, "the function cannot be decoded");
	KUNIT_EXPECT_EQ(test, kpt_jump_garbled(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	kpt_unregister(test, pr);
	/* On 32 bits, neighbours are examined, too. */
	if (IS_ENABLED(CONFIG_X86_32)) {
		pr = kpt_probe(test, AT(pushes));
		wait_for_kprobe_optimizer();
		expect_no_jump_because(test, pr, "the function cannot be decoded");
		kpt_unregister(test, pr);
	}
	kunit_release_action(test, restore_text, text);
	check_becomes_jump(test, AT(garbled), kpt_jump_garbled, 1);
}

#ifdef CONFIG_CFI_CLANG
/* The kernel does so with kCFI, and with FineIBT, to the padding before assembly. */
static void cleared_hash_does_not_run_into_the_next_function(struct kunit *test)
{
	/* NOPs as the assembler mixes them to fill a gap. */
	static const unsigned char fills[][16] = {
		{ 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		  0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 },
		{ 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x44, 0, 0 },
		{ 0x0f, 0x1f, 0x44, 0, 0, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 },
		{ 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x80, 0, 0, 0, 0, 0x90 },
		{ 0xcc, 0xcc, 0x66, 0x90, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0 },
	};
	static const unsigned int before[] = { sizeof(fills[0]) - 1, 9 };
	unsigned char *end = kpt_text(kpt_jump_cleared) + kpt_size(test, kpt_jump_cleared);
	unsigned char text[16];
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(fills); i++) {
		memcpy(text, fills[i], sizeof(text));
		replace_text(test, end - sizeof(text), text, sizeof(text));
		kpt_unregister(test, jump_probe(test, AT(cleared)));
		for (k = 0; k < ARRAY_SIZE(before); k++) {
			memcpy(text, fills[i], sizeof(text));
			memset(text + sizeof(text) - before[k], 0, sizeof(u32));
			replace_text(test, end - sizeof(text), text, sizeof(text));
			kpt_unregister(test, jump_probe(test, AT(cleared)));
		}
	}
}

/* Only what was padding is left out. Here, code follows the zeros. */
static void code_after_zeros_is_no_cleared_hash(struct kunit *test)
{
	unsigned char *end = kpt_text(kpt_jump_cleared) + kpt_size(test, kpt_jump_cleared);
	struct kpt_probe *pr = kpt_alloc(test, AT(cleared));
	unsigned char text[16];

	memset(text, 0x90, sizeof(text));
	memset(text + 1, 0, sizeof(u32));
	/* A branch into the probe's jump. */
	text[5] = 0xeb;
	text[6] = (unsigned char *)AT(cleared) + 2 - (end - sizeof(text) + 7);
	replace_text(test, end - sizeof(text), text, sizeof(text));
	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
	expect_no_jump_because(test, pr, "a branch leads inside");
	kpt_unregister(test, pr);

	/* This runs into the next function. In a module, symbols have a size, which ends before. */
	text[5] = 0x31;
	text[6] = 0xc0;
	replace_text(test, end - sizeof(text), text, sizeof(text));
	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
#ifdef MODULE
	KUNIT_EXPECT_TRUE(test, kprobe_optimized(&pr->kp));
#else
	expect_no_jump_because(test, pr, "the function shares code with others");
#endif
}
#endif

#ifdef CONFIG_X86_32
/* The suite of instructions has these for 64 bits. Here they would disturb their neighbours. */
static void more_prefixes_than_the_decoder_counts_refuse(struct kunit *test)
{
	static const unsigned char mov[] = { 0x66, 0xf2, 0x3e, 0x26, 0x67, 0x89, 0xd8 };
	unsigned char *at = AT(nops);
	struct other_text *text;

	while (offset_in_page(at) > PAGE_SIZE - sizeof(mov))
		at++;
	text = replace_text(test, at, mov, sizeof(mov));
	KUNIT_EXPECT_EQ(test, kpt_refused(at), -EILSEQ);
	kunit_release_action(test, restore_text, text);
	KUNIT_EXPECT_EQ(test, kpt_jump_nops(7), KPT_RESULT(7ul));
}
#endif

static void check_garbled_part(struct kunit *test, struct kpt_probe *pr, unsigned char *hole)
{
	struct other_text *text = replace_text(test, hole, garbage, sizeof(garbage));

	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
	expect_no_jump_because(test, pr, "the function cannot be decoded");
	kpt_unregister(test, pr);
	kunit_release_action(test, restore_text, text);
	/* Its address is known now. */
	pr->kp.symbol_name = NULL;
	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
	expect_no_jump_because(test, pr, "a branch leads inside");
	kpt_unregister(test, pr);
}

/* Nor if it is the cold part of the function, or if the probe is in the cold part. */
static void part_that_cannot_be_decoded_is_left_alone(struct kunit *test)
{
	struct kpt_probe *cold = kpt_alloc(test, NULL), *cooled = kpt_alloc(test, NULL);

	/* Never hit: this tells the address. */
	cold->kp.symbol_name = "kpt_jump_split.cold";
	cold->kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, cold);
	kpt_unregister(test, cold);
	check_garbled_part(test, kpt_alloc(test, AT(split)), (unsigned char *)cold->kp.addr);
	KUNIT_EXPECT_EQ(test, kpt_jump_split(7), KPT_RESULT(7ul));
	cooled->kp.symbol_name = "kpt_jump_cooled.cold";
	check_garbled_part(test, cooled, AT(cooled) + 1);
	KUNIT_EXPECT_EQ(test, kpt_jump_cooled(7), KPT_RESULT(7ul));
}

/* The name is that of the point's own branch, and not the one that was found before. */
static void branch_is_that_of_the_point_or_none(struct kunit *test)
{
	struct kpt_probe *inner, *split, *label;

	kpt_needs_debugfs(test);
	inner = kpt_probe(test, AT(inner1));
	split = kpt_probe(test, AT(split));
	label = kpt_probe(test, AT(label));
	wait_for_kprobe_optimizer();
	expect_no_jump_because(test, inner, "a branch leads inside: kpt_jump_inner1");
	expect_no_jump_because(test, split, "a branch leads inside: kpt_jump_split.cold");
	/* Its branch is a NOP while the label is off. */
	if (IS_ENABLED(CONFIG_JUMP_LABEL))
		KUNIT_EXPECT_STREQ(test, last_column(kpt_jump_reason(test, &label->kp)),
				   "a branch leads inside");
}

static void branch_target_of_the_cold_part_inside_refuses(struct kunit *test)
{
	check_stays_breakpoint(test, AT(split), kpt_jump_split, "a branch leads inside");
}

static void branch_target_of_one_of_two_cold_parts_refuses(struct kunit *test)
{
	check_stays_breakpoint(test, AT(twin), kpt_jump_twin, "a branch leads inside");
}

static void branch_target_of_a_numbered_cold_part_refuses(struct kunit *test)
{
	check_stays_breakpoint(test, AT(numbered), kpt_jump_numbered, "a branch leads inside");
}

static void branch_target_of_the_cold_part_of_merged_functions_refuses(struct kunit *test)
{
	check_stays_breakpoint(test, AT(merged), kpt_jump_merged, "a branch leads inside");
	check_stays_breakpoint(test, AT(fused), kpt_jump_fused, "a branch leads inside");
}

#ifdef CONFIG_X86_32
static void target_of_a_computed_jump_inside_refuses(struct kunit *test)
{
	check_stays_breakpoint(test, AT(computed), kpt_jump_computed,
			       "the function has indirect jumps");
	check_stays_breakpoint(test, AT(computed_lea), kpt_jump_computed_lea,
			       "the function has indirect jumps");
	check_stays_breakpoint(test, AT(computed_eax), kpt_jump_computed_eax,
			       "the function has indirect jumps");
	check_stays_breakpoint(test, AT(computed_edi), kpt_jump_computed_edi,
			       "the function has indirect jumps");
	/* The first byte of a jump may be a target. */
	if (!KPT_JUMP_TABLES)
		check_becomes_jump(test, AT(computed_self), kpt_jump_computed_self, 1);
}

static void branch_target_of_a_neighbour_inside_refuses(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, AT(common));

	wait_for_kprobe_optimizer();
	expect_no_jump(test, pr);
	KUNIT_ASSERT_FALSE(test, is_jump(AT(common)));
	KUNIT_EXPECT_EQ(test, kpt_jump_common(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_jump_shares(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);

	check_stays_breakpoint(test, AT(common_afar), kpt_jump_common_afar,
			       "a branch leads inside");
	KUNIT_EXPECT_EQ(test, kpt_jump_shares_afar(7), KPT_RESULT(7ul));

	/* The neighbour after the next. */
	pr = kpt_probe(test, AT(common_after));
	wait_for_kprobe_optimizer();
	expect_no_jump(test, pr);
	KUNIT_ASSERT_FALSE(test, is_jump(AT(common_after)));
	KUNIT_EXPECT_EQ(test, kpt_jump_common_after(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_jump_shares_after(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}
#endif

static void fixup_target_inside_refuses(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, AT(fixup));
	unsigned long good = 7;

	wait_for_kprobe_optimizer();
	expect_no_jump(test, pr);
	KUNIT_ASSERT_FALSE(test, is_jump(AT(fixup)));
	/* The fix-up is right after the probe. */
	KUNIT_EXPECT_EQ(test, kpt_jump_fixup((unsigned long)&good),
			KPT_RESULT((unsigned long)&good));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, kpt_jump_fixup(KPT_BAD_ADDRESS), KPT_RESULT(KPT_BAD_ADDRESS));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);

	check_in_kernel(test, "kprobe_test_fixed", "a fault is fixed up inside",
			"kprobe_test_fixed_after");
}

static void fixups_of_the_kernel_are_known_from_first_to_last(struct kunit *test)
{
	unsigned int nr;

	KUNIT_EXPECT_EQ(test, kprobe_test_fixups_missed(&nr), 0);
	KUNIT_EXPECT_GT(test, nr, 5);
}

static void instruction_of_the_kernel_that_may_fault_inside_refuses(struct kunit *test)
{
	check_in_kernel(test, "kprobe_test_faults", "a fault is fixed up inside",
			"kprobe_test_fixed_after");
}

#ifdef MODULE
struct module_faults {
	struct exception_table_entry *table;
	unsigned int nr;
};

static void give_faults_back(void *arg)
{
	struct module_faults *was = arg;

	THIS_MODULE->extable = was->table;
	THIS_MODULE->num_exentries = was->nr;
}

static unsigned long kpt_jump_two_size;

static void give_size_back(void *symbol)
{
	((Elf_Sym *)symbol)->st_size = kpt_jump_two_size;
}

/* Assembler need not give one. */
static void function_without_a_size_becomes_one(struct kunit *test)
{
	struct mod_kallsyms *symbols = rcu_dereference_protected(THIS_MODULE->kallsyms, true);
	unsigned long addr = (unsigned long)kpt_text(kpt_jump_two);
	Elf_Sym *symbol = NULL;
	unsigned int i;

	for (i = 1; i < symbols->num_symtab; i++) {
		if (kallsyms_symbol_value(&symbols->symtab[i]) == addr)
			symbol = &symbols->symtab[i];
	}
	KUNIT_ASSERT_NOT_NULL(test, symbol);
	kpt_jump_two_size = symbol->st_size;
	KUNIT_ASSERT_NE(test, kpt_jump_two_size, 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, give_size_back, symbol), 0);
	WRITE_ONCE(symbol->st_size, 0);
	check_becomes_jump(test, AT(two), kpt_jump_two, 1);
	kunit_release_action(test, give_size_back, symbol);
}

static unsigned long fixup_of(const struct exception_table_entry *e)
{
	return (unsigned long)&e->fixup + e->fixup;
}

/* The entry is the first of the table, and the last. No fault of the module is fixed up. */
static void fixup_of_the_only_entry_of_a_module_refuses(struct kunit *test)
{
	unsigned long addr = (unsigned long)AT(fixup);
	struct exception_table_entry *e = THIS_MODULE->extable;
	struct module_faults *was = kunit_kzalloc(test, sizeof(*was), GFP_KERNEL);
	struct kpt_probe *pr;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, was);
	*was = (struct module_faults){ e, THIS_MODULE->num_exentries };
	for (i = 0; i < was->nr && fixup_of(e) - addr - 1 >= JMP32_INSN_SIZE - 1; i++, e++)
		;
	KUNIT_ASSERT_LT(test, i, was->nr);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, give_faults_back, was), 0);
	/* The number first: a table that is too long could be searched meanwhile. */
	WRITE_ONCE(THIS_MODULE->num_exentries, 1);
	WRITE_ONCE(THIS_MODULE->extable, e);
	pr = kpt_probe(test, (void *)addr);
	wait_for_kprobe_optimizer();
	kunit_release_action(test, give_faults_back, was);
	expect_no_jump_because(test, pr, "a fault is fixed up inside");
}
#endif

/* An instruction that is or has a fix-up, at each inner byte and right after them. */
static void fault_at_each_inner_byte_refuses(struct kunit *test)
{
	const struct kpt_jump_target inner[][5] = {
		{
			KPT_JUMP_AND_AT(fixup1), KPT_JUMP_AND_AT(fixup2),
			KPT_JUMP_AND_AT(fixup3), KPT_JUMP_AND_AT(fixup4),
			KPT_JUMP_AND_AT(fixup5),
		}, {
			KPT_JUMP_AND_AT(loads1), KPT_JUMP_AND_AT(loads2),
			KPT_JUMP_AND_AT(loads3), KPT_JUMP_AND_AT(loads4),
			KPT_JUMP_AND_AT(loads5),
		}
	};
	unsigned long good = 7;
	unsigned int i, loads;
	struct kpt_probe *pr;
	kpt_fn_t fn;

	for (loads = 0; loads < 2; loads++) {
		for (i = 0; i < 5; i++) {
			fn = inner[loads][i].fn;
			pr = kpt_probe(test, inner[loads][i].addr);
			wait_for_kprobe_optimizer();
			KUNIT_ASSERT_EQ_MSG(test, is_jump(pr->kp.addr), i == 4, "%ps", fn);
			KUNIT_EXPECT_EQ(test, fn((unsigned long)&good),
					KPT_RESULT((unsigned long)&good));
			KUNIT_EXPECT_EQ(test, pr->pre, 1);
			KUNIT_EXPECT_EQ(test, fn(KPT_BAD_ADDRESS), KPT_RESULT(KPT_BAD_ADDRESS));
			KUNIT_EXPECT_EQ(test, pr->pre, 1 + loads);
		}
	}
}

static void bug_trap_inside_refuses(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, AT(ud2));

	wait_for_kprobe_optimizer();
	expect_no_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_ud2(7), KPT_RESULT(7ul));
}

#ifdef CONFIG_X86_64
/* lea disp(%rip), %rax */
static const u8 far_lea[] = { 0x48, 0x8d, 0x05 };
#define FAR_LEA_SIZE	(sizeof(far_lea) + sizeof(s32))

/*
 * Code and its copy are less than 2 GiB apart. So of the two largest displacements, one in
 * each direction, one fits in the copy and the other does not.
 */
static const s32 far_disp[] = { S32_MAX, S32_MIN };

/* A place among the NOPs such that one NOP and the LEA after it are on one page. */
static unsigned char *room_for_lea(void)
{
	unsigned char *at = AT(nops);

	while (offset_in_page(at) > PAGE_SIZE - 1 - FAR_LEA_SIZE)
		at++;
	return at;
}

/* The LEA is never executed. */
static void write_lea(unsigned char *alias, s32 disp)
{
	memcpy(alias, far_lea, sizeof(far_lea));
	memcpy(alias + sizeof(far_lea), &disp, sizeof(disp));
}

static void operand_that_a_copy_cannot_reach_is_enomem(struct kunit *test)
{
	unsigned char *at = room_for_lea() + 1, *alias = kpt_writable(test, at);
	struct kprobe_counts before = kpt_counts(false), now;
	unsigned int i, refused = 0;

	KUNIT_ASSERT_EQ(test, *alias, 0x90);
	for (i = 0; i < ARRAY_SIZE(far_disp); i++) {
		struct kprobe p = { .addr = at, .flags = KPROBE_FLAG_DISABLED };
		int ret;

		write_lea(alias, far_disp[i]);
		ret = register_kprobe(&p);
		if (ret)
			KUNIT_EXPECT_EQ(test, ret, -ENOMEM);
		else
			unregister_kprobe(&p);
		refused += !!ret;
	}
	memset(alias, 0x90, FAR_LEA_SIZE);
	KUNIT_EXPECT_EQ(test, refused, 1);
	KUNIT_EXPECT_EQ(test, kpt_jump_nops(7), KPT_RESULT(7ul));
	now = kpt_counts(false);
	KUNIT_EXPECT_NULL(test, kpt_differs(&before, &now));
}

static void write_jmp(unsigned char *alias, s32 disp)
{
	*alias = JMP32_INSN_OPCODE;
	memcpy(alias + 1, &disp, sizeof(disp));
}

static void check_detour_reaches_one(struct kunit *test, void (*write)(unsigned char *, s32))
{
	unsigned char *at = room_for_lea();
	struct other_text *text = replace_text(test, at + 1, at + 1, FAR_LEA_SIZE);
	struct kprobe_counts before, now;
	unsigned int i, jumps = 0;
	struct kpt_probe *pr;

	KUNIT_ASSERT_EQ(test, *text->alias, 0x90);
	for (i = 0; i < ARRAY_SIZE(far_disp); i++) {
		wait_for_kprobe_optimizer();
		before = kpt_counts(false);
		write(text->alias, far_disp[i]);
		pr = kpt_probe(test, at);
		wait_for_kprobe_optimizer();
		if (kprobe_optimized(&pr->kp))
			jumps++;
		else
			expect_no_jump_because(test, pr,
					       "the detour is too far away, or too long");
		kpt_unregister(test, pr);
		now = kpt_counts(false);
		KUNIT_EXPECT_NULL(test, kpt_differs(&before, &now));
	}
	kunit_release_action(test, restore_text, text);
	KUNIT_EXPECT_EQ(test, jumps, 1);
}

/* The same for an instruction that a jump displaces, and for where a displaced jump leads. */
static void operand_that_a_detour_cannot_reach_refuses(struct kunit *test)
{
	check_detour_reaches_one(test, write_lea);
	check_detour_reaches_one(test, write_jmp);
	check_becomes_jump(test, room_for_lea(), kpt_jump_nops, 1);
}
#endif

static void ftrace_site_inside_refuses(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_DYNAMIC_FTRACE))
		kunit_skip(test, "no ftrace sites in this kernel");
	if (IS_ENABLED(CONFIG_FTRACE_MCOUNT_USE_OBJTOOL))
		kunit_skip(test, "objtool lists no ftrace sites of assembler");
	check_stays_breakpoint(test, AT(fentry), kpt_jump_fentry, "others patch this text");
}

static void ftrace_site_itself_is_no_jump(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_traced);

	if (!IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		kunit_skip(test, "no ftrace sites in this kernel");
	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&pr->kp));
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_FALSE(test, kprobe_optimized(&pr->kp));
	KUNIT_EXPECT_FALSE(test, is_jump(pr->kp.addr));
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

static void end_of_the_function_inside_refuses(struct kunit *test)
{
	check_stays_breakpoint(test, AT(last), kpt_jump_last, "the function ends");
	/* Where the next symbol is, even if that is within an instruction. */
	check_stays_breakpoint(test, AT(cut), kpt_jump_cut, "the function ends");
}

#ifdef CONFIG_JUMP_LABEL
static DEFINE_STATIC_KEY_FALSE(kpt_jump_key);

/* The NOP is right before the site of the jump label. */
static noinline __noclone notrace unsigned long kpt_jump_branches(unsigned long arg)
{
	OPTIMIZER_HIDE_VAR(arg);
	asm volatile("nop");
	if (static_branch_unlikely(&kpt_jump_key))
		return KPT_RESULT(arg) + 1;
	return KPT_RESULT(arg);
}

/* Finds the only site of a key of this module. */
static char *label_site(struct kunit *test, struct static_key *key)
{
	struct jump_entry *entry;

	KUNIT_ASSERT_FALSE(test, key->type & JUMP_TYPE_LINKED);
	entry = (struct jump_entry *)(key->type & ~JUMP_TYPE_MASK);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	return (char *)jump_entry_code(entry);
}

static DEFINE_STATIC_KEY_FALSE(kpt_jump_before_key);

/* A NOP of as many bytes as a jump. */
static noinline __noclone notrace unsigned long kpt_jump_before_label(unsigned long arg)
{
	OPTIMIZER_HIDE_VAR(arg);
	asm volatile(".byte 0x0f, 0x1f, 0x44, 0x00, 0x00");
	if (static_branch_unlikely(&kpt_jump_before_key))
		return KPT_RESULT(arg) + 1;
	return KPT_RESULT(arg);
}

static void jump_right_before_a_jump_label_is_allowed(struct kunit *test)
{
	char *addr = label_site(test, &kpt_jump_before_key.key) - KPT_JUMP_SIZE;

	if (text_at(addr) != 0x0f || text_at(addr + 1) != 0x1f)
		kunit_skip(test, "the compiler has put something in between");
	check_becomes_jump(test, addr, kpt_jump_before_label, 1);
}
#endif

static void jump_label_inside_refuses(struct kunit *test)
{
#ifdef CONFIG_JUMP_LABEL
	struct kpt_probe *pr;
	char *addr;

	KUNIT_ASSERT_EQ(test, kpt_jump_branches(7), KPT_RESULT(7ul));
	addr = label_site(test, &kpt_jump_key.key) - 1;
	if (text_at(addr) != 0x90)
		kunit_skip(test, "the compiler has put something in between");
	pr = kpt_probe(test, addr);
	wait_for_kprobe_optimizer();
	expect_no_jump_because(test, pr, "others patch this text");
	/* The site can still be patched. */
	static_branch_enable(&kpt_jump_key);
	KUNIT_EXPECT_EQ(test, kpt_jump_branches(7), KPT_RESULT(7ul) + 1);
	wait_for_kprobe_optimizer();
	expect_no_jump(test, pr);
	static_branch_disable(&kpt_jump_key);
	KUNIT_EXPECT_EQ(test, kpt_jump_branches(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
#else
	kunit_skip(test, "no jump labels in this kernel");
#endif
}

#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
DEFINE_STATIC_CALL(kpt_jump_call, kpt_plain);

static noinline __noclone notrace unsigned long kpt_jump_static_caller(unsigned long arg)
{
	unsigned long ret;

	OPTIMIZER_HIDE_VAR(arg);
	asm volatile("nop");
	ret = static_call(kpt_jump_call)(arg);
	barrier();
	return ret;
}
#endif

static void static_call_inside_refuses(struct kunit *test)
{
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	struct static_call_key *key = &STATIC_CALL_KEY(kpt_jump_call);
	struct static_call_site *site;
	struct kpt_probe *pr;
	char *addr;

	KUNIT_ASSERT_EQ(test, kpt_jump_static_caller(7), KPT_RESULT(7ul));
	if (key->type & 1)
		site = (struct static_call_site *)(key->type & ~1UL);
	else
		site = key->mods ? key->mods->sites : NULL;
	KUNIT_ASSERT_NOT_NULL(test, site);
	addr = (char *)&site->addr + site->addr - 1;
	if (text_at(addr) != 0x90)
		kunit_skip(test, "the compiler has put something in between");
	pr = kpt_probe(test, addr);
	wait_for_kprobe_optimizer();
	expect_no_jump(test, pr);
	static_call_update(kpt_jump_call, kpt_elsewhere);
	KUNIT_EXPECT_EQ(test, kpt_jump_static_caller(7), KPT_ELSEWHERE(7ul));
	static_call_update(kpt_jump_call, kpt_plain);
	KUNIT_EXPECT_EQ(test, kpt_jump_static_caller(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
#else
	kunit_skip(test, "static calls are not patched in this kernel");
#endif
}

/* --- Neighbours ---------------------------------------------------------- */

static void neighbour_inside_turns_it_back_and_its_leaving_again(struct kunit *test)
{
	struct kpt_probe *pr = jump_probe(test, AT(two));
	struct kpt_probe *inside;

	inside = kpt_probe(test, AT(two) + KPT_TWO_SECOND);
	/* Registration turns it back at once. */
	expect_no_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, inside->pre, 1);
	wait_for_kprobe_optimizer();
	expect_no_jump_because(test, pr, "another probe is inside");
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	KUNIT_EXPECT_EQ(test, inside->pre, 2);

	kpt_unregister(test, inside);
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 3);
	KUNIT_EXPECT_EQ(test, inside->pre, 2);
}

static void neighbour_at_each_inner_byte_turns_it_back(struct kunit *test)
{
	struct kpt_probe *pr = jump_probe(test, AT(nops)), *inside;
	unsigned int i;

	for (i = 1; i < KPT_JUMP_SIZE; i++) {
		inside = kpt_probe(test, AT(nops) + i);
		KUNIT_ASSERT_FALSE_MSG(test, is_jump(pr->kp.addr), "%u", i);
		expect_no_jump(test, pr);
		KUNIT_EXPECT_EQ(test, kpt_jump_nops(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ_MSG(test, pr->pre, i, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, inside->pre, 1, "%u", i);
		kpt_unregister(test, inside);
		wait_for_kprobe_optimizer();
		expect_jump(test, pr);
	}
	inside = kpt_probe(test, AT(nops) + KPT_JUMP_SIZE);
	expect_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_nops(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, KPT_JUMP_SIZE);
	KUNIT_EXPECT_EQ(test, inside->pre, 1);
}

static void neighbour_that_was_first_keeps_it_a_breakpoint(struct kunit *test)
{
	struct kpt_probe *inside = jump_probe(test, AT(two) + KPT_TWO_SECOND);
	struct kpt_probe *pr = kpt_probe(test, AT(two));

	wait_for_kprobe_optimizer();
	expect_no_jump(test, pr);
	/* There is no probe in its own bytes. */
	expect_jump(test, inside);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, inside->pre, 1);
	kpt_unregister(test, inside);
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
}

/* The point inside belongs to the jump of the nearer one. */
static void nearest_of_the_points_before_is_turned_back(struct kunit *test)
{
	unsigned char *nops = AT(nops);
	struct kpt_probe *far = kpt_probe(test, nops), *near = kpt_probe(test, nops + 1), *inside;

	wait_for_kprobe_optimizer();
	expect_no_jump(test, far);
	expect_jump(test, near);
	inside = kpt_probe(test, nops + 2);
	expect_no_jump(test, near);
	KUNIT_EXPECT_EQ(test, kpt_jump_nops(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, far->pre, 1);
	KUNIT_EXPECT_EQ(test, near->pre, 1);
	KUNIT_EXPECT_EQ(test, inside->pre, 1);
	kpt_unregister(test, inside);
	wait_for_kprobe_optimizer();
	expect_no_jump(test, far);
	expect_jump(test, near);
}

static void neighbour_that_is_switched_off_and_on(struct kunit *test)
{
	struct kpt_probe *pr = jump_probe(test, AT(two));
	struct kpt_probe *inside = kpt_alloc(test, AT(two) + KPT_TWO_SECOND);

	inside->kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, inside);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, inside->pre, 0);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&inside->kp), 0);
	expect_no_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, inside->pre, 1);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&inside->kp), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, inside->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->pre, 3);
}

/* The detour knows one probe. Another one must not be enabled without its handlers there. */
static void disabled_probe_on_a_jump_is_hit_once_it_is_enabled(struct kunit *test)
{
	struct kpt_probe *pr = jump_probe(test, AT(two));
	struct kpt_probe *other = kpt_alloc_with(test, AT(two), true, true);

	other->kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, other);
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, other->pre, 0);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&other->kp), 0);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	KUNIT_EXPECT_EQ(test, other->pre, 1);
	KUNIT_EXPECT_EQ(test, other->post, 1);
}

static void jumps_stand_side_by_side(struct kunit *test)
{
	struct kpt_probe *pr[KPT_JUMP_NOPS / KPT_JUMP_SIZE];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pr); i++)
		pr[i] = kpt_probe(test, AT(nops) + i * KPT_JUMP_SIZE);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpt_jump_nops(7), KPT_RESULT(7ul));
	for (i = 0; i < ARRAY_SIZE(pr); i++) {
		expect_jump(test, pr[i]);
		KUNIT_EXPECT_EQ(test, pr[i]->pre, 1);
	}
	for (i = 0; i < ARRAY_SIZE(pr); i += 2)
		kpt_unregister(test, pr[i]);
	KUNIT_EXPECT_EQ(test, kpt_jump_nops(7), KPT_RESULT(7ul));
	for (i = 0; i < ARRAY_SIZE(pr); i++)
		KUNIT_EXPECT_EQ(test, pr[i]->pre, i & 1 ? 2 : 1);
}

static void probes_on_every_byte_are_all_hit(struct kunit *test)
{
	struct kpt_probe *pr[KPT_JUMP_NOPS];
	unsigned char before[KPT_JUMP_NOPS];
	unsigned int i, round;

	memcpy(before, AT(nops), sizeof(before));
	for (round = 0; round < 2; round++) {
		for (i = 0; i < ARRAY_SIZE(pr); i++)
			pr[i] = kpt_probe(test, AT(nops) + (round ? ARRAY_SIZE(pr) - 1 - i : i));
		wait_for_kprobe_optimizer();
		KUNIT_EXPECT_EQ(test, kpt_jump_nops(7), KPT_RESULT(7ul));
		for (i = 0; i < ARRAY_SIZE(pr); i++) {
			/* Only the last one has no other probe in the bytes of its jump. */
			if ((unsigned char *)pr[i]->kp.addr == AT(nops) + ARRAY_SIZE(pr) - 1)
				expect_jump(test, pr[i]);
			else
				expect_no_jump(test, pr[i]);
			KUNIT_EXPECT_EQ(test, pr[i]->pre, 1);
		}
		for (i = 0; i < ARRAY_SIZE(pr); i++)
			kpt_unregister(test, pr[i]);
		KUNIT_ASSERT_MEMEQ(test, before, AT(nops), sizeof(before));
	}
}

/* --- Leaving it ---------------------------------------------------------- */

static void disable_restores_the_text_and_enable_the_jump(struct kunit *test)
{
	unsigned char before[16];
	struct kpt_probe *pr;
	unsigned int i;

	memcpy(before, AT(two), sizeof(before));
	pr = jump_probe(test, AT(two));
	for (i = 1; i <= 3; i++) {
		KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
		KUNIT_EXPECT_MEMEQ(test, before, AT(two), sizeof(before));
		KUNIT_EXPECT_FALSE(test, kprobe_optimized(&pr->kp));
		KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, pr->pre, 2 * i - 2);
		KUNIT_ASSERT_EQ(test, enable_kprobe(&pr->kp), 0);
		KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
		wait_for_kprobe_optimizer();
		expect_jump(test, pr);
		KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, pr->pre, 2 * i);
	}
}

static void unregister_restores_the_bytes(struct kunit *test)
{
	static char * const where[] = { "two", "alone", "loop", "calls" };
	unsigned char *addr[] = { AT(two), AT(alone), AT(loop), AT(calls) };
	unsigned char before[16];
	struct kpt_probe *pr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(addr); i++) {
		memcpy(before, addr[i], sizeof(before));
		pr = jump_probe(test, addr[i]);
		kpt_unregister(test, pr);
		KUNIT_EXPECT_TRUE_MSG(test, !memcmp(before, addr[i], sizeof(before)),
				      "%s", where[i]);
		wait_for_kprobe_optimizer();
		KUNIT_EXPECT_TRUE_MSG(test, !memcmp(before, addr[i], sizeof(before)),
				      "%s", where[i]);
	}
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_jump_alone(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_jump_loop(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_jump_calls(7), KPT_RESULT(7ul));
}

static int by_address_downwards(const void *a, const void *b)
{
	unsigned long first = *(const unsigned long *)a, second = *(const unsigned long *)b;

	return first < second ? 1 : -1;
}

static void batch_becomes_jumps_and_leaves_together(struct kunit *test)
{
	unsigned char *addr[] = { AT(two), AT(alone), AT(loop), AT(calls), AT(nops), AT(padded),
			 AT(pages), AT(sp) };
	struct kprobe *batch[ARRAY_SIZE(addr)];
	unsigned char before[ARRAY_SIZE(addr)][16];
	struct kpt_probe *sync = kpt_alloc(test, NULL), *off = kpt_alloc(test, AT(copied));
	unsigned int i;

	/* Text is patched in the order of addresses, with few rounds for many of them. */
	sort(addr, ARRAY_SIZE(addr), sizeof(*addr), by_address_downwards, NULL);
	for (i = 0; i < ARRAY_SIZE(addr); i++) {
		memcpy(before[i], addr[i], sizeof(before[i]));
		batch[i] = &kpt_alloc(test, addr[i])->kp;
	}
	sync->kp.symbol_name = "text_poke_sync";
	sync->on_pre = kpt_pre_counts_task;
	kpt_register(test, sync);
	/* What turns back no jump interrupts no CPU. */
	off->kp.flags = KPROBE_FLAG_DISABLED;
	sync->arg = current;
	kpt_register(test, off);
	sync->arg = NULL;
	KUNIT_EXPECT_EQ(test, sync->post, 0);
	KUNIT_ASSERT_EQ(test, register_kprobes(batch, ARRAY_SIZE(batch)), 0);
	wait_for_kprobe_optimizer();
	for (i = 0; i < ARRAY_SIZE(addr); i++)
		KUNIT_EXPECT_TRUE_MSG(test, kprobe_optimized(batch[i]), "%s",
				      kpt_jump_reason(test, batch[i]));
	sync->arg = current;
	unregister_kprobes(batch, ARRAY_SIZE(batch));
	sync->arg = NULL;
	KUNIT_EXPECT_GE(test, sync->post, 1);
	KUNIT_EXPECT_LT(test, sync->post, ARRAY_SIZE(addr));
	for (i = 0; i < ARRAY_SIZE(addr); i++)
		KUNIT_EXPECT_MEMEQ(test, before[i], addr[i],
				   sizeof(before[i]));
}

/* --- The same semantics -------------------------------------------------- */

static void post_handler_sees_the_registers_after_the_first_instruction(struct kunit *test)
{
	struct kpt_probe *pr = jump_probe_post(test, AT(two));

	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
	/* The flags of xor, not yet those of add. */
	KUNIT_EXPECT_EQ(test, pr->post_regs.ax, 0ul);
	KUNIT_EXPECT_TRUE(test, pr->post_regs.flags & X86_EFLAGS_ZF);
	KUNIT_EXPECT_EQ(test, KPT_JUMP_ARG(&pr->post_regs), 7ul);
	KUNIT_EXPECT_EQ(test, pr->post_regs.sp, pr->pre_regs.sp);
	KUNIT_EXPECT_EQ(test, pr->post_regs.ip, (unsigned long)AT(two) + KPT_TWO_SECOND);
}

static void post_changes(struct kpt_probe *pr, struct pt_regs *regs)
{
	regs->ax = 100;
}

static void post_handler_may_change_registers(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, AT(two));

	pr->kp.post_handler = kpt_post;
	pr->on_post = post_changes;
	settle(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(107ul));
}

static void ip_reads_one_after_the_probe(struct kunit *test)
{
	struct kpt_probe *pr = jump_probe(test, AT(two));

	kpt_jump_two(7);
	KUNIT_EXPECT_EQ(test, pr->pre_regs.ip, (unsigned long)AT(two) + 1);
}

static int change_argument(struct kpt_probe *pr, struct pt_regs *regs)
{
	KPT_JUMP_ARG(regs) = 1000;
	return 0;
}

static void pre_handler_may_change_registers(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, AT(two));

	pr->on_pre = change_argument;
	settle(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(1000ul));
}

static int go_where_told(struct kpt_probe *pr, struct pt_regs *regs)
{
	regs->ip = (unsigned long)pr->arg;
	regs->ax = 100;
	return 1;
}

static void check_changed_ip(struct kunit *test, void *to, unsigned long result)
{
	struct kpt_probe *pr = kpt_alloc(test, AT(two));
	unsigned int i;

	pr->on_pre = go_where_told;
	pr->arg = to;
	pr->kp.post_handler = kpt_post;
	settle(test, pr);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, kpt_jump_two(7), result);
		KUNIT_EXPECT_EQ(test, pr->pre, i);
	}
	KUNIT_EXPECT_EQ(test, pr->post, 0);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
	expect_jump(test, pr);
	kpt_unregister(test, pr);

	/* Without a post-handler, and called with interrupts off. */
	pr = kpt_alloc(test, AT(two));
	pr->on_pre = go_where_told;
	pr->arg = to;
	settle(test, pr);
	local_irq_disable();
	i = kpt_jump_two(7) == result && irqs_disabled();
	local_irq_enable();
	KUNIT_EXPECT_EQ(test, i, 1);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

static void changed_ip_is_honoured(struct kunit *test)
{
	check_changed_ip(test, kpt_elsewhere, kpt_elsewhere_with(7, 100));
}

static void changed_ip_to_the_second_displaced_instruction(struct kunit *test)
{
	check_changed_ip(test, AT(two) + KPT_TWO_SECOND, KPT_RESULT(107ul));
}

static void changed_ip_to_after_the_jump(struct kunit *test)
{
	check_changed_ip(test, AT(two) + KPT_JUMP_SIZE, KPT_RESULT(100ul));
}

static void post_goes_where_told(struct kpt_probe *pr, struct pt_regs *regs)
{
	go_where_told(pr, regs);
}

/* A single probe is called by its detour, several by the dispatcher. */
static void check_goes_where_told(struct kunit *test, kpt_fn_t fn, unsigned char *addr,
				  bool post, bool several)
{
	const struct {
		void *to;
		unsigned long result;
	} places[] = {
		{ kpt_elsewhere, kpt_elsewhere_with(7, 100) },
		{ addr + KPT_THREE_SECOND, KPT_RESULT(7ul) },
		{ addr + KPT_THREE_THIRD, KPT_RESULT(107ul) },
		{ addr + KPT_THREE_AFTER, KPT_RESULT(100ul) },
	};
	struct kpt_probe *pr = kpt_alloc(test, addr), *other = NULL;
	unsigned int i;

	if (post) {
		pr->kp.post_handler = kpt_post;
		pr->on_post = post_goes_where_told;
	} else {
		pr->on_pre = go_where_told;
	}
	if (several)
		other = kpt_probe(test, addr);
	settle(test, pr);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		pr->arg = places[i].to;
		KUNIT_EXPECT_EQ_MSG(test, fn(7), places[i].result, "%ps, post %d, several %d: %u",
				    fn, post, several, i);
	}
	KUNIT_EXPECT_EQ(test, pr->pre, ARRAY_SIZE(places));
	KUNIT_EXPECT_EQ(test, pr->post, post ? ARRAY_SIZE(places) : 0);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
	expect_jump(test, pr);
	kpt_unregister(test, pr);
	if (other)
		kpt_unregister(test, other);
}

static void changed_ip_to_each_displaced_instruction(struct kunit *test)
{
	unsigned int several;

	for (several = 0; several < 2; several++) {
		check_goes_where_told(test, kpt_jump_emulated, AT(emulated), false, several);
		check_goes_where_told(test, kpt_jump_copied, AT(copied), false, several);
	}
}

static void post_handler_may_change_where_a_jump_goes_on(struct kunit *test)
{
	unsigned int several;

	for (several = 0; several < 2; several++) {
		check_goes_where_told(test, kpt_jump_emulated, AT(emulated), true, several);
		check_goes_where_told(test, kpt_jump_copied, AT(copied), true, several);
	}
}

static int go_into_two(struct kpt_probe *pr, struct pt_regs *regs)
{
	/* On 32 bits, the argument is not in this register yet at the entry of a function. */
	KPT_JUMP_ARG(regs) = 7;
	return go_where_told(pr, regs);
}

static void post_goes_into_two(struct kpt_probe *pr, struct pt_regs *regs)
{
	go_into_two(pr, regs);
}

/* The neighbour keeps the point a breakpoint, or is at the same address, or is absent. */
static void check_goes_into_two(struct kunit *test, kpt_fn_t fn, unsigned char *addr,
				bool post, unsigned char *neighbour)
{
	struct kpt_probe *pr = kpt_alloc(test, addr), *other = NULL;

	if (post) {
		pr->kp.post_handler = kpt_post;
		pr->on_post = post_goes_into_two;
	} else {
		pr->on_pre = go_into_two;
	}
	pr->arg = AT(two) + KPT_TWO_SECOND;
	if (neighbour)
		other = kpt_probe(test, neighbour);
	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
	if (!kprobe_ftrace(&pr->kp))
		KUNIT_EXPECT_EQ(test, kprobe_optimized(&pr->kp),
				!neighbour || neighbour == addr);
	KUNIT_EXPECT_EQ_MSG(test, fn(7), KPT_RESULT(107ul), "%ps, post %d, neighbour at %zd",
			    fn, post, neighbour ? neighbour - addr : -1);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, post);
	kpt_unregister(test, pr);
	if (other)
		kpt_unregister(test, other);
}

/* With a hit of each kind. */
static void handler_may_go_on_in_the_bytes_of_another_jump(struct kunit *test)
{
	const struct kpt_jump_target kinds[] = {
		KPT_JUMP_AND_AT(emulated), KPT_JUMP_AND_AT(copied),
	};
	struct kpt_probe *two = jump_probe(test, AT(two));
	unsigned char *addr;
	unsigned int post, i;

	for (post = 0; post < 2; post++) {
		for (i = 0; i < ARRAY_SIZE(kinds); i++) {
			addr = kinds[i].addr;
			check_goes_into_two(test, kinds[i].fn, addr, post,
					    addr + KPT_THREE_SECOND);
			check_goes_into_two(test, kinds[i].fn, addr, post, NULL);
			check_goes_into_two(test, kinds[i].fn, addr, post, addr);
		}
	}
	expect_jump(test, two);
	KUNIT_EXPECT_EQ(test, two->pre, 0);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, two->pre, 1);
}

static int go_into_pushes(struct kpt_probe *pr, struct pt_regs *regs)
{
	regs->cx = regs->sp;
	return go_where_told(pr, regs);
}

static void post_goes_into_pushes(struct kpt_probe *pr, struct pt_regs *regs)
{
	go_into_pushes(pr, regs);
}

/* Only the instructions from there on are executed. */
static void check_goes_into_pushes(struct kunit *test, kpt_fn_t fn, void *addr, bool post)
{
	struct kpt_probe *pr = kpt_alloc_with(test, addr, true, post);
	unsigned int i;

	if (post)
		pr->on_post = post_goes_into_pushes;
	else
		pr->on_pre = go_into_pushes;
	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
	for (i = 1; i < KPT_JUMP_SIZE; i++) {
		pr->arg = AT(pushes) + i;
		KUNIT_EXPECT_EQ_MSG(test, fn(7), (KPT_JUMP_SIZE - i) * sizeof(long),
				    "%ps, post %d, byte %u", fn, post, i);
	}
	KUNIT_EXPECT_EQ(test, pr->pre, KPT_JUMP_SIZE - 1);
	KUNIT_EXPECT_EQ(test, pr->post, post ? KPT_JUMP_SIZE - 1 : 0);
	kpt_unregister(test, pr);
}

static void handler_may_go_on_at_each_byte_of_another_jump(struct kunit *test)
{
	struct kpt_probe *pushes = jump_probe(test, AT(pushes));
	unsigned int post;

	for (post = 0; post < 2; post++) {
		check_goes_into_pushes(test, kpt_jump_emulated, AT(emulated), post);
		check_goes_into_pushes(test, kpt_jump_copied, AT(copied), post);
		if (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
			check_goes_into_pushes(test, kpt_traced, kpt_traced, post);
	}
	expect_jump(test, pushes);
	KUNIT_EXPECT_EQ(test, pushes->pre, 0);
	KUNIT_EXPECT_EQ(test, kpt_jump_pushes(7), KPT_JUMP_SIZE * sizeof(long));
	KUNIT_EXPECT_EQ(test, pushes->pre, 1);
}

static void ftrace_site_may_go_on_in_the_bytes_of_a_jump(struct kunit *test)
{
	struct kpt_probe *two = jump_probe(test, AT(two)), *site = kpt_probe(test, kpt_traced);
	unsigned char *addr = (unsigned char *)site->kp.addr;
	unsigned int post;

	if (!IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		kunit_skip(test, "no ftrace sites in this kernel");
	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&site->kp));
	kpt_unregister(test, site);
	for (post = 0; post < 2; post++)
		check_goes_into_two(test, kpt_traced, addr, post, NULL);
	expect_jump(test, two);
	KUNIT_EXPECT_EQ(test, two->pre, 0);
}

static int fault_goes_into_two(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	go_into_two(container_of(p, struct kpt_probe, kp), regs);
	return 1;
}

static void fault_handler_may_go_on_in_the_bytes_of_a_jump(struct kunit *test)
{
	struct kpt_probe *two = jump_probe(test, AT(two)), *pr;

	pr = kpt_alloc(test, kpt_jump_at(kpt_load, kpt_load_at));
	pr->kp.fault_handler = fault_goes_into_two;
	pr->arg = AT(two) + KPT_TWO_SECOND;
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_load(kpt_bad_address(test)), KPT_RESULT(107ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	expect_jump(test, two);
	KUNIT_EXPECT_EQ(test, two->pre, 0);
}

static int do_return(struct kpt_probe *pr, struct pt_regs *regs)
{
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(long);
	regs->ax = 4242;
	return 1;
}

static void handler_may_return_from_the_function(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, AT(two));

	pr->on_pre = do_return;
	settle(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), 4242ul);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(8), 4242ul);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
}

/*
 * In each state a handler may push six words, see STACK_GAP; or five, if emulation of the
 * instruction pushes one more.
 */
static int move_stack(struct kpt_probe *pr, struct pt_regs *regs)
{
	unsigned long *word = (unsigned long *)regs->sp;
	unsigned long by = (unsigned long)pr->arg;
	unsigned int i;

	regs->sp -= by;
	for (i = 0; i < min(by / sizeof(*word), 6ul); i++)
		*--word = -1ul;
	return 0;
}

/*
 * How far to move it: more than the size of the registers saved on the stack. But on 32
 * bits, a breakpoint returns through a frame that it builds below the new stack pointer.
 * Further down, that would overwrite its own source (IRET_FRAME in entry_32.S).
 */
static unsigned long farthest(bool jump)
{
	return jump || IS_ENABLED(CONFIG_X86_64) ? 512 : 32;
}

static void handler_may_move_the_stack_pointer(struct kunit *test)
{
	unsigned int post, state;
	unsigned long by, got;
	struct kpt_probe *pr;

	for (post = 0; post < 2; post++) {
		pr = kpt_alloc_with(test, AT(sp), true, post);
		pr->on_pre = move_stack;
		for (state = 0; state < 2; state++) {
			set_as(test, pr, state);
			for (by = 0; by <= farthest(state); by += 8) {
				pr->arg = (void *)by;
				got = kpt_jump_sp(0);
				KUNIT_ASSERT_EQ_MSG(test, got, -by, "%s, %s, by %lu",
						    state ? "jump" : "breakpoint",
						    post ? "post" : "pre", by);
			}
		}
		expect_jump(test, pr);
		kpt_unregister(test, pr);
	}
}

static void check_pushes(struct kunit *test, kpt_fn_t fn, void *addr, unsigned long pushed)
{
	unsigned long by = 5 * sizeof(long);
	unsigned int post, state;
	struct kpt_probe *pr;

	for (post = 0; post < 2; post++) {
		pr = kpt_alloc_with(test, addr, true, post);
		pr->on_pre = move_stack;
		pr->arg = (void *)by;
		for (state = 0; state < 2; state++) {
			set_as(test, pr, state);
			KUNIT_ASSERT_EQ_MSG(test, fn(0), -by - pushed, "%s, %s",
					    state ? "jump" : "breakpoint",
					    post ? "post" : "pre");
			KUNIT_EXPECT_EQ(test, pr->post, post * (state + 1));
			/* The words that were pushed do not overwrite the registers. */
			if (post)
				KUNIT_EXPECT_EQ(test, pr->post_regs.ss & 0xffff, __KERNEL_DS);
		}
		kpt_unregister(test, pr);
	}
}

static void handler_may_push_five_words_before_one_that_pushes(struct kunit *test)
{
	check_pushes(test, kpt_jump_sp_call, AT(sp_call), 0);
	check_pushes(test, kpt_jump_sp_push, AT(sp_push), sizeof(long));
}

/* At every other hit: moves the stack and continues at the point, which is hit again. */
static int move_stack_and_leave(struct kpt_probe *pr, struct pt_regs *regs)
{
	if (!(pr->pre & 1))
		return 0;
	regs->sp -= (unsigned long)pr->arg;
	regs->ip = (unsigned long)pr->kp.addr;
	return 1;
}

static void handler_may_move_the_stack_pointer_and_leave(struct kunit *test)
{
	struct kpt_probe *pr, *other = NULL;
	unsigned int several;
	unsigned long by;

	for (several = 0; several < 2; several++) {
		if (several)
			other = kpt_probe(test, AT(sp));
		pr = kpt_alloc(test, AT(sp));
		pr->on_pre = move_stack_and_leave;
		settle(test, pr);
		for (by = 0; by <= farthest(true); by += 8) {
			pr->arg = (void *)by;
			KUNIT_ASSERT_EQ_MSG(test, kpt_jump_sp(0), -by, "several %u, by %lu",
					    several, by);
		}
		expect_jump(test, pr);
		kpt_unregister(test, pr);
		if (other)
			kpt_unregister(test, other);
	}
}

#ifdef CONFIG_X86_64
/**
 * struct copied_regs - the registers that a detour moves down the stack
 * @to:	   where they go
 * @on:	   the detour runs, with interrupts off
 * @times: accesses there
 * @over:  those while they lay below the stack pointer
 */
struct copied_regs {
	unsigned long to;
	bool on;
	unsigned int times;
	unsigned int over;
};

static int lower_stack_and_leave(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct copied_regs *c = pr->arg;

	if (!(pr->pre & 1))
		return 0;
	regs->sp -= 160;
	regs->ip = (unsigned long)pr->kp.addr;
	/* After the return address of detour_leave(). */
	c->to = regs->sp - sizeof(long) - sizeof(*regs);
	return 1;
}

/* A POP of the word leaves the stack pointer right above it. */
static void look_at_stack_pointer(struct kpt_watch *w, struct pt_regs *regs)
{
	struct copied_regs *c = w->arg;

	if (!c->on)
		return;
	c->times++;
	c->over += regs->sp > c->to + sizeof(long);
}

/*
 * Below all frames of others: an interrupt that leaves its frame on the word that is watched
 * would be counted, too, and an emulator may even lose it.
 */
static noinline unsigned long jump_deep_down(unsigned int frames)
{
	unsigned long ret;
	char pad[256];

	barrier_data(pad);
	ret = frames ? jump_deep_down(frames - 1) : kpt_jump_sp(0);
	barrier_data(pad);
	return ret;
}

/* An interrupt would overwrite them. */
static void registers_are_never_below_the_stack_pointer(struct kunit *test)
{
	struct copied_regs *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	unsigned int cpu = raw_smp_processor_id(), i;
	struct kpt_probe *pr = kpt_alloc(test, AT(sp));
	struct kpt_watch *w = NULL;
	unsigned long to[2], by;

	KUNIT_ASSERT_NOT_NULL(test, c);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	pr->on_pre = lower_stack_and_leave;
	pr->arg = c;
	settle(test, pr);
	/* The first time tells where to watch. */
	for (i = 0; i < 2; i++) {
		if (i)
			w = kpt_watch(test, (void *)to[0], sizeof(long), cpu,
				      look_at_stack_pointer, c);
		local_irq_disable();
		c->on = i;
		by = jump_deep_down(20);
		c->on = false;
		local_irq_enable();
		KUNIT_EXPECT_EQ(test, by, -160ul);
		to[i] = c->to;
	}
	kpt_unwatch(test, w);
	KUNIT_EXPECT_EQ(test, to[0], to[1]);
	KUNIT_EXPECT_GE(test, c->times, 2);
	KUNIT_EXPECT_EQ(test, c->over, 0);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}
#endif

static void several_probes_run_in_order(struct kunit *test)
{
	struct kpt_probe *pr[4];
	unsigned int clock = 0, i;

	for (i = 0; i < 4; i++) {
		pr[i] = kpt_alloc(test, AT(two));
		pr[i]->clock = &clock;
		if (i & 1)
			pr[i]->kp.post_handler = kpt_post;
		kpt_register(test, pr[i]);
	}
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	for (i = 0; i < 4; i++) {
		expect_jump(test, pr[i]);
		KUNIT_EXPECT_EQ(test, pr[i]->pre, 1);
		KUNIT_EXPECT_EQ(test, pr[i]->pre_tick, i + 1);
		KUNIT_EXPECT_EQ(test, pr[i]->post, i & 1);
	}
}

static void several_probes_run_until_one_is_nonzero(struct kunit *test)
{
	struct kpt_probe *pr[3];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		pr[i] = kpt_alloc(test, AT(two));
		pr[i]->kp.post_handler = kpt_post;
		pr[i]->arg = kpt_elsewhere;
		if (i == 1)
			pr[i]->on_pre = go_where_told;
		kpt_register(test, pr[i]);
	}
	wait_for_kprobe_optimizer();
	expect_jump(test, pr[0]);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), kpt_elsewhere_with(7, 100));
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, pr[i]->pre, i < 2);
		KUNIT_EXPECT_EQ(test, pr[i]->post, 0);
	}
}

/* Choices made for the earlier probes must not persist. */
static void probes_come_and_go_on_a_jump(struct kunit *test)
{
	struct kpt_probe *plain = jump_probe(test, AT(two));
	struct kpt_probe *post, *more;

	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	post = kpt_probe_post(test, AT(two));
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	wait_for_kprobe_optimizer();
	expect_jump(test, plain);
	expect_jump(test, post);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, plain->pre, 3);
	KUNIT_EXPECT_EQ(test, post->pre, 2);
	KUNIT_EXPECT_EQ(test, post->post, 2);

	more = kpt_probe(test, AT(two));
	KUNIT_ASSERT_EQ(test, disable_kprobe(&post->kp), 0);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	kpt_unregister(test, plain);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	wait_for_kprobe_optimizer();
	expect_jump(test, more);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, plain->pre, 4);
	KUNIT_EXPECT_EQ(test, more->pre, 3);
	KUNIT_EXPECT_EQ(test, post->post, 2);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&post->kp), 0);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, post->pre, 3);
	KUNIT_EXPECT_EQ(test, post->post, 3);
}

static void null_handlers_in_every_combination(struct kunit *test)
{
	struct kpt_probe *pr;
	unsigned int kinds;

	for (kinds = 0; kinds < 4; kinds++) {
		pr = settle(test, kpt_alloc_with(test, AT(two), kinds & 1, kinds & 2));
		KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, pr->pre, kinds & 1 ? 1 : 0);
		KUNIT_EXPECT_EQ(test, pr->post, kinds & 2 ? 1 : 0);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
		kpt_unregister(test, pr);
	}
}

static void handlers_see_interrupts_as_the_function_has_them(struct kunit *test)
{
	struct kpt_probe *pr = jump_probe_post(test, AT(two));

	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_FALSE(test, pr->irqs_off);
	KUNIT_EXPECT_TRUE(test, pr->pre_regs.flags & X86_EFLAGS_IF);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	kpt_call_irqs_off(test, pr, kpt_jump_two);
	KUNIT_EXPECT_FALSE(test, pr->pre_regs.flags & X86_EFLAGS_IF);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	KUNIT_EXPECT_EQ(test, pr->post, 2);
}

/* Detours run post-handlers of emulated and of copied instructions in different ways. */
static void handlers_run_with_preemption_off(struct kunit *test)
{
	const struct kpt_jump_target places[] = { KPT_JUMP_AND_AT(two), KPT_JUMP_AND_AT(copied) };
	struct kpt_probe *pr;
	int before, after;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		pr = jump_probe_post(test, places[i].addr);
		before = preempt_count();
		places[i].fn(7);
		after = preempt_count();
		KUNIT_EXPECT_EQ(test, before, after);
		KUNIT_EXPECT_EQ(test, pr->pre + pr->post, 2);
		KUNIT_EXPECT_FALSE_MSG(test, pr->preemptible, "%ps", places[i].fn);
	}
}

/* The detour does not call the handlers itself. */
static void handlers_of_several_probes_run_with_preemption_off(struct kunit *test)
{
	const struct kpt_jump_target places[] = {
		KPT_JUMP_AND_AT(two), KPT_JUMP_AND_AT(emulated), KPT_JUMP_AND_AT(copied),
	};
	struct kpt_probe *pr, *second;
	unsigned int i, post;
	int before, after;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		for (post = 0; post < 2; post++) {
			pr = kpt_alloc_with(test, places[i].addr, true, post);
			kpt_register(test, pr);
			second = jump_probe(test, places[i].addr);
			before = preempt_count();
			KUNIT_EXPECT_EQ(test, places[i].fn(7), KPT_RESULT(7ul));
			after = preempt_count();
			KUNIT_EXPECT_EQ(test, before, after);
			KUNIT_EXPECT_EQ(test, pr->pre + pr->post, 1 + post);
			KUNIT_EXPECT_EQ(test, second->pre, 1);
			KUNIT_EXPECT_FALSE_MSG(test, pr->preemptible || second->preemptible,
					       "%ps, post %u", places[i].fn, post);
			kpt_unregister(test, second);
			kpt_unregister(test, pr);
		}
	}
}

static void note_own_flags(struct kpt_probe *pr, struct pt_regs *regs)
{
	*(unsigned long *)pr->arg |= native_save_fl();
}

static int pre_notes_own_flags(struct kpt_probe *pr, struct pt_regs *regs)
{
	note_own_flags(pr, regs);
	return 0;
}

/* Hit through a breakpoint, then through a jump. */
static void handlers_run_with_the_flags_of_compiled_code(struct kunit *test)
{
	const struct {
		kpt_fn_t fn;
		unsigned char *addr;
		unsigned long flag;
	} odd[] = {
		{ kpt_jump_std, AT(std), X86_EFLAGS_DF },
		{ kpt_jump_popf, AT(popf), X86_EFLAGS_DF },
		{ kpt_jump_std_copied, AT(std_copied), X86_EFLAGS_DF },
		{ kpt_jump_std_shared, AT(std_shared), X86_EFLAGS_DF },
		{ kpt_jump_std_split, AT(std_split), X86_EFLAGS_DF },
#ifdef MODULE
		{ kpt_jump_std_nameless, AT(before_std), X86_EFLAGS_DF },
#endif
		{ kpt_jump_stac, AT(stac), X86_EFLAGS_AC },
#ifdef CONFIG_X86_32
		{ kpt_jump_far, AT(far), X86_EFLAGS_DF },
		{ kpt_jump_far_mem, AT(far_mem), X86_EFLAGS_DF },
#endif
	};
	unsigned int i, jump;
	struct kpt_probe *pr;
	unsigned long own;

	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		if (odd[i].flag == X86_EFLAGS_AC && !boot_cpu_has(X86_FEATURE_SMAP))
			continue;
		pr = kpt_alloc(test, odd[i].addr);
		pr->on_pre = pre_notes_own_flags;
		pr->kp.post_handler = kpt_post;
		pr->on_post = note_own_flags;
		pr->arg = &own;
		for (jump = 0; jump < 2; jump++) {
			own = 0;
			set_as(test, pr, jump);
			KUNIT_EXPECT_EQ(test, odd[i].fn(7), KPT_RESULT(7ul));
			KUNIT_EXPECT_EQ(test, pr->pre, jump + 1);
			KUNIT_EXPECT_EQ(test, pr->post, jump + 1);
			KUNIT_EXPECT_EQ_MSG(test, own & odd[i].flag, 0ul,
					    "%ps, jump %u", odd[i].fn, jump);
			/* But they see the flags of the function. */
			KUNIT_EXPECT_EQ(test, pr->pre_regs.flags & odd[i].flag, odd[i].flag);
			KUNIT_EXPECT_EQ(test, pr->post_regs.flags & odd[i].flag, odd[i].flag);
			KUNIT_EXPECT_EQ(test, native_save_fl() & odd[i].flag, 0ul);
		}
		kpt_unregister(test, pr);
	}
}

/* --- Registers ----------------------------------------------------------- */

/* Called from the same place each time, as the stack pointer is among them. */
static noinline void run_registers(struct pt_regs *pre, struct pt_regs *post,
				   unsigned long *out, struct kpt_probe *pr)
{
	kpt_insn_fn = kpt_jump_registers;
	kpt_insn_run();
	*pre = pr->pre_regs;
	*post = pr->post_regs;
	memcpy(out, kpt_insn_out, sizeof(kpt_insn_out));
}

static void expect_same_regs(struct kunit *test, const char *what,
			     const struct pt_regs *got, const struct pt_regs *want)
{
	/* In the order of struct pt_regs; NULL for members that are not registers of the code. */
	static const char * const names[] = {
#ifdef CONFIG_X86_64
		"r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax",
		"cx", "dx", "si", "di", NULL, "ip", "cs", "flags", "sp", "ss",
#else
		"bx", "cx", "dx", "si", "di", "bp", "ax", "ds", "es", "fs", NULL,
		"orig_ax", "ip", "cs", "flags", "sp", "ss",
#endif
	};
	unsigned long mask;
	unsigned int i;

	static_assert(sizeof(*got) == ARRAY_SIZE(names) * sizeof(long));
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!names[i])
			continue;
		/* Of segment registers, 16 bits are defined: see asm/ptrace.h. */
		mask = names[i][1] == 's' && !names[i][2] ? 0xffff : ~0ul;
		KUNIT_EXPECT_EQ_MSG(test, ((const unsigned long *)got)[i] & mask,
				    ((const unsigned long *)want)[i] & mask,
				    "%s, %s", what, names[i]);
	}
}

static void registers_are_those_that_a_breakpoint_shows(struct kunit *test)
{
	static struct pt_regs pre[2], post[2];
	static unsigned long out[2][NR_REGS];
	struct kpt_probe *pr, *inside;
	unsigned int i;

	/* In an emulator, each CPU may have flags that no instruction changes. */
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	get_random_bytes(kpt_insn_in, sizeof(kpt_insn_in));
	kpt_insn_in[R_FLAGS] = X86_EFLAGS_FIXED | X86_EFLAGS_IF | X86_EFLAGS_CF |
			       X86_EFLAGS_SF;
	/* The point is a breakpoint while another probe is in its bytes, then a jump. */
	inside = kpt_alloc(test, AT(registers) + KPT_REGISTERS_SECOND);
	inside->kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, inside);
	pr = kpt_probe_post(test, AT(registers));
	wait_for_kprobe_optimizer();
	expect_no_jump(test, pr);
	run_registers(&pre[0], &post[0], out[0], pr);
	expect_no_jump(test, pr);
	kpt_unregister(test, inside);
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	run_registers(&pre[1], &post[1], out[1], pr);
	expect_jump(test, pr);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	KUNIT_EXPECT_EQ(test, pr->post, 2);
	expect_same_regs(test, "before", &pre[1], &pre[0]);
	expect_same_regs(test, "after", &post[1], &post[0]);
	KUNIT_EXPECT_EQ(test, pre[1].cs, __KERNEL_CS);
	KUNIT_EXPECT_EQ(test, pre[1].ss, __KERNEL_DS);
	KUNIT_EXPECT_EQ(test, pre[1].bp, kpt_insn_in[R_BP]);
#ifdef CONFIG_X86_64
	KUNIT_EXPECT_EQ(test, pre[1].r15, kpt_insn_in[R_R15]);
#else
	KUNIT_EXPECT_EQ(test, pre[1].ds, __USER_DS);
	KUNIT_EXPECT_EQ(test, pre[1].es, __USER_DS);
	KUNIT_EXPECT_EQ(test, pre[1].fs, __KERNEL_PERCPU);
#endif
	for (i = 0; i < NR_REGS; i++) {
		/* The thunk that counts returns leaves flags of its own. */
		if (i == R_FLAGS && boot_cpu_has(X86_FEATURE_CALL_DEPTH))
			continue;
		KUNIT_EXPECT_EQ_MSG(test, out[1][i], out[0][i], "register %u", i);
	}
	KUNIT_EXPECT_FALSE(test, user_mode(&pre[1]));
}

#ifdef CONFIG_X86_64
/* While pre-handlers run, unwinders find an address there. */
static void post_handler_of_a_jump_sees_no_system_call(struct kunit *test)
{
	void *addrs[] = { AT(emulated), AT(copied) };
	static const kpt_fn_t fns[] = { kpt_jump_emulated, kpt_jump_copied };
	struct kpt_probe *pr, *other;
	unsigned int i, several;

	for (i = 0; i < ARRAY_SIZE(fns); i++) {
		for (several = 0; several < 2; several++) {
			pr = kpt_probe_post(test, addrs[i]);
			other = several ? kpt_probe(test, addrs[i]) : NULL;
			wait_for_kprobe_optimizer();
			expect_jump(test, pr);
			KUNIT_EXPECT_EQ(test, fns[i](7), KPT_RESULT(7ul));
			KUNIT_EXPECT_EQ(test, pr->post, 1);
			KUNIT_EXPECT_EQ(test, (long)pr->post_regs.orig_ax, -1l);
			kpt_unregister(test, pr);
			if (other)
				kpt_unregister(test, other);
		}
	}
}
#endif

/*
 * If the probe with the post-handler is disabled, the dispatcher sends hits to the beginning
 * of the displaced instructions, which is not where its detour goes on.
 */
static void displaced_code_elsewhere_in_the_detour_has_the_flags(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, AT(sets)), *post = kpt_probe_post(test, AT(sets));

	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_sets(0), 1ul);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&post->kp), 0);
	expect_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_sets(0), 1ul);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	KUNIT_EXPECT_EQ(test, post->post, 1);
}

#ifdef CONFIG_X86_32
static void expect_no_segments(struct kunit *test, const struct pt_regs *regs)
{
	KUNIT_EXPECT_EQ(test, regs->ds, 0);
	KUNIT_EXPECT_EQ(test, regs->es, 0);
	KUNIT_EXPECT_EQ(test, regs->fs, 0);
}

/* How many handlers ran with others than the kernel's. QEMU lets them. */
static unsigned int wrong_segments;

static void check_segments(struct kpt_probe *pr, struct pt_regs *regs)
{
	unsigned short ds, es, fs;

	asm volatile("mov %%ds, %0; mov %%es, %1; mov %%fs, %2" : "=r" (ds), "=r" (es), "=r" (fs));
	wrong_segments += ds != __USER_DS || es != __USER_DS || fs != __KERNEL_PERCPU;
}

static int check_segments_first(struct kpt_probe *pr, struct pt_regs *regs)
{
	check_segments(pr, regs);
	return 0;
}

/* Hit through a breakpoint, then through a jump that stays in the detour or leaves it. */
static void handlers_run_in_the_segments_of_the_kernel(struct kunit *test)
{
	struct kpt_probe *pr;
	unsigned int way, jump;
	unsigned long result;

	for (way = 0; way < 3; way++) {
		pr = kpt_alloc(test, AT(segments));
		wrong_segments = 0;
		pr->on_pre = way == 2 ? go_where_told : check_segments_first;
		if (way == 1) {
			pr->kp.post_handler = kpt_post;
			pr->on_post = check_segments;
		}
		pr->arg = AT(segments) + KPT_TWO_SECOND;
		result = way == 2 ? KPT_RESULT(107ul) : KPT_RESULT(7ul);
		for (jump = 0; jump < 2; jump++) {
			set_as(test, pr, jump);
			KUNIT_EXPECT_EQ(test, kpt_jump_segments(7), result);
			KUNIT_EXPECT_EQ(test, pr->pre, 1 + jump);
			expect_no_segments(test, &pr->pre_regs);
			if (way != 1)
				continue;
			KUNIT_EXPECT_EQ(test, pr->post, 1 + jump);
			expect_no_segments(test, &pr->post_regs);
		}
		KUNIT_EXPECT_EQ(test, wrong_segments, 0);
		kpt_unregister(test, pr);
	}
}

/* The post-handler of an instruction that runs in the detour is called from there. */
static void post_handler_leaves_the_segments_of_the_function(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc_with(test, AT(segments_copied), true, true);
	unsigned int jump;

	wrong_segments = 0;
	pr->on_pre = check_segments_first;
	pr->on_post = check_segments;
	for (jump = 0; jump < 2; jump++) {
		set_as(test, pr, jump);
		KUNIT_EXPECT_EQ(test, kpt_jump_segments_copied(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, pr->post, 1 + jump);
		expect_no_segments(test, &pr->post_regs);
	}
	KUNIT_EXPECT_EQ(test, wrong_segments, 0);
}

/* Otherwise the detour would call handlers with it. */
static void each_instruction_that_loads_a_segment_is_noticed(struct kunit *test)
{
	const struct kpt_jump_target targets[] = {
		KPT_JUMP_AND_AT(segment_mov),
		KPT_JUMP_AND_AT(segment_pop_ds), KPT_JUMP_AND_AT(segment_pop_es),
		KPT_JUMP_AND_AT(segment_pop_fs), KPT_JUMP_AND_AT(segment_lds),
		KPT_JUMP_AND_AT(segment_les), KPT_JUMP_AND_AT(segment_lfs),
	};
	struct kpt_probe *pr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(targets); i++) {
		pr = kpt_alloc(test, targets[i].addr);
		pr->on_pre = check_segments_first;
		kpt_register(test, pr);
		wait_for_kprobe_optimizer();
		expect_jump(test, pr);
		wrong_segments = 0;
		KUNIT_EXPECT_EQ_MSG(test, targets[i].fn(7), KPT_RESULT(7ul), "%u", i);
		KUNIT_EXPECT_EQ(test, pr->pre, 1);
		KUNIT_EXPECT_EQ_MSG(test, wrong_segments, 0, "%u", i);
		KUNIT_EXPECT_TRUE_MSG(test, !pr->pre_regs.ds || !pr->pre_regs.es ||
				      !pr->pre_regs.fs, "%u", i);
	}
}
#endif

static int change_all(struct kpt_probe *pr, struct pt_regs *regs)
{
	unsigned long *r = pr->arg;

	r[R_BX] = ++regs->bx;
	r[R_SI] = ++regs->si;
	r[R_DI] = ++regs->di;
	r[R_BP] = ++regs->bp;
#ifdef CONFIG_X86_64
	r[R_R11] = ++regs->r11;
	r[R_R12] = ++regs->r12;
	r[R_R13] = ++regs->r13;
	r[R_R14] = ++regs->r14;
	r[R_R15] = ++regs->r15;
#endif
	regs->ax = 0;
	return 0;
}

static void every_changed_register_takes_effect(struct kunit *test)
{
	static const unsigned int changed[] = {
		R_BX, R_SI, R_DI, R_BP,
#ifdef CONFIG_X86_64
		R_R11, R_R12, R_R13, R_R14, R_R15,
#endif
	};
	struct kpt_probe *pr = kpt_alloc(test, AT(registers));
	unsigned long r[NR_REGS];
	unsigned int i;

	memset(kpt_insn_in, 0x5a, sizeof(kpt_insn_in));
	kpt_insn_in[R_FLAGS] = X86_EFLAGS_FIXED | X86_EFLAGS_IF;
	pr->on_pre = change_all;
	pr->arg = r;
	settle(test, pr);
	kpt_insn_fn = kpt_jump_registers;
	kpt_insn_run();
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	/* The probed instruction writes to EBX, which clears the upper half of RBX. */
	r[R_BX] = (u32)r[R_BX];
	for (i = 0; i < ARRAY_SIZE(changed); i++)
		KUNIT_EXPECT_EQ_MSG(test, kpt_insn_out[changed[i]], r[changed[i]],
				    "register %u", changed[i]);
}

/* --- Contexts ------------------------------------------------------------ */

/* Both the outer and the inner point are tried as jump and as breakpoint. */
static void hit_from_a_handler_is_missed(struct kunit *test)
{
	static const struct {
		kpt_fn_t fn;
		bool jump;
		unsigned int hits;
	} places[] = {
		{ kpt_jump_two, true, 1 },
		{ kpt_jump_loop, true, 3 },
		{ kpt_jump_target, false, 1 },
	};
	unsigned char *addr[] = { AT(two), AT(loop), AT(target) };
	struct kpt_inner inner = { .arg = 5 };
	unsigned int o, i;

	for (o = 0; o < ARRAY_SIZE(places); o++) {
		for (i = 0; i < ARRAY_SIZE(places); i++) {
			struct kpt_probe *outer = kpt_alloc(test, addr[o]);
			struct kpt_probe *pr;

			if (o == i)
				continue;
			inner.fn = places[i].fn;
			inner.result = 0;
			kpt_let_call(outer, false, &inner);
			kpt_register(test, outer);
			pr = kpt_probe_post(test, addr[i]);
			wait_for_kprobe_optimizer();
			KUNIT_EXPECT_EQ(test, kprobe_optimized(&outer->kp), places[o].jump);
			KUNIT_EXPECT_EQ(test, kprobe_optimized(&pr->kp), places[i].jump);
			KUNIT_EXPECT_EQ(test, places[o].fn(7), KPT_RESULT(7ul));
			KUNIT_EXPECT_EQ(test, inner.result, KPT_RESULT(5ul));
			KUNIT_EXPECT_EQ(test, outer->pre, places[o].hits);
			KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0ul);
			KUNIT_EXPECT_EQ(test, pr->pre, 0);
			KUNIT_EXPECT_EQ(test, pr->post, 0);
			KUNIT_EXPECT_EQ(test, pr->kp.nmissed,
					(unsigned long)places[o].hits * places[i].hits);
			/* After the handler it is hit as usual. */
			KUNIT_EXPECT_EQ(test, inner.fn(6), KPT_RESULT(6ul));
			KUNIT_EXPECT_EQ(test, pr->pre, places[i].hits);
			KUNIT_EXPECT_EQ(test, pr->post, places[i].hits);
			kpt_unregister(test, pr);
			kpt_unregister(test, outer);
		}
	}
}

/* If its own hits were not missed, it would not end. */
static void post_calls_once(struct kpt_probe *pr, struct pt_regs *regs)
{
	if (pr->post == 1)
		kpt_post_calls(pr, regs);
}

/* A task that has turned softirqs off is not a softirq: the hit is in the handler's context. */
static int pre_calls_once_without_softirqs(struct kpt_probe *pr, struct pt_regs *regs)
{
	if (pr->pre > 1)
		return 0;
	local_bh_disable();
	kpt_pre_calls(pr, regs);
	local_bh_enable();
	return 0;
}

/* For an instruction that is emulated for the post-handler, and one that has to run. */
static void own_hit_from_a_handler_is_missed(struct kunit *test)
{
	const struct kpt_jump_target places[] = { KPT_JUMP_AND_AT(two), KPT_JUMP_AND_AT(copied) };
	unsigned int i, how;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		for (how = 0; how < 3 - IS_ENABLED(CONFIG_PREEMPT_RT); how++) {
			struct kpt_inner inner = { .fn = places[i].fn, .arg = 5 };
			struct kpt_probe *pr = kpt_alloc(test, places[i].addr);
			bool post = how == 1;

			kpt_let_call(pr, post, &inner);
			if (post)
				pr->on_post = post_calls_once;
			else if (how == 2)
				pr->on_pre = pre_calls_once_without_softirqs;
			settle(test, pr);
			KUNIT_EXPECT_EQ(test, inner.fn(7), KPT_RESULT(7ul));
			KUNIT_EXPECT_EQ(test, inner.result, KPT_RESULT(5ul));
			KUNIT_EXPECT_EQ(test, pr->pre, 1);
			KUNIT_EXPECT_EQ(test, pr->post, post);
			KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 1ul);
			kpt_unregister(test, pr);
		}
	}
}

/* An interrupt that arrives over the handler that waits for it, and calls a function. */
struct intrusion {
	struct irq_work work;
	struct kpt_inner inner;
	bool awaited;
	bool over;
	bool done;
};

struct soft_intrusion {
	struct tasklet_struct tasklet;
	struct kpt_inner *inner;
};

static void intrude(struct irq_work *work)
{
	struct intrusion *in = container_of(work, struct intrusion, work);

	in->over = READ_ONCE(in->awaited);
	kpt_call_inner(&in->inner);
	/* The handler spins on the same CPU. */
	WRITE_ONCE(in->done, true);
}

static struct intrusion *alloc_intrusion(struct kunit *test, kpt_fn_t fn)
{
	struct intrusion *in = kunit_kzalloc(test, sizeof(*in), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, in);
	in->work = IRQ_WORK_INIT_HARD(intrude);
	in->inner.fn = fn;
	in->inner.arg = 5;
	return in;
}

static int pre_awaits_interrupt(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct intrusion *in = pr->arg;

	/* The interrupt may run this again. */
	if (pr->pre > 1)
		return 0;
	WRITE_ONCE(in->awaited, true);
	irq_work_queue(&in->work);
	kpt_spin_until(READ_ONCE(in->done), 2 * MSEC_PER_SEC);
	WRITE_ONCE(in->awaited, false);
	return 0;
}

static void post_awaits_interrupt(struct kpt_probe *pr, struct pt_regs *regs)
{
	if (pr->post == 1) {
		pr->pre = 1;
		pre_awaits_interrupt(pr, regs);
	}
}

static void check_hit_over(struct kunit *test, struct kpt_probe *busy, kpt_fn_t busy_fn,
			   bool from_post, kpt_fn_t fn, void *addr)
{
	struct intrusion *in = alloc_intrusion(test, fn);
	struct kpt_probe *pr = kpt_probe_post(test, addr);

	busy->arg = in;
	if (from_post) {
		busy->kp.post_handler = kpt_post;
		busy->on_post = post_awaits_interrupt;
	} else {
		busy->on_pre = pre_awaits_interrupt;
	}
	kpt_register(test, busy);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, busy_fn(7), KPT_RESULT(7ul));
	KUNIT_ASSERT_TRUE(test, in->done && in->over);
	KUNIT_EXPECT_EQ(test, in->inner.result, KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, busy->kp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
}

static void check_hit_by_interrupt(struct kunit *test, bool from_post, kpt_fn_t fn, void *addr)
{
	struct kpt_probe *busy = kpt_alloc(test, AT(two));

	check_hit_over(test, busy, kpt_jump_two, from_post, fn, addr);
	expect_jump(test, busy);
}

static void hit_by_interrupt_over_a_handler_runs(struct kunit *test)
{
	check_hit_by_interrupt(test, false, kpt_plain2, kpt_plain2);
}

static void jump_hit_by_interrupt_over_a_handler_runs(struct kunit *test)
{
	check_hit_by_interrupt(test, false, kpt_jump_alone, AT(alone));
}

static void jump_hit_by_interrupt_over_a_post_handler_runs(struct kunit *test)
{
	check_hit_by_interrupt(test, true, kpt_jump_alone, AT(alone));
}

/* The post-handler runs after a copy of the instruction: in the detour, */
static void copy_run_by_interrupt_over_a_handler_has_its_post_handler(struct kunit *test)
{
	check_hit_by_interrupt(test, false, kpt_jump_copied, AT(copied));
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/* or after a trap. No interrupt arrives over the handler of a breakpoint. */
static void step_by_interrupt_over_a_handler_has_its_post_handler(struct kunit *test)
{
	struct kpt_probe *busy = kpt_alloc(test, kpt_traced);

	kpt_forbid_jumps(test);
	check_hit_over(test, busy, kpt_traced, false, kpt_jump_copied, AT(copied));
	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&busy->kp));
}
#endif

/* The interrupt calls the function over whose handler it arrived. */
static void intrude_by_tasklet(struct tasklet_struct *t)
{
	kpt_call_inner(container_of(t, struct soft_intrusion, tasklet)->inner);
}

/*
 * A single probe on a jump: the detour calls its handler directly, but only in task
 * context.
 */
static void hit_from_a_handler_in_an_interrupt_is_missed(struct kunit *test)
{
	struct intrusion *in = alloc_intrusion(test, kpt_jump_two);
	struct kpt_probe *outer = kpt_alloc(test, AT(two));
	struct kpt_inner from_handler = { .fn = kpt_plain2, .arg = 5 };
	struct soft_intrusion soft;
	struct kpt_probe *pr;
	unsigned int n;

	soft.inner = &in->inner;
	tasklet_setup(&soft.tasklet, intrude_by_tasklet);
	kpt_let_call(outer, false, &from_handler);
	settle(test, outer);
	pr = kpt_probe(test, kpt_plain2);
	for (n = 1; n <= 2; n++) {
		in->inner.result = 0;
		from_handler.result = 0;
		if (n == 1) {
			irq_work_queue(&in->work);
			irq_work_sync(&in->work);
		} else {
			tasklet_schedule(&soft.tasklet);
			tasklet_kill(&soft.tasklet);
		}
		KUNIT_EXPECT_EQ(test, in->inner.result, KPT_RESULT(5ul));
		KUNIT_EXPECT_EQ(test, from_handler.result, KPT_RESULT(5ul));
		KUNIT_EXPECT_EQ(test, outer->pre, n);
		KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0ul);
		KUNIT_EXPECT_EQ(test, pr->pre, 0);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, (unsigned long)n);
	}
	expect_jump(test, outer);
}

static void own_hit_by_interrupt_over_a_handler_runs(struct kunit *test)
{
	struct intrusion *in = alloc_intrusion(test, kpt_jump_two);
	struct kpt_probe *first = kpt_probe(test, AT(two));
	struct kpt_probe *busy = kpt_alloc(test, AT(two));

	busy->arg = in;
	busy->on_pre = pre_awaits_interrupt;
	settle(test, busy);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_ASSERT_TRUE(test, in->done && in->over);
	KUNIT_EXPECT_EQ(test, in->inner.result, KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, first->pre, 2);
	KUNIT_EXPECT_EQ(test, first->kp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, busy->pre, 2);
	KUNIT_EXPECT_EQ(test, busy->kp.nmissed, 0ul);
}

#ifdef CONFIG_STACKTRACE
static void save_trace(struct kpt_probe *pr)
{
	struct kpt_trace *trace = pr->arg;

	trace->nr = stack_trace_save(trace->entries, KPT_TRACE_LEN, 0);
}

static int trace_in_pre(struct kpt_probe *pr, struct pt_regs *regs)
{
	save_trace(pr);
	return 0;
}

static void trace_in_post(struct kpt_probe *pr, struct pt_regs *regs)
{
	save_trace(pr);
}

/* The name as a trace shows it, up to a blank. */
static bool is_in(unsigned long addr, const char *function)
{
	char name[KSYM_SYMBOL_LEN];
	size_t len = strlen(function);

	sprint_symbol_no_offset(name, addr);
	return !strncmp(name, function, len) && (!name[len] || name[len] == ' ');
}

/*
 * The probed function, its caller and the caller's caller, next to each other. An unwinder
 * that guesses shows other words of the stack in between.
 */
static void expect_trace(struct kunit *test, const struct kpt_trace *trace,
			 const char *what)
{
	static const char * const callers[] = {
		"kpt_jump_traced", "kpt_jump_caller",
		"stack_trace_shows_the_function_and_its_callers",
	};
	unsigned int n, seen = 0;

	for (n = 0; n < trace->nr; n++) {
		if (is_in(trace->entries[n], callers[seen])) {
			if (++seen == ARRAY_SIZE(callers))
				return;
		} else if (!IS_ENABLED(CONFIG_UNWINDER_GUESS)) {
			seen = is_in(trace->entries[n], callers[0]);
		}
	}
	for (n = 0; n < trace->nr; n++)
		kunit_err(test, "%u: %pS", n, (void *)trace->entries[n]);
	KUNIT_FAIL(test, "%s: neither function nor callers in the trace", what);
}

static noinline void stack_trace_shows_the_function_and_its_callers(struct kunit *test)
{
	static struct kpt_trace trace;
	struct kpt_probe *pr;
	unsigned int post;

	for (post = 0; post < 2; post++) {
		pr = kpt_alloc(test, AT(traced));
		pr->arg = &trace;
		if (post) {
			pr->kp.post_handler = kpt_post;
			pr->on_post = trace_in_post;
		} else {
			pr->on_pre = trace_in_pre;
		}
		memset(&trace, 0, sizeof(trace));
		kpt_forbid_jumps(test);
		kpt_register(test, pr);
		kpt_jump_caller((unsigned long)kpt_jump_traced);
		expect_no_jump(test, pr);
		expect_trace(test, &trace, post ? "post, breakpoint" : "pre, breakpoint");
		memset(&trace, 0, sizeof(trace));
		kpt_allow_jumps(test);
		expect_jump(test, pr);
		kpt_jump_caller((unsigned long)kpt_jump_traced);
		expect_trace(test, &trace, post ? "post, jump" : "pre, jump");
		kpt_unregister(test, pr);
	}
}

/*
 * In a displaced call the trace is as if nothing had been displaced. The probe is where
 * the callee has set up its frame: unwinders that use frame pointers rely on that.
 */
static void stack_trace_from_a_displaced_call(struct kunit *test)
{
	static struct kpt_trace trace;
	struct kpt_probe *pr = kpt_alloc(test, AT(traced));
	bool called = false, seen = false;
	unsigned int n;

	memset(&trace, 0, sizeof(trace));
	pr->on_pre = trace_in_pre;
	pr->arg = &trace;
	kpt_register(test, pr);
	jump_probe(test, AT(calls));
	KUNIT_EXPECT_EQ(test, kpt_jump_calls(7), KPT_RESULT(7ul));
	for (n = 0; n < trace.nr && !seen; n++) {
		seen = called && is_in(trace.entries[n], "stack_trace_from_a_displaced_call");
		/* An unwinder that guesses may see others in between. */
		called = trace.entries[n] == (unsigned long)AT(calls) + 1 + CALL_INSN_SIZE ||
			 (called && IS_ENABLED(CONFIG_UNWINDER_GUESS));
	}
	KUNIT_EXPECT_TRUE(test, seen);
}
#endif /* CONFIG_STACKTRACE */

/* --- Faults -------------------------------------------------------------- */

/* A probe on @addr; @run loads from its argument, there or after it. */
static void check_fault(struct kunit *test, void *addr, kpt_fn_t run, bool first)
{
	unsigned long bad = (unsigned long)kpt_bad_address(test);
	unsigned long good = 17, result;
	struct kpt_probe *pr;
	unsigned int post;

	for (post = 0; post < 2; post++) {
		pr = post ? kpt_probe_post(test, addr) : kpt_probe(test, addr);
		wait_for_kprobe_optimizer();
		/*
		 * A task may sleep in a fault, right before the instruction. That
		 * is allowed for the first one.
		 */
		if (first)
			expect_jump(test, pr);
		else
			expect_no_jump(test, pr);
		KUNIT_EXPECT_EQ(test, run((unsigned long)&good), 17ul);
		KUNIT_EXPECT_EQ(test, run(bad), (unsigned long)KPT_FAULTED);
		KUNIT_EXPECT_EQ(test, run(KPT_BAD_ADDRESS), (unsigned long)KPT_FAULTED);
		KUNIT_EXPECT_EQ(test, run((unsigned long)&good), 17ul);
		KUNIT_EXPECT_EQ(test, pr->pre, 4);
		/* An instruction that did not complete runs no post-handler. */
		KUNIT_EXPECT_EQ(test, pr->post, post ? first ? 2 : 4 : 0);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
		preempt_disable();
		result = run(bad);
		preempt_enable();
		KUNIT_EXPECT_EQ(test, result, (unsigned long)KPT_FAULTED);
		kpt_unregister(test, pr);
	}
}

static unsigned long run_load(unsigned long arg)
{
	return kpt_load((void *)arg);
}

static void fault_in_the_first_displaced_instruction_is_fixed_up(struct kunit *test)
{
	check_fault(test, kpt_jump_at(kpt_load, kpt_load_at), run_load, true);
}

static void instruction_that_may_fault_inside_refuses(struct kunit *test)
{
	check_fault(test, AT(load), kpt_jump_load, false);
}

static void divide_error_in_a_displaced_instruction_is_fixed_up(struct kunit *test)
{
	struct kpt_probe *pr = jump_probe_post(test, kpt_jump_at(kpt_divide, kpt_divide_at));

	KUNIT_EXPECT_EQ(test, kpt_divide(7), 14ul);
	KUNIT_EXPECT_EQ(test, kpt_divide(0), (unsigned long)KPT_FAULTED);
	KUNIT_EXPECT_EQ(test, kpt_divide(7), 14ul);
	KUNIT_EXPECT_EQ(test, pr->pre, 3);
	KUNIT_EXPECT_EQ(test, pr->post, 2);
}

static void user_fault_in_a_displaced_instruction_is_paged_in(struct kunit *test)
{
	struct kpt_probe *pr;
	unsigned long area;
	unsigned int i;

	area = kpt_user_area(test, 4 * PAGE_SIZE);
	pr = kpt_probe_post(test, kpt_jump_at(kpt_load_user, kpt_load_user_at));
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, kpt_load_user((void __user *)(area + i * PAGE_SIZE)), 0ul);
	KUNIT_EXPECT_GE(test, pr->pre, 4);
	KUNIT_EXPECT_EQ(test, pr->post, 4);
	KUNIT_ASSERT_EQ(test, vm_munmap(area, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, kpt_load_user((void __user *)area), (unsigned long)KPT_FAULTED);
}

/* --- Return probes ------------------------------------------------------- */

#ifdef CONFIG_KRETPROBES
static unsigned long returned;

static int note_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	returned = regs_return_value(regs);
	return 0;
}

static void return_probe_on_a_jump(struct kunit *test)
{
	struct kretprobe rp = { .handler = note_return };
	struct kpt_probe *pr;
	bool jump;

	/* The entry, which is after the ENDBR. */
	rp.kp.addr = (void *)kpt_jump_two;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	pr = kpt_alloc(test, (void *)rp.kp.addr);
	if (register_kprobe(&pr->kp))
		KUNIT_FAIL(test, "no second probe there");
	wait_for_kprobe_optimizer();
	jump = kprobe_optimized(&rp.kp);
	returned = 0;
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, returned, KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	unregister_kprobe(&pr->kp);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kpt_jump_two(8), KPT_RESULT(8ul));
	KUNIT_EXPECT_EQ(test, returned, KPT_RESULT(8ul));
	KUNIT_EXPECT_TRUE(test, jump && kprobe_optimized(&rp.kp));
	unregister_kretprobe(&rp);
}
#endif

/* --- Switches ------------------------------------------------------------ */

static void sysctl_off_turns_all_back_and_on_again(struct kunit *test)
{
	struct kpt_probe *a, *b, *late;

	a = jump_probe(test, AT(two));
	b = jump_probe_post(test, AT(alone));
	kpt_forbid_jumps(test);
	expect_no_jump(test, a);
	expect_no_jump(test, b);
	late = kpt_probe(test, AT(loop));
	wait_for_kprobe_optimizer();
	expect_no_jump(test, a);
	expect_no_jump(test, late);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_jump_alone(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, a->pre, 1);
	KUNIT_EXPECT_EQ(test, b->pre, 1);
	KUNIT_EXPECT_EQ(test, b->post, 1);

	kpt_allow_jumps(test);
	expect_jump(test, a);
	expect_jump(test, b);
	expect_jump(test, late);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_jump_alone(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_jump_loop(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, a->pre, 2);
	KUNIT_EXPECT_EQ(test, b->post, 2);
	KUNIT_EXPECT_EQ(test, late->pre, 3);
}

static void sysctl_is_zero_or_one(struct kunit *test)
{
	static const char * const wrong[] = { "2\n", "-1\n", "on\n" };
	struct kpt_probe *pr = jump_probe(test, AT(two));
	unsigned int i, on;

	for (on = 1; on < 2; on--) {
		for (i = 0; i < ARRAY_SIZE(wrong); i++)
			KUNIT_EXPECT_EQ_MSG(test, (ssize_t)-EINVAL,
					    kpt_write_sysctl(test,
							     "sys/debug/kprobes-optimization",
							     wrong[i]),
					    "%s", wrong[i]);
		KUNIT_EXPECT_EQ(test, kprobe_optimized(&pr->kp), on);
		if (on)
			kpt_forbid_jumps(test);
		wait_for_kprobe_optimizer();
	}
}

/* Once no hit can be in the detour any more, its memory may be reused. */
static void breakpoint_again_it_does_not_use_the_detour(struct kunit *test)
{
	struct kpt_probe *pr = jump_probe(test, AT(two));
	struct kpt_probe *post = jump_probe_post(test, AT(copied));

	kpt_forbid_jumps(test);
	/* Wait until the detour has been erased. */
	kpt_counts(true);
	expect_no_jump(test, pr);
	expect_no_jump(test, post);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_jump_copied(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, post->pre, 1);
	KUNIT_EXPECT_EQ(test, post->post, 1);
}

/* The optimizer has points queued, but has not begun. */
static void sysctl_off_keeps_back_those_that_wait(struct kunit *test)
{
	struct kpt_probe *pr;
	unsigned int detours;

	detours = kpt_counts(true).detours.live;
	pr = kpt_probe(test, AT(two));
	kpt_forbid_jumps(test);
	wait_for_kprobe_optimizer();
	expect_no_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_counts(false).detours.live, detours);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

static void switched_off_as_a_whole_the_text_is_the_original(struct kunit *test)
{
	unsigned char before[16];
	struct kpt_probe *pr;

	kpt_needs_debugfs(test);
	memcpy(before, AT(two), sizeof(before));
	pr = jump_probe(test, AT(two));
	KUNIT_ASSERT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/enabled", "0"), 1l);
	KUNIT_EXPECT_MEMEQ(test, before, AT(two), sizeof(before));
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_MEMEQ(test, before, AT(two), sizeof(before));
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_ASSERT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/enabled", "1"), 1l);
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

static void list_shows_optimized(struct kunit *test)
{
	struct kpt_probe *pr, *other;
	char *list, *line;

	kpt_needs_debugfs(test);
	pr = jump_probe(test, AT(two));
	other = kpt_probe(test, AT(target));
	wait_for_kprobe_optimizer();
	list = kpt_read(test, &kpt_debugfs, "kprobes/list");
	line = kpt_line_with(test, list, "kpt_jump_two+");
	KUNIT_ASSERT_NOT_NULL(test, line);
	KUNIT_EXPECT_NOT_NULL(test, strstr(line, "[OPTIMIZED]"));
	line = kpt_line_with(test, list, "kpt_jump_target+");
	KUNIT_ASSERT_NOT_NULL(test, line);
	KUNIT_EXPECT_NULL(test, strstr(line, "[OPTIMIZED]"));
	expect_jump(test, pr);
	expect_no_jump(test, other);
}

/*
 * The ftrace selftest kprobe_opt_types sets a probe and looks at once. Each read of the list
 * waits for at most a second, and a tasks-RCU grace period may take longer.
 */
static void list_shows_as_optimized_what_was_just_registered(struct kunit *test)
{
	int readings = 20;
	bool tagged;
	char *line;

	kpt_needs_debugfs(test);
	kpt_probe(test, AT(two));
	do {
		line = kpt_line_with(test, kpt_read(test, &kpt_debugfs, "kprobes/list"),
				     "kpt_jump_two+");
		KUNIT_ASSERT_NOT_NULL(test, line);
		tagged = strstr(line, "[OPTIMIZED]");
	} while (!tagged && --readings);
	KUNIT_EXPECT_TRUE(test, tagged);
}

/*
 * The optimizer waits for nothing if no point can be a jump. A reader that nobody wakes up
 * takes a second. On a loaded machine, one of several has to be quick.
 */
static void list_is_read_as_soon_as_the_optimizer_is_done(struct kunit *test)
{
	unsigned long begin, took, least = ULONG_MAX;
	unsigned int i;

	kpt_needs_debugfs(test);
	for (i = 0; i < 5 && least > HZ / 2; i++) {
		struct kpt_probe *pr = kpt_probe(test, AT(target));

		begin = jiffies;
		KUNIT_EXPECT_NOT_NULL(test, kpt_line_with(test, kpt_read(test, &kpt_debugfs,
									 "kprobes/list"),
							  "kpt_jump_target+"));
		took = jiffies - begin;
		least = min(least, took);
		kpt_unregister(test, pr);
	}
	KUNIT_EXPECT_LE(test, least, HZ / 2);
}

/* Not beside another reason. */
static void branch_is_named_only_if_it_is_the_reason(struct kunit *test)
{
	struct kpt_probe *pr;

	kpt_needs_debugfs(test);
	pr = kpt_probe(test, AT(target));
	wait_for_kprobe_optimizer();
	expect_no_jump_because(test, pr, "a branch leads inside: kpt_jump_target");
	kpt_forbid_jumps(test);
	KUNIT_EXPECT_STREQ(test, last_column(kpt_jump_reason(test, &pr->kp)), "switched off");
	kpt_allow_jumps(test);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_STREQ(test, last_column(kpt_jump_reason(test, &pr->kp)), "disarmed");
	kpt_forbid_jumps(test);
	KUNIT_EXPECT_STREQ(test, last_column(kpt_jump_reason(test, &pr->kp)), "disarmed");
}

/* The last column is "jump", or the reason why the point is not one. */
static void reasons_are_in_the_points_file(struct kunit *test)
{
	static const struct {
		const char *name;
		const char *reason;
	} points[] = {
		{ "kpt_jump_two+", "jump" },
		{ "kpt_jump_target+", "a branch leads inside" },
		{ "kpt_jump_last+", "the function ends" },
		{ "kpt_jump_fixup+", "a fault is fixed up inside" },
		{ "kpt_jump_ud2+", "an instruction cannot run elsewhere" },
	};
	struct kpt_probe *pr;
	char *text, *line;
	unsigned int i;

	kpt_needs_debugfs(test);
	pr = jump_probe(test, AT(two));
	kpt_probe(test, AT(target));
	kpt_probe(test, AT(last));
	kpt_probe(test, AT(fixup));
	kpt_probe(test, AT(ud2));
	wait_for_kprobe_optimizer();
	text = kpt_read(test, &kpt_debugfs, "kprobes/points");
	for (i = 0; i < ARRAY_SIZE(points); i++) {
		line = kpt_line_with(test, text, points[i].name);
		KUNIT_ASSERT_NOT_NULL_MSG(test, line, "%s is not in it", points[i].name);
		KUNIT_EXPECT_EQ(test, strspn(line, "0123456789abcdef"), 2 * sizeof(long));
		KUNIT_EXPECT_EQ(test, strncmp(line + 2 * sizeof(long),
					      i ? "  breakpoint  " : "  jump  ",
					      i ? 14 : 8), 0);
		KUNIT_EXPECT_TRUE_MSG(test, str_has_prefix(last_column(line), points[i].reason),
				      "%s", line);
	}
	KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
	line = kpt_line_with(test, kpt_read(test, &kpt_debugfs, "kprobes/points"),
			     points[0].name);
	KUNIT_ASSERT_NOT_NULL(test, line);
	KUNIT_EXPECT_STREQ(test, last_column(line), "disarmed");
	kpt_unregister(test, pr);
	text = kpt_read(test, &kpt_debugfs, "kprobes/points");
	KUNIT_EXPECT_NULL(test, strstr(text, "kpt_jump_two+"));
}

static struct kunit_case jump_cases[] = {
	KUNIT_CASE(text_becomes_a_jump_soon_after_registration),
	KUNIT_CASE(instruction_of_five_bytes_alone_becomes_one),
	KUNIT_CASE(five_bytes_need_no_view_of_the_function),
	KUNIT_CASE(branch_to_the_first_byte_is_no_obstacle),
	KUNIT_CASE(padding_after_a_return_is_room_enough),
	KUNIT_CASE(probe_in_the_padding_after_a_return_refuses),
	KUNIT_CASE(bytes_on_two_pages_become_one),
	KUNIT_CASE(displaced_call_returns_into_the_function),
	KUNIT_CASE(displaced_call_leaves_the_true_return_address),
	KUNIT_CASE(disabled_at_registration_becomes_one_when_enabled),
	KUNIT_CASE(branch_target_inside_refuses),
	KUNIT_CASE(branch_target_at_each_inner_byte_refuses),
	KUNIT_CASE(vector_instructions_do_not_branch),
	KUNIT_CASE(branch_target_inside_a_long_first_instruction_refuses),
	KUNIT_CASE(branch_at_the_end_of_what_is_read_at_once_is_found),
	KUNIT_CASE(branch_that_leads_inside_is_named),
#ifdef MODULE
	KUNIT_CASE(what_a_file_needs_to_know_of_a_module_is_not_kept),
#endif
	KUNIT_CASE(return_into_the_bytes_of_a_jump_refuses),
	KUNIT_CASE(target_of_each_kind_of_branch_refuses),
	KUNIT_CASE(target_of_a_branch_of_each_condition_refuses),
	KUNIT_CASE(function_that_shares_code_with_its_neighbour_is_left_alone),
	KUNIT_CASE(each_point_of_a_function_that_shares_code_is_left_alone),
	KUNIT_CASE(branch_target_of_code_without_a_symbol_refuses),
	KUNIT_CASE(fixup_or_label_in_code_without_a_symbol_refuses),
	KUNIT_CASE(call_of_code_without_a_symbol_does_not_refuse),
	KUNIT_CASE(code_without_a_symbol_gets_no_jump),
	KUNIT_CASE(end_that_is_not_aligned_is_no_obstacle),
	KUNIT_CASE(target_of_a_jump_label_inside_refuses),
	KUNIT_CASE(label_whose_address_is_taken_refuses),
	KUNIT_CASE(function_that_cannot_be_decoded_is_left_alone),
#ifdef CONFIG_CFI_CLANG
	KUNIT_CASE(cleared_hash_does_not_run_into_the_next_function),
	KUNIT_CASE(code_after_zeros_is_no_cleared_hash),
#endif
	KUNIT_CASE(part_that_cannot_be_decoded_is_left_alone),
#ifdef CONFIG_X86_32
	KUNIT_CASE(more_prefixes_than_the_decoder_counts_refuse),
#endif
	KUNIT_CASE(branch_is_that_of_the_point_or_none),
	KUNIT_CASE(branch_target_of_the_cold_part_inside_refuses),
	KUNIT_CASE(branch_target_in_the_cold_part_refuses),
	KUNIT_CASE(function_and_its_cold_part_share_no_code_with_others),
	KUNIT_CASE(branch_target_of_a_cold_part_of_the_kernel_refuses),
	KUNIT_CASE(branch_target_of_one_of_two_cold_parts_refuses),
	KUNIT_CASE(branch_target_of_a_numbered_cold_part_refuses),
	KUNIT_CASE(branch_target_of_the_cold_part_of_merged_functions_refuses),
#ifdef CONFIG_X86_32
	KUNIT_CASE(target_of_a_computed_jump_inside_refuses),
	KUNIT_CASE(branch_target_of_a_neighbour_inside_refuses),
#endif
	KUNIT_CASE(fixup_target_inside_refuses),
	KUNIT_CASE(fixups_of_the_kernel_are_known_from_first_to_last),
#ifdef MODULE
	KUNIT_CASE(fixup_of_the_only_entry_of_a_module_refuses),
	KUNIT_CASE(function_without_a_size_becomes_one),
#endif
	KUNIT_CASE(fault_at_each_inner_byte_refuses),
	KUNIT_CASE(bug_trap_inside_refuses),
#ifdef CONFIG_X86_64
	KUNIT_CASE(operand_that_a_copy_cannot_reach_is_enomem),
	KUNIT_CASE(operand_that_a_detour_cannot_reach_refuses),
#endif
	KUNIT_CASE(ftrace_site_inside_refuses),
	KUNIT_CASE(ftrace_site_itself_is_no_jump),
	KUNIT_CASE(end_of_the_function_inside_refuses),
	KUNIT_CASE(jump_label_inside_refuses),
#ifdef CONFIG_JUMP_LABEL
	KUNIT_CASE(jump_right_before_a_jump_label_is_allowed),
#endif
	KUNIT_CASE(static_call_inside_refuses),
	KUNIT_CASE(neighbour_inside_turns_it_back_and_its_leaving_again),
	KUNIT_CASE(neighbour_at_each_inner_byte_turns_it_back),
	KUNIT_CASE(neighbour_that_was_first_keeps_it_a_breakpoint),
	KUNIT_CASE(nearest_of_the_points_before_is_turned_back),
	KUNIT_CASE(neighbour_that_is_switched_off_and_on),
	KUNIT_CASE(disabled_probe_on_a_jump_is_hit_once_it_is_enabled),
	KUNIT_CASE(jumps_stand_side_by_side),
	KUNIT_CASE(probes_on_every_byte_are_all_hit),
	KUNIT_CASE(disable_restores_the_text_and_enable_the_jump),
	KUNIT_CASE(unregister_restores_the_bytes),
	KUNIT_CASE(batch_becomes_jumps_and_leaves_together),
	KUNIT_CASE(post_handler_sees_the_registers_after_the_first_instruction),
	KUNIT_CASE(post_handler_may_change_registers),
	KUNIT_CASE(ip_reads_one_after_the_probe),
	KUNIT_CASE(pre_handler_may_change_registers),
	KUNIT_CASE(changed_ip_is_honoured),
	KUNIT_CASE(changed_ip_to_the_second_displaced_instruction),
	KUNIT_CASE(changed_ip_to_after_the_jump),
	KUNIT_CASE(changed_ip_to_each_displaced_instruction),
	KUNIT_CASE(post_handler_may_change_where_a_jump_goes_on),
	KUNIT_CASE(handler_may_go_on_in_the_bytes_of_another_jump),
	KUNIT_CASE(handler_may_go_on_at_each_byte_of_another_jump),
	KUNIT_CASE(ftrace_site_may_go_on_in_the_bytes_of_a_jump),
	KUNIT_CASE(fault_handler_may_go_on_in_the_bytes_of_a_jump),
	KUNIT_CASE(handler_may_return_from_the_function),
	KUNIT_CASE(several_probes_run_in_order),
	KUNIT_CASE(several_probes_run_until_one_is_nonzero),
	KUNIT_CASE(probes_come_and_go_on_a_jump),
	KUNIT_CASE(null_handlers_in_every_combination),
	KUNIT_CASE(handlers_see_interrupts_as_the_function_has_them),
	KUNIT_CASE(handlers_run_with_preemption_off),
	KUNIT_CASE(handlers_of_several_probes_run_with_preemption_off),
	KUNIT_CASE(handlers_run_with_the_flags_of_compiled_code),
	KUNIT_CASE(displaced_code_elsewhere_in_the_detour_has_the_flags),
	KUNIT_CASE(registers_are_those_that_a_breakpoint_shows),
#ifdef CONFIG_X86_64
	KUNIT_CASE(post_handler_of_a_jump_sees_no_system_call),
#endif
#ifdef CONFIG_X86_32
	KUNIT_CASE(handlers_run_in_the_segments_of_the_kernel),
	KUNIT_CASE(post_handler_leaves_the_segments_of_the_function),
	KUNIT_CASE(each_instruction_that_loads_a_segment_is_noticed),
#endif
	KUNIT_CASE(every_changed_register_takes_effect),
	KUNIT_CASE(hit_from_a_handler_is_missed),
	KUNIT_CASE(own_hit_from_a_handler_is_missed),
	KUNIT_CASE(hit_by_interrupt_over_a_handler_runs),
	KUNIT_CASE(jump_hit_by_interrupt_over_a_handler_runs),
	KUNIT_CASE(jump_hit_by_interrupt_over_a_post_handler_runs),
	KUNIT_CASE(copy_run_by_interrupt_over_a_handler_has_its_post_handler),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(step_by_interrupt_over_a_handler_has_its_post_handler),
#endif
	KUNIT_CASE(hit_from_a_handler_in_an_interrupt_is_missed),
	KUNIT_CASE(own_hit_by_interrupt_over_a_handler_runs),
#ifdef CONFIG_STACKTRACE
	KUNIT_CASE(stack_trace_shows_the_function_and_its_callers),
	KUNIT_CASE(stack_trace_from_a_displaced_call),
#endif
	KUNIT_CASE(fault_in_the_first_displaced_instruction_is_fixed_up),
	KUNIT_CASE(instruction_that_may_fault_inside_refuses),
	KUNIT_CASE(instruction_of_the_kernel_that_may_fault_inside_refuses),
	KUNIT_CASE(divide_error_in_a_displaced_instruction_is_fixed_up),
	KUNIT_CASE(user_fault_in_a_displaced_instruction_is_paged_in),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(return_probe_on_a_jump),
#endif
	KUNIT_CASE(sysctl_off_turns_all_back_and_on_again),
	KUNIT_CASE(sysctl_is_zero_or_one),
	KUNIT_CASE(breakpoint_again_it_does_not_use_the_detour),
	KUNIT_CASE(sysctl_off_keeps_back_those_that_wait),
	KUNIT_CASE(switched_off_as_a_whole_the_text_is_the_original),
	KUNIT_CASE(list_shows_optimized),
	KUNIT_CASE(list_shows_as_optimized_what_was_just_registered),
	KUNIT_CASE(list_is_read_as_soon_as_the_optimizer_is_done),
	KUNIT_CASE(branch_is_named_only_if_it_is_the_reason),
	KUNIT_CASE(reasons_are_in_the_points_file),
	KUNIT_CASE(handler_may_move_the_stack_pointer),
	KUNIT_CASE(handler_may_push_five_words_before_one_that_pushes),
	KUNIT_CASE(handler_may_move_the_stack_pointer_and_leave),
#ifdef CONFIG_X86_64
	KUNIT_CASE(registers_are_never_below_the_stack_pointer),
#endif
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite jump_suite = {
	.name = "kprobes_jump",
	.suite_init = kpt_files_suite_init,
	.suite_exit = kpt_unmount_files,
	.init = kpt_case_init,
	.test_cases = jump_cases,
};

kunit_test_suite(jump_suite);

MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
