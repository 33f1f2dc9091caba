// SPDX-License-Identifier: GPL-2.0
/*
 * Sets kprobes by perf_event_open(), one file descriptor each, as tracers do, and
 * closes them again:
 *
 *	perf_probes N <LINES
 *
 * with N or more lines of "symbol offset": some of these may be refused. Prints the times of
 * setting N and of closing them.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	int want = argc == 2 ? atoi(argv[1]) : 0, n = 0, type;
	struct perf_event_attr attr;
	struct rlimit files;
	char symbol[256];
	unsigned long offset;
	double began;
	FILE *f;
	int *fds;

	f = fopen("/sys/bus/event_source/devices/kprobe/type", "r");
	if (!f || fscanf(f, "%d", &type) != 1 || want <= 0) {
		fprintf(stderr, "perf_probes: no kprobes of perf here, or no number given\n");
		return 1;
	}
	fclose(f);
	files.rlim_cur = want + 100;
	files.rlim_max = want + 100;
	fds = calloc(want, sizeof(*fds));
	if (!fds || setrlimit(RLIMIT_NOFILE, &files)) {
		perror("perf_probes");
		return 1;
	}

	began = now();
	while (n < want && scanf("%255s %lu", symbol, &offset) == 2) {
		memset(&attr, 0, sizeof(attr));
		attr.size = sizeof(attr);
		attr.type = type;
		attr.kprobe_func = (uintptr_t)symbol;
		attr.probe_offset = offset;
		fds[n] = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
		if (fds[n] >= 0)
			n++;
	}
	printf("set %d %.3f\n", n, now() - began);
	began = now();
	while (n)
		close(fds[--n]);
	printf("closed %.3f\n", now() - began);
	return 0;
}
