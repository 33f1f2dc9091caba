/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs instructions with and without probes and compares what they do, for execute.sh.
 *
 * The encodings come from execute.py, which knows how an instruction is built, but not
 * what it does. Each comes with its length according to objdump. The module
 *
 *	decodes		with the kernel's decoder, and compares the lengths;
 *	asks		kprobes whether a probe is allowed there; refused encodings are
 *			counted, and never run;
 *	leaves out	encodings that must not run in a kernel, and counts the reasons;
 *	fits		operands: registers that point to memory point into a scratch
 *			area; displacements and branches that depend on the address lead
 *			where they should;
 *	runs		the rest unprobed, then under each kind of probe.
 *
 * Each encoding is in three sites: at the beginning, after one other instruction, and
 * after two, so a jump displaces it as the first, second or third. Each run starts
 * from the same registers, flags, stack, scratch area and FPU state, with interrupts off.
 * It must end in the same state, by the same exit, after the expected number of hits.
 * Handlers must see the registers before and after the instruction.
 *
 * Faults: a hook on fixup_exception() stands in for exception tables. It sees the fault,
 * notes trap, error code and address, and leaves the site. All faults must look like
 * faults of the original. In a jump, only the first displaced instruction has fix-ups (see
 * reach.c): the second and the third fault in the detour, and all else is as unprobed.
 *
 * Not compared: the FPU's instruction pointer, which differs; the dead stack below the
 * stack pointer, where exceptions leave their frames; the registers after
 * instructions that read a clock, noise or the address of the page tables. If an
 * instruction moves the stack pointer elsewhere, the probe has no post-handler: the trap
 * after the instruction would push there.
 *
 *	kprobe_execute/run	write: records of 16 bytes, a length (0: not known) and 15
 *				bytes that start with an instruction
 *	kprobe_execute/result	read: counts, and a line for each difference
 */
#ifndef _KPROBE_EXECUTE_H
#define _KPROBE_EXECUTE_H

/* A site: an exit, the instruction and what follows it, and two more exits. */
#define SITE_SIZE	64
#define SITE_BACK	0
#define SITE_START	8
#define SITE_FALL	40
#define SITE_TAKEN	45

/* Functions that consist of sites, after a head. */
#define FN_SITES	15
#define FN_HEAD		64
#define FN_SIZE		(FN_HEAD + FN_SITES * SITE_SIZE)
#define NR_FNS		103

/* The number of encodings that run at a time. */
#define BATCH		(NR_FNS * FN_SITES / 3)

/* The part of the stack that is compared, below and above the stack pointer. */
#define STACK_BELOW	384
#define STACK_ABOVE	512
#define STACK_SIZE	(STACK_BELOW + STACK_ABOVE)

/* The memory of operands, and the largest operand: an XSAVE area. */
#define SCRATCH_SIZE	4096
#define SCRATCH_OPERAND	512

#ifdef CONFIG_X86_64
#define NR_GPRS		16
#else
#define NR_GPRS		8
#endif

/* The register numbers of instructions. */
#define R_AX		0
#define R_CX		1
#define R_DX		2
#define R_BX		3
#define R_SP		4
#define R_BP		5
#define R_SI		6
#define R_DI		7
#ifdef CONFIG_X86_64
#define R_R8		8
#define R_R9		9
#define R_R10		10
#define R_R11		11
#define R_R12		12
#define R_R13		13
#define R_R14		14
#define R_R15		15
#endif

/* exec_exit */
#define EXIT_FALL	0
#define EXIT_TAKEN	1
#define EXIT_BACK	2
#define EXIT_FAULT	3

#ifndef __ASSEMBLY__

#include <linux/types.h>
#include <asm/insn.h>

enum exec_layout { AS_FIRST, AS_SECOND, AS_THIRD, NR_LAYOUTS };

/* Aligned operands, unaligned operands, and faulting addresses. */
#define NR_STATES	3
#define STATE_ODD	1
#define STATE_BAD	2

/**
 * enum exec_place - what the address of a memory operand depends on
 * @IN_NO_MEMORY: there is none
 * @BY_BASE:	  a base register, and maybe another as index
 * @BY_SAME:	  one register, which is base and index
 * @BY_STACK:	  the stack pointer
 * @BY_IP:	  the instruction pointer
 * @BY_NUMBER:	  a displacement, and maybe an index
 * @BY_WORD:	  16 bits of registers: the address is in the unmapped first 64 KiB
 */
enum exec_place {
	IN_NO_MEMORY,
	BY_BASE,
	BY_SAME,
	BY_STACK,
	BY_IP,
	BY_NUMBER,
	BY_WORD,
};

/* Why an encoding does not run; why_names[] has the text. */
enum exec_why {
	WHY_RUNS,
	WHY_PORTS,
	WHY_SYSTEM,
	WHY_SEGMENT,
	WHY_INTERRUPTS,
	WHY_BOUND,
	WHY_HYPERVISOR,
	WHY_WAITS,
	WHY_STACK_AS,
	WHY_ELSEWHERE,
	WHY_LARGE,
	WHY_EMULATOR,
	WHY_LOCK,
	WHY_FLAGS,
	WHY_ALIAS,
	WHY_LENGTH,
	NR_WHY
};

/**
 * struct exec_enc - an encoding
 * @text:   the encoding, and what follows it in the record
 * @said:   its length according to objdump, or 0
 * @why:    enum exec_why
 * @place:  enum exec_place
 * @base:   number of the base register
 * @index:  number of the index register, or -1
 * @scale:  shift count of the index
 * @width:  width of its addresses, in bytes
 * @segment: its memory operand is in a segment with another base
 * @string: it uses the memory at SI or DI
 * @branch: bytes of its distance, if it is a direct branch
 * @indirect: it is a branch through its operand
 * @ends:   execution does not continue after it
 * @varies: it reads a clock, noise or the address of the page tables
 * @runs:   number of states it runs in
 * @disp:   displacement, if registers are fitted to it
 * @rnd:    random, the same in each run
 * @insn:   decoded
 */
struct exec_enc {
	u8 text[MAX_INSN_SIZE];
	u8 said;
	u8 why;
	u8 place;
	s8 base;
	s8 index;
	u8 scale;
	u8 width;
	u8 segment;
	bool string;
	u8 branch;
	bool indirect;
	bool ends;
	bool varies;
	u8 runs;
	s32 disp;
	u32 rnd;
	struct insn insn;
};

/* The state that each run starts from. One word of memory may differ from the template. */
struct exec_in {
	unsigned long gpr[NR_GPRS];
	unsigned long flags;
	unsigned long stack[STACK_SIZE / sizeof(long)];
	unsigned long *word;
	unsigned long value;
	int xmm;
};

/* kprobe_execute_fit.c */
bool exec_decode(struct exec_enc *e);
void exec_write_site(const struct exec_enc *e, enum exec_layout layout, u8 *site, u8 *to);
void exec_fit(const struct exec_enc *e, const u8 *at, unsigned int state, struct exec_in *in);
u64 exec_identity(const struct exec_enc *e, bool form);
void exec_fit_init(unsigned long sp, unsigned long base, void *bad);

static inline const u8 *exec_insn_at(const u8 *site, enum exec_layout layout)
{
	return site + SITE_START + layout;
}

extern u8 exec_scratch[SCRATCH_SIZE];
extern unsigned long exec_template[SCRATCH_SIZE / sizeof(long)];

/* The state a run starts from, and the state after it: see kprobe_execute_run.S. */
extern unsigned long exec_gpr[NR_GPRS];
extern unsigned long exec_flags;
extern unsigned long exec_stack[STACK_SIZE / sizeof(long)];
extern const u8 *exec_target;
extern unsigned long exec_sp;
extern unsigned long exec_gpr_out[NR_GPRS];
extern unsigned long exec_flags_out;
extern unsigned long exec_stack_out[STACK_SIZE / sizeof(long)];
extern unsigned int exec_exit;
extern unsigned long exec_caller;
void exec_enter(void);

/* The sites, and where they end. */
extern u8 exec_text[];
void exec_exit_fall(void);
void exec_exit_taken(void);
void exec_exit_back(void);
void exec_exit_fault(void);

#endif /* !__ASSEMBLY__ */
#endif
