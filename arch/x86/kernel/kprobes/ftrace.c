// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes on x86: hits through ftrace.
 *
 * The probed instruction is ftrace's own call. Its only effect is to get here, so
 * there is nothing to displace.
 */
#include <kunit/visibility.h>
#include <linux/ftrace.h>
#include <linux/kmsan-checks.h>
#include <linux/kprobes.h>

#include "common.h"
#include "detour.h"

/* entry_*.S */
extern char kprobe_ftrace_return[], kprobe_ftrace_return_far[];

/**
 * kprobe_ftrace_handler - handle a hit on an ftrace site
 * @ip:	       the point's address
 * @parent_ip: unused
 * @ops:       one of the two ops that points are armed in
 * @fregs:     full registers, as the ops ask for; or not, see below
 *
 * Context: any that calls traced functions.
 */
void __kprobe_hit kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
					struct ftrace_ops *ops,
					struct ftrace_regs *fregs)
{
	struct pt_regs *regs;

	/* KMSAN does not see what ftrace's trampoline has stored. */
	kmsan_unpoison_memory(fregs, sizeof(*fregs));
	regs = ftrace_get_regs(fregs);
	/*
	 * A task may have been on its way to another tracer since before the ops were
	 * registered. If they are the only ones by then, it gets here without registers. The
	 * call is not for a point.
	 */
	if (likely(regs))
		kprobe_ftrace_hit(regs, ip, ops);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_ftrace_handler);

/**
 * arch_kprobe_ftrace_leave - apply an address and a stack pointer that a handler has set
 * @regs: registers that the handler has left
 * @sp:   the stack pointer at the site
 *
 * Our trampoline, and that of ftrace, goes to regs->ip by a RET with the stack pointer
 * that the site had. A handler that returns in place of the function drops the return
 * address, and maybe arguments. The dropped words then lead to regs->ip: they hold return
 * addresses and, if there are more than two of them, a stack pointer.
 *
 * The word on top is a return address in any case, as for a function that returns: a
 * tracer that ftrace calls next may replace it with its own, and then return to it.
 *
 * On 64 bits, a stack pointer that has been moved down is put back: the trampoline's own
 * frame is there, and a tracer that ftrace calls next would look for the return address
 * in the wrong place. On 32 bits ftrace itself sets the stack pointer.
 *
 * Context: where a hit runs; preemption off.
 */
void __kprobe_hit arch_kprobe_ftrace_leave(struct pt_regs *regs, unsigned long sp)
{
	unsigned long *word = (unsigned long *)sp;
	long dropped = regs->sp - sp, last;

	x86_detour_resume(regs);
	if (dropped <= 0 || dropped % sizeof(*word)) {
		if (IS_ENABLED(CONFIG_X86_64))
			regs->sp = sp;
		return;
	}
	last = dropped / sizeof(*word) - 1;
	word[last] = regs->ip;
	if (last == 1) {
		word[0] = (unsigned long)kprobe_ftrace_return;
	} else if (last > 1) {
		word[0] = (unsigned long)kprobe_ftrace_return_far;
		word[1] = (unsigned long)&word[last];
	}
	regs->ip = (unsigned long)kprobe_ftrace_return;
	regs->sp = sp;
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
 * Context: kprobe_mutex held.
 * Return: 0.
 */
int arch_prepare_kprobe_ftrace(struct kprobe *p)
{
	p->opcode = *p->addr;
	p->ainsn.len = MCOUNT_INSN_SIZE;
	return 0;
}
