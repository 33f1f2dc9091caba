#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# "make expect": writes the tests and skips of the latest whole "make test" of that
# kernel to expected/$CONFIG. Check the result by "git diff".
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/results.sh
. "$here/results.sh"

kernel=${KERNEL:-$CONFIG}
ran=$build/logs/results-$kernel
[ -e "$ran" ] || die "no complete run of the tests on $kernel: make test"
bad=$(awk -F '\t' '$1 == "not ok" && $2 != "expected" { print $2, $3 }' "$ran")
[ -z "$bad" ] || die "the latest run has failures, so it is not taken: $(echo "$bad" | paste -sd,)"
mkdir -p "$here/expected"
{
	cat <<'END'
# SPDX-License-Identifier: GPL-2.0
# The tests that "make test" runs on this kernel, and the skips that are allowed. "make
# expect" rewrites this file. See expected_lines() in results.sh.
#
# RUN NAME CASES PARAMETERS
# skip RUN CASE COUNT REASON
END
	expectation "$ran"
} >"$here/expected/$kernel.new"
mv "$here/expected/$kernel.new" "$here/expected/$kernel"
say "expected/$kernel: $(grep -vc '^#' "$here/expected/$kernel") lines"
