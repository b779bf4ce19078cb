"""Threads that use one object at the same time, which a free-threaded CPython lets them.

Goal: no event, no udata and no key is lost, given twice, or kept for ever.  Method: each thread
does a fixed number of rounds with what is its own, in a queue or selector that all share.
"""
import gc
import os
import socket
import sys
import sysconfig
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import xpoll
from xpoll import CLEAR, FILT_READ, FILT_USER, NOTE_TRIGGER, ONESHOT, Queue

THREADS = 4
ROUNDS = 500


def together(count: int, work: Callable[[int], None]) -> None:
    """work(0) to work(count - 1), each in a thread; the first exception is raised."""
    start = threading.Barrier(count)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            start.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Tag:
    """A udata that knows whose it is."""

    def __init__(self, ident: int) -> None:
        self.ident = ident


def test_the_gil_stays_as_it_is() -> None:
    free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    assert getattr(sys, "_is_gil_enabled", lambda: True)() != free


def test_each_event_has_its_own_udata(queue: Queue) -> None:
    tags: list[weakref.ref[Tag]] = []
    seen = [0] * THREADS

    def work(number: int) -> None:
        for turn in range(ROUNDS):
            tag = Tag(number * ROUNDS + turn)
            tags.append(weakref.ref(tag))
            queue.add(tag.ident, FILT_USER, ONESHOT, NOTE_TRIGGER, udata=tag)
            for event in queue.wait(0, max_events=2):
                assert event.udata.ident == event.ident
                seen[number] += 1

    together(THREADS, work)
    while events := queue.wait(0):
        seen[0] += len(events)
    assert sum(seen) == THREADS * ROUNDS
    del events
    gc.collect()
    assert queue.wait(0) == []
    queue.close()
    assert not [tag for tag in tags if tag()]


def test_replaced_and_deleted_under_a_wait(queue: Queue) -> None:
    """All change the same registrations, while each waits for them."""

    def work(number: int) -> None:
        for turn in range(ROUNDS):
            ident = turn % 3
            queue.add(ident, FILT_USER, CLEAR, NOTE_TRIGGER, udata=Tag(ident))
            for event in queue.wait(0):
                assert event.udata.ident == event.ident
            found = queue.lookup(ident, FILT_USER)
            assert found is None or found.udata.ident == ident
            if number == 0:
                try:
                    queue.delete(ident, FILT_USER)
                except FileNotFoundError:
                    pass

    together(THREADS, work)


class Restless(Tag):
    """Its end changes the queue, in the middle of whatever ended it."""

    def __init__(self, ident: int, queue: Queue) -> None:
        super().__init__(ident)
        self.queue = queue

    def __del__(self) -> None:
        try:
            self.queue.add(self.ident, FILT_USER, udata=Tag(self.ident))
        except ValueError:
            pass  # It was closed.


def test_finalizers_change_the_queue(queue: Queue) -> None:
    def work(number: int) -> None:
        for turn in range(ROUNDS // 5):
            queue.add(turn % 7, FILT_USER, udata=Restless(100 + turn % 5, queue))
            found = queue.lookup(100, FILT_USER)
            assert found is None or found.udata.ident == 100

    together(THREADS, work)


def test_descriptors_of_a_selector(backend: str) -> None:
    with xpoll.XpollSelector(backend) as selector:
        def work(number: int) -> None:
            left, right = socket.socketpair()
            with left, right:
                for turn in range(ROUNDS // 5):
                    key = selector.register(left, 1 + turn % 3, number)
                    assert selector.get_key(left) == key
                    assert selector.modify(left, 3, (number, turn)).data == (number, turn)
                    assert left.fileno() in list(selector.get_map())
                    assert selector.unregister(left).fileobj is left

        def select(number: int) -> None:
            if number:
                return work(number)
            while threading.active_count() > before + 1:
                for key, events in selector.select(0):
                    assert events and key.fd >= 0
            return None

        before = threading.active_count()
        together(THREADS, select)
        assert not list(selector.get_map())


def test_closed_while_it_is_changed(backend: str) -> None:
    for _ in range(20):
        queue = Queue(backend)

        def work(number: int, queue: Queue = queue) -> None:
            try:
                for turn in range(ROUNDS):
                    queue.add(turn, FILT_USER, udata=Tag(turn))
                    queue.wait(0)
                    if number == 0 and turn == 20:
                        queue.close()
            except (ValueError, OSError):
                assert queue.closed

        together(THREADS, work)
        assert queue.closed


def test_operations_end_in_any_thread(queue: Queue, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)))
    fd = os.open(path, os.O_RDONLY)
    ended: list[int] = []

    def work(number: int) -> None:
        for turn in range(ROUNDS // 10):
            buffer = bytearray(1)
            queue.aio_submit(xpoll.AIO_READ, fd, buffer, turn, udata=(buffer, turn))
            for event in queue.wait(0):
                check(event)

    def check(event: xpoll.Event) -> None:
        assert event.data == 1 and event.udata[0][0] == event.udata[1]
        ended.append(event.udata[1])

    together(THREADS, work)
    while len(ended) < THREADS * (ROUNDS // 10):
        for event in queue.wait(60):
            check(event)
    os.close(fd)


def test_a_pipe_is_read_once(queue: Queue, pipe: tuple[int, int]) -> None:
    """DISPATCH: an event is for one thread, which enables it again."""
    queue.add(pipe[0], FILT_READ, xpoll.DISPATCH)
    count = THREADS * ROUNDS // 10
    os.write(pipe[1], bytes(count))
    taken = [0] * THREADS

    def work(number: int) -> None:
        while sum(taken) < count:
            for event in queue.wait(0.01):
                assert os.read(event.ident, 1)
                taken[number] += 1
                queue.enable(pipe[0], FILT_READ)

    together(THREADS, work)
    assert sum(taken) == count
