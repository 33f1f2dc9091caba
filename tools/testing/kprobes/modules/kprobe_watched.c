// SPDX-License-Identifier: GPL-2.0
/*
 * Errors made on purpose, which the kernels of "make test-debug" have to notice:
 *
 *	insmod kprobe_watched.ko what=leak	objects without a reference
 *	insmod kprobe_watched.ko what=race	plain accesses that race, for half a second
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

/* A stale word that looks like a pointer may remain for some of them. */
#define NR_LEAKS 16

static char *what = "";
module_param(what, charp, 0444);

static noinline int watched_leak(void)
{
	unsigned int i;
	void *p;

	for (i = 0; i < NR_LEAKS; i++) {
		p = kmalloc(40, GFP_KERNEL);
		if (!p)
			return -ENOMEM;
		/* Keep the compiler from removing the allocation. */
		OPTIMIZER_HIDE_VAR(p);
	}
	return 0;
}

static unsigned long raced;

/* Without the barriers the compiler would remove accesses without an effect. */
static noinline void watched_write(unsigned long n)
{
	raced += n;
	barrier();
}

static noinline unsigned long watched_read(void)
{
	barrier();
	return raced;
}

static int watched_writer(void *unused)
{
	while (!kthread_should_stop()) {
		watched_write(1);
		cond_resched();
	}
	return 0;
}

static int watched_race(void)
{
	unsigned long end = jiffies + HZ / 2, sum = 0;
	struct task_struct *writer;

	writer = kthread_run(watched_writer, NULL, "watched_writer");
	if (IS_ERR(writer))
		return PTR_ERR(writer);
	while (time_before(jiffies, end)) {
		sum += watched_read();
		cond_resched();
	}
	kthread_stop(writer);
	barrier_data(&sum);
	return 0;
}

static int __init watched_init(void)
{
	if (!strcmp(what, "leak"))
		return watched_leak();
	if (!strcmp(what, "race"))
		return watched_race();
	return -EINVAL;
}

static void __exit watched_exit(void)
{
}

module_init(watched_init);
module_exit(watched_exit);

MODULE_DESCRIPTION("A leak and a data race that have to be noticed");
MODULE_LICENSE("GPL");
