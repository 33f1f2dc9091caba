/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes: what stack walks need to know of return probes.
 */
#ifndef _LINUX_KPROBES_UNWIND_H
#define _LINUX_KPROBES_UNWIND_H

#include <linux/rethook.h>
#include <linux/types.h>
#include <asm/kprobes.h>
#include <asm/sections.h>

struct llist_node;
struct task_struct;

#ifdef CONFIG_KRETPROBE_ON_RETHOOK

static nokprobe_inline unsigned long
kretprobe_find_ret_addr(struct task_struct *tsk, void *fp, struct llist_node **cur)
{
	return rethook_find_ret_addr(tsk, (unsigned long)fp, cur);
}

static nokprobe_inline bool is_kretprobe_trampoline(unsigned long addr)
{
	return is_rethook_trampoline(addr);
}

#elif defined(CONFIG_KRETPROBES)

#ifndef __ARCH_KRETPROBE_CALL
#define __ARCH_KRETPROBE_CALL	1
#endif
void __kretprobe_trampoline(void);
unsigned long kretprobe_find_ret_addr(struct task_struct *tsk, void *fp,
				      struct llist_node **cur);

static nokprobe_inline bool is_kretprobe_trampoline(unsigned long addr)
{
	return addr - (unsigned long)
		dereference_kernel_function_descriptor(__kretprobe_trampoline) <
		__ARCH_KRETPROBE_CALL;
}

#else /* !CONFIG_KRETPROBES */

static nokprobe_inline bool is_kretprobe_trampoline(unsigned long addr)
{
	return false;
}

static nokprobe_inline unsigned long
kretprobe_find_ret_addr(struct task_struct *tsk, void *fp, struct llist_node **cur)
{
	return 0;
}

#endif /* CONFIG_KRETPROBE_ON_RETHOOK */

#endif /* _LINUX_KPROBES_UNWIND_H */
