// SPDX-License-Identifier: GPL-2.0
/*
 * Makes mistakes that a call cannot report:
 *
 *	insmod kprobe_careless.ko what=leave	probes that are set when it is unloaded
 *	insmod kprobe_careless.ko what=fail	probes that are set when its init function fails
 *	insmod kprobe_careless.ko what=atomic	probes that are unregistered where that is refused
 *	insmod kprobe_careless.ko what=return	pre-handlers that return non-zero for nothing
 *
 * The probes are in functions of kprobe_target, which has to be loaded. "offset" is that of an
 * instruction of kprobe_target_recurse() which is no ftrace site. "hits" is how often the
 * probes were hit.
 */
#include <linux/cpumask.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/string.h>

static char *what = "";
module_param(what, charp, 0444);

static unsigned int offset;
module_param(offset, uint, 0444);

static unsigned int hits;
module_param(hits, uint, 0444);

static int careless_pre(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	/* PUSH takes one byte: it would be skipped, as if that were wanted. */
	return !strcmp(what, "return") && (p->opcode & 0xf8) != 0x50;
}

static int careless_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static struct kprobe probes[] = {
	{ .symbol_name = "kprobe_target_add", .pre_handler = careless_pre },
	{ .symbol_name = "kprobe_target_recurse", .pre_handler = careless_pre },
};

static struct kretprobe returns = {
	.kp.symbol_name = "kprobe_target_recurse",
	.handler = careless_return,
};

/* The last CPU has one without a handler, so that nothing but the structure is freed. */
static DEFINE_PER_CPU(struct kprobe, local_probe);

static struct kprobe *careless_local(void)
{
	return per_cpu_ptr(&local_probe, cpumask_last(cpu_possible_mask));
}

static void careless_remove(void)
{
	unsigned int i;

	unregister_kprobe(careless_local());
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		unregister_kprobe(&probes[i]);
	unregister_kretprobe(&returns);
}

static int __init careless_init(void)
{
	unsigned int i;
	int ret;

	probes[1].offset = offset;
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		ret = register_kprobe(&probes[i]);
		if (ret)
			goto fail;
	}
	careless_local()->symbol_name = "kprobe_target_add";
	ret = register_kprobe(careless_local());
	if (ret)
		goto fail;
	ret = register_kretprobe(&returns);
	if (ret) {
		unregister_kprobe(careless_local());
		goto fail;
	}
	return strcmp(what, "fail") ? 0 : -ENODEV;

fail:
	while (i--)
		unregister_kprobe(&probes[i]);
	return ret;
}

static void __exit careless_exit(void)
{
	if (!strcmp(what, "leave"))
		return;
	if (strcmp(what, "atomic")) {
		careless_remove();
		return;
	}
	/* Without a count, kprobes do not notice, and the calls would sleep. */
	if (!IS_ENABLED(CONFIG_PREEMPT_COUNT))
		return;
	preempt_disable();
	careless_remove();
	preempt_enable();
}

module_init(careless_init);
module_exit(careless_exit);
MODULE_DESCRIPTION("mistakes that a call cannot report");
MODULE_LICENSE("GPL");
