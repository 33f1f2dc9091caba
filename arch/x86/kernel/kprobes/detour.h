/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes on x86: detours, and what may become one.
 *
 * The life of a point that is hit by a jump:
 *
 *	breakpoint -> detour made -> ... -> jump -> breakpoint or nothing
 *
 * Some bytes behind the probed instruction belong to the jump, so they are
 * displaced with it. Once the detour is made, hits by the breakpoint go on in
 * it: from then on nobody comes into those bytes from their front, and reach.c
 * has made sure that nobody comes from anywhere else. So after a grace period
 * (kernel/kprobes/optimizer.c) no task rests in them, and they may change.
 */
#ifndef _ARCH_X86_KPROBES_DETOUR_H
#define _ARCH_X86_KPROBES_DETOUR_H

#include <linux/build_bug.h>
#include <linux/kprobes.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

#include "common.h"

#ifdef __ARCH_KPROBES_DETOUR

/* PUSH of 32 bits: what a displaced call begins with. */
#define X86_PUSH_IMM32		0x68
#define X86_PUSH_SIZE		5

/* As many as fit into the bytes of a jump. */
#define X86_MAX_DISPLACED	JMP32_INSN_SIZE

/**
 * struct x86_displaced - one instruction of those that a jump displaces
 * @insn: what it is, as for a point
 * @from: where it is, from the point
 * @len:  its length in bytes
 * @rip:  where its displacement is if that is relative to itself, else 0
 * @text: the original
 */
struct x86_displaced {
	struct arch_specific_insn insn;
	u8 from;
	u8 len;
	u8 rip;
	u8 text[MAX_INSN_SIZE];
};

/**
 * struct x86_plan - all of them
 * @nr:	   how many
 * @total: bytes from the point to where execution goes on in place
 * @std:   the direction flag may be set here
 * @insn:  in order
 */
struct x86_plan {
	unsigned int nr;
	unsigned int total;
	bool std;
	struct x86_displaced insn[X86_MAX_DISPLACED];
};

/**
 * struct x86_detour - the head of a detour, in front of its code
 * @p:	    the point, first of all, for kprobe_running_point(); only to be
 *	    followed while @live
 * @addr:   its address
 * @orig:   the bytes that the jump replaces
 * @live:   hits are hits of @p; otherwise they come late
 * @nr:	    displaced instructions
 * @total:  their length in bytes
 * @entry:  where the jump leads, from here
 * @post:   where the first of them runs if a post-handler waits for it and it
 *	    is not emulated, or 0
 * @branch: the branch that sends hits to the dispatcher, or 0 if all go there;
 *	    a breakpoint once the jump is gone
 * @saved:  from here on pt_regs is on top of the stack
 * @restore: up to here, or to @exec_end if there is no such place
 * @exec_end: behind the displaced instructions; what follows has pt_regs, but
 *	    for the beginning of @post
 * @post_saved: where that has it, too
 * @map:    where the displaced instructions are
 *
 * Read by hits, faults and unwinders without a lock. Except for @live, and the
 * branch, it is constant for as long as a task may be in the slot.
 */
struct x86_detour {
	struct kprobe *p;
	u8 *addr;
	u8 orig[JMP32_INSN_SIZE];
	u8 live;
	u8 nr;
	u8 total;
	u16 entry;
	u16 post;
	u16 branch;
	u16 saved;
	u16 restore;
	u16 exec_end;
	u16 post_saved;
	struct {
		u16 to;
		u8 from;
		u8 len;
	} map[X86_MAX_DISPLACED];
};

static_assert(sizeof(struct x86_detour) <= 64);
static_assert(!offsetof(struct x86_detour, p));

/* What is displaced runs here. */
static __always_inline unsigned long x86_detour_exec(const struct x86_detour *d,
						     unsigned int i)
{
	return (unsigned long)d + d->map[i].to;
}

/*
 * Where execution really goes on if it is to go on at @ip: what the jump has
 * replaced is in the detour. The point itself is not: that is another hit.
 */
static __always_inline unsigned long x86_detour_ip(const struct x86_detour *d,
						   unsigned long ip)
{
	unsigned long from = ip - (unsigned long)d->addr;
	unsigned int i;

	if (likely(from - 1 >= d->total))
		return ip;
	for (i = 1; i < d->nr; i++) {
		if (d->map[i].from == from)
			return x86_detour_exec(d, i);
	}
	return ip;
}

/*
 * Has the first of what is displaced faulted? If it is a call through memory,
 * that has pushed already: takes it back.
 */
static __always_inline bool x86_detour_first(const struct x86_detour *d,
					     struct pt_regs *regs)
{
	unsigned long exec = x86_detour_exec(d, 0);

	if (regs->ip == (unsigned long)d + d->post)
		return true;
	if (d->nr > 1 && regs->ip >= x86_detour_exec(d, 1))
		return false;
	if (regs->ip == exec)
		return true;
	if (regs->ip != exec + X86_PUSH_SIZE || *(u8 *)exec != X86_PUSH_IMM32)
		return false;
	regs->sp += sizeof(long);
	return true;
}

/* reach.c */
int x86_reach_plan(struct kprobe *p, struct x86_plan *plan);
void x86_reach_batch(void);

/* detour.c */
enum kprobe_unwind x86_detour_unwind(const struct x86_detour *d, unsigned long ip,
				     unsigned long *same);
const struct x86_detour *x86_detour_at(unsigned long addr);
bool x86_detour_trap(struct pt_regs *regs);

/* entry_64.S */
asmlinkage void detour_leave(void);

#else

static inline bool x86_detour_trap(struct pt_regs *regs)
{
	return false;
}

#endif /* __ARCH_KPROBES_DETOUR */

#endif /* _ARCH_X86_KPROBES_DETOUR_H */
