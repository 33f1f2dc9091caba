// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: the manager.
 *
 * It knows which addresses are probed and by whom, registers and unregisters.
 * It does not know any architecture; what an instruction is, how a hit comes
 * about and how it goes on is theirs. The rooms of kernel/kprobes/ do the rest.
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
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "kprobes/internal.h"

/* See kprobes/internal.h for what it protects. */
DEFINE_MUTEX(kprobe_mutex);

struct addr_table kprobe_point_table = ADDR_TABLE_INIT;
static struct addr_table user_table = ADDR_TABLE_INIT;

/* Every point there is, those whose text is gone included. */
LIST_HEAD(kprobe_points);

static bool initialised;

/**
 * kprobe_deny_handler - is somebody calling from a handler who must not?
 * @what: what they want to do
 * @kp:   to this probe; may be NULL, and need not be registered
 *
 * All that changes probes may sleep, and waits for handlers. A handler that
 * asks for it is told in the log.
 *
 * Context: any.
 * Return: true if so.
 */
bool kprobe_deny_handler(const char *what, const struct kprobe *kp)
{
	const struct kprobe *running;

	preempt_disable_notrace();
	running = kprobe_running();
	preempt_enable_notrace();
	if (likely(!running))
		return false;

	if (kp && kp->symbol_name)
		pr_warn_ratelimited("cannot %s a probe of %s+%#x: %pS is a handler, which may not sleep\n",
				    what, kp->symbol_name, kp->offset,
				    __builtin_return_address(0));
	else
		pr_warn_ratelimited("cannot %s a probe of %pS: %pS is a handler, which may not sleep\n",
				    what, kp ? kp->addr : NULL,
				    __builtin_return_address(0));
	return true;
}

/* ------------------------------- Points --------------------------------- */

/**
 * kprobe_user_of - find what the manager knows of a user's structure
 * @kp: the structure, of which nothing is read
 *
 * Context: kprobe_mutex held.
 * Return: NULL if it is not registered.
 */
struct kprobe_user *kprobe_user_of(struct kprobe *kp)
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
	int ret;

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
	kprobe_text_lock();
	ret = arch_prepare_kprobe(&pt->kp);
	kprobe_text_unlock();
	return ret;
}

/**
 * kprobe_release_point - the architecture forgets a point
 * @pt: the point, disarmed and quiescent
 *
 * Context: kprobe_mutex held; may sleep.
 */
void kprobe_release_point(struct kprobe_point *pt)
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

	if (kprobe_user_of(user->kp))
		return -EINVAL;

	ret = kprobe_check_site(user->addr, &mod);
	if (ret)
		return ret;

	pt = kprobe_point_at(user->addr);
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
#ifdef CONFIG_OPTPROBES
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
	kprobe_release_point(pt);
out_free:
	kprobe_point_free(pt);
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
	kprobe_release_point(pt);
	kprobe_point_free(pt);
}

/**
 * kprobe_report_flags - a probe shows its state to its user
 * @user: the probe
 *
 * Of the flags in the user's structure, DISABLED is the only one that is an
 * input, and that only when registering.
 *
 * Context: kprobe_mutex held.
 */
void kprobe_report_flags(struct kprobe_user *user)
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
		kprobe_report_flags(user);
}

/**
 * kprobe_choose_only - note what most hits need to know
 * @pt: a point whose users have changed in any way
 *
 * Context: kprobe_mutex held.
 */
void kprobe_choose_only(struct kprobe_point *pt)
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

#ifdef CONFIG_OPTPROBES
/**
 * kprobe_only - the probe of a point that has just one
 * @p:	  the point
 * @pre:  what to call in front of the instruction is stored here
 * @post: what to call behind it, with the probe itself, or NULL
 *
 * Context: kprobe_mutex held. Holds until kprobe_optimizer_undo() of the point.
 * Return: what to call the handler with; NULL if the point has
 * more to run in front of the instruction, or nothing.
 */
struct kprobe *kprobe_only(struct kprobe *p, kprobe_pre_handler_t *pre,
			   kprobe_post_handler_t *post)
{
	struct kprobe_user *user = to_point(p)->only;

	if (!user)
		return NULL;
	*pre = user->pre;
	*post = user->post;
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

/*
 * What handlers read without a lock. Where the architecture tests post_handler
 * and then calls it, another CPU may do both at any time, so that once it is
 * set it stays: with no post-handler enabled it finds nothing to run. Where
 * hits run kprobe_run_post() themselves, the member only says whether to.
 */
static void choose_post_handler(struct kprobe_point *pt)
{
	if (pt->nr_post)
		WRITE_ONCE(pt->kp.post_handler, kprobe_run_post);
#ifdef __ARCH_KPROBES_NEST
	else
		WRITE_ONCE(pt->kp.post_handler, NULL);
#endif
}

/**
 * kprobe_count_user - keep what depends on enabled users in line with them
 * @user: who is about to be enabled, or not any more
 * @sign: 1 or -1; 0 changes nothing
 *
 * Context: kprobe_mutex held.
 */
void kprobe_count_user(struct kprobe_user *user, int sign)
{
	struct kprobe_point *pt = user->point;

	pt->nr_enabled += sign;
	if (user->post)
		pt->nr_post += sign;
	choose_post_handler(pt);
	if (pt->nr_enabled)
		pt->kp.flags &= ~KPROBE_FLAG_DISABLED;
	else
		pt->kp.flags |= KPROBE_FLAG_DISABLED;
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

	user = kzalloc(sizeof(*user), GFP_KERNEL);
	if (!user)
		return ERR_PTR(-ENOMEM);
	user->node.key = (unsigned long)kp;
	user->kp = kp;
	ret = kprobe_resolve(kp->addr, kp->symbol_name, kp->offset, &user->addr,
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
		kprobe_batch_add(order[i].user->point, &batch);
		over = kprobe_optimizer_over(order[i].user->addr);
		if (over)
			kprobe_batch_add(over, &batch);
	}
	kprobe_optimizer_undo(&batch, KPROBE_RESTORE_BREAKPOINT);
	kprobe_batch_end(&batch);
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
	kprobe_count_user(user, user->enabled);
	kprobe_report_flags(user);
	kprobe_fault_add(user);
	list_add_tail_rcu(&user->list, &user->point->users);
	kprobe_choose_only(user->point);
}

/* All of them or none; users are the caller's again if it fails. */
static int register_users(struct kprobe_user **users, int num)
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
		if (users[i]->enabled && !users[i]->point->armed && kprobes_switched_on())
			kprobe_batch_add(users[i]->point, &batch);
	}
	i = num;
	ret = kprobe_points_arm(&batch);
	kprobe_batch_end(&batch);
	if (ret)
		goto displace;
	kprobe_test_stage(KPROBE_STAGE_ARMED);

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
 * kprobe_register_batch - register probes of any kind
 * @probes: array of pointers to what begins with a struct kprobe
 * @num:    how many
 * @make:   makes a user of one: from kprobe_user_alloc(), or an ERR_PTR
 *
 * Context: may sleep; not from a handler, nor with kprobe_mutex held.
 * Return: 0, or an errno of register_kprobe() with nothing changed.
 */
int kprobe_register_batch(void *probes, int num, kprobe_make_user_t make)
{
	struct kprobe_user *single, **users = &single;
	void **probe = probes;
	int i, ret = 0;

	if (num <= 0 || !probes)
		return -EINVAL;
	if (kprobe_deny_handler("register", *probe))
		return -EDEADLK;
	if (num > 1) {
		users = kvcalloc(num, sizeof(*users), GFP_KERNEL);
		if (!users)
			return -ENOMEM;
	}

	for (i = 0; i < num; i++) {
		users[i] = probe[i] ? make(probe[i]) : ERR_PTR(-EINVAL);
		if (IS_ERR(users[i])) {
			ret = PTR_ERR(users[i]);
			break;
		}
	}
	if (!ret)
		ret = register_users(users, num);
	if (ret) {
		while (i--)
			kprobe_user_free(users[i]);
	}
	if (users != &single)
		kvfree(users);
	return ret;
}

static struct kprobe_user *make_user(void *probe)
{
	return kprobe_user_alloc(probe);
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
 * * -EDEADLK: the caller is a handler
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
	return kprobe_register_batch(kps, num, make_user);
}
EXPORT_SYMBOL_GPL(register_kprobes);

/* ---------------------------- Unregistering ----------------------------- */

static void free_point(struct kprobe_point *pt)
{
	list_del(&pt->all);
	if (!pt->gone) {
		obstacle_gone(pt->node.key);
		kprobe_release_point(pt);
	}
	kprobe_point_free(pt);
}

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
	struct kprobe_point *pt, *next_pt;
	struct kprobe_user *user, *next;
	LIST_HEAD(disarm);
	LIST_HEAD(leaving);
	LIST_HEAD(quiet);
	bool wait = false;
	bool again = false;
	int i;

	if (num <= 0 || !kps || kprobe_deny_handler("unregister", *kps))
		return;

	mutex_lock(&kprobe_mutex);

	for (i = 0; i < num; i++) {
		struct kprobe *kp = kps[i];

		if (!kp)
			continue;
		user = kprobe_user_of(kp);
		if (!user) {
			kp->addr = NULL;
			continue;
		}
		pt = user->point;
		addr_table_del(&user_table, &user->node);
		list_del_rcu(&user->list);
		kprobe_choose_only(pt);
		list_add_tail(&user->batch, &leaving);
		INIT_HLIST_NODE(&kp->hlist);
		/* Handlers of one that is off have ended when it was switched. */
		if (user->enabled || user->pool)
			wait = true;
		if (user->enabled)
			kprobe_count_user(user, -1);
		pt->nr_users--;
		unwant_post(pt, user);
		if (user->pool)
			kretprobe_pool_stop(user->pool);
	}

	kprobe_test_stage(KPROBE_STAGE_LEAVING);

	list_for_each_entry(user, &leaving, batch) {
		pt = user->point;
		if (pt->armed && !pt->nr_enabled)
			kprobe_batch_add(pt, &disarm);
		else
			kprobe_batch_add(pt, &quiet);
	}
	kprobe_points_disarm(&disarm);
	list_splice(&disarm, &quiet);
	kprobe_test_stage(KPROBE_STAGE_DISARMED);

	/*
	 * The text of a point is restored before the point is unlinked, and it
	 * is unlinked before we wait: who takes the breakpoint late finds no
	 * point, sees that there is no breakpoint either, and goes on.
	 */
	list_for_each_entry(pt, &quiet, kp.list) {
		if (!pt->nr_users && !pt->gone)
			addr_table_del(&kprobe_point_table, &pt->node);
	}
	kprobe_test_stage(KPROBE_STAGE_UNLINKED);

	if (wait)
		kprobe_quiesce(&quiet);
	/* Their last handlers could still fault: see fault.c. */
	list_for_each_entry(user, &leaving, batch)
		again |= kprobe_fault_del(user);
	if (again)
		kprobe_quiesce(&quiet);
	kprobe_test_stage(KPROBE_STAGE_QUIET);

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
EXPORT_SYMBOL_GPL(unregister_kprobes);

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

#if IS_ENABLED(CONFIG_KUNIT)
/**
 * kprobe_test_nr_users - how many probes are registered
 *
 * Context: kprobe_mutex held.
 * Return: the number.
 */
unsigned int kprobe_test_nr_users(void)
{
	return user_table.live;
}
#endif

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
		ret = register_module_notifier(&kprobe_module_nb);
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
