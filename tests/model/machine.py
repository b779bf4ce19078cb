"""The state machine: random operations, each done to every queue side by side.

Files are picked by a number modulo what there is, so that a failing sequence can be made
shorter and repeated by calling the same methods again.
"""
from __future__ import annotations

import functools
import os
import signal
import traceback
from collections.abc import Callable
from select import POLLIN, POLLOUT, POLLPRI
from typing import Any

import xpoll
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from registrations import FD_FILTERS, Change, Wrong
from sides import Side
from sources import SignalRegistration
from world import KINDS, POLLRDHUP, STREAMS, Child, World, duplicate
from xpoll import ADD, CLEAR, DELETE, DISABLE, DISPATCH, ENABLE, KEEPUDATA, ONESHOT

# AddressSanitizer's allocator knows nothing of fork: what another thread holds of it just
# then, as while it starts or ends, is held in the child for ever.
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")

PICK = st.integers(0, 30)
MODES = st.sampled_from([0, 0, CLEAR, ONESHOT, DISPATCH, CLEAR | DISPATCH, CLEAR | ONESHOT])
SWITCHES = st.sampled_from([0, 0, 0, ENABLE, DISABLE, KEEPUDATA])
OPS = st.sampled_from([ENABLE, DISABLE, DELETE])
FILTERS = st.sampled_from(FD_FILTERS)
EVENTS = st.sampled_from([POLLIN, POLLOUT, POLLIN | POLLOUT, POLLIN | POLLRDHUP, POLLRDHUP,
                          POLLPRI, POLLIN | POLLOUT | POLLPRI])
# An event that is there already is returned at once, however short the time.
TIMEOUTS = st.sampled_from([0, 0, 0.001])
IDENTS = st.integers(1, 3)
COMBINATIONS = st.sampled_from([xpoll.NOTE_FFNOP, xpoll.NOTE_FFAND, xpoll.NOTE_FFOR,
                                xpoll.NOTE_FFCOPY])
# Due at once, again and again or never: nothing that depends on how fast a machine is.
TIMERS = st.sampled_from([
    (xpoll.NOTE_NSECONDS, 0), (xpoll.NOTE_NSECONDS, 1), (xpoll.NOTE_SECONDS, 3600),
    (xpoll.NOTE_ABSTIME | xpoll.NOTE_SECONDS, 1), (xpoll.NOTE_ABSTIME | xpoll.NOTE_SECONDS, 2**33),
    (xpoll.NOTE_MONOTONIC | xpoll.NOTE_NSECONDS, 1)])
SIGNALS = st.sampled_from([signal.SIGUSR1, signal.SIGRTMIN + 1])
THEN = st.sampled_from(["", "", "wait", "wait for one", "poll"])
SENDS = st.sampled_from(["write", "write", "write_much", "fill"])
TAKES = st.sampled_from(["read", "drain"])
ACTS = st.sampled_from(["write", "write_much", "fill", "read", "drain", "seek_start", "seek_end",
                        "shut_reading", "shut_writing", "shut_both", "send_urgent", "knock",
                        "cut", "change_mode"])
# From "any" over "some" and "nearly all there is" to "more than there is ever room for".
SIZES = st.sampled_from([1, 2, 9, 2000, 8000, 10**9])
CHANGES_OF_SIZE = xpoll.NOTE_WRITE | xpoll.NOTE_EXTEND | xpoll.NOTE_TRUNCATE
NOTES = st.sampled_from([xpoll.NOTE_WRITE, CHANGES_OF_SIZE, xpoll.NOTE_ATTRIB, xpoll.NOTE_READ,
                         CHANGES_OF_SIZE | xpoll.NOTE_ATTRIB | xpoll.NOTE_READ])
# Of these others know, too; or they hear of what the library itself does.
UNWATCHED = ("tty", "null", "directory")
OPERATIONS = st.sampled_from([xpoll.AIO_READ, xpoll.AIO_WRITE, xpoll.AIO_FSYNC])
ENDS = st.sampled_from([0, 3, -signal.SIGKILL])
MOST_FILES = 6
MOST_CHILDREN = 3


def filters_in(events: int) -> list[int]:
    bits = (POLLIN | POLLRDHUP, POLLOUT, POLLPRI)
    return [filter for filter, mask in zip(FD_FILTERS, bits) if events & mask]


def step(mark: Callable[..., Any] = rule, **strategies: Any) -> Callable[..., Any]:
    """A rule that notes what is done, checks what came of it, and then may wait."""
    def decorate(act: Callable[..., None]) -> Any:
        @functools.wraps(act)
        def checked(self: Machine, then: str = "", **arguments: Any) -> None:
            noted = {**arguments, "then": then} if then else arguments
            self.steps.append((act.__name__, noted))
            self.begin()
            try:
                act(self, **arguments)
                for side in self.sides:
                    side.check()
                    if then:
                        side.wait(then == "poll", 1 if then == "wait for one" else 64)
            except Exception as error:
                Machine.failures.append((error, list(self.steps)))
                raise
        return mark(then=THEN, **strategies)(checked)
    return decorate


class Machine(RuleBasedStateMachine):
    """The model."""

    # What was wrong, and what was done before: Hypothesis plays it again, and if it does not
    # fail again, as where time matters, shows that alone.
    failures: list[tuple[Exception, list[tuple[str, dict[str, Any]]]]] = []
    begin: Callable[[], Any] = staticmethod(lambda: None)  # Before each step.
    alone = ""  # The back end that is played alone; none: all that share a world.

    def __init__(self, alone: str = "") -> None:
        super().__init__()
        self.alone = alone or Machine.alone
        self.begin()
        self.steps: list[tuple[str, dict[str, Any]]] = []
        self.world = World()
        backends = [self.alone] if self.alone else xpoll.backends()
        names = [f"{backends[0]} {how}" for how in ("exposed", "several")
                 if backends[0] not in ("poll", "select")] + backends
        self.sides = [Side(name, self.world) for name in names]
        self.closed: list[int] = []  # Numbers that were registered and closed.
        self.objects = 0
        self.handlers = {number: signal.signal(number, lambda *_: None)
                         for number in (signal.SIGUSR1, signal.SIGRTMIN + 1)}

    def teardown(self) -> None:
        for side in self.sides:
            side.close()
        self.world.close_all()
        for number, handler in self.handlers.items():
            signal.signal(number, handler)

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        self.teardown()

    # --- Picking --------------------------------------------------------------------------

    def udata(self) -> str:
        self.objects += 1
        return f"udata {self.objects}"

    def an_open(self, pick: int) -> int:
        numbers = sorted(self.world.files)
        return numbers[pick % len(numbers)]

    def a_number(self, pick: int) -> int:
        """An open one, or now and then one that was closed."""
        numbers = sorted(self.world.files) + sorted(set(self.closed) - self.world.files.keys())
        return numbers[pick % len(numbers)]

    def a_registered(self, pick: int, filter: int) -> tuple[int, int]:
        """A descriptor's registration that is there, or as likely a number and this filter."""
        keys = [key for key in sorted(self.sides[0].ref.regs) if key[1] in FD_FILTERS]
        if pick % 2 and keys:
            return keys[pick // 2 % len(keys)]
        return self.a_number(pick), filter

    def one_of(self, pick: int, kinds: tuple[str, ...]) -> int:
        """An open number of such a file if there is one, or as likely any number."""
        fitting = [fd for fd, file in sorted(self.world.files.items()) if file.kind in kinds]
        return fitting[pick // 2 % len(fitting)] if pick % 2 and fitting else self.a_number(pick)

    some_open = precondition(lambda self: bool(self.world.files))
    some_number = precondition(lambda self: bool(self.world.files or self.closed))
    some_room = precondition(lambda self: len(self.world.files) < MOST_FILES)

    # --- Files ----------------------------------------------------------------------------

    @step(initialize, kind=st.sampled_from(KINDS))
    def first_file(self, kind: str) -> None:
        self.world.make(kind)

    @some_room
    @step(kind=st.sampled_from(KINDS))
    def make(self, kind: str) -> None:
        self.world.make(kind)

    @some_open
    @step(pick=PICK, what=ACTS, asleep=st.booleans())
    def act(self, pick: int, what: str, asleep: bool) -> None:
        """Something is done to a file; asleep: while a thread waits."""
        self.happens(lambda: getattr(self.world, what)(self.an_open(pick)), asleep)

    def a_busy(self, pick: int) -> int:
        """An open number; most likely one that is registered."""
        busy = [fd for fd in sorted(self.world.files) if self.sides[0].ref.of_number(fd)]
        return busy[pick // 4 % len(busy)] if pick % 4 and busy else self.an_open(pick)

    @some_open
    @step(pick=PICK, what=SENDS, asleep=st.booleans())
    def send(self, pick: int, what: str, asleep: bool) -> None:
        """To a registered number: by its peer, if it has one that is open."""
        fd = self.a_busy(pick)
        peers = [number for peer in self.world.files[fd].peers for number in peer.numbers]
        fd = min(peers, default=fd)
        self.happens(lambda: getattr(self.world, what)(fd), asleep)

    @some_open
    @step(pick=PICK, what=TAKES)
    def take(self, pick: int, what: str) -> None:
        fd = self.a_busy(pick)
        self.happens(lambda: getattr(self.world, what)(fd), False)

    def happens(self, act: Callable[[], None], asleep: bool) -> None:
        for side in self.sides:
            if asleep:
                side.fall_asleep()
        act()
        for side in self.sides:
            side.get_up()

    # --- Numbers --------------------------------------------------------------------------

    def let_go(self, fd: int) -> None:
        xpoll.forget_fd(fd)
        for side in self.sides:
            side.ref.forgotten(fd)

    def was_closed(self, fd: int) -> None:
        if any(side.ref.all_of_number(fd) for side in self.sides):
            self.closed.append(fd)
        for side in self.sides:
            side.ref.closed(fd)

    @some_open
    @step(pick=PICK, exactly=st.booleans())
    def close(self, pick: int, exactly: bool) -> None:
        fd = self.an_open(pick)
        self.world.closed(fd)
        if not exactly:
            os.close(fd)
            self.was_closed(fd)
            return
        xpoll.close_fd(fd)
        for side in self.sides:
            side.ref.forgotten(fd)

    @some_number
    @step(pick=PICK)
    def forget(self, pick: int) -> None:
        self.let_go(self.a_number(pick))

    @some_open
    @some_room
    @step(pick=PICK)
    def dup(self, pick: int) -> None:
        fd = self.an_open(pick)
        self.world.named(duplicate(fd), self.world.files[fd])

    @some_open
    @step(pick=PICK, onto=PICK)
    def dup_onto(self, pick: int, onto: int) -> None:
        fd, target = self.an_open(pick), self.an_open(onto)
        if fd != target:
            os.dup2(fd, target, inheritable=False)
            self.world.named(target, self.world.files[fd])
            self.was_closed(target)

    # --- Changes --------------------------------------------------------------------------

    def change(self, change: Change, asleep: bool = False) -> None:
        """Make it; asleep: while a thread waits."""
        for side in self.sides:
            if asleep:
                side.fall_asleep()
            side.change(change)
            side.get_up()

    @some_number
    @step(pick=PICK, filter=FILTERS, modes=MODES, switch=SWITCHES, asleep=st.booleans(),
          hint=st.booleans())
    def add(self, pick: int, filter: int, modes: int, switch: int, asleep: bool,
            hint: bool = False) -> None:
        # A hint, which changes nothing of what is delivered.
        fflags = xpoll.NOTE_EXCLUSIVE if hint and filter != xpoll.FILT_EXCEPT else 0
        self.change(Change(ADD, self.a_number(pick), [filter], modes | switch, fflags=fflags,
                           udata=self.udata()), asleep)

    @some_number
    @step(pick=PICK, events=EVENTS, modes=MODES, disabled=st.booleans())
    def ctl_add(self, pick: int, events: int, modes: int, disabled: bool) -> None:
        switch = DISABLE if disabled else ENABLE
        self.change(Change(ADD, self.a_number(pick), filters_in(events), modes | switch, events,
                           udata=self.udata()))

    @some_number
    @step(pick=PICK, filter=st.sampled_from(FD_FILTERS[:2]), modes=MODES, switch=SWITCHES,
          size=SIZES, asleep=st.booleans())
    def add_mark(self, pick: int, filter: int, modes: int, switch: int, size: int,
                 asleep: bool) -> None:
        self.change(Change(ADD, self.one_of(pick, STREAMS), [filter], modes | switch,
                           fflags=xpoll.NOTE_LOWAT, data=size, udata=self.udata()), asleep)

    @some_number
    @step(pick=PICK, modes=MODES, switch=SWITCHES, notes=NOTES, asleep=st.booleans())
    def add_vnode(self, pick: int, modes: int, switch: int, notes: int, asleep: bool) -> None:
        fd = self.one_of(pick, ("regular",))
        file = self.world.files.get(fd)
        if not file or file.kind not in UNWATCHED:
            self.change(Change(ADD, fd, [xpoll.FILT_VNODE], modes | switch, fflags=notes,
                               udata=self.udata(), subject=file), asleep)

    @some_number
    @step(pick=PICK, op=OPS, asleep=st.booleans())
    def switch_vnode(self, pick: int, op: int, asleep: bool) -> None:
        self.change(Change(op, self.a_number(pick), [xpoll.FILT_VNODE]), asleep)

    @some_number
    @step(pick=PICK, filter=FILTERS, op=OPS, asleep=st.booleans())
    def switch(self, pick: int, filter: int, op: int, asleep: bool) -> None:
        ident, filter = self.a_registered(pick, filter)
        self.change(Change(op, ident, [filter]), asleep)

    @some_number
    @step(pick=PICK, events=EVENTS, op=OPS)
    def ctl_switch(self, pick: int, events: int, op: int) -> None:
        self.change(Change(op, self.a_number(pick), filters_in(events), events=events))

    @step(ident=IDENTS, modes=MODES, switch=SWITCHES, combine=COMBINATIONS,
          bits=st.integers(0, 15), trigger=st.booleans(), asleep=st.booleans())
    def add_user(self, ident: int, modes: int, switch: int, combine: int, bits: int,
                 trigger: bool, asleep: bool) -> None:
        fflags = combine | bits | (xpoll.NOTE_TRIGGER if trigger else 0)
        self.change(Change(ADD, ident, [xpoll.FILT_USER], modes | switch, fflags=fflags,
                           data=bits, udata=self.udata()), asleep)

    @step(ident=IDENTS, combine=COMBINATIONS, bits=st.integers(0, 15), asleep=st.booleans())
    def trigger(self, ident: int, combine: int, bits: int, asleep: bool) -> None:
        self.change(Change(0, ident, [xpoll.FILT_USER],
                           fflags=combine | bits | xpoll.NOTE_TRIGGER), asleep)

    @step(ident=IDENTS, modes=MODES, switch=SWITCHES, timer=TIMERS, asleep=st.booleans())
    def add_timer(self, ident: int, modes: int, switch: int, timer: tuple[int, int],
                  asleep: bool) -> None:
        self.change(Change(ADD, ident, [xpoll.FILT_TIMER], modes | switch, fflags=timer[0],
                           data=timer[1], udata=self.udata()), asleep)

    @step(number=SIGNALS, modes=MODES, switch=SWITCHES)
    def add_signal(self, number: int, modes: int, switch: int) -> None:
        self.change(Change(ADD, number, [xpoll.FILT_SIGNAL], modes | switch,
                           udata=self.udata()))

    @step(key=st.one_of(st.tuples(st.sampled_from([xpoll.FILT_USER, xpoll.FILT_TIMER]), IDENTS),
                        st.tuples(st.just(xpoll.FILT_SIGNAL), SIGNALS)), op=OPS)
    def switch_source(self, key: tuple[int, int], op: int) -> None:
        self.change(Change(op, key[1], [key[0]]))

    # --- Processes ------------------------------------------------------------------------

    some_child = precondition(lambda self: bool(self.world.children))
    room_for_children = precondition(lambda self: len(self.world.children) < MOST_CHILDREN)

    def a_child(self, pick: int) -> Child:
        return self.world.children[pick % len(self.world.children)]

    @room_for_children
    @step(modes=MODES, switch=SWITCHES)
    def spawn(self, modes: int, switch: int) -> None:
        self.watch(self.world.spawn(), modes | switch)

    def watch(self, child: Child, flags: int, asleep: bool = False) -> None:
        self.change(Change(ADD, child.pid, [xpoll.FILT_PROC], flags, fflags=xpoll.NOTE_EXIT,
                           udata=self.udata(), subject=child), asleep)

    @some_child
    @step(pick=PICK, modes=MODES, switch=SWITCHES, asleep=st.booleans())
    def add_proc(self, pick: int, modes: int, switch: int, asleep: bool) -> None:
        self.watch(self.a_child(pick), modes | switch, asleep)

    @some_child
    @step(pick=PICK, op=OPS)
    def switch_proc(self, pick: int, op: int) -> None:
        self.change(Change(op, self.a_child(pick).pid, [xpoll.FILT_PROC]))

    @some_child
    @step(pick=PICK, how=ENDS, asleep=st.booleans())
    def end_child(self, pick: int, how: int, asleep: bool) -> None:
        child = self.a_child(pick)
        if child.status is None:
            self.happens(lambda: self.world.end(child, how), asleep)

    @some_child
    @step(pick=PICK)
    def reap(self, pick: int) -> None:
        self.world.reap(self.a_child(pick))

    # --- Operations on files --------------------------------------------------------------

    @step(op=OPERATIONS, size=st.sampled_from([1, 5000]), offset=st.sampled_from([0, 16000]))
    def submit(self, op: int, size: int, offset: int) -> None:
        for side in self.sides:
            side.submit(op, size, offset)

    @step(pick=PICK)
    def cancel(self, pick: int) -> None:
        for side in self.sides:
            side.cancel(pick)

    @step(pick=PICK, op=OPS)
    def switch_operation(self, pick: int, op: int) -> None:
        for side in self.sides:
            side.switch_operation(pick, op)

    # --- What happens ---------------------------------------------------------------------

    @step(number=SIGNALS, count=st.integers(1, 3))
    def send_signal(self, number: int, count: int) -> None:
        for _ in range(count):
            signal.raise_signal(number)
        for side in self.sides:
            reg = side.ref.regs.get((number, xpoll.FILT_SIGNAL))
            if isinstance(reg, SignalRegistration):
                reg.count += count

    @step()
    def fork(self) -> None:
        """All of it once more in a child, of which the parent notices nothing."""
        if SANITIZED and len(os.listdir("/proc/self/task")) > 1:
            return
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self.begin()
                for side in self.sides:
                    side.inherit()
            except BaseException:
                os.write(writer, traceback.format_exc().encode()[:4096])
            finally:
                os._exit(0)
        os.close(writer)
        with open(reader, "rb") as report:
            text = report.read().decode()
        os.waitpid(pid, 0)
        if text:
            raise Wrong(f"in a child:\n{text}")

    # --- Waits ----------------------------------------------------------------------------

    @step(max_events=st.sampled_from([1, 2, 3, 64, 300]), timeout=TIMEOUTS)
    def wait(self, max_events: int, timeout: float) -> None:
        for side in self.sides:
            side.wait(max_events=max_events, timeout=timeout)

    @step(timeout=TIMEOUTS)
    def poll(self, timeout: float) -> None:
        for side in self.sides:
            side.wait(poll_level=True, timeout=timeout)

    @step(count=st.integers(1, 3))
    def wake(self, count: int) -> None:
        for side in self.sides:
            for _ in range(count):
                side.wake()
