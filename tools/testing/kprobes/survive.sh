#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Shows what stock's kprobes survive, and what ours do: the API used correctly, and wrongly in
# each way; modules that leave probes set, or return non-zero for nothing; torture without
# killers and with some of them; then some windows of everything.sh, which are smaller here.
# Each row runs in a guest of its own, on both kernels.
# Prints a table, also to build/logs/survive.txt. Fails if ours do not survive everything, if
# a killer has not done its work there, or if a row was not run.
#
#   KERNEL=name     only this one of the two
#   ROWS="glob..."  only the rows with a matching name: abuse.again, torture.nmi ...
#   CALLS=n         for each row of abuse (default 5000)
#   SECONDS_EACH=n  for each row of torture (default 30)
#   POINTS=n        for each row of everything (default 2000)
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/survive-results.sh
. "$here/survive-results.sh"

calls=${CALLS:-5000}
seconds=${SECONDS_EACH:-30}
points=${POINTS:-2000}
how_many CALLS "$calls"
how_many SECONDS_EACH "$seconds"
how_many POINTS "$points"
[ -z "${KERNEL:-}" ] || is_current "$KERNEL"
kernels=${KERNEL:-stock-$CONFIG $CONFIG}

# Name, calls, targets. See chosen() in kprobe_abuse.c.
right=register,unregister,hit
good=instruction,entry
rows=$(cat <<END
abuse.right $right $good
abuse.switch $right,switch $good
abuse.again $right,again $good
abuse.absent $right,switch,absent $good
abuse.fields $right,fields $good
abuse.batches $right,register_batch,unregister_batch $good
abuse.switch_batches $right,switch,switch_batch $good
abuse.null $right,null $good
abuse.shared $right,shared $good
abuse.scribble $right,scribble $good
abuse.in_handler $right,in_handler $good
abuse.in_atomic $right,in_atomic $good
abuse.addresses $right
careless.leave
careless.fail
careless.return
torture.alone
torture.hotplug
torture.module
torture.nmi
everything.020
everything.060
everything.100
everything.140
everything.modules
END
)

mkdir -p "$build/logs"
need_qemu
scratch
for kernel in $kernels; do
	[ -e "$build/$kernel/vmlinux" ] || die "no kernel in build/$kernel: make kernel or make stock builds it"
done

# survives KERNEL NAME [CALLS [KINDS]]: all reports are looked at here
survives()
{
	local kernel=$1 name=$2 log=survive-$1-$2 status=0 killer=''

	case $name in
	abuse.*)
		"$here/guest.sh" -t 900 -w 90 -l "$log" -s . "$build/$kernel" survive CALLS="$calls" \
			CALLS_OF="$3" KINDS="${4:-}" >"$build/logs/$log.txt" 2>&1 || status=$?
		;;
	careless.*)
		"$here/guest.sh" -t 300 -w 90 -l "$log" -s . "$build/$kernel" careless \
			WHAT="${name#careless.}" >"$build/logs/$log.txt" 2>&1 || status=$?
		;;
	torture.*)
		killer=${name#torture.}
		"$here/guest.sh" -t $((seconds + 120)) -l "$log" -s . -a preempt=voluntary \
			"$build/$kernel" torture SECONDS_TO_RUN="$seconds" MODE=exact \
			KILLERS="${killer#alone}" \
			>"$build/logs/$log.txt" 2>&1 || status=$?
		;;
	everything.*)
		KPROBES_RUNS=/dev/null KERNEL=$kernel POINTS=$points WINDOW=${name#everything.} NARROW=0 AGAIN='' \
			"$here/everything.sh" >"$build/logs/$log.txt" 2>&1 || status=$?
		window_verdict $status "$build/logs/$log.txt"
		return
		;;
	esac
	survive_verdict $status "$build/logs/$log.console" "$build/logs/$log.txt" "$killer"
}

# Globs are for names of rows.
set -f
for glob in ${ROWS:-}; do
	# shellcheck disable=SC2254
	while read -r name _; do case $name in $glob) break ;; esac; done <<<"$rows"
	# shellcheck disable=SC2053
	[[ $name == $glob ]] || die "no row is named $glob: see the head of $0"
done
while read -r name list kinds; do
	for glob in ${ROWS:-*}; do
		# shellcheck disable=SC2053
		[[ $name == $glob ]] || continue
		for kernel in $kernels; do
			say "$name on $kernel"
			verdict=$(survives "$kernel" "$name" "$list" "$kinds" </dev/null)
			say "    $verdict"
			printf '%s\t%s\t%s\n' "$name" "$kernel" "$verdict" >>"$tmp/results"
		done
		break
	done
done <<<"$rows"
# shellcheck disable=SC2086
survive_table $kernels <"$tmp/results" | tee "$build/logs/survive.txt"
# shellcheck disable=SC2086
counted "$(awk -F '\t' -v kernels="$kernels" '
	{ rows[$2]++; good[$2] += $3 == "survives" }
	END {
		n = split(kernels, kernel, " ")
		for (i = 1; i <= n; i++)
			printf "%s%s survives %d of %d", i == 1 ? "" : ", ", kernel[i], good[kernel[i]], rows[kernel[i]]
	}' "$tmp/results")"
! awk -F '\t' '$2 !~ /^(stock|patched)-/ && $3 != "survives" || $3 ~ /^not run/' "$tmp/results" | grep -q .
