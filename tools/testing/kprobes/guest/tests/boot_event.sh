# SPDX-License-Identifier: GPL-2.0
# proves: kprobe_event= on the kernel command line sets probes that are hit while the kernel boots, and those on init text go with that text, which runs to its end without them
# needs: cmdline kprobe_event=p:boot/clone,kernel_clone,flags=+0($arg1):x64;p:boot/rootfs,populate_rootfs;p:boot/inside,populate_rootfs+9;p:boot/late10,e820__reallocate_tables+0x10;p:boot/late12,e820__reallocate_tables+0x12;p:boot/late15,e820__reallocate_tables+0x15;p:boot/late17,e820__reallocate_tables+0x17
. "${0%/*}/../lib.sh"

is "kprobe_events" "$(grep -c '^p:boot/clone kernel_clone flags=+0([$]arg1):x64$' $tracing/kprobe_events)" 1
# Not in events/boot/clone: event_trace_init() makes the directories of all events, and
# then sets eventdir_initialized. An event that is made in between never gets a
# directory. Both run at boot, one of them in a worker.
is "enabled at boot" "$(grep -c '^boot:clone$' $tracing/set_event)" 1
is "lines in the list" "$(grep -c '  k  kernel_clone+0x[04] ' $kp/list)" 1
at_least "hits while booting" "$(traced clone)" 10
matches "what the hits recorded" "$(grep ' clone: ' $tracing/trace | grep -v '^#')" \
	'.* clone: \(kernel_clone\+0x[04]/0x[0-9a-f]+\) flags=0x[0-9a-f]+'
is "hits in init text" "$(traced rootfs)" 1
matches "the probe in init text" "$(grep 'populate_rootfs+0x[04] ' $kp/list)" '[0-9a-f]{8,16}  k  populate_rootfs\+0x[0-9a-f]+  *\[GONE\](\[FTRACE\])?'
matches "its point" "$(grep 'populate_rootfs+0x[04] ' $kp/points)" '[0-9a-f]{8,16}  gone  .*'

# The first instruction after an ENDBR and the call to ftrace, if both are there. If the point
# became a jump while the kernel booted, the jump is gone, too.
if grep -q 'populate_rootfs+0x4 ' $kp/list; then
	is "hits after the site" "$(traced inside)" 1
	matches "the probe after the site" "$(grep 'populate_rootfs+0x9 ' $kp/list)" '[0-9a-f]{8,16}  k  populate_rootfs\+0x9  *\[GONE\]'
	matches "its point" "$(grep 'populate_rootfs+0x9 ' $kp/points)" '[0-9a-f]{8,16}  gone  .*'
fi

# Called by what frees init text, when its probes are gone. Not all of these offsets are the
# start of an instruction, but two that are may be so close to each other that the first stays
# a breakpoint.
late=$(grep '  e820__reallocate_tables+0x1[0257] ' $kp/list)
at_least "probes in text that runs to the end" "$(echo "$late" | grep -c '\[GONE\]')" 1
is "others there" "$(echo "$late" | grep -vc '\[GONE\]')" 0
is "hits there" "$(traced 'late1[0257]')" 0
done_testing
