#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Prepare build/linux: the base without its kprobes, with ours in place and
# patches/ applied. Touches only files whose content changes, so that make
# rebuilds no more than it must.
#
#   tree.sh          prepare build/linux
#   tree.sh stock    unpack the untouched base to build/stock
#
# Both get the patches that the emulator needs: see emulator_patches() in common.sh.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

state=$build/.tree		# what was done to the tree, to undo it by

stock_files="kernel/kprobes.c include/linux/kprobes.h
	include/asm-generic/kprobes.h arch/x86/kernel/kprobes
	arch/x86/include/asm/kprobes.h lib/test_kprobes.c samples/kprobes
	Documentation/trace/kprobes.rst"

# The package's version if the base is the package's, else what tells two
# files apart.
base_stamp()
{
	local version

	version=$(dpkg-query -W -f '${Version}' linux-source-6.12 2>/dev/null) || true
	printf '%s %s %s\n' "$base" "${version:-unpackaged}" \
		"$(stat -L -c '%s %Y' "$base")"
}

# apply PATCH DIR: to the files there
apply()
{
	patch -p1 --fuzz=0 --force --no-backup-if-mismatch -r - \
		-d "$2" <"$1" >"$build/.patch.log" 2>&1 && return
	grep -E 'FAILED|malformed|No file|find file' "$build/.patch.log" >&2 || true
	die "${1#"$top"/} does not apply: refresh it against the base, see $build/.patch.log"
}

# unpack TO: a base that is not 6.12 never gets the name TO.
unpack()
{
	local new=$build/.unpack

	need xz:xz-utils
	need_space 2500 "unpacking the base"
	say "unpacking $(basename "$base")"
	rm -rf "$new" "$new.old"
	mkdir -p "$new" "$(dirname "$1")"
	tar -C "$new" --strip-components=1 -xf "$base" ||
		die "cannot unpack $base: is it whole? apt-get install --reinstall linux-source-6.12"
	[ "$(sed -n 's/^\(VERSION\|PATCHLEVEL\) = //p' "$new/Makefile" 2>/dev/null |
	     paste -sd.)" = 6.12 ] ||
		die "$base is not Linux 6.12: give KPROBES_BASE= a 6.12 tree's archive"
	if [ "$1" = "$src" ]; then
		# shellcheck disable=SC2086
		(cd "$new" && rm -r $stock_files) ||
			die "$base has no kprobes of its own: give KPROBES_BASE= an untouched archive"
	fi
	[ ! -e "$1" ] || mv "$1" "$new.old"
	mv "$new" "$1"
	rm -rf "$new.old"
}

# put FROM PATH: copies it if it differs, with a new time stamp, even if FROM is older
# than the objects that were built.
put()
{
	[ ! -L "$src/$2" ] || rm "$src/$2"
	cmp -s "$1" "$src/$2" && return
	mkdir -p "$(dirname "$src/$2")"
	cp "$1" "$src/$2"
	[ ! -x "$1" ] || chmod +x "$src/$2"
	changed=$((changed + 1))
}

# keep PATH: saves the file of the base before the first change to it.
keep()
{
	[ ! -e "$state/pristine/$1" ] && [ -e "$src/$1" ] || return 0
	grep -qxF "$1" "$state/laid" "$state/patched" && return
	mkdir -p "$(dirname "$state/pristine/$1")"
	cp "$src/$1" "$state/pristine/$1"
}

# drop PATH: restores the file of the base, or removes the file.
drop()
{
	if [ -e "$state/pristine/$1" ]; then
		put "$state/pristine/$1" "$1"
	elif [ -e "$src/$1" ]; then
		rm "$src/$1"
		rmdir -p --ignore-fail-on-non-empty "$(dirname "$src/$1")"
		changed=$((changed + 1))
	fi
}

our_files()
{
	if [ -e "$top/.git" ]; then
		need git:git
		git -C "$top" ls-files -co --exclude-standard
	else
		(cd "$top" && find . -path ./build -prune -o -type f -print) |
			sed 's,^\./,,'
	fi | grep -Ev '^(Makefile|README\.md|CONTRIBUTING\.md|MAINTAINERS|\.clang-format|\.editorconfig|compile_commands\.json|\.gitignore|patches/.*|\.ci/.*|\.git.*|build/.*)$' |
		sort -u | while read -r f; do [ ! -f "$top/$f" ] || echo "$f"; done
}

# Patch copies of the pristine files; the tree is touched only when all went well.
patch_scratch()
{
	local p f

	rm -rf "$state/scratch"
	mkdir -p "$state/scratch"
	while read -r f; do
		keep "$f"
		[ -e "$state/pristine/$f" ] || continue
		mkdir -p "$(dirname "$state/scratch/$f")"
		cp -p "$state/pristine/$f" "$state/scratch/$f"
	done <"$state/patched.new"
	for p in "$top"/patches/*.patch "${emulator[@]}"; do
		[ ! -e "$p" ] || apply "$p" "$state/scratch"
	done
	if [ -e "$top/MAINTAINERS" ]; then
		awk -v ours="$top/MAINTAINERS" '
			/^KPROBES$/ {
				while ((getline line < ours) > 0)
					if (line !~ /^#/ && (line != "" || seen)) {
						print line
						seen = 1
						last = line
					}
				if (last != "") print ""
				skip = 1
			}
			!skip { print }
			/^$/ { skip = 0 }
		' "$state/pristine/MAINTAINERS" >"$state/scratch/MAINTAINERS"
	fi
}

prepare()
{
	local f bad

	if [ "$(cat "$state/base" 2>/dev/null)" != "$(base_stamp)" ] || [ ! -e "$src/Makefile" ]; then
		unpack "$src"
		rm -rf "$state"
		mkdir -p "$state"
		base_stamp >"$state/base"
		# Time stamps from the archive say nothing about what was
		# built from another one; ccache makes this cheap.
		for f in "$build"/*/.config; do
			case $f in
			*/stock-*) ;;
			*) rm -rf "$(dirname "$f")" ;;
			esac
		done
	fi
	touch "$state/laid" "$state/patched"
	changed=0

	our_files >"$state/laid.new"
	{
		for f in "$top"/patches/*.patch "${emulator[@]}"; do
			[ ! -e "$f" ] || sed -n 's,^\(+++ b\|--- a\)/\([^	]*\).*,\2,p' "$f"
		done
		[ ! -e "$top/MAINTAINERS" ] || echo MAINTAINERS
	} | sort -u >"$state/patched.new"
	bad=$(comm -12 "$state/laid.new" "$state/patched.new")
	[ -z "$bad" ] || die "a patch changes $bad, which is ours: change the file instead"

	patch_scratch

	comm -23 "$state/laid" "$state/laid.new" | while read -r f; do drop "$f"; echo; done >"$state/dropped"
	while read -r f; do
		keep "$f"
		put "$top/$f" "$f"
	done <"$state/laid.new"
	while read -r f; do
		if [ -e "$state/scratch/$f" ]; then
			put "$state/scratch/$f" "$f"
		else
			drop "$f"
		fi
	done < <(sort -u "$state/patched" "$state/patched.new" |
		 comm -23 - "$state/laid.new")

	mv "$state/laid.new" "$state/laid"
	mv "$state/patched.new" "$state/patched"
	rm -rf "$state/scratch"
	changed=$((changed + $(wc -l <"$state/dropped")))
	say "tree ready: build/linux, $changed file(s) changed"
}

# The base, with the patches for the emulator only.
stock_stamp()
{
	base_stamp
	[ ${#emulator[@]} -eq 0 ] || cat "${emulator[@]}" | cksum
}

mkdir -p "$build"
mapfile -t emulator < <(emulator_patches)
need patch:patch flock:util-linux
[ "$base" != /usr/src/linux-source-6.12.tar.xz ] || need "$base:linux-source-6.12"
[ -e "$base" ] || die "no base at $base: set KPROBES_BASE to a linux 6.12 archive"

if [ "${1:-}" = stock ]; then
	lock stock
	if [ "$(cat "$build/stock/base" 2>/dev/null)" != "$(stock_stamp)" ] || [ ! -e "$stock_src/Makefile" ]; then
		rm -f "$build/stock/base"
		unpack "$stock_src"
		for p in "${emulator[@]}"; do
			apply "$p" "$stock_src"
		done
		stock_stamp >"$build/stock/base"
		rm -rf "$build"/stock-*/
	fi
else
	lock tree
	prepare
fi
