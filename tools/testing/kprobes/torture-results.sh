# SPDX-License-Identifier: GPL-2.0
# Evaluates a run of torture.sh. Sourced by it, and by the self-test.
# shellcheck shell=bash

# The least that has to be counted: in each minute, or in total ("=").
TORTURE_COUNTS='
calls 10000
hits 5000
in_task 1000
in_softirq 100
in_hardirq 100
in_handler 50
rounds 10
singles 2
batches 2
returns 2
churned_hits 100
mistakes =1
'
# The same for NMIs.
TORTURE_NMIS='
in_nmi 500
hits_in_nmi 1000
nmis 500
nmis_irqs_off 100
nmis_over_handler 20
nmis_over_patch =1
'
# Counts that have to be 0.
TORTURE_ZEROS='wrong late errors unequal left_points left_found left_users left_copies left_detours left_pools'

# torture_verdict FILE MODE KILLERS CPUS MINUTES: prints what is missing or wrong in what
# a guest has printed; nothing if all is well.
torture_verdict()
{
	awk -v mode="$2" -v killers="$3" -v cpus="$4" -v minutes="$5" -v counts="$TORTURE_COUNTS" \
		-v nmis="$TORTURE_NMIS" -v zeros="$TORTURE_ZEROS" '
		function bad(what) { print what }
		function at_least(name, min)
		{
			if (!(name in value)) bad(name ": not told")
			else if (value[name] < min) bad(name ": " value[name] ", wanted at least " min)
		}
		function all_at_least(list,    line, want, n, i)
		{
			n = split(list, line, "\n")
			for (i = 1; i <= n; i++)
				if (split(line[i], want, " ") == 2)
					at_least(want[1], sub(/^=/, "", want[2]) ? want[2] + 0 : want[2] * minutes)
		}
		function zero(name)
		{
			if (!(name in value)) bad(name ": not told")
			else if (value[name] != 0) bad(name ": " value[name] ", wanted 0")
		}
		$1 == "failed" { print; next }
		/^# kprobe_torture:/ { print; next }
		$1 == "killer" { rounds[$2] = $3; next }
		NF == 2 && $2 ~ /^-?[0-9]+$/ { value[$1] = $2 }
		END {
			all_at_least(counts)
			at_least("cpus_with_tasks", cpus)
			# One CPU has seen 68 a minute. With more CPUs than the machine has, a
			# wait for tasks takes longer than jumps stay wanted.
			at_least("jumps_seen", cpus > 2 ? 1 : 10 * minutes)
			# A call that finds no instance is counted as missed, so the counts
			# are exact without a single entry.
			at_least("entries", int(value["hits"] * 0.9))
			n = split(zeros (mode == "exact" ? " inexact" : ""), name, " ")
			for (i = 1; i <= n; i++) zero(name[i])
			if (killers ~ /(^| )nmi( |$)/) {
				all_at_least(nmis)
				at_least("cpus_with_nmis", cpus)
			}
			n = split(killers, name, " ")
			# The slowest, of modules, has two rounds a minute on eight CPUs.
			least = minutes < 3 ? 1 : minutes < 12 ? 2 : int(minutes / 6)
			for (i = 1; i <= n; i++) {
				if (!(name[i] in rounds)) bad("killer " name[i] ": not told")
				else if (rounds[name[i]] < least) bad("killer " name[i] ": " rounds[name[i]] " rounds, wanted at least " least)
			}
			if (!n) bad("no killers")
		}' "$1"
}
