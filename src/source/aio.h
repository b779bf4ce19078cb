/*
 * Asynchronous I/O.  A job is an operation, which a worker (a thread of the library) or the kernel
 * does.  A port, one for each queue, collects the queue's completed jobs.
 *
 * The workers do the jobs of all queues of the process.  One lock guards the jobs; a thread that
 * holds a queue's lock may take it, but not the other way round.  No worker exists before the first
 * job.
 */
#ifndef XP_SOURCE_AIO_H
#define XP_SOURCE_AIO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xpoll.h>

#include "base/list.h"
#include "source/source.h"
#include "sys/sys_aio.h"
#include "sys/wakefd.h"

enum xp_aio_stage {
	XP_AIO_QUEUED,  /* no worker has taken the job yet */
	XP_AIO_RUNNING, /* in progress: the operation uses the descriptor and the buffer */
	XP_AIO_DONE,    /* complete: `result` is set */
};

/* A job.  [I] immutable once started, [w] guarded by the workers' lock, [a] atomic. */
struct xp_aio_job {
	/*
	 * [w] links the job into the list of queued jobs; while the job runs, for the provider's
	 * use; once complete, into its port's `done`
	 */
	struct xp_list item;
	/* [w] links the queued or running job into aio_work.unfinished */
	struct xp_list unfinished;
	/* [w] links a running job that is to be cancelled into aio_work.stop */
	struct xp_list stop;
	struct xp_aio_port *port; /* [I] */
	enum xp_aio_stage stage;  /* [w] */
	bool cancelled;           /* [w] cancellation was requested while the job ran */
	/* [w] bytes or a negative errno value; while the job runs, only its worker uses this */
	int64_t result;
	int op;                   /* [I] XPOLL_AIO_... */
	int fd;                   /* [I] the program's descriptor */
	/*
	 * [I] the descriptor that the operation uses: the duplicate of fd that `hold` has, or fd
	 * itself if `hold` is NULL
	 */
	int io_fd;
	struct xp_file_id file;   /* [I] the file that fd refers to */
	/*
	 * [w] the held file (aio_hold.h), with a duplicate of fd; NULL: only the program's fd keeps
	 * the file open
	 */
	struct xp_aio_hold *hold;
	void *buffer;             /* [I] */
	size_t length;            /* [I] */
	int64_t offset;           /* [I] */
};

/* The completed jobs of one queue.  The letters are those of struct xp_aio_job. */
struct xp_aio_port {
	struct xp_wakefd done_fd; /* [I] readable while there are completed jobs */
	uint32_t process;    /* [I] number (sys/process.h) of the process that opened the port */
	struct xp_list done; /* [w] completed jobs, until xp_aio_collect takes them */
	/* [a] 1: `done` is not empty, and done_fd is readable or a thread is about to signal it */
	atomic_uint filled;
	/*
	 * [a] number of threads that write to done_fd without the lock; xp_aio_close waits until
	 * this is 0
	 */
	atomic_uint signalling;
};

/*
 * Open a port.  Returns 0, -EMFILE ...; -ENOTSUP: $XPOLL_AIO names a provider that is not usable
 * here.
 */
int xp_aio_open(struct xp_aio_port *port);
/*
 * Cancel the jobs of a port, wait until they are complete, and close the port.  In a forked child,
 * which has no workers, only close its copies of descriptors.
 */
void xp_aio_close(struct xp_aio_port *port);

/*
 * Returns true if fd refers to a file that is held open for jobs on fd, and stores the file's
 * identity, usually by one system call.  Returns false if no such file is held, or if the system
 * cannot show whether fd refers to it.
 */
bool xp_aio_lookup_id(int fd, struct xp_file_id *id);
/*
 * Start a job.  Returns 0; -EAGAIN: no worker can be started; -EMFILE, -ENFILE: the file cannot be
 * held open; -ENOMEM.  The job's memory belongs to the caller, and must stay until the job is
 * complete.
 */
int xp_aio_start(struct xp_aio_port *port, struct xp_aio_job *job);
/*
 * Cancel a job.  A queued job completes at once, with -ECANCELED; a running job is only requested
 * to stop, and may still complete with its own result.  Harmless if the job is complete.
 */
void xp_aio_cancel(struct xp_aio_job *job);
/*
 * Move all completed jobs of a port to the list `jobs`.  readable: done_fd was reported as
 * readable, and is cleared even if there is no job, because a worker may signal done_fd after its
 * job was collected.
 */
void xp_aio_collect(struct xp_aio_port *port, struct xp_list *jobs, bool readable);
/* Cancel all jobs on a descriptor of the program and wait until they are complete. */
void xp_aio_release_fd(int fd);

/* Returns true if $XPOLL_AIO is not set, or names a provider that is usable here. */
bool xp_aio_usable(void);
/*
 * Initialise the process-wide data; called once in each process, also in a forked child, where no
 * worker exists.
 */
void xp_aio_init_process(void);

/*
 * Start the operation of a new registration, for xpoll_aio_submit.  Returns 0 or an error; after an
 * error the queue frees the registration.
 */
int xp_aio_submit(struct xpoll *queue, struct xp_registration *reg,
                  struct xpoll_aio *aio);
/*
 * Cancel a registration's operation, for xpoll_aio_cancel; harmless if the operation is complete.
 */
void xp_aio_cancel_registration(struct xp_registration *reg);

#endif
