#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs the ftrace project's own kprobe tests on our kernel, or with the argument "stock"
# on the unchanged base. TEST=glob runs only tests with a matching name.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

name=$CONFIG tree=$src
if [ "${1:-}" = stock ]; then
	name=stock-$CONFIG tree=$stock_src
fi
"$here/guest.sh" -r -t 1800 -l "ftracetest-$name" "$build/$name" ftracetest \
	TREE="$tree" TEST="${TEST:-}" |
	sed 's/\x1b\[[0-9;]*m//g'
