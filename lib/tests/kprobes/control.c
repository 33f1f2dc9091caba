// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: the control files in debugfs, as far as they can be reached
 * from inside the kernel. Scripts in the guest look at the rest.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "fixture.h"
#ifdef CONFIG_X86
#include "watch_x86.h"
#endif

static struct file *open_file(struct kunit *test, const char *name, int flags)
{
	return kpt_open(test, &kpt_debugfs, name, flags);
}

static char *read_file(struct kunit *test, const char *name)
{
	return kpt_read(test, &kpt_debugfs, name);
}

static ssize_t write_file(struct kunit *test, const char *name, const char *text)
{
	return kpt_write(test, &kpt_debugfs, name, text);
}

static int control_init(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_DEBUG_FS))
		kunit_skip(test, "no debugfs in this kernel");
	KUNIT_ASSERT_NOT_NULL(test, kpt_debugfs.mnt);
	/* Probes are armed for this case, whatever the last one left. */
	write_file(test, "kprobes/enabled", "1");
	return kpt_case_init(test);
}

/* A line of the list, parsed as tools do. */
struct list_line {
	char addr[32];
	char type[8];
	char symbol[128];
	char rest[128];
};

static bool find_in_list(struct kunit *test, const char *symbol, struct list_line *line)
{
	char *text = kpt_line_with(test, read_file(test, "kprobes/list"), symbol);
	int n;

	memset(line, 0, sizeof(*line));
	if (!text)
		return false;
	n = sscanf(text, "%31s %7s %127s %127[^\n]", line->addr, line->type,
		   line->symbol, line->rest);
	KUNIT_EXPECT_GE(test, n, 3);
	/* Where there are function descriptors, the symbol begins with a dot. */
	if (*line->symbol == '.')
		memmove(line->symbol, line->symbol + 1, strlen(line->symbol));
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
		 (unsigned long)((char *)pr->kp.addr - (char *)kpt_text(kpt_plain)));
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
static void list_shows_a_return_probe(struct kunit *test)
{
	struct kretprobe *rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);
	struct list_line line;

	KUNIT_ASSERT_NOT_NULL(test, rp);
	rp->kp.addr = kpt_text(kpt_plain);
	kpt_register_return(test, rp);
	KUNIT_ASSERT_TRUE(test, find_in_list(test, "kpt_plain+0x", &line));
	KUNIT_EXPECT_STREQ(test, line.type, "r");
}
#endif

static void files_are_read_again_from_their_beginning(struct kunit *test)
{
	static const char * const files[] = {
		"kprobes/list", "kprobes/points", "kprobes/blacklist", "kprobes/enabled",
	};
	char __user *buf = (char __user *)kpt_user_area(test, PAGE_SIZE);
	char text[2][2];
	struct file *file;
	unsigned int i, k;
	loff_t pos;

	kpt_probe(test, kpt_plain);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		file = kpt_open(test, &kpt_debugfs, files[i], O_RDONLY);
		for (k = 0; k < 2; k++) {
			pos = vfs_llseek(file, 0, SEEK_SET);
			KUNIT_EXPECT_EQ_MSG(test, pos, 0ll, "%s", files[i]);
			KUNIT_EXPECT_EQ_MSG(test, file->f_op->read(file, buf, 2, &file->f_pos),
					    2l, "%s", files[i]);
			KUNIT_EXPECT_EQ(test, copy_from_user(text[k], buf, 2), 0ul);
		}
		KUNIT_EXPECT_MEMEQ(test, text[0], text[1], 2);
		fput(file);
	}
}

static void files_have_the_documented_modes(struct kunit *test)
{
	static const struct {
		const char *name;
		umode_t mode;
	} files[] = {
		{ "kprobes/list", 0400 },
		{ "kprobes/enabled", 0600 },
		{ "kprobes/blacklist", 0400 },
		{ "kprobes/points", 0400 },
		{ "kprobes/hits", 0600 },
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

	memcpy(before, kpt_text(site->fn), sizeof(before));
	a = kpt_probe(test, kpt_addr(site));
	b = kpt_probe_post(test, kpt_addr(site));
	memcpy(armed, kpt_text(site->fn), sizeof(armed));
	KUNIT_EXPECT_TRUE(test, memcmp(before, armed, sizeof(before)));
	KUNIT_EXPECT_STREQ(test, read_file(test, "kprobes/enabled"), "1\n");

	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "0\n"), 2l);
	KUNIT_EXPECT_STREQ(test, read_file(test, "kprobes/enabled"), "0\n");
	KUNIT_EXPECT_MEMEQ(test, before, kpt_text(site->fn), sizeof(before));
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

#ifdef CONFIG_KRETPROBES
static unsigned int returns;

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	returns++;
	return 0;
}

static noinline notrace unsigned long kpt_switches_off(struct kunit *test)
{
	ssize_t written = write_file(test, "kprobes/enabled", "0");

	OPTIMIZER_HIDE_VAR(written);
	return KPT_RESULT(written);
}

/* The call returns to the trampoline, where some architectures have a point. */
static void call_that_has_begun_returns_while_all_are_off(struct kunit *test)
{
	struct kretprobe *rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);
	unsigned long (*fn)(struct kunit *test) = kpt_switches_off;

	OPTIMIZER_HIDE_VAR(fn);
	KUNIT_ASSERT_NOT_NULL(test, rp);
	rp->kp.addr = kpt_text(kpt_switches_off);
	rp->handler = count_return;
	kpt_register_return(test, rp);

	returns = 0;
	KUNIT_EXPECT_EQ(test, fn(test), KPT_RESULT(1ul));
	KUNIT_EXPECT_EQ(test, returns, 1);
	KUNIT_EXPECT_STREQ(test, read_file(test, "kprobes/enabled"), "0\n");
	KUNIT_EXPECT_EQ(test, fn(test), KPT_RESULT(1ul));
	KUNIT_EXPECT_EQ(test, returns, 1);
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "1"), 1l);
	KUNIT_EXPECT_EQ(test, fn(test), KPT_RESULT(1ul));
	KUNIT_EXPECT_EQ(test, returns, 2);
}
#endif

static void enabled_one_leaves_disabled_probes_off(struct kunit *test)
{
	unsigned char before[16], *text = kpt_text(kpt_plain2);
	struct kpt_probe *off, *alone, *on;

	memcpy(before, text, sizeof(before));
	off = kpt_probe(test, kpt_plain);
	alone = kpt_probe(test, kpt_plain2);
	on = kpt_probe(test, kpt_plain);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&off->kp), 0);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&alone->kp), 0);
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "0"), 1l);
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "1"), 1l);
	KUNIT_EXPECT_MEMEQ(test, before, text, sizeof(before));
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

	memcpy(before, kpt_text(site->fn), sizeof(before));
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "0"), 1l);
	pr = kpt_probe(test, kpt_addr(site));
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&pr->kp));
	KUNIT_EXPECT_MEMEQ(test, before, kpt_text(site->fn), sizeof(before));
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
	struct kpt_probe *site = kpt_probe(test, kpt_traced);

	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "0"), 1l);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&a->kp), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&a->kp), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&site->kp), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&site->kp), 0);
	kpt_plain(7);
	KUNIT_EXPECT_EQ(test, a->pre, 0);
	kpt_unregister(test, b);
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "1"), 1l);
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, site->pre, 1);
	KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_plain2(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, a->pre, 1);
	KUNIT_EXPECT_EQ(test, b->pre, 0);
}

#ifdef CONFIG_OPTPROBES
/**
 * struct reader - reads a file while a probe is being registered
 * @owner: registers it
 * @file:  the file
 * @text:  what was read
 * @begin: the reader may begin
 * @done:  the file has been read
 * @early: @owner has seen that
 */
struct reader {
	struct task_struct *owner;
	struct file *file;
	char text[4];
	bool begin;
	bool done;
	bool early;
};

static int read_once(void *arg)
{
	struct reader *r = arg;
	loff_t pos = 0;

	while (!kthread_should_stop()) {
		usleep_range(100, 1000);
		if (!READ_ONCE(r->begin) || r->done)
			continue;
		kernel_read(r->file, r->text, sizeof(r->text) - 1, &pos);
		WRITE_ONCE(r->done, true);
	}
	return 0;
}

static void let_read(enum kprobe_stage stage, void *arg)
{
	struct reader *r = arg;

	if (stage != KPROBE_STAGE_ARMED || current != r->owner)
		return;
	WRITE_ONCE(r->begin, true);
	r->early = kpt_wait_until(READ_ONCE(r->done));
}

static void put_file(void *file)
{
	fput(file);
}

static void sysctl_is_read_while_a_probe_is_registered(struct kunit *test)
{
	struct reader *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->owner = current;
	r->file = kpt_open_sysctl(test, "sys/debug/kprobes-optimization");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put_file, r->file), 0);
	kpt_thread(test, read_once, r, -1, "reader");
	kpt_watch_stages(test, let_read, r);
	kpt_probe(test, kpt_plain);
	KUNIT_EXPECT_TRUE(test, r->early);
	KUNIT_EXPECT_STREQ(test, r->text, "1\n");
}
#endif

/* Nothing is mapped there, in the test's thread or anywhere. */
static ssize_t write_from_nowhere(struct kunit *test, const char *name)
{
	struct file *file = open_file(test, name, O_WRONLY);
	loff_t pos = 0;
	ssize_t n;

	n = file->f_op->write(file, NULL, 1, &pos);
	fput(file);
	return n;
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
	KUNIT_EXPECT_EQ(test, write_file(test, "kprobes/enabled", "0x"), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, write_file(test, "kprobes/enabled", "00"), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, write_file(test, "kprobes/enabled", "0\nx"), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, write_file(test, "kprobes/enabled", "\n"), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, write_from_nowhere(test, "kprobes/enabled"), (ssize_t)-EFAULT);
	KUNIT_EXPECT_EQ(test, write_from_nowhere(test, "kprobes/hits"), (ssize_t)-EFAULT);
	KUNIT_EXPECT_STREQ(test, read_file(test, "kprobes/enabled"), "1\n");
}

/* The columns of kprobes/points up to the symbol, which shows that there are no others. */
struct point_line {
	char addr[32];
	char how[16];
	char probes[16];
	char hits[24];
	char missed[24];
	char instances[48];
	char lost[24];
	char symbol[64];
};

static void find_point(struct kunit *test, const char *symbol, struct point_line *line)
{
	char *text = kpt_line_with(test, read_file(test, "kprobes/points"), symbol);
	int n;

	KUNIT_ASSERT_NOT_NULL_MSG(test, text, "%s is not in it", symbol);
	n = sscanf(text, "%31s %15s %15s %23s %23s %47s %23s %63s", line->addr, line->how,
		   line->probes, line->hits, line->missed, line->instances, line->lost,
		   line->symbol);
	KUNIT_ASSERT_EQ_MSG(test, n, 8, "%s", text);
	KUNIT_ASSERT_NOT_NULL_MSG(test, strstr(line->symbol, symbol), "%s", text);
}

static void points_show_what_each_point_is(struct kunit *test)
{
	struct kpt_probe *a = kpt_probe(test, kpt_plain);
	struct point_line line;

	kpt_probe_post(test, kpt_plain);
	find_point(test, "kpt_plain+0x", &line);
	KUNIT_EXPECT_EQ(test, strspn(line.addr, "0123456789abcdef"), 2 * sizeof(long));
	KUNIT_EXPECT_STREQ(test, line.probes, "2/2");
	KUNIT_EXPECT_STREQ(test, line.hits, "-");
	KUNIT_EXPECT_STREQ(test, line.missed, "0");
	KUNIT_EXPECT_STREQ(test, line.instances, "-");
	KUNIT_EXPECT_STREQ(test, line.lost, "-");
	KUNIT_ASSERT_EQ(test, disable_kprobe(&a->kp), 0);
	find_point(test, "kpt_plain+0x", &line);
	KUNIT_EXPECT_STREQ(test, line.probes, "1/2");
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "0"), 1l);
	find_point(test, "kpt_plain+0x", &line);
	KUNIT_EXPECT_STREQ(test, line.how, "off");
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/enabled", "1"), 1l);
	kpt_probe(test, kpt_traced);
	find_point(test, "kpt_traced+0x", &line);
	/* The optimizer may have changed the state by now. */
	if (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		KUNIT_EXPECT_STREQ(test, line.how, "ftrace");
	else if (!IS_ENABLED(CONFIG_OPTPROBES) || strcmp(line.how, "jump"))
		KUNIT_EXPECT_STREQ(test, line.how, "breakpoint");
}

/* The column is the sum of the missed hits of the point's probes. */
static void points_add_up_what_probes_have_missed(struct kunit *test)
{
	struct kpt_probe *a = kpt_probe(test, kpt_plain), *b = kpt_probe(test, kpt_plain);
	struct point_line line;

	a->kp.nmissed = 30;
	b->kp.nmissed = 4;
	find_point(test, "kpt_plain+0x", &line);
	KUNIT_EXPECT_STREQ(test, line.missed, "34");
}

static void stop_counting(void *test)
{
	write_file(test, "kprobes/hits", "0");
}

static void count_hits(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/hits", "1\n"), 2l);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stop_counting, test), 0);
}

static void expect_hits(struct kunit *test, const struct kpt_site *site, const char *hits)
{
	struct point_line line;
	char symbol[64];
	size_t len;

	/* "name [module]" is "name+0x..." in the file. */
	snprintf(symbol, sizeof(symbol) - 3, "%ps", kpt_text(site->fn));
	len = strcspn(symbol, " ");
	strscpy(symbol + len, "+0x", sizeof(symbol) - len);
	find_point(test, symbol, &line);
	KUNIT_EXPECT_STREQ(test, line.hits, hits);
}

static void call_times(struct kunit *test, const struct kpt_site *site, unsigned int nr)
{
	while (nr--)
		KUNIT_EXPECT_EQ(test, site->fn(7), KPT_RESULT(7ul));
}

/**
 * struct only_user - what a point calls if it has only one user
 * @word: where that is
 * @then: what it was when the last user had left
 * @left: it has
 */
struct only_user {
	void **word;
	void *then;
	bool left;
};

static void note_only_user(enum kprobe_stage stage, void *arg)
{
	struct only_user *only = arg;

	if (stage != KPROBE_STAGE_LEAVING || only->left)
		return;
	only->then = READ_ONCE(*only->word);
	only->left = true;
}

/* A task may still be on its way to the point. The counter goes with the last probe. */
static void hits_are_not_counted_once_the_last_probe_has_left(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_addr(kpt_site(test)));
	struct only_user *only = kunit_kzalloc(test, sizeof(*only), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, only);
	only->word = kprobe_test_only_word(&pr->kp);
	count_hits(test);
	KUNIT_EXPECT_NOT_NULL(test, READ_ONCE(*only->word));
	kpt_watch_stages(test, note_only_user, only);
	kpt_unregister(test, pr);
	kpt_unwatch_stages(test);
	KUNIT_EXPECT_TRUE(test, only->left);
	KUNIT_EXPECT_NULL(test, only->then);
}

static void hits_are_counted_when_that_is_on(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *a = kpt_probe(test, kpt_addr(site)), *b;
	void **only = kprobe_test_only_word(&a->kp), *was;
	bool jump;

	KUNIT_EXPECT_STREQ(test, read_file(test, "kprobes/hits"), "0\n");
	wait_for_kprobe_optimizer();
	jump = kprobe_optimized(&a->kp);
	was = READ_ONCE(*only);
	call_times(test, site, 3);
	expect_hits(test, site, "-");

	count_hits(test);
	KUNIT_EXPECT_STREQ(test, read_file(test, "kprobes/hits"), "1\n");
	KUNIT_EXPECT_PTR_NE(test, READ_ONCE(*only), was);
	/* The counter is freed when counting ends. */
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/hits", "0"), 1l);
	KUNIT_EXPECT_PTR_EQ(test, READ_ONCE(*only), was);
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/hits", "1"), 1l);
	expect_hits(test, site, "0");
	call_times(test, site, 3);
	expect_hits(test, site, "3");
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kprobe_optimized(&a->kp), jump);
	/* What is on already is not switched, not even for a moment. */
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/hits", "1"), 1l);
	KUNIT_EXPECT_EQ(test, kprobe_optimized(&a->kp), jump);
	call_times(test, site, 4);
	expect_hits(test, site, "7");

	/* A hit on a point with two probes is one hit. */
	b = kpt_probe_post(test, kpt_addr(site));
	call_times(test, site, 2);
	wait_for_kprobe_optimizer();
	call_times(test, site, 1);
	expect_hits(test, site, "10");
	KUNIT_EXPECT_EQ(test, a->pre, 13);
	KUNIT_EXPECT_EQ(test, b->pre, 3);
	KUNIT_EXPECT_EQ(test, b->post, 3);
	kpt_unregister(test, a);
	call_times(test, site, 1);
	expect_hits(test, site, "11");
	KUNIT_EXPECT_EQ(test, a->pre, 13);

	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/hits", "0"), 1l);
	expect_hits(test, site, "-");
	call_times(test, site, 1);
	wait_for_kprobe_optimizer();
	if (IS_ENABLED(CONFIG_X86))
		KUNIT_EXPECT_EQ(test, kprobe_optimized(&b->kp), jump);
	call_times(test, site, 1);
	KUNIT_EXPECT_EQ(test, b->pre, 6);
	KUNIT_EXPECT_EQ(test, b->post, 6);

	/* The next count starts at 0. */
	KUNIT_ASSERT_EQ(test, write_file(test, "kprobes/hits", "1"), 1l);
	expect_hits(test, site, "0");
}

static void hits_of_a_new_point_are_counted_from_the_first(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	struct kpt_probe *pr;

	count_hits(test);
	pr = kpt_probe(test, kpt_addr(site));
	call_times(test, site, 2);
	expect_hits(test, site, "2");
	KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
	call_times(test, site, 2);
	expect_hits(test, site, "2");
	KUNIT_ASSERT_EQ(test, enable_kprobe(&pr->kp), 0);
	call_times(test, site, 1);
	expect_hits(test, site, "3");
	KUNIT_EXPECT_EQ(test, pr->pre, 3);
}

static void call_on_cpu(void *site)
{
	((const struct kpt_site *)site)->fn(7);
}

/* Each CPU has a count of its own. */
static void hits_of_all_cpus_add_up(struct kunit *test)
{
	const struct kpt_site *site = kpt_site(test);
	unsigned int nr = 0;
	char hits[12];
	int cpu, ret;

	count_hits(test);
	kpt_probe(test, kpt_addr(site));
	for_each_online_cpu(cpu) {
		ret = smp_call_function_single(cpu, call_on_cpu, (void *)site, 1);
		KUNIT_ASSERT_EQ(test, ret, 0);
		snprintf(hits, sizeof(hits), "%u", ++nr);
		expect_hits(test, site, hits);
	}
}

#ifdef CONFIG_X86
/* A debugger goes by this list. Probes there are refused for another reason, too. */
static void blacklist_has_the_trampolines_of_static_calls(struct kunit *test)
{
	KUNIT_EXPECT_NOT_NULL(test, strstr(read_file(test, "kprobes/blacklist"), "\t__SCT__"));
}

/**
 * struct counted - a hit that is under way when counting is switched off
 * @result: what the function returned
 * @inside: the hit has read that it has to call the counter
 * @off:    counting has been switched off
 * @done:   the function has returned
 */
struct counted {
	unsigned long result;
	bool inside;
	bool off;
	bool done;
};

static int call_counted(void *arg)
{
	struct counted *c = arg;

	c->result = kpt_traced(7);
	WRITE_ONCE(c->done, true);
	while (!kthread_should_stop())
		usleep_range(100, 1000);
	return 0;
}

static void wait_until_off(struct kpt_watch *w, struct pt_regs *regs)
{
	struct counted *c = w->arg;

	WRITE_ONCE(c->inside, true);
	kpt_spin_until(READ_ONCE(c->off), KPT_WATCH_MS);
}

/* The hit calls a counter that the point does not have any more. */
static void hit_goes_on_when_counting_is_switched_off(struct kunit *test)
{
	struct counted *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	int here = raw_smp_processor_id();
	int cpu = cpumask_any_but(cpu_online_mask, here);
	struct kpt_probe *pr;
	ssize_t written;
	bool inside;

	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_NOT_NULL(test, c);
	set_cpus_allowed_ptr(current, cpumask_of(here));
	/* Changing a jump would wait for the CPU of the hit. */
	kpt_forbid_jumps(test);
	pr = kpt_probe(test, kpt_traced);
	count_hits(test);
	kpt_watch(test, kprobe_test_only_word(&pr->kp), sizeof(long), cpu, wait_until_off, c);
	kpt_thread(test, call_counted, c, cpu, "counted");
	inside = kpt_spin_until(READ_ONCE(c->inside), KPT_WATCH_MS);
	written = write_file(test, "kprobes/hits", "0");
	WRITE_ONCE(c->off, true);
	KUNIT_EXPECT_TRUE(test, inside);
	KUNIT_EXPECT_EQ(test, written, 1l);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(READ_ONCE(c->done)));
	KUNIT_EXPECT_EQ(test, c->result, KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	kpt_allow_jumps(test);
}

/* From an NMI, once. */
static void hit_again(struct kpt_watch *w, struct pt_regs *regs)
{
	bool *on = w->arg;

	if (*on) {
		*on = false;
		kpt_traced(7);
	}
}

/* Between any two instructions that count a hit. */
static void hit_that_interrupts_another_is_counted(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, kpt_traced);
	unsigned int cpu = raw_smp_processor_id();
	struct kpt_watch *w;
	unsigned long *hits;
	bool on = false;

	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	count_hits(test);
	hits = kprobe_test_hits_word(&pr->kp, cpu);
	w = kpt_watch(test, hits, sizeof(*hits), cpu, hit_again, &on);
	WRITE_ONCE(on, true);
	KUNIT_EXPECT_EQ(test, kpt_traced(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(on));
	kpt_unwatch(test, w);
	KUNIT_EXPECT_EQ(test, READ_ONCE(*hits), 2ul);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}
#endif

#ifdef CONFIG_KRETPROBE_POOL
static char *instances_inside;

static noinline notrace unsigned long kpt_reads_points(struct kunit *test)
{
	instances_inside = read_file(test, "kprobes/points");
	OPTIMIZER_HIDE_VAR(instances_inside);
	return KPT_RESULT(7ul);
}

static void points_show_the_instances_of_return_probes(struct kunit *test)
{
	struct kretprobe *rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);
	unsigned long (*fn)(struct kunit *test) = kpt_reads_points;
	struct point_line line;
	char *text;

	OPTIMIZER_HIDE_VAR(fn);
	KUNIT_ASSERT_NOT_NULL(test, rp);
	rp->kp.addr = kpt_text(kpt_reads_points);
	rp->handler = count_return;
	rp->maxactive = 7;
	kpt_register_return(test, rp);
	find_point(test, "kpt_reads_points+0x", &line);
	KUNIT_EXPECT_STREQ(test, line.instances, "0/0/7");
	KUNIT_EXPECT_STREQ(test, line.lost, "0");

	/* The instance is not one of the last that are added up. */
	set_cpus_allowed_ptr(current, cpumask_of(cpumask_first(cpu_online_mask)));
	KUNIT_EXPECT_EQ(test, fn(test), KPT_RESULT(7ul));
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	text = kpt_line_with(test, instances_inside, "kpt_reads_points+0x");
	KUNIT_ASSERT_NOT_NULL(test, text);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, "  1/1/7  0  "), "%s", text);
	find_point(test, "kpt_reads_points+0x", &line);
	KUNIT_EXPECT_STREQ(test, line.instances, "0/1/7");
	rp->nmissed = 5;
	find_point(test, "kpt_reads_points+0x", &line);
	KUNIT_EXPECT_STREQ(test, line.lost, "5");
}

static int skip_it(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 1;
}

static void calls_that_are_skipped_have_used_an_instance(struct kunit *test)
{
	struct kretprobe *rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);
	struct point_line line;

	KUNIT_ASSERT_NOT_NULL(test, rp);
	rp->kp.addr = kpt_text(kpt_plain);
	rp->entry_handler = skip_it;
	rp->maxactive = 7;
	kpt_register_return(test, rp);
	set_cpus_allowed_ptr(current, cpumask_of(cpumask_first(cpu_online_mask)));
	kpt_plain(7);
	kpt_plain(7);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	find_point(test, "kpt_plain+0x", &line);
	KUNIT_EXPECT_STREQ(test, line.instances, "0/1/7");
	KUNIT_EXPECT_STREQ(test, line.lost, "0");
}

static void points_add_up_the_instances_of_several_return_probes(struct kunit *test)
{
	unsigned int i;
	struct kretprobe *rp;
	struct point_line line;
	char instances[32];

	for (i = 0; i < 2; i++) {
		rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, rp);
		rp->kp.addr = kpt_text(kpt_plain);
		rp->handler = count_return;
		/* The second gets what the manual promises. */
		rp->maxactive = i ? 0 : 7;
		kpt_register_return(test, rp);
		rp->nmissed = i ? 4 : 30;
	}
	snprintf(instances, sizeof(instances), "0/0/%u", 7 + max(10, 2 * num_possible_cpus()));
	find_point(test, "kpt_plain+0x", &line);
	KUNIT_EXPECT_STREQ(test, line.instances, instances);
	KUNIT_EXPECT_STREQ(test, line.lost, "34");
	kpt_plain(7);
	snprintf(instances, sizeof(instances), "0/2/%u", 7 + max(10, 2 * num_possible_cpus()));
	find_point(test, "kpt_plain+0x", &line);
	KUNIT_EXPECT_STREQ(test, line.instances, instances);
}

#if defined(CONFIG_X86) && defined(CONFIG_HOTPLUG_CPU)
static void bring_cpu_online(void *cpu)
{
	add_cpu((unsigned long)cpu);
}

/* It may come online at any time, and then has to have some. They leave with the probe. */
static void cpu_that_is_offline_has_instances(struct kunit *test)
{
	unsigned int before = kpt_counts(true).pools, cpu = cpumask_last(cpu_online_mask);
	struct kretprobe *rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);
	struct point_line line;
	char instances[32];

	KUNIT_ASSERT_NOT_NULL(test, rp);
	if (num_online_cpus() == 1)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, bring_cpu_online,
							(void *)(unsigned long)cpu), 0);
	rp->kp.addr = kpt_text(kpt_plain);
	rp->handler = count_return;
	kpt_register_return(test, rp);
	snprintf(instances, sizeof(instances), "0/0/%u", max(10, 2 * num_possible_cpus()));
	find_point(test, "kpt_plain+0x", &line);
	KUNIT_EXPECT_STREQ(test, line.instances, instances);
	kpt_unregister_return(test, rp);
	KUNIT_EXPECT_EQ(test, kpt_counts(true).pools, before);
}

/* Any CPU may take them: no call is missed while fewer than that are under way. */
static void instances_of_an_offline_cpu_are_used(struct kunit *test)
{
	unsigned int cpu = cpumask_last(cpu_online_mask), late;
	struct kretprobe *rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rp);
	if (num_online_cpus() == 1)
		kunit_skip(test, "needs two CPUs");
	if (num_possible_cpus() > 64)
		kunit_skip(test, "so many calls need too much stack");
	for (late = 0; late < 2; late++) {
		memset(rp, 0, sizeof(*rp));
		rp->kp.addr = kpt_text(kpt_recurse);
		rp->handler = count_return;
		rp->maxactive = 2 * num_possible_cpus() + 3;
		if (late)
			kpt_register_return(test, rp);
		KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
		KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, bring_cpu_online,
								(void *)(unsigned long)cpu), 0);
		if (!late)
			kpt_register_return(test, rp);
		returns = 0;
		KUNIT_EXPECT_EQ(test, kpt_recurse(rp->maxactive - 1), rp->maxactive - 1ul);
		KUNIT_EXPECT_EQ_MSG(test, rp->nmissed, 0, "%u", late);
		KUNIT_EXPECT_EQ_MSG(test, returns, rp->maxactive, "%u", late);
		kpt_unregister_return(test, rp);
		kunit_release_action(test, bring_cpu_online, (void *)(unsigned long)cpu);
	}
}

static unsigned int instances_of(struct kunit *test, const char *symbol)
{
	unsigned int flying, most, total = 0;
	struct point_line line;
	int n;

	find_point(test, symbol, &line);
	n = sscanf(line.instances, "%u/%u/%u", &flying, &most, &total);
	KUNIT_EXPECT_EQ(test, n, 3);
	return total;
}

/*
 * The third of five instances of the CPU is that of its stopper thread, which parks when the
 * CPU takes interrupts no more. With PREEMPT_RT it is that of the thread for irq_work, and the
 * CPU still takes interrupts. If either lost the request for the worker, no pool would grow
 * after that, and none would be freed.
 */
static void cpu_that_goes_offline_does_not_keep_pools_from_growing(struct kunit *test)
{
	unsigned int before = kpt_counts(true).pools, cpu = cpumask_last(cpu_online_mask);
	struct kretprobe *rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);
	struct kretprobe *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rp);
	KUNIT_ASSERT_NOT_NULL(test, other);
	if (num_possible_cpus() != 2 || num_online_cpus() != 2)
		kunit_skip(test, "needs two CPUs, and no more");
	rp->kp.symbol_name = "kthread_parkme";
	rp->handler = count_return;
	kpt_register_return(test, rp);
	KUNIT_EXPECT_EQ(test, instances_of(test, "kthread_parkme+0x"), 10);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, bring_cpu_online,
							(void *)(unsigned long)cpu), 0);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(instances_of(test, "kthread_parkme+0x") > 10));
	/* The next request is that of another CPU. */
	other->kp.addr = kpt_text(kpt_plain);
	kpt_register_return(test, other);
	KUNIT_EXPECT_EQ(test, kpt_counts(true).pools, before + 2);
	kpt_unregister_return(test, other);
	KUNIT_EXPECT_EQ(test, kpt_counts(true).pools, before + 1);
	kunit_release_action(test, bring_cpu_online, (void *)(unsigned long)cpu);
	kpt_unregister_return(test, rp);
	/* Threads of the CPU have yet to return. */
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(kpt_counts(true).pools == before));
}

static noinline notrace unsigned long kpt_nests(unsigned int depth)
{
	unsigned long ret = depth ? kpt_nests(depth - 1) : 0;

	OPTIMIZER_HIDE_VAR(ret);
	return ret + 1;
}

static struct {
	unsigned long calls;
	bool online;
} arrival;

/* On a CPU that is about to be online, with interrupts off. */
static int nest_before_online(unsigned int cpu)
{
	arrival.online = cpu_online(cpu);
	arrival.calls = kpt_nests(3);
	return 0;
}

/* The request for the worker is the CPU's, but it takes no interrupts yet. */
static void cpu_that_comes_online_does_not_keep_pools_from_growing(struct kunit *test)
{
	/* Only arm has a use for it. */
	const enum cpuhp_state state = CPUHP_AP_ARM_XEN_STARTING;
	unsigned int cpu = cpumask_last(cpu_online_mask);
	struct kretprobe *rp = kunit_kzalloc(test, sizeof(*rp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rp);
	if (num_possible_cpus() != 2 || num_online_cpus() != 2)
		kunit_skip(test, "needs two CPUs, and no more");
	memset(&arrival, 0, sizeof(arrival));
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, bring_cpu_online,
							(void *)(unsigned long)cpu), 0);
	rp->kp.addr = kpt_text(kpt_nests);
	rp->handler = count_return;
	kpt_register_return(test, rp);
	KUNIT_EXPECT_EQ(test, instances_of(test, "kpt_nests+0x"), 10);
	KUNIT_EXPECT_EQ(test, cpuhp_setup_state_nocalls(state, "kprobes/test:starting",
							nest_before_online, NULL), 0);
	kunit_release_action(test, bring_cpu_online, (void *)(unsigned long)cpu);
	cpuhp_remove_state_nocalls(state);
	KUNIT_EXPECT_EQ(test, arrival.calls, 4ul);
	KUNIT_EXPECT_FALSE(test, arrival.online);
	KUNIT_EXPECT_TRUE(test, kpt_wait_until(instances_of(test, "kpt_nests+0x") > 10));
}
#endif
#endif

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

#ifdef CONFIG_X86
/* --- Changes while a probe is being registered ------------------------------ */

/**
 * struct newcomer - a task that takes its time to register a probe
 * @pr:	    the probe
 * @task:   the task
 * @inside: the point is armed, the probe is not linked yet
 * @over:   the task is about to go on from there
 * @err:    what register_kprobe() has returned; positive before that
 */
struct newcomer {
	struct kpt_probe *pr;
	struct task_struct *task;
	bool inside;
	bool over;
	int err;
};

static void take_time(enum kprobe_stage stage, void *arg)
{
	struct newcomer *n = arg;

	if (stage != KPROBE_STAGE_ARMED || current != READ_ONCE(n->task))
		return;
	WRITE_ONCE(n->inside, true);
	msleep(200);
	WRITE_ONCE(n->over, true);
}

static int register_slowly(void *arg)
{
	struct newcomer *n = arg;

	WRITE_ONCE(n->task, current);
	WRITE_ONCE(n->err, register_kprobe(&n->pr->kp));
	while (!kthread_should_stop())
		usleep_range(500, 1000);
	return 0;
}

static void switch_all(struct kunit *test, void *on)
{
	write_file(test, "kprobes/enabled", on);
}

static void count_all(struct kunit *test, void *on)
{
	write_file(test, "kprobes/hits", on);
}

static void read_blacklist(struct kunit *test, void *unused)
{
	read_file(test, "kprobes/blacklist");
}

#ifdef CONFIG_MODULES
static void announce_module(struct kunit *test, void *event)
{
	struct module *mod = kunit_kzalloc(test, sizeof(*mod), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mod);
	strscpy(mod->name, "kpt_no_module");
	KUNIT_EXPECT_EQ(test, kprobe_test_module_event(mod, (unsigned long)event), 0);
}
#endif

static const struct change {
	const char *name;
	void (*make)(struct kunit *test, void *arg);
	void *arg;
} changes[] = {
	{ "switched off", switch_all, "0" },
	{ "switched on", switch_all, "1" },
	{ "counting on", count_all, "1" },
	{ "counting off", count_all, "0" },
	{ "blacklist is read", read_blacklist, NULL },
#ifdef CONFIG_MODULES
	{ "module comes", announce_module, (void *)MODULE_STATE_COMING },
	{ "module goes", announce_module, (void *)MODULE_STATE_GOING },
#endif
};

/* They see a probe as a whole, or not at all. */
static void changes_wait_until_a_probe_is_registered(struct kunit *test)
{
	struct newcomer *n;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		n = kunit_kzalloc(test, sizeof(*n), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, n);
		n->pr = kpt_alloc(test, kpt_plain);
		n->err = 1;
		kpt_watch_stages(test, take_time, n);
		kpt_thread(test, register_slowly, n, -1, "newcomer");
		KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(n->inside)));
		changes[i].make(test, changes[i].arg);
		KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(n->over), "%s", changes[i].name);
		KUNIT_ASSERT_TRUE(test, kpt_wait_until(READ_ONCE(n->err) <= 0));
		KUNIT_EXPECT_EQ(test, n->err, 0);
		kpt_unwatch_stages(test);
		unregister_kprobe(&n->pr->kp);
	}
}
#endif

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
	KUNIT_CASE(files_are_read_again_from_their_beginning),
	KUNIT_CASE(points_show_what_each_point_is),
	KUNIT_CASE(points_add_up_what_probes_have_missed),
	SITE_CASE(hits_are_counted_when_that_is_on),
	SITE_CASE(hits_are_not_counted_once_the_last_probe_has_left),
	SITE_CASE(hits_of_a_new_point_are_counted_from_the_first),
	SITE_CASE(hits_of_all_cpus_add_up),
#ifdef CONFIG_X86
	KUNIT_CASE(changes_wait_until_a_probe_is_registered),
	KUNIT_CASE(blacklist_has_the_trampolines_of_static_calls),
	KUNIT_CASE(hit_goes_on_when_counting_is_switched_off),
	KUNIT_CASE(hit_that_interrupts_another_is_counted),
#endif
#ifdef CONFIG_KRETPROBE_POOL
	KUNIT_CASE(points_show_the_instances_of_return_probes),
	KUNIT_CASE(calls_that_are_skipped_have_used_an_instance),
	KUNIT_CASE(points_add_up_the_instances_of_several_return_probes),
#if defined(CONFIG_X86) && defined(CONFIG_HOTPLUG_CPU)
	KUNIT_CASE(cpu_that_is_offline_has_instances),
	KUNIT_CASE(instances_of_an_offline_cpu_are_used),
	KUNIT_CASE(cpu_that_goes_offline_does_not_keep_pools_from_growing),
	KUNIT_CASE(cpu_that_comes_online_does_not_keep_pools_from_growing),
#endif
#endif
	SITE_CASE(enabled_zero_disarms_every_probe),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(call_that_has_begun_returns_while_all_are_off),
#endif
	KUNIT_CASE(enabled_one_leaves_disabled_probes_off),
	SITE_CASE(probes_registered_meanwhile_arm_later),
	KUNIT_CASE(disable_enable_unregister_while_all_are_off),
#ifdef CONFIG_OPTPROBES
	KUNIT_CASE(sysctl_is_read_while_a_probe_is_registered),
#endif
	KUNIT_CASE(enabled_accepts_booleans_only),
	KUNIT_CASE(blacklist_lines_have_the_documented_format),
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite control_suite = {
	.name = "kprobes_control",
	.suite_init = kpt_files_suite_init,
	.suite_exit = kpt_unmount_files,
	.init = control_init,
	.test_cases = control_cases,
};

kunit_test_suite(control_suite);

MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
