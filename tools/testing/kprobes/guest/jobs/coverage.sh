# SPDX-License-Identifier: GPL-2.0
# The guest's half of coverage.sh. For each seed, sets probes on the addresses of
# /sites.SEED, runs a workload over them, and prints "name value" lines for
# that seed. kprobes/points tells why a point is not a jump, where the kernel has such a
# file.
debug=/sys/kernel/debug
opt=/proc/sys/debug/kprobes-optimization
failed=''

fail() { echo "failed $*"; failed=1; }

# Forks, executes, reads, writes and sleeps, and prints what fails. $1 names the file
# that this process writes.
workload()
{
	while [ ! -e /tmp/stop ]; do
		[ "$( (echo fork) )" = fork ] || echo fork
		[ "$(/bin/busybox echo exec | /bin/busybox cat)" = exec ] || echo exec
		cat /proc/self/stat /proc/self/maps /proc/meminfo /init >/dev/null || echo read
		echo "$1" >"/tmp/file.$1" && [ "$(cat "/tmp/file.$1")" = "$1" ] || echo write
		mkdir "/tmp/dir.$1" && mv "/tmp/file.$1" "/tmp/dir.$1/" &&
			rm -r "/tmp/dir.$1" || echo dir
		find /sys/kernel/mm /sys/module -type f 2>/dev/null | head -n 100 | xargs cat >/dev/null 2>&1
		usleep 1000
	done
}

[ ! -e $opt ] || echo 1 >$opt
for seed in $SEEDS; do
	rm -f /tmp/stop
	if ! insmod /modules/kprobe_coverage.ko sites="/sites.$seed" nr="$NR"; then
		fail "seed $seed: the probes are not set"
		continue
	fi
	workload 1 >/tmp/workload.1 &
	workload 2 >/tmp/workload.2 &
	sleep "${WORK_SECONDS:-10}"
	touch /tmp/stop
	wait
	echo "seed $seed"
	cat $debug/kprobe_coverage/result | tee /tmp/result
	awk '{ v[$1] = $2 } END { exit !v["calls"] || v["calls"] != v["counted"] }' /tmp/result ||
		fail "seed $seed: calls of a function and hits of its probe differ"
	if [ -e $debug/kprobes/points ]; then
		# Our points that are neither jumps nor ftrace sites; the reason
		# follows the last two blanks.
		grep ' breakpoint ' $debug/kprobe_coverage/points | cut -d' ' -f1 >/tmp/others
		grep -Ff /tmp/others $debug/kprobes/points >/tmp/reasons
		sed 's/.*  //' /tmp/reasons | sort | uniq -c | sort -rn |
			while read -r n words; do echo "reason $n $words"; done
		[ -z "$LIST" ] || sed 's/^/point /' /tmp/reasons
	fi
	errors=$(cat /tmp/workload.1 /tmp/workload.2)
	[ -z "$errors" ] || fail "seed $seed: the workload: $errors"
	dmesg -c >/dev/null
	rmmod kprobe_coverage || fail "seed $seed: the module does not unload"
	dmesg | sed -n 's/.* probes gone in \([0-9]*\) us/unregister_us \1/p'
	! dmesg | grep -q 'hits after unregistering' || fail "seed $seed: hits come late"
	left=$(dmesg | sed -n 's/.*kprobe_coverage: \([0-9]*\) of .* left something behind/\1/p')
	[ "$left" = 0 ] || fail "seed $seed: $left jumps were not removed completely"
	[ -z "$(cat $debug/kprobes/list 2>&1)" ] || fail "seed $seed: probes are left"
done
[ -z "$failed" ]
