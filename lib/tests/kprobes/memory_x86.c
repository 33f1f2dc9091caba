// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: lack of memory. The first allocation of a call fails, then the second,
 * and so on until there are no more. A call that fails has changed nothing; a call
 * that succeeds without the memory has done its work. The same for pages, of which all
 * allocations fail from the first on, then from the second, and so on.
 *
 * The suite also finds leaks: when a case has ended, everything that these calls have
 * allocated is free, whether they failed or not.
 */
#include <linux/cpumask.h>
#include <linux/ftrace.h>
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/kcsan-checks.h>
#include <linux/kthread.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#ifdef CONFIG_OPTPROBES
#include "../../../arch/x86/kernel/kprobes/detour.h"
#endif
#include "jump_x86.h"
#include "watch_x86.h"

/*
 * Probes make the allocators fail: a handler on their entry makes them return NULL
 * at once. This needs no option of the kernel.
 */

/**
 * struct allocator - a function that allocates
 * @name: its name
 * @gfp:  which of its arguments are the flags
 * @pages: it allocates pages
 */
struct allocator {
	const char *name;
	unsigned int gfp;
	bool pages;
};

/*
 * The page allocator fails in rounds of its own. The others call it only when they need a
 * page, which differs from call to call. If it were counted with them, the nth allocation
 * would not be the same in each round, and one could be left out.
 */
static const struct allocator allocators[] = {
	{ "__kmalloc_cache_noprof", 1 },
	{ "__kmalloc_cache_node_noprof", 1 },
	{ "__kmalloc_noprof", 1 },
	{ "__kmalloc_node_noprof", 1 + IS_ENABLED(CONFIG_SLAB_BUCKETS) },
	{ "__kmalloc_node_track_caller_noprof", 1 + IS_ENABLED(CONFIG_SLAB_BUCKETS) },
	{ "__kvmalloc_node_noprof", 1 + IS_ENABLED(CONFIG_SLAB_BUCKETS) },
	{ "kmem_cache_alloc_noprof", 1 },
	{ "kmem_cache_alloc_node_noprof", 1 },
	{ "pcpu_alloc_noprof", 3 },
	{ "__vmalloc_node_range_noprof", 4 },
	{ "__alloc_pages_noprof", 0, .pages = true },
	{ "alloc_pages_bulk_noprof", 0, .pages = true },
};

#define NR_ALLOCATORS	ARRAY_SIZE(allocators)

/*
 * The task whose allocations fail, a countdown to the first that fails, and how many fail.
 * Without pages, all that a call needs fail, but not forever: some calls try until they
 * get one.
 */
#define PAGES_THAT_FAIL	20

static struct task_struct *victim;
static unsigned int countdown, failures;
static bool no_pages;

/* Only this one of the allocators fails, if it is not NULL. */
static const char *only_failer;

/* All probes are off, or about to be: another user of ftrace makes the allocators fail. */
static bool failers_are_off;

static struct kprobe failers[NR_ALLOCATORS];

/* Runs instead of an allocator: at an ftrace site a handler can change only the ip. */
static noinline notrace void *kpt_allocates_nothing(void)
{
	barrier();
	return NULL;
}

/* Returns true if the call has to fail. */
static bool fail_call(const struct allocator *a, struct pt_regs *regs)
{
	gfp_t gfp;

	if (current != victim || !in_task() || a->pages != no_pages)
		return false;
	if (only_failer && strcmp(a->name, only_failer))
		return false;
	gfp = (__force gfp_t)regs_get_kernel_argument(regs, a->gfp);
	if (gfp & __GFP_NOFAIL || !failures)
		return false;
	if (countdown && --countdown)
		return false;
	failures--;
	instruction_pointer_set(regs, (unsigned long)kpt_allocates_nothing);
	return true;
}

static int fail_pre(struct kprobe *p, struct pt_regs *regs)
{
	return !failers_are_off && fail_call(&allocators[p - failers], regs);
}

static void fail_nth(unsigned int nth)
{
	countdown = nth;
	failures = no_pages ? PAGES_THAT_FAIL : 1;
	barrier();
	victim = current;
}

/* False if there were fewer allocations than that. */
static bool has_failed(void)
{
	victim = NULL;
	barrier();
	return !countdown;
}

/* How many of the allocators fail when they are told to. */
static unsigned int nr_failers;

/* A function that exists but cannot be probed, so that the cases would miss its calls. */
static const char *refused;

/* Not every kernel has all of the functions. */
static bool is_probed(const char *name, int ret)
{
	if (ret && ret != -ENOENT)
		refused = name;
	return !ret;
}

#ifdef CONFIG_KRETPROBES
/* --- Leaks -------------------------------------------------------------------- */

/*
 * Return probes on the allocators record what the victim gets. Probes on the functions that
 * free memory remove it from the list, whichever task calls them. Only the victim adds
 * entries, so it may take any that is empty.
 */
#define NR_OBJECTS	2048

/**
 * struct object - memory that the victim has allocated
 * @start:  its address; NULL in an empty entry
 * @size:   what was asked for, in bytes
 * @caller: where it was allocated
 */
static struct object {
	void *start;
	size_t size;
	unsigned long caller;
} objects[NR_OBJECTS];

/* The entries from here on have never been used since the case began. */
static unsigned int objects_end;

/* There was no entry left. */
static bool objects_full;

/*
 * The victim is in the per-CPU allocator. Memory that this allocates for a new chunk, through
 * vmalloc(), serves others, too, and an empty chunk may stay.
 */
static bool in_percpu;

/* The first is the one that sets in_percpu. */
static const struct {
	const char *name;
	unsigned int size_at;	/* the argument that is the size, or the cache */
	bool points;		/* of all caches, only that of points */
} tracked[] = {
	{ "pcpu_alloc_noprof", 0 },
	{ "__kmalloc_cache_noprof", 2 },
	{ "__kmalloc_cache_node_noprof", 3 },
	{ "__kmalloc_noprof", 0 },
	{ "__kmalloc_node_noprof", 0 },
	{ "__kmalloc_node_track_caller_noprof", 0 },
	{ "__kvmalloc_node_noprof", 0 },
	{ "__vmalloc_node_range_noprof", 0 },
	/* Points have a cache of their own. */
	{ "kmem_cache_alloc_noprof", 0, .points = true },
};

#define NR_TRACKED	ARRAY_SIZE(tracked)

static struct kretprobe trackers[NR_TRACKED];

static int track_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	unsigned int nr = get_kretprobe(ri) - trackers;
	unsigned long arg = regs_get_kernel_argument(regs, tracked[nr].size_at);

	if (current != victim || !in_task() || in_percpu || failers_are_off)
		return 1;
	if (tracked[nr].points) {
		if ((struct kmem_cache *)arg != kprobe_test_point_cache())
			return 1;
		arg = kmem_cache_size((struct kmem_cache *)arg);
	}
	*(size_t *)ri->data = arg;
	return 0;
}

static int track_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	void *start = (void *)regs_return_value(regs);
	unsigned int i, empty = NR_OBJECTS;

	if (!start)
		return 0;
	for (i = 0; i < objects_end; i++) {
		/* One allocator calls another: the outer one returns last. */
		if (objects[i].start == start) {
			objects[i].caller = get_kretprobe_retaddr(ri);
			return 0;
		}
		if (!objects[i].start && empty == NR_OBJECTS)
			empty = i;
	}
	empty = min(empty, i);
	if (empty == NR_OBJECTS) {
		objects_full = true;
		return 0;
	}
	objects[empty].size = *(size_t *)ri->data;
	objects[empty].caller = get_kretprobe_retaddr(ri);
	if (empty == objects_end)
		WRITE_ONCE(objects_end, empty + 1);
	/* A task that frees it finds the entry: pairs with the read of objects_end. */
	smp_store_release(&objects[empty].start, start);
	return 0;
}

static int track_percpu_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (track_entry(ri, regs))
		return 1;
	in_percpu = true;
	return 0;
}

static int track_percpu_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	in_percpu = false;
	return track_return(ri, regs);
}

/* Returns its size; 0 if it is not on the list. */
static size_t object_is_freed(const void *start)
{
	unsigned int i, end = READ_ONCE(objects_end);
	size_t size = 0;

	for (i = 0; start && i < end; i++) {
		/* Pairs with the release of @start in track_return(). */
		if (smp_load_acquire(&objects[i].start) == start) {
			size = objects[i].size;
			WRITE_ONCE(objects[i].start, NULL);
		}
	}
	return size;
}

/* Makes a walk of a list through freed memory go astray, whatever the allocator does. */
static void data_is_freed(void *start)
{
	if (object_is_freed(start) >= sizeof(void *))
		WRITE_ONCE(*(void **)start, LIST_POISON1);
}

static int one_is_freed(struct kprobe *p, struct pt_regs *regs)
{
	data_is_freed((void *)regs_get_kernel_argument(regs, 0));
	return 0;
}

static int one_of_cache_is_freed(struct kprobe *p, struct pt_regs *regs)
{
	data_is_freed((void *)regs_get_kernel_argument(regs, 1));
	return 0;
}

/* Text cannot be written, and an offset is no address. */
static int other_is_freed(struct kprobe *p, struct pt_regs *regs)
{
	object_is_freed((void *)regs_get_kernel_argument(regs, 0));
	return 0;
}

static int many_are_freed(struct kprobe *p, struct pt_regs *regs)
{
	size_t i, nr = regs_get_kernel_argument(regs, 1);
	void **start = (void **)regs_get_kernel_argument(regs, 2);

	for (i = 0; i < nr; i++)
		data_is_freed(start[i]);
	return 0;
}

static struct kprobe frees[] = {
	{ .symbol_name = "kfree", .pre_handler = one_is_freed },
	{ .symbol_name = "kmem_cache_free", .pre_handler = one_of_cache_is_freed },
	{ .symbol_name = "kvfree", .pre_handler = one_is_freed },
	{ .symbol_name = "vfree", .pre_handler = other_is_freed },
	{ .symbol_name = "free_percpu", .pre_handler = other_is_freed },
	{ .symbol_name = "kmem_cache_free_bulk", .pre_handler = many_are_freed },
};

#define NR_FREES	ARRAY_SIZE(frees)

static void track_init(void)
{
	unsigned int i;

	for (i = 0; i < NR_FREES; i++) {
		frees[i].addr = NULL;
		frees[i].flags = 0;
		/* Every kernel has these functions. */
		if (register_kprobe(&frees[i]))
			refused = frees[i].symbol_name;
	}
	memset(trackers, 0, sizeof(trackers));
	for (i = 0; i < NR_TRACKED; i++) {
		trackers[i].kp.symbol_name = tracked[i].name;
		trackers[i].data_size = sizeof(size_t);
		trackers[i].entry_handler = i ? track_entry : track_percpu_entry;
		trackers[i].handler = i ? track_return : track_percpu_return;
		is_probed(tracked[i].name, register_kretprobe(&trackers[i]));
	}
}

static void track_exit(void)
{
	unsigned int i;

	for (i = 0; i < NR_TRACKED; i++)
		unregister_kretprobe(&trackers[i]);
	for (i = 0; i < NR_FREES; i++)
		unregister_kprobe(&frees[i]);
}

static void track_begin(void)
{
	memset(objects, 0, sizeof(objects));
	objects_end = 0;
	objects_full = false;
	in_percpu = false;
}

/* A table that has grown has a new array. There are four: points, users, two for pages. */
#define NR_TABLES	4

/* The filter of an ftrace_ops is replaced as a whole. The latest one stays. */
static const char *const stays[] = {
	"alloc_and_copy_ftrace_hash", "alloc_ftrace_hash", "add_hash_entry", "dup_hash",
	"__ftrace_hash_move",
};

static const struct object *first_lost(void)
{
	unsigned int i, k, tables = 0;
	char name[KSYM_SYMBOL_LEN];

	for (i = 0; i < objects_end; i++) {
		if (!READ_ONCE(objects[i].start))
			continue;
		sprint_symbol_no_offset(name, objects[i].caller);
		if (str_has_prefix(name, "addr_table_reserve") && tables++ < NR_TABLES)
			continue;
		for (k = 0; k < ARRAY_SIZE(stays) && !str_has_prefix(name, stays[k]); k++)
			;
		if (k == ARRAY_SIZE(stays))
			return &objects[i];
	}
	return NULL;
}

/* Some of it is freed by workers, and after grace periods. */
static bool nothing_is_lost(const struct object **lost)
{
	kpt_counts(true);
	rcu_barrier();
	kvfree_rcu_barrier();
	*lost = first_lost();
	return !*lost;
}

static void expect_nothing_lost(void *arg)
{
	const struct object *lost;
	struct kunit *test = arg;

	victim = NULL;
	KUNIT_EXPECT_FALSE(test, objects_full);
	kpt_wait_until(nothing_is_lost(&lost));
	if (lost)
		KUNIT_FAIL(test, "lost: allocated at %pS", (void *)lost->caller);
}
#else
static void track_init(void) { }
static void track_exit(void) { }
static void track_begin(void) { }
static void expect_nothing_lost(void *test) { }
#endif /* CONFIG_KRETPROBES */

static int memory_suite_init(struct kunit_suite *suite)
{
	unsigned int i;

	kpt_mount_files();
	nr_failers = 0;
	refused = NULL;
	memset(failers, 0, sizeof(failers));
	for (i = 0; i < NR_ALLOCATORS; i++) {
		failers[i].symbol_name = allocators[i].name;
		failers[i].pre_handler = fail_pre;
		if (!is_probed(allocators[i].name, register_kprobe(&failers[i])))
			continue;
		/* In a breakpoint handler the context would not be a task's. */
		if (kprobe_ftrace(&failers[i]))
			nr_failers++;
		else
			unregister_kprobe(&failers[i]);
	}
	/* After the failers, so that failed allocations are not recorded. */
	track_init();
	return kpt_suite_init(suite);
}

static void memory_suite_exit(struct kunit_suite *suite)
{
	unsigned int i;

	track_exit();
	for (i = 0; i < NR_ALLOCATORS; i++)
		unregister_kprobe(&failers[i]);
	kpt_unmount_files(suite);
}

static unsigned int pools_between_cases;

static int memory_init(struct kunit *test)
{
	int ret;

	/*
	 * Each case has a thread of its own. Hundreds of probes come and go in it, again and
	 * again, which takes many minutes if all that the thread does is watched for data races.
	 */
	kcsan_disable_current();
	KUNIT_ASSERT_GE(test, nr_failers, 3);
	KUNIT_ASSERT_NULL_MSG(test, refused, "%s cannot be probed", refused);
	no_pages = false;
	only_failer = NULL;
	pools_between_cases = kpt_counts(false).pools;
	track_begin();
	ret = kpt_case_init(test);
	return ret ?: kunit_add_action(test, expect_nothing_lost, test);
}

/*
 * Memory that can be had without an allocation would hide one that fails. The pools of
 * unregistered return probes go after a grace period. If one were counted before a
 * failing call, the counts after the call would never match.
 */
static void drain(void)
{
	wait_for_kprobe_optimizer();
	kpt_wait_until(kpt_counts(true).pools == pools_between_cases);
}

/* More allocations than any call needs. */
#define MOST	200

#define NR_FNS	4

static const kpt_fn_t probed[NR_FNS] = { kpt_plain, kpt_traced, kpt_plain2, kpt_traced2 };

static void call_all(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NR_FNS; i++)
		KUNIT_EXPECT_EQ(test, probed[i](7), KPT_RESULT(7ul));
}

/* --- Registering -------------------------------------------------------------- */

static unsigned int faults;

static int fault_handler(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	faults++;
	return 0;
}

static int reads_what_faults(struct kpt_probe *pr, struct pt_regs *regs)
{
	unsigned long value;

	return !copy_from_kernel_nofault(&value, pr->arg, sizeof(value));
}

struct memory_set {
	struct kpt_probe pr[NR_FNS];
	struct kprobe *kps[NR_FNS];
	unsigned char text[NR_FNS][16];
	void *bad;
};

/**
 * struct memory_kind - the probes to register
 * @name:  for the test's title
 * @nr:	   how many, from the first of probed[]
 * @first: the first of them
 * @post:  with post-handlers
 * @fault: with fault handlers
 * @there: with other probes there already
 */
struct memory_kind {
	const char *name;
	unsigned int nr;
	unsigned int first;
	bool post;
	bool fault;
	bool there;
};

static const struct memory_kind kinds[] = {
	{ "a breakpoint", 1, 0 },
	{ "an ftrace site", 1, 1 },
	{ "with a post-handler", 1, 0, .post = true },
	{ "an ftrace site, with a post-handler", 1, 1, .post = true },
	{ "with a fault handler", 1, 0, .fault = true },
	{ "a second probe with a post-handler", 1, 0, .post = true, .there = true },
	{ "a second probe on an ftrace site", 1, 1, .post = true, .there = true },
	{ "a batch", NR_FNS, 0 },
	{ "a batch with all handlers", NR_FNS, 0, .post = true, .fault = true },
	{ "a batch among others", NR_FNS, 0, .post = true, .fault = true, .there = true },
};

KUNIT_ARRAY_PARAM_DESC(kinds, kinds, name);

static void fill(struct memory_set *set, const struct memory_kind *kind)
{
	void *bad = set->bad;
	unsigned int i;

	memset(set, 0, sizeof(*set));
	set->bad = bad;
	for (i = 0; i < kind->nr; i++) {
		struct kprobe *p = &set->pr[i].kp;

		if (kind->fault && bad) {
			set->pr[i].on_pre = reads_what_faults;
			set->pr[i].arg = bad;
		}

		p->addr = (kprobe_opcode_t *)probed[kind->first + i];
		p->pre_handler = kpt_pre;
		p->post_handler = kind->post ? kpt_post : NULL;
		p->fault_handler = kind->fault ? fault_handler : NULL;
		set->kps[i] = p;
		memcpy(set->text[i], probed[kind->first + i], sizeof(set->text[i]));
	}
}

/* As data: clang has no memcmp() of functions. */
static bool text_stays(const struct memory_set *set, const struct memory_kind *kind,
		       unsigned int i)
{
	return !memcmp(set->text[i], (void *)probed[kind->first + i], sizeof(set->text[i]));
}

static void check_undone(struct kunit *test, const struct memory_kind *kind,
			 struct memory_set *set, const struct kprobe_counts *before,
			 unsigned int nth)
{
	struct kprobe_counts now;
	const char *what;
	unsigned int i;

	wait_for_kprobe_optimizer();
	kpt_wait_until((now = kpt_counts(false), !kpt_differs(before, &now)));
	what = kpt_differs(before, &now);
	KUNIT_EXPECT_NULL_MSG(test, what, "%u: %s", nth, what);
	for (i = 0; i < kind->nr; i++) {
		struct kprobe *p = &set->pr[i].kp;

		KUNIT_EXPECT_PTR_EQ(test, (void *)p->addr, probed[kind->first + i]);
		KUNIT_EXPECT_EQ(test, p->opcode, 0);
		KUNIT_EXPECT_EQ(test, p->flags, 0);
		KUNIT_EXPECT_EQ(test, set->pr[i].pre, 0);
		if (!kind->there)
			KUNIT_EXPECT_TRUE_MSG(test, text_stays(set, kind, i),
					      "%u: %ps", nth, probed[kind->first + i]);
		/* The probe is not registered. */
		KUNIT_EXPECT_EQ(test, enable_kprobe(p), -EINVAL);
	}
	call_all(test);
	for (i = 0; i < kind->nr; i++)
		KUNIT_EXPECT_EQ(test, set->pr[i].pre, 0);
}

/*
 * The least number of allocations that a call cannot do without. A copy needs a page of its
 * own, because drain() has left none.
 */
static unsigned int least_needed(const struct memory_kind *kind)
{
	if (no_pages)
		return !kind->first && !kind->there;
	return kind->there ? 1 : 2 * kind->nr;
}

static void register_without(struct kunit *test, const struct memory_kind *kind)
{
	struct memory_set *set = kunit_kzalloc(test, sizeof(*set), GFP_KERNEL);
	struct kpt_probe *there[NR_FNS] = { };
	unsigned int nth, i, failed = 0;
	struct kprobe_counts before;
	bool more = true;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, set);
	set->bad = kpt_bad_address(test);
	for (i = 0; kind->there && i < kind->nr; i++)
		there[i] = kpt_probe(test, probed[kind->first + i]);
	for (nth = 1; more && nth < MOST; nth++) {
		drain();
		before = kpt_counts(false);
		fill(set, kind);
		fail_nth(nth);
		ret = register_kprobes(set->kps, kind->nr);
		more = has_failed();
		if (ret) {
			failed++;
			KUNIT_EXPECT_EQ_MSG(test, ret, -ENOMEM, "%u", nth);
			KUNIT_EXPECT_TRUE_MSG(test, more, "%u", nth);
			check_undone(test, kind, set, &before, nth);
			fill(set, kind);
			KUNIT_ASSERT_EQ(test, register_kprobes(set->kps, kind->nr), 0);
		}
		/* Either the call did not need that memory, or the next try has worked. */
		for (i = 0; i < NR_FNS; i++) {
			if (there[i])
				there[i]->pre = 0;
		}
		faults = 0;
		call_all(test);
		KUNIT_EXPECT_EQ_MSG(test, faults, kind->fault ? kind->nr : 0, "%u", nth);
		for (i = 0; i < kind->nr; i++) {
			KUNIT_EXPECT_EQ_MSG(test, set->pr[i].pre, 1, "%u", nth);
			KUNIT_EXPECT_EQ_MSG(test, set->pr[i].post, kind->post, "%u", nth);
			if (there[i])
				KUNIT_EXPECT_EQ_MSG(test, there[i]->pre, 1, "%u", nth);
		}
		unregister_kprobes(set->kps, kind->nr);
		call_all(test);
	}
	KUNIT_EXPECT_LT(test, nth, MOST);
	/* The point, the user, and more. */
	KUNIT_EXPECT_GE(test, failed, least_needed(kind));
	kunit_info(test, "%u allocations, %u of them needed", nth - 2, failed);
}

static void registering_without_memory_changes_nothing(struct kunit *test)
{
	register_without(test, test->param_value);
}

static void registering_without_pages_changes_nothing(struct kunit *test)
{
	no_pages = true;
	register_without(test, test->param_value);
}

/* With this many pages or more, the next block has several. */
#define PAGES_FOR_MORE	16
#define MOST_SLOTS	16384

struct slots {
	kprobe_opcode_t *slot[MOST_SLOTS];
	unsigned int nr;
};

static void free_slots(void *arg)
{
	struct slots *s = arg;

	while (s->nr)
		free_insn_slot(s->slot[--s->nr], false);
}

/* Without memory for a block of several pages, the block has one. */
static void block_of_pages_without_memory_is_a_page(struct kunit *test)
{
	struct slots *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	unsigned int pages = 0;
	bool failed = false;

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_slots, s), 0);
	only_failer = "__vmalloc_node_range_noprof";
	while (!failed && s->nr < MOST_SLOTS) {
		pages = kpt_counts(false).copies.pages;
		if (pages >= PAGES_FOR_MORE)
			fail_nth(1);
		s->slot[s->nr] = get_insn_slot();
		failed = has_failed() && pages >= PAGES_FOR_MORE;
		KUNIT_ASSERT_NOT_NULL(test, s->slot[s->nr]);
		s->nr++;
	}
	KUNIT_EXPECT_TRUE(test, failed);
	KUNIT_EXPECT_EQ(test, kpt_counts(false).copies.pages, pages + 1);
}

/*
 * A block of one page is tried next. The table may have room for that one, but not for the
 * first one: it then takes some more blocks until it has not.
 */
static void block_of_pages_without_memory_for_their_table_is_refused(struct kunit *test)
{
	struct slots *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	kprobe_opcode_t *slot;
	unsigned int pages;
	bool failed;

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_slots, s), 0);
	drain();
	only_failer = "__kvmalloc_node_noprof";
	do {
		pages = kpt_counts(false).copies.pages;
		fail_nth(1);
		failures = 2;
		slot = get_insn_slot();
		failed = has_failed();
		if (slot)
			s->slot[s->nr++] = slot;
	} while (slot && s->nr < MOST_SLOTS);
	KUNIT_EXPECT_NULL(test, slot);
	KUNIT_EXPECT_TRUE(test, failed);
	KUNIT_EXPECT_EQ(test, kpt_counts(false).copies.pages, pages);
}

/* The point has a detour that is not made for post-handlers. */
static void check_no_post(struct kunit *test, struct kpt_probe *pr)
{
#ifdef CONFIG_OPTPROBES
	const struct x86_detour *d;

	kpt_allow_jumps(test);
	wait_for_kprobe_optimizer();
	d = kpt_insn_of(pr).detour;
	KUNIT_EXPECT_NOT_NULL(test, d);
	if (d)
		KUNIT_EXPECT_EQ(test, d->post, 0);
	kpt_forbid_jumps(test);
#endif
}

/*
 * A copy that traps after the instruction is allocated after the other one. With @other, a
 * probe that is there already has that.
 */
static void check_second_copy(struct kunit *test, bool other)
{
	struct slots *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct kpt_probe *pr, *there = NULL;
	u8 *addr = (u8 *)kpt_load;
	struct kprobe_counts before, now;
	unsigned long value = 5;
	const char *what;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_slots, s), 0);
	OPTIMIZER_HIDE_VAR(addr);
	kpt_forbid_jumps(test);
	drain();
	/* One slot is left on the page. */
	while (s->nr < PAGE_SIZE / __ARCH_KPROBE_SLOT_SIZE - 1) {
		s->slot[s->nr] = get_insn_slot();
		KUNIT_ASSERT_NOT_NULL(test, s->slot[s->nr]);
		s->nr++;
	}
	if (other)
		there = kpt_probe(test, addr + kpt_load_at);
	before = kpt_counts(true);
	KUNIT_ASSERT_EQ(test, before.copies.pages, 1);
	pr = kpt_alloc_with(test, addr + kpt_load_at, true, true);
	only_failer = "__vmalloc_node_range_noprof";
	fail_nth(1);
	failures = 2;
	ret = register_kprobe(&pr->kp);
	KUNIT_EXPECT_TRUE(test, has_failed());
	KUNIT_EXPECT_EQ(test, failures, 0);
	KUNIT_EXPECT_EQ(test, ret, -ENOMEM);
	now = kpt_counts(true);
	what = kpt_differs(&before, &now);
	KUNIT_EXPECT_NULL_MSG(test, what, "%s", what);
	if (other) {
		KUNIT_EXPECT_EQ(test, kpt_load(&value), value);
		KUNIT_EXPECT_EQ(test, there->pre, 1);
		check_no_post(test, there);
	}
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_load(&value), value);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
	if (other)
		KUNIT_EXPECT_EQ(test, there->pre, 2);
}

static void probe_without_memory_for_its_second_copy_is_not_registered(struct kunit *test)
{
	check_second_copy(test, false);
}

static void probe_stays_if_another_lacks_memory_for_a_second_copy(struct kunit *test)
{
	check_second_copy(test, true);
}

#ifdef CONFIG_X86_64
/* A branch has a copy for the case that it faults. */
static void check_branch_without_memory(struct kunit *test, kpt_fn_t fn, u32 at, u32 done)
{
	struct kprobe p = { .addr = kpt_text((u8 *)fn + at) };
	unsigned int nth, failed = 0;
	struct kprobe_counts before, now;
	bool more = true;
	int ret;

	for (nth = 1; more && nth < MOST; nth++) {
		drain();
		before = kpt_counts(false);
		fail_nth(nth);
		ret = register_kprobe(&p);
		more = has_failed();
		if (ret) {
			failed++;
			KUNIT_EXPECT_EQ_MSG(test, ret, -ENOMEM, "%u", nth);
			now = kpt_counts(true);
			KUNIT_EXPECT_NULL(test, kpt_differs(&before, &now));
			continue;
		}
		KUNIT_EXPECT_EQ_MSG(test, fn((unsigned long)fn + done), 0ul, "%u", nth);
		KUNIT_EXPECT_EQ_MSG(test, fn(1ul << 62), (unsigned long)KPT_FAULTED, "%u", nth);
		unregister_kprobe(&p);
	}
	KUNIT_EXPECT_LT(test, nth, MOST);
	KUNIT_EXPECT_GT(test, failed, 0);
}

static void registering_at_a_branch_without_pages_changes_nothing(struct kunit *test)
{
	kpt_forbid_jumps(test);
	no_pages = true;
	check_branch_without_memory(test, kpt_far_ret, kpt_far_ret_at, kpt_far_ret_done);
	check_branch_without_memory(test, kpt_far_jmp, kpt_far_jmp_at, kpt_far_jmp_done);
	check_branch_without_memory(test, kpt_far_jmp_mem, kpt_far_jmp_mem_at,
				    kpt_far_jmp_mem_done);
}
#endif

/* How often pages cannot be made executable. */
static unsigned int rox_fails;

static noinline notrace int kpt_makes_nothing_executable(void)
{
	barrier();
	return -ENOMEM;
}

static int rox_pre(struct kprobe *p, struct pt_regs *regs)
{
	if (current != victim || !rox_fails)
		return 0;
	rox_fails--;
	instruction_pointer_set(regs, (unsigned long)kpt_makes_nothing_executable);
	return 1;
}

static gfp_t flags_of_all;
static unsigned int nr_flags, nr_quiet;

/* Whose calls of an allocator are noted, and the argument that has the flags. */
static struct task_struct *noted;
static unsigned int flags_argument;

static int note_flags(struct kprobe *p, struct pt_regs *regs)
{
	gfp_t flags;

	if (current != noted)
		return 0;
	flags = (__force gfp_t)regs_get_kernel_argument(regs, flags_argument);
	flags_of_all &= flags;
	nr_flags++;
	nr_quiet += !!(flags & __GFP_NOWARN);
	return 0;
}

static void unregister_it(void *p)
{
	unregister_kprobe(p);
}

#define KVMALLOC_FLAGS	(1 + IS_ENABLED(CONFIG_SLAB_BUCKETS))

static void __maybe_unused note_flags_of(struct kunit *test, struct kprobe *p, const char *name,
					 unsigned int argument)
{
	memset(p, 0, sizeof(*p));
	p->symbol_name = name;
	p->pre_handler = note_flags;
	flags_argument = argument;
	KUNIT_ASSERT_EQ_MSG(test, register_kprobe(p), 0, "%s", name);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unregister_it, p), 0);
	flags_of_all = ~(__force gfp_t)0;
	nr_flags = 0;
	nr_quiet = 0;
	noted = current;
}

static void __maybe_unused no_more_flags(struct kunit *test, struct kprobe *p)
{
	noted = NULL;
	kunit_release_action(test, unregister_it, p);
}

static void pages_that_cannot_be_made_executable_are_given_back(struct kunit *test)
{
	struct kprobe *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	kprobe_opcode_t *slot;

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->symbol_name = "set_memory_rox";
	p->pre_handler = rox_pre;
	KUNIT_ASSERT_EQ(test, register_kprobe(p), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unregister_it, p), 0);
	drain();
	KUNIT_ASSERT_EQ(test, kpt_counts(true).copies.pages, 0);
	rox_fails = 2;
	fail_nth(UINT_MAX);
	slot = get_insn_slot();
	has_failed();
	KUNIT_EXPECT_EQ(test, rox_fails, 0);
	KUNIT_EXPECT_NULL(test, slot);
	KUNIT_EXPECT_EQ(test, kpt_counts(true).copies.pages, 0);
	if (slot)
		free_insn_slot(slot, false);
	kunit_release_action(test, unregister_it, p);
}

#ifdef CONFIG_KRETPROBES
static noinline notrace long kpt_has_no_memory(void)
{
	return 0;
}

static int no_memory_pre(struct kprobe *p, struct pt_regs *regs)
{
	if (current != victim)
		return 0;
	instruction_pointer_set(regs, (unsigned long)kpt_has_no_memory);
	return 1;
}

static int return_nothing(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

/* Only large numbers of instances depend on how much memory is available. */
static void few_instances_do_not_depend_on_what_is_available(struct kunit *test)
{
	struct kretprobe *rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);
	struct kprobe *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	int few, many;

	KUNIT_ASSERT_NOT_NULL(test, rp);
	KUNIT_ASSERT_NOT_NULL(test, p);
	rp->kp.addr = kpt_text(kpt_plain);
	rp->handler = return_nothing;
	p->symbol_name = "si_mem_available";
	p->pre_handler = no_memory_pre;
	KUNIT_ASSERT_EQ(test, register_kprobe(p), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unregister_it, p), 0);
	fail_nth(UINT_MAX);
	few = register_kretprobe(rp);
	if (!few)
		unregister_kretprobe(rp);
	memset(rp, 0, sizeof(*rp));
	rp->kp.addr = kpt_text(kpt_plain);
	rp->handler = return_nothing;
	rp->data_size = KRETPROBE_MAX_DATA_SIZE;
	rp->maxactive = SZ_1M / KRETPROBE_MAX_DATA_SIZE;
	many = register_kretprobe(rp);
	if (!many)
		unregister_kretprobe(rp);
	has_failed();
	KUNIT_EXPECT_EQ(test, few, 0);
	KUNIT_EXPECT_EQ(test, many, -ENOMEM);
	kunit_release_action(test, unregister_it, p);
}

/* The number is the user's. Registering fails rather than let the OOM killer run. */
static void instances_kill_no_task_for_their_memory(struct kunit *test)
{
	struct kretprobe *rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);
	struct kprobe *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, rp);
	KUNIT_ASSERT_NOT_NULL(test, p);
	/* The tables have room for the next probe now. */
	rp->kp.addr = kpt_text(kpt_plain);
	rp->handler = return_nothing;
	rp->maxactive = 4;
	KUNIT_ASSERT_EQ(test, register_kretprobe(rp), 0);
	unregister_kretprobe(rp);
	note_flags_of(test, p, "__kvmalloc_node_noprof", KVMALLOC_FLAGS);
	rp->kp.addr = kpt_text(kpt_plain);
	ret = register_kretprobe(rp);
	no_more_flags(test, p);
	if (!ret)
		unregister_kretprobe(rp);
	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_GE(test, nr_flags, num_possible_cpus());
	KUNIT_EXPECT_TRUE(test, flags_of_all & __GFP_RETRY_MAYFAIL);
	KUNIT_EXPECT_TRUE(test, flags_of_all & __GFP_NOWARN);
}
#endif

#ifdef CONFIG_DEBUG_FS
static void stop_counting(void *test)
{
	kpt_write(test, &kpt_debugfs, "kprobes/hits", "0");
}

/*
 * Where kprobes do without the memory, or return an error, the log has nothing to say. Failing
 * calls do not show that: what fails them here is before the allocator.
 */
static void lack_of_memory_that_is_handled_is_not_logged(struct kunit *test)
{
	static const struct {
		const char *name;
		unsigned int argument;
	} counter_from[] = {
		{ "__kmalloc_cache_noprof", 1 },
		{ "pcpu_alloc_noprof", 3 },
	};
	struct kprobe *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	struct kpt_probe *pr[] = {
		kpt_probe(test, kpt_plain),
		kpt_probe(test, kpt_plain2),
		kpt_probe(test, kpt_traced),
	};
	struct kprobe *kps[] = { &pr[0]->kp, &pr[1]->kp };
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_ASSERT_NOT_NULL(test, kpt_debugfs.mnt);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stop_counting, test), 0);
	unregister_kprobes(kps, ARRAY_SIZE(kps));
	for (i = 0; i < ARRAY_SIZE(kps); i++)
		kps[i]->addr = kpt_text(i ? kpt_plain2 : kpt_plain);
	note_flags_of(test, p, "__kvmalloc_node_noprof", KVMALLOC_FLAGS);
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, ARRAY_SIZE(kps)), 0);
	/* Their structures, and their order. */
	KUNIT_EXPECT_GE(test, nr_quiet, 2);

	if (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE)) {
		KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&pr[2]->kp));
		nr_quiet = 0;
		kpt_unregister(test, pr[2]);
		KUNIT_EXPECT_GE(test, nr_quiet, 1);
	}
	no_more_flags(test, p);

	for (i = 0; i < ARRAY_SIZE(counter_from); i++) {
		note_flags_of(test, p, counter_from[i].name, counter_from[i].argument);
		KUNIT_EXPECT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/hits", "1"), 1l);
		KUNIT_EXPECT_GE_MSG(test, nr_quiet, ARRAY_SIZE(kps), "%s", counter_from[i].name);
		stop_counting(test);
		no_more_flags(test, p);
	}
}

/* A point without memory for a counter is hit as usual. */
static void registering_counted_probes_without_memory_changes_nothing(struct kunit *test)
{
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, kpt_debugfs.mnt);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stop_counting, test), 0);
	KUNIT_ASSERT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/hits", "1"), 1l);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i].nr == 1 && !kinds[i].fault)
			register_without(test, &kinds[i]);
	}
}
#endif

#if defined(CONFIG_DEBUG_FS) && defined(CONFIG_MODULES)
/* As if the function were the whole text of a module. Its points have no hits any more. */
static void counters_of_points_that_are_gone_are_freed(struct kunit *test)
{
	struct module *mod = kunit_kzalloc(test, sizeof(*mod), GFP_KERNEL);
	struct kpt_probe *pr = kpt_alloc(test, kpt_plain);
	unsigned int round;
	const char *line;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, mod);
	KUNIT_ASSERT_NOT_NULL(test, kpt_debugfs.mnt);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stop_counting, test), 0);
	mod->mem[MOD_TEXT].base = kpt_text(kpt_plain);
	mod->mem[MOD_TEXT].size = kpt_size(test, kpt_plain);
	for (round = 0; round < 2; round++) {
		KUNIT_ASSERT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/hits", "1"), 1l);
		fail_nth(UINT_MAX);
		ret = register_kprobe(&pr->kp);
		has_failed();
		KUNIT_ASSERT_EQ(test, ret, 0);
		KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, kprobe_test_module_event(mod, MODULE_STATE_GOING), 0);
		KUNIT_EXPECT_TRUE(test, kprobe_gone(&pr->kp));
		/* Switching the counting off frees it, or the last probe that leaves. */
		if (round) {
			stop_counting(test);
			line = kpt_line_with(test, kpt_read(test, &kpt_debugfs, "kprobes/points"),
					     "  gone  1/1  ");
			KUNIT_EXPECT_NOT_NULL(test, line);
			if (line)
				KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(line, "  gone  1/1  -  "),
							  "%s", line);
		}
		unregister_kprobe(&pr->kp);
		pr->kp.addr = kpt_text(kpt_plain);
	}
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
}
#endif

/*
 * Probes come and go until the tables of points and of users have been full several times. A
 * copy costs as much as the table is large. The first one is late if the tables have been
 * large before.
 */
#define NR_COPIES	6
#define MOST_COMING	8192

static void table_is_copied_for_many_probes_not_for_each(struct kunit *test)
{
	unsigned int i, first = 0, copies = 0;
	int ret;

	/* Not the point and the user, nor what kmemleak allocates for them. */
	only_failer = "__kvmalloc_node_noprof";
	for (i = 0; copies < NR_COPIES && i < MOST_COMING; i++) {
		struct kprobe p = {
			.addr = (kprobe_opcode_t *)kpt_plain, .flags = KPROBE_FLAG_DISABLED,
		};

		fail_nth(UINT_MAX);
		ret = register_kprobe(&p);
		has_failed();
		KUNIT_ASSERT_EQ(test, ret, 0);
		unregister_kprobe(&p);
		if (countdown != UINT_MAX && !copies++)
			first = i;
	}
	kunit_info(test, "%u of %u copied a table, the first was %u", copies, i, first);
	KUNIT_EXPECT_EQ(test, copies, NR_COPIES);
	KUNIT_EXPECT_GT(test, i - first, 8 * NR_COPIES);
}

/* No allocation fails here. Memory that was allocated before the refusal is freed. */
static void refused_probes_lose_no_memory(struct kunit *test)
{
	struct kprobe bad[] = {
		{ .symbol_name = "kpt_there_is_no_such_symbol" },
		{ .symbol_name = "get_kprobe" },
		{ .symbol_name = "kpt_plain", .addr = (kprobe_opcode_t *)kpt_plain },
		{ .addr = (kprobe_opcode_t *)&bad },
		{ .addr = kpt_long_text + 1 },
		{ .addr = (kprobe_opcode_t *)kpt_traced + 1 },
	};
	struct kprobe good = { .addr = (kprobe_opcode_t *)kpt_plain };
	unsigned int i;
	int ret[4];

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct kprobe *kps[] = { &good, &bad[i], &bad[i] };
#ifdef CONFIG_KRETPROBES
		struct kretprobe rp = { .kp = bad[i] };
#endif
#ifdef CONFIG_JPROBES
		struct jprobe jp = { .kp = bad[i], .entry = JPROBE_ENTRY(kpt_plain2) };
#endif

		bad[i].fault_handler = fault_handler;
		fail_nth(UINT_MAX);
		ret[0] = register_kprobe(&bad[i]);
		ret[1] = register_kprobes(kps, ARRAY_SIZE(kps));
#ifdef CONFIG_KRETPROBES
		ret[2] = register_kretprobe(&rp);
#else
		ret[2] = ret[0];
#endif
#ifdef CONFIG_JPROBES
		ret[3] = register_jprobe(&jp);
#else
		ret[3] = ret[0];
#endif
		has_failed();
		KUNIT_EXPECT_LT_MSG(test, ret[0], 0, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, ret[1], ret[0], "%u", i);
		KUNIT_EXPECT_LT_MSG(test, ret[2], 0, "%u", i);
		KUNIT_EXPECT_LT_MSG(test, ret[3], 0, "%u", i);
	}
}

/* More points than the table has room for, so that it has to grow. */
#define NR_CROWD	160
#define NR_ARRAYS	4
#define CROWD_ROUNDS	(6 * NR_ARRAYS)

struct crowd {
	struct kprobe kp[NR_CROWD];
	struct kprobe *kps[NR_CROWD];
};

/* All on one point, or each on its own. */
static void crowd_fill(struct crowd *c, bool one)
{
	unsigned int i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < NR_CROWD; i++) {
		c->kp[i].addr = kpt_long_text + kpt_long_text_starts[one ? 0 : i];
		c->kp[i].flags = KPROBE_FLAG_DISABLED;
		c->kps[i] = &c->kp[i];
	}
}

/*
 * Only the allocations of arrays fail: those for the batch, which are needed, and for a table
 * that grows.
 */
static void check_crowd(struct kunit *test, bool one)
{
	struct crowd *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	unsigned int round, failed[NR_ARRAYS] = { };
	struct kprobe_counts before, now;
	const char *what;
	bool lacked;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, c);
	/* This makes the index of reserved text, which can do without memory. */
	crowd_fill(c, one);
	KUNIT_ASSERT_EQ(test, register_kprobes(c->kps, NR_CROWD), 0);
	unregister_kprobes(c->kps, NR_CROWD);
	only_failer = "__kvmalloc_node_noprof";
	for (round = 0; round < CROWD_ROUNDS; round++) {
		before = kpt_counts(false);
		crowd_fill(c, one);
		fail_nth(1 + round % NR_ARRAYS);
		ret = register_kprobes(c->kps, NR_CROWD);
		lacked = has_failed();
		/* Without room in the table of their pages, slots are tried on fewer of them. */
		if (round % NR_ARRAYS < 2)
			KUNIT_EXPECT_EQ_MSG(test, !!ret, lacked, "%u", round);
		if (ret) {
			KUNIT_EXPECT_TRUE_MSG(test, lacked, "%u", round);
			KUNIT_EXPECT_EQ_MSG(test, ret, -ENOMEM, "%u", round);
			failed[round % NR_ARRAYS]++;
			now = kpt_counts(false);
			what = kpt_differs(&before, &now);
			KUNIT_EXPECT_NULL_MSG(test, what, "%u: %s", round, what);
			crowd_fill(c, one);
			KUNIT_ASSERT_EQ(test, register_kprobes(c->kps, NR_CROWD), 0);
		}
		unregister_kprobes(c->kps, NR_CROWD);
	}
	/* The users, their order, and, now and then, a table. */
	KUNIT_EXPECT_EQ(test, failed[0], CROWD_ROUNDS / NR_ARRAYS);
	KUNIT_EXPECT_EQ(test, failed[1], CROWD_ROUNDS / NR_ARRAYS);
	KUNIT_EXPECT_GT(test, failed[2], 0);
}

static void registering_many_without_memory_for_arrays_changes_nothing(struct kunit *test)
{
	check_crowd(test, false);
}

#ifdef CONFIG_JUMP_LABEL
/* The owners of the text are asked instead of the index. */
static void jump_labels_are_refused_without_memory_for_their_index(struct kunit *test)
{
	unsigned long addr = 1;
	unsigned int nr, len;
	bool refused, failed;

	/* There is no index until init text has been freed. */
	if (!IS_MODULE(CONFIG_KPROBES_SANITY_TEST))
		kunit_skip(test, "the suite is built in");
	for (nr = 0; addr == 1; nr++)
		addr = kprobe_test_patched(false, nr, &len);
	KUNIT_ASSERT_NE(test, addr, 0ul);
	kprobe_test_forget_reserved();
	only_failer = "__kvmalloc_node_noprof";
	fail_nth(1);
	refused = kprobe_test_reserved(addr, addr);
	failed = has_failed();
	only_failer = NULL;
	KUNIT_EXPECT_TRUE(test, failed);
	KUNIT_EXPECT_TRUE(test, refused);
	/* Now there is memory. */
	KUNIT_EXPECT_TRUE(test, kprobe_test_reserved(addr, addr));
}
#endif

/**
 * struct grown - a table that grows while a point in it is looked up
 * @word:    where points are looked up
 * @array:   what was there at last
 * @addr:    the point
 * @changes: how often that was replaced
 * @lost:    how often the point was not found then
 */
struct grown {
	void **word;
	void *array;
	void *addr;
	unsigned int changes;
	unsigned int lost;
};

static void look_in_new_array(struct kpt_watch *w, struct pt_regs *regs)
{
	struct grown *g = w->arg;
	void *array = READ_ONCE(*g->word);

	if (array == g->array)
		return;
	g->array = array;
	g->changes++;
	g->lost += !get_kprobe(g->addr);
}

/* In the new array, too, as soon as that is used. */
static void point_is_found_while_the_table_grows(struct kunit *test)
{
	struct crowd *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct grown *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);
	unsigned int cpu = get_cpu(), round;
	struct kpt_watch *w;

	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	put_cpu();
	KUNIT_ASSERT_TRUE(test, c && g);
	g->word = kprobe_test_points_word();
	g->array = READ_ONCE(*g->word);
	g->addr = kpt_probe(test, kpt_plain)->kp.addr;
	w = kpt_watch(test, g->word, sizeof(long), cpu, look_in_new_array, g);
	for (round = 0; round < CROWD_ROUNDS && !g->changes; round++) {
		crowd_fill(c, false);
		KUNIT_ASSERT_EQ(test, register_kprobes(c->kps, NR_CROWD), 0);
		unregister_kprobes(c->kps, NR_CROWD);
	}
	kpt_unwatch(test, w);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_EXPECT_GT(test, g->changes, 0);
	KUNIT_EXPECT_EQ(test, g->lost, 0);
}

/* Only the table of users grows. */
static void many_probes_of_a_point_without_memory_for_arrays_change_nothing(struct kunit *test)
{
	check_crowd(test, true);
}

/* Unregistering has to work without memory. */
static void unregister_without(struct kunit *test)
{
	const struct memory_kind *kind = test->param_value;
	struct memory_set *set = kunit_kzalloc(test, sizeof(*set), GFP_KERNEL);
	struct kprobe_counts before, now;
	bool more = true;
	unsigned int nth, i;

	KUNIT_ASSERT_NOT_NULL(test, set);
	before = kpt_counts(false);
	for (nth = 1; more && nth < MOST; nth++) {
		fill(set, kind);
		KUNIT_ASSERT_EQ(test, register_kprobes(set->kps, kind->nr), 0);
		fail_nth(nth);
		unregister_kprobes(set->kps, kind->nr);
		more = has_failed();
		now = kpt_counts(false);
		KUNIT_EXPECT_NULL(test, kpt_differs(&before, &now));
		call_all(test);
		for (i = 0; i < kind->nr; i++) {
			KUNIT_EXPECT_EQ_MSG(test, set->pr[i].pre, 0, "%u", nth);
			KUNIT_EXPECT_TRUE_MSG(test, text_stays(set, kind, i),
					      "%u: %ps", nth, probed[kind->first + i]);
		}
	}
	KUNIT_EXPECT_LT(test, nth, MOST);
}

static void unregistering_without_memory_works(struct kunit *test)
{
	unregister_without(test);
}

static void unregistering_without_pages_works(struct kunit *test)
{
	no_pages = true;
	unregister_without(test);
}

static void expect_all(struct kunit *test, const struct memory_kind *kind,
		       struct memory_set *set, bool on, unsigned int hits, unsigned int nth)
{
	unsigned int i;

	call_all(test);
	for (i = 0; i < kind->nr; i++) {
		KUNIT_EXPECT_EQ_MSG(test, kprobe_disabled(&set->pr[i].kp), !on, "%u", nth);
		KUNIT_EXPECT_EQ_MSG(test, set->pr[i].pre, hits, "%u", nth);
	}
}

static void enable_without(struct kunit *test)
{
	const struct memory_kind *kind = test->param_value;
	struct memory_set *set = kunit_kzalloc(test, sizeof(*set), GFP_KERNEL);
	unsigned int nth, i;
	bool more = true;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, set);
	fill(set, kind);
	KUNIT_ASSERT_EQ(test, register_kprobes(set->kps, kind->nr), 0);
	for (nth = 1; more && nth < MOST; nth++) {
		KUNIT_EXPECT_EQ(test, disable_kprobes(set->kps, kind->nr), 0);
		for (i = 0; i < kind->nr; i++)
			set->pr[i].pre = 0;
		fail_nth(nth);
		ret = enable_kprobes(set->kps, kind->nr);
		more = has_failed();
		if (ret) {
			KUNIT_EXPECT_EQ_MSG(test, ret, -ENOMEM, "%u", nth);
			KUNIT_EXPECT_TRUE_MSG(test, more, "%u", nth);
			expect_all(test, kind, set, false, 0, nth);
			KUNIT_EXPECT_EQ(test, enable_kprobes(set->kps, kind->nr), 0);
		}
		expect_all(test, kind, set, true, 1, nth);
		/* Disabling cannot fail. */
		fail_nth(nth);
		KUNIT_EXPECT_EQ(test, disable_kprobes(set->kps, kind->nr), 0);
		more |= has_failed();
		expect_all(test, kind, set, false, 1, nth);
	}
	unregister_kprobes(set->kps, kind->nr);
	KUNIT_EXPECT_LT(test, nth, MOST);
}

static void enabling_without_memory_leaves_them_off(struct kunit *test)
{
	enable_without(test);
}

static void enabling_without_pages_leaves_them_off(struct kunit *test)
{
	no_pages = true;
	enable_without(test);
}

#ifdef CONFIG_DEBUG_FS
static void readers_of_the_files_lose_nothing(struct kunit *test)
{
	static const char * const files[] = {
		"kprobes/list", "kprobes/points", "kprobes/blacklist", "kprobes/enabled",
	};
	char __user *buf = (char __user *)kpt_user_area(test, PAGE_SIZE);
	unsigned int i, first;
	struct file *file;
	loff_t pos;
	ssize_t n;

	kpt_needs_debugfs(test);
	kpt_probe(test, kpt_plain);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		/* What is known of the file's name stays. */
		for (first = 1; first < 2; first--) {
			if (!first)
				fail_nth(UINT_MAX);
			file = kpt_open(test, &kpt_debugfs, files[i], O_RDONLY);
			pos = 0;
			n = file->f_op->read(file, buf, PAGE_SIZE, &pos);
			fput(file);
			has_failed();
			KUNIT_EXPECT_GT_MSG(test, n, 0l, "%s", files[i]);
		}
	}
}
#endif

#if defined(CONFIG_KRETPROBES) && defined(CONFIG_DEBUG_FS)
/* --- Readers ------------------------------------------------------------------- */

/**
 * struct reader - a task that runs with preemption off, as a handler does
 * @inside: preemption is off
 * @go:	    it may be on again
 */
struct reader {
	bool inside;
	bool go;
};

static int reader_fn(void *arg)
{
	struct reader *r = arg;

	preempt_disable();
	WRITE_ONCE(r->inside, true);
	kpt_spin_until(READ_ONCE(r->go), KPT_TIMEOUT_MS);
	WRITE_ONCE(r->inside, false);
	preempt_enable();
	while (!kthread_should_stop())
		usleep_range(500, 1000);
	return 0;
}

static void let_reader_go(void *arg)
{
	WRITE_ONCE(((struct reader *)arg)->go, true);
}

static unsigned int nr_objects(void)
{
	unsigned int i, nr = 0;

	for (i = 0; i < objects_end; i++)
		nr += !!READ_ONCE(objects[i].start);
	return nr;
}

/*
 * What @retire gives up, of the objects recorded so far, must be kept for a reader that has
 * begun before. Returns false if the reader has given up, because the machine is slow, or if it
 * was not seen to begin.
 */
static bool kept_for_reader(struct kunit *test, void (*retire)(struct kunit *test, void *arg),
			    void *arg)
{
	struct reader *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	unsigned int cpu = raw_smp_processor_id(), nr, left;
	bool begun, inside;

	KUNIT_ASSERT_NOT_NULL(test, r);
	/* What is on its way out need not be kept for it. */
	kpt_counts(true);
	rcu_barrier();
	kvfree_rcu_barrier();
	nr = nr_objects();
	kpt_thread(test, reader_fn, r, cpumask_any_but(cpu_online_mask, cpu), "reader");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, let_reader_go, r), 0);
	begun = kpt_wait_until(READ_ONCE(r->inside));
	retire(test, arg);
	msleep(100);
	left = nr_objects();
	/*
	 * If the reader is still inside now, it was when the objects were counted. Pairs with
	 * the grace period, which cannot end before the reader does.
	 */
	smp_rmb();
	inside = begun && READ_ONCE(r->inside);
	if (inside)
		KUNIT_EXPECT_EQ(test, left, nr);
	kunit_release_action(test, let_reader_go, r);
	return inside;
}

/**
 * struct leavers - probes that leave while a reader may have found them
 * @c:	many
 * @rp: a return probe
 */
struct leavers {
	struct crowd c;
	struct kretprobe rp;
};

static void leavers_leave(struct kunit *test, void *arg)
{
	struct leavers *l = arg;
	unsigned int i;

	unregister_kretprobe(&l->rp);
	unregister_kprobes(l->c.kps, NR_CROWD);
	/* The tables of points and users are replaced. */
	for (i = 0; i < 8; i += KPT_STRIDE) {
		crowd_fill(&l->c, false);
		KUNIT_EXPECT_EQ(test, register_kprobes(l->c.kps, NR_CROWD), 0);
		unregister_kprobes(l->c.kps, NR_CROWD);
	}
}

static bool leavers_are_kept(struct kunit *test, struct leavers *l)
{
	unsigned int i;

	memset(&l->rp, 0, sizeof(l->rp));
	l->rp.kp.addr = (kprobe_opcode_t *)kpt_plain;
	l->rp.maxactive = 4;
	crowd_fill(&l->c, false);
	for (i = 0; i < NR_CROWD; i++)
		l->c.kp[i].fault_handler = fault_handler;
	fail_nth(UINT_MAX);
	i = register_kretprobe(&l->rp) || register_kprobes(l->c.kps, NR_CROWD);
	has_failed();
	KUNIT_ASSERT_EQ(test, i, 0);
	/* A user, a point, a fault handler, and a counter in two pieces. */
	KUNIT_EXPECT_GE(test, nr_objects(), 5 * NR_CROWD);
	return kept_for_reader(test, leavers_leave, l);
}

/*
 * Points, users, fault handlers, counters, instances, and tables that have grown: a hit
 * that has begun before may have found them. Breakpoints need no grace period to go.
 */
static void what_hits_may_read_is_freed_after_a_grace_period(struct kunit *test)
{
	struct leavers *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	unsigned int tries = 5;
	bool inside;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, l);
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	kpt_forbid_jumps(test);
	KUNIT_ASSERT_NOT_NULL(test, kpt_debugfs.mnt);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stop_counting, test), 0);
	KUNIT_ASSERT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/hits", "1"), 1l);
	do {
		inside = leavers_are_kept(test, l);
	} while (!inside && --tries);
	KUNIT_EXPECT_TRUE(test, inside);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}
#endif

/* --- Jumps --------------------------------------------------------------------- */

/**
 * struct failing - which allocation for a detour fails
 * @nth:   this one, when the worker looks at the point; then 0
 * @again: the worker has looked once more
 */
static struct failing {
	unsigned int nth;
	bool again;
} failing;

/* The worker is about to look at the point, and to allocate memory for a detour. */
static void fail_detour(enum kprobe_stage stage, void *unused)
{
	if (stage != KPROBE_STAGE_CHOSEN)
		return;
	if (!failing.nth) {
		failing.again = true;
		WRITE_ONCE(kprobe_test_no_detours, true);
		return;
	}
	fail_nth(failing.nth);
	failing.nth = 0;
}

static void stop_failing(void *unused)
{
	kprobe_test_stop(NULL, NULL);
	WRITE_ONCE(kprobe_test_no_detours, false);
	victim = NULL;
}

/*
 * The @nth allocation for a detour fails. Returns false if there were fewer than that. The point
 * is tried again after a second, which may be over by then: no detour is made until the caller
 * allows it. The caller removes fail_detour().
 */
static bool optimize_without(struct kunit *test, struct kpt_probe *pr, unsigned int nth)
{
	WRITE_ONCE(kprobe_test_no_detours, false);
	failing.nth = nth;
	failing.again = false;
	kprobe_test_stop(fail_detour, NULL);
	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, failing.nth, 0);
	WRITE_ONCE(kprobe_test_no_detours, true);
	return has_failed();
}

/*
 * The point stays a breakpoint, and becomes a jump later. If the jump replaces several
 * instructions, a map of branch targets is @needed. If the slot cache cannot allocate a
 * block, it tries a smaller one.
 */
static void detour_without(struct kunit *test, void *addr, kpt_fn_t fn, bool needed)
{
	unsigned int nth, failed = 0;
	struct kprobe_counts before, now;
	bool more = true;
	const char *what;

	KUNIT_ASSERT_EQ(test, kunit_add_action(test, stop_failing, NULL), 0);
	for (nth = 1; more && nth < MOST; nth++) {
		struct kpt_probe *pr = kpt_alloc(test, addr);

		drain();
		before = kpt_counts(true);
		more = optimize_without(test, pr, nth);
		kprobe_test_stop(NULL, NULL);
		KUNIT_EXPECT_EQ(test, fn(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ_MSG(test, pr->pre, 1, "%u", nth);
		if (!kprobe_optimized(&pr->kp)) {
			failed++;
			KUNIT_EXPECT_TRUE_MSG(test, more, "%u", nth);
			now = kpt_counts(false);
			KUNIT_EXPECT_EQ(test, now.detours.live, before.detours.live);
			KUNIT_EXPECT_EQ(test, now.detours.pages, before.detours.pages);
			WRITE_ONCE(kprobe_test_no_detours, false);
			KUNIT_EXPECT_EQ(test, disable_kprobe(&pr->kp), 0);
			KUNIT_EXPECT_EQ(test, enable_kprobe(&pr->kp), 0);
			wait_for_kprobe_optimizer();
			KUNIT_EXPECT_TRUE_MSG(test, kprobe_optimized(&pr->kp), "%u", nth);
			KUNIT_EXPECT_EQ(test, fn(7), KPT_RESULT(7ul));
			KUNIT_EXPECT_EQ_MSG(test, pr->pre, 2, "%u", nth);
		}
		kpt_unregister(test, pr);
		now = kpt_counts(true);
		what = kpt_differs(&before, &now);
		KUNIT_EXPECT_NULL_MSG(test, what, "%u: %s", nth, what);
	}
	KUNIT_EXPECT_LT(test, nth, MOST);
	KUNIT_EXPECT_GT(test, nth, 2);
	if (needed)
		KUNIT_EXPECT_GT(test, failed, 0);
	kunit_info(test, "%u allocations, %u of them needed", nth - 2, failed);
}

/* How often an allocation fails until the worker has not looked again. */
#define TOLD_TRIES	20

/*
 * Is lack of memory the reason that is shown, when the @nth allocation fails? Not if the worker
 * has looked again in the meantime, with memory: then this starts anew.
 */
static bool is_told(struct kunit *test, void *addr, unsigned int nth, bool *failed)
{
	unsigned int try;
	bool told;

	for (try = 0; try < TOLD_TRIES; try++) {
		struct kpt_probe *pr = kpt_alloc(test, addr);

		*failed = optimize_without(test, pr, nth);
		KUNIT_EXPECT_FALSE_MSG(test, kprobe_optimized(&pr->kp), "%u", nth);
		told = strstr(kpt_jump_reason(test, &pr->kp), "out of memory");
		kprobe_test_stop(NULL, NULL);
		kpt_unregister(test, pr);
		if (!failing.again)
			return told;
	}
	KUNIT_FAIL(test, "%u: each time the worker has looked again", nth);
	return true;
}

/*
 * The only reason against a jump is a branch of the function's cold part, or one into the first
 * instruction. Whatever could not be allocated, there is none.
 */
static void no_jump_without(struct kunit *test, void *addr)
{
	bool failed = true, told;
	unsigned int nth;

	for (nth = 1; failed && nth < MOST; nth++) {
		told = is_told(test, addr, nth, &failed);
		if (kpt_debugfs.mnt)
			KUNIT_EXPECT_EQ_MSG(test, told, failed, "%u", nth);
	}
	KUNIT_EXPECT_LT(test, nth, MOST);
	KUNIT_EXPECT_GT(test, nth, 2);
}

static void detour_without_memory_leaves_a_breakpoint(struct kunit *test)
{
	detour_without(test, kpt_plain, kpt_plain, false);
	detour_without(test, KPT_JUMP_AT(two), kpt_jump_two, true);
	no_jump_without(test, KPT_JUMP_AT(split));
	no_jump_without(test, KPT_JUMP_AT(overlap1));
}

static void detour_without_pages_leaves_a_breakpoint(struct kunit *test)
{
	no_pages = true;
	detour_without(test, kpt_plain, kpt_plain, true);
}

#ifdef CONFIG_DEBUG_FS
/* --- All probes ---------------------------------------------------------------- */

/*
 * While all probes are off, those on the allocators are, too. Another user of ftrace makes
 * the allocators fail then.
 */
static void other_fail(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
		       struct ftrace_regs *fregs)
{
	unsigned int i;

	/* A probe may be at the ENDBR before the site. */
	for (i = 0; i < NR_ALLOCATORS; i++) {
		if (ip - (unsigned long)failers[i].addr <= ENDBR_INSN_SIZE)
			fail_call(&allocators[i], ftrace_get_regs(fregs));
	}
}

static struct ftrace_ops other_failer = {
	.func = other_fail,
	.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
};

static void remove_other_failer(void *unused)
{
	unregister_ftrace_function(&other_failer);
	ftrace_set_filter(&other_failer, NULL, 0, 1);
	failers_are_off = false;
}

static void switch_all(struct kunit *test, const char *state)
{
	KUNIT_EXPECT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/enabled", state), 1l);
}

/* Arms all, whatever the case has left off. */
static void all_off_and_on(void *test)
{
	victim = NULL;
	switch_all(test, "0");
	switch_all(test, "1");
}

static void add_other_failer(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NR_ALLOCATORS; i++) {
		if (kprobe_ftrace(&failers[i]))
			KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&other_failer,
								   (unsigned long)failers[i].addr,
								   0, 0), 0);
	}
	KUNIT_ASSERT_EQ(test, register_ftrace_function(&other_failer), 0);
	failers_are_off = true;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, remove_other_failer, NULL), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, all_off_and_on, test), 0);
}

/* Switches all on. Only the write itself is without memory. False as has_failed(). */
static bool switch_on_without(struct kunit *test, char __user *one, unsigned int nth,
			      unsigned int fails)
{
	struct file *file = kpt_open(test, &kpt_debugfs, "kprobes/enabled", O_WRONLY);
	loff_t pos = 0;
	ssize_t ret;
	bool failed;

	fail_nth(nth);
	failures = fails;
	ret = file->f_op->write(file, one, 1, &pos);
	failed = has_failed();
	fput(file);
	KUNIT_EXPECT_EQ(test, ret, 1l);
	return failed;
}

/**
 * struct switched - a probe that is switched off and on with all others
 * @pr:	  it
 * @text: what was there before
 * @addr: the begin of its line in kprobes/points
 */
struct switched {
	struct kpt_probe *pr;
	unsigned char text[16];
	char addr[20];
};

/* Is each of the probes what its line says? Returns how many of all points are off. */
static unsigned int nr_off(struct kunit *test, struct switched *s, unsigned int nth)
{
	char *points = kpt_read(test, &kpt_debugfs, "kprobes/points"), *line;
	unsigned int i, nr = 0;
	bool off;

	for (line = points; (line = strstr(line, "  off  ")); line++)
		nr++;
	for (i = 0; i < NR_FNS; i++)
		s[i].pr->pre = 0;
	call_all(test);
	for (i = 0; i < NR_FNS; i++) {
		line = kpt_line_with(test, points, s[i].addr);
		KUNIT_ASSERT_NOT_NULL_MSG(test, line, "%ps", probed[i]);
		off = strstr(line, "  off  ");
		/* Breakpoints need no memory. */
		if (!kprobe_ftrace(&s[i].pr->kp))
			KUNIT_EXPECT_FALSE_MSG(test, off, "%u: %s", nth, line);
		KUNIT_EXPECT_EQ_MSG(test, s[i].pr->pre, !off, "%u: %s", nth, line);
		KUNIT_EXPECT_EQ_MSG(test, !memcmp(s[i].text, kpt_text(probed[i]),
						  sizeof(s[i].text)), off, "%u: %s", nth, line);
		/* Nobody has disabled it. */
		KUNIT_EXPECT_FALSE_MSG(test, kprobe_disabled(&s[i].pr->kp), "%u: %s", nth, line);
		kunit_kfree(test, line);
	}
	kpt_read_ends(test, points);
	return nr;
}

/*
 * The batch is halved until one point is left, and each half needs an array. So most of
 * these leave a point off, or several.
 */
static const unsigned int switch_fails[] = { 1, 6, 20 };

/*
 * What ftrace has no memory for stays off, is shown as off, and is in the log: one line for
 * all, with the error. All else is armed.
 */
static void switch_without_memory_arms_all_but_what_it_says(struct kunit *test)
{
	static const char says[] = "kprobes: points that cannot be armed: ";
	unsigned int i, k, nth, off, rounds_off = 0;
	struct kprobe_counts before, now;
	struct switched s[NR_FNS];
	char wanted[64], last[160] = "";
	char __user *one;
	const char *what;
	bool more;
	u64 from;

	kpt_needs_debugfs(test);
	/* A jump would come later. */
	kpt_forbid_jumps(test);
	one = (char __user *)kpt_user_area(test, PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, put_user('1', one), 0);
	for (i = 0; i < NR_FNS; i++) {
		memcpy(s[i].text, kpt_text(probed[i]), sizeof(s[i].text));
		/* ftrace has an ops with and one without the right to change the ip. */
		s[i].pr = probed[i] == kpt_traced2 ? kpt_probe_post(test, probed[i]) :
						     kpt_probe(test, probed[i]);
		snprintf(s[i].addr, sizeof(s[i].addr), "%0*lx  ", (int)(2 * sizeof(long)),
			 (unsigned long)s[i].pr->kp.addr);
	}
	add_other_failer(test);
	before = kpt_counts(false);
	for (k = 0; k < ARRAY_SIZE(switch_fails); k++) {
		more = true;
		for (nth = 1; more && nth < MOST; nth += KPT_STRIDE) {
			switch_all(test, "0");
			from = kpt_log_end();
			more = switch_on_without(test, one, nth, switch_fails[k]);
			off = nr_off(test, s, nth);
			rounds_off += !!off;
			if (!more)
				KUNIT_EXPECT_EQ(test, off, 0);
			if (IS_ENABLED(CONFIG_PRINTK)) {
				KUNIT_EXPECT_EQ_MSG(test,
						    kpt_log_last(test, from, says, last,
								 sizeof(last)),
						    !!off, "%u: %u are off", nth, off);
			}
			if (IS_ENABLED(CONFIG_PRINTK) && off) {
				snprintf(wanted, sizeof(wanted), "%s%u, ", says, off);
				KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(last, wanted), "%s", last);
				snprintf(wanted, sizeof(wanted), ": %d\n", -ENOMEM);
				KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(last, wanted), "%s", last);
			}
			now = kpt_counts(false);
			what = kpt_differs(&before, &now);
			KUNIT_EXPECT_NULL_MSG(test, what, "%u: %s", nth, what);
			if (!off)
				continue;
			/* With memory again, all are armed. */
			switch_all(test, "0");
			switch_all(test, "1");
			KUNIT_EXPECT_EQ_MSG(test, nr_off(test, s, nth), 0, "%u", nth);
		}
		KUNIT_EXPECT_LT(test, nth, MOST);
		kunit_info(test, "%u of %u allocations, %u times points are off", switch_fails[k],
			   nth - KPT_STRIDE - 1, rounds_off);
	}
	KUNIT_EXPECT_GT(test, rounds_off, 0);
}
#endif

/* --- Return probes, jprobes ---------------------------------------------------- */

#ifdef CONFIG_KRETPROBES
struct memory_ret {
	struct kretprobe rp;
	unsigned int returns;
};

static int memory_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	container_of(get_kretprobe(ri), struct memory_ret, rp)->returns++;
	return 0;
}

/*
 * A function that a handler's context calls is missed by its probes. So what handles a hit
 * may not be missed by probes on what allocates, frees, or takes a lock.
 */
static const char *const lockers[] = {
	"_raw_spin_lock", "_raw_spin_lock_irqsave", "_raw_spin_trylock", "mutex_lock",
};

#define NR_LOCKERS	ARRAY_SIZE(lockers)

static unsigned long nr_missed(const struct kprobe *locks)
{
	unsigned long missed = 0;
	unsigned int i;

	for (i = 0; i < NR_ALLOCATORS; i++)
		missed += failers[i].nmissed;
	for (i = 0; i < NR_FREES; i++)
		missed += frees[i].nmissed;
	for (i = 0; i < NR_LOCKERS; i++)
		missed += locks[i].nmissed;
	return missed;
}

static int pre_does_nothing(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static void hit_allocates_nothing_and_takes_no_lock(struct kunit *test)
{
	struct kprobe *locks = kunit_kcalloc(test, NR_LOCKERS, sizeof(*locks), GFP_KERNEL);
	struct memory_ret *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	kpt_fn_t fn = kpt_state(test) == KPT_FTRACE ? kpt_traced : kpt_plain;
	unsigned int i, nr_locks = 0;
	struct kpt_probe *pr;
	unsigned long before;

	KUNIT_ASSERT_NOT_NULL(test, locks);
	KUNIT_ASSERT_NOT_NULL(test, r);
	/* Not every kernel has all of the functions. */
	for (i = 0; i < NR_LOCKERS; i++) {
		locks[i].symbol_name = lockers[i];
		locks[i].pre_handler = pre_does_nothing;
		nr_locks += !kpt_try_register(test, &locks[i]);
	}
	KUNIT_EXPECT_GE(test, nr_locks, 1);
	if (kpt_state(test) == KPT_BREAKPOINT)
		kpt_forbid_jumps(test);
	pr = kpt_probe(test, fn);
	r->rp.kp.addr = kpt_text(fn);
	r->rp.handler = memory_return;
	kpt_register_return(test, &r->rp);
	kpt_settle(test, &pr->kp);

	before = nr_missed(locks);
	for (i = 0; i < 1000; i++)
		KUNIT_ASSERT_EQ(test, fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, nr_missed(locks), before);
	KUNIT_EXPECT_EQ(test, pr->pre, 1000);
	KUNIT_EXPECT_EQ(test, r->returns, 1000);
}

static void fill_ret(struct memory_ret *r, struct kretprobe **rps, unsigned int nr,
		     unsigned int first, int maxactive)
{
	unsigned int i;

	memset(r, 0, nr * sizeof(*r));
	for (i = 0; i < nr; i++) {
		r[i].rp.kp.addr = (kprobe_opcode_t *)probed[first + i];
		r[i].rp.handler = memory_return;
		r[i].rp.maxactive = maxactive;
		r[i].rp.data_size = 8;
		rps[i] = &r[i].rp;
	}
}

/* The structure is unchanged, maxactive included. */
static void check_ret(struct kunit *test, unsigned int nr, unsigned int first, int maxactive)
{
	struct memory_ret *r = kunit_kcalloc(test, NR_FNS, sizeof(*r), GFP_KERNEL);
	unsigned int nth, i, failed = 0;
	struct kprobe_counts before, now;
	struct kretprobe *rps[NR_FNS];
	bool more = true;
	const char *what;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, r);
	for (nth = 1; more && nth < MOST; nth++) {
		drain();
		before = kpt_counts(false);
		fill_ret(r, rps, nr, first, maxactive);
		fail_nth(nth);
		ret = register_kretprobes(rps, nr);
		more = has_failed();
		if (ret) {
			failed++;
			KUNIT_EXPECT_EQ_MSG(test, ret, -ENOMEM, "%u", nth);
			KUNIT_EXPECT_TRUE_MSG(test, more, "%u", nth);
			kpt_wait_until((now = kpt_counts(false), !kpt_differs(&before, &now)));
			what = kpt_differs(&before, &now);
			KUNIT_EXPECT_NULL_MSG(test, what, "%u: %s", nth, what);
			call_all(test);
			for (i = 0; i < nr; i++) {
				KUNIT_EXPECT_EQ(test, r[i].returns, 0);
				KUNIT_EXPECT_EQ(test, r[i].rp.maxactive, maxactive);
				KUNIT_EXPECT_PTR_EQ(test, (void *)r[i].rp.kp.addr,
						    probed[first + i]);
				KUNIT_EXPECT_EQ(test, r[i].rp.kp.flags, 0);
			}
			KUNIT_ASSERT_EQ(test, register_kretprobes(rps, nr), 0);
		}
		call_all(test);
		for (i = 0; i < nr; i++)
			KUNIT_EXPECT_EQ_MSG(test, r[i].returns, 1, "%u", nth);
		unregister_kretprobes(rps, nr);
		call_all(test);
		for (i = 0; i < nr; i++)
			KUNIT_EXPECT_EQ_MSG(test, r[i].returns, 1, "%u", nth);
	}
	KUNIT_EXPECT_LT(test, nth, MOST);
	/* Pages are left over from one time to the next. */
	if (!no_pages)
		KUNIT_EXPECT_GE(test, failed, 3 * nr);
	kunit_info(test, "%u allocations, %u of them needed", nth - 2, failed);
}

/* Unregistering, disabling and enabling. */
static void check_ret_gone(struct kunit *test, unsigned int nr, unsigned int first)
{
	struct memory_ret *r = kunit_kcalloc(test, NR_FNS, sizeof(*r), GFP_KERNEL);
	struct kprobe_counts before, now;
	struct kretprobe *rps[NR_FNS];
	unsigned int nth, i, hits;
	bool more = true;
	const char *what;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, r);
	for (nth = 1; more && nth < MOST; nth++) {
		drain();
		before = kpt_counts(false);
		fill_ret(r, rps, nr, first, 0);
		KUNIT_ASSERT_EQ(test, register_kretprobes(rps, nr), 0);
		fail_nth(nth);
		KUNIT_EXPECT_EQ(test, disable_kretprobes(rps, nr), 0);
		more = has_failed();
		call_all(test);
		for (i = 0; i < nr; i++)
			KUNIT_EXPECT_EQ_MSG(test, r[i].returns, 0, "%u", nth);
		fail_nth(nth);
		ret = enable_kretprobes(rps, nr);
		hits = !ret;
		if (ret)
			KUNIT_EXPECT_EQ_MSG(test, ret, -ENOMEM, "%u", nth);
		more |= has_failed();
		call_all(test);
		for (i = 0; i < nr; i++) {
			KUNIT_EXPECT_EQ_MSG(test, r[i].returns, hits, "%u", nth);
			KUNIT_EXPECT_EQ_MSG(test, kprobe_disabled(&r[i].rp.kp), !hits, "%u", nth);
		}
		fail_nth(nth);
		unregister_kretprobes(rps, nr);
		more |= has_failed();
		call_all(test);
		for (i = 0; i < nr; i++)
			KUNIT_EXPECT_EQ_MSG(test, r[i].returns, hits, "%u", nth);
		kpt_wait_until((now = kpt_counts(false), !kpt_differs(&before, &now)));
		what = kpt_differs(&before, &now);
		KUNIT_EXPECT_NULL_MSG(test, what, "%u: %s", nth, what);
	}
	KUNIT_EXPECT_LT(test, nth, MOST);
}

static void registering_return_probes_without_memory_changes_nothing(struct kunit *test)
{
	check_ret(test, 1, 0, 0);
	check_ret(test, 1, 1, 300);
	check_ret(test, NR_FNS, 0, 7);
}

static void registering_return_probes_without_pages_changes_nothing(struct kunit *test)
{
	no_pages = true;
	check_ret(test, 1, 0, 0);
	check_ret(test, 1, 1, 300);
	check_ret(test, NR_FNS, 0, 7);
}

static void return_probes_go_without_memory(struct kunit *test)
{
	check_ret_gone(test, 1, 0);
	check_ret_gone(test, 1, 1);
	check_ret_gone(test, NR_FNS, 0);
	no_pages = true;
	check_ret_gone(test, NR_FNS, 0);
}
#endif

#ifdef CONFIG_JPROBES
static unsigned int jprobe_hits;

static unsigned long memory_jprobe(unsigned long arg)
{
	jprobe_hits++;
	jprobe_return();
	return 0;
}

static void fill_jprobes(struct jprobe *jp, struct jprobe **jps, unsigned int nr)
{
	unsigned int i;

	memset(jp, 0, nr * sizeof(*jp));
	for (i = 0; i < nr; i++) {
		jp[i].kp.addr = (kprobe_opcode_t *)probed[i];
		jp[i].entry = JPROBE_ENTRY(memory_jprobe);
		jps[i] = &jp[i];
	}
}

static void expect_jprobe_hits(struct kunit *test, unsigned int hits, unsigned int nth)
{
	jprobe_hits = 0;
	call_all(test);
	KUNIT_EXPECT_EQ_MSG(test, jprobe_hits, hits, "%u", nth);
}

static void check_jprobes(struct kunit *test, unsigned int nr)
{
	struct jprobe *jp = kunit_kcalloc(test, NR_FNS, sizeof(*jp), GFP_KERNEL);
	unsigned int nth, i, hits, failed = 0;
	struct kprobe_counts before, now;
	struct jprobe *jps[NR_FNS];
	bool more = true;
	const char *what;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, jp);
	for (nth = 1; more && nth < MOST; nth++) {
		drain();
		before = kpt_counts(false);
		fill_jprobes(jp, jps, nr);
		fail_nth(nth);
		ret = nr == 1 ? register_jprobe(jp) : register_jprobes(jps, nr);
		more = has_failed();
		if (ret) {
			failed++;
			KUNIT_EXPECT_EQ_MSG(test, ret, -ENOMEM, "%u", nth);
			now = kpt_counts(false);
			what = kpt_differs(&before, &now);
			KUNIT_EXPECT_NULL_MSG(test, what, "%u: %s", nth, what);
			expect_jprobe_hits(test, 0, nth);
			for (i = 0; i < nr; i++)
				KUNIT_EXPECT_PTR_EQ(test, (void *)jp[i].kp.addr, probed[i]);
			KUNIT_ASSERT_EQ(test, register_jprobes(jps, nr), 0);
		}
		expect_jprobe_hits(test, nr, nth);
		fail_nth(nth);
		for (i = 0; i < nr; i++)
			KUNIT_EXPECT_EQ_MSG(test, disable_jprobe(jps[i]), 0, "%u", nth);
		more |= has_failed();
		expect_jprobe_hits(test, 0, nth);
		fail_nth(nth);
		for (i = 0, hits = 0; i < nr; i++) {
			ret = enable_jprobe(jps[i]);
			if (ret)
				KUNIT_EXPECT_EQ_MSG(test, ret, -ENOMEM, "%u", nth);
			else
				hits++;
		}
		more |= has_failed();
		expect_jprobe_hits(test, hits, nth);
		fail_nth(nth);
		if (nr == 1)
			unregister_jprobe(jp);
		else
			unregister_jprobes(jps, nr);
		more |= has_failed();
		expect_jprobe_hits(test, 0, nth);
		kpt_wait_until((now = kpt_counts(false), !kpt_differs(&before, &now)));
		what = kpt_differs(&before, &now);
		KUNIT_EXPECT_NULL_MSG(test, what, "%u: %s", nth, what);
	}
	KUNIT_EXPECT_LT(test, nth, MOST);
	KUNIT_EXPECT_GE(test, failed, no_pages ? 1 : 2 * nr);
}

static void jprobes_come_and_go_without_memory(struct kunit *test)
{
	check_jprobes(test, 1);
	check_jprobes(test, NR_FNS);
	no_pages = true;
	check_jprobes(test, 1);
	check_jprobes(test, NR_FNS);
}
#endif

#ifdef MODULE
/* --- The blacklist of a module ------------------------------------------------- */

static bool may_be_probed(const char *symbol)
{
	struct kprobe p = { .symbol_name = symbol, .flags = KPROBE_FLAG_DISABLED };
	int ret = register_kprobe(&p);

	if (!ret)
		unregister_kprobe(&p);
	return !ret;
}

/* Builds the list again from its own entries, for a module that marks no function. */
static int make_list_again(struct module *empty)
{
	return kprobe_test_blacklist(empty, true);
}

/*
 * The module was not loaded, so its marks must not get into the next list either. Returns how
 * many allocations are needed: with @all, each of them.
 */
static unsigned int load_marks_without(struct kunit *test, bool all)
{
	struct module *empty = kunit_kzalloc(test, sizeof(*empty), GFP_KERNEL);
	unsigned int nth, failed = 0;
	bool more = true;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, empty);
	strscpy(empty->name, "kpt_no_module");
	empty->kprobes_text_size = 1;
	KUNIT_ASSERT_FALSE(test, may_be_probed("kpt_marked"));
	for (nth = 1; more && nth < MOST; nth++) {
		kprobe_test_blacklist(THIS_MODULE, false);
		fail_nth(nth);
		ret = kprobe_test_blacklist(THIS_MODULE, true);
		more = has_failed();
		if (all)
			KUNIT_EXPECT_EQ_MSG(test, !!ret, more, "%u", nth);
		KUNIT_EXPECT_EQ_MSG(test, may_be_probed("kpt_marked"), !!ret, "%u", nth);
		if (ret) {
			failed++;
			KUNIT_EXPECT_EQ_MSG(test, ret, -ENOMEM, "%u", nth);
			KUNIT_EXPECT_EQ(test, make_list_again(empty), 0);
			KUNIT_EXPECT_TRUE_MSG(test, may_be_probed("kpt_marked"), "%u", nth);
			KUNIT_EXPECT_EQ(test, kprobe_test_blacklist(THIS_MODULE, true), 0);
		}
		KUNIT_EXPECT_FALSE_MSG(test, may_be_probed("kpt_marked"), "%u", nth);
	}
	/* Replace the last list, which counts as allocated by the victim. */
	KUNIT_EXPECT_EQ(test, make_list_again(empty), 0);
	KUNIT_EXPECT_FALSE(test, may_be_probed("kpt_marked"));
	KUNIT_EXPECT_FALSE(test, may_be_probed("get_kprobe"));
	KUNIT_EXPECT_LT(test, nth, MOST);
	return failed;
}

static void loading_marks_without_memory_changes_nothing(struct kunit *test)
{
	/* A draft that grows, the names, and the list. */
	KUNIT_EXPECT_GE(test, load_marks_without(test, false), 3);
	/* The arrays among these. */
	only_failer = "__kvmalloc_node_noprof";
	KUNIT_EXPECT_GE(test, load_marks_without(test, true), 2);
}

/*
 * A module with the marks of this one. It has no text, so only its marks come and go.
 */
static struct module *module_with_marks(struct kunit *test)
{
	struct module *mod = kunit_kzalloc(test, sizeof(*mod), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mod);
	strscpy(mod->name, "kpt_no_module");
	mod->kprobe_blacklist = THIS_MODULE->kprobe_blacklist;
	mod->num_kprobe_blacklist = THIS_MODULE->num_kprobe_blacklist;
	return mod;
}

static void free_marks(void *marks)
{
	kvfree(marks);
}

/* So many that the list grows while they are added. */
#define NR_MARKS	2048

static void loading_many_marks_without_memory_is_enomem(struct kunit *test)
{
	struct module *mod = module_with_marks(test);
	unsigned int nth, i, failed = 0;
	unsigned long *marks;
	bool more = true;
	int ret;

	marks = kvmalloc_array(NR_MARKS, sizeof(*marks), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, marks);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_marks, marks), 0);
	for (i = 0; i < NR_MARKS; i++)
		marks[i] = mod->kprobe_blacklist[0];
	mod->kprobe_blacklist = marks;
	mod->num_kprobe_blacklist = NR_MARKS;
	only_failer = "__kvmalloc_node_noprof";
	for (nth = 1; more && nth < MOST; nth++) {
		fail_nth(nth);
		ret = kprobe_test_blacklist(mod, true);
		more = has_failed();
		KUNIT_EXPECT_EQ_MSG(test, ret, more ? -ENOMEM : 0, "%u", nth);
		failed += !!ret;
		/* They are in this module's text. */
		kprobe_test_blacklist(THIS_MODULE, false);
		KUNIT_ASSERT_EQ(test, kprobe_test_blacklist(THIS_MODULE, true), 0);
	}
	KUNIT_EXPECT_FALSE(test, may_be_probed("kpt_marked"));
	KUNIT_EXPECT_LT(test, nth, MOST);
	KUNIT_EXPECT_GE(test, failed, 3);
}

#if defined(CONFIG_KRETPROBES) && defined(CONFIG_DEBUG_FS)
static void list_is_replaced(struct kunit *test, void *arg)
{
	KUNIT_EXPECT_EQ(test, make_list_again(arg), 0);
}

/* A debugger reads the list without a lock. */
static void list_of_marks_is_freed_after_a_grace_period(struct kunit *test)
{
	struct module *empty = kunit_kzalloc(test, sizeof(*empty), GFP_KERNEL);
	unsigned int tries = 5, ret;
	bool inside;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, empty);
	strscpy(empty->name, "kpt_no_module");
	empty->kprobes_text_size = 1;
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	do {
		fail_nth(UINT_MAX);
		ret = make_list_again(empty);
		has_failed();
		KUNIT_ASSERT_EQ(test, ret, 0);
		KUNIT_EXPECT_GE(test, nr_objects(), 1);
		inside = kept_for_reader(test, list_is_replaced, empty);
	} while (!inside && --tries);
	KUNIT_EXPECT_TRUE(test, inside);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}
#endif

/* The error is reported to the task that loads the module. */
static void module_is_not_loaded_without_memory_for_its_marks(struct kunit *test)
{
	struct module *mod = module_with_marks(test);
	unsigned int nth, failed = 0;
	bool more = true;
	int ret;

	KUNIT_ASSERT_FALSE(test, may_be_probed("kpt_marked"));
	for (nth = 1; more && nth < MOST; nth++) {
		kprobe_test_blacklist(THIS_MODULE, false);
		fail_nth(nth);
		ret = kprobe_test_module_event(mod, MODULE_STATE_COMING);
		more = has_failed();
		failed += !!ret;
		KUNIT_EXPECT_TRUE_MSG(test, !ret || (more && ret == -ENOMEM), "%u: %d", nth, ret);
		KUNIT_EXPECT_EQ_MSG(test, may_be_probed("kpt_marked"), !!ret, "%u", nth);
		KUNIT_EXPECT_EQ(test, kprobe_test_module_event(mod, MODULE_STATE_GOING), 0);
	}
	/* Each list is made without the marks in the one before. */
	kprobe_test_blacklist(THIS_MODULE, false);
	KUNIT_EXPECT_EQ(test, kprobe_test_blacklist(THIS_MODULE, true), 0);
	KUNIT_EXPECT_FALSE(test, may_be_probed("kpt_marked"));
	KUNIT_EXPECT_LT(test, nth, MOST);
	/* The notifier's record of the module, and as above. */
	KUNIT_EXPECT_GE(test, failed, 4);
}

static bool is_on_the_list(struct kunit *test, const char *line)
{
	return kpt_line_with(test, kpt_read(test, &kpt_debugfs, "kprobes/blacklist"), line);
}

/* Unloading cannot fail, and another module may get the memory. */
static void marks_go_without_memory(struct kunit *test)
{
	bool more = true;
	unsigned int nth;

	kpt_needs_debugfs(test);
	KUNIT_EXPECT_TRUE(test, is_on_the_list(test, "\tkpt_marked"));
	for (nth = 1; more && nth < MOST; nth++) {
		fail_nth(nth);
		kprobe_test_blacklist(THIS_MODULE, false);
		more = has_failed();
		KUNIT_EXPECT_TRUE_MSG(test, may_be_probed("kpt_marked"), "%u", nth);
		KUNIT_EXPECT_TRUE_MSG(test, may_be_probed("kpt_in_section"), "%u", nth);
		KUNIT_EXPECT_FALSE_MSG(test, may_be_probed("get_kprobe"), "%u", nth);
		KUNIT_EXPECT_FALSE_MSG(test, is_on_the_list(test, "\tkpt_marked"), "%u", nth);
		KUNIT_EXPECT_TRUE_MSG(test, is_on_the_list(test, "\tget_kprobe"), "%u", nth);
		KUNIT_ASSERT_EQ(test, kprobe_test_blacklist(THIS_MODULE, true), 0);
		KUNIT_EXPECT_FALSE_MSG(test, may_be_probed("kpt_marked"), "%u", nth);
	}
	KUNIT_EXPECT_LT(test, nth, MOST);
	/* The draft, and the list. */
	KUNIT_EXPECT_GT(test, nth, 3);
}

/* A module may have marks of one kind only. */
static void marks_of_one_kind_are_known(struct kunit *test)
{
	struct module *mod = kunit_kzalloc(test, sizeof(*mod), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mod);
	strscpy(mod->name, "kpt_no_module");
	kprobe_test_blacklist(THIS_MODULE, false);
	KUNIT_EXPECT_TRUE(test, may_be_probed("kpt_noinstr"));
	KUNIT_EXPECT_TRUE(test, may_be_probed("kpt_in_section"));

	mod->noinstr_text_start = THIS_MODULE->noinstr_text_start;
	mod->noinstr_text_size = THIS_MODULE->noinstr_text_size;
	KUNIT_EXPECT_EQ(test, kprobe_test_blacklist(mod, true), 0);
	KUNIT_EXPECT_FALSE(test, may_be_probed("kpt_noinstr"));
	KUNIT_EXPECT_TRUE(test, may_be_probed("kpt_in_section"));

	mod->noinstr_text_start = NULL;
	mod->noinstr_text_size = 0;
	mod->kprobes_text_start = THIS_MODULE->kprobes_text_start;
	mod->kprobes_text_size = THIS_MODULE->kprobes_text_size;
	KUNIT_EXPECT_EQ(test, kprobe_test_blacklist(mod, true), 0);
	KUNIT_EXPECT_FALSE(test, may_be_probed("kpt_in_section"));
	KUNIT_EXPECT_TRUE(test, may_be_probed("kpt_marked"));

	kprobe_test_blacklist(THIS_MODULE, false);
	KUNIT_EXPECT_EQ(test, kprobe_test_blacklist(THIS_MODULE, true), 0);
	KUNIT_EXPECT_FALSE(test, may_be_probed("kpt_marked"));
}

/* The first byte on the list that belongs to the function, or to padding before it. */
static unsigned long marked_from(struct kunit *test, const char *function)
{
	char *text = kpt_read(test, &kpt_debugfs, "kprobes/blacklist"), *line, name[64];
	unsigned long start, end;

	while ((line = strsep(&text, "\n"))) {
		if (sscanf(line, "0x%lx-0x%lx\t%63s", &start, &end, name) == 3 &&
		    !strcmp(name, function))
			return start;
	}
	return 0;
}

/*
 * As if this were all text of a module that is unloaded. The nth allocation fails; if that is 0,
 * none does. Returns whether one has failed.
 */
static bool text_goes(struct kunit *test, unsigned long base, unsigned long size,
		      unsigned int nth)
{
	struct module *mod = kunit_kzalloc(test, sizeof(*mod), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mod);
	strscpy(mod->name, "kpt_no_module");
	mod->mem[MOD_TEXT].base = (void *)base;
	mod->mem[MOD_TEXT].size = size;
	if (nth)
		fail_nth(nth);
	kprobe_test_blacklist(mod, false);
	return nth && has_failed();
}

static void take_marks_again(struct kunit *test)
{
	kprobe_test_blacklist(THIS_MODULE, false);
	KUNIT_EXPECT_EQ(test, kprobe_test_blacklist(THIS_MODULE, true), 0);
	KUNIT_EXPECT_FALSE(test, may_be_probed("kpt_marked"));
}

static void text_that_goes_takes_the_marks_that_begin_in_it(struct kunit *test)
{
	unsigned long first = (unsigned long)THIS_MODULE->mem[MOD_TEXT].base, start, section;
	unsigned int no_memory, nth;
	bool more = true;

	kpt_needs_debugfs(test);
	start = marked_from(test, "kpt_marked");
	KUNIT_ASSERT_GT(test, start, first);
	for (no_memory = 0; no_memory < 2; no_memory++) {
		/* All text before the function, which has marks of its own. */
		text_goes(test, first, start - first, no_memory);
		KUNIT_EXPECT_FALSE(test, may_be_probed("kpt_marked"));
		text_goes(test, start + 1, 1, no_memory);
		KUNIT_EXPECT_FALSE(test, may_be_probed("kpt_marked"));
		text_goes(test, start, 1, no_memory);
		KUNIT_EXPECT_TRUE(test, may_be_probed("kpt_marked"));
		take_marks_again(test);
	}

	/* A list that could not be replaced leaves nothing for the next one. */
	section = marked_from(test, "kpt_in_section");
	KUNIT_ASSERT_NE(test, section, 0ul);
	for (nth = 1; more && nth < MOST; nth++) {
		more = text_goes(test, start, 1, nth);
		text_goes(test, section, 1, 0);
		KUNIT_EXPECT_TRUE_MSG(test, may_be_probed("kpt_marked"), "%u", nth);
		KUNIT_EXPECT_TRUE_MSG(test, may_be_probed("kpt_in_section"), "%u", nth);
		take_marks_again(test);
	}
	KUNIT_EXPECT_LT(test, nth, MOST);
	/* The draft, and the list. */
	KUNIT_EXPECT_GT(test, nth, 3);
}
#endif

/* --- Events -------------------------------------------------------------------- */

#ifdef CONFIG_KPROBE_EVENTS
/* With a name, without one, and with a symbol: the parser allocates for each of these. */
#define EVENT_FIELDS	"value=$stack0:x64", "$stack", "at=@jiffies:u32"

/* Events refuse functions that are not traced. */
static int make_event_on(struct dynevent_cmd *cmd, char *buf, bool is_return,
			 const char *name, const char *fn)
{
	int ret;

	kprobe_event_cmd_init(cmd, buf, MAX_DYNEVENT_CMD_LEN);
	ret = is_return ? kretprobe_event_gen_cmd_start(cmd, name, fn, EVENT_FIELDS) :
			  kprobe_event_gen_cmd_start(cmd, name, fn, EVENT_FIELDS);
	return ret ? : kprobe_event_gen_cmd_end(cmd);
}

static int make_event(struct dynevent_cmd *cmd, char *buf, bool is_return)
{
	return make_event_on(cmd, buf, is_return, "kpt_no_memory", "kpt_traced");
}

/* The tracer gives up, and leaves no probe behind. */
static void event_without_memory_leaves_no_probe(struct kunit *test)
{
	char *buf = kunit_kzalloc(test, MAX_DYNEVENT_CMD_LEN, GFP_KERNEL);
	struct kprobe_counts before, now;
	unsigned int nth, failed, kind;
	struct dynevent_cmd cmd;
	const char *what;
	bool more;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (kind = 0; kind < 4; kind++) {
		no_pages = kind & 2;
		failed = 0;
		more = true;
		for (nth = 1; more && nth < MOST; nth++) {
			drain();
			before = kpt_counts(false);
			fail_nth(nth);
			ret = make_event(&cmd, buf, kind & 1);
			more = has_failed();
			if (ret) {
				failed++;
				KUNIT_EXPECT_TRUE_MSG(test, more, "%u", nth);
				KUNIT_EXPECT_EQ_MSG(test, ret, -ENOMEM, "%u", nth);
				kpt_wait_until((now = kpt_counts(false),
						!kpt_differs(&before, &now)));
				what = kpt_differs(&before, &now);
				KUNIT_EXPECT_NULL_MSG(test, what, "%u: %s", nth, what);
				ret = make_event(&cmd, buf, kind & 1);
				KUNIT_EXPECT_EQ_MSG(test, ret, 0, "%u", nth);
			}
			now = kpt_counts(false);
			KUNIT_EXPECT_EQ(test, now.users, before.users + 1);
			KUNIT_EXPECT_EQ(test, kprobe_event_delete("kpt_no_memory"), 0);
		}
		KUNIT_EXPECT_LT(test, nth, MOST);
		if (!no_pages)
			KUNIT_EXPECT_GE(test, failed, 5);
		kunit_info(test, "%u allocations, %u of them needed", nth - 2, failed);
	}
}

/* A group of events, and lines in kprobes/list. */
static const struct {
	const char *name;
	const char *fn;
	const char *line;
} group[] = {
	{ "kpt_no_memory", "kpt_traced", "  kpt_traced+" },
	{ "kpt_no_memory2", "kpt_traced2", "  kpt_traced2+" },
};

/* How many events are on. Each has to be in the state of its probe. */
static unsigned int group_is_on(struct kunit *test, unsigned int nth)
{
	char *list = kpt_read(test, &kpt_debugfs, "kprobes/list"), *line;
	struct trace_event_file *file;
	unsigned int i, nr = 0;
	bool on;

	for (i = 0; i < ARRAY_SIZE(group); i++) {
		file = trace_get_event_file(NULL, "kprobes", group[i].name);
		KUNIT_ASSERT_FALSE(test, IS_ERR(file));
		on = file->flags & EVENT_FILE_FL_ENABLED;
		trace_put_event_file(file);
		line = kpt_line_with(test, list, group[i].line);
		KUNIT_ASSERT_NOT_NULL(test, line);
		KUNIT_EXPECT_EQ_MSG(test, on, !strstr(line, "[DISABLED]"), "%u: %s", nth, line);
		nr += on;
	}
	return nr;
}

/*
 * The text of all events changes at once, or failing that one by one. An event whose probe
 * cannot be switched on stays off, and the error is returned. Only allocations of arrays
 * fail: others belong to the tracers.
 */
static void group_of_events_without_memory_is_what_its_probes_are(struct kunit *test)
{
	const char *line = "trace_kprobe: Could not enable event kpt_no_memory";
	char *buf = kunit_kzalloc(test, MAX_DYNEVENT_CMD_LEN, GFP_KERNEL);
	unsigned int nth, fails, i, on, off = 0;
	struct dynevent_cmd cmd;
	bool more;
	int ret;
	u64 from;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	kpt_needs_debugfs(test);
	for (i = 0; i < ARRAY_SIZE(group); i++) {
		ret = make_event_on(&cmd, buf, false, group[i].name, group[i].fn);
		KUNIT_ASSERT_EQ(test, ret, 0);
	}
	KUNIT_EXPECT_EQ(test, trace_set_clr_event("kprobes", NULL, 0), 0);
	only_failer = "__kvmalloc_node_noprof";
	from = kpt_log_end();
	for (fails = 1; fails <= 3; fails++) {
		more = true;
		for (nth = 1; more && nth < MOST; nth++) {
			fail_nth(nth);
			failures = fails;
			ret = trace_set_clr_event("kprobes", NULL, 1);
			more = has_failed();
			on = group_is_on(test, nth);
			off += on < ARRAY_SIZE(group);
			KUNIT_EXPECT_EQ_MSG(test, ret, on < ARRAY_SIZE(group) ? -ENOMEM : 0,
					    "%u of %u", fails, nth);
			KUNIT_EXPECT_TRUE(test, !ret || more);
			KUNIT_EXPECT_EQ(test, trace_set_clr_event("kprobes", NULL, 0), 0);
			KUNIT_EXPECT_EQ(test, group_is_on(test, nth), 0);
		}
		KUNIT_EXPECT_LT(test, nth, MOST);
		/* The array of probes, and that of ftrace sites. */
		KUNIT_EXPECT_GT(test, nth, 3);
	}
	KUNIT_EXPECT_GT(test, off, 0);
	if (IS_ENABLED(CONFIG_PRINTK))
		KUNIT_EXPECT_GT(test, kpt_log_lines(test, from, line), 0);
	for (i = 0; i < ARRAY_SIZE(group); i++)
		KUNIT_EXPECT_EQ(test, kprobe_event_delete(group[i].name), 0);
}

#ifdef CONFIG_PERF_EVENTS
/* The lists of an event are kept from one user to the next, and go with the event. */
static void event_that_perf_has_used_leaves_nothing(struct kunit *test)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr) };
	char *buf = kunit_kzalloc(test, MAX_DYNEVENT_CMD_LEN, GFP_KERNEL);
	struct trace_event_file *file;
	struct perf_event *event;
	struct dynevent_cmd cmd;
	unsigned int round, i;
	u64 on, running;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	fail_nth(UINT_MAX);
	KUNIT_ASSERT_EQ(test, make_event(&cmd, buf, false), 0);
	file = trace_get_event_file(NULL, "kprobes", "kpt_no_memory");
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	attr.config = file->event_call->event.type;
	trace_put_event_file(file);
	for (round = 0; round < 3; round++) {
		event = perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
		KUNIT_ASSERT_FALSE(test, IS_ERR(event));
		for (i = 0; i <= round; i++)
			kpt_traced(7);
		KUNIT_EXPECT_EQ(test, perf_event_read_value(event, &on, &running), round + 1);
		perf_event_release_kernel(event);
		kpt_traced(7);
	}
	KUNIT_EXPECT_EQ(test, kprobe_event_delete("kpt_no_memory"), 0);
	has_failed();
}
#endif
#endif

/* A structure may begin at each long. So for any sixteen bits of the hash there are some. */
#define ROOM	SZ_16M

/* The last bucket of a table of any size: what does not fit is looked for from the first one. */
static void structures_that_share_the_last_bucket_are_found(struct kunit *test)
{
	unsigned int i, first, nr = 0, lost = 0;
	struct kprobe *kps[3];
	u8 *room, *at;

	room = vzalloc(ROOM);
	KUNIT_ASSERT_NOT_NULL(test, room);
	for (at = room; nr < ARRAY_SIZE(kps) && at + sizeof(*kps[0]) <= room + ROOM;
	     at += sizeof(long)) {
		if (hash_long((unsigned long)at, 16) != U16_MAX)
			continue;
		kps[nr++] = (struct kprobe *)at;
		at += round_down(sizeof(*kps[0]), sizeof(long));
	}
	KUNIT_EXPECT_EQ(test, nr, ARRAY_SIZE(kps));
	for (i = 0; i < nr; i++) {
		kps[i]->addr = kpt_text(kpt_plain);
		kps[i]->flags = KPROBE_FLAG_DISABLED;
		KUNIT_EXPECT_EQ(test, register_kprobe(kps[i]), 0);
	}
	for (first = 0; first <= nr; first++) {
		for (i = 0; i < nr; i++)
			lost += disable_kprobe(kps[i]) != (i < first ? -EINVAL : 0);
		KUNIT_EXPECT_EQ_MSG(test, lost, 0, "%u unregistered", first);
		if (first < nr)
			unregister_kprobe(kps[first]);
	}
	/* What is lost may still be used. */
	if (!lost)
		vfree(room);
}

static struct kunit_case memory_cases[] = {
	KPT_CASE_PARAM_SLOW(registering_without_memory_changes_nothing, kinds_gen_params),
	KUNIT_CASE_PARAM(registering_without_pages_changes_nothing, kinds_gen_params),
	KUNIT_CASE_SLOW(registering_many_without_memory_for_arrays_changes_nothing),
	KUNIT_CASE_SLOW(many_probes_of_a_point_without_memory_for_arrays_change_nothing),
#ifdef CONFIG_DEBUG_FS
	KUNIT_CASE_SLOW(registering_counted_probes_without_memory_changes_nothing),
#endif
#if defined(CONFIG_DEBUG_FS) && defined(CONFIG_MODULES)
	KUNIT_CASE(counters_of_points_that_are_gone_are_freed),
#endif
#ifdef CONFIG_JUMP_LABEL
	KUNIT_CASE(jump_labels_are_refused_without_memory_for_their_index),
#endif
	KUNIT_CASE(point_is_found_while_the_table_grows),
	KUNIT_CASE(structures_that_share_the_last_bucket_are_found),
	KUNIT_CASE(table_is_copied_for_many_probes_not_for_each),
	KUNIT_CASE(refused_probes_lose_no_memory),
	KUNIT_CASE(block_of_pages_without_memory_is_a_page),
	KUNIT_CASE(block_of_pages_without_memory_for_their_table_is_refused),
	KUNIT_CASE(probe_without_memory_for_its_second_copy_is_not_registered),
	KUNIT_CASE(probe_stays_if_another_lacks_memory_for_a_second_copy),
#ifdef CONFIG_X86_64
	KUNIT_CASE(registering_at_a_branch_without_pages_changes_nothing),
#endif
	KUNIT_CASE(pages_that_cannot_be_made_executable_are_given_back),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(few_instances_do_not_depend_on_what_is_available),
	KUNIT_CASE(instances_kill_no_task_for_their_memory),
#endif
	KPT_CASE_PARAM_SLOW(unregistering_without_memory_works, kinds_gen_params),
	KUNIT_CASE_PARAM(unregistering_without_pages_works, kinds_gen_params),
	KPT_CASE_PARAM_SLOW(enabling_without_memory_leaves_them_off, kinds_gen_params),
	KUNIT_CASE_PARAM(enabling_without_pages_leaves_them_off, kinds_gen_params),
#ifdef CONFIG_DEBUG_FS
	KUNIT_CASE(lack_of_memory_that_is_handled_is_not_logged),
	KUNIT_CASE(readers_of_the_files_lose_nothing),
#endif
#if defined(CONFIG_KRETPROBES) && defined(CONFIG_DEBUG_FS)
	KUNIT_CASE(what_hits_may_read_is_freed_after_a_grace_period),
#endif
	KUNIT_CASE_SLOW(detour_without_memory_leaves_a_breakpoint),
	KUNIT_CASE(detour_without_pages_leaves_a_breakpoint),
#ifdef CONFIG_DEBUG_FS
	KUNIT_CASE_SLOW(switch_without_memory_arms_all_but_what_it_says),
#endif
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_SLOW(registering_return_probes_without_memory_changes_nothing),
	KUNIT_CASE(registering_return_probes_without_pages_changes_nothing),
	KUNIT_CASE_SLOW(return_probes_go_without_memory),
	KUNIT_CASE_PARAM(hit_allocates_nothing_and_takes_no_lock, kpt_state_gen),
#endif
#ifdef CONFIG_JPROBES
	KUNIT_CASE(jprobes_come_and_go_without_memory),
#endif
#ifdef MODULE
	KUNIT_CASE(loading_marks_without_memory_changes_nothing),
	KUNIT_CASE(loading_many_marks_without_memory_is_enomem),
#if defined(CONFIG_KRETPROBES) && defined(CONFIG_DEBUG_FS)
	KUNIT_CASE(list_of_marks_is_freed_after_a_grace_period),
#endif
	KUNIT_CASE(module_is_not_loaded_without_memory_for_its_marks),
	KUNIT_CASE_SLOW(marks_go_without_memory),
	KUNIT_CASE(marks_of_one_kind_are_known),
	KUNIT_CASE(text_that_goes_takes_the_marks_that_begin_in_it),
#endif
#ifdef CONFIG_KPROBE_EVENTS
	KUNIT_CASE(event_without_memory_leaves_no_probe),
	KUNIT_CASE(group_of_events_without_memory_is_what_its_probes_are),
#ifdef CONFIG_PERF_EVENTS
	KUNIT_CASE(event_that_perf_has_used_leaves_nothing),
#endif
#endif
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite memory_suite = {
	.name = "kprobes_memory",
	.suite_init = memory_suite_init,
	.suite_exit = memory_suite_exit,
	.init = memory_init,
	.test_cases = memory_cases,
};

kunit_test_suite(memory_suite);
