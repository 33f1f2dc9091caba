# SPDX-License-Identifier: GPL-2.0
# proves: a kprobe event of tracefs counts every call, sees its arguments, and stops when told to
. "${0%/*}/../lib.sh"

load kprobe_target
event "p:kt/add kprobe_target:kprobe_target_add a=$arg1:s32 b=$arg2:s32"
is "in kprobe_events" "$(grep -c '^p:kt/add kprobe_target:kprobe_target_add' $tracing/kprobe_events)" 1
call add 5
is "hits before it is enabled" "$(traced add)" 0

event_on kt/add
call add 100
is "hits" "$(traced add)" 100
is "with right arguments" "$(grep ' add: ' $tracing/trace |
	awk '$0 ~ "a=" n " b=1000$" { n++ } BEGIN { n = 0 } END { print n }')" 100
is "hits and misses in kprobe_profile" \
	"$(awk '$1 == "add" { print $2, $3 }' $tracing/kprobe_profile)" "100 0"

event_off kt/add
call add 5
is "hits after it is disabled" "$(traced add)" 100
echo '-:kt/add' >>$tracing/kprobe_events || fail "cannot remove the event"
is "in kprobe_events after removal" "$(cat $tracing/kprobe_events 2>&1)" ""
is "in the list after removal" "$(cat $kp/list 2>&1)" ""
call add 5
is "calls made in all" "$(awk '$1 == "add" { print $2 }' $target/calls)" 115
done_testing
