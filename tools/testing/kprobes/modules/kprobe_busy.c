// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A real-time task that keeps a CPU to itself, as on machines that isolate CPUs:
 * no work item runs there for as long as this module is loaded.
 */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

static int cpu = 1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "the CPU to keep busy");

static struct task_struct *task;

static int keep_busy(void *unused)
{
	while (!kthread_should_stop())
		cond_resched_tasks_rcu_qs();
	return 0;
}

static int __init busy_init(void)
{
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -EINVAL;
	task = kthread_create(keep_busy, NULL, "kprobe_busy");
	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, cpu);
	sched_set_fifo(task);
	wake_up_process(task);
	return 0;
}

static void __exit busy_exit(void)
{
	kthread_stop(task);
}

module_init(busy_init);
module_exit(busy_exit);
MODULE_DESCRIPTION("A real-time task that keeps a CPU busy");
MODULE_LICENSE("GPL");
