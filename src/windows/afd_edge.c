/*
 * Edge-triggered sockets.
 *
 * Polls of the driver report states.  WSAEventSelect records activity ("network events"): each kind
 * once, and again only after the program has called a function that reads, writes or accepts.  So a
 * socket gets an event object, for which a thread of the system waits; when it is signalled, that
 * thread sends a packet to the port.  The end of the peer's data and the close of the socket
 * are still reported by a poll (afd_sock.c).
 */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "sys/fdnum.h"
#include "windows/afd_state.h"

/* The kinds of activity to record. */
enum {
	EDGE_ALL = FD_READ | FD_WRITE | FD_OOB | FD_ACCEPT | FD_CONNECT,
};

/*
 * An event object that a thread of the system waits for.  The object is reused for other sockets,
 * because beginning and ending such a wait is expensive.
 */
struct afd_edge {
	/* links this struct into state->free_edges while no socket uses the object */
	struct xp_list free;
	HANDLE event;        /* signalled by activity of the socket */
	HANDLE wait;         /* the system's wait for `event` */
	HANDLE port;         /* state->port */
	atomic_bool sent; /* a packet was sent and not taken yet: send no other */
	atomic_int fd; /* descriptor of the socket that uses the object now, or used it last */
};

/*
 * Callback on a thread of the system, without any lock: send a packet, unless one is on its way.
 * The thread that takes the packet reads the recorded activity after clearing `sent`, so it gets
 * all that was recorded before.  One packet at a time keeps the port from filling up.
 */
static VOID CALLBACK edge_signalled(void *opaque, BOOLEAN timed_out)
{
	struct afd_edge *edge = opaque;

	(void)timed_out;
	if (atomic_exchange(&edge->sent, true))
		return;
	if (!PostQueuedCompletionStatus(edge->port, 0, AFD_KEY_EDGE, (void *)edge))
		atomic_store(&edge->sent, false);
}

/* Create the event object, and have the system wait for it. */
static int edge_make(struct afd_state *state, struct afd_edge *edge)
{
	int rc;

	xp_list_init(&edge->free);
	edge->port = state->port;
	edge->event = CreateEventW(NULL, FALSE, FALSE, NULL);
	if (!edge->event)
		return xp_nt_to_errno(GetLastError());
	if (RegisterWaitForSingleObject(&edge->wait, edge->event, edge_signalled,
	                                edge, INFINITE, WT_EXECUTEINWAITTHREAD))
		return 0;
	rc = xp_nt_to_errno(GetLastError());
	CloseHandle(edge->event);
	return rc;
}

/*
 * Give the socket an event object: a free one, or else a new one.  Returns 0 or a negative errno
 * value.
 */
static int edge_assign(struct afd_state *state, struct afd_sock *sock)
{
	struct afd_edge *edge;
	int rc;

	if (!xp_list_empty(&state->free_edges)) {
		edge = XP_CONTAINER_OF(state->free_edges.next, struct afd_edge, free);
		xp_list_remove(&edge->free);
	} else {
		edge = xp_zalloc(sizeof *edge);
		rc = edge ? edge_make(state, edge) : -ENOMEM;
		if (rc < 0) {
			xp_free(edge);
			return rc;
		}
	}
	atomic_store(&edge->fd, sock->entry.fd);
	XP_ASSERT(!sock->edge && edge->event);
	sock->edge = edge;
	return 0;
}

void afd_edges_close(struct afd_state *state)
{
	while (!xp_list_empty(&state->free_edges)) {
		struct afd_edge *edge = XP_CONTAINER_OF(
			state->free_edges.next, struct afd_edge, free);

		xp_list_remove(&edge->free);
		/* The call waits until the callback has returned; the callback takes no lock. */
		(void)UnregisterWaitEx(edge->wait, INVALID_HANDLE_VALUE);
		CloseHandle(edge->event);
		xp_free(edge);
	}
}

/* Returns the bits of poll(2) for recorded activity. */
static uint32_t edge_poll_bits(const WSANETWORKEVENTS *records)
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
	/* FD_CLOSE is not recorded: a poll reports the end of the peer's data. */
	return events;
}

/* Returns the bits of poll(2) of the filters to check again, which XP_WATCH_AGAIN selects. */
static uint32_t again_bits(uint32_t watch)
{
	static const uint32_t bits[] = {POLLIN | POLLRDHUP, POLLOUT, POLLPRI};
	uint32_t again = 0;

	for (int i = 0; i < 3; i++)
		again |= XP_WATCH_AGAIN_OF(watch) & (1u << i) ? bits[i] : 0;
	return again;
}

uint32_t afd_edge_check(struct afd_state *state, struct afd_sock *sock)
{
	uint32_t watch = sock->entry.watch;
	struct xp_afd_handle handle = {sock->base, xp_afd_from_poll_bits(watch), 0};
	WSANETWORKEVENTS records;
	uint32_t due = sock->due_bits;
	uint32_t bits;

	sock->due_bits = 0;
	if (!due)
		return 0;
	xp_count_by(&state->counters->syscalls_check, 2);
	/*
	 * Take the recorded activity, too, because the socket's state includes the effects of that
	 * activity: otherwise the activity would be reported a second time.
	 */
	if (WSAEnumNetworkEvents((SOCKET)xp_fd_ident(sock->entry.fd), NULL, &records) != 0 ||
	    xp_nt_probe(&handle, 1) < 0)
		return POLLNVAL;
	due |= edge_poll_bits(&records);
	bits = xp_afd_to_poll_bits(handle.events) & due &
		((watch & XP_WATCH_BITS) | POLLERR | POLLHUP | POLLNVAL);
	sock->end_reported = handle.events & XP_AFD_DISCONNECT || bits & (POLLERR | POLLHUP);
	return bits;
}

/* Give the socket an event object, which records activity from now on. */
static int edge_select(struct afd_state *state, struct afd_sock *sock)
{
	int rc = edge_assign(state, sock);

	if (rc < 0)
		return rc;
	xp_count(&state->counters->syscalls_change);
	if (WSAEventSelect((SOCKET)xp_fd_ident(sock->entry.fd), sock->edge->event,
	                   EDGE_ALL) == 0)
		return 0;
	rc = xp_nt_to_errno((DWORD)WSAGetLastError());
	afd_edge_end(state, sock);
	return rc;
}

int afd_edge_begin(struct afd_state *state, struct afd_sock *sock,
                   uint32_t watch)
{
	bool is_new = !sock->edge;
	int rc = is_new ? edge_select(state, sock) : 0;

	if (rc < 0)
		return rc;
	sock->due_bits |= again_bits(watch) | (watch & ~sock->entry.watch & XP_WATCH_BITS);
	/*
	 * Check for POLLERR, POLLHUP and POLLNVAL until the peer's end or an error was reported.
	 * After that only the bits added above are checked, those that are new in `watch` or in
	 * XP_WATCH_AGAIN.  The end is then reported again if POLLIN, POLLRDHUP or POLLOUT, which
	 * the end sets, is among these.
	 */
	if (is_new || !sock->end_reported)
		sock->due_bits |= POLLERR | POLLHUP | POLLNVAL;
	if (is_new)
		sock->due_bits |= XP_WATCH_BITS;
	return 0;
}

void afd_edge_end(struct afd_state *state, struct afd_sock *sock)
{
	if (!sock->edge)
		return;
	(void)WSAEventSelect((SOCKET)xp_fd_ident(sock->entry.fd), NULL, 0);
	xp_list_append(&state->free_edges, &sock->edge->free);
	sock->edge = NULL;
}

struct afd_sock *afd_edge_fired(struct afd_state *state, struct afd_edge *edge,
                                struct xp_fired *fired)
{
	int fd = atomic_load(&edge->fd);
	struct afd_sock *sock = afd_find(state, fd, &afd_sock_kind);
	WSANETWORKEVENTS records;
	uint32_t events = POLLNVAL;

	atomic_store(&edge->sent, false);
	if (!sock || !(sock->entry.watch & XP_WATCH_EDGE))
		return NULL;
	XP_ASSERT(sock->edge);
	xp_count_shared(&state->counters->syscalls_check);
	if (WSAEnumNetworkEvents((SOCKET)xp_fd_ident(fd), NULL, &records) == 0)
		events = edge_poll_bits(&records);
	events &= (sock->entry.watch & XP_WATCH_BITS) | POLLERR | POLLHUP | POLLNVAL;
	*fired = (struct xp_fired){.token = sock->entry.token, .events = events};
	return events ? sock : NULL;
}
