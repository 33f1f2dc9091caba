# SPDX-License-Identifier: GPL-2.0
# The guest's half of soak.sh: for SECONDS_TO_RUN, kprobe_torture.ko runs beside KILLERS, and
# each of the tests PARTS runs beside it and the other tests, again and again.
# Prints the result of torture; "part NAME ROUNDS FAILED" for each test and "count NAME WHAT
# SUM" for its counts in all rounds; and what is left allocated at the end.
# shellcheck disable=SC1091
soak=/tmp/soak
export KPROBES_LOCKS=$soak/locks
mkdir -p $KPROBES_LOCKS
. /lib.sh
. /lib-torture.sh

# Let a round take a minute or so, and differ from the other rounds of its part.
export STRESS_SECONDS=20 TOGGLE_SECONDS=20 RETURNS_SECONDS=20 RETURNS_TASKS=200 RETURNS_CALLS=4000 \
	ABUSE_CALLS=4000 FUZZ_DEFS=60 PERF_DEFS=300

# part NAME: repeats a test until the time is over
part()
{
	dir=$soak/$1 rounds=0 bad=0
	mkdir -p "$dir"
	: >"$dir/counts"
	while [ ! -e $soak/stop ]; do
		rm -f "$dir/failed" "$dir/stop"
		start=$(date +%s)
		KPROBES_TMP=$dir ABUSE_SEED=$((rounds + 1)) FUZZ_SEED=$((rounds + 1)) \
			PERF_SEED=$((rounds + 1)) \
			timeout 900 /bin/sh "/tests/$1.sh" >"$dir/out" 2>&1
		status=$?
		rounds=$((rounds + 1))
		if [ $status -ne 0 ]; then
			bad=$((bad + 1))
			echo "failed $1: round $rounds ended with $status: $(sed -n "/^# [^']* [0-9]*$/d; /^# accepted/d; /_SEED=/d; s/^# //p" "$dir/out" |
				head -n 4 | paste -sd';')"
		fi
		# "# WHAT NUMBER", with anything in between.
		sed -n '/ left_/d; s/^# .*\<\([a-z_]*\) \([0-9]*\)$/\1 \2/p' "$dir/out" >>"$dir/counts"
		echo "$rounds $bad" >"$dir/rounds"
		# The other parts need the resources that it owned during its round.
		case $1 in
		event_fuzz | perf_fuzz) took=$(($(date +%s) - start)) ;;
		*) took=1 ;;
		esac
		while [ $took -gt 0 ] && [ ! -e $soak/stop ]; do
			took=$((took - 1))
			sleep 1
		done
	done
}

progress()
{
	start=$(date +%s)
	while [ ! -e $soak/stop ]; do
		# A sleep takes longer on a busy machine.
		next=$(($(date +%s) + 60))
		while [ "$(date +%s)" -lt $next ]; do
			[ ! -e $soak/stop ] || return
			sleep 1
		done
		echo "progress $((($(date +%s) - start) / 60)) min:$(for part in $PARTS; do
			read -r rounds bad <"$soak/$part/rounds" && echo " $part $rounds$(echo " ($bad failed)" | grep -v '(0')"
		done | tr -d '\n') rounds, killers$(for killer in $KILLERS; do
			echo " $killer $(cat "/tmp/rounds.$killer")"
		done | tr -d '\n')"
	done
}

load kprobe_torture
echo 1 >$torture/begin
pids=''
for part in $PARTS; do
	mkdir -p "$soak/$part"
	echo 0 0 >"$soak/$part/rounds"
	part "$part" &
	pids="$pids $!"
done
progress &
pids="$pids $!"
torture_run "$SECONDS_TO_RUN"
touch $soak/stop
# shellcheck disable=SC2086
wait $pids

# Nothing runs any more, so nothing may be left allocated.
echo 1 >$optimization
sleep 1
torture_result
for part in $PARTS; do
	echo "part $part $(cat "$soak/$part/rounds")"
	awk -v part="$part" '{ n[$1] += $2 } END { for (what in n) print "count", part, what, n[what] }' \
		"$soak/$part/counts"
done
unload kprobe_torture
is "the list" "$(cat $kp/list 2>&1)" ""
is "the events" "$(cat $tracing/kprobe_events $tracing/dynamic_events 2>&1)" ""
is "the modules" "$(sed -n 's/^\([^ ]*kprobe[^ ]*\|kretprobe[^ ]*\) .*/\1/p' /proc/modules)" ""
is "the locks" "$(ls $locks)" ""
done_testing
