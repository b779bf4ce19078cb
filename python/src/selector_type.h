/*
 * xpoll._xpoll._Selector: the methods of selectors.BaseSelector that matter for
 * speed.  xpoll.XpollSelector adds the rest.
 *
 * The keys, by descriptor, are in a dict; the library's udata is the
 * descriptor, so no reference can outlive its registration.
 */
#ifndef XPY_SELECTOR_TYPE_H
#define XPY_SELECTOR_TYPE_H

#include "xpy.h"

enum {
	XPY_EVENT_READ = 1,
	XPY_EVENT_WRITE = 2,
};

struct xpy_selector {
	PyObject_HEAD
	struct xpy_handle handle;
	struct xpy_state *state;
	PyObject *keys;    /* {descriptor: SelectorKey} */
	newfunc tuple_new; /* that of tuple, because SelectorKey's own is slow */
};

static inline struct xpy_selector *xpy_as_selector(PyObject *object)
{
	return (struct xpy_selector *)object;
}

/* --- selector_keys.c --------------------------------------------------------- */

/* Returns the key of a descriptor, a new reference; NULL: there is none, or an exception is set. */
PyObject *xpy_selector_key(struct xpy_selector *self, int fd);
int xpy_key_fd(PyObject *key);
int xpy_key_events(PyObject *key);

/* Methods. */
xpy_fast xpy_selector_register, xpy_selector_modify, xpy_selector_unregister,
	xpy_selector_get_key;
PyObject *xpy_selector_find(PyObject *self, PyObject *fileobj);
xpy_fast xpy_selector_get;

/* --- selector_wait.c ---------------------------------------------------------- */

xpy_fast xpy_selector_select;

#endif
