# SPDX-License-Identifier: GPL-2.0
# The guest's half of slots.sh: sets probes on the addresses in /sites, waits until no more
# of them become jumps, and prints the code of all copies and detours.
# shellcheck disable=SC1091
. /lib.sh

slots=/sys/kernel/debug/kprobe_slots
load kprobe_slots
# One write takes this many addresses.
split_lines() { awk -v n=$((($(wc -l </sites) + 19) / 20)) '{ print >("/tmp/sites." int((NR - 1) / n)) }' /sites; }
split_lines
for part in /tmp/sites.*; do
	cat "$part" >$slots/set || fail "cannot set probes"
done
was=-1 tries=0
while [ $tries -lt 60 ]; do
	sleep 1
	now=$(grep -c OPTIMIZED $kp/list)
	[ "$now" != "$was" ] || [ "$now" -lt 10 ] || break
	was=$now
	tries=$((tries + 1))
done
awk '$3 == "kprobe_insn_page" { print "copies", $1 } $3 == "kprobe_optinsn_page" { print "detours", $1 }' \
	/proc/kallsyms >/tmp/pages
cat /tmp/pages >$slots/pages || fail "cannot name the pages"
for file in spectre_v2 retbleed indirect_target_selection; do
	echo "vulnerability $file $(cat /sys/devices/system/cpu/vulnerabilities/$file 2>/dev/null)"
done
# The handlers.
sed -n 's/^\([0-9a-f]*\) [tT] \(slots_[a-z]*\).*/function \1 \2/p' /proc/kallsyms
echo "probes $(wc -l <$kp/list)"
echo "jumps $(grep -c OPTIMIZED $kp/list)"
cat $slots/text || fail "cannot read the slots"
echo "end"
done_testing
