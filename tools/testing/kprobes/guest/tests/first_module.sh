# SPDX-License-Identifier: GPL-2.0
# proves: the module of README builds outside the tree as README says, counts the calls it probes, and misses none
# needs: what README.md makes
. "${0%/*}/../lib.sh"

[ -e /calls.ko ] || skip "no module: README.md makes it"

out=$(insmod /calls.ko 2>&1) || fail "insmod: $out"
for _ in $(seq 20); do
	: </proc/version
done
matches "the list" "$(cat $kp/list)" '[0-9a-f]+  k  do_sys_openat2.*'
rmmod calls || fail "rmmod failed"
said=$(dmesg | sed -n 's/.*\(calls: [0-9]*, missed: .*\)/\1/p')
matches "what it says" "$said" 'calls: [0-9]+, missed: 0'
counted=${said#calls: }
at_least "calls that it counted" "${counted%%,*}" 20
is "the list" "$(cat $kp/list 2>&1)" ""
done_testing
