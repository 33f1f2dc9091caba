# SPDX-License-Identifier: GPL-2.0
# proves: tracefs names the reason in error_log when an event is refused: blacklist, jump label, no function, middle of an instruction, no entry
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
is "no such function" "$(error 'p:kt/a no_such_function')" "Invalid probed address or symbol"
is "inside of the first instruction" "$(error 'p:kt/a kprobe_target_add+1')" \
	"Probe point is not an instruction boundary"

is "a return inside of a function" "$(error 'r:kt/a kprobe_target_add+9')" \
	"Retprobe address must be an function entry"

# A jump label is a five-byte nop of its own: the first place refused as such.
label=''
for function in schedule_tail do_sys_openat2 ksys_read try_to_wake_up vfs_read tcp_v4_rcv; do
	for offset in $(seq 9 200); do
		echo >$tracing/error_log
		if echo "p:kt/a $function+$offset" 2>/dev/null >>$tracing/kprobe_events; then
			echo '-:kt/a' >>$tracing/kprobe_events
		elif grep -q 'patches this address' $tracing/error_log; then
			label=$function+$offset
			break 2
		fi
	done
done
[ -n "$label" ] || fail "no place was refused as a jump label or static call"
echo "# patched by others: $label"
is "what is left" "$(cat $kp/list)" ""
done_testing
