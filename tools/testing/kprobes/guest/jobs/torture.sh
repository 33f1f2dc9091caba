# SPDX-License-Identifier: GPL-2.0
# The guest's half of torture.sh: kprobe_torture.ko runs for SECONDS_TO_RUN beside KILLERS.
# shellcheck disable=SC1091
. /lib.sh
. /lib-torture.sh

load kprobe_torture
echo 1 >$torture/begin
echo 'kprobes-guest: nmi on'
torture_run "$SECONDS_TO_RUN"
echo 'kprobes-guest: nmi off'
echo 1 >$kp/enabled
echo 1 >$optimization
sleep 1
torture_result
unload kprobe_torture
is "the list" "$(cat $kp/list)" ""
done_testing
