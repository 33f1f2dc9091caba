#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Which of our lines and branches do the tests execute? Runs "make test" on the kernel
# of CONFIG, "gcov" or its 32-bit sister "gcov32", which counts them, adds up what all its
# guests report (guest/init), and prints a line for each file. build/$CONFIG-results/uncovered
# has the lines that nothing has executed.
#
#   AGAIN=     empty or 0: only count what the latest run has reported (default 1)
#   LEAST=95   fails if the share of the lines is below this, in per cent
#
# A guest that crashes, as those of "oops" do, reports nothing. Code that may not be
# instrumented (noinstr) is not counted.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

out=$build/$CONFIG-results
kernel=$build/$CONFIG
need python3:python3 gcov:gcc gcov-tool:gcc
[ -e "$kernel/vmlinux" ] || die "no kernel in build/$CONFIG: make gcov builds it"
mkdir -p "$out"
only_one "$CONFIG"

status=0
if [ -n "${AGAIN-1}" ]; then
	rm -f "$build"/logs/*-"$CONFIG"[.-]*out "$out/tests.passed"
	KERNEL=$CONFIG "$here/test.sh" | tee "$out/tests" || status=$?
	[ $status -ne 0 ] || touch "$out/tests.passed"
fi
[ -e "$out/tests.passed" ] || status=1

# add DIR: add its counts to the sum
add()
{
	if [ -d "$out/sum" ]; then
		gcov-tool merge -o "$out/new" "$out/sum" "$1" >/dev/null 2>"$out/merge.log" ||
			die "gcov-tool cannot merge: see $out/merge.log"
		rm -rf "$out/sum"
		mv "$out/new" "$out/sum"
	else
		mv "$1" "$out/sum"
	fi
}

rm -rf "$out/sum" "$out/new" "$out/one"
guests=0
for log in "$build"/logs/*-"$CONFIG"[.-]*out; do
	grep -aq '^kprobes-guest: gcov ' "$log" || continue
	mkdir "$out/one"
	sed -n 's/^kprobes-guest: gcov //p' "$log" | tr -d '\r' | base64 -d | tar -xz -C "$out/one" ||
		die "the counts of the guest of $log are incomplete"
	add "$out/one"
	rm -rf "$out/one"
	guests=$((guests + 1))
done
[ $guests -gt 0 ] || die "no guest has reported what it executed: see build/logs/*-$CONFIG*"
say "$guests guests have reported what they executed"
"$here/gcov.py" "$out/sum" "$kernel" "$out/uncovered" "${LEAST:-95}" >"$out/shares" || status=$?
sed '$d' "$out/shares"
counted "$(tail -n 1 "$out/shares")"
[ $status -eq 0 ] || die "gcov: tests failed, or too few lines were executed: see above and build/$CONFIG-results/"
