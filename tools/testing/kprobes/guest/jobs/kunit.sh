# SPDX-License-Identifier: GPL-2.0
# Runs the KUnit suites that are modules; built-in suites have run while
# the kernel booted. The results are in the kernel's log. PICKS selects suites and
# SUITE.CASEs, of the modules only, which then run one after the other. WATCH names the
# checkers that watch them, see watch.sh.
# shellcheck shell=dash disable=SC1091
. /lib.sh
. /watch.sh
filter=/sys/module/kunit/parameters/filter_glob

each_module()
{
	for module in /modules/*kunit*.ko /modules/test_kprobes*.ko; do
		[ ! -e "$module" ] || "$@" "$module" || echo "not ok - kunit: cannot $1 $module"
	done
}

# insmod waits for all cases, and some take minutes where everything is watched.
hung=/proc/sys/kernel/hung_task_timeout_secs
[ -z "$WATCH" ] || [ ! -e $hung ] || echo 600 >$hung
watch_start
[ -n "$PICKS" ] || each_module insmod
for pick in $PICKS; do
	printf %s "$pick" >$filter
	each_module insmod
	each_module rmmod
	watch_test "$pick"
done
watch_end
