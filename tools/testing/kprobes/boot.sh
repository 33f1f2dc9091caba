# SPDX-License-Identifier: GPL-2.0
# Boots kernels that have the KUnit suites built in and no user space. Sourced by
# test-arch.sh, test-configs.sh and mutants.sh, and by the self-test, after results.sh.
# shellcheck shell=bash disable=SC2034,SC2154
# shellcheck source=tools/testing/kprobes/names.sh
. "$here/names.sh"

# What a kernel prints after its suites, while it waits for its root. Where a thread prints
# to the console (PREEMPT_RT), a machine that switched itself off after the last case would
# lose what is not printed yet. So it is switched off when this line appears.
suites_ended='Waiting [0-9]+ sec before mounting root device'

# keep_failed CONSOLE: call this before the next guest overwrites the file. The console of a
# guest that failed is kept as CONSOLE.failed, until another one fails.
keep_failed()
{
	[ -s "$1" ] || return 0
	if ! grep -aqE "$suites_ended" "$1" || grep -aq "not ok " "$1" || splats_in "$1" end >/dev/null; then
		mv "$1" "$1.failed"
	fi
}

# boot_suites KERNELDIR LOG SECONDS MORE PARAMETERS QEMU-ARGUMENT...: runs the suites in a
# guest of $qemu with $image, its console in LOG.console. Sets why: empty if the suites have
# come to their end, and ran: what did when the guest died, or complained first. The guest
# may take SECONDS, and MORE after it has complained.
boot_suites()
{
	local log=$2 seconds=$3 more=$4 params=$5 kernel=$1 start=$SECONDS next=30 broken='' args

	shift 5
	why=''
	# The QEMU of a killed run also holds the lock, and takes a moment to end.
	exec 7>>"${log%/*}/.${log##*/}.lock"
	flock -w 3 7 || die "another guest writes build/logs/${log##*/}.*: wait until it has ended"
	# shellcheck disable=SC2054
	args=(-nodefaults -no-reboot -display none -m 1024 -accel "tcg,thread=${threads:-multi}"
		-kernel "$kernel/$image")
	! grep -qsx CONFIG_SMP=y "$kernel/.config" || args+=(-smp 2)
	keep_failed "$log.console"
	: >"$log.console"
	"$qemu" "${args[@]}" "$@" -serial "file:$log.console" \
		-append "loglevel=7 panic=-1 oops=panic kunit.enable=1 rootdelay=86400 $params" \
		</dev/null >"$log.qemu" 2>&1 &
	qemu_pid=$!
	while kill -0 $qemu_pid 2>/dev/null; do
		sleep 0.2
		if grep -aqE "$suites_ended" "$log.console"; then
			break
		elif ! kill -0 "$KPROBES_OWNER" 2>/dev/null; then
			why="was stopped: the command that started it has ended"
		elif [ $((SECONDS - start)) -ge "$seconds" ]; then
			why="did not end within $seconds s"
		elif [ -z "$broken" ] && splats_in "$log.console" >/dev/null; then
			broken=$SECONDS
		elif [ -n "$broken" ] && [ $((SECONDS - broken)) -ge "$more" ]; then
			why="ended, as its kernel is broken"
		fi
		[ -z "$why" ] || break
		[ $((SECONDS - start)) -ge $next ] || continue
		next=$((next + 30))
		say "$(cases_so_far "$log.console") cases, $((SECONDS - start)) s" >&2
	done
	kill $qemu_pid 2>/dev/null || true
	wait $qemu_pid || [ -n "$why" ] || grep -aqE "$suites_ended" "$log.console" ||
		why="QEMU failed: $(tail -n 1 "$log.qemu")"
	qemu_pid=
	[ -n "$why" ] || grep -aqE "$suites_ended" "$log.console" ||
		why="ended before its suites did"
	ran=$(splats_in "$log.console" end | head -n 1) || true
	ran=$(kunit_cases "${kunit_sources[@]}" | running "$log.console" "$ran")
}

# arch_suites NAME LOG SECONDS PICKS: the lines of these suites and cases, a line each, on the
# architecture that arch_is() has set; of all if there is none
arch_suites()
{
	local log=$2 glob='k*probe*' splat

	[ -z "$4" ] || glob=$(kunit_glob <<<"$4")
	# shellcheck disable=SC2086
	boot_suites "$build/$1" "$log" "$3" 60 "$console kunit.filter_glob=$glob" $machine
	splat=$(splats_in "$log.console" end | head -n 1) || true
	[ -z "$splat" ] || echo "not ok - $1: the kernel complained$ran: $splat"
	[ -z "$why" ] || echo "not ok - $1: the guest $why$ran: see $log.console"
	kunit_lines "${4:+1}" <"$log.console" | picked_results
}
