# SPDX-License-Identifier: GPL-2.0
# proves: instructions of all maps, with all kinds of operands and prefixes, leave the same registers, flags, memory and faults without a probe and when they are emulated, copied, stepped, or displaced by a jump as the first, second or third
# needs: what execute.py makes
. "${0%/*}/../lib.sh"

[ -e /modules/kprobe_execute.ko ] || skip "no kprobe_execute for this kernel"
[ -e /execute ] || skip "no encodings: execute.py makes them"
. /jobs/execute.sh
