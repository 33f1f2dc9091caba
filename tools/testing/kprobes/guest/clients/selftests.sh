# SPDX-License-Identifier: GPL-2.0
# client: the kernel's own tests of what shares functions with probes
# shellcheck shell=dash

# livepatch NAME PATCHES [EVENT]: probes are on the functions that the test patches, and on
# those that do the patching, while ftrace is on. One that is certainly called is hit.
livepatch()
{
	rm -rf /tmp/livepatch
	cp -r "$SOURCE/tools/testing/selftests/livepatch" /tmp/livepatch
	cp /modules/test_klp*.ko /tmp/livepatch/test_modules
	cd /tmp/livepatch || fail "no tests in $SOURCE"
	[ "$1" != syscall ] || run gcc -o test_klp-call_getpid test_klp-call_getpid.c
	event 'p:k/entry cmdline_proc_show'
	event 'p:k/inner cmdline_proc_show+9'
	event 'r:k/return cmdline_proc_show'
	event 'p:k/getpid __x64_sys_getpid'
	event 'p:k/patches klp_enable_patch'
	event_on k
	run "./test-$1.sh"
	has "the tests" '^TEST: .* ok$'
	hasnt "the tests" 'not ok|SKIP'
	event_off k
	at_least "patches" "$(hits patches | cut -d' ' -f1)" "$2"
	[ -z "${3:-}" ] || at_least "hits of $3" "$(hits "$3" | cut -d' ' -f1)" 1
	echo >$tracing/kprobe_events || fail "cannot remove the events"
}

try_livepatch() { livepatch livepatch 2 entry; }
try_livepatch_callbacks() { livepatch callbacks 2; }
try_livepatch_shadow_vars() { livepatch shadow-vars 0; }
try_livepatch_state() { livepatch state 2; }
try_livepatch_ftrace() { livepatch ftrace 1; }
try_livepatch_sysfs() { livepatch sysfs 1; }
try_livepatch_syscall() { livepatch syscall 1 getpid; }
