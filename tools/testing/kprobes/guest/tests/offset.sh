# SPDX-License-Identifier: GPL-2.0
# proves: probes are set on instruction boundaries only: inside of an instruction is EILSEQ, past the function refused
. /lib.sh

load kprobe_target
accepted=''
refused=''
other=''
for offset in $(seq 0 24); do
	dmesg -c >/dev/null
	if insmod /modules/kprobe_example.ko symbol=kprobe_target_add offset="$offset" limit=0 2>/dev/null; then
		accepted="$accepted $offset"
		call add 3
		unload kprobe_example
		got=$(messages kprobe_example | tail -n 1)
		case $got in
		*' 3 hits, 0 missed'|*' 0 hits, 0 missed') ;;
		*) fail "+$offset: $got" ;;
		esac
	elif messages kprobe_example | grep -q -- '-EILSEQ'; then
		refused="$refused $offset"
	else
		other="$other $offset"
	fi
done
is "the function still works" "$(call add 1; awk '$1 == "last" { print $2 }' $target/calls)" 1000
at_least "boundaries accepted ($accepted)" "$(echo "$accepted" | wc -w)" 2
at_least "offsets inside of instructions refused ($refused)" "$(echo "$refused" | wc -w)" 4
is "the list" "$(cat $kp/list)" ""
done_testing
