// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit suite: text of the kernel image that other code patches cannot be probed:
 * jump labels, static calls and their trampolines, and ftrace sites where probes cannot use
 * them.
 */
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/static_call.h>
#ifdef CONFIG_X86
#include <asm/text-patching.h>
#endif

#include "fixture.h"

/* There are thousands of jump labels, hundreds of calls: try one in a prime number of them. */
#define STEP		61
#define CALL_STEP	13

/* Tries a byte, with a probe that stays off. */
static int try(unsigned long addr)
{
	struct kprobe p = {
		.addr = (kprobe_opcode_t *)addr,
		.flags = KPROBE_FLAG_DISABLED,
	};
	int ret = register_kprobe(&p);

	if (!ret)
		unregister_kprobe(&p);
	return ret;
}

static void check_sites(struct kunit *test, bool call)
{
	unsigned int nr, len, at, tried = 0, wrong = 0;
	unsigned long addr;
	int ret;

	for (nr = 0; (addr = kprobe_test_patched(call, nr, &len)); nr += call ? CALL_STEP : STEP) {
		if (addr == 1)
			continue;
		tried++;
#ifdef CONFIG_MIPS
		/* Before release 6, a jump has a delay slot. */
		KUNIT_EXPECT_EQ(test, len, MIPS_ISA_REV >= 6 ? 4 : 8);
#endif
		ret = try(addr);
		if (ret != -EINVAL && wrong++ < 5)
			KUNIT_FAIL(test, "%pS: %d", (void *)addr, ret);
		for (at = 1; at < len; at++) {
			ret = try(addr + at);
			if (ret >= 0 && wrong++ < 5)
				KUNIT_FAIL(test, "%pS: %d", (void *)(addr + at), ret);
		}
	}
	KUNIT_EXPECT_GT(test, tried, 5);

	/* All of them, by what registration asks. */
	wrong = 0;
	for (nr = 0; (addr = kprobe_test_patched(call, nr, &len)); nr++) {
		if (addr == 1 ||
		    (kprobe_test_reserved(addr, addr) &&
		     kprobe_test_reserved(addr + len - 1, addr + len - 1)))
			continue;
		if (wrong++ < 5)
			KUNIT_FAIL(test, "%u: %pS", nr, (void *)addr);
	}
}

static void jump_labels_of_the_kernel_are_refused(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_JUMP_LABEL))
		kunit_skip(test, "no jump labels in this kernel");
	check_sites(test, false);
}

static void static_calls_of_the_kernel_are_refused(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_HAVE_STATIC_CALL_INLINE))
		kunit_skip(test, "static calls are not patched in this kernel");
	check_sites(test, true);
}

#if defined(CONFIG_DYNAMIC_FTRACE) && !defined(CONFIG_KPROBES_ON_FTRACE)
#ifndef __ARCH_KPROBE_FTRACE_SIZE
#define __ARCH_KPROBE_FTRACE_SIZE	MCOUNT_INSN_SIZE
#endif

/* Here ftrace patches functions, but does not run the handlers of probes. */
static void ftrace_site_without_support_is_refused(struct kunit *test)
{
	unsigned long site = kprobe_test_ftrace_site(msleep), at;

	KUNIT_ASSERT_NE(test, site, 0);
	KUNIT_EXPECT_EQ(test, try(site), -EINVAL);
	for (at = site + sizeof(kprobe_opcode_t); at < site + __ARCH_KPROBE_FTRACE_SIZE;
	     at += sizeof(kprobe_opcode_t))
		KUNIT_EXPECT_EQ_MSG(test, try(at), -EILSEQ, "%lu", at - site);
	KUNIT_EXPECT_EQ(test, try(at), 0);
}
#endif

#ifdef MODULE
/* The bytes of a site after its first one. On x86, each site has several. */
static void __maybe_unused expect_inside_is_reserved(struct kunit *test, unsigned long site)
{
	if (IS_ENABLED(CONFIG_X86))
		KUNIT_EXPECT_TRUE_MSG(test, kprobe_test_reserved(site + 1, site + 1), "%pS",
				      (void *)site);
}

/* All sites of this module: there are few, and the lookup walks all of them. */
static void sites_of_modules_are_refused(struct kunit *test)
{
	unsigned int i, tried = 0;
	unsigned long addr;

#ifdef CONFIG_JUMP_LABEL
	for (i = 0; i < THIS_MODULE->num_jump_entries; i++) {
		addr = jump_entry_code(&THIS_MODULE->jump_entries[i]);
		if (!within_module_core(addr, THIS_MODULE))
			continue;
		tried++;
		KUNIT_EXPECT_EQ_MSG(test, try(addr), -EINVAL, "jump label %u", i);
		expect_inside_is_reserved(test, addr);
	}
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	for (i = 0; i < THIS_MODULE->num_static_call_sites; i++) {
		struct static_call_site *site = &THIS_MODULE->static_call_sites[i];

		addr = (unsigned long)site->addr + (unsigned long)&site->addr;
		if (!within_module_core(addr, THIS_MODULE))
			continue;
		tried++;
		KUNIT_EXPECT_EQ_MSG(test, try(addr), -EINVAL, "static call %u", i);
		expect_inside_is_reserved(test, addr);
	}
#endif
	if (IS_ENABLED(CONFIG_X86))
		KUNIT_EXPECT_GT(test, tried, 0);
}

#if defined(CONFIG_X86) && defined(CONFIG_JUMP_LABEL)
static int pre_counts_this_module(struct kpt_probe *pr, struct pt_regs *regs)
{
	if (regs_get_kernel_argument(regs, 0) == (unsigned long)THIS_MODULE)
		++*(unsigned int *)pr->arg;
	return 0;
}

/* The worker asks at any time, also while a task unloads the module. */
static void module_is_not_held_when_its_sites_are_looked_up(struct kunit *test)
{
	struct kpt_probe *pr = kpt_alloc(test, try_module_get);
	unsigned int *times = kunit_kzalloc(test, sizeof(*times), GFP_KERNEL);
	unsigned int i, reserved = 0;
	unsigned long addr;

	KUNIT_ASSERT_NOT_NULL(test, times);
	pr->on_pre = pre_counts_this_module;
	pr->arg = times;
	kpt_register(test, pr);
	KUNIT_ASSERT_TRUE(test, try_module_get(THIS_MODULE));
	module_put(THIS_MODULE);
	KUNIT_EXPECT_EQ(test, *times, 1);
	for (i = 0; i < THIS_MODULE->num_jump_entries; i++) {
		addr = jump_entry_code(&THIS_MODULE->jump_entries[i]);
		if (within_module_core(addr, THIS_MODULE))
			reserved += kprobe_test_reserved(addr, addr);
	}
	KUNIT_EXPECT_GT(test, reserved, 0);
	KUNIT_EXPECT_EQ(test, *times, 1);
}

#ifdef CONFIG_MODULE_UNLOAD
/* It is coming and about to fail. Where its sites are cannot be known. */
static void module_that_cannot_be_held_is_reserved_as_a_whole(struct kunit *test)
{
	unsigned long addr = (unsigned long)kpt_text(kpt_plain);
	bool reserved;
	int refs;

	KUNIT_EXPECT_FALSE(test, kprobe_test_reserved(addr, addr));
	refs = atomic_xchg(&THIS_MODULE->refcnt, 0);
	THIS_MODULE->state = MODULE_STATE_COMING;
	reserved = kprobe_test_reserved(addr, addr);
	THIS_MODULE->state = MODULE_STATE_LIVE;
	atomic_add(refs, &THIS_MODULE->refcnt);
	KUNIT_EXPECT_TRUE(test, reserved);
}
#endif
#endif
#endif

/* A jump label is no reason to refuse the instruction after it. */
static void after_a_jump_label_is_allowed(struct kunit *test)
{
	unsigned int nr, len, allowed = 0, tried = 0;
	unsigned long addr;

	if (!IS_ENABLED(CONFIG_JUMP_LABEL))
		kunit_skip(test, "no jump labels in this kernel");
	for (nr = 0; (addr = kprobe_test_patched(false, nr, &len)); nr += STEP) {
		if (addr == 1)
			continue;
		tried++;
		allowed += !try(addr + len);
	}
	/* Other sites begin there, and some functions are refused as a whole. */
	KUNIT_EXPECT_GT(test, allowed, tried / 4);
}

#ifdef CONFIG_X86
/*
 * A jump replaces some bytes, and a site may be any of them. Other sites may be in the
 * bytes that are next to it.
 */
static void bytes_with_a_site_of_the_kernel_are_reserved(struct kunit *test)
{
	unsigned int call, nr, len, at, tried = 0, beside = 0, wrong = 0;
	unsigned long addr;

	for (call = 0; call < 2; call++) {
		for (nr = 0; (addr = kprobe_test_patched(call, nr, &len)); nr += STEP) {
			if (addr == 1)
				continue;
			tried++;
			for (at = 0; at < JMP32_INSN_SIZE; at++) {
				if (!kprobe_test_reserved(addr - at,
							  addr - at + JMP32_INSN_SIZE - 1) &&
				    wrong++ < 5)
					KUNIT_FAIL(test, "%pS - %u", (void *)addr, at);
			}
			if (!kprobe_test_reserved(addr + len - 1,
						  addr + len + JMP32_INSN_SIZE - 2) &&
			    wrong++ < 5)
				KUNIT_FAIL(test, "the end of %pS", (void *)addr);
			beside += kprobe_test_reserved(addr - JMP32_INSN_SIZE, addr - 1);
			beside += kprobe_test_reserved(addr + len,
						       addr + len + JMP32_INSN_SIZE - 1);
		}
	}
	if (!tried)
		kunit_skip(test, "nothing is patched in this kernel");
	KUNIT_EXPECT_LT(test, beside, tried);
}

#ifdef CONFIG_JUMP_LABEL
/* While a label is off its branch is not there, but a jump must not cover the target. */
static void targets_of_jump_labels_of_the_kernel_are_known(struct kunit *test)
{
	unsigned int nr, tried = 0, wrong = 0;
	unsigned long addr, last = 0;

	for (nr = 0; (addr = kprobe_test_label_target(nr)); nr++) {
		if (addr != 1)
			last = addr;
	}
	KUNIT_ASSERT_NE(test, last, 0ul);
	KUNIT_EXPECT_TRUE(test, kprobe_test_is_label_target(last));
	for (nr = 0; (addr = kprobe_test_label_target(nr)); nr += STEP) {
		if (addr == 1)
			continue;
		tried++;
		if (!kprobe_test_is_label_target(addr) && wrong++ < 5)
			KUNIT_FAIL(test, "%pS", (void *)addr);
	}
	KUNIT_EXPECT_GT(test, tried, 5);
}

#ifdef MODULE
static void targets_of_jump_labels_of_a_module_are_known(struct kunit *test)
{
	struct module *mod = THIS_MODULE;
	unsigned int i, tried = 0;
	unsigned long addr;

	for (i = 0; i < mod->num_jump_entries; i++) {
		addr = jump_entry_target(&mod->jump_entries[i]);
		/* Init text has gone. */
		if (!within_module_core(addr, mod))
			continue;
		tried++;
		KUNIT_EXPECT_TRUE_MSG(test, kprobe_test_is_label_target(addr), "%pS",
				      (void *)addr);
	}
	KUNIT_EXPECT_GE(test, tried, 2);
}
#endif
#endif
#endif

#if defined(MODULE) && defined(CONFIG_LIVEPATCH)
#define SECTIONS	5

/*
 * As if this module were a live patch with relocations for @name in its text, which are
 * section number @nr, and for the kernel image in all others.
 */
static void check_relocated(struct kunit *test, const char *name, unsigned int nr, int inside)
{
	static const char vmlinux[] = "\0.klp.rela.vmlinux..text";
	struct module *mod = THIS_MODULE;
	const struct module_memory *text = &mod->mem[MOD_TEXT];
	char names[sizeof(vmlinux) + 32];
	unsigned int i, to = nr == 1 ? 2 : 1;
	Elf_Shdr sechdrs[SECTIONS] = { }, *sec = &sechdrs[to];
	struct klp_modinfo info = {
		.hdr.e_shnum = SECTIONS,
		.sechdrs = sechdrs,
		.secstrings = names,
	};
	struct kpt_probe *pr;
	unsigned long at;

	for (i = 1; i < SECTIONS; i++) {
		if (i == to)
			continue;
		sechdrs[i].sh_flags = SHF_RELA_LIVEPATCH;
		sechdrs[i].sh_info = to;
		sechdrs[i].sh_name = i == nr ? sizeof(vmlinux) : 1;
	}
	sec->sh_addr = (unsigned long)text->base;
	sec->sh_size = text->size;
	memcpy(names, vmlinux, sizeof(vmlinux));
	strscpy(names + sizeof(vmlinux), name, sizeof(names) - sizeof(vmlinux));
	pr = kpt_probe(test, kpt_plain);
	at = (unsigned long)pr->kp.addr;
	kpt_unregister(test, pr);

	KUNIT_ASSERT_FALSE(test, mod->klp);
	mod->klp_info = &info;
	mod->klp = true;
	KUNIT_EXPECT_EQ_MSG(test, try((unsigned long)kpt_plain), inside, "%s", name);
	if (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		KUNIT_EXPECT_EQ_MSG(test, try((unsigned long)kpt_traced), 0, "%s", name);
	/* Only that section is affected: make it end before the function. */
	sec->sh_size = (unsigned long)kpt_plain - sec->sh_addr;
	KUNIT_EXPECT_EQ_MSG(test, try((unsigned long)kpt_plain), 0, "%s", name);
	/* Before the probe, and at it. */
	sec->sh_size = at - sec->sh_addr;
	KUNIT_EXPECT_EQ_MSG(test, try(at), 0, "%s", name);
	sec->sh_size++;
	KUNIT_EXPECT_EQ_MSG(test, try(at), inside, "%s", name);
	sec->sh_addr = at;
	sec->sh_size = 1;
	KUNIT_EXPECT_EQ_MSG(test, try(at), inside, "%s", name);
	mod->klp = false;
	mod->klp_info = NULL;
}

static void text_that_a_live_patch_relocates_is_refused(struct kunit *test)
{
	unsigned int nr;

	for (nr = 1; nr < SECTIONS; nr++) {
		check_relocated(test, ".klp.rela.other..text", nr, -EINVAL);
		check_relocated(test, ".klp.rela.vmlinux..text", nr, 0);
	}
	KUNIT_EXPECT_EQ(test, try((unsigned long)kpt_plain), 0);
}
#endif

/* A trampoline has at least this many bytes. */
#define TRAMP_SIZE	5

#ifdef CONFIG_HAVE_STATIC_CALL
static notrace KPT_FUNCTION(reserved_callee, arg + 1)
static notrace KPT_FUNCTION(reserved_callee2, arg + 2)

DEFINE_STATIC_CALL(kpt_reserved_call, kpt_reserved_callee);
DEFINE_STATIC_CALL_NULL(kpt_reserved_null, kpt_reserved_callee);

static void check_trampoline(struct kunit *test, unsigned long addr, const char *name)
{
	unsigned int at;
	int ret;

	for (at = 0; at < TRAMP_SIZE; at++) {
		ret = try(addr + at);
		KUNIT_EXPECT_LT_MSG(test, ret, 0, "%s+%u", name, at);
		if (!at)
			KUNIT_EXPECT_EQ_MSG(test, ret, -EINVAL, "%s", name);
	}
}
#endif

static void static_call_trampolines_of_the_kernel_are_refused(struct kunit *test)
{
	static const char * const names[] = {
		"__SCT__cond_resched", "__SCT__might_resched", "__SCT__preempt_schedule",
		"__SCT__preempt_schedule_notrace", "__SCT__apic_call_send_IPI",
		"__SCT__tp_func_sched_switch", "__SCT__pv_steal_clock",
		"__SCT__x86_idle",
	};
	unsigned int i, found = 0;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		found += kpt_all_refused(test, names[i], TRAMP_SIZE);
	if (!IS_ENABLED(CONFIG_X86))
		kunit_skip(test, "no such names here");
	KUNIT_EXPECT_GT(test, found, 0);
}

static void static_call_trampolines_of_modules_are_refused(struct kunit *test)
{
#ifdef CONFIG_HAVE_STATIC_CALL
	check_trampoline(test, (unsigned long)STATIC_CALL_TRAMP_ADDR(kpt_reserved_call),
			 "__SCT__kpt_reserved_call");
	static_call_update(kpt_reserved_call, kpt_reserved_callee2);
	KUNIT_EXPECT_EQ(test, static_call(kpt_reserved_call)(1), 3ul);
	check_trampoline(test, (unsigned long)STATIC_CALL_TRAMP_ADDR(kpt_reserved_call),
			 "__SCT__kpt_reserved_call");
	static_call_update(kpt_reserved_call, kpt_reserved_callee);
	KUNIT_EXPECT_EQ(test, static_call(kpt_reserved_call)(1), 2ul);
	check_trampoline(test, (unsigned long)STATIC_CALL_TRAMP_ADDR(kpt_reserved_null),
			 "__SCT__kpt_reserved_null");
#else
	kunit_skip(test, "no trampolines in this kernel");
#endif
}

#if defined(CONFIG_X86) && defined(CONFIG_HAVE_STATIC_CALL)
static void trampoline_of_no_call_is_refused_to_its_end(struct kunit *test)
{
	unsigned long tramp = (unsigned long)kpt_null_tramp + kpt_null_tramp_at;

	/* Otherwise objtool sees a constant address after it, and wants an ENDBR there. */
	OPTIMIZER_HIDE_VAR(tramp);
	check_trampoline(test, tramp, "kpt_null_tramp");
	KUNIT_EXPECT_LT(test, try(tramp + TRAMP_SIZE), 0);
	KUNIT_EXPECT_EQ(test, try(tramp + KPT_NULL_TRAMP_SIZE), 0);
	KUNIT_EXPECT_EQ(test, kpt_null_tramp(7), KPT_RESULT(7ul));
}
#endif

static struct kunit_case reserved_cases[] = {
	KUNIT_CASE(jump_labels_of_the_kernel_are_refused),
	KUNIT_CASE(static_calls_of_the_kernel_are_refused),
#if defined(CONFIG_DYNAMIC_FTRACE) && !defined(CONFIG_KPROBES_ON_FTRACE)
	KUNIT_CASE(ftrace_site_without_support_is_refused),
#endif
#ifdef MODULE
	KUNIT_CASE(sites_of_modules_are_refused),
#if defined(CONFIG_X86) && defined(CONFIG_JUMP_LABEL)
	KUNIT_CASE(module_is_not_held_when_its_sites_are_looked_up),
#ifdef CONFIG_MODULE_UNLOAD
	KUNIT_CASE(module_that_cannot_be_held_is_reserved_as_a_whole),
#endif
#endif
#endif
	KUNIT_CASE(after_a_jump_label_is_allowed),
#ifdef CONFIG_X86
	KUNIT_CASE(bytes_with_a_site_of_the_kernel_are_reserved),
#ifdef CONFIG_JUMP_LABEL
	KUNIT_CASE(targets_of_jump_labels_of_the_kernel_are_known),
#ifdef MODULE
	KUNIT_CASE(targets_of_jump_labels_of_a_module_are_known),
#endif
#endif
#endif
#if defined(MODULE) && defined(CONFIG_LIVEPATCH)
	KUNIT_CASE(text_that_a_live_patch_relocates_is_refused),
#endif
	KUNIT_CASE(static_call_trampolines_of_the_kernel_are_refused),
	KUNIT_CASE(static_call_trampolines_of_modules_are_refused),
#if defined(CONFIG_X86) && defined(CONFIG_HAVE_STATIC_CALL)
	KUNIT_CASE(trampoline_of_no_call_is_refused_to_its_end),
#endif
	KPT_LAST_CASE,
	{}
};

static struct kunit_suite reserved_suite = {
	.name = "kprobes_reserved",
	.suite_init = kpt_suite_init,
	.init = kpt_case_init,
	.test_cases = reserved_cases,
};

kunit_test_suite(reserved_suite);
