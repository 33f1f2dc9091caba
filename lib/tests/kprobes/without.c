// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit support: the API as callers see it in a kernel that is built without kprobes.
 *
 * The kernel that runs the suites has kprobes. So this file switches them off for
 * itself, before it includes anything, and calls what the header then has: functions
 * that do nothing. Other files must not share types with it.
 */
#undef CONFIG_KPROBES
#undef CONFIG_KPROBES_ON_FTRACE
#undef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
#undef CONFIG_OPTPROBES
#undef CONFIG_KPROBE_OPTINSN
#undef CONFIG_KRETPROBES
#undef CONFIG_KRETPROBE_POOL
#undef CONFIG_KRETPROBE_ON_RETHOOK
#undef CONFIG_JPROBES

#include <linux/array_size.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/string.h>

#include "without.h"

/**
 * struct answer - what a call has returned
 * @call: its text
 * @ret:  the value
 */
struct answer {
	const char *call;
	int ret;
};

#define ANSWER(call)	{ #call, call }

static struct kprobe kp;
static struct kretprobe rp;
static struct jprobe jp;

const char *kpt_without_kprobes(void)
{
	struct kprobe *kps[] = { &kp };
	struct kretprobe *rps[] = { &rp };
	struct jprobe *jps[] = { &jp };
	const struct answer answers[] = {
		ANSWER(register_kprobe(&kp)),
		ANSWER(register_kprobes(kps, 1)),
		ANSWER(enable_kprobe(&kp)),
		ANSWER(disable_kprobe(&kp)),
		ANSWER(enable_kprobes(kps, 1)),
		ANSWER(disable_kprobes(kps, 1)),
		ANSWER(register_kretprobe(&rp)),
		ANSWER(register_kretprobes(rps, 1)),
		ANSWER(enable_kretprobe(&rp)),
		ANSWER(disable_kretprobe(&rp)),
		ANSWER(enable_kretprobes(rps, 1)),
		ANSWER(disable_kretprobes(rps, 1)),
		ANSWER(register_jprobe(&jp)),
		ANSWER(register_jprobes(jps, 1)),
		ANSWER(enable_jprobe(&jp)),
		ANSWER(disable_jprobe(&jp)),
	};
	unsigned long value;
	char type, name[8];
#ifdef CONFIG_X86
	static const u8 some_text[] = { 0x55, 0x48, 0x89, 0xe5 };
	u8 text[sizeof(some_text)];
#endif
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		if (answers[i].ret != -EOPNOTSUPP)
			return answers[i].call;
	}
	unregister_kprobe(&kp);
	unregister_kprobes(kps, 1);
	unregister_kretprobe(&rp);
	unregister_kretprobes(rps, 1);
	unregister_jprobe(&jp);
	unregister_jprobes(jps, 1);

	/* Everything is refused, and nothing is a probe. */
	if (!within_kprobe_blacklist((unsigned long)kpt_without_kprobes))
		return "within_kprobe_blacklist()";
	if (is_kprobe_insn_slot((unsigned long)kpt_without_kprobes))
		return "is_kprobe_insn_slot()";
	if (is_kprobe_optinsn_slot((unsigned long)kpt_without_kprobes))
		return "is_kprobe_optinsn_slot()";
	if (kprobe_get_kallsym(0, &value, &type, name) != -ERANGE)
		return "kprobe_get_kallsym()";
#ifdef CONFIG_X86
	kprobe_text(text, (unsigned long)some_text, sizeof(text));
	if (memcmp(text, some_text, sizeof(text)))
		return "kprobe_text()";
	/* Nothing is mapped there. */
	kprobe_text(text, (unsigned long)ERR_PTR(-EFAULT), sizeof(text));
	if (memchr_inv(text, 0, sizeof(text)))
		return "kprobe_text() where nothing is";
	if (kprobe_original_ip((unsigned long)some_text) != (unsigned long)some_text)
		return "kprobe_original_ip()";
	if (kprobe_has_text((unsigned long)some_text))
		return "kprobe_has_text()";
	if (kprobe_leave_copy(NULL))
		return "kprobe_leave_copy()";
	if (kprobe_int3_handler(NULL))
		return "kprobe_int3_handler()";
#endif
	if (kprobe_page_fault(NULL, 0))
		return "kprobe_page_fault()";
	if (kprobe_fault_handler(NULL, 0))
		return "kprobe_fault_handler()";
	if (kprobe_running())
		return "kprobe_running()";
	if (get_kprobe((void *)kpt_without_kprobes))
		return "get_kprobe()";
	if (get_kretprobe(NULL))
		return "get_kretprobe()";
	if (get_kretprobe_retaddr(NULL))
		return "get_kretprobe_retaddr()";
	kprobe_busy_begin();
	kprobe_busy_end();
	wait_for_kprobe_optimizer();
	kprobe_ftrace_kill();
	return NULL;
}
