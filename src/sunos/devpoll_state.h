/*
 * The state of the /dev/poll back end, and the functions that write changes of descriptors to the
 * device.
 */
#ifndef XP_SUNOS_DEVPOLL_STATE_H
#define XP_SUNOS_DEVPOLL_STATE_H

#include "posix/array.h"

struct devpoll_state {
	struct xp_array array; /* entry->index: the bits that the device has (devpoll_set.c) */
	int device;            /* descriptor of /dev/poll */
	struct pollfd *fds; /* records to write; also receives the results of waits */
	int cap;            /* >= attached + XP_FIRED_MOST */
	int *dirty;         /* descriptors with changes to write to the device */
	int dirty_len;
	int dirty_cap;      /* >= array.len */
	int results_most; /* most results that one call requests, smaller after EINVAL */
	int start;        /* index from which devpoll_await_masked reports, moved on for fairness */
	/* the current wait got as many results as it requested, so the device may have more */
	bool more;
};

extern const struct xp_array_ops xp_devpoll_array;

/*
 * Implementation of the back end's `attach`.  If fd is attached already, also has the next write
 * remove it from the device and add it again, because it may have been closed and reused.
 */
int xp_devpoll_attach(void *state, int fd, uint32_t watch, uint64_t token);
/*
 * Write the changes of the dirty descriptors to the device.  Returns 0 or a negative errno value.
 */
int xp_devpoll_write(struct devpoll_state *state);
/*
 * Call if the device has reported bits of fd that are not requested: makes the next write remove fd
 * from the device, and add the bits that are requested.
 */
void xp_devpoll_replace(struct devpoll_state *state, int fd);

#endif
