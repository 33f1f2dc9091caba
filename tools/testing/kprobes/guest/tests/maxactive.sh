# SPDX-License-Identifier: GPL-2.0
# proves: a return probe for more calls at once than can ever fit is refused at once, without taking memory for them first
. /lib.sh

maxactive=/sys/kernel/debug/kprobe_returns/maxactive
load kprobe_returns
# vm NAME: an event of /proc/vmstat, of all kinds of memory
vm() { awk -v k="^$1" '$1 ~ k { n += $2 } END { print n + 0 }' /proc/vmstat; }

for n in 100 1000 20000; do
	echo $n >$maxactive || fail "$n calls at once are refused"
done
at_least "pages ever taken" "$(vm pgalloc_)" 1000
before=$(vm pgalloc_)
for n in 1073741824 2147483647; do
	refuses 'annot allocate memory' "echo $n >$maxactive"
done
taken=$(($(vm pgalloc_) - before))
# A command takes some hundred.
[ $taken -lt 5000 ] || fail "refusing took $taken pages"
is "tasks killed for memory" "$(vm oom_kill)" 0
unload kprobe_returns
is "the list" "$(cat $kp/list)" ""
done_testing
