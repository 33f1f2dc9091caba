# SPDX-License-Identifier: GPL-2.0
# proves: wrong calls to the API, with targets of all kinds, from all CPUs at once, from handlers and from contexts that must not sleep, are refused with the right error and leave nothing over
. "${0%/*}/../lib.sh" || exit 1

[ -e "$modules/kprobe_abuse.ko" ] || skip "no kprobe_abuse for this kernel"
abuse=/sys/kernel/debug/kprobe_abuse
calls=15000
! grep -q ' kasan_report$' /proc/kallsyms || calls=4000
calls=${ABUSE_CALLS:-$calls}
# What goes wrong with a seed goes wrong again, as far as timing allows. The seed is the same
# in all runs that do not ask for another, so that a failure comes from a change.
seed=${ABUSE_SEED:-1}
echo "# ABUSE_SEED=$seed ABUSE_CALLS=$calls"
others=0
alone || others=1
# This one is loaded first. Otherwise it may be loaded over the init text of the other, which
# must not be probed.
! alone || load kprobe_target
load kprobe_abuse others=$others

# Code that kprobes and ftrace have generated. If others load modules, these may be loaded
# where that code was.
generated()
{
	find_target
	event "p:kt/add kprobe_target:kprobe_target_add+$after"
	event_on kt/add
	echo vfs_read >$tracing/set_ftrace_filter
	echo function >$tracing/current_tracer || fail "no function tracer"
	await grep -q OPTIMIZED $kp/list
	awk '$3 ~ /^(kprobe_insn_page|kprobe_optinsn_page|ftrace_trampoline)$/ || $4 == "[bpf]" {
			if (n[$3]++ < 20) print $3, $1, "1000" }' /proc/kallsyms >>$tmp/places
	# Where ftrace generates none, all functions call the same code.
	for kind in kprobe_insn_page kprobe_optinsn_page $([ "$(uname -m)" != x86_64 ] || echo ftrace_trampoline); do
		at_least "pages of $kind" "$(grep -c "^$kind " $tmp/places)" 1
	done
}
: >$tmp/places
! alone || generated
# All text of the kernel, in pieces.
awk '$3 == "_stext" { from = $1 } $3 == "_etext" { to = $1 } END { print from, to }' /proc/kallsyms >$tmp/range
read -r from to <$tmp/range
echo "text $from $(printf %x $((0x$to - 0x$from)))" >>$tmp/places
# Shorten the names to what the module can hold.
sed 's/^\([^ ]\{1,15\}\)[^ ]*/\1/' $tmp/places >$abuse/places || fail "the places are not accepted"

# A first run makes the allocations that stay: caches, and tables that have grown.
echo 2000 1 >$abuse/run || fail "the first run failed"
echo 1 >$abuse/begin
slab() { awk '$1 == "SUnreclaim:" { print $2 }' /proc/meminfo; }
was=$(slab)

rm -f $tmp/stop
(
	while [ ! -e $tmp/stop ]; do
		! alone || echo 0 >$optimization || echo "cannot write 0 to $optimization"
		cat $kp/list $kp/points $kp/blacklist >/dev/null || echo "cannot read"
		! alone || echo 1 >$optimization || echo "cannot write 1 to $optimization"
		echo 1 >$kp/hits || echo "cannot count"
		usleep 700000
		cat $kp/points >/dev/null || echo "cannot read the points"
		echo 0 >$kp/hits || echo "cannot stop to count"
	done >$tmp/others 2>&1
) &
start=$(date +%s)
echo "$calls $seed" >$abuse/run || fail "the run failed"
echo "# $(($(date +%s) - start)) s"
touch $tmp/stop
wait
if alone; then
	echo nop >$tracing/current_tracer
	echo >$tracing/set_ftrace_filter
fi

cat $abuse/result >$tmp/result
now=$(slab)
awk '$1 == "kind" { k = k " " $2 ":" $4 "/" $3; next } { print "# " $0 } END { print "# accepted:" k }' $tmp/result
messages kprobe_abuse | grep -v taints | head -n 20 | sed 's/^/# /'
get() { awk -v k="$1" '$1 == k { print $2 }' $tmp/result; }
at_least "calls" "$(get calls)" "$calls"
at_least "probes that were accepted" "$(get accepted)" $((calls / 20))
at_least "hits that had to be" "$(get hits)" $((calls / 100))
for what in in_handlers on_own_probes in_atomic in_interrupts scribbles freed shared; do
	at_least "$what" "$(get $what)" $((calls / 3000))
done
# Each kind of target must have been tried this often. The module itself checks that probes
# on most kinds are never accepted.
left_out=$(awk -v min=$((calls / 2000)) '$1 == "kind" && $3 < min { print $2 }' $tmp/result)
accepted='entry instruction text'
if ! alone; then
	left_out=$(echo "$left_out" | grep -vx place)
	# A short run need not find an instruction in any text.
	accepted='entry instruction'
fi
is "kinds of targets that were left out" "$left_out" ""
for kind in $accepted; do
	at_least "accepted: $kind" "$(awk -v k=$kind '$1 == "kind" && $2 == k { print $4 }' $tmp/result)" 1
done
is "wrong results" "$(get wrong)" 0
is "handlers that ran late" "$(get late)" 0
is "hits without a handler" "$(get unseen)" 0
is "functions that returned wrongly" "$(get spoiled)" 0
is "probes that still work, of 4, and are gone again" "$(get works)" 8
if alone; then
	for what in points found users copies detours pools; do
		is "left $what" "$(get left_$what)" 0
	done
	[ $((now - was)) -lt 8192 ] || fail "slabs have grown from $was kB to $now kB"
	event_off kt/add
fi
is "errors of the other files" "$(sort -u $tmp/others)" ""
unload kprobe_abuse
rm -f $tmp/stop $tmp/places $tmp/range
done_testing
