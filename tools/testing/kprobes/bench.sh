#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measures all figures, ours next to stock, and writes a table, build/bench/results.json and
# the chart build/bench/bench.svg. Figures that involve ftrace, tracefs or perf are measured on
# "patched", too: stock with our patches to these. A part is measured again only if the kernel
# or the files of the measurement have changed, or if ours did not finish, which is a failure.
# Stock may break: the figures that it printed before count.
#
#   bench.sh [--markdown]    prints the table as bench/figures.md has it
#   bench.sh --readme        puts it there, and the chart beside this script
#   bench.sh --check         only checks PARTS
#
#   PARTS="..."   only some of: icount crowd memory events cpus coverage
#   KERNEL=name   measure only this one of the three
#
# Instructions are exact. Times depend on this machine and on its load: only the ratio
# of ours to stock is meaningful.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

all_parts="icount crowd memory events cpus coverage"
parts=${PARTS:-$all_parts}
ours=$CONFIG
stock=stock-$CONFIG
patched=patched-$CONFIG
kernels=${KERNEL:-$ours $stock}
[ -z "${KERNEL:-}" ] || is_current "$KERNEL"
for part in $parts; do
	[[ " $all_parts " == *" $part "* ]] || die "PARTS: no part $part: $all_parts"
done
[ "${1:-}" != --check ] || exit 0
out=$build/bench
scratch
results=$tmp/results
mkdir -p "$out" "$results"

# known PART KERNEL FILE...: the file for the lines of this part; its name changes
# with the kernel and with the files.
known()
{
	local part=$1 name=$2

	shift 2
	printf '%s/.bench-%s-%s\n' "$build/$name" "$part" \
		"$(cat "$build/$name/arch/x86/boot/bzImage" "$here/guest/jobs/bench_$part.sh" "$@" \
			"$here/guest.sh" <(emulator_version) | sha1sum | cut -c1-16)"
}

# guest PART KERNEL FILES [OPTIONS...]: the lines of the job, including those that it printed
# before a failure or a time-out; these are reported, and add a line "unfinished".
guest()
{
	local part=$1 name=$2 files=$3 status=0

	shift 3
	say "measuring $part of $name (build/logs/bench-$part-$name.*)" >&2
	"$here/guest.sh" -a nokaslr -l "bench-$part-$name" -f "$files" \
		-s 'blocked for more than' "$@" >"$tmp/lines" || status=1
	! grep '^failed' "$tmp/lines" >&2 || status=1
	[ $status = 0 ] || echo "unfinished $part" >>"$tmp/lines"
	return $status
}

# kept KERNEL KNOWN: the file for the lines of a guest that did not end well: the known one
# if it is stock's, which would break again after as long, and ours are measured again
kept()
{
	if [ "$1" = "$ours" ]; then
		echo "$tmp/unfinished"
	else
		echo "$2"
	fi
}

part_icount()
{
	local name n=1

	# shellcheck disable=SC2086
	MANY='100 1000 10000' COLD='1 100 10000 50000' "$here/icount.sh" $kernels >"$tmp/table"
	for name in $kernels; do
		n=$((n + 1))
		awk -v n=$n 'NR > 1 && $n != "-" { print $1, $n }' "$tmp/table" >>"$results/$name"
	done
}

part_crowd()
{
	local name=$1 sites known

	sites=$("$here/sites.sh" "$name")
	known=$(known crowd "$name" "$build/$name/kprobes-modules/kprobe_crowd.ko" <(echo "$sites"))
	if [ ! -s "$known" ]; then
		guest crowd "$name" "$sites" -t 1200 "$build/$name" bench_crowd ||
			known=$(kept "$name" "$known")
		mv "$tmp/lines" "$known"
	fi
	cat "$known" >>"$results/$name"
}

part_memory()
{
	local name=$1 sites known kind kinds='breakpoint jump ftrace return' ended=1

	# Its addresses differ, and only ftrace sites are of interest.
	[ "$name" != "$patched" ] || kinds='ftrace return'
	# All of them probe the same functions.
	sites=$("$here/sites.sh" "${name/patched-/stock-}")
	known=$(known memory "$name" "$build/$name/kprobes-modules/kprobe_crowd.ko" <(echo "$sites"))
	if [ ! -s "$known" ]; then
		for kind in $kinds; do
			guest "memory-$kind" "$name" "$sites" -t 600 -m 2048 "$build/$name" \
				bench_memory KIND="$kind" || ended=''
			cat "$tmp/lines" >>"$tmp/memory"
		done
		[ -n "$ended" ] || known=$(kept "$name" "$known")
		mv "$tmp/memory" "$known"
	fi
	cat "$known" >>"$results/$name"
}

# Functions that exist exactly once in each of the kernels.
common_names()
{
	local name

	for name in "$ours" "$stock" "$patched"; do
		awk '$2 ~ /^[tT]$/ && $3 ~ /^[a-z][a-z0-9_]*$/ { n[$3]++ }
			END { for (s in n) if (n[s] == 1) print s }' "$build/$name/System.map"
	done | sort | uniq -c | awk '$1 == 3 { print $2 }'
}

part_events()
{
	local name=$1 sites known map

	need gcc:gcc
	[ -e /usr/include/stdio.h ] || need /usr/include/stdio.h:libc6-dev
	mkdir -p "$tmp/events"
	# Built on the host, as the guest has no compiler.
	gcc -O2 -static -o "$tmp/events/perf_probes" "$here/bench/perf_probes.c"
	common_names >"$tmp/events/names"
	# Whole functions are patched, without a probe in them.
	map=$build/${name/patched-/stock-}/System.map
	sites=$("$here/sites.sh" "${name/patched-/stock-}")
	known=$(known events "$name" "$here/bench/perf_probes.c" "$tmp/events/names")
	if [ ! -s "$known" ]; then
		head -n 10000 "$sites/all" | sort | awk '
			FILENAME == "-" { at[n++] = $1; next }
			FILENAME ~ /names$/ { known[$1] = 1; next }
			$2 !~ /^[tTwW]$/ { next }
			{
				# They have the same length, so they compare as text.
				while (i < n && at[i] "" < $1 "") {
					if (start && name in known && at[i] != start)
						print name, at[i], start
					i++
				}
				start = $1
				name = $3
			}' - "$tmp/events/names" <(sort "$map") |
			while read -r symbol at start; do
				echo "$symbol+$((0x$at - 0x$start))"
			done | awk '
				{ line[n++] = $0 }
				END { for (i = 0; i < n; i += n / 1200) print line[int(i)] }' \
			>"$tmp/events/inner"
		guest events "$name" "$tmp/events" -t 900 "$build/$name" bench_events NR=1000 ||
			known=$(kept "$name" "$known")
		mv "$tmp/lines" "$known"
	fi
	cat "$known" >>"$results/$name"
}

part_cpus()
{
	local name=$1 known version

	need_qemu
	known=$(known cpus "$name" "$build/$name/kprobes-modules/kprobe_cpus.ko" "$here"/bench/stores.[ch])
	if [ ! -s "$known" ]; then
		need gcc:gcc
		version=$(qemu-system-x86_64 --version | sed -n '1s/.*version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
		mkdir -p "$tmp/cpus"
		# shellcheck disable=SC2183,SC2086
		gcc -O2 -fPIC -shared -fvisibility=hidden \
			-DQEMU_VERSION="$((10#$(printf '%d%02d' $version)))" \
			-o "$tmp/stores.so" "$here/bench/stores.c"
		# A guest that dies early leaves no such file.
		: >"$tmp/stores"
		guest cpus "$name" "$tmp/cpus" -t 600 -c 8 -q "-plugin $tmp/stores.so,out=$tmp/stores" \
			"$build/$name" bench_cpus || known=$tmp/unfinished
		sort "$build/$name/System.map" >"$tmp/System.map"
		# Replace the numbers of sections by names, and addresses by symbols.
		awk '
			FILENAME ~ /lines$/ {
				if ($1 == "section") name[$2] = $3
				else print
				next
			}
			FILENAME ~ /System.map$/ {
				if ($2 ~ /^[tTwW]$/) { at[n + 0] = $1; symbol[n++] = $3 }
				next
			}
			function place(pc,    lo, hi, mid)
			{
				if (length(pc) != 16 || pc < at[0] || pc >= "ffffffffa0000000") return "module"
				for (hi = n; hi - lo > 1;) {
					mid = int((lo + hi) / 2)
					if (at[mid] "" <= pc "") lo = mid; else hi = mid
				}
				return symbol[lo]
			}
			$1 == "window" { print name[$2] "_lines", $6; print name[$2] "_shared", $10 }
			$1 == "line" {
				printf "by %s %s", name[$2], $3
				for (i = 9; i <= NF; i++) printf " %s", place($i)
				print ""
			}' "$tmp/lines" "$tmp/System.map" "$tmp/stores" \
			>"$known"
	fi
	cat "$known" >>"$results/$name"
}

part_coverage()
{
	local name=$1 known

	known=$build/$name/.bench-coverage-$(cat "$build/$name/arch/x86/boot/bzImage" \
		"$here"/{coverage,guest}.sh "$here/guest/jobs/coverage.sh" \
		"$build/$name/kprobes-modules/kprobe_coverage.ko" <(emulator_version) | sha1sum | cut -c1-16)
	if [ ! -s "$known" ]; then
		KERNEL=$name SEEDS=1 NR=6000 "$here/coverage.sh" >"$tmp/coverage" || {
			cat "$tmp/coverage" >&2
			echo 'unfinished coverage' >>"$results/$name"
			return
		}
		sed -n 's/^share of what is no ftrace site.* /coverage /p' "$tmp/coverage" >"$known"
	fi
	cat "$known" >>"$results/$name"
}

for name in "$ours" "$stock" "$patched"; do
	[ -e "$build/$name/vmlinux" ] || die "no kernel in build/$name: make bench builds it"
	: >"$results/$name"
done
need python3:python3

# measure_apart PART KERNEL: with files of its own
measure_apart()
{
	local tmp=$tmp/$1-$2

	mkdir "$tmp"
	"part_$1" "$2"
}

# measure PART: on each of the kernels. Two guests at a time if other load does not change
# the result; one after the other where time is measured.
measure()
{
	local part=$1 name pid pids=()

	case $part in
	icount)
		part_icount
		return ;;
	crowd|memory|events)
		for name in $kernels; do
			"part_$part" "$name"
		done ;;
	*)
		for name in $kernels; do
			measure_apart "$part" "$name" &
			pids+=($!)
		done
		for pid in "${pids[@]}"; do
			wait "$pid"
		done ;;
	esac
	case ${KERNEL:-$part} in
	events|memory) "part_$part" "$patched" ;;
	esac
}

timed()
{
	local began=$SECONDS

	measure "$1"
	say "measured $1 ($((SECONDS - began)) s)" >&2
}

# Load changes neither instruction counts nor which addresses can be probed, and finding
# those is mostly waiting for stock.
beside=''
for part in $parts; do
	case "$part: $parts " in
	'coverage:'*' icount '*) continue ;;
	'icount:'*' coverage '*)
		timed coverage &
		beside=$!
		;;
	esac
	timed "$part"
	[ -z "$beside" ] || wait "$beside"
	beside=''
done

format=''
case ${1:-} in
--markdown|--readme) format=--markdown ;;
esac
status=0
# shellcheck disable=SC2086
"$here/bench/report.py" $format --out "$out" --parts "$parts" \
	--base "Linux $(cat "$build/$stock/include/config/kernel.release")" \
	"$results/$ours" "$results/$stock" "$results/$patched" >"$tmp/report" || status=$?
cat "$tmp/report"
for name in "$stock" "$patched" "$ours"; do
	unfinished=$(sed -n 's/^unfinished //p' "$results/$name" | paste -sd' ')
	[ -z "$unfinished" ] || [ "$name" = "$ours" ] ||
		say "$name did not end well, so its figures are not complete: $unfinished" >&2
done
[ -z "$unfinished" ] || die "bench: ours did not end well: $unfinished: see build/logs/"
if [ "${1:-}" = --readme ]; then
	cp "$out/bench.svg" "$here/bench/bench.svg"
	awk -v report="$tmp/report" '
		/^<!-- \/output:bench -->/ { skip = 0 }
		!skip { print }
		/^<!-- output:bench -->/ {
			skip = 1
			while ((getline line < report) > 0) print line
		}' "$here/bench/figures.md" >"$tmp/figures.md"
	cp "$tmp/figures.md" "$here/bench/figures.md"
fi
[ "$status" -eq 0 ] || die "bench: a rule is broken, see above"
