# SPDX-License-Identifier: GPL-2.0
# proves: with each set of capabilities, the control files show addresses exactly if kallsyms does, and perf and BPF set probes exactly if the manual says so
# needs: what only_caps.c makes
# needs: what bpf_insns.c makes
. "${0%/*}/../lib.sh"

[ -x /only_caps ] || skip "no program that drops capabilities: only_caps.c makes it"
paranoid=/proc/sys/kernel/perf_event_paranoid
restrict=/proc/sys/kernel/kptr_restrict
was=$(cat $paranoid)
# The numbers of capabilities.
admin=21
syslog=34
perfmon=38
bpf=39
last=$(cat /proc/sys/kernel/cap_last_cap)

load kprobe_example symbol=vfs_read limit=0
load kretprobe_example func=vfs_write limit=0

# What a reader sees: 1 if there is an address other than 0, 0 if not, ? if nothing.
cat >$tmp/look <<'END'
#!/bin/sh
shown()
{
	grep -oE "$2" "$1" | head -n 200 |
		awk '{ n++ } /[1-9a-f]/ { seen = 1 } END { print n ? seen + 0 : "?" }'
}
kp=/sys/kernel/debug/kprobes
case $(uname -m) in
*64*) any='(0x)?ffff[0-9a-f]{12}' ;;
*) any='\<(0x)?[c-f][0-9a-f]{7}\>' ;;
esac
# With the capabilities, and the number of lines that any other address is in.
echo "$(awk '/^CapEff:/ { print $2 }' /proc/self/status)" \
	"$(shown /proc/kallsyms '^[0-9a-f]{8,16}')" "$(shown $kp/list '^[0-9a-f]{8,16}')" \
	"$(shown $kp/points '^[0-9a-f]{8,16}')" \
	"$(shown $kp/blacklist '^0x[0-9a-f]{8,16}' | sed s/0x//)" \
	"$(cat $kp/list $kp/points $kp/blacklist | grep -cE "$any")"
END

# has "NUMBER..." NUMBER: is it one of them?
has() { case " $1 " in *" $2 "*) ;; *) return 1 ;; esac; }

# looks NAME "NUMBER...": with all settings that decide which readers see addresses
looks()
{
	mask=0
	for cap in $2; do mask=$((mask | 1 << cap)); done
	for p in 1 2; do
		for r in 0 1 2; do
			echo $p >$paranoid
			echo $r >$restrict
			/only_caps "$2" sh $tmp/look >$tmp/shown
			read -r caps kallsyms list points blacklist lines <$tmp/shown
			is "$1: the capabilities" "$caps" "$(printf %016x $mask)"
			want=0
			[ $p$r != 10 ] || want=1
			! has "$2" $syslog || [ $r = 2 ] || want=1
			is "$1 $p $r: kallsyms" "$kallsyms" $want
			is "$1 $p $r: list" "$list" $want
			is "$1 $p $r: points" "$points" $want
			is "$1 $p $r: blacklist" "$blacklist" $want
			if [ $want = 1 ]; then
				at_least "$1 $p $r: addresses anywhere" "$lines" 3
			else
				is "$1 $p $r: addresses anywhere" "$lines" 0
			fi
		done
	done
	echo 0 >$restrict
	echo "$was" >$paranoid
}

# sets NAME "NUMBER...": perf and BPF
sets()
{
	want='Permission denied'
	! has "$2" $perfmon && ! has "$2" $admin || want=opened
	is "$1: perf" "$(/only_caps "$2" perf vfs_read)" "$want"
	case $(uname -m) in i?86) return ;; esac
	# A link of BPF needs 64 bits.
	got=$(/only_caps "$2" /bpf_insns 2 true <$tmp/address 2>&1 |
		sed -n 's/^\(attached 1\) .*/\1/p; s/.*\(Operation not permitted\|refused\).*/\1/p' | head -n 1)
	want='Operation not permitted'
	! has "$2" $admin && { ! has "$2" $bpf || ! has "$2" $perfmon; } || want='attached 1'
	is "$1: a link of BPF" "$got" "$want"
}

awk '$3 == "vfs_write" { print $1 }' /proc/kallsyms >$tmp/address
all=$(seq -s ' ' 0 "$last")
tried=0
while read -r name caps; do
	looks "$name" "$caps"
	sets "$name" "$caps"
	tried=$((tried + 1))
done <<END
all $all
all_but_syslog $(echo " $all " | sed "s/ $syslog / /")
none
syslog $syslog
perfmon $perfmon
bpf $bpf
perfmon_and_bpf $perfmon $bpf
admin $admin
END
is "sets of capabilities" $tried 8
unload kprobe_example
unload kretprobe_example
rm -f $tmp/look $tmp/shown $tmp/address
done_testing
