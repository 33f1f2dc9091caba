/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes on x86: detours, and the instructions that they displace.
 *
 * The life of a point that is hit through a jump:
 *
 *	breakpoint -> detour made -> ... -> jump -> breakpoint or nothing
 *
 * The jump also covers some bytes after the probed instruction, so they are
 * displaced with it. Once the detour is made, breakpoint hits continue in it:
 * from then on no CPU enters those bytes through the probed instruction, and
 * reach.c has made sure that there is no other way. So after a grace period
 * (kernel/kprobes/optimizer.c) no task is preempted in them, and they may change.
 */
#ifndef _ARCH_X86_KPROBES_DETOUR_H
#define _ARCH_X86_KPROBES_DETOUR_H

#include <linux/build_bug.h>
#include <linux/kprobes.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

#include "common.h"

#ifdef CONFIG_OPTPROBES

/* Jcc with 32 bits of displacement */
#define JCC32_INSN_SIZE		6

/* As many as fit into the bytes of a jump. */
#define X86_MAX_DISPLACED	JMP32_INSN_SIZE

/**
 * struct x86_displaced - one of the instructions that a jump displaces
 * @insn: how it is executed, as for a point
 * @from: where it is, relative to the point
 * @len:  its length in bytes
 * @rip:  where its displacement is, if that is relative to the next instruction, else 0
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
 * struct x86_plan - all instructions that a jump displaces
 * @nr:	   how many
 * @total: bytes from the point to where execution continues in place
 * @odd:   flags or segment registers may not be what compiled code relies on
 * @insn:  the instructions, in order
 */
struct x86_plan {
	unsigned int nr;
	unsigned int total;
	bool odd;
	struct x86_displaced insn[X86_MAX_DISPLACED];
};

/**
 * enum x86_detour_next - what runs after the registers are restored
 * @DETOUR_EXEC: all displaced instructions
 * @DETOUR_NEXT: those after the probed instruction, which was emulated
 * @DETOUR_POST: the probed instruction, before its post-handlers
 * @DETOUR_AWAY: nothing of the detour: the hit continues at regs->ip
 */
enum x86_detour_next {
	DETOUR_EXEC,
	DETOUR_NEXT,
	DETOUR_POST,
	DETOUR_AWAY,
};

/*
 * What C code returns to its detour: restore the registers and continue, or leave
 * through detour_leave(). That function must know how many returns will lack a call, or
 * the CPU's return stack buffer gets out of step with the stack (SDM Vol. 1, 17.1.1).
 * It goes to regs->ip by a return of its own, which lacks one. If a call was emulated,
 * the return of the callee lacks one, too. If a return was emulated, its call is left
 * over, and makes up for one.
 *
 * Where calls are counted, a direct call leads to code that does so. An indirect one, if
 * it is probed, does not.
 */
#define DETOUR_STAY			0
#define DETOUR_LEAVE			1
#define DETOUR_LEAVE_CALLED		2
#define DETOUR_LEAVE_CALLED_UNCOUNTED	3
#define DETOUR_LEAVE_RETURNED		4

/**
 * struct x86_detour - the head of a detour, before its code
 * @p:	    the point; the first member, for kprobe_running_point(); valid only
 *	    while @live is set
 * @addr:   address of the point
 * @step:   arch_specific_insn::step of the point, by which a hit recognises the point
 *	    between its pre- and post-handlers: the slot is not reused before that
 *	    hit is over
 * @orig:   the bytes that the jump replaces
 * @live:   hits are hits of @p; otherwise they are late
 * @nr:	    displaced instructions
 * @total:  their length in bytes
 * @next:   enum x86_detour_next
 * @entry:  where the jump leads, relative to this head, like all that follow
 * @post:   where the probed instruction runs if there is a post-handler and the
 *	    instruction is not emulated, or 0
 * @branch: the branch that sends hits to the dispatcher, or 0 if all go there;
 *	    a breakpoint once the jump is gone
 * @saved:  pt_regs is on top of the stack from here
 * @restore: up to here
 * @exec_end: end of the displaced instructions; the code after it has pt_regs on
 *	    the stack, except at the beginning and the end of @post, which is last
 * @post_saved: the code at @post has pt_regs, too, from here
 * @post_restore: up to here
 * @map:    where the displaced instructions are, and how the stack changes in branches
 *	    among them: the return address is on it from @called on; unwinders cannot
 *	    tell what is on it from @lost on. Both are relative to @to, or 0 if that
 *	    does not happen.
 *
 * Hits, faults and unwinders read this without a lock. Except for @live and the
 * branch, it is constant while a task may be in the slot.
 */
struct x86_detour {
	struct kprobe *p;
	u8 *addr;
	kprobe_opcode_t *step;
	u8 orig[JMP32_INSN_SIZE];
	u8 live;
	u8 nr;
	u8 total;
	u8 next;
	u16 entry;
	u16 post;
	u16 branch;
	u16 saved;
	u16 restore;
	u16 exec_end;
	u16 post_saved;
	u16 post_restore;
	struct x86_detour_map {
		u16 to;
		u8 from;
		u8 len;
		u8 called;
		u8 lost;
	} map[X86_MAX_DISPLACED];
};

static_assert(sizeof(struct x86_detour) <= 80);
static_assert(!offsetof(struct x86_detour, p));

/* Where a displaced instruction runs. */
static __always_inline unsigned long x86_detour_exec(const struct x86_detour *d,
						     unsigned int i)
{
	return (unsigned long)d + d->map[i].to;
}

/*
 * Where execution has to continue in order to continue at @ip: the instructions that
 * the jump has replaced run in the detour. The point itself is another hit.
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
 * Has the probed instruction faulted? If it is a call, the return address may be
 * on the stack already: drop it. A NOP takes no bytes in the detour: what faults in
 * its place is the next instruction.
 */
static __always_inline bool x86_detour_first(const struct x86_detour *d,
					     struct pt_regs *regs)
{
	unsigned long at = regs->ip - x86_detour_exec(d, 0);
	const struct x86_detour_map *m = &d->map[0];

	if (regs->ip == (unsigned long)d + d->post)
		return true;
	if (at >= (d->nr > 1 ? d->map[1].to : d->exec_end - JMP32_INSN_SIZE) - m->to)
		return false;
	if (m->lost && at >= m->lost)
		return false;
	if (m->called && at >= m->called)
		regs->sp += sizeof(long);
	return true;
}

/* reach.c */
int x86_reach_plan(struct kprobe *p, struct x86_plan *plan);
void x86_reach_batch(void);
unsigned int kprobe_test_fixups_missed(unsigned int *nr);

/* generate.c */
int x86_detour_generate(struct x86_detour *d, struct x86_detour *slot,
			struct kprobe *p, const struct x86_plan *plan);

/* detour.c */
int detour_hit(struct x86_detour *d, struct pt_regs *regs);
int detour_changed(struct x86_detour *d, struct pt_regs *regs);
int detour_post(struct x86_detour *d, struct pt_regs *regs);
void detour_resched(void);
enum kprobe_unwind x86_detour_unwind(const struct x86_detour *d, unsigned long ip,
				     unsigned long *same);
const struct x86_detour *x86_detour_at(unsigned long addr);
bool x86_detour_trap(struct pt_regs *regs);
void x86_detour_resume(struct pt_regs *regs);

/* entry_64.S, entry_32.S */
asmlinkage void detour_leave(void);

#else

static inline bool x86_detour_trap(struct pt_regs *regs)
{
	return false;
}

static inline void x86_detour_resume(struct pt_regs *regs)
{
}

#endif /* CONFIG_OPTPROBES */

#endif /* _ARCH_X86_KPROBES_DETOUR_H */
