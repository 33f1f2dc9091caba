# SPDX-License-Identifier: GPL-2.0
# client: bcc's tools, as Debian ships them
# shellcheck shell=dash

export PYTHONUNBUFFERED=1
f=kprobe_target_add

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
	sleep 2
	end
	is "lines" "$(count "$f +[0-9]+ 1000\$")" 50
}

try_trace_return()
{
	begin trace-bpfcc "r::$f \"%d\", retval"
	ready '^PID'
	work
	sleep 2
	end
	is "lines" "$(count "$f +10[0-4][0-9]\$")" 50
}

try_trace_stack()
{
	begin trace-bpfcc -K "$f"
	ready '^PID'
	work
	sleep 3
	end
	is "callers" "$(count ' call_write\+')" 50
}

try_trace_offset()
{
	begin trace-bpfcc -K "$f+0x9"
	ready '^PID'
	work
	sleep 3
	end
	is "callers" "$(count ' call_write\+')" 50
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
	sleep 2
	end
	has "true" '^true .*a-word'
}

try_opensnoop()
{
	begin opensnoop-bpfcc
	ready '^PID'
	cat /proc/cmdline >/dev/null
	sleep 2
	end
	has "the file" 'cat .*/proc/cmdline'
}

try_statsnoop()
{
	begin statsnoop-bpfcc
	ready '^PID'
	stat -c %n /proc/cmdline >/dev/null
	sleep 2
	end
	has "the file" '/proc/cmdline'
}

try_vfsstat()
{
	begin vfsstat-bpfcc 2 4
	ready '^TIME'
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
	has "vfs_read" 'vfs_read +[0-9]+'
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
	has "sync" 'sync'
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

try_inject()
{
	begin inject-bpfcc -P 1 kmalloc 'should_failslab(struct kmem_cache *s)(0)'
	sleep 5
	end
	hasnt "errors" '(Traceback|Failed|failed)'
}
