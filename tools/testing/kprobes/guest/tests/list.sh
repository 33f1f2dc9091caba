# SPDX-License-Identifier: GPL-2.0
# proves: kprobes/list has mode 0400 and a line of the documented form for each probe
. "${0%/*}/../lib.sh"

is "mode" "$(mode $kp/list)" 400
is "the list with no probe set" "$(cat $kp/list 2>&1)" ""

load kprobe_target
load kprobe_example symbol=vfs_read
load kretprobe_example func=vfs_write
event 'p:kt/add kprobe_target:kprobe_target_add'
event 'r:kt/add_ret kprobe_target:kprobe_target_add'

# Two blanks separate columns, one precedes the flags. The kernel's own text has a blank
# for the module.
re='[0-9a-f]{8,16}  [kr]  [a-zA-Z_0-9.]+\+0x[0-9a-f]+  ([a-z_0-9]+| ) (\[GONE\])?(\[DISABLED\])?(\[OPTIMIZED\])?(\[FTRACE\])?'
matches "the list" "$(cat $kp/list)" "$re"
is "number of lines" "$(grep -c . $kp/list)" 4
is "kprobe" "$(grep -c '  k  vfs_read+0x[04]   ' $kp/list)" 1
is "return probe" "$(grep -c '  r  vfs_write+0x[04]   ' $kp/list)" 1
is "return probe of an event that is off" \
	"$(grep -c '  r  kprobe_target_add+0x[04]  kprobe_target \[DISABLED\]' $kp/list)" 1
addr=$(awk '$3 ~ /^vfs_read\+/ { print $1 }' $kp/list)
off=$(awk '$3 ~ /^vfs_read\+/ { sub(/.*\+/, "", $3); print $3 }' $kp/list)
sym=$(awk '$3 == "vfs_read" { print $1 }' /proc/kallsyms)
is "address in the list" "$(printf %x $((0x$addr - off)))" "$(printf %x $((0x$sym)))"

event_on kt/add
is "no longer disabled" "$(grep -c '  k  kprobe_target_add+0x[04]  kprobe_target.*DISABLED' $kp/list)" 0
event_off kt/add
is "disabled again" "$(grep -c '  k  kprobe_target_add+0x[04]  kprobe_target.*DISABLED' $kp/list)" 1

unload kprobe_example
is "line of a probe that was removed" "$(grep -c ' vfs_read' $kp/list)" 0
done_testing
