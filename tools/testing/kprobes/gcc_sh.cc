// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A plugin for GCC 12 for sh. If a value that is compared with zero is used after the branch,
 * sh_treg_combine takes its load for a stored condition, cannot remove it, and removes the
 * comparison all the same: "v = *p; if (!v) ..." branches by chance. No option switches that
 * pass off. Without this, kernels stop while they decompress themselves.
 */
#include "gcc-plugin.h"
#include "plugin-version.h"
#include "context.h"
#include "tree.h"
#include "tree-pass.h"
#include "diagnostic.h"

int plugin_is_GPL_compatible;

/* The passes of an architecture are not registered before the options are read. */
static void leave_out(void *, void *)
{
	/* It would tell so for each file. */
	diagnostic_inhibit_notes(global_dc);
	disable_pass("rtl-sh_treg_combine2");
	disable_pass("rtl-sh_treg_combine3");
	global_dc->inhibit_notes_p = false;
}

int plugin_init(struct plugin_name_args *info, struct plugin_gcc_version *version)
{
	if (!plugin_default_version_check(version, &gcc_version))
		return 1;
	register_callback(info->base_name, PLUGIN_START_UNIT, leave_out, NULL);
	return 0;
}
