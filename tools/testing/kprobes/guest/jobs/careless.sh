# SPDX-License-Identifier: GPL-2.0
# Another guest for survive.sh: kprobe_careless.ko makes the mistake WHAT, and the functions
# with its probes are called before and after that.
# shellcheck disable=SC1091,SC2154
. /lib.sh

# An oops kills a task, not this machine.
echo 0 >/proc/sys/kernel/panic_on_oops
calls=0
call_all()
{
	for function in add recurse; do
		call $function 3
		calls=$((calls + 3))
		echo "progress $calls"
	done
}

load kprobe_target
find_target
if [ "$WHAT" = fail ]; then
	refuses "No such device" insmod $modules/kprobe_careless.ko what=fail offset=$after
else
	load kprobe_careless "what=$WHAT" offset=$after
fi
call_all
# Its probes become jumps, where there are jumps.
sleep 2
call_all
! loaded kprobe_careless || unload kprobe_careless
# What was in its memory is not there any more.
load kprobe_stress
call_all
for value in 0 1; do echo $value >$optimization; done
sleep 2
cat $kp/list >/dev/null
call_all
unload kprobe_stress
unload kprobe_target
echo "calls $calls"
done_testing
