# SPDX-License-Identifier: GPL-2.0
# For series.sh, on a kernel from the middle of a series: use what it has of kprobes.
# "not ok" is printed for what does not work.
# shellcheck shell=dash disable=SC1091,SC2154
. /lib.sh
tracing=/sys/kernel/tracing

zcat -f /proc/config.gz 2>/dev/null | grep -E '^CONFIG_(KPROBES|OPTPROBES|KPROBES_ON_FTRACE|JPROBES)='
if [ ! -e $tracing/kprobe_events ]; then
	echo 'ok - boots without kprobes'
	exit
fi

# An instruction after the entry, which may be an ftrace site.
place=''
for offset in $(seq 9 40); do
	echo "p:series/hit vfs_read+$offset" >$tracing/kprobe_events 2>/dev/null || continue
	place=vfs_read+$offset
	break
done
echo 'r:series/left vfs_read' >>$tracing/kprobe_events 2>/dev/null ||
	echo "# no return probe on vfs_read"

counted()
{
	echo >$tracing/trace
	for _ in 1 2 3 4 5; do cat /proc/version >/dev/null; done
	at_least "hits of $place $1" "$(traced hit)" 5
	[ ! -e $tracing/events/series/left ] || at_least "returns $1" "$(traced left)" 5
}

if [ -z "$place" ]; then
	fail 'no instruction of vfs_read can be probed'
else
	event_on series
	counted 'by breakpoints'
	sleep 2
	counted 'after two seconds'
	sed 's/^/# /' $kp/list
	event_off series
fi
echo >$tracing/kprobe_events
[ -n "$failed" ] && echo 'not ok - events' || echo 'ok - events'

for module in kprobe_example kretprobe_example jprobe_example; do
	[ -e /modules/$module.ko ] || continue
	insmod /modules/$module.ko && cat /proc/version >/dev/null && rmmod $module &&
		echo "ok - $module" || echo "not ok - $module"
done
for module in /modules/kprobes_kunit.ko /modules/test_kprobes.ko; do
	[ ! -e $module ] || insmod $module || echo "not ok - $module"
done
dmesg | sed 's/^\[[^]]*\] //' | grep -E '^(not )?ok [0-9]+ k'
exit 0
