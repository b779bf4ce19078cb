/*
 * A model of /dev/poll: what its two files share.  All with the model's lock.
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
	bool there; /* in the set */
	bool look;  /* there is a reason to */
};

struct device {
	bool open;
	struct entry *entries; /* by number */
	pid_t owner;           /* 0: nobody has used it */
	int end;               /* above all numbers that were written */
	int start;             /* where the next look begins */
	int readers;           /* asleep in DP_POLL */
	int writers;           /* that wait for the readers */
};

extern struct devpoll_calls dp_model_calls;

/* Handlers may fork, so no signal comes while the lock is held. */
void dp_model_enter(sigset_t *before);
void dp_model_leave(const sigset_t *before);
/* The lock alone, around a sleep. */
void dp_model_lock(void);
void dp_model_unlock(void);
/* Until a reader or a writer has moved. */
void dp_model_wait(void);
void dp_model_moved(void);

/* The device of a number, for this process; NULL and errno. */
struct device *dp_model_device(int fd);
/* It knows no request of ioctl(2). */
bool dp_model_deaf(void);
bool dp_model_too_many(size_t count);

/* From now on this file reports what happens; false: it never does. */
bool dp_model_heed(int device_fd, int fd, short events);

#endif
