"""Queue.register, modify and unregister: those of select.epoll."""
import gc
import os
import select
import socket
import weakref
from select import POLLHUP, POLLIN, POLLOUT

import pytest
import xpoll
from conftest import Pipe
from xpoll import FILT_EXCEPT, FILT_READ, FILT_WRITE, Queue

EDGE, ONESHOT = 1 << 31, 1 << 30
POLLRDHUP = getattr(select, "POLLRDHUP", 0)


class Thing:
    """An object that can be watched."""


def test_bits_are_those_of_epoll() -> None:
    if hasattr(select, "epoll"):
        assert (select.EPOLLET, select.EPOLLONESHOT) == (EDGE, ONESHOT)
        assert (select.EPOLLIN, select.EPOLLOUT) == (POLLIN, POLLOUT)


def test_register_reports_what_is_asked_for(queue: Queue, pipe: Pipe) -> None:
    reader, writer = pipe
    queue.register(reader, POLLIN, "reader")
    queue.register(fd=writer, eventmask=POLLOUT, udata="writer")
    assert queue.poll(0) == [(writer, POLLOUT, "writer")]
    os.write(writer, b"x")
    assert sorted(queue.poll(0)) == sorted(
        [(reader, POLLIN, "reader"), (writer, POLLOUT, "writer")])
    queue.unregister(writer)
    assert queue.poll(0) == [(reader, POLLIN, "reader")]


def test_register_alone_means_all_directions(queue: Queue, pipe: Pipe) -> None:
    queue.register(pipe[1])
    for filter in (FILT_READ, FILT_WRITE, FILT_EXCEPT):
        assert queue.lookup(pipe[1], filter)
    queue.unregister(pipe[1])
    for filter in (FILT_READ, FILT_WRITE, FILT_EXCEPT):
        assert not queue.lookup(pipe[1], filter)


def test_modify_changes_directions_and_keeps_the_object(queue: Queue, pipe: Pipe) -> None:
    thing = Thing()
    seen = weakref.ref(thing)
    queue.register(pipe[1], POLLIN, thing)
    assert queue.poll(0) == []
    queue.modify(pipe[1], POLLOUT)
    assert queue.poll(0) == [(pipe[1], POLLOUT, thing)]
    assert not queue.lookup(pipe[1], FILT_READ)
    del thing
    queue.modify(pipe[1], POLLOUT, "other")
    gc.collect()
    assert seen() is None
    assert queue.poll(0) == [(pipe[1], POLLOUT, "other")]
    queue.modify(pipe[1], POLLIN | POLLOUT, udata=None)
    assert queue.poll(0) == [(pipe[1], POLLOUT, None)]


def test_no_directions_is_silence(queue: Queue, pipe: Pipe) -> None:
    queue.register(pipe[0], 0, "silent")
    os.write(pipe[1], b"x")
    assert queue.poll(0) == []
    queue.modify(pipe[0], POLLIN)
    assert queue.poll(0) == [(pipe[0], POLLIN, "silent")]
    queue.modify(pipe[0], 0)
    assert queue.poll(0) == []


@pytest.mark.parametrize("before", [None, POLLIN, POLLIN | POLLOUT, EDGE | POLLIN, 0])
def test_hang_up_is_reported_without_directions(
        queue: Queue, pipe: Pipe, before: int | None) -> None:
    if before is not None:
        queue.register(pipe[0], before, "end")
        queue.modify(pipe[0], 0)
    else:
        queue.register(pipe[0], 0, "end")
    os.write(pipe[1], b"x")
    assert queue.poll(0) == []
    os.close(pipe[1])
    assert queue.poll(0) == [(pipe[0], POLLHUP, "end")]
    assert queue.poll(0) == [(pipe[0], POLLHUP, "end")]


@pytest.mark.parametrize("later", [None, POLLOUT, 0])
def test_unregister_ends_what_has_no_directions(
        queue: Queue, pipe: Pipe, later: int | None) -> None:
    thing = Thing()
    seen = weakref.ref(thing)
    queue.register(pipe[0], 0, thing)
    if later is not None:
        queue.modify(pipe[0], later)
    queue.unregister(pipe[0])
    del thing
    gc.collect()
    assert seen() is None
    os.close(pipe[1])
    assert queue.poll(0) == []
    with pytest.raises(FileNotFoundError):
        queue.unregister(pipe[0])


@pytest.mark.skipif(not POLLRDHUP, reason="no POLLRDHUP here")
def test_modify_takes_single_bits_of_a_direction_away(
        queue: Queue, pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    queue.register(left, POLLIN | POLLRDHUP)
    queue.modify(left, POLLRDHUP)
    right.send(b"x")
    assert queue.poll(0) == []
    queue.modify(left, POLLIN | POLLRDHUP)
    queue.modify(left, POLLIN)
    right.shutdown(socket.SHUT_WR)
    assert queue.poll(0) == [(left.fileno(), POLLIN, None)]


def test_edge_is_reported_once_and_level_again(queue: Queue, pipe: Pipe) -> None:
    os.write(pipe[1], b"x")
    queue.register(pipe[0], POLLIN | EDGE)
    assert len(queue.poll(0)) == 1
    assert queue.poll(0) == []
    queue.modify(pipe[0], POLLIN)
    assert len(queue.poll(0)) == len(queue.poll(0)) == 1


def test_oneshot_is_silent_until_modify(queue: Queue, pipe: Pipe) -> None:
    os.write(pipe[1], b"x")
    queue.register(pipe[0], POLLIN | ONESHOT, "once")
    assert queue.poll(0) == [(pipe[0], POLLIN, "once")]
    assert queue.poll(0) == []
    queue.modify(pipe[0], POLLIN | ONESHOT)
    assert queue.poll(0) == [(pipe[0], POLLIN, "once")]
    assert queue.poll(0) == []
    queue.modify(pipe[0], POLLIN)
    assert len(queue.poll(0)) == len(queue.poll(0)) == 1


def test_register_after_an_unseen_close_is_a_new_one(queue: Queue, pipe: Pipe) -> None:
    queue.register(pipe[0], POLLIN | ONESHOT, "old")
    other = os.pipe()
    os.write(other[1], b"x")
    os.dup2(other[0], pipe[0])
    queue.register(pipe[0], POLLIN, "new")
    for _ in range(2):
        assert queue.poll(0) == [(pipe[0], POLLIN, "new")]
    for fd in (*other, pipe[0]):
        os.close(fd)


def test_end_of_file_is_a_hang_up(queue: Queue, pipe: Pipe) -> None:
    queue.register(pipe[0], POLLIN | POLLHUP)
    os.close(pipe[1])
    assert queue.poll(0) == [(pipe[0], POLLHUP, None)]


def test_what_is_not_registered_is_refused(queue: Queue, pipe: Pipe) -> None:
    with pytest.raises(FileNotFoundError):
        queue.unregister(pipe[0])
    with pytest.raises(FileNotFoundError):
        queue.modify(pipe[0], POLLIN)
    gone = os.dup(pipe[0])
    os.close(gone)
    with pytest.raises(OSError):
        queue.register(gone, POLLIN)
    with pytest.raises(OSError):
        queue.register(pipe[0], 1 << 28)
    with pytest.raises(OverflowError):
        queue.register(pipe[0], -1)
    with pytest.raises(TypeError):
        queue.modify(pipe[0])  # type: ignore[call-arg]
    queue.close()
    with pytest.raises(ValueError):
        queue.register(pipe[0])
    with pytest.raises(ValueError):
        queue.unregister(pipe[0])
    assert xpoll.Queue.register.__doc__
