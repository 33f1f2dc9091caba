# SPDX-License-Identifier: GPL-2.0
# client: SystemTap, which compiles a module for each script
# shellcheck shell=dash disable=SC2016

# compiles: does its runtime compile? Tried once in a guest, as a failure takes minutes.
compiles()
{
	if [ ! -e /tmp/stap.status ]; then
		stap -r "$KERNEL" -p4 -e 'probe begin { exit() }' >/tmp/stap.log 2>&1
		echo $? >/tmp/stap.status
	fi
	[ "$(cat /tmp/stap.status)" = 0 ] && return
	tail -n 20 /tmp/stap.log
	fail "its runtime does not compile: $(grep -m 1 error: /tmp/stap.log)"
	return 1
}

# probe POINT TIMES: the number of hits while work runs
probe()
{
	compiles || return
	run stap -r "$KERNEL" -c /tmp/work -e "global n
		probe $1 { n++ }
		probe end { printf(\"hits %d\\n\", n) }"
	at_least "hits" "$(number '^hits ([0-9]+)$')" "$2"
}

# Without debug information, and with it
try_kprobe() { probe 'kprobe.function("vfs_read")' 2; }
try_kprobe_return() { probe 'kprobe.function("vfs_read").return' 2; }
try_kprobe_module() { probe 'kprobe.module("kprobe_target").function("kprobe_target_add")' 50; }
try_function() { probe 'kernel.function("vfs_read")' 2; }
try_function_return() { probe 'kernel.function("vfs_read").return' 2; }
try_statement_module() { probe 'module("kprobe_target").function("kprobe_target_add")' 50; }
