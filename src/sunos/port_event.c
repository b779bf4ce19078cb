/* The events of a port: their bits, the check that these still hold, and waking of threads. */
#include "sunos/port_state.h"

#include <errno.h>
#include <poll.h>

#include "sys/sys.h"

#define PORT_REPORTED_ALWAYS (POLLERR | POLLHUP | POLLNVAL)

static uint32_t port_poll_bits(const struct xp_port_object *object, int events)
{
	return (uint32_t)events & (object->want | PORT_REPORTED_ALWAYS);
}

void xp_port_recheck(struct xp_port_set *set, struct xp_port_unsure *unsure)
{
	if (unsure->len == 0)
		return;
	xp_count_shared(&set->counters->syscalls_check);
	if (xp_sys_poll_now(unsure->probes, (size_t)unsure->len) >= 0)
		for (int i = 0; i < unsure->len; i++)
			unsure->fired[i]->events =
				(unsigned short)unsure->probes[i].revents;
	unsure->len = 0;
}

bool xp_port_fired(struct xp_port_set *set, const port_event_t *event,
                   uint32_t call, struct xp_port_unsure *unsure,
                   struct xp_fired *fired)
{
	int fd = (int)event->portev_object;
	struct xp_port_object *object = xp_port_find(set, fd);

	if (!object || object->cookie != (uint32_t)(uintptr_t)event->portev_user)
		return false;
	object->cookie = 0;
	object->armed_bits = 0;
	if (!object->want)
		return false;
	xp_port_make_due(set, object, fd);
	fired->token = object->token;
	fired->events = port_poll_bits(object, event->portev_events);
	if (!fired->events)
		return false;
	/*
	 * The descriptor was associated before this wait began, so the event may be out of date:
	 * have it checked.
	 */
	if (set->last_epoch - object->armed_epoch > set->last_epoch - call) {
		int i = unsure->len++;

		unsure->probes[i] = (struct pollfd){
			.fd = fd, .events = (short)object->want,
		};
		unsure->fired[i] = fired;
		if (unsure->len == sizeof unsure->probes / sizeof *unsure->probes)
			xp_port_recheck(set, unsure);
	}
	return true;
}

/* --- Events that make threads sleeping at the port return ------------------------------ */

void xp_port_wake(struct xp_port_set *set)
{
	if (xp_sys_port_send(set->fd) == -ENOSPC)
		xp_port_wake_all(set);
}

void xp_port_clear_alert(struct xp_port_set *set)
{
	bool others = set->edge_count > 0 && set->port_only_waiters > 0;

	/*
	 * Turn the alert off, unless the edge set, an epoll set, has registrations and some threads
	 * still sleep on the port only: the alert has to wake all of them.
	 */
	if (!others && atomic_exchange(&set->alert, false))
		xp_sys_port_alert(set->fd, false);
}
