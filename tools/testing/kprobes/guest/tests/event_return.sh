# SPDX-License-Identifier: GPL-2.0
# proves: a return event sees every return, with its value, its caller and its entry data, also in recursion and with the graph tracer on the function
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

# The graph tracer replaces the return address, too. The tracer that was set last is called first.
own tracer
echo kprobe_target_add >$tracing/set_ftrace_filter
for first in tracer event; do
	event_off kt/add
	[ $first = tracer ] || event_on kt/add
	echo function_graph >$tracing/current_tracer || fail "no graph tracer"
	[ $first = event ] || event_on kt/add
	echo >$tracing/trace
	call add 10
	is "calls traced, the $first first" "$(grep -c ' kprobe_target_add.*()' $tracing/trace)" 10
	matches "where from and to, the $first first" \
		"$(sed -n 's|.*/\* add: \(.*\)) arg1=.*|\1|p' $tracing/trace)" \
		'\(call_write\+0x[0-9a-f]+/0x[0-9a-f]+ \[kprobe_target\] <- kprobe_target_add'
	echo nop >$tracing/current_tracer
done
echo >$tracing/set_ftrace_filter
give_back tracer
echo >$tracing/trace

# Depths 0 to 4: 1 + 2 + 3 + 4 + 5 returns.
call recurse 5
is "returns of the recursive one" "$(traced recurse)" 15
is "its last value" "$(awk '$1 == "last" { print $2 }' $target/calls)" 1005
is "misses" "$(awk '{ sum += $3 } END { print sum }' $tracing/kprobe_profile)" 0
done_testing
