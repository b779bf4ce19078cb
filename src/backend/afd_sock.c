/*
 * Sockets and their polls.
 *
 * A poll of the driver answers once.  So a socket is asked about when a wait
 * begins, and again by the next wait after it has answered; and a poll that
 * asks for too much is left alone: its answer is compared with what is wanted
 * then.  Only one that asks for too little is replaced at once.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "backend/afd.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "os/fdnum.h"
#include "os/sys.h"

#define AFD_TOLD_ALWAYS (POLLERR | POLLHUP | POLLNVAL)

static struct afd_group *group_open(struct afd_state *state)
{
	struct afd_group *group = xp_alloc(sizeof *group);

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

/* Full ones go to the end of the list, behind all that have room. */
static void group_place(struct afd_state *state, struct afd_group *group)
{
	xp_list_remove(&group->item);
	xp_list_append(group->socks == AFD_GROUP_MOST ? &state->groups
	                                              : state->groups.next,
	               &group->item);
}

static struct afd_group *group_enter(struct afd_state *state)
{
	struct afd_group *group = NULL;

	if (!xp_list_empty(&state->groups))
		group = XP_CONTAINER_OF(state->groups.next, struct afd_group, item);
	if (!group || group->socks == AFD_GROUP_MOST)
		group = group_open(state);
	if (!group)
		return NULL;
	group->socks++;
	group_place(state, group);
	return group;
}

static void group_leave(struct afd_state *state, struct afd_group *group)
{
	XP_ASSERT(group->socks > 0);
	group->socks--;
	group_place(state, group);
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

static int socks_reserve(struct afd_state *state, int fd)
{
	int len = state->socks_len ? state->socks_len : 256;
	struct afd_sock **socks;

	if (fd < state->socks_len)
		return 0;
	while (len <= fd)
		len *= 2;
	socks = xp_realloc(state->socks, (size_t)len * sizeof *socks);
	if (!socks)
		return -ENOMEM;
	memset(socks + state->socks_len, 0,
	       (size_t)(len - state->socks_len) * sizeof *socks);
	state->socks = socks;
	state->socks_len = len;
	return 0;
}

void afd_sock_update(struct afd_state *state, struct afd_sock *sock)
{
	if (xp_list_empty(&sock->update))
		xp_list_append(&state->updates, &sock->update);
}

/* What the next poll has to ask for. */
static uint32_t sock_wants(const struct afd_sock *sock)
{
	return sock->watch & XP_WATCH_EDGE ? 0 : sock->watch & XP_WATCH_BITS;
}

static int sock_submit(struct afd_state *state, struct afd_sock *sock)
{
	struct afd_poll *poll = sock->poll;
	uint32_t wants = sock_wants(sock);
	int rc;

	XP_ASSERT(!sock->pending && poll->sock == sock);
	poll->argument = (struct xp_afd_poll){
		.timeout.QuadPart = INT64_MAX,
		.count = 1,
		.handles[0] = {sock->base, xp_afd_wanted(wants), 0},
	};
	xp_count_shared(&state->counters->syscalls_change);
	rc = xp_nt_poll(sock->group->device, &poll->argument,
	                sizeof poll->argument, &poll->status, poll);
	if (rc < 0)
		return rc;
	sock->pending = true;
	sock->asked = wants;
	state->polls++;
	return 0;
}

int afd_socks_submit(struct afd_state *state, struct xp_fired *fired, int cap,
                     int *count)
{
	while (!xp_list_empty(&state->updates) && *count < cap) {
		struct afd_sock *sock = XP_CONTAINER_OF(
			state->updates.next, struct afd_sock, update);
		int rc = 0;

		if (!sock->pending && sock_wants(sock))
			rc = sock_submit(state, sock);
		if (rc == -ENOMEM || (rc < 0 && !fired))
			return rc;
		xp_list_remove(&sock->update);
		if (rc < 0)
			fired[(*count)++] = (struct xp_fired){sock->token, POLLNVAL};
	}
	return 0;
}

/* A change that threads at the port have to learn of. */
static int sock_submit_now(struct afd_state *state, struct afd_sock *sock)
{
	int rc;

	if (state->waiters == 0 || sock->pending || !sock_wants(sock))
		return 0;
	rc = sock_submit(state, sock);
	if (rc == 0)
		xp_list_remove(&sock->update);
	return rc;
}

/* Its poll's answer will be nobody's; `fresh` takes its place. */
static void sock_orphan(struct afd_sock *sock, struct afd_poll *fresh)
{
	sock->poll->sock = NULL;
	xp_nt_poll_cancel(sock->group->device, &sock->poll->status);
	sock->poll = fresh;
	sock->pending = false;
	sock->asked = 0;
}

int afd_sock_attach(struct afd_state *state, int fd, uint32_t watch,
                    uint64_t token)
{
	HANDLE base = xp_nt_base((SOCKET)xp_fd_ident(fd));
	struct afd_sock *sock;
	int rc = xp_sys_open_flags(fd);

	if (rc < 0)
		return rc;
	if (base == INVALID_HANDLE_VALUE)
		return -EBADF;
	rc = socks_reserve(state, fd);
	if (rc < 0)
		return rc;
	sock = xp_alloc(sizeof *sock);
	if (!sock)
		return -ENOMEM;
	xp_list_init(&sock->update);
	sock->fd = fd;
	sock->base = base;
	sock->poll = xp_alloc(sizeof *sock->poll);
	sock->group = sock->poll ? group_enter(state) : NULL;
	if (!sock->group) {
		xp_free(sock->poll);
		xp_free(sock);
		return -ENOMEM;
	}
	sock->poll->sock = sock;
	state->socks[fd] = sock;
	rc = afd_sock_change(state, sock, watch, token);
	if (rc < 0)
		afd_sock_detach(state, sock);
	return rc;
}

/* Ask for these bits from the next wait on. */
static int sock_want(struct afd_state *state, struct afd_sock *sock,
                     uint32_t watch)
{
	struct afd_poll *fresh;

	if (sock->pending && (watch & XP_WATCH_EDGE ||
	                      watch & XP_WATCH_BITS & ~sock->asked)) {
		fresh = xp_alloc(sizeof *fresh);
		if (!fresh)
			return -ENOMEM;
		fresh->sock = sock;
		xp_count_shared(&state->counters->syscalls_change);
		sock_orphan(sock, fresh);
	}
	sock->watch = watch;
	if (sock_wants(sock) && !sock->pending)
		afd_sock_update(state, sock);
	return sock_submit_now(state, sock);
}

int afd_sock_change(struct afd_state *state, struct afd_sock *sock,
                    uint32_t watch, uint64_t token)
{
	int rc = 0;

	sock->token = token;
	if (watch & XP_WATCH_EDGE)
		rc = afd_edge_begin(state, sock);
	else
		afd_edge_end(sock);
	return rc < 0 ? rc : sock_want(state, sock, watch);
}

void afd_sock_detach(struct afd_state *state, struct afd_sock *sock)
{
	afd_edge_end(sock);
	xp_list_remove(&sock->update);
	if (sock->pending) {
		xp_count_shared(&state->counters->syscalls_change);
		sock_orphan(sock, NULL);
	}
	group_leave(state, sock->group);
	state->socks[sock->fd] = NULL;
	xp_free(sock->poll);
	xp_free(sock);
}

/* What the driver's answer means; it was cancelled if it says nothing. */
static uint32_t poll_answer(const struct afd_poll *poll)
{
	if (poll->status.Status == STATUS_CANCELLED)
		return 0;
	if (poll->status.Status < 0)
		return POLLERR;
	return poll->argument.count == 0 ? 0
		: xp_afd_told(poll->argument.handles[0].events);
}

bool afd_poll_ended(struct afd_state *state, struct afd_poll *poll,
                    struct xp_fired *fired)
{
	struct afd_sock *sock = poll->sock;
	uint32_t events;

	XP_ASSERT(state->polls > 0);
	state->polls--;
	if (!sock) {
		xp_free(poll);
		return false;
	}
	sock->pending = false;
	sock->asked = 0;
	if (!sock_wants(sock))
		return false;
	events = poll_answer(poll) &
		((sock->watch & XP_WATCH_BITS) | AFD_TOLD_ALWAYS);
	if (!(events & POLLNVAL))
		afd_sock_update(state, sock);
	*fired = (struct xp_fired){sock->token, events};
	return events != 0;
}
