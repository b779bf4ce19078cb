/*
 * Sockets and their polls.
 *
 * A poll of the driver completes once.  So a wait begins the poll of a socket, and the first wait
 * after its completion begins the next one.  If fewer bits are requested than the poll in progress
 * has, it continues: its result is reduced to the bits that are requested when it completes.  If
 * more bits are requested, the poll is cancelled and replaced.
 */
#include <errno.h>
#include <poll.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "sys/fdnum.h"
#include "windows/afd_state.h"

#define AFD_REPORTED_ALWAYS (POLLERR | POLLHUP | POLLNVAL)

/* Groups of sockets: each has one handle of the driver for its polls ------------------ */

/* Open a handle of the driver for a new group.  NULL: no memory, or the driver fails. */
static struct afd_group *group_open(struct afd_state *state)
{
	struct afd_group *group = xp_zalloc(sizeof *group);

	if (!group)
		return NULL;
	if (xp_nt_open_afd(state->port, &group->device) < 0) {
		xp_free(group);
		return NULL;
	}
	xp_list_init(&group->item);
	xp_list_append(&state->groups, &group->item);
	return group;
}

/* Move a full group to the end of the list, a group with room to the front. */
static void group_sort_by_room(struct afd_state *state, struct afd_group *group)
{
	xp_list_remove(&group->item);
	xp_list_append(group->socks == AFD_GROUP_MOST ? &state->groups : state->groups.next,
	               &group->item);
}

/* Find or open a group with room for a socket, and count the socket in it; NULL: open failed. */
static struct afd_group *group_enter(struct afd_state *state)
{
	struct afd_group *group = NULL;

	if (!xp_list_empty(&state->groups))
		group = XP_CONTAINER_OF(state->groups.next, struct afd_group, item);
	if (!group || group->socks == AFD_GROUP_MOST)
		group = group_open(state);
	if (!group)
		return NULL;
	XP_ASSERT(group->socks < AFD_GROUP_MOST);
	group->socks++;
	group_sort_by_room(state, group);
	return group;
}

static void group_leave(struct afd_state *state, struct afd_group *group)
{
	XP_ASSERT(group->socks > 0);
	group->socks--;
	group_sort_by_room(state, group);
}

void afd_groups_close(struct afd_state *state)
{
	while (!xp_list_empty(&state->groups)) {
		struct afd_group *group = XP_CONTAINER_OF(
			state->groups.next, struct afd_group, item);

		xp_list_remove(&group->item);
		CloseHandle(group->device);
		xp_free(group);
	}
}

/* --- Polls ----------------------------------------------------------------------- */

/* Make the next wait begin a poll of the socket. */
static void sock_queue_update(struct afd_state *state, struct afd_sock *sock)
{
	if (xp_list_empty(&sock->entry.item))
		xp_list_append(&state->updates, &sock->entry.item);
}

/*
 * Returns the bits that the next poll requests; 0: there is none.  With CLEAR the only bit is
 * POLLRDHUP, until the peer's end or an error was reported: WSAEventSelect records the peer's end
 * late or never.  Every poll also reports that the socket was closed.
 */
static uint32_t sock_wants(const struct afd_sock *sock)
{
	if (!(sock->entry.watch & XP_WATCH_EDGE))
		return sock->entry.watch & XP_WATCH_BITS;
	return sock->end_reported ? 0 : POLLRDHUP;
}

void afd_interrupt_wait(struct afd_state *state)
{
	xp_count_shared(&state->counters->syscalls_wake);
	PostQueuedCompletionStatus(state->port, 0, AFD_KEY_INTERRUPT, NULL);
}

/* Begin a poll for the bits of sock_wants.  Returns 0 or a negative errno value. */
static int sock_submit(struct afd_state *state, struct afd_sock *sock)
{
	struct afd_poll *poll = sock->poll;
	uint32_t wants = sock_wants(sock);
	int rc;

	XP_ASSERT(!sock->pending && poll->sock == sock);
	poll->argument = (struct xp_afd_poll){
		.timeout.QuadPart = INT64_MAX,
		.count = 1,
		.handles[0] = {sock->base, xp_afd_from_poll_bits(wants), 0},
	};
	xp_count_shared(&state->counters->syscalls_change);
	rc = xp_nt_poll(sock->group->device, &poll->argument, sizeof poll->argument, &poll->status,
	                poll);
	if (rc < 0)
		return rc;
	sock->pending = true;
	sock->polled_bits = wants;
	poll->begun_epoch = state->last_epoch;
	state->polls_in_flight++;
	return 0;
}

int afd_socks_submit(struct afd_state *state, struct xp_fired *fired, int cap, int *count)
{
	struct xp_list *item = state->updates.next;

	while (item != &state->updates && *count < cap) {
		struct afd_sock *sock = XP_CONTAINER_OF(item, struct afd_sock, entry.item);
		uint32_t first;
		int rc = 0;

		item = item->next;
		if (sock->due_bits && !fired) {
			afd_interrupt_wait(state);
			continue;
		}
		/* Check before the poll: if the peer has ended its data, no poll is needed. */
		first = afd_edge_check(state, sock);
		if (!sock->pending && sock_wants(sock))
			rc = sock_submit(state, sock);
		if (rc == -ENOMEM || (rc < 0 && !fired)) {
			sock->due_bits = first;
			return rc;
		}
		xp_list_remove(&sock->entry.item);
		if (rc < 0 || first)
			fired[(*count)++] = (struct xp_fired){
				.token = sock->entry.token,
				.events = rc < 0 ? POLLNVAL : first,
			};
	}
	return 0;
}

/* If threads sleep at the port, begin the poll of a socket at once, for them. */
static int sock_submit_now(struct afd_state *state, struct afd_sock *sock)
{
	int rc;

	if (state->waiters == 0)
		return 0;
	if (sock->due_bits) {
		afd_interrupt_wait(state);
		return 0;
	}
	if (sock->pending || !sock_wants(sock))
		return 0;
	rc = sock_submit(state, sock);
	if (rc == 0)
		xp_list_remove(&sock->entry.item);
	return rc;
}

/* Cancel the poll in progress, and ignore its packet; `fresh` (or NULL) is for the next poll. */
static void sock_orphan(struct afd_sock *sock, struct afd_poll *fresh)
{
	sock->poll->sock = NULL;
	xp_nt_poll_cancel(sock->group->device, &sock->poll->status);
	sock->poll = fresh;
	sock->pending = false;
	sock->polled_bits = 0;
}

static int sock_open(struct afd_state *state, struct afd_entry *entry)
{
	struct afd_sock *sock = (struct afd_sock *)entry;

	sock->base = xp_nt_base((SOCKET)xp_fd_ident(entry->fd));
	if (sock->base == INVALID_HANDLE_VALUE)
		return -EBADF;
	sock->poll = xp_zalloc(sizeof *sock->poll);
	sock->group = sock->poll ? group_enter(state) : NULL;
	if (!sock->group) {
		xp_free(sock->poll);
		return -ENOMEM;
	}
	sock->poll->sock = sock;
	return 0;
}

/* Request these bits from the next wait on, or at once if threads sleep at the port. */
static int sock_request_bits(struct afd_state *state, struct afd_sock *sock, uint32_t watch)
{
	struct afd_poll *fresh;

	sock->entry.watch = watch;
	if (sock->pending && sock_wants(sock) & ~sock->polled_bits) {
		fresh = xp_zalloc(sizeof *fresh);
		if (!fresh)
			return -ENOMEM;
		fresh->sock = sock;
		xp_count_shared(&state->counters->syscalls_change);
		sock_orphan(sock, fresh);
	}
	if (sock->due_bits || (sock_wants(sock) && !sock->pending))
		sock_queue_update(state, sock);
	return sock_submit_now(state, sock);
}

static int sock_watch(struct afd_state *state, struct afd_entry *entry, uint32_t watch)
{
	struct afd_sock *sock = (struct afd_sock *)entry;
	const struct afd_sock before = *sock;
	int rc = 0;

	if (watch & XP_WATCH_EDGE) {
		rc = afd_edge_begin(state, sock, watch);
	} else {
		sock->due_bits = 0;
		sock->end_reported = false;
	}
	if (rc == 0)
		rc = sock_request_bits(state, sock, watch);
	if (rc < 0) { /* go on as before; due_bits of the change would repeat an edge */
		sock->due_bits = before.due_bits;
		sock->end_reported = before.end_reported;
		entry->watch = before.entry.watch;
	}
	/* Only now stop the recording of edges, which goes on if the change has failed. */
	if (rc < 0 ? !before.edge : !(watch & XP_WATCH_EDGE) && watch & XP_WATCH_BITS)
		afd_edge_end(state, sock);
	return rc;
}

static void sock_close(struct afd_state *state, struct afd_entry *entry)
{
	struct afd_sock *sock = (struct afd_sock *)entry;

	afd_edge_end(state, sock);
	if (sock->pending) {
		xp_count_shared(&state->counters->syscalls_change);
		sock_orphan(sock, NULL);
	}
	group_leave(state, sock->group);
	xp_free(sock->poll);
}

const struct afd_kind afd_sock_kind = {
	.size = sizeof(struct afd_sock),
	.open = sock_open,
	.close = sock_close,
	.watch = sock_watch,
};

/* Returns the bits of a completed poll; 0: it was cancelled or reports none; POLLERR: it failed. */
static uint32_t poll_answer(const struct afd_poll *poll)
{
	if (poll->status.Status == STATUS_CANCELLED)
		return 0;
	if (poll->status.Status < 0)
		return POLLERR;
	return poll->argument.count == 0 ? 0
		: xp_afd_to_poll_bits(poll->argument.handles[0].events);
}

/* Returns those of the reported bits that were requested, or that poll(2) always reports. */
static uint32_t sock_events(const struct afd_sock *sock, uint32_t reported)
{
	return reported & ((sock->entry.watch & XP_WATCH_BITS) | AFD_REPORTED_ALWAYS);
}

void afd_unsure_add(struct afd_state *state, struct afd_unsure *unsure,
                    struct afd_sock *sock, struct xp_fired *fired)
{
	int i = unsure->len++;

	unsure->handles[i] = (struct xp_afd_handle){
		sock->base, xp_afd_from_poll_bits(sock->entry.watch & XP_WATCH_BITS), 0,
	};
	unsure->socks[i] = sock;
	unsure->fired[i] = fired;
	if (unsure->len == XP_AFD_PROBE_MOST)
		afd_unsure_recheck(state, unsure);
}

void afd_unsure_recheck(struct afd_state *state, struct afd_unsure *unsure)
{
	int len = unsure->len;

	XP_ASSERT(len <= XP_AFD_PROBE_MOST);
	unsure->len = 0;
	if (len == 0)
		return;
	xp_count_shared(&state->counters->syscalls_check);
	/* xp_nt_probe fails if a socket was closed: keep the reports; a poll reports the close. */
	if (xp_nt_probe(unsure->handles, len) < 0)
		return;
	for (int i = 0; i < len; i++) {
		const struct afd_sock *sock = unsure->socks[i];
		uint32_t bits = sock_events(sock, xp_afd_to_poll_bits(unsure->handles[i].events));

		if (sock->entry.watch & XP_WATCH_EDGE)
			bits &= unsure->fired[i]->events;
		unsure->fired[i]->events = bits;
	}
}

struct afd_sock *afd_poll_ended(struct afd_state *state, struct afd_poll *poll,
                                struct xp_fired *fired)
{
	struct afd_sock *sock = poll->sock;
	uint32_t events;

	XP_ASSERT(state->polls_in_flight > 0);
	state->polls_in_flight--;
	if (!sock) {
		xp_free(poll);
		return NULL;
	}
	sock->pending = false;
	sock->polled_bits = 0;
	if (!sock_wants(sock))
		return NULL;
	events = sock_events(sock, poll_answer(poll));
	sock->end_reported = events && sock->entry.watch & XP_WATCH_EDGE;
	if (!(events & POLLNVAL) && !sock->end_reported)
		sock_queue_update(state, sock);
	*fired = (struct xp_fired){.token = sock->entry.token, .events = events};
	return events ? sock : NULL;
}
