#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Probes every instruction of vmlinux, and of modules, in windows of POINTS at once: as
# breakpoints, then as jumps, then as breakpoints again. Meanwhile stress-ng runs, trinity
# makes random system calls, loops check their results, and CPUs and modules come and go. An
# address is either refused, or accepted and works.
#
# No two points of a window are in the bytes of one jump, so all can become jumps.
# A window that crashes the guest, hangs it, or fails a check is halved in new guests
# until no half fails; its points are printed, left out, and the window is run again. A window
# fails, too, if too few of its addresses are accepted, or become jumps; and the run fails if
# no breakpoint or no jump was hit in any window, or if something is refused for a reason that
# refusals.py does not know: it may be safe. Stock makes fewer jumps, and has other reasons: for it
# neither counts.
#
#   MINUTES=n      no guest is started after this many (default 20). The next run
#                  resumes where this one stopped, if the kernel is the same
#   POINTS=n       addresses in a window (default 20000)
#   NARROW=n       guests to narrow a failure down with (default 40)
#   WORK_SECONDS=n of workload for each window, as breakpoints and as jumps (default 5)
#   DENSE=1        windows of neighbouring instructions: few of them can become jumps,
#                  because their probes are in each other's way
#   AGAIN=1        forget what earlier runs have done, unless WINDOW= is given
#   WINDOW=n       only this one, done or not
#   KERNEL=name    stock-$CONFIG, for comparison
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/testing/kprobes/everything-results.sh
. "$here/everything-results.sh"

the_kernel
minutes=${MINUTES:-20}
points=${POINTS:-20000}
narrow=${NARROW:-40}
state=$build/everything-$name${DENSE:+-dense}${POINTS:+-$POINTS}
log=everything-$name
console=$build/logs/$log.console
case $name in
stock-* | patched-*) ours='' ;;
*) ours=1 ;;
esac
# The modules that the guest's job loads. The sample for batches is ours.
modules="kprobe_target kprobe_toggle kprobe_returns kprobe_stress kretprobe_example${ours:+ kprobe_batch}"

how_many MINUTES "$minutes"
how_many POINTS "$points"
need "${everything_packages[@]}"
only_one "$log"
need_space 500 "the windows"
scratch

# Where instructions start: address and mnemonic, by address. int3 is filling.
instructions()
{
	objdump -d --no-show-raw-insn "$@" | perl -ne '
		if (/^[0-9a-f]+ </) { $padding = /<__pfx_/ }
		elsif (!$padding && /^ *([0-9a-f]+):\t(\S+)(?: +(\S+))?/) {
			my ($at, $name, $next) = ($1, $2, $3 // "");
			next if $name eq "int3";
			$name .= "-$next" if $name =~ /^(lock|rep|repz|repnz|notrack|bnd|cs|ds|data16)$/;
			print "$at $name\n";
		}'
}

# Gives each instruction the lowest number that none in the four bytes before it has. So
# instructions with the same number are far enough apart for jumps.
numbered()
{
	perl -ane '
		$at = hex($F[0]);
		shift @near while @near && ($near[0][0] <= $at - 5 || $near[0][0] > $at);
		%taken = map { $_->[1] => 1 } @near;
		$n = 0;
		$n++ while $taken{$n};
		push @near, [$at, $n];
		print "$n $F[-2]", @F > 2 ? " $F[0]" : "", "\n";'
}

module_file()
{
	modules_of "$kernel" | awk -F / -v file="$1.ko" '$NF == file && !n++; END { exit !n }' ||
		die "no module $1 in build/$name"
}

prepare()
{
	local module file

	say "listing the instructions of $name"
	rm -rf "$state"
	mkdir -p "$state/window"
	instructions "$kernel/vmlinux" >"$state/instructions"
	if [ -n "${DENSE:-}" ]; then
		cut -d' ' -f1 "$state/instructions"
	else
		numbered <"$state/instructions" | sort -s -k1,1n | cut -d' ' -f2
	fi | split -d -a 3 -l "$points" - "$state/window/"
	# All modules in one more, where each file is a list.
	for module in $modules; do
		file=$(module_file "$module") || exit
		instructions -j .text "$file" | sed "s/^/$module /" >>"$state/module-instructions"
	done
	cut -d' ' -f1,2 "$state/module-instructions" >"$state/window/modules"
	text_of "$kernel/vmlinux" >"$state/text"
	[ -s "$state/text" ] || die "no text in $kernel/vmlinux: does it have symbols?"
	: >"$state/done"
	: >"$state/bad"
	: >"$state/result-none"
	echo "$id" >"$state/id"
}

# lay WINDOW LIST: into the guest's files
lay()
{
	mkdir -p "$tmp/files/windows"
	rm -rf "$tmp/files/windows/$1" "$tmp/files/windows/$1.d"
	if grep -q ' ' "$2"; then
		mkdir "$tmp/files/windows/$1.d"
		awk -v dir="$tmp/files/windows/$1.d" '
			!($1 in known) { known[$1] = 1; print $1 >(dir "/modules") }
			{ print $2 >(dir "/" $1) }' "$2"
	else
		cp "$2" "$tmp/files/windows/$1"
	fi
}

# guest WINDOW...: its output is in $tmp/out, its windows are good, bad or not done
guest()
{
	local ended

	: >"$console"
	"$here/guest.sh" -t $((120 + $# * (420 + 4 * ${WORK_SECONDS:-5}))) -l "$log" -m 1536 \
		-a nokaslr -f "$tmp/files" "$kernel" everything WINDOWS="$*" \
		WORK_SECONDS="${WORK_SECONDS:-5}" >"$tmp/out" 2>"$tmp/err" && ended=1 || ended=''
	culprit=''
	[ -n "$ended" ] || culprit=$(culprit "$console")
	good=''
	bad=''
	for window; do
		sed -n "/^window $window\$/,/^end $window\$/p" "$tmp/out" >"$tmp/result.$window"
		if [ "$window" != "$culprit" ] && ! grep -q . "$tmp/result.$window"; then
			continue	# another one has ended the guest
		elif [ "$window" != "$culprit" ] && grep -qx "end $window" "$tmp/result.$window" &&
		     grep -q '^hit_jumps ' "$tmp/result.$window" &&
		     ! grep -q '^failed ' "$tmp/result.$window"; then
			good="$good $window"
		else
			bad="$bad $window"
		fi
	done
	[ -n "$good$bad" ] || die "everything: no window was started: $(head -n 1 "$tmp/err"): see $console"
	[ -n "$ended$bad" ] || die "everything: the guest failed, and no window did: $(head -n 1 "$tmp/err"): see $console"
}

# What went wrong with a window: what it has printed, or the kernel.
symptom()
{
	{
		grep '^failed ' "$tmp/result.$1" || true
		[ "$1" != "$culprit" ] || splats_in "$console" end || cat "$tmp/err"
	} | head -n 2 | paste -sd'|'
}

# fails LIST: does it fail on its own?
fails()
{
	[ "$narrow" -gt 0 ] || return 2
	if [ $SECONDS -gt $((deadline + 1200)) ]; then
		narrow=0
		return 2
	fi
	narrow=$((narrow - 1))
	lay narrow "$1"
	guest narrow
	[ -n "$bad" ]
}

# halve WINDOW: find the points of it that are to blame, name them, leave them out
halve()
{
	local list=$tmp/suspects n half ended='' again=0 why

	cp "$state/window/$1" "$list"
	cp "$console" "$build/logs/$log-window-$1.console"
	why=$(symptom "$1")
	echo "FAILED window $1: $why (build/logs/$log-window-$1.console)"
	fails "$list" || again=$?
	case $again in
	1)
		echo "    it does not fail again"
		echo "$1 not-again $why" >>"$state/bad"
		return
		;;
	2)
		echo "    there is no guest left, or no time, to narrow it down"
		echo "$1 not-narrowed $why" >>"$state/bad"
		echo "$1" >>"$state/done"
		return
		;;
	esac
	while n=$(wc -l <"$list") && [ "$n" -gt 1 ]; do
		[ "$narrow" -gt 0 ] || { ended=' (no more guests to narrow it down)'; break; }
		half=$((n / 2))
		head -n $half "$list" >"$tmp/first"
		tail -n +$((half + 1)) "$list" >"$tmp/second"
		if fails "$tmp/first"; then
			mv "$tmp/first" "$list"
		elif fails "$tmp/second"; then
			mv "$tmp/second" "$list"
		else
			ended=' (no half of them fails)'
			[ "$narrow" -gt 0 ] || ended=' (no more guests to narrow it down)'
			break
		fi
		say "narrowing window $1 down: $(wc -l <"$list") points"
	done
	echo "    $n point(s)$ended: $(head -n 5 "$list" | while read -r at; do
		case $at in
		*' '*) echo "$at" ;;
		*) grep "^$at" "$state/instructions" ;;
		esac
	done | paste -sd, | sed 's/,/, /g')"
	cp "$list" "$state/bad-$1"
	echo "$1 $n $(head -n 1 "$list" | tr ' ' ':')" >>"$state/bad"
	# A point in a set of which neither half fails is not to blame alone.
	if [ "$n" -eq 1 ]; then
		grep -vxFf "$list" "$state/window/$1" >"$tmp/rest"
		mv "$tmp/rest" "$state/window/$1"
	else
		echo "$1" >>"$state/done"
	fi
}

mapfile -t files < <(for module in $modules; do module_file "$module"; done)
[ ${#files[@]} -eq "$(wc -w <<<"$modules")" ] || exit 1
# The module that sets the probes and judges, and one that the workload loads
mapfile -t -O ${#files[@]} files < <(module_file kprobe_coverage; module_file trace-printk)
[ ${#files[@]} -eq $(($(wc -w <<<"$modules") + 2)) ] || exit 1
id=$({
	cat "$kernel/vmlinux" "${files[@]}" "$0" "$here"/{everything-results,guest,common}.sh \
		"$here"/guest/{init,lib.sh,jobs/everything.sh}
	echo "${WORK_SECONDS:-5}"
	emulator_version
	cat "$(command -v stress-ng)" "$(command -v trinity)"
} | sha1sum | cut -c1-16)
# A window that is asked for runs in any case.
if { [ -n "${AGAIN:-}" ] && [ -z "${WINDOW:-}" ]; } || [ "$(cat "$state/id" 2>/dev/null)" != "$id" ]; then
	prepare
fi
[ -z "${WINDOW:-}" ] || [ -e "$state/window/$WINDOW" ] ||
	die "no window $WINDOW: have $(cd "$state/window" && printf '%s\n' * | sed -n '1p; $p' | paste -sd' ' | sed 's/ / to /'), see build/${state##*/}/window"
mkdir -p "$tmp/files/bin" "$tmp/files/lib64" "$build/logs"
for tool in stress-ng trinity; do
	cp "$(command -v $tool)" "$tmp/files/bin/"
	ldd "$tmp/files/bin/$tool" | grep -o '/[^ ]*'
done | sort -u | while read -r lib; do
	mkdir -p "$tmp/files/${lib%/*}"
	cp -L "$lib" "$tmp/files/$lib"
done

windows()
{
	if [ -n "${WINDOW:-}" ]; then
		printf '%s\n' "$WINDOW"
	else
		(cd "$state/window" && printf '%s\n' *) | grep -vxFf "$state/done" || true
	fi
}

all=$(cat "$state"/window/* | wc -l)
total=$(find "$state/window" -type f | wc -l)
say "$all instructions of $name in $total windows, $(wc -l <"$state/done") of them done (build/${state##*/}, build/logs/$log.*)"
[ -n "$(windows)" ] || say "all are done: AGAIN=1 starts over"
deadline=$((SECONDS + minutes * 60))
each=40 failures=0
while [ $SECONDS -lt $deadline ]; do
	# As many as there is time for, but not so many that much is lost by a crash.
	n=$(((deadline - SECONDS) / each + 1))
	mapfile -t next < <(windows | head -n $((n < 4 ? n : 4)))
	[ ${#next[@]} -gt 0 ] || break
	began=$SECONDS
	rm -rf "$tmp/files/windows"
	for window in "${next[@]}"; do
		lay "$window" "$state/window/$window"
	done
	guest "${next[@]}"
	for window in $good; do
		grep -v ' at ' "$tmp/result.$window" >"$state/result-$window"
		few=$(few_accepted "$state/text" "$state/window/$window" "$state/result-$window")
		if [ -n "$few" ]; then
			echo "FAILED window $window: $few"
			echo "$window few $few" >>"$state/bad"
			failures=$((failures + 1))
		fi
		few=''
		if [ -n "$ours" ] && [ -z "${DENSE:-}" ] && [ "$window" != modules ]; then
			few=$(few_jumps "$state/result-$window")
		fi
		if [ -n "$few" ]; then
			echo "FAILED window $window: $few"
			echo "$window few $few" >>"$state/bad"
			failures=$((failures + 1))
		fi
		grep -qx "$window" "$state/done" || echo "$window" >>"$state/done"
	done
	for window in $good; do each=$(((SECONDS - began) / $(echo "$good" | wc -w))); done
	say "$(wc -l <"$state/done") of $total windows, $((SECONDS / 60)) min: $(awk '
		$1 ~ /^(accepted|refused|jumps|hit_breakpoints|hit_jumps)$/ { n[$1] += $2 }
		END { print n["accepted"] + 0 " accepted, " n["refused"] + 0 " refused, " n["jumps"] + 0 " jumps, hit: " n["hit_breakpoints"] + 0 " breakpoints, " n["hit_jumps"] + 0 " jumps" }' \
		"$state"/result-*)"
	culprits=$bad
	for window in $culprits; do
		failures=$((failures + 1))
		halve "$window"
	done
	[ -z "${WINDOW:-}" ] || break
done

echo
awk -v all="$all" -v total="$total" '
	FNR == 1 { windows++ }
	$1 == "no_jump" {
		k = $2
		$1 = $2 = ""
		if (!($0 in no)) why[++nw] = $0
		no[$0] += k
		next
	}
	NF == 2 { n[$1] += $2 }
	function sorted(list, count, size,    i, j, t)
	{
		for (i = 1; i <= size; i++)
			for (j = i + 1; j <= size; j++)
				if (count[list[j]] > count[list[i]]) { t = list[i]; list[i] = list[j]; list[j] = t }
	}
	END {
		if (!windows) exit
		printf "%-44s %9d of %d, %.1f %%\n", "instructions tried", n["offered"], all, 100 * n["offered"] / all
		printf "%-44s %9d of %d\n", "windows", windows, total
		printf "%-44s %9d\n", "accepted", n["accepted"]
		printf "%-44s %9d\n", "  ftrace sites among them", n["ftrace"]
		printf "%-44s %9d\n", "  hit as breakpoints or ftrace sites", n["hit_breakpoints"]
		printf "%-44s %9d\n", "  became jumps", n["jumps"]
		printf "%-44s %9d\n", "  hit as jumps", n["hit_jumps"]
		printf "%-44s %9d\n", "refused", n["refused"]
		print "no jump because"
		sorted(why, no, nw)
		for (i = 1; i <= nw; i++)
			printf "  %-42s %9d\n", substr(why[i], 3), no[why[i]]
	}' "$state"/result-*
if [ -n "$ours" ]; then
	args=()
	for module in $modules; do
		args+=(--module "$(module_file "$module")")
	done
	"$here/refusals.py" --module-instructions "$state/module-instructions" "${args[@]}" \
		"$kernel/vmlinux" "$state/instructions" "$state"/result-* || {
		[ $? -eq 3 ] && echo "FAILED: refused for no reason that is known: see above" ||
			echo "FAILED: refusals.py has not come to its end"
		failures=$((failures + 1))
	}
fi
echo
if [ -z "${WINDOW:-}" ]; then
	none=$(no_hits "$state"/result-* | sed 's/^/FAILED: /')
	if [ -n "$none" ]; then
		echo "$none"
		failures=$((failures + 1))
	fi
fi
[ ! -s "$state/bad" ] || { echo "points that failed, by window, of all runs:"; sed 's/^/  /' "$state/bad"; }
left=$((total - $(wc -l <"$state/done")))
counted "kprobes: $((total - left)) of $total windows done, $left left; $failures failed now"
[ "$failures" -eq 0 ] || exit 1
# A single window answers for itself.
[ -n "${WINDOW:-}" ] || [ ! -s "$state/bad" ] ||
	die "everything: points failed in an earlier run, see build/${state##*/}/bad: AGAIN=1 starts over"
[ -s "$state/done" ] || die "everything: no window was completed"
