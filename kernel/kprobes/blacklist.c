// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: functions that may not be probed.
 *
 * A function is on the blacklist because of NOKPROBE_SYMBOL(), because of its section,
 * because this file refuses its name, or because the architecture says so. Compilers split
 * functions: if "f" may not be probed, then "f.cold" and "f.part.0" may not either. They
 * also merge identical functions: the result has the names of all of them, and the pieces
 * of one. And a static function that the architecture names may exist only as
 * "f.constprop.0", or several times. So building the list takes three walks over the
 * symbols: one for the functions that are refused by name, one for all names of the
 * refused functions, and one for their pieces.
 *
 * The list is a sorted array of ranges. It is built at boot, and replaced as a whole
 * when a module with entries of its own is loaded or unloaded, which is rare. Readers
 * take no lock: one of them is the debugger.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <kunit/visibility.h>
#include <linux/bsearch.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/static_call_types.h>

#include <asm/sections.h>

#include "internal.h"

struct kprobe_blacklist __rcu *kprobe_blacklist;

/* The list that is being built; under kprobe_mutex. */
static struct {
	struct kprobe_refused *range;
	unsigned int nr;
	unsigned int room;
} draft;

/* The longest padding before a function, in bytes. */
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

	kprobe_assert_held(&kprobe_mutex);
	range = kprobe_array_more(draft.range, draft.nr, &draft.room, sizeof(*range));
	if (!range)
		return -ENOMEM;
	draft.range = range;
	range[draft.nr++] = (struct kprobe_refused){
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
 * The padding before the function is refused as well. For
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
 * For arch_populate_kprobe_blacklist().
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

int __weak __init arch_populate_kprobe_blacklist(void)
{
	return 0;
}

bool __weak arch_within_kprobe_blacklist(unsigned long addr)
{
	return false;
}

/*
 * Hashes of function names up to the first dot: the compiler adds what comes after it.
 * With 64 bits, two names do not have the same hash by accident.
 */
struct name_set {
	u64 *hash;
	unsigned int nr;
	unsigned int room;
};

/* The functions that are refused by name; empty after boot, unless suites ask for them. */
static struct name_set named;

static u64 blacklist_name_hash(const char *name)
{
	static const siphash_key_t key;

	/* Where there are function descriptors, the symbol of the code begins with a dot. */
	if (*name == '.')
		name++;
	return siphash(name, strcspn(name, "."), &key);
}

static bool blacklist_is_piece(const char *name)
{
	return *name && strchr(name + 1, '.');
}

static int blacklist_hash_cmp(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int name_set_add(struct name_set *set, u64 hash)
{
	u64 *more = kprobe_array_more(set->hash, set->nr, &set->room, sizeof(*more));

	if (!more)
		return -ENOMEM;
	set->hash = more;
	more[set->nr++] = hash;
	return 0;
}

static void name_set_sort(struct name_set *set)
{
	sort(set->hash, set->nr, sizeof(*set->hash), blacklist_hash_cmp, NULL);
}

static bool name_set_has(const struct name_set *set, u64 hash)
{
	return bsearch(&hash, set->hash, set->nr, sizeof(hash), blacklist_hash_cmp);
}

static void name_set_free(struct name_set *set)
{
	kvfree(set->hash);
	memset(set, 0, sizeof(*set));
}

/**
 * kprobe_add_name_blacklist - refuse functions of the kernel by name
 * @name: the name, without suffixes from the compiler
 *
 * All functions of that name are refused, with all their pieces and clones. There may be
 * none. For arch_populate_kprobe_blacklist().
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0, or -ENOMEM.
 */
int __init kprobe_add_name_blacklist(const char *name)
{
	kprobe_assert_held(&kprobe_mutex);
	return name_set_add(&named, blacklist_name_hash(name));
}

/*
 * ftrace calls tracers from this code. Functions on the hit path may be traced, so a
 * hit here could lead back here before it is recognised as recursion. Labels in this
 * code are separate symbols; the list has those of all architectures. Where hits have a
 * context of their own, nothing is traced before they are recognised, and the
 * architecture refuses what else it must.
 */
static int __init blacklist_refuse_ftrace_callers(void)
{
	static const char *const callers[] __initconst = {
		"ftrace_caller", "ftrace_call", "ftrace_regs_caller", "ftrace_regs_call",
#ifndef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
		"ftrace_common", "ftrace_common_return", "ftrace_no_trace", "ftrace_stub",
		"ftrace_stub_graph", "ftrace_stub_direct_tramp", "ftrace_caller_direct",
		"ftrace_caller_direct_late", "ftrace_graph_call", "ftrace_graph_regs_call",
		"ftrace_graph_caller", "ftrace_graph_regs_caller", "ftrace_graph_stub",
		"return_to_handler", "livepatch_handler", "ftrace_tramp_text", "ftrace_tramp_init",
		"ftrace_function_trampoline", "_mcount", "__gnu_mcount_nc", "mcount",
		"mcount_call", "skip_trace", "skip_ftrace", "fgraph_trace",
#endif
	};
	unsigned int i;
	int ret = 0;

	for (i = 0; IS_ENABLED(CONFIG_FUNCTION_TRACER) && !ret && i < ARRAY_SIZE(callers); i++)
		ret = kprobe_add_name_blacklist(callers[i]);
	return ret;
}

/*
 * Detours of architectures with struct optimized_kprobe are copies of a template. A
 * breakpoint in the template would be copied along, to an address without a point. On
 * powerpc the copies lie in the kernel's own text.
 */
static int __init blacklist_refuse_detours(void)
{
#ifdef CONFIG_KPROBE_OPTINSN
	int ret = kprobe_add_area_blacklist((unsigned long)optprobe_template_entry,
					    (unsigned long)optprobe_template_end);

	return ret ? : kprobe_add_name_blacklist("optinsn_slot");
#else
	return 0;
#endif
}

/*
 * Instrumented code calls KCSAN and KMSAN at memory accesses, KCOV at branches, and the
 * branch profiler at each likely(). Some of it runs on the hit path, and would hit a probe
 * in these functions again. KASAN checks accesses by calls, too: in the exception handlers
 * of architectures other than x86, and on x86 in what tracers of latencies do when an NMI
 * begins or ends, if checks are not inlined.
 */
static const struct instrumentation {
	bool on;
	const char *prefix;
	const char *name;
} instrumentation[] = {
	{ IS_ENABLED(CONFIG_KCOV), .prefix = "__sanitizer_cov_" },
	{ IS_ENABLED(CONFIG_TRACE_BRANCH_PROFILING), .name = "ftrace_likely_update" },
	{ IS_ENABLED(CONFIG_TRACE_BRANCH_PROFILING), .name = "trace_likely_condition" },
	{ IS_ENABLED(CONFIG_KMSAN), .prefix = "__msan_" },
	{ IS_ENABLED(CONFIG_KMSAN), .prefix = "kmsan_" },
	/* Each breakpoint asks where the metadata of its registers are. */
	{ IS_ENABLED(CONFIG_KMSAN), .name = "vmalloc_meta" },
	{ IS_ENABLED(CONFIG_KMSAN), .name = "virt_to_page_or_null" },
	{ IS_ENABLED(CONFIG_KMSAN), .name = "page_has_metadata" },
	{ IS_ENABLED(CONFIG_KMSAN), .name = "shadow_ptr_for" },
	{ IS_ENABLED(CONFIG_KMSAN), .name = "origin_ptr_for" },
	{ IS_ENABLED(CONFIG_KMSAN), .name = "set_no_shadow_origin_page" },
	{ IS_ENABLED(CONFIG_KMSAN), .name = "pfn_valid" },
	{ IS_ENABLED(CONFIG_KASAN), .prefix = "__asan_" },
	{ IS_ENABLED(CONFIG_KASAN), .prefix = "__hwasan_" },
	{ IS_ENABLED(CONFIG_KASAN), .prefix = "kasan_" },
	{ IS_ENABLED(CONFIG_KASAN), .prefix = "__kasan_" },
	{ IS_ENABLED(CONFIG_KCSAN), .prefix = "__tsan_" },
	{ IS_ENABLED(CONFIG_KCSAN), .prefix = "kcsan_" },
	{ IS_ENABLED(CONFIG_KCSAN), .prefix = "__kcsan_" },
};

/* Is it a function of instrumentation that this kernel has or, with @in_any, that any has? */
static bool blacklist_is_instrumentation(const char *name, bool in_any)
{
	const struct instrumentation *i;

	for (i = instrumentation; i < instrumentation + ARRAY_SIZE(instrumentation); i++) {
		if (!i->on && !in_any)
			continue;
		if (i->name ? !strcmp(name, i->name) : str_has_prefix(name, i->prefix))
			return true;
	}
	return false;
}

/*
 * Where objtool does not list the sites of static calls, they go through trampolines. These
 * are rewritten, and some end with the address to jump to.
 */
#define STATIC_CALLS_BY_TRAMPOLINE	(IS_ENABLED(CONFIG_HAVE_STATIC_CALL) && \
					 !IS_ENABLED(CONFIG_HAVE_STATIC_CALL_INLINE))

static bool blacklist_is_static_call(const char *name)
{
	return STATIC_CALLS_BY_TRAMPOLINE &&
	       str_has_prefix(name, STATIC_CALL_TRAMP_PREFIX_STR);
}

/* With KALLSYMS_ALL, data has symbols, too. */
static int blacklist_refuse_text(unsigned long addr)
{
	int ret = kernel_text_address(addr) ? kprobe_add_ksym_blacklist(addr) : 0;

	return ret == -ENOMEM ? ret : 0;
}

static int __init blacklist_refuse_named(void *unused, const char *name, unsigned long addr)
{
	if (!name_set_has(&named, blacklist_name_hash(name)) &&
	    !blacklist_is_instrumentation(name, false) && !blacklist_is_static_call(name))
		return 0;
	return blacklist_refuse_text(addr);
}

/* The names of the functions in the draft, from entry @first on. */
struct draft_names {
	struct name_set set;
	unsigned int first;
};

static int draft_entry_cmp(const void *a, const void *b)
{
	const struct kprobe_refused *x = a, *y = b;

	if (x->start + x->prefix != y->start + y->prefix)
		return x->start + x->prefix < y->start + y->prefix ? -1 : 1;
	return 0;
}

static int blacklist_note_name(void *data, const char *name, unsigned long addr)
{
	struct kprobe_refused entry = { .start = addr };
	struct draft_names *names = data;

	if (!bsearch(&entry, draft.range + names->first, draft.nr - names->first,
		     sizeof(entry), draft_entry_cmp))
		return 0;
	return name_set_add(&names->set, blacklist_name_hash(name));
}

static int blacklist_refuse_piece(void *data, const char *name, unsigned long addr)
{
	struct draft_names *names = data;

	if (!blacklist_is_piece(name) ||
	    !name_set_has(&names->set, blacklist_name_hash(name)))
		return 0;
	return blacklist_refuse_text(addr);
}

/* Adds the pieces of the functions in the draft, from entry @first on. */
static int blacklist_refuse_pieces(const char *modname, unsigned int first)
{
	struct draft_names names = { .first = first };
	int ret;

	sort(draft.range + first, draft.nr - first, sizeof(*draft.range), draft_entry_cmp, NULL);
	ret = kprobe_each_symbol(modname, blacklist_note_name, &names);
	if (!ret) {
		name_set_sort(&names.set);
		ret = kprobe_each_symbol(modname, blacklist_refuse_piece, &names);
	}
	name_set_free(&names.set);
	return ret;
}

/**
 * kprobe_blacklist_init - build the list at boot
 *
 * Context: may sleep.
 * Return: 0; or -ENOMEM, in which case nothing can be probed.
 */
int __init kprobe_blacklist_init(void)
{
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
	if (!ret) {
		name_set_sort(&named);
		ret = kallsyms_on_each_symbol(blacklist_refuse_named, NULL);
	}
	if (!ret)
		ret = blacklist_refuse_pieces(NULL, 0);
	if (!ret)
		ret = blacklist_draft_publish();
fail:
	/* Suites look up the names that their kernel lacks. */
	if (!IS_ENABLED(CONFIG_KUNIT))
		name_set_free(&named);
	if (ret)
		blacklist_draft_discard();
	return ret;
}

#if IS_ENABLED(CONFIG_KUNIT)
/**
 * kprobe_test_refused_by_name - would the functions of that name be refused?
 * @name:   the name, without suffixes from the compiler
 * @in_any: in a kernel of this architecture with whatever options; otherwise in this one
 *
 * Context: any.
 * Return: true if functions of that name, or of a name that begins like it, are refused.
 */
bool kprobe_test_refused_by_name(const char *name, bool in_any)
{
	return name_set_has(&named, blacklist_name_hash(name)) ||
	       blacklist_is_instrumentation(name, in_any);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_refused_by_name);
#endif

#ifdef CONFIG_MODULES
static int blacklist_refuse_static_call(void *unused, const char *name, unsigned long addr)
{
	return blacklist_is_static_call(name) ? blacklist_refuse_text(addr) : 0;
}

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
 * kprobe_blacklist_add_module - add the functions that a module refuses
 * @mod: a module that is being loaded
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0, or -ENOMEM with the list unchanged.
 */
int kprobe_blacklist_add_module(struct module *mod)
{
	unsigned long text = (unsigned long)mod->kprobes_text_start;
	unsigned int i, first;
	int ret;

	kprobe_assert_held(&kprobe_mutex);

	if (!mod->num_kprobe_blacklist && !mod->kprobes_text_size &&
	    !mod->noinstr_text_size && !STATIC_CALLS_BY_TRAMPOLINE)
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
	if (!ret && STATIC_CALLS_BY_TRAMPOLINE)
		ret = kprobe_each_symbol(mod->name, blacklist_refuse_static_call, NULL);
	if (!ret)
		ret = blacklist_refuse_pieces(mod->name, first);
	if (!ret)
		ret = blacklist_draft_publish();
	if (ret)
		blacklist_draft_discard();
	return ret;
}

/**
 * kprobe_blacklist_drop - remove the entries of text that is freed
 * @start: its first byte
 * @end:   one past its last
 *
 * This cannot fail.
 *
 * Context: kprobe_mutex held; may sleep.
 */
void kprobe_blacklist_drop(unsigned long start, unsigned long end)
{
	struct kprobe_blacklist *bl;
	bool any = false;
	unsigned int i;

	kprobe_assert_held(&kprobe_mutex);
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
	/* Before the list is built no probe can be set, but a debugger may ask. */
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
