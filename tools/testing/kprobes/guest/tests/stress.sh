# SPDX-License-Identifier: GPL-2.0
# proves: a thousand probes on hot functions count exactly while others come and go on both CPUs, and none fires late
# preempt: full
. "${0%/*}/../lib.sh"

stress=/sys/kernel/debug/kprobe_stress
load kprobe_stress

# Functions that a loop of forks and reads certainly calls, and many more.
awk '$2 ~ /^[tT]$/ && $3 !~ /[.]/ && !$4 { n[$3]++ } END { for (s in n) if (n[s] == 1) print s }' /proc/kallsyms |
	grep -E '^(vfs|do|__do|ksys|filemap|folio|page|alloc|free|get|put|d_|path|lookup|dput|mnt|file|sched|enqueue|dequeue|update|pick|try_to|wake|hrtimer|timer|rcu|mm|vma|handle|copy|anon|unmap|zap|tlb|rwsem|mutex|proc|seq|security|task|wait|signal|exit|futex)_' |
	sort | head -n 1600 >$tmp/names
# A write is at most a page.
xargs -n 50 sh -c 'printf "%s\n" "$@" >'"$stress/symbols" names <$tmp/names ||
	fail "the names are not accepted"
(
	while [ ! -e $tmp/stop ]; do
		[ "$( (echo fork) )" = fork ] || echo broken
		cat /proc/self/stat /proc/self/maps /proc/meminfo >/dev/null || echo broken
	done >$tmp/workload
) &
echo "${STRESS_SECONDS:-10}" >$stress/run || fail "the run failed"
touch $tmp/stop
wait
cat $stress/result >$tmp/result
sed 's/^/# /' $tmp/result
get() { awk -v k="$1" '$1 == k { print $2 }' $tmp/result; }
at_least "pairs of probes" "$(get pairs)" 1000
at_least "hits" "$(get hits)" 10000
rounds=2 probes=30 churned=1
alone || rounds=1 probes=15
at_least "rounds of churn" "$(get rounds)" $rounds
at_least "probes of the churn" "$(get registered)" $probes
# This depends on chance: rounds differ in size, and on a busy machine 162 probes had 75 hits.
at_least "hits of them" "$(get churned_hits)" $churned
at_least "calls of our own functions" "$(get calls)" 10000
is "pairs that differ" "$(get unequal)" 0
is "hits after unregistering" "$(get late)" 0
is "errors" "$(get errors)" 0
is "hits of a traced function" "$(get traced_hits)" "$(get calls)"
is "hits of a plain function" "$(get plain_hits)" "$(get calls)"
is "errors of the workload" "$(cat $tmp/workload 2>&1)" ""
unload kprobe_stress
no_probes
rm -f $tmp/stop
done_testing
