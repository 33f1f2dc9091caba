// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: return probes.
 *
 * A return probe is a user of the point at a function's entry. When that is
 * hit, an instance from the probe's pool takes the place of the call: it keeps
 * the true return address, a trampoline replaces it on the stack, and what the
 * handlers share travels in the instance. When the function returns, into the
 * trampoline, the return handler runs and the instance goes back.
 *
 * Architectures that choose rethook leave the book-keeping of calls to it. For
 * the others it is done here: the calls of a task that are under way are a list
 * in the task, newest first, which only the task itself changes. What
 * interrupts it, be it between any two instructions, puts its own calls in
 * front and has taken them out again when it returns.
 *
 * An instance may outlive its probe by as long as a call takes. Neither it nor
 * the pool is reached through the user's structure, so that one may go.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/rethook.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "internal.h"

/* How many calls may be under way if the user does not say. */
static int default_maxactive(void)
{
	return max(10U, 2 * num_possible_cpus());
}

/* ---------------------------- Book-keeping ------------------------------ */

#ifdef CONFIG_KRETPROBE_ON_RETHOOK

static void kretprobe_returned(struct rethook_node *node, void *data,
			       unsigned long ret_addr, struct pt_regs *regs);

static struct kretprobe_pool *pool_alloc(size_t size, int nr, bool grows)
{
	struct kretprobe_pool *pool = kzalloc(sizeof(*pool), GFP_KERNEL);

	if (!pool)
		return ERR_PTR(-ENOMEM);
	pool->rh = rethook_alloc(pool, kretprobe_returned, size, nr);
	if (IS_ERR(pool->rh)) {
		void *err = pool->rh;

		kfree(pool);
		return err;
	}
	return pool;
}

static void pool_stop(struct kretprobe_pool *pool)
{
	rethook_stop(pool->rh);
}

static void pool_release(struct kretprobe_pool *pool)
{
	/* Calls that are under way outlive the pool: get_kretprobe() */
	WRITE_ONCE(pool->rh->data, NULL);
	rethook_free(pool->rh);
	kfree_rcu(pool, rcu);
}

static __always_inline struct kretprobe_instance *pool_get(struct kretprobe_pool *pool)
{
	struct rethook_node *node = rethook_try_get(pool->rh);

	return node ? container_of(node, struct kretprobe_instance, node) : NULL;
}

static __always_inline void pool_put(struct kretprobe_instance *ri)
{
	rethook_recycle(&ri->node);
}

static __always_inline void hook_call(struct kretprobe_instance *ri,
				      struct pt_regs *regs)
{
	rethook_hook(&ri->node, regs, false);
}

static __always_inline void describe_call(struct kretprobe_instance *ri,
					  struct pt_regs *regs)
{
	ri->node.ret_addr = 0;
}

static __always_inline struct kretprobe_pool *pool_of(struct kretprobe_instance *ri)
{
	return READ_ONCE(ri->node.rethook->data);
}

static __always_inline unsigned long true_return_address(struct kretprobe_instance *ri)
{
	struct llist_node *cur = NULL;

	if (likely(!is_rethook_trampoline(ri->node.ret_addr)))
		return ri->node.ret_addr;
	return rethook_find_ret_addr(current, ri->node.frame, &cur);
}

#else /* !CONFIG_KRETPROBE_ON_RETHOOK */

#define pool_alloc	kretprobe_pool_alloc
#define pool_release	kretprobe_pool_release
#define pool_get	kretprobe_pool_get
#define pool_put	kretprobe_pool_put

static void pool_stop(struct kretprobe_pool *pool)
{
}

/* What get_kretprobe_retaddr() is to find in an entry handler. */
static __always_inline void describe_call(struct kretprobe_instance *ri,
					  struct pt_regs *regs)
{
#ifdef CONFIG_ARCH_HAS_KRETPROBE_ON_STACK
	unsigned long *slot = (unsigned long *)kernel_stack_pointer(regs);

	ri->ret_addr = (kprobe_opcode_t *)*slot;
	ri->fp = slot;
	ri->llist.next = current->kretprobe_instances.first;
#else
	/* Where it is, only arch_prepare_kretprobe() knows. */
	ri->ret_addr = NULL;
	ri->llist.next = NULL;
#endif
}

/* First to be found by unwinders that interrupt us, then to be looked for. */
static __always_inline void hook_call(struct kretprobe_instance *ri,
				      struct pt_regs *regs)
{
	struct llist_head *calls = &current->kretprobe_instances;
#ifdef CONFIG_ARCH_HAS_KRETPROBE_ON_STACK
	unsigned long *slot = (unsigned long *)kernel_stack_pointer(regs);

	describe_call(ri, regs);
	barrier();
	WRITE_ONCE(calls->first, &ri->llist);
	barrier();
	WRITE_ONCE(*slot, (unsigned long)__kretprobe_trampoline);
#else
	arch_prepare_kretprobe(ri, regs);
	__llist_add(&ri->llist, calls);
#endif
}

static __always_inline struct kretprobe_pool *pool_of(struct kretprobe_instance *ri)
{
	return ri->pool;
}

static __always_inline struct kretprobe_instance *to_instance(struct llist_node *node)
{
	return container_of(node, struct kretprobe_instance, llist);
}

/*
 * The call whose frame is returned from. Probes that share a function, or
 * functions that end in a jump to another, stack several instances on one
 * return address: all but the oldest of them keep the trampoline's.
 */
static __always_inline struct kretprobe_instance *outermost(struct llist_node *node)
{
	struct kretprobe_instance *ri;

	for (; node; node = node->next) {
		ri = to_instance(node);
		if (!is_kretprobe_trampoline((unsigned long)ri->ret_addr))
			return ri;
	}
	return NULL;
}

/* Others who swap return addresses may have been there before us. */
static __always_inline unsigned long true_return_address(struct kretprobe_instance *ri)
{
	struct kretprobe_instance *last = outermost(&ri->llist);
	unsigned long addr = (unsigned long)last->ret_addr;
#ifdef CONFIG_ARCH_HAS_KRETPROBE_ON_STACK
	struct llist_node *next = &last->llist;
	struct llist_node __maybe_unused *cur = NULL;
	unsigned long prev;
	int idx = 0;

	do {
		prev = addr;
		addr = ftrace_graph_ret_addr(current, &idx, addr, last->fp);
#ifdef CONFIG_RETHOOK
		if (is_rethook_trampoline(addr))
			addr = rethook_find_ret_addr(current, (unsigned long)last->fp, &cur);
#endif
		if (is_kretprobe_trampoline(addr))
			addr = kretprobe_find_ret_addr(current, last->fp, &next);
	} while (addr != prev);
#endif
	return addr;
}

#endif /* CONFIG_KRETPROBE_ON_RETHOOK */

/* ------------------------- Entry and return ----------------------------- */

/* A probed function is being called. */
static __always_inline void kretprobe_enter(struct kretprobe_pool *pool,
					    struct kretprobe_instance *ri,
					    struct pt_regs *regs)
{
	struct kretprobe *rp;

	if (unlikely(!ri)) {
		rp = READ_ONCE(pool->rp);
		BUILD_BUG_ON(sizeof(rp->nmissed) != sizeof(atomic_t));
		if (rp)
			raw_atomic_inc((atomic_t *)&rp->nmissed);
		return;
	}
	if (pool->entry_handler) {
		describe_call(ri, regs);
		if (pool->entry_handler(ri, regs)) {
			pool_put(ri);
			return;
		}
	}
	hook_call(ri, regs);
}

/*
 * The pre-handler of a return probe. @self is the pool; see struct kprobe_user.
 */
static noinline int __kprobe_hit kretprobe_pre(struct kprobe *self, struct pt_regs *regs)
{
	struct kretprobe_pool *pool = (struct kretprobe_pool *)self;

	kretprobe_enter(pool, pool_get(pool), regs);
	return 0;
}

#ifdef CONFIG_KRETPROBE_ON_RETHOOK
#define kretprobe_pre_plain	kretprobe_pre
#else
static noinline int __kprobe_hit kretprobe_enter_low(struct kretprobe_chunk *chunk,
						     struct pt_regs *regs,
						     unsigned long nr)
{
	kretprobe_pool_low(chunk);
	hook_call(kretprobe_chunk_nth(chunk, nr), regs);
	return 0;
}

/* The same without an entry handler, and mostly without a function call. */
static int __kprobe_hit kretprobe_pre_plain(struct kprobe *self, struct pt_regs *regs)
{
	struct kretprobe_pool *pool = (struct kretprobe_pool *)self;
	struct kretprobe_chunk *chunk = kretprobe_pool_chunk(pool);
	unsigned long nr;

	if (unlikely(!kretprobe_chunk_take(chunk, &nr)))
		return kretprobe_pre(self, regs);
	if (unlikely(kretprobe_chunk_is_low(chunk, nr)))
		return kretprobe_enter_low(chunk, regs, nr);
	hook_call(kretprobe_chunk_nth(chunk, nr), regs);
	return 0;
}
#endif

static int no_handler(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

/*
 * Shown as running under its point, so that hits in the handler are missed,
 * unregistering waits for it, and BPF programs can ask where they are. The
 * order is that of every hit: first to be seen, then to look. The point may
 * be gone for long, but then so is the handler.
 */
static noinline void __kprobe_hit run_return_handler(struct kretprobe_pool *pool,
						     struct kretprobe_instance *ri,
						     struct pt_regs *regs)
{
	struct kprobe *prev = kprobe_enter(pool->point);
	kretprobe_handler_t handler = READ_ONCE(pool->handler);

	handler(ri, regs);
	kprobe_leave(prev);
}

#ifdef CONFIG_KRETPROBE_ON_RETHOOK

static void __kprobe_hit kretprobe_returned(struct rethook_node *node, void *data,
					    unsigned long ret_addr,
					    struct pt_regs *regs)
{
	run_return_handler(data, container_of(node, struct kretprobe_instance, node),
			   regs);
}

#else /* !CONFIG_KRETPROBE_ON_RETHOOK */

/*
 * Calls that were left without returning, say by an oops in a task that ends
 * in other functions, are in front of the one that returns now.
 */
static struct kretprobe_instance *__kprobe_hit skip_abandoned(struct llist_head *calls,
							      void *frame)
{
	struct llist_node *node, *next;
	struct kretprobe_instance *ri;

	for (node = calls->first; node; node = node->next) {
		if (to_instance(node)->fp == frame)
			break;
	}
	/* There is nowhere to return to. */
	if (WARN_ON_ONCE(!node))
		panic("return probe trampoline without a call\n");

	while ((next = calls->first) != node) {
		ri = to_instance(next);
		WRITE_ONCE(calls->first, next->next);
		barrier();
		pool_put(ri);
	}
	return to_instance(node);
}

/* The address goes to where those look who unwind what handlers are called from. */
static __always_inline void return_to(kprobe_opcode_t *addr, struct pt_regs *regs,
				      void *frame)
{
	instruction_pointer_set(regs, (unsigned long)addr);
#ifdef CONFIG_ARCH_HAS_KRETPROBE_ON_STACK
	WRITE_ONCE(*(unsigned long *)frame, (unsigned long)addr);
#else
	arch_kretprobe_fixup_return(regs, addr);
#endif
	barrier();
}

/**
 * __kretprobe_trampoline_handler - for trampolines: a probed function returned
 * @regs:  registers at the return
 * @frame: what arch_prepare_kretprobe() stored in the instance
 *
 * Handlers see the true return address as the instruction pointer.
 *
 * Context: preemption off.
 * Return: the true return address.
 */
noinline unsigned long __kprobe_hit __kretprobe_trampoline_handler(struct pt_regs *regs,
								   void *frame)
{
	struct llist_head *calls = &current->kretprobe_instances;
	struct kretprobe_instance *ri = skip_abandoned(calls, frame);
	kprobe_opcode_t *ret_addr = outermost(&ri->llist)->ret_addr;
	struct llist_node *next = &ri->llist;
	bool more;

	return_to(ret_addr, regs, frame);
	do {
		ri = to_instance(next);
		run_return_handler(ri->pool, ri, regs);

		more = is_kretprobe_trampoline((unsigned long)ri->ret_addr);
		next = ri->llist.next;
		WRITE_ONCE(calls->first, next);
		barrier();
		pool_put(ri);
	} while (more);
	return (unsigned long)ret_addr;
}

#ifdef CONFIG_ARCH_HAS_KRETPROBE_ON_STACK
/**
 * kretprobe_return - for trampolines: a probed function returned
 * @regs: registers at the return, right below the slot of its return address
 *
 * Puts the true return address into the slot. Most often it is a single return
 * probe, on a function that a task has called, and no handler runs: then all
 * is done here, with what __kretprobe_trampoline_handler() would do.
 *
 * Context: that of the function.
 */
asmlinkage __visible void __kprobe_hit kretprobe_return(struct pt_regs *regs)
{
	struct llist_head *calls = &current->kretprobe_instances;
	unsigned long *slot = (unsigned long *)(regs + 1);
	struct kretprobe_instance *ri;
	struct kretprobe_pool *pool;
	kretprobe_handler_t handler;

	preempt_disable_notrace();
	ri = to_instance(calls->first);
	/* Exceptions of our own that lie over a task deny that it is one. */
	if (likely(ri->fp == slot &&
		   ri->ret_addr != (kprobe_opcode_t *)__kretprobe_trampoline &&
		   kprobe_in_task(0) &&
		   !kprobe_shown(KPROBE_CTX_TASK))) {
		return_to(ri->ret_addr, regs, slot);

		pool = ri->pool;
		kprobe_show(KPROBE_CTX_TASK, pool->point);
		handler = READ_ONCE(pool->handler);
		handler(ri, regs);
		barrier();
		/* What has come on top since has gone. */
		ri = to_instance(READ_ONCE(calls->first));
		WRITE_ONCE(calls->first, ri->llist.next);
		barrier();
		pool_put(ri);
		kprobe_unshow(KPROBE_CTX_TASK);
	} else {
		__kretprobe_trampoline_handler(regs, slot);
	}
	preempt_enable_notrace();
}
#endif

#ifndef CONFIG_ARCH_HAS_KRETPROBE_ON_STACK
void __weak arch_kretprobe_fixup_return(struct pt_regs *regs,
					kprobe_opcode_t *correct_ret_addr)
{
}
#endif

/*
 * The task may run by now, and its calls return. An instance that we have in
 * hand is then another call's; so is what follows it. But all of them were in
 * use after we began, and chunks are freed after an RCU grace period, so that
 * none of them goes while preemption is off. What another call has in it is
 * told by the place on the stack. A list that changes under us may lead in
 * circles: there is a bound.
 */
static unsigned long __kprobe_hit find_in_other_task(struct task_struct *tsk, void *fp)
{
	unsigned int left = THREAD_SIZE / sizeof(long);
	struct kretprobe_instance *ri;
	struct llist_node *node;
	unsigned long addr = 0;

	preempt_disable_notrace();
	for (node = READ_ONCE(tsk->kretprobe_instances.first); node && left--;
	     node = READ_ONCE(node->next)) {
		ri = to_instance(node);
		if (READ_ONCE(ri->fp) != fp)
			continue;
		addr = (unsigned long)READ_ONCE(ri->ret_addr);
		if (!is_kretprobe_trampoline(addr))
			break;
		addr = 0;
	}
	preempt_enable_notrace();
	return addr;
}

/**
 * kretprobe_find_ret_addr - for unwinders: what a trampoline stands for
 * @tsk: the task that is unwound
 * @fp:	 frame pointer of the call, as arch_prepare_kretprobe() stored it, or the
 *	 address of the return address with ARCH_HAS_KRETPROBE_ON_STACK
 * @cur: where the last call of this function left off; starts as NULL
 *
 * Context: any.
 * Return: the true return address, unless others have swapped that before; or 0.
 */
unsigned long __kprobe_hit kretprobe_find_ret_addr(struct task_struct *tsk, void *fp,
						   struct llist_node **cur)
{
	struct llist_node *node;
	struct kretprobe_instance *ri;

	if (tsk != current)
		return find_in_other_task(tsk, fp);

	node = *cur ? (*cur)->next : tsk->kretprobe_instances.first;
	while ((ri = outermost(node))) {
		if (ri->fp == fp) {
			*cur = &ri->llist;
			return (unsigned long)ri->ret_addr;
		}
		node = ri->llist.next;
	}
	return 0;
}

/**
 * kprobe_flush_task - a task is gone, and with it the calls it was in
 * @tk: the task
 *
 * Context: any, preemption off.
 */
void kprobe_flush_task(struct task_struct *tk)
{
	struct llist_node *node = __llist_del_all(&tk->kretprobe_instances);

	if (likely(!node))
		return;
	kprobe_busy_begin();
	while (node) {
		struct llist_node *next = node->next;

		pool_put(to_instance(node));
		node = next;
	}
	kprobe_busy_end();
}
NOKPROBE_SYMBOL(kprobe_flush_task);

#endif /* CONFIG_KRETPROBE_ON_RETHOOK */

/**
 * get_kretprobe - the probe that an instance belongs to
 * @ri: the instance
 *
 * Context: in one of the probe's handlers, or anywhere with preemption off
 * while the call is under way.
 * Return: the probe; or NULL if it has been unregistered, which a handler
 * does not live to see.
 */
__kprobe_hit struct kretprobe *get_kretprobe(struct kretprobe_instance *ri)
{
	struct kretprobe_pool *pool = pool_of(ri);

	return pool ? READ_ONCE(pool->rp) : NULL;
}
EXPORT_SYMBOL_GPL(get_kretprobe);

/**
 * get_kretprobe_retaddr - where the probed call returns to
 * @ri: the call's instance
 *
 * Context: in the probe's handlers.
 * Return: the true return address, which the stack does not show meanwhile,
 * however many return probes and tracers follow the call. In an entry handler
 * it is 0 on architectures that do not have it on the stack.
 */
__kprobe_hit unsigned long get_kretprobe_retaddr(struct kretprobe_instance *ri)
{
	return true_return_address(ri);
}
EXPORT_SYMBOL_GPL(get_kretprobe_retaddr);

/* ----------------------------- The manager ------------------------------ */

/**
 * kretprobe_init - find what the architecture says cannot be probed
 */
void __init kretprobe_init(void)
{
	struct kretprobe_blackpoint *bp;

	if (!kretprobe_blacklist_size)
		return;
	for (bp = kretprobe_blacklist; bp->name; bp++) {
		bp->addr = kprobe_lookup_name(bp->name, 0);
		if (!bp->addr)
			pr_warn("%s is not to carry return probes, but does not exist\n",
				bp->name);
	}
}

static bool stack_switcher(unsigned long addr)
{
	struct kretprobe_blackpoint *bp;
	unsigned long offset;

	if (!kretprobe_blacklist_size ||
	    !kallsyms_lookup_size_offset(addr, NULL, &offset))
		return false;
	for (bp = kretprobe_blacklist; bp->name; bp++) {
		if ((unsigned long)bp->addr == addr - offset)
			return true;
	}
	return false;
}

/**
 * kretprobe_pool_ready - the probe is about to see its first call
 * @user: the probe
 */
void kretprobe_pool_ready(struct kprobe_user *user)
{
	user->pool->point = &user->point->kp;
	user->pool->rp->nmissed = 0;
}

/**
 * kretprobe_pool_stop - the return handler is not started any more
 * @pool: its pool
 *
 * Context: may sleep. Handlers may still be running on return.
 */
void kretprobe_pool_stop(struct kretprobe_pool *pool)
{
	WRITE_ONCE(pool->handler, no_handler);
	pool_stop(pool);
}

/**
 * kretprobe_pool_free - the pool goes as soon as its last call has returned
 * @pool: the pool, never used, or stopped and without a running handler
 *
 * Context: may sleep, but does not wait.
 */
void kretprobe_pool_free(struct kretprobe_pool *pool)
{
	WRITE_ONCE(pool->rp, NULL);
	pool_release(pool);
}

/* A bound that memory cannot hold is refused before any of it is taken. */
static bool instances_fit(size_t size, int nr)
{
	u64 bytes = (u64)size * nr;

	return bytes < SZ_1M || bytes >> PAGE_SHIFT < si_mem_available() / 2;
}

/**
 * kretprobe_make_user - make a user out of a return probe
 * @probe: the struct kretprobe
 *
 * Context: may sleep.
 * Return: the user, or an ERR_PTR with the errors of register_kretprobe().
 */
struct kprobe_user *kretprobe_make_user(void *probe)
{
	struct kretprobe *rp = probe;
	struct kretprobe_pool *pool;
	struct kprobe_user *user;
	size_t size;
	int ret, nr;

	user = kprobe_user_alloc(&rp->kp);
	if (IS_ERR(user))
		return user;
	user->post = NULL;

	ret = -EINVAL;
	if (!user->entry || stack_switcher(user->addr) ||
	    rp->data_size > KRETPROBE_MAX_DATA_SIZE)
		goto fail;

	/* What the user wants is not changed: it may be registered again. */
	nr = rp->maxactive > 0 ? rp->maxactive : default_maxactive();
	size = sizeof(struct kretprobe_instance) + rp->data_size;
	pool = instances_fit(size, nr) ? pool_alloc(size, nr, rp->maxactive <= 0) :
					 ERR_PTR(-ENOMEM);
	ret = PTR_ERR_OR_ZERO(pool);
	if (ret)
		goto fail;
	pool->rp = rp;
	pool->handler = rp->handler ? : no_handler;
	pool->entry_handler = rp->entry_handler;
	user->pool = pool;
	user->pre = rp->entry_handler ? kretprobe_pre : kretprobe_pre_plain;
	user->self = (struct kprobe *)pool;
	return user;

fail:
	kprobe_user_free(user);
	return ERR_PTR(ret);
}
