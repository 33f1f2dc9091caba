#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs the guest tests as kselftests, as other subsystems do: installed, and by
# run_kselftest.sh on a Debian, which is this machine's, used by a guest.
#
#   kselftest.sh [NAME...]    only these
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/results.sh
. "$here/results.sh"

to=$build/kselftest
log=$build/kselftest.log
need_build
need "${kselftest_packages[@]}"
[ -e "$build/$CONFIG/Module.symvers" ] || die "no kernel in build/$CONFIG: make kernel builds it"
lock kselftest
use_tree
rm -rf "$to"
make -C "$src/tools/testing/selftests" TARGETS=kprobes FORCE_TARGETS=1 KDIR="$build/$CONFIG" \
	INSTALL_PATH="$to" install >"$log" 2>&1 </dev/null || {
	tail -n 5 "$log" >&2
	die "the selftests do not build: see $log"
}
status=0
"$here/guest.sh" -r -t 1800 -l "kselftest-$CONFIG" "$build/$CONFIG" cmd \
	CMD="cd '/host$to' && echo 1 >/proc/sys/kernel/kptr_restrict &&
		KSELFTEST_KPROBES_SH_ARGS='$*' ./run_kselftest.sh -c kprobes; status=\$?
		echo kptr_restrict: \$(cat /proc/sys/kernel/kptr_restrict); (exit \$status)" | tee "$log.out" || status=$?
grep -qx 'ok 1 selftests: kprobes: kprobes.sh' "$log.out" || status=1
grep -qx 'kptr_restrict: 1' "$log.out" || { echo 'not ok - kselftest: kptr_restrict is not put back'; status=1; }
skips=$here/expected/$CONFIG
[ -e "$skips" ] || skips=/dev/null
kselftest_skips "$skips" "$log.out" || status=1
noted "$(sed -n 's/^# # Totals: //p' "$log.out" | tail -n 1)"
[ $status -eq 0 ] || die "kselftest: a test failed or did not run: see $log.out"
