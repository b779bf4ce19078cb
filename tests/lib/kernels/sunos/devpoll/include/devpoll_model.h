/*
 * Controls the model of /dev/poll, which runs in user space for tests and replaces open(2),
 * write(2) and ioctl(2) for that device; the head of device.c describes its behaviour.
 */
#ifndef MODEL_DEVPOLL_MODEL_H
#define MODEL_DEVPOLL_MODEL_H

/* Let open(2) of the device fail with this error from now on; 0: succeed. */
void devpoll_refuse(int error);
/*
 * deaf: let the device accept writes, and fail every ioctl(2), as another driver of this name
 * would.
 */
void devpoll_be_deaf(int deaf);
/* Let one DP_POLL fail with this error, after `waits` more that do not. */
void devpoll_fail(unsigned waits, int error);

/* Returns the descriptor of the device that was opened last. */
int devpoll_latest(void);

/* Numbers of calls so far, of all devices together. */
struct devpoll_calls {
	unsigned writes;
	unsigned records; /* records in these writes */
	unsigned refused; /* writes and waits that failed because they had too many records */
	unsigned polls;   /* calls of DP_POLL */
	unsigned asleep;  /* threads that are asleep in DP_POLL now */
};

struct devpoll_calls devpoll_calls(void);

#endif
