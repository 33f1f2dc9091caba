# SPDX-License-Identifier: GPL-2.0
# proves: a task that keeps a CPU to itself delays no optimization, no move between ftrace ops and no reclaiming
. /lib.sh

[ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
[ -e $optimization ] || skip "no jumps here"

load kprobe_target
entry=$(awk '$3 == "kprobe_target_add" { print $1 }' /proc/kallsyms)
event 'p:kt/entry kprobe_target:kprobe_target_add'
event_on kt/entry
site=$(awk '$3 ~ /^kprobe_target_add\+/ { print $1 }' $kp/list)
event_off kt/entry

# As on a machine that isolates the CPU: it has nothing else to do.
for task in /proc/[0-9]*; do
	taskset -p 1 "${task#/proc/}" >/dev/null 2>&1
done
echo 1 >/sys/devices/virtual/workqueue/cpumask || fail "cannot keep workqueues off the CPU"
load kprobe_busy cpu=1

# in_time WHAT FILE REGEX: a line of the file matches before long
in_time()
{
	for _ in $(seq 300); do
		! grep -qE "$3" "$2" || return 0
		usleep 100000
	done
	fail "$1: not within 30 s"
}

event "p:kt/inside kprobe_target:kprobe_target_add+$((0x$site - 0x$entry + 5))"
event_on kt/inside
in_time "a jump" $kp/list 'OPTIMIZED'
call add 10
is "hits of the jump" "$(traced inside)" 10
event_off kt/inside

# Another probe with a post-handler has the point of the entry change its ops.
event_on kt/entry
load kprobe_example symbol=kprobe_target_add limit=0
call add 10
is "hits after the move" "$(traced entry)" 10
unload kprobe_example

# What was the jump's goes back when no task can be in it any more.
event '-:kt/inside'
pages() { grep -c 'kprobe_optinsn_page' /proc/kallsyms; }
for _ in $(seq 300); do
	[ "$(pages)" -gt 0 ] || break
	usleep 100000
done
is "pages of detours after 30 s" "$(pages)" 0

unload kprobe_busy
echo 3 >/sys/devices/virtual/workqueue/cpumask
for task in /proc/[0-9]*; do
	taskset -p 3 "${task#/proc/}" >/dev/null 2>&1
done
event_off kt/entry
done_testing
