# SPDX-License-Identifier: GPL-2.0
# Evaluates the results of the clients' features. Sourced by clients.sh, and by its self-test.
# shellcheck shell=bash

# clients_verdict STOCK OURS EXPECTED [SOME]: a table of the features on standard input, with
# the results in these files and everything that is wrong. If all features of a client fail,
# that proves nothing, unless EXPECTED names the client itself. With SOME these are not all
# features. A feature that fails on stock only has to be in EXPECTED, too, on a line that begins
# with "stock:": otherwise the fault may be in the test. A figure in seconds is wrong if it is
# more than twice that of stock and more than a second.
clients_verdict()
{
	awk -F '\t' -v stock="$1" -v ours="$2" -v list="$3" -v some="${4:-}" '
		$1 == "figure" {
			at = index($3, ": ")
			what = substr($3, 1, at - 1)
			if (!(($2, what) in known)) {
				known[$2, what] = 1
				figures[$2, ++count[$2]] = what
			}
			figure[FILENAME, $2, what] = substr($3, at + 2)
			next
		}
		$1 == "note" {
			notes[$2] = notes[$2] "    # " (FILENAME == stock ? "stock" : "ours") ": " $3 "\n"
			next
		}
		FILENAME == list {
			if (!split($0, word, " ") || $0 ~ /^#/)
				next
			line = $0
			sub(/^[^ ]+ */, "", line)
			if (word[1] == "stock:") {
				sub(/^[^ ]+ */, "", line)
				worse[word[2]] = line
			} else {
				expected[word[1]] = line
			}
			next
		}
		FILENAME == stock { verdict["stock", $2] = $1; text["stock", $2] = $3; next }
		FILENAME == ours { verdict["ours", $2] = $1; text["ours", $2] = $3; next }
		function wrong(what)
		{
			print "FAILED: " what
			failed++
		}
		function listed(feature, reason)
		{
			if (reason == "")
				wrong(feature ": expected to fail without a reason")
			if (!some && !(feature in known_feature))
				wrong(feature ": expected to fail, and there is no such feature")
		}
		function of(kernel, feature)
		{
			return (kernel, feature) in verdict ? verdict[kernel, feature] : "did not run"
		}
		function why(kernel) { return text[kernel, $1] == "" ? "" : "    # " kernel ": " text[kernel, $1] "\n" }
		{
			s = of("stock", $1)
			o = of("ours", $1)
			note = ""
			reason = ""
			all++
			client = $1
			sub(/\..*/, "", client)
			key = $1 in expected ? $1 : client in expected ? client : ""
			worse_key = $1 in worse ? $1 : client in worse ? client : ""
			if (s == "did not run" || o == "did not run") {
				note = "FAILED"
				failed++
			} else if (s == "ok" && o == "ok") {
				both += key == ""
			} else if (s == "ok") {
				note = "FAILED on ours only"
				reason = why("ours")
				failed++
			} else if (o == "ok") {
				reason = why("stock")
				if (worse_key != "") {
					note = "fails on stock only, as expected: " worse[worse_key]
					better++
				} else if (key == "") {
					note = "FAILED on stock only, and is not expected to"
					failed++
				}
			} else {
				reason = why("ours")
				if (key != "") {
					note = "fails on both, as expected: " expected[key]
					neither++
				} else {
					note = "FAILED on both, and is not expected to"
					failed++
				}
			}
			if (o == "ok" && key != "") {
				note = "FAILED to fail as expected: " expected[key]
				failed++
			}
			passes[client] += o == "ok"
			known_feature[$1]
			known_feature[client]
			if (client != previous)
				printf "%-44s %-12s %s\n", client, "stock", "ours"
			previous = client
			feature = $1
			# How long it took.
			s = s == "ok" ? s ", " text["stock", $1] : s
			o = o == "ok" ? o ", " text["ours", $1] : o
			sub(/^[^.]*\./, "", $1)
			printf "  %-42s %-12s %-12s%s\n%s", $1, s, o, note == "" ? "" : " " note, reason notes[feature]
			for (i = 1; i <= count[feature]; i++) {
				what = figures[feature, i]
				s = figure[stock, feature, what]
				o = figure[ours, feature, what]
				slow = s ~ /^[0-9.]+ s$/ && o ~ /^[0-9.]+ s$/ && o + 0 > 2 * s + 1
				failed += slow
				printf "    %-40s %-12s %-12s%s\n", what, s, o, slow ? " FAILED to be as fast" : ""
			}
		}
		END {
			for (client in passes)
				if (!some && !passes[client] && !(client in expected))
					wrong(client ": nothing passes on ours")
			for (feature in expected)
				listed(feature, expected[feature])
			for (feature in worse)
				listed(feature, worse[feature])
			if (!all)
				wrong("no feature has run")
			printf "%d features: %d pass on both, %d fail on stock only, %d fail on both, %d FAILED\n", all, both, better, neither, failed
			exit failed > 0
		}' "$3" "$1" "$2" -
}
