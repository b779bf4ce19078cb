/* The selector's registrations and their keys. */
#include "selector_type.h"

#include <errno.h>
#include <limits.h>

/* Indexes of the fields of a SelectorKey. */
enum {
	KEY_FILEOBJ = 0,
	KEY_FD = 1,
	KEY_EVENTS = 2,
	KEY_DATA = 3,
};

/* --- File objects and keys -------------------------------------------------- */

/* Returns int(fileobj.fileno()); raises ValueError if there is no such method. */
static PyObject *call_fileno(PyObject *fileobj)
{
	PyObject *number = PyObject_CallMethod(fileobj, "fileno", NULL);
	PyObject *whole = number ? PyNumber_Long(number) : NULL;

	Py_XDECREF(number);
	if (!whole && (PyErr_ExceptionMatches(PyExc_AttributeError) ||
	               PyErr_ExceptionMatches(PyExc_TypeError) ||
	               PyErr_ExceptionMatches(PyExc_ValueError))) {
		PyErr_Clear();
		PyErr_Format(PyExc_ValueError, "Invalid file object: %R", fileobj);
	}
	return whole;
}

/* Returns the descriptor of a file object; -1: it has none, or an exception is set. */
static int quick_fileno(PyObject *fileobj)
{
	int fd = PyObject_AsFileDescriptor(fileobj);

	/* Clear these: the caller raises the exceptions of the module selectors in their place. */
	if (fd < 0 && (PyErr_ExceptionMatches(PyExc_TypeError) ||
	               PyErr_ExceptionMatches(PyExc_ValueError) ||
	               PyErr_ExceptionMatches(PyExc_OverflowError)))
		PyErr_Clear();
	return fd;
}

static int fileobj_to_fd(PyObject *fileobj)
{
	PyObject *number;
	long long fd = PyLong_Check(fileobj) ? -1 : quick_fileno(fileobj);
	int overflow;

	if (fd >= 0 || PyErr_Occurred())
		return (int)fd;
	number = PyLong_Check(fileobj) ? Py_NewRef(fileobj) : call_fileno(fileobj);
	if (!number)
		return -1;
	fd = PyLong_AsLongLongAndOverflow(number, &overflow);
	if (overflow || fd < 0 || fd > INT_MAX) {
		PyErr_Format(PyExc_ValueError, "Invalid file descriptor: %S", number);
		fd = -1;
	}
	Py_DECREF(number);
	return (int)fd;
}

/* Search all keys for a closed file object, which has no descriptor any more. */
static int search(struct xpy_selector *self, PyObject *fileobj)
{
	PyObject *fd, *key;
	Py_ssize_t position = 0;
	int found = -1;

	XPY_BEGIN(self->keys);
	while (found < 0 && PyDict_Next(self->keys, &position, &fd, &key))
		if (PyTuple_GetItem(key, KEY_FILEOBJ) == fileobj)
			found = (int)PyLong_AsLong(fd);
	XPY_END();
	return found;
}

static int find_fd(struct xpy_selector *self, PyObject *fileobj)
{
	int fd = fileobj_to_fd(fileobj);

	if (fd >= 0 || !PyErr_ExceptionMatches(PyExc_ValueError))
		return fd;
	fd = search(self, fileobj);
	if (fd >= 0)
		PyErr_Clear();
	return fd;
}

static PyObject *not_registered(PyObject *fileobj)
{
	PyObject *text = PyUnicode_FromFormat("%R is not registered", fileobj);

	if (text)
		PyErr_SetObject(PyExc_KeyError, text);
	Py_XDECREF(text);
	return NULL;
}

PyObject *xpy_selector_key(struct xpy_selector *self, int fd)
{
	PyObject *number = PyLong_FromLong(fd);
	PyObject *key = NULL;

	if (!number)
		return NULL;
#ifdef Py_GIL_DISABLED
	/*
	 * Another thread may replace the key while this one waits for the dict's lock, so take a
	 * reference under the lock.
	 */
	PyDict_GetItemRef(self->keys, number, &key);
#else
	key = Py_XNewRef(PyDict_GetItemWithError(self->keys, number));
#endif
	Py_DECREF(number);
	return key;
}

/* Returns the key of a file object, a new reference; NULL with KeyError or ValueError. */
static PyObject *find_key(struct xpy_selector *self, PyObject *fileobj, int *fd)
{
	PyObject *key;

	*fd = find_fd(self, fileobj);
	if (*fd < 0)
		return NULL;
	key = xpy_selector_key(self, *fd);
	return key || PyErr_Occurred() ? key : not_registered(fileobj);
}

int xpy_key_fd(PyObject *key)
{
	return (int)PyLong_AsLong(PyTuple_GetItem(key, KEY_FD));
}

int xpy_key_events(PyObject *key)
{
	return (int)PyLong_AsLong(PyTuple_GetItem(key, KEY_EVENTS));
}

/* Returns ((fileobj, fd, events, data),), the arguments of a new key; Py_BuildValue is slow. */
static PyObject *key_arguments(PyObject *fileobj, PyObject *number, int events,
                               PyObject *data)
{
	PyObject *fields = PyTuple_New(4);
	PyObject *args = fields ? PyTuple_New(1) : NULL;
	PyObject *bits = args ? PyLong_FromLong(events) : NULL;

	if (!bits) {
		Py_XDECREF(args);
		Py_XDECREF(fields);
		return NULL;
	}
	PyTuple_SetItem(fields, KEY_FILEOBJ, Py_NewRef(fileobj));
	PyTuple_SetItem(fields, KEY_FD, Py_NewRef(number));
	PyTuple_SetItem(fields, KEY_EVENTS, bits);
	PyTuple_SetItem(fields, KEY_DATA, Py_NewRef(data));
	PyTuple_SetItem(args, 0, fields);
	return args;
}

/*
 * Returns a new SelectorKey; NULL with an exception.  The garbage collector may run any code here:
 * afterwards check again whether the queue is open and what is registered.
 */
static PyObject *make_key(struct xpy_selector *self, PyObject *fileobj, int fd,
                          int events, PyObject *data)
{
	PyObject *number = PyLong_FromLong(fd);
	PyObject *args = number ? key_arguments(fileobj, number, events, data) : NULL;
	PyObject *key = args ? self->tuple_new(self->state->selector_key, args, NULL)
		: NULL;

	Py_XDECREF(args);
	Py_XDECREF(number);
	return key;
}

/* Store a key in the dict.  Returns 0, or -1 with an exception. */
static int store_key(struct xpy_selector *self, int fd, PyObject *key)
{
	PyObject *number = PyLong_FromLong(fd);
	int rc = number ? PyDict_SetItem(self->keys, number, key) : -1;

	Py_XDECREF(number);
	return rc;
}

static int remove_key(struct xpy_selector *self, int fd)
{
	PyObject *number = PyLong_FromLong(fd);
	int rc = number ? PyDict_DelItem(self->keys, number) : -1;

	Py_XDECREF(number);
	return rc;
}

/* --- Registering -------------------------------------------------------------- */

static int poll_bits(int events)
{
	return (events & XPY_EVENT_READ ? POLLIN : 0) |
		(events & XPY_EVENT_WRITE ? POLLOUT : 0);
}

static int ctl(struct xpy_selector *self, int op, int events, int fd)
{
	return xpoll_ctl(self->handle.queue, op, poll_bits(events), fd,
	                 (void *)(intptr_t)fd);
}

static int parse_events(PyObject *value, int *events)
{
	int64_t number;

	if (xpy_integer(value, "events", INT64_MIN, INT64_MAX, 0, &number) < 0)
		return -1;
	*events = (int)number;
	if (number && !(number & ~(int64_t)(XPY_EVENT_READ | XPY_EVENT_WRITE)))
		return 0;
	PyErr_Format(PyExc_ValueError, "Invalid events: %R", value);
	return -1;
}

static const char *const key_names[] = {"fileobj", "events", "data", NULL};
static const char *const fileobj_names[] = {"fileobj", NULL};

/*
 * Delete the registrations.  Errors are ignored, because the descriptor or the queue may have been
 * closed.
 */
static void forget(struct xpy_selector *self, int fd)
{
	ctl(self, XPOLL_DELETE, XPY_EVENT_READ | XPY_EVENT_WRITE, fd);
}

/*
 * Register a descriptor with its key.  No Python code runs between the first lookup and the change.
 */
static int add_key(struct xpy_selector *self, int fd, int events, PyObject *fileobj,
                   PyObject *key)
{
	PyObject *before = xpy_selector_key(self, fd);

	if (before) {
		Py_DECREF(before);
		PyErr_Format(PyExc_KeyError, "%R (FD %d) is already registered", fileobj, fd);
		return -1;
	}
	if (PyErr_Occurred() || xpy_handle_check(&self->handle) < 0)
		return -1;
	if (ctl(self, XPOLL_ADD, events, fd) < 0) {
		PyErr_SetFromErrno(PyExc_OSError);
		return -1;
	}
	if (store_key(self, fd, key) == 0)
		return 0;
	forget(self, fd);
	return -1;
}

PyObject *xpy_selector_register(PyObject *object, PyObject *const *args,
                                   Py_ssize_t nargs, PyObject *kwnames)
{
	static const struct xpy_call call = {"register", key_names, 2};
	struct xpy_selector *self = xpy_as_selector(object);
	PyObject *values[3], *key;
	int events, fd;

	if (xpy_arguments(&call, args, nargs, kwnames, values) < 0 ||
	    parse_events(values[1], &events) < 0 ||
	    xpy_handle_check(&self->handle) < 0)
		return NULL;
	fd = find_fd(self, values[0]);
	if (fd < 0)
		return NULL;
	key = make_key(self, values[0], fd, events, values[2] ? values[2] : Py_None);
	if (key && add_key(self, fd, events, values[0], key) < 0)
		Py_CLEAR(key);
	return key;
}

PyObject *xpy_selector_unregister(PyObject *object, PyObject *const *args,
                                  Py_ssize_t nargs, PyObject *kwnames)
{
	static const struct xpy_call call = {"unregister", fileobj_names, 1};
	struct xpy_selector *self = xpy_as_selector(object);
	PyObject *fileobj, *key;
	int fd;

	if (xpy_arguments(&call, args, nargs, kwnames, &fileobj) < 0)
		return NULL;
	key = find_key(self, fileobj, &fd);
	if (!key)
		return NULL;
	if (remove_key(self, fd) < 0)
		Py_CLEAR(key);
	forget(self, fd);
	return key;
}

/*
 * Change the requested directions.  A direction stays registered once it was requested, because
 * enabling and disabling cost no system call.
 */
static int change_events(struct xpy_selector *self, int fd, int before, int after)
{
	int added = after & ~before;
	int removed = before & ~after;

	if (added && ctl(self, XPOLL_ENABLE, added, fd) < 0 &&
	    (errno != ENOENT || ctl(self, XPOLL_ADD, added, fd) < 0))
		return -1;
	if (removed && ctl(self, XPOLL_DISABLE, removed, fd) < 0)
		return -1;
	return 0;
}

/*
 * Replace the key of a descriptor by a new one.  While the new key was made, other code may have
 * changed the events or unregistered the descriptor: the key in the dict shows the present state.
 */
static int replace_key(struct xpy_selector *self, int fd, int events, PyObject *key)
{
	PyObject *before = xpy_selector_key(self, fd);
	int rc = -1;

	if (!before && !PyErr_Occurred())
		not_registered(PyTuple_GetItem(key, KEY_FILEOBJ));
	if (!before)
		return -1;
	if (xpy_handle_check(&self->handle) == 0 &&
	    change_events(self, fd, xpy_key_events(before), events) < 0) {
		int error = errno;

		forget(self, fd);
		remove_key(self, fd);
		xpy_error(error);
	} else if (!PyErr_Occurred()) {
		rc = store_key(self, fd, key);
	}
	Py_DECREF(before);
	return rc;
}

/* Returns the modified key, a new reference; NULL with an exception. */
static PyObject *modify_key(struct xpy_selector *self, PyObject *key, int fd,
                            int events, PyObject *data)
{
	PyObject *after;

	if (xpy_handle_check(&self->handle) < 0)
		return NULL;
	if (xpy_key_events(key) == events && PyTuple_GetItem(key, KEY_DATA) == data)
		return Py_NewRef(key);
	after = make_key(self, PyTuple_GetItem(key, KEY_FILEOBJ), fd, events, data);
	if (after && replace_key(self, fd, events, after) < 0)
		Py_CLEAR(after);
	return after;
}

PyObject *xpy_selector_modify(PyObject *object, PyObject *const *args,
                                 Py_ssize_t nargs, PyObject *kwnames)
{
	static const struct xpy_call call = {"modify", key_names, 2};
	struct xpy_selector *self = xpy_as_selector(object);
	PyObject *values[3], *key, *after;
	int events, fd;

	if (xpy_arguments(&call, args, nargs, kwnames, values) < 0 ||
	    parse_events(values[1], &events) < 0)
		return NULL;
	key = find_key(self, values[0], &fd);
	if (!key)
		return NULL;
	after = modify_key(self, key, fd, events, values[2] ? values[2] : Py_None);
	Py_DECREF(key);
	return after;
}

PyObject *xpy_selector_get_key(PyObject *object, PyObject *const *args,
                               Py_ssize_t nargs, PyObject *kwnames)
{
	static const struct xpy_call call = {"get_key", fileobj_names, 1};
	struct xpy_selector *self = xpy_as_selector(object);
	PyObject *fileobj;
	int fd;

	if (xpy_arguments(&call, args, nargs, kwnames, &fileobj) < 0)
		return NULL;
	if (!self->handle.queue || self->handle.closing) {
		PyErr_SetString(PyExc_RuntimeError, "Selector is closed");
		return NULL;
	}
	return find_key(self, fileobj, &fd);
}

PyObject *xpy_selector_find(PyObject *object, PyObject *fileobj)
{
	int fd;

	return find_key(xpy_as_selector(object), fileobj, &fd);
}

/*
 * Returns the key, or the default.  asyncio calls this for each change, mostly of descriptors
 * without a key, and raising KeyError would be slow.
 */
PyObject *xpy_selector_get(PyObject *object, PyObject *const *args,
                           Py_ssize_t nargs, PyObject *kwnames)
{
	static const char *const names[] = {"fileobj", "default", NULL};
	static const struct xpy_call call = {"get", names, 2};
	struct xpy_selector *self = xpy_as_selector(object);
	PyObject *values[2], *key;
	int fd;

	if (xpy_arguments(&call, args, nargs, kwnames, values) < 0)
		return NULL;
	fd = find_fd(self, values[0]);
	key = fd < 0 ? NULL : xpy_selector_key(self, fd);
	return key || PyErr_Occurred() ? key : Py_NewRef(values[1]);
}
