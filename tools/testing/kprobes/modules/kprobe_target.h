/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KPROBE_TARGET_H
#define _KPROBE_TARGET_H

int kprobe_target_add(int a, int b);
int kprobe_target_recurse(int depth, int sum);
int kprobe_target_hidden(int a, int b);
int kprobe_target_branch(int a, int b);
int kprobe_target_near(int a, int b);
int kprobe_target_leave(int a, int b);
int kprobe_target_dump(int a, int b);
int kprobe_target_static(int a, int b);
int kprobe_target_untraced(int a, int b);

#endif
