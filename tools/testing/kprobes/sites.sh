#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Finds addresses of a kernel that can carry a probe, in a guest, once for each kernel.
# Keeps them in a directory build/NAME/.sites-*, whose name it prints:
#
#   sites.sh NAME    name under build/, e.g. x86_64 or stock-x86_64
#
#   all      10,000 from everywhere in its text
#   quiet    10,100 in functions that do not run when probes are set and removed, so
#            that a crowd of probes does not hit itself
#   cold     55,000 in such functions; untested, some are refused
#   names    names of such functions, those of our kernel for stock, too
#
# None is an ftrace site. The first 100, 1,000 and 10,000 are spread as evenly as the whole
# list, and each of these parts is in ascending order.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

[ $# -eq 1 ] || die "sites.sh: no kernel given: see the head of $0"
name=$1
kernel=$build/$name
[ -e "$kernel/vmlinux" ] || die "no kernel in build/$name: make kernel or make stock builds it"
all='100 1000 10000'
quiet='100 1000 10000 10100'
cold='100 1000 10000 55000'
names=''
case $name in
stock-*) names=$("$0" "${name#stock-}")/names ;;
esac
known=$kernel/.sites-$(cat "$kernel/arch/x86/boot/bzImage" "$here/guest/jobs/sites.sh" \
	"$kernel/kprobes-modules/kprobe_crowd.ko" "$0" "$here/guest.sh" ${names:+"$names"} \
	<(emulator_version) | sha1sum | cut -c1-16)
if [ -e "$known" ]; then
	echo "$known"
	exit
fi

# spread COUNT...: this many lines of the input, evenly spread, then up to each further COUNT
spread()
{
	awk -v counts="$*" '
		{ line[n++] = $0 }
		END {
			levels = split(counts, count, " ")
			if (n < count[levels]) exit 1
			for (l = 1; l <= levels; l++) {
				# Those that are taken take places of this level.
				want = count[l] - done
				step = (n - done) / want
				for (i = at = 0; i < n; i++) {
					if (i in taken) continue
					if (at++ < got * step) continue
					print line[i]
					taken[i] = 1
					done++
					if (++got == want) break
				}
				got = 0
			}
		}'
}

need objdump:binutils
scratch
mkdir "$tmp/files1" "$tmp/files2" "$tmp/sites"
# Starts of reachable instructions, with their functions; some more than wanted, because
# not all can be probed. Ftrace sites are left out: one costs as much as a thousand
# others.
objdump -d --no-show-raw-insn -j .text "$kernel/vmlinux" | awk '
	/^[0-9a-f]+ </ { padding = /<__pfx_/; name = $2; gsub(/[<>:]/, "", name) }
	padding || $2 == "int3" || /call .*<__fentry__>|nopl +0x0\(%rax,%rax,1\)$/ { next }
	/^ *[0-9a-f]+:\t/ { sub(/:.*/, "", $1); print $1, name }' >"$tmp/text"
spread 14500 <"$tmp/text" | awk -v dir="$tmp" '{ print $1 >(dir "/files" NR % 2 + 1 "/all") }'
# These do not run once the machine is up.
awk '$2 ~ /^acpi_(ds|ex|ns|ps|ut)_/ { print $1 }' "$tmp/text" >"$tmp/files1/acpi"

say "finding where $name can be probed (build/logs/sites-$name-*)" >&2
# find_half N WATCH: stock takes long, and the longer the more probes there are, so two
# guests try one half each. Addresses as in vmlinux: no KASLR.
find_half()
{
	"$here/guest.sh" -t 1800 -m 2048 -l "sites-$name-$1" -a nokaslr \
		-s 'blocked for more than' -f "$tmp/files$1" "$kernel" sites WATCH="$2" >"$tmp/out$1"
}
find_half 2 '' &
ended=1
find_half 1 "$([ -n "$names" ] || echo yes)" || ended=''
wait $! || ended=''
sort "$tmp/out1" "$tmp/out2" >"$tmp/out"
[ -n "$ended" ] || {
	tail -n 3 "$tmp/out1" "$tmp/out2" >&2
	die "sites: none were found: see build/logs/sites-$name-*"
}
[ -n "$names" ] || { names=$tmp/names; awk '$1 == "name" { print $2 }' "$tmp/out" >"$names"; }
cp "$names" "$tmp/sites/names"
# shellcheck disable=SC2086
if ! awk '$1 == "all" { print $2 }' "$tmp/out" | spread $all >"$tmp/sites/all" ||
   ! awk 'NR == FNR { cold[$1] = 1; next } $2 in cold { print $1 }' "$names" "$tmp/text" |
	tee "$tmp/cold" | spread $cold >"$tmp/sites/cold" ||
   ! awk '$1 == "all" { print $2 }' "$tmp/out" | grep -Fxf - "$tmp/cold" |
	spread $quiet >"$tmp/sites/quiet"; then
	die "sites: too few of them can be probed: see build/logs/sites-$name-*"
fi
rm -rf "$kernel"/.sites-*
mv "$tmp/sites" "$known"
echo "$known"
