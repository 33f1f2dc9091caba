/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the kprobes KUnit suites: probes that record their hits and are
 * unregistered with the test, functions to probe, and bounded waiting.
 */
#ifndef _LIB_TESTS_KPROBES_FIXTURE_H
#define _LIB_TESTS_KPROBES_FIXTURE_H

#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/kallsyms.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../../../kernel/kprobes/testing.h"

/*
 * Long, because guests may be emulated, and those of other architectures always are. Only a
 * failing test waits that long.
 */
#define KPT_TIMEOUT_MS		(IS_ENABLED(CONFIG_X86) ? 10000 : 40000)

/*
 * KCSAN stops at accesses on purpose, so what takes 15 seconds elsewhere takes 10 minutes
 * there. Loops that prove nothing about races do a part of it.
 */
#define KPT_STRIDE		(IS_ENABLED(CONFIG_KCSAN) ? 7 : 1)

/**
 * struct kpt_probe - a probe that records its hits
 * @kp:		the probe itself
 * @on_pre:	what the pre-handler does besides recording; its result is the
 *		handler's
 * @on_post:	what the post-handler does besides recording
 * @clock:	shared by probes whose order matters; ticks with each handler
 * @arg:	for @on_pre and @on_post
 * @pre:	runs of the pre-handler
 * @post:	runs of the post-handler
 * @pre_tick:	@clock at the latest run of the pre-handler
 * @post_tick:	the same for the post-handler
 * @pre_regs:	what the pre-handler saw at its latest run
 * @post_regs:	what the post-handler saw
 * @post_flags:	all flags that it was called with, which should be 0
 * @preemptible: some handler ran with preemption on
 * @irqs_on:	some handler ran with interrupts on
 * @irqs_off:	some handler ran with interrupts off
 *
 * The counts are not atomic: for functions that one thread calls.
 */
struct kpt_probe {
	struct kprobe kp;
	int (*on_pre)(struct kpt_probe *pr, struct pt_regs *regs);
	void (*on_post)(struct kpt_probe *pr, struct pt_regs *regs);
	unsigned int *clock;
	void *arg;
	unsigned int pre;
	unsigned int post;
	unsigned int pre_tick;
	unsigned int post_tick;
	struct pt_regs pre_regs;
	struct pt_regs post_regs;
	unsigned long post_flags;
	bool preemptible;
	bool irqs_on;
	bool irqs_off;
};

/* Some architectures turn interrupts off instead; x86 counts exceptions, too. */
static inline bool kpt_preemptible(void)
{
	return IS_ENABLED(CONFIG_PREEMPT_COUNT) && !preempt_count() &&
	       (IS_ENABLED(CONFIG_X86) || !irqs_disabled());
}

static inline void kpt_record_context(struct kpt_probe *pr)
{
	if (kpt_preemptible())
		pr->preemptible = true;
	if (irqs_disabled())
		pr->irqs_off = true;
	else
		pr->irqs_on = true;
}

static inline int kpt_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct kpt_probe *pr = container_of(p, struct kpt_probe, kp);

	WRITE_ONCE(pr->pre, pr->pre + 1);
	if (pr->clock)
		pr->pre_tick = ++*pr->clock;
	pr->pre_regs = *regs;
	kpt_record_context(pr);
	return pr->on_pre ? pr->on_pre(pr, regs) : 0;
}

/* For kpt_probe::on_pre: counts, in kpt_probe::post, the hits of the task that is its argument. */
static inline int kpt_pre_counts_task(struct kpt_probe *pr, struct pt_regs *regs)
{
	if (current == READ_ONCE(pr->arg))
		pr->post++;
	return 0;
}

static inline void kpt_post(struct kprobe *p, struct pt_regs *regs,
			    unsigned long flags)
{
	struct kpt_probe *pr = container_of(p, struct kpt_probe, kp);

	WRITE_ONCE(pr->post, pr->post + 1);
	if (pr->clock)
		pr->post_tick = ++*pr->clock;
	pr->post_regs = *regs;
	pr->post_flags |= flags;
	kpt_record_context(pr);
	if (pr->on_post)
		pr->on_post(pr, regs);
}

/* For sites that an interrupt hits while a handler runs. */
static inline void kpt_needs_nesting(struct kunit *test)
{
#ifndef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
	kunit_skip(test, "hits over a handler are missed here");
#endif
}

/* For cases that know registers and instructions. */
static inline void kpt_needs_x86(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_X86))
		kunit_skip(test, "x86 only");
}

/* Where to probe a function. Other addresses stay what they are. */
static inline void *kpt_text(const void *fn)
{
	return kprobe_test_entry(fn);
}

/* The size of the code at kpt_text(), up to the next symbol. */
static inline unsigned int kpt_size(struct kunit *test, const void *fn)
{
	char *name = kunit_kzalloc(test, KSYM_SYMBOL_LEN, GFP_KERNEL);
	unsigned int offset = 0, size = 0;

	KUNIT_ASSERT_NOT_NULL(test, name);
	sprint_symbol(name, (unsigned long)kpt_text(fn));
	name = strrchr(name, '+');
	KUNIT_ASSERT_NOT_NULL(test, name);
	if (sscanf(name, "+0x%x/0x%x", &offset, &size) != 2)
		return 0;
	return size - offset;
}

/* Not on the stack: the test's thread and its stack are gone when actions run. */
static inline struct kpt_probe *kpt_alloc(struct kunit *test, void *addr)
{
	struct kpt_probe *pr = kunit_kzalloc(test, sizeof(*pr), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, pr);
	pr->kp.addr = addr ? kpt_text(addr) : NULL;
	pr->kp.pre_handler = kpt_pre;
	return pr;
}

/* The same with the given handlers. */
static inline struct kpt_probe *kpt_alloc_with(struct kunit *test, void *addr, bool pre,
					       bool post)
{
	struct kpt_probe *pr = kpt_alloc(test, addr);

	pr->kp.pre_handler = pre ? kpt_pre : NULL;
	pr->kp.post_handler = post ? kpt_post : NULL;
	return pr;
}

static inline void kpt_unregister_action(void *p)
{
	unregister_kprobe(p);
}

/* Registers a probe, and unregisters it when the test ends, whatever its result. */
static inline int kpt_try_register(struct kunit *test, struct kprobe *p)
{
	int ret = register_kprobe(p);

	if (ret)
		return ret;
	return kunit_add_action_or_reset(test, kpt_unregister_action, p);
}

static inline void kpt_register(struct kunit *test, struct kpt_probe *pr)
{
	KUNIT_ASSERT_EQ(test, kpt_try_register(test, &pr->kp), 0);
}

/*
 * Each of the first @bytes of @symbol has to be refused, the very first with -EINVAL.
 * False if there is no such symbol.
 */
static inline bool kpt_all_refused(struct kunit *test, const char *symbol, unsigned int bytes)
{
	unsigned int offset;

	for (offset = 0; offset < bytes; offset++) {
		struct kprobe p = {
			.symbol_name = symbol,
			.offset = offset,
			.flags = KPROBE_FLAG_DISABLED,
		};
		int ret = register_kprobe(&p);

		if (!ret)
			unregister_kprobe(&p);
		if (ret == -ENOENT && !offset)
			return false;
		KUNIT_EXPECT_LT_MSG(test, ret, 0, "%s+%u", symbol, offset);
		if (!offset)
			KUNIT_EXPECT_EQ_MSG(test, ret, -EINVAL, "%s", symbol);
	}
	return true;
}

static inline void kpt_unregister(struct kunit *test, struct kpt_probe *pr)
{
	kunit_release_action(test, kpt_unregister_action, &pr->kp);
}

static inline void kpt_unregister_return_action(void *rp)
{
	unregister_kretprobe(rp);
}

/* Register a return probe until the test ends, or until kpt_unregister_return(). */
static inline int kpt_try_return(struct kunit *test, struct kretprobe *rp)
{
	int ret = register_kretprobe(rp);

	return ret ?: kunit_add_action_or_reset(test, kpt_unregister_return_action, rp);
}

static inline void kpt_register_return(struct kunit *test, struct kretprobe *rp)
{
	KUNIT_ASSERT_EQ(test, kpt_try_return(test, rp), 0);
}

static inline void kpt_unregister_return(struct kunit *test, struct kretprobe *rp)
{
	kunit_release_action(test, kpt_unregister_return_action, rp);
}

/* A registered probe with a pre-handler on @addr. */
static inline struct kpt_probe *kpt_probe(struct kunit *test, void *addr)
{
	struct kpt_probe *pr = kpt_alloc(test, addr);

	kpt_register(test, pr);
	return pr;
}

/* The same with a post-handler too. */
static inline struct kpt_probe *kpt_probe_post(struct kunit *test, void *addr)
{
	struct kpt_probe *pr = kpt_alloc_with(test, addr, true, true);

	kpt_register(test, pr);
	return pr;
}

/*
 * Tries to register a probe that must be refused. If it is not, unregisters it at
 * once and returns 0.
 */
static inline int kpt_refused(void *addr)
{
	struct kprobe p = { .addr = kpt_text(addr) };
	int ret = register_kprobe(&p);

	if (!ret)
		unregister_kprobe(&p);
	return ret;
}

/* With rethook, the number of instances never changes. */
static inline void kpt_skip_if_pools_stay(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK))
		kunit_skip(test, "rethook does not grow its pools");
}

/* Waits for @cond; false if it did not become true in time. */
#define kpt_wait_until(cond)						\
({									\
	unsigned long __end = jiffies + msecs_to_jiffies(KPT_TIMEOUT_MS);\
	bool __ok;							\
									\
	while (!(__ok = (cond)) && time_before(jiffies, __end))		\
		usleep_range(100, 1000);				\
	__ok;								\
})

/*
 * The same with the CPU, for handlers and others that may have interrupts off. A clock that
 * needs the tick stands still there, and jiffies may be the best clock. Delays never do.
 */
#define kpt_spin_until(cond, ms)					\
({									\
	unsigned int __steps = (ms) * 200;				\
	bool __ok;							\
									\
	while (!(__ok = (cond)) && __steps--)				\
		udelay(5);						\
	__ok;								\
})

/* The same for tasks that must not sleep, because a timer may not run now. */
#define kpt_poll_until(cond)						\
	kpt_spin_until(({ cond_resched(); (cond); }), KPT_TIMEOUT_MS)

/* As KUNIT_CASE_SLOW(), for each parameter. */
#define KPT_CASE_PARAM_SLOW(fn, gen)					\
	KUNIT_CASE_PARAM_ATTR(fn, gen,					\
			      (struct kunit_attributes){ .speed = KUNIT_SPEED_SLOW })

/* --- What a case leaves over ---------------------------------------------- */

/* The name of a count that differs, or NULL. */
static inline const char *kpt_differs(const struct kprobe_counts *a,
				      const struct kprobe_counts *b)
{
	return a->points != b->points ? "points" :
	       a->found != b->found ? "points in the table" :
	       a->users != b->users ? "users" :
	       a->copies.live != b->copies.live ? "slots in use" :
	       a->detours.live != b->detours.live ? "detours in use" :
	       a->pools != b->pools ? "pools" : NULL;
}

/* The same for counts that had time to settle. */
static inline const char *kpt_differs_settled(const struct kprobe_counts *a,
					      const struct kprobe_counts *b)
{
	return a->copies.taken != b->copies.taken ? "slots" :
	       a->detours.taken != b->detours.taken ? "detours" :
	       a->copies.pages != b->copies.pages ? "pages of slots" :
	       a->detours.pages != b->detours.pages ? "pages of detours" :
	       kpt_differs(a, b);
}

static inline struct kprobe_counts kpt_counts(bool settle)
{
	struct kprobe_counts counts;

	kprobe_test_counts(&counts, settle);
	return counts;
}

/**
 * struct kpt_before - the counts before a case
 * @test:   the case
 * @counts: the counts
 */
struct kpt_before {
	struct kunit *test;
	struct kprobe_counts counts;
};

/* The first action that is added is the last that runs. */
static inline void kpt_after(void *arg)
{
	struct kpt_before *before = arg;
	struct kprobe_counts now;
	const char *what;

	/* Threads may be about to leave a function under a return probe. */
	kpt_wait_until((now = kpt_counts(false),
			!kpt_differs(&before->counts, &now)));
	what = kpt_differs(&before->counts, &now);
	KUNIT_EXPECT_NULL_MSG(before->test, what, "left behind: %s", what);
}

/* For the init() of every suite: a case fails if anything is left over after it. */
static inline int kpt_case_init(struct kunit *test)
{
	struct kpt_before *before = kunit_kzalloc(test, sizeof(*before), GFP_KERNEL);

	if (!before)
		return -ENOMEM;
	before->test = test;
	before->counts = kpt_counts(false);
	return kunit_add_action(test, kpt_after, before);
}

static struct kprobe_counts __maybe_unused kpt_suite_counts;

/**
 * struct kpt_misuse - calls that are made where they are not allowed
 * @fresh:	  a probe that is not registered
 * @victim:	  a probe that is
 * @self:	  the probe whose handler makes the calls, or another one
 * @reg:	  result of registering @fresh
 * @dis:	  result of disabling @victim
 * @en:		  result of enabling @victim
 * @dis_self:	  result of disabling @self
 * @fresh_return: a return probe that is not registered
 * @reg_return:	  result of registering it
 */
struct kpt_misuse {
	struct kprobe fresh;
	struct kprobe *victim;
	struct kprobe *self;
	int reg, dis, en, dis_self;
#ifdef CONFIG_KRETPROBES
	struct kretprobe fresh_return;
	int reg_return;
#endif
};

void kpt_misuse_init(struct kpt_misuse *m, struct kpt_probe *victim, struct kpt_probe *self);
void kpt_misuse(struct kpt_misuse *m);
void kpt_expect_denied(struct kunit *test, const struct kpt_misuse *m);

/* For the suite_init() of every suite; its last case has to be KPT_LAST_CASE. */
static inline int kpt_suite_init(struct kunit_suite *suite)
{
	kpt_suite_counts = kpt_counts(true);
	return 0;
}

static void __maybe_unused slots_and_memory_are_what_they_were(struct kunit *test)
{
	struct kprobe_counts now;
	const char *what;

	kpt_wait_until((now = kpt_counts(true),
			!kpt_differs_settled(&kpt_suite_counts, &now)));
	what = kpt_differs_settled(&kpt_suite_counts, &now);
	KUNIT_EXPECT_NULL_MSG(test, what, "left behind: %s", what);
}

#define KPT_LAST_CASE	KUNIT_CASE(slots_and_memory_are_what_they_were)

static inline void kpt_stop_action(void *task)
{
	kthread_stop(task);
}

/*
 * Starts a thread that runs until kthread_should_stop(), on @cpu if that is
 * not negative; it is stopped when the test ends.
 */
static inline struct task_struct *kpt_thread(struct kunit *test,
					     int (*fn)(void *), void *arg,
					     int cpu, const char *name)
{
	struct task_struct *task = kthread_create(fn, arg, "kpt_%s", name);

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	if (cpu >= 0)
		kthread_bind(task, cpu);
	wake_up_process(task);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kpt_stop_action, task), 0);
	return task;
}

static inline void kpt_stop(struct kunit *test, struct task_struct *task)
{
	kunit_release_action(test, kpt_stop_action, task);
}

/*
 * Does what an oops in a handler does: notifies kprobes, makes the context one that may
 * sleep, and ends the task. The handler has to run on the task's own stack.
 */
static inline void kpt_end_task(struct completion *gone)
{
	kprobe_test_oops();
	preempt_count_set(0);
	kthread_complete_and_exit(gone, 0);
}

/* Runs @fn in a task that ends in this way; false if it does not end. */
static inline bool kpt_run_to_its_end(int (*fn)(void *), void *arg, unsigned int cpu,
				      struct completion *gone)
{
	struct task_struct *task;

	init_completion(gone);
	task = kthread_create(fn, arg, "kpt_ends");
	if (IS_ERR(task))
		return false;
	kthread_bind(task, cpu);
	wake_up_process(task);
	return wait_for_completion_timeout(gone, msecs_to_jiffies(KPT_TIMEOUT_MS));
}

/**
 * struct kpt_mount - a file system of control files
 * @mnt:  where it is mounted; NULL if it is not
 * @type: what it is
 */
struct kpt_mount {
	struct vfsmount *mnt;
	struct file_system_type *type;
};

/* Mounted while a suite that needs it runs, if the kernel has it. */
extern struct kpt_mount kpt_debugfs;
void kpt_mount_files(void);
void kpt_unmount_files(struct kunit_suite *suite);

/* For the suite_init() of such a suite, with kpt_unmount_files() as suite_exit(). */
static inline int kpt_files_suite_init(struct kunit_suite *suite)
{
	kpt_mount_files();
	return kpt_suite_init(suite);
}

static inline void kpt_needs_debugfs(struct kunit *test)
{
	if (!kpt_debugfs.mnt)
		kunit_skip(test, "no debugfs in this kernel");
}

struct file *kpt_open(struct kunit *test, struct kpt_mount *m, const char *name, int flags);
char *kpt_read(struct kunit *test, struct kpt_mount *m, const char *name);
void kpt_read_ends(struct kunit *test, char *text);
ssize_t kpt_write(struct kunit *test, struct kpt_mount *m, const char *name, const char *text);
ssize_t kpt_write_sysctl(struct kunit *test, const char *name, const char *text);

/* An action of cases that switch all probes off */
static inline void kpt_all_on(void *test)
{
	kpt_write(test, &kpt_debugfs, "kprobes/enabled", "1");
}

/* Until this has run, other tasks may reach a stage, so what is used there is allocated. */
static inline void kpt_stages_unwatched(void *unused)
{
	kprobe_test_stop(NULL, NULL);
}

static inline void kpt_unwatch_stages(struct kunit *test)
{
	kunit_release_action(test, kpt_stages_unwatched, NULL);
}

static inline void kpt_watch_stages(struct kunit *test, kprobe_stop_t look, void *arg)
{
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kpt_stages_unwatched, NULL), 0);
	kprobe_test_stop(look, arg);
}

struct file *kpt_open_sysctl(struct kunit *test, const char *name);
unsigned long kpt_user_area(struct kunit *test, size_t size);
char *kpt_line_with(struct kunit *test, const char *text, const char *what);
u64 kpt_log_end(void);
unsigned int kpt_log_last(struct kunit *test, u64 from, const char *what, char *last, size_t size);
unsigned int kpt_log_lines(struct kunit *test, u64 from, const char *what);
const char *kpt_jump_reason(struct kunit *test, struct kprobe *kp);
const char *kpt_reason_between_tries(struct kunit *test, struct kprobe *kp);
void kpt_forbid_jumps(struct kunit *test);
void kpt_queue_jumps(struct kunit *test);
void kpt_allow_jumps(struct kunit *test);

/* The type of all functions to probe. */
typedef unsigned long (*kpt_fn_t)(unsigned long arg);

/**
 * struct kpt_irq - an interrupt that calls a function
 * @work:   raises it
 * @fn:	    the function
 * @result: what it returned
 */
struct kpt_irq {
	struct irq_work work;
	kpt_fn_t fn;
	unsigned long result;
};

static inline void kpt_irq_work(struct irq_work *work)
{
	struct kpt_irq *irq = container_of(work, struct kpt_irq, work);

	irq->result = irq->fn(7);
}

/*
 * Call @fn(7) in an interrupt of this CPU, which is over on return, so that the work can be on
 * the stack. Does not sleep: handlers call this, too, with interrupts on.
 */
static inline unsigned long kpt_call_in_irq(kpt_fn_t fn)
{
	struct kpt_irq irq = { .work = IRQ_WORK_INIT_HARD(kpt_irq_work), .fn = fn };

	preempt_disable();
	irq_work_queue(&irq.work);
	while (irq_work_is_busy(&irq.work))
		cpu_relax();
	preempt_enable();
	return irq.result;
}

/* A function that has an ftrace site, unless probes are refused there. */
#ifdef CONFIG_KPROBES_ON_FTRACE
#define kpt_traceable
#else
#define kpt_traceable	notrace
#endif

/* Defines kpt_NAME(), whose result the compiler does not know. Attributes go first. */
#define KPT_FUNCTION(name, result)					\
	noinline unsigned long kpt_##name(unsigned long arg)		\
	{								\
		OPTIMIZER_HIDE_VAR(arg);				\
		barrier();						\
		return result;						\
	}

/**
 * struct kpt_inner - a probed function that a handler calls; kpt_probe::arg points to it
 * @fn:	    the function
 * @arg:    its argument
 * @result: of the latest call
 * @calls:  how many there were
 */
struct kpt_inner {
	kpt_fn_t fn;
	unsigned long arg;
	unsigned long result;
	unsigned int calls;
};

static inline void kpt_call_inner(struct kpt_inner *inner)
{
	inner->result = inner->fn(inner->arg);
	inner->calls++;
}

static inline int kpt_pre_calls(struct kpt_probe *pr, struct pt_regs *regs)
{
	kpt_call_inner(pr->arg);
	return 0;
}

static inline void kpt_post_calls(struct kpt_probe *pr, struct pt_regs *regs)
{
	kpt_call_inner(pr->arg);
}

/* Makes a handler of a probe call it; the probe is not registered yet. */
static inline void kpt_let_call(struct kpt_probe *pr, bool post, struct kpt_inner *inner)
{
	pr->arg = inner;
	if (post) {
		pr->kp.post_handler = kpt_post;
		pr->on_post = kpt_post_calls;
	} else {
		pr->on_pre = kpt_pre_calls;
	}
}

/* Calls @fn with interrupts off: the handlers see that, and interrupts stay off. */
static inline void kpt_call_irqs_off(struct kunit *test, struct kpt_probe *pr, kpt_fn_t fn)
{
	bool off;

	pr->irqs_on = false;
	pr->irqs_off = false;
	local_irq_disable();
	fn(7);
	off = irqs_disabled();
	local_irq_enable();
	KUNIT_EXPECT_TRUE(test, off);
	KUNIT_EXPECT_TRUE(test, pr->irqs_off);
	KUNIT_EXPECT_FALSE(test, pr->irqs_on);
}

/*
 * Functions to probe. Each kpt_site is a place that is hit once when @fn is
 * called. They are hit in different ways, and a rule has to hold for all of them.
 */

/**
 * struct kpt_site - a probe point
 * @name:	for the test's title
 * @fn:		the function to call; returns KPT_RESULT() of its argument
 * @offset:	a probe asks for @fn plus this
 * @at:		and is set at @fn plus this
 * @next:	where the next instruction is, from @fn; 0 if unknown
 * @ftrace:	hits come through ftrace
 */
struct kpt_site {
	const char *name;
	kpt_fn_t fn;
	unsigned int offset;
	unsigned int at;
	unsigned int next;
	bool ftrace;
};

#define KPT_RESULT(arg)		((arg) * 3 + 1)

const void *kpt_site_gen(const void *prev, char *desc);

/* The same, but for return probes, which are set on entries only. */
const void *kpt_entry_site_gen(const void *prev, char *desc);

/* How a point is hit, for suites whose cases run once for each. */
enum kpt_state { KPT_BREAKPOINT, KPT_JUMP, KPT_FTRACE };

const void *kpt_state_gen(const void *prev, char *desc);

/* The same without ftrace sites, which displace nothing. */
const void *kpt_displaced_state_gen(const void *prev, char *desc);

enum kpt_state kpt_state(struct kunit *test);

/* Call this when all probes are set: brings the point into the state of the case. */
void kpt_settle(struct kunit *test, struct kprobe *kp);

/* For the init() of such a suite, which may also have cases without a state. */
static inline int kpt_state_case_init(struct kunit *test)
{
	int ret = kpt_case_init(test);

	if (!ret && test->param_value && kpt_state(test) == KPT_BREAKPOINT)
		kpt_forbid_jumps(test);
	return ret;
}

/* A kernel address that faults. */
void *kpt_bad_address(struct kunit *test);

/* The site of a case that runs once for each site. */
static inline const struct kpt_site *kpt_site(struct kunit *test)
{
	return test->param_value;
}

static inline void *kpt_addr(const struct kpt_site *site)
{
	return (char *)kpt_text(site->fn) + site->offset;
}

/*
 * kpt_plain() has no ftrace site, kpt_traced() has one if probes are allowed there. The
 * second pair is for calls from handlers.
 */
unsigned long kpt_plain(unsigned long arg);
unsigned long kpt_traced(unsigned long arg);
unsigned long kpt_plain2(unsigned long arg);
unsigned long kpt_traced2(unsigned long arg);

/* Never probed: handlers send execution there. */
unsigned long kpt_elsewhere(unsigned long arg);
#define KPT_ELSEWHERE(arg)	((arg) + 1000)

/* Calls itself @depth times; returns @depth. */
unsigned long kpt_recurse(unsigned long depth);

/* The same, and at the bottom waits for @gate, counted in @inside meanwhile. */
unsigned long kpt_recurse_waits(unsigned long depth, struct completion *gate,
				atomic_t *inside);

/* These branch backwards and forwards, and no two branches lead to the same place. */
unsigned long kpt_count_down(unsigned long n);
unsigned long kpt_count_up(unsigned long n);

/* Moves to another CPU and returns KPT_RESULT(). */
unsigned long kpt_ret_wanders(unsigned long arg);

/* Writes its own return address to where @to points. */
unsigned long kpt_ret_where(unsigned long to);

/* The sum of what kpt_plain() and kpt_traced() return, for @arg and the next. */
unsigned long kpt_ret_calls_both(unsigned long arg);

/* Returns what kpt_plain() returns, and is on the stack while that runs. */
unsigned long kpt_ret_wraps(unsigned long arg);

/* Returns KPT_RESULT() after a while. */
unsigned long kpt_ret_sleeps(unsigned long ms);

/* Completes the completion at @leave and does not return, or returns 1. */
unsigned long kpt_ret_exits(unsigned long leave);

/* More arguments than fit in registers. */
#define KPT_MANY_PARAMS							\
	unsigned long a, unsigned long b, unsigned long c, unsigned long d,	\
	unsigned long e, unsigned long f, unsigned long g, unsigned long h,	\
	unsigned long i, unsigned long j

/* The result depends on each argument and on its position. */
static inline unsigned long kpt_many_result(KPT_MANY_PARAMS)
{
	const unsigned long arg[] = { a, b, c, d, e, f, g, h, i, j };
	unsigned long result = 0;
	unsigned int k;

	for (k = 0; k < ARRAY_SIZE(arg); k++)
		result = result * 3 + arg[k];
	return result;
}

typedef unsigned long kpt_many_t(KPT_MANY_PARAMS);

/* In assembly, in C, in C with an ftrace site, and with another calling convention. */
kpt_many_t kpt_many, kpt_many_c, kpt_many_traced;
asmlinkage kpt_many_t kpt_many_asmlinkage;

/*
 * An argument on the stack, between two others. It fills the 256 bytes that are copied. On
 * 32 bits, the argument after it is on the stack, too.
 */
struct kpt_bulk {
	unsigned long word[256 / sizeof(long) - !IS_ENABLED(CONFIG_64BIT)];
};

unsigned long kpt_bulky(unsigned long a, struct kpt_bulk bulk, unsigned long b);

/* The guess unwinder also sees much that earlier calls have left on the stack. */
#define KPT_TRACE_LEN	(IS_ENABLED(CONFIG_UNWINDER_GUESS) ? 128 : 16)

struct kpt_trace {
	unsigned long entries[KPT_TRACE_LEN];
	unsigned int nr;
};

/* Write a stack trace to the struct kpt_trace at @to; the outer calls the inner. */
unsigned long kpt_ret_trace_inner(unsigned long to);
unsigned long kpt_ret_trace_outer(unsigned long to);

#ifdef CONFIG_X86
/* The architecture's part of the point at @addr. */
static inline struct arch_specific_insn kpt_insn_at(void *addr)
{
	struct arch_specific_insn insn = { };
	struct kprobe *p;

	preempt_disable();
	p = get_kprobe(addr);
	if (p)
		insn = p->ainsn;
	preempt_enable();
	return insn;
}

/* The same of a registered probe. */
static inline struct arch_specific_insn kpt_insn_of(struct kpt_probe *pr)
{
	return kpt_insn_at(pr->kp.addr);
}

#include "targets_x86.h"
#endif

#endif /* _LIB_TESTS_KPROBES_FIXTURE_H */
