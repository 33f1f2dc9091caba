#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# checkpatch --strict, kernel-doc, sparse and W=1 on our files, shellcheck on
# our scripts. Silent if all is well; anything printed is a failure.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/arches.sh
. "$here/arches.sh"

found=$(mktemp)
trap 'rm -f "$found"' EXIT

need sparse:sparse shellcheck:shellcheck
need_build
for config in x86_64 arm s390x; do
	arch_is $config
	[ -z "$cross" ] || need "${cross}gcc:$cc_package"
	mapfile -t packages < <(CONFIG=$config config_packages)
	[ ${#packages[@]} -eq 0 ] || need "${packages[@]}"
done
"$here/tree.sh" >/dev/null
use_tree
lock lint
ccache_env

cd "$src"
mapfile -t files < <(grep -E '\.[chS]$' "$build/.tree/laid")
mapfile -t kernel_files < <(grep -E '\.[chS]$' "$build/.tree/laid" | grep -v '^tools/')

# checkpatch knows EXPORT_SYMBOL() right after a function, but not NOKPROBE_SYMBOL(), which
# the whole kernel places there as well. Half of it adds no semicolon, so the macro has one.
# register_nmi_handler() is in <asm/nmi.h>, which <linux/nmi.h> includes for
# some watchdogs only; kprobes_unwind.h is there to need less than <linux/kprobes.h>.
# The handlers of kprobe_oops.c have to crash. ordering.h redefines what it counts.
known_is_fine()
{
	local file line rest

	while IFS=: read -r file line rest; do
		case $rest in
		*:LINE_SPACING:*)
			! sed -n "${line}p" "$file" | grep -q '^NOKPROBE_SYMBOL(' || continue ;;
		*:TRAILING_SEMICOLON:*|*:MACRO_ARG_UNUSED:*)
			[ "$file" != include/asm-generic/kprobes.h ] || continue ;;
		*:MEMORY_BARRIER:*|*:COMPLEX_MACRO:*|*:MULTISTATEMENT_MACRO_USE_DO_WHILE:*|*:BRACES:*)
			[ "$file" != tools/testing/kprobes/ordering.h ] || continue ;;
		*:AVOID_BUG:*)
			[ "$file" != tools/testing/kprobes/modules/kprobe_oops.c ] || continue ;;
		*:ARCH_INCLUDE_LINUX:*|*:INCLUDE_LINUX:*)
			! sed -n "${line}p" "$file" | grep -q '<asm/nmi.h>' || continue
			[ "$file" != include/linux/kprobes_unwind.h ] || continue ;;
		esac
		echo "$file:$line:$rest"
	done
}

for f in "${files[@]}"; do
	scripts/checkpatch.pl --strict --terse --no-summary \
		--show-types -f "$f" || true
done 2>&1 | known_is_fine >>"$found"

for f in "${kernel_files[@]}"; do
	case $f in *.S) continue ;; esac
	scripts/kernel-doc -none "$f" || true
done >>"$found" 2>&1

quiet() { kmake -s --no-print-directory "$@"; }

# compile CONFIG FILE...: those of ours that this config builds, with all checks. A first make
# without checks gets the headers that they need.
compile()
{
	local f dir targets=()

	CONFIG=$1 out=$build/lint-$1
	shift
	arch_is "$(config_arch)"
	mkdir -p "$out"
	config_options >"$out/.kprobes-config"
	{
		KCONFIG_ALLCONFIG=$out/.kprobes-config quiet allnoconfig </dev/null &&
		quiet -j"$(nproc)" prepare modules_prepare
	} >"$out/log" 2>&1 || die "lint: cannot prepare build/${out##*/}: see $out/log"
	for f; do
		[[ $f == *.[cS] ]] || continue
		# In a directory of ours the config decides what is built.
		dir=${f%/*}/
		if ! grep -qxF "${dir}Makefile" "$build/.tree/laid"; then
			targets+=("${f%.*}.o")
		elif [[ $dir != arch/* || $dir == arch/$srcarch/* ]]; then
			case " ${targets[*]} " in *" $dir "*) ;; *) targets+=("$dir") ;; esac
		fi
	done
	[ ${#targets[@]} -eq 0 ] ||
		quiet -k -j"$(nproc)" W=1 C=1 "${targets[@]}" >>"$found" 2>&1 || true
}

# uncompiled FILE...: those that no config has compiled so far, and that no other one includes
uncompiled()
{
	local f

	for f; do
		[[ $f == *.[cS] ]] || continue
		! compgen -G "$build/lint-*/${f%.*}.o" >/dev/null || continue
		grep -qr "include \"${f##*/}\"" "${f%/*}" || printf '%s\n' "$f"
	done
}

for f in "${kernel_files[@]}"; do
	rm -f "$build"/lint-*/"${f%.*}.o"
done
compile x86_64 "${kernel_files[@]}"
# What is for other architectures: their entry code, and the other kinds of return probes and
# of jumps.
for config in i386 arm s390x; do
	mapfile -t left < <(uncompiled "${kernel_files[@]}")
	compile $config "${left[@]}"
done
uncompiled "${kernel_files[@]}" | sed 's/$/: no config compiles it/' >>"$found"
CONFIG=x86_64 out=$build/lint-x86_64
arch_is x86_64

# The test modules as kernel.sh builds them: in a copy.
mkdir -p "$out/kprobes-modules"
cp "$here"/modules/* "$out/kprobes-modules/"
for f in "$out"/kprobes-modules/kprobe_*.c; do
	rm -f "${f%.c}.o"
	quiet W=1 C=1 M="$out/kprobes-modules" "$(basename "${f%.c}").o" >>"$found" 2>&1 || true
done

# The guest's scripts cannot be followed to where they source from.
{
	cd "$top"
	shellcheck -x "$here"/*.sh "$here/kprobetop" .ci/run
	shellcheck -e SC1091,SC2154,SC2086 tools/testing/selftests/kprobes/kprobes.sh
	shellcheck -s dash -e SC1091,SC2154,SC2086,SC2016,SC3045 \
		"$here"/guest/init "$here"/guest/*.sh "$here"/guest/*/*.sh
} >>"$found" 2>&1 || true

[ -s "$found" ] || exit 0
sed "s,$src/,,g; s,$top/,,g" "$found"
die "lint: $(wc -l <"$found") lines to fix, above"
