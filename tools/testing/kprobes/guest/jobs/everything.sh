# SPDX-License-Identifier: GPL-2.0
# The guest's half of everything.sh: for each of WINDOWS, sets probes on all addresses of
# /windows/N, as breakpoints and then as jumps, while a workload runs. Prints a line on the
# console before a window is armed and when it is done; and from "window N" to
# "end N", "name value" lines, refused addresses, and "failed" lines.
# The functions of the workload are called by name.
# shellcheck disable=SC2317
debug=/sys/kernel/debug
opt=/proc/sys/debug/kprobes-optimization
coverage=$debug/kprobe_coverage
cpu1=/sys/devices/system/cpu/cpu1/online

fail() { echo "failed window $window: $*"; }
value() { awk -v k="$1" '$1 == k { print $2 }' /tmp/result; }
counted()
{
	cat $coverage/result >/tmp/result
	awk '{ v[$1] = $2 } END { exit !v["calls"] || v["calls"] != v["counted"] }' /tmp/result ||
		fail "calls of a function and hits of its probe differ ($1)"
}

# Each of these prints errors, and counts its rounds in a file.
round() { echo >>/tmp/rounds."$1"; }

# Forks, executes, reads, writes, and checks the results.
files()
{
	while [ ! -e /tmp/stop ]; do
		[ "$( (echo fork) )" = fork ] || echo fork
		[ "$(/bin/busybox echo exec | /bin/busybox cat)" = exec ] || echo exec
		cat /proc/self/stat /proc/self/maps /proc/meminfo /proc/interrupts >/dev/null || echo read
		echo data >/tmp/file && [ "$(cat /tmp/file)" = data ] || echo write
		[ "$(md5sum </bin/busybox)" = "$sum" ] || echo sum
		mkdir /tmp/dir && mv /tmp/file /tmp/dir/ && rm -r /tmp/dir || echo dir
		find /sys/kernel/mm /sys/module -type f 2>/dev/null | head -n 50 | xargs cat >/dev/null 2>&1
		usleep 1000
		round files
	done
}

# CPUs and modules come and go.
machine()
{
	while [ ! -e /tmp/stop ]; do
		if [ -e $cpu1 ]; then
			echo 0 >$cpu1 || echo "CPU 1 does not go"
			echo 1 >$cpu1 || echo "CPU 1 does not come"
		fi
		insmod /modules/trace-printk.ko && rmmod trace-printk || echo module
		usleep 300000
		round machine
	done
}

# A few at a time, so that they make progress. Status 4 means: not in this kernel.
stress()
{
	while [ ! -e /tmp/stop ]; do
		# That one is in every kernel.
		worked=''
		stress-ng --timeout 1s --quiet --fork 1 >/tmp/stress.log 2>&1 && worked=1 ||
			echo "stress-ng fork: ended with $?"
		for some in \
			'access brk chmod clock close context dentry dup epoll eventfd' \
			'exec fault fcntl fork fstat futex get getdent inotify link' \
			'madvise mmap mq mremap msg nanosleep null open pipe poll' \
			'prctl procfs rename sem-sysv shm-sysv sigfd sigq sigsegv sock splice' \
			'switch sysfs sysinfo timer timerfd udp utime vm wait yield zero'; do
			args=''
			for what in $some; do args="$args --$what 1"; done
			stress-ng --timeout 2s --verify --temp-path /tmp --quiet --mmap-bytes 8M \
				--mremap-bytes 4M --shm-sysv-bytes 4M --vm-bytes 8M $args >/tmp/stress.log 2>&1
			status=$?
			case $status in
			0|3|4) ;;
			*)
				echo "stress-ng $some: ended with $status"
				grep -iE 'fail|error' /tmp/stress.log | head -n 3
				;;
			esac
			[ ! -e /tmp/stop ] || break
		done
		[ -z "$worked" ] || round stress
	done
}

# System calls with random arguments, which take the paths of errors, by a user with no rights.
# Without a protocol to choose, trinity crashes where there are only a few.
calls()
{
	mkdir -m 777 /tmp/calls
	while [ ! -e /tmp/stop ]; do
		(
			cd /tmp/calls || exit
			# With all of /proc, /sys and /dev, its start takes longer than its calls.
			timeout -s KILL 120 start-stop-daemon -S -c nobody:65534 -x /bin/trinity -- \
				-q -l off -C 2 -N 300 -P INET -V /proc/sys/kernel >/tmp/calls.log 2>&1
			# If this subshell were the command, "Killed" would be a failure.
			true
		) 2>/dev/null
		! grep -q 'Ran [0-9]* syscalls' /tmp/calls.log || round calls
	done
	rm -rf /tmp/calls
}

# The functions of probed modules: the modules' own checks have to hold. kprobe_toggle's run
# is left out: with each of its instructions probed, its timer would never finish.
modules()
{
	while [ ! -e /tmp/stop ]; do
		for fn in add recurse hidden; do
			echo "$fn 200" >$debug/kprobe_target/call || echo "$fn"
		done
		echo "20 40" >$debug/kprobe_returns/sleepers || echo "sleepers"
		awk '{ v[$1] = $2 } END { if (!v["calls"] || v["wrong"] || v["returns"] + v["missed_first"] + v["missed_later"] != v["calls"]) print "returns" }' \
			$debug/kprobe_returns/result
		round modules
	done
}

# Loads the modules, and adds their addresses to the list.
load_modules()
{
	for module in kprobe_target kprobe_toggle kprobe_returns kprobe_stress; do
		insmod /modules/$module.ko || fail "$module does not load"
	done
	insmod /modules/kretprobe_example.ko func=kernel_clone limit=0 || fail "kretprobe_example does not load"
	# everything.sh knows which kernels must have it.
	[ ! -e /modules/kprobe_batch.ko ] ||
		insmod /modules/kprobe_batch.ko symbols=vfs_read,do_sys_openat2 || fail "kprobe_batch does not load"
	while read -r module; do
		echo "@$(sed 's/^0x//' "/sys/module/$module/sections/.text")"
		cat "/windows/$1.d/$module"
	done <"/windows/$1.d/modules" >"/windows/$1"
	while read -r module; do
		echo "module $module $(sed 's/^0x//' "/sys/module/$module/sections/.text")"
	done <"/windows/$1.d/modules"
}

# The time since the start, in seconds.
phase() { echo "took_$1 $(($(cut -d. -f1 /proc/uptime) - began))"; began=$(cut -d. -f1 /proc/uptime); }

# work NAME...: starts these functions
work()
{
	rm -f /tmp/stop /tmp/work.* /tmp/rounds.*
	works=$*
	for name; do
		$name >"/tmp/work.$name" 2>&1 &
	done
}

work_ends()
{
	: >/tmp/stop
	for name in $works; do wait; done
	for name in $works; do
		[ -s "/tmp/rounds.$name" ] || fail "the workload $name did nothing"
		[ ! -s "/tmp/work.$name" ] || fail "the workload: $name: $(head -n 3 "/tmp/work.$name" | paste -sd';')"
	done
}

# Waits until no more of them become jumps, for five minutes at most: a busy machine takes long.
settle()
{
	last=0 same=0
	for _ in $(seq 300); do
		sleep 1
		jumps=$(awk '$1 == "jumps" { print $2 }' $coverage/result)
		[ "$jumps" -gt 0 ] && [ "$jumps" = "$last" ] && same=$((same + 1)) || same=0
		[ $same -lt 2 ] || return
		last=$jumps
	done
	fail "after five minutes: $jumps jumps"
}

run_window()
{
	began=$(cut -d. -f1 /proc/uptime)
	[ ! -d "/windows/$window.d" ] || load_modules "$window"
	echo 0 >$opt
	if ! insmod /modules/kprobe_coverage.ko sites="/windows/$window" quiet=0 post=3 \
			nr="$(wc -l <"/windows/$window")"; then
		fail "the probes are not set"
		return
	fi
	phase setting
	if [ -d "/windows/$window.d" ]; then
		work files modules
	else
		work files machine stress calls
	fi
	sleep "$WORK_SECONDS"
	counted breakpoints
	sed -n '/^\(offered\|accepted\|refused\|ftrace\) /p; s/^hit /hit_breakpoints /p' /tmp/result
	[ "$(value jumps)" = 0 ] || fail "there are jumps, and none is allowed"
	phase breakpoints
	echo >$coverage/result
	echo 1 >$opt
	[ "$(value accepted)" -eq "$(value ftrace)" ] || settle
	phase settling
	sleep "$WORK_SECONDS"
	counted jumps
	sed -n '/^\(jumps\|hit_jumps\) /p' /tmp/result
	awk 'NR == FNR { why[$1] = $0; next } $2 == "breakpoint" && $1 in why {
			sub(/.*  /, "", why[$1]); sub(/:.*/, "", why[$1]); n[why[$1]]++
		}
		END { for (w in n) print "no_jump " n[w] " " w }' \
		$debug/kprobes/points $coverage/points
	phase jumps
	# Turn all jumps back at once under load, as users would.
	echo 0 >$opt
	counted 'breakpoints again'
	[ "$(value jumps)" = 0 ] || fail "there are still jumps"
	echo 1 >$opt
	usleep 500000
	work_ends
	phase back
	# With what the modules have brought.
	sort $debug/kprobes/blacklist >/tmp/blacklist
	[ -s /tmp/blacklist ] || fail "there is no blacklist"
	sort $coverage/refused >/tmp/refused
	awk 'NR == FNR { gsub(/0x/, ""); split($1, r, "-"); from[++n] = r[1] "x"; to[n] = r[2] "x"; next }
		FNR == 1 { i = 1 }
		{
			while (i < n && to[i] <= $1 "x") i++
			print "refused_at " $1 " " $2 " " ($1 "x" >= from[i] && $1 "x" < to[i] ? "blacklist" : "-")
		}' /tmp/blacklist /tmp/refused
	dmesg -c >/dev/null
	# The modules have probes of their own. When the text was recorded, these were no jumps.
	[ ! -d "/windows/$window.d" ] || echo 0 >$opt
	rmmod kprobe_coverage || fail "the probes cannot be removed"
	! dmesg | grep -q 'hits after unregistering' || fail "hits come late"
	left=$(dmesg | sed -n 's/.*kprobe_coverage: \([0-9]*\) of .* left something behind/\1/p')
	[ "$left" = 0 ] || fail "the text of $left points is not what it was"
	for module in kprobe_batch kretprobe_example kprobe_stress kprobe_returns kprobe_toggle kprobe_target; do
		[ ! -d /sys/module/$module ] || rmmod $module || fail "$module does not unload"
	done
	[ -z "$(cat $debug/kprobes/list 2>&1)" ] || fail "probes are left"
	phase removing
}

export TMPDIR=/tmp
sum=$(md5sum </bin/busybox)
# For calls().
echo 'nobody:x:65534:65534::/tmp:/bin/sh' >>/etc/passwd
for window in $WINDOWS; do
	echo "window $window"
	bounds="$(head -n 1 "/windows/$window" 2>/dev/null) to $(tail -n 1 "/windows/$window" 2>/dev/null)"
	[ ! -d "/windows/$window.d" ] || bounds=$(paste -sd' ' "/windows/$window.d/modules")
	echo "<5>kprobes-everything: window $window begins: $bounds" >/dev/kmsg
	run_window
	echo "<5>kprobes-everything: window $window ends" >/dev/kmsg
	echo "end $window"
done
exit 0
