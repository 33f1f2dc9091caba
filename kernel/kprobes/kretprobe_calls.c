// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: the calls in flight of return probes, on architectures that do not use rethook
 * for them.
 *
 * They form a list in the task, newest first, which only the task itself changes while it
 * can run. An interrupt may put its own calls before them at any instruction, and has removed
 * these by the time it returns.
 */
#include <kunit/visibility.h>
#include <linux/align.h>
#include <linux/err.h>
#include <linux/ftrace.h>
#include <linux/kmsan.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/rethook.h>
#include <linux/sched.h>

#include "internal.h"
#include "pool.h"

static __always_inline struct kretprobe_pool *to_pool(struct kretprobe_hook *hook)
{
	return container_of(hook, struct kretprobe_pool, hook);
}

static __always_inline struct kretprobe_instance *calls_instance(struct llist_node *node)
{
	return container_of(node, struct kretprobe_instance, llist);
}

/* Without the mark of a call whose entry handler runs: see CALLS_AT_ENTRY. */
static __always_inline void *calls_place(const struct kretprobe_instance *ri)
{
	return PTR_ALIGN_DOWN(ri->fp, sizeof(long));
}

/*
 * The oldest call of the frame that returns. Probes that share a function, and
 * functions that end in a jump to another one, stack several instances on one return
 * address: all but the oldest of them hold the trampoline's address. In between there may
 * be calls of other frames, which have ended without a return.
 */
static __always_inline struct kretprobe_instance *calls_outermost(struct llist_node *node)
{
	struct kretprobe_instance *ri;
	void *place;

	if (!node)
		return NULL;
	place = calls_place(calls_instance(node));
	for (; node; node = node->next) {
		ri = calls_instance(node);
		if (calls_place(ri) == place &&
		    !is_kretprobe_trampoline((unsigned long)ri->ret_addr))
			return ri;
	}
	return NULL;
}

#ifdef CONFIG_ARCH_HAS_KRETPROBE_ON_STACK

/*
 * Added to the place of a call, which is kretprobe_instance::fp, while its entry handler runs.
 * The true return address is still on the stack then, so no search may find the call.
 */
#define CALLS_AT_ENTRY	1

static __always_inline void calls_describe(struct kretprobe_instance *ri, void *place,
					   unsigned long *slot)
{
	WRITE_ONCE(ri->fp, place);
	barrier();	/* for calls_find_in_other_task(); x86 keeps the order of stores */
	WRITE_ONCE(ri->ret_addr, (kprobe_opcode_t *)*slot);
	ri->llist.next = current->kretprobe_instances.first;
}

/* For get_kretprobe_retaddr() in an entry handler. */
static __always_inline void calls_begin(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	void *slot = (void *)kernel_stack_pointer(regs);

	calls_describe(ri, slot + CALLS_AT_ENTRY, slot);
}

static __always_inline void calls_skip(struct kretprobe_instance *ri)
{
}

/* The call is listed before the stack changes: an unwinder may interrupt this. */
static __always_inline void calls_hook(struct kretprobe_instance *ri,
				       struct pt_regs *regs)
{
	unsigned long *slot = (unsigned long *)kernel_stack_pointer(regs);

	calls_describe(ri, slot, slot);
	/* Other CPUs see the stores in this order, too: only x86 has this function. */
	barrier();
	WRITE_ONCE(current->kretprobe_instances.first, &ri->llist);
	barrier();
	WRITE_ONCE(*slot, (unsigned long)__kretprobe_trampoline);
}

/*
 * Other tracers may have replaced the return address earlier. Each search yields what was
 * there before, which may be a trampoline that another search has just left, for an older
 * call: so one step at a time.
 */
static __always_inline unsigned long calls_true_address(struct kretprobe_instance *last)
{
	unsigned long addr = (unsigned long)last->ret_addr;
	void *fp = calls_place(last);
	struct llist_node *next = &last->llist, *cur = NULL;
	unsigned long prev;
	int idx = 0;

	do {
		prev = addr;
		addr = ftrace_graph_ret_addr(current, &idx, addr, fp);
		if (addr != prev)
			continue;
		if (IS_ENABLED(CONFIG_RETHOOK) && is_rethook_trampoline(addr))
			addr = rethook_find_ret_addr(current, (unsigned long)fp, &cur);
		else if (is_kretprobe_trampoline(addr))
			addr = kretprobe_calls_find(current, fp, &next);
	} while (addr != prev);
	return addr;
}

/* The address goes into the slot, too, for unwinders that start in handlers. */
static __always_inline void calls_return_to(kprobe_opcode_t *addr, struct pt_regs *regs,
					    void *frame)
{
	instruction_pointer_set(regs, (unsigned long)addr);
	WRITE_ONCE(*(unsigned long *)frame, (unsigned long)addr);
	barrier();
}

/**
 * kretprobe_return - for trampolines: a probed function returned
 * @regs: registers at the return, right below the slot of its return address
 *
 * Puts the true return address into the slot. Usually there is a single return probe,
 * on a function called in task context, and no handler is running. Then this does all
 * that __kretprobe_trampoline_handler() would do.
 *
 * Context: that of the function.
 */
asmlinkage __visible void __kprobe_hit kretprobe_return(struct pt_regs *regs)
{
	struct llist_head *calls = &current->kretprobe_instances;
	unsigned long *slot = (unsigned long *)(regs + 1);
	struct kretprobe_instance *ri;
	struct kretprobe_hook *hook;
	kretprobe_handler_t handler;

	kmsan_unpoison_entry_regs(regs);
	preempt_disable_notrace();
	ri = calls_instance(calls->first);
	/* In an exception of kprobes' own, kprobe_in_task(0) is false. */
	if (likely(ri->fp == slot &&
		   ri->ret_addr != (kprobe_opcode_t *)__kretprobe_trampoline &&
		   kprobe_in_task(0) &&
		   !kprobe_shown(KPROBE_CTX_TASK))) {
		calls_return_to(ri->ret_addr, regs, slot);

		hook = &ri->pool->hook;
		kprobe_show(KPROBE_CTX_TASK, READ_ONCE(hook->point));
		handler = READ_ONCE(hook->handler);
		handler(ri, regs);
		barrier();
		/* Interrupts have removed the calls that they put before it. */
		ri = calls_instance(READ_ONCE(calls->first));
		WRITE_ONCE(calls->first, ri->llist.next);
		barrier();
		kretprobe_pool_put(ri);
		kprobe_unshow(KPROBE_CTX_TASK);
	} else {
		__kretprobe_trampoline_handler(regs, slot);
	}
	preempt_enable_notrace();
}

#else /* !CONFIG_ARCH_HAS_KRETPROBE_ON_STACK */

void __weak arch_kretprobe_fixup_return(struct pt_regs *regs,
					kprobe_opcode_t *correct_ret_addr)
{
}

/*
 * Only arch_prepare_kretprobe() knows where the return address is. Without a place, no search
 * finds the call.
 */
static __always_inline void calls_begin(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	WRITE_ONCE(ri->fp, NULL);
	WRITE_ONCE(ri->ret_addr, NULL);
	ri->llist.next = current->kretprobe_instances.first;
}

/* Any address says that the instance has been used. Without a place, no unwinder reads it. */
static __always_inline void calls_skip(struct kretprobe_instance *ri)
{
	WRITE_ONCE(ri->ret_addr, (kprobe_opcode_t *)__kretprobe_trampoline);
}

static __always_inline void calls_hook(struct kretprobe_instance *ri,
				       struct pt_regs *regs)
{
	struct llist_head *calls = &current->kretprobe_instances;
	struct kretprobe_instance call = {};

	arch_prepare_kretprobe(&call, regs);
	WRITE_ONCE(ri->fp, call.fp);
	/* The place before the address: pairs with calls_find_in_other_task(). */
	smp_wmb();
	WRITE_ONCE(ri->ret_addr, call.ret_addr);
	ri->llist.next = calls->first;
	/*
	 * Other CPUs must not follow the old link of the instance to a call that
	 * may be freed by now. Pairs with the dependent reads of
	 * calls_find_in_other_task().
	 */
	smp_store_release(&calls->first, &ri->llist);
}

static __always_inline unsigned long calls_true_address(struct kretprobe_instance *last)
{
	return (unsigned long)last->ret_addr;
}

static __always_inline void calls_return_to(kprobe_opcode_t *addr, struct pt_regs *regs,
					    void *frame)
{
	instruction_pointer_set(regs, (unsigned long)addr);
	arch_kretprobe_fixup_return(regs, addr);
	barrier();
}

#endif /* CONFIG_ARCH_HAS_KRETPROBE_ON_STACK */

/* -------------------------------- Entry --------------------------------- */

/*
 * The task may end in the handler, in an oops. So the call is listed meanwhile, and
 * kprobe_flush_task() frees it. Interrupts have removed the calls that they put before it.
 */
static __always_inline int calls_run_entry(kretprobe_handler_t handler,
					   struct kretprobe_instance *ri,
					   struct pt_regs *regs)
{
	struct llist_head *calls = &current->kretprobe_instances;
	int skip;

	calls_begin(ri, regs);
	/* As in calls_hook(). */
	smp_store_release(&calls->first, &ri->llist);
	skip = handler(ri, regs);
	WRITE_ONCE(calls->first, ri->llist.next);
	barrier();
	return skip;
}

static noinline int __kprobe_hit kretprobe_calls_pre(struct kprobe *self,
						     struct pt_regs *regs)
{
	struct kretprobe_hook *hook = kretprobe_to_hook(self);
	struct kretprobe_instance *ri = kretprobe_pool_get(to_pool(hook));

	if (unlikely(!ri)) {
		kretprobe_miss(hook);
		return 0;
	}
	if (hook->entry_handler && calls_run_entry(hook->entry_handler, ri, regs)) {
		calls_skip(ri);
		kretprobe_pool_put(ri);
		return 0;
	}
	calls_hook(ri, regs);
	return 0;
}

static noinline int __kprobe_hit kretprobe_calls_pre_low(struct kretprobe_chunk *chunk,
							 struct pt_regs *regs,
							 unsigned long nr)
{
	kretprobe_pool_low(chunk);
	calls_hook(kretprobe_chunk_nth(chunk, nr), regs);
	return 0;
}

/* The same without an entry handler, and usually without a function call. */
static int __kprobe_hit kretprobe_calls_pre_plain(struct kprobe *self,
						  struct pt_regs *regs)
{
	struct kretprobe_pool *pool = to_pool(kretprobe_to_hook(self));
	struct kretprobe_chunk *chunk = kretprobe_pool_chunk(pool);
	unsigned long nr;

	if (unlikely(!kretprobe_chunk_take(chunk, &nr)))
		return kretprobe_calls_pre(self, regs);
	if (unlikely(kretprobe_chunk_is_low(chunk, nr)))
		return kretprobe_calls_pre_low(chunk, regs, nr);
	calls_hook(kretprobe_chunk_nth(chunk, nr), regs);
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
	return hook->entry_handler ? kretprobe_calls_pre : kretprobe_calls_pre_plain;
}

/* -------------------------------- Return -------------------------------- */

/*
 * Calls that ended without a return, for instance because of an oops in a task that goes
 * on elsewhere, come before the one that returns now.
 */
static struct kretprobe_instance *__kprobe_hit
calls_skip_abandoned(struct llist_head *calls, void *frame)
{
	struct llist_node *node, *next;
	struct kretprobe_instance *ri;

	for (node = calls->first; node; node = node->next) {
		if (calls_instance(node)->fp == frame)
			break;
	}
	/* There is nowhere to return to. */
	if (WARN_ON_ONCE(!node))
		panic("return probe trampoline without a call\n");

	while ((next = calls->first) != node) {
		ri = calls_instance(next);
		WRITE_ONCE(calls->first, next->next);
		barrier();
		kretprobe_pool_put(ri);
	}
	return calls_instance(node);
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
	struct kretprobe_instance *ri = calls_skip_abandoned(calls, frame);
	struct kretprobe_instance *last = calls_outermost(&ri->llist);
	kprobe_opcode_t *ret_addr = last->ret_addr;
	struct llist_node *next = &ri->llist;

	calls_return_to(ret_addr, regs, frame);
	do {
		ri = calls_instance(next);
		if (ri->fp == frame)
			kretprobe_run_handler(&ri->pool->hook, ri, regs);

		next = ri->llist.next;
		WRITE_ONCE(calls->first, next);
		barrier();
		kretprobe_pool_put(ri);
	} while (ri != last);
	return (unsigned long)ret_addr;
}

/* ---------------------------- Finding calls ----------------------------- */

/*
 * The task may be running, and its calls may return during the walk. Then the current
 * instance, and those after it, belong to other calls. But all of them were in use at some
 * time since the walk began, and chunks are freed only after an RCU grace period, so they
 * stay in memory while preemption is off. A call is identified by its place on the stack,
 * which its instance gets before the address: if the place is the same before and after the
 * address was read, both are of one call. There are two exceptions: the instance was reused
 * for another call at that place, or it has its new place but not yet its new address. So a
 * trace of a running task may show where an earlier call returned to. Such a trace is out of
 * date anyway. A task that calls and returns all
 * the time could keep the walk busy, so it is bounded, by more calls than a stack has room
 * for: dozens of probes on each frame of a deep recursion. The call that @cur points to is
 * compared but not dereferenced: it may have been freed, and then nothing is found.
 */
static unsigned long __kprobe_hit
calls_find_in_other_task(struct task_struct *tsk, void *fp, struct llist_node **cur)
{
	struct llist_node *node, *last = *cur;
	unsigned int left = THREAD_SIZE * 16 / sizeof(long);
	struct kretprobe_instance *ri;
	unsigned long addr = 0;

	preempt_disable_notrace();
	/* Each read depends on the one before: pairs with the release in calls_hook(). */
	for (node = READ_ONCE(tsk->kretprobe_instances.first); node && left--;
	     node = READ_ONCE(node->next)) {
		/* A slot has more calls if other tracers replaced its address in between. */
		if (last) {
			if (node == last)
				last = NULL;
			continue;
		}
		ri = calls_instance(node);
		/* The place before the address, and once more after it. */
		if (smp_load_acquire(&ri->fp) != fp)
			continue;
		addr = (unsigned long)READ_ONCE(ri->ret_addr);
		smp_rmb();	/* pairs with the barrier between the two stores */
		if (READ_ONCE(ri->fp) != fp) {
			addr = 0;
			continue;
		}
		if (!is_kretprobe_trampoline(addr)) {
			*cur = node;
			break;
		}
		addr = 0;
	}
	preempt_enable_notrace();
	return addr;
}

/**
 * kretprobe_calls_find - for unwinders: find the address that a trampoline replaces
 * @tsk: the task that is unwound
 * @fp:	 frame pointer of the call, as arch_prepare_kretprobe() stored it, or the
 *	 address of the return address with ARCH_HAS_KRETPROBE_ON_STACK
 * @cur: state of the search, NULL for the first call
 *
 * Context: any.
 * Return: the true return address, or another tracer's trampoline that had replaced
 * it earlier; 0 if there is no such call.
 */
unsigned long __kprobe_hit kretprobe_calls_find(struct task_struct *tsk, void *fp,
						struct llist_node **cur)
{
	struct llist_node *node;
	struct kretprobe_instance *ri;

	if (tsk != current)
		return calls_find_in_other_task(tsk, fp, cur);

	node = *cur ? (*cur)->next : tsk->kretprobe_instances.first;
	while ((ri = calls_outermost(node))) {
		if (ri->fp == fp) {
			*cur = &ri->llist;
			return (unsigned long)ri->ret_addr;
		}
		node = ri->llist.next;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kretprobe_calls_find);

/**
 * kprobe_flush_task - free the calls of a task that never returns from them
 * @tk: the task, which has exited, or is the idle task of a dead CPU
 *
 * Context: any, with preemption off or in an RCU reader. On PREEMPT_RT, callbacks of RCU
 * are such readers.
 */
void kprobe_flush_task(struct task_struct *tk)
{
	struct llist_node *node = __llist_del_all(&tk->kretprobe_instances);

	/* This may be a softirq over a handler, so it must not change what is shown. */
	while (node) {
		struct llist_node *next = node->next;

		kretprobe_pool_put(calls_instance(node));
		node = next;
	}
}
NOKPROBE_SYMBOL(kprobe_flush_task);

/**
 * kretprobe_hook_of - get the hook of the probe that an instance belongs to
 * @ri: the instance
 *
 * Context: in one of the probe's handlers.
 * Return: the hook.
 */
struct kretprobe_hook *kretprobe_hook_of(struct kretprobe_instance *ri)
{
	return &ri->pool->hook;
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
	return READ_ONCE(ri->pool->hook.rp);
}
EXPORT_SYMBOL_GPL(get_kretprobe);

/**
 * get_kretprobe_retaddr - get the address that a probed call returns to
 * @ri: the call's instance
 *
 * Context: in the probe's handlers.
 * Return: the true return address, which is not on the stack during the call,
 * however many return probes and tracers follow the call. In an entry handler
 * it is 0 without ARCH_HAS_KRETPROBE_ON_STACK.
 */
__kprobe_hit unsigned long get_kretprobe_retaddr(struct kretprobe_instance *ri)
{
	return calls_true_address(calls_outermost(&ri->llist));
}
EXPORT_SYMBOL_GPL(get_kretprobe_retaddr);

/* ------------------------------ Instances ------------------------------- */

/**
 * kretprobe_hook_alloc - allocate a return probe and its instances
 * @size:  of an instance, in bytes
 * @nr:	   the number of instances
 * @grows: more may be added when needed
 *
 * Context: may sleep.
 * Return: the return probe, or ERR_PTR(-ENOMEM).
 */
struct kretprobe_hook *kretprobe_hook_alloc(size_t size, unsigned int nr, bool grows)
{
	struct kretprobe_pool *pool;

	if (!kretprobe_bytes_fit((u64)size * nr))
		return ERR_PTR(-ENOMEM);
	pool = kretprobe_pool_alloc(size, nr, grows);
	return IS_ERR(pool) ? ERR_CAST(pool) : &pool->hook;
}

/**
 * kretprobe_hook_stop - stop taking instances for new calls
 * @hook: the return probe
 *
 * Nothing to do: no call starts once hits no longer see the user.
 *
 * Context: may sleep.
 */
void kretprobe_hook_stop(struct kretprobe_hook *hook)
{
}

/**
 * kretprobe_hook_leave - detach the calls in flight from the return probe
 * @hook: the return probe; none of its handlers is running or will run
 *
 * Nothing to do: a call leads to its pool, which stays as long as the call.
 *
 * Context: any.
 */
void kretprobe_hook_leave(struct kretprobe_hook *hook)
{
}

/**
 * kretprobe_hook_release - free a return probe after its last call
 * @hook: the return probe; none of its handlers is running or will run
 *
 * Context: may sleep, but does not wait.
 */
void kretprobe_hook_release(struct kretprobe_hook *hook)
{
	kretprobe_pool_release(to_pool(hook));
}

/**
 * kretprobe_hook_usage - add up the instances of a return probe
 * @hook:  the return probe
 * @usage: the numbers are added to these
 *
 * Context: may sleep; the probe stays registered.
 * Return: true; the stub for architectures without a pool returns false.
 */
bool kretprobe_hook_usage(struct kretprobe_hook *hook, struct kretprobe_usage *usage)
{
	kretprobe_pool_usage(to_pool(hook), usage);
	return true;
}
