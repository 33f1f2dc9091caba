#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Checks that the barriers are there in what the compiler has made of our files: ordering.list
# has how many there must be. No test can show that one is missing on a machine that does not
# reorder these accesses.
#
#   ordering.sh ARCH KERNEL [PREFIX]   the list's name for it; the kernel's folder; that of
#                                      the names of its binutils
#
# Ends with "ok" or "not ok".
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

arch=$1 kernel=$2 prefix=${3:-} checked=0 status=0
compiler=$(sed -n 's/^CONFIG_GCC_VERSION=\(.*\)..../\1/p' "$kernel/.config")
[ "$compiler" = 12 ] || { echo "ok - ordering: not checked: gcc $compiler is not the 12 that was counted"; exit; }
while read -r on file least insn; do
	[ "$on" = "$arch" ] || continue
	nr=$({ "${prefix}objdump" -d --no-show-raw-insn "$kernel/kernel/kprobes/$file.o" || true; } |
		sed 's/[[:space:]]*$//' | grep -cE "\\s$insn" || true)
	checked=$((checked + 1))
	[ "$nr" -ge "$least" ] ||
		{ echo "not ok - ordering: $file.o for $arch has $nr of $least: $insn"; status=1; }
done < <(sed '/^#/d' "$here/ordering.list")
[ $checked -gt 0 ] || { echo "not ok - ordering: nothing is listed for $arch"; exit 1; }
[ $status -ne 0 ] || echo "ok - ordering: barriers for $arch are there, $checked kinds"
exit $status
