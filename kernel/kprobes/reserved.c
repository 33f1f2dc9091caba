// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: text that others patch.
 *
 * A jump label or the site of a static call changes at its owner's will, so no
 * point may sit on it and no jump reach over it. Their owners know them in
 * tables that are sorted by what they belong to, which is not by address: fit
 * for changing them, but every question of ours would mean a walk over all.
 * The kernel's own never change after boot. So their addresses are sorted once,
 * when the first probe asks; those of a module are few and are walked. What is
 * near is left to the owners, who know how long a site is.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/bsearch.h>
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

/* Offsets from the kernel's first byte, ascending; NULL until needed. */
static u32 *sites;
static unsigned int nr_sites;

static int site_cmp(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
extern struct static_call_site __start_static_call_sites[], __stop_static_call_sites[];
#endif

static void note(unsigned long addr)
{
	if (core_kernel_text(addr))
		sites[nr_sites++] = addr - (unsigned long)_stext;
}

static bool build_index(void)
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
	for (entry = __start___jump_table; entry < __stop___jump_table; entry++)
		note(jump_entry_code(entry));
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	for (site = __start_static_call_sites; site < __stop_static_call_sites; site++)
		note((unsigned long)site->addr + (unsigned long)&site->addr);
#endif
	sort(sites, nr_sites, sizeof(*sites), site_cmp, NULL);
	return true;
}

/* The owners' own word on it, at their own pace. */
static bool ask_owners(unsigned long start, unsigned long end)
{
	void *first = (void *)start, *last = (void *)end;
	bool ret;

	jump_label_lock();
	ret = jump_label_text_reserved(first, last) ||
	      static_call_text_reserved(first, last);
	jump_label_unlock();
	return ret;
}

static bool near(unsigned long site, unsigned long start, unsigned long end)
{
	return site <= end && site + SITE_MAX > start;
}

#ifdef CONFIG_MODULES
/* False if nothing of the module is near; its text is being probed, so it stays. */
static bool near_in_module(unsigned long start, unsigned long end)
{
	struct module *mod;
	unsigned int i;

	guard(preempt)();
	mod = __module_text_address(start);
	if (!mod)
		return true;
#ifdef CONFIG_JUMP_LABEL
	for (i = 0; i < mod->num_jump_entries; i++) {
		if (near(jump_entry_code(&mod->jump_entries[i]), start, end))
			return true;
	}
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	for (i = 0; i < mod->num_static_call_sites; i++) {
		struct static_call_site *site = &mod->static_call_sites[i];

		if (near((unsigned long)site->addr + (unsigned long)&site->addr,
			 start, end))
			return true;
	}
#endif
	return false;
}
#else
static bool near_in_module(unsigned long start, unsigned long end)
{
	return true;
}
#endif

static bool near_in_kernel(unsigned long start, unsigned long end)
{
	unsigned int low = 0, high = nr_sites, mid;
	u32 first = start - (unsigned long)_stext;

	/* The first site that could reach to @start. */
	first = first > SITE_MAX ? first - SITE_MAX : 0;
	while (low < high) {
		mid = low + (high - low) / 2;
		if (sites[mid] < first)
			low = mid + 1;
		else
			high = mid;
	}
	return low < nr_sites &&
	       near(sites[low] + (unsigned long)_stext, start, end);
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
	bool maybe;

	/* Init text comes and goes, so it is not in the index. */
	if (!core_kernel_text(start))
		maybe = near_in_module(start, end);
	else if (system_state < SYSTEM_RUNNING || (!sites && !build_index()))
		maybe = true;
	else
		maybe = near_in_kernel(start, end);
	return maybe && ask_owners(start, end);
}
