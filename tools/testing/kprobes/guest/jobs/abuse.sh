# SPDX-License-Identifier: GPL-2.0
# The guest's half of abuse.sh: runs the tests PARTS in turn, in rounds, until SECONDS_TO_RUN are
# over; 0 means one round. The seed is SEED in the first round, and the next number in the next
# one. A test may take LIMIT seconds. Prints a line for each test, with its output, and each
# minute what is running and how many calls have been made.
# shellcheck disable=SC1091,SC2153
. /lib.sh

calls=/sys/kernel/debug/kprobe_abuse/calls
began=$(date +%s)
seed=$SEED
echo 0 >/tmp/calls

progress()
{
	minute=0
	while :; do
		# In short steps, as it has to end soon.
		for _ in $(seq 60); do
			[ ! -e /tmp/ended ] || return
			sleep 1
		done
		minute=$((minute + 1))
		now=$(cat $calls 2>/dev/null)
		echo "progress $minute min: $(cat /tmp/running), $(($(cat /tmp/calls) + ${now:-0})) calls"
	done
}

run_part()
{
	echo "$1 with seed $seed" >/tmp/running
	dmesg -n 6
	echo "<5>kprobes-guest: test $1" >/dev/kmsg
	echo "<5>kprobes-guest: seed $seed" >/dev/kmsg
	rm -f /tmp/failed
	ABUSE_SEED=$seed FUZZ_SEED=$seed PERF_SEED=$seed limited "$LIMIT" /bin/sh "/tests/$1.sh" >/tmp/out 2>&1
	case $? in
	0) echo "ok - $1: seed $seed" ;;
	4) echo "skip - $1: $(sed -n 's/^# skip: //p' /tmp/out)" ;;
	143) echo "not ok - $1: seed $seed: did not end within $LIMIT s" ;;
	*) echo "not ok - $1: seed $seed" ;;
	esac
	sed 's/^#* */    # /' /tmp/out
	[ "$1" != abuse ] || echo $(($(cat /tmp/calls) + $(sed -n 's/^# calls //p' /tmp/out | grep . || echo 0))) >/tmp/calls
	clean >/dev/null 2>&1
	left=$(head -n 3 $kp/list 2>&1)
	[ -z "$left" ] || printf 'not ok - %s: seed %s: left probes behind\n%s\n' "$1" "$seed" "$(echo "$left" | sed 's/^/    # /')"
}

progress &
while :; do
	for part in $PARTS; do
		run_part "$part"
	done
	seed=$((seed + 1))
	[ $(($(date +%s) - began)) -lt "$SECONDS_TO_RUN" ] || break
done
touch /tmp/ended
wait
echo "<5>kprobes-guest: tests end" >/dev/kmsg
exit 0
