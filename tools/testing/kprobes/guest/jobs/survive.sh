# SPDX-License-Identifier: GPL-2.0
# The guest's half of survive.sh: kprobe_abuse.ko makes CALLS calls of the kinds CALLS_OF at
# targets of the kinds KINDS, or of all if that is empty.
# shellcheck disable=SC1091
. /lib.sh

abuse=/sys/kernel/debug/kprobe_abuse
# An oops ends a task, not this machine.
echo 0 >/proc/sys/kernel/panic_on_oops
load kprobe_abuse others=1 "calls=$CALLS_OF" "${KINDS:+kinds=$KINDS}"
echo "$CALLS 1" >$abuse/run || fail "the run failed"
grep -v '^kind ' $abuse/result || fail "no result"
unload kprobe_abuse
done_testing
