#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Builds the tests of the base's selftests/bpf that use probes, with this machine's compilers,
# into build/NAME/selftests-bpf. NAME is a kernel with BTF.
#
#   bpf.sh NAME TEST...    prog_tests/TEST.c with all programs that it loads
#
# Their Makefile builds several hundred programs, and Debian's clang is too old for many of
# them. Here a test that does not build is left out, and TEST.failed says why.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

name=$1
shift
from=$stock_src/tools/testing/selftests/bpf
tools=$build/selftests-bpf
out=$build/$name/selftests-bpf
log=$build/logs/bpf-$name.log

need clang:clang ccache:ccache /usr/include/gelf.h:libelf-dev /usr/include/zlib.h:zlib1g-dev
mkdir -p "$tools/bpftool" "$tools/libbpf" "$out/prog_tests" "$build/logs"
lock "bpf"
: >"$log"

# The parts that depend on the base only: its libbpf, and enough of bpftool to make skeletons.
if [ ! -e "$tools/bpftool/bootstrap/bpftool" ] || ! cmp -s "$build/stock/base" "$tools/.base"; then
	rm -rf "$tools"
	mkdir -p "$tools/bpftool" "$tools/libbpf"
	say "building libbpf and bpftool"
	{
		make -C "$stock_src/tools/lib/bpf" OUTPUT="$tools/libbpf/" DESTDIR="$tools" prefix= \
			-j"$(nproc)" all install_headers &&
		make -C "$stock_src/tools/bpf/bpftool" OUTPUT="$tools/bpftool/" feature_display=0 \
			-j"$(nproc)" bootstrap
	} >>"$log" 2>&1 </dev/null || die "libbpf and bpftool do not build: see $log"
	cp "$build/stock/base" "$tools/.base"
fi
bpftool=$tools/bpftool/bootstrap/bpftool

# The rest is built again if the kernel or the list of tests has changed.
stamp=$(cat "$build/$name/vmlinux" "$0" <(echo "$*") | sha1sum)
[ ! -e "$out/.stamp" ] || [ "$(cat "$out/.stamp")" != "$stamp" ] || exit 0
rm -rf "$out"
mkdir -p "$out/prog_tests"
"$bpftool" btf dump file "$build/$name/vmlinux" format c >"$out/vmlinux.h" 2>>"$log" ||
	die "kernel $name has no BTF: see $log"

mapfile -t includes < <(clang -v -E - </dev/null 2>&1 |
	sed -n '/<...> search starts here:/,/End of search list./{ s|^ \(/.*\)|-idirafter\n\1|p }')
bpf_flags=(-g -w -D__TARGET_ARCH_x86 -DENABLE_ATOMICS_TESTS -mlittle-endian "-I$out" "-I$tools/include"
	"-I$from" "-I$stock_src/tools/include/uapi" "${includes[@]}" -O2 --target=bpf -mcpu=v3)
flags=(-g -O0 -w -rdynamic -D_GNU_SOURCE "-I$out" "-I$from" "-I$tools/include" "-I$stock_src/tools/lib"
	"-I$stock_src/tools/include" "-I$stock_src/tools/arch/x86/include"
	"-I$stock_src/tools/include/uapi")

# program NAME: an object and a skeleton, as their Makefile makes them
program()
{
	local o=$out/$1.bpf.o

	[ ! -e "$out/$1.skel.h" ] || return 0
	clang "${bpf_flags[@]}" -c "$from/progs/$1.c" -o "$o" &&
	"$bpftool" gen object "$o.1" "$o" &&
	"$bpftool" gen object "$o.2" "$o.1" &&
	"$bpftool" gen skeleton "$o.2" name "$1" >"$out/$1.tmp" &&
	mv "$out/$1.tmp" "$out/$1.skel.h"
}

# one_test NAME: with all that it loads
one_test()
{
	local p programs

	mapfile -t programs < <(grep -ohE '[a-z_0-9]+\.(skel\.h|bpf\.o)' "$from/prog_tests/$1.c" |
		sed 's/\..*//' | sort -u)
	for p in "${programs[@]}"; do
		program "$p" || return
	done
	(cd "$out" && ccache gcc "${flags[@]}" -c "$from/prog_tests/$1.c" -o "$out/$1.test.o")
}

say "building selftests/bpf for $name: $# tests"
objects=()
built=()
for test; do
	if one_test "$test" >"$out/$test.log" 2>&1 </dev/null; then
		objects+=("$out/$test.test.o")
		built+=("$from/prog_tests/$test.c")
	else
		grep -m 1 -E 'error:|Error' "$out/$test.log" | sed 's,^[^ ]*/,,' >"$out/$test.failed" ||
			echo 'it does not build' >"$out/$test.failed"
	fi
	cat "$out/$test.log" >>"$log"
done
# bpf_cookie calls functions of these.
for test in test_lsm uprobe_multi_test; do
	one_test $test >>"$log" 2>&1 </dev/null || die "$test does not build: see $log"
	objects+=("$out/$test.test.o")
	built+=("$from/prog_tests/$test.c")
done
[ ${#built[@]} -gt 2 ] || die "no test of selftests/bpf builds: see $log"

sed -n -E 's/^void (serial_)?test_([a-zA-Z0-9_]+)\((void)?\).*/DEFINE_TEST(\2)/p' "${built[@]}" |
	sort >"$out/prog_tests/tests.h"
for o in test_progs cgroup_helpers trace_helpers network_helpers testing_helpers btf_helpers \
	cap_helpers unpriv_helpers netlink_helpers jit_disasm_helpers test_loader xsk disasm \
	disasm_helpers json_writer; do
	ccache gcc "${flags[@]}" -c "$from/$o.c" -o "$out/$o.o" >>"$log" 2>&1 || die "$o.c does not build: see $log"
	objects+=("$out/$o.o")
done
gcc -rdynamic -o "$out/test_progs" "${objects[@]}" "$tools/libbpf/libbpf.a" -lelf -lz -lrt -lpthread \
	>>"$log" 2>&1 || die "test_progs does not link: see $log"
rm -f "$out"/*.o.[12] "$out"/*.test.o
# stacktrace_build_id runs it. It gives a symbol of the library an old version, in a way
# that gcc refuses: the base, too, has clang for it.
{
	clang "${flags[@]}" -fPIC -shared -Wl,-znoseparate-code,--build-id=sha1,--version-script="$from/liburandom_read.map" \
		-o "$out/liburandom_read.so" "$from"/urandom_read_lib[12].c &&
	clang "${flags[@]}" -o "$out/urandom_read" "$from/urandom_read.c" "$from/urandom_read_aux.c" \
		"-L$out" -lurandom_read -Wl,-znoseparate-code,--build-id=sha1,-rpath=.
} >>"$log" 2>&1 || die "urandom_read does not build: see $log"
cp "$build/$name/selftests-bpf-bpf_testmod/bpf_testmod.ko" "$out/"
echo "$stamp" >"$out/.stamp"
