#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measures the share of all instructions that can be probed with a jump: probes random
# instruction boundaries of vmlinux in a guest, under a workload, and counts the jumps.
# NR=50000 makes it a test with a crowd of probes.
#
#   NR=n           instructions for each seed (default 6000)
#   SEEDS="..."    seeds (default "1 2 3"); a seed always gives the same instructions
#   KERNEL=name    stock-$CONFIG or patched-$CONFIG, for comparison
#   LIST=1         list the points that are not jumps
#   WORK_SECONDS=  how long the workload runs for each seed (default 10)
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

the_kernel
nr=${NR:-6000}
seeds=${SEEDS:-1 2 3}

# Starts of reachable instructions, in random order. None is in the bytes that a jump on
# another one might replace. There are half as many again as wanted, because some cannot be
# probed. The random numbers are those of Park and Miller, so that they are the same in every
# awk.
sites()
{
	awk -v want=$((nr + nr / 2)) -v seed="$1" '
		{ at[n++] = $1 }
		END {
			for (x = seed; k < want && tries < 20 * want; tries++) {
				x = 16807 * x % 2147483647
				i = int(x / 2147483647 * n)
				# Ten instructions have at least ten bytes.
				free = 1
				for (j = i - 10; j <= i + 10; j++)
					if (j in taken) free = 0
				if (!free) continue
				taken[i] = 1
				print at[i]
				k++
			}
		}' "$tmp/all"
}

need objdump:binutils
scratch
mkdir -p "$tmp/files"
objdump -d --no-show-raw-insn -j .text "$kernel/vmlinux" | awk '
	/^[0-9a-f]+ </ { padding = /<__pfx_/ }
	padding || $2 == "int3" { next }
	/^ *[0-9a-f]+:\t/ { sub(/:.*/, "", $1); print $1 }' >"$tmp/all"
for seed in $seeds; do
	sites "$seed" >"$tmp/files/sites.$seed"
done

say "probing $nr of $(wc -l <"$tmp/all") instructions of $name, seeds $seeds (build/logs/coverage-$name.*)"
status=0
# Addresses as in vmlinux: no KASLR.
"$here/guest.sh" -t 1800 -l "coverage-$name" -a nokaslr -f "$tmp/files" "$kernel" coverage \
	NR="$nr" SEEDS="$seeds" LIST="${LIST:-}" WORK_SECONDS="${WORK_SECONDS:-10}" \
	>"$tmp/out" || status=$?
grep -E '^(failed|point) ' "$tmp/out" || true

case $name in
stock-* | patched-*) ours='' ;;
*) ours=1 ;;
esac
awk -v seeds="$(wc -w <<<"$seeds")" -v nr="$nr" -v ours="$ours" '
	function few(what, is, least)
	{
		if (is >= least) return
		printf "too few %s: %d, want at least %d\n", what, is, least
		bad = 1
	}
	$1 == "seed" { s = ++n; seed[n] = $2 }
	$1 == "reason" {
		count = $2
		$1 = $2 = ""
		sub(/^ +/, "")
		sub(/: [^ ]+\+0x[^ ]*$/, "")	# what branches there
		if (!($0 in known)) { words[++nw] = $0; known[$0] = 1 }
		why[$0, s] += count
		all[$0] += count
		next
	}
	NF == 2 { value[$1, s] = $2; all[$1] += $2 }
	function row(what, key,    i)
	{
		printf "%-42s", what
		for (i = 1; i <= n; i++) printf " %9d", value[key, i]
		printf " %9d\n", all[key]
	}
	function points(i)
	{
		if (i) return value["accepted", i] - value["ftrace", i]
		return all["accepted"] - all["ftrace"]
	}
	END {
		if (n < seeds) exit 1
		printf "%-42s", "seed"
		for (i = 1; i <= n; i++) printf " %9s", seed[i]
		printf " %9s\n", "all"
		row("probes set", "accepted")
		row("refused on the way", "refused")
		row("ftrace sites among those set", "ftrace")
		row("jumps", "jumps")
		printf "%-42s", "share of what is no ftrace site, in %"
		for (i = 1; i <= n; i++) printf " %9.2f", 100 * value["jumps", i] / points(i)
		printf " %9.2f\n", 100 * all["jumps"] / points(0)
		row("jumps that were hit", "hit_jumps")
		row("calls of a function of our own", "calls")
		row("hits of its probe", "counted")
		row("set in one call, us", "register_us")
		row("gone in one call, us", "unregister_us")
		for (i = 1; i <= nw; i++)	# by number, descending
			for (j = i + 1; j <= nw; j++)
				if (all[words[j]] > all[words[i]]) {
					t = words[i]; words[i] = words[j]; words[j] = t
				}
		if (nw) print "no jump because"
		for (i = 1; i <= nw; i++) {
			printf "  %-40s", words[i]
			for (j = 1; j <= n; j++) printf " %9d", why[words[i], j]
			printf " %9d\n", all[words[i]]
		}
		# What stock does is only a figure.
		for (i = 1; ours && i <= n; i++) {
			few("probes set with seed " seed[i], value["accepted", i], nr)
			few("jumps with seed " seed[i], value["jumps", i], points(i) * 0.85)
			if (nr >= 1000) few("jumps hit with seed " seed[i], value["hit_jumps", i], 1)
		}
		exit bad
	}' "$tmp/out" || status=1
[ "$status" -eq 0 ] || die "coverage: failed: see build/logs/coverage-$name.*"
