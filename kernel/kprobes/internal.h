/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes: what the files of kernel/kprobes/ share, and nothing else sees.
 *
 * The map, in the order to read it
 * --------------------------------
 *	internal.h	points, users, states and locks
 *	point.c		the model: makes, finds and links points and users, and
 *			chooses what a hit runs
 *	table.c		finds points and users by address, for hits without a lock
 *	hit.c		what a hit runs; fault.c: what a fault in there runs
 *	arm.c		arms and disarms points in batches
 *	running.c	waits for handlers; current.c on architectures that have one
 *			current_kprobe for all contexts
 *	../kprobes.c	the manager: registers and unregisters, in batches
 *	switch.c	enables and disables; gone.c: text that is freed
 *	site.c		what may be probed; with blacklist.c, and reserved.c, which
 *			knows the text that others patch
 *	slots.c		executable memory, and when it is free again
 *	optimizer.c	turns breakpoints into jumps; optprobe.c does the
 *			architecture's part of it where arm or powerpc bring theirs
 *	ftrace.c	points on ftrace sites
 *	kretprobe.c	return probes; kretprobe_calls.c: their calls that are under way,
 *			pool.c: the instances of these, or kretprobe_rethook.c where
 *			rethook has both
 *	jprobe.c	jprobes
 *	control.c	files in debugfs; testing.c: what the KUnit suites need
 *
 * Calls go down from the manager, which no file in here calls but through the
 * API in linux/kprobes.h.
 *
 * Points and users
 * ----------------
 * A *point* (struct kprobe_point) is a probed address. It owns all that a hit
 * or the text patcher needs, including the struct kprobe that the architecture
 * gets to see. A *user* (struct kprobe_user) is one registered struct kprobe as
 * the manager sees it: what it said when it was registered. A point has one
 * user or many, the path of a hit is the same. The caller's struct kprobe is
 * written to, but nothing that is read back from it decides anything once it is
 * registered.
 *
 * The life of a point
 * -------------------
 *	kprobe_place_user()	its first user makes it; hits find it in the table
 *	      |
 *	kprobe_points_arm()	hits come, and find no users
 *	      |
 *	kprobe_link_user()	hits run the user's handlers; the optimizer may
 *	      |			make the point a jump: see enum kprobe_state
 *	kprobe_unlink_user()	hits that start now do not see the user
 *	      |
 *	kprobe_points_disarm()	the last enabled user has left: no hits come
 *	      |
 *	addr_table_del()	late hits do not find the point
 *	      |
 *	kprobe_quiesce()	no handler runs that started before all that
 *	      |
 *	kprobe_point_free()	after a grace period that nobody waits for
 *
 * Ownership and locks
 * -------------------
 * kprobe_mutex protects points and users, the tables that find them and the
 * state of the text under them. It is taken first; below it, in this order:
 *
 *	kprobe_mutex
 *	  cpus_read_lock()		(ftrace, when it patches)
 *	    ftrace_lock, jump_label_mutex
 *	      text_mutex		(patching, see kprobe_text_lock())
 *	  slot_mutex			(a leaf: executable memory)
 *	  pool_mutex			(a leaf: instances of return probes)
 *
 * A caller may hold event_mutex or be inside a module notifier. Handlers run
 * under none of these and may not call what takes them.
 *
 * A hit reads points, users and tables with preemption or interrupts off and
 * no lock. What it can reach is unlinked first and freed after an RCU grace
 * period that nobody waits for. Executable memory, in which a task can be
 * preempted, is freed after a tasks-RCU grace period, see slots.c.
 *
 * Most architectures do not keep memory accesses in order as x86 does. What a
 * hit relies on without a lock, and where it is argued:
 *
 *	table.c		to find a point is to find it initialised
 *	arm.c		to meet a breakpoint is to find its point; not to find a
 *			point, see get_kprobe(), is to see its breakpoint gone
 *	running.c	show first, then look: kprobe_quiesce()
 *	point.c		to find a user, alone or in the list, is to find it
 *			initialised: reads through a pointer are in order
 *	ftrace.c	which call of a hit counts: is_for()
 *	pool.h, pool.c	an instance is free, or somebody's, or looked for
 *	kretprobe_calls.c  calls that are seen by other CPUs: calls_hook()
 *
 * When unregistering returns, no handler of that probe runs any more. That is
 * not what the grace periods are for: see kprobe_quiesce() in running.c.
 */
#ifndef _KERNEL_KPROBES_INTERNAL_H
#define _KERNEL_KPROBES_INTERNAL_H

#include <linux/cpu.h>
#include <linux/hash.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/memory.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include "testing.h"

struct module;

extern struct mutex kprobe_mutex;

/* ------------------------------- table.c -------------------------------- */

/**
 * struct addr_node - embedded in what an address table finds
 * @key: the address, never 0; constant while the node is in a table
 */
struct addr_node {
	unsigned long key;
};

/**
 * struct addr_array - the buckets of a table, replaced when it grows
 * @shift: turns a hash into an index
 * @mask:  number of buckets - 1
 * @node:  open addressing, at most half in use; a bucket once used never
 *	   turns NULL again
 * @rcu:   frees the array once no lookup uses it
 */
struct addr_array {
	struct rcu_head rcu;
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

int addr_table_reserve(struct addr_table *t, unsigned int more);
void addr_table_add(struct addr_table *t, struct addr_node *n);
void addr_table_del(struct addr_table *t, struct addr_node *n);

/* Fibonacci hashing: the high bits of the product are the good ones. */
static __always_inline unsigned long addr_bucket(const struct addr_array *a,
						 unsigned long key)
{
	return (key * (unsigned long)GOLDEN_RATIO_PRIME) >> a->shift;
}

/*
 * Lock-free, in any context. The node stays valid until preemption or
 * interrupts are on again, if its owner frees it through RCU.
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
 * @KPROBE_UNARMED:    not at all: it is new, nothing there is enabled, or all
 *		       probes are switched off
 * @KPROBE_BREAKPOINT: by a breakpoint, and it is to stay one for now
 * @KPROBE_QUEUED:     by a breakpoint; it waits for the optimizer
 * @KPROBE_DIVERTED:   by a breakpoint; the hit goes on in the detour
 * @KPROBE_JUMP:       by a jump
 * @KPROBE_FTRACE:     by a call of one of our ftrace_ops
 * @KPROBE_GONE:       never again, the text was freed; what is left to do is to
 *		       unregister the users
 *
 * kprobe_point_move() moves a point, and allows these moves only:
 *
 *	    .--------------- UNARMED ------------> GONE
 *	    |                ^  ^  |                ^
 *	    v                |  |  v                |
 *	  FTRACE ------------'  |  BREAKPOINT ------'
 *	                        |  |  ^
 *	                        |  v  |  the worker cannot, or need not
 *	                        +- QUEUED
 *	                        |  |
 *	                        |  v     the worker has made the detour
 *	                        +- DIVERTED ---> BREAKPOINT
 *	                        |  |
 *	                        |  v     no task is on the way to the old bytes
 *	                        '- JUMP -------> BREAKPOINT
 */
enum kprobe_state {
	KPROBE_UNARMED,
	KPROBE_BREAKPOINT,
	KPROBE_QUEUED,
	KPROBE_DIVERTED,
	KPROBE_JUMP,
	KPROBE_FTRACE,
	KPROBE_GONE,
};

/**
 * struct kprobe_point - an address that is probed
 *
 * Read by hits:
 *
 * @node:	in the table of points, by address, unless the text is gone
 * @kp:		what the architecture sees. Its handlers are the dispatchers;
 *		post_handler is NULL unless an enabled user has one. Its list
 *		links the point into a batch, see kprobe_batch_add(); its flags
 *		follow @state and @nr_enabled.
 * @op:		the same, with what the architecture keeps of a detour; see
 *		optprobe.c
 * @users:	registered probes, in order of registration; read by hits
 * @faulters:	the fault handlers among them, and of those that are leaving
 * @only:	the one among them, if it is alone, enabled and has no more than
 *		a pre-handler to run in front; or NULL
 * @ops:	ftrace_ops that the point is armed in
 *
 * Under kprobe_mutex:
 *
 * @all:	in the list of all points
 * @nr_users:	probes that are registered, or on the way
 * @nr_enabled: those among @users that are enabled
 * @nr_post:	those among them that have a post-handler
 * @nr_want_post: those among @nr_users that have one
 * @state:	how it is hit; written by kprobe_point_move() only
 * @opt:	in a list of the optimizer's, by @state
 * @why:	what the optimizer found in its way: enum kprobe_why, or an errno
 * @rcu:	frees it once no hit can have it in hand
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
	struct kprobe_user *only;
#ifdef CONFIG_KPROBES_ON_FTRACE
	struct ftrace_ops *ops;
#endif

	struct list_head all;
	unsigned int nr_users;
	unsigned int nr_enabled;
	unsigned int nr_post;
	unsigned int nr_want_post;
	enum kprobe_state state;
#ifdef CONFIG_OPTPROBES
	struct list_head opt;
	int why;
#endif
	struct rcu_head rcu;
};

/**
 * struct kprobe_user - a registered probe as the manager sees it
 * @node:    in the table of users, by the address of @kp
 * @list:    in kprobe_point::users
 * @batch:   links users that leave together
 * @kp:	     the user's structure: passed to handlers, written for its reader
 * @pre:     the pre-handler at the time of registration; of other probes than
 *	     kprobes, what does their part of a hit
 * @self:    what it is called with: @kp; or what those need in its place
 * @post:    likewise
 * @hook:    of a return probe, what hits need of it; NULL otherwise
 * @faulter: its fault handler; NULL if it has none
 * @point:   where it sits
 * @addr:    what the target resolved to
 * @entry:   that is the entry of a function
 * @jprobe:  it is a jprobe
 * @enabled: its handlers are to run
 * @rcu:     frees it once no hit can have it in hand
 */
struct kprobe_user {
	struct addr_node node;
	struct list_head list;
	struct list_head batch;
	struct kprobe *kp;
	kprobe_pre_handler_t pre;
	struct kprobe *self;
	kprobe_post_handler_t post;
	struct kretprobe_hook *hook;
	struct kprobe_faulter *faulter;
	struct kprobe_point *point;
	unsigned long addr;
	bool entry;
	bool jprobe;
	bool enabled;
	struct rcu_head rcu;
};

static __always_inline struct kprobe_point *to_point(struct kprobe *p)
{
	return container_of(p, struct kprobe_point, kp);
}

static inline bool kprobe_point_armed(const struct kprobe_point *pt)
{
	return pt->state != KPROBE_UNARMED && pt->state != KPROBE_GONE;
}

static inline bool kprobe_point_gone(const struct kprobe_point *pt)
{
	return pt->state == KPROBE_GONE;
}

extern struct list_head kprobe_points;
extern struct addr_table kprobe_point_table;
extern struct addr_table kprobe_user_table;

/* As get_kprobe(), for those who know more of a point. */
static __always_inline struct kprobe_point *kprobe_point_at(unsigned long addr)
{
	struct addr_node *n = addr_table_find(&kprobe_point_table, addr);

	return n ? container_of(n, struct kprobe_point, node) : NULL;
}

/*
 * Arrays of pointers to return probes and to jprobes are arrays of pointers to
 * probes.
 */
static_assert(!offsetof(struct kretprobe, kp));
static_assert(!offsetof(struct jprobe, kp));

/* ------------------------------- point.c -------------------------------- */

bool kprobe_deny_handler(const char *what, const struct kprobe *kp);
struct kprobe_user *kprobe_user_of(struct kprobe *kp);
struct kprobe_user *kprobe_user_alloc(struct kprobe *kp);
void kprobe_user_free(struct kprobe_user *user);
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

/* -------------------------------- hit.c --------------------------------- */

int kprobe_run_all_pre(struct kprobe_point *pt, struct pt_regs *regs);

/* As kprobe_run_pre(), where a function call counts. */
static __always_inline int kprobe_point_run_pre(struct kprobe_point *pt,
						struct pt_regs *regs)
{
	struct kprobe_user *user = READ_ONCE(pt->only);

	if (likely(user))
		return user->pre(user->self, regs);
	return kprobe_run_all_pre(pt, regs);
}

/* -------------------------------- site.c -------------------------------- */

int kprobe_resolve(kprobe_opcode_t *addr, const char *symbol,
		   unsigned long offset, unsigned long *target, bool *entry);
int kprobe_check_site(unsigned long addr, struct module **mod);

/* -------------------------------- arm.c --------------------------------- */

/*
 * What an architecture that takes one point at a time finds held whenever its
 * text is written or a copy is made of it: some stop the machine, some check
 * that nobody else patches. One that takes batches knows better for how long,
 * and locks for itself.
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

void kprobe_quiesce(struct list_head *points);

/* ------------------------------- switch.c ------------------------------- */

void kprobes_switch(bool on);
bool kprobes_switched_on(void);

/* -------------------------------- gone.c -------------------------------- */

#ifdef CONFIG_MODULES
int kprobe_gone_init(void);
#else
static inline int kprobe_gone_init(void) { return 0; }
#endif

/* ------------------------------- fault.c -------------------------------- */

/**
 * struct kprobe_faulter - a fault handler
 * @list:    in kprobe_point::faulters
 * @kp:	     the user's structure, to be passed to it
 * @handler: at the time of registration
 * @on:	     it is to be asked
 * @rcu:     frees it once no fault can have it in hand
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

/* ----------------------------- blacklist.c ------------------------------ */

/**
 * struct kprobe_refused - a function that may not be probed
 * @start:  its first byte, or that of the padding in front of it
 * @end:    one past its last
 * @prefix: bytes of padding
 */
struct kprobe_refused {
	unsigned long start;
	unsigned long end;
	unsigned int prefix;
};

/**
 * struct kprobe_blacklist - all of them; replaced as a whole
 * @rcu:   frees the list once nobody reads it
 * @nr:	   how many
 * @range: sorted by start, none overlapping
 */
struct kprobe_blacklist {
	struct rcu_head rcu;
	unsigned int nr;
	struct kprobe_refused range[];
};

/* What NOKPROBE_SYMBOL() leaves in the kernel image. */
extern unsigned long __start_kprobe_blacklist[], __stop_kprobe_blacklist[];

extern struct kprobe_blacklist __rcu *kprobe_blacklist;

bool kprobe_is_prefix(unsigned long start, unsigned long size);
int kprobe_blacklist_init(void);
int kprobe_blacklist_add_module(struct module *mod);
void kprobe_blacklist_del_module(struct module *mod, bool going);

/* ------------------------------- slots.c -------------------------------- */

/**
 * struct slot_cache - executable memory in pieces of one size
 * @size:     of a piece, in bytes
 * @symbol:   under which kallsyms shows its pages
 * @pages:    all of them, those with room first; walked under RCU
 * @first:    the lowest address that there ever was in a page of it
 * @last:     the highest
 * @table:    finds a page by address
 * @nr_pages: how many
 * @alloc:    gets executable pages, so many in a row; NULL if it cannot
 * @free:     gives them back
 * @skew:     how far into a page frame they begin
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
 * Could @addr lie in a page of the cache? Each fault in the kernel asks, and
 * hardly any comes from where the answer is yes. Lock-free, in any context.
 */
static __always_inline bool slot_cache_spans(const struct slot_cache *c,
					     unsigned long addr)
{
	return addr >= READ_ONCE(c->first) && addr <= READ_ONCE(c->last);
}

/* Memory that is part of the kernel image need not begin where a page does. */
static __always_inline unsigned long slot_cache_skew(const struct slot_cache *c)
{
	return IS_ENABLED(CONFIG_KPROBE_OPTINSN) ? c->skew : 0;
}

/* The key of the page that an address is in. */
static __always_inline unsigned long slot_page_key(const struct slot_cache *c,
						   unsigned long addr)
{
	return (addr - slot_cache_skew(c)) & PAGE_MASK;
}

/* True if @addr lies in a page of the cache. Lock-free, preemption off. */
static __always_inline bool slot_cache_covers(const struct slot_cache *c,
					      unsigned long addr)
{
	return addr_table_find(&c->table, slot_page_key(c, addr));
}

/* The same in any context. */
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
 * enum kprobe_restore - what the text of a jump becomes
 * @KPROBE_RESTORE_BREAKPOINT: a breakpoint
 * @KPROBE_RESTORE_ORIGINAL:   what it was
 * @KPROBE_RESTORE_NOTHING:    it stays
 */
enum kprobe_restore {
	KPROBE_RESTORE_BREAKPOINT,
	KPROBE_RESTORE_ORIGINAL,
	KPROBE_RESTORE_NOTHING,
};

#ifdef CONFIG_OPTPROBES
void kprobe_optimizer_want(struct kprobe_point *pt);
bool kprobe_optimizer_undo(struct list_head *points, enum kprobe_restore restore);
void kprobe_optimizer_settle(struct list_head *points);
void kprobe_optimizer_free(struct list_head *points);
struct kprobe_point *kprobe_optimizer_over(unsigned long addr);
const char *kprobe_optimizer_why(struct kprobe_point *pt);
#else
static inline void kprobe_optimizer_want(struct kprobe_point *pt) { }
static inline bool kprobe_optimizer_undo(struct list_head *points,
					 enum kprobe_restore restore)
{
	return false;
}

static inline void kprobe_optimizer_settle(struct list_head *points) { }
static inline void kprobe_optimizer_free(struct list_head *points) { }

static inline struct kprobe_point *kprobe_optimizer_over(unsigned long addr)
{
	return NULL;
}

static inline const char *kprobe_optimizer_why(struct kprobe_point *pt)
{
	return NULL;
}
#endif

/* ------------------------------ optprobe.c ------------------------------ */

#ifdef CONFIG_KPROBE_OPTINSN
void kprobe_point_free(struct kprobe_point *pt);
#else
/* A hit on another CPU may just have looked the point up. */
static inline void kprobe_point_free(struct kprobe_point *pt)
{
	kfree_rcu(pt, rcu);
}
#endif

/* ------------------------------- ftrace.c ------------------------------- */

#ifdef CONFIG_KPROBES_ON_FTRACE
int kprobe_ftrace_arm(struct list_head *points);
void kprobe_ftrace_disarm(struct list_head *points);
int kprobe_ftrace_choose(struct kprobe_point *pt);
#else
static inline int kprobe_ftrace_arm(struct list_head *points) { return 0; }
static inline void kprobe_ftrace_disarm(struct list_head *points) { }
static inline int kprobe_ftrace_choose(struct kprobe_point *pt) { return 0; }
#endif

/* ------------------------------ kretprobe.c ----------------------------- */

/**
 * struct kretprobe_hook - what hits and returns need of a return probe
 * @rp:	     the user's structure; NULL once no handler of the probe can run
 * @point:   shown while a return handler runs
 * @handler: at the time of registration; one that does nothing once the probe
 *	     is being unregistered
 * @entry_handler: at the time of registration
 * @self:    the pre-handler gets this in place of a user's probe, see
 *	     kprobe_user::self; nothing in it is used
 */
struct kretprobe_hook {
	struct kretprobe *rp;
	struct kprobe *point;
	kretprobe_handler_t handler;
	kretprobe_handler_t entry_handler;
	struct kprobe self;
};

static __always_inline struct kretprobe_hook *kretprobe_to_hook(struct kprobe *self)
{
	return container_of(self, struct kretprobe_hook, self);
}

/* No instance was free for a call. */
static __always_inline void kretprobe_miss(struct kretprobe_hook *hook)
{
	struct kretprobe *rp = READ_ONCE(hook->rp);

	BUILD_BUG_ON(sizeof(rp->nmissed) != sizeof(atomic_t));
	if (rp)
		raw_atomic_inc((atomic_t *)&rp->nmissed);
}

#ifdef CONFIG_KRETPROBES
void kretprobe_init(void);
struct kprobe_user *kretprobe_make_user(void *probe);
void kretprobe_ready(struct kprobe_user *user);
void kretprobe_stop(struct kretprobe_hook *hook);
void kretprobe_free(struct kretprobe_hook *hook);
void kretprobe_run_handler(struct kretprobe_hook *hook, struct kretprobe_instance *ri,
			   struct pt_regs *regs);
#else
static inline void kretprobe_init(void) { }
static inline void kretprobe_ready(struct kprobe_user *user) { }
static inline void kretprobe_stop(struct kretprobe_hook *hook) { }
static inline void kretprobe_free(struct kretprobe_hook *hook) { }
#endif

/* --------------- kretprobe_rethook.c and kretprobe_calls.c -------------- */

struct kretprobe_hook *kretprobe_hook_alloc(size_t size, unsigned int nr, bool grows);
kprobe_pre_handler_t kretprobe_hook_pre(const struct kretprobe_hook *hook);
void kretprobe_hook_stop(struct kretprobe_hook *hook);
void kretprobe_hook_release(struct kretprobe_hook *hook);

/* ------------------------------- testing.c ------------------------------ */

#if IS_ENABLED(CONFIG_KUNIT)
void slots_count(struct kprobe_slot_counts *copies, struct kprobe_slot_counts *detours);
#endif

/* ------------------------------- jprobe.c ------------------------------- */

#ifdef CONFIG_JPROBES
struct kprobe_user *jprobe_make_user(void *probe);
void jprobe_abandon(void);
#else
static inline void jprobe_abandon(void) { }
#endif

#endif /* _KERNEL_KPROBES_INTERNAL_H */
