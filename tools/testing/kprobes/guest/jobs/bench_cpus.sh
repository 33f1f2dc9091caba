# SPDX-License-Identifier: GPL-2.0
# For bench.sh: all CPUs hit one point, and then each its own, for each kind of point. Prints
# "section N NAME", where N counts the runs as bench/stores.c does, and "name value"
# lines.
opt=/proc/sys/debug/kprobes-optimization
ctl=/sys/kernel/debug/kprobe_cpus

nr=0
# section NAME KIND
section()
{
	for which in one distinct; do
		nr=$((nr + 1))
		echo "section $nr $1_$which"
		echo "$2 $which" >$ctl/run || { echo "failed $1_$which"; continue; }
		[ "$2" = control ] || sed "s/^/$1_${which}_/" $ctl/result
	done
}

insmod /modules/kprobe_cpus.ko || exit
section control control
[ ! -e $opt ] || echo 0 >$opt
section breakpoint plain
if [ -e $opt ]; then
	echo 1 >$opt
	section jump plain
fi
section ftrace traced
section return plain_return
rmmod kprobe_cpus
