/*
 * Pipes: only a read of one's own shows that there is something to read,
 * so they are looked at when a wait begins and, while it sleeps, again and again:
 * soon if there was something lately, and less often the longer there is nothing.
 */
#include "backend/afd_state.h"

#include <errno.h>
#include <poll.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "os/sys.h"

enum {
	PIPE_PAUSE_LEAST_MS = 1,
	PIPE_PAUSE_MOST_MS = 64,
};

struct afd_pipe {
	struct xp_regmap_item item; /* ident: the number */
	struct xp_list wanted;      /* in `pipes` */
	uint64_t token;
	uint32_t watch;
};

static struct afd_pipe *pipe_find(const struct afd_state *state, int fd)
{
	struct xp_regmap_item *item =
		xp_regmap_find(&state->pipe_map, (uint64_t)fd, 0);

	return item ? XP_CONTAINER_OF(item, struct afd_pipe, item) : NULL;
}

bool afd_pipe_has(const struct afd_state *state, int fd)
{
	return pipe_find(state, fd) != NULL;
}

/* No call reports whether there is room, nor what happened between two looks. */
static int pipe_check(uint32_t watch)
{
	return watch & (POLLOUT | POLLPRI | XP_WATCH_EDGE) ? -ENOTSUP : 0;
}

int afd_pipe_attach(struct afd_state *state, int fd, uint32_t watch,
                    uint64_t token)
{
	struct afd_pipe *pipe;
	int rc = pipe_check(watch);

	if (rc == 0 && xp_nt_pipe_unread(fd) == -EBADF)
		rc = -EBADF;
	if (rc < 0)
		return rc;
	pipe = xp_alloc(sizeof *pipe);
	if (!pipe)
		return -ENOMEM;
	pipe->item.ident = (uint64_t)fd;
	xp_list_init(&pipe->wanted);
	rc = xp_regmap_add(&state->pipe_map, &pipe->item);
	if (rc < 0) {
		xp_free(pipe);
		return rc;
	}
	return afd_pipe_change(state, fd, watch, token);
}

int afd_pipe_change(struct afd_state *state, int fd, uint32_t watch,
                    uint64_t token)
{
	struct afd_pipe *pipe = pipe_find(state, fd);
	int rc = pipe_check(watch);

	XP_ASSERT(pipe);
	if (rc < 0)
		return rc;
	pipe->token = token;
	pipe->watch = watch;
	xp_list_remove(&pipe->wanted);
	if (watch & XP_WATCH_BITS) {
		xp_list_append(&state->pipes, &pipe->wanted);
		state->pipe_pause_ms = PIPE_PAUSE_LEAST_MS;
		if (state->waiters > 0)
			afd_post_probe(state);
	}
	return 0;
}

void afd_pipe_detach(struct afd_state *state, int fd)
{
	struct afd_pipe *pipe = pipe_find(state, fd);

	XP_ASSERT(pipe);
	xp_list_remove(&pipe->wanted);
	xp_regmap_remove(&state->pipe_map, &pipe->item);
	xp_free(pipe);
}

int afd_pipes_probe(struct afd_state *state, struct xp_fired *fired, int cap)
{
	struct xp_list *item = state->pipes.next;
	int count = 0;

	for (; item != &state->pipes && count < cap; item = item->next) {
		struct afd_pipe *pipe =
			XP_CONTAINER_OF(item, struct afd_pipe, wanted);
		uint32_t events = xp_nt_file_probe((int)pipe->item.ident) &
			(pipe->watch | POLLERR | POLLHUP | POLLNVAL);

		xp_count_shared(&state->counters->syscalls_check);
		if (events)
			fired[count++] = (struct xp_fired){.token = pipe->token, .events = events};
	}
	XP_ASSERT(count <= cap);
	/* Those that were reported first are behind the others next time. */
	if (count == cap && item != &state->pipes) {
		xp_list_remove(&state->pipes);
		xp_list_append(item, &state->pipes);
	}
	if (count > 0)
		state->pipe_pause_ms = PIPE_PAUSE_LEAST_MS;
	return count;
}

DWORD afd_pipes_pause(struct afd_state *state, DWORD timeout_ms)
{
	DWORD pause_ms = state->pipe_pause_ms;

	if (xp_list_empty(&state->pipes) || timeout_ms <= pause_ms)
		return timeout_ms;
	if (pause_ms < PIPE_PAUSE_MOST_MS)
		state->pipe_pause_ms = pause_ms * 2;
	return pause_ms;
}

void afd_pipes_close(struct afd_state *state)
{
	struct xp_regmap_item *item = xp_regmap_pop(&state->pipe_map);

	for (; item; item = xp_regmap_pop(&state->pipe_map)) {
		struct afd_pipe *pipe =
			XP_CONTAINER_OF(item, struct afd_pipe, item);

		xp_list_remove(&pipe->wanted);
		xp_free(pipe);
	}
	xp_regmap_fini(&state->pipe_map);
}
