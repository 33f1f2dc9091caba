#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Compiles all users of kprobes in the tree, with kprobes and without.
#
#   callers.sh           the callers with KPROBES=y and =n, and the base's own
#                        samples against our header
#   callers.sh allmod    kernel/trace/ and lib/ of an allmodconfig
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

callers=(kernel/trace/ kernel/fail_function.o kernel/exit.o kernel/extable.o
	kernel/kallsyms.o kernel/module/ init/main.o drivers/misc/lkdtm/core.o
	lib/longest_symbol_kunit.o arch/x86/kernel/traps.o arch/x86/kernel/kgdb.o
	arch/x86/kernel/hw_breakpoint.o arch/x86/mm/fault.o)
samples=(samples/kprobes/kprobe_example.c samples/kprobes/kretprobe_example.c)

need_build
"$here/tree.sh"
ccache_env
mkdir -p "$build/logs"

kmake()
{
	make -C "$src" O="$out" ARCH=x86_64 CC="ccache gcc" HOSTCC="ccache gcc" \
		LOCALVERSION= KCPPFLAGS="-fmacro-prefix-map=../linux/=" \
		-j"$(nproc)" "$@"
}

# compile WHAT TARGETS...
compile()
{
	local what=$1 log=$build/logs/callers-$1.log

	shift
	kmake "$@" >"$log" 2>&1 </dev/null &
	progress $! "$what" "$log" || {
		grep -m 8 -E 'error:|ERROR:|Error [0-9]' "$log" >&2 || true
		die "$what does not compile: see $log"
	}
	! grep -E 'warning:' "$log" | grep -i kprobe || die "$what: warnings, above"
	say "$what compiles"
}

if [ "${1:-}" = allmod ]; then
	out=$build/callers-allmod
	mkdir -p "$out"
	kmake -s allmodconfig >"$build/logs/callers-allmod.log" 2>&1 </dev/null
	compile allmod kernel/trace/ lib/
	exit
fi

for kprobes in y n; do
	out=$build/callers-$kprobes
	mkdir -p "$out"
	# What the callers need, and as many users of kprobes as possible.
	{
		config_options | grep -vE 'KPROBE|KRETPROBE'
		printf 'CONFIG_%s\n' KPROBES=$kprobes LKDTM=m KGDB=y HAVE_HW_BREAKPOINT=y \
			LONGEST_SYM_KUNIT_TEST=m FUNCTION_ERROR_INJECTION=y FPROBE=y \
			FAULT_INJECTION=y FAIL_FUNCTION=y FAULT_INJECTION_DEBUG_FS=y
		[ $kprobes = n ] || echo CONFIG_KPROBE_EVENTS=y
	} >"$out/.kprobes-config"
	KCONFIG_ALLCONFIG=$out/.kprobes-config kmake -s allnoconfig \
		>"$build/logs/callers-$kprobes.log" 2>&1 </dev/null
	if [ $kprobes = y ]; then
		grep -qx CONFIG_KPROBES=y "$out/.config"
		compile "KPROBES=y" prepare modules_prepare "${callers[@]}"
	else
		if grep -qx CONFIG_KPROBES=y "$out/.config"; then
			die "KPROBES=n: something selects it"
		fi
		mapfile -t callers < <(printf '%s\n' "${callers[@]}" | grep -v fail_function)
		compile "KPROBES=n" prepare modules_prepare "${callers[@]}"
	fi
done

# Only the compiler reads this.
out=$build/callers-y
dir=$out/base-samples
rm -rf "$dir"
mkdir -p "$dir"
tar -xf "$base" -C "$dir" --strip-components=3 "${samples[@]/#/linux-source-6.12/}"
printf 'obj-m := kprobe_example.o kretprobe_example.o\n' >"$dir/Makefile"
compile base-samples M="$dir" kprobe_example.o kretprobe_example.o
rm -rf "$dir"
