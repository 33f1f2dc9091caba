# SPDX-License-Identifier: GPL-2.0
# client: perf probe, record, script, stat and trace
# shellcheck shell=dash

m=kprobe_target
f=kprobe_target_add

add() { run perf probe -q -m $m -a "$1"; }
no_probes()
{
	run perf probe -q -d 'probe:*'
	is "events left" "$(cat $tracing/kprobe_events 2>&1)" ""
}
# counts WHAT EVENT TIMES: perf stat counts the event
counts()
{
	run perf stat -x, -e "probe:$2" /tmp/work
	is "$1" "$(number '^([0-9]+),,')" "$3"
}
# recorded WHAT EVENT REGEX TIMES [OPTION]: perf script prints matching lines
recorded()
{
	run perf record -q -o /tmp/perf.data $5 -e "probe:$2" /tmp/work
	run perf script -i /tmp/perf.data
	is "$1" "$(count "$3")" "$4"
}

try_entry()
{
	no_debuginfo
	run perf probe -a vfs_read
	has "what it added" 'probe:vfs_read +\(on vfs_read\)'
	run perf stat -x, -e probe:vfs_read /tmp/work
	at_least "vfs_read" "$(number '^([0-9]+),,')" 2
	run perf probe -l
	has "the list" 'probe:vfs_read'
	run perf probe -d vfs_read
	has "what it removed" 'Removed event: probe:vfs_read'
	is "events left" "$(cat $tracing/kprobe_events 2>&1)" ""
}

try_module()
{
	no_debuginfo
	add $f
	counts "$f" $f 50
	recorded "records" $f "probe:$f: " 50
	no_probes
}

try_module_path()
{
	no_debuginfo
	run perf probe -q -m /modules/$m.ko -a $f
	counts "$f" $f 50
	no_probes
}

try_offset()
{
	no_debuginfo
	add "inner=$f+9"
	counts "$f+9" inner 50
	no_probes
}

try_register()
{
	no_debuginfo
	add "$f a=%di:s32 b=%si:s32"
	recorded "calls" $f 'a=[0-9]+ b=1000$' 50
	has "the last call" 'a=49 b=1000$'
	no_probes
}

try_return()
{
	no_debuginfo
	add "$f%return ret=\$retval:s32"
	recorded "returns" ${f}__return 'ret=10[0-4][0-9]' 50
	has "where from" "<- "
	no_probes
}

try_glob()
{
	no_debuginfo
	run perf probe -a 'vfs_re*'
	at_least "events" "$(count 'on vfs_re')" 3
	run perf stat -x, -e 'probe:vfs_re*' /tmp/work
	at_least "vfs_read" "$(number '^([0-9]+),,probe:vfs_read,')" 2
	no_probes
}

try_functions()
{
	no_debuginfo
	run perf probe -F 'vfs_re*'
	has "functions" '^vfs_read$'
	run perf probe -m $m -F
	has "functions of a module" "^$f\$"
}

try_blacklist()
{
	no_debuginfo
	if out=$(perf probe -a do_int3 2>&1); then fail "do_int3 was accepted"; fi
	printf '%s\n' "$out"
	has "why" 'do_int3.*(blacklist|out of \.text)'
	is "events" "$(cat $tracing/kprobe_events 2>&1)" ""
}

try_system_wide()
{
	no_debuginfo
	add $f
	recorded "records" $f "probe:$f: " 50 -a
	no_probes
}

try_filter()
{
	no_debuginfo
	add "$f a=%di:s32"
	run perf record -q -o /tmp/perf.data -e "probe:$f" --filter 'a < 7' /tmp/work
	run perf script -i /tmp/perf.data
	is "records" "$(count "probe:$f: ")" 7
	no_probes
}

try_trace()
{
	no_debuginfo
	add $f
	run perf trace --no-syscalls -e "probe:$f" /tmp/work
	is "lines" "$(count "probe:$f")" 50
	no_probes
}

# The callers, by the kernel's unwinder: none is missing or duplicate.
chain()
{
	recorded "callers in the target" "$1" '^\s*[0-9a-f]+ call_write' 50 -g
	is "callers in the kernel" "$(count '^\s*[0-9a-f]+ vfs_write')" 50
	is "system calls" "$(count '^\s*[0-9a-f]+ do_syscall_64')" 50
	hasnt "callers that are none" 'kretprobe_trampoline|rethook_trampoline|\[unknown\] \(\[kernel|optprobe'
}

try_chain_entry()
{
	no_debuginfo
	add $f
	event_on probe
	how $f FTRACE
	chain $f
	is "the function itself" "$(count "^\s*[0-9a-f]+ $f")" 50
	event_off probe
	no_probes
}

# In a function where stock can use a jump, too. The event stays on for perf to find.
try_chain_jump()
{
	no_debuginfo
	run perf probe -q -a 'inner=vfs_read+9'
	event_on probe
	jump vfs_read+0x9
	run perf record -q -o /tmp/perf.data -g -e probe:inner /tmp/work
	run perf script -i /tmp/perf.data
	n=$(count 'probe:inner: ')
	at_least "hits" "$n" 2
	is "the function itself" "$(count '^\s*[0-9a-f]+ vfs_read')" "$n"
	at_least "callers" "$(count '^\s*[0-9a-f]+ ([a-z0-9_]*sys_pread64|ksys_read)')" "$n"
	is "system calls" "$(count '^\s*[0-9a-f]+ do_syscall_64')" "$n"
	hasnt "callers that are none" 'optprobe|optinsn|\[unknown\] \(\[kernel'
	event_off probe
	no_probes
}

try_chain_breakpoint()
{
	no_debuginfo
	no_jumps
	add "inner=$f+9"
	event_on probe
	how $f BREAKPOINT
	chain inner
	is "the function itself" "$(count "^\s*[0-9a-f]+ $f")" 50
	event_off probe
	no_probes
}

try_chain_return()
{
	no_debuginfo
	add "$f%return"
	event_on probe
	how $f FTRACE
	chain ${f}__return
	event_off probe
	no_probes
}

# The stack of a task that is in a probed function, taken by another probe: the
# function's return address is not where it was.
try_chain_through_return()
{
	no_debuginfo
	run perf probe -q -a 'vfs_write%return'
	add $f
	run perf record -q -o /tmp/perf.data -g -e "probe:$f" -e 'probe:vfs_write__return' /tmp/work
	run perf script -i /tmp/perf.data
	at_least "callers beyond vfs_write" "$(count '^\s*[0-9a-f]+ ksys_write')" 50
	hasnt "callers that are none" 'trampoline|\[unknown\] \(\[kernel'
	no_probes
}

# Set, hit or not, and removed, timed as the user waits for it: perf starts the command
# after all events are attached.
try_attach_1000()
{
	no_debuginfo
	functions 1000 >/tmp/functions
	start=$(now)
	# perf takes up to 128 at a time.
	while read -r name; do
		set -- "$@" -a "$name"
		[ $# -lt 200 ] || { run perf probe -q "$@"; set --; }
	done </tmp/functions
	made=$(now)
	is "events" "$(grep -c '^p:probe/' $tracing/kprobe_events)" 1000
	run perf stat -x, -o /tmp/stat -e 'probe:*' /bin/date +%s%N
	closed=$(now)
	attached=$(($(printf '%s\n' "$out" | grep -Ex '[0-9]{19}') / 1000000))
	is "counters" "$(grep -Ec '^[0-9]+,,probe:' /tmp/stat)" 1000
	removing=$(now)
	no_probes
	figure 'made' "$(took "$start" "$made")"
	figure 'attached' "$(took "$made" $attached)"
	figure 'closed' "$(took $attached "$closed")"
	figure 'removed' "$(took "$removing" "$(now)")"
}

# What decoders of hardware traces need: the addresses of the code of probes, and the bytes
# that kprobes write over kernel text. Many probes need a new page even if earlier pages exist.
try_ksymbol()
{
	functions 300 | sed 's/.*/p:k\/& &+9/' >/tmp/events
	cat >/tmp/pages <<-END
		while read -r event; do echo "\$event"; done </tmp/events 2>/dev/null >>$tracing/kprobe_events
		echo 1 >$tracing/events/k/enable
		sleep 5
		echo 0 >$tracing/events/k/enable
		grep -c . $kp/list
		echo >$tracing/kprobe_events
	END
	run perf record -q -a -e dummy -o /tmp/perf.data /bin/sh /tmp/pages
	at_least "probes" "$(number '^([0-9]+)$')" 200
	run perf script -i /tmp/perf.data --show-bpf-events
	has "a page" 'PERF_RECORD_KSYMBOL addr [0-9a-f]+ len [0-9]+ type 2 .* name kprobe_(opt)?insn_page'
}

try_text_poke()
{
	cat >/tmp/pokes.c <<-'END'
		#include <linux/perf_event.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <sys/syscall.h>
		#include <unistd.h>

		int main(int argc, char **argv)
		{
			struct perf_event_attr attr = { .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE,
				.config = PERF_COUNT_SW_DUMMY, .text_poke = 1 };
			int cpu, cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = 64;
			struct perf_event_mmap_page *maps[cpus];

			for (cpu = 0; cpu < cpus; cpu++) {
				int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);

				maps[cpu] = mmap(NULL, (pages + 1) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
				if (fd < 0 || maps[cpu] == MAP_FAILED)
					return perror("perf_event_open"), 1;
			}
			if (system(argv[1]))
				return 1;
			for (cpu = 0; cpu < cpus; cpu++) {
				unsigned long at = 0, end = maps[cpu]->data_head, size = pages * 4096UL;
				char *data = (char *)maps[cpu] + 4096;

				while (at < end) {
					unsigned char record[65536];
					struct perf_event_header *header = (void *)record;
					unsigned short *len = (void *)(record + 16);
					unsigned int i;

					for (i = 0; i < 8; i++)
						record[i] = data[(at + i) % size];
					for (; i < header->size; i++)
						record[i] = data[(at + i) % size];
					at += header->size;
					if (header->type != PERF_RECORD_TEXT_POKE)
						continue;
					printf("poke %lx", *(unsigned long *)(record + 8));
					for (i = 0; i < len[0] + len[1]; i++)
						printf("%s%02x", i == 0 ? " old " : i == len[0] ? " new " : "", record[20 + i]);
					printf("\n");
				}
			}
			return 0;
		}
	END
	run gcc -o /tmp/pokes /tmp/pokes.c
	echo 'p:k/inner vfs_read+9' >$tracing/kprobe_events
	cat >/tmp/pokes.sh <<-END
		echo 1 >$tracing/events/k/enable
		until grep -q ' vfs_read+0x9 .*OPTIMIZED' $kp/list; do sleep 0.2; done
		echo 0 >$tracing/events/k/enable
	END
	run /tmp/pokes 'timeout 100 /bin/sh /tmp/pokes.sh'
	at=$(awk '$3 == "vfs_read" { print $1 }' /proc/kallsyms)
	# The numbers of a shell are signed.
	at=$(perl -e 'printf "%x", hex($ARGV[0]) + 9' "$at")
	has "a breakpoint" "^poke $at .*new cc"
	has "a jump" "^poke $at .*new e9"
	has "what was there before the jump" "^poke $at old (e9|cc)"
	echo >$tracing/kprobe_events
}

try_line()
{
	add "line=$f:2"
	counts "$f:2" line 50
	no_probes
}

try_argument()
{
	add "$f a b"
	recorded "calls" $f 'a=[0-9]+ b=1000$' 50
	no_probes
}

try_vars()
{
	run perf probe -m $m -V $f
	has "a" 'int[[:space:]]+a$'
	has "b" 'int[[:space:]]+b$'
}

# With the debug information of the kernel itself, which is large.
try_kernel_argument()
{
	run perf probe -q -a 'vfs_read count'
	run perf record -q -o /tmp/perf.data -e probe:vfs_read /tmp/work
	run perf script -i /tmp/perf.data
	has "a size" 'count=(0x)?[0-9a-f]+'
	no_probes
}

try_kernel_line()
{
	run perf probe -s "$SOURCE" -L vfs_read
	line=$(printf '%s\n' "$out" | sed -En 's/^ +([0-9]+)  .*rw_verify_area.*/\1/p' | head -n 1)
	at_least "a line that can be probed" "$line" 1
	run perf probe -q -a "line=vfs_read:${line:-0}"
	run perf stat -x, -e probe:line /tmp/work
	at_least "vfs_read:$line" "$(number '^([0-9]+),,')" 2
	run perf probe -q -a "arg=vfs_read:${line:-0} count"
	run perf record -q -o /tmp/perf.data -e probe:arg /tmp/work
	run perf script -i /tmp/perf.data
	has "a local variable" 'probe:arg: .* count=(0x)?[0-9a-f]+'
	no_probes
}
