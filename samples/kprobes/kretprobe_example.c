// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a kretprobe sees: what a function returned, and how long it took.
 *
 *	insmod kretprobe_example.ko func=vfs_read limit=5
 *	cat /etc/passwd
 *	dmesg | grep 'kretprobe_example: '
 *	rmmod kretprobe_example
 *
 * The entry handler stores the time of the call in the instance's private data.
 * The return handler of the same call finds it there, however many tasks are
 * inside the function and however deep it recurses. Calls by kernel threads are
 * left out, to show how to filter.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

static char *func = "kernel_clone";
module_param(func, charp, 0444);
MODULE_PARM_DESC(func, "function to watch, or MODULE:FUNCTION");

static unsigned int limit = 10;
module_param(limit, uint, 0644);
MODULE_PARM_DESC(limit, "how many returns to print");

static atomic_long_t return_count = ATOMIC_LONG_INIT(0);

struct call {
	u64 began;	/* ns */
};

static int on_call(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;

	if (current->flags & PF_KTHREAD)
		return 1;	/* not this call: nothing runs on its return */

	/*
	 * The fast clock may be read anywhere. ktime_get() would spin forever
	 * in a function that is called while the clock is being updated.
	 */
	call->began = ktime_get_mono_fast_ns();
	return 0;
}

static int on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	u64 now = ktime_get_mono_fast_ns();
	const struct call *call = (const struct call *)ri->data;
	unsigned long value = regs_return_value(regs);

	if (atomic_long_inc_return(&return_count) <= limit)
		pr_info("%s in %s/%d returned %ld (%#lx) to %pS after %llu ns\n",
			func, current->comm, current->pid, (long)value, value,
			(void *)get_kretprobe_retaddr(ri), now - call->began);

	return 0;
}

/* maxactive stays 0: the subsystem chooses how many calls it can follow. */
static struct kretprobe probe = {
	.entry_handler = on_call,
	.handler = on_return,
	.data_size = sizeof(struct call),
};

static const char *hint(int err)
{
	switch (err) {
	case -ENOENT:
		return "choose a function that is in /proc/kallsyms";
	case -EINVAL:
		return "choose a function that is not in kprobes/blacklist";
	default:
		return "see register_kretprobe()";
	}
}

static int __init kretprobe_example_init(void)
{
	int err;

	probe.kp.symbol_name = func;

	err = register_kretprobe(&probe);
	if (err) {
		pr_err("cannot watch %s: %pe: %s\n", func, ERR_PTR(err), hint(err));
		return err;
	}

	pr_info("return probe set on %pS\n", probe.kp.addr);
	return 0;
}

static void __exit kretprobe_example_exit(void)
{
	unregister_kretprobe(&probe);

	/* Missed: no instance was free, or a handler was running. */
	pr_info("return probe removed: %ld returns, %lu calls missed\n",
		atomic_long_read(&return_count), probe.nmissed + probe.kp.nmissed);
}

module_init(kretprobe_example_init);
module_exit(kretprobe_example_exit);

MODULE_DESCRIPTION("Sample: return values and run times of a function");
MODULE_LICENSE("GPL");
