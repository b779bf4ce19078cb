/*
 * Asynchronous I/O: jobs, done by threads of the library or by the kernel, and
 * ports at which they are handed back, one for each queue.
 *
 * What does the work is one for the whole process, with a lock of its own
 * that is taken after a queue's.  No thread is there before the first job.
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
	XP_AIO_QUEUED,  /* nobody has begun */
	XP_AIO_RUNNING, /* it uses the descriptor and the buffer */
	XP_AIO_DONE,    /* it has a result */
};

/* [I] immutable once started, [w] guarded by the lock of the work, [a] atomic. */
struct xp_aio_job {
	struct xp_list item;      /* [w] queued; done, in its port's list */
	struct xp_list unfinished; /* [w] among all that are not done */
	struct xp_list stop;      /* [w] running, and to be stopped */
	struct xp_aio_port *port; /* [I] */
	enum xp_aio_stage stage;  /* [w] */
	bool cancelled;           /* [w] */
	int64_t result;           /* [w] bytes or a negative errno value; [t] while it runs */
	int op;                   /* [I] XPOLL_AIO_... */
	int fd;                   /* [I] that the program gave */
	int io_fd;                /* [I] that is used: of the file held, or fd */
	struct xp_file_id file;   /* [I] */
	struct xp_aio_hold *hold; /* [w] NULL: none */
	void *buffer;             /* [I] */
	size_t length;            /* [I] */
	int64_t offset;           /* [I] */
};

struct xp_aio_port {
	struct xp_wakefd done_fd; /* [I] while jobs are done */
	uint32_t process;    /* [I] that opened it */
	struct xp_list done; /* [w] */
	atomic_uint filled;  /* [a] there are some in `done`, and done_fd is readable */
};

/* 0, -EMFILE ..., -ENOTSUP: $XPOLL_AIO names what cannot be used. */
int xp_aio_open(struct xp_aio_port *port);
/*
 * Cancel its jobs and wait for their end; in a forked child, where nobody
 * works on them, only close what is open.
 */
void xp_aio_close(struct xp_aio_port *port);

/*
 * Is fd of a file that jobs in flight hold?  Then *id is what is known of it: to ask that is
 * one system call.  False: or the system does not say.
 */
bool xp_aio_knows(int fd, struct xp_file_id *id);
/*
 * 0; -EAGAIN, -ENOMEM: no thread can be started; -EMFILE, -ENFILE: the file
 * cannot be held.  The job is the caller's.
 */
int xp_aio_start(struct xp_aio_port *port, struct xp_aio_job *job);
void xp_aio_cancel(struct xp_aio_job *job);
/* Move all jobs that are done to this list, which is empty. */
void xp_aio_collect(struct xp_aio_port *port, struct xp_list *jobs);
/* Cancel all jobs of a descriptor and wait for their end. */
void xp_aio_release_fd(int fd);

/* Can a port be opened? */
bool xp_aio_usable(void);
/* A process begins: nobody works here. */
void xp_aio_begin(void);

/* The queue's side: for xpoll_aio_submit and xpoll_aio_cancel. */
int xp_aio_submit(struct xpoll *queue, struct xp_registration *reg,
                  struct xpoll_aio *aio);
void xp_aio_cancel_registration(struct xp_registration *reg);

#endif
