#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Checks that every function that a hit runs before it is recorded, or to find out that it is
# recursion, is refused; and what a CPU that comes online runs before it can handle a breakpoint.
# Follows the calls in the built kernel, see hitpath.py; hitpath.list has the exceptions, and why
# each is safe.
#
# CONFIG= is the kernel, which must be built. Ends with "ok" or "not ok".
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

need python3:python3 objdump:binutils
need_qemu
kernel=$build/$CONFIG
[ -e "$kernel/vmlinux" ] || die "no kernel in build/$CONFIG: make kernel CONFIG=$CONFIG builds it"
scratch

walk() { "$here/hitpath.py" "$kernel/vmlinux" "$tmp/refused" "$here/hitpath.list" "$@" >"$tmp/out" 2>&1; }

# shellcheck disable=SC2016
"$here/guest.sh" -t 300 -l "hitpath-$CONFIG" -a nokaslr "$kernel" cmd \
	CMD='while read -r l; do echo "refused $l"; done </sys/kernel/debug/kprobes/blacklist' \
	>"$tmp/guest" 2>&1 || { tail -n 2 "$tmp/guest"; echo "not ok - hitpath: the guest failed: see build/logs/"; exit 1; }
tr -d '\r' <"$tmp/guest" | sed -n 's/^refused //p' >"$tmp/refused"

status=0
# Would it notice a function that is not refused?
if walk kprobe_run_all_pre || ! grep -q '^not ok - .*: kprobe_run_all_pre <' "$tmp/out"; then
	echo "not ok - hitpath: a function that is not refused is not seen: $(tail -n 1 "$tmp/out")"
	status=1
fi
if grep -qx CONFIG_SMP=y "$kernel/.config" && { walk cr4_init || ! grep -q '^not ok - .*: cr4_init < start_secondary:' "$tmp/out"; }; then
	echo "not ok - hitpath: a function of a CPU that comes online is not seen: $(tail -n 1 "$tmp/out")"
	status=1
fi
if walk; then
	echo "ok - hitpath: what a hit runs is refused: $(tail -n 1 "$tmp/out")"
else
	grep '^not ok - ' "$tmp/out" || echo "not ok - hitpath: $(tail -n 1 "$tmp/out")"
	status=1
fi
exit $status
