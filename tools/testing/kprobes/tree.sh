#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Prepare build/linux: the base without its kprobes, with ours in place and
# patches/ applied. Touches only files whose content changes, so that make
# rebuilds no more than it must.
#
#   tree.sh          prepare build/linux
#   tree.sh stock    unpack the untouched base to build/stock
#   tree.sh patched  the same with those of our patches that do not need our kprobes, in
#                    build/patched: to tell their effect from that of our kprobes
#
# KPROBES_BASE= is the base: an archive, a git tree, or a source tree. If patches do
# not apply to it, all of them are listed. KPROBES_PORT=1 continues without them, and
# accepts releases other than 6.12.
#
# Both get the patches that the emulator needs: see emulator_patches() in common.sh.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

state=$build/.tree		# what was done to the tree, to undo it by
new=$build/.unpack-${1:-linux}	# what is unpacked: several trees may be at once
patch_log=$build/.patch-${1:-linux}.log

stock_files="kernel/kprobes.c include/linux/kprobes.h
	include/asm-generic/kprobes.h arch/x86/kernel/kprobes
	arch/x86/include/asm/kprobes.h lib/test_kprobes.c samples/kprobes
	Documentation/trace/kprobes.rst"

# The package's version if the base is the package's, else what tells two
# files or trees apart.
base_stamp()
{
	local version

	if is_git; then
		printf '%s %s\n' "$base" "$(git -C "$base" rev-parse HEAD)"
		return
	elif [ -d "$base" ]; then
		printf '%s %s\n' "$base" "$(find "$base" -type f -printf '%p %s %T@\n' | sort | cksum)"
		return
	fi
	version=$(dpkg-query -W -f '${Version}' linux-source-6.12 2>/dev/null) || true
	printf '%s %s %s\n' "$base" "${version:-unpackaged}" \
		"$(stat -L -c '%s %Y' "$base")"
}

# apply PATCH DIR: to the files there, as a whole or not at all. Says which part did not apply.
apply()
{
	local patch=(patch -p1 --fuzz=0 --force --no-backup-if-mismatch -r - -d "$2")

	if "${patch[@]}" --dry-run <"$1" >"$patch_log" 2>&1; then
		"${patch[@]}" -s <"$1"
		return
	fi
	printf '%s does not apply:\n' "${1#"$top"/}"
	awk '
		/^checking file / { file = $3 }
		/^[|]--- a\// { file = $2; sub(/^a\//, "", file) }
		/^Hunk #[0-9]* FAILED/ { print "    " file ": hunk " substr($2, 2) ", near line " $5 + 0; said = 1 }
		/malformed/ { print "    " $0; said = 1 }
		/find file to patch/ { print "    the base has no such file:"; said = 1; next }
		/^[|]\+\+\+ b\// { print "        " substr($2, 3) }
		END { if (!said) print "    see build/" log_name }' log_name="${patch_log##*/}" "$patch_log"
	return 1
}

release_of() { sed -n 's/^\(VERSION\|PATCHLEVEL\|SUBLEVEL\) = //p' "$1/Makefile" 2>/dev/null | paste -sd.; }

# unpack TO: a base that is not 6.12 never gets the name TO.
unpack()
{
	local release

	need xz:xz-utils
	need_space 2500 "unpacking the base"
	say "unpacking $(basename "$base")"
	rm -rf "$new" "$new.old"
	mkdir -p "$new" "$(dirname "$1")"
	extract_base "$new"
	release=$(release_of "$new")
	case ${KPROBES_PORT:-0}:$release in
	*:6.12.*) ;;
	0:*) die "$base is ${release:+Linux $release, }not Linux 6.12: give KPROBES_BASE= one; to port the patches, see CONTRIBUTING.md" ;;
	esac
	if [ "$1" = "$src" ]; then
		# shellcheck disable=SC2086
		if ! (cd "$new" && rm -r $stock_files) 2>"$patch_log"; then
			[ "${KPROBES_PORT:-0}" != 0 ] ||
				die "$base has no kprobes of its own: give KPROBES_BASE= an untouched one"
			sed -n "s/^rm: cannot remove '\(.*\)'.*/kprobes: the base has no \1/p" "$patch_log"
		fi
	fi
	[ ! -e "$1" ] || mv "$1" "$new.old"
	mv "$new" "$1"
	rm -rf "$new.old"
}

# own_tree: before the first change. An object that is being compiled would be newer than the
# source that replaces its own, and guests would boot a kernel that is built again.
own_tree()
{
	[ -z "${owned:-}${KPROBES_MUTANTS:-}" ] || return 0
	flock -n 8 || die "the sources have changed, but a build or a guest is using build/linux: wait until it has ended, or end it"
	owned=1
}

# put FROM PATH: copies it if it differs, with a new time stamp, even if FROM is older
# than the objects that were built.
put()
{
	if [ -L "$src/$2" ]; then
		own_tree
		rm "$src/$2"
	fi
	cmp -s "$1" "$src/$2" && return
	own_tree
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
	cp "$src/$1" "$state/keep.new"
	mv "$state/keep.new" "$state/pristine/$1"
}

# drop PATH: restores the file of the base, or removes the file.
drop()
{
	if [ -e "$state/pristine/$1" ]; then
		put "$state/pristine/$1" "$1"
	elif [ -e "$src/$1" ]; then
		own_tree
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
	local p f bad=0 all=0

	rm -rf "$state/scratch"
	mkdir -p "$state/scratch"
	while read -r f; do
		keep "$f"
		[ -e "$state/pristine/$f" ] || continue
		mkdir -p "$(dirname "$state/scratch/$f")"
		cp -p "$state/pristine/$f" "$state/scratch/$f"
	done <"$state/patched.new"
	for p in "$top"/patches/*.patch "${emulator[@]}"; do
		[ -e "$p" ] || continue
		all=$((all + 1))
		apply "$p" "$state/scratch" >&2 || bad=$((bad + 1))
	done
	if [ $bad -gt 0 ]; then
		say "$bad of $all patches do not apply to Linux $(release_of "$src") of $base" >&2
		[ "${KPROBES_PORT:-0}" != 0 ] ||
			die "refresh them (CONTRIBUTING.md, \"Change a file of the base\"), or continue without them with KPROBES_PORT=1"
	fi
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
		own_tree
		unpack "$src"
		rm -rf "$state"
		mkdir -p "$state"
		base_stamp >"$state/base"
		# Time stamps in this archive say nothing about objects built from
		# another one, so build them again; ccache makes this cheap.
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

	# If this is interrupted, the next run must know which files are not the base's.
	while read -r f; do keep "$f"; done <"$state/laid.new"
	sort -u "$state/laid" "$state/laid.new" >"$state/laid.both"
	cp "$state/laid.both" "$state/laid.next"
	mv "$state/laid.next" "$state/laid"

	comm -23 "$state/laid.both" "$state/laid.new" | while read -r f; do drop "$f"; echo; done >"$state/dropped"
	while read -r f; do put "$top/$f" "$f"; done <"$state/laid.new"
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

# The patches of series that apply to the base and are not about an architecture.
independent_patches()
{
	local series

	grep -l '^base: pristine' "$here"/series/* | grep -vE '/(kprobes|riscv)$' | while read -r series; do
		sed -n 's/^== \(.*\.patch\)$/\1/p' "$series"
	done | while read -r p; do echo "$top/patches/$p"; done
}

# Hard links to the stock tree, except for files that are patched.
prepare_patched()
{
	local patches p

	mapfile -t patches < <(independent_patches)
	if [ "$(cat "$build/patched/base" 2>/dev/null)" = "$(stock_stamp; cat "${patches[@]}" | cksum)" ]; then
		return
	fi
	# A file that is not patched any more is older than its object.
	rm -rf "$build/patched" "$build"/patched-*/
	mkdir -p "$build/patched"
	cp -al "$stock_src" "$build/patched/linux"
	for p in "${patches[@]}"; do
		apply "$p" "$build/patched/linux" >&2 || die "see above: it depends on other patches"
	done
	{ stock_stamp; cat "${patches[@]}" | cksum; } >"$build/patched/base"
	say "tree ready: build/patched/linux, ${#patches[@]} patches"
}

# Before anything is installed, unpacked and built
check_numbers
mkdir -p "$build"
# Not held while this waits for another one: that may have to change the tree.
[ $# -gt 0 ] || (use_tree)
packages=(patch:patch flock:util-linux)
[ "$base" != /usr/src/linux-source-6.12.tar.xz ] || packages+=("$base:linux-source-6.12")
# make says what its targets will need. All of it is named or installed at once, not
# part of it after minutes of building. QEMU says which patches it needs, too.
[[ ${KPROBES_NEEDS:-} != *build* ]] || packages+=("${build_packages[@]}")
[[ ${KPROBES_NEEDS:-} != *guest* ]] || packages+=("${guest_packages[@]}")
[[ ${KPROBES_NEEDS:-} != *everything* ]] || packages+=("${everything_packages[@]}")
[[ ${KPROBES_NEEDS:-} != *kselftest* ]] || packages+=("${kselftest_packages[@]}")
if [[ ${KPROBES_NEEDS:-} == *build* && -z ${ARCH:-} && -e $here/configs/$CONFIG.config ]]; then
	mapfile -t -O ${#packages[@]} packages < <(config_packages)
fi
need "${packages[@]}"
mapfile -t emulator < <(emulator_patches)
[ -e "$base" ] || die "no base at $base: set KPROBES_BASE to a linux 6.12 archive"

if [ "${1:-}" = patched ]; then
	"$0" stock
	lock patched
	prepare_patched
elif [ "${1:-}" = stock ]; then
	lock stock
	if [ "$(cat "$build/stock/base" 2>/dev/null)" != "$(stock_stamp)" ] || [ ! -e "$stock_src/Makefile" ]; then
		rm -f "$build/stock/base"
		unpack "$stock_src"
		for p in "${emulator[@]}"; do
			apply "$p" "$stock_src" >&2 || die "patches for the emulator do not apply to $base"
		done
		stock_stamp >"$build/stock/base"
		rm -rf "$build"/stock-*/
	fi
else
	lock tree
	use_tree
	prepare
fi
