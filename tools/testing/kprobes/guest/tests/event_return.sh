# SPDX-License-Identifier: GPL-2.0
# proves: a return event sees every return with its value, recursion included, and entry data
. "${0%/*}/../lib.sh"

load kprobe_target
event 'r:kt/add kprobe_target:kprobe_target_add $retval:s32'
event 'r:kt/recurse kprobe_target:kprobe_target_recurse $retval:s32'
event_on kt/add
event_on kt/recurse
call add 100
is "returns" "$(traced add)" 100
is "with right values" "$(grep ' add: ' $tracing/trace |
	awk 'BEGIN { n = 1000 } $0 ~ "arg1=" n "$" { n++ } END { print n }')" 1100
matches "where from and to" "$(grep ' add: ' $tracing/trace)" \
	'.* add: \(call_write\+0x[0-9a-f]+/0x[0-9a-f]+ \[kprobe_target\] <- kprobe_target_add\) arg1=[0-9]+'

# Depths 0 to 4: 1 + 2 + 3 + 4 + 5 returns.
call recurse 5
is "returns of the recursive one" "$(traced recurse)" 15
is "its last value" "$(awk '$1 == "last" { print $2 }' $target/calls)" 1005
is "misses" "$(awk '{ sum += $3 } END { print sum }' $tracing/kprobe_profile)" 0
done_testing
