#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Boot a kernel in QEMU, run a job in it, and return the job's exit status.
#
#   guest.sh [options] KERNELDIR JOB [NAME=VALUE...]
#
# JOB is guest/jobs/JOB.sh, or "shell"; NAME=VALUE are set for it. What it
# prints is printed; the kernel's console goes to build/logs/. A guest whose
# kernel complains (see SPLATS) fails whatever the job says.
#
#   -t SECONDS   how long the job may take (default 300)
#   -w SECONDS   how long it may print nothing once it is up (default: as long as it takes)
#   -a PARAMS    more kernel parameters
#   -q ARGS      more QEMU arguments
#   -l NAME      name of the log (default JOB)
#   -f DIR       its files go into the guest's root
#   -r           the host's root file system is the guest's (read-only, by 9p); with -A a
#                small Debian is, unpacked into its memory
#   -R DIR       DIR is the guest's root (by 9p, to write to) with an init of its own,
#                which has to run the job and to say what guest/init says: this adds
#                nothing to it. KERNELDIR may be a bzImage then.
#   -A NAME      the kernel's architecture, see arches.sh (default x86_64)
#   -i           count instructions: 1 CPU, 1 instruction = 1 ns
#   -c CPUS      (default 2)
#   -m MEGABYTES (default 1024)
#   -n RATE      send this many NMIs a second from the emulator to the first CPU, after
#                the job has printed "kprobes-guest: nmi on", until it prints "nmi off"
#   -s REGEX     kernel messages that are not splats for this job, besides BASE_REPORTS;
#                neither is a report that has one of them
#
# With KCSAN, the races are in build/logs/*.races; one of ours fails the guest.
# shellcheck disable=SC2054
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/kcsan.sh
. "$here/kcsan.sh"
# shellcheck source=tools/testing/kprobes/arches.sh
. "$here/arches.sh"
# shellcheck source=tools/testing/kprobes/results.sh
. "$here/results.sh"
# shellcheck source=tools/testing/kprobes/names.sh
. "$here/names.sh"

timeout=300 append='' qemu_args='' log='' files='' root='' icount='' cpus=2 mem=1024 allow=$BASE_REPORTS
own_root='' nmis='' arch=x86_64 silence=''
while getopts 't:w:a:q:l:f:rR:A:ic:m:n:s:' opt; do
	case $opt in
	t) timeout=$OPTARG ;;
	w) silence=$OPTARG ;;
	a) append=$OPTARG ;;
	q) qemu_args=$OPTARG ;;
	l) log=$OPTARG ;;
	f) files=$OPTARG ;;
	r) root=1 ;;
	R) own_root=$OPTARG ;;
	A) arch=$OPTARG ;;
	i) icount=1 ;;
	c) cpus=$OPTARG ;;
	m) mem=$OPTARG ;;
	n) nmis=$OPTARG ;;
	s) allow="$allow|$OPTARG" ;;
	*) die "guest.sh: bad option: see the head of $0" ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || die "guest.sh: no kernel or no job given: see the head of $0"
kernel=$1 job=$2
shift 2

arch_is "$arch"
image=$kernel/$image
[ ! -f "$kernel" ] || image=$kernel
[ -e "$image" ] || die "no kernel in $kernel: make kernel builds it"
[ "$job" = shell ] || [ -n "$own_root" ] || [ -e "$here/guest/jobs/$job.sh" ] || die "no job $job in guest/jobs"
if [ -z "$cross" ]; then
	need_qemu
	# Programs of this machine's load modules by name.
	[ -z "$root" ] || need /sbin/depmod:kmod
	guest_busybox "$kernel"
else
	[ -n "$debian" ] || die "no user space for guests with $arch"
	need "$qemu:$qemu_package" cpio:cpio
	guest_debian "$debian"
fi

mkdir -p "$build/logs"
log=$build/logs/${log:-$job}
# make mutants does not touch the kernels of the base.
case $kernel in
"$build"/stock-* | "$build"/patched-*) ;;
"$build"/*) use_tree ;;
esac
# The QEMU of a guest.sh that was killed takes a moment to end.
if [ "$job" != shell ]; then
	exec 7>>"$build/logs/.${log##*/}.lock"
	flock -w 3 7 || die "another guest writes build/logs/${log##*/}.*: wait until it has ended"
fi
tmp=$(mktemp -d)
qemu_pid='' nmis_pid=''
# "pid" is the QEMU of a shell.
# shellcheck disable=SC2086
trap '[ ! -s "$tmp/pid" ] || qemu_pid=$(cat "$tmp/pid")
	[ -z "$qemu_pid$nmis_pid" ] || kill $qemu_pid $nmis_pid 2>/dev/null; rm -rf "$tmp"' EXIT

# The initramfs: busybox, our scripts, all modules of this kernel.
if [ -z "$own_root" ]; then
	if [ -n "$cross" ] && [ -n "$root" ]; then
		cp -a "$debian" "$tmp/root"
		root=''
	fi
	mkdir -p "$tmp/root/bin" "$tmp/root/modules" "$tmp/root/dev"
	cp "$busybox" "$here/kprobetop" "$tmp/root/bin/"
	cp -r "$here/guest/." "$tmp/root/"
	modules_of "$kernel" | xargs -r -d '\n' cp -t "$tmp/root/modules" ||
		die "cannot copy the modules of $kernel to $tmp: if some are missing, make kernel builds them; or is the disk full?"
	[ -z "$files" ] || cp -r "$files/." "$tmp/root/"
	for var; do
		printf "%s='%s'\n" "${var%%=*}" "$(printf %s "${var#*=}" | sed "s/'/'\\\\''/g")"
	done >"$tmp/root/job.env"
	# Some tests run commands for a user that is not root, whatever this one's umask is.
	chmod -R a+rX "$tmp/root"
	(cd "$tmp/root" && find . | cpio --quiet -o -H newc -R 0:0) >"$tmp/initrd" ||
		die "cannot write the guest's initramfs: is $tmp on a full disk?"
fi

# oops=panic and panic=-1 end a broken guest at once; -no-reboot makes that
# QEMU's end too. In a shell, what is left after an oops is worth a look.
# At 7 the kernel says how it preempts.
[[ " $append" == *" preempt="* ]] && loglevel=7 || loglevel=6
append="$console loglevel=$loglevel panic=-1 $append"
[ "$job" = shell ] || append="oops=panic $append"
# shellcheck disable=SC2206
args=($machine -nodefaults -no-reboot -display none -m "$mem"
	-kernel "$image" -device "virtio-rng-$virtio")
if [ -z "$own_root" ]; then
	args+=(-initrd "$tmp/initrd")
	append="rdinit=/init $append"
else
	args+=(-fsdev "local,id=root,path=$own_root,security_model=none,multidevs=remap"
		-device virtio-9p-pci,fsdev=root,mount_tag=kproot)
	append="root=kproot rootfstype=9p rootflags=trans=virtio,version=9p2000.L,msize=512000,cache=loose rw $append"
fi
if [ -n "$icount" ]; then
	# Exact figures do not depend on time, so give way to other processes.
	renice -n 19 $$ >/dev/null
	args+=(-accel tcg,thread=single -smp 1 -icount shift=0,sleep=off)
else
	args+=(-accel tcg,thread=multi -smp "$cpus")
	[ -n "$cross" ] || append="$(guest_time) $append"
fi
if [ -n "$root" ]; then
	args+=(-fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap
		-device virtio-9p-pci,fsdev=host,mount_tag=host)
	append="$append kp.root=9p"
fi
if [ -n "$nmis" ]; then
	mkfifo "$tmp/monitor.in" "$tmp/monitor.out"
	args+=(-chardev "pipe,id=monitor,path=$tmp/monitor" -mon chardev=monitor,mode=readline)
fi
# shellcheck disable=SC2206
args+=($qemu_args)

if [ "$job" = shell ]; then
	# A serial line has no end of file.
	[ -t 0 ] || die "a shell needs a terminal; commands run with: ${here#"$top"/}/guest.sh ${kernel#"$top"/} cmd CMD='...'"
	# QEMU has the terminal, so a background process checks that make is still there. If this
	# script is told to end, too, as make does, the trap ends QEMU.
	: >"$tmp/pid"
	{
		while kill -0 "$KPROBES_OWNER" 2>/dev/null && [ -e "$tmp/pid" ]; do sleep 1; done
		[ ! -s "$tmp/pid" ] || kill "$(cat "$tmp/pid")"
	} </dev/null >/dev/null 2>&1 &
	status=0
	# shellcheck disable=SC2016
	sh -c 'echo $$ >"$0/pid"; exec "$@"' "$tmp" \
		"$qemu" "${args[@]}" -append "$append" -serial mon:stdio || status=$?
	rm -f "$tmp/pid"
	exit $status
fi

: >"$log.console"
: >"$log.out"
# Most machines have one serial line only.
args+=(-serial "file:$log.console")
if [ -z "$cross" ]; then
	args+=(-serial "file:$log.out")
else
	args+=(-device "virtio-serial-$virtio" -chardev "file,id=job,path=$log.out"
		-device virtserialport,chardev=job)
	append="$append kp.out=vport"
fi
"$qemu" "${args[@]}" -append "$append kp.job=$job" \
	</dev/null >"$log.qemu" 2>&1 &
qemu_pid=$!
tail -q -n +1 --pid=$qemu_pid -s 0.2 -f "$log.out" 2>/dev/null |
	grep --line-buffered -av '^kprobes-guest: ' &
tail_pid=$!

# send_nmis: for as long as the job asks for them. The answers of the monitor are not needed,
# but it waits if they are not read. Reading from a pipe without a writer is a sleep that
# takes no process.
send_nmis()
{
	local pause rest n

	pause=$(awk -v rate="$nmis" 'BEGIN { print 1 / rate }')
	exec 3<>"$tmp/monitor.in" 4<>"$tmp/monitor.out"
	mkfifo "$tmp/never"
	exec 5<>"$tmp/never"
	while :; do
		while read -r -t 0.001 -N 4096 -u 4 rest || [ -n "$rest" ]; do :; done
		if [ "$(grep -a '^kprobes-guest: nmi ' "$log.out" | tail -n 1)" != 'kprobes-guest: nmi on' ]; then
			read -r -t 0.2 -u 5 || true
			continue
		fi
		for ((n = 0; n < nmis; n++)); do
			echo nmi >&3
			read -r -t "$pause" -u 5 || true
		done
	done
}

if [ -n "$nmis" ]; then
	send_nmis 2>/dev/null &
	nmis_pid=$!
fi

# The console without race reports, to search for splats. Races are judged at the end.
console()
{
	if grep -qsx CONFIG_KCSAN=y "$kernel/.config"; then
		without_races <"$log.console"
	else
		cat "$log.console"
	fi
}

# splats [END]: as splats_in, with what this job allows
splats() { console | without_reports "$allow" "$@" | grep -aE "$SPLATS" | head -n 3; }

# Does the kernel have the change that the emulator needs?
patched()
{
	[ -n "$cross" ] || [ -z "$(emulator_patches)" ] || grep -aq "$WRITTEN_TWICE" "$log.console"
}

# Has it all CPUs that it should have? With maxcpus=, some are to come later.
has_cpus()
{
	[ -n "$icount$own_root" ] || [[ " $append" == *" maxcpus="* ]] ||
		! grep -qsx CONFIG_SMP=y "$kernel/.config" ||
		grep -aq "^kprobes-guest: up with $cpus CPUs" "$log.console"
}

# Does it preempt as preempt= says? Without the option there is only one way.
preempts()
{
	! grep -qsx CONFIG_PREEMPT_DYNAMIC=y "$kernel/.config" ||
		[ -z "$(preemption_verdict "$log.console" "$append")" ]
}

# has_come_up: sets up, and why if the guest is not as it should be
has_come_up()
{
	grep -aq '^kprobes-guest: up with .* CPUs' "$log.console" || return 0
	up=$SECONDS
	patched || why="lacks the changes that this QEMU needs: rebuild it, or set EMULATOR_PATCHES=0"
	has_cpus || why="does not have the $cpus CPUs that it was started with: see \"smp:\" there, and NR_CPUS of its config"
	preempts || why="does not preempt as preempt= says"
}

is_down()
{
	grep -aq 'kprobes-guest: down' "$log.console" && grep -aq '^kprobes-guest: exit ' "$log.out"
}

# Fail early if the guest does not boot, and give a broken guest just the time to print
# why. TCG on a loaded machine is slow, and the debug kernel is slower. guest/init leaves
# it to this to end the machine, when the last line of the kernel's log is there.
start=$SECONDS up='' why='' broken='' down=''
while kill -0 $qemu_pid 2>/dev/null; do
	sleep 0.2
	if is_down; then
		down=1
		kill $qemu_pid 2>/dev/null || true
		break
	fi
	[ -n "$up" ] || has_come_up
	if [ -n "$why" ]; then
		:
	elif ! kill -0 "$KPROBES_OWNER" 2>/dev/null; then
		why="was stopped: the command that started it has ended"
	elif [ -z "$up" ] && [ $((SECONDS - start)) -ge "${BOOT_TIMEOUT:-240}" ]; then
		why="did not boot within ${BOOT_TIMEOUT:-240} s"
	elif [ -n "$up" ] && [ $((SECONDS - up)) -ge "$timeout" ]; then
		why="$job did not end within $timeout s"
	elif [ -n "$up" ] && [ -n "$silence" ] && [ $((SECONDS - up)) -ge "$silence" ] &&
	     [ $(($(date +%s) - $(stat -c %Y "$log.out"))) -ge "$silence" ]; then
		why="$job printed nothing for $silence s"
	fi
	if [ -z "$broken" ] && [ -n "$(splats)" ]; then
		broken=$SECONDS
	elif [ -n "$broken" ] && [ $((SECONDS - broken)) -ge 10 ]; then
		why="ended, as its kernel is broken"
	fi
	[ -z "$why" ] || { kill $qemu_pid 2>/dev/null || true; break; }
done
# It may have come up and ended between two looks.
[ -n "$up$why" ] || has_come_up
wait $qemu_pid || [ -n "$why$down" ] || why="QEMU failed: $(tail -n 1 "$log.qemu")"
qemu_pid=
if [ -n "$nmis_pid" ]; then
	kill "$nmis_pid" 2>/dev/null || true
	wait "$nmis_pid" 2>/dev/null || true
	nmis_pid=
fi
wait $tail_pid || true

# ran [LINE]: what was running when the console had come to that line
ran() { kunit_cases "${kunit_sources[@]}" | running "$log.console" "$@"; }

splat=$(splats end) || true
if [ -n "$splat" ]; then
	printf '%s\n' "$splat" >&2
	die "the guest's kernel complained$(ran "${splat%%$'\n'*}"): see $log.console"
fi
if grep -qsx CONFIG_KCSAN=y "$kernel/.config"; then
	our_symbols "$kernel" >"$tmp/symbols"
	[ -s "$tmp/symbols" ] || die "no function of ours in $kernel: cannot tell whose a race is"
	races "$log.console" "$tmp/symbols" "$here/kcsan.list" >"$log.races"
	if grep -q '^ours' "$log.races"; then
		grep '^ours' "$log.races" | cut -f2 | sed 's/^/data race: /' >&2
		die "the guest's kernel has found data races of ours: see $log.races"
	fi
fi
[ -z "$why" ] || die "guest: $why$(ran): see $log.console"
status=$(sed -n 's/^kprobes-guest: exit //p' "$log.out" | tail -n 1)
[ -n "$status" ] || die "guest: ended before the job did$(ran): see $log.console"
[ -n "$down$own_root" ] || is_down ||
	die "guest: ended before its kernel's log was printed: see $log.console"
exit "$status"
