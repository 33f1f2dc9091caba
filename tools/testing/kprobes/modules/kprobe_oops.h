/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KPROBE_OOPS_H
#define _KPROBE_OOPS_H

/* What is probed. */
unsigned long oops_traced(unsigned long x);
unsigned long oops_plain(unsigned long x);

#endif
