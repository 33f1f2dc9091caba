# SPDX-License-Identifier: GPL-2.0
# proves: probes are set only where an instruction starts, and see every call there; an offset inside an instruction gives EILSEQ, one past the function is refused
. "${0%/*}/../lib.sh"

load kprobe_target
find_target

# Straight-line code: each instruction up to the return is hit, and no padding.
refused=''
other=''
hit=''
padding=''
for offset in $(seq 0 24); do
	dmesg -c >/dev/null
	if insmod $modules/kprobe_example.ko symbol=kprobe_target_add offset="$offset" limit=0 2>/dev/null; then
		call add 3
		unload kprobe_example
		got=$(messages kprobe_example | tail -n 1)
		case $got in
		*' 3 hits, 0 missed')
			[ -z "$padding" ] || fail "+$offset is hit, but not$padding"
			hit="$hit $offset"
			;;
		*' 0 hits, 0 missed') padding="$padding $offset" ;;
		*) fail "+$offset: $got" ;;
		esac
	elif messages kprobe_example | grep -q -- '-EILSEQ'; then
		refused="$refused $offset"
	else
		other="$other $offset"
	fi
done
is "the function still works" "$(call add 1; awk '$1 == "last" { print $2 }' $target/calls)" 1000
# The call to ftrace, the addition and the return, maybe with an endbr before them.
at_least "instructions hit ($hit)" "$(echo "$hit" | wc -w)" $((3 + (0x$site != 0x$entry)))
is "the first of them" "$(echo "$hit" | awk '{ print $1 }')" 0
at_least "offsets inside of instructions refused ($refused)" "$(echo "$refused" | wc -w)" 4
echo "# hit:$hit, padding:$padding, inside:$refused, refused otherwise:$other"
is "the list" "$(cat $kp/list 2>&1)" ""
done_testing
