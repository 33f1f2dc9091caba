// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: return probes.
 *
 * A return probe is a user of the point at a function's entry. A hit takes an instance
 * for the call. The instance keeps the true return address, which is replaced by that of
 * a trampoline, and the data that the handlers share. When the function returns, to the
 * trampoline, the return handler runs and the instance becomes free again.
 *
 * One of two back ends tracks the calls in flight: kretprobe_rethook.c where the
 * architecture uses rethook, kretprobe_calls.c where it does not. Each embeds
 * struct kretprobe_hook in its own description of a return probe.
 *
 * An instance may outlive its probe, for as long as its call takes. Neither it nor
 * the hook is reached through the caller's structure, which may be freed earlier.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <kunit/visibility.h>
#include <linux/cleanup.h>
#include <linux/cpuhotplug.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rethook.h>
#include <linux/sched.h>
#include <linux/sizes.h>

#include "../smpboot.h"
#include "internal.h"

/* How many calls may be in flight if the caller does not say. */
static int kretprobe_default_maxactive(void)
{
	return max(10U, 2 * num_possible_cpus());
}

/* Shown when a call returns after its probe was unregistered. It is in no batch. */
static struct kprobe_point gone_point = {
	.faulters = LIST_HEAD_INIT(gone_point.faulters),
};

static int kretprobe_no_handler(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

/*
 * Runs the return handler of a disabled probe, for a call that was already in flight. Its
 * faults still go to the fault handler: see fault.c.
 */
static int kretprobe_run_off(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe_hook *hook = kretprobe_hook_of(ri);
	struct kprobe_faulter *prev = kprobe_fault_enter(hook->faulter);

	hook->return_handler(ri, regs);
	kprobe_fault_leave(prev);
	return 0;
}

/**
 * kretprobe_run_handler - run a return handler
 * @hook: the probe
 * @ri:	  the call that returns
 * @regs: registers at the return
 *
 * The point is shown as running, so hits in the handler are missed, unregistering
 * waits for the handler, and BPF programs can look up the probe. As for every hit,
 * the point is shown first and the handler is read afterwards. Once the probe is
 * unregistered, gone_point is shown, and the handler is one that does nothing.
 *
 * Context: any, preemption off.
 */
noinline void __kprobe_hit kretprobe_run_handler(struct kretprobe_hook *hook,
						 struct kretprobe_instance *ri,
						 struct pt_regs *regs)
{
	struct kprobe *prev = kprobe_enter(READ_ONCE(hook->point));
	kretprobe_handler_t handler = READ_ONCE(hook->handler);

	handler(ri, regs);
	kprobe_leave(prev);
}

/**
 * kretprobe_init - look up the functions on the return probe blacklist
 *
 * Context: at boot.
 */
void __init kretprobe_init(void)
{
	struct kretprobe_blackpoint *bp;

	if (!kretprobe_blacklist_size)
		return;
	for (bp = kretprobe_blacklist; bp->name; bp++) {
		bp->addr = kprobe_lookup_name(bp->name, 0);
		if (!bp->addr)
			pr_warn("%s is on the return probe blacklist, but does not exist\n",
				bp->name);
	}
}

static bool kretprobe_excluded(unsigned long addr)
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
 * kretprobe_ready - prepare a return probe for its first call
 * @user: the probe
 *
 * Context: kprobe_mutex held.
 */
void kretprobe_ready(struct kprobe_user *user)
{
	kprobe_assert_held(&kprobe_mutex);
	user->hook->point = &user->point->kp;
	user->hook->rp->nmissed = 0;
}

/**
 * kretprobe_switch - choose how the return handler of a probe is called
 * @hook: the probe
 * @on:	  it is being enabled; otherwise disabled
 *
 * After the next kprobe_quiesce(), the handler of a disabled probe runs only through
 * kretprobe_run_off(). A probe without a fault handler does not need this.
 *
 * Context: kprobe_mutex held.
 */
void kretprobe_switch(struct kretprobe_hook *hook, bool on)
{
	kprobe_assert_held(&kprobe_mutex);
	if (hook->faulter)
		WRITE_ONCE(hook->handler, on ? hook->return_handler : kretprobe_run_off);
}

/**
 * kretprobe_stop - stop calling the return handler
 * @hook: the probe
 *
 * When this returns, handlers may still be running.
 *
 * Context: kprobe_mutex held; may sleep.
 */
void kretprobe_stop(struct kretprobe_hook *hook)
{
	kprobe_assert_held(&kprobe_mutex);
	WRITE_ONCE(hook->handler, kretprobe_no_handler);
	kretprobe_hook_stop(hook);
}

/**
 * kretprobe_leave_point - stop showing the point when calls return
 * @hook: the probe; stopped, and without a running handler
 *
 * The point may be freed a grace period after this: preemption is off while @point is
 * read and shown. Calls in flight lead to no probe from here on, so one wait of the caller,
 * for CPUs that RCU does not watch, is enough for all return probes of a batch.
 *
 * Context: kprobe_mutex held.
 */
void kretprobe_leave_point(struct kretprobe_hook *hook)
{
	kprobe_assert_held(&kprobe_mutex);
	WRITE_ONCE(hook->point, &gone_point.kp);
	kretprobe_hook_leave(hook);
}

/**
 * kretprobe_free - free a return probe as soon as its last call has returned
 * @hook: the probe, never used, or stopped and without a running handler
 *
 * Context: may sleep, but does not wait for calls.
 */
void kretprobe_free(struct kretprobe_hook *hook)
{
	WRITE_ONCE(hook->rp, NULL);
	kretprobe_hook_release(hook);
}

/**
 * kretprobe_bytes_fit - test if instances of a return probe fit in memory
 * @bytes: what they take
 *
 * Back ends call this first, so that a number that does not fit allocates nothing, and the
 * OOM killer does not run.
 *
 * Context: any.
 * Return: false if it has to be refused with -ENOMEM.
 */
bool kretprobe_bytes_fit(u64 bytes)
{
	return bytes < SZ_1M || bytes >> PAGE_SHIFT < si_mem_available() / 2;
}

static int kretprobe_check_function(const struct kprobe_user *user, const struct kretprobe *rp)
{
	const char *why;

	if (!kprobe_is_func_entry(user->addr, user->entry))
		why = "a return probe has to be on the entry of a function";
	else if (kretprobe_excluded(user->addr))
		why = "it returns on another stack, or in another context";
	else if (rp->data_size > KRETPROBE_MAX_DATA_SIZE)
		why = "data_size is above KRETPROBE_MAX_DATA_SIZE";
	else
		return 0;
	return kprobe_refuse(user->addr, -EINVAL, why);
}

/**
 * kretprobe_make_user - make the user of a return probe
 * @probe: the struct kretprobe
 *
 * Context: may sleep.
 * Return: the user, or an ERR_PTR with an error of register_kretprobe().
 */
struct kprobe_user *kretprobe_make_user(void *probe)
{
	struct kretprobe *rp = probe;
	struct kretprobe_hook *hook;
	struct kprobe_user *user;
	size_t size;
	int ret, nr;

	user = kprobe_user_alloc(&rp->kp);
	if (IS_ERR(user))
		return user;
	user->run.post = NULL;

	ret = kretprobe_check_function(user, rp);
	if (ret)
		goto fail;

	/* The caller's structure is not changed: it may be registered again. */
	nr = rp->maxactive > 0 ? rp->maxactive : kretprobe_default_maxactive();
	size = sizeof(struct kretprobe_instance) + rp->data_size;
	hook = kretprobe_hook_alloc(size, nr, rp->maxactive <= 0);
	ret = PTR_ERR_OR_ZERO(hook);
	if (ret)
		goto fail;
	hook->rp = rp;
	hook->return_handler = rp->handler ? : kretprobe_no_handler;
	hook->handler = hook->return_handler;
	hook->entry_handler = rp->entry_handler;
	hook->faulter = user->faulter;
	user->hook = hook;
	user->run.pre = kretprobe_hook_pre(hook);
	user->run.self = &hook->self;
	return user;

fail:
	kprobe_user_free(user);
	return ERR_PTR(ret);
}

#if CALLS_SEE_HOTPLUG
/* The CPU has been online since the calls of its idle task were freed. */
static DEFINE_PER_CPU(bool, calls_of_idle);

static int calls_cpu_online(unsigned int cpu)
{
	kretprobe_pool_kick();
	per_cpu(calls_of_idle, cpu) = true;
	return 0;
}

/*
 * An idle task never exits. Its CPU goes offline in the middle of the task's calls, and
 * the task starts over when the CPU comes back. If the CPU has been online, it is dead here.
 * If it did not come online in time, it may still be running, and looks the same as a CPU
 * that died because a later step of coming online failed. So the calls of both are kept.
 */
static int calls_flush_idle(unsigned int cpu)
{
	struct task_struct *idle = idle_thread_get(cpu);

	kretprobe_pool_kick();
	if (!per_cpu(calls_of_idle, cpu))
		return 0;
	per_cpu(calls_of_idle, cpu) = false;
	guard(preempt)();
	if (IS_ERR(idle))
		return 0;
	if (IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK))
		rethook_flush_task(idle);
	else
		kprobe_flush_task(idle);
	return 0;
}

static int __init calls_hotplug_init(void)
{
	int prepare, online;

	prepare = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "kprobes:calls", NULL,
					    calls_flush_idle);
	if (prepare < 0)
		return prepare;
	online = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "kprobes:calls_online",
				   calls_cpu_online, NULL);
	if (online < 0)
		cpuhp_remove_state_nocalls(prepare);
	return min(online, 0);
}
core_initcall(calls_hotplug_init);

#if IS_ENABLED(CONFIG_KUNIT)
#ifdef CONFIG_KRETPROBE_POOL
/**
 * kprobe_test_idle_keeps - pretend that a CPU has died in a call of its idle task
 * @ri:	    the call, which has returned
 * @cpu:    a CPU that the caller runs on, so that the idle task does not
 * @online: it had been online; otherwise it has not come online in time
 * @again:  it has not come online in time once before
 *
 * Context: any; the caller stays on @cpu.
 * Return: true if the call is kept.
 */
bool kprobe_test_idle_keeps(struct kretprobe_instance *ri, unsigned int cpu, bool online,
			    bool again)
{
	struct llist_head *calls = &idle_thread_get(cpu)->kretprobe_instances;
	struct llist_node *first = calls->first;
	bool keeps;

	per_cpu(calls_of_idle, cpu) = online;
	if (again) {
		/* It dies without a call. */
		calls->first = NULL;
		calls_flush_idle(cpu);
	}
	ri->llist.next = NULL;
	calls->first = &ri->llist;
	calls_flush_idle(cpu);
	keeps = calls->first;
	calls->first = first;
	per_cpu(calls_of_idle, cpu) = true;
	return keeps;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_idle_keeps);
#endif

/**
 * kprobe_test_idle_noted - test if the calls of an idle task are freed when its CPU dies
 * @cpu: a CPU that is online
 *
 * Context: any.
 * Return: true if so.
 */
bool kprobe_test_idle_noted(unsigned int cpu)
{
	return per_cpu(calls_of_idle, cpu);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_idle_noted);
#endif
#endif
