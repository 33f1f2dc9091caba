# SPDX-License-Identifier: GPL-2.0
# Run the KUnit suites that are modules; those that are built in have run when
# the kernel booted. Their results are in the kernel's log. PICKS are suites and
# SUITE.CASEs: only these, of the modules.
# shellcheck shell=dash
filter=/sys/module/kunit/parameters/filter_glob

modules()
{
	for module in /modules/*kunit*.ko /modules/test_kprobes*.ko; do
		[ ! -e "$module" ] || "$@" "$module" || echo "not ok - kunit: cannot $1 $module"
	done
}

[ -n "$PICKS" ] || modules insmod
for pick in $PICKS; do
	printf %s "$pick" >$filter
	modules insmod
	modules rmmod
done
