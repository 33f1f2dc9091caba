#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Makes what a maintainer gets: patches against the untouched base, for git am.
#
#   series.sh           make all series, into build/series/NAME/
#   series.sh check     apply them by git am, run checkpatch, compare the end state
#                       with build/linux, and build at each patch with KPROBES=y
#                       and =n, and boot some. It resumes where it stopped.
#   series.sh check NAME=FROM-TO     only build at these patches of that series;
#   series.sh check nobuild          at none
#   series.sh check build            build at all of them, without checkpatch
#   series.sh test [GLOB]            build what build/series/repo has checked out, boot it,
#                                    and run the KUnit suites with a matching name: for git
#                                    bisect run. 0 if all pass, 1 if one fails, 125 if
#                                    none can run, 255 if this machine is the reason
#
# The config is "series", or what SERIES_CONFIG= names.
#
# series/NAME says which files and hunks make up which patch, in this order:
#
#   base: SERIES        it applies after that series, or to the "pristine" base
#   cover: SUBJECT      then the text of the cover letter
#   == SUBJECT          a patch; then its text
#   == GLOB.patch       one of patches/, with the subject and the text in it
#
# In the text of a patch a line that begins with one of these is an instruction:
#
#   +<tab>GLOB          our files that it adds or replaces
#   -<tab>PATH          what it removes from the base, a directory with all in it
#   *<tab>GLOB          one of patches/, folded in
#   !<tab>PATH SED      an edit of a file that a later patch undoes
#   @boot               the kernel boots here, as it does at the end of each series
#
# Every file of ours and every file of patches/ has to be named, so a new one cannot be
# forgotten. "@figures" in a cover letter is the table of "make bench".
set -euo pipefail
shopt -s extglob
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/warnings.sh
. "$here/warnings.sh"

CONFIG=${SERIES_CONFIG:-series}
out=$build/series
state=$build/.tree
orders=$here/series
repo=$out/repo
tree=$out/tree
tab=$'\t'

g() { git -C "$repo" "$@"; }

# The base's files that any series touches, in their original form.
pristine()
{
	local f files=() stamp

	mapfile -t files < <(
		sed -n "s/^-$tab//p; s/^!$tab\([^ ]*\) .*/\1/p" "$orders"/*
		cat "$state/laid" "$state/patched"
	)
	stamp="$(cat "$state/base") $(printf '%s\n' "${files[@]}" | sort -u | cksum)"
	[ "$(cat "$out/base.stamp" 2>/dev/null)" != "$stamp" ] || return 0
	say "reading the base's files"
	rm -rf "$out/base"
	mkdir -p "$out/base"
	extract_base "$out/base" "${files[@]}"
	for f in arch/Kconfig kernel/Makefile; do
		[ -e "$out/base/$f" ] || die "$base has no $f: is it complete?"
	done
	printf '%s\n' "$stamp" >"$out/base.stamp"
}

# bodies FILE: of a patch in patches/: subject, empty line, text
message_of()
{
	sed -n '/^--- a\//q; /^diff /q; p' "$top/patches/$1" | sed '1s/^Subject: *//'
}

# take GLOB: files of ours into the index
take()
{
	local glob=$1 f any=''

	while read -r f; do
		# shellcheck disable=SC2254
		case $f in
		$glob) ;;
		*) continue ;;
		esac
		! grep -qxF "$f" "$out/taken" || continue
		mkdir -p "$(dirname "$repo/$f")"
		cp "$src/$f" "$repo/$f"
		echo "$f" >>"$out/taken"
		any=1
	done < <(cat "$state/laid"; echo MAINTAINERS)
	[ -n "$any" ] || die "series/$name: no file of ours is left that matches $glob"
}

# patch_file GLOB: which of patches/ it is
patch_file()
{
	local files

	mapfile -t files < <(cd "$top/patches" && compgen -G "$1")
	[ ${#files[@]} -eq 1 ] || die "series/$name: ${#files[@]} files in patches/ are named $1"
	echo "${files[0]}"
}

# fold FILE: one of patches/
fold()
{
	patch -p1 --fuzz=0 --force --no-backup-if-mismatch -r - -d "$repo" \
		<"$top/patches/$1" >"$out/patch.log" 2>&1 ||
		die "series/$name: patches/$1 does not apply there: see $out/patch.log"
	echo "$1" >>"$out/folded"
}

# Paragraphs to 72 columns, as a commit has them. What is indented stays.
wrap()
{
	python3 -c '
import re, sys, textwrap
subject, _, body = sys.stdin.read().partition("\n")
if not body.strip():
    sys.exit("kprobes: series: no text in: " + subject)
print(subject)
for block in re.split(r"\n\s*\n", body.strip("\n")):
    if not any(l[:1] in (" ", "\t", "-", "*") for l in block.split("\n")):
        block = textwrap.fill(block, 72, break_long_words=False, break_on_hyphens=False)
    print("\n" + block)'
}

# One patch: its message is in $out/message.
commit()
{
	[ -s "$out/message" ] || return 0
	g add -A
	! g diff --cached --quiet || die "series/$name: this patch is empty: $(head -n 1 "$out/message")"
	wrap <"$out/message" >"$out/wrapped"
	g -c core.commentChar=';' commit -q -s -F "$out/wrapped"
	: >"$out/message"
	committed=$((committed + 1))
	[ -z "$boot_here" ] || echo "$name/$committed" >>"$out/boots"
	boot_here=''
}

# make_series NAME: commits on top of what is checked out
make_series()
{
	local line in_cover='' path

	name=$1
	committed=0
	boot_here=''
	: >"$out/message"
	: >"$out/$name.cover"
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		'base: '*) ;;
		'cover: '*)
			echo "${line#cover: }" >"$out/$name.cover"
			in_cover=1
			;;
		'== '*.patch)
			commit
			in_cover=''
			path=$(patch_file "${line#== }")
			message_of "$path" >"$out/message"
			fold "$path"
			;;
		'== '*)
			commit
			in_cover=''
			echo "${line#== }" >"$out/message"
			;;
		"+$tab"*) take "${line#??}" ;;
		"-$tab"*)
			path=${line#??}
			[ -e "$repo/$path" ] || die "series/$name: the base has no $path"
			g rm -rq --cached "$path"
			rm -rf "${repo:?}/$path"
			;;
		"*$tab"*)
			path=$(patch_file "${line#??}")
			fold "$path"
			;;
		"!$tab"*)
			path=${line#??}
			cp "$repo/${path%% *}" "$out/unedited"
			sed -i "${path#* }" "$repo/${path%% *}"
			! cmp -s "$out/unedited" "$repo/${path%% *}" ||
				die "series/$name: this edit changes nothing: $path"
			;;
		@figures) figures >>"$out/$name.cover" ;;
		@boot) boot_here=1 ;;
		*)
			if [ -n "$in_cover" ]; then
				echo "$line" >>"$out/$name.cover"
			else
				echo "$line" >>"$out/message"
			fi
			;;
		esac
	done <"$orders/$name"
	boot_here=1
	commit
}

# The table of "make bench" in plain text.
figures()
{
	sed -n '/output:bench -->/,/\/output:bench/p' "$figures" |
		awk -F ' *[|] *' '
			/^[|] ---|^[|] [|]/ { next }
			function line(label, stock, patched, ours, ratio)
			{
				printf "%-49s%10s%10s%10s%8s\n", label, stock, patched, ours, ratio
			}
			/^[|] \*\*/ {
				gsub(/\*/, "")
				print ""
				line($2, "stock", NF > 6 ? "patched" : "", "ours", "ratio")
				next
			}
			/^[|]/ { line("  " $2, $3, NF > 6 ? $4 : "", $(NF - 2), $(NF - 1)) }'
}

# The series in the order in which they are to be applied.
series()
{
	grep -l '^base: pristine' "$orders"/kprobes
	grep -l '^base: ' "$orders"/* | grep -v '/kprobes$'
}

# The commits of a series become files.
write_series()
{
	local name=$1 from=$2 to=$3

	rm -rf "${out:?}/$name"
	# -B writes a file that was replaced as such, not as a mixture of the two.
	g format-patch -q -B -M95% --no-signature --cover-letter --cover-from-description=none \
		--zero-commit -o "$out/$name" "$from..$to"
	awk -v cover="$out/$name.cover" '
		/\*\*\* SUBJECT HERE \*\*\*/ { getline subject < cover; sub(/\*\*\* SUBJECT HERE \*\*\*/, subject) }
		/\*\*\* BLURB HERE \*\*\*/ { while ((getline line < cover) > 0) print line; next }
		{ print }' "$out/$name/0000-cover-letter.patch" >"$out/cover"
	mv "$out/cover" "$out/$name/0000-cover-letter.patch"
	say "build/series/$name: $(g rev-list --count "$from..$to") patches"
}

generate()
{
	local f date left value

	need git:git patch:patch python3:python3
	"$here/tree.sh" >/dev/null
	mkdir -p "$out"
	pristine
	rm -rf "$repo" "$out/taken" "$out/folded"
	: >"$out/taken"
	: >"$out/folded"
	: >"$out/boots"
	mkdir -p "$repo"
	git init -q -b pristine "$repo"
	date=$(git -C "$top" log -1 --format=%cI 2>/dev/null || date -Iseconds)
	export GIT_AUTHOR_DATE=$date GIT_COMMITTER_DATE=$date
	for f in user.name user.email; do
		value=$(git -C "$top" config "$f") ||
			die "git does not know your $f, which goes into the patches: git config --global $f ..."
		g config "$f" "$value"
	done
	g config core.autocrlf false
	# Do not ask for a passphrase at each patch.
	g config commit.gpgsign false
	cp -a "$out/base/." "$repo/"
	g add -A -f
	g commit -q -m 'The base'
	for f in $(series); do
		f=$(basename "$f")
		g checkout -q -b "$f"
		make_series "$f"
	done
	left=$(sort "$out/taken" | comm -13 - <({ cat "$state/laid"; echo MAINTAINERS; } | sort))
	[ -z "$left" ] || die "no patch in series/ has $(echo "$left" | paste -sd' ')"
	left=$(sort "$out/folded" | comm -13 - <(cd "$top/patches" && printf '%s\n' *.patch | sort))
	[ -z "$left" ] || die "no patch in series/ uses patches/$(echo "$left" | paste -sd' ')"

	f=pristine
	for name in $(series); do
		name=$(basename "$name")
		write_series "$name" "$f" "$name"
		f=$name
	done
}

# --------------------------------- Checks ------------------------------------

bad=0
complain() { printf '%s\n' "$*"; bad=$((bad + 1)); }

# The patches of a series, without the cover letter
patches_of() { find "$out/$1" -name '[0-9]*.patch' ! -name '0000-*' | sort; }

# Each series applies to the base that it names, and all of them apply in a row.
check_apply()
{
	local name on patches

	for name in "${names[@]}"; do
		on=$(sed -n 's/^base: //p' "$orders/$name")
		mapfile -t patches < <(patches_of "$name")
		g checkout -q -B check "$on"
		if ! g am -q "${patches[@]}" >"$out/am.log" 2>&1; then
			g am --abort
			complain "$name does not apply to $on: $(tail -n 1 "$out/am.log")"
		fi
	done
	g checkout -q -B check pristine
	for name in "${names[@]}"; do
		mapfile -t patches < <(patches_of "$name")
		g am -q "${patches[@]}" >"$out/am.log" 2>&1 ||
			{ g am --abort; complain "not all series apply in a row: $name"; }
	done
	say "git am: ${#names[@]} series"
}

# Together they make the tree that make kernel builds, except for the emulator's patches.
check_end()
{
	local f p differ=''

	rm -rf "$out/end"
	mkdir -p "$out/end"
	cp -a "$repo/." "$out/end/"
	rm -rf "$out/end/.git"
	for p in $(emulator_patches); do
		# There is no copy of files that no series touches.
		while read -r f; do
			[ -e "$out/end/$f" ] || { mkdir -p "$out/end/$(dirname "$f")"; cp "$state/pristine/$f" "$out/end/$f"; }
		done < <(sed -n 's,^--- a/\([^	]*\).*,\1,p' "$p")
		patch -s -p1 --fuzz=0 --force --no-backup-if-mismatch -d "$out/end" <"$p" >/dev/null || complain "cannot apply ${p##*/} to the end state"
	done
	while read -r f; do
		cmp -s "$out/end/$f" "$src/$f" || differ="$differ $f"
	done < <(cd "$out/end" && find . -type f -printf '%P\n'; cat "$state/laid")
	# Files that are removed have to be removed there, too.
	while read -r f; do
		[ -e "$out/end/$f" ] || [ ! -e "$src/$f" ] || differ="$differ $f"
	done < <(cd "$out/base" && find . -type f -printf '%P\n')
	[ -z "$differ" ] || complain "the end state differs from build/linux:$differ"
	say "end state: $(find "$out/end" -type f | wc -l) files compared with build/linux"
}

# On a base in which a line differs, tree.sh has to name the patch, the file and the hunk, and
# nothing else. The files that a patch touches are enough of a base for this.
check_planted()
{
	local planted=$out/planted p=0010-ftrace-update-only-records-that-change.patch f line log

	rm -rf "$planted"
	mkdir -p "$planted"
	cp -a "$out/base" "$planted/base"
	printf 'VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 999\n' >"$planted/base/Makefile"
	log=$planted/log
	if ! KPROBES_BASE=$planted/base KPROBES_BUILD=$planted/build "$here/tree.sh" >"$log" 2>&1; then
		complain "tree.sh does not take the base as a directory: $(tail -n 1 "$log")"
	fi
	f=$(sed -n 's,^--- a/,,p' "$top/patches/$p" | head -n 1)
	# The first line of context of its last hunk.
	line=$(awk '/^@@/ { want = 1; next } want && /^ ./ { line = substr($0, 2); want = 0 } END { print line }' \
		"$top/patches/$p")
	awk -v line="$line" '$0 == line { $0 = $0 " /* planted */" } { print }' \
		"$planted/base/$f" >"$planted/new"
	mv "$planted/new" "$planted/base/$f"
	if KPROBES_BASE=$planted/base KPROBES_BUILD=$planted/build "$here/tree.sh" >"$log" 2>&1; then
		complain "tree.sh: $p applies to a base in which it cannot"
	elif [ "$(grep -c 'does not apply:$' "$log")" != 1 ] ||
	     ! grep -q "^patches/$p does not apply:$" "$log" ||
	     ! grep -q "^    $f: hunk [0-9]*, near line [0-9]*$" "$log" ||
	     ! grep -q '^kprobes: 1 of [0-9]* patches do not apply to Linux 6.12.999 ' "$log"; then
		complain "tree.sh does not say clearly that $p does not apply: see $log"
	fi
	say "a base with another line in $f: reported"
}

# Leaves out what lint.sh checks better; scripts, which shellcheck checks; continuation lines
# of the base that a patch does not change; and arguments of assembler macros, which are taken
# for words.
checkpatch()
{
	cd "$src" && scripts/checkpatch.pl --strict --terse --no-summary --show-types --showfile \
		--ignore FILE_PATH_CHANGES,LINE_SPACING,TRAILING_SEMICOLON,AVOID_BUG,MACRO_ARG_UNUSED,MACRO_ARG_REUSE,ARCH_INCLUDE_LINUX,INCLUDE_LINUX,PARENTHESIS_ALIGNMENT \
		"$1"
}

check_patches()
{
	local name p found=0 line

	for name in "${names[@]}"; do
		while read -r p; do
			while IFS= read -r line; do
				complain "$name/${p##*/}: $line"
				found=$((found + 1))
			done < <({ checkpatch "$p" 2>&1 || true; } |
				 grep -Ev '^tools/testing/(selftests/)?kprobes/[^:]*([^chS]|[^.][chS]):[0-9]*: |\.S:[0-9]*: WARNING:REPEATED_WORD')
		done < <(patches_of "$name")
	done
	say "checkpatch: $found lines"
}

# lay: the base with what is checked out in the series' repository. A file that stays the same keeps
# its time, so make builds only what differs from what it has built last, whatever
# that was; and ccache knows what has been built before.
lay()
{
	local f cmd

	while read -r f; do
		if [ ! -e "$repo/$f" ]; then
			[ -e "$tree/$f" ] || continue
			rm "$tree/$f"
			# make does not see that a header is gone.
			[[ $f != *.h ]] || { grep -rlF --include='.*.cmd' "$f" "$out"/build-[yn] 2>/dev/null || true; } |
				while read -r cmd; do rm "$cmd"; done
		elif ! cmp -s "$repo/$f" "$tree/$f"; then
			mkdir -p "$(dirname "$tree/$f")"
			cp "$repo/$f" "$tree/$f"
		fi
	done <"$out/touched"
}

# configure y|n: for the tree that is laid, if its options have changed
configure()
{
	local kout=$out/build-$1 f

	mkdir -p "$kout"
	config_options >"$kout/.options"
	if [ "$1" = n ]; then
		sed -i '/CONFIG_\(KPROBES\|JPROBES\)=/d' "$kout/.options"
		echo '# CONFIG_KPROBES is not set' >>"$kout/.options"
		echo '# CONFIG_KGDB_HONOUR_BLOCKLIST is not set' >>"$kout/.options"
	fi
	{
		cat "$kout/.options"
		grep Kconfig "$out/touched" | while read -r f; do [ ! -e "$tree/$f" ] || cat "$tree/$f"; done
	} | cksum >"$kout/.asked.new"
	if [ ! -e "$kout/.config" ] || ! cmp -s "$kout/.asked.new" "$kout/.asked"; then
		rm -f "$kout/.asked"
		KCONFIG_ALLCONFIG=$kout/.options kmake "$kout" -s allnoconfig >"$log" 2>&1 </dev/null || return
		mv "$kout/.asked.new" "$kout/.asked"
	fi
}

# boot_shows y|n: what a kernel with that .config has to say when it is booted, a line each
boot_shows()
{
	[ "$1" = y ] || { echo 'without kprobes'; return; }
	sed -n 's/^CONFIG_KPROBE_EVENTS=y$/events/p
		s/^CONFIG_SAMPLE_KPROBES=m$/kprobe_example/p
		s/^CONFIG_SAMPLE_KRETPROBES=m$/kretprobe_example/p
		s/^CONFIG_SAMPLE_JPROBES=m$/jprobe_example/p
		s/^CONFIG_KPROBES_SANITY_TEST=m$/suites/p' "$out/build-$1/.config"
}

# boot y|n: the kernel that is built there, with one CPU, as it lacks the emulator's patches
boot()
{
	local log=$out/boot-$1.log part status=0

	KPROBES_BUILD=$out EMULATOR_PATCHES=0 "$here/guest.sh" -c 1 -t 600 -m 512 -l "boot-$1" \
		-a "loglevel=7 tsc=reliable kunit.enable=1 kunit.filter_glob=kprobes_[ah]*" "$out/build-$1" series \
		>"$log" 2>&1 || status=1
	while read -r part; do
		grep -qx "ok - $part" "$log" || { echo "kprobes: missing: ok - $part" >>"$log"; status=1; }
	done < <(boot_shows "$1")
	! grep -q '^not ok' "$log" || status=1
	[ $status -eq 0 ] || { grep -v '^ok' "$log" | tail -n 5 >&2; return 1; }
}

# same y|n COMMIT: would make find nothing to do there? The .config and what judges are those of
# the last build, and no file that differs from what was built then was read for it, nor says what
# has to be built.
same()
{
	local kout=$out/build-$1 last config changed

	read -r last config <"$kout/.laid" 2>/dev/null || return
	[ "$config" = "$judges $(cksum <"$kout/.config")" ] || return
	changed=$(g diff --name-only "$last" "$2" 2>/dev/null) || return
	changed=$(sed '/^$/d; /^Documentation\//d; /^tools\/testing\//d; /\(^\|\/\)Kconfig[^/]*$/d' <<<"$changed")
	[ -n "$changed" ] || return 0
	! grep -qE '(^|/)(Kbuild|Makefile)[^/]*$|^scripts/|^tools/objtool/' <<<"$changed" || return
	! grep -rqF --include='.*.cmd' -e "$changed" "$kout"
}

# build_at NAME NUMBER COMMIT: at this patch, with KPROBES=y where it can be had, and
# without; and boot it where that is asked for. What is noted in built was made of the
# same files and options.
build_at()
{
	local name=$1 nr=$2 at=$1/$2 commit=$3 key y log start=$SECONDS did='' target boots='' warnings lost

	! grep -qxF "$at" "$out/boots" || boots=1
	key=$(g rev-parse "$commit^{tree}")-$judges
	if grep -qxF "$key${boots:+ booted}" "$out/built"; then
		say "$at: known to build"
		return
	fi
	g checkout -q "$commit"
	lay
	for y in y n; do
		log=$out/build-$y.log
		build_begins "$out/build-$y" "$log" all_warnings
		configure $y || die "$at does not configure: see $log"
		# In the middle of the first series, KPROBES is not available.
		if [ $y = y ] && ! grep -qx CONFIG_KPROBES=y "$out/build-$y/.config"; then
			[ -z "$boots" ] || die "$at is to boot with KPROBES=y, which is not available"
			continue
		fi
		if [ $y = y ] && [ "$(grep "^$name/" "$out/boots" | tail -n 1)" = "$at" ]; then
			lost=$(sed -n '/^CONFIG_/p' "$out/build-$y/.options" | grep -vxFf "$out/build-$y/.config" | paste -sd' ') || true
			[ -z "$lost" ] || die "$at: kconfig did not accept $lost"
		fi
		if { [ -z "$boots" ] || [ -e "$out/build-$y/.booted" ]; } && same $y "$commit"; then
			did="$did KPROBES=$y (as before)"
			continue
		fi
		rm -f "$out/build-$y/.laid" "$out/build-$y/.booted"
		target=vmlinux
		[ -z "$boots" ] || target=bzImage
		kmake "$out/build-$y" -j"$(nproc)" $target modules >"$log" 2>&1 </dev/null &
		progress $! "$at KPROBES=$y" "$log" || {
			grep -m 5 -E 'error:|undefined|ERROR' "$log" >&2 || true
			die "$at does not build with KPROBES=$y: see $log"
		}
		warnings=$(all_warnings "$out/build-$y" "$log") || cannot_look "$log"
		build_checked "$out/build-$y"
		if [ -n "$warnings" ]; then
			printf '%s\n' "$warnings" | head -n 5 >&2
			die "$at makes warnings with KPROBES=$y: see $log"
		fi
		echo "$(g rev-parse "$commit^{tree}") $judges $(cksum <"$out/build-$y/.config")" >"$out/build-$y/.laid"
		did="$did KPROBES=$y"
		if [ -n "$boots" ]; then
			boot $y || die "$at does not boot with KPROBES=$y: see $out/boot-$y.log"
			touch "$out/build-$y/.booted"
			did="$did (boots)"
		fi
	done
	echo "$key${boots:+ booted}" >>"$out/built"
	say "$at builds:$did, $((SECONDS - start)) s: $(g log -1 --format=%s)"
}

kmake()
{
	local kout=$1

	shift
	"${interruptible[@]}" make -C "$tree" O="$kout" ARCH=x86_64 CC="ccache gcc" HOSTCC="ccache gcc" LOCALVERSION= \
		PAHOLE=none KCPPFLAGS="-fmacro-prefix-map=../tree/=" "$@"
}

# The whole base, in which lay() replaces the files that the series touch.
prepare_tree()
{
	need_build
	ccache_env
	need_space 4000 "building the series"
	touch "$out/built" "$out/touched"
	# What else decides if a patch builds and boots
	judges=$({
		cat "$state/base" "$here"/{series,warnings,guest}.sh "$here"/guest/{init,lib.sh,jobs/series.sh}
		config_options
		echo "$SPLATS"
		gcc --version
		emulator_version
	} 2>/dev/null | sha1sum | cut -c1-8)
	g log --name-only --format= --all | sort -u | sed '/^$/d' >"$out/touched.new"
	# Files that no series touches any more have to be the base's again.
	if ! cmp -s "$state/base" "$out/tree.stamp" ||
	   [ -n "$(comm -23 "$out/touched" "$out/touched.new")" ]; then
		say "unpacking the base"
		rm -rf "$tree" "$out"/build-[yn] "$out/tree.stamp"
		extract_base "$tree"
		cp "$state/base" "$out/tree.stamp"
	fi
	mv "$out/touched.new" "$out/touched"
}

# The patches of all series, one after the other.
check_build()
{
	local name nr commits i=0 n=0

	prepare_tree
	[ ! -s "$out/boots" ] || need_qemu
	mapfile -t commits < <(g rev-list --reverse pristine..check)
	for name in "${names[@]}"; do
		nr=0
		while read -r _; do
			nr=$((nr + 1))
			i=$((i + 1))
			case $range in
			all|build) ;;
			"$name="*)
				[ "$nr" -ge "${from:-1}" ] || continue
				[ "$nr" -le "${to:-999}" ] || continue
				;;
			*) continue ;;
			esac
			n=$((n + 1))
			build_at "$name" "$nr" "${commits[i - 1]}"
		done < <(patches_of "$name")
	done
	[ "$n" -gt 0 ] || die "no patch is $range"
	g checkout -q check
	say "builds: $n patches, $((SECONDS / 60)) min"
}

# test_here [GLOB]: what is checked out, as git bisect wants to know it
test_here()
{
	local glob=${1:-kprobes_hit} log=$out/build-y.log found=$out/boot-test.log here_is

	# If this ends before there is a verdict, that says nothing about the commit. git
	# bisect then stops instead of taking the commit for a bad one.
	verdict=255
	trap 'exit $verdict' EXIT
	[ -e "$repo/.git" ] || die "no build/series/repo: make series makes it"
	here_is=$(g log -1 --format=%s)
	prepare_tree
	need_qemu
	lay
	rm -f "$out/build-y/.laid" "$out/build-y/.booted"
	# This does not look for warnings, so the next check has to.
	build_begins "$out/build-y" "$log" all_warnings
	if ! configure y || ! grep -qx CONFIG_KPROBES_SANITY_TEST=m "$out/build-y/.config"; then
		verdict=125
		die "no KUnit suites here: $here_is"
	fi
	kmake "$out/build-y" -j"$(nproc)" bzImage modules >"$log" 2>&1 </dev/null &
	progress $! "build" "$log" || {
		grep -m 5 -E 'error:|undefined|ERROR' "$log" >&2 || true
		verdict=125
		die "does not build, see $log: $here_is"
	}
	KPROBES_BUILD=$out EMULATOR_PATCHES=0 "$here/guest.sh" -c 1 -t 900 -m 512 -l boot-test \
		-a "loglevel=7 tsc=reliable kunit.enable=1 kunit.filter_glob=$glob" \
		"$out/build-y" kunit >"$found" 2>&1 || echo 'not ok - the guest failed' >>"$found"
	# The suite may be one that the options leave out here.
	awk -v picked=1 -f "$here/ktap.awk" "$out/logs/boot-test.console" >>"$found"
	if grep -m 5 '^not ok' "$found"; then
		verdict=1
		say "bad, see $found: $here_is"
	elif ! grep -q '^ok' "$found"; then
		verdict=125
		say "skipped, no suite $glob here: $here_is"
	else
		verdict=0
		say "good, $(grep -c '^ok' "$found") cases: $here_is"
	fi
	exit
}

# ---------------------------------------------------------------------------

figures=$here/bench/figures.md
range=${2:-all}
from=${range#*=}
to=${from#*-}
from=${from%-*}
[[ $range == *=* ]] || { from=''; to=''; }
lock series 2>/dev/null || { mkdir -p "$build"; lock series; }
[ "${1:-}" != test ] || test_here "${2:-}"
generate
[ "${1:-}" = check ] || exit 0
mapfile -t names < <(series | sed 's,.*/,,')
check_apply
check_end
check_planted
[ "$range" = build ] || check_patches
[ "$range" = nobuild ] || check_build
[ $bad -eq 0 ] || die "series: $bad complaints, above"
counted "kprobes: series: all is well"
