#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# "make shell": a root shell in a guest. QEMU_ARGS= and APPEND= add to QEMU's
# arguments and the kernel's parameters, e.g. QEMU_ARGS='-s -S' for gdb.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

the_kernel
exec "$here/guest.sh" -a "${APPEND:-}" -q "${QEMU_ARGS:-}" "$kernel" shell
