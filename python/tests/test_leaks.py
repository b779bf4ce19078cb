"""References: what a call allocates is gone when its results are."""
import errno
import gc
import os
import selectors
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import xpoll
from conftest import Pipe
from xpoll import ADD, DELETE, FILT_READ, FILT_USER, FILT_WRITE, ONESHOT, RECEIPT, Event, Queue

ROUNDS = 100
Scenario = Callable[[Any, Pipe], object]


def failing(call: Callable[[], object]) -> bool:
    with pytest.raises((OSError, ValueError, TypeError, OverflowError, KeyError)):
        call()
    return True


def with_selector(queue: Queue, pipe: Pipe) -> None:
    with xpoll.XpollSelector(queue.backend) as selector:
        selector.register(pipe[1], 2, [1])
        selector.modify(pipe[1], 3, [2])
        selector.select(0)
        selector.get_key(pipe[1])
        dict(selector.get_map())
        failing(lambda: selector.register(pipe[1], 1))
        failing(lambda: selector.register("text", 1))  # type: ignore[arg-type]
        failing(lambda: selector.register(pipe[0], 99))
        failing(lambda: selector.modify(pipe[0], 1))
        selector.unregister(pipe[1])
        selector.register(pipe[0], 1, selector)


def another(backend: str) -> Queue:
    """The memory of a ring counts for its user until the kernel has taken it down, later."""
    for _ in range(500):
        try:
            return Queue(backend)
        except OSError as error:
            if error.errno != errno.ENOMEM:
                raise
            time.sleep(0.01)
    return Queue(backend)


def with_cycle(queue: Queue, _: Pipe) -> None:
    other = another(queue.backend)
    other.add(1, FILT_USER, udata=[other])


def in_a_thread(queue: Queue, _: Pipe) -> None:
    thread = threading.Thread(target=queue.wait)
    thread.start()
    queue.wake()
    thread.join()


SCENARIOS: dict[str, Scenario] = {
    "add and delete": lambda q, p: (q.add(p[0], FILT_READ, udata=[]), q.delete(p[0], FILT_READ)),
    "add again": lambda q, p: (q.add(p[0], FILT_READ, udata=[]), q.add(1, FILT_USER, udata=[])),
    "wait": lambda q, p: (q.add(p[1], FILT_WRITE, udata=[]), q.wait(0), q.wait(0, 1000)),
    "oneshot": lambda q, p: (q.add(p[1], FILT_WRITE, ONESHOT, udata=[]), q.wait(0)),
    "poll": lambda q, p: (q.ctl(ADD, 4, p[1], []), q.poll(0), q.ctl(DELETE, 4, p[1])),
    "control": lambda q, p: q.control([Event(p[0], FILT_READ, ADD | RECEIPT, udata=[]),
                                       Event(p[1], FILT_WRITE, DELETE)], 5, 0),
    "register": lambda q, p: (q.register(p[1], 4 | 1 << 30, []), q.poll(0), q.modify(p[1], 5),
                              q.modify(p[1], 1, []), q.unregister(p[1]),
                              failing(lambda: q.modify(p[1], 1, [])),
                              failing(lambda: q.register(p[0], 1 << 28, []))),
    "failures": lambda q, p: (failing(lambda: q.delete(77, FILT_USER)),
                              failing(lambda: q.add(1, FILT_USER, 0x1000, udata=[])),
                              failing(lambda: q.ctl(ADD, 0x4000, p[0], [])),
                              failing(lambda: q.control([Event(1, flags=0x1000)], 0)),
                              failing(lambda: q.wait(-1)), failing(lambda: q.wait(0, 0))),
    "around": lambda q, p: (q.stats(), q.lookup(1, FILT_USER), repr(q), q.backend,
                            xpoll.backends(), xpoll.supports(-1), q.next_timeout()),
    "events": lambda q, p: (hash(Event(1, udata=[])), Event(1) == Event(2), repr(Event(1, -11)),
                            Event(1, udata=[]) < Event(1, udata=[1]),
                            failing(lambda: Event(1) < Event(1, udata=[])),
                            Event(1, udata=[]).__reduce__()),
    "open and close": lambda q, p: another(q.backend).close(),
    "open": lambda q, p: another(q.backend).add(1, FILT_USER, udata=[]),
    "cycle": with_cycle,
    "selector": with_selector,
    "sigmask": lambda q, p: q.wait(0, sigmask=[1, 2]),
    "thread": in_a_thread,
}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_nothing_is_left(queue: Queue, pipe: Pipe, scenario: str) -> None:
    run = SCENARIOS[scenario]

    def blocks() -> int:
        for _ in range(ROUNDS):
            run(queue, pipe)
        gc.collect()
        return sys.getallocatedblocks()

    # Blocks come and go with caches of the interpreter, which fill for some rounds; a leak
    # grows each time.
    counts = [blocks(), blocks()]
    while counts[-1] - counts[-2] >= ROUNDS // 2 and len(counts) < 12:
        counts.append(blocks())
    assert counts[-1] - counts[-2] < ROUNDS // 2, counts


def test_selector_in_a_cycle_is_collected() -> None:
    def fds() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = fds()
    for _ in range(5):
        selector: selectors.BaseSelector = xpoll.XpollSelector()
        selector.register(0, selectors.EVENT_READ, selector)
        del selector
    gc.collect()
    assert fds() == before
