/* The interface between the queue of jobs (aio_work.c) and the providers that do them. */
#ifndef XP_SOURCE_AIO_WORK_H
#define XP_SOURCE_AIO_WORK_H

#include "source/aio.h"

enum { XP_AIO_THREADS = 4 };

struct xp_aio_provider {
	const char *name; /* its name in $XPOLL_AIO */
	int threads;      /* most threads; at most XP_AIO_THREADS */
	/*
	 * Called in a thread of its own, without the lock: open the provider; do jobs until
	 * xp_aio_next returns NULL; close it.  If opening fails, threads that wait for the device
	 * are used instead.
	 */
	int (*open)(void);
	void (*run)(void);
	void (*close)(void);
	/*
	 * There is a job or a cancellation, and no thread waits in xp_aio_next: make one leave the
	 * kernel.  Called while the provider is open, with the lock.  Optional.
	 */
	void (*call)(void);
	/*
	 * In a forked child: close the descriptors that this process had opened.  Optional.  This
	 * and `usable` are called for the system's own provider (sys/system.h).
	 */
	void (*abandon)(uint32_t process);
	/* Returns true if `open` would succeed.  Any thread may call it at any time. */
	bool (*usable)(void);
};

/*
 * Returns the next job, which is running now; NULL: none.  With `patient` it waits for one, and
 * NULL means that this thread has to exit: there was no job for a while, or there will be none.
 */
struct xp_aio_job *xp_aio_next(bool patient);
/* Returns a running job that should be cancelled, or NULL; each job once. */
struct xp_aio_job *xp_aio_next_stop(void);
/* Do a job in this thread, waiting for the device.  Returns its result. */
int64_t xp_aio_perform(const struct xp_aio_job *job);
/*
 * Complete the jobs of this list, whose results are set.  Afterwards the list is empty, and the
 * jobs belong to their ports.  looks: the caller calls xp_aio_next next.
 */
void xp_aio_done(struct xp_list *jobs, bool looks);

#endif
