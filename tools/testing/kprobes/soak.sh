#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs everything that tries to break kprobes at once, in one guest: torture with its killers
# and NMIs, wrong calls to the API, random events, tracefs's and perf's, thousands of probes that
# come and go, points that become jumps and breakpoints, and return probes. They take turns with
# things that only one of them can use, such as the events. Not here: the killer "enabled", which
# makes counts inexact; live patches, see torture-results.sh; and execute.sh, whose points have to
# be jumps when it looks, while toggle switches jumps off.
#
#   MINUTES=n      how long (default 30); rounds that have begun are completed
#   CPUS=n         of the guest (default 2)
#   KERNEL=name    stock-$CONFIG, for comparison
#
# Passes if no round of any part has failed, each has done something, all counts of torture
# are right, nothing is left over at the end, and there was no splat.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/torture-results.sh
. "$here/torture-results.sh"
# shellcheck source=tools/testing/kprobes/files.sh
. "$here/files.sh"
# shellcheck source=tools/testing/kprobes/soak-results.sh
. "$here/soak-results.sh"

minutes=${MINUTES:-30}
cpus=${CPUS:-2}
the_kernel
parts='abuse event_fuzz perf_fuzz returns stress toggle'
# toggle switches the jumps.
killers='hotplug tracers module events memory stalls keys nmi'
log=$build/logs/soak-$name

how_many MINUTES "$minutes"
how_many CPUS "$cpus" 2
only_one "soak-$name"
need_qemu
mkdir -p "$build/logs"
scratch
mkdir "$tmp/files"
# shellcheck disable=SC2086
make_files "$tmp/files" "$name" 0 $parts || die "a file that the tests need could not be made: see above"

say "soak: $name for $minutes minutes, on $cpus CPUs: torture with $killers, beside $parts (build/logs/soak-$name.*)"
status=0
"$here/guest.sh" -t $((minutes * 60 + 1200)) -l "soak-$name" -c "$cpus" -m 1536 -a preempt=full -f "$tmp/files" \
	"$kernel" soak SECONDS_TO_RUN=$((minutes * 60)) MODE=exact \
	KILLERS="$killers" PARTS="$parts" 2>&1 |
	tee "$log.txt" | sed -un 's/^progress /    # /p; /^failed /s/^/    # /p' || status=$?
{
	# A check of the job that failed has said why.
	[ $status -eq 0 ] || {
		echo "the guest ended with $status"
		grep '^# .*got ' "$log.txt" || tail -n 1 "$log.txt"
	}
	# It shares the CPUs with the other parts, and the target.
	torture_verdict "$log.txt" exact "$killers" "$cpus" $(((minutes + 1) / 2)) "$name"
	soak_verdict "$log.txt" "$parts"
} >"$log.bad"

awk -v counts="$SOAK_COUNTS" '
	BEGIN { m = split(counts, line, "\n"); for (i = 1; i <= m; i++) if (split(line[i], w, " ") == 3) wanted[w[1], w[2]] = 1 }
	$1 == "killer" { k = k " " $2 ":" $3 }
	$1 == "part" { p[++n] = $2; rounds[$2] = $3 }
	$1 == "count" && ($2, $3) in wanted { c[$2] = c[$2] (c[$2] ? ", " : "") $3 " " $4 }
	NF == 2 { v[$1] = $2 }
	END {
		printf "    # torture: %d calls (%d in softirqs, %d in hard interrupts, %d in NMIs, %d in handlers), %d rounds\n",
			v["calls"], v["in_softirq"], v["in_hardirq"], v["in_nmi"], v["in_handler"], v["rounds"]
		printf "    # killers:%s\n", k
		for (i = 1; i <= n; i++)
			printf "    # %s: %d rounds: %s\n", p[i], rounds[p[i]], c[p[i]]
	}' "$log.txt"
if [ -s "$log.bad" ]; then
	echo "not ok - soak: $name"
	sed 's/^/    # /' "$log.bad"
else
	echo "ok - soak: $name"
fi
counted "$(awk '$1 == "calls" { n = $2 } END { printf "%.0f", n }' "$log.txt") calls, $(wc -l <"$log.bad") failures, $minutes minutes"
[ ! -s "$log.bad" ]
