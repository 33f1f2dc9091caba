#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Do the tests notice when the code is wrong? Applies each of mutants/*.patch, one
# deliberate breakage, to build/linux, builds the kernel, and runs the tests that the
# patch names in its line "Caught-by:": KUnit suites, guest tests as "test:NAME", and
# "run:ordering", which is ordering.sh.
# "Booted-with:" has kernel parameters for that. "For:" names i386, or an architecture of
# arches.sh, whose mutants run with CONFIG=NAME.
#
#   MUTANT=glob      only those with a matching name
#   MINUTES=n        none is started after this many (default 60)
#   AGAIN=1          forget what earlier runs of these have done
#
# The tests have to pass without a mutant: those that are needed run first. A mutant is
# caught if a test fails, or its guest's kernel complains, crashes or hangs. If none does,
# all KUnit suites are tried. A mutant that survives, does not apply or does not build is a
# failure. So is one that cannot be tried because tests fail without it, or because the guest
# does not boot or has too little time; it is tried again in the next run. A run resumes where
# the last one stopped, unless something that the results depend on has changed, and restores
# the tree when it ends.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/results.sh
. "$here/results.sh"
# shellcheck source=tools/testing/kprobes/known.sh
. "$here/known.sh"
# shellcheck source=tools/testing/kprobes/files.sh
. "$here/files.sh"
# shellcheck source=tools/testing/kprobes/arches.sh
. "$here/arches.sh"
# shellcheck source=tools/testing/kprobes/boot.sh
. "$here/boot.sh"
# shellcheck source=tools/testing/kprobes/mutants-results.sh
. "$here/mutants-results.sh"

minutes=${MINUTES:-60}
kernel=$build/$CONFIG
state=$build/mutants-$CONFIG
how_many MINUTES "$minutes"
need_build
# The architecture, if it is not x86. Its kernels have the KUnit suites built in.
arch='' qemu_pid=
case " $arches " in
*" $CONFIG "*)
	arch=$CONFIG
	arch_is "$arch"
	mapfile -t packages < <(arch_packages "$arch")
	need "${packages[@]}"
	# Here, ARCH= would be the kernel's.
	unset ARCH MAKEFLAGS MAKEOVERRIDES
	TEST=''
	;;
*) need_qemu ;;
esac
for=$arch
[ "$CONFIG" != i386 ] || for=i386
mkdir -p "$state" "$build/logs"
break_tree
scratch
mkdir "$tmp/files"
mapfile -t all < <(cd "$here/mutants" && printf '%s\n' *.patch | sed 's/\.patch$//')
mutants=()
for mutant in "${all[@]}"; do
	# shellcheck disable=SC2053
	[[ $mutant != ${MUTANT:-*} ]] || [ "$(sed -n 's/^For: //p' "$here/mutants/$mutant.patch")" != "$for" ] ||
		mutants+=("$mutant")
done
[ ${#mutants[@]} -gt 0 ] || die "no mutant for $CONFIG is named ${MUTANT:-*}: see mutants/"

"$here/tree.sh" >/dev/null
# The results are valid only for these sources, tests and scripts.
id=$({
	tested
	if [ -n "$arch" ]; then
		other_compilers
		"$qemu" --version
	fi
} | sha1sum | cut -c1-16)
if [ "$(cat "$state/id" 2>/dev/null)" != "$id" ]; then
	: >"$state/results"
	echo "$id" >"$state/id"
elif [ -n "${AGAIN:-}" ]; then
	forget "$state/results" "${mutants[@]}"
fi

# key MUTANT: its result is valid only for this version of the patch
key() { echo "$1 $(sha1sum <"$here/mutants/$1.patch" | cut -c1-8)"; }

result_of() { awk -F '\t' -v k="$1" '$1 == k { v = $2 } END { print v }' "$state/results"; }
# Results that are not kept: they may be this machine's fault.
declare -A fault
verdict_of()
{
	if [ -n "${fault[$1]:-}" ]; then
		echo "${fault[$1]}"
	else
		result_of "$(key "$1")"
	fi
}
# record_mutant MUTANT VERDICT WHY
record_mutant()
{
	case $2 in
	caught | survived) printf '%s\t%s\t%s\n' "$(key "$1")" "$2" "$3" >>"$state/results" ;;
	*) fault[$1]=$2 ;;
	esac
}

suites_of() { sed -n 's/^Caught-by: //p' "$here/mutants/$1.patch"; }
params_of() { sed -n 's/^Booted-with: //p' "$here/mutants/$1.patch"; }

# Restores the sources. The next build would do that, too.
restore() { "$here/tree.sh" >/dev/null; }

# run_guest LOG SECONDS PARAMETERS JOB NAME=VALUE...: the job's lines, and how it failed. It has
# the files in $tmp/files.
run_guest()
{
	local log=$build/logs/$1 why

	rm -f "$log.console" "$log.out"
	! "$here/guest.sh" -t "$2" -l "$1" -a "$3" -f "$tmp/files" "$kernel" "${@:4}" \
		>"$tmp/guest" 2>&1 || return 0
	why=$(guest_fault "$tmp/guest" "$log" "$2")
	# Where there is no room, its logs say nothing.
	(need_space 100 "a guest") >/dev/null 2>&1 || why=''
	if [ -n "$why" ]; then
		echo "not ok - the guest failed: $why"
	else
		echo "not run - $(tail -n 1 "$tmp/guest")"
	fi
}

# run_arch LOG SECONDS PARAMETERS SUITE...: as run_suites, on $arch
run_arch()
{
	local log=$build/logs/$1 end='not ok - the guest failed:' picks why=${why-}

	picks=$(printf '%s\n' "${@:4}" | sed '/^all$/d')
	console="$console $3" arch_suites "$arch" "$log" "$2" "$picks" >"$tmp/lines"
	# That is this machine's fault. If it is merely slow, something is printed now and then.
	case $why in
	'QEMU failed: '* | 'was stopped: '*) end='not run -' ;;
	'did not end within '*)
		[ $(($(date +%s) - $(stat -c %Y "$log.console"))) -gt $(($2 / 2)) ] || end='not run -'
		;;
	esac
	sed "s/^not ok - $arch: the guest /$end the guest /; s/^not ok - $arch: /not ok - the guest failed: /" \
		"$tmp/lines"
}

# run_suites LOG SECONDS PARAMETERS SUITE...: the lines of these, as Caught-by: has them.
# "all" is all KUnit suites.
run_suites()
{
	local log=$1 seconds=$2 params=$3 suite kunit='' tests='' failed

	if [ -n "$arch" ]; then
		run_arch "$@"
		return
	fi
	for suite in "${@:4}"; do
		case $suite in
		test:*) tests="$tests ${suite#test:}" ;;
		run:ordering) "$here/ordering.sh" "$CONFIG" "$kernel" || true ;;
		*) kunit="$kunit $suite" ;;
		esac
	done
	if [ -n "$kunit" ]; then
		failed=$(run_guest "$log" "$seconds" "loglevel=7 kunit.enable=1 kunit.filter_glob=k*probe* $params" \
			kunit PICKS="$(sed 's/ *\<all\>//; s/^ //' <<<"$kunit")")
		[ ! -e "$build/logs/$log.console" ] || kunit_lines 1 <"$build/logs/$log.console"
		grep '^not ok - ' "$tmp/guest" || true
		[ -z "$failed" ] || printf '%s\n' "$failed"
	fi
	if [ -n "$tests" ]; then
		for suite in $tests; do
			params="$params $(sed -n 's/^# needs: cmdline //p' "$here/guest/tests/$suite.sh")"
		done
		# shellcheck disable=SC2086
		make_files "$tmp/files" "$CONFIG" 3000 $tests
		# The limit of a test is beyond that of the guest, which can tell slow from hung.
		failed=$(run_guest "$log-tests" "$seconds" "$params" tests TESTS="${tests# }" TEST_SECONDS=2000)
		cat "$tmp/guest"
		[ -z "$failed" ] || printf '%s\n' "$failed"
	fi
}

# without_mutant PARAMETERS SUITE...: sets dirty to those of these that do not pass on the
# kernel without one, which has to be built. Each is tried once.
declare -A tried
without_mutant()
{
	local params=$1 suite todo=() log=mutants-none

	dirty=''
	shift
	for suite; do
		[ -n "${tried[$params:$suite]:-}" ] ||
			[ "$(result_of "without: $params:$suite")" = passed ] || todo+=("$suite")
	done
	if [ ${#todo[@]} -gt 0 ]; then
		say "without a mutant${params:+, $params}: ${todo[*]}"
		run_suites "$log" 1800 "$params" "${todo[@]}" >"$tmp/out"
		cp "$tmp/out" "$build/logs/$log.txt"
		for suite in "${todo[@]}"; do
			tried[$params:$suite]=1
			if suite_passes "$tmp/out" "$suite"; then
				printf '%s\tpassed\t\n' "without: $params:$suite" >>"$state/results"
			else
				say "without a mutant: $suite does not pass: $(mutant_verdict "$tmp/out" | cut -f2) (build/logs/$log.txt)"
			fi
		done
	fi
	for suite; do
		[ "$(result_of "without: $params:$suite")" = passed ] || dirty="$dirty $suite"
	done
}

# build_kernel: sets verdict and why if it does not build
build_kernel()
{
	"$here/kernel.sh" >"$tmp/build" 2>&1 && return
	verdict='not built' why=$(grep -m 1 -E 'error:|warning' "$tmp/build" || tail -n 1 "$tmp/build")
	return 1
}

# try MUTANT: sets verdict and why
try()
{
	local patch=$here/mutants/$1.patch suites params

	read -ra suites < <(suites_of "$1") || true
	params=$(params_of "$1")
	why=''
	if [ ${#suites[@]} -eq 0 ]; then
		verdict='not applied' why="names no tests"
		return
	fi
	without_mutant "$params" "${suites[@]}"
	if [ -n "$dirty" ]; then
		verdict='not run' why="without a mutant, these do not pass:$dirty"
		return
	elif ! (cd "$src" && patch -sf -p1 --dry-run) <"$patch" >"$tmp/patch" 2>&1; then
		verdict='not applied' why=$(head -n 1 "$tmp/patch")
		return
	fi
	(cd "$src" && patch -sf -p1 --no-backup-if-mismatch) <"$patch"
	if build_kernel; then
		run_suites "mutant-$1" 600 "$params" "${suites[@]}" >"$tmp/out"
		cp "$tmp/out" "$build/logs/mutant-$1.txt"
		IFS=$'\t' read -r verdict why < <(mutant_verdict "$tmp/out")
		if [ "$verdict" = survived ]; then
			# Other suites may notice; then the patch should name them.
			run_suites "mutant-$1" 900 "$params" all >"$tmp/out"
			cat "$tmp/out" >>"$build/logs/mutant-$1.txt"
			IFS=$'\t' read -r verdict why < <(mutant_verdict "$tmp/out")
			[ "$verdict" != caught ] || why="$why (not by what the patch names)"
		fi
	fi
	restore
	if [[ $why == *'(not by what the patch names)' ]] && build_kernel; then
		without_mutant "$params" all
		[ -z "$dirty" ] || verdict='not run'
	fi
}

trap '[ -z "$qemu_pid" ] || kill $qemu_pid 2>/dev/null; restore; rm -rf "$tmp"' EXIT
say "${#mutants[@]} mutants, ${minutes} minutes (build/logs/mutant-*, build/mutants-$CONFIG/results)"

build_kernel || die "mutants: the kernel without them does not build: $why"
# All that is needed at once, in a guest for each set of parameters.
needed=$(for mutant in "${mutants[@]}"; do
	[ -n "$(verdict_of "$mutant")" ] || echo "$(params_of "$mutant"):$(suites_of "$mutant")"
done | LC_ALL=C sort -u)
while IFS= read -r params; do
	mapfile -t suites < <(sed -n "s/^$params://p" <<<"$needed" | tr ' ' '\n' | sed '/^$/d' | LC_ALL=C sort -u)
	[ ${#suites[@]} -eq 0 ] || without_mutant "$params" "${suites[@]}" </dev/null
done < <(cut -d: -f1 <<<"$needed" | uniq)

n=0
for mutant in "${mutants[@]}"; do
	n=$((n + 1))
	[ -z "$(verdict_of "$mutant")" ] || continue
	[ $SECONDS -lt $((minutes * 60)) ] || break
	began=$SECONDS
	try "$mutant"
	record_mutant "$mutant" "$verdict" "$why"
	say "$n of ${#mutants[@]}: $mutant: $verdict${why:+: $why} ($((SECONDS - began)) s)"
done
build_kernel || die "mutants: the kernel without them does not build: $why"

caught=0 other='' left=0
for mutant in "${mutants[@]}"; do
	case $(verdict_of "$mutant") in
	caught) caught=$((caught + 1)) ;;
	'') left=$((left + 1)) ;;
	*) other="$other $mutant" ;;
	esac
done
echo
for mutant in $other; do
	echo "$mutant: $(verdict_of "$mutant"): $(head -n 1 "$here/mutants/$mutant.patch")"
done
counted "$caught caught, $(echo "$other" | wc -w) not, $left left, of ${#mutants[@]}"
[ -n "$other" ] || [ $caught -gt 0 ] || die "mutants: none was tried in $minutes minutes: MINUTES= gives more"
[ -z "$other" ]
