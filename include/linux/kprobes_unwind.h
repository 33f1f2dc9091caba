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

/* A return address in this many bytes from the trampoline's start counts as the trampoline. */
#ifndef __ARCH_KRETPROBE_CALL
#define __ARCH_KRETPROBE_CALL	1
#endif
void __kretprobe_trampoline(void);
unsigned long kretprobe_calls_find(struct task_struct *tsk, void *fp,
				   struct llist_node **cur);

/**
 * is_kretprobe_trampoline - for unwinders: test a return address
 * @addr: the address
 *
 * Context: any.
 * Return: true if a return probe has put it in place of the true one.
 */
static nokprobe_inline bool is_kretprobe_trampoline(unsigned long addr)
{
	void *trampoline;

	if (IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK))
		return is_rethook_trampoline(addr);
	if (!IS_ENABLED(CONFIG_KRETPROBE_POOL))
		return false;
	trampoline = dereference_kernel_function_descriptor(__kretprobe_trampoline);
	return addr - (unsigned long)trampoline < __ARCH_KRETPROBE_CALL;
}

/**
 * kretprobe_find_ret_addr - for unwinders: find the address that a trampoline replaces
 * @tsk: the task that is unwound
 * @fp:  frame pointer of the call, as the architecture stored it, or the address of the
 *	 return address with ARCH_HAS_KRETPROBE_ON_STACK
 * @cur: state of the search, NULL for the first call
 *
 * Context: any.
 * Return: the true return address, or another tracer's trampoline that had replaced it
 * earlier; 0 if there is no such call.
 */
static nokprobe_inline unsigned long
kretprobe_find_ret_addr(struct task_struct *tsk, void *fp, struct llist_node **cur)
{
	if (IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK))
		return rethook_find_ret_addr(tsk, (unsigned long)fp, cur);
	if (IS_ENABLED(CONFIG_KRETPROBE_POOL))
		return kretprobe_calls_find(tsk, fp, cur);
	return 0;
}

#endif /* _LINUX_KPROBES_UNWIND_H */
