"""What a queue has to answer: the contract, told as simply as possible.

A Reference holds the registrations of one queue.  Each registration says whether it has to
be delivered now (must), whether it may be (may), and what follows from it (told).  For
descriptors poll(2) decides, as it answered just before and just after the wait.

A registration whose number was closed and not deleted is in doubt: the contract lets the
library find out late.  Nothing is demanded of it, and Queue.lookup tells when it is gone.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from select import POLLERR, POLLHUP, POLLIN, POLLOUT, POLLPRI

import xpoll
from world import POLLRDHUP, SOCKETS, File, Look
from xpoll import CLEAR, DISABLE, DISPATCH, ENABLE, KEEPUDATA, ONESHOT, Event

FD_FILTERS = (xpoll.FILT_READ, xpoll.FILT_WRITE, xpoll.FILT_EXCEPT)
MODES = CLEAR | ONESHOT | DISPATCH
COMBINE = xpoll.NOTE_FFCTRLMASK
Key = tuple[int, int]


class Wrong(AssertionError):
    """The queue did what the contract does not allow."""


@dataclass
class Change:
    """What the program asks for: an op of the poll-like level, or an Event of the other."""

    op: int  # ADD, DELETE, ENABLE, DISABLE; 0: a trigger
    ident: int
    filters: list[int]
    flags: int = 0
    events: int = 0  # POLL* bits: the poll-like level
    fflags: int = 0
    data: int = 0
    udata: object = None

    @property
    def wishes(self) -> int:
        return self.events & (POLLIN | POLLRDHUP) if self.events else POLLIN


class Registration:
    """What all filters have in common."""

    def __init__(self, change: Change, filter: int) -> None:
        self.ident = change.ident
        self.filter = filter
        self.udata = change.udata
        self.modes = 0
        self.enabled = True

    def __repr__(self) -> str:
        return f"<{self.ident} {self.filter} {vars(self)}>"

    @property
    def key(self) -> Key:
        return self.ident, self.filter

    def added(self, change: Change) -> None:
        """An ADD has made or changed it."""
        self.modes |= change.flags & MODES
        if not change.flags & KEEPUDATA:
            self.udata = change.udata
        self.switched(change.flags)

    def switched(self, flags: int) -> None:
        if flags & ENABLE:
            self.enabled = True
        if flags & DISABLE:
            self.enabled = False

    def must(self, look: Look, poll_level: bool = False) -> bool:
        """Has a wait to deliver it now?  It is enabled."""
        raise NotImplementedError

    def check(self, event: Event, looks: Iterable[Look]) -> str:
        """What is wrong with its event, or nothing."""
        raise NotImplementedError

    def told(self) -> None:
        """It was delivered."""

    def may_repeat(self) -> None:
        """The kernel was told anew: CLEAR may be told anew what it told before."""

    def forked(self) -> None:
        """Queue.reinit in a child."""


class FdRegistration(Registration):
    """READ, WRITE and EXCEPT of a descriptor."""

    def __init__(self, change: Change, filter: int, file: File, lingers: bool) -> None:
        super().__init__(change, filter)
        self.file = file
        self.lingers = lingers  # It may report a closed file of which there is a duplicate.
        self.wishes = 0
        self.doubtful = False
        self.follows = False  # A regular file: it is told when it grew.
        self.owed = True  # CLEAR: something happened and was not told yet.
        self.seen = 0  # CLEAR: the condition when it was looked at last.
        self.arrivals = file.arrivals
        self.activity = file.activity  # When it was delivered last.
        self.repeated = False  # CLEAR: it was told twice.

    def added(self, change: Change) -> None:
        super().added(change)
        if self.filter == xpoll.FILT_READ:
            self.wishes |= change.wishes
            self.follows |= not change.events

    def switched(self, flags: int) -> None:
        super().switched(flags)
        self.owed |= bool(flags & ENABLE) or not flags & DISABLE

    def condition(self, kind: str, bits: int, at_end: bool, poll_level: bool) -> int:
        """The bits of poll(2) that make it ready."""
        wanted = {xpoll.FILT_READ: self.wishes, xpoll.FILT_WRITE: POLLOUT,
                  xpoll.FILT_EXCEPT: POLLPRI}[self.filter]
        if poll_level:
            return bits & (wanted | POLLERR | POLLHUP)
        if kind in SOCKETS and bits & POLLHUP and not bits & (POLLIN | POLLRDHUP):
            bits &= ~(POLLHUP | POLLOUT)  # Not connected: silent.
        if at_end:
            bits &= ~POLLIN
        if self.filter == xpoll.FILT_READ:
            wanted |= POLLRDHUP
        if self.filter != xpoll.FILT_EXCEPT:
            wanted |= POLLERR | POLLHUP
        return bits & wanted

    def conditions(self, look: Look, poll_level: bool = False) -> list[int]:
        """One for each file it may be of: if in doubt, it may be of two."""
        numbers = [self.ident] if self.ident in look.bits else []
        if self.doubtful and self.lingers:
            numbers += sorted(self.file.numbers)[:1]
        return [self.condition(look.kinds[fd], look.bits[fd], fd in look.at_end, poll_level)
                for fd in numbers]

    def observe(self, look: Look) -> None:
        """After each operation: is there news that CLEAR has to tell?"""
        if self.doubtful:
            return
        ready = self.conditions(look)[0]
        arrived = ready & POLLIN and self.file.arrivals != self.arrivals
        if self.file.kind != "regular":
            self.owed |= bool(ready & ~self.seen or arrived)
        elif self.filter == xpoll.FILT_READ:
            self.owed |= bool(self.follows and arrived)
        self.seen = ready
        self.arrivals = self.file.arrivals

    def must(self, look: Look, poll_level: bool = False) -> bool:
        if self.doubtful or (self.modes & CLEAR and not self.owed):
            return False
        # An edge that both levels know: one has told the other's, perhaps.
        levels = {poll_level, False} if self.modes & CLEAR else {poll_level}
        return all(self.conditions(look, level)[0] for level in levels)

    def may(self) -> bool:
        """Its condition holds; is there a reason to tell it?"""
        if not self.modes & CLEAR or self.owed or self.doubtful:
            return True
        # The answers of a TCP peer come when they come.  Twice, but not for ever.
        return (self.file.activity != self.activity or self.file.kind in ("tcp", "lone")
                or not self.repeated)

    def check(self, event: Event, looks: Iterable[Look]) -> str:
        held = [bits for look in looks for bits in self.conditions(look) if bits]
        if not held or not self.may():
            return "has no reason"
        if event.data != 1:
            return "has not 1 as its data"
        ends = {self.ended(bits) for bits in held}
        if bool(event.flags & xpoll.EOF) not in ends and not self.doubtful:
            return "is wrong about EOF"
        return ""

    def ended(self, bits: int) -> bool:
        if self.filter == xpoll.FILT_READ:
            return bool(bits & (POLLHUP | POLLRDHUP))
        if self.filter == xpoll.FILT_WRITE:
            return bool(bits & POLLHUP or (bits & POLLERR and self.file.kind == "pipe"))
        return False

    def may_repeat(self) -> None:
        self.repeated = False
        self.activity = -1

    def told(self) -> None:
        self.repeated = not self.owed and self.activity == self.file.activity
        self.owed = False
        self.activity = self.file.activity

    def forked(self) -> None:
        self.owed = True


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
                       xpoll.NOTE_FFCOPY: bits}[change.fflags & COMBINE]
        self.data = change.data
        self.triggered |= bool(change.fflags & xpoll.NOTE_TRIGGER)

    def must(self, look: Look, poll_level: bool = False) -> bool:
        return self.triggered and not poll_level

    def check(self, event: Event, looks: Iterable[Look]) -> str:
        if not self.triggered:
            return "was not triggered"
        return "" if (event.fflags, event.data) == (self.fflags, self.data) else "is wrong"

    def told(self) -> None:
        if self.modes & CLEAR:
            self.triggered = False

    def forked(self) -> None:
        self.triggered = False


class TimerRegistration(Registration):
    """Due always, once, or never in the time that a test takes: nothing in between."""

    due = False
    periodic = False

    def added(self, change: Change) -> None:
        once = change.fflags & (xpoll.NOTE_ABSTIME | xpoll.NOTE_MONOTONIC)
        self.periodic = not once
        self.due = change.data < 1000
        super().added(change)
        self.modes |= CLEAR

    def must(self, look: Look, poll_level: bool = False) -> bool:
        return self.due and not poll_level

    def check(self, event: Event, looks: Iterable[Look]) -> str:
        if not self.due:
            return "was not due"
        if not self.periodic or self.modes & ONESHOT:
            return "" if event.data == 1 else "expired once only"
        return "" if event.data >= 1 else "did not expire"

    def told(self) -> None:
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

    def told(self) -> None:
        self.count = 0

    def forked(self) -> None:
        self.count = 0


SOURCES: dict[int, type[Registration]] = {
    xpoll.FILT_USER: UserRegistration, xpoll.FILT_TIMER: TimerRegistration,
    xpoll.FILT_SIGNAL: SignalRegistration}


class Reference:
    """The registrations of one queue."""

    def __init__(self, lingers: bool) -> None:
        self.regs: dict[Key, Registration] = {}
        self.lingers = lingers

    def of_number(self, fd: int) -> list[FdRegistration]:
        regs = (self.regs.get((fd, filter)) for filter in FD_FILTERS)
        return [reg for reg in regs if isinstance(reg, FdRegistration)]

    def in_doubt(self, fd: int) -> bool:
        return any(reg.doubtful for reg in self.of_number(fd))

    def owed(self, look: Look, poll_level: bool = False) -> set[Key]:
        """What the next waits have to deliver."""
        return {key for key, reg in self.regs.items()
                if reg.enabled and reg.must(look, poll_level)}

    def observe(self, look: Look) -> None:
        for reg in self.regs.values():
            if isinstance(reg, FdRegistration):
                reg.observe(look)

    # --- Changes that succeeded -----------------------------------------------------------

    def there(self, change: Change) -> list[int]:
        return [filter for filter in change.filters if (change.ident, filter) in self.regs]

    def add(self, change: Change, file: File | None) -> None:
        for filter in change.filters:
            key = change.ident, filter
            if key not in self.regs:
                self.regs[key] = (FdRegistration(change, filter, file, self.lingers) if file
                                  else SOURCES[filter](change, filter))
            self.regs[key].added(change)

    def switch(self, change: Change) -> None:
        for filter in self.there(change):
            reg = self.regs[change.ident, filter]
            if change.fflags and isinstance(reg, UserRegistration):
                reg.combine(change)
            if change.op:
                reg.switched(change.op)

    def delete(self, change: Change) -> None:
        for filter in self.there(change):
            reg = self.regs[change.ident, filter]
            if isinstance(reg, FdRegistration) and filter == xpoll.FILT_READ and change.events:
                reg.wishes &= ~change.wishes
                if reg.wishes:
                    continue
            del self.regs[change.ident, filter]

    def closed(self, fd: int) -> None:
        """The number was closed, and the queue was not told."""
        for reg in self.of_number(fd):
            reg.doubtful = True

    def forgotten(self, fd: int) -> None:
        for reg in self.of_number(fd):
            del self.regs[reg.key]

    def delivered(self, reg: Registration) -> None:
        """Its event was handed out: act as its mode says."""
        reg.told()
        if reg.modes & ONESHOT:
            del self.regs[reg.key]
        elif reg.modes & DISPATCH:
            reg.enabled = False
