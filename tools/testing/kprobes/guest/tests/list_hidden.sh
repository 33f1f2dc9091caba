# SPDX-License-Identifier: GPL-2.0
# proves: kprobes/list and blacklist hide addresses from readers that kallsyms hides them from, and only root can read the files
. "${0%/*}/../lib.sh"

load kprobe_example symbol=vfs_read
# A probe whose text is gone is shown with an address in place of a symbol.
load kprobe_target
load kretprobe_example func=kprobe_target_recurse
unload kprobe_target
echo 2 >/proc/sys/kernel/kptr_restrict
matches "kallsyms" "$(head -n 3 /proc/kallsyms)" '0+ .*'
matches "list" "$(grep -v GONE $kp/list)" '0{8,16}  k  vfs_read\+0x[0-9a-f]+ .*'
matches "what is gone" "$(grep GONE $kp/list)" '0{8,16}  r  0x0{8,16} \[GONE\].*'
matches "points" "$(cat $kp/points)" '0{8,16}  [a-z]+  1/1  .*'
matches "blacklist" "$(head -n 20 $kp/blacklist)" '0x0{8,16}-0x0{8,16}	.*'
echo 0 >/proc/sys/kernel/kptr_restrict
matches "list" "$(grep -v GONE $kp/list)" '[0-9a-f]*[1-9a-f][0-9a-f]*  k  vfs_read\+0x[0-9a-f]+ .*'
matches "what is gone" "$(grep GONE $kp/list)" '[0-9a-f]*[1-9a-f][0-9a-f]*  r  0x[0-9a-f]*[1-9a-f][0-9a-f]* \[GONE\].*'
unload kretprobe_example
is "what a user reads" "$(as_user "cat $kp/list" | grep -c 'ermission denied')" 1
done_testing
