#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests that the scripts here notice failures: logs with one defect each. Prints a line
# for each, as the tests do.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/results.sh
. "$here/results.sh"
# shellcheck source=tools/testing/kprobes/warnings.sh
. "$here/warnings.sh"
# shellcheck source=tools/testing/kprobes/names.sh
. "$here/names.sh"
# shellcheck source=tools/testing/kprobes/torture-results.sh
. "$here/torture-results.sh"
# shellcheck source=tools/testing/kprobes/soak-results.sh
. "$here/soak-results.sh"
# shellcheck source=tools/testing/kprobes/kcsan.sh
. "$here/kcsan.sh"
# shellcheck source=tools/testing/kprobes/debug-results.sh
. "$here/debug-results.sh"
# shellcheck source=tools/testing/kprobes/survive-results.sh
. "$here/survive-results.sh"
# shellcheck source=tools/testing/kprobes/ftracetest-results.sh
. "$here/ftracetest-results.sh"
# shellcheck source=tools/testing/kprobes/clients-results.sh
. "$here/clients-results.sh"
# shellcheck source=tools/testing/kprobes/known.sh
. "$here/known.sh"
# shellcheck source=tools/testing/kprobes/builds-results.sh
. "$here/builds-results.sh"
# shellcheck source=tools/testing/kprobes/boot.sh
. "$here/boot.sh"
# shellcheck source=tools/testing/kprobes/everything-results.sh
. "$here/everything-results.sh"
# shellcheck source=tools/testing/kprobes/mutants-results.sh
. "$here/mutants-results.sh"
# What this run was given is not for the scripts that it tests. make passes on all variables of
# its command line.
mapfile -t given < <(sed -n 's/^#: //p' "$top/Makefile" | grep -oE '\<[A-Z_]+=' | tr -d = |
	grep -vxE 'CONFIG|EMULATOR_PATCHES|KPROBES_.*')
[ ${#given[@]} -gt 20 ] || die "cannot find the variables of make in what make help shows"
unset "${given[@]}" SECONDS_EACH TIMEOUT JOBS

scratch
results=$tmp/results
runs=$tmp/runs
export KPROBES_RUNS=$runs
prepared=$build/linux

# sees NAME PROVES WANTED: standard input has that line; "" means no failure at all
sees()
{
	local got

	got=$(grep '^not ok - ' || true)
	if [ "$got" = "$3" ]; then
		echo "ok - $1: $2"
	else
		printf 'not ok - %s: %s\n' "$1" "$2"
		printf 'got:\n%s\nwanted:\n%s\n' "$got" "$3" | sed 's/^/    # /'
	fi
}

# What a good run looks like. Each test below spoils one thing.
cat >"$tmp/good" <<'END'
[    1.000000] KTAP version 1
[    1.000000] 1..2
[    1.000000]     KTAP version 1
[    1.000000]     # Subtest: kprobes_one
[    1.000000]     # module: kprobes_kunit
[    1.000000]     1..3
[    1.000000]     ok 1 first
[    1.000000]         KTAP version 1
[    1.000000]         # Subtest: second
[    1.000000]         ok 1 on its first value
[    1.000000]         ok 2 on its second value # SKIP no such CPU
[    1.000000]     # second: pass:1 fail:0 skip:1 total:2
[    1.000000]     ok 2 second
[    1.000000]     ok 3 third # SKIP not on this machine
[    1.000000] # kprobes_one: pass:2 fail:0 skip:1 total:3
[    1.000000] ok 1 kprobes_one
[    1.000000]     KTAP version 1
[    1.000000]     # Subtest: kprobes_two
[    1.000000]     1..1
[    1.000000]     ok 1 only
[    1.000000] ok 2 kprobes_two
END
cat >"$tmp/list" <<'END'
# what must run
kunit kprobes_one 3 2
kunit kprobes_two 1 0
tests stress 1 0
skip kunit kprobes_one.second 1 no such CPU
skip kunit kprobes_one.third 1 not on this machine
END

# run: a console on standard input, beside a guest test, against the list
run()
{
	: >"$results"
	{
		kunit_lines | record kunit ''
		echo "ok - stress: proves something" | record tests ''
		expected_lines "$tmp/list" "$results" | record expected ''
	}
}
# spoilt SED: the good console, edited by that
spoilt() { sed "$1" "$tmp/good" | run; }

spoilt '' | sees good_run "a run with all that is expected is good" ''
run </dev/null | sees nothing_ran "a console without a case fails" \
"not ok - kunit: no case has run
not ok - kunit kprobes_one: has not run
not ok - kunit kprobes_two: has not run"
spoilt 's/ok 1 first/not ok 1 first/' | sees case_failed "a case that failed fails" \
	"not ok - kprobes_one.first"
spoilt 's/ok 1 on its/not ok 1 on its/; s/ok 2 second/not ok 2 second/' |
	sees parameter_failed "a parameter that failed fails" "not ok - kprobes_one.second (2 parameters, 1 skipped)"
spoilt '/ok 3 third/,999d' | sees crash "cases that come after a crash are missed" \
"not ok - kprobes_one: 1 of 3 cases have not run
not ok - kunit kprobes_one: 2 of 3 cases have run
not ok - kunit kprobes_two: has not run"
spoilt '/Subtest: kprobes_two/,999d' | sees module_missing "a suite that is not there is missed" \
	"not ok - kunit kprobes_two: has not run"
spoilt '/Subtest: kprobes_two/,/ok 1 only/d; s/\] ok 2 kprobes_two/] not ok 2 kprobes_two/' |
	sees suite_init "a suite that cannot be initialised fails" \
"not ok - kprobes_two: the suite failed
not ok - kunit kprobes_two: has not run"
spoilt '/on its .* value/d; s/ok 2 second/& # SKIP /' |
	sees no_parameter "a case that generates no parameter fails" \
"not ok - kprobes_one.second: it has no parameters
not ok - kunit kprobes_one: 0 of 2 parameters have run"
spoilt '/on its first value/d' | sees fewer_parameters "a parameter that is not there is missed" \
	"not ok - kunit kprobes_one: 1 of 2 parameters have run"
spoilt '/ok 1 first/d; s/1\.\.3/1..2/' | sees fewer_cases "a case that is not there is missed" \
	"not ok - kunit kprobes_one: 2 of 3 cases have run"
spoilt 's/ok 3 third.*/&\n[    1.000000]     ok 4 fourth/; s/1\.\.3/1..4/' |
	sees more_cases "a case that no list has is seen" \
	"not ok - kunit kprobes_one: 4 cases have run, the list says 3: make expect"
spoilt '/ok 2 kprobes_two/a [    1.000000]     # Subtest: kprobes_three\n    1..1\n    ok 1 new\nok 3 kprobes_three' |
	sees more_suites "a suite that no list has is seen" \
	"not ok - kunit kprobes_three: 1 cases have run, the list says 0: make expect"
spoilt 's/ok 1 first/& # SKIP tired/' | sees skip "a skip that is not allowed fails" \
	"not ok - kunit kprobes_one.first: skipped more often than allowed: tired"
spoilt 's/on this machine/today/' | sees skip_reason "a skip for another reason than the allowed one fails" \
	"not ok - kunit kprobes_one.third: skipped more often than allowed: not today"
spoilt 's/ok 1 on its first value/& # SKIP no such CPU/' |
	sees skip_parameters "more parameters skipped than allowed fail" \
	"not ok - kunit kprobes_one.second: skipped more often than allowed: no such CPU"

: >"$results"
sed 's/^\[[^]]*\] //' "$tmp/good" | kunit_lines | record kunit '' >/dev/null
expected_lines "$tmp/list" "$results" | sees guest_test_missing "a guest test that has not run is missed" \
	"not ok - tests stress: has not run"
expected_lines "$tmp/list" "$results" 'kprobes_t*' | sees picked "with TEST= only what matches is expected" ''
: >"$results"
{ kunit_lines <"$tmp/good" | record kunit ''; echo "ok - stress: x" | record tests ''; } >/dev/null
expectation "$results" >"$tmp/written"
sort "$tmp/list" | grep -v '^#' | diff - "$tmp/written" | sed 's/^/not ok - /' |
	sees written_list "the list that is written from a run is what the run needs" ''
# A case of which all parameters were skipped proves nothing.
: >"$results"
sed 's/ok 1 on its first value/& # SKIP no such CPU/; s/ok 2 second/& # SKIP/' "$tmp/good" |
	kunit_lines | record kunit '' >/dev/null
count_results
[ "$passed $skipped $parameters" = "2 2 2" ] && what='' || what="not ok - $passed $skipped $parameters"
sees all_parameters_skipped "a case of which all parameters were skipped has not passed" '' <<<"$what"
sed 's/one.second 1/one.second 2/' "$tmp/list" >"$tmp/list.two"
expected_lines "$tmp/list.two" "$results" 'kprobes_*' |
	sees all_parameters_allowed "its parameters may be skipped as often as the list says" ''
expected_lines "$tmp/list" "$results" 'kprobes_*' |
	sees all_parameters_counted "its parameters may not be skipped more often" \
	"not ok - kunit kprobes_one.second: skipped more often than allowed: no such CPU"
# unlisted DIR: the suites and guest tests that no list there names, so nobody would miss them
unlisted()
{
	find "$1" -type f ! -name ftracetest ! -name clients -exec cat {} + | awk '$1 !~ /^(#.*|skip)$/ { print $2 }' | LC_ALL=C sort -u >"$tmp/listed"
	{ guest_names; kunit_names "${kunit_sources[@]}" | sed 's/\..*//'; } | LC_ALL=C sort -u |
		LC_ALL=C comm -23 - "$tmp/listed" | sed 's/^/not ok - /'
}
unlisted "$here/expected" |
	sees all_listed "each suite and each guest test is in a list of what has to run" ''
mkdir "$tmp/expected"
for f in "$here"/expected/*; do
	grep -vE '^[^ ]+ (kprobes_nmi|stress) ' "$f" >"$tmp/expected/${f##*/}"
done
unlisted "$tmp/expected" |
	sees unlisted "a suite or a guest test that is in no list is seen" "not ok - kprobes_nmi
not ok - stress"

# What ran when a guest died
printf '%s\n' kprobes_one.{first,second,third} kprobes_two.only >"$tmp/order"
# died NAME PROVES WANTED SED [LINE]: what ran at the end of the good console, edited
died()
{
	sed "$4" "$tmp/good" >"$tmp/spoilt"
	running "$tmp/spoilt" "${5:-}" <"$tmp/order" | sed 's/^, /not ok - /' |
		sees "$1" "$2" "${3:+not ok - $3}"
}
died died_done "no case ran after the last one" '' ''
died died_case "the case is named in which a guest dies" 'kprobes_one.first was running' '/ok 1 first/,999d'
died died_next "the case is known by those before it" 'kprobes_one.third was running' '/ok 3 third/,999d'
died died_parameter "the case is known by its parameters" 'kprobes_one.second was running' \
	'/on its second/,999d; s/ok 1 first/ok 1 other/; s/1\.\.3/1..2/'
died died_order "a case that is not where the sources have it is not named" 'after kprobes_one.other' \
	'/ok 1 first/!b; s/first/other/; q'
died died_some "of a part of a suite, the case is not guessed" 'after kprobes_one.first' \
	's/1\.\.3/1..2/; /ok 1 first/q'
died died_between "a suite that has ended is not named" '' '/^[^ ]* *[^ ]* ok 1 kprobes_one/q'
died died_splat "a case in which the kernel complains is named" 'kprobes_one.first was running' \
	's/ok 1 first/WARNING: that\n[    1.000000]     &/' '[    1.000000]     WARNING: that'
died died_test "the guest's test is named in which it dies" 'stress was running' \
	's/ok 2 kprobes_two/&\n[    2.0] kprobes-guest: test list\n[    2.0] kprobes-guest: test stress/'
died died_tests "no test ran after the last one" '' \
	's/ok 2 kprobes_two/&\n[    2.0] kprobes-guest: test list\n[    2.0] kprobes-guest: tests end/'

# TEST=
cat >"$tmp/suites.c" <<'END'
static struct kunit_case one_cases[] = {
	KUNIT_CASE(first),
	SITE_CASE(second),
	KUNIT_CASE_PARAM(third, gen),
	{}
};

static struct kunit_suite one_suite = {
	.name = "kprobes_one",
	.test_cases = one_cases,
};

static struct kunit_case two_cases[] = {
	KUNIT_CASE(only_first),
	{}
};

static struct kunit_suite two_suite = {
	.name = "kprobes_two",
	.test_cases = two_cases,
};
END
# picks NAME PROVES GLOB WANTED: what TEST=GLOB picks of these, in a run "maxcpus=1"
picks()
{
	local got

	got=$(TEST=$3; kunit_names "$tmp/suites.c" | picked 'maxcpus=1: ' | paste -sd' ')
	[ "$got" = "$4" ] || got="not ok - $got, wanted: $4"
	printf '%s\n' "$got" | sees "$1" "$2" ''
}
picks pick_suite "TEST= with a suite picks all of it" kprobes_one kprobes_one
picks pick_case "TEST= with a part of a name picks the cases of all suites" '*first*' \
	'kprobes_one.first kprobes_two'
picks pick_whole "TEST= with a whole name picks one case" kprobes_one.third kprobes_one.third
picks pick_run "TEST= with the prefix of a run picks from that run" 'maxcpus=1: *second' kprobes_one.second
picks pick_nothing "TEST= with no test's name picks nothing" '*fourth*' ''
picks pick_part "TEST= has to match the whole name" first ''
# globs NAME PROVES GLOB WANTED: what KUnit is told for what TEST=GLOB picks
globs()
{
	local got

	got=$(TEST=$3; kunit_names "$tmp/suites.c" | picked '' | kunit_glob)
	[ "$got" = "$4" ] || got="not ok - $got, wanted: $4"
	printf '%s\n' "$got" | sees "$1" "$2" ''
}
globs glob_suite "KUnit is told the one suite that is picked" 'kprobes_t*' kprobes_two
globs glob_case "KUnit is told the one case that is picked" '*third*' kprobes_one.third
globs glob_suites "KUnit is told a glob for suites" 'kprobes_*' 'kprobes_*'
globs glob_some "KUnit is told a glob for cases of a suite" 'kprobes_one.*i*' 'kprobes_one.*i*'
globs glob_cases "KUnit is told a glob for cases of all suites" '*d' 'k*probe*.*d'
globs glob_mixed "KUnit runs all where no glob fits" '*o*i*' 'k*probe*'
kunit_lines <"$tmp/good" | (TEST='*first' && picked_results) | sed 's/^/not ok - /' |
	sees glob_results "results of cases that are not picked are left out" "not ok - ok - kprobes_one.first"

: >"$results"
{ kunit_lines <"$tmp/good" | record kunit ''; } >/dev/null
printf '%s\n' kprobes_one.first kprobes_one.fourth kprobes_two kprobes_three |
	picked_lines kunit "$results" | sees pick_missing "what was picked and has not run is missed" \
"not ok - kunit kprobes_one.fourth: has not run
not ok - kunit kprobes_three: has not run"

# skipped NAME PROVES OPTION LINE WANTED: what is wrong with that result of a kernel with that option
skipped()
{
	echo "$3" >"$tmp/config"
	printf '%s\n' 'skip !SMP needs two CPUs' 'skip X86_32 64-bit only' 'skip - the suite is built in' >"$tmp/space"
	printf '%s\n' 'ok - kprobes_one.first' 'skip - kprobes_one.last: the suite is built in' "$4" >"$tmp/lines"
	wrong_skip "$tmp/space" "$tmp/config" "$tmp/lines" | sed 's/^/not ok - /' | sees "$1" "$2" "$5"
}
skipped skip_cpus "a second CPU that did not come up is seen" CONFIG_SMP=y 'skip - kprobes_one.second: needs two CPUs' \
	'not ok - skip - kprobes_one.second: needs two CPUs'
skipped skip_param "a parameter that is skipped without an allowed reason is seen" CONFIG_SMP=y \
	'pskip - kprobes_one.second: no debug register is free' \
	'not ok - pskip - kprobes_one.second: no debug register is free'
skipped skip_one_cpu "a kernel for one CPU may skip what needs two" '# CONFIG_SMP is not set' \
	'skip - kprobes_one.second: needs two CPUs' ''
skipped skip_option "a reason that needs an option is allowed with it" CONFIG_X86_32=y \
	'pskip - kprobes_one.second: 64-bit only' ''
skipped skip_no_option "a reason that needs an option is wrong without it" CONFIG_X86_64=y \
	'pskip - kprobes_one.second: 64-bit only' 'not ok - pskip - kprobes_one.second: 64-bit only'

# idle NAME PROVES WANTED SUITE...: what is wrong with these suites
idle()
{
	printf '%s\n' 'ok - kprobes_one.first' 'skip - kprobes_one.second: x86 only' \
		'skip - kprobes_two.only: no such CPU' 'skip - kprobes_gone.first: built in' >"$tmp/lines"
	idle_suite "$tmp/lines" "${@:4}" | sed 's/^/not ok - /' | sees "$1" "$2" "$3"
}
idle idle_one "a suite of which one case has passed is good" '' kprobes_one kprobes_gone
idle idle_all "a suite that has skipped all of its cases is seen" 'not ok - kprobes_two has skipped all of its cases' \
	kprobes_one kprobes_two
idle idle_missing "a built-in suite that has not run is seen" 'not ok - kprobes_three has not run' \
	kprobes_one kprobes_three kprobes_two

# No line is lost between a run and the end.
: >"$results"
seq 5000 | sed 's/.*/ok - n&: text/' | record tests '' >/dev/null
{ [ "$(wc -l <"$results")" = 5000 ] || echo "not ok - $(wc -l <"$results") of 5000"; } |
	sees all_recorded "every line of a run is counted when it ends" ''
printf 'not ok - last: no newline' | record tests '' |
	sees no_newline "a last line without its end counts" "not ok - last: no newline"

# Module.symvers
for name in {,un}register_k{,ret}probe{,s} {en,dis}able_kprobe; do
	printf '0x0\t%s\tvmlinux\tEXPORT_SYMBOL_GPL\t\n' "$name"
done >"$tmp/symvers"
printf '0x0\t%s\tvmlinux\tEXPORT_SYMBOL\t%s\n' get_kprobe EXPORTED_FOR_KUNIT_TESTING printk '' >>"$tmp/symvers"
exports_verdict "$tmp/symvers" | sees exports_good "an API that is exported to GPL modules only is good" ''
sed '/register_kprobes/d; /enable_kprobe/s/_GPL//' "$tmp/symvers" >"$tmp/spoilt"
exports_verdict "$tmp/spoilt" | sed 's/^/not ok - /' |
	sees exports_bad "what is exported to all modules, or not at all, is seen" \
"not ok - enable_kprobe: EXPORT_SYMBOL
not ok - register_kprobes: not exported
not ok - unregister_kprobes: not exported"
exports_verdict "$tmp/missing" | sed -n '1s/^/not ok - /p' |
	sees exports_none "a kernel that exports nothing is seen" "not ok - register_kprobe: not exported"

# kunit.py
echo 'Testing complete. Ran 3 tests: passed: 3' >"$tmp/out"
tool_lines 0 "$tmp/out" "$tmp/good" | sees tool_good "a good run of kunit.py is good" ''
tool_lines 1 "$tmp/out" "$tmp/good" | sees tool_status "kunit.py that fails is seen" \
	"not ok - kunit: kunit.py ended with status 1: see $tmp/out"
tool_lines 0 /dev/null "$tmp/good" | sees tool_ended "kunit.py that does not come to its end is seen" \
	"not ok - kunit: kunit.py did not finish: see /dev/null"
{ cat "$tmp/out"; echo '[CRASHED] kprobes_two'; } >"$tmp/crashed"
tool_lines 0 "$tmp/crashed" "$tmp/good" | sees tool_crashed "a kernel of kunit.py that crashed is seen" \
	"not ok - kunit: the kernel crashed: see $tmp/good"
tool_lines 0 "$tmp/out" /dev/null | sees tool_nothing "kunit.py that runs nothing is seen" \
	"not ok - kunit: no test has run: see $tmp/out"
{ cat "$tmp/good"; echo '[    2.000000] WARNING: CPU: 0 PID: 1 at kernel/kprobes.c:1 f+0x1/0x2'; } >"$tmp/splat"
tool_lines 0 "$tmp/out" "$tmp/splat" | sees tool_splat "a splat in kunit.py's kernel is seen" \
	"not ok - kunit: the kernel complained: see $tmp/splat"

# Builds
printf '%s\n' kernel/kprobes/table.c lib/tests/kprobes/hit.c arch/x86/kernel/kprobes/detour.c >"$tmp/laid"
echo arch_detour_prepare >"$tmp/symbols"
# warns NAME PROVES WARNING
warns()
{
	echo "$3" >"$tmp/log"
	our_warnings "$tmp/log" "$tmp/laid" "$tmp/symbols" | sed 's/^/not ok - /' |
		sees "$1" "$2" "not ok - $3"
}
warns gcc_warning "a compiler's warning about our file is seen" \
	"../linux/kernel/kprobes/table.c:12:5: warning: unused variable 'x' [-Wunused-variable]"
warns gas_warning "the assembler's warning about our file is seen" \
	"../linux/arch/x86/kernel/kprobes/detour.c:12: Warning: no instruction mnemonic suffix given"
warns objtool_warning "objtool's warning about our object is seen" \
	"arch/x86/kernel/kprobes/detour.o: warning: objtool: f() falls through to next function g()"
warns objtool_vmlinux "objtool's warning about our function in vmlinux is seen" \
	"vmlinux.o: warning: objtool: arch_detour_prepare+0xc7f: relocation to !ENDBR: .kprobes.text+0x1aec"
warns objtool_nameless "objtool's warning without a function counts as ours" \
	"vmlinux.o: warning: objtool: .text+0x12: unreachable instruction"
warns modpost_section "modpost's warning about our function is seen" \
	"WARNING: modpost: vmlinux: section mismatch in reference: arch_detour_prepare+0x5 (section: .text) -> f (section: .init.text)"
warns modpost_module "modpost's warning about our module is seen" \
	"WARNING: modpost: missing MODULE_DESCRIPTION() in lib/tests/kprobes/kprobes_kunit.o"
{
	echo "../linux/mm/slub.c:12:5: warning: unused variable 'x' [-Wunused-variable]"
	echo "vmlinux.o: warning: objtool: do_something_else+0x12: unreachable instruction"
} >"$tmp/log"
our_warnings "$tmp/log" "$tmp/laid" "$tmp/symbols" | sed 's/^/not ok - /' |
	sees others_warning "warnings about the base's files are not ours" ''

# Builds that end early: make compiles one file, and warns about it if WARNS=1.
mkdir -p "$tmp/fails" "$tmp/built/linux" "$tmp/built/.tree" "$tmp/built/run"
: >"$tmp/built/run/vmlinux"
echo kernel/kprobes/table.c >"$tmp/built/.tree/laid"
: >"$tmp/built/.tree/patched"
cat >"$tmp/fails/make" <<'END'
#!/bin/bash
for arg; do
	case $arg in
	O=*) out=${arg#O=} ;;
	M=*) exit ;;
	allnoconfig) exec cp "$KCONFIG_ALLCONFIG" "$out/.config" ;;
	esac
done
if [ ! -e "$out/kernel/kprobes/table.o" ]; then
	mkdir -p "$out/kernel/kprobes"
	[ "$WARNS" = 0 ] || echo "../linux/kernel/kprobes/table.c:1:2: warning: that" >&2
	: >"$out/kernel/kprobes/table.o"
fi
sleep "$WAITS"
exit "$STATUS"
END
chmod +x "$tmp/fails/make"
# builds [NAME=VALUE...] COMMAND...: what kernel.sh says in the end of such a build
builds()
{
	env -u MAKEFLAGS PATH="$tmp/fails:$PATH" KPROBES_BUILD="$tmp/built" CONFIG=run WARNS=1 WAITS=0 STATUS=0 \
		"$@" 2>&1 | tail -n 1 | sed "s,$tmp/,,; s/^kprobes: /not ok - /; s/ ([0-9]* s)$//" || true
}
builds STATUS=2 "$here/kernel.sh" | sees build_fails "a build that fails says where its output is" \
	"not ok - kernel run failed: the whole output is in built/run.log"
missed='not ok - kernel run: 1 warning(s) in our files: see built/run.log'
{ builds "$here/kernel.sh"; builds "$here/kernel.sh"; } |
	sees build_failed "a warning of a build that failed later is seen by the next one" "$missed
$missed"
builds WARNS=0 "$here/kernel.sh" | sees build_mended "a warning is forgotten when the file is mended" \
	"not ok - kernel ready: build/run/arch/x86/boot/bzImage"
rm -f "$tmp/built/run/kernel/kprobes/table.o"
{ builds WAITS=2 timeout -s KILL 1 "$here/kernel.sh"; } >"$tmp/log" 2>&1
builds "$here/kernel.sh" | sees build_killed "a warning of a build that was killed is seen by the next one" "$missed"
builds "$here/kernel.sh" make kernel/kprobes/table.o >"$tmp/log"
builds "$here/kernel.sh" | sees build_one "a warning about a file that was built alone is seen" "$missed"
{ builds TMPDIR=/missing "$here/kernel.sh"; builds "$here/kernel.sh"; } |
	sees build_full "a warning that could not be looked for is seen by the next one" \
"not ok - cannot look for warnings in built/run.log: is the disk of /missing full?
$missed"
mkdir -p "$tmp/built/x86_64/"{lib,kprobes-modules,other-modules}
touch "$tmp/built/x86_64/"{lib/{new,stale},{kprobes,other}-modules/{new,stale}}.ko "$tmp/built/x86_64/vmlinux" \
	"$tmp/built/x86_64/"{kprobes,other}-modules/Module.symvers
echo lib/new.o >"$tmp/built/x86_64/modules.order"
echo /elsewhere/new.o | tee "$tmp/built/x86_64/other-modules/modules.order" >"$tmp/built/x86_64/kprobes-modules/modules.order"
builds CONFIG=x86_64 WARNS=0 "$here/kernel.sh" >"$tmp/log"
{
	(cd "$tmp/built/x86_64" && find . -name '*.ko' -printf 'not ok - %p\n')
	modules_of "$tmp/built/x86_64" | sed "s,$tmp/built/x86_64/,not ok - guests: ,"
} | LC_ALL=C sort | sees build_stale "modules that are not built any more are removed, and guests do not get them" \
"not ok - ./kprobes-modules/new.ko
not ok - ./lib/new.ko
not ok - guests: kprobes-modules/new.ko
not ok - guests: lib/new.ko"
# A build that checks a series also looks at files that are not ours.
mkdir "$tmp/built/any"
# any_build: compiles, as above
any_build()
{
	build_begins "$tmp/built/any" "$tmp/log" all_warnings
	: >"$tmp/log"
	[ -e "$tmp/built/any/slub.o" ] || echo '../tree/mm/slub.c:1:2: warning: that' >"$tmp/log"
	: >"$tmp/built/any/slub.o"
}
any_build
{
	any_build
	all_warnings "$tmp/built/any" "$tmp/log"
	build_checked "$tmp/built/any"
	any_build
	all_warnings "$tmp/built/any" "$tmp/log"
} | sed 's/^/not ok - /' | sees build_any "a warning about any file is there until it is mended" \
"not ok - ../tree/mm/slub.c:1:2: warning: that
not ok - ../tree/mm/slub.c:1:2: warning: that"

# The end of a guest: a machine that plays what $PLAY says, after "up" on its console if it
# does not say that itself.
mkdir -p "$tmp/machine" "$tmp/kernel/arch/x86/boot"
: >"$tmp/kernel/arch/x86/boot/bzImage"
cat >"$tmp/machine/qemu-system-x86_64" <<'END'
#!/bin/bash
trap 'exit 0' TERM
console=/dev/null out=''
for arg; do
	case $arg in
	file:*.console) console=${arg#file:} ;;
	file:*) out=${arg#file:} ;;
	esac
done
says() { echo "[    9.0] $*" >>"$console"; }
exits() { echo 'kprobes-guest: exit 0' >>"$out"; }
tells() { echo "$$ $KPROBES_OWNER" >"$TOLD"; }
stays() { for _ in $(seq 50); do sleep 0.2; done; }
up() { echo "kprobes-guest: up with ${1:-2} CPUs" >>"$console"; }
[[ $PLAY == *'up;'* ]] || up
eval "$PLAY"
END
chmod +x "$tmp/machine/qemu-system-x86_64"
# plays SECONDS PLAY [OPTION...]: what guest.sh says about such a guest if it fails, and the end
# of its console
plays()
{
	local status=0

	PLAY=$2 PATH=$tmp/machine:$PATH KPROBES_BUILD=$tmp/played EMULATOR_PATCHES=0 \
		"$here/guest.sh" -t "$1" "${@:3}" "$tmp/kernel" hello >"$tmp/log" 2>&1 || status=$?
	[ $status = 0 ] || sed "s,$tmp/,,g; s/^kprobes: /not ok - /" "$tmp/log" | tail -n 1
	tail -n 1 "$tmp/played/logs/hello.console" | sed 's/^/not ok - /'
}
plays 20 'exits; sleep 0.5; says ok 1 late; says kprobes-guest: down; stays' |
	sees end_late "a guest goes on until its kernel's log is printed" "not ok - [    9.0] kprobes-guest: down"
plays 20 'exits; says ok 1 early' | sees end_lost "a guest whose last lines are lost fails" \
"not ok - guest: ended before its kernel's log was printed: see played/logs/hello.console
not ok - [    9.0] ok 1 early"
plays 20 'says kprobes-guest: test stress' | sees end_test "it is said in which test a guest dies" \
"not ok - guest: ended before the job did, stress was running: see played/logs/hello.console
not ok - [    9.0] kprobes-guest: test stress"
plays 20 'says kprobes-guest: test stress; says BUG: that; says kprobes-guest: test list' |
	sees end_splat "it is said in which test a guest's kernel complains" \
"not ok - the guest's kernel complained, stress was running: see played/logs/hello.console
not ok - [    9.0] kprobes-guest: test list"
guest_failed tests "$tmp/log" | sed "s,$tmp/,," | sees end_said "the result of a guest that died says why" \
"not ok - tests: the guest's kernel complained, stress was running: see played/logs/hello.console"
allowed='says "--[ cut here ]--"; says WARNING: this; says it is allowed;'
plays 20 "$allowed exits; says '--[ end trace ]--'; says kprobes-guest: down; stays" -s allowed |
	sees end_allowed "a report that is allowed does not fail a guest" "not ok - [    9.0] kprobes-guest: down"
plays 20 "$allowed says '--[ cut here ]--'; says BUG: that; exits; says '--[ end trace ]--'; stays" -s allowed |
	sees end_within "a report that begins within one that is allowed is seen" \
"not ok - the guest's kernel complained: see played/logs/hello.console
not ok - [    9.0] --[ end trace ]--"
plays 20 'says "--[ cut here ]--"; says WARNING: this; says Dying CPU not properly vacated; exits; says "--[ end trace ]--"; says kprobes-guest: down; stays' |
	sees end_base "a report of a bug of the base does not fail a guest" "not ok - [    9.0] kprobes-guest: down"
echo CONFIG_SMP=y >"$tmp/kernel/.config"
{
	plays 20 'up 7; stays' -c 8
	plays 20 'up 8; exits; says kprobes-guest: down; stays' -c 8
	plays 20 'up 1; exits; says kprobes-guest: down; stays' -a maxcpus=1
} | sees end_cpus "a guest that has not all of its CPUs fails" \
'not ok - guest: does not have the 8 CPUs that it was started with: see "smp:" there, and NR_CPUS of its config: see played/logs/hello.console
not ok - kprobes-guest: up with 7 CPUs
not ok - [    9.0] kprobes-guest: down
not ok - [    9.0] kprobes-guest: down'
rm "$tmp/kernel/.config"
plays 1 'exits; stays' | sees end_never "a guest that does not end fails" \
"not ok - guest: hello did not end within 1 s: see played/logs/hello.console
not ok - kprobes-guest: up with 2 CPUs"
plays 20 'stays' -w 1 | sees end_silent "a guest that makes no progress does not take all of its time" \
"not ok - guest: hello printed nothing for 1 s: see played/logs/hello.console
not ok - kprobes-guest: up with 2 CPUs"
plays 20 'sleep 5; up; sleep 0.3; exits; says kprobes-guest: down; stays' -w 4 |
	sees end_boots "the time that a guest takes to boot is none without progress" \
	"not ok - [    9.0] kprobes-guest: down"
# faulty SECONDS PLAY [OPTION...]: why a mutant is caught that such a guest has run
faulty()
{
	plays "$@" >/dev/null
	guest_fault "$tmp/log" "$tmp/played/logs/hello" "${SILENT:-0}" | sed "s,$tmp/,,g; s/^/not ok - /"
}
faulty 20 'says BUG: that' | sees fault_splat "a mutant is caught if its guest's kernel complains" \
	"not ok - the guest's kernel complained: see played/logs/hello.console"
faulty 20 'says more' | sees fault_crash "a mutant is caught if its guest crashes" \
	"not ok - guest: ended before the job did: see played/logs/hello.console"
faulty 1 'stays' | sees fault_hang "a mutant is caught if its guest hangs" \
	"not ok - guest: hello did not end within 1 s: see played/logs/hello.console"
# shellcheck disable=SC2016
faulty 20 'echo "kprobes-guest: exit 3" >>"$out"; says kprobes-guest: down; stays' |
	sees fault_job "a mutant is caught if the guest's job fails" "not ok - its job ended with status 3"
SILENT=600 faulty 1 'says more; stays' | sees fault_slow "no mutant is caught by a guest that is slow" ''
BOOT_TIMEOUT=1 faulty 20 'true up; stays' | sees fault_boot "no mutant is caught by a guest that does not boot" ''
faulty 20 'sleep 0.5; kill -9 $$' | sees fault_qemu "no mutant is caught by a QEMU that fails" ''
faulty 20 'exits' -f "$tmp/missing" |
	sees fault_none "no mutant is caught by a guest.sh that fails" ''
# ended WHY [COMPLAINT]: the lines of a guest for mutants of another architecture that has ended so
# shellcheck disable=SC2034,SC2317
ended()
{
	local arch=arm64 console='' build=$tmp why=$1 splat=${2:-}

	mkdir -p "$tmp/logs"
	: >"$tmp/logs/ended.console"
	run_arch ended 20 '' kprobes_hit
}
arch_suites()
{
	[ -z "$splat" ] || echo "not ok - $1: the kernel complained: $splat"
	[ -z "$why" ] || echo "not ok - $1: the guest $why: see that"
	[ "$4" = kprobes_hit ] || echo "not ok - it runs '$4'"
}
eval "$(sed -n '/^run_arch()/,/^}/p' "$here/mutants.sh")"
{
	ended ''
	ended 'QEMU failed: that'
	ended 'QEMU failed: that' BUG
	ended 'did not end within 20 s'
	ended 'ended before its suites did'
} | sed 's/^not run/not ok - &/' |
	sees fault_arch "on another architecture, too, a mutant is caught by its kernel only" \
	"not ok - not run - the guest QEMU failed: that: see that
not ok - the guest failed: the kernel complained: BUG
not ok - not run - the guest QEMU failed: that: see that
not ok - not run - the guest did not end within 20 s: see that
not ok - the guest failed: the guest ended before its suites did: see that"
# plays_suites PLAY: likewise, of a kernel without user space
plays_suites()
{
	PLAY=$1 image=arch/x86/boot/bzImage qemu=$tmp/machine/qemu-system-x86_64 \
		boot_suites "$tmp/kernel" "$tmp/played-suites" 20 1 console=ttyS0
	[ -z "$why" ] || echo "not ok - $why$ran"
	tail -n 1 "$tmp/played-suites.console" | sed 's/^/not ok - /'
}
plays_suites 'sleep 0.5; says ok 1 late; says Waiting 86400 sec before mounting root device...; stays' |
	sees suites_late "a kernel goes on until its suites' results are printed" \
	"not ok - [    9.0] Waiting 86400 sec before mounting root device..."
plays_suites 'says "    # Subtest: kprobes_one"; says "    ok 1 early"' | sees suites_lost "a kernel whose last lines are lost fails" \
"not ok - ended before its suites did, after kprobes_one.early
not ok - [    9.0]     ok 1 early"
plays_suites 'says Oops: Oops: 0002; stays' |
	sees suites_broken "a kernel that is broken does not take all of its time" \
"not ok - ended, as its kernel is broken
not ok - [    9.0] Oops: Oops: 0002"
for _ in 1 2; do
	# In a shell of its own, which gives the lock of the log back.
	(plays_suites 'says Waiting 86400 sec before mounting root device...; stays') >/dev/null
done
{ tail -n 1 "$tmp/played-suites.console.failed" || true; } | sed 's/^/not ok - /' |
	sees suites_kept "the console of a kernel that failed is kept" "not ok - [    9.0] Oops: Oops: 0002"

for release in 7.2.22 8.0.5 8.1.0 10.0.2; do
	printf '#!/bin/sh\necho "QEMU emulator version %s (Debian)"\n' $release >"$tmp/machine/qemu-$release"
	chmod +x "$tmp/machine/qemu-$release"
	! old_emulator "$tmp/machine/qemu-$release" || echo "not ok - $release"
done | sees emulator_old "an emulator that keeps stale translations is known by its release" \
"not ok - 7.2.22
not ok - 8.0.5"

(
	exec 7>>"$tmp/played/logs/.hello.lock"
	flock 7
	plays 20 'exits' 2>&1 | sed -n 1p
) | sees guest_log "two guests do not write the same log" \
	"not ok - another guest writes build/logs/hello.*: wait until it has ended"
(
	exec 7>>"$tmp/.played-suites.lock"
	flock -w 5 7 || echo "not ok - the log is locked"
	{ (plays_suites 'stays') 2>&1 || true; } | sed "s/^kprobes: /not ok - /"
) | sees suites_log "two kernels without user space do not write the same log" \
	"not ok - another guest writes build/logs/played-suites.*: wait until it has ended"
{
	: >"$tmp/kernel/vmlinux"
	PLAY=exits PATH=$tmp/machine:$PATH KPROBES_BUILD=$tmp CONFIG=kernel EMULATOR_PATCHES=0 \
		TEST='oops.pre_plain_jump_hang' "$here/oops.sh" 2>&1 || true
} | sees guest_oops "the log of handlers that crash has the name of their kernel" \
	"not ok - oops.pre_plain_jump_hang: see build/logs/oops-kernel.console"

# A tree that make mutants breaks
# in_use [NAME=VALUE...] COMMAND...: what that says to it
in_use()
{
	env -u MAKEFLAGS PATH="$tmp/fails:$tmp/machine:$PATH" KPROBES_BUILD="$tmp/built" CONFIG=run WARNS=0 WAITS=0 \
		STATUS=0 KPROBES_BASE="$tmp/linux-6.11" EMULATOR_PATCHES=0 PLAY='exits; says kprobes-guest: down; stays' \
		"$@" 2>&1 | tail -n 1 | sed "s,$tmp/,,; s/^kprobes: /not ok - /; s/ ([0-9]* s)$//" || true
}
mkdir -p "$tmp/linux-6.11" "$tmp/built/run/arch/x86/boot" "$tmp/built/stock-run/arch/x86/boot"
: | tee "$tmp/built/run/arch/x86/boot/bzImage" >"$tmp/built/stock-run/arch/x86/boot/bzImage"
printf 'VERSION = 6\nPATCHLEVEL = 11\nSUBLEVEL = 0\n' >"$tmp/linux-6.11/Makefile"
printf '#!/bin/sh\necho disk\necho disk 0 0 999999 0 /\n' >"$tmp/fails/df"
chmod +x "$tmp/fails/df"
breaks='make mutants is changing build/linux: wait until it has ended, or end it'
(
	exec 8>>"$tmp/built/.mutants.lock"
	flock 8
	in_use "$here/tree.sh"
	in_use "$here/kernel.sh"
	in_use "$here/guest.sh" "$tmp/built/run" hello
	in_use "$here/guest.sh" "$tmp/built/stock-run" hello
	in_use KPROBES_MUTANTS=1 "$here/kernel.sh"
	in_use "$here/mutants.sh"
) | sees mutants_alone "while make mutants breaks the tree, nobody else builds or boots it" \
"not ok - $breaks
not ok - $breaks
not ok - $breaks
not ok - kernel ready: build/run/arch/x86/boot/bzImage
not ok - build/linux is in use: wait until all builds and guests of build/ have ended, or end them"
(
	exec 8>>"$tmp/built/.mutants.lock"
	flock -s 8
	in_use "$here/mutants.sh"
	in_use "$here/kernel.sh"
) | sees mutants_wait "make mutants does not break a tree that others use" \
"not ok - build/linux is in use: wait until all builds and guests of build/ have ended, or end them
not ok - kernel ready: build/run/arch/x86/boot/bzImage"
# What is unpacked stays there if it is not Linux 6.12.
{
	in_use "$here/tree.sh"
	in_use "$here/tree.sh" stock
	(cd "$tmp/built" && find .unpack* -name Makefile -printf 'not ok - %p\n' | sort)
} | sees unpack_own "each tree is unpacked to a folder of its own" \
"not ok - linux-6.11 is Linux 6.11.0, not Linux 6.12: give KPROBES_BASE= one; to port the patches, see CONTRIBUTING.md
not ok - linux-6.11 is Linux 6.11.0, not Linux 6.12: give KPROBES_BASE= one; to port the patches, see CONTRIBUTING.md
not ok - .unpack-linux/Makefile
not ok - .unpack-stock/Makefile"
# A small repository, and a small base for it
small=$tmp/small
mkdir -p "$small/tools/testing" "$small/kernel/kprobes" "$tmp/linux-6.12"/{kernel,samples/kprobes,Documentation/trace} \
	"$tmp/linux-6.12/include"/{linux,asm-generic} "$tmp/linux-6.12/arch/x86"/{kernel/kprobes,include/asm} "$tmp/linux-6.12/lib"
cp -r "$here" "$small/tools/testing/"
echo ours >"$small/kernel/kprobes/one.c"
(
	cd "$tmp/linux-6.12"
	for file in kernel/{kprobes,other}.c include/{linux,asm-generic}/kprobes.h arch/x86/include/asm/kprobes.h \
		lib/test_kprobes.c Documentation/trace/kprobes.rst; do echo base >"$file"; done
)
printf 'VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n' >"$tmp/linux-6.12/Makefile"
# laid: lays the small tree, and shows the last line
laid() { in_use KPROBES_BUILD="$tmp/small-build" KPROBES_BASE="$tmp/linux-6.12" "$@" "$small/tools/testing/kprobes/tree.sh"; }
mkdir "$tmp/kills"
# shellcheck disable=SC2016
printf '#!/bin/sh\n/bin/cp "$@"\ncase "$*" in */two.c) kill -9 $PPID ;; esac\n' >"$tmp/kills/cp"
chmod +x "$tmp/kills/cp"
{
	laid >/dev/null
	echo ours >"$small/kernel/kprobes/two.c"
	echo ours >"$small/kernel/other.c"
	laid PATH="$tmp/kills:$tmp/fails:$tmp/machine:$PATH" >/dev/null 2>&1
	[ -e "$tmp/small-build/linux/kernel/kprobes/two.c" ] || echo "not ok - it was not interrupted"
	laid
	rm "$small/kernel/kprobes/two.c" "$small/kernel/other.c"
	laid >/dev/null
	cd "$tmp/small-build/linux" && grep -r '' kernel | sort | sed 's/^/not ok - /'
} | sees tree_interrupted "a tree that was left half laid gets all files, and loses all that go" \
"not ok - tree ready: build/linux, 1 file(s) changed
not ok - kernel/kprobes/one.c:ours
not ok - kernel/other.c:base"
(
	exec 8>>"$tmp/small-build/.mutants.lock"
	flock -s 8
	laid
	echo changed >"$small/kernel/kprobes/one.c"
	laid
	flock -u 8
	laid
) | sees tree_used "a tree that a build or a guest uses does not change" \
"not ok - tree ready: build/linux, 0 file(s) changed
not ok - the sources have changed, but a build or a guest is using build/linux: wait until it has ended, or end it
not ok - tree ready: build/linux, 1 file(s) changed"

# What a shell may have set
{
	CDPATH=.:.. make -C "$top" --no-print-directory run-offset || echo "not ok - CDPATH"
	ARCH=arm64 make -n -C "$top" --no-print-directory test | grep -q '/test\.sh$' || echo "not ok - ARCH"
	ARCH=arm64 make -n -C "$top" --no-print-directory ftracetest | grep -q ' arch ' && echo "not ok - ARCH"
	# shellcheck disable=SC2016
	LC_ALL=de_DE LANGUAGE=de LLVM=1 GIT_DIR=x bash -c '. "$0"; echo "not ok - $LANG${LC_ALL-}${LANGUAGE-}${LLVM-}${GIT_DIR-}"' "$here/common.sh"
} 2>&1 | sees environment "what a shell has set for other builds changes nothing" "not ok - C.UTF-8"
# After Ctrl-C, nothing may go on in the background: builds least of all.
# shellcheck disable=SC2016
{
	"${interruptible[@]}" sleep 30 &
	for ((tries = 100; tries--; )); do
		kill -INT $! 2>/dev/null || break
		command sleep 0.1
	done
	status=0
	wait $! || status=$?
	[ $status -eq 130 ] || echo "not ok - ended with status $status"
	{ grep -nE '^	+make .*O="\$k?out' "$here"/*.sh || true; } | sed "s,$here/,not ok - ,"
} | sees interrupted "builds end with Ctrl-C" ''
# Whole scripts, as copies in a folder where stand-ins replace the scripts that they call.
stage=$tmp/stage/tools/testing/kprobes
mkdir -p "$stage"
ln -s "$top"/{arch,include,kernel,lib,samples,patches,Makefile} "$tmp/stage/"
ln -s "$here"/* "$stage/"
# stands_for NAME: makes standard input the stand-in for that script
stands_for()
{
	rm -f "$stage/$1"
	cat >"$stage/$1"
	chmod +x "$stage/$1"
}
# staged COMMAND...: "not ok" and the last line of its output if it fails, "ok" if it does not
staged()
{
	local status=0

	CONFIG=x86_64 KPROBES_BUILD=$tmp/staged PATH=$tmp/machine:$PATH "$@" >"$tmp/log" 2>&1 </dev/null || status=$?
	[ $status = 0 ] || sed "s,$tmp/,,g; s/^kprobes: //; s/^/not ok - /" "$tmp/log" | tail -n 1
}

# make test, when one of its scripts ends early: the rest runs, and all is counted.
runs_hitpath() { TEST=hitpath staged "$stage/test.sh"; sed -n "/^not ok/p" "$tmp/log" | sed -n 1p; }
{
	stands_for hitpath.sh <<<$'#!/bin/bash\necho "no objdump"; exit 3'
	runs_hitpath
	stands_for hitpath.sh <<<$'#!/bin/bash\necho "not ok - hitpath: one is not refused"; exit 1'
	runs_hitpath
	stands_for hitpath.sh <<<$'#!/bin/bash\necho "ok - hitpath: all are refused"'
	runs_hitpath
} | sees test_ends "a script of make test that ends with a status is counted as one failure" \
"not ok - 0 passed, 1 failed
not ok - hitpath: ended with status 3
not ok - 0 passed, 1 failed
not ok - hitpath: one is not refused"
ln -sf "$here/hitpath.sh" "$stage/"
# runs_its LINE: a run that needs another mitigation, in a guest that says that line
runs_its()
{
	TEST='ITS: kprobes_jump_*' SAYS=$1 staged "$stage/test.sh"
	sed -n "/^not ok/p" "$tmp/log" | sed -n 1p
}
stands_for guest.sh <<'END'
#!/bin/bash
while [ "$1" != -l ]; do shift; done
printf '%s\r\n' "[    0.1] $SAYS" '    # Subtest: kprobes_jump_detour' '    1..1' '    ok 1 one' \
	'ok 1 kprobes_jump_detour' >>"$KPROBES_BUILD/logs/$2.console"
END
{
	runs_its 'ITS: Mitigation: Aligned branch/return thunks'
	runs_its 'ITS: Mitigation: Retpolines, Stuffing RSB'
} | sees test_says "a run that needs another mitigation fails if the kernel does not have it" \
"not ok - 1 passed, 1 failed
not ok - ITS: kunit: the kernel does not say \"ITS: Mitigation: Aligned\": see build/logs/kunit-x86_64-ITS.console"
# A run of which all was skipped, as it may be.
stands_for guest.sh <<<$'#!/bin/bash\necho "skip - module_livepatch: no live patches in this kernel"'
{
	TEST=module_livepatch staged env CONFIG=i386 "$stage/test.sh"
	sed -n '/ passed, /s/^/not ok - /p' "$tmp/log"
} | sees test_skips "a run in which nothing has passed fails, and says what to do" \
"not ok - nothing has passed; module_livepatch was skipped: no live patches in this kernel: choose another kernel with CONFIG=, or other tests with TEST=
not ok - 0 passed, 0 failed"
# make abuse, in a guest that prints that
mkdir -p "$tmp/staged/x86_64"
touch "$tmp/staged/x86_64/vmlinux"
abuses()
{
	stands_for guest.sh <<<"#!/bin/bash
echo \"\$*\" >$tmp/told
$1"
	PARTS='abuse event_fuzz' staged "$stage/abuse.sh"
	sed -n '/^not ok/p; s/^    # /not ok - /p' "$tmp/log"
}
{
	abuses "printf '%s\n' 'progress 1 min: that' 'ok - abuse: seed 1' '    # calls 7' 'ok - abuse: seed 2' '    # calls 8'"
	grep -qF -- '-c 8 ' "$tmp/told" || echo "not ok - $(cat "$tmp/told")"
} | sees abuse_good "make abuse runs on 8 CPUs, shows each minute, and adds up the rounds" \
"not ok - 1 min: that
not ok - abuse: 2 rounds, calls 15"
abuses "printf '%s\n' 'ok - abuse: seed 1' 'not ok - event_fuzz: seed 1' '    # why'" |
	sees abuse_failed "a test that fails in a round of make abuse fails, and is shown with its seed" \
"not ok - 1 passed, 1 failed
not ok - event_fuzz: seed 1
not ok - why
not ok - abuse: 1 rounds
not ok - event_fuzz: 1 rounds"
abuses 'echo "ok - abuse: seed 1"; echo "kprobes: guest: died" >&2; exit 1' | sed -n '1,2p' |
	sees abuse_dies "a guest of make abuse that dies fails" \
"not ok - 1 passed, 1 failed
not ok - abuse: guest: died"
abuses 'echo "skip - abuse: no module"' | sees abuse_skips "make abuse fails if nothing has passed" \
	"not ok - nothing has passed; abuse was skipped: no module: choose another kernel with CONFIG=, or other tests with TEST="
ln -sf "$here/guest.sh" "$stage/"

# make test ARCH=
ln -s qemu-system-x86_64 "$tmp/machine/qemu-system-aarch64"
ln -s /bin/true "$tmp/machine/aarch64-linux-gnu-gcc"
stands_for kernel.sh <<<'#!/bin/bash'
# on_arch TEST PLAY: on a machine that plays that
on_arch()
{
	PLAY="echo \"\$*\" >$tmp/told; $2 says Waiting 86400 sec before mounting root device...; stays" \
		TEST=$1 staged "$stage/test-arch.sh" arm64
}
missed='says "    # Subtest: kprobes_api"; says "    1..1";
	says "    ok 1 missed_hits_are_counted_from_registration"; says "ok 1 kprobes_api";'
{
	on_arch '*missed*' "$missed"
	grep -oF 'kunit.filter_glob=k*probe*.*missed*' "$tmp/told" || echo "not ok - $(cat "$tmp/told")"
} | sees arch_picks "cases of another architecture are picked as on this one" ''
on_arch '*missed*' '' | sees arch_none "a run on another architecture in which no case ran fails" \
	"not ok - arm64 has run no case that is named *missed*"
on_arch kprobes_api.missed_hits_are_counted_from_registration "${missed/1 missed/1 other}" |
	sees arch_other "a case that was picked on another architecture and has not run is missed" \
	"not ok - arm64 has run no case that is named kprobes_api.missed_hits_are_counted_from_registration"
on_arch kprobes_api.bug_trap_is_refused 'says "    # Subtest: kprobes_api"; says "    1..1";
	says "    ok 1 bug_trap_is_refused # SKIP needs known instructions"; says "ok 1 kprobes_api";' |
	sees arch_skips "a run on another architecture of which all was skipped fails, and says what to do" \
	"not ok - nothing has passed; kprobes_api.bug_trap_is_refused was skipped: needs known instructions: choose another kernel with ARCH=, or other tests with TEST="
on_arch '*misssed*' '' | sees arch_typo "TEST= that names nothing fails on another architecture, too" \
	"not ok - no suite or case is named *misssed*: see lib/tests/kprobes/, or what make test prints"
# refused ARCH [TEST]: what make test says to that, and what is there of a base then
refused()
{
	env -u MAKEFLAGS -u MAKELEVEL KPROBES_BUILD="$tmp/refused" TEST="${2:-}" make -s -C "$top" test ARCH="$1" \
		2>&1 </dev/null | sed -n '1s/have [^;:]*/have .../; 1s/^kprobes: /not ok - /p' || true
	[ ! -e "$tmp/refused" ] || echo "not ok - something was done"
}
{ refused x86_64; refused i386; refused sparc; refused arc '*missed*'; refused arm '*misssed*'; } |
	sees arch_refused "ARCH= that no test runs on is refused before anything is unpacked" \
"not ok - ARCH=x86_64: have ...; for x86: make test CONFIG=x86_64
not ok - ARCH=i386: have ...; for x86: make test CONFIG=i386
not ok - ARCH=sparc: no such architecture here, have ...
not ok - TEST=*missed*: nothing runs on arc, it is only built
not ok - no suite or case is named *misssed*: see lib/tests/kprobes/, or what make test prints"

# Packages: what a machine that can neither build nor boot has to install.
mkdir "$tmp/bin"
tr : '\n' <<<"$PATH" | while read -r dir; do
	ln -s "$dir"/* "$tmp/bin/" 2>/dev/null || true
done
rm -f "$tmp/bin/"{flex,qemu-system-x86_64,qemu-system-aarch64,aarch64-linux-gnu-gcc}
env -u MAKEFLAGS -u MAKELEVEL -u ARCH PATH="$tmp/bin" KPROBES_BUILD="$tmp/build" KPROBES_INSTALL=0 \
	make -s -C "$top" run >"$tmp/log" 2>&1 || true
{ grep -q ': flex qemu-system-x86$' "$tmp/log" || sed 's/^/not ok - /' "$tmp/log"; } |
	sees packages "all packages that make run needs are named before it does anything" ''
# lacks COMMAND...: what that asks for
lacks()
{
	env PATH="$tmp/bin" KPROBES_BUILD="$tmp/lacks" KPROBES_INSTALL=0 "$@" 2>&1 </dev/null |
		sed -n 's/^kprobes: missing packages, .*KPROBES_INSTALL=0:/not ok -/p' || true
}
{
	lacks "$here/test-arch.sh" arm64
	lacks "$here/ftracetest.sh" arch arm64
	lacks "$here/ftracetest.sh" arch x86_64
	lacks BUILDS='arm64-*' "$here/test-builds.sh"
} | sees packages_arch "all packages that another architecture needs are named before anything is built" \
"not ok - flex gcc-aarch64-linux-gnu qemu-system-arm
not ok - flex gcc-aarch64-linux-gnu qemu-system-arm
not ok - flex qemu-system-x86
not ok - flex gcc-aarch64-linux-gnu"
rm -f "$tmp/bin/"{openssl,rsync,stress-ng,trinity}
for goal in test test-everything kselftest; do
	env -u MAKEFLAGS -u MAKELEVEL -u ARCH CONFIG=x86_64 PATH="$tmp/bin" KPROBES_BUILD="$tmp/build" \
		KPROBES_INSTALL=0 make -s -C "$top" $goal 2>&1 </dev/null |
		sed -n 's/^kprobes: missing packages, .*KPROBES_INSTALL=0:/not ok -/p' |
		sed 's/ libssl-dev//' || true
done | sees packages_config "packages that only some kernels or targets need are named with the others" \
"not ok - flex openssl qemu-system-x86
not ok - flex openssl qemu-system-x86 stress-ng trinity
not ok - flex openssl qemu-system-x86 rsync"

# make shell: it ends where there is no terminal, and with make, however that ends.
mkdir -p "$tmp/logs"
shell=(env -u MAKEFLAGS -u MAKELEVEL -u ARCH PATH="$tmp/machine:$PATH" KPROBES_BUILD="$tmp" CONFIG=kernel
	EMULATOR_PATCHES=0 APPEND= QEMU_ARGS= PLAY='up; tells; stays' TOLD="$tmp/told")
status=0
timeout 20 "${shell[@]}" make -s -C "$top" -o kernel shell </dev/null >"$tmp/log" 2>&1 || status=$?
sed -n "s/; commands run with.*//; s/^kprobes: /not ok - $status: /p" "$tmp/log" |
	sees shell_no_terminal "make shell without a terminal ends and says why" \
	"not ok - 2: a shell needs a terminal"
# shell_killed SIGNAL: make is killed by it, while QEMU has the terminal
shell_killed()
{
	local qemu owner tries

	rm -f "$tmp/told"
	"${shell[@]}" script -qec "make -s -C '$top' -o kernel shell; sleep 6" /dev/null </dev/null >"$tmp/log" 2>&1 &
	for ((tries = 0; tries < 100; tries++)); do
		[ ! -s "$tmp/told" ] || break
		sleep 0.1
	done
	read -r qemu owner <"$tmp/told" || { sed 's/^/not ok - /' "$tmp/log"; return; }
	kill "-$1" "$owner"
	for ((tries = 0; tries < 50; tries++)); do
		kill -0 "$qemu" 2>/dev/null || break
		sleep 0.1
	done
	! kill "$qemu" 2>/dev/null || echo "not ok - $1: QEMU is left"
	kill $! 2>/dev/null || true
}
# For other signals, which its children also get from the terminal, make waits until they end.
{ shell_killed KILL; shell_killed TERM; } | sees shell_owner "QEMU ends when the make is killed whose shell it is" ''

# The targets whose scripts boot a guest, or run others that do. These do not, or ask for it
# when they come to that: series-check may be without builds, other architectures need another
# emulator.
no_guest='run-offset test-names test-arch-name test-clients-names bench-parts series series-check deb test-arches'
booting='guest|boot'
while more=$(cd "$here" && grep -lE "\"\\\$here/($booting)\.sh\"" -- *.sh | sed 's/\.sh$//' |
		grep -vxE "selftest|$booting" | paste -sd'|') && [ -n "$more" ]; do
	booting="$booting|$more"
done
awk -v booting="^($booting)$" '
	/^guests := / { listing = 1 }
	listing { list = list " " $0; listing = /\\$/ }
	/^[a-z-]+:/ { target = $1; sub(/:.*/, "", target) }
	/^\t/ && match($0, /\$\(T\)\/[a-z-]+/) && substr($0, RSTART + 5, RLENGTH - 5) ~ booting { boots[target] = 1 }
	END {
		for (target in boots) print target
		n = split(list, word, " ")
		for (i = 1; i <= n; i++) if (word[i] ~ /^[a-z]/ && word[i] != "guests") print "listed", word[i]
	}' "$top/Makefile" >"$tmp/targets"
{
	grep -v ' ' "$tmp/targets" | grep -vxE "${no_guest// /|}" | sort >"$tmp/booting"
	sed -n 's/^listed //p' "$tmp/targets" | sort | diff - "$tmp/booting" |
		sed -n 's/^> \(.*\)/not ok - \1 is not among the guests/p; s/^< \(.*\)/not ok - \1 boots no guest/p' || true
	[ "$(wc -l <"$tmp/booting")" -ge 20 ] || echo "not ok - few targets"
} | sees guests "the Makefile knows all targets that boot a guest" ''

# Packages that are unpacked: two, of a program each, by an apt-get that is not asked.
mkdir -p "$tmp/apt" "$tmp/one/usr/bin" "$tmp/two/usr/bin" "$tmp/unpacked"
: | tee "$tmp/one/usr/bin/one" >"$tmp/two/usr/bin/two"
cat >"$tmp/apt/apt-get" <<'END'
#!/bin/bash
for arg; do
	case $arg in Dir::Cache=*) cache=${arg#*=} ;; esac
done
[[ " $* " != *' install '* ]] || touch "$cache/archives/"{one,two}.deb
END
cat >"$tmp/apt/dpkg-deb" <<'END'
#!/bin/bash
name=$(basename "$2" .deb)
[ "$name:$CUT" != two:1 ] || kill -9 0
tar -C "$PACKAGES/$name" -c .
END
chmod +x "$tmp/apt/"*
# unpacks [CUT]: how it ends, and what is there then. With CUT all of it is killed at the
# second one.
unpacks()
{
	local status=0

	(
		set -m
		# shellcheck disable=SC2030
		export PATH=$tmp/apt:$PATH PACKAGES=$tmp CUT=${1:-}
		# shellcheck disable=SC2030
		build=$tmp/unpacked
		debian_packages i386 "$build/dir" one two &
		wait $!
	) >/dev/null 2>&1 || status=$?
	echo "not ok - $status: $(cd "$tmp/unpacked" && find ./*/bin/ -type f 2>/dev/null | sort | paste -sd' ')"
}
unpacks 1 | sees unpack_cut "packages that are half unpacked do not get their name" "not ok - 137: "
{ unpacks; find "$tmp/unpacked" -mindepth 1 -maxdepth 1 ! -name dir ! -name logs ! -name '*.lock' -printf 'not ok - left: %f\n'; } |
	sees unpack_again "what was interrupted is done anew, and nothing is left of it" \
	"not ok - 0: ./dir/bin/one ./dir/bin/two"
rm -f "$tmp/unpacked/dir/bin/one"
unpacks | sees unpack_known "what is there is not unpacked again" "not ok - 0: ./dir/bin/two"
rm -f "$tmp/unpacked/dir/.packages"
unpacks | sees unpack_folder "a folder that was not unpacked to its end is no reason not to" \
	"not ok - 0: ./dir/bin/one ./dir/bin/two"
echo one >"$tmp/unpacked/dir/.packages"
rm -f "$tmp/unpacked/dir/bin/two"
unpacks | sees unpack_other "a folder of other packages is made anew" "not ok - 0: ./dir/bin/one ./dir/bin/two"

# An apt-get that works when it is asked for the third time.
cat >"$tmp/apt/apt-get" <<'END'
#!/bin/bash
[[ " $* " == *' install '* ]] || exit 0
echo "$*" >>"$build/asked"
[ "$(wc -l <"$build/asked")" -lt 3 ] || exit 0
echo "$SAYS"
exit 100
END
# needs WHY: what need() says if apt-get fails with WHY until then; this does not wait
needs()
{
	# shellcheck disable=SC2030,SC2031
	export PATH=$tmp/apt:$PATH build=$tmp/installed SAYS=$1
	mkdir -p "$build"
	: >"$build/asked"
	sleep() { :; }
	need no-such-program:package-of-it
	echo "installed"
}
{ (needs "E: Unable to acquire the dpkg frontend lock") 2>&1
  (needs "E: Unable to lock directory") 2>&1
  (needs "E: Unable to locate package") 2>&1 || true; } | sed 's/^/not ok - /; s/ see .*/ see/' |
	sees need_waits "a package is installed once another apt-get has ended; nothing else is waited for" \
"not ok - kprobes: installing missing packages: package-of-it
not ok - kprobes: waiting for another apt-get or dpkg to end
not ok - installed
not ok - kprobes: installing missing packages: package-of-it
not ok - kprobes: waiting for another apt-get or dpkg to end
not ok - installed
not ok - kprobes: installing missing packages: package-of-it
not ok - E: Unable to locate package
not ok - E: Unable to locate package
not ok - kprobes: apt-get could not install package-of-it: see"

# What the scripts are asked for
asks() { ("$@") 2>&1 | sed "s/^kprobes: /not ok - /" || true; }
{ asks how_many NR 1000 1000; asks how_many NR x; asks how_many NR 08; asks how_many NR 999 1000; } |
	sees how_many "a number that is none, or too small, is refused" \
"not ok - NR=x: has to be a number
not ok - NR=08: has to be a number
not ok - NR=999: has to be a number, at least 1000"
{ NR=x asks check_numbers; MINUTES='' SEED=0 asks check_numbers; MINUTES=1,5 asks check_numbers; FUZZ_DEFS=3 asks check_numbers; } |
	sees check_numbers "and for goals that build kernels, before they do" \
"not ok - NR=x: has to be a number, at least 0
not ok - MINUTES=1,5: has to be a number, at least 0
not ok - FUZZ_DEFS=3: has to be a number, at least 60"
for flag in QUICK=1 QUICK=0 AGAIN=0 DENSE=yes; do
	# shellcheck disable=SC2016
	env -u QUICK -u AGAIN "$flag" bash -c '. "$0"; echo "${QUICK-}${AGAIN-none}"' "$here/common.sh" 2>&1 |
		sed 's/^\(kprobes: \)\?/not ok - /' || true
done | sees flags "what is set to 0 is not set" \
"not ok - 1none
not ok - none
not ok - 
not ok - DENSE=yes: has to be 1 or 0"
PARTS='icount crwd' asks "$here/bench.sh" --check |
	sees bench_parts "make bench refuses parts that there are not" \
	"not ok - PARTS: no part crwd: icount crowd memory events cpus coverage"
{
	CONFIG=missing asks check_config | sed 's/: have .*//'
	CONFIG=arm64 asks check_config
	CONFIG=i386 asks check_config
} | sees check_config "a kernel that there is not, or that no guest here runs, is refused before anything is built" \
"not ok - no config missing.config
not ok - CONFIG=arm64: is not for x86: make test ARCH=arm64"
for goals in 'run test' 'test gcov' 'torture ARCH=arm64' 'kernel test' \
	'test ARCH=arm64' 'gcov CONFIG=i386' 'gcov CONFIG=debug'; do
	# shellcheck disable=SC2086
	make -n -C "$top" $goals >/dev/null 2>"$tmp/goals" || sed -n 's/^Makefile:[0-9]*: \*\*\* /not ok - /p' "$tmp/goals"
done | sees make_goals "make refuses goals that need another kernel each, and ARCH= and CONFIG= where they have no effect" \
"not ok - make run builds a kernel of its own: give it no other target.  Stop.
not ok - make gcov builds a kernel of its own: give it no other target.  Stop.
not ok - ARCH= is for make test and make ftracetest only: all other targets are for x86.  Stop.
not ok - make gcov counts the lines of CONFIG=x86_64 or CONFIG=i386, not of debug.  Stop."
(
	build=$tmp
	CONFIG=missing asks the_kernel
	: >"$tmp/kernel/vmlinux"
	KERNEL=kernel asks the_kernel
	for script in oops run shell; do
		KPROBES_BUILD=$tmp KERNEL=kernel "$here/$script.sh" 2>&1 || true
	done | sed 's/^kprobes: /not ok - /'
	CONFIG=kernel asks the_kernel
	KERNEL=stock-kernel asks the_kernel
	name=kernel kernel=$tmp/kernel asks has_module kprobe_x
) | sees the_kernel "a kernel or a module that is not there is missed" \
"not ok - no kernel in build/missing: make kernel or make stock builds it
not ok - KERNEL=kernel may be of older sources: make with CONFIG=kernel builds it
not ok - KERNEL=kernel may be of older sources: make with CONFIG=kernel builds it
not ok - KERNEL=kernel may be of older sources: make with CONFIG=kernel builds it
not ok - KERNEL=kernel may be of older sources: make with CONFIG=kernel builds it
not ok - no kernel in build/stock-kernel: make kernel or make stock builds it
not ok - no kprobe_x.ko in build/kernel: does it have our kprobes?"

(
	build=$tmp/only
	mkdir -p "$build/logs"
	exec 7>>"$build/logs/.only-that.lock"
	flock 7
	asks only_one other
	asks only_one that
) | sees only_one "a second run of the same does not spoil the first" \
	"not ok - that is running in build/ already: wait until it has ended"

# git bisect takes 1 for a bad commit.
status=0
KPROBES_BUILD=$tmp/build "$here/series.sh" test kprobes_hit >"$tmp/log" 2>&1 || status=$?
{ [ $status = 255 ] || echo "not ok - it exits with $status"; } |
	sees bisect "series.sh test does not call a commit bad that it has not tested" ''

# Mutants
# mutated NAME PROVES WANTED LINE...: the verdict on these
mutated()
{
	printf '%s\n' "${@:4}" >"$tmp/mutated"
	mutant_verdict "$tmp/mutated" | sed 's/\t/: /; s/^/not ok - /' | sees "$1" "$2" "not ok - $3"
}
mutated mutant_caught "a mutant is caught if a case fails" 'caught: kprobes_hit.one' \
	'ok - kprobes_hit.two' 'not ok - kprobes_hit.one'
mutated mutant_guest "a mutant is caught if its guest does not survive" 'caught: the guest failed: that' \
	'ok - kprobes_hit.two' 'not ok - the guest failed: that'
mutated mutant_survived "a mutant survives if all pass" 'survived: ' 'ok - kprobes_hit.two'
mutated mutant_nothing "a mutant is not tried if nothing has run" 'not run: no test has run' 'skip - list: that'
mutated mutant_not_run "a mutant is not caught by a guest that had no time" 'not run: no time' \
	'ok - kprobes_hit.two' 'not ok - kprobes_hit: 1 of 2 cases have not run' 'not run - no time'
mutated mutant_before "what has failed before a guest had no time catches a mutant" 'caught: kprobes_hit.one' \
	'not ok - kprobes_hit.one' 'not ok - kprobes_hit: 1 of 3 cases have not run' 'not run - no time'
# without SUITE LINE...: does it pass without a mutant?
without()
{
	printf '%s\n' "${@:2}" >"$tmp/mutated"
	if suite_passes "$tmp/mutated" "$1"; then echo "not ok - passes"; else echo "not ok - fails"; fi
}
{
	without kprobes_hit 'ok - kprobes_hit.one' 'not ok - kprobes_jump.two' 'not ok - kprobes_hits.two'
	without test:list 'ok - list: it lists' 'ok - kprobes_hit.one'
	without all 'ok - kprobes_hit.one' 'skip - kprobes_hit.two'
} | sees without_good "a test that passes without a mutant can catch one" "$(printf 'not ok - %s\n' passes passes passes)"
{
	without kprobes_hit 'ok - kprobes_hit.one' 'not ok - kprobes_hit.two'
	without kprobes_hit 'ok - kprobes_hit.one' 'not ok - kprobes_hit: 1 of 2 cases have not run'
	without kprobes_hit 'ok - kprobes_hits.one' 'skip - kprobes_hit.two'
	without kprobes_hit 'ok - kprobes_hit.one' 'not run - no time'
	without kprobes_hit 'ok - kprobes_hit.one' 'not ok - the guest failed: that'
	without test:list 'not ok - list: it lists'
	without all 'ok - kprobes_hit.one' 'not ok - kprobes_jump.two'
} | sees without_bad "a test that does not pass without a mutant catches none" \
	"$(printf 'not ok - %s\n' fails fails fails fails fails fails fails)"

# The mutants have to follow changes to the code.
for mutant in "$here"/mutants/*.patch; do
	name=${mutant##*/}
	# The files that our patches change exist only in the prepared base.
	src=$top
	[ -e "$top/$(sed -n 's/^+++ b\///p' "$mutant" | head -n 1)" ] || src=$prepared
	patch -sf -p1 --fuzz=0 --dry-run -d "$src" <"$mutant" >"$tmp/patch" 2>&1 ||
		echo "not ok - $name: does not apply: $(head -n 1 "$tmp/patch")"
	suites=$(sed -n 's/^Caught-by: //p' "$mutant")
	[ -n "$suites" ] || echo "not ok - $name: names no tests"
	for suite in $suites; do
		case $suite in
		test:*) [ -e "$here/guest/tests/${suite#test:}.sh" ] ;;
		run:ordering) ;;
		*) grep -qrF "\"$suite\"" "$top/lib/test_kprobes.c" "$top/lib/tests/kprobes" ;;
		esac || echo "not ok - $name: there is no $suite"
	done
	# A mutant for none would run nowhere.
	arch=$(sed -n 's/^For: //p' "$mutant")
	[ "${arch:-i386}" = i386 ] || grep -q "^arches=.*\<$arch\>" "$here/arches.sh" || echo "not ok - $name: there is no $arch"
done | sees mutants_apply "each mutant applies to the sources and names tests that are there" ''

# names_in FILE ARRAY...: the strings in these arrays, none of which may be without any
names_in()
{
	local array

	for array in "${@:2}"; do
		sed -n "/[ *]$array\[\]/,/};/p" "$top/$1" | grep -o '"[^"]*"' | tr -d '"' ||
			echo "nothing in $array of $1"
	done | sort -u
}
# No kernel has all of the functions that are refused by name, and some are in no kernel here.
# So compare the lists themselves.
{
	comm -3 <(names_in arch/x86/kernel/kprobes/core.c hit_path switchers offline_path) \
		<(names_in lib/tests/kprobes/blacklist.c out_of_bounds more_out_of_bounds |
			grep -vxE '__(pfx|cfi)_.*|ftrace_.*|__x86_indirect_([a-z]*_)?thunk_[er].*|acpi_idle_play_dead')
	comm -3 <(names_in arch/x86/kernel/kprobes/core.c vc_path) \
		<(names_in lib/tests/kprobes/blacklist.c vc_path)
	comm -3 <(names_in arch/x86/kernel/kprobes/core.c kretprobe_blacklist) \
		<(names_in lib/tests/kprobes/kretprobe.c names)
	comm -3 <(names_in kernel/kprobes/blacklist.c callers) \
		<(names_in lib/tests/kprobes/blacklist.c ftrace_callers)
	# Compilers inline some of these, so a kernel has fewer. The sources have all.
	for function in $(names_in lib/tests/kprobes/blacklist.c called_by_pointer); do
		grep -qrE "^(([a-z_].*[ *])?$function\(|SYM_[A-Z_]+\(${function}[,)]|EMULATE[A-Z_]*\(${function#emulate_}[,)])" \
			"$top"/kernel/kprobes* "$top"/arch/x86/kernel/kprobes "$top"/arch/x86/include/asm/kprobes.h ||
			echo "there is no $function"
	done
} | sed 's/^/not ok - /' |
	sees refused_names "each name on a list of what is refused is on that of its test, and the other way round" ''

# What no emulator does: a guest whose memory is encrypted, and the recovery from bad memory.
{
	grep -qx '	if (!ret && cc_platform_has(CC_ATTR_GUEST_STATE_ENCRYPT))' "$top/arch/x86/kernel/kprobes/core.c" &&
		grep -A1 'CC_ATTR_GUEST_STATE_ENCRYPT' "$top/arch/x86/kernel/kprobes/core.c" |
			grep -q 'x86_refuse_names(vc_path, ARRAY_SIZE(vc_path))' || echo 'not ok - #VC'
	grep -B1 'if (!fixup_exception(regs, X86_TRAP_MC' "$prepared/arch/x86/kernel/cpu/mce/core.c" |
		grep -qx '			kprobe_leave_copy(regs);' || echo 'not ok - #MC'
} | sees not_emulated "what is done for machines that are not emulated is still there" ''

# The manual: lines of kprobes/points, and as many columns as the test of that file wants.
manual=$top/Documentation/trace/kprobes.rst
line=$(sed -n "s/^line='\(.*\)'$/\1/p" "$here/guest/tests/points.sh")
states='off|breakpoint|jump|ftrace|gone'
{
	grep -E "^ +[0-9a-f]{16}  ($states)  " "$manual" | grep -vxE " +$line" |
		sed 's/^ */not ok - the manual: /' || true
	wanted=$(awk -F '  ' '{ print NF }' <<<"$line")
	got=$(awk '/^``points`` / { inside = 1 } /^``hits`` / { inside = 0 }
		inside && /^   [0-9]+\. / { n++ } END { print n + 0 }' "$manual")
	[ "$got" = "$wanted" ] || echo "not ok - the manual explains $got columns, not $wanted"
} | sees points_manual "the manual has the columns of kprobes/points" ''

# Other architectures: the manual has as many cases as the lists, and README the same figures.
{
	awk '$1 == "kunit" { n[FILENAME] += $3 }
		END { for (f in n) { name = f; sub(/.*\//, "", name); print name, n[f] } }' \
		"$here"/expected/* >"$tmp/listed"
	awk -F '|' '/^\| in QEMU / { for (i = 3; i < NF; i++) name[i] = $i }
		/^\| KUnit cases passed, failed / {
			for (i = 3; i < NF; i++) { gsub(/,/, "", $i); print name[i], $i }
		}' "$top/README.md" >"$tmp/readme"
	sed -n '/^name  *copies/,/^\.\. \[1\]/p' "$manual" | awk -v listed="$tmp/listed" -v readme="$tmp/readme" '
		BEGIN {
			while ((getline line <listed) > 0) { split(line, w, " "); cases[w[1]] = w[2] }
			while ((getline line <readme) > 0) { split(line, w, " "); there[w[1]] = w[2] " " w[3] }
		}
		$NF ~ /^[0-9]+$/ {
			rows++
			n = $(NF - 2) + $(NF - 1) + $NF
			if (n != cases[$1])
				print "not ok - " $1 ": " n " cases in the manual, " cases[$1] " in its list"
			if (there[$1] != $(NF - 2) " " $(NF - 1))
				print "not ok - " $1 ": " there[$1] " in README, " $(NF - 2) " " $(NF - 1) " in the manual"
		}
		END { if (rows < 9) print "not ok - " rows " rows" }'
} | sees arch_tables "the tables of other architectures agree with the lists" ''

# Probes on everything
cat >"$tmp/armed" <<'END'
[    2.0] kprobes-everything: window 000 begins: ffffffff81000000 to ffffffff81020000
[   32.0] kprobes-everything: window 000 ends
[   33.0] kprobes-everything: window 001 begins: ffffffff81020000 to ffffffff81040000
[   63.0] kprobes-everything: window 001 ends
[   64.0] kprobes-guest: down
END
# blamed NAME PROVES WANTED SED: the window to blame for that, edited
blamed()
{
	sed "$4" "$tmp/armed" >"$tmp/spoilt"
	culprit "$tmp/spoilt" | sed 's/^/not ok - /' | sees "$1" "$2" "not ok - $3"
}
blamed blame_armed "a window is blamed in which the kernel complains" 000 '1a [    3.0] BUG: that'
blamed blame_hung "a window is blamed that does not end" 001 '/001 ends/,999d'
blamed blame_after "a window is blamed after which the kernel complains" 000 '2a [   32.5] BUG: that'
blamed blame_end "the last window is blamed for a complaint after all have ended" 001 '5i [   63.5] BUG: that'
{
	sed '1a [    3.0] BUG: that' "$tmp/armed"
	seq -f '[   99.0] one of many lines: %.0f' 9999
} >"$tmp/spoilt"
culprit "$tmp/spoilt" | sed 's/^/not ok - /' | sees blame_long "a window is blamed however much the kernel says later" "not ok - 000"
blamed blame_lost "the last window is blamed for a guest that fails without a word" 001 5d
# Text, as nm shows it
cat >"$tmp/symbols" <<'END'
ffffffff81000000 T _stext
ffffffff81000100 T __noinstr_text_start
ffffffff81000200 T __noinstr_text_end
ffffffff81000300 T __entry_text_start
ffffffff81000400 T __entry_text_end
ffffffff81000400 T _etext
ffffffff82000000 T _sinittext
END
(nm() { cat "$tmp/symbols"; }; text_of vmlinux >"$tmp/text")
sed 's/^/not ok - /' "$tmp/text" | sees text_parts "the parts of the text are known that can be probed" \
"not ok - ffffffff81000000 ffffffff81000100
not ok - ffffffff81000200 ffffffff81000300"
# accepts NAME PROVES WANTED ACCEPTED ADDRESS...
accepts()
{
	printf '%s\n' "${@:5}" >"$tmp/window"
	echo "accepted $4" >"$tmp/result"
	few_accepted "$tmp/text" "$tmp/window" "$tmp/result" | sed 's/^/not ok - /' | sees "$1" "$2" "${3:+not ok - $3}"
}
accepts accepts_most "a window with enough probes is good" '' 4 \
	ffffffff81000000 ffffffff810000ff ffffffff81000200 ffffffff810002ff ffffffff82000000 ffffffff81000100
accepts accepts_few "a window with too few probes is seen" '3 accepted, of 4 that are not refused as a whole' 3 \
	ffffffff81000000 ffffffff810000ff ffffffff81000200 ffffffff810002ff ffffffff82000000 ffffffff81000100
accepts accepts_none "a window of what is not there any more needs no probes" '' 0 ffffffff82000000 ffffffff81000180
accepts accepts_modules "a window of modules with too few probes is seen" \
	'0 accepted, of 2 that are not refused as a whole' 0 'kprobe_target 0' 'kprobe_target 5'
# jumps NAME PROVES WANTED FTRACE JUMPS: of a window of 100
jumps()
{
	printf '%s\n' 'accepted 100' "ftrace $4" "jumps $5" 'no_jump 1 the function ends' >"$tmp/result"
	few_jumps "$tmp/result" | sed 's/^/not ok - /' | sees "$1" "$2" "${3:+not ok - $3}"
}
jumps jumps_most "a window with enough jumps is good" '' 10 77
jumps jumps_few "a window with too few jumps is seen" '76 jumps, of 90 that are no ftrace sites' 10 76
jumps jumps_ftrace "a window of ftrace sites needs no jumps" '' 100 0
# hits NAME PROVES WANTED HITS HITS_OF_JUMPS: in the second of two windows, none in the first
hits()
{
	printf '%s\n' 'accepted 100' 'jumps 50' 'hit_breakpoints 0' 'hit_jumps 0' >"$tmp/result"
	printf '%s\n' 'accepted 100' 'jumps 50' "hit_breakpoints $4" "hit_jumps $5" >"$tmp/result2"
	no_hits "$tmp/result" "$tmp/result2" | sed 's/^/not ok - /' | sees "$1" "$2" "$3"
}
hits hits_some "a window without hits is good if another one has some" '' 1 1
hits hits_none "windows are seen that have no hits" \
"not ok - of 200 probes none was hit as a breakpoint or an ftrace site
not ok - of 100 jumps none was hit" 0 0
hits hits_jumps "windows are seen whose jumps have no hits" "not ok - of 100 jumps none was hit" 7 0

# Handlers that crash
cat >"$tmp/oops" <<'END'
[    4.517113] kprobe_oops: begin pre plain jump null
[    4.520244] BUG: kernel NULL pointer dereference, address: 0000000000000008
[    4.520774] Oops: Oops: 0002 [#1] PREEMPT SMP NOPTI
[    4.521693] RIP: 0010:oops_by_address+0x5/0x10 [kprobe_oops]
[    4.522875] Call Trace:
[    4.523453]  <TASK>
[    4.523590]  oops_pre_handler+0xe/0x20 [kprobe_oops]
[    4.523872]  0xffffffffc02c20c1
[    4.524199] RIP: 0010:oops_plain+0x5/0x10 [kprobe_oops]
[    4.524894]  ? oops_plain+0x5/0x10 [kprobe_oops]
[    4.524942]  oops_caller+0x1e/0x30 [kprobe_oops]
[    4.525274]  </TASK>
[    4.525568] kprobes: a handler of the probe at oops_plain+0x4/0x10 [kprobe_oops] was running
[    4.525907] ---[ end trace 0000000000000000 ]---
[    4.692269] kprobe_oops: end pre plain jump null: returned 0, hits 1 and 1, fixed 0, works 1
[    4.700102] kprobe_oops: begin insn moved jump null
[    4.701270] BUG: kernel NULL pointer dereference, address: 0000000000000008
[    4.701693] RIP: 0010:0xffffffffc02c2193
[    4.702875] Call Trace:
[    4.702942]  oops_caller+0x1e/0x30 [kprobe_oops]
[    4.705568] kprobes: the instruction that crashed is displaced from oops_moved+0xe/0x1c [kprobe_oops]
[    4.712269] kprobe_oops: end insn moved jump null: returned 0, hits 1 and 1, fixed 0, works 1
[    4.737426] kprobe_oops: begin pre plain jump fixed
[    4.737427] kprobe_oops: end pre plain jump fixed: returned 1, hits 1 and 1, fixed 1, works 1
END
# crashed SED [CASE [PANICS]]: what is said of that, with an error
crashed()
{
	sed "$1" "$tmp/oops" >"$tmp/spoilt"
	oops_verdict "$tmp/spoilt" "${2:-pre:plain:jump:null}" "${3:-}" | sed 's/^/not ok - /'
}
crashed '' | sees oops_good "a report that names the probe is good" ''
crashed '/BUG:/d; /was running/d' | sees oops_report "a report that is missing is seen" \
"not ok - no report
not ok - no name of the probe"
crashed '/Oops/a BUG: KASAN: slab-use-after-free in kprobe_hit' | sees oops_second "a second report is seen" \
	"not ok - one more report: BUG: KASAN: slab-use-after-free in kprobe_hit"
sed '$a WARNING: CPU: 0 PID: 1 at kprobe_free+0x1/0x2' "$tmp/oops" >"$tmp/spoilt"
oops_strays "$tmp/spoilt" | sed 's/^/not ok - /' | sees oops_stray "a report between two cases is seen" \
	"not ok - a report that belongs to no case: WARNING: CPU: 0 PID: 1 at kprobe_free+0x1/0x2"
# hung [LINE]: the same for a handler that hangs, during which the kernel says this, too
hung()
{
	sed 's/null/hang/; s/BUG: .*/rcu: INFO: rcu_preempt self-detected stall on CPU/; s/Oops: .*/'"${1:-INFO: NMI handler took too long}"'/
		s/returned 0/returned 1/; /was running/d' "$tmp/oops" >"$tmp/spoilt"
	oops_verdict "$tmp/spoilt" pre:plain:jump:hang '' | sed 's/^/not ok - /'
}
{ hung; hung 'WARNING: CPU: 0 PID: 1 at kprobe_hit+0x1'; } | sees oops_hang "a report beside that of a handler that hangs is seen" \
	"not ok - one more report: WARNING: CPU: 0 PID: 1 at kprobe_hit+0x1"
oops_strays "$tmp/oops" | sees oops_no_stray "a report of a case is none between two" ''
# The kernel "none" does not boot, but there is a log of it, in which all is well.
{
	mkdir "$tmp/none"
	: >"$tmp/none/vmlinux"
	panicked=$tmp/logs/oops-none-pre-plain-jump-stack.console
	sed 's/jump null/jump stack/; s/BUG: .*/BUG: TASK stack guard page was hit/
		s/kprobe_oops: end.*/Kernel panic - not syncing: Fatal exception/' "$tmp/oops" >"$panicked"
	oops_verdict "$panicked" pre:plain:jump:stack 1 | sed 's/^/not ok - the example: /'
	# shellcheck disable=SC2031
	PATH=$tmp/machine:$PATH KPROBES_BUILD=$tmp CONFIG=none EMULATOR_PATCHES=0 \
		TEST='oops.pre_plain_jump_stack' "$here/oops.sh" 2>&1 || true
} | sees oops_anew "the panic of an earlier guest is not taken for that of one that does not start" \
	"not ok - oops.pre_plain_jump_stack: see build/logs/oops-none-pre-plain-jump-stack.console"
crashed '/RIP: 0010:oops_plain/d' | sees oops_function "a function that is there by chance does not count" \
	"not ok - no probed function"
crashed 's/and 1/and 0/' | sees oops_dead "a machine that does not probe any more is seen" \
	'not ok - got "kprobe_oops: end pre plain jump null: returned 0, hits 1 and 0, fixed 0, works 1", wanted "kprobe_oops: end pre plain jump null: returned 0, hits 1 and 1, fixed 0, works 1"'
crashed '' insn:moved:jump:null | sees oops_moved_good "a report that names the instruction is good" ''
crashed '/displaced from/d' insn:moved:jump:null |
	sees oops_moved "an instruction without its address is seen" "not ok - no instruction"
crashed 's/begin pre plain jump fixed/&\nWARNING: something/' pre:plain:jump:fixed |
	sees oops_silent "a report where none has to be is seen" "not ok - a report: fixed"
{
	echo '[   10.8] kprobe_oops: panic_path: ftrace sites 40, jumps 71, breakpoints 47'
	echo '[   10.9] Kernel panic - not syncing: sysrq triggered crash'
	for n in {1..30}; do
		echo "[   11.0]    <...>-69        0d..1. 2195$n: p_panic_$n: (panic+0x$n/0x310)"
	done
	echo '[   11.1]   <idle>-0         1d.h1. 22029293us : p_stop_this_cpu_31: (stop_this_cpu+0x1f/0x70)'
	echo '[   11.1]    <...>-69        0d..1. 22029us : r_native_stop_other_cpus: (panic+0x12a/0x310 <- native_stop_other_cpus)'
} >"$tmp/panicked"
echo 'kprobes: guest: ended before the job did: see log' >"$tmp/panicked.txt"
panic_path_verdict "$tmp/panicked" "$tmp/panicked.txt" | sed 's/^/not ok - /' |
	sees panic_path_good "a panic with probes on its way is good" ''
sed -i 's/jumps 71/jumps 0/; /r_native/d; /p_panic_7/d' "$tmp/panicked"
echo 'WARNING: CPU: 0' >>"$tmp/panicked"
echo 'kprobes: guest: oops did not end within 240 s: see log' >"$tmp/panicked.txt"
panic_path_verdict "$tmp/panicked" "$tmp/panicked.txt" | sed 's/^/not ok - /' |
	sees panic_path_bad "a panic that probes disturb, or that none is hit in, is seen" \
"not ok - one more report: WARNING: CPU: 0
not ok - few probes: ftrace sites 40, jumps 0, breakpoints 47
not ok - few hits: 30, in panic() 29, on the other CPU 1, returns 0
not ok - the guest: kprobes: guest: oops did not end within 240 s: see log"
printf '[   10.8] %s\n' 'kprobe_oops: crash_path: ftrace sites 40, jumps 71, breakpoints 47' \
	'Kernel panic - not syncing: sysrq triggered crash' \
	'p_native_machine_crash_shutdown_0: (native_machine_crash_shutdown+0x0/0xe0)' \
	'p_crash_save_cpu_5: (crash_save_cpu+0x5/0x100)' \
	'r_crash_save_cpu: (kdump_nmi_callback+0x10/0x20 <- crash_save_cpu)' >"$tmp/crashed"
echo 'kprobe_oops: the crash kernel is up' >>"$tmp/crashed"
echo 'kprobes: guest: ended before the job did: see log' >"$tmp/crashed.txt"
crash_path_verdict "$tmp/crashed" "$tmp/crashed.txt" | sed 's/^/not ok - /' |
	sees crash_path_good "a panic that starts another kernel with probes on its way is good" ''
sed -i 's/jumps 71/jumps 0/; /r_crash/d; /is up/d' "$tmp/crashed"
echo 'BUG: unable to handle page fault' >>"$tmp/crashed"
crash_path_verdict "$tmp/crashed" "$tmp/crashed.txt" | sed 's/^/not ok - /' |
	sees crash_path_bad "a panic in which the other kernel does not come up is seen" \
"not ok - one more report: BUG: unable to handle page fault
not ok - few probes: ftrace sites 40, jumps 0, breakpoints 47
not ok - few hits: in the shutdown 1, where registers are saved 1, returns 0
not ok - the crash kernel is not up"

printf '%s\n' '[    5.1] kernel BUG at /src/kprobe_oops.c:400!' '[    5.1] Oops: invalid opcode: 0000 [#1] SMP' \
	'[    5.1] RIP: 0010:reader_write+0x10/0x20' >"$tmp/in_reader"
echo 'kprobes: guest: fail: the list' >"$tmp/in_reader.txt"
in_reader_verdict "$tmp/in_reader" "$tmp/in_reader.txt" 0 | sed 's/^/not ok - /' |
	sees in_reader_good "an oops in an RCU reader, and nothing else, is good" ''
sed -i '/RIP/s/.*/kprobes: cannot unregister a probe/' "$tmp/in_reader"
in_reader_verdict "$tmp/in_reader" "$tmp/in_reader.txt" 1 | sed 's/^/not ok - /' |
	sees in_reader_bad "a probe that stays after an oops in an RCU reader is seen" \
"not ok - the guest: kprobes: guest: fail: the list
not ok - one more report: kprobes: cannot unregister a probe
not ok - 1 reports, 0 in reader_write()"
for how in '' 's/and 1/and 0/' 's/kprobe_oops: end.*/Kernel panic - not syncing: Fatal exception/' \
		'/end pre/d' '/jump null/d' 's/.*begin pre/kprobe_oops: not in the state jump\n&/'; do
	sed "$how" "$tmp/oops" >"$tmp/spoilt"
	oops_outcome "$tmp/spoilt" pre:plain:jump:null
done | sed 's/^/not ok - /' | sees oops_outcomes "what a kernel does that is not judged is told" \
"not ok - goes on
not ok - goes on, but probes do not work any more
not ok - panics
not ok - neither goes on nor panics
not ok - has not begun
not ok - goes on (not in that state)"

# Barriers in what a compiler has made, and in what it is told, of which one is gone
# barriers ARCH TIMES [LINE]: what is said if it has each of them so often, and is told all but
# LINE of the list. What begins with $moved is not where a "place" of the list wants it.
barriers()
{
	local i out=$tmp/ordering arch what file kind nr
	local -A places=()

	rm -rf "$out"
	mkdir -p "$out"
	echo CONFIG_GCC_VERSION="${gcc:-120200}" >"$out/.config"
	for ((i = 0; i < $2; i++)); do
		# shellcheck disable=SC2016
		printf ' 4:\t%b\n' 'dmb\tish' 'dmb\tishld' 'dmb\tishst' 'stlr\tx0, [x1]' 'ldar\tx0, [x1]' \
			'lock addl $0x0,-0x4(%rsp)' 'lock '{incq,incl,decl,sub,cmpxchg,or,or} \
			'xchg %eax,'{,}'0x10(%rbx)' 'R_AARCH64_CALL26\tmutex_'{lock_nested,unlock} \
			'R_X86_64_PLT32\t'{cpus_read_lock,flush_work,kprobe_quiesce,kprobe_wait_for_tasks,synchronize_rcu{,_tasks},text_poke_finish}-0x4
	done >"$out/listing"
	printf '#!/bin/sh\ncat %s\n' "$out/listing" >"$out/objdump"
	# The compiler: writes to the file after -o what this one is told for all files.
	# shellcheck disable=SC2016
	printf '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncat told >"$2"\n' >"$out/cc"
	chmod +x "$out/objdump" "$out/cc"
	while read -r what arch file kind nr; do
		[ "$what $arch" = "source $1" ] || continue
		mkdir -p "$out/${file%/*}" "$out/source/${file%/*}"
		echo "savedcmd_x := ./cc -Wp,-MMD,x.d -c -o ${file%.c}.o source/$file ; ./objtool" \
			>"$out/${file%/*}/.$(basename "$file" .c).o.cmd"
		yes 'barrier(); preempt_disable_notrace(); preempt_enable_notrace();' | head -n 20 >"$out/source/$file" || true
	done <"$here/ordering.list"
	while read -r what arch file kind nr; do
		[ "$what $arch" = "place $1" ] || continue
		[ -z "${moved:-}" ] || [[ $nr != "$moved"* ]] || nr="elsewhere(); | ${nr#* | }"
		printf '\t%s\n\n\t/* Why\n\t * that is so. */\n\t%s(); /* here */\n\t%s /* too */\n' "${nr% | *}" "$kind" "${nr#* | }" \
			>>"$out/source/$file"
		places[$file $kind]+=" $(($(wc -l <"$out/source/$file") - 1))"
	done <"$here/ordering.list"
	while read -r what arch file kind nr; do
		[ "$what $arch" = "source $1" ] || continue
		[ "$what $arch $file $kind $nr" != "${3:-}" ] || nr=$((nr - 1))
		# shellcheck disable=SC2086
		printf "	# kprobes-ordering $kind $file %s\n" ${places[$file $kind]:-} $(seq 20) | head -n "$nr" || true
	done <"$here/ordering.list" >"$out/told"
	[ -z "${more:-}" ] || echo "	# kprobes-ordering $more" >>"$out/told"
	[ -z "${uncompiled:-}" ] || rm "$out/$uncompiled"
	"$here/ordering.sh" "$1" "$out" "$out/" 2>&1 | sed 's/^ok/not ok - it says ok/' || true
}
nr_sources=$(grep -c '^source x86_64 ' "$here/ordering.list")
nr_places=$(grep -c '^place x86_64 ' "$here/ordering.list")
{
	barriers arm64 14
	barriers x86_64 3
	barriers riscv64 0
	# Not a barrier of ours, although a macro that is named there has one.
	more='barrier kernel/kprobes/arm.c 99' barriers x86_64 3
} | sees ordering_there "barriers that are there are found" \
"not ok - it says ok - ordering: barriers and locks of arm64 are there: 20 kinds in code, 14 in sources, 1 between two accesses
not ok - it says ok - ordering: barriers and locks of x86_64 are there: 28 kinds in code, $nr_sources in sources, $nr_places between two accesses
not ok - it says ok - ordering: barriers and locks of riscv64 are there: 0 kinds in code, 8 in sources, 0 between two accesses
not ok - it says ok - ordering: barriers and locks of x86_64 are there: 28 kinds in code, $nr_sources in sources, $nr_places between two accesses"
{
	barriers arm64 13
	barriers x86_64 2
	barriers vax 99
	gcc=130100 barriers x86_64 0
	barriers x86_64 3 'source x86_64 kernel/kprobes/pool.c smp_rmb 2'
	barriers x86_64 3 'source x86_64 kernel/kprobes/table.c synchronize_rcu 1'
	moved='WRITE_ONCE(pool->asked' barriers x86_64 3
	more='smp_rmb kernel/kprobes/arm.c 7' barriers x86_64 3
	uncompiled=kernel/kprobes/.hit.o.cmd barriers x86_64 3
} | sees ordering_gone "a barrier that is gone is seen" \
"not ok - ordering: kernel/kprobes/pool.o for arm64 has 13 of 14: dmb\s+ish$
not ok - ordering: kernel/kprobes/pool.o for x86_64 has 2 of 3: lock addl \\\$0x0,-0x4\\(%rsp\\)
not ok - ordering: kernel/kprobes/kretprobe_calls.o for x86_64 has 4 of 5: lock or
not ok - ordering: kernel/kprobes/pool.o for x86_64 has 2 of 3: lock incl
not ok - ordering: kernel/kprobes/pool.o for x86_64 has 4 of 5: xchg\s+%[a-z0-9]+,.*\(
not ok - ordering: kernel/kprobes/ftrace.o for x86_64 has 2 of 3: R_X86_64_PLT32\s+cpus_read_lock-0x4$
not ok - ordering: kernel/kprobes/ftrace.o for x86_64 has 2 of 3: R_X86_64_PLT32\s+synchronize_rcu-0x4$
not ok - ordering: kernel/kprobes/switch.o for x86_64 has 2 of 3: R_X86_64_PLT32\s+kprobe_quiesce-0x4$
not ok - ordering: nothing is listed for vax
not ok - it says ok - ordering: barriers and locks of x86_64 are there: 0 kinds in code, not counted by gcc 13, $nr_sources in sources, $nr_places between two accesses
not ok - ordering: kernel/kprobes/pool.c has 1 of 2: smp_rmb
not ok - ordering: kernel/kprobes/pool.c has no smp_rmb between: ri = pool_search(pool); | } while (!ri && puts != raw_atomic_read(&pool->puts)
not ok - ordering: kernel/kprobes/table.c has 0 of 1: synchronize_rcu
not ok - ordering: kernel/kprobes/pool.c has no smp_mb between: WRITE_ONCE(pool->asked, false); | } while (pool_is_wanted(pool)
not ok - ordering: kernel/kprobes/arm.c has 1: smp_rmb, which is not listed
not ok - ordering: kernel/kprobes/hit.c: the kernel's build did not compile it"

# Those of other architectures are checked by test-arch.sh.
while read -r arch; do
	grep -qx 'ordering ordering 1 0' "$here/expected/$arch" || echo "not ok - $arch"
done < <(awk '$1 == "code" || $1 == "source" { print $2 }' "$here/ordering.list" | sort -u) |
	sees ordering_arches "barriers that are listed for an architecture have to be checked there" ''

# Exceptions of the hit path: which ones are not needed, where one calls two, and three and
# four exist?
# excepted LINE...: what is said of that list
excepted()
{
	printf '%s\n' "$@" | PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 -c '
import hitpath, sys
allowed = hitpath.exceptions(sys.stdin, ["SMP", "X86_32"])
for pair in hitpath.unneeded(allowed, {("one", "two"), ("one", "*")}, {"one", "two", "three", "four"}):
    print("not ok - %s %s" % pair)' 2>&1 | sed 's/^kprobes: hitpath: /not ok - /' || true
}
excepted 'one two # why' 'one * # why' '* two # why' '# that' | sees hitpath_needed "exceptions that are needed are good" ''
excepted 'one two # why' 'one three SMP X86_32 # why' '* four # why' 'three * # why' |
	sees hitpath_unneeded "an exception that nothing needs is seen" \
"not ok - one three
not ok - * four
not ok - three *"
excepted 'one five # why' 'five * # why' 'one three SMP KASAN # why' |
	sees hitpath_elsewhere "an exception for other kernels need not be needed" ''
excepted 'one two' | sees hitpath_reason "an exception without a reason is seen" "not ok - no reason for one two"
# bench: ours without a figure. Those of stock may be missing.
mkdir "$tmp/report"
: >"$tmp/report/none"
status=0
PYTHONDONTWRITEBYTECODE=1 "$here/bench/report.py" --out "$tmp/report" --base x --parts crowd \
	"$tmp/report/none" "$tmp/report/none" "$tmp/report/none" >/dev/null 2>"$tmp/report/log" || status=$?
sed -n "1s/^broken: .*: no figure of ours$/not ok - $status: no figure/p" "$tmp/report/log" |
	sees bench_gap "figures that ours does not have are missed" "not ok - 1: no figure"

# Entries of hits, in a kernel that has all but one of 18
# entries_without ENTRY OPTION...: what is said of a kernel without the entry, with these options
entries_without()
{
	PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 -c '
import hitpath, sys
names = " ".join(hitpath.ROOTS.values()).split()
assert sys.argv[1] in names
there = list(hitpath.roots(set(names) - {sys.argv[1]}, sys.argv[2:]))
print("not ok - %d of %d" % (len(there), len(names)))' "$@" 2>&1 |
		sed 's/^kprobes: hitpath: /not ok - /' || true
}
{
	entries_without detour_post KPROBES KRETPROBES
	entries_without kprobe_ftrace_trampoline KPROBES KPROBES_ON_FTRACE
} | sees hitpath_entry_off "an entry of hits may lack that the kernel has no option for" \
"not ok - 17 of 18
not ok - 17 of 18"
{
	entries_without detour_post KPROBES OPTPROBES
	entries_without kretprobe_return KPROBES KRETPROBES
	entries_without exc_int3 KPROBES
	entries_without kprobe_ftrace_trampoline KPROBES KPROBES_ON_FTRACE X86_64
} | sees hitpath_entry "an entry of hits is seen that the kernel lacks" \
"not ok - no detour_post in this kernel, which has OPTPROBES
not ok - no kretprobe_return in this kernel, which has KRETPROBES
not ok - no exc_int3 in this kernel, which has KPROBES
not ok - no kprobe_ftrace_trampoline in this kernel, which has KPROBES_ON_FTRACE X86_64"
# walks [:NAME]: what is said of what one() calls, up to its first call of NAME. It calls two(),
# three() and four(); these call five(), a pointer, and six(). five() and six() are not refused.
walks()
{
	PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 -c '
import hitpath, sys
names = "one two three four five six".split()
class Kernel(hitpath.Kernel):
    def __init__(self):
        self.symbol = {name: i for i, name in enumerate(names)}
        self.names = {i: [name] for i, name in enumerate(names)}
        self.jumps = self.alternatives = {}
    def function(self, addr):
        return addr
    def end(self, start):
        return start + 1
    def branches(self, start, end):
        return ([1, 2, 3], [4], [None], [5], [], [])[start]
walk = hitpath.Walk(Kernel(), lambda addr: addr < 4, ["one" + sys.argv[1]])
for what, way in walk.wrong({("three", "*"): True}):
    print("not ok - %s < %s" % (what, way))' "$1" 2>&1 | sed 's/^kprobes: hitpath: /not ok - /' || true
}
walks '' | sees hitpath_walk "the walk sees what is neither refused nor excepted, and how it comes there" \
"not ok - six < four < one
not ok - five < two < one"
walks :three | sees hitpath_until "the walk of a function that is left early ends there" "not ok - five < two < one"
walks :six | sees hitpath_no_end "a walk that does not come to its end is seen" "not ok - one does not call six"

# Torture
cat >"$tmp/tortured" <<'END'
killer hotplug 9
killer module 7
killer nmi 5
killer stalls 4
killer memory 6
killer keys 8
killer livepatches 3
memory_taken 65
memory_deaths 0
key_flips 16
key_off 9000
key_on 9000
original 9000
replaced 9000
# torture_plain: calls 9 + 0, hits 9 9
calls 100000
hits 90000
entries 90000
posts 20000
in_task 50000
in_softirq 900
in_hardirq 900
in_nmi 900
in_handler 900
cpus_with_tasks 2
cpus_with_nmis 2
hits_in_nmi 3600
nmis 900
nmis_irqs_off 300
nmis_over_handler 200
nmis_over_patch 1
nmis_over_copy 40
nmis_over_detour 2
rounds 90
singles 30
batches 20
returns 20
mistakes 5
churned_hits 5000
jumps_seen 20
diverted 9
faults 90
jprobes 9
jprobe_hits 90
switched_batches 9
wrong 0
late 0
errors 0
inexact 0
unequal 0
left_points 0
left_found 0
left_users 0
left_copies 0
left_detours 0
left_pools 0
unarmed 0
END
# tortured SED: the verdict on that, edited
tortured()
{
	sed "$1" "$tmp/tortured" >"$tmp/spoilt"
	torture_verdict "$tmp/spoilt" exact 'hotplug module nmi stalls memory keys livepatches' 2 1 "${2:-x86_64}" | sed 's/^/not ok - /'
}
tortured '' | sees torture_good "a run of torture with all counts is good" ''
tortured 's/^inexact 0/inexact 1/' | sees torture_inexact "a lost hit is seen" \
	"not ok - inexact: 1, wanted 0"
tortured 's/^left_detours 0/left_detours -1/' | sees torture_left "a slot that is left is seen" \
	"not ok - left_detours: -1, wanted 0"
{
	torture_verdict "$tmp/tortured" exact 'hotplug module nmi stalls memory keys livepatches' 2 1 rt leaks
	printf '%s\n' 'leaks_seen 1' 'left_leaks 3' | cat "$tmp/tortured" - >"$tmp/spoilt"
	torture_verdict "$tmp/spoilt" exact 'hotplug module nmi stalls memory keys livepatches' 2 1 rt leaks
} | sed 's/^/not ok - /' | sees torture_leaks "memory that is lost is seen, and that nobody has looked for it" \
"not ok - leaks_seen: not told
not ok - left_leaks: not told
not ok - left_leaks: 3, wanted 0"
tortured 's/^unarmed 0/unarmed 1/' | sees torture_unarmed "points that stay off are seen" \
	"not ok - unarmed: 1, wanted 0"
{
	echo '[    1.0] Dynamic Preempt: full' >"$tmp/spoilt"
	preemption_verdict "$tmp/spoilt" 'a preempt=none b'
	preemption_verdict "$tmp/spoilt" 'a preempt=full'
	preemption_verdict "$tmp/spoilt" a
} | sed 's/^/not ok - /' | sees torture_preemption "a kernel that preempts in another way is seen" \
	"not ok - preemption: the kernel does not say that it is none"
tortured '/^jprobe_hits/d; s/^faults .*/faults 0/' | sees torture_kinds "kinds of probes that did nothing are seen" \
"not ok - faults: 0, wanted at least 20
not ok - jprobe_hits: not told"
tortured '/^jprobe/d; s/^faults .*/faults 0/; s/^\(nmis_over_[cd].*\) .*/\1 0/' stock-x86_64 |
	sees torture_stock "what stock does not have is not wanted of it" ''
tortured '/^late/d' | sees torture_missing "a count that is not there is missed" \
	"not ok - late: not told"
tortured 's/^in_hardirq .*/in_hardirq 0/' | sees torture_idle "a reader that did nothing is seen" \
	"not ok - in_hardirq: 0, wanted at least 100"
tortured '/killer module/d; s/hotplug 9/hotplug 0/' | sees torture_killers "a killer that did nothing is seen" \
"not ok - killer hotplug: 0 rounds, wanted at least 1
not ok - killer module: not told"
torture_verdict "$tmp/tortured" exact 'hotplug module nmi' 2 60 x86_64 | sed -n 's/^killer/not ok - &/p' |
	sees torture_stopped "killers that do little in a long run are seen" \
"not ok - killer hotplug: 9 rounds, wanted at least 10
not ok - killer module: 7 rounds, wanted at least 10
not ok - killer nmi: 5 rounds, wanted at least 10"
tortured 's/stalls 4/stalls 0/' | sees torture_stalls "stalls that did not happen are seen" \
	"not ok - killer stalls: 0 rounds, wanted at least 1"
tortured '/killer memory/d; s/^memory_taken .*/memory_taken 6/; s/^\(memory_deaths\) 0/\1 1/' |
	sees torture_memory "memory that was not taken, and a task that was killed for it, are seen" \
"not ok - memory_deaths: 1, wanted 0
not ok - memory_taken: 6, wanted at least 50
not ok - killer memory: not told"
tortured '/killer keys/d; s/^key_\([a-z]*\) .*/key_\1 0/' | sees torture_keys "a static key that was not switched is seen" \
"not ok - key_flips: 0, wanted at least 2
not ok - key_off: 0, wanted at least 100
not ok - key_on: 0, wanted at least 100
not ok - killer keys: not told"
tortured 's/livepatches 3/livepatches 0/; s/^replaced .*/replaced 0/' |
	sees torture_livepatches "a live patch that did nothing is seen" \
"not ok - replaced: 0, wanted at least 100
not ok - killer livepatches: 0 rounds, wanted at least 1"
echo killer nobody 9 >>"$tmp/tortured"
torture_verdict "$tmp/tortured" exact 'hotplug nobody' 2 1 x86_64 | sed 's/^/not ok - /' |
	sees torture_unknown "a killer of which nothing is known is seen" "not ok - killer nobody: unknown"
some=''
{
	for scenario in "$here/torture/"*; do
		KILLERS=''
		# shellcheck disable=SC1090
		. "$scenario"
		torture_lacks "${scenario##*/}" "$KILLERS"
		some="$some $KILLERS"
	done
	torture_lacks 'all together' "$some" ''
} | sed 's/^/not ok - /' | sees torture_all_killers "scenarios have all killers that they need" ''
torture_lacks that "$(awk '{ print $1 }' <<<"$TORTURE_KILLERS" | grep -vx tracers | paste -sd' ')" | sed 's/^/not ok - /' |
	sees torture_lacks "a killer that a scenario lacks is seen" "not ok - that: no killer tracers"
tortured 's/^\(cpus_with_[a-z]*\) .*/\1 1/' | sees torture_cpus "a CPU that had nothing to do is seen" \
"not ok - cpus_with_tasks: 1, wanted at least 2
not ok - cpus_with_nmis: 1, wanted at least 2"
tortured 's/^entries .*/entries 0/' | sees torture_missed "return probes that miss their calls are seen" \
	"not ok - entries: 0, wanted at least 81000"
tortured 's/^jumps_seen .*/jumps_seen 1/' | sees torture_no_jumps "probes that do not become jumps again are seen" \
	"not ok - jumps_seen: 1, wanted at least 10"
tortured 's/^hits_in_nmi .*/hits_in_nmi 0/' | sees torture_nmi_hits "NMIs that hit nothing are seen" \
	"not ok - hits_in_nmi: 0, wanted at least 1000"
tortured 's/^\(nmis[a-z_]*\) .*/\1 0/' | sees torture_no_nmis "NMIs that did not arrive are seen" \
"not ok - nmis: 0, wanted at least 500
not ok - nmis_irqs_off: 0, wanted at least 100
not ok - nmis_over_handler: 0, wanted at least 20
not ok - nmis_over_patch: 0, wanted at least 1
not ok - nmis_over_copy: 0, wanted at least 20
not ok - nmis_over_detour: 0, wanted at least 1"
# torture.sh, where a kernel is built, and another one is not
mkdir -p "$tmp/staged/x86_64"
touch "$tmp/staged/x86_64/vmlinux"
stands_for guest.sh <<<"$(printf '#!/bin/bash\ncat %q' "$tmp/tortured")"
tortures()
{
	MINUTES=1 staged env "$@" "$stage/torture.sh" >/dev/null
	sed -n 's/^skip/not ok - skip/p; s/^.* failed, /not ok - /p' "$tmp/log"
}
{
	tortures
	mkdir -p "$tmp/staged/rt"
	touch "$tmp/staged/rt/vmlinux"
	stands_for kernel.sh <<<$'#!/bin/bash\necho "skip - is built: $CONFIG"'
	tortures
	tortures KERNEL=x86_64
	tortures SCENARIO=none
} | sees torture_left_out "a scenario that does not run is named" \
"not ok - skip - torture: debug: needs build/debug: make kernel CONFIG=debug
not ok - skip - torture: i386: needs build/i386: make kernel CONFIG=i386
not ok - skip - torture: rt: needs build/rt: make kernel CONFIG=rt
not ok - 3 not run
not ok - skip - torture: debug: needs build/debug: make kernel CONFIG=debug
not ok - skip - torture: i386: needs build/i386: make kernel CONFIG=i386
not ok - skip - is built: rt
not ok - 2 not run
not ok - skip - torture: debug: needs build/debug, not x86_64: make kernel CONFIG=debug
not ok - skip - torture: i386: needs build/i386, not x86_64: make kernel CONFIG=i386
not ok - skip - torture: rt: needs build/rt, not x86_64: make kernel CONFIG=rt
not ok - 3 not run"
# and a killer that a kernel cannot have
mkdir -p "$tmp/staged/i386"
touch "$tmp/staged/i386/vmlinux"
echo CONFIG_X86_32=y >"$tmp/staged/i386/.config"
stands_for guest.sh <<<$'#!/bin/bash\nprintf "%s\\n" "$@"'
{
	for kernel in x86_64 i386; do
		tortures CONFIG=$kernel SCENARIO=one
		sed -n 's/^# one: /not ok - /p' "$tmp/log"
		sed -n 's/^KILLERS/not ok - &/p' "$tmp/staged/logs/torture-one.txt"
	done
} | sees torture_32bit "32 bits, which have no live patches, are not tortured with them" \
"not ok - KILLERS=jumps tracers module events memory stalls keys livepatches nmi
not ok - without the killer livepatches, as 32 bits have no live patches
not ok - KILLERS=jumps tracers module events memory stalls keys nmi"
rm -rf "$tmp/staged/"{rt,x86_64}
stands_for kernel.sh <<<'#!/bin/bash'
ln -sf "$here/guest.sh" "$stage/"

# The ftrace project's tests, stock beside ours
printf 'test.d/%s.tc\n' kprobe/one kprobe/two dynevent/three >"$tmp/cases"
cat >"$tmp/ftraced" <<'END'
=== Ftrace unit tests ===
[1]Kprobe dynamic event - adding and removing	[PASS]
[2]Register/unregister optimized probe	[UNSUPPORTED]
[3]Generic dynamic event [with brackets]	[PASS]


# of passed:  2
--- 2-two.tc-log.jkHd8T
[3] not a result
END
echo "arch two UNSUPPORTED no jumps" >"$tmp/list"
# ftraced STOCK-SED OURS-SED [LIST]: the verdict on that, edited
ftraced()
{
	sed "$1" "$tmp/ftraced" | ftrace_results "$tmp/cases" >"$tmp/stock"
	sed "$2" "$tmp/ftraced" | ftrace_results "$tmp/cases" >"$tmp/ours"
	ftrace_verdict arch "$tmp/stock" "$tmp/ours" "${3-$tmp/list}"
}
ftraced '' '' | sees ftrace_good "ftrace tests with what is expected are good" ''
ftraced 's/^.3.*PASS/[3]x	[FAIL/' '' | sees ftrace_better "a test that passes on ours only is good" ''
ftraced '' 's/^.1.*PASS/[1]x	[UNRESOLVED/' | sees ftrace_worse "a test that passes on stock only is seen" \
	"not ok - one: passes on stock, not on ours: UNRESOLVED"
ftraced 's/^.1.*PASS/[1]x	[FAIL/' 's/^.1.*PASS/[1]x	[FAIL/' |
	sees ftrace_both "a test that passes on neither is seen" \
	"not ok - one: does not pass, and is not expected to: FAIL"
ftraced '' '/^.2/,999d' | sees ftrace_ours_ended "tests that did not run on ours are seen" \
"not ok - two: has no result on ours
not ok - three: has no result on ours"
ftraced '/^.2/,999d' '' | sees ftrace_stock_ended "tests that did not run on stock are seen" \
"not ok - two: has no result on stock
not ok - three: has no result on stock"
ftraced '' 's/	.PASS.*//; 2q' | sees ftrace_dies "a test that kills the guest is seen" \
"not ok - one: passes on stock, not on ours: DIES
not ok - two: has no result on ours
not ok - three: has no result on ours"
ftraced 's/UNSUPPORTED/PASS/' 's/UNSUPPORTED/PASS/' |
	sees ftrace_list "a test that is wrongly expected not to pass is seen" \
	"not ok - two: passes, and is expected not to"
ftraced '' '' /dev/null | sees ftrace_unlisted "a result that is not expected is seen" \
	"not ok - two: does not pass, and is not expected to: UNSUPPORTED"
: >"$tmp/cases"
ftraced '' '' | sees ftrace_nothing "a run of no ftrace test is none" "not ok - ftracetest: no test has run"

# faults SED [LIST]: what is wrong with the results of one kernel, edited
faults()
{
	sed "$1" "$tmp/ftraced" | ftrace_results "$tmp/cases" >"$tmp/ours"
	ftrace_faults arch "$tmp/ours" "${2:-$tmp/list}"
}
faults '' | sees ftrace_nothing_one "a run of no ftrace test on one kernel is none" "not ok - ftracetest: no test has run"
printf 'test.d/%s.tc\n' kprobe/one kprobe/two dynevent/three >"$tmp/cases"
faults '' | sees ftrace_one "ftrace tests on one kernel with what is expected are good" ''
faults '' /dev/null | sees ftrace_one_unlisted "a result on one kernel that is not expected is seen" \
	"not ok - two: does not pass, and is not expected to: UNSUPPORTED"
faults 's/UNSUPPORTED/UNRESOLVED/; s/^.1.*PASS/[1]x	[UNTESTED/; /^.3/,999d' |
	sees ftrace_one_unresolved "a test on one kernel that does not come to a result is seen" \
"not ok - one: does not pass, and is not expected to: UNTESTED
not ok - two: does not pass, and is not expected to: UNRESOLVED
not ok - three: has no result"
faults 's/UNSUPPORTED/PASS/' | sees ftrace_one_list "a test on one kernel that is wrongly expected not to pass is seen" \
	"not ok - two: passes, and is expected not to"
# make ftracetest, in a guest that says that
stands_for guest.sh <<'END'
#!/bin/bash
for arg; do
	case $arg in CASES=*) cases=${arg#CASES=} ;; esac
done
for case in $cases; do
	n=$((n + 1))
	[ "$case" = "test.d/kprobe/${ONE%=*}.tc" ] && result=${ONE#*=} || result=PASS
	printf '[%d]%s\t[%s]\n' $n "$case" "$result"
done
END
tests=$tmp/staged/linux/tools/testing/selftests/ftrace/test.d
mkdir -p "$tests/kprobe" "$tests/dynevent"
touch "$tests/kprobe/"{one,two}.tc "$tests/dynevent/add_remove_kprobe.tc"
{
	ONE=two=PASS staged "$stage/ftracetest.sh"
	ONE=two=UNSUPPORTED staged "$stage/ftracetest.sh"
} | sees ftrace_run "make ftracetest fails if a test is not supported" \
	"not ok - not ok - two: does not pass, and is not expected to: UNSUPPORTED"

# ci.sh: a make that succeeds
cat >"$tmp/machine/make" <<'END'
#!/bin/bash
case " $* " in *' test '*) echo '5 passed, 0 failed' ;; esac
END
chmod +x "$tmp/machine/make"
# runs_all MINUTES: the failures of ci.sh, and its last line
runs_all()
{
	MINUTES=$1 staged "$stage/ci.sh" >/dev/null
	sed -n 's/[0-9]* minutes have/N minutes have/; /^not ok/p; $s/^/not ok - /p' "$tmp/log"
}
runs_all '' | sees ci_good "the CI counts all its parts" "not ok - 15 passed, 0 failed"
runs_all 0 | sees ci_late "parts of the CI that there is no time for are failures" \
"not ok - arm64: no time left: N minutes have passed; MINUTES= sets the limit
not ok - i386: no time left: N minutes have passed; MINUTES= sets the limit
not ok - 5 passed, 2 failed"
MINUTES=0 staged "$stage/ci.sh" | sees ci_status "the CI without its parts fails" "not ok - 5 passed, 2 failed"
rm "$tmp/machine/make"

# test-builds.sh: a Kconfig of ours that has $OURS, and one of the base that has $BASE
stands_for tree.sh <<<'#!/bin/bash'
cat >"$tmp/machine/make" <<'END'
#!/bin/bash
for arg; do
	case $arg in O=*) out=${arg#O=} ;; esac
done
case " $* " in
*/linux\ *) echo "$OURS" ;;
*) echo "$BASE"; [ "$BASE" != broken ] ;;
esac >"$out/.config"
END
printf '#!/bin/bash\nprintf "\\na 0 0 9999 0 b\\n"\n' >"$tmp/machine/df"
chmod +x "$tmp/machine/make" "$tmp/machine/df"
mkdir -p "$tmp/staged/linux/"{include,kernel,arch/x86/include} "$tmp/staged/.tree"
echo '#include <linux/kprobes.h>' | tee "$tmp/staged/linux/include/one.h" >"$tmp/staged/linux/kernel/one.c"
echo kernel/one.c >"$tmp/staged/.tree/laid"
echo archive >"$tmp/staged/.tree/base"
# impossible BUILD OURS BASE: what becomes of it
impossible()
{
	OURS=$2 BASE=$3 AGAIN=1 MINUTES=1 ARCHES=x86_64 BUILDS=x86_64-$1 staged "$stage/test-builds.sh" >/dev/null
	sed -n "s/^x86_64-$1:/not ok -/p" "$tmp/log"
}
{
	impossible defconfig-y '' CONFIG_KPROBES=y
	impossible allmodconfig-y '' CONFIG_KPROBES=y
	impossible samples-y '' CONFIG_KPROBES=y
	impossible tinyconfig-n CONFIG_KPROBES=y '# CONFIG_KPROBES is not set'
	impossible defconfig-y '' broken
} | sees build_kconfig "what only the base's Kconfig lets us build is seen" \
"not ok - failed: Kconfig does not let KPROBES be y, unlike that of the base
not ok - failed: Kconfig does not let KPROBES be y, unlike that of the base
not ok - failed: Kconfig does not let KPROBES be y, unlike that of the base
not ok - failed: Kconfig does not let KPROBES be n, unlike that of the base
not ok - failed: Kconfig does not let KPROBES be y, unlike that of the base"
{ impossible defconfig-y '' ''; impossible random1-y '' CONFIG_KPROBES=y; } |
	sees build_impossible "what the base's Kconfig does not let us build either is no failure" \
"not ok - impossible: Kconfig does not let KPROBES be y
not ok - impossible: Kconfig does not let KPROBES be y"
rm "$tmp/machine/make" "$tmp/machine/df"

# The results that they keep depend on the scripts that judge them: all that they source,
# except the one that only keeps results.
for script in test-builds.sh test-configs.sh; do
	sed -n '/^known_start /,/^)/p' "$here/$script" | tr -s ' \t' '\n' >"$tmp/judges"
	{
		echo "$script"
		# shellcheck disable=SC2016
		sed -n 's,^\. "$here/\(.*\)"$,\1,p' "$here/$script"
		[ "$script" = test-builds.sh ] || printf '%s\n' common.sh kernel.sh warnings.sh names.sh ktap.awk
	} | grep -vx known.sh | while read -r judge; do
		grep -qxF "$judge" "$tmp/judges" || echo "not ok - $script: $judge"
	done
done | sees results_judges "results that another script would judge otherwise are not kept" ''

# make bench, with a guest of $DIES that dies
mkdir -p "$tmp/sites"
: >"$tmp/sites/all"
stands_for sites.sh <<<"echo $tmp/sites"
stands_for guest.sh <<'END'
#!/bin/bash
echo "figure 7"
case " $* " in *"/$DIES bench_"*) exit 1 ;; esac
END
# The table is another thing.
mkdir "$tmp/bench"
ln -s "$here"/bench/* "$tmp/bench/"
rm "$stage/bench" "$tmp/bench/report.py"
mv "$tmp/bench" "$stage/"
stands_for bench/report.py <<<'#!/bin/true'
stands_for coverage.sh <<'END'
#!/bin/bash
echo 'share of what is no ftrace site, in % 90.00'
[ "$KERNEL" != "$DIES" ]
END
for name in x86_64 stock-x86_64 patched-x86_64; do
	mkdir -p "$tmp/staged/$name/"{arch/x86/boot,kprobes-modules,include/config}
	touch "$tmp/staged/$name/"{vmlinux,System.map,arch/x86/boot/bzImage,include/config/kernel.release} \
		"$tmp/staged/$name/kprobes-modules/kprobe_"{crowd,cpus,coverage}.ko
done
# benched KERNEL: the verdict if that one dies, and what is said of others; then the parts that are known of it
benched()
{
	local known

	rm -f "$tmp"/staged/*/.bench-*
	DIES=$1 PARTS='crowd memory events cpus coverage' staged "$stage/bench.sh"
	sed -n 's/^kprobes: \(.* did not end well, so .*\)/not ok - \1/p' "$tmp/log"
	known=$(cd "$tmp/staged/${1:-x86_64}" && printf '%s\n' .bench-* | cut -d- -f2 | paste -sd' ')
	echo "not ok - known: $known"
}
benched '' | sees bench_good "a run of make bench that ends well is kept" \
	"not ok - known: coverage cpus crowd events memory"
benched x86_64 | sees bench_ours "make bench fails if a guest of ours dies, and measures again" \
"not ok - bench: ours did not end well: crowd memory-breakpoint memory-jump memory-ftrace memory-return events cpus coverage: see build/logs/
not ok - known: *"
benched stock-x86_64 | sees bench_stock "a guest of stock may die, which is told" \
"not ok - stock-x86_64 did not end well, so its figures are not complete: crowd memory-breakpoint memory-jump memory-ftrace memory-return events cpus coverage
not ok - known: crowd events memory"

# Clients, stock beside ours
printf '%s\n' one.first one.second two.first >"$tmp/features"
printf 'ok\t%s\t3 s\n' one.first two.first >"$tmp/client"
printf 'not ok\tone.second\tno probe\nfigure\tone.first\ttime: 3 s\n' >>"$tmp/client"
echo 'one.second it is too old' >"$tmp/list"
# clients STOCK-SED OURS-SED [LIST [SOME]]: the verdict on that, edited, with the last line if it fails
clients()
{
	local status=0

	sed "$1" "$tmp/client" >"$tmp/stock"
	sed "$2" "$tmp/client" >"$tmp/ours"
	clients_verdict "$tmp/stock" "$tmp/ours" "${3:-$tmp/list}" "${4:-}" <"$tmp/features" >"$tmp/log" || status=$?
	{
		grep -E 'FAILED( |:|$)' "$tmp/log" | grep -v '^[0-9]' || true
		[ $status = 0 ] || tail -n 1 "$tmp/log"
	} | tr -s ' ' | sed 's/^ */not ok - /'
}
clients '' '' | sees clients_good "clients with what is expected are good" ''
clients '2d' '2d' "$tmp/list" | sees clients_missing "a feature that did not run is seen" \
"not ok - first did not run did not run FAILED
not ok - FAILED: two: nothing passes on ours
not ok - 3 features: 1 pass on both, 0 fail on stock only, 1 fail on both, 2 FAILED"
clients '' '1s/^ok/not ok/' | sees clients_worse "a feature that passes on stock only is seen" \
"not ok - first ok, 3 s not ok FAILED on ours only
not ok - FAILED: one: nothing passes on ours
not ok - 3 features: 1 pass on both, 0 fail on stock only, 1 fail on both, 2 FAILED"
clients '' '' /dev/null | sees clients_both "a feature that fails on both is seen if that is not expected" \
"not ok - second not ok not ok FAILED on both, and is not expected to
not ok - 3 features: 2 pass on both, 0 fail on stock only, 0 fail on both, 1 FAILED"
clients '' 's/^not ok/ok/' | sees clients_better "a feature that is wrongly expected to fail is seen" \
"not ok - second not ok ok, no probe FAILED to fail as expected: it is too old
not ok - 3 features: 2 pass on both, 0 fail on stock only, 0 fail on both, 1 FAILED"
printf '%s\n' 'one.second it is too old' 'two.first it is, too' 'two.second' 'stock: one it is slow' \
	>"$tmp/list"
clients 's/^ok/not ok/' '2s/^ok/not ok/' | sees clients_none "a client of which nothing passes, and a wrong list, are seen" \
"not ok - FAILED: two: nothing passes on ours
not ok - FAILED: two.second: expected to fail without a reason
not ok - FAILED: two.second: expected to fail, and there is no such feature
not ok - 3 features: 0 pass on both, 1 fail on stock only, 2 fail on both, 3 FAILED"
echo 'one.second it is too old' >"$tmp/list"
clients '1s/^ok/not ok/' '' | sees clients_stock "a feature that fails on stock without a reason is seen" \
"not ok - first not ok ok, 3 s FAILED on stock only, and is not expected to
not ok - 3 features: 1 pass on both, 0 fail on stock only, 1 fail on both, 1 FAILED"
printf '%s\n' 'one.second it is too old' 'stock: one.first its probes get lost' >"$tmp/list"
clients '1s/^ok/not ok/' '' | sees clients_stock_only "a feature may fail on stock for a reason" ''
clients '' '' | sees clients_stock_may "a feature that may fail on stock may pass there" ''
printf '%s\n' 'one.second it is too old' 'stock: one.third' >"$tmp/list"
clients '' '' | sees clients_stock_list "a wrong list of what may fail on stock is seen" \
"not ok - FAILED: one.third: expected to fail without a reason
not ok - FAILED: one.third: expected to fail, and there is no such feature
not ok - 3 features: 2 pass on both, 0 fail on stock only, 1 fail on both, 2 FAILED"
printf '%s\n' 'one.second it is too old' 'two.first it is, too' >"$tmp/list"
clients '2s/^ok/not ok/' '2s/^ok/not ok/' "$tmp/list" some |
	sees clients_some "of some features, none has to pass" ''
printf '%s\n' 'one.second it is too old' 'two it is not built' 'three nobody has it' >"$tmp/list"
clients '2s/^ok/not ok/' '2s/^ok/not ok/' | sees clients_whole "a client none of whose features need pass" \
"not ok - FAILED: three: expected to fail, and there is no such feature
not ok - 3 features: 1 pass on both, 0 fail on stock only, 2 fail on both, 1 FAILED"
clients '' '' | sees clients_whole_passes "a client that is wrongly expected to fail is seen" \
"not ok - first ok, 3 s ok, 3 s FAILED to fail as expected: it is not built
not ok - FAILED: three: expected to fail, and there is no such feature
not ok - 3 features: 1 pass on both, 0 fail on stock only, 1 fail on both, 2 FAILED"
echo 'one.second it is too old' >"$tmp/list"
clients '' '/^figure/s/3 s$/7 s/' | sees clients_as_fast "twice the time of stock, and a second, is fast enough" ''
clients '' '/^figure/s/3 s$/7.1 s/' | sees clients_slow "a feature that takes much longer than on stock is seen" \
"not ok - time 3 s 7.1 s FAILED to be as fast
not ok - 3 features: 2 pass on both, 0 fail on stock only, 1 fail on both, 1 FAILED"
sed -E '/^(#|(stock: )?[a-z-]+(\.[^ ]+)? [^ ])/d; s/^/not ok - /' "$here/expected/clients" |
	sees clients_reasons "each feature that need not pass has a reason" ''

sed '1s/.*/&\nnote\tone.first\ta guest died in it: soft lockup/' "$tmp/client" >"$tmp/noted"
clients_verdict "$tmp/noted" "$tmp/client" "$tmp/list" <"$tmp/features" |
	sed -n 's/^ *# \(stock: .*\)/not ok - \1/p' |
	sees clients_note "a feature in which a guest of stock has died says so" "not ok - stock: a guest died in it: soft lockup"

# A tool that does not say when it has set its probe: what is said of that list
# shellcheck disable=SC2034,SC2317
attaches()
{
	(
		kp=$tmp
		printf '%s\n' "$1" >"$kp/list"
		fail() { echo "not ok - $*"; }
		command sleep 1 &
		began_pid=$!
		sleep() { :; }
		eval "$(sed -n '/^attached()/,/^}/p' "$here/guest/lib-clients.sh")"
		attached should_fail_bio || true
		wait "$began_pid"
	)
}
{
	attaches 'ffffffff81000004  k  should_fail_bio+0x4    [FTRACE]'
	attaches 'ffffffff81000000  k  should_fail_bio+0x0'
} | sees attached "a tool that has set its probe is good" ''
attaches 'ffffffff81000000  k  should_fail_bio_not+0x0    [FTRACE]' |
	sees attached_never "a tool that sets no probe is seen" "not ok - it never set a probe on should_fail_bio"

# skips FAILED: how a test ends that is skipped
skips()
{
	(
		eval "$(grep '^fail()\|^skip()' "$here/guest/lib.sh")"
		failed=''
		rm -f "$tmp/failed"
		[ -z "$1" ] || fail that
		skip for a reason
	) >/dev/null && echo 'not ok - 0' || echo "not ok - $?"
}
{ skips ''; skips yes; } | sees skipped_failed "a test that has failed is not skipped" "not ok - 4
not ok - 1"

# What kmemleak has found, in a file that has a size of 0, as that in debugfs has
# leaks_of TEXT: what is said of a test that has left that
# shellcheck disable=SC2016
leaks_of()
{
	env -i FOUND="$1" WATCH=leaks tracing=/none PATH="$PATH" bash -c '
		. "$0/guest/watch.sh"
		leaks=/proc/self/environ
		leaks_scan() { :; }
		watch_test that 2>/dev/null' "$here" | tr -d '\0'
}
{ leaks_of none; leaks_of $'\nunreferenced object 0xffff888003a1b2c0 (size 64):'; } |
	sees leaks "memory that a test has left is seen" "not ok - that: it has left memory"

# The end of a guest test: end_session ends what it has left, also if it ran out of time
(
	eval "$(sed -n '/^limited()/,/^}/p; /^end_session()/,/^}/p' "$here/guest/lib.sh")"
	cat >"$tmp/leaves" <<'END'
sh -c 'trap "" TERM; exec sleep 30' &
echo $! >"$1"
: >"$2/stop"
sleep 30
END
	status=0
	limited 0.5 sh "$tmp/leaves" "$tmp/left" "$tmp" || status=$?
	echo "not ok - $status"
	left=$(cat "$tmp/left")
	kill -0 "$left" || echo "not ok - its time has ended it"
	end_session
	for _ in $(seq 50); do
		kill -0 "$left" 2>/dev/null || break
		sleep 0.1
	done
	! kill "$left" 2>/dev/null || echo "not ok - it goes on"
	[ ! -e "$tmp/stop" ] || echo "not ok - the next test would stop"
) | sees test_left "what a test has left that did not end is ended" "not ok - 124"

# Pages of slots, in page tables as the kernel shows them
eval "$(sed -n '/^slots_mapped()/,/^}/p' "$here/guest/tests/security.sh")"
printf '%s\n' ffffffffa0000000 ffffffffa0002000 ffffffffa0005000 >"$tmp/pages"
cat >"$tmp/tables" <<'END'
---[ Modules ]---
0xffffffffa0000000-0xffffffffa0001000           4K     ro                 GLB x  pte
0xffffffffa0001000-0xffffffffa0002000           4K                               pte
0xffffffffa0002000-0xffffffffa0004000           8K     ro                 GLB x  pte
0xffffffffa0004000-0xffffffffa0200000        2032K                               pte
END
# mapped SED: what is said of these, edited
mapped()
{
	sed "$1" "$tmp/tables" >"$tmp/spoilt"
	slots_mapped "$tmp/pages" "$tmp/spoilt" | tr -s ' ' | sed 's/^/not ok - /'
}
mapped '' | sees slots_good "slots that are read-only and executable are good" \
"not ok - good ffffffffa0000000: 0xffffffffa0000000-0xffffffffa0001000 4K ro GLB x pte
not ok - good ffffffffa0002000: 0xffffffffa0002000-0xffffffffa0004000 8K ro GLB x pte"
mapped '2s/ro\(.*\) x /RW\1 NX/; 4s/ x  / NX /' |
	sees slots_bad "slots that are writable, or not executable, are seen" \
"not ok - bad ffffffffa0000000: 0xffffffffa0000000-0xffffffffa0001000 4K RW GLB NX pte
not ok - bad ffffffffa0002000: 0xffffffffa0002000-0xffffffffa0004000 8K ro GLB NX pte"

# What test-debug.sh keeps of a kernel that has not passed as a whole
printf '%s\t%s\t%s\n' ok one a ok two b 'not ok' two c skip one d >"$tmp/all"
{
	keep_passed one "$tmp/all" "$tmp/kept.one"
	keep_passed two "$tmp/all" "$tmp/kept.two"
	keep_passed three "$tmp/all" "$tmp/kept.three"
	[ "$(grep -c one "$tmp/kept.one")" = 2 ] || echo 'not ok - what has passed is not kept'
	for f in "$tmp"/kept.t*; do
		[ ! -e "$f" ] || echo "not ok - kept: ${f##*/}"
	done
	printf '%s\n' 'not ok - kept.one a: has not run' 'not ok - kept.none b: has not run' 'kept.two' | drop_kept "$tmp"
	[ ! -e "$tmp/kept.one" ] || echo 'not ok - kept though a test has not run'
} | sees keep_passed "results are kept of runs that have passed, and of no others" ''
# two_steps: runs two steps, of which the second fails
# shellcheck disable=SC2317
two_steps()
{
	( TEST='' KPROBES_KEEP=$tmp/keep kernel=x results=$tmp/steps
	  eval "$(sed -n '/^step()/,/^}/p' "$here/test.sh")"
	  mkdir -p "$KPROBES_KEEP"
	  : >"$results"
	  good() { printf 'ok\tgood\ta\n' >>"$results"; echo 'not ok - good runs'; }
	  bad() { printf 'not ok\tbad\tb\n' >>"$results"; echo 'not ok - bad runs'; }
	  step good good
	  step bad bad
	  sed 's/\t/ /g; s/^/not ok - /' "$results" )
}
{ two_steps >/dev/null; two_steps; } |
	sees keep_steps "what has passed does not run again, and counts" 'not ok - bad runs
not ok - ok good a
not ok - not ok bad b'

# beside FUNCTION: the results of tests that run at the same time as another
# shellcheck disable=SC2317
beside()
{
	( results=$tmp/beside
	  eval "$(sed -n '/^\(aside\|rejoin\)()/,/^}/p' "$here/test.sh")"
	  : >"$results"
	  good() { echo 'ok - a' | record good ''; }
	  dies() { good; die "no more"; }
	  aside "$1"
	  echo 'ok - b' | record other ''
	  rejoin
	  sed 's/\t/ /g; s/^/not ok - /' "$results" ) 2>&1 | grep '^not ok'
}
{ beside good; beside dies; } | sees beside "tests that run beside others count, and so does it if they die" \
"not ok - ok other b 0 -
not ok - ok good a 0 -
not ok - aside: ended with status 1
not ok - ok other b 0 -
not ok - ok good a 0 -
not ok - not ok aside aside 0 ended with status 1"

# What "make runs" shows. Each run is a line; the latest of what was asked for is shown.
{
	: >"$runs"
	passed=3 failed=0
	asked='one CONFIG=i386' outcome CONFIG= >/dev/null
	asked=two counted '1 passed, 2 failed' >/dev/null
	asked='one CONFIG=i386' counted 'kprobes: all is well' >/dev/null
	cut -f4,5 "$runs" | tr '\t' ' ' | sed 's/^/not ok - /'
	"$here/runs.sh" | sed -E 's/^[0-9-]{10} [0-9:]{5}  [0-9a-f-]+\+? +[0-9]+ s  /not ok - /'
	rm "$runs"
	{ "$here/runs.sh" 2>&1 || true; } | sed 's/^/not ok - /'
} | sees runs "what has been counted is kept, and the latest of each is shown" 'not ok - one CONFIG=i386 3 passed, 0 failed
not ok - two 1 passed, 2 failed
not ok - one CONFIG=i386 kprobes: all is well
not ok - one CONFIG=i386: all is well
not ok - two: 1 passed, 2 failed
not ok - kprobes: nothing has run here yet: make test, for instance'

# kselftests
# The name may be made from a variable.
{ grep -L '^# needs: ' "$here"/guest/tests/*.sh || true; } |
	xargs sed -nE 's/^[^#]*\<load ([a-z_0-9]+)([^a-z_0-9$].*)?$/\1/p' | sort -u >"$tmp/wants-modules"
grep -oE '[a-z_0-9]+\.o\>' "$top/tools/testing/selftests/kprobes/modules/Makefile" |
	sed 's/\.o$//' | sort -u >"$tmp/has-modules"
{
	[ "$(wc -l <"$tmp/wants-modules")" -ge 5 ] || echo 'not ok - no test loads a module'
	comm -23 "$tmp/wants-modules" "$tmp/has-modules" | sed 's/^/not ok - is not built: /'
} | sees kselftest_modules "kselftests build each module that a test loads" ''
{
	{ grep -L '^# needs: ' "$here"/guest/tests/*.sh || true; } |
		xargs grep -nE '(^|[^a-z$])/(tmp|modules|lib\.sh)\>' /dev/null |
		grep -v '/\.\./lib\.sh"' | sed 's,.*/tests/,not ok - ,' || true
} |
	sees kselftest_paths "tests that run on any machine use no folder of a guest" ''
cat >"$tmp/kselftest" <<'END'
TAP version 13
# ok 1 busy_cpu # SKIP softirqs are threads here
# ok 2 list
# ok 3 perf # SKIP no perf
# # Totals: pass:1 fail:0 xfail:0 xpass:0 skip:2 error:0
ok 1 selftests: kprobes: kprobes.sh
END
echo 'skip tests busy_cpu 1 softirqs are threads here' >"$tmp/skips"
if kselftest_skips "$tmp/skips" "$tmp/kselftest"; then echo 'not ok - it passes'; fi |
	sees kselftest_skips "a kselftest that is skipped without leave is seen" \
		'not ok - perf: is skipped: no perf'
sed -i /perf/d "$tmp/kselftest"
kselftest_skips "$tmp/skips" "$tmp/kselftest" |
	sees kselftest_allowed "a kselftest may be skipped where make test skips it" ''

# kprobetop on a terminal: on_terminal HITS HITS, what it shows of a point before and after
on_terminal()
{
	local tries=0

	# A machine so busy that a sleep of a second lasts four.
	sed "s,^points=.*,points=$tmp/points,; s,/proc/uptime,$tmp/uptime,
		s,^set -u,sleep() { command sleep \$1; read -r s _ <$tmp/uptime; echo \$((s + 4)) 0 >$tmp/uptime; }," \
		"$here/kprobetop" >"$tmp/kprobetop"
	echo 1000 0 >"$tmp/uptime"
	point() { echo "ffffffff81000000  jump  1/1  $1  0  -  -  vfs_read+0x9  -  jump" >"$tmp/points.new"; }
	point "$1"
	mv "$tmp/points.new" "$tmp/points"
	: >"$tmp/screen"
	# It clears the screen for each table, and updates until it is interrupted.
	script -qfc "stty rows 10; exec sh $tmp/kprobetop -d 1" /dev/null >"$tmp/screen" 2>/dev/null </dev/null &
	until [ "$(grep -c HITS "$tmp/screen")" -ge 1 ] || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done
	point "$2"
	mv "$tmp/points.new" "$tmp/points"
	# The next table may still be an old one.
	until [ "$(grep -c " $2 " "$tmp/screen")" -ge 2 ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.1; done
	kill $! 2>/dev/null
	wait $! 2>/dev/null || true
	tr -d '\r' <"$tmp/screen" | tr '\033' '^' | awk -v before="$1" -v after="$2" '
		/\^\[H\^\[2J/ { cleared++ }
		$NF == "vfs_read+0x9" && $1 == before && $2 == "-" { first++ }
		$NF == "vfs_read+0x9" && $1 == after && $2 == (after - before) / 4 { rate++ }
		END {
			if (cleared < 3) print "not ok - cleared " cleared + 0 " times"
			if (!first) print "not ok - no first table"
			if (rate != 1) print "not ok - what came is the rate of " rate + 0 " tables"
		}'
}
on_terminal 100 300 |
	sees kprobetop_terminal "kprobetop updates its table, with a rate, on a terminal" ''

# The rules for generated code: what slots.py finds in a few copies and detours
echo 'ffffffff81002000 T f' >"$tmp/symbols"
printf 'ffffffff81000011\nffffffff81000045\n' >"$tmp/insns"
# ruled HOW VULNERABILITY [BITS]: the verdict on the slots that standard input lists
ruled()
{
	{
		echo "vulnerability $2"
		sed 's/$/cccccccccccccccc/'
		printf 'probes 2\njumps 1\nend\n'
	} >"$tmp/slots"
	! python3 "$here/slots.py" "${3:-64}" "$1" 2 "$tmp/slots" "$tmp/insns" "$tmp/symbols" >"$tmp/found" || echo 'not ok - passes'
	sed '1d; s/^\([a-z]*\) at [0-9a-f]* of [0-9a-f]*, at f*/\1 /; s/^/not ok - /' "$tmp/found"
}
ruled default 'spectre_v2 Mitigation: Retpolines' <<'SLOTS' |
copy ffffffffc0000000 ffffffff81000010 1 90e90b0000c1
detour ffffffffc0000100 ffffffff81000040 5 9090e8f91e00c1e939ffffc0
SLOTS
	sees slots_right "generated code that follows the rules passes" 'not ok - passes'
ruled default 'spectre_v2 Mitigation: Retpolines' <<'SLOTS' |
copy ffffffffc0000000 ffffffff81000010 1 90e90c0000c1
detour ffffffffc0000100 ffffffff81000040 5 9090e8f81e00c1e93affffc0
detour ffffffffc0000200 ffffffff81000040 5 f30f1efa06cc
detour ffffffffc0000300 ffffffff81000040 5 3effe090
SLOTS
	sees slots_wrong "generated code that breaks a rule is seen" \
"not ok - copy c0000001: a copy goes on at ffffffff81000012
not ok - detour c0000102: calls ffffffff81001fff, where no function is
not ok - detour c0000107: goes to ffffffff81000046, where no instruction is
not ok - detour c0000200: an ENDBR
not ok - detour c0000204: is no instruction
not ok - detour c0000300: an indirect branch: notrack jmp *%rax
not ok - detour c0000300: is not tracked: notrack jmp *%rax
not ok - detour c0000300: nothing stops speculation after notrack jmp *%rax"
ruled default 'spectre_v2 Mitigation: Retpolines' 32 <<'SLOTS' |
copy f8000000 c1000010 1 90e90b0000c9
copy f8000100 c1000010 1 90e90bff00c9
detour f8000200 c1000040 5 40ffe0cc
detour f8000300 c1000040 5 f30f1efbe93cfdffc8
SLOTS
	sees slots_32 "rules that generated code of 32 bits breaks are seen" \
"not ok - copy 8000101: a copy goes on at c1010011
not ok - detour 8000201: an indirect branch: jmp    *%eax
not ok - detour 8000300: an ENDBR"
ruled ITS 'indirect_target_selection Mitigation: Aligned branch/return thunks' <<'SLOTS' |
copy ffffffffc0000000 ffffffff81000010 1 90e90b0000c1
detour ffffffffc0000100 ffffffff81000040 5 90c3
SLOTS
	sees slots_returns "returns in generated code are seen where they need thunks" \
"not ok - detour c0000101: a return"

# Soak
cat >"$tmp/soaked" <<'END'
part stress 2 0
count stress hits 90000
count stress churned_hits 5000
count stress calls 50000
part toggle 3 0
count toggle calls 9000
count toggle to_jump 9
count toggle to_breakpoint 9
END
# soaked SED [PARTS]: the verdict on that, edited
soaked()
{
	sed "$1" "$tmp/soaked" >"$tmp/spoilt"
	soak_verdict "$tmp/spoilt" "${2-stress toggle}" | sed 's/^/not ok - /'
}
soaked '' | sees soak_good "a soak in which all have done something is good" ''
soaked '' '' | sees soak_empty "a soak of nothing is none" "not ok - no parts"
soaked '' 'stress toggle list' | sees soak_missing "a part that is not there is missed" \
	"not ok - part list: not told"
soaked 's/part stress.*/part stress 2 1/; s/part toggle.*/part toggle 0 0/' |
	sees soak_failed "rounds that failed, or were none, are seen" \
"not ok - part stress: 1 of 2 rounds failed
not ok - part toggle: no round"
soaked 's/to_jump .*/to_jump 5/; /count stress hits/d' | sees soak_idle "a part that did too little is seen" \
"not ok - part stress: hits: 0, wanted at least 20000
not ok - part toggle: to_jump: 5, wanted at least 6"
soaked 's/\(part\|count\) stress/\1 list/' 'list toggle' |
	sees soak_unknown "a part whose counts are not known is seen" "not ok - part list: nothing to count"

# Data races
cat >"$tmp/raced" <<'END'
[    2.000000] ==================================================================
[    2.000001] BUG: KCSAN: data-race in filemap_read / generic_fillattr
[    2.000002] 
[    2.000003] write to 0xffff888005a1c0d8 of 8 bytes by task 61 on cpu 0:
[    2.000004]  filemap_read+0x1a/0x60
[    2.000005]  ksys_read+0x7a/0x130
[    2.000006] 
[    2.000007] read to 0xffff888005a1c0d8 of 8 bytes by interrupt on cpu 1:
[    2.000008]  generic_fillattr+0x1b/0x120
[    2.000009] 
[    2.000010] value changed: 0x0000000000000001 -> 0x0000000000000002
[    2.000011] 
[    2.000012] Reported by Kernel Concurrency Sanitizer on:
[    2.000013] CPU: 1 UID: 0 PID: 62 Comm: sh Not tainted 6.12.0 #1
[    2.000014] ==================================================================
END
echo kprobe_quiesce >"$tmp/symbols"
echo 'list_add *	# the base counts so' >"$tmp/kcsan.list"
# raced SED: what is said of that report, edited
raced()
{
	sed "$1" "$tmp/raced" >"$tmp/spoilt"
	races "$tmp/spoilt" "$tmp/symbols" "$tmp/kcsan.list" | cut -f1,2 | sed 's/^/not ok - /'
}
raced '' | sees race_base "a race without a function of ours is the base's" \
	"not ok - base	filemap_read / generic_fillattr"
raced 's/ksys_read/kprobe_quiesce/' | sees race_ours "a race below a function of ours is ours" \
	"not ok - ours	filemap_read / generic_fillattr"
raced '/ksys_read/s/.*/ asm_sysvec_apic_timer_interrupt+0x1\/0x2\n kprobe_quiesce+0x1\/0x2/' |
	sees race_interrupted "a race of what has interrupted our function is not ours" \
	"not ok - base	filemap_read / generic_fillattr"
raced '/ksys_read/s/.*/ asm_exc_int3+0x1\/0x2/; /generic_fillattr+/s/$/\n kprobe_quiesce+0x1\/0x2/' |
	sees race_second "a function of ours in the second stack counts" \
	"not ok - ours	filemap_read / generic_fillattr"
raced 's/in filemap_read.*/in list_add+0x1\/0x2 [kprobes_kunit]/; s/ksys_read/kprobe_quiesce/' |
	sees race_known "a race on the list is known" "not ok - known	list_add"
raced 's/ksys_read/kprobe_quiesce/; /CPU: 1/,999d' | sees race_cut "a report without its end counts" \
	"not ok - ours	filemap_read / generic_fillattr"
sed 's/	#.*//' "$tmp/kcsan.list" >"$tmp/kcsan.list.new" && mv "$tmp/kcsan.list.new" "$tmp/kcsan.list"
raced '/KCSAN/,999d' | sees race_reason "an entry of the list without a reason is seen" \
	"not ok - ours	kcsan.list: no reason: list_add *"
without_races <"$tmp/raced" | { ! grep -aE "$SPLATS" || echo "not ok - that"; } |
	sees race_splat "a race is no splat" ''

# test-debug.sh
printf '%s\n' 'ok - stress: proves something' '' '3 skipped, and 0 parameters' '7 passed, 0 failed' >"$tmp/debug"
: >"$tmp/known"
# debugged NAME PROVES WANTED STATUS SED: the sum after a run of one kernel, edited
debugged()
{
	sed "$5" "$tmp/debug" >"$tmp/spoilt"
	debug_verdict rt 0123 "$4" 60 "$tmp/spoilt" >>"$tmp/known"
	{ echo rt 0123 | debug_sum "$tmp/known" || true; } | sed -n '1s/^/not ok - /p' |
		sees "$1" "$2" "not ok - kprobes: rt: $3"
}
debugged debug_good "a kernel that has passed is good" '7 passed, 0 failed, 3 skipped, 60 s' 0 ''
{ debug_known "$tmp/known" rt 0123 || echo "not ok - unknown"
  ! debug_known "$tmp/known" rt 4567 || echo "not ok - known"; } |
	sees debug_known "a kernel that has passed is known until the sources change" ''
{ echo rt 4567 | debug_sum "$tmp/known" || echo failed; } | tail -n 2 | sed 's/^/not ok - /' |
	sees debug_not_run "nothing that has run is a failure" "not ok - 0 passed, 0 failed; kernels left: 1
not ok - failed"
{ printf '%s\n' 'rt 0123' 'kcsan 0123' | debug_sum "$tmp/known" || echo failed; } | tail -n 1 | sed 's/^/not ok - /' |
	sees debug_left "a kernel for which there was no time is left, and no failure" \
		"not ok - 7 passed, 0 failed; kernels left: 1"
debugged debug_failed "a kernel with a test that failed fails" '7 passed, 2 failed, 3 skipped, 60 s: stress: proves something' \
	1 's/^ok/not ok/; s/0 failed/2 failed/'
debugged debug_cut "a run without counts fails" '0 passed, 1 failed, 3 skipped, 60 s: has no result: ' 0 '4d'
debugged debug_status "counts without failures do not hide an error" \
	'7 passed, 1 failed, 3 skipped, 60 s: ended with status 1' 1 ''
{ ! debug_known "$tmp/known" rt 0123 || echo "not ok - known"; } |
	sees debug_again "a kernel that has failed is run again" ''

# What goes on where it ended
mkdir "$tmp/known-one"
(
	known_start "$tmp/known-one" <<<$'one\nwhole'
	known_add a passed 1 ''
	known_add b failed 0 that
	known_add c impossible '' 'Kconfig'
	printf '%s\n' a b c d | { known_sum builds || true; } | sed 's/^/not ok - /'
	echo d | { known_sum builds || true; } 2>&1 | tail -n 1 | sed 's/^kprobes:/not ok -/'
	known_start "$tmp/known-one" <<<$'one\nwhole'
	echo "not ok - $(known_verdict a)"
	AGAIN=1 known_start "$tmp/known-one" a <<<$'one\nwhole'
	echo "not ok - $(known_verdict a) $(known_verdict b)"
	known_start "$tmp/known-one" <<<$'two\nwhole'
	echo "not ok - $(known_verdict b)"
	known_add b passed 1 ''
	(known_start "$tmp/known-one" <<<'cut off') >/dev/null 2>&1 && echo "not ok - no end"
	echo "not ok - $(known_verdict b)"
) | sees known "what has passed is known until the sources change, and counted" "$(printf 'not ok - %s\n' \
	'b: failed: that' 'c: impossible: Kconfig' '' '1 impossible' \
	'1 passed, 1 failed, 1 left, of 4 builds' 'none of the builds was done in time: MINUTES= gives more' \
	passed ' failed' '' passed)"
# Results depend on each of these: when one changes, they are out of date.
mkdir -p "$tmp/repository/tools/testing/kprobes" "$tmp/repository/build/.tree"
for dir in arch include kernel lib samples patches; do
	mkdir "$tmp/repository/$dir"
	echo "$dir" >"$tmp/repository/$dir/file"
done
cp -r "$here"/* "$tmp/repository/tools/testing/kprobes/"
mkdir "$tmp/few"
for tool in awk cat find sed sha1sum sort wc xargs; do
	ln -s "$(command -v $tool)" "$tmp/few/"
done
# depends WHAT FILE...
depends()
{
	local top=$tmp/repository here=$tmp/repository/tools/testing/kprobes build=$tmp/repository/build
	local EMULATOR_PATCHES=1 file old

	echo archive >"$build/.tree/base"
	for file in "${@:2}"; do
		old=$("$1" | sha1sum)
		echo changed >>"$top/$file"
		[ "$("$1" | sha1sum)" != "$old" ] || echo "not ok - $1: $file"
	done
	old=$("$1" | sha1sum)
	mv "$top/kernel/file" "$top/kernel/renamed"
	[ "$("$1" | sha1sum)" != "$old" ] || echo "not ok - $1: a file that is renamed"
	mv "$top/kernel/renamed" "$top/kernel/file"
	old=$("$1" | sha1sum)
	# Without the emulator and the compiler, too, it is all there.
	# shellcheck disable=SC2123
	[ "$(set -euo pipefail; PATH=$tmp/few; "$1" | wc -l)" = "$("$1" | wc -l)" ] || echo "not ok - $1: cut off"
	[ "$(EMULATOR_PATCHES=0; "$1" | sha1sum)" != "$old" ] || echo "not ok - $1: EMULATOR_PATCHES"
	[ "$("$1" | sha1sum)" = "$old" ] || echo "not ok - $1: it is not the same twice"
}
kernel_files="build/.tree/base tools/testing/kprobes/emulator/$(cd "$here/emulator" && printf '%s\n' *.patch | head -n 1)
	include/file arch/file kernel/file lib/file samples/file patches/file"
test_files='configs/x86_64.config kprobetop ordering.h tsc.c results.sh ktap.awk guest/lib.sh guest/jobs/tests.sh guest/tests/stress.sh
	modules/kprobe_stress.c'
{
	# shellcheck disable=SC2086
	depends product $kernel_files
	# shellcheck disable=SC2046,SC2086
	CONFIG=x86_64 depends tested $kernel_files $(printf 'tools/testing/kprobes/%s ' $test_files)
} | sees known_of "a change of what is built, of its base, or of what tests it makes results old" ''

# test-builds.sh
cat >"$tmp/dry" <<'END'
set -e;  echo '  CC      init/main.o';  gcc -c -o init/main.o ../linux/init/main.c
set -e;  echo '  CC [M]  lib/test_kprobes.o';  gcc -DMODULE -c -o lib/test_kprobes.o
set -e;  echo '  CC      arch/arm64/kvm/hyp/nvhe/switch.nvhe.o';  gcc -c
set -e;  echo '  AS      kernel/kprobes/entry.o';  gcc -c
set -e;  echo '  CC      kernel/kprobes.o';  gcc -c
set -e;  echo '  CC      mm/slub.o';  gcc -c -o mm/slub.o kernel/exit.o
END
printf '%s\n' init/main.c kernel/exit.c kernel/kprobes.c kernel/kprobes/entry.S lib/test_kprobes.c \
	arch/arm64/kvm/hyp/nvhe/switch.c >"$tmp/sources"
objects_on "$tmp/dry" "$tmp/sources" | paste -sd' ' | sed 's/^/not ok - /' |
	sees build_on "what kbuild compiles is known" \
	"not ok - arch/arm64/kvm/hyp/nvhe/switch.nvhe.o init/main.o kernel/kprobes.o kernel/kprobes/entry.o lib/test_kprobes.o"
mkdir "$tmp/build-one"
# built NAME PROVES WANTED y|n COMMAND: the faults of a build, after that in its folder
built()
{
	(
		cd "$tmp/build-one"
		printf '%s\n' init/main.o kernel/exit.o kernel/kprobes.o >on
		echo kernel/kprobes.o >ours
		: | tee {tree,base}-{missing,complaints} ours-missing >warnings
		eval "$5"
		build_faults . "$4" | sed 's/^/not ok - /'
	) | sees "$1" "$2" "${3:+not ok - $3}"
}
# complains LINE FILE: as a tree and its base do
complains() { echo "$1" >log; complaints "$2" log; }
built build_good "a build without faults is good" '' y :
built build_broken "a file of ours that does not compile is seen" \
	'kernel/kprobes.o: does not compile' y 'echo kernel/kprobes.o >ours-missing'
built build_warns "a warning about ours is seen" 'kernel/kprobes.c:1:2: warning: that' y \
	'echo "kernel/kprobes.c:1:2: warning: that" >warnings'
built build_caller "a caller that does not compile is seen" \
	'kernel/exit.o: does not compile, unlike in the base' y 'echo kernel/exit.o >tree-missing'
built build_base "a caller that does not compile in the base either is the base's" '' y \
	'echo kernel/exit.o | tee tree-missing >base-missing
	complains "/b/linux/kernel/exit.c:7:1: error: that" /b/linux >tree-complaints
	complains "../stock/base/kernel/exit.c:9:1: error: that" /b/stock/base >base-complaints'
built build_other "an error that the base does not have is seen" 'kernel/exit.c: error: that' y \
	'echo kernel/exit.o | tee tree-missing >base-missing
	complains "/b/linux/kernel/exit.c:7:1: error: that" /b/linux >tree-complaints
	complains "/b/stock/base/kernel/exit.c:7:1: error: another" /b/stock/base >base-complaints'
built build_caller_warns "a warning about a caller is seen" 'kernel/exit.o: warning: objtool: f: that' y \
	'complains "kernel/exit.o: warning: objtool: f+0x12: that" /b/linux >tree-complaints'
built build_unlisted "a list of objects that is not whole is seen" \
	'init/main.o: kbuild does not list it' y 'sed -i 1d on'
built build_without "ours that are not compiled are seen" \
	'kernel/kprobes.o: kbuild does not list it' y ': >ours'
built build_with "ours that are compiled without KPROBES are seen" \
	'kernel/kprobes.o: compiled without KPROBES' n :
# survive.sh
printf '%s\n' '[    1.0] Linux version 6.12' '[    2.0] kprobe_abuse: loading' >"$tmp/console"
printf '%s\n' 'calls 20000' 'wrong 3' 'late 0' 'unseen 0' 'spoiled 0' >"$tmp/survived"
# survived NAME PROVES WANTED STATUS SED-OF-CONSOLE SED-OF-OUTPUT [KILLER]
survived()
{
	sed "$5" "$tmp/console" >"$tmp/spoilt.console"
	sed "$6" "$tmp/survived" >"$tmp/spoilt"
	survive_verdict "$4" "$tmp/spoilt.console" "$tmp/spoilt" "${7:-}" | sed 's/^/not ok - /' |
		sees "$1" "$2" "not ok - $3"
}
survived survive_good "a kernel that has done all of it survives" survives 0 '' ''
# shellcheck disable=SC2016
survived survive_base "what the base is known to warn of is not counted, what follows it is" \
	'warns 1 times: that+0x1/0x2' 0 '$a [    3.0] ------------[ cut here ]------------\
[    3.1] Dying CPU not properly vacated!\
[    3.1] WARNING: CPU: 1 PID: 2 at kernel/sched/core.c:8 sched_cpu_dying+0x1/0x2\
[    3.2] ---[ end trace 0000000000000000 ]---\
[    3.3] WARNING: CPU: 1 PID: 2 at that+0x1/0x2' ''
survived survive_hang "a guest that makes no progress hangs" 'hangs: no call in 90 s' 1 '' \
	'1!d; s/.*/kprobes: guest: survive printed nothing for 90 s: see that/'
survived survive_slow "a guest that is not done is not said to hang" 'not done in 900 s' 1 '' \
	'1!d; s/.*/kprobes: guest: survive did not end within 900 s: see that/'
survived survive_ends "a guest that ends without a result does not hang" 'ends without a word' 1 '' \
	'1!d; s/.*/kprobes: guest: ended before the job did: see that/'
survived survive_fails "a guest that fails with a result fails" 'fails: it does not unload' 1 '' \
	'5a it does not unload'
survived survive_empty "a guest that ends well without a result does not survive" 'wrong: no result' 0 '' '1d'
survived survive_late "a handler that runs late is seen" 'wrong: late 2' 0 '' 's/^late 0/late 2/'
survived survive_wrong "ours have to give the right results" 'wrong: wrong 3' 0 '' '5a left_points 0'
survived survive_warns "warnings are counted and named" 'warns 2 times: kernel/kprobes.c:1' 0 \
	's/.*/[    1.0] WARNING: CPU: 0 PID: 1 at kernel\/kprobes.c:1 f+0x1/' ''
survived survive_breaks "an oops is more than what the run says" 'breaks: BUG: kernel NULL pointer dereference' 0 \
	'2s/.*/[    1.0] BUG: kernel NULL pointer dereference, address: 0000000000000000/' ''
survived survive_killer "a killer that has done its work is survived" survives 0 '' \
	'5a killer module 7\nrounds 90' module
survived survive_killed "a killer that fails is seen" 'wrong: failed module: kprobe_target does not load' 0 '' \
	'5a killer module 7\nfailed module: kprobe_target does not load\nrounds 90' module
survived survive_killers "a killer that did nothing, and torture that did nothing, are seen" \
	'wrong: rounds 0, killer module 0' 0 '' '5a killer nmi 1\nkiller module 0' module
survived survive_alone "torture needs no killer" survives 0 '' '5a rounds 90' alone
# windowed NAME PROVES WANTED STATUS LINE: what that output of everything.sh means
windowed()
{
	printf '%s\n' 'kprobes: everything: ready' "$5" >"$tmp/windowed"
	window_verdict "$4" "$tmp/windowed" | sed 's/^/not ok - /' | sees "$1" "$2" "not ok - $3"
}
windowed survive_window "a window that is done survives" survives 0 'kprobes: 1 of 9 windows done'
windowed survive_window_bad "a window that fails says why" 'fails: failed window 020: hits come late' 1 \
	'FAILED window 020: failed window 020: hits come late (build/logs/a-window-020.console)'
windowed survive_window_none "a window that is not done does not survive" 'not run: kprobes: no window was started' 1 \
	'kprobes: no window was started'
while read -r errno listed mnemonic kind; do
	PYTHONPATH=$here python3 -B -c 'import sys, refusals
print("not ok -", refusals.reason(*sys.argv[1:]))' "$errno" "$listed" "$mnemonic" "$kind"
done <<'END' | sees refusals "a refusal needs a reason that fits its errno" \
"not ok - -EINVAL blacklist
not ok - -EINVAL jump label
not ok - -EILSEQ iretq
not ok - -EINVAL ud2
not ok - None
not ok - None
not ok - None
not ok - None"
-EINVAL blacklist mov
-EINVAL - jmp jump label
-EILSEQ - iretq
-EINVAL - ud2
-EINVAL - iretq
-EILSEQ - jmp jump label
-EILSEQ - interrupt
-ENOENT - mov
END
# What is patched in a module, by its tables: a jump label whose target and key are no places
# that are patched, a static call, and one in another section
cat >"$tmp/patched.s" <<'END'
	.text
	nop
label:	nop
call:	nop
	.section .init.text, "ax"
other:	nop
	.section __jump_table, "a"
	.long label - ., call - .
	.quad 0
	.section .static_call_sites, "a"
	.long call - ., label - .
	.long other - ., label - .
END
{
	for bits in 64 32; do
		[ $bits = 64 ] || sed -i 's/\.quad 0/.long 0/' "$tmp/patched.s"
		gcc -c -m$bits -o "$tmp/patched.o" "$tmp/patched.s"
		PYTHONPATH=$here python3 -B -c 'import sys, refusals
for at, kind in sorted(refusals.module_patched(sys.argv[1]).items()): print("not ok -", at, kind)' "$tmp/patched.o"
	done
} | sees refusals_module "what is patched in a module is found in its tables" \
"not ok - 1 jump label
not ok - 2 static call
not ok - 1 jump label
not ok - 2 static call"
# survive.sh, of a kernel that breaks
stands_for guest.sh <<<'echo; exit 1'
mkdir -p "$tmp/staged/"{x86_64,stock-x86_64}
touch "$tmp/staged/"{x86_64,stock-x86_64}/vmlinux "$tmp/staged/logs/survive-"{x86_64,stock-x86_64}-torture.alone.console
{
	KERNEL=x86_64 ROWS=torture.alone staged "$stage/survive.sh"
	KERNEL=stock-x86_64 ROWS=torture.alone staged "$stage/survive.sh"
} | tr -s ' ' | sees survive_kernel "each kernel of ours has to survive, and stock does not have to" \
	"not ok - x86_64 survives 0 of 1"
# Each kind of call has to be in a row.
sed -n '/call_kinds\[\] = {/,/^};/s/^\t{ "\([a-z_]*\)", .*/\1/p' "$here/modules/kprobe_abuse.c" |
	while read -r kind; do
		sed -n "/^right=/p; s/^abuse\.[a-z_]* //p" "$here/survive.sh" | tr ' ,=' '\n' | grep -qx "$kind" ||
			echo "not ok - $kind"
	done | sees survive_rows "each kind of wrong call has a row" ''
printf 'a\tours\tsurvives\n' | survive_table stock ours | tail -n 1 | tr -s ' ' | sed 's/^/not ok - /' |
	sees survive_not_run "a row that was not run is told" "not ok - a not run survives"

# What is said of trace_printk() is none.
echo '[    1.0] ** This means that this is a DEBUG kernel and it is     **' | { ! grep -aE "$SPLATS" || echo "not ok - that"; } |
	sees splats_none "what a healthy kernel prints is no splat" ''
# Splats: a line of each kind that a console has shown.
while read -r line; do
	echo "$line" | grep -aqE "$SPLATS" || echo "not ok - $line"
done <<'END' | sees splats "what a broken kernel prints is known" ''
[    1.0] BUG: kernel NULL pointer dereference, address: 0000000000000000
[    1.0] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI
[    1.0] WARNING: CPU: 0 PID: 1 at kernel/kprobes.c:1 f+0x1/0x2
[    1.0] watchdog: BUG: soft lockup - CPU#0 stuck for 26s!
[    1.0] INFO: task sh:1 blocked for more than 120 seconds.
[    1.0] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
[    1.0] BUG: KASAN: slab-use-after-free in f+0x1/0x2
[    1.0] Kernel panic - not syncing: Fatal exception
[    1.0] Call trace:
[    1.0] BUG kmalloc-64 (Not tainted): Left Redzone overwritten
[    1.0] turning off the locking correctness validator.
[    1.0] irq 11: nobody cared (try booting with the "irqpoll" option)
[    1.0] ** 15 printk messages dropped **
[    1.0] huh, entered softirq 1 TIMER 00000000 with preempt_count 00000100, exited with 00000101?
END
