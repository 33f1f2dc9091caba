/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions to probe whose every instruction is known: see targets_x86.S. */
#ifndef _LIB_TESTS_KPROBES_TARGETS_X86_H
#define _LIB_TESTS_KPROBES_TARGETS_X86_H

#include <linux/ftrace.h>
#include <linux/mm.h>
#include <linux/types.h>
#include <linux/vmalloc.h>
#include <asm/ibt.h>

#include "values_x86.h"

/*
 * An indirect jump may be one through a table, into the function that it is in. With
 * retpolines and IBT the compiler makes no tables.
 */
#define KPT_JUMP_TABLES	(!IS_ENABLED(CONFIG_MITIGATION_RETPOLINE) &&	\
			 !IS_ENABLED(CONFIG_X86_KERNEL_IBT))

/* No access to it succeeds: not canonical, or where error pointers are. */
#ifdef CONFIG_X86_64
#define KPT_BAD_ADDRESS	(0xdeadul << 48)
#else
#define KPT_BAD_ADDRESS	(-256ul)
#endif

static inline void kpt_unmap_action(void *alias)
{
	vunmap((void *)((unsigned long)alias & PAGE_MASK));
}

/* A writable alias of the byte at @addr and its page. Nothing must execute it meanwhile. */
static inline u8 *kpt_writable(struct kunit *test, void *addr)
{
	struct page *page = is_vmalloc_or_module_addr(addr) ? vmalloc_to_page(addr) :
			    pfn_to_page(__pa_symbol(addr) >> PAGE_SHIFT);
	void *alias = vmap(&page, 1, VM_MAP, PAGE_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, alias);
	alias += offset_in_page(addr);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kpt_unmap_action, alias), 0);
	return alias;
}

/* KPT_RESULT(), by an instruction at the entry, and by one further inside. */
unsigned long kpt_asm_entry(unsigned long arg);
unsigned long kpt_asm_inside(unsigned long arg);
unsigned long kpt_around_refused(unsigned long arg);

/*
 * Calls kpt_traced() with three extra words on the stack, and returns how many bytes of
 * them are left.
 */
unsigned long kpt_asm_passes(unsigned long arg);

/* Ends in a jump to kpt_asm_entry(). */
unsigned long kpt_asm_tail(unsigned long arg);

/* Calls kpt_asm_entry(), with nothing on its stack but a frame pointer, if it has one. */
unsigned long kpt_asm_outer(unsigned long arg);

/* The same, but ends in a jump to kpt_plain(). The call returns to kpt_asm_after. */
unsigned long kpt_asm_outer_tail(unsigned long arg);
extern char kpt_asm_after[];

/*
 * Calls kpt_asm_entry() with each word of 16 bytes as the end of the stack, and with KPT_AX in
 * the register of the result.
 */
void kpt_asm_aligns(void);

/* Handler of a jprobe: hands on that register, and the stack pointer on entry. */
void kpt_asm_jprobe(void);
void kpt_jprobe_noted(unsigned long ax, unsigned long sp);

/* Begins with an instruction that cannot be probed. It is never called. */
void kpt_asm_refused(void);

/* Returns the lowest bit of its argument in the carry flag, and nothing else. */
void kpt_asm_carry(void);

/* Extends the lower 16 bits, by an instruction of one byte, and adds 1. */
u32 kpt_asm_extends(u32 arg);
extern const u32 kpt_asm_one_byte_at;

/* Calls that, and returns the flag. */
unsigned long kpt_asm_reads_carry(unsigned long arg);

/* Returns with the AC flag set, as some that copy to and from user space do. */
void kpt_asm_sets_ac(void);

/* Calls that, and returns the flag. */
unsigned long kpt_asm_reads_ac(void);

/* Nothing but a return; the second has an ftrace site before it, if there are such sites. */
void kpt_asm_returns(void);
void kpt_asm_traced(void);

/* Where the instructions are, from the start of their functions. */
extern const u32 kpt_asm_inside_at;
/* The last byte before the refused ones, and how many of these there are. */
extern const u32 kpt_around_refused_at;
#define KPT_REFUSED_BYTES	3

/* Sizes of the first instruction of kpt_asm_inside(), and of the probed one. */
#define KPT_ASM_CLEAR_SIZE	2
#ifdef CONFIG_X86_64
#define KPT_ASM_LEA_SIZE	5
#else
#define KPT_ASM_LEA_SIZE	4
#endif

/* *@from, or KPT_FAULTED if that faults, by an instruction at kpt_load_at. */
unsigned long kpt_load(const unsigned long *from);
extern const u32 kpt_load_at;
extern const u32 kpt_load_next;

/* The same with a fix-up that also serves for errors of memory. */
unsigned long kpt_load_mc(const unsigned long *from);
extern const u32 kpt_load_mc_at;

/* The same without a fix-up, and where the next instruction is. */
unsigned long kpt_peek(const unsigned long *from);
extern const u32 kpt_peek_at;
extern const u32 kpt_peek_next;

/*
 * *@from, with zeros for bytes on a page that is not present; by an instruction that
 * is long enough to be a jump, and by one whose fix-up is too near.
 */
unsigned long kpt_zeropad(const void *from);
extern const u32 kpt_zeropad_at;
unsigned long kpt_zeropad_short(const void *from);
extern const u32 kpt_zeropad_short_at;

/* Calls the function whose address is at @where; no fix-up. */
unsigned long kpt_call_at(kpt_fn_t *where);
extern const u32 kpt_call_at_at;
extern const u32 kpt_call_at_next;

#ifdef CONFIG_X86_64
/*
 * Each branches to its argument, which is kpt_far_NAME_done or a function, and returns 0 if
 * the stack is as before. If the branch faults, KPT_FAULTED is added.
 */
#define KPT_FAR_BRANCH(name)					\
	unsigned long kpt_far_##name(unsigned long target);	\
	extern const u32 kpt_far_##name##_at;			\
	extern const u32 kpt_far_##name##_done

KPT_FAR_BRANCH(call);
KPT_FAR_BRANCH(call_mem);
KPT_FAR_BRANCH(call_11);
KPT_FAR_BRANCH(call_12);
KPT_FAR_BRANCH(call_rip);
KPT_FAR_BRANCH(jmp);
KPT_FAR_BRANCH(jmp_mem);
KPT_FAR_BRANCH(ret);

/* Where kpt_far_call_rip() reads its argument once more. */
extern unsigned long kpt_far_word;
#endif

/* The same from user memory, which the instruction has access to. */
unsigned long kpt_call_user(kpt_fn_t __user *where);
extern const u32 kpt_call_user_at;

/* kpt_load() from user memory. */
unsigned long kpt_load_user(const unsigned long __user *from);
extern const u32 kpt_load_user_at;

/* 100 / @by, or KPT_FAULTED. */
unsigned long kpt_divide(unsigned long by);
extern const u32 kpt_divide_at;
extern const u32 kpt_divide_next;

/* KPT_RESULT(), by the fix-up of an addition that must not be locked, and is. */
unsigned long kpt_locked(unsigned long arg);
extern const u32 kpt_locked_at;

/* 0, or KPT_FAULTED if there is no such MSR. */
unsigned long kpt_rdmsr(unsigned long msr);
extern const u32 kpt_rdmsr_at;

/* 0, or KPT_FAULTED if there is no such extended control register. */
unsigned long kpt_xgetbv(unsigned long index);
extern const u32 kpt_xgetbv_at;

/* Holds an int3 of its own, and a ud2; runs neither; returns KPT_RESULT(). */
unsigned long kpt_traps(unsigned long arg);
extern const u32 kpt_traps_int3_at;
extern const u32 kpt_traps_ud2_at;

/* Not to be called: drops so many bytes of arguments, which are at the probe. */
unsigned long kpt_drops(unsigned long arg);
extern const u32 kpt_drops_at;
#define KPT_DROPPED	0x8008

/* Holds the trampoline of a static call, of this size, and returns KPT_RESULT(). */
unsigned long kpt_null_tramp(unsigned long arg);
extern const u32 kpt_null_tramp_at;
#define KPT_NULL_TRAMP_SIZE	8

/* Increments *@what, with a lock prefix at the second byte from kpt_locks_at. */
void kpt_locks(int *what);
extern const u32 kpt_locks_at;

/* The code before kpt_alternative_after has replaced other instructions. */
unsigned long kpt_alternative(unsigned long arg);
extern const u32 kpt_alternative_after;

/* Holds this many vector instructions, one in each word, and runs none of them. */
unsigned long kpt_vector(unsigned long arg);
extern const u32 kpt_vector_at;
#define KPT_VECTORS		6

/*
 * Never called: a long function, and the offsets of its instructions, ascending,
 * 0 after the last. See text_x86_long.S.
 */
extern const u16 kpt_long_text_starts[];
extern u8 kpt_long_text[];

/* From where these registers are, or from here; true if nothing went wrong on the way. */
bool kpt_walk(struct kpt_trace *trace, struct pt_regs *regs);

#endif /* _LIB_TESTS_KPROBES_TARGETS_X86_H */
