#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# All tests on the kernel of CONFIG, which is built already:
#
#   KUnit        the suites in a guest with this kernel, and for the default
#                config once more through the tree's kunit.py, with the small
#                kernel of its own that lib/tests/kprobes/.kunitconfig asks for
#   guest tests  guest/tests/*.sh, what needs user space
#
# TEST=glob runs only the guest tests and the KUnit suites or cases of that
# name. KERNEL=name is another kernel under build/, e.g. stock-x86_64.
# STRESS_SECONDS=, TOGGLE_SECONDS= and RETURNS_SECONDS= are how long the tests of
# that name run; RETURNS_TASKS= and RETURNS_CALLS= how many sleep, and how often.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

kernel=${KERNEL:-$CONFIG}
results=$(mktemp)
trap 'rm -f "$results"' EXIT

# note WHERE: take "ok - ...", "not ok - ..." and "skip - ..." lines, and let
# all lines through.
note()
{
	tee >(grep -E '^(ok|not ok|skip) - ' >>"$results")
}

# KTAP to our lines. Cases are what is indented by four; a case that says why
# it failed does so in the lines before its own.
kunit_lines()
{
	tr -d '\r' | sed 's/^\[[^]]*\] //' | awk -v picked="${TEST:+1}" '
		/^    # Subtest: / { suite = $NF }
		/^    1\.\.[0-9]+$/ { sub(/.*\./, ""); planned += $0 }
		/^    # .*: (EXPECTATION|ASSERTION) FAILED/ { keep = 8 }
		keep > 0 && !/^    (not )?ok / { why[++nw] = $0; keep-- }
		/^    (not )?ok [0-9]+ / {
			verdict = $1 == "ok" ? "ok" : "not ok"
			if (/# SKIP/) verdict = "skip"
			name = $0
			sub(/^ *(not )?ok [0-9]+ /, "", name)
			print verdict " - " suite "." name
			if (verdict == "not ok")
				for (i = 1; i <= nw; i++) print "    # " why[i]
			nw = keep = 0
			seen++
		}
		/^cannot load/ { print "not ok - kunit: " $0 }
		END {
			if (!seen && !picked) print "not ok - kunit: no case has run"
			else if (seen < planned)
				print "not ok - kunit: " planned - seen " of " planned " cases have not run"
		}'
}

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
		kunit_lines <"$build/logs/kunit-$kernel.console"
		cat "$build/logs/kunit-$kernel.txt"
	} | note
}

# What is different on a machine that waits for its second CPU.
kunit_on_one_cpu()
{
	# shellcheck disable=SC2254,SC2194
	case kprobes_text in
	${TEST:-kprobes_text}) ;;
	*) return 0 ;;
	esac
	say "KUnit on $kernel with maxcpus=1"
	guest kunit -t 300 -l "kunit-$kernel-maxcpus" \
		-a "loglevel=7 maxcpus=1 kunit.enable=1 kunit.filter_glob=kprobes_text" \
		"$build/$kernel" kunit >"$build/logs/kunit-$kernel-maxcpus.txt" 2>&1
	{
		kunit_lines <"$build/logs/kunit-$kernel-maxcpus.console"
		cat "$build/logs/kunit-$kernel-maxcpus.txt"
	} | sed 's/ - / - maxcpus=1: /' | note
}

kunit_by_tool()
{
	local dir=lib/tests/kprobes log=$build/logs/kunit-tool

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
	progress $! "kunit.py" "$log.out" || true
	cp "$build/kunit/test.log" "$log.console" 2>/dev/null || true
	if [ -s "$log.console" ] && grep -q 'KTAP version' "$log.console"; then
		kunit_lines <"$log.console"
		grep -q 'Testing complete. Ran' "$log.out" ||
			echo "not ok - kunit.py: see $log.out"
	else
		grep -m 5 -E 'ERROR|error:' "$log.out" || true
		echo "not ok - kunit.py: no test has run: see $log.out"
	fi | sed 's/ - / - kunit.py: /' | note
}

guest_tests()
{
	local cmdline='' any='' f

	for f in "$here"/guest/tests/*.sh; do
		# shellcheck disable=SC2254
		case $(basename "$f") in
		${TEST:-*}.sh|${TEST:-*})
			any=1
			cmdline="$cmdline $(sed -n 's/^# needs: cmdline //p' "$f")" ;;
		esac
	done
	[ -n "$any" ] || return 0
	say "guest tests on $kernel"
	guest tests -t $((1500 + ${STRESS_SECONDS:-0} + ${TOGGLE_SECONDS:-0} + ${RETURNS_SECONDS:-0})) \
		-l "tests-$kernel" -a "$cmdline" \
		"$build/$kernel" tests TEST="${TEST:-*}" \
		STRESS_SECONDS="${STRESS_SECONDS:-}" TOGGLE_SECONDS="${TOGGLE_SECONDS:-}" \
		RETURNS_SECONDS="${RETURNS_SECONDS:-}" RETURNS_TASKS="${RETURNS_TASKS:-}" \
		RETURNS_CALLS="${RETURNS_CALLS:-}" \
		2>&1 | note
}

# What make run shows is shown, and its probes are hit.
run_shows()
{
	local log=$build/logs/run-$kernel.txt

	# shellcheck disable=SC2254,SC2194
	case run in
	${TEST:-run}) ;;
	*) return 0 ;;
	esac
	if "$here/guest.sh" -t 300 -l "run-$kernel" "$build/$kernel" run \
			SYMBOL=kernel_clone OFFSET=0 >"$log" 2>&1 &&
	   grep -q '^The probes saw' "$log"; then
		echo "ok - run: make run shows what it says, and its probes are hit"
	else
		echo "not ok - run: make run shows what it says, and its probes are hit"
		sed 's/^/    # /' "$log" | tail -n 5
	fi | note
}

mkdir -p "$build/logs"
need_qemu
kunit_in_guest
kunit_on_one_cpu
guest_tests
run_shows
[ "$kernel" != x86_64 ] || kunit_by_tool
sleep 0.2	# for the last tee

passed=$(grep -c '^ok - ' "$results") || true
failed=$(grep -c '^not ok - ' "$results") || true
skipped=$(grep -c '^skip - ' "$results") || true
if [ "$failed" -gt 0 ]; then
	echo
	grep '^not ok - ' "$results"
fi
[ $((passed + failed + skipped)) -gt 0 ] || die "no test is named $TEST: see guest/tests/ and lib/tests/kprobes/"
echo
[ "$skipped" -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
