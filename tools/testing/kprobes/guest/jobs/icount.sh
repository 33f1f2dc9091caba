# SPDX-License-Identifier: GPL-2.0
# The guest's half of icount.sh: run kprobe_cost.ko in each of its modes and
# print its lines. MANY=0 leaves out the mode that takes a minute.
opt=/proc/sys/debug/kprobes-optimization

# measure REGEX PARAMETERS...: run it, show its lines that match
measure()
{
	regex=$1
	shift
	dmesg -c >/dev/null
	insmod /modules/kprobe_cost.ko "$@" || failed=1
	dmesg | sed -n 's/^\[[^]]*\] kprobe_cost: //p' | grep -E "$regex"
	rmmod kprobe_cost 2>/dev/null
}

failed=''
[ ! -e $opt ] || echo 0 >$opt
measure . mode=sites prefix=bp
measure gister mode=single
if [ -e $opt ]; then
	echo 1 >$opt
	measure jump_ mode=sites prefix=jump settle=1000
	echo 0 >$opt
fi
[ "${MANY:-10000}" = 0 ] ||
	measure 'many|gister|probes' mode=many prefix=bp nr="${MANY:-10000}"
[ -z "$failed" ]
