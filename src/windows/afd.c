/*
 * The afd back end: polls of the driver AFD, which complete as packets of an I/O completion port.
 *
 * A wait is one system call, which takes as many packets as fit; each socket whose poll has
 * completed costs one more call, which begins its next poll (afd_sock.c).  A change of the
 * requested bits mostly costs none.  xpoll_wake sends a packet, too.
 */
#include "windows/afd_state.h"

#include <errno.h>

#include "base/assert.h"
#include "base/time.h"
#include "sys/sys.h"
#include "windows/system.h"

enum {
	/* Most calls in a row whose packets report nothing, before a wait returns. */
	AFD_EMPTY_TAKES_MOST = 256,
	/* Longest wait for the completion of a cancelled poll when the queue is closed. */
	AFD_CLOSE_MS = 5000,
};

static int afd_open(void *opaque, int size_hint, struct xp_counters *counters)
{
	struct afd_state *state = opaque;
	WSADATA data;
	int rc;

	(void)size_hint;
	/*
	 * WSAStartup counts its calls, so this call does not interfere with those of the program.
	 */
	if (WSAStartup(MAKEWORD(2, 2), &data) != 0)
		return -ENOSYS;
	state->port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 0);
	rc = state->port ? xp_mutex_init(&state->lock)
		: xp_nt_to_errno(GetLastError());
	if (rc < 0) {
		if (state->port)
			CloseHandle(state->port);
		WSACleanup();
		return rc;
	}
	state->counters = counters;
	xp_list_init(&state->groups);
	xp_list_init(&state->updates);
	xp_list_init(&state->free_edges);
	xp_list_init(&state->unchecked_objects);
	xp_list_init(&state->pipes);
	return 0;
}

/* Wait until the cancelled polls have completed: the driver uses their memory until then. */
static void afd_drain(struct afd_state *state)
{
	OVERLAPPED_ENTRY packets[16];
	struct xp_fired none;
	ULONG count = 0;

	while (state->polls_in_flight > 0 &&
	       GetQueuedCompletionStatusEx(state->port, packets, 16, &count,
	                                   AFD_CLOSE_MS, FALSE))
		for (ULONG i = 0; i < count; i++)
			if (packets[i].lpCompletionKey == AFD_KEY_POLL)
				(void)afd_poll_ended(
					state, (void *)packets[i].lpOverlapped,
					&none);
}

static void afd_close(void *opaque)
{
	struct afd_state *state = opaque;

	afd_detach_all(state);
	XP_ASSERT(xp_list_empty(&state->updates) && state->waiters == 0);
	afd_edges_close(state);
	afd_drain(state);
	afd_groups_close(state);
	CloseHandle(state->port);
	xp_mutex_fini(&state->lock);
	WSACleanup();
}

/* Returns the time until the deadline in milliseconds, rounded up. */
static DWORD afd_timeout(int64_t deadline_ns)
{
	int64_t left_ns;

	if (deadline_ns <= XP_NOW)
		return 0;
	if (deadline_ns == XP_NEVER)
		return INFINITE;
	left_ns = deadline_ns - xp_sys_now();
	return left_ns > 0 ? (DWORD)xp_ms_ceil(left_ns) : 0;
}

/*
 * Convert a packet of an edge-triggered socket's activity to a report.  Adds the report to
 * `unsure`, the reports that are checked by another poll before the wait returns, unless the report
 * is that the socket was closed.  Returns false if there is nothing to report.
 */
static bool afd_handle_edge(struct afd_state *state, struct afd_edge *edge,
                            struct afd_unsure *unsure, struct xp_fired *fired)
{
	struct afd_sock *sock = afd_edge_fired(state, edge, fired);

	if (sock && !(fired->events & POLLNVAL))
		afd_unsure_add(state, unsure, sock, fired);
	return sock != NULL;
}

/*
 * Handle the completion of a poll; call: number of this wait.  A report of a poll that had begun
 * before this wait may be stale, so it is added to `unsure`, to be checked by another poll; but not
 * a report of a closed socket, or of the end of an edge-triggered one.  Returns false if there is
 * nothing to report.
 */
static bool afd_handle_poll(struct afd_state *state, struct afd_poll *poll,
                            uint32_t call, struct afd_unsure *unsure,
                            struct xp_fired *fired)
{
	bool old = state->last_epoch - poll->begun_epoch > state->last_epoch - call;
	struct afd_sock *sock = afd_poll_ended(state, poll, fired);

	if (sock && old && !sock->end_reported && !(fired->events & POLLNVAL))
		afd_unsure_add(state, unsure, sock, fired);
	return sock != NULL;
}

/* Convert a packet to a report.  Returns false if the packet reports nothing. */
static bool afd_handle_packet(struct afd_state *state, const OVERLAPPED_ENTRY *packet,
                              uint32_t call, struct afd_unsure *unsure,
                              struct xp_fired *fired)
{
	ULONG_PTR key = packet->lpCompletionKey;

	switch (key & ((1u << AFD_KEY_BITS) - 1)) {
	case AFD_KEY_WAKE:
		*fired = (struct xp_fired){.token = XP_TOKEN_WAKE};
		return true;
	case AFD_KEY_INTERRUPT:
		return false; /* sent only to make a thread return (afd_interrupt_wait) */
	case AFD_KEY_EDGE:
		return afd_handle_edge(state, (void *)packet->lpOverlapped, unsure, fired);
	case AFD_KEY_OBJECT:
		return afd_object_fired(state, (int)(key >> AFD_KEY_BITS), fired);
	default:
		return afd_handle_poll(state, (void *)packet->lpOverlapped, call,
		                       unsure, fired);
	}
}

/*
 * Convert packets to reports, and recheck the reports that may be stale.  Returns the number of
 * reports.
 */
static int afd_harvest(struct afd_state *state, const OVERLAPPED_ENTRY *packets,
                       ULONG len, uint32_t call, struct xp_fired *fired)
{
	struct afd_unsure unsure;
	int count = 0;
	int reported = 0;

	unsure.len = 0;
	for (ULONG i = 0; i < len; i++)
		count += afd_handle_packet(state, &packets[i], call, &unsure,
		                           &fired[count]);
	afd_unsure_recheck(state, &unsure);
	for (int i = 0; i < count; i++)
		if (fired[i].events || fired[i].token == XP_TOKEN_WAKE)
			fired[reported++] = fired[i];
	return reported;
}

/*
 * Take packets until one reports something or the port has no more; returns also after
 * AFD_EMPTY_TAKES_MOST calls without a report, because the queue has to check the time.  Returns
 * the number of reports; *rc: 0 or a negative errno value.  Called with the lock, which is released
 * while this thread sleeps.
 */
static int afd_take(struct afd_state *state, DWORD timeout_ms, uint32_t call,
                    struct xp_fired *fired, int cap, int *rc)
{
	OVERLAPPED_ENTRY packets[XP_FIRED_MOST];
	ULONG most = (ULONG)cap;
	ULONG len = most;
	int count = 0;
	int left = AFD_EMPTY_TAKES_MOST;

	for (; count == 0 && len == most && left > 0; timeout_ms = 0, left--) {
		bool taken;

		state->waiters++;
		xp_mutex_unlock(&state->lock);
		taken = GetQueuedCompletionStatusEx(state->port, packets, most,
		                                    &len, timeout_ms, FALSE);
		if (!taken) {
			len = 0;
			*rc = GetLastError() == WAIT_TIMEOUT ? 0
				: xp_nt_to_errno(GetLastError());
		}
		xp_mutex_lock(&state->lock);
		state->waiters--;
		count = afd_harvest(state, packets, len, call, fired);
	}
	XP_ASSERT(count <= cap && state->waiters >= 0);
	return count > 0 && len == most ? xp_fired_add_more(fired, count, cap) : count;
}

/*
 * Begin the polls of the sockets in `updates` and the system's waits for the objects in
 * `unchecked_objects`, and take packets from the port.  Returns like afd_take.
 */
static int afd_poll_and_take(struct afd_state *state, DWORD timeout_ms,
                             struct xp_fired *fired, int cap, int *rc)
{
	uint32_t call = ++state->last_epoch;
	int count = 0;

	afd_objects_submit(state);
	*rc = afd_socks_submit(state, fired, cap, &count);
	if (count > 0)
		*rc = 0;
	if (*rc == 0 && count < cap)
		count += afd_take(state, count > 0 ? 0 : timeout_ms, call,
		                  fired + count, cap - count, rc);
	return count;
}

/*
 * Check the pipes, which send no packets to the completion port, and take packets from the port.
 * Pipes get at most half of the room.  If there is room for one report only, the pipes are checked
 * first in waits with an odd number (last_epoch), and the port is read first in the others.
 */
static int afd_take_with_pipes(struct afd_state *state, int64_t deadline_ns,
                               struct xp_fired *fired, int cap, int *rc)
{
	int most = cap > 1 ? cap / 2 : (int)(state->last_epoch & 1);
	int count = afd_pipes_probe(state, fired, most);
	bool pipes_left = most > 0 && count == most;
	DWORD timeout_ms = count > 0 || most == 0 ? 0
		: afd_pipes_timeout(state, afd_timeout(deadline_ns));

	if (count < cap)
		count += afd_poll_and_take(state, timeout_ms, fired + count, cap - count,
		                           rc);
	else
		/*
		 * Pipes have taken all the room, and afd_poll_and_take, which counts the wait in
		 * last_epoch, was not called.  Count the wait here, so that the port is read first
		 * in the next one.
		 */
		state->last_epoch++;
	if (count == 0 && most == 0)
		count = afd_pipes_probe(state, fired, cap);
	return pipes_left ? xp_fired_add_more(fired, count, cap) : count;
}

static int afd_await(void *opaque, int64_t deadline_ns, const sigset_t *mask,
                     struct xp_fired *fired, int cap)
{
	struct afd_state *state = opaque;
	int count;
	int rc = 0;

	(void)mask;
	xp_mutex_lock(&state->lock);
	if (xp_list_empty(&state->pipes))
		count = afd_poll_and_take(state, afd_timeout(deadline_ns), fired, cap, &rc);
	else
		count = afd_take_with_pipes(state, deadline_ns, fired, cap, &rc);
	xp_mutex_unlock(&state->lock);
	return count > 0 ? count : rc;
}

/*
 * Called when a thread leaves with events.  If other threads sleep at the port, begin the polls and
 * waits that the next wait would begin, so that conditions that still hold are reported to these
 * threads.
 */
static void afd_rearm(void *opaque)
{
	struct afd_state *state = opaque;
	int count = 0;

	xp_mutex_lock(&state->lock);
	if (state->waiters > 0) {
		afd_objects_submit(state);
		if (!xp_list_empty(&state->updates))
			(void)afd_socks_submit(state, NULL, 1, &count);
	}
	xp_mutex_unlock(&state->lock);
}

static void afd_wake(void *opaque)
{
	struct afd_state *state = opaque;

	xp_count_shared(&state->counters->syscalls_wake);
	PostQueuedCompletionStatus(state->port, 0, AFD_KEY_WAKE, NULL);
}

const struct xp_backend_ops xp_backend_afd = {
	.name = "afd",
	.caps = XP_CAP_CONCURRENT | XP_CAP_FREE_CHANGE | XP_CAP_EXCEPT,
	.state_size = sizeof(struct afd_state),
	.open = afd_open,
	.close = afd_close,
	.attach = afd_attach,
	.change = afd_change,
	.detach = afd_detach,
	.wait = afd_await,
	.rearm = afd_rearm,
	.wake = afd_wake,
};
