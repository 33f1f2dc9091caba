# SPDX-License-Identifier: GPL-2.0
# Watches the tests of a guest for errors. Jobs source this after lib.sh. WATCH has some of
# these words, see test.sh:
#
#   leaks    kmemleak: memory that a suite or a test has leaked
#   races    KCSAN: guest.sh judges its reports
#   tracers  the function tracer for all functions, the stack tracer, and the tracer of
#            the times with interrupts or preemption off, in instances of their own
#
# Each word has to prove that it works, by a line "ok" or "not ok".
# shellcheck shell=dash disable=SC2154

leaks=/sys/kernel/debug/kmemleak
every=$tracing/instances/every
latency=$tracing/instances/latency

watches() { case " $WATCH " in *" $1 "*) ;; *) return 1 ;; esac; }
unseen() { echo "not ok - $1: $2"; }
# proves WORD COMMAND WHAT
proves()
{
	watches "$1" || return 0
	if "$2"; then
		echo "ok - $1: $3"
	else
		unseen "$1" "not so: $3"
	fi
}

# kmemleak reports an object that is five seconds old and unchanged in two scans.
leaks_scan()
{
	sleep 5.5
	echo scan >$leaks && echo scan >$leaks
}

# leaks_left: is there one? The file has a size of 0, whatever is in it.
leaks_left() { grep -q '^unreferenced object' $leaks; }

# leaks_seen: is a leak noticed? Clears earlier leaks.
leaks_seen()
{
	echo clear >$leaks && insmod $modules/kprobe_watched.ko what=leak && leaks_scan &&
		leaks_left && grep -q ' watched_leak+' $leaks &&
		rmmod kprobe_watched && echo clear >$leaks
}

# races_seen: is a race noticed? On a loaded machine the CPUs of a guest often take turns.
races_seen()
{
	tries=0
	while [ $tries -lt 20 ]; do
		tries=$((tries + 1))
		insmod $modules/kprobe_watched.ko what=race && rmmod kprobe_watched || return
		! dmesg | grep -q 'KCSAN: data-race in watched_' || return 0
	done
	return 1
}

tracers_start()
{
	mkdir $every $latency &&
	echo 64 >$every/buffer_size_kb && echo 64 >$latency/buffer_size_kb &&
	echo function >$every/current_tracer &&
	echo preemptirqsoff >$latency/current_tracer &&
	echo 1 >/proc/sys/kernel/stack_tracer_enabled
}

# tracers_on: are they on, and do they see something?
tracers_on()
{
	[ "$(cat $every/current_tracer)" = function ] &&
	[ "$(cat $latency/current_tracer)" = preemptirqsoff ] &&
	[ "$(cat /proc/sys/kernel/stack_tracer_enabled)" = 1 ] &&
	[ "$(cat $tracing/tracing_on $every/tracing_on $latency/tracing_on | tr -d '\n')" = 111 ] &&
	echo >$every/trace && grep -q ' <-' $every/trace
}

# watch_start: before the first test. Booting counts as one.
watch_start()
{
	watch_test boot
	if watches tracers; then
		tracers_start || unseen tracers "do not start"
	fi
}

# watch_test NAME: after each of them. Prints why the test has failed, if it has.
watch_test()
{
	if watches leaks; then
		if ! leaks_scan; then
			unseen "$1" "kmemleak has stopped"
		elif leaks_left; then
			unseen "$1" "it has left memory"
			sed 's/^/    # /' $leaks | head -n 40
			echo clear >$leaks
		fi
	fi
	if watches tracers && [ -d $every ] && ! tracers_on; then
		unseen "$1" "a tracer is off"
	fi
}

# watch_end: after the last
watch_end()
{
	proves leaks leaks_seen "what is lost is seen"
	proves races races_seen "what races is seen"
	proves tracers tracers_on "they are on, and see functions"
}
