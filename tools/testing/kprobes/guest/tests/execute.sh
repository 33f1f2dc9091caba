# SPDX-License-Identifier: GPL-2.0
# proves: instructions of all maps, with all kinds of operands and prefixes, leave the same registers, flags, memory and faults when they are emulated, copied, stepped, or displaced by a jump as the first, second or third, as they do without a probe
# needs: what execute.py makes
. "${0%/*}/../lib.sh"

[ -e /modules/kprobe_execute.ko ] || skip "no kprobe_execute for this kernel"
[ -e /execute ] || skip "no encodings: execute.py makes them"
. /jobs/execute.sh
