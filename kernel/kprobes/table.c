// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: a table that finds things by address, from any context.
 *
 * The tree has rhashtable, and this is not a better one; it is one that a
 * breakpoint handler may use. A lookup here calls nothing, so there is nothing
 * on its path that could itself be probed; it takes no lock, not even the
 * reader side that lockdep and RCU debugging hook into.
 *
 * Open addressing with linear probing. Writers hold a lock of their owner.
 * A lookup runs concurrently with them, and is right because
 *
 *  - a bucket goes from NULL to a node with a release store, so that a node
 *    seen is a node initialised;
 *  - a bucket never goes back to NULL, so that a chain is never cut under a
 *    reader: a node that leaves is replaced by a tombstone, whose key matches
 *    nothing, and a tombstone may become a node again;
 *  - when half of the buckets are used up, tombstones included, the live
 *    nodes are copied into a new array, which is then published; readers of
 *    the old one see the table as it was, and RCU keeps it until they are
 *    done. They run with preemption off, which is all that takes.
 *
 * A lookup reads the array, then a bucket of it, then what that leads to, each
 * through what it has read before. No architecture that has kprobes reorders
 * such reads, so a lookup needs no barrier: the releases of the writers are
 * enough on arm64 and powerpc, too. A tombstone never changes and needs none.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "internal.h"

#define ADDR_ARRAY_MIN	64

/* What lookups use until something is in the table. */
struct addr_array addr_array_empty = {
	.shift = BITS_PER_LONG - 1,
	.mask = 1,
	.node = { NULL, NULL },
};

/* No address: the last byte there is. */
static struct addr_node tombstone = { .key = ~0UL };

static void addr_array_put(struct addr_array *a, struct addr_node *n)
{
	unsigned int i = addr_bucket(a, n->key);

	while (a->node[i] && a->node[i] != &tombstone)
		i = (i + 1) & a->mask;
	/*
	 * Whoever finds the node finds it initialised, its key first of all. Pairs
	 * with the dependent reads of addr_table_find().
	 */
	smp_store_release(&a->node[i], n);
}

/**
 * addr_table_reserve - make room
 * @t:	  the table
 * @more: how many nodes are about to be added
 *
 * Context: may sleep; under the owner's lock.
 * Return: 0, and the next @more calls of addr_table_add() cannot fail; or
 * -ENOMEM.
 */
int addr_table_reserve(struct addr_table *t, unsigned int more)
{
	struct addr_array *old = t->array, *new;
	unsigned long size;
	unsigned int i;

	if (old != &addr_array_empty && (t->used + more) * 2UL <= old->mask + 1UL)
		return 0;

	/* Half full at most now, and for as many again before the next copy. */
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

	/* Whoever finds the array finds what was copied into it. Pairs likewise. */
	smp_store_release(&t->array, new);
	t->used = t->live;
	if (old != &addr_array_empty)
		kvfree_rcu(old, rcu);
	return 0;
}

/**
 * addr_table_add - enter a node
 * @t: the table, with room made by addr_table_reserve()
 * @n: the node; its key must not be in the table
 */
void addr_table_add(struct addr_table *t, struct addr_node *n)
{
	addr_array_put(t->array, n);
	t->live++;
	/* A tombstone that is used again was counted, but too many is safe. */
	t->used++;
}

/**
 * addr_table_del - take a node out
 * @t: the table
 * @n: a node in it
 *
 * Lookups that started before may still find it: free it through RCU.
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
