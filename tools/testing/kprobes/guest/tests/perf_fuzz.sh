# SPDX-License-Identifier: GPL-2.0
# proves: kprobes by random attributes of perf are opened if valid, and those with one mistake are refused with the error for it; counts are exact, users without privileges get none, and nothing is left over
# needs: what perf_fuzz.c makes
. "${0%/*}/../lib.sh"

[ -x /perf_fuzz ] || skip "no program that opens them: perf_fuzz.c makes it"
# As in abuse.sh.
seed=${PERF_SEED:-1}
defs=${PERF_DEFS:-600}
echo "# PERF_SEED=$seed PERF_DEFS=$defs"
own target
load kprobe_target
find_target
# The name of several functions, which perf does not take.
ambiguous=$(awk '$2 ~ /[tT]/ && NF == 3 && n[$3]++ { print $3; exit }' /proc/kallsyms)
get() { awk -v k="$1" '$1 == k { print $2 }' "$tmp/fuzzed"; }

# fuzzed DEFS: how a run of perf_fuzz has ended, and whether it has done what it should
fuzzed()
{
	sed -n 's/^wrong: //p' "$tmp/fuzzed" | head -n 5 >"$tmp/wrong"
	while read -r line; do fail "$line"; done <"$tmp/wrong"
	is "wrong results" "$(get wrong_results)" 0
	# After a few of them it gives up.
	[ "$(get wrong_results)" = 0 ] || return
	at_least "valid ones that were opened" "$(get opened)" $(($1 / 4))
	at_least "counts that were compared" "$(get counts_compared)" $(($1 / 4))
	at_least "counts that were not 0" "$(get counts_not_0)" $(($1 / 12))
	at_least "tries without privileges" "$(get unprivileged)" $(($1 / 60))
	at_least "groups" "$(get in_groups)" $(($1 / 60))
	at_least "calls by children" "$(get calls_by_children)" $(($1 / 40))
}

start=$(date +%s)
# Others may have probes, too, and only the first CPU is always there: see hotplug().
alone && shared='' on='' || shared=shared on='taskset 1'
# shellcheck disable=SC2086
$on /perf_fuzz "$defs" "$seed" "$entry" "$site" "$ambiguous" $shared >"$tmp/fuzzed" 2>&1 ||
	fail "perf_fuzz failed"
echo "# $(($(date +%s) - start)) s"
awk '$1 == "kind" { k = k " " $2 ":" $3; next } !/^wrong: / { print "# " $0 } END { print "# mistakes:" k }' "$tmp/fuzzed"
fuzzed "$defs"
if [ -z "$failed" ]; then
	# Each kind of mistake has to be among them.
	is "kinds of mistakes" "$(grep -c '^kind ' "$tmp/fuzzed")" 36
	is "kinds of mistakes that were left out" \
		"$(awk -v min=$((defs / 300 + 1)) '$1 == "kind" && $3 < min { print $2 }' "$tmp/fuzzed" | paste -sd' ')" ""
	at_least "hits of inherited probes" "$(get inherited)" 1
	at_least "events that were switched" "$(get switched)" 1
fi
no_probes
[ -z "$failed" ] || { unload kprobe_target; give_back target; done_testing; }

# The same on all CPUs at once.
cpus=$(grep -c '^processor' /proc/cpuinfo)
some=$((defs / 4))
i=0
while [ $i -lt "$cpus" ]; do
	$on /perf_fuzz $some $((seed + 1 + i)) "$entry" "$site" "$ambiguous" shared >"$tmp/fuzzed.$i" 2>&1 &
	i=$((i + 1))
done
start=$(date +%s)
wait
echo "# $cpus at once: $(($(date +%s) - start)) s"
while [ $i -gt 0 ]; do
	i=$((i - 1))
	mv "$tmp/fuzzed.$i" "$tmp/fuzzed"
	fuzzed $some
done

no_probes
! alone || is "the points" "$(cat $kp/points 2>&1)" ""
call add 1
unload kprobe_target
give_back target
rm -f "$tmp/fuzzed" "$tmp/wrong"
done_testing
