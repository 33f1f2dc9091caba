// SPDX-License-Identifier: GPL-2.0
/*
 * Runs instructions under each kind of probe and compares the results: see kprobe_execute.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/ftrace.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/ptrace.h>
#include <linux/seq_buf.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sync_core.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <asm/fpu/api.h>
#include <asm/fpu/xcr.h>
#include <asm/msr.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include <asm/trapnr.h>

#include "common.h"
#include "testing.h"
#include "kprobe_common.h"
#include "kprobe_execute.h"

#define RECORD		(1 + MAX_INSN_SIZE)
#define FPU_SIZE	1024
#define NR_SEEN		1048576
#define MAX_LINES	200

#define STD_OPCODE	0xfd

/* FXSAVE: the address of the latest instruction, in 32-bit form */
#define FPU_IP		8
#define FPU_IP_END	16
#define FPU_XMM		160
#define FPU_XSTATE_BV	512
#define FPU_YMM		576
#define FPU_COMPONENTS	7

/* --------------------------------- Counts -------------------------------- */

enum {
	NR_GIVEN,
	NR_REPEATED,
	NR_FORMS,
	NR_UNKNOWN,
	NR_REFUSED,
	NR_LEFT_OUT,
	NR_RUN,
	NR_RUN_ONE,
	NR_RUN_0F,
	NR_RUN_0F_38,
	NR_RUN_0F_3A,
	NR_RUN_VEX,
	NR_RUN_EVEX,
	NR_LENGTH_SAME,
	NR_LENGTH_DIFFERS,
	NR_LENGTH_UNKNOWN,
	NR_UNPROBED,
	NR_COPIED,
	NR_EMULATED,
	NR_STEPPED,
	NR_EMULATED_POST,
	NR_JUMP_ALONE,
	NR_JUMP_FIRST,
	NR_JUMP_SECOND,
	NR_JUMP_THIRD,
	NR_JUMP_ALONE_POST,
	NR_JUMP_FIRST_POST,
	NR_JUMP_SECOND_POST,
	NR_JUMP_THIRD_POST,
	NR_NO_JUMP,
	NR_NO_JUMP_SECOND,
	NR_NO_JUMP_THIRD,
	NR_FAULTS,
	NR_FAULTS_PROBED,
	NR_FAULTS_LATER,
	NR_TAKEN,
	NR_MOVES_STACK,
	NR_DIFFERENCES,
	NR_COUNTS
};

static const char * const count_names[NR_COUNTS] = {
	"given",
	"repeated",
	"forms",
	"unknown",
	"refused",
	"left_out",
	"run",
	"run_one_byte",
	"run_0f",
	"run_0f_38",
	"run_0f_3a",
	"run_vex",
	"run_evex",
	"length_same",
	"length_differs",
	"length_unknown",
	"unprobed",
	"copied",
	"emulated",
	"stepped",
	"emulated_post",
	"jump_alone",
	"jump_first",
	"jump_second",
	"jump_third",
	"jump_alone_post",
	"jump_first_post",
	"jump_second_post",
	"jump_third_post",
	"no_jump",
	"no_jump_second",
	"no_jump_third",
	"faults",
	"faults_probed",
	"faults_later",
	"taken",
	"moves_stack",
	"differences",
};

static const char * const why_names[NR_WHY] = {
	[WHY_PORTS] = "reads or writes ports",
	[WHY_SYSTEM] = "changes what the system relies on",
	[WHY_SEGMENT] = "loads a segment register or its base",
	[WHY_INTERRUPTS] = "allows interrupts, which write to the stack",
	[WHY_BOUND] = "is BOUND, after whose exception the kernel dies",
	[WHY_HYPERVISOR] = "calls the hypervisor",
	[WHY_WAITS] = "waits",
	[WHY_STACK_AS] = "branches to the stack pointer, takes it as distance, or makes it noise",
	[WHY_ELSEWHERE] = "has its operand out of reach",
	[WHY_LARGE] = "has a large operand on the stack",
	[WHY_EMULATOR] = "crashes the emulator, and is illegal",
	[WHY_LOCK] = "is a branch with LOCK, illegal, but the emulator takes it",
	[WHY_FLAGS] = "leaves flags by chance in the emulator",
	[WHY_ALIAS] = "is an alias of TEST that the emulator does not know",
	[WHY_LENGTH] = "is of another length by objdump",
};

static unsigned long counts[NR_COUNTS];
static unsigned long left_out[NR_WHY];
static unsigned long refused[MAX_ERRNO];
static unsigned long traps[X86_TRAP_IRET + 1];

static char *lines;
static unsigned int nr_differ, nr_lengths;
static struct seq_buf report;

/* See kprobe_execute_run.S. */
unsigned long exec_gpr[NR_GPRS];
unsigned long exec_flags;
unsigned long exec_stack[STACK_SIZE / sizeof(long)];
const u8 *exec_target;
unsigned long exec_sp;
unsigned long exec_gpr_out[NR_GPRS];
unsigned long exec_flags_out;
unsigned long exec_stack_out[STACK_SIZE / sizeof(long)];
unsigned int exec_exit;
unsigned long exec_caller;

u8 exec_scratch[SCRATCH_SIZE] __aligned(64);

/* An open-addressed hash table of numbers. */
static u64 *seen;

static bool seen_before(u64 id)
{
	unsigned long at = id >> 40 & (NR_SEEN - 1);

	while (seen[at] && seen[at] != id)
		at = (at + 1) & (NR_SEEN - 1);
	if (seen[at])
		return true;
	seen[at] = id;
	return false;
}

/* ---------------------------------- Runs --------------------------------- */

/**
 * struct exec_out - the state after a run
 * @gpr:     registers
 * @flags:   flags
 * @exit:    the exit it took
 * @trap:    the exception, if it ended in one
 * @error:   the error code of the exception
 * @ip:	     the address of the exception
 * @cr2:     the address of a page fault
 * @stack:   the stack, from STACK_BELOW below the pointer
 * @scratch: the memory of operands
 * @fpu:     the FPU state, as XSAVE stores it
 */
struct exec_out {
	unsigned long gpr[NR_GPRS];
	unsigned long flags;
	unsigned long exit;
	unsigned long trap;
	unsigned long error;
	unsigned long ip;
	unsigned long cr2;
	unsigned long stack[STACK_SIZE / sizeof(long)];
	unsigned long scratch[SCRATCH_SIZE / sizeof(long)];
	u8 fpu[FPU_SIZE];
};

/**
 * struct exec_case - an encoding in its sites
 * @e:	    the encoding
 * @runs:   it is accepted, and not left out
 * @kp:	    a probe for each site
 * @moved:  in some state the stack pointer is elsewhere after it
 * @out:    the state after each unprobed run
 */
struct exec_case {
	struct exec_enc e;
	bool runs;
	bool moved;
	struct kprobe kp[NR_LAYOUTS];
	struct exec_out out[NR_LAYOUTS][NR_STATES];
};

static struct exec_case *cases;
static unsigned int nr_cases;
static struct kprobe **batch;

/* A writable mapping of the text of all sites. */
static u8 *alias;

unsigned long exec_template[SCRATCH_SIZE / sizeof(long)];
static unsigned long stack_template[STACK_SIZE / sizeof(long)];
static u8 fpu_template[2][FPU_SIZE] __aligned(64);
static u8 fpu_in[FPU_SIZE] __aligned(64);
static u8 fpu_out[FPU_SIZE] __aligned(64);
static bool has_xsave;

static struct exec_in in;
static struct exec_out out;
static unsigned int pre_hits, post_hits;
static struct pt_regs pre_regs, post_regs;

/* The case that is running, for faults and for the last words. */
static const struct exec_case *running;
static const char *running_as;

static u8 *site_of(const struct exec_case *c, enum exec_layout layout)
{
	unsigned int nr = (c - cases) * NR_LAYOUTS + layout;
	u8 *text = exec_text;

	/* objtool must not see an address inside a function. */
	OPTIMIZER_HIDE_VAR(text);
	return text + nr / FN_SITES * FN_SIZE + FN_HEAD + nr % FN_SITES * SITE_SIZE;
}

/*
 * Compiled code runs with the direction flag clear, and kprobes rely on that unless the
 * function has an instruction that sets the flag (see x86_reach_plan()). Every other test
 * function starts with one, and the flag may be set in those only.
 */
static bool may_go_down(const struct exec_case *c, enum exec_layout layout)
{
	return (site_of(c, layout) - site_of(cases, 0)) / FN_SIZE & 1;
}

static void fpu_load(const u8 *from)
{
	u32 low = FPU_COMPONENTS, high = 0;

	/* Emulators do not load the address of the latest instruction. */
	asm volatile("fninit");
	if (has_xsave)
		asm volatile("xrstor %0" : : "m" (*from), "a" (low), "d" (high) : "memory");
	else
		asm volatile("fxrstor %0" : : "m" (*from) : "memory");
}

static void fpu_store(u8 *to)
{
	u32 low = FPU_COMPONENTS, high = 0;

	if (has_xsave)
		asm volatile("xsave %0" : "=m" (*to) : "a" (low), "d" (high) : "memory");
	else
		asm volatile("fxsave %0" : "=m" (*to) : : "memory");
}

static unsigned long get_cr2(void)
{
	unsigned long val;

	asm volatile("mov %%cr2, %0" : "=r" (val) : : "memory");
	return val;
}

static void set_cr2(unsigned long val)
{
	asm volatile("mov %0, %%cr2" : : "r" (val) : "memory");
}

static void copy_words(unsigned long *to, const unsigned long *from, unsigned int bytes)
{
	unsigned int i;

	for (i = 0; i < bytes / sizeof(long); i++)
		WRITE_ONCE(to[i], from[i]);
}

static void chance(u64 *x, unsigned long *to, unsigned int nr)
{
	while (nr--) {
		*x = *x * 6364136223846793005ull + 1442695040888963407ull;
		*to++ = *x ^ *x >> 29;
	}
}

/* Small numbers in one register, which a gather can use as indices. */
static void small_vector(u8 *fpu, int nr)
{
	u32 small[4] = { 1, 0, 3, 0 };

	memcpy(fpu + FPU_XMM + 16 * nr, small, sizeof(small));
	memcpy(fpu + FPU_YMM + 16 * nr, small, sizeof(small));
}

static void prepare_run(const struct exec_case *c, enum exec_layout layout, unsigned int state)
{
	const u8 *site = site_of(c, layout);
	u64 x = c->e.rnd * 0x9e3779b97f4a7c15ull + state;

	chance(&x, in.gpr, NR_GPRS);
	chance(&x, &in.flags, 1);
	if (!may_go_down(c, layout))
		in.flags &= ~X86_EFLAGS_DF;
	copy_words(in.stack, stack_template, sizeof(in.stack));
	exec_fit(&c->e, site, state, &in);
	copy_words((unsigned long *)exec_scratch, exec_template, SCRATCH_SIZE);
	memcpy(fpu_in, fpu_template[state & 1], sizeof(fpu_in));
	if (in.xmm >= 0)
		small_vector(fpu_in, in.xmm);
	if (in.word) {
		unsigned long at = (unsigned long)in.word - (exec_sp - STACK_BELOW);

		if (at < STACK_SIZE)
			memcpy((u8 *)in.stack + at, &in.value, sizeof(long));
		else
			memcpy(in.word, &in.value, sizeof(long));
	}
	copy_words(exec_stack, in.stack, sizeof(in.stack));
	copy_words(exec_gpr, in.gpr, sizeof(in.gpr));
	exec_flags = in.flags;
	exec_target = site + SITE_START;
}

/* Not inlined: the stack of a run is below this frame. */
static noinline void run_one(const struct exec_case *c, enum exec_layout layout,
			     unsigned int state, const char *as)
{
	unsigned long flags;

	prepare_run(c, layout, state);
	memset(fpu_out, 0, sizeof(fpu_out));
	out.trap = 0;
	out.error = 0;
	out.ip = 0;
	pre_hits = 0;
	post_hits = 0;
	running_as = as;

	local_irq_save(flags);
	kernel_fpu_begin();
	fpu_load(fpu_in);
	set_cr2(0);
	WRITE_ONCE(running, c);
	barrier();
	exec_enter();
	barrier();
	WRITE_ONCE(running, NULL);
	out.cr2 = get_cr2();
	fpu_store(fpu_out);
	kernel_fpu_end();
	local_irq_restore(flags);

	copy_words(out.gpr, exec_gpr_out, sizeof(out.gpr));
	out.flags = exec_flags_out;
	out.exit = exec_exit;
	copy_words(out.stack, exec_stack_out, sizeof(out.stack));
	copy_words(out.scratch, (unsigned long *)exec_scratch, SCRATCH_SIZE);
	memset(fpu_out + FPU_IP, 0, FPU_IP_END - FPU_IP);
	memcpy(out.fpu, fpu_out, sizeof(out.fpu));
}

static int exec_pre(struct kprobe *kp, struct pt_regs *regs)
{
	pre_hits++;
	pre_regs = *regs;
	return 0;
}

static void exec_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	post_hits++;
	post_regs = *regs;
}

/* --------------------------------- Faults -------------------------------- */

/* Stands in for fixup_exception() on faults of runs. */
static noinline notrace int exec_fixed(void)
{
	return 1;
}

static bool in_site(unsigned long ip)
{
	return ip >= (unsigned long)exec_text && ip < (unsigned long)exec_text + NR_FNS * FN_SIZE;
}

static notrace void take_fault(struct pt_regs *regs, unsigned long trap, unsigned long error)
{
	out.trap = trap;
	out.error = error;
	out.ip = regs->ip;
	regs->ip = (unsigned long)exec_exit_fault;
}

/*
 * Some exceptions look for a fix-up twice: before kprobes see them, and after kprobes have
 * moved the address to that of the original. Ignore the first look. If the second one is
 * missing, nothing fixes up the exception, which shows.
 */
static notrace bool comes_too_early(unsigned long trap, unsigned long ip)
{
	return (trap == X86_TRAP_GP || trap == X86_TRAP_MF || trap == X86_TRAP_XF) &&
	       !in_site(ip);
}

static notrace void exec_fixup(unsigned long ip, unsigned long parent, struct ftrace_ops *op,
			       struct ftrace_regs *fregs)
{
	struct pt_regs *args = ftrace_get_regs(fregs);
	unsigned long trap, error;
	struct pt_regs *regs;

	if (!READ_ONCE(running) || !args)
		return;
#ifdef CONFIG_X86_64
	regs = (struct pt_regs *)args->di;
	trap = args->si;
	error = args->dx;
#else
	regs = (struct pt_regs *)args->ax;
	trap = args->dx;
	error = args->cx;
#endif
	if (!irqs_disabled() || (regs->flags & X86_EFLAGS_IF) ||
	    comes_too_early((int)trap, regs->ip))
		return;
	/* Kprobes themselves may fault; they have an exception table entry for that. */
	if (!in_site(regs->ip) && !is_kprobe_insn_slot(regs->ip) &&
	    !is_kprobe_optinsn_slot(regs->ip))
		return;
	take_fault(regs, (int)trap, error);
	args->ip = (unsigned long)exec_fixed;
}

static struct ftrace_ops exec_ops = {
	.func = exec_fixup,
	.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
};

/* The last chance to print something. */
static int exec_die(struct notifier_block *nb, unsigned long val, void *data)
{
	const struct exec_case *c = READ_ONCE(running);
	struct die_args *args = data;

	if (!c)
		return NOTIFY_DONE;
	if ((val == DIE_GPF || val == DIE_TRAP) && comes_too_early(args->trapnr, args->regs->ip)) {
		take_fault(args->regs, args->trapnr, args->err);
		return NOTIFY_STOP;
	}
	if (val == DIE_OOPS)
		pr_emerg("dies in %*phN, %s\n", c->e.insn.length, c->e.text, running_as);
	return NOTIFY_DONE;
}

static struct notifier_block exec_die_nb = {
	.notifier_call = exec_die,
};

/* ------------------------------- Comparison ------------------------------ */

static const char * const gpr_names[] = {
	"ax", "cx", "dx", "bx", "sp", "bp", "si", "di",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
};

static __printf(4, 5) void differs(const struct exec_case *c, const char *as, unsigned int state,
				   const char *fmt, ...)
{
	struct va_format what = { .fmt = fmt };
	va_list args;

	counts[NR_DIFFERENCES]++;
	if (nr_differ++ >= MAX_LINES)
		return;
	va_start(args, fmt);
	what.va = &args;
	seq_buf_printf(&report, "differs %*phN %s %u: %pV\n", c->e.insn.length, c->e.text, as,
		       state, &what);
	va_end(args);
}

static bool same_word(const struct exec_case *c, const char *as, unsigned int state,
		      const char *what, unsigned long got, unsigned long want)
{
	if (got != want)
		differs(c, as, state, "%s: %lx, unprobed %lx", what, got, want);
	return got == want;
}

/* Is the stack pointer still in the stack that is compared? */
static bool sp_stays(const struct exec_out *o)
{
	return o->gpr[R_SP] - (exec_sp - STACK_BELOW) <= STACK_SIZE;
}

/*
 * The stack below the stack pointer is dead. Between that and its old value, compare only
 * what the instruction has written.
 */
static bool same_stack(const struct exec_case *c, const char *as, unsigned int state,
		       const struct exec_out *want)
{
	const u8 *a = (const u8 *)out.stack, *b = (const u8 *)want->stack;
	const u8 *was = (const u8 *)in.stack;
	unsigned int i = STACK_BELOW;

	if (sp_stays(want))
		i = want->gpr[R_SP] - (exec_sp - STACK_BELOW);
	for (; i < STACK_BELOW; i++) {
		if (b[i] != was[i] && a[i] != b[i])
			break;
	}
	if (i >= STACK_BELOW && !memcmp(a + i, b + i, STACK_SIZE - i))
		return true;
	while (a[i] == b[i])
		i++;
	differs(c, as, state, "stack%+d: %x, unprobed %x", (int)i - STACK_BELOW, a[i], b[i]);
	return false;
}

static bool same_bytes(const struct exec_case *c, const char *as, unsigned int state,
		       const char *what, const void *got, const void *want, unsigned int nr)
{
	const u8 *a = got, *b = want;
	unsigned int i = 0;

	if (!memcmp(a, b, nr))
		return true;
	while (a[i] == b[i])
		i++;
	differs(c, as, state, "%s+%u: %x, unprobed %x", what, i, a[i], b[i]);
	return false;
}

static unsigned long regs_gpr(const struct pt_regs *regs, unsigned int nr)
{
	static const unsigned int offset[] = {
#define OFF(r) offsetof(struct pt_regs, r)
		OFF(ax), OFF(cx), OFF(dx), OFF(bx), OFF(sp), OFF(bp), OFF(si), OFF(di),
#ifdef CONFIG_X86_64
		OFF(r8), OFF(r9), OFF(r10), OFF(r11), OFF(r12), OFF(r13), OFF(r14), OFF(r15),
#endif
#undef OFF
	};

	return *(unsigned long *)((u8 *)regs + offset[nr]);
}

static bool same_regs(const struct exec_case *c, const char *as, unsigned int state,
		      const char *when, const struct pt_regs *regs, const unsigned long *gpr,
		      unsigned long flags, const u8 *ip)
{
	unsigned int i;

	for (i = 0; i < NR_GPRS; i++) {
		if (regs_gpr(regs, i) != gpr[i]) {
			differs(c, as, state, "%s %s the handler: %lx, not %lx", gpr_names[i],
				when, regs_gpr(regs, i), gpr[i]);
			return false;
		}
	}
	if ((regs->flags ^ flags) & ~X86_EFLAGS_RF) {
		differs(c, as, state, "flags %s the handler: %lx, not %lx", when, regs->flags,
			flags);
		return false;
	}
	if (regs->ip != (unsigned long)ip) {
		differs(c, as, state, "ip %s the handler: %+ld", when,
			(long)(regs->ip - (unsigned long)ip));
		return false;
	}
	return true;
}

/* Where execution continues after an exit. */
static const u8 *next_of(const struct exec_case *c, enum exec_layout layout, unsigned long exit)
{
	const u8 *site = site_of(c, layout);

	switch (exit) {
	case EXIT_TAKEN:
		return site + SITE_TAKEN;
	case EXIT_BACK:
		return site + SITE_BACK;
	default:
		return exec_insn_at(site, layout) + c->e.insn.length;
	}
}

static bool same_handlers(const struct exec_case *c, enum exec_layout layout,
			  unsigned int state, const char *as, bool post,
			  const struct exec_out *want)
{
	unsigned int posts = post && (layout != AS_FIRST || want->exit != EXIT_FAULT);

	if (pre_hits != 1 || post_hits != posts) {
		differs(c, as, state, "%u hits, %u after it, not 1, %u", pre_hits, post_hits,
			posts);
		return false;
	}
	if (!same_regs(c, as, state, "before", &pre_regs, in.gpr, in.flags,
		       site_of(c, layout) + SITE_START + 1))
		return false;
	return !posts || layout != AS_FIRST || c->e.varies ||
	       same_regs(c, as, state, "after", &post_regs, want->gpr, want->flags,
			 next_of(c, layout, want->exit));
}

/*
 * The exception tables have nothing for the second and third instruction that a jump
 * displaces, so their faults keep the address in the detour.
 */
static bool same_place(const struct exec_case *c, enum exec_layout layout, unsigned int state,
		       const char *as, unsigned long want)
{
	if (layout == AS_FIRST || out.exit != EXIT_FAULT ||
	    !kprobe_optimized(&c->kp[layout]))
		return same_word(c, as, state, "address of the fault", out.ip, want);
	if (is_kprobe_optinsn_slot(out.ip))
		return true;
	differs(c, as, state, "the fault is at %lx, not in a detour", out.ip);
	return false;
}

static void compare(const struct exec_case *c, enum exec_layout layout, unsigned int state,
		    const char *as, bool post)
{
	const struct exec_out *want = &c->out[layout][state];
	unsigned int i;

	if (!same_word(c, as, state, "exit", out.exit, want->exit) ||
	    !same_word(c, as, state, "trap", out.trap, want->trap) ||
	    !same_word(c, as, state, "error code", out.error, want->error) ||
	    !same_place(c, layout, state, as, want->ip) ||
	    !same_word(c, as, state, "cr2", out.cr2, want->cr2))
		return;
	for (i = 0; i < NR_GPRS; i++) {
		if (c->e.varies && i != R_SP)
			continue;
		if (!same_word(c, as, state, gpr_names[i], out.gpr[i], want->gpr[i]))
			return;
	}
	if (!same_word(c, as, state, "flags", out.flags, want->flags) ||
	    !same_stack(c, as, state, want) ||
	    !same_bytes(c, as, state, "memory", out.scratch, want->scratch, SCRATCH_SIZE) ||
	    !same_bytes(c, as, state, "fpu", out.fpu, want->fpu, FPU_SIZE))
		return;
	same_handlers(c, layout, state, as, post, want);
}

/* --------------------------------- Batches ------------------------------- */

/* The next case that runs, starting at @c. */
static struct exec_case *running_from(struct exec_case *c)
{
	for (; c < cases + nr_cases; c++) {
		if (c->runs)
			return c;
	}
	return NULL;
}

static void set_probe(struct exec_case *c, enum exec_layout layout, bool post)
{
	struct kprobe *kp = &c->kp[layout];

	memset(kp, 0, sizeof(*kp));
	kp->addr = site_of(c, layout) + SITE_START;
	kp->pre_handler = exec_pre;
	if (post)
		kp->post_handler = exec_post;
}

/* Set a probe on each site of each layout before @layouts. */
static int set_probes(unsigned int layouts, bool post)
{
	unsigned int nr = 0, i;
	struct exec_case *c;
	int ret;

	for (c = running_from(cases); c; c = running_from(c + 1)) {
		for (i = 0; i < layouts; i++) {
			set_probe(c, i, post);
			batch[nr++] = &c->kp[i];
		}
	}
	if (!nr)
		return 0;
	ret = register_kprobes(batch, nr);
	if (!ret)
		return nr;
	seq_buf_printf(&report, "differs: a batch of %u was not accepted: %d\n", nr, ret);
	counts[NR_DIFFERENCES]++;
	return 0;
}

/* No trap may follow an instruction that moves the stack pointer away: it would push there. */
static bool may_step(const struct exec_case *c)
{
	return !c->moved;
}

static void run_unprobed(void)
{
	enum exec_layout layout;
	struct exec_case *c;
	unsigned long exit;
	unsigned int state;

	for (c = running_from(cases); c; c = running_from(c + 1)) {
		for (layout = 0; layout < NR_LAYOUTS; layout++) {
			for (state = 0; state < c->e.runs; state++) {
				run_one(c, layout, state, "unprobed");
				c->out[layout][state] = out;
				if (!sp_stays(&out))
					c->moved = true;
				if (layout == AS_FIRST && out.exit == EXIT_FAULT) {
					counts[NR_FAULTS]++;
					if (out.trap < ARRAY_SIZE(traps))
						traps[out.trap]++;
				}
			}
		}
		counts[NR_UNPROBED]++;
		counts[NR_MOVES_STACK] += c->moved;
		exit = c->out[AS_FIRST][0].exit;
		counts[NR_TAKEN] += exit == EXIT_TAKEN || exit == EXIT_BACK;
		cond_resched_tasks_rcu_qs();
	}
}

/* Run it in all states. */
static void run_case(const struct exec_case *c, enum exec_layout layout, const char *as,
		     bool post)
{
	unsigned int state;

	for (state = 0; state < c->e.runs; state++) {
		run_one(c, layout, state, as);
		compare(c, layout, state, as, post);
		if (out.exit == EXIT_FAULT)
			counts[layout == AS_FIRST ? NR_FAULTS_PROBED : NR_FAULTS_LATER]++;
	}
	if (c->kp[layout].nmissed)
		differs(c, as, 0, "%lu hits missed", c->kp[layout].nmissed);
}

/* How a hit by a breakpoint executes the instruction. */
static unsigned int breakpoint_state(const struct exec_case *c, bool post)
{
	struct kprobe *p;
	unsigned int kind;

	guard(preempt)();
	p = get_kprobe(c->kp[AS_FIRST].addr);
	if (WARN_ON_ONCE(!p))
		return NR_GIVEN;
	kind = p->ainsn.kind;
	if (post)
		return kind == X86_COPY ? NR_STEPPED : NR_EMULATED_POST;
	return x86_always_emulated(kind) ? NR_EMULATED : NR_COPIED;
}

static void run_by_breakpoint(bool post)
{
	struct exec_case *c;
	unsigned int state;
	int nr;

	/* Leave no memory for jumps. */
	kprobe_test_no_detours = true;
	nr = set_probes(1, post);
	if (nr) {
		for (c = running_from(cases); c; c = running_from(c + 1)) {
			if (post && !may_step(c))
				continue;
			state = breakpoint_state(c, post);
			run_case(c, AS_FIRST, count_names[state], post);
			counts[state]++;
			cond_resched_tasks_rcu_qs();
		}
		unregister_kprobes(batch, nr);
	}
	kprobe_test_no_detours = false;
}

static unsigned int jump_state(const struct exec_case *c, enum exec_layout layout, bool post)
{
	unsigned int state;

	if (!kprobe_optimized(&c->kp[layout]))
		return NR_NO_JUMP + layout;
	if (layout == AS_FIRST)
		state = c->e.insn.length >= 5 ? NR_JUMP_ALONE : NR_JUMP_FIRST;
	else
		state = NR_JUMP_FIRST + layout;
	return post ? state + NR_JUMP_ALONE_POST - NR_JUMP_ALONE : state;
}

static void run_by_jump(bool post)
{
	enum exec_layout layout;
	struct exec_case *c;
	unsigned int state;
	int nr = set_probes(NR_LAYOUTS, post);

	if (!nr)
		return;
	wait_for_kprobe_optimizer();
	for (c = running_from(cases); c; c = running_from(c + 1)) {
		for (layout = 0; layout < NR_LAYOUTS; layout++) {
			if (layout == AS_FIRST && post && !may_step(c))
				continue;
			state = jump_state(c, layout, post);
			run_case(c, layout, count_names[state], post);
			counts[state]++;
		}
		cond_resched_tasks_rcu_qs();
	}
	unregister_kprobes(batch, nr);
}

static unsigned int opcode_map(const struct exec_case *c)
{
	struct insn *insn = (struct insn *)&c->e.insn;

	if (insn_is_avx(insn))
		return insn_is_evex(insn) ? NR_RUN_EVEX : NR_RUN_VEX;
	if (insn->opcode.bytes[0] != 0x0f)
		return NR_RUN_ONE;
	switch (insn->opcode.bytes[1]) {
	case 0x38:
		return NR_RUN_0F_38;
	case 0x3a:
		return NR_RUN_0F_3A;
	default:
		return NR_RUN_0F;
	}
}

/* Is a probe allowed on it? */
static bool is_accepted(struct exec_case *c)
{
	int ret;

	set_probe(c, AS_FIRST, false);
	c->kp[AS_FIRST].flags = KPROBE_FLAG_DISABLED;
	ret = register_kprobe(&c->kp[AS_FIRST]);
	if (!ret) {
		unregister_kprobe(&c->kp[AS_FIRST]);
		return true;
	}
	counts[NR_REFUSED]++;
	refused[-ret]++;
	return false;
}

static void compare_length(struct exec_case *c)
{
	struct exec_enc *e = &c->e;

	if (!e->said) {
		counts[NR_LENGTH_UNKNOWN]++;
	} else if (e->said == e->insn.length) {
		counts[NR_LENGTH_SAME]++;
	} else {
		counts[NR_LENGTH_DIFFERS]++;
		e->why = e->why ?: WHY_LENGTH;
	}
}

/* Make a record the next case, unless it is no instruction or a duplicate. */
static void take_record(const u8 *record)
{
	struct exec_case *c = &cases[nr_cases];
	enum exec_layout layout;
	u64 x;

	counts[NR_GIVEN]++;
	memset(c, 0, offsetof(struct exec_case, out));
	c->e.said = record[0];
	memcpy(c->e.text, record + 1, MAX_INSN_SIZE);
	if (!exec_decode(&c->e)) {
		counts[NR_UNKNOWN]++;
		return;
	}
	if (seen_before(exec_identity(&c->e, false))) {
		counts[NR_REPEATED]++;
		return;
	}
	counts[NR_FORMS] += !seen_before(~exec_identity(&c->e, true));
	compare_length(c);
	x = exec_identity(&c->e, false);
	c->e.rnd = x >> 16;
	for (layout = 0; layout < NR_LAYOUTS; layout++) {
		u8 *site = site_of(c, layout);

		exec_write_site(&c->e, layout, site, alias + (site - exec_text));
	}
	nr_cases++;
}

static void sync_text(void *unused)
{
	sync_core();
}

static void run_batch(const u8 *records, unsigned int nr)
{
	struct exec_case *c;

	nr_cases = 0;
	while (nr--) {
		take_record(records);
		records += RECORD;
	}
	on_each_cpu(sync_text, NULL, 1);
	for (c = cases; c < cases + nr_cases; c++) {
		if (!is_accepted(c))
			continue;
		if (c->e.why) {
			counts[NR_LEFT_OUT]++;
			left_out[c->e.why]++;
			if (c->e.why == WHY_LENGTH && nr_lengths++ < MAX_LINES)
				seq_buf_printf(&report, "length %u, by objdump %u: %*phN\n",
					       c->e.insn.length, c->e.said,
					       (int)sizeof(c->e.text), c->e.text);
			continue;
		}
		c->runs = true;
		counts[NR_RUN]++;
		counts[opcode_map(c)]++;
	}
	run_unprobed();
	run_by_breakpoint(false);
	run_by_breakpoint(true);
	run_by_jump(false);
	run_by_jump(true);
}

/**
 * struct exec_job - the work of one write
 * @records: the records written
 * @nr:	     their number
 * @done:    completed after the last of them
 */
struct exec_job {
	const u8 *records;
	unsigned int nr;
	struct completion done;
};

/* The thread's own part of its stack. */
#define STACK_OF_THREAD	(THREAD_SIZE * 5 / 16)

/* Runs in a kernel thread, which has no user memory, and known segment bases. */
static int exec_thread(void *data)
{
	struct exec_job *job = data;
	unsigned long base = 0;
	static void *bad;
	unsigned int n;

	if (!bad)
		bad = vmalloc(PAGE_SIZE);
#ifdef CONFIG_X86_64
	rdmsrl(MSR_GS_BASE, base);
#else
	base = this_cpu_read(this_cpu_off);
	loadsegment(gs, 0);
#endif
	exec_sp = (current_stack_pointer - STACK_OF_THREAD) & ~63ul;
	exec_fit_init(exec_sp, base, bad + PAGE_SIZE);
	for (n = 0; n < job->nr; n += BATCH)
		run_batch(job->records + n * RECORD, min_t(unsigned int, job->nr - n, BATCH));
	complete(&job->done);
	return 0;
}

/* ---------------------------------- Files -------------------------------- */

static DEFINE_MUTEX(lock);
static struct dentry *dir;

static ssize_t run_write(struct file *file, const char __user *ubuf, size_t count, loff_t *ppos)
{
	struct exec_job job;
	struct task_struct *t;
	u8 *buf;

	if (!count || count % RECORD || count > SZ_4M)
		return -EINVAL;
	buf = vmemdup_user(ubuf, count);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	guard(mutex)(&lock);
	job.records = buf;
	job.nr = count / RECORD;
	init_completion(&job.done);
	t = kthread_run_on_cpu(exec_thread, &job, 0, "kprobe_execute/%u");
	if (!IS_ERR(t))
		wait_for_completion(&job.done);
	kvfree(buf);
	return IS_ERR(t) ? PTR_ERR(t) : count;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.write = run_write,
};

static int result_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	guard(mutex)(&lock);
	for (i = 0; i < NR_COUNTS; i++)
		seq_printf(m, "%s %lu\n", count_names[i], counts[i]);
	for (i = 0; i < MAX_ERRNO; i++) {
		if (refused[i])
			seq_printf(m, "refused_as %pe %lu\n", ERR_PTR(-(int)i), refused[i]);
	}
	for (i = 1; i < NR_WHY; i++)
		seq_printf(m, "left_out_as %lu %s\n", left_out[i], why_names[i]);
	for (i = 0; i < ARRAY_SIZE(traps); i++) {
		if (traps[i])
			seq_printf(m, "trap %u %lu\n", i, traps[i]);
	}
	seq_printf(m, "%s", seq_buf_str(&report));
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(result);

/* ---------------------------------- Module ------------------------------- */

/* Map the same pages once more. */
static u8 *map_text(void)
{
	unsigned int nr = DIV_ROUND_UP(NR_FNS * FN_SIZE, PAGE_SIZE), i;
	struct page **pages = kcalloc(nr, sizeof(*pages), GFP_KERNEL);
	u8 *map;

	if (!pages)
		return NULL;
	for (i = 0; i < nr; i++)
		pages[i] = vmalloc_to_page(exec_text + i * PAGE_SIZE);
	map = vmap(pages, nr, VM_MAP, PAGE_KERNEL);
	kfree(pages);
	for (i = 1; map && i < NR_FNS; i += 2)
		map[i * FN_SIZE + FN_HEAD / 2] = STD_OPCODE;
	return map;
}

static void make_templates(void)
{
	u64 x = 6120;
	u32 mxcsr = 0x1f80;
	u16 fcw = 0x37f;
	unsigned int i;

	chance(&x, exec_template, ARRAY_SIZE(exec_template));
	chance(&x, stack_template, ARRAY_SIZE(stack_template));
	has_xsave = boot_cpu_has(X86_FEATURE_OSXSAVE) || boot_cpu_has(X86_FEATURE_XSAVE);
	for (i = 0; i < 2; i++) {
		u8 *fpu = fpu_template[i];
		u64 have = FPU_COMPONENTS;

		if (has_xsave)
			have &= xgetbv(XCR_XFEATURE_ENABLED_MASK);
		chance(&x, (unsigned long *)(fpu + FPU_XMM), 256 / sizeof(long));
		chance(&x, (unsigned long *)(fpu + FPU_YMM), 256 / sizeof(long));
		memcpy(fpu, &fcw, sizeof(fcw));
		memcpy(fpu + 24, &mxcsr, sizeof(mxcsr));
		memcpy(fpu + FPU_XSTATE_BV, &have, sizeof(have));
	}
	/* In one of them all x87 registers are in use: 1.0, 1.5, 1.25... */
	fpu_template[1][4] = 0xff;
	for (i = 0; i < 8; i++) {
		u64 mantissa = BIT_ULL(63) | BIT_ULL(63) >> i;
		u16 exponent = 0x3fff;

		memcpy(fpu_template[1] + 32 + 16 * i, &mantissa, sizeof(mantissa));
		memcpy(fpu_template[1] + 40 + 16 * i, &exponent, sizeof(exponent));
	}
}

static void free_all(void)
{
	if (alias)
		vunmap(alias);
	vfree(cases);
	vfree(batch);
	vfree(seen);
	vfree(lines);
}

static int __init kprobe_execute_init(void)
{
	int ret = -ENOMEM;

	cases = vcalloc(BATCH, sizeof(*cases));
	batch = vcalloc(BATCH * NR_LAYOUTS, sizeof(*batch));
	seen = vcalloc(NR_SEEN, sizeof(*seen));
	lines = vzalloc(MAX_LINES * 300);
	alias = map_text();
	if (!cases || !batch || !seen || !lines || !alias)
		goto out;
	seq_buf_init(&report, lines, MAX_LINES * 300);
	make_templates();
	ret = ftrace_set_filter(&exec_ops, "fixup_exception", strlen("fixup_exception"), 1);
	if (!ret)
		ret = register_ftrace_function(&exec_ops);
	if (ret)
		goto out;
	ret = register_die_notifier(&exec_die_nb);
	if (ret)
		goto out_ftrace;
	dir = control_dir(&run_fops, &result_fops);
	return 0;

out_ftrace:
	unregister_ftrace_function(&exec_ops);
out:
	free_all();
	return ret;
}

static void __exit kprobe_execute_exit(void)
{
	debugfs_remove(dir);
	unregister_die_notifier(&exec_die_nb);
	unregister_ftrace_function(&exec_ops);
	free_all();
}

module_init(kprobe_execute_init);
module_exit(kprobe_execute_exit);

MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
MODULE_DESCRIPTION("Kprobes test: instructions with and without probes");
MODULE_LICENSE("GPL");
