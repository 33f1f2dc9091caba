// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: breakpoints that are handled late, out-of-line copies as other code
 * sees them, and the text as it is without probes.
 */
#include <linux/completion.h>
#include <linux/kdebug.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/segment.h>
#include <asm/text-patching.h>
#include <asm/trapnr.h>

#ifdef CONFIG_OPTPROBES
#include "../../../arch/x86/kernel/kprobes/detour.h"
#include "jump_x86.h"
#else
#include "fixture.h"
#endif
#include "watch_x86.h"

static void *at(void *fn, u32 offset)
{
	OPTIMIZER_HIDE_VAR(fn);
	return fn + offset;
}

/* --- Breakpoints without a point ------------------------------------------- */

/* Text that other code briefly replaces with a breakpoint, and other text. */
static const u8 gone_text[][8] = {
	{ CALL_INSN_OPCODE, 0x10 },
	{ JMP32_INSN_OPCODE, 0x10 },
	{ JMP8_INSN_OPCODE, 0x10 },
	{ 0x0f, 0x1f, 0x44, 0x00, 0x00 },
	{ 0x66, 0x90 },
	{ 0x55 },
};

static struct pt_regs trap_at(const u8 *text, unsigned long *sp)
{
	return (struct pt_regs) {
		.ip = (unsigned long)text + INT3_INSN_SIZE,
		.sp = (unsigned long)sp,
		.cs = __KERNEL_CS,
		.flags = X86_EFLAGS_FIXED,
	};
}

/* Called as by the exception: with interrupts off, and as if it were an NMI. */
static int take_breakpoint(struct pt_regs *regs)
{
	unsigned long flags;
	int ret;

	local_irq_save(flags);
	__preempt_count_add(KPROBE_TRAP);
	ret = kprobe_int3_handler(regs);
	__preempt_count_sub(KPROBE_TRAP);
	local_irq_restore(flags);
	return ret;
}

static void breakpoint_that_is_gone_is_gone_back_to(struct kunit *test)
{
	unsigned long stack[4] = { };
	struct pt_regs regs;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(gone_text); i++) {
		regs = trap_at(gone_text[i], &stack[2]);
		KUNIT_EXPECT_EQ(test, take_breakpoint(&regs), 1);
		KUNIT_EXPECT_PTR_EQ(test, (void *)regs.ip, (void *)gone_text[i]);
		KUNIT_EXPECT_PTR_EQ(test, (void *)regs.sp, (void *)&stack[2]);
	}
	for (i = 0; i < ARRAY_SIZE(stack); i++)
		KUNIT_EXPECT_EQ(test, stack[i], 0ul);
}

static void breakpoint_of_somebody_else_is_left_alone(struct kunit *test)
{
	const u8 *text = at(kpt_traps, kpt_traps_int3_at);
	struct pt_regs regs = trap_at(text, NULL), before = regs;

	KUNIT_EXPECT_EQ(test, take_breakpoint(&regs), 0);
	KUNIT_EXPECT_MEMEQ(test, &regs, &before, sizeof(regs));
}

static void expect_stray(struct kunit *test, const u8 *text)
{
	struct pt_regs regs = trap_at(text, NULL), before = regs;

	KUNIT_ASSERT_EQ(test, *text, INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, take_breakpoint(&regs), 0);
	KUNIT_EXPECT_MEMEQ(test, &regs, &before, sizeof(regs));
}

/**
 * struct late_point - a point that is found only after its breakpoint has been
 * @word:   where points are looked up
 * @points: what was there
 */
struct late_point {
	void **word;
	void *points;
};

static void show_points(struct kpt_watch *w, struct pt_regs *regs)
{
	struct late_point *l = w->arg;

	WRITE_ONCE(*l->word, l->points);
}

/*
 * Calls @fn, whose first lookup finds no point at @text. It is there when the breakpoint has
 * been read. Nothing else is probed, and interrupts are off.
 */
static void make_point_meanwhile(struct kunit *test, const u8 *text, void (*fn)(void *arg),
				 void *arg)
{
	void *no_points = kprobe_test_symbol("addr_array_empty");
	unsigned int cpu = get_cpu();
	struct late_point l = { .word = kprobe_test_points_word() };
	struct kpt_watch *w;
	unsigned long flags;

	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	put_cpu();
	if (!no_points)
		kunit_skip(test, "needs the symbols of data");
	KUNIT_ASSERT_EQ(test, *text, INT3_INSN_OPCODE);
	w = kpt_watch(test, text, 1, cpu, show_points, &l);
	local_irq_save(flags);
	l.points = READ_ONCE(*l.word);
	WRITE_ONCE(*l.word, no_points);
	fn(arg);
	WRITE_ONCE(*l.word, l.points);
	local_irq_restore(flags);
	KUNIT_EXPECT_GE(test, w->times, 1);
	kpt_unwatch(test, w);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/**
 * struct late_hit - the breakpoint of such a point is hit
 * @regs: the registers
 * @ret:  what its handler returns
 */
struct late_hit {
	struct pt_regs regs;
	int ret;
};

static void hit_late_point(void *arg)
{
	struct late_hit *h = arg;

	h->ret = take_breakpoint(&h->regs);
}

static void breakpoint_of_a_point_that_is_made_meanwhile_is_gone_back_to(struct kunit *test)
{
	struct late_hit h;
	const u8 *text;

	kpt_forbid_jumps(test);
	text = (u8 *)kpt_probe(test, at(kpt_load, kpt_load_at))->kp.addr;
	h.regs = trap_at(text, NULL);
	make_point_meanwhile(test, text, hit_late_point, &h);
	KUNIT_EXPECT_EQ(test, h.ret, 1);
	KUNIT_EXPECT_PTR_EQ(test, (const u8 *)h.regs.ip, text);
}

/**
 * struct late_text - the text of such a point is read
 * @addr: where
 * @text: what it is without the point
 */
struct late_text {
	const u8 *addr;
	u8 text[8];
};

static void read_late_point(void *arg)
{
	struct late_text *t = arg;

	kprobe_text(t->text, (unsigned long)t->addr, sizeof(t->text));
}

static void text_of_a_point_that_is_made_meanwhile_is_read_without_it(struct kunit *test)
{
	struct late_text t = { .addr = at(kpt_load, kpt_load_at) };
	u8 before[sizeof(t.text)];

	memcpy(before, t.addr, sizeof(before));
	kpt_forbid_jumps(test);
	kpt_probe(test, (void *)t.addr);
	make_point_meanwhile(test, t.addr, read_late_point, &t);
	KUNIT_EXPECT_MEMEQ(test, t.text, before, sizeof(before));
}

#ifdef CONFIG_OPTPROBES
/* That copy is for post-handlers of instructions that run as copies. */
static void post_handler_of_an_emulated_instruction_needs_no_second_copy(struct kunit *test)
{
	u8 *load = (u8 *)at(kpt_load, kpt_load_at);
	unsigned int before;

	kpt_forbid_jumps(test);
	kpt_probe(test, KPT_JUMP_AT(emulated));
	before = kpt_counts(true).copies.live;
	kpt_probe_post(test, KPT_JUMP_AT(emulated));
	KUNIT_EXPECT_EQ(test, kpt_counts(false).copies.live, before);
	before = kpt_counts(true).copies.live;
	kpt_probe_post(test, load);
	KUNIT_EXPECT_EQ(test, kpt_counts(false).copies.live, before + 2);
}
#endif

#ifdef CONFIG_X86_FRED
/* By that, unwinders tell which ORC entry is meant. The entry code stores -1 without FRED, too. */
static void registers_tell_if_the_instruction_was_executed(struct kunit *test)
{
	unsigned long value = 17;
	struct kpt_probe *pr[] = {
		kpt_alloc_with(test, KPT_JUMP_AT(emulated), true, true),
		kpt_alloc_with(test, at(kpt_load, kpt_load_at), true, true),
	};
	unsigned int i;

	kpt_forbid_jumps(test);
	for (i = 0; i < ARRAY_SIZE(pr); i++)
		kpt_register(test, pr[i]);
	KUNIT_EXPECT_EQ(test, kpt_jump_emulated(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_load(&value), 17ul);
	for (i = 0; i < ARRAY_SIZE(pr); i++) {
		KUNIT_EXPECT_EQ(test, pr[i]->post, 1);
		KUNIT_EXPECT_EQ_MSG(test, (long)pr[i]->pre_regs.orig_ax, -1l, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, (long)pr[i]->post_regs.orig_ax, -2l, "%u", i);
	}
}
#endif

/* No hit gets there. An oops is better than a task that goes on somewhere. */
static void filling_of_a_slot_is_no_breakpoint_of_ours(struct kunit *test)
{
	struct kpt_probe *pr;
	const u8 *text;
	unsigned int i;

	kpt_forbid_jumps(test);
	pr = kpt_probe_post(test, at(kpt_load, kpt_load_at));
	text = (u8 *)kpt_insn_of(pr).step;
	KUNIT_ASSERT_NOT_NULL(test, text);
	/* There is one right after the instruction. */
	for (i = kpt_insn_of(pr).len + 1; i < MAX_INSN_SIZE && text[i] != INT3_INSN_OPCODE; i++)
		;
	expect_stray(test, text + i);
#ifdef CONFIG_OPTPROBES
	kpt_allow_jumps(test);
	KUNIT_ASSERT_TRUE(test, kprobe_optimized(&pr->kp));
	expect_stray(test, (u8 *)kpt_insn_of(pr).detour + __ARCH_KPROBE_DETOUR_SIZE - 1);
#endif
}

/* A breakpoint at the address of a point, but in user space. */
static void breakpoint_of_user_space_is_left_alone(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, at(kpt_load, kpt_load_at));
	const u8 *text[] = { (u8 *)pr->kp.addr, gone_text[0] };
	struct pt_regs regs, before;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(text); i++) {
		regs = trap_at(text[i], NULL);
		regs.cs = __USER_CS;
		before = regs;
		KUNIT_EXPECT_EQ(test, take_breakpoint(&regs), 0);
		KUNIT_EXPECT_MEMEQ(test, &regs, &before, sizeof(regs));
	}
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/* The CPU has executed the breakpoint that ftrace uses while it changes a site. */
static void breakpoint_at_a_site_of_ftrace_is_no_hit(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe_post(test, kpt_traced);
	u8 *addr = (u8 *)pr->kp.addr, *alias = kpt_writable(test, addr), was = *addr;
	unsigned long stack[4] = { };
	struct pt_regs regs = trap_at(addr, &stack[2]), before = regs;

	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&pr->kp));
	/* The breakpoint is gone. */
	KUNIT_EXPECT_EQ(test, take_breakpoint(&regs), 1);
	KUNIT_EXPECT_PTR_EQ(test, (u8 *)regs.ip, addr);
	KUNIT_EXPECT_PTR_EQ(test, (void *)regs.sp, (void *)&stack[2]);
	/* If the breakpoint is still there, it belongs to ftrace. */
	regs = before;
	WRITE_ONCE(*alias, INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, take_breakpoint(&regs), 0);
	WRITE_ONCE(*alias, was);
	KUNIT_EXPECT_MEMEQ(test, &regs, &before, sizeof(regs));
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_EXPECT_EQ(test, pr->post, 0);
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}
#endif

/* --- Copies ----------------------------------------------------------------- */

static unsigned long original(const void *ip)
{
	unsigned long ret;

	preempt_disable();
	ret = kprobe_original_ip((unsigned long)ip);
	preempt_enable();
	return ret;
}

static bool leaves(struct pt_regs *regs)
{
	bool ret;

	preempt_disable();
	ret = kprobe_leave_copy(regs);
	preempt_enable();
	return ret;
}

#ifdef CONFIG_X86_MCE
/* The exception tables have only the original, and say that the kernel can go on. */
static void error_of_memory_in_a_copy_is_one_of_the_original(struct kunit *test)
{
	unsigned char *addr = at(kpt_load_mc, kpt_load_mc_at);
	struct kpt_probe *pr;

	KUNIT_EXPECT_TRUE(test, kprobe_test_mce_recovers((unsigned long)addr));
	KUNIT_EXPECT_FALSE(test, kprobe_test_mce_recovers((unsigned long)kpt_load_mc));
	kpt_forbid_jumps(test);
	pr = kpt_probe(test, addr);
	KUNIT_EXPECT_TRUE(test, kprobe_test_mce_recovers((unsigned long)kpt_insn_of(pr).copy));
	kpt_unregister(test, pr);
	pr = kpt_probe_post(test, addr);
	KUNIT_EXPECT_TRUE(test, kprobe_test_mce_recovers((unsigned long)kpt_insn_of(pr).step));
	kpt_unregister(test, pr);
	/* The same instruction with a fix-up for other faults only. */
	pr = kpt_probe(test, at(kpt_load, kpt_load_at));
	KUNIT_EXPECT_FALSE(test, kprobe_test_mce_recovers((unsigned long)kpt_insn_of(pr).copy));
}
#endif

/* Holds the worker that erases the slots of copies. */
static void hold_slots(enum kprobe_stage stage, void *go)
{
	if (stage == KPROBE_STAGE_RETIRED)
		wait_for_completion_timeout(go, msecs_to_jiffies(KPT_TIMEOUT_MS));
}

static void release_slots(void *go)
{
	complete_all(go);
	kprobe_test_stop(NULL, NULL);
}

/*
 * A task is in a copy while the probe is removed. Another probe is set on the same
 * instruction, but its pre-handler has not run for this task.
 */
static void task_in_an_old_copy_runs_no_handler_of_a_new_probe(struct kunit *test)
{
	struct completion *go = kunit_kzalloc(test, sizeof(*go), GFP_KERNEL);
	unsigned long after, stack[4] = { };
	struct kpt_probe *first, *second;
	const u8 *old, *copy;
	struct pt_regs regs;
	unsigned int len;

	KUNIT_ASSERT_NOT_NULL(test, go);
	init_completion(go);
	kpt_forbid_jumps(test);
	kprobe_test_stop(hold_slots, go);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, release_slots, go), 0);
	first = kpt_probe_post(test, at(kpt_load, kpt_load_at));
	old = (u8 *)kpt_insn_of(first).step;
	len = kpt_insn_of(first).len;
	after = (unsigned long)first->kp.addr + len;
	KUNIT_ASSERT_NOT_NULL(test, old);
	kpt_unregister(test, first);
	/* There is no point at all. */
	regs = trap_at(old + len, &stack[2]);
	KUNIT_EXPECT_EQ(test, take_breakpoint(&regs), 1);
	KUNIT_EXPECT_EQ(test, regs.ip, after);

	second = kpt_probe_post(test, at(kpt_load, kpt_load_at));
	copy = (u8 *)kpt_insn_of(second).step;
	KUNIT_ASSERT_NOT_NULL(test, copy);
	KUNIT_ASSERT_PTR_NE(test, copy, old);

	/* The breakpoint after the instruction. */
	regs = trap_at(old + len, &stack[2]);
	KUNIT_EXPECT_EQ(test, take_breakpoint(&regs), 1);
	KUNIT_EXPECT_EQ(test, regs.ip, after);
	KUNIT_EXPECT_EQ(test, second->post, 0);
	regs = trap_at(copy + len, &stack[2]);
	KUNIT_EXPECT_EQ(test, take_breakpoint(&regs), 1);
	KUNIT_EXPECT_EQ(test, regs.ip, after);
	KUNIT_EXPECT_EQ(test, second->post, 1);
	KUNIT_EXPECT_EQ(test, first->post, 0);
}

static void check_copy(struct kunit *test, const u8 *copy, unsigned int len,
		       unsigned long addr)
{
	struct pt_regs regs = { .ip = (unsigned long)copy, .sp = 64 };

	KUNIT_ASSERT_NOT_NULL(test, copy);
	KUNIT_EXPECT_EQ(test, original(copy), addr);
	KUNIT_EXPECT_TRUE(test, leaves(&regs));
	KUNIT_EXPECT_EQ(test, regs.ip, addr);
	KUNIT_EXPECT_EQ(test, regs.sp, 64ul);

	/* The jump back has no original. */
	KUNIT_EXPECT_EQ(test, original(copy + len), (unsigned long)copy + len);
	regs.ip = (unsigned long)copy + len;
	KUNIT_EXPECT_FALSE(test, leaves(&regs));
	KUNIT_EXPECT_EQ(test, regs.ip, (unsigned long)copy + len);
}

/* The slot stays in a page whose other slots are used. */
static void free_slot_has_no_original(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe_post(test, at(kpt_load, kpt_load_at));
	kprobe_opcode_t *slot = get_insn_slot();
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, slot);
	free_insn_slot(slot, 0);
	for (i = 0; i < __ARCH_KPROBE_SLOT_SIZE; i++)
		KUNIT_EXPECT_EQ(test, original(slot + i), (unsigned long)slot + i);
	kpt_unregister(test, pr);
}

static void original_of_a_copy_is_known(struct kunit *test)
{
	void *addr = at(kpt_load, kpt_load_at);
	struct kpt_probe *pr = kpt_probe_post(test, addr);
	struct arch_specific_insn insn = kpt_insn_of(pr);
	struct pt_regs regs = { .ip = (unsigned long)addr };

	check_copy(test, insn.slot, insn.len, (unsigned long)addr);
	check_copy(test, insn.step, insn.len, (unsigned long)addr);
	KUNIT_EXPECT_EQ(test, original(addr), (unsigned long)addr);
	KUNIT_EXPECT_FALSE(test, leaves(&regs));
#ifdef CONFIG_OPTPROBES
	/* Once there is a detour, the copy that runs is the one in it. */
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE_MSG(test, kprobe_optimized(&pr->kp), "%s",
			      kpt_jump_reason(test, &pr->kp));
	insn = kpt_insn_of(pr);
	KUNIT_EXPECT_PTR_NE(test, insn.copy, insn.slot);
	KUNIT_EXPECT_EQ(test, original(insn.copy), (unsigned long)addr);
	/* The load is not the original of the return after it. */
	KUNIT_EXPECT_EQ(test, original(insn.copy + insn.len),
			(unsigned long)insn.copy + insn.len);
	regs.ip = (unsigned long)insn.copy + insn.len;
	KUNIT_EXPECT_FALSE(test, leaves(&regs));
#endif
}

/*
 * The stack may be unusable after a double fault, so nothing may go on after one. The same
 * notification of another trap finds the fix-up of the original.
 */
static void double_fault_in_a_copy_is_left_alone(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe_post(test, at(kpt_load, kpt_load_at));
	unsigned long copy = (unsigned long)kpt_insn_of(pr).step;
	struct pt_regs regs = { .ip = copy, .cs = __KERNEL_CS };
	struct die_args args = { .regs = &regs, .trapnr = X86_TRAP_DF };
	notifier_fn_t notify = kprobe_test_symbol("kprobe_exceptions_notify");
	int ret;

	if (!notify)
		kunit_skip(test, "the symbol of the notifier is not known");
	preempt_disable();
	ret = notify(NULL, DIE_TRAP, &args);
	preempt_enable();
	KUNIT_EXPECT_EQ(test, ret, NOTIFY_DONE);
	KUNIT_EXPECT_EQ(test, regs.ip, copy);

	args.trapnr = X86_TRAP_AC;
	preempt_disable();
	ret = notify(NULL, DIE_TRAP, &args);
	preempt_enable();
	KUNIT_EXPECT_EQ(test, ret, NOTIFY_STOP);
	KUNIT_EXPECT_NE(test, regs.ip, copy);
}

static enum kprobe_unwind unwind(const void *ip, unsigned long *same)
{
	enum kprobe_unwind ret;

	*same = 0;
	preempt_disable();
	ret = kprobe_unwind((unsigned long)ip, same);
	preempt_enable();
	return ret;
}

/* Within the copied instruction, the stack is as before it; at its end, as after it. */
static void unwinders_know_the_stack_in_a_copy(struct kunit *test)
{
	void *addr = at(kpt_load, kpt_load_at);
	struct arch_specific_insn insn = kpt_insn_of(kpt_probe_post(test, addr));
	const u8 *copy[] = { insn.slot, insn.step };
	unsigned long same;
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(copy); i++) {
		KUNIT_ASSERT_NOT_NULL(test, copy[i]);
		for (n = 0; n <= insn.len; n++) {
			KUNIT_EXPECT_EQ(test, unwind(copy[i] + n, &same), KPROBE_UNWIND_SAME);
			KUNIT_EXPECT_EQ(test, same,
					(unsigned long)addr + (n < insn.len ? 0 : insn.len));
		}
	}
	KUNIT_EXPECT_EQ(test, unwind(addr, &same), KPROBE_UNWIND_UNKNOWN);

	/* The copy of an indirect call has pushed the operand, not a return address. */
	addr = at(kpt_call_at, kpt_call_at_at);
	insn = kpt_insn_of(kpt_probe(test, addr));
	KUNIT_ASSERT_NOT_NULL(test, insn.step);
	KUNIT_EXPECT_EQ(test, unwind(insn.step, &same), KPROBE_UNWIND_SAME);
	KUNIT_EXPECT_EQ(test, same, (unsigned long)addr);
	KUNIT_EXPECT_EQ(test, unwind(insn.step + insn.len, &same), KPROBE_UNWIND_UNKNOWN);
}

/* In other instructions, 16 bits are extended with their sign. */
static void operand_of_a_return_has_no_sign(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, at(kpt_drops, kpt_drops_at));

	KUNIT_EXPECT_EQ(test, kpt_insn_of(pr).imm, KPT_DROPPED);
}

/* What their opcodes mean without the prefix does not matter. */
static void vector_instructions_run_as_copies(struct kunit *test)
{
	struct arch_specific_insn insn;
	struct kpt_probe *pr;
	unsigned int i;

	for (i = 0; i < KPT_VECTORS; i++) {
		pr = kpt_probe_post(test, at(kpt_vector, kpt_vector_at + i * sizeof(u32)));
		insn = kpt_insn_of(pr);
		KUNIT_EXPECT_NOT_NULL_MSG(test, insn.copy, "%u", i);
		KUNIT_EXPECT_NOT_NULL_MSG(test, insn.step, "%u", i);
	}
	KUNIT_EXPECT_EQ(test, kpt_vector(7), KPT_RESULT(7ul));
}

static int pre_into_step(struct kpt_probe *pr, struct pt_regs *regs)
{
	if (pr->pre != 1)
		return 0;
	/* As if the operand could not have been read. */
	regs->ip = (unsigned long)get_kprobe(pr->kp.addr)->ainsn.step;
	return 1;
}

static void copy_of_an_indirect_call_does_not_call(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, at(kpt_call_at, kpt_call_at_at));
	/* The function overwrites this pointer with its return address. */
	kpt_fn_t where = kpt_ret_where;

	pr->on_pre = pre_into_step;
	kpt_register(test, pr);
	kpt_call_at(&where);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	KUNIT_EXPECT_PTR_EQ(test, (void *)where, at(kpt_call_at, kpt_call_at_next));
}

/* The operand may be anywhere in kernel memory. */
static void call_through_the_heap_is_emulated(struct kunit *test)
{
	kpt_fn_t *to = kunit_kzalloc(test, sizeof(*to), GFP_KERNEL);
	struct kpt_probe *pr;
	unsigned int post;

	KUNIT_ASSERT_NOT_NULL(test, to);
	*to = kpt_plain;
	kpt_forbid_jumps(test);
	for (post = 0; post < 2; post++) {
		pr = kpt_alloc_with(test, at(kpt_call_at, kpt_call_at_at), true, post);
		kpt_register(test, pr);
		KUNIT_EXPECT_EQ(test, kpt_call_at(to), KPT_RESULT((unsigned long)to));
		KUNIT_EXPECT_EQ(test, pr->pre, 1);
		KUNIT_EXPECT_EQ(test, pr->post, post);
		kpt_unregister(test, pr);
	}
}

/* A CPU does not put a call to the next instruction into its return stack buffer. */
static void calls_that_return_nowhere_do_not_call_what_follows(struct kunit *test)
{
	static const u8 call[] = { CALL_INSN_OPCODE, 1, 0, 0, 0, INT3_INSN_OPCODE };
	const u8 *leave = kprobe_test_symbol("detour_leave");
	unsigned int i, nr = 0, size;

#ifdef CONFIG_KRETPROBES
	const u8 *trampoline = kprobe_test_symbol("__kretprobe_trampoline");

	KUNIT_ASSERT_NOT_NULL(test, trampoline);
	KUNIT_EXPECT_MEMEQ(test, trampoline, call, sizeof(call));
#endif
	if (!IS_ENABLED(CONFIG_OPTPROBES))
		return;
	KUNIT_ASSERT_NOT_NULL(test, leave);
	size = kpt_size(test, leave);
	for (i = 0; i + sizeof(call) <= size; i++)
		nr += !memcmp(leave + i, call, sizeof(call));
	KUNIT_EXPECT_EQ(test, nr, 2);
}

#ifdef CONFIG_X86_64
/* The trap of the latest fault. */
static int far_trap;

static int note_far_trap(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	far_trap = trapnr;
	return 0;
}

#define FAR(name)	{ #name, kpt_far_##name, &kpt_far_##name##_at, &kpt_far_##name##_done }

static const struct far {
	const char *name;
	kpt_fn_t fn;
	const u32 *at;
	const u32 *done;
} fars[] = {
	FAR(call), FAR(call_mem), FAR(call_11), FAR(call_rip), FAR(jmp), FAR(jmp_mem), FAR(ret),
};

static unsigned long far_to(const struct far *far, unsigned long target)
{
	WRITE_ONCE(kpt_far_word, target);
	return far->fn(target);
}

/*
 * If the exception returned to such an address, that return would fault. A jump without a
 * post-handler executes the branch itself, and TCG faults at its target.
 */
static void check_far(struct kunit *test, const struct far *far, bool post, bool jump)
{
	struct kpt_probe *pr = kpt_alloc_with(test, at(far->fn, *far->at), true, post);
	bool calls = str_has_prefix(far->name, "call");
	unsigned long good = calls ? (unsigned long)kpt_asm_returns :
				     (unsigned long)far->fn + *far->done;
	/*
	 * Typical values of freed memory, and both ends of the addresses that are not
	 * canonical: in page tables of five levels, and in those of this machine.
	 */
	const unsigned long nowhere[] = {
		0x6b6b6b6b6b6b6b6b, 0xdead000000000122, 1ul << 56, ~(1ul << 56),
		1ul << __VIRTUAL_MASK_SHIFT, ~(1ul << __VIRTUAL_MASK_SHIFT),
	};
	unsigned int i;

	/* The function might have a jump table, which leads to the bytes after the branch. */
	if (KPT_JUMP_TABLES && str_has_prefix(far->name, "jmp"))
		jump = false;
	pr->kp.fault_handler = note_far_trap;
	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_EQ_MSG(test, kprobe_optimized(&pr->kp), jump, "%s", far->name);
	for (i = 0; i < ARRAY_SIZE(nowhere); i++) {
		pr->pre = 0;
		pr->post = 0;
		far_trap = 0;
		KUNIT_EXPECT_EQ_MSG(test, far_to(far, good), 0ul, "%s", far->name);
		KUNIT_EXPECT_EQ(test, pr->post, post);
		KUNIT_EXPECT_EQ_MSG(test, far_to(far, nowhere[i]), (unsigned long)KPT_FAULTED,
				    "%s to %lx", far->name, nowhere[i]);
		/* A jump executes the branch, which is not an instruction of the probe any more. */
		if (!jump || post)
			KUNIT_EXPECT_EQ(test, far_trap, X86_TRAP_GP);
		KUNIT_EXPECT_EQ(test, pr->pre, 2);
		KUNIT_EXPECT_EQ(test, pr->post, post);
	}
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
	kpt_unregister(test, pr);
}

/* What is somewhere, or may be, but not in the kernel's text, is none of these. */
static void branch_to_other_addresses_goes_there(struct kunit *test)
{
	unsigned long to[] = {
		(unsigned long)kunit_kzalloc(test, 16, GFP_KERNEL),
		0, PAGE_SIZE, BIT(47) - 1, -BIT(47), -1ul,
	};
	unsigned long stack[4] = { };
	struct kpt_probe *pr, *ret;
	struct pt_regs regs;
	unsigned int i;

	KUNIT_ASSERT_NE(test, to[0], 0ul);
	kpt_forbid_jumps(test);
	pr = kpt_probe(test, at(kpt_far_jmp, kpt_far_jmp_at));
	ret = kpt_probe(test, at(kpt_far_ret, kpt_far_ret_at));
	for (i = 0; i < ARRAY_SIZE(to); i++) {
		regs = trap_at((u8 *)pr->kp.addr, &stack[2]);
		regs.di = to[i];
		KUNIT_EXPECT_EQ(test, take_breakpoint(&regs), 1);
		KUNIT_EXPECT_EQ(test, regs.ip, to[i]);

		regs = trap_at((u8 *)ret->kp.addr, &stack[2]);
		stack[2] = to[i];
		KUNIT_EXPECT_EQ(test, take_breakpoint(&regs), 1);
		KUNIT_EXPECT_EQ(test, regs.ip, to[i]);
		KUNIT_EXPECT_PTR_EQ(test, (void *)regs.sp, (void *)&stack[3]);
	}
}

#ifdef CONFIG_OPTPROBES
static void fault_of_a_branch_to_nowhere_is_followed_by_breakpoints(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, at(kpt_far_ret, kpt_far_ret_at));
	const struct x86_copy *copy = (void *)kpt_insn_of(pr).step;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, copy);
	KUNIT_EXPECT_EQ(test, copy->len, X86_FAULT_SIZE);
	for (i = X86_FAULT_SIZE; i < sizeof(copy->text); i++)
		KUNIT_EXPECT_EQ_MSG(test, copy->text[i], INT3_INSN_OPCODE, "%u", i);
}
#endif

static void branch_to_nowhere_faults_where_it_is(struct kunit *test)
{
	unsigned int i;

	kpt_forbid_jumps(test);
	for (i = 0; i < ARRAY_SIZE(fars); i++) {
		check_far(test, &fars[i], false, false);
		check_far(test, &fars[i], true, false);
	}
}

#ifdef CONFIG_OPTPROBES
static void branch_to_nowhere_faults_under_a_jump(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fars); i++) {
		/* A call shorter than the jump would return into its bytes. */
		if (fars[i].fn != kpt_far_call)
			check_far(test, &fars[i], true, true);
	}
}
#endif

/* With one byte more, the copy would overwrite what describes it. */
static void branch_that_is_too_long_for_a_copy_is_refused(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kpt_refused(at(kpt_far_call_11, kpt_far_call_11_at)), 0);
	KUNIT_EXPECT_EQ(test, kpt_refused(at(kpt_far_call_12, kpt_far_call_12_at)), -EILSEQ);
}

/* Before the trap of the copy that pushes, and after it. */
static void unwinders_know_the_stack_of_a_branch_to_nowhere(struct kunit *test)
{
	void *addr = at(kpt_far_ret, kpt_far_ret_at);
	const u8 *step = kpt_insn_of(kpt_probe(test, addr)).step;
	struct arch_specific_insn insn;
	unsigned long same;

	KUNIT_ASSERT_NOT_NULL(test, step);
	KUNIT_EXPECT_EQ(test, unwind(step, &same), KPROBE_UNWIND_SAME);
	KUNIT_EXPECT_EQ(test, same, (unsigned long)addr);
	KUNIT_EXPECT_EQ(test, original(step), (unsigned long)addr);

	addr = at(kpt_far_jmp_mem, kpt_far_jmp_mem_at);
	insn = kpt_insn_of(kpt_probe(test, addr));
	KUNIT_ASSERT_NOT_NULL(test, insn.step);
	step = insn.step + insn.len;
	KUNIT_EXPECT_EQ(test, unwind(step, &same), KPROBE_UNWIND_UNKNOWN);
	KUNIT_EXPECT_EQ(test, unwind(step + 1, &same), KPROBE_UNWIND_UNKNOWN);
	KUNIT_EXPECT_EQ(test, unwind(step + 2, &same), KPROBE_UNWIND_SAME);
	KUNIT_EXPECT_EQ(test, same, (unsigned long)addr);
	KUNIT_EXPECT_EQ(test, original(step + 2), (unsigned long)addr);
}
#endif

static bool is_erased(const u8 *text, unsigned int len)
{
	u8 byte;

	while (len--) {
		if (copy_from_kernel_nofault(&byte, text++, 1) || byte != INT3_INSN_OPCODE)
			return false;
	}
	return true;
}

#ifdef CONFIG_OPTPROBES
/* The detour of the probe that stays may be on another page. */
static bool is_erased_or_gone(const void *text, unsigned int len)
{
	u8 byte;

	return copy_from_kernel_nofault(&byte, text, 1) || is_erased(text, len);
}
#endif

/*
 * A slot in use keeps the page, so that free slots on it can be examined, some before it and
 * one after it.
 */
static void copies_that_are_given_back_are_erased(struct kunit *test)
{
	struct arch_specific_insn insn, after;
	struct kpt_probe *pr, *last;

	pr = kpt_probe_post(test, at(kpt_peek, kpt_peek_at));
	kpt_probe(test, at(kpt_load, kpt_load_at));
	last = kpt_probe(test, at(kpt_zeropad, kpt_zeropad_at));
	wait_for_kprobe_optimizer();
	insn = kpt_insn_of(pr);
	after = kpt_insn_of(last);
	KUNIT_ASSERT_NOT_NULL(test, insn.slot);
	KUNIT_ASSERT_NOT_NULL(test, insn.step);
	KUNIT_ASSERT_NOT_NULL(test, after.slot);
	KUNIT_EXPECT_FALSE(test, is_erased(insn.slot, insn.len));
	KUNIT_EXPECT_FALSE(test, is_erased(after.slot, after.len));
	kpt_unregister(test, pr);
	kpt_unregister(test, last);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(is_erased(after.slot, __ARCH_KPROBE_SLOT_SIZE)));
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(is_erased(insn.slot, __ARCH_KPROBE_SLOT_SIZE)));
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(is_erased(insn.step, __ARCH_KPROBE_SLOT_SIZE)));
#ifdef CONFIG_OPTPROBES
	KUNIT_ASSERT_NOT_NULL(test, insn.detour);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(is_erased_or_gone(insn.detour,
								 __ARCH_KPROBE_DETOUR_SIZE)));
#endif
}

/* Free slots hold nothing but breakpoints. */
static void slots_without_code_hold_breakpoints(struct kunit *test)
{
	struct arch_specific_insn insn;
	struct kpt_probe *pr;
	u8 *page;

	/* Wait until the slots of earlier cases are free. */
	kpt_counts(true);
	pr = kpt_probe(test, at(kpt_load, kpt_load_at));
	wait_for_kprobe_optimizer();
	insn = kpt_insn_of(pr);
	KUNIT_ASSERT_NOT_NULL(test, insn.slot);
	page = (u8 *)((unsigned long)insn.slot & PAGE_MASK);
	/* Slots at the start of a page are taken first. */
	KUNIT_EXPECT_TRUE(test, is_erased(page + PAGE_SIZE / 2, PAGE_SIZE / 2));
#ifdef CONFIG_OPTPROBES
	KUNIT_ASSERT_NOT_NULL(test, insn.detour);
	page = (u8 *)((unsigned long)insn.detour & PAGE_MASK);
	KUNIT_EXPECT_TRUE(test, is_erased(page + PAGE_SIZE / 2, PAGE_SIZE / 2));
	/* So does what the code of the detour leaves of its slot. */
	KUNIT_EXPECT_TRUE(test, is_erased((u8 *)insn.detour + __ARCH_KPROBE_DETOUR_SIZE - 16, 16));
#endif
}

/* --- Changes to the text --------------------------------------------------- */

/**
 * struct change - what a probed function sees of a change to the text
 * @by:	   a probe on the function, which is called for each change
 * @task:  the task that changes the text
 * @addr:  the byte that matters
 * @seen:  calls for that byte, or calls while it was a breakpoint
 * @old:   the old byte that was passed
 * @new:   the new byte that was passed
 * @right: each call was for a single byte
 */
struct change {
	struct kprobe by;
	struct task_struct *task;
	const u8 *addr;
	unsigned int seen;
	u8 old;
	u8 new;
	bool right;
};

static void unregister_by(void *p)
{
	unregister_kprobe(p);
}

static struct change *watch(struct kunit *test, const char *name, kprobe_pre_handler_t pre)
{
	struct change *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->task = current;
	c->addr = at(kpt_load, kpt_load_at);
	c->right = true;
	c->by.symbol_name = name;
	c->by.pre_handler = pre;
	KUNIT_ASSERT_EQ(test, register_kprobe(&c->by), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unregister_by, &c->by), 0);
	return c;
}

static int pre_text_poke_sync(struct kprobe *p, struct pt_regs *regs)
{
	struct change *c = container_of(p, struct change, by);

	if (current == c->task && READ_ONCE(*c->addr) == INT3_INSN_OPCODE)
		c->seen++;
	return 0;
}

static void note_armed(enum kprobe_stage stage, void *arg)
{
	struct change *c = arg;

	/* Ignore later calls. */
	if (stage == KPROBE_STAGE_ARMED)
		c->task = NULL;
}

/* A CPU may have the old instruction in its pipeline. */
static void every_cpu_sees_a_breakpoint_before_registration_ends(struct kunit *test)
{
	struct change *c = watch(test, "text_poke_sync", pre_text_poke_sync);

	kpt_watch_stages(test, note_armed, c);
	kpt_probe(test, (void *)c->addr);
	KUNIT_EXPECT_NULL(test, c->task);
	KUNIT_EXPECT_GT(test, c->seen, 0);
}

#ifdef CONFIG_TASKS_RCU
/**
 * struct held_up - a grace period of tasks-RCU that waits for the task that patches text
 * @task: the task
 * @from: it waits from this stage on
 * @to:	  the stage to look at
 * @held: it still waits there
 */
struct held_up {
	struct task_struct *task;
	enum kprobe_stage from, to;
	bool held;
};

/* A grace period sets this, and waits until the task clears it. */
static void note_held_up(enum kprobe_stage stage, void *arg)
{
	struct held_up *h = arg;

	if (current != h->task)
		return;
	if (stage == h->from)
		WRITE_ONCE(current->rcu_tasks_holdout, true);
	if (stage == h->to)
		h->held = READ_ONCE(current->rcu_tasks_holdout);
}

/* A real grace period may begin shortly before @to, but not each time. */
#define HELD_UP_TRIES	5

static void check_held_up(struct kunit *test, enum kprobe_stage from, enum kprobe_stage to,
			  bool jump)
{
	struct held_up *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);
	struct kpt_probe *pr;
	unsigned int tries;

	KUNIT_ASSERT_NOT_NULL(test, h);
	if (!jump)
		kpt_forbid_jumps(test);
	*h = (struct held_up){ .task = current, .from = from, .to = to, .held = true };
	kpt_watch_stages(test, note_held_up, h);
	for (tries = 0; h->held && tries < HELD_UP_TRIES; tries++) {
		pr = kpt_probe(test, kpt_plain);
		wait_for_kprobe_optimizer();
		KUNIT_EXPECT_EQ_MSG(test, kprobe_optimized(&pr->kp), jump, "%s",
				    kpt_jump_reason(test, &pr->kp));
		kpt_unregister(test, pr);
	}
	KUNIT_EXPECT_FALSE(test, h->held);
}

/* There may be thousands of points, and jumps are made only after such grace periods. */
static void tasks_rcu_goes_on_while_breakpoints_are_written(struct kunit *test)
{
	check_held_up(test, KPROBE_STAGE_ARMING, KPROBE_STAGE_ARMED, false);
}

static void tasks_rcu_goes_on_while_breakpoints_are_removed(struct kunit *test)
{
	check_held_up(test, KPROBE_STAGE_LEAVING, KPROBE_STAGE_DISARMED, false);
}

#ifdef CONFIG_OPTPROBES
static void tasks_rcu_goes_on_while_jumps_are_removed(struct kunit *test)
{
	check_held_up(test, KPROBE_STAGE_LEAVING, KPROBE_STAGE_DISARMED, true);
}
#endif
#endif

#ifdef CONFIG_PERF_EVENTS
static int pre_perf_event_text_poke(struct kprobe *p, struct pt_regs *regs)
{
	struct change *c = container_of(p, struct change, by);

	if (current != c->task || (u8 *)regs_get_kernel_argument(regs, 0) != c->addr)
		return 0;
	c->seen++;
	c->old = *(u8 *)regs_get_kernel_argument(regs, 1);
	c->new = *(u8 *)regs_get_kernel_argument(regs, 3);
	c->right &= regs_get_kernel_argument(regs, 2) == 1 &&
		    regs_get_kernel_argument(regs, 4) == 1;
	return 0;
}

static void perf_learns_of_each_breakpoint(struct kunit *test)
{
	struct change *c = watch(test, "perf_event_text_poke", pre_perf_event_text_poke);
	struct kpt_probe *pr;
	u8 was = *c->addr;

	kpt_forbid_jumps(test);
	pr = kpt_probe(test, (void *)c->addr);
	KUNIT_EXPECT_EQ(test, c->seen, 1);
	KUNIT_EXPECT_EQ(test, c->old, was);
	KUNIT_EXPECT_EQ(test, c->new, INT3_INSN_OPCODE);
	kpt_unregister(test, pr);
	KUNIT_EXPECT_EQ(test, c->seen, 2);
	KUNIT_EXPECT_EQ(test, c->old, INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, c->new, was);
	KUNIT_EXPECT_TRUE(test, c->right);
}

/* A free slot is erased: there is nothing new, and what was there is told before it is gone. */
static int pre_erased(struct kprobe *p, struct pt_regs *regs)
{
	struct change *c = container_of(p, struct change, by);
	u8 *text = (u8 *)regs_get_kernel_argument(regs, 0);

	if (c->addr < text || c->addr >= text + regs_get_kernel_argument(regs, 2) ||
	    regs_get_kernel_argument(regs, 4))
		return 0;
	c->seen++;
	c->old = ((u8 *)regs_get_kernel_argument(regs, 1))[c->addr - text];
	return 0;
}

static void perf_learns_what_a_free_slot_has_held(struct kunit *test)
{
	struct change *c = watch(test, "perf_event_text_poke", pre_erased);
	struct kpt_probe *pr;
	u8 was;

	kpt_forbid_jumps(test);
	pr = kpt_probe(test, (void *)c->addr);
	KUNIT_ASSERT_NOT_NULL(test, kpt_insn_of(pr).copy);
	c->addr = (u8 *)kpt_insn_of(pr).copy;
	was = *c->addr;
	KUNIT_EXPECT_NE(test, was, INT3_INSN_OPCODE);
	kpt_unregister(test, pr);
	kpt_counts(true);
	KUNIT_EXPECT_EQ(test, c->seen, 1);
	KUNIT_EXPECT_EQ(test, c->old, was);
}

/**
 * struct generated - what perf is told of new code
 * @by:	     the probe that counts
 * @copies:  bytes of copies
 * @most:    most bytes of copies at once
 * @detours: bytes of detours
 */
struct generated {
	struct kprobe by;
	size_t copies;
	size_t most;
	size_t detours;
};

static int pre_generated(struct kprobe *p, struct pt_regs *regs)
{
	struct generated *g = container_of(p, struct generated, by);
	unsigned long addr = regs_get_kernel_argument(regs, 0);
	size_t len = regs_get_kernel_argument(regs, 4);

	/* There was nothing. */
	if (regs_get_kernel_argument(regs, 2))
		return 0;
	if (is_kprobe_insn_slot(addr)) {
		g->copies += len;
		g->most = max(g->most, len);
	}
#ifdef CONFIG_OPTPROBES
	if (is_kprobe_optinsn_slot(addr))
		g->detours += len;
#endif
	return 0;
}

/* insn.c writes at most so many copies at once. */
#define AT_ONCE		16
#define NR_GENERATED	64

static void perf_learns_of_all_that_is_generated(struct kunit *test)
{
	struct generated *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);
	struct kprobe *kp = kunit_kcalloc(test, NR_GENERATED, sizeof(*kp), GFP_KERNEL);
	struct kprobe *kps[NR_GENERATED];
	struct kprobe_counts before, now;
	unsigned int nr;

	KUNIT_ASSERT_NOT_NULL(test, g);
	KUNIT_ASSERT_NOT_NULL(test, kp);
	kpt_forbid_jumps(test);
	g->by.symbol_name = "perf_event_text_poke";
	g->by.pre_handler = pre_generated;
	KUNIT_ASSERT_EQ(test, register_kprobe(&g->by), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unregister_by, &g->by), 0);
	for (nr = 0; nr < NR_GENERATED && kpt_long_text_starts[nr + 1]; nr++) {
		kp[nr].addr = kpt_long_text + kpt_long_text_starts[nr];
		kps[nr] = &kp[nr];
	}
	before = kpt_counts(true);
	g->copies = 0;
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, nr), 0);
	now = kpt_counts(false);
	KUNIT_EXPECT_GT(test, now.copies.live - before.copies.live, AT_ONCE);
	KUNIT_EXPECT_EQ(test, g->copies,
			(now.copies.live - before.copies.live) * __ARCH_KPROBE_SLOT_SIZE);
	KUNIT_EXPECT_EQ(test, g->most, AT_ONCE * __ARCH_KPROBE_SLOT_SIZE);
#ifdef CONFIG_OPTPROBES
	kpt_allow_jumps(test);
	wait_for_kprobe_optimizer();
	now = kpt_counts(false);
	KUNIT_EXPECT_GT(test, now.detours.live, before.detours.live);
	KUNIT_EXPECT_EQ(test, g->detours,
			(now.detours.live - before.detours.live) * __ARCH_KPROBE_DETOUR_SIZE);
#endif
	unregister_kprobes(kps, nr);
}

#ifdef CONFIG_OPTPROBES
/* Once its jump is gone, a detour sends hits elsewhere. */
static void perf_learns_of_the_breakpoint_in_a_detour(struct kunit *test)
{
	struct change *c = watch(test, "perf_event_text_poke", pre_perf_event_text_poke);
	struct kpt_probe *pr = kpt_probe(test, (void *)c->addr);
	const struct x86_detour *d;
	u8 was;

	wait_for_kprobe_optimizer();
	d = kpt_insn_of(pr).detour;
	KUNIT_ASSERT_NOT_NULL(test, d);
	KUNIT_ASSERT_NE(test, d->branch, 0);
	c->seen = 0;
	c->right = true;
	c->addr = (u8 *)d + d->branch;
	was = *c->addr;
	KUNIT_EXPECT_NE(test, was, INT3_INSN_OPCODE);
	kpt_unregister(test, pr);
	KUNIT_EXPECT_EQ(test, c->seen, 1);
	KUNIT_EXPECT_EQ(test, c->old, was);
	KUNIT_EXPECT_EQ(test, c->new, INT3_INSN_OPCODE);
	KUNIT_EXPECT_TRUE(test, c->right);
}
#endif
#endif

/* --- The text without probes --------------------------------------------- */

static void check_text(struct kunit *test, u8 *addr)
{
	struct kpt_probe *pr = kpt_alloc(test, addr);
	u8 before[8], text[8] = { };
	unsigned int len;

	memcpy(before, addr, sizeof(before));
	kpt_register(test, pr);
	KUNIT_EXPECT_MEMNEQ(test, addr, before, sizeof(before));
	for (len = 1; len <= sizeof(text); len++) {
		kprobe_text(text, (unsigned long)addr, len);
		KUNIT_EXPECT_MEMEQ(test, text, before, len);
	}
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_MEMNEQ(test, addr, before, sizeof(before));
	for (len = 1; len <= sizeof(text); len++) {
		kprobe_text(text, (unsigned long)addr, len);
		KUNIT_EXPECT_MEMEQ(test, text, before, len);
	}
	kpt_unregister(test, pr);
	kprobe_text(text, (unsigned long)addr, sizeof(text));
	KUNIT_EXPECT_MEMEQ(test, text, before, sizeof(text));
}

/* An instruction pointer that is wrong may be anywhere. KASAN must not report that. */
static void check_no_text(struct kunit *test)
{
	char *nowhere = kpt_bad_address(test), *freed = kmalloc(16, GFP_KERNEL);
	u8 text[16], zeros[16] = { };

	memset(text, 1, sizeof(text));
	kprobe_text(text, (unsigned long)nowhere - 1, sizeof(text));
	KUNIT_EXPECT_MEMEQ(test, text, zeros, sizeof(text));
	KUNIT_ASSERT_NOT_NULL(test, freed);
	kfree(freed);
	kprobe_text(text, (unsigned long)freed, sizeof(text));
}

static void text_without_probes_is_read(struct kunit *test)
{
	check_no_text(test);
	check_text(test, at(kpt_zeropad, kpt_zeropad_at));
#ifdef CONFIG_OPTPROBES
	/* No displacement is so large that the jump's last byte looks like the NOP there. */
	check_text(test, at(kpt_jump_nops, kpt_jump_nops_at));
#endif
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/* The call belongs to ftrace, so it is not undone. */
static void call_of_ftrace_is_read_as_it_is(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_traced);
	u8 text[8];

	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&pr->kp));
	kprobe_text(text, (unsigned long)pr->kp.addr, sizeof(text));
	KUNIT_EXPECT_MEMEQ(test, text, (u8 *)pr->kp.addr, sizeof(text));
}
#endif

/* kgdb patches text with interrupts off, under a lock that sleeps on RT. */
static void check_kgdb_refuses(struct kunit *test, unsigned long addr)
{
	int ret;

	if (!IS_ENABLED(CONFIG_KGDB) || IS_ENABLED(CONFIG_PREEMPT_RT))
		return;
	ret = kprobe_test_debug(addr, true);
	KUNIT_EXPECT_EQ(test, ret, -EBUSY);
	if (!ret)
		kprobe_test_debug(addr, false);
}

/* Debuggers must leave alone the bytes in [@from, @to). */
static void check_has_text(struct kunit *test, const u8 *addr, unsigned int from,
			   unsigned int to)
{
	unsigned int i;
	bool has;

	for (i = 0; i < 8; i++) {
		has = i >= from && i < to;
		KUNIT_EXPECT_EQ_MSG(test, kprobe_has_text((unsigned long)addr + i), has,
				    "byte %u", i);
		if (has)
			check_kgdb_refuses(test, (unsigned long)addr + i);
	}
}

static void debuggers_learn_what_a_probe_has_replaced(struct kunit *test)
{
	u8 *addr = at(kpt_zeropad, kpt_zeropad_at);
	struct kpt_probe *pr;

	check_has_text(test, addr, 0, 0);
	kpt_forbid_jumps(test);
	pr = kpt_probe(test, addr);
	check_has_text(test, addr, 0, INT3_INSN_SIZE);
	/* Enabling the probe would overwrite a debugger's breakpoint. */
	KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
	check_has_text(test, addr, 0, INT3_INSN_SIZE);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&pr->kp), 0);
	check_has_text(test, addr, 0, INT3_INSN_SIZE);
#ifdef CONFIG_OPTPROBES
	kpt_allow_jumps(test);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_TRUE_MSG(test, kprobe_optimized(&pr->kp), "%s",
			      kpt_jump_reason(test, &pr->kp));
	check_has_text(test, addr, 0, JMP32_INSN_SIZE);
#endif
	kpt_unregister(test, pr);
	check_has_text(test, addr, 0, 0);
}

/*
 * Debuggers ask before they know whether there is memory at an address, and an oops asks
 * about any instruction pointer. The tombstones of removed points in the table have a key
 * that is not an address of text.
 */
#define GONE_POINTS	32

static void addresses_that_are_no_text_have_no_probe(struct kunit *test)
{
	struct kprobe *kp = kunit_kcalloc(test, GONE_POINTS, sizeof(*kp), GFP_KERNEL);
	struct kprobe *kps[GONE_POINTS];
	u8 text[8], zeros[8] = { };
	unsigned int nr, n = 0;
	unsigned long addr;

	KUNIT_ASSERT_NOT_NULL(test, kp);
	while (kpt_long_text_starts[n + 1]) {
		memset(kp, 0, GONE_POINTS * sizeof(*kp));
		for (nr = 0; nr < GONE_POINTS && kpt_long_text_starts[n + 1]; nr++, n++) {
			kp[nr].addr = kpt_long_text + kpt_long_text_starts[n];
			kp[nr].flags = KPROBE_FLAG_DISABLED;
			kps[nr] = &kp[nr];
		}
		KUNIT_ASSERT_EQ(test, register_kprobes(kps, nr), 0);
		unregister_kprobes(kps, nr);
		KUNIT_ASSERT_FALSE(test, kprobe_has_text(-1ul));
		for (addr = 0; addr < JMP32_INSN_SIZE; addr++)
			KUNIT_ASSERT_FALSE(test, kprobe_has_text(addr));
		memset(text, 1, sizeof(text));
		kprobe_text(text, -1ul, sizeof(text));
		KUNIT_ASSERT_MEMEQ(test, text, zeros, sizeof(text));
	}
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/* The text that ftrace has written does not change when the probe is removed. */
static void debuggers_may_use_a_site_of_ftrace(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_traced);

	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&pr->kp));
	check_has_text(test, (u8 *)pr->kp.addr, 0, 0);
}
#endif

/* The log shows kernel text without our breakpoints, and user space has none of them. */
static void code_of_user_space_is_shown_as_it_is(struct kunit *test)
{
	void (*show)(struct pt_regs *regs, const char *level) = kprobe_test_symbol("show_opcodes");
	unsigned long area = kpt_user_area(test, PAGE_SIZE);
	struct pt_regs *regs = task_pt_regs(current), was = *regs;
	char line[256] = "";
	u8 nops[128];
	u64 from;

	KUNIT_ASSERT_NOT_NULL(test, show);
	memset(nops, 0x90, sizeof(nops));
	KUNIT_ASSERT_EQ(test, copy_to_user((void __user *)area, nops, sizeof(nops)), 0ul);
	/* Only what the task itself has entered the kernel with is looked at. */
	regs->cs = __USER_CS;
	regs->ip = area + sizeof(nops) / 2;
	from = kpt_log_end();
	show(regs, KERN_INFO);
	*regs = was;
	KUNIT_ASSERT_GT(test, kpt_log_last(test, from, "Code: ", line, sizeof(line)), 0);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(line, "90 <90> 90"), "%s", line);
}

static struct kunit_case breakpoint_cases[] = {
	KUNIT_CASE(breakpoint_that_is_gone_is_gone_back_to),
	KUNIT_CASE(breakpoint_of_somebody_else_is_left_alone),
	KUNIT_CASE(breakpoint_of_a_point_that_is_made_meanwhile_is_gone_back_to),
	KUNIT_CASE(text_of_a_point_that_is_made_meanwhile_is_read_without_it),
#ifdef CONFIG_OPTPROBES
	KUNIT_CASE(post_handler_of_an_emulated_instruction_needs_no_second_copy),
#endif
#ifdef CONFIG_X86_FRED
	KUNIT_CASE(registers_tell_if_the_instruction_was_executed),
#endif
	KUNIT_CASE(filling_of_a_slot_is_no_breakpoint_of_ours),
	KUNIT_CASE(breakpoint_of_user_space_is_left_alone),
	KUNIT_CASE(code_of_user_space_is_shown_as_it_is),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(breakpoint_at_a_site_of_ftrace_is_no_hit),
#endif
	KUNIT_CASE(task_in_an_old_copy_runs_no_handler_of_a_new_probe),
	KUNIT_CASE(original_of_a_copy_is_known),
	KUNIT_CASE(free_slot_has_no_original),
#ifdef CONFIG_X86_MCE
	KUNIT_CASE(error_of_memory_in_a_copy_is_one_of_the_original),
#endif
	KUNIT_CASE(double_fault_in_a_copy_is_left_alone),
	KUNIT_CASE(unwinders_know_the_stack_in_a_copy),
	KUNIT_CASE(operand_of_a_return_has_no_sign),
	KUNIT_CASE(vector_instructions_run_as_copies),
	KUNIT_CASE(copy_of_an_indirect_call_does_not_call),
	KUNIT_CASE(call_through_the_heap_is_emulated),
	KUNIT_CASE(calls_that_return_nowhere_do_not_call_what_follows),
#ifdef CONFIG_X86_64
	KUNIT_CASE(branch_to_other_addresses_goes_there),
#ifdef CONFIG_OPTPROBES
	KUNIT_CASE(fault_of_a_branch_to_nowhere_is_followed_by_breakpoints),
#endif
	KUNIT_CASE(branch_to_nowhere_faults_where_it_is),
#ifdef CONFIG_OPTPROBES
	KUNIT_CASE(branch_to_nowhere_faults_under_a_jump),
#endif
	KUNIT_CASE(branch_that_is_too_long_for_a_copy_is_refused),
	KUNIT_CASE(unwinders_know_the_stack_of_a_branch_to_nowhere),
#endif
	KUNIT_CASE(copies_that_are_given_back_are_erased),
	KUNIT_CASE(slots_without_code_hold_breakpoints),
	KUNIT_CASE(every_cpu_sees_a_breakpoint_before_registration_ends),
#ifdef CONFIG_TASKS_RCU
	KUNIT_CASE(tasks_rcu_goes_on_while_breakpoints_are_written),
	KUNIT_CASE(tasks_rcu_goes_on_while_breakpoints_are_removed),
#ifdef CONFIG_OPTPROBES
	KUNIT_CASE(tasks_rcu_goes_on_while_jumps_are_removed),
#endif
#endif
#ifdef CONFIG_PERF_EVENTS
	KUNIT_CASE(perf_learns_of_each_breakpoint),
	KUNIT_CASE(perf_learns_what_a_free_slot_has_held),
	KUNIT_CASE(perf_learns_of_all_that_is_generated),
#ifdef CONFIG_OPTPROBES
	KUNIT_CASE(perf_learns_of_the_breakpoint_in_a_detour),
#endif
#endif
	KUNIT_CASE(text_without_probes_is_read),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(call_of_ftrace_is_read_as_it_is),
#endif
	KUNIT_CASE(debuggers_learn_what_a_probe_has_replaced),
	KUNIT_CASE(addresses_that_are_no_text_have_no_probe),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(debuggers_may_use_a_site_of_ftrace),
#endif
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite breakpoint_suite = {
	.name = "kprobes_breakpoint",
	.suite_init = kpt_suite_init,
	.init = kpt_case_init,
	.test_cases = breakpoint_cases,
};

kunit_test_suite(breakpoint_suite);

MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
