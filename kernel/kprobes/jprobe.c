// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: jprobes, for old modules.
 *
 * A jprobe is a user of the point at a function's entry. Its handler has the prototype
 * of the function. In place of a pre-handler, a hit calls the handler as an ordinary
 * function: register arguments are loaded from the registers of the hit, and stack
 * arguments are copied.
 *
 * The function's own registers are in struct pt_regs, and its stack arguments in the
 * frame of its caller. The handler may overwrite its arguments, but these are the
 * copies. So nothing has to be restored after the handler, and the hit continues like
 * that of any probe. A function may have any number of jprobes and other probes.
 *
 * jprobe_return() goes back to where the handler was called, from any depth of the
 * handler's call chain. Each context of a CPU has at most one handler that it can end,
 * because hits in a handler are missed. A handler may also just return.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/export.h>
#include <linux/kprobes.h>
#include <linux/llist.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/rethook.h>

#include "internal.h"

/**
 * struct jprobe_cpu - the handlers that run on this CPU
 * @frame: by context of the probed code, the argument of arch_jprobe_leave(); NULL
 *	   if no handler runs
 */
struct jprobe_cpu {
	void *frame[KPROBE_NR_CTX];
};

static DEFINE_PER_CPU(struct jprobe_cpu, jprobe_cpu);

/* Preemption is off. */
static __always_inline void **jprobe_this_frame(void)
{
	unsigned int ctx = kprobe_this_context();

	return &raw_cpu_ptr(&jprobe_cpu)->frame[ctx];
}

/*
 * A handler that ends with jprobe_return() does not return, and neither do the functions
 * between the two. A tracer that matches returns with calls would take the next return of
 * the task for one of theirs. So the graph tracer is paused. fprobes cannot be paused, so
 * the calls that they have hooked since are forgotten. Calls in interrupts have returned
 * by then. Nothing can be done for a BPF program at the exit of one of these functions: it
 * does not run, and its trampoline, which waits for it, is never freed.
 */
#ifdef CONFIG_RETHOOK
static __always_inline struct llist_node *jprobe_hooks(void)
{
	return READ_ONCE(current->rethooks.first);
}

static __always_inline void jprobe_forget_hooks(struct llist_node *before)
{
	struct llist_node *hook;

	while (unlikely((hook = jprobe_hooks()) != before)) {
		WRITE_ONCE(current->rethooks.first, hook->next);
		barrier();
		rethook_recycle(container_of(hook, struct rethook_node, llist));
	}
}
#else
static __always_inline struct llist_node *jprobe_hooks(void)
{
	return NULL;
}

static __always_inline void jprobe_forget_hooks(struct llist_node *before)
{
}
#endif

/* The pre-handler of a jprobe. @handler is jprobe::entry, see kprobe_handlers::self. */
static int __kprobe_hit jprobe_pre(struct kprobe *handler, struct pt_regs *regs)
{
	struct llist_node *hooks = jprobe_hooks();
	void **frame = jprobe_this_frame();

	pause_graph_tracing();
	arch_jprobe_call(handler, regs, frame);
	barrier();
	*frame = NULL;
	unpause_graph_tracing();
	jprobe_forget_hooks(hooks);
	return 0;
}

/**
 * jprobe_abandon - forget the handler that runs here
 *
 * Context: an oops in it.
 */
void jprobe_abandon(void)
{
	*jprobe_this_frame() = NULL;
}
NOKPROBE_SYMBOL(jprobe_abandon);

/**
 * jprobe_return - end the handler of a jprobe
 *
 * The rest of the handler, and of the functions between it and this one, does not run.
 * Outside of such a handler, this only logs a warning, once.
 *
 * Context: in the handler, or a function called by it.
 */
void __kprobe_hit jprobe_return(void)
{
	void *frame;

	preempt_disable_notrace();
	frame = *jprobe_this_frame();
	preempt_enable_notrace();

	if (frame)
		arch_jprobe_leave(frame);
	else
		pr_warn_once("%s() outside of a jprobe's handler, in %pS\n",
			     __func__, __builtin_return_address(0));
}
EXPORT_SYMBOL_GPL(jprobe_return);

/* ----------------------------- Registration ----------------------------- */

/**
 * jprobe_make_user - make the user of a jprobe
 * @probe: the struct jprobe
 *
 * Context: may sleep.
 * Return: the user, or an ERR_PTR with an error of register_jprobe().
 */
struct kprobe_user *jprobe_make_user(void *probe)
{
	struct jprobe *jp = probe;
	struct kprobe_user *user;

	if (!jp->entry)
		return ERR_PTR(kprobe_refuse_probe(jp->kp.addr, jp->kp.symbol_name,
						   jp->kp.offset, -EINVAL,
						   "a jprobe needs a handler"));
	user = kprobe_user_alloc(&jp->kp);
	if (IS_ERR(user))
		return user;
	if (!kprobe_is_func_entry(user->addr, user->entry)) {
		kprobe_refuse(user->addr, -EINVAL,
			      "a jprobe has to be on the entry of a function");
		kprobe_user_free(user);
		return ERR_PTR(-EINVAL);
	}
	user->run.pre = jprobe_pre;
	user->run.self = jp->entry;
	user->run.post = NULL;
	user->jprobe = true;
	return user;
}
