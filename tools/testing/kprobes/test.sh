#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs all tests on the kernel of CONFIG, which has to be built:
#
#   KUnit        the suites in a guest with this kernel, and for the default
#                config all but slow cases once more through the tree's kunit.py, with
#                the small kernel of its own that lib/tests/kprobes/.kunitconfig asks for
#   guest tests  guest/tests/*.sh, what needs user space; for the default config
#                those marked "# preempt: full" once more with that parameter; one marked
#                "# own guest: REASON" in its own guest, and one marked "# needs:
#                config OPTION" only on kernels that have the option
#   hit path     hitpath.sh: is everything that a hit runs refused?
#   ordering     ordering.sh: are the barriers and locks there? For x86_64; other
#                architectures are checked with their suites
#   slots        slots.sh: do copies and detours follow the rules for generated code? For
#                the default kernel and i386, and fewer of them than "make slots" has
#   exports      is the API exported, to GPL modules only?
#   oops         oops.sh: handlers that crash; for the default config and i386
#   self-test    selftest.sh: do these scripts notice failures?
#
# For each kernel, expected/ lists the tests that must run and the skips that are allowed. A
# listed test that did not run is "not ok". "make expect" rewrites the list from what the latest
# "make test" of that kernel has run.
#
#   test.sh --check    only check that TEST= names a test
#
# TEST=glob runs only the tests with a matching name, see names.sh. QUICK=1 runs each of
# them once, without kernel parameters, and not through kunit.py. KERNEL=name is
# stock-$CONFIG, for comparison.
# STRESS_SECONDS=, TOGGLE_SECONDS= and RETURNS_SECONDS= are how long the tests of
# that name run; RETURNS_TASKS= and RETURNS_CALLS= how many sleep, and how often;
# ABUSE_CALLS= and ABUSE_SEED= how many calls "abuse" makes, and which; FUZZ_DEFS= and
# FUZZ_SEED= the same for the definitions of "event_fuzz", and PERF_DEFS= and PERF_SEED= for
# the attributes of "perf_fuzz" (the seeds are 1 if not given).
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

# shellcheck source=tools/testing/kprobes/results.sh
. "$here/results.sh"
# shellcheck source=tools/testing/kprobes/warnings.sh
. "$here/warnings.sh"
# shellcheck source=tools/testing/kprobes/names.sh
. "$here/names.sh"
# shellcheck source=tools/testing/kprobes/files.sh
. "$here/files.sh"

check_config
kernel=${KERNEL:-$CONFIG}
is_current "$kernel"
expected=$here/expected/$kernel
# Some runs are for the default kernel only, or one that is like it but for counting.
full=''
# Others are for i386, too.
both=''
case $kernel in
x86_64) full=1 both=1 ;;
i386) both=1 ;;
gcov) full=1 both=1 expected=$here/expected/x86_64 ;;
gcov32) both=1 expected=$here/expected/i386 ;;
esac
# Some kernels can watch the tests, see guest/watch.sh. A leak can be assigned to a suite only
# if the suite runs alone. A scan for leaks takes long while all functions are traced, so that
# is a separate run.
slow=$(config_slow)
watch=''
each=''
traced=''
case $(config_options) in *CONFIG_KCSAN=y*) watch="$watch races" ;; esac
case $(config_options) in *CONFIG_DEBUG_KMEMLEAK=y*) each=1 watch="$watch leaks" ;; esac
! config_is_traced || traced=1
results=$(mktemp)
list=$(mktemp)
files=$(mktemp -d)
# kunit.py builds a kernel of its own, and counting adds barriers.
left_out=''
case $kernel in gcov*) left_out='(kunit\.py|ordering)' ;; esac
beside=''
trap '[ -z "$beside" ] || kill_tree "$beside"
	[ -z "${ticker:-}" ] || kill_tree "$ticker"
	rm -rf "$results" "$results".* "$list" "$files"' EXIT
# While code is being changed, one run of each test is enough.
more=1
if [ -n "${QUICK:-}" ]; then
	[ -n "${TEST:-}" ] || die "QUICK=1 works only with TEST=: without it, everything has to run"
	more='' traced=''
	left_out='(kunit\.py|traced|traced-tests|maxcpus=1|cpus=6|preempt|preempt=full|spectre_v2=[a-z,]*|ITS|stuffing)'
fi

# Report a wrong name before a kernel is built for it.
case $kernel:${TEST:+picked} in
stock-*) ;;
*:picked)
	! nothing_picked ||
		die "no test is named $TEST: see guest/tests/ and lib/tests/kprobes/, or what make test prints" ;;
esac
[ "${1:-}" != --check ] || exit 0
only_one "test-$kernel"
use_tree

# all_suites RUN: the suites that the run is for. While everything is traced, a wait for tasks
# has taken ten seconds, so suites that wait often and are not about hits are left out.
all_suites()
{
	kunit_names "${kunit_sources[@]}" | sed 's/\..*//' | sort -u |
		case $1 in
		kunit|kunit.py) cat ;;
		traced) grep -vxE 'kprobes_(many|memory|text)' ;;
		maxcpus=1) grep -x kprobes_text ;;
		cpus=6) grep -x kprobes_control ;;
		preempt=full) grep -x 'kprobes_[do][ir].*' ;;
		*) grep '^kprobes_jump' ;;
		esac
}

# The suites that a run has, by the list; without one, those that it is for.
suites_of()
{
	if [ -e "$expected" ] && grep -q "^$1 " "$expected"; then
		awk -v run="$1" '$1 == run && $2 ~ /probe/ { print $2 }' "$expected"
	else
		all_suites "$1"
	fi
}

# On the default run there may be suites that are not on the list yet.
all_of()
{
	case $1 in
	kunit|traced) all_suites "$1" ;;
	*) suites_of "$1" ;;
	esac
}

# of_suites SUITES: those of the suites and cases on standard input
of_suites() { grep -xE "($(printf '%s\n' "$1" | paste -sd'|'))(\..*)?" || true; }

# of_speed RUN: the cases on standard input that are not too slow for it
of_speed()
{
	if [ "$1" = kunit.py ]; then
		grep -vxE ".*\.($(kunit_slow "${kunit_sources[@]}" | paste -sd'|'))" || true
	else
		cat
	fi
}

# kunit_picks RUN: the suites and cases of that run that TEST= picks, a line each. Nothing if
# the run is left out.
kunit_picks()
{
	local run=$1 prefix="$1: "

	[ "$run" != kunit ] || prefix=''
	if [ -z "${TEST:-}" ]; then
		suites_of "$run"
	elif [[ $kernel == stock-* ]]; then
		[ "$run" != kunit ] || echo "$TEST"
	else
		kunit_names "${kunit_sources[@]}" | of_suites "$(all_of "$run")" |
			of_speed "$run" | picked "$prefix"
	fi
}

guest()
{
	local what=$1

	shift
	if "$here/guest.sh" "$@" 2>"$results.why"; then
		cat "$results.why"
	else
		guest_failed "$what" "$results.why"
	fi
}

# picks_ran RUN: of the suites and cases that TEST= picks, those that have not run have failed
picks_ran()
{
	[ -z "${TEST:-}" ] || kunit_picks "$1" | of_suites "$(suites_of "$1")" |
		picked_lines "$1" "$results" | record expected ''
}

# counting LOG: a line each half minute, until hush. Not aside, where nobody reads it in time.
ticker=''
counting()
{
	[[ $results != *.aside ]] || return 0
	(
		for ((seconds = 30; ; seconds += 30)); do
			sleep 30
			kill -0 "$KPROBES_OWNER" 2>/dev/null || exit
			say "$(cases_so_far "$build/logs/$1.console") cases, $seconds s"
		done
	) &
	ticker=$!
}

hush()
{
	[ -z "$ticker" ] || kill_tree "$ticker"
	ticker=''
}

# kunit_in_guest RUN PREFIX WATCH SECONDS [EACH]: with EACH one suite after the other
kunit_in_guest()
{
	local run=$1 prefix=$2 log=kunit-$kernel picks=''

	[ "$run" = kunit ] || log=$log-$run
	[ -z "${TEST:-}" ] || picks=$(kunit_picks "$run")
	[ -n "${TEST:-}" ] || [ -z "${5:-}" ] || picks=$(all_of "$run")
	say "KUnit on $kernel${prefix:+, ${prefix%: }}"
	# The results are taken from the console: what was done before a crash
	# is there too.
	new_console "$log"
	counting "$log"
	guest kunit -t "$4" -l "$log" \
		-a "loglevel=7 kunit.enable=1 kunit.filter_glob=k*probe*" \
		"$build/$kernel" kunit PICKS="$(echo "$picks" | paste -sd' ')" WATCH="$3" \
		>"$build/logs/$log.txt" 2>&1
	hush
	{
		kunit_lines "${picks:+1}" <"$build/logs/$log.console"
		cat "$build/logs/$log.txt"
	} | record "$run" "$prefix"
	picks_ran "$run"
}

# kunit_run RUN GLOB SAYS PARAMETERS OPTION...: suites of that name in a guest that is booted
# with these parameters, and with these options for guest.sh. The suites adapt to the machine,
# so its console has to say that it is as this run wants it, by a line that matches SAYS.
kunit_run()
{
	local run=$1 glob=$2 says=$3 params=$4 log=kunit-$kernel-$1

	shift 4
	wanted "$run" || return 0
	say "KUnit on $kernel with $run"
	new_console "$log"
	counting "$log"
	guest kunit -t $((600 * slow)) -l "$log" "$@" \
		-a "loglevel=7 kunit.enable=1 kunit.filter_glob=$glob $params" \
		"$build/$kernel" kunit PICKS="${TEST:+$(kunit_picks "$run" | paste -sd' ')}" \
		>"$build/logs/$log.txt" 2>&1
	hush
	{
		kunit_lines "${TEST:+1}" <"$build/logs/$log.console"
		cat "$build/logs/$log.txt"
		grep -aqE "$says" "$build/logs/$log.console" ||
			echo "not ok - kunit: the kernel does not say \"$says\": see build/logs/$log.console"
	} | record "$run" "$run: "
	picks_ran "$run"
}

# The suites whose result depends on preemption, on the number of CPUs, which decides how much
# memory is needed, or on the code that is generated
kunit_otherwise()
{
	kunit_run cpus=6 kprobes_control 'smp: Brought up 1 node, 6 CPUs' '' -c 6
	kunit_run preempt=full 'kprobes_[do][ir]*' 'Dynamic Preempt: full' preempt=full
	kunit_with_mitigations
}

# aside COMMAND...: start these tests, and go on without waiting for them until rejoin. A guest
# often waits, and leaves a CPU idle.
aside()
{
	: >"$results.aside"
	results=$results.aside "$@" >"$results.said" 2>&1 &
	beside=$!
}

# rejoin: wait for them, and show and count their results as if they had run now
rejoin()
{
	local status=0

	wait "$beside" || status=$?
	beside=''
	cat "$results.said"
	cat "$results.aside" >>"$results"
	[ $status -eq 0 ] || echo "not ok - aside: ended with status $status" | record aside ''
}

# Generated code depends on what the CPU and the command line ask for. The CPU "max" needs no
# thunks but retpolines.
kunit_with_mitigations()
{
	local what param cpu says suites

	for what in spectre_v2=off spectre_v2=retpoline,lfence ITS stuffing; do
		param=$what cpu=max,-cx16 suites='kprobes_jump*'
		case $what in
		# Nor is there SMAP, whose instructions are not to be executed then, and without
		# which any code may read user space.
		spectre_v2=off) cpu=max,-cx16,-smap suites='kprobes_[jf][ua]*' says='Spectre V2 : off selected' ;;
		spectre_v2=*) says='Spectre V2 : Vulnerable: LFENCE' ;;
		ITS) param='' cpu=Icelake-Server,-cx16 says='ITS: Mitigation: Aligned' ;;
		# The base's emulation of CMPXCHG16B returns its result in a
		# flag, which the code that counts returns overwrites.
		stuffing)
			param='spectre_v2=retpoline retbleed=stuff' cpu=Skylake-Client
			says='RETBleed: Mitigation: Stuffing'
			;;
		esac
		kunit_run "$what" "$suites" "$says" "$param" -s 'LFENCE mitigation is not' -q "-cpu $cpu"
	done
}

kunit_by_tool()
{
	local log=$build/logs/kunit-tool status=0 picks=''

	# It takes one glob.
	[ -z "${TEST:-}" ] || picks=$(kunit_picks kunit.py)
	if [[ $picks == *$'\n'* ]]; then
		say "not through kunit.py, which takes one suite or one case: $TEST matches more"
		left_out=kunit.py
		return
	fi
	say "KUnit through tools/testing/kunit/kunit.py, which builds a kernel in build/kunit"
	rm -f "$log.console" "$build/kunit/test.log"
	"${interruptible[@]}" "$here/kunit.sh" --filter 'speed>slow' ${TEST:+"$picks"} >"$log.out" 2>&1 &
	progress $! "kunit.py" "$log.out" || status=$?
	cp "$build/kunit/test.log" "$log.console" 2>/dev/null || true
	{
		tool_lines "$status" "$log.out" "$log.console"
		if [ -n "$(emulator_patches)" ] && ! grep -aqs "$WRITTEN_TWICE" "$log.console"; then
			echo "not ok - kunit: the kernel lacks the changes that this QEMU needs"
		fi
		{ warnings_of "$build/kunit" "$log.out" || echo "cannot look for warnings: is the disk full?"; } |
			sed 's/^/not ok - kunit: /'
	} | record kunit.py 'kunit.py: '
	picks_ran kunit.py
}

# guest_tests RUN PREFIX PARAMS WATCH FILE...: runs those of the tests that match. A test whose
# option this kernel lacks is named in $unmet, once.
unmet=''
guest_tests()
{
	local run=$1 prefix=$2 cmdline=$3 watch=$4 names='' f option longer

	shift 4
	for f; do
		is_picked "$(basename "$f" .sh)" "$prefix" || continue
		while read -r option; do
			config_options | grep -x "$option=y" >/dev/null && continue
			[[ $unmet == *"; $(basename "$f" .sh) "* ]] || unmet="$unmet; $(basename "$f" .sh) needs $option"
			continue 2
		done < <(sed -n 's/^# needs: config //p' "$f")
		names="$names $(basename "$f" .sh)"
		cmdline="$cmdline $(sed -n 's/^# needs: cmdline //p' "$f")"
	done
	[ -n "$names" ] || return 0
	# "make execute" runs more of them.
	# shellcheck disable=SC2086
	if ! make_files "$files" "$kernel" $((3000 / slow)) $names; then
		echo "not ok - $run: a file that the tests need could not be made: see above" | record "$run" "$prefix"
		return
	fi
	say "guest tests on $kernel${prefix:+ with ${prefix%: }}"
	# What a guest that hangs shows is that no test ends: each has a limit of its own. Beside
	# other work all of them together may take three times as long as alone.
	longer=$((${STRESS_SECONDS:-0} + ${TOGGLE_SECONDS:-0} + ${RETURNS_SECONDS:-0} + ${ABUSE_CALLS:-0} / 100 + ${FUZZ_DEFS:-0} / 5 + ${PERF_DEFS:-0} / 4))
	guest tests -w $((300 * (slow + 1) + longer)) -t $((3000 + (slow > 1) * 6000 + longer)) \
		-l "$run-$kernel" -a "$cmdline" -f "$files" \
		"$build/$kernel" tests TESTS="$names" WATCH="$watch" SLOW="$slow" \
		ABUSE_CALLS="${ABUSE_CALLS:-}" ABUSE_SEED="${ABUSE_SEED:-}" \
		FUZZ_DEFS="${FUZZ_DEFS:-}" FUZZ_SEED="${FUZZ_SEED:-}" \
		PERF_DEFS="${PERF_DEFS:-}" PERF_SEED="${PERF_SEED:-}" \
		STRESS_SECONDS="${STRESS_SECONDS:-}" TOGGLE_SECONDS="${TOGGLE_SECONDS:-}" \
		RETURNS_SECONDS="${RETURNS_SECONDS:-}" RETURNS_TASKS="${RETURNS_TASKS:-}" \
		RETURNS_CALLS="${RETURNS_CALLS:-}" \
		2>&1 | record "$run" "$prefix"
}

# Does make run show what it should, and are its probes hit?
run_shows()
{
	local log=$build/logs/run-$kernel.txt

	if "$here/guest.sh" -t 300 -l "run-$kernel" "$build/$kernel" run \
			SYMBOL=kernel_clone OFFSET= >"$log" 2>&1 &&
	   grep -q '^The probes saw' "$log"; then
		echo "ok - run: make run shows what it says, and its probes are hit"
	else
		echo "not ok - run: make run shows what it says, and its probes are hit"
		sed 's/^/    # /' "$log" | tail -n 5
	fi | record run ''
}

# Is everything that a hit runs refused?
hit_path()
{
	say "the path of a hit in $kernel"
	CONFIG=$kernel lines_of hitpath "$here/hitpath.sh" | record hitpath ''
}

# Are the barriers there?
barriers()
{
	lines_of ordering "$here/ordering.sh" x86_64 "$build/$kernel" | record ordering ''
}

# Do copies and detours follow the rules for generated code?
generated_code()
{
	say "copies and detours in $kernel"
	KERNEL=$kernel PROBES=600 ONLY=default lines_of slots "$here/slots.sh" | record slots ''
}

# Is the API exported, to GPL modules only?
exports()
{
	local bad

	bad=$(exports_verdict "$build/$kernel/Module.symvers")
	if [ -z "$bad" ]; then
		echo "ok - exports: the API is exported, to GPL modules only"
	else
		echo "not ok - exports: $(echo "$bad" | paste -sd, | sed 's/,/, /g')"
	fi | record exports ''
}

oops_guests()
{
	[ -n "$(oops_names | picked '')" ] || return 0
	say "handlers that crash, on $kernel"
	KERNEL=$kernel lines_of oops "$here/oops.sh" | record oops ''
}

# wanted RUN: does any test of it run?
wanted() { [ -n "$(kunit_picks "$1")" ]; }

# The self-test takes a minute or two, and always runs as a whole.
selftest()
{
	lines_of selftest "$here/selftest.sh" | sed 's/^\(not \)\?ok - /&selftest./' | while IFS= read -r line; do
		name=${line#*ok - }
		case $line in
		# The last one is of the self-test itself: it has not come to its end.
		'ok - '*|'not ok - '*)
			! is_picked "${name%%: *}" && [[ $name != selftest.selftest:* ]] || printf '%s\n' "$line"
			;;
		*) printf '%s\n' "$line" ;;
		esac
	done | record selftest ''
	[ -z "${TEST:-}" ] || selftest_names | picked '' | picked_lines selftest "$results" | record expected ''
}

selftests() { [ -z "$(selftest_names | picked '')" ] || step selftest selftest; }

# What does not need all of a machine
beside_kunit()
{
	selftests
	[ -z "$more" ] || kunit_otherwise
}

# step RUN COMMAND...: the results of that run; those that are kept, if it has passed before.
# Only a whole run keeps results.
step()
{
	local run=$1 kept=${KPROBES_KEEP:+$KPROBES_KEEP/$1}

	shift
	if [ -n "$kept" ] && [ -z "${TEST:-}" ] && [ -s "$kept" ]; then
		say "$run on $kernel has passed before: $(wc -l <"$kept") results"
		cat "$kept" >>"$results"
		return
	fi
	"$@"
	[ -z "$kept" ] || [ -n "${TEST:-}" ] || keep_passed "$run" "$results" "$kept"
}

mkdir -p "$build/logs" ${KPROBES_KEEP:+"$KPROBES_KEEP"}
need_qemu
if [ -n "$full" ]; then
	aside beside_kunit
else
	selftests
fi
! wanted kunit || step kunit kunit_in_guest kunit '' "$watch" $((1800 * slow)) "$each"
# All takes about eight times as long there.
[ -z "$traced" ] || ! wanted traced ||
	step traced kunit_in_guest traced 'traced: ' tracers $((900 * slow + 3600)) each
# Some things differ on a machine that waits for its second CPU.
[ -z "$more" ] || step maxcpus=1 kunit_run maxcpus=1 kprobes_text 'smp: Brought up 1 node, 1 CPU\>' maxcpus=1
[ -z "$full" ] || rejoin
mapfile -t shared < <(grep -L '^# own guest: ' "$here"/guest/tests/*.sh)
step tests guest_tests tests '' '' "$watch" "${shared[@]}"
if [ -n "$traced" ]; then
	STRESS_SECONDS=${STRESS_SECONDS:-80} RETURNS_SECONDS=${RETURNS_SECONDS:-60} \
		FUZZ_DEFS=${FUZZ_DEFS:-150} PERF_DEFS=${PERF_DEFS:-600} \
		step traced-tests guest_tests traced-tests 'traced: ' '' tracers "${shared[@]}"
fi
mapfile -t own < <(grep -l '^# own guest: ' "$here"/guest/tests/*.sh)
for f in "${own[@]}"; do
	step "$(basename "$f" .sh)" guest_tests "$(basename "$f" .sh)" '' '' '' "$f"
done
if [ -n "$full" ] && [ -n "$more" ]; then
	mapfile -t preempt < <(grep -lx '# preempt: full' "$here"/guest/tests/*.sh)
	guest_tests preempt 'preempt=full: ' preempt=full '' "${preempt[@]}"
fi
[ -z "$both" ] || oops_guests
! is_picked run || step run run_shows
! is_picked hitpath || [[ $kernel == stock-* ]] || step hitpath hit_path
! is_picked ordering || [ "$kernel" != x86_64 ] || step ordering barriers
[ -z "$both" ] || ! is_picked slots.default || step slots generated_code
! is_picked exports || [[ $kernel == stock-* ]] || step exports exports
# As long as the list says what has to run there.
! grep -qs '^kunit.py ' "$expected" || [ -n "$left_out" ] || ! wanted kunit.py || kunit_by_tool

[ -s "$results" ] || die "no test of $kernel is named ${TEST:-}$unmet"
# Without make, the guests have failed for that reason only: the last results are kept.
[ -z "${KPROBES_OWNER:-}" ] || kill -0 "$KPROBES_OWNER" 2>/dev/null || exit 1
[ -n "${TEST:-}" ] || cp "$results" "$build/logs/results-$kernel"
if [ -e "$expected" ]; then
	grep -vE "^${left_out:-#} " "$expected" >"$list"
	expected_lines "$list" "$results" "${TEST:-}" >"$list.wrong"
	record expected '' <"$list.wrong"
	[ -z "${KPROBES_KEEP:-}" ] || drop_kept "$KPROBES_KEEP" <"$list.wrong"
	rm -f "$list.wrong"
elif [[ $kernel != stock-* ]] && [ -z "${TEST:-}" ]; then
	echo "not ok - expected: no list of the tests that have to run: make expect CONFIG=$kernel takes it from this run" | record expected ''
fi

count_results
if [ "$failed" -gt 0 ]; then
	echo
	awk -F '\t' '$1 == "not ok" { print "not ok - " $2 ": " $3 ($5 == "-" ? "" : ": " $5) }' "$results"
fi
echo
[ -z "$unmet" ] || say "not on $kernel: ${unmet#; }"
[ $((skipped + parameters)) -eq 0 ] || echo "$skipped skipped, and $parameters parameters"
outcome CONFIG=
