# SPDX-License-Identifier: GPL-2.0
# proves: a return probe for more calls than fit in memory is refused immediately, without allocating any of it
. "${0%/*}/../lib.sh"

maxactive=/sys/kernel/debug/kprobe_returns/maxactive
load kprobe_returns
available() { awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo; }

for n in 100 1000 20000; do
	echo $n >$maxactive || fail "$n calls at once are refused"
done
before=$(available)
at_least "available memory" "$before" 10000
start=$(cut -d. -f1 /proc/uptime)
for n in 1073741824 2147483647; do
	refuses 'annot allocate memory' "echo $n >$maxactive"
done
# Allocating all memory in vain takes far longer, and gets tasks killed.
[ $(($(cut -d. -f1 /proc/uptime) - start)) -le $patience ] || fail "refusing took more than $patience s"
[ $((before - $(available))) -lt 20000 ] || fail "refusals have used up memory"
is "complaints about memory" "$(dmesg | grep -ciE 'out of memory|oom|page allocation failure')" 0
unload kprobe_returns
is "the list" "$(cat $kp/list 2>&1)" ""
done_testing
