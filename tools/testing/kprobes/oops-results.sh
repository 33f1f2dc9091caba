# SPDX-License-Identifier: GPL-2.0
# Evaluates the console of a guest of oops.sh. Sourced by it, by test.sh, and by the
# self-test.
# shellcheck shell=bash disable=SC2034

# HOW:TARGET:STATE:WHAT, see modules/kprobe_oops.c. The machine survives these, so all of them
# run in one guest.
oops_goes_on='
	pre:plain:jump:null post:plain:jump:bug return:plain:jump:bad
	pre:traced:ftrace:bug post:traced:ftrace:null return:traced:ftrace:null
	return:plain:breakpoint:bug insn:moved:jump:null
	insn:first:breakpoint:bad insn:first:jump:bad
	pre:plain:jump:warn pre:plain:breakpoint:warn pre:traced:ftrace:warn
	pre:plain:jump:fixed post:plain:breakpoint:fixed pre:traced:ftrace:fixed
	pre:plain:jump:hang post:plain:jump:hang return:plain:jump:hang
	pre:traced:ftrace:hang post:traced:ftrace:hang pre:plain:breakpoint:hang'

# These make it panic, so each has its own guest. A breakpoint counts as an NMI.
oops_panics='pre:plain:breakpoint:null post:plain:breakpoint:bug pre:plain:jump:stack
	post:plain:jump:stack return:plain:jump:stack pre:traced:ftrace:stack
	pre:plain:breakpoint:stack'

# The names of the tests: "oops.HOW_TARGET_STATE_WHAT"
oops_names()
{
	# shellcheck disable=SC2086
	printf 'oops.%s\n' $oops_goes_on $oops_panics panic_path crash_path in_reader | tr : _
}

# oops_verdict CONSOLE CASE PANICS: prints what is missing or wrong; nothing if all is well
oops_verdict()
{
	awk -v name="${2//:/ }" -v panics="$3" '
		function need(what, re) { if (!(text ~ re)) print "no " what }
		function never(what, re) { if (text ~ re) print what }
		{ gsub(/\r/, ""); sub(/^\[ *[0-9.]*\] /, "") }
		index($0, "kprobe_oops: begin " name) == 1 { begun = 1; text = "\n"; next }
		index($0, "kprobe_oops: begin ") == 1 { begun = 0 }
		index($0, "kprobe_oops: end " name ":") == 1 && begun { end = $0; begun = 0 }
		# An address that is on the stack by chance proves nothing.
		begun && !/^ \? / { text = text $0 "\n" }
		begun && /^(BUG|Oops|WARNING|UBSAN|INFO): / && !/^INFO: NMI handler / { nr[++reports] = $0 }
		END {
			ip = "(RIP: 0010:|EIP: )"
			split(name, n, " ")
			how = n[1]; fn = "oops_" n[2]; what = n[4]
			if (text == "") { print "has not begun"; exit }
			report["null"] = "\nBUG: kernel NULL pointer dereference, address: 0+8\n"
			report["bad"] = "general protection fault, probably for non-canonical address 0x40+:|" \
				"\nBUG: unable to handle page fault for address: 40000000\n"
			report["bug"] = "\nKernel BUG at oops_in_handler\\+|\nkernel BUG at "
			report["warn"] = "\nWARNING: CPU: [0-9]+ PID: [0-9]+ at oops_in_handler\\+"
			report["stack"] = "\nBUG: TASK stack guard page was hit"
			report["hang"] = "\nrcu: INFO: rcu_[a-z]+ (self-detected stall|detected stalls|detected expedited stalls)"
			if (what == "fixed") {
				never("a report: " what, "BUG:|Oops|Call Trace:|WARNING:|a handler of the probe")
			} else {
				need("report", report[what])
			}
			# The exception, and the oops that it leads to. Stalls are not among them, nor is
			# that their reports take long.
			wanted = what != "hang"
			if (what == "null" || what == "stack" || text ~ /\nBUG: unable to handle/) wanted = 2
			for (i = wanted + 1; i <= reports && what != "fixed"; i++)
				print "one more report: " nr[i]
			if (how == "insn") {
				if (n[2] == "first") {
					need("instruction", "\n" ip fn "\\+")
					# mov (%rcx), %rdx, or the same of 32 bits; and no breakpoint or jump
					need("code", "\nCode: [0-9a-f ]*" (text ~ /\nEIP: / ? "<8b>" : "<48> 8b") " 11 ")
				} else
					need("instruction", "\nkprobes: the instruction that crashed is displaced from " fn "\\+")
				need("caller of the probed function", "\n oops_caller\\+")
				never("a handler that has not crashed", "a handler of the probe")
			} else if (what != "fixed") {
				need("function of the handler", "\n" ip "oops_(by_address|in_handler|deeper)|oops_in_handler\\+")
				if (what != "hang")
					need("handler", "\n oops_" how "_handler\\+")
				if (how == "return")
					need("caller of the probed function", "\n(" ip "| )oops_caller\\+")
				else
					need("probed function", "\n(" ip "| )" fn "\\+")
			}
			if (how != "insn" && what != "fixed" && what != "warn" && what != "hang")
				need("name of the probe", "\nkprobes: a handler of the probe at " fn "\\+[^\n]* was running\n")
			if (panics) {
				need("panic", "\nKernel panic - not syncing: ")
				if (end != "") print "it went on: " end
			} else {
				never("a panic", "Kernel panic")
				dies = what != "warn" && what != "fixed" && what != "hang"
				want = "kprobe_oops: end " name ": returned " (!dies + 0) ", hits 1 and 1, fixed " ((what == "fixed") + 0) ", works 1"
				if (end != want) print "got \"" end "\", wanted \"" want "\""
			}
		}' "$1"
}

# oops_outcome CONSOLE CASE: what a kernel does that is not judged
oops_outcome()
{
	tr -d '\r' <"$1" | sed 's/^\[ *[0-9.]*\] //' | awk -v name="${2//:/ }" '
		index($0, "kprobe_oops: begin " name) == 1 { begun = 1 }
		/^kprobe_oops: not in the state / { state = 1 }
		/^Kernel panic - not syncing: / { panic = 1 }
		index($0, "kprobe_oops: end " name ":") == 1 { ended = 1; works = /, hits [0-9]+ and 1,.* works 1$/ }
		END {
			if (!begun) print "has not begun"
			else if (panic) print "panics"
			else if (!ended) print "neither goes on nor panics"
			else print "goes on" (works ? "" : ", but probes do not work any more") \
				(state ? " (not in that state)" : "")
		}'
}

# oops_strays CONSOLE: prints the reports from before, between and after the cases. After one
# that the kernel does not survive, there are none.
oops_strays()
{
	tr -d '\r' <"$1" | sed 's/^\[ *[0-9.]*\] //' |
		awk '/^kprobe_oops: begin / { begun = 1 } !begun { print } /^kprobe_oops: end / { begun = 0 }' |
		grep -aE "$SPLATS" | sed 's/^/a report that belongs to no case: /' || true
}

# panic_verdict CASE CONSOLE GUEST RULES: what is missing or wrong after a panic with probes on its
# way. GUEST is what guest.sh has printed; RULES, for awk, count the hits and have a function few()
# that prints which are missing.
panic_verdict()
{
	tr -d '\r' <"$2" | sed 's/^\[ *[0-9.]*\] //' | awk -v name="$1" "$4"'
		index($0, "kprobe_oops: " name ": ") == 1 {
			gsub(/,/, "")
			sites = $5; jumps = $7; breakpoints = $9
		}
		/^Kernel panic - not syncing: sysrq triggered crash$/ { panics++; next }
		/^(Kernel panic|BUG|Oops|WARNING|UBSAN|INFO|rcu: INFO): / { print "one more report: " $0 }
		END {
			if (sites < 3 || jumps < 3 || breakpoints < 3)
				print "few probes: ftrace sites " sites + 0 ", jumps " jumps + 0 ", breakpoints " breakpoints + 0
			if (panics != 1) print panics + 0 " panics"
			few()
		}'
	# It reboots at once, which ends QEMU.
	grep -q 'ended before the job did' "$3" || echo "the guest: $(tail -n 1 "$3")"
}

# panic_path_verdict CONSOLE GUEST: of a panic that prints the trace
panic_path_verdict()
{
	panic_verdict panic_path "$1" "$2" '
		# COMM-PID CPU FLAGS TIME EVENT: (FUNCTION+...
		/ [pr]_[a-z_0-9]+: \([a-z_]+\+0x/ { hits++ }
		/ p_panic_[0-9]+: / { on_panic++ }
		/ p_stop_this_cpu_[0-9]+: / { on_other++ }
		/ r_native_stop_other_cpus: / { returns++ }
		function few()
		{
			if (hits < 30 || !on_panic || !on_other || !returns)
				print "few hits: " hits + 0 ", in panic() " on_panic + 0 ", on the other CPU " on_other + 0 ", returns " returns + 0
		}'
}

# crash_path_verdict CONSOLE GUEST: of a panic that starts another kernel. The hits of the other
# CPU are not printed any more.
crash_path_verdict()
{
	panic_verdict crash_path "$1" "$2" '
		/^p_native_machine_crash_shutdown_[0-9]+: / { shutdown++ }
		/^p_crash_save_cpu_[0-9]+: / { saves++ }
		/^r_[a-z_0-9]+: / { returns++ }
		/^kprobe_oops: the crash kernel is up$/ { up++ }
		function few()
		{
			if (!shutdown || !saves || !returns)
				print "few hits: in the shutdown " shutdown + 0 ", where registers are saved " saves + 0 ", returns " returns + 0
			if (up != 1) print "the crash kernel is not up"
		}'
}

# in_reader_verdict CONSOLE GUEST STATUS: the same after an oops in an RCU reader; STATUS is that of
# guest.sh
in_reader_verdict()
{
	[ "$3" -eq 0 ] || echo "the guest: $(tail -n 1 "$2")"
	tr -d '\r' <"$1" | sed 's/^\[ *[0-9.]*\] //' | awk '
		/^(RIP: 0010:|EIP: )reader_write\+/ { there++ }
		/^[kK]ernel BUG at / { reports++; next }
		/^(Kernel panic|BUG|WARNING|UBSAN|INFO|rcu: INFO): / || /^kprobes: cannot / { print "one more report: " $0 }
		END { if (reports != 1 || !there) print reports + 0 " reports, " there + 0 " in reader_write()" }'
}
