/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Annotations for code that must not be probed.
 *
 * Any header may include this: nothing here needs a type. The linker scripts and modpost
 * know the two section names, see KPROBES_TEXT and KPROBE_BLACKLIST in
 * asm-generic/vmlinux.lds.h.
 */
#ifndef _ASM_GENERIC_KPROBES_H
#define _ASM_GENERIC_KPROBES_H

#if !defined(__ASSEMBLY__) && defined(__KERNEL__)

#ifdef CONFIG_KPROBES

/* Puts a function into a text section that must not be probed. */
# define __kprobes		__section(".kprobes.text")

/* Always inlined, so that it cannot be probed if its caller cannot. */
# define nokprobe_inline	__always_inline

/*
 * Adds a function to the blacklist, and leaves it in its section. This stores the address
 * of the function; kallsyms knows its size. Not all users end it with a semicolon.
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
