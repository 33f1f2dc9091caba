# SPDX-License-Identifier: GPL-2.0
# Keeps what has already passed, for runs that resume where the last one stopped. Source it
# after common.sh.
# shellcheck shell=bash disable=SC2154

# A result is a line of a file: name, verdict, counts, and what is wrong. The last one of
# a name counts.

# product: everything that the results of a kernel depend on, except its options: the compiler
# and the emulator, the base in build/linux, the patches for the emulator, and our files
product()
{
	local tool

	for tool in gcc qemu-system-x86_64; do
		{ "$tool" --version 2>/dev/null || echo "no $tool"; } | sed -n 1p
	done
	cat "$build/.tree/base"
	emulator_patches | xargs -r -d '\n' cat
	(cd "$top" && find arch include kernel lib samples patches -type f |
		LC_ALL=C sort | xargs -d '\n' sha1sum)
}

# other_compilers: the versions of those that build for other architectures, and of clang. Results
# for x86 by gcc do not depend on them, and stay when one is installed.
other_compilers()
{
	local tool

	for tool in $(compgen -c | grep -xE '[a-z0-9_]+-linux-gnu[a-z0-9]*-gcc|clang-[0-9]+' | LC_ALL=C sort -u); do
		{ "$tool" --version 2>/dev/null || echo "no $tool"; } | sed -n 1p
	done
}

# tested: everything that test results on the kernel of CONFIG depend on: what is built, and
# what runs
tested()
{
	product
	(cd "$here" && find guest modules emulator kprobetop ./*.{sh,awk,list,py,c,cc,h} \
		-type f | LC_ALL=C sort | xargs -d '\n' sha1sum)
	# Not only the options: "# traced" and the like say what runs.
	fragment_lines "$CONFIG.config"
}

# known_start DIR [NAME...]: forget the results there if they are not for the sources on standard
# input, which end with a line "whole": if a command there fails, what comes after it is missing,
# and would not count. With AGAIN=1, forget the results of these names, or all.
known_start()
{
	local id sources=$1/sources

	known=$1/results
	shift
	cat >"$sources" || die "cannot write $sources: is the disk full?"
	[ "$(tail -n 1 "$sources")" = whole ] ||
		die "cannot read all that the results in ${known%/*} depend on: see above, or empty that folder"
	id=$(sha1sum <"$sources" | cut -c1-16)
	rm "$sources"
	if [ "$(cat "${known%/*}/id" 2>/dev/null)" != "$id" ]; then
		: >"$known"
		echo "$id" >"${known%/*}/id"
	elif [ -n "${AGAIN:-}" ]; then
		forget "$known" "$@"
	fi
}

# forget FILE [NAME...]: the lines there whose first word is one of these, or all
forget()
{
	local file=$1

	shift
	if [ $# -gt 0 ]; then
		awk -v names="$*" '
			BEGIN { for (n = split(names, name, " "); n; n--) gone[name[n]] }
			!($1 in gone)' "$file" >"$file.new"
		mv "$file.new" "$file"
	else
		: >"$file"
	fi
}

# known_add NAME VERDICT COUNTS WHY
known_add() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$known"; }

# known_verdict NAME
known_verdict() { awk -F '\t' -v n="$1" '$1 == n { v = $2 } END { print v }' "$known"; }

# known_sum WHAT: the counts for the names on standard input, lines of NAME REST. Before the
# counts come the names that have not passed.
known_sum()
{
	local n values verdict good=0 bad=0 impossible=0 left=0

	while read -r n values; do
		verdict=$(known_verdict "$n")
		case $verdict in
		passed) good=$((good + 1)) ;;
		impossible) impossible=$((impossible + 1)) ;;
		'') left=$((left + 1)) ;;
		*) bad=$((bad + 1)) ;;
		esac
		case $verdict in passed | '') continue ;; esac
		echo "$n:${values:+ $values:} $(awk -F '\t' -v n="$n" '$1 == n { v = $2 ": " $4 } END { print v }' "$known")"
	done
	echo
	[ $impossible -eq 0 ] || echo "$impossible impossible"
	counted "$good passed, $bad failed, $left left, of $((good + bad + impossible + left)) $1"
	[ $((good + bad)) -gt 0 ] || [ $left -eq 0 ] || say "none of the $1 was done in time: MINUTES= gives more" >&2
	[ $bad -eq 0 ] && [ $good -gt 0 ]
}
