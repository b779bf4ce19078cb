/*
 * <sys/devpoll.h> of Solaris, as its manual page poll(7D), later poll(4D), describes it, for
 * systems that lack the header.
 */
#ifndef MODEL_SYS_DEVPOLL_H
#define MODEL_SYS_DEVPOLL_H

#include <poll.h>

/* Solaris declares this in <sys/poll.h>; the record removes a descriptor from the set. */
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
