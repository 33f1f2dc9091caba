// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: resolving the target of a probe, and checking that it may be probed.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <kunit/visibility.h>
#include <linux/bug.h>
#include <linux/cleanup.h>
#include <linux/ctype.h>
#include <linux/elf.h>
#include <linux/err.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "internal.h"

/*
 * One errno can have many reasons. These functions log the actual one if dynamic debug
 * enables that: see "Errors" in Documentation/trace/kprobes.rst.
 */

/**
 * kprobe_refuse - report why an address gets no probe
 * @addr: the address
 * @err:  the error that the caller of the API gets
 * @why:  the reason
 *
 * Context: process context.
 * Return: @err.
 */
int kprobe_refuse(unsigned long addr, int err, const char *why)
{
	pr_debug("%pS: %pe: %s\n", (void *)addr, ERR_PTR(err), why);
	return err;
}

/**
 * kprobe_refuse_probe - report why a probe is refused, by what its user gave
 * @addr:   kprobe::addr
 * @symbol: kprobe::symbol_name
 * @offset: kprobe::offset
 * @err:    the error that the caller of the API gets
 * @why:    the reason
 *
 * Context: process context.
 * Return: @err.
 */
int kprobe_refuse_probe(const kprobe_opcode_t *addr, const char *symbol,
			unsigned long offset, int err, const char *why)
{
	if (!symbol)
		return kprobe_refuse((unsigned long)addr + offset, err, why);
	pr_debug("%s+%#lx: %pe: %s\n", symbol, offset, ERR_PTR(err), why);
	return err;
}

/**
 * kprobe_refuse_call - report an API call that passes no probes
 * @what:   the name of the operation
 * @probes: the array
 * @num:    number of its elements
 *
 * Context: process context.
 * Return: -EINVAL.
 */
int kprobe_refuse_call(const char *what, const void *probes, int num)
{
	if (probes)
		pr_debug("cannot %s %d probes\n", what, num);
	else
		pr_debug("cannot %s probes: the array is NULL\n", what);
	return -EINVAL;
}

/**
 * kprobe_refuse_batch - report which probe has made a batch fail
 * @i:	 its index
 * @num: number of probes in the batch
 * @err: the error that the caller of the API gets
 *
 * Context: process context.
 */
void kprobe_refuse_batch(int i, int num, int err)
{
	if (num > 1)
		pr_debug("%pe: batch of %d: because of index %d\n", ERR_PTR(err), num, i);
}

/**
 * kprobe_lookup_name - find the symbol that a probe names
 * @name:   of a symbol, or "module:symbol"
 * @offset: of the probe, from the symbol
 *
 * Architectures whose functions have more than one entry override this.
 *
 * Context: may sleep.
 * Return: the symbol's address, without @offset; NULL if there is none.
 */
kprobe_opcode_t *__weak kprobe_lookup_name(const char *name, unsigned int offset)
{
	return (kprobe_opcode_t *)kallsyms_lookup_name(name);
}

/*
 * Finds the address that can carry a probe, for instance after an instruction that
 * marks the entry, and whether that is the entry. Architectures may override this.
 */
kprobe_opcode_t *__weak arch_adjust_kprobe_addr(unsigned long addr,
						unsigned long offset,
						bool *on_func_entry)
{
	*on_func_entry = !offset;
	return (kprobe_opcode_t *)(addr + offset);
}

/**
 * kprobe_each_symbol - call a function for each symbol of the kernel, or of a module
 * @module: the module's name, or NULL for the kernel itself
 * @fn:	    the function; the walk ends if it returns anything but 0
 * @data:   its first argument
 *
 * With KALLSYMS_ALL, some of them are data.
 *
 * Context: may sleep.
 * Return: the last value that @fn returned.
 */
int kprobe_each_symbol(const char *module, int (*fn)(void *, const char *, unsigned long),
		       void *data)
{
	if (module)
		return module_kallsyms_on_each_symbol(module, fn, data);
	return kallsyms_on_each_symbol(fn, data);
}

/**
 * kprobe_array_more - make room for one more element at the end of an array
 * @array: the array, or NULL; kvfree() frees it
 * @nr:    the number of its elements
 * @room:  the number of elements it has room for; updated
 * @size:  the size of an element
 *
 * Context: may sleep.
 * Return: the array, which may have moved; or NULL, and then the old array is unchanged.
 */
void *kprobe_array_more(void *array, unsigned int nr, unsigned int *room, size_t size)
{
	unsigned int more = max(2 * nr, 64U);
	void *new;

	if (nr < *room)
		return array;
	new = kvmalloc_array(more, size, GFP_KERNEL);
	if (!new)
		return NULL;
	if (nr)
		memcpy(new, array, nr * size);
	kvfree(array);
	*room = more;
	return new;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_array_more);

/**
 * kprobe_resolve - find the address to probe
 * @addr:   kprobe::addr
 * @symbol: kprobe::symbol_name
 * @offset: kprobe::offset
 * @target: set to the address that can carry the probe
 * @entry:  set to whether it is the entry of a function, or the first byte of a cold part
 *
 * kprobe_is_func_entry() tells the two apart. It needs the name of the symbol, which most
 * callers can do without.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if neither or both of @addr and @symbol are given, or no probe can be
 * there; -ENOENT if there is no such symbol, or none covers the address.
 */
int kprobe_resolve(kprobe_opcode_t *addr, const char *symbol,
		   unsigned long offset, unsigned long *target, bool *entry)
{
	unsigned long into, size;
	const char *colon;

	if (!addr && !symbol)
		return kprobe_refuse(0, -EINVAL, "neither a symbol nor an address is given");
	if (addr && symbol)
		return kprobe_refuse_probe(addr, symbol, offset, -EINVAL,
					   "a symbol and an address are given");
	if (symbol) {
		/* The symbols of a module include some without a name. */
		colon = strchr(symbol, ':');
		addr = colon && !colon[1] ? NULL : kprobe_lookup_name(symbol, offset);
		if (!addr)
			return kprobe_refuse_probe(addr, symbol, offset, -ENOENT,
						   "no such symbol");
	}
	*target = (unsigned long)addr + offset;
	/* On 32 bits, a negative offset would lead to text before the address. */
	if (*target < offset || !kallsyms_lookup_size_offset(*target, &size, &into))
		return kprobe_refuse_probe(addr, symbol, offset, -ENOENT,
					   "no symbol covers the address");
	if (kprobe_is_prefix(*target - into, size))
		return kprobe_refuse(*target, -EINVAL, "padding before a function");
	*target = (unsigned long)arch_adjust_kprobe_addr(*target - into, into, entry);
	if (!*target)
		return kprobe_refuse_probe(addr, symbol, offset, -EINVAL,
					   "the architecture has no place for it");
	return 0;
}

/**
 * kprobe_cold_base - find the function that a cold part belongs to
 * @symbol: a symbol
 *
 * Compilers move code that hardly ever runs out of a function. They name it like the
 * function, with ".cold" after it; GCC 8 adds a number.
 *
 * Context: any.
 * Return: the length of the function's name in @symbol; 0 if this is no cold part.
 */
size_t kprobe_cold_base(const char *symbol)
{
	const char *dot = strstr(symbol, ".cold");

	return dot && (!dot[5] || (dot[5] == '.' && isdigit(dot[6]))) ? dot - symbol : 0;
}

/**
 * kprobe_is_func_entry - test if a target that was resolved is the entry of a function
 * @target: its address, from kprobe_resolve()
 * @entry:  what kprobe_resolve() has set
 *
 * A cold part has a symbol of its own, but the function branches to it with its frame on
 * the stack. So there is neither a return address where it begins, nor are there arguments.
 *
 * Context: may sleep.
 * Return: true if it is.
 */
bool kprobe_is_func_entry(unsigned long target, bool entry)
{
	char name[KSYM_NAME_LEN];

	return entry && (lookup_symbol_name(target, name) || !kprobe_cold_base(name));
}

/**
 * kprobe_on_func_entry - test if a target is the entry of a function
 * @addr:   its address, or NULL
 * @sym:    its symbol, or NULL
 * @offset: from either
 *
 * Context: may sleep.
 * Return: 0 if it is; -EINVAL if not, or if both or neither are given;
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
	return kprobe_is_func_entry(target, entry) ? 0 : -EINVAL;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_on_func_entry);

/*
 * The exception handler recognises a trap of BUG() or WARN() by its address.
 * Architectures that refuse the instruction anyway need no search.
 */
static bool site_is_trap(unsigned long addr)
{
	return !IS_ENABLED(CONFIG_ARCH_HAS_KPROBE_TRAP_REFUSAL) && find_bug(addr);
}

#ifdef CONFIG_MODULES
static int site_hold_module(unsigned long addr, struct module **mod)
{
	scoped_guard(preempt) {
		*mod = __module_text_address(addr);
		if (!*mod)
			return kprobe_refuse(addr, -EINVAL, "no kernel text");
		/* Its notifiers may have run for the last time. */
		if (!kprobe_module_seen(*mod) || !try_module_get(*mod)) {
			*mod = NULL;
			return kprobe_refuse(addr, -ENOENT,
					     "its module is being loaded or unloaded");
		}
	}
	/* Init text may be probed only while it cannot be freed. */
	if (within_module_init(addr, *mod) && (*mod)->state != MODULE_STATE_COMING) {
		module_put(*mod);
		*mod = NULL;
		return kprobe_refuse(addr, -EINVAL, "init text that is about to be freed");
	}
	return 0;
}
#else
static int site_hold_module(unsigned long addr, struct module **mod)
{
	return kprobe_refuse(addr, -EINVAL, "no kernel text");
}
#endif

/*
 * Is the address in a section of a live patch whose relocations are applied when the
 * patched module is loaded, and undone when it is unloaded? The copy of an instruction
 * would keep the old value. An ftrace site has neither a copy nor relocations.
 */
static bool site_is_relocated(unsigned long addr, const struct module *mod)
{
#ifdef CONFIG_LIVEPATCH
	const struct klp_modinfo *info;
	const Elf_Shdr *sec, *to;
	unsigned int i;

	if (!mod || !mod->klp)
		return false;
	if (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) && ftrace_location(addr) == addr)
		return false;
	/*
	 * klp_info is set after the notifiers are called. The init function then applies the
	 * relocations for modules that are already loaded.
	 */
	if (READ_ONCE(mod->state) != MODULE_STATE_LIVE)
		return true;
	info = mod->klp_info;
	for (i = 1; i < info->hdr.e_shnum; i++) {
		sec = &info->sechdrs[i];
		if (!(sec->sh_flags & SHF_RELA_LIVEPATCH))
			continue;
		/* Those for the kernel image were applied before the module ran. */
		if (str_has_prefix(info->secstrings + sec->sh_name, ".klp.rela.vmlinux."))
			continue;
		to = &info->sechdrs[sec->sh_info];
		if (addr - to->sh_addr < to->sh_size)
			return true;
	}
#endif
	return false;
}

/* arm64 looks as far back in a check of its own. No sequence is known to be longer. */
#define SITE_LINKED_MAX		128

/*
 * A hit clears the link that a load has set, so the conditional store fails. A probe between
 * the two would make it fail each time, and the loop around them would never end. Probes are
 * refused from the load to the store; this searches backwards for the nearer of the two. If
 * a load has no store, as in __cmpwait() of riscv, some places after it are refused
 * needlessly. A breakpoint or jump in the text looks like neither.
 */
static bool site_is_linked(unsigned long addr)
{
#ifdef __ARCH_KPROBE_LINK_STEP
	unsigned long at;
	u32 insn;

	for (at = addr; addr - at <= SITE_LINKED_MAX; at -= __ARCH_KPROBE_LINK_STEP) {
		if (copy_from_kernel_nofault(&insn, (void *)at, sizeof(insn)))
			return false;
		if (arch_kprobe_insn_links(insn))
			return true;
		if (arch_kprobe_insn_needs_link(insn))
			return at == addr;
	}
#endif
	return false;
}

/**
 * kprobe_check_site - test if an address may be probed
 * @addr: the address
 * @mod:  set to the module that holds it, or NULL
 *
 * The caller must call module_put(*mod) once the point is in the table: from then on the
 * module notifier takes care of the point.
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0 if it may; -EINVAL if not; -ENOENT if the module is being unloaded, or its
 * notifiers have not been called yet.
 */
int kprobe_check_site(unsigned long addr, struct module **mod)
{
	const char *why;
	int ret;

	kprobe_assert_held(&kprobe_mutex);

	*mod = NULL;
	if (!core_kernel_text(addr) || kprobe_init_text_gone(addr)) {
		ret = site_hold_module(addr, mod);
		if (ret)
			return ret;
	}
	if (within_kprobe_blacklist(addr))
		why = "it is on the blacklist";
	else if (kprobe_text_reserved(addr, addr))
		why = "other code patches it: a jump label or a static call";
	else if (site_is_relocated(addr, *mod))
		why = "a live patch may relocate it later";
	else if (site_is_trap(addr))
		why = "the trap of a BUG() or WARN()";
	else if (site_is_linked(addr))
		why = "a conditional store would fail each time";
	else
		return 0;

	module_put(*mod);
	*mod = NULL;
	return kprobe_refuse(addr, -EINVAL, why);
}
