# SPDX-License-Identifier: GPL-2.0
# Judges how a guest of survive.sh has ended. Sourced by it, and by its self-test.
# shellcheck shell=bash disable=SC2154

# survive_verdict STATUS CONSOLE OUTPUT [KILLER]: one line. "survives" means that all calls were
# made, that the kernel did not complain, and that no handler was late, missed or called for
# something else. On ours, which report what is left over, each call also has to have the right
# result. "hangs" means no call for longer than a slow machine takes; one that is merely slow is
# "not done" in time. KILLER is that of a row of torture, which has to have done its work, or
# "alone".
survive_verdict()
{
	local broken warnings bad last

	broken=$(grep -aoE 'BUG: [^.]*|Oops[:a-z ]*|general protection fault|stack segment|double fault|Kernel panic.*|kernel BUG.*|soft lockup.*|(self-detected|detected) .*stall.*|blocked for more than' "$2" |
		head -n 1 | sed 's/ \?[:,-] \?\(address\|0000\|CPU\).*//; s/[[:space:]]*$//') || true
	# What the base warns of, it says before the line with "WARNING: ".
	warnings=$(tr -d '\0' <"$2" | awk -v base="$BASE_REPORTS" '
		/cut here|end trace/ { known = 0 }
		$0 ~ base { known = 1 }
		/WARNING: / && !known { sub(/.* at /, ""); print $1 }')
	bad=$(awk -v killer="${4:-}" '
		function add(what) { s = s (s == "" ? "" : ", ") what }
		NF == 2 && ($1 ~ /^(late|unseen|spoiled|inexact|unequal|errors)$/ || $1 ~ /^left_/) && $2 != 0 {
			add($1 " " $2)
		}
		NF == 2 { value[$1] = $2 }
		$1 == "killer" { killed[$2] = $3 }
		killer != "" && $1 == "failed" { add($0) }
		END {
			if (killer != "" && value["rounds"] < 1)
				add("rounds " value["rounds"] + 0)
			if (killer != "" && killer != "alone" && killed[killer] < 1)
				add("killer " killer " " killed[killer] + 0)
			if (!value["calls"])
				s = "no result"
			else if ("left_points" in value && value["wrong"] != 0)
				add("wrong " value["wrong"])
			print s
		}' "$3")
	if [ -n "$broken" ]; then
		echo "breaks: $broken"
	elif [ "$1" -ne 0 ] && [ "$bad" = 'no result' ]; then
		last=$(tail -n 1 "$3")
		if [[ $last =~ ' printed nothing for '([0-9]+" s") ]]; then
			echo "hangs: no call in ${BASH_REMATCH[1]}"
		elif [[ $last =~ ' did not end within '([0-9]+" s") ]]; then
			echo "not done in ${BASH_REMATCH[1]}"
		elif [[ $last == *' ended before the job did'* ]]; then
			echo "ends without a word"
		else
			echo "fails: $last"
		fi
	elif [ "$1" -ne 0 ]; then
		echo "fails: $(tail -n 1 "$3")"
	elif [ -n "$bad" ]; then
		echo "wrong: $bad"
	elif [ -n "$warnings" ]; then
		echo "warns $(wc -l <<<"$warnings") times: ${warnings%%$'\n'*}"
	else
		echo "survives"
	fi
}

# window_verdict STATUS OUTPUT: the same of a window of everything.sh. Without a window that has
# failed, it is not the kernel that is to blame.
window_verdict()
{
	local why

	why=$(sed -n 's/^FAILED window [^:]*: //p' "$2" | head -n 1 | sed 's/ (build\/.*//')
	if [ -n "$why" ]; then
		echo "fails: $why"
	elif [ "$1" -ne 0 ]; then
		echo "not run: $(tail -n 1 "$2")"
	else
		echo "survives"
	fi
}

# survive_table KERNEL...: a row for each "NAME<tab>KERNEL<tab>VERDICT" on standard input
survive_table()
{
	awk -F '\t' -v kernels="$*" '
		!($1 in seen) { seen[$1] = 1; name[++n] = $1 }
		{ cell[$1, $2] = $3 }
		END {
			k = split(kernels, kernel, " ")
			printf "%-28s", ""
			for (i = 1; i <= k; i++)
				printf "%s%s", i == 1 ? "" : "  ", i < k ? sprintf("%-52s", kernel[i]) : kernel[i]
			print ""
			for (j = 1; j <= n; j++) {
				printf "%-28s", name[j]
				for (i = 1; i <= k; i++) {
					c = (name[j], kernel[i]) in cell ? cell[name[j], kernel[i]] : "not run"
					printf "%s%s", i == 1 ? "" : "  ", i < k ? sprintf("%-52s", c) : c
				}
				print ""
			}
		}'
}
