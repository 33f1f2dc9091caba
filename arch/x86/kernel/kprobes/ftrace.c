// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes on x86: a hit that comes through ftrace.
 *
 * The probed instruction is ftrace's own call, which has no effect but to get
 * us here, so there is nothing to displace.
 */
#include <linux/ftrace.h>
#include <linux/kprobes.h>

#include <asm/text-patching.h>

#include "common.h"

static __always_inline void handle_call(struct kprobe *p, struct pt_regs *regs,
					unsigned long ip, unsigned int ctx)
{
	unsigned long behind = ip + MCOUNT_INSN_SIZE;
	unsigned long resume = regs->ip;

	if (unlikely(raw_cpu_read(kprobe_cpu.running[ctx]))) {
		kprobes_inc_nmissed_count(p);
		return;
	}
	raw_cpu_write(kprobe_cpu.running[ctx], p);
	/* First to be seen, then to look: see quiesce(). */
	barrier();

	/*
	 * Other users of ftrace share these registers, and a live patch may
	 * have redirected the call already: what no handler of ours has
	 * decided stays as it is.
	 */
	regs->ip = ip + INT3_INSN_SIZE;
	if (likely(!kprobe_run_pre(p, regs))) {
		if (unlikely(READ_ONCE(p->post_handler))) {
			regs->ip = behind;
			kprobe_run_post(p, regs, 0);
			if (regs->ip != behind)
				resume = regs->ip;
		}
		regs->ip = resume;
	}

	barrier();
	raw_cpu_write(kprobe_cpu.running[ctx], NULL);
}

static noinline void __kprobe_hit handle_call_nested(struct kprobe *p,
						     struct pt_regs *regs,
						     unsigned long ip)
{
	handle_call(p, regs, ip, kprobe_context(raw_cpu_read(kprobe_cpu.traps)));
}

/**
 * kprobe_ftrace_handler - a function with a point on its entry is being called
 * @ip:	       the point's address
 * @parent_ip: unused
 * @ops:       of the two that points are armed in
 * @fregs:     full registers
 *
 * Handlers see what a breakpoint would show them. Interrupts are as the caller
 * of the function has them.
 *
 * Context: any that calls traced functions.
 */
void __kprobe_hit kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
					struct ftrace_ops *ops,
					struct ftrace_regs *fregs)
{
	/* All of them, since that is what our ops ask for. */
	struct pt_regs *regs = &arch_ftrace_regs(fregs)->regs;
	struct kprobe *p;

	preempt_disable_notrace();
	p = kprobe_ftrace_by(ops, ip);
	if (likely(p)) {
		if (likely(kprobe_in_task(raw_cpu_read(kprobe_cpu.traps))))
			handle_call(p, regs, ip, KPROBE_CTX_TASK);
		else
			handle_call_nested(p, regs, ip);
	}
	preempt_enable_notrace();
}

#if defined(CONFIG_X86_64) && !defined(CONFIG_FRAME_POINTER)
/* entry_64.S */
extern char kprobe_ftrace_trampoline[], kprobe_ftrace_trampoline_end[];
asmlinkage void kprobe_ftrace_call(struct pt_regs *regs);

/*
 * From our own trampoline, which ftrace uses where nobody else is interested in
 * the function. So there is no question which of the two ops this is for.
 */
asmlinkage void __kprobe_hit kprobe_ftrace_call(struct pt_regs *regs)
{
	unsigned long ip = regs->ip - MCOUNT_INSN_SIZE;
	struct kprobe *p;

	preempt_disable_notrace();
	p = kprobe_ftrace_at(ip);
	if (likely(p)) {
		if (likely(kprobe_in_task(raw_cpu_read(kprobe_cpu.traps))))
			handle_call(p, regs, ip, KPROBE_CTX_TASK);
		else
			handle_call_nested(p, regs, ip);
	}
	preempt_enable_notrace();
}

/**
 * arch_kprobe_ftrace_ops - our ops are about to be registered
 * @ops: one of them
 *
 * Context: kprobe_mutex held.
 */
void arch_kprobe_ftrace_ops(struct ftrace_ops *ops)
{
	ops->trampoline = (unsigned long)kprobe_ftrace_trampoline;
	ops->trampoline_size = kprobe_ftrace_trampoline_end -
			       kprobe_ftrace_trampoline;
}
#endif

/**
 * arch_prepare_kprobe_ftrace - a point on an ftrace site needs no copy
 * @p: the point
 *
 * Return: 0.
 */
int arch_prepare_kprobe_ftrace(struct kprobe *p)
{
	p->opcode = *p->addr;
	p->ainsn.len = MCOUNT_INSN_SIZE;
	return 0;
}
