// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: x86 instructions under probes. Each one runs from known
 * registers, flags and memory, first unprobed and then under every kind of
 * probe, and must leave exactly the same behind.
 */
#include <linux/cpumask.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <asm/ibt.h>
#include <asm/processor-flags.h>

#include "fixture.h"
#include "insn_x86.h"

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

/* The next case behind @c, or the first of @table, that is to be refused or not. */
static const void *next_case(const struct insn_case *table, const struct insn_case *c,
			     bool refused, char *desc)
{
	c = c ? c + 1 : table;
	while (c->title && !!(c->how & REFUSED) != refused)
		c++;
	if (!c->title)
		return NULL;
	strscpy(desc, c->title, KUNIT_PARAM_DESC_SIZE);
	return c;
}

static const void *data_gen(const void *prev, char *desc)
{
	return next_case(kpt_insn_data, prev, false, desc);
}

static const void *alu_gen(const void *prev, char *desc)
{
	return next_case(kpt_insn_alu, prev, false, desc);
}

static const void *flow_gen(const void *prev, char *desc)
{
	return next_case(kpt_insn_flow, prev, false, desc);
}

static const void *refused_gen(const void *prev, char *desc)
{
	return next_case(kpt_insn_flow, prev, true, desc);
}

/* With all combinations of CF, PF, ZF, SF and OF there are 32. */
#define NR_STATES	32
#define FEW_STATES	8

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
	/* Those of the few are as different as those of the many. */
	n = n * 11 % NR_STATES;
	kpt_insn_in[R_FLAGS] = X86_EFLAGS_FIXED | X86_EFLAGS_IF |
			       (kpt_insn_in[R_FLAGS] & X86_EFLAGS_AF);
	for (i = 0; i < ARRAY_SIZE(flags); i++)
		if (n & BIT(i))
			kpt_insn_in[R_FLAGS] |= flags[i];
}

/* From the same place each time, as the stack pointer is part of the outcome. */
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

static void compare(struct kunit *test, const struct insn_case *c, const char *mode,
		    const struct outcome *expected, const struct outcome *got,
		    unsigned int nr)
{
	unsigned long ignore;
	unsigned int i, r;

	for (i = 0; i < nr; i++) {
		/* One line says enough about an instruction that went wrong. */
		if (test->status == KUNIT_FAILURE)
			return;
		for (r = 0; r < NR_REGS; r++) {
			ignore = r == R_FLAGS ? c->undef : 0ul;
			if ((c->how & CLOBBERS) && r <= R_DX)
				ignore = ~0ul;
			KUNIT_EXPECT_EQ_MSG(test, got[i].regs[r] & ~ignore,
					    expected[i].regs[r] & ~ignore,
					    "%s, state %u, %s", mode, i, reg_names[r]);
		}
		KUNIT_EXPECT_TRUE_MSG(test, !memcmp(got[i].scratch, expected[i].scratch,
						    SCRATCH_SIZE),
				      "%s, state %u, memory differs", mode, i);
	}
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

/* In the order of kpt_insn_in, but for the stack pointer. */
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

static void check_registers(struct kunit *test, const struct insn_case *c, const char *mode,
			    const struct pt_regs *regs, const unsigned long *expected)
{
	unsigned long r[NR_REGS];
	unsigned int i;

	general_registers(regs, r);
	for (i = 0; i < R_FLAGS; i++)
		if (!(c->how & CLOBBERS) || i > R_DX)
			KUNIT_EXPECT_EQ_MSG(test, r[i], expected[i], "%s, %s",
					    mode, reg_names[i]);
	KUNIT_EXPECT_EQ_MSG(test, r[R_FLAGS] & FLAGS_SEEN & ~(unsigned long)c->undef,
			    expected[R_FLAGS] & FLAGS_SEEN & ~(unsigned long)c->undef,
			    "%s, flags", mode);
	KUNIT_EXPECT_EQ_MSG(test, kernel_stack_pointer((struct pt_regs *)regs) + sizeof(long),
			    expected[R_SP], "%s, sp", mode);
}

/*
 * @last is what the latest call left. Where nothing comes before the
 * instruction, the pre-handler must have seen what the call was given, and
 * where nothing comes behind it, the post-handler what it left.
 */
static void check_handlers(struct kunit *test, const struct insn_case *c,
			   const struct probe_mode *mode, unsigned int n,
			   struct kpt_probe *pr, unsigned int hits,
			   const unsigned long *last)
{
	bool taken = !(c->how & CONDITIONAL) || last[R_AX] == 2;
	unsigned long fn = (unsigned long)c->fn;
	unsigned long given[NR_REGS];

	KUNIT_EXPECT_EQ_MSG(test, pr->pre, mode->probe[n].pre ? hits : 0, "%s", mode->name);
	KUNIT_EXPECT_EQ_MSG(test, pr->post, mode->probe[n].post ? hits : 0, "%s", mode->name);
	KUNIT_EXPECT_EQ_MSG(test, pr->kp.nmissed, 0ul, "%s", mode->name);
	if (mode->probe[n].pre) {
		KUNIT_EXPECT_EQ_MSG(test, pr->pre_regs.ip, fn + c->at + 1, "%s", mode->name);
		memcpy(given, kpt_insn_in, sizeof(given));
		given[R_SP] = kpt_insn_sp - INSN_STACK;
		if (c->at == ENDBR_INSN_SIZE)
			check_registers(test, c, mode->name, &pr->pre_regs, given);
	}
	if (mode->probe[n].post) {
		if (!(c->how & BRANCH))
			KUNIT_EXPECT_EQ_MSG(test, pr->post_regs.ip, fn + c->next,
					    "%s", mode->name);
		else if (c->to)
			KUNIT_EXPECT_EQ_MSG(test, pr->post_regs.ip,
					    fn + (taken ? c->to : c->next),
					    "%s", mode->name);
		if (c->next == c->done && !(c->how & BRANCH))
			check_registers(test, c, mode->name, &pr->post_regs, last);
		KUNIT_EXPECT_FALSE_MSG(test, pr->post_regs.flags & X86_EFLAGS_TF,
				       "%s", mode->name);
	}
}

static void check_instruction(struct kunit *test)
{
	const struct insn_case *c = test->param_value;
	unsigned int nr = c->how & ALL_FLAGS ? NR_STATES : FEW_STATES;
	struct outcome *expected, *got;
	struct kpt_probe *pr[2];
	unsigned int m, n;

	expected = kunit_kcalloc(test, NR_STATES, sizeof(*expected), GFP_KERNEL);
	got = kunit_kcalloc(test, NR_STATES, sizeof(*got), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, expected);
	KUNIT_ASSERT_NOT_NULL(test, got);
	/* Some read what is each CPU's own; this thread ends with the case. */
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));

	run_states(c, expected, nr);
	for (m = 0; m < ARRAY_SIZE(probe_modes); m++) {
		const struct probe_mode *mode = &probe_modes[m];

		for (n = 0; n < 2 && mode->probe[n].set; n++) {
			pr[n] = kpt_alloc(test, (char *)c->fn + c->at);
			pr[n]->kp.pre_handler = mode->probe[n].pre ? kpt_pre : NULL;
			pr[n]->kp.post_handler = mode->probe[n].post ? kpt_post : NULL;
			kpt_register(test, pr[n]);
		}
		memset(got, 0, nr * sizeof(*got));
		run_states(c, got, nr);
		compare(test, c, mode->name, expected, got, nr);
		for (n = 0; n < 2 && mode->probe[n].set; n++) {
			check_handlers(test, c, mode, n, pr[n], nr * c->hits,
				       got[nr - 1].regs);
			kpt_unregister(test, pr[n]);
		}
		if (test->status == KUNIT_FAILURE)
			return;
	}
	memset(got, 0, nr * sizeof(*got));
	run_states(c, got, nr);
	compare(test, c, "unprobed again", expected, got, nr);
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

static void instruction_is_refused(struct kunit *test)
{
	const struct insn_case *c = test->param_value;
	int ret = kpt_refused((char *)c->fn + c->at);

	KUNIT_EXPECT_TRUE_MSG(test, ret == -EILSEQ || ret == -EINVAL,
			      "register_kprobe() returned %d", ret);
}

static struct kunit_case insn_suite_cases[] = {
	KUNIT_CASE_PARAM(probed_data_instruction_does_as_unprobed, data_gen),
	KUNIT_CASE_PARAM(probed_alu_instruction_does_as_unprobed, alu_gen),
	KUNIT_CASE_PARAM(probed_branch_does_as_unprobed, flow_gen),
	KUNIT_CASE_PARAM(instruction_is_refused, refused_gen),
	{}
};

static struct kunit_suite insn_suite = {
	.name = "kprobes_insn",
	.test_cases = insn_suite_cases,
};

kunit_test_suite(insn_suite);
