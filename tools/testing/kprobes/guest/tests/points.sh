# SPDX-License-Identifier: GPL-2.0
# proves: kprobes/points (0400) has the documented columns; kprobes/hits (0600) counts the hits of breakpoints, jumps and ftrace sites exactly; kprobetop sorts them
# preempt: full
. "${0%/*}/../lib.sh"

load kprobe_target
is "mode of points" "$(mode $kp/points)" 400
is "mode of hits" "$(mode $kp/hits)" 600
is "points without probes" "$(cat $kp/points 2>&1)" ""

event 'p:kt/add kprobe_target:kprobe_target_add'
event 'p:kt/fallocate vfs_fallocate'
event 'r:kt/ret kprobe_target:kprobe_target_recurse'
event_on kt/add
event_on kt/fallocate
event_on kt/ret
line='[0-9a-f]{8,16}  (off|breakpoint|jump|ftrace|gone)  [0-9]+/[0-9]+  (-|[0-9]+)  [0-9]+  (-|[0-9]+/[0-9]+/[0-9]+)  (-|[0-9]+)  [a-zA-Z_0-9.]+\+0x[0-9a-f]+  ([a-z_0-9]+|-)  (-|[a-z][a-z ,]+(: .*)?)'
matches "points" "$(cat $kp/points)" "$line"
is "lines" "$(grep -c . $kp/points)" 3

# hits FUNCTION: the fourth column of its first point
hits() { awk -v f="  kprobe_target_$1+" 'index($0, f) { print $4; exit }' $kp/points; }
is "hits, off" "$(hits add)" -
refuses 'Invalid argument' "echo 2 >$kp/hits"
echo 1 >$kp/hits
is "reads" "$(cat $kp/hits)" 1
is "hits at first" "$(hits add)" 0
echo >$tracing/trace
call add 500
call recurse 3
is "hits of add" "$(hits add)" 500
is "events of add" "$(traced add)" 500
is "hits of recurse" "$(hits recurse)" 6
is "events of recurse" "$(traced ret)" 6
# An instruction inside the same function, through a breakpoint and then through a jump.
site=$(awk '$8 ~ /^kprobe_target_add\+/ { print $1 }' $kp/points)
inner=$(printf '%x' $((0x$site + 5)))
# how: the state of the inner point, and its hits
how() { awk -v a="$inner" '$1 == a { print $2, $4 }' $kp/points; }
echo 0 >$optimization
event "p:kt/inner 0x$inner"
event_on kt/inner
call add 7
is "a breakpoint" "$(how)" "breakpoint 7"
echo 1 >$optimization
await eval 'how | grep -q "^jump "'
call add 8
is "a jump" "$(how)" "jump 15"
# Removing it would empty the trace.
event_off kt/inner

matches "points then" "$(cat $kp/points)" "$line"
is "instances of recurse in use" "$(awk '/kprobe_target_recurse\+/ { split($6, n, "/"); print n[1] }' $kp/points)" 0
at_least "instances of recurse, the most" "$(awk '/kprobe_target_recurse\+/ { split($6, n, "/"); print n[2] }' $kp/points)" 3

# The tool prints the most hits first, and a heading and plain text if there is no terminal.
kprobetop >$tmp/top || fail "kprobetop: exit $?"
matches "the head of kprobetop" "$(head -n 1 $tmp/top)" ' *HITS +PER SECOND +MISSED +LOST +INSTANCES +PROBES +HOW +POINT +WHY NO JUMP'
matches "its first line" "$(sed -n 2p $tmp/top)" ' *515 +- +0 +- +- +1/1 +[a-z]+ +kprobe_target_add\+0x[0-9a-f]+ \[kprobe_target\].*'
is "its lines" "$(grep -c . $tmp/top)" 5
kprobetop -d 1 -s rate >$tmp/top || fail "kprobetop -d 1: exit $?"
matches "a rate" "$(sed -n 2p $tmp/top)" ' *[0-9]+ +0 +.*'
is "with -n 1" "$(kprobetop -n 1 | grep -c .)" 2
is "escapes" "$(tr -d '\n\t -~' <$tmp/top | wc -c)" 0
refuses 'usage' 'kprobetop -x'

echo 0 >$kp/hits
is "hits when it is off again" "$(hits add)" -
call add 10
is "events all the same" "$(traced add)" 525
echo 2 >/proc/sys/kernel/kptr_restrict
matches "addresses hidden" "$(cat $kp/points)" '0+  .*'
echo 0 >/proc/sys/kernel/kptr_restrict
is "what a user may do" "$(as_user "cat $kp/points" | grep -c 'ermission denied')" 1
done_testing
