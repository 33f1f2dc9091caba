# SPDX-License-Identifier: GPL-2.0
# proves: dynamic debug gives the reason for each refused probe, and its index in a batch, unless ftrace refuses it; without it the log is silent
. "${0%/*}/../lib.sh"

control=/sys/kernel/debug/dynamic_debug/control
[ -e $control ] || skip "no dynamic debug in this kernel"
load kprobe_target

# reason ARGS...: what the log says when that module is refused
reason()
{
	dmesg -c >/dev/null
	insmod "$modules/$1.ko" $2 $3 2>/dev/null && fail "$* was accepted"
	# busybox tries to load it in two ways.
	messages kprobes | awk '!seen[$0]++'
}

is "reason when nobody has asked" "$(reason kprobe_example symbol=no_such_function)" ""
echo 'func kprobe_refuse* +p' >$control

is "no such function" "$(reason kprobe_example symbol=no_such_function offset=3)" \
	"kprobes: no_such_function+0x3: -ENOENT: no such symbol"
matches "blacklisted" "$(reason kprobe_example symbol=kprobe_int3_handler)" \
	'kprobes: kprobe_int3_handler\+0x[04]/0x[0-9a-f]+: -EINVAL: it is on the blacklist'
# Inside the ftrace site, which is longer than a byte.
load kprobe_example symbol=kprobe_target_add limit=0
unload kprobe_example
at=$(messages kprobe_example | sed -n 's/.*probe set on kprobe_target_add+\(0x[0-9a-f]*\).*/\1/p' | tail -n 1)
matches "inside of an instruction" "$(reason kprobe_example symbol=kprobe_target_add offset=$((at + 1)))" \
	'kprobes: kprobe_target_add\+0x[0-9a-f]+/0x[0-9a-f]+ \[kprobe_target\]: -EILSEQ: (inside an ftrace site|not the start of an instruction)'
matches "stack switcher" "$(reason kretprobe_example func=irq_exit_rcu)" \
	'kprobes: irq_exit_rcu.*: -EINVAL: it returns on another stack, or in another context'

# Points are made in order of address; the index is that of the caller.
out=$(reason kprobe_batch symbols=kprobe_target_add,kprobe_target_recurse,kprobe_int3_handler)
is "culprit of a batch" "$(echo "$out" | tail -n 1)" "kprobes: -EINVAL: batch of 3: because of index 2"
matches "its reason" "$(echo "$out" | head -n 1)" '.*kprobe_int3_handler.*: it is on the blacklist'
out=$(reason kprobe_batch symbols=kprobe_target_add,no_such_function,kprobe_target_recurse)
is "culprit without a symbol" "$(echo "$out" | tail -n 1)" "kprobes: -ENOENT: batch of 3: because of index 1"

# ftrace does not say which site it refuses.
if [ -e /proc/sys/kernel/ftrace_enabled ]; then
	echo 0 >/proc/sys/kernel/ftrace_enabled
	matches "refused by ftrace" "$(reason kprobe_example symbol=kprobe_target_add)" \
		'kprobes: kprobe_target_add\+0x[04]/0x[0-9a-f]+ \[kprobe_target\]: -EBUSY: ftrace refuses this site'
	matches "batch refused by ftrace" "$(reason kprobe_batch symbols=kprobe_target_add,kprobe_target_recurse)" \
		'kprobes: kprobe_target_[a-z]+\+0x[04]/0x[0-9a-f]+ \[kprobe_target\]: -EBUSY: ftrace refuses this site or another one of the batch'
	echo 1 >/proc/sys/kernel/ftrace_enabled
fi

echo 'func kprobe_refuse* -p' >$control
is "reason when nobody asks any more" "$(reason kprobe_example symbol=no_such_function)" ""
is "what is left" "$(cat $kp/list 2>&1)" ""
done_testing
