# SPDX-License-Identifier: GPL-2.0
# Evaluates the output of tests. Sourced by test.sh, and by its self-test.
# shellcheck shell=bash disable=SC2034,SC2154

# kunit_lines [PICKED]: a console to lines, see ktap.awk
kunit_lines() { awk -v picked="${1:-}" -f "$here/ktap.awk"; }

# running CONSOLE [LINE]: ", SUITE.CASE was running" and the like: the guest test or KUnit case
# that had begun but not ended at that line of a console, or at its end. The console names a
# case when it ends. The next one is known from the sources' cases, which are on standard input,
# if all cases of the suite run.
running()
{
	awk -v stop="${2:-}" '
		NR == FNR {
			split($0, part, ".")
			name[part[1], ++n[part[1]]] = part[2]
			next
		}
		stop != "" && $0 == stop { exit }
		{
			gsub(/\r/, "")
			sub(/^\[[^]]*\] /, "")
		}
		/^kprobes-guest: test / { test = $3 }
		/^kprobes-guest: (tests end|down)/ { test = "" }
		/^    # Subtest: / {
			suite = $NF
			planned = seen = 0
			last = param = ""
		}
		/^    1\.\.[0-9]+$/ { planned = substr($1, 4) + 0 }
		/^        # Subtest: / { param = $NF }
		/^    (not )?ok [0-9]+ / {
			last = $1 == "not" ? $4 : $3
			param = ""
			seen++
		}
		/^(not )?ok [0-9]+ / { suite = "" }
		END {
			if (param == "" && planned == n[suite] && (!seen || name[suite, seen] == last))
				param = name[suite, seen + 1]
			if (suite != "" && param == "" && last != "")
				print ", after " suite "." last
			else if (suite != "")
				print ", " suite (param == "" ? "" : ".") param " was running"
			else if (test != "")
				print ", " test " was running"
		}' - "$1"
}

# guest_failed WHAT FILE: a guest that does not finish is a failure of its own. The last line
# that guest.sh has printed about it gives the reason.
guest_failed()
{
	local why

	why=$(sed -n '$s/^kprobes: //p' "$2")
	echo "not ok - $1: ${why:-the guest failed: see build/logs/}"
	sed 's/^/    # /' "$2"
}

# record RUN PREFIX: keep the verdicts among the lines in $results, and show all.
# A line is VERDICT, run, name, parameters and text, with tabs between.
record()
{
	local run=$1 prefix=$2 line verdict name params text

	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		'ok - '*|'not ok - '*|'skip - '*|'pskip - '*) ;;
		*)
			printf '%s\n' "$line"
			continue
			;;
		esac
		verdict=${line%% - *}
		name=${line#* - }
		text=-
		case $name in *': '*) text=${name#*: } ;; esac
		name=${name%%: *}
		params=0
		case $name in
		*' ('*)
			params=${name#* (}
			params=${params%% *}
			;;
		esac
		printf '%s\t%s\t%s\t%s\t%s\n' "$verdict" "$run" "${name%% (*}" "$params" "$text" >>"$results"
		[ "$verdict" = pskip ] || printf '%s - %s%s\n' "$verdict" "$prefix" "${line#* - }"
	done
}

# lines_of NAME COMMAND...: the lines of a script that fails if one of its tests does. If it
# fails for another reason, there is a line for that.
lines_of()
{
	local name=$1 line failed=''

	shift
	{ "$@" 2>&1 || echo "ended with status $?"; } | while IFS= read -r line; do
		case $line in
		'not ok - '*) failed=1 ;;
		'ended with status '*)
			[ -z "$failed" ] || continue
			line="not ok - $name: $line"
			;;
		esac
		printf '%s\n' "$line"
	done
}

# count_results: sets passed, failed, skipped and parameters to how many there are in $results
count_results()
{
	passed=$(grep -c '^ok	' "$results") || true
	failed=$(grep -c '^not ok	' "$results") || true
	skipped=$(grep -c '^skip	' "$results") || true
	parameters=$(grep -c '^pskip	' "$results") || true
}

# outcome VARIABLE: prints and keeps how many have passed and failed. Fails if one has failed, and
# if none has passed: tests that were all skipped prove nothing. VARIABLE selects what they run on.
outcome()
{
	counted "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] || return 1
	[ "$passed" -gt 0 ] ||
		die "nothing has passed$(awk -F '\t' '$1 == "skip" { print "; " $3 " was skipped: " $5; exit }' "$results"): choose another kernel with $1, or other tests with TEST="
}

# tool_lines STATUS OUT CONSOLE: the verdict on a run of kunit.py. Its exit status is
# not enough: its parser ignores a crash, and it does not look for splats.
tool_lines()
{
	local status=$1 out=$2 console=$3

	if ! grep -aq 'KTAP version' "$console" 2>/dev/null; then
		echo "not ok - kunit: no test has run: see $out"
		grep -m 5 -E 'ERROR|error:' "$out" | sed 's/^/    # /' || true
		return
	fi
	kunit_lines "${TEST:+1}" <"$console"
	[ "$status" = 0 ] ||
		echo "not ok - kunit: kunit.py ended with status $status: see $out"
	grep -q 'Testing complete. Ran' "$out" ||
		echo "not ok - kunit: kunit.py did not finish: see $out"
	! grep -q 'CRASHED' "$out" ||
		echo "not ok - kunit: the kernel crashed: see $console"
	if splats_in "$console" end >/dev/null; then
		echo "not ok - kunit: the kernel complained: see $console"
		splats_in "$console" end | head -n 3 | sed 's/^/    # /'
	fi
}

# expected_lines FILE RESULTS [GLOB]: the expected tests that have not run, and the tests that
# have run and are not expected. FILE has a line for each suite or test, and one for each skip
# that is allowed:
#
#   RUN NAME CASES PARAMETERS    so many cases, and at least so many parameters, skipped ones
#                                among them
#   skip RUN CASE COUNT REASON   at most so many, parameters of it too
#
# With GLOB only names that match it must be there, and others may be.
expected_lines()
{
	local run name cases params glob=${3:-*}

	while read -r run name cases params; do
		# shellcheck disable=SC2254
		case $run:$name in
		'#'*|skip:*) continue ;;
		*:$glob) ;;
		*) continue ;;
		esac
		awk -F '\t' -v run="$run" -v name="$name" -v cases="$cases" -v params="$params" '
			$2 != run || ($3 != name && index($3, name ".") != 1) { next }
			# A line about a whole suite is not one of its cases.
			$1 == "not ok" && $3 == name && $2 ~ /^(kunit|traced|maxcpus)/ { next }
			$1 != "pskip" { n++; p += $4 }
			END {
				what = run " " name
				if (!n)
					print "not ok - " what ": has not run"
				else if (n < cases)
					print "not ok - " what ": " n " of " cases " cases have run"
				else if (p < params)
					print "not ok - " what ": " p " of " params " parameters have run"
			}' "$2"
	done <"$1"
	# A case that is not on the list would not be missed later.
	[ -n "${3:-}" ] || awk -F '\t' -v list="$1" '
		BEGIN {
			while ((getline line < list) > 0)
				if (split(line, word, " ") == 4) cases[word[1] " " word[2]] = word[3]
		}
		$1 == "ok" || $1 == "skip" {
			split($3, part, ".")
			key = $2 " " part[1]
			if (!n[key]++) order[++keys] = key
		}
		END {
			for (i = 1; i <= keys; i++)
				if (n[order[i]] > cases[order[i]])
					print "not ok - " order[i] ": " n[order[i]] " cases have run, the list says " cases[order[i]] + 0 ": make expect"
		}' "$2"
	awk -F '\t' -v list="$1" '
		BEGIN {
			while ((getline line < list) > 0) {
				if (split(line, word, " ") < 5 || word[1] != "skip")
					continue
				sub(/^skip +[^ ]+ +[^ ]+ +[0-9]+ +/, "", line)
				allowed[word[2] "\t" word[3] "\t" line] += word[4]
			}
		}
		# If all parameters of a case were skipped, they are what counts.
		($1 == "skip" && !$4) || $1 == "pskip" {
			key = $2 "\t" $3 "\t" $5
			if (++skips[key] > allowed[key] && !said[key]++)
				print "not ok - " $2 " " $3 ": skipped more often than allowed: " $5
		}' "$2"
}

# exports_verdict SYMVERS: which functions of the API are not exported, and which functions of
# kprobes not only to GPL modules. What the suites need is exported to them alone.
exports_verdict()
{
	{ cat "$1" 2>/dev/null || true; } | awk -F '\t' '
		$3 != "vmlinux" || $2 !~ /k(ret)?probe|jprobe/ || $5 == "EXPORTED_FOR_KUNIT_TESTING" { next }
		{ exported[$2] = 1 }
		$4 != "EXPORT_SYMBOL_GPL" { print $2 ": " $4 }
		END {
			n = split("register_kprobe unregister_kprobe register_kretprobe unregister_kretprobe", name, " ")
			for (i = 1; i <= n; i++) api = api " " name[i] " " name[i] "s"
			n = split(api " enable_kprobe disable_kprobe", name, " ")
			for (i = 1; i <= n; i++)
				if (!(name[i] in exported)) print name[i] ": not exported"
		}'
}

# picked_lines RUN RESULTS: which of the suites and cases on standard input have
# not run
picked_lines()
{
	awk -F '\t' -v run="$1" '
		NR == FNR {
			if ($2 == run && $1 != "pskip") {
				part = $3
				sub(/\..*/, "", part)
				ran[$3] = ran[part] = 1
			}
			next
		}
		!($1 in ran) { print "not ok - " run " " $1 ": has not run" }' "$2" -
}

# wrong_skip SPACE CONFIG LINES: the first of these results that is a skip for a reason which
# configs/space does not allow in a kernel with these options
wrong_skip()
{
	awk -v space="$1" -v config="$2" '
		FILENAME == config {
			if (/^CONFIG_.*=y$/)
				set[substr($0, 8, length($0) - 9)] = 1
			next
		}
		FILENAME == space {
			off = sub(/^skip !/, "skip ")
			if ($1 == "skip" && ($2 == "-" || ($2 in set) != off)) {
				sub(/^skip +[^ ]+ +/, "")
				allowed[$0] = 1
			}
			next
		}
		/^p?skip - / {
			reason = $0
			sub(/^p?skip - [^:]*: /, "", reason)
			if (!(reason in allowed)) {
				print
				exit
			}
		}' "$2" "$1" "$3"
}

# idle_suite LINES SUITE...: the first of these built-in suites of which no case has passed,
# and why that is wrong. If all cases of a suite are skipped, that is not the configuration.
idle_suite()
{
	local lines=$1 suite

	shift
	for suite; do
		! grep -q "^ok - $suite\\." "$lines" || continue
		if ! grep -q "^skip - $suite\\." "$lines"; then
			echo "$suite has not run"
			return
		fi
		# Init text is there as long as built-in suites run.
		[ "$suite" != kprobes_gone ] || continue
		echo "$suite has skipped all of its cases"
		return
	done
}

# expectation RESULTS: writes such a file from the tests that have run
expectation()
{
	awk -F '\t' '
		($1 == "skip" && !$4) || $1 == "pskip" { skips["skip " $2 " " $3 "\t" $5]++ }
		$1 == "ok" || $1 == "skip" {
			split($3, part, ".")
			n[$2 " " part[1]]++
			p[$2 " " part[1]] += $4
		}
		END {
			for (key in n) print key, n[key], p[key] + 0
			for (key in skips) {
				split(key, part, "\t")
				print part[1], skips[key], part[2]
			}
		}' "$1" | LC_ALL=C sort
}

# keep_passed RUN RESULTS FILE: writes the results of a run to FILE, if there are some and none of
# them has failed
keep_passed()
{
	awk -F '\t' -v run="$1" '
		$2 == run { print; n++; bad += $1 == "not ok" }
		END { exit bad || !n }' "$2" >"$3.new" || { rm "$3.new"; return 0; }
	mv "$3.new" "$3"
}

# drop_kept FOLDER: a run in which something is missing has not passed; standard input has what
# expected_lines has found
drop_kept()
{
	local run

	sed -n 's/^not ok - \([^ ]*\) .*/\1/p' | while read -r run; do
		rm -f "$1/$run"
	done
}

# kselftest_skips EXPECTED OUTPUT: a line "not ok - " for each test that a run of kselftests has
# skipped though this list does not let "make test" skip it; fails if there is one
kselftest_skips()
{
	awk '
		FILENAME == ARGV[1] { if ($1 == "skip" && $2 == "tests") allowed[$3]; next }
		sub(/^(# )*ok [0-9]+ /, "") && / # SKIP/ && !($1 in allowed) {
			name = $1
			sub(/.* # SKIP */, "")
			print "not ok - " name ": is skipped: " $0
			bad = 1
		}
		END { exit bad }' "$1" "$2"
}

# preemption_verdict CONSOLE PARAMETERS: prints what is wrong if the kernel preempts in another way
# than these parameters say. It tells at loglevel=7.
preemption_verdict()
{
	local how=${2##*preempt=}

	[[ $2 == *preempt=* ]] || return 0
	how=${how%% *}
	grep -aqs "Dynamic Preempt: $how" "$1" || echo "preemption: the kernel does not say that it is $how"
}
