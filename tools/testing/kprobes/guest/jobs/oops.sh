# SPDX-License-Identifier: GPL-2.0
# The guest's half of oops.sh: lets handlers crash as CASES says, by HOW:TARGET:STATE:WHAT,
# see kprobe_oops.c. The results are on the console.
# shellcheck disable=SC1091
. /lib.sh

# An oops kills a task, not this machine.
echo 0 >/proc/sys/kernel/panic_on_oops
dmesg -n 8

# Probes on whatever a panic runs that can be probed, and then one. The trace is printed on the
# way.
if [ "$CASES" = panic_path ]; then
	echo 1 >$optimization
	for fn in panic vpanic panic_other_cpus_shutdown smp_send_stop native_stop_other_cpus \
			stop_this_cpu crash_smp_send_stop bust_spinlocks print_tainted kmsg_dump \
			kmsg_dump_desc console_flush_on_panic __crash_kexec emergency_restart \
			machine_emergency_restart native_machine_emergency_restart \
			sysrq_handle_crash debug_locks_off console_verbose; do
		echo "r:kt/r_$fn $fn" >>$tracing/kprobe_events
		# Offsets inside an instruction are refused.
		for offset in $(seq 0 60); do
			echo "p:kt/p_${fn}_$offset $fn+$offset" >>$tracing/kprobe_events
		done
	done 2>/dev/null
	event_on kt
	# list waits for the jumps.
	cat $kp/list >$tmp/list
	echo "kprobe_oops: panic_path: ftrace sites $(grep -c '\[FTRACE\]' $tmp/list), jumps $(grep -c '\[OPTIMIZED\]' $tmp/list), breakpoints $(grep -vc '\[FTRACE\]\|\[OPTIMIZED\]' $tmp/list)" >/dev/kmsg
	echo 1 >/proc/sys/kernel/ftrace_dump_on_oops
	echo c >/proc/sysrq-trigger
	fail "there was no panic"
	done_testing
	exit
fi

load kprobe_oops
if [ "$CASES" = in_reader ]; then
	(echo >/sys/kernel/debug/kprobe_oops/reader)
	is "the list" "$(cat $kp/list)" ""
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
is "the list" "$(cat $kp/list)" ""
done_testing
