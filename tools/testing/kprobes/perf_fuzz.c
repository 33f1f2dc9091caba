// SPDX-License-Identifier: GPL-2.0
/*
 * Opens random kprobes by perf_event_open(), valid ones and ones with one mistake:
 *
 *	perf_fuzz DEFS SEED ENTRY SITE AMBIGUOUS [shared]
 *
 * DEFS is how many. ENTRY is the address of kprobe_target_add(), and SITE the one that carries
 * a probe on it, both hexadecimal; AMBIGUOUS is the name of several functions. kprobe_target.ko
 * has to be loaded.
 *
 * Some of the valid probes are kept open at a time. Their functions are called, by this process
 * and by a child, on all CPUs that these may use, and each count has to be that of the calls
 * which it should see. A probe with a mistake has to be refused with an error for that mistake. A
 * user without privileges gets no probe at all. After each of these steps, the list of kprobes
 * has as many lines as there are open probes.
 *
 * With "shared", other processes do the same at the same time. Then the list is not looked at,
 * and events of a CPU count the calls of others, too.
 *
 * Prints "kind NAME COUNT" for each kind of mistake, other counts as "NAME COUNT", and
 * "wrong: ..." for what should not be.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(ARRAY)	(sizeof(ARRAY) / sizeof((ARRAY)[0]))

#define LIST		"/sys/kernel/debug/kprobes/list"
#define CALL		"/sys/kernel/debug/kprobe_target/call"
#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"
#define TYPE		"/sys/bus/event_source/devices/kprobe/type"
#define RETPROBE	"/sys/bus/event_source/devices/kprobe/format/retprobe"

#define PAGE		4096
/* KSYM_NAME_LEN of the kernel */
#define NAME_LEN	512
#define NR_SLOTS	10
/* A recursion this deep leaves instances of a return probe free. */
#define MAX_DEPTH	4
/* Bits of the attributes that no kernel knows so far. */
#define UNKNOWN		0x0004000000000000ull

/* Where the user's addresses end. */
#define USER_END	(sizeof(long) == 8 ? 0x7ffffffff000 : 0xc0000000)

enum fn { ADD, RECURSE, NR_FNS };

/* The arguments of a system call, and what they should give. */
struct def {
	struct perf_event_attr attr;
	uint32_t size;		/* of the attributes, which may be more than the structure */
	bool tail;		/* what follows the structure is not all zero */
	bool cut;		/* the last bytes of the attributes are not mapped */
	void *bad_attr;		/* passed instead of the attributes */
	pid_t pid;
	int cpu;
	int group;
	unsigned long flags;
	enum fn fn;
	int leader;		/* the slot of the group's leader */
};

static struct slot {
	bool open;
	bool enabled;
	int fd;
	struct def def;
	uint64_t count;
} slots[NR_SLOTS];

static uint64_t seed, entry, site;
static const char *ambiguous;
static bool shared;
static unsigned int type, nr_cpus, this_cpu, base, kernel_size, nr_wrong;
static uint64_t retprobe;
static int call_fd, dummy_fd, sibling_fd;
/* Two pages of memory, before one that is not mapped. */
static char *pages;
static char long_name[PAGE];

static unsigned int opened, read_counts, calls_counted, by_children, inherited, in_groups;
static unsigned int switched, unprivileged;

/* What follows from the first failures is of no interest. */
#define wrong(FMT, ...) \
	((void)(nr_wrong++ < 10 && printf("wrong: " FMT "\n", ##__VA_ARGS__)))

static void die(const char *what)
{
	printf("wrong: perf_fuzz: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t rnd64(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * 0x2545f4914f6cdd1dull;
}

static unsigned int rnd(unsigned int below)
{
	return (rnd64() >> 32) % below;
}

/* ------------------------------- Valid ones ------------------------------ */

static void set_name(struct def *d, const char *name)
{
	d->attr.kprobe_func = (uintptr_t)name;
}

static void set_offset(struct def *d, uint64_t offset)
{
	d->attr.probe_offset = offset;
}

static void set_addr(struct def *d, uint64_t addr)
{
	set_name(d, rnd(2) ? "" : NULL);
	d->attr.kprobe_addr = addr;
}

static bool is_return(const struct def *d)
{
	return d->attr.config & retprobe;
}

static void pick_place(struct def *d)
{
	static const char *const adds[] = {
		"kprobe_target_add", "kprobe_target:kprobe_target_add",
	};
	static const char *const recurses[] = {
		"kprobe_target_recurse", "kprobe_target:kprobe_target_recurse",
	};

	d->fn = rnd(4) ? ADD : RECURSE;
	/* Other processes may take the instances. */
	if (shared && is_return(d))
		d->fn = ADD;
	if (d->fn == RECURSE) {
		set_name(d, recurses[rnd(2)]);
		return;
	}
	switch (rnd(is_return(d) ? 3 : 5)) {
	case 0:
	case 1:
		set_name(d, adds[rnd(2)]);
		break;
	case 2:
		set_addr(d, entry);
		break;
	case 3:
		set_addr(d, rnd(2) ? site : site + 5);
		break;
	case 4:
		set_name(d, adds[rnd(2)]);
		set_offset(d, (rnd(2) ? site : site + 5) - entry);
		break;
	}
}

/* Sizes that leave out, or add, only zeros. */
static uint32_t pick_size(const struct def *d)
{
	switch (rnd(4)) {
	case 0:
		if (d->attr.config2)
			return PERF_ATTR_SIZE_VER1;
		return rnd(2) ? 0 : PERF_ATTR_SIZE_VER0;
	case 1:
		return PERF_ATTR_SIZE_VER1 + rnd(kernel_size - PERF_ATTR_SIZE_VER1);
	case 2:
		return kernel_size + rnd(PAGE - kernel_size + 1);
	}
	return sizeof(d->attr);
}

static void valid(struct def *d)
{
	struct perf_event_attr *attr = &d->attr;

	memset(d, 0, sizeof(*d));
	d->group = -1;
	d->leader = -1;
	attr->type = type;
	/* The bits that have no meaning are ignored. */
	if (!rnd(4))
		attr->config = rnd64() & ~retprobe;
	if (!rnd(3))
		attr->config |= retprobe;
	pick_place(d);
	switch (rnd(6)) {
	case 0:
		d->pid = -1;
		d->cpu = rnd(nr_cpus);
		break;
	case 1:
		d->cpu = rnd(nr_cpus);
		break;
	case 2:
		/* Does not call the functions. */
		d->pid = 1;
		d->cpu = -1;
		break;
	default:
		d->cpu = -1;
	}
	attr->disabled = !rnd(4);
	attr->exclude_user = !rnd(4);
	attr->exclude_kernel = !rnd(12);
	attr->exclude_hv = !rnd(4);
	attr->pinned = !rnd(8);
	attr->inherit = d->pid >= 0 && !rnd(8);
	if (!rnd(4))
		attr->sample_period = rnd(2) ? 1 : 1 + rnd(1000);
	if (!rnd(4))
		attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_RAW |
				    PERF_SAMPLE_CALLCHAIN;
	if (!rnd(4))
		attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID;
	if (!rnd(2))
		d->flags = PERF_FLAG_FD_CLOEXEC;
	/* What is left out at the end of the attributes is zero so far. */
	d->size = pick_size(d);
}

static void join_group(struct def *d)
{
	int i = rnd(NR_SLOTS);
	struct slot *leader = &slots[i];

	if (!leader->open || leader->def.leader >= 0)
		return;
	if (!rnd(4)) {
		d->flags |= PERF_FLAG_FD_NO_GROUP;
		d->group = leader->fd;
		if (d->pid >= 0)
			d->attr.inherit = 0;
		return;
	}
	d->pid = leader->def.pid;
	d->cpu = leader->def.cpu;
	d->attr.inherit = leader->def.attr.inherit;
	d->attr.pinned = 0;
	d->group = leader->fd;
	d->leader = i;
}

/* ------------------------------- Mistakes -------------------------------- */

static void bad_flags(struct def *d)
{
	d->flags |= 1ul << (4 + rnd(8 * sizeof(d->flags) - 4));
}

/* One that nobody may read, or one of the two. */
static uint64_t bad_pointer(uint64_t one, uint64_t other)
{
	static const uint64_t pointers[] = {
		1, 0xfff, USER_END,
#if UINTPTR_MAX > UINT32_MAX
		0x8000000000000000, 0xffffffff81000000,
#else
		0xc1000000,
#endif
	};
	unsigned int i = rnd(ARRAY_SIZE(pointers) + 2);

	if (i < ARRAY_SIZE(pointers))
		return pointers[i];
	return i == ARRAY_SIZE(pointers) ? one : other;
}

static void bad_attr_pointer(struct def *d)
{
	d->bad_attr = (void *)(uintptr_t)bad_pointer(0, -64ul);
	/* NULL stands for good attributes. */
	if (!d->bad_attr)
		d->bad_attr = (void *)2;
}

static void bad_attr_cut(struct def *d)
{
	d->size = sizeof(d->attr);
	d->cut = true;
}

static void bad_size_small(struct def *d)
{
	d->size = 1 + rnd(PERF_ATTR_SIZE_VER0 - 1);
}

static void bad_size_large(struct def *d)
{
	d->size = rnd(2) ? PAGE + 1 + rnd(PAGE) : UINT32_MAX - rnd(PAGE);
}

static void bad_size_tail(struct def *d)
{
	d->size = kernel_size + 1 + rnd(PAGE - kernel_size);
	d->tail = true;
}

static void bad_reserved(struct def *d)
{
	d->size = sizeof(d->attr);
	if (rnd(2))
		d->attr.__reserved_2 = 1 + rnd(UINT16_MAX);
	else
		/* The bits from disabled on; the last one is reserved. */
		((uint64_t *)&d->attr)[5] |= 1ull << 63;
}

static void bad_sample_type(struct def *d)
{
	d->attr.sample_type |= UNKNOWN << rnd(14);
}

static void bad_read_format(struct def *d)
{
	d->attr.read_format |= UNKNOWN << rnd(14);
}

static void bad_period(struct def *d)
{
	d->attr.sample_period = rnd64() | 1ull << 63;
}

static void bad_freq(struct def *d)
{
	d->attr.freq = 1;
	d->attr.sample_freq = 1ull << (32 + rnd(32));
}

static void bad_together(struct def *d)
{
	switch (rnd(4)) {
	case 0:
		d->attr.enable_on_exec = 1;
		d->attr.remove_on_exec = 1;
		break;
	case 1:
		d->attr.sigtrap = 1;
		break;
	case 2:
		d->attr.inherit = 0;
		d->attr.inherit_thread = 1;
		break;
	case 3:
		d->attr.sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT;
		break;
	}
}

static void bad_branch_mask(struct def *d)
{
	d->size = sizeof(d->attr);
	d->attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	if (rnd(2))
		d->attr.branch_sample_type = UNKNOWN;
}

static void bad_branch(struct def *d)
{
	d->size = sizeof(d->attr);
	d->attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	d->attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
}

static void bad_stack_user(struct def *d)
{
	d->size = sizeof(d->attr);
	d->attr.sample_type |= PERF_SAMPLE_STACK_USER;
	d->attr.sample_stack_user = rnd(2) ? 7 : UINT16_MAX + rnd(1000);
}

static void bad_cgroup_args(struct def *d)
{
	d->flags |= PERF_FLAG_PID_CGROUP;
	d->pid = rnd(2) ? -1 : 0;
	if (d->pid == 0)
		d->cpu = -1;
	d->attr.inherit = 0;
}

/* These two are found when the probe has been set already. */
static void bad_cgroup(struct def *d)
{
	d->flags |= PERF_FLAG_PID_CGROUP;
	d->pid = rnd(2) ? call_fd : 100000;
	d->cpu = rnd(nr_cpus);
}

static void bad_clock(struct def *d)
{
	static const int clocks[] = { -1, CLOCK_REALTIME, CLOCK_TAI, 1000 };

	d->size = sizeof(d->attr);
	d->attr.use_clockid = 1;
	d->attr.clockid = clocks[rnd(ARRAY_SIZE(clocks))];
}

static void bad_group_fd(struct def *d)
{
	static const int fds[] = { -2, 100000, INT32_MAX, INT32_MIN };

	d->group = rnd(2) ? call_fd : fds[rnd(ARRAY_SIZE(fds))];
}

/* Likewise. The leader counts this task on all CPUs. */
static void bad_group(struct def *d)
{
	d->group = dummy_fd;
	d->pid = 0;
	d->cpu = -1;
	d->attr.pinned = 0;
	d->attr.inherit = 0;
	switch (rnd(6)) {
	case 0:
		d->group = sibling_fd;
		break;
	case 1:
		d->cpu = rnd(nr_cpus);
		break;
	case 2:
		d->pid = 1;
		break;
	case 3:
		d->attr.pinned = 1;
		break;
	case 4:
		d->attr.inherit = 1;
		break;
	case 5:
		d->attr.use_clockid = 1;
		d->attr.clockid = CLOCK_MONOTONIC;
		d->size = sizeof(d->attr);
		break;
	}
}

static void bad_pid(struct def *d)
{
	/* Above the limit that pid_max has. */
	d->pid = rnd(2) ? (1 << 22) + 1 + (int)rnd(1000) : -2 - (int)rnd(1000);
}

static void bad_cpu(struct def *d)
{
	switch (rnd(3)) {
	case 0:
		d->pid = -1;
		d->cpu = -1;
		d->attr.inherit = 0;
		break;
	case 1:
		d->cpu = 8192 + rnd(1 << 20);
		break;
	case 2:
		d->cpu = -2 - (int)rnd(1000);
		break;
	}
}

static void bad_type(struct def *d)
{
	d->attr.type = 1000 + rnd(1 << 30);
}

static void bad_no_symbol(struct def *d)
{
	static const char *const names[] = {
		"no_such_function", "kprobe_target:no_such_function", "no_such_module:vfs_read",
		":", ":kprobe_target_add", "kprobe_target:", "kprobe_target_add+0", "%s%n", "*",
		" kprobe_target_add", "kprobe_target::kprobe_target_add", "kprobe_target_add\n",
	};

	set_name(d, names[rnd(ARRAY_SIZE(names))]);
	/* A long name that is not too long yet. */
	if (!rnd(8))
		set_name(d, long_name + sizeof(long_name) - NAME_LEN + rnd(100));
}

static void bad_ambiguous(struct def *d)
{
	set_name(d, ambiguous);
	set_offset(d, 0);
}

static void bad_long_name(struct def *d)
{
	set_name(d, long_name + rnd(sizeof(long_name) - NAME_LEN));
}

static void bad_name_pointer(struct def *d)
{
	d->attr.kprobe_func = bad_pointer(~0ull, ~0ull);
}

/* A name that runs into a page that is not mapped. */
static void bad_name_cut(struct def *d)
{
	unsigned int len = 1 + rnd(NAME_LEN - 1);

	memset(pages + 2 * PAGE - NAME_LEN, 'x', NAME_LEN);
	set_name(d, pages + 2 * PAGE - len);
}

static void bad_nothing(struct def *d)
{
	set_addr(d, 0);
}

static void bad_blacklisted(struct def *d)
{
	static const char *const names[] = {
		"kprobe_int3_handler", "exc_int3", "get_kprobe", "kprobe_dispatcher",
		"kprobe_target_hidden",
	};

	set_name(d, names[rnd(ARRAY_SIZE(names))]);
	set_offset(d, 0);
}

static void use_add(struct def *d, uint64_t offset)
{
	if (rnd(2)) {
		set_addr(d, entry + offset);
	} else {
		set_name(d, "kprobe_target:kprobe_target_add");
		set_offset(d, offset);
	}
	if (d->size < PERF_ATTR_SIZE_VER1)
		d->size = PERF_ATTR_SIZE_VER1;
}

static void bad_inside(struct def *d)
{
	use_add(d, site + 1 + rnd(4) - entry);
	d->attr.config &= ~retprobe;
}

static void bad_not_entry(struct def *d)
{
	use_add(d, site + 5 - entry);
	d->attr.config |= retprobe;
}

static void use_addr(struct def *d, uint64_t addr)
{
	set_addr(d, addr);
	if (d->size < PERF_ATTR_SIZE_VER1)
		d->size = PERF_ATTR_SIZE_VER1;
}

static void bad_user_addr(struct def *d)
{
	switch (rnd(3)) {
	case 0:
		use_addr(d, (uintptr_t)pages + rnd(PAGE));
		break;
	case 1:
		use_addr(d, (uintptr_t)bad_user_addr);
		break;
	case 2:
		use_addr(d, 1 + rnd64() % (sizeof(long) == 8 ? 1ull << 46 : USER_END - 1));
		break;
	}
}

static void bad_top_addr(struct def *d)
{
	use_addr(d, rnd(2) ? ~0ull : ~0ull - rnd(PAGE));
}

static void bad_addr(struct def *d)
{
	uint64_t addr = 1ull << 63 | rnd64() >> (8 + rnd(20));

	/* A kernel of 32 bits takes the lower half, which may be that of an instruction. */
	if (sizeof(long) == 4)
		addr = 1ull << 63 | addr % USER_END;
	use_addr(d, addr);
}

/* The kernel takes 32 bits of the offset. */
static void bad_offset(struct def *d)
{
	static const uint32_t offsets[] = { 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff };

	set_name(d, "kprobe_target_add");
	set_offset(d, offsets[rnd(ARRAY_SIZE(offsets))]);
	if (d->size < PERF_ATTR_SIZE_VER1)
		d->size = PERF_ATTR_SIZE_VER1;
}

/*
 * Which errors a kind of mistake may have. If no symbol covers an address, kprobes may return
 * either of two. Without CONFIG_CGROUP_PERF, cgroups are EINVAL.
 */
static struct kind {
	const char *name;
	void (*spoil)(struct def *d);
	int errors[2];
	unsigned int count;
} kinds[] = {
	{ "flags", bad_flags, { EINVAL } },
	{ "attr_pointer", bad_attr_pointer, { EFAULT } },
	{ "attr_cut", bad_attr_cut, { EFAULT } },
	{ "size_small", bad_size_small, { E2BIG } },
	{ "size_large", bad_size_large, { E2BIG } },
	{ "size_tail", bad_size_tail, { E2BIG } },
	{ "reserved", bad_reserved, { EINVAL } },
	{ "sample_type", bad_sample_type, { EINVAL } },
	{ "read_format", bad_read_format, { EINVAL } },
	{ "period", bad_period, { EINVAL } },
	{ "freq", bad_freq, { EINVAL } },
	{ "together", bad_together, { EINVAL } },
	{ "branch_mask", bad_branch_mask, { EINVAL } },
	{ "branch", bad_branch, { EOPNOTSUPP } },
	{ "stack_user", bad_stack_user, { EINVAL } },
	{ "cgroup_args", bad_cgroup_args, { EINVAL } },
	{ "cgroup", bad_cgroup, { EBADF, EINVAL } },
	{ "clock", bad_clock, { EINVAL } },
	{ "group_fd", bad_group_fd, { EBADF } },
	{ "group", bad_group, { EINVAL } },
	{ "pid", bad_pid, { ESRCH } },
	{ "cpu", bad_cpu, { EINVAL } },
	{ "type", bad_type, { ENOENT } },
	{ "no_symbol", bad_no_symbol, { ENOENT } },
	{ "ambiguous", bad_ambiguous, { EADDRNOTAVAIL } },
	{ "long_name", bad_long_name, { E2BIG } },
	{ "name_pointer", bad_name_pointer, { EFAULT } },
	{ "name_cut", bad_name_cut, { EFAULT } },
	{ "nothing", bad_nothing, { EINVAL } },
	{ "blacklisted", bad_blacklisted, { EINVAL } },
	{ "inside", bad_inside, { EILSEQ } },
	{ "not_entry", bad_not_entry, { EINVAL } },
	{ "user_addr", bad_user_addr, { EINVAL, ENOENT } },
	{ "top_addr", bad_top_addr, { EINVAL, ENOENT } },
	{ "addr", bad_addr, { EINVAL, ENOENT } },
	{ "offset", bad_offset, { EINVAL, ENOENT } },
};

/* All kinds come before one comes again. */
static struct kind *next_kind(void)
{
	static unsigned int order[ARRAY_SIZE(kinds)], next;
	unsigned int i, j, was;

	if (!next) {
		for (i = 0; i < ARRAY_SIZE(kinds); i++)
			order[i] = i;
		for (i = ARRAY_SIZE(kinds) - 1; i; i--) {
			j = rnd(i + 1);
			was = order[i];
			order[i] = order[j];
			order[j] = was;
		}
		next = ARRAY_SIZE(kinds);
	}
	return &kinds[order[--next]];
}

/* --------------------------------- Calls --------------------------------- */

static int open_def(struct def *d)
{
	unsigned int len = sizeof(d->attr);
	char *at = pages;

	d->attr.size = d->size;
	memset(pages, 0, 2 * PAGE - NAME_LEN);
	if (d->cut) {
		len = PERF_ATTR_SIZE_VER0 + 4;
		at = pages + 2 * PAGE - len;
	}
	if (d->tail)
		pages[kernel_size + rnd(d->size - kernel_size)] = 1 + rnd(255);
	memcpy(at, &d->attr, len);
	return syscall(SYS_perf_event_open, d->bad_attr ? d->bad_attr : at, d->pid, d->cpu,
		       d->group, d->flags);
}

static void write_number(const char *path, int n)
{
	char buf[16];
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, buf, snprintf(buf, sizeof(buf), "%d\n", n)) < 0)
		die(path);
	close(fd);
}

static unsigned long read_number(const char *path, const char *fmt)
{
	FILE *f = fopen(path, "r");
	unsigned int n;

	if (!f || fscanf(f, fmt, &n) != 1)
		die(path);
	fclose(f);
	return n;
}

static unsigned int listed(void)
{
	FILE *f = fopen(LIST, "r");
	unsigned int lines = 0;
	int c;

	if (!f)
		die(LIST);
	while ((c = getc(f)) != EOF)
		lines += c == '\n';
	fclose(f);
	return lines;
}

static void check_list(const char *after)
{
	unsigned int want = base, got, i;

	if (shared)
		return;
	for (i = 0; i < NR_SLOTS; i++)
		want += slots[i].open;
	got = listed();
	if (got != want)
		wrong("%u kprobes after %s, wanted %u", got, after, want);
}

/* How many CPUs it was started on. They are the first ones. */
static unsigned int usable_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		die("sched_getaffinity");
	return CPU_COUNT(&set);
}

static void move_to(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
	this_cpu = cpu;
}

static void describe(const struct def *d, char *buf, size_t len)
{
	const char *name = (void *)(uintptr_t)d->attr.kprobe_func;

	snprintf(buf, len,
		 "fn %d name %s addr %#llx config %#llx size %u pid %d cpu %d group %d flags %#lx bits %#llx",
		 d->fn, d->attr.kprobe_func > (uintptr_t)0xfff &&
		 d->attr.kprobe_func < USER_END ? name : "?",
		 (unsigned long long)d->attr.config2, (unsigned long long)d->attr.config, d->size,
		 d->pid, d->cpu, d->group, d->flags, (unsigned long long)((uint64_t *)&d->attr)[5]);
}

static void check(struct slot *s)
{
	uint64_t values[8];
	char what[512];
	bool others = shared && s->def.pid < 0;

	if (read(s->fd, values, sizeof(values)) < (ssize_t)sizeof(values[0])) {
		wrong("cannot read a count: %s", strerror(errno));
		return;
	}
	read_counts++;
	if (s->count)
		calls_counted++;
	if (others ? values[0] >= s->count : values[0] == s->count)
		return;
	describe(&s->def, what, sizeof(what));
	wrong("%llu hits, wanted %llu: %s", (unsigned long long)values[0],
	      (unsigned long long)s->count, what);
	s->count = values[0];
}

/* An event counts only while the leader of its group does. */
static bool counts(const struct slot *s)
{
	return s->enabled && (s->def.leader < 0 || slots[s->def.leader].enabled);
}

/* @child: a child makes the calls. */
static void call(enum fn fn, unsigned int n, bool child)
{
	static const char *const names[] = { [ADD] = "add", [RECURSE] = "recurse" };
	unsigned int hits = fn == ADD ? n : n * (n + 1) / 2, i;
	char buf[32];
	int len = snprintf(buf, sizeof(buf), "%s %u", names[fn], n), status;
	pid_t pid = 0;

	if (child) {
		by_children++;
		/* The child's probes are made here, from what the pointers point to now. */
		pid = fork();
		if (pid < 0) {
			wrong("no child: %s", strerror(errno));
			return;
		}
	}
	if (!pid && write(call_fd, buf, len) != len) {
		if (child)
			_exit(1);
		die(CALL);
	}
	if (child && !pid)
		_exit(0);
	if (child && (waitpid(pid, &status, 0) != pid || status))
		die("the child");
	for (i = 0; i < NR_SLOTS; i++) {
		struct slot *s = &slots[i];

		if (!s->open || s->def.fn != fn || !counts(s) || s->def.attr.exclude_kernel)
			continue;
		if (s->def.cpu >= 0 && s->def.cpu != (int)this_cpu)
			continue;
		if (s->def.pid > 0 || (child && !s->def.pid && !s->def.attr.inherit))
			continue;
		if (child && !s->def.pid)
			inherited++;
		s->count += hits;
	}
}

static void call_some(void)
{
	enum fn fn = rnd(3) ? ADD : RECURSE;

	move_to(rnd(nr_cpus));
	call(fn, 1 + rnd(fn == ADD ? 20 : MAX_DEPTH), !rnd(6));
}

/* The members of a group go with its leader. */
static void close_slot(unsigned int i)
{
	unsigned int j;

	check(&slots[i]);
	for (j = 0; j < NR_SLOTS; j++) {
		if (slots[j].open && slots[j].def.leader == (int)i)
			close_slot(j);
	}
	close(slots[i].fd);
	slots[i].open = false;
}

static void switch_slot(struct slot *s)
{
	unsigned int i = rnd(3);

	if (!s->open)
		return;
	check(s);
	switched++;
	if (i == 0) {
		/* The counts of children stay. */
		if (s->def.attr.inherit)
			return;
		if (ioctl(s->fd, PERF_EVENT_IOC_RESET, 0))
			wrong("RESET: %s", strerror(errno));
		s->count = 0;
	} else {
		if (ioctl(s->fd, i == 1 ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0))
			wrong("ENABLE or DISABLE: %s", strerror(errno));
		s->enabled = i == 1;
	}
}

static void do_valid(void)
{
	unsigned int i = rnd(NR_SLOTS);
	struct slot *s = &slots[i];
	char what[512];

	if (s->open)
		close_slot(i);
	valid(&s->def);
	if (!rnd(3))
		join_group(&s->def);
	s->fd = open_def(&s->def);
	if (s->fd < 0) {
		int err = errno;

		describe(&s->def, what, sizeof(what));
		wrong("refused with %s: %s", strerrorname_np(err), what);
		return;
	}
	opened++;
	in_groups += s->def.leader >= 0;
	s->open = true;
	s->enabled = !s->def.attr.disabled;
	s->count = 0;
	check_list("opening one");
}

static bool allowed(const struct kind *kind, int err)
{
	return err && (err == kind->errors[0] || err == kind->errors[1]);
}

static void do_mistake(void)
{
	struct kind *kind = next_kind();
	char what[512];
	struct def d;
	int fd, err;

	valid(&d);
	kind->spoil(&d);
	kind->count++;
	fd = open_def(&d);
	err = fd < 0 ? errno : 0;
	if (!allowed(kind, err)) {
		describe(&d, what, sizeof(what));
		wrong("%s: %s, wanted %s: %s", kind->name,
		      err ? strerrorname_np(err) : "accepted", strerrorname_np(kind->errors[0]),
		      what);
	}
	if (fd >= 0)
		close(fd);
	check_list(kind->name);
}

/* Without privileges, a process may count what the setting allows, and set no kprobes. */
static void do_unprivileged(void)
{
	struct kind *kind = rnd(2) ? &kinds[rnd(ARRAY_SIZE(kinds))] : NULL;
	int status, err;
	struct def d;
	pid_t pid;

	valid(&d);
	if (kind)
		kind->spoil(&d);
	/* The setting is shared. */
	if (!shared)
		write_number(PARANOID, (int)rnd(4) - 1);
	unprivileged++;
	pid = fork();
	if (!pid) {
		if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) ||
		    setresuid(65534, 65534, 65534))
			_exit(255);
		_exit(open_def(&d) < 0 ? errno : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		die("a child without privileges");
	err = WEXITSTATUS(status);
	if (err != EACCES && err != EPERM && !(kind && allowed(kind, err)))
		wrong("a user without privileges: %s: %s", kind ? kind->name : "valid",
		      err ? strerrorname_np(err) ? strerrorname_np(err) : "?" : "accepted");
	check_list("a user without privileges");
}

/* The kernel tells the size that it knows, if that is not enough. */
static unsigned int size_of_kernel(void)
{
	struct perf_event_attr *attr = (void *)pages;

	attr->size = PAGE + 1;
	if (syscall(SYS_perf_event_open, attr, 0, -1, -1, 0) >= 0 || errno != E2BIG)
		die("the size of the attributes");
	if (attr->size < PERF_ATTR_SIZE_VER1 || attr->size > PAGE)
		die("the size that the kernel knows");
	return attr->size;
}

static int open_dummy(int group)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, group, 0);

	if (fd < 0)
		die("a dummy event");
	return fd;
}

int main(int argc, char **argv)
{
	unsigned int defs, i, none = 0, refused = 0;
	int paranoid;

	if (argc < 6 || argc > 7 || (argc == 7 && strcmp(argv[6], "shared"))) {
		fprintf(stderr, "perf_fuzz DEFS SEED ENTRY SITE AMBIGUOUS [shared]\n");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	defs = strtoul(argv[1], NULL, 0);
	seed = strtoul(argv[2], NULL, 0) * 0x9e3779b97f4a7c15ull + 1;
	entry = strtoull(argv[3], NULL, 16);
	site = strtoull(argv[4], NULL, 16);
	ambiguous = argv[5];
	shared = argc == 7;
	type = read_number(TYPE, "%u");
	retprobe = 1ull << read_number(RETPROBE, "config:%u");
	paranoid = read_number(PARANOID, "%d");
	nr_cpus = usable_cpus();
	memset(long_name, 'x', sizeof(long_name) - 1);
	pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || mprotect(pages + 2 * PAGE, PAGE, PROT_NONE))
		die("mmap");
	call_fd = open(CALL, O_WRONLY);
	if (call_fd < 0)
		die(CALL);
	kernel_size = size_of_kernel();
	dummy_fd = open_dummy(-1);
	sibling_fd = open_dummy(dummy_fd);
	base = listed();

	for (i = 0; i < defs && nr_wrong < 10; i++) {
		switch (rnd(20)) {
		case 0 ... 8:
			do_valid();
			break;
		case 9 ... 16:
			do_mistake();
			break;
		case 17 ... 18:
			do_unprivileged();
			break;
		case 19:
			switch_slot(&slots[rnd(NR_SLOTS)]);
			break;
		}
		if (rnd(2))
			call_some();
		if (!rnd(8) && slots[i % NR_SLOTS].open)
			check(&slots[i % NR_SLOTS]);
	}
	for (i = 0; i < NR_SLOTS; i++) {
		if (slots[i].open)
			close_slot(i);
	}
	check_list("all were closed");
	if (!shared)
		write_number(PARANOID, paranoid);

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		printf("kind %s %u\n", kinds[i].name, kinds[i].count);
		refused += kinds[i].count;
		none += !kinds[i].count;
	}
	printf("kinds %zu\nkinds_left_out %u\nopened %u\nrefused %u\nunprivileged %u\n",
	       ARRAY_SIZE(kinds), none, opened, refused, unprivileged);
	printf("counts_compared %u\ncounts_not_0 %u\nswitched %u\nin_groups %u\n", read_counts,
	       calls_counted, switched, in_groups);
	printf("calls_by_children %u\ninherited %u\nwrong_results %u\n", by_children, inherited,
	       nr_wrong);
	return 0;
}
