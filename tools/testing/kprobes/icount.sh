#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What a hit costs in guest instructions: ours beside stock. A guest with one
# CPU under "-icount shift=0" executes one instruction a nanosecond, so the
# figures are exact and repeatable, whatever else this machine does.
#
#   icount.sh [KERNEL...]    names under build/ (default: $CONFIG stock-$CONFIG)
#
# MANY=n is the number of probes in the crowded case, 0 leaves it out.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

many=${MANY:-10000}
[ $# -gt 0 ] || set -- "$CONFIG" "stock-$CONFIG"

# Starts of instructions that can be reached, spread evenly over the kernel's text, half as many again
# as wanted, as not each can be probed.
sites()
{
	objdump -d --no-show-raw-insn -j .text "$1/vmlinux" |
		awk -v want=$((many + many / 2 + 100)) '
			/^[0-9a-f]+ </ { padding = /<__pfx_/ }
			padding || $2 == "int3" { next }
			/^ *[0-9a-f]+:\t/ { sub(/:.*/, "", $1); at[n++] = $1 }
			END {
				step = n > want ? n / want : 1
				for (i = 0; i < n; i += step) print at[int(i)]
			}'
}

need objdump:binutils
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for name; do
	kernel=$build/$name
	[ -e "$kernel/vmlinux" ] || die "no kernel in build/$name: make kernel or make stock builds it"
	# The same kernel gives the same figures, and the crowded case takes
	# stock a quarter of an hour: measure once.
	known=$kernel/.icount-$(cat "$kernel/arch/x86/boot/bzImage" \
		"$kernel/kprobes-modules/kprobe_cost.ko" <(echo "$many") | sha1sum | cut -c1-16)
	if [ -s "$known" ]; then
		cp "$known" "$tmp/$name.out"
		continue
	fi
	mkdir -p "$tmp/$name"
	[ "$many" = 0 ] || sites "$kernel" >"$tmp/$name/sites"
	say "measuring $name (build/logs/icount-$name.*)" >&2
	# Addresses as in vmlinux: no KASLR.
	"$here/guest.sh" -i -t 3000 -l "icount-$name" -a nokaslr -f "$tmp/$name" \
		"$kernel" icount MANY="$many" >"$tmp/$name.out" || {
		cat "$tmp/$name.out"
		die "icount: $name could not be measured: see build/logs/icount-$name.console"
	}
	cp "$tmp/$name.out" "$known"
done

cd "$tmp"
awk '
	FNR == 1 { file[++nf] = FILENAME }
	!/^[a-z_0-9]+ [0-9]+$/ { next }
	!($1 in seen) { name[++n] = $1; seen[$1] = 1 }
	{ value[$1, nf] = $2 }
	END {
		printf "%-24s", "instructions per"
		for (f = 1; f <= nf; f++) {
			sub(/\.out$/, "", file[f])
			printf " %16s", file[f]
		}
		print ""
		for (i = 1; i <= n; i++) {
			printf "%-24s", name[i]
			for (f = 1; f <= nf; f++)
				printf " %16s", (name[i], f) in value ? value[name[i], f] : "-"
			print ""
		}
	}' "${@/%/.out}"
