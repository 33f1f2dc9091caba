# SPDX-License-Identifier: GPL-2.0
# client: trace-cmd on kprobe events
# shellcheck shell=dash

# record OPTION...: records /tmp/work
record() { run trace-cmd record -q -o /tmp/trace.dat "$@" /tmp/work; }
report() { run trace-cmd report -i /tmp/trace.dat; }

try_record()
{
	events
	record -e c
	report
	is "entries" "$(count ' entry: .* a=[0-9]+$')" 50
	is "inner" "$(count ' inner: ')" 50
	is "returns" "$(count ' return: .* ret=10[0-4][0-9]$')" 50
	echo >$tracing/kprobe_events
}

try_filter()
{
	events
	record -e c:entry -f 'a < 7'
	report
	is "entries" "$(count ' entry: ')" 7
	echo >$tracing/kprobe_events
}

try_stack()
{
	events
	record -e c:entry -T
	report
	at_least "callers" "$(count '=> call_write')" 50
	at_least "callers in the kernel" "$(count '=> vfs_write')" 50
	echo >$tracing/kprobe_events
}

try_graph()
{
	events
	record -p function_graph -g kprobe_target_add -e c
	report
	at_least "calls in the graph" "$(count 'kprobe_target_add.*[;{]')" 50
	is "entries" "$(count ' entry: ')" 50
	is "returns" "$(count ' return: ')" 50
	echo >$tracing/kprobe_events
}

try_start_stop()
{
	events
	run trace-cmd start -e c
	work
	run trace-cmd stop
	run trace-cmd show
	is "entries" "$(count ' entry: ')" 50
	run trace-cmd extract -o /tmp/trace.dat
	report
	is "entries of the extract" "$(count ' entry: ')" 50
	run trace-cmd reset
	is "left after the reset" "$(cat $tracing/kprobe_events 2>&1)" ""
}

try_instance()
{
	events
	record -B c -e c:entry
	report
	is "entries" "$(count ' entry: ')" 50
	run trace-cmd reset -a -d
	echo >$tracing/kprobe_events
}

try_list()
{
	events
	run trace-cmd list -e c:
	has "the list" '^c:return$'
	run trace-cmd stat
	echo >$tracing/kprobe_events
}
