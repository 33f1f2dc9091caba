#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Disassembles all copies and detours that a guest has made, and checks that they follow
# the rules for generated code, which are in slots.py. Runs once for each way in which the
# CPU and the command line ask for thunks. Prints a line for each, as the tests do.
#
#   PROBES=n       how many (default 3000), spread over the text
#   KERNEL=name    stock-$CONFIG, for comparison
#   ONLY=name      only this way: default, off; for 64 bits also ITS, stuffing
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

the_kernel
has_module kprobe_slots
probes=${PROBES:-3000}
how_many PROBES "$probes" 100
need_qemu
need objdump:binutils python3:python3
scratch
mkdir -p "$tmp/files" "$build/logs"

bits=64 ways='default off ITS stuffing'
if is_32bit "$kernel"; then
	# There is a thunk only for indirect branches.
	bits=32 ways='default off'
fi

# All instructions of the kernel, and some of them to be probed. ftrace sites have neither
# a copy nor a detour.
objdump -d --no-show-raw-insn -j .text "$kernel/vmlinux" | awk '
	/^[0-9a-f]+ <__pfx_/ { padding = 1; next }
	/^[0-9a-f]+ </ { padding = 0; next }
	padding || !/^ *[0-9a-f]+:\t/ { next }
	{ at = $1; sub(/:/, "", at) }
	{ print at, $2 == "int3" || /call .*<__fentry__>|nopl +0x0\(%[er]ax,%[er]ax,1\)$/ ? "-" : "+" }
	' >"$tmp/insns"
awk -v n="$probes" '$2 == "+" { line[all++] = $1 }
	END { for (i = 0; i < n; i++) print line[int(i * all / n)] }' "$tmp/insns" >"$tmp/files/sites"
nm "$kernel/vmlinux" >"$tmp/symbols"

passed=0
failed=0
for how in ${ONLY:-$ways}; do
	[[ " $ways " == *" $how "* ]] || die "slots.sh: unknown way $how: $name has $ways"
	param='' cpu=max,-cx16
	case $how in
	default) ;;
	off) param=spectre_v2=off ;;
	ITS) cpu=Icelake-Server,-cx16 ;;
	stuffing) param='spectre_v2=retpoline retbleed=stuff' cpu=Skylake-Client ;;
	esac
	log=slots-$name-$how
	[ -n "${ONLY:-}" ] || say "generated code: $how"
	# Addresses as in vmlinux: no KASLR.
	if ! "$here/guest.sh" -t 400 -l "$log" -q "-cpu $cpu" -a "nokaslr $param" -f "$tmp/files" \
			"$kernel" slots >"$tmp/out" 2>&1; then
		cp "$tmp/out" "$build/logs/$log.txt"
		echo "not ok - slots.$how: the guest failed: see build/logs/$log.*"
		tail -n 3 "$tmp/out" | cut -c1-200 | sed 's/^/    # /'
		failed=$((failed + 1))
		continue
	fi
	cp "$tmp/out" "$build/logs/$log.txt"
	if python3 "$here/slots.py" $bits "$how" "$probes" "$tmp/out" "$tmp/insns" "$tmp/symbols" >"$tmp/found"; then
		echo "ok - slots.$how: copies and detours follow the rules for generated code"
		passed=$((passed + 1))
	else
		echo "not ok - slots.$how: copies and detours break a rule"
		failed=$((failed + 1))
	fi
	head -n 20 "$tmp/found" | sed 's/^/    # /'
done
# test.sh adds its own.
[ -n "${ONLY:-}" ] || counted "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
