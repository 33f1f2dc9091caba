#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Builds kernels that differ in the options that kprobes depend on, see configs/space, and
# boots each with the KUnit suites built in.
#
#   test-configs.sh            all that this tree has not passed yet
#   test-configs.sh list       only show the kernels
#
#   MINUTES=n        none is started after this many (default 60)
#   KERNELS="3 7"    only these
#   AGAIN=1          forget what earlier runs of these have done
#
# Every pair of values of different factors occurs in a kernel. The set is the same in
# every run, and a run resumes where the last one stopped, if the sources are the same.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/results.sh
. "$here/results.sh"
# shellcheck source=tools/testing/kprobes/known.sh
. "$here/known.sh"
# shellcheck source=tools/testing/kprobes/arches.sh
. "$here/arches.sh"
# shellcheck source=tools/testing/kprobes/boot.sh
. "$here/boot.sh"

minutes=${MINUTES:-60}
how_many MINUTES "$minutes"
need python3:python3
state=$build/configs
tmp=$(mktemp -d)
qemu_pid=
trap '[ -z "$qemu_pid" ] || kill $qemu_pid 2>/dev/null; rm -rf "$tmp"' EXIT

# choose FOLDER: writes N.config there for each kernel of the set, and prints a line for each.
choose()
{
	python3 - "$here/configs/space" "$1" <<'END'
import itertools, sys

factors, options, never = {}, {}, set()
for line in open(sys.argv[1]):
    word = line.split()
    if not word or word[0].startswith("#") or word[0] == "skip":
        continue
    if word[0] == "never":
        never |= {(word[1], word[2]), (word[2], word[1])}
        continue
    value = word[0] + "=" + word[1]
    factors.setdefault(word[0], []).append(value)
    options[value] = word[2:]
for pair in never:
    for value in pair:
        if value not in options:
            sys.exit("kprobes: configs/space: no value " + value)

names = list(factors)
wanted = {frozenset(pair) for one, two in itertools.combinations(names, 2)
          for pair in itertools.product(factors[one], factors[two])
          if pair not in never}
kernels = []
while wanted:
    # The factor with the most pairs left goes first; each takes what adds most pairs.
    left = {v: sum(v in pair for pair in wanted) for v in options}
    first = min(wanted, key=lambda pair: (-sum(left[v] for v in pair), sorted(pair)))
    chosen = {v.split("=")[0]: v for v in first}
    for name in sorted(names, key=lambda n: (-max(left[v] for v in factors[n]), n)):
        if name in chosen:
            continue
        fits = [v for v in factors[name]
                if not any((v, other) in never for other in chosen.values())]
        if not fits:
            sys.exit("kprobes: configs/space: nothing fits for " + name)
        chosen[name] = min(fits, key=lambda v: (
            -sum(frozenset((v, other)) in wanted for other in chosen.values()),
            -left[v], factors[name].index(v)))
    met = {frozenset(pair) for pair in itertools.combinations(chosen.values(), 2)}
    if not met & wanted:
        sys.exit("kprobes: configs/space: no kernel has " + " and ".join(first))
    wanted -= met
    kernels.append([chosen[name] for name in names])

for n, kernel in enumerate(kernels, 1):
    with open("%s/%d.config" % (sys.argv[2], n), "w") as out:
        print("# include space-x86.config", file=out)
        # Tiny RCU has no stalls to report.
        if "smp=no" in kernel and not {"preempt=full", "preempt=rt", "preempt=dynamic"} & set(kernel):
            print("# CONFIG_RCU_CPU_STALL_TIMEOUT is not set", file=out)
        if "arch=32" in kernel:
            print("# arch i386", file=out)
        if "cfi=yes" in kernel:
            print("# llvm 16", file=out)
        for value in kernel:
            for option in options[value]:
                if option.startswith("!"):
                    print("# CONFIG_%s is not set" % option[1:], file=out)
                else:
                    print("CONFIG_%s=y" % option, file=out)
    print(n, " ".join(kernel))
END
}

# The suites that this kernel is built with.
built_suites()
{
	local o f

	for o in "$1"/lib/test_kprobes.o "$1"/lib/tests/kprobes/*.o; do
		f=$top/${o#"$1"/}
		f=${f%.o}.c
		[ ! -e "$o" ] || [ ! -e "$f" ] || sed -n 's/^\t\.name = "\(k[a-z_]*probe[a-z_]*\)",$/\1/p' "$f"
	done | sort -u
}

# boot N: sets why, if it fails
boot()
{
	local out=$build/configs-$1 log=$build/logs/config-$1 cpu=max,la57=off,cx16=off seconds=900 ended

	! is_32bit "$out" || cpu=max,lm=off,cx16=off
	# Proving locking takes long where others need this machine, too.
	! grep -qx CONFIG_PROVE_LOCKING=y "$out/.config" || seconds=1800
	boot_suites "$out" "$log" "${BOOT_TIMEOUT:-$seconds}" 60 \
		"console=ttyS0 $(guest_time) kunit.filter_glob=k*probe*" -cpu "$cpu"
	ended=$why
	kunit_lines <"$log.console" >"$log.txt"
	passed=$(grep -c '^ok - ' "$log.txt") || true
	skipped=$(grep -c '^skip - ' "$log.txt") || true
	why=$(splats_in "$log.console" end | head -n 1 | tr -d '\r') || true
	[ -n "$why" ] || why=${ended:+the guest $ended}
	why=${why:+$why$ran}
	[ -n "$why" ] || why=$(grep '^not ok - ' "$log.txt" | head -n 1) || true
	[ -n "$why" ] || why=$(wrong_skip "$here/configs/space" "$out/.config" "$log.txt")
	# shellcheck disable=SC2046
	[ -n "$why" ] || why=$(idle_suite "$log.txt" $(built_suites "$out"))
}

# try N: sets verdict and why
try()
{
	local n=$1

	why='' passed=0 skipped=0
	arch_is "$(CONFIG=configs-$n config_arch)"
	if ! CONFIG=configs-$n "$here/kernel.sh" 2>&1 | tee "$tmp/build"; then
		verdict='not built' why=$(tail -n 1 "$tmp/build")
		cp "$tmp/build" "$build/logs/config-$n.txt"
		return
	fi
	boot "$n"
	verdict=passed
	[ -z "$why" ] || verdict=failed
}

if [ "${1:-}" = list ]; then
	choose "$tmp"
	exit
fi
"$here/tree.sh" >/dev/null
use_tree
mkdir -p "$state" "$build/logs"
choose "$state" >"$tmp/kernels"
total=$(wc -l <"$tmp/kernels")
need_build
need_qemu
for n in ${KERNELS:-}; do
	grep -q "^$n " "$tmp/kernels" || die "no kernel $n: there are $total, see $0 list"
done

# What each kernel is, what it is made of, and what judges it. The script is part of that.
# shellcheck disable=SC2086
known_start "$state" ${KERNELS:-} < <(
	cd "$here" && cat configs/{generic,space-x86}.config configs/space common.sh known.sh arches.sh \
		kernel.sh warnings.sh \
		boot.sh names.sh results.sh ktap.awk test-configs.sh
	while read -r n values; do
		cat "$state/$n.config"
	done <"$tmp/kernels"
	product
	other_compilers
	echo whole
)

say "$total kernels, $minutes minutes (build/logs/config-*, build/configs/results)"
while read -r n values; do
	case " ${KERNELS:-$n} " in *" $n "*) echo "$n $values" ;; esac
done <"$tmp/kernels" >"$tmp/asked"
while read -r n values; do
	[ "$(known_verdict "$n")" != passed ] || continue
	[ $SECONDS -lt $((minutes * 60)) ] || break
	began=$SECONDS
	try "$n" </dev/null
	# A run that ended because of this says nothing about the kernel.
	kill -0 "$KPROBES_OWNER" 2>/dev/null || die "stopped: the command that started this has ended"
	known_add "$n" "$verdict" "$passed passed, $skipped skipped" "$why"
	say "$n of $total: $values: $verdict: ${why:-$passed passed, $skipped skipped} ($((SECONDS - began)) s)"
	# Each would keep some 200 MB; the compiler's cache has it all.
	[ "$verdict" != passed ] || rm -rf "$build/configs-$n"
done <"$tmp/asked"

known_sum kernels <"$tmp/asked"
