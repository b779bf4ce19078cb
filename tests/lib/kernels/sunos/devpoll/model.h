/*
 * A model of /dev/poll: declarations that device.c and poll.c share.  Functions are called with the
 * model's lock, unless they take it.
 */
#ifndef MODEL_KERNELS_DEVPOLL_MODEL_H
#define MODEL_KERNELS_DEVPOLL_MODEL_H

#include <devpoll_model.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct entry {
	short events;
	bool there; /* in the device's set */
	bool look;  /* the device has a reason to poll the file in the next DP_POLL: see device.c */
};

struct device {
	bool open;
	struct entry *entries; /* indexed by descriptor */
	pid_t owner;           /* the process that used the device first; 0: none */
	int end;               /* one more than the highest descriptor that was written */
	int start;             /* descriptor at which the next DP_POLL begins */
	int readers;           /* threads asleep in DP_POLL */
	int writers;           /* threads in write(2) that wait until no reader is asleep */
};

extern struct devpoll_calls dp_model_calls;

/* Take the lock with all signals blocked, because signal handlers may fork; and release both. */
void dp_model_enter(sigset_t *before);
void dp_model_leave(const sigset_t *before);
/* Take and release the lock alone, around a sleep. */
void dp_model_lock(void);
void dp_model_unlock(void);
/* Sleep until dp_model_moved is called: a reader or a writer has gone on. */
void dp_model_wait(void);
void dp_model_moved(void);

/*
 * Returns the device with this descriptor; NULL and errno: there is none, or another process owns
 * it.
 */
struct device *dp_model_device(int fd);
/* Returns true if ioctl(2) is to fail: see devpoll_be_deaf. */
bool dp_model_deaf(void);
/* Returns true if a call may not pass this many records: more than the limit of descriptors. */
bool dp_model_too_many(size_t count);

/*
 * Let the device notice changes of this file from now on.  Returns false if the file cannot be
 * polled.
 */
bool dp_model_heed(int device_fd, int fd, short events);

#endif
