# SPDX-License-Identifier: GPL-2.0
# proves: probes that a module leaves set go with it, and a handler that returns non-zero for nothing does no harm
# preempt: full
. "${0%/*}/../lib.sh"

[ -e $modules/kprobe_careless.ko ] || skip "this machine's instructions are not known"
hits=/sys/module/kprobe_careless/parameters/hits
last() { awk '$1 == "last" { print $2 }' $target/calls; }
# Each of the probed functions, several times. Its result is right if nothing broke.
call_all()
{
	call add 3
	is "the sum" "$(last)" 1002
	call recurse 3
	is "the depth" "$(last)" 1003
}
# left WHAT: the probes are gone, as is the module
left()
{
	no_probes
	matches "what the log says of $1" "$(messages kprobes | tail -n 1)" \
		'kprobes: kprobe_careless is freed with 4 of its probes set, one at kprobe_target_.*: removing them'
	# The optimizer would change a point that is still there.
	[ ! -e $optimization ] || for value in 0 1; do echo $value >$optimization; done
	call_all
	no_probes
}

load kprobe_target
find_target
# Two of the probes are hit at each depth.
load kprobe_careless what=leave offset=$after
call_all
is "hits" "$(cat $hits)" 15
unload kprobe_careless
left "a module that leaves them"

refuses "No such device" insmod $modules/kprobe_careless.ko what=fail offset=$after
left "a module whose init function fails"

load kprobe_careless what=atomic offset=$after
call_all
unload kprobe_careless
left "a module that must not sleep when it unregisters"

# This line comes once, and may have come before.
echo 1 >/sys/kernel/debug/clear_warn_once
load kprobe_careless what=return offset=$after
call_all
# As a jump, where there are jumps.
[ ! -e $optimization ] || await grep -q '  jump  ' $kp/points || fail "no probe has become a jump"
call_all
is "hits of handlers that return non-zero" "$(cat $hits)" 30
matches "what the log says of them" "$(messages kprobes | grep non-zero | tail -n 1)" \
	'kprobes: a handler at kprobe_target_(add|recurse)\+.* returned non-zero, but has not set the instruction pointer'
unload kprobe_careless
no_probes
done_testing
