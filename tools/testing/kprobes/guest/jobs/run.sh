# SPDX-License-Identifier: GPL-2.0
# Run the shell commands in CMD, for a look at something.
. /lib.sh
eval "$CMD"
