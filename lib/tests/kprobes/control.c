// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: the control files in debugfs, as far as they can be reached
 * from inside the kernel. Scripts in the guest look at the rest.
 *
 * The suite opens the files through a mount of its own, as user space need not
 * have one, and reads and writes them through a user mapping of the test's
 * thread, which is what they expect.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/mount.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "fixture.h"

#define BUF_SIZE	(64 * PAGE_SIZE)

static struct file_system_type *debugfs_type;
static struct vfsmount *debugfs;

static int control_suite_init(struct kunit_suite *suite)
{
	struct vfsmount *mnt;

	if (!IS_ENABLED(CONFIG_DEBUG_FS))
		return 0;
	debugfs_type = get_fs_type("debugfs");
	if (!debugfs_type)
		return -ENODEV;
	mnt = kern_mount(debugfs_type);
	if (IS_ERR(mnt))
		return PTR_ERR(mnt);
	debugfs = mnt;
	return 0;
}

static void control_suite_exit(struct kunit_suite *suite)
{
	if (debugfs)
		kern_unmount(debugfs);
	debugfs = NULL;
	if (debugfs_type)
		module_put(debugfs_type->owner);
	debugfs_type = NULL;
}

static struct file *open_file(struct kunit *test, const char *name, int flags)
{
	struct file *file = file_open_root_mnt(debugfs, name, flags, 0);

	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(file), "cannot open %s", name);
	return file;
}

static char __user *user_buffer(struct kunit *test, size_t size)
{
	unsigned long area;

	area = kunit_vm_mmap(test, NULL, 0, size, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, area, 0ul);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(area));
	return (char __user *)area;
}

/* The whole file, as a string. */
static char *read_file(struct kunit *test, const char *name)
{
	char *text = kunit_kzalloc(test, BUF_SIZE, GFP_KERNEL);
	char __user *buf = user_buffer(test, PAGE_SIZE);
	size_t len = 0;
	struct file *file;
	loff_t pos = 0;
	ssize_t n;

	KUNIT_ASSERT_NOT_NULL(test, text);
	file = open_file(test, name, O_RDONLY);
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

static ssize_t write_file(struct kunit *test, const char *name, const char *text)
{
	char __user *buf = user_buffer(test, PAGE_SIZE);
	struct file *file;
	loff_t pos = 0;
	ssize_t n;

	KUNIT_ASSERT_EQ(test, copy_to_user(buf, text, strlen(text)), 0ul);
	file = open_file(test, name, O_WRONLY);
	n = file->f_op->write(file, buf, strlen(text), &pos);
	fput(file);
	return n;
}

static int control_init(struct kunit *test)
{
	if (!debugfs)
		kunit_skip(test, "no debugfs in this kernel");
	/* Whatever the case before left, probes are armed for this one. */
	write_file(test, "kprobes/enabled", "1");
	return 0;
}

/* The line of a text that holds @what, by itself; NULL if there is none. */
static char *line_with(struct kunit *test, const char *text, const char *what)
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

/* A line of the list, taken apart as the tools do that read it. */
struct list_line {
	char addr[32];
	char type[8];
	char symbol[128];
	char rest[128];
};

static bool find_in_list(struct kunit *test, const char *symbol, struct list_line *line)
{
	char *text = line_with(test, read_file(test, "kprobes/list"), symbol);
	int n;

	memset(line, 0, sizeof(*line));
	if (!text)
		return false;
	n = sscanf(text, "%31s %7s %127s %127[^\n]", line->addr, line->type,
		   line->symbol, line->rest);
	KUNIT_EXPECT_GE(test, n, 3);
	return true;
}

static void list_shows_a_probe(struct kunit *test)
{
	struct list_line line;
	struct kpt_probe *pr;
	char symbol[64];

	KUNIT_EXPECT_FALSE(test, find_in_list(test, "kpt_plain+0x", &line));
	pr = kpt_probe(test, kpt_plain);
	snprintf(symbol, sizeof(symbol), "kpt_plain+0x%lx",
		 (unsigned long)((char *)pr->kp.addr - (char *)kpt_plain));
	KUNIT_ASSERT_TRUE(test, find_in_list(test, "kpt_plain+0x", &line));
	KUNIT_EXPECT_EQ(test, strlen(line.addr), 2 * sizeof(long));
	KUNIT_EXPECT_EQ(test, strspn(line.addr, "0123456789abcdef"), 2 * sizeof(long));
	KUNIT_EXPECT_STREQ(test, line.type, "k");
	KUNIT_EXPECT_STREQ(test, line.symbol, symbol);
	KUNIT_EXPECT_NULL(test, strstr(line.rest, "[DISABLED]"));
	KUNIT_EXPECT_NULL(test, strstr(line.rest, "[GONE]"));
	KUNIT_EXPECT_NULL(test, strstr(line.rest, "[FTRACE]"));
	kpt_unregister(test, pr);
	KUNIT_EXPECT_FALSE(test, find_in_list(test, "kpt_plain+0x", &line));
}

static void list_shows_each_probe_of_a_point(struct kunit *test)
{
	char *text;

	kpt_probe(test, kpt_plain);
	kpt_probe_post(test, kpt_plain);
	text = read_file(test, "kprobes/list");
	text = strstr(text, "kpt_plain+0x");
	KUNIT_ASSERT_NOT_NULL(test, text);
	text = strstr(text + 1, "kpt_plain+0x");
	KUNIT_ASSERT_NOT_NULL(test, text);
	KUNIT_EXPECT_NULL(test, strstr(text + 1, "kpt_plain+0x"));
}

static void list_shows_disabled(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_plain);
	struct list_line line;

	KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
	KUNIT_ASSERT_TRUE(test, find_in_list(test, "kpt_plain+0x", &line));
	KUNIT_EXPECT_NOT_NULL(test, strstr(line.rest, "[DISABLED]"));
	KUNIT_ASSERT_EQ(test, enable_kprobe(&pr->kp), 0);
	KUNIT_ASSERT_TRUE(test, find_in_list(test, "kpt_plain+0x", &line));
	KUNIT_EXPECT_NULL(test, strstr(line.rest, "[DISABLED]"));
}

static void list_shows_module(struct kunit *test)
{
	struct list_line line;

	if (!IS_MODULE(CONFIG_KPROBES_SANITY_TEST))
		kunit_skip(test, "the suite is built in");
	kpt_probe(test, kpt_plain);
	KUNIT_ASSERT_TRUE(test, find_in_list(test, "kpt_plain+0x", &line));
	KUNIT_EXPECT_EQ(test, strncmp(line.rest, KBUILD_MODNAME, strlen(KBUILD_MODNAME)), 0);
}

static void list_shows_ftrace(struct kunit *test)
{
	struct list_line line;
	struct kpt_probe *pr;

	pr = kpt_probe(test, kpt_traced);
	KUNIT_ASSERT_TRUE(test, find_in_list(test, "kpt_traced+0x", &line));
	KUNIT_EXPECT_EQ(test, !!strstr(line.rest, "[FTRACE]"),
			IS_ENABLED(CONFIG_KPROBES_ON_FTRACE));
	KUNIT_EXPECT_EQ(test, kprobe_ftrace(&pr->kp), IS_ENABLED(CONFIG_KPROBES_ON_FTRACE));
}

#ifdef CONFIG_KRETPROBES
static void unregister_ret(void *rp)
{
	unregister_kretprobe(rp);
}

static void list_shows_a_return_probe(struct kunit *test)
{
	struct kretprobe *rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);
	struct list_line line;

	KUNIT_ASSERT_NOT_NULL(test, rp);
	rp->kp.addr = (void *)kpt_plain;
	KUNIT_ASSERT_EQ(test, register_kretprobe(rp), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unregister_ret, rp), 0);
	KUNIT_ASSERT_TRUE(test, find_in_list(test, "kpt_plain+0x", &line));
	KUNIT_EXPECT_STREQ(test, line.type, "r");
}
#endif

static void files_have_the_documented_modes(struct kunit *test)
{
	static const struct {
		const char *name;
		umode_t mode;
	} files[] = {
		{ "kprobes/list", 0400 },
		{ "kprobes/enabled", 0600 },
		{ "kprobes/blacklist", 0400 },
	};
	struct file *file;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		file = open_file(test, files[i].name, O_RDONLY);
		KUNIT_EXPECT_EQ(test, file_inode(file)->i_mode & 07777, files[i].mode);
		fput(file);
	}
}

static void enabled_zero_disarms_every_probe(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	unsigned char before[32], armed[32];
	struct kpt_probe *a, *b;

	memcpy(before, site->fn, sizeof(before));
	a = kpt_probe(test, kpt_addr(site));
	b = kpt_probe_post(test, kpt_addr(site));
	memcpy(armed, site->fn, sizeof(armed));
	KUNIT_EXPECT_TRUE(test, memcmp(before, armed, sizeof(before)));
	KUNIT_EXPECT_STREQ(test, read_file(test, "kprobes/enabled"), "1\n");

	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "0\n"), 2l);
	KUNIT_EXPECT_STREQ(test, read_file(test, "kprobes/enabled"), "0\n");
	KUNIT_EXPECT_MEMEQ(test, before, (char *)site->fn, sizeof(before));
	KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, a->pre, 0);
	KUNIT_EXPECT_EQ(test, b->pre, 0);

	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "1\n"), 2l);
	KUNIT_EXPECT_STREQ(test, read_file(test, "kprobes/enabled"), "1\n");
	KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, a->pre, 1);
	KUNIT_EXPECT_EQ(test, b->pre, 1);
	KUNIT_EXPECT_EQ(test, b->post, 1);
}

static void enabled_one_leaves_disabled_probes_off(struct kunit *test)
{
	struct kpt_probe *off = kpt_probe(test, kpt_plain);
	struct kpt_probe *alone = kpt_probe(test, kpt_plain2);
	struct kpt_probe *on = kpt_probe(test, kpt_plain);

	KUNIT_ASSERT_EQ(test, disable_kprobe(&off->kp), 0);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&alone->kp), 0);
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "0"), 1l);
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "1"), 1l);
	kpt_plain(7);
	kpt_plain2(7);
	KUNIT_EXPECT_EQ(test, off->pre, 0);
	KUNIT_EXPECT_EQ(test, alone->pre, 0);
	KUNIT_EXPECT_EQ(test, on->pre, 1);
}

static void probes_registered_meanwhile_arm_later(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	unsigned char before[32];
	struct kpt_probe *pr;

	memcpy(before, site->fn, sizeof(before));
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "0"), 1l);
	pr = kpt_probe(test, kpt_addr(site));
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&pr->kp));
	KUNIT_EXPECT_MEMEQ(test, before, (char *)site->fn, sizeof(before));
	KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "1"), 1l);
	KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

static void disable_enable_unregister_while_all_are_off(struct kunit *test)
{
	struct kpt_probe *a = kpt_probe(test, kpt_plain);
	struct kpt_probe *b = kpt_probe(test, kpt_plain2);

	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "0"), 1l);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&a->kp), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&a->kp), 0);
	kpt_plain(7);
	KUNIT_EXPECT_EQ(test, a->pre, 0);
	kpt_unregister(test, b);
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "1"), 1l);
	KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_plain2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, a->pre, 1);
	KUNIT_EXPECT_EQ(test, b->pre, 0);
}

static void enabled_accepts_booleans_only(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, write_file(test, "kprobes/enabled", "n"), 1l);
	KUNIT_EXPECT_STREQ(test, read_file(test, "kprobes/enabled"), "0\n");
	KUNIT_EXPECT_EQ(test, write_file(test, "kprobes/enabled", "y"), 1l);
	KUNIT_EXPECT_STREQ(test, read_file(test, "kprobes/enabled"), "1\n");
	KUNIT_EXPECT_EQ(test, write_file(test, "kprobes/enabled", "0"), 1l);
	KUNIT_EXPECT_EQ(test, write_file(test, "kprobes/enabled", "1"), 1l);
	KUNIT_EXPECT_EQ(test, write_file(test, "kprobes/enabled", "2"), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, write_file(test, "kprobes/enabled", "x\n"), (ssize_t)-EINVAL);
	KUNIT_EXPECT_STREQ(test, read_file(test, "kprobes/enabled"), "1\n");
}

/* 0xSTART-0xEND<TAB>SYMBOL[ [MODULE]], with the addresses at full width. */
static bool blacklist_line_is_good(const char *line)
{
	const size_t digits = 2 * sizeof(long);
	unsigned int n;

	for (n = 0; n < 2; n++) {
		if (strncmp(line, "0x", 2))
			return false;
		line += 2;
		if (strspn(line, "0123456789abcdef") != digits)
			return false;
		line += digits;
		if (*line++ != "-\t"[n])
			return false;
	}
	line += strcspn(line, " ");
	return !*line || (line[1] == '[' && line[strlen(line) - 1] == ']');
}

static void blacklist_lines_have_the_documented_format(struct kunit *test)
{
	char *text = read_file(test, "kprobes/blacklist");
	unsigned int lines = 0;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		/* The last one is empty, or cut off by the buffer. */
		if (!text)
			break;
		KUNIT_ASSERT_TRUE_MSG(test, blacklist_line_is_good(line), "%s", line);
		lines++;
	}
	KUNIT_EXPECT_GT(test, lines, 10);
}

#define SITE_CASE(fn)	KUNIT_CASE_PARAM(fn, kpt_site_gen)

static struct kunit_case control_cases[] = {
	KUNIT_CASE(list_shows_a_probe),
	KUNIT_CASE(list_shows_each_probe_of_a_point),
	KUNIT_CASE(list_shows_disabled),
	KUNIT_CASE(list_shows_module),
	KUNIT_CASE(list_shows_ftrace),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(list_shows_a_return_probe),
#endif
	KUNIT_CASE(files_have_the_documented_modes),
	SITE_CASE(enabled_zero_disarms_every_probe),
	KUNIT_CASE(enabled_one_leaves_disabled_probes_off),
	SITE_CASE(probes_registered_meanwhile_arm_later),
	KUNIT_CASE(disable_enable_unregister_while_all_are_off),
	KUNIT_CASE(enabled_accepts_booleans_only),
	KUNIT_CASE(blacklist_lines_have_the_documented_format),
	{}
};

static struct kunit_suite control_suite = {
	.name = "kprobes_control",
	.suite_init = control_suite_init,
	.suite_exit = control_suite_exit,
	.init = control_init,
	.test_cases = control_cases,
};

kunit_test_suite(control_suite);

MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
