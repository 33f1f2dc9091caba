# SPDX-License-Identifier: GPL-2.0
# The guest's half of execute.sh, and of the test of that name. Gives kprobe_execute.ko the
# records in /execute in batches, prints the progress and the instructions that
# behave differently, and at the end prints and checks all counts.
# shellcheck disable=SC1091
. /lib.sh

execute=/sys/kernel/debug/kprobe_execute
record=16
batch=${EXECUTE_BATCH:-515}
load kprobe_execute
all=$(($(wc -c </execute) / record))
at=0 next=0 shown=0
while [ $at -lt $all ]; do
	dd if=/execute of=$execute/run bs=$((batch * record)) skip=$((at / batch)) count=1 2>/dev/null || {
		fail "cannot run the batch at $at"
		break
	}
	at=$((at + batch))
	[ $at -ge $next ] || continue
	next=$((next + all / 20))
	cat $execute/result >/tmp/result
	echo "# progress: $at of $all, $(awk '$1 == "differences" { print $2 }' /tmp/result) differences"
	grep -E '^(differs|length) ' /tmp/result | tail -n +$((shown + 1))
	shown=$(grep -cE '^(differs|length) ' /tmp/result)
done
cat $execute/result >/tmp/result
grep -E '^(differs|length) ' /tmp/result | tail -n +$((shown + 1))
grep -vE '^(differs|length) ' /tmp/result
unload kprobe_execute

get() { awk -v k="$1" '$1 == k { print $2 }' /tmp/result; }
run=$(get run)
is "given" "$(get given)" $all
at_least "run, of $all" "$run" "${EXECUTE_RUN:-$((all * 55 / 100))}"
for map in one_byte 0f; do
	at_least "run_$map" "$(get run_$map)" $((all / 10))
done
for map in 0f_38 0f_3a vex evex; do
	at_least "run_$map" "$(get run_$map)" $((all / 500))
done
is "unprobed" "$(get unprobed)" "$run"
is "copied and emulated" $(($(get copied) + $(get emulated))) "$run"
for state in copied emulated stepped emulated_post; do
	at_least "$state" "$(get $state)" $((all / 50))
done
for post in '' _post; do
	for state in alone first second third; do
		at_least "jump_$state$post" "$(get jump_$state$post)" $((run / 5))
	done
done
# The encodings that a jump cannot displace: returns that drop arguments, and calls that would
# return into the bytes of the jump. They are counted with and without a post-handler.
for state in '' _second _third; do
	at_least "of $run, jumps of no_jump$state" $((run - $(get no_jump$state) / 2)) $((run * 95 / 100))
done
for what in taken faults faults_probed faults_later; do
	at_least "$what" "$(get $what)" $((all / 50))
done
# Encodings whose length differs from objdump's must have been refused.
is "accepted, of another length by objdump" \
	"$(sed -n 's/^left_out_as \([0-9]*\) is of another length.*/\1/p' /tmp/result)" 0
is "differences" "$(get differences)" 0
echo "end"
done_testing
