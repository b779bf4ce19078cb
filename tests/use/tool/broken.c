/*
 * A library that is broken, for LD_PRELOAD: DISABLE of xpoll_ctl does nothing.  With
 * BROKEN=die in the environment xpoll_lookup ends the process.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* RTLD_NEXT */
#endif

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <xpoll.h>

typedef int ctl_function(struct xpoll *queue, int op, int events, int fd, void *data);
typedef int lookup_function(struct xpoll *queue, uint64_t ident, int filter,
                            struct xpoll_event *registration);

int xpoll_ctl(struct xpoll *queue, int op, int events, int fd, void *data)
{
	void *found = dlsym(RTLD_NEXT, "xpoll_ctl");
	ctl_function *whole;

	memcpy(&whole, &found, sizeof whole);
	return op == XPOLL_DISABLE ? 0 : whole(queue, op, events, fd, data);
}

int xpoll_lookup(struct xpoll *queue, uint64_t ident, int filter,
                 struct xpoll_event *registration)
{
	const char *how = getenv("BROKEN");
	void *found = dlsym(RTLD_NEXT, "xpoll_lookup");
	lookup_function *whole;

	if (how && strcmp(how, "die") == 0)
		_Exit(0);
	memcpy(&whole, &found, sizeof whole);
	return whole(queue, ident, filter, registration);
}
