# SPDX-License-Identifier: GPL-2.0
# proves: points on hot functions that keep turning into jumps and back into breakpoints lose no hits and break nothing
# preempt: full
. "${0%/*}/../lib.sh"

[ -e $optimization ] || skip "this kernel has no jump optimisation"
[ -e $modules/kprobe_toggle.ko ] || skip "this machine's instructions are not known"
toggle=/sys/kernel/debug/kprobe_toggle
load kprobe_toggle

# pause MILLISECONDS: at most
pause()
{
	random=$((random * 16807 % 2147483647))
	usleep $((random % $1 * 1000))
}

# The master switch. Jumps take a while, and longer on a busy machine.
(
	random=1
	while [ ! -e $tmp/stop ]; do
		for value in 0 1; do
			echo $value >$optimization || echo "sysctl $value"
			pause 300
		done
		for _ in $(seq 50); do
			[ ! -e $tmp/stop ] || break
			! grep -q OPTIMIZED $kp/list || break
			usleep 100000
		done
		pause 700
	done >$tmp/flips
	echo 1 >$optimization
) &
# Others may need the module for longer.
loads=2
alone || loads=0
# Unload a module, sometimes with jumps in it, and unregister its probes later.
echo 0 >$tmp/loads
(
	n=0 random=2
	while [ ! -e $tmp/stop ]; do
		own target
		insmod $modules/kprobe_target.ko || { give_back target; break; }
		insmod $modules/kprobe_batch.ko symbols=kprobe_target_add,kprobe_target_recurse
		insmod $modules/kprobe_example.ko symbol=kprobe_target_add offset=9 limit=0
		pause 400
		call add 100
		call recurse 3
		pause 100
		rmmod kprobe_target
		rmmod kprobe_example
		rmmod kprobe_batch
		give_back target
		n=$((n + 1))
		echo $n >$tmp/loads
	done
) >$tmp/module 2>&1 &

# get NAME: of the result
get() { awk -v k="$1" '$1 == k { print $2 }' $toggle/result; }
for _ in $(seq 5); do
	echo "${TOGGLE_SECONDS:-10}" >$toggle/run || fail "the run failed"
	[ "$(get to_jump)" -lt 2 ] || [ "$(get to_breakpoint)" -lt 1 ] ||
		[ "$(get rounds)" -lt 5 ] || [ "$(cat $tmp/loads)" -lt $loads ] || break
done
touch $tmp/stop
wait
sed 's/^/# /' $toggle/result
echo "# loads $(cat $tmp/loads)"
at_least "calls" "$(get calls)" 1000
at_least "rounds" "$(get rounds)" 5
at_least "points that became jumps" "$(get to_jump)" 2
at_least "points that became breakpoints again" "$(get to_breakpoint)" 1
is "wrong results" "$(get wrong)" 0
is "points that lost hits" "$(get unequal)" 0
is "points that lost hits after the instruction" "$(get unequal_post)" 0
is "hits missed" "$(get missed)" 0
is "hits after unregistering" "$(get late)" 0
is "errors" "$(get errors)" 0
is "what flipping said" "$(cat $tmp/flips 2>&1)" ""
is "what loading said" "$(cat $tmp/module 2>&1)" ""
at_least "modules loaded" "$(cat $tmp/loads)" $loads
unload kprobe_toggle
no_probes
rm -f $tmp/stop
done_testing
