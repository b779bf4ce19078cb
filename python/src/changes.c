/* xpoll.Queue: changes. */
#include "queue_type.h"

#include <errno.h>
#include <limits.h>

/*
 * Store the present registration that the change is for.  Returns true if there is one; false
 * without a lookup if no cell is in use and the change has no KEEPUDATA.
 */
static bool look_up(struct xpy_queue *self, const struct xpoll_event *change,
                    struct xpoll_event *found)
{
	*found = (struct xpoll_event){0};
	if (self->cells.used == 0 && !(change->flags & XPOLL_KEEPUDATA))
		return false;
	return xpoll_lookup(self->handle.queue, change->ident, change->filter,
	                    found) == 0;
}

/*
 * Returns the token for an ADD, which has reserved room for a cell.  If an existing registration is
 * modified, an event of it that is not converted yet must not be lost: so the cell stays, with a
 * new number.  The ADD of a descriptor checks the descriptor again anyway, so it gets a new cell.
 */
static uint64_t choose_token(struct xpy_queue *self, const struct xpoll_event *change,
                             const struct xpoll_event *found, PyObject *udata)
{
	bool descriptor = xpy_token_plain(0, change->filter);
	struct xpoll_event whole = *change;

	if (!udata || udata == Py_None)
		return xpy_token_plain(change->ident, change->filter);
	if (!descriptor && xpy_cells_find(&self->cells, found->udata64))
		return xpy_cells_renew(&self->cells, found->udata64);
	whole.flags |= found->flags; /* modes are added to those of the registration */
	return xpy_cells_make(&self->cells, &whole, false, udata);
}

/* Apply an ADD.  No Python code runs between the lookup and the change. */
static int change_add(struct xpy_queue *self, struct xpoll_event *change,
                      PyObject *udata)
{
	struct xpy_cells *cells = &self->cells;
	struct xpoll_event found;
	bool renewed;

	if (udata && udata != Py_None && xpy_cells_reserve(cells, &self->handle) < 0)
		return -1;
	if (look_up(self, change, &found) && change->flags & XPOLL_KEEPUDATA)
		change->udata64 = found.udata64;
	else
		change->udata64 = choose_token(self, change, &found, udata);
	renewed = xpy_cells_same(change->udata64, found.udata64);
	if (xpoll_event(self->handle.queue, change, 1, NULL, 0, 0) < 0) {
		int error = errno;

		if (!renewed)
			xpy_cells_drop(cells, change->udata64);
		return error;
	}
	if (renewed && change->udata64 != found.udata64)
		xpy_cells_renewed(cells, change->udata64, change, udata);
	else if (!renewed)
		xpy_cells_settle(cells, &self->handle, found.udata64);
	return 0;
}

static int change_delete(struct xpy_queue *self, struct xpoll_event *change)
{
	struct xpoll_event found;
	int error = 0;

	look_up(self, change, &found);
	if (xpoll_event(self->handle.queue, change, 1, NULL, 0, 0) < 0)
		error = errno;
	/*
	 * After an error, such as ENOENT, another thread may have the event of a one-shot
	 * registration: then keep the cell.
	 */
	if (!error || xpy_handle_idle(&self->handle))
		xpy_cells_settle(&self->cells, &self->handle, found.udata64);
	return error;
}

int xpy_check_filter(int filter)
{
	if (filter != XPOLL_FILT_AIO)
		return 0;
	PyErr_SetString(PyExc_ValueError,
	                "FILT_AIO is for no change: aio_submit starts an operation, and "
	                "aio_cancel ends it");
	return -1;
}

int xpy_change(struct xpy_queue *self, struct xpoll_event *change,
               PyObject *udata)
{
	/* Reject FILT_AIO: a change could free the cell that keeps an operation's buffer alive. */
	if (xpy_handle_check(&self->handle) < 0 || xpy_check_filter(change->filter) < 0)
		return -1;
	/* The library's udata are tokens of this module: the program must not set them. */
	if (change->flags & XPOLL_SETUDATA)
		return EINVAL;
	/* The result of this call is the receipt. */
	change->flags &= (uint16_t)~XPOLL_RECEIPT;
	if (change->flags & XPOLL_ADD)
		return change_add(self, change, udata);
	if (change->flags & XPOLL_DELETE)
		return change_delete(self, change);
	return xpoll_event(self->handle.queue, change, 1, NULL, 0, 0) < 0 ? errno
		: 0;
}

static PyObject *change_made(struct xpy_queue *self, struct xpoll_event *change,
                             PyObject *udata)
{
	int error = xpy_change(self, change, udata);

	if (error > 0)
		return xpy_error(error);
	return error < 0 ? NULL : Py_NewRef(Py_None);
}

static int parse_registration(PyObject *ident, PyObject *filter,
                              struct xpoll_event *change)
{
	int64_t number;
	uint64_t id;

	if (xpy_integer(filter, "filter", INT16_MIN, INT16_MAX, 0, &number) < 0 ||
	    xpy_ident(ident, (int)number, &id) < 0)
		return -1;
	xpoll_set(change, id, (int)number, 0, 0, 0, NULL);
	return 0;
}

PyObject *xpy_queue_add(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames)
{
	static const char *const names[] = {
		"ident", "filter", "flags", "fflags", "data", "udata", NULL,
	};
	static const struct xpy_call call = {"add", names, 2};
	struct xpoll_event change;
	int64_t flags, fflags;
	PyObject *values[6];

	if (xpy_arguments(&call, args, nargs, kwnames, values) < 0 ||
	    parse_registration(values[0], values[1], &change) < 0 ||
	    xpy_integer(values[2], "flags", 0, UINT16_MAX, 0, &flags) < 0 ||
	    xpy_integer(values[3], "fflags", 0, UINT32_MAX, 0, &fflags) < 0 ||
	    xpy_integer(values[4], "data", INT64_MIN, INT64_MAX, 0,
	                &change.data) < 0)
		return NULL;
	change.flags = (uint16_t)flags | XPOLL_ADD;
	change.fflags = (uint32_t)fflags;
	return change_made(xpy_as_queue(self), &change, values[5]);
}

/* Implements the methods whose only arguments name a registration. */
static PyObject *change_named(PyObject *self, const char *function,
                              PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames, uint16_t flags)
{
	static const char *const names[] = {"ident", "filter", NULL};
	struct xpy_call call = {function, names, 2};
	struct xpoll_event change;
	PyObject *values[2];

	if (xpy_arguments(&call, args, nargs, kwnames, values) < 0 ||
	    parse_registration(values[0], values[1], &change) < 0)
		return NULL;
	change.flags = flags;
	return change_made(xpy_as_queue(self), &change, NULL);
}

PyObject *xpy_queue_delete(PyObject *self, PyObject *const *args,
                           Py_ssize_t nargs, PyObject *kwnames)
{
	return change_named(self, "delete", args, nargs, kwnames, XPOLL_DELETE);
}

PyObject *xpy_queue_enable(PyObject *self, PyObject *const *args,
                           Py_ssize_t nargs, PyObject *kwnames)
{
	return change_named(self, "enable", args, nargs, kwnames, XPOLL_ENABLE);
}

PyObject *xpy_queue_disable(PyObject *self, PyObject *const *args,
                            Py_ssize_t nargs, PyObject *kwnames)
{
	return change_named(self, "disable", args, nargs, kwnames, XPOLL_DISABLE);
}

PyObject *xpy_queue_trigger(PyObject *self, PyObject *const *args,
                            Py_ssize_t nargs, PyObject *kwnames)
{
	static const char *const names[] = {"ident", "fflags", NULL};
	static const struct xpy_call call = {"trigger", names, 1};
	struct xpoll_event change;
	PyObject *values[2];
	int64_t fflags;
	uint64_t ident;

	if (xpy_arguments(&call, args, nargs, kwnames, values) < 0 ||
	    xpy_ident(values[0], XPOLL_FILT_USER, &ident) < 0 ||
	    xpy_integer(values[1], "fflags", 0, UINT32_MAX, 0, &fflags) < 0)
		return NULL;
	xpoll_set(&change, ident, XPOLL_FILT_USER, 0,
	          (uint32_t)fflags | XPOLL_NOTE_TRIGGER, 0, NULL);
	return change_made(xpy_as_queue(self), &change, NULL);
}

/* --- The poll-like level ----------------------------------------------------- */

enum { DIRECTIONS = 3 };

static const struct {
	int events;
	int filter;
} directions[DIRECTIONS] = {
	{POLLIN | POLLRDHUP, XPOLL_FILT_READ},
	{POLLOUT, XPOLL_FILT_WRITE},
	{POLLPRI, XPOLL_FILT_EXCEPT},
};

static int ctl(struct xpy_queue *self, int op, int events, int fd,
               PyObject *udata)
{
	struct xpoll_event change = {
		.ident = (uint64_t)fd,
		.filter = XPOLL_FILT_READ,
		.flags = (uint16_t)op,
	};
	struct xpoll_event found[DIRECTIONS] = {{0}};
	bool fresh = op & XPOLL_ADD && udata && udata != Py_None;
	struct xpoll_event whole = change;
	/* No bits mean READ for errors and hang-ups only. */
	int named = events ? events : POLLIN;
	int error = 0;

	if (xpy_handle_check(&self->handle) < 0 ||
	    (fresh && xpy_cells_reserve(&self->cells, &self->handle) < 0))
		return -1;
	/* No Python code runs from here to the change. */
	for (int i = 0; i < DIRECTIONS; i++) {
		change.filter = (int16_t)directions[i].filter;
		if (named & directions[i].events)
			look_up(self, &change, &found[i]);
		whole.flags |= found[i].flags;
	}
	change.udata64 = fresh ? xpy_cells_make(&self->cells, &whole, true, udata)
		: xpy_token_plain(change.ident, XPOLL_FILT_READ);
	if (xpoll_ctl(self->handle.queue, op, events, fd, change.udata) < 0)
		error = errno;
	if (error && fresh)
		xpy_cells_drop(&self->cells, change.udata64);
	/* With KEEPUDATA perhaps no direction has the new token: then free its cell. */
	else if (fresh && op & XPOLL_KEEPUDATA)
		xpy_cells_settle(&self->cells, &self->handle, change.udata64);
	for (int i = 0; i < DIRECTIONS && !error; i++)
		xpy_cells_settle(&self->cells, &self->handle, found[i].udata64);
	return error;
}

PyObject *xpy_queue_ctl(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames)
{
	static const char *const names[] = {"op", "events", "fd", "udata", NULL};
	static const struct xpy_call call = {"ctl", names, 3};
	PyObject *values[4];
	int64_t op, events;
	int fd, error;

	if (xpy_arguments(&call, args, nargs, kwnames, values) < 0 ||
	    xpy_integer(values[0], "op", 0, UINT16_MAX, 0, &op) < 0 ||
	    xpy_integer(values[1], "events", 0, INT_MAX, 0, &events) < 0 ||
	    xpy_handle_check(&xpy_as_queue(self)->handle) < 0)
		return NULL;
	fd = PyObject_AsFileDescriptor(values[2]);
	if (fd < 0)
		return NULL;
	error = ctl(xpy_as_queue(self), (int)op, (int)events, fd, values[3]);
	if (error > 0)
		return xpy_error(error);
	return error < 0 ? NULL : Py_NewRef(Py_None);
}

/* The interface of select.epoll */

/* epoll's bits, which need not be in a header here. */
#define EDGE_BIT    UINT32_C(0x80000000)
#define ONESHOT_BIT UINT32_C(0x40000000)

struct wanted {
	int fd;
	int events; /* directions */
	int modes;
};

static int parse_wanted(PyObject *fd, PyObject *mask, struct wanted *wanted)
{
	int64_t bits;

	if (xpy_integer(mask, "eventmask", 0, UINT32_MAX,
	                POLLIN | POLLPRI | POLLOUT, &bits) < 0)
		return -1;
	wanted->fd = PyObject_AsFileDescriptor(fd);
	if (wanted->fd < 0)
		return -1;
	wanted->modes = (bits & EDGE_BIT ? XPOLL_CLEAR : 0) |
		(bits & ONESHOT_BIT ? XPOLL_DISPATCH | XPOLL_WHOLE : 0);
	wanted->events = (int)(bits & ~(int64_t)(EDGE_BIT | ONESHOT_BIT));
	/* poll(2) always reports these */
	wanted->events &= ~(POLLERR | POLLHUP);
	return 0;
}

/* Returns the registered directions, their modes and a borrowed object. */
static int registered(struct xpy_queue *self, int fd, int *modes, PyObject **udata)
{
	int events = 0;

	*modes = 0;
	*udata = NULL;
	for (int i = 0; i < DIRECTIONS; i++) {
		struct xpoll_event found;
		struct xpy_cell *cell;

		if (xpoll_lookup(self->handle.queue, (uint64_t)fd,
		                 directions[i].filter, &found) < 0)
			continue;
		events |= directions[i].events;
		*modes |= found.flags & (XPOLL_CLEAR | XPOLL_DISPATCH);
		cell = xpy_cells_find(&self->cells, found.udata64);
		if (cell)
			*udata = cell->udata;
	}
	return events;
}

/*
 * Delete registered directions.  READ that eventmask 0 has registered, without any bits, ends only
 * by a DELETE without bits.  Returns 0, an errno value, or -1 with an exception.
 */
static int delete_directions(struct xpy_queue *self, int fd, int events)
{
	int error = ctl(self, XPOLL_DELETE, events, fd, NULL);
	int modes;
	PyObject *udata;

	/* If a destructor has closed the queue, all registrations have ended. */
	if ((error && error != ENOENT) || !self->handle.queue || self->handle.closing ||
	    !(events & registered(self, fd, &modes, &udata) & POLLIN))
		return error;
	return ctl(self, XPOLL_DELETE, 0, fd, NULL) == 0 ? 0 : error;
}

/* Apply the wanted directions.  Returns 0, an errno value, or -1 with an exception. */
static int change_wanted(struct xpy_queue *self, const struct wanted *wanted,
                         PyObject *udata, int before, int modes)
{
	int error, surplus;

	/*
	 * Only DELETE removes a mode such as CLEAR, or all bits of READ (eventmask 0): register all
	 * directions again.
	 */
	if (before && (modes & ~wanted->modes || !wanted->events)) {
		if (delete_directions(self, wanted->fd, before) < 0)
			return -1;
		before = 0;
	}
	/* eventmask 0 registers READ without bits, which reports errors and hang-ups. */
	error = ctl(self, XPOLL_ADD | wanted->modes, wanted->events, wanted->fd, udata);
	surplus = before & ~wanted->events;
	/* If a destructor has closed the queue, these directions have ended, too. */
	if (!error && surplus && self->handle.queue && !self->handle.closing)
		ctl(self, XPOLL_DELETE, surplus, wanted->fd, NULL);
	return error;
}

static PyObject *change_as_epoll(PyObject *object, const struct xpy_call *call,
                                 PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *kwnames, bool known)
{
	struct xpy_queue *self = xpy_as_queue(object);
	struct wanted wanted;
	PyObject *values[3], *udata;
	int before, modes, error;

	if (xpy_arguments(call, args, nargs, kwnames, values) < 0 ||
	    parse_wanted(values[0], values[1], &wanted) < 0 ||
	    xpy_handle_check(&self->handle) < 0)
		return NULL;
	before = registered(self, wanted.fd, &modes, &udata);
	if (known && !before)
		return xpy_error(ENOENT);
	udata = Py_XNewRef(values[2] || !known ? values[2] : udata);
	error = change_wanted(self, &wanted, udata, before, modes);
	Py_XDECREF(udata);
	if (error > 0)
		return xpy_error(error);
	return error < 0 ? NULL : Py_NewRef(Py_None);
}

static const char *const epoll_names[] = {"fd", "eventmask", "udata", NULL};

PyObject *xpy_queue_register(PyObject *self, PyObject *const *args,
                             Py_ssize_t nargs, PyObject *kwnames)
{
	static const struct xpy_call call = {"register", epoll_names, 1};

	return change_as_epoll(self, &call, args, nargs, kwnames, false);
}

PyObject *xpy_queue_modify(PyObject *self, PyObject *const *args,
                           Py_ssize_t nargs, PyObject *kwnames)
{
	static const struct xpy_call call = {"modify", epoll_names, 2};

	return change_as_epoll(self, &call, args, nargs, kwnames, true);
}

PyObject *xpy_queue_unregister(PyObject *self, PyObject *const *args,
                               Py_ssize_t nargs, PyObject *kwnames)
{
	static const char *const names[] = {"fd", NULL};
	static const struct xpy_call call = {"unregister", names, 1};
	struct xpy_queue *queue = xpy_as_queue(self);
	PyObject *fileobj, *udata;
	int fd, before, modes, error;

	if (xpy_arguments(&call, args, nargs, kwnames, &fileobj) < 0)
		return NULL;
	fd = PyObject_AsFileDescriptor(fileobj);
	if (fd < 0 || xpy_handle_check(&queue->handle) < 0)
		return NULL;
	before = registered(queue, fd, &modes, &udata);
	error = before ? delete_directions(queue, fd, before) : ENOENT;
	if (error > 0)
		return xpy_error(error);
	return error < 0 ? NULL : Py_NewRef(Py_None);
}
