// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: x86 instructions under probes. Each one runs from known
 * registers, flags and memory, first unprobed and then under every kind of
 * probe, and must leave exactly the same results.
 */
#include <linux/cpumask.h>
#include <linux/kcsan-checks.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>
#include <asm/ibt.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include <asm/text-patching.h>

#include "fixture.h"
#include "insn_x86.h"
/* The kinds of instructions. */
#include "../../../arch/x86/kernel/kprobes/common.h"

static_assert(UNDEF_DIV == (X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |
			    X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF));

static const char * const reg_names[NR_REGS] = {
	"ax", "bx", "cx", "dx", "si", "di", "bp",
#ifdef CONFIG_X86_64
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
#endif
	"flags", "sp",
};

/* One test runs at a time. */
unsigned long kpt_insn_in[NR_REGS];
unsigned long kpt_insn_out[NR_REGS];
unsigned long kpt_insn_sp;
void (*kpt_insn_fn)(void);
unsigned char kpt_insn_scratch[SCRATCH_SIZE] __aligned(64);

/* The next case of this kind after @c, or the first in @table if @c is NULL; or NULL. */
static const void *next_case(const struct insn_case *table, const struct insn_case *c,
			     unsigned int kind, char *desc)
{
	c = c ? c + 1 : table;
	while (c->title && (c->how & NEVER_RUN) != kind)
		c++;
	if (!c->title)
		return NULL;
	strscpy(desc, c->title, KUNIT_PARAM_DESC_SIZE);
	return c;
}

static const void *data_gen(const void *prev, char *desc)
{
	return next_case(kpt_insn_data, prev, 0, desc);
}

static const void *alu_gen(const void *prev, char *desc)
{
	return next_case(kpt_insn_alu, prev, 0, desc);
}

static const void *flow_gen(const void *prev, char *desc)
{
	return next_case(kpt_insn_flow, prev, 0, desc);
}

static const void *refused_gen(const void *prev, char *desc)
{
	return next_case(kpt_insn_flow, prev, REFUSED, desc);
}

static const void *allowed_gen(const void *prev, char *desc)
{
	return next_case(kpt_insn_flow, prev, ALLOWED, desc);
}

/* With all combinations of CF, PF, ZF, SF and OF there are 32. */
#define NR_STATES	32
#define FEW_STATES	8

static unsigned int nr_states(const struct insn_case *c)
{
	return (c->how & ALL_FLAGS ? NR_STATES : FEW_STATES) / KPT_STRIDE;
}

struct outcome {
	unsigned long regs[NR_REGS];
	unsigned char scratch[SCRATCH_SIZE];
};

static void make_state(struct rnd_state *rnd, unsigned int n)
{
	static const unsigned long flags[] = {
		X86_EFLAGS_CF, X86_EFLAGS_PF, X86_EFLAGS_ZF, X86_EFLAGS_SF,
		X86_EFLAGS_OF,
	};
	unsigned int i;

	prandom_bytes_state(rnd, kpt_insn_scratch, SCRATCH_SIZE);
	prandom_bytes_state(rnd, kpt_insn_in, sizeof(kpt_insn_in));
	/* Far enough from both ends for whatever the cases do. */
	kpt_insn_in[R_SI] = (unsigned long)kpt_insn_scratch + 128;
	kpt_insn_in[R_DI] = (unsigned long)kpt_insn_scratch + 256;
	kpt_insn_in[R_BX] = (unsigned long)kpt_insn_scratch + 64;
	kpt_insn_in[R_BP] = (unsigned long)kpt_insn_scratch + 384;
	/* If only a few states run, pick them from all over the range. */
	n = n * 11 % NR_STATES;
	kpt_insn_in[R_FLAGS] = X86_EFLAGS_FIXED | X86_EFLAGS_IF |
			       (kpt_insn_in[R_FLAGS] & X86_EFLAGS_AF);
	for (i = 0; i < ARRAY_SIZE(flags); i++)
		if (n & BIT(i))
			kpt_insn_in[R_FLAGS] |= flags[i];
}

/* Called from the same place each time, as the stack pointer is part of the result. */
static noinline void run_states(const struct insn_case *c, struct outcome *out,
				unsigned int nr)
{
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, 6120);
	kpt_insn_fn = c->fn;
	for (i = 0; i < nr; i++) {
		make_state(&rnd, i);
		kpt_insn_run();
		memcpy(out[i].regs, kpt_insn_out, sizeof(kpt_insn_out));
		memcpy(out[i].scratch, kpt_insn_scratch, SCRATCH_SIZE);
	}
}

/*
 * An expectation that returns whether it held: one line about an instruction that
 * failed is enough.
 */
#define SAME(test, got, want, fmt, ...)					\
({									\
	unsigned long __got = (got), __want = (want);			\
									\
	if (__got != __want)						\
		KUNIT_FAIL(test, fmt ": 0x%lx, expected 0x%lx",		\
			   ##__VA_ARGS__, __got, __want);		\
	__got == __want;						\
})

static bool compare(struct kunit *test, const struct insn_case *c, const char *mode,
		    const struct outcome *expected, const struct outcome *got,
		    unsigned int nr)
{
	unsigned long ignore;
	unsigned int i, r;

	for (i = 0; i < nr; i++) {
		for (r = 0; r < NR_REGS; r++) {
			ignore = r == R_FLAGS ? c->undef : 0ul;
			if ((c->how & CLOBBERS) && r <= R_DX)
				ignore = ~0ul;
#ifdef CONFIG_X86_64
			if ((c->how & FTRACE) && r == R_R11)
				ignore = ~0ul;
#endif
			if (!SAME(test, got[i].regs[r] & ~ignore,
				  expected[i].regs[r] & ~ignore,
				  "%s: %s, state %u, %s", c->title, mode, i, reg_names[r]))
				return false;
		}
		if (!SAME(test, !!memcmp(got[i].scratch, expected[i].scratch, SCRATCH_SIZE), 0,
			  "%s: %s, state %u, memory differs", c->title, mode, i))
			return false;
	}
	return true;
}

/* Kinds of probes to set together. */
static const struct probe_mode {
	const char *name;
	struct {
		bool set;
		bool pre;
		bool post;
	} probe[2];
} probe_modes[] = {
	{ "no handlers", { { true } } },
	{ "pre", { { true, true } } },
	{ "post", { { true, false, true } } },
	{ "pre and post", { { true, true, true } } },
	{ "plain, then one with post", { { true, true }, { true, true, true } } },
	{ "one with post, then plain", { { true, true, true }, { true, true } } },
};

/* In the order of kpt_insn_in, except for the stack pointer. */
static void general_registers(const struct pt_regs *regs, unsigned long *r)
{
	r[R_AX] = regs->ax;
	r[R_BX] = regs->bx;
	r[R_CX] = regs->cx;
	r[R_DX] = regs->dx;
	r[R_SI] = regs->si;
	r[R_DI] = regs->di;
	r[R_BP] = regs->bp;
#ifdef CONFIG_X86_64
	r[R_R8] = regs->r8;
	r[R_R9] = regs->r9;
	r[R_R10] = regs->r10;
	r[R_R11] = regs->r11;
	r[R_R12] = regs->r12;
	r[R_R13] = regs->r13;
	r[R_R14] = regs->r14;
	r[R_R15] = regs->r15;
#endif
	r[R_FLAGS] = regs->flags;
}

#define FLAGS_SEEN	(UNDEF_DIV | X86_EFLAGS_DF | X86_EFLAGS_IF | X86_EFLAGS_TF)

static bool check_registers(struct kunit *test, const struct insn_case *c, const char *mode,
			    const struct pt_regs *regs, const unsigned long *expected)
{
	unsigned long r[NR_REGS];
	unsigned int i;

	general_registers(regs, r);
	for (i = 0; i < R_FLAGS; i++) {
		if ((c->how & CLOBBERS) && i <= R_DX)
			continue;
		if (!SAME(test, r[i], expected[i], "%s: %s, handler's %s", c->title, mode,
			  reg_names[i]))
			return false;
	}
	return SAME(test, r[R_FLAGS] & FLAGS_SEEN & ~(unsigned long)c->undef,
		    expected[R_FLAGS] & FLAGS_SEEN & ~(unsigned long)c->undef,
		    "%s: %s, handler's flags", c->title, mode) &&
	       SAME(test, kernel_stack_pointer((struct pt_regs *)regs) + sizeof(long),
		    expected[R_SP], "%s: %s, handler's sp", c->title, mode);
}

/* SS is right below the stack of the code, where a push writes to. */
static bool check_segments(struct kunit *test, const struct insn_case *c, const char *mode,
			   const struct pt_regs *regs)
{
	return SAME(test, regs->cs & 0xffff, __KERNEL_CS, "%s: %s, handler's cs", c->title, mode) &&
	       SAME(test, regs->ss & 0xffff, __KERNEL_DS, "%s: %s, handler's ss", c->title, mode);
}

/*
 * @last is the result of the latest call. If nothing precedes the instruction, the
 * pre-handler must have seen the input of the call. If nothing follows it, the
 * post-handler must have seen the result.
 */
static bool check_handlers(struct kunit *test, const struct insn_case *c,
			   const struct probe_mode *mode, unsigned int n,
			   const struct kpt_probe *pr, unsigned int hits,
			   const unsigned long *last)
{
	bool taken = !(c->how & CONDITIONAL) || last[R_AX] == 2;
	bool branch = (c->how & BRANCH) && c->next == c->end;
	unsigned long fn = (unsigned long)c->fn;
	unsigned long given[NR_REGS];

	if (!SAME(test, pr->pre, mode->probe[n].pre ? hits : 0, "%s: %s, hits before it",
		  c->title, mode->name) ||
	    !SAME(test, pr->post, mode->probe[n].post ? hits : 0, "%s: %s, hits after it",
		  c->title, mode->name) ||
	    !SAME(test, pr->kp.nmissed, 0, "%s: %s, missed", c->title, mode->name))
		return false;
	if (mode->probe[n].pre) {
		if (!SAME(test, pr->pre_regs.ip, fn + c->at + 1, "%s: %s, ip before it",
			  c->title, mode->name))
			return false;
		if (!check_segments(test, c, mode->name, &pr->pre_regs))
			return false;
		memcpy(given, kpt_insn_in, sizeof(given));
		given[R_SP] = kpt_insn_sp - INSN_STACK;
		if (c->at == ENDBR_INSN_SIZE &&
		    !check_registers(test, c, mode->name, &pr->pre_regs, given))
			return false;
	}
	if (mode->probe[n].post) {
		if ((!branch || c->to) &&
		    !SAME(test, pr->post_regs.ip, fn + (branch && taken ? c->to : c->next),
			  "%s: %s, ip after it", c->title, mode->name))
			return false;
		if (c->next == c->done && !branch &&
		    !check_registers(test, c, mode->name, &pr->post_regs, last))
			return false;
		if (!SAME(test, pr->post_regs.flags & X86_EFLAGS_TF, 0, "%s: %s, TF",
			  c->title, mode->name))
			return false;
		if (!SAME(test, pr->post_flags, 0, "%s: %s, argument of the post-handler",
			  c->title, mode->name))
			return false;
		if (!check_segments(test, c, mode->name, &pr->post_regs))
			return false;
	}
	return true;
}

/* Under each kind of probe, @c has to do what @as does unprobed. */
static void check_does_as(struct kunit *test, const struct insn_case *c,
			  const struct insn_case *as)
{
	unsigned int nr = nr_states(c);
	struct outcome *expected, *got;
	struct kpt_probe *pr[2];
	unsigned int m, n;

	expected = kunit_kcalloc(test, NR_STATES, sizeof(*expected), GFP_KERNEL);
	got = kunit_kcalloc(test, NR_STATES, sizeof(*got), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, expected);
	KUNIT_ASSERT_NOT_NULL(test, got);
	/* Some instructions read per-CPU state. The thread ends with the case. */
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	kpt_forbid_jumps(test);

	run_states(as, expected, nr);
	for (m = 0; m < ARRAY_SIZE(probe_modes); m++) {
		const struct probe_mode *mode = &probe_modes[m];

		for (n = 0; n < 2 && mode->probe[n].set; n++) {
			pr[n] = kpt_alloc_with(test, (char *)c->fn + c->at,
					       mode->probe[n].pre, mode->probe[n].post);
			kpt_register(test, pr[n]);
		}
		/* One that could be emulated would do the same as a copy, but more slowly. */
		if (!(c->how & FTRACE) &&
		    !SAME(test, kpt_insn_of(pr[0]).kind != X86_COPY,
			  !!(c->how & (EMULATED | BRANCH)), "%s: %s, emulated",
			  c->title, mode->name))
			return;
		memset(got, 0, nr * sizeof(*got));
		run_states(c, got, nr);
		if (!compare(test, c, mode->name, expected, got, nr))
			return;
		for (n = 0; n < 2 && mode->probe[n].set; n++) {
			if (!check_handlers(test, c, mode, n, pr[n], nr * c->hits,
					    got[nr - 1].regs))
				return;
			kpt_unregister(test, pr[n]);
		}
	}
	memset(got, 0, nr * sizeof(*got));
	run_states(as, got, nr);
	compare(test, c, "unprobed again", expected, got, nr);
}

static void check_instruction(struct kunit *test)
{
	check_does_as(test, test->param_value, test->param_value);
}

static void probed_data_instruction_does_as_unprobed(struct kunit *test)
{
	check_instruction(test);
}

static void probed_alu_instruction_does_as_unprobed(struct kunit *test)
{
	check_instruction(test);
}

static void probed_branch_does_as_unprobed(struct kunit *test)
{
	check_instruction(test);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/*
 * Tracers of functions change flags, and other kernels may trace all of them. So compare
 * with a function that has no site. 32 bits leave flags as they are after the hit.
 */
static void ftrace_site_does_nothing_under_a_probe(struct kunit *test)
{
	const struct insn_case returns = {
		.fn = kpt_asm_returns,
	}, traced = {
		.title = "ftrace site",
		.fn = kpt_asm_traced,
		.at = ENDBR_INSN_SIZE,
		.next = ENDBR_INSN_SIZE + MCOUNT_INSN_SIZE,
		.done = ENDBR_INSN_SIZE + MCOUNT_INSN_SIZE,
		.end = ENDBR_INSN_SIZE + MCOUNT_INSN_SIZE,
		.undef = IS_ENABLED(CONFIG_X86_32) ? UNDEF_DIV : 0,
		.how = ALL_FLAGS | FTRACE,
		.hits = 1,
	};
	struct kpt_probe *pr;

	if (IS_ENABLED(CONFIG_FTRACE_MCOUNT_USE_OBJTOOL))
		kunit_skip(test, "objtool lists no ftrace sites of assembler");
	pr = kpt_probe(test, kpt_asm_traced);
	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&pr->kp));
	kpt_unregister(test, pr);
	check_does_as(test, &traced, &returns);
}
#endif

static void instruction_is_refused(struct kunit *test)
{
	const struct insn_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, kpt_refused((char *)c->fn + c->at),
			c->how & TRAP ? -EINVAL : -EILSEQ);
}

static void instruction_is_allowed(struct kunit *test)
{
	const struct insn_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, kpt_refused((char *)c->fn + c->at), 0);
}

#ifdef CONFIG_OPTPROBES
/*
 * The same with jumps. All cases of a table are probed together, because it takes a
 * while until they are jumps.
 */

/**
 * struct jump_run - a table, and the kind of probes set on all of it
 * @table: the cases, without those that never run
 * @mode:  see probe_modes
 */
struct jump_run {
	const struct insn_case *table;
	const struct probe_mode *mode;
};

#define ALL_MODES	GENMASK(ARRAY_SIZE(probe_modes) - 1, 0)
#define SOME_MODES	(BIT(1) | BIT(3) | BIT(5))

static const struct {
	const char *title;
	const struct insn_case *table;
	unsigned long modes;
} jump_tables[] = {
	{ "data", kpt_insn_data, ALL_MODES },
	{ "alu", kpt_insn_alu, ALL_MODES },
	{ "flow", kpt_insn_flow, ALL_MODES },
	{ "data after one", kpt_insn_data_after_one, SOME_MODES },
	{ "alu after one", kpt_insn_alu_after_one, SOME_MODES },
	{ "flow after one", kpt_insn_flow_after_one, SOME_MODES },
	{ "data after four", kpt_insn_data_after_four, SOME_MODES },
	{ "alu after four", kpt_insn_alu_after_four, SOME_MODES },
	{ "flow after four", kpt_insn_flow_after_four, SOME_MODES },
};

static const void *jump_run_gen(const void *prev, char *desc)
{
	static struct jump_run runs[ARRAY_SIZE(jump_tables) * ARRAY_SIZE(probe_modes)];
	struct jump_run *run = prev ? (struct jump_run *)prev + 1 : runs;
	unsigned int table, mode;

	for (; run < runs + ARRAY_SIZE(runs); run++) {
		table = (run - runs) / ARRAY_SIZE(probe_modes);
		mode = (run - runs) % ARRAY_SIZE(probe_modes);
		if (!(jump_tables[table].modes & BIT(mode)))
			continue;
		run->table = jump_tables[table].table;
		run->mode = &probe_modes[mode];
		snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s: %s", jump_tables[table].title,
			 run->mode->name);
		return run;
	}
	return NULL;
}

/*
 * All become jumps, except calls whose return address is in the bytes of the jump,
 * and cases marked STAYS.
 */
static bool must_be_jump(const struct insn_case *c)
{
	if ((c->how & INDIRECT) && KPT_JUMP_TABLES && c->next - c->at < JMP32_INSN_SIZE)
		return false;
	return !(c->how & STAYS) &&
	       (!(c->how & CALLS) || c->end - c->at >= JMP32_INSN_SIZE);
}

/**
 * struct jump_batch - probes that are set and removed together
 * @probes:   two of each instruction; some are not set
 * @batch:    those that are set
 * @expected: results of the unprobed instructions, one after the other
 * @got:      result of a probed instruction
 * @nr:	      number of probes in @batch
 * @set:      the probes are registered
 */
struct jump_batch {
	struct kpt_probe (*probes)[2];
	struct kprobe **batch;
	struct outcome *expected;
	struct outcome *got;
	unsigned int nr;
	bool set;
};

static void jump_batch_leave(void *arg)
{
	struct jump_batch *b = arg;

	if (b->set)
		unregister_kprobes(b->batch, b->nr);
	b->set = false;
}

static void jump_batch_free(void *arg)
{
	struct jump_batch *b = arg;

	vfree(b->probes);
	vfree(b->batch);
	vfree(b->expected);
	vfree(b->got);
}

static struct jump_batch *jump_batch_alloc(struct kunit *test, const struct jump_run *run)
{
	struct jump_batch *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	unsigned int cases = 0, states = 0;
	const struct insn_case *c;

	KUNIT_ASSERT_NOT_NULL(test, b);
	for (c = run->table; c->title; c++) {
		cases++;
		states += nr_states(c);
	}
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, jump_batch_free, b), 0);
	b->probes = vcalloc(cases, sizeof(*b->probes));
	b->batch = vcalloc(2 * cases, sizeof(*b->batch));
	b->expected = vcalloc(states, sizeof(*b->expected));
	b->got = vcalloc(NR_STATES, sizeof(*b->got));
	KUNIT_ASSERT_TRUE(test, b->probes && b->batch && b->expected && b->got);
	return b;
}

static void jump_batch_enter(struct kunit *test, const struct jump_run *run,
			     struct jump_batch *b)
{
	const struct probe_mode *mode = run->mode;
	const struct insn_case *c;
	unsigned int n;

	for (c = run->table; c->title; c++) {
		if (c->how & NEVER_RUN)
			continue;
		for (n = 0; n < 2 && mode->probe[n].set; n++) {
			struct kpt_probe *pr = &b->probes[c - run->table][n];

			pr->kp.addr = (void *)((char *)c->fn + c->at);
			pr->kp.pre_handler = mode->probe[n].pre ? kpt_pre : NULL;
			pr->kp.post_handler = mode->probe[n].post ? kpt_post : NULL;
			b->batch[b->nr++] = &pr->kp;
		}
	}
	KUNIT_ASSERT_EQ(test, register_kprobes(b->batch, b->nr), 0);
	b->set = true;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, jump_batch_leave, b), 0);
	wait_for_kprobe_optimizer();
}

static void expect_no_jump(struct kunit *test, const struct insn_case *c, struct kpt_probe *pr)
{
	const char *why;

	KUNIT_EXPECT_FALSE_MSG(test, kprobe_optimized(&pr->kp), "%s", c->title);
	if (!IS_ENABLED(CONFIG_DEBUG_FS))
		return;
	why = kpt_jump_reason(test, &pr->kp);
	/* A few are not even instructions. */
	KUNIT_EXPECT_TRUE_MSG(test, strstr(why, "  an instruction cannot run elsewhere") ||
			      (c->how & REFUSED && strstr(why, "  the function cannot be decoded")),
			      "%s: %s", c->title, why);
}

static void instruction_does_as_unprobed_under_a_jump(struct kunit *test)
{
	const struct jump_run *run = test->param_value;
	struct jump_batch *b = jump_batch_alloc(test, run);
	struct outcome *expected = b->expected;
	const struct insn_case *c;
	unsigned int pass, nr, n, others = 0;

	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	/* Unprobed, probed, and unprobed again. */
	for (pass = 0; pass < 3; pass++, expected = b->expected) {
		if (pass == 1)
			jump_batch_enter(test, run, b);
		else if (pass == 2)
			jump_batch_leave(b);
		for (c = run->table; c->title; c++, expected += nr) {
			struct kpt_probe *pr = b->probes[c - run->table];

			nr = nr_states(c);
			if (c->how & NEVER_RUN)
				continue;
			run_states(c, pass ? b->got : expected, nr);
			if (!pass)
				continue;
			if (!compare(test, c, pass == 1 ? run->mode->name : "unprobed again",
				     expected, b->got, nr) || pass == 2)
				continue;
			for (n = 0; n < 2 && run->mode->probe[n].set; n++) {
				if (!check_handlers(test, c, run->mode, n, &pr[n],
						    nr * c->hits, b->got[nr - 1].regs))
					break;
			}
			if (must_be_jump(c) && !kprobe_optimized(&pr->kp) && ++others < 10)
				KUNIT_FAIL(test, "%s: not a jump, but: %s", c->title,
					   kpt_jump_reason(test, &pr->kp));
			if (c->how & STAYS)
				expect_no_jump(test, c, pr);
			else if (!must_be_jump(c) && kprobe_optimized(&pr->kp))
				KUNIT_FAIL(test, "%s: is a jump", c->title);
		}
	}
}

static const void *displaced_refused_gen(const void *prev, char *desc)
{
	return next_case(kpt_insn_flow_after_one, prev, REFUSED, desc);
}

/* After four bytes, where a call would return after the jump. */
static const void *displaced_stays_gen(const void *prev, char *desc)
{
	const struct insn_case *c = prev;

	do {
		c = next_case(kpt_insn_flow_after_four, c, ALLOWED, desc);
	} while (c && !(c->how & STAYS));
	return c;
}

static void check_not_displaced(struct kunit *test, const struct insn_case *c)
{
	struct kpt_probe *pr = kpt_probe(test, (char *)c->fn + c->at);

	wait_for_kprobe_optimizer();
	expect_no_jump(test, c, pr);
}

/* Instructions before one that cannot run elsewhere. */
static void instruction_is_not_displaced(struct kunit *test)
{
	check_not_displaced(test, test->param_value);
}

static void branch_to_the_stack_pointer_is_not_displaced(struct kunit *test)
{
	check_not_displaced(test, test->param_value);
}
#endif /* CONFIG_OPTPROBES */

static struct kunit_case insn_suite_cases[] = {
	KPT_CASE_PARAM_SLOW(probed_data_instruction_does_as_unprobed, data_gen),
	KPT_CASE_PARAM_SLOW(probed_alu_instruction_does_as_unprobed, alu_gen),
	KPT_CASE_PARAM_SLOW(probed_branch_does_as_unprobed, flow_gen),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(ftrace_site_does_nothing_under_a_probe),
#endif
	KUNIT_CASE_PARAM(instruction_is_refused, refused_gen),
	KUNIT_CASE_PARAM(instruction_is_allowed, allowed_gen),
#ifdef CONFIG_OPTPROBES
	KPT_CASE_PARAM_SLOW(instruction_does_as_unprobed_under_a_jump, jump_run_gen),
	KUNIT_CASE_PARAM(instruction_is_not_displaced, displaced_refused_gen),
	KUNIT_CASE_PARAM(branch_to_the_stack_pointer_is_not_displaced, displaced_stays_gen),
#endif
	KPT_LAST_CASE,
	{}
};

/*
 * Each case has a thread of its own. Thousands of probes come and go in it, and take more than
 * an hour if all that the thread does is watched for data races. Other suites do the same with
 * fewer probes.
 */
static int insn_case_init(struct kunit *test)
{
	kcsan_disable_current();
	return kpt_case_init(test);
}

static struct kunit_suite insn_suite = {
	.name = "kprobes_insn",
	.suite_init = kpt_suite_init,
	.init = insn_case_init,
	.test_cases = insn_suite_cases,
};

kunit_test_suite(insn_suite);
