// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: detours from the inside. Late hits, displaced branches, and stack traces
 * that start in a detour.
 */
#include <linux/cpufeature.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/kallsyms.h>
#include <linux/string.h>
#include <asm/nospec-branch.h>
#include <asm/text-patching.h>

#include "../../../arch/x86/kernel/kprobes/detour.h"
#include "detour_x86.h"
#include "values_x86.h"
#include "watch_x86.h"

/* Where the probe of a target goes, computed without a relocation for objtool to see. */
static unsigned char *detour_target(void *fn, u32 at)
{
	OPTIMIZER_HIDE_VAR(fn);
	return (unsigned char *)fn + at;
}

#define AT(name)	detour_target(kpt_detour_##name, kpt_detour_##name##_at)

static void settle(struct kunit *test, struct kpt_probe *pr)
{
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE_MSG(test, kprobe_optimized(&pr->kp), "%s",
			      kpt_jump_reason(test, &pr->kp));
}

/* Where the jump at @addr leads. */
static unsigned long entry_of(const unsigned char *addr)
{
	s32 rel;

	memcpy(&rel, addr + 1, sizeof(rel));
	return (unsigned long)addr + JMP32_INSN_SIZE + rel;
}

static const struct x86_detour *detour_of(struct kunit *test, void *addr)
{
	const struct x86_detour *d = kpt_insn_at(addr).detour;

	KUNIT_ASSERT_NOT_NULL(test, d);
	return d;
}

/* --- Late hits ----------------------------------------------------------- */

/* A detour has at least this many bytes of code from its entry. */
#define LATE_BYTES	256

/**
 * struct late - a task that has jumped, but is not in the handler yet
 * @entry:    of the detour
 * @irqs_off: the task goes on with interrupts off
 * @busy:     the task goes on as if it were in a handler, so the hit is missed
 * @ready:    the task does not sleep from here on, so the detour is not freed
 * @go:	      the task may go on
 * @done:     the task has finished
 * @result:   of the function
 */
struct late {
	unsigned long entry;
	bool irqs_off;
	bool busy;
	bool ready;
	bool go;
	bool done;
	unsigned long result;
};

static int be_late(void *arg)
{
	struct late *l = arg;

	WRITE_ONCE(l->ready, true);
	while (!READ_ONCE(l->go) && !kthread_should_stop())
		cpu_relax();
	if (READ_ONCE(l->go)) {
		if (l->irqs_off)
			local_irq_disable();
		if (READ_ONCE(l->busy))
			kprobe_busy_begin();
		l->result = kpt_detour_enter(l->entry, 7);
		if (READ_ONCE(l->busy))
			kprobe_busy_end();
		if (l->irqs_off)
			local_irq_enable();
	}
	WRITE_ONCE(l->done, true);
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

static struct late *start_late_at(struct kunit *test, unsigned long entry, bool irqs_off)
{
	struct late *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, l);
	l->entry = entry;
	l->irqs_off = irqs_off;
	kpt_thread(test, be_late, l, -1, "late");
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(l->ready)));
	return l;
}

static struct late *start_late(struct kunit *test, const unsigned char *addr, bool irqs_off)
{
	KUNIT_ASSERT_TRUE(test, *addr == JMP32_INSN_OPCODE);
	return start_late_at(test, entry_of(addr), irqs_off);
}

static void finish_late(struct kunit *test, struct late *l)
{
	WRITE_ONCE(l->go, true);
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(l->done)));
	KUNIT_EXPECT_EQ(test, l->result, KPT_RESULT(7ul));
}

/* The task holds on to the detour by not sleeping. On one CPU no other task could run. */
static void need_two_cpus(struct kunit *test)
{
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
}

static void late_hit_of_a_probe_that_left_is_none(struct kunit *test)
{
	struct kpt_probe *pr;
	struct late *l;
	unsigned int irqs_off;

	need_two_cpus(test);
	for (irqs_off = 0; irqs_off < 2; irqs_off++) {
		pr = kpt_probe(test, AT(late));
		settle(test, pr);
		l = start_late(test, AT(late), irqs_off);
		kpt_unregister(test, pr);
		finish_late(test, l);
		KUNIT_EXPECT_EQ(test, pr->pre, 0);
	}
}

/* The point is a new one at the same address. */
static void check_came_meanwhile(struct kunit *test, unsigned char *addr, bool post)
{
	struct kpt_probe *first = kpt_alloc_with(test, addr, true, post);
	struct kpt_probe *second = kpt_alloc_with(test, addr, true, post);
	struct late *l;

	need_two_cpus(test);
	kpt_register(test, first);
	settle(test, first);
	l = start_late(test, addr, false);
	kpt_unregister(test, first);
	kpt_register(test, second);
	finish_late(test, l);
	KUNIT_EXPECT_EQ(test, first->pre + first->post, 0);
	KUNIT_EXPECT_EQ(test, second->pre, 1);
	KUNIT_EXPECT_EQ(test, second->post, post);
	KUNIT_EXPECT_EQ(test, second->kp.nmissed, 0ul);
}

static void late_hit_is_one_of_a_probe_that_came_meanwhile(struct kunit *test)
{
	check_came_meanwhile(test, AT(late), false);
}

/* The instruction runs from the copy of the new point. */
static void late_hit_runs_both_handlers_of_another_point(struct kunit *test)
{
	check_came_meanwhile(test, AT(late_copied), true);
}

/* A hit is missed by the point that is there, if there is one. */
static void check_late_missed(struct kunit *test, bool came)
{
	struct kpt_probe *first = kpt_probe(test, AT(late)), *second = kpt_alloc(test, AT(late));
	struct late *l;

	settle(test, first);
	l = start_late(test, AT(late), false);
	WRITE_ONCE(l->busy, true);
	kpt_unregister(test, first);
	if (came)
		kpt_register(test, second);
	finish_late(test, l);
	KUNIT_EXPECT_EQ(test, first->pre + second->pre, 0);
	KUNIT_EXPECT_EQ(test, first->kp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, second->kp.nmissed, (unsigned long)came);
}

static void late_hit_is_missed_by_the_probe_that_is_there(struct kunit *test)
{
	need_two_cpus(test);
	check_late_missed(test, false);
	check_late_missed(test, true);
}

static void check_late(struct kunit *test, unsigned char *addr)
{
	struct kpt_probe *first, *second;
	struct late *l;

	need_two_cpus(test);
	first = kpt_probe(test, addr);
	settle(test, first);
	l = start_late(test, addr, false);
	second = kpt_probe_post(test, addr);
	finish_late(test, l);
	KUNIT_EXPECT_EQ(test, first->pre, 1);
	KUNIT_EXPECT_EQ(test, second->pre, 1);
	KUNIT_EXPECT_EQ(test, second->post, 1);
	KUNIT_EXPECT_EQ(test, first->kp.nmissed + second->kp.nmissed, 0ul);
}

static void late_hit_is_one_of_the_probes_that_are_there_then(struct kunit *test)
{
	check_late(test, AT(late));
}

/* The detour was made without code for a post-handler. */
static void late_hit_runs_a_post_handler_after_a_copy(struct kunit *test)
{
	check_late(test, AT(late_copied));
}

/*
 * The same, but an earlier probe had a post-handler, too. The copy for those is known to the
 * detour, which has no code that continues after it.
 */
static void late_hit_runs_a_post_handler_that_came_back(struct kunit *test)
{
	struct kpt_probe *first, *second;
	const struct x86_detour *d;
	struct late *l;

	need_two_cpus(test);
	first = kpt_probe(test, AT(late_copied));
	kpt_unregister(test, kpt_probe_post(test, AT(late_copied)));
	KUNIT_ASSERT_EQ(test, disable_kprobe(&first->kp), 0);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&first->kp), 0);
	settle(test, first);
	d = detour_of(test, AT(late_copied));
	KUNIT_ASSERT_EQ(test, d->post, 0);
	KUNIT_ASSERT_NOT_NULL(test, d->step);
	KUNIT_ASSERT_PTR_EQ(test, (void *)d->step,
			    (void *)kpt_insn_at(AT(late_copied)).step);
	l = start_late(test, AT(late_copied), false);
	second = kpt_probe_post(test, AT(late_copied));
	finish_late(test, l);
	KUNIT_EXPECT_EQ(test, first->pre, 1);
	KUNIT_EXPECT_EQ(test, second->pre, 1);
	KUNIT_EXPECT_EQ(test, second->post, 1);
	KUNIT_EXPECT_EQ(test, first->kp.nmissed + second->kp.nmissed, 0ul);
}

/*
 * The task is at the copy that runs before the post-handlers. By now the point may have
 * other probes, or may be another one, whose pre-handlers have not run.
 */
static void check_late_post(struct kunit *test, bool stays, bool another)
{
	struct kpt_probe *first, *second = NULL;
	const struct x86_detour *d;
	struct late *l;

	need_two_cpus(test);
	first = kpt_probe_post(test, AT(late_copied));
	settle(test, first);
	d = detour_of(test, AT(late_copied));
	KUNIT_ASSERT_NE(test, d->post, 0);
	l = start_late_at(test, (unsigned long)d + d->post, false);
	if (!stays)
		kpt_unregister(test, first);
	if (another)
		second = kpt_probe_post(test, AT(late_copied));
	finish_late(test, l);
	KUNIT_EXPECT_EQ(test, first->post, stays);
	KUNIT_EXPECT_EQ(test, first->pre, 0);
	if (!second)
		return;
	KUNIT_EXPECT_EQ(test, second->post, stays);
	KUNIT_EXPECT_EQ(test, second->pre, 0);
}

/* Its own point is gone, so no probe counts it as missed. */
static void end_of_a_hit_is_not_missed_by_another_point(struct kunit *test)
{
	struct kpt_probe *first, *second;
	const struct x86_detour *d;
	unsigned int another;
	struct late *l;

	need_two_cpus(test);
	for (another = 0; another < 2; another++) {
		first = kpt_probe_post(test, AT(late_copied));
		second = kpt_alloc_with(test, AT(late_copied), true, true);
		settle(test, first);
		d = detour_of(test, AT(late_copied));
		l = start_late_at(test, (unsigned long)d + d->post, false);
		WRITE_ONCE(l->busy, true);
		kpt_unregister(test, first);
		if (another)
			kpt_register(test, second);
		finish_late(test, l);
		KUNIT_EXPECT_EQ(test, first->kp.nmissed, 0ul);
		KUNIT_EXPECT_EQ(test, first->post, 0);
		KUNIT_EXPECT_EQ(test, second->kp.nmissed, 0ul);
		KUNIT_EXPECT_EQ(test, second->post, 0);
		if (another)
			kpt_unregister(test, second);
	}
}

static void hit_ends_with_the_post_handlers_of_its_point(struct kunit *test)
{
	check_late_post(test, true, true);
}

static void hit_ends_without_the_post_handlers_of_another_point(struct kunit *test)
{
	check_late_post(test, false, true);
}

static void hit_ends_without_the_post_handlers_of_a_point_that_left(struct kunit *test)
{
	check_late_post(test, false, false);
}

/* Where in [@from, @to) these bytes are, or NULL. */
static const u8 *find_bytes(const u8 *from, const u8 *to, const void *bytes, unsigned int nr)
{
	for (; from + nr <= to; from++) {
		if (!memcmp(from, bytes, nr))
			return from;
	}
	return NULL;
}

/* Otherwise unregistering would not wait for a task that is between the two. */
static void hit_is_shown_before_it_is_known_to_be_none_that_is_late(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, AT(late));
	const struct x86_detour *d;
	u32 shown;

	settle(test, pr);
	d = detour_of(test, pr->kp.addr);
	KUNIT_ASSERT_NE(test, d->branch, 0);
	/* One more than the address of the head, see kprobe_running_point(). */
	shown = (unsigned long)d + 1;
	KUNIT_EXPECT_NOT_NULL(test, find_bytes((u8 *)d + d->entry, (u8 *)d + d->branch, &shown,
					       sizeof(shown)));
}

static void count_shown(struct kpt_watch *w, struct pt_regs *regs)
{
	unsigned int *shown = w->arg;

	*shown += kprobe_test_shown(KPROBE_CTX_TASK);
}

/* The same where the dispatcher looks: what it has shown must not be late by then. */
static void dispatched_hit_is_looked_up_again_after_it_is_shown(struct kunit *test)
{
	unsigned int *shown = kunit_kzalloc(test, sizeof(*shown), GFP_KERNEL);
	struct kpt_probe *pr = kpt_probe(test, AT(late)), *other;
	const struct x86_detour *d;
	struct kpt_watch *w;

	KUNIT_ASSERT_NOT_NULL(test, shown);
	other = kpt_probe(test, AT(late));
	settle(test, pr);
	d = detour_of(test, pr->kp.addr);
	KUNIT_ASSERT_EQ(test, d->branch, 0);
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	w = kpt_watch(test, &d->live, sizeof(d->live), raw_smp_processor_id(), count_shown,
		      shown);
	KUNIT_EXPECT_EQ(test, kpt_detour_late(7), KPT_RESULT(7ul));
	kpt_unwatch(test, w);
	KUNIT_EXPECT_EQ(test, w->times, 2);
	KUNIT_EXPECT_EQ(test, *shown, 1);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, other->pre, 1);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/* A CPU may be executing the bytes that change: SDM Vol. 3, 9.1.3. */
static void running_detour_changes_to_breakpoints_only(struct kunit *test)
{
	static unsigned char before[LATE_BYTES], after[LATE_BYTES];
	unsigned int i, changed = 0;
	struct kpt_probe *pr;
	struct late *l;

	need_two_cpus(test);
	pr = kpt_probe(test, AT(late));
	settle(test, pr);
	l = start_late(test, AT(late), false);
	memcpy(before, (void *)l->entry, sizeof(before));
	kpt_unregister(test, pr);
	memcpy(after, (void *)l->entry, sizeof(after));
	for (i = 0; i < sizeof(before); i++) {
		if (before[i] == after[i])
			continue;
		changed++;
		KUNIT_EXPECT_EQ_MSG(test, after[i], INT3_INSN_OPCODE, "byte %u", i);
	}
	KUNIT_EXPECT_EQ(test, changed, 1);
	finish_late(test, l);
}

/* --- Displaced branches -------------------------------------------------- */

static struct kpt_probe *jump_probe(struct kunit *test, void *addr, bool post)
{
	struct kpt_probe *pr = kpt_alloc(test, addr);

	if (post)
		pr->kp.post_handler = kpt_post;
	kpt_register(test, pr);
	settle(test, pr);
	return pr;
}

static void check_branch(struct kunit *test, void *addr, kpt_fn_t fn)
{
	struct kpt_probe *pr;
	unsigned int post, i;

	for (post = 0; post < 2; post++) {
		pr = jump_probe(test, addr, post);
		for (i = 1; i <= 3; i++) {
			KUNIT_EXPECT_EQ(test, fn(i), KPT_RESULT((unsigned long)i));
			KUNIT_EXPECT_EQ(test, pr->pre, i);
			KUNIT_EXPECT_EQ(test, pr->post, post ? i : 0);
		}
		kpt_unregister(test, pr);
	}
}

/*
 * With a post-handler and a copy before a call through memory, a detour that calls the
 * handlers itself may not fit. If the dispatcher calls them, nothing of the long one is left.
 */
static void detour_that_would_be_too_long_goes_to_the_dispatcher(struct kunit *test)
{
	struct kpt_probe *pr = jump_probe(test, AT(long), true);
	const struct x86_detour *d = detour_of(test, AT(long));
	const u8 *end = (const u8 *)d + __ARCH_KPROBE_DETOUR_SIZE;
	unsigned int i;

	for (i = 1; !d->branch && i <= 16; i++)
		KUNIT_EXPECT_EQ(test, *(end - i), INT3_INSN_OPCODE);
	/* The branch becomes a breakpoint when the jump is gone. It is a JNZ, if there is one. */
	if (d->branch) {
		KUNIT_EXPECT_EQ(test, *((u8 *)d + d->branch), 0x0f);
		KUNIT_EXPECT_EQ(test, *((u8 *)d + d->branch + 1), 0x85);
	}
	KUNIT_EXPECT_EQ(test, kpt_detour_long(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
	kunit_info(test, "%s", d->branch ? "it fits" : "it is too long");
}

static void displaced_branches_lead_where_they_did(struct kunit *test)
{
	if (!KPT_JUMP_TABLES) {
		check_branch(test, AT(jump), kpt_detour_jump);
		check_branch(test, AT(jump_mem), kpt_detour_jump_mem);
	}
	check_branch(test, AT(call), kpt_detour_call);
	check_branch(test, AT(call_reg), kpt_detour_call_reg);
	check_branch(test, AT(call_stack), kpt_detour_call_stack);
	check_branch(test, AT(ret), kpt_detour_ret);
}

/* The stack has to be as before the call, or the function would not return. */
static void displaced_call_through_memory_may_fault(struct kunit *test)
{
	kpt_fn_t to = kpt_plain;
	struct kpt_probe *pr;
	unsigned int post;

	for (post = 0; post < 2; post++) {
		pr = jump_probe(test, AT(call_mem), post);
		KUNIT_EXPECT_EQ(test, kpt_detour_call_mem((unsigned long)&to),
				KPT_RESULT((unsigned long)&to));
		KUNIT_EXPECT_EQ(test, kpt_detour_call_mem(KPT_BAD_ADDRESS),
				(unsigned long)KPT_FAULTED);
		KUNIT_EXPECT_EQ(test, kpt_detour_call_mem((unsigned long)&to),
				KPT_RESULT((unsigned long)&to));
		kpt_unregister(test, pr);
	}
}

/* Where in a detour these bytes are, or NULL. */
static u8 *find_code(unsigned long entry, const u8 *code, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i + nr <= LATE_BYTES; i++) {
		if (!memcmp((u8 *)entry + i, code, nr))
			return (u8 *)entry + i;
	}
	return NULL;
}

#define FIND(entry, ...)						\
({									\
	const u8 __code[] = { __VA_ARGS__ };				\
									\
	find_code(entry, __code, sizeof(__code));			\
})

#ifdef CONFIG_MITIGATION_RETPOLINE
/* A direct jump to @target. */
static bool jumps_to(unsigned long entry, const void *target)
{
	u8 code[JMP32_INSN_SIZE];
	unsigned int i;

	for (i = 0; i + sizeof(code) <= LATE_BYTES; i++) {
		__text_gen_insn(code, JMP32_INSN_OPCODE, (u8 *)entry + i, target,
				JMP32_INSN_SIZE);
		if (!memcmp((u8 *)entry + i, code, sizeof(code)))
			return true;
	}
	return false;
}

#ifdef CONFIG_X86_64
#define THUNK	__x86_indirect_thunk_rax
#else
#define THUNK	__x86_indirect_thunk_eax
#endif
#endif

static bool has_thunks(void)
{
#ifdef CONFIG_MITIGATION_RETPOLINE
	return boot_cpu_has(X86_FEATURE_RETPOLINE) &&
	       !boot_cpu_has(X86_FEATURE_RETPOLINE_LFENCE);
#else
	return false;
#endif
}

/* The detour follows the mitigations of this boot, not the instruction in the text. */
static void displaced_jump_is_as_safe_as_others(struct kunit *test)
{
	unsigned long entry;

	if (KPT_JUMP_TABLES)
		kunit_skip(test, "the function might have a table of jumps");
	jump_probe(test, AT(jump), false);
	entry = entry_of(AT(jump));
	if (boot_cpu_has(X86_FEATURE_INDIRECT_THUNK_ITS) ||
	    boot_cpu_has(X86_FEATURE_CALL_DEPTH)) {
		/* These use thunks of their own. */
		KUNIT_EXPECT_NULL(test, FIND(entry, 0xff, 0xe0));
	} else if (has_thunks()) {
#ifdef CONFIG_MITIGATION_RETPOLINE
		KUNIT_EXPECT_TRUE(test, jumps_to(entry, &THUNK));
#endif
		KUNIT_EXPECT_NULL(test, FIND(entry, 0xff, 0xe0));
	} else if (boot_cpu_has(X86_FEATURE_RETPOLINE_LFENCE)) {
		KUNIT_EXPECT_NOT_NULL(test, FIND(entry, 0x0f, 0xae, 0xe8, 0xff, 0xe0, 0xcc));
	} else {
		KUNIT_EXPECT_NOT_NULL(test, FIND(entry, 0xff, 0xe0, 0xcc));
	}
}

/*
 * Is there a RET followed by an INT3? The same byte may also be part of an address, even
 * the last byte of a jump that is followed by an INT3.
 */
static bool returns_by_itself(unsigned long entry)
{
	const u8 *code = (const u8 *)entry;
	unsigned int i;

	for (i = JMP32_INSN_SIZE; i + 1 < LATE_BYTES; i++) {
		if (code[i] == RET_INSN_OPCODE && code[i + 1] == INT3_INSN_OPCODE &&
		    code[i + 1 - JMP32_INSN_SIZE] != JMP32_INSN_OPCODE)
			return true;
	}
	return false;
}

static void displaced_return_is_as_safe_as_others(struct kunit *test)
{
	jump_probe(test, AT(ret), false);
	KUNIT_EXPECT_EQ(test, returns_by_itself(entry_of(AT(ret))),
			!boot_cpu_has(X86_FEATURE_RETHUNK));
}

/* A branch through memory ends in a return, for which no call has been counted. */
static void displaced_branch_through_memory_is_as_safe_as_others(struct kunit *test)
{
	bool by_itself = !boot_cpu_has(X86_FEATURE_RETHUNK) ||
			 boot_cpu_has(X86_FEATURE_CALL_DEPTH);

	jump_probe(test, AT(call_mem), false);
	KUNIT_EXPECT_EQ(test, returns_by_itself(entry_of(AT(call_mem))), by_itself);
	jump_probe(test, AT(call_stack), false);
	KUNIT_EXPECT_EQ(test, returns_by_itself(entry_of(AT(call_stack))), by_itself);
	if (KPT_JUMP_TABLES)
		return;
	jump_probe(test, AT(jump_mem), false);
	KUNIT_EXPECT_EQ(test, returns_by_itself(entry_of(AT(jump_mem))), by_itself);
}

/*
 * A call of the instruction after the next one, once or twice. Then the return addresses are
 * dropped from the stack again.
 */
static const u8 calls_once[] = {
	CALL_INSN_OPCODE, INT3_INSN_SIZE, 0, 0, 0, INT3_INSN_OPCODE,
#ifdef CONFIG_X86_64
	0x48,
#endif
	0x8d, 0x64, 0x24, sizeof(long),
};

static const u8 calls_twice[] = {
	CALL_INSN_OPCODE, INT3_INSN_SIZE, 0, 0, 0, INT3_INSN_OPCODE,
	CALL_INSN_OPCODE, INT3_INSN_SIZE, 0, 0, 0, INT3_INSN_OPCODE,
#ifdef CONFIG_X86_64
	0x48,
#endif
	0x8d, 0x64, 0x24, 2 * sizeof(long),
};

static bool calls(const unsigned char *addr, const u8 *code, unsigned int nr)
{
	return find_code(entry_of(addr), code, nr);
}

/*
 * A branch through memory ends in a return. The CPU predicts that it goes where the latest
 * call came from, so that has to be a trap, and none of the calls before.
 */
static void displaced_branch_through_memory_is_predicted_to_a_trap(struct kunit *test)
{
	jump_probe(test, AT(call_mem), false);
	KUNIT_EXPECT_TRUE(test, calls(AT(call_mem), calls_twice, sizeof(calls_twice)));
	jump_probe(test, AT(call_stack), false);
	KUNIT_EXPECT_TRUE(test, calls(AT(call_stack), calls_twice, sizeof(calls_twice)));
	if (KPT_JUMP_TABLES)
		return;
	jump_probe(test, AT(jump_mem), false);
	KUNIT_EXPECT_TRUE(test, calls(AT(jump_mem), calls_once, sizeof(calls_once)));
}

/* --- The places in a detour ---------------------------------------------- */

static void expect_unwind(struct kunit *test, const struct x86_detour *d, unsigned int at,
			  enum kprobe_unwind kind, unsigned long to)
{
	enum kprobe_unwind got;
	unsigned long same = 0;

	preempt_disable();
	got = kprobe_unwind((unsigned long)d + at, &same);
	preempt_enable();
	KUNIT_EXPECT_EQ_MSG(test, got, kind, "at %u", at);
	if (kind == KPROBE_UNWIND_SAME)
		KUNIT_EXPECT_EQ_MSG(test, same, to, "at %u", at);
}

/* From @from to @to the registers are completely saved, and none is restored yet. */
static void check_saved(struct kunit *test, const struct x86_detour *d, unsigned int from,
			unsigned int to)
{
#ifdef CONFIG_X86_64
	static const u8 clac[] = { 0x0f, 0x01, 0xca }, pop_r15[] = { 0x41, 0x5f };

	if (boot_cpu_has(X86_FEATURE_SMAP))
		KUNIT_EXPECT_MEMEQ(test, (u8 *)d + from - sizeof(clac), clac, sizeof(clac));
	KUNIT_EXPECT_MEMEQ(test, (u8 *)d + to, pop_r15, sizeof(pop_r15));
#endif
	expect_unwind(test, d, from - 1, KPROBE_UNWIND_UNKNOWN, 0);
	expect_unwind(test, d, from, KPROBE_UNWIND_REGS, 0);
	expect_unwind(test, d, to - 1, KPROBE_UNWIND_REGS, 0);
	expect_unwind(test, d, to, KPROBE_UNWIND_UNKNOWN, 0);
}

static void unwinders_know_the_stack_in_a_detour(struct kunit *test)
{
	unsigned long addr = (unsigned long)AT(late_copied);
	const struct x86_detour *d;
	unsigned int post, i;

	for (post = 0; post < 2; post++) {
		struct kpt_probe *pr = jump_probe(test, (void *)addr, post);

		d = detour_of(test, (void *)addr);
		check_saved(test, d, d->saved, d->restore);
		/* An instruction of three bytes, one of two, and then one of three. */
		KUNIT_ASSERT_EQ(test, d->nr, 2);
		for (i = 0; i < d->nr; i++)
			expect_unwind(test, d, d->map[i].to, KPROBE_UNWIND_SAME,
				      addr + 3 * i);
		expect_unwind(test, d, d->exec_end - JMP32_INSN_SIZE - 1, KPROBE_UNWIND_SAME,
			      addr + 3);
		for (i = JMP32_INSN_SIZE; i; i--)
			expect_unwind(test, d, d->exec_end - i, KPROBE_UNWIND_SAME,
				      addr + JMP32_INSN_SIZE);
		KUNIT_EXPECT_EQ(test, !!d->post, post);
		/* In between is code that only a direct detour has. */
		if (d->post != d->exec_end)
			expect_unwind(test, d, d->exec_end, KPROBE_UNWIND_REGS, 0);
		if (post) {
			if (d->post != d->exec_end)
				expect_unwind(test, d, d->post - 1, KPROBE_UNWIND_REGS, 0);
			expect_unwind(test, d, d->post, KPROBE_UNWIND_SAME, addr);
			expect_unwind(test, d, d->post + 3, KPROBE_UNWIND_UNKNOWN, 0);
			check_saved(test, d, d->post_saved, d->post_restore);
		}
		kpt_unregister(test, pr);
	}
}

/* A displaced call through memory pushes words that no unwinder expects. */
static void unwinders_know_where_a_displaced_call_hides_the_stack(struct kunit *test)
{
	unsigned long addr = (unsigned long)AT(call_mem);
	const struct x86_detour *d;
	unsigned int len;

	jump_probe(test, (void *)addr, false);
	d = detour_of(test, (void *)addr);
	len = d->map[0].len;
	expect_unwind(test, d, d->map[0].to, KPROBE_UNWIND_SAME, addr);
	expect_unwind(test, d, d->map[0].to + len - 1, KPROBE_UNWIND_SAME, addr);
	expect_unwind(test, d, d->map[0].to + len, KPROBE_UNWIND_UNKNOWN, 0);
	expect_unwind(test, d, d->exec_end - JMP32_INSN_SIZE - 1, KPROBE_UNWIND_UNKNOWN, 0);
}

/* What is before such a call is there, too. */
static void unwinders_know_a_call_that_is_displaced_second(struct kunit *test)
{
	unsigned long addr = (unsigned long)AT(call_stack);
	const struct x86_detour *d;
	unsigned int at;

	jump_probe(test, (void *)addr, false);
	d = detour_of(test, (void *)addr);
	KUNIT_ASSERT_EQ(test, d->nr, 2);
	at = d->map[1].to;
	KUNIT_ASSERT_NE(test, d->map[1].lost, 0);
	expect_unwind(test, d, at, KPROBE_UNWIND_SAME, addr + d->map[1].from);
	expect_unwind(test, d, at + d->map[1].lost - 1, KPROBE_UNWIND_SAME,
		      addr + d->map[1].from);
	expect_unwind(test, d, at + d->map[1].lost, KPROBE_UNWIND_UNKNOWN, 0);
	jump_probe(test, AT(call_reg), false);
	d = detour_of(test, AT(call_reg));
	KUNIT_ASSERT_EQ(test, d->nr, 2);
	KUNIT_ASSERT_NE(test, d->map[1].called, 0);
	expect_unwind(test, d, d->map[1].to + d->map[1].called, KPROBE_UNWIND_CALL, 0);
}

/* Would an exception at @at be moved to the original? @sp is its stack pointer. */
static bool leaves(const struct x86_detour *d, unsigned int at, struct pt_regs *regs,
		   unsigned long sp)
{
	bool ret;

	*regs = (struct pt_regs) { .ip = (unsigned long)d + at, .sp = sp };
	preempt_disable();
	ret = kprobe_leave_copy(regs);
	preempt_enable();
	return ret;
}

static void exception_in_a_displaced_call_is_one_of_the_call(struct kunit *test)
{
	unsigned long addr = (unsigned long)AT(call);
	const struct x86_detour *d;
	struct pt_regs regs;

	jump_probe(test, (void *)addr, false);
	d = detour_of(test, (void *)addr);
	KUNIT_EXPECT_TRUE(test, leaves(d, d->map[0].to, &regs, 64));
	KUNIT_EXPECT_EQ(test, regs.ip, addr);
	KUNIT_EXPECT_EQ(test, regs.sp, 64ul);
	/* After the call for the return stack buffer, the return address is dropped again. */
	KUNIT_ASSERT_GT(test, d->map[0].called, CALL_INSN_SIZE);
	KUNIT_EXPECT_TRUE(test, leaves(d, d->map[0].to + d->map[0].called, &regs, 64));
	KUNIT_EXPECT_EQ(test, regs.ip, addr);
	KUNIT_EXPECT_EQ(test, regs.sp, 64ul + sizeof(long));
	/* The jump back, the code that has saved the registers, and the entry have no original. */
	KUNIT_EXPECT_FALSE(test, leaves(d, d->exec_end - JMP32_INSN_SIZE, &regs, 64));
	KUNIT_EXPECT_FALSE(test, leaves(d, d->saved, &regs, 64));
	KUNIT_EXPECT_FALSE(test, leaves(d, d->entry, &regs, 64));
}

/* Once the operand is on the stack, the call cannot begin again. */
static void exception_after_the_operand_of_a_displaced_call_is_none_of_it(struct kunit *test)
{
	unsigned long addr = (unsigned long)AT(call_mem);
	const struct x86_detour *d;
	struct pt_regs regs;
	unsigned int lost;

	jump_probe(test, (void *)addr, false);
	d = detour_of(test, (void *)addr);
	KUNIT_EXPECT_TRUE(test, leaves(d, d->map[0].to, &regs, 64));
	KUNIT_EXPECT_EQ(test, regs.ip, addr);
	KUNIT_EXPECT_EQ(test, regs.sp, 64ul);
	KUNIT_ASSERT_EQ(test, d->map[0].lost, d->map[0].len);
	lost = d->map[0].to + d->map[0].lost;
	KUNIT_EXPECT_TRUE(test, leaves(d, lost - 1, &regs, 64));
	KUNIT_EXPECT_FALSE(test, leaves(d, lost, &regs, 64));
	KUNIT_EXPECT_EQ(test, regs.ip, (unsigned long)d + lost);
	KUNIT_EXPECT_EQ(test, regs.sp, 64ul);
}

/* A NOP takes no bytes in the detour. */
static void exception_after_a_displaced_nop_is_none_of_the_nop(struct kunit *test)
{
	const struct x86_detour *d;
	struct pt_regs regs;

	jump_probe(test, AT(nop), false);
	d = detour_of(test, AT(nop));
	KUNIT_ASSERT_EQ(test, d->nr, 2);
	KUNIT_ASSERT_EQ(test, d->map[0].to, d->map[1].to);
	KUNIT_EXPECT_FALSE(test, leaves(d, d->map[1].to, &regs, 64));
	KUNIT_EXPECT_EQ(test, regs.ip, (unsigned long)d + d->map[1].to);
	KUNIT_EXPECT_EQ(test, kpt_detour_nop(7), KPT_RESULT(7ul));
}

/* --- Stacks -------------------------------------------------------------- */

#ifdef CONFIG_UNWINDER_ORC
/* The name as a trace shows it, up to a blank. */
static bool is_in(unsigned long addr, const char *function)
{
	char name[KSYM_SYMBOL_LEN];
	size_t len = strlen(function);

	sprint_symbol_no_offset(name, addr);
	return !strncmp(name, function, len) && (!name[len] || name[len] == ' ');
}

/**
 * struct stacks - two ways from a handler to its callers
 * @from_handler: starts where it is
 * @from_regs:	  starts at the registers that it is given
 * @reliable:	  nothing went wrong
 */
struct stacks {
	struct kpt_trace from_handler;
	struct kpt_trace from_regs;
	bool reliable[2];
};

static void walk_in_post(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct stacks *s = pr->arg;

	s->reliable[0] = kpt_walk(&s->from_handler, NULL);
	s->reliable[1] = kpt_walk(&s->from_regs, regs);
}

static int walk_in_pre(struct kpt_probe *pr, struct pt_regs *regs)
{
	walk_in_post(pr, regs);
	return 0;
}

/* The function, its caller and the caller's caller, next to each other; or none of them. */
static void expect_callers(struct kunit *test, const struct kpt_trace *trace,
			   const char *function, const char *what, bool reliable)
{
	unsigned int n;

	for (n = 0; n + 2 < trace->nr; n++) {
		if (is_in(trace->entries[n], function) &&
		    is_in(trace->entries[n + 1], "kpt_detour_caller") &&
		    is_in(trace->entries[n + 2], "check_stacks")) {
			KUNIT_EXPECT_TRUE_MSG(test, reliable, "%s: %s", function, what);
			return;
		}
	}
	for (n = 0; n < trace->nr; n++)
		kunit_err(test, "%u: %pS", n, (void *)trace->entries[n]);
	KUNIT_FAIL(test, "%s: %s: a caller is missing", function, what);
}

static noinline void check_stacks(struct kunit *test, unsigned char *at, kpt_fn_t fn,
				  const char *function, bool several)
{
	static struct stacks stacks;
	struct kpt_probe *pr, *inside, *other = NULL;
	unsigned int post, jump;
	char what[40];

	for (post = 0; post < 2; post++) {
		pr = kpt_alloc(test, at);
		pr->arg = &stacks;
		if (post) {
			pr->kp.post_handler = kpt_post;
			pr->on_post = walk_in_post;
		} else {
			pr->on_pre = walk_in_pre;
		}
		if (several)
			other = kpt_probe(test, at);
		kpt_register(test, pr);
		/* This keeps the point from being a jump. */
		inside = kpt_probe(test, at + 1);
		for (jump = 0; jump < 2; jump++) {
			if (jump) {
				kpt_unregister(test, inside);
				settle(test, pr);
			} else {
				KUNIT_EXPECT_FALSE(test, kprobe_optimized(&pr->kp));
			}
			memset(&stacks, 0, sizeof(stacks));
			KUNIT_EXPECT_EQ(test, kpt_detour_caller((unsigned long)fn),
					KPT_RESULT(7ul));
			snprintf(what, sizeof(what), "%s, %s, %s", jump ? "jump" : "breakpoint",
				 post ? "post" : "pre", several ? "several" : "alone");
			expect_callers(test, &stacks.from_handler, function, what,
				       stacks.reliable[0]);
			strcat(what, ", regs");
			expect_callers(test, &stacks.from_regs, function, what,
				       stacks.reliable[1]);
		}
		kpt_unregister(test, pr);
		if (other)
			kpt_unregister(test, other);
	}
}

/* A single probe is called by its detour, several by the dispatcher. */
static void no_caller_is_missing_at_a_push_of_one_byte(struct kunit *test)
{
	check_stacks(test, AT(push), kpt_detour_push, "kpt_detour_push", false);
	check_stacks(test, AT(push), kpt_detour_push, "kpt_detour_push", true);
}

static void no_caller_is_missing_at_a_pop_of_one_byte(struct kunit *test)
{
	check_stacks(test, AT(pop), kpt_detour_pop, "kpt_detour_pop", false);
	check_stacks(test, AT(pop), kpt_detour_pop, "kpt_detour_pop", true);
}

/* LEAVE is not emulated, so it runs from a copy before a post-handler. */
static void no_caller_is_missing_at_a_leave(struct kunit *test)
{
	check_stacks(test, AT(leave), kpt_detour_leave, "kpt_detour_leave", false);
	check_stacks(test, AT(leave), kpt_detour_leave, "kpt_detour_leave", true);
}

/**
 * struct in_call - stacks at each instruction of a displaced call
 * @code:  the instructions
 * @trace: the stacks
 * @reliable: nothing went wrong
 */
struct in_call {
	u8 *code;
	struct kpt_trace trace[3];
	bool reliable[3];
};

/* A call over an INT3, a store of the true return address, and a jump. */
#define CALL_OVER	6
#define CALL_MOVED	14

/* Runs in the callee, whose stack is as at the jump to it. */
static int walk_in_callee(struct kpt_probe *pr, struct pt_regs *now)
{
	unsigned long *top = (unsigned long *)now->sp, true_address = *top;
	struct in_call *c = pr->arg;
	struct pt_regs regs = *now;

	regs.orig_ax = -1;
	regs.ip = (unsigned long)c->code + CALL_MOVED;
	c->reliable[2] = kpt_walk(&c->trace[2], &regs);

	WRITE_ONCE(*top, (unsigned long)c->code + CALL_INSN_SIZE);
	regs.ip = (unsigned long)c->code + CALL_OVER;
	c->reliable[1] = kpt_walk(&c->trace[1], &regs);
	WRITE_ONCE(*top, true_address);

	regs.ip = (unsigned long)c->code;
	regs.sp += sizeof(long);
	c->reliable[0] = kpt_walk(&c->trace[0], &regs);
	return 0;
}

static noinline void stacks_are_whole_in_a_displaced_call(struct kunit *test)
{
	static struct in_call c;
	struct kpt_probe *callee;
	unsigned int i, n;

	memset(&c, 0, sizeof(c));
	jump_probe(test, AT(call), false);
	c.code = FIND(entry_of(AT(call)), 0xe8, 1, 0, 0, 0, 0xcc, 0x48, 0xc7, 0x04, 0x24);
	KUNIT_ASSERT_NOT_NULL(test, c.code);
	callee = kpt_alloc(test, kpt_plain);
	callee->on_pre = walk_in_callee;
	callee->arg = &c;
	kpt_register(test, callee);
	KUNIT_EXPECT_EQ(test, kpt_detour_call(7), KPT_RESULT(7ul));
	for (i = 0; i < 3; i++) {
		/* The detour; the address it returns to, if there is one; the caller. */
		n = i ? 2 : 1;
		KUNIT_ASSERT_GT(test, c.trace[i].nr, n);
		KUNIT_EXPECT_TRUE(test, c.reliable[i]);
		if (i == 1)
			KUNIT_EXPECT_EQ(test, c.trace[i].entries[1],
					(unsigned long)c.code + CALL_INSN_SIZE);
		if (i == 2)
			KUNIT_EXPECT_EQ(test, c.trace[i].entries[1],
					(unsigned long)AT(call) + CALL_INSN_SIZE);
		KUNIT_EXPECT_TRUE_MSG(test, is_in(c.trace[i].entries[n],
						  "stacks_are_whole_in_a_displaced_call"),
				      "%u: %pS", i, (void *)c.trace[i].entries[n]);
	}
}
#endif /* CONFIG_UNWINDER_ORC */

#ifdef CONFIG_MITIGATION_CALL_DEPTH_TRACKING
/*
 * Each call shifts the depth by five bits, and each return shifts it back. A call that is
 * counted twice hides that the return stack buffer is empty, and a return that lacks a call
 * empties it. With this depth, nothing is shifted out.
 */
#define FOUR_CALLS	(S64_MIN >> 20)

static void expect_as_many_calls_as_returns(struct kunit *test, kpt_fn_t fn)
{
	unsigned long flags, result;
	u64 before, after;

	local_irq_save(flags);
	before = this_cpu_read(pcpu_hot.call_depth);
	this_cpu_write(pcpu_hot.call_depth, FOUR_CALLS);
	result = fn(7);
	after = this_cpu_read(pcpu_hot.call_depth);
	this_cpu_write(pcpu_hot.call_depth, before);
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, result, KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, after, (u64)FOUR_CALLS);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
static void hit_at_an_ftrace_site_counts_as_many_calls_as_returns(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_traced);

	expect_as_many_calls_as_returns(test, kpt_traced);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}
#endif

static int pre_leaves(struct kpt_probe *pr, struct pt_regs *regs)
{
	/* After the NOP. */
	instruction_pointer_set(regs, (unsigned long)pr->kp.addr + 1);
	return 1;
}

/* A hit leaves its detour by a return of the detour's own. */
static void hit_that_leaves_its_detour_counts_as_many_calls_as_returns(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, AT(nop));

	kpt_register(test, pr);
	settle(test, pr);
	expect_as_many_calls_as_returns(test, kpt_detour_nop);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	kpt_unregister(test, pr);

	pr->on_pre = pre_leaves;
	kpt_register(test, pr);
	settle(test, pr);
	expect_as_many_calls_as_returns(test, kpt_detour_nop);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
}

/* A branch is displaced; or, if there is a post-handler, emulated. */
static void check_branch_counts(struct kunit *test, void *addr, kpt_fn_t fn)
{
	struct kpt_probe *pr;
	unsigned int post;

	for (post = 0; post < 2; post++) {
		pr = jump_probe(test, addr, post);
		expect_as_many_calls_as_returns(test, fn);
		KUNIT_EXPECT_EQ(test, pr->pre, 1);
		KUNIT_EXPECT_EQ(test, pr->post, post);
		kpt_unregister(test, pr);
	}
}

static int return_nothing(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

/* The trampoline's own return is not counted. */
static void return_of_a_probed_call_counts_as_many_calls_as_returns(struct kunit *test)
{
	static const kpt_fn_t fns[] = { kpt_plain, kpt_traced };
	struct kretprobe *rp;
	unsigned int i;

	for (i = 0; i < 2 * ARRAY_SIZE(fns); i++) {
		rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, rp);
		rp->kp.addr = kpt_text(fns[i / 2]);
		rp->handler = return_nothing;
		if (i % 2)
			rp->entry_handler = return_nothing;
		kpt_register_return(test, rp);
		wait_for_kprobe_optimizer();
		expect_as_many_calls_as_returns(test, fns[i / 2]);
		KUNIT_EXPECT_EQ(test, rp->nmissed, 0);
		kpt_unregister_return(test, rp);
	}
}

static void hit_at_a_branch_counts_as_many_calls_as_returns(struct kunit *test)
{
	if (!KPT_JUMP_TABLES) {
		check_branch_counts(test, AT(jump), kpt_detour_jump);
		check_branch_counts(test, AT(jump_mem), kpt_detour_jump_mem);
	}
	check_branch_counts(test, AT(call), kpt_detour_call);
	check_branch_counts(test, AT(call_reg), kpt_detour_call_reg);
	check_branch_counts(test, AT(call_stack), kpt_detour_call_stack);
	check_branch_counts(test, AT(ret), kpt_detour_ret);
}
#endif

/* The dispatcher pairs calls and returns. The detour itself does not, if one is emulated. */
static void emulated_calls_and_returns_are_left_to_the_dispatcher(struct kunit *test)
{
	void *at[] = { AT(nop), AT(call), AT(ret) };
	struct kpt_probe *pr;
	unsigned int i, post;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		for (post = 0; post < 2; post++) {
			pr = jump_probe(test, at[i], post);
			KUNIT_EXPECT_EQ_MSG(test, !detour_of(test, pr->kp.addr)->branch,
					    post && i, "%u", i);
			kpt_unregister(test, pr);
		}
	}
}

/* The number of lines that an oops at @ip gets for that, and in how many this is the place. */
static unsigned int told(struct kunit *test, unsigned long ip, const u8 *place,
			 unsigned int *right)
{
	char line[KSYM_SYMBOL_LEN + 32];
	u64 from = kpt_log_end();

	kprobe_test_oops_at(ip);
	snprintf(line, sizeof(line), " is displaced from %pS", place);
	*right = kpt_log_lines(test, from, line);
	return kpt_log_lines(test, from, " is displaced from ");
}

/* The report has an address that no symbol covers. */
static void oops_in_a_displaced_instruction_tells_where_it_is_from(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, AT(late_copied));
	const struct x86_detour *d;
	unsigned int i, right;

	if (!IS_ENABLED(CONFIG_PRINTK))
		kunit_skip(test, "no log in this kernel");
	settle(test, pr);
	d = detour_of(test, AT(late_copied));
	for (i = 0; i < d->nr; i++) {
		KUNIT_EXPECT_EQ_MSG(test, told(test, x86_detour_exec(d, i),
					       d->addr + d->map[i].from, &right), 1, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, right, 1, "%u", i);
	}
	KUNIT_EXPECT_EQ(test, told(test, (unsigned long)kpt_text(kpt_plain), d->addr, &right), 0);
	KUNIT_EXPECT_EQ(test, told(test, 0, d->addr, &right), 0);
}

static struct kunit_case detour_cases[] = {
	KUNIT_CASE(emulated_calls_and_returns_are_left_to_the_dispatcher),
	KUNIT_CASE(late_hit_of_a_probe_that_left_is_none),
	KUNIT_CASE(late_hit_is_one_of_a_probe_that_came_meanwhile),
	KUNIT_CASE(late_hit_is_one_of_the_probes_that_are_there_then),
	KUNIT_CASE(late_hit_is_missed_by_the_probe_that_is_there),
	KUNIT_CASE(late_hit_runs_a_post_handler_after_a_copy),
	KUNIT_CASE(late_hit_runs_a_post_handler_that_came_back),
	KUNIT_CASE(end_of_a_hit_is_not_missed_by_another_point),
	KUNIT_CASE(hit_ends_with_the_post_handlers_of_its_point),
	KUNIT_CASE(hit_ends_without_the_post_handlers_of_another_point),
	KUNIT_CASE(hit_ends_without_the_post_handlers_of_a_point_that_left),
	KUNIT_CASE(late_hit_runs_both_handlers_of_another_point),
	KUNIT_CASE(hit_is_shown_before_it_is_known_to_be_none_that_is_late),
	KUNIT_CASE(dispatched_hit_is_looked_up_again_after_it_is_shown),
	KUNIT_CASE(running_detour_changes_to_breakpoints_only),
	KUNIT_CASE(detour_that_would_be_too_long_goes_to_the_dispatcher),
	KUNIT_CASE(displaced_branches_lead_where_they_did),
	KUNIT_CASE(displaced_call_through_memory_may_fault),
	KUNIT_CASE(displaced_jump_is_as_safe_as_others),
	KUNIT_CASE(displaced_return_is_as_safe_as_others),
	KUNIT_CASE(displaced_branch_through_memory_is_as_safe_as_others),
	KUNIT_CASE(displaced_branch_through_memory_is_predicted_to_a_trap),
#ifdef CONFIG_MITIGATION_CALL_DEPTH_TRACKING
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(hit_at_an_ftrace_site_counts_as_many_calls_as_returns),
#endif
	KUNIT_CASE(hit_that_leaves_its_detour_counts_as_many_calls_as_returns),
	KUNIT_CASE(hit_at_a_branch_counts_as_many_calls_as_returns),
	KUNIT_CASE(return_of_a_probed_call_counts_as_many_calls_as_returns),
#endif
	KUNIT_CASE(unwinders_know_the_stack_in_a_detour),
	KUNIT_CASE(unwinders_know_where_a_displaced_call_hides_the_stack),
	KUNIT_CASE(unwinders_know_a_call_that_is_displaced_second),
	KUNIT_CASE(exception_in_a_displaced_call_is_one_of_the_call),
	KUNIT_CASE(exception_after_the_operand_of_a_displaced_call_is_none_of_it),
	KUNIT_CASE(exception_after_a_displaced_nop_is_none_of_the_nop),
	KUNIT_CASE(oops_in_a_displaced_instruction_tells_where_it_is_from),
#ifdef CONFIG_UNWINDER_ORC
	KUNIT_CASE(no_caller_is_missing_at_a_push_of_one_byte),
	KUNIT_CASE(no_caller_is_missing_at_a_pop_of_one_byte),
	KUNIT_CASE(no_caller_is_missing_at_a_leave),
	KUNIT_CASE(stacks_are_whole_in_a_displaced_call),
#endif
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite detour_suite = {
	.name = "kprobes_jump_detour",
	.suite_init = kpt_suite_init,
	.init = kpt_case_init,
	.test_cases = detour_cases,
};

kunit_test_suite(detour_suite);

MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
