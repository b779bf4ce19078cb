/* Events of our own at a port: they make threads that sleep there return. */
#include <errno.h>

#include "backend/port_set.h"

/* Who sees the alert must find that it is to be ended. */
void xp_port_call_all(struct xp_port_set *set)
{
	atomic_store(&set->alert, true);
	xp_sys_port_alert(set->fd, true);
}

void xp_port_wake(struct xp_port_set *set)
{
	if (xp_sys_port_send(set->fd) == -ENOSPC)
		xp_port_call_all(set);
}

void xp_port_called(struct xp_port_set *set)
{
	bool others = set->edges > 0 && set->deaf > 0;

	/* Of several that have seen it, one ends it. */
	if (!others && atomic_exchange(&set->alert, false))
		xp_sys_port_alert(set->fd, false);
}
