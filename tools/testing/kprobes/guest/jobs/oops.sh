# SPDX-License-Identifier: GPL-2.0
# The guest's half of oops.sh: lets handlers crash as CASES says, by HOW:TARGET:STATE:WHAT,
# see kprobe_oops.c. The results are on the console.
# shellcheck disable=SC1091
. /lib.sh

# An oops kills a task, not this machine.
echo 0 >/proc/sys/kernel/panic_on_oops
dmesg -n 8

# Probes on all of these functions that can be probed
on_the_way()
{
	echo 1 >$optimization
	for fn; do
		echo "r:kt/r_$fn $fn" >>$tracing/kprobe_events
		most=60
		# Its end runs without descriptors and without per-CPU data, so it has to be refused.
		[ "$fn" != machine_kexec ] || most=450
		# Offsets inside an instruction are refused.
		for offset in $(seq 0 $most); do
			echo "p:kt/p_${fn}_$offset $fn+$offset" >>$tracing/kprobe_events
		done
	done 2>/dev/null
	event_on kt
	# list waits for the jumps.
	cat $kp/list >$tmp/list
	echo "kprobe_oops: $CASES: ftrace sites $(grep -c '\[FTRACE\]' $tmp/list), jumps $(grep -c '\[OPTIMIZED\]' $tmp/list), breakpoints $(grep -vc '\[FTRACE\]\|\[OPTIMIZED\]' $tmp/list)" >/dev/kmsg
}

# Then a panic. The trace is printed on the way.
if [ "$CASES" = panic_path ]; then
	on_the_way panic vpanic panic_other_cpus_shutdown smp_send_stop native_stop_other_cpus \
		stop_this_cpu crash_smp_send_stop bust_spinlocks print_tainted kmsg_dump \
		kmsg_dump_desc console_flush_on_panic __crash_kexec emergency_restart \
		machine_emergency_restart native_machine_emergency_restart \
		sysrq_handle_crash debug_locks_off console_verbose
	echo 1 >/proc/sys/kernel/ftrace_dump_on_oops
	echo c >/proc/sysrq-trigger
	fail "there was no panic"
	done_testing
	exit
fi

# A panic that starts another kernel. tp_printk prints each hit, as the trace is lost.
if [ "$CASES" = crash_path ]; then
	mkdir -p $tmp/crash/bin
	cp /bin/busybox $tmp/crash/bin/
	cat >$tmp/crash/init <<'END'
#!/bin/busybox sh
/bin/busybox echo "kprobe_oops: the crash kernel is up"
/bin/busybox reboot -f
END
	chmod +x $tmp/crash/init
	(cd $tmp/crash && find . | cpio -o -H newc) >$tmp/initrd 2>/dev/null
	/kexec_crash /bzImage $tmp/initrd \
		"$(sed 's/ *\(crashkernel\|kp\.job\)=[^ ]*//g; s/ *tp_printk//' /proc/cmdline) maxcpus=1 panic=-1 reset_devices" ||
		fail "the crash kernel is not loaded"
	on_the_way crash_save_vmcoreinfo update_vmcoreinfo_note machine_crash_shutdown \
		native_machine_crash_shutdown crash_smp_send_stop kdump_nmi_shootdown_cpus \
		nmi_shootdown_cpus crash_nmi_callback kdump_nmi_callback crash_save_cpu \
		append_elf_note final_note cpu_emergency_disable_virtualization \
		disable_local_APIC lapic_shutdown clear_IO_APIC restore_boot_irq_mode \
		cpu_emergency_stop_pt hpet_disable machine_kexec
	echo c >/proc/sysrq-trigger
	fail "there was no panic"
	done_testing
	exit
fi

load kprobe_oops
if [ "$CASES" = in_reader ]; then
	(echo >/sys/kernel/debug/kprobe_oops/reader)
	is "the list" "$(cat $kp/list 2>&1)" ""
	unload kprobe_oops
	done_testing
	exit
fi
for case in $CASES; do
	IFS=:
	# shellcheck disable=SC2086
	set -- $case
	unset IFS
	case $3 in
	jump) echo 1 >$optimization ;;
	*) echo 0 >$optimization ;;
	esac
	echo "$1 $2 $3 $4" >/sys/kernel/debug/kprobe_oops/run || fail "$case: did not run"
done
unload kprobe_oops
is "the list" "$(cat $kp/list 2>&1)" ""
done_testing
