# SPDX-License-Identifier: GPL-2.0
# Sourced by clients/*.sh, after lib.sh: runs programs while others are called.
# shellcheck shell=dash disable=SC2034

# A program for tools that start one themselves: calls the target, and reads files.
cat >/tmp/work <<'END'
#!/bin/sh
echo add 50 >/sys/kernel/debug/kprobe_target/call
cat /proc/cmdline >/dev/null
exit 0
END
chmod +x /tmp/work
work() { /tmp/work; }

# Lines of tools may begin with a #, too, so use another mark.
fail() { echo "#! $*"; failed=1; : >/tmp/failed; }

# run COMMAND...: it must succeed. What it prints is in $out.
run()
{
	out=$("$@" 2>&1) || fail "$*: exit status $?"
	printf '%s\n' "$out"
}

# has WHAT REGEX: a line of $out looks like this
has() { printf '%s\n' "$out" | grep -Eq -- "$2" || fail "$1: no line has '$2'"; }
# hasnt WHAT REGEX: no line does
hasnt() { ! printf '%s\n' "$out" | grep -Eq -- "$2" || fail "$1: a line has '$2'"; }
# number REGEX: the number in the first line of $out that has it, which is the group
number() { printf '%s\n' "$out" | sed -En "s/^.*$1.*\$/\1/p" | tr -d , | head -n 1; }
# count REGEX: lines of $out that have it
count() { printf '%s\n' "$out" | grep -Ec -- "$1"; }

# figure NAME VALUE: a number of this feature, for the table
figure() { echo "#= $1: $2"; }
# now: in milliseconds
now() { echo $(($(date +%s%N) / 1000000)); }
# took FROM TO: seconds between two of these
took() { awk -v from="$1" -v to="$2" 'BEGIN { printf "%.2f s\n", (to - from) / 1000 }'; }

# expect REGEX: a warning of the kernel that matches is not a failure
expect() { echo "$1" >/tmp/expected; }

# functions NUMBER: the names of this many functions of the kernel, each with a unique name
# and not among the busiest
functions()
{
	{
		awk '$2 ~ /[tT]/ { n[$3]++ } END { for (f in n) if (n[f] == 1) print f }' /proc/kallsyms
		cut -d' ' -f1 $tracing/available_filter_functions | sort -u
	} | sort | uniq -d |
		grep -E '^(vfs|tty|n_tty|security|proc|blk|bio|v9fs|p9|ovl|kernfs|seq|simple|shmem|dentry|inode|unix|sock|pipe|cgroup|__x64_sys)_[a-z0-9_]*$' |
		grep -vxFf /tmp/hidden | head -n "$1"
}
sed 's/.*\t//' /sys/kernel/debug/kprobes/blacklist >/tmp/hidden

# begin COMMAND...: runs it in the background. A shell makes it ignore SIGINT there, by which
# most tools are ended.
begin()
{
	: >/tmp/began
	env --default-signal=INT "$@" >/tmp/began 2>&1 </dev/null &
	began_pid=$!
}
# ready REGEX: wait until it has said this
ready()
{
	tries=0
	until grep -Eq -- "$1" /tmp/began; do
		tries=$((tries + 1))
		if [ $tries -gt 2500 ] || ! kill -0 $began_pid 2>/dev/null; then
			cat /tmp/began
			fail "it never said '$1'"
			return 1
		fi
		sleep 0.2
	done
	# Some print their heading before they can see anything.
	sleep 1
}
# prints REGEX: wait until it has printed this, because a slow tool may lag behind
prints()
{
	tries=0
	until grep -Eq -- "$1" /tmp/began; do
		tries=$((tries + 1))
		if [ $tries -gt 300 ] || ! kill -0 $began_pid 2>/dev/null; then
			fail "it never printed '$1'"
			return
		fi
		sleep 0.2
	done
}
# attached SYMBOL: wait until that has a probe, for a tool that does not say when
attached()
{
	tries=0
	until grep -Eq "  $1\+0x[0-9a-f]+( |\$)" $kp/list; do
		tries=$((tries + 1))
		if [ $tries -gt 2500 ] || ! kill -0 $began_pid 2>/dev/null; then
			fail "it never set a probe on $1"
			return 1
		fi
		sleep 0.2
	done
}
# end [SIGNAL]: $out is what it has printed.
end()
{
	kill "-${1:-INT}" $began_pid 2>/dev/null
	wait $began_pid
	out=$(cat /tmp/began)
	printf '%s\n' "$out"
}
# finish: it ends by itself
finish()
{
	wait $began_pid || fail "it ended with status $?"
	out=$(cat /tmp/began)
	printf '%s\n' "$out"
}

# Most machines have no vmlinux with debug information, and reading it takes long.
no_debuginfo() { rm "/lib/modules/$(uname -r)/build"; }

# Events on the function that "work" calls 50 times, and how often they were hit. Whatever
# else is done to the function, they miss no call, and its callers see no difference.
events()
{
	event 'p:c/entry kprobe_target_add a=%di:s32'
	event 'p:c/inner kprobe_target_add+9'
	event 'r:c/return kprobe_target_add ret=$retval:s32'
}
events_on() { event_on c; }
events_gone() { event_off c; echo >$tracing/kprobe_events || fail "cannot remove the events"; }
# hits EVENT: by the profile, which counts hits and misses
hits() { awk -v name="$1" '$1 == name { print $2 " " $3 }' $tracing/kprobe_profile; }
# all_hit WHAT TIMES
all_hit()
{
	for name in entry inner return; do
		is "$1: hits and misses of $name" "$(hits $name)" "$2 0"
	done
}
# result WHAT TIMES: of the latest call, and calls so far
result()
{
	is "$1: calls" "$(sed -n 's/^add //p' $target/calls)" "$2"
	is "$1: last result" "$(sed -n 's/^last //p' $target/calls)" 1049
}

# orders A B USE: adds and removes two users of a function in each order. A client has the
# functions A_come, A_go and A_saw WHAT for each, and the last checks what A saw of the calls
# that USE WHAT has made.
orders()
{
	for order in "$1 $2 $1 $2" "$1 $2 $2 $1" "$2 $1 $1 $2" "$2 $1 $2 $1"; do
		there=' '
		for step in $order; do
			case $there in
			*" $step "*)
				"${step}_go"
				there="${there%" $step "*} ${there#*" $step "}"
				;;
			*)
				"${step}_come"
				there="$there$step "
				;;
			esac
			"$3" "of $order with$there"
			for one in $there; do
				"${one}_saw" "$one of $order with$there"
			done
		done
	done
}

# jump SYMBOL+OFFSET: wait until that probe is a jump
jump()
{
	tries=0
	until grep -q " $1 .*OPTIMIZED" /sys/kernel/debug/kprobes/list; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || { fail "$1 does not become a jump"; return; }
		sleep 0.2
	done
}
# how SYMBOL WAY: check that its probe is hit in this way: FTRACE, OPTIMIZED or BREAKPOINT
how()
{
	point=$(grep -E "  $1\+0x[0-9a-f]+ " $kp/list | head -n 1)
	case $2:$point in
	BREAKPOINT:) fail "$1 has no probe" ;;
	BREAKPOINT:*FTRACE* | BREAKPOINT:*OPTIMIZED*) fail "$1 has no breakpoint: $point" ;;
	BREAKPOINT:* | *"[$2]"*) ;;
	*) fail "$1 is not hit by $2: $point" ;;
	esac
}
no_jumps() { [ ! -e $optimization ] || echo 0 >$optimization; }
