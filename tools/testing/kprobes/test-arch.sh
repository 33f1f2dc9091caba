#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The KUnit suites on other architectures, see arches.sh.
#
#   test-arch.sh NAME      build, boot, show each case and count
#   test-arch.sh all       all of them, a line each
#
# TEST=glob runs only the suites or cases of that name.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/arches.sh
. "$(dirname "$0")/arches.sh"
# shellcheck source=tools/testing/kprobes/results.sh
. "$(dirname "$0")/results.sh"

tmp=$(mktemp -d)
qemu_pid=
trap '[ -z "$qemu_pid" ] || kill $qemu_pid 2>/dev/null; rm -rf "$tmp"' EXIT

splats()
{
	grep -aE "$SPLATS" "$1" | head -n 3
}

# boot NAME LOG: the kernel runs the suites, and then turns the machine off.
boot()
{
	local log=$2 start=$SECONDS broken='' why='' args

	# shellcheck disable=SC2206
	args=($machine -nodefaults -no-reboot -display none -m 1024
		-accel tcg,thread=multi -kernel "$build/$1/$image")
	! grep -qx CONFIG_SMP=y "$build/$1/.config" || args+=(-smp 2)
	: >"$log.console"
	"$qemu" "${args[@]}" -serial "file:$log.console" -append \
		"$console loglevel=7 panic=-1 oops=panic kunit.enable=1 kunit.filter_glob=${TEST:-k*probe*} kunit_shutdown=reboot" \
		</dev/null >"$log.qemu" 2>&1 &
	qemu_pid=$!
	while kill -0 $qemu_pid 2>/dev/null; do
		sleep 0.5
		if [ $((SECONDS - start)) -ge "${BOOT_TIMEOUT:-1200}" ]; then
			why="did not end within ${BOOT_TIMEOUT:-1200} s"
		elif [ -z "$broken" ] && [ -n "$(splats "$log.console")" ]; then
			broken=$SECONDS
		elif [ -n "$broken" ] && [ $((SECONDS - broken)) -ge 60 ]; then
			why="ended, as its kernel is broken"
		fi
		[ -z "$why" ] || { kill $qemu_pid; break; }
	done
	wait $qemu_pid || [ -n "$why" ] || why="QEMU failed: $(tail -n 1 "$log.qemu")"
	qemu_pid=
	[ -z "$(splats "$log.console")" ] ||
		echo "not ok - $1: the kernel complained: $(splats "$log.console" | head -n 1)"
	[ -z "$why" ] || echo "not ok - $1: the guest $why: see $log.console"
	kunit_lines "${TEST:+1}" <"$log.console"
}

# test_one NAME: counts are in passed, failed and skipped.
test_one()
{
	local log=$build/logs/kunit-$1

	arch_is "$1"
	CONFIG=$1 "$here/kernel.sh" || die "$1 does not build"
	passed=0 failed=0 skipped=0
	[ -n "$qemu" ] || return 0
	need "$qemu:$qemu_package"
	say "KUnit on $1"
	boot "$1" "$log" >"$tmp/lines"
	passed=$(grep -c '^ok - ' "$tmp/lines") || true
	failed=$(grep -c '^not ok - ' "$tmp/lines") || true
	skipped=$(grep -c '^skip - ' "$tmp/lines") || true
}

[ $# -eq 1 ] || die "test-arch.sh: no architecture given: have $arches $arches_built"
# Whose ARCH= names one of ours, not the kernel's.
unset ARCH MAKEFLAGS MAKEOVERRIDES
mkdir -p "$build/logs"
status=0
if [ "$1" != all ]; then
	test_one "$1"
	[ -n "$qemu" ] || { say "$1: built, not booted"; exit; }
	cat "$tmp/lines"
	echo
	[ "$skipped" -eq 0 ] || echo "$skipped skipped"
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] || status=1
else
	for name in $arches $arches_built; do
		# In a shell of its own: die() ends this architecture only.
		if ! (test_one "$name" >"$build/logs/arch-$name.txt"
		      if [ -z "$qemu" ]; then
			      echo "$name: built, not booted"
			      exit
		      fi
		      cp "$tmp/lines" "$build/logs/arch-$name.lines"
		      echo "$name: $passed passed, $failed failed, $skipped skipped"
		      [ "$failed" -eq 0 ]); then
			echo "$name: failed: see build/logs/arch-$name.txt"
			status=1
		fi
	done
fi
exit $status
