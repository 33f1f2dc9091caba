/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobes: the instances of a return probe, where rethook does not own them.
 *
 * A chunk holds up to as many instances as a word has bits, and the word says
 * which of them are free. Each CPU has a chain of chunks: a call takes from the
 * chain of its CPU, with one atomic operation on a word that others leave
 * alone, and when it returns, the instance goes back into the word it came
 * from, wherever that is. There is no list that a concurrent taker could find
 * half changed, so NMIs need no care: a word either has the bit or not.
 *
 * When the chain of a CPU is exhausted, the chains of the others are searched;
 * see kretprobe_pool_search() for why that never overlooks a free instance.
 *
 * Some reads here are plain, for the compiler to merge them with the test of
 * what was read. That they cannot move is seen to by the atomic operations, or
 * by what is read through them: a chunk is published with a release.
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
 * @free:   a bit for each that is free, the lowest is taken first
 * @low:    with no bit below this free, there should be more of them
 * @attention: not 0 while who gives an instance back has to tell others
 * @size:   of an instance, in bytes
 * @next:   in the chain of the CPU
 * @pool:   whose it is
 * @from:   total of the pool when it was added
 * @wanted: it has been low; set by who took from it, for the worker
 * @nr:	    how many
 * @rcu:    frees it once no hit can have it in hand
 * @instances: they follow each other
 */
struct kretprobe_chunk {
	atomic_long_t free;
	unsigned long low;
	size_t size;
	atomic_t attention;
	struct kretprobe_chunk *next;
	struct kretprobe_pool *pool;
	bool wanted;
	unsigned int from;
	unsigned int nr;
	struct rcu_head rcu;
	char instances[] __aligned(sizeof(long long));
};

/**
 * struct kretprobe_pool - a return probe, and its instances
 * @hook:   what hits need of the probe
 * @size:   of an instance, in bytes
 * @puts:   how often they were told
 * @refs:   instances there are; and one each for the probe being registered,
 *	    and for standing in the worker's list
 * @todo:   in the worker's list
 * @asked:  the worker knows that there should be more, or there may be no more
 * @dead:   unregistered: instances that come back are not used again
 * @total:  instances there are, all of which are in chains
 * @bound:  as many as there may be
 * @rcu:    frees it once no hit can have it in hand
 * @first:  by CPU, the beginning of its chain, which has at least one chunk, be
 *	    it empty; a new one goes in front
 *
 * What a hit reads comes first, and is written by nobody meanwhile.
 */
struct kretprobe_pool {
	struct kretprobe_hook hook;
	size_t size;
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
struct kretprobe_instance *kretprobe_pool_search(struct kretprobe_pool *pool);
void kretprobe_pool_low(struct kretprobe_chunk *chunk);
void kretprobe_pool_attend(struct kretprobe_chunk *home);

/* Takes an instance, if any is free, and says which. */
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

/* Having taken that, kretprobe_pool_low() is to be called. */
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

	return data_race(pool->first[cpu]);	/* any that was first will do */
}

/* In any context, preemption off. NULL if so many calls are under way. */
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

/* In any context, preemption off: the chunk stays until that is on again. */
static __always_inline void kretprobe_pool_put(struct kretprobe_instance *ri)
{
	struct kretprobe_chunk *home = ri->home;

	/*
	 * What the handler has done is done before the next taker writes. Pairs
	 * with the full barrier that kretprobe_chunk_take() is when it succeeds.
	 */
	smp_mb__before_atomic();
	raw_atomic_long_or(ri->bit, &home->free);
	/* First to be free, then to look who waits for it: pairs with attention(). */
	smp_mb__after_atomic();
	if (unlikely(data_race(home->attention.counter)))	/* ordered above */
		kretprobe_pool_attend(home);
}

#endif /* _KERNEL_KPROBES_POOL_H */
