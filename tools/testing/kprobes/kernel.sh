#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the kernel of CONFIG with its modules and our test modules.
#
#   kernel.sh          ours: build/linux into build/$CONFIG
#   kernel.sh stock    the untouched base into build/stock-$CONFIG
#   kernel.sh patched  that with our patches to other subsystems, into
#                      build/patched-$CONFIG
#   kernel.sh make ARGS...  only that, e.g. kernel/kprobes/point.o, in build/$CONFIG.
#                      "make -C build/$CONFIG" would use another compiler, without ccache,
#                      and other tools: the next build would rebuild all files
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/warnings.sh
. "$here/warnings.sh"
# shellcheck source=tools/testing/kprobes/arches.sh
. "$here/arches.sh"

name=$CONFIG
if [ "${1:-}" = stock ]; then
	name=stock-$CONFIG
	src=$stock_src
elif [ "${1:-}" = patched ]; then
	name=patched-$CONFIG
	src=$build/patched/linux
fi
ours=''
[ "$src" != "$build/linux" ] || ours=1
out=$build/$name
log=$build/$name.log
arch_is "$(config_arch)"

# Filters out our options for the unchanged base, which does not have them.
known()
{
	if [ -z "$ours" ]; then
		grep -vE "^(# )?CONFIG_($(cat "$top"/kernel/kprobes/Kconfig "$top"/patches/*.patch |
			sed -n 's/^+*config //p' | paste -sd'|'))[= ]"
	else
		cat
	fi
}

# Configure when the fragment or a Kconfig file is newer than the last time.
configure()
{
	local opt missing

	config_options | known >"$out/.kprobes-config.new"
	if [ -e "$out/.config" ] &&
	   cmp -s "$out/.kprobes-config.new" "$out/.kprobes-config" &&
	   [ -z "$(find "$src" -name 'Kconfig*' -newer "$out/.kprobes-config" -print -quit)" ]; then
		rm "$out/.kprobes-config.new"
		return
	fi
	KCONFIG_ALLCONFIG=$out/.kprobes-config.new kmake -s allnoconfig >"$log" 2>&1 </dev/null ||
		die "config $CONFIG does not configure: see $log"
	missing=$(while read -r opt; do
		case $opt in
		\#*)
			opt=${opt#\# }
			grep -q "^${opt%% *}=" "$out/.config" && echo "$opt"
			;;
		*)
			grep -qxF "$opt" "$out/.config" || echo "$opt"
			;;
		esac
	done <"$out/.kprobes-config.new") || true
	[ -z "$missing" ] ||
		die "config $CONFIG: kconfig did not accept $(echo "$missing" | paste -sd, | sed 's/,/, /g'): drop it or add what it depends on"
	mv "$out/.kprobes-config.new" "$out/.kprobes-config"
}

# run_make WHAT ARGS...: make with a line every ten seconds, the rest in the log.
run_make()
{
	local what=$1

	shift
	kmake -j"$(nproc)" "$@" >>"$log" 2>&1 </dev/null &
	progress $! "$what" "$log" && return
	grep -m 8 -E 'error:|undefined reference|undefined!|ERROR:|Error [0-9]|No rule|No space' "$log" >&2 ||
		tail -n 5 "$log" >&2
	die "$what failed: the whole output is in $log"
}

need_build
llvm=$(config_llvm)
[ -z "$cross" ] || need "${cross}gcc:$cc_package"
mapfile -t packages < <(config_packages)
[ -z "$plugin" ] || mapfile -t -O ${#packages[@]} packages < <(plugin_packages)
[ ${#packages[@]} -eq 0 ] || need "${packages[@]}"
make_plugin
case $(config_options) in
*CONFIG_DEBUG_INFO_BTF=y*) pahole=pahole ;;
esac
mkdir -p "$out"
[ -z "$ours" ] || use_tree
lock "$name"
[ -e "$out/vmlinux" ] || need_space 3000 "building a kernel"

ccache_env
# With debug information the directory is part of the result.
! config_options | grep -q '^CONFIG_DEBUG_INFO_DWARF' || unset CCACHE_NOHASHDIR
# The kernel of a first "make run" is built with an empty cache. Without running the
# preprocessor for ccache, that took 477 s of CPU time instead of 650. Other kernels do run it,
# so that they share objects that do not depend on the options in which they differ.
[ "$CONFIG" != run ] || export CCACHE_DEPEND=1

if [ "${1:-}" = make ]; then
	[ -e "$out/.config" ] || die "no kernel in build/$CONFIG: make kernel"
	# The next build has to know of the warnings: it does not compile these files again.
	touch "$out/.unchecked"
	{ kmake --no-print-directory "${@:2}" 2>&1 >&3 | tee -a "$log" >&2; } 3>&1
	exit
fi

start=$SECONDS
[ -z "$ours" ] || build_begins "$out" "$log" warnings_of
configure
: >"$log"
targets=$target
! grep -qx CONFIG_MODULES=y "$out/.config" || targets="$target modules"
# shellcheck disable=SC2086
run_make "kernel $name" $targets

# External modules that the config asks for build in their own directory: a copy for
# each kernel.
external_modules()
{
	local from=$top/$1 to f

	[ -d "$from" ] || from=$src/$1
	[ -d "$from" ] || die "config $CONFIG: no modules in $1"
	to=$(external_dir "$out" "$1")
	mkdir -p "$to"
	for f in "$from"/*.[chS] "$from"/Makefile; do
		[ -e "$f" ] || continue
		cmp -s "$f" "$to/${f##*/}" || cp "$f" "$to/"
	done
	for f in "$to"/*.c; do
		case $f in *.mod.c) continue ;; esac
		[ -e "$from/${f##*/}" ] || rm "${f%.c}".*
	done
	run_make "modules of $1 for $name" M="$to" modules
}

# remove_stale DIR...: remove the modules that this build no longer makes. Those of external
# modules are only in these directories.
remove_stale()
{
	local dir

	for dir in "$out"/*/Module.symvers; do
		dir=${dir%/*}
		[ ! -d "$dir" ] || [[ " $* " == *" $dir "* ]] || rm -f "$dir/"{Module.symvers,modules.order}
	done
	modules_of "$out" | sort >"$out/.kprobes-modules"
	find "$out" -name '*.ko' | sort | comm -13 "$out/.kprobes-modules" - | xargs -r -d '\n' rm
}

if [ "$targets" = "$target modules" ]; then
	dirs=()
	[ -n "$cross" ] || for dir in $(config_modules); do
		external_modules "$dir"
		dirs+=("$(external_dir "$out" "$dir")")
	done
	remove_stale "${dirs[@]}"
fi
if [ -n "$ours" ]; then
	warnings=$(warnings_of "$out" "$log") || cannot_look "$log"
	build_checked "$out"
	if [ -n "$warnings" ]; then
		printf '%s\n' "$warnings" | head -n 8 >&2
		die "kernel $name: $(printf '%s\n' "$warnings" | wc -l) warning(s) in our files: see $log"
	fi
fi
say "kernel ready: build/$name/$image ($((SECONDS - start)) s)"
