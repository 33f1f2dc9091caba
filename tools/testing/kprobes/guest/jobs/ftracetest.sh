# SPDX-License-Identifier: GPL-2.0
# Runs CASES of the ftrace project's selftests, which are in TESTS. Needs more than busybox.
# Succeeds when all have run: ftracetest.sh judges their results.
cd "$TESTS" || exit 1
# Keep the logs of tests that do not pass.
# shellcheck disable=SC2086
./ftracetest --fail-unsupported --fail-unresolved --logdir /tmp/ftracetest $CASES
for log in /tmp/ftracetest/*; do
	case $log in
	*/ftracetest.log) ;;
	*) [ ! -e "$log" ] || { echo "--- ${log##*/}"; tail -n 15 "$log"; } ;;
	esac
done
exit 0
