#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Do the tests notice when the code is wrong? Applies each of mutants/*.patch, one
# deliberate breakage, to build/linux, builds the kernel, and runs the tests that the
# patch names in its line "Caught-by:": KUnit suites, and guest tests as "test:NAME".
# "Booted-with:" has kernel parameters for that.
#
#   MUTANT=glob      only those with a matching name
#   MINUTES=n        none is started after this many (default 60)
#   AGAIN=1          forget the results of earlier runs
#
# A mutant is caught if a test fails, or the guest does. If none does, all KUnit suites
# are tried. A mutant that survives, does not apply or does not build is a failure. The
# run resumes where the last one stopped, if the sources and tests are the same, and
# restores the tree when it ends.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/results.sh
. "$here/results.sh"

minutes=${MINUTES:-60}
kernel=$build/$CONFIG
state=$build/mutants-$CONFIG
how_many MINUTES "$minutes"
need_build
need_qemu
mkdir -p "$state" "$build/logs"
scratch
mapfile -t all < <(cd "$here/mutants" && printf '%s\n' *.patch | sed 's/\.patch$//')
mutants=()
for mutant in "${all[@]}"; do
	# shellcheck disable=SC2053
	[[ $mutant != ${MUTANT:-*} ]] || mutants+=("$mutant")
done
[ ${#mutants[@]} -gt 0 ] || die "no mutant is named ${MUTANT:-}: see mutants/"

# The results count for these sources and tests only.
id=$(cd "$top" && cat "$(readlink -f "$0")" kernel/kprobes.c kernel/kprobes/* arch/x86/kernel/kprobes/* \
	lib/test_kprobes.c lib/tests/kprobes/* "$here"/configs/*.config | sha1sum | cut -c1-16)
if [ -n "${AGAIN:-}" ] || [ "$(cat "$state/id" 2>/dev/null)" != "$id" ]; then
	: >"$state/results"
	echo "$id" >"$state/id"
fi

# key MUTANT: its result counts for this patch and the guest tests that it names
key()
{
	local patch=$here/mutants/$1.patch

	sed -n 's/^Caught-by: //p' "$patch" | tr ' ' '\n' |
		sed -n "s|^test:\(.*\)|$here/guest/tests/\1.sh|p" |
		xargs -d '\n' cat "$patch" | sha1sum | sed "s/^\(.\{8\}\).*/$1 \1/"
}

verdict_of() { awk -F '\t' -v m="$(key "$1")" '$1 == m { v = $2 } END { print v }' "$state/results"; }
record_mutant() { printf '%s\t%s\t%s\n' "$(key "$1")" "$2" "$3" >>"$state/results"; }

# What the sources are without a mutant. The next build makes it so, too.
restore() { "$here/tree.sh" >/dev/null; }

# run_suites KUNIT-SUITES GUEST-TESTS PARAMETERS: its output tells what fails. All KUnit
# suites if the first is "all".
run_suites()
{
	local log=mutant-$mutant

	if [ -n "$1" ]; then
		BOOT_TIMEOUT=120 "$here/guest.sh" -t 600 -l "$log" \
			-a "loglevel=7 kunit.enable=1 kunit.filter_glob=k*probe* $3" \
			"$kernel" kunit PICKS="${1#all}" >"$tmp/kunit" 2>&1 || echo "not ok - the guest failed: $(tail -n 1 "$tmp/kunit")"
		kunit_lines 1 <"$build/logs/$log.console"
	fi
	[ -z "$2" ] || BOOT_TIMEOUT=120 "$here/guest.sh" -t 400 -l "$log" -a "$3" "$kernel" tests TESTS="$2" \
		2>&1 || echo "not ok - the guest failed"
}

# try MUTANT: sets verdict and why
try()
{
	local patch=$here/mutants/$1.patch suites tests='' kunit='' suite params

	suites=$(sed -n 's/^Caught-by: //p' "$patch")
	params=$(sed -n 's/^Booted-with: //p' "$patch")
	for suite in $suites; do
		case $suite in
		test:*) tests="$tests ${suite#test:}" ;;
		*) kunit="$kunit $suite" ;;
		esac
	done
	why=''
	if [ -z "$suites" ]; then
		verdict='not applied' why="names no tests"
	elif ! (cd "$src" && patch -sf -p1 --dry-run) <"$patch" >"$tmp/patch" 2>&1; then
		verdict='not applied' why=$(head -n 1 "$tmp/patch")
	else
		(cd "$src" && patch -sf -p1 --no-backup-if-mismatch) <"$patch"
		if ! "$here/kernel.sh" >"$tmp/build" 2>&1; then
			verdict='not built' why=$(grep -m 1 -E 'error:|warning' "$tmp/build" || tail -n 1 "$tmp/build")
		else
			run_suites "${kunit# }" "${tests# }" "$params" >"$tmp/out"
			cp "$tmp/out" "$build/logs/mutant-$1.txt"
			why=$(grep '^not ok - ' "$tmp/out" | head -n 1 | cut -c10- || true)
			if [ -z "$why" ] && grep -q '^ok - ' "$tmp/out"; then
				# Perhaps others notice; then the patch should name them.
				run_suites all '' "$params" >"$tmp/out"
				cat "$tmp/out" >>"$build/logs/mutant-$1.txt"
				why=$(sed -n 's/^not ok - \(.*\)/\1 (not by what the patch names)/p' "$tmp/out" | head -n 1)
			fi
			verdict=survived
			[ -z "$why" ] || verdict=caught
			# A guest in which nothing has run has not missed anything.
			[ -n "$why" ] || grep -q '^ok - ' "$tmp/out" || verdict='not run'
		fi
	fi
	restore
}

"$here/tree.sh" >/dev/null
trap 'restore; rm -rf "$tmp"' EXIT
say "${#mutants[@]} mutants, ${minutes} minutes (build/logs/mutant-*, build/mutants-$CONFIG/results)"
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
"$here/kernel.sh" >"$tmp/build" 2>&1 || die "mutants: the kernel without them does not build: $(tail -n 1 "$tmp/build")"

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
echo "$caught caught, $(echo "$other" | wc -w) not, $left left, of ${#mutants[@]}"
[ -z "$other" ] && [ $caught -gt 0 ]
