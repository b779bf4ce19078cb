/* The docstrings of the selector.  The first line is the signature. */
#ifndef XPY_SELECTOR_DOC_H
#define XPY_SELECTOR_DOC_H

#include "xpy.h"

PyDoc_STRVAR(register_doc,
"register($self, /, fileobj, events, data=None)\n"
"--\n"
"\n"
"Register a file object for EVENT_READ, EVENT_WRITE or both.");

PyDoc_STRVAR(unregister_doc,
"unregister($self, /, fileobj)\n"
"--\n"
"\n"
"Stop watching a file object; to be called before it is closed.");

PyDoc_STRVAR(modify_doc,
"modify($self, /, fileobj, events, data=None)\n"
"--\n"
"\n"
"Change a file object's events or data.\n"
"\n"
"To go back and forth between events costs no system call, usually.");

PyDoc_STRVAR(select_doc,
"select($self, /, timeout=None)\n"
"--\n"
"\n"
"Wait; returns a list of tuples (SelectorKey, events), empty at the timeout.\n"
"\n"
"timeout is in seconds, rounded up to milliseconds; None: for ever; 0 or less:\n"
"only look.  One thread at a time: OSError (EBUSY).");

PyDoc_STRVAR(get_key_doc,
"get_key($self, /, fileobj)\n"
"--\n"
"\n"
"The key of a registered file object.");

PyDoc_STRVAR(close_doc,
"close($self, /)\n"
"--\n"
"\n"
"Release the selector; registered files stay open.  May be called again.");

PyDoc_STRVAR(fileno_doc,
"fileno($self, /)\n"
"--\n"
"\n"
"A descriptor that is readable while a file object is ready; see Queue.fileno.");

PyDoc_STRVAR(reinit_doc,
"reinit($self, /)\n"
"--\n"
"\n"
"In a forked child: the same registrations on kernel objects of the child's own.");

#endif
