/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KPROBE_ABUSE_H
#define _KPROBE_ABUSE_H

/* What may not be probed. */
int abuse_patched(int x);

#endif
