#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs the ftrace project's own kprobe tests in a guest.
#
#   ftracetest.sh             on our kernel of CONFIG
#   ftracetest.sh stock       on the unchanged base
#   ftracetest.sh arch NAME   on both, for an architecture of arches.sh that has a
#                             configs/NAME-user.config, or x86_64: builds them, and prints
#                             a table. Fails if a test passes on stock but not on ours,
#                             or does not pass without being in expected/ftracetest.
#
# TEST=glob runs only tests with a matching name.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/ftracetest-results.sh
. "$here/ftracetest-results.sh"

tests=tools/testing/selftests/ftrace
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# cases TREE: the files of the tests, one a line
cases()
{
	local name

	(cd "$1/$tests" && printf '%s\n' test.d/kprobe/*.tc test.d/dynevent/add_remove_kprobe.tc) |
	while read -r file; do
		name=${file##*/}
		# shellcheck disable=SC2254
		case ${name%.tc} in ${TEST:-*}) echo "$file" ;; esac
	done
}

# run KERNEL TREE [ARCH]: what ftracetest prints, and the logs of what does not pass
run()
{
	local args=(-r -t 1800 -l "ftracetest-$1") where=/host$2/$tests

	cases "$2" >"$tmp/cases"
	[ -s "$tmp/cases" ] || die "no ftrace test is named $TEST"
	if [ -n "${3:-}" ] && [ "$3" != x86_64 ]; then
		# This guest sees nothing of this machine.
		rm -rf "$tmp/files"
		mkdir "$tmp/files"
		cp -r "$2/$tests" "$tmp/files/ftrace"
		args+=(-A "$3" -f "$tmp/files")
		where=/ftrace
	fi
	"$here/guest.sh" "${args[@]}" "$build/$1" ftracetest TESTS="$where" \
		CASES="$(paste -sd' ' "$tmp/cases")" | sed 's/\x1b\[[0-9;]*m//g'
}

# of KERNEL TREE ARCH RESULTS: to a log, and the results to that file. That the guest ends
# well is part of it.
of()
{
	local log=$build/logs/ftracetest-$1.txt status=0

	say "the ftrace project's tests on $1"
	(run "$1" "$2" "$3") >"$log" 2>&1 || status=$?
	ftrace_results "$tmp/cases" <"$log" >"$4"
	[ $status -eq 0 ] || echo "not ok - $1: $(tail -n 1 "$log" | sed 's/^kprobes: //'): see $log"
}

compare()
{
	export CONFIG=$1

	[ "$1" = x86_64 ] || CONFIG=$1-user
	"$here/kernel.sh"
	"$here/kernel.sh" stock
	mkdir -p "$build/logs"
	of "stock-$CONFIG" "$stock_src" "$1" "$tmp/stock"
	of "$CONFIG" "$src" "$1" "$tmp/ours"
	ftrace_verdict "$1" "$tmp/stock" "$tmp/ours" <(picked_of "$here/expected/ftracetest")
}

# picked_of EXPECTED: its lines about tests that run
picked_of()
{
	sed 's/\.tc$//; s/.*\///' "$tmp/cases" | awk '
		NR == FNR { runs[$1] = 1; next }
		/^[^#]/ && $2 in runs' - "$1"
}

case ${1:-} in
arch)
	[ $# -eq 2 ] || die "ftracetest.sh: which architecture?"
	[ "$2" = x86_64 ] || [ -e "$here/configs/$2-user.config" ] ||
		die "no kernel with user space for $2: have x86_64 $(cd "$here/configs" && echo *-user.config | sed 's/-user\.config//g')"
	# ARCH= is a name of ours here, not the kernel's.
	unset ARCH MAKEFLAGS MAKEOVERRIDES
	compare "$2" | tee "$tmp/verdict"
	! grep -q '^not ok - ' "$tmp/verdict"
	;;
*)
	name=$CONFIG tree=$src
	if [ "${1:-}" = stock ]; then
		name=stock-$CONFIG tree=$stock_src
	fi
	run "$name" "$tree" | tee "$tmp/out"
	ftrace_results "$tmp/cases" <"$tmp/out" >"$tmp/results"
	! grep -E '	(FAIL|UNDEFINED|-)$' "$tmp/results"
	;;
esac
