#!/usr/bin/env python3
"""Call the binding from inside of the binding, at random.

A call of the binding can run code of the program: __del__ of an udata, __index__ and fileno() of
an argument, an iterator, __eq__ and __repr__, a callback of a weak reference or of the garbage
collector, the handler of a signal.  Here all of these make further calls: they add, change and
delete registrations, wait, close queues and selectors, and start operations on files.

    reenter.py [--seed N] [--rounds N] [--steps N] [--threads N] [--seconds N]

A round has one seed, and a bounded number of steps.  XPOLL_REENTER_SECONDS is the default of
--seconds.  Besides a crash, which AddressSanitizer or
a debug build of CPython sees early, these are faults:

- an exception that no documented call raises, such as SystemError;
- an event with an object that was never registered for its ident and filter;
- an operation on a file without its one event, or a buffer that is locked after the event;
- an object or a buffer that is still in use when everything was closed and dropped.

With --threads each round runs in several threads at once.
"""
from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import random
import select
import signal
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import xpoll
from xpoll import (
    ADD, AIO_FSYNC, AIO_READ, AIO_WRITE, CLEAR, DELETE, DISABLE, DISPATCH, ENABLE, FILT_AIO,
    FILT_EMPTY, FILT_EXCEPT, FILT_READ, FILT_SIGNAL, FILT_TIMER, FILT_USER, FILT_VNODE, FILT_WRITE,
    KEEPUDATA, NOTE_TRIGGER, NOTE_USECONDS, NOTE_WRITE, ONESHOT, RECEIPT, WHOLE, Event, Queue)

# What a wrong or late argument is answered with.  SystemError is not among them.
EXPECTED = (BufferError, KeyError, OSError, OverflowError, RecursionError, RuntimeError, TypeError,
            ValueError)
DEPTH = 3
FD_FILTERS = (FILT_READ, FILT_WRITE, FILT_EXCEPT, FILT_EMPTY, FILT_VNODE)
FILTERS = (*FD_FILTERS[:3], *FD_FILTERS, FILT_TIMER, FILT_USER, FILT_USER, FILT_SIGNAL, FILT_AIO)
MODES = (0, 0, 0, CLEAR, ONESHOT, DISPATCH, DISABLE, ENABLE, KEEPUDATA, RECEIPT)
WAKE_UP = int(signal.SIGUSR1)


class Fault(BaseException):
    """What is not to happen; not an Exception, so that nothing takes it for an expected one."""


class Hook:
    """Each of its methods goes on with the program inside of the call that has come here."""

    living = 0
    lock = threading.Lock()

    def __init__(self, world: World, number: int = 0) -> None:
        with Hook.lock:
            Hook.living += 1
        self.world = world
        self.number = number
        self.places: set[tuple[int, int, int]] = set()
        self.cycle: Hook | None = None

    def __del__(self) -> None:
        with Hook.lock:
            Hook.living -= 1
        self.world.inside("__del__")

    def __index__(self) -> int:
        self.world.inside("__index__")
        return self.number

    def fileno(self) -> int:
        self.world.inside("fileno")
        return self.number

    def __iter__(self) -> Iterator[Event]:
        for _ in range(3):
            self.world.inside("__iter__")
            yield self.world.event()

    def __eq__(self, other: object) -> bool:
        self.world.inside("__eq__")
        return self is other

    def __lt__(self, other: object) -> bool:
        self.world.inside("__lt__")
        return id(self) < id(other)

    def __hash__(self) -> int:
        self.world.inside("__hash__")
        return self.number

    def __repr__(self) -> str:
        self.world.inside("__repr__")
        return "hook"

    # From CPython 3.12 on.
    def __buffer__(self, flags: int) -> memoryview:
        self.world.inside("__buffer__")
        return memoryview(self.world.bytes())

    def __release_buffer__(self, view: memoryview) -> None:
        self.world.inside("__release_buffer__")
        view.release()


class Bytes(bytearray):
    """A buffer that can be part of a cycle."""

    hook: Hook | None = None


class Numbered:
    """A queue or selector, and which one it is."""

    def __init__(self, made: Any, serial: int) -> None:
        self.made = made
        self.serial = serial


class World:
    """What one round works with; every list is as it happens to be at each step."""

    def __init__(self, seed: int, steps: int, blocking: float) -> None:
        self.random = random.Random(seed)
        self.left = steps
        self.nested = 3 * steps
        self.blocking = blocking
        self.local = threading.local()
        self.serial = 0
        self.over = False
        self.queues: list[Numbered] = []
        self.selectors: list[Numbered] = []
        self.pipes: list[tuple[int, int]] = []
        self.numbers = [0]  # Descriptors, some of them closed.
        self.hooks: list[Hook] = []
        self.held: list[Any] = []
        self.refs: list[Any] = []
        self.aios: list[Any] = []
        self.idents = [1]  # Of operations, most of them over.
        self.flights: dict[int, tuple[int, Any, Any]] = {}
        self.submitting = 0  # calls of aio_submit whose operation is not in flights yet
        self.early: set[int] = set()  # operations that ended before such a call was over
        self.buffers: list[bytearray] = []
        self.faults: list[str] = []
        self.count: dict[str, int] = {}
        self.path = tempfile.TemporaryFile()
        self.path.write(bytes(range(256)) * 64)
        self.path.flush()
        self.steps: list[tuple[Callable[[], object], int]] = [
            (self.open_queue, 3), (self.open_selector, 2), (self.close_queue, 3),
            (self.close_selector, 2), (self.open_pipe, 8), (self.close_pipe, 7), (self.write, 6),
            (self.read, 2), (self.add, 30), (self.change, 10), (self.control, 8), (self.wait, 12),
            (self.poll, 5), (self.ctl, 8), (self.register, 8), (self.aio, 8),
            (self.cancel, 2), (self.forget_aio, 3), (self.look, 8), (self.select, 6),
            (self.selector_change, 12), (self.selector_look, 4), (self.drop, 8),
            (self.compare, 3), (self.collect, 1), (self.signal, 2)]

    # --- Running ---------------------------------------------------------------------

    def step(self) -> None:
        functions, weights = zip(*self.steps)
        function = self.random.choices(functions, weights)[0]
        self.count[function.__name__] = self.count.get(function.__name__, 0) + 1
        try:
            function()
        except EXPECTED:
            pass
        except Exception as error:
            self.fault(f"{function.__name__}: {type(error).__name__}: {error}")

    def inside(self, where: str) -> None:
        """Called by the interpreter, inside of anything."""
        depth = getattr(self.local, "depth", 0)
        if self.over or depth >= DEPTH or self.nested <= 0:
            return
        self.count[where] = self.count.get(where, 0) + 1
        self.local.depth = depth + 1
        try:
            for _ in range(self.random.choice((0, 1, 1, 2, 3))):
                self.nested -= 1
                self.step()
        finally:
            self.local.depth = depth

    def fault(self, text: str) -> None:
        self.faults.append(text)

    # --- What steps are made of --------------------------------------------------------

    def one(self, things: list[Any], least: Any = None) -> Any:
        things = list(things)
        return self.random.choice(things) if things else least

    def queue(self) -> Numbered:
        return self.one(self.queues) or self.open_queue()

    def selector(self) -> Numbered:
        return self.one(self.selectors) or self.open_selector()

    def hook(self, number: int = 0) -> Hook:
        hook = Hook(self, number)
        kind = self.random.randrange(12)
        if kind == 0:
            hook.cycle = hook
        elif kind == 1:
            self.refs.append(weakref.ref(hook, lambda _: self.inside("weakref")))
        elif kind == 2:
            self.hooks.append(hook)
        return hook

    def udata(self, place: tuple[int, int, int]) -> Any:
        kind = self.random.randrange(10)
        if kind < 2:
            return None
        hook = self.one(self.hooks) if kind == 2 else None
        hook = hook or self.hook()
        hook.places.add(place)
        return hook

    def number(self, value: int) -> Any:
        return self.hook(value) if self.random.randrange(8) == 0 else value

    def fd(self) -> Any:
        pipe = self.one(self.pipes)
        fd = self.random.choice(pipe) if pipe else self.one(self.numbers)
        if self.random.randrange(10) == 0:
            fd = self.one(self.numbers)
        return fd

    def target(self) -> tuple[int, int]:
        filter = self.random.choice(FILTERS)
        if filter in FD_FILTERS:
            return self.fd(), filter
        if filter == FILT_AIO:
            return self.one(self.idents), filter
        if filter == FILT_SIGNAL:
            return WAKE_UP, filter
        return self.random.randrange(4), filter

    def arguments(self, filter: int) -> tuple[int, int, int]:
        flags = self.random.choice(MODES) | self.random.choice(MODES)
        if filter == FILT_TIMER:
            return flags, NOTE_USECONDS, self.random.choice((1, 1, 100, 10**9))
        if filter == FILT_USER:
            return flags, self.random.choice((0, NOTE_TRIGGER)), 0
        return flags, NOTE_WRITE if filter == FILT_VNODE else 0, 0

    def bytes(self) -> bytearray:
        made = Bytes(64) if self.random.randrange(3) else bytearray(64)
        if isinstance(made, Bytes) and self.random.randrange(4) == 0:
            made.hook = self.hook()
            made.hook.cycle = made  # type: ignore[assignment]
            return made
        self.buffers.append(made)
        return made

    def event(self) -> Event:
        ident, filter = self.target()
        flags, fflags, data = self.arguments(filter)
        flags |= self.random.choice((ADD, ADD, DELETE, ENABLE, DISABLE))
        places = [(one.serial, ident, filter) for one in list(self.queues)]
        udata = self.udata(places[0]) if places else None
        if isinstance(udata, Hook):
            udata.places.update(places)
        return Event(self.number(ident), self.number(filter), flags, fflags, data, udata)

    # --- Checks ----------------------------------------------------------------------------

    def check_events(self, one: Numbered, events: list[Event]) -> None:
        for event in events:
            if event.flags & xpoll.ERROR:
                continue
            if event.filter == FILT_AIO:
                self.check_aio(one, event)
            elif isinstance(event.udata, Hook):
                # modify() gives the object of one direction to all.
                filters = FD_FILTERS[:3] if event.filter in FD_FILTERS[:3] else (event.filter,)
                if not any((one.serial, event.ident, filter) in event.udata.places
                           for filter in filters):
                    self.fault(f"{event.filter} {event.ident}: the object of another")
            elif event.udata is not None:
                self.fault(f"{event.filter} {event.ident}: a {type(event.udata).__name__}")

    def check_aio(self, one: Numbered, event: Event) -> None:
        if self.blocking:  # Another thread may not have written it down yet.
            return
        if self.submitting and event.ident not in self.flights:
            self.early.add(event.ident)
            return
        serial, aio, given = self.flights.pop(event.ident, (0, None, None))
        if serial != one.serial:
            self.fault("an operation ended that nobody began")
        elif event.udata is not (aio if given is None else given):
            self.fault("an operation ended with another udata")
        elif not aio.done or aio.result != event.data:
            self.fault("an operation ended, and is not done")

    # --- Steps -------------------------------------------------------------------------------

    def open_queue(self) -> Numbered:
        if len(self.queues) > 1:
            return self.queues[0]
        self.serial += 1
        one = Numbered(Queue(self.random.choice(xpoll.backends()), self.number(4)), self.serial)
        self.queues.append(one)
        return one

    def close_queue(self) -> None:
        one = self.one(self.queues)
        if one:
            if one in self.queues:
                self.queues.remove(one)
            one.made.close()
            self.held.append(one)

    def open_selector(self) -> Numbered:
        if len(self.selectors) > 1:
            return self.selectors[0]
        self.serial += 1
        made = xpoll.XpollSelector(self.random.choice(xpoll.backends()), self.number(4))
        one = Numbered(made, self.serial)
        self.selectors.append(one)
        return one

    def close_selector(self) -> None:
        one = self.one(self.selectors)
        if one:
            if one in self.selectors:
                self.selectors.remove(one)
            one.made.close()
            self.held.append(one)

    def open_pipe(self) -> None:
        if len(self.pipes) > 12:
            return
        ends = os.pipe()
        for fd in ends:
            os.set_blocking(fd, False)
        self.pipes.append(ends)
        self.numbers.extend(ends)
        del self.numbers[:-40]

    def close_pipe(self) -> None:
        try:
            ends = self.pipes.pop(self.random.randrange(len(self.pipes)))
        except (IndexError, ValueError):
            return  # None are left, or another thread has taken the last.
        for fd in ends:
            close: Callable[[int], None] = self.random.choice((os.close, os.close, xpoll.close_fd))
            close(fd)

    def write(self) -> None:
        pipe = self.one(self.pipes)
        if pipe:
            os.write(pipe[1], b"x")

    def read(self) -> None:
        pipe = self.one(self.pipes)
        if pipe:
            os.read(pipe[0], 10)

    def add(self) -> None:
        one = self.queue()
        ident, filter = self.target()
        udata = self.udata((one.serial, ident, filter))
        flags, fflags, data = self.arguments(filter)
        one.made.add(self.number(ident), self.number(filter), self.number(flags),
                     self.number(fflags), self.number(data), udata)

    def change(self) -> None:
        one = self.queue()
        ident, filter = self.target()
        function = self.random.choice((one.made.delete, one.made.delete, one.made.enable,
                                       one.made.disable))
        if filter == FILT_USER and self.random.randrange(2):
            one.made.trigger(self.number(ident), 0)
        else:
            function(self.number(ident), self.number(filter))

    def control(self) -> None:
        one = self.queue()
        changes: Any = [self.event() for _ in range(self.random.randrange(5))]
        if self.random.randrange(3) == 0:
            changes = self.hook()
        self.check_events(one, one.made.control(changes, self.number(8), self.number(0)))

    def wait(self) -> None:
        one = self.queue()
        most = self.random.choice((1, 3, 64, 300))
        timeout = self.blocking if self.random.randrange(4) == 0 else self.number(0)
        mask = [self.number(WAKE_UP)] if self.random.randrange(8) == 0 else None
        events = one.made.wait(timeout, self.number(most), mask)
        self.check_events(one, events)
        if self.random.randrange(3) == 0:
            self.held.append(events)

    def poll(self) -> None:
        one = self.queue()
        timeout = self.blocking if self.random.randrange(4) == 0 else self.number(0)
        most = self.number(self.random.choice((1, 3, 256, 300)))
        mask = [self.number(WAKE_UP)] if self.random.randrange(8) == 0 else None
        ready = one.made.poll(timeout, most, mask)
        for fd, _, udata in ready:
            if isinstance(udata, Hook) and not any(
                    (one.serial, fd, filter) in udata.places for filter in FD_FILTERS):
                self.fault("poll: the object of another descriptor")
        self.held.append(ready)

    def for_directions(self, one: Numbered, fd: int) -> Any:
        udata = self.udata((one.serial, fd, FILT_READ))
        if isinstance(udata, Hook):
            udata.places.update((one.serial, fd, filter) for filter in FD_FILTERS)
        return udata

    def ctl(self) -> None:
        one = self.queue()
        fd = self.fd()
        op = self.random.choice((ADD, ADD, ADD | ONESHOT, ADD | CLEAR, ADD | KEEPUDATA,
                                 ADD | ONESHOT | WHOLE, ADD | DISPATCH | WHOLE, ADD | DISABLE,
                                 DELETE, ENABLE, DISABLE))
        events = self.random.choice((1, 4, 5, 7, 2, 0))
        udata = self.for_directions(one, fd)
        one.made.ctl(self.number(op), self.number(events), self.number(fd), udata)

    def register(self) -> None:
        one = self.queue()
        fd = self.fd()
        mask = self.random.choice((0, 1, 4, 5, 7, 1 | 1 << 31, 5 | 1 << 30, 4))
        function = self.random.choice((one.made.register, one.made.register, one.made.modify))
        if self.random.randrange(5) == 0:
            one.made.unregister(self.number(fd))
        elif self.random.randrange(4) == 0:
            function(self.number(fd), self.number(mask))
        else:
            function(self.number(fd), self.number(mask), self.for_directions(one, fd))

    def aio(self) -> None:
        one = self.queue()
        op = self.random.choice((AIO_READ, AIO_READ, AIO_WRITE, AIO_FSYNC))
        given = self.hook() if self.random.randrange(3) == 0 else None
        kind = self.random.randrange(4)
        buffer: Any = self.bytes() if kind else self.hook()
        if kind == 1:
            buffer = memoryview(buffer)
        # Named: what a call has for itself ends after it, before its result is written down.
        number, where = self.number(op), self.number(self.random.choice((0, 5, 10**6)))
        fd = self.number(self.path.fileno())
        self.submitting += 1
        try:
            aio = one.made.aio_submit(number, fd, buffer, where, udata=given)
            flight = (one.serial, aio, given)
            # Code that runs inside of these lines may have got its end.
            if aio.ident in self.early:
                self.early.discard(aio.ident)
            else:
                self.flights[aio.ident] = flight
        finally:
            self.submitting -= 1
        if self.random.randrange(2):
            self.idents.append(aio.ident)
            del self.idents[:-6]
        if self.random.randrange(2):
            self.aios.append(aio)

    def cancel(self) -> None:
        aio = self.one(self.aios)
        if aio:
            repr(aio)
            self.queue().made.aio_cancel(aio)

    def forget_aio(self) -> None:
        self.aios.clear()

    def look(self) -> None:
        one = self.queue()
        ident, filter = self.target()
        found = one.made.lookup(self.number(ident), filter)
        if found is not None and isinstance(found.udata, Hook):
            found.udata.number += 1
        for function in (one.made.stats, one.made.next_timeout, one.made.wake, one.made.wake_all):
            if self.random.randrange(6) == 0:
                function()
        one.made.supports(self.number(filter), self.number(0))
        self.held.append((found, repr(one.made), one.made.backend))

    def select(self) -> None:
        one = self.selector()
        timeout = self.blocking if self.random.randrange(4) == 0 else self.number(0)
        for key, events in one.made.select(timeout):
            if key.data is not None and (one.serial, key.fd, 0) not in key.data.places:
                self.fault("select: the key of another descriptor")
            if not events & key.events:
                self.fault("select: events that were not asked for")

    def selector_change(self) -> None:
        one = self.selector()
        fd = self.fd()
        data = self.udata((one.serial, fd, 0))
        events = self.random.choice((1, 2, 3))
        kind = self.random.randrange(5)
        if kind < 2:
            self.held.append(one.made.register(self.number(fd), self.number(events), data))
        elif kind < 4:
            self.held.append(one.made.modify(self.number(fd), self.number(events), data))
        else:
            one.made.unregister(self.number(fd))

    def selector_look(self) -> None:
        made = self.selector().made
        keys = made.get_map()
        if keys is not None:
            keys.get(self.number(self.fd()), self.hook())
            for fd in keys:
                made.get_key(fd)
        repr(made)

    def drop(self) -> None:
        for things in (self.hooks, self.held, self.refs):
            if things and self.random.randrange(2):
                del things[:self.random.randrange(len(things)) + 1]

    def compare(self) -> None:
        a, b = self.event(), self.event()
        same = Event(1, udata=self.hook()), Event(1, udata=self.hook())
        sorted(same)
        self.held.append((a == b, hash(a), repr(a), same[0] == same[1], repr(same[0])))

    def collect(self) -> None:
        gc.collect(self.random.choice((0, 0, 1, 2)))

    def signal(self) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.setitimer(signal.ITIMER_REAL, 0.0001)
            one = self.queue()
            self.check_events(one, one.made.wait(self.blocking or 0.0002))

    # --- The end -------------------------------------------------------------------------------

    def drain(self) -> None:
        """Each operation of a queue that is still open has its one event."""
        self.over = True
        for one in list(self.queues):
            end = time.monotonic() + 60
            while any(serial == one.serial for serial, _, _ in self.flights.values()):
                self.check_events(one, one.made.wait(1))
                if time.monotonic() > end:
                    self.fault("an operation has no event")
                    break
        for aio in self.aios:
            repr(aio)

    def end(self) -> list[str]:
        if not self.blocking:
            self.drain()
        self.over = True
        for one in (*self.queues, *self.selectors):
            one.made.close()
        one = None  # type: ignore[assignment]
        for fd in {fd for pipe in self.pipes for fd in pipe}:
            os.close(fd)
        self.path.close()
        for things in (self.queues, self.selectors, self.hooks, self.held, self.refs, self.aios):
            things.clear()
        self.flights.clear()
        for _ in range(3):
            gc.collect()
        for buffer in self.buffers:
            try:
                buffer.append(0)
            except BufferError:
                self.fault("a buffer is locked at the end")
                break
        if Hook.living:
            self.fault(f"{Hook.living} objects are left")
            Hook.living = 0
        return self.faults


def play(world: World) -> None:
    while world.left > 0 and not world.faults:
        world.left -= 1
        world.step()


def run(seed: int, steps: int, threads: int) -> World:
    world = World(seed, steps, 0.001 if threads else 0)
    collecting = lambda phase, info: world.inside("gc")  # noqa: E731
    for number in (WAKE_UP, signal.SIGALRM):
        signal.signal(number, lambda *_: world.inside("signal"))
    gc.callbacks.append(collecting)
    gc.set_threshold(world.random.choice((1, 5, 50, 700)), 5, 5)
    others = [threading.Thread(target=play, args=(world,)) for _ in range(threads)]
    for thread in others:
        thread.start()
    play(world)
    for thread in others:
        thread.join()
    signal.setitimer(signal.ITIMER_REAL, 0)
    gc.callbacks.remove(collecting)
    for number in (WAKE_UP, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    world.end()
    return world


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, help="of the first round; 1, or any with --seconds")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--threads", type=int, default=0, help="besides the first one")
    parser.add_argument("--seconds", type=float, help="as many rounds as fit",
                        default=float(os.environ.get("XPOLL_REENTER_SECONDS", "0")))
    options = parser.parse_args()

    faulthandler.enable()
    unraisable: list[str] = []
    sys.unraisablehook = lambda args: unraisable.append(
        f"{args.exc_type.__name__}: {args.exc_value}")
    if options.threads:
        sys.setswitchinterval(1e-5)
    end = time.monotonic() + options.seconds
    count: dict[str, int] = {}
    first = options.seed
    if first is None:
        first = random.randrange(10**6) if options.seconds else 1
    seed = first
    while time.monotonic() < end if options.seconds else seed < first + options.rounds:
        os.write(1, f"reenter: seed {seed}\n".encode())
        world = run(seed, options.steps, options.threads)
        for fault in world.faults + unraisable:
            print(f"reenter: seed {seed}: {fault}")
        if world.faults or unraisable:
            return 1
        for name, times in world.count.items():
            count[name] = count.get(name, 0) + times
        seed += 1
    print("reenter:", ", ".join(f"{name} {count[name]}" for name in sorted(count)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
