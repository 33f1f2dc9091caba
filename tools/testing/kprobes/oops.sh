#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs handlers that crash, in probed functions of a guest. The report has to name the handler,
# the probe and the probed function. Where possible, the machine has to survive, with working
# probes. Prints a line for each case, as the tests do; "make test" runs this.
#
# A kernel whose kprobes are not ours is not judged: its reports name no probe. It is told
# whether the machine goes on. This fails if it does so where ours panics, or if a case has not
# begun.
#
#   KERNEL=name    stock-$CONFIG, for comparison
#   TEST=glob      only the cases with a matching name: oops.HOW_TARGET_STATE_WHAT
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/names.sh
. "$here/names.sh"

the_kernel
cases=0 failed=0

# those CASES: the ones that TEST= picks
those()
{
	local c

	for c; do
		! is_picked "oops.${c//:/_}" || printf '%s ' "$c"
	done
}

# crash LOG PANICS CASE...
crash()
{
	local log=$1 panics=$2 c bad status=0 end='goes on'

	[ -z "$panics" ] || end=panics
	shift 2
	[ $# -gt 0 ] || return 0
	# All reports are examined here. A loaded machine must not be taken for a hung one.
	new_console "$log"
	"$here/guest.sh" -t 240 -l "$log" -s . -a rcupdate.rcu_cpu_stall_timeout=6 \
		"$kernel" oops CASES="$*" >"$build/logs/$log.txt" 2>&1 || status=$?
	for c; do
		bad=$(oops_verdict "$build/logs/$log.console" "$c" "$panics"
			oops_strays "$build/logs/$log.console")
		if [ -z "$panics" ] && [ $status -ne 0 ]; then
			bad="$bad${bad:+$'\n'}the guest: $(tail -n 1 "$build/logs/$log.txt")"
		fi
		cases=$((cases + 1))
		if [ -z "$bad" ]; then
			echo "ok - oops.${c//:/_}: the report names the probe, and the kernel $end"
		else
			echo "not ok - oops.${c//:/_}: see build/logs/$log.console"
			printf '%s\n' "$bad" | sed 's/^/    # /'
			failed=1
		fi
	done
}

# compare PANICS CASE...: the same on a kernel that is not ours, each in a guest of its own
compare()
{
	local log panics=$1 c outcome

	shift
	for c; do
		log=oops-$name-${c//:/-}
		cases=$((cases + 1))
		if [[ $c == *:fixed ]]; then
			echo "# oops.${c//:/_}: $name has no fault handlers"
			continue
		fi
		new_console "$log"
		"$here/guest.sh" -t 240 -l "$log" -s . -a rcupdate.rcu_cpu_stall_timeout=6 \
			"$kernel" oops CASES="$c" >"$build/logs/$log.txt" 2>&1 || true
		outcome=$(oops_outcome "$build/logs/$log.console" "$c")
		case $panics:$outcome in
		*:'has not begun')
			echo "not ok - oops.${c//:/_}: $name: $outcome: $(tail -n 1 "$build/logs/$log.txt")"
			failed=1
			;;
		1:'goes on'*)
			echo "not ok - oops.${c//:/_}: $name $outcome, ours panics: see build/logs/$log.console"
			failed=1
			;;
		*) echo "# oops.${c//:/_}: $name $outcome" ;;
		esac
	done
}

# alone CASE TEXT [OPTIONS...]: one in a guest of its own, with options for guest.sh and a
# verdict of its own
alone()
{
	local log=oops-$name-${1//_/-} bad status=0

	[ -n "$(those "$1")" ] || return 0
	new_console "$log"
	"$here/guest.sh" -t 240 -l "$log" -s . "${@:3}" "$kernel" oops CASES="$1" \
		>"$build/logs/$log.txt" 2>&1 || status=$?
	bad=$("$1_verdict" "$build/logs/$log.console" "$build/logs/$log.txt" $status)
	cases=$((cases + 1))
	if [ -z "$bad" ]; then
		echo "ok - oops.$1: $2"
	else
		echo "not ok - oops.$1: see build/logs/$log.console"
		printf '%s\n' "$bad" | sed 's/^/    # /'
		failed=1
	fi
}

crash_path()
{
	[ -n "$(those crash_path)" ] || return 0
	if ! grep -qx CONFIG_KEXEC_FILE=y "$kernel/.config"; then
		echo "skip - oops.crash_path: this kernel starts no other one"
		cases=$((cases + 1))
		return
	fi
	need gcc:gcc /usr/include/stdio.h:libc6-dev
	scratch
	mkdir "$tmp/files"
	cp "$kernel/arch/x86/boot/bzImage" "$tmp/files/"
	gcc -O2 -static -o "$tmp/files/kexec_crash" "$here/kexec_crash.c"
	alone crash_path "a panic starts another kernel, with probes on its way" \
		-f "$tmp/files" -a 'crashkernel=256M tp_printk'
}

mkdir -p "$build/logs"
need_qemu
if is_32bit "$kernel"; then
	# shellcheck disable=SC2086
	for c in $(those $oops_panics); do
		[[ $c == *:stack ]] || continue
		echo "skip - oops.${c//:/_}: no page guards a stack in this kernel"
		oops_panics=${oops_panics/$c/}
		cases=$((cases + 1))
	done
fi
case $name in
stock-* | patched-*)
	# shellcheck disable=SC2046,SC2086
	compare '' $(those $oops_goes_on)
	# shellcheck disable=SC2046,SC2086
	compare 1 $(those $oops_panics)
	;;
*)
	# shellcheck disable=SC2046,SC2086
	crash "oops-$name" '' $(those $oops_goes_on)
	# shellcheck disable=SC2086
	for c in $(those $oops_panics); do
		crash "oops-$name-${c//:/-}" 1 "$c"
	done
	alone panic_path "a panic with probes on its way is as one without"
	crash_path
	alone in_reader "a task that oopses in an RCU reader removes its probes while it dies"
	;;
esac
[ $cases -gt 0 ] || die "no case matches '${TEST:-}'"
exit $failed
