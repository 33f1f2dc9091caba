# SPDX-License-Identifier: GPL-2.0
# client: bpftrace
# shellcheck shell=dash disable=SC2016,SC2034

f=kprobe_target_add
# bpf PROGRAM [OPTION...]: runs it while work runs
bpf()
{
	program=$1
	shift
	run bpftrace "$@" -c '/bin/sh /tmp/work' -e "$program"
}

try_entry()
{
	bpf 'kprobe:'$f' { @calls = count(); @sum = sum(arg0); @b = max(arg1) }'
	has "calls" '^@calls: 50$'
	has "first arguments" '^@sum: 1225$'
	has "second argument" '^@b: 1000$'
}

try_return()
{
	bpf 'kretprobe:'$f' { @calls = count(); @max = max(retval) }'
	has "calls" '^@calls: 50$'
	has "what it returned" '^@max: 1049$'
}

try_latency()
{
	bpf 'kprobe:'$f' { @start[tid] = nsecs; }
		kretprobe:'$f' /@start[tid]/ { @ns = hist(nsecs - @start[tid]); @n = count(); delete(@start[tid]); }'
	has "pairs" '^@n: 50$'
	has "the histogram" '^\[.*\) +[0-9]+ \|'
}

# Debian's bpftrace has no disassembler. With debug information it refuses places where
# it cannot check that an instruction starts; without it, it accepts them.
try_offset()
{
	no_debuginfo
	bpf 'kprobe:'$f'+9 { @calls = count(); }'
	has "calls" '^@calls: 50$'
}

try_module()
{
	bpf 'kprobe:kprobe_target:'$f' { @calls = count(); }'
	has "calls" '^@calls: 50$'
}

try_wildcard()
{
	bpf 'kprobe:vfs_* { @[func] = count(); @all = count(); }'
	has "vfs_write" '^@\[vfs_write\]: [0-9]+'
	at_least "vfs_read" "$(number '^@\[vfs_read\]: ([0-9]+)')" 2
	at_least "functions" "$(count '^@\[vfs_')" 5
}

# In a return probe of this kind, func is the caller.
try_wildcard_return()
{
	bpf 'kretprobe:vfs_re* { @returns = count(); }'
	at_least "returns" "$(number '^@returns: ([0-9]+)')" 2
}

# One by one, as older tools do: bpftrace has a faster way for a wildcard.
try_many()
{
	list=$(functions 200 | sed 's/^/kprobe:/' | paste -sd,)
	printf '/tmp/work\ngrep -c . %s/list >/tmp/points\n' $kp >/tmp/counts
	run bpftrace -c '/bin/sh /tmp/counts' -e "$list { @[func] = count(); @n = count(); }"
	is "probes" "$(number 'Attaching ([0-9]+) probes?')" 200
	hasnt "skipped" 'could not attach'
	is "points" "$(cat /tmp/points)" 200
	at_least "hits" "$(number '^@n: ([0-9]+)')" 10
}

# attach PROGRAM PROBES POINTS HOW: the time until a program has all its probes, and until they
# are removed. The command it starts runs in between. It prints "Attaching" when its program
# is compiled.
attach()
{
	rm -f /tmp/said /tmp/compiled
	mkfifo /tmp/said
	printf 'date +%%s%%N >/tmp/attached\nwhile read -r line; do :; done </proc/meminfo\ngrep -c . %s/list >/tmp/points\ndate +%%s%%N >/tmp/detaching\n' $kp >/tmp/stamp
	while read -r line; do
		case $line in
		Attaching*) now >/tmp/compiled ;;
		esac
		echo "$line"
	done </tmp/said >/tmp/attaching &
	bpftrace -c '/bin/sh /tmp/stamp' -e "$1" >/tmp/said 2>&1 || fail "bpftrace: exit status $?"
	ended=$(now)
	wait
	out=$(cat /tmp/attaching)
	printf '%s\n' "$out" | tail -n 20
	at_least "probes" "$(number 'Attaching ([0-9]+) probes?')" "$2"
	hasnt "skipped" 'could not attach'
	is "points" "$(cat /tmp/points)" "$3"
	at_least "functions that were hit" "$(count '^@\[[a-z0-9_]+\]: [1-9]')" 1
	figure "attached$4" "$(took "$(cat /tmp/compiled)" $(($(cat /tmp/attached) / 1000000)))"
	figure "detached$4" "$(took $(($(cat /tmp/detaching) / 1000000)) "$ended")"
}
# bpftrace has a faster way for this one, without a kprobe.
try_attach_wildcard()
{
	attach 'kprobe:vfs_* { @[func] = count(); }' 1 0 ' by fprobe'
	has "hits" '^@\[vfs_read\]: [1-9]'
}
try_attach_200()
{
	attach "$(functions 200 | sed 's/^/kprobe:/' | paste -sd,) { @[func] = count(); }" 200 200 ''
}
try_attach_1000()
{
	export BPFTRACE_MAX_PROBES=1100 BPFTRACE_MAX_BPF_PROGS=1100
	functions 1000 >/tmp/functions
	attach "$(sed 's/^/kprobe:/' /tmp/functions | paste -sd,) { @[func] = count(); }" 1000 1000 ''
}

try_stack_entry()
{
	bpf 'kprobe:'$f' { @[kstack] = count(); }'
	has "callers" '^ +call_write\+'
	has "callers in the kernel" '^ +vfs_write\+'
	has "one stack" '^\]: 50$'
}

# cat reads the file while the probe is a jump.
try_stack_jump()
{
	no_debuginfo
	cat >/tmp/jumps <<-END
		n=0
		until grep -q ' vfs_read+0x9 .*OPTIMIZED' $kp/list; do
			n=\$((n + 1))
			[ \$n -lt 200 ] || exit
			sleep 0.2
		done
		/tmp/work
		grep ' vfs_read+0x9 ' $kp/list >/tmp/point
	END
	run bpftrace -c '/bin/sh /tmp/jumps' -e 'kprobe:vfs_read+9 /comm == "cat"/ { @[kstack] = count(); @calls = count(); }'
	has "calls" '^@calls: [1-9]'
	has "the function" '^ +vfs_read\+'
	is "all callers" "$(count '^ +(ksys_read|__x64_sys_pread64)\+')" "$(count '^@\[$')"
	is "all first callers" "$(count '^ +do_syscall_64\+')" "$(count '^@\[$')"
	out=$(cat /tmp/point)
	has "how" 'OPTIMIZED'
}

try_stack_breakpoint()
{
	no_debuginfo
	no_jumps
	printf '/tmp/work\ngrep " %s+0x9 " %s/list >/tmp/point\n' $f $kp >/tmp/breaks
	run bpftrace -c '/bin/sh /tmp/breaks' -e 'kprobe:'$f'+9 { @[kstack] = count(); }'
	has "the function" "^ +$f\\+(9|10)\$"
	has "callers" '^ +call_write\+'
	has "callers in the kernel" '^ +vfs_write\+'
	has "one stack" '^\]: 50$'
	out=$(cat /tmp/point)
	has "how" " $f\\+0x9 "
	hasnt "how" 'FTRACE|OPTIMIZED'
}

try_stack_return()
{
	bpf 'kretprobe:'$f' { @[kstack] = count(); }'
	has "callers" '^ +call_write\+'
	has "callers in the kernel" '^ +vfs_write\+'
	has "one stack" '^\]: 50$'
	hasnt "the trampoline" 'trampoline'
}

try_btf()
{
	bpf 'kprobe:vfs_open { @[str(((struct path *)arg0)->dentry->d_name.name)] = count(); }'
	has "a file's name" '^@\[cmdline\]: [0-9]+'
}

try_sleeping_return()
{
	# bpftrace leaves the number of instances to the kernel.
	begin bpftrace -e 'kprobe:do_nanosleep { @entries = count(); } kretprobe:do_nanosleep { @returns = count(); }
		interval:s:1 { printf("attached\n"); }'
	ready attached
	for _ in $(seq 20); do sleep 3 & done
	sleep 6
	end
	entries=$(number '^@entries: ([0-9]+)')
	returns=$(number '^@returns: ([0-9]+)')
	figure 'lost' "$((entries - returns)) of $entries"
	at_least "entries" "$entries" 20
	# The return probe is set last, and a call may come between the two.
	at_least "returns" "$returns" $((entries - 1))
}
