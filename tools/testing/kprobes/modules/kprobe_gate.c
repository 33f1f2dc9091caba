// SPDX-License-Identifier: GPL-2.0
/*
 * Stops another module while it is coming, when its symbols can be found, or while it is
 * going, after its exit function; and before any other notifier sees that:
 *
 *	insmod kprobe_gate.ko module=kprobe_target going=0
 *	insmod kprobe_target.ko &
 *	cat /sys/module/kprobe_gate/parameters/waiting		Y as soon as it is stopped
 *	echo 1 >/sys/module/kprobe_gate/parameters/open		it continues
 *
 * With livepatch=1 a coming module becomes a live patch that patches nothing, and
 * is not stopped.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/limits.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/string.h>
#include <linux/wait.h>

/* Long enough for a test; short enough that the guest ends if the test does not open the gate. */
#define WAIT (60 * HZ)

static char *module = "";
module_param(module, charp, 0444);
MODULE_PARM_DESC(module, "the name of the module to stop");

static bool going;
module_param(going, bool, 0444);
MODULE_PARM_DESC(going, "stop it when it is unloaded, not when it is loaded");

static bool livepatch;
module_param(livepatch, bool, 0444);
MODULE_PARM_DESC(livepatch, "make the module a live patch, and do not stop it");

static bool waiting;
module_param(waiting, bool, 0444);
MODULE_PARM_DESC(waiting, "the module is stopped");

static DECLARE_WAIT_QUEUE_HEAD(gate);
static bool is_open;

static int open_set(const char *val, const struct kernel_param *kp)
{
	int ret = param_set_bool(val, kp);

	wake_up_all(&gate);
	return ret;
}

static const struct kernel_param_ops open_ops = {
	.set = open_set,
	.get = param_get_bool,
};
module_param_cb(open, &open_ops, &is_open, 0644);
MODULE_PARM_DESC(open, "modules are not stopped, and one that is goes on");

static int gate_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *mod = data;

	if (event != (going ? MODULE_STATE_GOING : MODULE_STATE_COMING) ||
	    strcmp(mod->name, module))
		return NOTIFY_DONE;
#ifdef CONFIG_LIVEPATCH
	if (livepatch) {
		mod->klp = true;
		return NOTIFY_DONE;
	}
#endif

	WRITE_ONCE(waiting, true);
	if (!wait_event_timeout(gate, READ_ONCE(is_open), WAIT))
		pr_warn("nobody has opened the gate for %s\n", module);
	WRITE_ONCE(waiting, false);
	return NOTIFY_DONE;
}

static struct notifier_block gate_nb = {
	.notifier_call = gate_event,
	.priority = INT_MAX,
};

static int __init gate_init(void)
{
	return register_module_notifier(&gate_nb);
}
module_init(gate_init);

static void __exit gate_exit(void)
{
	unregister_module_notifier(&gate_nb);
}
module_exit(gate_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A gate that another module waits at while it is being loaded");
