# SPDX-License-Identifier: GPL-2.0
# Evaluates what the guests of everything.sh print. Sourced by it, and by its self-test.
# shellcheck shell=bash disable=SC2154

# culprit CONSOLE: of a guest that failed, the window to blame: the one that was armed when
# the kernel complained, or the last one that was armed before that, or before the end
culprit()
{
	without_reports "$BASE_REPORTS" end <"$1" | awk -v splats="$SPLATS" '
		# To the end of what is piped into this.
		over { next }
		/kprobes-everything: window .* begins/ { w = $0; sub(/.*: window /, "", w); sub(/ .*/, "", w) }
		$0 ~ splats { over = 1 }
		END { if (w != "") print w }'
}

# text_of VMLINUX: "FROM TO" of the text that can be probed, except for single functions: .text
# without the parts that are refused as a whole
text_of()
{
	nm "$1" | awk '
		$3 == "_stext" || $3 == "_etext" || $3 ~ /^__(noinstr|kprobes|entry)_text_(start|end)$/ { print $1, $3 }' |
		LC_ALL=C sort | awk '
		$2 == "_stext" || /_end$/ { from = $1 }
		$2 == "_etext" || /_start$/ { if (from != "" && from < $1) print from, $1; from = "" }'
}

# few_accepted TEXT WINDOW RESULT: prints a line if less than 85 % of the window's addresses in
# these parts of the text were accepted. Usually 96 % are. A window of text that exists only
# during boot has none. All of a module can be probed.
few_accepted()
{
	awk '
		FILENAME == ARGV[1] { from[++n] = $1 "x"; to[n] = $2 "x"; next }
		FILENAME == ARGV[2] {
			if (NF > 1)
				wanted++
			for (i = 1; NF == 1 && i <= n; i++)
				wanted += $1 "x" >= from[i] && $1 "x" < to[i]
			next
		}
		$1 == "accepted" { accepted += $2 }
		END {
			if (accepted < wanted * 0.85)
				print accepted + 0 " accepted, of " wanted " that are not refused as a whole"
		}' "$@"
}

# few_jumps RESULT: prints a line if less than 85 % of what can be a jump became one. Of random
# addresses 94 % do. Not for windows of neighbouring instructions, which are in each other's way.
few_jumps()
{
	awk '
		NF == 2 { n[$1] += $2 }
		END {
			can = n["accepted"] - n["ftrace"]
			if (n["jumps"] < can * 0.85)
				print n["jumps"] + 0 " jumps, of " can " that are no ftrace sites"
		}' "$1"
}

# no_hits RESULT...: prints a line for each kind of point that no window has hit. A single
# window may have only code that does not run.
no_hits()
{
	awk '
		NF == 2 { n[$1] += $2 }
		END {
			if (n["accepted"] && !n["hit_breakpoints"])
				print "of " n["accepted"] " probes none was hit as a breakpoint or an ftrace site"
			if (n["jumps"] && !n["hit_jumps"])
				print "of " n["jumps"] " jumps none was hit"
		}' "$@"
}
