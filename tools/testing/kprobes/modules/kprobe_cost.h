/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KPROBE_COST_H
#define _KPROBE_COST_H

#include <linux/kprobes.h>

/*
 * Where in cost_body() the probes go: defined by the assembly there. A pointer,
 * as a label that the kernel knows as a symbol would cut the function in two.
 */
extern kprobe_opcode_t * const kprobe_cost_site;

#endif
