"""Processes, timers, signals and files for asyncio programs.

    status = await xpoll.aio.process(pid)
    async for count in xpoll.aio.timer(0.5): ...
    async for event in xpoll.aio.signals(signal.SIGHUP): ...
    async for event in xpoll.aio.watch("/etc/hosts"): ...

These work on any event loop that has add_reader.  Each has a queue of its own.  The queue is
closed when the await or the loop ends or is cancelled, and after a break at the next turn of the
event loop.
"""
from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncIterator
from types import TracebackType

from xpoll import _xpoll
from xpoll._xpoll import Event, Queue

__all__ = ["process", "signals", "timer", "watch"]

_EVENTS_OF_A_FILE = (_xpoll.NOTE_DELETE | _xpoll.NOTE_WRITE | _xpoll.NOTE_EXTEND
                     | _xpoll.NOTE_ATTRIB | _xpoll.NOTE_LINK | _xpoll.NOTE_RENAME
                     | _xpoll.NOTE_REVOKE)


class _Events:
    """The events of a queue, for the loop that runs."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.queue = Queue()

    def __enter__(self) -> _Events:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc_value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.queue.close()

    async def wait(self) -> list[Event]:
        """At least one."""
        while not (events := self.queue.wait(0)):
            future: asyncio.Future[None] = self._loop.create_future()
            fd = self.queue.fileno()
            # Only as long as somebody waits: it stays readable until then.
            self._loop.add_reader(fd, _ready, future)
            try:
                await future
            finally:
                self._loop.remove_reader(fd)
        return events


def _ready(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def process(pid: int) -> int | None:
    """Wait for the end of a process, a child or any other visible process.

    Returns its wait status, for os.waitstatus_to_exitcode, or None if the kernel does not report
    it, as for most processes that are not children.  It does not reap a child.
    ProcessLookupError if there is no such process.
    """
    with _Events() as events:
        events.queue.add(pid, _xpoll.FILT_PROC, fflags=_xpoll.NOTE_EXIT)
        event, = await events.wait()
    return None if event.fflags & _xpoll.NOTE_STATUS_UNKNOWN else event.data


async def timer(seconds: float) -> AsyncIterator[int]:
    """Yield, after each period of so many seconds, how many have passed; without drift."""
    if not 0 < seconds < 2**63 / 1e9:
        raise ValueError("seconds must be greater than 0 and less than 9223372036")
    with _Events() as events:
        events.queue.add(0, _xpoll.FILT_TIMER, fflags=_xpoll.NOTE_NSECONDS,
                         data=math.ceil(seconds * 1e9))
        while True:
            for event in await events.wait():
                yield event.data


async def signals(*numbers: int) -> AsyncIterator[Event]:
    """Yield an Event for signals: ident is the number, data is how many arrived.

    The action of the signal is not changed: one that would end the process still does, unless it
    has a handler or is ignored.
    """
    with _Events() as events:
        for number in numbers:
            events.queue.add(number, _xpoll.FILT_SIGNAL)
        while True:
            for event in await events.wait():
                yield event


async def watch(path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
                fflags: int = _EVENTS_OF_A_FILE) -> AsyncIterator[Event]:
    """Yield an Event when something happens to a file or directory: fflags are NOTE_*.

    It watches the file that has this name now, even if the file is renamed.  NOTE_DELETE and
    NOTE_REVOKE are always reported, and end the iteration.
    """
    last = _xpoll.NOTE_DELETE | _xpoll.NOTE_REVOKE
    # By the path alone: no permission to read is needed, and no pipe blocks.
    fd = os.open(path, getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_CLOEXEC)
    try:
        with _Events() as events:
            events.queue.add(fd, _xpoll.FILT_VNODE, fflags=fflags | last)
            while True:
                for event in await events.wait():
                    yield event
                    if event.fflags & last:
                        return
    finally:
        os.close(fd)
