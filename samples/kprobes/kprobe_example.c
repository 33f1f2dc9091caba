// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a kprobe sees: registers before and after one instruction.
 *
 *	insmod kprobe_example.ko symbol=vfs_read limit=5
 *	cat /etc/passwd
 *	dmesg | grep 'kprobe_example: '
 *	rmmod kprobe_example
 *
 * In many kernels the entry of a function is a call to ftrace, which changes only the
 * instruction pointer. Other instructions show more: offset=N selects one, in bytes
 * from the function's symbol. The valid offsets depend on the kernel: "objdump -d
 * vmlinux" or gdb's "disassemble" show them.
 *
 * Each hit prints two lines, "before" and "after". Lines from other CPUs may come
 * between them; the task tells which two belong together. Printing from a handler is
 * slow, so it stops after @limit hits. Counting continues.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>

static char *symbol = "kernel_clone";
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "function to probe, or MODULE:FUNCTION");

static unsigned int offset;
module_param(offset, uint, 0444);
MODULE_PARM_DESC(offset, "offset of an instruction in the function, in bytes");

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

	return 0;	/* now run the instruction */
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

/* Dynamic debug gives the exact reason, see "Errors" in kprobes.rst. */
static const char *hint(int err)
{
	switch (err) {
	case -ENOENT:
		return "choose a function that is in /proc/kallsyms";
	case -EILSEQ:
		return "choose the offset of an instruction's first byte";
	case -EINVAL:
		return "choose a function that is not in kprobes/blacklist";
	default:
		return "see register_kprobe()";
	}
}

/* An offset may reach into the functions that follow. */
static bool is_beyond(void)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned int into;
	char *plus;

	sprint_symbol(name, (unsigned long)probe.addr);
	plus = strrchr(name, '+');
	return plus && sscanf(plus, "+%x/", &into) == 1 && into < offset;
}

static int __init kprobe_example_init(void)
{
	int err;

	probe.symbol_name = symbol;
	probe.offset = offset;

	err = register_kprobe(&probe);
	if (err) {
		pr_err("cannot probe %s+%#x: %pe: %s\n", symbol, offset, ERR_PTR(err),
		       hint(err));
		return err;
	}

	pr_info("probe set on %pS\n", probe.addr);
	if (is_beyond())
		pr_notice("%s+%#x is beyond the end of %s: choose a smaller offset\n",
			  symbol, offset, symbol);
	return 0;
}

static void __exit kprobe_example_exit(void)
{
	unregister_kprobe(&probe);

	/* No handler is running any more: the counts are final. */
	pr_info("probe removed: %ld hits, %lu missed\n",
		atomic_long_read(&before_count), probe.nmissed);
}

module_init(kprobe_example_init);
module_exit(kprobe_example_exit);

MODULE_DESCRIPTION("Sample: registers before and after an instruction");
MODULE_LICENSE("GPL");
