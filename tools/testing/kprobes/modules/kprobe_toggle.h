/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KPROBE_TOGGLE_H
#define _KPROBE_TOGGLE_H

#include <linux/types.h>

#define NR_LANES	12
#define MAX_PLACES	5

/*
 * A function, and the offsets of the places in it for probes. The assembly in
 * kprobe_toggle.c defines the functions and their table.
 */
struct lane_text {
	unsigned long (*fn)(unsigned long x);
	u32 place[MAX_PLACES + 1];
};

extern const struct lane_text toggle_lanes[NR_LANES];

/* The lanes use these. */
extern const unsigned long toggle_three;

#endif
