# SPDX-License-Identifier: GPL-2.0
# proves: the control files show addresses as the process that opened the file may see them; users cannot read the files; and no page is ever writable and executable while text is patched
# needs: guest
. /lib.sh

restrict=/proc/sys/kernel/kptr_restrict

load kprobe_example symbol=vfs_read limit=0
load kretprobe_example func=vfs_write limit=0

# As for kallsyms, the process that has opened a file decides, not the one that reads it.
echo 1 >$restrict
exec 5<$kp/list
matches "the first address, read by a user from a file of root" \
	"$(as_user 'head -n 1 <&5' | cut -d' ' -f1)" '0*[1-9a-f][0-9a-f]*'
exec 5<&-
echo 0 >$restrict

# Users get none of the files, by the mode of the files, not only of the directory.
is "mode of debugfs" "$(mode /sys/kernel/debug)" 700
chmod 755 /sys/kernel/debug
for file in list enabled blacklist points hits; do
	matches "what a user reads from $file" "$(as_user "cat $kp/$file")" '.*[Pp]ermission denied'
	matches "what a user writes to $file" "$(as_user "echo 1 >$kp/$file")" '.*[Pp]ermission denied'
done
chmod 700 /sys/kernel/debug
matches "what a user writes to the sysctl" "$(as_user "echo 0 >$optimization")" '.*[Pp]ermission denied'
is "the sysctl" "$(as_user "cat $optimization")" 1
matches "what a user reads from kprobe_events" "$(as_user "cat $tracing/kprobe_events")" '.*[Pp]ermission denied'
matches "what a user writes to kprobe_events" "$(as_user "echo >$tracing/kprobe_events")" '.*[Pp]ermission denied'
# Root cannot write files that are read-only. Its capabilities let it open them all the same,
# but that must have no effect.
for file in list blacklist points; do
	before=$(cat $kp/$file | wc -c)
	refuses "nvalid argument" "echo 0 >$kp/$file"
	is "size of $file" "$(cat $kp/$file | wc -c)" "$before"
done
unload kprobe_example
unload kretprobe_example

# The pages of slots that kallsyms lists. It may list one twice while pages come and go.
slot_pages() { awk '$3 ~ /^kprobe_(insn|optinsn)_page$/ { print $1 }' /proc/kallsyms | sort -u; }
# slots_mapped PAGES TABLES: how each of these pages is mapped, "good" or "bad", and the line
# of the page tables that says so. One that is not mapped was freed for a moment.
slots_mapped()
{
	awk '
		NR == FNR { page[$1] = 1; next }
		/^0x/ && / (RW|ro) / {
			split($1, range, "-")
			from = substr(range[1], 3)
			to = substr(range[2], 3)
			# Hex of one length.
			for (p in page)
				if (p >= from && p < to)
					print (/ ro .* x / ? "good " : "bad ") p ": " $0
		}' "$1" "$2"
}

# Pages that are writable and executable, while probes come and go and become jumps.
tables=/sys/kernel/debug/page_tables/kernel
if [ -e $tables ] && [ -e /modules/kprobe_abuse.ko ]; then
	load kprobe_abuse
	load kprobe_target
	find_target
	event "p:kt/add kprobe_target:kprobe_target_add+$after"
	event_on kt/add
	# Go on until the other side has finished looking, however long that takes.
	rm -f /tmp/seen
	while [ ! -e /tmp/seen ]; do
		echo "${SECURITY_CALLS:-1000} 5" >/sys/kernel/debug/kprobe_abuse/run || exit
	done &
	patcher=$!
	: >/tmp/slots
	looks=0
	while [ $looks -lt 4 ]; do
		slot_pages >/tmp/before
		cat $tables >/tmp/tables
		# On 32 bits the BIOS stays writable and executable: the kernel may call it.
		awk '/ RW .* x / && !/^0xc00a0000-0xc0100000 / { print }' /tmp/tables >>/tmp/bad_pages
		looks=$((looks + 1))
		# A page that is listed only before or only after may be in the making.
		slot_pages | sort /tmp/before - | uniq -d >/tmp/pages
		slots_mapped /tmp/pages /tmp/tables >>/tmp/slots
	done
	touch /tmp/seen
	wait $patcher || fail "nothing was patched"
	slots=$(grep -c . /tmp/slots)
	echo "# page tables walked $looks times, $(grep -c ' x ' /tmp/tables) executable ranges, slots seen $slots times"
	at_least "executable ranges" "$(grep -c ' x ' /tmp/tables)" 2
	at_least "pages of slots that were seen" "$slots" 1
	is "pages that are writable and executable" "$(head -n 3 /tmp/bad_pages)" ""
	is "pages of slots that are not read-only and executable" "$(grep '^bad ' /tmp/slots | head -n 3)" ""
	event_off kt/add
	unload kprobe_abuse
else
	case $(uname -m) in
	x86_64 | i?86) fail "no page tables to look at" ;;
	esac
fi
rm -f /tmp/tables /tmp/bad_pages /tmp/before /tmp/pages /tmp/slots
done_testing
