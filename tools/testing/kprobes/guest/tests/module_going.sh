# SPDX-License-Identifier: GPL-2.0
# proves: no jump is made over a jump label of a module that is being unloaded; events on that module wait until it is loaded again
. "${0%/*}/../lib.sh"

gate=/sys/module/kprobe_gate/parameters

# The line of a point, without its address: how_at SYMBOL+OFFSET
how_at() { awk -v at="$1" '{ for (i = 2; i <= NF; i++) if ($i == at) { sub(/^[^ ]+ +/, ""); print } }' $kp/points; }
# Wait until an instruction of the module is probed by a jump, so all others have been tried.
wait_for_jump()
{
	await eval "how_at '$1' | grep -q '^jump '" || fail "$1 has not become a jump"
}
# The points of the module that are, or are not, next to what others patch.
patched() { sed -n 's/.* \(kprobe_target_near+[^ ]*\)  kprobe_target  others patch this text$/\1/p' $kp/points; }

load kprobe_target
load kprobe_gate module=kprobe_target going=1
# on FUNCTION LAST: events on what can be probed up to there
on()
{
	for offset in $(seq 0 "$2"); do
		echo "p:kt/$1$offset kprobe_target:kprobe_target_$1+$offset" \
			2>/dev/null >>$tracing/kprobe_events
	done
}
# Leave out its return, which may be so short that a jump has to displace it.
on add 9
on near 40
event_on kt
echo 0 >$optimization
echo 1 >$optimization
find_jump()
{
	jump=$(awk '$2 == "jump"' $kp/points | grep -o 'kprobe_target_add+[^ ]*' | head -n 1)
	[ -n "$jump" ]
}
await find_jump || fail "no probe in kprobe_target_add has become a jump"
near=$(patched | head -n 1)
[ -n "$near" ] || fail "no point of kprobe_target_near is next to its jump label"

echo 0 >$optimization
matches "$jump without jumps" "$(how_at "$jump")" 'breakpoint .*'
rmmod kprobe_target &
await grep -q Y $gate/waiting
is "waiting" "$(cat $gate/waiting)" Y
echo 1 >$optimization
wait_for_jump "$jump"
matches "$near while its module goes" "$(how_at "$near")" 'breakpoint .*  others patch this text'
# An event on it waits for the next load, as it would if the module were already gone.
event 'p:later/add kprobe_target:kprobe_target_add'
echo 1 >$gate/open
wait $! || fail "kprobe_target does not unload"
unload kprobe_gate
load kprobe_target
event_on later/add
call add 2
is "hits of an event set while the module went" "$(traced add)" 2
event_off later/add
done_testing
