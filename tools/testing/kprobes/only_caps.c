// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a command as root with no more capabilities than these:
 *
 *	only_caps "NUMBER..." COMMAND [ARGUMENT...]
 *
 * or opens a kprobe by perf_event_open(), and prints "opened" or the error:
 *
 *	only_caps "NUMBER..." perf SYMBOL
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fail(const char *what)
{
	fprintf(stderr, "only_caps: %s: %s\n", what, strerror(errno));
	return 1;
}

static uint64_t numbers(char *text)
{
	uint64_t set = 0;
	char *word;

	for (word = strtok(text, " "); word; word = strtok(NULL, " "))
		set |= 1ull << atoi(word);
	return set;
}

/* A program that root starts gets all of the bounding set. */
static int drop(uint64_t keep)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = keep, .permitted = keep },
		{ .effective = keep >> 32, .permitted = keep >> 32 },
	};
	int cap, is_in;

	for (cap = 0; (is_in = prctl(PR_CAPBSET_READ, cap)) >= 0; cap++) {
		if (is_in && !(keep >> cap & 1) && prctl(PR_CAPBSET_DROP, cap))
			return -1;
	}
	return syscall(SYS_capset, &header, data);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr;
	unsigned int type = 0;
	FILE *f;

	if (argc < 3) {
		fprintf(stderr, "usage: only_caps \"NUMBER...\" COMMAND [ARGUMENT...]\n");
		return 2;
	}
	f = fopen("/sys/bus/event_source/devices/kprobe/type", "r");
	if (f && fscanf(f, "%u", &type) != 1)
		type = 0;
	if (drop(numbers(argv[1])))
		return fail("capabilities");
	if (strcmp(argv[2], "perf")) {
		execvp(argv[2], argv + 2);
		return fail(argv[2]);
	}
	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = type;
	attr.kprobe_func = (uintptr_t)argv[3];
	puts(syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0) < 0 ? strerror(errno) : "opened");
	return 0;
}
