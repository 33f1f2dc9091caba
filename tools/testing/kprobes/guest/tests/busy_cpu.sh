# SPDX-License-Identifier: GPL-2.0
# proves: a task that never leaves its CPU delays neither optimization nor the move between ftrace ops
# needs: guest
. "${0%/*}/../lib.sh"

[ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
[ -e $optimization ] || skip "no jumps here"
# The interrupt of the timer makes the softirqs' thread of the busy CPU runnable, and
# tasks-RCU waits for it to run.
case $(uname -v) in *PREEMPT_RT*) skip "softirqs are threads here" ;; esac

load kprobe_target
# On i386, where ftrace has no trampolines, it waits for all CPUs when the first function is
# traced. So trace one before a CPU is busy.
find_target
event 'p:kt/entry kprobe_target:kprobe_target_add'

# The CPU has nothing else to do, as on a machine that isolates it.
for task in /proc/[0-9]*; do
	taskset -p 1 "${task#/proc/}" >/dev/null 2>&1
done
echo 1 >/sys/devices/virtual/workqueue/cpumask || fail "cannot keep workqueues off the CPU"
echo 3600 >/proc/sys/vm/stat_interval

# in_time FILE REGEX: a line of the file matches soon
in_time()
{
	for _ in $(seq $((6 * patience))); do
		! grep -qE "$2" "$1" || return 0
		usleep 100000
	done
	return 1
}

# A kernel task may have just become runnable on that CPU. It does not get to run, and
# tasks-RCU waits for it: try again. A work item of kprobes would be there each time.
event "p:kt/inside kprobe_target:kprobe_target_add+$after"
for _ in 1 2 3 4 5 6; do
	jump=''
	load kprobe_busy cpu=1
	event_on kt/inside
	! in_time $kp/list 'OPTIMIZED' || jump=1
	[ -z "$jump" ] || break
	unload kprobe_busy
	event_off kt/inside
	sleep 1
done
[ -n "$jump" ] || { fail "no jump in time, six times"; load kprobe_busy cpu=1; }
call add 10
is "hits of the jump" "$(traced inside)" 10

# Another probe with a post-handler moves the point of the entry to the other ops. Where
# these have no trampoline of their own, as on i386, that waits for all tasks.
event_on kt/entry
if grep -q ' kprobe_ftrace_trampoline$' /proc/kallsyms; then
	load kprobe_example symbol=kprobe_target_add limit=0
	call add 10
	is "hits after the move" "$(traced entry)" 10
	unload kprobe_example
fi

unload kprobe_busy
echo 1 >/proc/sys/vm/stat_interval
echo 3 >/sys/devices/virtual/workqueue/cpumask
for task in /proc/[0-9]*; do
	taskset -p 3 "${task#/proc/}" >/dev/null 2>&1
done
event_off kt/entry
event_off kt/inside
done_testing
