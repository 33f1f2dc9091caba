#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# "make runs": the latest run here of each target that has come to its counts, by what was asked
# for, in the order of the first runs: when, on which commit (with a + if files had been changed),
# how long its script took without the kernel that make builds first, and the counts. Of a run
# that resumed, the time is that of its last part. build/runs has all runs, a line each.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

[ -s "$runs" ] || die "nothing has run here yet: make test, for instance"
awk -F '\t' '
	!($4 in line) { asked[++n] = $4 }
	{ sub(/^kprobes: /, "", $5); line[$4] = sprintf("%-16s  %-9s  %6d s  %s: %s", $1, $2, $3, $4, $5) }
	END { for (i = 1; i <= n; i++) print line[asked[i]] }' "$runs"
