// SPDX-License-Identifier: GPL-2.0-or-later
#include "kprobe_reload.h"

FUNCTION(kprobe_reload_starts, ONE_MOV, "+11");
FUNCTION(kprobe_reload_branch, FIVE_NOPS, "+4");
FUNCTION(kprobe_reload_warm, FIVE_NOPS, ".cold");
COLD(kprobe_reload_warm, "+4");
