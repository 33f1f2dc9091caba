# SPDX-License-Identifier: GPL-2.0
# The results of test-debug.sh. Sourced by it, and by its self-test.
# shellcheck shell=bash

# A result is a line of a file: kernel, sources, passed or failed, number of tests passed,
# failed, skipped, seconds, and what is wrong. The last one of a kernel counts.

# debug_known FILE KERNEL SOURCES: has it passed with these?
debug_known()
{
	awk -F '\t' -v kernel="$2" -v id="$3" '
		$1 == kernel { passed = $2 == id && $3 == "passed" }
		END { exit !passed }' "$1"
}

# debug_verdict KERNEL SOURCES STATUS SECONDS LOG: the result of a run of test.sh
debug_verdict()
{
	awk -v kernel="$1" -v id="$2" -v status="$3" -v seconds="$4" '
		/^[0-9]+ passed, [0-9]+ failed$/ { passed = $1; failed = $3; counted = NR }
		/^[0-9]+ skipped/ { skipped = $1 }
		/^not ok - / && why == "" { why = substr($0, 10) }
		/^kprobes: / { said = substr($0, 10) }
		END {
			# The counts are the last line, and status tells the same.
			good = counted == NR && NR && !failed && passed && !status
			if (!good && why == "")
				why = counted && counted == NR ? "ended with status " status : "has no result: " said
			if (counted != NR || !NR)
				passed = 0
			if (!good && !failed)
				failed = 1
			printf "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", kernel, id,
				good ? "passed" : "failed", passed, failed, skipped, seconds, why
		}' "$5"
}

# debug_show FILE KERNEL SOURCES: the line of a kernel
debug_show()
{
	awk -F '\t' -v kernel="$2" -v id="$3" '
		$1 == kernel && $2 == id {
			line = sprintf("kprobes: %s: %d passed, %d failed, %d skipped, %d s", $1, $4, $5, $6, $7)
			if ($8 != "")
				line = line ": " $8
		}
		END { print line == "" ? "kprobes: " kernel ": not run" : line }' "$1"
}

# debug_sum FILE: all lines and the counts of the kernels on standard input, a line each:
# KERNEL SOURCES
debug_sum()
{
	local kernel id p=0 f=0 left=0 line

	while read -r kernel id; do
		line=$(debug_show "$1" "$kernel" "$id")
		echo "$line"
		if [[ $line =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
			p=$((p + BASH_REMATCH[1]))
			f=$((f + BASH_REMATCH[2]))
		else
			left=$((left + 1))
		fi
	done
	echo
	counted "$p passed, $f failed; kernels left: $left"
	[ $f -eq 0 ] && [ $p -gt 0 ]
}
