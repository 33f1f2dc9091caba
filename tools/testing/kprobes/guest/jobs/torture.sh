# SPDX-License-Identifier: GPL-2.0
# The guest's half of torture.sh: kprobe_torture.ko runs for SECONDS_TO_RUN beside KILLERS.
# With "leaks" in WATCH, nothing of what is allocated meanwhile may be lost, see watch.sh.
# shellcheck disable=SC1091
. /lib.sh
. /watch.sh
. /lib-torture.sh

! watches leaks || { leaks_scan && echo clear >$leaks; }
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
if watches leaks; then
	! leaks_scan || echo "left_leaks $(grep -c '^unreferenced object' $leaks)"
	sed 's/^/# /' $leaks | head -n 60
	! leaks_seen || echo 'leaks_seen 1'
fi
is "the list" "$(cat $kp/list 2>&1)" ""
done_testing
