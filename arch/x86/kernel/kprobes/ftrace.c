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
 * @fregs:     full registers, as our ops ask for
 *
 * Context: any that calls traced functions.
 */
void __kprobe_hit kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
					struct ftrace_ops *ops,
					struct ftrace_regs *fregs)
{
	kprobe_ftrace_hit(&arch_ftrace_regs(fregs)->regs, ip, ops);
}

#if defined(CONFIG_X86_64) && !defined(CONFIG_FRAME_POINTER)
/* entry_64.S */
extern char kprobe_ftrace_trampoline[], kprobe_ftrace_trampoline_end[];

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
