// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: x86 instructions under probes. Each one runs from known
 * registers, flags and memory, first unprobed and then under every kind of
 * probe, and must leave exactly the same behind.
 */
#include <linux/cpumask.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <linux/prandom.h>
#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/processor-flags.h>

#include "fixture.h"

#define CF	X86_EFLAGS_CF
#define PF	X86_EFLAGS_PF
#define AF	X86_EFLAGS_AF
#define ZF	X86_EFLAGS_ZF
#define SF	X86_EFLAGS_SF
#define OF	X86_EFLAGS_OF
#define ARITHMETIC_FLAGS	(CF | PF | AF | ZF | SF | OF)

/* insn_case::how */
#define ALL_FLAGS	0x01	/* run with all combinations of the flags */
#define BRANCH		0x02	/* what comes next is not what stands behind */
#define CLOBBERS	0x04	/* AX, BX, CX, DX differ each time */

/**
 * struct insn_where - offsets from the start of a case's function
 * @at:   of the probed instruction
 * @next: of what stands behind it
 */
struct insn_where {
	u32 at;
	u32 next;
};

/**
 * struct insn_case - an instruction to probe
 * @title: the parameter's name
 * @fn:	   the function that holds it; NULL ends the table
 * @where: and where
 * @undef: flags that the architecture leaves undefined
 * @hits:  how often a call of @fn passes it; 0 stands for 1
 * @how:   see above
 */
struct insn_case {
	const char *title;
	void (*fn)(void);
	const struct insn_where *where;
	unsigned long undef;
	unsigned int hits;
	unsigned int how;
};

/* --- The functions ------------------------------------------------------- */

#ifdef CONFIG_X86_64
#define LONG		"8"
#define PUSH_L		"pushq"
#define POP_L		"popq"
#define JCXZ		"jrcxz"
#define _ASM_R8		"r8"
#define _ASM_R11	"r11"
#define LEA_LABEL(label, reg)	"lea " label "(%rip), %" _ASM_##reg "\n"
#else
#define LONG		"4"
#define PUSH_L		"pushl"
#define POP_L		"popl"
#define JCXZ		"jecxz"
/* There is no other way to the instruction pointer that needs no relocation. */
#define LEA_LABEL(label, reg)						\
	"call 1f\n 1: pop %" _ASM_##reg "\n lea " label "-1b(%" _ASM_##reg "), %"	\
	_ASM_##reg "\n"
#endif

/* Not the one that is patched at boot. */
#define RAW_RET		ANNOTATE_RETPOLINE_SAFE "ret\n int3\n"

#define FUNCTION(name, setup, insn, rest)				\
asm(".pushsection .text, \"ax\", @progbits\n"				\
    "	.balign 16\n"							\
    "	.globl kpt_i_" #name "\n"					\
    "	.type kpt_i_" #name ", @function\n"				\
    "kpt_i_" #name ":\n"						\
    ASM_ENDBR "\n"							\
    setup "\n"								\
    ".Li_" #name "_at:\n"						\
    insn "\n"								\
    ".Li_" #name "_next:\n"						\
    rest "\n"								\
    ASM_RET								\
    "	.size kpt_i_" #name ", . - kpt_i_" #name "\n"			\
    ".popsection\n"							\
    ".pushsection .rodata, \"a\", @progbits\n"				\
    "	.balign 4\n"							\
    "	.globl kpt_i_" #name "_where\n"					\
    "	.type kpt_i_" #name "_where, @object\n"				\
    "kpt_i_" #name "_where:\n"						\
    "	.long .Li_" #name "_at - kpt_i_" #name "\n"			\
    "	.long .Li_" #name "_next - kpt_i_" #name "\n"			\
    "	.size kpt_i_" #name "_where, 8\n"				\
    ".popsection\n");							\
void kpt_i_##name(void);						\
extern const struct insn_where kpt_i_##name##_where;			\
/* What they do to the stack is for the tests to check. */		\
STACK_FRAME_NON_STANDARD(kpt_i_##name);

#define INSN(name, title, setup, insn, rest, ...)	FUNCTION(name, setup, insn, rest)
#define REFUSED(name, title, insn)	FUNCTION(name, "jmp 1f", insn, "1:")
#include "insn_x86_table.h"
#undef INSN
#undef REFUSED

static const struct insn_case insn_cases[] = {
#define INSN(name, text, setup, insn, rest, ...)			\
	{ .title = text, .fn = kpt_i_##name, .where = &kpt_i_##name##_where, ##__VA_ARGS__ },
#define REFUSED(name, text, insn)
#include "insn_x86_table.h"
#undef INSN
#undef REFUSED
};

static const struct insn_case refused_cases[] = {
#define INSN(name, text, setup, insn, rest, ...)
#define REFUSED(name, text, insn)					\
	{ .title = text, .fn = kpt_i_##name, .where = &kpt_i_##name##_where },
#include "insn_x86_table.h"
#undef INSN
#undef REFUSED
};

KUNIT_ARRAY_PARAM_DESC(insn, insn_cases, title);
KUNIT_ARRAY_PARAM_DESC(refused, refused_cases, title);

/* --- Running them -------------------------------------------------------- */

enum {
	R_AX, R_BX, R_CX, R_DX, R_SI, R_DI, R_BP,
#ifdef CONFIG_X86_64
	R_8, R_9, R_10, R_11, R_12, R_13, R_14, R_15,
#endif
	R_FLAGS,
	R_SP,
	NR_REGS
};

static const char * const reg_names[] = {
	"ax", "bx", "cx", "dx", "si", "di", "bp",
#ifdef CONFIG_X86_64
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
#endif
	"flags", "sp",
};

#define SCRATCH_SIZE	512

/*
 * Not static, for the assembly below. One test runs at a time.
 *
 * kpt_insn_run() calls kpt_insn_fn with all registers and flags from
 * kpt_insn_in, and writes those it leaves to kpt_insn_out. The function has
 * its own piece of stack, and some more above its return address.
 */
unsigned long kpt_insn_in[NR_REGS];
unsigned long kpt_insn_out[NR_REGS];
unsigned long kpt_insn_sp;
void (*kpt_insn_fn)(void);
unsigned char kpt_insn_scratch[SCRATCH_SIZE] __aligned(64);
void kpt_insn_run(void);

#ifdef CONFIG_X86_64
#define VAR(name, n)	#name "+8*" #n "(%rip)"
#define LOAD(n, reg)	"	mov " VAR(kpt_insn_in, n) ", %" #reg "\n"
#define SAVE(n, reg)	"	mov %" #reg ", " VAR(kpt_insn_out, n) "\n"
asm(".pushsection .text, \"ax\", @progbits\n"
    "	.balign 16\n"
    "	.globl kpt_insn_run\n"
    "	.type kpt_insn_run, @function\n"
    "kpt_insn_run:\n"
    ASM_ENDBR "\n"
    "	push %rbp\n"
    "	push %rbx\n"
    "	push %r12\n"
    "	push %r13\n"
    "	push %r14\n"
    "	push %r15\n"
    "	pushf\n"
    "	mov %rsp, " VAR(kpt_insn_sp, 0) "\n"
    "	sub $128, %rsp\n"
    "	pushq " VAR(kpt_insn_in, 15) "\n"
    "	popf\n"
    LOAD(0, rax) LOAD(1, rbx) LOAD(2, rcx) LOAD(3, rdx)
    LOAD(4, rsi) LOAD(5, rdi) LOAD(6, rbp) LOAD(7, r8)
    LOAD(8, r9) LOAD(9, r10) LOAD(10, r11) LOAD(11, r12)
    LOAD(12, r13) LOAD(13, r14) LOAD(14, r15)
    ANNOTATE_RETPOLINE_SAFE
    "	call *" VAR(kpt_insn_fn, 0) "\n"
    SAVE(0, rax) SAVE(1, rbx) SAVE(2, rcx) SAVE(3, rdx)
    SAVE(4, rsi) SAVE(5, rdi) SAVE(6, rbp) SAVE(7, r8)
    SAVE(8, r9) SAVE(9, r10) SAVE(10, r11) SAVE(11, r12)
    SAVE(12, r13) SAVE(13, r14) SAVE(14, r15)
    SAVE(16, rsp)
    "	mov " VAR(kpt_insn_sp, 0) ", %rsp\n"
    "	pushf\n"
    "	popq " VAR(kpt_insn_out, 15) "\n"
    "	popf\n"
    "	pop %r15\n"
    "	pop %r14\n"
    "	pop %r13\n"
    "	pop %r12\n"
    "	pop %rbx\n"
    "	pop %rbp\n"
    ASM_RET
    "	.size kpt_insn_run, . - kpt_insn_run\n"
    ".popsection\n");
#else
#define VAR(name, n)	#name "+4*" #n
#define LOAD(n, reg)	"	mov " VAR(kpt_insn_in, n) ", %" #reg "\n"
#define SAVE(n, reg)	"	mov %" #reg ", " VAR(kpt_insn_out, n) "\n"
asm(".pushsection .text, \"ax\", @progbits\n"
    "	.balign 16\n"
    "	.globl kpt_insn_run\n"
    "	.type kpt_insn_run, @function\n"
    "kpt_insn_run:\n"
    "	push %ebp\n"
    "	push %ebx\n"
    "	push %esi\n"
    "	push %edi\n"
    "	pushf\n"
    "	mov %esp, " VAR(kpt_insn_sp, 0) "\n"
    "	sub $128, %esp\n"
    "	pushl " VAR(kpt_insn_in, 7) "\n"
    "	popf\n"
    LOAD(0, eax) LOAD(1, ebx) LOAD(2, ecx) LOAD(3, edx)
    LOAD(4, esi) LOAD(5, edi) LOAD(6, ebp)
    ANNOTATE_RETPOLINE_SAFE
    "	call *" VAR(kpt_insn_fn, 0) "\n"
    SAVE(0, eax) SAVE(1, ebx) SAVE(2, ecx) SAVE(3, edx)
    SAVE(4, esi) SAVE(5, edi) SAVE(6, ebp)
    SAVE(8, esp)
    "	mov " VAR(kpt_insn_sp, 0) ", %esp\n"
    "	pushf\n"
    "	popl " VAR(kpt_insn_out, 7) "\n"
    "	popf\n"
    "	pop %edi\n"
    "	pop %esi\n"
    "	pop %ebx\n"
    "	pop %ebp\n"
    ASM_RET
    "	.size kpt_insn_run, . - kpt_insn_run\n"
    ".popsection\n");
#endif
STACK_FRAME_NON_STANDARD(kpt_insn_run);

/* With all combinations of CF, PF, ZF, SF and OF there are 32. */
#define NR_STATES	32
#define FEW_STATES	8

struct outcome {
	unsigned long regs[NR_REGS];
	unsigned char scratch[SCRATCH_SIZE];
};

static void make_state(struct rnd_state *rnd, unsigned int n)
{
	static const unsigned long flags[] = { CF, PF, ZF, SF, OF };
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
			       (kpt_insn_in[R_FLAGS] & AF);
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
			ignore = r == R_FLAGS ? c->undef : 0;
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

/* Kinds of probes to set together; the letters stand for their handlers. */
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

static void check_handlers(struct kunit *test, const struct insn_case *c,
			   const struct probe_mode *mode, unsigned int n,
			   struct kpt_probe *pr, unsigned int hits)
{
	unsigned long fn = (unsigned long)c->fn;

	KUNIT_EXPECT_EQ_MSG(test, pr->pre, mode->probe[n].pre ? hits : 0, "%s", mode->name);
	KUNIT_EXPECT_EQ_MSG(test, pr->post, mode->probe[n].post ? hits : 0, "%s", mode->name);
	KUNIT_EXPECT_EQ_MSG(test, pr->kp.nmissed, 0ul, "%s", mode->name);
	if (mode->probe[n].pre) {
		KUNIT_EXPECT_EQ_MSG(test, pr->pre_regs.ip, fn + c->where->at + 1,
				    "%s", mode->name);
		KUNIT_EXPECT_FALSE_MSG(test, pr->pre_regs.flags & X86_EFLAGS_TF,
				       "%s", mode->name);
	}
	if (mode->probe[n].post) {
		if (!(c->how & BRANCH))
			KUNIT_EXPECT_EQ_MSG(test, pr->post_regs.ip, fn + c->where->next,
					    "%s", mode->name);
		KUNIT_EXPECT_FALSE_MSG(test, pr->post_regs.flags & X86_EFLAGS_TF,
				       "%s", mode->name);
	}
}

static void probed_instruction_does_what_the_unprobed_does(struct kunit *test)
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
			pr[n] = kpt_alloc(test, (char *)c->fn + c->where->at);
			pr[n]->kp.pre_handler = mode->probe[n].pre ? kpt_pre : NULL;
			pr[n]->kp.post_handler = mode->probe[n].post ? kpt_post : NULL;
			kpt_register(test, pr[n]);
		}
		memset(got, 0, nr * sizeof(*got));
		run_states(c, got, nr);
		compare(test, c, mode->name, expected, got, nr);
		for (n = 0; n < 2 && mode->probe[n].set; n++) {
			check_handlers(test, c, mode, n, pr[n], nr * (c->hits ?: 1));
			kpt_unregister(test, pr[n]);
		}
		if (test->status == KUNIT_FAILURE)
			return;
	}
	memset(got, 0, nr * sizeof(*got));
	run_states(c, got, nr);
	compare(test, c, "unprobed again", expected, got, nr);
}

static void instruction_is_refused(struct kunit *test)
{
	const struct insn_case *c = test->param_value;
	int ret = kpt_refused((char *)c->fn + c->where->at);

	KUNIT_EXPECT_TRUE_MSG(test, ret == -EILSEQ || ret == -EINVAL,
			      "register_kprobe() returned %d", ret);
}

static struct kunit_case insn_suite_cases[] = {
	KUNIT_CASE_PARAM(probed_instruction_does_what_the_unprobed_does, insn_gen_params),
	KUNIT_CASE_PARAM(instruction_is_refused, refused_gen_params),
	{}
};

static struct kunit_suite insn_suite = {
	.name = "kprobes_insn",
	.test_cases = insn_suite_cases,
};

kunit_test_suite(insn_suite);
