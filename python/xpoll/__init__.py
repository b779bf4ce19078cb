"""One event queue for every kernel.

Queue           descriptors, timers, signals, processes, file changes, asynchronous I/O
                and the program's own events in one call
Event           a change or an event, with the fields of select.kevent
Tree            a directory and all below it as one thing to watch
XpollSelector   a selector for the selectors module and asyncio
run             asyncio.run on a loop with that selector
new_event_loop  such a loop, for a loop_factory
EventLoopPolicy makes such loops, for programs that cannot use a factory
flags           the constants as enumerations, which print as names
aio             processes, timers, signals and files for asyncio

The constants have the names of xpoll.h without XPOLL_: FILT_READ, ADD, NOTE_TRIGGER.
"""
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from xpoll._xpoll import *
from xpoll._xpoll import __version__ as __version__
from xpoll.selector import (
    XpollSelector as XpollSelector, new_event_loop as new_event_loop, run as run)

if _TYPE_CHECKING:
    from xpoll import aio as aio, flags as flags
    from xpoll.policy import EventLoopPolicy as EventLoopPolicy


def __getattr__(name: str) -> object:
    # So that xpoll.flags.Flag needs no import of its own.
    if name in ("aio", "flags"):
        return _import_module(f"xpoll.{name}")
    if name != "EventLoopPolicy":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Only a program that uses it has to import asyncio.
    from xpoll.policy import EventLoopPolicy

    return EventLoopPolicy
