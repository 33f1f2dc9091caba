// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: the instances of return probes; see pool.h for how they are kept.
 *
 * A pool whose size was left to us grows: who takes one of the last instances
 * of a CPU's newest chunk asks the worker for another chunk. From there on it
 * only grows, to KRETPROBE_POOL_MAX instances or KRETPROBE_POOL_BYTES, until
 * the probe is unregistered. A pool whose size was given stays as it is.
 *
 * A pool outlives its probe until the last call has returned, which may happen
 * in an NMI. So it is the worker that frees it, too.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#include "pool.h"

#define KRETPROBE_POOL_MAX	4096
#define KRETPROBE_POOL_BYTES	SZ_4M

/* A CPU's share at least doubles, by no less than this. */
#define GROW_MIN		8

/* Protects the chains of all pools, and whether they are dead; a leaf. */
static DEFINE_MUTEX(pool_mutex);

/* Pools that want to grow or to go; see kretprobe_pool::refs. */
static LLIST_HEAD(pool_todo);

static void pool_work_fn(struct work_struct *work);
static DECLARE_WORK(pool_work, pool_work_fn);

static void pool_queue_work(struct irq_work *work)
{
	queue_work(system_highpri_wq, &pool_work);
}

static DEFINE_IRQ_WORK(pool_irq_work, pool_queue_work);

/* In any context; hence the detour to get a worker. */
static noinline void __kprobe_hit pool_ask_worker(struct kretprobe_pool *pool)
{
	if (llist_add(&pool->todo, &pool_todo))
		irq_work_queue(&pool_irq_work);
}

/* Nobody can have a pool in the list that has no references. */
static void __kprobe_hit pool_drop(struct kretprobe_pool *pool, unsigned int nr)
{
	if (nr && raw_atomic_sub_and_test(nr, &pool->refs))
		pool_ask_worker(pool);
}

/**
 * kretprobe_pool_low - a chunk is about to run out
 * @chunk: the chunk
 *
 * Context: any, preemption off, an instance of the pool taken.
 */
noinline void __kprobe_hit kretprobe_pool_low(struct kretprobe_chunk *chunk)
{
	struct kretprobe_pool *pool = chunk->pool;

	if (!READ_ONCE(chunk->wanted)) {
		WRITE_ONCE(chunk->wanted, true);
		/* Pairs with that of pool_grow(): it sees this, or we that we may ask. */
		smp_mb();
	}
	if (READ_ONCE(pool->asked) || raw_xchg(&pool->asked, true))
		return;
	raw_atomic_inc(&pool->refs);
	pool_ask_worker(pool);
}

static __always_inline struct kretprobe_instance *pool_search(struct kretprobe_pool *pool)
{
	unsigned int cpu = raw_smp_processor_id(), i;
	struct kretprobe_chunk *chunk;
	unsigned long nr;

	for (i = 0; i < nr_cpu_ids; i++) {
		chunk = READ_ONCE(pool->first[cpu]);
		for (; chunk; chunk = chunk->next) {
			if (!kretprobe_chunk_take(chunk, &nr))
				continue;
			if (kretprobe_chunk_is_low(chunk, nr))
				kretprobe_pool_low(chunk);
			return kretprobe_chunk_nth(chunk, nr);
		}
		/* Not all CPUs that there could be have chains. */
		do {
			if (++cpu >= nr_cpu_ids)
				cpu = 0;
		} while (!cpu_possible(cpu));
	}
	return NULL;
}

/* In the chunks that have the first @total instances. */
static void __kprobe_hit pool_watch(struct kretprobe_pool *pool, unsigned int total,
				    int add)
{
	struct kretprobe_chunk *chunk;
	int cpu;

	for_each_possible_cpu(cpu) {
		chunk = READ_ONCE(pool->first[cpu]);
		for (; chunk; chunk = chunk->next) {
			if (chunk->from < total)
				raw_atomic_add(add, &chunk->attention);
		}
	}
	/*
	 * The callers look at the words next: pairs with kretprobe_pool_put(). Either
	 * we see what is put, or who puts it sees that there is attention.
	 */
	smp_mb__after_atomic();
}

/**
 * kretprobe_pool_search - find an instance that is free on any CPU
 * @pool: the pool
 *
 * Looking at one word after the other, a search can come too early to one and
 * too late to the next, while there has been a free instance all the time. It
 * holds good if nobody has given one back meanwhile: then words that were
 * empty have stayed so. Instances of calls that are still giving back at the
 * end of the search are theirs. Chunks that are added meanwhile are not watched:
 * that happens to pools only that are not bounded by their user.
 *
 * Context: any, preemption off.
 * Return: an instance; or NULL, and so many calls were under way.
 */
noinline __kprobe_hit struct kretprobe_instance *
kretprobe_pool_search(struct kretprobe_pool *pool)
{
	struct kretprobe_instance *ri = pool_search(pool);
	unsigned int total;
	int puts;

	if (likely(ri))
		return ri;

	/* Pairs with pool_add_chunk(): their chunks are in the chains. */
	total = smp_load_acquire(&pool->total);
	pool_watch(pool, total, 1);
	do {
		puts = raw_atomic_read(&pool->puts);
		smp_rmb();	/* pairs with kretprobe_pool_attend() */
		ri = pool_search(pool);
		smp_rmb();	/* likewise */
	} while (!ri && puts != raw_atomic_read(&pool->puts));
	pool_watch(pool, total, -1);
	return ri;
}

static unsigned int __kprobe_hit chunk_take_all(struct kretprobe_chunk *chunk)
{
	return hweight_long(raw_atomic_long_xchg(&chunk->free, 0));
}

/**
 * kretprobe_pool_attend - an instance was given back, and somebody cares
 * @home: its chunk
 *
 * Context: any, preemption off.
 */
noinline void __kprobe_hit kretprobe_pool_attend(struct kretprobe_chunk *home)
{
	struct kretprobe_pool *pool = home->pool;

	/*
	 * First to be free, then to be counted: pairs with the reads of the count
	 * in kretprobe_pool_search(). And to be free before @dead is looked at:
	 * pairs with kretprobe_pool_release().
	 */
	smp_mb__before_atomic();
	raw_atomic_inc(&pool->puts);
	if (READ_ONCE(pool->dead))
		pool_drop(pool, chunk_take_all(home));
}

/* ------------------------------ The worker ------------------------------ */

/* The new chunk is the first of its chain; as many as fit in it, at most @nr. */
static int pool_add_chunk(struct kretprobe_pool *pool, int cpu, unsigned int nr)
{
	struct kretprobe_chunk *chunk, *next = pool->first[cpu];
	struct kretprobe_instance *ri;
	unsigned int i;

	nr = min(nr, BITS_PER_LONG);
	/* However many there are: rather fail than have somebody killed. */
	chunk = kvzalloc_node(struct_size(chunk, instances, nr * pool->size),
			      GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN,
			      cpu_to_node(cpu));
	if (!chunk)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		ri = (void *)chunk->instances + i * pool->size;
		ri->pool = pool;
		ri->home = chunk;
		ri->bit = BIT(i);
	}
	chunk->low = nr / 2;
	chunk->size = pool->size;
	chunk->pool = pool;
	chunk->nr = nr;
	chunk->from = pool->total;
	chunk->next = next;
	atomic_long_set(&chunk->free, nr ? GENMASK(nr - 1, 0) : 0);

	atomic_add(nr, &pool->refs);
	/* Pairs with the dependent reads of those who take. */
	smp_store_release(&pool->first[cpu], chunk);
	/* Who sees this sees the chunk, too: kretprobe_pool_search() */
	smp_store_release(&pool->total, pool->total + nr);
	if (next)
		WRITE_ONCE(next->low, BITS_PER_LONG);
	return nr;
}

/* At least one chunk, so that every chain has one. */
static int pool_add(struct kretprobe_pool *pool, int cpu, unsigned int nr)
{
	int ret;

	do {
		ret = pool_add_chunk(pool, cpu, nr);
		if (ret < 0)
			return ret;
		nr -= ret;
	} while (nr);
	return 0;
}

static void pool_grow(struct kretprobe_pool *pool)
{
	struct kretprobe_chunk *chunk;
	unsigned int have;
	int cpu;

	guard(mutex)(&pool_mutex);

	if (pool->dead)
		return;
	WRITE_ONCE(pool->asked, false);
	/* Who may ask again has not been looked for yet: kretprobe_pool_low() */
	smp_mb();
	for_each_possible_cpu(cpu) {
		chunk = pool->first[cpu];
		if (!READ_ONCE(chunk->wanted))
			continue;
		WRITE_ONCE(chunk->wanted, false);
		for (have = 0; chunk; chunk = chunk->next)
			have += chunk->nr;
		have = min(max(have, GROW_MIN), pool->bound - pool->total);
		if (!have || pool_add(pool, cpu, have))
			break;
	}
	if (pool->total == pool->bound)
		WRITE_ONCE(pool->asked, true);
}

static void pool_free(struct kretprobe_pool *pool)
{
	struct kretprobe_chunk *chunk, *next;
	int cpu;

	for_each_possible_cpu(cpu) {
		for (chunk = pool->first[cpu]; chunk; chunk = next) {
			next = chunk->next;
			kvfree_rcu(chunk, rcu);
		}
	}
	kfree_rcu(pool, rcu);
	kprobe_test_count_pool(-1);
}

static void pool_work_fn(struct work_struct *work)
{
	struct kretprobe_pool *pool, *next;

	llist_for_each_entry_safe(pool, next, llist_del_all(&pool_todo), todo) {
		if (atomic_read(&pool->refs)) {
			pool_grow(pool);
			if (!atomic_dec_and_test(&pool->refs))
				continue;
		}
		pool_free(pool);
	}
}

/**
 * kretprobe_pool_alloc - make the instances of a return probe
 * @size:  of an instance, in bytes
 * @nr:	   how many, spread over the CPUs
 * @grows: they may become more
 *
 * Context: may sleep.
 * Return: the pool, or an ERR_PTR.
 */
struct kretprobe_pool *kretprobe_pool_alloc(size_t size, unsigned int nr, bool grows)
{
	unsigned int cpus = num_possible_cpus(), share = nr / cpus, more = nr % cpus;
	struct kretprobe_pool *pool;
	int cpu, ret = 0;

	pool = kzalloc(struct_size(pool, first, nr_cpu_ids), GFP_KERNEL);
	if (!pool)
		return ERR_PTR(-ENOMEM);
	kprobe_test_count_pool(1);
	pool->size = ALIGN(size, __alignof__(struct kretprobe_instance));
	pool->bound = grows ? max_t(size_t, nr, min_t(size_t, KRETPROBE_POOL_MAX,
						      KRETPROBE_POOL_BYTES / pool->size)) : nr;
	pool->asked = pool->bound == nr;
	atomic_set(&pool->refs, 1);

	for_each_possible_cpu(cpu) {
		ret = pool_add(pool, cpu, share + (more ? 1 : 0));
		if (ret) {
			pool_free(pool);
			return ERR_PTR(ret);
		}
		if (more)
			more--;
	}
	return pool;
}

/**
 * kretprobe_pool_release - a pool is to go with its last call
 * @pool: the pool, of which nobody takes any more
 *
 * Context: may sleep, but does not wait.
 */
void kretprobe_pool_release(struct kretprobe_pool *pool)
{
	struct kretprobe_chunk *chunk;
	unsigned int nr = 1;
	int cpu;

	scoped_guard(mutex, &pool_mutex) {
		WRITE_ONCE(pool->dead, true);
		/*
		 * Pairs with kretprobe_pool_attend(), which sees that and drops
		 * what it has put, or has put it early enough for us to take.
		 */
		smp_mb();
		pool_watch(pool, pool->total, 1);
		for_each_possible_cpu(cpu) {
			for (chunk = pool->first[cpu]; chunk; chunk = chunk->next)
				nr += chunk_take_all(chunk);
		}
	}
	pool_drop(pool, nr);
}
