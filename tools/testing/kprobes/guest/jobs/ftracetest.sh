# SPDX-License-Identifier: GPL-2.0
# The ftrace project's selftests that concern kprobes, from the tree at TREE.
# Needs the host's root file system: they want more than busybox.
cd "/host$TREE/tools/testing/selftests/ftrace" || exit 1
all="test.d/kprobe/*.tc test.d/dynevent/add_remove_kprobe.tc"
# shellcheck disable=SC2086
if [ -n "$TEST" ]; then
	# shellcheck disable=SC2254
	all=$(for f in $all; do case ${f##*/} in $TEST|$TEST.tc) echo "$f" ;; esac; done)
	[ -n "$all" ] || { echo "kprobes: no ftrace test is named $TEST"; exit 1; }
fi
# shellcheck disable=SC2086
./ftracetest --logdir /tmp/ftracetest $all
status=$?
for log in /tmp/ftracetest/*FAIL*.log /tmp/ftracetest/*.log; do
	[ "$status" -ne 0 ] || break
	case $log in
	*/ftracetest.log) ;;
	*) [ ! -e "$log" ] || { echo "--- $log"; tail -n 15 "$log"; } ;;
	esac
done
exit $status
