"""The filters without readiness: timers, signals, processes, files, operations.

A filter that this build does not have answers ENOTSUP, and says so before.
"""
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import xpoll
from xpoll import (FILT_AIO, FILT_PROC, FILT_SIGNAL, FILT_TIMER, FILT_VNODE, ONESHOT, Queue)


def refused(queue: Queue, filter: int, call: Callable[[], object]) -> bool:
    """True if the filter is not there; then the call must say the same."""
    if queue.supports(filter):
        return False
    with pytest.raises(OSError) as caught:
        call()
    assert caught.value.errno == errno.ENOTSUP
    return True


def test_timer_counts_and_repeats(queue: Queue) -> None:
    if refused(queue, FILT_TIMER, lambda: queue.add(1, FILT_TIMER, data=5)):
        return
    start = time.monotonic()
    queue.add(1, FILT_TIMER, data=5, udata="tick")
    left = queue.next_timeout()
    assert left is not None and 0 <= left <= 0.005
    for count in (1, 2):
        event, = queue.wait()
        assert (event.ident, event.filter, event.udata) == (1, FILT_TIMER, "tick")
        assert event.data >= 1
        assert time.monotonic() - start >= 0.005 * count
    queue.delete(1, FILT_TIMER)
    assert queue.next_timeout() is None


def test_oneshot_timer_releases_its_object(queue: Queue) -> None:
    if refused(queue, FILT_TIMER, lambda: queue.add(1, FILT_TIMER, ONESHOT, 0, 1)):
        return
    for i in range(100):
        queue.add(i, FILT_TIMER, ONESHOT, xpoll.NOTE_USECONDS, 10 * i, udata=("timer", i))
    seen: list[object] = []
    while len(seen) < 100:
        seen += [event.udata for event in queue.wait(max_events=9)]
    assert sorted(seen) == [("timer", i) for i in range(100)]  # type: ignore[type-var]
    assert queue.wait(0) == []


def test_signal_is_observed_beside_its_handler(queue: Queue) -> None:
    handled: list[int] = []
    before = signal.signal(signal.SIGUSR2, lambda *_: handled.append(1))
    try:
        if refused(queue, FILT_SIGNAL, lambda: queue.add(signal.SIGUSR2, FILT_SIGNAL)):
            return
        queue.add(signal.SIGUSR2, FILT_SIGNAL, udata="usr2")
        os.kill(os.getpid(), signal.SIGUSR2)
        event, = queue.wait()
        assert (event.ident, event.data, event.udata) == (signal.SIGUSR2, 1, "usr2")
        assert handled == [1]
        queue.delete(signal.SIGUSR2, FILT_SIGNAL)
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_exit_of_a_child_tells_its_status(queue: Queue) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input(); raise SystemExit(3)"],
                             stdin=subprocess.PIPE)
    with child:
        def add() -> None:
            queue.add(child.pid, FILT_PROC, fflags=xpoll.NOTE_EXIT, udata=child)

        if not refused(queue, FILT_PROC, add):
            add()
            assert queue.wait(0) == []
            assert child.stdin
            child.stdin.write(b"\n")
            child.stdin.flush()
            event, = queue.wait()
            assert event.udata is child
            assert event.fflags & xpoll.NOTE_EXIT
            assert os.waitstatus_to_exitcode(event.data) == 3


def test_write_to_a_file_is_reported(queue: Queue, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb", buffering=0) as file:
        def add() -> None:
            queue.add(file, FILT_VNODE, fflags=xpoll.NOTE_WRITE | xpoll.NOTE_DELETE,
                      udata=path)

        if refused(queue, FILT_VNODE, add):
            return
        add()
        file.write(b"x")
        event, = queue.wait()
        assert event.udata is path
        assert event.fflags & xpoll.NOTE_WRITE
        path.unlink()
        fflags = 0
        while not fflags & xpoll.NOTE_DELETE:
            fflags |= queue.wait()[0].fflags


def aio_supported(queue: Queue) -> bool:
    return not refused(queue, FILT_AIO, lambda: queue.aio_submit(xpoll.AIO_READ, 0, bytearray(1)))


def test_operations_end_as_events(queue: Queue, tmp_path: Path) -> None:
    if not aio_supported(queue):
        return
    with (tmp_path / "file").open("w+b", buffering=0) as file:
        written = queue.aio_submit(xpoll.AIO_WRITE, file, b"hello world", udata="written")
        event, = queue.wait()
        assert (event.ident, event.data, event.udata) == (written.ident, 11, "written")
        assert written.done and written.result == 11
        assert repr(written) == (f"<xpoll.Aio WRITE fd={file.fileno()} offset=0 length=11"
                                 " result=11>")
        data = bytearray(5)
        read = queue.aio_submit(xpoll.AIO_READ, file, data, 6)
        assert repr(read).endswith(" offset=6 length=5 in flight>")
        assert not read.done and read.result is None
        with pytest.raises(BufferError):
            data.append(0)  # It belongs to the operation.
        event, = queue.wait()
        assert event.udata is read
        assert data == b"world"
        sync = queue.aio_submit(xpoll.AIO_FDATASYNC, file)
        queue.wait()
        assert repr(sync) == f"<xpoll.Aio FDATASYNC fd={file.fileno()} result=0>"
        sync = queue.aio_submit(xpoll.AIO_FSYNC, file)
        queue.wait()
        assert repr(sync) == f"<xpoll.Aio FSYNC fd={file.fileno()} result=0>"
        data.append(0)
        with pytest.raises(FileNotFoundError):
            queue.aio_cancel(read)


def test_closing_ends_operations_in_flight(backend: str, tmp_path: Path) -> None:
    with Queue(backend) as queue, (tmp_path / "file").open("w+b", buffering=0) as file:
        if not aio_supported(queue):
            return
        buffers = [bytearray(1 << 20) for _ in range(8)]
        for i, buffer in enumerate(buffers):
            queue.aio_submit(xpoll.AIO_WRITE, file, buffer, i << 20)
        queue.close()
        for buffer in buffers:
            buffer.append(0)  # Released.


@pytest.mark.parametrize("arguments, error", [
    ((xpoll.AIO_READ, -1, bytearray(1)), ValueError),
    ((xpoll.AIO_READ, 0, b"read-only"), BufferError),
    ((xpoll.AIO_READ, 0, 5), TypeError),
    ((xpoll.AIO_READ, 0, bytearray(1), -1), OverflowError),
    # No bytes read into no buffer would look like the end of the file.
    ((xpoll.AIO_READ, 0), TypeError),
    ((xpoll.AIO_READ, 0, None, 10), TypeError),
    ((xpoll.AIO_WRITE, 0), TypeError),
])
def test_bad_operation_is_refused(queue: Queue, arguments: tuple[int, ...],
                                  error: type[Exception]) -> None:
    with pytest.raises(error):
        queue.aio_submit(*arguments)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        queue.aio_cancel("no operation")  # type: ignore[arg-type]
