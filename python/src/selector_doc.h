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
"Stop watching a file object.  Call this before closing it.");

PyDoc_STRVAR(modify_doc,
"modify($self, /, fileobj, events, data=None)\n"
"--\n"
"\n"
"Change a file object's events or data.\n"
"\n"
"Switching events on and off usually costs no system call.");

PyDoc_STRVAR(select_doc,
"select($self, /, timeout=None)\n"
"--\n"
"\n"
"Wait; returns a list of tuples (SelectorKey, events), empty at the timeout.\n"
"\n"
"timeout is in seconds, rounded up to milliseconds; None waits for ever, 0 or less\n"
"does not wait.  Only one thread at a time may call this, others get OSError (EBUSY).");

PyDoc_STRVAR(get_key_doc,
"get_key($self, /, fileobj)\n"
"--\n"
"\n"
"Return the key of a registered file object.");

PyDoc_STRVAR(close_doc,
"close($self, /)\n"
"--\n"
"\n"
"Release the selector; registered files stay open.  Closing it again does nothing.");

PyDoc_STRVAR(fileno_doc,
"fileno($self, /)\n"
"--\n"
"\n"
"Return a descriptor that is readable while a file object is ready, as Queue.fileno.");

PyDoc_STRVAR(reinit_doc,
"reinit($self, /)\n"
"--\n"
"\n"
"Make the selector usable in a forked child, with the same registrations.");

#endif
