// SPDX-License-Identifier: GPL-2.0-or-later
#include "kprobe_reload.h"

FUNCTION(kprobe_reload_starts, FIVE_NOPS, "+11");
FUNCTION(kprobe_reload_branch, ONE_MOV, "+11");
FUNCTION(kprobe_reload_warm, FIVE_NOPS, "+11");
