// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A task that keeps a CPU busy, as real-time tasks do on machines that isolate CPUs:
 * no work item runs there while this module is loaded. Like a task in user mode, it
 * does not delay RCU, unless it is told to.
 *
 * With a limit, the CPU may be the last one that is online: whoever unloads the module
 * gets to run there after that time. Loading returns when the task has the CPU.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "kprobe_common.h"

#define TURN_US		20
#define MAX_MS		10000

static int cpu = 1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "the CPU to keep busy");

static unsigned int ms;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "for how long at most (0: until it is unloaded)");

static bool rcu;
module_param(rcu, bool, 0444);
MODULE_PARM_DESC(rcu, "RCU waits as well");

static bool irqs;
module_param(irqs, bool, 0444);
MODULE_PARM_DESC(irqs, "interrupts wait as well, and so does RCU");

static struct task_struct *task;
static DECLARE_COMPLETION(started);

static void tell_rcu(void)
{
	local_irq_disable();
	rcu_momentary_eqs();
	local_irq_enable();
	rcu_tasks_classic_qs(current, false);
}

static int keep_busy(void *unused)
{
	/* Turns are counted: some clocks stop while interrupts are off. */
	unsigned int turns = ms * (USEC_PER_MSEC / TURN_US);

	/* With real-time priority alone, the CPU's fair server would still get a share. */
	preempt_disable();
	complete(&started);
	if (irqs)
		local_irq_disable();
	while (!kthread_should_stop() && (!ms || turns--)) {
		if (!rcu && !irqs)
			tell_rcu();
		udelay(TURN_US);
	}
	if (irqs)
		local_irq_enable();
	preempt_enable();
	return threads_stay();
}

static int __init busy_init(void)
{
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -EINVAL;
	/* What waits forever may be what should unload this. */
	if (ms > MAX_MS || (!ms && (rcu || irqs)))
		return -EINVAL;
	task = kthread_create(keep_busy, NULL, "kprobe_busy");
	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, cpu);
	wake_up_process(task);
	wait_for_completion(&started);
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
