/*
 * A model of /dev/poll in user space, for tests.  It takes the place of open(2),
 * write(2) and ioctl(2) for that device; device.c says how it behaves.  This is
 * for tests that ask it, or have it behave otherwise.
 */
#ifndef MODEL_DEVPOLL_MODEL_H
#define MODEL_DEVPOLL_MODEL_H

/* From now on opening the device fails so; 0: it does not. */
void devpoll_refuse(int error);
/* From now on it takes writes, and knows no request of ioctl(2). */
void devpoll_be_deaf(int deaf);
/* Once, after so many waits more, one fails so. */
void devpoll_fail(unsigned waits, int error);

/* The device that was opened last. */
int devpoll_latest(void);

/* Calls so far, of all devices. */
struct devpoll_calls {
	unsigned writes;
	unsigned records; /* in them */
	unsigned refused; /* writes and waits that were too long */
	unsigned polls;   /* DP_POLL */
	unsigned asleep;  /* threads in it, now */
};

struct devpoll_calls devpoll_calls(void);

#endif
