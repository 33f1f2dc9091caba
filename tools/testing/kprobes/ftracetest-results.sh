# SPDX-License-Identifier: GPL-2.0
# Evaluates the results of the ftrace project's tests. Sourced by ftracetest.sh, and by its
# self-test.
# shellcheck shell=bash

# ftrace_results CASES: "NAME<tab>RESULT" for each file of CASES, a line each, in the order
# in which ftracetest was given them. Its output is standard input: it numbers the
# tests. A test that has begun and not ended has the RESULT DIES, one that has not begun "-".
ftrace_results()
{
	awk -v cases="$1" '
		BEGIN {
			while ((getline line < cases) > 0) {
				sub(/.*\//, "", line)
				sub(/\.tc$/, "", line)
				name[++n] = line
			}
		}
		/^\[[0-9]+\]/ && substr($0, 2) + 0 == begun + 1 {
			result[++begun] = "DIES"
			if (sub(/.*\t\[/, "") && sub(/\]$/, ""))
				result[begun] = $0
		}
		END {
			for (i = 1; i <= n; i++)
				print name[i] "\t" (i in result ? result[i] : "-")
		}'
}

# ftrace_verdict NAME STOCK OURS EXPECTED: a table of the results in these files, then a line
# "not ok - " for each problem. A test that passes on stock has to pass on ours. One that does
# not pass on ours has to be in EXPECTED: a line "NAME TEST RESULT reason".
ftrace_verdict()
{
	awk -v name="$1" -v stock_file="$2" -v ours_file="$3" '
		function wrong(what) { bad[++nbad] = test ": " what }
		$1 == name { expected[$2] = $3 }
		END {
			FS = "\t"
			while ((getline < stock_file) > 0)
				stock[$1] = $2
			printf "%-28s%-14s%s\n", "", "stock", "ours"
			while ((getline < ours_file) > 0) {
				test = $1
				ours = $2
				theirs = test in stock ? stock[test] : "-"
				printf "%-28s%-14s%s\n", test, theirs, ours
				all++
				on_stock += theirs == "PASS"
				on_ours += ours == "PASS"
				delete stock[test]
				if (theirs == "-")
					wrong("has no result on stock")
				if (ours == "-")
					wrong("has no result on ours")
				else if (theirs == "PASS" && ours != "PASS")
					wrong("passes on stock, not on ours: " ours)
				else if (ours != "PASS" && expected[test] != ours)
					wrong("does not pass, and is not expected to: " ours)
				else if (ours == "PASS" && test in expected)
					wrong("passes, and is expected not to")
			}
			for (test in stock)
				wrong("has no result on ours")
			if (!all) {
				test = "ftracetest"
				wrong("no test has run")
			}
			for (i = 1; i <= nbad; i++)
				print "not ok - " bad[i]
			printf "%d tests on %s: %d pass on stock, %d on ours\n", all, name, on_stock, on_ours
		}' "$4"
}

# ftrace_faults NAME RESULTS EXPECTED: a line "not ok - " for each problem in the results of
# one kernel
ftrace_faults()
{
	awk -F '\t' -v name="$1" '
		FILENAME == ARGV[1] {
			if (split($0, word, " ") && word[1] == name)
				expected[word[2]] = word[3]
			next
		}
		{ all++ }
		$2 == "-" { print "not ok - " $1 ": has no result"; next }
		$2 == "PASS" && $1 in expected { print "not ok - " $1 ": passes, and is expected not to" }
		$2 != "PASS" && $2 != expected[$1] { print "not ok - " $1 ": does not pass, and is not expected to: " $2 }
		END { if (!all) print "not ok - ftracetest: no test has run" }' "$3" "$2"
}
