# SPDX-License-Identifier: GPL-2.0
# Reads a console with KUnit's KTAP, and prints a line for each case, as the guest's
# tests do:
#
#   ok - SUITE.CASE
#   ok - SUITE.CASE (N parameters, M skipped)
#   skip - SUITE.CASE: REASON
#   skip - SUITE.CASE (N parameters, N skipped): REASON of the last one
#   not ok - SUITE.CASE: WHY, if it was not an expectation
#   pskip - SUITE.CASE: REASON, for each parameter that was skipped
#
# A case gives the reasons for its failure in the lines before its own. Tests that did not run are
# "not ok": a suite that has failed without a failed case, planned cases that are
# missing, a case without a parameter. With picked=1 there may be no case at all.

function reason(line)
{
	if (!sub(/.*# SKIP ?/, "", line) || line == "")
		return "no reason given"
	return line
}

# The suite has ended, or else the console.
function suite_ends()
{
	if (suite != "" && seen < planned)
		print "not ok - " suite ": " planned - seen " of " planned " cases have not run"
	suite = ""
}

{
	gsub(/\r/, "")
	sub(/^\[[^]]*\] /, "")
}

/^    # Subtest: / {
	suite_ends()
	suite = $NF
	planned = seen = failed = nw = keep = 0
	param = ""
}

/^    1\.\.[0-9]+$/ {
	planned = $0
	sub(/.*\./, "", planned)
	planned += 0
}

/^        # Subtest: / {
	param = $NF
	params = skipped = 0
}

/^    # .*: (EXPECTATION|ASSERTION) FAILED/ { keep = 8 }
keep > 0 && !/^ +(not )?ok / { why[++nw] = $0; keep-- }

/^        (not )?ok [0-9]+ / && param != "" {
	params++
	if (/# SKIP/) {
		skipped++
		last = reason($0)
		print "pskip - " suite "." param ": " last
	} else if ($1 == "not") {
		why[++nw] = $0
	}
}

/^    (not )?ok [0-9]+ / {
	name = $0
	sub(/^ *(not )?ok [0-9]+ /, "", name)
	sub(/ *# SKIP.*/, "", name)
	name = suite "." name
	seen++
	counts = param != "" && params ? " (" params " parameters" (skipped ? ", " skipped " skipped" : "") ")" : ""
	if ($1 == "not") {
		print "not ok - " name counts
		failed++
	} else if (param != "" && params == 0) {
		print "not ok - " name ": it has no parameters"
		failed++
	} else if (/# SKIP/ && param == "") {
		print "skip - " name ": " reason($0)
	} else if (param != "" && skipped == params) {
		print "skip - " name counts ": " last
	} else {
		print "ok - " name counts
	}
	if ($1 == "not")
		for (i = 1; i <= nw; i++) print "    # " why[i]
	nw = keep = 0
	param = ""
	any = 1
}

# A suite that could not be initialised prints nothing else.
/^(not )?ok [0-9]+ / {
	name = $1 == "not" ? $4 : $3
	if ($1 == "not" && !(suite == name && failed))
		print "not ok - " name ": the suite failed"
	suite_ends()
}

END {
	suite_ends()
	if (!any && !picked)
		print "not ok - kunit: no case has run"
}
