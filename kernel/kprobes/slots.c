// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: executable memory for out-of-line copies and detours.
 *
 * A slot is a piece of a page from execmem. A task that is preempted in a slot returns
 * to it when it runs next, on any CPU, long after the probe is gone. So slots are
 * retired, not freed. A worker collects the retired slots, waits once until no task
 * can be in any of them, and then frees them. No caller waits for it.
 *
 * Why waiting for tasks-RCU and then for RCU is enough: nothing enters a slot once its
 * point is unlinked and quiescent. A task that is in a slot at that time runs there, is
 * interrupted there, or was preempted there. It leaves within a few instructions, none of
 * which sleeps: calls are emulated, or leave a detour with a return address outside of it;
 * and when a copy faults, the instruction pointer is moved back to the original before the
 * fault is handled. So a task that has scheduled voluntarily, or run in user mode, has
 * left. That is what tasks-RCU waits for. It does not wait for idle tasks. These run with
 * preemption off. They may be interrupted in a slot, but only where RCU is watching: where
 * it is not, code must not be probed, or interrupts are off. RCU sees this as one reader,
 * which ends when the idle task goes to sleep, or yields the CPU to another task. Code
 * that interrupts cannot reach has left once all CPUs have been interrupted, which
 * kprobe_quiesce() waits for. Without tasks-RCU, synchronize_rcu_tasks() is an ordinary
 * grace period. That guarantees the same for every task if preemption is neither possible
 * nor counted. If it is counted, a grace period may end when a task is interrupted in a
 * slot, so there is tasks-RCU then, except without SMP: see KPROBE_TASKS_RCU.
 *
 * Making memory executable interrupts every CPU. So a cache grows by a block of
 * several pages, an eighth of what it has. A block is freed when all of its pages are
 * free.
 *
 * Where the architecture can erase slots, free slots hold no code: they are erased when
 * no task can be in them any more. The worker owns the slots that it waits for, so it
 * erases them without the mutex.
 *
 * perf sees the pages as symbols, and gets an event when code is written to a slot or
 * erased.
 */
#include <kunit/visibility.h>
#include <linux/bitmap.h>
#include <linux/build_bug.h>
#include <linux/execmem.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "internal.h"

/* Retired slots are collected for this long before the worker waits for them. */
#define SLOT_RETIRE_DELAY	(HZ / 10)

/* The most pages of a block. */
#define SLOT_BLOCK_MAX		32

/**
 * struct slot_block - pages that were allocated together
 * @text: the first page
 * @nr:	  number of pages
 * @used: number of pages in which a slot is in use or retired
 * @list: links blocks that are about to be freed
 * @cache: the cache that owns the block
 * @page: the descriptions of the pages
 */
struct slot_block {
	struct list_head list;
	struct slot_cache *cache;
	void *text;
	unsigned int nr;
	unsigned int used;
	struct slot_page *page[];
};

/**
 * struct slot_page - a page of slots
 * @node:  in slot_cache::table, by the address of the page
 * @list:  in slot_cache::pages
 * @waiting: links pages with slots that the worker waits for
 * @block: the block that contains the page
 * @nr:	   number of slots that are in use or retired
 * @nr_dead: number of those that are retired
 * @maps:  three bitmaps with a bit for each slot: in use or retired; retired;
 *	   waited for
 */
struct slot_page {
	struct addr_node node;
	struct list_head list;
	struct list_head waiting;
	struct slot_block *block;
	unsigned int nr;
	unsigned int nr_dead;
	unsigned long maps[];
};

static DEFINE_MUTEX(slot_mutex);

static unsigned int slots_per_page(const struct slot_cache *c)
{
	return PAGE_SIZE / c->size;
}

static unsigned long *page_map(const struct slot_cache *c, struct slot_page *pg,
			       unsigned int which)
{
	return pg->maps + which * BITS_TO_LONGS(slots_per_page(c));
}

#define page_used(c, pg)	page_map(c, pg, 0)
#define page_dead(c, pg)	page_map(c, pg, 1)
#define page_waiting(c, pg)	page_map(c, pg, 2)

/**
 * alloc_insn_page - allocate a page for slots; architectures may override it
 *
 * Context: may sleep.
 * Return: a page that can be executed, and written by the architecture's text
 * patching, but not by a plain store if the architecture can prevent that; or NULL.
 */
__weak void *alloc_insn_page(void)
{
	return execmem_alloc(EXECMEM_KPROBES, PAGE_SIZE);
}

/**
 * alloc_insn_pages - allocate contiguous pages for slots
 * @nr: the number of pages
 *
 * Architectures override this if many pages are cheaper together than one by one.
 *
 * Context: may sleep.
 * Return: as alloc_insn_page(). If it is NULL and @nr more than one, the caller tries
 * a single page.
 */
__weak void *alloc_insn_pages(unsigned int nr)
{
	return nr == 1 ? alloc_insn_page() : NULL;
}

/* Frees a block and the descriptions of its pages, but not the pages. */
static void slot_block_free(struct slot_block *block)
{
	while (block->nr--)
		kfree(block->page[block->nr]);
	kfree(block);
}

static struct slot_block *slot_block_alloc(struct slot_cache *c, unsigned int nr)
{
	size_t maps = 3 * BITS_TO_LONGS(slots_per_page(c));
	struct slot_block *block;
	struct slot_page *pg;

	block = kzalloc(struct_size(block, page, nr), GFP_KERNEL);
	if (!block)
		return NULL;
	block->cache = c;
	while (block->nr < nr) {
		pg = kzalloc(struct_size(pg, maps, maps), GFP_KERNEL);
		if (!pg)
			goto fail;
		pg->block = block;
		block->page[block->nr++] = pg;
	}
	block->text = c->alloc(nr);
	if (!block->text)
		goto fail;
	return block;

fail:
	slot_block_free(block);
	return NULL;
}

static bool slot_block_add(struct slot_cache *c, unsigned int nr)
{
	struct slot_block *block;
	struct slot_page *pg;
	unsigned long start;

	kprobe_assert_held(&slot_mutex);
	if (addr_table_reserve(&c->table, nr))
		return false;
	block = slot_block_alloc(c, nr);
	if (!block)
		return false;
	/* Before anything runs there, so that slot_cache_spans() knows it. */
	start = (unsigned long)block->text;
	WRITE_ONCE(c->first, min(c->first, start));
	WRITE_ONCE(c->last, max(c->last, start + nr * PAGE_SIZE - 1));
	/* All pages of a cache have the same offset from a boundary: slot_cache_skew(). */
	if (!c->nr_pages)
		c->skew = start & ~PAGE_MASK;
	while (nr--) {
		pg = block->page[nr];
		pg->node.key = slot_page_key(c, (unsigned long)block->text + nr * PAGE_SIZE);
		addr_table_add(&c->table, &pg->node);
		list_add_rcu(&pg->list, &c->pages);
	}
	c->nr_pages += block->nr;
	perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL, (unsigned long)block->text,
			   block->nr * PAGE_SIZE, false, c->symbol);
	return true;
}

/* Unlinks unused blocks; readers may still use the descriptions of their pages. */
static void slot_blocks_unlink(struct slot_cache *c, struct list_head *unused)
{
	struct slot_block *block;
	struct slot_page *pg;
	unsigned int i;
	LIST_HEAD(blocks);

	kprobe_assert_held(&slot_mutex);
	list_for_each_entry(pg, &c->pages, list) {
		if (!pg->block->used && pg == pg->block->page[0])
			list_add(&pg->block->list, &blocks);
	}
	list_for_each_entry(block, &blocks, list) {
		for (i = 0; i < block->nr; i++) {
			addr_table_del(&c->table, &block->page[i]->node);
			list_del_rcu(&block->page[i]->list);
		}
		c->nr_pages -= block->nr;
		perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL,
				   (unsigned long)block->text,
				   block->nr * PAGE_SIZE, true, c->symbol);
	}
	list_splice(&blocks, unused);
}

static unsigned int slot_page_take(struct slot_cache *c, struct slot_page *pg)
{
	unsigned int i = find_first_zero_bit(page_used(c, pg), slots_per_page(c));

	kprobe_assert_held(&slot_mutex);
	__set_bit(i, page_used(c, pg));
	if (!pg->nr)
		pg->block->used++;
	if (++pg->nr == slots_per_page(c)) {
		/* Readers, such as kallsyms, may see the page twice, or miss it. */
		list_del_rcu(&pg->list);
		list_add_tail_rcu(&pg->list, &c->pages);
	}
	return i;
}

/**
 * slot_alloc - allocate a slot
 * @c: the cache
 *
 * Context: may sleep.
 * Return: a slot of undefined content, aligned to its size if that is a power
 * of two; or NULL.
 */
void *slot_alloc(struct slot_cache *c)
{
	struct slot_page *pg;

	guard(mutex)(&slot_mutex);

	pg = list_first_entry_or_null(&c->pages, struct slot_page, list);
	if (!pg || pg->nr == slots_per_page(c)) {
		if (!slot_block_add(c, clamp(c->nr_pages / 8, 1, SLOT_BLOCK_MAX)) &&
		    !slot_block_add(c, 1))
			return NULL;
		pg = list_first_entry(&c->pages, struct slot_page, list);
	}
	return (void *)pg->node.key + slot_cache_skew(c) + slot_page_take(c, pg) * c->size;
}

static void slot_page_release(struct slot_cache *c, struct slot_page *pg,
			      unsigned int nr)
{
	kprobe_assert_held(&slot_mutex);

	if (pg->nr == slots_per_page(c)) {
		list_del_rcu(&pg->list);
		list_add_rcu(&pg->list, &c->pages);
	}
	pg->nr -= nr;
	if (!pg->nr)
		pg->block->used--;
}

static struct slot_page *slot_page_find(struct slot_cache *c, unsigned long addr)
{
	kprobe_assert_held(&slot_mutex);
	return container_of_const(addr_table_find(&c->table, slot_page_key(c, addr)),
				  struct slot_page, node);
}

static void slots_reclaim(struct work_struct *work);
static DECLARE_DELAYED_WORK(slots_reclaim_work, slots_reclaim);

/**
 * slot_retire - free a slot once no task can be in it
 * @c:	  the cache
 * @slot: the slot
 * @used: a hit may have been sent there; false frees the slot at once
 *
 * The caller has made sure that nothing enters the slot any more.
 *
 * Context: may sleep, but does not wait for a grace period.
 */
void slot_retire(struct slot_cache *c, void *slot, bool used)
{
	unsigned long addr = (unsigned long)slot;
	struct slot_page *pg;
	unsigned int i;

	guard(mutex)(&slot_mutex);

	pg = slot_page_find(c, addr);
	i = (addr - slot_cache_skew(c) - pg->node.key) / c->size;
	if (!used) {
		__clear_bit(i, page_used(c, pg));
		slot_page_release(c, pg, 1);
	} else {
		__set_bit(i, page_dead(c, pg));
		pg->nr_dead++;
	}
	queue_delayed_work(system_unbound_wq, &slots_reclaim_work,
			   SLOT_RETIRE_DELAY);
}

static struct slot_cache *const slot_caches[] = {
	&kprobe_insn_slots,
#ifdef CONFIG_OPTPROBES
	&kprobe_detour_slots,
#endif
};

/**
 * kprobe_wait_for_tasks - wait until every task has left the slot it may be in
 *
 * On return every task has scheduled voluntarily since the call, or run in user
 * mode, or is an idle task that has gone to sleep. The head of this file says why
 * that is enough. A task that keeps a CPU busy in the kernel delays this like any
 * grace period; in user mode it does not.
 *
 * Context: may sleep, for a long time.
 */
void kprobe_wait_for_tasks(void)
{
	BUILD_BUG_ON(IS_ENABLED(CONFIG_SMP) && IS_ENABLED(CONFIG_PREEMPT_COUNT) &&
		     !IS_ENABLED(CONFIG_TASKS_RCU));
	synchronize_rcu_tasks();
	synchronize_rcu();
}

/**
 * arch_erase_slots - overwrite slots that are free
 * @text: the first slot; the page belongs to a cache
 * @len:  in bytes, not beyond the page
 *
 * Optional, for architectures that need not interrupt every CPU to change executable
 * memory that no CPU is executing.
 *
 * Context: may sleep.
 */
void __weak arch_erase_slots(void *text, size_t len)
{
}

/* The worker collects retired slots first. Then it waits, erases them and frees them. */
static void slot_cache_collect(struct slot_cache *c, struct list_head *waiting)
{
	struct slot_page *pg;

	kprobe_assert_held(&slot_mutex);
	list_for_each_entry(pg, &c->pages, list) {
		if (!pg->nr_dead)
			continue;
		bitmap_copy(page_waiting(c, pg), page_dead(c, pg),
			    slots_per_page(c));
		bitmap_zero(page_dead(c, pg), slots_per_page(c));
		pg->nr_dead = 0;
		list_add_tail(&pg->waiting, waiting);
	}
}

/* The size of an event is a u16, and there are pages of 64 KiB. */
#define ERASED_MAX	SZ_4K

static void slots_report_erased(void *text, size_t len)
{
	size_t nr;

	for (; len; text += nr, len -= nr) {
		nr = min(len, ERASED_MAX);
		perf_event_text_poke(text, text, nr, NULL, 0);
	}
}

/* Erases adjacent slots at once. */
static void slot_cache_erase(struct slot_cache *c, struct list_head *waiting)
{
	unsigned int start, end;
	struct slot_page *pg;
	size_t len;
	void *text;

	list_for_each_entry(pg, waiting, waiting) {
		for_each_set_bitrange(start, end, page_waiting(c, pg),
				      slots_per_page(c)) {
			text = (void *)pg->node.key + slot_cache_skew(c) + start * c->size;
			len = (end - start) * c->size;
			slots_report_erased(text, len);
			arch_erase_slots(text, len);
		}
		/* There may be thousands of pages: do not hold up the optimizer's grace period. */
		cond_resched_tasks_rcu_qs();
	}
}

static void slot_cache_free_waiting(struct slot_cache *c, struct list_head *waiting)
{
	struct slot_page *pg;
	unsigned int nr;

	kprobe_assert_held(&slot_mutex);
	list_for_each_entry(pg, waiting, waiting) {
		nr = bitmap_weight(page_waiting(c, pg), slots_per_page(c));
		bitmap_andnot(page_used(c, pg), page_used(c, pg),
			      page_waiting(c, pg), slots_per_page(c));
		bitmap_zero(page_waiting(c, pg), slots_per_page(c));
		slot_page_release(c, pg, nr);
	}
}

static void slots_reclaim(struct work_struct *work)
{
	struct list_head waiting[ARRAY_SIZE(slot_caches)];
	struct slot_block *block, *next;
	LIST_HEAD(unused);
	unsigned int i;

	mutex_lock(&slot_mutex);
	for (i = 0; i < ARRAY_SIZE(slot_caches); i++) {
		INIT_LIST_HEAD(&waiting[i]);
		slot_cache_collect(slot_caches[i], &waiting[i]);
	}
	mutex_unlock(&slot_mutex);

	kprobe_test_stage(KPROBE_STAGE_RETIRED);
	kprobe_wait_for_unwatched();
	kprobe_wait_for_tasks();
	for (i = 0; i < ARRAY_SIZE(slot_caches); i++)
		slot_cache_erase(slot_caches[i], &waiting[i]);

	mutex_lock(&slot_mutex);
	for (i = 0; i < ARRAY_SIZE(slot_caches); i++) {
		slot_cache_free_waiting(slot_caches[i], &waiting[i]);
		slot_blocks_unlink(slot_caches[i], &unused);
	}
	mutex_unlock(&slot_mutex);

	if (list_empty(&unused))
		return;
	kprobe_wait_for_unwatched();
	synchronize_rcu();
	list_for_each_entry_safe(block, next, &unused, list) {
		block->cache->free(block->text);
		slot_block_free(block);
	}
}

/**
 * slots_flush - wait until all retired slots are free again
 *
 * Context: may sleep, for a tasks-RCU grace period.
 */
void slots_flush(void)
{
	flush_delayed_work(&slots_reclaim_work);
}

#if IS_ENABLED(CONFIG_KUNIT)
static void slot_cache_count(struct slot_cache *c, struct kprobe_slot_counts *counts)
{
	struct slot_page *pg;

	list_for_each_entry(pg, &c->pages, list) {
		counts->taken += pg->nr;
		counts->live += pg->nr - pg->nr_dead -
				bitmap_weight(page_waiting(c, pg), slots_per_page(c));
	}
	counts->pages = c->nr_pages;
}

/**
 * slots_count - count slots
 * @copies:  of kprobe_insn_slots, to be filled in
 * @detours: of the cache for detours; left alone where there is none
 *
 * Context: may sleep.
 */
void slots_count(struct kprobe_slot_counts *copies, struct kprobe_slot_counts *detours)
{
	guard(mutex)(&slot_mutex);
	slot_cache_count(&kprobe_insn_slots, copies);
	if (IS_ENABLED(CONFIG_OPTPROBES))
		slot_cache_count(&kprobe_detour_slots, detours);
}
#endif

/* --------------------- For the rest of the kernel ----------------------- */

struct slot_cache kprobe_insn_slots = {
	SLOT_CACHE_INIT(kprobe_insn_slots, "kprobe_insn_page",
			alloc_insn_pages, execmem_free),
	.size = __ARCH_KPROBE_SLOT_SIZE,
};

/**
 * is_kprobe_insn_slot - test if an address lies in a page of out-of-line copies
 * @addr: any address
 *
 * Context: any.
 * Return: true if it does.
 */
bool __kprobe_hit is_kprobe_insn_slot(unsigned long addr)
{
	return slot_cache_has(&kprobe_insn_slots, addr);
}
EXPORT_SYMBOL_IF_KUNIT(is_kprobe_insn_slot);

/**
 * get_insn_slot - for architectures: allocate memory for one out-of-line copy
 *
 * Context: may sleep.
 * Return: __ARCH_KPROBE_SLOT_SIZE bytes, or NULL.
 */
kprobe_opcode_t *get_insn_slot(void)
{
	return slot_alloc(&kprobe_insn_slots);
}
EXPORT_SYMBOL_IF_KUNIT(get_insn_slot);

/**
 * free_insn_slot - free what get_insn_slot() returned
 * @slot:  the slot
 * @dirty: a task may still be in it
 *
 * Context: may sleep, but does not wait.
 */
void free_insn_slot(kprobe_opcode_t *slot, int dirty)
{
	slot_retire(&kprobe_insn_slots, slot, dirty);
}
EXPORT_SYMBOL_IF_KUNIT(free_insn_slot);

/**
 * kprobe_get_kallsym - describe a page of slots as a symbol
 * @symnum: number of the page
 * @value:  its address is stored here
 * @type:   its symbol type
 * @sym:    its symbol name, room for KSYM_NAME_LEN
 *
 * Context: any.
 * Return: 0, or -ERANGE if there are fewer pages.
 */
int kprobe_get_kallsym(unsigned int symnum, unsigned long *value, char *type,
		       char *sym)
{
	struct slot_page *pg;
	unsigned int i;

	guard(rcu)();
	for (i = 0; i < ARRAY_SIZE(slot_caches); i++) {
		list_for_each_entry_rcu(pg, &slot_caches[i]->pages, list) {
			if (symnum--)
				continue;
			*value = pg->node.key + slot_cache_skew(slot_caches[i]);
			*type = 't';
			strscpy(sym, slot_caches[i]->symbol, KSYM_NAME_LEN);
			return 0;
		}
	}
	return -ERANGE;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_get_kallsym);
