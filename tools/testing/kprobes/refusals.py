#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Why were instructions refused? See everything.sh.

refusals.py VMLINUX INSTRUCTIONS RESULT...

INSTRUCTIONS has the address and mnemonic of each instruction. The results have lines
"refused_at ADDRESS ERRNO blacklist" or, if the address is not on the blacklist, "-".

Prints how many were refused for each reason. Reasons come from the tables of the image and
from the manual's list of instructions, not from kprobes. What has none may have been refused
wrongly, so each of these is listed. Addresses in modules are skipped, as the tables of vmlinux
do not have them.
"""
import collections
import re
import struct
import sys

sys.dont_write_bytecode = True
import hitpath  # noqa: E402

# The instructions under "Limits" in kprobes.rst, as objdump calls them, by errno.
INSTRUCTIONS = {
    "-EILSEQ": r"iret[qlw]?|sys(call|ret|enter|exit)[lqw]?|int1?|icebp|swapgs|rsm|hlt|mwaitx?|sti"
               r"|l(jmp|call|ret)[qlw]?|endbr(32|64)|xbegin|xabort|lss",
    "-EINVAL": r"ud[012]",
}


def relative(kernel, start, end, size):
    """the addresses that the first words of a table's entries lead to"""
    if start not in kernel.symbol:
        return
    at, table = kernel.bytes(start, end)
    for i in range(0, len(table) - size + 1, size):
        yield kernel.wrap(at + i + struct.unpack_from("<i", table, i)[0])


def patched(kernel):
    """what is patched at run time: address -> its kind"""
    kinds = {}
    for at in relative(kernel, "__start___jump_table", "__stop___jump_table",
                       16 if kernel.symbol["_text"] > 1 << 32 else 12):
        kinds[at] = "jump label"
    for at in relative(kernel, "__start_static_call_sites", "__stop_static_call_sites", 8):
        kinds[at] = "static call"
    for at in relative(kernel, "__smp_locks", "__smp_locks_end", 4):
        kinds[at] = "lock prefix"
    for name, at in kernel.symbol.items():
        if name.startswith("__SCT__"):
            for byte in range(8):
                kinds[at + byte] = "static call's trampoline"
    return kinds


def freed(kernel, at):
    """is it in text that is freed after boot?"""
    return kernel.symbol["__init_begin"] <= at < kernel.symbol["__init_end"]


def reason(errno, listed, mnemonic, kind):
    if listed == "blacklist":
        return errno + " blacklist"
    if errno == "-EINVAL" and kind:
        return f"{errno} {kind}"
    if re.fullmatch(INSTRUCTIONS.get(errno, ""), mnemonic):
        return f"{errno} {mnemonic}"
    return None


def main():
    vmlinux, instructions, *results = sys.argv[1:]
    refused = set()
    for result in results:
        for line in open(result):
            if line.startswith("refused_at "):
                at, errno, listed = line.split()[1:4]
                refused.add((int(at, 16), errno, listed))
    wanted = {at for at, _, _ in refused}
    mnemonics = {}
    for line in open(instructions):
        at, mnemonic = line.split()
        at = int(at, 16)
        if at in wanted:
            mnemonics[at] = mnemonic
    kernel = hitpath.Kernel(vmlinux)
    kinds = patched(kernel)
    counts, example, unknown = collections.Counter(), {}, []
    for at, errno, listed in sorted(refused):
        if at not in mnemonics:
            continue
        kind = "freed text" if freed(kernel, at) else kinds.get(at)
        why = reason(errno, listed, mnemonics[at], kind)
        if why:
            counts[why] += 1
            example.setdefault(why, at)
        else:
            start = kernel.function(at)
            unknown.append(f"  {at:x} {kernel.name(start)}+{at - start:#x}: "
                           f"{mnemonics[at]}: {errno}")
    print("refused because")
    for why, n in counts.most_common():
        print(f"  {why:<42} {n:9}   e.g. {example[why]:x}")
    print(f"{'refused for no reason that is known':<44} {len(unknown):9}")
    for line in unknown[:200]:
        print(line)
    if len(unknown) > 200:
        print(f"  and {len(unknown) - 200} more")


if __name__ == "__main__":
    main()
