/* All that sources may call of the queue; above what it names, so nobody calls this. */
#include "core/host.h"
#include "core/registration.h"
#include "core/source_fd.h"

const struct xp_host xp_host = {
	.activate = xp_registration_activate,
	.deactivate = xp_registration_deactivate,
	.confirmed = xp_source_confirmed,
	.find = xp_registration_find,
	.spawn = xp_registration_spawn,
	.end = xp_registration_end,
	.state = xp_source_state,
	.set_due = xp_source_set_due,
	.now = xp_source_now,
	.exposed = xp_source_exposed,
	.set_probed = xp_source_set_probed,
	.awaited = xp_source_awaited,
	.harvest = xp_source_harvest,
	.vnode_as_bsd = xp_source_vnode_as_bsd,
	.unobserved = xp_source_unobserved,
	.watch = xp_source_fd_add,
	.unwatch = xp_source_fd_remove,
};
