# SPDX-License-Identifier: GPL-2.0
# proves: while one CPU is online, no probe can be set on a lock prefix, which a second CPU brings back; once it has, that can be probed
# needs: guest
# needs: cmdline maxcpus=1
# own guest: a CPU comes, which changes the text for good
. "${0%/*}/../lib.sh"

control=/sys/kernel/debug/dynamic_debug/control
fn=fput
is "CPUs at first" "$(cat /sys/devices/system/cpu/online)" 0
[ -e $control ] || fail "no dynamic debug in this kernel"
echo 'func kprobe_refuse* +p' >$control

# refused: the offsets at which a prefix is in the way, from all offsets in the function
refused()
{
	dmesg -c >/dev/null
	off=0
	while [ $off -lt 256 ]; do
		# shellcheck disable=SC2015
		echo "p:lock/at $fn+$off" 2>/dev/null >>$tracing/kprobe_events && event '-:lock/at' || true
		off=$((off + 1))
	done
	messages kprobes | sed -n "s/^kprobes: $fn+\(0x[0-9a-f]*\)\/.*: other code patches it: a lock prefix\$/\1/p" |
		sort -u
}
places=$(refused)
at_least "prefixes that cannot be probed" "$(echo "$places" | grep -c .)" 1
echo 1 >/sys/devices/system/cpu/cpu1/online
is "CPUs then" "$(cat /sys/devices/system/cpu/online)" 0-1
is "prefixes that cannot be probed with two CPUs" "$(refused)" ""
for at in $places; do
	event "p:lock/at $fn+$at"
	event_on lock/at
	head -n 1 /proc/version >/dev/null
	event_off lock/at
	event '-:lock/at'
done
done_testing
