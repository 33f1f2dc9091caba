# SPDX-License-Identifier: GPL-2.0
# Evaluates a run of torture.sh. Sourced by it, and by the self-test.
# shellcheck shell=bash

# The least that has to be counted: in each minute, or in total ("=").
TORTURE_COUNTS='
calls 10000
hits 5000
posts 500
in_task 1000
in_softirq 100
in_hardirq 100
in_handler 50
rounds 10
singles 2
batches 2
returns 2
churned_hits 100
diverted =1
mistakes =1
'
# The same of what stock does not have.
TORTURE_OURS='
faults 20
jprobes 2
jprobe_hits 20
switched_batches 1
'
# All killers; with what has to be counted if a scenario has one, besides its rounds.
TORTURE_KILLERS='
enabled
events
hotplug
jumps
keys key_flips 2
keys key_off 100
keys key_on 100
livepatches original 100
livepatches replaced 100
memory memory_taken =50
module
nmi in_nmi 500
nmi hits_in_nmi 1000
nmi nmis 500
nmi nmis_irqs_off 100
nmi nmis_over_handler 20
nmi nmis_over_patch =1
stalls
tracers
'
# The same of what stock does not count.
TORTURE_KILLERS_OURS='
nmi nmis_over_copy 20
nmi nmis_over_detour =1
'
# Those that a scenario may leave out, if another one has them: "enabled" makes counts inexact;
# "hotplug" needs CPUs; and if preemption is chosen at boot, a transition of "livepatches" patches
# all calls of cond_resched(), and more, one by one. Where a CPU is slow to interrupt the others,
# there is time for nothing else.
TORTURE_OPTIONAL='enabled hotplug livepatches'
# Counts that have to be 0.
TORTURE_ZEROS='wrong late errors unequal memory_deaths left_points left_found left_users left_copies left_detours left_pools unarmed'

# torture_verdict FILE MODE KILLERS CPUS MINUTES KERNEL [WATCH]: prints what is missing or wrong
# in what a guest has printed; nothing if all is well.
torture_verdict()
{
	local counts=$TORTURE_COUNTS zeros=$TORTURE_ZEROS of_killers=$TORTURE_KILLERS

	[[ $6 == stock-* ]] || counts+=$TORTURE_OURS of_killers+=$TORTURE_KILLERS_OURS
	[ "${7:-}" != leaks ] || counts+=$'leaks_seen =1\n' zeros+=' left_leaks'
	awk -v mode="$2" -v killers="$3" -v cpus="$4" -v minutes="$5" -v counts="$counts" \
		-v of_killers="$of_killers" -v zeros="$zeros" '
		function bad(what) { print what }
		function at_least(name, min)
		{
			if (!(name in value)) bad(name ": not told")
			else if (value[name] < min) bad(name ": " value[name] ", wanted at least " min)
		}
		function enough(name, min)
		{
			at_least(name, sub(/^=/, "", min) ? min + 0 : min * minutes)
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
			n = split(counts, line, "\n")
			for (i = 1; i <= n; i++)
				if (split(line[i], want, " ") == 2) enough(want[1], want[2])
			at_least("cpus_with_tasks", cpus)
			# One CPU has seen 68 a minute. With more CPUs than the machine has, a
			# wait for tasks takes longer than jumps stay wanted.
			at_least("jumps_seen", cpus > 2 ? 1 : 10 * minutes)
			# A call that finds no instance is counted as missed, so the counts
			# are exact without a single entry.
			at_least("entries", int(value["hits"] * 0.9))
			n = split(zeros (mode == "exact" ? " inexact" : ""), name, " ")
			for (i = 1; i <= n; i++) zero(name[i])
			n = split(killers, name, " ")
			for (i = 1; i <= n; i++) chosen[name[i]] = 1
			m = split(of_killers, line, "\n")
			for (i = 1; i <= m; i++) {
				k = split(line[i], want, " ")
				if (k) known[want[1]] = 1
				if (k == 3 && want[1] in chosen) enough(want[2], want[3])
			}
			if ("nmi" in chosen) at_least("cpus_with_nmis", cpus)
			# The slowest, of modules, has two rounds a minute on eight CPUs.
			least = minutes < 3 ? 1 : minutes < 12 ? 2 : int(minutes / 6)
			for (i = 1; i <= n; i++) {
				if (!(name[i] in known)) bad("killer " name[i] ": unknown")
				else if (!(name[i] in rounds)) bad("killer " name[i] ": not told")
				else if (rounds[name[i]] < least) bad("killer " name[i] ": " rounds[name[i]] " rounds, wanted at least " least)
			}
			if (!n) bad("no killers")
		}' "$1"
}

# torture_lacks SCENARIO KILLERS [OPTIONAL]: prints the killers that a scenario has to have, and
# has not
torture_lacks()
{
	local killer

	for killer in $(awk '{ print $1 }' <<<"$TORTURE_KILLERS" | uniq); do
		case " ${3-$TORTURE_OPTIONAL} $2 " in
		*" $killer "*) ;;
		*) echo "$1: no killer $killer" ;;
		esac
	done
}
