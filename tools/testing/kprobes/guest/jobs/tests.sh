# SPDX-License-Identifier: GPL-2.0
# Runs the tests in /tests that TESTS names, each in its own shell.
# Prints a line for each: ok, not ok or skip, its name and what it proves; then
# the reasons. WATCH names the checkers that watch them, see watch.sh. TEST_SECONDS is the
# time limit of a test, SLOW a factor for it.
# shellcheck disable=SC1091
. /lib.sh
. /watch.sh

# Tells which test the next lines of the kernel's log belong to: see running() in results.sh.
marks() { echo "<5>kprobes-guest: $*" >/dev/kmsg; }

run_test()
{
	name=${1##*/}
	name=${name%.sh}
	proves=$(sed -n 's/^# proves: //p' "$1")
	dmesg -n 6
	marks test "$name"
	rm -f /tmp/failed
	limited $((${TEST_SECONDS:-300} * ${SLOW:-1} + ${STRESS_SECONDS:-0} + ${TOGGLE_SECONDS:-0} + ${RETURNS_SECONDS:-0} + ${ABUSE_CALLS:-0} / 100 + ${FUZZ_DEFS:-0} / 5 + ${PERF_DEFS:-0} / 4)) /bin/sh "$1" >/tmp/out 2>&1
	case $? in
	0) echo "ok - $name: $proves" ;;
	4) echo "skip - $name: $(sed -n 's/^# skip: //p' /tmp/out)" ;;
	143) echo "not ok - $name: did not end in time" ;;
	*) echo "not ok - $name: $proves" ;;
	esac
	sed 's/^#* */    # /' /tmp/out
	clean >/dev/null 2>&1
	left=$(head -n 3 $kp/list 2>&1)
	[ -z "$left" ] || printf 'not ok - %s: left probes behind\n%s\n' "$name" "$(echo "$left" | sed 's/^/    # /')"
	left=$(left_modules | xargs)
	[ -z "$left" ] || printf 'not ok - %s: left modules behind\n    # %s\n' "$name" "$left"
	watch_test "$name"
}

# Tests that need kernel parameters run first: the probes of these parameters must not
# disturb the other tests.
watch_start
first=$(grep -l '^# needs: cmdline' /tests/*.sh)
rest=$(grep -L '^# needs: cmdline' /tests/*.sh)
for test in $first $rest; do
	name=${test##*/}
	case " $TESTS " in
	*" ${name%.sh} "*) run_test "$test" ;;
	esac
done
marks tests end
watch_end
exit 0
