# SPDX-License-Identifier: GPL-2.0
# CASES of the ftrace project's selftests, which are in TESTS. Needs more than busybox. Ends
# well when they have all run: what they say is for ftracetest.sh to judge.
cd "$TESTS" || exit 1
# Logs of what does not pass are kept.
# shellcheck disable=SC2086
./ftracetest --fail-unsupported --fail-unresolved --logdir /tmp/ftracetest $CASES
for log in /tmp/ftracetest/*; do
	case $log in
	*/ftracetest.log) ;;
	*) [ ! -e "$log" ] || { echo "--- ${log##*/}"; tail -n 15 "$log"; } ;;
	esac
done
exit 0
