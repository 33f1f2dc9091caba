# SPDX-License-Identifier: GPL-2.0
# The guest's half of "make run": probes SYMBOL+OFFSET while something uses it,
# and shows each feature of kprobes. Without OFFSET: the first instruction
# after the entry, which shows more than an ftrace site does.

ctl=/sys/kernel/debug/kprobes
failed=

step() { printf '\n== %s\n' "$*"; }
fail() { echo "kprobes: run: $*"; failed=1; }
# The messages of a module, without time stamps.
lines() { { cat /tmp/dmesg; dmesg; } 2>/dev/null | sed 's/^\[[^]]*\] //' | grep "^$1: "; }

# Forks and reads files until stopped.
workload()
{
	while :; do
		/bin/busybox cat /proc/self/stat /init >/dev/null
		(: </proc/version)
	done
}

load()
{
	module=$1
	shift
	dmesg -c >>/tmp/dmesg
	insmod "/modules/$module.ko" "$@" 2>/tmp/err && return
	# busybox tries to load it in two ways, so the messages come twice.
	dmesg >/tmp/refused
	sed 's/^\[[^]]*\] //' /tmp/refused | grep "^$module: " | tail -n 1
	sed -n 's/^\[[^]]*\] kprobes: /because: /p' /tmp/refused | tail -n 1
	fail "$module did not load"
	return 1
}

# accepted OFFSET: is a probe allowed there?
accepted()
{
	insmod /modules/kprobe_example.ko symbol="$SYMBOL" offset="$1" limit=0 2>/dev/null &&
		rmmod kprobe_example
	set -- $?
	dmesg -c >/tmp/accepted
	return "$1"
}

# nearest FROM STEP: the nearest offset in that direction where a probe is allowed
nearest()
{
	at=$1
	for _ in $(seq 16); do
		at=$((at + $2))
		[ $at -ge 0 ] || return
		! accepted $at || { echo $at; return; }
	done
}

# within FUNCTION: is this a name of the function under test?
within()
{
	[ "$1" != "${SYMBOL#*:}" ] || return 0
	# An address may have several names.
	sed -n "s/ [tTwW] $1\$//p" /proc/kallsyms >/tmp/names
	[ -s /tmp/names ] && grep " ${SYMBOL#*:}\$" /proc/kallsyms | grep -qFf /tmp/names
}

stop()
{
	kill $workload
	exit 1
}

# Waits until the workload is seen, for ten seconds at most.
wait_for()
{
	for _ in $(seq 50); do
		[ "$(lines "$1" | grep -c "$2")" -lt "$3" ] || return 0
		usleep 200000
	done
}

control=/sys/kernel/debug/dynamic_debug/control
[ ! -e $control ] || echo 'func kprobe_refuse* +p' >$control
echo "Linux $(uname -r) on $(nproc) CPUs. Meanwhile a loop forks and reads files."
workload &
workload=$!

step "1. The function that we look into, and where it is in this kernel's memory"
if ! grep " [tTwW] ${SYMBOL#*:}\$" /proc/kallsyms; then
	echo "kprobes: run: no function $SYMBOL in this kernel: give another SYMBOL=, or a larger kernel by CONFIG=x86_64"
	stop
fi

if [ -z "$OFFSET" ]; then
	# The entry may be after an ENDBR, and is several bytes long.
	OFFSET=0
	! accepted 0 || OFFSET=$(sed -n 's/.* probe set on .*+0x\([0-9a-f]*\).*/\1/p' /tmp/accepted)
	OFFSET=$(nearest $((0x$OFFSET)) 1)
	OFFSET=${OFFSET:-0}
fi
step "2. A kprobe on $SYMBOL+$OFFSET: registers before and after that one instruction"
echo "insmod kprobe_example.ko symbol=$SYMBOL offset=$OFFSET limit=4"
if ! load kprobe_example symbol="$SYMBOL" offset="$OFFSET" limit=4; then
	if grep -q 'Invalid or incomplete' /tmp/err; then
		before=$(nearest "$OFFSET" -1)
		after=$(nearest "$OFFSET" 1)
		echo "kprobes: run: instructions around it: ${before:+OFFSET=$before }${after:+OFFSET=$after}"
	fi
	stop
fi
# An offset that is too large is not refused: it leads into the next functions.
at=$(lines kprobe_example | sed -n 's/.* probe set on \([^+]*\)+.*/\1/p')
if ! within "$at"; then
	echo "kprobes: run: $SYMBOL ends before $OFFSET: that is in $at: give a smaller OFFSET="
	stop
fi
wait_for kprobe_example 'before' 2
lines kprobe_example

step "3. A return probe on $SYMBOL: what each call returned and how long it took"
echo "insmod kretprobe_example.ko func=$SYMBOL limit=6"
load kretprobe_example func="$SYMBOL" limit=6 &&
	wait_for kretprobe_example 'returned' 2
lines kretprobe_example

step "4. Probes on several functions in one go, to count their calls"
echo "insmod kprobe_batch.ko symbols=vfs_read,do_sys_openat2,wake_up_new_task"
load kprobe_batch symbols=vfs_read,do_sys_openat2,wake_up_new_task
lines kprobe_batch

step "5. $ctl/list: the probes that are set now (k: kprobe, r: return probe)"
cat $ctl/list

step "6. $ctl/enabled: 1 if probes are armed; write 0 to disarm them all"
cat $ctl/enabled

step "7. $ctl/blacklist (head): code that may not be probed, as probes run through it"
head -n 5 $ctl/blacklist

if [ -e /proc/sys/debug/kprobes-optimization ]; then
	step "8. sysctl debug.kprobes-optimization: 1 if breakpoints may become jumps"
	cat /proc/sys/debug/kprobes-optimization
fi

sleep 1
step "9. All modules unloaded: how often each probe was hit"
for module in kprobe_batch kretprobe_example kprobe_example; do
	[ ! -d "/sys/module/$module" ] || rmmod $module || fail "$module does not unload"
done
lines kprobe_example | tail -n 1
lines kretprobe_example | tail -n 1
lines kprobe_batch | tail -n 4

step "10. $ctl/list again: nothing is left"
cat $ctl/list
[ -z "$(cat $ctl/list 2>&1)" ] || fail "probes are left in $ctl/list"
kill $workload

echo
before=$(lines kprobe_example | grep -c ' before ') || true
returned=$(lines kretprobe_example | grep -c ' returned ') || true
[ "$before" -gt 0 ] || fail "no hit on $SYMBOL+$OFFSET: choose a function that forks or file reads reach"
[ "$returned" -gt 0 ] || fail "no return from $SYMBOL was seen"
[ -n "$failed" ] || echo "The probes saw $SYMBOL: $before hits and $returned returns are printed above."
[ -z "$failed" ]
