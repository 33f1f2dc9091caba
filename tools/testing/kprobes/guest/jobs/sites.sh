# SPDX-License-Identifier: GPL-2.0
# The guest's half of sites.sh: prints which addresses of /all can be probed, and,
# unless WATCH= is empty, which functions do not run meanwhile.
tracing=/sys/kernel/tracing
crowd=/sys/kernel/debug/kprobe_crowd

# Finds functions that do not run while probes are set, become jumps, and are
# removed. The probes for this are on the ACPI interpreter.
watch()
{
	awk 'NR == FNR { acpi[$1] = 1; next } ($1 in acpi) && n++ < 200' /acpi /tmp/all >/tmp/some
	some=$(wc -l </tmp/some)
	echo 1 >$tracing/function_profile_enabled || exit
	insmod /modules/kprobe_crowd.ko nr=$some sites=/tmp/some || exit
	for command in 'set 50' "set_each $some" pause 'remove_each 50' 'remove 0' pause; do
		case $command in
		pause) sleep 2 ;;
		*) echo "$command" >$crowd/run ;;
		esac
	done
	rmmod kprobe_crowd
	echo 0 >$tracing/function_profile_enabled
	awk '
		NR == FNR { known[$1] = 1; next }
		$2 ~ /^[0-9]+$/ { delete known[$1] }
		END { for (name in known) print "name " name }
		' $tracing/available_filter_functions $tracing/trace_stat/function*
}

insmod /modules/kprobe_crowd.ko find=1 nr="$(wc -l </all)" sites=/all || exit
cat $crowd/result >/tmp/all
sed 's/^/all /' /tmp/all
rmmod kprobe_crowd
[ -z "$WATCH" ] || watch
