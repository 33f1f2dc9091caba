// SPDX-License-Identifier: GPL-2.0
/*
 * Registers and unregisters many probes on hot kernel functions while others count.
 *
 * Functions to probe are named through debugfs, one a line:
 *
 *	kprobe_stress/symbols	write: registers a pair of probes on each name;
 *				names that cannot be probed are skipped
 *	kprobe_stress/run	write SECONDS: returns when the time is over
 *	kprobe_stress/result	read: the result
 *
 * These counts have to be exact:
 *
 *  - The two probes of a pair are at one point, so they see the same hits. They count
 *    during the run, and the counts are equal, except for a hit that was under way on
 *    a CPU when counting began or ended.
 *  - A thread on each CPU calls two functions of this module. Each of them has a probe
 *    all the time; one of them is not an ftrace site. There are as many hits as
 *    calls.
 *
 * Meanwhile a thread on each CPU registers and unregisters more probes on the same
 * functions, in batches of changing size, singly, and by switching them off and on. A
 * hit after unregistering finds poison and is counted.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "kprobe_churn.h"
#include "kprobe_common.h"

#define MAX_PAIRS	4000
#define MAX_BATCH	256

struct probe {
	struct kprobe kp;
	unsigned long __percpu *hits;
	char *name;
};

static struct probe (*pairs)[2];
static unsigned int nr_pairs, nr_refused;
static atomic_long_t rounds, registered, errors;
static DEFINE_PER_CPU(unsigned long, calls);
static DEFINE_MUTEX(lock);
static bool stop, counting;
static struct dentry *dir;

static int count_hit(struct kprobe *kp, struct pt_regs *regs)
{
	struct probe *p = container_of(kp, struct probe, kp);

	if (READ_ONCE(counting) || !p->name)
		this_cpu_inc(*p->hits);
	return 0;
}

/* An ftrace site, and a function that is not one. */
static noinline unsigned long traced_target(unsigned long x)
{
	return x * 3 + 1;
}

static noinline notrace unsigned long plain_target(unsigned long x)
{
	return x * 5 + 1;
}

static struct probe own[2];

static int probe_set(struct probe *p, const char *name, kprobe_opcode_t *addr)
{
	int ret = -ENOMEM;

	p->hits = alloc_percpu(unsigned long);
	if (!p->hits)
		return ret;
	if (name) {
		p->name = kstrdup(name, GFP_KERNEL);
		if (!p->name)
			goto fail;
	}
	p->kp.symbol_name = p->name;
	p->kp.addr = addr;
	p->kp.pre_handler = count_hit;
	ret = register_kprobe(&p->kp);
	if (!ret)
		return 0;
fail:
	kfree(p->name);
	free_percpu(p->hits);
	memset(p, 0, sizeof(*p));
	return ret;
}

static unsigned long probe_hits(struct probe *p)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += *per_cpu_ptr(p->hits, cpu);
	return sum;
}

static void probe_free(struct probe *p)
{
	if (!p->hits)
		return;
	free_percpu(p->hits);
	kfree(p->name);
}

static int caller_thread(void *unused)
{
	unsigned long x = 1;

	while (!READ_ONCE(stop)) {
		x = traced_target(x);
		x = plain_target(x);
		this_cpu_inc(calls);
		cond_resched_tasks_rcu_qs();
	}
	while (!kthread_should_stop())
		msleep(20);
	return x & 1;
}

/* Frees and allocates the probes each time, so that a late hit is noticed. */
static void churn_batch(struct rnd_state *rnd)
{
	unsigned int num = 1 + prandom_u32_state(rnd) % MAX_BATCH;
	unsigned int first = prandom_u32_state(rnd);
	unsigned int style = prandom_u32_state(rnd);
	struct kprobe **kps;
	unsigned int i;
	int ret;

	kps = kcalloc(num, sizeof(*kps), GFP_KERNEL);
	for (i = 0; kps && i < num; i++) {
		struct churned *c = churned_alloc();

		if (!c)
			goto out;
		kps[i] = &c->kp;
		c->kp.symbol_name = pairs[(first + i * 7) % nr_pairs][0].name;
		c->kp.pre_handler = churned_hit;
		if ((style + i) % 5 == 0)
			c->kp.post_handler = churned_post;
	}
	if (!kps)
		return;

	if (style & 8) {
		for (i = 0; i < min(num, 16u); i++) {
			ret = register_kprobe(kps[i]);
			if (ret) {
				atomic_long_inc(&errors);
				break;
			}
			if (style & 16) {
				if (disable_kprobe(kps[i]) || enable_kprobe(kps[i]))
					atomic_long_inc(&errors);
			}
		}
		atomic_long_add(i, &registered);
		while (i--) {
			unregister_kprobe(kps[i]);
			container_of(kps[i], struct churned, kp)->alive = 0;
		}
	} else {
		ret = register_kprobes(kps, num);
		if (ret) {
			atomic_long_inc(&errors);
		} else {
			atomic_long_add(num, &registered);
			unregister_kprobes(kps, num);
			for (i = 0; i < num; i++)
				container_of(kps[i], struct churned, kp)->alive = 0;
		}
	}
	atomic_long_inc(&rounds);
out:
	for (i = 0; i < num; i++) {
		if (kps[i])
			churned_free(container_of(kps[i], struct churned, kp));
	}
	kfree(kps);
}

static int churn_thread(void *seed)
{
	struct rnd_state rnd;

	prandom_seed_state(&rnd, (unsigned long)seed + 1);
	while (!READ_ONCE(stop)) {
		churn_batch(&rnd);
		cond_resched_tasks_rcu_qs();
	}
	return threads_stay();
}

static int run_for(unsigned int seconds)
{
	struct threads threads;
	int cpu;

	if (!nr_pairs)
		return -EINVAL;
	if (threads_init(&threads, 2 * nr_cpu_ids))
		return -ENOMEM;
	WRITE_ONCE(stop, false);
	WRITE_ONCE(counting, true);
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		threads_start(&threads, caller_thread, cpu, "kps_call/%u", &errors);
		threads_start(&threads, churn_thread, cpu, "kps_churn/%u", &errors);
	}
	cpus_read_unlock();
	sleep_for(seconds);
	WRITE_ONCE(counting, false);
	WRITE_ONCE(stop, true);
	threads_stop(&threads);
	return 0;
}

static int take_symbol(char *name)
{
	struct probe *pair = pairs[nr_pairs];
	int ret;

	if (nr_pairs == MAX_PAIRS)
		return 0;
	if (probe_set(&pair[0], name, NULL)) {
		nr_refused++;
		return 0;
	}
	ret = probe_set(&pair[1], name, NULL);
	if (ret) {
		pr_err("%s takes one probe but not two: %d\n", name, ret);
		unregister_kprobe(&pair[0].kp);
		probe_free(&pair[0]);
		memset(&pair[0], 0, sizeof(pair[0]));
		atomic_long_inc(&errors);
		return 0;
	}
	nr_pairs++;
	return 0;
}

DEFINE_WRITE_ATTRIBUTE_BY(symbols, write_lines, &lock, take_symbol);
DEFINE_WRITE_ATTRIBUTE_BY(run, write_seconds, &lock, run_for);

static int result_show(struct seq_file *m, void *unused)
{
	unsigned long sum = 0, missed = 0, hits = 0;
	unsigned int unequal = 0, i;
	struct kprobe **all;
	int cpu;

	mutex_lock(&lock);
	all = kcalloc(2 * nr_pairs + 1, sizeof(*all), GFP_KERNEL);
	if (!all) {
		mutex_unlock(&lock);
		return -ENOMEM;
	}
	for (i = 0; i < nr_pairs; i++) {
		all[2 * i] = &pairs[i][0].kp;
		all[2 * i + 1] = &pairs[i][1].kp;
	}
	unregister_kprobes(all, 2 * nr_pairs);
	kfree(all);

	for (i = 0; i < nr_pairs; i++) {
		long a = probe_hits(&pairs[i][0]);
		long b = probe_hits(&pairs[i][1]);

		hits += b;
		missed += pairs[i][1].kp.nmissed;
		if (abs(a - b) > 2 * num_possible_cpus()) {
			unequal++;
			pr_err("%s: %ld and %ld hits\n", pairs[i][0].name, a, b);
		}
		probe_free(&pairs[i][0]);
		probe_free(&pairs[i][1]);
	}
	seq_printf(m, "pairs %u\nrefused %u\nhits %lu\nmissed %lu\nunequal %u\n",
		   nr_pairs, nr_refused, hits, missed, unequal);
	nr_pairs = 0;

	for_each_possible_cpu(cpu)
		sum += per_cpu(calls, cpu);
	seq_printf(m, "calls %lu\ntraced_hits %lu\nplain_hits %lu\n", sum,
		   probe_hits(&own[0]) + own[0].kp.nmissed,
		   probe_hits(&own[1]) + own[1].kp.nmissed);
	seq_printf(m, "rounds %ld\nregistered %ld\nchurned_hits %ld\nlate %ld\nerrors %ld\n",
		   atomic_long_read(&rounds), atomic_long_read(&registered),
		   atomic_long_read(&churned_hits), atomic_long_read(&late),
		   atomic_long_read(&errors));
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static int __init kprobe_stress_init(void)
{
	int ret;

	pairs = vcalloc(MAX_PAIRS, sizeof(*pairs));
	if (!pairs)
		return -ENOMEM;
	ret = probe_set(&own[0], NULL, (kprobe_opcode_t *)traced_target);
	if (!ret)
		ret = probe_set(&own[1], NULL, (kprobe_opcode_t *)plain_target);
	if (ret) {
		pr_err("cannot probe my own functions: %d\n", ret);
		if (own[0].hits)
			unregister_kprobe(&own[0].kp);
		probe_free(&own[0]);
		vfree(pairs);
		return ret;
	}
	dir = control_dir(&run_fops, &result_fops);
	debugfs_create_file("symbols", 0200, dir, NULL, &symbols_fops);
	return 0;
}

static void __exit kprobe_stress_exit(void)
{
	unsigned int i;

	debugfs_remove(dir);
	for (i = 0; i < nr_pairs; i++) {
		unregister_kprobe(&pairs[i][0].kp);
		unregister_kprobe(&pairs[i][1].kp);
		probe_free(&pairs[i][0]);
		probe_free(&pairs[i][1]);
	}
	for (i = 0; i < ARRAY_SIZE(own); i++) {
		unregister_kprobe(&own[i].kp);
		probe_free(&own[i]);
	}
	vfree(pairs);
}

module_init(kprobe_stress_init);
module_exit(kprobe_stress_exit);
MODULE_DESCRIPTION("Kprobes test: many probes that come and go");
MODULE_LICENSE("GPL");
