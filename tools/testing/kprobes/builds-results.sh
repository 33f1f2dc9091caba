# SPDX-License-Identifier: GPL-2.0
# Evaluates kbuild's output for test-builds.sh. Sourced by it, and by its self-test.
# shellcheck shell=bash

# objects_on DRY WANTED: the objects of these sources that kbuild compiles, judging by the
# output of "make -n". A source may also have an object of another name: switch.nvhe.o.
objects_on()
{
	awk '
		NR == FNR { sub(/\.[cS]$/, ""); wanted[$0] = 1; next }
		match($0, /echo \047  (CC|AS)( \[[A-Z]\])? +[^ \047]+\.o\047/) {
			o = substr($0, RSTART, RLENGTH - 1)
			sub(/.* /, "", o)
			name = o
			sub(/\.o$/, "", name)
			if (!(name in wanted))
				sub(/\.[a-z]+$/, "", name)
			if (name in wanted)
				print o
		}' "$2" "$1" | LC_ALL=C sort -u
}

# complaints SRC LOG: the errors and warnings of a build of that tree, such that those of
# another tree, where lines and addresses differ, are the same
complaints()
{
	{ grep -E '([Ww]arning|WARNING|[Ee]rror|ERROR):' "$2" || true; } |
		sed -E "s,$1/,,g; s,(\.\./)+${1##*/}/,,g; s,(\.\./)+[a-z]+/${1##*/}/,,g
			s/:[0-9]+(:[0-9]+)?:/:/g; s/\+0x[0-9a-f]+//g; s/^make\[[0-9]+\]/make/" |
		LC_ALL=C sort -u
}

# build_faults DIR y|n: a line for everything that is wrong with a build; none if it is good.
# Files there:
#   on               the objects that kbuild has to compile
#   ours             those of them that are ours
#   ours-missing     those of ours that were not made
#   warnings         about ours, with W=1
#   tree-missing, tree-complaints   the same of the callers, without W=1
#   base-missing, base-complaints   these in the base with its own kprobes
build_faults()
{
	local dir=$1

	# An incomplete list would let anything pass.
	grep -qx init/main.o "$dir/on" || echo "init/main.o: kbuild does not list it"
	if [ "$2" = y ]; then
		grep -qx kernel/kprobes.o "$dir/ours" || echo "kernel/kprobes.o: kbuild does not list it"
	elif grep -q '^kernel/kprobes' "$dir/on"; then
		echo "$(grep -m 1 '^kernel/kprobes' "$dir/on"): compiled without KPROBES"
	fi
	sed 's/$/: does not compile/' "$dir/ours-missing"
	cat "$dir/warnings"
	LC_ALL=C comm -23 "$dir/tree-missing" "$dir/base-missing" |
		sed 's/$/: does not compile, unlike in the base/'
	LC_ALL=C comm -23 "$dir/tree-complaints" "$dir/base-complaints"
}
