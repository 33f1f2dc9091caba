# SPDX-License-Identifier: GPL-2.0
# For series.sh, on a kernel from the middle of a series: uses what the kernel has of kprobes.
# Each part ends in "ok - NAME" or "not ok - NAME"; series.sh knows from the .config
# which parts to expect.
# shellcheck shell=dash disable=SC1091,SC2154
. /lib.sh
tracing=/sys/kernel/tracing

zcat /proc/config.gz | grep -E '^CONFIG_(KPROBES|OPTPROBES|KPROBES_ON_FTRACE|JPROBES)=' >/tmp/config
cat /tmp/config
has() { grep -qx "CONFIG_$1=y" /tmp/config; }
# result NAME: of everything since the last result
result()
{
	[ -n "$failed" ] && echo "not ok - $1" || echo "ok - $1"
	failed=''
}

# Reading the trace is a hit, too, so it would never end. cat copies files
# without reading them.
counted()
{
	echo >$tracing/trace
	echo 1 >$tracing/tracing_on
	for _ in 1 2 3 4 5; do head -n 1 /proc/version >/dev/null; done
	echo 0 >$tracing/tracing_on
	at_least "hits of $place $1" "$(traced hit)" 5
	[ -z "$left" ] || at_least "returns $1" "$(traced left)" 5
}

# The options decide what the probes become; a loaded machine takes a while.
state()
{
	for _ in $(seq 60); do
		! grep -q "  vfs_read+.*\[$1\]" $kp/list || return 0
		sleep 1
	done
	fail "no probe of vfs_read is $1"
}

events()
{
	# An instruction after the entry; the entry may be an ftrace site.
	place=''
	for offset in $(seq 9 40); do
		echo "p:series/hit vfs_read+$offset" >$tracing/kprobe_events 2>/dev/null || continue
		place=vfs_read+$offset
		break
	done
	[ -n "$place" ] || { fail 'no instruction of vfs_read can be probed'; return; }
	# The entry is an ftrace site, which is refused until kprobes can use ftrace.
	left=''
	if has KPROBES_ON_FTRACE; then
		left=1
		event 'r:series/left vfs_read'
	fi
	event_on series
	counted 'at once'
	! has OPTPROBES || state OPTIMIZED
	! has KPROBES_ON_FTRACE || state FTRACE
	counted 'then'
	sed 's/^/# /' $kp/list
	event_off series
	echo >$tracing/kprobe_events
	is 'the list in the end' "$(cat $kp/list 2>&1)" ''
}

suites() { dmesg | sed 's/^\[[^]]*\] //' | grep -E '^(not )?ok [0-9]+ k'; }

if ! has KPROBES; then
	[ ! -e $tracing/kprobe_events ] || fail 'there are kprobe events all the same'
	result 'without kprobes'
	exit 0
fi
events
result events
for module in kprobe_example kretprobe_example jprobe_example; do
	[ -e /modules/$module.ko ] || continue
	load $module
	cat /proc/version >/dev/null
	unload $module
	result $module
done
if [ -e /modules/test_kprobes.ko ]; then
	for module in /modules/kprobes_kunit.ko /modules/test_kprobes.ko; do
		insmod $module || fail "$module does not load"
	done
	suites
	at_least 'suites that have passed' "$(suites | grep -c '^ok')" 2
	is 'suites that have failed' "$(suites | grep -c '^not')" 0
	result suites
fi
exit 0
