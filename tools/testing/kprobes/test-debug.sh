#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs the whole "make test" on the few kernels that watch for errors:
#
#   debug   KASAN, UBSAN, lockdep, RCU debugging, sleeping in the wrong place, objects that
#           are used before or after their time; preempts fully
#   kcsan   data races, by the strict rules; preempts fully
#   rt      PREEMPT_RT, KFENCE, kmemleak after each suite and test; most of it once more while
#           all functions, and the times with interrupts or preemption off, are traced
#
#   test-debug.sh         all that these sources have not passed yet: of a kernel that has
#                         not passed as a whole, the guests that have not
#   test-debug.sh list    only show the kernels
#
#   MINUTES=n             none is started after this many (default 120)
#   KERNELS="rt kcsan"    only these
#   AGAIN=1               forget what earlier runs of these have done
#
# A line for each kernel; its whole output is in build/logs/test-debug-*.txt. The counts
# are of all tests, and a kernel that ran without a result counts as one that failed.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/debug-results.sh
. "$here/debug-results.sh"
# shellcheck source=tools/testing/kprobes/known.sh
. "$here/known.sh"

all='rt kcsan debug'
minutes=${MINUTES:-120}
how_many MINUTES "$minutes"
for kernel in ${KERNELS:=$all}; do
	case " $all " in *" $kernel "*) ;; *) die "no kernel $kernel: there are $all" ;; esac
done
if [ "${1:-}" = list ]; then
	sed -n '/^#   debug  /,/^#$/s/^#   //p' "$0"
	exit
fi
mkdir -p "$build/logs" "$build/test-debug"
known=$build/test-debug/results
touch "$known"
for kernel in ${AGAIN:+$KERNELS}; do
	forget "$known" "$kernel"
	rm -rf "$build/test-debug/$kernel-"*
done
# id KERNEL: a result counts for these sources only: what is built, what runs, and what
# has to run. A guest test builds the module that README shows, and the self-test compares what
# these files say; it is run by each "make test", so its results alone are no reason to run all
# of this again when, say, a mutant is added.
id()
{
	{
		CONFIG=$1 tested
		cat "$here/expected/$1" 2>/dev/null || true
		(cd "$top" && find README.md Makefile Documentation tools/testing/selftests -type f |
			LC_ALL=C sort | xargs -d '\n' cat)
	} | sha1sum | cut -c1-16
}

# try KERNEL FOLDER: its tests, with a line each minute; the output is in $log. What passes is
# kept in the folder, so that a run that is stopped, or has a failure, goes on from there.
try()
{
	# These would change what a test proves, and not what its result is kept for.
	unset STRESS_SECONDS TOGGLE_SECONDS RETURNS_SECONDS RETURNS_TASKS RETURNS_CALLS
	unset ABUSE_CALLS ABUSE_SEED FUZZ_DEFS FUZZ_SEED PERF_DEFS PERF_SEED QUICK
	local run=("${interruptible[@]}" CONFIG="$1" TEST= KPROBES_KEEP="$2")

	{
		"${run[@]}" "$here/tree.sh" && "${run[@]}" "$here/kernel.sh" && "${run[@]}" "$here/test.sh"
	} >"$log" 2>&1 </dev/null &
	watched $! "$1" "$log"
}

for kernel in $KERNELS; do
	log=$build/logs/test-debug-$kernel.txt
	this=$(id "$kernel")
	! debug_known "$known" "$kernel" "$this" || continue
	[ $SECONDS -lt $((minutes * 60)) ] || continue
	began=$SECONDS
	status=0
	kept=$build/test-debug/$kernel-$this
	for old in "$build/test-debug/$kernel-"*; do
		[ "$old" = "$kept" ] || rm -rf "$old"
	done
	try "$kernel" "$kept" || status=$?
	if [ "$(id "$kernel")" != "$this" ]; then
		say "$kernel: the sources have changed meanwhile: no result"
		continue
	fi
	debug_verdict "$kernel" "$this" $status $((SECONDS - began)) "$log" >>"$known"
	debug_show "$known" "$kernel" "$this"
done

echo
for kernel in $KERNELS; do
	printf '%s %s\n' "$kernel" "$(id "$kernel")"
done | debug_sum "$known"
