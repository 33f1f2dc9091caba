#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Compiles our files and all users of kprobes in the tree, in many configurations: none,
# tiny, default, all modules, and 20 random ones, of three architectures, with KPROBES
# and without.
#
#   test-builds.sh             all that this tree has not passed yet
#   test-builds.sh list        only show the builds
#
#   MINUTES=n                  none is started after this many (default 60)
#   BUILDS="arm64-* *-tiny*"   only those whose names match
#   ARCHES="riscv64 s390x"     of these architectures, see arches.sh
#   AGAIN=1                    forget what earlier runs of these have done
#
# kbuild says which files a configuration compiles. A warning about our files (W=1,
# objtool and the assembler included), an object that is not made, and any warning about
# a user of kprobes are failures, unless the base with its own kprobes has the same in
# the same configuration. Nothing is linked. "samples" are the base's own modules, with
# our header. If Kconfig does not allow the wanted value of KPROBES, the build counts as
# impossible; it is a failure if the base's Kconfig does, with the same other options.
# This is not checked for random configurations, as ours may depend on more.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/arches.sh
. "$here/arches.sh"
# shellcheck source=tools/testing/kprobes/warnings.sh
. "$here/warnings.sh"
# shellcheck source=tools/testing/kprobes/known.sh
. "$here/known.sh"
# shellcheck source=tools/testing/kprobes/builds-results.sh
. "$here/builds-results.sh"

minutes=${MINUTES:-60}
how_many MINUTES "$minutes"
wanted_arches=${ARCHES:-x86_64 i386 arm64}
unset MAKEFLAGS MAKEOVERRIDES ARCH
state=$build/builds
mkdir -p "$state" "$build/logs"
scratch

# objtool looks at each object of ours, also where kbuild lets it wait for the link.
# shellcheck disable=SC2016
each_object='objtool-enabled=$(if $(filter-out y%,$(OBJECT_FILES_NON_STANDARD_$(target-stem).o)$(OBJECT_FILES_NON_STANDARD)n),y)'
base_samples=(samples/kprobes/kprobe_example.c samples/kprobes/kretprobe_example.c)

# choose: the builds, a line each: NAME ARCH KIND y|n
choose()
{
	local arch kind value

	for kind in allnoconfig tinyconfig defconfig samples allmodconfig random{1..20}; do
		for arch in $wanted_arches; do
			for value in y n; do
				[ "$kind-$value" != samples-n ] || continue
				echo "$arch-$kind-$value $arch $kind $value"
			done
		done
	done
}

# is_wanted NAME
is_wanted()
{
	local glob

	for glob in "${globs[@]}"; do
		# shellcheck disable=SC2053
		[[ $1 != $glob ]] || return 0
	done
	return 1
}

# sources: of ours and of all users of kprobes, for $karch: what names them, and what
# includes a header that includes theirs
sources()
{
	local dirs=("arch/$srcarch") headers include='#[[:space:]]*include[[:space:]]*<'

	(
		cd "$src"
		for dir in */; do
			case ${dir%/} in
			arch | certs | Documentation | LICENSES | rust | scripts | tools | usr) ;;
			*) dirs+=("${dir%/}") ;;
			esac
		done
		headers=$(grep -rlE "$include(linux|asm)/kprobes[a-z_]*\.h>" include "arch/$srcarch/include" |
			sed -E 's,(arch/[a-z0-9]+/)?include/,,; s/\./\\./g' | paste -sd'|')
		grep -rlEi --include='*.[cS]' "kprobe|kretprobe|jprobe|$include($headers)>" "${dirs[@]}"
		grep -E '\.[cS]$' "$build/.tree/laid" | grep -E "^($(IFS='|'; echo "${dirs[*]}"))/"
	) | grep -v '\.lds\.S$' | LC_ALL=C sort -u
}

# folders: of the sources on standard input, each without those that are in another one
folders()
{
	sed 's,[^/]*$,,' | LC_ALL=C sort -u | awk 'last == "" || index($0, last) != 1 { print; last = $0 }'
}

# configure KIND y|n
configure()
{
	local kind=$1 seed='' menus='' only=$out/.kprobes-config

	case $kind in
	samples) kind=defconfig ;;
	random*)
		seed=${kind#random} kind=randconfig
		# With random values alone, few would reach our suites and samples.
		menus='DEBUG_KERNEL RUNTIME_TESTING_MENU KUNIT SAMPLES'
		;;
	esac
	{
		cat "$here/configs/builds.config"
		echo "CONFIG_KPROBES=$2"
		# It would select KPROBES.
		[ "$2" = y ] || echo CONFIG_KGDB_HONOUR_BLOCKLIST=n
		# shellcheck disable=SC2086
		[ -z "$menus" ] || printf 'CONFIG_%s=y\n' $menus
	} >"$only"
	rm -f "$out/.config"
	KCONFIG_SEED=$seed KCONFIG_ALLCONFIG=$only kmake -s "$kind" || return
	case $kind in
	defconfig | tinyconfig)	# read no such file
		cat "$only" >>"$out/.config"
		kmake -s olddefconfig
		;;
	esac
}

# is_let y|n: does KPROBES have that value in the configuration?
is_let()
{
	case $1 in
	y) grep -qx CONFIG_KPROBES=y "$out/.config" ;;
	n) grep -qx '# CONFIG_KPROBES is not set' "$out/.config" ;;
	esac
}

# base_refuses y|n: does the base's Kconfig not allow it either?
base_refuses()
{
	local src=$stock_src from=$out out=$build/builds-stock-$arch

	"$here/tree.sh" stock || return
	mkdir -p "$out"
	cat "$from/.config" "$from/.kprobes-config" >"$out/.config"
	kmake -s olddefconfig && ! is_let "$1"
}

# step WHAT LOG ARGS...: make, with a line every ten seconds
step()
{
	local what=$1 log=$2

	shift 2
	kmake -j"$(nproc)" "$@" >"$log" 2>&1 </dev/null &
	progress $! "$what" "$log"
}

# clean: forget the objects of another configuration
clean()
{
	local folder

	for folder in "${folders[@]}"; do
		[ ! -d "$out/$folder" ] || find "$out/$folder" -name '*.o' -delete
	done
}

# missing_of FILE: the objects in this list that do not exist
missing_of()
{
	local o

	while read -r o; do
		[ -e "$out/$o" ] || echo "$o"
	done <"$1"
}

# callers NAME TREE: compiles them in that tree, sets what is wrong with them
callers()
{
	local log=$build/logs/build-$1-$2.log objects

	mapfile -t objects <"$tmp/callers"
	step "$1, callers in $2" "$log" -k "${objects[@]}" || true
	complaints "$src" "$log" >"$tmp/$2-complaints"
	missing_of "$tmp/callers" >"$tmp/$2-missing"
}

# like_base NAME: the same in the base
like_base()
{
	local src=$stock_src config=$out/.config out=$build/builds-stock-$arch
	local log=$build/logs/build-$1-base.log

	"$here/tree.sh" stock
	mkdir -p "$out"
	cp "$config" "$out/.config"
	clean
	if step "$1, the base" "$log" olddefconfig && step "$1, the base" "$log" prepare; then
		callers "$1" base
	fi
	clean
}

# compile NAME y|n: our files and the callers; sets counts, and why if it fails
compile()
{
	local log=$build/logs/build-$1 objects

	# If the list cannot be made, this has failed: nothing would be compiled.
	if ! kmake -n -k "${folders[@]}" >"$tmp/dry" 2>"$log.log" </dev/null; then
		why="kbuild does not list: $(head -n 1 "$log.log")"
		return
	fi
	objects_on "$tmp/dry" "$state/sources-$arch" >"$tmp/on"
	sed -n 's/\.[cS]$/.o/p' "$build/.tree/laid" | grep -xFf - "$tmp/on" >"$tmp/ours" || true
	grep -vxFf "$tmp/ours" "$tmp/on" >"$tmp/callers" || true
	: | tee "$tmp"/base-{missing,complaints} "$tmp"/ours-{missing,complaints} >"$tmp/warnings"
	mapfile -t objects <"$tmp/ours"
	if [ ${#objects[@]} -gt 0 ]; then
		step "$1, our files" "$log.log" -k W=1 "$each_object" "${objects[@]}" || true
		missing_of "$tmp/ours" >"$tmp/ours-missing"
		warnings_of "$out" "$log.log" >"$tmp/warnings" || cannot_look "$log.log"
	fi
	callers "$1" tree
	cat "$tmp/on" >>"$state/compiled-$arch"
	if [ -s "$tmp/tree-complaints" ] || [ -s "$tmp/tree-missing" ]; then
		like_base "$1"
	fi
	build_faults "$tmp" "$2" >"$log.txt"
	why=$(head -n 1 "$log.txt")
	counts="$(wc -l <"$tmp/ours") of our files, $(wc -l <"$tmp/callers") callers"
}

# compile_samples NAME: those of the base on our header, which only the compiler reads
compile_samples()
{
	local dir=$out/base-samples log=$build/logs/build-$1.log f

	rm -rf "$dir"
	extract_base "$dir/.base" "${base_samples[@]}"
	for f in "${base_samples[@]}"; do
		mv "$dir/.base/$f" "$dir/"
		echo "obj-m += $(basename "${f%.c}").o"
	done >"$dir/Makefile"
	if ! step "$1" "$log" modules_prepare ||
	   ! step "$1" "$log" M="$dir" kprobe_example.o kretprobe_example.o; then
		why="see build/logs/build-$1.log"
	fi
	[ -n "$why" ] || why=$(complaints "$src" "$log" | head -n 1)
	counts='2 callers'
	rm -rf "$dir"
}

# try NAME ARCH KIND y|n: sets verdict, counts and why
try()
{
	local log=$build/logs/build-$1 folders

	verdict=failed counts='' why=''
	arch=$2
	arch_is "$arch"
	out=$build/builds-$arch
	mkdir -p "$out"
	sources >"$state/sources-$arch"
	mapfile -t folders < <(folders <"$state/sources-$arch")
	if ! configure "$3" "$4" >"$log.log" 2>&1 </dev/null; then
		why="does not configure: see build/logs/build-$1.log"
		return
	fi
	if ! is_let "$4"; then
		why="Kconfig does not let KPROBES be $4"
		if [[ $3 == random* ]] || base_refuses "$4" >"$log.log" 2>&1 </dev/null; then
			verdict=impossible
		else
			why="$why, unlike that of the base"
		fi
		return
	fi
	clean
	if ! step "$1" "$log.log" prepare; then
		why="make prepare: $(grep -m 1 -i 'error' "$log.log")"
		return
	fi
	if [ "$3" = samples ]; then
		compile_samples "$1"
	else
		compile "$1" "$4"
	fi
	clean
	[ -n "$why" ] || verdict=passed
}

choose >"$tmp/all"
# matches GLOB: one of them at least
matches()
{
	local name

	while read -r name _; do
		# shellcheck disable=SC2053
		[[ $name != $1 ]] || return 0
	done <"$tmp/all"
	return 1
}
read -ra globs <<<"${BUILDS:-*}"
[ ${#globs[@]} -gt 0 ] || die "BUILDS=$BUILDS: no such build, see $0 list"
for glob in "${globs[@]}"; do
	matches "$glob" || die "BUILDS=$glob: no such build, see $0 list"
done
while read -r name rest; do
	! is_wanted "$name" || echo "$name $rest"
done <"$tmp/all" >"$tmp/builds"
if [ "${1:-}" = list ]; then
	cut -d' ' -f1 "$tmp/builds"
	exit
fi
# Nothing of what is compiled runs.
mapfile -t compilers < <(cut -d' ' -f2 "$tmp/builds" | sort -u | while read -r arch; do
	arch_is "$arch"
	[ -z "$cross" ] || echo "${cross}gcc:$cc_package"
	[ -z "$plugin" ] || plugin_packages
done)
need "${build_packages[@]}" "${compilers[@]}"
while read -r arch; do
	arch_is "$arch"
	make_plugin
done < <(cut -d' ' -f2 "$tmp/builds" | sort -u)
"$here/tree.sh" >/dev/null
use_tree
lock builds
need_space 3000 "compiling in many configurations"
ccache_env
# What is built, and what judges it. The script is part of that.
# shellcheck disable=SC2046
known_start "$state" ${BUILDS:+$(cut -d' ' -f1 "$tmp/builds")} < <(
	cd "$here" && cat configs/builds.config common.sh known.sh arches.sh warnings.sh builds-results.sh test-builds.sh
	product
	other_compilers
	echo whole
)
[ -s "$known" ] || rm -f "$state"/compiled-*
total=$(wc -l <"$tmp/builds")
say "$total builds, $minutes minutes (build/logs/build-*, build/builds/results)"
nr=0
while read -r name arch kind value; do
	nr=$((nr + 1))
	[ "$(known_verdict "$name")" != passed ] || continue
	[ $SECONDS -lt $((minutes * 60)) ] || break
	began=$SECONDS
	try "$name" "$arch" "$kind" "$value" </dev/null
	known_add "$name" "$verdict" "$counts" "$why"
	say "$nr of $total: $name: $verdict: ${why:-$counts} ($((SECONDS - began)) s)"
done <"$tmp/builds"

# Nothing is known about files that no configuration of an architecture compiles.
for arch in $wanted_arches; do
	[ -e "$state/compiled-$arch" ] || continue
	objects_on <(sort -u "$state/compiled-$arch" | sed "s/.*/echo '  CC &'/") "$state/sources-$arch" |
		sed -E 's/\.o$//; s/\.nvhe$//' | sort -u >"$tmp/compiled"
	sed 's/\.[cS]$//' "$state/sources-$arch" | sort -u | comm -23 - "$tmp/compiled" >"$state/never-$arch"
	say "$arch: $(wc -l <"$tmp/compiled") files compiled, $(wc -l <"$state/never-$arch") in no configuration (build/builds/never-$arch)"
done
cut -d' ' -f1 "$tmp/builds" | known_sum builds
