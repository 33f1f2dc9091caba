# SPDX-License-Identifier: GPL-2.0
# The names of the tests, and which of them TEST= picks. Sourced.
# shellcheck shell=bash disable=SC2154
# shellcheck source=tools/testing/kprobes/oops-results.sh
. "$here/oops-results.sh"
#
# A name is what "make test" prints: SUITE.CASE of a KUnit suite or of the
# self-test, or TEST of a guest test. TEST= is a glob for all of the name, with or
# without the prefix of its run ("maxcpus=1: "), or for the name of a suite, which
# stands for all of its cases.

# kunit_cases FILE...: "SUITE.CASE", a line each, of the suites in these sources, in the
# order in which the cases of a suite run
kunit_cases()
{
	awk '
	function cases_of(suite, array,    i) {
		for (i = 1; i <= n[array]; i++)
			print suite "." name[array, i]
	}
	FNR == 1 { suite = "" }
	/struct kunit_case .*\[\]/ {
		array = $0
		sub(/\[\].*/, "", array)
		sub(/.*[ *]/, "", array)
		n[array] = 0
		inside = 1
	}
	/^};/ { inside = 0 }
	/^#define [A-Z_]+[ \t]+KUNIT_CASE\(/ {
		macro[$2] = $3
		sub(/.*\(/, "", macro[$2])
		sub(/\).*/, "", macro[$2])
	}
	inside && NF == 1 && (sub(/,$/, "", $1) || 1) && ($1 in macro) {
		name[array, ++n[array]] = macro[$1]
	}
	inside && match($0, /[A-Z]_?CASE[A-Z_]*\([a-z_0-9A-Z]+/) {
		case_name = substr($0, RSTART, RLENGTH)
		sub(/.*\(/, "", case_name)
		name[array, ++n[array]] = case_name
	}
	/struct kunit_suite / { suite = "?" }
	suite == "?" && /\.name = / {
		suite = $0
		sub(/.*\.name = "/, "", suite)
		sub(/".*/, "", suite)
	}
	suite != "" && /\.test_cases = / {
		array = $0
		sub(/.*\.test_cases = /, "", array)
		sub(/[,;}].*/, "", array)
		cases_of(suite, array)
		suite = ""
	}' "$@"
}

# kunit_names FILE...: likewise, sorted
kunit_names() { kunit_cases "$@" | LC_ALL=C sort; }

# kunit_slow FILE...: the names of the cases that are marked as slow
kunit_slow()
{
	sed -nE '/^#define/d; s/.*(CASE[A-Z_]*_SLOW|SLOW_[A-Z_]*CASE)\(([a-z_0-9]+).*/\2/p' "$@" |
		LC_ALL=C sort -u
}

# selftest_names: likewise. sees() has the name, or a function that passes it on.
selftest_names()
{
	local those

	those=$(awk '/^[a-z_]+\(\)/ { f = $1; sub(/\(.*/, "", f) } /sees "\$1"/ { printf "|%s", f }' "$here/selftest.sh")
	grep -oE "(^|[|])[[:space:]]*(sees$those) [a-z_]+ " "$here/selftest.sh" | awk '{ print "selftest." $NF }'
}

# The guest tests
guest_names() { (cd "$here/guest/tests" && printf '%s\n' *.sh | sed 's/\.sh$//'); }

# is_picked NAME [PREFIX]: does TEST= let this one through?
is_picked()
{
	local name=$1 prefix=${2:-}

	[ -n "${TEST:-}" ] || return 0
	# shellcheck disable=SC2254
	case $name in $TEST) return 0 ;; esac
	# shellcheck disable=SC2254
	case $prefix$name in $TEST) return 0 ;; esac
	case $name in
	*.*) is_picked "${name%%.*}" "$prefix" ;;
	*) return 1 ;;
	esac
}

# picked PREFIX: of the names on standard input. A suite all of whose cases are
# picked is named instead of them.
picked()
{
	local prefix=$1 name suite='' all='' some=''

	flush()
	{
		[ -z "$suite" ] || { [ -n "$all" ] && echo "$suite"; } || printf %s "$some"
	}
	while read -r name; do
		if [ "${name%%.*}" != "$suite" ]; then
			flush
			suite=${name%%.*} all=1 some=''
		fi
		if is_picked "$name" "$prefix"; then
			some="$some$name"$'\n'
		else
			all=''
		fi
	done
	flush
}

# kunit_glob: the glob that makes KUnit run the names on standard input, which TEST= has picked.
# KUnit takes one glob for suites and, after a dot, one for cases, so others may run, too.
kunit_glob()
{
	local those one glob

	mapfile -t those
	for glob in "${those[0]}" "$TEST" "k*probe*.$TEST"; do
		for one in "${those[@]}"; do
			lets_through "$glob" "$one" || continue 2
		done
		echo "$glob"
		return
	done
	echo 'k*probe*'
}

# lets_through GLOB NAME: does KUnit run all of NAME with this glob?
lets_through()
{
	local cases='*' name='*'

	case $1 in *.*) cases=${1#*.} ;; esac
	case $2 in *.*) name=${2#*.} ;; esac
	# shellcheck disable=SC2053
	[[ ${2%%.*} == ${1%%.*} && $name == $cases ]]
}

# picked_results: the results on standard input, without those of cases that TEST= does not
# pick
picked_results()
{
	local line name show=1

	while IFS= read -r line; do
		case $line in
		'ok - '*|'not ok - '*|'skip - '*|'pskip - '*)
			name=${line#* - }
			name=${name%%[: ]*}
			show=1
			[[ $name != *.* ]] || is_picked "$name" || show=''
			;;
		esac
		[ -z "$show" ] || printf '%s\n' "$line"
	done
}

# nothing_picked: is there no such test at all?
nothing_picked()
{
	local prefix

	for prefix in '' 'traced: ' 'maxcpus=1: ' 'cpus=6: ' 'kunit.py: ' 'preempt=full: ' 'spectre_v2=off: ' \
		      'spectre_v2=retpoline,lfence: ' 'ITS: ' 'stuffing: '; do
		[ -z "$({ kunit_names "${kunit_sources[@]}"; selftest_names
			  guest_names; oops_names; printf '%s\n' run hitpath ordering slots.default exports; } | picked "$prefix")" ] || return 1
	done
}

kunit_sources=("$top"/lib/tests/kprobes/fixture.h "$top"/lib/test_kprobes.c "$top"/lib/tests/kprobes/*.c)
