// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: the model, points and their users.
 *
 * A user is allocated before it is registered, placed on a point, and linked; from
 * then on hits see it. The first user of a point makes the point. Unlinking and
 * displacing undo these steps. When a user is linked, unlinked, enabled or disabled,
 * this file chooses what hits of its point run.
 *
 * Nothing here arms a point or waits for handlers: the callers do.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <kunit/visibility.h>
#include <linux/cleanup.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "internal.h"

/* internal.h says what it protects. */
DEFINE_MUTEX(kprobe_mutex);

struct addr_table kprobe_point_table = ADDR_TABLE_INIT;
struct addr_table kprobe_user_table = ADDR_TABLE_INIT;

/* All points, including those whose text is gone. */
LIST_HEAD(kprobe_points);

/*
 * Points have a cache of their own: kmalloc() rounds the size up to a power of two, on
 * x86_64 from 296 bytes to 512. They are aligned, because a hit reads their first cache lines.
 */
static struct kmem_cache *point_cache __ro_after_init;

/*
 * Prints the target of a probe for the log. @kp may be any pointer, and the name in the
 * structure may have been freed after registration.
 */
static void point_name(const struct kprobe *kp, char *buf, size_t size)
{
	unsigned long addr = kprobe_stray_addr(kp);
	const char *symbol;
	unsigned int offset;
	ssize_t len;

	if (addr) {
		snprintf(buf, size, "%pS", (void *)addr);
		return;
	}
	if (get_kernel_nofault(symbol, &kp->symbol_name) ||
	    get_kernel_nofault(offset, &kp->offset))
		return;
	len = strncpy_from_kernel_nofault(buf, symbol, size);
	if (len > 0)
		snprintf(buf + len - 1, size - len + 1, "+%#x", offset);
	else
		strscpy(buf, "?", size);
}

/**
 * kprobe_deny_caller - refuse a call in a context that must not change probes
 * @what: the name of the operation, for the log
 * @kp:   the probe, or any other pointer that the caller has passed
 *
 * Changing probes may sleep, and waits for handlers. A handler would wait for itself. An
 * interrupt could wait for the task that it has interrupted, and cannot patch text. Where
 * preemption is not counted, a caller that has disabled it goes unnoticed. Preemptible RCU
 * readers are detected: on PREEMPT_RT, nothing else shows that softirqs are off or that a
 * spinlock is held.
 *
 * Context: any.
 * Return: true if the caller is a handler, or must not sleep. The log says so.
 */
bool kprobe_deny_caller(const char *what, const struct kprobe *kp)
{
	const struct kprobe *running;
	char probe[96] = "?";

	preempt_disable_notrace();
	running = kprobe_running();
	preempt_enable_notrace();
	if (likely(!running && !preempt_count() && !irqs_disabled() && !rcu_preempt_depth()))
		return false;

	point_name(kp, probe, sizeof(probe));
	/* What stands for no probe, as busy_point and not_a_handler, has no address. */
	if (running && running->addr)
		pr_warn_ratelimited("cannot %s a probe of %s in a handler of %pS\n",
				    what, probe, running->addr);
	else
		pr_warn_ratelimited("cannot %s a probe of %s where %s must not sleep\n",
				    what, probe, current->comm);
	return true;
}

/* ------------------------------- Choosing ------------------------------- */

/**
 * kprobe_report_flags - write the state of a probe to the caller's structure
 * @user: the probe
 *
 * Of these flags only KPROBE_FLAG_DISABLED is an input, and only at registration.
 *
 * Context: kprobe_mutex held.
 */
void kprobe_report_flags(struct kprobe_user *user)
{
	u32 flags = user->point->kp.flags & (KPROBE_FLAG_FTRACE |
					     KPROBE_FLAG_OPTIMIZED |
					     KPROBE_FLAG_GONE |
					     KPROBE_FLAG_ON_FUNC_ENTRY);

	kprobe_assert_held(&kprobe_mutex);
	if (!user->enabled)
		flags |= KPROBE_FLAG_DISABLED;
	WRITE_ONCE(user->kp->flags, flags);
}

static const unsigned int point_moves[] = {
	[KPROBE_OFF] = BIT(KPROBE_BREAKPOINT) | BIT(KPROBE_FTRACE) | BIT(KPROBE_GONE),
	[KPROBE_BREAKPOINT] = BIT(KPROBE_OFF) | BIT(KPROBE_QUEUED),
	[KPROBE_QUEUED] = BIT(KPROBE_OFF) | BIT(KPROBE_BREAKPOINT) | BIT(KPROBE_DIVERTED),
	[KPROBE_DIVERTED] = BIT(KPROBE_OFF) | BIT(KPROBE_BREAKPOINT) | BIT(KPROBE_JUMP),
	[KPROBE_JUMP] = BIT(KPROBE_OFF) | BIT(KPROBE_BREAKPOINT),
	[KPROBE_FTRACE] = BIT(KPROBE_OFF),
	[KPROBE_GONE] = 0,
};

/**
 * kprobe_point_move - change the state of a point
 * @pt:	   the point
 * @state: the new state; may be the old one
 *
 * The flags of the point and of its users follow.
 *
 * Context: kprobe_mutex held.
 */
void kprobe_point_move(struct kprobe_point *pt, enum kprobe_state state)
{
	u32 flags = pt->kp.flags & ~(KPROBE_FLAG_OPTIMIZED | KPROBE_FLAG_GONE);
	struct kprobe_user *user;

	kprobe_assert_held(&kprobe_mutex);
	if (pt->state == state)
		return;
	WARN_ONCE(!(point_moves[pt->state] & BIT(state)),
		  "%pS moves from state %d to %d\n", pt->kp.addr, pt->state, state);
	pt->state = state;

	if (state == KPROBE_JUMP)
		flags |= KPROBE_FLAG_OPTIMIZED;
	if (state == KPROBE_GONE)
		flags |= KPROBE_FLAG_GONE;
	if (flags == pt->kp.flags)
		return;
	pt->kp.flags = flags;
	list_for_each_entry(user, &pt->users, list)
		kprobe_report_flags(user);
}

/**
 * kprobe_choose_only - update kprobe_point::only
 * @pt: a point whose users have changed in any way
 *
 * Context: kprobe_mutex held.
 */
void kprobe_choose_only(struct kprobe_point *pt)
{
	struct kprobe_handlers *only = kprobe_counter_handlers(pt);

	kprobe_assert_held(&kprobe_mutex);
	if (!only && list_is_singular(&pt->users)) {
		struct kprobe_user *user;

		user = list_first_entry(&pt->users, struct kprobe_user, list);
		if (user->enabled && user->run.pre)
			only = &user->run;
	}
	/* Pairs with the dependent reads of kprobe_point_run_pre(). */
	smp_store_release(&pt->only, only);
}

/*
 * Hits read post_handler without a lock. With contexts, they only test it, and then call
 * kprobe_run_post(). Other architectures test it and then call it, so there it stays set,
 * and runs nothing if no post-handler is enabled.
 *
 * It is set before the user can be found. If an architecture reorders reads, and reads it
 * without another exception in between, a hit during registration may run the pre-handler
 * only. That is allowed: such a hit may also run no handler at all.
 */
static void point_choose_post(struct kprobe_point *pt)
{
	if (pt->nr_post)
		WRITE_ONCE(pt->kp.post_handler, kprobe_run_post);
	else if (IS_ENABLED(CONFIG_ARCH_HAS_KPROBE_CONTEXTS))
		WRITE_ONCE(pt->kp.post_handler, NULL);
}

/**
 * kprobe_count_user - update what depends on the number of enabled users
 * @user: a user that is about to be enabled, or has been disabled or unlinked
 * @sign: 1 or -1, respectively; 0 for a user that is linked but not enabled
 *
 * Context: kprobe_mutex held.
 */
void kprobe_count_user(struct kprobe_user *user, int sign)
{
	struct kprobe_point *pt = user->point;

	kprobe_assert_held(&kprobe_mutex);
	pt->nr_enabled += sign;
	if (user->run.post)
		pt->nr_post += sign;
	point_choose_post(pt);
	if (pt->nr_enabled)
		pt->kp.flags &= ~KPROBE_FLAG_DISABLED;
	else
		pt->kp.flags |= KPROBE_FLAG_DISABLED;
}

/* -------------------------------- Points -------------------------------- */

int __weak arch_prepare_post(struct kprobe *p)
{
	return 0;
}

void __weak arch_kprobes_batch(void)
{
}

#if defined(CONFIG_DYNAMIC_FTRACE) && !defined(__ARCH_KPROBE_FTRACE_SIZE)
#define __ARCH_KPROBE_FTRACE_SIZE	MCOUNT_INSN_SIZE
#endif

static int point_prepare(struct kprobe_point *pt)
{
	int ret;

#ifdef CONFIG_DYNAMIC_FTRACE
	unsigned long addr = pt->node.key;
	unsigned long before = __ARCH_KPROBE_FTRACE_SIZE - MCOUNT_INSN_SIZE;
	unsigned long site = ftrace_location_range(addr - before, addr);

	if (site && site != addr)
		return kprobe_refuse(addr, -EILSEQ, "inside an ftrace site");
	if (site) {
#ifdef CONFIG_KPROBES_ON_FTRACE
		pt->kp.flags |= KPROBE_FLAG_FTRACE;
		return arch_prepare_kprobe_ftrace(&pt->kp);
#else
		/* Only ftrace may patch it. */
		return kprobe_refuse(addr, -EINVAL, "an ftrace site");
#endif
	}
#endif
	kprobe_text_lock();
	ret = arch_prepare_kprobe(&pt->kp);
	kprobe_text_unlock();
	return ret;
}

/**
 * kprobe_release_point - free the architecture's data of a point
 * @pt: the point, disarmed and quiescent
 *
 * Context: kprobe_mutex held; may sleep.
 */
void kprobe_release_point(struct kprobe_point *pt)
{
	kprobe_assert_held(&kprobe_mutex);

	if (!kprobe_ftrace(&pt->kp))
		arch_remove_kprobe(&pt->kp);
}

/*
 * A point is always ready for the post-handlers of its users, even of disabled ones,
 * so that enabling needs no memory, except at ftrace sites. For these, the caller has to
 * call kprobe_ftrace_choose().
 */
static int point_want_post(struct kprobe_point *pt, struct kprobe_user *user)
{
	int ret = 0;

	if (!user->run.post)
		return 0;
	if (!kprobe_ftrace(&pt->kp))
		ret = arch_prepare_post(&pt->kp);
	if (!ret)
		pt->nr_want_post++;
	return ret;
}

/* -------------------------------- Users --------------------------------- */

/**
 * kprobe_user_of - find the user of a caller's structure
 * @kp: the structure; only its address is used
 *
 * Context: kprobe_mutex held.
 * Return: the user, or NULL if @kp is not registered.
 */
struct kprobe_user *kprobe_user_of(struct kprobe *kp)
{
	struct addr_node *n;

	kprobe_assert_held(&kprobe_mutex);
	/* A caller may pass any pointer, ERR_PTR(-1) for instance. */
	if ((unsigned long)kp == ADDR_NO_KEY)
		return NULL;
	n = addr_table_find(&kprobe_user_table, (unsigned long)kp);
	return n ? container_of(n, struct kprobe_user, node) : NULL;
}

/**
 * kprobe_stray_addr - read the address in a structure that is not registered
 * @kp: the structure, or any other pointer, even an error code
 *
 * Context: any.
 * Return: kprobe::addr; 0 if it is NULL, or cannot be read.
 */
unsigned long kprobe_stray_addr(const struct kprobe *kp)
{
	kprobe_opcode_t *addr;

	return get_kernel_nofault(addr, &kp->addr) ? 0 : (unsigned long)addr;
}

static bool point_registered(struct kprobe *kp)
{
	guard(mutex)(&kprobe_mutex);
	return kprobe_user_of(kp);
}

/**
 * kprobe_user_alloc - allocate the user of a probe
 * @kp: the probe
 *
 * Context: may sleep.
 * Return: the user, which has to be registered or freed; or an ERR_PTR with an error
 * of register_kprobe().
 */
struct kprobe_user *kprobe_user_alloc(struct kprobe *kp)
{
	struct kprobe_user *user;
	int ret;

	if (kprobe_is_constant(kp)) {
		ret = kprobe_refuse_probe(kp->addr, kp->symbol_name, kp->offset, -EINVAL,
					  "its structure is a constant");
		return ERR_PTR(ret);
	}
	user = kzalloc(sizeof(*user), GFP_KERNEL);
	if (!user)
		return ERR_PTR(-ENOMEM);
	user->node.key = (unsigned long)kp;
	user->kp = kp;
	ret = kprobe_resolve(kp->addr, kp->symbol_name, kp->offset, &user->addr,
			     &user->entry);
	/* No symbol covers the address of a probe whose module is gone. */
	if (ret == -ENOENT && point_registered(kp))
		ret = kprobe_refuse((unsigned long)kp->addr, -EINVAL,
				    "the probe is registered already");
	if (!ret)
		ret = kprobe_fault_alloc(user);
	if (ret) {
		kfree(user);
		return ERR_PTR(ret);
	}
	user->run.pre = kp->pre_handler;
	user->run.self = kp;
	user->run.post = kp->post_handler;
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
	if (user->hook)
		kretprobe_free(user->hook);
	kprobe_fault_free(user);
	kfree(user);
}

/**
 * kprobe_users_reserve - make room for users in the table that finds them
 * @num: how many
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0 or -ENOMEM.
 */
int kprobe_users_reserve(unsigned int num)
{
	kprobe_assert_held(&kprobe_mutex);

	return addr_table_reserve(&kprobe_user_table, num);
}

/**
 * kprobe_points_init - make the cache for points at boot
 *
 * Context: at boot; may sleep.
 * Return: 0 or -ENOMEM.
 */
int __init kprobe_points_init(void)
{
	point_cache = KMEM_CACHE(kprobe_point, SLAB_HWCACHE_ALIGN);
	return point_cache ? 0 : -ENOMEM;
}

#if IS_ENABLED(CONFIG_KUNIT)
/**
 * kprobe_test_point_cache - find the memory of points
 *
 * Context: any.
 * Return: the cache that they are allocated from.
 */
struct kmem_cache *kprobe_test_point_cache(void)
{
	return point_cache;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_point_cache);
#endif

static struct kprobe_point *point_alloc(struct kprobe_user *user)
{
	struct kprobe_point *pt = kmem_cache_zalloc(point_cache, GFP_KERNEL);

	if (!pt)
		return NULL;
	pt->node.key = user->addr;
	pt->kp.addr = (kprobe_opcode_t *)user->addr;
	pt->kp.pre_handler = kprobe_run_pre;
	if (kprobe_is_func_entry(user->addr, user->entry))
		pt->kp.flags |= KPROBE_FLAG_ON_FUNC_ENTRY;
	INIT_LIST_HEAD(&pt->users);
	INIT_LIST_HEAD(&pt->faulters);
	INIT_LIST_HEAD(&pt->kp.list);
#ifdef CONFIG_OPTPROBES
	INIT_LIST_HEAD(&pt->opt);
#endif
	return pt;
}

static struct kprobe_point *point_make(struct kprobe_user *user)
{
	struct kprobe_point *pt = point_alloc(user);
	int ret;

	if (!pt)
		return ERR_PTR(-ENOMEM);
	ret = point_prepare(pt);
	if (ret)
		goto out_free;
	ret = addr_table_reserve(&kprobe_point_table, 1);
	if (ret)
		goto out_release;
	addr_table_add(&kprobe_point_table, &pt->node);
	list_add_tail(&pt->all, &kprobe_points);
	kprobe_counter_add(pt);
	return pt;

out_release:
	kprobe_release_point(pt);
out_free:
	kprobe_point_free(pt);
	return ERR_PTR(ret);
}

/* Frees a point without users. ftrace may have armed and disarmed it, but no handler ran. */
static void point_unmake(struct kprobe_point *pt)
{
	list_del(&pt->all);
	addr_table_del(&kprobe_point_table, &pt->node);
	kprobe_release_point(pt);
	kprobe_wait_for_unwatched();
	kprobe_counter_free(pt);
	kprobe_point_free(pt);
}

static int point_place(struct kprobe_user *user)
{
	struct kprobe_point *pt = kprobe_point_at(user->addr);
	int ret;

	if (!pt)
		pt = point_make(user);
	if (IS_ERR(pt))
		return PTR_ERR(pt);
	ret = point_want_post(pt, user);
	if (ret) {
		if (!pt->nr_users)
			point_unmake(pt);
		return ret;
	}

	pt->nr_users++;
	user->point = pt;
	user->kp->addr = (kprobe_opcode_t *)user->addr;
	user->kp->opcode = pt->kp.opcode;
	/* From here on, registering the same structure again is refused. */
	addr_table_add(&kprobe_user_table, &user->node);
	return 0;
}

/*
 * The target was resolved without a lock. Since then its module may have been unloaded,
 * and another one loaded at the same address, or with a symbol of the same name. If the
 * target is in a module now, the caller holds a reference to it.
 *
 * Returns 0; -ENOENT; or -ESTALE if the symbol is elsewhere now.
 */
static int point_check_again(struct kprobe_user *user)
{
	const struct kprobe *kp = user->kp;
	unsigned long addr;
	bool entry;
	int ret;

	/* Not by kp->addr, which is overwritten if others have registered the structure. */
	if (kp->symbol_name)
		ret = kprobe_resolve(NULL, kp->symbol_name, kp->offset, &addr, &entry);
	else
		ret = kprobe_resolve((kprobe_opcode_t *)user->addr, NULL, 0, &addr, &entry);
	if (!ret && addr == user->addr && entry == user->entry)
		return 0;
	if (!ret && kp->symbol_name)
		return -ESTALE;
	return kprobe_refuse(user->addr, -ENOENT, "its module has been replaced");
}

/**
 * kprobe_place_user - find or make the point of a user
 * @user: the user; kprobe_users_reserve() has made room for it
 *
 * The point is then ready for the user's handlers. On an ftrace site, the caller still has
 * to call kprobe_ftrace_choose(). The point may not be armed yet, and hits do not see the
 * user.
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0; or, with nothing changed, an errno of register_kprobe(), or -ESTALE if the
 * target has to be looked up again.
 */
int kprobe_place_user(struct kprobe_user *user)
{
	struct module *mod;
	int ret;

	kprobe_assert_held(&kprobe_mutex);
	if (kprobe_user_of(user->kp))
		return kprobe_refuse(user->addr, -EINVAL, "the probe is registered already");
	ret = kprobe_check_site(user->addr, &mod);
	/* The text that was refused may have replaced the target. */
	if (mod || (ret && user->kp->symbol_name && !core_kernel_text(user->addr)))
		ret = point_check_again(user) ?: ret;
	if (!ret)
		ret = point_place(user);
	module_put(mod);
	return ret;
}

/**
 * kprobe_displace_user - undo kprobe_place_user()
 * @user: the user; it is not linked, and its point is not armed for it
 *
 * Context: kprobe_mutex held; may sleep.
 */
void kprobe_displace_user(struct kprobe_user *user)
{
	struct kprobe_point *pt = user->point;

	kprobe_assert_held(&kprobe_mutex);
	addr_table_del(&kprobe_user_table, &user->node);
	user->point = NULL;
	pt->nr_users--;
	if (user->run.post)
		pt->nr_want_post--;
	if (pt->nr_users)
		kprobe_optimizer_want(pt);
	else
		point_unmake(pt);
}

/**
 * kprobe_link_user - make a user visible to hits
 * @user: the user, placed on a point that is armed if the user is enabled and all probes
 *	  are switched on
 *
 * Context: kprobe_mutex held.
 */
void kprobe_link_user(struct kprobe_user *user)
{
	struct kprobe *kp = user->kp;

	kprobe_assert_held(&kprobe_mutex);
	kp->nmissed = 0;
	INIT_LIST_HEAD(&kp->list);
	/* This makes hlist_unhashed() false for a registered probe. */
	INIT_HLIST_NODE(&kp->hlist);
	hlist_add_fake(&kp->hlist);

	if (user->hook)
		kretprobe_ready(user);
	kprobe_count_user(user, user->enabled);
	kprobe_report_flags(user);
	kprobe_fault_add(user);
	list_add_tail_rcu(&user->list, &user->point->users);
	kprobe_choose_only(user->point);
}

/**
 * kprobe_unlink_user - hide a user from hits that start from now on
 * @user: the user
 *
 * Its handlers may still be running. The point stays, even without a user, and keeps
 * what it needs for post-handlers; on an ftrace site, until kprobe_ftrace_choose().
 *
 * Context: kprobe_mutex held.
 */
void kprobe_unlink_user(struct kprobe_user *user)
{
	struct kprobe_point *pt = user->point;

	kprobe_assert_held(&kprobe_mutex);
	addr_table_del(&kprobe_user_table, &user->node);
	list_del_rcu(&user->list);
	kprobe_choose_only(pt);
	if (!user->lost)
		INIT_HLIST_NODE(&user->kp->hlist);
	if (user->enabled)
		kprobe_count_user(user, -1);
	pt->nr_users--;
	if (user->run.post)
		pt->nr_want_post--;
}
