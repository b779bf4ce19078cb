"""fork: the child has no queue until it asks for one, and the parent never notices."""
import errno
import faulthandler
import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import xpoll
from conftest import Pipe, in_child
from xpoll import FILT_READ, FILT_USER, FILT_WRITE, Queue, XpollSelector

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")


@pytest.fixture(autouse=True)
def no_other_thread() -> Iterator[None]:
    """pytest's watchdog is one.

    An allocator that knows nothing of fork stays locked if a thread was inside it.

    That of AddressSanitizer is one, and a thread that was joined may still be ending.
    """
    faulthandler.cancel_dump_traceback_later()
    yield
    tasks = Path("/proc/self/task")
    while tasks.exists() and len(list(tasks.iterdir())) > 1:
        time.sleep(0.001)


def test_child_calls_are_ebadf(queue: Queue, pipe: Pipe) -> None:
    queue.add(pipe[1], FILT_WRITE, udata="parent")
    calls: list[Callable[[], object]] = [
        queue.wait, queue.poll, queue.wake, queue.wake_all, queue.next_timeout,
        lambda: queue.add(pipe[0], FILT_READ, udata="child"),
        lambda: queue.delete(pipe[1], FILT_WRITE),
        lambda: queue.ctl(xpoll.DELETE, select.POLLOUT, pipe[1]),
        lambda: queue.lookup(pipe[1], FILT_WRITE),
    ]

    def child() -> None:
        for call in calls:
            with pytest.raises(OSError) as caught:
                call()
            assert caught.value.errno == errno.EBADF

    in_child(child)
    assert [event.udata for event in queue.wait(0)] == ["parent"]


def test_child_close_leaves_the_parents(queue: Queue, pipe: Pipe) -> None:
    queue.add(pipe[1], FILT_WRITE, udata="parent")
    in_child(queue.close)
    assert [event.udata for event in queue.wait(0)] == ["parent"]


def test_child_reinit_has_the_registrations(queue: Queue, pipe: Pipe) -> None:
    queue.add(pipe[0], FILT_READ, udata="read")
    queue.add(1, FILT_USER, udata="user")

    def child() -> None:
        queue.reinit()
        queue.trigger(1)
        assert [event.udata for event in queue.wait(0)] == ["user"]
        queue.delete(1, FILT_USER)
        os.write(pipe[1], b"x")
        assert [event.udata for event in queue.wait()] == ["read"]
        queue.close()

    in_child(child)
    # The pipe is shared, the queue is not.
    assert [event.udata for event in queue.wait(0)] == ["read"]
    assert queue.lookup(1, FILT_USER)


def test_parent_reinit_is_einval(queue: Queue) -> None:
    with pytest.raises(OSError) as caught:
        queue.reinit()
    assert caught.value.errno == errno.EINVAL


def test_fork_beside_a_waiting_thread(queue: Queue) -> None:
    queue.add(1, FILT_USER, xpoll.ONESHOT, udata="user")
    waiter = threading.Thread(target=queue.wait)
    waiter.start()
    while queue.stats()["waits"] < 1:
        pass

    def use() -> None:
        queue.reinit()
        queue.trigger(1)
        assert [event.udata for event in queue.wait(0)] == ["user"]
        queue.close()

    in_child(use)
    in_child(queue.close)
    queue.trigger(1)
    waiter.join()


def test_child_may_ask_what_the_kernel_does_not_know(
        queue: Queue, selector: XpollSelector, pipe: Pipe) -> None:
    """The sentences of docs/guide/python.md."""
    key = selector.register(pipe[1], 2)
    refused: list[Callable[[], object]] = [
        lambda: selector.register(pipe[0], 1), lambda: selector.select(0), selector.fileno,
        queue.stats, queue.fileno, lambda: queue.control([xpoll.Event(1, FILT_USER)]),
        lambda: selector.modify(pipe[1], 3),
    ]

    def child() -> None:
        assert selector.get_key(pipe[1]) is key
        assert selector.get_map()[pipe[1]] is key
        assert selector.modify(pipe[1], 2) is key
        assert queue.backend == selector.backend
        assert not queue.closed
        assert queue.supports(FILT_READ)
        for call in refused:
            with pytest.raises(OSError) as caught:
                call()
            assert caught.value.errno == errno.EBADF

    in_child(child)
    assert selector.select(0) == [(key, 2)]


def test_child_unregisters_before_reinit(selector: XpollSelector, pipe: Pipe) -> None:
    """What has no key any more does not make the child's select spin."""
    key = selector.register(pipe[1], 2)

    def child() -> None:
        assert selector.unregister(pipe[1]) is key
        selector.reinit()
        assert selector.select(0.001) == []
        if selector.backend == "epoll":  # Only there the descriptor says so.
            assert select.select([selector.fileno()], [], [], 0)[0] == []
        other = selector.register(pipe[1], 2)
        assert selector.select(None) == [(other, 2)]

    in_child(child)
    assert selector.select(0) == [(key, 2)]


def test_selector_in_a_child(selector: XpollSelector, pipe: Pipe) -> None:
    key = selector.register(pipe[1], 2, "room")

    def child() -> None:
        with pytest.raises(OSError) as caught:
            selector.select(0)
        assert caught.value.errno == errno.EBADF
        selector.reinit()
        assert selector.select(0) == [(key, 2)]
        selector.close()

    in_child(child)
    in_child(lambda: selector.unregister(pipe[1]) and None)
    in_child(selector.close)
    assert selector.select(0) == [(key, 2)]
