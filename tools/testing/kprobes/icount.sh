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

measure()
{
	local name=$1 kernel=$build/$1 known

	[ -e "$kernel/vmlinux" ] || die "no kernel in build/$name: make kernel or make stock builds it"
	# The same kernel gives the same figures, and the crowds take a quarter of an
	# hour on stock: measure a kernel once.
	known=$kernel/.icount-$(cat "$kernel/arch/x86/boot/bzImage" "$here/guest/jobs/icount.sh" \
		"$kernel/kprobes-modules/kprobe_cost.ko" "$kernel/kprobes-modules/kprobe_crowd.ko" \
		"$here/sites.sh" <(echo "$many, $cold, ${COUNT:-}") | sha1sum | cut -c1-16)
	if [ ! -s "$known" ]; then
		sites=$("$here/sites.sh" "$name")
		say "measuring $name (build/logs/icount-$name.*)" >&2
		# Addresses as in vmlinux: no KASLR.
		"$here/guest.sh" -i -t 3000 -m 2048 -l "icount-$name" -a nokaslr -f "$sites" \
			-s 'blocked for more than' "$kernel" icount \
			MANY="$many" COLD="$cold" COUNT="${COUNT:-}" >"$tmp/$name.new" || {
			cat "$tmp/$name.new"
			die "icount: $name could not be measured: see build/logs/icount-$name.console"
		}
		cp "$tmp/$name.new" "$known"
	fi
	cp "$known" "$tmp/$name.out"
}

for name; do
	measure "$name" &
	[ "${JOBS:-2}" -gt 1 ] || wait
done
wait
for name; do
	[ -s "$tmp/$name.out" ] || exit 1
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
