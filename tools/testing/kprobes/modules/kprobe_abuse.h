/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KPROBE_ABUSE_H
#define _KPROBE_ABUSE_H

/* Must not be probed. */
int abuse_patched(int x);

#endif
