/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KPROBE_COST_H
#define _KPROBE_COST_H

#include <linux/kprobes.h>

/*
 * The place in cost_body() for probes, which the assembly there defines. This is a
 * pointer: a label there would be a symbol, which would split the function.
 */
extern kprobe_opcode_t * const kprobe_cost_site;

#endif
