// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes on x86: may the bytes after a point become part of a jump?
 *
 * A jump takes five bytes, so it may replace more than the probed instruction.
 * It may do so if
 *
 *  - each of those instructions can run elsewhere;
 *  - all of them but the first are reached only from the instruction before: not by a
 *    branch, a fix-up of the exception tables, or a return from a call;
 *  - a task that sleeps voluntarily is never right before any of them but the first.
 *    They do not sleep themselves. But an instruction that the exception tables know
 *    may fault and sleep, and a call sleeps with its return address on the stack,
 *    which must be after the jump;
 *  - no other code patches them or depends on their address.
 *
 * So all branches of the function are examined. If the instruction is as long as the
 * jump, it is the only one replaced. Only hand-written code branches into the middle of
 * an instruction, past a prefix. So it may be replaced where not all branches can be
 * found, but not where one is.
 *
 * Which code may branch into a function? The function itself; its cold part, which the
 * compiler has moved to function.cold, a name that a module may have lost: see
 * reach_is_nameless(); and neighbours in assembly that share code. Those are
 * recognised by symbols that do not begin where functions do, and by code that runs
 * into the next function. Indirect branches are harmless with retpolines or IBT: the
 * kernel is then compiled without jump tables (arch/x86/Makefile), so a branch through
 * a register leaves its function. With neither, functions with such a branch get no
 * jumps.
 *
 * There is more assembly on 32 bits, and it is older. Some of it computes a branch
 * into its own unrolled loop: see reach_names(). Labels are aligned like functions
 * there, so neighbours are not recognised: see reach_scan_neighbours().
 *
 * Whatever the kernel is compiled with, code may take the addresses of its own labels,
 * and branch to them through a register. That looks like a tail call: see
 * reach_takes_labels().
 */
#include <kunit/visibility.h>
#include <linux/array_size.h>
#include <linux/bitmap.h>
#include <linux/bsearch.h>
#include <linux/cleanup.h>
#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/stringhash.h>
#include <linux/uaccess.h>

#include <asm/extable.h>
#include <asm/nospec-branch.h>
#include <asm/text-patching.h>

#include "detour.h"

/* --------------------------- The function ------------------------------- */

/*
 * What is known about a function. The points of a batch come in order of address,
 * so a function is examined once for all of its points.
 */
static struct {
	unsigned long start;	/* of the function, or 0 */
	unsigned long end;
	unsigned long named;	/* its end, as its symbol has it */
	unsigned long *targets;	/* a bit for each byte that is branched to */
	bool odd;		/* it may change what compiled code relies on: reach_is_odd() */
	bool falls;		/* it runs into the next function */
	int why;		/* no jump in this function, for this reason */
	unsigned long into;	/* second byte of a jump: look for a branch there; or 0 */
	unsigned long branch;	/* such a branch, if found */
} function;

static void reach_forget_function(void)
{
	bitmap_free(function.targets);
	function.targets = NULL;
	function.start = 0;
}

/*
 * After a VEX or EVEX prefix, opcodes have other meanings, none of which matters here. Nor
 * does ADD, which is returned for them.
 */
static u8 reach_opcode(struct insn *insn)
{
	return insn_is_avx(insn) ? 0x00 : insn->opcode.bytes[0];
}

/* The target of a direct branch, or 0. */
static unsigned long reach_branch_target(struct insn *insn, unsigned long addr)
{
	u8 op = reach_opcode(insn);

	switch (op) {
	case 0x0f:
		if ((insn->opcode.bytes[1] & 0xf0) != 0x80 || insn->opcode.nbytes != 2)
			return 0;
		break;
	case 0xc7:	/* XBEGIN, to its abort handler */
		if (insn->modrm.value != 0xf8)
			return 0;
		break;
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
	case 0xe8: case 0xe9: case 0xeb:
		break;
	default:
		return 0;
	}
	return addr + insn->length + insn->immediate.value;
}

static bool reach_is_indirect_jump(struct insn *insn)
{
	return reach_opcode(insn) == 0xff &&
	       (X86_MODRM_REG(insn->modrm.value) & 6) == 4;
}

/*
 * With kCFI, the kernel clears the hash in the 16 bytes before a function that nothing calls
 * through a pointer (poison_cfi()): the second to the fifth byte, or with FineIBT the eighth to
 * the eleventh. Before assembly there is no hash, but padding: what is left of its NOPs decodes
 * as something else, or not at all. If all bytes are those of NOPs, it was padding, and no
 * branch is among them.
 */
static bool reach_is_poison(unsigned long at, unsigned long end)
{
	static const u8 of_nops[] = {
		0x00, 0x0f, 0x1f, 0x2e, 0x40, 0x44, 0x66, 0x80, 0x84, 0x90
	};
	u8 buf[15 + MAX_INSN_SIZE], last = 0;
	unsigned int i, left = end - at;

	if (!IS_ENABLED(CONFIG_CFI_CLANG) || end - at > sizeof(buf) ||
	    copy_from_kernel_nofault(buf, (void *)at, left))
		return false;
	for (i = 0; i < left; last = buf[i++])
		/* With 0x0f before them, some would be conditional branches. */
		if (!memchr(of_nops, buf[i], sizeof(of_nops)) || (last == 0x0f && buf[i] & 0x80))
			return false;
	return (left >= 15 && !memchr_inv(buf + left - 15, 0, sizeof(u32))) ||
	       (left >= 9 && !memchr_inv(buf + left - 9, 0, sizeof(u32)));
}

/* May it be the last instruction before the next function? */
static bool reach_is_last(struct insn *insn)
{
	switch (reach_opcode(insn)) {
	case 0x0f:	/* UD2, UD1 */
		return insn->opcode.bytes[1] == 0x0b || insn->opcode.bytes[1] == 0xb9;
	case 0xc2: case 0xc3: case INT3_INSN_OPCODE:
	case 0xe8: case 0xe9: case 0xeb:
		return true;
	}
	return reach_is_indirect_jump(insn);
}

/*
 * Does it change what compiled code relies on: the direction flag, or, on 32 bits,
 * segment registers? 64 bits have no segments that matter. A far call is one of the BIOS,
 * which may return with the direction flag set.
 */
static bool reach_is_odd(struct insn *insn)
{
	switch (reach_opcode(insn)) {
	case 0x9d:	/* POPF */
	case 0xfd:	/* STD */
		return true;
	case 0x07:	/* POP ES */
	case 0x1f:	/* POP DS */
	case 0x8e:	/* MOV to a segment register */
	case 0x9a:	/* far CALL */
	case 0xc4:	/* LES */
	case 0xc5:	/* LDS */
		return !IS_ENABLED(CONFIG_X86_64);
	case 0xff:	/* far CALL through memory */
		return !IS_ENABLED(CONFIG_X86_64) && X86_MODRM_REG(insn->modrm.value) == 3;
	case 0x0f:	/* POP FS, LFS */
		return !IS_ENABLED(CONFIG_X86_64) &&
		       (insn->opcode.bytes[1] == 0xa1 || insn->opcode.bytes[1] == 0xb4);
	}
	return false;
}

/*
 * Does it hold an address between these two? 32-bit assembly computes jumps into
 * unrolled loops from such an address (csum_partial). 64-bit assembly takes it from a
 * table: see reach_takes_labels().
 */
static bool reach_names(struct insn *insn, unsigned long start, unsigned long end)
{
	if (IS_ENABLED(CONFIG_X86_64))
		return false;
	return (insn->displacement.nbytes == 4 &&
		insn->displacement.value - start - 1 < end - start - 1) ||
	       (insn->immediate.nbytes == 4 &&
		insn->immediate.value - start - 1 < end - start - 1);
}

/* Does a branch there continue at the address in a register? */
static bool reach_is_thunk(unsigned long target)
{
#ifdef CONFIG_MITIGATION_RETPOLINE
	const retpoline_thunk_t *thunk = __x86_indirect_thunk_array;

	return target >= (unsigned long)thunk && target < (unsigned long)(thunk + 8);
#else
	return false;
#endif
}

static unsigned long reach_fixup(const struct exception_table_entry *e)
{
	return (unsigned long)&e->fixup + e->fixup;
}

/*
 * A module may be stripped of local symbols, and those of cold parts are local. Then only
 * what leads to the cold part shows that there is one: a branch, a jump label or a fix-up. It
 * leads to text of a module, into the middle of what looks like another function.
 */
static bool reach_is_nameless(unsigned long target)
{
	unsigned long size, offset;
	char name[KSYM_NAME_LEN];
	const char *symbol;

	if (core_kernel_text(function.start) || !is_module_text_address(target))
		return false;
	symbol = kallsyms_lookup(target, &size, &offset, NULL, name);
	if (symbol && (!offset || kprobe_cold_base(symbol)))
		return false;
	symbol = kallsyms_lookup(function.start, &size, &offset, NULL, name);
	return !symbol || !kprobe_cold_base(symbol);
}

/*
 * A cold part without a name may lie between two symbols. kallsyms takes it for a part of the
 * symbol before it, but the size of that symbol says where its function ends. Code after that
 * belongs to another function, which is not known. Assembly may give no size.
 */
static unsigned long reach_named_end(unsigned long start, unsigned long end)
{
#ifdef CONFIG_MODULES
	struct mod_kallsyms *symbols;
	unsigned long size = 0;
	struct module *mod;
	unsigned int i;

	guard(preempt)();
	guard(rcu)();
	mod = __module_text_address(start);
	if (!mod)
		return end;
	symbols = rcu_dereference(mod->kallsyms);
	for (i = 1; i < symbols->num_symtab; i++) {
		const Elf_Sym *symbol = &symbols->symtab[i];

		if (kallsyms_symbol_value(symbol) == start)
			size = max_t(unsigned long, size, symbol->st_size);
	}
	if (size)
		return start + size;
#endif
	return end;
}

#ifdef CONFIG_MODULES
static unsigned long reach_fault(const struct exception_table_entry *e)
{
	return (unsigned long)&e->insn + e->insn;
}

/* Execution may get from @at, in the function, to a part of it that has no name. */
static bool reach_leads_to_nameless(unsigned long at, unsigned long to)
{
	unsigned long size = function.end - function.start;

	return at - function.start < size && to - function.start >= size &&
	       reach_is_nameless(to);
}

static bool reach_fixups_lead_to_nameless(struct module *mod)
{
	const struct exception_table_entry *e = mod->extable;
	bool ret = false;

	kprobe_lock_modules();
	for (; e < mod->extable + mod->num_exentries; e++)
		ret |= reach_leads_to_nameless(reach_fault(e), reach_fixup(e));
	kprobe_unlock_modules();
	return ret;
}

static bool reach_labels_lead_to_nameless(struct module *mod)
{
	bool ret = false;
#ifdef CONFIG_JUMP_LABEL
	struct jump_entry *e = mod->jump_entries;

	jump_label_lock();
	for (; e < mod->jump_entries + mod->num_jump_entries; e++)
		ret |= reach_leads_to_nameless(jump_entry_code(e), jump_entry_target(e));
	jump_label_unlock();
#endif
	return ret;
}

/* The branch of a jump label that is off does not show in the text, a fix-up never does. */
static int reach_scan_tables(void)
{
	struct module *mod;

	scoped_guard(preempt)
		mod = __module_text_address(function.start);
	if (mod && (reach_fixups_lead_to_nameless(mod) || reach_labels_lead_to_nameless(mod)))
		return KPROBE_WHY_SHARED;
	return 0;
}
#else
static int reach_scan_tables(void)
{
	return 0;
}
#endif

/* Note the bytes of the function that code in [start, end) branches to. */
static int reach_scan(unsigned long start, unsigned long end)
{
	bool tables = !IS_ENABLED(CONFIG_MITIGATION_RETPOLINE) &&
		      !IS_ENABLED(CONFIG_X86_KERNEL_IBT);
	bool inside = tables, indirect = false, nameless = false;
	struct x86_text text = { };
	unsigned long at, target;
	struct insn insn;
	int ret;

	/* A site that is being patched would mislead the decoder. */
	guard(mutex)(&text_mutex);
	for (at = start; at < end && !reach_is_poison(at, end); at += insn.length) {
		ret = x86_text_insn(&text, &insn, at);
		if (ret)
			return ret == -EBUSY ? ret : KPROBE_WHY_UNKNOWN;
		/* The last function of a module is followed by zeros, up to the end of the page. */
		if (start == function.start && at < function.named &&
		    !x86_is_padding(&insn, at + insn.length == end))
			function.falls = !reach_is_last(&insn);
		function.odd |= reach_is_odd(&insn);
		inside |= reach_names(&insn, function.start, function.end);
		target = reach_branch_target(&insn, at);
		indirect |= reach_is_indirect_jump(&insn) ||
			    (insn.opcode.bytes[0] != CALL_INSN_OPCODE &&
			     reach_is_thunk(target));
		if (start == function.start && target - start >= end - start &&
		    target && insn.opcode.bytes[0] != CALL_INSN_OPCODE)
			nameless |= reach_is_nameless(target);
		if (target - function.start < function.end - function.start)
			__set_bit(target - function.start, function.targets);
		if (function.into && target - function.into < JMP32_INSN_SIZE - 1)
			function.branch = at;
	}
	if (nameless)
		return KPROBE_WHY_SHARED;
	return inside && indirect ? KPROBE_WHY_INDIRECT : 0;
}

static int reach_scan_symbol(unsigned long addr)
{
	unsigned long size, offset;

	/* Something else has replaced that text by now. */
	if (system_state >= SYSTEM_FREEING_INITMEM && is_kernel_inittext(addr))
		return 0;
	if (!kallsyms_lookup_size_offset(addr, &size, &offset) || offset)
		return 0;
	return reach_scan(addr, addr + size);
}

/*
 * A function and its cold part branch into each other. GCC names the part like the function,
 * with ".cold" after it; GCC 8 adds a number. GCC also merges identical functions, so a
 * function may have several names, and kallsyms_lookup() returns only one of them. And
 * different functions may have the same name. So all symbols are walked twice: first for the
 * cold parts, then for the functions that they may belong to. A wrong pair costs at most a
 * jump.
 */
struct reach_parts {
	const char *module;	/* or NULL for the kernel itself */
	bool known;
	struct reach_cold {
		unsigned long addr;
		unsigned int hash;	/* of the function's name */
	} *cold;
	unsigned int nr_cold;
	unsigned int room_cold;
	struct reach_pair {
		unsigned long function;
		unsigned long cold;
	} *pair;
	unsigned int nr_pairs;
	unsigned int room_pairs;
};

/* The first is kept for good, the second for a batch. */
static struct reach_parts kernel_parts, module_parts;

static int reach_cold_cmp(const void *a, const void *b)
{
	const struct reach_cold *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static int reach_note_cold(void *data, const char *symbol, unsigned long addr)
{
	struct reach_parts *parts = data;
	size_t len = kprobe_cold_base(symbol);
	struct reach_cold *cold;

	if (!len)
		return 0;
	cold = kprobe_array_more(parts->cold, parts->nr_cold, &parts->room_cold, sizeof(*cold));
	if (!cold)
		return -ENOMEM;
	parts->cold = cold;
	cold[parts->nr_cold++] = (struct reach_cold){
		.addr = addr,
		.hash = full_name_hash(NULL, symbol, len),
	};
	return 0;
}

static int reach_note_function(void *data, const char *symbol, unsigned long addr)
{
	struct reach_cold key = { .hash = full_name_hash(NULL, symbol, strlen(symbol)) };
	struct reach_parts *parts = data;
	struct reach_cold *cold;
	struct reach_pair *pair;

	cold = bsearch(&key, parts->cold, parts->nr_cold, sizeof(key), reach_cold_cmp);
	/* With KALLSYMS_ALL, data has symbols, too. */
	if (!cold || !kernel_text_address(addr))
		return 0;
	while (cold > parts->cold && cold[-1].hash == key.hash)
		cold--;
	for (; cold < parts->cold + parts->nr_cold && cold->hash == key.hash; cold++) {
		pair = kprobe_array_more(parts->pair, parts->nr_pairs, &parts->room_pairs,
					 sizeof(*pair));
		if (!pair)
			return -ENOMEM;
		parts->pair = pair;
		pair[parts->nr_pairs++] = (struct reach_pair){
			.function = addr,
			.cold = cold->addr,
		};
	}
	return 0;
}

static void reach_forget_parts(struct reach_parts *parts)
{
	kvfree(parts->cold);
	kvfree(parts->pair);
	memset(parts, 0, sizeof(*parts));
}

static int reach_find_parts(struct reach_parts *parts, const char *module)
{
	int ret;

	if (parts->known && parts->module == module)
		return 0;
	reach_forget_parts(parts);
	ret = kprobe_each_symbol(module, reach_note_cold, parts);
	if (!ret && parts->nr_cold) {
		sort(parts->cold, parts->nr_cold, sizeof(*parts->cold), reach_cold_cmp, NULL);
		ret = kprobe_each_symbol(module, reach_note_function, parts);
	}
	if (ret) {
		reach_forget_parts(parts);
		return ret;
	}
	kvfree(parts->cold);
	parts->cold = NULL;
	parts->module = module;
	parts->known = true;
	return 0;
}

/**
 * x86_reach_batch - begin or end a batch of plans: forget what may change
 *
 * Context: kprobe_mutex held.
 */
void x86_reach_batch(void)
{
	kprobe_assert_held(&kprobe_mutex);
	reach_forget_function();
	reach_forget_parts(&module_parts);
}

static int reach_scan_parts(const char *module)
{
	struct reach_parts *parts = module ? &module_parts : &kernel_parts;
	struct reach_pair *pair;
	int ret;

	ret = reach_find_parts(parts, module);
	for (pair = parts->pair; !ret && pair < parts->pair + parts->nr_pairs; pair++) {
		if (pair->function == function.start)
			ret = reach_scan_symbol(pair->cold);
		else if (pair->cold == function.start)
			ret = reach_scan_symbol(pair->function);
	}
	return ret;
}

/*
 * Is it a function that takes the addresses of its labels, or a part of one? There are
 * few: the interpreter of BPF; a checksum that branches into its unrolled loop; and a
 * test that overwrites a return address with that of a label.
 */
static bool reach_takes_labels(const char *symbol)
{
	static const char *const names[] = {
		"___bpf_prog_run", "crc_pcl", "lkdtm_CFI_BACKWARD",
	};
	unsigned int i;
	size_t len;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		len = str_has_prefix(symbol, names[i]);
		/* The compiler adds suffixes: .cold, .constprop.0 */
		if (len && (!symbol[len] || symbol[len] == '.'))
			return true;
	}
	return false;
}

static int reach_scan_other_part(void)
{
	char name[KSYM_NAME_LEN];
	const char *symbol;
	char *module;

	symbol = kallsyms_lookup(function.start, NULL, NULL, &module, name);
	if (!symbol)
		return KPROBE_WHY_UNKNOWN;
	if (reach_takes_labels(symbol))
		return KPROBE_WHY_INDIRECT;
	if (!kprobe_cold_base(symbol) &&
	    (!IS_ALIGNED(function.start, CONFIG_FUNCTION_ALIGNMENT) ||
	     (IS_ENABLED(CONFIG_X86_64) && function.falls)))
		return KPROBE_WHY_SHARED;
	return reach_scan_parts(module);
}

/*
 * 32-bit functions are aligned like any label, so alignment does not tell which of
 * them share code. Those that do are in the same assembly file: get_user() and
 * put_user() branch into a common tail. So scan the functions around this one.
 */
#define NEIGHBOURHOOD	512

/* Indirect jumps of neighbours do not leave them. */
static int reach_scan_around(unsigned long start, unsigned long end)
{
	int ret = reach_scan(start, end);

	return ret == KPROBE_WHY_INDIRECT ? 0 : ret;
}

static int reach_scan_neighbours(void)
{
	unsigned long at = function.start, size, offset;
	int ret = 0;

	if (IS_ENABLED(CONFIG_X86_64))
		return 0;
	while (!ret && function.start - at < NEIGHBOURHOOD) {
		if (!kallsyms_lookup_size_offset(at - 1, &size, &offset))
			break;
		at -= offset + 1;
		ret = reach_scan_around(at, at + size);
	}
	at = function.end;
	while (!ret && at - function.end < NEIGHBOURHOOD) {
		if (!kallsyms_lookup_size_offset(at, &size, &offset) || !size)
			break;
		ret = reach_scan_around(at, at + size);
		at += size;
	}
	return ret;
}

static int reach_look_at_function(unsigned long addr)
{
	unsigned long size, offset;

	if (!kallsyms_lookup_size_offset(addr, &size, &offset))
		return KPROBE_WHY_UNKNOWN;
	if (function.start == addr - offset)
		return function.why;

	reach_forget_function();
	function.targets = bitmap_zalloc(size, GFP_KERNEL);
	if (!function.targets)
		return -ENOMEM;
	function.start = addr - offset;
	function.end = function.start + size;
	function.named = reach_named_end(function.start, function.end);
	function.odd = false;
	function.falls = true;
	function.why = reach_scan(function.start, function.end) ?:
		       reach_scan_other_part() ?: reach_scan_neighbours() ?:
		       reach_scan_tables();
	kprobe_label_targets(function.start, function.end, function.targets);
	return function.why;
}

/* --------------------------- The tables --------------------------------- */

static bool reach_fixup_within(const struct exception_table_entry *e,
			       const struct exception_table_entry *end,
			       unsigned long first, unsigned long last)
{
	for (; e < end; e++) {
		if (reach_fixup(e) >= first && reach_fixup(e) <= last)
			return true;
	}
	return false;
}

extern struct exception_table_entry __start___ex_table[], __stop___ex_table[];

static bool reach_may_fault_within(unsigned long first, unsigned long last)
{
	unsigned long at;

	for (at = first; at <= last; at++) {
		if (search_exception_tables(at))
			return true;
	}
	return false;
}

#ifdef CONFIG_MODULES
/* The entries of init text leave the table when the module is live, under this lock. */
static bool reach_module_faults_within(unsigned long first, unsigned long last)
{
	struct module *mod;
	bool ret;

	kprobe_lock_modules();
	ret = reach_may_fault_within(first, last);
	scoped_guard(preempt) {
		mod = __module_text_address(first);
		if (mod && !ret)
			ret = reach_fixup_within(mod->extable, mod->extable + mod->num_exentries,
						 first, last);
	}
	kprobe_unlock_modules();
	return ret;
}
#else
static bool reach_module_faults_within(unsigned long first, unsigned long last)
{
	return false;
}
#endif

/* Does a fix-up lead into these bytes, or may an instruction in them fault and sleep? */
static bool reach_faults_within(unsigned long first, unsigned long last)
{
	if (!core_kernel_text(first))
		return reach_module_faults_within(first, last);
	return reach_may_fault_within(first, last) ||
	       reach_fixup_within(__start___ex_table, __stop___ex_table, first, last);
}

#if IS_ENABLED(CONFIG_KUNIT)
/**
 * kprobe_test_fixups_missed - look up the fix-ups of the kernel image
 * @nr: set to how many were looked up
 *
 * The first one, the last one, and some in between; those in text that was freed do not count.
 *
 * Context: may sleep.
 * Return: how many were not found.
 */
unsigned int kprobe_test_fixups_missed(unsigned int *nr)
{
	const struct exception_table_entry *e = __start___ex_table;
	unsigned int i, last = 0, missed = 0;
	unsigned long to;

	for (i = 0; e + i < __stop___ex_table; i++) {
		if (core_kernel_text(reach_fixup(e + i)))
			last = i;
	}
	*nr = 0;
	for (i = 0; i <= last; i++) {
		to = reach_fixup(e + i);
		if ((i % 61 && i != last) || !core_kernel_text(to))
			continue;
		++*nr;
		missed += !reach_faults_within(to, to);
	}
	return missed;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_fixups_missed);
#endif

static bool reach_ftrace_site_within(unsigned long first, unsigned long last)
{
#ifdef CONFIG_DYNAMIC_FTRACE
	return ftrace_location_range(first, last);
#else
	return false;
#endif
}

static bool reach_patched_by_others(unsigned long first, unsigned long last)
{
	return reach_ftrace_site_within(first, last) ||
	       kprobe_text_reserved(first, last) ||
	       x86_lock_prefix_within(first, last);
}

/* ------------------------------ The plan -------------------------------- */

/* Execution does not continue after it. */
static bool reach_is_terminal(const struct arch_specific_insn *a)
{
	return a->kind == X86_JMP || a->kind == X86_JMP_IND || a->kind == X86_RET;
}

/* Can it run in a detour? @end is its distance from the point. */
static int reach_displaceable(const struct x86_displaced *di, unsigned int end)
{
	switch (di->insn.kind) {
	case X86_CALL:
		return end < JMP32_INSN_SIZE ? KPROBE_WHY_CALL : 0;
	case X86_CALL_IND:
		if (end < JMP32_INSN_SIZE)
			return KPROBE_WHY_CALL;
		fallthrough;
	case X86_JMP_IND:
		/* There is no thunk for this register, and no code uses it. */
		if (di->insn.src == offsetof(struct pt_regs, sp))
			return KPROBE_WHY_INSN;
		return 0;
	case X86_RET:
		/* The return thunk drops no arguments. */
		return di->insn.imm ? KPROBE_WHY_INSN : 0;
	}
	return 0;
}

/*
 * After the end of a function, up to the next: never executed. On 32 bits the
 * assembler pads with LEA of a register to itself.
 */
static bool reach_is_padding(struct insn *insn, struct arch_specific_insn *a)
{
	return insn->opcode.bytes[0] == INT3_INSN_OPCODE || a->kind == X86_NOP ||
	       (a->kind == X86_LEA && a->dst == a->base && a->index == X86_NO_REG &&
		!a->imm && a->size == sizeof(long));
}

/*
 * The instructions that a jump at @addr displaces, in a function that ends at @end. Without
 * text_mutex: text that others may patch is refused after this, and that of the other
 * instructions is compared again, under the mutex, before the jump replaces it.
 */
static int reach_plan_insns(unsigned long addr, unsigned long end, struct x86_plan *plan)
{
	u8 buf[MAX_INSN_SIZE + 1] = { };
	struct arch_specific_insn a;
	struct x86_displaced *di;
	unsigned long at = addr;
	bool over = false;
	struct insn insn;
	int ret;

	plan->nr = 0;
	plan->total = 0;
	while (plan->total < JMP32_INSN_SIZE) {
		if (at >= end)
			return KPROBE_WHY_END;
		if (at != addr && get_kprobe((void *)at))
			return KPROBE_WHY_NEIGHBOUR;
		if (x86_insn_read(&insn, buf, at))
			return over ? KPROBE_WHY_END : KPROBE_WHY_UNKNOWN;
		/* Another symbol is in the middle of it. */
		if (insn.length > end - at)
			return KPROBE_WHY_END;
		if (x86_text_debugged(buf[0], at))
			return -EBUSY;
		memset(&a, 0, sizeof(a));
		ret = x86_insn_classify(&a, &insn, buf);
		if (over) {
			if (!reach_is_padding(&insn, &a))
				return KPROBE_WHY_END;
		} else {
			if (ret)
				return KPROBE_WHY_INSN;
			di = &plan->insn[plan->nr++];
			memset(di, 0, sizeof(*di));
			a.len = insn.length;
			di->insn = a;
			di->from = plan->total;
			di->len = insn.length;
			if (insn_rip_relative(&insn))
				di->rip = insn_offset_displacement(&insn);
			memcpy(di->text, buf, insn.length);
			ret = reach_displaceable(di, plan->total + insn.length);
			if (ret)
				return ret;
			over = reach_is_terminal(&a);
		}
		plan->total += insn.length;
		at += insn.length;
	}
	return 0;
}

/**
 * x86_reach_plan - plan which instructions a jump at a point displaces
 * @p:	  the point
 * @plan: the result
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0 with @plan filled in; a value of enum kprobe_why if there can be no
 * jump; or -ENOMEM or -EBUSY, as arch_detour_prepare().
 */
int x86_reach_plan(struct kprobe *p, struct x86_plan *plan)
{
	unsigned long addr = (unsigned long)p->addr, last;
	unsigned long size, offset, bit;
	int ret;

	kprobe_assert_held(&kprobe_mutex);
	if (!kallsyms_lookup_size_offset(addr, &size, &offset))
		return KPROBE_WHY_UNKNOWN;

	ret = reach_plan_insns(addr, addr - offset + size, plan);
	if (ret)
		return ret;

	last = addr + JMP32_INSN_SIZE - 1;
	/*
	 * Objtool makes sure that the direction flag is clear wherever functions
	 * call each other, so a function that never sets it runs with it clear.
	 * Segment registers are likewise those of the kernel.
	 */
	ret = reach_look_at_function(addr);
	if (!ret && addr >= function.named)
		ret = KPROBE_WHY_SHARED;
	plan->odd = ret || function.odd;
	if (ret < 0 || (ret && plan->insn[0].len < JMP32_INSN_SIZE))
		return ret;
	if (!ret) {
		bit = find_next_bit(function.targets, offset + JMP32_INSN_SIZE,
				    offset + 1);
		if (bit < offset + JMP32_INSN_SIZE)
			return KPROBE_WHY_TARGET;
	}
	if (reach_faults_within(addr + 1, last))
		return KPROBE_WHY_FAULT;
	/* Registration has checked the point itself. */
	if (reach_patched_by_others(addr, addr + plan->total - 1))
		return KPROBE_WHY_PATCHED;
	return 0;
}

/**
 * arch_detour_branch - find a branch that leads into the bytes of a jump
 * @p: a point for which x86_reach_plan() has returned KPROBE_WHY_TARGET
 *
 * Planning a jump only finds out whether there is one. So this searches again.
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: the address of one of them, or 0 if it is a jump label that is off.
 */
unsigned long arch_detour_branch(struct kprobe *p)
{
	kprobe_assert_held(&kprobe_mutex);
	reach_forget_function();
	function.branch = 0;
	function.into = (unsigned long)p->addr + 1;
	reach_look_at_function((unsigned long)p->addr);
	function.into = 0;
	reach_forget_function();
	return function.branch;
}
