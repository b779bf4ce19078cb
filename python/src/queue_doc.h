/* The docstrings of xpoll.Queue.  The first line is the signature. */
#ifndef XPY_QUEUE_DOC_H
#define XPY_QUEUE_DOC_H

#include "xpy.h"

PyDoc_STRVAR(queue_doc,
"Queue(backend=None, size_hint=0, flags=0)\n"
"--\n"
"\n"
"A queue of events: descriptors, timers, signals, processes, file changes,\n"
"asynchronous I/O and the program's own events.\n"
"\n"
"backend    one of xpoll.backends(); None: $XPOLL_BACKEND, else the best\n"
"size_hint  descriptors expected; never a limit\n"
"flags      TELL_MODES: an event's flags have CLEAR, ONESHOT and DISPATCH, too;\n"
"           VNODE_AS_BSD, ALL_READY: see xpoll_open(3)\n"
"\n"
"It is a context manager, and may be used by any number of threads.  Closing a\n"
"descriptor does not need a delete() before.  The udata of a registration is\n"
"kept alive until it is deleted, delivered for the last time, or replaced; after\n"
"a close without a delete() at the latest until the queue is closed.\n"
"\n"
"In a forked child every call raises OSError (EBADF) but close() and reinit().");

PyDoc_STRVAR(control_doc,
"control($self, /, changes, max_events=0, timeout=None, sigmask=None)\n"
"--\n"
"\n"
"Apply changes in order, then wait for events: select.kqueue.control.\n"
"\n"
"changes     Events, or None\n"
"max_events  0: return after the changes\n"
"timeout     in seconds; None: for ever; 0: look only\n"
"sigmask     signals to be blocked while waiting, instead of the thread's own\n"
"\n"
"Returns a list of Events, empty at the timeout or after wake().\n"
"\n"
"A change that fails, or has RECEIPT, comes back with ERROR in flags and its\n"
"errno value, or 0, in data; then these are returned at once.  A failed change\n"
"stops no other.  If there is no room for it in max_events, OSError is raised\n"
"after the other changes.");

PyDoc_STRVAR(wait_doc,
"wait($self, /, timeout=None, max_events=256, sigmask=None)\n"
"--\n"
"\n"
"Wait for events and return a list of them; see control().");

PyDoc_STRVAR(add_doc,
"add($self, /, ident, filter, flags=0, fflags=0, data=0, udata=None)\n"
"--\n"
"\n"
"Register, or modify a registration.\n"
"\n"
"ident   what the filter says: a descriptor or an object with fileno(), a\n"
"        process id, a signal, any number\n"
"filter  one of FILT_*\n"
"flags   CLEAR, ONESHOT, DISPATCH, ENABLE, DISABLE, KEEPUDATA\n"
"fflags  NOTE_* of the filter\n"
"udata   any object; comes back with each event");

PyDoc_STRVAR(delete_doc,
"delete($self, /, ident, filter)\n"
"--\n"
"\n"
"Remove a registration.  FileNotFoundError if there is none.");

PyDoc_STRVAR(enable_doc,
"enable($self, /, ident, filter)\n"
"--\n"
"\n"
"Report a disabled registration again.  Often without a system call.");

PyDoc_STRVAR(disable_doc,
"disable($self, /, ident, filter)\n"
"--\n"
"\n"
"Silence a registration until enable().  Often without a system call.");

PyDoc_STRVAR(trigger_doc,
"trigger($self, /, ident, fflags=0)\n"
"--\n"
"\n"
"Make a FILT_USER event ready.  fflags: bits for it with NOTE_FFCOPY, ...");

PyDoc_STRVAR(ctl_doc,
"ctl($self, /, op, events, fd, udata=None)\n"
"--\n"
"\n"
"Change what is wanted of a descriptor, in the bits of select.poll.\n"
"\n"
"op      ADD, DELETE, ENABLE, DISABLE or ADD|DISABLE; with ADD also CLEAR,\n"
"        ONESHOT, DISPATCH\n"
"events  POLLIN, POLLOUT, POLLPRI, POLLRDHUP: the directions meant\n"
"fd      a descriptor, or an object with fileno()\n"
"udata   with ADD: comes back from poll()");

PyDoc_STRVAR(register_doc,
"register($self, /, fd, eventmask=POLLIN | POLLPRI | POLLOUT, udata=None)\n"
"--\n"
"\n"
"Register a descriptor, in the bits of select.epoll; poll() reports it.\n"
"\n"
"EPOLLET is CLEAR, EPOLLONESHOT is DISPATCH.  One that is registered is\n"
"registered anew: a queue may learn late that a descriptor was closed.");

PyDoc_STRVAR(modify_doc,
"modify($self, /, fd, eventmask, udata=...)\n"
"--\n"
"\n"
"Change what is wanted of a registered descriptor, and enable it; udata stays\n"
"unless another is given.  FileNotFoundError if it is not registered.");

PyDoc_STRVAR(unregister_doc,
"unregister($self, /, fd)\n"
"--\n"
"\n"
"Remove a descriptor, in all directions.  FileNotFoundError if it is not\n"
"registered.");

PyDoc_STRVAR(poll_doc,
"poll($self, /, timeout=None)\n"
"--\n"
"\n"
"Wait for descriptors; returns a list of tuples (fd, revents, udata).\n"
"\n"
"Each descriptor comes once, with the bits that select.poll would give.  One\n"
"thread at a time: OSError (EBUSY).  Other kinds of events are left alone.\n"
"timeout is in seconds, rounded up to milliseconds.");

PyDoc_STRVAR(aio_submit_doc,
"aio_submit($self, /, op, fd, buffer=None, offset=0, *, udata=None)\n"
"--\n"
"\n"
"Start an operation on a file, AIO_READ, AIO_WRITE, AIO_FSYNC or AIO_FDATASYNC,\n"
"and return it as an Aio.\n"
"\n"
"buffer is bytes-like, writable for AIO_READ; only a sync goes without.\n"
"It ends as one FILT_AIO event: data is the number of bytes, or a negative\n"
"errno value; udata is the Aio unless another one is given here.");

PyDoc_STRVAR(aio_cancel_doc,
"aio_cancel($self, aio, /)\n"
"--\n"
"\n"
"Ask for an early end.  The event still comes.  FileNotFoundError if it was\n"
"returned already.");

PyDoc_STRVAR(lookup_doc,
"lookup($self, /, ident, filter)\n"
"--\n"
"\n"
"The registration as it stands, as an Event; None if there is none.");

PyDoc_STRVAR(wake_doc,
"wake($self, /)\n"
"--\n"
"\n"
"Make one wait, one that runs or else the next, return an empty list.");

PyDoc_STRVAR(wake_all_doc,
"wake_all($self, /)\n"
"--\n"
"\n"
"Make every thread that waits now return an empty list.");

PyDoc_STRVAR(fileno_doc,
"fileno($self, /)\n"
"--\n"
"\n"
"A descriptor that is readable while an event is pending, to be watched by\n"
"another selector or event loop; never read or close it.\n"
"\n"
"OSError (ENOTSUP) on back ends without a kernel queue.  From the first call on\n"
"enable() and disable() cost a system call.");

PyDoc_STRVAR(next_timeout_doc,
"next_timeout($self, /)\n"
"--\n"
"\n"
"Seconds until the next timer is due; None if no timer runs.");

PyDoc_STRVAR(reinit_doc,
"reinit($self, /)\n"
"--\n"
"\n"
"In a forked child: the same registrations on kernel objects of the child's own.\n"
"Processes, operations and pending events are dropped.");

PyDoc_STRVAR(supports_doc,
"supports($self, /, filter, fflags=0)\n"
"--\n"
"\n"
"Can this filter be registered with all of these fflags?");

PyDoc_STRVAR(stats_doc,
"stats($self, /)\n"
"--\n"
"\n"
"Counters since the queue was made, as a dict; see xpoll_stats(3).");

PyDoc_STRVAR(close_doc,
"close($self, /)\n"
"--\n"
"\n"
"Release the queue; registered descriptors stay open.  Threads that wait raise\n"
"OSError (EBADF).  May be called again.");

#endif
