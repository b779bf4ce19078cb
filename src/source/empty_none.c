/* EMPTY is not to be had: this system does not say what is left in a buffer. */
#include "source/source.h"

const struct xp_source_ops xp_source_empty = {
	.filter = XPOLL_FILT_EMPTY,
	.id = XP_SOURCE_EMPTY,
	.name = "EMPTY",
};
