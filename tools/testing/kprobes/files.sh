# SPDX-License-Identifier: GPL-2.0
# Makes the files that guest tests need, on this machine, because the guest has no compiler.
# Sourced.
# shellcheck shell=bash disable=SC2154

# make_files DIR KERNEL NR TEST...: the files that these guest tests ask for in their lines
# "# needs: what FILE makes", for that kernel. NR is the number of encodings. Fails if one of
# the files cannot be made.
make_files()
{
	local dir=$1 kernel=$2 nr=$3 bits=64 gcc=gcc test makers name

	shift 3
	makers=$(for test; do
		sed -n 's/^# needs: what \(.*\) makes$/\1/p' "$here/guest/tests/$test.sh"
	done)
	! is_32bit "$build/$kernel" || bits=32 gcc=i686-linux-gnu-gcc
	case $makers in
	*execute.py*)
		need objdump:binutils python3:python3
		python3 "$here/execute.py" $bits "$nr" 1 "$dir/execute" || return
		;;
	esac
	case $makers in
	*bpf_insns.c*)
		need gcc:gcc /usr/include/stdio.h:libc6-dev
		gcc -O2 -static -o "$dir/bpf_insns" "$here/bpf_insns.c" || return
		;;
	esac
	for name in perf_fuzz only_caps; do
		case $makers in
		*$name.c*)
			if [ $bits = 64 ]; then
				need gcc:gcc /usr/include/stdio.h:libc6-dev
			else
				need "$gcc:gcc-i686-linux-gnu" /usr/i686-linux-gnu/include/stdio.h:libc6-dev-i386-cross
			fi
			$gcc -O2 -static -o "$dir/$name" "$here/$name.c" || return
			;;
		esac
	done
	case $makers in
	*README.md*)
		make_calls "$dir" "$build/$kernel" || return
		;;
	esac
}

# make_calls DIR OUT: calls.ko, with the source, the makefile and the command that README shows
make_calls()
{
	local tmp=$1/.calls

	# What could not be made before is still there.
	mkdir -p "$tmp"
	awk '/^```/ { shown = $0 == "```c"; next } shown' "$top/README.md" >"$tmp/calls.c"
	sed -n "s,^echo '\(.*\)' >/tmp/calls/Makefile\$,\1,p" "$top/README.md" >"$tmp/Makefile"
	if ! make -C "$2" M="$tmp" modules >"$tmp/log" 2>&1 || ! mv "$tmp/calls.ko" "$1"; then
		tail -n 5 "$tmp/log"
		return 1
	fi
	rm -rf "$tmp"
}
