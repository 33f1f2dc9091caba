# SPDX-License-Identifier: GPL-2.0
# proves: perf gets a symbol for each page of copies and detours that comes or goes, and an event when code in them is written or erased
. "${0%/*}/../lib.sh"

# The functions that tell perf's users. They are called even without users.
case $(uname -m) in
x86_64)
	event 'p:kt/symbol perf_event_ksymbol type=%di:u16 addr=%si:x64 len=%dx:u32 gone=%cx:u8 name=+0(%r8):string'
	event 'p:kt/poke perf_event_text_poke addr=%di:x64 old=%dx:u64 new=%r8:u64'
	;;
i?86)
	# The lower half of a 64-bit address is in DX. After the return address come the arguments
	# that are not in registers.
	event 'p:kt/symbol perf_event_ksymbol type=%ax:u16 addr=%dx:x32 len=$stack1:u32 gone=$stack2:u8 name=+0($stack3):string'
	event 'p:kt/poke perf_event_text_poke addr=%ax:x32 old=%cx:u32 new=$stack2:u32'
	;;
*) skip "knows the registers of x86 only" ;;
esac
event_on kt/symbol
event_on kt/poke
echo >$tracing/trace

# After the ftrace site of functions; more than the pages hold, so that pages are added.
awk 'NF == 2 && $2 ~ /^(ext|vfs|pipe|sock|tcp|inet|bpf|cgroup|proc|seq|kernfs|shmem|tty)/ { print $1 }' \
	$tracing/available_filter_functions_addrs | head -n 600 | while read -r addr; do
	printf '%x\n' $((0x$addr + 5))
done >$tmp/sites
load kprobe_crowd nr=600 sites=$tmp/sites
echo grow 600 >/sys/kernel/debug/kprobe_crowd/run
at_least "probes" "$(wc -l <$kp/list)" 300

# symbols NAME GONE: addresses and lengths of the pages that have come since, and of those
# among them that have gone. Pages of earlier tests may go late.
symbols()
{
	sed -n "s/.* symbol: .* type=2 addr=\([^ ]*\) len=\([^ ]*\) gone=\(.\) name=\"$1\"\$/\3 \1 \2/p" \
		$tracing/trace |
		awk -v gone="$2" '$1 == 0 { came[$2]++ }
			$1 == gone && came[$2] { print $2, $3 }'
}
# came NAME GONE PAGE: how often that page was added, or removed
came() { symbols "$1" "$2" | grep -c "^$3\$"; }
all_gone() { [ "$(came "$1" 1 "$2 $3")" = "$(came "$1" 0 "$2 $3")" ]; }
# pokes PAGE OLD NEW
pokes() { grep -c " poke: .* addr=${1%000}... old=$2 new=$3\$" $tracing/trace; }
# within SECONDS COMMAND...
within()
{
	left=$1
	shift
	while ! eval "$*" && [ "$left" -gt 0 ]; do
		sleep 1
		left=$((left - 1))
	done
}

has_jumps() { grep -q OPTIMIZED $kp/list && [ -n "$(symbols kprobe_optinsn_page 0)" ]; }

within 60 has_jumps
for name in kprobe_insn_page kprobe_optinsn_page; do
	matches "$name came" "$(symbols $name 0)" '0xf[0-9a-f]*000 [1-9][0-9]*'
	page=$(symbols $name 0 | head -n 1)
	at_least "$name: code written" "$(pokes "${page% *}" 0 '[1-9][0-9]*')" 1
done
# The more there are, the more are added at once.
longest=$(symbols kprobe_optinsn_page 0 | sort -k 2n | tail -n 1)
at_least "length of several pages at once" "${longest#* }" 8192

echo remove 0 >/sys/kernel/debug/kprobe_crowd/run
for name in kprobe_insn_page kprobe_optinsn_page; do
	page=$(symbols $name 0 | head -n 1)
	# A page may be removed, and its address reused, before that.
	within 60 "all_gone $name $page"
	matches "$name went" "$(symbols $name 1)" '0xf[0-9a-f]*000 [1-9][0-9]*'
	is "$name: the first one went as often as it came" \
		"$(came $name 1 "$page")" "$(came $name 0 "$page")"
	[ $name = kprobe_insn_page ] ||
		at_least "$name: detours turned away" "$(pokes "${page% *}" 1 1)" 1
	at_least "$name: code erased" "$(pokes "${page% *}" '[1-9][0-9]*' 0)" 1
done
within 60 "all_gone kprobe_optinsn_page $longest"
is "several pages go at once, too" "$(came kprobe_optinsn_page 1 "$longest")" \
	"$(came kprobe_optinsn_page 0 "$longest")"
unload kprobe_crowd
event_off kt/symbol
event_off kt/poke
event '-:kt/symbol'
event '-:kt/poke'
done_testing
