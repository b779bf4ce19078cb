/*
 * Asynchronous I/O: jobs, which threads of the library or the kernel do, and ports, one for each
 * queue, at which completed jobs are collected.
 *
 * The workers serve the whole process.  They have a lock of their own, which is taken after a
 * queue's.  No thread exists before the first job.
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
	XP_AIO_QUEUED,  /* not begun */
	XP_AIO_RUNNING, /* in progress: uses the descriptor and the buffer */
	XP_AIO_DONE,    /* complete: `result` is set */
};

/* A job.  [I] immutable once started, [w] guarded by the lock of the workers, [a] atomic. */
struct xp_aio_job {
	/* [w] links it into the queue of jobs, or into its port's `done` */
	struct xp_list item;
	struct xp_list unfinished; /* [w] links all jobs that are not complete */
	struct xp_list stop;      /* [w] links the running jobs to cancel */
	struct xp_aio_port *port; /* [I] */
	enum xp_aio_stage stage;  /* [w] */
	bool cancelled;           /* [w] */
	/* [w] bytes or a negative errno value; while it runs, owned by the thread */
	int64_t result;
	int op;                   /* [I] XPOLL_AIO_... */
	int fd;                   /* [I] the program's descriptor */
	/* [I] the descriptor to use: a duplicate that holds the file, or fd */
	int io_fd;
	struct xp_file_id file;   /* [I] */
	struct xp_aio_hold *hold; /* [w] holds the file open; NULL: not held */
	void *buffer;             /* [I] */
	size_t length;            /* [I] */
	int64_t offset;           /* [I] */
};

struct xp_aio_port {
	struct xp_wakefd done_fd; /* [I] readable while there are completed jobs */
	uint32_t process;    /* [I] the process that opened the port */
	struct xp_list done; /* [w] */
	atomic_uint filled;  /* [a] `done` is not empty, and done_fd is readable */
};

/*
 * Open a port.  Returns 0, -EMFILE ...; -ENOTSUP: $XPOLL_AIO names a provider that does not work.
 */
int xp_aio_open(struct xp_aio_port *port);
/*
 * Cancel the jobs of a port and wait until they are complete; in a forked child, where no thread
 * does them, only close its descriptors.
 */
void xp_aio_close(struct xp_aio_port *port);

/*
 * Returns true if fd refers to a file that jobs in progress hold, and stores its identity, by one
 * system call.  Returns false if not, or if that is unknown.
 */
bool xp_aio_knows(int fd, struct xp_file_id *id);
/*
 * Start a job.  Returns 0; -EAGAIN, -ENOMEM: no thread can be started; -EMFILE, -ENFILE: the file
 * cannot be held.  The caller owns the job's memory.
 */
int xp_aio_start(struct xp_aio_port *port, struct xp_aio_job *job);
void xp_aio_cancel(struct xp_aio_job *job);
/* Move all completed jobs to this list, which is empty. */
void xp_aio_collect(struct xp_aio_port *port, struct xp_list *jobs);
/* Cancel all jobs of a descriptor and wait until they are complete. */
void xp_aio_release_fd(int fd);

/* Returns true if a port can be opened. */
bool xp_aio_usable(void);
/* Initialise in a new process, in which no thread works. */
void xp_aio_begin(void);

/* Called by the queue for xpoll_aio_submit and xpoll_aio_cancel. */
int xp_aio_submit(struct xpoll *queue, struct xp_registration *reg,
                  struct xpoll_aio *aio);
void xp_aio_cancel_registration(struct xp_registration *reg);

#endif
