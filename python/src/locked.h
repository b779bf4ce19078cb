/* Methods that run one at a time for each object, where there is no GIL. */
#ifndef XPY_LOCKED_H
#define XPY_LOCKED_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/*
 * A table of methods has XPY_LOCKED(name), a function that calls `name` in the
 * critical section of its object.  XPY_LOCK_FAST and the others define that
 * function, one macro for each list of parameters.  With a GIL, XPY_LOCKED(name)
 * is `name` itself, and the macros define nothing.
 */
#ifdef Py_GIL_DISABLED
#define XPY_LOCKED(function)       function##_locked
#define XPY_BEGIN(object)          Py_BEGIN_CRITICAL_SECTION(object)
#define XPY_END()                  Py_END_CRITICAL_SECTION()
#define XPY_LOCK(function, parameters, arguments)                              \
	static PyObject *function##_locked parameters                          \
	{                                                                      \
		PyObject *result;                                              \
                                                                               \
		Py_BEGIN_CRITICAL_SECTION(self);                               \
		result = function arguments;                                   \
		Py_END_CRITICAL_SECTION();                                     \
		return result;                                                 \
	}
#else
#define XPY_LOCKED(function)       function
#define XPY_BEGIN(object)          {
#define XPY_END()                  }
#define XPY_LOCK(function, parameters, arguments)
#endif
#define XPY_LOCK_FAST(function)                                                \
	XPY_LOCK(function, (PyObject *self, PyObject *const *args,             \
	                    Py_ssize_t nargs, PyObject *kwnames),              \
	         (self, args, nargs, kwnames))
#define XPY_LOCK_WORDS(function)                                               \
	XPY_LOCK(function, (PyObject *self, PyObject *args, PyObject *kwargs), \
	         (self, args, kwargs))
#define XPY_LOCK_ONE(function)                                                 \
	XPY_LOCK(function, (PyObject *self, PyObject *argument),               \
	         (self, argument))
#define XPY_LOCK_GETTER(function)                                              \
	XPY_LOCK(function, (PyObject *self, void *closure), (self, closure))
#define XPY_LOCK_SLOT(function)                                                \
	XPY_LOCK(function, (PyObject *self), (self))

#endif
