#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs instructions in a guest without a probe, by breakpoint (emulated, copied, stepped)
# and by jump (displaced alone, as the first, the second and the third), and compares
# registers, flags, memory, faults and their addresses. The encodings are from execute.py,
# with the lengths that objdump finds; modules/kprobe_execute.h says what is done with each.
#
#   NR=n         how many encodings (default 150000, of which more than 100000 run)
#   SEED=n       which (default 1)
#   KERNEL=name  stock-$CONFIG, for comparison
#
# The whole output, with each instruction that differs or whose length objdump does not
# agree with, is in build/logs/execute-KERNEL.txt.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

the_kernel
has_module kprobe_execute
nr=${NR:-150000}
seed=${SEED:-1}
out=$build/logs/execute-$name.txt
# With fewer, some states would not occur.
how_many NR "$nr" 1000
how_many SEED "$seed" 0
only_one "execute-$name"
need_qemu
need objdump:binutils python3:python3
scratch
mkdir -p "$tmp/files" "$build/logs"

bits=64
! is_32bit "$kernel" || bits=32
# Encodings that are not instructions, may not be probed or must not run are left out.
run=$((nr * 2 / 3))
say "$nr encodings of $bits bits, SEED=$seed"
python3 "$here/execute.py" $bits "$nr" "$seed" "$tmp/files/execute"
: >"$out"
status=0 verdict=''
# With one CPU there is no waiting for others.
"$here/guest.sh" -t $((300 + nr / 50)) -c 1 -l "execute-$name" -f "$tmp/files" "$kernel" execute \
	EXECUTE_RUN=$run >"$out" 2>&1 &
guest=$!
tail -q -n +1 --pid=$guest -s 0.5 -f "$out" | sed -un 's/^# progress: /kprobes: /p'
wait $guest || status=$?
grep -vE '^(differs|length|# progress:|end$)' "$out" | sed 's/^# *//; s/^/    # /'
grep '^differs' "$out" | head -n 20 | sed 's/^/    # /' || true
if [ $status -eq 0 ] && grep -qx end "$out"; then
	echo "ok - execute: instructions do under a probe what they do without"
else
	status=1 verdict=FAILED,
	echo "not ok - execute: instructions do under a probe what they do without: see $out"
fi
counted "${verdict:+$verdict }$(awk '$1 == "run" { run = $2 } $1 == "differences" { n = $2 } END { printf "%d encodings run, %d differences", run, n }' "$out")"
exit $status
