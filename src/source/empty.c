/*
 * EMPTY: all data that was written to a socket or pipe has left its buffer.
 *
 * Most kernels do not report that, and EVFILT_EMPTY of FreeBSD is not used.  So a wait checks each
 * enabled descriptor with data in its buffer every 10 ms, and checks an empty one again before its
 * event is delivered.  A buffer that is filled and emptied between two checks goes unnoticed, so
 * XPOLL_CLEAR is not supported.
 */
#include <errno.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/compiler.h"
#include "source/source.h"
#include "sys/fdkind.h"
#include "sys/marks.h"
#include "sys/sys.h"

/* The interval between two checks of a buffer that is not empty. */
#define EMPTY_EVERY_NS (10 * XP_NS_PER_MS)

/* A registration of EMPTY: one socket or pipe. */
struct empty_registration {
	struct xp_registration reg;
	struct xp_list filled; /* links the registration into empty_state.filled */
	dev_t device;          /* device and inode number of the registered file */
	ino_t inode;
};

/* One per queue: the registrations of EMPTY whose buffer has to be checked again. */
struct empty_state {
	/* marks of the files that fstat(2) does not identify (sys/marks.h) */
	struct xp_marks marks;
	struct xp_list filled; /* enabled registrations whose buffer is not empty */
};

static struct empty_registration *empty_of(const struct xp_registration *reg)
{
	return XP_CONTAINER_OF((struct xp_registration *)(uintptr_t)reg,
	                       struct empty_registration, reg);
}

/* Returns the source's state in this queue; NULL before the first registration. */
static struct empty_state *empty_state(struct xpoll *queue)
{
	return *xp_host.state(queue, XP_SOURCE_EMPTY);
}

/* Make the state of this source in the queue, if there is none.  Returns 0 or an error. */
static int empty_state_make(struct xpoll *queue)
{
	struct empty_state *made;
	int rc;

	if (empty_state(queue))
		return 0;
	made = xp_zalloc(sizeof *made);
	if (!made)
		return -ENOMEM;
	rc = xp_marks_open(&made->marks);
	if (rc < 0) {
		xp_free(made);
		return rc;
	}
	xp_list_init(&made->filled);
	*xp_host.state(queue, XP_SOURCE_EMPTY) = made;
	return 0;
}

/*
 * Returns the number of written bytes that are still in the buffer of fd; -ENOTSUP: not a socket or
 * pipe, or the system does not return the number; -EBADF, -ENOMEM.
 */
static int64_t empty_bytes_left(int fd)
{
	int kind = xp_fd_kind(fd);
	int64_t left;

	if (kind < 0)
		return kind;
	if (kind != XP_KIND_SOCKET && kind != XP_KIND_FIFO)
		return -ENOTSUP;
	left = xp_sys_unsent(fd);
	return left < 0 ? -ENOTSUP : left;
}

/*
 * Record that `left` bytes are in the registration's buffer.  If `left` is 0, the registration
 * becomes active; otherwise, while the registration is enabled, empty_due checks the buffer again.
 */
static void empty_record(struct xpoll *queue, struct xp_registration *reg, int64_t left)
{
	struct empty_state *state = empty_state(queue);
	bool first = xp_list_empty(&state->filled);

	xp_list_remove(&empty_of(reg)->filled);
	if (left == 0) {
		xp_host.set_active(queue, reg, true);
		return;
	}
	xp_host.set_active(queue, reg, false);
	if (reg->flags & XPOLL_DISABLE)
		return;
	xp_list_append(&state->filled, &empty_of(reg)->filled);
	if (first)
		xp_host.set_due(queue, XP_SOURCE_EMPTY, xp_sys_now() + EMPTY_EVERY_NS);
}

/*
 * Check the registration's buffer now.  If the kernel returns an error, the buffer counts as empty,
 * so that there is an event.
 */
static void empty_check(struct xpoll *queue, struct xp_registration *reg)
{
	int64_t left = xp_sys_unsent((int)reg->item.ident);

	empty_record(queue, reg, left > 0 ? left : 0);
}

/*
 * Register a socket or pipe, and check its buffer.  Marks a file that fstat(2) does not identify.
 */
static int empty_attach(struct xpoll *queue, struct xp_registration *reg,
                        const struct xpoll_event *change)
{
	struct empty_registration *empty = empty_of(reg);
	struct stat status;
	int64_t left;
	int rc;

	if (change->ident > INT32_MAX)
		return -EBADF;
	if (change->flags & XPOLL_CLEAR)
		return -ENOTSUP;
	left = empty_bytes_left((int)change->ident);
	rc = left < 0 ? (int)left : xp_sys_fstat((int)change->ident, &status);
	if (rc == 0)
		rc = empty_state_make(queue);
	if (rc == 0 && xp_stat_lacks_identity(&status))
		rc = xp_marks_add(&empty_state(queue)->marks, (int)change->ident);
	if (rc < 0)
		return rc;
	empty->device = status.st_dev;
	empty->inode = status.st_ino;
	xp_list_init(&empty->filled);
	empty_record(queue, reg, left);
	return 0;
}

/* Returns 0 if the descriptor refers to the registered file; -EBADF: closed; -ENOENT: reused. */
static int empty_verify_ident(struct xpoll *queue, const struct xp_registration *reg, bool deliver)
{
	struct stat status;

	(void)deliver;
	if (xp_sys_fstat((int)reg->item.ident, &status) < 0)
		return -EBADF;
	if (empty_of(reg)->device != status.st_dev ||
	    empty_of(reg)->inode != status.st_ino)
		return -ENOENT;
	return !xp_stat_lacks_identity(&status) ||
		xp_marks_have(&empty_state(queue)->marks, (int)reg->item.ident)
		? 0 : -ENOENT;
}

/* An ADD of a registered descriptor checks the buffer again; other changes have no effect here. */
static int empty_touch(struct xpoll *queue, struct xp_registration *reg,
                       const struct xpoll_event *change)
{
	int rc;

	if (!(change->flags & XPOLL_ADD))
		return 0;
	if (change->flags & XPOLL_CLEAR)
		return -ENOTSUP;
	rc = empty_verify_ident(queue, reg, false);
	if (rc == 0)
		empty_check(queue, reg);
	return rc == -ENOENT ? -ESTALE : rc;
}

/* Check the buffer when a registration is enabled; stop checking it when it is disabled. */
static void empty_switched(struct xpoll *queue, struct xp_registration *reg)
{
	if (reg->flags & XPOLL_DISABLE)
		xp_list_remove(&empty_of(reg)->filled);
	else if (!reg->active)
		empty_check(queue, reg);
}

static void empty_detach(struct xpoll *queue, struct xp_registration *reg)
{
	const struct empty_registration *empty = empty_of(reg);

	xp_list_remove(&empty_of(reg)->filled);
	if (empty->device == 0 && empty->inode == 0)
		xp_marks_remove(&empty_state(queue)->marks, (int)reg->item.ident);
}

/* Check the buffer once more before the event is delivered. */
static int empty_collect(struct xpoll *queue, struct xp_registration *reg,
                         struct xpoll_event *event)
{
	int64_t left = xp_sys_unsent((int)reg->item.ident);

	/*
	 * The buffer was filled again: there is no event.  After an error (left < 0) deliver the
	 * event, because a later check would fail as well.
	 */
	if (left > 0) {
		empty_record(queue, reg, left);
		return -EAGAIN;
	}
	event->fflags = 0;
	event->data = 0;
	return 0;
}

/*
 * Check the buffers that were not empty at their last check, every EMPTY_EVERY_NS while there are
 * such buffers.
 */
static void empty_due(struct xpoll *queue, int64_t now_ns, int room)
{
	struct empty_state *state = empty_state(queue);
	struct xp_list *item = state->filled.next;

	(void)room;
	while (item != &state->filled) {
		struct empty_registration *empty =
			XP_CONTAINER_OF(item, struct empty_registration, filled);

		item = item->next;
		/*
		 * Treat an error like an empty buffer: empty_verify_ident, called before the
		 * delivery, detects a closed descriptor.
		 */
		if (xp_sys_unsent((int)empty->reg.item.ident) <= 0) {
			xp_list_remove(&empty->filled);
			xp_host.set_active(queue, &empty->reg, true);
		}
	}
	xp_host.set_due(queue, XP_SOURCE_EMPTY,
	                xp_list_empty(&state->filled)
	                ? XP_NEVER : now_ns + EMPTY_EVERY_NS);
}

static void empty_fini(struct xpoll *queue, void *state)
{
	struct empty_state *empty = state;

	(void)queue;
	if (empty)
		xp_marks_close(&empty->marks);
	xp_free(empty);
}

/* Register the descriptor again in a forked child, and check its buffer. */
static int empty_inherit(struct xpoll *queue, struct xp_registration *reg)
{
	int64_t left = xp_sys_unsent((int)reg->item.ident);
	int rc = left < 0 ? -EBADF : empty_state_make(queue);

	if (rc == 0 && empty_of(reg)->device == 0 && empty_of(reg)->inode == 0)
		rc = xp_marks_add(&empty_state(queue)->marks, (int)reg->item.ident);
	xp_list_init(&empty_of(reg)->filled);
	if (rc == 0)
		empty_record(queue, reg, left);
	return rc;
}

static bool empty_supports(uint32_t fflags)
{
	(void)fflags; /* this filter has no fflags */
	return xp_sys_unsent(-1) != -ENOTSUP;
}

const struct xp_source_ops xp_source_empty = {
	.filter = XPOLL_FILT_EMPTY,
	.id = XP_SOURCE_EMPTY,
	.of_fd = true,
	.name = "EMPTY",
	.size = sizeof(struct empty_registration),
	.attach = empty_attach,
	.touch = empty_touch,
	.detach = empty_detach,
	.collect = empty_collect,
	.verify_ident = empty_verify_ident,
	.switched = empty_switched,
	.supports = empty_supports,
	.due = empty_due,
	.fini = empty_fini,
	.inherit = empty_inherit,
};
