# SPDX-License-Identifier: GPL-2.0
# Shows that a guest boots, runs a job and gives its status back.
echo "Linux $(uname -r) on $(nproc) CPUs"
exit "${STATUS:-0}"
