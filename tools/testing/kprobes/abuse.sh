#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Calls the API of kprobes wrongly, and defines events and probes of perf wrongly, from all CPUs
# at once. A round is a run of each of the guest tests abuse, event_fuzz and perf_fuzz, with a
# seed of its own. Prints a line each minute, and what has failed.
#
#   CALLS=n      of abuse in a round (default 1000000, or 10000 with MINUTES=)
#   FUZZ_DEFS=n, PERF_DEFS=n   definitions of the other two (default 600)
#   MINUTES=n    begins further rounds, with the next seeds, until that time is over
#   SEED=n       of the first round (default 1)
#   CPUS=n       of the guest (default 8)
#   PARTS="..."  only these tests
#   KERNEL=name  stock-$CONFIG, for comparison
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/results.sh
. "$here/results.sh"
# shellcheck source=tools/testing/kprobes/files.sh
. "$here/files.sh"

minutes=${MINUTES:-0}
[ "$minutes" = 0 ] || how_many MINUTES "$minutes"
calls=${CALLS:-$([ "$minutes" = 0 ] && echo 1000000 || echo 10000)}
fuzz_defs=${FUZZ_DEFS:-600}
perf_defs=${PERF_DEFS:-600}
cpus=${CPUS:-8}
parts=${PARTS:-abuse event_fuzz perf_fuzz}
# Calls of each kind have to be made, see abuse.sh and event_fuzz.sh of the guest.
how_many CALLS "$calls" 3000
how_many FUZZ_DEFS "$fuzz_defs" 60
# Each kind of mistake has to come, see perf_fuzz.sh.
how_many PERF_DEFS "$perf_defs" 200
how_many SEED "${SEED:-1}"
how_many CPUS "$cpus" 2
the_kernel
only_one "abuse-$name"
need_qemu
mkdir -p "$build/logs"
scratch
log=$build/logs/abuse-$name
results=$tmp/results
mkdir "$tmp/files"
: >"$results"

slow=$(config_slow)
run=''
for part in $parts; do
	[[ " abuse event_fuzz perf_fuzz " == *" $part "* ]] || die "PARTS=$part: have abuse, event_fuzz and perf_fuzz"
	lacks=$(sed -n 's/^# needs: config //p' "$here/guest/tests/$part.sh" | while read -r option; do
		config_options | grep -x "$option=y" >/dev/null || echo "needs $option"
	done | paste -sd,)
	if [ -z "$lacks" ]; then
		run="$run $part"
	else
		echo "skip - $part: $lacks" | record tests ''
	fi
done
# shellcheck disable=SC2086
make_files "$tmp/files" "$name" 0 $run || die "a file that the tests need could not be made: see above"

# All CPUs of the guest may share one of this machine, and CPUs that wait for each other take long.
limit=$((600 * slow + slow * calls / 50 + fuzz_defs + perf_defs))
say "wrong calls and definitions on $name, $cpus CPUs$([ "$minutes" = 0 ] || echo ", for $minutes minutes"):$run (build/logs/abuse-$name.*)"
status=0
# shellcheck disable=SC2016
"$here/guest.sh" -t $((minutes * 60 + 3 * limit)) -w 900 -l "abuse-$name" -c "$cpus" -m 2048 -f "$tmp/files" \
	"$kernel" abuse PARTS="$run" SECONDS_TO_RUN=$((minutes * 60)) SEED="${SEED:-1}" LIMIT=$limit SLOW="$slow" \
	ABUSE_CALLS="$calls" FUZZ_DEFS="$fuzz_defs" PERF_DEFS="$perf_defs" 2>"$tmp/why" |
	tee "$log.txt" | awk '
		/^progress / { sub(/^progress /, "    # "); print; fflush(); next }
		/^(not )?ok - |^skip - / { bad = /^not ok - / }
		bad { print; fflush() }' || status=$?
[ $status -eq 0 ] || guest_failed abuse "$tmp/why" | tee -a "$log.txt"
record tests '' <"$log.txt" >/dev/null
count_results

# What the rounds of a part have done; the names are those that the tests print.
while read -r part what; do
	awk -v part="$part" -v what="$what" '
		/^(not )?ok - |^skip - / { mine = $0 ~ " - " part ": "; rounds += mine && !/^skip/; next }
		mine && $1 == "#" && NF == 3 && index(" " what " ", " " $2 " ") {
			if (!($2 in sum)) order[++n] = $2
			sum[$2] += $3
		}
		END {
			for (i = 1; i <= n; i++) line = line ", " order[i] " " sum[order[i]]
			if (rounds) print "    # " part ": " rounds " rounds" line
		}' "$log.txt"
done <<'LIST'
abuse calls accepted hits in_handlers on_own_probes in_atomic in_interrupts scribbles freed shared
event_fuzz taken refused garbage_taken changed counts_compared
perf_fuzz opened refused unprivileged counts_compared inherited
LIST
[ "$skipped" -eq 0 ] || { grep '^skip - ' "$log.txt" || true; } | sort -u
outcome CONFIG=
