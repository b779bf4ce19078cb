/* xpoll._xpoll: the module, its constants and functions. */
#include "xpy.h"

#include <errno.h>
#include <stddef.h>

#define XPY_CONSTANTS
#include <xpy_names.h>

static struct PyModuleDef module_def;

struct xpy_state *xpy_state_of(PyTypeObject *type)
{
	while (type) {
		PyObject *module = PyType_GetModule(type);

		if (module && PyModule_GetDef(module) == &module_def)
			return PyModule_GetState(module);
		/* A subclass has no C module, or that of another extension: look at its base. */
		PyErr_Clear();
		type = PyType_GetSlot(type, Py_tp_base);
	}
	PyErr_SetString(PyExc_SystemError, "no type of this module");
	return NULL;
}

/* --- Functions --------------------------------------------------------------- */

PyDoc_STRVAR(backends_doc,
"backends($module, /)\n"
"--\n"
"\n"
"Return the names of the back ends that are usable here, best first.");

static PyObject *backends(PyObject *module, PyObject *unused)
{
	enum { MOST = 32 };
	const char *names[MOST];
	int count = xpoll_backends(names, MOST);
	PyObject *list = PyList_New(0);

	(void)module;
	(void)unused;
	for (int i = 0; list && i < count && i < MOST; i++) {
		PyObject *name = PyUnicode_FromString(names[i]);

		if (!name || PyList_Append(list, name) < 0)
			Py_CLEAR(list);
		Py_XDECREF(name);
	}
	return list;
}

PyDoc_STRVAR(supports_doc,
"supports($module, /, filter, fflags=0)\n"
"--\n"
"\n"
"Return True if the default back end can register this filter with all of these fflags.");

static PyObject *supports(PyObject *module, PyObject *args, PyObject *kwargs)
{
	static const char *const names[] = {"filter", "fflags", NULL};
	PyObject *notes = NULL;
	int64_t fflags;
	int filter;

	(void)module;
	if (!xpy_parse(args, kwargs, "i|O:supports", names,
	                                 &filter, &notes) ||
	    xpy_integer(notes, "fflags", 0, UINT32_MAX, 0, &fflags) < 0)
		return NULL;
	return PyBool_FromLong(xpoll_supports(NULL, filter, (uint32_t)fflags));
}

/* Calls xpoll_close_fd or xpoll_forget_fd, which may have to wait, without the GIL. */
static PyObject *let_go(PyObject *object, int (*function)(xpoll_fd_t fd))
{
	int fd = PyObject_AsFileDescriptor(object);
	PyThreadState *thread;
	int rc;

	if (fd < 0)
		return NULL;
	thread = PyEval_SaveThread();
	rc = function(fd);
	PyEval_RestoreThread(thread);
	if (rc < 0)
		return PyErr_SetFromErrno(PyExc_OSError);
	Py_RETURN_NONE;
}

PyDoc_STRVAR(close_fd_doc,
"close_fd($module, fd, /)\n"
"--\n"
"\n"
"Remove a descriptor from every queue and selector of the process, and close it.");

static PyObject *close_fd(PyObject *module, PyObject *fd)
{
	(void)module;
	return let_go(fd, xpoll_close_fd);
}

PyDoc_STRVAR(forget_fd_doc,
"forget_fd($module, fd, /)\n"
"--\n"
"\n"
"Remove a descriptor from every queue and selector of the process.");

static PyObject *forget_fd(PyObject *module, PyObject *fd)
{
	(void)module;
	return let_go(fd, xpoll_forget_fd);
}

static PyMethodDef module_methods[] = {
	{"backends", backends, METH_NOARGS, backends_doc},
	{"supports", XPY_METHOD(supports), METH_VARARGS | METH_KEYWORDS,
	 supports_doc},
	{"close_fd", close_fd, METH_O, close_fd_doc},
	{"forget_fd", forget_fd, METH_O, forget_fd_doc},
	{NULL, NULL, 0, NULL},
};

/* --- The module ----------------------------------------------------------------- */

static int add_constants(PyObject *module)
{
	unsigned version = xpoll_version();
	PyObject *text;
	int rc;

	for (int i = 0; xpy_constants[i].name; i++) {
		PyObject *value = PyLong_FromLongLong(xpy_constants[i].value);

		rc = value ? PyModule_AddObjectRef(module, xpy_constants[i].name,
		                                   value) : -1;
		Py_XDECREF(value);
		if (rc < 0)
			return -1;
	}
	text = PyUnicode_FromFormat("%u.%u.%u", version >> 16, version >> 8 & 255,
	                            version & 255);
	rc = text ? PyModule_AddObjectRef(module, "__version__", text) : -1;
	Py_XDECREF(text);
	return rc;
}

static int make_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
	*type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
	return *type ? 0 : -1;
}

static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
	return make_type(module, spec, type) < 0 ? -1 : PyModule_AddType(module, *type);
}

static int add_tree_change(PyObject *module, struct xpy_state *state)
{
	state->tree_change_type = PyStructSequence_NewType(&xpy_tree_change_desc);
	return state->tree_change_type ? PyModule_AddType(module, state->tree_change_type) : -1;
}

static int import_selector_key(struct xpy_state *state)
{
	PyObject *selectors = PyImport_ImportModule("selectors");
	PyObject *key = selectors
		? PyObject_GetAttrString(selectors, "SelectorKey") : NULL;

	Py_XDECREF(selectors);
	state->selector_key = (PyTypeObject *)key;
	return key ? 0 : -1;
}

static int match_args(PyTypeObject *type)
{
	PyObject *names = Py_BuildValue("(ssssss)", "ident", "filter", "flags",
	                                "fflags", "data", "udata");
	int rc = names ? PyObject_SetAttrString((PyObject *)type, "__match_args__",
	                                        names) : -1;

	Py_XDECREF(names);
	return rc;
}

static int module_exec(PyObject *module)
{
	struct xpy_state *state = PyModule_GetState(module);

	if (add_type(module, &xpy_event_spec, &state->event_type) < 0 ||
	    add_type(module, &xpy_aio_spec, &state->aio_type) < 0 ||
	    add_type(module, &xpy_queue_spec, &state->queue_type) < 0 ||
	    add_type(module, &xpy_selector_spec, &state->selector_type) < 0 ||
	    add_type(module, &xpy_tree_spec, &state->tree_type) < 0 ||
	    add_tree_change(module, state) < 0 ||
	    make_type(module, &xpy_guard_spec, &state->guard_type) < 0 ||
	    match_args(state->event_type) < 0 || import_selector_key(state) < 0)
		return -1;
	return add_constants(module);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	struct xpy_state *state = PyModule_GetState(module);

	Py_VISIT(state->event_type);
	Py_VISIT(state->aio_type);
	Py_VISIT(state->queue_type);
	Py_VISIT(state->guard_type);
	Py_VISIT(state->selector_type);
	Py_VISIT(state->tree_type);
	Py_VISIT(state->tree_change_type);
	Py_VISIT(state->selector_key);
	return 0;
}

static int module_clear(PyObject *module)
{
	struct xpy_state *state = PyModule_GetState(module);

	Py_CLEAR(state->event_type);
	Py_CLEAR(state->aio_type);
	Py_CLEAR(state->queue_type);
	Py_CLEAR(state->guard_type);
	Py_CLEAR(state->selector_type);
	Py_CLEAR(state->tree_type);
	Py_CLEAR(state->tree_change_type);
	Py_CLEAR(state->selector_key);
	return 0;
}

static void module_free(void *module)
{
	module_clear(module);
}

static PyModuleDef_Slot module_slots[] = {
	{Py_mod_exec, XPY_SLOT(module_exec)},
#ifdef Py_GIL_DISABLED
	{Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
	{0, NULL},
};

static struct PyModuleDef module_def = {
	.m_base = PyModuleDef_HEAD_INIT,
	.m_name = "xpoll._xpoll",
	.m_doc = "The extension module of xpoll; import xpoll instead.",
	.m_size = sizeof(struct xpy_state),
	.m_methods = module_methods,
	.m_slots = module_slots,
	.m_traverse = module_traverse,
	.m_clear = module_clear,
	.m_free = module_free,
};

PyMODINIT_FUNC PyInit__xpoll(void);

PyMODINIT_FUNC PyInit__xpoll(void)
{
	return PyModuleDef_Init(&module_def);
}
