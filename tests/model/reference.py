"""What a queue has to answer: the contract, written as simply as possible.

A Reference holds the registrations of one queue and follows the changes that succeeded.
"""
from __future__ import annotations

import xpoll
from kernels import Kernel
from registrations import FD_FILTERS, Change, FdRegistration, Key, Registration
from sources import SOURCES, UserRegistration
from world import File, Look
from xpoll import DELETE, DISPATCH, ONESHOT, Event


class Reference:
    """The registrations of one queue."""

    def __init__(self, kernel: Kernel) -> None:
        self.regs: dict[Key, Registration] = {}
        self.kernel = kernel

    def of_number(self, fd: int) -> list[FdRegistration]:
        regs = (self.regs.get((fd, filter)) for filter in FD_FILTERS)
        return [reg for reg in regs if isinstance(reg, FdRegistration)]

    def all_of_number(self, fd: int) -> list[Registration]:
        return [reg for reg in self.regs.values() if reg.file and reg.ident == fd]

    def alike(self, ident: int, filter: int) -> list[Registration]:
        """Those that the library takes for the same file's."""
        filters = FD_FILTERS if filter in FD_FILTERS else (filter,)
        return [self.regs[ident, each] for each in filters if (ident, each) in self.regs]

    def in_doubt(self, ident: int, filter: int) -> bool:
        return any(reg.doubtful for reg in self.alike(ident, filter))

    def owed(self, look: Look, poll_level: bool = False, slow: bool = False) -> set[Key]:
        """What the next waits have to deliver, or slowly those after them."""
        return {key for key, reg in self.regs.items()
                if reg.slow == slow and reg.enabled and reg.must(look, poll_level)}

    def observe(self, look: Look) -> None:
        for reg in self.regs.values():
            reg.observe(look)

    # --- Changes that succeeded -----------------------------------------------------------

    def there(self, change: Change) -> list[int]:
        return [filter for filter in change.filters
                if (reg := self.regs.get((change.ident, filter))) and
                (change.op != DELETE or reg.names(change))]

    def add(self, change: Change, file: File | None) -> None:
        for filter in change.filters:
            key = change.ident, filter
            if key not in self.regs:
                self.regs[key] = (FdRegistration(change, filter, file, self.kernel)
                                  if file and filter in FD_FILTERS
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
                reg.requested &= ~change.requested
                reg.old_requested &= ~change.requested
                reg.doubtful |= not reg.requested and bool(reg.old_requested)
                if reg.requested or reg.old_requested:
                    continue
            del self.regs[change.ident, filter]

    def closed(self, fd: int) -> None:
        """The number was closed, and the queue does not know."""
        for reg in self.all_of_number(fd):
            reg.doubtful = True

    def forgotten(self, fd: int) -> None:
        for reg in self.all_of_number(fd):
            del self.regs[reg.key]

    def forked(self) -> None:
        """In a child that has taken the queue over."""
        self.regs = {key: reg for key, reg in self.regs.items() if reg.lasts}
        for reg in self.regs.values():
            reg.forked()

    def delivered(self, reg: Registration, event: Event | None = None) -> None:
        """Its event was handed out: act as its mode says."""
        reg.told(event)
        if reg.modes & ONESHOT:
            del self.regs[reg.key]
        elif reg.modes & DISPATCH:
            reg.enabled = False
