#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tries to break kprobes, in the manner of rcutorture: kprobe_torture.ko sets, hits and
# removes probes in all ways, while CPUs, modules, tracers and switches come and go. A
# scenario is a file in torture/, which says on what kernel and machine it runs, with which
# killers, and how often each of these must have done its work.
#
#   SCENARIO="a b"   only these, and the kernels that they are for are built (default: all; one
#                    for another kernel than the default one runs if that was built before,
#                    and is named if it does not run)
#   MINUTES=n        how long each of them runs (default 3)
#   KERNEL=name      $CONFIG or stock-$CONFIG in place of the scenario's kernel
#
# A scenario passes if its guest finished without a splat, all counts are there and
# right, and every reader, writer and killer has done something.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/torture-results.sh
. "$here/torture-results.sh"

minutes=${MINUTES:-3}
how_many MINUTES "$minutes"
scenarios=${SCENARIO:-$(cd "$here/torture" && echo *)}
for scenario in $scenarios; do
	[ -e "$here/torture/$scenario" ] ||
		die "no scenario $scenario: have $(cd "$here/torture" && echo *)"
done

[ -z "${KERNEL:-}" ] || is_current "$KERNEL"
only_one torture
passed=0 failed='' left_out=0
for scenario in $scenarios; do
	CPUS=2 APPEND='' KILLERS='' MODE=exact ON='' SLOW=1 NMIS='' WATCH=''
	# shellcheck disable=SC1090
	. "$here/torture/$scenario"
	kernel=$build/${KERNEL:-${ON:-$CONFIG}}
	[ -z "${KERNEL:-}" ] || WATCH=''
	log=torture-$scenario
	if [ -n "$ON" ] && [ -z "${KERNEL:-}" ] && { [ -n "${SCENARIO:-}" ] || [ -e "$kernel/vmlinux" ]; }; then
		# make torture has built the default one only.
		CONFIG=$ON "$here/kernel.sh"
	elif [ -n "$ON" ] && [ -z "${SCENARIO:-}" ]; then
		echo "skip - torture: $scenario: needs build/$ON${KERNEL:+, not $KERNEL}: make kernel CONFIG=$ON"
		left_out=$((left_out + 1))
		continue
	fi
	say "torture: $scenario for $minutes minutes: $(sed -n '1s/^# //p' "$here/torture/$scenario") (build/logs/$log.*)"
	status=0
	if is_32bit "$kernel" && [[ $KILLERS == *' livepatches'* ]]; then
		echo "# $scenario: without the killer livepatches, as 32 bits have no live patches"
		KILLERS=${KILLERS/ livepatches/}
	fi
	if [ -e "$kernel/vmlinux" ]; then
		"$here/guest.sh" -t $((minutes * 60 + 300 * SLOW)) -l "$log" -c "$CPUS" -a "$APPEND" \
			${NMIS:+-n "$NMIS"} "$kernel" torture SECONDS_TO_RUN=$((minutes * 60)) KILLERS="$KILLERS" \
			MODE="$MODE" WATCH="$WATCH" >"$build/logs/$log.txt" 2>&1 &
		progress $! "torture: $scenario" "$build/logs/$log.txt" || status=$?
	else
		status=1
		echo "no kernel in $kernel" >"$build/logs/$log.txt"
	fi
	if [ $status -ne 0 ]; then
		printf 'the guest ended with %s\n' "$status" >>"$build/logs/$log.txt"
		bad="the guest: $(grep -v '^#' "$build/logs/$log.txt" | tail -n 2 | paste -sd' ')"
	else
		bad=''
	fi
	torture_verdict "$build/logs/$log.txt" "$MODE" "$KILLERS" "$CPUS" "$minutes" "${kernel##*/}" "$WATCH" \
		>"$build/logs/$log.bad"
	awk '$1 == "killer" { k = k " " $2 ":" $3 } NF == 2 { v[$1] = $2 }
		END { printf "    # %d calls (%d in softirqs, %d in hard interrupts, %d in NMIs, %d in handlers), %d rounds (%d kprobes, %d return probes, %d jprobes, %d batches, %d faults), killers%s\n",
			v["calls"], v["in_softirq"], v["in_hardirq"], v["in_nmi"], v["in_handler"], v["rounds"],
			v["singles"], v["returns"], v["jprobes"], v["batches"], v["faults"], k }' \
		"$build/logs/$log.txt"
	if [ -z "$bad" ] && [ ! -s "$build/logs/$log.bad" ]; then
		echo "ok - torture: $scenario"
		passed=$((passed + 1))
	else
		echo "not ok - torture: $scenario"
		{ [ -z "$bad" ] || echo "$bad"; cat "$build/logs/$log.bad"; } | sed 's/^/    # /'
		failed="$failed $scenario"
	fi
done
echo
counted "$passed passed, $(echo "$failed" | wc -w) failed$([ $left_out -eq 0 ] || echo ", $left_out not run")"
[ -z "$failed" ] && [ $passed -gt 0 ]
