/*
 * kqueue-change by epoll_ctl(2).
 */
#include <stdlib.h>
#include <sys/epoll.h>

#include "kqueue_change.h"

struct epoll_state {
	const struct bench_pairs *sockets;
	uint64_t syscalls;
	int fd;
	int next;
};

static void epoll_close(void *opened)
{
	struct epoll_state *state = opened;

	close(state->fd);
	free(state);
}

static int epoll_open(void *setup, const struct bench_way *way, void **opened)
{
	struct epoll_state *state = calloc(1, sizeof *state);

	(void)way;
	if (state == NULL)
		return -ENOMEM;
	state->sockets = setup;
	state->fd = epoll_create1(EPOLL_CLOEXEC);
	if (state->fd < 0) {
		int rc = -errno;

		free(state);
		return rc;
	}
	*opened = state;
	return 0;
}

static int epoll_run(void *opened, uint64_t count)
{
	struct epoll_state *state = opened;

	while (count-- > 0) {
		struct bench_pair *pair = &state->sockets->at[state->next];
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = pair };

		if (++state->next == state->sockets->len)
			state->next = 0;
		state->syscalls += 2;
		if (epoll_ctl(state->fd, EPOLL_CTL_ADD, pair->read_fd, &event) < 0 ||
		    epoll_ctl(state->fd, EPOLL_CTL_DEL, pair->read_fd, NULL) < 0)
			return -errno;
	}
	return 0;
}

static uint64_t epoll_syscalls(const void *opened)
{
	return ((const struct epoll_state *)opened)->syscalls;
}

static const struct bench_ops epoll_ops = {
	.open = epoll_open,
	.run = epoll_run,
	.syscalls = epoll_syscalls,
	.close = epoll_close,
};

const struct bench_variant kqueue_change_peers[] = {
	{ "raw-epoll", &epoll_ops, NULL, NULL },
	{ 0 },
};
