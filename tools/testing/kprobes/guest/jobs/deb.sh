# SPDX-License-Identifier: GPL-2.0
# For deb.sh check, as a service of Debian's systemd on the packaged kernel: is the
# system up, which units have failed, and do the samples work?
# shellcheck shell=dash disable=SC2086,SC2317
failed=''
tracing=/sys/kernel/tracing

check() { echo "$1 - $2"; [ "$1" = ok ] || failed=1; }
finish()
{
	echo "kprobes-guest: exit ${failed:-0}"
	sync
	sleep 1
	systemctl poweroff --no-block
	exit
}

stty -F /dev/ttyS1 raw 2>/dev/null
echo "kprobes-guest: up with $(grep -c '^cpu[0-9]' /proc/stat) CPUs" >/dev/console
echo "$(uname -sr), $(systemctl --version | head -n 1)"

state=$(systemctl is-system-running --wait)
echo "systemctl is-system-running: $state"
case $state in
running) check ok 'systemd is content' ;;
degraded)
	systemctl --failed --no-legend --plain
	check 'not ok' 'systemd: units have failed'
	;;
*)
	systemctl list-jobs
	check 'not ok' "systemd is $state"
	;;
esac
systemd-analyze 2>/dev/null | head -n 1

release=$(uname -r)
# is WHAT COMMAND...: the command succeeds
is()
{
	what=$1
	shift
	if "$@"; then check ok "$what"; else check 'not ok' "$what"; fi
}
says() { dmesg | grep "$1: " | sed 's/^\[[^]]*\] //'; }
said() { says "$1" | grep -q "$2"; }
packaged() { [ "$(dpkg-query -W -f '${Status}' "linux-image-$release")" = 'install ok installed' ]; }
# The samples probe functions that new processes run.
sample() { modprobe "$1" limit=3 && (:) && sleep 1; says "$1" | head -n 4; said "$1" "$2"; }
event()
{
	echo 'p:check/open do_sys_openat2' >$tracing/kprobe_events || return
	echo 1 >$tracing/events/check/open/enable
	cat /proc/version
	grep -q 'open: (do_sys_openat2' $tracing/trace || return
	echo 0 >$tracing/events/check/open/enable
	echo >$tracing/kprobe_events
}
nothing_left() { [ -z "$(cat /sys/kernel/debug/kprobes/list 2>&1)" ]; }

is "this kernel is that of the package linux-image-$release" packaged
is 'kprobe_example sees hits' sample kprobe_example ' before '
is 'kretprobe_example sees returns' sample kretprobe_example ' returned '
cat /sys/kernel/debug/kprobes/list
is 'the samples can be unloaded' rmmod kprobe_example kretprobe_example
is 'a kprobe event is traced' event
is 'no probe is left' nothing_left
finish
