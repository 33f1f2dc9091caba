/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All instructions once more, the probe standing on the first of four in front. */
#define INSN_BEHIND 4

#include "insn_x86_data.S"
#include "insn_x86_alu.S"
#include "insn_x86_flow.S"
