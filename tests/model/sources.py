"""Registrations of what is no descriptor's readiness, in the order of the manual."""
from __future__ import annotations

import errno
from collections.abc import Iterable
from dataclasses import dataclass

import xpoll
from registrations import Change, Registration
from world import Child, File, Look
from xpoll import CLEAR, ONESHOT, Event


SIZES = xpoll.NOTE_EXTEND | xpoll.NOTE_TRUNCATE


class UserRegistration(Registration):
    """Ready from a trigger on; with CLEAR until it is delivered."""

    triggered = False
    fflags = 0
    data = 0

    def added(self, change: Change) -> None:
        if change.flags & CLEAR:
            self.triggered = False
        self.combine(change)
        super().added(change)

    def combine(self, change: Change) -> None:
        bits = change.fflags & xpoll.NOTE_FFLAGSMASK
        self.fflags = {xpoll.NOTE_FFNOP: self.fflags, xpoll.NOTE_FFAND: self.fflags & bits,
                       xpoll.NOTE_FFOR: self.fflags | bits,
                       xpoll.NOTE_FFCOPY: bits}[change.fflags & xpoll.NOTE_FFCTRLMASK]
        self.data = change.data
        self.triggered |= bool(change.fflags & xpoll.NOTE_TRIGGER)

    def must(self, look: Look, poll_level: bool = False) -> bool:
        return self.triggered and not poll_level

    def check(self, event: Event, looks: Iterable[Look]) -> str:
        if not self.triggered:
            return "was not triggered"
        return "" if (event.fflags, event.data) == (self.fflags, self.data) else "is wrong"

    def told(self, event: Event | None = None) -> None:
        if self.modes & CLEAR:
            self.triggered = False

    def forked(self) -> None:
        self.triggered = False


class TimerRegistration(Registration):
    """Due always, once, or never in the time that a test takes: nothing in between."""

    due = False
    periodic = False
    known = False  # Only the first ADD implies CLEAR, and that of a moment does not.

    def added(self, change: Change) -> None:
        once = change.fflags & (xpoll.NOTE_ABSTIME | xpoll.NOTE_MONOTONIC)
        self.periodic = not once
        self.due = change.data < 1000
        super().added(change)
        if not self.known and not once:
            self.modes |= CLEAR
        self.known = True

    def must(self, look: Look, poll_level: bool = False) -> bool:
        return self.due and not poll_level

    def check(self, event: Event, looks: Iterable[Look]) -> str:
        if not self.due:
            return "was not due"
        if not self.periodic or self.modes & ONESHOT:
            return "" if event.data == 1 else "expired once only"
        return "" if event.data >= 1 else "did not expire"

    def told(self, event: Event | None = None) -> None:
        self.due = self.periodic


class SignalRegistration(Registration):
    """Counts what the process received."""

    count = 0

    def added(self, change: Change) -> None:
        super().added(change)
        self.modes |= CLEAR

    def must(self, look: Look, poll_level: bool = False) -> bool:
        return self.count > 0 and not poll_level

    def check(self, event: Event, looks: Iterable[Look]) -> str:
        return "" if event.data == self.count else f"came {self.count} times"

    def told(self, event: Event | None = None) -> None:
        self.count = 0

    def forked(self) -> None:
        self.count = 0


class ProcRegistration(Registration):
    """The end of a child."""

    lasts = False

    def __init__(self, change: Change, filter: int) -> None:
        super().__init__(change, filter)
        assert isinstance(change.subject, Child)
        self.child = change.subject

    def added(self, change: Change) -> None:
        super().added(change)
        self.modes |= CLEAR

    def must(self, look: Look, poll_level: bool = False) -> bool:
        return self.child.status is not None and not poll_level

    def check(self, event: Event, looks: Iterable[Look]) -> str:
        if self.child.status is None:
            return "has not ended"
        if not event.flags & xpoll.EOF:
            return "is not its last"
        if (event.fflags, event.data) == (xpoll.NOTE_EXIT, self.child.status):
            return ""
        unknown = xpoll.NOTE_EXIT | xpoll.NOTE_STATUS_UNKNOWN, 0
        forgotten = self.child.reaped and (event.fflags, event.data) == unknown
        return "" if forgotten else f"ended with {self.child.status}"

    def told(self, event: Event | None = None) -> None:
        self.modes |= ONESHOT  # It ends with its process.


class VnodeRegistration(Registration):
    """What happened to a file since the last delivery.

    What is certain is owed.  An event may also report what happened before the delivery
    before, which the library may not have heard of then.
    """

    file: File

    def __init__(self, change: Change, filter: int) -> None:
        super().__init__(change, filter)
        assert isinstance(change.subject, File)
        self.notes = 0
        self.owed = 0
        self.fresh = 0  # May be delivered: since the last delivery,
        self.stale = 0  # and between that and the one before.
        self.resolved(change, change.subject, True)

    def resolved(self, change: Change, file: File, clean: bool) -> None:
        super().resolved(change, file, clean)
        self.size = file.size
        self.seen = dict(file.happened)

    def added(self, change: Change) -> None:
        super().added(change)
        self.modes |= CLEAR
        self.notes = change.fflags
        self.owed &= self.notes
        self.size = self.file.size

    def observe(self, look: Look) -> None:
        for note, times in self.file.happened.items():
            if times != self.seen.get(note, 0) and not self.doubtful:
                self.fresh |= note
                self.owed |= note & self.notes & ~SIZES
        self.seen = dict(self.file.happened)
        # The library compares sizes when it looks, as often as it likes.
        larger, smaller = self.file.size > self.size, self.file.size < self.size
        self.owed = (self.owed & ~SIZES | larger * xpoll.NOTE_EXTEND & self.notes
                     | smaller * xpoll.NOTE_TRUNCATE & self.notes)

    def must(self, look: Look, poll_level: bool = False) -> bool:
        return bool(self.owed) and not self.doubtful and not poll_level

    def check(self, event: Event, looks: Iterable[Look]) -> str:
        if not event.fflags or event.fflags & ~self.notes:
            return "was not asked for"
        if event.fflags & ~(self.fresh | self.stale) and not self.doubtful:
            return f"did not happen, but {self.fresh | self.stale:#x}"
        return "lost reports" if event.data else ""

    def told(self, event: Event | None = None) -> None:
        assert event
        self.owed &= ~event.fflags
        self.stale, self.fresh = self.fresh, 0
        self.size = self.file.size

    def may_repeat(self) -> None:
        if self.doubtful:
            self.owed, self.fresh = 0, self.fresh | self.notes

    def forked(self) -> None:
        self.owed = self.fresh = self.stale = 0
        self.size = self.file.size


@dataclass
class Operation:
    """What was submitted, and what has to come of it."""

    aio: xpoll.Aio
    result: int
    buffer: bytearray
    content: bytes  # of the buffer afterwards
    cancelled: bool = False


class AioRegistration(Registration):
    """An operation on a file: it comes when it is over."""

    lasts = False
    slow = True  # type: ignore[assignment]

    def __init__(self, change: Change, filter: int) -> None:
        super().__init__(change, filter)
        assert isinstance(change.subject, Operation)
        self.operation = change.subject
        self.modes = CLEAR | ONESHOT

    def must(self, look: Look, poll_level: bool = False) -> bool:
        return not poll_level

    def check(self, event: Event, looks: Iterable[Look]) -> str:
        operation = self.operation
        if operation.cancelled and event.data == -errno.ECANCELED:
            return ""
        if event.data != operation.result or not operation.aio.done:
            return f"is not {operation.result}"
        return "" if operation.buffer == operation.content else "has moved other bytes"


SOURCES: dict[int, type[Registration]] = {
    xpoll.FILT_USER: UserRegistration, xpoll.FILT_TIMER: TimerRegistration,
    xpoll.FILT_SIGNAL: SignalRegistration, xpoll.FILT_PROC: ProcRegistration,
    xpoll.FILT_VNODE: VnodeRegistration, xpoll.FILT_AIO: AioRegistration}
