/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KPROBE_OOPS_H
#define _KPROBE_OOPS_H

#include <linux/types.h>

/*
 * In assembly. The probe is on an instruction so short that the next one is displaced with
 * it, at oops_moved_at. That one reads *oops_moved_from, which is 0. In oops_first() the
 * probed one does, and RAX is 0: what a decoder that sees a breakpoint takes for the address.
 */
unsigned long oops_moved(unsigned long x);
unsigned long oops_first(unsigned long x);
extern const u32 oops_moved_at;
extern const u32 oops_first_at;
extern unsigned long *oops_moved_from;

#endif /* _KPROBE_OOPS_H */
