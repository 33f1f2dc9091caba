/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KPROBE_TORTURE_H
#define _KPROBE_TORTURE_H

/* What is called all the time; the first two are assembly. */
unsigned long torture_bytes_a(unsigned long x);
unsigned long torture_bytes_b(unsigned long x);
unsigned long torture_traced(unsigned long x);
unsigned long torture_plain(unsigned long x);

#endif
