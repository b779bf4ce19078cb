/* The /dev/poll back end's state, and what is written to the device. */
#ifndef XP_SUNOS_DEVPOLL_STATE_H
#define XP_SUNOS_DEVPOLL_STATE_H

#include "posix/array.h"

struct devpoll_state {
	struct xp_array array; /* index: what the device has of it */
	int device;
	struct pollfd *fds; /* records to be written; room for what waits find */
	int cap;            /* >= attached + XP_FIRED_MOST */
	int *dirty;         /* numbers to be written to the device */
	int dirty_len;
	int dirty_cap;      /* >= array.len */
	int room;  /* what one call may ask for */
	int start; /* where a look at all begins */
	bool more; /* the wait in progress took all that it had asked for */
};

extern const struct xp_array_ops xp_devpoll_array;

/* The back end's function of this name. */
int xp_devpoll_attach(void *state, int fd, uint32_t watch, uint64_t token);
/* Write what has changed; 0 or a negative errno value. */
int xp_devpoll_write(struct devpoll_state *state);
/* The device reported bits that were not requested: have the number written as new. */
void xp_devpoll_mend(struct devpoll_state *state, int fd);

#endif
