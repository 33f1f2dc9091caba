# SPDX-License-Identifier: GPL-2.0
# Judges the reports of KCSAN. Sourced.
# shellcheck shell=bash disable=SC2154

# A report with a function of ours in one of its two stacks is ours, wherever the racing
# accesses are, unless kcsan.list says why it is not. A function that was only interrupted does
# not count. All other reports are the base's.

# our_symbols KERNELDIR: the functions of our files in that kernel
our_symbols()
{
	local objects=() f

	while read -r f; do
		[[ $f != *.[cS] ]] || [ ! -e "$1/${f%.*}.o" ] || objects+=("$1/${f%.*}.o")
	done <"$build/.tree/laid"
	for f in "$1"/kprobes-modules/*.o; do
		[[ ! -e $f || $f == *.mod.o ]] || objects+=("$f")
	done
	[ ${#objects[@]} -gt 0 ] || return 0
	nm "${objects[@]}" 2>/dev/null | awk 'NF == 3 && tolower($2) ~ /[tw]/ { print $3 }' | sort -u
}

# without_races: a console without the reports. Only the line that names the race would count
# as a splat.
without_races() { grep -av 'BUG: KCSAN: '; }

# races CONSOLE SYMBOLS LIST: a line for each report: "ours", "known" or "base", what races with
# what and, for ours, the frames.
races()
{
	awk -v symbols="$2" -v list="$3" '
		function ends(    i, whose, side) {
			if (title == "")
				return
			whose = ours ? "ours" : "base"
			split(title, side, " / ")
			if (side[2] == "")
				side[2] = "*"
			for (i = 1; i <= n; i++)
				if (fits(side[1], one[i]) && fits(side[2], two[i]) ||
				    fits(side[1], two[i]) && fits(side[2], one[i]))
					whose = "known"
			print whose "\t" title (whose == "ours" ? "\t" frames : "")
			title = ""
		}
		function fits(name, pattern) { return pattern == "*" || name == pattern }
		BEGIN {
			while ((getline line < symbols) > 0)
				symbol[line] = 1
			while ((getline line < list) > 0) {
				split(line, word, " ")
				if (line ~ /^(#|$)/)
					continue
				if (line !~ /[ \t]# *[^ ]/)
					print "ours\tkcsan.list: no reason: " line
				one[++n] = word[1]
				two[n] = word[2]
			}
		}
		{
			gsub(/\r/, "")
			sub(/^\[[^]]*\] ?/, "")
		}
		/^BUG: KCSAN: / {
			ends()
			title = $0
			sub(/^BUG: KCSAN: .* in /, "", title)
			gsub(/\+0x[0-9a-f]+\/0x[0-9a-f]+/, "", title)
			gsub(/ \[[a-z0-9_]*\]/, "", title)
			gsub(/\.(constprop|isra|part|cold)[.0-9]*/, "", title)
			ours = 0
			frames = ""
			next
		}
		title == "" { next }
		/^==========/ { ends(); next }
		/ (to|at) 0x[0-9a-f]+ .*of [0-9]+ bytes by / { frames = frames " | " $0 ":"; interrupted = 0 }
		/^ [A-Za-z_][A-Za-z0-9_.]*\+0x/ {
			frames = frames $0
			name = $1
			sub(/\+0x.*/, "", name)
			if (name ~ /^asm_/)
				interrupted = 1
			if (name in symbol && !interrupted)
				ours = 1
		}
		END { ends() }' "$1"
}
