/*
 * What Solaris' <sys/devpoll.h> declares, as far as its manual page says,
 * poll(7D), later poll(4D): for a system that has no such header.
 */
#ifndef MODEL_SYS_DEVPOLL_H
#define MODEL_SYS_DEVPOLL_H

#include <poll.h>

/* In <sys/poll.h> there: takes a descriptor out of the set. */
#ifndef POLLREMOVE
#define POLLREMOVE 0x0800
#endif

#define DP_POLL     (0xD0 << 8 | 1)
#define DP_ISPOLLED (0xD0 << 8 | 2)

struct dvpoll {
	struct pollfd *dp_fds;
	int dp_nfds;
	int dp_timeout;
};

#endif
