#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Is all of a hit's path refused? See hitpath.sh.

hitpath.py VMLINUX BLACKLIST EXCEPTIONS [FUNCTION]

BLACKLIST is debugfs' file of that kernel, booted with nokaslr. Starts at the entries of
hits and follows all direct calls and jumps in refused functions, through each state of
jump labels and alternatives. Whatever they lead to that is not refused, and each
indirect call, has to be among the exceptions, and each of these has to be
needed: see unneeded(). FUNCTION counts as not refused.

The same for what a CPU that comes online runs before it can handle a breakpoint: see
EARLY. Both have the same exceptions.
"""
import bisect
import os
import re
import struct
import subprocess
import sys

# The entries of hits, and of ways back, by the options that bring them.
ROOTS = {
    "KPROBES": "asm_exc_int3 exc_int3 kprobe_int3_handler",
    "OPTPROBES": "detour_hit detour_post detour_changed detour_resched detour_leave",
    "KPROBES_ON_FTRACE": "ftrace_caller ftrace_regs_caller kprobe_ftrace_handler "
                         "kprobe_ftrace_return kprobe_ftrace_return_far",
    "KPROBES_ON_FTRACE X86_64": "kprobe_ftrace_trampoline",
    "KRETPROBES": "__kretprobe_trampoline kretprobe_return",
    "JPROBES": "x86_jprobe_call x86_jprobe_leave",
}

# What a CPU that comes online runs before it can handle breakpoints. FIRST:UNTIL is what FIRST
# calls directly, by address, up to and including UNTIL.
EARLY = {"SMP": "start_secondary:cpu_init_exception_handling"}


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class Kernel:
    def __init__(self, path):
        self.path = path
        self.data = open(path, "rb").read()
        self.sections = []
        for line in run("readelf", "-SW", path).splitlines():
            m = re.match(r"\s*\[\s*\d+\] +(\S+) +(\S+) +([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)", line)
            if m and int(m[3], 16):
                self.sections.append((int(m[3], 16), int(m[5], 16), int(m[4], 16), m[2]))
        self.symbol, self.names, self.starts = {}, {}, []
        for line in run("nm", "-n", path).splitlines():
            word = line.split()
            if len(word) != 3:
                continue
            addr = int(word[0], 16)
            self.symbol.setdefault(word[2], addr)
            if word[1] in "tTwW":
                if not self.starts or self.starts[-1] != addr:
                    self.starts.append(addr)
                self.names.setdefault(addr, []).append(word[2])
        self.jumps = self.jump_labels()
        self.alternatives = self.alternative_code()
        # Most functions are in a few sections: objdump takes long to start.
        self.areas = []
        for area in "__kprobes_text", "__noinstr_text", "__entry_text":
            start, end = (self.symbol.get(area + side, 0) for side in ("_start", "_end"))
            if start:
                self.areas.append((start, end, list(self.disassemble(start, end))))

    def function(self, addr):
        i = bisect.bisect_right(self.starts, addr) - 1
        return self.starts[i] if i >= 0 else 0

    def end(self, start):
        i = bisect.bisect_right(self.starts, start)
        return self.starts[i] if i < len(self.starts) else start + 1

    def name(self, start):
        return re.sub(r"\.(cold|constprop|isra|part)[.0-9]*.*$", "", self.names[start][-1])

    def bytes(self, first, last):
        start, end = self.symbol[first], self.symbol[last]
        for addr, size, offset, kind in self.sections:
            if addr <= start < addr + size and kind != "NOBITS":
                return start, self.data[offset + start - addr:offset + end - addr]
        sys.exit("kprobes: hitpath: no contents of " + first)

    def jump_labels(self):
        """function -> where a jump label in it leads"""
        found = {}
        if "__start___jump_table" not in self.symbol:
            return found
        size = 16 if self.symbol["_text"] > 1 << 32 else 12
        at, table = self.bytes("__start___jump_table", "__stop___jump_table")
        for i in range(0, len(table) - size + 1, size):
            code, target = struct.unpack_from("<ii", table, i)
            start = self.function(self.wrap(at + i + code))
            found.setdefault(start, set()).add(self.wrap(at + i + 4 + target))
        return found

    def alternative_code(self):
        """function -> the pieces of code that may replace some of it"""
        found = {}
        at, table = self.bytes("__alt_instructions", "__alt_instructions_end")
        for i in range(0, len(table) - 13, 14):
            code, other, _, _, length = struct.unpack_from("<iiIBB", table, i)
            if length:
                other = self.wrap(at + i + 4 + other)
                found.setdefault(self.function(self.wrap(at + i + code)), []).append(
                    (other, other + length))
        return found

    def wrap(self, addr):
        return addr & (1 << 64) - 1 if self.symbol["_text"] > 1 << 32 else addr & (1 << 32) - 1

    def disassemble(self, start, end):
        """the branches of code: (address, target), the target None if it is indirect"""
        text = run("objdump", "-d", "--no-show-raw-insn", "--start-address=%#x" % start,
                   "--stop-address=%#x" % end, self.path)
        for line in text.splitlines():
            m = re.match(r"\s*([0-9a-f]+):\s+(?:(?:notrack|bnd|lock|rep|data16|cs|ds) +)*"
                         r"(?:call|jmp|j[a-z]+|loop[a-z]*)[lqw]?(?:,p[nt])? +(\S+)", line)
            if not m:
                continue
            if m[2].startswith("*") or "__x86_indirect_" in line:
                yield int(m[1], 16), None
            elif re.fullmatch("(0x)?[0-9a-f]+", m[2]):
                yield int(m[1], 16), int(m[2], 16)

    def branches(self, start, end):
        """what the code there calls and jumps to: addresses; None for an indirect one"""
        for first, last, known in self.areas:
            if first <= start < last:
                break
        else:
            known = list(self.disassemble(start, end))
        return [target for addr, target in known if start <= addr < end]

    def leads_to(self, start, until=None):
        """the same for a function, or for its code up to the first call of another"""
        if until:
            for addr in self.branches(start, self.end(start)):
                yield addr
                if addr == until:
                    return
            sys.exit("kprobes: hitpath: %s does not call %s" % (self.name(start), self.name(until)))
        pieces = [(start, self.end(start))] + self.alternatives.get(start, [])
        for piece in pieces:
            yield from self.branches(*piece)
        yield from self.jumps.get(start, ())


def exceptions(lines, options):
    """(caller, callee) -> is it for a kernel with these options?"""
    allowed = {}
    for line in lines:
        entry, _, why = line.partition("#")
        caller, callee, *wanted = entry.split() or ("", "")
        if caller and not why.strip():
            sys.exit("kprobes: hitpath: no reason for %s %s" % (caller, callee))
        if caller:
            allowed[caller, callee] = all(option in options for option in wanted)
    return allowed


def unneeded(allowed, found, names):
    """the exceptions for this kernel that nothing needs, although both functions are there"""
    for (caller, callee), here in allowed.items():
        if not here or not {caller, callee} - {"*"} <= names:
            continue
        if caller == "*" and any(callee == other for _, other in found):
            continue
        if (caller, callee) not in found:
            yield caller, callee


def roots(symbol, options, wanted=ROOTS):
    """where to begin in a kernel with these symbols and options"""
    for option, names in wanted.items():
        for name in names.split():
            if all(part in symbol for part in name.split(":")):
                yield name
            elif all(part in options for part in option.split()):
                sys.exit("kprobes: hitpath: no %s in this kernel, which has %s" % (name, option))


class Walk:
    """what is refused and what is not, on the ways from these functions"""
    def __init__(self, kernel, refused, names):
        self.kernel, self.seen, self.found = kernel, {}, set()
        todo = []
        for name in names:
            first, _, until = name.partition(":")
            todo.append((kernel.symbol[first], None, kernel.symbol[until] if until else None))
        while todo:
            start, caller, until = todo.pop()
            if start in self.seen:
                continue
            self.seen[start] = caller
            if not refused(start):
                sys.exit("kprobes: hitpath: %s is not refused" % kernel.name(start))
            for addr in kernel.leads_to(start, until):
                if addr is None:
                    self.found.add((kernel.name(start), "*"))
                    continue
                target = kernel.function(addr)
                if target == start or target not in kernel.names:
                    continue
                if refused(addr):
                    todo.append((target, start, None))
                else:
                    self.found.add((kernel.name(start), kernel.name(target)))

    def way(self, name):
        start = next(s for s in self.seen if self.kernel.name(s) == name)
        names = []
        while start is not None:
            names.append(self.kernel.name(start))
            start = self.seen[start]
        return " < ".join(names)

    def wrong(self, allowed):
        """what is neither refused nor excepted"""
        for caller, callee in sorted(self.found):
            # A sanitizer has a function for each size and kind of access.
            kind = re.sub(r"^(__tsan|__kcsan)_.*", r"\1_*", callee)
            if not {(caller, callee), ("*", callee), (caller, kind)} & allowed.keys():
                yield "an indirect call" if callee == "*" else callee, self.way(caller)


def main():
    kernel = Kernel(sys.argv[1])
    ranges = sorted((int(m[1], 16), int(m[2], 16)) for m in
                    (re.match("0x([0-9a-f]+)-0x([0-9a-f]+)", line) for line in open(sys.argv[2])) if m)
    if len(ranges) < 100:
        sys.exit("kprobes: hitpath: %d ranges are refused: is the file whole?" % len(ranges))

    without = kernel.symbol[sys.argv[4]] if len(sys.argv) > 4 else None

    def refused(addr):
        if without and kernel.function(addr) == without:
            return False
        i = bisect.bisect_right(ranges, (addr, 1 << 64)) - 1
        return i >= 0 and ranges[i][0] <= addr < ranges[i][1]

    config = open(os.path.join(os.path.dirname(sys.argv[1]), ".config")).read()
    options = re.findall("^CONFIG_(.*)=y$", config, re.M)
    allowed = exceptions(open(sys.argv[3]), options)
    hits = Walk(kernel, refused, roots(kernel.symbol, options))
    early = Walk(kernel, refused, roots(kernel.symbol, options, EARLY))
    found = hits.found | early.found
    status = 0
    for walk in hits, early:
        for what, way in walk.wrong(allowed):
            print("not ok - hitpath: %s < %s: neither refused nor excepted" % (what, way))
            status = 1
    # If FUNCTION counts as not refused, the exceptions for it are not needed.
    if not without:
        names = {kernel.name(start) for start in kernel.starts}
        for pair in unneeded(allowed, found, names):
            print("not ok - hitpath: %s %s: excepted, and nothing needs it" % pair)
            status = 1
    print("%d functions, and %d of a CPU that comes online, %d exceptions" %
          (len(hits.seen), len(early.seen), len(found)))
    sys.exit(status)


if __name__ == "__main__":
    main()
