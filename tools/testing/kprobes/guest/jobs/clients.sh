# SPDX-License-Identifier: GPL-2.0
# Unmodified clients of kprobes, for clients.sh. Runs the features that FEATURES
# names, as client.feature:seconds, each in its own shell: the function try_FEATURE of
# /clients/CLIENT.sh, or try_any. A feature that makes the kernel complain, by SPLATS, has
# failed. Prints a line for each: ok, not ok or skip; then its figures and its messages.
#
# Needs the host's root file system, with the tools. KERNEL is the directory in which this
# kernel was built, SOURCE has its sources; tools look for them where a
# distribution has them. A script must not depend on which kernel runs it.
export KERNEL=/host$KERNEL SOURCE=/host$SOURCE
# shellcheck disable=SC1091
. /lib.sh

modules=/lib/modules/$(uname -r)
ulimit -l unlimited
# Some tools need two file descriptors for each probe.
ulimit -n 8192
echo 0 >/proc/sys/kernel/kptr_restrict
echo -1 >/proc/sys/kernel/perf_event_paranoid
# The guest is slow: do not print a trace of 1,000 functions on the console.
dmesg -n 4
export HOME=/tmp/home PYTHONDONTWRITEBYTECODE=1 LC_ALL=C PERF_PAGER=cat DEBUGINFOD_URLS=
mkdir -p "$HOME"
# As in a distribution.
mkdir -p /boot
cp "$KERNEL/.config" "/boot/config-$(uname -r)"
# Builds record their directories, which this guest's own /tmp may hide.
for dir in "$KERNEL" "$SOURCE"; do
	[ -e "${dir#/host}" ] && continue
	parent=${dir#/host}
	mkdir -p "${parent%/*}"
	ln -s "$dir" "${dir#/host}"
done

# left: what a client should have removed
left()
{
	sort /sys/kernel/debug/kprobes/list | head -n 3
	head -n 3 $tracing/dynamic_events
}

# complaints: the log without the reports that the feature expects
complaints()
{
	dmesg | awk -v allow="$(cat /tmp/expected 2>/dev/null || echo '^$')" '
		/cut here/ { report = 1; good = 0; text = "" }
		!report { print; next }
		$0 ~ allow { good = 1 }
		{ text = text $0 "\n" }
		/end trace/ { if (!good) printf "%s", text; report = 0; text = "" }
		END { printf "%s", text }'
}

for name in $FEATURES; do
	seconds=${name##*:}
	name=${name%:*}
	client=${name%%.*}
	read -r began _ </proc/uptime
	rm -f /tmp/failed /tmp/expected /tmp/began
	dmesg -C
	ln -sfn "$KERNEL" "$modules/build"
	ln -sfn "$SOURCE" "$modules/source"
	timeout -k 10 "$seconds" /bin/sh -c '
		. /lib.sh
		. /lib-clients.sh
		. "/clients/$0.sh"
		load kprobe_target
		if type "try_$1" >/dev/null 2>&1; then "try_$1"; else try_any "$1"; fi
		done_testing' "$client" "${name#*.}" >/tmp/out 2>&1 </dev/null
	status=$?
	# It was killed before it could say what it waited for.
	case $status in 124 | 137) tail -n 15 /tmp/began >>/tmp/out ;; esac
	# Processes that it left running would disturb the next feature.
	left=''
	[ $status -ne 0 ] || left=$(left)
	[ -z "$left" ] || status=1
	read -r ended _ </proc/uptime
	took="$((${ended%.*} - ${began%.*})) s"
	{
		rmdir $tracing/instances/*
		for patch in /sys/kernel/livepatch/*/enabled; do
			[ -e "$patch" ] || continue
			echo 0 >"$patch"
			sleep 5
			rmmod "$(basename "${patch%/enabled}")"
		done
		for module in ftrace_direct ftrace_direct_too trace_printk test_klp_callbacks_mod \
			test_klp_callbacks_busy test_klp_shadow_vars lkdtm bpf_testmod; do
			rmmod $module
		done
		echo 1 >/proc/sys/kernel/ftrace_enabled
		dmesg -n 4
		clean
		echo >$tracing/dynamic_events
		echo nop >$tracing/current_tracer
		echo 1 >$tracing/tracing_on
		echo >$tracing/set_ftrace_filter
		echo >$tracing/set_graph_function
		echo 0 >$tracing/function_profile_enabled
		echo >/sys/kernel/debug/fail_function/inject
	} >/dev/null 2>&1
	# After the clean-up, in which it may complain, too. The console shows only errors.
	if splat=$(complaints | grep -aE -m 1 "${SPLATS:?}"); then
		status=1
		echo "#! the kernel complains: $splat" >>/tmp/out
		dmesg | tail -n 60 >>/tmp/out
	fi
	case $status in
	0) echo "ok - $name: $took" ;;
	4) echo "skip - $name: $(sed -n 's/^# skip: //p' /tmp/out)" ;;
	124|137) echo "not ok - $name: did not end in time" ;;
	*) echo "not ok - $name: $(sed -n 's/^#! //p' /tmp/out | grep . || tail -n 1 /tmp/out)" | head -n 1 ;;
	esac
	sed -n "s|^#= |figure - $name: |p" /tmp/out
	[ $status -eq 0 ] || tail -n 25 /tmp/out | sed 's/^#*!* */    # /'
	[ -z "$left" ] || printf '    # left behind: %s\n' "$left"
	# Stop if a probe cannot be removed: the next feature needs another guest.
	[ -z "$(left)" ] || break
done
exit 0
