/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the test modules share: functions to probe, threads, control files. */
#ifndef _KPROBE_COMMON_H
#define _KPROBE_COMMON_H

#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/uaccess.h>

/* -------------------------------- Targets ------------------------------- */

#define RESULT(x)	((x) * 3 + 1)

/* MODULE_NAME(), to be probed. With "notrace" in front, it is no ftrace site. */
#define TARGET(module, name)						\
	unsigned long module##_##name(unsigned long x);			\
	noinline unsigned long module##_##name(unsigned long x)		\
	{								\
		OPTIMIZER_HIDE_VAR(x);					\
		return RESULT(x);					\
	}

/* ------------------------------- Threads -------------------------------- */

/**
 * struct threads - the threads of a run
 * @task: the threads
 * @nr:   their number
 * @max:  the size of @task
 */
struct threads {
	struct task_struct **task;
	unsigned int nr;
	unsigned int max;
};

static inline int threads_init(struct threads *t, unsigned int max)
{
	*t = (struct threads){ .max = max };
	t->task = kcalloc(max, sizeof(*t->task), GFP_KERNEL);
	return t->task ? 0 : -ENOMEM;
}

/* Starts a thread on @cpu only. @name has a %u for the CPU. Returns 0 or an error. */
static inline int threads_add(struct threads *t, int (*fn)(void *), void *arg, int cpu,
			      const char *name)
{
	struct task_struct *task;

	if (WARN_ON(t->nr == t->max))
		return -ENOSPC;
	task = kthread_create(fn, arg, name, cpu);
	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, cpu);
	t->task[t->nr++] = task;
	wake_up_process(task);
	return 0;
}

/* The same, with @cpu as the argument. Counts a failure in @errors. */
static inline void threads_start(struct threads *t, int (*fn)(void *), int cpu, const char *name,
				 atomic_long_t *errors)
{
	int ret = threads_add(t, fn, (void *)(long)cpu, cpu, name);

	if (!ret)
		return;
	pr_err("a thread does not start: %d\n", ret);
	atomic_long_inc(errors);
}

/* A thread whose CPU went offline has lost its binding: renew it when the CPU is back. */
static inline void threads_return(unsigned int cpu)
{
	if (raw_smp_processor_id() != cpu && cpu_online(cpu))
		set_cpus_allowed_ptr(current, cpumask_of(cpu));
}

/* Their functions end in threads_stay(). */
static inline void threads_stop(struct threads *t)
{
	while (t->nr)
		kthread_stop(t->task[--t->nr]);
	kfree(t->task);
}

static inline int threads_stay(void)
{
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

/* In short pieces, or the task would look hung. */
static inline void sleep_for(unsigned int seconds)
{
	unsigned long end = jiffies + seconds * HZ;

	while (time_before(jiffies, end))
		msleep(200);
}

/* -------------------------------- Files --------------------------------- */

/* name_fops, for a file whose text name_write() takes. */
#define DEFINE_WRITE_ATTRIBUTE(name)				\
static const struct file_operations name##_fops = {		\
	.owner = THIS_MODULE,					\
	.write = name##_write,					\
}

/* Copies the written text, as a string. */
static inline int copy_text(char *buf, size_t size, const char __user *ubuf, size_t count)
{
	if (count >= size)
		return -EINVAL;
	if (copy_from_user(buf, ubuf, count))
		return -EFAULT;
	buf[count] = '\0';
	return 0;
}

/* Passes each written line to @fn under @lock, until an error. */
static inline ssize_t write_lines(const char __user *ubuf, size_t count, struct mutex *lock,
				  int (*take)(char *line))
{
	char *buf, *next, *line;
	int ret = 0;

	if (count > SZ_1M)
		return -E2BIG;
	buf = memdup_user_nul(ubuf, count);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	mutex_lock(lock);
	next = buf;
	while (!ret && (line = strsep(&next, "\n"))) {
		if (*line)
			ret = take(line);
	}
	mutex_unlock(lock);
	kfree(buf);
	return ret ? : count;
}

/* Runs @fn under @lock for the written number of seconds. */
static inline ssize_t write_seconds(const char __user *ubuf, size_t count, struct mutex *lock,
				    int (*run)(unsigned int seconds))
{
	unsigned int seconds;
	int ret;

	ret = kstrtouint_from_user(ubuf, count, 0, &seconds);
	if (ret)
		return ret;
	mutex_lock(lock);
	ret = run(seconds);
	mutex_unlock(lock);
	return ret ? : count;
}

/* name_fops, for a file whose text write_lines() or write_seconds() passes to @fn. */
#define DEFINE_WRITE_ATTRIBUTE_BY(name, by, lock, fn)				\
static ssize_t name##_write(struct file *file, const char __user *ubuf,		\
			    size_t count, loff_t *ppos)				\
{										\
	return by(ubuf, count, lock, fn);					\
}										\
DEFINE_WRITE_ATTRIBUTE(name)

/* The directory of the module, with the files that most have: start a run, and read its result. */
static inline struct dentry *control_dir(const struct file_operations *run,
					 const struct file_operations *result)
{
	struct dentry *dir = debugfs_create_dir(KBUILD_MODNAME, NULL);

	debugfs_create_file("run", 0200, dir, NULL, run);
	debugfs_create_file("result", 0400, dir, NULL, result);
	return dir;
}

#endif /* _KPROBE_COMMON_H */
