# SPDX-License-Identifier: GPL-2.0
# Run the KUnit suites that are modules; those that are built in have run when
# the kernel booted. Their results are in the kernel's log. PICKS are suites and
# SUITE.CASEs: only these, of the modules, one after the other. WATCH is what watches
# them, see watch.sh.
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

# insmod waits for each case, and some take minutes where everything is watched.
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
