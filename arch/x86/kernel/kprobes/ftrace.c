// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes on x86: hits through ftrace.
 *
 * The probed instruction is ftrace's own call. Its only effect is to get here, so
 * there is nothing to displace.
 */
#include <linux/ftrace.h>
#include <linux/kprobes.h>

#include <asm/text-patching.h>

#include "common.h"

/**
 * kprobe_ftrace_handler - handle a hit on an ftrace site
 * @ip:	       the point's address
 * @parent_ip: unused
 * @ops:       one of the two ops that points are armed in
 * @fregs:     full registers, as the ops ask for
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
 * arch_kprobe_ftrace_ops - set up ops that are about to be registered
 * @ops: the ops
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
 * arch_prepare_kprobe_ftrace - prepare a point on an ftrace site, which needs no copy
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
