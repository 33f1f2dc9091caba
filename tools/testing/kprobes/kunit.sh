#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The KUnit suites through the tree's own tool, in the small kernel that
# lib/tests/kprobes/.kunitconfig asks for, which it builds in build/kunit.
#
#   kunit.sh [ARGS...]    kunit.py's, e.g. 'kprobes_hit.*' or --raw_output
#
# With other options for make, all of that kernel would be rebuilt. Page tables have four
# levels there, and five in other guests. It has no ACPI, so its only other clock counts
# ticks, which come late on a loaded machine: it must not judge the TSC by that.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

[ -e "$src/lib/tests/kprobes/.kunitconfig" ] ||
	die "no lib/tests/kprobes/.kunitconfig in build/linux: make tree"
need_build
need_qemu
lock kunit
use_tree
ccache_env
cd "$src"
exec python3 tools/testing/kunit/kunit.py run --arch=x86_64 \
	--kunitconfig=lib/tests/kprobes --build_dir="$build/kunit" --jobs="$(nproc)" \
	--make_options='CC=ccache gcc' --make_options='HOSTCC=ccache gcc' \
	--make_options=KCPPFLAGS=-fmacro-prefix-map=../linux/= \
	--kernel_args="$(guest_time) tsc=reliable" \
	--qemu_args='-smp 2 -accel tcg,thread=multi -cpu max,-cx16,-la57' \
	--timeout=1800 "$@"
