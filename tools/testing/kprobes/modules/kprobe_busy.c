// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A task that keeps a CPU busy, as real-time tasks do on machines that isolate CPUs:
 * no work item runs there while this module is loaded. Like a task in user mode, it
 * does not delay RCU.
 */
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

static int cpu = 1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "the CPU to keep busy");

static struct task_struct *task;

static int keep_busy(void *unused)
{
	/* With real-time priority alone, the CPU's fair server would still get a share. */
	preempt_disable();
	while (!kthread_should_stop()) {
		local_irq_disable();
		rcu_momentary_eqs();
		local_irq_enable();
		rcu_tasks_classic_qs(current, false);
		cpu_relax();
	}
	preempt_enable();
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
	wake_up_process(task);
	return 0;
}

static void __exit busy_exit(void)
{
	kthread_stop(task);
}

module_init(busy_init);
module_exit(busy_exit);
MODULE_DESCRIPTION("A task that keeps a CPU to itself");
MODULE_LICENSE("GPL");
