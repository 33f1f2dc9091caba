#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# "make compile_commands": writes the file that clangd and others read, for the kernel of
# CONFIG. It names the files of the repository rather than their copies in build/linux, so
# that an editor finds the one to edit. Headers come from build/linux.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

out=$build/$CONFIG
json=$top/compile_commands.json
[ -e "$out/vmlinux" ] || die "no kernel in build/$CONFIG: make kernel"
(cd "$out" && python3 "$src/scripts/clang-tools/gen_compile_commands.py" \
	-d "$out" -o "$out/compile_commands.json" --log_level ERROR)
python3 - "$out/compile_commands.json" "$json" "$src" "$top" <<'END'
import json, os, sys
source, target, src, top = sys.argv[1:]
commands = json.load(open(source))
for c in commands:
    name = os.path.join(c["directory"], c["file"])
    inside = os.path.relpath(os.path.realpath(name), src)
    if os.path.exists(os.path.join(top, inside)):
        c["file"] = os.path.join(top, inside)
        c["command"] = c["command"].replace(name, c["file"]).replace("ccache ", "", 1)
        # What it includes by "..." stands beside it; the rest is in the tree.
        c["command"] += " -iquote " + os.path.dirname(os.path.join(src, inside))
json.dump(commands, open(target, "w"), indent=1)
ours = sum(c["file"].startswith(top + "/") and "/build/" not in c["file"] for c in commands)
print(f"kprobes: compile_commands.json: {len(commands)} files, {ours} of them in the repository")
END
