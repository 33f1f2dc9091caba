// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the rate of this machine's time stamp counter in kHz; guests under TCG read that
 * counter. The clock is read before and after the counter. A pair of reads with an
 * interruption between them is discarded.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void sample(long long *ns, unsigned long long *tsc)
{
	long long before, best = -1;
	int i;

	for (i = 0; i < 1000; i++) {
		unsigned long long count;
		long long after;

		before = now();
		count = __rdtsc();
		after = now();
		if (best < 0 || after - before < best) {
			best = after - before;
			*ns = before + best / 2;
			*tsc = count;
		}
	}
}

int main(void)
{
	unsigned long long tsc[2];
	long long ns[2];

	sample(&ns[0], &tsc[0]);
	usleep(100000);
	sample(&ns[1], &tsc[1]);
	printf("%.0f\n", (tsc[1] - tsc[0]) * 1e6 / (ns[1] - ns[0]));
	return 0;
}
