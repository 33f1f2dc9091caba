/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All instructions once more, with the probe on the first of four before them. */
#define INSN_AFTER 4

#include "insn_x86_data.S"
#include "insn_x86_alu.S"
#include "insn_x86_flow.S"
