/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marks for code that must never carry a probe point.
 *
 * Light enough to be included from everywhere: nothing here needs a type.
 * Linkers and modpost know the two section names, see KPROBES_TEXT and
 * KPROBE_BLACKLIST in asm-generic/vmlinux.lds.h.
 */
#ifndef _ASM_GENERIC_KPROBES_H
#define _ASM_GENERIC_KPROBES_H

#if !defined(__ASSEMBLY__) && defined(__KERNEL__)

#ifdef CONFIG_KPROBES

/* Puts a function into the text section that is out of bounds as a whole. */
# define __kprobes		__section(".kprobes.text")

/* Inlined for sure, so that it is as unprobeable as the function around it. */
# define nokprobe_inline	__always_inline

/*
 * Enters a function that stays in its own section into the blacklist. What is
 * stored is the function's address; its size comes from kallsyms. Half of the
 * users end it with a semicolon, half do not.
 */
# define NOKPROBE_SYMBOL(fn)						\
	static const unsigned long __used				\
	__section("_kprobe_blacklist")					\
	__kprobes_refuse_##fn = (unsigned long)(fn);

#else /* !CONFIG_KPROBES */

# define __kprobes
# define nokprobe_inline	inline
# define NOKPROBE_SYMBOL(fn)

#endif /* CONFIG_KPROBES */

#endif /* !__ASSEMBLY__ && __KERNEL__ */
#endif /* _ASM_GENERIC_KPROBES_H */
