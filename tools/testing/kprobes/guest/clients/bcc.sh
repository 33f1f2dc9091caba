# SPDX-License-Identifier: GPL-2.0
# client: bcc's tools, as Debian ships them
# shellcheck shell=dash

export PYTHONUNBUFFERED=1
f=kprobe_target_add

# begin_by_kprobes TOOL [ARGUMENT...]: makes newer tools use kprobes, too, not fentry
begin_by_kprobes()
{
	tool=$(command -v "$1")
	shift
	begin python3 -c 'if 1:
		import bcc, runpy, sys
		bcc.BPF.support_kfunc = staticmethod(lambda: False)
		sys.argv = sys.argv[1:]
		runpy.run_path(sys.argv[0], run_name = "__main__")' "$tool" "$@"
}

# stop: ends a tool that only prints what it sees. Python ignores the signal during a callback,
# and a tool that sees what this shell does is mostly in callbacks.
stop()
{
	(while sleep 2; do kill -INT $began_pid || exit; done) 2>/dev/null &
	again=$!
	end
	kill $again
}

try_funccount()
{
	begin funccount-bpfcc 'kprobe_target_[ar]*'
	ready '^Tracing [0-9]+ functions'
	work
	end
	has "calls" "$f +50\$"
}

try_funccount_many()
{
	begin funccount-bpfcc 'vfs_*'
	ready '^Tracing [0-9]+ functions'
	work
	end
	has "vfs_read" 'vfs_read +[0-9]+$'
	at_least "functions" "$(number '^Tracing ([0-9]+) functions')" 40
}

try_funclatency()
{
	begin funclatency-bpfcc $f
	ready '^Tracing'
	work
	end
	has "calls" 'count: 50$'
}

try_trace()
{
	begin trace-bpfcc "$f \"%d %d\", arg1, arg2"
	ready '^PID'
	work
	prints "$f +49 1000\$"
	stop
	is "lines" "$(count "$f +[0-9]+ 1000\$")" 50
}

try_trace_return()
{
	begin trace-bpfcc "r::$f \"%d\", retval"
	ready '^PID'
	work
	prints "$f +1049\$"
	stop
	is "lines" "$(count "$f +10[0-4][0-9]\$")" 50
}

# BPF stacks in a handler called by ftrace, a jump or a breakpoint, and on return.
# One program takes all of them, as the guest compiles slowly. Each line is the number
# of equal stacks, and the functions.
try_stacks()
{
	cat >/tmp/stacks.py <<-'END'
		from bcc import BPF
		from subprocess import check_call
		from time import sleep
		f = b"kprobe_target_add"
		list = "/sys/kernel/debug/kprobes/list"
		b = BPF(text = """
		    BPF_STACK_TRACE(stacks, 1024);
		    BPF_HASH(counts, int);
		    int hit(void *ctx)
		    {
		        int id = stacks.get_stackid(ctx, 0);
		        counts.increment(id);
		        return 0;
		    }
		""")
		def jump():
		    for i in range(100):
		        if any(" vfs_read+0x9 " in l and "OPTIMIZED" in l for l in open(list)):
		            return
		        sleep(.2)
		    print("no jump")
		def case(name, wait = None):
		    if wait:
		        wait()
		    b["counts"].clear()
		    check_call("/tmp/work")
		    for l in open(list):
		        print("how", name, l, end = "")
		    for id, n in b["counts"].items():
		        stack = [b.ksym(a).decode() for a in b["stacks"].walk(id.value)]
		        print(name, n.value, *stack)
		def sysctl(value):
		    try:
		        open("/proc/sys/debug/kprobes-optimization", "w").write(value)
		    except FileNotFoundError:
		        pass
		b.attach_kprobe(event = f, fn_name = "hit")
		case("ftrace")
		b.detach_kprobe(event = f)
		b.attach_kprobe(event = "vfs_read", event_off = 9, fn_name = "hit")
		case("jump", jump)
		b.detach_kprobe(event = "vfs_read")
		sysctl("0")
		b.attach_kprobe(event = f, event_off = 9, fn_name = "hit")
		case("breakpoint")
		b.detach_kprobe(event = f)
		sysctl("1")
		b.attach_kretprobe(event = f, fn_name = "hit")
		case("return")
	END
	run /usr/bin/python3 /tmp/stacks.py
	for how in ftrace breakpoint; do
		has "by $how" "^$how 50 $f call_write .*vfs_write ksys_write .*do_syscall_64 "
	done
	has "by jump" '^jump [0-9]+ vfs_read ksys_read .*do_syscall_64 '
	has "by return" '^return 50 call_write .*vfs_write ksys_write .*do_syscall_64 '
	is "stacks" "$(count '^(ftrace|breakpoint|return) ')" 3
	is "without a system call" "$(printf '%s\n' "$out" | grep -E '^(ftrace|jump|breakpoint|return) ' | grep -vc do_syscall_64)" 0
	hasnt "no jump" '^no jump'
	has "hit by ftrace" "^how ftrace .* $f\+0x[0-9a-f]+ .*\[FTRACE\]"
	has "hit by a jump" '^how jump .* vfs_read\+0x9 .*\[OPTIMIZED\]'
	has "hit by a breakpoint" "^how breakpoint .* $f\+0x9 "
	hasnt "hit by a breakpoint" "^how breakpoint .*\[(FTRACE|OPTIMIZED)\]"
	has "returns" "^how return .* r +$f\+0x"
}

try_attach_200()
{
	functions 200 >/tmp/functions
	cat >/tmp/attach.py <<-'END'
		from bcc import BPF
		from subprocess import check_call
		from time import time
		names = open("/tmp/functions").read().split()
		b = BPF(text = """
		    BPF_ARRAY(hits, u64, 1);
		    int hit(void *ctx) { hits.increment(0); return 0; }
		""")
		start = time()
		for name in names:
		    b.attach_kprobe(event = name, fn_name = "hit")
		attached = time()
		check_call("/tmp/work")
		points = sum(1 for line in open("/sys/kernel/debug/kprobes/list"))
		detaching = time()
		for name in names:
		    b.detach_kprobe(event = name)
		detached = time()
		print("%d: %.2f %.2f" % (len(names), attached - start, detached - detaching))
		print("points", points)
		print("hits", b["hits"][0].value)
	END
	run /usr/bin/python3 /tmp/attach.py
	has "functions" '^200: '
	is "points" "$(number '^points ([0-9]+)')" 200
	at_least "hits" "$(number '^hits ([0-9]+)')" 10
	figure 'attached' "$(number '^200: ([0-9.]+) ') s"
	figure 'detached' "$(number '^200: [0-9.]+ ([0-9.]+)$') s"
}

# A wildcard, which bcc resolves itself
try_attach_wildcard()
{
	cat >/tmp/attach.py <<-'END'
		from bcc import BPF
		from subprocess import check_call
		from time import time
		b = BPF(text = """
		    BPF_ARRAY(hits, u64, 1);
		    int hit(void *ctx) { hits.increment(0); return 0; }
		""")
		# For that it reads all symbols, which is not the kernel's work.
		names = BPF.get_kprobe_functions(b"^vfs_.*")
		start = time()
		for name in names:
		    b.attach_kprobe(event = name, fn_name = "hit")
		attached = time()
		check_call("/tmp/work")
		points = sum(1 for line in open("/sys/kernel/debug/kprobes/list"))
		detaching = time()
		b.cleanup()
		print("took %.2f %.2f" % (attached - start, time() - detaching))
		print("points", points)
	END
	run /usr/bin/python3 /tmp/attach.py
	at_least "points" "$(number '^points ([0-9]+)')" 40
	figure 'attached' "$(number '^took ([0-9.]+) ') s"
	figure 'detached' "$(number '^took [0-9.]+ ([0-9.]+)$') s"
}

try_argdist()
{
	begin argdist-bpfcc -c -i 2 -C "p::$f(int a, int b):int:b"
	ready '^\['
	work
	sleep 6
	end
	has "calls" '50 +b = 1000$'
}

try_argdist_return()
{
	begin argdist-bpfcc -c -i 2 -H "r::$f():int:\$retval"
	ready '^\['
	work
	sleep 6
	end
	has "the histogram" '1024 -> 2047 +: 26 '
}

try_stackcount()
{
	begin stackcount-bpfcc $f
	ready '^Tracing'
	work
	end
	has "callers" '^ +call_write'
	has "calls" '^ +50$'
}

try_execsnoop()
{
	begin execsnoop-bpfcc
	ready '^PCOMM'
	/bin/true a-word
	prints '^true .*a-word'
	stop
}

try_opensnoop()
{
	begin_by_kprobes opensnoop-bpfcc
	ready '^PID'
	attached __x64_sys_openat
	cat /proc/cmdline >/dev/null
	prints 'cat .*/proc/cmdline'
	stop
}

try_statsnoop()
{
	begin statsnoop-bpfcc
	ready '^PID'
	stat -c %n /proc/cmdline >/dev/null
	# This version looks for the file name in the wrong register, and prints none.
	prints '^[0-9]+ +stat +0 +0'
	stop
}

try_vfsstat()
{
	begin_by_kprobes vfsstat-bpfcc 2 4
	ready '^TIME'
	attached vfs_read
	for _ in 1 2 3 4 5 6; do work; sleep 1; done
	finish
	has "reads" '^[0-9:]+: +[1-9]'
}

try_vfscount()
{
	begin vfscount-bpfcc 8
	ready '^Tracing'
	sleep 2
	work
	finish
	# As Python bytes
	has "vfs_read" "b'vfs_read' +[1-9]"
}

try_biosnoop()
{
	begin biosnoop-bpfcc
	ready '^TIME'
	dd if=/dev/vda of=/dev/null bs=4k count=5 iflag=direct 2>/dev/null
	sleep 2
	end
	is "requests" "$(count 'vda +R')" 5
}

try_offcputime()
{
	begin offcputime-bpfcc -K 5
	sleep 0.1
	finish
	has "the scheduler" '(schedule|finish_task_switch)'
}

try_syncsnoop()
{
	begin syncsnoop-bpfcc
	ready '^TIME'
	sync
	sleep 2
	end
	has "sync" '^[0-9.]+ +sync\(\)$'
}

try_capable()
{
	begin capable-bpfcc
	ready '^TIME'
	chown 1 /tmp/work
	chown 0 /tmp/work
	sleep 2
	end
	has "chown" 'chown'
}

# read_disk: sets $out to the output of dd
read_disk()
{
	out=$(dd if=/dev/vda of=/dev/null bs=4k count=1 iflag=direct 2>&1)
	printf '%s\n' "$out"
}
try_inject()
{
	read_disk
	has "at first" '1\+0 records in'
	begin inject-bpfcc -I linux/errno.h bio '(true)'
	attached should_fail_bio
	sleep 1
	read_disk
	has "injected" 'Input/output error'
	end
	hasnt "errors" '(Traceback|Failed|failed)'
	read_disk
	has "at last" '1\+0 records in'
}
