# SPDX-License-Identifier: GPL-2.0
# proves: NOKPROBE_SYMBOL() in a module holds from when the module is loaded until it is gone
. "${0%/*}/../lib.sh"

# An event for a module that is loaded later: the list has its functions before the event is set.
event 'p:kt/hidden kprobe_target:kprobe_target_hidden'
event_on kt/hidden
is "before loading" "$(grep -c 'kprobe_target_hidden' $kp/blacklist)" 0
load kprobe_target
is "loaded" "$(grep -c '	kprobe_target_hidden \[kprobe_target\]$' $kp/blacklist)" 1
range=$(awk '$2 == "kprobe_target_hidden" { print $1 }' $kp/blacklist)
# With the padding before it, if that has a symbol.
sym=$(awk '$3 == "kprobe_target_hidden" { at = $1 } $3 == "__pfx_kprobe_target_hidden" { pad = $1 }
	END { print "0x" (pad ? pad : at) }' /proc/kallsyms)
is "start of the range" "${range%-*}" "$sym"
is "probes set in advance" "$(cat $kp/list 2>&1)" ""
event_off kt/hidden
event '-:kt/hidden'
refuses 'nvalid argument' "insmod $modules/kprobe_example.ko symbol=kprobe_target_hidden || {
	dmesg | grep -q 'kprobe_example: cannot probe kprobe_target_hidden.*: -EINVAL' &&
	echo Invalid argument; false; }"
is "probes set in spite of it" "$(cat $kp/list 2>&1)" ""
load kprobe_example symbol=kprobe_target_add
is "its neighbour is probed" "$(grep -c kprobe_target_add $kp/list)" 1
unload kprobe_example
unload kprobe_target
is "unloaded" "$(grep -c 'kprobe_target_hidden' $kp/blacklist)" 0
done_testing
