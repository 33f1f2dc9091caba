# SPDX-License-Identifier: GPL-2.0
# proves: events switched as a group all start and all stop, at once, one that cannot be switched on does not stop the others, and the traces of an event go when it is removed
# preempt: full
. "${0%/*}/../lib.sh"

load kprobe_target
find_target

# hits WHAT COUNT: of each event, for that many calls
hits()
{
	echo >$tracing/trace
	call add 20
	for name in first inside return last; do
		is "hits of $name $1" "$(traced $name)" "$2"
	done
}
# armed WHAT COUNT: the number of points that are armed
armed() { is "armed $1" "$(grep -vc DISABLED $kp/list)" "$2"; }

event 'p:kt/first kprobe_target:kprobe_target_add'
event "p:kt/inside kprobe_target:kprobe_target_add+$after"
event 'r:kt/return kprobe_target:kprobe_target_add'
event 'p:kt/last kprobe_target:kprobe_target_add'
for round in 1 2 3; do
	echo 1 >$tracing/events/kt/enable || fail "cannot switch the group on"
	armed "in round $round" 4
	hits "when on, round $round" 20
	echo 0 >$tracing/events/kt/enable || fail "cannot switch the group off"
	armed "when off, round $round" 0
	hits "when off, round $round" 0
done

# Some are on already, or stay on for another buffer.
event_on kt/last
echo 1 >$tracing/events/kt/enable
hits "when one was on already" 20
mkdir $tracing/instances/other
echo 1 >$tracing/instances/other/events/kt/first/enable
echo 0 >$tracing/events/kt/enable
armed "for the other buffer" 1
hits "in a buffer where they are off" 0
is "hits in the other one" "$(grep -c ' first: ' $tracing/instances/other/trace)" 20
echo 0 >$tracing/instances/other/events/kt/enable
armed "when off in both" 0
rmdir $tracing/instances/other

# With the master switch off, switching the group takes effect later.
echo 0 >$kp/enabled
echo 1 >$tracing/events/kt/enable || fail "cannot switch the group on while all are off"
hits "when all are off" 0
echo 1 >$kp/enabled
hits "when all are on again" 20
echo 0 >$tracing/events/kt/enable

# An event in the middle can be made, but not switched on: that file cannot have a
# uprobe. Events are switched in the order in which they were made.
event '-:kt/last'
echo 'p:kt/bad /proc/version:0x10' >>$tracing/uprobe_events || fail "no event 'bad'"
event 'p:kt/last kprobe_target:kprobe_target_add'
refuses 'nput/output error' "echo 1 >$tracing/events/kt/enable"
is "what the group is" "$(cat $tracing/events/kt/enable)" X
is "what the bad one is" "$(cat $tracing/events/kt/bad/enable)" 0
armed "beside the bad one" 4
hits "beside the bad one" 20
echo 0 >$tracing/events/kt/enable || fail "cannot switch the group off with the bad one in it"
armed "beside the bad one, off" 0
hits "beside the bad one, off" 0
echo '-:kt/bad' >>$tracing/uprobe_events || fail "cannot remove 'bad'"

# An event's traces cannot be read without it.
echo 1 >$tracing/events/kt/enable
hits "before the removal" 20
echo 0 >$tracing/events/kt/enable
event '-:kt/last'
is "traces after the removal" "$(grep -vc '^#' $tracing/trace)" 0
event_on kt/first
call add 7
is "hits of one that is left" "$(traced first)" 7
event_off kt/first
is "traces with nothing removed" "$(traced first)" 7
# The traces in the snapshot cannot be read either.
echo 1 >$tracing/snapshot || fail "no snapshot"
is "traces in the snapshot" "$(grep -c ' first: ' $tracing/snapshot)" 7
echo >$tracing/trace
event '-:kt/inside'
is "the snapshot when one is removed" "$(grep -vc '^#' $tracing/snapshot)" 0
echo 0 >$tracing/snapshot
event_on kt/first
call add 7
event_off kt/first
is "traces again" "$(traced first)" 7
event '-:kt/return'
is "traces when one is removed that has none" "$(traced first)" 0
echo >$tracing/kprobe_events

# With ftrace off, no probe on an ftrace site can be switched on. That keeps the other probes
# of the same event off, too, but no other event.
event 'p:kt/two kprobe_target:kprobe_target_add'
event "p:kt/two kprobe_target:kprobe_target_recurse+$after"
event "p:kt/one kprobe_target:kprobe_target_recurse+$after"
if alone; then
	echo 0 >/proc/sys/kernel/ftrace_enabled || fail "cannot switch ftrace off"
	refuses 'esource busy' "echo 1 >$tracing/events/kt/enable"
	is "an event with a probe that was refused" "$(cat $tracing/events/kt/two/enable)" 0
	is "another event" "$(cat $tracing/events/kt/one/enable)" 1
	is "probes that are off" "$(grep -c DISABLED $kp/list)" 2
	echo 0 >$tracing/events/kt/enable
	echo 1 >/proc/sys/kernel/ftrace_enabled
fi
echo 1 >$tracing/events/kt/enable || fail "cannot switch the group on with ftrace"
armed "with ftrace" 3
is "probes that are off with ftrace" "$(grep -c DISABLED $kp/list)" 0
echo 0 >$tracing/events/kt/enable
echo >$tracing/kprobe_events

# However many they are, their text changes at once: each change interrupts the other CPUs. An
# event whose module has been unloaded, or its init text, does not make it one by one.
changes() { awk '$1 == "CAL:" { for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) n += $i } END { print n + 0 }' /proc/interrupts; }
# counted COMMAND: sets times to the interrupts meanwhile
counted()
{
	before=$(changes)
	eval "$1" || fail "$1"
	times=$(($(changes) - before))
}
# at_once WHAT COMMAND: it interrupts others far less often than each event does alone
at_once()
{
	counted "$2"
	echo "# $1: $times interrupts, one by one $alone"
	if [ "$times" -lt 1 ] || [ $((times * 3)) -ge "$alone" ]; then fail "$1: $times interrupts"; fi
}
rmmod kprobe_target || fail "kprobe_target is in use"
event 'p:many/gone kprobe_target:kprobe_target_starts'
many=0
for name in $(grep -E '^pci_[a-z_]+$' $tracing/available_filter_functions | sort | uniq -u | head -n 80); do
	echo "p:many/$name $name" 2>/dev/null >>$tracing/kprobe_events && many=$((many + 1))
done
at_least "events" $many 70
each() { for file in "$tracing"/events/many/*/enable; do echo "$1" >"$file"; done; }
counted "each 1"
alone=$times
counted "each 0"
[ "$times" -ge "$alone" ] || alone=$times
at_once "switching them on" "echo 1 >$tracing/events/many/enable"
load kprobe_target
is "events whose text is gone" "$(grep -c GONE $kp/list)" 1
on() { is "probes that are on $1" "$(grep -vc 'DISABLED\|GONE' $kp/list)" "$2"; }
on "at first" $many
at_once "switching them off" "echo 0 >$tracing/events/many/enable"
on "when off" 0
at_once "switching them on again" "echo 1 >$tracing/events/many/enable"
on "again" $many
at_once "switching all events off" "echo >$tracing/set_event"
on "when all events are off" 0
echo >$tracing/kprobe_events
is "the list in the end" "$(cat $kp/list 2>&1)" ""
done_testing
