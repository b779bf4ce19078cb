/* The docstrings of xpoll.Queue.  The first line is the signature. */
#ifndef XPY_QUEUE_DOC_H
#define XPY_QUEUE_DOC_H

#include "xpy.h"

PyDoc_STRVAR(queue_doc,
"Queue(backend=None, size_hint=0, flags=0, busy_poll_us=0)\n"
"--\n"
"\n"
"A queue of events: descriptors, timers, signals, processes, file changes,\n"
"asynchronous I/O and the program's own events.\n"
"\n"
"backend       one of xpoll.backends(); None means $XPOLL_BACKEND, or the best one\n"
"size_hint     how many descriptors are expected; not a limit\n"
"flags         TELL_MODES: the flags of events include CLEAR, ONESHOT and DISPATCH;\n"
"              VNODE_AS_BSD, ALL_READY: see xpoll_open(3);\n"
"              RESTART: no signal ends a wait, so its Python handler runs after it;\n"
"              COUNT_IDLE: idle_ns of stats() is the time that threads slept\n"
"busy_poll_us  before a wait sleeps, the kernel polls the network device for up to\n"
"              so many microseconds; OSError (ENOTSUP) where it cannot\n"
"\n"
"A queue is a context manager, and any number of threads may use it.  A descriptor\n"
"may be closed without delete().  The queue keeps the udata of a registration\n"
"alive until the registration is deleted or delivered for the last time, or the\n"
"udata is replaced; if a descriptor is closed without delete(), possibly until the\n"
"queue is closed.\n"
"\n"
"In a forked child every call except close() and reinit() raises OSError (EBADF).");

PyDoc_STRVAR(control_doc,
"control($self, /, changes, max_events=0, timeout=None, sigmask=None)\n"
"--\n"
"\n"
"Apply changes in order, then wait for events, like select.kqueue.control.\n"
"\n"
"changes     an iterable of Events, or None; none may be of FILT_AIO\n"
"max_events  the most events to return; with 0 return after the changes\n"
"timeout     in seconds; None waits for ever, 0 does not wait\n"
"sigmask     signals to block while waiting, in place of the thread's mask\n"
"\n"
"Returns a list of Events, empty at the timeout or after wake().\n"
"\n"
"A change that fails or has RECEIPT is returned with ERROR in flags and its errno\n"
"value, or 0, in data; its udata is that of the change, so look for ERROR first.  If\n"
"there are such changes, the call returns them and does not wait.  The changes after\n"
"a failed one are applied.  If max_events is too small for a failed change, OSError is\n"
"raised after the other changes.");

PyDoc_STRVAR(wait_doc,
"wait($self, /, timeout=None, max_events=256, sigmask=None)\n"
"--\n"
"\n"
"Wait for events and return a list of them; see control().");

PyDoc_STRVAR(add_doc,
"add($self, /, ident, filter, flags=0, fflags=0, data=0, udata=None)\n"
"--\n"
"\n"
"Add a registration, or modify an existing one.\n"
"\n"
"ident   by filter: a descriptor or an object with fileno(), a process id, a\n"
"        signal number, or any number\n"
"filter  one of FILT_* but FILT_AIO: aio_submit starts an operation\n"
"flags   CLEAR, ONESHOT, DISPATCH, ENABLE, DISABLE, KEEPUDATA\n"
"fflags  NOTE_* of the filter\n"
"data    a number of the filter: the milliseconds of FILT_TIMER, or the unit that\n"
"        fflags name; the bytes of NOTE_LOWAT\n"
"udata   any object; each event has it");

PyDoc_STRVAR(delete_doc,
"delete($self, /, ident, filter)\n"
"--\n"
"\n"
"Remove a registration.  FileNotFoundError if there is none, OSError (EBADF) if the\n"
"descriptor is closed, which has removed it.  ValueError for FILT_AIO, here and in the\n"
"other changes: an operation is ended by aio_cancel, or by itself.");

PyDoc_STRVAR(enable_doc,
"enable($self, /, ident, filter)\n"
"--\n"
"\n"
"Deliver events of a disabled registration again.  Usually no system call.");

PyDoc_STRVAR(disable_doc,
"disable($self, /, ident, filter)\n"
"--\n"
"\n"
"Deliver no events of a registration until enable().  Usually no system call.");

PyDoc_STRVAR(trigger_doc,
"trigger($self, /, ident, fflags=0)\n"
"--\n"
"\n"
"Make a FILT_USER event ready.  fflags are its bits, with NOTE_FFCOPY or the like.");

PyDoc_STRVAR(ctl_doc,
"ctl($self, /, op, events, fd, udata=None)\n"
"--\n"
"\n"
"Change the registrations of a descriptor, by the bits of select.poll.\n"
"\n"
"op      ADD, DELETE, ENABLE, DISABLE or ADD|DISABLE; with ADD also CLEAR,\n"
"        ONESHOT, DISPATCH; with the last two WHOLE: a record of one direction\n"
"        deletes or disables all of them\n"
"events  the directions to change: POLLIN, POLLOUT, POLLPRI, POLLRDHUP; 0: an\n"
"        interest in errors and hang-ups only\n"
"fd      a descriptor, or an object with fileno()\n"
"udata   stored by ADD; poll() returns it");

PyDoc_STRVAR(register_doc,
"register($self, /, fd, eventmask=POLLIN | POLLPRI | POLLOUT, udata=None)\n"
"--\n"
"\n"
"Register a descriptor by the bits of select.epoll; poll() returns it.\n"
"\n"
"EPOLLET means CLEAR, and EPOLLONESHOT means DISPATCH|WHOLE.  A descriptor that is\n"
"registered already is registered again, because a queue may notice late that a\n"
"descriptor was closed.");

PyDoc_STRVAR(modify_doc,
"modify($self, /, fd, eventmask, udata=...)\n"
"--\n"
"\n"
"Change the events of a registered descriptor, and enable it.  udata is kept\n"
"unless it is given.  FileNotFoundError if the descriptor is not registered.");

PyDoc_STRVAR(unregister_doc,
"unregister($self, /, fd)\n"
"--\n"
"\n"
"Remove all registrations of a descriptor.  FileNotFoundError if there is none.");

PyDoc_STRVAR(poll_doc,
"poll($self, /, timeout=None, max_events=256, sigmask=None)\n"
"--\n"
"\n"
"Wait for descriptors; returns a list of tuples (fd, revents, udata).\n"
"\n"
"Each descriptor is returned once, with the bits that select.poll would return.\n"
"Other kinds of events are not lost; control() returns them.  Any number of threads\n"
"may call this; while one of them waits, control() and wait() raise OSError (EBUSY)\n"
"instead of waiting, and the other way round.\n"
"\n"
"timeout     in seconds; None waits for ever, 0 does not wait\n"
"max_events  the most descriptors to return; the next call returns the others\n"
"sigmask     signals to block while waiting, in place of the thread's mask");

PyDoc_STRVAR(aio_submit_doc,
"aio_submit($self, /, op, fd, buffer=None, offset=0, *, udata=None)\n"
"--\n"
"\n"
"Start an operation on a file, AIO_READ, AIO_WRITE, AIO_FSYNC or AIO_FDATASYNC,\n"
"and return it as an Aio.\n"
"\n"
"buffer is bytes-like, and writable for AIO_READ; only a sync needs none.\n"
"The end of the operation is one FILT_AIO event: data is the number of bytes, or a\n"
"negative errno value; udata is the Aio unless it is given here.");

PyDoc_STRVAR(aio_cancel_doc,
"aio_cancel($self, aio, /)\n"
"--\n"
"\n"
"Try to cancel an operation.  Its event is still delivered.  FileNotFoundError if\n"
"the event was returned already.");

PyDoc_STRVAR(lookup_doc,
"lookup($self, /, ident, filter)\n"
"--\n"
"\n"
"Return a registration in its present state, as an Event, or None.");

PyDoc_STRVAR(wake_doc,
"wake($self, /)\n"
"--\n"
"\n"
"Make one wait return an empty list: one in progress, otherwise the next one.");

PyDoc_STRVAR(wake_all_doc,
"wake_all($self, /)\n"
"--\n"
"\n"
"Make every thread that waits now return an empty list.");

PyDoc_STRVAR(fileno_doc,
"fileno($self, /)\n"
"--\n"
"\n"
"Return a descriptor that is readable while an event is pending, for another\n"
"selector or event loop to watch.  Never read or close it.\n"
"\n"
"OSError (ENOTSUP) on back ends without a kernel queue.  After the first call\n"
"an enable() that could cause an event may cost a system call.");

PyDoc_STRVAR(next_timeout_doc,
"next_timeout($self, /)\n"
"--\n"
"\n"
"Return the seconds until the next timer expires; None if no timer runs.");

PyDoc_STRVAR(reinit_doc,
"reinit($self, /)\n"
"--\n"
"\n"
"Make the queue usable in a forked child, with the same registrations.\n"
"\n"
"Registrations of processes, operations in progress and pending events are dropped.");

PyDoc_STRVAR(supports_doc,
"supports($self, /, filter, fflags=0)\n"
"--\n"
"\n"
"Return True if this filter can be registered with all of these fflags.");

PyDoc_STRVAR(stats_doc,
"stats($self, /)\n"
"--\n"
"\n"
"Counters since the queue was made, as a dict; see xpoll_stats(3).");

PyDoc_STRVAR(close_doc,
"close($self, /)\n"
"--\n"
"\n"
"Release the queue; registered descriptors stay open.  Waits in progress raise\n"
"OSError (EBADF).  Closing a closed queue does nothing.");

#endif
