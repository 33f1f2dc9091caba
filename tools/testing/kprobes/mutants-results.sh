# SPDX-License-Identifier: GPL-2.0
# Evaluates what the guests of mutants.sh print. Sourced by it, and by its self-test.
# shellcheck shell=bash disable=SC2154

# guest_fault OUTPUT LOG SECONDS: what went wrong in a guest that failed: its kernel complained,
# crashed or hung, or the job says so. Prints nothing if the guest did not boot, had too little
# time, or did not run at all: that is this machine's fault.
guest_fault()
{
	local said status

	said=$(sed -n '$s/^kprobes: //p' "$1")
	case $said in
	"the guest's kernel complained"*)
		echo "$said"
		return
		;;
	esac
	grep -aqs '^kprobes-guest: up' "$2.console" || return 0
	case $said in
	"the guest's kernel has found "* | 'guest: ended before '*) echo "$said" ;;
	'guest: '*' did not end within '*)
		# If the machine is merely slow, something is printed now and then.
		status=$(stat -c %Y "$2.console" "$2.out" | sort -n | tail -n 1)
		[ $(($(date +%s) - status)) -lt $(($3 / 2)) ] || echo "$said"
		;;
	'')
		status=$(sed -n 's/^kprobes-guest: exit //p' "$2.out" | tail -n 1)
		[ "${status:-0}" = 0 ] || echo "its job ended with status $status"
		;;
	esac
}

# mutant_verdict FILE: "caught", "survived" or "not run", a tab, and why. FILE has the
# lines of the tests, "not ok - the guest failed: ..." and "not run - ..." among them.
mutant_verdict()
{
	awk '
		/^ok - / { ok = 1 }
		# That some have not run is then not their failure.
		/^not ok - [a-z0-9_]+\./ && named == "" { named = substr($0, 10) }
		/^not ok - / && why == "" { why = substr($0, 10) }
		/^not run - / && not_run == "" { not_run = substr($0, 11) }
		END {
			if (named != "" || (why != "" && not_run == ""))
				print "caught\t" (named != "" ? named : why)
			else if (not_run != "" || !ok)
				print "not run\t" (not_run != "" ? not_run : "no test has run")
			else
				print "survived\t"
		}' "$1"
}

# suite_passes FILE SUITE: does a run without a mutant say so? SUITE is as a mutant has it,
# or "all"
suite_passes()
{
	! grep -qE '^not (run|ok - the guest failed)' "$1" || return 1
	awk -v suite="${2#*:}" '
		!/^(not )?ok - / { next }
		{
			name = $1 == "not" ? $4 : $3
			sub(/[.:].*/, "", name)
		}
		suite != "all" && name != suite { next }
		$1 == "not" { bad = 1 }
		$1 == "ok" { good = 1 }
		END { exit bad || !good }' "$1"
}
