# SPDX-License-Identifier: GPL-2.0
# client: what else changes a function's first bytes or its return, in each order
# shellcheck shell=dash disable=SC2034

# The number of calls of the target in the trace of a tracer
traced_calls() { grep -c "kprobe_target_add.*$1" $tracing/trace; }
tracer() { echo "$1" >$tracing/current_tracer || fail "no tracer $1"; }

# For orders: probes of the target, the graph tracer, the function tracer
calls=0
use_target()
{
	echo >$tracing/trace
	work
	calls=$((calls + 50))
	result "$1" $calls
}
probes_come() { events; events_on; seen=0; }
probes_go() { events_gone; }
probes_saw()
{
	seen=$((seen + 50))
	all_hit "$1" $seen
}
graph_come()
{
	echo kprobe_target_add >$tracing/set_graph_function
	# graph_then_probe covers all functions, which take long to patch.
	echo kprobe_target_add >$tracing/set_ftrace_filter
	tracer function_graph
}
graph_go() { tracer nop; }
graph_saw() { is "$1: calls in the graph" "$(traced_calls '[;{]')" 50; }
function_come()
{
	echo kprobe_target_add >$tracing/set_ftrace_filter
	tracer function
}
function_go() { tracer nop; }
function_saw() { is "$1: calls in the trace" "$(traced_calls '<-call_write')" 50; }
try_orders_graph() { orders probes graph use_target; }
try_orders_function() { orders probes function use_target; }

try_graph_then_probe()
{
	echo kprobe_target_add >$tracing/set_graph_function
	tracer function_graph
	events
	events_on
	work
	all_hit 'both' 50
	at_least "calls in the graph" "$(traced_calls '[;{]')" 50
	tracer nop
	work
	all_hit 'the graph is gone' 100
	events_gone
	result 'after both' 100
}

try_probe_then_graph()
{
	events
	events_on
	work
	all_hit 'probes' 50
	echo kprobe_target_add >$tracing/set_graph_function
	tracer function_graph
	work
	all_hit 'both' 100
	at_least "calls in the graph" "$(traced_calls '[;{]')" 50
	events_gone
	echo >$tracing/trace
	work
	at_least "the probes are gone: calls in the graph" "$(traced_calls '[;{]')" 50
	tracer nop
	result 'after both' 150
}

try_function_tracer()
{
	echo kprobe_target_add >$tracing/set_ftrace_filter
	tracer function
	events
	events_on
	work
	all_hit 'both' 50
	is "calls in the trace" "$(grep -c ': kprobe_target_add <-call_write' $tracing/trace)" 50
	tracer nop
	work
	all_hit 'the tracer is gone' 100
	tracer function
	events_gone
	echo >$tracing/trace
	work
	is "the probes are gone: calls in the trace" "$(grep -c ': kprobe_target_add <-call_write' $tracing/trace)" 50
	result 'after both' 150
	tracer nop
}

try_profiler()
{
	echo kprobe_target_add >$tracing/set_ftrace_filter
	events
	events_on
	echo 1 >$tracing/function_profile_enabled
	work
	echo 0 >$tracing/function_profile_enabled
	all_hit 'both' 50
	is "calls in the profile" "$(cat $tracing/trace_stat/function* | awk '$1 == "kprobe_target_add" { n += $2 } END { print n }')" 50
	events_gone
}

try_fprobe()
{
	echo 'f:c/f kprobe_target_add' >>$tracing/dynamic_events || fail 'no fprobe event'
	echo 'f:c/fr kprobe_target_add%return' >>$tracing/dynamic_events || fail 'no fprobe event on return'
	event_on c
	events
	events_on
	work
	all_hit 'both' 50
	is "fprobe" "$(traced f)" 50
	is "fprobe, return" "$(traced fr)" 50
	event_off c
	echo >$tracing/dynamic_events
	result 'after both' 50
}

# handle_mm_fault calls the samples' trampolines directly.
direct()
{
	echo '#' >$tracing/trace
	cat /proc/self/maps >/dev/null
	at_least "$1: calls of the trampoline" "$(grep -c 'handle mm fault' $tracing/trace)" 1
}

try_direct_then_probe()
{
	load ftrace-direct-too
	event 'p:c/fault handle_mm_fault'
	event_on c
	direct 'both'
	at_least "hits" "$(traced fault)" 1
	unload ftrace_direct_too
	echo >$tracing/trace
	cat /proc/self/maps >/dev/null
	at_least "the trampoline is gone: hits" "$(traced fault)" 1
	events_gone
}

try_probe_then_direct()
{
	event 'p:c/fault handle_mm_fault'
	event_on c
	load ftrace-direct-too
	direct 'both'
	at_least "hits" "$(traced fault)" 1
	events_gone
	direct 'the probe is gone'
	unload ftrace_direct_too
}

# For orders: a probe of handle_mm_fault, and the trampoline
use_memory()
{
	echo >$tracing/trace
	cat /proc/self/maps >/dev/null
}
fault_come()
{
	event 'p:c/fault handle_mm_fault'
	event 'r:c/faulted handle_mm_fault'
	event_on c
}
fault_go() { events_gone; }
fault_saw()
{
	at_least "$1: hits" "$(traced fault)" 1
	at_least "$1: returns" "$(traced faulted)" 1
}
direct_come() { load ftrace-direct-too; }
direct_go() { unload ftrace_direct_too; }
direct_saw() { at_least "$1: calls of the trampoline" "$(grep -c 'handle mm fault' $tracing/trace)" 1; }
try_orders_direct() { orders fault direct use_memory; }

# kgdb's own test, which sets breakpoints at the first byte of kernel_clone() and steps
# over them. In the emulator it does not find hardware breakpoints.
kgdb_begins()
{
	expect 'configure_kgdbts[+]'
	echo V1I20F20 >/sys/module/kgdbts/parameters/kgdbts || fail "kgdb's test does not begin"
}
kgdb_ends()
{
	tries=0
	until dmesg | grep -q 'Unregistered I/O driver kgdbts'; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || { fail "kgdb's test does not end"; break; }
		/bin/true
	done
	out=$(dmesg | grep -a 'kgdb' | grep -av 'hw_[a-z_]*test\|kgdbts: BP mismatch')
	has "kgdb's test" 'kgdbts:RUN kernel_clone for 20 breakpoints'
	hasnt "kgdb's test" 'kgdbts: .*(ERROR|failed)'
}
kgdb_probes()
{
	event 'p:c/entry kernel_clone'
	event 'r:c/return kernel_clone'
	event_on c
}
# seen HITS: the probes see calls that kgdb has stopped.
seen()
{
	at_least "hits" "$(hits entry | cut -d' ' -f1)" "$1"
	is "missed by entry" "$(hits entry | cut -d' ' -f2)" 0
	is "missed by return" "$(hits return | cut -d' ' -f2)" 0
}

try_probe_then_kgdb()
{
	kgdb_probes
	kgdb_begins
	kgdb_ends
	seen 20
	events_gone
}

# No probe can be set where a foreign breakpoint hides the instruction, until it is removed.
try_kgdb_then_probe()
{
	kgdb_begins
	refuses '' "echo 'p:c/entry kernel_clone' >>$tracing/kprobe_events"
	kgdb_ends
	kgdb_probes
	/bin/true
	seen 1
	events_gone
}
