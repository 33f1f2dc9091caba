# SPDX-License-Identifier: GPL-2.0
# The guest's half of oops.sh: lets handlers crash as CASES says, by HOW:TARGET:STATE:WHAT,
# see kprobe_oops.c. The results are on the console.
# shellcheck disable=SC1091
. /lib.sh

# An oops kills a task, not this machine.
echo 0 >/proc/sys/kernel/panic_on_oops
dmesg -n 8
load kprobe_oops
for case in $CASES; do
	IFS=:
	# shellcheck disable=SC2086
	set -- $case
	unset IFS
	case $3 in
	jump) echo 1 >$optimization ;;
	*) echo 0 >$optimization ;;
	esac
	echo "$1 $2 $3 $4" >/sys/kernel/debug/kprobe_oops/run || fail "$case: did not run"
done
unload kprobe_oops
is "the list" "$(cat $kp/list)" ""
done_testing
