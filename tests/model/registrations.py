"""Registrations of one queue, and what the contract says of each.

Each says whether it has to be delivered now (must), what is wrong with an event of it
(check), and what follows from a delivery (told).  For descriptors poll(2) decides, as it
answered just before and just after the wait.

A registration whose number was closed and not deleted is in doubt: the contract lets the
library find out late.  Nothing is demanded of it, and Queue.lookup shows when it is gone.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from select import POLLERR, POLLHUP, POLLIN, POLLOUT, POLLPRI

import xpoll
from kernels import Kernel
from world import POLLRDHUP, SOCKETS, File, Look
from xpoll import CLEAR, DISABLE, DISPATCH, ENABLE, KEEPUDATA, ONESHOT, Event

FD_FILTERS = (xpoll.FILT_READ, xpoll.FILT_WRITE, xpoll.FILT_EXCEPT)
MODES = CLEAR | ONESHOT | DISPATCH
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
    subject: object = None  # What the ident stands for: a Child, an Operation.

    @property
    def requested(self) -> int:
        return self.events & (POLLIN | POLLRDHUP) if self.events else POLLIN

    @property
    def mark(self) -> int:
        marked = self.filters[0] in FD_FILTERS and self.fflags & xpoll.NOTE_LOWAT
        return self.data if marked else 0


class Registration:
    """What all filters have in common."""

    file: File | None = None  # What the ident names, if it is a descriptor.
    old_requested = 0  # Perhaps these bits of poll(2) are requested as well.
    doubtful = False
    lasts = True  # A forked child may take it over.

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

    @property
    def slow(self) -> bool:
        """It comes when it comes: what it reports takes time."""
        return False

    def names(self, change: Change) -> bool:
        """Does a DELETE name anything of this registration?"""
        return True

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

    def told(self, event: Event | None = None) -> None:
        """It was delivered; None: by the poll-like level."""

    def observe(self, look: Look) -> None:
        """After each operation."""

    def may_repeat(self) -> None:
        """The kernel was asked again: CLEAR may deliver again what it delivered before."""

    def repeatable(self, look: Look) -> bool:
        """May a wait deliver it though it has not to?"""
        return False

    def resolved(self, change: Change, file: File, clean: bool) -> None:
        """No doubt any more: this ADD was of this file; clean: nothing is left from before."""
        self.file = file
        self.doubtful = False

    def inherits(self, change: Change, found: Event) -> int:
        """The modes that this ADD, which made it, did not ask for."""
        return 0

    def forked(self) -> None:
        """Queue.reinit in a child."""


class FdRegistration(Registration):
    """READ, WRITE and EXCEPT of a descriptor."""

    file: File

    def __init__(self, change: Change, filter: int, file: File, kernel: Kernel) -> None:
        super().__init__(change, filter)
        self.file = file
        self.kernel = kernel
        self.requested = 0
        self.old_requested = 0  # Perhaps these as well.
        self.mark = 0  # NOTE_LOWAT: ready from so many bytes on; 0: none.
        self.follows = False  # A regular file: it is delivered when it grew.
        self.owed = True  # CLEAR: something happened and was not delivered yet.
        self.seen = 0  # CLEAR: the condition when it was looked at last.
        self.arrivals = file.arrivals
        self.activity = file.activity  # When it was delivered last.
        self.repeated = False  # CLEAR: it was delivered twice.
        self.kept = False  # It was ready, and may not be looked at from the side.
        self.beside_level = False  # A filter that is delivered by level has the same end or error.

    def added(self, change: Change) -> None:
        super().added(change)
        self.mark = change.mark
        if self.filter == xpoll.FILT_READ:
            self.requested |= change.requested
            self.follows |= not change.events

    def names(self, change: Change) -> bool:
        requested = self.requested | self.old_requested
        return (self.filter != xpoll.FILT_READ or not change.events or
                bool(requested & change.requested))

    def resolved(self, change: Change, file: File, clean: bool) -> None:
        super().resolved(change, file, clean)
        if self.filter == xpoll.FILT_READ:
            self.old_requested = 0 if clean else self.requested
            self.requested = change.requested
            self.follows = not change.events

    def inherits(self, change: Change, found: Event) -> int:
        return found.flags & (MODES | DISABLE) & ~change.flags

    @property
    def slow(self) -> bool:
        """Of room that grows the kernel says nothing: the library looks now and then."""
        return self.mark > 0 and self.filter == xpoll.FILT_WRITE

    def switched(self, flags: int) -> None:
        super().switched(flags)
        self.owed |= bool(flags & ENABLE) or not flags & DISABLE

    def reached(self, look: Look, fd: int, bits: int) -> int:
        """These bits without those whose mark is not reached; an end or urgent data has none."""
        if not self.mark or bits & (POLLERR | POLLHUP):
            return bits
        if look.unread.get(fd, self.mark) < self.mark and not bits & (POLLRDHUP | POLLPRI):
            bits &= ~(POLLIN if self.filter == xpoll.FILT_READ else 0)
        if look.room.get(fd, self.mark) < self.mark:
            bits &= ~(POLLOUT if self.filter == xpoll.FILT_WRITE else 0)
        return bits

    def condition(self, kind: str, bits: int, at_end: bool, poll_level: bool,
                  old_requested: int = 0) -> int:
        """The bits of poll(2) that make it ready."""
        wanted = {xpoll.FILT_READ: self.requested | old_requested, xpoll.FILT_WRITE: POLLOUT,
                  xpoll.FILT_EXCEPT: POLLPRI}[self.filter]
        if poll_level:
            return bits & (wanted | POLLERR | POLLHUP)
        if kind in SOCKETS and bits & POLLHUP and not bits & (POLLIN | POLLRDHUP):
            # Not connected: silent, but for the end of a listener.
            bits = POLLIN | POLLRDHUP if kind == "listener" else bits & ~(POLLHUP | POLLOUT)
        if at_end:
            bits &= ~POLLIN
        if self.filter == xpoll.FILT_READ:
            wanted |= POLLRDHUP
        if self.filter != xpoll.FILT_EXCEPT:
            wanted |= POLLERR | POLLHUP
        return bits & wanted

    def conditions(self, look: Look, poll_level: bool = False) -> list[int]:
        """First what is sure; then one for what else it may be of, if in doubt."""
        numbers = [self.ident] if self.ident in look.bits else []
        if self.doubtful and (self.kernel.lingers or numbers):
            numbers += sorted(self.file.numbers)[:1]
        # The kind, too, may be that of the file before: a lone socket is not silent then.
        return [self.condition(kind, self.reached(look, fd, look.bits[fd]),
                               fd in look.at_end, poll_level, requested)
                for requested in {0: None, self.old_requested: None} for fd in numbers
                for kind in ([look.kinds[fd], ""] if self.doubtful else [look.kinds[fd]])]

    def observe(self, look: Look) -> None:
        """Is there news that CLEAR has to deliver?"""
        if self.doubtful:
            return
        ready = self.conditions(look)[0]
        arrived = ready & POLLIN and self.file.arrivals != self.arrivals
        if self.file.kind != "regular":
            self.owed |= bool(ready & ~self.seen or arrived)
        elif self.filter == xpoll.FILT_READ:
            self.owed |= bool(self.follows and arrived)
        self.seen = ready
        self.kept |= bool(ready) and self.file.kind == "nested"
        self.arrivals = self.file.arrivals

    def must(self, look: Look, poll_level: bool = False) -> bool:
        if self.doubtful or (self.modes & CLEAR and (not self.owed or self.slow)):
            return False
        # An edge that both levels know: one has delivered the other's, perhaps.
        levels = {poll_level, False} if self.modes & CLEAR else {poll_level}
        return all(self.demanded(look, level) for level in levels)

    def demanded(self, look: Look, poll_level: bool = False) -> int:
        """The bits that have to be delivered; it is not in doubt."""
        return self.kernel.demands(self.filter, look.kinds[self.ident], look.bits[self.ident],
                                   self.conditions(look, poll_level)[0])

    def may(self) -> bool:
        """Its condition holds; is there a reason to deliver it?"""
        if not self.modes & CLEAR or self.owed or self.doubtful or self.beside_level:
            return True
        # The answers of a TCP peer come when they come.  Twice, but not for ever.
        return (self.file.activity != self.activity or self.file.kind in ("tcp", "lone")
                or not self.repeated)

    def repeatable(self, look: Look) -> bool:
        return bool(self.modes & CLEAR and self.conditions(look)[0])

    def check(self, event: Event, looks: Iterable[Look]) -> str:
        held = [bits for look in looks for bits in self.conditions(look) if bits]
        if not held and self.kept:
            return ""  # Found no room, and was kept as it was.
        if not held or not self.may():
            return "has no reason"
        if event.data != 1:
            return "has not 1 as its data"
        ends = {self.ended(bits) for bits in held}
        if bool(event.flags & xpoll.EOF) not in ends and not self.doubtful:
            return "is wrong about EOF"
        return ""

    def ended(self, bits: int) -> bool:
        if self.filter == xpoll.FILT_EXCEPT:
            return False
        ends = POLLHUP | (POLLRDHUP if self.filter == xpoll.FILT_READ else 0)
        return bool(bits & ends or (bits & POLLERR and self.file.kind == "pipe"))

    def may_repeat(self) -> None:
        self.repeated = False
        self.activity = -1

    def told(self, event: Event | None = None) -> None:
        self.repeated = not self.owed and self.activity == self.file.activity
        self.owed = self.kept = False
        self.activity = self.file.activity

    def forked(self) -> None:
        self.owed = True
