# SPDX-License-Identifier: GPL-2.0
# client: the ftrace project's own tests, all that concern kprobes and fprobes
# shellcheck shell=dash
# Each feature is a file of test.d; clients.sh lists them.
try_any()
{
	cd "$SOURCE/tools/testing/selftests/ftrace" || { fail "no tests in $SOURCE"; return; }
	rm -rf /tmp/ftracetest
	# Otherwise ftracetest removes the logs.
	./ftracetest --fail-unsupported --fail-unresolved --logdir /tmp/ftracetest \
		"test.d/$1.tc" >/tmp/ftraceout 2>&1
	sed -i 's/\x1b\[[0-9;]*m//g' /tmp/ftraceout
	grep -Eq "^\[1\].*\[PASS\]" /tmp/ftraceout && return
	fail "$(sed -n 's/^\[1\].*\[\(.*\)\]$/\1/p' /tmp/ftraceout)"
	tail -n 15 /tmp/ftracetest/*-log.*
}
