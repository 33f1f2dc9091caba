# SPDX-License-Identifier: GPL-2.0
# Sourced by the tests in the guest. A test always runs to its end. It fails if one of its
# checks fails, and prints why.
#
# tools/testing/selftests/kprobes runs them elsewhere. It says where the modules are, and
# gives a directory for files.
#
# make soak runs several tests at once, again and again, and gives a directory for locks. So a
# test may find probes that are not its own, and shares some things with other tests.
# shellcheck shell=dash disable=SC2034

modules=${KPROBES_MODULES:-/modules}
tmp=${KPROBES_TMP:-/tmp}
kp=/sys/kernel/debug/kprobes
tracing=/sys/kernel/tracing
target=/sys/kernel/debug/kprobe_target
optimization=/proc/sys/debug/kprobes-optimization
failed=''
locks=${KPROBES_LOCKS:-}
# Where a function finds its first arguments.
case $(uname -m) in
x86_64) arg1=%di arg2=%si ;;
*) arg1=%ax arg2=%dx ;;
esac

# The file records failures in a subshell.
fail() { echo "# $*"; failed=1; : >"$tmp/failed"; }
# A test that has failed is not skipped.
skip() { echo "# skip: $*"; [ -z "$failed" ] && [ ! -e "$tmp/failed" ] || exit 1; exit 4; }
# is WHAT GOT WANTED
is() { [ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"; }
# at_least WHAT GOT MINIMUM
at_least() { [ "$2" -ge "$3" ] 2>/dev/null || fail "$1: got '$2', wanted at least $3"; }
# matches WHAT TEXT REGEX: every line of the text matches, and there is at least one
matches()
{
	[ -n "$2" ] || { fail "$1: nothing there"; return; }
	bad=$(printf '%s\n' "$2" | grep -Evx "$3" | head -n 2)
	[ -z "$bad" ] || fail "$1: '$bad' does not look like $3"
}
# refuses ERROR COMMAND...: the command has to fail with that message
refuses()
{
	error=$1
	shift
	if out=$(eval "$*" 2>&1); then
		fail "$*: was accepted, wanted '$error'"
	else
		case $out in
		*"$error"*) ;;
		*) fail "$*: failed with '$out', wanted '$error'" ;;
		esac
	fi
}
# Does this test run alone?
alone() { [ -z "$locks" ]; }
# For so many seconds tests wait for what takes a moment. See SLOW in jobs/tests.sh.
patience=$((10 * ${SLOW:-1}))
# await COMMAND...: run it until it succeeds; false if it does not within $patience
await()
{
	local tries=$((10 * patience))

	until "$@"; do
		[ $((tries -= 1)) -gt 0 ] || return 1
		usleep 100000
	done
}
# own WHAT, give_back WHAT: things that only one test at a time may use: "target" is
# kprobe_target.ko, the modules with probes on it, and all events; "tracer" is the tracer.
own()
{
	local late=0

	alone || until mkdir "$locks/$1" 2>/dev/null; do
		usleep 100000
		# A test that was killed has kept it, and others must not wait forever.
		[ ! -e /tmp/stop ] || [ $((late += 1)) -le 1200 ] ||
			{ fail "$1 was not given back"; exit 1; }
	done
}
give_back() { alone || rmdir "$locks/$1"; }
# Check this after a test.
no_probes() { ! alone || is "the list" "$(cat $kp/list 2>&1)" ""; }
done_testing() { [ -z "$failed" ] && [ ! -e "$tmp/failed" ]; exit; }

# Run a function of the target module: call NAME TIMES
call() { echo "$1 $2" >$target/call; }
# shellcheck disable=SC2086
load() { insmod "$modules/$1.ko" $2 $3 $4 || fail "$1 does not load"; }
unload() { rmmod "$1" || fail "$1 does not unload"; }
loaded() { [ -d "/sys/module/$1" ]; }
messages() { dmesg | sed 's/^\[[^]]*\] //' | grep "^$1: "; }

# The events of a test are made, switched on and off, and removed by these
event() { echo "$1" >>$tracing/kprobe_events || fail "no event '$1'"; }
event_on() { echo 1 >"$tracing/events/$1/enable" || fail "cannot enable $1"; }
event_off() { echo 0 >"$tracing/events/$1/enable" || fail "cannot disable $1"; }
# traced NAME: how many hits of an event are in the trace
traced() { grep -c " $1: " $tracing/trace; }
# find_target: sets $entry to where kprobe_target_add() begins, $site to where a probe on it
# goes, and, on x86, $after to the offset of the instruction after its ftrace site
find_target()
{
	event 'p:kt/site kprobe_target:kprobe_target_add'
	event_on kt/site
	site=$(awk '$3 ~ /^kprobe_target_add\+/ { print $1 }' $kp/list)
	entry=$(awk '$3 == "kprobe_target_add" { print $1 }' /proc/kallsyms)
	event_off kt/site
	event '-:kt/site'
	after=$((0x$site - 0x$entry + 5))
}
# as_user COMMAND: its output for a user that is not root. busybox finds users only in a
# file, which the guest has for this alone.
as_user()
{
	# "Permission denied" must not be about the shell.
	if [ "$(run_as_user 'echo works')" = works ]; then
		run_as_user "$1"
	else
		echo "no shell for a user"
	fi
}
run_as_user()
{
	if [ -n "${KPROBES_TMP:-}" ]; then
		setpriv --reuid 65534 --regid 65534 --clear-groups sh -c "$1" 2>&1
	else
		echo 'user:x:1000:1000::/:/bin/sh' >/etc/passwd
		su user -c "$1" 2>&1
	fi
}
command -v usleep >/dev/null || usleep() { sleep "$(awk -v us="$1" 'BEGIN { print us / 1e6 }')"; }
mode() { stat -c %a "$1"; }

# limited SECONDS COMMAND...: run a test, in a session of its own. If it does not end in time,
# only its first process is ended: see end_session().
limited()
{
	setsid sh -c 'echo $$ >"$0"; exec timeout "$@"' "$tmp/session" "$@"
}

# end_session: end all that the test has started and left
end_session()
{
	[ ! -e "$tmp/session" ] || kill -9 "-$(cat "$tmp/session")" 2>/dev/null
	rm -f "$tmp/session" "$tmp/stop"
}

# left_modules: those of ours that are still loaded
left_modules()
{
	cut -d' ' -f1 /proc/modules | while read -r module; do
		[ ! -e "$modules/$module.ko" ] || echo "$module"
	done
}

# A test starts and ends without probes; the runner calls this.
clean()
{
	end_session
	echo 1 >$kp/enabled
	[ ! -e $optimization ] || echo 1 >$optimization
	echo 0 >$tracing/events/enable
	echo >$tracing/kprobe_events
	echo >$tracing/trace
	echo 0 >/proc/sys/kernel/kptr_restrict
	# The latest module comes first. Processes that were killed may keep one busy for a moment.
	for module in $(left_modules); do
		await rmmod "$module"
	done
}
