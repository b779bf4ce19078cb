"""One event queue for every kernel.

Queue           descriptors, timers, signals, processes, file changes, asynchronous I/O
                and the program's own events in one call
Event           a change, or what happened; its fields are those of select.kevent
XpollSelector   a selector for the selectors module and asyncio
new_event_loop  an asyncio event loop with that selector

The constants have their names of xpoll.h without XPOLL_: FILT_READ, ADD, NOTE_TRIGGER.
"""
from xpoll._xpoll import *
from xpoll._xpoll import __version__ as __version__
from xpoll.selector import XpollSelector as XpollSelector, new_event_loop as new_event_loop
