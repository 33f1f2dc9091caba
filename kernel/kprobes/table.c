// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: a table that finds points and users by address, in any context.
 *
 * A breakpoint handler cannot use rhashtable: a lookup there calls functions that may
 * be probed, and enters an RCU reader, which lockdep and RCU debugging instrument. A
 * lookup here is inline, and takes no lock.
 *
 * The table uses open addressing with linear probing. The owner's lock serialises
 * writers. A lookup may run concurrently with a writer, for these reasons:
 *
 *  - A release store puts a node into a bucket, so a lookup that finds the node
 *    finds it initialised.
 *  - A bucket never becomes NULL again, so a writer never cuts the chain that a reader
 *    follows. A tombstone, whose key matches nothing, replaces a node that leaves;
 *    another node may replace the tombstone.
 *  - When half of the buckets are used, tombstones included, the writer copies the
 *    nodes into a new array, and publishes that. Readers of the old array see the
 *    table as it was. A worker frees it when no lookup uses it any more: readers run with
 *    preemption off, or on a CPU that comes online or goes offline. The writer cannot wait
 *    for such CPUs: it may hold cpus_read_lock().
 *
 * A lookup reads the array, then a bucket of it, then the node, each through the pointer
 * read before. No architecture that has kprobes reorders such reads, so a lookup needs no
 * barrier: the releases of the writers are enough on arm64 and powerpc, too. A tombstone
 * never changes, and needs none.
 */
#include <linux/llist.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "internal.h"

#define ADDR_ARRAY_MIN	64

/* Lookups use this until the first node is added. */
struct addr_array addr_array_empty = {
	.shift = BITS_PER_LONG - 1,
	.mask = 1,
	.node = { NULL, NULL },
};

static struct addr_node tombstone = { .key = ADDR_NO_KEY };

/* Arrays that tables do not use any more. */
static LLIST_HEAD(old_arrays);

static void arrays_work_fn(struct work_struct *work)
{
	struct llist_node *list = llist_del_all(&old_arrays);
	struct addr_array *a, *next;

	kprobe_wait_for_unwatched();
	synchronize_rcu();
	llist_for_each_entry_safe(a, next, list, old)
		kvfree(a);
}

static DECLARE_WORK(arrays_work, arrays_work_fn);

/**
 * addr_arrays_flush - wait until arrays that are not used any more are free
 *
 * Context: may sleep, for an RCU grace period.
 */
void addr_arrays_flush(void)
{
	flush_work(&arrays_work);
}

#if IS_ENABLED(CONFIG_KUNIT)
/**
 * addr_arrays_wait - test if arrays wait until the worker takes them
 *
 * Context: any.
 * Return: true if there are some.
 */
bool addr_arrays_wait(void)
{
	return !llist_empty(&old_arrays);
}
#endif

static void addr_array_put(struct addr_array *a, struct addr_node *n)
{
	unsigned int i = addr_bucket(a, n->key);

	while (a->node[i] && a->node[i] != &tombstone)
		i = (i + 1) & a->mask;
	/*
	 * A lookup that finds the node finds it initialised, the key in particular.
	 * Pairs with the dependent reads of addr_table_find().
	 */
	smp_store_release(&a->node[i], n);
}

/**
 * addr_table_reserve - make room for more nodes
 * @t:	  the table
 * @more: the number of nodes
 *
 * Context: may sleep; under the owner's lock.
 * Return: 0, and the next @more calls to addr_table_add() cannot fail; or
 * -ENOMEM.
 */
int addr_table_reserve(struct addr_table *t, unsigned int more)
{
	struct addr_array *old = t->array, *new;
	unsigned long size;
	unsigned int i;

	if (old != &addr_array_empty && (t->used + more) * 2UL <= old->mask + 1UL)
		return 0;

	/* At most a quarter full, so that as many nodes again fit before the next copy. */
	size = roundup_pow_of_two((t->live + more) * 4UL);
	size = max_t(unsigned long, size, ADDR_ARRAY_MIN);
	new = kvzalloc(struct_size(new, node, size), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->mask = size - 1;
	new->shift = BITS_PER_LONG - ilog2(size);

	for (i = 0; i <= old->mask; i++) {
		if (old->node[i] && old->node[i] != &tombstone)
			addr_array_put(new, old->node[i]);
	}

	/* A lookup that finds the array finds the nodes in it. Pairs as above. */
	smp_store_release(&t->array, new);
	t->used = t->live;
	if (old != &addr_array_empty && llist_add(&old->old, &old_arrays))
		schedule_work(&arrays_work);
	return 0;
}

/**
 * addr_table_add - add a node
 * @t: the table, with room made by addr_table_reserve()
 * @n: the node; its key must not be in the table
 *
 * Context: under the owner's lock.
 */
void addr_table_add(struct addr_table *t, struct addr_node *n)
{
	addr_array_put(t->array, n);
	t->live++;
	/* A reused tombstone is counted twice: an estimate that is too high is safe. */
	t->used++;
}

/**
 * addr_table_del - remove a node
 * @t: the table
 * @n: a node in it
 *
 * Lookups that have started may still find the node, so it has to be freed by RCU.
 *
 * Context: under the owner's lock.
 */
void addr_table_del(struct addr_table *t, struct addr_node *n)
{
	struct addr_array *a = t->array;
	unsigned int i = addr_bucket(a, n->key);

	while (a->node[i] != n) {
		if (WARN_ON_ONCE(!a->node[i]))
			return;
		i = (i + 1) & a->mask;
	}
	WRITE_ONCE(a->node[i], &tombstone);
	t->live--;
}
