# SPDX-License-Identifier: GPL-2.0
# Runs what CMD= says, e.g. guest.sh build/x86_64 cmd CMD='uname -a'.
eval "$CMD"
