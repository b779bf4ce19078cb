/* xpoll.Tree: a directory tree as one thing to watch. */
#include "xpy.h"

#include <errno.h>
#include <xpoll_tree.h>

struct xpy_tree {
	PyObject_HEAD
	struct xpoll_tree *tree; /* NULL: closed */
	bool busy;    /* a thread is in `next`: only one may be */
	bool closing; /* the thread in `next` closes the tree when it returns */
};

static struct xpy_tree *as_tree(PyObject *object)
{
	return (struct xpy_tree *)object;
}

/* --- Changes --------------------------------------------------------------------- */

static PyStructSequence_Field change_fields[] = {
	{"kind", "create, delete, rename, change, look, unwatched or end."},
	{"path", "Below the directory; empty: the directory itself."},
	{"to", "The new path of a rename, else None."},
	{"notes", "NOTE_*, of a change and the end."},
	{"error", "An errno value, of unwatched."},
	{NULL, NULL},
};

PyStructSequence_Desc xpy_tree_change_desc = {
	.name = "xpoll.TreeChange",
	.doc = "A change in a Tree.",
	.fields = change_fields,
	.n_in_sequence = 5,
};

static PyObject *path_object(const char *path)
{
	return path ? PyUnicode_DecodeFSDefault(path) : Py_NewRef(Py_None);
}

static PyObject *change_object(struct xpy_state *state, const struct xpoll_tree_change *change)
{
	static const char *const kinds[] = {
		[XPOLL_TREE_CREATE] = "create", [XPOLL_TREE_DELETE] = "delete",
		[XPOLL_TREE_RENAME] = "rename", [XPOLL_TREE_CHANGE] = "change",
		[XPOLL_TREE_LOOK] = "look",     [XPOLL_TREE_UNWATCHED] = "unwatched",
		[XPOLL_TREE_END] = "end",
	};
	/* A kind that only a later library has becomes LOOK, which is right after any change. */
	int kind = change->kind > 0 && change->kind <= XPOLL_TREE_END ? change->kind
	                                                              : XPOLL_TREE_LOOK;
	PyObject *object, *values = Py_BuildValue(
		"(sNNki)", kinds[kind], path_object(change->path),
		path_object(change->to), (unsigned long)change->notes, change->error);

	if (!values)
		return NULL;
	object = PyObject_CallFunctionObjArgs((PyObject *)state->tree_change_type, values, NULL);
	Py_DECREF(values);
	return object;
}

/* --- Waiting --------------------------------------------------------------------- */

static void shut(struct xpy_tree *self)
{
	struct xpoll_tree *tree = self->tree;

	self->tree = NULL;
	self->closing = false;
	xpoll_tree_close(tree);
}

/* Raise ValueError if the tree is closed. */
static int check_open(const struct xpy_tree *self)
{
	if (self->tree && !self->closing)
		return 0;
	PyErr_SetString(PyExc_ValueError, "the tree is closed");
	return -1;
}

/*
 * Wait once.  Returns 1 and stores *object; 0: the timeout is over, or `wake` was called; -EINTR;
 * -ESTALE: the last change was returned; or -1 with an exception.  The tree stays busy while the
 * object is made, because Python code that this runs must not replace the strings.
 */
static int wait_once(struct xpy_tree *self, int64_t timeout_ns, PyObject **object)
{
	struct xpy_state *state = xpy_state_of(Py_TYPE((PyObject *)self));
	struct xpoll_tree_change change;
	PyThreadState *thread;
	int rc, error;

	if (!state || check_open(self) < 0)
		return -1;
	if (self->busy) {
		PyErr_SetString(PyExc_RuntimeError, "another thread waits for this tree");
		return -1;
	}
	self->busy = true;
	thread = PyEval_SaveThread();
	rc = xpoll_tree_next(self->tree, &change, timeout_ns);
	error = errno;
	PyEval_RestoreThread(thread);
	if (rc > 0) {
		*object = change_object(state, &change);
		rc = *object ? 1 : -1;
	} else if (rc < 0 && (error == EINTR || error == ESTALE)) {
		rc = -error;
	} else if (rc < 0) {
		xpy_error(error);
	}
	self->busy = false;
	if (self->closing)
		shut(self);
	return rc;
}

/* Like wait_once, but waits again after signal handlers have run. */
static int wait_for(struct xpy_tree *self, int64_t timeout_ns, PyObject **object)
{
	struct xpy_wait wait;
	int rc;

	xpy_wait_start(&wait, timeout_ns);
	do {
		rc = wait_once(self, wait.timeout_ns, object);
		if (rc == -EINTR)
			rc = xpy_wait_again(NULL, &wait) < 0 ? -1 : -EINTR;
	} while (rc == -EINTR);
	return rc;
}

PyDoc_STRVAR(next_doc,
"next($self, /, timeout=None)\n"
"--\n"
"\n"
"Wait for the next change and return it as a TreeChange; None after timeout seconds, and after\n"
"wake().  One thread at a time may wait.");

static PyObject *tree_next(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static const char *const names[] = {"timeout", NULL};
	PyObject *timeout = NULL, *change;
	int64_t timeout_ns = -1;
	int rc;

	if (!xpy_parse(args, kwargs, "|O:next", names, &timeout) ||
	    (timeout && xpy_timeout(timeout, XPY_NEGATIVE_FAILS, &timeout_ns) < 0))
		return NULL;
	rc = wait_for(as_tree(self), timeout_ns, &change);
	if (rc == 0)
		Py_RETURN_NONE;
	if (rc == -ESTALE)
		return xpy_error(ESTALE);
	return rc > 0 ? change : NULL;
}

/*
 * Returns the next change.  NULL without an exception, after the last change and after `wake`, ends
 * the iteration.
 */
static PyObject *tree_iterate(PyObject *self)
{
	PyObject *change;

	return wait_for(as_tree(self), -1, &change) > 0 ? change : NULL;
}

/* --- The other methods ------------------------------------------------------------ */

PyDoc_STRVAR(fileno_doc,
"fileno($self, /)\n"
"--\n"
"\n"
"A descriptor that is readable when next(0) may return a change.  Never read or close it.");

static PyObject *tree_fileno(PyObject *self, PyObject *unused)
{
	int fd;

	(void)unused;
	if (check_open(as_tree(self)) < 0)
		return NULL;
	fd = xpoll_tree_fd(as_tree(self)->tree);
	return fd < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(fd);
}

PyDoc_STRVAR(wake_doc,
"wake($self, /)\n"
"--\n"
"\n"
"Make the wait of another thread return None, or else the next wait.");

static PyObject *tree_wake(PyObject *self, PyObject *unused)
{
	(void)unused;
	if (check_open(as_tree(self)) < 0)
		return NULL;
	(void)xpoll_tree_wake(as_tree(self)->tree);
	Py_RETURN_NONE;
}

PyDoc_STRVAR(close_doc,
"close($self, /)\n"
"--\n"
"\n"
"Release the tree.  The wait of another thread ends with None, and then closes it.");

static PyObject *tree_close(PyObject *self, PyObject *unused)
{
	struct xpy_tree *tree = as_tree(self);

	(void)unused;
	if (tree->tree && tree->busy) {
		tree->closing = true;
		(void)xpoll_tree_wake(tree->tree);
	} else {
		shut(tree);
	}
	Py_RETURN_NONE;
}

static PyObject *tree_enter(PyObject *self, PyObject *unused)
{
	(void)unused;
	return check_open(as_tree(self)) < 0 ? NULL : Py_NewRef(self);
}

static PyObject *tree_closed(PyObject *self, void *closure)
{
	(void)closure;
	return PyBool_FromLong(!as_tree(self)->tree || as_tree(self)->closing);
}

/* --- The type ---------------------------------------------------------------------- */

/* Opening reads the whole tree, without the GIL. */
static PyObject *tree_create(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static const char *const names[] = {"path", "flat", "links", "notes", NULL};
	struct xpoll_tree_options options = {.size = sizeof options};
	PyObject *path = NULL, *notes = NULL, *self;
	int flat = 0, links = 0, error;
	struct xpoll_tree *tree;
	PyThreadState *thread;
	int64_t number;

	if (!xpy_parse(args, kwargs, "O&|$ppO:Tree", names, PyUnicode_FSConverter, &path,
	                                 &flat, &links, &notes))
		return NULL;
	if (xpy_integer(notes, "notes", 0, UINT32_MAX, 0, &number) < 0) {
		Py_DECREF(path);
		return NULL;
	}
	options.flags = (flat ? XPOLL_TREE_FLAT : 0) | (links ? XPOLL_TREE_LINKS : 0);
	options.notes = (uint32_t)number;
	thread = PyEval_SaveThread();
	tree = xpoll_tree_open(PyBytes_AsString(path), &options);
	error = errno;
	PyEval_RestoreThread(thread);
	if (!tree) {
		errno = error;
		PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
		Py_DECREF(path);
		return NULL;
	}
	Py_DECREF(path);
	self = PyType_GenericAlloc(type, 0);
	if (self)
		as_tree(self)->tree = tree;
	else
		xpoll_tree_close(tree);
	return self;
}

static void tree_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	shut(as_tree(self));
	PyObject_Free(self);
	Py_DECREF(type);
}

XPY_LOCK_WORDS(tree_next)
XPY_LOCK_SLOT(tree_iterate)
XPY_LOCK_ONE(tree_fileno)
XPY_LOCK_ONE(tree_wake)
XPY_LOCK_ONE(tree_close)
XPY_LOCK_ONE(tree_enter)
XPY_LOCK_GETTER(tree_closed)

static PyMethodDef tree_methods[] = {
	{"next", XPY_METHOD(XPY_LOCKED(tree_next)), METH_VARARGS | METH_KEYWORDS, next_doc},
	{"fileno", XPY_LOCKED(tree_fileno), METH_NOARGS, fileno_doc},
	{"wake", XPY_LOCKED(tree_wake), METH_NOARGS, wake_doc},
	{"close", XPY_LOCKED(tree_close), METH_NOARGS, close_doc},
	{"__enter__", XPY_LOCKED(tree_enter), METH_NOARGS, NULL},
	{"__exit__", XPY_LOCKED(tree_close), METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyGetSetDef tree_getset[] = {
	{"closed", XPY_LOCKED(tree_closed), NULL, "Was it closed?", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(tree_doc,
"Tree(path, *, flat=False, links=False, notes=0)\n"
"--\n"
"\n"
"A directory and all below it as one thing to watch.\n"
"\n"
"Directories that are made, moved, removed or replaced are followed, and what is in a new\n"
"directory is reported even if it was made before that directory was watched.  Iterate over it,\n"
"or call next().\n"
"\n"
"flat   not the directories below it\n"
"links  enter directories that symbolic links lead to\n"
"notes  NOTE_WRITE and the like: what to report about the contents of files");

static PyType_Slot tree_slots[] = {
	{Py_tp_doc, XPY_DOC(tree_doc)},
	{Py_tp_new, XPY_SLOT(tree_create)},
	{Py_tp_dealloc, XPY_SLOT(tree_dealloc)},
	{Py_tp_iter, XPY_SLOT(PyObject_SelfIter)},
	{Py_tp_iternext, XPY_SLOT(XPY_LOCKED(tree_iterate))},
	{Py_tp_methods, tree_methods},
	{Py_tp_getset, tree_getset},
	{0, NULL},
};

PyType_Spec xpy_tree_spec = {
	.name = "xpoll.Tree",
	.basicsize = sizeof(struct xpy_tree),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = tree_slots,
};
