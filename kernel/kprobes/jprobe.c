// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: jprobes, a legacy.
 *
 * A jprobe is a user of the point at a function's entry, whose handler has the
 * prototype of the function. When the point is hit, the handler is called where
 * a pre-handler would be, like any function: with the arguments that are in
 * registers loaded from those of the hit, and with a copy of those on the stack.
 *
 * The function's own registers are in struct pt_regs, and its stack is that of
 * its caller, above all that the handler uses. The handler writes to neither:
 * the arguments that it owns, and may overwrite, are the copies. So nothing has
 * to be put back when it is done, and the hit goes on like one of any probe.
 * There may be as many jprobes, and other probes, on a function as one likes.
 *
 * jprobe_return() goes back to where the handler was called, from however deep
 * it has been called itself. Per CPU and context there is one handler that it
 * can mean, since hits from a handler are missed. A handler that returns gets
 * there as well.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/export.h>
#include <linux/kprobes.h>
#include <linux/llist.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/rethook.h>
#include <linux/slab.h>

#include "internal.h"

/**
 * struct jprobe_cpu - the handlers that run on this CPU
 * @frame: what arch_jprobe_leave() needs, by context of the probed code; NULL
 *	   where no handler runs
 */
struct jprobe_cpu {
	void *frame[KPROBE_NR_CTX];
};

static DEFINE_PER_CPU(struct jprobe_cpu, jprobe_cpu);

/* Preemption is off. */
static __always_inline void **this_frame(void)
{
	unsigned int ctx = kprobe_this_context();

	return &raw_cpu_ptr(&jprobe_cpu)->frame[ctx];
}

/*
 * A handler that ends with jprobe_return() does not return, nor do functions that
 * it was called through; but who follows calls waits for that: it would take the
 * next return of the task for theirs. The graph tracer is kept off. fprobes
 * cannot be, so what they have noted meanwhile is taken back; interrupts have
 * taken theirs back by themselves.
 */
#ifdef CONFIG_RETHOOK
static __always_inline struct llist_node *hooks_now(void)
{
	return READ_ONCE(current->rethooks.first);
}

static __always_inline void forget_hooks(struct llist_node *before)
{
	struct llist_node *hook;

	while (unlikely((hook = hooks_now()) != before)) {
		WRITE_ONCE(current->rethooks.first, hook->next);
		barrier();
		rethook_recycle(container_of(hook, struct rethook_node, llist));
	}
}
#else
static __always_inline struct llist_node *hooks_now(void)
{
	return NULL;
}

static __always_inline void forget_hooks(struct llist_node *before)
{
}
#endif

/*
 * The pre-handler of a jprobe. @handler is the jprobe's; see struct kprobe_user.
 */
static int __kprobe_hit jprobe_pre(struct kprobe *handler, struct pt_regs *regs)
{
	struct llist_node *hooks = hooks_now();
	void **frame = this_frame();

	pause_graph_tracing();
	arch_jprobe_call(handler, regs, frame);
	barrier();
	*frame = NULL;
	unpause_graph_tracing();
	forget_hooks(hooks);
	return 0;
}

/**
 * jprobe_abandon - the handler that runs here will not end
 *
 * Context: an oops in it.
 */
void jprobe_abandon(void)
{
	*this_frame() = NULL;
}
NOKPROBE_SYMBOL(jprobe_abandon);

/**
 * jprobe_return - end the handler of a jprobe
 *
 * What follows the call, in the handler and in the functions that it was called
 * through, does not run. Outside of such a handler it says so in the log, once,
 * and does nothing.
 *
 * Context: in the handler, or a function called by it.
 */
void __kprobe_hit jprobe_return(void)
{
	void *frame;

	preempt_disable_notrace();
	frame = *this_frame();
	preempt_enable_notrace();

	if (frame)
		arch_jprobe_leave(frame);
	else
		pr_warn_once("%s() outside of a jprobe's handler, in %pS\n",
			     __func__, __builtin_return_address(0));
}
EXPORT_SYMBOL_GPL(jprobe_return);

/* ----------------------------- The manager ------------------------------ */

/**
 * jprobe_make_user - make a user out of a jprobe
 * @probe: the struct jprobe
 *
 * Context: may sleep.
 * Return: the user, or an ERR_PTR with the errors of register_jprobe().
 */
struct kprobe_user *jprobe_make_user(void *probe)
{
	struct jprobe *jp = probe;
	struct kprobe_user *user;

	if (!jp->entry)
		return ERR_PTR(-EINVAL);
	user = kprobe_user_alloc(&jp->kp);
	if (IS_ERR(user))
		return user;
	if (!user->entry) {
		kprobe_user_free(user);
		return ERR_PTR(-EINVAL);
	}
	user->pre = jprobe_pre;
	user->self = jp->entry;
	user->post = NULL;
	user->jprobe = true;
	return user;
}
