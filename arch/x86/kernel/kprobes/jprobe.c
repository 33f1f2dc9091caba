// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes on x86: the handler of a jprobe.
 *
 * It is called like any function, below the current top of the stack. Argument
 * registers are those of the probed function's entry. Its arguments on the stack
 * are copied to where the handler expects its own. Their number is not known, so
 * a fixed amount is copied, or less at the end of the stack.
 */
#include <linux/kasan.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>

#include <asm/ptrace.h>
#include <asm/stacktrace.h>

#include "jprobe.h"

/**
 * arch_jprobe_call - call a handler with the arguments of the probed function
 * @handler: the handler
 * @regs:    registers at the entry of the function
 * @frame:   where to store the argument for arch_jprobe_leave()
 *
 * Context: as a pre-handler.
 */
void __kprobe_hit arch_jprobe_call(void *handler, struct pt_regs *regs, void **frame)
{
	/* Past the return address. */
	unsigned long *args = (unsigned long *)kernel_stack_pointer(regs) + 1;
	struct stack_info info;
	unsigned long nr = 0;

	if (!get_stack_info(args, current, &info, NULL))
		nr = min_t(unsigned long, info.end - args,
			   X86_JPROBE_STACK / sizeof(*args));
	x86_jprobe_call(regs, handler, args, nr, frame);
}

/**
 * arch_jprobe_leave - return from arch_jprobe_call(), from any depth below it
 * @frame: the value that arch_jprobe_call() has stored
 *
 * Does not return.
 *
 * Context: in the handler.
 */
void __kprobe_hit arch_jprobe_leave(void *frame)
{
	void *here = __builtin_frame_address(0);

	/* Functions that will not return have left KASAN's poison there. */
	kasan_unpoison_range(here, frame - here);
	x86_jprobe_leave(frame);
}
