/*
 * Sockets watched by edges.
 *
 * Polls of the driver tell of states.  Activity is what WSAEventSelect keeps
 * records of: each kind once, and then not before the program has called what
 * reads, writes or accepts.  So a socket gets an event object, for which a
 * thread of the system waits, and when it is signalled a packet is sent.
 */
#include <errno.h>
#include <poll.h>

#include "backend/afd.h"
#include "base/assert.h"
#include "os/fdnum.h"

enum {
	EDGE_ALL = FD_READ | FD_WRITE | FD_OOB | FD_ACCEPT | FD_CONNECT | FD_CLOSE,
};

/* On a thread of the system, without any lock. */
static VOID CALLBACK edge_signalled(void *opaque, BOOLEAN timed_out)
{
	const struct afd_sock *sock = opaque;

	(void)timed_out;
	PostQueuedCompletionStatus(sock->port, sock->serial,
	                           (ULONG_PTR)sock->fd << AFD_KEY_BITS |
	                           AFD_KEY_EDGE, NULL);
}

static int edge_make(struct afd_state *state, struct afd_sock *sock)
{
	int rc;

	sock->event = CreateEventW(NULL, FALSE, FALSE, NULL);
	if (!sock->event)
		return xp_nt_error(GetLastError());
	sock->port = state->port;
	sock->serial = ++state->serial;
	if (RegisterWaitForSingleObject(&sock->wait, sock->event, edge_signalled,
	                                sock, INFINITE, WT_EXECUTEINWAITTHREAD))
		return 0;
	rc = xp_nt_error(GetLastError());
	CloseHandle(sock->event);
	sock->event = NULL;
	return rc;
}

int afd_edge_begin(struct afd_state *state, struct afd_sock *sock)
{
	int rc = sock->event ? 0 : edge_make(state, sock);

	if (rc < 0)
		return rc;
	/* Again, it makes records of what holds now. */
	xp_count_shared(&state->counters->syscalls_change);
	if (WSAEventSelect((SOCKET)xp_fd_ident(sock->fd), sock->event,
	                   EDGE_ALL) == 0)
		return 0;
	rc = xp_nt_error((DWORD)WSAGetLastError());
	afd_edge_end(sock);
	return rc;
}

void afd_edge_end(struct afd_sock *sock)
{
	if (!sock->event)
		return;
	(void)WSAEventSelect((SOCKET)xp_fd_ident(sock->fd), NULL, 0);
	/* Waits until the callback is not running, which takes no lock. */
	(void)UnregisterWaitEx(sock->wait, INVALID_HANDLE_VALUE);
	CloseHandle(sock->event);
	sock->event = NULL;
	sock->wait = NULL;
}

/* What the records stand for. */
static uint32_t edge_told(const WSANETWORKEVENTS *records)
{
	static const uint32_t dead = POLLIN | POLLRDHUP | POLLOUT | POLLHUP;
	long kinds = records->lNetworkEvents;
	uint32_t events = 0;

	if (kinds & (FD_READ | FD_ACCEPT))
		events |= POLLIN;
	if (kinds & FD_OOB)
		events |= POLLPRI;
	if (kinds & FD_WRITE)
		events |= POLLOUT;
	if (kinds & FD_CONNECT)
		events |= records->iErrorCode[FD_CONNECT_BIT] ? POLLERR | dead
			: POLLOUT;
	if (kinds & FD_CLOSE)
		events |= records->iErrorCode[FD_CLOSE_BIT] ? dead
			: POLLIN | POLLRDHUP;
	return events;
}

bool afd_edge_fired(struct afd_state *state, int fd, uint32_t serial,
                    struct xp_fired *fired)
{
	struct afd_sock *sock = afd_sock_find(state, fd);
	WSANETWORKEVENTS records;
	uint32_t events = POLLNVAL;

	if (!sock || !sock->event || sock->serial != serial)
		return false;
	XP_ASSERT(sock->watch & XP_WATCH_EDGE);
	xp_count_shared(&state->counters->syscalls_check);
	if (WSAEnumNetworkEvents((SOCKET)xp_fd_ident(fd), NULL, &records) == 0)
		events = edge_told(&records);
	events &= (sock->watch & XP_WATCH_BITS) | POLLERR | POLLHUP | POLLNVAL;
	*fired = (struct xp_fired){sock->token, events};
	return events != 0;
}
