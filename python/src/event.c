/* xpoll.Event: a requested change, or an event. */
#include "xpy.h"

#include <stddef.h>

static struct xpy_event *as_event(PyObject *object)
{
	return (struct xpy_event *)object;
}

PyObject *xpy_event_new(struct xpy_state *state, const struct xpoll_event *event,
                        PyObject *udata)
{
	struct xpy_event *self =
		as_event(PyType_GenericAlloc(state->event_type, 0));

	if (!self)
		return NULL;
	self->event = *event;
	self->udata = Py_XNewRef(udata);
	return (PyObject *)self;
}

static PyObject *event_create(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static const char *const names[] = {
		"ident", "filter", "flags", "fflags", "data", "udata", NULL,
	};
	PyObject *values[6] = {NULL};
	struct xpy_event *self;
	int64_t filter, flags, fflags, data;
	uint64_t ident;

	if (!xpy_parse(args, kwargs, "O|OOOOO:Event", names,
	                                 &values[0], &values[1], &values[2],
	                                 &values[3], &values[4], &values[5]))
		return NULL;
	if (xpy_integer(values[1], "filter", INT16_MIN, INT16_MAX,
	                XPOLL_FILT_READ, &filter) < 0 ||
	    xpy_integer(values[2], "flags", 0, UINT16_MAX, XPOLL_ADD, &flags) < 0 ||
	    xpy_integer(values[3], "fflags", 0, UINT32_MAX, 0, &fflags) < 0 ||
	    xpy_integer(values[4], "data", INT64_MIN, INT64_MAX, 0, &data) < 0 ||
	    xpy_ident(values[0], (int)filter, &ident) < 0)
		return NULL;

	self = as_event(PyType_GenericAlloc(type, 0));
	if (!self)
		return NULL;
	xpoll_set(&self->event, ident, (int)filter, (int)flags, (uint32_t)fflags,
	          data, NULL);
	self->udata = Py_XNewRef(values[5]);
	return (PyObject *)self;
}

static int event_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(as_event(self)->udata);
	return 0;
}

static int event_clear(PyObject *self)
{
	Py_CLEAR(as_event(self)->udata);
	return 0;
}

static void event_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	event_clear(self);
	PyObject_GC_Del(self);
	Py_DECREF(type);
}

static PyObject *event_repr(PyObject *self)
{
	char text[160];

	xpoll_describe(&as_event(self)->event, text, sizeof text);
	if (!as_event(self)->udata || as_event(self)->udata == Py_None)
		return PyUnicode_FromFormat("<xpoll.Event %s>", text);
	return PyUnicode_FromFormat("<xpoll.Event %s udata=%R>", text,
	                            as_event(self)->udata);
}

static Py_hash_t event_hash(PyObject *self)
{
	const struct xpoll_event *event = &as_event(self)->event;
	uint64_t hash = event->ident * 0x9e3779b97f4a7c15u ^ (uint64_t)event->filter;

	return (Py_hash_t)(hash >> 1);
}

/* Compares the fields except udata, in their order.  Returns -1, 0 or 1. */
static int compare_fields(const struct xpoll_event *a, const struct xpoll_event *b)
{
	if (a->ident != b->ident)
		return a->ident < b->ident ? -1 : 1;
	if (a->filter != b->filter)
		return a->filter < b->filter ? -1 : 1;
	if (a->flags != b->flags)
		return a->flags < b->flags ? -1 : 1;
	if (a->fflags != b->fflags)
		return a->fflags < b->fflags ? -1 : 1;
	return a->data < b->data ? -1 : a->data > b->data;
}

static bool holds(int order, int op)
{
	switch (op) {
	case Py_LT:
		return order < 0;
	case Py_LE:
		return order <= 0;
	case Py_GT:
		return order > 0;
	case Py_GE:
		return order >= 0;
	default:
		return (order == 0) == (op == Py_EQ);
	}
}

static PyObject *udata_of(PyObject *self)
{
	return as_event(self)->udata ? as_event(self)->udata : Py_None;
}

static PyObject *event_compare(PyObject *self, PyObject *other, int op)
{
	int order, equal;

	if (!PyObject_TypeCheck(other, Py_TYPE(self)))
		Py_RETURN_NOTIMPLEMENTED;
	order = compare_fields(&as_event(self)->event, &as_event(other)->event);
	if (order != 0)
		return PyBool_FromLong(holds(order, op));
	/* None and None have no order, but are equal. */
	equal = PyObject_RichCompareBool(udata_of(self), udata_of(other), Py_EQ);
	if (equal < 0)
		return NULL;
	if (equal || op == Py_EQ || op == Py_NE)
		return PyBool_FromLong(holds(!equal, op));
	return PyObject_RichCompare(udata_of(self), udata_of(other), op);
}

static PyObject *event_reduce(PyObject *self, PyObject *unused)
{
	const struct xpoll_event *event = &as_event(self)->event;

	(void)unused;
	return Py_BuildValue("O(KiiILO)", Py_TYPE(self),
	                     (unsigned long long)event->ident, event->filter,
	                     event->flags, event->fflags, (long long)event->data,
	                     udata_of(self));
}

static PyMethodDef event_methods[] = {
	{"__reduce__", event_reduce, METH_NOARGS, "For pickle and copy."},
	{NULL, NULL, 0, NULL},
};

#define FIELD(name) offsetof(struct xpy_event, event.name)

static PyMemberDef event_members[] = {
	{"ident", T_ULONGLONG, FIELD(ident), READONLY,
	 "Descriptor, process, signal or id: what `filter` says."},
	{"filter", T_SHORT, FIELD(filter), READONLY, "One of FILT_*."},
	{"flags", T_USHORT, FIELD(flags), READONLY,
	 "In a change ADD, DELETE, ...; in an event EOF and ERROR."},
	{"fflags", T_UINT, FIELD(fflags), READONLY, "NOTE_* of the filter."},
	{"data", T_LONGLONG, FIELD(data), READONLY,
	 "What the filter says; with ERROR in flags: an errno value or 0."},
	{"udata", T_OBJECT, offsetof(struct xpy_event, udata), READONLY,
	 "The object that was given with the registration."},
	{NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(event_doc,
"Event(ident, filter=FILT_READ, flags=ADD, fflags=0, data=0, udata=None)\n"
"--\n"
"\n"
"A change for Queue.control, or an event that it returned.\n"
"\n"
"It has the fields of select.kevent, which are read-only.  ident is an integer or,\n"
"for filters of descriptors, an object with fileno().\n"
"\n"
"Events compare by their fields in this order, and can be pickled if udata can.");

static PyType_Slot event_slots[] = {
	{Py_tp_doc, XPY_DOC(event_doc)},
	{Py_tp_new, XPY_SLOT(event_create)},
	{Py_tp_dealloc, XPY_SLOT(event_dealloc)},
	{Py_tp_traverse, XPY_SLOT(event_traverse)},
	{Py_tp_clear, XPY_SLOT(event_clear)},
	{Py_tp_repr, XPY_SLOT(event_repr)},
	{Py_tp_hash, XPY_SLOT(event_hash)},
	{Py_tp_richcompare, XPY_SLOT(event_compare)},
	{Py_tp_methods, event_methods},
	{Py_tp_members, event_members},
	{0, NULL},
};

PyType_Spec xpy_event_spec = {
	.name = "xpoll.Event",
	.basicsize = sizeof(struct xpy_event),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
	.slots = event_slots,
};
