#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Why were instructions refused? See everything.sh.

refusals.py [--module-instructions FILE] [--module FILE.ko]... VMLINUX INSTRUCTIONS RESULT...

INSTRUCTIONS has the address and mnemonic of each instruction, and FILE the module, the offset in
its text, and the mnemonic. The results have lines "refused_at ADDRESS ERRNO blacklist" or, if
the address is not on the blacklist, "-"; and "module NAME ADDRESS", where its text was.

Prints how many were refused for each reason. Reasons come from the tables of the image and
of the modules, and from the manual's list of instructions, not from kprobes. What has none may
have been refused wrongly, so each of these is listed.
"""
import argparse
import collections
import os
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


def text_relocations(path, table):
    """the offsets in the text of a module that a table of its leads to"""
    data = open(path, "rb").read()
    wide = data[4] == 2
    header = struct.unpack_from("<Q" if wide else "<I", data, 40 if wide else 32)[0]
    size, count, names = struct.unpack_from("<HHH", data, 58 if wide else 46)
    sections = []
    for i in range(count):
        part = struct.unpack_from("<IIQQQQIIQQ" if wide else "<10I", data, header + i * size)
        # name, type, offset, size, link, info
        sections.append((part[0], part[1], part[4], part[5], part[6], part[7]))

    def named(section):
        at = sections[names][2] + section[0]
        return data[at:data.index(0, at)].decode()

    for section in sections:
        rela = section[1] == 4
        if (not rela and section[1] != 9) or named(sections[section[5]]) != table:
            continue
        symbols = sections[section[4]][2]
        each = (24 if rela else 16) if wide else (12 if rela else 8)
        for at in range(section[2], section[2] + section[3], each):
            where, info = struct.unpack_from("<QQ" if wide else "<II", data, at)
            symbol = symbols + (info >> 32) * 24 if wide else symbols + (info >> 8) * 16
            if wide:
                index, value = struct.unpack_from("<HQ", data, symbol + 6)
            else:
                value, index = struct.unpack_from("<I6xH", data, symbol + 4)
            if index >= count or named(sections[index]) != ".text":
                continue
            if rela:
                add = struct.unpack_from("<q" if wide else "<i", data, at + each - each // 3)[0]
            else:
                add = struct.unpack_from("<i", data, sections[section[5]][2] + where)[0]
            yield where, value + add


def module_patched(path):
    """what is patched in a module at run time: offset in its text -> its kind"""
    # The first words of the entries only: others lead to labels, keys and functions.
    sizes = {"__jump_table": ("jump label", 16 if open(path, "rb").read(5)[4] == 2 else 12),
             ".static_call_sites": ("static call", 8), ".smp_locks": ("lock prefix", 4)}
    kinds = {}
    for table, (kind, size) in sizes.items():
        for where, offset in text_relocations(path, table):
            if where % size == 0:
                kinds[offset] = kind
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
    parser = argparse.ArgumentParser()
    parser.add_argument("--module-instructions")
    parser.add_argument("--module", action="append", default=[])
    parser.add_argument("vmlinux")
    parser.add_argument("instructions")
    parser.add_argument("result", nargs="+")
    args = parser.parse_args()
    kernel = hitpath.Kernel(args.vmlinux)
    kinds = patched(kernel)
    counts, example, unknown = collections.Counter(), {}, []
    refused, module_refused = set(), []
    for result in args.result:
        here, base = set(), {}
        for line in open(result):
            if line.startswith("refused_at "):
                at, errno, listed = line.split()[1:4]
                here.add((int(at, 16), errno, listed))
            elif line.startswith("module "):
                base[line.split()[1]] = int(line.split()[2], 16)
        # They are elsewhere in the next guest.
        (module_refused.append((here, base)) if base else refused.update(here))

    def account(why, where, name, mnemonic, errno):
        if why:
            counts[why] += 1
            example.setdefault(why, where)
        else:
            unknown.append(f"  {name}: {mnemonic}: {errno}")

    wanted = {at for at, _, _ in refused}
    mnemonics = {}
    for line in open(args.instructions):
        at, mnemonic = line.split()
        at = int(at, 16)
        if at in wanted:
            mnemonics[at] = mnemonic
    for at, errno, listed in sorted(refused):
        # Whatever is not in the list was not asked for.
        mnemonic = mnemonics.get(at, "?")
        kind = "freed text" if freed(kernel, at) else kinds.get(at)
        start = kernel.function(at)
        account(reason(errno, listed, mnemonic, kind), f"{at:x}",
                f"{at:x} {kernel.name(start)}+{at - start:#x}", mnemonic, errno)

    module_kinds = {os.path.basename(path)[:-3]: module_patched(path) for path in args.module}
    at_offset = {}
    if args.module_instructions:
        for line in open(args.module_instructions):
            module, offset, mnemonic = line.split()
            at_offset[module, int(offset, 16)] = mnemonic
    for here, base in module_refused:
        for at, errno, listed in sorted(here):
            module = max((name for name in base if base[name] <= at), key=base.get, default="?")
            offset = at - base.get(module, 0)
            mnemonic = at_offset.get((module, offset), "?")
            kind = module_kinds.get(module, {}).get(offset)
            account(reason(errno, listed, mnemonic, kind), f"{module}+{offset:x}",
                    f"{module}+{offset:#x}", mnemonic, errno)
    print("refused because")
    for why, n in counts.most_common():
        print(f"  {why:<42} {n:9}   e.g. {example[why]}")
    print(f"{'refused for no reason that is known':<44} {len(unknown):9}")
    for line in unknown:
        print(line)
    sys.exit(3 if unknown else 0)


if __name__ == "__main__":
    main()
