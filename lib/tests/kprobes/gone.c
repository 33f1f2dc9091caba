// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: probes whose text is gone. They are set on init text while this
 * module is loaded. When the suite runs, that text has been freed.
 */
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#ifdef CONFIG_X86
#include <asm/text-patching.h>
#endif

#include "fixture.h"

/* Elsewhere handlers run with interrupts off, so changing text waits for them anyway. */
#if defined(MODULE) && defined(CONFIG_KPROBES_ON_FTRACE)
#define SLOW_HANDLER
#endif

enum { ENABLED, OFF, POST, NR_GONE };

/**
 * struct gone - what happens to the probes
 * @pr:	       the probes
 * @error:     results of registering them
 * @rp:	       a return probe
 * @ret_error: result of registering it
 * @set:       they are registered
 * @result:    what the function returned before its text was gone
 * @before:    counts from before they were registered
 * @addr:      address of the function
 * @fn:	       the function
 * @piece:     piece of a function that may not be probed
 * @piece_error: result of probing it
 * @is_last:   the text has run a last time, when it could not be probed any more
 * @last_result: what the function returned then
 * @last_error: result of probing it then
 * @last_refs: references to the module that this has taken
 * @last_hits: hits of the probes then
 * @slow:      another probe, whose handler takes its time
 * @slow_error: result of registering it
 * @slow_fn:   its function
 * @caller:    a thread that calls that again and again; NULL if there is no CPU for it
 * @inside:    that handler runs
 * @enough:    it may end
 * @late:      it was running when the subsystem had dealt with its text
 */
static struct gone {
	struct kpt_probe pr[NR_GONE];
	int error[NR_GONE];
#ifdef CONFIG_KRETPROBES
	struct kretprobe rp;
	int ret_error;
#endif
	bool set;
	unsigned long result;
	struct kprobe_counts before;
	void *addr;
	kpt_fn_t fn;
	unsigned long piece;
	int piece_error;
	bool is_last;
	unsigned long last_result;
	int last_error;
	int last_refs;
	unsigned int last_hits;
#ifdef SLOW_HANDLER
	struct kpt_probe slow;
	int slow_error;
	kpt_fn_t slow_fn;
	struct task_struct *caller;
	bool inside;
	bool enough;
	bool late;
#endif
} gone;

static noinline notrace unsigned long __init kpt_init_text(unsigned long arg)
{
	OPTIMIZER_HIDE_VAR(arg);
	barrier();
	return KPT_RESULT(arg);
}

#ifdef MODULE
/* A piece of a function that may not be probed, see blacklist.c. */
static unsigned long kpt_init_piece(unsigned long arg) __asm__("kpt_marked.part.init");
static noinline notrace __used unsigned long __init kpt_init_piece(unsigned long arg)
{
	OPTIMIZER_HIDE_VAR(arg);
	barrier();
	return arg + 1;
}

#ifdef SLOW_HANDLER
static noinline unsigned long __init kpt_init_traced(unsigned long arg)
{
	OPTIMIZER_HIDE_VAR(arg);
	barrier();
	return KPT_RESULT(arg);
}

/* Long enough for the module to become live in the meantime. */
#define SLOW_MS	1000

static int takes_its_time(struct kpt_probe *pr, struct pt_regs *regs)
{
	WRITE_ONCE(gone.inside, true);
	kpt_spin_until(READ_ONCE(gone.enough), SLOW_MS);
	WRITE_ONCE(gone.inside, false);
	return 0;
}

static int call_slow(void *unused)
{
	while (!kthread_should_stop()) {
		gone.slow_fn(7);
		cond_resched();
	}
	return 0;
}

/* The last call of the init function, shortly before its text is freed. */
static void __init start_slow_handler(void)
{
	unsigned int cpu;

	gone.slow_fn = kpt_init_traced;
	gone.slow.kp.addr = kpt_text(gone.slow_fn);
	gone.slow.kp.pre_handler = kpt_pre;
	gone.slow.on_pre = takes_its_time;
	gone.slow_error = register_kprobe(&gone.slow.kp);
	if (gone.slow_error)
		return;
	cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	if (cpu >= nr_cpu_ids)
		return;
	gone.caller = kthread_create(call_slow, NULL, "kpt_gone");
	if (IS_ERR(gone.caller)) {
		gone.caller = NULL;
		return;
	}
	kthread_bind(gone.caller, cpu);
	wake_up_process(gone.caller);
	kpt_wait_until(READ_ONCE(gone.inside));
}

static void end_slow_handler(void)
{
	gone.late = READ_ONCE(gone.inside);
	WRITE_ONCE(gone.enough, true);
	if (gone.caller)
		kthread_stop(gone.caller);
	if (!gone.slow_error)
		unregister_kprobe(&gone.slow.kp);
}
#else
static void __init start_slow_handler(void) { }
static void end_slow_handler(void) { }
#endif /* SLOW_HANDLER */

/* References to the module. A kernel that cannot unload modules does not count them. */
static int held(void)
{
#ifdef CONFIG_MODULE_UNLOAD
	return module_refcount(THIS_MODULE);
#else
	return 0;
#endif
}

/*
 * The module is live, and its init text is about to be freed. That may still run, for
 * instance in asynchronous initialisation.
 */
static int run_a_last_time(struct notifier_block *nb, unsigned long event, void *mod)
{
	unsigned int hits = gone.pr[ENABLED].pre + gone.pr[POST].pre;
	int refs;

	if (mod != THIS_MODULE || event != MODULE_STATE_LIVE || !gone.set)
		return NOTIFY_DONE;
	end_slow_handler();
	gone.is_last = true;
	gone.last_result = gone.fn(7);
	gone.last_hits = gone.pr[ENABLED].pre + gone.pr[POST].pre - hits;
	refs = held();
	gone.last_error = kpt_refused(gone.addr);
	gone.last_refs = held() - refs;
	return NOTIFY_DONE;
}

/* Called after the notifier of kprobes, and before KUnit runs the suites. */
static struct notifier_block run_last_nb = {
	.notifier_call = run_a_last_time,
	.priority = 1,
};
#endif

static int __init set_on_init_text(void)
{
	kpt_fn_t fn = kpt_init_text;
	unsigned int i;

	OPTIMIZER_HIDE_VAR(fn);
	if (!IS_MODULE(CONFIG_KPROBES_SANITY_TEST))
		return 0;
	gone.before = kpt_counts(true);
	gone.addr = kpt_text(fn);
	gone.fn = fn;
	for (i = 0; i < NR_GONE; i++) {
		gone.pr[i].kp.addr = gone.addr;
		gone.pr[i].kp.pre_handler = kpt_pre;
		if (i == POST)
			gone.pr[i].kp.post_handler = kpt_post;
		if (i == OFF)
			gone.pr[i].kp.flags = KPROBE_FLAG_DISABLED;
		gone.error[i] = register_kprobe(&gone.pr[i].kp);
	}
#ifdef CONFIG_KRETPROBES
	gone.rp.kp.addr = gone.addr;
	gone.ret_error = register_kretprobe(&gone.rp);
#endif
	gone.set = true;
	gone.result = fn(7);
#ifdef MODULE
	fn = kpt_init_piece;
	OPTIMIZER_HIDE_VAR(fn);
	gone.piece = (unsigned long)kpt_text(fn);
	gone.piece_error = kpt_refused(fn);
	register_module_notifier(&run_last_nb);
	start_slow_handler();
#endif
	return 0;
}
module_init(set_on_init_text);

static void take_out(void)
{
	unsigned int i;

	if (!gone.set)
		return;
	gone.set = false;
	for (i = 0; i < NR_GONE; i++)
		unregister_kprobe(&gone.pr[i].kp);
#ifdef CONFIG_KRETPROBES
	unregister_kretprobe(&gone.rp);
#endif
}

static void __exit leave(void)
{
#ifdef MODULE
	unregister_module_notifier(&run_last_nb);
#endif
	take_out();
}
module_exit(leave);

static int gone_init(struct kunit *test)
{
	if (!gone.set)
		kunit_skip(test, "init text is there as long as built-in suites run");
	return 0;
}

static void probes_on_init_text_were_hit(struct kunit *test)
{
	unsigned int i;

	KUNIT_EXPECT_EQ(test, gone.result, KPT_RESULT(7ul));
	for (i = 0; i < NR_GONE; i++) {
		KUNIT_EXPECT_EQ(test, gone.error[i], 0);
		KUNIT_EXPECT_EQ(test, gone.pr[i].pre, i != OFF);
	}
	KUNIT_EXPECT_EQ(test, gone.pr[POST].post, 1);
#ifdef CONFIG_KRETPROBES
	KUNIT_EXPECT_EQ(test, gone.ret_error, 0);
#endif
}

#ifdef MODULE
static void text_that_is_about_to_go_runs_without_them(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, gone.is_last);
	KUNIT_EXPECT_EQ(test, gone.last_result, KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, gone.last_hits, 0);
	KUNIT_EXPECT_EQ(test, gone.last_error, -EINVAL);
	KUNIT_EXPECT_EQ(test, gone.last_refs, 0);
}

#ifdef SLOW_HANDLER
/* After this, the text is freed. */
static void handlers_of_text_that_goes_are_waited_for(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, gone.slow_error, 0);
	if (!gone.caller)
		kunit_skip(test, "needs two CPUs");
	KUNIT_EXPECT_GT(test, gone.slow.pre, 0);
	KUNIT_EXPECT_FALSE(test, gone.late);
}
#endif

static void check_enoent_in_state(struct kunit *test, enum module_state state)
{
	int refs = held(), ret;

	THIS_MODULE->state = state;
	ret = kpt_refused(kpt_plain);
	THIS_MODULE->state = MODULE_STATE_LIVE;
	KUNIT_EXPECT_EQ(test, ret, -ENOENT);
	KUNIT_EXPECT_EQ(test, held(), refs);
	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_plain), 0);
}

static void module_that_is_being_unloaded_is_enoent(struct kunit *test)
{
	check_enoent_in_state(test, MODULE_STATE_GOING);
}

/*
 * Its symbols can be found before the module notifiers are called. They may have been
 * called for another one.
 */
static void module_that_notifiers_have_not_seen_is_enoent(struct kunit *test)
{
	struct module *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, other);
	check_enoent_in_state(test, MODULE_STATE_COMING);
	KUNIT_ASSERT_EQ(test, kprobe_test_module_event(other, MODULE_STATE_COMING), 0);
	check_enoent_in_state(test, MODULE_STATE_COMING);
	KUNIT_EXPECT_EQ(test, kprobe_test_module_event(other, MODULE_STATE_GOING), 0);
}

static noinline notrace unsigned long kpt_going(unsigned long arg)
{
	OPTIMIZER_HIDE_VAR(arg);
	barrier();
	return KPT_RESULT(arg);
}

/* One that is disabled, and one while all are switched off. */
static void check_off_is_gone(struct kunit *test, struct module *mod, struct kpt_probe *pr)
{
	u8 *text = mod->mem[MOD_TEXT].base, before[16];

	memcpy(before, text, sizeof(before));
	KUNIT_EXPECT_EQ(test, kprobe_test_module_event(mod, MODULE_STATE_GOING), 0);
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&pr->kp));
	KUNIT_EXPECT_EQ(test, enable_kprobe(&pr->kp), -EINVAL);
	if (kpt_debugfs.mnt)
		kpt_write(test, &kpt_debugfs, "kprobes/enabled", "1");
	KUNIT_EXPECT_EQ(test, memcmp(before, text, sizeof(before)), 0);
	kpt_unregister(test, pr);
}

/* A debugger may use what is loaded in the same place next. */
static void check_is_left_to_debuggers(struct kunit *test, void *text)
{
#ifdef CONFIG_X86
	unsigned int i;

	for (i = 0; i < JMP32_INSN_SIZE; i++)
		KUNIT_EXPECT_FALSE(test, kprobe_has_text((unsigned long)text + i));
#endif
}

/*
 * As if the function were the whole text of a module that is being unloaded. The kernel
 * waits for asynchronous functions of modules after it has called the notifiers. Then as if
 * the next module were in the same place, while a probe on the first is still registered.
 */
static void text_of_a_module_that_goes_runs_without_them(struct kunit *test)
{
	struct module *mod = kunit_kzalloc(test, sizeof(*mod), GFP_KERNEL);
	void *text = kpt_text(kpt_going);
	kpt_fn_t fn = kpt_going;
	unsigned int round, detours = kpt_counts(false).detours.live;
	struct kpt_probe *pr[2], *off;
	u8 before[16];

	KUNIT_ASSERT_NOT_NULL(test, mod);
	OPTIMIZER_HIDE_VAR(fn);
	memcpy(before, text, sizeof(before));
	mod->mem[MOD_TEXT].base = text;
	mod->mem[MOD_TEXT].size = kpt_size(test, fn);
	for (round = 0; round < ARRAY_SIZE(pr); round++) {
		pr[round] = kpt_probe(test, fn);
		/* The second time the point is a jump, where there are jumps. */
		if (round) {
			wait_for_kprobe_optimizer();
			if (IS_ENABLED(CONFIG_X86) && IS_ENABLED(CONFIG_OPTPROBES))
				KUNIT_EXPECT_TRUE(test, kprobe_optimized(&pr[round]->kp));
		}
		KUNIT_EXPECT_EQ(test, fn(7), KPT_RESULT(7ul));
		KUNIT_EXPECT_EQ(test, kprobe_test_module_event(mod, MODULE_STATE_GOING), 0);
		KUNIT_EXPECT_TRUE(test, kprobe_gone(&pr[round]->kp));
		check_is_left_to_debuggers(test, text);
		KUNIT_ASSERT_EQ(test, memcmp(before, text, sizeof(before)), 0);
		KUNIT_EXPECT_EQ(test, kpt_counts(false).detours.live, detours);
		KUNIT_EXPECT_EQ(test, fn(8), KPT_RESULT(8ul));
		KUNIT_EXPECT_EQ(test, pr[round]->pre, 1);
	}
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&pr[0]->kp));
	KUNIT_EXPECT_EQ(test, pr[0]->pre, 1);

	off = kpt_alloc(test, fn);
	off->kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, off);
	check_off_is_gone(test, mod, off);
	if (!kpt_debugfs.mnt)
		return;
	kpt_write(test, &kpt_debugfs, "kprobes/enabled", "0");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kpt_all_on, test), 0);
	off = kpt_probe(test, fn);
	check_off_is_gone(test, mod, off);
}

/**
 * struct going - a task that runs text while its module goes
 * @calls: calls of kpt_going()
 * @wrong: how many of them returned something else
 */
struct going {
	unsigned int calls;
	unsigned int wrong;
};

static int call_going(void *arg)
{
	struct going *g = arg;
	kpt_fn_t fn = kpt_going;

	OPTIMIZER_HIDE_VAR(fn);
	while (!kthread_should_stop()) {
		g->wrong += fn(7) != KPT_RESULT(7ul);
		WRITE_ONCE(g->calls, g->calls + 1);
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

#define GOING_ROUNDS	24

/* Asynchronous functions of a module may still run. A breakpoint without a point is an oops. */
static void text_of_a_module_runs_while_it_goes(struct kunit *test)
{
	struct module *mod = kunit_kzalloc(test, sizeof(*mod), GFP_KERNEL);
	struct going *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);
	unsigned int round, calls, cpu, here = raw_smp_processor_id();
	struct task_struct *task;
	struct kpt_probe *pr;

	cpu = cpumask_any_but(cpu_online_mask, here);
	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, mod);
	KUNIT_ASSERT_NOT_NULL(test, g);
	mod->mem[MOD_TEXT].base = kpt_text(kpt_going);
	mod->mem[MOD_TEXT].size = kpt_size(test, kpt_going);
	task = kpt_thread(test, call_going, g, cpu, "going");
	for (round = 0; round < GOING_ROUNDS; round++) {
		pr = kpt_probe(test, kpt_going);
		if (round % 2)
			wait_for_kprobe_optimizer();
		KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(pr->pre)));
		KUNIT_ASSERT_EQ(test, kprobe_test_module_event(mod, MODULE_STATE_GOING), 0);
		calls = READ_ONCE(g->calls);
		KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(g->calls) - calls > 2));
		kpt_unregister(test, pr);
	}
	kpt_stop(test, task);
	KUNIT_EXPECT_EQ(test, g->wrong, 0);
}

static void count_syncs(enum kprobe_stage stage, void *syncs)
{
	if (stage == KPROBE_STAGE_SYNCED)
		++*(unsigned int *)syncs;
}

/* As if the text were one byte long: the byte before the probe, after it, and at it. */
static void text_that_goes_has_a_first_and_a_last_byte(struct kunit *test)
{
	struct module *mod = kunit_kzalloc(test, sizeof(*mod), GFP_KERNEL);
	unsigned int *syncs = kunit_kzalloc(test, sizeof(*syncs), GFP_KERNEL);
	struct kpt_probe *pr;
	kpt_fn_t fn = kpt_going;
	char *at;

	KUNIT_ASSERT_NOT_NULL(test, mod);
	KUNIT_ASSERT_NOT_NULL(test, syncs);
	OPTIMIZER_HIDE_VAR(fn);
	pr = kpt_probe(test, fn);
	at = (char *)pr->kp.addr;
	mod->mem[MOD_TEXT].size = 1;
	mod->mem[MOD_TEXT].base = at - 1;
	kpt_watch_stages(test, count_syncs, syncs);
	KUNIT_EXPECT_EQ(test, kprobe_test_module_event(mod, MODULE_STATE_GOING), 0);
	KUNIT_EXPECT_FALSE(test, kprobe_gone(&pr->kp));
	mod->mem[MOD_TEXT].base = at + 1;
	KUNIT_EXPECT_EQ(test, kprobe_test_module_event(mod, MODULE_STATE_GOING), 0);
	KUNIT_EXPECT_FALSE(test, kprobe_gone(&pr->kp));
	KUNIT_EXPECT_EQ(test, fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	/* Nobody waits, and no CPU is interrupted, where no probe goes. */
	KUNIT_EXPECT_EQ(test, *syncs, 0);

	mod->mem[MOD_TEXT].base = at;
	KUNIT_EXPECT_EQ(test, kprobe_test_module_event(mod, MODULE_STATE_GOING), 0);
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&pr->kp));
	if (IS_ENABLED(CONFIG_ARCH_HAS_KPROBE_CONTEXTS))
		KUNIT_EXPECT_GE(test, *syncs, 1);
	kpt_unwatch_stages(test);
	KUNIT_EXPECT_EQ(test, fn(8), KPT_RESULT(8ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	kpt_unregister(test, pr);

	/* If its init function fails, a module goes together with its init text. */
	pr = kpt_probe(test, fn);
	mod->mem[MOD_TEXT].size = 0;
	mod->mem[MOD_INIT_TEXT].base = at;
	mod->mem[MOD_INIT_TEXT].size = 1;
	KUNIT_EXPECT_EQ(test, kprobe_test_module_event(mod, MODULE_STATE_GOING), 0);
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&pr->kp));
	KUNIT_EXPECT_EQ(test, fn(8), KPT_RESULT(8ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	kpt_unregister(test, pr);
}

/* Another module may get the memory. */
static void blacklist_forgets_text_that_is_gone(struct kunit *test)
{
	unsigned long start, end;
	unsigned int lines = 0;
	char *text, *line;

	KUNIT_EXPECT_EQ(test, gone.piece_error, -EINVAL);
	kpt_needs_debugfs(test);
	text = kpt_read(test, &kpt_debugfs, "kprobes/blacklist");
	while ((line = strsep(&text, "\n"))) {
		if (sscanf(line, "0x%lx-0x%lx", &start, &end) != 2 || !start)
			continue;
		lines++;
		KUNIT_EXPECT_FALSE_MSG(test, gone.piece >= start && gone.piece < end, "%s", line);
	}
	KUNIT_EXPECT_GT(test, lines, 10);
}

/* --- Probes whose own memory goes ------------------------------------------ */

static int left_pre(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static void left_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static int left_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	return 0;
}

/**
 * struct left - a probe that its module forgets
 * @kp:   the probe, or
 * @rp:   a return probe, or
 * @jp:   a jprobe
 * @stay: others of the same point, set before it and after it, which are not the module's
 * @off:  it is registered disabled, and stays so
 * @mod:  the module
 */
struct left {
	union {
		struct kprobe kp;
		struct kretprobe rp;
#ifdef CONFIG_JPROBES
		struct jprobe jp;
#endif
	};
	struct kpt_probe *stay[2];
	bool off;
	struct module mod;
};

static struct left *left_alloc(struct kunit *test)
{
	struct left *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, l);
	strscpy(l->mod.name, "kpt_leaver");
	l->kp.addr = kpt_text(kpt_plain);
	l->stay[0] = kpt_probe(test, kpt_plain);
	return l;
}

/* Enabling is an error, if it is not registered. */
static void left_expect_removed(struct kunit *test, struct left *l, u64 log, const char *line)
{
	kpt_fn_t fn = kpt_plain;
	unsigned int i;

	OPTIMIZER_HIDE_VAR(fn);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&l->kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_log_lines(test, log, line), 1);
	for (i = 0; i < ARRAY_SIZE(l->stay); i++)
		l->stay[i]->pre = 0;
	KUNIT_EXPECT_EQ(test, fn(7), KPT_RESULT(7ul));
	for (i = 0; i < ARRAY_SIZE(l->stay); i++)
		KUNIT_EXPECT_EQ(test, l->stay[i]->pre, 1);
	kpt_unregister(test, l->stay[1]);
	unregister_kprobe(&l->kp);
}

/* Three times: the module becomes live; it goes; only its init sections go. */
static void left_check(struct kunit *test, struct left *l, int (*set)(struct left *l),
		       void *what)
{
	struct module *mod = &l->mod;
	u64 log;

	KUNIT_ASSERT_EQ(test, set(l), 0);
	l->stay[1] = kpt_probe(test, kpt_plain);
	mod->mem[MOD_DATA].base = what;
	mod->mem[MOD_DATA].size = 1;
	KUNIT_EXPECT_EQ(test, kprobe_test_module_event(mod, MODULE_STATE_LIVE), 0);
	KUNIT_EXPECT_EQ(test, l->off ? disable_kprobe(&l->kp) : enable_kprobe(&l->kp), 0);
	log = kpt_log_end();
	KUNIT_EXPECT_EQ(test, kprobe_test_module_event(mod, MODULE_STATE_GOING), 0);
	left_expect_removed(test, l, log,
			    "kprobes: kpt_leaver is freed with 1 of its probes set, one at kpt_plain+0x");

	/* Unregistering has cleared it. */
	l->kp.addr = kpt_text(kpt_plain);
	KUNIT_ASSERT_EQ(test, set(l), 0);
	l->stay[1] = kpt_probe(test, kpt_plain);
	mod->mem[MOD_DATA].size = 0;
	mod->mem[MOD_INIT_DATA].base = what;
	mod->mem[MOD_INIT_DATA].size = 1;
	log = kpt_log_end();
	KUNIT_EXPECT_EQ(test, kprobe_test_module_event(mod, MODULE_STATE_LIVE), 0);
	left_expect_removed(test, l, log,
			    "kprobes: init memory of kpt_leaver is freed with 1 of its probes set");
	mod->mem[MOD_INIT_DATA].size = 0;
}

static int left_set(struct left *l)
{
	l->kp.flags = l->off ? KPROBE_FLAG_DISABLED : 0;
	return register_kprobe(&l->kp);
}

static void probe_in_a_module_that_goes_is_removed(struct kunit *test)
{
	struct left *l = left_alloc(test);

	left_check(test, l, left_set, &l->kp);
}

static void probe_with_a_handler_in_a_module_that_goes_is_removed(struct kunit *test)
{
	struct left *l = left_alloc(test);

	l->kp.pre_handler = left_pre;
	left_check(test, l, left_set, left_pre);
	l->kp.addr = kpt_text(kpt_plain);
	l->kp.pre_handler = NULL;
	l->kp.post_handler = left_post;
	left_check(test, l, left_set, left_post);
	l->kp.addr = kpt_text(kpt_plain);
	l->kp.post_handler = NULL;
	l->kp.fault_handler = left_fault;
	left_check(test, l, left_set, left_fault);
	/* One that is off, too: it could be enabled. */
	l->kp.addr = kpt_text(kpt_plain);
	l->off = true;
	left_check(test, l, left_set, left_fault);
}

/* The module may have freed it before. */
static void structure_outside_a_module_that_goes_is_not_written_to(struct kunit *test)
{
	struct left *l = left_alloc(test);

	l->kp.pre_handler = left_pre;
	KUNIT_ASSERT_EQ(test, register_kprobe(&l->kp), 0);
	wait_for_kprobe_optimizer();
	memset(&l->kp, 0x6b, sizeof(l->kp));
	l->mod.mem[MOD_DATA].base = left_pre;
	l->mod.mem[MOD_DATA].size = 1;
	KUNIT_EXPECT_EQ(test, kprobe_test_module_event(&l->mod, MODULE_STATE_GOING), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_NULL(test, memchr_inv(&l->kp, 0x6b, sizeof(l->kp)));
	KUNIT_EXPECT_EQ(test, enable_kprobe(&l->kp), -EINVAL);
}

/**
 * struct left_hit - a handler that is running while its module goes
 * @pr:	   the probe
 * @begun: the handler has begun
 * @over:  it is over
 */
struct left_hit {
	struct kpt_probe pr;
	bool begun;
	bool over;
};

#define LEFT_MS	300

static int left_takes_its_time(struct kpt_probe *pr, struct pt_regs *regs)
{
	struct left_hit *h = container_of(pr, struct left_hit, pr);

	WRITE_ONCE(h->begun, true);
	kpt_spin_until(false, LEFT_MS);
	WRITE_ONCE(h->over, true);
	return 0;
}

static int left_hit(void *unused)
{
	kpt_fn_t fn = kpt_plain;

	OPTIMIZER_HIDE_VAR(fn);
	fn(7);
	while (!kthread_should_stop())
		usleep_range(500, 1000);
	return 0;
}

/* False if the handler was over before the module went, because the machine has stalled. */
static bool left_hit_is_waited_for(struct kunit *test, unsigned int cpu)
{
	struct left_hit *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);
	struct module *mod = kunit_kzalloc(test, sizeof(*mod), GFP_KERNEL);
	struct task_struct *task;
	bool in_time;

	KUNIT_ASSERT_NOT_NULL(test, h);
	KUNIT_ASSERT_NOT_NULL(test, mod);
	h->pr.kp.addr = kpt_text(kpt_plain);
	h->pr.kp.pre_handler = kpt_pre;
	h->pr.on_pre = left_takes_its_time;
	kpt_register(test, &h->pr);
	mod->mem[MOD_DATA].base = h;
	mod->mem[MOD_DATA].size = sizeof(*h);
	task = kpt_thread(test, left_hit, NULL, cpu, "left");
	KUNIT_ASSERT_TRUE(test, kpt_poll_until(READ_ONCE(h->begun)));
	in_time = !READ_ONCE(h->over);
	KUNIT_EXPECT_EQ(test, kprobe_test_module_event(mod, MODULE_STATE_GOING), 0);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(h->over));
	KUNIT_EXPECT_EQ(test, enable_kprobe(&h->pr.kp), -EINVAL);
	kpt_stop(test, task);
	return in_time;
}

static void handlers_of_a_module_that_goes_are_waited_for(struct kunit *test)
{
	unsigned int cpu = raw_smp_processor_id(), other, tries = 0;

	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	other = cpumask_any_but(cpu_online_mask, cpu);
	if (other >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");
	while (!left_hit_is_waited_for(test, other) && ++tries < 5)
		;
	KUNIT_EXPECT_LT(test, tries, 5);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

#ifdef CONFIG_JPROBES
static unsigned long left_jprobe(unsigned long arg)
{
	jprobe_return();
	return 0;
}

static int left_set_jprobe(struct left *l)
{
	return register_jprobe(&l->jp);
}

static void jprobe_with_a_handler_in_a_module_that_goes_is_removed(struct kunit *test)
{
	struct left *l = left_alloc(test);

	l->jp.entry = JPROBE_ENTRY(left_jprobe);
	left_check(test, l, left_set_jprobe, left_jprobe);
	l->kp.addr = kpt_text(kpt_plain);
	left_check(test, l, left_set_jprobe, &l->jp);
}
#endif

#ifdef CONFIG_KRETPROBES
static unsigned int left_returns;

static int left_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	left_returns++;
	return 0;
}

static int left_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

static int left_set_return(struct left *l)
{
	return register_kretprobe(&l->rp);
}

static void return_probe_with_a_handler_in_a_module_that_goes_is_removed(struct kunit *test)
{
	struct left *l = left_alloc(test);

	l->rp.handler = left_return;
	left_check(test, l, left_set_return, left_return);
	l->kp.addr = kpt_text(kpt_plain);
	left_check(test, l, left_set_return, &l->rp);
	l->kp.addr = kpt_text(kpt_plain);
	l->rp.entry_handler = left_entry;
	left_check(test, l, left_set_return, left_entry);
}

/**
 * struct left_call - a call that is in flight while the module goes
 * @gate:   it waits for this
 * @inside: it waits
 * @result: what the function returned
 */
struct left_call {
	struct completion gate;
	atomic_t inside;
	unsigned long result;
};

static int left_call(void *arg)
{
	struct left_call *c = arg;

	c->result = kpt_recurse_waits(3, &c->gate, &c->inside);
	while (!kthread_should_stop())
		usleep_range(500, 1000);
	return 0;
}

static void left_open_gate(void *gate)
{
	complete_all(gate);
}

static void calls_in_flight_of_a_module_that_goes_return(struct kunit *test)
{
	struct left_call *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct left *l = left_alloc(test);
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, c);
	init_completion(&c->gate);
	l->kp.addr = kpt_text(kpt_recurse_waits);
	l->rp.handler = left_return;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&l->rp), 0);
	left_returns = 0;
	task = kpt_thread(test, left_call, c, -1, "left");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, left_open_gate, &c->gate), 0);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(atomic_read(&c->inside)));
	l->mod.mem[MOD_DATA].base = left_return;
	l->mod.mem[MOD_DATA].size = 1;
	KUNIT_EXPECT_EQ(test, kprobe_test_module_event(&l->mod, MODULE_STATE_GOING), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&l->kp), -EINVAL);
	/* As if it were freed. */
	memset(&l->rp, 0x6b, sizeof(l->rp));
	complete_all(&c->gate);
	kpt_stop(test, task);
	KUNIT_EXPECT_EQ(test, c->result, 3ul);
	KUNIT_EXPECT_EQ(test, left_returns, 0);
}
#endif
#endif /* MODULE */

static void their_users_see_that_they_are_gone(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NR_GONE; i++) {
		KUNIT_EXPECT_TRUE(test, kprobe_gone(&gone.pr[i].kp));
		KUNIT_EXPECT_TRUE(test, kprobe_disabled(&gone.pr[i].kp));
		KUNIT_EXPECT_FALSE(test, kprobe_optimized(&gone.pr[i].kp));
		KUNIT_EXPECT_EQ(test, !!(gone.pr[i].kp.flags & KPROBE_FLAG_DISABLED), i == OFF);
	}
#ifdef CONFIG_KRETPROBES
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&gone.rp.kp));
#endif
}

static void enabling_and_disabling_them_is_einval(struct kunit *test)
{
	unsigned int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < NR_GONE; i++) {
			u32 flags = gone.pr[i].kp.flags;

			KUNIT_EXPECT_EQ(test, enable_kprobe(&gone.pr[i].kp), -EINVAL);
			KUNIT_EXPECT_EQ(test, disable_kprobe(&gone.pr[i].kp), -EINVAL);
			KUNIT_EXPECT_EQ(test, gone.pr[i].kp.flags, flags);
		}
#ifdef CONFIG_KRETPROBES
		KUNIT_EXPECT_EQ(test, enable_kretprobe(&gone.rp), -EINVAL);
		KUNIT_EXPECT_EQ(test, disable_kretprobe(&gone.rp), -EINVAL);
#endif
	}
}

static void they_are_listed_as_gone(struct kunit *test)
{
	unsigned long addr = (unsigned long)gone.pr[ENABLED].kp.addr, shown;
	unsigned int lines = 0, others = 0;
	char *text, *line, type;

	kpt_needs_debugfs(test);
	text = kpt_read(test, &kpt_debugfs, "kprobes/list");
	/* Whether one was switched off does not matter any more. */
	KUNIT_EXPECT_NULL(test, strstr(text, "[GONE][DISABLED]"));
	while ((line = strsep(&text, "\n"))) {
		if (sscanf(line, "%lx %c", &shown, &type) != 2 || shown != addr)
			continue;
		if (strstr(line, "[GONE]"))
			lines++;
		else
			others++;
	}
	KUNIT_EXPECT_EQ(test, lines, NR_GONE + IS_ENABLED(CONFIG_KRETPROBES));
	KUNIT_EXPECT_EQ(test, others, 0);
}

/* The copies that the architecture had made were freed with the text. */
static void nothing_but_the_users_is_left_of_them(struct kunit *test)
{
	struct kprobe_counts now = kpt_counts(true);

	KUNIT_EXPECT_EQ(test, now.points, gone.before.points + 1);
	KUNIT_EXPECT_EQ(test, now.found, gone.before.found);
	KUNIT_EXPECT_EQ(test, now.users,
			gone.before.users + NR_GONE + IS_ENABLED(CONFIG_KRETPROBES));
	KUNIT_EXPECT_EQ(test, now.copies.taken, gone.before.copies.taken);
	KUNIT_EXPECT_EQ(test, now.detours.taken, gone.before.detours.taken);
}

static void all_switched_off_and_on_leaves_them_alone(struct kunit *test)
{
	kpt_needs_debugfs(test);
	KUNIT_ASSERT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/enabled", "0"), 1l);
	KUNIT_ASSERT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/enabled", "1"), 1l);
	their_users_see_that_they_are_gone(test);
}

#ifdef MODULE
/* The probes cannot be hit, and there is no reason to give for not being jumps. */
static void their_hits_are_not_counted(struct kunit *test)
{
	const char *end = IS_ENABLED(CONFIG_OPTPROBES) ? "  gone" : "  -";
	char *line;

	kpt_needs_debugfs(test);
	KUNIT_ASSERT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/hits", "1"), 1l);
	line = kpt_line_with(test, kpt_read(test, &kpt_debugfs, "kprobes/points"), "  gone  ");
	KUNIT_EXPECT_EQ(test, kpt_write(test, &kpt_debugfs, "kprobes/hits", "0"), 1l);
	KUNIT_ASSERT_NOT_NULL(test, line);
	/* Its probes, how many of them are enabled, and how often they were hit. */
	line = strstr(line, "  gone  ") + strlen("  gone  ");
	line += strcspn(line, " ");
	KUNIT_EXPECT_EQ_MSG(test, strncmp(line, "  -  ", 5), 0, "%s", line);
	KUNIT_ASSERT_GT(test, strlen(line), strlen(end));
	KUNIT_EXPECT_STREQ(test, line + strlen(line) - strlen(end), end);
}
#endif

static void text_that_is_gone_is_refused(struct kunit *test)
{
	KUNIT_EXPECT_LT(test, kpt_refused(gone.addr), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&gone.pr[ENABLED].kp), -EINVAL);
}

static void unregistering_them_leaves_nothing(struct kunit *test)
{
	struct kprobe_counts now;
	const char *what;
	unsigned int i;

	take_out();
	for (i = 0; i < NR_GONE; i++) {
		KUNIT_EXPECT_FALSE(test, kprobe_gone(&gone.pr[i].kp));
		KUNIT_EXPECT_EQ(test, enable_kprobe(&gone.pr[i].kp), -EINVAL);
	}
	kpt_wait_until((now = kpt_counts(true),
			!kpt_differs_settled(&gone.before, &now)));
	what = kpt_differs_settled(&gone.before, &now);
	KUNIT_EXPECT_NULL_MSG(test, what, "left behind: %s", what);
}

static struct kunit_case gone_cases[] = {
	KUNIT_CASE(probes_on_init_text_were_hit),
#ifdef MODULE
	KUNIT_CASE(text_that_is_about_to_go_runs_without_them),
#ifdef SLOW_HANDLER
	KUNIT_CASE(handlers_of_text_that_goes_are_waited_for),
#endif
	KUNIT_CASE(module_that_is_being_unloaded_is_enoent),
	KUNIT_CASE(module_that_notifiers_have_not_seen_is_enoent),
	KUNIT_CASE(text_of_a_module_runs_while_it_goes),
	KUNIT_CASE(text_of_a_module_that_goes_runs_without_them),
	KUNIT_CASE(text_that_goes_has_a_first_and_a_last_byte),
	KUNIT_CASE(blacklist_forgets_text_that_is_gone),
	KUNIT_CASE(probe_in_a_module_that_goes_is_removed),
	KUNIT_CASE(probe_with_a_handler_in_a_module_that_goes_is_removed),
	KUNIT_CASE(structure_outside_a_module_that_goes_is_not_written_to),
	KUNIT_CASE(handlers_of_a_module_that_goes_are_waited_for),
#ifdef CONFIG_JPROBES
	KUNIT_CASE(jprobe_with_a_handler_in_a_module_that_goes_is_removed),
#endif
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(return_probe_with_a_handler_in_a_module_that_goes_is_removed),
	KUNIT_CASE(calls_in_flight_of_a_module_that_goes_return),
#endif
#endif
	KUNIT_CASE(their_users_see_that_they_are_gone),
	KUNIT_CASE(enabling_and_disabling_them_is_einval),
	KUNIT_CASE(they_are_listed_as_gone),
	KUNIT_CASE(nothing_but_the_users_is_left_of_them),
	KUNIT_CASE(all_switched_off_and_on_leaves_them_alone),
#ifdef MODULE
	KUNIT_CASE(their_hits_are_not_counted),
#endif
	KUNIT_CASE(text_that_is_gone_is_refused),
	KUNIT_CASE(unregistering_them_leaves_nothing),
	{}
};

static struct kunit_suite gone_suite = {
	.name = "kprobes_gone",
	.suite_init = kpt_files_suite_init,
	.suite_exit = kpt_unmount_files,
	.init = gone_init,
	.test_cases = gone_cases,
};

kunit_test_suite(gone_suite);
