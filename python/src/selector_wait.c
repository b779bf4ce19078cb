/* The selector's wait. */
#include "selector_type.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

enum {
	/* After a wait that returned this many descriptors, others may be ready: wait again. */
	MANY = 64,
	/* Most descriptors that one wait returns. */
	MOST = 256,
};

static int append_ready(struct xpy_selector *self, PyObject *list, int fd,
                        int revents)
{
	PyObject *key = xpy_selector_key(self, fd);
	PyObject *entry;
	int events = 0;
	int rc;

	/*
	 * The descriptor was unregistered in a child before reinit, or by code that ran since the
	 * wait: it would be ready for ever, so delete it.  A closed queue returns EINVAL.
	 */
	if (!key && !PyErr_Occurred())
		xpoll_ctl(self->handle.queue, XPOLL_DELETE, POLLIN | POLLOUT, fd, NULL);
	if (!key)
		return PyErr_Occurred() ? -1 : 0;
	/* An error or a hang-up makes both directions ready. */
	if (revents & ~POLLIN)
		events |= XPY_EVENT_WRITE;
	if (revents & ~POLLOUT)
		events |= XPY_EVENT_READ;
	events &= xpy_key_events(key);
	entry = events ? PyTuple_New(2) : NULL;
	if (!entry) {
		Py_DECREF(key);
		return events ? -1 : 0;
	}
	PyTuple_SetItem(entry, 0, key);
	PyTuple_SetItem(entry, 1, PyLong_FromLong(events));
	rc = PyList_Append(list, entry);
	Py_DECREF(entry);
	return rc;
}

/*
 * Bit set of the descriptors that were returned, to collect all ready ones although a wait returns
 * a limited number.
 */
struct seen {
	unsigned char *bits;
	size_t size;
};

/* Add a descriptor.  Returns 1: it is new; 0: it is not; -1: MemoryError. */
static int note_seen(struct seen *seen, int fd)
{
	size_t byte = (size_t)fd / CHAR_BIT;
	unsigned char bit = (unsigned char)(1u << fd % CHAR_BIT);

	if (byte >= seen->size) {
		size_t size = byte * 2 + 64;
		unsigned char *bits = PyMem_Realloc(seen->bits, size);

		if (!bits) {
			PyErr_NoMemory();
			return -1;
		}
		memset(bits + seen->size, 0, size - seen->size);
		seen->bits = bits;
		seen->size = size;
	}
	if (seen->bits[byte] & bit)
		return 0;
	seen->bits[byte] |= bit;
	return 1;
}

/* A result of xpoll_revents. */
struct ready {
	int fd;
	int revents;
};

/*
 * Append the ready descriptors of the last xpoll_wait to the list, except those in `seen`.  Returns
 * the number of new ones, or -1.  All records are taken first, because code that runs while objects
 * are made may wait, too.  Records without room are returned by the next wait.
 */
static int take_batch(struct xpy_selector *self, PyObject *list,
                      struct seen *seen)
{
	struct ready ready[MOST];
	int len = 0, count = 0;
	void *data;

	while (len < MOST &&
	       (ready[len].revents = xpoll_revents(self->handle.queue, &data)) != 0)
		ready[len++].fd = (int)(intptr_t)data;
	for (int i = 0; i < len; i++) {
		int fresh = seen ? note_seen(seen, ready[i].fd) : 1;

		if (fresh < 0 ||
		    (fresh && append_ready(self, list, ready[i].fd, ready[i].revents) < 0))
			return -1;
		count += fresh;
	}
	return count;
}

/* Wait again with timeout 0 until nothing new is found. */
static int take_the_rest(struct xpy_selector *self, PyObject *list)
{
	Py_ssize_t len = PyList_Size(list);
	struct seen seen = {NULL, 0};
	int count = 0;

	for (Py_ssize_t i = 0; i < len && count >= 0; i++) {
		PyObject *key = PyTuple_GetItem(PyList_GetItem(list, i), 0);

		count = note_seen(&seen, xpy_key_fd(key));
	}
	while (count > 0)
		count = xpoll_wait(self->handle.queue, 0) > 0
			? take_batch(self, list, &seen) : 0;
	PyMem_Free(seen.bits);
	return count;
}

static PyObject *take_ready(struct xpy_selector *self, int count)
{
	PyObject *list = PyList_New(0);

	if (!list || take_batch(self, list, NULL) < 0 ||
	    (count >= MANY && count < PyDict_Size(self->keys) &&
	     take_the_rest(self, list) < 0))
		Py_CLEAR(list);
	return list;
}

static int sleep_once(struct xpy_selector *self, const struct xpy_wait *wait)
{
	PyThreadState *thread = xpy_busy_begin(&self->handle);
	int count = xpoll_wait(self->handle.queue, xpy_wait_ms(wait));

	return xpy_wait_end(&self->handle, thread, count);
}

PyObject *xpy_selector_select(PyObject *object, PyObject *const *args,
                                 Py_ssize_t nargs, PyObject *kwnames)
{
	static const char *const names[] = {"timeout", NULL};
	static const struct xpy_call call = {"select", names, 0};
	struct xpy_selector *self = xpy_as_selector(object);
	PyObject *values[1], *list;
	struct xpy_wait wait;
	int64_t timeout_ns;
	int again;

	if (xpy_arguments(&call, args, nargs, kwnames, values) < 0 ||
	    xpy_timeout(values[0], XPY_NEGATIVE_IS_ZERO, &timeout_ns) < 0 ||
	    xpy_handle_check(&self->handle) < 0)
		return NULL;
	xpy_wait_start(&wait, timeout_ns);
	do {
		int count = sleep_once(self, &wait);

		if (count < 0 && PyErr_Occurred())
			return NULL;
		if (count == 0 && !xpy_wait_was_cut(&wait))
			return PyList_New(0);
		if (count > 0) {
			list = take_ready(self, count);
			if (!list || PyList_Size(list) > 0)
				return list;
			Py_DECREF(list);
		}
		again = xpy_wait_again(&self->handle, &wait);
	} while (again > 0);
	return again < 0 ? NULL : PyList_New(0);
}
