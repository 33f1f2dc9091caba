// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: what is read without a lock, because preemption or interrupts are off, or
 * in an RCU reader. Watches on the words that are read tell if that is so at each access.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kallsyms.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/sched.h>
#include <linux/static_call.h>
#include <asm/processor-flags.h>

#include "fixture.h"
#include "targets_x86.h"
#include "watch_x86.h"

#ifdef CONFIG_OPTPROBES
#include "jump_x86.h"
#endif

/* The words are those of one CPU, or read by other tasks, too. */
static struct task_struct *guards_task;

static int guards_init(struct kunit *test)
{
	guards_task = current;
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	return kpt_case_init(test);
}

static void guards_exit(struct kunit *test)
{
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/* Counts accesses of the task with preemption on. */
static void count_preemptible(struct kpt_watch *w, struct pt_regs *regs)
{
	if (current == guards_task)
		kpt_watch_preemptible(w, regs);
}

/* The same outside of RCU readers: others may hold the mutex instead. */
static void count_unread(struct kpt_watch *w, struct pt_regs *regs)
{
	if (current == guards_task)
		kpt_watch_unread(w, regs);
}

/* --- RCU readers ----------------------------------------------------------------- */

/* A module that is loaded meanwhile replaces the list. */
static void blacklist_is_read_by_an_rcu_reader(struct kunit *test)
{
	struct kpt_reader *r;

	r = kpt_watch_reader(test, kprobe_test_blacklist_word(), sizeof(long), count_unread);
	kpt_probe(test, kpt_plain);
	kpt_unwatch_reader(test, r);
}

/* The caller of kallsyms need not be an RCU reader itself. */
static void pages_of_slots_are_looked_for_by_an_rcu_reader(struct kunit *test)
{
	struct kpt_reader *r;
	char name[KSYM_NAME_LEN];
	unsigned long addr;
	char type;

	kpt_probe(test, kpt_plain);
	r = kpt_watch_reader(test, kprobe_test_slots_word(), sizeof(long), count_unread);
	KUNIT_EXPECT_EQ(test, kprobe_get_kallsym(0, &addr, &type, name), 0);
	kpt_unwatch_reader(test, r);
}

/* --- Preemption ------------------------------------------------------------------ */

#ifdef MODULE
/* kallsyms looks at modules as an RCU reader. */
static void count_unguarded(struct kpt_watch *w, struct pt_regs *regs)
{
	unsigned int *times = w->arg, before = *times;

	if (current != guards_task)
		return;
	kpt_watch_preemptible(w, regs);
	if (*times == before)
		return;
	*times = before;
	kpt_watch_unread(w, regs);
}

/* Until it is held, another CPU could free it. */
static void module_is_looked_at_with_preemption_off_until_it_is_held(struct kunit *test)
{
	struct kpt_reader *r;

	r = kpt_watch_reader(test, &THIS_MODULE->state, sizeof(THIS_MODULE->state),
			     count_unguarded);
	kpt_probe(test, kpt_plain);
	kpt_unwatch_reader(test, r);
}

/* The file would read the name after the module was freed. */
static void check_name(struct kunit *test, const char *file)
{
	struct kpt_reader *r;

	kpt_needs_debugfs(test);
	kpt_probe(test, kpt_plain);
	wait_for_kprobe_optimizer();
	r = kpt_watch_reader(test, THIS_MODULE->name, 1, count_unguarded);
	KUNIT_EXPECT_NOT_NULL(test, strstr(kpt_read(test, &kpt_debugfs, file), "kpt_plain"));
	kpt_unwatch_reader(test, r);
}

static void list_shows_the_name_of_a_module_with_preemption_off(struct kunit *test)
{
	check_name(test, "kprobes/list");
}

static void points_show_the_name_of_a_module_with_preemption_off(struct kunit *test)
{
	check_name(test, "kprobes/points");
}
#endif

/* Another CPU's hits would be missed from then on, or a handler that runs not be shown. */
static void what_runs_is_marked_with_preemption_off(struct kunit *test)
{
	struct kpt_reader *r;

	r = kpt_watch_reader(test, kprobe_test_running_word(raw_smp_processor_id()),
			     sizeof(long), count_preemptible);
	kprobe_busy_begin();
	kprobe_busy_end();
	KUNIT_EXPECT_GE(test, r->w->times, 3);
	kprobe_test_oops();
	KUNIT_EXPECT_GE(test, r->w->times, 4);
	kpt_unwatch_reader(test, r);
}

/*
 * What another CPU shows may be the address of a word in a detour. The detour stays mapped
 * only as long as preemption is off.
 */
static void what_another_cpu_runs_is_read_with_preemption_off(struct kunit *test)
{
	unsigned int there = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	struct kpt_probe *pr = kpt_probe(test, kpt_plain);
	struct kpt_reader *r;

	if (there >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");
	r = kpt_watch_reader(test, kprobe_test_running_word(there), sizeof(long),
			     kpt_watch_preemptible);
	kpt_unregister(test, pr);
	kpt_unwatch_reader(test, r);
}

/* The caller could go on elsewhere, and find the handler of another task. */
static void caller_is_looked_at_with_preemption_off(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_plain);
	struct kpt_reader *r;

	r = kpt_watch_reader(test, kprobe_test_running_word(raw_smp_processor_id()),
			     sizeof(long), count_preemptible);
	/* It is enabled already. */
	KUNIT_EXPECT_EQ(test, enable_kprobe(&pr->kp), 0);
	kpt_unwatch_reader(test, r);
}

static void count_hidden(struct kpt_watch *w, struct pt_regs *regs)
{
	unsigned int *hidden = w->arg;

	*hidden += !kprobe_test_shown(KPROBE_CTX_TASK);
}

/* Otherwise unregistering would not wait for the handler that the hit is about to call. */
static void hit_reads_its_probe_when_the_point_is_shown(struct kunit *test)
{
	static const kpt_fn_t fns[] = { kpt_plain, kpt_traced };
	unsigned int *hidden = kunit_kzalloc(test, sizeof(*hidden), GFP_KERNEL), i;
	struct kpt_probe *pr;
	struct kpt_watch *w;

	KUNIT_ASSERT_NOT_NULL(test, hidden);
#ifdef CONFIG_OPTPROBES
	kpt_forbid_jumps(test);
#endif
	for (i = 0; i < ARRAY_SIZE(fns); i++) {
		pr = kpt_probe(test, fns[i]);
		w = kpt_watch(test, kprobe_test_only_word(&pr->kp), sizeof(long),
			      raw_smp_processor_id(), count_hidden, hidden);
		KUNIT_EXPECT_EQ(test, fns[i](7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, pr->pre, 1);
		KUNIT_EXPECT_GE_MSG(test, w->times, 1, "%ps", fns[i]);
		KUNIT_EXPECT_EQ_MSG(test, *hidden, 0, "%ps", fns[i]);
		kpt_unwatch(test, w);
	}
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/* The table and the point could be freed in between. */
static void point_of_an_ftrace_site_is_looked_up_with_preemption_off(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_traced);
	struct kpt_reader *r;

	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&pr->kp));
	r = kpt_watch_reader(test, kprobe_test_points_word(), sizeof(long), count_preemptible);
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	kpt_unwatch_reader(test, r);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}
#endif

static void give_slot_back(void *slot)
{
	free_insn_slot(slot, 0);
}

/* The same if anyone asks whose a byte of text is. */
static void point_of_a_byte_of_text_is_looked_up_with_preemption_off(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_plain);
	struct kpt_reader *r;

	r = kpt_watch_reader(test, kprobe_test_points_word(), sizeof(long), count_preemptible);
	KUNIT_EXPECT_TRUE(test, kprobe_has_text((unsigned long)pr->kp.addr));
	kpt_unwatch_reader(test, r);
}

/* The same for a page. Unwinders ask that, for instance. */
static void page_of_a_slot_is_looked_up_with_preemption_off(struct kunit *test)
{
	struct kpt_reader *r;
	void *slot;

	slot = get_insn_slot();
	KUNIT_ASSERT_NOT_NULL(test, slot);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, give_slot_back, slot), 0);
	r = kpt_watch_reader(test, kprobe_test_copies_word(), sizeof(long), count_preemptible);
	KUNIT_EXPECT_TRUE(test, is_kprobe_insn_slot((unsigned long)slot));
	kpt_unwatch_reader(test, r);
}

/* --- Other guards ----------------------------------------------------------------- */

static kprobe_opcode_t *guards_text;

/* Tells in @arg if a debugger was let in when the byte was read last, before hits find it. */
static void let_debuggers_in(struct kpt_watch *w, struct pt_regs *regs)
{
	unsigned int *in = w->arg;

	if (!get_kprobe(guards_text))
		*in = !kprobe_has_text((unsigned long)guards_text);
}

/* If a debugger sets a breakpoint after the text was read, the probe would overwrite it. */
static void debuggers_keep_out_while_the_text_of_a_point_is_read(struct kunit *test)
{
	struct kprobe p = { .flags = KPROBE_FLAG_DISABLED };
	unsigned long middle;
	struct kpt_reader *r;

	guards_text = kpt_text(kpt_zeropad) + kpt_zeropad_at;
	middle = (unsigned long)guards_text + 1;
	p.addr = guards_text;
	r = kpt_watch_reader(test, guards_text, 1, let_debuggers_in);
	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	KUNIT_EXPECT_GT(test, r->w->times, 1);
	KUNIT_EXPECT_EQ(test, r->times, 0);
	kpt_unwatch(test, r->w);
	unregister_kprobe(&p);
	KUNIT_EXPECT_FALSE(test, kprobe_has_text((unsigned long)guards_text));

	/* Nor longer than that, if there will be no point. */
	memset(&p, 0, sizeof(p));
	p.addr = (kprobe_opcode_t *)middle;
	KUNIT_EXPECT_EQ(test, register_kprobe(&p), -EILSEQ);
	KUNIT_EXPECT_FALSE(test, kprobe_has_text(middle));
}

/**
 * struct locked - watches on a word that has to be read under a lock, on all CPUs
 * @held:     the lock, which has to be held
 * @w:	      the watches
 * @nr:	      how many
 * @unlocked: accesses without the lock
 */
struct locked {
	void *held;
	struct kpt_watch *w[8];
	unsigned int nr;
	unsigned int unlocked;
};

static void __maybe_unused count_unlocked(struct kpt_watch *w, struct pt_regs *regs)
{
	struct locked *l = w->arg;
	struct mutex *held = l->held;

	l->unlocked += !mutex_is_locked(held);
}

/* One access without the lock shows that it can fail. The optimizer runs on any CPU. */
static void __maybe_unused watch_lock(struct kunit *test, struct locked *l, const char *lock,
				      const void *word, size_t size)
{
	unsigned int cpu;

	memset(l, 0, sizeof(*l));
	l->held = kprobe_test_symbol(lock);
	if (!l->held)
		kunit_skip(test, "needs the symbols of data");
	for_each_online_cpu(cpu) {
		KUNIT_ASSERT_LT(test, l->nr, ARRAY_SIZE(l->w));
		l->w[l->nr++] = kpt_watch(test, word, size, cpu, count_unlocked, l);
	}
	READ_ONCE(*(const u8 *)word);
	barrier();
	KUNIT_EXPECT_EQ(test, l->unlocked, 1);
}

static void __maybe_unused unwatch_lock(struct kunit *test, struct locked *l)
{
	unsigned int times = 0;

	while (l->nr--) {
		times += l->w[l->nr]->times;
		kpt_unwatch(test, l->w[l->nr]);
	}
	KUNIT_EXPECT_GT(test, times, 1);
	KUNIT_EXPECT_EQ(test, l->unlocked, 1);
}

/* A load on which a probe stays a breakpoint, with a copy. */
static u8 *load_with_breakpoint(struct kunit *test)
{
	u8 *addr = (u8 *)kpt_load;

#ifdef CONFIG_OPTPROBES
	kpt_forbid_jumps(test);
#endif
	OPTIMIZER_HIDE_VAR(addr);
	return addr + kpt_load_at;
}

/* The other part of a point that two probes share has read it already. */
static void text_of_a_copy_for_post_handlers_is_read_under_its_lock(struct kunit *test)
{
	u8 *addr = load_with_breakpoint(test);
	struct locked l;

	kpt_probe(test, addr);
	watch_lock(test, &l, "text_mutex", addr, 1);
	kpt_probe_post(test, addr);
	unwatch_lock(test, &l);
}

/* Not the first byte: x86_lock_prefix_within() looks at it without the lock, and then asks. */
static void text_of_a_point_is_read_under_its_lock(struct kunit *test)
{
	u8 *addr = load_with_breakpoint(test);
	struct locked l;

	watch_lock(test, &l, "text_mutex", addr + 1, 1);
	kpt_probe(test, addr);
	unwatch_lock(test, &l);
}

#ifdef CONFIG_SMP
extern u8 kpt_guards_ds[];

/* A prefix that stands for LOCK as long as there is one CPU, but not here. */
static noinline void guards_unlocked(int *v)
{
	asm volatile("kpt_guards_ds:\n\t"
		     ANNOTATE_NOENDBR
		     ".byte 0x3e; incl %0" : "+m" (*v));
}

/* Modules that come and go add theirs to the list. */
static void list_of_lock_prefixes_is_read_under_its_lock(struct kunit *test)
{
	const void *list = kprobe_test_symbol("smp_alt_modules");
	struct kpt_probe *pr = kpt_alloc(test, kpt_guards_ds);
	struct locked l;
	int v = 0;

	if (!list)
		kunit_skip(test, "needs the symbols of data");
	watch_lock(test, &l, "text_mutex", list, sizeof(long));
	kpt_register(test, pr);
	unwatch_lock(test, &l);
	guards_unlocked(&v);
	KUNIT_EXPECT_EQ(test, v, 1);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}
#endif

#ifdef MODULE
static void module_has_come(void *unused)
{
	THIS_MODULE->state = MODULE_STATE_LIVE;
	kprobe_test_module_event(THIS_MODULE, MODULE_STATE_LIVE);
}

/* Loads this module, as far as kprobes know. */
static int announce_module(void *ret)
{
	WRITE_ONCE(*(int *)ret, kprobe_test_module_event(THIS_MODULE, MODULE_STATE_COMING));
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

static void module_comes(struct kunit *test, bool by_another)
{
	struct task_struct *task;
	int ret = 1;

	if (by_another) {
		task = kpt_thread(test, announce_module, &ret, -1, "loads");
		kpt_wait_until(READ_ONCE(ret) != 1);
		kpt_stop(test, task);
	} else {
		ret = kprobe_test_module_event(THIS_MODULE, MODULE_STATE_COMING);
	}
	KUNIT_ASSERT_EQ(test, ret, 0);
	THIS_MODULE->state = MODULE_STATE_COMING;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, module_has_come, NULL), 0);
}

/* Until the module is live, another CPU may be sorting what is at @word. */
static void __maybe_unused check_lock_while_it_comes(struct kunit *test, const char *lock,
						     const void *word)
{
	struct kpt_probe *pr = kpt_alloc(test, kpt_plain);
	struct locked l;
#ifdef CONFIG_MODULE_UNLOAD
	int refs = module_refcount(THIS_MODULE);
#endif

	module_comes(test, true);
	watch_lock(test, &l, lock, word, sizeof(s32));
	kpt_register(test, pr);
	unwatch_lock(test, &l);
	kpt_unregister(test, pr);
#ifdef CONFIG_MODULE_UNLOAD
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs);
#endif
}

#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
DEFINE_STATIC_CALL(guards_call, kpt_plain);

static noinline __noclone notrace unsigned long guards_call_plain(unsigned long arg)
{
	return static_call(guards_call)(arg) + 1;
}

static void static_calls_of_a_module_that_comes_are_read_under_their_lock(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, guards_call_plain(7), KPT_RESULT(7ul) + 1);
	KUNIT_ASSERT_GT(test, THIS_MODULE->num_static_call_sites, 0);
	check_lock_while_it_comes(test, "static_call_mutex", THIS_MODULE->static_call_sites);
}

/* It would take long for each probe: they walk the sites of the kernel, too. */
static void task_that_loads_a_module_asks_no_owner_of_its_sites(struct kunit *test)
{
	struct static_call_site *site = THIS_MODULE->static_call_sites;
	unsigned long addr = (unsigned long)site->addr + (unsigned long)&site->addr;
	struct kpt_probe *asked = kpt_alloc(test, NULL), *pr = kpt_alloc(test, kpt_plain);
	unsigned int another;

	asked->kp.symbol_name = "static_call_text_reserved";
	kpt_register(test, asked);
	for (another = 0; another < 2; another++) {
		module_comes(test, another);
		asked->pre = 0;
		kpt_register(test, pr);
		KUNIT_EXPECT_TRUE(test, kprobe_test_reserved(addr, addr));
		KUNIT_EXPECT_EQ(test, asked->pre > 0, another);
		kpt_unregister(test, pr);
		pr->kp.addr = kpt_text(kpt_plain);
		kunit_release_action(test, module_has_come, NULL);
	}
}
#endif

#ifdef CONFIG_JUMP_LABEL
static void jump_labels_of_a_module_that_comes_are_read_under_their_lock(struct kunit *test)
{
	KUNIT_ASSERT_GT(test, THIS_MODULE->num_jump_entries, 0);
	check_lock_while_it_comes(test, "jump_label_mutex", THIS_MODULE->jump_entries);
}
#endif
#endif

#if defined(CONFIG_JUMP_LABEL) && defined(CONFIG_HAVE_JUMP_LABEL_HACK)
/* The length of a label's site is read from text that may change. */
static void jump_labels_of_the_kernel_are_measured_under_their_lock(struct kunit *test)
{
	unsigned long addr = 1;
	unsigned int nr, len;
	struct locked l;

	for (nr = 0; addr == 1; nr++)
		addr = kprobe_test_patched(false, nr, &len);
	KUNIT_ASSERT_NE(test, addr, 0ul);
	kprobe_test_forget_reserved();
	watch_lock(test, &l, "jump_label_mutex", (void *)addr, 1);
	KUNIT_EXPECT_TRUE(test, kprobe_test_reserved(addr, addr));
	unwatch_lock(test, &l);
}
#endif

#ifdef CONFIG_OPTPROBES
/* --- Jumps ------------------------------------------------------------------------ */

/* Skips what the jump has displaced. */
static void skip_displaced(struct kpt_probe *pr, struct pt_regs *regs)
{
	unsigned int len = pr->kp.addr == (void *)KPT_JUMP_AT(two) ? KPT_JUMP_SIZE :
								      KPT_THREE_AFTER;

	regs->ax = KPT_JUMP_ARG(regs);
	regs->ip = (unsigned long)pr->kp.addr + len;
}

static int skip_from_pre(struct kpt_probe *pr, struct pt_regs *regs)
{
	skip_displaced(pr, regs);
	return 1;
}

/* Goes on at the second instruction of another jump, in its detour. */
static void enter_two(struct pt_regs *regs)
{
	regs->ax = 0;
	regs->ip = (unsigned long)KPT_JUMP_AT(two) + KPT_TWO_SECOND;
}

static int enter_from_pre(struct kpt_probe *pr, struct pt_regs *regs)
{
	enter_two(regs);
	return 1;
}

static void enter_from_post(struct kpt_probe *pr, struct pt_regs *regs)
{
	enter_two(regs);
}

static void expect_jump(struct kunit *test, struct kpt_probe *pr)
{
	KUNIT_ASSERT_TRUE_MSG(test, kprobe_optimized(&pr->kp), "%s",
			      kpt_jump_reason(test, &pr->kp));
}

/**
 * struct jumps - a combination of handlers
 * @post:  there is a post-handler
 * @leave: the last handler changes where execution continues
 * @pair:  there is a second probe
 */
struct jumps {
	bool post;
	bool leave;
	bool pair;
};

static void check_marks(struct kunit *test, const struct jumps *j)
{
	const struct kpt_jump_target targets[] = {
		KPT_JUMP_AND_AT(two), KPT_JUMP_AND_AT(emulated), KPT_JUMP_AND_AT(copied),
	};
	struct kpt_probe *pr[2 * ARRAY_SIZE(targets)];
	struct kpt_reader *r;
	unsigned int i, nr = 0;

	for (i = 0; i < ARRAY_SIZE(targets); i++) {
		pr[nr] = kpt_alloc_with(test, targets[i].addr, true, j->post);
		if (j->leave && j->post)
			pr[nr]->on_post = skip_displaced;
		else if (j->leave)
			pr[nr]->on_pre = skip_from_pre;
		kpt_register(test, pr[nr++]);
		if (j->pair)
			pr[nr++] = kpt_probe(test, targets[i].addr);
	}
	wait_for_kprobe_optimizer();
	r = kpt_watch_reader(test, kprobe_test_running_word(raw_smp_processor_id()),
			     sizeof(long), count_preemptible);
	for (i = 0; i < ARRAY_SIZE(targets); i++)
		KUNIT_EXPECT_EQ_MSG(test, targets[i].fn(7), KPT_RESULT(7ul), "%pS",
				    targets[i].addr);
	/* At least a mark is set and cleared. */
	KUNIT_EXPECT_GT(test, r->w->times, 2 * ARRAY_SIZE(targets));
	kpt_unwatch_reader(test, r);
	for (i = 0; i < nr; i++) {
		expect_jump(test, pr[i]);
		if (!j->pair || i % 2 == 0)
			KUNIT_EXPECT_EQ(test, pr[i]->pre, 1);
		kpt_unregister(test, pr[i]);
	}
}

/*
 * Otherwise the task could be preempted in between. Its CPU would miss all hits, and the
 * task would then clear the mark of another CPU, on which a handler runs.
 */
static void jump_shows_its_point_with_preemption_off(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		const struct jumps j = { .post = i & 1, .leave = i & 2, .pair = i & 4 };

		check_marks(test, &j);
	}
}

/* The other detour could be freed in between. */
static void detour_to_go_on_in_is_looked_up_with_preemption_off(struct kunit *test)
{
	struct kpt_probe *two, *pre, *post;
	struct kpt_reader *r;

	two = kpt_probe(test, KPT_JUMP_AT(two));
	pre = kpt_alloc(test, KPT_JUMP_AT(emulated));
	pre->on_pre = enter_from_pre;
	kpt_register(test, pre);
	post = kpt_alloc_with(test, KPT_JUMP_AT(copied), true, true);
	post->on_post = enter_from_post;
	kpt_register(test, post);
	wait_for_kprobe_optimizer();
	expect_jump(test, two);
	expect_jump(test, pre);
	expect_jump(test, post);
	r = kpt_watch_reader(test, &get_kprobe(two->kp.addr)->ainsn.detour, sizeof(long),
			     count_preemptible);
	KUNIT_EXPECT_EQ(test, kpt_jump_emulated(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_jump_copied(8), KPT_RESULT(8ul));
	KUNIT_EXPECT_GE(test, r->w->times, 1 + 2);
	kpt_unwatch_reader(test, r);
	KUNIT_EXPECT_EQ(test, pre->pre, 1);
	KUNIT_EXPECT_EQ(test, post->post, 1);
	KUNIT_EXPECT_EQ(test, two->pre, 0);
}

#ifdef MODULE
static void check_lock(struct kunit *test, const char *lock, const void *word, size_t size)
{
	struct kpt_probe *pr;
	struct locked l;

	watch_lock(test, &l, lock, word, size);
	pr = kpt_probe(test, KPT_JUMP_AT(two));
	wait_for_kprobe_optimizer();
	unwatch_lock(test, &l);
	expect_jump(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_jump_two(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

/**
 * struct worker_looks - what the optimizer's worker reads of a module
 * @worker: the worker, when it looks at a point
 * @held:   the lock that keeps the module
 * @times:  accesses
 * @bare:   accesses without the lock and with preemption on
 */
struct worker_looks {
	struct task_struct *worker;
	void *held;
	unsigned int times;
	unsigned int bare;
};

static void note_worker(enum kprobe_stage stage, void *arg)
{
	struct worker_looks *l = arg;

	if (stage == KPROBE_STAGE_CHOSEN)
		WRITE_ONCE(l->worker, current);
}

static void count_looks(struct kpt_watch *w, struct pt_regs *regs)
{
	struct kpt_watch counts = { .arg = &(unsigned int){ 0 } };
	struct worker_looks *l = w->arg;
	struct mutex *held = l->held;

	if (current != READ_ONCE(l->worker))
		return;
	l->times++;
	if (mutex_is_locked(held))
		return;
	kpt_watch_preemptible(&counts, regs);
	l->bare += *(unsigned int *)counts.arg;
}

/* That module may be freed meanwhile, or another one next to it in the tree. */
static void worker_looks_for_modules_with_preemption_off(struct kunit *test)
{
	struct worker_looks *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct kpt_probe *pr;
	unsigned int cpu;

	if (!IS_ENABLED(CONFIG_PREEMPT_COUNT))
		kunit_skip(test, "preemption is not counted");
	KUNIT_ASSERT_NOT_NULL(test, l);
	l->held = kprobe_test_symbol("module_mutex");
	if (!l->held)
		kunit_skip(test, "needs the symbols of data");
	for_each_online_cpu(cpu)
		kpt_watch(test, &THIS_MODULE->state, sizeof(THIS_MODULE->state), cpu,
			  count_looks, l);
	kpt_watch_stages(test, note_worker, l);
	pr = kpt_probe(test, KPT_JUMP_AT(two));
	wait_for_kprobe_optimizer();
	kpt_unwatch_stages(test);
	WRITE_ONCE(l->worker, NULL);
	expect_jump(test, pr);
	KUNIT_EXPECT_GE(test, l->times, 2);
	KUNIT_EXPECT_EQ(test, l->bare, 0);
}

/* The entries of init text may leave the table. */
static void exception_table_of_a_module_is_read_under_its_lock(struct kunit *test)
{
	check_lock(test, "module_mutex", &THIS_MODULE->num_exentries,
		   sizeof(THIS_MODULE->num_exentries));
}

#ifdef CONFIG_JUMP_LABEL
/* Another CPU may be sorting those of a module that comes. */
static void jump_labels_of_a_module_are_read_under_their_lock(struct kunit *test)
{
	KUNIT_ASSERT_GT(test, THIS_MODULE->num_jump_entries, 0);
	check_lock(test, "jump_label_mutex", THIS_MODULE->jump_entries, sizeof(s32));
}
#endif
#endif

#ifdef CONFIG_X86_64
static int let_it_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	return 0;
}

/* That is on, as for the faulting code; the handler of another task could be found. */
static void handler_that_faulted_is_looked_for_with_preemption_off(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, (char *)kpt_text(kpt_load) + kpt_load_at);
	struct kpt_reader *r;

	pr->kp.fault_handler = let_it_fault;
	kpt_register(test, pr);
	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	r = kpt_watch_reader(test, kprobe_test_running_word(raw_smp_processor_id()),
			     sizeof(long), count_preemptible);
	KUNIT_EXPECT_EQ(test, kpt_load((void *)0x5a5a5a5a5a5a5a5aul), KPT_FAULTED);
	kpt_unwatch_reader(test, r);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}
#endif

/* --- Interrupts ------------------------------------------------------------------- */

static void count_interruptible(struct kpt_watch *w, struct pt_regs *regs)
{
	unsigned int *times = w->arg;

	if (current == guards_task)
		*times += !!(regs->flags & X86_EFLAGS_IF);
}

/* No point comes or goes meanwhile, as that interrupts every CPU. */
static void text_without_probes_is_read_with_interrupts_off(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, KPT_JUMP_AT(two));
	struct kpt_reader *r;
	u8 text = 0;

	wait_for_kprobe_optimizer();
	expect_jump(test, pr);
	r = kpt_watch_reader(test, pr->kp.addr, 1, count_interruptible);
	kprobe_text(&text, (unsigned long)pr->kp.addr, sizeof(text));
	kpt_unwatch_reader(test, r);
	KUNIT_EXPECT_NE(test, text, JMP32_INSN_OPCODE);
}
#endif /* CONFIG_OPTPROBES */

static struct kunit_case guards_cases[] = {
	KUNIT_CASE(blacklist_is_read_by_an_rcu_reader),
	KUNIT_CASE(pages_of_slots_are_looked_for_by_an_rcu_reader),
#ifdef MODULE
	KUNIT_CASE(module_is_looked_at_with_preemption_off_until_it_is_held),
	KUNIT_CASE(list_shows_the_name_of_a_module_with_preemption_off),
	KUNIT_CASE(points_show_the_name_of_a_module_with_preemption_off),
#endif
	KUNIT_CASE(what_runs_is_marked_with_preemption_off),
	KUNIT_CASE(what_another_cpu_runs_is_read_with_preemption_off),
	KUNIT_CASE(caller_is_looked_at_with_preemption_off),
	KUNIT_CASE(hit_reads_its_probe_when_the_point_is_shown),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(point_of_an_ftrace_site_is_looked_up_with_preemption_off),
#endif
	KUNIT_CASE(point_of_a_byte_of_text_is_looked_up_with_preemption_off),
	KUNIT_CASE(page_of_a_slot_is_looked_up_with_preemption_off),
	KUNIT_CASE(debuggers_keep_out_while_the_text_of_a_point_is_read),
	KUNIT_CASE(text_of_a_point_is_read_under_its_lock),
	KUNIT_CASE(text_of_a_copy_for_post_handlers_is_read_under_its_lock),
#ifdef CONFIG_SMP
	KUNIT_CASE(list_of_lock_prefixes_is_read_under_its_lock),
#endif
#if defined(MODULE) && defined(CONFIG_HAVE_STATIC_CALL_INLINE)
	KUNIT_CASE(static_calls_of_a_module_that_comes_are_read_under_their_lock),
	KUNIT_CASE(task_that_loads_a_module_asks_no_owner_of_its_sites),
#endif
#if defined(MODULE) && defined(CONFIG_JUMP_LABEL)
	KUNIT_CASE(jump_labels_of_a_module_that_comes_are_read_under_their_lock),
#endif
#if defined(CONFIG_JUMP_LABEL) && defined(CONFIG_HAVE_JUMP_LABEL_HACK)
	KUNIT_CASE(jump_labels_of_the_kernel_are_measured_under_their_lock),
#endif
#ifdef CONFIG_OPTPROBES
	KUNIT_CASE(jump_shows_its_point_with_preemption_off),
	KUNIT_CASE(detour_to_go_on_in_is_looked_up_with_preemption_off),
#ifdef MODULE
	KUNIT_CASE(worker_looks_for_modules_with_preemption_off),
	KUNIT_CASE(exception_table_of_a_module_is_read_under_its_lock),
#ifdef CONFIG_JUMP_LABEL
	KUNIT_CASE(jump_labels_of_a_module_are_read_under_their_lock),
#endif
#endif
#ifdef CONFIG_X86_64
	KUNIT_CASE(handler_that_faulted_is_looked_for_with_preemption_off),
#endif
	KUNIT_CASE(text_without_probes_is_read_with_interrupts_off),
#endif
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite guards_suite = {
	.name = "kprobes_guards",
	.suite_init = kpt_files_suite_init,
	.suite_exit = kpt_unmount_files,
	.init = guards_init,
	.exit = guards_exit,
	.test_cases = guards_cases,
};

kunit_test_suite(guards_suite);
