// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: functions that may not be probed.
 *
 * A function is on the blacklist because of NOKPROBE_SYMBOL(), because of its section,
 * or because the architecture says so. Compilers split functions: if "f" may not be
 * probed, then "f.cold" and "f.part.0" may not either. These pieces are looked up once,
 * when the list is made.
 *
 * The list is a sorted array of ranges. It is made at boot, and replaced as a whole
 * when a module with its own entries is loaded or unloaded, which is rare. Readers,
 * such as a debugger, take no lock.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/bsearch.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/stringhash.h>

#include <asm/sections.h>

#include "internal.h"

struct kprobe_blacklist __rcu *kprobe_blacklist;

/* The list that is being built. */
static struct {
	struct kprobe_refused *range;
	unsigned int nr;
	unsigned int room;
} draft;

/* The most padding before a function. */
#define PREFIX_MAX	64

/**
 * kprobe_is_prefix - test if a symbol is the padding before a function
 * @start: address of the symbol
 * @size:  size of the symbol
 *
 * Padding has its own symbol, and may be executed: x86 counts calls there. kCFI
 * keeps the hash of the function's type there, in the form of an instruction.
 *
 * Context: any.
 * Return: true if it is.
 */
bool kprobe_is_prefix(unsigned long start, unsigned long size)
{
	char name[KSYM_NAME_LEN];

	/* Few functions are that short, so few names are looked up. */
	if (size > PREFIX_MAX || lookup_symbol_name(start, name))
		return false;
	return str_has_prefix(name, "__pfx_") || str_has_prefix(name, "__cfi_");
}

static int blacklist_draft_add(unsigned long start, unsigned long end, unsigned int prefix)
{
	struct kprobe_refused *range;
	unsigned int room;

	if (draft.nr == draft.room) {
		room = max(2 * draft.room, 64U);
		range = kvmalloc_array(room, sizeof(*range), GFP_KERNEL);
		if (!range)
			return -ENOMEM;
		if (draft.nr)
			memcpy(range, draft.range, draft.nr * sizeof(*range));
		kvfree(draft.range);
		draft.range = range;
		draft.room = room;
	}
	draft.range[draft.nr++] = (struct kprobe_refused){
		.start = start - prefix,
		.end = end,
		.prefix = prefix,
	};
	return 0;
}

static void blacklist_draft_discard(void)
{
	kvfree(draft.range);
	memset(&draft, 0, sizeof(draft));
}

static int blacklist_cmp(const void *a, const void *b)
{
	const struct kprobe_refused *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* A function sorts before the padding at its beginning. */
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return 0;
}

/* Sorts the draft, merges ranges that overlap, and makes the result the list. */
static int blacklist_draft_publish(void)
{
	struct kprobe_blacklist *new, *old;
	struct kprobe_refused *last = NULL;
	unsigned int i;

	new = kvzalloc(struct_size(new, range, draft.nr), GFP_KERNEL);
	if (!new)
		return -ENOMEM;

	sort(draft.range, draft.nr, sizeof(*draft.range), blacklist_cmp, NULL);
	for (i = 0; i < draft.nr; i++) {
		if (last && draft.range[i].start < last->end) {
			last->end = max(last->end, draft.range[i].end);
			continue;
		}
		last = &new->range[new->nr++];
		*last = draft.range[i];
	}

	old = rcu_replace_pointer(kprobe_blacklist, new,
				  lockdep_is_held(&kprobe_mutex));
	if (old)
		kvfree_rcu(old, rcu);
	blacklist_draft_discard();
	return 0;
}

/**
 * kprobe_add_ksym_blacklist - refuse a function
 * @entry: any address in it
 *
 * The padding before the function is refused, too. This is for
 * arch_populate_kprobe_blacklist().
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: bytes from @entry to the end of the function, or a negative errno:
 * -EINVAL if no symbol covers the address, -ENOMEM.
 */
int kprobe_add_ksym_blacklist(unsigned long entry)
{
	unsigned long size, offset, start, prefix;
	int ret;

	if (!kallsyms_lookup_size_offset(entry, &size, &offset) || !size)
		return -EINVAL;
	start = entry - offset;
	if (!kallsyms_lookup_size_offset(start - 1, &prefix, NULL) ||
	    !kprobe_is_prefix(start - prefix, prefix))
		prefix = 0;
	ret = blacklist_draft_add(start, start + size, prefix);
	return ret ? : (int)(size - offset);
}

/**
 * kprobe_add_area_blacklist - refuse every function in a range of text
 * @start: first byte
 * @end:   one past the last
 *
 * This is for arch_populate_kprobe_blacklist().
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0, or -ENOMEM.
 */
int kprobe_add_area_blacklist(unsigned long start, unsigned long end)
{
	unsigned long addr;
	int ret;

	for (addr = start; addr < end; addr += ret) {
		ret = kprobe_add_ksym_blacklist(addr);
		if (ret == -EINVAL)
			ret = 1;	/* padding before the first symbol */
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int __init blacklist_refuse_symbol(const char *name)
{
	kprobe_opcode_t *addr = kprobe_lookup_name(name, 0);
	int ret = addr ? kprobe_add_ksym_blacklist((unsigned long)addr) : 0;

	return ret == -ENOMEM ? ret : 0;
}

/*
 * ftrace calls tracers from here. Functions on the path of a hit may be traced, so a
 * hit here could lead here again, before it is recognised as recursion. Labels in this
 * code are separate symbols.
 */
static int __init blacklist_refuse_ftrace_callers(void)
{
	static const char *const callers[] __initconst = {
		"ftrace_caller", "ftrace_call", "ftrace_regs_caller", "ftrace_regs_call",
	};
	unsigned int i;
	int ret = 0;

	for (i = 0; IS_ENABLED(CONFIG_DYNAMIC_FTRACE) && !ret && i < ARRAY_SIZE(callers); i++)
		ret = blacklist_refuse_symbol(callers[i]);
	return ret;
}

/*
 * Detours of architectures with struct optimized_kprobe are copies of a template. A
 * breakpoint in the template would be copied, too, to where there is no point. On
 * powerpc the copies lie in the kernel's own text.
 */
static int __init blacklist_refuse_detours(void)
{
#ifdef CONFIG_KPROBE_OPTINSN
	int ret = kprobe_add_area_blacklist((unsigned long)optprobe_template_entry,
					    (unsigned long)optprobe_template_end);

	return ret ? : blacklist_refuse_symbol("optinsn_slot");
#else
	return 0;
#endif
}

int __weak __init arch_populate_kprobe_blacklist(void)
{
	return 0;
}

bool __weak arch_within_kprobe_blacklist(unsigned long addr)
{
	return false;
}

/* Hashes of the names of refused functions, to find their pieces. */
struct name_set {
	u32 *hash;
	unsigned int nr;
};

/* Where function pointers point to descriptors, the symbol of the code has a leading dot. */
static const char *blacklist_bare_name(const char *name)
{
	return *name == '.' ? name + 1 : name;
}

static u32 blacklist_name_hash(const char *name, size_t len)
{
	return full_name_hash(NULL, name, len);
}

static int blacklist_hash_cmp(const void *a, const void *b)
{
	const u32 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * If another name has the same hash, one function too many is refused. This happens in
 * one of several thousand kernels.
 */
static int blacklist_refuse_piece(void *data, const char *name, unsigned long addr)
{
	struct name_set *set = data;
	const char *dot;
	int ret;
	u32 h;

	name = blacklist_bare_name(name);
	dot = strchr(name, '.');
	if (!dot || dot == name)
		return 0;
	h = blacklist_name_hash(name, dot - name);
	if (!bsearch(&h, set->hash, set->nr, sizeof(h), blacklist_hash_cmp))
		return 0;
	ret = kprobe_add_ksym_blacklist(addr);
	return ret == -ENOMEM ? ret : 0;
}

static int blacklist_hash_names(struct name_set *set, unsigned int first)
{
	char symbol[KSYM_NAME_LEN];
	const char *name;
	unsigned int i;

	set->nr = 0;
	set->hash = kvmalloc_array(draft.nr - first, sizeof(u32), GFP_KERNEL);
	if (!set->hash)
		return -ENOMEM;
	for (i = first; i < draft.nr; i++) {
		if (lookup_symbol_name(draft.range[i].start + draft.range[i].prefix, symbol))
			continue;
		name = blacklist_bare_name(symbol);
		set->hash[set->nr++] = blacklist_name_hash(name, strcspn(name, "."));
	}
	sort(set->hash, set->nr, sizeof(u32), blacklist_hash_cmp, NULL);
	return 0;
}

/**
 * kprobe_blacklist_init - build the list at boot
 *
 * Context: may sleep.
 * Return: 0; or -ENOMEM, in which case nothing can be probed.
 */
int __init kprobe_blacklist_init(void)
{
	struct name_set set;
	unsigned long *iter;
	int ret;

	guard(mutex)(&kprobe_mutex);

	for (iter = __start_kprobe_blacklist; iter < __stop_kprobe_blacklist; iter++) {
		unsigned long entry;

		entry = (unsigned long)dereference_symbol_descriptor((void *)*iter);
		ret = kprobe_add_ksym_blacklist(entry);
		if (ret == -ENOMEM)
			goto fail;
		if (ret < 0)
			pr_warn("cannot blacklist %pS: it has no symbol\n", (void *)entry);
	}
	ret = kprobe_add_area_blacklist((unsigned long)__kprobes_text_start,
					(unsigned long)__kprobes_text_end);
	if (!ret)
		ret = kprobe_add_area_blacklist((unsigned long)__noinstr_text_start,
						(unsigned long)__noinstr_text_end);
	if (!ret)
		ret = blacklist_refuse_ftrace_callers();
	if (!ret)
		ret = blacklist_refuse_detours();
	if (!ret)
		ret = arch_populate_kprobe_blacklist();
	if (!ret)
		ret = blacklist_hash_names(&set, 0);
	if (ret)
		goto fail;

	ret = kallsyms_on_each_symbol(blacklist_refuse_piece, &set);
	kvfree(set.hash);
	if (!ret)
		ret = blacklist_draft_publish();
	if (!ret)
		return 0;
fail:
	blacklist_draft_discard();
	return ret;
}

#ifdef CONFIG_MODULES
/* Starts a draft with the entries of the list, except those in [start, end). */
static int blacklist_draft_begin(unsigned long start, unsigned long end)
{
	struct kprobe_blacklist *bl;
	unsigned int i;
	int ret;

	bl = rcu_dereference_protected(kprobe_blacklist,
				       lockdep_is_held(&kprobe_mutex));
	for (i = 0; bl && i < bl->nr; i++) {
		if (bl->range[i].start >= start && bl->range[i].start < end)
			continue;
		ret = blacklist_draft_add(bl->range[i].start + bl->range[i].prefix,
					  bl->range[i].end, bl->range[i].prefix);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * kprobe_blacklist_add_module - add the functions that a module marks
 * @mod: a module that is being loaded
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0, or -ENOMEM with the list unchanged.
 */
int kprobe_blacklist_add_module(struct module *mod)
{
	unsigned long text = (unsigned long)mod->kprobes_text_start;
	struct name_set set = { };
	unsigned int i, first;
	int ret;

	lockdep_assert_held(&kprobe_mutex);

	if (!mod->num_kprobe_blacklist && !mod->kprobes_text_size &&
	    !mod->noinstr_text_size)
		return 0;

	ret = blacklist_draft_begin(0, 0);
	first = draft.nr;
	for (i = 0; !ret && i < mod->num_kprobe_blacklist; i++) {
		void *entry = (void *)mod->kprobe_blacklist[i];

		entry = dereference_symbol_descriptor(entry);
		if (kprobe_add_ksym_blacklist((unsigned long)entry) == -ENOMEM)
			ret = -ENOMEM;
	}
	if (!ret && text)
		ret = kprobe_add_area_blacklist(text, text + mod->kprobes_text_size);
	text = (unsigned long)mod->noinstr_text_start;
	if (!ret && text)
		ret = kprobe_add_area_blacklist(text, text + mod->noinstr_text_size);
	if (!ret)
		ret = blacklist_hash_names(&set, first);
	if (!ret)
		ret = module_kallsyms_on_each_symbol(mod->name, blacklist_refuse_piece, &set);
	kvfree(set.hash);
	if (!ret)
		ret = blacklist_draft_publish();
	if (ret)
		blacklist_draft_discard();
	return ret;
}

/* Removes the entries in [start, end) from the list. This cannot fail. */
static void blacklist_drop(unsigned long start, unsigned long end)
{
	struct kprobe_blacklist *bl;
	bool any = false;
	unsigned int i;

	bl = rcu_dereference_protected(kprobe_blacklist,
				       lockdep_is_held(&kprobe_mutex));
	for (i = 0; bl && i < bl->nr && !any; i++)
		any = bl->range[i].start >= start && bl->range[i].start < end;
	if (!any)
		return;

	if (!blacklist_draft_begin(start, end) && !blacklist_draft_publish())
		return;

	/* No memory for a shorter list: empty the entries in place. */
	blacklist_draft_discard();
	for (i = 0; i < bl->nr; i++) {
		if (bl->range[i].start >= start && bl->range[i].start < end)
			WRITE_ONCE(bl->range[i].end, bl->range[i].start);
	}
}

/**
 * kprobe_blacklist_del_module - remove the functions of a module
 * @mod:   the module
 * @going: it is being unloaded; otherwise only its init text is about to be freed
 *
 * Context: kprobe_mutex held; may sleep.
 */
void kprobe_blacklist_del_module(struct module *mod, bool going)
{
	lockdep_assert_held(&kprobe_mutex);

	for_class_mod_mem_type(type, text) {
		struct module_memory *mem = &mod->mem[type];

		if (mem->size && (going || type == MOD_INIT_TEXT))
			blacklist_drop((unsigned long)mem->base,
				       (unsigned long)mem->base + mem->size);
	}
}
#endif /* CONFIG_MODULES */

/**
 * within_kprobe_blacklist - test if an address may not be probed
 * @addr: any address
 *
 * Context: any.
 * Return: true if it lies in a function on the blacklist.
 */
bool within_kprobe_blacklist(unsigned long addr)
{
	const struct kprobe_blacklist *bl;
	unsigned int lo = 0, hi, mid;

	if (arch_within_kprobe_blacklist(addr))
		return true;

	guard(rcu)();
	bl = rcu_dereference(kprobe_blacklist);
	/* Until it is made, no probe can be set. A debugger may ask earlier. */
	if (!bl)
		return false;

	/* The last range that starts at or before the address. */
	hi = bl->nr;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (bl->range[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < READ_ONCE(bl->range[lo - 1].end);
}
