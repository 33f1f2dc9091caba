# SPDX-License-Identifier: GPL-2.0
# proves: all text of a live patch but its ftrace sites is refused from the notifier on, until it is known what is relocated later
. "${0%/*}/../lib.sh"

[ -d /sys/kernel/livepatch ] || skip "no live patches in this kernel"
# An instruction that is not the entry: from how far on there is one depends on the compiler.
inside=''
load kprobe_target
for offset in $(seq 6 40); do
	echo "p:kt/inside kprobe_target:kprobe_target_add+$offset" 2>/dev/null >>$tracing/kprobe_events || continue
	inside=$offset
	break
done
[ -n "$inside" ] || fail "no instruction in kprobe_target_add can be probed"
unload kprobe_target
event 'p:kt/entry kprobe_target:kprobe_target_add'
event_on kt/inside
event_on kt/entry

load kprobe_gate module=kprobe_target livepatch=1
load kprobe_target
points=$(grep -o ' kprobe_target_add+0x[0-9a-f]* .*' $kp/list)
is "probes set by the notifier" "$(printf '%s\n' "$points" | wc -l)" 1
matches "the one that is set" "$points" ' kprobe_target_add\+0x[04] .*\[FTRACE\]'
# Now it is known that the patch has no relocations.
event "p:kt/again kprobe_target:kprobe_target_add+$inside"
event_on kt/again
call add 2
is "hits" "$(traced again)" 2
event_off kt/again
event_off kt/entry
event_off kt/inside
unload kprobe_target
unload kprobe_gate
done_testing
