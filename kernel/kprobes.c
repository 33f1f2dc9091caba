// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: the manager, which registers and unregisters probes.
 *
 * It has no architecture code. The files of kernel/kprobes/ do the rest;
 * kprobes/internal.h describes them, and the data structures and their locks.
 *
 * A single probe is a batch of one:
 *
 *   registering	Resolve the targets and allocate memory, without a lock.
 *			Find or make the points, in order of address, so that
 *			the architecture analyses a function once for all probes
 *			in it. Arm the new points together. Once nothing can
 *			fail, make the new users visible to hits, in the order
 *			given.
 *
 *   unregistering	Unlink the users from their points. Disarm the points
 *			left without an enabled user. Wait once for all of them,
 *			until the handlers that were already running have
 *			finished. Free them.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/cleanup.h>
#include <linux/init.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

#include "kprobes/internal.h"

static bool initialised;

/* ----------------------------- Registering ------------------------------ */

/* A user to place, and what placing it overwrites in the caller's structure. */
struct placement {
	struct kprobe_user *user;
	kprobe_opcode_t *addr;
	kprobe_opcode_t opcode;
	int index;
};

static int kprobe_placement_cmp(const void *a, const void *b)
{
	const struct placement *x = a, *y = b;

	if (x->user->addr != y->user->addr)
		return x->user->addr < y->user->addr ? -1 : 1;
	return 0;
}

/* Fills in @order, sorted by address. */
static void kprobe_plan_placements(struct placement *order, struct kprobe_user **users,
				   int num)
{
	bool sorted = true;
	int i;

	for (i = 0; i < num; i++) {
		order[i].user = users[i];
		order[i].index = i;
		order[i].addr = users[i]->kp->addr;
		order[i].opcode = users[i]->kp->opcode;
		if (i && users[i]->addr < users[i - 1]->addr)
			sorted = false;
	}
	/* Callers often work from lists of symbols, which are sorted. */
	if (!sorted)
		sort(order, num, sizeof(*order), kprobe_placement_cmp, NULL);
}

/*
 * Turns jumps that the new users invalidate back into breakpoints: jumps at their
 * points, whose detours do not run the new handlers, and jumps of other points that
 * replace bytes at the points of the new users.
 */
static void kprobe_revert_jumps(struct placement *order, int num)
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
	kprobe_optimizer_revert(&batch);
	kprobe_batch_end(&batch);
}

/* The point before @addr may become a jump again: a point at @addr was added or removed. */
static void kprobe_retry_before(unsigned long addr)
{
	struct kprobe_point *over = kprobe_optimizer_over(addr);

	if (over)
		kprobe_optimizer_want(over);
}

static void kprobe_users_displace(struct placement *order, int num)
{
	LIST_HEAD(armed);

	while (num--) {
		cond_resched_tasks_rcu_qs();
		/* Unlike the new points, it stays. */
		if (kprobe_point_armed(order[num].user->point))
			kprobe_batch_add(order[num].user->point, &armed);
		kprobe_displace_user(order[num].user);
		kprobe_retry_before(order[num].user->addr);
		order[num].user->kp->addr = order[num].addr;
		order[num].user->kp->opcode = order[num].opcode;
	}
	kprobe_ftrace_choose(&armed, false);
	kprobe_batch_end(&armed);
}

/* Places all users or none. */
static int kprobe_users_place(struct placement *order, int num)
{
	int i, ret = 0;

	arch_kprobes_batch();
	for (i = 0; i < num; i++) {
		ret = kprobe_place_user(order[i].user);
		if (ret)
			break;
		cond_resched_tasks_rcu_qs();
	}
	arch_kprobes_batch();
	if (ret) {
		kprobe_refuse_batch(order[i].index, num, ret);
		kprobe_users_displace(order, i);
	}
	return ret;
}

static int kprobe_users_arm(struct kprobe_user **users, int num)
{
	struct kprobe_point *pt;
	LIST_HEAD(armed);
	LIST_HEAD(arm);
	int i, ret;

	for (i = 0; i < num; i++) {
		pt = users[i]->point;
		if (kprobe_point_armed(pt))
			kprobe_batch_add(pt, &armed);
		else if (users[i]->enabled && kprobes_switched_on())
			kprobe_batch_add(pt, &arm);
	}
	ret = kprobe_ftrace_choose(&armed, true);
	if (!ret) {
		ret = kprobe_points_arm(&arm);
		/* As in kprobes_switch(): other probes of the points may have been hit. */
		if (ret)
			kprobe_quiesce(&arm);
	}
	kprobe_batch_end(&armed);
	kprobe_batch_end(&arm);
	return ret;
}

static void kprobe_users_link(struct kprobe_user **users, int num)
{
	int i;

	for (i = 0; i < num; i++)
		kprobe_link_user(users[i]);
	for (i = 0; i < num; i++) {
		kprobe_optimizer_want(users[i]->point);
		/* If kprobe_revert_jumps() undid that jump, plan it again. */
		kprobe_retry_before(users[i]->addr);
	}
}

/* Registers all users or none. On failure the caller frees them. */
static int kprobe_users_register(struct kprobe_user **users, int num)
{
	struct placement single, *order = &single;
	int ret;

	if (num > 1) {
		order = kvmalloc_array(num, sizeof(*order), GFP_KERNEL | __GFP_NOWARN);
		if (!order)
			return -ENOMEM;
	}
	kprobe_plan_placements(order, users, num);
	kprobe_test_stage(KPROBE_STAGE_RESOLVED);

	mutex_lock(&kprobe_mutex);
	ret = initialised ? kprobe_users_reserve(num) :
			    kprobe_refuse(order->user->addr, -EAGAIN, "kprobes are not ready");
	if (ret)
		goto out;
	ret = kprobe_users_place(order, num);
	if (ret)
		goto out;
	kprobe_revert_jumps(order, num);
	ret = kprobe_users_arm(users, num);
	if (ret) {
		kprobe_users_displace(order, num);
		goto out;
	}
	kprobe_test_stage(KPROBE_STAGE_ARMED);
	kprobe_users_link(users, num);
out:
	mutex_unlock(&kprobe_mutex);
	if (order != &single)
		kvfree(order);
	return ret;
}

/* Makes the user of a probe of any kind, or an ERR_PTR. Every kind begins with a kprobe. */
typedef struct kprobe_user *(*kprobe_make_user_t)(void *probe);

/*
 * Makes the users of the probes, and registers them. Returns 0; or an errno, possibly
 * -ESTALE, with nothing changed and no user left.
 */
static int kprobe_batch_try(void **probe, struct kprobe_user **users, int num,
			    kprobe_make_user_t make)
{
	int i, ret = 0;

	for (i = 0; i < num; i++) {
		users[i] = probe[i] ? make(probe[i]) :
				      ERR_PTR(kprobe_refuse(0, -EINVAL, "a pointer is NULL"));
		if (IS_ERR(users[i])) {
			ret = PTR_ERR(users[i]);
			kprobe_refuse_batch(i, num, ret);
			break;
		}
		cond_resched_tasks_rcu_qs();
	}
	if (!ret)
		ret = kprobe_users_register(users, num);
	if (ret) {
		while (i--)
			kprobe_user_free(users[i]);
	}
	return ret;
}

/*
 * How often to look up targets if modules come and go between the lookup and the lock.
 * Each retry is due to another such module. More than a few in a row are not expected.
 */
#define MAX_LOOKUPS	8

/* Registers probes of one kind. Returns 0, or an errno with nothing changed. */
static int kprobe_batch_register(void *probes, int num, kprobe_make_user_t make)
{
	struct kprobe_user *single, **users = &single;
	unsigned int lookups = 0;
	void **probe = probes;
	int ret;

	if (num <= 0 || !probes)
		return kprobe_refuse_call("register", probes, num);
	if (kprobe_deny_caller("register", *probe))
		return -EDEADLK;
	if (num > 1) {
		/* An absurd @num is a mistake of the caller, which gets -ENOMEM, not a warning. */
		users = kvcalloc(num, sizeof(*users), GFP_KERNEL | __GFP_NOWARN);
		if (!users)
			return -ENOMEM;
	}

	do
		ret = kprobe_batch_try(probe, users, num, make);
	while (ret == -ESTALE && ++lookups < MAX_LOOKUPS);
	if (ret == -ESTALE)
		ret = kprobe_refuse(0, -ENOENT, "its symbol moves between modules");
	if (users != &single)
		kvfree(users);
	return ret;
}

static struct kprobe_user *kprobe_make_user(void *probe)
{
	return kprobe_user_alloc(probe);
}

/**
 * register_kprobe - set a probe
 * @p: the probe, see struct kprobe for what to fill in
 *
 * Context: may sleep. Not from a handler.
 * Return: 0, and hits run the handlers from now on, unless @p->flags had
 * KPROBE_FLAG_DISABLED set, or all probes are switched off; @p->addr is the address
 * that carries the probe. Or, with nothing changed:
 *
 * * -EINVAL: neither or both of a symbol and an address are given; the probe
 *   is registered already, or a constant; the target is not kernel text, or
 *   text that must not be probed or that other code patches
 * * -ENOENT: no such symbol, or none that covers the address; or its module is
 *   being unloaded, or its notifiers have not been called yet
 * * -EILSEQ: not the start of an instruction, or one that cannot be probed
 * * -EDEADLK: the caller is a handler, or must not sleep
 * * -EAGAIN: it is too early in boot, or kprobes have failed to start
 * * -ENOMEM
 * * an error from ftrace, if the target is an ftrace site
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
 * This is much cheaper than registering them one by one: the text is patched in one
 * round for all of them.
 *
 * Context: may sleep. Not from a handler.
 * Return: 0 with all of them registered; or the error of one of them, see
 * register_kprobe(), with none registered. -EINVAL too if @num is not positive, @kps or one
 * of its pointers is NULL, or a probe occurs twice.
 */
int register_kprobes(struct kprobe **kps, int num)
{
	return kprobe_batch_register(kps, num, kprobe_make_user);
}
EXPORT_SYMBOL_GPL(register_kprobes);

/* ---------------------------- Unregistering ----------------------------- */

/**
 * kprobe_user_leave - hide a user from hits
 * @user:    the user
 * @leaving: collects users for kprobe_users_remove()
 *
 * Context: kprobe_mutex held.
 * Return: true if its handlers may be running.
 */
bool kprobe_user_leave(struct kprobe_user *user, struct list_head *leaving)
{
	/* Disabling has waited for the handlers of a disabled probe. */
	bool wait = user->enabled || user->hook;

	kprobe_assert_held(&kprobe_mutex);
	list_add_tail(&user->batch, leaving);
	kprobe_unlink_user(user);
	return wait;
}

/* As kprobe_user_leave() for the registered probes in the array. */
static bool kprobe_users_unlink(struct kprobe **kps, int num, struct list_head *leaving)
{
	kprobe_opcode_t *none = NULL;
	struct kprobe_user *user;
	bool wait = false;
	unsigned long addr;
	int i;

	for (i = 0; i < num; i++) {
		if (!kps[i])
			continue;
		user = kprobe_user_of(kps[i]);
		if (!user) {
			addr = kprobe_stray_addr(kps[i]);
			kprobe_refuse(addr, -EINVAL,
				      "cannot unregister: it is not registered");
			/* A store could fault: any pointer may have been passed. */
			if (addr)
				copy_to_kernel_nofault(&kps[i]->addr, &none, sizeof(none));
			continue;
		}
		wait |= kprobe_user_leave(user, leaving);
	}
	return wait;
}

/*
 * Moves the points of the users in @leaving to @batch. Disarms those left without an enabled
 * user, then removes those left without any user from the table. The order matters: a
 * CPU that takes the breakpoint late finds no point, sees that the breakpoint is gone
 * as well, and executes the instruction. Both come before the caller waits.
 */
static void kprobe_users_disarm(struct list_head *leaving, struct list_head *batch)
{
	struct kprobe_user *user;
	struct kprobe_point *pt;
	LIST_HEAD(disarm);

	list_for_each_entry(user, leaving, batch) {
		pt = user->point;
		if (kprobe_point_armed(pt) && !pt->nr_enabled)
			kprobe_batch_add(pt, &disarm);
		else
			kprobe_batch_add(pt, batch);
	}
	kprobe_points_disarm(&disarm);
	list_splice(&disarm, batch);
	/*
	 * A detour that calls the handlers of a single probe directly has run entry handlers
	 * until now. The return handlers of these calls have to run as well.
	 */
	list_for_each_entry(user, leaving, batch) {
		if (user->hook)
			kretprobe_stop(user->hook);
	}
	/*
	 * After disarming, because this takes grace periods for points that are armed. If it
	 * fails, all that happens is that their sites refuse other IPMODIFY users.
	 */
	kprobe_ftrace_choose(batch, false);
	kprobe_test_stage(KPROBE_STAGE_DISARMED);

	list_for_each_entry(pt, batch, kp.list) {
		if (!pt->nr_users && !kprobe_point_gone(pt))
			addr_table_del(&kprobe_point_table, &pt->node);
	}
	kprobe_test_stage(KPROBE_STAGE_UNLINKED);
}

static void kprobe_users_quiesce(struct list_head *leaving, struct list_head *batch,
				 bool wait)
{
	bool again = false, late = false;
	struct kprobe_user *user;

	if (wait) {
		kprobe_quiesce(batch);
		kprobe_optimizer_free(batch);
	} else {
		kprobe_wait_for_unwatched();
	}
	/* The last handlers could fault until now: see fault.c. */
	list_for_each_entry(user, leaving, batch) {
		again |= kprobe_fault_del(user);
		/* Late returns must not show a freed point. */
		if (user->hook) {
			kretprobe_leave_point(user->hook);
			late = true;
		}
	}
	if (late)
		kprobe_wait_for_unwatched();
	if (again)
		kprobe_quiesce(batch);
}

/* Frees those points of a batch that have no users, and ends the batch. */
static void kprobe_points_free_unused(struct list_head *batch)
{
	struct kprobe_point *pt, *next;

	list_for_each_entry_safe(pt, next, batch, kp.list) {
		cond_resched_tasks_rcu_qs();
		if (pt->nr_users) {
			/* A user that has left may have prevented a jump. */
			kprobe_optimizer_want(pt);
			continue;
		}
		list_del(&pt->kp.list);
		list_del(&pt->all);
		if (!kprobe_point_gone(pt)) {
			kprobe_retry_before(pt->node.key);
			kprobe_release_point(pt);
		}
		kprobe_counter_free(pt);
		kprobe_point_free(pt);
	}
	kprobe_batch_end(batch);
}

static void kprobe_users_free(struct list_head *leaving)
{
	struct kprobe_user *user, *next;

	list_for_each_entry_safe(user, next, leaving, batch) {
		if (!user->lost)
			user->kp->flags &= KPROBE_FLAG_DISABLED;
		if (user->hook)
			kretprobe_free(user->hook);
		kprobe_fault_free(user);
		kfree_rcu(user, rcu);
	}
}

/**
 * kprobe_users_remove - remove users that hits do not see any more
 * @leaving: the users, from kprobe_user_leave()
 * @wait:    handlers of one of them may be running
 *
 * On return no such handler is running, and the users are freed.
 *
 * Context: kprobe_mutex held; may sleep.
 */
void kprobe_users_remove(struct list_head *leaving, bool wait)
{
	LIST_HEAD(batch);

	kprobe_assert_held(&kprobe_mutex);
	kprobe_test_stage(KPROBE_STAGE_LEAVING);
	kprobe_users_disarm(leaving, &batch);
	kprobe_users_quiesce(leaving, &batch, wait);
	kprobe_test_stage(KPROBE_STAGE_QUIET);
	kprobe_points_free_unused(&batch);
	kprobe_users_free(leaving);
}

/**
 * unregister_kprobes - remove many probes at once
 * @kps: the probes
 * @num: how many
 *
 * On return no handler of any of them is running or will run. If a probe is not
 * registered, its addr is cleared, and the others are removed as usual. NULL in
 * the array is skipped.
 *
 * Context: may sleep. From a handler, or if the caller must not sleep, this only logs a
 * warning: the probes stay set, and must not be freed.
 */
void unregister_kprobes(struct kprobe **kps, int num)
{
	LIST_HEAD(leaving);
	bool wait;

	if (num <= 0 || !kps || kprobe_deny_caller("unregister", *kps))
		return;

	guard(mutex)(&kprobe_mutex);

	wait = kprobe_users_unlink(kps, num, &leaving);
	kprobe_users_remove(&leaving, wait);
}
EXPORT_SYMBOL_GPL(unregister_kprobes);

/**
 * unregister_kprobe - remove a probe
 * @p: the probe
 *
 * On return no handler of the probe is running or will run: it may be freed. For a
 * probe that is not registered, this only clears its addr.
 *
 * Context: as for unregister_kprobes().
 */
void unregister_kprobe(struct kprobe *p)
{
	unregister_kprobes(&p, 1);
}
EXPORT_SYMBOL_GPL(unregister_kprobe);

/* --------------------- Return probes and jprobes ------------------------ */

#ifdef CONFIG_KRETPROBES

/**
 * register_kretprobe - set a return probe
 * @rp: the probe, see struct kretprobe for what to fill in
 *
 * Context: may sleep. Not from a handler.
 * Return: 0 as register_kprobe(); or, with nothing changed, one of its errors, or
 *
 * * -EINVAL: the target is not the entry of a function, or is on the return probe
 *   blacklist, because it returns on another stack or in another context;
 *   @rp->data_size is more than KRETPROBE_MAX_DATA_SIZE
 * * -ENOMEM: there is no memory for that many instances
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
 * with none registered. -EINVAL too if @num is not positive, @rps or one of its pointers is
 * NULL, or a probe occurs twice.
 */
int register_kretprobes(struct kretprobe **rps, int num)
{
	return kprobe_batch_register(rps, num, kretprobe_make_user);
}
EXPORT_SYMBOL_GPL(register_kretprobes);

/**
 * unregister_kretprobe - remove a return probe
 * @rp: the probe
 *
 * On return no handler of the probe is running or will run: it may be freed.
 * Calls in flight return normally.
 *
 * Context: as for unregister_kprobes().
 */
void unregister_kretprobe(struct kretprobe *rp)
{
	unregister_kretprobes(&rp, 1);
}
EXPORT_SYMBOL_GPL(unregister_kretprobe);

/**
 * unregister_kretprobes - remove many return probes at once
 * @rps: the probes
 * @num: how many
 *
 * The guarantees are those of unregister_kretprobe() and unregister_kprobes().
 *
 * Context: as for unregister_kprobes().
 */
void unregister_kretprobes(struct kretprobe **rps, int num)
{
	unregister_kprobes((struct kprobe **)rps, num);
}
EXPORT_SYMBOL_GPL(unregister_kretprobes);

#endif /* CONFIG_KRETPROBES */

#ifdef CONFIG_JPROBES

/**
 * register_jprobe - set a jprobe
 * @jp: the probe, see struct jprobe for what to fill in
 *
 * Context: may sleep. Not from a handler.
 * Return: 0 as register_kprobe(); or, with nothing changed, one of its errors;
 * -EINVAL too if the target is not the entry of a function, or there is no handler.
 */
int register_jprobe(struct jprobe *jp)
{
	return register_jprobes(&jp, 1);
}
EXPORT_SYMBOL_GPL(register_jprobe);

/**
 * register_jprobes - set many jprobes at once
 * @jps: the probes
 * @num: how many
 *
 * Context: may sleep. Not from a handler.
 * Return: 0 with all of them registered; or an error of register_jprobe() with
 * none registered. -EINVAL too if @num is not positive, @jps or one of its pointers is NULL,
 * or a probe occurs twice.
 */
int register_jprobes(struct jprobe **jps, int num)
{
	return kprobe_batch_register(jps, num, jprobe_make_user);
}
EXPORT_SYMBOL_GPL(register_jprobes);

/**
 * unregister_jprobe - remove a jprobe
 * @jp: the probe
 *
 * On return its handler is not running and will not run: the jprobe may be freed.
 *
 * Context: as for unregister_kprobes().
 */
void unregister_jprobe(struct jprobe *jp)
{
	unregister_jprobes(&jp, 1);
}
EXPORT_SYMBOL_GPL(unregister_jprobe);

/**
 * unregister_jprobes - remove many jprobes at once
 * @jps: the probes
 * @num: how many
 *
 * The guarantees are those of unregister_jprobe() and unregister_kprobes().
 *
 * Context: as for unregister_kprobes().
 */
void unregister_jprobes(struct jprobe **jps, int num)
{
	unregister_kprobes((struct kprobe **)jps, num);
}
EXPORT_SYMBOL_GPL(unregister_jprobes);

#endif /* CONFIG_JPROBES */

/* ------------------------------- Start ---------------------------------- */

int __weak kprobe_exceptions_notify(struct notifier_block *self, unsigned long val,
				    void *data)
{
	return NOTIFY_DONE;
}
NOKPROBE_SYMBOL(kprobe_exceptions_notify);

static struct notifier_block kprobe_exceptions_nb = {
	.notifier_call = kprobe_exceptions_notify,
	.priority = INT_MAX,
};

/* Runs after debuggers, which may let a crashed handler continue. */
static int __kprobe_hit kprobe_die(struct notifier_block *nb, unsigned long what, void *args)
{
	if (what == DIE_OOPS)
		kprobe_abandon();
	return NOTIFY_DONE;
}

static struct notifier_block kprobe_die_nb = {
	.notifier_call = kprobe_die,
	.priority = INT_MIN,
};

static int __init kprobes_init(void)
{
	int ret;

	ret = kprobe_blacklist_init();
	if (ret) {
		pr_err("cannot build the blacklist: %d; nothing can be probed\n", ret);
		return ret;
	}
	kretprobe_init();

	ret = kprobe_points_init();
	if (!ret)
		ret = register_die_notifier(&kprobe_exceptions_nb);
	if (!ret)
		ret = register_die_notifier(&kprobe_die_nb);
	if (!ret)
		ret = kprobe_gone_init();
	if (!ret) {
		/* Some architectures register a probe here. */
		initialised = true;
		ret = arch_init_kprobes();
	}
	if (ret) {
		/* Notifiers that are registered find no point. */
		initialised = false;
		pr_err("cannot start: %d; nothing can be probed\n", ret);
	}
	return ret;
}
early_initcall(kprobes_init);
