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
 * Architectures with rethook leave the book-keeping of calls to it. For the
 * others it is done here: the calls of a task that are under way are a list in
 * the task, newest first, which only the task itself changes.
 *
 * An instance may outlive its probe by as long as a call takes. Neither it nor
 * the pool is reached through the user's structure, so that one may go.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/objpool.h>
#include <linux/sched.h>
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

static int pool_init(struct kretprobe_pool *pool, size_t size, int nr)
{
	pool->rh = rethook_alloc(pool, kretprobe_returned, size, nr);
	return PTR_ERR_OR_ZERO(pool->rh);
}

static void pool_fini(struct kretprobe_pool *pool)
{
	rethook_free(pool->rh);
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

static __always_inline struct kretprobe_pool *pool_of(struct kretprobe_instance *ri)
{
	return ri->node.rethook->data;
}

static __always_inline unsigned long true_return_address(struct kretprobe_instance *ri)
{
	struct llist_node *cur = NULL;

	if (likely(!is_rethook_trampoline(ri->node.ret_addr)))
		return ri->node.ret_addr;
	return rethook_find_ret_addr(current, ri->node.frame, &cur);
}

#else /* !CONFIG_KRETPROBE_ON_RETHOOK */

static int instance_init(void *obj, void *context)
{
	((struct kretprobe_instance *)obj)->pool = context;
	return 0;
}

/* The last instance is back and the probe gone; NMIs may still look at us. */
static int pool_release(struct objpool_head *head, void *context)
{
	struct kretprobe_pool *pool = context;

	kfree_rcu(pool, rcu);
	return 0;
}

static int pool_init(struct kretprobe_pool *pool, size_t size, int nr)
{
	return objpool_init(&pool->objs, nr, size, GFP_KERNEL, pool,
			    instance_init, pool_release);
}

static void pool_fini(struct kretprobe_pool *pool)
{
	objpool_fini(&pool->objs);
}

static __always_inline struct kretprobe_instance *pool_get(struct kretprobe_pool *pool)
{
	return objpool_pop(&pool->objs);
}

static __always_inline void pool_put(struct kretprobe_instance *ri)
{
	struct kretprobe_pool *pool = ri->pool;

	if (READ_ONCE(pool->rp))
		objpool_push(ri, &pool->objs);
	else
		objpool_drop(ri, &pool->objs);
}

static __always_inline void hook_call(struct kretprobe_instance *ri,
				      struct pt_regs *regs)
{
	arch_prepare_kretprobe(ri, regs);
	__llist_add(&ri->llist, &current->kretprobe_instances);
}

static __always_inline struct kretprobe_pool *pool_of(struct kretprobe_instance *ri)
{
	return ri->pool;
}

#endif /* CONFIG_KRETPROBE_ON_RETHOOK */

/* ------------------------- Entry and return ----------------------------- */

/**
 * kretprobe_enter - a probed function is being called
 * @pool: of the return probe
 * @regs: registers at the function's entry
 *
 * Context: as a pre-handler.
 */
void __kprobe_hit kretprobe_enter(struct kretprobe_pool *pool, struct pt_regs *regs)
{
	struct kretprobe_instance *ri = pool_get(pool);
	struct kretprobe *rp;

	if (unlikely(!ri)) {
		rp = READ_ONCE(pool->rp);
		BUILD_BUG_ON(sizeof(rp->nmissed) != sizeof(atomic_t));
		if (rp)
			raw_atomic_inc((atomic_t *)&rp->nmissed);
		return;
	}
	if (pool->entry_handler && pool->entry_handler(ri, regs))
		pool_put(ri);
	else
		hook_call(ri, regs);
}

/*
 * Shown as running under its point, so that hits in the handler are missed,
 * unregistering waits for it, and BPF programs can ask where they are. The
 * order is that of every hit: first to be seen, then to look.
 */
static void __kprobe_hit run_return_handler(struct kretprobe_pool *pool,
					    struct kretprobe_instance *ri,
					    struct pt_regs *regs)
{
	struct kprobe *prev = kprobe_enter(&pool->user->point->kp);

	if (READ_ONCE(pool->rp) && pool->handler)
		pool->handler(ri, regs);
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
 * The call whose frame is returned from. Probes that share a function, or
 * functions that end in a jump to another, stack several instances on one
 * return address: all but the oldest of them keep the trampoline's.
 */
static __always_inline struct kretprobe_instance *outermost(struct llist_node *node)
{
	struct kretprobe_instance *ri;

	for (; node; node = node->next) {
		ri = container_of(node, struct kretprobe_instance, llist);
		if (!is_kretprobe_trampoline((unsigned long)ri->ret_addr))
			return ri;
	}
	return NULL;
}

static __always_inline unsigned long true_return_address(struct kretprobe_instance *ri)
{
	return (unsigned long)outermost(&ri->llist)->ret_addr;
}

void __weak arch_kretprobe_fixup_return(struct pt_regs *regs,
					kprobe_opcode_t *correct_ret_addr)
{
}

/**
 * __kretprobe_trampoline_handler - for trampolines: a probed function returned
 * @regs:	   registers at the return
 * @frame_pointer: what arch_prepare_kretprobe() stored in the instance
 *
 * Context: preemption off.
 * Return: the true return address.
 */
unsigned long __kprobe_hit __kretprobe_trampoline_handler(struct pt_regs *regs,
							  void *frame_pointer)
{
	struct kretprobe_instance *last = outermost(current->kretprobe_instances.first);
	struct llist_node *node, *next, *end;
	struct kretprobe_instance *ri;
	kprobe_opcode_t *ret_addr;

	if (WARN_ON_ONCE(!last || (last->fp && last->fp != frame_pointer)))
		panic("return probe trampoline without a call\n");

	ret_addr = last->ret_addr;
	instruction_pointer_set(regs, (unsigned long)ret_addr);
	end = last->llist.next;

	for (node = current->kretprobe_instances.first; node != end; node = node->next) {
		ri = container_of(node, struct kretprobe_instance, llist);
		run_return_handler(ri->pool, ri, regs);
	}

	arch_kretprobe_fixup_return(regs, ret_addr);

	/* Unwinders that interrupt us saw the instances until now. */
	node = current->kretprobe_instances.first;
	current->kretprobe_instances.first = end;
	for (; node != end; node = next) {
		next = node->next;
		pool_put(container_of(node, struct kretprobe_instance, llist));
	}
	return (unsigned long)ret_addr;
}

/**
 * kretprobe_find_ret_addr - for unwinders: what a trampoline stands for
 * @tsk: the task that is unwound, current or not running
 * @fp:	 frame pointer of the call, as arch_prepare_kretprobe() stored it
 * @cur: where the last call of this function left off; starts as NULL
 *
 * Context: any.
 * Return: the true return address, or 0.
 */
unsigned long __kprobe_hit kretprobe_find_ret_addr(struct task_struct *tsk, void *fp,
						   struct llist_node **cur)
{
	struct llist_node *node = *cur ? (*cur)->next : tsk->kretprobe_instances.first;
	struct kretprobe_instance *ri;

	while ((ri = outermost(node))) {
		*cur = &ri->llist;
		if (ri->fp == fp)
			return (unsigned long)ri->ret_addr;
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

	kprobe_busy_begin();
	while (node) {
		struct llist_node *next = node->next;

		pool_put(container_of(node, struct kretprobe_instance, llist));
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
 * Context: in one of the probe's handlers.
 * Return: the probe, or NULL if it is being unregistered.
 */
__kprobe_hit struct kretprobe *get_kretprobe(struct kretprobe_instance *ri)
{
	return READ_ONCE(pool_of(ri)->rp);
}
EXPORT_SYMBOL_GPL(get_kretprobe);

/**
 * get_kretprobe_retaddr - where the probed call returns to
 * @ri: the call's instance
 *
 * Context: in the return handler. In an entry handler the call is not followed
 * yet, and its return address still stands where the function expects it.
 * Return: the true return address, which the stack does not show meanwhile,
 * however many return probes follow the call.
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
 * @pool: its pool
 */
void kretprobe_pool_ready(struct kretprobe_pool *pool)
{
	pool->rp->nmissed = 0;
}

/**
 * kretprobe_pool_stop - no call of the probe is followed any more
 * @pool: its pool
 *
 * Context: may sleep. Handlers may still be running on return.
 */
void kretprobe_pool_stop(struct kretprobe_pool *pool)
{
	WRITE_ONCE(pool->rp, NULL);
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	rethook_stop(pool->rh);
#endif
}

/**
 * kretprobe_pool_free - the pool goes as soon as its last call has returned
 * @pool: the pool, stopped or never used
 *
 * Context: may sleep, but does not wait.
 */
void kretprobe_pool_free(struct kretprobe_pool *pool)
{
	WRITE_ONCE(pool->rp, NULL);
	pool_fini(pool);
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	kfree_rcu(pool, rcu);
#endif
}

static struct kprobe_user *kretprobe_user_alloc(struct kretprobe *rp, int *nr)
{
	struct kretprobe_pool *pool;
	struct kprobe_user *user;
	int ret;

	if (!rp)
		return ERR_PTR(-EINVAL);
	user = kprobe_user_alloc(&rp->kp);
	if (IS_ERR(user))
		return user;
	user->pre = NULL;
	user->post = NULL;

	ret = -EINVAL;
	if (!user->entry || stack_switcher(user->addr))
		goto fail;
	ret = -E2BIG;
	if (rp->data_size > KRETPROBE_MAX_DATA_SIZE)
		goto fail;

	ret = -ENOMEM;
	pool = kzalloc(sizeof(*pool), GFP_KERNEL);
	if (!pool)
		goto fail;
	*nr = rp->maxactive > 0 ? rp->maxactive : default_maxactive();
	ret = pool_init(pool, sizeof(struct kretprobe_instance) + rp->data_size, *nr);
	if (ret) {
		kfree(pool);
		goto fail;
	}
	pool->rp = rp;
	pool->user = user;
	pool->handler = rp->handler;
	pool->entry_handler = rp->entry_handler;
	user->pool = pool;
	return user;

fail:
	kprobe_user_free(user);
	return ERR_PTR(ret);
}

/**
 * register_kretprobe - set a return probe
 * @rp: the probe, see struct kretprobe for what to fill in
 *
 * Context: may sleep. Not from a handler.
 * Return: 0, and calls of the function are probed from now on; or, with
 * nothing changed, an error of register_kprobe(), or
 *
 * * -EINVAL: the target is not the entry of a function, or the function
 *   switches stacks
 * * -E2BIG: more private data than KRETPROBE_MAX_DATA_SIZE
 */
int register_kretprobe(struct kretprobe *rp)
{
	return register_kretprobes(&rp, 1);
}
EXPORT_SYMBOL_GPL(register_kretprobe);

/**
 * register_kretprobes - set many return probes at once
 * @rps: the probes
 * @num: how many
 *
 * Context: may sleep. Not from a handler.
 * Return: 0 with all of them registered; or an error of register_kretprobe()
 * with none registered. -EINVAL too if @num is not positive or @rps is NULL.
 */
int register_kretprobes(struct kretprobe **rps, int num)
{
	struct kprobe_user **users;
	int *nr;
	int i, ret = 0;

	if (num <= 0 || !rps)
		return -EINVAL;
	users = kvcalloc(num, sizeof(*users) + sizeof(*nr), GFP_KERNEL);
	if (!users)
		return -ENOMEM;
	nr = (int *)(users + num);

	for (i = 0; i < num; i++) {
		users[i] = kretprobe_user_alloc(rps[i], &nr[i]);
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
	} else {
		while (i--)
			rps[i]->maxactive = nr[i];
	}
	kvfree(users);
	return ret;
}
EXPORT_SYMBOL_GPL(register_kretprobes);

static struct kprobe *nth_kretprobe(void *array, int i)
{
	struct kretprobe *rp = ((struct kretprobe **)array)[i];

	return rp ? &rp->kp : NULL;
}

/**
 * unregister_kretprobe - take a return probe out
 * @rp: the probe
 *
 * Context: may sleep. Not from a handler.
 * On return no handler of the probe runs, nor ever will: it may be freed.
 * Calls that are under way return normally.
 */
void unregister_kretprobe(struct kretprobe *rp)
{
	unregister_kretprobes(&rp, 1);
}
EXPORT_SYMBOL_GPL(unregister_kretprobe);

/**
 * unregister_kretprobes - take many return probes out at once
 * @rps: the probes
 * @num: how many
 *
 * Context and guarantees: those of unregister_kretprobe() and
 * unregister_kprobes().
 */
void unregister_kretprobes(struct kretprobe **rps, int num)
{
	if (num > 0 && rps)
		kprobe_users_unregister(rps, num, nth_kretprobe);
}
EXPORT_SYMBOL_GPL(unregister_kretprobes);
