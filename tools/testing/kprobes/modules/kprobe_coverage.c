// SPDX-License-Identifier: GPL-2.0
/*
 * Counts how many of the addresses in a file can be probed by a jump.
 *
 * Loading sets a probe on each that can carry one, and waits until no more of them
 * become jumps. A line "@ADDRESS" in the file is added to the addresses after it. In
 * debugfs:
 *
 *	kprobe_coverage/result	read: "name value" lines
 *				(two of them count the calls on all CPUs of a function
 *				with a probe, and its hits: if no hit is lost, they are
 *				equal)
 *				write: the hit counts of the points restart from 0
 *	kprobe_coverage/points	read: address, "jump", "breakpoint" or "ftrace",
 *				and how often it was hit, one point a line
 *	kprobe_coverage/refused	read: address and error, one a line
 *
 * Unloading checks that the text of all points is restored. This uses the public API
 * only, so that it works with any implementation: the text shows if a point is a jump.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/kernel_read_file.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define JUMP_SIZE	5
#define JUMP_OPCODE	0xe9

static int nr = 6000;
module_param(nr, int, 0444);
MODULE_PARM_DESC(nr, "probes to set, if the file has as many addresses that can carry one");

static char *sites = "/sites";
module_param(sites, charp, 0444);
MODULE_PARM_DESC(sites, "file of addresses to set probes on, one a line");

static int quiet = 3;
module_param(quiet, int, 0444);
MODULE_PARM_DESC(quiet, "seconds without a new jump after which there will be none; 0: do not wait");

static int post;
module_param(post, int, 0444);
MODULE_PARM_DESC(post, "every so many points one with a post-handler; 0: none");

/* Several CPUs may count at once: only zero or non-zero matters. */
struct point {
	struct kprobe kp;
	unsigned long hits;
	unsigned char text[JUMP_SIZE];
	bool jump;
};

struct refused {
	unsigned long addr;
	int err;
};

static struct point *points;
static struct refused *refused;
static struct kprobe **batch;
static unsigned int nr_points, nr_offered, nr_refused, nr_ftrace, nr_jumps;
static unsigned long settled_ms;
static s64 register_us;
static struct dentry *dir;

static int count_hit(struct kprobe *kp, struct pt_regs *regs)
{
	struct point *pt = container_of(kp, struct point, kp);

	WRITE_ONCE(pt->hits, READ_ONCE(pt->hits) + 1);
	return 0;
}

static void pass_by(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

/* ----------------- A function whose calls are counted ----------------- */

static DEFINE_PER_CPU(unsigned long, calls);
static DEFINE_PER_CPU(unsigned long, hits);
static struct task_struct **callers;

static noinline __noclone notrace unsigned long counted(unsigned long x)
{
	asm volatile("" : "+r" (x));
	return x * x + (x >> 3);
}

static int count_exactly(struct kprobe *kp, struct pt_regs *regs)
{
	this_cpu_inc(hits);
	return 0;
}

static struct kprobe counting = {
	.addr = (kprobe_opcode_t *)counted,
	.pre_handler = count_exactly,
};

static int call(void *unused)
{
	unsigned int i;

	while (!kthread_should_stop()) {
		for (i = 0; i < 64; i++) {
			counted(i);
			this_cpu_inc(calls);
		}
		schedule_timeout_interruptible(1);
	}
	return 0;
}

static void stop_callers(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		if (callers && !IS_ERR_OR_NULL(callers[cpu]))
			kthread_stop(callers[cpu]);
	}
	kfree(callers);
	callers = NULL;
}

static void start_callers(void)
{
	unsigned int cpu;

	callers = kcalloc(nr_cpu_ids, sizeof(*callers), GFP_KERNEL);
	for_each_online_cpu(cpu) {
		if (callers)
			callers[cpu] = kthread_run_on_cpu(call, NULL, cpu, "kpcov/%u");
	}
}

static unsigned long sum(unsigned long __percpu *count)
{
	unsigned long all = 0;
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		all += *per_cpu_ptr(count, cpu);
	return all;
}

/* --------------------------- Other addresses ---------------------------- */

static bool read_text(struct point *pt, unsigned char *text)
{
	return !copy_from_kernel_nofault(text, pt->kp.addr, JUMP_SIZE);
}

static unsigned int count_jumps(void)
{
	unsigned char text[JUMP_SIZE];
	unsigned int i, n = 0;

	for (i = 0; i < nr_points; i++) {
		points[i].jump = !kprobe_ftrace(&points[i].kp) &&
				 read_text(&points[i], text) && text[0] == JUMP_OPCODE;
		n += points[i].jump;
	}
	return n;
}

/* Tries the addresses with disabled probes, which is faster. */
static int find_points(void)
{
	unsigned long addr, base = 0;
	char *line, *next;
	void *buf = NULL;
	ssize_t len;
	int err;

	len = kernel_read_file_from_path(sites, 0, &buf, SZ_16M, NULL, READING_UNKNOWN);
	if (len <= 0) {
		pr_err("cannot read %s: %zd\n", sites, len);
		return len ?: -EINVAL;
	}
	((char *)buf)[len - 1] = '\0';
	next = buf;
	while (nr_points < nr && (line = strsep(&next, "\n"))) {
		struct point *pt = &points[nr_points];

		if (*line == '@') {
			if (kstrtoul(line + 1, 16, &base))
				break;
			continue;
		}
		if (kstrtoul(line, 16, &addr))
			break;
		addr += base;
		nr_offered++;
		memset(pt, 0, sizeof(*pt));
		pt->kp.addr = (kprobe_opcode_t *)addr;
		pt->kp.flags = KPROBE_FLAG_DISABLED;
		pt->kp.pre_handler = count_hit;
		err = register_kprobe(&pt->kp);
		if (err) {
			/* Show only the first few. */
			if (nr_refused < nr)
				refused[nr_refused] = (struct refused){ addr, err };
			nr_refused++;
			continue;
		}
		batch[nr_points++] = &pt->kp;
	}
	vfree(buf);
	unregister_kprobes(batch, nr_points);
	return nr_offered ? 0 : -ENOENT;
}

static void settle(void)
{
	unsigned long began = jiffies, last = jiffies;
	unsigned int n;

	if (!quiet)
		return;
	/* The first jump may take longer. */
	nr_jumps = 0;
	while (time_before(jiffies, last + (nr_jumps ? quiet : 20 * quiet) * HZ)) {
		msleep(50);
		n = count_jumps();
		if (n != nr_jumps)
			last = jiffies;
		nr_jumps = n;
	}
	settled_ms = jiffies_to_msecs(last - began);
}

static int result_show(struct seq_file *m, void *unused)
{
	unsigned int i, hit = 0, hit_jumps = 0;

	nr_jumps = count_jumps();
	for (i = 0; i < nr_points; i++) {
		hit += !!READ_ONCE(points[i].hits);
		hit_jumps += points[i].jump && READ_ONCE(points[i].hits);
	}
	seq_printf(m, "offered %u\nrefused %u\naccepted %u\nftrace %u\njumps %u\n",
		   nr_offered, nr_refused, nr_points, nr_ftrace, nr_jumps);
	seq_printf(m, "hit %u\nhit_jumps %u\nsettled_ms %lu\n", hit, hit_jumps, settled_ms);
	seq_printf(m, "register_us %lld\n", register_us);
	/* During a call the two counts may differ. */
	stop_callers();
	seq_printf(m, "calls %lu\ncounted %lu\n", sum(&calls), sum(&hits));
	start_callers();
	return 0;
}

static int result_open(struct inode *inode, struct file *file)
{
	return single_open(file, result_show, NULL);
}

static ssize_t result_write(struct file *file, const char __user *ubuf, size_t count,
			    loff_t *ppos)
{
	unsigned int i;

	for (i = 0; i < nr_points; i++)
		WRITE_ONCE(points[i].hits, 0);
	return count;
}

static const struct file_operations result_fops = {
	.owner = THIS_MODULE,
	.open = result_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
	.write = result_write,
};

static int points_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	for (i = 0; i < nr_points; i++)
		seq_printf(m, "%016lx %s %lu\n", (unsigned long)points[i].kp.addr,
			   kprobe_ftrace(&points[i].kp) ? "ftrace" :
			   points[i].jump ? "jump" : "breakpoint",
			   READ_ONCE(points[i].hits));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(points);

static int refused_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	for (i = 0; i < nr_refused && i < nr; i++)
		seq_printf(m, "%016lx %pe\n", refused[i].addr, ERR_PTR(refused[i].err));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(refused);

static int __init kprobe_coverage_init(void)
{
	unsigned int i;
	int ret = -ENOMEM;

	points = vcalloc(nr, sizeof(*points));
	refused = vcalloc(nr, sizeof(*refused));
	batch = vcalloc(nr, sizeof(*batch));
	if (!points || !refused || !batch)
		goto fail;
	ret = find_points();
	if (ret)
		goto fail;
	for (i = 0; i < nr_points; i++) {
		kprobe_opcode_t *addr = points[i].kp.addr;

		/* Make the structure look as if it had never been registered. */
		points[i].kp = (struct kprobe){ .addr = addr, .pre_handler = count_hit };
		if (post && i % post == 0)
			points[i].kp.post_handler = pass_by;
		if (!read_text(&points[i], points[i].text)) {
			ret = -EFAULT;
			goto fail;
		}
	}
	register_us = -ktime_to_us(ktime_get());
	ret = nr_points ? register_kprobes(batch, nr_points) : 0;
	register_us += ktime_to_us(ktime_get());
	if (!ret) {
		ret = register_kprobe(&counting);
		if (ret)
			unregister_kprobes(batch, nr_points);
	}
	if (ret) {
		pr_err("cannot set %u probes: %d\n", nr_points, ret);
		goto fail;
	}
	for (i = 0; i < nr_points; i++)
		nr_ftrace += kprobe_ftrace(&points[i].kp);
	start_callers();
	settle();
	dir = debugfs_create_dir("kprobe_coverage", NULL);
	debugfs_create_file("result", 0600, dir, NULL, &result_fops);
	debugfs_create_file("points", 0400, dir, NULL, &points_fops);
	debugfs_create_file("refused", 0400, dir, NULL, &refused_fops);
	return 0;
fail:
	vfree(batch);
	vfree(refused);
	vfree(points);
	return ret;
}

/*
 * Counts addresses whose text is not restored. At a point that was not a jump only the first
 * byte is compared: the next instruction may be a jump label that was patched meanwhile.
 */
static unsigned int count_changed(bool tell)
{
	unsigned char text[JUMP_SIZE];
	unsigned int i, n = 0;

	for (i = 0; i < nr_points; i++) {
		if (read_text(&points[i], text) &&
		    !memcmp(text, points[i].text, points[i].jump ? JUMP_SIZE : 1))
			continue;
		n++;
		if (tell)
			pr_err("%pS: the text is not what it was\n", points[i].kp.addr);
	}
	return n;
}

static void __exit kprobe_coverage_exit(void)
{
	unsigned long before;
	unsigned int i;
	s64 us;

	debugfs_remove(dir);
	nr_jumps = count_jumps();
	us = -ktime_to_us(ktime_get());
	unregister_kprobes(batch, nr_points);
	us += ktime_to_us(ktime_get());
	pr_info("%u probes gone in %lld us\n", nr_points, us);

	unregister_kprobe(&counting);
	before = sum(&hits);
	msleep(100);
	stop_callers();
	if (sum(&hits) != before)
		pr_err("%lu hits after unregistering\n", sum(&hits) - before);
	/* An implementation may restore the text some time after unregistering. */
	for (i = 0; i < 100 && count_changed(false); i++)
		msleep(100);
	pr_info("%u of %u points and their %u jumps have left something behind\n",
		count_changed(true), nr_points, nr_jumps);
	vfree(batch);
	vfree(refused);
	vfree(points);
}

module_init(kprobe_coverage_init);
module_exit(kprobe_coverage_exit);

MODULE_DESCRIPTION("How many probes are hit by jumps");
MODULE_LICENSE("GPL");
