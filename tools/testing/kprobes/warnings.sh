# SPDX-License-Identifier: GPL-2.0
# Finds the warnings of a build. Sourced.
# shellcheck shell=bash disable=SC2154

# A build compiles only what has changed, so a warning appears once. If a build fails or is
# interrupted after a warning, the next one does not compile that object again. So .unchecked
# is in the folder of a kernel from the beginning of a build until its log has been searched
# for warnings.

# build_begins OUT LOG WHAT...: before LOG is overwritten. If the last build was left
# unchecked, "WHAT... OUT LOG" forgets the objects that it has warned about.
build_begins()
{
	mkdir -p "$1"
	if [ -e "$1/.unchecked" ] && [ -e "$2" ]; then
		"${@:3}" "$1" "$2" >/dev/null || cannot_look "$2"
	fi
	touch "$1/.unchecked"
}

# cannot_look LOG: the warnings there are not known. The folder of the kernel stays unchecked.
cannot_look() { die "cannot look for warnings in $1: is the disk of ${TMPDIR:-/tmp} full?"; }

# build_checked OUT: its warnings are known
build_checked() { rm -f "$1/.unchecked"; }

# all_warnings OUT LOG: the warnings of a build about any file. If there are any, all files are
# built again the next time: make does not know which file a warning came from.
all_warnings()
{
	local status=0

	grep '[Ww]arning:\|WARNING:' "$2" || status=$?
	[ $status -eq 0 ] || return $((status != 1))
	find "$1" -name '*.o' -delete
}

# our_warnings LOG LAID SYMBOLS: the warnings of a build about our files. LAID lists the
# files, SYMBOLS their functions: objtool and modpost name nothing else. A warning of
# these two that names no function counts as ours.
our_warnings()
{
	awk -v laid="$2" -v symbols="$3" '
		BEGIN {
			while ((getline line < laid) > 0) {
				if (line !~ /\.[chS]$/)
					continue
				file[line] = 1
				sub(/\.[chS]$/, ".o", line)
				file[line] = 1
				sub(/[^\/]*$/, "", line)
				dir[line] = 1
			}
			while ((getline line < symbols) > 0)
				symbol[line] = 1
		}
		!/[Ww]arning:|WARNING:/ { next }
		{
			ours = 0
			tool = /objtool:|modpost:/
			n = split($0, word, /[^A-Za-z0-9_.\/-]+/)
			for (i = 1; i <= n; i++) {
				w = word[i]
				while (sub(/^\.\.\/[^\/]*\//, "", w));
				sub(/^\.\//, "", w)
				if (w in file)
					ours = 1
				if (!tool)
					continue
				d = w
				sub(/[^\/]*$/, "", d)
				if (w in symbol || (d != "" && d in dir) || w ~ /\/kprobes-modules\//)
					ours = 1
			}
			if (/objtool: \./)
				ours = 1
			if (/kprobes-modules\/kprobe_|^kprobe_[a-z]*\.[ch]:/)
				ours = 1
		}
		ours' "$1"
}

# warnings_of OUT LOG: those of a build of build/linux into OUT. Their files are built
# again the next time, so that the warnings appear again. Fails if it cannot look for them.
warnings_of()
{
	local tmp status=0

	tmp=$(mktemp -d) || return
	find_warnings "$1" "$2" "$tmp" || status=$?
	rm -rf "$tmp"
	return $status
}

# find_warnings OUT LOG DIR. Callers may run this where a failure does not end it.
find_warnings()
{
	local out=$1 log=$2 tmp=$3 objects=() f

	cat "$build/.tree/laid" "$build/.tree/patched" >"$tmp/files" || return
	while read -r f; do
		[[ $f != *.[cS] ]] || [ ! -e "$out/${f%.*}.o" ] || objects+=("$out/${f%.*}.o")
	done <"$tmp/files"
	{ nm "${objects[@]}" 2>/dev/null || true; } |
		awk 'NF == 3 && tolower($2) != "u" { print $3 }' >"$tmp/symbols" || return
	# The compiler cache leaves some paths absolute.
	sed "s,$src/,,g" "$log" >"$tmp/log" || return
	our_warnings "$tmp/log" "$tmp/files" "$tmp/symbols" >"$tmp/warnings" || return
	[ -s "$tmp/warnings" ] || return 0
	rm -f "${objects[@]}" "$out/vmlinux.o" "$out"/kprobes-modules/*.o
	sort -u "$tmp/warnings"
}
