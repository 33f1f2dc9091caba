# SPDX-License-Identifier: GPL-2.0
# The guest's half of icount.sh, one PART of it: runs kprobe_cost.ko in each of its modes
# and prints its lines (hits), or many probes, as many as MANY= or COLD= says.
opt=/proc/sys/debug/kprobes-optimization
ctl=/sys/kernel/debug/kprobe_crowd
failed='' hits=''

[ "$PART" != hits ] || hits=1
[ "${COUNT:-0}" = 0 ] || echo 1 >/sys/kernel/debug/kprobes/hits || failed=1

# measure REGEX PARAMETERS...: runs it and prints the lines that match
measure()
{
	regex=$1
	shift
	dmesg -c >/dev/null
	insmod /modules/kprobe_cost.ko "$@" || failed=1
	dmesg | sed -n 's/^\[[^]]*\] kprobe_cost: //p' | grep -E "$regex"
	rmmod kprobe_cost 2>/dev/null
}

# crowd NAME COMMAND N: prints the instructions for each probe, without the time of
# waiting and without deferred work of the command before
crowd()
{
	sleep 2
	echo "$2 $3" >$ctl/run || { failed=1; return; }
	[ -z "$1" ] || awk -v name="$1" '
		{ value[$1] = $2 }
		END {
			if (!value["done"]) exit 1
			printf "%s %.0f\n", name, value["busy_ns"] / value["done"]
		}' $ctl/result || failed=1
}

[ ! -e $opt ] || echo 0 >$opt
if [ -n "$hits" ]; then
	measure . mode=sites prefix=bp >/tmp/bp
	cat /tmp/bp
fi
if [ -n "$hits" ] && [ -e $opt ]; then
	echo 1 >$opt
	measure jump_ mode=sites prefix=jump settle=1000 >/tmp/jump
	cat /tmp/jump
	# A point that is still a breakpoint after that time costs what a breakpoint does.
	awk '{ v[$1] = $2 } END { exit !(v["jump_pre"] && v["jump_pre"] < v["bp_pre"]) }' /tmp/bp /tmp/jump ||
		failed=1
	echo 0 >$opt
fi

most=100
for n in $MANY; do
	[ "$n" -le $most ] || most=$n
done
insmod /modules/kprobe_crowd.ko sites=/quiet nr=$((most + 100)) || failed=1
# Whichever probes come first allocate caches.
crowd "${hits:+register_single}" set_each 100
crowd "${hits:+unregister_single}" remove_each 0
for n in $MANY; do
	crowd register_batch_$n set $n
	crowd register_single_$n set_each $((n + 100))
	crowd unregister_single_$n remove_each $n
	crowd unregister_batch_$n remove 0
done
rmmod kprobe_crowd

# The work of making points jumps, and the number of jumps. Nothing hits them afterwards.
if [ -n "$MANY" ] && [ -e $opt ]; then
	echo 1 >$opt
	insmod /modules/kprobe_crowd.ko sites=/quiet nr=$most seconds=120 || failed=1
	for n in $MANY; do
		crowd settle_$n settle $n
		awk -v n="$n" '$1 == "done" { print "settled_" n, $2 }' $ctl/result
		echo "remove 0" >$ctl/run || failed=1
	done
	rmmod kprobe_crowd
	echo 0 >$opt
fi

# The number of probes that can be set within a minute of guest time. They are not removed.
most=0
for n in $COLD; do
	[ "$n" -le $most ] || most=$n
done
[ $most = 0 ] || insmod /modules/kprobe_crowd.ko sites=/cold nr="$(wc -l </cold)" || failed=1
have=0 each=0
for n in $COLD; do
	# Do not start what cannot finish in time.
	[ $(((n - have) * each / 1000000000)) -lt 60 ] ||
		{ echo "$n cannot be set in time"; break; }
	crowd '' grow $n
	each=$(awk '{ value[$1] = $2 } END { printf "%.0f\n", value["done"] ? value["ns"] / value["done"] : 0 }' $ctl/result)
	have=$((have + $(awk '$1 == "done" { print $2 }' $ctl/result)))
	[ $have = $n ] || { echo "only $have of $n can be set in time"; break; }
	# Not into a pipe: the failures of a subshell would be lost.
	measure bp_pre mode=hit prefix=bp >/tmp/hit
	sed "s/^bp_pre/bp_pre_among_$n/" /tmp/hit
	[ -s /tmp/hit ] || failed=1
done
[ -z "$failed" ]
