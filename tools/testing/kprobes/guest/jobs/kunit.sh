# SPDX-License-Identifier: GPL-2.0
# Run the KUnit suites that are modules; those that are built in have run when
# the kernel booted. Their results are in the kernel's log.
for module in /modules/*kunit*.ko /modules/test_kprobes*.ko; do
	[ ! -e "$module" ] || insmod "$module" || echo "not ok - kunit: cannot load $module"
done
