# SPDX-License-Identifier: GPL-2.0
# For bench.sh: the memory of probes, and the time to set probes on ftrace sites. Prints
# "name value" lines. Bytes are for each probe, without its struct kprobe or kretprobe.
#
# KIND is breakpoint, jump, ftrace or return. If a kernel cannot set all of them in time, the
# figures are for those that it did set. They stay set: some kernels take long to remove them.
opt=/proc/sys/debug/kprobes-optimization
tracing=/sys/kernel/tracing
ctl=/sys/kernel/debug/kprobe_crowd

value() { awk -v k="$1" '$1 == k { print $2 }' $ctl/result; }
# In KB: slab, pages of text and other vmalloc, and per-CPU memory
taken() { awk '/^(Slab|VmallocUsed|Percpu):/ { printf "%s ", $2 }' /proc/meminfo; }

# The optimizer is done when nothing has changed for three seconds.
settle()
{
	last=-1 same=0
	for _ in $(seq 60); do
		jumps=$(grep -c OPTIMIZED /sys/kernel/debug/kprobes/list)
		[ "$jumps" = $last ] && same=$((same + 1)) || same=0
		[ $same -lt 3 ] || break
		last=$jumps
		sleep 1
	done
}

# memory NAME HOW-MANY N: the memory of N probes
memory()
{
	# shellcheck disable=SC2046
	set -- "$1" "$2" $(taken) "$3"
	echo "grow $6" >$ctl/run || { echo "failed $1"; return; }
	done=$(value "done")
	ns=$(value ns)
	[ "$(cat $opt 2>/dev/null)" != 1 ] || settle
	[ "$done" -gt 0 ] || { echo "failed $1 $2"; return; }
	# shellcheck disable=SC2046
	set -- "$1" "$2" "$3" "$4" "$5" $(taken)
	echo "memory_$1_${2}_set $done"
	echo "memory_$1_${2}_us $((ns / done / 1000))"
	echo "memory_$1_${2}_slab $((($6 - $3) * 1024 / done))"
	echo "memory_$1_${2}_text $((($7 - $4) * 1024 / done))"
	echo "memory_$1_${2}_percpu $((($8 - $5) * 1024 / done))"
}

# measure N OPTIMIZE MODULE-PARAMETERS...: the memory of 1,000 of them, and of N
measure()
{
	most=$1
	[ ! -e $opt ] || echo "$2" >$opt
	shift 2
	insmod /modules/kprobe_crowd.ko seconds="${EACH_SECONDS:-$seconds}" nr="$most" "$@" ||
		{ echo "failed $KIND"; return; }
	# The first time also allocates caches.
	echo 'grow 200' >$ctl/run && echo 'remove 0' >$ctl/run
	sleep 3
	memory "$KIND" 1000 1000
	echo 'remove 0' >$ctl/run
	sleep 3
	memory "$KIND" most "$most"
}

# The addresses of ftrace sites, spread over the kernel; those of modules are left out.
awk '$1 ~ /^ffffffff[89]/ && NF == 2 { print $1 }' $tracing/available_filter_functions_addrs >/tmp/entries
functions=$(($(wc -l </tmp/entries) * 9 / 10))
# Where only the time matters, half a minute is enough.
seconds=60
case $KIND in
ftrace|return) seconds=30 ;;
esac
case $KIND in
breakpoint) measure 50000 0 sites=/cold ;;
jump) measure 50000 1 sites=/cold ;;
ftrace) measure $functions 1 sites=/tmp/entries ;;
return) measure $functions 1 sites=/tmp/entries returns=1 ;;
esac
