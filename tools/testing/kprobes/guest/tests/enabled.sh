# SPDX-License-Identifier: GPL-2.0
# proves: kprobes/enabled (0600) switches all probes off and on with 0/1/n/y and refuses anything else
. "${0%/*}/../lib.sh"

is "mode" "$(mode $kp/enabled)" 600
is "default" "$(cat $kp/enabled)" 1

load kprobe_target
event 'p:kt/add kprobe_target:kprobe_target_add'
event 'p:kt/recurse kprobe_target:kprobe_target_recurse'
event_on kt/add

hits() { echo >$tracing/trace; call add 7; traced add; }
is "hits while on" "$(hits)" 7
for off in 0 n N; do
	echo $off >$kp/enabled || fail "'$off' was refused"
	is "reads after '$off'" "$(cat $kp/enabled)" 0
	is "hits after '$off'" "$(hits)" 0
	on=$(echo $off | tr 0nN 1yY)
	echo "$on" >$kp/enabled || fail "'$on' was refused"
	is "reads after '$on'" "$(cat $kp/enabled)" 1
	is "hits after '$on'" "$(hits)" 7
done

for bad in 2 a maybe ' ' ''; do
	refuses 'Invalid argument' "echo '$bad' >$kp/enabled"
	is "after '$bad'" "$(cat $kp/enabled)" 1
done
is "hits after refused values" "$(hits)" 7

# A disabled probe stays off. A probe that is set while all are off is armed later.
echo 0 >$kp/enabled
event 'p:kt/late kprobe_target:kprobe_target_add'
event_on kt/late
echo >$tracing/trace
call add 3
is "hits of a probe set while all are off" "$(traced late)" 0
echo 1 >$kp/enabled
echo >$tracing/trace
call add 3
call recurse 3
is "hits of it once all are on" "$(traced late)" 3
is "hits of a probe that is switched off by itself" "$(traced recurse)" 0
done_testing
