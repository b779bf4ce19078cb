/* What the events of a port say, and whether that is still so. */
#ifndef XP_BACKEND_PORT_EVENT_H
#define XP_BACKEND_PORT_EVENT_H

#include <poll.h>

#include "backend/port_set.h"

/* Events that may have been sent long ago: what holds now has to be checked. */
struct xp_port_unsure {
	struct pollfd probes[64];
	struct xp_fired *fired[64];
	int len;
};

/*
 * An object's event has come, to a wait with this number; false: there is
 * nothing to report.  What may be out of date is collected in `unsure`, and
 * checked by xp_port_settle; then it may fire nothing.
 */
bool xp_port_fired(struct xp_port_set *set, const port_event_t *event,
                   uint32_t call, struct xp_port_unsure *unsure,
                   struct xp_fired *fired);
void xp_port_settle(struct xp_port_set *set, struct xp_port_unsure *unsure);

#endif
