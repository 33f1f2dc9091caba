#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Checks that barriers and locks are there. No test can show that a barrier is missing on a
# machine that does not reorder these accesses, and few can show it of a lock that is seldom
# held by others. ordering.list has what must be there, in the code of our files, and in what
# the compiler is told when it makes that code.
#
#   ordering.sh ARCH KERNEL [PREFIX]   the list's name for it; the kernel's folder; that of
#                                      the names of its binutils
#   ordering.sh --list KERNEL FILE...  prints what these sources tell the compiler
#
# Ends with "ok" or "not ok".
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

use_tree
scratch
status=0

wrong()
{
	echo "not ok - ordering: $*"
	status=1
}

listed() { awk -v what="$1" -v arch="$arch" '$1 == what && $2 == arch { $1 = $2 = ""; print }' "$here/ordering.list"; }

# told FILE...: what these sources, and the headers they include, tell the compiler: FILE KIND
# LINE. They are compiled again as the kernel's build has done it.
told()
{
	local file object command

	for file; do
		object=${file%.c}.o
		command=$(sed -n '1s/^savedcmd_[^ ]* := //p' "$kernel/${object%/*}/.${object##*/}.cmd" 2>/dev/null |
			sed 's/ ; .*//; s/ -Wp,-MMD,[^ ]*//') || true
		case $command in
		*" -c -o $object "*) ;;
		*) echo "$file: the kernel's build did not compile it" >&2; return 1 ;;
		esac
		command=${command/ -c -o $object / -w -include "$here/ordering.h" -S -o "$tmp/out.s" }
		(cd "$kernel" && eval "$command") 2>"$tmp/errors" || {
			echo "$file: $(grep -m 1 error "$tmp/errors" || tail -n 1 "$tmp/errors")" >&2
			return 1
		}
		sed -n 's/.*# kprobes-ordering \([a-z_()]*\) \([^ ]*\) \([0-9]*\)$/\2 \1 \3/p' "$tmp/out.s"
	done | sort -u | while read -r file kind line; do
		case $kind in
		barrier | preempt_*)
			sed -n "${line}p" "$kernel/source/$file" | grep -qF "$kind()" || continue
			;;
		esac
		echo "$file" "$kind" "$line"
	done
}

# how_often: of what is told: FILE KIND and how often
how_often() { cut -d' ' -f1,2 | sort | uniq -c | awk '{ print $2, $3, $1 }'; }

# around FILE LINE: the code before this line of a source, and the code after it, on a line each
around()
{
	awk -v at="$2" '
		{
			code = $0
			if (comment && !sub(/^.*\*\//, "", code))
				next
			comment = 0
			gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", code)
			if (sub(/\/\*.*/, "", code))
				comment = 1
			gsub(/^[ \t]+|[ \t]+$/, "", code)
		}
		NR == at { print before; after = 1; next }
		code == "" { next }
		after { print code; exit }
		{ before = code }' "$kernel/source/$1"
}

if [ "$1" = --list ]; then
	kernel=$2
	shift 2
	told "$@" | how_often
	exit
fi
arch=$1 kernel=$2 prefix=${3:-} code=0 sources=0 places=0

compiler=$(sed -n 's/^CONFIG_GCC_VERSION=\(.*\)..../\1/p' "$kernel/.config")
while read -r file least insn; do
	[ "$compiler" = 12 ] || break
	nr=$({ "${prefix}objdump" -dr --no-show-raw-insn "$kernel/$file" || true; } |
		sed 's/[[:space:]]*$//' | grep -cE "\\s$insn" || true)
	code=$((code + 1))
	[ "$nr" -ge "$least" ] || wrong "$file for $arch has $nr of $least: $insn"
done < <(listed code)

mapfile -t files < <(listed source | awk '{ print $1 }' | grep '\.c$' | sort -u)
if [ ${#files[@]} -gt 0 ]; then
	if told "${files[@]}" >"$tmp/lines" 2>"$tmp/failed"; then
		how_often <"$tmp/lines" >"$tmp/told"
		# Of other files, only what is listed.
		listed source | awk '{ print $1, $2, $3 }' | sort >"$tmp/listed"
		awk 'NR == FNR { file[$1] = 1; next } $1 in file' "$tmp/listed" "$tmp/told" >"$tmp/ours"
		while read -r file kind nr; do
			sources=$((sources + 1))
			have=$(awk -v file="$file" -v kind="$kind" '$1 == file && $2 == kind { print $3 }' "$tmp/ours")
			[ "${have:-0}" = "$nr" ] || wrong "$file has ${have:-0} of $nr: $kind"
		done <"$tmp/listed"
		while read -r file kind nr; do
			grep -q "^$file $kind " "$tmp/listed" || wrong "$file has $nr: $kind, which is not listed"
		done <"$tmp/ours"
		while read -r file kind place; do
			places=$((places + 1))
			mapfile -t at < <(awk -v file="$file" -v kind="$kind" '$1 == file && $2 == kind { print $3 }' "$tmp/lines")
			for line in "${at[@]}"; do
				mapfile -t code_at < <(around "$file" "$line")
				[[ ${code_at[0]} == "${place% | *}"* && ${code_at[1]} == "${place#* | }"* ]] && continue 2
			done
			wrong "$file has no $kind between: $place"
		done < <(listed place)
	else
		wrong "$(cat "$tmp/failed")"
	fi
fi

[ $((code + sources)) -gt 0 ] || wrong "nothing is listed for $arch"
[ $status -ne 0 ] || echo "ok - ordering: barriers and locks of $arch are there: $code kinds in code$(
	[ "$compiler" = 12 ] || echo ", not counted by gcc $compiler"), $sources in sources, $places between two accesses"
exit $status
