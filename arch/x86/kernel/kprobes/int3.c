// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes on x86: breakpoint hits.
 *
 * The life of a hit; interrupts are off wherever handlers run:
 *
 *	int3 -> pre-handlers -> execute the instruction -> post-handlers
 *
 * Executing it means one of three things:
 *
 *  - The exception returns into a copy of the instruction, which ends with a jump
 *    back (boost). Nothing else is left to do. Most hits end this way, with one trap.
 *    Interrupts and preemption are as in the probed code while the copy runs.
 *  - The exception handler emulates the instruction, if its effect depends on its
 *    address, or if it is a common simple one and a post-handler is to run.
 *  - If a post-handler is to run and the instruction is not emulated, the
 *    exception returns into a copy that ends with its own breakpoint. No state
 *    is kept in between: the second trap finds the point through the copy that it
 *    is in. The task may be preempted and migrated, and the point may be gone by
 *    then, in which case execution just continues.
 *
 * A copy may fault. The exception tables know only the original's address, and
 * a page fault may sleep, which no task may do in a copy (see slots.c). So the
 * first code that sees the fault moves the address back to the original, as if
 * the instruction had faulted in place. If the fault is resolved and the
 * instruction is restarted, that is another hit.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <kunit/visibility.h>
#include <linux/cleanup.h>
#include <linux/kallsyms.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>

#include <asm/extable.h>
#include <asm/ptrace.h>
#include <asm/text-patching.h>
#include <asm/trapnr.h>

#include "common.h"
#include "detour.h"

/*
 * Once there is a detour, the instructions that the jump will replace, or has
 * replaced, run there.
 */
static __always_inline void int3_divert(struct kprobe *p, struct pt_regs *regs)
{
#ifdef CONFIG_OPTPROBES
	const struct x86_detour *d = READ_ONCE(p->ainsn.detour);

	if (d)
		regs->ip = x86_detour_ip(d, regs->ip);
#endif
}

/*
 * Marks the instruction as executed: with FRED, the unwinder needs that, see orc_is_fred_hit().
 * No other code stores -2: the CPU stores 0 in orig_ax, and then the entry code stores -1.
 */
static __always_inline void int3_executed(struct pt_regs *regs)
{
	if (IS_ENABLED(CONFIG_X86_FRED))
		regs->orig_ax = -2;
}

/* The instruction is done: run the post-handlers, and go on. */
static __always_inline void int3_leave_post(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long ip = regs->ip;

	int3_executed(regs);
	kprobe_run_post(p, regs, 0);
	if (likely(regs->ip == ip))
		int3_divert(p, regs);
	else
		x86_detour_resume(regs);
}

static noinline void __kprobe_hit int3_emulate_insn(struct kprobe *p, struct pt_regs *regs)
{
	if (!x86_emulate(p, regs))
		regs->ip = (unsigned long)p->ainsn.step;
}

/* Execute the instruction without a post-handler: there is none, or the hit is missed. */
static __always_inline void int3_execute(struct kprobe *p, struct pt_regs *regs)
{
	kprobe_opcode_t *copy = READ_ONCE(p->ainsn.copy);

	if (likely(copy))
		regs->ip = (unsigned long)copy;
	else
		int3_emulate_insn(p, regs);
}

static noinline void __kprobe_hit int3_run_post(struct kprobe *p, struct pt_regs *regs)
{
	if (x86_emulate(p, regs))
		int3_leave_post(p, regs);
	else if (p->ainsn.step)
		regs->ip = (unsigned long)p->ainsn.step;
	else
		regs->ip = (unsigned long)READ_ONCE(p->ainsn.copy);
}

/*
 * Until a handler changes it, regs->ip is as the breakpoint left it. This is inlined
 * twice, because a constant index into kprobe_cpu::running is faster.
 */
static __always_inline void int3_hit(struct kprobe *p, struct pt_regs *regs,
				     unsigned int ctx)
{
	if (unlikely(kprobe_shown(ctx))) {
		kprobes_inc_nmissed_count(p);
		int3_execute(p, regs);
		return;
	}
	raw_cpu_add(kprobe_cpu.traps, KPROBE_TRAP);
	kprobe_show(ctx, p);

	if (!kprobe_run_pre(p, regs)) {
		if (likely(!READ_ONCE(p->post_handler)))
			int3_execute(p, regs);
		else
			int3_run_post(p, regs);
	} else if (kprobe_forgot_ip(p->addr, regs, p->ainsn.len)) {
		int3_execute(p, regs);
	} else {
		x86_detour_resume(regs);
	}

	kprobe_unshow(ctx);
	raw_cpu_add(kprobe_cpu.traps, -(int)KPROBE_TRAP);
}

static noinline void __kprobe_hit int3_hit_nested(struct kprobe *p,
						  struct pt_regs *regs,
						  unsigned int traps)
{
	int3_hit(p, regs, kprobe_context(traps));
}

/* The breakpoint in a copy, after the instruction: see struct x86_copy. */
static noinline bool __kprobe_hit int3_step(struct pt_regs *regs, unsigned long addr)
{
	const struct x86_copy *copy = x86_copy_at(addr);
	struct kprobe *p;
	unsigned int ctx;

	if (!copy || addr != (unsigned long)copy->text + copy->len)
		return false;

	/* The operand has been read: go back for another hit, or fault on the target. */
	if (copy->again) {
		if (x86_is_canonical(int3_emulate_pop(regs)))
			regs->ip = (unsigned long)copy->addr;
		else
			regs->ip = addr + X86_COPY_FAULT;
		return true;
	}

	int3_executed(regs);
	regs->ip = (unsigned long)copy->addr + copy->len;
	p = get_kprobe(copy->addr);
	if (!p || p->ainsn.step != copy->text)
		return true;

	ctx = kprobe_context(raw_cpu_read(kprobe_cpu.traps) + KPROBE_TRAP);
	if (kprobe_shown(ctx)) {
		kprobe_miss_post(p);
		int3_divert(p, regs);
		return true;
	}
	raw_cpu_add(kprobe_cpu.traps, KPROBE_TRAP);
	kprobe_show(ctx, p);

	int3_leave_post(p, regs);

	kprobe_unshow(ctx);
	raw_cpu_add(kprobe_cpu.traps, -(int)KPROBE_TRAP);
	return true;
}

/*
 * No point was found for a breakpoint. If it is not in the text any more, the CPU
 * executed it just before it was removed: execute the current text. If it is still
 * there, a point may have been made after the lookup. Otherwise the breakpoint
 * belongs to other code.
 */
static noinline bool __kprobe_hit int3_late(struct pt_regs *regs, unsigned long addr)
{
	struct kprobe *p;

	if (READ_ONCE(*(u8 *)addr) == INT3_INSN_OPCODE) {
		p = get_kprobe((void *)addr);
		if (!p || kprobe_ftrace(p))
			return false;
	}
	regs->ip = addr;
	return true;
}

/**
 * kprobe_int3_handler - handle a breakpoint, if it belongs to kprobes
 * @regs: registers of the trap
 *
 * Context: in the exception, interrupts off.
 * Return: 1 if it was handled, 0 if it belongs to other code.
 */
int __kprobe_hit kprobe_int3_handler(struct pt_regs *regs)
{
	unsigned long addr = regs->ip - INT3_INSN_SIZE;
	unsigned int traps;
	struct kprobe *p;

	if (user_mode(regs))
		return 0;

	p = get_kprobe((void *)addr);
	if (likely(p && !kprobe_ftrace(p))) {
		traps = raw_cpu_read(kprobe_cpu.traps) + KPROBE_TRAP;
		if (likely(kprobe_in_task(traps)))
			int3_hit(p, regs, KPROBE_CTX_TASK);
		else
			int3_hit_nested(p, regs, traps);
		return 1;
	}
	return int3_step(regs, addr) || x86_detour_trap(regs) ||
	       int3_late(regs, addr);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_int3_handler);

static __always_inline bool int3_leave_copy(struct pt_regs *regs)
{
	const struct x86_copy *copy = x86_copy_in_use(regs->ip);
#ifdef CONFIG_OPTPROBES
	const struct x86_detour *d = x86_detour_at(regs->ip);

	/* The other displaced instructions have no fix-ups: see reach.c. */
	if (d && x86_detour_first(d, regs)) {
		regs->ip = (unsigned long)d->addr;
		return true;
	}
#endif

	if (likely(!copy) || !x86_copy_is_before(copy, regs->ip))
		return false;
	regs->ip = (unsigned long)copy->addr;
	return true;
}

/**
 * kprobe_leave_copy - move registers from a displaced instruction to its place
 * @regs: registers of an exception, in the kernel
 *
 * For exceptions that look for a fix-up without asking kprobes first. The jump or
 * breakpoint after the instruction has no original.
 *
 * Context: any, preemption off.
 * Return: true if @regs were at the probed instruction, in a copy or a detour.
 */
bool __kprobe_hit kprobe_leave_copy(struct pt_regs *regs)
{
	return int3_leave_copy(regs);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_leave_copy);

/**
 * kprobe_original_ip - look up the original of an out-of-line copy
 * @ip: any address
 *
 * Context: any, preemption off.
 * Return: the address of the original, if a copy is at @ip; else @ip.
 */
unsigned long __kprobe_hit kprobe_original_ip(unsigned long ip)
{
	struct pt_regs regs = { .ip = ip };

	int3_leave_copy(&regs);
	return regs.ip;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_original_ip);

/* Emulation may fault on the operand of an indirect branch. That is no fault of a handler. */
static bool __kprobe_hit int3_in_emulation(unsigned long ip)
{
	unsigned long offset;

	return kallsyms_lookup_size_offset(ip, NULL, &offset) &&
	       ip - offset == (unsigned long)x86_emulate;
}

/*
 * If handlers are running, call the fault handlers of their point, even if the
 * instruction of another point has faulted: its hit was missed. Otherwise call those
 * of the point whose instruction has faulted.
 */
static noinline bool __kprobe_hit int3_fault_handled(struct pt_regs *regs, int trapnr,
						     bool copy)
{
	struct kprobe *p, *prev, *at = NULL;
	bool ret = false;

	/* If preemption was on until now, the fault did not come from a handler. */
	preempt_disable_notrace();
	if (copy)
		at = get_kprobe((void *)regs->ip);
	p = kprobe_running();
	if (p) {
		if (kprobe_has_fault(p) && !int3_in_emulation(regs->ip))
			ret = kprobe_run_fault(p, regs, trapnr);
	} else if (at && kprobe_has_fault(at)) {
		prev = kprobe_enter(at);
		ret = kprobe_run_fault(at, regs, trapnr);
		kprobe_leave(prev);
	}
	if (ret)
		x86_detour_resume(regs);
	preempt_enable_notrace();
	return ret;
}

/**
 * kprobe_fault_handler - offer a fault to fault handlers, before it is resolved
 * @regs:   registers of the fault, in the kernel
 * @trapnr: number of the exception
 *
 * Context: in the exception, early. After a general protection fault, preemption may be
 * on already.
 * Return: 1 if a fault handler has handled it; 0 if it is to be resolved as
 * without kprobes, with @regs as they are now.
 */
int __kprobe_hit kprobe_fault_handler(struct pt_regs *regs, int trapnr)
{
	bool handled;

	preempt_disable_notrace();
	handled = int3_fault_handled(regs, trapnr, int3_leave_copy(regs));
	preempt_enable_notrace();
	return handled;
}

/*
 * If the probed instruction crashes in a detour, the registers are moved to its original,
 * which the oops then reports. For the other displaced instructions this prints it.
 */
static noinline void int3_tell_original(struct pt_regs *regs)
{
	unsigned long at;

	if (!regs || user_mode(regs))
		return;
	guard(preempt_notrace)();
	if (kprobe_unwind(regs->ip, &at) == KPROBE_UNWIND_SAME)
		pr_emerg("the instruction that crashed is displaced from %pS\n", (void *)at);
}
NOKPROBE_SYMBOL(int3_tell_original);

/**
 * kprobe_exceptions_notify - handle a trap other than a page or general protection fault
 * @self: unused
 * @val:  which notification
 * @data: struct die_args
 *
 * Some of these traps search the exception tables before this, some after. For a fault in a
 * copy this function searches them. None of these traps has a fault address. Some page and
 * general protection faults have one; kprobe_fault_handler() sees those.
 *
 * Context: in the exception.
 * Return: NOTIFY_STOP if the fault is resolved.
 */
int __kprobe_hit kprobe_exceptions_notify(struct notifier_block *self,
					  unsigned long val, void *data)
{
	struct die_args *args = data;
	bool copy;

	if (val == DIE_OOPS)
		int3_tell_original(args->regs);
	if (val != DIE_TRAP || args->trapnr == X86_TRAP_DF)
		return NOTIFY_DONE;
	if (!args->regs || user_mode(args->regs))
		return NOTIFY_DONE;
	copy = int3_leave_copy(args->regs);
	if (int3_fault_handled(args->regs, args->trapnr, copy))
		return NOTIFY_STOP;
	if (copy && fixup_exception(args->regs, args->trapnr, args->err, 0))
		return NOTIFY_STOP;
	return NOTIFY_DONE;
}
