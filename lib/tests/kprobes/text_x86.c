// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where probes may be set on x86: at the start of each instruction of a function,
 * whatever other probes are there; and not on text that changes with the number of
 * CPUs.
 */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/kallsyms.h>
#include <linux/objtool.h>
#include <linux/preempt.h>
#include <linux/unaligned.h>

#include <asm/alternative.h>
#include <asm/ibt.h>
#include <asm/text-patching.h>

#include "fixture.h"
#include "../../../arch/x86/kernel/kprobes/common.h"

/* Tries every byte of each instruction, with a probe that stays off. */
static void try_all(struct kunit *test, const char *when)
{
	unsigned int at, end, nr = 0, i, wrong = 0;

	while (kpt_long_text_starts[nr + 1])
		nr++;
	KUNIT_EXPECT_GT(test, nr, 300U);
	for (i = 0; i < nr; i += KPT_STRIDE) {
		end = kpt_long_text_starts[i + 1];
		for (at = kpt_long_text_starts[i]; at < end; at++) {
			struct kprobe p = {
				.addr = kpt_long_text + at,
				.flags = KPROBE_FLAG_DISABLED,
			};
			int expected = at == kpt_long_text_starts[i] ? 0 : -EILSEQ;
			int ret = register_kprobe(&p);

			if (!ret)
				unregister_kprobe(&p);
			if (ret != expected && wrong++ < 5)
				KUNIT_FAIL(test, "%s: %pS: %d instead of %d", when,
					   kpt_long_text + at, ret, expected);
		}
	}
}

static void a_probe_sits_on_the_start_of_an_instruction_only(struct kunit *test)
{
	try_all(test, "unprobed");
}

static void starts_are_found_among_breakpoints_and_jumps(struct kunit *test)
{
	unsigned int i, jumps = 0, nr = 0;
	struct kpt_probe **pr;

	for (i = 0; kpt_long_text_starts[i + 1]; i += 3)
		nr++;
	pr = kunit_kcalloc(test, nr, sizeof(*pr), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pr);
	for (i = 0; i < nr; i++)
		pr[i] = kpt_probe(test, kpt_long_text + kpt_long_text_starts[3 * i]);
	try_all(test, "among breakpoints");
	wait_for_kprobe_optimizer();
	try_all(test, "among jumps");
	wait_for_kprobe_optimizer();
	for (i = 0; i < nr; i++)
		jumps += kprobe_optimized(&pr[i]->kp);
	if (IS_ENABLED(CONFIG_OPTPROBES))
		KUNIT_EXPECT_GT(test, jumps, nr / 4);
}

static void debugger_leaves(void *addr)
{
	kprobe_test_debug((unsigned long)addr, false);
}

static void debugger_comes(struct kunit *test, u8 *addr)
{
	KUNIT_ASSERT_EQ(test, kprobe_test_debug((unsigned long)addr, true), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, debugger_leaves, addr), 0);
	KUNIT_EXPECT_EQ(test, *addr, INT3_INSN_OPCODE);
}

/* The first instruction from @at on that has a second byte. */
static u8 *long_instruction(struct kunit *test, unsigned int at)
{
	unsigned int i = 0;

	while (kpt_long_text_starts[i] < at ||
	       kpt_long_text_starts[i + 1] < kpt_long_text_starts[i] + 2)
		KUNIT_ASSERT_NE(test, kpt_long_text_starts[++i + 1], 0);
	return kpt_long_text + kpt_long_text_starts[i];
}

/* Tries the second byte. */
static void try_under_debugger(struct kunit *test, u8 *addr)
{
	KUNIT_EXPECT_EQ(test, kpt_refused(addr + 1), -EILSEQ);
	debugger_comes(test, addr);
	KUNIT_EXPECT_EQ(test, kpt_refused(addr + 1), -EILSEQ);
	kunit_release_action(test, debugger_leaves, addr);
	KUNIT_EXPECT_NE(test, *addr, INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, kpt_refused(addr), 0);
}

static void need_debugger(struct kunit *test)
{
	/* kgdb patches text with interrupts off, under a lock that sleeps on RT. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "kgdb cannot patch text there");
	if (!IS_ENABLED(CONFIG_KGDB))
		kunit_skip(test, "needs CONFIG_KGDB");
}

/* INT3 is one byte long, but not the instruction under it. Once near a known start, once not. */
static void breakpoint_of_a_debugger_is_no_instruction(struct kunit *test)
{
	need_debugger(test);
	try_under_debugger(test, long_instruction(test, 16));
	try_under_debugger(test, long_instruction(test, 512));
}

/* The debugger uses an entry of its table again, which comes before that of the other one. */
static void breakpoint_of_a_debugger_is_known_after_another_was_moved(struct kunit *test)
{
	u8 *first, *last;

	need_debugger(test);
	first = long_instruction(test, 16);
	last = long_instruction(test, 512);
	debugger_comes(test, first);
	debugger_comes(test, last);
	kunit_release_action(test, debugger_leaves, first);
	debugger_comes(test, first);
	KUNIT_EXPECT_EQ(test, *last, INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, kpt_refused(first + 1), -EILSEQ);
	KUNIT_EXPECT_EQ(test, kpt_refused(last + 1), -EILSEQ);
}

/*
 * Functions of the kernel itself are larger, and decoding begins at entries of the unwinder's
 * table there. Not every kernel has all of these.
 */
static const char *const kernel_functions[] = {
	"kernel_clone", "do_sys_openat2", "vfs_write", "load_elf_binary", "do_exit",
	"get_signal", "__alloc_pages_noprof", "copy_process", "do_mmap",
};

/* Compares the answer for each byte with decoding all from the first one. */
static unsigned int try_function(struct kunit *test, const char *name, unsigned long addr,
				 unsigned long size)
{
	unsigned long at, next = addr;
	unsigned int taken = 0, wrong = 0;
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;
	int ret, failed;

	for (at = addr; at < addr + size; at++) {
		struct kprobe p = {
			.addr = (kprobe_opcode_t *)at, .flags = KPROBE_FLAG_DISABLED,
		};

		if (at == next) {
			preempt_disable();
			failed = x86_insn_read(&insn, buf, at);
			preempt_enable();
			if (failed)
				break;
			/* Padding after a return or at the end: there is nothing to probe. */
			if (buf[0] == INT3_INSN_OPCODE) {
				next++;
				continue;
			}
			/* Clang puts ENDBR at targets of computed branches, where it is refused. */
			if (at != addr && is_endbr(get_unaligned((u32 *)buf))) {
				next += ENDBR_INSN_SIZE;
				continue;
			}
		}
		ret = register_kprobe(&p);
		if (!ret)
			unregister_kprobe(&p);
		if ((at == next ? ret == -EILSEQ : !ret) && wrong++ < 5)
			KUNIT_FAIL(test, "%s+%#lx: %d, an instruction begins at %#lx", name,
				   at - addr, ret, next - addr);
		taken += !ret;
		if (at == next)
			next += insn.length;
	}
	return taken;
}

static void starts_in_the_kernel_are_those_of_decoding_all(struct kunit *test)
{
	unsigned int i, functions = 0, taken = 0;
	char symbol[KSYM_SYMBOL_LEN];
	unsigned long offset, size;
	int fields;

	for (i = 0; i < ARRAY_SIZE(kernel_functions); i++) {
		struct kprobe p = {
			.symbol_name = kernel_functions[i], .flags = KPROBE_FLAG_DISABLED,
		};

		if (register_kprobe(&p))
			continue;
		sprint_symbol(symbol, (unsigned long)p.addr);
		unregister_kprobe(&p);
		fields = sscanf(strrchr(symbol, '+'), "+0x%lx/0x%lx", &offset, &size);
		KUNIT_ASSERT_EQ_MSG(test, fields, 2, "%s", symbol);
		taken += try_function(test, kernel_functions[i],
				      (unsigned long)p.addr - offset, size);
		functions++;
	}
	KUNIT_EXPECT_GE(test, functions, ARRAY_SIZE(kernel_functions) / 2);
	KUNIT_EXPECT_GE(test, taken, 50 * functions);
	kunit_info(test, "%u instructions of %u functions", taken, functions);
}

/*
 * An alternative is chosen before the first probe can be set, and stays, so it can be
 * probed. Those that may change again are refused, see below. Only if this is built in is
 * the unwinder's table used for the function.
 */
static void what_an_alternative_has_replaced_is_no_start(struct kunit *test)
{
	u8 *after = (u8 *)kpt_alternative;
	unsigned int i;

	OPTIMIZER_HIDE_VAR(after);
	after += kpt_alternative_after;
	KUNIT_ASSERT_EQ(test, after[-5], 0xb9);
	for (i = 1; i < 5; i++)
		KUNIT_EXPECT_EQ(test, kpt_refused(after - i), -EILSEQ);
	KUNIT_EXPECT_EQ(test, kpt_refused(after - 5), 0);
	KUNIT_EXPECT_EQ(test, kpt_refused(after), 0);
	KUNIT_EXPECT_EQ(test, kpt_alternative(7), KPT_RESULT(7ul));
}

static int read_at(struct insn *insn, u8 *buf, const void *addr)
{
	int ret;

	preempt_disable();
	ret = x86_insn_read(insn, buf, (unsigned long)addr);
	preempt_enable();
	return ret;
}

/* The pages before and after this one are not mapped. */
static void text_is_read_at_both_ends_of_memory(struct kunit *test)
{
	u8 *page = kpt_bad_address(test) - PAGE_SIZE, buf[MAX_INSN_SIZE];
	unsigned int len;
	struct insn insn;

	memset(page, 0x90, PAGE_SIZE);
	/* An instruction that begins with the page. */
	page[0] = 0x31;
	page[1] = 0xc0;
	KUNIT_EXPECT_EQ(test, read_at(&insn, buf, page), 0);
	KUNIT_EXPECT_EQ(test, insn.length, 2);
	KUNIT_EXPECT_MEMEQ(test, buf, page, sizeof(buf));
	/* Instructions that end with the page: a NOP with more and more prefixes. */
	for (len = 1; len < MAX_INSN_SIZE; len++) {
		memset(page + PAGE_SIZE - len, 0x66, len - 1);
		page[PAGE_SIZE - 1] = 0x90;
		KUNIT_EXPECT_EQ(test, read_at(&insn, buf, page + PAGE_SIZE - len), 0);
		KUNIT_EXPECT_EQ(test, insn.length, len);
		KUNIT_EXPECT_MEMEQ(test, buf, page + PAGE_SIZE - len, len);
	}
	KUNIT_EXPECT_EQ(test, read_at(&insn, buf, page + PAGE_SIZE), -EILSEQ);
}

#ifdef CONFIG_SMP
extern u8 kpt_lock_site[];

static noinline void locked_increment(atomic_t *v)
{
	asm volatile("kpt_lock_site:\n\t"
		     ANNOTATE_NOENDBR
		     LOCK_PREFIX "incl %0" : "+m" (v->counter));
}

/* Until a second CPU is online, the lock prefix is replaced by another one. */
static void a_lock_prefix_that_comes_and_goes_is_refused(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, kpt_lock_site);
	bool gone = READ_ONCE(*kpt_lock_site) != 0xf0;
	atomic_t v = ATOMIC_INIT(0);

	KUNIT_EXPECT_EQ(test, gone, num_online_cpus() == 1 && num_possible_cpus() > 1);
	KUNIT_EXPECT_EQ(test, kpt_try_register(test, &pr->kp), gone ? -EINVAL : 0);
	locked_increment(&v);
	KUNIT_EXPECT_EQ(test, atomic_read(&v), 1);
}

/* A jump that begins before the prefix does not replace it either. */
static void a_lock_prefix_that_comes_and_goes_is_not_displaced(struct kunit *test)
{
	u8 *nop = (u8 *)kpt_locks;
	struct kpt_probe *pr;
	int counter = 0;
	bool gone;

	OPTIMIZER_HIDE_VAR(nop);
	nop += kpt_locks_at;
	gone = nop[1] != 0xf0;
	pr = kpt_probe(test, nop);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ_MSG(test, kprobe_optimized(&pr->kp), IS_ENABLED(CONFIG_OPTPROBES) && !gone,
			    "%s", kpt_jump_reason(test, &pr->kp));
	kpt_locks(&counter);
	KUNIT_EXPECT_EQ(test, counter, 1);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}
#endif

static struct kunit_case text_cases[] = {
	KUNIT_CASE_SLOW(a_probe_sits_on_the_start_of_an_instruction_only),
	KUNIT_CASE_SLOW(starts_are_found_among_breakpoints_and_jumps),
	KUNIT_CASE(breakpoint_of_a_debugger_is_no_instruction),
	KUNIT_CASE(breakpoint_of_a_debugger_is_known_after_another_was_moved),
	KUNIT_CASE_SLOW(starts_in_the_kernel_are_those_of_decoding_all),
	KUNIT_CASE(what_an_alternative_has_replaced_is_no_start),
	KUNIT_CASE(text_is_read_at_both_ends_of_memory),
#ifdef CONFIG_SMP
	KUNIT_CASE(a_lock_prefix_that_comes_and_goes_is_refused),
	KUNIT_CASE(a_lock_prefix_that_comes_and_goes_is_not_displaced),
#endif
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite text_suite = {
	.name = "kprobes_text",
	.suite_init = kpt_suite_init,
	.init = kpt_case_init,
	.test_cases = text_cases,
};

kunit_test_suite(text_suite);
