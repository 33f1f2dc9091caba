# SPDX-License-Identifier: GPL-2.0
# For bench.sh: set and remove NR kprobe events of tracefs, and as many kprobes of
# perf_event_open(), and print the times as "name value" lines.
#
# /inner has "symbol+offset" lines. /names has the functions that both kernels have; their
# entries are ftrace sites.
tracing=/sys/kernel/tracing
group=b

now() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }

# timed NAME COMMAND...: milliseconds
timed()
{
	name=$1
	shift
	began=$(now)
	"$@" || echo "failed $name"
	echo "$name $(($(now) - began))"
}

# The shell opens the file for each event, as a user's shell would.
create()
{
	n=0
	while [ $n -lt "$NR" ] && read -r place; do
		echo "p:$group/e$n $place" >>$tracing/kprobe_events && n=$((n + 1))
	done <"$1" 2>/dev/null
	[ $n = "$NR" ]
}
enable() { echo 1 >$tracing/events/$group/enable; }
disable() { echo 0 >$tracing/events/$group/enable; }
each() { for event in $(seq 0 $((NR - 1))); do echo "$1" >$tracing/events/$group/e$event/enable || return; done; }
remove() { echo >$tracing/kprobe_events; }
remove_each() { for event in $(seq 0 $((NR - 1))); do echo "-:$group/e$event" >>$tracing/kprobe_events || return; done; }

awk -v want=$((NR + NR / 5)) '
	FILENAME == "/names" { known[$1] = 1; next }
	NF == 1 && ($1 in known) { at[n++] = $1 }
	END { for (i = 0; i < n; i += n / want) print at[int(i)] }
	' /names $tracing/available_filter_functions >/tmp/entry
cp /inner /tmp/inner

echo 0 >$tracing/tracing_on
for kind in entry inner; do
	timed events_${kind}_create create /tmp/$kind
	timed events_${kind}_enable enable
	# Time to become jumps, as events have while somebody looks at them.
	sleep 5
	timed events_${kind}_disable disable
	timed events_${kind}_remove remove
	create /tmp/$kind
	timed events_${kind}_enable_each each 1
	sleep 5
	timed events_${kind}_disable_each each 0
	timed events_${kind}_remove_each remove_each
done
for kind in entry inner; do
	sed 's/+/ /; / /!s/$/ 0/' /tmp/$kind | /perf_probes "$NR" >/tmp/perf || echo "failed perf"
	awk -v nr="$NR" -v kind=$kind '
		$1 == "set" && $2 == nr { printf "perf_%s_open %.0f\n", kind, $3 * 1000; all = 1 }
		$1 == "closed" { printf "perf_%s_close %.0f\n", kind, $2 * 1000 }
		END { if (!all) print "failed perf_" kind }' /tmp/perf
done
