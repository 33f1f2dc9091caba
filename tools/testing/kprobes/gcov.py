#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""gcov.py COUNTS KERNEL UNCOVERED LEAST: what has been executed; see gcov.sh

COUNTS is a tree of .gcda files as the kernel has it, KERNEL the O= folder with the .gcno
files. An inline function of a header counts once, whichever object has executed it.
"""
import json
import os
import re
import subprocess
import sys

OURS = re.compile(r"(kernel/kprobes\.c|kernel/kprobes/.*|arch/x86/kernel/kprobes/.*|"
                  r"include/linux/kprobes[a-z_]*\.h|arch/x86/include/asm/kprobes[a-z_]*\.h)$")


def objects(counts, kernel):
    """(.gcda, .gcno) of each object of ours that has executed anything"""
    for folder, _, files in os.walk(counts):
        for name in files:
            if not name.endswith(".gcda"):
                continue
            inside = os.path.join(folder, name)
            for start in ("arch/x86/kernel/kprobes/", "kernel/kprobes"):
                at = inside.find("/" + start)
                if at >= 0:
                    note = os.path.join(kernel, inside[at + 1:-4] + "gcno")
                    if not os.path.exists(note):
                        sys.exit("kprobes: gcov: no " + note)
                    yield inside, note
                    break


def main():
    counts, kernel, uncovered, least = sys.argv[1:]
    lines, branches, functions = {}, {}, {}
    known = 0
    for data, note in objects(counts, kernel):
        target = data[:-4] + "gcno"
        if not os.path.exists(target):
            os.symlink(os.path.abspath(note), target)
        text = subprocess.run(["gcov", "-b", "-j", "-t", data], capture_output=True,
                              check=True, text=True).stdout
        known += 1
        for part in text.splitlines():
            for source in json.loads(part)["files"]:
                m = re.search(r"(?:^|linux/)" + OURS.pattern, source["file"])
                if not m:
                    continue
                name = m[1]
                for line in source["lines"]:
                    key = name, line["line_number"]
                    lines[key] = lines.get(key, 0) + line["count"]
                    functions.setdefault(key, line.get("function_name"))
                    for i, branch in enumerate(line["branches"]):
                        branches[key + (i,)] = branches.get(key + (i,), 0) + branch["count"]
    if known < 20:
        sys.exit("kprobes: gcov: %d objects have executed anything: is it the right kernel?" % known)

    def share(counted, name):
        mine = [count for key, count in counted.items() if name in (None, key[0])]
        done = sum(count > 0 for count in mine)
        return done, len(mine), 100 * done / len(mine) if mine else 100

    print("%-44s %14s %16s" % ("", "lines", "branches"))
    for name in sorted({key[0] for key in lines}) + [None]:
        row = share(lines, name) + share(branches, name)
        print("%-44s %4d/%4d %5.1f%% %5d/%4d %5.1f%%" % ((name or "all",) + row))
    with open(uncovered, "w") as out:
        for key in sorted(key for key, count in lines.items() if not count):
            print("%s:%d: %s" % (key + (functions[key],)), file=out)
    done, total, percent = share(lines, None)
    print("\n%d of %d lines executed, %.1f %%; at least %s %% are wanted"
          % (done, total, percent, least))
    sys.exit(percent < float(least))


main()
