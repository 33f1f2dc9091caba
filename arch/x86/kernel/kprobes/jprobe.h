/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kprobes on x86: how the handler of a jprobe is called. */
#ifndef _ARCH_X86_KPROBES_JPROBE_H
#define _ARCH_X86_KPROBES_JPROBE_H

/* Bytes of arguments on the stack that a handler gets, at most. */
#define X86_JPROBE_STACK	256

#ifndef __ASSEMBLY__
struct pt_regs;

void x86_jprobe_call(struct pt_regs *regs, void *handler, const unsigned long *args,
		     unsigned long nr, void **frame);
void x86_jprobe_leave(void *frame);
#endif

#endif /* _ARCH_X86_KPROBES_JPROBE_H */
