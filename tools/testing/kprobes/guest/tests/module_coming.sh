# SPDX-License-Identifier: GPL-2.0
# proves: an event on a module that is being loaded waits for it, like one on a module that is not there
. "${0%/*}/../lib.sh"

gate=/sys/module/kprobe_gate/parameters

load kprobe_gate module=kprobe_target
insmod $modules/kprobe_target.ko &
for _ in $(seq $((10 * patience))); do
	[ "$(cat $gate/waiting)" = N ] || break
	usleep 100000
done
is "waiting" "$(cat $gate/waiting)" Y
# Its functions are known, and the blacklist does not cover them.
is "symbols" "$(grep -c ' kprobe_target_hidden.*\[kprobe_target\]$' /proc/kallsyms)" 1
event "p:kt/add kprobe_target:kprobe_target_add"
event "p:kt/hidden kprobe_target:kprobe_target_hidden"
is "probes set by then" "$(cat $kp/list 2>&1)" ""
echo 1 >$gate/open
wait $! || fail "kprobe_target does not load"
is "probes set by the notifier" "$(awk '{ sub(/[+].*/, "", $3); print $3 }' $kp/list)" kprobe_target_add
event_on kt/add
call add 3
is "hits" "$(traced add)" 3
event_off kt/add
unload kprobe_target
unload kprobe_gate
done_testing
