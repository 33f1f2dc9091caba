/* SPDX-License-Identifier: GPL-2.0-or-later */
/* KUnit support: what without.c has for the cases. */
#ifndef _LIB_TESTS_KPROBES_WITHOUT_H
#define _LIB_TESTS_KPROBES_WITHOUT_H

/* Returns the call that does not answer as it must, or NULL. */
const char *kpt_without_kprobes(void);

#endif /* _LIB_TESTS_KPROBES_WITHOUT_H */
