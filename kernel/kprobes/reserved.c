// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: text that others patch.
 *
 * A jump label or the site of a static call changes at its owner's will, so no
 * point may sit on it and no jump reach over it. Their owners know them in
 * tables that are sorted by what they belong to, which is not by address: fit
 * for changing them, but every question of ours would mean a walk over all.
 * The kernel's own never change after boot. So they are sorted once, when the
 * first probe asks. Those of a module are few and are walked; what is near is
 * left to the owners, who know how long a site is.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/bitops.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sort.h>
#include <linux/static_call.h>

#include <asm/sections.h>

#include "internal.h"

/* No site is longer. */
#define SITE_MAX	8

/**
 * struct site - text of the kernel's that others patch
 * @start: from the kernel's first byte
 * @len:   in bytes, no more than SITE_MAX
 */
struct site {
	u32 start;
	u8 len;
};

/* Ascending; NULL until needed. */
static struct site *sites;
static unsigned int nr_sites;

static int reserved_cmp(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
extern struct static_call_site __start_static_call_sites[], __stop_static_call_sites[];
#endif

static void __maybe_unused reserved_note(unsigned long addr, unsigned int len)
{
	sites[nr_sites++] = (struct site){
		.start = addr - (unsigned long)_stext,
		.len = len,
	};
}

static bool reserved_build_index(void)
{
	size_t most = 0;

#ifdef CONFIG_JUMP_LABEL
	struct jump_entry *entry;

	most += __stop___jump_table - __start___jump_table;
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	struct static_call_site *site;

	most += __stop_static_call_sites - __start_static_call_sites;
#endif
	sites = kvmalloc_array(most + 1, sizeof(*sites), GFP_KERNEL);
	if (!sites)
		return false;
#ifdef CONFIG_JUMP_LABEL
	/*
	 * Not of init text, which is gone: the size may be read from the text,
	 * and that must not be changing.
	 */
	jump_label_lock();
	for (entry = __start___jump_table; entry < __stop___jump_table; entry++) {
		if (core_kernel_text(jump_entry_code(entry)))
			reserved_note(jump_entry_code(entry), jump_entry_size(entry));
	}
	jump_label_unlock();
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	for (site = __start_static_call_sites; site < __stop_static_call_sites; site++) {
		unsigned long addr = (unsigned long)site->addr + (unsigned long)&site->addr;

		if (core_kernel_text(addr))
			reserved_note(addr, CALL_INSN_SIZE);
	}
#endif
	sort(sites, nr_sites, sizeof(*sites), reserved_cmp, NULL);
	return true;
}

/* The owners' own word on it, at their own pace. */
static bool reserved_ask_owners(unsigned long start, unsigned long end)
{
	void *first = (void *)start, *last = (void *)end;
	bool ret;

	jump_label_lock();
	ret = jump_label_text_reserved(first, last) ||
	      static_call_text_reserved(first, last);
	jump_label_unlock();
	return ret;
}

#ifdef CONFIG_MODULES
static bool __maybe_unused reserved_near(unsigned long site, unsigned long start, unsigned long end)
{
	return site <= end && site + SITE_MAX > start;
}

/* False if nothing of the module is near; its text is being probed, so it stays. */
static bool reserved_near_in_module(unsigned long start, unsigned long end)
{
	struct module *mod;

	guard(preempt)();
	mod = __module_text_address(start);
	if (!mod)
		return true;
#ifdef CONFIG_JUMP_LABEL
	for (unsigned int i = 0; i < mod->num_jump_entries; i++) {
		if (reserved_near(jump_entry_code(&mod->jump_entries[i]), start, end))
			return true;
	}
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	for (unsigned int i = 0; i < mod->num_static_call_sites; i++) {
		struct static_call_site *site = &mod->static_call_sites[i];

		if (reserved_near((unsigned long)site->addr + (unsigned long)&site->addr,
				  start, end))
			return true;
	}
#endif
	return false;
}
#else
static bool reserved_near_in_module(unsigned long start, unsigned long end)
{
	return true;
}
#endif

static bool reserved_within(unsigned long start, unsigned long end)
{
	u32 first = start - (unsigned long)_stext, last = end - (unsigned long)_stext;
	unsigned int low = 0, high = nr_sites, mid;

	/* The first site that could reach to @start. */
	while (low < high) {
		mid = low + (high - low) / 2;
		if (sites[mid].start + SITE_MAX <= first)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < nr_sites && sites[low].start <= last; low++) {
		if (sites[low].start + sites[low].len > first)
			return true;
	}
	return false;
}

/**
 * kprobe_text_reserved - is any of this text patched by others?
 * @start: its first byte
 * @end:   its last byte
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: true if a jump label or a static call lies in it, wholly or in part.
 */
bool kprobe_text_reserved(unsigned long start, unsigned long end)
{
	lockdep_assert_held(&kprobe_mutex);

	if (!core_kernel_text(start)) {
		bool maybe;

		/* Those of a module that is coming are being sorted. */
		jump_label_lock();
		maybe = reserved_near_in_module(start, end);
		jump_label_unlock();
		return maybe && reserved_ask_owners(start, end);
	}
	/* Init text comes and goes, so it is not in the index. */
	if (system_state < SYSTEM_RUNNING || (!sites && !reserved_build_index()))
		return reserved_ask_owners(start, end);
	return reserved_within(start, end);
}

/**
 * kprobe_label_targets - where jump labels lead to, whatever they do now
 * @start: of the text that is looked at
 * @end:   of it
 * @map:   a bit for each byte, which is set for a target
 *
 * A label that is off is no branch to see in the text; it may be on any time.
 *
 * Context: kprobe_mutex held, which keeps a module's text; may sleep.
 */
void kprobe_label_targets(unsigned long start, unsigned long end, unsigned long *map)
{
#ifdef CONFIG_JUMP_LABEL
	struct jump_entry *entry = __start___jump_table, *stop = __stop___jump_table;
	unsigned long offset;

	lockdep_assert_held(&kprobe_mutex);
	jump_label_lock();
#ifdef CONFIG_MODULES
	if (!core_kernel_text(start)) {
		struct module *mod;

		scoped_guard(preempt)
			mod = __module_text_address(start);
		entry = mod ? mod->jump_entries : NULL;
		stop = mod ? entry + mod->num_jump_entries : NULL;
	}
#endif
	for (; entry < stop; entry++) {
		offset = jump_entry_target(entry) - start;
		if (offset < end - start)
			__set_bit(offset, map);
	}
	jump_label_unlock();
#endif
}
