/* The library's queue in a Python object: opening, entering, closing. */
#include "xpy.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S  1000000000
#define NS_PER_MS 1000000

/* Raise OSError that names the back end and the usable ones.  Returns -1. */
static int no_such_backend(const char *backend)
{
	enum { MOST = 32 };
	const char *names[MOST];
	int count = xpoll_backends(names, MOST);
	PyObject *text = PyUnicode_FromFormat("no back end '%s' here; usable:",
	                                      backend);
	PyObject *args;

	for (int i = 0; text && i < count && i < MOST; i++) {
		PyObject *longer = PyUnicode_FromFormat("%U%s %s", text,
		                                        i > 0 ? "," : "", names[i]);

		Py_DECREF(text);
		text = longer;
	}
	args = text ? Py_BuildValue("(iN)", ENOTSUP, text) : NULL;
	if (args)
		PyErr_SetObject(PyExc_OSError, args);
	Py_XDECREF(args);
	return -1;
}

/* Returns true if the options request busy polling, and a queue without it can be opened. */
static bool opens_without(const struct xpoll_options *options)
{
	struct xpoll_options plain = *options;
	struct xpoll *queue;

	plain.busy_poll_us = 0;
	queue = options->busy_poll_us > 0 ? xpoll_open(&plain) : NULL;
	xpoll_destroy(queue);
	return queue != NULL;
}

/* Raise OSError for the failure of xpoll_open.  Returns -1. */
static int open_failed(const struct xpoll_options *options)
{
	const char *backend = options->backend ? options->backend : getenv("XPOLL_BACKEND");
	int error = errno;
	PyObject *args;

	if (error == ENOTSUP && opens_without(options)) {
		args = Py_BuildValue("(is)", ENOTSUP, "no busy polling on this back end or kernel");
		if (args)
			PyErr_SetObject(PyExc_OSError, args);
		Py_XDECREF(args);
		return -1;
	}
	if (error == ENOTSUP && backend)
		return no_such_backend(backend);
	xpy_error(error);
	return -1;
}

int xpy_handle_open(struct xpy_handle *handle, const struct xpoll_options *options,
                    int64_t size_hint)
{
	struct xpoll_options hinted = *options;

	hinted.size_hint = size_hint < INT_MAX ? (int)size_hint : INT_MAX;
	if (size_hint < 0) {
		PyErr_SetString(PyExc_ValueError, "size_hint must be 0 or more");
		return -1;
	}
	handle->queue = xpoll_open(&hinted);
	if (!handle->queue)
		return open_failed(&hinted);
	handle->process = getpid();
	return 0;
}

int xpy_handle_check(const struct xpy_handle *handle)
{
	if (handle->queue && !handle->closing)
		return 0;
	PyErr_SetString(PyExc_ValueError, "the queue is closed");
	return -1;
}

/* Destroy the queue without the GIL: operations may have to complete first. */
static void destroy(struct xpy_handle *handle)
{
	struct xpoll *queue = handle->queue;
	PyThreadState *thread;

	handle->queue = NULL;
	handle->closing = false;
	thread = PyEval_SaveThread();
	xpoll_destroy(queue);
	PyEval_RestoreThread(thread);
	if (handle->destroyed)
		handle->destroyed(handle);
}

void xpy_handle_close(struct xpy_handle *handle)
{
	if (!handle->queue || handle->closing)
		return;
	if (handle->busy > 0 && handle->process == getpid()) {
		handle->closing = true;
		xpoll_wake(handle->queue);
		return;
	}
	handle->busy = 0;
	destroy(handle);
}

void xpy_handle_fini(struct xpy_handle *handle)
{
	if (handle->queue)
		destroy(handle);
}

int xpy_handle_reinit(struct xpy_handle *handle)
{
	if (xpy_handle_check(handle) < 0)
		return -1;
	if (xpoll_reinit(handle->queue) < 0) {
		PyErr_SetFromErrno(PyExc_OSError);
		return -1;
	}
	handle->busy = 0;
	handle->taking = 0;
	handle->process = getpid();
	return 0;
}

PyThreadState *xpy_busy_begin(struct xpy_handle *handle)
{
	handle->busy++;
	return PyEval_SaveThread();
}

bool xpy_busy_end(struct xpy_handle *handle, PyThreadState *thread)
{
	int error = errno;

	PyEval_RestoreThread(thread);
	handle->busy--;
	if (handle->closing && handle->busy > 0)
		xpoll_wake(handle->queue);
	else if (handle->closing)
		destroy(handle);
	errno = error;
	return handle->queue && !handle->closing;
}

int xpy_wait_end(struct xpy_handle *handle, PyThreadState *thread, int count)
{
	if (!xpy_busy_end(handle, thread)) {
		xpy_error(EBADF);
		return -1;
	}
	if (count < 0 && errno != EINTR)
		PyErr_SetFromErrno(PyExc_OSError);
	return count;
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * NS_PER_S + time.tv_nsec;
}

void xpy_wait_start(struct xpy_wait *wait, int64_t timeout_ns)
{
	/* At most 146 years, so that sums with the clock do not overflow. */
	wait->timeout_ns = timeout_ns < INT64_MAX / 2 ? timeout_ns : INT64_MAX / 2;
	if (timeout_ns > 0)
		wait->end_ns = now() + wait->timeout_ns;
}

/* Recompute the remaining timeout.  Returns false if it is over. */
static bool recompute(struct xpy_wait *wait)
{
	if (wait->timeout_ns < 0)
		return true;
	if (wait->timeout_ns > 0) {
		wait->timeout_ns = wait->end_ns - now();
		if (wait->timeout_ns < 0)
			wait->timeout_ns = 0;
	}
	return wait->timeout_ns > 0;
}

int xpy_wait_again(const struct xpy_handle *handle, struct xpy_wait *wait)
{
	if (PyErr_CheckSignals() < 0 || (handle && xpy_handle_check(handle) < 0))
		return -1;
	return recompute(wait);
}

int xpy_wait_ms(const struct xpy_wait *wait)
{
	int64_t ms = wait->timeout_ns / NS_PER_MS +
		(wait->timeout_ns % NS_PER_MS != 0);

	if (wait->timeout_ns < 0)
		return -1;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

bool xpy_wait_was_cut(const struct xpy_wait *wait)
{
	return wait->timeout_ns / NS_PER_MS >= INT_MAX &&
		wait->end_ns - now() <= wait->timeout_ns - (int64_t)INT_MAX * NS_PER_MS;
}
