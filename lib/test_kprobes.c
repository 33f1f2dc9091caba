// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite for the registration API of kprobes: what can be probed, what is
 * refused with which error, and what registering, unregistering, enabling and
 * disabling promise. The other suites are in lib/tests/kprobes/.
 *
 * This file is built without ftrace sites, so every probe here is hit through its
 * instruction.
 */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include "tests/kprobes/fixture.h"

static notrace KPT_FUNCTION(api_target_0, KPT_RESULT(arg))
static notrace KPT_FUNCTION(api_target_1, KPT_RESULT(arg) + 1)
static notrace KPT_FUNCTION(api_target_2, KPT_RESULT(arg) + 2)
static notrace KPT_FUNCTION(api_target_3, KPT_RESULT(arg) + 3)
static notrace KPT_FUNCTION(api_target_4, KPT_RESULT(arg) + 4)

#define NR_TARGETS	5

static kpt_fn_t targets[NR_TARGETS] = {
	kpt_api_target_0,
	kpt_api_target_1,
	kpt_api_target_2,
	kpt_api_target_3,
	kpt_api_target_4,
};

/* The compiler must not know which of the two functions it is. */
static void *target(unsigned int n)
{
	kpt_fn_t fn = targets[n];

	OPTIMIZER_HIDE_VAR(fn);
	return kpt_text(fn);
}

static unsigned long call_target(unsigned int n, unsigned long arg)
{
	kpt_fn_t fn = targets[n];

	OPTIMIZER_HIDE_VAR(fn);
	return fn(arg);
}

/* The function must work, probed or not. */
static void call(struct kunit *test, unsigned int n)
{
	KUNIT_ASSERT_EQ(test, call_target(n, 5), KPT_RESULT(5ul) + n);
}

/* An instruction may begin with the same byte as the breakpoint. */
static bool text_differs(const void *addr, const void *before)
{
	return memcmp(addr, before, sizeof(kprobe_opcode_t));
}

#ifdef CONFIG_X86
#include <asm/ibt.h>

static unsigned char text_at(const void *addr)
{
	return READ_ONCE(*(const unsigned char *)addr);
}

/* NR_NOPS instructions of one byte, and then one of five. */
#define NR_NOPS	256

static noinline notrace unsigned long kpt_api_nops(void)
{
	unsigned int ret;

	asm volatile(".rept " __stringify(NR_NOPS) "\n\t"
		     "nop\n\t"
		     ".endr\n\t"
		     "movl $7, %0" : "=a" (ret));
	return ret;
}

/* From the start of the function, which may have a prologue. */
static unsigned int nops_offset;

static void *nop_addr(unsigned int n)
{
	char *fn = (char *)kpt_api_nops;

	OPTIMIZER_HIDE_VAR(fn);
	return fn + nops_offset + n;
}

/* The nops begin where a nop is followed by another one. */
static int find_nops(void)
{
	for (nops_offset = 0; nops_offset < 32; nops_offset++)
		if (text_at(nop_addr(0)) == 0x90 && text_at(nop_addr(1)) == 0x90)
			return 0;
	return -ENOENT;
}
#else
static int find_nops(void)
{
	return 0;
}
#endif /* CONFIG_X86 */

static int api_suite_init(struct kunit_suite *suite)
{
	return find_nops() ?: kpt_suite_init(suite);
}

/* --- What to probe ------------------------------------------------------- */

static void symbol_and_addr_both_is_einval(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, target(0));

	pr->kp.symbol_name = "kpt_api_target_0";
	KUNIT_EXPECT_EQ(test, kpt_try_register(test, &pr->kp), -EINVAL);
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
}

static void symbol_and_addr_neither_is_einval(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, NULL);

	KUNIT_EXPECT_EQ(test, kpt_try_register(test, &pr->kp), -EINVAL);
}

static void offset_alone_is_einval(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, NULL);

	pr->kp.offset = 4;
	KUNIT_EXPECT_EQ(test, kpt_try_register(test, &pr->kp), -EINVAL);
}

static void unknown_symbol_is_enoent(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, NULL);

	pr->kp.symbol_name = "kpt_api_no_such_function";
	KUNIT_EXPECT_EQ(test, kpt_try_register(test, &pr->kp), -ENOENT);
}

static void unknown_module_symbol_is_enoent(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, NULL);

	pr->kp.symbol_name = "kpt_no_such_module:kpt_api_target_0";
	KUNIT_EXPECT_EQ(test, kpt_try_register(test, &pr->kp), -ENOENT);
}

static void symbol_is_resolved_and_addr_filled_in(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, NULL);
	unsigned long at;

	pr->kp.symbol_name = "kpt_api_target_1";
	kpt_register(test, pr);
	/* After an ENDBR, if there is one. */
	at = (char *)pr->kp.addr - (char *)target(1);
	KUNIT_EXPECT_LE(test, at, 4ul);
	call(test, 1);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

static void module_symbol_is_resolved(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, NULL);

	if (!IS_MODULE(CONFIG_KPROBES_SANITY_TEST))
		kunit_skip(test, "the suite is built in");
	pr->kp.symbol_name = KBUILD_MODNAME ":kpt_api_target_1";
	kpt_register(test, pr);
	call(test, 1);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

/* From the address or from the symbol of a function to its Nth nop. */
static void check_offset(struct kunit *test, bool by_name, unsigned int n)
{
#ifdef CONFIG_X86
	struct kpt_probe *pr = kpt_alloc(test, by_name ? NULL : kpt_api_nops);

	pr->kp.symbol_name = by_name ? "kpt_api_nops" : NULL;
	pr->kp.offset = nops_offset + n;
	kpt_register(test, pr);
	KUNIT_EXPECT_PTR_EQ(test, (void *)pr->kp.addr, nop_addr(n));
	KUNIT_EXPECT_EQ(test, kpt_api_nops(), 7ul);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
#else
	kunit_skip(test, "needs known instructions");
#endif
}

static void symbol_and_offset_add_up(struct kunit *test)
{
	check_offset(test, true, 17);
}

static void addr_and_offset_add_up(struct kunit *test)
{
	check_offset(test, false, 18);
}

/* Such as a negative offset. On 32 bits, the sum would be a target. */
static void offset_past_the_last_address_is_enoent(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, (void *)-16L);

	pr->kp.offset = (unsigned long)target(0) + 16;
	KUNIT_EXPECT_EQ(test, kpt_try_register(test, &pr->kp), -ENOENT);
}

static void inside_an_instruction_is_eilseq(struct kunit *test)
{
#ifdef CONFIG_X86
	unsigned int i;

	for (i = 1; i < 5; i++)
		KUNIT_EXPECT_EQ(test, kpt_refused(nop_addr(NR_NOPS + i)), -EILSEQ);
	/* The instruction itself is fine. */
	KUNIT_EXPECT_EQ(test, kpt_refused(nop_addr(NR_NOPS)), 0);
#else
	kunit_skip(test, "needs known instructions");
#endif
}

static void inside_an_endbr_is_refused(struct kunit *test)
{
#ifdef CONFIG_X86_KERNEL_IBT
	unsigned int i;

	for (i = 1; i < ENDBR_INSN_SIZE; i++)
		KUNIT_EXPECT_LT(test, kpt_refused((char *)target(0) + i), 0);
#else
	kunit_skip(test, "no ENDBR in this kernel");
#endif
}

static void entry_probe_moves_after_endbr(struct kunit *test)
{
#ifdef CONFIG_X86_KERNEL_IBT
	struct kpt_probe *by_addr = kpt_probe(test, target(1));
	struct kpt_probe *by_name = kpt_alloc(test, NULL);

	by_name->kp.symbol_name = "kpt_api_target_1";
	kpt_register(test, by_name);
	KUNIT_EXPECT_EQ(test, (char *)by_addr->kp.addr - (char *)target(1), ENDBR_INSN_SIZE);
	KUNIT_EXPECT_PTR_EQ(test, by_name->kp.addr, by_addr->kp.addr);
	call(test, 1);
	KUNIT_EXPECT_EQ(test, by_addr->pre, 1);
	KUNIT_EXPECT_EQ(test, by_name->pre, 1);
#else
	kunit_skip(test, "no ENDBR in this kernel");
#endif
}

static void opcode_is_the_original_one(struct kunit *test)
{
#ifdef CONFIG_X86
	struct kpt_probe *pr = kpt_probe(test, nop_addr(3));

	KUNIT_EXPECT_EQ(test, pr->kp.opcode, 0x90);
#else
	kunit_skip(test, "needs known instructions");
#endif
}

/* --- What is no kernel text ---------------------------------------------- */

static unsigned char some_data[64] = { 0x90, 0x90, 0x90, 0x90 };
static const unsigned char some_rodata[64] = { 0x90, 0x90, 0x90, 0x90 };

struct no_text {
	const char *name;
	const void *addr;
};

static const struct no_text no_text[] = {
	{ "data", some_data },
	{ "read-only data", some_rodata },
	{ "heap", NULL },
	{ "stack", NULL },
	{ "first page", (void *)16 },
	{ "user address", (void *)0x400000 },
	{ "end of the address space", (void *)-16L },
};

KUNIT_ARRAY_PARAM_DESC(no_text, no_text, name);

static void address_outside_of_text_is_refused(struct kunit *test)
{
	const struct no_text *param = test->param_value;
	char *symbol = kunit_kzalloc(test, KSYM_SYMBOL_LEN, GFP_KERNEL);
	const void *addr = param->addr;
	unsigned char on_stack[16] = {};

	if (!strcmp(param->name, "heap"))
		addr = kunit_kzalloc(test, 64, GFP_KERNEL);
	if (!strcmp(param->name, "stack"))
		addr = on_stack;
	KUNIT_ASSERT_NOT_NULL(test, addr);
	KUNIT_ASSERT_NOT_NULL(test, symbol);
	/* Some kernels and all modules have symbols for data; otherwise this prints a number. */
	sprint_symbol(symbol, (unsigned long)addr);
	KUNIT_EXPECT_EQ_MSG(test, kpt_refused((void *)addr),
			    str_has_prefix(symbol, "0x") ? -ENOENT : -EINVAL, "%s", symbol);
}

/* --- Sites that other code patches --------------------------------------- */

#ifdef CONFIG_JUMP_LABEL
static DEFINE_STATIC_KEY_FALSE(kpt_api_key);

static noinline unsigned long kpt_api_branches(unsigned long arg)
{
	if (static_branch_unlikely(&kpt_api_key))
		return arg + 2;
	return arg + 1;
}
#endif

static void jump_label_site_is_refused(struct kunit *test)
{
#ifdef CONFIG_JUMP_LABEL
	unsigned long type = kpt_api_key.key.type;
	struct jump_entry *entry;

	KUNIT_ASSERT_EQ(test, kpt_api_branches(1), 2ul);
	KUNIT_ASSERT_FALSE(test, type & JUMP_TYPE_LINKED);
	entry = (struct jump_entry *)(type & ~JUMP_TYPE_MASK);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, kpt_refused((void *)jump_entry_code(entry)), -EINVAL);
#else
	kunit_skip(test, "no jump labels in this kernel");
#endif
}

#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
static KPT_FUNCTION(api_callee, arg + 1)
DEFINE_STATIC_CALL(kpt_api_call, kpt_api_callee);

static noinline unsigned long kpt_api_static_caller(unsigned long arg)
{
	return static_call(kpt_api_call)(arg) + 1;
}
#endif

static void static_call_site_is_refused(struct kunit *test)
{
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	struct static_call_key *key = &STATIC_CALL_KEY(kpt_api_call);
	struct static_call_site *site;

	KUNIT_ASSERT_EQ(test, kpt_api_static_caller(1), 3ul);
	if (key->type & 1)
		site = (struct static_call_site *)(key->type & ~1UL);
	else
		site = key->mods ? key->mods->sites : NULL;
	KUNIT_ASSERT_NOT_NULL(test, site);
	KUNIT_EXPECT_EQ(test, kpt_refused((char *)&site->addr + site->addr), -EINVAL);
#else
	kunit_skip(test, "static calls are not patched in this kernel");
#endif
}

#ifdef CONFIG_X86
static noinline unsigned long kpt_api_warns(unsigned long arg)
{
	WARN_ON_ONCE(arg == 0x12345);
	return arg + 1;
}
#endif

static void bug_trap_is_refused(struct kunit *test)
{
#ifdef CONFIG_X86
	const unsigned char *text = (const void *)kpt_api_warns;
	unsigned int i;

	/* Otherwise objtool takes the end of the loop for a branch target. */
	OPTIMIZER_HIDE_VAR(text);
	KUNIT_ASSERT_EQ(test, kpt_api_warns(1), 2ul);
	for (i = 0; i < 128; i++) {
		if (text[i] != 0x0f || text[i + 1] != 0x0b)
			continue;
		KUNIT_EXPECT_EQ(test, kpt_refused((void *)(text + i)), -EINVAL);
		return;
	}
	kunit_skip(test, "the trap is not within the function");
#else
	kunit_skip(test, "needs known instructions");
#endif
}

/* --- Registering --------------------------------------------------------- */

static void double_registration_is_einval(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe_post(test, target(0));
	void *addr = pr->kp.addr;

	call(test, 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&pr->kp), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, (void *)pr->kp.addr, addr);
	/* Also if no symbol covers the address, as after its module is gone. */
	pr->kp.offset = 1 << 30;
	KUNIT_EXPECT_EQ(test, register_kprobe(&pr->kp), -EINVAL);
	pr->kp.offset = 0;
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	KUNIT_EXPECT_EQ(test, pr->post, 2);
	kpt_unregister(test, pr);
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
}

static void double_registration_leaves_a_disabled_probe_disabled(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, target(0));

	KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&pr->kp), -EINVAL);
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&pr->kp));
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&pr->kp), 0);
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

static void flag_disabled_registers_switched_off(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, target(0));
	kprobe_opcode_t original;
	void **only;

	/* Registration tells the address after an ENDBR. */
	pr->kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, pr);
	memcpy(&original, pr->kp.addr, sizeof(original));
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&pr->kp));
	only = kprobe_test_only_word(&pr->kp);
	KUNIT_EXPECT_NULL(test, READ_ONCE(*only));
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_NOT_NULL(test, READ_ONCE(*only));
	KUNIT_EXPECT_TRUE(test, text_differs(pr->kp.addr, &original));
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

static void other_flags_of_the_caller_are_ignored(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, target(0));

	pr->kp.flags = KPROBE_FLAG_GONE | KPROBE_FLAG_OPTIMIZED | KPROBE_FLAG_FTRACE;
	kpt_register(test, pr);
	KUNIT_EXPECT_FALSE(test, kprobe_gone(&pr->kp));
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&pr->kp));
	KUNIT_EXPECT_FALSE(test, kprobe_ftrace(&pr->kp));
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	kpt_unregister(test, pr);
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

/* Tracers use this flag. */
static void flags_tell_whether_it_is_a_function_entry(struct kunit *test)
{
	struct kpt_probe *entry = kpt_alloc(test, target(0)), *inside;

	entry->kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, entry);
	KUNIT_EXPECT_TRUE(test, entry->kp.flags & KPROBE_FLAG_ON_FUNC_ENTRY);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&entry->kp), 0);
	KUNIT_EXPECT_TRUE(test, entry->kp.flags & KPROBE_FLAG_ON_FUNC_ENTRY);
#ifdef CONFIG_X86
	inside = kpt_probe(test, nop_addr(1));
	KUNIT_EXPECT_FALSE(test, inside->kp.flags & KPROBE_FLAG_ON_FUNC_ENTRY);
#else
	inside = NULL;
#endif
	kpt_unregister(test, entry);
	KUNIT_EXPECT_FALSE(test, entry->kp.flags & KPROBE_FLAG_ON_FUNC_ENTRY);
	if (inside)
		kpt_unregister(test, inside);
}

static void register_and_unregister_many_times(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, target(0));
	unsigned int i;

	for (i = 1; i <= 50; i++) {
		pr->kp.addr = target(0);
		pr->kp.flags = 0;
		kpt_register(test, pr);
		call(test, 0);
		KUNIT_ASSERT_EQ(test, pr->pre, i);
		kpt_unregister(test, pr);
		call(test, 0);
		KUNIT_ASSERT_EQ(test, pr->pre, i);
	}
}

static void missed_hits_are_counted_from_registration(struct kunit *test)
{
	struct kpt_probe *pr[2];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pr); i++) {
		pr[i] = kpt_alloc(test, target(0));
		pr[i]->kp.nmissed = 7;
		kpt_register(test, pr[i]);
		KUNIT_EXPECT_EQ_MSG(test, pr[i]->kp.nmissed, 0ul, "%u", i);
	}
	call(test, 0);
	for (i = 0; i < ARRAY_SIZE(pr); i++)
		KUNIT_EXPECT_EQ_MSG(test, pr[i]->kp.nmissed, 0ul, "%u", i);
}

/* --- Unregistering ------------------------------------------------------- */

static void text_is_restored_by_unregister(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, target(0));
	unsigned char before[16], after[16];

	memcpy(before, target(0), sizeof(before));
	kpt_register(test, pr);
	KUNIT_EXPECT_TRUE(test, text_differs(pr->kp.addr,
					     before + ((char *)pr->kp.addr - (char *)target(0))));
	kpt_unregister(test, pr);
	memcpy(after, target(0), sizeof(after));
	KUNIT_EXPECT_MEMEQ(test, before, after, sizeof(before));
}

static void unregister_one_of_several_leaves_the_others(struct kunit *test)
{
	struct kpt_probe *pr[3];
	unsigned int gone, i;

	for (gone = 0; gone < 3; gone++) {
		for (i = 0; i < 3; i++)
			pr[i] = kpt_probe(test, target(0));
		kpt_unregister(test, pr[gone]);
		call(test, 0);
		for (i = 0; i < 3; i++) {
			KUNIT_EXPECT_EQ(test, pr[i]->pre, i != gone);
			if (i != gone)
				kpt_unregister(test, pr[i]);
		}
	}
}

/* Other architectures keep calling post_handler once it was set, but no handler runs. */
static bool calls_post_handlers(struct kpt_probe *pr)
{
	struct kprobe *p;

	guard(preempt)();
	p = get_kprobe(pr->kp.addr);
	return p && p->post_handler;
}

static void unregister_post_probe_leaves_the_plain_one(struct kunit *test)
{
	struct kpt_probe *plain = kpt_probe(test, target(0));
	struct kpt_probe *post = kpt_probe_post(test, target(0));

	call(test, 0);
	KUNIT_EXPECT_EQ(test, post->post, 1);
	KUNIT_EXPECT_TRUE(test, calls_post_handlers(plain));
	kpt_unregister(test, post);
	if (IS_ENABLED(CONFIG_ARCH_HAS_KPROBE_CONTEXTS))
		KUNIT_EXPECT_FALSE(test, calls_post_handlers(plain));
	call(test, 0);
	KUNIT_EXPECT_EQ(test, plain->pre, 2);
	KUNIT_EXPECT_EQ(test, post->pre, 1);
	KUNIT_EXPECT_EQ(test, post->post, 1);
}

static void unregister_of_never_registered_is_harmless(struct kunit *test)
{
	struct kpt_probe *other = kpt_probe(test, target(0));
	struct kpt_probe *never = kpt_alloc(test, target(0));

	unregister_kprobe(&never->kp);
	KUNIT_EXPECT_NULL(test, (void *)never->kp.addr);
	call(test, 0);
	KUNIT_EXPECT_EQ(test, other->pre, 1);
	KUNIT_EXPECT_EQ(test, never->pre, 0);
}

static void unregister_twice_is_harmless(struct kunit *test)
{
	struct kpt_probe *other = kpt_probe(test, target(0));
	struct kpt_probe *pr = kpt_probe(test, target(0));

	kpt_unregister(test, pr);
	unregister_kprobe(&pr->kp);
	KUNIT_EXPECT_NULL(test, (void *)pr->kp.addr);
	call(test, 0);
	KUNIT_EXPECT_EQ(test, other->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
}

/*
 * A module that clears its handlers before it unregisters has a race, but must not
 * crash the kernel.
 */
static void handlers_cleared_before_unregister_is_harmless(struct kunit *test)
{
	struct kpt_probe *plain = kpt_probe(test, target(0));
	struct kpt_probe *post = kpt_probe_post(test, target(0));

	call(test, 0);
	post->kp.pre_handler = NULL;
	post->kp.post_handler = NULL;
	call(test, 0);
	kpt_unregister(test, post);
	plain->kp.pre_handler = NULL;
	kpt_unregister(test, plain);
	call(test, 0);
	KUNIT_EXPECT_GE(test, plain->pre, 1);
	KUNIT_EXPECT_LE(test, plain->pre, 2);
	KUNIT_EXPECT_GE(test, post->post, 1);
	KUNIT_EXPECT_LE(test, post->post, 2);
}

static void handlers_are_those_at_registration(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, target(0));

	pr->kp.pre_handler = NULL;
	pr->kp.post_handler = kpt_post;
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 0);
}

/* --- Batches ------------------------------------------------------------- */

struct batch {
	struct kpt_probe *pr[NR_TARGETS];
	struct kprobe *kps[NR_TARGETS];
};

static void unregister_batch_action(void *arg)
{
	struct batch *batch = arg;

	unregister_kprobes(batch->kps, NR_TARGETS);
}

static struct batch *alloc_batch(struct kunit *test)
{
	struct batch *batch = kunit_kzalloc(test, sizeof(*batch), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, batch);
	for (i = 0; i < NR_TARGETS; i++) {
		batch->pr[i] = kpt_alloc(test, target(i));
		batch->kps[i] = &batch->pr[i]->kp;
	}
	return batch;
}

static void register_batch(struct kunit *test, struct batch *batch)
{
	KUNIT_ASSERT_EQ(test, register_kprobes(batch->kps, NR_TARGETS), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unregister_batch_action,
							batch), 0);
}

static void batch_registers_and_unregisters_all(struct kunit *test)
{
	struct batch *batch = alloc_batch(test);
	unsigned int i;

	register_batch(test, batch);
	for (i = 0; i < NR_TARGETS; i++) {
		call(test, i);
		KUNIT_EXPECT_EQ(test, batch->pr[i]->pre, 1);
	}
	kunit_release_action(test, unregister_batch_action, batch);
	for (i = 0; i < NR_TARGETS; i++) {
		call(test, i);
		KUNIT_EXPECT_EQ(test, batch->pr[i]->pre, 1);
	}
}

static const struct bad_place {
	const char *name;
	unsigned int index;
} bad_places[] = {
	{ "first", 0 },
	{ "in the middle", 2 },
	{ "last", NR_TARGETS - 1 },
};

KUNIT_ARRAY_PARAM_DESC(bad_places, bad_places, name);

/*
 * A batch that must fail with @error must not change anything. Targets in @there have
 * probes already, so their text may change by itself.
 */
static void check_failed_batch(struct kunit *test, struct batch *batch, int error,
			       struct kpt_probe **there)
{
	struct kprobe_counts counts, now;
	unsigned char before[NR_TARGETS][16];
	struct kprobe kps[NR_TARGETS];
	unsigned int i;
	int ret;

	/* Text with other probes may become a jump meanwhile. */
	wait_for_kprobe_optimizer();
	counts = kpt_counts(false);
	for (i = 0; i < NR_TARGETS; i++) {
		memcpy(before[i], target(i), 16);
		kps[i] = *batch->kps[i];
	}
	ret = register_kprobes(batch->kps, NR_TARGETS);
	if (!ret)
		unregister_kprobes(batch->kps, NR_TARGETS);
	KUNIT_ASSERT_EQ(test, ret, error);
	wait_for_kprobe_optimizer();
	now = kpt_counts(false);
	KUNIT_EXPECT_NULL(test, kpt_differs(&counts, &now));
	for (i = 0; i < NR_TARGETS; i++) {
		if (!there || !there[i])
			KUNIT_EXPECT_MEMEQ(test, before[i], target(i), 16);
		KUNIT_EXPECT_PTR_EQ(test, (void *)batch->kps[i]->addr, (void *)kps[i].addr);
		/* An opcode is not an integer on every architecture. */
		KUNIT_EXPECT_MEMEQ(test, &batch->kps[i]->opcode, &kps[i].opcode,
				   sizeof(kps[i].opcode));
		KUNIT_EXPECT_EQ(test, batch->kps[i]->flags, kps[i].flags);
		call(test, i);
		KUNIT_EXPECT_EQ(test, batch->pr[i]->pre, 0);
	}
}

static void check_batch_works_now(struct kunit *test, struct batch *batch)
{
	unsigned int i;

	register_batch(test, batch);
	for (i = 0; i < NR_TARGETS; i++) {
		call(test, i);
		KUNIT_EXPECT_EQ(test, batch->pr[i]->pre, 1);
	}
}

static void batch_with_an_unknown_symbol_registers_nothing(struct kunit *test)
{
	const struct bad_place *bad = test->param_value;
	struct batch *batch = alloc_batch(test);

	batch->kps[bad->index]->addr = NULL;
	batch->kps[bad->index]->symbol_name = "kpt_api_no_such_function";
	check_failed_batch(test, batch, -ENOENT, NULL);

	/* The other probes can be registered as they are. */
	batch->kps[bad->index]->addr = target(bad->index);
	batch->kps[bad->index]->symbol_name = NULL;
	check_batch_works_now(test, batch);
}

static void batch_with_both_symbol_and_address_registers_nothing(struct kunit *test)
{
	const struct bad_place *bad = test->param_value;
	struct batch *batch = alloc_batch(test);

	batch->kps[bad->index]->symbol_name = "kpt_api_target_0";
	check_failed_batch(test, batch, -EINVAL, NULL);

	batch->kps[bad->index]->symbol_name = NULL;
	check_batch_works_now(test, batch);
}

#ifdef CONFIG_X86
/* The target that has @nth others before it in memory. */
static unsigned int by_address(unsigned int nth)
{
	unsigned int n, i, before;

	for (n = 0; n < NR_TARGETS; n++) {
		for (i = before = 0; i < NR_TARGETS; i++)
			before += target(i) < target(n);
		if (before == nth)
			break;
	}
	return n;
}

/*
 * Points are placed in order of their addresses: those before the refused one have
 * been placed by then. Some have probes already.
 */
static void batch_with_a_refused_address_registers_nothing(struct kunit *test)
{
	const struct bad_place *bad = test->param_value;
	unsigned int which = by_address(bad->index), i;
	struct batch *batch = alloc_batch(test);
	struct kpt_probe *there[NR_TARGETS] = { };

	/* Inside of its first instruction. */
	batch->kps[which]->addr = target(which) + 1;
	batch->kps[by_address(3)]->post_handler = kpt_post;
	check_failed_batch(test, batch, -EILSEQ, NULL);

	for (i = 0; i < NR_TARGETS; i += 2) {
		if (i != which)
			there[i] = kpt_probe(test, target(i));
	}
	check_failed_batch(test, batch, -EILSEQ, there);
	for (i = 0; i < NR_TARGETS; i++) {
		if (!there[i])
			continue;
		KUNIT_EXPECT_EQ(test, there[i]->pre, 1);
		kpt_unregister(test, there[i]);
	}

	batch->kps[which]->addr = target(which);
	check_batch_works_now(test, batch);
}
#else
static void batch_with_a_refused_address_registers_nothing(struct kunit *test)
{
	kunit_skip(test, "needs known instructions");
}
#endif

static void batch_with_a_registered_probe_registers_nothing_else(struct kunit *test)
{
	const struct bad_place *bad = test->param_value;
	struct batch *batch = alloc_batch(test);
	struct kprobe_counts before, now;
	unsigned int i;

	kpt_register(test, batch->pr[bad->index]);
	before = kpt_counts(false);
	KUNIT_EXPECT_EQ(test, register_kprobes(batch->kps, NR_TARGETS), -EINVAL);
	now = kpt_counts(false);
	KUNIT_EXPECT_EQ(test, now.points, before.points);
	KUNIT_EXPECT_EQ(test, now.users, before.users);
	for (i = 0; i < NR_TARGETS; i++) {
		call(test, i);
		KUNIT_EXPECT_EQ(test, batch->pr[i]->pre, i == bad->index);
	}
}

/* The other probes can still be registered. */
static void batch_with_a_hole_registers_nothing(struct kunit *test)
{
	const struct bad_place *bad = test->param_value;
	struct batch *batch = alloc_batch(test);
	struct kprobe *hole = batch->kps[bad->index];
	struct kprobe_counts before = kpt_counts(false), now;
	unsigned int i;

	batch->kps[bad->index] = NULL;
	KUNIT_EXPECT_EQ(test, register_kprobes(batch->kps, NR_TARGETS), -EINVAL);
	now = kpt_counts(false);
	KUNIT_EXPECT_NULL(test, kpt_differs(&before, &now));
	for (i = 0; i < NR_TARGETS; i++) {
		call(test, i);
		KUNIT_EXPECT_EQ(test, batch->pr[i]->pre, 0);
	}
	batch->kps[bad->index] = hole;
	check_batch_works_now(test, batch);
}

/* A missing probe does not keep the others registered. */
static void unregister_batch_with_a_hole(struct kunit *test)
{
	const struct bad_place *bad = test->param_value;
	struct batch *batch = alloc_batch(test);
	unsigned int i;

	register_batch(test, batch);
	batch->kps[bad->index] = NULL;
	kunit_release_action(test, unregister_batch_action, batch);
	for (i = 0; i < NR_TARGETS; i++) {
		call(test, i);
		KUNIT_EXPECT_EQ(test, batch->pr[i]->pre, i == bad->index);
	}
	unregister_kprobe(&batch->pr[bad->index]->kp);
	call(test, bad->index);
	KUNIT_EXPECT_EQ(test, batch->pr[bad->index]->pre, 1);
	/* Unregistering NULL alone does nothing either. */
	unregister_kprobe(NULL);
	KUNIT_EXPECT_EQ(test, register_kprobe(NULL), -EINVAL);
}

static void batch_with_one_probe_twice_registers_nothing(struct kunit *test)
{
	struct batch *batch = alloc_batch(test);
	struct kprobe *second = batch->kps[3];

	batch->kps[3] = batch->kps[1];
	check_failed_batch(test, batch, -EINVAL, NULL);
	batch->kps[3] = second;
	check_batch_works_now(test, batch);
}

static void batch_of_probes_on_one_address(struct kunit *test)
{
	struct batch *batch = alloc_batch(test);
	unsigned int clock = 0, i;

	for (i = 0; i < NR_TARGETS; i++) {
		batch->kps[i]->addr = target(0);
		batch->pr[i]->clock = &clock;
	}
	register_batch(test, batch);
	call(test, 0);
	for (i = 0; i < NR_TARGETS; i++) {
		KUNIT_EXPECT_EQ(test, batch->pr[i]->pre, 1);
		KUNIT_EXPECT_EQ(test, batch->pr[i]->pre_tick, i + 1);
	}
}

static void batch_honours_flag_disabled(struct kunit *test)
{
	struct batch *batch = alloc_batch(test);
	unsigned int i;

	batch->kps[2]->flags = KPROBE_FLAG_DISABLED;
	register_batch(test, batch);
	for (i = 0; i < NR_TARGETS; i++) {
		call(test, i);
		KUNIT_EXPECT_EQ(test, batch->pr[i]->pre, i != 2);
	}
}

static void batch_of_none_is_einval(struct kunit *test)
{
	struct batch *batch = alloc_batch(test);

	KUNIT_EXPECT_EQ(test, register_kprobes(batch->kps, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kprobes(batch->kps, -1), -EINVAL);
	/* There is nothing to unregister. */
	unregister_kprobes(batch->kps, 0);
	unregister_kprobes(batch->kps, -1);
	KUNIT_EXPECT_PTR_EQ(test, (void *)batch->kps[0]->addr, target(0));
}

static void batch_of_null_is_einval(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, register_kprobes(NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kprobes(NULL, 0), -EINVAL);
	unregister_kprobes(NULL, 1);
}

static void unregister_batch_with_invalid_entries(struct kunit *test)
{
	struct batch *batch = alloc_batch(test);
	unsigned int i;

	kpt_register(test, batch->pr[0]);
	kpt_register(test, batch->pr[2]);
	kpt_register(test, batch->pr[4]);
	/* 1 was never registered, 3 is gone already. */
	kpt_register(test, batch->pr[3]);
	kpt_unregister(test, batch->pr[3]);

	unregister_kprobes(batch->kps, NR_TARGETS);
	KUNIT_EXPECT_NULL(test, (void *)batch->kps[1]->addr);
	KUNIT_EXPECT_NULL(test, (void *)batch->kps[3]->addr);
	KUNIT_EXPECT_NOT_NULL(test, (void *)batch->kps[0]->addr);
	KUNIT_EXPECT_NOT_NULL(test, (void *)batch->kps[2]->addr);
	KUNIT_EXPECT_NOT_NULL(test, (void *)batch->kps[4]->addr);
	for (i = 0; i < NR_TARGETS; i++) {
		call(test, i);
		KUNIT_EXPECT_EQ(test, batch->pr[i]->pre, 0);
	}
}

#ifdef CONFIG_X86
struct many {
	struct kpt_probe *pr;
	struct kprobe *kps[NR_NOPS];
};

static void unregister_many_action(void *arg)
{
	struct many *many = arg;

	unregister_kprobes(many->kps, NR_NOPS);
}
#endif

/* Every byte of a run of nops carries a probe: neighbours stay apart. */
static void batch_of_many_adjacent_points(struct kunit *test)
{
#ifdef CONFIG_X86
	struct many *many = kunit_kzalloc(test, sizeof(*many), GFP_KERNEL);
	unsigned int clock = 0, i;

	KUNIT_ASSERT_NOT_NULL(test, many);
	many->pr = kunit_kcalloc(test, NR_NOPS, sizeof(*many->pr), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, many->pr);
	for (i = 0; i < NR_NOPS; i++) {
		many->pr[i].kp.addr = nop_addr(i);
		many->pr[i].kp.pre_handler = kpt_pre;
		many->pr[i].clock = &clock;
		many->kps[i] = &many->pr[i].kp;
	}
	KUNIT_ASSERT_EQ(test, register_kprobes(many->kps, NR_NOPS), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unregister_many_action,
							many), 0);
	KUNIT_EXPECT_EQ(test, kpt_api_nops(), 7ul);
	for (i = 0; i < NR_NOPS; i++)
		KUNIT_EXPECT_EQ(test, many->pr[i].pre_tick, i + 1);
	kunit_release_action(test, unregister_many_action, many);
	KUNIT_EXPECT_EQ(test, kpt_api_nops(), 7ul);
	KUNIT_EXPECT_EQ(test, clock, NR_NOPS);
	for (i = 0; i < NR_NOPS; i++)
		KUNIT_EXPECT_EQ(test, text_at(nop_addr(i)), 0x90);
#else
	kunit_skip(test, "needs known instructions");
#endif
}

/* --- Disabling and enabling ---------------------------------------------- */

static void disable_stops_and_enable_restarts_the_handlers(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe_post(test, target(0));
	void **only = kprobe_test_only_word(&pr->kp), *was = READ_ONCE(*only);

	call(test, 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&pr->kp));
	KUNIT_EXPECT_NULL(test, READ_ONCE(*only));
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
	KUNIT_EXPECT_EQ(test, pr->post, 1);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&pr->kp));
	/* Hits need not look for the probe, as before. */
	KUNIT_EXPECT_NOT_NULL(test, was);
	KUNIT_EXPECT_PTR_EQ(test, READ_ONCE(*only), was);
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 2);
	KUNIT_EXPECT_EQ(test, pr->post, 2);
	KUNIT_EXPECT_EQ(test, pr->kp.nmissed, 0ul);
}

static void disable_and_enable_twice_is_no_error(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, target(0));

	KUNIT_EXPECT_EQ(test, enable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&pr->kp), 0);
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&pr->kp), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&pr->kp), 0);
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 1);
}

static void disable_and_enable_unregistered_is_einval(struct kunit *test)
{
	struct kpt_probe *never = kpt_alloc(test, target(0));
	struct kpt_probe *gone = kpt_probe(test, target(0));

	kpt_unregister(test, gone);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&never->kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&never->kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&gone->kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&gone->kp), -EINVAL);
}

/* A probe on the same address must not make an unregistered one valid. */
static void disable_unregistered_on_a_probed_address_is_einval(struct kunit *test)
{
	struct kpt_probe *other = kpt_probe(test, target(0));
	struct kpt_probe *never = kpt_alloc(test, other->kp.addr);

	KUNIT_EXPECT_EQ(test, disable_kprobe(&never->kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&never->kp), -EINVAL);
	call(test, 0);
	KUNIT_EXPECT_EQ(test, other->pre, 1);
}

static void one_of_several_disabled(struct kunit *test)
{
	struct kpt_probe *pr[3];
	unsigned int off, i;

	for (i = 0; i < 3; i++)
		pr[i] = kpt_probe_post(test, target(0));
	for (off = 0; off < 3; off++) {
		for (i = 0; i < 3; i++) {
			pr[i]->pre = 0;
			pr[i]->post = 0;
		}
		KUNIT_ASSERT_EQ(test, disable_kprobe(&pr[off]->kp), 0);
		call(test, 0);
		for (i = 0; i < 3; i++) {
			KUNIT_EXPECT_EQ(test, pr[i]->pre, i != off);
			KUNIT_EXPECT_EQ(test, pr[i]->post, i != off);
		}
		KUNIT_ASSERT_EQ(test, enable_kprobe(&pr[off]->kp), 0);
	}
}

/* What an architecture that looks at the point sees. */
static bool point_is_disabled(struct kpt_probe *pr)
{
	struct kprobe *p;

	guard(preempt)();
	p = get_kprobe(pr->kp.addr);
	return p && (READ_ONCE(p->flags) & KPROBE_FLAG_DISABLED);
}

static void point_with_all_probes_disabled_is_disarmed(struct kunit *test)
{
	struct kpt_probe *a, *b;
	unsigned char before[16];

	memcpy(before, target(0), sizeof(before));
	a = kpt_probe(test, target(0));
	b = kpt_probe_post(test, target(0));
	KUNIT_ASSERT_EQ(test, disable_kprobe(&a->kp), 0);
	KUNIT_EXPECT_TRUE(test, memcmp(before, target(0), sizeof(before)));
	KUNIT_EXPECT_FALSE(test, point_is_disabled(a));
	KUNIT_ASSERT_EQ(test, disable_kprobe(&b->kp), 0);
	KUNIT_EXPECT_MEMEQ(test, before, target(0), sizeof(before));
	KUNIT_EXPECT_TRUE(test, point_is_disabled(a));
	call(test, 0);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&b->kp), 0);
	KUNIT_EXPECT_TRUE(test, memcmp(before, target(0), sizeof(before)));
	KUNIT_EXPECT_FALSE(test, point_is_disabled(a));
	call(test, 0);
	KUNIT_EXPECT_EQ(test, a->pre, 0);
	KUNIT_EXPECT_EQ(test, b->pre, 1);
	KUNIT_EXPECT_EQ(test, b->post, 1);
}

static void unregister_the_only_enabled_probe_disarms(struct kunit *test)
{
	struct kpt_probe *on, *off;
	unsigned char before[16];

	memcpy(before, target(0), sizeof(before));
	on = kpt_probe(test, target(0));
	off = kpt_probe(test, target(0));
	KUNIT_ASSERT_EQ(test, disable_kprobe(&off->kp), 0);
	kpt_unregister(test, on);
	KUNIT_EXPECT_MEMEQ(test, before, target(0), sizeof(before));
	KUNIT_ASSERT_EQ(test, enable_kprobe(&off->kp), 0);
	call(test, 0);
	KUNIT_EXPECT_EQ(test, off->pre, 1);
}

static void probe_added_to_a_disarmed_point_arms_it(struct kunit *test)
{
	struct kpt_probe *off = kpt_probe(test, target(0));
	struct kpt_probe *on;

	KUNIT_ASSERT_EQ(test, disable_kprobe(&off->kp), 0);
	on = kpt_probe(test, target(0));
	call(test, 0);
	KUNIT_EXPECT_EQ(test, off->pre, 0);
	KUNIT_EXPECT_EQ(test, on->pre, 1);
}

static void disabled_probe_added_to_an_armed_point(struct kunit *test)
{
	struct kpt_probe *on = kpt_probe(test, target(0));
	struct kpt_probe *off = kpt_alloc(test, target(0));

	off->kp.flags = KPROBE_FLAG_DISABLED;
	kpt_register(test, off);
	call(test, 0);
	KUNIT_EXPECT_EQ(test, on->pre, 1);
	KUNIT_EXPECT_EQ(test, off->pre, 0);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&off->kp), 0);
	call(test, 0);
	KUNIT_EXPECT_EQ(test, on->pre, 2);
	KUNIT_EXPECT_EQ(test, off->pre, 1);
}

static void disabled_probe_can_be_unregistered(struct kunit *test)
{
	struct kpt_probe *pr = kpt_probe(test, target(0));

	KUNIT_ASSERT_EQ(test, disable_kprobe(&pr->kp), 0);
	kpt_unregister(test, pr);
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&pr->kp), -EINVAL);
	/* Of the flags, only the one that is read at the next registration is left. */
	KUNIT_EXPECT_EQ(test, pr->kp.flags, (u32)KPROBE_FLAG_DISABLED);
	kpt_register(test, pr);
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&pr->kp));
	call(test, 0);
	KUNIT_EXPECT_EQ(test, pr->pre, 0);
}

/* --- Under fire ---------------------------------------------------------- */

/* Calls the first target as fast as it can, and checks what it returns. */
struct hammer {
	atomic_t wrong;
	atomic_long_t calls;
};

static int hammer_fn(void *arg)
{
	struct hammer *hammer = arg;
	unsigned long i = 0;

	while (!kthread_should_stop()) {
		if (call_target(0, i) != KPT_RESULT(i))
			atomic_inc(&hammer->wrong);
		atomic_long_inc(&hammer->calls);
		if (!(++i % 256))
			cond_resched();
	}
	return 0;
}

static int other_cpu(void)
{
	int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());

	return cpu < nr_cpu_ids ? cpu : -1;
}

#define LIFE_ALIVE	0x11fe
#define LIFE_OVER	0xdead

struct mortal {
	struct kprobe kp;
	unsigned int life;
	atomic_t *late;
	atomic_long_t *hits;
};

static int mortal_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct mortal *m = container_of(p, struct mortal, kp);

	if (READ_ONCE(m->life) != LIFE_ALIVE) {
		atomic_inc(m->late);
		return 0;
	}
	atomic_long_inc(m->hits);
	/* A slow handler is easier to catch. */
	ndelay(500);
	if (READ_ONCE(m->life) != LIFE_ALIVE)
		atomic_inc(m->late);
	return 0;
}

static void mortal_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	mortal_pre(p, regs);
}

static void no_handler_runs_after_unregister(struct kunit *test)
{
	struct hammer *hammer = kunit_kzalloc(test, sizeof(*hammer), GFP_KERNEL);
	struct { atomic_t late; atomic_long_t hits; } *seen;
	unsigned int rounds = 0;
	struct mortal *m;
	unsigned long end = jiffies + msecs_to_jiffies(60000);
	unsigned int i;
	long hits;

	/*
	 * Use new memory each time, so that a late handler finds the mark in its own
	 * probe rather than in the next one.
	 */
	seen = kunit_kzalloc(test, sizeof(*seen), GFP_KERNEL);
	m = kunit_kcalloc(test, 200, sizeof(*m), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, hammer);
	KUNIT_ASSERT_NOT_NULL(test, seen);
	KUNIT_ASSERT_NOT_NULL(test, m);
	kpt_thread(test, hammer_fn, hammer, other_cpu(), "hammer");

	for (i = 0; i < 200; i++) {
		m[i].kp.addr = target(0);
		m[i].kp.pre_handler = mortal_pre;
		if (i & 1)
			m[i].kp.post_handler = mortal_post;
		m[i].life = LIFE_ALIVE;
		m[i].late = &seen->late;
		m[i].hits = &seen->hits;
		hits = atomic_long_read(&seen->hits);
		KUNIT_ASSERT_EQ(test, register_kprobe(&m[i].kp), 0);
		/* The hit comes at once, unless the machine has no time for that CPU. */
		while (atomic_long_read(&seen->hits) == hits && time_before(jiffies, end))
			cond_resched();
		unregister_kprobe(&m[i].kp);
		WRITE_ONCE(m[i].life, LIFE_OVER);
		if (atomic_long_read(&seen->hits) > hits)
			rounds++;
	}
	msleep(20);
	KUNIT_EXPECT_GT(test, rounds, 150);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen->late), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&hammer->wrong), 0);
}

static void probe_may_be_freed_after_unregister(struct kunit *test)
{
	struct hammer *hammer = kunit_kzalloc(test, sizeof(*hammer), GFP_KERNEL);
	struct { atomic_t late; atomic_long_t hits; } *seen;
	struct mortal *m;
	unsigned int i;
	int ret;

	seen = kunit_kzalloc(test, sizeof(*seen), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, hammer);
	KUNIT_ASSERT_NOT_NULL(test, seen);
	kpt_thread(test, hammer_fn, hammer, other_cpu(), "hammer");

	for (i = 0; i < 200; i++) {
		m = kzalloc(sizeof(*m), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, m);
		m->kp.addr = target(0);
		m->kp.pre_handler = mortal_pre;
		m->life = LIFE_ALIVE;
		m->late = &seen->late;
		m->hits = &seen->hits;
		ret = register_kprobe(&m->kp);
		if (!ret) {
			if (i & 1)
				usleep_range(50, 100);
			/* The other CPU may have had no time for it until now. */
			if (i == 199)
				kpt_wait_until(atomic_long_read(&seen->hits));
			unregister_kprobe(&m->kp);
		}
		memset(m, 0x6b, sizeof(*m));
		kfree(m);
		KUNIT_ASSERT_EQ(test, ret, 0);
	}
	msleep(20);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen->late), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&hammer->wrong), 0);
	KUNIT_EXPECT_GT(test, atomic_long_read(&hammer->calls), 0l);
	KUNIT_EXPECT_GT(test, atomic_long_read(&seen->hits), 0l);
}

struct churn {
	struct kprobe kp[NR_TARGETS];
	struct kprobe *kps[NR_TARGETS];
	atomic_t errors;
	atomic_long_t rounds;
	u32 seed;
};

static int churn_pre(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static void churn_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static int churn_fn(void *arg)
{
	struct churn *churn = arg;
	struct rnd_state rnd;
	unsigned int i, n;

	prandom_seed_state(&rnd, churn->seed);
	while (!kthread_should_stop()) {
		u32 dice = prandom_u32_state(&rnd);

		n = 1 + dice % NR_TARGETS;
		for (i = 0; i < n; i++) {
			memset(churn->kps[i], 0, sizeof(struct kprobe));
			churn->kps[i]->addr = target(i);
			if (dice & 0x100)
				churn->kps[i]->pre_handler = churn_pre;
			if (dice & 0x200)
				churn->kps[i]->post_handler = churn_post;
			if (dice & 0x400)
				churn->kps[i]->flags = KPROBE_FLAG_DISABLED;
		}
		if (register_kprobes(churn->kps, n)) {
			atomic_inc(&churn->errors);
			continue;
		}
		if (dice & 0x800)
			atomic_or(!!enable_kprobe(churn->kps[0]), &churn->errors);
		if (dice & 0x1000)
			atomic_or(!!disable_kprobe(churn->kps[n - 1]), &churn->errors);
		if (dice & 0x2000)
			usleep_range(10, 100);
		unregister_kprobes(churn->kps, n);
		atomic_long_inc(&churn->rounds);
	}
	return 0;
}

static void concurrent_registration_churn(struct kunit *test)
{
	struct hammer *hammer = kunit_kzalloc(test, sizeof(*hammer), GFP_KERNEL);
	struct task_struct *threads[2], *hammering;
	unsigned char before[NR_TARGETS][16];
	struct churn *churn[2];
	unsigned int i, n;

	KUNIT_ASSERT_NOT_NULL(test, hammer);
	for (i = 0; i < NR_TARGETS; i++)
		memcpy(before[i], target(i), 16);
	hammering = kpt_thread(test, hammer_fn, hammer, other_cpu(), "hammer");
	for (n = 0; n < 2; n++) {
		churn[n] = kunit_kzalloc(test, sizeof(*churn[n]), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, churn[n]);
		churn[n]->seed = n + 1;
		for (i = 0; i < NR_TARGETS; i++)
			churn[n]->kps[i] = &churn[n]->kp[i];
		threads[n] = kpt_thread(test, churn_fn, churn[n], -1, "churn");
	}
	for (i = 0; i < 2000; i++) {
		call(test, i % NR_TARGETS);
		if (!(i % 10))
			usleep_range(500, 1000);
	}
	for (n = 0; n < 2; n++) {
		KUNIT_EXPECT_TRUE(test, kpt_wait_until(atomic_long_read(&churn[n]->rounds)));
		kpt_stop(test, threads[n]);
		KUNIT_EXPECT_EQ(test, atomic_read(&churn[n]->errors), 0);
	}
	kpt_stop(test, hammering);
	KUNIT_EXPECT_EQ(test, atomic_read(&hammer->wrong), 0);
	for (i = 0; i < NR_TARGETS; i++)
		KUNIT_EXPECT_MEMEQ(test, before[i], target(i), 16);
}

static struct kunit_case api_cases[] = {
	KUNIT_CASE(symbol_and_addr_both_is_einval),
	KUNIT_CASE(symbol_and_addr_neither_is_einval),
	KUNIT_CASE(offset_alone_is_einval),
	KUNIT_CASE(unknown_symbol_is_enoent),
	KUNIT_CASE(unknown_module_symbol_is_enoent),
	KUNIT_CASE(symbol_is_resolved_and_addr_filled_in),
	KUNIT_CASE(module_symbol_is_resolved),
	KUNIT_CASE(symbol_and_offset_add_up),
	KUNIT_CASE(addr_and_offset_add_up),
	KUNIT_CASE(offset_past_the_last_address_is_enoent),
	KUNIT_CASE(inside_an_instruction_is_eilseq),
	KUNIT_CASE(inside_an_endbr_is_refused),
	KUNIT_CASE(entry_probe_moves_after_endbr),
	KUNIT_CASE(opcode_is_the_original_one),
	KUNIT_CASE_PARAM(address_outside_of_text_is_refused, no_text_gen_params),
	KUNIT_CASE(jump_label_site_is_refused),
	KUNIT_CASE(static_call_site_is_refused),
	KUNIT_CASE(bug_trap_is_refused),
	KUNIT_CASE(double_registration_is_einval),
	KUNIT_CASE(double_registration_leaves_a_disabled_probe_disabled),
	KUNIT_CASE(flag_disabled_registers_switched_off),
	KUNIT_CASE(other_flags_of_the_caller_are_ignored),
	KUNIT_CASE(flags_tell_whether_it_is_a_function_entry),
	KUNIT_CASE(register_and_unregister_many_times),
	KUNIT_CASE(missed_hits_are_counted_from_registration),
	KUNIT_CASE(text_is_restored_by_unregister),
	KUNIT_CASE(unregister_one_of_several_leaves_the_others),
	KUNIT_CASE(unregister_post_probe_leaves_the_plain_one),
	KUNIT_CASE(unregister_of_never_registered_is_harmless),
	KUNIT_CASE(unregister_twice_is_harmless),
	KUNIT_CASE(handlers_cleared_before_unregister_is_harmless),
	KUNIT_CASE(handlers_are_those_at_registration),
	KUNIT_CASE(batch_registers_and_unregisters_all),
	KUNIT_CASE_PARAM(batch_with_an_unknown_symbol_registers_nothing,
			 bad_places_gen_params),
	KUNIT_CASE_PARAM(batch_with_both_symbol_and_address_registers_nothing,
			 bad_places_gen_params),
	KUNIT_CASE_PARAM(batch_with_a_refused_address_registers_nothing,
			 bad_places_gen_params),
	KUNIT_CASE_PARAM(batch_with_a_registered_probe_registers_nothing_else,
			 bad_places_gen_params),
	KUNIT_CASE_PARAM(batch_with_a_hole_registers_nothing, bad_places_gen_params),
	KUNIT_CASE_PARAM(unregister_batch_with_a_hole, bad_places_gen_params),
	KUNIT_CASE(batch_with_one_probe_twice_registers_nothing),
	KUNIT_CASE(batch_of_probes_on_one_address),
	KUNIT_CASE(batch_honours_flag_disabled),
	KUNIT_CASE(batch_of_none_is_einval),
	KUNIT_CASE(batch_of_null_is_einval),
	KUNIT_CASE(unregister_batch_with_invalid_entries),
	KUNIT_CASE(batch_of_many_adjacent_points),
	KUNIT_CASE(disable_stops_and_enable_restarts_the_handlers),
	KUNIT_CASE(disable_and_enable_twice_is_no_error),
	KUNIT_CASE(disable_and_enable_unregistered_is_einval),
	KUNIT_CASE(disable_unregistered_on_a_probed_address_is_einval),
	KUNIT_CASE(one_of_several_disabled),
	KUNIT_CASE(point_with_all_probes_disabled_is_disarmed),
	KUNIT_CASE(unregister_the_only_enabled_probe_disarms),
	KUNIT_CASE(probe_added_to_a_disarmed_point_arms_it),
	KUNIT_CASE(disabled_probe_added_to_an_armed_point),
	KUNIT_CASE(disabled_probe_can_be_unregistered),
	KUNIT_CASE_SLOW(no_handler_runs_after_unregister),
	KUNIT_CASE_SLOW(probe_may_be_freed_after_unregister),
	KUNIT_CASE_SLOW(concurrent_registration_churn),
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite api_suite = {
	.name = "kprobes_api",
	.suite_init = api_suite_init,
	.init = kpt_case_init,
	.test_cases = api_cases,
};

kunit_test_suite(api_suite);

MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
MODULE_DESCRIPTION("KUnit suite for the kprobes API");
MODULE_LICENSE("GPL");
