/*
 * AIO: asynchronous reads, writes and syncs of files.
 *
 * Each operation is a registration, which xpoll_aio_submit makes and the delivery of its event
 * ends.  A short read of data that is in the page cache is done by xpoll_aio_submit itself, because
 * passing it to a thread would take longer.
 */
#include "source/aio.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "sys/fdnum.h"
#include "sys/process.h"

enum {
	/*
	 * The longest read, in bytes, that xpoll_aio_submit does itself, while it holds the queue's
	 * lock.
	 */
	AIO_INLINE_READ_MAX = 64 << 10,
};

/* A registration of AIO: one operation. */
struct aio_registration {
	struct xp_registration reg;
	struct xpoll_aio *aio; /* the program's structure, which gets the result */
	struct xp_aio_job job; /* the operation, for the workers */
	struct xp_list item; /* links the registration into aio_state.regs */
};

/* The state of this source in a queue. */
struct aio_state {
	struct xp_source_fd watch; /* the port's descriptor, readable when jobs are complete */
	struct xp_aio_port port; /* collects completed jobs */
	struct xp_list regs;     /* all registrations of AIO in the queue */
};

static struct aio_registration *aio_registration(struct xp_registration *reg)
{
	return XP_CONTAINER_OF(reg, struct aio_registration, reg);
}

/*
 * Activate the registrations whose jobs are complete.  readable: the port's descriptor was reported
 * as readable.
 */
static void port_collect(struct xpoll *queue, struct aio_state *state, bool readable)
{
	struct xp_list done;
	struct xp_list *item;

	xp_list_init(&done);
	xp_aio_collect(&state->port, &done, readable);
	while ((item = xp_list_take(&done))) {
		struct aio_registration *self =
			XP_CONTAINER_OF(item, struct aio_registration, job.item);

		self->reg.data = self->job.result;
		xp_host.set_active(queue, &self->reg, true);
	}
}

static void port_ready(struct xpoll *queue, struct xp_source_fd *watch)
{
	port_collect(queue, XP_CONTAINER_OF(watch, struct aio_state, watch), true);
}

/*
 * Make the queue's state of AIO, with a port whose descriptor the queue watches.  Returns 0 or an
 * error.
 */
static int aio_open_state(struct xpoll *queue, struct aio_state **opened)
{
	struct aio_state *state = xp_zalloc(sizeof *state);
	int rc = state ? xp_aio_open(&state->port) : -ENOMEM;

	if (rc < 0)
		goto free_state;
	xp_list_init(&state->regs);
	state->watch.fd = state->port.done_fd.fd;
	state->watch.ready = port_ready;
	rc = xp_host.watch(queue, &state->watch);
	if (rc < 0)
		goto close_port;
	*opened = state;
	return 0;

close_port:
	xp_aio_close(&state->port);
free_state:
	xp_free(state);
	return rc;
}

/* --- Submitting ------------------------------------------------------------- */

/* Returns 0 if the program's structure is valid, otherwise -EINVAL. */
static int aio_check_operation(const struct xpoll_aio *aio)
{
	bool moves = aio->op == XPOLL_AIO_READ || aio->op == XPOLL_AIO_WRITE;
	const unsigned char *bytes = (const unsigned char *)aio;

	if (aio->size < sizeof *aio)
		return -EINVAL;
	/*
	 * A program compiled with a newer header passes a larger structure: fail if it has set a
	 * member that this library does not know.
	 */
	for (size_t i = sizeof *aio; i < aio->size; i++)
		if (bytes[i])
			return -EINVAL;
	if (!moves)
		return aio->op == XPOLL_AIO_FSYNC ||
			aio->op == XPOLL_AIO_FDATASYNC ? 0 : -EINVAL;
	if (aio->offset < 0 || aio->length > PTRDIFF_MAX ||
	    (aio->length > 0 && !aio->buffer))
		return -EINVAL;
	return 0;
}

/*
 * Returns 0 if a descriptor with these traits allows the operation; otherwise -EBADF, -ENOTSUP,
 * -EISDIR, or `traits` if that is an error.
 */
static int aio_check_descriptor(const struct xpoll_aio *aio, int traits)
{
	bool reads = aio->op == XPOLL_AIO_READ;
	bool writes = aio->op == XPOLL_AIO_WRITE;

	if (traits < 0)
		return traits;
	if ((reads && !(traits & XP_FILE_READABLE)) ||
	    (writes && !(traits & XP_FILE_WRITABLE)))
		return -EBADF;
	/*
	 * Refuse pipes, terminals and the like: a read could wait for ever, and could not be
	 * cancelled.
	 */
	if (traits & XP_FILE_OTHER)
		return -ENOTSUP;
	return traits & XP_FILE_DIRECTORY && reads ? -EISDIR : 0;
}

/*
 * Do a job that is a short read of data in the page cache.  Returns false if the job was not done.
 */
static bool aio_read_from_cache(struct xp_aio_job *job)
{
	if (job->op != XPOLL_AIO_READ || job->file.traits & XP_FILE_DIRECT ||
	    job->length > AIO_INLINE_READ_MAX)
		return false;
	job->result = xp_sys_read_cached(job->fd, job->buffer, job->length,
	                                 job->offset);
	job->stage = XP_AIO_DONE;
	return job->result >= 0;
}

int xp_aio_submit(struct xpoll *queue, struct xp_registration *reg,
                  struct xpoll_aio *aio)
{
	void **place = xp_host.state(queue, XP_SOURCE_AIO);
	struct aio_registration *self = aio_registration(reg);
	struct aio_state *state = *place;
	int rc = aio_check_operation(aio);
	bool known;

	if (rc == 0 && !state)
		rc = aio_open_state(queue, &state);
	if (rc < 0)
		return rc;
	*place = state;
	self->aio = aio;
	self->job = (struct xp_aio_job){
		.op = aio->op,
		.fd = xp_fd_of(aio->fd),
		.buffer = aio->buffer,
		.length = aio->length,
		.offset = aio->offset,
	};
	known = xp_aio_lookup_id(self->job.fd, &self->job.file);
	if (aio_read_from_cache(&self->job)) {
		reg->data = self->job.result;
		xp_host.set_active(queue, reg, true);
	} else {
		reg->data = -EINPROGRESS;
		rc = aio_check_descriptor(aio, known ? self->job.file.traits
		                          : xp_sys_file_traits(self->job.fd, &self->job.file));
		if (rc == 0)
			rc = xp_aio_start(&state->port, &self->job);
	}
	if (rc == 0)
		xp_list_append(&state->regs, &self->item);
	return rc;
}

void xp_aio_cancel_registration(struct xp_registration *reg)
{
	/* Do nothing for an active registration, whose operation is complete. */
	if (!reg->active)
		xp_aio_cancel(&aio_registration(reg)->job);
}

/* --- The source --------------------------------------------------------------- */

/* Refuse an ADD: only xpoll_aio_submit makes registrations. */
static int aio_refuse_attach(struct xpoll *queue, struct xp_registration *reg,
                             const struct xpoll_event *change)
{
	(void)queue, (void)reg, (void)change;
	return -EPERM;
}

static int aio_touch(struct xpoll *queue, struct xp_registration *reg,
                     const struct xpoll_event *change)
{
	(void)queue, (void)reg, (void)change;
	return 0;
}

/*
 * Before a change, collect the operations that have completed, because DELETE refuses an operation
 * that is in progress.
 */
static void aio_refresh(struct xpoll *queue, enum xp_step before)
{
	struct aio_state *state = *xp_host.state(queue, XP_SOURCE_AIO);

	if (before == XP_BEFORE_CHANGE)
		port_collect(queue, state, false);
}

/*
 * Returns -EBUSY, so that DELETE fails, while the operation uses the program's structure and
 * buffer.
 */
static int aio_verify_ident(struct xpoll *queue, const struct xp_registration *reg, bool deliver)
{
	(void)queue, (void)deliver;
	return reg->active ? 0 : -EBUSY;
}

static void aio_detach(struct xpoll *queue, struct xp_registration *reg)
{
	struct aio_registration *self = aio_registration(reg);

	(void)queue;
	XP_ASSERT(self->job.stage == XP_AIO_DONE);
	xp_list_remove(&self->item);
	self->aio->result = self->job.result;
}

static int aio_collect(struct xpoll *queue, struct xp_registration *reg,
                       struct xpoll_event *event)
{
	(void)queue;
	XP_ASSERT(aio_registration(reg)->job.stage == XP_AIO_DONE);
	event->fflags = 0;
	event->data = aio_registration(reg)->job.result;
	return 0;
}

static bool aio_supports(uint32_t fflags)
{
	return fflags == 0 && xp_aio_usable();
}

/*
 * Cancel all operations, wait until they are complete, store their results, and free the state.  In
 * a forked child there are no results, because the parent's workers do the operations.
 */
static void aio_fini(struct xpoll *queue, void *opaque)
{
	struct aio_state *state = opaque;
	bool ours = state->port.process == xp_process_number();

	(void)queue;
	xp_aio_close(&state->port);
	XP_LIST_EACH(struct aio_registration, self, &state->regs, item)
		if (ours)
			self->aio->result = self->job.result;
	xp_free(state);
}

static const struct xp_source_process aio_per_process = {
	.begin = xp_aio_init_process,
	.await_unused = xp_aio_release_fd,
};

const struct xp_source_ops xp_source_aio = {
	.filter = XPOLL_FILT_AIO,
	.id = XP_SOURCE_AIO,
	.name = "AIO",
	.implied = XPOLL_CLEAR | XPOLL_ONESHOT,
	.size = sizeof(struct aio_registration),
	.refresh = aio_refresh,
	.attach = aio_refuse_attach,
	.touch = aio_touch,
	.detach = aio_detach,
	.collect = aio_collect,
	.verify_ident = aio_verify_ident,
	.supports = aio_supports,
	.fini = aio_fini,
	.process = &aio_per_process,
};
