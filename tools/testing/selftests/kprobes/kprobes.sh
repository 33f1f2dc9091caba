#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run tests of tools/testing/kprobes/guest/tests on this machine: those that need nothing
# special of it. They need a machine without probes and events of probes. They switch all events
# and tracers off, empty the filters of ftrace, and clear the trace and the kernel's log. Other
# settings are put back.
#
#   kprobes.sh [NAME...]	only these; with kselftest, by KSELFTEST_KPROBES_SH_ARGS=
#
# The result of each is a line of KTAP.

here=$(cd "$(dirname "$0")" && pwd)
guest=$here
[ -d "$guest/tests" ] || guest=$here/../../kprobes/guest
PATH=$PATH:$here:$here/../../kprobes
export KPROBES_MODULES=$here/modules

skip_all()
{
	echo "1..0 # SKIP $*"
	exit 4
}

echo 'TAP version 13'
[ "$(id -u)" -eq 0 ] || skip_all 'needs root'
[ -d /sys/kernel/debug/tracing ] || mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
[ -e /sys/kernel/debug/kprobes/points ] || skip_all 'this kernel does not have these kprobes'
[ -e "$KPROBES_MODULES/kprobe_target.ko" ] || skip_all 'the modules have not been built'

KPROBES_TMP=$(mktemp -d) || exit 1
export KPROBES_TMP
trap 'rm -rf "$KPROBES_TMP"' EXIT
# shellcheck source=tools/testing/kprobes/guest/lib.sh
. "$guest/lib.sh"

[ -z "$(head -qn 1 "$kp/list" "$tracing"/kprobe_events "$tracing"/uprobe_events 2>/dev/null)" ] ||
	skip_all 'others have set probes: see kprobes/list, and kprobe_events of tracefs'
for setting in /proc/sys/kernel/kptr_restrict /proc/sys/kernel/ftrace_enabled "$optimization" \
		"$kp/enabled" "$kp/hits" "$tracing/buffer_size_kb"; do
	[ ! -e "$setting" ] || printf '%s %s\n' "$(sed 's/.*expanded: //; s/[^0-9].*//' "$setting")" "$setting"
done >"$KPROBES_TMP.settings"
put_back()
{
	while read -r value setting; do
		echo "$value" >"$setting"
	done <"$KPROBES_TMP.settings"
	rm -rf "$KPROBES_TMP" "$KPROBES_TMP.settings"
}
trap put_back EXIT
clean >/dev/null 2>&1

names=("$@")
if [ $# -eq 0 ]; then
	mapfile -t names < <(cd "$guest/tests" && grep -L '^# needs: ' ./*.sh | sed 's,^\./\(.*\)\.sh$,\1,')
fi
[ ${#names[@]} -gt 0 ] || { echo '# no tests'; exit 1; }
echo "1..${#names[@]}"
nr=0 passed=0 skipped=0
for name in "${names[@]}"; do
	nr=$((nr + 1))
	test=$guest/tests/$name.sh
	rm -rf "${KPROBES_TMP:?}"/*
	# bash says what an error of a write was.
	limited 330 bash "$test" >"$KPROBES_TMP/out" 2>&1
	status=$?
	sed 's/^#* */# /' "$KPROBES_TMP/out"
	clean >/dev/null 2>&1
	left=$(head -n 3 "$kp/list" 2>&1)
	if [ -n "$left" ]; then
		echo "# left probes behind: $left" | head -n 1
		status=1
	fi
	left=$(left_modules)
	if [ -n "$left" ]; then
		echo "# left modules behind:" $left
		status=1
	fi
	case $status in
	0)
		echo "ok $nr $name"
		passed=$((passed + 1))
		;;
	4)
		echo "ok $nr $name # SKIP $(sed -n 's/^# skip: //p' "$KPROBES_TMP/out")"
		skipped=$((skipped + 1))
		;;
	*) echo "not ok $nr $name # exit=$status" ;;
	esac
done
failed=$((nr - passed - skipped))
echo "# Totals: pass:$passed fail:$failed xfail:0 xpass:0 skip:$skipped error:0"
[ $failed -eq 0 ] || exit 1
[ $passed -gt 0 ] || exit 4
