# SPDX-License-Identifier: GPL-2.0
# proves: when an event is refused, error_log of tracefs gives the reason and the word at fault: blacklist, notrace, jump label, static call, no function, middle of an instruction, no entry
. "${0%/*}/../lib.sh"

load kprobe_target

# error EVENT: what error_log says of it
error()
{
	echo >$tracing/error_log
	echo "$1" 2>/dev/null >>$tracing/kprobe_events && fail "'$1' was accepted"
	sed -n 's/^\[[^]]*\] trace_kprobe: error: //p' $tracing/error_log
}

is "blacklisted" "$(error 'p:kt/a kprobe_int3_handler')" "The address is on the kprobe blacklist"
# The caret in error_log is under the word at fault.
is "the word that is blacklisted" "$(awk '/^ *Command: / { at = index($0, "kprobe_int3_handler") }
	/^ *\^$/ { print index($0, "^") - at }' $tracing/error_log)" 0
is "notrace" "$(error 'p:kt/a kprobe_target_untraced')" "The function is notrace"
is "no such function" "$(error 'p:kt/a no_such_function')" "Invalid probed address or symbol"
is "an address outside of all functions" "$(error 'p:kt/a kernel_clone+0x7fffffff')" "Invalid probed address or symbol"
is "inside of the first instruction" "$(error 'p:kt/a kprobe_target_add+1')" \
	"Probe point is not an instruction boundary"

is "a return inside of a function" "$(error 'r:kt/a kprobe_target_add+9')" \
	"Retprobe address must be an function entry"

# patched FUNCTION WHAT: look for one, the first place in that function that is refused as such
patched()
{
	for offset in $(seq 0 60); do
		echo >$tracing/error_log
		if echo "p:kt/a $1+$offset" 2>/dev/null >>$tracing/kprobe_events; then
			echo '-:kt/a' >>$tracing/kprobe_events
		elif grep -q 'patches this address' $tracing/error_log; then
			echo "# patched by others: $1+$offset, $2"
			return
		fi
	done
	fail "no place was refused as $2"
}
patched kprobe_target_branch "a jump label"
# Elsewhere, the call leads to code that is patched.
[ "$(uname -m)" != x86_64 ] || patched kprobe_target_static "a static call"
is "what is left" "$(cat $kp/list 2>&1)" ""
done_testing
