// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes: support for the KUnit suites, see testing.h. It is built with KUnit only,
 * and does not touch the path of a hit.
 */
#include <kunit/visibility.h>
#include <linux/bitmap.h>
#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/stacktrace.h>
#include <linux/static_call.h>
#include <linux/stop_machine.h>

#ifdef CONFIG_KGDB
#include "../debug/debug_core.h"
#endif
#ifdef CONFIG_PPC64_ELF_ABI_V2
#include <asm/code-patching.h>
#endif
#ifdef CONFIG_X86_MCE
#include "../../arch/x86/kernel/cpu/mce/internal.h"
#endif

#include "internal.h"
#ifdef CONFIG_KRETPROBE_POOL
#include "pool.h"
#endif

/**
 * kprobe_test_oops - report an oops, as if one had happened here
 *
 * Context: any.
 * Return: NOTIFY_STOP if a debugger lets it go on.
 */
int kprobe_test_oops(void)
{
	struct pt_regs regs = { };

	return notify_die(DIE_OOPS, "a test", &regs, 0, 0, 0);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_oops);

#ifdef CONFIG_X86
/**
 * kprobe_test_oops_at - report an oops, as if this instruction had crashed
 * @ip: the address of the instruction
 *
 * Context: any.
 */
void kprobe_test_oops_at(unsigned long ip)
{
	struct pt_regs regs = { .ip = ip, .cs = __KERNEL_CS };

	notify_die(DIE_OOPS, "a test", &regs, 0, 0, 0);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_oops_at);
#endif

#ifdef CONFIG_X86_MCE
/**
 * kprobe_test_mce_recovers - test if the kernel could go on after an error of memory
 * @ip: address of the instruction that has read the memory
 *
 * Context: any.
 * Return: true if it could.
 */
bool kprobe_test_mce_recovers(unsigned long ip)
{
	struct mce m = {
		.status = MCI_STATUS_VAL | MCI_STATUS_UC | MCI_STATUS_EN | MCI_STATUS_AR,
		.mcgstatus = MCG_STATUS_RIPV | MCG_STATUS_EIPV,
		.cs = __KERNEL_CS,
		.ip = ip,
	};
	/* The operand is memory of the kernel. */
	struct pt_regs regs = { .ip = ip, .ax = ip, .di = ip };
	bool succor = mce_flags.succor;
	char *msg;

	guard(preempt)();
	/* Some AMD CPUs recover from no error of this kind. */
	mce_flags.succor = 1;
	mce_severity(&m, &regs, &msg, true);
	mce_flags.succor = succor;
	return m.kflags & MCE_IN_KERNEL_RECOV;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_mce_recovers);
#endif

struct each_symbol {
	int (*fn)(void *data, const char *name, unsigned long addr);
	void *data;
};

static int testing_symbol(void *arg, const char *name, unsigned long addr)
{
	struct each_symbol *each = arg;

	/* With KALLSYMS_ALL, data has symbols, too. */
	return kernel_text_address(addr) ? each->fn(each->data, name, addr) : 0;
}

/**
 * kprobe_test_each_symbol - call a function for each symbol of the kernel's own text
 * @fn:	  the function; the walk ends if it returns anything but 0
 * @data: its first argument
 *
 * Context: may sleep.
 * Return: the last value that @fn returned.
 */
int kprobe_test_each_symbol(int (*fn)(void *, const char *, unsigned long), void *data)
{
	struct each_symbol each = { .fn = fn, .data = data };

	return kallsyms_on_each_symbol(testing_symbol, &each);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_each_symbol);

#ifdef CONFIG_KGDB
/* kgdb tries a breakpoint at once, and is refused while others patch any text. */
static bool testing_others_patch(unsigned long addr)
{
#ifdef CONFIG_X86
	return !kprobe_has_text(addr);
#else
	return false;
#endif
}

static int testing_patch(void *set)
{
	/* kgdb does not patch text while this is held. */
	if (mutex_is_locked(&text_mutex))
		return -EAGAIN;
	return *(bool *)set ? dbg_activate_sw_breakpoints() : dbg_deactivate_sw_breakpoints();
}
#endif

/**
 * kprobe_test_debug - set or remove a breakpoint of kgdb
 * @addr: where; it must not be executed meanwhile, as no debugger is connected
 * @set:  set it
 *
 * Context: may sleep; not from a stage.
 * Return: 0; an error from kgdb; or -EOPNOTSUPP if this kernel does not have it.
 */
int kprobe_test_debug(unsigned long addr, bool set)
{
#ifdef CONFIG_KGDB
	unsigned int tries = 0;
	int ret;

	while ((ret = set ? dbg_set_sw_break(addr) : 0) == -EBUSY &&
	       testing_others_patch(addr) && ++tries < 1000)
		usleep_range(100, 1000);
	if (ret)
		return ret;
	while ((ret = stop_machine(testing_patch, &set, NULL)) == -EAGAIN)
		usleep_range(100, 1000);
	if (ret || !set)
		dbg_remove_sw_break(addr);
	return ret;
#else
	return -EOPNOTSUPP;
#endif
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_debug);

/* -------------------------------- Boot ----------------------------------- */

static int too_early_ret, too_late_ret, left_ret;
static bool too_early_refused, too_late_text, left_in_init;

/*
 * Tasks may sleep already, as they must to register a probe. Initcalls of one level run in
 * the order of kernel/Makefile, so this is the last one before kprobes_init().
 */
static int __init too_early(void)
{
	struct kprobe kp = { .symbol_name = KPROBE_TEST_EARLY_SYMBOL };

	too_early_ret = register_kprobe(&kp);
	if (!too_early_ret)
		unregister_kprobe(&kp);
	too_early_refused = within_kprobe_blacklist((unsigned long)kprobe_test_entry(too_early));
	return 0;
}
early_initcall(too_early);

/**
 * kprobe_test_too_early - tell what a probe got that was registered too early
 * @refused: set to whether within_kprobe_blacklist() was true then, for any text
 *
 * Context: any.
 * Return: what register_kprobe() has returned.
 */
int kprobe_test_too_early(bool *refused)
{
	*refused = too_early_refused;
	return too_early_ret;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_too_early);

/* A mistake for the suites, which the log reports: its memory is freed while it is set. */
static struct kprobe left_probe __initdata = { .flags = KPROBE_FLAG_DISABLED };

static int __init leave_probe(void)
{
	/* Suites that are built in run while it is set, and would see a point that is off. */
	if (!IS_MODULE(CONFIG_KPROBES_SANITY_TEST))
		return 0;
	left_probe.addr = kprobe_test_entry(kprobe_test_too_early);
	left_ret = register_kprobe(&left_probe);
	return left_ret;
}
late_initcall(leave_probe);

/**
 * kprobe_test_init_text_gone - register a probe on init text too late
 *
 * Context: may sleep; kprobes have left init text, which is still there.
 */
void __ref kprobe_test_init_text_gone(void)
{
	struct kprobe kp = { .addr = kprobe_test_entry(too_early) };

	/* It cannot be enabled if it is not registered. */
	left_in_init = left_ret || enable_kprobe(&left_probe) != -EINVAL;
	too_late_text = core_kernel_text((unsigned long)kp.addr);
	too_late_ret = register_kprobe(&kp);
	if (!too_late_ret)
		unregister_kprobe(&kp);
}

/**
 * kprobe_test_too_late - tell what a probe got that was registered too late
 * @text: set to whether its address was the kernel's text then
 *
 * Context: any.
 * Return: what register_kprobe() has returned.
 */
int kprobe_test_too_late(bool *text)
{
	*text = too_late_text;
	return too_late_ret;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_too_late);

/**
 * kprobe_test_left_in_init - tell if a probe in init memory was still set when that was freed
 *
 * Context: any.
 * Return: true if so, or if it could not be set.
 */
bool kprobe_test_left_in_init(void)
{
	return left_in_init;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_left_in_init);

/* ------------------------------- Stages --------------------------------- */

DEFINE_STATIC_KEY_FALSE(kprobe_test_stops);

/* Protects stop_here and stop_arg; held for reading while a test is at a stage. */
static DECLARE_RWSEM(stop_sem);
static kprobe_stop_t stop_here;
static void *stop_arg;

/**
 * kprobe_test_stop - set a function to be called at each stage
 * @stop: the function, which runs in the context of the stage; or NULL
 * @arg:  its argument
 *
 * On return the function that was set before does not run any more.
 *
 * Context: may sleep; not from a stage.
 */
void kprobe_test_stop(kprobe_stop_t stop, void *arg)
{
	scoped_guard(rwsem_write, &stop_sem) {
		stop_here = stop;
		stop_arg = arg;
	}
	if (stop)
		static_branch_enable(&kprobe_test_stops);
	else
		static_branch_disable(&kprobe_test_stops);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_stop);

/**
 * kprobe_test_reached - call the function of the test
 * @stage: the stage
 *
 * Context: may sleep.
 */
void kprobe_test_reached(enum kprobe_stage stage)
{
	guard(rwsem_read)(&stop_sem);
	if (stop_here)
		stop_here(stage, stop_arg);
}

bool kprobe_test_no_detours;
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_no_detours);

bool kprobe_test_no_instances;
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_no_instances);
atomic_t kprobe_test_instances_failed;
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_instances_failed);

#ifdef CONFIG_KPROBES_ON_FTRACE
/**
 * kprobe_test_ftrace_kill - pretend that ftrace has found itself broken, or undo that
 * @killed: it is broken
 *
 * ftrace itself keeps working.
 *
 * Context: any.
 */
void kprobe_test_ftrace_kill(bool killed)
{
	if (killed)
		kprobe_ftrace_kill();
	else
		WRITE_ONCE(kprobe_ftrace_disabled, false);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_ftrace_kill);
#endif

/* ------------------------------- Counts --------------------------------- */

atomic_t kprobe_test_nr_pools;

/**
 * kprobe_test_counts - count points, users, slots and pools
 * @counts: to be filled in
 * @settle: wait until retired slots, old arrays of tables, and pools without a call are free
 *
 * Context: may sleep; not from a stage.
 */
void kprobe_test_counts(struct kprobe_counts *counts, bool settle)
{
	if (settle) {
#ifdef CONFIG_KRETPROBE_POOL
		kretprobe_pools_flush();
#endif
		wait_for_kprobe_optimizer();
		slots_flush();
		addr_arrays_flush();
	}
	memset(counts, 0, sizeof(*counts));
	guard(mutex)(&kprobe_mutex);
	counts->points = list_count_nodes(&kprobe_points);
	counts->found = kprobe_point_table.live;
	counts->users = kprobe_user_table.live;
	slots_count(&counts->copies, &counts->detours);
	counts->pools = atomic_read(&kprobe_test_nr_pools);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_counts);

/* ------------------------------- Running -------------------------------- */

/**
 * kprobe_test_running - get the point that is shown as running here
 *
 * Context: any, preemption off.
 * Return: the architecture's view of the point, or NULL.
 */
struct kprobe *kprobe_test_running(void)
{
	return kprobe_running();
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_running);

#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
/**
 * kprobe_test_shown - test if a point is shown as running here in a context
 * @ctx: a value of enum kprobe_context
 *
 * Context: any, preemption off.
 * Return: true if it is.
 */
bool kprobe_test_shown(unsigned int ctx)
{
	return kprobe_shown(ctx);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_shown);

/**
 * kprobe_test_covered - count the handlers that are covered by others on a CPU
 * @cpu: the CPU
 *
 * Context: any.
 * Return: the number.
 */
unsigned int kprobe_test_covered(unsigned int cpu)
{
	return READ_ONCE(per_cpu(kprobe_cpu, cpu).covered) & KPROBE_COVERED_MASK;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_covered);
#endif

/**
 * kprobe_test_symbol - look up a symbol that is not exported, such as a lock
 * @name: its symbol
 *
 * Context: any.
 * Return: its address, or NULL if the kernel knows no such symbol.
 */
void *kprobe_test_symbol(const char *name)
{
	return (void *)kallsyms_lookup_name(name);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_symbol);

#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_DYNAMIC_FTRACE)
/**
 * kprobe_test_ftrace_walks - does the trampoline that ftrace shares walk the list of all ops?
 *
 * Context: any.
 * Return: false if it calls ops directly.
 */
bool kprobe_test_ftrace_walks(void)
{
	return READ_ONCE(ftrace_trace_function) == (ftrace_func_t)arch_ftrace_ops_list_func;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_ftrace_walks);

/**
 * kprobe_test_ftrace_call - call the handler of a point as a trampoline that saves no registers
 * @kp: a probe on an ftrace site
 *
 * Context: any.
 */
void kprobe_test_ftrace_call(struct kprobe *kp)
{
	struct kprobe_point *pt = kprobe_point_at((unsigned long)kp->addr);

	pt->ops->func(pt->node.key, 0, pt->ops, NULL);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_ftrace_call);
#endif

/* --------------------- Words that a test can watch ----------------------- */

/**
 * kprobe_test_only_word - find where hits first look for what to run
 * @kp: a registered probe
 *
 * Context: may sleep; not from a stage.
 * Return: the address of kprobe_point::only.
 */
void *kprobe_test_only_word(struct kprobe *kp)
{
	guard(mutex)(&kprobe_mutex);
	return &kprobe_user_of(kp)->point->only;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_only_word);

/**
 * kprobe_test_users_word - find where a point gets its next user
 * @kp: a registered probe
 *
 * Context: may sleep; not from a stage.
 * Return: the address of the last word that linking a user to the same point writes.
 */
void *kprobe_test_users_word(struct kprobe *kp)
{
	guard(mutex)(&kprobe_mutex);
	return &kprobe_user_of(kp)->point->users.prev;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_users_word);

/**
 * kprobe_test_enabled_byte - find where hits that look at all users look for enabled ones
 * @kp: a registered probe
 *
 * Context: may sleep; not from a stage.
 * Return: the address of kprobe_user::enabled.
 */
void *kprobe_test_enabled_byte(struct kprobe *kp)
{
	guard(mutex)(&kprobe_mutex);
	return &kprobe_user_of(kp)->enabled;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_enabled_byte);

/**
 * kprobe_test_owner_word - find where a missed hit looks for the caller's structure
 * @kp: a registered probe
 *
 * Context: may sleep; not from a stage.
 * Return: the address of kprobe_user::kp.
 */
void *kprobe_test_owner_word(struct kprobe *kp)
{
	guard(mutex)(&kprobe_mutex);
	return &kprobe_user_of(kp)->kp;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_owner_word);

#ifdef CONFIG_ARCH_HAS_KPROBE_CONTEXTS
/**
 * kprobe_test_covered_word - find where kprobe_quiesce() reads what is covered
 * @cpu: the CPU that it looks at
 *
 * Context: any.
 * Return: the address of kprobe_cpu::covered.
 */
void *kprobe_test_covered_word(unsigned int cpu)
{
	return &per_cpu(kprobe_cpu, cpu).covered;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_covered_word);

/**
 * kprobe_test_running_word - find where kprobe_quiesce() reads what runs
 * @cpu: the CPU that it looks at
 *
 * Context: any.
 * Return: the address of an element of kprobe_cpu::running.
 */
void *kprobe_test_running_word(unsigned int cpu)
{
	return &per_cpu(kprobe_cpu, cpu).running[KPROBE_CTX_TASK];
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_running_word);
#endif

/**
 * kprobe_test_slots_word - find where kallsyms begins to read the pages of slots
 *
 * Context: any.
 * Return: the address of the first link of slot_cache::pages, of the copies.
 */
void *kprobe_test_slots_word(void)
{
	return &kprobe_insn_slots.pages.next;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_slots_word);

/**
 * kprobe_test_blacklist_word - find where the blacklist is read
 *
 * Context: any.
 * Return: the address of kprobe_blacklist.
 */
void *kprobe_test_blacklist_word(void)
{
	return &kprobe_blacklist;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_blacklist_word);

/**
 * kprobe_test_arrays_wait - test if arrays of tables wait until the worker takes them
 *
 * Context: any.
 * Return: true if there are some.
 */
bool kprobe_test_arrays_wait(void)
{
	return addr_arrays_wait();
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_arrays_wait);

/**
 * kprobe_test_points_word - find where points are looked up
 *
 * Context: any.
 * Return: the address of addr_table::array, of the points.
 */
void *kprobe_test_points_word(void)
{
	return &kprobe_point_table.array;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_points_word);

/**
 * kprobe_test_copies_word - find where pages of copies are looked up
 *
 * Context: any.
 * Return: the address of addr_table::array, of their cache.
 */
void *kprobe_test_copies_word(void)
{
	return &kprobe_insn_slots.table.array;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_copies_word);

#ifdef CONFIG_KRETPROBES
/**
 * kprobe_test_handler_word - find where returns read their handler
 * @ri: a call of the return probe
 *
 * Context: any; the probe stays registered.
 * Return: the address of kretprobe_hook::handler.
 */
void *kprobe_test_handler_word(struct kretprobe_instance *ri)
{
	return &kretprobe_hook_of(ri)->handler;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_handler_word);
#endif

#ifdef CONFIG_KRETPROBE_POOL
/**
 * kprobe_test_free_word - find where calls look for an instance
 * @ri: an instance, of the CPU that has taken it without a search
 *
 * Context: any; the probe stays registered.
 * Return: the address of kretprobe_chunk::free.
 */
void *kprobe_test_free_word(struct kretprobe_instance *ri)
{
	return &ri->home->free;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_free_word);

/**
 * kprobe_test_given_back - do what giving back an instance does, and take it again
 * @ri: an instance of the pool, in use
 *
 * Context: any; the probe stays registered.
 */
void kprobe_test_given_back(struct kretprobe_instance *ri)
{
	if (raw_atomic_read(&ri->pool->attention))
		kretprobe_pool_attend(ri->home);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_given_back);

/**
 * kprobe_test_attention - find how many want to know what is given back
 * @ri: an instance of the pool
 *
 * Context: any; the probe stays registered.
 * Return: the address of kretprobe_pool::attention.
 */
atomic_t *kprobe_test_attention(struct kretprobe_instance *ri)
{
	return &ri->pool->attention;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_attention);

/**
 * kprobe_test_asked - find where calls look if the worker has been asked for instances
 * @ri: an instance of the pool
 *
 * Context: any; the probe stays registered.
 * Return: the address of kretprobe_pool::asked.
 */
void *kprobe_test_asked(struct kretprobe_instance *ri)
{
	return &ri->pool->asked;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_asked);

/**
 * kprobe_test_todo_word - find where a pool gets into a list of the worker
 * @ri: an instance of the pool
 *
 * Context: any; the probe stays registered.
 * Return: the address of the word that is written first.
 */
void *kprobe_test_todo_word(struct kretprobe_instance *ri)
{
	return &ri->pool->todo.next;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_todo_word);

/**
 * kprobe_test_held_to_grow - tell if there is a reference of the worker's list
 * @ri: an instance of the pool
 *
 * Context: any; the probe stays registered, and the pool does not grow meanwhile.
 * Return: true if that cannot be freed while the worker has it.
 */
bool kprobe_test_held_to_grow(struct kretprobe_instance *ri)
{
	struct kretprobe_pool *pool = ri->pool;

	/* It does not grow. */
	return raw_atomic_read(&pool->refs) == data_race(pool->total) + 2;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_held_to_grow);

/**
 * kprobe_test_wanted - tell if a chunk has run out
 * @ri: one of its instances
 *
 * Context: any; the probe stays registered.
 * Return: kretprobe_chunk::wanted.
 */
bool kprobe_test_wanted(struct kretprobe_instance *ri)
{
	return READ_ONCE(ri->home->wanted);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_wanted);

/**
 * kprobe_test_instances - count the instances of a return probe
 * @rp: the probe, registered
 *
 * Context: may sleep; not from a stage.
 * Return: how many it has, whether they are in use or not.
 */
unsigned int kprobe_test_instances(struct kretprobe *rp)
{
	struct kretprobe_usage usage = {};

	guard(mutex)(&kprobe_mutex);
	kretprobe_hook_usage(kprobe_user_of(&rp->kp)->hook, &usage);
	return usage.total;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_instances);

/**
 * kprobe_test_chain_word - find where the instances of a CPU begin
 * @ri:	 an instance of the same pool
 * @cpu: a possible CPU
 *
 * Context: any; the probe stays registered.
 * Return: the address of an element of kretprobe_pool::first.
 */
void *kprobe_test_chain_word(struct kretprobe_instance *ri, unsigned int cpu)
{
	return &ri->pool->first[cpu];
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_chain_word);
#endif

/* -------------------------------- Text ---------------------------------- */

/**
 * kprobe_test_entry - find an address that every call of a function passes
 * @fn: a pointer to the function, or any other address
 *
 * Some pointers lead to a descriptor. Some functions have an entry for calls from the
 * same module, which lies after the one for all others. An ftrace site need not be the
 * first instruction. A probe that names the function gets this address. If it gives
 * an address, it gets that address, except on x86.
 *
 * Context: any.
 * Return: the address; that of the text where x86 would choose another one.
 */
void *kprobe_test_entry(const void *fn)
{
	unsigned long text = (unsigned long)dereference_kernel_function_descriptor((void *)fn);

	if (IS_ENABLED(CONFIG_X86) || !kernel_text_address(text))
		return (void *)text;
#ifdef CONFIG_KPROBES_ON_FTRACE
	if (ftrace_location(text))
		return (void *)ftrace_location(text);
#endif
#ifdef CONFIG_PPC64_ELF_ABI_V2
	text = ppc_function_entry((void *)text);
#endif
	return (void *)text;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_entry);

/* ----------------------- Text that others patch ------------------------- */

#if defined(CONFIG_DYNAMIC_FTRACE) && !defined(CONFIG_KPROBES_ON_FTRACE)
/**
 * kprobe_test_ftrace_site - find where ftrace patches a function
 * @fn: the function
 *
 * Context: any.
 * Return: the address, or 0 if ftrace does not know the function.
 */
unsigned long kprobe_test_ftrace_site(const void *fn)
{
	return ftrace_location((unsigned long)fn);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_ftrace_site);
#endif

#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
extern struct static_call_site __start_static_call_sites[], __stop_static_call_sites[];
#endif

/**
 * kprobe_test_patched - find a site in the kernel image that other code patches
 * @call: a static call, otherwise a jump label
 * @nr:	  number of the site, from 0
 * @len:  set to its length, if an address is returned
 *
 * Context: may sleep.
 * Return: its address; 1 if its text has been freed; 0 if there are not that many.
 */
unsigned long kprobe_test_patched(bool call, unsigned int nr, unsigned int *len)
{
	unsigned long addr = 0;

#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	if (call && nr < __stop_static_call_sites - __start_static_call_sites) {
		struct static_call_site *site = &__start_static_call_sites[nr];

		addr = (unsigned long)site->addr + (unsigned long)&site->addr;
		*len = CALL_INSN_SIZE;
	}
#endif
#ifdef CONFIG_JUMP_LABEL
	if (!call && nr < __stop___jump_table - __start___jump_table) {
		struct jump_entry *entry = &__start___jump_table[nr];

		addr = jump_entry_code(entry);
		if (!core_kernel_text(addr))
			return 1;
		jump_label_lock();
		*len = jump_entry_size(entry);
		jump_label_unlock();
	}
#endif
	return !addr || core_kernel_text(addr) ? addr : 1;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_patched);

/**
 * kprobe_test_reserved - test if other code patches a range of text
 * @start: its first byte
 * @end:   its last byte
 *
 * Context: may sleep.
 * Return: as kprobe_text_reserved().
 */
bool kprobe_test_reserved(unsigned long start, unsigned long end)
{
	guard(mutex)(&kprobe_mutex);
	return kprobe_text_reserved(start, end);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_reserved);

#ifdef CONFIG_JUMP_LABEL
/**
 * kprobe_test_label_target - find the target of a jump label in the kernel image
 * @nr: number of the label, from 0
 *
 * Context: any.
 * Return: the address; 1 if its text has been freed; 0 if there are not that many.
 */
unsigned long kprobe_test_label_target(unsigned int nr)
{
	struct jump_entry *entry = &__start___jump_table[nr];

	if (nr >= __stop___jump_table - __start___jump_table)
		return 0;
	return core_kernel_text(jump_entry_target(entry)) ? jump_entry_target(entry) : 1;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_label_target);

/**
 * kprobe_test_is_label_target - test if a jump label may branch to an address
 * @addr: the address
 *
 * Context: may sleep.
 * Return: true if kprobe_label_targets() knows one that does, and tells only of the range
 * that it is asked for.
 */
bool kprobe_test_is_label_target(unsigned long addr)
{
	const unsigned int before = 8, after = 8;
	DECLARE_BITMAP(map, 8 + 8) = { };
	DECLARE_BITMAP(beyond, 8 + 8) = { };

	scoped_guard(mutex, &kprobe_mutex) {
		kprobe_label_targets(addr - before, addr + after, map);
		kprobe_label_targets(addr - before, addr, beyond);
	}
	return test_bit(before, map) && !test_bit(before, beyond);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_is_label_target);
#endif

#ifdef CONFIG_MODULES
/**
 * kprobe_test_blacklist - load the blacklist of a module again, or unload it
 * @mod: the module
 * @add: load it
 *
 * Context: may sleep; not from a stage.
 * Return: as kprobe_blacklist_add_module().
 */
int kprobe_test_blacklist(struct module *mod, bool add)
{
	guard(mutex)(&kprobe_mutex);
	if (add)
		return kprobe_blacklist_add_module(mod);
	for_class_mod_mem_type(type, text) {
		unsigned long start = (unsigned long)mod->mem[type].base;

		kprobe_blacklist_drop(start, start + mod->mem[type].size);
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_blacklist);
#endif

#if defined(CONFIG_STACKTRACE) && defined(CONFIG_HAVE_RELIABLE_STACKTRACE)
/**
 * kprobe_test_stack - walk the stack of the current task as live patching does
 * @entries: where to store the addresses
 * @nr:	     how many there is room for
 *
 * Context: any.
 * Return: how many there are, or an error if an address may be missing.
 */
int kprobe_test_stack(unsigned long *entries, unsigned int nr)
{
	return stack_trace_save_tsk_reliable(current, entries, nr);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_test_stack);
#endif
