# SPDX-License-Identifier: GPL-2.0
# proves: while filters of the function tracer and events on ftrace sites change one by one, exactly the functions that have a user are patched, and both see their calls; and functions that run before or without exceptions cannot be traced
. "${0%/*}/../lib.sh"

load kprobe_target
traced=$(cat $tracing/enabled_functions) || fail "what is traced cannot be read"
[ -z "$traced" ] || skip "functions are traced already"

# patched WHAT NAME USERS...
patched()
{
	what=$1
	shift
	is "patched $what" "$(sed 's/ \[kprobe_target\]//' $tracing/enabled_functions |
		awk '{ gsub(/[^0-9]/, "", $2); print $1, $2 }' | sort | xargs)" "$*"
}
# calls WHAT FUNCTIONS EVENTS: how many of ten calls each of them has seen
calls()
{
	echo >$tracing/trace
	call add 10
	is "functions traced $1" "$(grep -c ': kprobe_target_add <-' $tracing/trace)" "$2"
	is "events traced $1" "$(traced add)" "$3"
}
filter() { echo "$1" >>$tracing/set_ftrace_filter || fail "the filter refuses $1"; }

event 'p:kt/add kprobe_target:kprobe_target_add'
event 'p:kt/recurse kprobe_target:kprobe_target_recurse'
echo kprobe_target_add >$tracing/set_ftrace_filter
echo function >$tracing/current_tracer
patched "at first" kprobe_target_add 1
calls "at first" 10 0
filter kernel_clone
filter kprobe_target_recurse
patched "with three in the filter" kernel_clone 1 kprobe_target_add 1 kprobe_target_recurse 1
calls "with three in the filter" 10 0

event_on kt/recurse
event_on kt/add
patched "with events" kernel_clone 1 kprobe_target_add 2 kprobe_target_recurse 2
calls "with events" 10 10
filter '!kprobe_target_add'
patched "with one less in the filter" kernel_clone 1 kprobe_target_add 1 kprobe_target_recurse 2
calls "with one less in the filter" 0 10
filter kprobe_target_add
calls "with it back" 10 10
event_off kt/add
patched "with one event" kernel_clone 1 kprobe_target_add 1 kprobe_target_recurse 2
calls "with one event" 10 0
event_on kt/add
echo nop >$tracing/current_tracer
patched "by events alone" kprobe_target_add 1 kprobe_target_recurse 1
calls "by events alone" 0 10

# On a CPU that comes online, and for a debugger, these run before or without exceptions.
for name in load_current_idt do_int3 kgdb_ll_trap __kgdb_notify; do
	is "the tracer's $name" "$(grep -cx "$name" $tracing/available_filter_functions)" 0
done
at_least "functions not to be traced that are there" "$(grep -cE ' (load_current_idt|do_int3|__kgdb_notify)$' /proc/kallsyms)" 2

# A filter that becomes empty selects all functions.
echo function >$tracing/current_tracer
echo kprobe_target_recurse >$tracing/set_ftrace_filter
patched "with another filter" kprobe_target_add 1 kprobe_target_recurse 2
echo >$tracing/set_ftrace_filter
at_least "patched without a filter" "$(wc -l <$tracing/enabled_functions)" 1000
# One that is no longer empty deselects all others.
echo kprobe_target_recurse >$tracing/set_ftrace_filter
patched "with a filter again" kprobe_target_add 1 kprobe_target_recurse 2
filter kprobe_target_recurse
patched "with the same filter" kprobe_target_add 1 kprobe_target_recurse 2
# What goes and what comes in the same change, each one and two.
echo kernel_clone >$tracing/set_ftrace_filter
patched "with a function replaced" kernel_clone 1 kprobe_target_add 1 kprobe_target_recurse 1
echo kprobe_target_add kprobe_target_recurse >$tracing/set_ftrace_filter
patched "with two for one" kprobe_target_add 2 kprobe_target_recurse 2
echo kernel_clone >$tracing/set_ftrace_filter
patched "with one for two" kernel_clone 1 kprobe_target_add 1 kprobe_target_recurse 1
calls "with one for two" 0 10
echo kprobe_target_recurse >$tracing/set_ftrace_filter
echo nop >$tracing/current_tracer
calls "when the tracer has gone" 0 10

event_off kt/recurse
event_off kt/add
patched "in the end"
call recurse 3
is "calls made in all" "$(awk '$1 == "add" { print $2 }' $target/calls)" 90
done_testing
