# SPDX-License-Identifier: GPL-2.0
# proves: probes are set and removed on both CPUs under a workload, and every call of the workload still works
# preempt: full
. "${0%/*}/../lib.sh"

dmesg -c >/dev/null
load kprobe_target
(
	n=0
	while [ ! -e $tmp/stop ]; do
		[ "$( (echo fork) )" = fork ] || echo broken
		cat /proc/self/stat >/dev/null || echo broken
		call add 10
		n=$((n + 1))
	done >$tmp/churn
	echo $n >$tmp/rounds
) &
(
	while [ ! -e $tmp/stop ]; do
		insmod $modules/kretprobe_example.ko func=vfs_read limit=0
		rmmod kretprobe_example
	done 2>&1
) >$tmp/churn2 &
for _ in $(seq 15); do
	load kprobe_batch symbols=vfs_read,kernel_clone,wake_up_new_task,kprobe_target_add
	load kprobe_example symbol=kprobe_target_add limit=0
	unload kprobe_batch
	unload kprobe_example
done
touch $tmp/stop
wait
is "errors of the workload" "$(cat $tmp/churn $tmp/churn2 2>&1)" ""
at_least "rounds of the workload" "$(cat $tmp/rounds)" 10
is "calls of the function" "$(awk '$1 == "add" { print $2 }' $target/calls)" "$(($(cat $tmp/rounds) * 10))"
# removed MODULE: how often it was removed, and the hits of its probe
removed()
{
	messages $1 | awk '/probe removed: / { n++; sub(/.*removed: /, ""); hits += $1 }
		END { print n + 0, hits + 0 }'
}
is "probes that were removed" "$(removed kprobe_example | cut -d' ' -f1)" 15
at_least "hits of them" "$(removed kprobe_example | cut -d' ' -f2)" 15
at_least "return probes that were removed" "$(removed kretprobe_example | cut -d' ' -f1)" 5
at_least "returns of them" "$(removed kretprobe_example | cut -d' ' -f2)" 5
is "the list" "$(cat $kp/list 2>&1)" ""
rm -f $tmp/stop
done_testing
