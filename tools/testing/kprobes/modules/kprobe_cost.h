/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KPROBE_COST_H
#define _KPROBE_COST_H

#include <linux/kprobes.h>

/*
 * The places in cost_body() and cost_branch() for probes, which the assembly there
 * defines. These are pointers: a label there would be a symbol, which would split the
 * function.
 */
extern kprobe_opcode_t * const kprobe_cost_site;
extern kprobe_opcode_t * const kprobe_cost_branch;

#endif
