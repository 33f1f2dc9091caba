# SPDX-License-Identifier: GPL-2.0
# Evaluates a run of soak.sh, apart from torture, which torture-results.sh judges. Sourced by
# soak.sh, and by the self-test.
# shellcheck shell=bash disable=SC2034

# What each part counts, and how much of that a round has at least. Parts that are not listed
# are unknown.
SOAK_COUNTS='
abuse calls 4000
abuse accepted 200
abuse in_handlers 1
abuse in_interrupts 1
event_fuzz taken 20
event_fuzz refused 12
event_fuzz counts_compared 10
event_fuzz changed 10
perf_fuzz opened 60
perf_fuzz refused 40
perf_fuzz counts_compared 50
returns entries 20000
returns returns 20000
returns stacks 128
stress hits 10000
stress churned_hits 1
stress calls 10000
toggle calls 1000
toggle to_jump 2
toggle to_breakpoint 1
'

# soak_verdict FILE PARTS: prints what is missing or wrong in what a guest has printed about
# the parts; nothing if all is well.
soak_verdict()
{
	awk -v parts="$2" -v counts="$SOAK_COUNTS" '
		$1 == "part" { rounds[$2] = $3; failed[$2] = $4 }
		$1 == "count" { sum[$2, $3] = $4 }
		END {
			n = split(parts, part, " ")
			if (!n) print "no parts"
			for (i = 1; i <= n; i++) {
				if (!(part[i] in rounds)) print "part " part[i] ": not told"
				else if (rounds[part[i]] < 1) print "part " part[i] ": no round"
				else if (failed[part[i]] != 0) print "part " part[i] ": " failed[part[i]] " of " rounds[part[i]] " rounds failed"
			}
			m = split(counts, line, "\n")
			for (i = 1; i <= m; i++) {
				if (split(line[i], want, " ") != 3 || !(want[1] in rounds)) continue
				known[want[1]] = 1
				least = want[3] * rounds[want[1]]
				if (sum[want[1], want[2]] + 0 < least)
					print "part " want[1] ": " want[2] ": " sum[want[1], want[2]] + 0 ", wanted at least " least
			}
			for (i = 1; i <= n; i++)
				if (part[i] in rounds && !(part[i] in known)) print "part " part[i] ": nothing to count"
		}' "$1"
}
