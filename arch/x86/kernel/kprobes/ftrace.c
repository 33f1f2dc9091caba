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
	unsigned long behind = ip + MCOUNT_INSN_SIZE;
	struct kprobe_cpu *kc;
	struct pt_regs *regs;
	unsigned long resume;
	struct kprobe *p;
	unsigned int ctx;

	preempt_disable_notrace();
	p = kprobe_ftrace_by(ops, ip);
	if (unlikely(!p))
		goto out;

	kc = raw_cpu_ptr(&kprobe_cpu);
	ctx = kprobe_context(kc->traps);
	if (unlikely(kc->running[ctx])) {
		kprobes_inc_nmissed_count(p);
		goto out;
	}
	WRITE_ONCE(kc->running[ctx], p);
	/* First to be seen, then to look: see quiesce(). */
	barrier();

	/*
	 * Other users of ftrace share these registers, and a live patch may
	 * have redirected the call already: what no handler of ours has
	 * decided stays as it is.
	 */
	regs = ftrace_get_regs(fregs);
	resume = regs->ip;
	regs->ip = ip + INT3_INSN_SIZE;
	if (!kprobe_run_pre(p, regs)) {
		regs->ip = behind;
		if (READ_ONCE(p->post_handler))
			kprobe_run_post(p, regs, 0);
		if (regs->ip == behind)
			regs->ip = resume;
	}

	barrier();
	WRITE_ONCE(kc->running[ctx], NULL);
out:
	preempt_enable_notrace();
}

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
