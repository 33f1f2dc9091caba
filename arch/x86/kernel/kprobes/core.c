// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kprobes on x86: the functions that kernel/kprobes/ calls.
 */
#include <kunit/visibility.h>
#include <linux/cc_platform.h>
#include <linux/execmem.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/perf_event.h>
#include <linux/set_memory.h>
#include <linux/string.h>

#include <asm/ibt.h>
#include <asm/sections.h>
#include <asm/text-patching.h>

#include "common.h"
#include "detour.h"

extern char __static_call_text_start[], __static_call_text_end[];

/*
 * These return on a different stack from the one they were called on; or they are called in
 * interrupt context and return in the interrupted context, where a handler may be
 * running. ret_from_fork() returns after exit_to_user_mode(). return_to_handler() is not
 * a function: it starts without a return address on the stack. swsusp_arch_suspend() also
 * returns in the kernel that has been resumed, before its per-CPU memory is set up.
 */
struct kretprobe_blackpoint kretprobe_blacklist[] = {
	{ .name = "__switch_to" },
	{ .name = "irq_exit" },
	{ .name = "irq_exit_rcu" },
	{ .name = "ret_from_fork" },
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	{ .name = "return_to_handler" },
#endif
#ifdef CONFIG_HIBERNATION
	{ .name = "swsusp_arch_suspend" },
#endif
	{ .name = NULL },
};

const int kretprobe_blacklist_size = ARRAY_SIZE(kretprobe_blacklist);

/*
 * Code that runs before the exception is known to be a hit, or after the hit is
 * handled: compiled code uses thunks for returns and indirect calls, and two tracers
 * are called for every exception that counts as an NMI. Which thunks are in use
 * depends on the CPU, and some have no symbol in some kernels.
 */
static const char *const hit_path[] __initconst = {
	/* A detour that has delayed rescheduling calls one of these. */
	"preempt_schedule_notrace", "dynamic_preempt_schedule_notrace",
	"trace_hwlat_callback", "get_cpu_data", "trace_osnoise_callback", "trace_clock_local",
	"sched_clock",
	/* With KGDB_LOW_LEVEL_TRAP a debugger is asked about each breakpoint first. */
	"kgdb_ll_trap", "__kgdb_notify",
	"__x86_return_thunk", "its_return_thunk", "call_depth_return_thunk",
	"retbleed_return_thunk", "retbleed_untrain_ret", "srso_return_thunk",
	"srso_untrain_ret", "srso_safe_ret", "srso_alias_return_thunk",
	"srso_alias_untrain_ret", "srso_alias_safe_ret", "entry_untrain_ret",
	"__x86_indirect_thunk_array", "__x86_indirect_call_thunk_array",
	"__x86_indirect_jump_thunk_array", "__x86_indirect_its_thunk_array",
#ifdef CONFIG_X86_32
	/*
	 * The compiler calls these wherever structures are copied or cleared. The
	 * 64-bit ones are noinstr for that reason.
	 */
	"memcpy", "memset", "memmove",
#endif
};

/*
 * In the middle of a task switch, a handler would run on the stack of one task with
 * another one as current. At the end of ret_from_fork_asm(), lockdep and RCU believe that
 * the task is in user space already. The other functions run with page tables that map no
 * handlers, or from a copy that would have the breakpoint but no point. ibt_selftest()
 * expects an exception from a jump to code without ENDBR, which an emulated jump does not raise.
 *
 * In a PV guest of Xen, the code that enters and leaves the kernel is not in the entry text,
 * and each exception returns by xen_iret(), including that of a breakpoint in xen_iret()
 * itself. __efi64_thunk() runs on a stack of one page without a guard page, so an overflow
 * would go unnoticed. Until tdx_get_ve_info() has read the reason for a #VE, a second #VE,
 * which a handler may cause, is fatal.
 *
 * pnp_bios_callfunc() runs with a code segment that begins at that function. The address
 * of a breakpoint counts from there, so no point is found.
 */
static const char *const switchers[] __initconst = {
	"__switch_to", "__switch_to_asm", "ret_from_fork_asm",
	"relocate_range", "relocate_kernel", "identity_mapped", "virtual_mapped",
	"swap_pages", "restore_image", "core_restore_code", "restore_registers",
	"asm_acpi_mp_play_dead", "ibt_selftest", "ibt_selftest_noendbr", "xen_iret",
	"xenpv_restore_regs_and_return_to_usermode", "xen_entry_SYSCALL_64",
	"xen_entry_SYSCALL_compat", "xen_entry_SYSENTER_compat", "__efi64_thunk",
	"tdx_get_ve_info", "pnp_bios_callfunc",
};

/*
 * A CPU runs these while it comes online, goes offline, wakes up from suspend, or boots
 * another kernel. At that time it has no IDT that handles breakpoints, or no per-CPU memory
 * of its own, or it has been reported dead, so kprobe_quiesce() does not wait for it.
 */
static const char *const offline_path[] __initconst = {
	"secondary_startup_64", "secondary_startup_64_no_verify", "common_startup_64",
	"startup_32_smp", "verify_cpu", "sev_verify_cbit", "soft_restart_cpu",
	"vc_boot_ghcb", "handle_vc_boot_ghcb", "early_setup_idt", "startup_64_load_idt",
	"setup_ghcb", "start_secondary", "cr4_init", "cr4_update_irqsoff",
	"cpu_init_exception_handling", "cpu_init_fred_exceptions", "cpu_init_fred_rsps",
	"load_current_idt", "native_load_idt", "native_load_gdt", "native_load_tr_desc",
	"native_write_gdt_entry", "native_write_msr", "native_write_cr0", "native_write_cr3",
	"native_write_cr4", "do_trace_write_msr", "snp_register_ghcb_early",
	"snp_register_per_cpu_ghcb", "hv_vtl_ap_entry", "asm_cpu_bringup_and_idle",
	"xen_cpu_bringup_again", "cpu_bringup_and_idle", "cpu_bringup",
	/* These are functions only in kernels for debugging, or built for size. */
	"early_cpu_to_node", "__phys_addr", "cr4_set_bits", "wrmsrl", "trace_write_msr",
	"set_tssldt_descriptor", "load_direct_gdt", "load_fixmap_gdt",
	/*
	 * Here the CPU waits for the one that brings it online. If that gives up, it goes on
	 * waiting, while no lock of CPU hotplug is held.
	 */
	"load_ucode_ap", "load_ucode_intel_ap", "load_ucode_amd_ap", "cpuhp_ap_sync_alive",
	"cpuhp_ap_report_dead", "play_dead_common", "native_play_dead", "mwait_play_dead",
	"hlt_play_dead", "arch_cpu_idle_dead", "resume_play_dead", "acpi_mp_play_dead",
	"sev_es_play_dead", "sev_es_ap_hlt_loop", "xen_pv_play_dead", "tboot_shutdown",
	"cpuidle_play_dead", "cpuidle_get_cpu_driver",
	"wakeup_long64", "wakeup_pmode_return", "wakeup_start", "ret_point",
	"do_suspend_lowlevel", "restore_processor_state", "__restore_processor_state",
	"create_image", "machine_kexec", "load_segments", "native_idt_invalidate",
	"native_gdt_invalidate", "idt_invalidate",
};

/*
 * In a guest whose registers are encrypted (SEV-ES), CPUID and accesses to MSRs raise #VC.
 * A CPU that comes online does both while its IDT has a gate for #VC, but none for
 * breakpoints. These handle it. Elsewhere they may be probed.
 */
static const char *const vc_path[] __initconst = {
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

static const char *const thunk_prefixes[] __initconst = {
	"__x86_indirect_thunk_", "__x86_indirect_call_thunk_",
	"__x86_indirect_jump_thunk_", "__x86_indirect_its_thunk_",
};

static int __init x86_refuse_names(const char *const *names, unsigned int nr)
{
	int ret = 0;

	while (!ret && nr--)
		ret = kprobe_add_name_blacklist(*names++);
	return ret;
}

/*
 * ftrace copies the code of its callers into trampolines. A breakpoint in that code would
 * be copied along, to an address without a point. Each label in it is a separate symbol.
 */
static int __init x86_refuse_ftrace_callers(void)
{
	unsigned long first = kallsyms_lookup_name("ftrace_caller");
	unsigned long last = kallsyms_lookup_name(IS_ENABLED(CONFIG_X86_64) ?
						  "ftrace_regs_caller_end" :
						  "ftrace_regs_call");

	if (!first || last < first)
		return 0;
	return kprobe_add_area_blacklist(first, last + 1);
}

/**
 * arch_populate_kprobe_blacklist - refuse code by section or name
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0, or -ENOMEM.
 */
int __init arch_populate_kprobe_blacklist(void)
{
	static const char *const regs[] __initconst = {
#ifdef CONFIG_X86_64
		"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
#else
		"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi",
#endif
	};
	char name[KSYM_NAME_LEN];
	unsigned int i, j;
	int ret;

	/* Runs with the user's registers, or before they are saved. */
	ret = kprobe_add_area_blacklist((unsigned long)__entry_text_start,
					(unsigned long)__entry_text_end);

	/* Jumps that static calls check and then rewrite. */
	if (!ret)
		ret = kprobe_add_area_blacklist((unsigned long)__static_call_text_start,
						(unsigned long)__static_call_text_end);

	if (!ret)
		ret = x86_refuse_ftrace_callers();

	if (!ret)
		ret = x86_refuse_names(switchers, ARRAY_SIZE(switchers));
	if (!ret)
		ret = x86_refuse_names(offline_path, ARRAY_SIZE(offline_path));
	if (!ret && cc_platform_has(CC_ATTR_GUEST_STATE_ENCRYPT))
		ret = x86_refuse_names(vc_path, ARRAY_SIZE(vc_path));
	if (!ret)
		ret = x86_refuse_names(hit_path, ARRAY_SIZE(hit_path));
	for (i = 0; !ret && i < ARRAY_SIZE(thunk_prefixes); i++) {
		for (j = 0; !ret && j < ARRAY_SIZE(regs); j++) {
			snprintf(name, sizeof(name), "%s%s", thunk_prefixes[i], regs[j]);
			ret = kprobe_add_name_blacklist(name);
		}
	}
	return ret;
}

/**
 * arch_adjust_kprobe_addr - move a probe past the ENDBR at a function's entry
 * @addr:	   the beginning of the function
 * @offset:	   where in the function the probe was asked for
 * @on_func_entry: set to whether it is the entry
 *
 * An indirect call must find ENDBR at its target (SDM Vol. 1, 17.3). So the probe
 * goes on the next instruction, which counts as the entry.
 *
 * Context: any.
 * Return: the address to probe.
 */
kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long addr, unsigned long offset,
					 bool *on_func_entry)
{
	u32 head;

	*on_func_entry = !offset;
	if (IS_ENABLED(CONFIG_X86_KERNEL_IBT) &&
	    !copy_from_kernel_nofault(&head, (void *)addr, sizeof(head)) &&
	    is_endbr(head)) {
		*on_func_entry = offset <= ENDBR_INSN_SIZE;
		if (!offset)
			offset = ENDBR_INSN_SIZE;
		else if (offset < ENDBR_INSN_SIZE)
			*on_func_entry = false;
	}
	return (kprobe_opcode_t *)(addr + offset);
}

/* --------------------------- Executable memory -------------------------- */

/**
 * alloc_insn_pages - allocate pages for out-of-line copies and detours
 * @nr: how many
 *
 * They are filled with breakpoints and made executable before anything else knows
 * their address, so they are never both writable and executable.
 *
 * Context: may sleep.
 * Return: the first of them, or NULL.
 */
void *alloc_insn_pages(unsigned int nr)
{
	void *text = execmem_alloc(EXECMEM_KPROBES, nr * PAGE_SIZE);

	if (!text)
		return NULL;
	memset(text, INT3_INSN_OPCODE, nr * PAGE_SIZE);
	if (set_memory_rox((unsigned long)text, nr)) {
		execmem_free(text);
		return NULL;
	}
	return text;
}

/**
 * arch_erase_slots - fill free slots with breakpoints
 * @text: the first byte
 * @len:  in bytes
 *
 * Context: may sleep.
 */
void arch_erase_slots(void *text, size_t len)
{
	text_poke_set(text, INT3_INSN_OPCODE, len);
}

/**
 * x86_copy_at - find the out-of-line copy that contains an address
 * @addr: any address
 *
 * Context: any, preemption off.
 * Return: the copy, or NULL if the address is in none.
 */
__kprobe_hit const struct x86_copy *x86_copy_at(unsigned long addr)
{
	if (!is_kprobe_insn_slot(addr))
		return NULL;
	return (void *)ALIGN_DOWN(addr, __ARCH_KPROBE_SLOT_SIZE);
}

/**
 * kprobe_unwind - tell unwinders what the stack looks like in generated code
 * @ip:	  an address
 * @same: set to the address in the original text where it looks the same
 *
 * Context: any, preemption off.
 * Return: what is on the stack there.
 */
__kprobe_hit enum kprobe_unwind kprobe_unwind(unsigned long ip, unsigned long *same)
{
	const struct x86_copy *copy = x86_copy_in_use(ip);
#ifdef CONFIG_OPTPROBES
	const struct x86_detour *d;
#endif

	if (copy) {
		*same = (unsigned long)copy->addr;
		if (!x86_copy_is_before(copy, ip)) {
			/* The copy has pushed a word that the original does not. */
			if (copy->again)
				return KPROBE_UNWIND_UNKNOWN;
			*same += copy->len;
		}
		return KPROBE_UNWIND_SAME;
	}
#ifdef CONFIG_OPTPROBES
	d = x86_detour_at(ip);
	if (d)
		return x86_detour_unwind(d, ip, same);
#endif
	return KPROBE_UNWIND_UNKNOWN;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_unwind);

/* ------------------------------ Arming ---------------------------------- */

#ifdef CONFIG_SMP
/**
 * x86_lock_prefix_within - does this text change when a second CPU comes online?
 * @first: its first byte
 * @last:  its last byte
 *
 * With a single CPU online, each lock prefix is replaced by a prefix without effect. A second
 * CPU brings it back, for good. alternatives_text_reserved() knows all of these places, but
 * walks a list, so it is called only if the other prefix is there.
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: true if so.
 */
bool x86_lock_prefix_within(unsigned long first, unsigned long last)
{
	bool maybe = false, ret;
	unsigned long at;
	u8 byte;

	for (at = first; at <= last; at++) {
		if (copy_from_kernel_nofault(&byte, (void *)at, 1))
			continue;
		/* DS (SDM Vol. 2, 2.1.1), or a breakpoint on it */
		if (byte == 0x3e || byte == INT3_INSN_OPCODE)
			maybe = true;
	}
	if (!maybe)
		return false;
	mutex_lock(&text_mutex);
	ret = alternatives_text_reserved((void *)first, (void *)last + 1);
	mutex_unlock(&text_mutex);
	return ret;
}
#endif

/**
 * arch_prepare_kprobe - look at the instruction and make its copy
 * @p: the point
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0; -EILSEQ if this is not the start of an instruction, or one that
 * cannot be probed; -EINVAL if other code depends on it; -ENOMEM.
 */
int arch_prepare_kprobe(struct kprobe *p)
{
#ifdef CONFIG_SMP
	if (x86_lock_prefix_within((unsigned long)p->addr, (unsigned long)p->addr))
		return kprobe_refuse((unsigned long)p->addr, -EINVAL,
				     "other code patches it: a lock prefix");
#endif
	return x86_insn_prepare(p);
}

/**
 * arch_prepare_post - get ready for a post-handler at a point
 * @p: the point
 *
 * Context: kprobe_mutex held; may sleep.
 * Return: 0, or -ENOMEM.
 */
int arch_prepare_post(struct kprobe *p)
{
	return x86_insn_prepare_step(p);
}

/**
 * arch_remove_kprobe - undo arch_prepare_kprobe() and arch_prepare_post()
 * @p: the point, disarmed and quiescent
 *
 * Context: kprobe_mutex held; may sleep.
 */
void arch_remove_kprobe(struct kprobe *p)
{
	x86_insn_forget(p);
}

/**
 * arch_kprobes_batch - begin or end a batch: forget what the last one has left
 *
 * Context: kprobe_mutex held.
 */
void arch_kprobes_batch(void)
{
	x86_text_batch();
	x86_insn_batch();
#ifdef CONFIG_OPTPROBES
	x86_reach_batch();
#endif
}

static void x86_poke_breakpoint(struct kprobe *p, u8 old, u8 new)
{
	kprobe_assert_held(&text_mutex);
	text_poke(p->addr, &new, INT3_INSN_SIZE);
	perf_event_text_poke(p->addr, &old, INT3_INSN_SIZE, &new, INT3_INSN_SIZE);
}

/**
 * arch_arm_kprobes - write the breakpoints
 * @points: linked by kprobe::list
 *
 * A single byte changes, and a CPU that executes it concurrently sees a complete
 * instruction with either value. One round of serialisation at the end makes sure
 * that no CPU still runs the old instruction.
 *
 * Context: kprobe_mutex held; may sleep.
 */
void arch_arm_kprobes(struct list_head *points)
{
	struct kprobe *p;

	kprobe_assert_held(&kprobe_mutex);
	mutex_lock(&text_mutex);
	list_for_each_entry(p, points, list) {
		x86_poke_breakpoint(p, p->opcode, INT3_INSN_OPCODE);
		cond_resched_tasks_rcu_qs();
	}
	text_poke_sync();
	mutex_unlock(&text_mutex);
}

/**
 * arch_disarm_kprobes - restore the instructions
 * @points: linked by kprobe::list
 *
 * This interrupts no CPU. The caller calls kprobe_quiesce() next, which does, and so
 * waits for breakpoints that are still being handled.
 *
 * Context: kprobe_mutex held; may sleep.
 */
void arch_disarm_kprobes(struct list_head *points)
{
	struct kprobe *p;

	kprobe_assert_held(&kprobe_mutex);
	mutex_lock(&text_mutex);
	list_for_each_entry(p, points, list) {
		x86_poke_breakpoint(p, INT3_INSN_OPCODE, p->opcode);
		cond_resched_tasks_rcu_qs();
	}
	mutex_unlock(&text_mutex);
}

/**
 * arch_kprobes_sync - interrupt every CPU and wait until all have handled it
 *
 * On return no CPU is in the exception of a breakpoint that was hit before the
 * call. All CPUs see the current text, and memory written before the call.
 *
 * Context: may sleep.
 */
void arch_kprobes_sync(void)
{
	text_poke_sync();
}

/**
 * arch_init_kprobes - prepare for reading text
 *
 * Context: at boot; may sleep.
 * Return: 0.
 */
int __init arch_init_kprobes(void)
{
	x86_orc_init();
	return 0;
}

/**
 * arch_trampoline_kprobe - is this point part of our own trampolines?
 * @p: the point
 *
 * Context: any.
 * Return: 0: the trampoline of return probes has no breakpoint here.
 */
int arch_trampoline_kprobe(struct kprobe *p)
{
	return 0;
}
NOKPROBE_SYMBOL(arch_trampoline_kprobe);
