"""xpoll.Queue: changes and waits, on every back end."""
import errno
import math
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import xpoll
from conftest import Pipe
from xpoll import (ADD, CLEAR, DELETE, DISABLE, DISPATCH, ENABLE, ERROR, FILT_EXCEPT, FILT_READ,
                   FILT_USER, FILT_WRITE, KEEPUDATA, ONESHOT, RECEIPT, Event, Queue)


def test_open_takes_the_back_end(backend: str) -> None:
    with Queue(backend, size_hint=10) as queue:
        assert queue.backend == backend
        assert backend in repr(queue)


def test_open_takes_flags(backend: str) -> None:
    with Queue(backend, flags=xpoll.TELL_MODES) as queue:
        queue.add(1, FILT_USER, ONESHOT | CLEAR, xpoll.NOTE_TRIGGER)
        event, = queue.wait(1)
        assert event.flags == ONESHOT | CLEAR
    with pytest.raises(OSError) as caught:
        Queue(backend, flags=1 << 31)
    assert caught.value.errno == errno.EINVAL
    with pytest.raises(OverflowError, match="flags must be from 0 to 4294967295"):
        Queue(backend, flags=-1)


def test_idle_time_is_counted_on_request(backend: str) -> None:
    for flags in 0, xpoll.COUNT_IDLE:
        with Queue(backend, flags=flags) as queue:
            start = time.monotonic_ns()
            assert queue.wait(0.002) == []
            idle = queue.stats()["idle_ns"]
            assert (0 < idle <= time.monotonic_ns() - start) if flags else idle == 0


def test_busy_polling_is_of_epoll_or_refused(backend: str) -> None:
    try:
        Queue(backend, busy_poll_us=20).close()
    except OSError as error:
        assert error.errno == errno.ENOTSUP
        assert error.strerror == "no busy polling on this back end or kernel"
    else:
        assert backend == "epoll"
    with pytest.raises(OSError, match="no back end 'none such' here"):
        Queue("none such", busy_poll_us=20)
    with pytest.raises(OverflowError, match="busy_poll_us must be from 0 to 2147483647"):
        Queue(backend, busy_poll_us=2**31)


def test_open_unknown_back_end_is_enotsup() -> None:
    with pytest.raises(OSError) as caught:
        Queue("none such")
    assert caught.value.errno == errno.ENOTSUP
    usable = ", ".join(xpoll.backends())
    assert caught.value.strerror == f"no back end 'none such' here; usable: {usable}"
    with pytest.raises(OSError, match="none such"):
        xpoll.XpollSelector("none such")


def test_open_unknown_back_end_of_the_environment_is_named(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XPOLL_BACKEND", "nothing")
    with pytest.raises(OSError, match="no back end 'nothing' here; usable: "):
        Queue()


def test_open_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError):
        Queue(size_hint=-1)
    Queue(size_hint=2**40).close()  # A hint.
    with pytest.raises(TypeError):
        Queue(1)  # type: ignore[arg-type]


def test_close_refuses_later_calls(queue: Queue) -> None:
    assert not queue.closed
    queue.close()
    queue.close()
    assert queue.closed
    assert repr(queue) == "<xpoll.Queue closed>"
    for call in (queue.wait, queue.poll, queue.wake, queue.fileno, queue.stats, queue.reinit,
                 lambda: queue.add(0, FILT_READ), lambda: queue.control(None)):
        with pytest.raises(ValueError):
            call()


def test_argument_that_closes_the_queue_is_a_late_call(backend: str, pipe: Pipe) -> None:
    class Closing:
        def __init__(self, queue: Queue) -> None:
            self.queue = queue

        def fileno(self) -> int:
            self.queue.close()
            return pipe[0]

        def __index__(self) -> int:
            return self.fileno()

    calls: list[Callable[[Queue, Any], object]] = [
        lambda queue, it: queue.add(it, FILT_READ), lambda queue, it: queue.add(0, it),
        lambda queue, it: queue.delete(it, FILT_READ), lambda queue, it: queue.trigger(it),
        lambda queue, it: queue.register(it, 1), lambda queue, it: queue.modify(it, 1),
        lambda queue, it: queue.unregister(it), lambda queue, it: queue.ctl(xpoll.ADD, 1, it),
        lambda queue, it: queue.lookup(it, FILT_READ), lambda queue, it: queue.lookup(0, it),
        lambda queue, it: queue.supports(it), lambda queue, it: queue.supports(FILT_READ, it),
        lambda queue, it: queue.wait(it), lambda queue, it: queue.wait(0, sigmask=[it]),
        lambda queue, it: queue.aio_submit(xpoll.AIO_READ, it, bytearray(1)),
    ]
    for number, call in enumerate(calls):
        queue = Queue(backend)
        with pytest.raises(ValueError, match="the queue is closed"):
            call(queue, Closing(queue))
            pytest.fail(f"call {number}")


def test_subclass_may_have_attributes(backend: str) -> None:
    class Named(Queue):
        name: str

    with Named(backend) as queue:
        queue.name = "mine"
        queue.add(1, FILT_USER, udata=queue)
        queue.trigger(1)
        assert queue.wait(0)[0].udata is queue


# --- Changes ------------------------------------------------------------------------


def test_readable_is_reported_with_its_udata(queue: Queue, pipe: Pipe) -> None:
    reader, writer = pipe
    udata = object()
    queue.add(reader, FILT_READ, udata=udata)
    assert queue.wait(0) == []
    os.write(writer, b"x")
    event, = queue.wait()
    assert (event.ident, event.filter, event.flags) == (reader, FILT_READ, 0)
    assert event.udata is udata


def test_disable_and_enable_silence_and_restore(queue: Queue, pipe: Pipe) -> None:
    queue.add(pipe[1], FILT_WRITE)
    queue.disable(pipe[1], FILT_WRITE)
    assert queue.wait(0) == []
    queue.enable(pipe[1], FILT_WRITE)
    assert [event.ident for event in queue.wait(0)] == [pipe[1]]


def test_delete_ends_the_registration(queue: Queue, pipe: Pipe) -> None:
    queue.add(pipe[1], FILT_WRITE)
    queue.delete(pipe[1], FILT_WRITE)
    assert queue.wait(0) == []
    assert queue.lookup(pipe[1], FILT_WRITE) is None
    with pytest.raises(FileNotFoundError):
        queue.delete(pipe[1], FILT_WRITE)


def test_closed_descriptor_is_ebadf(queue: Queue) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    os.close(writer)
    with pytest.raises(OSError) as caught:
        queue.add(reader, FILT_READ)
    assert caught.value.errno == errno.EBADF


def test_unknown_flags_are_einval(queue: Queue, pipe: Pipe) -> None:
    with pytest.raises(OSError) as caught:
        queue.add(pipe[0], FILT_READ, 0x1000)
    assert caught.value.errno == errno.EINVAL


def test_socket_object_is_taken(queue: Queue,
                                pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    queue.add(left, FILT_READ)
    right.send(b"x")
    assert [event.ident for event in queue.wait()] == [left.fileno()]
    left.send(b"x")
    queue.delete(left, FILT_READ)


def test_urgent_data_is_reported_by_except(queue: Queue) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, \
            socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with accepted:
            queue.add(accepted, FILT_EXCEPT)
            client.send(b"!", socket.MSG_OOB)
            assert [event.filter for event in queue.wait()] == [FILT_EXCEPT]


def test_peer_that_is_gone_is_eof(queue: Queue, pipe: Pipe) -> None:
    queue.add(pipe[0], FILT_READ)
    os.close(pipe[1])
    event, = queue.wait()
    assert event.flags & xpoll.EOF


def test_user_event_carries_its_bits(queue: Queue) -> None:
    queue.add(7, FILT_USER, CLEAR, udata="seven")
    queue.trigger(7, xpoll.NOTE_FFCOPY | 5)
    event, = queue.wait()
    assert (event.ident, event.fflags, event.udata) == (7, 5, "seven")
    assert queue.wait(0) == []


def test_oneshot_is_delivered_once(queue: Queue, pipe: Pipe) -> None:
    queue.add(pipe[1], FILT_WRITE, ONESHOT, udata="once")
    assert [event.udata for event in queue.wait(0)] == ["once"]
    assert queue.wait(0) == []
    assert queue.lookup(pipe[1], FILT_WRITE) is None


def test_dispatch_waits_for_enable(queue: Queue, pipe: Pipe) -> None:
    queue.add(pipe[1], FILT_WRITE, DISPATCH)
    assert len(queue.wait(0)) == 1
    assert queue.wait(0) == []
    queue.enable(pipe[1], FILT_WRITE)
    assert len(queue.wait(0)) == 1


def test_lookup_tells_modes_and_udata(queue: Queue, pipe: Pipe) -> None:
    queue.add(pipe[0], FILT_READ, CLEAR | DISABLE, udata="mine")
    found = queue.lookup(pipe[0], FILT_READ)
    assert found == Event(pipe[0], FILT_READ, CLEAR | DISABLE, udata="mine")


# --- control: changes and events in one call -------------------------------------------


def test_control_changes_then_waits(queue: Queue, pipe: Pipe) -> None:
    changes = [Event(pipe[0]), Event(pipe[1], FILT_WRITE, udata="room")]
    event, = queue.control(changes, 10, 1)
    assert (event.ident, event.udata) == (pipe[1], "room")


def test_control_without_room_returns_after_the_changes(queue: Queue, pipe: Pipe) -> None:
    assert queue.control(iter([Event(pipe[1], FILT_WRITE)])) == []
    assert len(queue.control(None, 1)) == 1


def test_control_failures_come_back_as_events(queue: Queue, pipe: Pipe) -> None:
    changes = [Event(pipe[0], FILT_READ, DELETE, udata="gone"), Event(pipe[1], FILT_WRITE)]
    status, = queue.control(changes, 10, 5)
    assert (status.ident, status.flags, status.data) == (pipe[0], ERROR, errno.ENOENT)
    assert status.udata == "gone"
    assert len(queue.wait(0)) == 1


def test_control_receipts_keep_the_order(queue: Queue, pipe: Pipe) -> None:
    changes = [Event(pipe[0], FILT_READ, DELETE),
               Event(pipe[1], FILT_WRITE, ADD | RECEIPT),
               Event(pipe[0], FILT_READ, ADD | RECEIPT),
               Event(pipe[0], FILT_READ, ENABLE)]
    statuses = queue.control(changes, 10, 5)
    assert [(e.ident, e.flags, e.data) for e in statuses] == [
        (pipe[0], ERROR, errno.ENOENT), (pipe[1], ERROR, 0), (pipe[0], ERROR, 0)]


def test_control_failure_without_room_is_raised(queue: Queue, pipe: Pipe) -> None:
    changes = [Event(pipe[0], FILT_READ, DELETE), Event(pipe[1], FILT_WRITE)]
    with pytest.raises(FileNotFoundError):
        queue.control(changes)
    assert len(queue.wait(0)) == 1
    # The one slot is promised to the receipt.
    changes = [Event(pipe[0], FILT_READ, DELETE), Event(pipe[0], FILT_READ, ADD | RECEIPT)]
    with pytest.raises(FileNotFoundError):
        queue.control(changes, 1)
    assert queue.lookup(pipe[0], FILT_READ)


def test_control_more_receipts_than_room_applies_nothing(queue: Queue, pipe: Pipe) -> None:
    with pytest.raises(ValueError):
        queue.control([Event(pipe[0], FILT_READ, ADD | RECEIPT)])
    assert queue.lookup(pipe[0], FILT_READ) is None


def test_control_foreign_change_applies_nothing(queue: Queue, pipe: Pipe) -> None:
    with pytest.raises(TypeError):
        queue.control([Event(pipe[0]), "no event"])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        queue.control(Event(pipe[0]))  # type: ignore[arg-type]
    assert queue.lookup(pipe[0], FILT_READ) is None


# --- Waiting ------------------------------------------------------------------------------


def test_few_slots_lose_nothing(queue: Queue, make_pipe: Callable[[], Pipe]) -> None:
    writers = {make_pipe()[1] for _ in range(100)}
    for fd in writers:
        queue.add(fd, FILT_WRITE, ONESHOT, udata=fd)
    seen = []
    while events := queue.wait(0, max_events=7):
        assert len(events) <= 7
        seen += [event.udata for event in events]
    assert sorted(seen) == sorted(writers)


def test_timeout_is_never_early(queue: Queue) -> None:
    for timeout in (0.0, 1e-9, 0.0101, 0.02):
        start = time.monotonic()
        assert queue.wait(timeout) == []
        assert time.monotonic() - start >= timeout


@pytest.mark.parametrize("timeout, error", [
    (-1, ValueError), (-0.001, ValueError), (math.nan, ValueError), ("1", TypeError)])
def test_bad_timeout_is_refused(queue: Queue, timeout: float, error: type[Exception]) -> None:
    with pytest.raises(error, match="^timeout "):
        queue.wait(timeout)
    with pytest.raises(error, match="^timeout "):
        queue.poll(timeout)


@pytest.mark.parametrize("timeout", [math.inf, 1e30, 2**100])
def test_endless_timeout_waits(queue: Queue, timeout: float) -> None:
    queue.wake()
    assert queue.wait(timeout) == []


@pytest.mark.parametrize("timeout", [1e9, 1e300, math.inf, 10**30])
def test_long_timeout_is_a_timeout(queue: Queue, timeout: float) -> None:
    queue.wake()
    assert queue.wait(timeout) == []
    queue.add(1, FILT_USER, fflags=xpoll.NOTE_TRIGGER)
    assert len(queue.wait(timeout)) == 1


@pytest.mark.parametrize("count", [0, -1, 2**31])
def test_bad_max_events_is_refused(queue: Queue, count: int) -> None:
    with pytest.raises(OverflowError):
        queue.wait(0, count)


def test_wake_ends_one_wait(queue: Queue) -> None:
    queue.wake()
    queue.wake()
    assert queue.wait() == []
    assert queue.stats()["wakes"] == 1


def test_unknown_keyword_is_refused(queue: Queue) -> None:
    with pytest.raises(TypeError, match="unexpected keyword"):
        queue.wait(tiemout=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="multiple values"):
        queue.wait(1, timeout=1)  # type: ignore[misc]
    with pytest.raises(TypeError, match="missing required"):
        queue.add(1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="at most"):
        queue.wait(1, 2, None, 4)  # type: ignore[call-arg]


def test_sigmask_holds_while_waiting(queue: Queue) -> None:
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        assert queue.wait(0.01) == []
        assert not seen
        queue.add(1, FILT_USER)
        # The pending signal interrupts, its handler runs, the wait goes on.
        assert queue.wait(0.01, sigmask=()) == []
        assert seen
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        signal.signal(signal.SIGUSR1, before)
    with pytest.raises((ValueError, OverflowError)):
        queue.wait(0, sigmask=[100000])


# --- Around ---------------------------------------------------------------------------------


def test_fileno_is_readable_while_an_event_is_pending(backend: str, pipe: Pipe) -> None:
    with Queue(backend) as queue:
        try:
            fd = queue.fileno()
        except OSError as error:
            assert error.errno == errno.ENOTSUP
            assert backend in ("poll", "select")
            return
        outer = select.poll()
        outer.register(fd, select.POLLIN)
        queue.add(pipe[0], FILT_READ)
        assert outer.poll(0) == []
        os.write(pipe[1], b"x")
        assert outer.poll(0) == [(fd, select.POLLIN)]


def test_nested_queue_is_an_event_of_the_outer(pipe: Pipe) -> None:
    with Queue() as inner, Queue() as outer:
        outer.add(inner, FILT_READ, udata=inner)
        inner.add(pipe[0], FILT_READ)
        os.write(pipe[1], b"x")
        assert [event.udata for event in outer.wait()] == [inner]
        assert [event.ident for event in inner.wait(0)] == [pipe[0]]


def test_close_fd_forgets_it_everywhere(queue: Queue, selector: xpoll.XpollSelector) -> None:
    reader, writer = os.pipe()
    queue.add(writer, FILT_WRITE)
    selector.register(writer, 2)
    xpoll.close_fd(writer)
    assert queue.wait(0) == []
    assert selector.select(0) == []
    with pytest.raises(OSError):
        os.fstat(writer)
    queue.add(reader, FILT_READ)
    xpoll.forget_fd(reader)
    assert queue.lookup(reader, FILT_READ) is None
    os.close(reader)


def test_stats_count(queue: Queue, pipe: Pipe) -> None:
    queue.add(pipe[1], FILT_WRITE)
    queue.wait(0)
    stats = queue.stats()
    assert (stats["changes"], stats["events"], stats["registered"]) == (1, 1, 1)
    assert all(value >= 0 for value in stats.values())


def test_supports_is_what_add_does(queue: Queue) -> None:
    assert queue.supports(FILT_READ)
    assert xpoll.supports(FILT_USER)
    assert not queue.supports(1000)
    assert queue.supports(xpoll.FILT_EMPTY)
    assert not queue.supports(xpoll.FILT_EMPTY, 1)
    with pytest.raises(OverflowError):
        queue.supports(FILT_READ, -1)


def test_no_timer_has_no_timeout(queue: Queue) -> None:
    assert queue.next_timeout() is None


def test_backends_come_best_first() -> None:
    with Queue() as queue:
        if "XPOLL_BACKEND" not in os.environ:
            assert queue.backend == xpoll.backends()[0]


@pytest.mark.skipif(sys.platform != "linux", reason="regular files are of Linux")
def test_regular_file_is_readable_until_its_end(queue: Queue) -> None:
    with open(__file__, "rb") as file:
        queue.add(file, FILT_READ)
        assert len(queue.wait(0)) == 1
        file.seek(0, os.SEEK_END)
        assert queue.wait(0) == []


def test_keepudata_leaves_the_object(queue: Queue, pipe: Pipe) -> None:
    for ident, kind in ((pipe[1], FILT_WRITE), (1, FILT_USER)):
        queue.add(ident, kind, udata="first")
        queue.add(ident, kind, KEEPUDATA, udata="second")
        found = queue.lookup(ident, kind)
        assert found and found.udata == "first"
        queue.add(ident, kind, udata="third")
        found = queue.lookup(ident, kind)
        assert found and found.udata == "third"
