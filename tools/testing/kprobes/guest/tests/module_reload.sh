# SPDX-License-Identifier: GPL-2.0
# proves: what was learned about a module's text is forgotten with it: starts of instructions and branches are those of the module that is loaded now
. "${0%/*}/../lib.sh"

# address FUNCTION: where the module that is loaded has it
address() { awk -v f="kprobe_reload_$1" '$3 == f { print $1 }' /proc/kallsyms; }
# how FUNCTION: how its point is hit, and why so, as soon as the optimizer has decided
how()
{
	await decided "$1"
	echo "$state"
}
decided()
{
	state=$(sed -nE "s/^[0-9a-f]+  ([a-z]+)  .*  kprobe_reload_$1\+0x2  [a-z_]+  (.*)/\1 \2/p" $kp/points)
	case $state in *soon*|'') return 1 ;; esac
}
# reload: the second module takes the first one's place
reload()
{
	unload kprobe_reload_a
	load kprobe_reload_b
	is "the address of $1 in the second module" "$(address "$1")" "$was"
}

# The last start that was decoded is that of the probe.
load kprobe_reload_a
was=$(address starts)
load kprobe_example symbol=kprobe_reload_starts offset=4
unload kprobe_example
reload starts
refuses 'nvalid' insmod $modules/kprobe_example.ko symbol=kprobe_reload_starts offset=4
loaded kprobe_example && unload kprobe_example
unload kprobe_reload_b

# The last function whose branches were collected is that of the jump.
load kprobe_reload_a
was=$(address branch)
load kprobe_example symbol=kprobe_reload_branch offset=2
[ ! -e $optimization ] || matches "a point without a branch" "$(how branch)" 'jump .*'
unload kprobe_example
reload branch
load kprobe_example symbol=kprobe_reload_branch offset=2
[ ! -e $optimization ] ||
	matches "a point that a branch passes" "$(how branch)" 'breakpoint a branch leads inside.*'
unload kprobe_example
unload kprobe_reload_b
done_testing
