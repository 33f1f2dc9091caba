// SPDX-License-Identifier: GPL-2.0
/*
 * Handlers that crash, for the guests of oops.sh.
 *
 *	echo "HOW TARGET STATE WHAT" >/sys/kernel/debug/kprobe_oops/run
 *
 * sets a probe on oops_plain(), oops_traced(), oops_moved() or oops_first(), waits until it
 * is in STATE, and lets a thread call the function. The handler (HOW is pre, post or return)
 * does WHAT. If HOW is insn, an instruction crashes instead of the handler: in oops_first()
 * the probed one, in oops_moved() the one after it. Then another thread calls the function
 * on the same CPU. Nothing crashes any more, and the handler has to run. Finally, the probe is
 * removed, and calls must not hit it. The log has a line for the start, and one for the end
 * if the machine survives that long.
 *
 * Opening the file "reader" sets a probe, writing to it crashes in an RCU reader, and closing
 * it removes the probe, which the task does while it dies.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bug.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <linux/uaccess.h>

#include <asm/ibt.h>
#include <asm/text-patching.h>

#include "kprobe_common.h"
#include "kprobe_oops.h"

/* Longer than RCU's stall timeout, which oops.sh shortens. */
#define HANG_SECONDS	12

TARGET(oops, traced)
notrace TARGET(oops, plain)

static unsigned long oops_moved_zero;
unsigned long *oops_moved_from = &oops_moved_zero;

#ifdef CONFIG_X86_64
asm(".pushsection .text\n"
"	.balign " __stringify(CONFIG_FUNCTION_ALIGNMENT) "\n"
"	.type oops_moved, @function\n"
"oops_moved:\n"
	ASM_ENDBR
"	mov	oops_moved_from(%rip), %rcx\n"
".Loops_moved_at:\n"
"	mov	%rdi, %rax\n"
"	mov	(%rcx), %rdx\n"
"	lea	1(%rdx,%rdi,2), %rdx\n"
"	add	%rdx, %rax\n"
	ASM_RET
"	.size oops_moved, . - oops_moved\n"
"	.balign " __stringify(CONFIG_FUNCTION_ALIGNMENT) "\n"
"	.type oops_first, @function\n"
"oops_first:\n"
	ASM_ENDBR
"	mov	oops_moved_from(%rip), %rcx\n"
"	xor	%eax, %eax\n"
".Loops_first_at:\n"
"	mov	(%rcx), %rdx\n"
"	lea	1(%rdx,%rdi,2), %rdx\n"
"	lea	(%rdx,%rdi), %rax\n"
	ASM_RET
"	.size oops_first, . - oops_first\n"
"	.popsection\n");
#else
/*
 * They have frames, so that an unwinder which needs these finds the caller. A report shows
 * the code before an instruction, but no page needs to be mapped before that of the module.
 */
asm(".pushsection .text\n"
"	.skip 64, 0xcc\n"
"	.balign " __stringify(CONFIG_FUNCTION_ALIGNMENT) "\n"
"	.type oops_moved, @function\n"
"oops_moved:\n"
"	push	%ebp\n"
"	mov	%esp, %ebp\n"
"	mov	oops_moved_from, %ecx\n"
".Loops_moved_at:\n"
"	mov	%eax, %eax\n"
"	mov	(%ecx), %edx\n"
"	lea	1(%edx,%eax,2), %edx\n"
"	add	%edx, %eax\n"
"	pop	%ebp\n"
	ASM_RET
"	.size oops_moved, . - oops_moved\n"
"	.balign " __stringify(CONFIG_FUNCTION_ALIGNMENT) "\n"
"	.type oops_first, @function\n"
"oops_first:\n"
"	push	%ebp\n"
"	mov	%esp, %ebp\n"
"	mov	oops_moved_from, %ecx\n"
"	xor	%edx, %edx\n"
".Loops_first_at:\n"
"	mov	(%ecx), %edx\n"
"	lea	1(%edx,%eax,2), %edx\n"
"	lea	(%edx,%eax), %eax\n"
"	pop	%ebp\n"
	ASM_RET
"	.size oops_first, . - oops_first\n"
"	.popsection\n");
#endif

asm(".pushsection .rodata\n"
"	.balign 4\n"
"oops_moved_at: .long .Loops_moved_at - oops_moved\n"
"oops_first_at: .long .Loops_first_at - oops_first\n"
"	.popsection\n");

enum what { NOTHING, NULL_POINTER, BAD_POINTER, BUG_TRAP, WARNING, STACK, HANG, FIXED };

static const char *const whats[] = {
	[NULL_POINTER] = "null",
	[BAD_POINTER] = "bad",
	[BUG_TRAP] = "bug",
	[WARNING] = "warn",
	[STACK] = "stack",
	[HANG] = "hang",
	[FIXED] = "fixed",
};

static enum what todo;
static unsigned int hits, fixed;
static unsigned long (*target)(unsigned long x);
static struct dentry *dir;
static DEFINE_MUTEX(lock);

static noinline unsigned long oops_deeper(unsigned long n, unsigned long most)
{
	char room[512];

	memset(room, n, sizeof(room));
	barrier_data(room);
	if (n == most)
		return 0;
	return oops_deeper(n + 1, most) + room[n % sizeof(room)];
}

/* The length of the instruction that faults, which is the same with 32 and 64 bits */
#define FAULT_LENGTH	6

static noinline void oops_by_address(unsigned long address)
{
	asm volatile("movl $1, (%0)" : : "a"(address) : "memory");
}

static noinline void oops_in_handler(void)
{
	unsigned long end;

	hits++;
	switch (READ_ONCE(todo)) {
	case NULL_POINTER:
		oops_by_address(8);
		break;
	case BAD_POINTER:
		oops_by_address(1ul << (BITS_PER_LONG - 2));
		break;
	case BUG_TRAP:
		BUG();
	case WARNING:
		WARN(1, "in a handler\n");
		break;
	case STACK:
		oops_deeper(0, 1000);
		break;
	case HANG:
		/* No calls: a hang inside a retpoline would hide the stack from the report. */
		end = jiffies + HANG_SECONDS * HZ;
		while (time_before(jiffies, end))
			cpu_relax();
		break;
	case FIXED:
		oops_by_address(8);
		break;
	case NOTHING:
		break;
	}
}

static int oops_pre_handler(struct kprobe *kp, struct pt_regs *regs)
{
	oops_in_handler();
	return 0;
}

static void oops_post_handler(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	oops_in_handler();
	/* Not a tail call, so that the stack shows this. */
	barrier();
}

static int oops_quiet_handler(struct kprobe *kp, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static int oops_return_handler(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	oops_in_handler();
	return 0;
}

#ifdef KPROBES_HAVE_FAULT_HANDLERS
/* Skips the instruction. */
static int oops_fault_handler(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	if (READ_ONCE(todo) != FIXED)
		return 0;
	fixed++;
	regs->ip += FAULT_LENGTH;
	return 1;
}
#endif

static struct kprobe probe;
static struct kretprobe return_probe;

static int set_probe(const char *how, bool with_fault)
{
	memset(&probe, 0, sizeof(probe));
	memset(&return_probe, 0, sizeof(return_probe));
	probe.addr = (kprobe_opcode_t *)target;
	if (target == oops_moved)
		probe.addr = (kprobe_opcode_t *)((u8 *)target + oops_moved_at);
	if (target == oops_first)
		probe.addr = (kprobe_opcode_t *)((u8 *)target + oops_first_at);
	return_probe.kp.addr = (kprobe_opcode_t *)target;
	if (with_fault) {
#ifdef KPROBES_HAVE_FAULT_HANDLERS
		probe.fault_handler = oops_fault_handler;
		return_probe.kp.fault_handler = oops_fault_handler;
#else
		return -EOPNOTSUPP;
#endif
	}
	if (!strcmp(how, "pre")) {
		probe.pre_handler = oops_pre_handler;
	} else if (!strcmp(how, "insn")) {
		probe.pre_handler = oops_quiet_handler;
	} else if (!strcmp(how, "post")) {
		probe.post_handler = oops_post_handler;
	} else if (!strcmp(how, "return")) {
		return_probe.handler = oops_return_handler;
		return register_kretprobe(&return_probe);
	} else {
		return -EINVAL;
	}
	return register_kprobe(&probe);
}

static struct kprobe *the_probe(void)
{
	return return_probe.handler ? &return_probe.kp : &probe;
}

/* Stock's probes do not tell that they are jumps, but the text does. */
static bool in_state(const char *state)
{
	u8 first = READ_ONCE(*(u8 *)the_probe()->addr);

	if (!strcmp(state, "jump"))
		return first == JMP32_INSN_OPCODE;
	if (!strcmp(state, "ftrace"))
		return the_probe()->flags & KPROBE_FLAG_FTRACE;
	return first == INT3_INSN_OPCODE;
}

static noinline int oops_caller(void *result)
{
	unsigned long *ret = result;

	*ret = target(7);
	return 0;
}

/* Calls the target in a thread, which may crash. Returns true if it returned. */
static bool call_on(unsigned int cpu)
{
	static unsigned long ret;
	struct task_struct *t;
	unsigned int left;

	ret = 0;
	t = kthread_create(oops_caller, &ret, "oops_caller");
	if (IS_ERR(t))
		return false;
	get_task_struct(t);
	kthread_bind(t, cpu);
	wake_up_process(t);
	/* RCU reports a stall only if something waits for a grace period. */
	if (READ_ONCE(todo) == HANG) {
		msleep(100);
		synchronize_rcu();
	}
	for (left = 1000; left && !READ_ONCE(t->exit_state); left--)
		msleep(50);
	put_task_struct(t);
	return READ_ONCE(ret) == RESULT(7ul);
}

static void aim_insn(enum what at)
{
	unsigned long *from = &oops_moved_zero;

	if (at == NULL_POINTER)
		from = (unsigned long *)8;
	else if (at == BAD_POINTER)
		from = (unsigned long *)(1ul << (BITS_PER_LONG - 2));
	WRITE_ONCE(oops_moved_from, from);
}

static int run(const char *how, const char *name, const char *state, const char *what)
{
	unsigned int cpu = cpumask_last(cpu_online_mask), left, during, after;
	int ret, doing;
	bool returned, works;

	/* The first entry has no name. */
	for (doing = 1; doing < ARRAY_SIZE(whats); doing++) {
		if (!strcmp(whats[doing], what))
			break;
	}
	if (doing == ARRAY_SIZE(whats))
		return -EINVAL;
	target = !strcmp(name, "traced") ? oops_traced : oops_plain;
	if (!strcmp(name, "moved"))
		target = oops_moved;
	if (!strcmp(name, "first"))
		target = oops_first;
	ret = set_probe(how, doing == FIXED);
	if (ret)
		return ret;
	for (left = 200; left && !in_state(state); left--)
		msleep(50);
	if (!in_state(state)) {
		pr_err("not in the state %s\n", state);
		ret = -EBUSY;
	}
	hits = 0;
	fixed = 0;
	pr_crit("begin %s %s %s %s\n", how, name, state, what);
	WRITE_ONCE(todo, doing);
	aim_insn(doing);
	returned = call_on(cpu);
	aim_insn(NOTHING);
	WRITE_ONCE(todo, NOTHING);
	during = hits;
	works = call_on(cpu);
	after = hits - during;
	if (return_probe.handler)
		unregister_kretprobe(&return_probe);
	else
		unregister_kprobe(&probe);
	works &= call_on(cpu) && hits == during + after;
	pr_crit("end %s %s %s %s: returned %d, hits %u and %u, fixed %u, works %d\n", how, name,
		state, what, returned, during, after, fixed, works);
	return ret;
}

static ssize_t run_write(struct file *file, const char __user *ubuf, size_t count,
			 loff_t *ppos)
{
	char buf[64], how[16], name[16], state[16], what[16];
	int ret;

	ret = copy_text(buf, sizeof(buf), ubuf, count);
	if (ret)
		return ret;
	if (sscanf(buf, "%15s %15s %15s %15s", how, name, state, what) != 4)
		return -EINVAL;
	mutex_lock(&lock);
	ret = run(how, name, state, what);
	mutex_unlock(&lock);
	return ret ? : count;
}
DEFINE_WRITE_ATTRIBUTE(run);

static int reader_open(struct inode *inode, struct file *file)
{
	target = oops_plain;
	return set_probe("insn", false);
}

static ssize_t reader_write(struct file *file, const char __user *ubuf, size_t count,
			    loff_t *ppos)
{
	rcu_read_lock();
	BUG();
}

static int reader_release(struct inode *inode, struct file *file)
{
	unregister_kprobe(&probe);
	return 0;
}

static const struct file_operations reader_fops = {
	.owner = THIS_MODULE,
	.open = reader_open,
	.write = reader_write,
	.release = reader_release,
};

static int __init kprobe_oops_init(void)
{
	dir = debugfs_create_dir("kprobe_oops", NULL);
	debugfs_create_file("run", 0200, dir, NULL, &run_fops);
	/* debugfs would wait for the dead task to leave the file. */
	debugfs_create_file_unsafe("reader", 0200, dir, NULL, &reader_fops);
	return 0;
}

static void __exit kprobe_oops_exit(void)
{
	debugfs_remove(dir);
}

module_init(kprobe_oops_init);
module_exit(kprobe_oops_exit);

MODULE_DESCRIPTION("Kprobes test: handlers that crash");
MODULE_LICENSE("GPL");
