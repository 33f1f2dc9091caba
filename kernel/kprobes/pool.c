// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: the instances of return probes; pool.h describes the data structure.
 *
 * If maxactive is 0 or less, the pool grows: a call that leaves less than half of a CPU's
 * newest chunk free asks the worker for another chunk. If there is no memory, the worker
 * tries again later, without being asked. The pool never shrinks, and has at most
 * KRETPROBE_POOL_MAX instances or KRETPROBE_POOL_BYTES. If maxactive is given, the number
 * of instances does not change.
 *
 * A pool lives until its probe is unregistered and the last call has returned, which
 * may happen in an NMI. So the worker frees it.
 *
 * arm64 reorders more than x86 does; powerpc uses rethook. There are two patterns:
 *
 *  - One side writes data and then a word, the other reads the word and then the data. An
 *    instance and its bit in kretprobe_chunk::free: giving back is ordered by a full barrier
 *    before the bit is set, taking by the compare-and-exchange, which is one if it succeeds.
 *    A chunk and the pointer to it: a release, and reads that depend on the pointer. The free
 *    bits and kretprobe_pool::puts: a barrier before the increment, and one after the read.
 *  - Both sides write one word and then read that of the other. A full barrier on each side
 *    between the two makes at least one of them see the other's: @attention of a search and
 *    the free bit of a call, @dead of the release and the same bit, @wanted of a call and
 *    @asked of the worker. If both sides of the last two see it, an atomic exchange decides
 *    which one acts. A search and a call may both act.
 *
 * Why not rethook with lib/objpool.c, which were made for this? Exact instructions, on
 * one kernel (x86-64, -icount), for a pre-handler that calls rethook_try_get() and
 * rethook_hook(), and for a return probe, with return handlers that do nothing:
 *
 *						objpool,	this
 *						rethook
 *	take an instance, give it back		     58		  18
 *	return probe, by breakpoint		    477		 350
 *	return probe, by jump			    300		 175
 *	return probe, by ftrace site		    350		 223
 *	times interrupts are switched off	      2		   0
 *	of 2,500 returns of 500 sleepers,
 *	  default maxactive: missed		  2,440		   0
 *	beside the instances, 4,096 of them
 *	  on 8 possible CPUs: bytes		262,272	      4,224
 *
 * And what objpool cannot do:
 *
 *  - Grow. Its rings have the size of the first allocation.
 *  - Keep an exact bound. A pop looks at each CPU's ring once, so it fails if the only
 *    free object is pushed to a ring that it has looked at. A user that asks for N calls
 *    at once then loses calls while fewer are in flight.
 *  - Push in an NMI. A push reserves an entry and then announces it. An NMI that pushes
 *    in between announces the outer entry, too, before that is written: a pop may
 *    return an object that is in use.
 *  - Use memory only for what it holds: each CPU's ring has room for all objects.
 *
 * An objpool that could do this would have a different ring, push and pop. Its other
 * user, fprobe's rethook, needs none of that, so only the name would be shared.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
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

/* Growing doubles a CPU's share, or adds this many instances if that is more. */
#define GROW_MIN		8

/* How long pools wait for memory. */
#define RETRY_DELAY		HZ

/* Protects kretprobe_pool::first, total and dead of all pools. */
static DEFINE_MUTEX(pool_mutex);

/* Pools that are to grow, or to be freed; see kretprobe_pool::refs. */
static LLIST_HEAD(pool_todo);

static void pool_work_fn(struct work_struct *work);
static DECLARE_WORK(pool_work, pool_work_fn);

/* Pools for which there was no memory. */
static LLIST_HEAD(pool_retry);

static void pool_retry_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(pool_retry_work, pool_retry_fn);

static void pool_queue_work(struct irq_work *work)
{
	queue_work(system_highpri_wq, &pool_work);
}

/* With PREEMPT_RT, other irq_work needs a thread. That parks while its CPU is still online. */
static struct irq_work pool_irq_work = IRQ_WORK_INIT_HARD(pool_queue_work);

/*
 * Called in any context, even in an NMI, so it cannot queue a worker directly. A CPU that is
 * coming online or going offline may lose the interrupt. Then the work would stay pending,
 * and with it all other irq_work of the CPU. Such a CPU leaves the list to
 * kretprobe_pool_kick().
 */
static noinline void __kprobe_hit pool_ask_worker(struct kretprobe_pool *pool)
{
	if (!llist_add(&pool->todo, &pool_todo))
		return;
	if (!CALLS_SEE_HOTPLUG || likely(cpu_online(raw_smp_processor_id())))
		irq_work_queue(&pool_irq_work);
}

/**
 * kretprobe_pool_kick - ask the worker in place of a CPU that could not
 *
 * Context: any; the CPU has come online or gone offline.
 */
void kretprobe_pool_kick(void)
{
	if (!llist_empty(&pool_todo))
		queue_work(system_highpri_wq, &pool_work);
}

/* Once the last reference is gone, no other CPU can be adding the pool to the list. */
static void __kprobe_hit pool_drop(struct kretprobe_pool *pool, unsigned int nr)
{
	if (nr && raw_atomic_sub_and_test(nr, &pool->refs))
		pool_ask_worker(pool);
}

/**
 * kretprobe_pool_low - ask the worker for more instances
 * @chunk: a chunk that is about to run out
 *
 * Context: any, preemption off, an instance of the pool taken.
 */
noinline void __kprobe_hit kretprobe_pool_low(struct kretprobe_chunk *chunk)
{
	struct kretprobe_pool *pool = chunk->pool;

	if (!READ_ONCE(chunk->wanted)) {
		WRITE_ONCE(chunk->wanted, true);
		/*
		 * Pairs with the barrier in pool_grow(): either that sees @wanted, or
		 * @asked is false below.
		 */
		smp_mb();
	}
	if (READ_ONCE(pool->asked) || raw_xchg(&pool->asked, true))
		return;
	raw_atomic_inc(&pool->refs);
	pool_ask_worker(pool);
}

/* How often a search is repeated because instances have been given back during it. */
#define SEARCH_ROUNDS	64

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
		/* Only possible CPUs have chains. */
		do {
			if (++cpu >= nr_cpu_ids)
				cpu = 0;
		} while (!cpu_possible(cpu));
	}
	return NULL;
}

/* Changes how many searches and releases watch for instances that are given back. */
static void __kprobe_hit pool_watch(struct kretprobe_pool *pool, int add)
{
	raw_atomic_add(add, &pool->attention);
	/*
	 * The callers read kretprobe_chunk::free next. Pairs with
	 * kretprobe_pool_put(): either they see what it has given back, or it sees
	 * the attention.
	 */
	smp_mb__after_atomic();
}

/**
 * kretprobe_pool_search - take an instance that is free on any CPU
 * @pool: the pool
 *
 * A search reads the words one by one. It may read a word just before an instance is
 * given back there, and the next word just after one has been taken there, and so find
 * none although one was always free. So it is repeated if instances have been given back
 * during the search. If none has, empty words have stayed empty, and the result is right.
 * An instance counts as in use until its call has given it back. A chunk added during the
 * search may be missed: only pools without a user's bound grow.
 *
 * If other CPUs take and give back faster than this searches, it could go on for as long as
 * they do, perhaps with interrupts off. So there is a limit, which is far above what it takes
 * to find an instance that is free most of the time.
 *
 * Context: any, preemption off.
 * Return: an instance; or NULL if all of them were in use, or if none could be caught.
 */
noinline __kprobe_hit struct kretprobe_instance *
kretprobe_pool_search(struct kretprobe_pool *pool)
{
	struct kretprobe_instance *ri = pool_search(pool);
	unsigned int rounds = 0;
	int puts;

	if (likely(ri))
		return ri;

	/* Either a call that gives back sees this, or the search sees its instance. */
	pool_watch(pool, 1);
	do {
		puts = raw_atomic_read(&pool->puts);
		smp_rmb();	/* pairs with kretprobe_pool_attend() */
		ri = pool_search(pool);
		smp_rmb();	/* likewise */
	} while (!ri && puts != raw_atomic_read(&pool->puts) && ++rounds < SEARCH_ROUNDS);
	pool_watch(pool, -1);
	return ri;
}

static unsigned int __kprobe_hit chunk_take_all(struct kretprobe_chunk *chunk)
{
	return hweight_long(raw_atomic_long_xchg(&chunk->free, 0));
}

/**
 * kretprobe_pool_attend - tell searches that an instance has been given back
 * @home: its chunk
 *
 * If the pool is dead, this drops the references of the chunk's free instances.
 *
 * Context: any, preemption off.
 */
noinline void __kprobe_hit kretprobe_pool_attend(struct kretprobe_chunk *home)
{
	struct kretprobe_pool *pool = home->pool;

	/*
	 * A search that sees the count sees the free instance: pairs with the reads
	 * of the count in kretprobe_pool_search(). And the instance is free before
	 * @dead is read: pairs with kretprobe_pool_release().
	 */
	smp_mb__before_atomic();
	raw_atomic_inc(&pool->puts);
	if (READ_ONCE(pool->dead))
		pool_drop(pool, chunk_take_all(home));
}

/* ------------------------------ The worker ------------------------------ */

/* Puts a chunk of at most @nr instances at the head of a chain; returns how many. */
static int pool_add_chunk(struct kretprobe_pool *pool, int cpu, unsigned int nr)
{
	struct kretprobe_chunk *chunk, *next = pool->first[cpu];
	struct kretprobe_instance *ri;
	unsigned int i;

	if (kprobe_test_fails_instances())
		return -ENOMEM;
	nr = min(nr, BITS_PER_LONG);
	/* Whatever the size, fail rather than let the OOM killer run. */
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
	chunk->next = next;
	atomic_long_set(&chunk->free, nr ? GENMASK(nr - 1, 0) : 0);

	atomic_add(nr, &pool->refs);
	/* Pairs with the dependent reads of kretprobe_pool_get(). */
	smp_store_release(&pool->first[cpu], chunk);
	pool->total += nr;
	if (next)
		WRITE_ONCE(next->low, BITS_PER_LONG);
	return nr;
}

/* Adds at least one chunk, so that every chain has one. */
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

/* Adds to the chains whose first chunk is wanted, as far as the bound allows. */
static int pool_add_wanted(struct kretprobe_pool *pool)
{
	struct kretprobe_chunk *chunk;
	unsigned int have;
	int cpu, ret;

	kprobe_assert_held(&pool_mutex);
	for_each_possible_cpu(cpu) {
		chunk = pool->first[cpu];
		if (!READ_ONCE(chunk->wanted))
			continue;
		for (have = 0; chunk; chunk = chunk->next)
			have += chunk->nr;
		have = min(max(have, GROW_MIN), pool->bound - pool->total);
		if (!have)
			break;
		ret = pool_add(pool, cpu, have);
		if (ret)
			return ret;
	}
	return 0;
}

static bool pool_is_wanted(struct kretprobe_pool *pool)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (READ_ONCE(pool->first[cpu]->wanted))
			return true;
	}
	return false;
}

/*
 * Calls do not ask while this runs, nor while the pool waits for memory. If the bound
 * is reached, they never ask again.
 */
static int pool_grow(struct kretprobe_pool *pool)
{
	int ret;

	guard(mutex)(&pool_mutex);

	if (pool->dead)
		return 0;
	do {
		ret = pool_add_wanted(pool);
		if (ret || pool->total == pool->bound)
			return ret;
		kprobe_test_stage(KPROBE_STAGE_GREW);
		WRITE_ONCE(pool->asked, false);
		/* Pairs with kretprobe_pool_low(): either that asks, or this sees @wanted. */
		smp_mb();
	} while (pool_is_wanted(pool) && !xchg(&pool->asked, true));
	return 0;
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

/* A pool that has to wait for memory keeps the reference that its list held. */
static void pools_serve(struct llist_node *pools)
{
	struct kretprobe_pool *pool, *next;
	LLIST_HEAD(unused);

	llist_for_each_entry_safe(pool, next, pools, todo) {
		if (atomic_read(&pool->refs)) {
			if (pool_grow(pool)) {
				llist_add(&pool->todo, &pool_retry);
				queue_delayed_work(system_highpri_wq, &pool_retry_work,
						   RETRY_DELAY);
				continue;
			}
			if (!atomic_dec_and_test(&pool->refs))
				continue;
		}
		__llist_add(&pool->todo, &unused);
	}
	if (llist_empty(&unused))
		return;
	kprobe_wait_for_unwatched();
	llist_for_each_entry_safe(pool, next, unused.first, todo)
		pool_free(pool);
}

static void pool_work_fn(struct work_struct *work)
{
	pools_serve(llist_del_all(&pool_todo));
}

static void pool_retry_fn(struct work_struct *work)
{
	pools_serve(llist_del_all(&pool_retry));
}

#if IS_ENABLED(CONFIG_KUNIT)
/**
 * kretprobe_pools_flush - let the worker serve the pools that have asked for it
 *
 * Those that wait for memory are tried again at once.
 *
 * Context: may sleep; not from a stage.
 */
void kretprobe_pools_flush(void)
{
	unsigned int tries;

	/* For a while only, not for ever if its CPU has gone offline and lost it. */
	for (tries = 0; irq_work_is_busy(&pool_irq_work) && tries < 1000; tries++)
		usleep_range(100, 1000);
	flush_work(&pool_work);
	flush_delayed_work(&pool_retry_work);
}
#endif

/**
 * kretprobe_pool_alloc - allocate the instances of a return probe
 * @size:  of an instance, in bytes
 * @nr:	   the number of instances, which are spread over the CPUs
 * @grows: there may be more of them later
 *
 * Context: may sleep.
 * Return: the pool, or ERR_PTR(-ENOMEM).
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

/* Takes all free instances; returns how many. */
static unsigned int pool_take_all(struct kretprobe_pool *pool)
{
	struct kretprobe_chunk *chunk;
	unsigned int nr = 0;
	int cpu;

	kprobe_assert_held(&pool_mutex);
	for_each_possible_cpu(cpu) {
		for (chunk = pool->first[cpu]; chunk; chunk = chunk->next)
			nr += chunk_take_all(chunk);
	}
	return nr;
}

/**
 * kretprobe_pool_release - free a pool after its last call
 * @pool: the pool; no call takes from it any more
 *
 * Context: may sleep, but does not wait.
 */
void kretprobe_pool_release(struct kretprobe_pool *pool)
{
	unsigned int nr;

	scoped_guard(mutex, &pool_mutex) {
		WRITE_ONCE(pool->dead, true);
		/*
		 * Pairs with kretprobe_pool_attend(): either that sees @dead and drops
		 * the free instances, or this takes them.
		 */
		smp_mb();
		pool_watch(pool, 1);
		nr = pool_take_all(pool);
	}
	pool_drop(pool, nr + 1);
}

static void chunk_add_usage(struct kretprobe_chunk *chunk, struct kretprobe_usage *usage)
{
	unsigned int i;

	kprobe_assert_held(&pool_mutex);
	usage->in_use += chunk->nr - hweight_long(atomic_long_read(&chunk->free));
	/* This is NULL until a call has used the instance. */
	for (i = 0; i < chunk->nr; i++)
		usage->most += !!READ_ONCE(kretprobe_chunk_nth(chunk, i)->ret_addr);
}

/**
 * kretprobe_pool_usage - add up the instances of a pool
 * @pool:  the pool, which is not released meanwhile
 * @usage: the numbers are added to these
 *
 * Calls take and give back instances concurrently.
 *
 * Context: may sleep.
 */
void kretprobe_pool_usage(struct kretprobe_pool *pool, struct kretprobe_usage *usage)
{
	struct kretprobe_chunk *chunk;
	int cpu;

	guard(mutex)(&pool_mutex);
	usage->total += pool->total;
	for_each_possible_cpu(cpu) {
		for (chunk = pool->first[cpu]; chunk; chunk = chunk->next)
			chunk_add_usage(chunk, usage);
	}
}
