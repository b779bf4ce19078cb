/* Asynchronous I/O by a few threads that wait for the device. */
#include "source/provider/aio_threads.h"

#include <errno.h>

#include "base/assert.h"
#include "os/sys_aio.h"
#include "source/provider/aio_work.h"

int64_t xp_aio_perform(const struct xp_aio_job *job)
{
	XP_ASSERT(job->stage == XP_AIO_RUNNING);
	switch (job->op) {
	case XPOLL_AIO_READ:
		return xp_sys_pread(job->io_fd, job->buffer, job->length,
		                    job->offset);
	case XPOLL_AIO_WRITE:
		return xp_sys_pwrite(job->io_fd, job->buffer, job->length,
		                     job->offset);
	case XPOLL_AIO_FSYNC:
		return xp_sys_fsync(job->io_fd);
	case XPOLL_AIO_FDATASYNC:
		return xp_sys_fdatasync(job->io_fd);
	default:
		return -EINVAL;
	}
}

static void threads_run(void)
{
	struct xp_aio_job *job;

	while ((job = xp_aio_next(true)))
		xp_aio_done(job, xp_aio_perform(job));
}

const struct xp_aio_provider xp_aio_threads = {
	.name = "threads",
	.threads = XP_AIO_THREADS,
	.run = threads_run,
};
