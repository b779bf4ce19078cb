/*
 * Declarations that the files of the extension module share.
 *
 * The module uses only Python's limited API, so that one build works with every CPython from 3.11
 * on.  Everything runs with the GIL except the region between xpy_busy_begin and xpy_busy_end, in
 * which a thread may sleep in the library.
 *
 * A free-threaded CPython has neither limited API nor GIL.  There each object has a critical
 * section (PEP 703), which XPY_LOCKED enters; like the GIL it is left when a thread sleeps or other
 * code may run.  "With the GIL" means both in these files.
 */
#ifndef XPY_H
#define XPY_H

#include "locked.h"

#include <structmember.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <xpoll.h>

/* Convert a function to the void * of a PyType_Slot, which ISO C does not allow. */
#define XPY_SLOT(function) (__extension__(void *)(function))

/* Convert a docstring to the void * of a PyType_Slot. */
#define XPY_DOC(text) ((void *)(uintptr_t)(text))

/* A method that takes METH_FASTCALL or METH_KEYWORDS. */
#define XPY_METHOD(function) ((PyCFunction)(void (*)(void))(function))

/* A function that implements a method of METH_FASTCALL | METH_KEYWORDS. */
typedef PyObject *xpy_fast(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames);

/* The state of one import of the module. */
struct xpy_state {
	PyTypeObject *event_type;
	PyTypeObject *queue_type;
	PyTypeObject *guard_type; /* not visible in the module */
	PyTypeObject *aio_type;
	PyTypeObject *selector_type;
	PyTypeObject *tree_type;
	PyTypeObject *tree_change_type;
	PyTypeObject *selector_key; /* selectors.SelectorKey, a named tuple */
};

/* The state of the module that made this type or one of its bases. */
struct xpy_state *xpy_state_of(PyTypeObject *type);

/* --- args.c ---------------------------------------------------------------- */

/*
 * Store the arguments of a METH_FASTCALL | METH_KEYWORDS call in values, in the order of names
 * (NULL-terminated); missing ones are NULL.  The first `required` must be given.  Returns 0, or -1
 * with an exception.
 */
struct xpy_call {
	const char *function;
	const char *const *names;
	int required;
};
int xpy_arguments(const struct xpy_call *call, PyObject *const *args,
                  Py_ssize_t nargs, PyObject *kwnames, PyObject **values);

/* PyArg_ParseTupleAndKeywords with const names. */
int xpy_parse(PyObject *args, PyObject *kwargs, const char *format,
              const char *const *names, ...);

/* Convert an integer within [low, high]; `fallback` if value is NULL.  Errors mention `name`. */
int xpy_integer(PyObject *value, const char *name, int64_t low, int64_t high,
                int64_t fallback, int64_t *result);

/*
 * Convert the ident of a registration: a number, or for filters of descriptors also an object with
 * fileno().  Returns 0, or -1 with an exception.
 */
int xpy_ident(PyObject *value, int filter, uint64_t *ident);

/* Convert a timeout in seconds, or None; rounded up. */
enum xpy_negative { XPY_NEGATIVE_FAILS, XPY_NEGATIVE_IS_ZERO };
int xpy_timeout(PyObject *value, enum xpy_negative negative, int64_t *ns);

/* Raise OSError with this errno value.  Returns NULL. */
PyObject *xpy_error(int error);

/* --- handle.c -------------------------------------------------------------- */

/*
 * A queue that may be closed while other threads sleep in it.  Then it is only marked: each thread
 * that leaves wakes the next, and the last one destroys it.
 */
struct xpy_handle {
	struct xpoll *queue; /* NULL: closed */
	int busy;            /* threads that may be in the library without the GIL */
	int taking;          /* calls that are converting events to objects */
	bool closing;
	pid_t process;       /* that has opened the queue or called reinit; in a forked child
	                        before reinit, `busy` counts threads of the parent */
	/* called after the queue was destroyed; or NULL */
	void (*destroyed)(struct xpy_handle *handle);
};

/* Open the queue.  size_hint: any integer, in place of that in the options. */
int xpy_handle_open(struct xpy_handle *handle, const struct xpoll_options *options,
                    int64_t size_hint);
void xpy_handle_close(struct xpy_handle *handle);
/* Destroy the queue when the collector has found it, or in tp_dealloc: no other thread uses it. */
void xpy_handle_fini(struct xpy_handle *handle);
int xpy_handle_reinit(struct xpy_handle *handle);
/* Raise ValueError if the queue is closed. */
int xpy_handle_check(const struct xpy_handle *handle);

/* Returns true if no event that the library has returned still waits to become an object. */
static inline bool xpy_handle_idle(const struct xpy_handle *handle)
{
	return handle->busy == 0 && handle->taking == 0;
}

/*
 * Call these before and after the code that makes objects of the events of a wait.  That code may
 * run Python code, which must not free the cell of a later event.  The count may be 0 at the end,
 * because that code may have forked, and xpy_handle_reinit has reset it in the child.
 */
static inline void xpy_taking_begin(struct xpy_handle *handle)
{
	handle->taking++;
}

static inline void xpy_taking_end(struct xpy_handle *handle)
{
	if (handle->taking > 0)
		handle->taking--;
}

/* Release the GIL for a call that may sleep. */
PyThreadState *xpy_busy_begin(struct xpy_handle *handle);
/* Take the GIL again.  Returns false if the queue was closed meanwhile. */
bool xpy_busy_end(struct xpy_handle *handle, PyThreadState *thread);
/*
 * Like xpy_busy_end, after a wait.  Returns the wait's result; -1 has an exception, except after
 * EINTR.
 */
int xpy_wait_end(struct xpy_handle *handle, PyThreadState *thread, int count);

/* A wait that is resumed after a signal handler has run: PEP 475. */
struct xpy_wait {
	int64_t timeout_ns; /* the remaining timeout; -1: for ever */
	int64_t end_ns;     /* on the monotonic clock */
};
void xpy_wait_start(struct xpy_wait *wait, int64_t timeout_ns);
/* Returns the remaining timeout in milliseconds, for the poll-like level; rounded up. */
int xpy_wait_ms(const struct xpy_wait *wait);
/*
 * Returns true if a sleep of xpy_wait_ms is over before the timeout, because an int has no room for
 * all its milliseconds: then sleep again.
 */
bool xpy_wait_was_cut(const struct xpy_wait *wait);
/*
 * After a sleep without a result: run the handlers of signals, which may have come between two
 * sleeps and interrupted neither, and recompute the remaining timeout.  Returns 1: sleep again; 0:
 * the timeout is over; -1 with an exception.
 */
int xpy_wait_again(const struct xpy_handle *handle, struct xpy_wait *wait);

/* --- event.c --------------------------------------------------------------- */

struct xpy_event {
	PyObject_HEAD
	struct xpoll_event event; /* `udata` in it is not used */
	PyObject *udata;          /* NULL: None */
};

extern PyType_Spec xpy_event_spec;

/*
 * Returns a new Event.  udata may be NULL; the caller holds a reference to it, because the garbage
 * collector may run first.
 */
PyObject *xpy_event_new(struct xpy_state *state, const struct xpoll_event *event,
                        PyObject *udata);

/* --- The other types ------------------------------------------------------- */

extern PyType_Spec xpy_aio_spec;
extern PyType_Spec xpy_queue_spec;
extern PyType_Spec xpy_guard_spec;
extern PyType_Spec xpy_selector_spec;
extern PyType_Spec xpy_tree_spec;
extern PyStructSequence_Desc xpy_tree_change_desc;

#endif
