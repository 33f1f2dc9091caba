#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs the ftrace project's own kprobe tests in a guest.
#
#   ftracetest.sh             on our kernel of CONFIG
#   ftracetest.sh stock       on the unchanged base
#   ftracetest.sh arch NAME   on both, for an architecture of arches.sh that has a
#                             configs/NAME-user.config, or x86_64: builds them, and prints
#                             a table. Fails if a test passes on stock but not on ours.
#
# Fails if a test does not pass without being in expected/ftracetest, which is for
# architectures.
#
# TEST=glob runs only tests with a matching name. TIMEOUT=seconds (600) is for each of
# them.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/ftracetest-results.sh
. "$here/ftracetest-results.sh"
# shellcheck source=tools/testing/kprobes/arches.sh
. "$here/arches.sh"

tests=tools/testing/selftests/ftrace
scratch

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

# run CASES KERNEL TREE [ARCH]: what ftracetest prints, and the logs of what does not pass
run()
{
	local args=(-r -t 7200 -w "${TIMEOUT:-600}" -l "ftracetest-$2") where=/host$3/$tests

	[ -s "$1" ] || die "no ftrace test is named $TEST"
	if [ -n "${4:-}" ] && [ "$4" != x86_64 ]; then
		# This guest sees nothing of this machine.
		rm -rf "$tmp/files"
		mkdir "$tmp/files"
		cp -r "$3/$tests" "$tmp/files/ftrace"
		args+=(-A "$4" -f "$tmp/files")
		where=/ftrace
	fi
	"$here/guest.sh" "${args[@]}" "$build/$2" ftracetest TESTS="$where" \
		CASES="$(paste -sd' ' "$1")" | sed -u 's/\x1b\[[0-9;]*m//g'
}

# all_of KERNEL TREE ARCH RESULTS: all tests, to a log, and the results to that file. A test
# that kills its guest, or makes it hang, is not the end: the rest runs in another one.
all_of()
{
	local log=$build/logs/ftracetest-$1.txt status why ended

	say "the ftrace project's tests on $1: see build/logs/${log##*/}"
	: >"$log"
	: >"$4"
	cases "$2" >"$tmp/cases"
	cp "$tmp/cases" "$tmp/left"
	while :; do
		status=0
		(run "$tmp/left" "$1" "$2" "$3") >"$tmp/out" 2>&1 || status=$?
		cat "$tmp/out" >>"$log"
		ftrace_results "$tmp/left" <"$tmp/out" >"$tmp/got"
		grep -v '	-$' "$tmp/got" >>"$4" || true
		[ $status -ne 0 ] || break
		why=$(tail -n 1 "$tmp/out" | sed 's/^kprobes: //')
		if grep -q '	DIES$' "$tmp/got"; then
			say "in $(tail -n 1 "$4" | cut -f1): $why"
		else
			echo "not ok - $1: $why"
		fi
		ended=$(grep -cv '	-$' "$tmp/got") || break
		sed -i "1,${ended}d" "$tmp/left"
		[ -s "$tmp/left" ] || return 0
	done
	grep '	-$' "$tmp/got" >>"$4" || true
}

compare()
{
	local packages

	export CONFIG=$1
	mapfile -t packages < <(arch_packages "$1")
	[ "$1" != x86_64 ] || packages+=("${guest_packages[@]}")
	need "${build_packages[@]}" "${packages[@]}"
	[ "$1" = x86_64 ] || CONFIG=$1-user
	"$here/kernel.sh"
	"$here/kernel.sh" stock
	mkdir -p "$build/logs"
	all_of "stock-$CONFIG" "$stock_src" "$1" "$tmp/stock"
	all_of "$CONFIG" "$src" "$1" "$tmp/ours"
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
	[ $# -eq 2 ] || die "ftracetest.sh: no architecture given"
	[ "$2" = x86_64 ] || [ -e "$here/configs/$2-user.config" ] ||
		die "no kernel with user space for $2: have x86_64 $(cd "$here/configs" && echo *-user.config | sed 's/-user\.config//g')"
	# ARCH= is a name of ours here, not the kernel's.
	unset ARCH MAKEFLAGS MAKEOVERRIDES
	compare "$2" | tee "$tmp/verdict"
	noted "$(tail -n 1 "$tmp/verdict")"
	! grep -q '^not ok - ' "$tmp/verdict"
	;;
*)
	name=$CONFIG tree=$src
	if [ "${1:-}" = stock ]; then
		name=stock-$CONFIG tree=$stock_src
	fi
	cases "$tree" >"$tmp/cases"
	run "$tmp/cases" "$name" "$tree" | tee "$tmp/out"
	ftrace_results "$tmp/cases" <"$tmp/out" >"$tmp/results"
	picked_of "$here/expected/ftracetest" >"$tmp/expected"
	ftrace_faults "$(config_arch)" "$tmp/results" "$tmp/expected" | tee "$tmp/faults"
	noted "$(wc -l <"$tmp/cases") tests, $(wc -l <"$tmp/faults") not as they should be"
	[ ! -s "$tmp/faults" ]
	;;
esac
