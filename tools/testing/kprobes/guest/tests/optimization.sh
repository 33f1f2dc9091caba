# SPDX-License-Identifier: GPL-2.0
# proves: probes become jumps by themselves; the sysctl debug.kprobes-optimization (0644) takes 0 and 1, and turns all of them back and into jumps again; kprobes/points gives the reasons
# preempt: full
. "${0%/*}/../lib.sh"

[ -e $optimization ] || skip "this kernel has no jump optimisation"
is "mode" "$(mode $optimization)" 644
is "default" "$(cat $optimization)" 1

# An ordinary instruction follows the call for ftrace.
load kprobe_target
find_target
event 'p:kt/site kprobe_target:kprobe_target_add'
event "p:kt/add kprobe_target:kprobe_target_add+$after a=$arg1:s32 b=$arg2:s32"
event_on kt/add

# line, jump: what the list says of the event's probe
line() { grep "  kprobe_target_add+$(printf 0x%x $after)  " $kp/list; }
optimized() { line | grep -c '\[OPTIMIZED\]'; }
# until_is COMMAND WANTED
until_is()
{
	await eval "[ \"\$($1)\" = '$2' ]" || fail "$1 does not become '$2', but is '$(eval "$1")'"
}
# hits WHAT: each call is one, with its arguments
hits()
{
	echo >$tracing/trace
	call add 50
	is "hits $1" "$(traced add)" 50
	is "with the right arguments $1" "$(grep -c ' add: .* a=[0-9]* b=1000$' $tracing/trace)" 50
}

hits "at once"
until_is optimized 1
matches "the line" "$(line)" '[0-9a-f]{8,16}  k  kprobe_target_add\+0x[0-9a-f]+  kprobe_target \[OPTIMIZED\]'
hits "by a jump"

# The master switch.
for value in 0 1 0 1; do
	echo $value >$optimization || fail "'$value' was refused"
	is "reads" "$(cat $optimization)" $value
	[ $value = 1 ] || is "jumps as soon as it is off" "$(grep -c OPTIMIZED $kp/list)" 0
	hits "with $value, at once"
	until_is optimized $value
	hits "with $value"
done
for bad in 2 -1 x; do
	refuses 'Invalid argument' "echo $bad >$optimization"
	is "after '$bad'" "$(cat $optimization)" 1
done
is "a jump all the same" "$(optimized)" 1
is "what a user may write" "$(as_user "echo 0 >$optimization" | grep -c 'ermission denied')" 1

# A probe that is switched off in either way is not a jump, and becomes one again when it is on.
event_off kt/add
is "a jump when the event is off" "$(optimized)" 0
event_on kt/add
until_is optimized 1
echo 0 >$kp/enabled
is "a jump when all probes are off" "$(optimized)" 0
echo >$tracing/trace
call add 5
is "hits then" "$(traced add)" 0
echo 1 >$kp/enabled
until_is optimized 1
hits "when they are on again"

# Other probes at the same point, and on the return.
load kprobe_example symbol=kprobe_target_add offset=$after limit=0
load kretprobe_example func=kprobe_target_recurse limit=0
hits "with another probe on the point, at once"
until_is "line | grep -c OPTIMIZED" 2
hits "with another probe on the point"
call recurse 2
unload kprobe_example
unload kretprobe_example
is "hits of the other one" "$(messages kprobe_example | tail -n 1)" "kprobe_example: probe removed: 100 hits, 0 missed"
is "returns" "$(messages kretprobe_example | tail -n 1)" "kretprobe_example: return probe removed: 3 returns, 0 calls missed"
until_is optimized 1

# The reasons end the lines.
event_on kt/site
is "of a jump" "$(grep -c "  kprobe_target_add+$(printf 0x%x $after)  kprobe_target  jump$" $kp/points)" 1
is "of an ftrace site" "$(grep "  kprobe_target_add+" $kp/points | grep -c '  ftrace site$')" 1
echo 0 >$optimization
is "jumps among them when switched off" "$(grep -c '  jump$' $kp/points)" 0
is "of a breakpoint" "$(grep -c '  kprobe_target  switched off$' $kp/points)" 1
echo 1 >$optimization
until_is optimized 1

# The text is freed, with the jump in it.
event_off kt/site
event_off kt/add
event '-:kt/add'
event '-:kt/site'
load kprobe_example symbol=kprobe_target_add offset=$after limit=0
until_is optimized 1
unload kprobe_target
is "a jump without its text" "$(grep -c OPTIMIZED $kp/list)" 0
is "gone" "$(grep -c GONE $kp/list)" 1
load kprobe_target
call add 10
unload kprobe_example
is "hits when it was gone" "$(messages kprobe_example | tail -n 1)" "kprobe_example: probe removed: 0 hits, 0 missed"
done_testing
