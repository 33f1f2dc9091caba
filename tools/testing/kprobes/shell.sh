#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# "make shell": a root shell in a guest. QEMU_ARGS= and APPEND= add to QEMU's
# arguments and the kernel's parameters, e.g. QEMU_ARGS='-s -S' for gdb. The files of
# GUEST_FILES=directory are put into the guest's root.
set -euo pipefail
# shellcheck source=tools/testing/kprobes/common.sh
. "$(dirname "$0")/common.sh"

[ -z "${GUEST_FILES:-}" ] || [ -d "$GUEST_FILES" ] || die "GUEST_FILES=$GUEST_FILES: no such directory"
the_kernel
exec "$here/guest.sh" -a "${APPEND:-}" -q "${QEMU_ARGS:-}" -f "${GUEST_FILES:-}" "$kernel" shell
