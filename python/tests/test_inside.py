"""Code of the program that runs inside of a call of the binding, and calls it again.

reenter.py does this at random; here is what it has found.
"""
import contextlib
import gc
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import xpoll
from conftest import Pipe
from xpoll import (
    ADD, AIO_READ, DELETE, DISABLE, ENABLE, ERROR, FILT_AIO, FILT_READ, FILT_USER, FILT_WRITE,
    KEEPUDATA, NOTE_TRIGGER, ONESHOT, RECEIPT, Event, Queue, XpollSelector)

MakePipe = Callable[[], Pipe]


class Thing:
    """Calls a function at its end."""

    def __init__(self, end: Callable[[], object] = lambda: None) -> None:
        self.end = end

    def __del__(self) -> None:
        self.end()


class QueueWithEnd(Queue):
    """Hides a finalizer of Queue, if there were one."""

    def __del__(self) -> None:
        pass


class Number:
    """Calls a function when it is asked for its value."""

    def __init__(self, value: int, function: Callable[[], object]) -> None:
        self.value = value
        self.function = function

    def __index__(self) -> int:
        self.function()
        return self.value

    def fileno(self) -> int:
        return self.__index__()


@contextlib.contextmanager
def at_collections(function: Callable[[], object]) -> Iterator[None]:
    """Each garbage collection calls the function, and nearly each allocation collects."""
    def call(phase: str, _: dict[str, int]) -> None:
        if phase == "stop":
            with contextlib.suppress(KeyError, OSError, ValueError):
                function()

    before = gc.get_threshold()
    # CPython keeps unused tuples and lists for the next allocations, which then do not collect.
    kept: list[object] = [tuple([None] * size) for size in range(1, 5) for _ in range(2100)]
    kept.append([[] for _ in range(100)])
    gc.callbacks.append(call)
    gc.set_threshold(1)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(call)


@pytest.fixture
def file() -> Iterator[int]:
    with tempfile.TemporaryFile() as made:
        made.write(b"0123456789")
        made.flush()
        yield made.fileno()


@pytest.fixture
def aio_queue(queue: Queue) -> Queue:
    if not queue.supports(FILT_AIO):
        pytest.skip("no asynchronous I/O here")
    return queue


# --- The cell of an operation is the queue's -----------------------------------------------


def test_operations_are_for_no_change(aio_queue: Queue, file: int) -> None:
    queue, buffer = aio_queue, bytearray(10)
    aio = queue.aio_submit(AIO_READ, file, buffer)
    changes: list[Callable[[], object]] = [
        lambda: queue.add(aio.ident, FILT_AIO, udata="other"),
        lambda: queue.add(aio.ident, FILT_AIO, KEEPUDATA),
        lambda: queue.delete(aio.ident, FILT_AIO),
        lambda: queue.enable(aio.ident, FILT_AIO),
        lambda: queue.disable(aio.ident, FILT_AIO)]
    for flags in (ADD, DELETE, ENABLE, DISABLE, ADD | RECEIPT):
        changes.append(lambda flags=flags: queue.control(  # type: ignore[misc]
            [Event(7, FILT_USER), Event(aio.ident, FILT_AIO, flags, udata="other")], 9, 0))
    for change in changes:
        with pytest.raises(ValueError, match="aio_submit"):
            change()
    assert queue.lookup(7, FILT_USER) is None  # Nothing of such a list is made.
    event, = queue.wait()
    assert event.udata is aio and event.data == 10 and aio.done
    buffer.append(0)  # It is not locked.


def test_running_operation_keeps_its_buffer(aio_queue: Queue, file: int) -> None:
    buffer = bytearray(10)
    udata = Thing()
    ident = aio_queue.aio_submit(AIO_READ, file, buffer, udata=udata).ident
    with pytest.raises(ValueError):
        aio_queue.add(ident, FILT_AIO, udata=Thing())
    with pytest.raises(BufferError):
        buffer.append(0)
    event, = aio_queue.wait()
    assert event.udata is udata and bytes(buffer) == b"0123456789"
    buffer.append(0)


@pytest.mark.parametrize("kind", [Queue, QueueWithEnd])
def test_operation_in_a_cycle_ends_before_it_is_cleared(backend: str, file: int,
                                                        kind: type[Queue]) -> None:
    """Whatever the collector clears first, the operation has its buffer until then."""
    class Bytes(bytearray):
        things: object = None

    if not xpoll.supports(FILT_AIO):
        pytest.skip("no asynchronous I/O here")
    queue = kind(backend)
    buffer = Bytes(10)
    gone = weakref.ref(buffer)
    open_at_end: list[bool] = []
    view = memoryview(buffer)
    # The collector finalizes in the order of birth: the last one comes after the guard.
    buffer.things = queue, queue.aio_submit(AIO_READ, file, view), Thing(
        lambda queue=queue: open_at_end.append(not queue.closed))  # type: ignore[misc]
    del queue, view, buffer
    gc.collect()
    assert gone() is None
    assert open_at_end == [False]


# --- Code that closes the queue --------------------------------------------------------------


def test_released_object_closes_the_queue(backend: str, make_pipe: MakePipe) -> None:
    """Room for a new object is made by releasing those of closed descriptors."""
    for closing in range(0, 17, 4):
        queue = Queue(backend)
        readers = [make_pipe()[0] for _ in range(16)]
        for i, fd in enumerate(readers):
            thing = Thing(queue.close if i == closing else lambda: None)
            queue.add(fd, FILT_READ, udata=thing)
        del thing
        for fd in readers:
            xpoll.close_fd(fd)
        last = Thing()
        gone = weakref.ref(last)
        try:
            queue.add(1, FILT_USER, udata=last)
        except ValueError:
            assert queue.closed
        queue.close()
        del last
        assert gone() is None


def test_argument_closes_the_queue(backend: str, file: int, make_pipe: MakePipe) -> None:
    fd = make_pipe()[0]
    calls: list[Callable[[Queue, Callable[[int], Any], object], object]] = [
        lambda q, number, x: q.add(number(fd), FILT_READ, udata=x),
        lambda q, number, x: q.add(1, FILT_USER, number(0), udata=x),
        lambda q, number, x: q.ctl(ADD | KEEPUDATA, 1, number(fd), x),
        lambda q, number, x: q.register(number(fd), 1, x),
        lambda q, number, x: q.modify(number(fd), 1, x),
        lambda q, number, x: q.unregister(number(fd)),
        lambda q, number, x: q.aio_submit(AIO_READ, number(file), bytearray(1), udata=x),
        lambda q, number, x: q.aio_submit(AIO_READ, file, bytearray(1), number(0), udata=x),
        lambda q, number, x: q.lookup(number(fd), FILT_READ),
        lambda q, number, x: q.wait(number(0)),
        lambda q, number, x: q.poll(number(0)),
        lambda q, number, x: q.control([Event(fd, udata=x)], number(1)),
        lambda q, number, x: q.control((Event(fd, udata=x) for _ in [number(1).fileno()]), 1)]
    for call in calls:
        queue = Queue(backend)
        thing = Thing()
        gone = weakref.ref(thing)
        with pytest.raises(ValueError, match="closed"):
            call(queue, lambda value, queue=queue: Number(value, queue.close),  # type: ignore[misc]
                 thing)
        assert queue.closed
        del thing
        assert gone() is None, calls.index(call)


def test_argument_closes_the_selector(backend: str, pipe: Pipe) -> None:
    calls: list[Callable[[XpollSelector, Any], object]] = [
        lambda s, number: s.register(number, 1),
        lambda s, number: s.modify(number, 3),
        lambda s, number: s.modify(pipe[1], number),
        lambda s, number: s.register(pipe[0], number),
        lambda s, number: s.select(number)]
    for call in calls:
        selector = XpollSelector(backend)
        selector.register(pipe[1], 2)
        with pytest.raises((ValueError, KeyError)):
            call(selector, Number(1, selector.close))
        assert selector.closed


def test_replaced_object_closes_the_queue(backend: str, pair: tuple[object, object]) -> None:
    """register() makes several changes; the first of them ends the queue."""
    for modes in (0, 1 << 31):
        queue = Queue(backend)
        thing = Thing(queue.close)
        queue.register(pair[0], modes | 1, thing)  # type: ignore[arg-type]
        queue.add(pair[0], FILT_WRITE, udata="other")  # type: ignore[arg-type]
        del thing
        try:
            queue.register(pair[0], 1)  # type: ignore[arg-type]
        except ValueError:
            pass
        assert queue.closed


# --- Code that runs while objects are made ---------------------------------------------------


def test_lookup_keeps_the_object(queue: Queue) -> None:
    for _ in range(20):
        queue.add(1, FILT_USER, udata=Thing())
        with at_collections(lambda: queue.delete(1, FILT_USER)):
            found = queue.lookup(1, FILT_USER)
        if found is not None:
            assert isinstance(found.udata, Thing)
            found.udata.end()
        del found


def test_events_on_their_way_are_not_lost(queue: Queue) -> None:
    """Objects are added while the events of ONESHOT registrations become objects."""
    most = 40
    number = [1000]

    def add() -> None:
        for _ in range(20):
            number[0] += 1
            queue.add(number[0], FILT_USER, udata=Thing())

    for i in range(most):
        queue.add(i, FILT_USER, ONESHOT, NOTE_TRIGGER, udata=f"event {i}")
    with at_collections(add):
        events = queue.wait(0, most)
    assert [event.udata for event in events] == [f"event {event.ident}" for event in events]
    assert len(events) == most


def test_deleted_in_a_batch(queue: Queue, make_pipe: MakePipe) -> None:
    """What is deleted before its entry was made is not in it."""
    writers = [make_pipe()[1] for _ in range(20)]
    for fd in writers:
        queue.ctl(ADD, 4, fd, Thing())

    def delete() -> None:
        for fd in writers:
            with contextlib.suppress(FileNotFoundError):
                queue.ctl(DELETE, 4, fd)

    with at_collections(delete):
        ready = queue.poll(0)
    assert all(fd in writers and isinstance(udata, Thing) for fd, _, udata in ready)


def test_wait_in_a_wait(queue: Queue, make_pipe: MakePipe) -> None:
    """What is ready goes to the wait inside or to the one outside, and to one of them."""
    writers = [make_pipe()[1] for _ in range(40)]
    inside: list[int] = []
    for fd in writers:
        queue.ctl(ADD | ONESHOT, 4, fd, "ready")
    with at_collections(lambda: inside.extend(fd for fd, _, _ in queue.poll(0))):
        outside = [fd for fd, _, _ in queue.poll(0)]
    assert sorted(inside + outside) == sorted(writers)


def test_closed_in_a_wait(backend: str, make_pipe: MakePipe) -> None:
    writers = [make_pipe()[1] for _ in range(20)]
    waits: list[Callable[[Queue], object]] = [lambda q: q.wait(0), lambda q: q.poll(0),
                                              lambda q: q.control(None, 99, 0)]
    for wait in waits:
        queue = Queue(backend)
        for fd in writers:
            queue.ctl(ADD, 4, fd, Thing())
        with at_collections(queue.close), contextlib.suppress(OSError, ValueError):
            wait(queue)
        queue.close()


def test_selector_closed_in_a_wait(backend: str, make_pipe: MakePipe) -> None:
    selector = XpollSelector(backend)
    for _ in range(100):
        selector.register(make_pipe()[1], 2)
    with at_collections(selector.close), contextlib.suppress(OSError, ValueError):
        for key, events in selector.select(0):
            assert key.events == events == 2
    selector.close()


def test_unregistered_while_its_key_is_made(selector: XpollSelector, pipe: Pipe) -> None:
    """The keys and the registrations agree afterwards."""
    for i in range(20):
        data = [i], [i]
        with at_collections(lambda: selector.unregister(pipe[1])), \
                contextlib.suppress(KeyError, ValueError):
            selector.register(pipe[1], 2, data[0])
            selector.modify(pipe[1], 3, data[1])
        registered = pipe[1] in list(selector._keys)
        assert bool(selector.select(0)) == registered
        if registered:
            selector.unregister(pipe[1])


def test_record_with_error_is_the_answer_to_a_change(queue: Queue) -> None:
    """Its udata is that of the change: who dispatches by udata looks at ERROR first."""
    thing = object()
    record, = queue.control([Event(5, FILT_USER, DELETE, udata=thing)], 1, 0)
    assert record.flags & ERROR and record.udata is thing
