# SPDX-License-Identifier: GPL-2.0
# Sourced after lib.sh by the guest's halves of torture.sh and soak.sh.
# shellcheck shell=dash disable=SC2154

torture=/sys/kernel/debug/kprobe_torture
example() { messages kprobe_example | tail -n 1; }

# a_while MILLISECONDS: sleep for up to this long
random=4711 killer_pids=''
a_while()
{
	random=$((random * 16807 % 2147483647))
	usleep $((random % $1 * 1000))
}

# put WHAT FILE
put() { echo "$1" >"$2" || echo "cannot write $1"; }

# in_time WHAT COMMAND...: wait until it succeeds
in_time()
{
	what=$1 tries=1200
	shift
	until "$@" 2>/dev/null; do
		[ $((tries -= 1)) -gt 0 ] || { echo "$what"; return; }
		usleep 100000
	done
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
	put 0 $optimization
	a_while 300
	put 1 $optimization
	a_while 2000
}

enabled()
{
	put 0 $kp/enabled
	a_while 300
	put 1 $kp/enabled
	# Sometimes long enough for jumps.
	a_while 8000
}

tracers()
{
	own tracer
	echo 'torture_*' >$tracing/set_ftrace_filter || echo "no filter"
	for tracer in function function_graph nop; do
		echo $tracer >$tracing/current_tracer || echo "no tracer $tracer"
		a_while 400
	done
	echo >$tracing/set_ftrace_filter
	echo >$tracing/trace
	give_back tracer
}

# Unloads a module under its probes.
module()
{
	own target
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
	give_back target
}

# Events on the same functions, and on others.
events()
{
	own target
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
	give_back target
	! alone || echo >$tracing/trace
}

# Between CPUs, and from the emulator if it was asked for them, see guest.sh.
nmi()
{
	put 1 $torture/nmi
	a_while 4000
	put 0 $torture/nmi
	a_while 200
}

# keys: the static key of a target
keys()
{
	put 1 $torture/key
	a_while 1000
	put 0 $torture/key
	a_while 1000
}

# livepatches: a live patch of a target. A transition ends when each task has been seen outside
# of that function.
livepatches()
{
	patch=/sys/kernel/livepatch/kprobe_livepatch
	insmod /modules/kprobe_livepatch.ko || echo "kprobe_livepatch does not load"
	in_time "the live patch is not complete" grep -qx 0 $patch/transition
	a_while 1000
	put 0 $patch/enabled
	in_time "the live patch does not go" [ ! -e $patch ]
	in_time "kprobe_livepatch does not unload" rmmod kprobe_livepatch
	a_while 2000
}

# A CPU does nothing else for a moment: it runs no work items; nor lets RCU go on; nor takes
# interrupts, for which text patching waits. The limit is for when CPU 0, which hotplug
# leaves alone, is the only one: rmmod cannot run meanwhile.
stalls()
{
	for more in '' rcu=1 irqs=1; do
		# shellcheck disable=SC2086
		insmod /modules/kprobe_busy.ko cpu=0 ms=500 $more || echo "no stall $more"
		a_while 500
		rmmod kprobe_busy || echo "the stall does not end"
		# Jumps have to come back meanwhile.
		a_while 4000
	done
}

# Takes most of the memory, so that the rest is in small pieces and has to be moved about. It
# leaves enough that no task is killed for it. /tmp may have half of the memory only. Jumps wait
# for all tasks, so none takes, or gives back, much at once.
memory()
{
	mkdir -p /fill
	mount -t tmpfs -o size=100% fill /fill || echo "no place for memory"
	files=$(awk '/^MemAvailable:/ { print int($2 * 0.7 / 1024 / 32) }' /proc/meminfo)
	for file in $(seq "$files"); do
		fallocate -l 32M "/fill/$file" || echo "cannot take $file of $files"
	done
	awk '/^MemTotal:/ { all = $2 } /^Shmem:/ { print int($2 * 100 / all) }' /proc/meminfo >>/tmp/taken
	echo 3 >/proc/sys/vm/drop_caches
	echo 1 >/proc/sys/vm/compact_memory
	a_while 500
	for file in $(seq "$files"); do
		rm "/fill/$file"
	done
	umount /fill || echo "memory does not come back"
	a_while 4000
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

# torture_run SECONDS: kprobe_torture.ko runs beside KILLERS
torture_run()
{
	rm -f /tmp/stop
	# Each CPU gets its readers and writers before a CPU goes offline.
	echo "$1" >$torture/run &
	run=$!
	sleep 1
	for killer in $KILLERS; do
		echo 0 >"/tmp/rounds.$killer"
		kill_with "$killer" &
		killer_pids="$killer_pids $!"
	done
	wait $run || fail "the run failed"
	touch /tmp/stop
	# shellcheck disable=SC2086
	wait $killer_pids
}

# Prints the result, "killer NAME ROUNDS" for each of them, how much of the memory was taken,
# and "failed" lines.
torture_result()
{
	for killer in $KILLERS; do
		echo "killer $killer $(cat "/tmp/rounds.$killer")"
		[ ! -s "/tmp/killer.$killer" ] || echo "failed $killer: $(head -n 3 "/tmp/killer.$killer" | paste -sd';')"
	done
	case " $KILLERS " in
	*" memory "*) echo "memory_taken $(sort -n /tmp/taken | head -n 1)" ;;
	esac
	echo "memory_deaths $(dmesg | grep -ci 'out of memory\|oom-kill')"
	# Writing to "enabled" succeeds all the same. For lack of memory they may stay off.
	echo "unarmed $(dmesg | grep 'kprobes: points that cannot be armed' | grep -vc ': -12$')"
	cat $torture/result || fail "no result"
	dmesg | sed -n 's/^\[[^]]*\] \(kprobe_torture: \)/# \1/p' | grep -vE 'taints|tainting' | head -n 10
}
