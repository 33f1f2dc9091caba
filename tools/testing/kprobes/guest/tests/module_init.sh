# SPDX-License-Identifier: GPL-2.0
# proves: an event set before its module is loaded is hit in the module's init text, and gone once that is freed
. "${0%/*}/../lib.sh"

event "p:kt/starts kprobe_target:kprobe_target_starts magic=$arg1:s32"
event 'r:kt/started kprobe_target:kprobe_target_starts $retval:s32'
event 'p:kt/add kprobe_target:kprobe_target_add'
event_on kt/starts
event_on kt/started
event_on kt/add
load kprobe_target
is "hits in init text" "$(grep -c ' starts: .* magic=41$' $tracing/trace)" 1
is "returns in init text" "$(grep -c ' started: .* arg1=42$' $tracing/trace)" 1
call add 2
is "hits in core text" "$(traced add)" 2
is "init probes gone" "$(grep -c '\[GONE\]' $kp/list)" 2
is "core probe not" "$(grep '  kprobe_target_add' $kp/list | grep -c GONE)" 0

unload kprobe_target
load kprobe_target
is "hits in init text at the second load" "$(traced starts)" 2
call add 2
is "hits in core text at the second load" "$(traced add)" 4
event_off kt/starts
event_off kt/started
event_off kt/add
done_testing
