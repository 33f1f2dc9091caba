// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: return probes on architectures that use rethook for them. Rethook owns the
 * instances, the trampoline and the list of the calls in flight.
 */
#include <linux/align.h>
#include <linux/cpumask.h>
#include <linux/kprobes.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/objpool.h>
#include <linux/rethook.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "internal.h"

/**
 * struct kretprobe_rethook - a return probe, and its rethook
 * @hook: the part of the probe that hits use; also the data of @rh
 * @rh:	  owns the instances
 * @rcu:  frees this once no handler uses it any more
 */
struct kretprobe_rethook {
	struct kretprobe_hook hook;
	struct rethook *rh;
	struct rcu_head rcu;
};

static __always_inline struct kretprobe_rethook *to_rethook(struct kretprobe_hook *hook)
{
	return container_of(hook, struct kretprobe_rethook, hook);
}

static void __kprobe_hit kretprobe_rethook_return(struct rethook_node *node, void *data,
						  unsigned long ret_addr,
						  struct pt_regs *regs)
{
	kretprobe_run_handler(data, container_of(node, struct kretprobe_instance, node),
			      regs);
}

static int __kprobe_hit kretprobe_rethook_pre(struct kprobe *self, struct pt_regs *regs)
{
	struct kretprobe_hook *hook = kretprobe_to_hook(self);
	struct rethook *rh = to_rethook(hook)->rh;
	struct rethook_node *node = rethook_try_get(rh);

	if (unlikely(!node)) {
		/*
		 * A hit that began before the probe was stopped gets no instance either. It
		 * is not a missed call.
		 */
		if (rcu_access_pointer(rh->handler))
			kretprobe_miss(hook);
		return 0;
	}
	if (hook->entry_handler) {
		node->ret_addr = 0;	/* for get_kretprobe_retaddr() */
		if (hook->entry_handler(container_of(node, struct kretprobe_instance,
						     node), regs)) {
			rethook_recycle(node);
			return 0;
		}
	}
	rethook_hook(node, regs, false);
	return 0;
}

/**
 * kretprobe_hook_pre - choose the pre-handler of a return probe
 * @hook: the return probe
 *
 * Context: any.
 * Return: the pre-handler, to be called with kretprobe_hook::self.
 */
kprobe_pre_handler_t kretprobe_hook_pre(const struct kretprobe_hook *hook)
{
	return kretprobe_rethook_pre;
}

/*
 * An objpool has an array for each possible CPU, with room for all objects, and the CPU's
 * share of the objects after it. It counts the bytes of that in an int.
 */
static bool rethook_objects_fit(size_t size, unsigned int nr)
{
	unsigned int cpus = num_possible_cpus();
	u64 bytes;

	bytes = sizeof(struct objpool_slot) + (u64)roundup_pow_of_two(nr) * sizeof(void *) +
		(u64)DIV_ROUND_UP(nr, cpus) * size;
	return nr <= OBJPOOL_NR_OBJECT_MAX && bytes <= INT_MAX && kretprobe_bytes_fit(bytes * cpus);
}

/**
 * kretprobe_hook_alloc - allocate a return probe and its instances
 * @size:  of an instance, in bytes
 * @nr:	   the number of instances
 * @grows: ignored
 *
 * Context: may sleep.
 * Return: the return probe, or an ERR_PTR.
 */
struct kretprobe_hook *kretprobe_hook_alloc(size_t size, unsigned int nr, bool grows)
{
	struct kretprobe_rethook *kr;

	/*
	 * An objpool aligns what it is given to a word. On 32 bits, the data of a single
	 * instance may still be misaligned by a word.
	 */
	size = ALIGN(size, __alignof__(struct kretprobe_instance));
	if (!rethook_objects_fit(size, nr))
		return ERR_PTR(-ENOMEM);
	kr = kzalloc(sizeof(*kr), GFP_KERNEL);
	if (!kr)
		return ERR_PTR(-ENOMEM);
	kr->rh = rethook_alloc(&kr->hook, kretprobe_rethook_return, size, nr);
	if (IS_ERR(kr->rh)) {
		void *err = kr->rh;

		kfree(kr);
		return err;
	}
	return &kr->hook;
}

/**
 * kretprobe_hook_stop - stop taking instances for new calls
 * @hook: the return probe
 *
 * Context: may sleep.
 */
void kretprobe_hook_stop(struct kretprobe_hook *hook)
{
	rethook_stop(to_rethook(hook)->rh);
}

/**
 * kretprobe_hook_leave - detach the calls in flight from the return probe
 * @hook: the return probe; none of its handlers is running or will run
 *
 * Calls outlive the probe, and get_kretprobe() may be called for them at any time.
 *
 * Context: any.
 */
void kretprobe_hook_leave(struct kretprobe_hook *hook)
{
	WRITE_ONCE(to_rethook(hook)->rh->data, NULL);
}

/**
 * kretprobe_hook_release - free a return probe after its last call
 * @hook: the return probe; never used, or left by kretprobe_hook_leave() before a
 *	  kprobe_wait_for_unwatched()
 *
 * Context: may sleep, but does not wait.
 */
void kretprobe_hook_release(struct kretprobe_hook *hook)
{
	struct kretprobe_rethook *kr = to_rethook(hook);

	rethook_free(kr->rh);
	kfree_rcu(kr, rcu);
}

/**
 * kretprobe_hook_of - get the hook of the probe that an instance belongs to
 * @ri: the instance
 *
 * Context: in one of the probe's handlers.
 * Return: the hook.
 */
struct kretprobe_hook *kretprobe_hook_of(struct kretprobe_instance *ri)
{
	return READ_ONCE(ri->node.rethook->data);
}

/**
 * get_kretprobe - get the probe that an instance belongs to
 * @ri: the instance
 *
 * Context: in one of the probe's handlers, or anywhere with preemption off
 * while the call is in flight.
 * Return: the probe; or NULL if it has been unregistered, which its handlers never see.
 * Outside of them, the probe may be unregistered and freed as soon as this returns: do not
 * read what the result points to.
 */
__kprobe_hit struct kretprobe *get_kretprobe(struct kretprobe_instance *ri)
{
	struct kretprobe_hook *hook = READ_ONCE(ri->node.rethook->data);

	return hook ? READ_ONCE(hook->rp) : NULL;
}
EXPORT_SYMBOL_GPL(get_kretprobe);

/**
 * get_kretprobe_retaddr - get the address that a probed call returns to
 * @ri: the call's instance
 *
 * Context: in the probe's handlers.
 * Return: the true return address, which is not on the stack during the call,
 * however many return probes and tracers follow the call. In an entry handler it is 0.
 */
__kprobe_hit unsigned long get_kretprobe_retaddr(struct kretprobe_instance *ri)
{
	struct llist_node *cur = NULL;

	if (likely(!is_rethook_trampoline(ri->node.ret_addr)))
		return ri->node.ret_addr;
	return rethook_find_ret_addr(current, ri->node.frame, &cur);
}
EXPORT_SYMBOL_GPL(get_kretprobe_retaddr);
