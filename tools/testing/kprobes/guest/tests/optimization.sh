# SPDX-License-Identifier: GPL-2.0
# proves: sysctl debug.kprobes-optimization (0644) takes 0 and 1 and nothing else; probes work either way
. /lib.sh

[ -e $optimization ] || skip "this kernel has no jump optimisation"
is "mode" "$(mode $optimization)" 644
is "default" "$(cat $optimization)" 1
load kprobe_target
event 'p:kt/add kprobe_target:kprobe_target_add'
event_on kt/add
for value in 0 1 0 1; do
	echo $value >$optimization || fail "'$value' was refused"
	is "reads" "$(cat $optimization)" $value
	echo >$tracing/trace
	call add 5
	is "hits with $value" "$(traced add)" 5
done
for bad in 2 -1 x; do
	refuses 'Invalid argument' "echo $bad >$optimization"
	is "after '$bad'" "$(cat $optimization)" 1
done
done_testing
