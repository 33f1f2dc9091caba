// SPDX-License-Identifier: GPL-2.0
/*
 * Turns points into jumps and back into breakpoints all the time, while they are hit.
 *
 *	kprobe_toggle/run	write SECONDS: returns when the time is over
 *	kprobe_toggle/result	read: the result
 *
 * On each CPU, two threads that preempt each other, and a timer interrupt, call functions
 * of known instructions, the lanes. There are two of every lane. One has a probe all the
 * time, which must see every hit. On the other one probes are set and removed.
 *
 * A thread on each CPU sets probes inside the bytes that the jump of a lane replaces,
 * adds others to the permanent one, switches them off and on, and removes them, singly
 * and in batches. The test script may switch debug.kprobes-optimization meanwhile. This
 * uses the public API only, so that it tests any implementation.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/objtool.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>

#include "kprobe_churn.h"
#include "kprobe_common.h"
#include "kprobe_toggle.h"

#define CALL_INTERVAL_NS	(700 * NSEC_PER_USEC)
#define JUMP_OPCODE	0xe9

/* --------------------------------- Lanes -------------------------------- */

/*
 * Each lane is two functions, toggle_NAME_a and _b, with a struct lane_text for each: the
 * function, and up to five places in it, ended by 0. The jump of a probe at the first place
 * replaces the others. On 32 bits the functions start by moving their argument.
 */
#ifdef CONFIG_X86_64
#define ARG		"%rdi"
#define ARG_BYTE	"%dil"
#define GET_ARG		""
#define SPARE		"%rsi"
#define THREE		"toggle_three(%rip)"
#else
#define ARG		"%edx"
#define ARG_BYTE	"%dl"
#define GET_ARG		"	mov	%eax, %edx\n"
#define SPARE		"%ecx"
#define THREE		"toggle_three"
#endif
#define AX		"%" _ASM_AX
#define SP		"%" _ASM_SP

asm(".macro place fn\n"
	"98:\n"
	".pushsection .rodata\n"
	"	.long	98b - \\fn\n"
	".popsection\n"
	".endm\n"

	".macro lane name, n\n"
	".pushsection .rodata\n"
	"	" _ASM_ALIGN "\n"
	"	" _ASM_PTR " toggle_\\name\\()_\\n\n"
	"99:\n"
	".popsection\n"
	".pushsection .text\n"
	"	.balign	16, 0xcc\n"
	"	.type	toggle_\\name\\()_\\n, @function\n"
	"toggle_\\name\\()_\\n:\n"
	ASM_ENDBR
	GET_ARG
	"	\\name	toggle_\\name\\()_\\n\n"
	"	.size	toggle_\\name\\()_\\n, . - toggle_\\name\\()_\\n\n"
	"	.balign	16, 0xcc\n"
	".popsection\n"
	".pushsection .rodata\n"
	"	.skip	24 - (. - 99b), 0\n"
	".popsection\n"
	".endm\n"

	/* Instructions of two bytes and of three bytes. */
	".macro two fn\n"
	"	place	\\fn\n"
	"	xor	%eax, %eax\n"
	"	place	\\fn\n"
	"	add	" ARG ", " AX "\n"
	"	lea	1(" AX "," AX ",2), " AX "\n"
	ASM_RET
	".endm\n"

	/* One instruction, as long as the jump. */
	".macro alone fn\n"
	"	place	\\fn\n"
	"	mov	$0x1111, %ecx\n"
	"	lea	1(" ARG "," ARG ",2), " AX "\n"
	ASM_RET
	".endm\n"

	/* Five instructions of one byte, which use the stack. */
	".macro bytes fn\n"
	"	place	\\fn\n"
	"	push	" ARG "\n"
	"	place	\\fn\n"
	"	pop	" SPARE "\n"
	"	place	\\fn\n"
	"	push	" SPARE "\n"
	"	place	\\fn\n"
	"	nop\n"
	"	place	\\fn\n"
	"	pop	" ARG "\n"
	"	lea	1(" ARG "," ARG ",2), " AX "\n"
	ASM_RET
	".endm\n"

	/* A call, which returns to the end of the jump. */
	".macro calls fn\n"
	"	sub	$8, " SP "\n"
	"	place	\\fn\n"
	"	nop\n"
	"	place	\\fn\n"
	"	call	toggle_leaf\n"
	"	add	$8, " SP "\n"
	ASM_RET
	".endm\n"

	/* A conditional jump, which is sometimes taken. */
	".macro branch fn\n"
	"	lea	1(" ARG "," ARG ",2), " AX "\n"
	"	place	\\fn\n"
	"	test	$1, " ARG_BYTE "\n"
	"	place	\\fn\n"
	"	jz	97f\n"
	"	inc	" AX "\n"
	"	dec	" AX "\n"
	"97:	nop\n"
	ASM_RET
	".endm\n"

	/* An operand relative to the instruction pointer, where they exist. */
	".macro operand fn\n"
	"	place	\\fn\n"
	"	push	" ARG "\n"
	"	place	\\fn\n"
	"	mov	" THREE ", " AX "\n"
	"	pop	" ARG "\n"
	"	imul	" ARG ", " AX "\n"
	"	inc	" AX "\n"
	ASM_RET
	".endm\n"

	".pushsection .rodata\n"
	"	" _ASM_ALIGN "\n"
	"	.globl	toggle_lanes\n"
	"toggle_lanes:\n"
	".popsection\n"
	".irp name, two, alone, bytes, calls, branch, operand\n"
	"	lane	\\name, a\n"
	"	lane	\\name, b\n"
	".endr\n"
);

const unsigned long toggle_three = 3;

notrace TARGET(toggle, leaf)

static kprobe_opcode_t *place(unsigned int lane, unsigned int n)
{
	return (kprobe_opcode_t *)toggle_lanes[lane].fn + toggle_lanes[lane].place[n];
}

/* The first of each pair has the permanent probe. */
static bool is_counted(unsigned int lane)
{
	return !(lane & 1);
}

/* Every second one of these has a post-handler. */
static bool has_post(unsigned int lane)
{
	return !(lane & 3);
}

struct counts {
	unsigned long pre;
	unsigned long post;
};

struct counted {
	struct kprobe kp;
	struct counts __percpu *hits;
	bool was_jump;
};

static struct counted counted[NR_LANES];
static DEFINE_PER_CPU(unsigned long, calls);
static DEFINE_PER_CPU(struct hrtimer, timers);
static atomic_long_t wrong, rounds, errors, churned, to_jump, to_breakpoint;
static DEFINE_MUTEX(lock);
static bool stop;
static struct dentry *dir;

static int count_hit(struct kprobe *kp, struct pt_regs *regs)
{
	this_cpu_inc(container_of(kp, struct counted, kp)->hits->pre);
	return 0;
}

static void count_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	this_cpu_inc(container_of(kp, struct counted, kp)->hits->post);
}

/* ------------------------------- Callers -------------------------------- */

/* From task context and from interrupt context. */
static void call_all(unsigned long x)
{
	unsigned int i;

	for (i = 0; i < NR_LANES; i++) {
		if (toggle_lanes[i].fn(x + i) != RESULT(x + i))
			atomic_long_inc(&wrong);
	}
	this_cpu_inc(calls);
}

static int caller_thread(void *unused)
{
	unsigned long x = 0;

	while (!READ_ONCE(stop)) {
		call_all(x++);
		/* If no task ever slept, no point would become a jump. */
		if (!(x % 256))
			cond_resched_tasks_rcu_qs();
	}
	return threads_stay();
}

static enum hrtimer_restart call_by_timer(struct hrtimer *timer)
{
	call_all(77);
	if (READ_ONCE(stop))
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(CALL_INTERVAL_NS));
	return HRTIMER_RESTART;
}

static void start_timer(void *unused)
{
	struct hrtimer *timer = this_cpu_ptr(&timers);

	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer->function = call_by_timer;
	hrtimer_start(timer, ns_to_ktime(CALL_INTERVAL_NS), HRTIMER_MODE_REL_PINNED_HARD);
}

/* -------------------------------- Churn --------------------------------- */

static struct churned *churned_at(struct rnd_state *rnd, kprobe_opcode_t *addr)
{
	struct churned *c = churned_alloc();

	if (!c)
		return NULL;
	c->kp.addr = addr;
	if (prandom_u32_state(rnd) % 4)
		c->kp.pre_handler = churned_hit;
	if (!(prandom_u32_state(rnd) % 3))
		c->kp.post_handler = churned_post;
	return c;
}

static void check(int err)
{
	if (err)
		atomic_long_inc(&errors);
}

/* Mostly no pause; sometimes one that lets all become jumps. */
static void wait_a_while(struct rnd_state *rnd)
{
	unsigned int r = prandom_u32_state(rnd);

	if (r % 3 == 0)
		msleep(r / 3 % 400);
	else if (r % 3 == 1)
		usleep_range(50, 2000);
}

static kprobe_opcode_t *random_place(struct rnd_state *rnd)
{
	unsigned int lane = prandom_u32_state(rnd) % NR_LANES, n = 0;

	while (toggle_lanes[lane].place[n])
		n++;
	return place(lane, prandom_u32_state(rnd) % n);
}

static void churn_one(struct rnd_state *rnd)
{
	unsigned int flips;
	struct churned *c;

	c = churned_at(rnd, random_place(rnd));
	if (!c)
		return;
	if (prandom_u32_state(rnd) % 4 == 0)
		c->kp.flags = KPROBE_FLAG_DISABLED;
	if (register_kprobe(&c->kp)) {
		check(1);
		kfree(c);
		return;
	}
	for (flips = prandom_u32_state(rnd) % 4; flips; flips--) {
		wait_a_while(rnd);
		check(flips & 1 ? disable_kprobe(&c->kp) : enable_kprobe(&c->kp));
	}
	wait_a_while(rnd);
	unregister_kprobe(&c->kp);
	churned_free(c);
	atomic_long_inc(&churned);
}

static void churn_batch(struct rnd_state *rnd)
{
	unsigned int num = 1 + prandom_u32_state(rnd) % 24, i;
	struct kprobe *kps[24] = { };

	for (i = 0; i < num; i++) {
		struct churned *c = churned_at(rnd, random_place(rnd));

		if (!c)
			goto out;
		kps[i] = &c->kp;
	}
	if (register_kprobes(kps, num)) {
		check(1);
		goto out;
	}
	wait_a_while(rnd);
	unregister_kprobes(kps, num);
	atomic_long_add(num, &churned);
out:
	for (i = 0; i < num; i++) {
		if (kps[i])
			churned_free(container_of(kps[i], struct churned, kp));
	}
}

/* A run without any jump proves nothing. */
static void look_at_texts(void)
{
	unsigned int i;

	for (i = 0; i < NR_LANES; i++) {
		bool jump;

		if (!is_counted(i))
			continue;
		jump = READ_ONCE(*place(i, 0)) == JUMP_OPCODE;
		if (jump != READ_ONCE(counted[i].was_jump)) {
			WRITE_ONCE(counted[i].was_jump, jump);
			atomic_long_inc(jump ? &to_jump : &to_breakpoint);
		}
	}
}

static int churn_thread(void *seed)
{
	struct rnd_state rnd;

	prandom_seed_state(&rnd, (unsigned long)seed + 1);
	while (!READ_ONCE(stop)) {
		if (prandom_u32_state(&rnd) % 3)
			churn_one(&rnd);
		else
			churn_batch(&rnd);
		look_at_texts();
		wait_a_while(&rnd);
		look_at_texts();
		atomic_long_inc(&rounds);
		cond_resched_tasks_rcu_qs();
	}
	return threads_stay();
}

/* ------------------------------- Control -------------------------------- */

static int run_for(unsigned int seconds)
{
	struct threads threads;
	int cpu;

	if (threads_init(&threads, 3 * num_possible_cpus()))
		return -ENOMEM;
	WRITE_ONCE(stop, false);
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		threads_start(&threads, caller_thread, cpu, "kpg_call/%u", &errors);
		threads_start(&threads, caller_thread, cpu, "kpg_more/%u", &errors);
		threads_start(&threads, churn_thread, cpu, "kpg_churn/%u", &errors);
	}
	on_each_cpu(start_timer, NULL, 1);
	cpus_read_unlock();
	sleep_for(seconds);
	WRITE_ONCE(stop, true);
	threads_stop(&threads);
	for_each_possible_cpu(cpu) {
		if (per_cpu(timers, cpu).function)
			hrtimer_cancel(&per_cpu(timers, cpu));
	}
	return 0;
}

DEFINE_WRITE_ATTRIBUTE_BY(run, write_seconds, &lock, run_for);

static int result_show(struct seq_file *m, void *unused)
{
	unsigned long sum = 0, missed = 0, unequal = 0, unequal_post = 0;
	unsigned int i;
	int cpu;

	mutex_lock(&lock);
	for_each_possible_cpu(cpu)
		sum += per_cpu(calls, cpu);
	for (i = 0; i < NR_LANES; i++) {
		struct counts hits = { };

		if (!is_counted(i))
			continue;
		for_each_possible_cpu(cpu) {
			hits.pre += per_cpu_ptr(counted[i].hits, cpu)->pre;
			hits.post += per_cpu_ptr(counted[i].hits, cpu)->post;
		}
		missed += counted[i].kp.nmissed;
		if (hits.pre + counted[i].kp.nmissed != sum) {
			unequal++;
			pr_err("%pS: %lu hits, %lu missed, %lu calls\n",
			       place(i, 0), hits.pre, counted[i].kp.nmissed, sum);
		}
		if (has_post(i) && hits.post != hits.pre) {
			unequal_post++;
			pr_err("%pS: %lu hits before, %lu after it\n",
			       place(i, 0), hits.pre, hits.post);
		}
	}
	seq_printf(m, "calls %lu\nwrong %ld\nunequal %lu\nunequal_post %lu\n", sum,
		   atomic_long_read(&wrong), unequal, unequal_post);
	seq_printf(m, "missed %lu\nlate %ld\nerrors %ld\n", missed,
		   atomic_long_read(&late), atomic_long_read(&errors));
	seq_printf(m, "rounds %ld\nchurned %ld\nto_jump %ld\nto_breakpoint %ld\n",
		   atomic_long_read(&rounds), atomic_long_read(&churned),
		   atomic_long_read(&to_jump), atomic_long_read(&to_breakpoint));
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static void leave(void)
{
	unsigned int i;

	for (i = 0; i < NR_LANES; i++) {
		if (!counted[i].hits)
			continue;
		unregister_kprobe(&counted[i].kp);
		free_percpu(counted[i].hits);
	}
}

static int __init kprobe_toggle_init(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < NR_LANES; i++) {
		struct counted *c = &counted[i];

		if (!is_counted(i))
			continue;
		c->hits = alloc_percpu(struct counts);
		c->kp.addr = place(i, 0);
		c->kp.pre_handler = count_hit;
		c->kp.post_handler = has_post(i) ? count_post : NULL;
		ret = c->hits ? register_kprobe(&c->kp) : -ENOMEM;
		if (ret) {
			pr_err("cannot probe %pS: %d\n", place(i, 0), ret);
			free_percpu(c->hits);
			c->hits = NULL;
			leave();
			return ret;
		}
	}
	dir = control_dir(&run_fops, &result_fops);
	return 0;
}

static void __exit kprobe_toggle_exit(void)
{
	debugfs_remove(dir);
	leave();
}

module_init(kprobe_toggle_init);
module_exit(kprobe_toggle_exit);

MODULE_DESCRIPTION("Kprobes test: points that become jumps and breakpoints again");
MODULE_LICENSE("GPL");
