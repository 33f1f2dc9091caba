# SPDX-License-Identifier: GPL-2.0
# proves: kprobes/list and blacklist hide addresses from whom kallsyms hides them, and from all but root the files
. "${0%/*}/../lib.sh"

load kprobe_example symbol=vfs_read
echo 2 >/proc/sys/kernel/kptr_restrict
matches "kallsyms" "$(head -n 3 /proc/kallsyms)" '0+ .*'
matches "list" "$(cat $kp/list)" '0{8,16}  k  vfs_read\+0x[0-9a-f]+ .*'
matches "blacklist" "$(head -n 20 $kp/blacklist)" '0x0{8,16}-0x0{8,16}	.*'
echo 0 >/proc/sys/kernel/kptr_restrict
matches "list" "$(cat $kp/list)" '[0-9a-f]*[1-9a-f][0-9a-f]*  k  vfs_read\+0x[0-9a-f]+ .*'
is "what a user reads" "$(as_user "cat $kp/list" | grep -c 'ermission denied')" 1
done_testing
