/* Declarations that the files of xpoll.Queue share. */
#ifndef XPY_QUEUE_TYPE_H
#define XPY_QUEUE_TYPE_H

#include "cells.h"
#include "xpy.h"

struct xpy_queue {
	PyObject_HEAD
	struct xpy_handle handle;
	struct xpy_cells cells;
	struct xpy_state *state;
	PyObject *guard; /* destroys the queue when the collector finds it: see queue.c */
};

static inline struct xpy_queue *xpy_as_queue(PyObject *object)
{
	return (struct xpy_queue *)object;
}

/* --- changes.c: methods ----------------------------------------------------- */

/* Raise ValueError for FILT_AIO, which no change may have. */
int xpy_check_filter(int filter);
/*
 * Apply one change; `udata` is borrowed and may be NULL.  Returns 0, the errno value with which the
 * library refused it, or -1 with an exception.
 */
int xpy_change(struct xpy_queue *self, struct xpoll_event *change,
               PyObject *udata);

xpy_fast xpy_queue_add, xpy_queue_delete, xpy_queue_enable, xpy_queue_disable,
	xpy_queue_trigger, xpy_queue_ctl, xpy_queue_register, xpy_queue_modify,
	xpy_queue_unregister;

/* --- wait.c: methods -------------------------------------------------------- */

xpy_fast xpy_queue_control, xpy_queue_wait, xpy_queue_poll;

/* --- aio.c ------------------------------------------------------------------- */

PyObject *xpy_queue_aio_submit(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *xpy_queue_aio_cancel(PyObject *self, PyObject *aio);
/* Record the completion of an operation.  Returns the udata of its event, a new reference. */
PyObject *xpy_aio_ended(PyObject *aio, int64_t result);

#endif
