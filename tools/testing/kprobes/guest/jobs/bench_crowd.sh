# SPDX-License-Identifier: GPL-2.0
# For bench.sh: the time of setting and removing many probes and of turning them into jumps,
# and the interrupts and grace periods that this takes. Prints "name value" lines. Jumps
# are allowed.
opt=/proc/sys/debug/kprobes-optimization
list=/sys/kernel/debug/kprobes/list
ctl=/sys/kernel/debug/kprobe_crowd

value() { awk -v k="$1" '$1 == k { print $2 }' $ctl/result; }

# crowd NAME COMMAND N: runs the command; prints nanoseconds for each probe
crowd()
{
	echo "$2 $3" >$ctl/run || { echo "failed $2 $3"; return 1; }
	[ -z "$1" ] || awk -v name="$1" '
		{ value[$1] = $2 }
		END { if (value["done"]) printf "%s %.0f\n", name, value["ns"] / value["done"] }
		' $ctl/result
}

# Wait until no more of them become jumps, for a minute at most.
settle()
{
	last=-1 same=0
	[ -e $opt ] && [ "$(cat $opt)" = 1 ] || return
	for _ in $(seq 60); do
		jumps=$(grep -c OPTIMIZED $list)
		[ "$jumps" = $last ] && same=$((same + 1)) || same=0
		[ $same -lt 3 ] || break
		last=$jumps
		sleep 1
	done
}

# Function-call interrupts of all CPUs.
calls() { awk '$1 == "CAL:" { for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i; print n }' /proc/interrupts; }

# If setting, removing or optimizing probes hit them, this would measure an emulator's
# breakpoints.
insmod /modules/kprobe_crowd.ko sites=/quiet nr=10000 seconds="${EACH_SECONDS:-20}" || exit

[ ! -e $opt ] || echo 1 >$opt
crowd '' set 100 && crowd '' remove 0

# A sleeping CPU may be woken without an interrupt, so keep the CPUs busy. Other
# interrupts are the same for all kernels.
( while :; do :; done ) &
spinner=$!
taskset -p 2 $spinner >/dev/null
taskset -p 1 $$ >/dev/null
before=$(calls)
crowd '' set 1000
echo "grace_register $(($(value grace) + $(value expedited)))"
echo "calls_register $(($(calls) - before))"
before=$(calls)
settle
echo "calls_settle $(($(calls) - before))"
before=$(calls)
crowd '' remove 0
echo "grace_unregister $(($(value grace) + $(value expedited)))"
echo "calls_unregister $(($(calls) - before))"
crowd '' set_each 100
settle
before=$(calls)
crowd '' remove_each 0
echo "grace_unregister_single $(($(value grace) + $(value expedited)))"
echo "calls_unregister_single $(($(calls) - before))"
kill $spinner
taskset -p 3 $$ >/dev/null

for n in 100 1000 10000; do
	crowd wall_register_single_$n set_each $n
	settle
	crowd wall_unregister_single_$n remove_each 0
	if [ $n = 10000 ] && [ -e $opt ]; then
		# A kernel may take minutes to set them, so do it once.
		crowd '' settle $n || exit 1
		[ "$(value "done")" -gt 0 ] || { echo "failed settle $n: no jumps"; exit 1; }
		echo "jumps $(value "done")"
		echo "jumps_wall $(value ns)"
		echo "wall_register_batch_$n $(($(value set_ns) / n))"
	else
		crowd wall_register_batch_$n set $n
		settle
	fi
	crowd wall_unregister_batch_$n remove 0
done
