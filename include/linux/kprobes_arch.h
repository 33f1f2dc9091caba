/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes: the contract with the architectures. The manual is
 * Documentation/trace/kprobes.rst; kernel/kprobes/Kconfig has the symbols that an
 * architecture selects.
 *
 * Architectures include linux/kprobes.h, which includes this at its end.
 */
#ifndef _LINUX_KPROBES_ARCH_H
#define _LINUX_KPROBES_ARCH_H

#include <linux/bug.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>

#ifdef CONFIG_KPROBES

/*
 * For functions on the hit path: they may be neither probed nor traced. Nor are they
 * instrumented, because the code that sanitizers call can be probed and traced.
 */
#define __kprobe_hit	__noinstr_section(".kprobes.text")

/* The outermost lock: kernel/kprobes/internal.h has the order. */
extern struct mutex kprobe_mutex;

/**
 * kprobe_assert_held - warn if a mutex is not held
 * @mutex: the mutex
 *
 * Lockdep knows which task holds it. Without lockdep, a kernel with KUnit still notices
 * that no task does.
 *
 * Context: any but the hit path.
 */
static inline void kprobe_assert_held(struct mutex *mutex)
{
	lockdep_assert_held(mutex);
	WARN_ON_ONCE(IS_ENABLED(CONFIG_KUNIT) && !mutex_is_locked(mutex));
}

/*
 * Values of kprobe_ctlblk::kprobe_status, for architectures that single-step: a handler is
 * running; a step is in progress; another hit has occurred meanwhile; the step is done.
 */
#define KPROBE_HIT_ACTIVE	1
#define KPROBE_HIT_SS		2
#define KPROBE_REENTER		4
#define KPROBE_HIT_SSDONE	8

/* Looks up a point by address. It stays while preemption or interrupts are off. */
struct kprobe *get_kprobe(void *addr);
void kprobes_inc_nmissed_count(struct kprobe *p);
void kprobe_miss_post(struct kprobe *p);
bool kprobe_forgot_ip(const void *addr, struct pt_regs *regs, unsigned int len);
void dump_kprobe(struct kprobe *p);

/*
 * Run the handlers of all probes of a point. They are the point's pre_handler and,
 * if a probe has a post-handler, its post_handler.
 */
int kprobe_run_pre(struct kprobe *p, struct pt_regs *regs);
void kprobe_run_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags);

/*
 * Run the fault handlers of all probes of a point, on architectures that notice
 * faults of handlers and of displaced instructions.
 */
bool kprobe_has_fault(struct kprobe *p);
int kprobe_run_fault(struct kprobe *p, struct pt_regs *regs, int trapnr);

/* Ordered as interrupt_context_level() counts. */
enum kprobe_context {
	KPROBE_CTX_TASK,
	KPROBE_CTX_SOFTIRQ,
	KPROBE_CTX_HARDIRQ,
	KPROBE_CTX_NMI,
	KPROBE_NR_CTX,
};

#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
/*
 * The architecture tells contexts apart: if an interrupt hits a probe while a
 * handler runs, that is not recursion, and its handlers run as well. Only a hit
 * from the same context is missed.
 */

/**
 * struct kprobe_cpu - what runs on this CPU, per context
 * @running: the point whose handlers run, by context of the probed code, see
 *	     kprobe_running_point(). Other CPUs read it, too, while they wait for
 *	     handlers.
 * @traps:   what kprobes' own exceptions, which count as NMIs but are not, have
 *	     added to preempt_count()
 * @covered: lower half: the number of points that another point covers in
 *	     @running; upper half: how often that number has changed. Other CPUs
 *	     read it, too.
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

/* What such an exception adds to preempt_count(). */
#define KPROBE_TRAP	(NMI_OFFSET + HARDIRQ_OFFSET)

/**
 * kprobe_in_task - does the probed code run in the context of a task?
 * @traps: what kprobes' own exceptions have added to preempt_count() since that code
 *
 * Most hits occur in tasks, and this test is cheaper than kprobe_context().
 *
 * Context: any.
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
 * Context: any.
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
 * kprobe_running_point - decode a value of kprobe_cpu::running
 * @running: the value
 *
 * Generated code cannot store a 64-bit immediate. It stores an odd value instead: one more
 * than the address of a word, which holds the address of the point.
 *
 * Context: preemption off, which keeps that word readable.
 * Return: the point, or NULL if the value is NULL.
 */
static __always_inline struct kprobe *kprobe_running_point(struct kprobe *running)
{
	if (unlikely((unsigned long)running & 1))
		return *(struct kprobe **)((unsigned long)running - 1);
	return running;
}

/**
 * kprobe_this_context - the context of the caller
 *
 * In an exception of kprobes' own, it is that of the probed code.
 *
 * Context: preemption off.
 * Return: a value of enum kprobe_context.
 */
static __always_inline unsigned int kprobe_this_context(void)
{
	return kprobe_context(raw_cpu_read(kprobe_cpu.traps));
}

/**
 * kprobe_show - show other CPUs the point whose handlers run
 * @ctx: the context of the probed code
 * @p:	 the point
 *
 * The point is shown first and read afterwards. So the caller either reads the point
 * and its users as they were before a change, and then kprobe_quiesce() waits for
 * this CPU; or it reads them as they are after the change.
 *
 * Context: preemption off. No handler is running in @ctx, see kprobe_shown(), unless the
 * caller is kprobe_enter() or kprobe_leave(), which handle that case.
 */
static __always_inline void kprobe_show(unsigned int ctx, struct kprobe *p)
{
	raw_cpu_write(kprobe_cpu.running[ctx], p);
	barrier();
}

/**
 * kprobe_unshow - show that no handlers run in a context any more
 * @ctx: as for kprobe_show()
 *
 * Context: preemption off.
 */
static __always_inline void kprobe_unshow(unsigned int ctx)
{
	barrier();
	raw_cpu_write(kprobe_cpu.running[ctx], NULL);
}

/**
 * kprobe_shown - test if handlers run in a context of this CPU
 * @ctx: a value of enum kprobe_context
 *
 * Context: preemption off.
 * Return: true if so: a hit there is missed.
 */
static __always_inline bool kprobe_shown(unsigned int ctx)
{
	return raw_cpu_read(kprobe_cpu.running[ctx]);
}

/**
 * kprobe_running - get the point whose handler calls this
 *
 * Context: preemption off.
 * Return: the point, or NULL outside of handlers; also NULL in an interrupt that
 * arrived while a handler ran.
 */
static __always_inline struct kprobe *kprobe_running(void)
{
	struct kprobe_cpu *kc = raw_cpu_ptr(&kprobe_cpu);

	return kprobe_running_point(kc->running[kprobe_context(kc->traps)]);
}

/**
 * kprobe_enter - show a point whose handlers are about to run here
 * @p: the point
 *
 * A handler may already be running in this context. A function may return in a different
 * context from the one it was called in. Its return handler then covers the handler that
 * runs there. The covered handler continues afterwards, so other CPUs have to know about it.
 *
 * Context: any. Preemption is off until kprobe_leave().
 * Return: what was shown, for kprobe_leave().
 */
static __always_inline struct kprobe *kprobe_enter(struct kprobe *p)
{
	struct kprobe *prev;
	unsigned int ctx;

	preempt_disable_notrace();
	ctx = kprobe_this_context();
	prev = raw_cpu_read(kprobe_cpu.running[ctx]);
	if (unlikely(prev)) {
		raw_cpu_add(kprobe_cpu.covered, KPROBE_COVER);
		smp_wmb();	/* pairs with that of running_any() */
	}
	kprobe_show(ctx, p);
	return prev;
}

/**
 * kprobe_leave - undo kprobe_enter()
 * @prev: what that returned
 *
 * Context: that of kprobe_enter().
 */
static __always_inline void kprobe_leave(struct kprobe *prev)
{
	barrier();
	kprobe_show(kprobe_this_context(), prev);
	if (unlikely(prev)) {
		smp_wmb();	/* likewise */
		raw_cpu_add(kprobe_cpu.covered, KPROBE_UNCOVER);
	}
	preempt_enable_notrace();
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

static __always_inline unsigned int kprobe_this_context(void)
{
	return interrupt_context_level();
}

static __always_inline struct kprobe *kprobe_enter(struct kprobe *p)
{
	struct kprobe *prev;
	unsigned long flags;

	preempt_disable_notrace();
	/*
	 * The architecture's fault code reads the status. So does a hit in an interrupt
	 * that finds a handler running: on some architectures, a stale status is fatal.
	 */
	raw_local_irq_save(flags);
	prev = raw_cpu_read(current_kprobe);
	raw_cpu_write(current_kprobe, p);
	raw_cpu_ptr(&kprobe_ctlblk)->kprobe_status = KPROBE_HIT_ACTIVE;
	raw_local_irq_restore(flags);
	return prev;
}

static __always_inline void kprobe_leave(struct kprobe *prev)
{
	barrier();
	raw_cpu_write(current_kprobe, prev);
	preempt_enable_notrace();
}

#endif /* CONFIG_ARCH_HAS_KPROBE_CONTEXTS */

/*
 * Code between these two calls is treated as a handler: hits in it count as missed. The
 * calls do not nest.
 */
void kprobe_busy_begin(void);
void kprobe_busy_end(void);

/*
 * asm/kprobes.h defines:
 *
 *	kprobe_opcode_t			a unit of text; a breakpoint replaces the first one
 *	struct arch_specific_insn	what the architecture keeps with a point
 *	MAX_INSN_SIZE			units of a copy, unless it defines __ARCH_KPROBE_SLOT_SIZE
 *
 * without ARCH_HAS_KPROBE_CONTEXTS:
 *
 *	struct kprobe_ctlblk		with a member kprobe_status
 *
 * with KRETPROBES:
 *
 *	kretprobe_blacklist_size	0 if there is no kretprobe_blacklist[]
 *
 * with ARCH_HAS_KPROBE_CONTEXTS and KPROBES_ON_FTRACE:
 *
 *	__ARCH_KPROBE_IP_AFTER		how far the instruction pointer is past the point when
 *					pre-handlers begin
 *	__ARCH_KPROBE_FTRACE_SP()	see kprobe_ftrace_call_hit()
 *
 * with ARCH_HAS_KPROBE_DETOURS:
 *
 *	__ARCH_KPROBE_JUMP_SIZE		bytes that a jump replaces
 *	__ARCH_KPROBE_DETOUR_SIZE	bytes of a slot for a detour
 *
 * with struct optimized_kprobe:
 *
 *	struct arch_optimized_insn	what the architecture keeps with a detour
 *	MAX_OPTIMIZED_LENGTH		bytes that a jump replaces
 *	MAX_OPTINSN_SIZE		units of a slot for a detour
 *	optprobe_template_entry, _end	the text that detours are copied from
 */

/*
 * The architecture provides these functions. Unless it selects ARCH_HAS_KPROBE_CONTEXTS, it
 * also defines two variables with DEFINE_PER_CPU(): current_kprobe, the point whose handlers
 * run on this CPU, and kprobe_ctlblk, the architecture's own state of that hit.
 *
 * Its exception handlers find a point by get_kprobe(), with preemption off, and call
 * p->pre_handler. If that returns 0, they call p->post_handler after the instruction,
 * unless that is NULL. p->post_handler may be set at any time, and then stays set for the
 * life of the point. With ARCH_HAS_KPROBE_CONTEXTS it may also be cleared, so there the
 * architecture only tests it, and calls kprobe_run_post().
 *
 * arch_prepare_kprobe() checks the instruction and copies it; arch_remove_kprobe()
 * undoes that. Once a point is armed, it is hit; once it is disarmed, no new
 * hits occur, except on arc and sh, where the end of a step may write the breakpoint
 * back. These functions may sleep. They run under these locks, taken in
 * this order:
 *
 *	kprobe_mutex		all but arch_init_kprobes(), which runs at boot without locks
 *	cpus_read_lock()	arch_prepare_kprobe(), arch_arm_kprobe(),
 *	text_mutex		arch_disarm_kprobe()
 *
 * So they may use stop_machine_cpuslocked(), and no other code patches text meanwhile.
 *
 * An architecture with ARCH_HAS_KPROBE_BATCHES implements arch_arm_kprobes() and
 * arch_disarm_kprobes() in place of the functions for one point. Their lists link
 * kprobe::list. All functions of such an architecture, including arch_prepare_kprobe(), run
 * under kprobe_mutex only. They take the other locks themselves, in that order, where they
 * need them. The functions for ftrace sites run under kprobe_mutex only: ftrace takes its
 * own locks.
 *
 * arch_init_kprobes() may register a probe on the trampoline of return probes.
 * arch_trampoline_kprobe() recognises its point. That point stays armed while all
 * others are switched off, because calls in flight will return to it.
 *
 * arch_remove_kprobe() is called for a point that was never armed, or for a disarmed point
 * after synchronize_rcu() or, with ARCH_HAS_KPROBE_CONTEXTS, once no CPU shows it as
 * running. The point itself is freed an RCU grace period later. So preemption has to stay
 * off from the exception to the last use of the point, single-stepping included.
 */
int arch_prepare_kprobe(struct kprobe *p);
void arch_arm_kprobe(struct kprobe *p);
void arch_disarm_kprobe(struct kprobe *p);
void arch_arm_kprobes(struct list_head *points);
void arch_disarm_kprobes(struct list_head *points);
int arch_init_kprobes(void);
int arch_trampoline_kprobe(struct kprobe *p);

/*
 * The architecture may provide these; there are defaults.
 *
 * arch_adjust_kprobe_addr() gets the address of a function, as kallsyms has it, and an
 * offset, and returns where the probe goes: by default, their sum. If it returns NULL,
 * the probe is refused with -EINVAL. An architecture may have its own
 * kprobe_lookup_name(), too: the offset is added to what that returns, and the sum is
 * treated like any address.
 *
 * arch_kprobes_sync() returns when all breakpoints that were being handled at the time of
 * the call are done. An architecture with ARCH_HAS_KPROBE_CONTEXTS has to implement it,
 * by interrupting every CPU; with KPROBE_OPTINSN, optprobe.c does. Others do not need it.
 *
 * arch_prepare_post() is called each time before a probe with a post-handler is added to
 * a point that is not on an ftrace site, even if the point has a post-handler already.
 *
 * arch_kprobes_batch() is called before and after the points of a batch, or their
 * detours, are prepared in order of address, and after the debugfs files "list" and
 * "points" have been read.
 *
 * arch_populate_kprobe_blacklist() is called once, at boot. kprobe_exceptions_notify() is
 * called for each die notification, and returns what a notifier does.
 *
 * They are called under these locks, and may sleep unless the context forbids it:
 *
 *	kprobe_mutex		arch_prepare_post(), arch_kprobes_batch(),
 *				arch_populate_kprobe_blacklist()
 *	kprobe_mutex or none	arch_kprobes_sync(), also with cpus_read_lock() held; it
 *				takes neither
 *	kprobe_mutex or none	kprobe_lookup_name(), arch_adjust_kprobe_addr(), which do
 *				not take it
 *	any or none, in any	arch_within_kprobe_blacklist(), kprobe_exceptions_notify()
 *	context
 *
 * ftrace knows a site by its first MCOUNT_INSN_SIZE bytes. An architecture on which it
 * patches more than these defines __ARCH_KPROBE_FTRACE_SIZE in asm/kprobes.h.
 */
bool arch_within_kprobe_blacklist(unsigned long addr);
int arch_populate_kprobe_blacklist(void);
kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long addr, unsigned long offset,
					 bool *on_func_entry);
int arch_prepare_post(struct kprobe *p);
void arch_kprobes_sync(void);
int kprobe_exceptions_notify(struct notifier_block *self, unsigned long val,
			     void *data);
void arch_kprobes_batch(void);

/**
 * enum kprobe_why - why a point cannot become a jump
 * @KPROBE_WHY_UNKNOWN:	  its function, or an instruction, cannot be decoded
 * @KPROBE_WHY_INSN:	  a displaced instruction cannot run elsewhere
 * @KPROBE_WHY_END:	  the function ends before the jump would
 * @KPROBE_WHY_TARGET:	  a branch leads into the replaced bytes
 * @KPROBE_WHY_FAULT:	  an exception table entry names one of the replaced bytes
 * @KPROBE_WHY_CALL:	  a displaced call would return there
 * @KPROBE_WHY_PATCHED:	  other code patches them
 * @KPROBE_WHY_NEIGHBOUR: another point is there
 * @KPROBE_WHY_INDIRECT:  an indirect jump might lead there
 * @KPROBE_WHY_SHARED:	  code of another function might lead there
 * @KPROBE_WHY_FAR:	  the detour is too far away, or too long
 * @KPROBE_WHY_POST:	  a post-handler may run, or an error be injected, which the
 *			  detours of struct optimized_kprobe do not support
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

/*
 * With ARCH_HAS_KPROBE_DETOURS: jump hits. All of these run under kprobe_mutex only, and
 * may sleep. kernel/kprobes/optimizer.c has the states that a point goes through.
 *
 * arch_detour_prepare() makes the detour of a breakpoint, and sends its hits there. It
 * returns 0; or a value of enum kprobe_why; or, to be called again later, -ENOMEM or
 * -EBUSY. arch_detour_arm() writes the jumps, once no task can be about to enter the
 * bytes that they replace. arch_detour_disarm() stops sending hits to detours. If @jumps is
 * set, the points are jumps, and it removes these: breakpoints are left if @breakpoint is
 * set, the original instructions if not. arch_detour_free() frees the detour after the
 * next arch_kprobes_sync() or kprobe_quiesce(). It does nothing for a point without one.
 * arch_detour_branch() finds the branch for KPROBE_WHY_TARGET.
 */
int arch_detour_prepare(struct kprobe *p);
void arch_detour_arm(struct list_head *points);
void arch_detour_disarm(struct list_head *points, bool jumps, bool breakpoint);
void arch_detour_free(struct kprobe *p);
unsigned long arch_detour_branch(struct kprobe *p);

void *get_detour_slot(void);
void free_detour_slot(void *slot, bool used);
struct kprobe *kprobe_only(struct kprobe *p, kprobe_pre_handler_t *pre,
			   kprobe_post_handler_t *post);
bool kprobe_wants_post(struct kprobe *p);

#ifdef CONFIG_KPROBE_OPTINSN
/* A jump replaces one instruction, which is entered at its first byte only. */
#define __ARCH_KPROBE_JUMP_SIZE	MAX_OPTIMIZED_LENGTH

/**
 * struct optimized_kprobe - a point with room for a detour
 * @kp:	     the point
 * @list:    links points for the architecture
 * @optinsn: the architecture's description of the detour
 * @live:    hits may be sent to the detour
 * @used:    hits may have been sent to a detour of this point at some time
 */
struct optimized_kprobe {
	struct kprobe kp;
	struct list_head list;
	struct arch_optimized_insn optinsn;
	bool live;
	bool used;
};

/*
 * Without ARCH_HAS_KPROBE_DETOURS: jump hits. arch_prepare_optimized_kprobe() makes the
 * detour, and arch_check_optimized_kprobe() tests if another point is in the way of the
 * jump; both return 0 or an error. arch_prepared_optinsn() is non-zero if there is a
 * detour, and arch_remove_optimized_kprobe() frees it. The detour calls opt_pre_handler()
 * and continues after the point: it ignores a changed instruction pointer, and runs no
 * post-handlers. The lists link optimized_kprobe::list. arch_optimize_kprobes() empties
 * its list; arch_unoptimize_kprobes() restores breakpoints, and moves the points to the
 * other list.
 *
 * The functions that prepare and patch are called with kprobe_mutex,
 * cpus_read_lock() and text_mutex held, the others with kprobe_mutex alone.
 *
 * A task may be preempted in a detour, and continue after the point was removed. The
 * point and the detour stay until it has left. If the detour also uses the out-of-line
 * copy, arch_remove_kprobe() has to free that copy as one that a task may be in.
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

/* Architectures call these. */
int kprobe_refuse(unsigned long addr, int err, const char *why);
int kprobe_each_symbol(const char *module, int (*fn)(void *, const char *, unsigned long),
		       void *data);
size_t kprobe_cold_base(const char *symbol);
void *kprobe_array_more(void *array, unsigned int nr, unsigned int *room, size_t size);
bool kprobe_text_reserved(unsigned long start, unsigned long end);
void kprobe_label_targets(unsigned long start, unsigned long end,
			  unsigned long *map);
#ifdef CONFIG_MODULES
void kprobe_lock_modules(void);
void kprobe_unlock_modules(void);
#endif
int kprobe_add_ksym_blacklist(unsigned long entry);
int kprobe_add_area_blacklist(unsigned long start, unsigned long end);
int kprobe_add_name_blacklist(const char *name);

/*
 * Executable memory for one out-of-line copy, of this size in bytes. alloc_insn_page() and
 * alloc_insn_pages() are called under slot_mutex, a leaf, and may sleep. arch_erase_slots()
 * is called without a lock, and may sleep; no CPU is in the slots, nor will be until it
 * returns. With KPROBE_OPTINSN, alloc_optinsn_page() is called like alloc_insn_page().
 */
#ifndef __ARCH_KPROBE_SLOT_SIZE
#define __ARCH_KPROBE_SLOT_SIZE	(MAX_INSN_SIZE * sizeof(kprobe_opcode_t))
#endif
kprobe_opcode_t *get_insn_slot(void);
void free_insn_slot(kprobe_opcode_t *slot, int dirty);
void *alloc_insn_page(void);
void *alloc_insn_pages(unsigned int nr);
void arch_erase_slots(void *text, size_t len);

/*
 * With KPROBES_ON_FTRACE. Once kprobe_ftrace_disabled is set, handlers must not run: ftrace
 * has been killed.
 *
 * An architecture with ARCH_HAS_KPROBE_CONTEXTS calls kprobe_ftrace_hit() from its handler.
 * It may have its own trampoline for functions without another ftrace user, which calls
 * kprobe_ftrace_call_hit(); __ARCH_KPROBE_FTRACE_SP() of the registers there is the stack
 * pointer at the site. arch_kprobe_ftrace_leave() is called if a handler has changed the
 * instruction pointer. It also gets the stack pointer at the site. It applies the handler's
 * stack pointer if the return to the site would ignore that.
 */
extern bool kprobe_ftrace_disabled;

void kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
			   struct ftrace_ops *ops, struct ftrace_regs *fregs);
int arch_prepare_kprobe_ftrace(struct kprobe *p);
void kprobe_ftrace_hit(struct pt_regs *regs, unsigned long ip, struct ftrace_ops *ops);
void kprobe_ftrace_call_hit(struct pt_regs *regs);
void arch_kprobe_ftrace_ops(struct ftrace_ops *ops);
void arch_kprobe_ftrace_leave(struct pt_regs *regs, unsigned long sp);

/* With JPROBES. */
void arch_jprobe_call(void *handler, struct pt_regs *regs, void **frame);
void arch_jprobe_leave(void *frame);

/* With KRETPROBES. */
extern struct kretprobe_blackpoint kretprobe_blacklist[];

/**
 * kprobe_page_fault - offer a page fault to kprobes
 * @regs: registers of the faulting context
 * @trap: the architecture's number of the fault
 *
 * Architectures call this early in a page fault, before they resolve it in any
 * other way.
 *
 * Context: in the exception.
 * Return: true if kprobes have handled the fault.
 */
static nokprobe_inline bool kprobe_page_fault(struct pt_regs *regs, unsigned int trap)
{
	if (user_mode(regs))
		return false;
	/*
	 * With contexts, copies run with preemption on, long after their handlers
	 * are done. Without, handlers and single-stepping keep it off.
	 */
	if (!IS_ENABLED(CONFIG_ARCH_HAS_KPROBE_CONTEXTS) &&
	    (preemptible() || !kprobe_running()))
		return false;
	return kprobe_fault_handler(regs, trap);
}

/*
 * With KRETPROBES and without rethook: probed functions return to the architecture's
 * __kretprobe_trampoline(). A return address in its first __ARCH_KRETPROBE_CALL bytes
 * counts as the trampoline.
 *
 * arch_prepare_kretprobe() replaces the return address with that of the trampoline. It
 * stores the true one in the instance, with the frame pointer for unwinders, or NULL. It
 * neither reads nor writes any other member of the instance, which may be a copy. The
 * trampoline calls kretprobe_trampoline_handler() and goes on at the address that this returns.
 * arch_kretprobe_fixup_return() may also store the true return address in another place
 * where the architecture keeps it, for instance a register. By default it does nothing.
 * The hit at the entry calls arch_prepare_kretprobe(). The return calls
 * arch_kretprobe_fixup_return(), before the handlers. Both run with preemption off, in any
 * context, without a lock, and must not be probed.
 *
 * With ARCH_HAS_KRETPROBE_ON_STACK, the return address is on top of the stack at a
 * function's entry, and right below the stack pointer after its return, so there is
 * no arch_prepare_kretprobe(). The trampoline calls kretprobe_return() with pt_regs
 * right below that slot, which holds the true return address from then on.
 */
asmlinkage void kretprobe_return(struct pt_regs *regs);
void arch_prepare_kretprobe(struct kretprobe_instance *ri, struct pt_regs *regs);
void arch_kretprobe_fixup_return(struct pt_regs *regs,
				 kprobe_opcode_t *correct_ret_addr);
unsigned long __kretprobe_trampoline_handler(struct pt_regs *regs,
					     void *frame_pointer);

static nokprobe_inline unsigned long
kretprobe_trampoline_handler(struct pt_regs *regs, void *frame_pointer)
{
	unsigned long ret;

	/* A hit in code that the handlers call is missed, as in any handler. */
	kprobe_busy_begin();
	ret = __kretprobe_trampoline_handler(regs, frame_pointer);
	kprobe_busy_end();
	return ret;
}

/*
 * An exception may make a conditional store fail. If arch_prepare_kprobe() does not refuse
 * such places itself, asm/kprobes.h defines __ARCH_KPROBE_LINK_STEP, the smallest distance
 * between instructions in bytes, and two tests of a u32 of text: arch_kprobe_insn_links()
 * for the load before the store, arch_kprobe_insn_needs_link() for the store.
 */

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
