#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The KUnit suites on other architectures, see arches.sh.
#
#   test-arch.sh NAME      build, boot, show each case and count
#   test-arch.sh all       all of them, a line each
#   test-arch.sh --check NAME   only: is there one, and the tests of TEST= on it?
#
# expected/NAME lists the suites that have to run, and the skips that are allowed, as for
# x86; "make expect CONFIG=NAME" writes it from the latest complete run. TEST=glob runs
# only suites or cases with a matching name, see names.sh: one of them at least.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/arches.sh
. "$(dirname "$0")/arches.sh"
# shellcheck source=tools/testing/kprobes/results.sh
. "$(dirname "$0")/results.sh"
# shellcheck source=tools/testing/kprobes/boot.sh
. "$(dirname "$0")/boot.sh"

tmp=$(mktemp -d)
qemu_pid=
trap '[ -z "$qemu_pid" ] || kill $qemu_pid 2>/dev/null; rm -rf "$tmp"' EXIT

# check NAME: sets what arch_is does, and picks to the suites and cases of TEST=
check()
{
	# These have a user space, and tests in it, see test.sh.
	case $1 in
	x86_64 | i386) die "ARCH=$1: have $arches_all; for x86: make test CONFIG=$1" ;;
	esac
	arch_is "$1"
	picks=''
	[ -n "${TEST:-}" ] || return 0
	[ -n "$qemu" ] || die "TEST=$TEST: nothing runs on $1, it is only built"
	picks=$(kunit_names "${kunit_sources[@]}" | picked '')
	[ -n "$picks" ] || die "no suite or case is named $TEST: see lib/tests/kprobes/, or what make test prints"
}

# needs NAME...: all packages for these are asked for before hours of building
needs()
{
	local packages

	mapfile -t packages < <(arch_packages "$@")
	need "${build_packages[@]}" "${packages[@]}"
}

# ordering_of NAME: the barriers and locks that are listed for it
ordering_of() { awk -v arch="$1" '$2 == arch' "$here/ordering.list"; }

# test_one NAME: counts are in passed, failed, skipped and parameters.
test_one()
{
	local log=$build/logs/kunit-$1 expected=$here/expected/$1

	check "$1"
	needs "$1"
	CONFIG=$1 "$here/kernel.sh" || die "$1 does not build"
	[ -n "$qemu" ] || return 0
	use_tree
	say "KUnit on $1"
	results=$tmp/results
	: >"$results"
	arch_suites "$1" "$log" "${BOOT_TIMEOUT:-1200}" "$picks" >"$tmp/lines"
	record kunit '' <"$tmp/lines"
	[ -s "$results" ] || die "$1 has run no case that is named $TEST"
	if [ -z "${TEST:-}" ]; then
		[ -z "$(ordering_of "$1")" ] ||
			lines_of ordering "$here/ordering.sh" "$1" "$build/$1" "$cross" | record ordering ''
		cp "$results" "$build/logs/results-$1"
	fi
	if [ -e "$expected" ]; then
		expected_lines "$expected" "$results" "${TEST:-}"
	else
		echo "not ok - expected: the list of what has to run is missing: $expected"
	fi >"$tmp/missing"
	# If several are picked, this architecture need not have all of them.
	[ -z "$picks" ] || [[ $picks == *$'\n'* ]] || picked_lines kunit "$results" <<<"$picks" >>"$tmp/missing"
	record expected '' <"$tmp/missing"
	count_results
}

# summary LOG: the end of a run for one architecture, on a line
summary()
{
	case $(tail -n 1 "$1") in
	*' passed, '*) tail -n 2 "$1" | tac | paste -sd';' | sed 's/;/; /' ;;
	*) tail -n 1 "$1" | sed 's/^kprobes: //' ;;
	esac
}

only_check=''
[ "${1:-}" != --check ] || { only_check=1; shift; }
[ $# -eq 1 ] || die "test-arch.sh: no architecture given: have $arches_all"
if [ -n "$only_check" ]; then
	check "$1"
	exit
fi
# ARCH= is a name of ours here, not the kernel's.
unset ARCH MAKEFLAGS MAKEOVERRIDES
mkdir -p "$build/logs"
status=0
if [ "$1" != all ]; then
	test_one "$1"
	if [ -z "$qemu" ]; then
		say "built, not booted"
		exit
	fi
	echo
	echo "$skipped skipped, and $parameters parameters"
	outcome ARCH= || status=1
else
	# With TEST=, those where something runs.
	[ -z "${TEST:-}" ] || arches_all=$arches
	# shellcheck disable=SC2086
	needs $arches_all
	for name in $arches_all; do
		# In a shell of its own, whose verdict is its status: die() ends
		# this architecture only.
		log=$build/logs/arch-$name.txt
		"${interruptible[@]}" "$here/test-arch.sh" "$name" >"$log" 2>&1 </dev/null &
		if watched $! "$name" "$log"; then
			verdict=
		else
			verdict=" (see build/logs/arch-$name.txt)"
			status=1
		fi
		echo "$name: $(summary "$log")$verdict"
	done
fi
exit $status
