// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: where a probe may sit, from what its user says.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/bug.h>
#include <linux/cleanup.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/module.h>

#include "internal.h"

/**
 * kprobe_lookup_name - find what a probe is to sit on, by name
 * @name:   of a symbol, or "module:symbol"
 * @offset: from the symbol
 *
 * Architectures whose functions have more than one entry have their own.
 *
 * Context: may sleep.
 * Return: the symbol's address, without @offset; NULL if there is none.
 */
kprobe_opcode_t *__weak kprobe_lookup_name(const char *name, unsigned int offset)
{
	return (kprobe_opcode_t *)kallsyms_lookup_name(name);
}

/*
 * Turns a place in a function into the one that can carry a probe, say after an
 * instruction that marks the entry, and tells whether that is the entry.
 */
kprobe_opcode_t *__weak arch_adjust_kprobe_addr(unsigned long addr,
						unsigned long offset,
						bool *on_func_entry)
{
	*on_func_entry = !offset;
	return (kprobe_opcode_t *)(addr + offset);
}

/**
 * kprobe_resolve - from what the user gave to what will be probed
 * @addr:   kprobe::addr
 * @symbol: kprobe::symbol_name
 * @offset: kprobe::offset
 * @target: set to the address that can carry the probe
 * @entry:  set to whether it is the entry of a function
 *
 * Context: may sleep.
 * Return: 0; -EINVAL; -ENOENT if no symbol is there.
 */
int kprobe_resolve(kprobe_opcode_t *addr, const char *symbol,
		   unsigned long offset, unsigned long *target, bool *entry)
{
	unsigned long into, size;

	if (!addr == !symbol)
		return -EINVAL;
	if (symbol) {
		addr = kprobe_lookup_name(symbol, offset);
		if (!addr)
			return -ENOENT;
	}
	*target = (unsigned long)addr + offset;
	if (!kallsyms_lookup_size_offset(*target, &size, &into))
		return -ENOENT;
	if (kprobe_is_prefix(*target - into, size))
		return -EINVAL;
	*target = (unsigned long)arch_adjust_kprobe_addr(*target - into, into, entry);
	return *target ? 0 : -EINVAL;
}

/**
 * kprobe_on_func_entry - does a target lie on the entry of a function?
 * @addr:   by address, or NULL
 * @sym:    by name, or NULL
 * @offset: from either
 *
 * Context: may sleep.
 * Return: 0 if it does; -EINVAL if not, or if both or neither are given;
 * -ENOENT if no symbol is there.
 */
int kprobe_on_func_entry(kprobe_opcode_t *addr, const char *sym,
			 unsigned long offset)
{
	unsigned long target;
	bool entry;
	int ret;

	ret = kprobe_resolve(addr, sym, offset, &target, &entry);
	if (ret)
		return ret;
	return entry ? 0 : -EINVAL;
}

/*
 * A trap of BUG() or WARN(), by whose address it is known. Where architectures
 * trap by an instruction that they refuse anyway, nobody needs to search.
 */
static bool is_known_trap(unsigned long addr)
{
	return !IS_ENABLED(CONFIG_ARCH_HAS_KPROBE_TRAP_REFUSAL) && find_bug(addr);
}

#ifdef CONFIG_MODULES
static int hold_module(unsigned long addr, struct module **mod)
{
	scoped_guard(preempt) {
		*mod = __module_text_address(addr);
		if (!*mod)
			return -EINVAL;
		if (!try_module_get(*mod)) {
			*mod = NULL;
			return -ENOENT;
		}
	}
	/* Init text is a target only while it is sure to be there. */
	if (within_module_init(addr, *mod) && (*mod)->state != MODULE_STATE_COMING) {
		module_put(*mod);
		*mod = NULL;
		return -EINVAL;
	}
	return 0;
}
#else
static int hold_module(unsigned long addr, struct module **mod)
{
	return -EINVAL;
}
#endif

/**
 * kprobe_check_site - is the address text that we may probe?
 * @addr: the address
 * @mod:  set to the module that it is in, or NULL
 *
 * A module is held until module_put(*mod), that is until the points are in the
 * table: from then on the module notifier takes care of them.
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0; -EINVAL if not; -ENOENT if the module is going.
 */
int kprobe_check_site(unsigned long addr, struct module **mod)
{
	int ret;

	lockdep_assert_held(&kprobe_mutex);

	*mod = NULL;
	if (!core_kernel_text(addr)) {
		ret = hold_module(addr, mod);
		if (ret)
			return ret;
	}
	if (!within_kprobe_blacklist(addr) && !kprobe_text_reserved(addr, addr) &&
	    !is_known_trap(addr))
		return 0;

	module_put(*mod);
	*mod = NULL;
	return -EINVAL;
}
