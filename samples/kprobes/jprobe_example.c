// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a jprobe sees: the arguments of a function, with their C types.
 *
 *	insmod jprobe_example.ko limit=5
 *	dmesg | grep 'jprobe_example: '
 *	rmmod jprobe_example
 *
 * The handler has the prototype of the function, so the function is not a
 * parameter here. Jprobes are obsolete: use kprobe events, fprobes or BPF instead,
 * see Documentation/trace/kprobes.rst.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

static unsigned int limit = 10;
module_param(limit, uint, 0644);
MODULE_PARM_DESC(limit, "how many calls to print");

static atomic_long_t calls = ATOMIC_LONG_INIT(0);

/* A stand-in for kernel_clone(). */
static pid_t on_clone(struct kernel_clone_args *args)
{
	if (atomic_long_inc_return(&calls) <= limit)
		pr_info("kernel_clone in %s/%d: flags=%#llx exit_signal=%d stack=%#lx\n",
			current->comm, current->pid, args->flags,
			args->exit_signal, args->stack);

	/* Ends the handler: the function runs next, with its own arguments. */
	jprobe_return();
	return 0;
}

static struct jprobe probe = {
	.kp.symbol_name = "kernel_clone",
	.entry = JPROBE_ENTRY(on_clone),
};

static int __init jprobe_example_init(void)
{
	int err = register_jprobe(&probe);

	if (err) {
		pr_err("cannot probe %s: %pe\n", probe.kp.symbol_name, ERR_PTR(err));
		return err;
	}

	pr_info("jprobe set on %pS\n", probe.kp.addr);
	return 0;
}

static void __exit jprobe_example_exit(void)
{
	unregister_jprobe(&probe);

	pr_info("jprobe removed: %ld calls, %lu missed\n",
		atomic_long_read(&calls), probe.kp.nmissed);
}

module_init(jprobe_example_init);
module_exit(jprobe_example_exit);

MODULE_DESCRIPTION("Sample: a function's arguments through a jprobe");
MODULE_LICENSE("GPL");
