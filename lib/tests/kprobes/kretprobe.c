// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit suite: return probes. */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/irq_work.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/stacktrace.h>
#include <linux/timekeeping.h>

#include "fixture.h"
#ifdef CONFIG_X86
#include <asm/text-patching.h>
#endif

/**
 * struct ret_probe - a return probe that records what it saw
 * @rp:		the probe itself
 * @on_entry:	what the entry handler does besides recording; its result is the
 *		handler's
 * @on_return:	what the return handler does besides recording
 * @arg:	for them
 * @entries:	runs of the entry handler
 * @returns:	runs of the return handler
 * @wrong:	counts rules that the handlers found violated
 * @value:	latest return value
 * @retaddr:	latest return address
 * @owner_seen:	result of get_kretprobe()
 * @preemptible: some handler ran with preemption on
 * @irqs_off:	some return handler ran with interrupts off
 */
struct ret_probe {
	struct kretprobe rp;
	int (*on_entry)(struct ret_probe *r, struct kretprobe_instance *ri,
			struct pt_regs *regs);
	void (*on_return)(struct ret_probe *r, struct kretprobe_instance *ri,
			  struct pt_regs *regs);
	void *arg;
	atomic_t entries;
	atomic_t returns;
	atomic_t wrong;
	unsigned long value;
	unsigned long retaddr;
	struct kretprobe *owner_seen;
	bool preemptible;
	bool irqs_off;
};

/* Runs of return handlers whose probe has been unregistered. */
static atomic_t ret_orphans;

static struct ret_probe *owner(struct kretprobe_instance *ri)
{
	return container_of(get_kretprobe(ri), struct ret_probe, rp);
}

static int ret_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct ret_probe *r = owner(ri);

	atomic_inc(&r->entries);
	if (kpt_preemptible())
		r->preemptible = true;
	return r->on_entry ? r->on_entry(r, ri, regs) : 0;
}

static int ret_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);
	struct ret_probe *r;

	/* Unregistered meanwhile: this must not run in any case. */
	if (!rp) {
		atomic_inc(&ret_orphans);
		return 0;
	}
	r = container_of(rp, struct ret_probe, rp);
	atomic_inc(&r->returns);
	r->value = regs_return_value(regs);
	r->retaddr = get_kretprobe_retaddr(ri);
	r->owner_seen = rp;
	if (kpt_preemptible())
		r->preemptible = true;
	if (irqs_disabled())
		r->irqs_off = true;
	if (r->on_return)
		r->on_return(r, ri, regs);
	return 0;
}

static struct ret_probe *ret_alloc(struct kunit *test, void *addr)
{
	struct ret_probe *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->rp.kp.addr = addr ? kpt_text(addr) : NULL;
	r->rp.handler = ret_return;
	r->rp.entry_handler = ret_entry;
	return r;
}

static void ret_register(struct kunit *test, struct ret_probe *r)
{
	kpt_register_return(test, &r->rp);
}

static void ret_unregister(struct kunit *test, struct ret_probe *r)
{
	kpt_unregister_return(test, &r->rp);
}

static struct ret_probe *ret_probe(struct kunit *test, void *addr)
{
	struct ret_probe *r = ret_alloc(test, addr);

	ret_register(test, r);
	return r;
}

static int ret_refused(struct kretprobe *rp)
{
	int ret = register_kretprobe(rp);

	if (!ret)
		unregister_kretprobe(rp);
	return ret;
}

static void call(struct kunit *test, const struct kpt_site *site)
{
	KUNIT_ASSERT_EQ(test, site->fn(7), KPT_RESULT(7ul));
}

/* --- The basics ---------------------------------------------------------- */

static void handler_sees_the_return_value(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct ret_probe *r = ret_probe(test, site->fn);
	unsigned long i;

	for (i = 1; i <= 20; i++) {
		KUNIT_EXPECT_EQ(test, site->fn(i), KPT_RESULT(i));
		KUNIT_EXPECT_EQ(test, r->value, KPT_RESULT(i));
		KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), (int)i);
		KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), (int)i);
	}
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 0);
	KUNIT_EXPECT_PTR_EQ(test, r->owner_seen, &r->rp);
	ret_unregister(test, r);
	call(test, site);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 20);
}

static void register_by_symbol(struct kunit *test)
{
	struct ret_probe *r = ret_alloc(test, NULL);

	r->rp.kp.symbol_name = "kpt_plain";
	ret_register(test, r);
	KUNIT_EXPECT_EQ(test, kpt_plain(3), KPT_RESULT(3ul));
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 1);
	KUNIT_EXPECT_NOT_NULL(test, (void *)r->rp.kp.addr);
}

static int check_argument(struct ret_probe *r, struct kretprobe_instance *ri,
			  struct pt_regs *regs)
{
#ifdef CONFIG_HAVE_FUNCTION_ARG_ACCESS_API
	if (regs_get_kernel_argument(regs, 0) != 7)
		atomic_inc(&r->wrong);
#endif
	return 0;
}

static void entry_handler_sees_the_arguments(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct ret_probe *r = ret_alloc(test, site->fn);

	r->on_entry = check_argument;
	ret_register(test, r);
	call(test, site);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->wrong), 0);
}

/* One place to call it from, and so one return address. */
static noinline unsigned long call_where(void)
{
	unsigned long seen = 0;

	kpt_ret_where((unsigned long)&seen);
	return seen;
}

static void retaddr_is_the_true_return_address(struct kunit *test)
{
	unsigned long unprobed = call_where();
	struct ret_probe *r = ret_probe(test, kpt_ret_where);

	call_where();
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 1);
	KUNIT_EXPECT_EQ(test, r->retaddr, unprobed);
}

static void change_value(struct ret_probe *r, struct kretprobe_instance *ri,
			 struct pt_regs *regs)
{
#ifdef CONFIG_HAVE_FUNCTION_ERROR_INJECTION
	regs_set_return_value(regs, 4711);
#endif
}

static void handler_may_change_the_return_value(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct ret_probe *r = ret_alloc(test, site->fn);

	if (!IS_ENABLED(CONFIG_HAVE_FUNCTION_ERROR_INJECTION))
		kunit_skip(test, "no regs_set_return_value()");
	r->on_return = change_value;
	ret_register(test, r);
	KUNIT_EXPECT_EQ(test, site->fn(7), 4711ul);
}

static void handlers_run_with_preemption_off(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct ret_probe *r = ret_probe(test, site->fn);

	call(test, site);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 1);
	KUNIT_EXPECT_FALSE(test, r->preemptible);
	/* The return path leaves interrupts as the function had them. */
	if (IS_ENABLED(CONFIG_X86))
		KUNIT_EXPECT_FALSE(test, r->irqs_off);
}

static void null_handlers_in_every_combination(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct ret_probe *r;
	unsigned int kinds;

	for (kinds = 0; kinds < 4; kinds++) {
		r = ret_alloc(test, site->fn);
		if (!(kinds & 1))
			r->rp.entry_handler = NULL;
		if (!(kinds & 2))
			r->rp.handler = NULL;
		ret_register(test, r);
		call(test, site);
		call(test, site);
		KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), kinds & 1 ? 2 : 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), kinds & 2 ? 2 : 0);
		ret_unregister(test, r);
	}
}

/* The pre- and post-handler of the kprobe in a return probe are not used. */
static void unexpected_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	atomic_inc(&container_of(p, struct ret_probe, rp.kp)->wrong);
}

static int unexpected_pre(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&container_of(p, struct ret_probe, rp.kp)->wrong);
	return 0;
}

static void handlers_of_the_kprobe_in_it_do_not_run(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct ret_probe *r = ret_alloc(test, site->fn);

	r->rp.kp.pre_handler = unexpected_pre;
	r->rp.kp.post_handler = unexpected_post;
	ret_register(test, r);
	call(test, site);
	wait_for_kprobe_optimizer();
	call(test, site);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->wrong), 0);
}

struct kpt_pair {
	unsigned long first;
	unsigned long second;
};

static noinline notrace u64 kpt_wide(unsigned long arg)
{
	OPTIMIZER_HIDE_VAR(arg);
	return (u64)arg << 32 | (arg + 1);
}

static noinline notrace struct kpt_pair kpt_two(unsigned long arg)
{
	OPTIMIZER_HIDE_VAR(arg);
	return (struct kpt_pair){ arg, ~arg };
}

/* A u64 takes two on 32 bits, and a small structure on most architectures of 64 bits. */
static void values_in_two_registers_are_returned(struct kunit *test)
{
	u64 (*wide)(unsigned long) = kpt_wide;
	struct kpt_pair (*two)(unsigned long) = kpt_two, pair;
	struct ret_probe *w = ret_probe(test, kpt_wide), *t = ret_probe(test, kpt_two);

	OPTIMIZER_HIDE_VAR(wide);
	OPTIMIZER_HIDE_VAR(two);
	KUNIT_EXPECT_EQ(test, wide(7), 7ull << 32 | 8);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->returns), 1);
	pair = two(7);
	KUNIT_EXPECT_EQ(test, pair.first, 7ul);
	KUNIT_EXPECT_EQ(test, pair.second, ~7ul);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->returns), 1);
}

static void missed_calls_are_counted_from_registration(struct kunit *test)
{
	struct ret_probe *r = ret_alloc(test, kpt_plain);

	r->rp.nmissed = 7;
	r->rp.kp.nmissed = 7;
	ret_register(test, r);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, r->rp.kp.nmissed, 0ul);
}

static int skip_odd(struct ret_probe *r, struct kretprobe_instance *ri,
		    struct pt_regs *regs)
{
	return atomic_read(&r->entries) & 1;
}

static void nonzero_entry_handler_skips_the_call(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct ret_probe *r = ret_alloc(test, site->fn);
	unsigned int i;

	r->on_entry = skip_odd;
	/* A skipped call must give its instance back. */
	r->rp.maxactive = 1;
	ret_register(test, r);
	for (i = 0; i < 20; i++)
		call(test, site);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 20);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 10);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 0);
}

struct note {
	unsigned long long stamp;
	struct task_struct *task;
	char text[32];
};

static int write_note(struct ret_probe *r, struct kretprobe_instance *ri,
		      struct pt_regs *regs)
{
	struct note *note = (struct note *)ri->data;

	if (!IS_ALIGNED((unsigned long)note, __alignof__(long long)))
		atomic_inc(&r->wrong);
	memset(note, 0xa5, sizeof(*note));
	note->stamp = 0x1122334455667788ull;
	note->task = current;
	return 0;
}

static void read_note(struct ret_probe *r, struct kretprobe_instance *ri,
		      struct pt_regs *regs)
{
	struct note *note = (struct note *)ri->data;
	unsigned int i;

	if (note->stamp != 0x1122334455667788ull || note->task != current)
		atomic_inc(&r->wrong);
	for (i = 0; i < sizeof(note->text); i++)
		if ((unsigned char)note->text[i] != 0xa5)
			atomic_inc(&r->wrong);
}

static int check_alignment(struct ret_probe *r, struct kretprobe_instance *ri,
			   struct pt_regs *regs)
{
	if (!IS_ALIGNED((unsigned long)ri->data, __alignof__(long long)))
		atomic_inc(&r->wrong);
	return 0;
}

/* The data of each instance is tested: the call at each depth has another instance. */
static void private_data_is_aligned_whatever_its_size(struct kunit *test)
{
	unsigned int size;

	for (size = 1; size < 10; size++) {
		struct ret_probe *r = ret_alloc(test, kpt_recurse);

		r->rp.data_size = size;
		r->rp.maxactive = 8;
		r->on_entry = check_alignment;
		ret_register(test, r);
		KUNIT_EXPECT_EQ(test, kpt_recurse(7), 7ul);
		KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 8);
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&r->wrong), 0, "%u bytes", size);
		ret_unregister(test, r);
	}
}

static void private_data_is_shared_by_the_handlers(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct ret_probe *r = ret_alloc(test, site->fn);
	unsigned int i;

	r->on_entry = write_note;
	r->on_return = read_note;
	r->rp.data_size = sizeof(struct note);
	ret_register(test, r);
	for (i = 0; i < 50; i++)
		call(test, site);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 50);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->wrong), 0);
}

/* --- What is refused ----------------------------------------------------- */

static void not_at_a_function_entry_is_einval(struct kunit *test)
{
#ifdef CONFIG_X86
	struct kretprobe by_addr = {
		.kp.addr = (void *)((char *)kpt_asm_inside + kpt_asm_inside_at),
	};
	struct kretprobe by_offset = {
		.kp.symbol_name = "kpt_asm_inside",
		.kp.offset = kpt_asm_inside_at,
	};

	KUNIT_EXPECT_EQ(test, ret_refused(&by_addr), -EINVAL);
	KUNIT_EXPECT_EQ(test, ret_refused(&by_offset), -EINVAL);
#else
	kunit_skip(test, "needs known instructions");
#endif
}

#ifdef CONFIG_X86_KERNEL_IBT
/* The entry is at ENDBR and right after it, but not inside it, nor further on. */
static void entry_is_on_both_sides_of_its_endbr(struct kunit *test)
{
	unsigned int offset;

	for (offset = 0; offset <= ENDBR_INSN_SIZE + KPT_ASM_CLEAR_SIZE; offset++) {
		struct kretprobe by_offset = {
			.kp.symbol_name = "kpt_asm_inside",
			.kp.offset = offset,
		};
		struct kretprobe by_addr = { .kp.addr = (void *)kpt_asm_inside };
		int expected = offset && offset != ENDBR_INSN_SIZE ? -EINVAL : 0;

		OPTIMIZER_HIDE_VAR(by_addr.kp.addr);
		by_addr.kp.addr += offset;
		KUNIT_EXPECT_EQ_MSG(test, ret_refused(&by_offset), expected, "+%u", offset);
		KUNIT_EXPECT_EQ_MSG(test, ret_refused(&by_addr), expected, "+%u", offset);
	}
}
#endif

static void function_that_switches_stacks_is_einval(struct kunit *test)
{
	static const char *const names[] = {
		"__switch_to", "irq_exit", "irq_exit_rcu", "ret_from_fork",
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
		"return_to_handler",
#endif
#ifdef CONFIG_HIBERNATION
		"swsusp_arch_suspend",
#endif
	};
	unsigned int i;

	if (!IS_ENABLED(CONFIG_X86))
		kunit_skip(test, "x86 only");
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		/* Registered disabled, so that it is not hit if it is accepted. */
		struct kretprobe rp = {
			.kp.symbol_name = names[i],
			.kp.flags = KPROBE_FLAG_DISABLED,
		};

		KUNIT_EXPECT_EQ_MSG(test, ret_refused(&rp), -EINVAL, "%s", names[i]);
	}
}

static void unknown_symbol_is_enoent(struct kunit *test)
{
	struct kretprobe rp = { .kp.symbol_name = "kpt_no_such_function" };

	KUNIT_EXPECT_EQ(test, ret_refused(&rp), -ENOENT);
}

static void symbol_and_addr_both_or_neither_is_einval(struct kunit *test)
{
	struct kretprobe both = {
		.kp.symbol_name = "kpt_plain",
		.kp.addr = kpt_text(kpt_plain),
	};
	struct kretprobe neither = {};

	KUNIT_EXPECT_EQ(test, ret_refused(&both), -EINVAL);
	KUNIT_EXPECT_EQ(test, ret_refused(&neither), -EINVAL);
}

static void data_size_too_large_is_einval(struct kunit *test)
{
	struct kretprobe rp = {
		.kp.addr = kpt_text(kpt_plain),
		/* Not by its name: users rely on the number. */
		.data_size = 4096 + 1,
	};

	KUNIT_EXPECT_EQ(test, ret_refused(&rp), -EINVAL);
	rp.kp.addr = kpt_text(kpt_plain);
	rp.data_size = SIZE_MAX - 8;
	KUNIT_EXPECT_EQ(test, ret_refused(&rp), -EINVAL);
	/* The largest allowed size works. */
	memset(&rp, 0, sizeof(rp));
	rp.kp.addr = kpt_text(kpt_plain);
	rp.data_size = 4096;
	KUNIT_EXPECT_EQ(test, ret_refused(&rp), 0);
}

static void double_registration_is_einval(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct ret_probe *r = ret_probe(test, site->fn);

	KUNIT_EXPECT_EQ(test, register_kretprobe(&r->rp), -EINVAL);
	call(test, site);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 1);
}

static void unregister_of_never_registered_is_harmless(struct kunit *test)
{
	struct ret_probe *r = ret_alloc(test, kpt_plain);

	unregister_kretprobe(&r->rp);
	KUNIT_EXPECT_EQ(test, kpt_plain(3), KPT_RESULT(3ul));
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 0);
}

/* --- Instances ----------------------------------------------------------- */

/* A probe that is registered again gets what its user asked for. */
static void default_maxactive_is_not_written_back(struct kunit *test)
{
	int given;

	for (given = 0; given >= -1; given--) {
		struct ret_probe *r = ret_alloc(test, kpt_plain);

		r->rp.maxactive = given;
		ret_register(test, r);
		KUNIT_EXPECT_EQ(test, r->rp.maxactive, given);
		ret_unregister(test, r);
		KUNIT_EXPECT_EQ(test, r->rp.maxactive, given);
	}
}

#ifdef CONFIG_KRETPROBE_ON_RETHOOK
/*
 * An objpool has an array for each CPU, with a power of two of pointers. Here arrays and
 * instances are less than half of what is available each, but not together. False if there
 * is so much memory, or so many CPUs, that other limits come first.
 */
static bool ask_for_large_arrays(struct ret_probe *r)
{
	unsigned long available = si_mem_available(), arrays, half;
	unsigned int per_two = 2 * sizeof(void *) * num_possible_cpus();
	size_t size;

	if (available >= INT_MAX >> 2 || per_two > PAGE_SIZE)
		return false;
	/* In pages: bytes need more than a word on 32 bits. */
	half = rounddown_pow_of_two(available * 3 / 10 * (PAGE_SIZE / per_two));
	arrays = half / (PAGE_SIZE / per_two);
	size = (available * 6 / 10 - arrays) * PAGE_SIZE / half;
	size = max(size, sizeof(struct kretprobe_instance));
	r->rp.data_size = size - sizeof(struct kretprobe_instance);
	r->rp.maxactive = half + 1;
	return half < SZ_16M && r->rp.data_size <= KRETPROBE_MAX_DATA_SIZE;
}
#endif

static void bound_that_does_not_fit_is_enomem_without_pressure(struct kunit *test)
{
	struct ret_probe *r = ret_alloc(test, kpt_plain);
	struct sysinfo before, after;

	si_meminfo(&before);
	r->rp.maxactive = INT_MAX;
	r->rp.data_size = KRETPROBE_MAX_DATA_SIZE;
	KUNIT_EXPECT_EQ(test, ret_refused(&r->rp), -ENOMEM);
	/* More than half of what is available is too much. */
	r->rp.maxactive = ((u64)si_mem_available() << PAGE_SHIFT) / 8 * 5 / KRETPROBE_MAX_DATA_SIZE;
	r->rp.kp.addr = kpt_text(kpt_plain);
	KUNIT_EXPECT_EQ(test, ret_refused(&r->rp), -ENOMEM);
	/* In 32 bits, this product is 0. */
	if (si_mem_available() < SZ_2G >> PAGE_SHIFT) {
		r->rp.maxactive = SZ_1M;
		r->rp.data_size = SZ_4K - sizeof(struct kretprobe_instance);
		r->rp.kp.addr = kpt_text(kpt_plain);
		KUNIT_EXPECT_EQ(test, ret_refused(&r->rp), -ENOMEM);
	}
	si_meminfo(&after);
	/* Other code may allocate meanwhile. */
	KUNIT_EXPECT_LT(test, before.freeram, after.freeram + 4096);
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	if (ask_for_large_arrays(r)) {
		r->rp.kp.addr = kpt_text(kpt_plain);
		KUNIT_EXPECT_EQ(test, ret_refused(&r->rp), -ENOMEM);
	}
	r->rp.data_size = 0;
#endif
	r->rp.maxactive = 1;
	r->rp.kp.addr = kpt_text(kpt_plain);
	KUNIT_EXPECT_EQ(test, ret_refused(&r->rp), 0);
}

#ifndef CONFIG_X86
/**
 * struct before_entry - what is found while an entry handler runs
 * @seen:  any address that is not 0
 * @place: where the latest call was, before it returned
 * @found: an unwinder has found a call there
 */
struct before_entry {
	unsigned long seen;
	void *place;
	bool found;
};

static int note_no_retaddr(struct ret_probe *r, struct kretprobe_instance *ri,
			   struct pt_regs *regs)
{
	struct before_entry *b = r->arg;
	struct llist_node *cur = NULL;

	b->seen |= get_kretprobe_retaddr(ri);
#ifndef CONFIG_KRETPROBE_ON_RETHOOK
	/* Nor does an unwinder find the call that has had the instance before. */
	if (b->place)
		kretprobe_calls_find(current, b->place, &cur);
#endif
	b->found |= !!cur;
	return 0;
}

static void note_place(struct ret_probe *r, struct kretprobe_instance *ri,
		       struct pt_regs *regs)
{
#ifndef CONFIG_KRETPROBE_ON_RETHOOK
	((struct before_entry *)r->arg)->place = ri->fp;
#endif
}

/* It is not known yet. The second call takes the same instance as the first. */
static void entry_handler_sees_no_return_address(struct kunit *test)
{
	struct ret_probe *r = ret_alloc(test, kpt_plain);
	struct before_entry b = {};

	r->rp.maxactive = 1;
	r->on_entry = note_no_retaddr;
	r->on_return = note_place;
	r->arg = &b;
	ret_register(test, r);
	KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_plain(8), KPT_RESULT(8ul));
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 2);
	KUNIT_EXPECT_EQ(test, b.seen, 0);
	KUNIT_EXPECT_FALSE(test, b.found);
}
#endif

#ifdef CONFIG_X86
static int note_retaddr(struct ret_probe *r, struct kretprobe_instance *ri,
			struct pt_regs *regs)
{
	((unsigned long *)r->arg)[atomic_read(&r->entries) % 2] = get_kretprobe_retaddr(ri);
	return 0;
}

/* The second call takes the same instance as the first. */
static void entry_handler_sees_the_return_address(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct ret_probe *r = ret_alloc(test, site->fn);
	struct ret_probe *other = ret_probe(test, site->fn);
	unsigned long seen[2] = { };

	r->rp.maxactive = 1;
	r->on_entry = note_retaddr;
	r->arg = seen;
	ret_register(test, r);
	call(test, site);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 1);
	KUNIT_EXPECT_EQ(test, seen[1], r->retaddr);
	KUNIT_EXPECT_EQ(test, r->retaddr, other->retaddr);
	KUNIT_EXPECT_EQ(test, site->fn(1), KPT_RESULT(1ul));
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 2);
	KUNIT_EXPECT_EQ(test, seen[0], r->retaddr);
	KUNIT_EXPECT_NE(test, seen[0], seen[1]);
}

static void expect_no_system_call(struct ret_probe *r, struct kretprobe_instance *ri,
				  struct pt_regs *regs)
{
	if ((long)regs->orig_ax != -1)
		atomic_inc(&r->wrong);
}

/* Some assembly functions return a result in the flags. */
static void flags_at_the_return_are_those_of_the_function(struct kunit *test)
{
	struct ret_probe *r = ret_alloc(test, kpt_asm_carry);
	unsigned long arg;

	/* And no register tells of a system call that might be restarted. */
	r->on_return = expect_no_system_call;
	ret_register(test, r);
	for (arg = 0; arg < 4; arg++) {
		KUNIT_EXPECT_EQ(test, kpt_asm_reads_carry(arg), arg & 1);
		KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), (int)arg + 1);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&r->wrong), 0);
}

static unsigned long ac_of_function, ac_of_handler;

static int note_ac(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	ac_of_function = regs->flags & X86_EFLAGS_AC;
	ac_of_handler = native_save_fl() & X86_EFLAGS_AC;
	return 0;
}

/*
 * SMAP does not stop accesses while the flag is set. Only the function may make them, not
 * the handler, nor a task that runs next because the handler has woken it.
 */
static void handlers_run_under_smap_after_a_function_that_suspends_it(struct kunit *test)
{
	struct kretprobe rp = { .handler = note_ac, .kp.addr = (void *)kpt_asm_sets_ac };

	if (!boot_cpu_has(X86_FEATURE_SMAP))
		kunit_skip(test, "this CPU has no SMAP");
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	ac_of_function = 0;
	ac_of_handler = X86_EFLAGS_AC;
	KUNIT_EXPECT_EQ(test, kpt_asm_reads_ac(), X86_EFLAGS_AC);
	unregister_kretprobe(&rp);
	KUNIT_EXPECT_EQ(test, ac_of_function, X86_EFLAGS_AC);
	KUNIT_EXPECT_EQ(test, ac_of_handler, 0);
}
#endif

static void given_maxactive_is_a_bound(struct kunit *test)
{
	struct ret_probe *r = ret_alloc(test, kpt_recurse);

	r->rp.maxactive = 3;
	ret_register(test, r);
	KUNIT_EXPECT_EQ(test, r->rp.maxactive, 3);
	KUNIT_EXPECT_EQ(test, kpt_recurse(9), 9ul);
	/* Ten calls, three of them probed; the entry handler ran for no other. */
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 3);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 7);
	/* All three instances are free again. */
	KUNIT_EXPECT_EQ(test, kpt_recurse(2), 2ul);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 6);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 7);
}

static int note_depth(struct ret_probe *r, struct kretprobe_instance *ri,
		      struct pt_regs *regs)
{
	*(unsigned long *)ri->data = atomic_read(&r->entries);
	return 0;
}

#define DEPTH	20

/* The n-th call made returns DEPTH + 1 - n: entry and return must agree. */
static void match_depth(struct ret_probe *r, struct kretprobe_instance *ri,
			struct pt_regs *regs)
{
	if (*(unsigned long *)ri->data + regs_return_value(regs) != DEPTH + 1)
		atomic_inc(&r->wrong);
}

static void recursion_matches_entries_with_returns(struct kunit *test)
{
	struct ret_probe *r = ret_alloc(test, kpt_recurse);

	r->rp.maxactive = 2 * DEPTH;
	r->rp.data_size = sizeof(unsigned long);
	r->on_entry = note_depth;
	r->on_return = match_depth;
	ret_register(test, r);
	KUNIT_EXPECT_EQ(test, kpt_recurse(DEPTH), (unsigned long)DEPTH);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), DEPTH + 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), DEPTH + 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->wrong), 0);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 0);
}

static void several_on_a_recursive_function(struct kunit *test)
{
	struct ret_probe *r[3];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		r[i] = ret_alloc(test, kpt_recurse);
		r[i]->rp.maxactive = 2 * DEPTH;
		r[i]->rp.data_size = sizeof(unsigned long);
		r[i]->on_entry = note_depth;
		r[i]->on_return = match_depth;
		ret_register(test, r[i]);
	}
	KUNIT_EXPECT_EQ(test, kpt_recurse(DEPTH), (unsigned long)DEPTH);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, atomic_read(&r[i]->entries), DEPTH + 1);
		KUNIT_EXPECT_EQ(test, atomic_read(&r[i]->returns), DEPTH + 1);
		KUNIT_EXPECT_EQ(test, atomic_read(&r[i]->wrong), 0);
	}
}

static void several_on_one_function_all_run(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_probe_post(test, site->fn);
	struct ret_probe *r[4];
	unsigned int i;

	for (i = 0; i < 4; i++)
		r[i] = ret_probe(test, site->fn);
	call(test, site);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, atomic_read(&r[i]->returns), 1);
		KUNIT_EXPECT_EQ(test, r[i]->value, KPT_RESULT(7ul));
	}
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
	ret_unregister(test, r[1]);
	call(test, site);
	KUNIT_EXPECT_EQ(test, atomic_read(&r[0]->returns), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&r[1]->returns), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&r[3]->returns), 2);
}

/* It must not be the trampoline, which other probes have left there. */
static void retaddr_is_true_with_several_probes(struct kunit *test)
{
	unsigned long unprobed = call_where();
	struct ret_probe *r[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		r[i] = ret_probe(test, kpt_ret_where);
	call_where();
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, r[i]->retaddr, unprobed);
}

static void nested_probed_functions_match(struct kunit *test)
{
	struct ret_probe *outer = ret_probe(test, kpt_ret_calls_both);
	struct ret_probe *plain = ret_probe(test, kpt_plain);
	struct ret_probe *traced = ret_probe(test, kpt_traced);
	unsigned long sum = KPT_RESULT(7ul) + KPT_RESULT(8ul);

	KUNIT_EXPECT_EQ(test, kpt_ret_calls_both(7), sum);
	KUNIT_EXPECT_EQ(test, plain->value, KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, traced->value, KPT_RESULT(8ul));
	KUNIT_EXPECT_EQ(test, outer->value, sum);
	KUNIT_EXPECT_EQ(test, atomic_read(&outer->returns), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&plain->returns), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&traced->returns), 1);
}

/* --- Functions that sleep, and that never return -------------------------- */

#define SLEEPERS	8
#define NAPS		5

/**
 * struct sleeper - a task that makes calls that sleep
 * @fn:	   the function
 * @arg:   its argument
 * @naps:  how many calls
 * @wrong: calls with another result than they should have
 * @done:  all calls have returned
 */
struct sleeper {
	kpt_fn_t fn;
	unsigned long arg;
	unsigned int naps;
	unsigned int wrong;
	bool done;
};

static int sleeper_fn(void *arg)
{
	struct sleeper *sleeper = arg;
	unsigned int i;

	for (i = 0; i < sleeper->naps; i++)
		if (sleeper->fn(sleeper->arg) != KPT_RESULT(sleeper->arg))
			sleeper->wrong++;
	WRITE_ONCE(sleeper->done, true);
	while (!kthread_should_stop())
		usleep_range(500, 1000);
	return 0;
}

static struct sleeper *alloc_sleepers(struct kunit *test, unsigned int nr)
{
	struct sleeper *sleepers = kunit_kcalloc(test, nr, sizeof(*sleepers), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, sleepers);
	return sleepers;
}

static void start_sleeper(struct kunit *test, struct sleeper *sleeper, kpt_fn_t fn,
			  unsigned long arg, unsigned int naps)
{
	sleeper->fn = fn;
	sleeper->arg = arg;
	sleeper->naps = naps;
	kpt_thread(test, sleeper_fn, sleeper, -1, "sleeper");
}

/* Sleeps until the gate is open. */
static noinline notrace unsigned long kpt_ret_waits(unsigned long gate)
{
	wait_for_completion_timeout((struct completion *)gate,
				    msecs_to_jiffies(2 * KPT_TIMEOUT_MS));
	return KPT_RESULT(gate);
}

static void open_gate(void *gate)
{
	complete_all(gate);
}

/* Threads that wait are stopped after it is opened, and it is freed after they have ended. */
static struct completion *gate_alloc(struct kunit *test)
{
	struct completion *gate = kunit_kzalloc(test, sizeof(*gate), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, gate);
	init_completion(gate);
	return gate;
}

static void start_waiters(struct kunit *test, struct sleeper *sleepers, unsigned int nr,
			  struct completion *gate, unsigned int naps)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		start_sleeper(test, &sleepers[i], kpt_ret_waits, (unsigned long)gate, naps);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, open_gate, gate), 0);
}

static void await_sleepers(struct kunit *test, struct sleeper *sleepers, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_TRUE(test, kpt_wait_until(READ_ONCE(sleepers[i].done)));
		KUNIT_EXPECT_EQ(test, sleepers[i].wrong, 0);
	}
}

static void functions_that_sleep_match(struct kunit *test)
{
	struct sleeper *sleepers = alloc_sleepers(test, SLEEPERS);
	struct ret_probe *r = ret_alloc(test, kpt_ret_sleeps);
	unsigned int i;

	r->rp.maxactive = SLEEPERS;
	r->rp.data_size = sizeof(struct note);
	r->on_entry = write_note;
	r->on_return = read_note;
	ret_register(test, r);
	/* They overtake one another. */
	for (i = 0; i < SLEEPERS; i++)
		start_sleeper(test, &sleepers[i], kpt_ret_sleeps, 1 + (i * 7) % 20, NAPS);
	await_sleepers(test, sleepers, SLEEPERS);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), SLEEPERS * NAPS);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), SLEEPERS * NAPS);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->wrong), 0);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, 0);
}

static void unregister_with_calls_in_flight(struct kunit *test)
{
	struct sleeper *sleepers = alloc_sleepers(test, 4);
	struct completion *gate = gate_alloc(test);
	struct ret_probe *r;

	/* This is freed while calls are in flight, which must not need it. */
	r = kzalloc(sizeof(*r), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, r);
	r->rp.kp.addr = kpt_text(kpt_ret_waits);
	r->rp.handler = ret_return;
	r->rp.entry_handler = ret_entry;
	if (register_kretprobe(&r->rp)) {
		kfree(r);
		KUNIT_FAIL_AND_ABORT(test, "cannot register");
	}
	start_waiters(test, sleepers, 4, gate, 2);
	kpt_wait_until(atomic_read(&r->entries) >= 4);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 4);
	unregister_kretprobe(&r->rp);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 0);
	/* A late handler would be counted in ret_orphans, without access to this. */
	memset(r, 0x6b, sizeof(*r));
	kfree(r);
	complete_all(gate);
	await_sleepers(test, sleepers, 4);
}

/* The counters outlive the probe here, so a late handler would show. */
static void no_handler_runs_after_unregister(struct kunit *test)
{
	struct ret_probe *r = ret_probe(test, kpt_ret_waits);
	struct sleeper *sleeper = alloc_sleepers(test, 1);
	struct completion *gate = gate_alloc(test);

	start_waiters(test, sleeper, 1, gate, 2);
	KUNIT_ASSERT_TRUE(test, kpt_wait_until(atomic_read(&r->entries) == 1));
	ret_unregister(test, r);
	complete_all(gate);
	await_sleepers(test, sleeper, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 0);
}

static void explicit_maxactive_bounds_sleepers_too(struct kunit *test)
{
	struct sleeper *sleepers = alloc_sleepers(test, SLEEPERS);
	struct ret_probe *r = ret_alloc(test, kpt_ret_waits);
	struct completion *gate = gate_alloc(test);

	r->rp.maxactive = 3;
	ret_register(test, r);
	start_waiters(test, sleepers, SLEEPERS, gate, 1);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(READ_ONCE(r->rp.nmissed) == SLEEPERS - 3));
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 3);
	complete_all(gate);
	await_sleepers(test, sleepers, SLEEPERS);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 3);
	KUNIT_EXPECT_EQ(test, r->rp.nmissed, SLEEPERS - 3);
}

static int leaver_fn(void *completion)
{
	return kpt_ret_exits((unsigned long)completion);
}

#define EXIT_PROBES	2

/* If there is a probe that has not seen another return, makes a call that returns. */
static bool exits_and_is_probed(struct ret_probe **r, const int *returns)
{
	bool again = false;
	unsigned int i;

	for (i = 0; i < EXIT_PROBES; i++)
		again |= atomic_read(&r[i]->returns) == returns[i];
	if (again)
		kpt_ret_exits(0);
	for (i = 0; i < EXIT_PROBES; i++) {
		if (atomic_read(&r[i]->returns) == returns[i])
			return false;
	}
	return true;
}

/* Each of them has one instance, which the task takes with it. */
static void tasks_that_exit_inside_leak_nothing(struct kunit *test)
{
	struct ret_probe *r[EXIT_PROBES];
	int entries[EXIT_PROBES], returns[EXIT_PROBES];
	unsigned int i, round;

	for (i = 0; i < EXIT_PROBES; i++) {
		r[i] = ret_alloc(test, kpt_ret_exits);
		r[i]->rp.maxactive = 1;
		ret_register(test, r[i]);
	}
	for (round = 0; round < 3; round++) {
		DECLARE_COMPLETION_ONSTACK(gone);
		struct task_struct *task;

		for (i = 0; i < EXIT_PROBES; i++) {
			entries[i] = atomic_read(&r[i]->entries);
			returns[i] = atomic_read(&r[i]->returns);
		}
		task = kthread_run(leaver_fn, &gone, "kpt_leaver");
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		wait_for_completion(&gone);
		for (i = 0; i < EXIT_PROBES; i++) {
			KUNIT_EXPECT_EQ(test, atomic_read(&r[i]->entries), entries[i] + 1);
			KUNIT_EXPECT_EQ(test, atomic_read(&r[i]->returns), returns[i]);
		}
		/* The instances are free again once the task is freed. */
		KUNIT_ASSERT_TRUE(test, kpt_wait_until(exits_and_is_probed(r, returns)));
	}
}

/* --- Disabling, batches --------------------------------------------------- */

static void disable_and_enable_a_return_probe(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct ret_probe *r = ret_probe(test, site->fn);

	KUNIT_EXPECT_EQ(test, disable_kretprobe(&r->rp), 0);
	call(test, site);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 0);
	KUNIT_EXPECT_EQ(test, enable_kretprobe(&r->rp), 0);
	call(test, site);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 1);
	ret_unregister(test, r);
	KUNIT_EXPECT_EQ(test, disable_kretprobe(&r->rp), -EINVAL);
	KUNIT_EXPECT_EQ(test, enable_kretprobe(&r->rp), -EINVAL);
}

static void flag_disabled_registers_switched_off(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct ret_probe *r = ret_alloc(test, site->fn);

	r->rp.kp.flags = KPROBE_FLAG_DISABLED;
	ret_register(test, r);
	call(test, site);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 0);
	KUNIT_EXPECT_EQ(test, enable_kretprobe(&r->rp), 0);
	call(test, site);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 1);
}

struct ret_batch {
	struct ret_probe *r[3];
	struct kretprobe *rps[3];
};

static void unregister_ret_batch(void *arg)
{
	struct ret_batch *batch = arg;

	unregister_kretprobes(batch->rps, 3);
}

static struct ret_batch *alloc_ret_batch(struct kunit *test)
{
	static void * const addrs[] = { kpt_plain, kpt_traced, kpt_plain2 };
	struct ret_batch *batch = kunit_kzalloc(test, sizeof(*batch), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, batch);
	for (i = 0; i < 3; i++) {
		batch->r[i] = ret_alloc(test, addrs[i]);
		batch->rps[i] = &batch->r[i]->rp;
	}
	return batch;
}

static void call_ret_batch(struct kunit *test, struct ret_batch *batch, int returns)
{
	unsigned int i;

	KUNIT_EXPECT_EQ(test, kpt_plain(1), KPT_RESULT(1ul));
	KUNIT_EXPECT_EQ(test, kpt_traced(2), KPT_RESULT(2ul));
	KUNIT_EXPECT_EQ(test, kpt_plain2(3), KPT_RESULT(3ul));
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&batch->r[i]->returns), returns);
}

static void batch_registers_and_unregisters_all(struct kunit *test)
{
	struct ret_batch *batch = alloc_ret_batch(test);

	KUNIT_ASSERT_EQ(test, register_kretprobes(batch->rps, 3), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unregister_ret_batch, batch), 0);
	call_ret_batch(test, batch, 1);
	kunit_release_action(test, unregister_ret_batch, batch);
	call_ret_batch(test, batch, 1);
}

static void unregister_batch_with_invalid_entries(struct kunit *test)
{
	struct ret_batch *batch = alloc_ret_batch(test);

	ret_register(test, batch->r[1]);
	/* 0 was never registered, 2 is gone already. */
	ret_register(test, batch->r[2]);
	ret_unregister(test, batch->r[2]);

	unregister_kretprobes(batch->rps, 3);
	KUNIT_EXPECT_NULL(test, (void *)batch->rps[0]->kp.addr);
	KUNIT_EXPECT_NOT_NULL(test, (void *)batch->rps[1]->kp.addr);
	KUNIT_EXPECT_NULL(test, (void *)batch->rps[2]->kp.addr);
	call_ret_batch(test, batch, 0);
}

static void batch_is_all_or_nothing(struct kunit *test)
{
	unsigned int bad;
	int ret;

	for (bad = 0; bad < 3; bad++) {
		struct ret_batch *batch = alloc_ret_batch(test);

		batch->rps[bad]->kp.addr = NULL;
		batch->rps[bad]->kp.symbol_name = "kpt_no_such_function";
		ret = register_kretprobes(batch->rps, 3);
		if (!ret)
			unregister_kretprobes(batch->rps, 3);
		KUNIT_EXPECT_EQ(test, ret, -ENOENT);
		call_ret_batch(test, batch, 0);
	}
}

static void batch_of_none_or_null_is_einval(struct kunit *test)
{
	struct ret_batch *batch = alloc_ret_batch(test);

	KUNIT_EXPECT_EQ(test, register_kretprobes(batch->rps, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kretprobes(batch->rps, -3), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kretprobes(NULL, 0), -EINVAL);
	unregister_kretprobes(batch->rps, 0);
}

static void register_again_after_unregister(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct ret_probe *r = ret_alloc(test, site->fn);
	int i;

	for (i = 1; i <= 20; i++) {
		r->rp.kp.addr = kpt_text(site->fn);
		r->rp.kp.flags = 0;
		ret_register(test, r);
		call(test, site);
		ret_unregister(test, r);
		call(test, site);
		KUNIT_ASSERT_EQ(test, atomic_read(&r->returns), i);
	}
}

/* --- Handlers and other probes ------------------------------------------- */

static void call_from_a_handler_is_missed(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr = kpt_alloc(test, kpt_addr(site));
	struct ret_probe *r = ret_probe(test, kpt_plain2);
	struct kpt_inner inner = { .fn = kpt_plain2, .arg = 5 };

	kpt_let_call(pr, false, &inner);
	kpt_register(test, pr);
	call(test, site);
	KUNIT_EXPECT_EQ(test, inner.result, KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, atomic_read(&r->entries), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 0);
	KUNIT_EXPECT_EQ(test, r->rp.kp.nmissed, 1ul);
	/* The next hit is not missed. */
	KUNIT_EXPECT_EQ(test, kpt_plain2(6), KPT_RESULT(6ul));
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 1);
}

static void return_calls_plain2(struct ret_probe *r, struct kretprobe_instance *ri,
				struct pt_regs *regs)
{
	if (kpt_plain2(5) != KPT_RESULT(5ul))
		atomic_inc(&r->wrong);
}

/* From a return handler in a task, then from one in an interrupt. */
static void hit_from_a_return_handler_is_missed(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct ret_probe *r = ret_alloc(test, site->fn);
	struct kpt_probe *pr = kpt_probe(test, kpt_plain2);
	unsigned int n;

	r->on_return = return_calls_plain2;
	ret_register(test, r);
	for (n = 1; n <= 2; n++) {
		if (n == 1)
			call(test, site);
		else
			KUNIT_EXPECT_EQ(test, kpt_call_in_irq(site->fn), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), n);
		KUNIT_EXPECT_EQ(test, atomic_read(&r->wrong), 0);
		KUNIT_EXPECT_EQ(test, pr->pre, 0);
		KUNIT_EXPECT_EQ(test, pr->kp.nmissed, (unsigned long)n);
	}
}

struct ret_intrusion {
	struct irq_work work;
	unsigned long result;
	bool done;
	bool over;
	bool armed;
};

static void ret_intrude(struct irq_work *work)
{
	struct ret_intrusion *in = container_of(work, struct ret_intrusion, work);

	in->over = READ_ONCE(in->armed);
	in->result = kpt_plain2(5);
	WRITE_ONCE(in->done, true);
}

static void return_awaits_irq_work(struct ret_probe *r, struct kretprobe_instance *ri,
				   struct pt_regs *regs)
{
	struct ret_intrusion *in = r->arg;

	WRITE_ONCE(in->armed, true);
	irq_work_queue(&in->work);
	kpt_spin_until(READ_ONCE(in->done), 2 * MSEC_PER_SEC);
	WRITE_ONCE(in->armed, false);
}

static void hit_by_interrupt_over_return_handler_runs(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct ret_intrusion *in = kunit_kzalloc(test, sizeof(*in), GFP_KERNEL);
	struct kpt_probe *pr = kpt_probe_post(test, kpt_plain2);
	struct ret_probe *nested = ret_probe(test, kpt_plain2);
	struct ret_probe *r = ret_alloc(test, site->fn);

	kpt_needs_nesting(test);
	KUNIT_ASSERT_NOT_NULL(test, in);
	in->work = IRQ_WORK_INIT_HARD(ret_intrude);
	r->on_return = return_awaits_irq_work;
	r->arg = in;
	ret_register(test, r);
	call(test, site);
	irq_work_sync(&in->work);
	KUNIT_ASSERT_TRUE(test, in->done);
	KUNIT_ASSERT_TRUE(test, in->over);
	KUNIT_EXPECT_EQ(test, in->result, KPT_RESULT(5ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, atomic_read(&nested->returns), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->returns), 1);
}

/* --- Stack traces --------------------------------------------------------- */

#if defined(CONFIG_STACKTRACE) && defined(CONFIG_ARCH_CORRECT_STACKTRACE_ON_KRETPROBE)

/* A trace has the inner function, the outer one, take_trace(), and its caller. */
#define TRACE_CALLER	3

/* One place to call it from: traces differ only by the probes. */
static noinline void take_trace(struct kpt_trace *trace)
{
	kpt_ret_trace_outer((unsigned long)trace);
	barrier();
}

static void expect_in_trace(struct kunit *test, const struct kpt_trace *trace,
			    unsigned long addr)
{
	unsigned int n;

	KUNIT_ASSERT_GE(test, trace->nr, 2);
	for (n = 0; n < trace->nr && trace->entries[n] != addr; n++)
		;
	KUNIT_EXPECT_LT(test, n, trace->nr);
}

static void stack_trace_shows_true_return_addresses(struct kunit *test)
{
	struct ret_probe *r[3];
	struct kpt_trace *traces;
	unsigned int i, n;

	traces = kunit_kcalloc(test, 4, sizeof(*traces), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, traces);
	/* Without probes, with one, with two, with three. */
	r[0] = ret_alloc(test, kpt_ret_trace_inner);
	r[1] = ret_alloc(test, kpt_ret_trace_outer);
	r[2] = ret_alloc(test, kpt_ret_trace_inner);
	for (i = 0; i < 4; i++) {
		if (i)
			ret_register(test, r[i - 1]);
		take_trace(&traces[i]);
	}
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&r[i]->returns), 3 - (int)i);
	KUNIT_ASSERT_GE(test, traces[0].nr, 4);
	for (i = 1; i < 4; i++) {
		if (IS_ENABLED(CONFIG_UNWINDER_GUESS)) {
			/* It also finds what earlier calls have left on the stack. */
			for (n = 0; n < TRACE_CALLER; n++)
				expect_in_trace(test, &traces[i], traces[0].entries[n]);
			continue;
		}
		KUNIT_EXPECT_EQ(test, traces[i].nr, traces[0].nr);
		for (n = 0; n < traces[0].nr; n++) {
			/* take_trace() is called from a different place each time. */
			if (n == TRACE_CALLER)
				continue;
			KUNIT_EXPECT_EQ_MSG(test, traces[i].entries[n], traces[0].entries[n],
					    "entry %u under %u probes", n, i);
		}
	}
}

static void trace_in_return(struct ret_probe *r, struct kretprobe_instance *ri,
			    struct pt_regs *regs)
{
	kpt_ret_trace_inner((unsigned long)r->arg);
}

static void stack_trace_in_a_return_handler_shows_the_caller(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_trace *trace = kunit_kzalloc(test, sizeof(*trace), GFP_KERNEL);
	struct ret_probe *r = ret_alloc(test, site->fn);

	KUNIT_ASSERT_NOT_NULL(test, trace);
	r->on_return = trace_in_return;
	r->arg = trace;
	ret_register(test, r);
	call(test, site);
	expect_in_trace(test, trace, r->retaddr);
}

static int trace_in_pre(struct kpt_probe *pr, struct pt_regs *regs)
{
	kpt_ret_trace_inner((unsigned long)pr->arg);
	return 0;
}

/* Stack trace at a probe that is hit inside a function under a return probe. */
static void stack_trace_in_a_handler_shows_the_caller(struct kunit *test)
{
	struct kpt_trace *trace = kunit_kzalloc(test, sizeof(*trace), GFP_KERNEL);
	struct ret_probe *r = ret_probe(test, kpt_ret_wraps);
	struct kpt_probe *pr = kpt_alloc(test, kpt_plain);

	KUNIT_ASSERT_NOT_NULL(test, trace);
	pr->on_pre = trace_in_pre;
	pr->arg = trace;
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_ret_wraps(7), KPT_RESULT(7ul));
	expect_in_trace(test, trace, r->retaddr);
}

#if defined(CONFIG_X86) && (defined(CONFIG_UNWINDER_ORC) || defined(CONFIG_UNWINDER_FRAME_POINTER))
/**
 * struct at_trampoline - traces of a call as if it had been interrupted on its way back
 * @first:  at the first instruction of the trampoline, from the handler of the interrupt
 * @regs:   the same, from the registers that it has saved
 * @frame:  the same, from where it has not saved them yet
 * @called: by the trampoline's own call, which leaves its return address in the slot
 *
 * A frame pointer says nothing of the last three.
 */
struct at_trampoline {
	struct kpt_trace first;
	struct kpt_trace regs;
	struct kpt_trace frame;
	struct kpt_trace called;
};

/* At the entry, after the return probe: the stack pointer is at the slot. */
static int trace_at_trampoline(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct at_trampoline *at = pr->arg;
	unsigned long *slot = (unsigned long *)regs->sp, ip = regs->ip;
	/* What the CPU pushes (SDM vol. 3, 6.14.2), and the first instruction after that. */
	unsigned long frame[] = {
		*slot, __KERNEL_CS, regs->flags, (unsigned long)(slot + 1), __KERNEL_DS,
	};
	struct pt_regs entry = {
		.ip = (unsigned long)kprobe_test_symbol("asm_exc_int3"),
		.cs = __KERNEL_CS,
		.sp = (unsigned long)frame,
	};

	regs->ip = *slot;
	regs->sp += sizeof(long);
	kpt_ret_trace_inner((unsigned long)&at->first);
	if (IS_ENABLED(CONFIG_UNWINDER_ORC)) {
		kpt_walk(&at->regs, regs);
		kpt_walk(&at->frame, &entry);
	}
	regs->sp -= sizeof(long);
	regs->ip = ip;
	if (!IS_ENABLED(CONFIG_UNWINDER_ORC))
		return 0;

	*slot += CALL_INSN_SIZE;
	kpt_ret_trace_inner((unsigned long)&at->called);
	*slot -= CALL_INSN_SIZE;
	return 0;
}

static void stack_trace_at_the_trampoline_shows_the_caller(struct kunit *test)
{
	struct at_trampoline *at = kunit_kzalloc(test, sizeof(*at), GFP_KERNEL);
	struct ret_probe *r = ret_probe(test, kpt_plain);
	struct kpt_probe *pr = kpt_alloc(test, kpt_plain);

	KUNIT_ASSERT_NOT_NULL(test, at);
	pr->on_pre = trace_at_trampoline;
	pr->arg = at;
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	expect_in_trace(test, &at->first, r->retaddr);
	if (!IS_ENABLED(CONFIG_UNWINDER_ORC))
		return;
	expect_in_trace(test, &at->frame, r->retaddr);
	expect_in_trace(test, &at->called, r->retaddr);
	/* After the registers, whose address it does not translate, it is in this function. */
	KUNIT_ASSERT_GE(test, at->regs.nr, 2);
	KUNIT_EXPECT_EQ(test, at->regs.entries[1], (unsigned long)__builtin_return_address(0));
}
#endif
#endif /* stack traces */

#define ENTRY_CASE(fn)	KUNIT_CASE_PARAM(fn, kpt_entry_site_gen)

static struct kunit_case kretprobe_cases[] = {
	ENTRY_CASE(handler_sees_the_return_value),
	KUNIT_CASE(register_by_symbol),
	ENTRY_CASE(entry_handler_sees_the_arguments),
	KUNIT_CASE(retaddr_is_the_true_return_address),
	ENTRY_CASE(handler_may_change_the_return_value),
	ENTRY_CASE(handlers_run_with_preemption_off),
	ENTRY_CASE(null_handlers_in_every_combination),
	ENTRY_CASE(handlers_of_the_kprobe_in_it_do_not_run),
	KUNIT_CASE(values_in_two_registers_are_returned),
	KUNIT_CASE(missed_calls_are_counted_from_registration),
	ENTRY_CASE(nonzero_entry_handler_skips_the_call),
	KUNIT_CASE(private_data_is_aligned_whatever_its_size),
	ENTRY_CASE(private_data_is_shared_by_the_handlers),
	KUNIT_CASE(not_at_a_function_entry_is_einval),
#ifdef CONFIG_X86_KERNEL_IBT
	KUNIT_CASE(entry_is_on_both_sides_of_its_endbr),
#endif
	KUNIT_CASE(function_that_switches_stacks_is_einval),
	KUNIT_CASE(unknown_symbol_is_enoent),
	KUNIT_CASE(symbol_and_addr_both_or_neither_is_einval),
	KUNIT_CASE(data_size_too_large_is_einval),
	ENTRY_CASE(double_registration_is_einval),
	KUNIT_CASE(unregister_of_never_registered_is_harmless),
	KUNIT_CASE(default_maxactive_is_not_written_back),
	KUNIT_CASE(bound_that_does_not_fit_is_enomem_without_pressure),
#ifndef CONFIG_X86
	KUNIT_CASE(entry_handler_sees_no_return_address),
#endif
#ifdef CONFIG_X86
	KUNIT_CASE_PARAM(entry_handler_sees_the_return_address, kpt_site_gen),
	KUNIT_CASE(flags_at_the_return_are_those_of_the_function),
	KUNIT_CASE(handlers_run_under_smap_after_a_function_that_suspends_it),
#endif
	KUNIT_CASE(given_maxactive_is_a_bound),
	KUNIT_CASE(recursion_matches_entries_with_returns),
	KUNIT_CASE(several_on_a_recursive_function),
	ENTRY_CASE(several_on_one_function_all_run),
	KUNIT_CASE(retaddr_is_true_with_several_probes),
	KUNIT_CASE(nested_probed_functions_match),
	KUNIT_CASE(functions_that_sleep_match),
	KUNIT_CASE_SLOW(unregister_with_calls_in_flight),
	KUNIT_CASE_SLOW(no_handler_runs_after_unregister),
	KUNIT_CASE(explicit_maxactive_bounds_sleepers_too),
	KUNIT_CASE(tasks_that_exit_inside_leak_nothing),
	ENTRY_CASE(disable_and_enable_a_return_probe),
	ENTRY_CASE(flag_disabled_registers_switched_off),
	KUNIT_CASE(batch_registers_and_unregisters_all),
	KUNIT_CASE(unregister_batch_with_invalid_entries),
	KUNIT_CASE(batch_is_all_or_nothing),
	KUNIT_CASE(batch_of_none_or_null_is_einval),
	ENTRY_CASE(register_again_after_unregister),
	ENTRY_CASE(call_from_a_handler_is_missed),
	ENTRY_CASE(hit_from_a_return_handler_is_missed),
	ENTRY_CASE(hit_by_interrupt_over_return_handler_runs),
#if defined(CONFIG_STACKTRACE) && defined(CONFIG_ARCH_CORRECT_STACKTRACE_ON_KRETPROBE)
	KUNIT_CASE(stack_trace_shows_true_return_addresses),
	ENTRY_CASE(stack_trace_in_a_return_handler_shows_the_caller),
	KUNIT_CASE(stack_trace_in_a_handler_shows_the_caller),
#if defined(CONFIG_X86) && (defined(CONFIG_UNWINDER_ORC) || defined(CONFIG_UNWINDER_FRAME_POINTER))
	KUNIT_CASE(stack_trace_at_the_trampoline_shows_the_caller),
#endif
#endif
	KPT_LAST_CASE,
	{}
};

static void ret_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, atomic_xchg(&ret_orphans, 0), 0);
}

static struct kunit_suite kretprobe_suite = {
	.name = "kretprobes",
	.suite_init = kpt_suite_init,
	.init = kpt_case_init,
	.exit = ret_exit,
	.test_cases = kretprobe_cases,
};

kunit_test_suite(kretprobe_suite);
