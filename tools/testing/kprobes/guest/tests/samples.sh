# SPDX-License-Identifier: GPL-2.0
# proves: the sample modules count every call, of several functions in a batch too, and refuse what cannot be probed
. /lib.sh

load kprobe_target
load kprobe_batch symbols=kprobe_target_add,kprobe_target_recurse
load kprobe_example symbol=kprobe_target_add limit=2
load kretprobe_example func=kprobe_target_add limit=2
call add 50
call recurse 1
for module in kretprobe_example kprobe_example kprobe_batch; do unload $module; done
is "kprobe_example" "$(messages kprobe_example | tail -n 1)" "kprobe_example: probe removed: 50 hits, 0 missed"
is "lines it printed" "$(messages kprobe_example | grep -c 'before kprobe_target_add')" 2
is "kretprobe_example" "$(messages kretprobe_example | tail -n 1)" "kretprobe_example: return probe removed: 50 returns, 0 calls missed"
is "kprobe_batch, first" "$(messages kprobe_batch | awk '$2 == "kprobe_target_add" { print $3, $4 }')" "50 0"
is "kprobe_batch, second" "$(messages kprobe_batch | awk '$2 == "kprobe_target_recurse" { print $3, $4 }')" "1 0"

# All or nothing.
insmod /modules/kprobe_batch.ko symbols=kprobe_target_add,no_such_function 2>/dev/null &&
	fail "a batch with an unknown function was accepted"
is "error of an unknown function" "$(messages kprobe_batch | tail -n 1)" "kprobe_batch: cannot set 2 probes: -ENOENT"
is "what is left of the batch" "$(cat $kp/list)" ""
done_testing
