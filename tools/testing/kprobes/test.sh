#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# All tests on the kernel of CONFIG, which is built already:
#
#   KUnit        the suites in a guest with this kernel, and for the default
#                config once more through the tree's kunit.py, with the small
#                kernel of its own that lib/tests/kprobes/.kunitconfig asks for
#   guest tests  guest/tests/*.sh, what needs user space; for the default config
#                those marked "# preempt: full" once more with that parameter
#   self-test    selftest.sh: do these scripts see what goes wrong?
#
# What has to run is listed in expected/ for each kernel, and which skips are
# allowed; what did not run is "not ok". "make expect" writes the list anew, from
# what the latest "make test" of that kernel has run.
#
# TEST=glob runs only the guest tests and the KUnit suites or cases of that
# name. KERNEL=name is another kernel under build/, e.g. stock-x86_64.
# STRESS_SECONDS=, TOGGLE_SECONDS= and RETURNS_SECONDS= are how long the tests of
# that name run; RETURNS_TASKS= and RETURNS_CALLS= how many sleep, and how often.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

# shellcheck source=tools/testing/kprobes/results.sh
. "$here/results.sh"
# shellcheck source=tools/testing/kprobes/warnings.sh
. "$here/warnings.sh"

kernel=${KERNEL:-$CONFIG}
expected=$here/expected/$kernel
results=$(mktemp)
trap 'rm -f "$results"' EXIT

# A guest that does not come to its end is a failure of its own.
guest()
{
	local what=$1

	shift
	"$here/guest.sh" "$@" || echo "not ok - $what: the guest failed: see build/logs/"
}

kunit_in_guest()
{
	say "KUnit on $kernel"
	# The results are taken from the console: what was done before a crash
	# is there too.
	guest kunit -t 900 -l "kunit-$kernel" \
		-a "loglevel=7 kunit.enable=1 kunit.filter_glob=${TEST:-k*probe*}" \
		"$build/$kernel" kunit >"$build/logs/kunit-$kernel.txt" 2>&1
	{
		kunit_lines "${TEST:+1}" <"$build/logs/kunit-$kernel.console"
		cat "$build/logs/kunit-$kernel.txt"
	} | record kunit ''
}

# What is different on a machine that waits for its second CPU.
kunit_on_one_cpu()
{
	say "KUnit on $kernel with maxcpus=1"
	guest kunit -t 300 -l "kunit-$kernel-maxcpus" \
		-a "loglevel=7 maxcpus=1 kunit.enable=1 kunit.filter_glob=${TEST:-kprobes_text}" \
		"$build/$kernel" kunit >"$build/logs/kunit-$kernel-maxcpus.txt" 2>&1
	{
		kunit_lines "${TEST:+1}" <"$build/logs/kunit-$kernel-maxcpus.console"
		cat "$build/logs/kunit-$kernel-maxcpus.txt"
	} | record maxcpus=1 'maxcpus=1: '
}

kunit_by_tool()
{
	local dir=lib/tests/kprobes log=$build/logs/kunit-tool status=0

	[ -e "$src/$dir/.kunitconfig" ] ||
		die "no $dir/.kunitconfig in build/linux: is lib/tests/ complete?"
	say "KUnit through tools/testing/kunit/kunit.py, which builds a kernel in build/kunit"
	lock kunit
	ccache_env
	(cd "$src" && python3 tools/testing/kunit/kunit.py run --arch=x86_64 \
		--kunitconfig="$dir" --build_dir="$build/kunit" --jobs="$(nproc)" \
		--make_options='CC=ccache gcc' --make_options='HOSTCC=ccache gcc' \
		--make_options=KCPPFLAGS=-fmacro-prefix-map=../linux/= \
		--kernel_args="$(guest_time)" \
		--qemu_args='-smp 2 -accel tcg,thread=multi -cpu max,-cx16' \
		--timeout=900 ${TEST:+"$TEST"}) >"$log.out" 2>&1 &
	progress $! "kunit.py" "$log.out" || status=$?
	cp "$build/kunit/test.log" "$log.console" 2>/dev/null || true
	{
		tool_lines "$status" "$log.out" "$log.console"
		if [ -n "$(emulator_patches)" ] && ! grep -aqs "$WRITTEN_TWICE" "$log.console"; then
			echo "not ok - kunit: the kernel has not the changes that this QEMU needs"
		fi
		warnings_of "$build/kunit" "$log.out" | sed 's/^/not ok - kunit: /'
	} | record kunit.py 'kunit.py: '
}

# guest_tests RUN PREFIX PARAMS FILE...: those of the tests that match
guest_tests()
{
	local run=$1 prefix=$2 cmdline=$3 names='' f

	shift 3
	for f; do
		# shellcheck disable=SC2254
		case $(basename "$f") in
		${TEST:-*}.sh|${TEST:-*})
			names="$names $(basename "$f" .sh)"
			cmdline="$cmdline $(sed -n 's/^# needs: cmdline //p' "$f")" ;;
		esac
	done
	[ -n "$names" ] || return 0
	say "guest tests on $kernel${prefix:+ with ${prefix%: }}"
	guest tests -t $((1500 + ${STRESS_SECONDS:-0} + ${TOGGLE_SECONDS:-0} + ${RETURNS_SECONDS:-0})) \
		-l "$run-$kernel" -a "$cmdline" \
		"$build/$kernel" tests TESTS="$names" \
		STRESS_SECONDS="${STRESS_SECONDS:-}" TOGGLE_SECONDS="${TOGGLE_SECONDS:-}" \
		RETURNS_SECONDS="${RETURNS_SECONDS:-}" RETURNS_TASKS="${RETURNS_TASKS:-}" \
		RETURNS_CALLS="${RETURNS_CALLS:-}" \
		2>&1 | record "$run" "$prefix"
}

# What make run shows is shown, and its probes are hit.
run_shows()
{
	local log=$build/logs/run-$kernel.txt

	if "$here/guest.sh" -t 300 -l "run-$kernel" "$build/$kernel" run \
			SYMBOL=kernel_clone OFFSET=0 >"$log" 2>&1 &&
	   grep -q '^The probes saw' "$log"; then
		echo "ok - run: make run shows what it says, and its probes are hit"
	else
		echo "not ok - run: make run shows what it says, and its probes are hit"
		sed 's/^/    # /' "$log" | tail -n 5
	fi | record run ''
}

# wants NAME...: does TEST= let one of them through?
wants()
{
	local name

	[ -n "${TEST:-}" ] || return 0
	for name; do
		# shellcheck disable=SC2254
		case $name in
		${TEST%%.*}) return 0 ;;
		esac
	done
	return 1
}

# The suites of a run, by the list; without one, any name is a suite's.
suites()
{
	if [ -e "$expected" ]; then
		awk -v run="$1" '$1 == run { print $2 }' "$expected"
	else
		echo "${TEST:-}"
	fi
}

# wanted RUN: does any suite of it run?
wanted()
{
	local names

	mapfile -t names < <(suites "$1")
	wants "${names[@]}"
}

mkdir -p "$build/logs"
need_qemu
! wants selftest || { "$here/selftest.sh" || true; } | sed 's/^\(not \)\?ok - /&selftest./' | record selftest ''
! wanted kunit || kunit_in_guest
! wanted maxcpus=1 || kunit_on_one_cpu
guest_tests tests '' '' "$here"/guest/tests/*.sh
if [ "$kernel" = x86_64 ]; then
	mapfile -t preempt < <(grep -lx '# preempt: full' "$here"/guest/tests/*.sh)
	guest_tests preempt 'preempt=full: ' preempt=full "${preempt[@]}"
fi
! wants run || run_shows
[ "$kernel" != x86_64 ] || ! wanted kunit.py || kunit_by_tool

[ -s "$results" ] || die "no test is named $TEST: see guest/tests/ and lib/tests/kprobes/"
[ -n "${TEST:-}" ] || cp "$results" "$build/logs/results-$kernel"
if [ -e "$expected" ]; then
	expected_lines "$expected" "$results" "${TEST:-}" | record expected ''
elif [[ $kernel != stock-* ]]; then
	echo "not ok - expected: nobody knows what has to run: no $expected" | record expected ''
fi

passed=$(grep -c '^ok	' "$results") || true
failed=$(grep -c '^not ok	' "$results") || true
skipped=$(grep -c '^skip	' "$results") || true
parameters=$(grep -c '^pskip	' "$results") || true
if [ "$failed" -gt 0 ]; then
	echo
	awk -F '\t' '$1 == "not ok" { print "not ok - " $2 ": " $3 ($5 == "-" ? "" : ": " $5) }' "$results"
fi
echo
[ $((skipped + parameters)) -eq 0 ] || echo "$skipped skipped, and $parameters parameters"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
