/* xpoll.Aio: one asynchronous operation. */
#include "queue_type.h"

#include <limits.h>
#include <stddef.h>

struct xpy_aio {
	PyObject_HEAD
	struct xpoll_aio operation;
	Py_buffer view;  /* view.obj is NULL: no buffer, or it was released */
	PyObject *udata; /* NULL: None */
	bool done;
};

static struct xpy_aio *as_aio(PyObject *object)
{
	return (struct xpy_aio *)object;
}

static int parse_operation(struct xpy_aio *aio, PyObject *op, PyObject *fd,
                           PyObject *buffer, PyObject *offset)
{
	struct xpoll_aio *operation = &aio->operation;
	int64_t number;

	if (xpy_integer(op, "op", 0, INT_MAX, 0, &number) < 0 ||
	    xpy_integer(offset, "offset", 0, INT64_MAX, 0, &operation->offset) < 0)
		return -1;
	operation->size = sizeof *operation;
	operation->op = (int)number;
	operation->fd = PyObject_AsFileDescriptor(fd);
	if (operation->fd < 0)
		return -1;
	if (!buffer || buffer == Py_None) {
		if (number != XPOLL_AIO_READ && number != XPOLL_AIO_WRITE)
			return 0;
		/* An operation without a buffer would return 0, like the end of the file. */
		PyErr_SetString(PyExc_TypeError,
		                "AIO_READ and AIO_WRITE need a buffer");
		return -1;
	}
	if (PyObject_GetBuffer(buffer, &aio->view,
	                       number == XPOLL_AIO_READ ? PyBUF_WRITABLE
	                       : PyBUF_SIMPLE) < 0)
		return -1;
	operation->buffer = aio->view.buf;
	operation->length = (size_t)aio->view.len;
	return 0;
}

static int submit(struct xpy_queue *queue, struct xpy_aio *aio)
{
	struct xpoll_event event = {
		.ident = (uintptr_t)&aio->operation,
		.filter = XPOLL_FILT_AIO,
	};

	if (xpy_handle_check(&queue->handle) < 0 ||
	    xpy_cells_reserve(&queue->cells, &queue->handle) < 0)
		return -1;
	/* The cell keeps the operation and its buffer alive until the event. */
	event.udata64 = xpy_cells_make(&queue->cells, &event, false, (PyObject *)aio);
	aio->operation.udata = event.udata;
	if (xpoll_aio_submit(queue->handle.queue, &aio->operation) < 0) {
		PyErr_SetFromErrno(PyExc_OSError);
		xpy_cells_drop(&queue->cells, event.udata64);
		return -1;
	}
	return 0;
}

PyObject *xpy_queue_aio_submit(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static const char *const names[] = {"op", "fd", "buffer", "offset", "udata", NULL};
	struct xpy_queue *queue = xpy_as_queue(self);
	PyObject *op, *fd, *buffer = NULL, *offset = NULL, *udata = NULL;
	struct xpy_aio *aio;

	if (!xpy_parse(args, kwargs, "OO|OO$O:aio_submit", names,
	                                 &op, &fd, &buffer, &offset, &udata) ||
	    xpy_handle_check(&queue->handle) < 0)
		return NULL;
	aio = as_aio(PyType_GenericAlloc(queue->state->aio_type, 0));
	if (!aio)
		return NULL;
	aio->udata = udata == Py_None ? NULL : Py_XNewRef(udata);
	if (parse_operation(aio, op, fd, buffer, offset) < 0 ||
	    submit(queue, aio) < 0)
		Py_CLEAR(aio);
	return (PyObject *)aio;
}

PyObject *xpy_queue_aio_cancel(PyObject *self, PyObject *aio)
{
	struct xpy_queue *queue = xpy_as_queue(self);

	if (!PyObject_TypeCheck(aio, queue->state->aio_type)) {
		PyErr_SetString(PyExc_TypeError, "expected an xpoll.Aio");
		return NULL;
	}
	if (xpy_handle_check(&queue->handle) < 0)
		return NULL;
	if (xpoll_aio_cancel(queue->handle.queue, &as_aio(aio)->operation) < 0)
		return PyErr_SetFromErrno(PyExc_OSError);
	Py_RETURN_NONE;
}

PyObject *xpy_aio_ended(PyObject *object, int64_t result)
{
	struct xpy_aio *aio = as_aio(object);

	PyObject *udata = Py_NewRef(aio->udata ? aio->udata : object);

	/* Other threads may be calling methods of the operation. */
	XPY_BEGIN(object);
	aio->done = true;
	aio->operation.result = result;
	XPY_END();
	PyBuffer_Release(&aio->view);
	return udata;
}

/* --- The type ------------------------------------------------------------------ */

static int aio_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(as_aio(self)->view.obj);
	Py_VISIT(as_aio(self)->udata);
	return 0;
}

/* Leave the buffer, because the library may still use it. */
static int aio_clear(PyObject *self)
{
	Py_CLEAR(as_aio(self)->udata);
	return 0;
}

static void aio_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	aio_clear(self);
	PyBuffer_Release(&as_aio(self)->view);
	PyObject_GC_Del(self);
	Py_DECREF(type);
}

static const char *operation_name(int op)
{
	switch (op) {
	case XPOLL_AIO_READ:
		return "READ";
	case XPOLL_AIO_WRITE:
		return "WRITE";
	case XPOLL_AIO_FSYNC:
		return "FSYNC";
	default:
		return "FDATASYNC";
	}
}

static PyObject *aio_repr(PyObject *self)
{
	const struct xpoll_aio *operation = &as_aio(self)->operation;
	PyObject *text = PyUnicode_FromFormat("<xpoll.Aio %s fd=%d",
	                                      operation_name(operation->op),
	                                      operation->fd);
	PyObject *longer = NULL;

	if (text && operation->op != XPOLL_AIO_FSYNC &&
	    operation->op != XPOLL_AIO_FDATASYNC) {
		longer = PyUnicode_FromFormat("%U offset=%lld length=%zu", text,
		                              (long long)operation->offset,
		                              operation->length);
		Py_DECREF(text);
		text = longer;
	}
	if (!text)
		return NULL;
	longer = as_aio(self)->done
		? PyUnicode_FromFormat("%U result=%lld>", text,
		                       (long long)operation->result)
		: PyUnicode_FromFormat("%U in flight>", text);
	Py_DECREF(text);
	return longer;
}

static PyObject *aio_result(PyObject *self, void *closure)
{
	(void)closure;
	if (!as_aio(self)->done)
		Py_RETURN_NONE;
	return PyLong_FromLongLong(as_aio(self)->operation.result);
}

static PyObject *aio_ident(PyObject *self, void *closure)
{
	(void)closure;
	return PyLong_FromVoidPtr(&as_aio(self)->operation);
}

static PyObject *aio_done(PyObject *self, void *closure)
{
	(void)closure;
	return PyBool_FromLong(as_aio(self)->done);
}

XPY_LOCK_SLOT(aio_repr)
XPY_LOCK_GETTER(aio_result)
XPY_LOCK_GETTER(aio_done)

static PyGetSetDef aio_getset[] = {
	{"done", XPY_LOCKED(aio_done), NULL, "Was its event returned?", NULL},
	{"result", XPY_LOCKED(aio_result), NULL,
	 "Bytes done or a negative errno value; None until the event was returned.",
	 NULL},
	{"ident", aio_ident, NULL, "The ident of its event.", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

#define FIELD(name) offsetof(struct xpy_aio, name)

static PyMemberDef aio_members[] = {
	{"op", T_INT, FIELD(operation.op), READONLY, "One of AIO_*."},
	{"fd", T_INT, FIELD(operation.fd), READONLY, "The descriptor."},
	{"offset", T_LONGLONG, FIELD(operation.offset), READONLY,
	 "Bytes from the start of the file."},
	{"udata", T_OBJECT, FIELD(udata), READONLY, "The udata that aio_submit got."},
	{NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(aio_doc,
"An asynchronous operation, made by Queue.aio_submit.\n"
"\n"
"Do not touch the buffer until the event of the operation was returned.  Until then\n"
"the queue keeps the operation and the buffer alive.");

static PyType_Slot aio_slots[] = {
	{Py_tp_doc, XPY_DOC(aio_doc)},
	{Py_tp_dealloc, XPY_SLOT(aio_dealloc)},
	{Py_tp_traverse, XPY_SLOT(aio_traverse)},
	{Py_tp_clear, XPY_SLOT(aio_clear)},
	{Py_tp_repr, XPY_SLOT(XPY_LOCKED(aio_repr))},
	{Py_tp_members, aio_members},
	{Py_tp_getset, aio_getset},
	{0, NULL},
};

PyType_Spec xpy_aio_spec = {
	.name = "xpoll.Aio",
	.basicsize = sizeof(struct xpy_aio),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
		Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = aio_slots,
};
