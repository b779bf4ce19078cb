"""Threads: the GIL is free while one waits; closing under a waiter is safe."""
import errno
import os
import threading
from collections.abc import Callable

import pytest
import xpoll
from conftest import Pipe
from xpoll import CLEAR, DISPATCH, FILT_READ, FILT_USER, Queue


class Waiter(threading.Thread):
    """Runs a call that waits; keeps its result or exception."""

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__()
        self.call = call
        self.result: object = None
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self.result = self.call()
        except BaseException as error:
            self.error = error


def asleep(queue: Queue, count: int) -> bool:
    """Have so many threads asked the kernel?  Then they sleep, or are about to."""
    return queue.stats()["waits"] >= count


def test_other_threads_run_while_one_waits(queue: Queue, pipe: Pipe) -> None:
    queue.add(pipe[0], FILT_READ)
    waiter = Waiter(queue.wait)
    while not asleep(queue, 1):
        pass
    os.write(pipe[1], b"x")
    waiter.join()
    assert [event.ident for event in waiter.result] == [pipe[0]]  # type: ignore[attr-defined]


def test_change_reaches_a_waiter(queue: Queue, pipe: Pipe) -> None:
    waiter = Waiter(queue.wait)
    while not asleep(queue, 1):
        pass
    os.write(pipe[1], b"x")
    queue.add(pipe[0], FILT_READ, udata="late")
    waiter.join()
    assert [event.udata for event in waiter.result] == ["late"]  # type: ignore[attr-defined]


def test_wake_all_reaches_every_waiter(queue: Queue) -> None:
    waiters = [Waiter(queue.wait) for _ in range(3)]
    while any(waiter.is_alive() for waiter in waiters):
        queue.wake_all()
        waiters[0].join(0.001)
    assert [waiter.result for waiter in waiters] == [[], [], []]


@pytest.mark.parametrize("count", [1, 3])
def test_close_ends_every_wait(backend: str, count: int) -> None:
    queue = Queue(backend)
    waiters = [Waiter(queue.wait) for _ in range(count)]
    while not asleep(queue, count):
        pass
    queue.close()
    for waiter in waiters:
        waiter.join()
        assert isinstance(waiter.error, OSError)
        assert waiter.error.errno == errno.EBADF


def test_close_ends_a_poll_and_a_select(backend: str) -> None:
    queue = Queue(backend)
    selector = xpoll.XpollSelector(backend)
    waiters = [Waiter(queue.poll), Waiter(selector.select)]
    while not asleep(queue, 1):
        pass
    queue.close()
    selector.close()
    for waiter in waiters:
        waiter.join()
        # It may have come too late to wait at all.
        assert isinstance(waiter.error, OSError | ValueError)


def test_close_while_waiters_come_and_go(backend: str) -> None:
    for _ in range(30):
        queue = Queue(backend)
        queue.add(1, FILT_USER, fflags=xpoll.NOTE_TRIGGER, udata=object())

        def take(queue: Queue = queue) -> None:
            while True:
                queue.wait()

        waiters = [Waiter(take) for _ in range(3)]
        while not asleep(queue, 10):
            pass
        queue.close()
        for waiter in waiters:
            waiter.join()
            assert isinstance(waiter.error, OSError | ValueError)


def test_waiting_thread_keeps_the_queue_alive(backend: str) -> None:
    queue = Queue(backend)
    waiter = Waiter(lambda queue=queue: queue.wait(0.05))  # type: ignore[misc]
    del queue
    waiter.join()
    assert waiter.result == []


def test_dispatch_gives_each_event_to_one_thread(queue: Queue) -> None:
    rounds, idents = 50, 4
    taken: list[int] = []
    stop = threading.Event()

    def take() -> None:
        while not stop.is_set():
            for event in queue.wait(max_events=2):
                if event.ident < idents:
                    taken.append(event.ident)
                    if len(taken) < rounds * idents:
                        queue.control([xpoll.Event(event.ident, FILT_USER, xpoll.ENABLE,
                                                   xpoll.NOTE_TRIGGER)])
                    else:
                        stop.set()
                        queue.add(idents, FILT_USER, fflags=xpoll.NOTE_TRIGGER)

    waiters = [Waiter(take) for _ in range(3)]
    for ident in range(idents):
        queue.add(ident, FILT_USER, CLEAR | DISPATCH, xpoll.NOTE_TRIGGER)
    for waiter in waiters:
        waiter.join()
        assert waiter.error is None
    assert rounds * idents <= len(taken) < rounds * idents + idents
