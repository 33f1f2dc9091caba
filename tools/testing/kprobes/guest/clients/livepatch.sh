# SPDX-License-Identifier: GPL-2.0
# client: live patches of a probed function, in each order
# shellcheck shell=dash

patched='this has been live patched'
sysfs=/sys/kernel/livepatch/livepatch_sample

# shows WHAT patched|original
shows()
{
	case $(cat /proc/cmdline) in
	"$patched") is "$1" patched "$2" ;;
	*) is "$1" original "$2" ;;
	esac
}

within()
{
	tries=0
	until eval "$2"; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || { fail "$1"; return; }
		sleep 0.2
	done
}

patch()
{
	load livepatch-sample
	within "the transition did not end" "[ \"\$(cat $sysfs/transition)\" = 0 ]"
}
unpatch()
{
	echo 0 >$sysfs/enabled || fail "cannot disable the patch"
	within "the patch did not go" "[ ! -e $sysfs ]"
	within "the module is in use" "rmmod livepatch_sample 2>/dev/null"
}

# The entry of a patched function is seen, too; the body is that of the original.
probes()
{
	event 'p:l/entry cmdline_proc_show'
	event 'p:l/inner cmdline_proc_show+9'
	event_on l
}
no_probes() { event_off l; echo >$tracing/kprobe_events; }
# read_once WHAT ENTRY INNER: hits of one read
read_once()
{
	echo >$tracing/trace
	cat /proc/cmdline >/dev/null
	is "$1: hits of the entry" "$(traced entry)" "$2"
	is "$1: hits of the body" "$(traced inner)" "$3"
}

try_probe_then_patch()
{
	probes
	read_once 'probes' 1 1
	patch
	shows 'both' patched
	read_once 'both' 1 0
	unpatch
	shows 'the patch is gone' original
	read_once 'the patch is gone' 1 1
	no_probes
}

try_patch_then_probe()
{
	patch
	probes
	shows 'both' patched
	read_once 'both' 1 0
	no_probes
	shows 'the probes are gone' patched
	probes
	unpatch
	shows 'the patch is gone' original
	read_once 'the patch is gone' 1 1
	no_probes
}

# For orders: the probes, and the patch
probes_come() { probes; }
probes_go() { no_probes; }
probes_saw()
{
	case $there in
	*' patch '*) read_once "$1" 1 0 ;;
	*) read_once "$1" 1 1 ;;
	esac
}
patch_come() { patch; }
patch_go() { unpatch; }
patch_saw() { shows "$1" patched; }
try_orders()
{
	orders probes patch true
	shows 'all is gone' original
}

# Both want the caller's return address, or the function's: only one can be
# first, and the kernel refuses combinations that cannot work.
try_return_probe()
{
	event 'r:l/return cmdline_proc_show'
	event_on l
	cat /proc/cmdline >/dev/null
	is "returns" "$(traced return)" 1
	patch
	shows 'both' patched
	echo >$tracing/trace
	cat /proc/cmdline >/dev/null
	is "patched: returns" "$(traced return)" 1
	no_probes
	shows 'the probe is gone' patched
	unpatch
	shows 'all is gone' original
}

try_graph()
{
	echo cmdline_proc_show >$tracing/set_graph_function
	echo function_graph >$tracing/current_tracer
	probes
	patch
	shows 'all three' patched
	read_once 'all three' 1 0
	at_least "calls in the graph" "$(grep -c 'cmdline_proc_show' $tracing/trace)" 1
	unpatch
	shows 'the patch is gone' original
	read_once 'the patch is gone' 1 1
	echo nop >$tracing/current_tracer
	no_probes
}
