#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# "make run": probe SYMBOL+OFFSET in a guest and show what kprobes offer.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

exec "$here/guest.sh" -t 120 "$build/${KERNEL:-$CONFIG}" run \
	SYMBOL="${SYMBOL:-kernel_clone}" OFFSET="${OFFSET:-0}"
