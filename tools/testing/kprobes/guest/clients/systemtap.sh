# SPDX-License-Identifier: GPL-2.0
# client: SystemTap, which compiles a module for each script
# shellcheck shell=dash disable=SC2016

# probe POINT TIMES: hits while work runs
probe()
{
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
