// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The control files and the log, for the kprobes suites.
 *
 * The suites open them through mounts of their own, because there may be no user space
 * that has mounted them. They read and write through a user mapping of the test's
 * thread, because most of the files expect one.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kmsg_dump.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/mount.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "fixture.h"

/* Room for a line of each of some thousand probes. */
#define BUF_SIZE	(128 * PAGE_SIZE)

struct kpt_mount kpt_debugfs;
static struct kpt_mount procfs;

static int mount(const char *name, struct kpt_mount *m)
{
	struct vfsmount *mnt;

	m->type = get_fs_type(name);
	if (!m->type)
		return -ENODEV;
	mnt = kern_mount(m->type);
	if (IS_ERR(mnt)) {
		module_put(m->type->owner);
		return PTR_ERR(mnt);
	}
	m->mnt = mnt;
	return 0;
}

static void unmount(struct kpt_mount *m)
{
	if (!m->mnt)
		return;
	kern_unmount(m->mnt);
	module_put(m->type->owner);
	m->mnt = NULL;
}

void kpt_mount_files(void)
{
	if (IS_ENABLED(CONFIG_DEBUG_FS))
		mount("debugfs", &kpt_debugfs);
	if (IS_ENABLED(CONFIG_PROC_SYSCTL))
		mount("proc", &procfs);
}

void kpt_unmount_files(struct kunit_suite *suite)
{
	unmount(&kpt_debugfs);
	unmount(&procfs);
}

struct file *kpt_open(struct kunit *test, struct kpt_mount *m, const char *name, int flags)
{
	struct file *file = file_open_root_mnt(m->mnt, name, flags, 0);

	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(file), "cannot open %s", name);
	return file;
}

/* Memory of the test's thread. */
unsigned long kpt_user_area(struct kunit *test, size_t size)
{
	unsigned long area;

	area = kunit_vm_mmap(test, NULL, 0, size, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, area, 0ul);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(area));
	return area;
}

static void vfree_action(void *p)
{
	vfree(p);
}

/* The whole file, as a string. It is freed at the end of the case, or by kpt_read_ends(). */
char *kpt_read(struct kunit *test, struct kpt_mount *m, const char *name)
{
	char __user *buf = (char __user *)kpt_user_area(test, PAGE_SIZE);
	char *text = vzalloc(BUF_SIZE);
	size_t len = 0;
	struct file *file;
	loff_t pos = 0;
	ssize_t n;

	KUNIT_ASSERT_NOT_NULL(test, text);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, vfree_action, text), 0);
	file = kpt_open(test, m, name, O_RDONLY);
	do {
		n = file->f_op->read(file, buf, PAGE_SIZE, &pos);
		if (n > 0 && len + n < BUF_SIZE && copy_from_user(text + len, buf, n))
			n = -EFAULT;
		if (n > 0)
			len += n;
	} while (n > 0 && len + PAGE_SIZE < BUF_SIZE);
	fput(file);
	KUNIT_ASSERT_GE(test, n, 0l);
	return text;
}

void kpt_read_ends(struct kunit *test, char *text)
{
	kunit_release_action(test, vfree_action, text);
}

ssize_t kpt_write(struct kunit *test, struct kpt_mount *m, const char *name, const char *text)
{
	size_t len = strlen(text);
	char __user *buf;
	struct file *file;
	loff_t pos = 0;
	ssize_t n;

	file = kpt_open(test, m, name, O_WRONLY);
	if (file->f_op->write) {
		buf = (char __user *)kpt_user_area(test, PAGE_SIZE);
		n = copy_to_user(buf, text, len) ? -EFAULT :
		    file->f_op->write(file, buf, len, &pos);
	} else {
		n = kernel_write(file, text, len, &pos);
	}
	fput(file);
	return n;
}

/* The line of a text that contains @what; NULL if there is none. */
char *kpt_line_with(struct kunit *test, const char *text, const char *what)
{
	const char *at = strstr(text, what);
	const char *start = at, *end;
	char *line;

	if (!at)
		return NULL;
	while (start > text && start[-1] != '\n')
		start--;
	end = strchrnul(at, '\n');
	line = kunit_kzalloc(test, end - start + 1, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, line);
	memcpy(line, start, end - start);
	return line;
}

/*
 * Where the log ends now. A case compares no counts over the whole log: a small one drops its
 * oldest lines while new ones come.
 */
u64 kpt_log_end(void)
{
	struct kmsg_dump_iter iter = { };

	kmsg_dump_rewind(&iter);
	return iter.next_seq;
}

/* The number of lines since @from that contain the text; the last of them is in @last. */
unsigned int kpt_log_last(struct kunit *test, u64 from, const char *what, char *last, size_t size)
{
	char *line = kunit_kzalloc(test, 1024, GFP_KERNEL);
	struct kmsg_dump_iter iter = { .cur_seq = from };
	unsigned int nr = 0;
	size_t len;

	KUNIT_ASSERT_NOT_NULL(test, line);
	while (kmsg_dump_get_line(&iter, false, line, 1024, &len)) {
		line[min_t(size_t, len, 1023)] = '\0';
		if (!strstr(line, what))
			continue;
		nr++;
		if (size)
			strscpy(last, line, size);
	}
	kunit_kfree(test, line);
	return nr;
}

unsigned int kpt_log_lines(struct kunit *test, u64 from, const char *what)
{
	return kpt_log_last(test, from, what, NULL, 0);
}

/* The line of kprobes/points on a probe, for a test to say why it failed. */
const char *kpt_jump_reason(struct kunit *test, struct kprobe *kp)
{
	struct kpt_mount own = { }, *m = kpt_debugfs.mnt ? &kpt_debugfs : &own;
	const char *line = NULL;
	struct file *file;
	char addr[20];

	if (!IS_ENABLED(CONFIG_DEBUG_FS) || (!m->mnt && mount("debugfs", m)))
		return "(no debugfs)";
	file = file_open_root_mnt(m->mnt, "kprobes/points", O_RDONLY, 0);
	if (!IS_ERR(file)) {
		fput(file);
		snprintf(addr, sizeof(addr), "%0*lx", (int)(2 * sizeof(long)),
			 (unsigned long)kp->addr);
		line = kpt_line_with(test, kpt_read(test, m, "kprobes/points"), addr);
	}
	unmount(&own);
	return line ?: "(not in kprobes/points)";
}

/* The same of a point that waits. The next try is a second or more away, which may be now. */
const char *kpt_reason_between_tries(struct kunit *test, struct kprobe *kp)
{
	const char *reason;
	unsigned int tries;

	for (tries = 0; tries < 10; tries++) {
		reason = kpt_jump_reason(test, kp);
		if (!strstr(reason, "  soon"))
			break;
		wait_for_kprobe_optimizer();
	}
	return reason;
}

/* Writes to a file of /proc/sys; returns what write() does. */
ssize_t kpt_write_sysctl(struct kunit *test, const char *name, const char *text)
{
	struct kpt_mount own = { }, *m = procfs.mnt ? &procfs : &own;
	ssize_t ret;

	if (!IS_ENABLED(CONFIG_PROC_SYSCTL) || (!m->mnt && mount("proc", m)))
		return -ENODEV;
	ret = kpt_write(test, m, name, text);
	unmount(&own);
	return ret;
}

/* For suites that have mounted the files. */
struct file *kpt_open_sysctl(struct kunit *test, const char *name)
{
	if (!procfs.mnt)
		kunit_skip(test, "no files in /proc/sys");
	return kpt_open(test, &procfs, name, O_RDWR);
}

#ifdef CONFIG_OPTPROBES
static ssize_t write_sysctl(struct kunit *test, const char *text)
{
	return kpt_write_sysctl(test, "sys/debug/kprobes-optimization", text);
}

static void allow_jumps(void *test)
{
	write_sysctl(test, "1\n");
}

/* For a case about breakpoints: they stay breakpoints, however long it takes. */
void kpt_forbid_jumps(struct kunit *test)
{
	ssize_t ret = write_sysctl(test, "0\n");

	if (ret == -ENODEV)
		kunit_skip(test, "jumps cannot be switched off in this kernel");
	KUNIT_ASSERT_EQ(test, ret, 2l);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, allow_jumps, test), 0);
}

/* On return all points are queued for the optimizer, but are not jumps yet. */
void kpt_queue_jumps(struct kunit *test)
{
	kunit_release_action(test, allow_jumps, test);
}

void kpt_allow_jumps(struct kunit *test)
{
	kpt_queue_jumps(test);
	wait_for_kprobe_optimizer();
}
#else
void kpt_forbid_jumps(struct kunit *test)
{
}

void kpt_allow_jumps(struct kunit *test)
{
}
#endif
