/*
 * Shared by the drivers of the guides' fragments.  Each driver is compiled behind a fragment, which
 * the test has taken from its page.
 */
#ifndef XPOLL_TESTS_USE_GUIDES_DRIVE_H
#define XPOLL_TESTS_USE_GUIDES_DRIVE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xpoll.h>

#define CHECK(condition) drive_check((condition), #condition, __LINE__)

static inline void drive_check(int holds, const char *condition, int line)
{
	if (holds)
		return;
	fprintf(stderr, "line %d: %s is false\n", line, condition);
	exit(1);
}

static inline struct xpoll *drive_open(void)
{
	struct xpoll *queue = xpoll_open(NULL);

	CHECK(queue != NULL);
	return queue;
}

/* A pipe whose read end does not block. */
static inline void drive_pipe(int fds[2])
{
	CHECK(pipe(fds) == 0);
	CHECK(fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
}

static inline void drive_write(int fd, size_t len)
{
	static const char bytes[8192];

	CHECK(write(fd, bytes, len) == (ssize_t)len);
}

/* Returns how many events a wait finds that does not sleep; the first one is in *event. */
static inline int drive_events(struct xpoll *queue, struct xpoll_event *event)
{
	return xpoll_event(queue, NULL, 0, event, 1, 0);
}

#endif
