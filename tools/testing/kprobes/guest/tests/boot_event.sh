# SPDX-License-Identifier: GPL-2.0
# proves: kprobe_event= on the kernel command line sets probes that are hit while the kernel boots, and those on init text go with that text
# needs: cmdline kprobe_event=p:boot/clone,kernel_clone,flags=+0($arg1):x64;p:boot/rootfs,populate_rootfs;p:boot/inside,populate_rootfs+9
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
done_testing
