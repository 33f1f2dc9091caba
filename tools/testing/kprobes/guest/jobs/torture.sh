# SPDX-License-Identifier: GPL-2.0
# The guest's half of torture.sh: kprobe_torture.ko runs for SECONDS beside KILLERS.
# Prints its result, "killer NAME ROUNDS" for each of them, and "failed" lines.
# shellcheck disable=SC1091
. /lib.sh

torture=/sys/kernel/debug/kprobe_torture
example() { messages kprobe_example | tail -n 1; }

# a_while MILLISECONDS: up to so many
random=4711
a_while()
{
	random=$((random * 16807 % 2147483647))
	usleep $((random % $1 * 1000))
}

# Each killer does one round, and prints what goes wrong.
hotplug()
{
	for cpu in /sys/devices/system/cpu/cpu[1-9]*; do
		echo 0 >"$cpu/online" || echo "$cpu does not go"
		a_while 200
		echo 1 >"$cpu/online" || echo "$cpu does not come"
		a_while 200
	done
}

jumps()
{
	echo 0 >$optimization || echo "cannot write 0"
	a_while 300
	echo 1 >$optimization || echo "cannot write 1"
	a_while 2000
}

enabled()
{
	echo 0 >$kp/enabled || echo "cannot write 0"
	a_while 300
	echo 1 >$kp/enabled || echo "cannot write 1"
	# Sometimes long enough for jumps.
	a_while 8000
}

tracers()
{
	echo 'torture_*' >$tracing/set_ftrace_filter || echo "no filter"
	for tracer in function function_graph nop; do
		echo $tracer >$tracing/current_tracer || echo "no tracer $tracer"
		a_while 400
	done
	echo >$tracing/set_ftrace_filter
	echo >$tracing/trace
}

# A module goes under its probes.
module()
{
	insmod /modules/kprobe_target.ko || echo "kprobe_target does not load"
	insmod /modules/kprobe_example.ko symbol=kprobe_target_add limit=0 || echo "kprobe_example does not load"
	insmod /modules/kretprobe_example.ko func=kprobe_target_recurse limit=0 || echo "kretprobe_example does not load"
	call add 50
	call recurse 3
	a_while 200
	rmmod kprobe_target || echo "kprobe_target does not unload"
	a_while 50
	rmmod kprobe_example || echo "kprobe_example does not unload"
	rmmod kretprobe_example || echo "kretprobe_example does not unload"
	case $MODE in
	exact) [ "$(example)" = 'kprobe_example: probe removed: 50 hits, 0 missed' ] || example ;;
	esac
}

# Events on the same functions, and on others.
events()
{
	for def in 'p:killer/entry torture_traced' 'r:killer/ret torture_traced' 'p:killer/read vfs_read' \
		'r8:killer/open do_sys_openat2'; do
		echo "$def" >>$tracing/kprobe_events || echo "no event $def"
	done
	echo 1 >$tracing/events/killer/enable || echo "cannot enable"
	cat /proc/self/stat >/dev/null
	a_while 200
	echo 0 >$tracing/events/killer/enable || echo "cannot disable"
	for event in entry ret read open; do
		echo "-:killer/$event" >>$tracing/kprobe_events || echo "$event does not go"
	done
	echo >$tracing/trace
}

memory()
{
	dd if=/dev/zero of=/tmp/fill bs=1M count=64 2>/dev/null || echo "cannot fill"
	echo 3 >/proc/sys/vm/drop_caches
	echo 1 >/proc/sys/vm/compact_memory
	rm /tmp/fill
	a_while 500
}

kill_with()
{
	rounds=0
	while [ ! -e /tmp/stop ]; do
		$1
		rounds=$((rounds + 1))
		echo $rounds >"/tmp/rounds.$1"
	done >"/tmp/killer.$1" 2>&1
}

load kprobe_torture
echo 1 >$torture/begin
rm -f /tmp/stop
for killer in $KILLERS; do
	echo 0 >"/tmp/rounds.$killer"
	kill_with "$killer" &
done
echo "$SECONDS_TO_RUN" >$torture/run || fail "the run failed"
touch /tmp/stop
wait
echo 1 >$kp/enabled
echo 1 >$optimization
sleep 1
for killer in $KILLERS; do
	echo "killer $killer $(cat "/tmp/rounds.$killer")"
	[ ! -s "/tmp/killer.$killer" ] || echo "failed $killer: $(head -n 3 "/tmp/killer.$killer" | paste -sd';')"
done
cat $torture/result || fail "no result"
dmesg | sed -n 's/^\[[^]]*\] \(kprobe_torture: \)/# \1/p' | grep -v taints | head -n 10
unload kprobe_torture
is "the list" "$(cat $kp/list)" ""
done_testing
