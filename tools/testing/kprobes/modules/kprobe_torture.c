// SPDX-License-Identifier: GPL-2.0
/*
 * Writers and readers that try to break kprobes, in the manner of rcutorture.
 *
 *	kprobe_torture/begin	write anything: remembers how much kprobes have allocated
 *	kprobe_torture/run	write SECONDS: returns when the time is over
 *	kprobe_torture/nmi	write 1 or 0: during runs, NMIs go to all CPUs all the time
 *	kprobe_torture/key	write 1 or 0: switches the static key of a target
 *	kprobe_torture/result	read: the counts, and how much has been allocated since "begin"
 *
 * Readers call six functions, the targets, from tasks that preempt each other, from a
 * timer's hard interrupt, from a softirq, from an NMI, and from a handler. Two kprobes and
 * a return probe are on each of them all the time. For each target:
 *
 *	hits of one kprobe = hits of the other = calls that were not from a handler
 *	hits in NMIs = calls from NMIs
 *	missed hits of each = calls from a handler
 *	entries of the return probe = its returns; with its missed calls: the hits
 *	runs of the post-handler, which one of them has all the time = hits of its probe
 *
 * One target has a jump label. Each call goes on to one of its two sides, each of which has a
 * probe: hits of the one + hits of the other = calls, and the same for missed hits.
 *
 * kprobe_livepatch.ko replaces another one, which has no other probes: a post-handler and a
 * live patch exclude each other. Calls of the one version + calls of the other = all calls.
 *
 * Writers, a thread on each CPU, set, switch and remove more probes on the targets and
 * inside the bytes that a jump replaces there, singly and in batches, and make mistakes,
 * which have to be refused. A handler that runs after its probe is gone finds poison. Some
 * handlers skip the probed instruction, which does nothing there. On our implementation some
 * fault, and leave that to their fault handlers; and there are jprobes.
 *
 * Killers are in guest/lib-torture.sh. If one of them switches off all probes meanwhile, calls
 * may not be hits. Then "pairs" have to be equal instead of the exact counts.
 *
 * This uses the public API only, so that it tests any implementation. What only ours has, and
 * what it tells of its allocations, depends on KPROBES_TELL_COUNTS and CONFIG_JPROBES.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/objtool.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <asm/apic.h>
#include <asm/nmi.h>
#include <asm/nospec-branch.h>
#include <asm/processor-flags.h>
#include <asm/text-patching.h>

#include "kprobe_bytes.h"
#include "kprobe_churn.h"
#include "kprobe_left.h"
#include "kprobe_torture.h"

#define MAX_BATCH	32
#define MANY_CPUS	2u
#define JUMP_OPCODE	0xe9
#define JUMP_LENGTH	5
#define ENOUGH		100

/* -------------------------------- Targets ------------------------------- */

BYTES(torture_bytes_a);
BYTES(torture_bytes_b);
TARGET(torture, traced)
notrace TARGET(torture, plain)

DECLARE_STATIC_KEY_FALSE(torture_key);
DEFINE_STATIC_KEY_FALSE(torture_key);
BYTES_LABEL(torture_label, torture_key);
enum { AT_LABEL, KEY_OFF, KEY_ON };

DEFINE_PER_CPU(unsigned long [NR_VERSIONS], torture_versions);
EXPORT_PER_CPU_SYMBOL_GPL(torture_versions);

noinline unsigned long torture_patched(unsigned long x)
{
	return torture_version(x, ORIGINAL);
}

enum { BYTES_A, BYTES_B, LABEL, TRACED, PLAIN, NR_CHURNED, PATCHED = NR_CHURNED, NR_TARGETS };

/**
 * struct counts - the counts of a target on a CPU
 * @calls:   calls that were not from a handler
 * @inner:   calls from a handler
 * @from_nmi: calls from an NMI, which are in @calls as well
 * @hits:    hits of the target's two kprobes
 * @posts:   runs of the post-handler of the second
 * @hits_in_nmi: hits of the first of them in an NMI
 * @entries: entries of the return probe
 * @returns: returns of the return probe
 */
struct counts {
	unsigned long calls;
	unsigned long inner;
	unsigned long from_nmi;
	unsigned long hits[2];
	unsigned long posts;
	unsigned long hits_in_nmi;
	unsigned long entries;
	unsigned long returns;
};

struct target {
	unsigned long (*fn)(unsigned long x);
	const char *name;
	bool has_places;
	u8 text[JUMP_LENGTH];
	struct counts __percpu *counts;
	struct kprobe kp[2];
	struct kretprobe rp;
};

static struct target targets[NR_TARGETS] = {
	[BYTES_A] = { .fn = torture_bytes_a, .name = "torture_bytes_a", .has_places = true },
	[BYTES_B] = { .fn = torture_bytes_b, .name = "torture_bytes_b", .has_places = true },
	[LABEL] = { .fn = torture_label, .name = "torture_label", .has_places = true },
	[TRACED] = { .fn = torture_traced, .name = "torture_traced" },
	[PLAIN] = { .fn = torture_plain, .name = "torture_plain" },
	[PATCHED] = { .fn = torture_patched, .name = "torture_patched" },
};

/**
 * struct side - what follows the jump label, while its key is off or on
 * @kp:     its probe
 * @hits:   the probe's hits on each CPU
 * @total:  in a run, on all CPUs
 * @missed: in a run, missed hits
 */
struct side {
	struct kprobe kp;
	unsigned long __percpu *hits;
	unsigned long total;
	unsigned long missed;
};

static struct side sides[2];
static atomic_long_t key_flips;

static unsigned long versions[NR_VERSIONS];
static struct counts totals[NR_TARGETS];
static unsigned long missed[NR_TARGETS][3];
static unsigned int missed_returns[NR_TARGETS];

/**
 * struct nmis - the NMIs of a CPU
 * @all:	  the number of them
 * @irqs_off:	  with interrupts off
 * @over_handler: while a handler ran
 * @over_patch:	  while a jump or an ftrace call was being written or removed
 * @over_copy:	  in a copy of an instruction
 * @over_detour:  in a detour
 * @inside:	  an NMI is being handled
 * @handlers:	  number of running handlers
 * @sent:	  when the pending NMI was sent, in jiffies; 0 if none is pending
 */
struct nmis {
	unsigned long all;
	unsigned long irqs_off;
	unsigned long over_handler;
	unsigned long over_patch;
	unsigned long over_copy;
	unsigned long over_detour;
	bool inside;
	unsigned int handlers;
	unsigned long sent;
};

static DEFINE_PER_CPU(struct nmis, nmis);
static struct nmis all_nmis;
static bool nmi_running, nmi_storm;

enum { IN_TASK, IN_SOFTIRQ, IN_HARDIRQ, IN_NMI, IN_HANDLER, NR_CONTEXTS };

static unsigned long by_context[NR_CONTEXTS];
static unsigned int cpus_with_tasks, cpus_with_nmis;
static DEFINE_PER_CPU(unsigned long [NR_CONTEXTS], context_calls);
static atomic_long_t wrong, errors, rounds, singles, batches, returns, mistakes, jumps_seen;
static atomic_long_t switched_batches, diverted, faults, jprobes, jprobe_hits;
static DEFINE_MUTEX(lock);
static DEFINE_MUTEX(key_lock);
static bool stop;
static struct dentry *dir;

static kprobe_opcode_t *entry(const struct target *t)
{
	return (kprobe_opcode_t *)t->fn;
}

/* -------------------------------- Readers ------------------------------- */

static void call_targets(unsigned long x, int context)
{
	unsigned int i;

	for (i = 0; i < NR_TARGETS; i++) {
		/* The inner calls come from its handler. */
		if (context == IN_HANDLER && i == PLAIN)
			continue;
		if (targets[i].fn(x) != RESULT(x))
			atomic_long_inc(&wrong);
		if (context == IN_HANDLER)
			this_cpu_inc(targets[i].counts->inner);
		else
			this_cpu_inc(targets[i].counts->calls);
		if (context == IN_NMI)
			this_cpu_inc(targets[i].counts->from_nmi);
	}
	this_cpu_inc(context_calls[context]);
}

static int count_hit(struct kprobe *kp, unsigned int which)
{
	struct target *t = container_of(kp, struct target, kp[which]);

	this_cpu_inc(t->counts->hits[which]);
	return 0;
}

static int first_hit(struct kprobe *kp, struct pt_regs *regs)
{
	struct target *t = container_of(kp, struct target, kp[0]);

	this_cpu_inc(nmis.handlers);
	if (this_cpu_read(nmis.inside))
		this_cpu_inc(t->counts->hits_in_nmi);
	if (t == &targets[PLAIN] && this_cpu_read(t->counts->hits[0]) % 8 == 0)
		call_targets(regs_get_kernel_argument(regs, 0), IN_HANDLER);
	this_cpu_dec(nmis.handlers);
	return count_hit(kp, 0);
}

static int second_hit(struct kprobe *kp, struct pt_regs *regs)
{
	return count_hit(kp, 1);
}

static void second_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	this_cpu_inc(container_of(kp, struct target, kp[1])->counts->posts);
}

static int side_hit(struct kprobe *kp, struct pt_regs *regs)
{
	this_cpu_inc(*container_of(kp, struct side, kp)->hits);
	return 0;
}

static int count_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct target *t = container_of(get_kretprobe(ri), struct target, rp);

	*(unsigned long *)ri->data = regs_get_kernel_argument(regs, 0);
	this_cpu_inc(t->counts->entries);
	return 0;
}

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	if (regs_return_value(regs) != RESULT(*(unsigned long *)ri->data))
		atomic_long_inc(&wrong);
	if (rp)
		this_cpu_inc(container_of(rp, struct target, rp)->counts->returns);
	return 0;
}

/* A run without any jump proves nothing. An ftrace site never becomes one. */
static void look_for_jumps(bool *was)
{
	unsigned int i;
	bool jump;

	for (i = 0; i < NR_TARGETS; i++) {
		jump = READ_ONCE(*(entry(&targets[i]) + ENDBR_SIZE)) == JUMP_OPCODE;
		if (jump && !was[i])
			atomic_long_inc(&jumps_seen);
		was[i] = jump;
	}
}

/* The machine may have fewer CPUs than it emulates, and the other threads need time. */
static unsigned int pause_ms(void)
{
	return max(MANY_CPUS, num_online_cpus());
}

static u64 timer_ns(void)
{
	return pause_ms() * NSEC_PER_MSEC;
}

static int reader_thread(void *cpu)
{
	bool was[NR_TARGETS] = { };
	unsigned long x = 0;

	while (!READ_ONCE(stop)) {
		call_targets(x++, IN_TASK);
		look_for_jumps(was);
		/* If no task ever slept, no point would become a jump. */
		if (!(x % 128)) {
			threads_return((unsigned long)cpu);
			if (pause_ms() > MANY_CPUS)
				msleep(2 * pause_ms());
			cond_resched_tasks_rcu_qs();
		}
	}
	return threads_stay();
}

static DEFINE_PER_CPU(struct hrtimer, hard_timer);
static DEFINE_PER_CPU(struct hrtimer, soft_timer);

static enum hrtimer_restart timer_next(struct hrtimer *timer)
{
	if (READ_ONCE(stop))
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(timer_ns()));
	return HRTIMER_RESTART;
}

static enum hrtimer_restart call_in_hardirq(struct hrtimer *timer)
{
	call_targets(77, IN_HARDIRQ);
	return timer_next(timer);
}

static enum hrtimer_restart call_in_softirq(struct hrtimer *timer)
{
	call_targets(78, IN_SOFTIRQ);
	return timer_next(timer);
}

static void start_timers(void *unused)
{
	struct hrtimer *hard = this_cpu_ptr(&hard_timer), *soft = this_cpu_ptr(&soft_timer);

	hrtimer_init(hard, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hard->function = call_in_hardirq;
	hrtimer_start(hard, ns_to_ktime(timer_ns()), HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_init(soft, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_SOFT);
	soft->function = call_in_softirq;
	hrtimer_start(soft, ns_to_ktime(timer_ns()), HRTIMER_MODE_REL_PINNED_SOFT);
}

/* --------------------------------- NMIs --------------------------------- */

/*
 * An NMI arrives at any instruction, whatever is disabled. If a CPU sent one to itself, it
 * would always arrive at the instruction that sends it. So a thread on each CPU sends them to
 * the other CPUs. The emulator can send more, and only it can send one to a single CPU.
 */

/*
 * A jump is written and removed under a breakpoint. Meanwhile the bytes after it are neither
 * the function's nor breakpoints of other probes. No probe has a breakpoint
 * on an ftrace site, but ftrace has one while it changes the call.
 */
static bool is_being_patched(const struct target *t)
{
	const u8 *text = (const u8 *)entry(t) + ENDBR_SIZE;
	unsigned int i;
	u8 byte;

	if (READ_ONCE(text[0]) != INT3_INSN_OPCODE)
		return false;
	if (t == &targets[TRACED])
		return IS_ENABLED(CONFIG_KPROBES_ON_FTRACE);
	for (i = 1; t->has_places && i < JUMP_LENGTH; i++) {
		byte = READ_ONCE(text[i]);
		if (byte != t->text[i] && byte != INT3_INSN_OPCODE)
			return true;
	}
	return false;
}

#if defined(KPROBES_TELL_COUNTS) && IS_ENABLED(CONFIG_KUNIT)
static void count_slots(struct nmis *n, unsigned long ip)
{
	n->over_copy += is_kprobe_insn_slot(ip);
	n->over_detour += is_kprobe_optinsn_slot(ip);
}
#else
static void count_slots(struct nmis *n, unsigned long ip) { }
#endif

/* An NMI does not name its sender: this handler takes all of them. */
static int handle_nmi(unsigned int type, struct pt_regs *regs)
{
	struct nmis *n = this_cpu_ptr(&nmis);

	WRITE_ONCE(n->sent, 0);
	if (!READ_ONCE(nmi_running))
		return NMI_HANDLED;
	n->all++;
	n->irqs_off += !(regs->flags & X86_EFLAGS_IF);
	n->over_handler += !!READ_ONCE(n->handlers);
	n->over_patch += is_being_patched(&targets[BYTES_A]) ||
			 is_being_patched(&targets[BYTES_B]) ||
			 is_being_patched(&targets[LABEL]) || is_being_patched(&targets[TRACED]);
	count_slots(n, regs->ip);
	WRITE_ONCE(n->inside, true);
	call_targets(79, IN_NMI);
	WRITE_ONCE(n->inside, false);
	return NMI_HANDLED;
}

/* A CPU gets its next NMI after it has handled the last one, so it has time for other work. */
static void send_nmi(struct rnd_state *rnd)
{
	unsigned int cpu;
	unsigned long sent;

	preempt_disable();
	cpu = cpumask_nth(prandom_u32_state(rnd) % num_online_cpus(), cpu_online_mask);
	if (cpu == smp_processor_id())
		cpu = cpumask_any_but(cpu_online_mask, cpu);
	sent = cpu < nr_cpu_ids ? READ_ONCE(per_cpu(nmis, cpu).sent) : 0;
	/* An NMI that reaches a CPU which is going offline is lost. */
	if (cpu < nr_cpu_ids && (!sent || time_after(jiffies, sent + HZ / 10))) {
		WRITE_ONCE(per_cpu(nmis, cpu).sent, jiffies | 1);
		apic->send_IPI(cpu, NMI_VECTOR);
	}
	preempt_enable();
}

static int nmi_thread(void *cpu)
{
	unsigned int pause = 25 * pause_ms();
	struct rnd_state rnd;

	prandom_seed_state(&rnd, (unsigned long)cpu + 1);
	/* Otherwise the readers and writers on its CPU would leave it little time. */
	sched_set_fifo_low(current);
	while (!READ_ONCE(stop)) {
		threads_return((unsigned long)cpu);
		if (READ_ONCE(nmi_storm))
			send_nmi(&rnd);
		else
			msleep(20);
		usleep_range(pause, 10 * pause);
	}
	return threads_stay();
}

static void do_nothing(void *unused)
{
}

static void switch_nmis(bool on)
{
	WRITE_ONCE(nmi_running, on);
	/* A CPU that is in an NMI takes this interrupt after it. */
	on_each_cpu(do_nothing, NULL, 1);
}

/* -------------------------------- Writers ------------------------------- */

static int churned_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	if (rp)
		churned_look(container_of(rp, struct churned, rp));
	return 0;
}

/* Skips the probed instruction, a nop. */
static int churned_divert(struct kprobe *kp, struct pt_regs *regs)
{
	churned_hit(kp, regs);
	atomic_long_inc(&diverted);
	regs->ip = (unsigned long)kp->addr + 1;
	return 1;
}

#ifdef KPROBES_TELL_COUNTS
/* What its fault handler says that a handler has read. */
#define MENDED		0x4d454e44ul
/* Of the instruction that faults. */
#define FAULT_LENGTH	(IS_ENABLED(CONFIG_X86_64) ? 3 : 2)

static int churned_fault(struct kprobe *kp, struct pt_regs *regs)
{
	unsigned long got = 0;

	churned_hit(kp, regs);
	asm volatile("mov (%%" _ASM_DI "), %%" _ASM_AX
		     : "+a"(got) : "D"(sizeof(long)) : "memory");
	if (got != MENDED)
		atomic_long_inc(&wrong);
	return 0;
}

static int churned_mend(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	churned_look(container_of(kp, struct churned, kp));
	atomic_long_inc(&faults);
	regs->ax = MENDED;
	regs->ip += FAULT_LENGTH;
	return 1;
}
#endif

#ifdef CONFIG_JPROBES
/* A jprobe's handler does not learn its probe, so each target has a handler of its own. */
static atomic_t jprobes_on[NR_CHURNED];

static void churned_jprobe(unsigned int i, unsigned long x)
{
	if (!atomic_read(&jprobes_on[i]))
		atomic_long_inc(&late);
	atomic_long_inc(&jprobe_hits);
	/* The others return. */
	if (x & 1)
		jprobe_return();
}

#define JPROBED(i)						\
static unsigned long jprobed_##i(unsigned long x)		\
{								\
	churned_jprobe(i, x);					\
	return 0;						\
}

JPROBED(BYTES_A)
JPROBED(BYTES_B)
JPROBED(LABEL)
JPROBED(TRACED)
JPROBED(PLAIN)

static void *const jprobed[NR_CHURNED] = {
	[BYTES_A] = JPROBE_ENTRY(jprobed_BYTES_A),
	[BYTES_B] = JPROBE_ENTRY(jprobed_BYTES_B),
	[LABEL] = JPROBE_ENTRY(jprobed_LABEL),
	[TRACED] = JPROBE_ENTRY(jprobed_TRACED),
	[PLAIN] = JPROBE_ENTRY(jprobed_PLAIN),
};
#endif

enum type { KPROBE, KRETPROBE, JPROBE };

static void aim_return(struct churned *c, unsigned int r)
{
	c->rp.handler = r & 1 ? churned_return : NULL;
	c->rp.entry_handler = r & 2 ? churned_return : NULL;
	c->rp.maxactive = r & 4 ? 0 : 1 + (r >> 3) % 4;
}

static void aim_kprobe(struct churned *c, const struct target *t, unsigned int r)
{
	unsigned int place = r % 5;

	if (r & 0x100)
		c->kp.pre_handler = churned_hit;
	if (r & 0x200)
		c->kp.post_handler = churned_post;
	if (!(r & 0xc00))
		c->kp.flags = KPROBE_FLAG_DISABLED;
#ifdef KPROBES_TELL_COUNTS
	if (!(r & 0x70000))
		c->kp.pre_handler = churned_fault;
	c->kp.fault_handler = churned_mend;
#endif
	/* Each place is an instruction of one byte, or a side of the label. */
	if (t == &targets[LABEL] && (r & 0x3000) == 0x3000) {
		c->kp.addr += torture_label_sides[r & 0x4000 ? KEY_ON : KEY_OFF];
	} else if (t->has_places) {
		c->kp.addr += ENDBR_SIZE + place;
		if (place == NOP_PLACE && r & 0x8000)
			c->kp.pre_handler = churned_divert;
	}
}

static struct churned *churned_aim(struct rnd_state *rnd, enum type type)
{
	unsigned int i = prandom_u32_state(rnd) % NR_CHURNED;
	struct churned *c = churned_alloc();
	unsigned int r = prandom_u32_state(rnd);

	if (!c) {
		atomic_long_inc(&errors);
		return NULL;
	}
	c->kp.addr = entry(&targets[i]);
	if (type == KPROBE)
		aim_kprobe(c, &targets[i], r);
	else if (type == KRETPROBE)
		aim_return(c, r);
#ifdef CONFIG_JPROBES
	else
		c->jp.entry = jprobed[i];
#endif
	return c;
}

static void check(bool good, const char *what, int got)
{
	if (good)
		return;
	if (atomic_long_inc_return(&errors) < 10)
		pr_err("%s: %d\n", what, got);
}

static void pause(struct rnd_state *rnd)
{
	unsigned int r = prandom_u32_state(rnd);

	if (r % 4 == 0)
		msleep(r / 4 % 300);
	else if (r % 4 == 1)
		usleep_range(20, 2000);
}

static void churn_single(struct rnd_state *rnd)
{
	struct churned *c = churned_aim(rnd, KPROBE);
	unsigned int flips;
	int ret;

	if (!c)
		return;
	ret = register_kprobe(&c->kp);
	check(!ret, "register_kprobe", ret);
	if (!ret) {
		for (flips = prandom_u32_state(rnd) % 5; flips; flips--) {
			pause(rnd);
			ret = flips & 1 ? disable_kprobe(&c->kp) : enable_kprobe(&c->kp);
			check(!ret, "switching one", ret);
		}
		pause(rnd);
		unregister_kprobe(&c->kp);
		atomic_long_inc(&singles);
	}
	churned_free(c);
}

static void churn_return(struct rnd_state *rnd)
{
	struct churned *c = churned_aim(rnd, KRETPROBE);
	int ret;

	if (!c)
		return;
	ret = register_kretprobe(&c->rp);
	check(!ret, "register_kretprobe", ret);
	if (!ret) {
		pause(rnd);
		if (prandom_u32_state(rnd) & 1) {
			ret = disable_kretprobe(&c->rp);
			check(!ret, "disable_kretprobe", ret);
			pause(rnd);
		}
		unregister_kretprobe(&c->rp);
		atomic_long_inc(&returns);
	}
	churned_free(c);
}

#ifdef CONFIG_JPROBES
/* Counts @add jprobes where each of them is. */
static void count_jprobes(struct churned **all, unsigned int num, int add)
{
	unsigned int i, at;

	for (i = 0; i < num; i++) {
		for (at = 0; all[i]->jp.entry != jprobed[at]; at++)
			;
		atomic_add(add, &jprobes_on[at]);
	}
}

static int register_some_jprobes(struct churned **all, unsigned int num)
{
	int ret;

	/* A handler may run before this returns. */
	count_jprobes(all, num, 1);
	ret = num == 1 ? register_jprobe(&all[0]->jp) :
			 register_jprobes((struct jprobe **)all, num);
	if (ret)
		count_jprobes(all, num, -1);
	return ret;
}

static void unregister_some_jprobes(struct churned **all, unsigned int num)
{
	if (num == 1)
		unregister_jprobe(&all[0]->jp);
	else
		unregister_jprobes((struct jprobe **)all, num);
	count_jprobes(all, num, -1);
	atomic_long_add(num, &jprobes);
}
#else
static int register_some_jprobes(struct churned **all, unsigned int num)
{
	return -EOPNOTSUPP;
}

static void unregister_some_jprobes(struct churned **all, unsigned int num)
{
}
#endif

static void churn_jprobe(struct rnd_state *rnd)
{
	struct churned *c = churned_aim(rnd, JPROBE);
	int ret;

	if (!c)
		return;
	ret = register_some_jprobes(&c, 1);
	check(!ret, "register_jprobe", ret);
	if (!ret) {
		pause(rnd);
		unregister_some_jprobes(&c, 1);
	}
	churned_free(c);
}

static int register_batch(enum type type, struct churned **all, unsigned int num)
{
	switch (type) {
	case KRETPROBE:
		return register_kretprobes((struct kretprobe **)all, num);
	case JPROBE:
		return register_some_jprobes(all, num);
	default:
		return register_kprobes((struct kprobe **)all, num);
	}
}

static void unregister_batch(enum type type, struct churned **all, unsigned int num)
{
	switch (type) {
	case KRETPROBE:
		return unregister_kretprobes((struct kretprobe **)all, num);
	case JPROBE:
		return unregister_some_jprobes(all, num);
	default:
		return unregister_kprobes((struct kprobe **)all, num);
	}
}

#ifdef KPROBES_TELL_COUNTS
static void switch_batch(struct rnd_state *rnd, struct churned **all, unsigned int num)
{
	unsigned int flips;
	int ret;

	for (flips = prandom_u32_state(rnd) % 3; flips; flips--) {
		ret = flips & 1 ? disable_kprobes((struct kprobe **)all, num) :
				  enable_kprobes((struct kprobe **)all, num);
		check(!ret, "switching a batch", ret);
		pause(rnd);
		atomic_long_inc(&switched_batches);
	}
}
#else
static void switch_batch(struct rnd_state *rnd, struct churned **all, unsigned int num)
{
}
#endif

static void churn_batch(struct rnd_state *rnd)
{
	unsigned int num = 1 + prandom_u32_state(rnd) % MAX_BATCH, i;
	unsigned int r = prandom_u32_state(rnd) % 6;
	struct churned *all[MAX_BATCH] = { };
	enum type type = KPROBE;
	int ret = -ENOMEM;

	if (r < 2)
		type = KRETPROBE;
	else if (r == 2 && IS_ENABLED(CONFIG_JPROBES))
		type = JPROBE;
	for (i = 0; i < num; i++) {
		all[i] = churned_aim(rnd, type);
		if (!all[i])
			goto out;
	}
	ret = register_batch(type, all, num);
	check(!ret, "registering a batch", ret);
	if (ret)
		goto out;
	pause(rnd);
	switch_batch(rnd, all, num);
	unregister_batch(type, all, num);
	atomic_long_inc(&batches);
out:
	for (i = 0; i < num; i++)
		churned_free(all[i]);
}

/* Calls that have to be refused, and must not disturb anything. */
static void make_mistakes(struct rnd_state *rnd)
{
	struct churned *c = churned_aim(rnd, KPROBE), *bad = churned_aim(rnd, KPROBE);
	struct kprobe *both[2];
	int ret;

	if (!c || !bad)
		goto out;
	/* All or none: the second probe is in the middle of an instruction. */
	bad->kp.addr = entry(&targets[BYTES_A]) + ENDBR_SIZE + 6;
	both[0] = &c->kp;
	both[1] = &bad->kp;
	ret = register_kprobes(both, 2);
	check(ret == -EILSEQ, "a batch with a bad address", ret);
	bad->kp.addr = entry(&targets[LABEL]) + torture_label_sides[AT_LABEL];
	ret = register_kprobes(both, 2);
	check(ret == -EINVAL, "a batch with a jump label", ret);
	ret = register_kprobes(both, 0);
	check(ret == -EINVAL, "an empty batch", ret);
	ret = enable_kprobe(&c->kp);
	check(ret == -EINVAL, "enabling what is not registered", ret);
	c->kp.flags = 0;
	ret = register_kprobe(&c->kp);
	check(!ret, "register_kprobe", ret);
	if (!ret) {
		ret = register_kprobe(&c->kp);
		check(ret == -EINVAL, "registering twice", ret);
		both[0] = &bad->kp;
		both[1] = &c->kp;
		unregister_kprobes(both, 2);
		check(!bad->kp.addr, "unregistering what is not registered", 0);
		unregister_kprobe(&c->kp);
		check(!c->kp.addr, "unregistering twice", 0);
	}
	atomic_long_inc(&mistakes);
out:
	churned_free(c);
	churned_free(bad);
}

static int writer_thread(void *cpu)
{
	struct rnd_state rnd;

	prandom_seed_state(&rnd, (unsigned long)cpu + 1);
	while (!READ_ONCE(stop)) {
		threads_return((unsigned long)cpu);
		switch (prandom_u32_state(&rnd) % 9) {
		case 0 ... 2:
			churn_single(&rnd);
			break;
		case 3 ... 4:
			churn_return(&rnd);
			break;
		case 5 ... 6:
			churn_batch(&rnd);
			break;
		case 7:
			if (IS_ENABLED(CONFIG_JPROBES))
				churn_jprobe(&rnd);
			break;
		default:
			make_mistakes(&rnd);
		}
		pause(&rnd);
		atomic_long_inc(&rounds);
		/* All threads rest at the same time, so that all points become jumps. */
		while (jiffies / HZ % 8 < 2 && !READ_ONCE(stop))
			msleep(100);
		cond_resched_tasks_rcu_qs();
	}
	return threads_stay();
}

/* -------------------------------- A run --------------------------------- */

static void run_threads(unsigned int seconds)
{
	struct threads threads;
	int cpu;

	if (threads_init(&threads, 4 * nr_cpu_ids)) {
		atomic_long_inc(&errors);
		return;
	}
	WRITE_ONCE(stop, false);
	cpus_read_lock();
	/* Threads of an offline CPU move there when it comes online. */
	for_each_present_cpu(cpu) {
		threads_start(&threads, reader_thread, cpu, "kpt_reader/%u", &errors);
		threads_start(&threads, reader_thread, cpu, "kpt_second/%u", &errors);
		threads_start(&threads, writer_thread, cpu, "kpt_writer/%u", &errors);
		threads_start(&threads, nmi_thread, cpu, "kpt_nmi/%u", &errors);
	}
	on_each_cpu(start_timers, NULL, 1);
	cpus_read_unlock();
	switch_nmis(true);
	sleep_for(seconds);
	WRITE_ONCE(stop, true);
	threads_stop(&threads);
	switch_nmis(false);
	for_each_possible_cpu(cpu) {
		if (per_cpu(hard_timer, cpu).function)
			hrtimer_cancel(&per_cpu(hard_timer, cpu));
		if (per_cpu(soft_timer, cpu).function)
			hrtimer_cancel(&per_cpu(soft_timer, cpu));
	}
}

static void count_nmis(void)
{
	unsigned int cpu;

	all_nmis = (struct nmis){ };
	for_each_possible_cpu(cpu) {
		struct nmis *n = per_cpu_ptr(&nmis, cpu);

		all_nmis.all += n->all;
		all_nmis.irqs_off += n->irqs_off;
		all_nmis.over_handler += n->over_handler;
		all_nmis.over_patch += n->over_patch;
		all_nmis.over_copy += n->over_copy;
		all_nmis.over_detour += n->over_detour;
		*n = (struct nmis){ };
	}
}

static void count_all(unsigned int i)
{
	unsigned int cpu, context;
	unsigned long *calls;

	totals[i] = (struct counts){ };
	for_each_possible_cpu(cpu) {
		struct counts *c = per_cpu_ptr(targets[i].counts, cpu);

		totals[i].calls += c->calls;
		totals[i].inner += c->inner;
		totals[i].from_nmi += c->from_nmi;
		totals[i].hits[0] += c->hits[0];
		totals[i].hits[1] += c->hits[1];
		totals[i].posts += c->posts;
		totals[i].hits_in_nmi += c->hits_in_nmi;
		totals[i].entries += c->entries;
		totals[i].returns += c->returns;
		*c = (struct counts){ };
		if (i)
			continue;
		calls = per_cpu(context_calls, cpu);
		cpus_with_tasks += calls[IN_TASK] >= ENOUGH;
		cpus_with_nmis += calls[IN_NMI] >= ENOUGH;
		for (context = 0; context < NR_CONTEXTS; context++)
			by_context[context] += calls[context];
		memset(calls, 0, sizeof(by_context));
	}
}

static void count_sides(void)
{
	unsigned int i, cpu;

	for (i = 0; i < ARRAY_SIZE(sides); i++) {
		sides[i].total = 0;
		for_each_possible_cpu(cpu) {
			sides[i].total += *per_cpu_ptr(sides[i].hits, cpu);
			*per_cpu_ptr(sides[i].hits, cpu) = 0;
		}
	}
}

static void count_versions(void)
{
	unsigned int i, cpu;

	memset(versions, 0, sizeof(versions));
	for_each_possible_cpu(cpu) {
		for (i = 0; i < NR_VERSIONS; i++)
			versions[i] += per_cpu(torture_versions, cpu)[i];
		memset(per_cpu(torture_versions, cpu), 0, sizeof(versions));
	}
}

static int run_for(unsigned int seconds)
{
	struct kretprobe *rps[NR_TARGETS];
	struct kprobe *kps[2 * NR_TARGETS + ARRAY_SIZE(sides)];
	unsigned int i;
	int ret;

	memset(by_context, 0, sizeof(by_context));
	cpus_with_tasks = 0;
	cpus_with_nmis = 0;
	for (i = 0; i < NR_TARGETS; i++) {
		struct target *t = &targets[i];

		t->kp[0] = (struct kprobe){ .addr = entry(t), .pre_handler = first_hit };
		t->kp[1] = (struct kprobe){ .addr = entry(t), .pre_handler = second_hit };
		if (i == BYTES_B)
			t->kp[1].post_handler = second_post;
		t->rp = (struct kretprobe){
			.kp.addr = entry(t),
			.entry_handler = count_entry,
			.handler = count_return,
			.data_size = sizeof(unsigned long),
		};
		kps[2 * i] = &t->kp[0];
		kps[2 * i + 1] = &t->kp[1];
		rps[i] = &t->rp;
	}
	for (i = 0; i < ARRAY_SIZE(sides); i++) {
		sides[i].kp = (struct kprobe){
			.addr = entry(&targets[LABEL]) + torture_label_sides[KEY_OFF + i],
			.pre_handler = side_hit,
		};
		kps[2 * NR_TARGETS + i] = &sides[i].kp;
	}
	ret = register_kprobes(kps, ARRAY_SIZE(kps));
	if (ret)
		return ret;
	ret = register_kretprobes(rps, ARRAY_SIZE(rps));
	if (!ret) {
		run_threads(seconds);
		for (i = 0; i < NR_TARGETS; i++) {
			missed[i][0] = targets[i].kp[0].nmissed;
			missed[i][1] = targets[i].kp[1].nmissed;
			missed[i][2] = targets[i].rp.kp.nmissed;
			missed_returns[i] = targets[i].rp.nmissed;
		}
		for (i = 0; i < ARRAY_SIZE(sides); i++)
			sides[i].missed = sides[i].kp.nmissed;
		unregister_kretprobes(rps, ARRAY_SIZE(rps));
	}
	unregister_kprobes(kps, ARRAY_SIZE(kps));
	for (i = 0; i < NR_TARGETS; i++)
		count_all(i);
	count_sides();
	count_versions();
	count_nmis();
	return ret;
}

/* ------------------------------- Results -------------------------------- */

/* Compares the hits of both sides with the calls of the label's function, as strcmp() does. */
static int sides_are(const struct counts *c)
{
	unsigned long hits = sides[0].total + sides[1].total;
	unsigned long inner = sides[0].missed + sides[1].missed;

	if (hits > c->calls || inner > c->inner)
		return 1;
	return hits < c->calls || inner < c->inner ? -1 : 0;
}

static unsigned int inexact(unsigned int i)
{
	struct counts *c = &totals[i];

	return c->hits[0] != c->calls || missed[i][0] != c->inner ||
	       c->hits_in_nmi != c->from_nmi || (i == LABEL && sides_are(c) != 0);
}

static unsigned int unequal(unsigned int i)
{
	struct counts *c = &totals[i];

	return c->hits[0] != c->hits[1] || missed[i][0] != missed[i][1] ||
	       missed[i][0] != missed[i][2] || c->entries != c->returns ||
	       c->entries + missed_returns[i] != c->hits[0] || c->hits[0] > c->calls ||
	       c->posts != (i == BYTES_B ? c->hits[1] : 0) ||
	       missed[i][0] > c->inner || c->hits_in_nmi > c->from_nmi ||
	       (i == LABEL && sides_are(c) > 0) ||
	       (i == PATCHED && versions[ORIGINAL] + versions[REPLACED] != c->calls + c->inner);
}

static int result_show(struct seq_file *m, void *unused)
{
	unsigned int i, nr_inexact = 0, nr_unequal = 0;
	unsigned long calls = 0, hits = 0, posts = 0, hits_in_nmi = 0, entries = 0;

	mutex_lock(&lock);
	for (i = 0; i < NR_TARGETS; i++) {
		struct counts *c = &totals[i];

		nr_inexact += inexact(i);
		nr_unequal += unequal(i);
		calls += c->calls + c->inner;
		hits += c->hits[0];
		posts += c->posts;
		hits_in_nmi += c->hits_in_nmi;
		entries += c->entries;
		seq_printf(m, "# %s: calls %lu + %lu, hits %lu %lu, posts %lu, missed %lu %lu %lu, entries %lu, returns %lu, missed %u, in NMIs %lu %lu\n",
			   targets[i].name, c->calls, c->inner, c->hits[0], c->hits[1], c->posts,
			   missed[i][0], missed[i][1], missed[i][2], c->entries, c->returns,
			   missed_returns[i], c->from_nmi, c->hits_in_nmi);
	}
	seq_printf(m, "# its label: key off %lu, missed %lu; key on %lu, missed %lu\n",
		   sides[0].total, sides[0].missed, sides[1].total, sides[1].missed);
	seq_printf(m, "key_flips %ld\nkey_off %lu\nkey_on %lu\n",
		   atomic_long_read(&key_flips), sides[0].total, sides[1].total);
	seq_printf(m, "original %lu\nreplaced %lu\n", versions[ORIGINAL], versions[REPLACED]);
	seq_printf(m, "calls %lu\nhits %lu\nposts %lu\nentries %lu\n", calls, hits, posts,
		   entries);
	seq_printf(m, "in_task %lu\nin_softirq %lu\nin_hardirq %lu\nin_nmi %lu\nin_handler %lu\n",
		   by_context[IN_TASK], by_context[IN_SOFTIRQ], by_context[IN_HARDIRQ],
		   by_context[IN_NMI], by_context[IN_HANDLER]);
	seq_printf(m, "cpus_with_tasks %u\ncpus_with_nmis %u\n", cpus_with_tasks, cpus_with_nmis);
	seq_printf(m, "hits_in_nmi %lu\nnmis %lu\nnmis_irqs_off %lu\nnmis_over_handler %lu\nnmis_over_patch %lu\n",
		   hits_in_nmi, all_nmis.all, all_nmis.irqs_off, all_nmis.over_handler,
		   all_nmis.over_patch);
	seq_printf(m, "nmis_over_copy %lu\nnmis_over_detour %lu\n", all_nmis.over_copy,
		   all_nmis.over_detour);
	seq_printf(m, "rounds %ld\nsingles %ld\nbatches %ld\nreturns %ld\nmistakes %ld\n",
		   atomic_long_read(&rounds), atomic_long_read(&singles),
		   atomic_long_read(&batches), atomic_long_read(&returns),
		   atomic_long_read(&mistakes));
	seq_printf(m, "churned_hits %ld\njumps_seen %ld\ndiverted %ld\n",
		   atomic_long_read(&churned_hits), atomic_long_read(&jumps_seen),
		   atomic_long_read(&diverted));
	seq_printf(m, "faults %ld\njprobes %ld\njprobe_hits %ld\nswitched_batches %ld\n",
		   atomic_long_read(&faults), atomic_long_read(&jprobes),
		   atomic_long_read(&jprobe_hits), atomic_long_read(&switched_batches));
	seq_printf(m, "wrong %ld\nlate %ld\nerrors %ld\ninexact %u\nunequal %u\n",
		   atomic_long_read(&wrong), atomic_long_read(&late),
		   atomic_long_read(&errors), nr_inexact, nr_unequal);
	show_left(m);
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

DEFINE_WRITE_ATTRIBUTE_BY(run, write_seconds, &lock, run_for);

static ssize_t nmi_write(struct file *file, const char __user *ubuf, size_t count,
			 loff_t *ppos)
{
	int ret = kstrtobool_from_user(ubuf, count, &nmi_storm);

	return ret ? : count;
}
DEFINE_WRITE_ATTRIBUTE(nmi);

static ssize_t key_write(struct file *file, const char __user *ubuf, size_t count,
			 loff_t *ppos)
{
	bool on;
	int ret = kstrtobool_from_user(ubuf, count, &on);

	if (ret)
		return ret;
	mutex_lock(&key_lock);
	if (on != static_key_enabled(&torture_key))
		atomic_long_inc(&key_flips);
	if (on)
		static_branch_enable(&torture_key);
	else
		static_branch_disable(&torture_key);
	mutex_unlock(&key_lock);
	return count;
}
DEFINE_WRITE_ATTRIBUTE(key);

static void free_counts(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sides); i++)
		free_percpu(sides[i].hits);
	for (i = 0; i < NR_TARGETS; i++)
		free_percpu(targets[i].counts);
}

static int __init kprobe_torture_init(void)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < NR_TARGETS; i++) {
		memcpy(targets[i].text, entry(&targets[i]) + ENDBR_SIZE, JUMP_LENGTH);
		targets[i].counts = alloc_percpu(struct counts);
		if (!targets[i].counts)
			ret = -ENOMEM;
	}
	for (i = 0; i < ARRAY_SIZE(sides); i++) {
		sides[i].hits = alloc_percpu(unsigned long);
		if (!sides[i].hits)
			ret = -ENOMEM;
	}
	if (!ret)
		ret = register_nmi_handler(NMI_LOCAL, handle_nmi, 0, "kprobe_torture");
	if (ret) {
		free_counts();
		return ret;
	}
	dir = control_dir(&run_fops, &result_fops);
	debugfs_create_file("begin", 0200, dir, NULL, &begin_fops);
	debugfs_create_file("nmi", 0200, dir, NULL, &nmi_fops);
	debugfs_create_file("key", 0200, dir, NULL, &key_fops);
	return 0;
}

static void __exit kprobe_torture_exit(void)
{
	debugfs_remove(dir);
	unregister_nmi_handler(NMI_LOCAL, "kprobe_torture");
	free_counts();
}

module_init(kprobe_torture_init);
module_exit(kprobe_torture_exit);

MODULE_DESCRIPTION("Kprobes test: writers and readers that try to break them");
MODULE_LICENSE("GPL");
