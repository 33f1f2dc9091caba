# SPDX-License-Identifier: GPL-2.0
# proves: return probes pair entries and returns in order, with fprobes and the graph tracer on the same functions, leave stack traces true, and lose nothing once the pool has grown
# preempt: full
. "${0%/*}/../lib.sh"

returns=/sys/kernel/debug/kprobe_returns
load kprobe_returns
get() { awk -v k="$1" '$1 == k { print $2 }' $returns/result; }

# No stack may show a trampoline. Each shows the probed function and its callers, and is
# complete. The stack of a task that starts to run during the walk may show anything:
# use those of tasks that are held.
stacks()
{
	: >$tmp/stacks
	: >$tmp/bad_stacks
	while [ ! -e $tmp/stop ]; do
		# Not at the end: whoever removes an event clears all of the trace.
		[ -e $tmp/graph ] || ! grep -qE ' traced( \[kprobe_returns\])?\(' $tracing/trace ||
			: >$tmp/graph
		if ! echo 1 2>/dev/null >$returns/hold; then
			usleep 50000
			continue
		fi
		callers=$(grep -ls '^kpr_pair/' /proc/[0-9]*/comm | sed 's/comm$/stack/')
		awk -v tmp="$tmp" '
			function check()
			{
				what = !whole && n < 64 ? "ends early" : ""
				if (!shown) what = "shows no function"
				if (hidden) what = "shows a trampoline"
				print what ? "bad" : "good", traced + 0
				if (what) print what ": " stack >(tmp "/bad_new")
				stack = ""
				n = hidden = shown = whole = traced = 0
			}
			FNR == 1 && NR > 1 { check() }
			{ n++; stack = stack " " $2 }
			/trampoline|return_to_handler/ { hidden = 1 }
			/ (traced|plain)\+/ { shown = 1 }
			/ traced\+/ { traced++ }
			/ caller_thread\+/ { whole = 1 }
			END { if (NR) check() }
		' $callers >$tmp/new
		# This fails if they have been released already.
		if echo 0 2>/dev/null >$returns/hold; then
			cat $tmp/new >>$tmp/stacks
			[ ! -e $tmp/bad_new ] || cat $tmp/bad_new >>$tmp/bad_stacks
		fi
		rm -f $tmp/bad_new
		usleep 200000
	done
}

# pairing WHAT SECONDS
pairing()
{
	rm -f $tmp/stop
	stacks &
	echo "$2" >$returns/pairing || fail "$1: the run failed"
	touch $tmp/stop
	wait
	sed "s/^/# $1: /" $returns/result
	at_least "$1: calls" "$(get calls)" 100
	at_least "$1: entries" "$(get entries)" 10000
	is "$1: returns" "$(get returns)" "$(get entries)"
	is "$1: returns of the fprobe" "$(get fprobe_returns)" "$(get fprobe_entries)"
	! grep -q ' register_fprobe$' /proc/kallsyms ||
		at_least "$1: entries of the fprobe" "$(get fprobe_entries)" 1000
	is "$1: calls missed" "$(get missed)" 0
	is "$1: out of order, or wrong" "$(get wrong)" 0
	at_least "$1: stacks" "$(wc -l <$tmp/stacks)" 64
	at_least "$1: stacks that show the function" "$(grep -c ' [1-9]' $tmp/stacks)" 64
	is "$1: bad stacks" "$(head -n 3 $tmp/bad_stacks)" ""
	echo "# $1: stacks $(wc -l <$tmp/stacks)"
}

seconds=${RETURNS_SECONDS:-10}
pairing "without the graph tracer" $(((seconds + 1) / 2))
own tracer
echo traced >$tracing/set_ftrace_filter
echo 16 >$tracing/buffer_size_kb
rm -f $tmp/graph
echo function_graph >$tracing/current_tracer || fail "no graph tracer"
pairing "with the graph tracer" $(((seconds + 1) / 2))
[ -e $tmp/graph ] || fail "the graph tracer has seen nothing"
echo nop >$tracing/current_tracer
echo >$tracing/set_ftrace_filter
give_back tracer

tasks=${RETURNS_TASKS:-500} calls=${RETURNS_CALLS:-20000}
echo "$tasks $calls" >$returns/sleepers || fail "the run of the sleepers failed"
sed 's/^/# sleepers: /' $returns/result
is "calls that returned wrongly" "$(get wrong)" 0
at_least "calls" "$(get calls)" "$calls"
is "calls accounted for" "$(($(get returns) + $(get missed_first) + $(get missed_later)))" "$(get calls)"
is "calls missed after the first bursts" "$(get missed_later)" 0
unload kprobe_returns
no_probes
rm -f $tmp/stop $tmp/graph $tmp/new $tmp/stacks $tmp/bad_stacks
done_testing
