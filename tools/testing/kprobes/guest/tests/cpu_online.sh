# SPDX-License-Identifier: GPL-2.0
# proves: hits and returns on a CPU that was offline when the probes were set are counted, and stay counted when it goes offline; its idle task loses no instance; it comes online while all functions and all writes to MSRs are traced and the tracer has a breakpoint
# needs: guest
# own guest: a CPU goes
. "${0%/*}/../lib.sh"

cpu1=/sys/devices/system/cpu/cpu1/online
[ -e $cpu1 ] || skip "no CPU can go"
load kprobe_target
# hits FUNCTION, instances FUNCTION: columns of points
hits() { awk -v f="  kprobe_target_$1+" 'index($0, f) { print $4 }' $kp/points; }
instances() { awk -v f="  kprobe_target_$1+" 'index($0, f) { print $6 }' $kp/points; }

echo 0 >$cpu1
is "CPUs" "$(cat /sys/devices/system/cpu/online)" 0
event 'p:kt/add kprobe_target:kprobe_target_add'
event 'r:kt/ret kprobe_target:kprobe_target_recurse'
event_on kt/add
event_on kt/ret
echo 1 >$kp/hits
before=$(instances recurse)
echo 1 >$cpu1
taskset -p 2 $$ >/dev/null || fail "this shell cannot run on CPU 1"
call add 50
call recurse 2
is "hits on CPU 1" "$(hits add)" 50
is "returns on CPU 1" "$(traced ret)" 3
is "instances" "$(instances recurse | cut -d/ -f3)" "${before##*/}"
is "instances in use" "$(instances recurse | cut -d/ -f1)" 0
taskset -p 1 $$ >/dev/null
call add 7
echo 0 >$cpu1
is "hits when it has gone" "$(hits add)" 57
call recurse 2
is "returns then" "$(traced ret)" 6
echo 1 >$cpu1
# The idle task of a CPU that goes offline never returns. It starts over with the CPU.
event 'r1:kt/idle cpu_startup_entry'
event_on kt/idle
idle() { awk '/  cpu_startup_entry\+/ { print $4, $6, $7 }' $kp/points; }
for round in 1 2 3; do
	echo 0 >$cpu1
	echo 1 >$cpu1
	is "calls of the idle task: all, in flight, lost" "$(idle)" "$round 1/1/1 0"
done
echo 0 >$cpu1
is "the same when its CPU has gone" "$(idle)" '3 0/1/1 0'
echo 1 >$cpu1
event_off kt/idle
echo '-:kt/idle' >>$tracing/kprobe_events
event_off kt/ret
event_off kt/add
echo '-:kt/ret' >>$tracing/kprobe_events
echo '-:kt/add' >>$tracing/kprobe_events
is "the list" "$(cat $kp/list 2>&1)" ""
echo 0 >$kp/hits
# At first a CPU that comes online has no handler for a breakpoint, so nothing that it calls
# then may be traced.
optimization=/proc/sys/debug/kprobes-optimization
echo 0 >$optimization
load kprobe_example symbol=ring_buffer_lock_reserve limit=0
echo 0 >$cpu1
echo function >$tracing/current_tracer || fail "no function tracer"
echo 1 >$cpu1
is "CPUs" "$(cat /sys/devices/system/cpu/online)" 0-1
# It writes an MSR then, and calls one more function if such writes are events.
echo 0 >$cpu1
echo 1 >$tracing/events/msr/write_msr/enable || fail "no event for MSRs"
echo 1 >$cpu1
is "CPUs" "$(cat /sys/devices/system/cpu/online)" 0-1
echo 0 >$tracing/events/msr/write_msr/enable
echo nop >$tracing/current_tracer
matches "the probe" "$(cat $kp/list)" '.*  k  ring_buffer_lock_reserve\+0x[04]  .*'
unload kprobe_example
matches "its hits" "$(messages kprobe_example | tail -n 1)" 'kprobe_example: probe removed: [0-9]{3,} hits, .*'
echo 1 >$optimization
done_testing
