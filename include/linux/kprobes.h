/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes: handlers on almost any instruction of kernel text, and on the
 * return of almost any function.
 *
 * The header has two parts:
 *
 *  1. the API for code that sets probes: struct kprobe, struct kretprobe and
 *     the register_*() family;
 *  2. functions that the rest of the kernel calls (is this address a copy
 *     of an instruction? is a handler running here?).
 *
 * linux/kprobes_arch.h is the contract with the architectures. It is included
 * at the end, because architectures include this header only.
 *
 * The API has stubs for CONFIG_KPROBES=n, and so do the functions whose callers do not
 * depend on KPROBES: these callers need no #ifdef.
 * The manual is Documentation/trace/kprobes.rst.
 */
#ifndef _LINUX_KPROBES_H
#define _LINUX_KPROBES_H

#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/ftrace.h>
#include <linux/linkage.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/rethook.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <asm/kprobes.h>

struct kprobe;
struct kretprobe;
struct kretprobe_instance;
struct pt_regs;
struct task_struct;

#ifndef CONFIG_KPROBES
/* Lets structures that embed a probe compile. */
typedef u8 kprobe_opcode_t;
struct arch_specific_insn {
	int dummy;
};
#endif

/* --------------------------- 1. The API for users ------------------------ */

/**
 * typedef kprobe_pre_handler_t - runs before the probed instruction
 * @p:	  the probe
 * @regs: registers of the probed code
 *
 * The handler may change the registers, which are live. On x86 the instruction
 * pointer is one byte past the probe point, as a breakpoint leaves it, however
 * the probe was hit.
 *
 * Context: preemption off; hard interrupts also off if the probe was hit through a
 * breakpoint, except on arc and parisc. Must not sleep. Functions that register,
 * enable or disable probes fail here with -EDEADLK; those that unregister do nothing.
 * Return: 0 to continue with the probed instruction; non-zero if the handler has
 * set the instruction pointer to where execution resumes. Neither the instruction
 * nor any further handler of this point runs then.
 */
typedef int (*kprobe_pre_handler_t)(struct kprobe *p, struct pt_regs *regs);

/**
 * typedef kprobe_post_handler_t - runs after the probed instruction
 * @p:	   the probe
 * @regs:  registers of the probed code
 * @flags: 0, kept for source compatibility
 *
 * The registers are as the instruction left them. On x86 the instruction pointer is
 * where execution resumes.
 *
 * Context: as the pre-handler.
 */
typedef void (*kprobe_post_handler_t)(struct kprobe *p, struct pt_regs *regs,
				      unsigned long flags);

/**
 * typedef kprobe_fault_handler_t - runs when a handler or the instruction faults
 * @p:	    the probe
 * @regs:   registers of the fault, which the handler may change. If the probed
 *	    instruction has faulted, the instruction pointer is the address of
 *	    the probe point, wherever the instruction was executed.
 * @trapnr: number of the exception; an X86_TRAP_* on x86
 *
 * Handles faults of the probe's other handlers and of functions that they call,
 * and faults of the instruction while this probe is enabled. It runs before the
 * fault is resolved in any other way, for instance by the exception tables. If
 * several probes of a point have fault handlers, these run in turn, whichever
 * handler has faulted. Only x86 calls fault handlers.
 *
 * Context: in the exception, preemption off. Must not sleep.
 * Return: non-zero if the fault has been handled and execution resumes with
 * @regs; 0 to have the fault resolved as if there were no fault handler.
 */
typedef int (*kprobe_fault_handler_t)(struct kprobe *p, struct pt_regs *regs,
				      int trapnr);

/**
 * struct kprobe - a set of handlers on one instruction
 * @symbol_name:  where to probe, by name: "symbol" or "module:symbol"
 * @addr:	  where to probe, by address; give this or @symbol_name. After
 *		  registration it is the address that carries the probe.
 * @offset:	  in bytes, added to @symbol_name or @addr
 * @pre_handler:  runs before the instruction; may be NULL
 * @post_handler: runs after it; may be NULL
 * @fault_handler: runs when one of these, or the instruction, faults; may be
 *		  NULL
 * @flags:	  the caller sets KPROBE_FLAG_DISABLED to register the probe
 *		  disabled; the subsystem sets the other flags
 * @nmissed:	  hits that ran no handler, or no post-handler, because a handler was
 *		  running
 * @opcode:	  filled in: first unit of the original instruction
 * @ainsn:	  belongs to the architecture
 * @list:	  used by the subsystem, for its own points only
 * @hlist:	  hashed while the probe is registered; not for traversal
 *
 * A probe belongs to the code that registers it, and must stay in memory, and writable,
 * from the call that registers it until the one that unregisters it has returned. The
 * handlers are read at registration: changing the fields later has no effect.
 */
struct kprobe {
	const char *symbol_name;
	kprobe_opcode_t *addr;
	unsigned int offset;
	u32 flags;
	kprobe_pre_handler_t pre_handler;
	kprobe_post_handler_t post_handler;
	kprobe_fault_handler_t fault_handler;
	unsigned long nmissed;
	kprobe_opcode_t opcode;
	struct arch_specific_insn ainsn;
	struct list_head list;
	struct hlist_node hlist;
};

/* Values of kprobe::flags */
#define KPROBE_FLAG_GONE		BIT(0)	/* its text was freed */
#define KPROBE_FLAG_DISABLED		BIT(1)	/* disabled by the caller */
#define KPROBE_FLAG_OPTIMIZED		BIT(2)	/* hit through a jump */
#define KPROBE_FLAG_FTRACE		BIT(3)	/* hit through ftrace */
#define KPROBE_FLAG_ON_FUNC_ENTRY	BIT(4)	/* at the entry of a function */

/**
 * typedef kretprobe_handler_t - runs on entry to, or return from, a function
 * @ri:	  the instance that represents the call
 * @regs: registers at the entry, or at the return
 *
 * Context: of an entry handler, as kprobe_pre_handler_t. A return handler runs with
 * preemption off; on x86, hard interrupts are as the function left them. Must not sleep.
 * Return: from an entry handler, non-zero to leave this call unprobed; ignored from a
 * return handler.
 */
typedef int (*kretprobe_handler_t)(struct kretprobe_instance *ri,
				   struct pt_regs *regs);

/**
 * struct kretprobe - handlers on the return of a function
 * @kp:		   names the function; of its handlers only the fault handler is
 *		   used
 * @handler:	   runs when the function returns, with the registers as the
 *		   function left them, see regs_return_value(); may be NULL
 * @entry_handler: runs when the function is called; non-zero skips this call;
 *		   may be NULL
 * @maxactive:	   how many calls may be in flight at once; if <= 0 the
 *		   subsystem chooses; never written to
 * @nmissed:	   calls that went unprobed because no instance was free
 * @data_size:	   bytes of kretprobe_instance::data that the handlers share,
 *		   at most KRETPROBE_MAX_DATA_SIZE
 */
struct kretprobe {
	struct kprobe kp;
	kretprobe_handler_t handler;
	kretprobe_handler_t entry_handler;
	int maxactive;
	int nmissed;
	size_t data_size;
};

#define KRETPROBE_MAX_DATA_SIZE	4096

/**
 * struct kretprobe_instance - a probed call in flight
 * @data: data_size bytes for the handlers; not cleared between calls
 *
 * The other members are the subsystem's and the architecture's.
 */
struct kretprobe_instance {
	/* private: */
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	struct rethook_node node;
#else
	struct llist_node llist;
	struct kretprobe_pool *pool;
	struct kretprobe_chunk *home;
	unsigned long bit;
	kprobe_opcode_t *ret_addr;
	void *fp;
#endif
	/* public: */
	char data[] __aligned(sizeof(long long));
};

/**
 * struct jprobe - a handler on a function's entry, with its prototype; legacy
 * @kp:	   names the function; of its handlers only the fault handler is used
 * @entry: the handler; ends with jprobe_return()
 *
 * The handler gets copies of the arguments, which it may overwrite. The
 * architecture limits how much of the stack is copied, see the manual.
 *
 * Context: of the handler: as kprobe_pre_handler_t.
 */
struct jprobe {
	struct kprobe kp;
	void *entry;
};

/* The value of jprobe::entry for a handler of any prototype. */
#define JPROBE_ENTRY(handler)	((void *)(handler))

/*
 * A function that can carry a kprobe but not a kretprobe. Architectures end
 * their kretprobe_blacklist[] with a NULL name; addr is filled in at boot.
 */
struct kretprobe_blackpoint {
	const char *name;
	void *addr;
};

#ifdef CONFIG_KPROBES

int register_kprobe(struct kprobe *p);
void unregister_kprobe(struct kprobe *p);
int register_kprobes(struct kprobe **kps, int num);
void unregister_kprobes(struct kprobe **kps, int num);
int enable_kprobe(struct kprobe *p);
int disable_kprobe(struct kprobe *p);
int enable_kprobes(struct kprobe **kps, int num);
int disable_kprobes(struct kprobe **kps, int num);

#else /* !CONFIG_KPROBES */

static inline int register_kprobe(struct kprobe *kp)
{
	return -EOPNOTSUPP;
}

static inline int register_kprobes(struct kprobe **kps, int nr)
{
	return -EOPNOTSUPP;
}

static inline void unregister_kprobe(struct kprobe *kp) { }

static inline void unregister_kprobes(struct kprobe **kps, int nr) { }

static inline int enable_kprobe(struct kprobe *kp)
{
	return -EOPNOTSUPP;
}

static inline int disable_kprobe(struct kprobe *kp)
{
	return -EOPNOTSUPP;
}

static inline int enable_kprobes(struct kprobe **kps, int nr)
{
	return -EOPNOTSUPP;
}

static inline int disable_kprobes(struct kprobe **kps, int nr)
{
	return -EOPNOTSUPP;
}

#endif /* CONFIG_KPROBES */

#ifdef CONFIG_KRETPROBES

int register_kretprobe(struct kretprobe *rp);
void unregister_kretprobe(struct kretprobe *rp);
int register_kretprobes(struct kretprobe **rps, int num);
void unregister_kretprobes(struct kretprobe **rps, int num);
struct kretprobe *get_kretprobe(struct kretprobe_instance *ri);
unsigned long get_kretprobe_retaddr(struct kretprobe_instance *ri);

#else /* !CONFIG_KRETPROBES */

static inline int register_kretprobe(struct kretprobe *rp)
{
	return -EOPNOTSUPP;
}

static inline int register_kretprobes(struct kretprobe **rps, int nr)
{
	return -EOPNOTSUPP;
}

static inline void unregister_kretprobe(struct kretprobe *rp) { }

static inline void unregister_kretprobes(struct kretprobe **rps, int nr) { }

static inline struct kretprobe *get_kretprobe(struct kretprobe_instance *ri)
{
	return NULL;
}

static inline unsigned long get_kretprobe_retaddr(struct kretprobe_instance *ri)
{
	return 0;
}

#endif /* CONFIG_KRETPROBES */

/**
 * enable_kretprobe - enable a return probe
 * @rp: a registered return probe
 *
 * Context: as enable_kprobe().
 * Return: as enable_kprobe().
 */
static inline int enable_kretprobe(struct kretprobe *rp)
{
	return enable_kprobe(&rp->kp);
}

/**
 * disable_kretprobe - disable a return probe
 * @rp: a registered return probe
 *
 * Calls in flight still run the return handler when they end.
 *
 * Context: as disable_kprobe().
 * Return: as disable_kprobe().
 */
static inline int disable_kretprobe(struct kretprobe *rp)
{
	return disable_kprobe(&rp->kp);
}

/**
 * enable_kretprobes - enable many return probes at once
 * @rps: registered return probes
 * @num: how many
 *
 * Context: as enable_kprobes().
 * Return: as enable_kprobes().
 */
static inline int enable_kretprobes(struct kretprobe **rps, int num)
{
	return enable_kprobes((struct kprobe **)rps, num);
}

/**
 * disable_kretprobes - disable many return probes at once
 * @rps: registered return probes
 * @num: how many
 *
 * Context: as disable_kprobes().
 * Return: as disable_kprobes().
 */
static inline int disable_kretprobes(struct kretprobe **rps, int num)
{
	return disable_kprobes((struct kprobe **)rps, num);
}

#ifdef CONFIG_JPROBES

int register_jprobe(struct jprobe *jp);
void unregister_jprobe(struct jprobe *jp);
int register_jprobes(struct jprobe **jps, int num);
void unregister_jprobes(struct jprobe **jps, int num);
void jprobe_return(void);

#else /* !CONFIG_JPROBES */

static inline int register_jprobe(struct jprobe *jp)
{
	return -EOPNOTSUPP;
}

static inline int register_jprobes(struct jprobe **jps, int num)
{
	return -EOPNOTSUPP;
}

static inline void unregister_jprobe(struct jprobe *jp) { }

static inline void unregister_jprobes(struct jprobe **jps, int num) { }

static inline void jprobe_return(void) { }

#endif /* CONFIG_JPROBES */

/**
 * enable_jprobe - enable a jprobe
 * @jp: a registered jprobe
 *
 * Context: as enable_kprobe().
 * Return: as enable_kprobe().
 */
static inline int enable_jprobe(struct jprobe *jp)
{
	return enable_kprobe(&jp->kp);
}

/**
 * disable_jprobe - disable a jprobe
 * @jp: a registered jprobe
 *
 * Context: as disable_kprobe().
 * Return: as disable_kprobe().
 */
static inline int disable_jprobe(struct jprobe *jp)
{
	return disable_kprobe(&jp->kp);
}

/**
 * kprobe_gone - test if the text of a probe was freed
 * @p: the probe
 *
 * Context: any.
 * Return: true if so: the probe can then only be unregistered.
 */
static inline bool kprobe_gone(const struct kprobe *p)
{
	return READ_ONCE(p->flags) & KPROBE_FLAG_GONE;
}

/**
 * kprobe_disabled - test if a probe is disabled, or its text was freed
 * @p: the probe
 *
 * The debugfs file "enabled", which disarms all probes, is not considered.
 *
 * Context: any.
 * Return: true if hits do not run the handlers.
 */
static inline bool kprobe_disabled(const struct kprobe *p)
{
	return READ_ONCE(p->flags) & (KPROBE_FLAG_DISABLED | KPROBE_FLAG_GONE);
}

/**
 * kprobe_optimized - test if a probe is hit through a jump
 * @p: the probe
 *
 * Context: any. The answer may be out of date at once: jumps are made and undone at any time.
 * Return: true if so.
 */
static inline bool kprobe_optimized(const struct kprobe *p)
{
	return READ_ONCE(p->flags) & KPROBE_FLAG_OPTIMIZED;
}

/**
 * kprobe_ftrace - test if a probe is hit through ftrace
 * @p: the probe
 *
 * Always inline: it runs before the hit is recorded.
 *
 * Context: any.
 * Return: true if so, from registration on.
 */
static __always_inline bool kprobe_ftrace(const struct kprobe *p)
{
	return READ_ONCE(p->flags) & KPROBE_FLAG_FTRACE;
}

/* ---------------- 2. Functions for the rest of the kernel ---------------- */

#include <linux/kprobes_unwind.h>

#ifdef CONFIG_KPROBES

bool within_kprobe_blacklist(unsigned long addr);
int kprobe_on_func_entry(kprobe_opcode_t *addr, const char *sym,
			 unsigned long offset);
kprobe_opcode_t *kprobe_lookup_name(const char *name, unsigned int offset);
bool is_kprobe_insn_slot(unsigned long addr);
int kprobe_get_kallsym(unsigned int symnum, unsigned long *value, char *type,
		       char *sym);
void kprobe_free_init_mem(void);

#else /* !CONFIG_KPROBES */

static inline bool within_kprobe_blacklist(unsigned long addr)
{
	return true;
}

static inline bool is_kprobe_insn_slot(unsigned long addr)
{
	return false;
}

static inline int kprobe_get_kallsym(unsigned int symnum,
				     unsigned long *value, char *type, char *sym)
{
	return -ERANGE;
}

static inline struct kprobe *kprobe_running(void)
{
	return NULL;
}

static inline struct kprobe *get_kprobe(void *addr)
{
	return NULL;
}

static inline void kprobe_busy_begin(void) { }

static inline void kprobe_busy_end(void) { }

static inline void kprobe_free_init_mem(void) { }

#endif /* CONFIG_KPROBES */

#ifdef CONFIG_KRETPROBE_POOL
void kprobe_flush_task(struct task_struct *tk);
#else
/* Instances are rethook nodes, and rethook_flush_task() recycles them. */
static inline void kprobe_flush_task(struct task_struct *task) { }
#endif

#ifdef CONFIG_KPROBES_ON_FTRACE
void kprobe_ftrace_kill(void);
#else
static inline void kprobe_ftrace_kill(void) { }
#endif

#ifdef CONFIG_OPTPROBES
bool is_kprobe_optinsn_slot(unsigned long addr);
void wait_for_kprobe_optimizer(void);
#else
/* There are no jumps. */
static inline bool is_kprobe_optinsn_slot(unsigned long addr)
{
	return false;
}

static inline void wait_for_kprobe_optimizer(void) { }
#endif

#include <linux/kprobes_arch.h>

#endif /* _LINUX_KPROBES_H */
