# SPDX-License-Identifier: GPL-2.0
# client: errors injected by debugfs and by BPF
# shellcheck shell=dash

dir=/sys/kernel/debug/fail_function
fn=__x64_sys_sethostname

# The result of that system call: 0 or an error number
hostname_error() { perl -e '$name = "guest"; print syscall(170, $name, 5) == 0 ? 0 : $! + 0'; }

# inject ERRNO TIMES
inject()
{
	echo $fn >$dir/inject || fail "cannot inject into $fn"
	echo "$1" >$dir/$fn/retval || fail "cannot set what it returns"
	echo 100 >$dir/probability
	echo "$2" >$dir/times
	echo 0 >$dir/verbose
}
inject_no_more() { echo >$dir/inject || fail "cannot end injection"; }
enomem=0xfffffffffffffff4

try_fail_function()
{
	is "at first" "$(hostname_error)" 0
	inject $enomem -1
	is "injected" "$(hostname_error)" 12
	is "once more" "$(hostname_error)" 12
	inject_no_more
	is "at last" "$(hostname_error)" 0
}

try_fail_function_times()
{
	inject $enomem 2
	is "all" "$(hostname_error) $(hostname_error) $(hostname_error) $(hostname_error)" "12 12 0 0"
	inject_no_more
}

try_fail_function_refuses()
{
	refuses 'Numerical result out of range' "/bin/echo vfs_read >$dir/inject"
	is "injected into" "$(cat $dir/inject 2>&1)" ""
}

# The probe was set first, so it sees the call.
try_probe_then_fail_function()
{
	event "p:c/entry $fn"
	event_on c
	inject $enomem -1
	is "injected" "$(hostname_error)" 12
	is "hits" "$(traced entry)" 1
	inject_no_more
	is "at last" "$(hostname_error)" 0
	is "hits at last" "$(traced entry)" 2
	events_gone
}

try_fail_function_then_probe()
{
	inject $enomem -1
	event "p:c/inner $fn+9"
	event "r:c/return $fn ret=\$retval"
	event_on c
	is "injected" "$(hostname_error)" 12
	is "hits of the body, which is not run" "$(traced inner)" 0
	is "returns of the body" "$(traced return)" 0
	inject_no_more
	is "at last" "$(hostname_error)" 0
	is "hits of the body at last" "$(traced inner)" 1
	is "returns at last" "$(traced return)" 1
	events_gone
}

# override ERRNO: by BPF, in the background
override()
{
	begin bpftrace --unsafe -e "BEGIN { printf(\"begins\\n\") }
		kprobe:$fn { @calls = count(); override($1) }
		interval:s:1 { printf(\"attached\\n\") }"
	ready attached
}

try_bpf_override()
{
	override -12
	is "injected" "$(hostname_error)" 12
	end
	has "calls" '^@calls: 1$'
	is "at last" "$(hostname_error)" 0
}

try_probe_then_bpf_override()
{
	event "p:c/entry $fn"
	event_on c
	override -12
	is "injected" "$(hostname_error)" 12
	is "hits" "$(traced entry)" 1
	end
	is "at last" "$(hostname_error)" 0
	is "hits at last" "$(traced entry)" 2
	events_gone
}

# Both change what a function returns: the first one does, and after its removal the
# other one.
eagain=0xfffffffffffffff5
try_fail_function_then_bpf_override()
{
	inject $enomem -1
	override -11
	is "both" "$(hostname_error)" 12
	inject_no_more
	is "the override" "$(hostname_error)" 11
	end
	is "at last" "$(hostname_error)" 0
}

try_bpf_override_then_fail_function()
{
	override -12
	inject $eagain -1
	is "both" "$(hostname_error)" 12
	end
	is "the injected error" "$(hostname_error)" 11
	inject_no_more
	is "at last" "$(hostname_error)" 0
}

try_bpf_override_refuses()
{
	out=$(timeout 300 bpftrace --unsafe -e 'kprobe:vfs_read { override(-12) }
		interval:s:1 { printf("attached\n"); exit(); }' 2>&1)
	status=$?
	printf '%s\n' "$out"
	[ $status -ne 0 ] || fail "bpftrace was content"
	has "why" "Error attaching probe: 'kprobe:vfs_read'"
	hasnt "it was attached" '^attached'
}

# LKDTM's handler prints at each hit, and takes the requested action at the fifth. Here it
# only prints once more.
try_lkdtm()
{
	crash=/sys/kernel/debug/provoke-crash
	load lkdtm cpoint_count=5
	echo REPORT_STACK >$crash/INT_HW_IRQ_EN || fail "no crash point"
	tries=0
	until dmesg | grep -q 'Stack offset'; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || { fail "the crash point is not hit"; break; }
		dd if=/dev/vda of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
	done
	unload lkdtm
	out=$(dmesg | grep -a lkdtm)
	printf '%s\n' "$out" | head -n 20
	has "the last hit" 'INT_HW_IRQ_EN of type REPORT_STACK hit, trigger in 0 rounds'
}
