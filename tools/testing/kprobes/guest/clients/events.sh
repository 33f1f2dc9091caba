# SPDX-License-Identifier: GPL-2.0
# client: tracefs by hand
# shellcheck shell=dash

# lost EVENT: the event has lost no hits
lost()
{
	# shellcheck disable=SC2046
	set -- "$1" $(hits "$1")
	figure "hits of $1" "$2"
	figure "lost by $1" "$3"
	at_least "hits of $1" "$2" 100
	is "lost by $1" "$3" 0
}

# interrupted PLACE: an interrupt hits its probe while a task is nearly always in a handler,
# which takes stack traces.
interrupted()
{
	event "p:l/task $1"
	event "p:l/irq update_process_times"
	echo stacktrace >$tracing/events/l/task/trigger
	event_on l
	[ "${1%+9}" = "$1" ] || jump "${1%+9}+0x9"
	began=$(now)
	until took=$(($(now) - began)); [ $took -gt 60000 ] ||
		{ [ $took -gt 5000 ] && [ "$(hits task | cut -d' ' -f1)" -ge 10000 ]; }; do
		dd if=/dev/zero of=/dev/null bs=1 count=5000 2>/dev/null
	done
	event_off l
	at_least "hits of the task" "$(hits task | cut -d' ' -f1)" 10000
	lost irq
	echo '!stacktrace' >$tracing/events/l/task/trigger
	echo >$tracing/kprobe_events
}
try_interrupted_ftrace() { interrupted vfs_read; }
try_interrupted_jump() { interrupted vfs_read+9; }

# Twenty tasks are in a function at the same time, three times. The event does not give
# the number.
try_sleeping()
{
	event 'r:l/sleeps hrtimer_nanosleep'
	event_on l
	for _ in 1 2 3; do
		for _ in $(seq 20); do sleep 2 & done
		wait
	done
	event_off l
	# shellcheck disable=SC2046
	set -- $(hits sleeps)
	figure "lost of 60 calls" "$2"
	is "returns" "$1" 60
	echo >$tracing/kprobe_events
}
