# SPDX-License-Identifier: GPL-2.0
# proves: at each level of lockdown, events and control files do what the manual says, and a module's probe keeps working
# needs: config CONFIG_SECURITY_LOCKDOWN_LSM
# needs: what bpf_insns.c makes
# own guest: a level stays until the machine is switched off
. "${0%/*}/../lib.sh"

lockdown=/sys/kernel/security/lockdown
not='Operation not permitted'

raise()
{
	echo "$1" >$lockdown || fail "$1: refused"
	is "the level" "$(sed 's/.*\[\(.*\)\].*/\1/' $lockdown)" "$1"
}

# hits FUNCTION: the fourth column of points
hits() { awk -v f="  $1+" 'index($0, f) { print $4 }' $kp/points; }

# goes_on LEVEL: the module's probe is hit, and the files that change nothing can be read
goes_on()
{
	before=$(hits vfs_read)
	# cat would send it without reading.
	for _ in 1 2 3 4 5; do head -n 1 /proc/version >/dev/null; done
	at_least "$1: hits" "$(hits vfs_read)" $((before + 5))
	for file in list points blacklist; do
		matches "$1: $file" "$(head -n 1 $kp/$file)" '(0x)?[0-9a-f]{8,16}.*'
	done
}

# events LEVEL: they can be made, and are hit
events()
{
	event 'p:lock/write vfs_write'
	event_on lock/write
	echo >$tracing/trace
	echo >/dev/null
	event_off lock/write
	at_least "$1: events" "$(traced write)" 1
	event '-:lock/write'
}

# no_switches LEVEL: the files that change something cannot be opened, even for reading
no_switches()
{
	for file in enabled hits; do
		refuses "$not" "echo 1 >$kp/$file"
		refuses "$not" "cat $kp/$file"
	done
	# A sysctl is not a file in debugfs: it is not restricted, and need not be.
	echo 0 >$optimization || fail "$1: the sysctl"
	is "$1: the sysctl" "$(cat $optimization)" 0
	echo 1 >$optimization || fail "$1: the sysctl"
}

# links LEVEL ANSWER: the first word of the answer when a BPF link probes an instruction
links()
{
	case $(uname -m) in
	i?86)
		echo "# $1: no link of BPF, which needs 64 bits"
		return
		;;
	esac
	awk '$3 == "vfs_write" { print $1 }' /proc/kallsyms >$tmp/address
	is "$1: a link of BPF" "$(/bpf_insns 2 true <$tmp/address | sed -n '1s/ [0-9.]*$//;1p')" "$2"
}

mount -t securityfs securityfs /sys/kernel/security || fail "no securityfs"
matches "the level at first" "$(cat $lockdown)" '\[none\] .*'
load kprobe_example symbol=vfs_read limit=0
echo 1 >$kp/hits
goes_on none
events none
links none "attached 1"

raise integrity
goes_on integrity
no_switches integrity
events integrity
links integrity "attached 1"

raise confidentiality
goes_on confidentiality
no_switches confidentiality
refuses "$not" "echo 'p:lock/write vfs_write' >>$tracing/kprobe_events"
refuses "$not" "cat $tracing/kprobe_events"
links confidentiality "refused EPERM"

# Probes can be removed at any level.
unload kprobe_example
is "the list" "$(cat $kp/list 2>&1)" ""
done_testing
