# SPDX-License-Identifier: GPL-2.0
# Run the KUnit suites that are modules; those that are built in have run when
# the kernel booted. Prints what all of them said.
for module in /modules/*kunit*.ko /modules/test_kprobes*.ko /modules/kprobes*test*.ko; do
	[ ! -e "$module" ] || insmod "$module" || echo "cannot load $module"
done
dmesg | sed 's/^\[[^]]*\] //'
