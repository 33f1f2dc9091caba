// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: text that other code patches.
 *
 * A jump label or the site of a static call may change at any time, so no point may be
 * there, and no jump may replace it. The owners have tables of these sites, sorted by
 * key, and walk all of a table to find an address. jump_label_text_reserved() decodes
 * the instruction at each site for its length, too. One lookup costs 655,000
 * instructions (2,392 jump labels and 3,205 static calls, x86-64), and registering a
 * probe needs at least one. With the index here it costs 218. The index holds the sites
 * of the kernel image, which do not change after boot, and is sorted by address when the
 * first probe is registered. A module has few sites, so these are walked.
 *
 * The owners could keep the index themselves. Then jump labels and static calls would
 * each need this code, and memory on every kernel, with or without probes, or hooks to
 * allocate it on demand. All other callers are rare, so it is here.
 */
#include <kunit/visibility.h>
#include <linux/bitops.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sort.h>
#include <linux/static_call.h>

#include <asm/sections.h>

#include "internal.h"

/* The longest site, in bytes. */
#define SITE_MAX	8

/**
 * struct site - text in the kernel image that other code patches
 * @start: offset from the first byte of the kernel
 * @len:   in bytes, SITE_MAX at most
 */
struct site {
	u32 start;
	u8 len;
};

/* Sorted; NULL until the first lookup. */
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
	 * Leave out init text, which is gone. jump_entry_size() may read the text, so
	 * that must not change.
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

/* The answer of the owners, which is exact and slow. */
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
static bool __maybe_unused reserved_near(unsigned long site, unsigned int len,
					 unsigned long start, unsigned long end)
{
	return site <= end && site + len > start;
}

/* jump_entry_size() may read the text of a site, so that must not change. */
static bool reserved_by_module(struct module *mod, unsigned long start, unsigned long end)
{
#ifdef CONFIG_JUMP_LABEL
	for (unsigned int i = 0; i < mod->num_jump_entries; i++) {
		struct jump_entry *entry = &mod->jump_entries[i];

		if (reserved_near(jump_entry_code(entry), SITE_MAX, start, end) &&
		    reserved_near(jump_entry_code(entry), jump_entry_size(entry), start, end))
			return true;
	}
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	for (unsigned int i = 0; i < mod->num_static_call_sites; i++) {
		struct static_call_site *site = &mod->static_call_sites[i];

		if (reserved_near((unsigned long)site->addr + (unsigned long)&site->addr,
				  CALL_INSN_SIZE, start, end))
			return true;
	}
#endif
	return false;
}

/*
 * The owners skip the sites of a module that is being unloaded, although they patch them
 * until the very end. So walk them here, without a reference to the module: a reference
 * would make unloading fail. While a module is being loaded, its sites are sorted: jump
 * labels under the lock taken here, but static calls under one that only their owner can
 * take. The task that sorts them may walk them, for instance to set the events of the module.
 * Others ask the owners, with a reference, as loading may fail. If none can be taken, the
 * whole module counts as reserved.
 */
static bool reserved_in_module(unsigned long start, unsigned long end)
{
	struct module *mod;
	bool coming, held, ret = true;

	jump_label_lock();
	scoped_guard(preempt) {
		mod = __module_text_address(start);
		coming = mod && READ_ONCE(mod->state) == MODULE_STATE_COMING &&
			 !kprobe_module_loads(mod);
		held = coming && try_module_get(mod);
		if (mod && !coming)
			ret = reserved_by_module(mod, start, end);
	}
	jump_label_unlock();

	if (held || !mod)
		ret = reserved_ask_owners(start, end);
	if (held)
		module_put(mod);
	return ret;
}
#else
static bool reserved_in_module(unsigned long start, unsigned long end)
{
	return reserved_ask_owners(start, end);
}
#endif

static bool reserved_within(unsigned long start, unsigned long end)
{
	u32 first = start - (unsigned long)_stext, last = end - (unsigned long)_stext;
	unsigned int low = 0, high = nr_sites, mid;

	/* Find the first site that may reach @start. */
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
 * kprobe_text_reserved - test if other code patches a range of text
 * @start: its first byte
 * @end:   its last byte
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: true if a jump label or a static call lies in it, wholly or in part.
 */
bool kprobe_text_reserved(unsigned long start, unsigned long end)
{
	kprobe_assert_held(&kprobe_mutex);

	if (!core_kernel_text(start))
		return reserved_in_module(start, end);
	/* Init text is freed, so it is not in the index. */
	if (system_state < SYSTEM_RUNNING || (!sites && !reserved_build_index()))
		return reserved_ask_owners(start, end);
	return reserved_within(start, end);
}

#if IS_ENABLED(CONFIG_KUNIT)
/**
 * kprobe_test_forget_reserved - drop the index, as before the first probe
 *
 * Context: may sleep.
 */
void kprobe_test_forget_reserved(void)
{
	guard(mutex)(&kprobe_mutex);
	kvfree(sites);
	sites = NULL;
	nr_sites = 0;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_forget_reserved);
#endif

/**
 * kprobe_label_targets - find the targets of jump labels in a range of text
 * @start: its first byte
 * @end:   one past its last
 * @map:   a bit for each byte, which is set for a target
 *
 * A jump label that is off does not show as a branch in the text, but it may be
 * switched on at any time.
 *
 * Context: kprobe_mutex held, which keeps module text in memory; may sleep.
 */
void kprobe_label_targets(unsigned long start, unsigned long end, unsigned long *map)
{
#ifdef CONFIG_JUMP_LABEL
	struct jump_entry *entry = __start___jump_table, *stop = __stop___jump_table;
	unsigned long offset;

	kprobe_assert_held(&kprobe_mutex);
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
