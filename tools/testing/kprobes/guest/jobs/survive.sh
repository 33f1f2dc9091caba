# SPDX-License-Identifier: GPL-2.0
# The guest's half of survive.sh: kprobe_abuse.ko makes CALLS calls of the kinds CALLS_OF at
# targets of the kinds KINDS; an empty list means all. Prints a line while it makes
# progress: a slow machine is not a hang.
# shellcheck disable=SC1091
. /lib.sh

abuse=/sys/kernel/debug/kprobe_abuse
# An oops kills a task, not this machine.
echo 0 >/proc/sys/kernel/panic_on_oops
load kprobe_abuse others=1 "calls=$CALLS_OF" "${KINDS:+kinds=$KINDS}"
rm -f $tmp/stop
(
	was=''
	while [ ! -e $tmp/stop ]; do
		now=$(cat $abuse/calls)
		[ "$now" = "$was" ] || echo "progress $now"
		was=$now
		sleep 1
	done
) &
echo "$CALLS 1" >$abuse/run || fail "the run failed"
grep -v '^kind ' $abuse/result || fail "no result"
touch $tmp/stop
wait
unload kprobe_abuse
done_testing
