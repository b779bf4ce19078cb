"""The objects behind udata live exactly as long as somebody may get them."""
import gc
import os
import select
import socket
import threading
import weakref
from collections.abc import Callable

import xpoll
from conftest import Pipe
from xpoll import ADD, CLEAR, DELETE, FILT_READ, FILT_USER, FILT_WRITE, ONESHOT, Queue


class Thing:
    """An object whose end can be seen."""

    def __init__(self) -> None:
        self.ends: list[Callable[[], None]] = []

    def __del__(self) -> None:
        for end in self.ends:
            end()


def make() -> tuple[Thing, weakref.ref[Thing]]:
    thing = Thing()
    return thing, weakref.ref(thing)


def test_delete_releases_it(queue: Queue, pipe: Pipe) -> None:
    for ident, kind in ((pipe[0], FILT_READ), (1, FILT_USER)):
        thing, gone = make()
        queue.add(ident, kind, udata=thing)
        del thing
        assert gone() is not None
        queue.delete(ident, kind)
        assert gone() is None


def test_replacing_releases_the_first(queue: Queue, pipe: Pipe) -> None:
    for ident, kind in ((pipe[0], FILT_READ), (1, FILT_USER)):
        first, first_gone = make()
        queue.add(ident, kind, udata=first)
        del first
        queue.add(ident, kind, udata="second")
        assert first_gone() is None
        queue.add(ident, kind)
        found = queue.lookup(ident, kind)
        assert found and found.udata is None


def test_failed_add_releases_it(queue: Queue) -> None:
    thing, gone = make()
    reader, writer = os.pipe()
    os.close(reader)
    os.close(writer)
    calls: list[Callable[[], None]] = [
        lambda: queue.add(reader, FILT_READ, udata=thing),
        lambda: queue.ctl(ADD, 1, reader, thing),
        lambda: queue.add(1, FILT_USER, 0x1000, udata=thing)]
    for call in calls:
        try:
            call()
        except OSError:
            pass
    del thing, call, calls
    assert gone() is None


def test_failed_modify_keeps_it(queue: Queue) -> None:
    queue.add(1, FILT_USER, udata="kept")
    try:
        queue.add(1, FILT_USER, 0x1000, udata="other")
    except OSError:
        pass
    queue.trigger(1)
    assert [event.udata for event in queue.wait(0)] == ["kept"]


def test_last_delivery_releases_it(queue: Queue, pipe: Pipe) -> None:
    thing, gone = make()
    queue.add(pipe[1], FILT_WRITE, ONESHOT, udata=thing)
    queue.add(1, FILT_USER, ONESHOT, xpoll.NOTE_TRIGGER, udata=thing)
    queue.ctl(ADD | ONESHOT, 1, pipe[0], thing)
    os.write(pipe[1], b"x")
    del thing
    count = 0
    while events := queue.wait(0):
        count += len(events)
        del events
    assert count == 3
    assert gone() is None


def test_modes_add_up(queue: Queue, pipe: Pipe) -> None:
    thing, gone = make()
    queue.add(pipe[1], FILT_WRITE, ONESHOT, udata="first")
    queue.add(pipe[1], FILT_WRITE, udata=thing)
    del thing
    assert len(queue.wait(0)) == 1
    assert gone() is None


def test_close_releases_all(queue: Queue, pipe: Pipe) -> None:
    thing, gone = make()
    queue.add(pipe[0], FILT_READ, udata=thing)
    queue.ctl(ADD, 4, pipe[1], thing)
    del thing
    queue.close()
    assert gone() is None


def test_cycle_through_the_queue_is_collected(backend: str) -> None:
    thing, gone = make()
    queue = Queue(backend)
    queue.add(1, FILT_USER, udata=(thing, queue))
    del thing, queue
    gc.collect()
    assert gone() is None


def test_closed_descriptors_do_not_pile_up(queue: Queue) -> None:
    things = []
    for _ in range(300):
        reader, writer = os.pipe()
        thing, gone = make()
        queue.add(reader, FILT_READ, udata=thing)
        things.append(gone)
        del thing
        os.close(reader)
        os.close(writer)
        queue.wait(0)
    assert sum(gone() is not None for gone in things) < 100


def test_closed_descriptors_do_not_pile_up_beside_a_waiter(queue: Queue) -> None:
    queue.add(1, FILT_USER)
    waiter = threading.Thread(target=queue.wait)
    waiter.start()
    things = []
    for i in range(300):
        reader, writer = os.pipe()
        thing, gone = make()
        queue.add(reader, FILT_READ, udata=thing)
        things.append(gone)
        del thing
        xpoll.forget_fd(reader)
        os.close(reader)
        os.close(writer)
    queue.trigger(1)
    waiter.join()
    assert sum(gone() is not None for gone in things) < 100


def test_destructor_may_use_the_queue(queue: Queue, make_pipe: Callable[[], Pipe]) -> None:
    readers = [make_pipe()[0] for _ in range(40)]
    ended = []

    def register_another(ident: int) -> None:
        ended.append(ident)
        if not queue.closed:
            queue.add(1000 + ident, FILT_USER, udata=Thing())

    for fd in readers:
        thing = Thing()
        thing.ends.append(lambda fd=fd: register_another(fd))  # type: ignore[misc]
        queue.add(fd, FILT_READ, udata=thing)
        del thing
    for fd in readers[:20]:
        queue.delete(fd, FILT_READ)
    for fd in readers[20:30]:
        queue.add(fd, FILT_READ, udata=None)
    assert len(ended) == 30
    queue.close()
    assert len(ended) == 40


def test_destructor_may_close_the_queue(backend: str, make_pipe: Callable[[], Pipe]) -> None:
    changes: list[Callable[[Queue, int], object]] = [
        lambda q, fd: q.delete(fd, FILT_READ),
        lambda q, fd: q.add(fd, FILT_READ, udata="other"),
        lambda q, fd: q.ctl(ADD, 1, fd, "other"),
        lambda q, fd: q.control([xpoll.Event(fd, FILT_READ, DELETE)] * 2, 2)]
    for change in changes:
        queue = Queue(backend)
        fd = make_pipe()[0]
        thing = Thing()
        thing.ends.append(queue.close)
        queue.add(fd, FILT_READ, udata=thing)
        del thing
        try:
            change(queue, fd)
        except ValueError:
            pass
        assert queue.closed


def test_events_of_deleted_registrations_never_come(queue: Queue) -> None:
    """One thread waits, another adds, triggers and deletes as fast as it can."""
    rounds = 300
    stop = object()
    wrong = []

    def take() -> None:
        while True:
            for event in queue.wait():
                if event.udata is stop:
                    return
                if not isinstance(event.udata, Thing):
                    wrong.append(event)

    waiter = threading.Thread(target=take)
    waiter.start()
    for i in range(rounds):
        for j in range(4):
            queue.add(j, FILT_USER, CLEAR | (ONESHOT if i % 2 else 0), xpoll.NOTE_TRIGGER,
                      udata=Thing())
        for j in range(4):
            try:
                queue.delete(j, FILT_USER)
            except FileNotFoundError:
                pass
    queue.add(99, FILT_USER, udata=stop)
    queue.trigger(99)
    waiter.join()
    assert not wrong


def test_object_of_two_directions_is_there_for_both(queue: Queue) -> None:
    left, right = socket.socketpair()
    with left, right:
        right.send(b"x")
        thing = Thing()
        gone = weakref.ref(thing)
        queue.ctl(ADD | ONESHOT, select.POLLIN | select.POLLOUT, left, thing)
        events = queue.wait(0)
        assert {event.filter for event in events} == {FILT_READ, FILT_WRITE}
        assert all(event.udata is thing for event in events)
        del events, thing
        assert gone() is None


def test_oneshot_added_again_is_never_lost(queue: Queue) -> None:
    """Each ADD after a delivery is delivered, whoever of three threads takes it."""
    rounds, threads = 500, 3
    taken = [0]
    ready = threading.Semaphore(0)
    lock = threading.Lock()

    def take() -> None:
        while True:
            for event in queue.wait(max_events=1):
                if event.ident == 0:
                    return
                with lock:
                    taken[0] += 1
                ready.release()

    waiters = [threading.Thread(target=take) for _ in range(threads)]
    for waiter in waiters:
        waiter.start()
    for _ in range(rounds):
        queue.add(1, FILT_USER, ONESHOT, xpoll.NOTE_TRIGGER, udata=Thing())
        assert ready.acquire(timeout=30)
    queue.add(0, FILT_USER, fflags=xpoll.NOTE_TRIGGER)  # Stays ready: ends all of them.
    for waiter in waiters:
        waiter.join()
    assert taken[0] == rounds
