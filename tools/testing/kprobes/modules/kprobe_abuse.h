/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KPROBE_ABUSE_H
#define _KPROBE_ABUSE_H

/* What is probed; the first two are assembly. */
unsigned long abuse_bytes_a(unsigned long x);
unsigned long abuse_bytes_b(unsigned long x);
unsigned long abuse_traced(unsigned long x);
unsigned long abuse_plain(unsigned long x);
unsigned long abuse_jprobed(unsigned long x);
unsigned long abuse_from_handlers(unsigned long x);
int abuse_patched(int x);

#endif
