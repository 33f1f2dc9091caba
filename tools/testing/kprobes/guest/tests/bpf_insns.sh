# SPDX-License-Identifier: GPL-2.0
# proves: a BPF link attaches a program to instructions inside functions, to all or none of them, tells them apart by cookies, counts missed hits, and holds their modules
# needs: config CONFIG_64BIT
# needs: config CONFIG_BPF_KPROBE_OVERRIDE
# needs: what bpf_insns.c makes
. "${0%/*}/../lib.sh"

[ -x /bpf_insns ] || skip "no program that attaches: bpf_insns.c makes it"

insns=2
returns=1
kind=
# link FLAGS COMMAND ADDRESS...: what bpf_insns says is in $out; $kind is its last argument
link()
{
	flags=$1 cmd=$2
	shift 2
	# shellcheck disable=SC2086
	out=$(printf '%s\n' "$@" | /bpf_insns "$flags" "$cmd" $kind 2>&1) ||
		fail "bpf_insns failed: $out"
}
# field N ADDRESS: of the first line about that address
field() { echo "$out" | awk -v n="$1" -v a="$2" '$1 == "hit" && $2 == a { print $n; exit }'; }
plus() { printf '%x' $((0x$1 + $2)); }

load kprobe_target
find_target
inner=$(plus "$site" 5)

# The kernel sorts the addresses: each is still found by its cookie.
link $insns "echo add 50 >$target/call" "$inner" "$entry"
is "hits inside" "$(field 3 "$inner")" 50
is "its function" "$(field 4 "$inner")" 0
is "its ip" "$(field 5 "$inner")" "$(plus "$inner" 1)"
is "hits of the entry" "$(field 3 "$entry")" 50
is "its function" "$(field 4 "$entry")" "$entry"
is "its ip" "$(field 5 "$entry")" "$(plus "$site" 1)"
is "what is said of the link" "$(echo "$out" | grep '^link ')" "link 2 $insns 0"
is "the list" "$(cat $kp/list 2>&1)" ""

# The same through a jump.
link $insns "n=0; until grep -q OPTIMIZED $kp/list; do usleep 50000; n=\$((n + 1)); [ \$n -lt $((60 * patience)) ] || exit 1; done; echo add 50 >$target/call" "$inner"
is "hits of a jump" "$(field 3 "$inner")" 50
is "its ip" "$(field 5 "$inner")" "$(plus "$inner" 1)"

link $insns "echo add 3 >$target/call" "$inner" "$inner"
is "an instruction twice" "$(echo "$out" | awk '$1 == "hit" { print $3 }' | paste -sd' ')" "3 3"

# The program itself calls the second function.
helper=$(awk '$3 == "bpf_get_attach_cookie_kprobe_multi" { print $1 }' /proc/kallsyms)
link $insns "echo add 50 >$target/call" "$inner" "$helper"
is "hits of a probe that hits another" "$(field 3 "$inner")" 50
is "hits of the other" "$(field 3 "$helper")" 0
is "what is said of the link" "$(echo "$out" | grep '^link ')" "link 2 $insns 50"

link $insns '! rmmod kprobe_target 2>/dev/null' "$inner"
is "a module with such a link" "$(loaded kprobe_target && echo stays)" stays

# refused ERROR FLAGS ADDRESS...
refused()
{
	error=$1 flags=$2
	shift 2
	link "$flags" true "$@"
	is "flags $flags, ${kind:+$kind, }addresses $*" "$out" "refused $error"
	is "the list" "$(cat $kp/list 2>&1)" ""
}
# An address inside the call to ftrace.
refused EILSEQ $insns "$entry" "$(plus "$site" 1)" "$inner"
refused ENOENT $insns "$inner" 1000
refused EINVAL $((insns | returns)) "$entry"
refused EINVAL 4 "$entry"
# Without the flag the addresses have to be entries, as before.
refused EINVAL 0 "$inner"

# Options that mean nothing for an instruction are refused only with the flag.
attached()
{
	is "$kind without the flag" "$(echo "$out" | cut -d' ' -f1-2 | head -n 1)" "attached 1"
}
syscall=$(awk '$3 == "__x64_sys_getpgid" { print $1 }' /proc/kallsyms)
kind=symbols
link 0 true kprobe_target_add
attached
refused EINVAL $insns kprobe_target_add
kind=session
link 0 true "$syscall"
attached
refused EINVAL $insns "$syscall"
kind=override
link 0 true "$syscall"
attached
refused EINVAL $insns "$syscall"
kind=

unload kprobe_target

# With many instructions.
awk 'NF == 2 && $2 ~ /^(ext|pipe|sock|tcp|inet|bpf|cgroup|kernfs|shmem|netlink|nf|ip|udp)/ { print $1 }' \
	$tracing/available_filter_functions_addrs | head -n 1500 | while read -r addr; do
	plus "$addr" 5
	echo
done >$tmp/sites
load kprobe_crowd nr=1500 sites=$tmp/sites find=1
head -n 1000 /sys/kernel/debug/kprobe_crowd/result >$tmp/addresses
unload kprobe_crowd
is "instructions" "$(wc -l <$tmp/addresses)" 1000
out=$(/bpf_insns $insns "wc -l <$kp/list" <$tmp/addresses 2>&1) || fail "bpf_insns failed: $out"
is "probes" "$(echo "$out" | sed -n 2p)" "$(wc -l <$tmp/addresses)"
echo "$out" | awk '
	$1 == "attached" { n = $2; to = $3 }
	$1 == "detached" { printf "# %d instructions: attached in %.3f s, detached in %.3f s\n", n, to, $2 }'
is "the list" "$(cat $kp/list 2>&1)" ""
done_testing
