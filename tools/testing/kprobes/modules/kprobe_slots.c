// SPDX-License-Identifier: GPL-2.0
/*
 * Shows the code that our kprobes have generated, for slots.sh.
 *
 *	kprobe_slots/set	write: addresses, one a line; each gets a probe, every third
 *				one a post-handler as well; refused addresses are skipped
 *	kprobe_slots/pages	write: "copies ADDRESS" or "detours ADDRESS", for a page of
 *				them in /proc/kallsyms
 *	kprobe_slots/text	read: a line for each used slot of those pages: the kind,
 *				its address, the address and length of the original, and
 *				the code
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "kprobe_common.h"
#include "detour.h"

#define MAX_PROBES	20000
#define MAX_PAGES	2000

static struct kprobe *probes;
static struct kprobe **all;
static unsigned int nr_probes, nr_pages;

static struct {
	unsigned long addr;
	bool detours;
} pages[MAX_PAGES];

static DEFINE_MUTEX(lock);
static struct dentry *dir;

static int slots_pre(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}

static void slots_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

static int set_one(char *line)
{
	struct kprobe *kp = &probes[nr_probes];
	unsigned long addr;

	if (nr_probes == MAX_PROBES)
		return -ENOSPC;
	if (kstrtoul(line, 16, &addr))
		return -EINVAL;
	memset(kp, 0, sizeof(*kp));
	kp->addr = (kprobe_opcode_t *)addr;
	kp->pre_handler = slots_pre;
	if (nr_probes % 3 == 2)
		kp->post_handler = slots_post;
	if (!register_kprobe(kp))
		all[nr_probes++] = kp;
	return 0;
}

static int add_page(char *line)
{
	unsigned long addr;
	char what[16];

	if (nr_pages == MAX_PAGES)
		return -ENOSPC;
	if (sscanf(line, "%15s %lx", what, &addr) != 2)
		return -EINVAL;
	pages[nr_pages].addr = addr & PAGE_MASK;
	pages[nr_pages++].detours = !strcmp(what, "detours");
	return 0;
}

DEFINE_WRITE_ATTRIBUTE_BY(set, write_lines, &lock, set_one);
DEFINE_WRITE_ATTRIBUTE_BY(pages, write_lines, &lock, add_page);

/* Free slots are filled with breakpoints. */
static bool slot_is_free(const u8 *slot, unsigned int size)
{
	return !memchr_inv(slot, INT3_INSN_OPCODE, size);
}

static void show_copy(struct seq_file *m, unsigned long addr, const u8 *slot)
{
	const struct x86_copy *copy = (const void *)slot;

	seq_printf(m, "copy %lx %lx %u %*phN\n", addr, (unsigned long)copy->addr, copy->len,
		   (int)sizeof(copy->text), copy->text);
}

static void show_detour(struct seq_file *m, unsigned long addr, const u8 *slot)
{
	const struct x86_detour *d = (const void *)slot;
	unsigned int at;

	seq_printf(m, "detour %lx %lx %u ", addr + d->entry, (unsigned long)d->addr, d->total);
	for (at = d->entry; at < __ARCH_KPROBE_DETOUR_SIZE; at++)
		seq_printf(m, "%02x", slot[at]);
	seq_putc(m, '\n');
}

static void *text_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&lock);
	return *pos < nr_pages ? &pages[*pos] : NULL;
}

static void *text_next(struct seq_file *m, void *v, loff_t *pos)
{
	return ++*pos < nr_pages ? &pages[*pos] : NULL;
}

static void text_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&lock);
}

static int text_show(struct seq_file *m, void *v)
{
	typeof(pages[0]) *page = v;
	unsigned int size = page->detours ? __ARCH_KPROBE_DETOUR_SIZE : __ARCH_KPROBE_SLOT_SIZE;
	u8 slot[__ARCH_KPROBE_DETOUR_SIZE] __aligned(8);
	unsigned int at;

	for (at = 0; at + size <= PAGE_SIZE; at += size) {
		if (copy_from_kernel_nofault(slot, (void *)page->addr + at, size))
			return -EFAULT;
		if (slot_is_free(slot, size))
			continue;
		if (page->detours)
			show_detour(m, page->addr + at, slot);
		else
			show_copy(m, page->addr + at, slot);
	}
	return 0;
}

static const struct seq_operations text_sops = {
	.start = text_start,
	.next = text_next,
	.stop = text_stop,
	.show = text_show,
};

DEFINE_SEQ_ATTRIBUTE(text);

static int __init kprobe_slots_init(void)
{
	probes = vcalloc(MAX_PROBES, sizeof(*probes));
	all = vcalloc(MAX_PROBES, sizeof(*all));
	if (!probes || !all) {
		vfree(probes);
		vfree(all);
		return -ENOMEM;
	}
	dir = debugfs_create_dir("kprobe_slots", NULL);
	debugfs_create_file("set", 0200, dir, NULL, &set_fops);
	debugfs_create_file("pages", 0200, dir, NULL, &pages_fops);
	debugfs_create_file("text", 0400, dir, NULL, &text_fops);
	return 0;
}

static void __exit kprobe_slots_exit(void)
{
	debugfs_remove(dir);
	unregister_kprobes(all, nr_probes);
	vfree(all);
	vfree(probes);
}

module_init(kprobe_slots_init);
module_exit(kprobe_slots_exit);

MODULE_DESCRIPTION("Kprobes test: shows generated code");
MODULE_LICENSE("GPL");
