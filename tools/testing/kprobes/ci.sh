#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the CI runs: the whole "make test", the suites on arm64, and on i386, which is built,
# whether all that a hit runs is refused. The last line counts everything. A run that ends
# without its counts, or for which there is no time left, counts as a failure.
#
#   MINUTES=n   start nothing after this many (default 75). On two CPUs all of it should
#               take less than 45. The rest is for slow machines.
set -uo pipefail
# These change what runs. They are common names for what a CI sets for itself.
unset TEST QUICK KPROBES_KEEP AGAIN DENSE CONFIG KERNEL ARCH SEED NR CPUS POINTS PROBES CALLS ONLY PARTS
unset ABUSE_CALLS ABUSE_SEED FUZZ_DEFS FUZZ_SEED PERF_DEFS PERF_SEED
unset STRESS_SECONDS TOGGLE_SECONDS RETURNS_SECONDS RETURNS_TASKS RETURNS_CALLS
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

mkdir -p "$build/logs"
passed=0
failed=0

# run NAME COMMAND...: the last line with counts is the result, if there is one. make may
# print a failure after it.
run()
{
	local name=$1 log=$build/logs/ci-$1.txt p='' f='' start=$SECONDS status=0

	shift
	"$@" 2>&1 | tee "$log" || status=1
	read -r p f < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$log" |
		tail -n 1)
	passed=$((passed + ${p:-0}))
	failed=$((failed + ${f:-0}))
	if [ -z "$p" ] || [ $status -ne $((f > 0)) ]; then
		failed=$((failed + 1))
		echo "not ok - $name: did not end as it should: see $log"
	fi
	say "$name took $((SECONDS - start)) s"
}

# late NAME: is no time left for it?
late()
{
	[ $SECONDS -ge $((${MINUTES:-75} * 60)) ] || return 1
	failed=$((failed + 1))
	echo "not ok - $1: no time left: $((SECONDS / 60)) minutes have passed; MINUTES= sets the limit"
}

run x86_64 make -C "$top" --no-print-directory test
late arm64 || run arm64 make -C "$top" --no-print-directory test ARCH=arm64
late i386 || run i386 make -C "$top" --no-print-directory test CONFIG=i386 TEST=hitpath
counted "$passed passed, $failed failed"
[ $failed -eq 0 ]
