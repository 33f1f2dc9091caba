#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# "make run": probe SYMBOL+OFFSET in a guest and show what kprobes offer.
#
#   run.sh --check    only check that OFFSET= is a number
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

[[ ${OFFSET:-0} =~ ^(0x[0-9a-fA-F]+|0|[1-9][0-9]*)$ ]] || die "OFFSET=$OFFSET is not a number"
[ "${1:-}" != --check ] || exit 0
[ -z "${OFFSET:-}" ] || OFFSET=$((OFFSET))
the_kernel
# The only clock of the small kernel is the TSC, which is compared with the guest's timer at
# boot. On a loaded machine the kernel then gives it up, and all times are 0 ns.
exec "$here/guest.sh" -t 120 -a tsc=reliable "$kernel" run \
	SYMBOL="${SYMBOL:-kernel_clone}" OFFSET="${OFFSET:-}"
