// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: the manager.
 *
 * It knows which addresses are probed and by whom, registers and unregisters,
 * and runs the handlers of a hit. It does not know any architecture; what an
 * instruction is, how a hit comes about and how it goes on is theirs.
 *
 * Everything is a batch, a single probe being a batch of one:
 *
 *   registering	resolve the targets and allocate, without a lock; find
 *			or make the points, in order of address, so that what
 *			the architecture learns about a function serves all
 *			probes in it; arm the new points together; and only
 *			then, when nothing can fail any more, let hits see the
 *			new users, in the order in which they were given.
 *
 *   unregistering	take the users out of their points; disarm the points
 *			that are left without one; wait once, for all, until no
 *			handler runs that started before; free.
 *
 * The data structures and their locks are described in kprobes/internal.h.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include <asm/sections.h>

#include "kprobes/internal.h"

/* See kprobes/internal.h for what it protects. */
DEFINE_MUTEX(kprobe_mutex);

struct addr_table kprobe_point_table = ADDR_TABLE_INIT;
static struct addr_table user_table = ADDR_TABLE_INIT;

/* Every point there is, those whose text is gone included. */
LIST_HEAD(kprobe_points);

/* The master switch of debugfs: off, nothing is armed. */
static bool switched_off;

/* Who switches many probes, and wants the text changed once for all of them. */
static struct task_struct *holder;

static bool initialised;

/* ------------------------------ A hit ----------------------------------- */

/**
 * get_kprobe - find the point at an address
 * @addr: the address
 *
 * Context: any, with preemption or interrupts off for as long as the point is
 * looked at, or kprobe_mutex held.
 * Return: what the architecture works with, or NULL if nothing is there.
 */
__kprobe_hit struct kprobe *get_kprobe(void *addr)
{
	struct kprobe_point *pt = kprobe_point_at((unsigned long)addr);

	return pt ? &pt->kp : NULL;
}

/*
 * Users come and go while this runs. Both a user and what follows it stay valid
 * until preemption is on again.
 */
static noinline int __kprobe_hit run_all_pre(struct kprobe_point *pt,
					     struct pt_regs *regs)
{
	struct kprobe_user *user;

	list_for_each_entry_lockless(user, &pt->users, list) {
		if (!READ_ONCE(user->enabled))
			continue;
		if (user->pre) {
			if (user->pre(user->self, regs))
				return 1;
		} else if (user->jprobe) {
			jprobe_enter(user->jprobe, regs);
		}
	}
	return 0;
}

/**
 * kprobe_run_pre - run the pre-handlers of a point
 * @p:	  the point
 * @regs: registers of the context that was hit
 *
 * Context: preemption off; called for every hit by the architecture, directly
 * or as the pre_handler of @p.
 * Return: non-zero as soon as a handler has decided where to go on.
 */
int __kprobe_hit kprobe_run_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct kprobe_point *pt = to_point(p);
	struct kprobe_user *user = READ_ONCE(pt->only);

	if (likely(user))
		return user->pre(user->self, regs);
	return run_all_pre(pt, regs);
}

/**
 * kprobe_run_post - run the post-handlers of a point
 * @p:	   the point
 * @regs:  registers behind the instruction
 * @flags: passed on
 *
 * Context: as kprobe_run_pre().
 */
void __kprobe_hit kprobe_run_post(struct kprobe *p, struct pt_regs *regs,
				  unsigned long flags)
{
	struct kprobe_point *pt = to_point(p);
	struct kprobe_user *user;

	list_for_each_entry_lockless(user, &pt->users, list) {
		if (user->post && READ_ONCE(user->enabled))
			user->post(user->kp, regs, flags);
	}
}

/**
 * kprobes_inc_nmissed_count - a hit will not be handled
 * @p: the point that was hit
 *
 * Counts for each of its probes. Missed hits may come on several CPUs at once
 * and must all be counted, but they are the exception, so an atomic will do.
 *
 * The count is in the users' own structures, and kprobe_cpu::running shows
 * another point. Unregistering does not wait for what is not shown; but with
 * interrupts off this is outlasted by the interrupt that quiesce() sends.
 *
 * Context: any, preemption off.
 */
void __kprobe_hit kprobes_inc_nmissed_count(struct kprobe *p)
{
	struct kprobe_point *pt = to_point(p);
	struct kprobe_user *user;
	unsigned long flags;

	BUILD_BUG_ON(sizeof(user->kp->nmissed) != sizeof(atomic_long_t));
	raw_local_irq_save(flags);
	list_for_each_entry_lockless(user, &pt->users, list) {
		if (READ_ONCE(user->enabled))
			raw_atomic_long_inc((atomic_long_t *)&user->kp->nmissed);
	}
	raw_local_irq_restore(flags);
}

#ifdef __ARCH_KPROBES_NEST

DEFINE_PER_CPU(struct kprobe_cpu, kprobe_cpu);

/* Stands in kprobe_cpu::running for what is no probe; nobody's batch. */
static struct kprobe_point busy_point = {
	.faulters = LIST_HEAD_INIT(busy_point.faulters),
};

/**
 * kprobe_busy_begin - count hits from here on as missed
 *
 * Context: preemption on or off; it is off until kprobe_busy_end().
 */
void __kprobe_hit kprobe_busy_begin(void)
{
	struct kprobe_cpu *kc;

	preempt_disable_notrace();
	kc = raw_cpu_ptr(&kprobe_cpu);
	WRITE_ONCE(kc->running[kprobe_context(kc->traps)], &busy_point.kp);
	barrier();
}

/**
 * kprobe_busy_end - undo kprobe_busy_begin()
 *
 * Context: where kprobe_busy_begin() was called.
 */
void __kprobe_hit kprobe_busy_end(void)
{
	struct kprobe_cpu *kc = raw_cpu_ptr(&kprobe_cpu);

	barrier();
	WRITE_ONCE(kc->running[kprobe_context(kc->traps)], NULL);
	preempt_enable_notrace();
}

#else /* !__ARCH_KPROBES_NEST */

DEFINE_PER_CPU(struct kprobe *, current_kprobe);
DEFINE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk);

static struct kprobe kprobe_busy = {
	.addr = (void *)get_kprobe,
};

void __kprobe_hit kprobe_busy_begin(void)
{
	preempt_disable();
	__this_cpu_write(current_kprobe, &kprobe_busy);
	get_kprobe_ctlblk()->kprobe_status = KPROBE_HIT_ACTIVE;
}

void __kprobe_hit kprobe_busy_end(void)
{
	__this_cpu_write(current_kprobe, NULL);
	preempt_enable();
}

#endif /* __ARCH_KPROBES_NEST */

/**
 * dump_kprobe - say what is known of a point, before the worst
 * @p: the point
 *
 * Context: any.
 */
void dump_kprobe(struct kprobe *p)
{
	struct kprobe_point *pt = to_point(p);

	pr_err("point at %pS: %u probes, %u enabled, flags %#x\n",
	       p->addr, pt->nr_users, pt->nr_enabled, p->flags);
}
NOKPROBE_SYMBOL(dump_kprobe);

/* ------------------------ Where a probe may sit ------------------------- */

/**
 * kprobe_lookup_name - find what a probe is to sit on, by name
 * @name:   of a symbol, or "module:symbol"
 * @offset: from the symbol
 *
 * Architectures whose functions have more than one entry have their own.
 *
 * Context: may sleep.
 * Return: the symbol's address, without @offset; NULL if there is none.
 */
kprobe_opcode_t *__weak kprobe_lookup_name(const char *name, unsigned int offset)
{
	return (kprobe_opcode_t *)kallsyms_lookup_name(name);
}

/*
 * Turns an address into the one that can carry a probe, say behind an
 * instruction that marks the entry, and tells whether it is the entry.
 */
kprobe_opcode_t *__weak arch_adjust_kprobe_addr(unsigned long addr,
						unsigned long offset,
						bool *on_func_entry)
{
	*on_func_entry = !offset;
	return (kprobe_opcode_t *)addr;
}

/* From what the user gave to what will be probed. */
static int resolve(kprobe_opcode_t *addr, const char *symbol,
		   unsigned long offset, unsigned long *target, bool *entry)
{
	unsigned long into;

	if (!addr == !symbol)
		return -EINVAL;
	if (symbol) {
		addr = kprobe_lookup_name(symbol, offset);
		if (!addr)
			return -ENOENT;
	}
	*target = (unsigned long)addr + offset;
	if (!kallsyms_lookup_size_offset(*target, NULL, &into))
		return -ENOENT;
	*target = (unsigned long)arch_adjust_kprobe_addr(*target, into, entry);
	return *target ? 0 : -EINVAL;
}

/**
 * kprobe_on_func_entry - does a target lie on the entry of a function?
 * @addr:   by address, or NULL
 * @sym:    by name, or NULL
 * @offset: from either
 *
 * Context: may sleep.
 * Return: 0 if it does; -EINVAL if not, or if both or neither are given;
 * -ENOENT if no symbol is there.
 */
int kprobe_on_func_entry(kprobe_opcode_t *addr, const char *sym,
			 unsigned long offset)
{
	unsigned long target;
	bool entry;
	int ret;

	ret = resolve(addr, sym, offset, &target, &entry);
	if (ret)
		return ret;
	return entry ? 0 : -EINVAL;
}

/*
 * Says whether the address is text that we may probe. A module is held until
 * module_put(*mod), that is until the points are in the table: from then on
 * the module notifier takes care of them.
 */
static int check_site(unsigned long addr, struct module **mod)
{
	*mod = NULL;
	if (!core_kernel_text(addr)) {
		scoped_guard(preempt) {
			*mod = __module_text_address(addr);
			if (!*mod)
				return -EINVAL;
			if (!try_module_get(*mod)) {
				*mod = NULL;
				return -ENOENT;
			}
		}
		/* Init text is a target only while it is sure to be there. */
		if (within_module_init(addr, *mod) &&
		    (*mod)->state != MODULE_STATE_COMING)
			goto refuse;
	}
	if (within_kprobe_blacklist(addr) || kprobe_text_reserved(addr, addr))
		goto refuse;
	return 0;

refuse:
	module_put(*mod);
	*mod = NULL;
	return -EINVAL;
}

/* ------------------------------- Points --------------------------------- */

static struct kprobe_point *find_point(unsigned long addr)
{
	struct kprobe *p = get_kprobe((void *)addr);

	return p ? to_point(p) : NULL;
}

static struct kprobe_user *user_of(struct kprobe *kp)
{
	struct addr_node *n = addr_table_find(&user_table, (unsigned long)kp);

	return n ? container_of(n, struct kprobe_user, node) : NULL;
}

int __weak arch_prepare_post(struct kprobe *p)
{
	return 0;
}

/* Brackets the arch_prepare_kprobe() calls of a batch, ascending by address. */
void __weak arch_kprobes_batch(bool begin)
{
}

static int prepare_point(struct kprobe_point *pt)
{
#ifdef CONFIG_DYNAMIC_FTRACE
	unsigned long addr = pt->node.key;
	unsigned long site = ftrace_location_range(addr, addr);

	if (site && site != addr)
		return -EILSEQ;
	if (site) {
#ifdef CONFIG_KPROBES_ON_FTRACE
		pt->kp.flags |= KPROBE_FLAG_FTRACE;
		return arch_prepare_kprobe_ftrace(&pt->kp);
#else
		return -EINVAL;	/* ftrace's own, and nobody else's */
#endif
	}
#endif
	return arch_prepare_kprobe(&pt->kp);
}

static void release_point(struct kprobe_point *pt)
{
	if (!kprobe_ftrace(&pt->kp))
		arch_remove_kprobe(&pt->kp);
}

/*
 * A point whose probes have post-handlers, even disabled ones, is always ready
 * for them, so that enabling cannot fail for it.
 */
static int want_post(struct kprobe_point *pt, struct kprobe_user *user)
{
	int ret;

	if (!user->post)
		return 0;
	pt->nr_want_post++;
	ret = kprobe_ftrace(&pt->kp) ? kprobe_ftrace_choose(pt) :
				       arch_prepare_post(&pt->kp);
	if (ret)
		pt->nr_want_post--;
	return ret;
}

static void unwant_post(struct kprobe_point *pt, struct kprobe_user *user)
{
	if (!user->post)
		return;
	pt->nr_want_post--;
	/* If it cannot go back, it only keeps others off the site for longer. */
	if (kprobe_ftrace(&pt->kp) && pt->nr_users && !pt->gone)
		kprobe_ftrace_choose(pt);
}

/* Finds or makes the point of a user, and gets it ready for its handlers. */
static int place_user(struct kprobe_user *user)
{
	struct kprobe_point *pt;
	struct module *mod;
	int ret;

	if (user_of(user->kp))
		return -EINVAL;

	ret = check_site(user->addr, &mod);
	if (ret)
		return ret;

	pt = find_point(user->addr);
	if (!pt) {
		ret = -ENOMEM;
		pt = kzalloc(sizeof(*pt), GFP_KERNEL);
		if (!pt)
			goto out_put;
		pt->node.key = user->addr;
		pt->kp.addr = (kprobe_opcode_t *)user->addr;
		pt->kp.pre_handler = kprobe_run_pre;
		if (user->entry)
			pt->kp.flags |= KPROBE_FLAG_ON_FUNC_ENTRY;
		INIT_LIST_HEAD(&pt->users);
		INIT_LIST_HEAD(&pt->faulters);
		INIT_LIST_HEAD(&pt->kp.list);
#ifdef __ARCH_KPROBES_DETOUR
		INIT_LIST_HEAD(&pt->opt);
#endif
		ret = prepare_point(pt);
		if (ret)
			goto out_free;
		ret = addr_table_reserve(&kprobe_point_table, 1);
		if (ret)
			goto out_release;
		addr_table_add(&kprobe_point_table, &pt->node);
		list_add_tail(&pt->all, &kprobe_points);
	}

	ret = want_post(pt, user);
	if (ret && !pt->nr_users) {
		list_del(&pt->all);
		addr_table_del(&kprobe_point_table, &pt->node);
		goto out_release;
	}
	if (ret)
		goto out_put;

	pt->nr_users++;
	user->point = pt;
	user->kp->addr = (kprobe_opcode_t *)user->addr;
	user->kp->opcode = pt->kp.opcode;
	/* From here on the same structure given twice is found out. */
	addr_table_add(&user_table, &user->node);
	module_put(mod);
	return 0;

out_release:
	release_point(pt);
out_free:
	/* A hit on another CPU may just have looked the point up. */
	kfree_rcu(pt, rcu);
out_put:
	module_put(mod);
	return ret;
}

/* The reverse of place_user(), for points that are not armed by it. */
static void displace_user(struct kprobe_user *user)
{
	struct kprobe_point *pt = user->point;

	addr_table_del(&user_table, &user->node);
	user->point = NULL;
	pt->nr_users--;
	unwant_post(pt, user);
	if (pt->nr_users)
		return;
	list_del(&pt->all);
	addr_table_del(&kprobe_point_table, &pt->node);
	release_point(pt);
	kfree_rcu(pt, rcu);
}

/*
 * The flags that readers of the user's structure see. Its DISABLED bit is the
 * only one that is an input, and that only when registering.
 */
static void report_flags(struct kprobe_user *user)
{
	u32 flags = user->point->kp.flags & (KPROBE_FLAG_FTRACE |
					     KPROBE_FLAG_OPTIMIZED |
					     KPROBE_FLAG_ON_FUNC_ENTRY);

	if (!user->enabled)
		flags |= KPROBE_FLAG_DISABLED;
	if (user->point->gone)
		flags |= KPROBE_FLAG_GONE;
	WRITE_ONCE(user->kp->flags, flags);
}

/**
 * kprobe_point_report - the probes of a point show its state to their users
 * @pt: the point
 *
 * Context: kprobe_mutex held.
 */
void kprobe_point_report(struct kprobe_point *pt)
{
	struct kprobe_user *user;

	list_for_each_entry(user, &pt->users, list)
		report_flags(user);
}

/* What most hits need to know: after any change to the users of a point. */
static void choose_only(struct kprobe_point *pt)
{
	struct kprobe_user *user = NULL;

	if (list_is_singular(&pt->users)) {
		user = list_first_entry(&pt->users, struct kprobe_user, list);
		if (!user->enabled || !user->pre)
			user = NULL;
	}
	/* Pairs with the dependent reads of kprobe_run_pre(). */
	smp_store_release(&pt->only, user);
}

#ifdef __ARCH_KPROBES_DETOUR
/**
 * kprobe_only - the probe of a point that has just one
 * @p:	     the point
 * @handler: what to call is stored here
 *
 * Context: kprobe_mutex held. Holds until kprobe_optimizer_undo() of the point.
 * Return: what to call the handler with; NULL if the point has
 * more to run in front of the instruction, or nothing.
 */
struct kprobe *kprobe_only(struct kprobe *p, kprobe_pre_handler_t *handler)
{
	struct kprobe_user *user = to_point(p)->only;

	if (!user)
		return NULL;
	*handler = user->pre;
	return user->self;
}

/**
 * kprobe_wants_post - may post-handlers run at a point?
 * @p: the point
 *
 * Context: kprobe_mutex held. Holds until kprobe_optimizer_undo() of the point.
 * Return: true if a probe there has one, be it disabled.
 */
bool kprobe_wants_post(struct kprobe *p)
{
	return to_point(p)->nr_want_post;
}
#endif

/* Keeps what depends on the enabled users of a point in line with them. */
static void count_user(struct kprobe_user *user, int sign)
{
	struct kprobe_point *pt = user->point;

	pt->nr_enabled += sign;
	if (user->post)
		pt->nr_post += sign;
	WRITE_ONCE(pt->kp.post_handler, pt->nr_post ? kprobe_run_post : NULL);
	if (pt->nr_enabled)
		pt->kp.flags &= ~KPROBE_FLAG_DISABLED;
	else
		pt->kp.flags |= KPROBE_FLAG_DISABLED;
}

/* -------------------------- Arming, in batches -------------------------- */

static void batch_add(struct kprobe_point *pt, struct list_head *batch)
{
	if (pt->batched)
		return;
	pt->batched = true;
	list_add_tail(&pt->kp.list, batch);
}

static void batch_end(struct list_head *batch)
{
	struct kprobe_point *pt, *next;

	list_for_each_entry_safe(pt, next, batch, kp.list) {
		pt->batched = false;
		list_del_init(&pt->kp.list);
	}
}

#ifndef __ARCH_KPROBES_BATCH
static void arch_arm_kprobes(struct list_head *points)
{
	struct kprobe *p;

	list_for_each_entry(p, points, list)
		arch_arm_kprobe(p);
}

static void arch_disarm_kprobes(struct list_head *points)
{
	struct kprobe *p;

	list_for_each_entry(p, points, list)
		arch_disarm_kprobe(p);
}
#endif

/*
 * Returns when no handler of the points runs any more that saw what the caller
 * has changed about them.
 */
#ifdef __ARCH_KPROBES_NEST
/*
 * A hit stores the point in kprobe_cpu::running before it looks at the users
 * of the point, and clears it when the last handler has returned. So after
 * arch_kprobes_sync() has interrupted each CPU, which orders memory there, a
 * CPU either shows the point to us or will see what we have changed. Handlers
 * of breakpoints run with interrupts off: the interrupt itself outlasts them.
 *
 * A point that stays armed may be hit again and again while we look. Handlers
 * run with preemption off, so a grace period ends that, should it last.
 */
#define QUIESCE_SPINS	100
#define QUIESCE_TRIES	20

/*
 * A late return handler may show a point that is freed: compare, no more. The
 * code that an odd value leads to is not reused before we have scheduled.
 */
static bool runs_any(int cpu, struct list_head *points)
{
	struct kprobe_cpu *kc = per_cpu_ptr(&kprobe_cpu, cpu);
	struct kprobe *p, *running;
	unsigned int i;

	for (i = 0; i < KPROBE_NR_CTX; i++) {
		running = kprobe_running_point(READ_ONCE(kc->running[i]));
		if (!running || running == &busy_point.kp)
			continue;
		list_for_each_entry(p, points, list) {
			if (p == running)
				return true;
		}
	}
	return false;
}

static void quiesce(struct list_head *points)
{
	unsigned int tries = 0, spins;
	int cpu;

	/* Who comes up now starts with what we have changed. */
	guard(cpus_read_lock)();
	arch_kprobes_sync();

	for_each_online_cpu(cpu) {
		for (spins = 0; runs_any(cpu, points); spins++) {
			cpu_relax();
			if (spins < QUIESCE_SPINS)
				continue;
			if (tries++ == QUIESCE_TRIES) {
				synchronize_rcu();
				goto quiet;
			}
			schedule_timeout_uninterruptible(1);
			spins = 0;
		}
	}
quiet:
	kprobe_optimizer_free(points);
}
#else
static void quiesce(struct list_head *points)
{
	/* Handlers run with preemption off, and so are readers of RCU. */
	synchronize_rcu();
}
#endif

static void split_ftrace(struct list_head *points, struct list_head *ftrace)
{
	struct kprobe *p, *next;

	list_for_each_entry_safe(p, next, points, list) {
		if (kprobe_ftrace(p))
			list_move_tail(&p->list, ftrace);
	}
}

/* All or nothing; only ftrace can say no. The list is whole again on return. */
static int arm_points(struct list_head *points)
{
	struct kprobe_point *pt;
	LIST_HEAD(ftrace);
	int ret = 0;

	split_ftrace(points, &ftrace);
	if (!list_empty(&ftrace))
		ret = kprobe_ftrace_arm(&ftrace);
	if (!ret && !list_empty(points))
		arch_arm_kprobes(points);
	list_splice_tail(&ftrace, points);
	if (ret)
		return ret;

	list_for_each_entry(pt, points, kp.list)
		pt->armed = true;
	return 0;
}

/* The callers call quiesce() before anything else happens to the points. */
static void disarm_points(struct list_head *points)
{
	struct kprobe_point *pt, *next;
	LIST_HEAD(ftrace);
	LIST_HEAD(jumps);

	split_ftrace(points, &ftrace);
	if (!list_empty(&ftrace))
		kprobe_ftrace_disarm(&ftrace);
	list_for_each_entry_safe(pt, next, points, kp.list) {
		if (kprobe_is_jump(pt))
			list_move_tail(&pt->kp.list, &jumps);
	}
	if (!list_empty(points)) {
		arch_disarm_kprobes(points);
		kprobe_optimizer_undo(points, KPROBE_RESTORE_NOTHING);
	}
	kprobe_optimizer_undo(&jumps, KPROBE_RESTORE_ORIGINAL);
	list_splice_tail(&jumps, points);
	list_splice_tail(&ftrace, points);

	list_for_each_entry(pt, points, kp.list)
		pt->armed = false;
}

/* ----------------------------- Registering ------------------------------ */

/**
 * kprobe_user_alloc - make a user out of what somebody wants to register
 * @kp: the probe
 *
 * Context: may sleep.
 * Return: the user, to be registered or freed; or an ERR_PTR with the errors
 * of register_kprobe().
 */
struct kprobe_user *kprobe_user_alloc(struct kprobe *kp)
{
	struct kprobe_user *user;
	int ret;

	if (!kp)
		return ERR_PTR(-EINVAL);
	user = kzalloc(sizeof(*user), GFP_KERNEL);
	if (!user)
		return ERR_PTR(-ENOMEM);
	user->node.key = (unsigned long)kp;
	user->kp = kp;
	ret = resolve(kp->addr, kp->symbol_name, kp->offset, &user->addr,
		      &user->entry);
	if (!ret)
		ret = kprobe_fault_alloc(user);
	if (ret) {
		kfree(user);
		return ERR_PTR(ret);
	}
	user->pre = kp->pre_handler;
	user->self = kp;
	user->post = kp->post_handler;
	user->enabled = !(kp->flags & KPROBE_FLAG_DISABLED);
	return user;
}

/**
 * kprobe_user_free - free a user that is not registered
 * @user: the user; an error pointer or NULL is ignored
 *
 * Context: may sleep.
 */
void kprobe_user_free(struct kprobe_user *user)
{
	if (IS_ERR_OR_NULL(user))
		return;
	if (user->pool)
		kretprobe_pool_free(user->pool);
	kprobe_fault_free(user);
	kfree(user);
}

/* What registration overwrites in the user's structure before it can fail. */
struct undo {
	struct kprobe_user *user;
	kprobe_opcode_t *addr;
	kprobe_opcode_t opcode;
};

static int undo_cmp(const void *a, const void *b)
{
	const struct undo *x = a, *y = b;

	if (x->user->addr != y->user->addr)
		return x->user->addr < y->user->addr ? -1 : 1;
	return 0;
}

/*
 * What the optimizer has made of the points so far does not fit the new users:
 * of their points, and of those whose jumps replace the text of others.
 */
static void undo_jumps(struct undo *order, int num)
{
	struct kprobe_point *over;
	LIST_HEAD(batch);
	int i;

	for (i = 0; i < num; i++) {
		batch_add(order[i].user->point, &batch);
		over = kprobe_optimizer_over(order[i].user->addr);
		if (over)
			batch_add(over, &batch);
	}
	kprobe_optimizer_undo(&batch, KPROBE_RESTORE_BREAKPOINT);
	batch_end(&batch);
}

/* An obstacle for the jump of the point in front of it is gone. */
static void obstacle_gone(unsigned long addr)
{
	struct kprobe_point *over = kprobe_optimizer_over(addr);

	if (over)
		kprobe_optimizer_want(over);
}

static void make_visible(struct kprobe_user *user)
{
	struct kprobe *kp = user->kp;

	kp->nmissed = 0;
	INIT_LIST_HEAD(&kp->list);
	/* So that hlist_unhashed() tells what is registered. */
	INIT_HLIST_NODE(&kp->hlist);
	hlist_add_fake(&kp->hlist);

	if (user->pool)
		kretprobe_pool_ready(user);
	count_user(user, user->enabled);
	report_flags(user);
	kprobe_fault_add(user);
	list_add_tail_rcu(&user->list, &user->point->users);
	choose_only(user->point);
}

/**
 * kprobe_users_register - register a batch
 * @users: from kprobe_user_alloc(); theirs if this succeeds, else still ours
 * @num:   how many
 *
 * Context: may sleep; not from a handler, nor with kprobe_mutex held.
 * Return: 0 with all of them registered, or an errno of register_kprobe() with
 * nothing changed.
 */
int kprobe_users_register(struct kprobe_user **users, int num)
{
	struct undo single, *order = &single;
	bool sorted = true;
	LIST_HEAD(batch);
	int i, ret;

	if (num > 1) {
		order = kvmalloc_array(num, sizeof(*order), GFP_KERNEL);
		if (!order)
			return -ENOMEM;
	}
	for (i = 0; i < num; i++) {
		order[i].user = users[i];
		order[i].addr = users[i]->kp->addr;
		order[i].opcode = users[i]->kp->opcode;
		if (i && users[i]->addr < users[i - 1]->addr)
			sorted = false;
	}
	/* As symbols are listed, more often than not. */
	if (!sorted)
		sort(order, num, sizeof(*order), undo_cmp, NULL);

	mutex_lock(&kprobe_mutex);
	ret = initialised ? addr_table_reserve(&user_table, num) : -EAGAIN;
	if (ret)
		goto out;

	arch_kprobes_batch(true);
	for (i = 0; i < num; i++) {
		ret = place_user(order[i].user);
		if (ret)
			break;
	}
	arch_kprobes_batch(false);
	if (ret)
		goto displace;
	undo_jumps(order, num);

	for (i = 0; i < num; i++) {
		if (users[i]->enabled && !users[i]->point->armed && !switched_off)
			batch_add(users[i]->point, &batch);
	}
	i = num;
	ret = arm_points(&batch);
	batch_end(&batch);
	if (ret)
		goto displace;

	for (i = 0; i < num; i++)
		make_visible(users[i]);
	for (i = 0; i < num; i++) {
		kprobe_optimizer_want(users[i]->point);
		/* A jump that had to go may be possible in another form. */
		obstacle_gone(users[i]->addr);
	}
	goto out;

displace:
	while (i--) {
		if (order[i].user->point->nr_users > 1)
			kprobe_optimizer_want(order[i].user->point);
		displace_user(order[i].user);
		obstacle_gone(order[i].user->addr);
		order[i].user->kp->addr = order[i].addr;
		order[i].user->kp->opcode = order[i].opcode;
	}
out:
	mutex_unlock(&kprobe_mutex);
	if (order != &single)
		kvfree(order);
	return ret;
}

/**
 * register_kprobe - set a probe
 * @p: the probe, see struct kprobe for what to fill in
 *
 * Context: may sleep. Not from a handler.
 * Return: 0, and the handlers run on every hit from now on, @p->addr being the
 * address that carries the probe. Or, with nothing changed:
 *
 * * -EINVAL: neither or both of a symbol and an address are given; the probe
 *   is registered already; the target is no kernel text, or text that must not
 *   be probed or that others patch
 * * -ENOENT: no such symbol, or none that covers the address
 * * -EILSEQ: not the start of an instruction, or of one that cannot be probed
 * * -ENOMEM
 */
int register_kprobe(struct kprobe *p)
{
	return register_kprobes(&p, 1);
}
EXPORT_SYMBOL_GPL(register_kprobe);

/**
 * register_kprobes - set many probes at once
 * @kps: the probes
 * @num: how many
 *
 * Cheaper by far than one by one: the text is patched in one round for all.
 *
 * Context: may sleep. Not from a handler.
 * Return: 0 with all of them registered; or the error of one of them, see
 * register_kprobe(), with none registered. -EINVAL too if @num is not positive
 * or @kps is NULL.
 */
int register_kprobes(struct kprobe **kps, int num)
{
	struct kprobe_user *single, **users = &single;
	int i, ret = 0;

	if (num <= 0 || !kps)
		return -EINVAL;
	if (num > 1) {
		users = kvcalloc(num, sizeof(*users), GFP_KERNEL);
		if (!users)
			return -ENOMEM;
	}

	for (i = 0; i < num; i++) {
		users[i] = kprobe_user_alloc(kps[i]);
		if (IS_ERR(users[i])) {
			ret = PTR_ERR(users[i]);
			break;
		}
	}
	if (!ret)
		ret = kprobe_users_register(users, num);
	if (ret) {
		while (i--)
			kprobe_user_free(users[i]);
	}
	if (users != &single)
		kvfree(users);
	return ret;
}
EXPORT_SYMBOL_GPL(register_kprobes);

/* ---------------------------- Unregistering ----------------------------- */

static void free_point(struct kprobe_point *pt)
{
	list_del(&pt->all);
	if (!pt->gone) {
		obstacle_gone(pt->node.key);
		release_point(pt);
	}
	kfree_rcu(pt, rcu);
}

/**
 * kprobe_users_unregister - unregister a batch
 * @array: what the caller was given
 * @num:   how many
 * @nth:   takes the probes out of it
 *
 * Context: may sleep; not from a handler.
 */
void kprobe_users_unregister(void *array, int num, kprobe_nth_t nth)
{
	struct kprobe_point *pt, *next_pt;
	struct kprobe_user *user, *next;
	LIST_HEAD(disarm);
	LIST_HEAD(leaving);
	LIST_HEAD(quiet);
	bool wait = false;
	bool again = false;
	int i;

	mutex_lock(&kprobe_mutex);

	for (i = 0; i < num; i++) {
		struct kprobe *kp = nth(array, i);

		if (!kp)
			continue;
		user = user_of(kp);
		if (!user) {
			kp->addr = NULL;
			continue;
		}
		pt = user->point;
		addr_table_del(&user_table, &user->node);
		list_del_rcu(&user->list);
		choose_only(pt);
		list_add_tail(&user->batch, &leaving);
		INIT_HLIST_NODE(&kp->hlist);
		/* Handlers of one that is off have ended when it was switched. */
		if (user->enabled || user->pool || pt->held)
			wait = true;
		if (user->enabled)
			count_user(user, -1);
		pt->nr_users--;
		unwant_post(pt, user);
		if (user->pool)
			kretprobe_pool_stop(user->pool);
	}

	list_for_each_entry(user, &leaving, batch) {
		pt = user->point;
		if (pt->armed && !pt->nr_enabled)
			batch_add(pt, &disarm);
		else
			batch_add(pt, &quiet);
	}
	disarm_points(&disarm);
	list_splice(&disarm, &quiet);

	/*
	 * The text of a point is restored before the point is unlinked, and it
	 * is unlinked before we wait: who takes the breakpoint late finds no
	 * point, sees that there is no breakpoint either, and goes on.
	 */
	list_for_each_entry(pt, &quiet, kp.list) {
		if (!pt->nr_users && !pt->gone)
			addr_table_del(&kprobe_point_table, &pt->node);
	}

	if (wait)
		quiesce(&quiet);
	/* Their last handlers could still fault: see fault.c. */
	list_for_each_entry(user, &leaving, batch)
		again |= kprobe_fault_del(user);
	if (again)
		quiesce(&quiet);

	list_for_each_entry_safe(pt, next_pt, &quiet, kp.list) {
		pt->batched = false;
		list_del_init(&pt->kp.list);
		if (!pt->nr_users)
			free_point(pt);
	}
	list_for_each_entry_safe(user, next, &leaving, batch) {
		user->kp->flags &= KPROBE_FLAG_DISABLED;
		if (user->pool)
			kretprobe_pool_free(user->pool);
		kprobe_fault_free(user);
		kfree_rcu(user, rcu);
	}

	mutex_unlock(&kprobe_mutex);
}

static struct kprobe *nth_kprobe(void *array, int i)
{
	return ((struct kprobe **)array)[i];
}

/**
 * unregister_kprobe - take a probe out
 * @p: the probe
 *
 * A probe that is not registered has its addr cleared, nothing else.
 *
 * Context: may sleep. Not from a handler.
 * On return no handler of the probe runs, nor ever will: it may be freed.
 */
void unregister_kprobe(struct kprobe *p)
{
	unregister_kprobes(&p, 1);
}
EXPORT_SYMBOL_GPL(unregister_kprobe);

/**
 * unregister_kprobes - take many probes out at once
 * @kps: the probes
 * @num: how many
 *
 * Those that are not registered have their addr cleared and do not hinder the
 * others.
 *
 * Context: may sleep. Not from a handler.
 * On return no handler of any of them runs, nor ever will.
 */
void unregister_kprobes(struct kprobe **kps, int num)
{
	if (num > 0 && kps)
		kprobe_users_unregister(kps, num, nth_kprobe);
}
EXPORT_SYMBOL_GPL(unregister_kprobes);

/* ------------------------ Switching off and on -------------------------- */

/* True if the text of a point is changed later, by kprobes_settle(). */
static bool hold(struct kprobe_point *pt)
{
	if (READ_ONCE(holder) != current)
		return false;
	pt->held = true;
	return true;
}

/**
 * disable_kprobe - switch a probe's handlers off
 * @p: a registered probe
 *
 * A point all of whose probes are off is disarmed: it costs nothing.
 *
 * Context: may sleep. Not from a handler.
 * Return: 0, also if it was off already; and no handler of the probe starts
 * any more. -EINVAL if it is not registered or its text is gone.
 */
int disable_kprobe(struct kprobe *p)
{
	struct kprobe_user *user;
	struct kprobe_point *pt;
	LIST_HEAD(batch);

	guard(mutex)(&kprobe_mutex);

	user = user_of(p);
	if (!user || user->point->gone)
		return -EINVAL;
	if (!user->enabled)
		return 0;

	pt = user->point;
	WRITE_ONCE(user->enabled, false);
	choose_only(pt);
	count_user(user, -1);
	report_flags(user);
	if (!pt->nr_enabled && hold(pt))
		return 0;
	batch_add(pt, &batch);
	if (!pt->nr_enabled && pt->armed)
		disarm_points(&batch);
	quiesce(&batch);
	if (kprobe_fault_switch(user, false))
		quiesce(&batch);
	batch_end(&batch);
	return 0;
}
EXPORT_SYMBOL_GPL(disable_kprobe);

/**
 * enable_kprobe - switch a probe's handlers on again
 * @p: a registered probe
 *
 * Context: may sleep. Not from a handler.
 * Return: 0, also if it was on already. -EINVAL if it is not registered or its
 * text is gone. Where the probe uses ftrace, an error of ftrace's, with the
 * probe still off.
 */
int enable_kprobe(struct kprobe *p)
{
	struct kprobe_user *user;
	struct kprobe_point *pt;
	LIST_HEAD(batch);
	int ret = 0;

	guard(mutex)(&kprobe_mutex);

	user = user_of(p);
	if (!user || user->point->gone)
		return -EINVAL;
	if (user->enabled)
		return 0;

	pt = user->point;
	/* Whether ftrace lets it change the instruction pointer, it must hear. */
	if (!pt->armed && !switched_off && (pt->nr_want_post || !hold(pt))) {
		batch_add(pt, &batch);
		ret = arm_points(&batch);
		batch_end(&batch);
		if (ret)
			return ret;
	}
	count_user(user, 1);
	kprobe_fault_switch(user, true);
	WRITE_ONCE(user->enabled, true);
	choose_only(pt);
	report_flags(user);
	kprobe_optimizer_want(pt);
	return 0;
}
EXPORT_SYMBOL_GPL(enable_kprobe);

/*
 * One site that ftrace has given to somebody else meanwhile must not keep all
 * other probes off.
 */
static void arm_what_can_be(struct list_head *points)
{
	struct kprobe_point *pt, *next;
	LIST_HEAD(done);
	LIST_HEAD(one);
	int ret;

	list_for_each_entry_safe(pt, next, points, kp.list) {
		list_move(&pt->kp.list, &one);
		ret = arm_points(&one);
		if (ret)
			pr_warn("%pS stays off: %d\n", pt->kp.addr, ret);
		list_splice_tail_init(&one, &done);
	}
	list_splice(&done, points);
}

/**
 * kprobes_hold - from here on change text for many switches at once
 *
 * What the caller switches with enable_kprobe() and disable_kprobe(), and the
 * same of return probes, has its full effect when kprobes_settle() returns: an
 * enabled probe may not be hit before, and a handler of a disabled one may
 * run. All that others do, and what the caller does otherwise, is as ever.
 *
 * Context: may sleep.
 * Return: true if kprobes_settle() is to be called; false if somebody else has
 * not settled yet, and each switch is on its own.
 */
bool kprobes_hold(void)
{
	return !cmpxchg(&holder, NULL, current);
}
EXPORT_SYMBOL_GPL(kprobes_hold);

/**
 * kprobes_settle - change the text for all that was switched
 *
 * A point that cannot be armed, for want of memory, stays off and the kernel's
 * log has it.
 *
 * Context: may sleep, the task that kprobes_hold() returned true to.
 */
void kprobes_settle(void)
{
	struct kprobe_point *pt;
	LIST_HEAD(arm);
	LIST_HEAD(disarm);
	LIST_HEAD(quiet);
	bool on;

	guard(mutex)(&kprobe_mutex);

	WRITE_ONCE(holder, NULL);
	/* Others may have armed or disarmed some of them meanwhile. */
	list_for_each_entry(pt, &kprobe_points, all) {
		if (!pt->held)
			continue;
		pt->held = false;
		on = pt->nr_enabled && !switched_off;
		if (pt->gone || pt->armed == on)
			batch_add(pt, &quiet);
		else
			batch_add(pt, on ? &arm : &disarm);
	}

	if (arm_points(&arm))
		arm_what_can_be(&arm);
	list_for_each_entry(pt, &arm, kp.list)
		kprobe_optimizer_want(pt);
	batch_end(&arm);

	disarm_points(&disarm);
	list_splice(&disarm, &quiet);
	if (!list_empty(&quiet))
		quiesce(&quiet);
	batch_end(&quiet);
}
EXPORT_SYMBOL_GPL(kprobes_settle);

/**
 * kprobes_switch - arm what is enabled, or disarm everything
 * @on: which
 *
 * Context: may sleep.
 */
void kprobes_switch(bool on)
{
	struct kprobe_point *pt;
	LIST_HEAD(batch);

	guard(mutex)(&kprobe_mutex);

	if (switched_off == !on)
		return;

	list_for_each_entry(pt, &kprobe_points, all) {
		if (!pt->gone && (on ? pt->nr_enabled && !pt->armed : pt->armed))
			batch_add(pt, &batch);
	}
	if (on) {
		if (arm_points(&batch))
			arm_what_can_be(&batch);
		list_for_each_entry(pt, &batch, kp.list)
			kprobe_optimizer_want(pt);
	} else {
		disarm_points(&batch);
		quiesce(&batch);
	}
	batch_end(&batch);
	switched_off = !on;
}

/**
 * kprobes_switched_on - the state of the master switch
 *
 * Context: any.
 * Return: true if points are armed.
 */
bool kprobes_switched_on(void)
{
	return !READ_ONCE(switched_off);
}

/* --------------------------- Text that goes ----------------------------- */

/*
 * Takes the points in [start, end) out of service; the users stay, marked,
 * until they unregister. Text that nobody runs any more is left as it is, but
 * @running text, say initialisation that goes on asynchronously, is restored.
 */
static void text_gone(unsigned long start, unsigned long end, bool running)
{
	struct kprobe_point *pt, *next;
	LIST_HEAD(disarm);
	LIST_HEAD(dead);

	list_for_each_entry(pt, &kprobe_points, all) {
		if (pt->gone || pt->node.key < start || pt->node.key >= end)
			continue;
		/* ftrace's own records go with the text; our filter must too. */
		if (pt->armed && (running || kprobe_ftrace(&pt->kp)))
			batch_add(pt, &disarm);
		else
			batch_add(pt, &dead);
	}
	disarm_points(&disarm);
	kprobe_optimizer_undo(&dead, KPROBE_RESTORE_NOTHING);
	list_splice(&disarm, &dead);

	list_for_each_entry(pt, &dead, kp.list)
		addr_table_del(&kprobe_point_table, &pt->node);
	if (!list_empty(&dead))
		quiesce(&dead);

	list_for_each_entry_safe(pt, next, &dead, kp.list) {
		pt->batched = false;
		list_del_init(&pt->kp.list);
		pt->armed = false;
		pt->gone = true;
		pt->kp.flags |= KPROBE_FLAG_GONE;
		release_point(pt);
		kprobe_point_report(pt);
	}
}

/**
 * kprobe_free_init_mem - the kernel's init text is about to be freed
 *
 * Context: may sleep.
 */
void kprobe_free_init_mem(void)
{
	guard(mutex)(&kprobe_mutex);
	text_gone((unsigned long)__init_begin, (unsigned long)__init_end, false);
}

#ifdef CONFIG_MODULES
static int module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *mod = data;
	int ret = 0;

	guard(mutex)(&kprobe_mutex);

	switch (event) {
	case MODULE_STATE_COMING:
		ret = kprobe_blacklist_add_module(mod);
		break;
	case MODULE_STATE_LIVE:
	case MODULE_STATE_GOING:
		for_class_mod_mem_type(type, text) {
			struct module_memory *mem = &mod->mem[type];

			/* Of a live module, init text is freed right after. */
			if (!mem->size || (event == MODULE_STATE_LIVE &&
					   type != MOD_INIT_TEXT))
				continue;
			text_gone((unsigned long)mem->base,
				  (unsigned long)mem->base + mem->size,
				  event == MODULE_STATE_LIVE);
		}
		kprobe_blacklist_del_module(mod, event == MODULE_STATE_GOING);
		break;
	}
	return notifier_from_errno(ret);
}

/*
 * Before the tracers' notifier, which sets probes on modules that come: the
 * blacklist must know the module by then.
 */
static struct notifier_block module_nb = {
	.notifier_call = module_event,
	.priority = 3,
};
#endif /* CONFIG_MODULES */

/* ------------------------------- Start ---------------------------------- */

/* Early: what was running may hit a probe as soon as one can be set. */
int __weak kprobe_exceptions_notify(struct notifier_block *self, unsigned long val,
				    void *data)
{
	return NOTIFY_DONE;
}
NOKPROBE_SYMBOL(kprobe_exceptions_notify);

static struct notifier_block exceptions_nb = {
	.notifier_call = kprobe_exceptions_notify,
	.priority = INT_MAX,
};

static int __init kprobes_init(void)
{
	int ret;

	ret = kprobe_blacklist_init();
	if (ret) {
		pr_err("no probes: cannot make the blacklist: %d\n", ret);
		return ret;
	}
	kretprobe_init();

	ret = register_die_notifier(&exceptions_nb);
#ifdef CONFIG_MODULES
	if (!ret)
		ret = register_module_notifier(&module_nb);
#endif
	if (ret)
		return ret;

	/* Some architectures set a probe of their own. */
	initialised = true;
	ret = arch_init_kprobes();
	if (ret)
		initialised = false;
	return ret;
}
early_initcall(kprobes_init);
