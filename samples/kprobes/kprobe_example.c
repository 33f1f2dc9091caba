// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a kprobe sees: registers before and after one instruction.
 *
 *	insmod kprobe_example.ko symbol=vfs_read offset=0x1c limit=5
 *	dmesg | grep 'kprobe_example: '
 *	rmmod kprobe_example
 *
 * Each hit prints two lines, "before" and "after". Lines of hits on other CPUs may
 * come between them; the task shows which belong together. Printing from a handler
 * is slow, so it stops after @limit hits. Counting goes on.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

static char *symbol = "kernel_clone";
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "function to probe, or MODULE:FUNCTION");

static unsigned int offset;
module_param(offset, uint, 0444);
MODULE_PARM_DESC(offset, "offset in bytes of an instruction of the function");

static unsigned int limit = 10;
module_param(limit, uint, 0644);
MODULE_PARM_DESC(limit, "how many hits to print");

/* A handler runs on several CPUs at once, and must not sleep. */
static atomic_long_t before_count = ATOMIC_LONG_INIT(0);
static atomic_long_t after_count = ATOMIC_LONG_INIT(0);

static void show(const char *when, const struct kprobe *p, struct pt_regs *regs)
{
#ifdef CONFIG_X86
	pr_info("%s %pS in %s/%d: ip=%lx flags=%lx ax=%lx di=%lx si=%lx sp=%lx\n",
		when, p->addr, current->comm, current->pid, regs->ip,
		regs->flags, regs->ax, regs->di, regs->si, regs->sp);
#else
	pr_info("%s %pS in %s/%d: ip=%lx sp=%lx\n",
		when, p->addr, current->comm, current->pid,
		instruction_pointer(regs), kernel_stack_pointer(regs));
#endif
}

static int before(struct kprobe *p, struct pt_regs *regs)
{
	if (atomic_long_inc_return(&before_count) <= limit)
		show("before", p, regs);

	return 0;	/* go on with the instruction */
}

static void after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	if (atomic_long_inc_return(&after_count) <= limit)
		show("after", p, regs);
}

static struct kprobe probe = {
	.pre_handler = before,
	.post_handler = after,
};

static int __init kprobe_example_init(void)
{
	int err;

	probe.symbol_name = symbol;
	probe.offset = offset;

	err = register_kprobe(&probe);
	if (err) {
		pr_err("cannot probe %s+%#x: %pe\n", symbol, offset, ERR_PTR(err));
		return err;
	}

	pr_info("probe set on %pS\n", probe.addr);
	return 0;
}

static void __exit kprobe_example_exit(void)
{
	unregister_kprobe(&probe);

	/* No handler runs any more: the counts are final. */
	pr_info("probe removed: %ld hits, %lu missed\n",
		atomic_long_read(&before_count), probe.nmissed);
}

module_init(kprobe_example_init);
module_exit(kprobe_example_exit);

MODULE_DESCRIPTION("Sample: registers before and after an instruction");
MODULE_LICENSE("GPL");
