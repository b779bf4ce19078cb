"""One queue beside its reference: each call is made on the one and judged by the other."""
from __future__ import annotations

import contextlib
import os
import select
import tempfile
import threading
import time
from collections.abc import Callable
from errno import EBADF, EINVAL, ELOOP, ENOENT, ENOTSUP
from typing import Any

import xpoll
from kernels import kernel_of
from reference import Reference
from registrations import FD_FILTERS, MODES, Change, FdRegistration, Key, Registration, Wrong
from sources import AioRegistration, Operation
from world import ASIDE, File, Look, World, duplicate
from xpoll import ADD, CLEAR, DELETE, DISABLE, ENABLE, Event

# Waits within which all that is ready must have come (S11), for each registration.
BOUND = 64
# Longer than any machine needs: whoever sleeps so long was not woken.
FOR_EVER = 30.0


# The filters whose ident is a descriptor.
NAMED = (*FD_FILTERS, xpoll.FILT_VNODE)
# What is in the file of a side's operations.
TEXT = bytes(range(256)) * 64


def scratch_file() -> int:
    with tempfile.TemporaryFile() as file:
        file.write(TEXT)
        file.flush()
        return duplicate(file.fileno(), ASIDE)


class Side:
    """A queue on one back end, and its reference."""

    def __init__(self, name: str, world: World) -> None:
        self.name = name
        self.world = world
        self.queue = xpoll.Queue(name.split()[0])
        self.kernel = kernel_of(self.queue.backend)
        self.exposed = name.endswith("exposed")
        self.ref = Reference(self.kernel)
        self.wake_pending = False
        self.sleeper: threading.Thread | None = None
        self.came: list[Event] = []
        self.known: set[Key] = set()  # What was registered after the last step.
        self.scratch = scratch_file()
        if name.endswith("several"):
            self.let_two_sleep()
        if self.exposed:
            self.queue.fileno()

    def let_two_sleep(self) -> None:
        """From now on the queue knows that several threads may wait."""
        threads = [threading.Thread(target=self.queue.wait, args=[FOR_EVER]) for _ in range(2)]
        for thread in threads:
            thread.start()
        while self.queue.stats()["syscalls_wait"] < 2:
            time.sleep(0)
        self.queue.wake_all()
        for thread in threads:
            thread.join()

    def wrong(self, what: str) -> Wrong:
        return Wrong(f"{self.name}: {what}")

    # --- Changes --------------------------------------------------------------------------

    def change(self, change: Change) -> None:
        fd = change.ident if change.filters[0] in NAMED else -1
        alike = self.alike(change)
        self.prune(alike)
        alike = self.alike(change)
        allowed = self.allowed(change, fd)
        doubtful = any(reg.doubtful for reg in alike)
        error = self.error_of(change)
        if error not in allowed:
            raise self.wrong(f"{change}: errno {error}, not {sorted(allowed)}")
        for reg in alike:
            # An edge is delivered once, whatever happens to the other filters of its descriptor.
            if not reg.file or reg.filter in change.filters or self.kernel.touches:
                reg.may_repeat()
        if error and not (doubtful and change.op == DELETE):
            return
        if change.op == ADD:
            self.ref.add(change, self.world.files.get(fd))
        elif change.op == DELETE:
            self.ref.delete(change)
        else:
            self.ref.switch(change)
        if doubtful and change.op == ADD:
            self.resolve(change)

    def alike(self, change: Change) -> list[Registration]:
        return self.ref.alike(change.ident, change.filters[0])

    def error_of(self, change: Change) -> int:
        try:
            if change.events:
                # That level's ADD enables by itself.
                op = change.op | change.flags & ~(ENABLE if change.op == ADD else 0)
                self.queue.ctl(op, change.events, change.ident, change.udata)
            else:
                self.queue.control([Event(change.ident, change.filters[0],
                                          change.op | change.flags, change.fflags,
                                          change.data, change.udata)])
        except OSError as error:
            return error.errno or -1
        return 0

    def allowed(self, change: Change, fd: int) -> set[int]:
        closed = fd >= 0 and fd not in self.world.files
        if change.op == ADD:
            return {EBADF} if closed else {self.refused(change), *self.too_deep(change)}
        if self.ref.in_doubt(change.ident, change.filters[0]):
            return {0, ENOENT, EBADF}
        there = self.ref.there(change)
        if change.op == DELETE and any(reg.old_requested for reg in self.alike(change)):
            return {0, ENOENT}
        if there == change.filters or (there and change.op == DELETE):
            return {0}
        return {EBADF} if closed else {ENOENT}

    def too_deep(self, change: Change) -> set[int]:
        """What else an ADD may say of what has a set or a queue of its own."""
        kind = self.world.files[change.ident].kind if change.filters[0] in NAMED else ""
        deep = kind == "nested" or change.filters[0] in (xpoll.FILT_PROC, xpoll.FILT_VNODE)
        return {ELOOP} if deep and self.exposed and self.kernel.shallow else set()

    def refused(self, change: Change) -> int:
        """What an ADD says of what cannot be had, or 0."""
        kind = self.world.files[change.ident].kind if change.filters[0] in NAMED else ""
        if change.filters == [xpoll.FILT_VNODE]:
            return 0 if kind == "regular" else EINVAL
        if change.mark:
            look = self.world.look()
            counted = look.unread if change.filters == [xpoll.FILT_READ] else look.room
            return 0 if change.ident in counted or kind == "listener" else ENOTSUP
        return 0

    def prune(self, regs: list[Registration]) -> None:
        """The library may have noticed what the reference is in doubt about."""
        for reg in regs:
            if reg.doubtful and self.queue.lookup(*reg.key) is None:
                del self.ref.regs[reg.key]

    def notices(self, reg: Registration, file: File) -> bool:
        """Does an ADD see that this is another file than the registered one, if it is?"""
        return (reg.filter == xpoll.FILT_VNODE or not reg.file
                or self.kernel.notices(reg.file.kind, file.kind))

    def resolve(self, change: Change) -> None:
        """After an ADD of a number in doubt: take over what is registered."""
        file = self.world.files[change.ident]
        for reg in self.alike(change):
            found = self.queue.lookup(*reg.key)
            if reg.filter in change.filters:
                if found is None:
                    raise self.wrong(f"{change}: not registered")
                # Else the library goes on in the belief that it is the old one.
                if self.notices(reg, file):
                    clean = reg.file is not file
                    reg.resolved(change, file, clean)
                    if clean and (wrong := reg.inherits(change, found)):
                        raise self.wrong(f"{change}: {found} has {wrong} of a closed file")
                reg.modes = found.flags & MODES
                reg.enabled = not found.flags & DISABLE
            elif found is None:
                del self.ref.regs[reg.key]
            elif reg.file is not file and self.notices(reg, file):
                raise self.wrong(f"{found} is of a file that was closed")

    def check(self) -> None:
        """What is registered is what the reference says."""
        self.ref.observe(look := self.world.look())
        for (ident, filter), reg in self.ref.regs.items():
            if reg.doubtful:
                continue
            found = self.queue.lookup(ident, filter)
            if found is None:
                raise self.wrong(f"{reg} is not registered")
            flags = reg.modes | (0 if reg.enabled else DISABLE)
            if (found.flags, found.udata) != (flags, reg.udata):
                raise self.wrong(f"{found} is not {reg}")
        for key in self.known - self.ref.regs.keys():
            if (found := self.queue.lookup(*key)) is not None:
                raise self.wrong(f"{found} was deleted")
        self.known = {key for key in self.ref.regs if key[1] != xpoll.FILT_AIO}
        if self.exposed and self.ref.owed(look) and not select.select([self.queue], [], [], 0)[0]:
            raise self.wrong(f"its descriptor is silent: {self.tell(self.ref.owed(look), look)}")

    # --- Operations on files --------------------------------------------------------------

    def submit(self, op: int, size: int, offset: int) -> None:
        """On a file of its own: what is written is there already, so order does not matter."""
        text = TEXT[offset:offset + size]
        buffer = bytearray(len(text) if op == xpoll.AIO_READ else text)
        moves = op in (xpoll.AIO_READ, xpoll.AIO_WRITE)
        aio = (self.queue.aio_submit(op, self.scratch, buffer, offset) if moves
               else self.queue.aio_submit(op, self.scratch))
        operation = Operation(aio, len(text) if moves else 0, buffer, text)
        self.ref.add(Change(ADD, aio.ident, [xpoll.FILT_AIO], udata=aio, subject=operation), None)

    def in_flight(self, pick: int) -> Operation | None:
        regs = [reg for reg in self.ref.regs.values() if isinstance(reg, AioRegistration)]
        return regs[pick % len(regs)].operation if regs else None

    def cancel(self, pick: int) -> None:
        operation = self.in_flight(pick)
        if operation:
            self.queue.aio_cancel(operation.aio)
            operation.cancelled = True

    def switch_operation(self, pick: int, op: int) -> None:
        """The binding keeps its buffer until the event: no change can take it away."""
        operation = self.in_flight(pick)
        if operation:
            try:
                self.queue.control([Event(operation.aio.ident, xpoll.FILT_AIO, op)])
            except ValueError:
                return
            raise self.wrong(f"a change of {operation} was not refused")

    # --- Waits ----------------------------------------------------------------------------

    def tell(self, keys: set[Key], look: Look) -> str:
        return "; ".join(f"{self.ref.regs[key]}, poll(2) {look.bits.get(key[0], 0):#x}"
                         for key in sorted(keys))

    def wait(self, poll_level: bool = False, max_events: int = 64, timeout: float = 0) -> None:
        """Wait until all that has to come came; judge all that comes."""
        call = self.queue.poll if poll_level else self.queue.wait
        arguments = [timeout] if poll_level else [timeout, max_events]
        before = self.world.look()
        missing = self.ref.owed(before, poll_level)
        for _ in range(BOUND * (1 + len(self.ref.regs))):
            ready = self.once(lambda: call(*arguments))
            after = self.world.look()
            missing &= self.ref.owed(after, poll_level)
            if missing and not ready:
                raise self.wrong(f"nothing came, but {self.tell(missing, after)}")
            missing -= self.judge(ready, before, after, poll_level)
            before = after
            if not missing:
                self.wait_slowly(call, poll_level)
                return
        raise self.wrong(f"never came: {self.tell(missing, before)}")

    def wait_slowly(self, call: Callable[..., Any], poll_level: bool) -> None:
        """Wait until all came that takes time."""
        before = self.world.look()
        missing = self.ref.owed(before, poll_level, slow=True)
        end = time.monotonic() + FOR_EVER
        while missing:
            if time.monotonic() > end:
                raise self.wrong(f"never came: {self.tell(missing, before)}")
            ready = self.once(lambda: call(FOR_EVER))
            after = self.world.look()
            missing &= self.ref.owed(after, poll_level, slow=True)
            missing -= self.judge(ready, before, after, poll_level)
            before = after

    def look_beside(self, looks: tuple[Look, Look]) -> None:
        """What is delivered by level may deliver the edges of the same file again."""
        for reg in self.ref.regs.values():
            if isinstance(reg, FdRegistration):
                reg.beside_level = any(
                    self.kernel.repeats(look.kinds.get(reg.ident, ""),
                                        look.bits.get(reg.ident, 0)) for look in looks
                ) and any(other.enabled and not other.modes & CLEAR
                          for other in self.ref.of_number(reg.ident))

    def judge(self, ready: list[Any], before: Look, after: Look, poll_level: bool) -> set[Key]:
        self.look_beside((before, after))
        return (self.judge_ready(ready, before, after) if poll_level
                else self.judge_events(ready, before, after))

    def once(self, call: Callable[[], Any]) -> Any:
        """One wait: a wake makes exactly one return nothing; ready events go first."""
        before = self.queue.stats()
        ready = call()
        after = self.queue.stats()
        wakes = after["wakes"] - before["wakes"]
        if after["rebuilds"] != before["rebuilds"]:
            for reg in self.ref.regs.values():
                reg.may_repeat()
        if wakes != (self.wake_pending and not ready):
            raise self.wrong(f"{wakes} wakes, pending: {self.wake_pending}, {ready}")
        self.wake_pending &= not wakes
        return ready

    def wake(self) -> None:
        self.queue.wake()
        self.wake_pending = True

    # --- Events ---------------------------------------------------------------------------

    def judge_events(self, events: list[Event], before: Look, after: Look) -> set[Key]:
        keys = {(event.ident, event.filter) for event in events}
        if len(keys) < len(events):
            raise self.wrong(f"twice in one call: {events}")
        for event in events:
            reg = self.ref.regs.get((event.ident, event.filter))
            if reg is None:
                fault = "is not registered"
            elif not reg.enabled:
                fault = "is disabled"
            elif event.udata is not reg.udata and not reg.doubtful:
                fault = f"has not {reg.udata}"
            else:
                fault = reg.check(event, (before, after))
            if reg is None or fault:
                raise self.wrong(f"{event} {fault}: {reg}, {before}, {after}")
            self.ref.delivered(reg, event)
        return keys

    def judge_ready(self, ready: list[tuple[int, int, Any]], before: Look,
                    after: Look) -> set[Key]:
        """The results of the poll-like level."""
        told: set[Key] = set()
        if len({fd for fd, _, _ in ready}) < len(ready):
            raise self.wrong(f"twice in one call: {ready}")
        for fd, revents, udata in ready:
            regs = [reg for reg in self.ref.of_number(fd) if reg.enabled]
            mine = [reg for reg in regs if reg.condition("", revents, False, True)]
            fault = self.fault_of(revents, regs, mine, (before, after))
            if not fault and udata is not mine[0].udata and not mine[0].doubtful:
                fault = "udata"
            if fault:
                raise self.wrong(f"poll: {fd}, {revents:#x}, {udata}: {fault}, {regs}, "
                                 f"{before}, {after}")
            for reg in mine:
                self.ref.delivered(reg)
                told.add(reg.key)
        return told

    def fault_of(self, revents: int, regs: list[FdRegistration], mine: list[FdRegistration],
                 looks: tuple[Look, Look]) -> str:
        allowed = required = 0
        for reg in regs:
            held = [reg.conditions(look, True) for look in looks]
            allowed |= revents if reg.kept else 0
            for bits in held[0] + held[1]:
                allowed |= bits
            # What is delivered by edges comes when it is its turn, and marks are so watched.
            if not reg.doubtful and not reg.modes & CLEAR and not reg.mark:
                required |= reg.demanded(looks[0], True) & reg.demanded(looks[1], True)
        if revents & ~allowed:
            return f"poll(2) says {allowed:#x} at most"
        if required & ~revents and not any(reg.doubtful for reg in regs):
            return f"poll(2) says {required:#x}"
        return "" if any(reg.may() for reg in mine) else "without a reason"

    # --- Asleep ---------------------------------------------------------------------------

    def fall_asleep(self) -> None:
        """If nothing is ready, let a thread wait."""
        self.before = self.world.look()
        doubts = any(reg.doubtful for reg in self.ref.regs.values())
        # One that comes late may come while the thread sleeps, but before the change.
        late = [key for key in self.ref.owed(self.before, slow=True) if key[1] in FD_FILTERS]
        if doubts or late or self.wake_pending or self.ref.owed(self.before):
            return
        self.take_repeats()
        waits = self.queue.stats()["waits"]
        self.sleeper = threading.Thread(target=self.sleep)
        self.sleeper.start()
        while self.queue.stats()["waits"] == waits:
            time.sleep(0)

    def take_repeats(self) -> None:
        """What CLEAR may deliver once more comes at once, so before what is to change."""
        for _ in range(BOUND):
            if not any(reg.enabled and reg.repeatable(self.before)
                       for reg in self.ref.regs.values()):
                return
            ready = self.once(lambda: self.queue.wait(0))
            if not ready:
                return
            before, self.before = self.before, self.world.look()
            self.judge(ready, before, self.before, False)
        raise self.wrong("never comes to rest")

    def sleep(self) -> None:
        self.came = []
        with contextlib.suppress(OSError):  # It is closed: the test has failed already.
            self.came = self.queue.wait(FOR_EVER)

    def get_up(self) -> None:
        """What has to come ends the sleep; otherwise a wake does."""
        if not self.sleeper:
            return
        after = self.world.look()
        self.ref.observe(after)
        owed = self.ref.owed(after)
        if not owed:
            self.wake()
        self.sleeper.join(FOR_EVER / 2)
        awake, self.sleeper = not self.sleeper.is_alive(), None
        if not awake:
            raise self.wrong(f"sleeps on: {self.tell(owed, after)}")
        if owed and not self.came:
            raise self.wrong(f"woke for nothing, but {self.tell(owed, after)}")
        self.wake_pending &= bool(self.came)
        self.judge(self.came, self.before, after, False)

    # --- Fork -----------------------------------------------------------------------------

    def inherit(self) -> None:
        """In a forked child: silent until reinit, then as in the parent."""
        for call in (lambda: self.queue.wait(0), lambda: self.queue.poll(0), self.queue.wake):
            try:
                call()
            except OSError as error:
                if error.errno == EBADF:
                    continue
            raise self.wrong("a forked child could use it")
        self.queue.reinit()
        self.wake_pending = False
        self.ref.forked()
        if self.exposed:
            self.expose_again()
        self.check()
        self.wait(poll_level=True)
        self.wait()

    def expose_again(self) -> None:
        """Its registrations came first this time, and may be too deep for that."""
        try:
            self.queue.fileno()
        except OSError as error:
            if error.errno != ELOOP or not self.kernel.shallow:
                raise
            self.exposed = False

    def close(self) -> None:
        self.queue.close()
        os.close(self.scratch)
