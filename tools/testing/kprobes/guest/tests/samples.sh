# SPDX-License-Identifier: GPL-2.0
# proves: the sample modules count every call, also of several functions in a batch, and refuse functions that cannot be probed
. "${0%/*}/../lib.sh"

# Lines of earlier tests do not count.
dmesg -c >/dev/null
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

# A batch is registered as a whole or not at all.
insmod $modules/kprobe_batch.ko symbols=kprobe_target_add,no_such_function 2>/dev/null &&
	fail "a batch with an unknown function was accepted"
is "error of an unknown function" "$(messages kprobe_batch | tail -n 1)" "kprobe_batch: cannot set 2 probes: -ENOENT: try the functions one by one"
is "what is left of the batch" "$(cat $kp/list 2>&1)" ""

# The messages say what to do, and where the probe is.
insmod $modules/kprobe_example.ko symbol=no_such_function 2>/dev/null && fail "an unknown function was accepted"
matches "hint for a function that is not there" "$(messages kprobe_example | tail -n 1)" \
	'kprobe_example: cannot probe no_such_function\+0x0: -ENOENT: choose .*'
# Of these two, take the first in memory: an offset leads from it to the second.
first=kprobe_target_add second=kprobe_target_recurse
address() { echo $((0x$(awk -v name="$1" '$3 == name { print $1 }' /proc/kallsyms))); }
[ "$(address $first)" -lt "$(address $second)" ] || { first=kprobe_target_recurse second=kprobe_target_add; }
load kprobe_example symbol=$first offset=$(($(address $second) - $(address $first))) limit=0
unload kprobe_example
matches "where that probe is" "$(messages kprobe_example | grep 'probe set' | tail -n 1)" \
	"kprobe_example: probe set on $second.*"
is "an offset beyond the function" "$(messages kprobe_example | grep -c "is beyond the end of $first")" 1
done_testing
