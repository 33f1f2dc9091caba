/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KPROBE_OOPS_H
#define _KPROBE_OOPS_H

#include <linux/types.h>

/*
 * In assembly. The probe is on an instruction so short that a jump also displaces the next
 * one, at oops_moved_at, which reads *oops_moved_from; its value is 0. In oops_first() the
 * probed instruction reads it. On 64 bits RAX is 0 there: a decoder that finds a breakpoint
 * instead of the instruction takes RAX for the address. On 32 bits no decoder looks at it.
 */
unsigned long oops_moved(unsigned long x);
unsigned long oops_first(unsigned long x);
extern const u32 oops_moved_at;
extern const u32 oops_first_at;
extern unsigned long *oops_moved_from;

#endif /* _KPROBE_OOPS_H */
