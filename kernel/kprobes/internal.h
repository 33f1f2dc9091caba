/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes: what kernel/kprobes.c and the files of kernel/kprobes/ share.
 *
 * The map, in the order to read it
 * --------------------------------
 *	internal.h	points, users, states and locks
 *	point.c		the model: makes, finds and links points and users, and
 *			chooses what a hit runs
 *	table.c		finds points and users by address, without a lock
 *	hit.c		what a hit runs; fault.c: what a fault in a handler runs
 *	arm.c		arms and disarms points in batches
 *	running.c	waits for handlers; current.c on architectures that have one
 *			current_kprobe for all contexts
 *	../kprobes.c	the manager: registers and unregisters, in batches
 *	switch.c	enables and disables; gone.c: text and probes that are freed
 *	count.c		counts hits, if that is switched on
 *	site.c		what may be probed; blacklist.c: what may not; reserved.c:
 *			text that other code patches
 *	slots.c		executable memory, and when it may be reused
 *	optimizer.c	turns breakpoints into jumps; optprobe.c adapts the jumps of
 *			arm and powerpc to it
 *	ftrace.c	points on ftrace sites
 *	kretprobe.c	return probes; kretprobe_calls.c: their calls in flight; pool.c:
 *			the instances of these calls; kretprobe_rethook.c: both, on
 *			architectures that use rethook
 *	jprobe.c	jprobes
 *	control.c	files in debugfs; testing.c: what the KUnit suites need
 *
 * The manager calls into the other files. They use the manager only through the
 * API in linux/kprobes.h, but gone.c also removes users.
 *
 * Points and users
 * ----------------
 * A *point* (struct kprobe_point) is a probed address. It owns everything that a
 * hit or the text patcher needs, including the struct kprobe that the architecture
 * works with. A *user* (struct kprobe_user) describes one registered struct kprobe
 * as it was at registration. A point has one or more users. Kprobes write to the
 * caller's struct kprobe, but rely on nothing in it once it is registered.
 *
 * The life of a point
 * -------------------
 *	kprobe_place_user()	the first user makes it; hits find it in the table
 *	      |
 *	kprobe_points_arm()	it is hit, but runs no user's handlers yet
 *	      |
 *	kprobe_link_user()	hits run the user's handlers; the optimizer may
 *	      |			make the point a jump: see enum kprobe_state
 *	kprobe_unlink_user()	hits that start from here on do not see the user
 *	      |
 *	kprobe_points_disarm()	if no enabled user is left: no new hits
 *	      |
 *	addr_table_del()	late hits do not find the point
 *	      |
 *	kprobe_quiesce()	handlers that started before are done
 *	      |
 *	kprobe_point_free()	frees it after a grace period, without waiting
 *
 * Ownership and locks
 * -------------------
 * kprobe_mutex protects points and users, the tables that find them, the state of the
 * text at the points, the blacklist, the lists of the optimizer, the two ftrace_ops, the
 * index of reserved text, and what an architecture keeps during a batch. It is the
 * outermost lock; the order is:
 *
 *	kprobe_mutex
 *	  direct_mutex			(ftrace, when it registers ops)
 *	    ftrace_lock
 *	      cpus_read_lock()		(stop_machine() and static keys, also for ftrace)
 *		jump_label_mutex
 *		  static_call_mutex
 *		    text_mutex		(patching, see kprobe_text_lock())
 *	  ei_mutex			(a leaf: functions that allow error injection)
 *	  module_mutex			(a leaf: symbols and exception tables of modules)
 *	  slot_mutex			(a leaf: executable memory)
 *	  pool_mutex			(a leaf: instances of return probes)
 *
 * With KUnit, the lock that lets a test stop at a stage is taken under any of these.
 *
 * A caller may hold event_mutex, or be a module notifier. Handlers hold none of
 * these, and must not call functions that take them.
 *
 * A hit reads points, users and tables without a lock, with preemption or interrupts
 * off. Anything it can reach is unlinked first and freed after an RCU grace period. Callers
 * wait for CPUs that RCU does not watch, too: kprobe_quiesce() or
 * kprobe_wait_for_unwatched(). A task can be preempted in a slot, so executable memory is
 * freed after a tasks-RCU grace period, see slots.c. With contexts, callers wait for a grace
 * period only if a point moves between the two ftrace ops, see ftrace.c, or if
 * kprobe_quiesce() finds handlers that do not end. On architectures without contexts,
 * kprobe_quiesce() always waits for one, see current.c.
 *
 * Most architectures reorder memory accesses more than x86 does. A hit relies on the
 * following without a lock; the file named explains why it holds:
 *
 *	table.c		a point that is found is initialised
 *	arm.c		a breakpoint that is hit has its point in the table; if no
 *			point is found, the breakpoint is gone, see get_kprobe()
 *	running.c	the point is shown first, then read: kprobe_quiesce()
 *	point.c		a user that is found, alone or in the list, is initialised:
 *			dependent reads are ordered
 *	count.c		a counter that is found is initialised
 *	ftrace.c	which call of a hit counts: kprobe_ftrace_wanted()
 *	pool.h, pool.c	an instance is free, or in use, or searched for
 *	kretprobe_calls.c  calls that other CPUs see: calls_hook()
 *
 * When unregistering returns, no handler of the probe is running. kprobe_quiesce()
 * ensures that, not the grace periods after which memory is freed.
 */
#ifndef _KERNEL_KPROBES_INTERNAL_H
#define _KERNEL_KPROBES_INTERNAL_H

#include <linux/cpu.h>
#include <linux/hash.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/memory.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/types.h>

#include "testing.h"

struct module;

/* ------------------------------- table.c -------------------------------- */

/**
 * struct addr_node - an entry of an address table, embedded in what it finds
 * @key: the address, never 0; constant while the node is in a table
 */
struct addr_node {
	unsigned long key;
};

/**
 * struct addr_array - the buckets of a table, replaced when it grows
 * @shift: the index is the hash shifted right by this
 * @mask:  number of buckets - 1
 * @node:  open addressing, at most half in use; a bucket that has been used never
 *	   becomes NULL again
 * @old:   in the list of arrays that are freed once no lookup uses them
 */
struct addr_array {
	struct llist_node old;
	unsigned int shift;
	unsigned int mask;
	struct addr_node *node[];
};

/**
 * struct addr_table - finds nodes by address; see table.c
 * @array: what lookups use
 * @live:  number of nodes
 * @used:  number of buckets that are not NULL
 */
struct addr_table {
	struct addr_array *array;
	unsigned int live;
	unsigned int used;
};

extern struct addr_array addr_array_empty;

#define ADDR_TABLE_INIT		{ .array = &addr_array_empty }

/* A key that no node has: nothing starts at the last byte of the address space. */
#define ADDR_NO_KEY		(~0UL)

int addr_table_reserve(struct addr_table *t, unsigned int more);
void addr_table_add(struct addr_table *t, struct addr_node *n);
void addr_table_del(struct addr_table *t, struct addr_node *n);
void addr_arrays_flush(void);

/* Fibonacci hashing: the high bits of the product vary most. */
static __always_inline unsigned long addr_bucket(const struct addr_array *a,
						 unsigned long key)
{
	return (key * (unsigned long)GOLDEN_RATIO_PRIME) >> a->shift;
}

/*
 * Works in any context, without a lock. If the owner of the node frees it by RCU, it
 * stays valid until preemption or interrupts are on again. @key must not be ADDR_NO_KEY,
 * which would match a tombstone: testing for it here would slow down every hit.
 */
static __always_inline struct addr_node *addr_table_find(const struct addr_table *t,
							 unsigned long key)
{
	const struct addr_array *a = READ_ONCE(t->array);
	unsigned long i = addr_bucket(a, key);
	struct addr_node *n;

	while ((n = READ_ONCE(a->node[i]))) {
		if (n->key == key)
			break;
		i = (i + 1) & a->mask;
	}
	return n;
}

/* --------------------------- points and users --------------------------- */

/**
 * enum kprobe_state - how a point is hit
 * @KPROBE_OFF:        not at all: it is new, it has no enabled user, or all probes
 *		       are switched off
 * @KPROBE_BREAKPOINT: through a breakpoint, which stays for now
 * @KPROBE_QUEUED:     through a breakpoint; the point waits for the optimizer
 * @KPROBE_DIVERTED:   through a breakpoint; the hit continues in the detour
 * @KPROBE_JUMP:       through a jump
 * @KPROBE_FTRACE:     through a call from ftrace
 * @KPROBE_GONE:       never again: the text was freed, and the users can only be
 *		       unregistered
 *
 * kprobe_point_move() changes the state, and allows only these moves:
 *
 *	    .----------------- OFF --------------> GONE
 *	    |                ^  ^  |
 *	    v                |  |  v
 *	  FTRACE ------------'  +- BREAKPOINT
 *	                        |  |  ^
 *	                        |  v  |  no jump is possible, or wanted
 *	                        +- QUEUED
 *	                        |  |
 *	                        |  v     the worker has made a detour
 *	                        +- DIVERTED ---> BREAKPOINT
 *	                        |  |
 *	                        |  v     no task can enter the replaced bytes
 *	                        '- JUMP -------> BREAKPOINT
 */
enum kprobe_state {
	KPROBE_OFF,
	KPROBE_BREAKPOINT,
	KPROBE_QUEUED,
	KPROBE_DIVERTED,
	KPROBE_JUMP,
	KPROBE_FTRACE,
	KPROBE_GONE,
};

/**
 * struct kprobe_point - a probed address
 *
 * Read by hits:
 *
 * @node:	in the table of points, by address, unless the text is gone
 * @kp:		the architecture's view. Its handlers run those of all users;
 *		post_handler is NULL if no enabled user has one, but without contexts,
 *		once set, it stays set. Its list links the point into a batch, see
 *		kprobe_batch_add(); its flags follow @state and @nr_enabled.
 * @op:		@kp, and the architecture's description of a detour; see optprobe.c
 * @users:	the users, in order of registration
 * @faulters:	the fault handlers of users, including users being unregistered
 * @only:	the handlers of the only user, if it is enabled and has a pre-handler;
 *		those of the counter, if hits are counted; or NULL
 * @ops:	the ftrace_ops that the point is armed in
 * @moving:	the point is moving to the other ftrace_ops
 *
 * Under kprobe_mutex:
 *
 * @all:	in kprobe_points
 * @nr_users:	users that are placed here, linked or not
 * @nr_enabled: how many of @users are enabled
 * @nr_post:	how many of @nr_enabled have a post-handler
 * @nr_want_post: how many of @nr_users have a post-handler
 * @state:	how it is hit; written by kprobe_point_move() only
 * @counter:	counts the hits, if that is switched on; or NULL
 * @opt:	in a list of the optimizer, by @state
 * @why:	why the point is not a jump: enum kprobe_why, or an errno
 * @rcu:	frees it once no hit uses it
 */
struct kprobe_point {
	struct addr_node node;
#ifdef CONFIG_KPROBE_OPTINSN
	union {
		struct kprobe kp;
		struct optimized_kprobe op;
	};
#else
	struct kprobe kp;
#endif
	struct list_head users;
	struct list_head faulters;
	struct kprobe_handlers *only;
#ifdef CONFIG_KPROBES_ON_FTRACE
	struct ftrace_ops *ops;
	bool moving;
#endif

	struct list_head all;
	unsigned int nr_users;
	unsigned int nr_enabled;
	unsigned int nr_post;
	unsigned int nr_want_post;
	enum kprobe_state state;
	struct kprobe_counter *counter;
#ifdef CONFIG_OPTPROBES
	struct list_head opt;
	int why;
#endif
	struct rcu_head rcu;
};

/**
 * struct kprobe_handlers - what a hit runs
 * @pre:  the pre-handler, or NULL
 * @self: the first argument of both: the probe, or private data of a return probe or
 *	  jprobe
 * @post: the post-handler, or NULL
 */
struct kprobe_handlers {
	kprobe_pre_handler_t pre;
	struct kprobe *self;
	kprobe_post_handler_t post;
};

/**
 * struct kprobe_user - a registered probe
 * @node:    in the table of users, by the address of @kp
 * @list:    in kprobe_point::users
 * @batch:   links users that are removed together
 * @kp:	     the caller's structure, which handlers get
 * @run:     what a hit runs, as registered; return probes and jprobes have their own
 *	     pre-handler
 * @hook:    the part of a return probe that hits use; NULL for other probes
 * @faulter: the fault handler; NULL if there is none
 * @point:   the point that it is placed on
 * @addr:    the address that the target resolved to
 * @entry:   @addr is the entry of a function
 * @jprobe:  it is a jprobe
 * @enabled: hits run its handlers
 * @lost:    @kp may have been freed: it is not written to any more
 * @rcu:     frees it once no hit uses it
 */
struct kprobe_user {
	struct addr_node node;
	struct list_head list;
	struct list_head batch;
	struct kprobe *kp;
	struct kprobe_handlers run;
	struct kretprobe_hook *hook;
	struct kprobe_faulter *faulter;
	struct kprobe_point *point;
	unsigned long addr;
	bool entry;
	bool jprobe;
	bool enabled;
	bool lost;
	struct rcu_head rcu;
};

static __always_inline struct kprobe_point *to_point(struct kprobe *p)
{
	return container_of(p, struct kprobe_point, kp);
}

static inline bool kprobe_point_armed(const struct kprobe_point *pt)
{
	return pt->state != KPROBE_OFF && pt->state != KPROBE_GONE;
}

static inline bool kprobe_point_gone(const struct kprobe_point *pt)
{
	return pt->state == KPROBE_GONE;
}

extern struct list_head kprobe_points;
extern struct addr_table kprobe_point_table;
extern struct addr_table kprobe_user_table;

/* Like get_kprobe(), for the files of kernel/kprobes/. */
static __always_inline struct kprobe_point *kprobe_point_at(unsigned long addr)
{
	struct addr_node *n = addr_table_find(&kprobe_point_table, addr);

	return n ? container_of(n, struct kprobe_point, node) : NULL;
}

/*
 * An array of pointers to return probes or jprobes is also used as an array of pointers
 * to kprobes.
 */
static_assert(!offsetof(struct kretprobe, kp));
static_assert(!offsetof(struct jprobe, kp));

/* ------------------------------- point.c -------------------------------- */

bool kprobe_deny_caller(const char *what, const struct kprobe *kp);
struct kprobe_user *kprobe_user_of(struct kprobe *kp);
unsigned long kprobe_stray_addr(const struct kprobe *kp);
struct kprobe_user *kprobe_user_alloc(struct kprobe *kp);
void kprobe_user_free(struct kprobe_user *user);
int kprobe_points_init(void);
int kprobe_users_reserve(unsigned int num);
int kprobe_place_user(struct kprobe_user *user);
void kprobe_displace_user(struct kprobe_user *user);
void kprobe_link_user(struct kprobe_user *user);
void kprobe_unlink_user(struct kprobe_user *user);
void kprobe_point_move(struct kprobe_point *pt, enum kprobe_state state);
void kprobe_report_flags(struct kprobe_user *user);
void kprobe_choose_only(struct kprobe_point *pt);
void kprobe_count_user(struct kprobe_user *user, int sign);
void kprobe_release_point(struct kprobe_point *pt);

/* ----------------------------- ../kprobes.c ----------------------------- */

bool kprobe_user_leave(struct kprobe_user *user, struct list_head *leaving);
void kprobe_users_remove(struct list_head *leaving, bool wait);

/* -------------------------------- hit.c --------------------------------- */

int kprobe_run_all_pre(struct kprobe_point *pt, struct pt_regs *regs);

/* The inline form of kprobe_run_pre(). */
static __always_inline int kprobe_point_run_pre(struct kprobe_point *pt,
						struct pt_regs *regs)
{
	struct kprobe_handlers *only = READ_ONCE(pt->only);

	if (likely(only))
		return only->pre(only->self, regs);
	return kprobe_run_all_pre(pt, regs);
}

/* -------------------------------- site.c -------------------------------- */

int kprobe_resolve(kprobe_opcode_t *addr, const char *symbol,
		   unsigned long offset, unsigned long *target, bool *entry);
bool kprobe_is_func_entry(unsigned long target, bool entry);
int kprobe_check_site(unsigned long addr, struct module **mod);
int kprobe_refuse_probe(const kprobe_opcode_t *addr, const char *symbol,
			unsigned long offset, int err, const char *why);
int kprobe_refuse_call(const char *what, const void *probes, int num);
void kprobe_refuse_batch(int i, int num, int err);

/* -------------------------------- arm.c --------------------------------- */

/*
 * Held while an architecture writes text or copies an instruction: some stop the
 * machine, some assert that they hold text_mutex. An architecture with
 * ARCH_HAS_KPROBE_BATCHES takes these locks itself.
 */
static inline void kprobe_text_lock(void)
{
	if (IS_ENABLED(CONFIG_ARCH_HAS_KPROBE_BATCHES))
		return;
	cpus_read_lock();
	mutex_lock(&text_mutex);
}

static inline void kprobe_text_unlock(void)
{
	if (IS_ENABLED(CONFIG_ARCH_HAS_KPROBE_BATCHES))
		return;
	mutex_unlock(&text_mutex);
	cpus_read_unlock();
}

void kprobe_batch_add(struct kprobe_point *pt, struct list_head *batch);
void kprobe_batch_end(struct list_head *batch);
int kprobe_points_arm(struct list_head *points);
void kprobe_points_disarm(struct list_head *points);

/* ----------------------- running.c and current.c ------------------------ */

void kprobe_abandon(void);
void kprobe_quiesce(struct list_head *points);

/*
 * RCU does not wait for a CPU that comes online, nor for one that goes offline, and both
 * can be in a hit. On return, every such CPU is online or offline, and one that starts to
 * change from now on sees what the caller has changed. Where the exception of a breakpoint
 * does not tell RCU, as on arm, powerpc and mips, idle code that RCU does not watch can be in
 * a hit, too. Interrupts are off in such a hit, except on arc, so a CPU that takes an interrupt
 * has left it. Memory that hits read is freed after this and a grace period, in either order.
 * May sleep.
 */
static inline void kprobe_wait_for_unwatched(void)
{
	cpus_read_lock();
	cpus_read_unlock();
	if (!IS_ENABLED(CONFIG_ARCH_HAS_KPROBE_CONTEXTS))
		kick_all_cpus_sync();
	kprobe_test_stage(KPROBE_STAGE_ARRIVED);
}

/* ------------------------------- switch.c ------------------------------- */

void kprobes_switch(bool on);
bool kprobes_switched_on(void);

/* -------------------------------- gone.c -------------------------------- */

bool kprobe_init_text_gone(unsigned long addr);
bool kprobe_is_constant(const struct kprobe *kp);

#ifdef CONFIG_MODULES
int kprobe_gone_init(void);
bool kprobe_module_seen(const struct module *mod);
bool kprobe_module_loads(const struct module *mod);
#else
static inline int kprobe_gone_init(void) { return 0; }
#endif

/* ------------------------------- fault.c -------------------------------- */

/**
 * struct kprobe_faulter - a fault handler
 * @list:    in kprobe_point::faulters
 * @kp:	     the caller's structure, which @handler gets
 * @handler: as registered
 * @on:	     faults run it; see also kprobe_fault_enter()
 * @rcu:     frees it once no fault uses it
 */
struct kprobe_faulter {
	struct list_head list;
	struct kprobe *kp;
	kprobe_fault_handler_t handler;
	bool on;
	struct rcu_head rcu;
};

int kprobe_fault_alloc(struct kprobe_user *user);
void kprobe_fault_free(struct kprobe_user *user);
void kprobe_fault_add(struct kprobe_user *user);
bool kprobe_fault_del(struct kprobe_user *user);
bool kprobe_fault_switch(struct kprobe_user *user, bool on);
void kprobe_fault_abandon(void);
struct kprobe_faulter *kprobe_fault_enter(struct kprobe_faulter *f);
void kprobe_fault_leave(struct kprobe_faulter *prev);

/* ----------------------------- blacklist.c ------------------------------ */

/**
 * struct kprobe_refused - a function that may not be probed
 * @start:  its first byte, or that of the padding before it
 * @end:    one past its last
 * @prefix: bytes of padding
 */
struct kprobe_refused {
	unsigned long start;
	unsigned long end;
	unsigned int prefix;
};

/**
 * struct kprobe_blacklist - all functions that may not be probed
 * @rcu:   frees the list once no reader uses it
 * @nr:	   number of entries
 * @range: sorted by start, without overlap
 *
 * A change replaces the whole list.
 */
struct kprobe_blacklist {
	struct rcu_head rcu;
	unsigned int nr;
	struct kprobe_refused range[];
};

/* The section that NOKPROBE_SYMBOL() fills in the kernel image. */
extern unsigned long __start_kprobe_blacklist[], __stop_kprobe_blacklist[];

extern struct kprobe_blacklist __rcu *kprobe_blacklist;

bool kprobe_is_prefix(unsigned long start, unsigned long size);
int kprobe_blacklist_init(void);
int kprobe_blacklist_add_module(struct module *mod);
void kprobe_blacklist_drop(unsigned long start, unsigned long end);

/* ------------------------------- slots.c -------------------------------- */

/**
 * struct slot_cache - executable memory in slots of one size
 * @size:     of a slot, in bytes
 * @symbol:   the name of its pages in kallsyms
 * @pages:    all pages, those with a free slot first; walked under RCU
 * @first:    the lowest address that any of its pages ever had
 * @last:     the highest
 * @table:    finds a page by address
 * @nr_pages: number of pages
 * @alloc:    allocates contiguous executable pages, or returns NULL
 * @free:     frees them
 * @skew:     offset of the pages from a page boundary
 */
struct slot_cache {
	size_t size;
	const char *symbol;
	void *(*alloc)(unsigned int nr);
	void (*free)(void *text);
	unsigned long skew;
	struct list_head pages;
	unsigned long first;
	unsigned long last;
	struct addr_table table;
	unsigned int nr_pages;
};

#define SLOT_CACHE_INIT(c, name, get, put)				\
	.symbol = (name), .alloc = (get), .free = (put),		\
	.pages = LIST_HEAD_INIT((c).pages), .first = ULONG_MAX,		\
	.table = ADDR_TABLE_INIT

void *slot_alloc(struct slot_cache *c);
void slot_retire(struct slot_cache *c, void *slot, bool used);
void slots_flush(void);
void kprobe_wait_for_tasks(void);

/*
 * True if @addr may lie in a page of the cache. Every fault in the kernel checks this,
 * and it is nearly always false. Needs no lock, and works in any context.
 */
static __always_inline bool slot_cache_spans(const struct slot_cache *c,
					     unsigned long addr)
{
	return addr >= READ_ONCE(c->first) && addr <= READ_ONCE(c->last);
}

/* Pages that are part of the kernel image need not begin at a page boundary. */
static __always_inline unsigned long slot_cache_skew(const struct slot_cache *c)
{
	return IS_ENABLED(CONFIG_KPROBE_OPTINSN) ? c->skew : 0;
}

/* The key of the page that holds an address. */
static __always_inline unsigned long slot_page_key(const struct slot_cache *c,
						   unsigned long addr)
{
	return (addr - slot_cache_skew(c)) & PAGE_MASK;
}

/* True if @addr lies in a page of the cache. Needs no lock; preemption is off. */
static __always_inline bool slot_cache_covers(const struct slot_cache *c,
					      unsigned long addr)
{
	return addr_table_find(&c->table, slot_page_key(c, addr));
}

/* The same, in any context. */
static __always_inline bool slot_cache_has(const struct slot_cache *c,
					   unsigned long addr)
{
	bool covers;

	if (likely(!slot_cache_spans(c, addr)))
		return false;
	preempt_disable_notrace();
	covers = slot_cache_covers(c, addr);
	preempt_enable_notrace();
	return covers;
}

extern struct slot_cache kprobe_insn_slots;
extern struct slot_cache kprobe_detour_slots;	/* with OPTPROBES */

/* ----------------------------- optimizer.c ------------------------------ */

/**
 * enum kprobe_restore - what replaces a jump
 * @KPROBE_RESTORE_BREAKPOINT: a breakpoint
 * @KPROBE_RESTORE_ORIGINAL:   the original instructions
 */
enum kprobe_restore {
	KPROBE_RESTORE_BREAKPOINT,
	KPROBE_RESTORE_ORIGINAL,
};

#ifdef CONFIG_OPTPROBES
void kprobe_optimizer_want(struct kprobe_point *pt);
void kprobe_optimizer_hurry(void);
bool kprobe_optimizer_undo(struct list_head *points, enum kprobe_restore restore);
void kprobe_optimizer_revert(struct list_head *points);
void kprobe_optimizer_free(struct list_head *points);
struct kprobe_point *kprobe_optimizer_over(unsigned long addr);
const char *kprobe_optimizer_why(struct kprobe_point *pt);
unsigned long kprobe_optimizer_branch(struct kprobe_point *pt);
#else
static inline void kprobe_optimizer_want(struct kprobe_point *pt) { }
static inline void kprobe_optimizer_hurry(void) { }
static inline bool kprobe_optimizer_undo(struct list_head *points,
					 enum kprobe_restore restore)
{
	return false;
}

static inline void kprobe_optimizer_revert(struct list_head *points) { }
static inline void kprobe_optimizer_free(struct list_head *points) { }

static inline struct kprobe_point *kprobe_optimizer_over(unsigned long addr)
{
	return NULL;
}

static inline const char *kprobe_optimizer_why(struct kprobe_point *pt)
{
	return NULL;
}

static inline unsigned long kprobe_optimizer_branch(struct kprobe_point *pt)
{
	return 0;
}
#endif

/* ------------------------------- count.c -------------------------------- */

struct kprobe_counter;

#ifdef CONFIG_DEBUG_FS
void kprobe_counter_add(struct kprobe_point *pt);
void kprobe_counter_free(struct kprobe_point *pt);
struct kprobe_handlers *kprobe_counter_handlers(struct kprobe_point *pt);
bool kprobe_counter_sum(struct kprobe_point *pt, unsigned long *hits);
void kprobes_count(bool on);
bool kprobes_counting(void);
#else
static inline void kprobe_counter_add(struct kprobe_point *pt) { }
static inline void kprobe_counter_free(struct kprobe_point *pt) { }

static inline struct kprobe_handlers *kprobe_counter_handlers(struct kprobe_point *pt)
{
	return NULL;
}
#endif

/* ------------------------------ optprobe.c ------------------------------ */

#ifdef CONFIG_KPROBE_OPTINSN
void kprobe_point_free(struct kprobe_point *pt);
#else
/* A hit on another CPU may have just found the point. */
static inline void kprobe_point_free(struct kprobe_point *pt)
{
	kfree_rcu(pt, rcu);
}
#endif

/* ------------------------------- ftrace.c ------------------------------- */

#ifdef CONFIG_KPROBES_ON_FTRACE
int kprobe_ftrace_arm(struct list_head *points);
void kprobe_ftrace_disarm(struct list_head *points);
int kprobe_ftrace_choose(struct list_head *points, bool post);
#else
static inline int kprobe_ftrace_arm(struct list_head *points) { return 0; }
static inline void kprobe_ftrace_disarm(struct list_head *points) { }

static inline int kprobe_ftrace_choose(struct list_head *points, bool post)
{
	return 0;
}
#endif

/* ------------------------------ kretprobe.c ----------------------------- */

/**
 * struct kretprobe_hook - the part of a return probe that hits and returns use
 * @rp:	     the caller's structure; NULL once no handler of the probe can run
 * @point:   shown while a return handler runs; replaced by one without probes when
 *	     the probe is unregistered
 * @handler: called on return: @return_handler; kretprobe_run_off() while a probe with a
 *	     fault handler is disabled; a function that does nothing once the probe is
 *	     unregistered
 * @return_handler: as registered
 * @entry_handler: as registered
 * @faulter: the probe's fault handler, or NULL
 * @self:    passed to the pre-handler in place of a user's probe, see
 *	     kprobe_handlers::self; only its address is used
 */
struct kretprobe_hook {
	struct kretprobe *rp;
	struct kprobe *point;
	kretprobe_handler_t handler;
	kretprobe_handler_t return_handler;
	kretprobe_handler_t entry_handler;
	struct kprobe_faulter *faulter;
	struct kprobe self;
};

static __always_inline struct kretprobe_hook *kretprobe_to_hook(struct kprobe *self)
{
	return container_of(self, struct kretprobe_hook, self);
}

/* Counts a call for which no instance was free. */
static __always_inline void kretprobe_miss(struct kretprobe_hook *hook)
{
	struct kretprobe *rp = READ_ONCE(hook->rp);

	BUILD_BUG_ON(sizeof(rp->nmissed) != sizeof(atomic_t));
	if (rp)
		raw_atomic_inc((atomic_t *)&rp->nmissed);
}

/**
 * struct kretprobe_usage - how many instances return probes have
 * @in_use: calls in flight
 * @most:   instances that have ever been in use; a call takes the first free one of its
 *	    CPU, so this is roughly the largest number of calls in flight at once
 * @total:  all instances
 */
struct kretprobe_usage {
	unsigned int in_use;
	unsigned int most;
	unsigned int total;
};

#ifdef CONFIG_KRETPROBES
void kretprobe_init(void);
struct kprobe_user *kretprobe_make_user(void *probe);
void kretprobe_ready(struct kprobe_user *user);
void kretprobe_switch(struct kretprobe_hook *hook, bool on);
void kretprobe_stop(struct kretprobe_hook *hook);
void kretprobe_leave_point(struct kretprobe_hook *hook);
void kretprobe_free(struct kretprobe_hook *hook);
void kretprobe_run_handler(struct kretprobe_hook *hook, struct kretprobe_instance *ri,
			   struct pt_regs *regs);
bool kretprobe_bytes_fit(u64 bytes);
#else
static inline void kretprobe_init(void) { }
static inline void kretprobe_ready(struct kprobe_user *user) { }
static inline void kretprobe_switch(struct kretprobe_hook *hook, bool on) { }
static inline void kretprobe_stop(struct kretprobe_hook *hook) { }
static inline void kretprobe_leave_point(struct kretprobe_hook *hook) { }
static inline void kretprobe_free(struct kretprobe_hook *hook) { }
#endif

/* --------------- kretprobe_rethook.c and kretprobe_calls.c -------------- */

struct kretprobe_hook *kretprobe_hook_alloc(size_t size, unsigned int nr, bool grows);
kprobe_pre_handler_t kretprobe_hook_pre(const struct kretprobe_hook *hook);
struct kretprobe_hook *kretprobe_hook_of(struct kretprobe_instance *ri);
void kretprobe_hook_stop(struct kretprobe_hook *hook);
void kretprobe_hook_leave(struct kretprobe_hook *hook);
void kretprobe_hook_release(struct kretprobe_hook *hook);
/* Whether return probes are told of CPUs that come online and go offline. */
#define CALLS_SEE_HOTPLUG	(IS_ENABLED(CONFIG_HOTPLUG_CPU) &&	\
				 IS_ENABLED(CONFIG_GENERIC_SMP_IDLE_THREAD))

#ifdef CONFIG_KRETPROBE_POOL
void kretprobe_pool_kick(void);
bool kretprobe_hook_usage(struct kretprobe_hook *hook, struct kretprobe_usage *usage);
#else
static inline void kretprobe_pool_kick(void) { }
static inline bool kretprobe_hook_usage(struct kretprobe_hook *hook,
					struct kretprobe_usage *usage)
{
	return false;
}
#endif

/* ---------- slots.c and table.c, for the counts of testing.c ------------ */

#if IS_ENABLED(CONFIG_KUNIT)
void slots_count(struct kprobe_slot_counts *copies, struct kprobe_slot_counts *detours);
bool addr_arrays_wait(void);
#endif

/* ------------------------------- jprobe.c ------------------------------- */

#ifdef CONFIG_JPROBES
struct kprobe_user *jprobe_make_user(void *probe);
void jprobe_abandon(void);
#else
static inline void jprobe_abandon(void) { }
#endif

#endif /* _KERNEL_KPROBES_INTERNAL_H */
