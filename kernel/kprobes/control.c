// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: control files, /sys/kernel/debug/kprobes/.
 *
 *	list		0400	the registered probes
 *	enabled		0600	the master switch
 *	blacklist	0400	text that may not be probed
 *	jumps		0400	the points, and whether they are jumps, or why not
 *
 * Tools parse these files. The manual describes the formats, which do not change.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "internal.h"

#define ADDR_DIGITS	((int)(2 * sizeof(long)))

/* Readers see addresses if they do in /proc/kallsyms. */
static unsigned long kprobes_shown_addr(struct seq_file *m, unsigned long addr)
{
	return kallsyms_show_value(m->file->f_cred) ? addr : 0;
}

/* ------------------------------- list ----------------------------------- */

static void *kprobes_list_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&kprobe_mutex);
	return seq_list_start(&kprobe_points, *pos);
}

static void *kprobes_list_next(struct seq_file *m, void *v, loff_t *pos)
{
	return seq_list_next(v, &kprobe_points, pos);
}

static void kprobes_list_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&kprobe_mutex);
}

static void kprobes_show_symbol(struct seq_file *m, struct kprobe_point *pt)
{
	unsigned long offset = 0;
	char name[KSYM_NAME_LEN];
	char *module = NULL;
	const char *symbol;

	symbol = kallsyms_lookup(pt->node.key, NULL, &offset, &module, name);
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
	.start = kprobes_list_start,
	.next = kprobes_list_next,
	.stop = kprobes_list_stop,
	.show = kprobes_list_show,
};

DEFINE_SEQ_ATTRIBUTE(kprobes_list);

/* ------------------------------- jumps ---------------------------------- */

static int kprobes_jumps_show(struct seq_file *m, void *v)
{
	struct kprobe_point *pt = list_entry(v, struct kprobe_point, all);
	unsigned long offset = 0;
	unsigned long branch;
	char name[KSYM_NAME_LEN];
	char *module = NULL;
	const char *symbol;

	symbol = kallsyms_lookup(pt->node.key, NULL, &offset, &module, name);
	seq_printf(m, "%0*lx  ", ADDR_DIGITS, kprobes_shown_addr(m, pt->node.key));
	seq_printf(m, "%s+0x%lx  ", symbol ?: "?", offset);
	if (module)
		seq_printf(m, "%s  ", module);
	seq_puts(m, kprobe_optimizer_why(pt));
	branch = kprobe_optimizer_branch(pt);
	if (branch)
		seq_printf(m, ": %pS", (void *)branch);
	seq_putc(m, '\n');
	return 0;
}

static const struct seq_operations kprobes_jumps_sops = {
	.start = kprobes_list_start,
	.next = kprobes_list_next,
	.stop = kprobes_list_stop,
	.show = kprobes_jumps_show,
};

DEFINE_SEQ_ATTRIBUTE(kprobes_jumps);

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

/* ------------------------------ enabled --------------------------------- */

static ssize_t kprobes_enabled_read(struct file *file, char __user *buf, size_t count,
				    loff_t *ppos)
{
	const char *text = kprobes_switched_on() ? "1\n" : "0\n";

	return simple_read_from_buffer(buf, count, ppos, text, 2);
}

static ssize_t kprobes_enabled_write(struct file *file, const char __user *buf,
				     size_t count, loff_t *ppos)
{
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
	kprobes_switch(on);
	return count;
}

static const struct file_operations kprobes_enabled_fops = {
	.read = kprobes_enabled_read,
	.write = kprobes_enabled_write,
	.llseek = default_llseek,
};

static int __init kprobes_control_init(void)
{
	struct dentry *dir = debugfs_create_dir("kprobes", NULL);

	debugfs_create_file("list", 0400, dir, NULL, &kprobes_list_fops);
	debugfs_create_file("enabled", 0600, dir, NULL, &kprobes_enabled_fops);
	debugfs_create_file("blacklist", 0400, dir, NULL, &kprobes_blacklist_fops);
	if (IS_ENABLED(CONFIG_OPTPROBES))
		debugfs_create_file("jumps", 0400, dir, NULL, &kprobes_jumps_fops);
	return 0;
}
late_initcall(kprobes_control_init);
