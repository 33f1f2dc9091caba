# SPDX-License-Identifier: GPL-2.0
# Evaluates a run of torture.sh. Sourced by it, and by the self-test.
# shellcheck shell=bash

# torture_verdict FILE MODE KILLERS CPUS MINUTES: prints what is missing or wrong in what
# a guest has printed; nothing if all is well.
torture_verdict()
{
	awk -v mode="$2" -v killers="$3" -v cpus="$4" -v minutes="$5" '
		function bad(what) { print what }
		function at_least(name, min)
		{
			if (!(name in value)) bad(name ": not told")
			else if (value[name] < min) bad(name ": " value[name] ", wanted at least " min)
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
			at_least("calls", 10000 * minutes)
			at_least("hits", 5000 * minutes)
			at_least("in_task", 1000 * minutes)
			at_least("in_softirq", 100 * minutes)
			at_least("in_hardirq", 100 * minutes)
			at_least("in_handler", 50 * minutes)
			at_least("cpus_with_tasks", cpus)
			at_least("rounds", 10 * minutes)
			at_least("singles", 2 * minutes)
			at_least("batches", 2 * minutes)
			at_least("returns", 2 * minutes)
			at_least("mistakes", 1)
			at_least("churned_hits", 100 * minutes)
			at_least("jumps_seen", 1)
			zero("wrong"); zero("late"); zero("errors"); zero("unequal")
			if (mode == "exact") zero("inexact")
			zero("left_points"); zero("left_found"); zero("left_users")
			zero("left_copies"); zero("left_detours"); zero("left_pools")
			if (killers ~ /(^| )nmi( |$)/) {
				at_least("in_nmi", 500 * minutes)
				at_least("hits_in_nmi", 1000 * minutes)
				at_least("cpus_with_nmis", cpus)
				at_least("nmis", 500 * minutes)
				at_least("nmis_irqs_off", 100 * minutes)
				at_least("nmis_over_handler", 100 * minutes)
				at_least("nmis_over_patch", 1)
			}
			n = split(killers, name, " ")
			least = minutes < 3 ? 1 : 2
			for (i = 1; i <= n; i++) {
				if (!(name[i] in rounds)) bad("killer " name[i] ": not told")
				else if (rounds[name[i]] < least) bad("killer " name[i] ": " rounds[name[i]] " rounds, wanted at least " least)
			}
			if (!n) bad("no killers")
		}' "$1"
}
