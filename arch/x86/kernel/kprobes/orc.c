// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes on x86: instructions that the ORC unwinder's table knows.
 *
 * Objtool makes an entry wherever the layout of the stack changes. An entry is at the
 * start of an instruction, and the next one is not far, so decoding can start nearby.
 *
 * But objtool sees the text that the compiler generated, with all alternatives of an
 * instruction side by side. An entry for an alternative that was not chosen may be
 * inside an instruction of the chosen one. There are few such entries. They are found
 * once, while the kernel still knows where its alternatives are. Modules do not keep
 * theirs, so their tables are of no use here.
 */
#include <linux/kprobes.h>
#include <linux/slab.h>

#include <asm/alternative.h>
#include <asm/insn.h>

#include "common.h"

/* Sorted by address; each entry is relative to itself. */
extern int __start_orc_unwind_ip[], __stop_orc_unwind_ip[];

/* Addresses that have an entry, but are not the start of an instruction. */
static unsigned long *false_starts __ro_after_init;
static unsigned int nr_false_starts __ro_after_init;
static bool usable __ro_after_init;

static unsigned long orc_entry_addr(const int *entry)
{
	return (unsigned long)entry + *entry;
}

/* The first entry after @addr. */
static const int *orc_entry_after(unsigned long addr)
{
	const int *low = __start_orc_unwind_ip, *high = __stop_orc_unwind_ip, *mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (orc_entry_addr(mid) <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool orc_is_false_start(unsigned long addr)
{
	unsigned int i;

	for (i = 0; i < nr_false_starts; i++) {
		if (false_starts[i] == addr)
			return true;
	}
	return false;
}

/**
 * x86_orc_start - find the last known start of an instruction up to an address
 * @start: a known start
 * @addr:  the address, not below @start
 *
 * Context: any.
 * Return: the start of an instruction in [start, addr].
 */
unsigned long x86_orc_start(unsigned long start, unsigned long addr)
{
	const int *entry;

	if (!usable || !core_kernel_text(addr))
		return start;
	entry = orc_entry_after(addr);
	while (entry-- > __start_orc_unwind_ip && orc_entry_addr(entry) > start) {
		if (!orc_is_false_start(orc_entry_addr(entry)))
			return orc_entry_addr(entry);
	}
	return start;
}

static int __init orc_note_false_start(unsigned long addr)
{
	unsigned long *more;

	more = krealloc_array(false_starts, nr_false_starts + 1, sizeof(*more),
			      GFP_KERNEL);
	if (!more)
		return -ENOMEM;
	false_starts = more;
	false_starts[nr_false_starts++] = addr;
	return 0;
}

/* Compare the entries in the chosen text, [at, end), with its instructions. */
static int __init orc_check_alternative(unsigned long at, unsigned long end)
{
	const int *entry = orc_entry_after(at);
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;

	for (; entry < __stop_orc_unwind_ip && orc_entry_addr(entry) < end; entry++) {
		while (at < orc_entry_addr(entry)) {
			if (x86_insn_read(&insn, buf, at))
				at = end;
			else
				at += insn.length;
		}
		if (at != orc_entry_addr(entry) && !orc_is_false_start(orc_entry_addr(entry)) &&
		    orc_note_false_start(orc_entry_addr(entry)))
			return -ENOMEM;
	}
	return 0;
}

/**
 * x86_orc_init - find out which entries are not starts
 *
 * Context: once alternatives are chosen, before init memory is freed.
 */
void __init x86_orc_init(void)
{
	struct alt_instr *alt;
	unsigned long at;

	for (alt = __alt_instructions; alt < __alt_instructions_end; alt++) {
		at = (unsigned long)&alt->instr_offset + alt->instr_offset;
		if (orc_check_alternative(at, at + alt->instrlen)) {
			kfree(false_starts);
			return;
		}
	}
	usable = true;
}
