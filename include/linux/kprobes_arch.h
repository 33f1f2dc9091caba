/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes: the contract with the architectures: what they provide, what they
 * get. linux/kprobes.h includes it.
 */
#ifndef _LINUX_KPROBES_ARCH_H
#define _LINUX_KPROBES_ARCH_H

#include <linux/kprobes.h>

#ifdef CONFIG_KPROBES

/*
 * For functions on the path of a hit: out of bounds for probes and for the
 * function tracer, and free of calls into sanitizers, which are neither.
 */
#define __kprobe_hit	__noinstr_section(".kprobes.text")

/*
 * What happens to a hit, in kprobe_ctlblk::kprobe_status. For architectures
 * that single-step: handler running, stepping, stepped, hit while stepping.
 */
#define KPROBE_HIT_ACTIVE	1
#define KPROBE_HIT_SS		2
#define KPROBE_REENTER		4
#define KPROBE_HIT_SSDONE	8

/* Points are looked up with preemption or interrupts off, by address. */
struct kprobe *get_kprobe(void *addr);
void kprobes_inc_nmissed_count(struct kprobe *p);
void dump_kprobe(struct kprobe *p);

/*
 * Run the handlers of all probes of a point. They are its pre_handler and, if
 * a probe has one, its post_handler.
 */
int kprobe_run_pre(struct kprobe *p, struct pt_regs *regs);
void kprobe_run_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags);

/*
 * For architectures that look for faults of handlers and of displaced
 * instructions: the fault handlers of all probes of a point.
 */
bool kprobe_has_fault(struct kprobe *p);
int kprobe_run_fault(struct kprobe *p, struct pt_regs *regs, int trapnr);
void kprobe_abandon(void);

#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
/*
 * The architecture tells contexts apart: a probe hit by an interrupt that
 * arrives over a running handler is no recursion, it runs as well. Only a hit
 * from the same context is missed.
 */

enum kprobe_context {
	KPROBE_CTX_TASK,
	KPROBE_CTX_SOFTIRQ,
	KPROBE_CTX_HARDIRQ,
	KPROBE_CTX_NMI,
	KPROBE_NR_CTX,
};

/**
 * struct kprobe_cpu - what runs on this CPU, per context
 * @running: the point whose handlers run, by context of the probed code, as
 *	     kprobe_running_point() reads it; read by other CPUs, too, that
 *	     wait until a point is quiet
 * @traps:   what exceptions among them that count as NMIs, without being any,
 *	     have added to preempt_count()
 * @covered: how many points in front of which another is shown, in the lower
 *	     half; above that, how often this has changed. Read as @running is.
 */
struct kprobe_cpu {
	struct kprobe *running[KPROBE_NR_CTX];
	unsigned int traps;
	unsigned int covered;
};

#define KPROBE_COVERED_MASK	0xffffu
#define KPROBE_COVER		(KPROBE_COVERED_MASK + 1 + 1)
#define KPROBE_UNCOVER		(KPROBE_COVERED_MASK + 1 - 1)

DECLARE_PER_CPU(struct kprobe_cpu, kprobe_cpu);

/* What one such exception adds. */
#define KPROBE_TRAP	(NMI_OFFSET + HARDIRQ_OFFSET)

/**
 * kprobe_in_task - is it a task's context that probed code runs in?
 * @traps: what exceptions of kprobes' own that lie over it have added to
 *	   preempt_count()
 *
 * Most hits come from there, and this is cheaper to find out than the rest.
 *
 * Return: true if kprobe_context() is KPROBE_CTX_TASK.
 */
static __always_inline bool kprobe_in_task(unsigned int traps)
{
	return !((preempt_count() - traps) &
		 (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET));
}

/**
 * kprobe_context - the context that probed code runs in
 * @traps: as for kprobe_in_task()
 *
 * Return: a value of enum kprobe_context.
 */
static __always_inline unsigned int kprobe_context(unsigned int traps)
{
	unsigned int pc = preempt_count() - traps;

	return !!(pc & NMI_MASK) +
	       !!(pc & (NMI_MASK | HARDIRQ_MASK)) +
	       !!(pc & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET));
}

/**
 * kprobe_running_point - what a value of kprobe_cpu::running stands for
 * @running: the value
 *
 * Generated code may store less than 64 bits at once: an odd value is the
 * address, plus one, of where the address of the point is.
 *
 * Return: the point, or NULL if the value is NULL.
 */
static __always_inline struct kprobe *kprobe_running_point(struct kprobe *running)
{
	if (unlikely((unsigned long)running & 1))
		return *(struct kprobe **)((unsigned long)running - 1);
	return running;
}

/* The context that the caller runs in, or that the exception it handles hit. */
static __always_inline unsigned int kprobe_this_context(void)
{
	return kprobe_context(raw_cpu_read(kprobe_cpu.traps));
}

/**
 * kprobe_show - other CPUs see from here on whose handlers run
 * @ctx: the context of the probed code
 * @p:	 the point
 *
 * First to be seen, then to look: what the caller reads of the point and its
 * users after this either is what it was before somebody changed it, and
 * kprobe_quiesce() waits for us; or it is what they have made of it.
 *
 * Context: preemption off, no handlers run in @ctx: see kprobe_shown().
 */
static __always_inline void kprobe_show(unsigned int ctx, struct kprobe *p)
{
	raw_cpu_write(kprobe_cpu.running[ctx], p);
	barrier();
}

/**
 * kprobe_unshow - no handlers run in a context any more
 * @ctx: as for kprobe_show()
 *
 * Context: preemption off.
 */
static __always_inline void kprobe_unshow(unsigned int ctx)
{
	barrier();
	raw_cpu_write(kprobe_cpu.running[ctx], NULL);
}

/* True if handlers run in a context of this CPU: a hit there is missed. */
static __always_inline bool kprobe_shown(unsigned int ctx)
{
	return raw_cpu_read(kprobe_cpu.running[ctx]);
}

/**
 * kprobe_running - the point whose handler the caller runs under
 *
 * Context: preemption off.
 * Return: the point, or NULL outside of handlers. Seen from an interrupt that
 * arrived over a handler it is NULL too: the interrupt is not the handler.
 */
static __always_inline struct kprobe *kprobe_running(void)
{
	struct kprobe_cpu *kc = raw_cpu_ptr(&kprobe_cpu);

	return kprobe_running_point(kc->running[kprobe_context(kc->traps)]);
}

#else /* !CONFIG_ARCH_HAS_KPROBE_CONTEXTS */

DECLARE_PER_CPU(struct kprobe *, current_kprobe);
DECLARE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk);

static inline struct kprobe *kprobe_running(void)
{
	return __this_cpu_read(current_kprobe);
}

static inline void reset_current_kprobe(void)
{
	__this_cpu_write(current_kprobe, NULL);
}

static inline struct kprobe_ctlblk *get_kprobe_ctlblk(void)
{
	return this_cpu_ptr(&kprobe_ctlblk);
}

#endif /* CONFIG_ARCH_HAS_KPROBE_CONTEXTS */

/*
 * Make @p the point whose handlers run here; kprobe_leave() takes what
 * kprobe_enter() returned. Preemption is off in between.
 *
 * Handlers of the same context may run already: those of a return probe may be
 * called in another context than its function was, over whatever runs there.
 * What they cover runs on when they are done, so other CPUs have to know.
 */
static __always_inline struct kprobe *kprobe_enter(struct kprobe *p)
{
	struct kprobe *prev;
#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
	unsigned int ctx;

	preempt_disable_notrace();
	ctx = kprobe_this_context();
	prev = raw_cpu_read(kprobe_cpu.running[ctx]);
	if (unlikely(prev)) {
		raw_cpu_add(kprobe_cpu.covered, KPROBE_COVER);
		smp_wmb();	/* pairs with that of runs_any() */
	}
	kprobe_show(ctx, p);
#else
	preempt_disable_notrace();
	prev = raw_cpu_read(current_kprobe);
	raw_cpu_write(current_kprobe, p);
	/* What the architecture's fault handler goes by. */
	raw_cpu_ptr(&kprobe_ctlblk)->kprobe_status = KPROBE_HIT_ACTIVE;
	barrier();
#endif
	return prev;
}

static __always_inline void kprobe_leave(struct kprobe *prev)
{
	barrier();
#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
	kprobe_show(kprobe_this_context(), prev);
	if (unlikely(prev)) {
		smp_wmb();	/* likewise */
		raw_cpu_add(kprobe_cpu.covered, KPROBE_UNCOVER);
	}
#else
	raw_cpu_write(current_kprobe, prev);
#endif
	preempt_enable_notrace();
}

/*
 * For code that is called like a probe handler without being one: hits in
 * between count as missed. Not nestable.
 */
void kprobe_busy_begin(void);
void kprobe_busy_end(void);

/*
 * Provided by the architecture.
 *
 * It defines, by DEFINE_PER_CPU(), current_kprobe and kprobe_ctlblk, unless it
 * has ARCH_HAS_KPROBE_CONTEXTS: the point whose handlers run here, and its own notes
 * about that. Its exception handlers find a point by get_kprobe(), with
 * preemption off, and call p->pre_handler; then, if that returns 0,
 * p->post_handler after the instruction, if it is set, as it may be at any time.
 * Once set it stays so while the point lives.
 *
 * arch_prepare_kprobe() looks at the instruction and makes the copy of it;
 * arch_remove_kprobe() undoes that. Arming makes hits come, disarming ends it.
 * They may sleep, under these locks, taken in this order:
 *
 *	kprobe_mutex		all of them
 *	cpus_read_lock()	arch_prepare_kprobe(), arch_arm_kprobe(),
 *	text_mutex		arch_disarm_kprobe()
 *
 * so that they may use stop_machine_cpuslocked(), and nobody else patches. An
 * architecture with ARCH_HAS_KPROBE_BATCHES arms all points of a list, linked by
 * kprobe::list. It gets kprobe_mutex only, in arch_prepare_kprobe() as well, and
 * takes the others, in that order, where it needs them. What has to do with
 * ftrace is called with kprobe_mutex only: ftrace locks for itself.
 *
 * arch_init_kprobes() may register a probe on a trampoline that functions under
 * return probes return to. arch_trampoline_kprobe() knows its point, which stays
 * armed while all others are switched off: calls that have begun will return.
 *
 * A disarmed point is freed when synchronize_rcu() has returned, or with
 * ARCH_HAS_KPROBE_CONTEXTS when all CPUs are seen to be out of its handlers: from the
 * exception to the last use of the point, stepping included, preemption stays
 * off.
 */
int arch_prepare_kprobe(struct kprobe *p);
#ifdef CONFIG_ARCH_HAS_KPROBE_BATCHES
void arch_arm_kprobes(struct list_head *points);
void arch_disarm_kprobes(struct list_head *points);
#else
void arch_arm_kprobe(struct kprobe *p);
void arch_disarm_kprobe(struct kprobe *p);
#endif
int arch_init_kprobes(void);
int arch_trampoline_kprobe(struct kprobe *p);
int kprobe_exceptions_notify(struct notifier_block *self, unsigned long val,
			     void *data);

/*
 * May be provided; there are defaults. arch_adjust_kprobe_addr() gets a
 * function's beginning, as kallsyms has it, and an offset, and returns where the
 * probe goes: by default, their sum. kprobe_lookup_name(), too, may be the
 * architecture's: what it returns is moved by the offset, and then treated like
 * any address. arch_kprobes_sync() outlasts the breakpoints that are being
 * handled; architectures with ARCH_HAS_KPROBE_CONTEXTS bring it, and interrupt every
 * CPU. arch_prepare_post() is told that a point is about to get its first
 * post-handler. arch_kprobes_batch() brackets the preparing of a batch, which
 * goes by ascending address.
 */
bool arch_within_kprobe_blacklist(unsigned long addr);
int arch_populate_kprobe_blacklist(void);
kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long addr, unsigned long offset,
					 bool *on_func_entry);
int arch_prepare_post(struct kprobe *p);
void arch_kprobes_sync(void);
void arch_kprobes_batch(bool begin);

#ifdef CONFIG_OPTPROBES
/**
 * enum kprobe_why - why a point is no jump
 * @KPROBE_WHY_UNKNOWN:	  its function, or an instruction, cannot be made out
 * @KPROBE_WHY_INSN:	  a displaced instruction cannot run elsewhere
 * @KPROBE_WHY_END:	  the function ends before the jump would
 * @KPROBE_WHY_TARGET:	  a branch leads into the replaced bytes
 * @KPROBE_WHY_FAULT:	  the exception tables lead there, or know one of them
 * @KPROBE_WHY_CALL:	  a displaced call would return there
 * @KPROBE_WHY_PATCHED:	  others patch them
 * @KPROBE_WHY_NEIGHBOUR: another point is there
 * @KPROBE_WHY_INDIRECT:  an indirect jump might lead there
 * @KPROBE_WHY_SHARED:	  code of others might
 * @KPROBE_WHY_FAR:	  the detour is too far away, or too long
 * @KPROBE_WHY_POST:	  a post-handler may run, which detours here do not do
 */
enum kprobe_why {
	KPROBE_WHY_UNKNOWN = 1,
	KPROBE_WHY_INSN,
	KPROBE_WHY_END,
	KPROBE_WHY_TARGET,
	KPROBE_WHY_FAULT,
	KPROBE_WHY_CALL,
	KPROBE_WHY_PATCHED,
	KPROBE_WHY_NEIGHBOUR,
	KPROBE_WHY_INDIRECT,
	KPROBE_WHY_SHARED,
	KPROBE_WHY_FAR,
	KPROBE_WHY_POST,
};

/* Hits by a jump, see kernel/kprobes/optimizer.c for their order. */
int arch_detour_prepare(struct kprobe *p);
void arch_detour_arm(struct list_head *points);
void arch_detour_disarm(struct list_head *points, bool jumps, bool breakpoint);
void arch_detour_free(struct kprobe *p);

void *get_detour_slot(void);
void free_detour_slot(void *slot, bool used);
struct kprobe *kprobe_only(struct kprobe *p, kprobe_pre_handler_t *pre,
			   kprobe_post_handler_t *post);
bool kprobe_wants_post(struct kprobe *p);
#endif /* CONFIG_OPTPROBES */

#ifdef CONFIG_KPROBE_OPTINSN
/* Nothing enters the bytes that a jump replaces, but at the first. */
#define __ARCH_KPROBE_JUMP_SIZE	MAX_OPTIMIZED_LENGTH

/**
 * struct optimized_kprobe - a point that is a jump, or about to be
 * @kp:	     the point
 * @list:    links those that the architecture is to work on
 * @optinsn: what the architecture keeps of the detour
 * @live:    hits may be sent there
 * @used:    that has been so at some time
 */
struct optimized_kprobe {
	struct kprobe kp;
	struct list_head list;
	struct arch_optimized_insn optinsn;
	bool live;
	bool used;
};

/*
 * How architectures without ARCH_HAS_KPROBE_DETOURS do the same. Preparing
 * makes the detour, checking says if others are in its way; both return 0 or an
 * error. The detour calls opt_pre_handler() and goes on after the point: it
 * heeds neither a changed instruction pointer nor post-handlers. The lists link
 * optimized_kprobe::list; optimizing empties its list, unoptimizing leaves
 * breakpoints and moves what is done to the other list.
 *
 * Preparing is called with kprobe_mutex, text_mutex and cpus_read_lock() held,
 * and so are those who patch; removing with kprobe_mutex alone.
 */
int arch_prepare_optimized_kprobe(struct optimized_kprobe *op, struct kprobe *orig);
int arch_check_optimized_kprobe(struct optimized_kprobe *op);
int arch_prepared_optinsn(struct arch_optimized_insn *optinsn);
void arch_remove_optimized_kprobe(struct optimized_kprobe *op);
void arch_optimize_kprobes(struct list_head *oplist);
void arch_unoptimize_kprobes(struct list_head *oplist, struct list_head *done_list);
void arch_unoptimize_kprobe(struct optimized_kprobe *op);
int arch_within_optimized_kprobe(struct optimized_kprobe *op, kprobe_opcode_t *addr);
void *alloc_optinsn_page(void);
void free_optinsn_page(void *page);

/* A detour has MAX_OPTINSN_SIZE units. */
kprobe_opcode_t *get_optinsn_slot(void);
void free_optinsn_slot(kprobe_opcode_t *slot, int dirty);
void opt_pre_handler(struct kprobe *p, struct pt_regs *regs);
#endif

/* What they call back. */
bool kprobe_text_reserved(unsigned long start, unsigned long end);
void kprobe_label_targets(unsigned long start, unsigned long end,
			  unsigned long *map);
int kprobe_add_ksym_blacklist(unsigned long entry);
int kprobe_add_area_blacklist(unsigned long start, unsigned long end);

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
/*
 * One out-of-line copy each, of MAX_INSN_SIZE units or __ARCH_KPROBE_SLOT_SIZE
 * bytes, in executable memory.
 */
kprobe_opcode_t *get_insn_slot(void);
void free_insn_slot(kprobe_opcode_t *slot, int dirty);
#endif
void *alloc_insn_page(void);
void *alloc_insn_pages(unsigned int nr);
void arch_erase_slots(void *text, size_t len);

#ifdef CONFIG_KPROBES_ON_FTRACE
/* ftrace was killed: handlers must not run any more. */
extern bool kprobe_ftrace_disabled;

void kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
			   struct ftrace_ops *ops, struct ftrace_regs *fregs);
int arch_prepare_kprobe_ftrace(struct kprobe *p);
void kprobe_ftrace_hit(struct pt_regs *regs, unsigned long ip, struct ftrace_ops *ops);
void kprobe_ftrace_call_hit(struct pt_regs *regs);
void arch_kprobe_ftrace_ops(struct ftrace_ops *ops);
#endif

#ifdef CONFIG_JPROBES
void arch_jprobe_call(void *handler, struct pt_regs *regs, void **frame);
void arch_jprobe_leave(void *frame);
#endif

#ifdef CONFIG_KRETPROBES
extern struct kretprobe_blackpoint kretprobe_blacklist[];
#endif

/**
 * kprobe_page_fault - let kprobes have a look at a page fault
 * @regs: registers of the faulting context
 * @trap: the architecture's number of the fault
 *
 * Called early by the architecture's fault handler, before the fault is
 * resolved.
 *
 * Return: true if the fault was dealt with, so that the caller returns.
 */
static nokprobe_inline bool kprobe_page_fault(struct pt_regs *regs, unsigned int trap)
{
	if (user_mode(regs))
		return false;
#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
	/* Copies run with preemption on, long after their handlers are done. */
	return kprobe_fault_handler(regs, trap);
#else
	/* Whoever can be preempted is neither in a handler nor stepping. */
	if (preemptible() || !kprobe_running())
		return false;
	return kprobe_fault_handler(regs, trap);
#endif
}

#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
/*
 * arch_prepare_kretprobe() swaps the return address for the trampoline and
 * keeps the true one in the instance; the trampoline calls
 * kretprobe_trampoline_handler() and returns to what that returns.
 *
 * With ARCH_HAS_KRETPROBE_ON_STACK, a function's entry finds the return address
 * on top of the stack, and what the function returns to finds it right below:
 * there is nothing for arch_prepare_kretprobe() to do. The trampoline calls
 * kretprobe_return() with pt_regs right below that slot, which holds the true
 * return address from then on. An address in it that is less than
 * __ARCH_KRETPROBE_CALL behind the trampoline stands for the trampoline.
 */
#ifdef CONFIG_ARCH_HAS_KRETPROBE_ON_STACK
asmlinkage void kretprobe_return(struct pt_regs *regs);
#else
void arch_prepare_kretprobe(struct kretprobe_instance *ri, struct pt_regs *regs);
void arch_kretprobe_fixup_return(struct pt_regs *regs,
				 kprobe_opcode_t *correct_ret_addr);
#endif
unsigned long __kretprobe_trampoline_handler(struct pt_regs *regs,
					     void *frame_pointer);
#ifndef CONFIG_ARCH_HAS_KRETPROBE_ON_STACK
static nokprobe_inline unsigned long
kretprobe_trampoline_handler(struct pt_regs *regs, void *frame_pointer)
{
	unsigned long ret;

	/* What the handlers call must not look like a hit of its own. */
	kprobe_busy_begin();
	ret = __kretprobe_trampoline_handler(regs, frame_pointer);
	kprobe_busy_end();
	return ret;
}
#endif
#endif

#else /* !CONFIG_KPROBES */

static inline bool kprobe_page_fault(struct pt_regs *regs, unsigned int trap)
{
	return false;
}

static inline int kprobe_fault_handler(struct pt_regs *regs, int trapnr)
{
	return 0;
}

#endif /* CONFIG_KPROBES */

#endif /* _LINUX_KPROBES_ARCH_H */
