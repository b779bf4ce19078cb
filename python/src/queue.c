/* xpoll.Queue: the type, and methods that neither change nor wait. */
#include "queue_type.h"

#include <errno.h>
#include <stddef.h>

#include <xpy_names.h>

/*
 * Destroys the queue when the garbage collector has found both unreachable.
 *
 * The collector finalizes all objects that it has found before it clears the first, and clearing a
 * memoryview releases its buffer even if an operation uses it.  So the guard, to which only its
 * queue refers and which is therefore found with it, ends the operations when it is finalized.  A
 * finalizer of the queue itself would not do, because a subclass may have a __del__.
 */
struct guard {
	PyObject_HEAD
	struct xpy_queue *queue; /* NULL: the queue is gone */
};

static void guard_finalize(PyObject *self)
{
	struct xpy_queue *queue = ((struct guard *)self)->queue;

	if (queue)
		xpy_handle_fini(&queue->handle);
}

static int guard_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	return 0;
}

static void guard_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	PyObject_GC_Del(self);
	Py_DECREF(type);
}

static PyType_Slot guard_slots[] = {
	{Py_tp_finalize, XPY_SLOT(guard_finalize)},
	{Py_tp_traverse, XPY_SLOT(guard_traverse)},
	{Py_tp_dealloc, XPY_SLOT(guard_dealloc)},
	{0, NULL},
};

PyType_Spec xpy_guard_spec = {
	.name = "xpoll._xpoll._Guard",
	.basicsize = sizeof(struct guard),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
		Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = guard_slots,
};

static void queue_destroyed(struct xpy_handle *handle)
{
	struct xpy_queue *self = (struct xpy_queue *)
		((char *)handle - offsetof(struct xpy_queue, handle));

	xpy_cells_clear(&self->cells);
}

static PyObject *queue_create(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static const char *const names[] = {"backend", "size_hint", "flags", "busy_poll_us",
	                                    NULL};
	struct xpoll_options options = {.size = sizeof options};
	PyObject *number = NULL;
	PyObject *busy = NULL;
	long long size_hint = 0;
	struct xpy_state *state;
	struct xpy_queue *self;
	PyObject *guard;
	int64_t flags, busy_poll_us;

	if (!xpy_parse(args, kwargs, "|zLOO:Queue", names, &options.backend, &size_hint,
	               &number, &busy) ||
	    xpy_integer(number, "flags", 0, UINT32_MAX, 0, &flags) < 0 ||
	    xpy_integer(busy, "busy_poll_us", 0, INT32_MAX, 0, &busy_poll_us) < 0)
		return NULL;
	options.flags = (uint32_t)flags;
	options.busy_poll_us = (uint32_t)busy_poll_us;
	state = xpy_state_of(type);
	guard = state ? PyType_GenericAlloc(state->guard_type, 0) : NULL;
	self = guard ? xpy_as_queue(PyType_GenericAlloc(type, 0)) : NULL;
	if (!self) {
		Py_XDECREF(guard);
		return NULL;
	}
	self->guard = guard;
	((struct guard *)guard)->queue = self;
	self->handle.destroyed = queue_destroyed;
	self->state = state;
	if (xpy_handle_open(&self->handle, &options, size_hint) < 0)
		Py_CLEAR(self);
	return (PyObject *)self;
}

static int queue_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(xpy_as_queue(self)->guard);
	return xpy_cells_visit(&xpy_as_queue(self)->cells, visit, arg);
}

/* Close the queue first: operations in progress use the buffers in the cells. */
static int queue_clear(PyObject *self)
{
	xpy_handle_fini(&xpy_as_queue(self)->handle);
	xpy_cells_clear(&xpy_as_queue(self)->cells);
	return 0;
}

static void queue_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	queue_clear(self);
	if (xpy_as_queue(self)->guard)
		((struct guard *)xpy_as_queue(self)->guard)->queue = NULL;
	Py_CLEAR(xpy_as_queue(self)->guard);
	PyObject_GC_Del(self);
	Py_DECREF(type);
}

static PyObject *queue_repr(PyObject *self)
{
	struct xpy_handle *handle = &xpy_as_queue(self)->handle;

	if (!handle->queue || handle->closing)
		return PyUnicode_FromString("<xpoll.Queue closed>");
	return PyUnicode_FromFormat("<xpoll.Queue backend='%s'>",
	                            xpoll_backend(handle->queue));
}

/* Returns the library's queue, or NULL with ValueError. */
static struct xpoll *open_queue(PyObject *self)
{
	struct xpy_handle *handle = &xpy_as_queue(self)->handle;

	return xpy_handle_check(handle) < 0 ? NULL : handle->queue;
}

/* Returns None, or raises OSError if rc is -1. */
static PyObject *none_or_error(int rc)
{
	if (rc < 0)
		return PyErr_SetFromErrno(PyExc_OSError);
	Py_RETURN_NONE;
}

static PyObject *queue_close(PyObject *self, PyObject *unused)
{
	(void)unused;
	xpy_handle_close(&xpy_as_queue(self)->handle);
	Py_RETURN_NONE;
}

static PyObject *queue_enter(PyObject *self, PyObject *unused)
{
	(void)unused;
	return open_queue(self) ? Py_NewRef(self) : NULL;
}

static PyObject *queue_exit(PyObject *self, PyObject *args)
{
	return queue_close(self, args);
}

static PyObject *queue_fileno(PyObject *self, PyObject *unused)
{
	struct xpoll *queue = open_queue(self);
	int fd = queue ? xpoll_fd(queue) : -1;

	(void)unused;
	if (!queue)
		return NULL;
	return fd < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(fd);
}

static PyObject *queue_wake(PyObject *self, PyObject *unused)
{
	struct xpoll *queue = open_queue(self);

	(void)unused;
	return queue ? none_or_error(xpoll_wake(queue)) : NULL;
}

static PyObject *queue_wake_all(PyObject *self, PyObject *unused)
{
	struct xpoll *queue = open_queue(self);

	(void)unused;
	return queue ? none_or_error(xpoll_wake_all(queue)) : NULL;
}

static PyObject *queue_reinit(PyObject *self, PyObject *unused)
{
	struct xpy_queue *queue = xpy_as_queue(self);

	(void)unused;
	if (xpy_handle_reinit(&queue->handle) < 0)
		return NULL;
	xpy_cells_drop_filter(&queue->cells, XPOLL_FILT_AIO);
	xpy_cells_drop_filter(&queue->cells, XPOLL_FILT_PROC);
	Py_RETURN_NONE;
}

static PyObject *queue_next_timeout(PyObject *self, PyObject *unused)
{
	struct xpoll *queue = open_queue(self);
	int64_t ns;

	(void)unused;
	if (!queue)
		return NULL;
	errno = 0;
	ns = xpoll_next_timeout(queue);
	if (ns >= 0)
		return PyFloat_FromDouble((double)ns * 1e-9);
	return none_or_error(errno ? -1 : 0);
}

static PyObject *queue_supports(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static const char *const names[] = {"filter", "fflags", NULL};
	struct xpoll *queue;
	PyObject *notes = NULL;
	int64_t fflags;
	int filter;

	if (!xpy_parse(args, kwargs, "i|O:supports", names, &filter, &notes) ||
	    xpy_integer(notes, "fflags", 0, UINT32_MAX, 0, &fflags) < 0)
		return NULL;
	queue = open_queue(self); /* last, because an argument's __index__ may close it */
	if (!queue)
		return NULL;
	return PyBool_FromLong(xpoll_supports(queue, filter, (uint32_t)fflags));
}

static PyObject *queue_lookup(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static const char *const names[] = {"ident", "filter", NULL};
	struct xpy_queue *queue = xpy_as_queue(self);
	struct xpoll_event found;
	struct xpy_cell *cell;
	PyObject *object, *udata;
	uint64_t ident;
	int filter;

	if (!xpy_parse(args, kwargs, "Oi:lookup", names, &object, &filter) ||
	    xpy_ident(object, filter, &ident) < 0 ||
	    !open_queue(self)) /* last, because a fileno() may close it */
		return NULL;
	if (xpoll_lookup(queue->handle.queue, ident, filter, &found) < 0)
		return none_or_error(errno == ENOENT ? 0 : -1);
	cell = xpy_cells_find(&queue->cells, found.udata64);
	udata = Py_XNewRef(cell ? cell->udata : NULL);
	object = xpy_event_new(queue->state, &found, udata);
	Py_XDECREF(udata);
	return object;
}

static PyObject *queue_stats(PyObject *self, PyObject *unused)
{
	struct xpoll *queue = open_queue(self);
	struct xpoll_stats stats;
	PyObject *dict;

	(void)unused;
	if (!queue)
		return NULL;
	if (xpoll_stats(queue, &stats, sizeof stats) < 0)
		return PyErr_SetFromErrno(PyExc_OSError);
	dict = PyDict_New();
	for (int i = 0; dict && xpy_counters[i].name; i++) {
		const uint64_t *counter = (const uint64_t *)(const void *)
			((const char *)&stats + xpy_counters[i].offset);
		PyObject *value = PyLong_FromUnsignedLongLong(*counter);

		if (!value ||
		    PyDict_SetItemString(dict, xpy_counters[i].name, value) < 0)
			Py_CLEAR(dict);
		Py_XDECREF(value);
	}
	return dict;
}

static PyObject *queue_backend(PyObject *self, void *closure)
{
	struct xpoll *queue = open_queue(self);

	(void)closure;
	return queue ? PyUnicode_FromString(xpoll_backend(queue)) : NULL;
}

static PyObject *queue_closed(PyObject *self, void *closure)
{
	struct xpy_handle *handle = &xpy_as_queue(self)->handle;

	(void)closure;
	return PyBool_FromLong(!handle->queue || handle->closing);
}

XPY_LOCK_FAST(xpy_queue_control)
XPY_LOCK_FAST(xpy_queue_wait)
XPY_LOCK_FAST(xpy_queue_add)
XPY_LOCK_FAST(xpy_queue_delete)
XPY_LOCK_FAST(xpy_queue_enable)
XPY_LOCK_FAST(xpy_queue_disable)
XPY_LOCK_FAST(xpy_queue_trigger)
XPY_LOCK_FAST(xpy_queue_ctl)
XPY_LOCK_FAST(xpy_queue_register)
XPY_LOCK_FAST(xpy_queue_modify)
XPY_LOCK_FAST(xpy_queue_unregister)
XPY_LOCK_FAST(xpy_queue_poll)
XPY_LOCK_WORDS(xpy_queue_aio_submit)
XPY_LOCK_WORDS(queue_lookup)
XPY_LOCK_WORDS(queue_supports)
XPY_LOCK_ONE(xpy_queue_aio_cancel)
XPY_LOCK_ONE(queue_wake)
XPY_LOCK_ONE(queue_wake_all)
XPY_LOCK_ONE(queue_fileno)
XPY_LOCK_ONE(queue_next_timeout)
XPY_LOCK_ONE(queue_reinit)
XPY_LOCK_ONE(queue_stats)
XPY_LOCK_ONE(queue_close)
XPY_LOCK_ONE(queue_enter)
XPY_LOCK_ONE(queue_exit)
XPY_LOCK_GETTER(queue_backend)
XPY_LOCK_GETTER(queue_closed)
XPY_LOCK_SLOT(queue_repr)

static PyGetSetDef queue_getset[] = {
	{"backend", XPY_LOCKED(queue_backend), NULL, "The name of the back end.", NULL},
	{"closed", XPY_LOCKED(queue_closed), NULL, "Was close() called?", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

#define FAST METH_FASTCALL | METH_KEYWORDS
#define WORDS METH_VARARGS | METH_KEYWORDS

/* The docstrings are in queue_doc.h: they are the reference. */
#include "queue_doc.h"

static PyMethodDef queue_methods[] = {
	{"control", XPY_METHOD(XPY_LOCKED(xpy_queue_control)), FAST, control_doc},
	{"wait", XPY_METHOD(XPY_LOCKED(xpy_queue_wait)), FAST, wait_doc},
	{"add", XPY_METHOD(XPY_LOCKED(xpy_queue_add)), FAST, add_doc},
	{"delete", XPY_METHOD(XPY_LOCKED(xpy_queue_delete)), FAST, delete_doc},
	{"enable", XPY_METHOD(XPY_LOCKED(xpy_queue_enable)), FAST, enable_doc},
	{"disable", XPY_METHOD(XPY_LOCKED(xpy_queue_disable)), FAST, disable_doc},
	{"trigger", XPY_METHOD(XPY_LOCKED(xpy_queue_trigger)), FAST, trigger_doc},
	{"ctl", XPY_METHOD(XPY_LOCKED(xpy_queue_ctl)), FAST, ctl_doc},
	{"register", XPY_METHOD(XPY_LOCKED(xpy_queue_register)), FAST, register_doc},
	{"modify", XPY_METHOD(XPY_LOCKED(xpy_queue_modify)), FAST, modify_doc},
	{"unregister", XPY_METHOD(XPY_LOCKED(xpy_queue_unregister)), FAST, unregister_doc},
	{"poll", XPY_METHOD(XPY_LOCKED(xpy_queue_poll)), FAST, poll_doc},
	{"aio_submit", XPY_METHOD(XPY_LOCKED(xpy_queue_aio_submit)), WORDS, aio_submit_doc},
	{"aio_cancel", XPY_LOCKED(xpy_queue_aio_cancel), METH_O, aio_cancel_doc},
	{"lookup", XPY_METHOD(XPY_LOCKED(queue_lookup)), WORDS, lookup_doc},
	{"wake", XPY_LOCKED(queue_wake), METH_NOARGS, wake_doc},
	{"wake_all", XPY_LOCKED(queue_wake_all), METH_NOARGS, wake_all_doc},
	{"fileno", XPY_LOCKED(queue_fileno), METH_NOARGS, fileno_doc},
	{"next_timeout", XPY_LOCKED(queue_next_timeout), METH_NOARGS, next_timeout_doc},
	{"reinit", XPY_LOCKED(queue_reinit), METH_NOARGS, reinit_doc},
	{"supports", XPY_METHOD(XPY_LOCKED(queue_supports)), WORDS, supports_doc},
	{"stats", XPY_LOCKED(queue_stats), METH_NOARGS, stats_doc},
	{"close", XPY_LOCKED(queue_close), METH_NOARGS, close_doc},
	{"__enter__", XPY_LOCKED(queue_enter), METH_NOARGS, NULL},
	{"__exit__", XPY_LOCKED(queue_exit), METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot queue_slots[] = {
	{Py_tp_doc, XPY_DOC(queue_doc)},
	{Py_tp_new, XPY_SLOT(queue_create)},
	{Py_tp_dealloc, XPY_SLOT(queue_dealloc)},
	{Py_tp_traverse, XPY_SLOT(queue_traverse)},
	{Py_tp_clear, XPY_SLOT(queue_clear)},
	{Py_tp_repr, XPY_SLOT(XPY_LOCKED(queue_repr))},
	{Py_tp_methods, queue_methods},
	{Py_tp_getset, queue_getset},
	{0, NULL},
};

PyType_Spec xpy_queue_spec = {
	.name = "xpoll.Queue",
	.basicsize = sizeof(struct xpy_queue),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
	.slots = queue_slots,
};
