/* xpoll._xpoll._Selector: the type. */
#include "selector_type.h"

#include <stddef.h>

static PyObject *selector_create(PyTypeObject *type, PyObject *args,
                                 PyObject *kwargs)
{
	static const char *const names[] = {"backend", "size_hint", NULL};
	struct xpoll_options options = {.size = sizeof options};
	long long size_hint = 0;
	struct xpy_selector *self;
	struct xpy_state *state;
	PyObject *keys;

	if (!xpy_parse(args, kwargs, "|zL:Selector", names,
	                                 &options.backend, &size_hint))
		return NULL;
	keys = PyDict_New();
	state = keys ? xpy_state_of(type) : NULL;
	/*
	 * Allocate the object last, because from then on the garbage collector may show it to other
	 * code.
	 */
	self = state ? xpy_as_selector(PyType_GenericAlloc(type, 0)) : NULL;
	if (!self) {
		Py_XDECREF(keys);
		return NULL;
	}
	self->tuple_new = __extension__(newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new);
	self->state = state;
	self->keys = keys;
	if (xpy_handle_open(&self->handle, &options, size_hint) < 0)
		Py_CLEAR(self);
	return (PyObject *)self;
}

static int selector_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(xpy_as_selector(self)->keys);
	return 0;
}

static int selector_clear(PyObject *self)
{
	if (xpy_as_selector(self)->keys)
		PyDict_Clear(xpy_as_selector(self)->keys);
	return 0;
}

static void selector_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	xpy_handle_fini(&xpy_as_selector(self)->handle);
	Py_CLEAR(xpy_as_selector(self)->keys);
	PyObject_GC_Del(self);
	Py_DECREF(type);
}

static PyObject *selector_repr(PyObject *self)
{
	struct xpy_handle *handle = &xpy_as_selector(self)->handle;
	PyObject *name = PyType_GetQualName(Py_TYPE(self));
	PyObject *text = NULL;

	if (name && (!handle->queue || handle->closing))
		text = PyUnicode_FromFormat("<xpoll.%U closed>", name);
	else if (name)
		text = PyUnicode_FromFormat("<xpoll.%U backend='%s' registered=%zd>",
		                            name, xpoll_backend(handle->queue),
		                            PyDict_Size(xpy_as_selector(self)->keys));
	Py_XDECREF(name);
	return text;
}

static PyObject *selector_close(PyObject *self, PyObject *unused)
{
	(void)unused;
	xpy_handle_close(&xpy_as_selector(self)->handle);
	PyDict_Clear(xpy_as_selector(self)->keys);
	Py_RETURN_NONE;
}

static PyObject *selector_reinit(PyObject *self, PyObject *unused)
{
	(void)unused;
	if (xpy_handle_reinit(&xpy_as_selector(self)->handle) < 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *selector_fileno(PyObject *self, PyObject *unused)
{
	struct xpy_handle *handle = &xpy_as_selector(self)->handle;
	int fd;

	(void)unused;
	if (xpy_handle_check(handle) < 0)
		return NULL;
	fd = xpoll_fd(handle->queue);
	return fd < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(fd);
}

static PyObject *selector_backend(PyObject *self, void *closure)
{
	struct xpy_handle *handle = &xpy_as_selector(self)->handle;

	(void)closure;
	if (xpy_handle_check(handle) < 0)
		return NULL;
	return PyUnicode_FromString(xpoll_backend(handle->queue));
}

static PyObject *selector_closed(PyObject *self, void *closure)
{
	struct xpy_handle *handle = &xpy_as_selector(self)->handle;

	(void)closure;
	return PyBool_FromLong(!handle->queue || handle->closing);
}

XPY_LOCK_FAST(xpy_selector_register)
XPY_LOCK_FAST(xpy_selector_unregister)
XPY_LOCK_FAST(xpy_selector_modify)
XPY_LOCK_FAST(xpy_selector_select)
XPY_LOCK_FAST(xpy_selector_get_key)
XPY_LOCK_FAST(xpy_selector_get)
XPY_LOCK_ONE(selector_close)
XPY_LOCK_ONE(selector_fileno)
XPY_LOCK_ONE(selector_reinit)
XPY_LOCK_ONE(xpy_selector_find)
XPY_LOCK_GETTER(selector_backend)
XPY_LOCK_GETTER(selector_closed)
XPY_LOCK_SLOT(selector_repr)

static PyGetSetDef selector_getset[] = {
	{"backend", XPY_LOCKED(selector_backend), NULL, "The name of the back end.", NULL},
	{"closed", XPY_LOCKED(selector_closed), NULL, "Was close() called?", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef selector_members[] = {
	{"_keys", T_OBJECT, offsetof(struct xpy_selector, keys), READONLY,
	 "{descriptor: SelectorKey}"},
	{NULL, 0, 0, 0, NULL},
};

#define FAST METH_FASTCALL | METH_KEYWORDS

#include "selector_doc.h"

static PyMethodDef selector_methods[] = {
	{"register", XPY_METHOD(XPY_LOCKED(xpy_selector_register)), FAST, register_doc},
	{"unregister", XPY_METHOD(XPY_LOCKED(xpy_selector_unregister)), FAST, unregister_doc},
	{"modify", XPY_METHOD(XPY_LOCKED(xpy_selector_modify)), FAST, modify_doc},
	{"select", XPY_METHOD(XPY_LOCKED(xpy_selector_select)), FAST, select_doc},
	{"get_key", XPY_METHOD(XPY_LOCKED(xpy_selector_get_key)), FAST, get_key_doc},
	{"close", XPY_LOCKED(selector_close), METH_NOARGS, close_doc},
	{"fileno", XPY_LOCKED(selector_fileno), METH_NOARGS, fileno_doc},
	{"reinit", XPY_LOCKED(selector_reinit), METH_NOARGS, reinit_doc},
	{"_find", XPY_LOCKED(xpy_selector_find), METH_O, NULL},
	{"_get", XPY_METHOD(XPY_LOCKED(xpy_selector_get)), FAST, NULL},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot selector_slots[] = {
	{Py_tp_new, XPY_SLOT(selector_create)},
	{Py_tp_dealloc, XPY_SLOT(selector_dealloc)},
	{Py_tp_traverse, XPY_SLOT(selector_traverse)},
	{Py_tp_clear, XPY_SLOT(selector_clear)},
	{Py_tp_methods, selector_methods},
	{Py_tp_repr, XPY_SLOT(XPY_LOCKED(selector_repr))},
	{Py_tp_members, selector_members},
	{Py_tp_getset, selector_getset},
	{0, NULL},
};

PyType_Spec xpy_selector_spec = {
	.name = "xpoll._xpoll._Selector",
	.basicsize = sizeof(struct xpy_selector),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
	.slots = selector_slots,
};
