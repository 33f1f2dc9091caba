# SPDX-License-Identifier: GPL-2.0
# proves: the jprobe sample sees each call with its arguments and is listed as type j, and the probed function still works, also with the graph tracer on it
. "${0%/*}/../lib.sh"

[ -e $modules/jprobe_example.ko ] || skip "no jprobes in this kernel"
load jprobe_example limit=3
matches "its line in the list" "$(grep '  j  ' $kp/list)" \
	'[0-9a-f]{8,16}  j  kernel_clone\+0x[04]    (\[OPTIMIZED\])?(\[FTRACE\])?'
# Each command is a process of its own.
i=0
while [ $i -lt 50 ]; do
	(exec true) || fail "a process does not run"
	i=$((i + 1))
done
# The handler does not return, but the function does.
own tracer
echo ':mod:jprobe_example' >$tracing/set_ftrace_filter
echo kernel_clone >>$tracing/set_ftrace_filter
echo function_graph >$tracing/current_tracer || fail "no graph tracer"
echo >$tracing/trace
i=0
while [ $i -lt 10 ]; do
	(exec true) || fail "a process does not run under the graph tracer"
	i=$((i + 1))
done
at_least "calls that the graph tracer sees" "$(grep -c ' us .*kernel_clone' $tracing/trace)" 10
echo nop >$tracing/current_tracer
echo >$tracing/set_ftrace_filter
give_back tracer
unload jprobe_example
# SIGCHLD is 17.
matches "lines that it printed" "$(messages jprobe_example | grep kernel_clone | grep flags=)" \
	'jprobe_example: kernel_clone in [^ ]*/[0-9]+: flags=0x[0-9a-f]+ exit_signal=(0|17) stack=0x[0-9a-f]+'
is "number of them" "$(messages jprobe_example | grep -c flags=)" 3
removed=$(messages jprobe_example | tail -n 1)
matches "its last line" "$removed" 'jprobe_example: jprobe removed: [0-9]+ calls, 0 missed'
at_least "calls" "$(echo "$removed" | awk '{ print $4 }')" 50
is "the list afterwards" "$(cat $kp/list 2>&1)" ""
done_testing
