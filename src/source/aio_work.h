/* Between the work (aio_work.c) and those who do it. */
#ifndef XP_SOURCE_AIO_WORK_H
#define XP_SOURCE_AIO_WORK_H

#include "source/aio.h"

enum { XP_AIO_THREADS = 4 };

struct xp_aio_provider {
	const char *name; /* as in $XPOLL_AIO */
	int threads;      /* at most; <= XP_AIO_THREADS */
	/*
	 * In a thread of its own, without the lock: make what it needs of the
	 * kernel; work until xp_aio_next says to go; release it.  If `open`
	 * fails, threads that wait for the device take its place.
	 */
	int (*open)(void);
	void (*run)(void);
	void (*close)(void);
	/*
	 * There is something to do, and no thread waits in xp_aio_next: call one
	 * out of the kernel.  It is open, and the lock is held.  Optional.
	 */
	void (*call)(void);
	/*
	 * In a forked child: close the copies of what this process had open.
	 * Optional.  This and `usable` are called of a system's own (sys/system.h).
	 */
	void (*abandon)(uint32_t process);
	/* Would `open` succeed?  From any thread, at any time. */
	bool (*usable)(void);
};

/*
 * The next job, now running; NULL: none.  With `patient` it waits for one, and
 * NULL means that this thread has to end: there was nothing for a while, or
 * there is nothing more to come.
 */
struct xp_aio_job *xp_aio_next(bool patient);
/* A running job that should be stopped if it can be, or NULL; returned once. */
struct xp_aio_job *xp_aio_next_stop(void);
/* Do it here, and wait for the device. */
int64_t xp_aio_perform(const struct xp_aio_job *job);
/*
 * The jobs of this list, whose results are set, are over: the list is empty, and they are
 * another's from now on.  looks: xp_aio_next comes next.
 */
void xp_aio_done(struct xp_list *jobs, bool looks);

#endif
