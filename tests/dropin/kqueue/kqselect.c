/*
 * A Python module with the BSD part of `select`: kqueue, kevent and their
 * constants, as far as selectors.KqueueSelector uses them.  It uses
 * <sys/event.h> only, and nothing of xpoll, like CPython's own module.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <structmember.h>
#include <sys/event.h>
#include <unistd.h>

/* --- kevent ------------------------------------------------------------------- */

struct kevent_object {
	PyObject_HEAD
	struct kevent event;
};

static PyTypeObject *kevent_type;

static int kevent_init(PyObject *self, PyObject *args, PyObject *kwds)
{
	static char *names[] = {"ident", "filter", "flags", "fflags", "data",
	                        "udata", NULL};
	struct kevent *event = &((struct kevent_object *)self)->event;
	unsigned long long udata = 0;
	long long data = 0;
	PyObject *ident;
	int fd;

	EV_SET(event, 0, EVFILT_READ, EV_ADD, 0, 0, 0);
	if (!PyArg_ParseTupleAndKeywords(args, kwds, "O|hHILK:kevent", names,
	                                 &ident, &event->filter, &event->flags,
	                                 &event->fflags, &data, &udata))
		return -1;
	fd = PyObject_AsFileDescriptor(ident);
	if (fd < 0)
		return -1;
	event->ident = (uintptr_t)fd;
	event->data = data;
	event->udata = (void *)(uintptr_t)udata;
	return 0;
}

#define EVENT_OFFSET(field) \
	(Py_ssize_t)(offsetof(struct kevent_object, event) + \
	             offsetof(struct kevent, field))

static PyMemberDef kevent_members[] = {
	{"ident", T_ULONGLONG, EVENT_OFFSET(ident), 0, NULL},
	{"filter", T_SHORT, EVENT_OFFSET(filter), 0, NULL},
	{"flags", T_USHORT, EVENT_OFFSET(flags), 0, NULL},
	{"fflags", T_UINT, EVENT_OFFSET(fflags), 0, NULL},
	{"data", T_LONGLONG, EVENT_OFFSET(data), 0, NULL},
	{"udata", T_ULONGLONG, EVENT_OFFSET(udata), 0, NULL},
	{NULL, 0, 0, 0, NULL},
};

static PyType_Slot kevent_slots[] = {
	{Py_tp_init, kevent_init},
	{Py_tp_members, kevent_members},
	{0, NULL},
};

static PyType_Spec kevent_spec = {
	.name = "kqselect.kevent",
	.basicsize = sizeof(struct kevent_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = kevent_slots,
};

/* --- kqueue ------------------------------------------------------------------- */

struct kqueue_object {
	PyObject_HEAD
	int fd;
};

static int kqueue_init(PyObject *self, PyObject *args, PyObject *kwds)
{
	struct kqueue_object *object = (struct kqueue_object *)self;

	(void)args, (void)kwds;
	object->fd = kqueue();
	if (object->fd >= 0)
		return 0;
	PyErr_SetFromErrno(PyExc_OSError);
	return -1;
}

static PyObject *kqueue_close(PyObject *self, PyObject *unused)
{
	struct kqueue_object *object = (struct kqueue_object *)self;
	int fd = object->fd;

	(void)unused;
	object->fd = -1;
	if (fd >= 0 && close(fd) < 0)
		return PyErr_SetFromErrno(PyExc_OSError);
	Py_RETURN_NONE;
}

static void kqueue_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	if (((struct kqueue_object *)self)->fd >= 0)
		close(((struct kqueue_object *)self)->fd);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyObject *kqueue_fileno(PyObject *self, PyObject *unused)
{
	(void)unused;
	return PyLong_FromLong(((struct kqueue_object *)self)->fd);
}

static PyObject *events_list(const struct kevent *events, int count)
{
	PyObject *list = PyList_New(count);

	for (int i = 0; list && i < count; i++) {
		PyObject *item = kevent_type->tp_alloc(kevent_type, 0);

		if (!item) {
			Py_CLEAR(list);
			break;
		}
		((struct kevent_object *)item)->event = events[i];
		PyList_SET_ITEM(list, i, item);
	}
	return list;
}

/* Convert a list of kevent objects to an array.  Returns its length; -1 with an exception. */
static Py_ssize_t changes_take(PyObject *sequence, struct kevent **changes)
{
	PyObject *list;
	Py_ssize_t count;

	*changes = NULL;
	if (sequence == Py_None)
		return 0;
	list = PySequence_Fast(sequence, "changelist is no sequence");
	if (!list)
		return -1;
	count = PySequence_Fast_GET_SIZE(list);
	*changes = PyMem_New(struct kevent, (size_t)count);
	for (Py_ssize_t i = 0; *changes && i < count; i++) {
		PyObject *item = PySequence_Fast_GET_ITEM(list, i);

		if (!PyObject_TypeCheck(item, kevent_type)) {
			PyErr_SetString(PyExc_TypeError, "not a kevent");
			count = -1;
			break;
		}
		(*changes)[i] = ((struct kevent_object *)item)->event;
	}
	Py_DECREF(list);
	return *changes || count < 0 ? count : (PyErr_NoMemory(), -1);
}

static PyObject *kqueue_control(PyObject *self, PyObject *args)
{
	int fd = ((struct kqueue_object *)self)->fd;
	struct kevent *changes, *events = NULL;
	PyObject *sequence, *seconds = Py_None, *result = NULL;
	struct timespec time = {0, 0};
	Py_ssize_t count;
	int cap, got = -1;

	if (!PyArg_ParseTuple(args, "Oi|O:control", &sequence, &cap, &seconds))
		return NULL;
	if (seconds != Py_None) {
		double value = PyFloat_AsDouble(seconds);

		if (value < 0 || PyErr_Occurred())
			return PyErr_Format(PyExc_ValueError, "timeout");
		time.tv_sec = (time_t)value;
		time.tv_nsec = (long)((value - (double)time.tv_sec) * 1e9);
	}
	count = changes_take(sequence, &changes);
	if (count >= 0 && cap > 0)
		events = PyMem_New(struct kevent, (size_t)cap);
	if (count >= 0 && (cap <= 0 || events)) {
		Py_BEGIN_ALLOW_THREADS
		got = kevent(fd, changes, (int)count, events, cap,
		             seconds == Py_None ? NULL : &time);
		Py_END_ALLOW_THREADS
		result = got < 0 ? PyErr_SetFromErrno(PyExc_OSError)
			: events_list(events, got);
	}
	PyMem_Free(changes);
	PyMem_Free(events);
	return result;
}

static PyObject *kqueue_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(((struct kqueue_object *)self)->fd < 0);
}

static PyMethodDef kqueue_methods[] = {
	{"close", kqueue_close, METH_NOARGS, NULL},
	{"fileno", kqueue_fileno, METH_NOARGS, NULL},
	{"control", kqueue_control, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyGetSetDef kqueue_getset[] = {
	{"closed", kqueue_closed, NULL, NULL, NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot kqueue_slots[] = {
	{Py_tp_init, kqueue_init},
	{Py_tp_dealloc, kqueue_dealloc},
	{Py_tp_methods, kqueue_methods},
	{Py_tp_getset, kqueue_getset},
	{0, NULL},
};

static PyType_Spec kqueue_spec = {
	.name = "kqselect.kqueue",
	.basicsize = sizeof(struct kqueue_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = kqueue_slots,
};

/* --- The module ---------------------------------------------------------------- */

static const struct {
	const char *name;
	long value;
} constants[] = {
	{"KQ_FILTER_READ", EVFILT_READ},     {"KQ_FILTER_WRITE", EVFILT_WRITE},
	{"KQ_FILTER_TIMER", EVFILT_TIMER},   {"KQ_FILTER_PROC", EVFILT_PROC},
	{"KQ_FILTER_SIGNAL", EVFILT_SIGNAL}, {"KQ_FILTER_VNODE", EVFILT_VNODE},
	{"KQ_EV_ADD", EV_ADD},               {"KQ_EV_DELETE", EV_DELETE},
	{"KQ_EV_ENABLE", EV_ENABLE},         {"KQ_EV_DISABLE", EV_DISABLE},
	{"KQ_EV_ONESHOT", EV_ONESHOT},       {"KQ_EV_CLEAR", EV_CLEAR},
	{"KQ_EV_EOF", EV_EOF},               {"KQ_EV_ERROR", EV_ERROR},
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT, .m_name = "kqselect", .m_size = -1,
};

PyMODINIT_FUNC PyInit_kqselect(void)
{
	PyObject *module = PyModule_Create(&definition);
	PyObject *queue_type = PyType_FromSpec(&kqueue_spec);
	PyObject *event_type = PyType_FromSpec(&kevent_spec);

	if (!module || !queue_type || !event_type)
		return NULL;
	kevent_type = (PyTypeObject *)event_type;
	if (PyModule_AddObject(module, "kqueue", queue_type) < 0 ||
	    PyModule_AddObjectRef(module, "kevent", event_type) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
		if (PyModule_AddIntConstant(module, constants[i].name,
		                            constants[i].value) < 0)
			return NULL;
	return module;
}
