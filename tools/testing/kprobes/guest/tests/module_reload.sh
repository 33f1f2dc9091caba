# SPDX-License-Identifier: GPL-2.0
# proves: what was learned about a module's text is forgotten with it: starts of instructions, branches and cold parts are those of the module that is loaded now, or of the one of two that holds the probe
. "${0%/*}/../lib.sh"

# address FUNCTION: where the module that is loaded has it
address() { awk -v f="kprobe_reload_$1" '$3 == f { print $1 }' /proc/kallsyms; }
# how FUNCTION [MODULE]: how its point is hit, and why so, as soon as the optimizer has decided
how()
{
	await decided "$@"
	echo "$state"
}
decided()
{
	state=$(sed -nE "s/^[0-9a-f]+  ([a-z]+)  .*  kprobe_reload_$1\+0x[02]  ${2:-[a-z_]+}  (.*)/\1 \2/p" $kp/points)
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

# The jump was planned last. So the branches of its function, or the cold parts of its module,
# may still be known.
for name in branch warm; do
	load kprobe_reload_a
	was=$(address $name)
	load kprobe_example symbol=kprobe_reload_$name offset=2
	[ ! -e $optimization ] || matches "$name, without a branch" "$(how $name)" 'jump .*'
	unload kprobe_example
	reload $name
	load kprobe_example symbol=kprobe_reload_$name offset=2
	[ ! -e $optimization ] ||
		matches "$name, with a branch" "$(how $name)" 'breakpoint a branch leads inside.*'
	unload kprobe_example
	unload kprobe_reload_b
done

# both FIRST SECOND: the optimizer plans jumps in both modules in one round, of which either may
# be the first
both()
{
	load kprobe_reload_$1
	load kprobe_reload_$2
	load kprobe_batch \
		symbols=kprobe_reload_$1:kprobe_reload_warm,kprobe_reload_$2:kprobe_reload_warm
	if [ -e $optimization ]; then
		matches "first $1, without a cold part" "$(how warm kprobe_reload_a)" 'jump .*'
		matches "first $1, with a cold part" "$(how warm kprobe_reload_b)" \
			'breakpoint a branch leads inside.*'
	fi
	unload kprobe_batch
	unload kprobe_reload_$1
	unload kprobe_reload_$2
}
both a b
both b a
done_testing
