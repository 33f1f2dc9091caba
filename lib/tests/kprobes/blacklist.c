// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: code that may not be probed, because handling a hit needs it or
 * because its author said so.
 */
#include <linux/cc_platform.h>
#include <linux/compiler.h>
#include <linux/hw_breakpoint.h>
#include <linux/instrumentation.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/objtool.h>

#include "fixture.h"
#include "without.h"

/* Neighbours, to show an area that is too large. */
static notrace KPT_FUNCTION(before_marked, arg + 1)
static notrace KPT_FUNCTION(marked, arg + 2)
NOKPROBE_SYMBOL(kpt_marked);
static notrace KPT_FUNCTION(after_marked, arg + 3)

static __kprobes KPT_FUNCTION(in_section, arg + 4)

static noinstr KPT_FUNCTION(noinstr, arg + 5)

/* The section is longer than that of __kprobes. */
static noinstr KPT_FUNCTION(noinstr_last, arg + 6)

/* A real function of this kind runs while RCU is not watching. */
static __cpuidle KPT_FUNCTION(idle, arg + 7)

/*
 * Symbols that compilers make when they split a function, and one whose name only
 * begins in the same way.
 */
#define PIECE(id, name, n)							\
static unsigned long kpt_piece_##id(unsigned long arg) __asm__(name);	\
static noinline notrace __used unsigned long kpt_piece_##id(unsigned long arg) \
{									\
	OPTIMIZER_HIDE_VAR(arg);					\
	barrier();							\
	return arg + (n);						\
}

PIECE(marked_part, "kpt_marked.part.0", 6)
PIECE(marked_isra, "kpt_marked.constprop.0.isra.0", 7)
PIECE(in_section_part, "kpt_in_section.part.0", 8)
PIECE(longer_part, "kpt_marked_not.part.0", 9)
PIECE(before_part, "kpt_before_marked.part.0", 10)

/* A clone of a function may be marked itself, and may have pieces. */
static unsigned long kpt_cloned(unsigned long arg) __asm__("kpt_cloned.isra.0");
static notrace __used KPT_FUNCTION(cloned, arg + 1)
NOKPROBE_SYMBOL(kpt_cloned);

/* Compilers merge identical functions, and keep the pieces of one of them. */
static notrace __used KPT_FUNCTION(merged, arg + 1)
NOKPROBE_SYMBOL(kpt_merged);
static __used typeof(kpt_merged) kpt_a_merged __alias(kpt_merged);
static __used typeof(kpt_merged) kpt_z_merged __alias(kpt_merged);
PIECE(a_merged_part, "kpt_a_merged.part.0", 11)
PIECE(z_merged_part, "kpt_z_merged.part.0", 12)

/*
 * With kCFI, these would have preambles. objtool takes the preambles of cold pieces for
 * unreachable code of the functions, and the kernel finds preambles by name.
 */
#ifndef CONFIG_CFI_CLANG
PIECE(marked_cold, "kpt_marked.cold", 13)
PIECE(noinstr_cold, "kpt_noinstr.cold", 14)
PIECE(cloned_cold, "kpt_cloned.isra.0.cold", 15)
PIECE(plain_cold, "kpt_plain.cold", 17)
PIECE(plain_cold_number, "kpt_plain.cold.3", 18)
STACK_FRAME_NON_STANDARD(kpt_piece_marked_cold);
STACK_FRAME_NON_STANDARD(kpt_piece_noinstr_cold);
STACK_FRAME_NON_STANDARD(kpt_piece_cloned_cold);
STACK_FRAME_NON_STANDARD(kpt_piece_plain_cold);
STACK_FRAME_NON_STANDARD(kpt_piece_plain_cold_number);
#ifdef CONFIG_X86
/* The symbol of the place where kCFI keeps a type hash, in the form of an instruction. */
PIECE(cfi, "__cfi_kpt_not_marked", 16)
#endif
#endif

static kpt_fn_t functions[] = {
	kpt_before_marked,
	kpt_marked,
	kpt_after_marked,
	kpt_in_section,
	kpt_noinstr,
	kpt_noinstr_last,
	kpt_idle,
};

enum { BEFORE_MARKED, MARKED, AFTER_MARKED, IN_SECTION, NOINSTR, NOINSTR_LAST, IDLE };

/* The compiler must not know the function that is called. */
static unsigned long call(unsigned int which, unsigned long arg)
{
	kpt_fn_t fn = functions[which];

	OPTIMIZER_HIDE_VAR(fn);
	return fn(arg);
}

/* A function may be as short as an instruction or two. */
static bool is_in(void *addr, const char *name)
{
	char symbol[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(symbol, (unsigned long)addr);
	/* Where there are function descriptors, the symbol begins with a dot. */
	return str_has_prefix(symbol + (*symbol == '.'), name);
}

/*
 * The function itself is refused by address and by name, and so is every address
 * in it. If no instruction begins there, the error may be another one.
 */
static void check_refused(struct kunit *test, unsigned int which, const char *name)
{
	struct kprobe by_name = { .symbol_name = name };
	char *fn = kpt_text(functions[which]);
	unsigned int i;
	int ret;

	KUNIT_EXPECT_EQ(test, kpt_refused(fn), -EINVAL);
	ret = register_kprobe(&by_name);
	if (!ret)
		unregister_kprobe(&by_name);
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	for (i = 1; i < 8 && is_in(fn + i, name); i++)
		KUNIT_EXPECT_LT(test, kpt_refused(fn + i), 0);
	/* The function works as before. */
	KUNIT_EXPECT_EQ(test, call(which, 1), which + 2ul);
}

static void nokprobe_symbol_is_refused(struct kunit *test)
{
	check_refused(test, MARKED, "kpt_marked");
}

static void kprobes_section_is_refused(struct kunit *test)
{
	check_refused(test, IN_SECTION, "kpt_in_section");
}

static void noinstr_function_is_refused(struct kunit *test)
{
	check_refused(test, NOINSTR, "kpt_noinstr");
	check_refused(test, NOINSTR_LAST, "kpt_noinstr_last");
}

static void idle_function_is_refused(struct kunit *test)
{
	check_refused(test, IDLE, "kpt_idle");
}

static void check_allowed(struct kunit *test, unsigned int which)
{
	struct kpt_probe *pr = kpt_probe_post(test, functions[which]);

	KUNIT_EXPECT_EQ(test, call(which, 1), which + 2ul);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
}

static void neighbour_before_a_blacklisted_function_is_allowed(struct kunit *test)
{
	check_allowed(test, BEFORE_MARKED);
}

static void neighbour_after_a_blacklisted_function_is_allowed(struct kunit *test)
{
	check_allowed(test, AFTER_MARKED);
}

#ifdef CONFIG_X86
/* Each of these bytes is an instruction. */
static void blacklist_begins_and_ends_with_the_symbol(struct kunit *test)
{
	char *before = (char *)kpt_around_refused;
	struct kpt_probe *pr[2];
	unsigned int i;

	OPTIMIZER_HIDE_VAR(before);
	before += kpt_around_refused_at;
	for (i = 1; i <= KPT_REFUSED_BYTES; i++) {
		struct kprobe p = { .addr = before + i };
		int ret = register_kprobe(&p);

		if (!ret)
			unregister_kprobe(&p);
		KUNIT_EXPECT_EQ_MSG(test, ret, -EINVAL, "%u", i);
	}
	pr[0] = kpt_probe(test, before);
	pr[1] = kpt_probe(test, before + KPT_REFUSED_BYTES + 1);
	KUNIT_EXPECT_EQ(test, kpt_around_refused(7), KPT_RESULT(7ul));
	for (i = 0; i < ARRAY_SIZE(pr); i++)
		KUNIT_EXPECT_EQ(test, pr[i]->pre, 1);
}
#endif

static void pieces_of_refused_functions_are_refused(struct kunit *test)
{
	static const struct {
		kpt_fn_t fn;
		const char *name;
		bool refused;
	} pieces[] = {
		{ kpt_piece_marked_part, "kpt_marked.part.0", true },
		{ kpt_piece_marked_isra, "kpt_marked.constprop.0.isra.0", true },
		{ kpt_piece_in_section_part, "kpt_in_section.part.0", true },
		{ kpt_piece_longer_part, "kpt_marked_not.part.0", false },
		{ kpt_piece_before_part, "kpt_before_marked.part.0", false },
		{ kpt_piece_a_merged_part, "kpt_a_merged.part.0", true },
		{ kpt_piece_z_merged_part, "kpt_z_merged.part.0", true },
#ifndef CONFIG_CFI_CLANG
		{ kpt_piece_marked_cold, "kpt_marked.cold", true },
		{ kpt_piece_noinstr_cold, "kpt_noinstr.cold", true },
		{ kpt_piece_cloned_cold, "kpt_cloned.isra.0.cold", true },
#ifdef CONFIG_X86
		{ kpt_piece_cfi, "__cfi_kpt_not_marked", true },
#endif
#endif
	};
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct kprobe by_name = { .symbol_name = pieces[i].name };
		kpt_fn_t fn = pieces[i].fn;

		ret = register_kprobe(&by_name);
		if (!ret)
			unregister_kprobe(&by_name);
		KUNIT_EXPECT_EQ_MSG(test, ret, pieces[i].refused ? -EINVAL : 0, "%s",
				    pieces[i].name);
		KUNIT_EXPECT_EQ_MSG(test, kpt_refused(fn), pieces[i].refused ? -EINVAL : 0,
				    "%ps", fn);
		OPTIMIZER_HIDE_VAR(fn);
		KUNIT_EXPECT_EQ(test, fn(1), i + 7ul);
	}
}

#ifndef CONFIG_CFI_CLANG
static void __maybe_unused not_called(void)
{
}

/* A function branches to its cold part with its own frame on the stack. */
static void cold_part_is_no_entry(struct kunit *test, const char *name, kpt_fn_t fn)
{
	struct kprobe p = { .symbol_name = name };
#ifdef CONFIG_KRETPROBES
	struct kretprobe rp = { .kp.symbol_name = name };
	struct kretprobe by_addr = { .kp.addr = kpt_text(fn) };
#endif
#ifdef CONFIG_JPROBES
	struct jprobe jp = { .kp.symbol_name = name, .entry = not_called };
#endif
	int ret = register_kprobe(&p);

	KUNIT_EXPECT_EQ(test, ret, 0);
	/* Handlers ask for this to know whether the address is that of a function. */
	KUNIT_EXPECT_FALSE(test, p.flags & KPROBE_FLAG_ON_FUNC_ENTRY);
	if (!ret)
		unregister_kprobe(&p);
	KUNIT_EXPECT_EQ(test, kprobe_on_func_entry(NULL, name, 0), -EINVAL);
#ifdef CONFIG_KRETPROBES
	ret = register_kretprobe(&rp);
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	if (!ret)
		unregister_kretprobe(&rp);
	ret = register_kretprobe(&by_addr);
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	if (!ret)
		unregister_kretprobe(&by_addr);
#endif
#ifdef CONFIG_JPROBES
	ret = register_jprobe(&jp);
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	if (!ret)
		unregister_jprobe(&jp);
#endif
}

static void cold_parts_of_functions_are_no_entries(struct kunit *test)
{
	cold_part_is_no_entry(test, "kpt_plain.cold", kpt_piece_plain_cold);
	cold_part_is_no_entry(test, "kpt_plain.cold.3", kpt_piece_plain_cold_number);
}

#ifdef CONFIG_X86
PIECE(plain_colder, "kpt_plain.colder", 19)
PIECE(plain_cold_name, "kpt_plain.cold.x", 20)
STACK_FRAME_NON_STANDARD(kpt_piece_plain_colder);
STACK_FRAME_NON_STANDARD(kpt_piece_plain_cold_name);

/* The compiler names no part like this. */
static void names_like_those_of_cold_parts_are_entries(struct kunit *test)
{
	static const char * const names[] = { "kpt_plain.colder", "kpt_plain.cold.x" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct kprobe p = { .symbol_name = names[i] };
#ifdef CONFIG_KRETPROBES
		struct kretprobe rp = { .kp.symbol_name = names[i] };

		KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
		unregister_kretprobe(&rp);
#endif
		KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
		KUNIT_EXPECT_TRUE_MSG(test, p.flags & KPROBE_FLAG_ON_FUNC_ENTRY, "%s", names[i]);
		unregister_kprobe(&p);
		KUNIT_EXPECT_EQ_MSG(test, kprobe_on_func_entry(NULL, names[i], 0), 0, "%s",
				    names[i]);
	}
}
#endif
#endif

static void refused_probe_in_a_batch_refuses_the_batch(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, functions[BEFORE_MARKED]);
	struct kpt_probe *bad = kpt_alloc(test, functions[MARKED]);
	struct kprobe *kps[] = { &pr->kp, &bad->kp };
	int ret = register_kprobes(kps, 2);

	if (!ret)
		unregister_kprobes(kps, 2);
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	KUNIT_EXPECT_EQ(test, call(BEFORE_MARKED, 1), 2ul);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
}

#if defined(MODULE) && defined(CONFIG_MODULE_UNLOAD)
/* The module is held only while its text is examined. */
static void refused_probe_does_not_hold_its_module(struct kunit *test)
{
	int refs = module_refcount(THIS_MODULE);

	KUNIT_EXPECT_EQ(test, kpt_refused(functions[MARKED]), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused(functions[IN_SECTION]), -EINVAL);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs);
	kpt_probe(test, functions[BEFORE_MARKED]);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs);
}
#endif

/*
 * Functions on the hit path. Not every kernel has all of them, so an unknown name is
 * not a failure, but a function that can be probed is. The probes are registered
 * disabled, so nothing hits them.
 */
static const struct hit_path {
	const char *name;
} hit_path[] = {
	{ "get_kprobe" },
	{ "kprobe_int3_handler" },
	{ "kprobe_exceptions_notify" },
	{ "kprobe_fault_handler" },
	{ "kprobe_ftrace_handler" },
	{ "kprobes_inc_nmissed_count" },
	{ "rethook_trampoline_handler" },
	{ "arch_rethook_trampoline" },
	{ "arch_rethook_trampoline_callback" },
	{ "__kretprobe_trampoline" },
	{ "notify_die" },
	{ "exc_int3" },
	{ "exc_debug" },
	{ "exc_nmi" },
	{ "exc_double_fault" },
	{ "exc_page_fault" },
	{ "asm_exc_int3" },
	{ "asm_exc_debug" },
	{ "asm_exc_page_fault" },
	{ "asm_exc_general_protection" },
	{ "do_int3" },
	{ "poke_int3_handler" },
	{ "smp_text_poke_int3_handler" },
	{ "error_entry" },
	{ "paranoid_entry" },
	{ "entry_SYSCALL_64" },
	{ "irqentry_nmi_enter" },
	{ "irqentry_nmi_exit" },
	{ "irqentry_enter" },
	{ "irqentry_exit" },
	{ "ct_nmi_enter" },
	{ "ct_irq_enter" },
	{ "bsearch" },
	{ "sched_clock" },
	{ "memcpy" },
	{ "memset" },
	{ "__x86_return_thunk" },
#ifdef CONFIG_KCSAN
	{ "__tsan_write8" },
	{ "kcsan_disable_current" },
#endif
#ifdef CONFIG_KASAN
	{ "__asan_load8" },
	{ "__kasan_check_read" },
#endif
#ifdef CONFIG_KMSAN
	{ "__msan_get_context_state" },
	{ "kmsan_unpoison_entry_regs" },
#endif
#ifdef CONFIG_TRACE_BRANCH_PROFILING
	{ "ftrace_likely_update" },
#endif
#ifdef CONFIG_KGDB_LOW_LEVEL_TRAP
	{ "kgdb_ll_trap" },
#endif
	{ "default_idle" },
};

KUNIT_ARRAY_PARAM_DESC(hit_path, hit_path, name);

static void hit_path_function_is_refused(struct kunit *test)
{
	const struct hit_path *fn = test->param_value;
	struct kprobe p = {
		.symbol_name = fn->name,
		.flags = KPROBE_FLAG_DISABLED,
	};
	int ret;

	if (!IS_ENABLED(CONFIG_X86))
		kunit_skip(test, "names what x86 needs");
	ret = register_kprobe(&p);
	if (!ret)
		unregister_kprobe(&p);
	if (ret == -ENOENT)
		kunit_skip(test, "not in this kernel");
	KUNIT_EXPECT_LT(test, ret, 0);
}

/* Every address in the function is refused; this tries the first bytes. */
static void inside_a_hit_path_function_is_refused(struct kunit *test)
{
	static const char * const names[] = {
		"exc_int3", "kprobe_int3_handler", "get_kprobe", "asm_exc_int3",
		"exc_debug", "irqentry_nmi_enter",
#ifdef CONFIG_PPC
		"interrupt_exit_kernel_prepare",
#endif
#ifdef CONFIG_RISCV
		"riscv_v_context_nesting_start", "riscv_v_context_nesting_end",
#endif
#ifdef CONFIG_S390
		"probe_get_fixup_type",
#endif
#ifdef CONFIG_LOONGARCH
		"arch_simulate_insn", "simu_pc", "simu_branch",
#endif
	};
	unsigned int i, offset, there = 0;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		bool found = false;

		for (offset = 1; offset < 16; offset++) {
			struct kprobe p = {
				.symbol_name = names[i],
				.offset = offset,
				.flags = KPROBE_FLAG_DISABLED,
			};
			int ret = register_kprobe(&p);

			if (!ret)
				unregister_kprobe(&p);
			KUNIT_EXPECT_LT_MSG(test, ret, 0, "%s+%u", names[i], offset);
			found |= ret != -ENOENT;
		}
		there += found;
	}
	/* All have get_kprobe(), and some have one that is always there. */
	KUNIT_EXPECT_GE(test, there, IS_ENABLED(CONFIG_X86) ? ARRAY_SIZE(names) :
			1 + (IS_ENABLED(CONFIG_PPC) || IS_ENABLED(CONFIG_S390)));
}

/*
 * Text that executes where no handler may run, text that ftrace copies, and the
 * padding before functions, in which x86 counts calls.
 */
static const struct hit_path out_of_bounds[] = {
#ifdef CONFIG_X86
	/* On other architectures it switches stacks in assembly, if at all. */
	{ "__switch_to" },
	/* Run by a CPU that comes online, or has gone offline. */
#ifdef CONFIG_X86_64
	{ "secondary_startup_64" },
	{ "secondary_startup_64_no_verify" },
	{ "verify_cpu" },
	{ "early_setup_idt" },
#else
	{ "startup_32_smp" },
#endif
	{ "start_secondary" },
	{ "cpuhp_ap_sync_alive" },
	{ "cr4_init" },
	{ "cpu_init_exception_handling" },
	{ "load_current_idt" },
	{ "native_write_cr0" },
	{ "native_write_cr4" },
	{ "do_trace_write_msr" },
	/* Its last instructions come after exit_to_user_mode(). */
	{ "ret_from_fork_asm" },
	{ "native_play_dead" },
	{ "hlt_play_dead" },
#endif
	{ "__switch_to_asm" },
	{ "ftrace_caller" },
	{ "ftrace_caller_op_ptr" },
	{ "ftrace_call" },
	{ "ftrace_caller_end" },
	{ "ftrace_regs_caller" },
	{ "ftrace_regs_caller_op_ptr" },
	{ "ftrace_regs_call" },
	{ "ftrace_regs_caller_jmp" },
	{ "ftrace_regs_caller_end" },
	{ "__pfx_do_int3" },
	{ "__pfx_vfs_read" },
	{ "__pfx_kpt_before_marked" },
	{ "__pfx_kpt_marked" },
	{ "__cfi_vfs_read" },
};

KUNIT_ARRAY_PARAM_DESC(out_of_bounds, out_of_bounds, name);

/* At every byte: none may be accepted. */
static void text_out_of_bounds_is_refused(struct kunit *test)
{
	const struct hit_path *fn = test->param_value;

	if (!kpt_all_refused(test, fn->name, 8))
		kunit_skip(test, "not in this kernel");
}

#ifdef CONFIG_X86
/*
 * A byte more than the largest alignment of functions takes, and as much. objtool gives NOPs
 * before a function a symbol of their own, so there are none in between.
 */
asm(".pushsection .text, \"ax\"\n"
	".type __pfx_kpt_longer, @function\n"
	"__pfx_kpt_longer: .skip 65, 0x90\n"
	".size __pfx_kpt_longer, . - __pfx_kpt_longer\n"
	"kpt_after_longer: .skip 16, 0xcc\n"
	".type __pfx_kpt_padded, @function\n"
	"__pfx_kpt_padded: .skip 64, 0x90\n"
	".size __pfx_kpt_padded, . - __pfx_kpt_padded\n"
	"kpt_after_padding: int3\n"
	".popsection");

/*
 * With kCFI, the padding has no symbol if nothing takes the address of the function. Calls are
 * counted there, too, with "retbleed=stuff" on an old CPU.
 */
static noinline notrace __used unsigned long kpt_before_direct(unsigned long arg)
{
	OPTIMIZER_HIDE_VAR(arg);
	barrier();
	return KPT_RESULT(arg);
}

static noinline notrace __used unsigned long kpt_direct(unsigned long arg)
{
	OPTIMIZER_HIDE_VAR(arg);
	barrier();
	return KPT_RESULT(arg);
}

#ifdef CONFIG_CALL_PADDING
#define PADDING		CONFIG_FUNCTION_PADDING_BYTES
#define ASM_PADDING	CONFIG_FUNCTION_ALIGNMENT
#else
#define PADDING		0
#define ASM_PADDING	0
#endif

static void check_padding_is_refused(struct kunit *test)
{
	void *in_asm = kprobe_test_symbol("kpt_asm_extends");
	void *before = kprobe_test_symbol("kpt_before_direct");
	void *fn = kprobe_test_symbol("kpt_direct");
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, before);
	KUNIT_ASSERT_NOT_NULL(test, fn);
	KUNIT_EXPECT_EQ(test, kpt_before_direct(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, kpt_refused(before), 0);
	KUNIT_EXPECT_EQ(test, kpt_direct(7), KPT_RESULT(7ul));
	for (i = 1; i <= PADDING; i++)
		KUNIT_EXPECT_LT_MSG(test, kpt_refused(fn - i), 0, "%u bytes before it", i);
	KUNIT_EXPECT_EQ(test, kpt_refused(fn), 0);
	KUNIT_ASSERT_NOT_NULL(test, in_asm);
	for (i = 1; i <= ASM_PADDING; i++)
		KUNIT_EXPECT_LT_MSG(test, kpt_refused(in_asm - i), 0, "%u bytes before it", i);
	KUNIT_EXPECT_EQ(test, kpt_refused(in_asm), 0);
}

static void padding_is_refused_up_to_its_longest(struct kunit *test)
{
	/* Not by relocations: these are no targets of indirect branches. */
	void *padded = kprobe_test_symbol("__pfx_kpt_padded");
	void *longer = kprobe_test_symbol("__pfx_kpt_longer");

	KUNIT_ASSERT_NOT_NULL(test, padded);
	KUNIT_ASSERT_NOT_NULL(test, longer);
	KUNIT_EXPECT_EQ(test, kpt_refused(padded), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused(padded + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused(padded + 63), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused(longer), 0);
	check_padding_is_refused(test);
}
#endif

static void check_names(struct kunit *test, const char * const *names, unsigned int nr,
			unsigned int at_least)
{
	unsigned int i, found = 0;

	for (i = 0; i < nr; i++)
		found += kpt_all_refused(test, names[i], 4);
	KUNIT_EXPECT_GE(test, found, at_least);
	kunit_info(test, "%u of %u are in this kernel", found, nr);
}

#ifdef CONFIG_X86
/*
 * The same for more functions, most of which exist only in some kernels or for some CPUs.
 * At least their first bytes are refused.
 */
static const char * const more_out_of_bounds[] = {
	/*
	 * Thunks and helpers of compiled code, tracers of NMIs, and what asks a debugger: all
	 * run before a hit is recognised.
	 */
	"preempt_schedule_notrace", "dynamic_preempt_schedule_notrace",
	"trace_hwlat_callback", "get_cpu_data", "trace_osnoise_callback", "trace_clock_local",
	"sched_clock", "kgdb_ll_trap", "__kgdb_notify",
	"__x86_return_thunk", "its_return_thunk", "call_depth_return_thunk",
	"retbleed_return_thunk", "retbleed_untrain_ret", "srso_return_thunk",
	"srso_untrain_ret", "srso_safe_ret", "srso_alias_return_thunk",
	"srso_alias_untrain_ret", "srso_alias_safe_ret", "entry_untrain_ret",
	"__x86_indirect_thunk_array", "__x86_indirect_call_thunk_array",
	"__x86_indirect_jump_thunk_array", "__x86_indirect_its_thunk_array",
#ifdef CONFIG_X86_64
	"__x86_indirect_thunk_rax", "__x86_indirect_thunk_rcx", "__x86_indirect_thunk_rdx",
	"__x86_indirect_thunk_rbx", "__x86_indirect_thunk_rbp", "__x86_indirect_thunk_rsi",
	"__x86_indirect_thunk_rdi", "__x86_indirect_thunk_r8", "__x86_indirect_thunk_r9",
	"__x86_indirect_thunk_r10", "__x86_indirect_thunk_r11", "__x86_indirect_thunk_r12",
	"__x86_indirect_thunk_r13", "__x86_indirect_thunk_r14", "__x86_indirect_thunk_r15",
	"__x86_indirect_call_thunk_rax", "__x86_indirect_call_thunk_r15",
	"__x86_indirect_jump_thunk_rax", "__x86_indirect_jump_thunk_r15",
	"__x86_indirect_its_thunk_rax", "__x86_indirect_its_thunk_r15",
#else
	"__x86_indirect_thunk_eax", "__x86_indirect_thunk_ecx", "__x86_indirect_thunk_edx",
	"__x86_indirect_thunk_ebx", "__x86_indirect_thunk_ebp", "__x86_indirect_thunk_esi",
	"__x86_indirect_thunk_edi",
	/* The compiler calls them for structures. */
	"memcpy", "memset", "memmove",
#endif
	/* These run with other page tables, or from a copy. */
	"relocate_range", "relocate_kernel", "identity_mapped", "virtual_mapped",
	"swap_pages", "restore_image", "core_restore_code", "restore_registers",
	/* The jump in this one must fault, and would not if it were emulated. */
	"ibt_selftest", "ibt_selftest_noendbr",
	/* Entry code of guests of Xen, and what runs on a small stack. */
	"xen_iret", "xenpv_restore_regs_and_return_to_usermode", "xen_entry_SYSCALL_64",
	"xen_entry_SYSCALL_compat", "xen_entry_SYSENTER_compat", "__efi64_thunk",
	/* A handler there could raise the exception that it is about. */
	"tdx_get_ve_info",
	/* Its code segment begins at its address. */
	"pnp_bios_callfunc",
	/* Run by a CPU that comes online, goes offline, sleeps, or boots another kernel. */
	"common_startup_64", "sev_verify_cbit", "soft_restart_cpu", "vc_boot_ghcb",
	"handle_vc_boot_ghcb", "startup_64_load_idt", "setup_ghcb", "cr4_update_irqsoff",
	"cpu_init_fred_exceptions", "cpu_init_fred_rsps", "native_load_idt",
	"native_load_gdt", "native_load_tr_desc", "native_write_gdt_entry",
	"native_write_msr", "native_write_cr3", "cpuhp_ap_report_dead", "play_dead_common",
	"mwait_play_dead", "arch_cpu_idle_dead", "wakeup_long64", "wakeup_pmode_return",
	"wakeup_start", "ret_point", "do_suspend_lowlevel", "restore_processor_state",
	"__restore_processor_state",
	"create_image", "machine_kexec", "load_segments", "native_idt_invalidate",
	"native_gdt_invalidate", "idt_invalidate", "snp_register_ghcb_early",
	"snp_register_per_cpu_ghcb", "hv_vtl_ap_entry", "load_ucode_ap",
	"load_ucode_intel_ap", "load_ucode_amd_ap", "asm_cpu_bringup_and_idle",
	"xen_cpu_bringup_again", "cpu_bringup_and_idle", "cpu_bringup",
	"early_cpu_to_node", "__phys_addr", "cr4_set_bits", "wrmsrl", "trace_write_msr",
	"set_tssldt_descriptor", "load_direct_gdt", "load_fixmap_gdt",
	/* Called by a CPU that has gone offline. */
	"cpuidle_play_dead", "cpuidle_get_cpu_driver", "tboot_shutdown",
	"resume_play_dead", "sev_es_play_dead", "sev_es_ap_hlt_loop",
	"acpi_mp_play_dead", "asm_acpi_mp_play_dead", "xen_pv_play_dead",
};

/* These are marked or in a section that is refused. */
static const char * const marked_out_of_bounds[] = {
	"acpi_idle_play_dead",
#ifdef CONFIG_X86_64
	"memcpy", "memset", "memmove",
#endif
};

/* The first functions of each kind of instrumentation, and which kernels have it. */
static const struct {
	const char *name;
	bool on;
} instrumentation[] = {
	{ "__sanitizer_cov_trace_pc", IS_ENABLED(CONFIG_KCOV) },
	{ "ftrace_likely_update", IS_ENABLED(CONFIG_TRACE_BRANCH_PROFILING) },
	{ "trace_likely_condition", IS_ENABLED(CONFIG_TRACE_BRANCH_PROFILING) },
	{ "__msan_get_context_state", IS_ENABLED(CONFIG_KMSAN) },
	{ "kmsan_unpoison_entry_regs", IS_ENABLED(CONFIG_KMSAN) },
	{ "vmalloc_meta", IS_ENABLED(CONFIG_KMSAN) },
	{ "virt_to_page_or_null", IS_ENABLED(CONFIG_KMSAN) },
	{ "page_has_metadata", IS_ENABLED(CONFIG_KMSAN) },
	{ "shadow_ptr_for", IS_ENABLED(CONFIG_KMSAN) },
	{ "origin_ptr_for", IS_ENABLED(CONFIG_KMSAN) },
	{ "set_no_shadow_origin_page", IS_ENABLED(CONFIG_KMSAN) },
	{ "pfn_valid", IS_ENABLED(CONFIG_KMSAN) },
	{ "__asan_load8", IS_ENABLED(CONFIG_KASAN) },
	{ "__hwasan_load8_noabort", IS_ENABLED(CONFIG_KASAN) },
	{ "kasan_check_range", IS_ENABLED(CONFIG_KASAN) },
	{ "__kasan_check_read", IS_ENABLED(CONFIG_KASAN) },
	{ "__tsan_write8", IS_ENABLED(CONFIG_KCSAN) },
	{ "kcsan_disable_current", IS_ENABLED(CONFIG_KCSAN) },
	{ "__kcsan_check_access", IS_ENABLED(CONFIG_KCSAN) },
};

/* Kernels with other options have the rest, so their names are looked up. */
static void check_names_of_others(struct kunit *test, const char * const *names,
				  unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_TRUE_MSG(test, kprobe_test_refused_by_name(names[i], true), "%s",
				      names[i]);
}

static void check_instrumentation(struct kunit *test)
{
	const char *name;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(instrumentation); i++) {
		name = instrumentation[i].name;
		KUNIT_EXPECT_TRUE_MSG(test, kprobe_test_refused_by_name(name, true), "%s", name);
		KUNIT_EXPECT_EQ_MSG(test, kprobe_test_refused_by_name(name, false),
				    instrumentation[i].on, "%s", name);
	}
}

static void more_text_out_of_bounds_is_refused(struct kunit *test)
{
	/* A small kernel without mitigations has only 10 of them, or 6 on 32 bits. */
	check_names(test, more_out_of_bounds, ARRAY_SIZE(more_out_of_bounds), 6);
	check_names(test, marked_out_of_bounds, ARRAY_SIZE(marked_out_of_bounds),
		    IS_ENABLED(CONFIG_X86_64) ? 3 : 0);
	check_names_of_others(test, more_out_of_bounds, ARRAY_SIZE(more_out_of_bounds));
	check_instrumentation(test);
	KUNIT_EXPECT_FALSE(test, kprobe_test_refused_by_name("vfs_read", true));
}

/* What handles #VC when a CPU comes online. */
static const char * const vc_path[] = {
	"vc_raw_handle_exception", "vc_init_em_ctxt", "vc_decode_insn", "__vc_decode_kern_insn",
	"vc_fetch_insn_kernel", "vc_check_opcode_bytes", "vc_handle_exitcode", "vc_handle_msr",
	"vc_handle_cpuid", "vc_handle_cpuid_snp", "vc_finish_insn", "snp_cpuid",
	"snp_cpuid_get_table", "snp_cpuid_get_validated_func", "snp_cpuid_postprocess",
	"snp_cpuid_calc_xsave_size", "snp_cpuid_hv", "sev_cpuid_hv", "__sev_cpuid_hv",
	"__sev_cpuid_hv_msr", "__sev_cpuid_hv_ghcb", "sev_es_ghcb_hv_call",
	"verify_exception_info", "copy_from_kernel_nofault",
	"copy_from_kernel_nofault_allowed", "insn_decode", "insn_init", "insn_get_prefixes",
	"insn_get_emulate_prefix", "__insn_get_emulate_prefix", "insn_get_opcode",
	"insn_get_modrm", "insn_get_sib", "insn_get_displacement", "insn_get_immediate",
	"__get_moffset", "__get_immv32", "__get_immv", "__get_immptr", "insn_get_length",
	"inat_get_opcode_attribute", "inat_get_last_prefix_id", "inat_get_escape_attribute",
	"inat_get_group_attribute", "inat_get_avx_attribute",
};

static void path_of_vc_is_refused_in_encrypted_guests_only(struct kunit *test)
{
	bool refused = cc_platform_has(CC_ATTR_GUEST_STATE_ENCRYPT);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vc_path); i++)
		KUNIT_EXPECT_EQ_MSG(test, kprobe_test_refused_by_name(vc_path[i], true),
				    refused, "%s", vc_path[i]);
}

/*
 * Functions that run in a hit, a fault of a handler, a stack walk or at the end of a task,
 * but are called through pointers only, so hitpath.py does not see them.
 */
static const char * const called_by_pointer[] = {
	"kretprobe_calls_pre", "kretprobe_calls_pre_plain", "kretprobe_calls_pre_low",
	"kretprobe_pool_search", "kretprobe_pool_low", "kretprobe_pool_attend",
	"pool_ask_worker", "pool_drop", "pool_watch", "kretprobe_calls_find",
	"calls_find_in_other_task", "calls_skip_abandoned", "__kretprobe_trampoline_handler",
	"kretprobe_run_handler", "get_kretprobe", "get_kretprobe_retaddr", "kprobe_flush_task",
	"count_hit", "kprobe_run_pre", "kprobe_run_all_pre", "kprobe_run_post",
	"kprobe_run_fault", "kprobe_has_fault", "kprobe_fault_abandon", "kprobe_abandon",
	"kprobe_busy_begin", "kprobe_busy_end", "jprobe_pre", "jprobe_return", "jprobe_abandon",
	"arch_jprobe_call", "arch_jprobe_leave", "x86_jprobe_call", "x86_jprobe_leave",
	"kprobe_die", "dump_kprobe", "arch_trampoline_kprobe", "kprobe_unwind",
	"x86_detour_unwind", "x86_detour_at", "x86_copy_at", "x86_detour_trap",
	"is_kprobe_insn_slot", "is_kprobe_optinsn_slot", "kprobe_leave_copy",
	"kprobe_original_ip", "int3_in_emulation", "int3_fault_handled", "int3_tell_original",
	"int3_emulate_insn", "int3_run_post", "int3_step", "int3_late", "kprobe_ftrace_hit",
	"kprobe_ftrace_call_hit", "kprobe_ftrace_handle_nested", "kprobe_ftrace_moving",
	"arch_kprobe_ftrace_leave", "x86_emulate", "emulate_X86_NOP", "emulate_X86_JMP",
	"emulate_X86_JCC", "emulate_X86_PUSH_REG", "emulate_X86_PUSH_IMM",
	"emulate_X86_POP_REG", "emulate_X86_MOV_REG", "emulate_X86_MOV_IMM", "emulate_X86_LEA",
	"detour_leave", "kprobe_ftrace_trampoline", "kprobe_ftrace_return",
	"kprobe_ftrace_return_far", "__kretprobe_trampoline", "kprobe_miss_post",
	"kretprobe_return",
};

static void function_that_is_called_by_pointer_is_refused(struct kunit *test)
{
	/* Compilers may inline those that are static. */
	check_names(test, called_by_pointer, ARRAY_SIZE(called_by_pointer), 10);
}

/**
 * struct named - how many of the functions above have been found
 * @test:  the case
 * @whole: those under their own names
 * @made:  those under names that a compiler has derived from them
 */
struct named {
	struct kunit *test;
	unsigned int whole;
	unsigned int made;
};

static bool is_out_of_bounds(const char *name, size_t len)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(more_out_of_bounds); i++) {
		if (!strncmp(more_out_of_bounds[i], name, len) && !more_out_of_bounds[i][len])
			return true;
	}
	for (i = 0; i < ARRAY_SIZE(out_of_bounds); i++) {
		if (!strncmp(out_of_bounds[i].name, name, len) && !out_of_bounds[i].name[len])
			return true;
	}
	return false;
}

static int check_named(void *arg, const char *name, unsigned long addr)
{
	struct kprobe p = { .addr = (kprobe_opcode_t *)addr, .flags = KPROBE_FLAG_DISABLED };
	size_t len = strcspn(name, ".");
	struct named *named = arg;
	int ret;

	if (!is_out_of_bounds(name, len))
		return 0;
	if (name[len])
		named->made++;
	else
		named->whole++;
	ret = register_kprobe(&p);
	if (!ret)
		unregister_kprobe(&p);
	KUNIT_EXPECT_EQ_MSG(named->test, ret, -EINVAL, "%s", name);
	return 0;
}

/* However many functions of the name there are, with all their pieces and clones. */
static void all_text_of_a_name_out_of_bounds_is_refused(struct kunit *test)
{
	struct named named = { .test = test };

	KUNIT_EXPECT_EQ(test, kprobe_test_each_symbol(check_named, &named), 0);
	KUNIT_EXPECT_GT(test, named.whole, ARRAY_SIZE(more_out_of_bounds) / 8);
	kunit_info(test, "%u, and %u that a compiler has made", named.whole, named.made);
}
#endif

#ifndef CONFIG_X86
/* Labels of the code that calls tracers. On x86, hits are recognised before that runs. */
static void labels_of_ftrace_callers_are_refused(struct kunit *test)
{
	static const char * const ftrace_callers[] = {
		"ftrace_caller", "ftrace_call", "ftrace_regs_caller", "ftrace_regs_call",
		"ftrace_common", "ftrace_common_return", "ftrace_no_trace", "ftrace_stub",
		"ftrace_stub_graph", "ftrace_stub_direct_tramp", "ftrace_caller_direct",
		"ftrace_caller_direct_late", "ftrace_graph_call", "ftrace_graph_regs_call",
		"ftrace_graph_caller", "ftrace_graph_regs_caller", "ftrace_graph_stub",
		"return_to_handler", "livepatch_handler", "ftrace_tramp_text", "ftrace_tramp_init",
		"ftrace_function_trampoline", "_mcount", "__gnu_mcount_nc", "mcount",
		"mcount_call", "skip_trace", "skip_ftrace", "fgraph_trace",
	};

	if (!IS_ENABLED(CONFIG_FUNCTION_TRACER))
		kunit_skip(test, "no function tracer in this kernel");
	check_names(test, ftrace_callers, ARRAY_SIZE(ftrace_callers), 2);
}
#endif

#ifdef CONFIG_MIPS
/* From the exception to the point and back, and what runs with EXL set. */
static void path_of_breakpoints_is_refused(struct kunit *test)
{
	static const char * const names[] = {
		"handle_bp", "handle_bp_int", "do_bp", "notify_die", "kprobe_exceptions_notify",
		"kprobe_handler", "post_kprobe_handler", "kprobe_fault_handler",
		"save_previous_kprobe", "restore_previous_kprobe", "set_current_kprobe",
		"prepare_singlestep", "evaluate_branch_instruction",
		"__compute_return_epc_for_insn", "ret_from_exception", "ret_from_irq",
		"__ret_from_irq", "resume_kernel", "restore_all", "restore_partial",
		"handle_int", "handle_sys", "handle_tlbl", "handle_tlbs", "handle_tlbm",
		"handle_ri", "tlb_do_page_fault_0", "tlb_do_page_fault_1",
		"tlbmiss_handler_setup_pgd", "arch_local_irq_disable", "arch_local_irq_save",
		"arch_local_irq_restore",
	};

	check_names(test, names, ARRAY_SIZE(names), 16);
}
#endif

/* As many as there may be between the two. */
#define LINKED_FAR	".rept	29\n\tnop\n\t.endr\n"
#if defined(CONFIG_ARM64)
#define LINKED_PAIR	"ldxr	%w0, [%2]\n\t"			\
			"add	%w0, %w0, #1\n\t"		\
			LINKED_FAR				\
	"kpt_linked_store: stxr	%w1, %w0, [%2]\n"		\
	"kpt_linked_after: cbnz	%w1, kpt_linked_load"
#elif defined(CONFIG_ARM) && !defined(CONFIG_THUMB2_KERNEL) && __LINUX_ARM_ARCH__ >= 6
#define LINKED_PAIR	"ldrex	%0, [%2]\n\t"			\
			"add	%0, %0, #1\n\t"			\
			LINKED_FAR				\
	"kpt_linked_store: strex	%1, %0, [%2]\n"	\
	"kpt_linked_after: teq	%1, #0\n\t"			\
			"bne	kpt_linked_load"
#elif defined(CONFIG_MIPS) && !defined(CONFIG_CPU_R3000)
#define LINKED_PAIR	"ll	%0, 0(%2)\n\t"			\
			"addiu	%1, %0, 1\n\t"			\
			LINKED_FAR				\
	"kpt_linked_store: sc	%1, 0(%2)\n"			\
	"kpt_linked_after: beqz	%1, kpt_linked_load\n\t"	\
			"addiu	%0, %0, 1"
#elif defined(CONFIG_PPC)
#define LINKED_PAIR	"lwarx	%0, 0, %2\n\t"			\
			"addi	%0, %0, 1\n\t"			\
			LINKED_FAR				\
	"kpt_linked_store: stwcx.	%0, 0, %2\n"		\
	"kpt_linked_after: bne-	kpt_linked_load"
#elif defined(CONFIG_RISCV)
#define LINKED_PAIR	"lr.w	%0, (%2)\n\t"			\
			"addi	%0, %0, 1\n\t"			\
			LINKED_FAR				\
	"kpt_linked_store: sc.w	%1, %0, (%2)\n"		\
	"kpt_linked_after: bnez	%1, kpt_linked_load"
#endif

#ifdef LINKED_PAIR
#ifdef CONFIG_MIPS
#define LINKED_BEGIN	".set push\n\t.set noreorder\n"
#define LINKED_END	".set pop"
#else
#define LINKED_BEGIN	""
#define LINKED_END	""
#endif

extern char kpt_linked_before[], kpt_linked_load[], kpt_linked_store[], kpt_linked_after[];

static noinline __noclone notrace u32 linked_increment(u32 *at)
{
	unsigned long failed;
	u32 value = 0;

	asm volatile(LINKED_BEGIN
		     "kpt_linked_before: nop\n"
		     "kpt_linked_load: " LINKED_PAIR "\n\t"
		     LINKED_END
#ifdef CONFIG_PPC
		     /* As an operand of addi, r0 is zero. */
		     : "+&b" (value), "=&r" (failed)
#else
		     : "+&r" (value), "=&r" (failed)
#endif
		     : "r" (at) : "cc", "memory");
	return value;
}

/* The store would fail after each hit, and the loop would never end. */
static void between_linked_load_and_store_is_refused(struct kunit *test)
{
	struct kpt_probe *before, *after;
	char *at;
	u32 n = 6;

	/* As far apart as in the longest loops of the kernel. */
	KUNIT_EXPECT_GE(test, kpt_linked_store - kpt_linked_load, 32);
	for (at = kpt_linked_load; at < kpt_linked_after; at++)
		KUNIT_EXPECT_LT_MSG(test, kpt_refused(at), 0, "at %td", at - kpt_linked_load);
	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_linked_load), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_linked_load + 4), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_linked_store), -EINVAL);

	before = kpt_probe(test, kpt_linked_before);
	after = kpt_probe(test, kpt_linked_after);
	KUNIT_EXPECT_EQ(test, linked_increment(&n), 7);
	KUNIT_EXPECT_EQ(test, n, 7);
	KUNIT_EXPECT_EQ(test, before->pre, 1);
	/* An interrupt between the two has the same effect as a hit there. */
	KUNIT_EXPECT_GE(test, after->pre, 1);
}
#endif

#ifdef CONFIG_MIPS
extern char kpt_status_read[], kpt_status_write[], kpt_status_branch[], kpt_status_after[];

static noinline __noclone notrace unsigned long status_twice(void)
{
	unsigned long status;

	asm volatile(".set push\n\t.set noreorder\n"
	"kpt_status_read: mfc0	%0, $12\n\t"
			"nop\n"
	"kpt_status_write: mtc0	%0, $12\n\t"
			".rept	4\n\tnop\n\t.endr\n"
	"kpt_status_branch: b	kpt_status_after\n\t"
			"mfc0	%0, $12\n"
	"kpt_status_after: mfc0	$0, $9\n\t"
			".set pop"
		     : "=&r" (status) : : "memory");
	return status;
}

/* Copies run with interrupts off. Another register of the same coprocessor may be read. */
static void access_to_the_status_is_refused(struct kunit *test)
{
	struct kpt_probe *after;

	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_status_read), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_status_write), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_status_branch), -EINVAL);

	after = kpt_probe(test, kpt_status_after);
	KUNIT_EXPECT_TRUE(test, status_twice() & 1);
	KUNIT_EXPECT_EQ(test, after->pre, 1);
}
#endif

#ifdef CONFIG_SPARC64
extern char kpt_pil_read[], kpt_pil_write[], kpt_annuls[], kpt_branch[], kpt_slot[], kpt_target[];

static noinline __noclone notrace unsigned long branches(unsigned long arg)
{
	unsigned long pil, sum = 0;

	asm volatile("kpt_pil_read: rdpr	%%pil, %0\n"
		     "kpt_pil_write: wrpr	%0, 0, %%pil\n"
		     "kpt_annuls: ba,a,pt	%%xcc, kpt_branch\n\t"
		     "add	%1, 1000, %1\n"
		     "kpt_branch: brz,pt	%2, kpt_target\n"
		     "kpt_slot: add	%1, 1, %1\n\t"
		     "add	%1, 10, %1\n"
		     "kpt_target: add	%1, 100, %1"
		     : "=&r" (pil), "+&r" (sum) : "r" (arg) : "memory");
	return sum;
}

/* Copies run with interrupts off. The step of a branch that annuls its slot would not end. */
static void branches_are_stepped_or_refused(struct kunit *test)
{
	void *probed[] = { kpt_branch, kpt_slot, kpt_target };
	struct kpt_probe *pr;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_pil_read), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_pil_write), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_annuls), -EINVAL);
	for (i = 0; i < ARRAY_SIZE(probed); i++) {
		pr = kpt_probe_post(test, probed[i]);
		KUNIT_EXPECT_EQ_MSG(test, branches(0), 101ul, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, branches(1), 111ul, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, pr->post, 2, "%u", i);
		kpt_unregister(test, pr);
	}
}
#endif

#ifdef CONFIG_PARISC
extern char kpt_clears[], kpt_cleared[], kpt_not_cleared[], kpt_relative[], kpt_returns[],
	    kpt_leaves[];

static noinline __noclone notrace unsigned long branches(unsigned long arg)
{
	unsigned long sum = 0;

	asm volatile("kpt_clears: comclr,=	%1, %%r0, %%r0\n"
		     "kpt_cleared: ldo	10(%0), %0\n"
		     "kpt_not_cleared: ldo	100(%0), %0\n"
		     "kpt_relative: b,n	1f\n"
		     "kpt_returns: bv,n	%%r0(%%rp)\n"
		     "kpt_leaves: be,n	0(%%sr4, %%rp)\n"
		     "1:"
		     : "+&r" (sum) : "r" (arg) : "memory");
	return sum;
}

/* A branch that nullifies the instruction after it would not end the step. */
static void branches_are_stepped_or_refused(struct kunit *test)
{
	void *probed[] = { kpt_clears, kpt_cleared, kpt_not_cleared };
	struct kpt_probe *pr;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_relative), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_returns), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_leaves), -EINVAL);
	for (i = 0; i < ARRAY_SIZE(probed); i++) {
		pr = kpt_probe_post(test, probed[i]);
		KUNIT_EXPECT_EQ_MSG(test, branches(0), 100ul, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, pr->post, probed[i] != kpt_cleared, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, branches(1), 110ul, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, pr->post, 1 + (probed[i] != kpt_cleared), "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, pr->pre, pr->post, "%u", i);
		KUNIT_EXPECT_EQ(test, preempt_count(), 0);
		kpt_unregister(test, pr);
	}
}
#endif

#ifdef CONFIG_CPU_SH4
/* From the exception to the point and back, and what a step runs before the probe is shown. */
static void path_of_breakpoints_is_refused(struct kunit *test)
{
	static const char * const names[] = {
		"general_exception", "handle_exception", "debug_trap", "debug_trap_handler",
		"notify_die", "kprobe_exceptions_notify", "kprobe_handler", "post_kprobe_handler",
		"prepare_singlestep", "finish_singlestep", "kprobe_fault_handler",
		"arch_arm_kprobe", "arch_disarm_kprobe", "flush_icache_range",
		"sh4_flush_icache_range", "ret_from_exception", "restore_all", "tlb_miss_load",
		"handle_tlbmiss", "__update_tlb", "__update_cache", "local_flush_tlb_one",
		"do_page_fault", "vmalloc_fault", "arch_local_irq_restore",
		"arch_local_save_flags",
	};

	check_names(test, names, ARRAY_SIZE(names), 18);
}
#endif

#ifdef CONFIG_SUPERH
extern char kpt_sr_read[], kpt_sr_write[], kpt_sr_slot[], kpt_sleeps[], kpt_loop[], kpt_loops[],
	    kpt_back[], kpt_forth[], kpt_again[], kpt_self[];

static noinline __noclone notrace unsigned long branches(unsigned long times)
{
	unsigned long sum = 0, sr;

	asm volatile("kpt_sr_read: stc	sr, %2\n"
		     "kpt_sr_write: ldc	%2, sr\n\t"
		     "bra	1f\n\t"
		     "nop\n"
		     "kpt_sleeps: sleep\n"
		     "kpt_sr_slot: bra	1f\n\t"
		     "ldc	%2, sr\n"
		     "1:\n"
		     "kpt_loop: add	#1, %0\n\t"
		     "dt	%1\n"
		     "kpt_loops: bf	kpt_loop\n\t"
		     "bra	3f\n\t"
		     "mov	#3, %1\n"
		     "kpt_forth: bra	4f\n\t"
		     "add	#10, %0\n"
		     "3:\n"
		     "kpt_back: bra	kpt_forth\n\t"
		     "add	#20, %0\n"
		     "4:	dt	%1\n"
		     "kpt_again: bf/s	4b\n\t"
		     "add	#100, %0\n\t"
		     "mov	#3, %1\n\t"
		     "clrt\n"
		     "kpt_self: bf/s	kpt_self\n\t"
		     "dt	%1"
		     : "+&r" (sum), "+&r" (times), "=&r" (sr) : : "t", "memory");
	return sum;
}

static noinline __noclone notrace unsigned long restores(unsigned long flags)
{
	arch_local_irq_restore(flags);
	return flags + 1;
}

/* The handling of a breakpoint calls the same function. */
static void check_call_on_the_path(struct kunit *test)
{
	u16 *jsr = (u16 *)kpt_text(restores);
	unsigned long flags = arch_local_save_flags();
	struct kpt_probe *pr;
	unsigned int i;

	for (i = 0; i < 32 && (*jsr & 0xf0ff) != 0x400b; i++)
		jsr++;
	KUNIT_ASSERT_LT(test, i, 32);
	pr = kpt_probe_post(test, jsr);
	KUNIT_EXPECT_EQ(test, restores(flags), flags + 1);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
	KUNIT_EXPECT_EQ(test, pr->post_regs.pr, pr->pre_regs.pc + 4);
	kpt_unregister(test, pr);
}

/* A step keeps interrupts masked. Displacements are signed. */
static void branches_are_stepped_or_refused(struct kunit *test)
{
	static const struct {
		void *at;
		unsigned int hits;
	} probed[] = {
		{ kpt_loop, 4 }, { kpt_loops, 4 }, { kpt_back, 1 }, { kpt_forth, 1 },
		{ kpt_again, 3 }, { kpt_self, 4 },
	};
	struct kpt_probe *pr;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_sr_read), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_sr_write), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_sr_slot), -EINVAL);
	KUNIT_EXPECT_EQ(test, kpt_refused(kpt_sleeps), -EINVAL);
	for (i = 0; i < ARRAY_SIZE(probed); i++) {
		pr = kpt_probe_post(test, probed[i].at);
		KUNIT_EXPECT_EQ_MSG(test, branches(4), 334ul, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, pr->pre, probed[i].hits, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, pr->post, probed[i].hits, "%u", i);
		/* It ends with the step. */
		KUNIT_EXPECT_EQ(test, pr->pre_regs.sr & SR_IMASK, 0ul);
		KUNIT_EXPECT_EQ(test, pr->post_regs.sr & SR_IMASK, 0ul);
		KUNIT_EXPECT_FALSE(test, irqs_disabled());
		kpt_unregister(test, pr);
	}
	check_call_on_the_path(test);
}
#endif

/* Handlers may call functions that must not be probed. */
static int call_blacklisted(struct kpt_probe *pr, struct pt_regs *regs)
{
	*(unsigned long *)pr->arg = call(MARKED, 1) + call(NOINSTR, 1);
	return 0;
}

static void blacklisted_function_may_be_called_by_handlers(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, kpt_plain);
	unsigned long seen = 0;

	pr->on_pre = call_blacklisted;
	pr->arg = &seen;
	kpt_register(test, pr);
	KUNIT_EXPECT_EQ(test, kpt_plain(7), KPT_RESULT(7ul));
	KUNIT_EXPECT_EQ(test, seen, 3 + 6ul);
}

#ifdef CONFIG_KRETPROBES
static void kretprobe_on_nokprobe_symbol_is_refused(struct kunit *test)
{
	struct kretprobe rps[] = {
		{ .kp.addr = kpt_text(functions[MARKED]) },
#ifdef CONFIG_X86
		/* It switches stacks, too. Disabled: it would be hit if it was accepted. */
		{ .kp.symbol_name = "__switch_to_asm", .kp.flags = KPROBE_FLAG_DISABLED },
#endif
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rps); i++) {
		int ret = register_kretprobe(&rps[i]);

		if (!ret)
			unregister_kretprobe(&rps[i]);
		KUNIT_EXPECT_EQ_MSG(test, ret, -EINVAL, "%u", i);
	}
}
#endif

#if defined(CONFIG_X86) && defined(CONFIG_HAVE_HW_BREAKPOINT)
static void never_hit(struct perf_event *bp, struct perf_sample_data *data,
		      struct pt_regs *regs)
{
}

static long watch_refused(const void *addr)
{
	struct perf_event * __percpu *events;
	struct perf_event_attr attr;

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)addr;
	attr.bp_len = sizeof(long);
	attr.bp_type = HW_BREAKPOINT_X;
	attr.disabled = 1;
	events = register_wide_hw_breakpoint(&attr, never_hit, NULL);
	if (IS_ERR((void __force *)events))
		return PTR_ERR((void __force *)events);
	unregister_wide_hw_breakpoint(events);
	return 0;
}

/* A debug exception there would be as harmful as a breakpoint of ours. */
static void hardware_breakpoints_heed_the_blacklist(struct kunit *test)
{
	const char *marked = kpt_text(functions[MARKED]);
	unsigned int size = kpt_size(test, functions[MARKED]);

	KUNIT_EXPECT_EQ(test, watch_refused(marked), -EINVAL);
	KUNIT_EXPECT_EQ(test, watch_refused(marked + size - 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, watch_refused(kpt_text(functions[IN_SECTION])), -EINVAL);
	KUNIT_EXPECT_EQ(test, watch_refused(kpt_text(functions[BEFORE_MARKED])), 0);
	KUNIT_EXPECT_EQ(test, watch_refused(kpt_text(functions[AFTER_MARKED])), 0);
}
#endif

#ifdef CONFIG_ARM
/* Stores farther below the stack pointer than the exception leaves room. */
static noinline notrace unsigned long stores_far_below(unsigned long arg)
{
	asm volatile("str	%0, [sp, #-72]!\n\t"
		     "add	sp, sp, #72" : : "r" (arg) : "memory");
	return arg;
}
#endif

static void check_same_are_refused(struct kunit *test, const void *fn)
{
	unsigned int at, accepted = 0, size = kpt_size(test, fn);
	int *alone = kunit_kcalloc(test, size, sizeof(*alone), GFP_KERNEL);
	bool words = IS_ENABLED(CONFIG_ARM64) || IS_ENABLED(CONFIG_MIPS) ||
		     IS_ENABLED(CONFIG_PPC);
	struct kpt_probe *pr;

	KUNIT_ASSERT_NOT_NULL(test, alone);
	for (at = 0; at < size; at++) {
		alone[at] = kpt_refused((char *)kpt_text(fn) + at);
		if (words && at % 4)
			KUNIT_EXPECT_LT_MSG(test, alone[at], 0, "at %u", at);
		accepted += !alone[at];
	}
	KUNIT_EXPECT_GT(test, accepted, 0);
	for (at = 0; at < size; at++) {
		pr = kpt_alloc(test, (char *)kpt_text(fn) + at);
		KUNIT_EXPECT_EQ_MSG(test, kpt_try_register(test, &pr->kp), alone[at],
				    "at %u", at);
	}
}

/* An instruction is judged by the text as it was without probes. */
static void probes_beside_do_not_change_what_is_refused(struct kunit *test)
{
	check_same_are_refused(test, kpt_recurse);
#ifdef CONFIG_ARM
	check_same_are_refused(test, stores_far_below);
#endif
}

/* Users ask before they register a return probe, and wait for a module that is not there. */
static void entry_of_a_function_is_known(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kprobe_on_func_entry(NULL, "kpt_plain", 0), 0);
	KUNIT_EXPECT_EQ(test, kprobe_on_func_entry(kpt_text(kpt_plain), NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, kprobe_on_func_entry(NULL, "kpt_no_such_function", 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, kprobe_on_func_entry((kprobe_opcode_t *)test, NULL, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, kprobe_on_func_entry(NULL, NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, kprobe_on_func_entry(kpt_text(kpt_plain), "kpt_plain", 0), -EINVAL);
}

/* Room for as many elements as it says, and not one more. */
static void array_grows_before_its_end(struct kunit *test)
{
	unsigned int room = 0, i;
	u64 *array, *more;

	array = kprobe_array_more(NULL, 0, &room, sizeof(*array));
	KUNIT_ASSERT_NOT_NULL(test, array);
	KUNIT_ASSERT_GT(test, room, 1);
	for (i = 0; i < room - 1; i++)
		array[i] = i;
	more = kprobe_array_more(array, i, &room, sizeof(*array));
	KUNIT_EXPECT_PTR_EQ(test, more, array);
	KUNIT_EXPECT_EQ(test, room, i + 1);
	array[i] = i;
	i++;
	more = kprobe_array_more(array, i, &room, sizeof(*array));
	if (!more)
		kvfree(array);
	KUNIT_ASSERT_NOT_NULL(test, more);
	KUNIT_EXPECT_GT(test, room, i);
	while (i--)
		KUNIT_EXPECT_EQ(test, more[i], i);
	kvfree(more);
}

/* There is no blacklist yet, and nothing calls kprobes when a breakpoint is hit. */
static void probe_is_refused_before_kprobes_are_ready(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, NULL);
	bool refused;

	KUNIT_EXPECT_EQ(test, kprobe_test_too_early(&refused), -EAGAIN);
	/* A debugger may have asked. */
	KUNIT_EXPECT_FALSE(test, refused);
	pr->kp.symbol_name = KPROBE_TEST_EARLY_SYMBOL;
	KUNIT_EXPECT_EQ(test, register_kprobe(&pr->kp), 0);
	unregister_kprobe(&pr->kp);
}

#ifdef MODULE
/* It can still be patched then, but not restored any more. Before, built-in suites run. */
static void probe_on_init_text_is_refused_once_it_goes(struct kunit *test)
{
	bool text;

	KUNIT_EXPECT_EQ(test, kprobe_test_too_late(&text), -EINVAL);
	/* Its breakpoints were removed while it could still be patched as text. */
	KUNIT_EXPECT_TRUE(test, text);
}

static void probe_in_init_memory_is_removed_when_that_goes(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, kprobe_test_left_in_init());
}
#endif

static void each_call_is_refused_without_kprobes(struct kunit *test)
{
	const char *call = kpt_without_kprobes();

	KUNIT_EXPECT_NULL_MSG(test, call, "%s", call);
}

static struct kunit_case blacklist_cases[] = {
	KUNIT_CASE(nokprobe_symbol_is_refused),
	KUNIT_CASE(kprobes_section_is_refused),
	KUNIT_CASE(noinstr_function_is_refused),
	KUNIT_CASE(idle_function_is_refused),
	KUNIT_CASE(neighbour_before_a_blacklisted_function_is_allowed),
	KUNIT_CASE(neighbour_after_a_blacklisted_function_is_allowed),
#ifdef CONFIG_X86
	KUNIT_CASE(blacklist_begins_and_ends_with_the_symbol),
#endif
	KUNIT_CASE(pieces_of_refused_functions_are_refused),
	KUNIT_CASE(array_grows_before_its_end),
	KUNIT_CASE(entry_of_a_function_is_known),
#ifndef CONFIG_CFI_CLANG
	KUNIT_CASE(cold_parts_of_functions_are_no_entries),
#ifdef CONFIG_X86
	KUNIT_CASE(names_like_those_of_cold_parts_are_entries),
#endif
#endif
	KUNIT_CASE(refused_probe_in_a_batch_refuses_the_batch),
#if defined(MODULE) && defined(CONFIG_MODULE_UNLOAD)
	KUNIT_CASE(refused_probe_does_not_hold_its_module),
#endif
	KUNIT_CASE(blacklisted_function_may_be_called_by_handlers),
	KUNIT_CASE_PARAM(hit_path_function_is_refused, hit_path_gen_params),
	KUNIT_CASE(inside_a_hit_path_function_is_refused),
	KUNIT_CASE_PARAM(text_out_of_bounds_is_refused, out_of_bounds_gen_params),
#ifdef CONFIG_X86
	KUNIT_CASE(more_text_out_of_bounds_is_refused),
	KUNIT_CASE(padding_is_refused_up_to_its_longest),
	KUNIT_CASE(path_of_vc_is_refused_in_encrypted_guests_only),
	KUNIT_CASE(function_that_is_called_by_pointer_is_refused),
	KUNIT_CASE(all_text_of_a_name_out_of_bounds_is_refused),
#else
	KUNIT_CASE(labels_of_ftrace_callers_are_refused),
#endif
#if defined(CONFIG_SPARC64) || defined(CONFIG_SUPERH) || defined(CONFIG_PARISC)
	KUNIT_CASE(branches_are_stepped_or_refused),
#endif
#if defined(CONFIG_MIPS) || defined(CONFIG_CPU_SH4)
	KUNIT_CASE(path_of_breakpoints_is_refused),
#endif
#ifdef CONFIG_MIPS
	KUNIT_CASE(access_to_the_status_is_refused),
#endif
#ifdef LINKED_PAIR
	KUNIT_CASE(between_linked_load_and_store_is_refused),
#endif
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(kretprobe_on_nokprobe_symbol_is_refused),
#endif
#if defined(CONFIG_X86) && defined(CONFIG_HAVE_HW_BREAKPOINT)
	KUNIT_CASE(hardware_breakpoints_heed_the_blacklist),
#endif
	KUNIT_CASE(probes_beside_do_not_change_what_is_refused),
	KUNIT_CASE(probe_is_refused_before_kprobes_are_ready),
#ifdef MODULE
	KUNIT_CASE(probe_on_init_text_is_refused_once_it_goes),
	KUNIT_CASE(probe_in_init_memory_is_removed_when_that_goes),
#endif
	KUNIT_CASE(each_call_is_refused_without_kprobes),
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite blacklist_suite = {
	.name = "kprobes_blacklist",
	.suite_init = kpt_suite_init,
	.init = kpt_case_init,
	.test_cases = blacklist_cases,
};

kunit_test_suite(blacklist_suite);
