// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: probes on text that is freed, and probes whose own memory is: of modules, and of
 * init sections.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <kunit/visibility.h>
#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include <asm/sections.h>

#ifdef CONFIG_MODULES
#include "../module/internal.h"
#endif
#include "internal.h"

/*
 * Retires the points in [start, end). Their users stay until they are unregistered, and
 * report that the text is gone. The text is restored first, as it may still run: the kernel
 * waits for the asynchronous functions of a module only after the notifiers, and some of its
 * own init text does the freeing.
 */
static void kprobe_text_gone(unsigned long start, unsigned long end)
{
	struct kprobe_point *pt;
	LIST_HEAD(disarm);
	LIST_HEAD(dead);

	list_for_each_entry(pt, &kprobe_points, all) {
		if (kprobe_point_gone(pt) || pt->node.key < start || pt->node.key >= end)
			continue;
		kprobe_batch_add(pt, kprobe_point_armed(pt) ? &disarm : &dead);
	}
	kprobe_points_disarm(&disarm);
	list_splice(&disarm, &dead);

	list_for_each_entry(pt, &dead, kp.list)
		addr_table_del(&kprobe_point_table, &pt->node);
	if (!list_empty(&dead)) {
		kprobe_quiesce(&dead);
		kprobe_optimizer_free(&dead);
	}

	list_for_each_entry(pt, &dead, kp.list) {
		kprobe_release_point(pt);
		kprobe_point_move(pt, KPROBE_GONE);
	}
	kprobe_batch_end(&dead);
}

#if defined(CONFIG_MODULES) && defined(CONFIG_SMP)
/* Each CPU has a copy, which is not in the sections of the module. */
static bool is_percpu_data_of(unsigned long addr, const struct module *mod)
{
	unsigned long start;
	unsigned int cpu;

	if (!mod->percpu)
		return false;
	for_each_possible_cpu(cpu) {
		start = (unsigned long)per_cpu_ptr(mod->percpu, cpu);
		if (addr - start < mod->percpu_size)
			return true;
	}
	return false;
}
#else
static bool is_percpu_data_of(unsigned long addr, const struct module *mod)
{
	return false;
}
#endif

/*
 * Is it in memory that is about to be freed: that of a module, or, with @init, only its init
 * sections? Without a module, these are the init sections of the kernel.
 */
static bool is_going(const void *p, struct module *mod, bool init)
{
	unsigned long addr = (unsigned long)p;

	if (!mod)
		return init_section_contains((void *)p, 1);
	if (init)
		return within_module_init(addr, mod);
	return within_module(addr, mod) || is_percpu_data_of(addr, mod);
}

/* Some architectures have function descriptors, which are not in the section of the function. */
static bool is_going_function(void *fn, struct module *mod, bool init)
{
	return is_going(fn, mod, init) ||
	       is_going(dereference_symbol_descriptor(fn), mod, init);
}

/* Would a hit, or a change of the point, use what is about to be freed? */
static bool kprobe_user_is_going(const struct kprobe_user *user, struct module *mod,
				 bool init)
{
	const struct kprobe_faulter *faulter = user->faulter;
	const struct kretprobe_hook *hook = user->hook;

	if (hook && (is_going_function(hook->return_handler, mod, init) ||
		     is_going_function(hook->entry_handler, mod, init)))
		return true;
	if (user->jprobe && is_going_function(user->run.self, mod, init))
		return true;
	return is_going(user->kp, mod, init) ||
	       is_going_function(user->run.pre, mod, init) ||
	       is_going_function(user->run.post, mod, init) ||
	       (faulter && is_going_function(faulter->handler, mod, init));
}

/*
 * Removes the probes that should have been unregistered: the next hit would call a function
 * that is not there any more, and the optimizer would write to freed memory while it holds
 * kprobe_mutex. Unregistering such a probe later does nothing. A structure that is not in the
 * memory of the module may have been freed by it.
 */
static void kprobe_remove_going(struct module *mod, bool init)
{
	struct kprobe_user *user, *next;
	unsigned long first = 0;
	struct kprobe_point *pt;
	unsigned int nr = 0;
	LIST_HEAD(leaving);
	bool wait = false;

	list_for_each_entry(pt, &kprobe_points, all) {
		list_for_each_entry_safe(user, next, &pt->users, list) {
			if (!kprobe_user_is_going(user, mod, init))
				continue;
			if (!nr++)
				first = user->addr;
			user->lost = !is_going(user->kp, mod, init);
			wait |= kprobe_user_leave(user, &leaving);
		}
	}
	if (!nr)
		return;
	pr_warn("%s%s is freed with %u of its probes set, one at %pS: removing them\n",
		init ? "init memory of " : "", module_name(mod), nr, (void *)first);
	kprobe_users_remove(&leaving, wait);
}

/* Under kprobe_mutex. */
static bool init_text_gone;

/**
 * kprobe_free_init_mem - retire the points in the kernel's init text
 *
 * The text is about to be freed. It can be patched until core_kernel_text() no longer
 * counts it as text. Probes that are in init memory themselves are removed.
 *
 * Context: may sleep; system_state is still SYSTEM_SCHEDULING.
 */
void kprobe_free_init_mem(void)
{
	scoped_guard(mutex, &kprobe_mutex) {
		init_text_gone = true;
		kprobe_remove_going(NULL, true);
		kprobe_text_gone((unsigned long)__init_begin, (unsigned long)__init_end);
	}
	kprobe_test_init_text_gone();
}

/**
 * kprobe_init_text_gone - test for init text of the kernel that is about to be freed
 * @addr: any address
 *
 * Context: kprobe_mutex held.
 * Return: true if it is there, and must not be probed any more.
 */
bool kprobe_init_text_gone(unsigned long addr)
{
	kprobe_assert_held(&kprobe_mutex);
	return init_text_gone && is_kernel_inittext(addr);
}

static bool is_constant_of_module(unsigned long addr)
{
#ifdef CONFIG_MODULES
	struct module *mod;

	guard(preempt)();
	mod = __module_address(addr);
	return mod && !within_module_mem_type(addr, mod, MOD_DATA) &&
	       !within_module_mem_type(addr, mod, MOD_INIT_DATA);
#else
	return false;
#endif
}

/**
 * kprobe_is_constant - test for a structure that cannot be written to, or not for long
 * @kp: a caller's structure
 *
 * A probe that changes is reported in the caller's structure, often by a worker. A fault
 * there would come long after the mistake, and with kprobe_mutex held. So constants are
 * refused at the call, and so is what becomes one after init.
 *
 * Context: any.
 * Return: true if it is one.
 */
bool kprobe_is_constant(const struct kprobe *kp)
{
	unsigned long addr = (unsigned long)kp;

	return is_kernel_rodata(addr) || is_kernel_ro_after_init(addr) ||
	       is_constant_of_module(addr);
}

#ifdef CONFIG_MODULES
/**
 * kprobe_lock_modules - keep the exception tables of modules as they are
 *
 * When a module becomes live, the entries of its init text are cut off.
 *
 * Context: may sleep; until kprobe_unlock_modules() no lock of kprobes may be taken.
 */
void kprobe_lock_modules(void)
{
	mutex_lock(&module_mutex);
}

/**
 * kprobe_unlock_modules - undo kprobe_lock_modules()
 *
 * Context: that of kprobe_lock_modules().
 */
void kprobe_unlock_modules(void)
{
	mutex_unlock(&module_mutex);
}

/**
 * struct coming_module - a module that is being loaded
 * @list:   in @coming
 * @mod:    the module
 * @loader: the task that loads it, and runs its notifiers and its init function
 */
struct coming_module {
	struct list_head list;
	const struct module *mod;
	const struct task_struct *loader;
};

/* The modules being loaded that the notifier has seen; under kprobe_mutex. */
static LIST_HEAD(coming);

static struct coming_module *kprobe_find_coming(const struct module *mod)
{
	struct coming_module *c;

	list_for_each_entry(c, &coming, list) {
		if (c->mod == mod)
			return c;
	}
	return NULL;
}

/**
 * kprobe_module_seen - test if the notifier knows of a module
 * @mod: the module
 *
 * The symbols of a module can be found before its notifiers are called. Until then its
 * functions are not on the blacklist. If loading fails before that, for instance because
 * of a live patch, the state of the module changes, and its text is freed without a call
 * to the notifier.
 *
 * Context: kprobe_mutex held; preemption off since the module was found.
 * Return: true if its text may be probed: the blacklist covers it, and the notifier is
 * called before the text is freed.
 */
bool kprobe_module_seen(const struct module *mod)
{
	kprobe_assert_held(&kprobe_mutex);

	return READ_ONCE(mod->state) == MODULE_STATE_LIVE || kprobe_find_coming(mod);
}

/**
 * kprobe_module_loads - test if the caller is the task that loads a module
 * @mod: the module
 *
 * What this task does to the module until it is live, it does not do at the same time.
 *
 * Context: kprobe_mutex held.
 * Return: true if it is.
 */
bool kprobe_module_loads(const struct module *mod)
{
	struct coming_module *c;

	kprobe_assert_held(&kprobe_mutex);
	c = kprobe_find_coming(mod);
	return c && c->loader == current;
}

static int kprobe_module_comes(struct module *mod)
{
	struct coming_module *c = kmalloc(sizeof(*c), GFP_KERNEL);
	int ret;

	if (!c)
		return -ENOMEM;
	ret = kprobe_blacklist_add_module(mod);
	if (ret) {
		kfree(c);
		return ret;
	}
	c->mod = mod;
	c->loader = current;
	list_add(&c->list, &coming);
	return 0;
}

/* The module is live now, or about to go. */
static void kprobe_module_came(struct module *mod)
{
	struct coming_module *c = kprobe_find_coming(mod);

	if (!c)
		return;
	list_del(&c->list);
	kfree(c);
}

static int kprobe_module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *mod = data;
	int ret = 0;

	guard(mutex)(&kprobe_mutex);

	switch (event) {
	case MODULE_STATE_COMING:
		ret = kprobe_module_comes(mod);
		break;
	case MODULE_STATE_LIVE:
	case MODULE_STATE_GOING:
		kprobe_remove_going(mod, event == MODULE_STATE_LIVE);
		for_class_mod_mem_type(type, text) {
			unsigned long start = (unsigned long)mod->mem[type].base;
			unsigned long end = start + mod->mem[type].size;

			/* A live module is about to free its init text only. */
			if (start == end || (event == MODULE_STATE_LIVE && type != MOD_INIT_TEXT))
				continue;
			/* Restore the text: asynchronous functions may run until it is freed. */
			kprobe_text_gone(start, end);
			kprobe_blacklist_drop(start, end);
		}
		kprobe_module_came(mod);
		break;
	}
	return notifier_from_errno(ret);
}

/*
 * Runs before the tracers' notifier, which sets probes on new modules: the blacklist
 * must know the module by then.
 */
static struct notifier_block kprobe_module_nb = {
	.notifier_call = kprobe_module_event,
	.priority = 3,
};

#if IS_ENABLED(CONFIG_KUNIT)
/**
 * kprobe_test_module_event - notify of a module, as if it were loaded or unloaded
 * @mod:   the module
 * @event: its new state
 *
 * Context: may sleep; not from a stage.
 * Return: 0, or the errno with which loading would fail.
 */
int kprobe_test_module_event(struct module *mod, unsigned long event)
{
	return notifier_to_errno(kprobe_module_event(NULL, event, mod));
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_module_event);
#endif

/**
 * kprobe_gone_init - register for notifications of modules
 *
 * Context: at boot; may sleep.
 * Return: 0, or an errno.
 */
int __init kprobe_gone_init(void)
{
	return register_module_notifier(&kprobe_module_nb);
}
#endif /* CONFIG_MODULES */
