/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KPROBE_TOGGLE_H
#define _KPROBE_TOGGLE_H

#include <linux/types.h>

#define NR_LANES	12
#define MAX_PLACES	5

/*
 * A function that is called, and the places in it for probes, from its start.
 * These and their table are in assembly in kprobe_toggle.c.
 */
struct lane_text {
	unsigned long (*fn)(unsigned long x);
	u32 place[MAX_PLACES + 1];
};

extern const struct lane_text toggle_lanes[NR_LANES];

/* What the lanes use. */
unsigned long toggle_leaf(unsigned long x);
extern const unsigned long toggle_three;

#endif
