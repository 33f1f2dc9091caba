# SPDX-License-Identifier: GPL-2.0
# proves: a stack dump, and the event, name the caller of a function with a return probe, also if fprobes and the graph tracer have replaced the return address before or after it; and function traces show a replaced one as such
. "${0%/*}/../lib.sh"

load kprobe_target
event 'r:kt/dump kprobe_target:kprobe_target_dump'
fprobes=''
if grep -q '^[[:space:]]*f\[:' $tracing/README; then
	fprobes=1
	echo 'f:kt/fprobe kprobe_target_dump%return' >>$tracing/dynamic_events || fail "no fprobe"
fi
own tracer
echo kprobe_target_dump >$tracing/set_ftrace_filter

switch()
{
	case $1:$2 in
	tracer:on) echo function_graph >$tracing/current_tracer || fail "no graph tracer" ;;
	tracer:off) echo nop >$tracing/current_tracer ;;
	*) "event_$2" "kt/$1" ;;
	esac
}

# What is switched on last is called first.
for order in dump 'tracer dump' 'dump tracer' fprobe 'fprobe dump' 'dump fprobe' \
	     'tracer fprobe dump' 'dump fprobe tracer' 'fprobe dump tracer'; do
	case $order in
	*fprobe*) [ -n "$fprobes" ] || continue ;;
	esac
	for what in $order; do switch "$what" on; done
	echo "stack_dump: $order" >/dev/kmsg
	echo >$tracing/trace
	call dump 1
	case $order in
	*dump*)
		matches "$order: what the event says" \
			"$(sed -n 's/.*\<\(dump: (.*)\).*/\1/p' $tracing/trace)" \
			'dump: \(call_write\+0x[0-9a-f]+/0x[0-9a-f]+ (\[kprobe_target\] )?<- kprobe_target_dump\)'
		;;
	esac
	for what in $order; do switch "$what" off; done
	stack=$(dmesg | sed 's/^\[[^]]*\] //' | sed "1,/^stack_dump: $order\$/d")
	is "$order: the function, its caller, and what is wrong" \
		"$(echo "$stack" | awk '
			/^ (kprobe_target_dump|call_write)\+/ { sub(/\+.*/, ""); print $1 }
			/^ .*(trampoline|return_to_handler)/ && !/^ \? / { print }' | xargs)" \
		"kprobe_target_dump call_write"
done

# kprobe_target_leave jumps to kprobe_target_add, which finds the replaced address.
event 'r:kt/leave kprobe_target:kprobe_target_leave'
[ -z "$fprobes" ] ||
	echo 'f:kt/fleave kprobe_target_leave%return' >>$tracing/dynamic_events || fail "no fprobe"
echo kprobe_target_add >$tracing/set_ftrace_filter
for what in leave ${fprobes:+fleave}; do
	echo function >$tracing/current_tracer || fail "no function tracer"
	call leave 1
	event_on "kt/$what"
	call leave 1
	event_off "kt/$what"
	is "$what: the parents in the trace" \
		"$(sed -n 's/.*: kprobe_target_add <-//p' $tracing/trace | paste -s -d ' ')" \
		"call_write [unknown/kretprobe'd]"
	echo nop >$tracing/current_tracer
done

echo >$tracing/set_ftrace_filter
give_back tracer
[ -z "$fprobes" ] || printf -- '-:kt/fprobe\n-:kt/fleave\n' >>$tracing/dynamic_events
done_testing
