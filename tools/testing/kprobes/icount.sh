#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Counts the guest instructions of a hit, of setting a probe and of removing it, ours
# next to stock. A guest with one CPU under "-icount shift=0" executes one instruction
# a nanosecond, so the figures are exact and repeatable on a loaded machine, too. Time
# in which the guest waits is not counted.
#
#   icount.sh [KERNEL...]    names under build/ (default: $CONFIG stock-$CONFIG)
#
#   MANY="n..."   sizes of batches that are set and removed, with 100 other probes set
#                 one by one beside them; none of them is hit (default 10000)
#   COLD="n..."   numbers of other probes beside one that is hit (default 10000)
#   COUNT=1       with the hits of each point counted: kprobes/hits
#   JOBS=n        guests at a time (default 2; each keeps one CPU busy)
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

many=${MANY-10000}
cold=${COLD-10000}
[ $# -gt 0 ] || set -- "$CONFIG" "stock-$CONFIG"

scratch

# measure KERNEL PART: its lines to a file. The same kernel gives the same figures, and
# the crowds take many minutes on stock: a part of a kernel is measured once.
measure()
{
	local name=$1 part=$2 kernel=$build/$1 log=icount-$1-$2 many=$many cold=$cold known sites

	# Parameters of other parts do not matter for this one.
	[ "$part" = many ] || many=''
	[ "$part" = cold ] || cold=''
	sites=$("$here/sites.sh" "$name")
	known=$kernel/.icount-$(cat "$kernel/arch/x86/boot/bzImage" "$here/guest/jobs/icount.sh" \
		"$kernel/kprobes-modules/kprobe_cost.ko" "$kernel/kprobes-modules/kprobe_crowd.ko" \
		"$here/guest.sh" <(echo "$sites, $part, $many, $cold, ${COUNT:-}"; emulator_version) | sha1sum | cut -c1-16)
	if [ ! -s "$known" ]; then
		say "measuring $part of $name (build/logs/$log.*)" >&2
		# Addresses as in vmlinux: no KASLR.
		"$here/guest.sh" -i -t 3000 -m 2048 -l "$log" -a nokaslr -f "$sites" \
			-s 'blocked for more than' "$kernel" icount \
			PART="$part" MANY="$many" COLD="$cold" COUNT="${COUNT:-}" >"$tmp/$log.new" || {
			cat "$tmp/$log.new"
			die "icount: $part of $name could not be measured: see build/logs/$log.console"
		}
		# Stock may be too slow. Ours is not.
		case $name in
		stock-* | patched-*) ;;
		*)
			! grep 'in time$' "$tmp/$log.new" >&2 ||
				die "icount: $part of $name took too long: see build/logs/$log.out"
			;;
		esac
		cp "$tmp/$log.new" "$known"
	fi
	cp "$known" "$tmp/$name.$part"
}

parts=hits
[ -z "$many" ] || parts="$parts many"
[ -z "$cold" ] || parts="$parts cold"
for name; do
	[ -e "$build/$name/vmlinux" ] || die "no kernel in build/$name: make kernel or make stock builds it"
	# One guest finds them for all parts.
	"$here/sites.sh" "$name" >/dev/null
done
# The crowds of stock take longest, so they start first.
for part in $(tac -s' ' <<<"$parts "); do
	for ((i = $#; i > 0; i--)); do
		[ "$(jobs -rp | wc -l)" -lt "${JOBS:-2}" ] || wait -n || exit
		measure "${!i}" "$part" &
	done
done
wait
for name; do
	for part in $parts; do
		[ -s "$tmp/$name.$part" ] || exit 1
		cat "$tmp/$name.$part"
	done >"$tmp/$name.out"
done

cd "$tmp"
awk '
	FNR == 1 { file[++nf] = FILENAME }
	!/^[a-z_0-9]+ [0-9]+$/ { next }
	!($1 in seen) { name[++n] = $1; seen[$1] = 1 }
	{ value[$1, nf] = $2 }
	END {
		printf "%-28s", "instructions per"
		for (f = 1; f <= nf; f++) {
			sub(/\.out$/, "", file[f])
			printf " %16s", file[f]
		}
		print ""
		for (i = 1; i <= n; i++) {
			printf "%-28s", name[i]
			for (f = 1; f <= nf; f++)
				printf " %16s", (name[i], f) in value ? value[name[i], f] : "-"
			print ""
		}
	}' "${@/%/.out}"
