// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: control files, /sys/kernel/debug/kprobes/.
 *
 *	list		0400	the registered probes
 *	enabled		0600	the master switch, see switch.c
 *	blacklist	0400	text that may not be probed
 *	points		0400	how each point is hit, how often, and what it missed
 *	hits		0600	whether hits are counted
 *
 * Tools parse list, enabled and blacklist, so the formats of these do not change. points
 * is for people, and may gain columns. The manual describes all of them.
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "internal.h"

#define ADDR_DIGITS	((int)(2 * sizeof(long)))

/* Only readers that see addresses in /proc/kallsyms see them here. */
static unsigned long kprobes_shown_addr(struct seq_file *m, unsigned long addr)
{
	return kallsyms_show_value(m->file->f_cred) ? addr : 0;
}

/* ------------------------------- list ----------------------------------- */

static void *kprobes_points_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&kprobe_mutex);
	return seq_list_start(&kprobe_points, *pos);
}

static void *kprobes_points_next(struct seq_file *m, void *v, loff_t *pos)
{
	return seq_list_next(v, &kprobe_points, pos);
}

static void kprobes_points_stop(struct seq_file *m, void *v)
{
	/*
	 * arch_detour_branch() may have left data about a module, which may be unloaded once
	 * the mutex is free.
	 */
	arch_kprobes_batch();
	mutex_unlock(&kprobe_mutex);
}

/*
 * Other text may have replaced the text of a module that is gone, and ftrace even keeps
 * symbols of freed text. The symbols of the kernel's own init text stay valid.
 */
static const char *kprobes_symbol(struct kprobe_point *pt, unsigned long *offset,
				  char **module, char *name)
{
	if (kprobe_point_gone(pt) && !is_kernel_inittext(pt->node.key))
		return NULL;
	return kallsyms_lookup(pt->node.key, NULL, offset, module, name);
}

static void kprobes_show_symbol(struct seq_file *m, struct kprobe_point *pt)
{
	unsigned long offset = 0;
	char name[KSYM_NAME_LEN];
	char *module = NULL;
	const char *symbol;

	/* The names are in struct module, which is freed after a grace period. */
	guard(preempt)();
	symbol = kprobes_symbol(pt, &offset, &module, name);
	if (symbol)
		seq_printf(m, "%s+0x%lx  %s ", symbol, offset, module ? module : " ");
	else
		seq_printf(m, "0x%0*lx ", ADDR_DIGITS, kprobes_shown_addr(m, pt->node.key));
}

static void kprobes_show_user(struct seq_file *m, struct kprobe_user *user)
{
	struct kprobe_point *pt = user->point;

	seq_printf(m, "%0*lx  %c  ", ADDR_DIGITS, kprobes_shown_addr(m, pt->node.key),
		   user->hook ? 'r' : user->jprobe ? 'j' : 'k');
	kprobes_show_symbol(m, pt);
	seq_printf(m, "%s%s%s%s\n",
		   kprobe_point_gone(pt) ? "[GONE]" : "",
		   !user->enabled && !kprobe_point_gone(pt) ? "[DISABLED]" : "",
		   kprobe_optimized(&pt->kp) ? "[OPTIMIZED]" : "",
		   kprobe_ftrace(&pt->kp) ? "[FTRACE]" : "");
}

static int kprobes_list_show(struct seq_file *m, void *v)
{
	struct kprobe_point *pt = list_entry(v, struct kprobe_point, all);
	struct kprobe_user *user;

	list_for_each_entry(user, &pt->users, list)
		kprobes_show_user(m, user);
	return 0;
}

static const struct seq_operations kprobes_list_sops = {
	.start = kprobes_points_start,
	.next = kprobes_points_next,
	.stop = kprobes_points_stop,
	.show = kprobes_list_show,
};

/*
 * There is no tag for a point that is about to become a jump. Do not wait in ->start(): it
 * is called again each time the buffer is too small.
 */
static int kprobes_list_open(struct inode *inode, struct file *file)
{
	kprobe_optimizer_hurry();
	return seq_open(file, &kprobes_list_sops);
}

static const struct file_operations kprobes_list_fops = {
	.open = kprobes_list_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release,
};

/* ------------------------------ points ---------------------------------- */

static const char *const kprobes_how[] = {
	[KPROBE_OFF] = "off",
	[KPROBE_BREAKPOINT] = "breakpoint",
	[KPROBE_QUEUED] = "breakpoint",
	[KPROBE_DIVERTED] = "breakpoint",
	[KPROBE_JUMP] = "jump",
	[KPROBE_FTRACE] = "ftrace",
	[KPROBE_GONE] = "gone",
};

/* The missed hits of its probes, and the instances and missed calls of its return probes. */
static void kprobes_show_missed(struct seq_file *m, struct kprobe_point *pt)
{
	struct kretprobe_usage usage = {};
	unsigned long missed = 0, lost = 0;
	bool returns = false, known = false;
	struct kprobe_user *user;

	list_for_each_entry(user, &pt->users, list) {
		missed += READ_ONCE(user->kp->nmissed);
		if (!user->hook)
			continue;
		returns = true;
		lost += READ_ONCE(user->hook->rp->nmissed);
		known |= kretprobe_hook_usage(user->hook, &usage);
	}
	seq_printf(m, "  %lu", missed);
	if (known)
		seq_printf(m, "  %u/%u/%u", usage.in_use, usage.most, usage.total);
	else
		seq_puts(m, "  -");
	if (returns)
		seq_printf(m, "  %lu", lost);
	else
		seq_puts(m, "  -");
}

/* The rest of the line: "jump", or why the point is not a jump. */
static void kprobes_show_why(struct seq_file *m, struct kprobe_point *pt)
{
	const char *why = kprobe_optimizer_why(pt);
	unsigned long branch;

	if (!why) {
		seq_puts(m, "  -\n");
		return;
	}
	seq_printf(m, "  %s", why);
	branch = kprobe_optimizer_branch(pt);
	if (branch)
		seq_printf(m, ": %pS", (void *)branch);
	seq_putc(m, '\n');
}

static int kprobes_points_show(struct seq_file *m, void *v)
{
	struct kprobe_point *pt = list_entry(v, struct kprobe_point, all);
	unsigned long offset = 0, hits;
	char name[KSYM_NAME_LEN];
	char *module = NULL;
	const char *symbol;

	seq_printf(m, "%0*lx  %s  %u/%u", ADDR_DIGITS, kprobes_shown_addr(m, pt->node.key),
		   kprobes_how[pt->state], pt->nr_enabled, pt->nr_users);
	if (kprobe_counter_sum(pt, &hits))
		seq_printf(m, "  %lu", hits);
	else
		seq_puts(m, "  -");
	kprobes_show_missed(m, pt);
	/* As in kprobes_show_symbol(). */
	scoped_guard(preempt) {
		symbol = kprobes_symbol(pt, &offset, &module, name);
		seq_printf(m, "  %s+0x%lx  %s", symbol ?: "?", offset, module ?: "-");
	}
	kprobes_show_why(m, pt);
	return 0;
}

static const struct seq_operations kprobes_points_sops = {
	.start = kprobes_points_start,
	.next = kprobes_points_next,
	.stop = kprobes_points_stop,
	.show = kprobes_points_show,
};

DEFINE_SEQ_ATTRIBUTE(kprobes_points);

/* ----------------------------- blacklist -------------------------------- */

static void *kprobes_blacklist_start(struct seq_file *m, loff_t *pos)
{
	struct kprobe_blacklist *bl;

	mutex_lock(&kprobe_mutex);
	bl = rcu_dereference_protected(kprobe_blacklist,
				       lockdep_is_held(&kprobe_mutex));
	return bl && *pos < bl->nr ? &bl->range[*pos] : NULL;
}

static void *kprobes_blacklist_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct kprobe_blacklist *bl;

	bl = rcu_dereference_protected(kprobe_blacklist,
				       lockdep_is_held(&kprobe_mutex));
	return ++*pos < bl->nr ? &bl->range[*pos] : NULL;
}

static void kprobes_blacklist_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&kprobe_mutex);
}

static int kprobes_blacklist_show(struct seq_file *m, void *v)
{
	struct kprobe_refused *r = v;

	if (r->start == r->end)
		return SEQ_SKIP;
	seq_printf(m, "0x%0*lx-0x%0*lx\t%ps\n", ADDR_DIGITS, kprobes_shown_addr(m, r->start),
		   ADDR_DIGITS, kprobes_shown_addr(m, r->end), (void *)r->start + r->prefix);
	return 0;
}

static const struct seq_operations kprobes_blacklist_sops = {
	.start = kprobes_blacklist_start,
	.next = kprobes_blacklist_next,
	.stop = kprobes_blacklist_stop,
	.show = kprobes_blacklist_show,
};

DEFINE_SEQ_ATTRIBUTE(kprobes_blacklist);

/* -------------------------- enabled and hits ---------------------------- */

/**
 * struct kprobes_flag - what a file reads and writes
 * @get: returns the flag
 * @set: changes it
 */
struct kprobes_flag {
	bool (*get)(void);
	void (*set)(bool on);
};

static struct kprobes_flag kprobes_enabled = {
	.get = kprobes_switched_on,
	.set = kprobes_switch,
};

static struct kprobes_flag kprobes_hits = {
	.get = kprobes_counting,
	.set = kprobes_count,
};

static ssize_t kprobes_flag_read(struct file *file, char __user *buf, size_t count,
				 loff_t *ppos)
{
	const struct kprobes_flag *flag = file_inode(file)->i_private;

	return simple_read_from_buffer(buf, count, ppos, flag->get() ? "1\n" : "0\n", 2);
}

static ssize_t kprobes_flag_write(struct file *file, const char __user *buf, size_t count,
				  loff_t *ppos)
{
	const struct kprobes_flag *flag = file_inode(file)->i_private;
	char text[3] = { };
	bool on;
	int ret;

	/* kstrtobool() reads the first letter only, but "1x" is not "1" here. */
	if (!count || count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, count))
		return -EFAULT;
	if (!strchr("01yYnN", text[0]) || (text[1] && text[1] != '\n'))
		return -EINVAL;
	ret = kstrtobool(text, &on);
	if (ret)
		return ret;
	flag->set(on);
	return count;
}

static const struct file_operations kprobes_flag_fops = {
	.read = kprobes_flag_read,
	.write = kprobes_flag_write,
	.llseek = default_llseek,
};

static int __init kprobes_control_init(void)
{
	struct dentry *dir = debugfs_create_dir("kprobes", NULL);

	debugfs_create_file("list", 0400, dir, NULL, &kprobes_list_fops);
	debugfs_create_file("enabled", 0600, dir, &kprobes_enabled, &kprobes_flag_fops);
	debugfs_create_file("blacklist", 0400, dir, NULL, &kprobes_blacklist_fops);
	debugfs_create_file("points", 0400, dir, NULL, &kprobes_points_fops);
	debugfs_create_file("hits", 0600, dir, &kprobes_hits, &kprobes_flag_fops);
	return 0;
}
late_initcall(kprobes_control_init);
