# SPDX-License-Identifier: GPL-2.0
# proves: the jprobe sample sees each call with its arguments, is listed as type j, and what it probes still works
. "${0%/*}/../lib.sh"

[ -e $modules/jprobe_example.ko ] || skip "no jprobes in this kernel"
load jprobe_example limit=3
matches "its line in the list" "$(grep '  j  ' $kp/list)" \
	'[0-9a-f]{8,16}  j  kernel_clone\+0x[04]    (\[OPTIMIZED\])?(\[FTRACE\])?'
# Each command is a process of its own.
i=0
while [ $i -lt 50 ]; do
	(exec true) || fail "a process does not run"
	i=$((i + 1))
done
unload jprobe_example
# SIGCHLD is 17.
matches "lines that it printed" "$(messages jprobe_example | grep kernel_clone | grep flags=)" \
	'jprobe_example: kernel_clone in [^ ]*/[0-9]+: flags=0x[0-9a-f]+ exit_signal=(0|17) stack=0x[0-9a-f]+'
is "number of them" "$(messages jprobe_example | grep -c flags=)" 3
removed=$(messages jprobe_example | tail -n 1)
matches "its last line" "$removed" 'jprobe_example: jprobe removed: [0-9]+ calls, 0 missed'
at_least "calls" "$(echo "$removed" | awk '{ print $4 }')" 50
is "the list afterwards" "$(cat $kp/list)" ""
done_testing
