/* xpoll.Queue: waiting. */
#include "queue_type.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>

enum {
	/* Events that fit on the stack, and twice as many records of descriptors. */
	STACK_EVENTS = 128,
	WAIT_EVENTS = 256,
};

/* Conversion of the library's records to objects */

/*
 * Returns true if the event is the completion of an operation on a file: its cell is one of
 * aio_submit.  A record with ERROR is the status of a change.
 */
static bool ends_operation(const struct xpy_cell *cell, const struct xpoll_event *event)
{
	return cell && cell->filter == XPOLL_FILT_AIO &&
		event->filter == XPOLL_FILT_AIO && !(event->flags & XPOLL_ERROR);
}

/*
 * Returns the object of an event; NULL without an exception: the registration was deleted
 * meanwhile.
 */
static PyObject *take_event(struct xpy_queue *self,
                            const struct xpoll_event *event)
{
	uint64_t token = event->udata64;
	struct xpy_cell *cell = xpy_cells_find(&self->cells, token);
	PyObject *udata = cell ? Py_NewRef(cell->udata) : NULL;
	PyObject *object;

	if (!cell && token && xpy_token_fd(token) < 0)
		return NULL;
	if (ends_operation(cell, event)) {
		PyObject *aio = udata;

		xpy_cells_drop(&self->cells, token);
		udata = xpy_aio_ended(aio, event->data);
		Py_DECREF(aio);
	}
	object = xpy_event_new(self->state, event, udata);
	Py_XDECREF(udata);
	return object;
}

static PyObject *take_events(struct xpy_queue *self,
                             const struct xpoll_event *events, int count)
{
	PyObject *list;
	int len = 0;

	xpy_taking_begin(&self->handle);
	list = PyList_New(count);
	for (int i = 0; list && i < count; i++) {
		PyObject *object = take_event(self, &events[i]);

		if (object)
			PyList_SetItem(list, len++, object);
		else if (PyErr_Occurred())
			Py_CLEAR(list);
	}
	xpy_taking_end(&self->handle);
	/* after the conversion of all events, because two may share a cell */
	for (int i = 0; i < count; i++)
		xpy_cells_delivered(&self->cells, &self->handle, events[i].udata64);
	if (list && len < count && PyList_SetSlice(list, len, count, NULL) < 0)
		Py_CLEAR(list);
	return list;
}

/* Append a ready descriptor.  Returns false with an exception. */
static bool append_ready(struct xpy_queue *self, PyObject *list, const struct xpoll_ready *ready)
{
	struct xpy_cell *cell = xpy_cells_find(&self->cells, ready->data64);
	PyObject *entry;
	bool done;

	/* its registration was deleted meanwhile */
	if (!cell && xpy_token_fd(ready->data64) < 0)
		return true;
	entry = Py_BuildValue("(iiN)", ready->fd, ready->events,
	                      Py_NewRef(cell ? cell->udata : Py_None));
	done = entry && PyList_Append(list, entry) == 0;
	Py_XDECREF(entry);
	return done;
}

static PyObject *take_ready(struct xpy_queue *self, const struct xpoll_ready *ready, int count)
{
	PyObject *list;

	xpy_taking_begin(&self->handle);
	list = PyList_New(0);
	for (int i = 0; list && i < count; i++)
		if (!append_ready(self, list, &ready[i]))
			Py_CLEAR(list);
	xpy_taking_end(&self->handle);
	for (int i = 0; i < count; i++)
		xpy_cells_delivered(&self->cells, &self->handle, ready[i].data64);
	return list;
}

/* --- Waiting, at either level ------------------------------------------------------ */

struct arguments {
	bool polls; /* the poll-like level: struct xpoll_ready; else struct xpoll_event */
	int64_t max_events;
	int64_t timeout_ns;
	sigset_t mask;
	bool masked;
};

/* Make one wait of the library.  Returns the number of records, or -1 with an exception. */
static int sleep_once(struct xpy_queue *self, void *records,
                      const struct arguments *arguments, int64_t timeout_ns)
{
	PyThreadState *thread = xpy_busy_begin(&self->handle);
	struct xpoll *queue = self->handle.queue;
	const sigset_t *mask = arguments->masked ? &arguments->mask : NULL;
	int most = (int)arguments->max_events;
	int count = arguments->polls ? xpoll_pwait(queue, records, most, timeout_ns, mask)
		: xpoll_event_mask(queue, NULL, 0, records, most, timeout_ns, mask);

	return xpy_wait_end(&self->handle, thread, count);
}

static PyObject *wait_with(struct xpy_queue *self, void *records,
                           const struct arguments *arguments)
{
	struct xpy_wait wait;
	int again;

	xpy_wait_start(&wait, arguments->timeout_ns);
	do {
		int count = sleep_once(self, records, arguments, wait.timeout_ns);
		PyObject *list;

		if (count < 0 && PyErr_Occurred())
			return NULL;
		/* 0: the timeout is over, or Queue.wake was called */
		if (count == 0)
			return PyList_New(0);
		if (count > 0) {
			list = arguments->polls ? take_ready(self, records, count)
				: take_events(self, records, count);
			if (!list || PyList_Size(list) > 0)
				return list;
			Py_DECREF(list);
		}
		again = xpy_wait_again(&self->handle, &wait);
	} while (again > 0);
	return again < 0 ? NULL : PyList_New(0);
}

static PyObject *wait_for_records(struct xpy_queue *self,
                                  const struct arguments *arguments)
{
	struct xpoll_event few[STACK_EVENTS];
	size_t size = arguments->polls ? sizeof(struct xpoll_ready) : sizeof(struct xpoll_event);
	void *many;
	PyObject *list;

	if ((size_t)arguments->max_events <= sizeof few / size)
		return wait_with(self, few, arguments);
	many = PyMem_Malloc((size_t)arguments->max_events * size);
	if (!many)
		return PyErr_NoMemory();
	list = wait_with(self, many, arguments);
	PyMem_Free(many);
	return list;
}

static int parse_mask(PyObject *signals, struct arguments *arguments)
{
	PyObject *fast;
	Py_ssize_t count;

	arguments->masked = signals && signals != Py_None;
	if (!arguments->masked)
		return 0;
	sigemptyset(&arguments->mask);
	fast = PySequence_Tuple(signals);
	count = fast ? PyTuple_Size(fast) : -1;
	for (Py_ssize_t i = 0; i < count; i++) {
		int64_t number;

		if (xpy_integer(PyTuple_GetItem(fast, i), "signal", 1, INT_MAX, 0,
		                &number) < 0) {
			count = -1;
		} else if (sigaddset(&arguments->mask, (int)number) < 0) {
			PyErr_Format(PyExc_ValueError, "no such signal: %lld",
			             (long long)number);
			count = -1;
		}
	}
	Py_XDECREF(fast);
	return count < 0 ? -1 : 0;
}

static int parse_wait(PyObject *max_events, int64_t fallback, int64_t least,
                      PyObject *timeout, PyObject *sigmask,
                      struct arguments *arguments)
{
	if (xpy_integer(max_events, "max_events", least, INT_MAX, fallback,
	                &arguments->max_events) < 0 ||
	    xpy_timeout(timeout, XPY_NEGATIVE_FAILS, &arguments->timeout_ns) < 0)
		return -1;
	return parse_mask(sigmask, arguments);
}

static const char *const wait_names[] = {"timeout", "max_events", "sigmask", NULL};

static PyObject *wait_at(PyObject *self, const struct xpy_call *call, bool polls,
                         PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
	struct arguments arguments = {.polls = polls};
	PyObject *values[3];

	if (xpy_arguments(call, args, nargs, kwnames, values) < 0 ||
	    parse_wait(values[1], WAIT_EVENTS, 1, values[0], values[2],
	               &arguments) < 0 ||
	    xpy_handle_check(&xpy_as_queue(self)->handle) < 0)
		return NULL;
	return wait_for_records(xpy_as_queue(self), &arguments);
}

PyObject *xpy_queue_wait(PyObject *self, PyObject *const *args,
                         Py_ssize_t nargs, PyObject *kwnames)
{
	static const struct xpy_call call = {"wait", wait_names, 0};

	return wait_at(self, &call, false, args, nargs, kwnames);
}

PyObject *xpy_queue_poll(PyObject *self, PyObject *const *args,
                         Py_ssize_t nargs, PyObject *kwnames)
{
	static const struct xpy_call call = {"poll", wait_names, 0};

	return wait_at(self, &call, true, args, nargs, kwnames);
}

/* --- Changes and events in one call -------------------------------------------- */

/* Returns a tuple of Events, or NULL with an exception. */
static PyObject *parse_changes(struct xpy_queue *self, PyObject *changes,
                               int64_t max_events)
{
	PyObject *tuple = !changes || changes == Py_None ? PyTuple_New(0)
		: PySequence_Tuple(changes);
	Py_ssize_t count = tuple ? PyTuple_Size(tuple) : 0;
	int64_t receipts = 0;

	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *item = PyTuple_GetItem(tuple, i);

		if (!PyObject_TypeCheck(item, self->state->event_type)) {
			PyErr_Format(PyExc_TypeError, "changes[%zd] is not an xpoll.Event",
			             i);
			Py_CLEAR(tuple);
			break;
		}
		/* checked before any change is applied */
		if (xpy_check_filter(((struct xpy_event *)item)->event.filter) < 0) {
			Py_CLEAR(tuple);
			break;
		}
		if (((struct xpy_event *)item)->event.flags & XPOLL_RECEIPT)
			receipts++;
	}
	if (tuple && receipts > max_events) {
		PyErr_SetString(PyExc_ValueError,
		                "max_events is less than the number of changes with RECEIPT");
		Py_CLEAR(tuple);
	}
	return tuple;
}

struct outcome {
	PyObject *statuses; /* a list of Events */
	int64_t room;       /* for statuses of changes without RECEIPT */
	int unreported;
};

static int report(struct xpy_queue *self, struct outcome *outcome,
                  const struct xpy_event *change, int error)
{
	struct xpoll_event status = change->event;
	PyObject *object;
	int rc;

	if (!error && !(status.flags & XPOLL_RECEIPT))
		return 0;
	if (!(status.flags & XPOLL_RECEIPT) && outcome->room-- <= 0) {
		if (!outcome->unreported)
			outcome->unreported = error;
		return 0;
	}
	status.flags = XPOLL_ERROR;
	status.data = error;
	object = xpy_event_new(self->state, &status, change->udata);
	rc = object ? PyList_Append(outcome->statuses, object) : -1;
	Py_XDECREF(object);
	return rc;
}

/* Apply the changes.  Returns the statuses, or NULL with an exception. */
static PyObject *apply(struct xpy_queue *self, PyObject *changes,
                       int64_t max_events)
{
	struct outcome outcome = {PyList_New(0), max_events, 0};
	Py_ssize_t count = PyTuple_Size(changes);

	for (Py_ssize_t i = 0; i < count; i++)
		if (((struct xpy_event *)PyTuple_GetItem(changes, i))->event.flags &
		    XPOLL_RECEIPT)
			outcome.room--;
	for (Py_ssize_t i = 0; outcome.statuses && i < count; i++) {
		struct xpy_event *item =
			(struct xpy_event *)PyTuple_GetItem(changes, i);
		struct xpoll_event change = item->event;
		int error = xpy_change(self, &change, item->udata);

		if (error < 0 || report(self, &outcome, item, error) < 0)
			Py_CLEAR(outcome.statuses);
	}
	if (outcome.statuses && outcome.unreported) {
		Py_CLEAR(outcome.statuses);
		xpy_error(outcome.unreported);
	}
	return outcome.statuses;
}

PyObject *xpy_queue_control(PyObject *self, PyObject *const *args,
                            Py_ssize_t nargs, PyObject *kwnames)
{
	static const char *const names[] = {
		"changes", "max_events", "timeout", "sigmask", NULL,
	};
	static const struct xpy_call call = {"control", names, 1};
	struct xpy_queue *queue = xpy_as_queue(self);
	struct arguments arguments = {.polls = false};
	PyObject *values[4], *changes, *statuses;

	if (xpy_arguments(&call, args, nargs, kwnames, values) < 0 ||
	    parse_wait(values[1], 0, 0, values[2], values[3], &arguments) < 0 ||
	    xpy_handle_check(&queue->handle) < 0)
		return NULL;
	changes = parse_changes(queue, values[0], arguments.max_events);
	statuses = changes ? apply(queue, changes, arguments.max_events) : NULL;
	Py_XDECREF(changes);
	if (!statuses || PyList_Size(statuses) > 0 || arguments.max_events == 0)
		return statuses;
	Py_DECREF(statuses);
	if (xpy_handle_check(&queue->handle) < 0)
		return NULL;
	return wait_for_records(queue, &arguments);
}
