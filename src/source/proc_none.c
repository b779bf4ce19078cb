/* PROC is not to be had: nothing on this system says when a process ends. */
#include "source/proc_names.h"

const struct xp_source_ops xp_source_proc = {
	.filter = XPOLL_FILT_PROC,
	.id = XP_SOURCE_PROC,
	.name = "PROC",
	.notes = proc_names,
};
