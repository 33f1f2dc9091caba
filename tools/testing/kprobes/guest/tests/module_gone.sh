# SPDX-License-Identifier: GPL-2.0
# proves: the probes on a module go with it: [GONE] in the list, unregistering is safe, and the module can be probed when it is loaded again
# preempt: full
. "${0%/*}/../lib.sh"

load kprobe_target
load kprobe_example symbol=kprobe_target_add limit=0
load kretprobe_example func=kprobe_target_recurse limit=0
call add 3
call recurse 1
unload kprobe_target
is "gone" "$(grep -c '\[GONE\]' $kp/list)" 2
matches "the list" "$(cat $kp/list)" '[0-9a-f]{8,16}  [kr]  .*\[GONE\].*'

# The next module may use the memory, so nothing may be written to it.
load kprobe_target
matches "the list then" "$(cat $kp/list)" '[0-9a-f]{8,16}  [kr]  0x[0-9a-f]+ \[GONE\].*'
matches "the points then" "$(grep gone $kp/points)" '.*  \?\+0x0  -  gone'
call add 3
call recurse 3
is "the module's calls" "$(awk '$1 == "add" { print $2 }' $target/calls)" 3
unload kprobe_example
unload kretprobe_example
is "list" "$(cat $kp/list 2>&1)" ""
is "hits" "$(messages kprobe_example | tail -n 1)" "kprobe_example: probe removed: 3 hits, 0 missed"
is "returns" "$(messages kretprobe_example | tail -n 1)" "kretprobe_example: return probe removed: 1 returns, 0 calls missed"

load kprobe_example symbol=kprobe_target_add limit=0
call add 4
unload kprobe_example
is "hits after a new load" "$(messages kprobe_example | tail -n 1)" "kprobe_example: probe removed: 4 hits, 0 missed"
done_testing
