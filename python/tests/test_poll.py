"""The poll-like level of xpoll.Queue, held against select.poll."""
import errno
import math
import os
import select
import signal
import socket
import threading
import time
import weakref
from select import POLLERR, POLLHUP, POLLIN, POLLOUT, POLLPRI

import pytest
import xpoll
from conftest import Pipe
from xpoll import (
    ADD, CLEAR, DELETE, DISABLE, DISPATCH, ENABLE, FILT_READ, FILT_USER, ONESHOT, WHOLE, Queue)

POLLRDHUP = getattr(select, "POLLRDHUP", 0)


def oracle(fd: int, events: int) -> list[tuple[int, int]]:
    poll = select.poll()
    poll.register(fd, events)
    return poll.poll(0)


def test_ready_descriptor_comes_with_its_bits(queue: Queue, pipe: Pipe) -> None:
    reader, writer = pipe
    queue.ctl(ADD, POLLIN, reader)
    queue.ctl(ADD, POLLOUT, writer, "room")
    assert queue.poll(0) == [(writer, POLLOUT, "room")]
    os.write(writer, b"x")
    assert sorted(queue.poll()) == sorted([(reader, POLLIN, None), (writer, POLLOUT, "room")])


def test_bits_are_those_of_poll(queue: Queue, pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    wanted = POLLIN | POLLOUT | POLLPRI | POLLRDHUP
    queue.ctl(ADD, wanted, left, "left")
    for step in (lambda: right.send(b"x"), lambda: right.shutdown(socket.SHUT_WR), right.close):
        step()
        (fd, revents), = oracle(left.fileno(), wanted)
        assert queue.poll(0) == [(fd, revents, "left")]
    assert revents & POLLHUP


def test_broken_pipe_is_an_error_for_who_reads(queue: Queue, pipe: Pipe) -> None:
    queue.ctl(ADD, POLLIN, pipe[1])
    os.close(pipe[0])
    assert queue.poll(0) == [(pipe[1], POLLERR, None)]


def test_interest_in_no_bits_reports_a_hang_up_only(queue: Queue, pipe: Pipe) -> None:
    reader, writer = pipe
    queue.ctl(ADD, 0, reader, "end")
    os.write(writer, b"x")
    assert queue.poll(0) == []
    os.close(writer)
    assert queue.poll(0) == [(reader, POLLHUP, "end")]


def test_one_object_for_both_directions(queue: Queue,
                                        pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    right.send(b"x")
    queue.ctl(ADD, POLLIN | POLLOUT, left, "both")
    assert queue.poll(0) == [(left.fileno(), POLLIN | POLLOUT, "both")]
    queue.ctl(DELETE, POLLIN, left)
    assert queue.poll(0) == [(left.fileno(), POLLOUT, "both")]
    queue.ctl(ADD, POLLIN, left, "in")
    assert queue.poll(0) == [(left.fileno(), POLLIN | POLLOUT, "in")]
    queue.ctl(DISABLE, POLLIN, left)
    assert queue.poll(0) == [(left.fileno(), POLLOUT, "both")]
    queue.ctl(ENABLE, POLLIN, left)
    queue.ctl(DELETE, POLLIN | POLLOUT, left)
    assert queue.poll(0) == []


def test_levels_share_their_registrations(queue: Queue, pipe: Pipe) -> None:
    reader, writer = pipe
    os.write(writer, b"x")
    queue.ctl(ADD, POLLIN, reader, "poll")
    assert [event.udata for event in queue.wait(0)] == ["poll"]
    queue.add(reader, FILT_READ, udata="event")
    assert queue.poll(0) == [(reader, POLLIN, "event")]
    queue.add(reader, FILT_READ)
    assert queue.poll(0) == [(reader, POLLIN, None)]


def test_oneshot_is_handed_out_once(queue: Queue, pipe: Pipe) -> None:
    queue.ctl(ADD | ONESHOT, POLLOUT, pipe[1], "once")
    assert queue.poll(0) == [(pipe[1], POLLOUT, "once")]
    assert queue.poll(0) == []


def test_edge_is_handed_out_per_activity(queue: Queue, pipe: Pipe) -> None:
    queue.ctl(ADD | CLEAR, POLLIN, pipe[0])
    os.write(pipe[1], b"x")
    assert len(queue.poll(0)) == 1
    assert queue.poll(0) == []


def test_other_events_do_not_end_it(queue: Queue) -> None:
    queue.add(1, FILT_USER)
    queue.trigger(1)
    assert queue.poll(0.01) == []
    assert len(queue.wait(0)) == 1


def test_wake_ends_it(queue: Queue) -> None:
    queue.wake()
    assert queue.poll() == []


def test_event_level_is_ebusy_meanwhile(queue: Queue, pipe: Pipe) -> None:
    queue.ctl(ADD, POLLIN, pipe[0])
    threads = [threading.Thread(target=queue.poll) for _ in range(2)]
    for thread in threads:
        thread.start()
    busy: int | None = None
    while not busy:
        try:
            queue.wait(0)
        except OSError as error:
            busy = error.errno
    assert queue.poll(0) == []
    os.write(pipe[1], b"x")
    for thread in threads:
        thread.join()
    assert busy == errno.EBUSY


def test_whole_descriptor_goes_to_one_of_many_threads(queue: Queue) -> None:
    rounds, pairs = 300, [socket.socketpair() for _ in range(3)]
    owners, left = [0] * len(pairs), [rounds]
    lock, both = threading.Lock(), POLLIN | POLLOUT
    faults: list[object] = []

    def work() -> None:
        while left[0] > 0:
            for fd, revents, number in queue.poll(max_events=2):
                with lock:
                    owners[number] += 1
                    if (owners[number], revents) != (1, both):
                        faults.append((owners[number], revents))
                with lock:
                    owners[number] -= 1
                    left[0] -= 1
                queue.ctl(ENABLE, both, fd)
        queue.wake()

    for number, (ours, theirs) in enumerate(pairs):
        theirs.send(b"x")
        queue.ctl(ADD | DISPATCH | WHOLE, both, ours, number)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    for pair in pairs:
        for end in pair:
            end.close()


@pytest.mark.parametrize("mode", [DISPATCH, ONESHOT])
def test_whole_acts_on_both_directions(queue: Queue, pair: tuple[socket.socket, socket.socket],
                                       mode: int) -> None:
    left, right = pair
    queue.ctl(ADD | mode | WHOLE, POLLIN | POLLOUT, left, "one")
    assert queue.poll(0) == [(left.fileno(), POLLOUT, "one")]
    right.send(b"x")
    assert queue.poll(0) == []
    assert (queue.lookup(left, FILT_READ) is None) == (mode == ONESHOT)


def test_interest_in_no_bits_lets_its_object_go(queue: Queue, pipe: Pipe) -> None:
    class Object:
        pass

    for delete in True, False:
        one = Object()
        gone = weakref.ref(one)
        queue.ctl(ADD, 0, pipe[0], one)
        del one
        assert gone() is not None
        if delete:
            queue.ctl(DELETE, 0, pipe[0])
        else:
            queue.ctl(ADD, 0, pipe[0], "other")
        assert gone() is None


def test_room_and_mask(queue: Queue, pipe: Pipe) -> None:
    reader, writer = pipe
    os.write(writer, b"x")
    queue.ctl(ADD | DISPATCH, POLLIN, reader)
    queue.ctl(ADD | DISPATCH, POLLOUT, writer)
    fds = [queue.poll(0, 1)[0][0], queue.poll(timeout=0, max_events=300)[0][0]]
    assert sorted(fds) == sorted(pipe)
    with pytest.raises(OverflowError):
        queue.poll(0, 0)
    # Blocked by the mask it stays pending, and ends no wait.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        assert queue.poll(0.001, sigmask=[signal.SIGUSR1]) == []
        assert signal.sigtimedwait([signal.SIGUSR1], 10) is not None
        # Let in by the mask it is handled during the wait.
        handled: list[int] = []
        before = signal.signal(signal.SIGUSR1, lambda number, _: handled.append(number))
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        assert queue.poll(0.001, sigmask=[]) == []
        assert handled == [signal.SIGUSR1]
        signal.signal(signal.SIGUSR1, before)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])


def test_timeout_is_in_nanoseconds(queue: Queue) -> None:
    """A wait of whole milliseconds is never so short; one on a busy machine is repeated."""
    shortest = 1.0
    for _ in range(10000):
        begin = time.monotonic()
        assert queue.poll(50e-6) == []
        shortest = min(shortest, time.monotonic() - begin)
        if 50e-6 <= shortest < 1e-3:
            return
    raise AssertionError(shortest)


@pytest.mark.parametrize("timeout", [1e9, 1e300, math.inf, 10**30])
def test_long_timeout_is_a_timeout(queue: Queue, pipe: Pipe, timeout: float) -> None:
    queue.wake()
    assert queue.poll(timeout) == []
    queue.ctl(xpoll.ADD, select.POLLOUT, pipe[1])
    assert queue.poll(timeout) == [(pipe[1], select.POLLOUT, None)]


@pytest.mark.parametrize("op, events, error", [
    (ADD, POLLHUP, errno.EINVAL), (1 << 10, POLLIN, errno.EINVAL),
    (DELETE, POLLIN, errno.ENOENT), (ENABLE, POLLIN, errno.ENOENT)])
def test_bad_change_is_refused(queue: Queue, pipe: Pipe, op: int, events: int,
                               error: int) -> None:
    with pytest.raises(OSError) as caught:
        queue.ctl(op, events, pipe[0], "udata")
    assert caught.value.errno == error


def test_many_ready_descriptors_all_come(queue: Queue) -> None:
    pairs = [os.pipe() for _ in range(400)]
    for _, writer in pairs:
        queue.ctl(ADD | xpoll.DISPATCH, POLLOUT, writer)
    seen = set()
    while ready := queue.poll(0):
        seen |= {fd for fd, _, _ in ready}
    assert seen == {writer for _, writer in pairs}
    for pair in pairs:
        for fd in pair:
            os.close(fd)
