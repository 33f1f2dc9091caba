// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes on x86: the text as it is without probes, and where its instructions
 * begin.
 *
 * Instructions have no fixed length, so an address is the start of one if
 * decoding from a known start gets there. Known starts are the beginning of the
 * function and addresses with an entry of the ORC unwinder. Decoding from any other
 * address may be out of step, but still gives information: no instruction is longer
 * than 15 bytes (SDM Vol. 2, 2.3.11), so one of 15 consecutive addresses is a start.
 * If decoding from each of them gives the same answer, it is right. Decoding that is
 * out of step soon gets into step, so a few dozen bytes are almost always enough. If
 * they are not, decode from a known start.
 */
#include <kunit/visibility.h>
#include <linux/irqflags.h>
#include <linux/kallsyms.h>
#include <linux/kgdb.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <asm/insn.h>
#include <asm/text-patching.h>

#include "common.h"
#include "detour.h"

/* ------------------------------- Reading -------------------------------- */

/* Restore in @buf what @p has replaced of [addr, addr + len). */
static void text_restore(struct kprobe *p, u8 *buf, unsigned long addr, unsigned int len)
{
	unsigned long at = (unsigned long)p->addr;
#ifdef CONFIG_OPTPROBES
	const struct x86_detour *d = READ_ONCE(p->ainsn.detour);
	unsigned int i;
#endif

	if (kprobe_ftrace(p))
		return;
#ifdef CONFIG_OPTPROBES
	for (i = 0; d && i < JMP32_INSN_SIZE; i++) {
		if (at + i - addr < len)
			buf[at + i - addr] = d->orig[i];
	}
#endif
	if (at - addr < len)
		buf[at - addr] = p->opcode;
}

/*
 * If a breakpoint or jump of a point may begin at buf[i], restore what it has
 * replaced. Most text has no points, and checking a byte is cheaper than a lookup in
 * the table.
 */
static __always_inline void text_restore_at(u8 *buf, unsigned int i, unsigned long addr,
					    unsigned int len)
{
	struct kprobe *p;

	if (likely(buf[i] != INT3_INSN_OPCODE && buf[i] != JMP32_INSN_OPCODE))
		return;
	p = get_kprobe((void *)(addr + i));
	if (p)
		text_restore(p, buf, addr, len);
}

/* Bytes before @addr that are read, too: a jump may begin there. */
#define FRONT	(JMP32_INSN_SIZE - 1)

/*
 * Read [addr - FRONT, addr + len). Bytes after the end of the text read as padding.
 * Jumps that begin before @addr are undone; the caller undoes the others.
 */
static int text_read(u8 *buf, unsigned long addr, unsigned int len)
{
	unsigned int i;

	len += FRONT;
	addr -= FRONT;
	if (copy_from_kernel_nofault(buf, (void *)addr, len)) {
		memset(buf, INT3_INSN_OPCODE, len);
		for (i = 0; i < len; i++) {
			if (copy_from_kernel_nofault(buf + i, (u8 *)addr + i, 1) &&
			    i >= FRONT)
				break;
		}
		if (i == FRONT)
			return -EILSEQ;
	}
	for (i = 0; i < FRONT; i++)
		text_restore_at(buf, i, addr, len);
	return 0;
}

/*
 * Where the decoder expects the opcode, it takes even a prefix for one: a legacy prefix
 * after REX, a second REX, or one prefix more than it counts. The CPU goes on to the
 * opcode (SDM Vol. 2, 2.2.1), so the true instruction is longer.
 */
static bool text_ends_in_prefix(struct insn *insn)
{
	insn_attr_t attr = inat_get_opcode_attribute(insn->opcode.bytes[0]);

	if (insn_is_avx(insn) || insn_is_rex2(insn))
		return false;
	return inat_is_legacy_prefix(attr) ||
	       (IS_ENABLED(CONFIG_X86_64) && (inat_is_rex_prefix(attr) ||
					      inat_is_rex2_prefix(attr)));
}

static int text_decode(struct insn *insn, const u8 *buf)
{
	return insn_decode_kernel(insn, buf) || text_ends_in_prefix(insn) ? -EILSEQ : 0;
}

/**
 * x86_insn_read - decode an instruction as it is without probes
 * @insn: the result
 * @buf:  its text, of MAX_INSN_SIZE bytes
 * @addr: where it is
 *
 * Context: kprobe_mutex held, or at boot.
 * Return: 0, or -EILSEQ if there is no instruction.
 */
int x86_insn_read(struct insn *insn, u8 *buf, unsigned long addr)
{
	u8 text[FRONT + MAX_INSN_SIZE];

	if (text_read(text, addr, MAX_INSN_SIZE))
		return -EILSEQ;
	text_restore_at(text, FRONT, addr - FRONT, sizeof(text));
	memcpy(buf, text + FRONT, MAX_INSN_SIZE);
	return text_decode(insn, buf);
}
EXPORT_SYMBOL_IF_KUNIT(x86_insn_read);

/**
 * x86_text_insn - decode one of many instructions
 * @t:	  the text read around it; all zero for the first call
 * @insn: the result
 * @addr: where it is
 *
 * As x86_insn_read(), but cheaper for the instructions that follow.
 *
 * Context: kprobe_mutex and text_mutex held.
 * Return: 0; -EILSEQ if there is no instruction; or -EBUSY if a debugger has a breakpoint
 * there.
 */
int x86_text_insn(struct x86_text *t, struct insn *insn, unsigned long addr)
{
	unsigned int i = addr - t->addr;

	kprobe_assert_held(&text_mutex);
	if (!t->addr || i > sizeof(t->buf) - MAX_INSN_SIZE) {
		t->addr = 0;
		if (text_read(t->buf, addr, sizeof(t->buf) - FRONT))
			return -EILSEQ;
		t->addr = addr - FRONT;
		i = FRONT;
	}
	text_restore_at(t->buf, i, t->addr, sizeof(t->buf));
	if (x86_text_debugged(t->buf[i], addr))
		return -EBUSY;
	return text_decode(insn, t->buf + i);
}

/* Nothing is at ~0UL, and get_kprobe() must not be asked for it. */
static struct kprobe *text_point(unsigned long addr)
{
	return addr == ~0UL ? NULL : get_kprobe((void *)addr);
}

/**
 * kprobe_text - read an instruction as it is without probes, from any context
 * @buf:  where to store it
 * @addr: where it begins
 * @len:  its length in bytes, or less
 *
 * For code that decodes an instruction that has faulted. There is no lock: a point
 * may come or go meanwhile. But if the table has the same point before and after the
 * text was read, the result is right: bytes are restored before a point leaves the
 * table, and a point does not come and go, nor change between breakpoint and jump,
 * without interrupting all CPUs, which waits for this one.
 *
 * An oops asks for the text at its instruction pointer, whatever that is. If nothing can be
 * read there, the result is all zeros.
 *
 * Context: any. No other code changes the text.
 */
void kprobe_text(u8 *buf, unsigned long addr, unsigned int len)
{
	struct kprobe *p, *was;
	unsigned long flags;

	local_irq_save(flags);
	p = text_point(addr);
	do {
		was = p;
		barrier();
		if (copy_from_kernel_nofault(buf, (void *)addr, len))
			memset(buf, 0, len);
		barrier();
		p = text_point(addr);
	} while (p != was);
	if (p)
		text_restore(p, buf, addr, len);
	local_irq_restore(flags);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_text);

/*
 * The address of the point whose text is being examined, or 0. That point is not in the table
 * yet. A debugger stops this CPU, too. So the debugger either sees this address, or has set
 * its breakpoint before the text is read.
 */
static unsigned long preparing;

/**
 * x86_text_prepare - keep debuggers away from the text of a point that is not in the table
 * @addr: the address of the point
 *
 * This holds until the next point of the batch, or the end of the batch.
 *
 * Context: kprobe_mutex and text_mutex held.
 */
void x86_text_prepare(unsigned long addr)
{
	kprobe_assert_held(&kprobe_mutex);
	kprobe_assert_held(&text_mutex);
	WRITE_ONCE(preparing, addr);
}

/**
 * kprobe_has_text - is this byte a probe's, or part of its jump, now or soon?
 * @addr: its address
 *
 * For debuggers that place a breakpoint while all other CPUs are stopped. They save the
 * byte, and write it back whenever they run, over the breakpoint or jump of a probe that
 * was enabled since; and in the middle of a jump the breakpoint would become part of the
 * displacement.
 *
 * Context: any.
 * Return: true if so. The text of an ftrace site belongs to ftrace, not to a probe.
 */
bool kprobe_has_text(unsigned long addr)
{
	unsigned int __maybe_unused back;
	struct kprobe *p;

	/* Kprobes are never in user text. */
	if (addr < TASK_SIZE_MAX)
		return false;
	if (addr == READ_ONCE(preparing))
		return true;
	guard(preempt_notrace)();
	p = text_point(addr);
	if (p && !kprobe_ftrace(p))
		return true;
#ifdef CONFIG_OPTPROBES
	for (back = 1; back < JMP32_INSN_SIZE; back++) {
		p = get_kprobe((void *)(addr - back));
		if (p && READ_ONCE(p->ainsn.detour))
			return true;
	}
#endif
	return false;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_has_text);

/**
 * x86_text_debugged - is this the breakpoint of a debugger?
 * @byte: what is there, without probes
 * @addr: its address
 *
 * Only the debugger knows the instruction under it.
 *
 * Context: any.
 * Return: true if so.
 */
bool x86_text_debugged(u8 byte, unsigned long addr)
{
#ifdef CONFIG_KGDB
	return byte == INT3_INSN_OPCODE && kgdb_has_hit_break(addr);
#else
	return false;
#endif
}

/* -------------------- Where an instruction begins ----------------------- */

/*
 * The start that was decoded last. The points of a batch come in order of address.
 * It is valid within a batch only: between batches the text may change.
 */
static unsigned long cursor;

/**
 * x86_text_batch - begin or end a batch of points: forget the last start and point
 *
 * Context: kprobe_mutex held.
 */
void x86_text_batch(void)
{
	kprobe_assert_held(&kprobe_mutex);
	cursor = 0;
	WRITE_ONCE(preparing, 0);
}

static int text_decode_up_to(unsigned long at, unsigned long addr)
{
	struct x86_text text = { };
	struct insn insn;

	while (at < addr) {
		if (x86_text_insn(&text, &insn, at))
			return -EILSEQ;
		cursor = at;
		at += insn.length;
	}
	if (at != addr)
		return -EILSEQ;
	cursor = at;
	return 0;
}

/* How far back to look, in bytes. */
#define LOOK_BACK	64

/* Up to this far away, in bytes, decoding from a known start costs about the same. */
#define NEAR_BY		96

/*
 * Go back from @addr, decode at each byte, and note whether decoding from there
 * would get to @addr. Where nothing can be decoded, no instruction begins.
 * Returns -EAGAIN if the answers differ. @addr must not be nearer to the start
 * of the function than LOOK_BACK.
 */
static int text_decode_around(unsigned long addr)
{
	u8 buf[FRONT + LOOK_BACK + MAX_INSN_SIZE];
	unsigned int i, back, last_hit = 0, last_miss = 0;
	bool hits[LOOK_BACK + 1];
	struct insn insn;

	if (text_read(buf, addr - LOOK_BACK, LOOK_BACK + MAX_INSN_SIZE))
		return -EAGAIN;
	for (i = FRONT; i < sizeof(buf); i++) {
		text_restore_at(buf, i, addr - LOOK_BACK - FRONT, sizeof(buf));
		if (x86_text_debugged(buf[i], addr - LOOK_BACK - FRONT + i))
			return -EAGAIN;
	}

	hits[0] = true;
	for (back = 1; back <= LOOK_BACK; back++) {
		/* If nothing can be decoded here, it is neither a hit nor a miss. */
		hits[back] = false;
		if (!text_decode(&insn, buf + FRONT + LOOK_BACK - back)) {
			if (insn.length <= back)
				hits[back] = hits[back - insn.length];
			if (hits[back])
				last_hit = back;
			else
				last_miss = back;
		}
		if (back - last_miss >= MAX_INSN_SIZE && last_hit > last_miss)
			return 0;
		if (back - last_hit >= MAX_INSN_SIZE && last_miss > last_hit)
			return -EILSEQ;
	}
	return -EAGAIN;
}

/**
 * x86_boundary_check - is this the first byte of an instruction?
 * @addr: the address
 *
 * Context: kprobe_mutex and text_mutex held.
 * Return: 0 if it is; -EILSEQ if not; -ENOENT if no symbol is there.
 */
int x86_boundary_check(unsigned long addr)
{
	unsigned long offset, at;
	int ret;

	kprobe_assert_held(&kprobe_mutex);
	kprobe_assert_held(&text_mutex);
	if (!kallsyms_lookup_size_offset(addr, NULL, &offset))
		return -ENOENT;

	at = x86_orc_start(addr - offset, addr);
	if (cursor > at && cursor <= addr)
		at = cursor;
	if (addr - at > NEAR_BY) {
		ret = text_decode_around(addr);
		if (!ret)
			cursor = addr;
		if (ret != -EAGAIN)
			return ret;
	}
	return text_decode_up_to(at, addr);
}

/* ------------------------- Padding of functions -------------------------- */

/**
 * x86_is_padding - may an instruction be padding before a function?
 * @insn: the instruction
 * @last: the function begins after it
 *
 * Assemblers put NOPs there, whether or not they are reached. Where calls are counted, the
 * last instruction does that, and they lead to it: see patch_dest(). CALL_THUNKS_DEBUG adds
 * another one.
 *
 * Context: any.
 * Return: true if so.
 */
bool x86_is_padding(struct insn *insn, bool last)
{
	bool debug = IS_ENABLED(CONFIG_CALL_THUNKS_DEBUG);
	const u8 *opcode = insn->opcode.bytes;

	if (insn_is_avx(insn))
		return false;
	if (opcode[0] == 0x90 || (opcode[0] == 0x0f && opcode[1] == 0x1f))
		return true;
	if (!IS_ENABLED(CONFIG_MITIGATION_CALL_DEPTH_TRACKING) ||
	    insn->prefixes.bytes[0] != 0x65)
		return false;
	/* SAR $5 and INC, of per-CPU variables */
	if (opcode[0] == 0xc1)
		return (last || debug) && X86_MODRM_REG(insn->modrm.value) == 7 &&
		       insn->immediate.value == 5;
	return debug && last && opcode[0] == 0xff && X86_MODRM_REG(insn->modrm.value) == 0;
}

/**
 * x86_is_nameless_padding - test for padding before a function that has no symbol
 * @addr: the start of an instruction
 *
 * objtool gives padding a symbol, see kprobe_is_prefix(), but not with kCFI. Then clang does,
 * for functions that may be called through a pointer. The padding before all others is taken
 * for the end of the function before it.
 *
 * Context: kprobe_mutex and text_mutex held.
 * Return: true if it is.
 */
bool x86_is_nameless_padding(unsigned long addr)
{
	unsigned long size, offset, end, at;
	struct x86_text text = { };
	struct insn insn;

	if (!IS_ENABLED(CONFIG_CFI_CLANG) || !IS_ENABLED(CONFIG_CALL_PADDING) ||
	    !kallsyms_lookup_size_offset(addr, &size, &offset) || !offset)
		return false;
	end = addr - offset + size;
	/* It is as long as the alignment before assembly, but may be shorter elsewhere. */
	if (end - addr > CONFIG_FUNCTION_ALIGNMENT ||
	    !IS_ALIGNED(end, CONFIG_FUNCTION_ALIGNMENT))
		return false;
	for (at = addr; at < end; at += insn.length) {
		if (x86_text_insn(&text, &insn, at) ||
		    !x86_is_padding(&insn, at + insn.length == end))
			return false;
	}
	return true;
}
