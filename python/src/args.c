/* Converts arguments of Python to C. */
#include "xpy.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>

#define NS_PER_S 1000000000

PyObject *xpy_error(int error)
{
	errno = error;
	return PyErr_SetFromErrno(PyExc_OSError);
}

static int keyword_index(const struct xpy_call *call, PyObject *keyword)
{
	for (int i = 0; call->names[i]; i++)
		if (PyUnicode_CompareWithASCIIString(keyword, call->names[i]) == 0)
			return i;
	PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'",
	             call->function, keyword);
	return -1;
}

int xpy_arguments(const struct xpy_call *call, PyObject *const *args,
                  Py_ssize_t nargs, PyObject *kwnames, PyObject **values)
{
	Py_ssize_t named = kwnames ? PyTuple_Size(kwnames) : 0;
	int count = 0;

	for (; call->names[count]; count++)
		values[count] = count < nargs ? args[count] : NULL;
	if (nargs > count) {
		PyErr_Format(PyExc_TypeError,
		             "%s() takes at most %d arguments (%zd given)",
		             call->function, count, nargs);
		return -1;
	}
	for (Py_ssize_t i = 0; i < named; i++) {
		int index = keyword_index(call, PyTuple_GetItem(kwnames, i));

		if (index < 0)
			return -1;
		if (values[index]) {
			PyErr_Format(PyExc_TypeError,
			             "%s() got multiple values for argument '%s'",
			             call->function, call->names[index]);
			return -1;
		}
		values[index] = args[nargs + i];
	}
	for (int i = 0; i < call->required; i++) {
		if (values[i])
			continue;
		PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s'",
		             call->function, call->names[i]);
		return -1;
	}
	return 0;
}

int xpy_parse(PyObject *args, PyObject *kwargs, const char *format,
              const char *const *names, ...)
{
	va_list values;
	int rc;

	va_start(values, names);
	rc = PyArg_VaParseTupleAndKeywords(args, kwargs, format,
	                                   (char **)(uintptr_t)names, values);
	va_end(values);
	return rc;
}

int xpy_integer(PyObject *value, const char *name, int64_t low, int64_t high,
                int64_t fallback, int64_t *result)
{
	PyObject *index;
	int overflow;

	*result = fallback;
	if (!value)
		return 0;
	index = PyNumber_Index(value);
	if (!index)
		return -1;
	*result = PyLong_AsLongLongAndOverflow(index, &overflow);
	Py_DECREF(index);
	if (*result == -1 && PyErr_Occurred())
		return -1;
	if (overflow || *result < low || *result > high) {
		PyErr_Format(PyExc_OverflowError, "%s must be from %lld to %lld", name,
		             (long long)low, (long long)high);
		return -1;
	}
	return 0;
}

static bool descriptor_filter(int filter)
{
	switch (filter) {
	case XPOLL_FILT_READ:
	case XPOLL_FILT_WRITE:
	case XPOLL_FILT_EXCEPT:
	case XPOLL_FILT_EMPTY:
	case XPOLL_FILT_VNODE:
		return true;
	default:
		return false;
	}
}

int xpy_ident(PyObject *value, int filter, uint64_t *ident)
{
	if (descriptor_filter(filter) || !PyIndex_Check(value)) {
		int fd = PyObject_AsFileDescriptor(value);

		if (fd < 0)
			return -1;
		*ident = (uint64_t)fd;
		return 0;
	}
	value = PyNumber_Index(value);
	if (!value)
		return -1;
	*ident = PyLong_AsUnsignedLongLong(value);
	Py_DECREF(value);
	return *ident == UINT64_MAX && PyErr_Occurred() ? -1 : 0;
}

static int whole_seconds(PyObject *value, int64_t *ns)
{
	PyObject *index = PyNumber_Index(value);
	long long seconds;
	int overflow;

	if (!index) {
		if (PyErr_ExceptionMatches(PyExc_TypeError))
			PyErr_SetString(PyExc_TypeError,
			                "timeout must be a number of seconds, or None");
		return -1;
	}
	seconds = PyLong_AsLongLongAndOverflow(index, &overflow);
	Py_DECREF(index);
	if (overflow > 0 || seconds > INT64_MAX / NS_PER_S)
		*ns = INT64_MAX;
	else if (overflow < 0 || seconds < 0)
		*ns = -1;
	else
		*ns = seconds * NS_PER_S;
	return 0;
}

static int fractional_seconds(PyObject *value, int64_t *ns)
{
	double seconds = PyFloat_AsDouble(value);
	double rounded = ceil(seconds * NS_PER_S);

	if (seconds != seconds) {
		PyErr_SetString(PyExc_ValueError, "timeout is not a number");
		return -1;
	}
	/* Round away from 0: neither -0.1 ns nor 0.1 ns may become 0. */
	if (seconds < 0)
		*ns = -1;
	else
		*ns = rounded >= (double)INT64_MAX ? INT64_MAX : (int64_t)rounded;
	return 0;
}

int xpy_timeout(PyObject *value, enum xpy_negative negative, int64_t *ns)
{
	int rc;

	*ns = -1;
	if (!value || value == Py_None)
		return 0;
	rc = PyFloat_Check(value) ? fractional_seconds(value, ns)
		: whole_seconds(value, ns);
	if (rc < 0 || *ns >= 0)
		return rc;
	if (negative == XPY_NEGATIVE_FAILS) {
		PyErr_SetString(PyExc_ValueError,
		                "timeout must be None or not negative");
		return -1;
	}
	*ns = 0;
	return 0;
}
