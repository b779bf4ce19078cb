/*
 * The interface between the list of queued jobs (aio_work.c) and the providers, which do the jobs.
 */
#ifndef XP_SOURCE_AIO_WORK_H
#define XP_SOURCE_AIO_WORK_H

#include <errno.h>

#include "base/assert.h"
#include "source/aio.h"
#include "sys/sys.h"

enum { XP_AIO_THREADS = 4 };

struct xp_aio_provider {
	const char *name; /* the value of $XPOLL_AIO that selects this provider */
	int threads;      /* how many threads may call `run` at once; at most XP_AIO_THREADS */
	/*
	 * Called one after the other in each thread of the provider, without the lock.  `open`
	 * prepares; `run` does jobs until xp_aio_next returns NULL; `close` undoes `open`.  If
	 * `open` fails, the thread makes blocking calls instead (aio_threads).  `open` and `close`
	 * are optional.
	 */
	int (*open)(void);
	void (*run)(void);
	void (*close)(void);
	/*
	 * Called when a job was queued that no waiting thread takes, when a running job is to be
	 * cancelled, and when the threads have to exit: makes a thread of the provider return from
	 * its system call.  The lock is held, and the provider is open.  Optional.
	 */
	void (*call)(void);
	/*
	 * In a forked child: close the copies of descriptors that the provider opened in the
	 * process with this number (sys/process.h).  Optional.  Called, like `usable`, only for the
	 * provider of the system, xp_system.aio.
	 */
	void (*close_forked)(uint32_t process);
	/* Returns true if `open` would succeed.  Any thread may call it at any time. */
	bool (*usable)(void);
};

/*
 * Returns a queued job, whose stage becomes XP_AIO_RUNNING; NULL: there is none.  patient: wait for
 * a job; then NULL means that the calling thread has to exit, because there was no job for a while,
 * or because the last port was closed.
 */
struct xp_aio_job *xp_aio_next(bool patient);
/* Returns a running job to cancel, each job once; NULL: there is none. */
struct xp_aio_job *xp_aio_next_stop(void);
/* Do a running job by a blocking system call.  Returns its result. */
static inline int64_t xp_aio_perform(const struct xp_aio_job *job)
{
	XP_ASSERT(job->stage == XP_AIO_RUNNING);
	switch (job->op) {
	case XPOLL_AIO_READ:
		return xp_sys_pread(job->io_fd, job->buffer, job->length, job->offset);
	case XPOLL_AIO_WRITE:
		return xp_sys_pwrite(job->io_fd, job->buffer, job->length, job->offset);
	case XPOLL_AIO_FSYNC:
		return xp_sys_fsync(job->io_fd);
	case XPOLL_AIO_FDATASYNC:
		return xp_sys_fdatasync(job->io_fd);
	default:
		return -EINVAL;
	}
}
/*
 * Complete the jobs of this list, whose results are set: move each to its port, so that the list
 * becomes empty.  asks_again: the calling thread will call xp_aio_next before it sleeps; until then
 * no new job needs a system call (`call`) to wake the thread.
 */
void xp_aio_complete_jobs(struct xp_list *jobs, bool asks_again);

#endif
