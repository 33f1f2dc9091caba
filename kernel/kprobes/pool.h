/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes: the instances of a return probe, on architectures that do not use rethook.
 *
 * A chunk holds up to BITS_PER_LONG instances, and a word in it says which of them are
 * free. Each CPU has a chain of chunks. A call takes an instance from the chain of its
 * CPU, by one atomic operation on a word that other CPUs rarely use. When the call
 * returns, the instance goes back into the word that it came from, on whatever CPU.
 * There is no list that could be seen half changed, so NMIs need no special care: a bit
 * is either set or not.
 *
 * When the chain of a CPU is empty, the chains of the others are searched.
 * kretprobe_pool_search() says when that may miss a free instance.
 *
 * Some reads here are plain, so that the compiler can merge them with the test of the
 * value. They are kept in place by the atomic operations, or by the pointer that they
 * read through: a chunk is published with a release.
 */
#ifndef _KERNEL_KPROBES_POOL_H
#define _KERNEL_KPROBES_POOL_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/kprobes.h>
#include <linux/llist.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>

#include "internal.h"

/**
 * struct kretprobe_chunk - some of the instances of a CPU
 * @free:   a bit for each free instance; the lowest is taken first
 * @low:    if no bit below this one is set, the chunk is low
 * @size:   of an instance, in bytes
 * @next:   in the chain of the CPU
 * @pool:   the pool that owns the chunk
 * @wanted: the chunk was low when a call took from it
 * @nr:	    number of instances
 * @rcu:    frees it once no hit uses it
 * @instances: the instances
 */
struct kretprobe_chunk {
	atomic_long_t free;
	unsigned long low;
	size_t size;
	struct kretprobe_chunk *next;
	struct kretprobe_pool *pool;
	bool wanted;
	unsigned int nr;
	struct rcu_head rcu;
	char instances[] __aligned(sizeof(long long));
};

/**
 * struct kretprobe_pool - a return probe, and its instances
 * @hook:   the part of the probe that hits use
 * @size:   of an instance, in bytes
 * @attention: not 0 if a call that gives an instance back has to call
 *	    kretprobe_pool_attend()
 * @puts:   number of calls to kretprobe_pool_attend()
 * @refs:   number of instances; one more while the probe is registered, and one while
 *	    the pool is in a list of the worker in order to grow
 * @todo:   in a list of the worker
 * @asked:  the worker has been asked for more instances and is not done, or no more
 *	    are allowed
 * @dead:   the probe is unregistered: instances are not used again
 * @total:  number of instances, all of which are in chains
 * @bound:  the most instances there may be
 * @rcu:    frees it once no hit uses it
 * @first:  by CPU, the head of its chain, which has at least one chunk, even if that
 *	    has no instance; a new chunk becomes the head
 *
 * Hits read @hook, @size, @first and @attention. Of these, @first changes when the pool
 * grows, and @attention when a call finds no free instance.
 */
struct kretprobe_pool {
	struct kretprobe_hook hook;
	size_t size;
	atomic_t attention;
	atomic_t puts;
	atomic_t refs;
	struct llist_node todo;
	int asked;
	bool dead;
	unsigned int total;
	unsigned int bound;
	struct rcu_head rcu;
	struct kretprobe_chunk *first[];
};

struct kretprobe_pool *kretprobe_pool_alloc(size_t size, unsigned int nr, bool grows);
void kretprobe_pool_release(struct kretprobe_pool *pool);
void kretprobe_pools_flush(void);
void kretprobe_pool_usage(struct kretprobe_pool *pool, struct kretprobe_usage *usage);
struct kretprobe_instance *kretprobe_pool_search(struct kretprobe_pool *pool);
void kretprobe_pool_low(struct kretprobe_chunk *chunk);
void kretprobe_pool_attend(struct kretprobe_chunk *home);

/* Takes an instance if one is free, and sets @nr to its number. */
static __always_inline bool kretprobe_chunk_take(struct kretprobe_chunk *chunk,
						 unsigned long *nr)
{
	unsigned long bits = raw_atomic_long_read(&chunk->free);

	do {
		if (unlikely(!bits))
			return false;
	} while (!raw_atomic_long_try_cmpxchg(&chunk->free, (long *)&bits,
					      bits & (bits - 1)));
	*nr = __ffs(bits);
	return true;
}

/* If true, the caller, which has taken instance @nr, calls kretprobe_pool_low(). */
static __always_inline bool kretprobe_chunk_is_low(struct kretprobe_chunk *chunk,
						   unsigned long nr)
{
	return nr >= data_race(chunk->low);	/* only a hint */
}

static __always_inline struct kretprobe_instance *
kretprobe_chunk_nth(struct kretprobe_chunk *chunk, unsigned long nr)
{
	return (void *)chunk->instances + nr * chunk->size;
}

/* In any context, preemption off. */
static __always_inline struct kretprobe_chunk *
kretprobe_pool_chunk(struct kretprobe_pool *pool)
{
	unsigned long cpu = raw_smp_processor_id();

	return data_race(pool->first[cpu]);	/* an older head will do */
}

/* In any context, preemption off. NULL if no instance was found. */
static __always_inline struct kretprobe_instance *
kretprobe_pool_get(struct kretprobe_pool *pool)
{
	struct kretprobe_chunk *chunk = kretprobe_pool_chunk(pool);
	unsigned long nr;

	if (unlikely(!kretprobe_chunk_take(chunk, &nr)))
		return kretprobe_pool_search(pool);
	if (unlikely(kretprobe_chunk_is_low(chunk, nr)))
		kretprobe_pool_low(chunk);
	return kretprobe_chunk_nth(chunk, nr);
}

/* In any context, preemption off or in an RCU reader, which keeps the chunk. */
static __always_inline void kretprobe_pool_put(struct kretprobe_instance *ri)
{
	struct kretprobe_chunk *home = ri->home;

	/*
	 * The next call that takes it must not write before the handler has finished.
	 * Pairs with the full barrier of kretprobe_chunk_take() when that succeeds.
	 */
	smp_mb__before_atomic();
	raw_atomic_long_or(ri->bit, &home->free);
	/*
	 * Either a search sees the free instance, or this sees the attention: pairs
	 * with pool_watch().
	 */
	smp_mb__after_atomic();
	if (unlikely(data_race(ri->pool->attention.counter)))	/* ordered above */
		kretprobe_pool_attend(home);
}

#endif /* _KERNEL_KPROBES_POOL_H */
