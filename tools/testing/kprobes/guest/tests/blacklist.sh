# SPDX-License-Identifier: GPL-2.0
# proves: kprobes/blacklist has mode 0400 and the documented form, has the functions that must be on it, and is obeyed
. "${0%/*}/../lib.sh"

is "mode" "$(mode $kp/blacklist)" 400
matches "every line" "$(cat $kp/blacklist)" '0x[0-9a-f]{8,16}-0x[0-9a-f]{8,16}	[a-zA-Z_0-9.]+'
awk '{ split($1, a, "-"); if (a[1] "" >= a[2] "") exit 1 }' $kp/blacklist ||
	fail "a range does not end after its start"

# Entry code, noinstr text, cpuidle text, breakpoint handling itself.
for symbol in asm_exc_int3 exc_int3 get_kprobe notify_die; do
	[ "$(grep -c "	$symbol\$" $kp/blacklist)" -ge 1 ] || fail "$symbol is not on it"
	# Some are also refused as symbols that tracing does not know.
	refuses '' "echo 'p:kt/$symbol $symbol' >>$tracing/kprobe_events"
done
# The padding before a function is refused with it.
padding=$(awk '$3 == "__pfx_get_kprobe" { print "0x" $1 }' /proc/kallsyms)
[ -z "$padding" ] || is "where get_kprobe begins with its padding" \
	"$(awk '$2 == "get_kprobe" { sub(/-.*/, "", $1); print $1 }' $kp/blacklist)" "$padding"
# And so are the pieces of refused functions that the compiler has put elsewhere, if there
# are any: nmi_handle.part.0 is one.
awk '
	FILENAME == ARGV[1] { name[$2] = 1; next }
	$2 ~ /[tT]/ && $3 ~ /^[a-zA-Z_0-9]+\.(cold|part|constprop|isra)/ {
		base = $3
		sub(/\..*/, "", base)
		if (base in name && !($3 in name)) print $3
	}' $kp/blacklist /proc/kallsyms >"$tmp/pieces"
is "pieces of refused functions that are not" "$(cat "$tmp/pieces" 2>&1)" ""
is "probes set in spite of it" "$(cat $kp/list 2>&1)" ""
echo 'p:kt/vfs_read vfs_read' >>$tracing/kprobe_events || fail "nothing can be probed"
is "a probe where one may be" "$(grep -c ' vfs_read+' $kp/list)" 1
is "a function that may be probed" "$(grep -c '	vfs_read$' $kp/blacklist)" 0
done_testing
