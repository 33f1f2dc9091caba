#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs the stress test for a long time, alongside a compile job on all CPUs, so that the
# guest's share of this machine varies all the time. Passes only if the test has passed,
# its kernel has not complained, and the job has compiled.
#
#   MINUTES=n      how long (default 30)
#   KERNEL=name    stock-$CONFIG, for comparison
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

minutes=${MINUTES:-30}
the_kernel
log=$build/logs/stress-$name
load=$build/stress-load-$name
need_build
how_many MINUTES "$minutes"
need_space 4000 "the compile job"
only_one "stress-$name"
mkdir -p "$build/logs"

# Compiles the tree of the kernel again and again. No ccache: it would only read.
compile()
{
	local tree=$src

	[[ $name != stock-* ]] || tree=$stock_src
	while :; do
		rm -rf "$load"
		mkdir -p "$load"
		make -C "$tree" O="$load" ARCH=x86_64 CC=gcc HOSTCC=gcc defconfig || exit
		make -C "$tree" O="$load" ARCH=x86_64 CC=gcc HOSTCC=gcc -j"$(nproc)" vmlinux || exit
	done
}

# A group of its own, to be ended as a whole.
set -m
compile >"$log.load" 2>&1 </dev/null &
load_pid=$!
set +m
trap 'kill -- -$load_pid 2>/dev/null || true; rm -rf "$load"' EXIT

say "stress test on $name for $minutes minutes beside a compile job (build/logs/stress-$name.*)"
status=0
"$here/guest.sh" -t $((minutes * 60 + 900)) -l "stress-$name" "$kernel" tests \
	TESTS=stress STRESS_SECONDS=$((minutes * 60)) | tee "$log.txt" &
progress $! "stress test beside a compile job" "$log.load" || status=$?
kill -0 $load_pid 2>/dev/null || die "stress: the compile job ended: see $log.load"
objects=$(grep -c '^  CC ' "$log.load") || true
echo "    # compiled meanwhile: $objects files"
[ "$status" -eq 0 ] || die "stress: the guest failed: see $log.console"
grep -q '^ok - stress: ' "$log.txt" || die "stress: the test failed: see $log.txt"
! grep -q '^not ok' "$log.txt" || die "stress: a check failed: see $log.txt"
[ "$objects" -ge $((minutes * 10)) ] || die "stress: hardly any load: only $objects files compiled"
counted "kprobes: stress: no splat, all counts exact, $objects files compiled meanwhile"
