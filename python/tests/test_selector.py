"""xpoll.XpollSelector, beyond the cases of CPython's test_selectors."""
import errno
import math
import os
import selectors
import socket
import threading
from collections.abc import Callable
from selectors import EVENT_READ, EVENT_WRITE

import pytest
import xpoll
from conftest import Pipe
from xpoll import XpollSelector

BOTH = EVENT_READ | EVENT_WRITE
Pair = tuple[socket.socket, socket.socket]


def reference() -> selectors.BaseSelector:
    return selectors.PollSelector()


def ready(selector: selectors.BaseSelector) -> dict[int, int]:
    return {key.fd: events for key, events in selector.select(0)}


def test_it_is_a_selector(selector: XpollSelector, backend: str) -> None:
    assert isinstance(selector, selectors.BaseSelector)
    assert selector.backend == backend
    assert not selector.closed


def test_keys_are_named_tuples(selector: XpollSelector, pair: Pair) -> None:
    key = selector.register(pair[0], EVENT_READ, data=[1])
    assert key == selectors.SelectorKey(pair[0], pair[0].fileno(), EVENT_READ, [1])
    assert isinstance(key, selectors.SelectorKey)
    assert key._replace(data=None).data is None


@pytest.mark.parametrize("end", ["shutdown", "close", "both shut"])
def test_ends_are_those_of_poll(selector: XpollSelector, pair: Pair, end: str) -> None:
    left, right = pair
    with reference() as other:
        for each in (selector, other):
            each.register(left, BOTH)
        assert ready(selector) == ready(other)
        if end == "close":
            right.close()
        else:
            right.shutdown(socket.SHUT_RDWR if end == "both shut" else socket.SHUT_WR)
        assert ready(selector) == ready(other) == {left.fileno(): BOTH}
        for events in (EVENT_READ, EVENT_WRITE):
            for each in (selector, other):
                each.modify(left, events)
            assert ready(selector) == ready(other)


def test_broken_pipe_wakes_who_reads_from_the_write_end(selector: XpollSelector,
                                                        pipe: Pipe) -> None:
    selector.register(pipe[1], EVENT_READ)
    assert selector.select(0) == []
    os.close(pipe[0])
    assert ready(selector) == {pipe[1]: EVENT_READ}


def test_modify_back_and_forth_is_exact(selector: XpollSelector, pair: Pair) -> None:
    selector.register(pair[0], EVENT_READ)
    for _ in range(50):
        selector.modify(pair[0], BOTH)
        assert ready(selector) == {pair[0].fileno(): EVENT_WRITE}
        selector.modify(pair[0], EVENT_READ)
        assert selector.select(0) == []


@pytest.mark.parametrize("events", [0, 4, -1, 2**70])
def test_bad_events_are_refused(selector: XpollSelector, pair: Pair, events: int) -> None:
    selector.register(pair[1], EVENT_READ)
    with pytest.raises((ValueError, OverflowError)):
        selector.register(pair[0], events)
    with pytest.raises((ValueError, OverflowError)):
        selector.modify(pair[1], events)
    assert selector.get_key(pair[1]).events == EVENT_READ


@pytest.mark.parametrize("fileobj", ["text", None, 1.5, -1, 2**40, object()])
def test_bad_file_object_is_refused(selector: XpollSelector, fileobj: int) -> None:
    calls: list[Callable[[], object]] = [
        lambda: selector.register(fileobj, EVENT_READ), lambda: selector.unregister(fileobj),
        lambda: selector.get_key(fileobj), lambda: selector.get_map()[fileobj]]
    for call in calls:
        with pytest.raises(ValueError, match="Invalid file"):
            call()


def test_closed_descriptor_is_ebadf(selector: XpollSelector) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    os.close(writer)
    with pytest.raises(OSError) as caught:
        selector.register(reader, EVENT_READ)
    assert caught.value.errno == errno.EBADF
    assert len(selector.get_map()) == 0


def test_failed_modify_unregisters(selector: XpollSelector) -> None:
    reader, writer = os.pipe()
    selector.register(writer, EVENT_READ)
    os.close(reader)
    os.close(writer)
    with pytest.raises(OSError):
        selector.modify(writer, BOTH)
    with pytest.raises(KeyError):
        selector.get_key(writer)


def test_closed_file_object_can_be_unregistered(selector: XpollSelector, pair: Pair) -> None:
    key = selector.register(pair[0], EVENT_READ)
    pair[0].close()
    assert selector.unregister(pair[0]) == key
    with pytest.raises(ValueError):
        selector.unregister(pair[0])


def test_reused_number_is_another_file(selector: XpollSelector, pair: Pair, pipe: Pipe) -> None:
    selector.register(pipe[1], EVENT_WRITE, "old")
    selector.unregister(pipe[1])
    os.dup2(pair[0].fileno(), pipe[1])
    selector.register(pipe[1], EVENT_READ, "new")
    assert selector.select(0) == []
    pair[1].send(b"x")
    assert [key.data for key, _ in selector.select()] == ["new"]
    os.close(pipe[1])


def test_regular_file_is_always_ready(selector: XpollSelector) -> None:
    with open(__file__, "rb") as file:
        selector.register(file, EVENT_READ)
        assert ready(selector) == {file.fileno(): EVENT_READ}


def test_change_by_another_thread_takes_effect(selector: XpollSelector, pipe: Pipe) -> None:
    result: list[list[tuple[selectors.SelectorKey, int]]] = []
    thread = threading.Thread(target=lambda: result.append(selector.select()))
    thread.start()
    selector.register(pipe[1], EVENT_WRITE)
    thread.join()
    assert result == [[(selector.get_key(pipe[1]), EVENT_WRITE)]]


def test_all_that_are_ready_come_at_once(selector: XpollSelector) -> None:
    pairs = [os.pipe() for _ in range(450)]
    for reader, writer in pairs:
        selector.register(reader, EVENT_READ)
        selector.register(writer, EVENT_WRITE)
    expected = {writer: EVENT_WRITE for _, writer in pairs}
    assert ready(selector) == expected
    os.write(pairs[7][1], b"x")
    expected[pairs[7][0]] = EVENT_READ
    assert ready(selector) == expected
    for pair in pairs:
        for fd in pair:
            os.close(fd)


@pytest.mark.parametrize("timeout", [math.nan, "1"])
def test_bad_timeout_is_refused(selector: XpollSelector, timeout: float) -> None:
    with pytest.raises((ValueError, TypeError)):
        selector.select(timeout)


@pytest.mark.parametrize("timeout", [1e9, 1e300, math.inf, 10**30])
def test_long_timeout_is_a_timeout(selector: XpollSelector, pair: Pair, timeout: float) -> None:
    key = selector.register(pair[0], EVENT_WRITE)
    assert selector.select(timeout) == [(key, EVENT_WRITE)]


def test_keywords_are_those_of_the_standard_library(selector: XpollSelector, pair: Pair) -> None:
    key = selector.register(fileobj=pair[0], events=EVENT_READ, data="data")
    assert selector.get_key(fileobj=pair[0]) is key
    changed = selector.modify(fileobj=pair[0], events=EVENT_WRITE)
    assert selector.unregister(fileobj=pair[0]) == changed
    with pytest.raises(TypeError):
        selector.unregister()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        selector.get_key(file=pair[0])  # type: ignore[call-arg]


def test_repr_says_what_it_is(backend: str, pair: Pair) -> None:
    class Mine(XpollSelector):
        pass

    with XpollSelector(backend) as made:
        made.register(pair[0], EVENT_READ)
        assert repr(made) == f"<xpoll.XpollSelector backend='{backend}' registered=1>"
    assert repr(made) == "<xpoll.XpollSelector closed>"
    with Mine(backend) as mine:
        assert "Mine" in repr(mine)


def test_map_is_a_mapping(selector: XpollSelector, pair: Pair) -> None:
    mapping = selector.get_map()
    key = selector.register(pair[0], EVENT_READ)
    assert dict(mapping) == {pair[0].fileno(): key}
    assert mapping.get(pair[0]) == mapping[pair[0].fileno()] == key
    assert mapping.get(pair[1]) is None
    assert mapping.get(pair[1], 5) == 5
    assert pair[0] in mapping and pair[1] not in mapping


def test_map_may_change_while_it_is_read(selector: XpollSelector, pair: Pair) -> None:
    selector.register(pair[0], EVENT_READ)
    for _ in selector.get_map():
        selector.register(pair[1], EVENT_READ)
    for fd in selector.get_map():
        selector.unregister(fd)
    assert len(selector.get_map()) == 0


def test_closed_selector_refuses(selector: XpollSelector, pair: Pair) -> None:
    selector.register(pair[0], EVENT_READ)
    selector.close()
    selector.close()
    assert selector.closed
    assert selector.get_map() is None
    calls: list[tuple[Callable[[], object], type[Exception]]] = [
        (lambda: selector.register(pair[1], EVENT_READ), ValueError),
        (lambda: selector.select(0), ValueError),
        (selector.fileno, ValueError),
        (selector.reinit, ValueError),
        (lambda: selector.get_key(pair[0]), RuntimeError),
        (lambda: selector.unregister(pair[0]), KeyError),
    ]
    for call, error in calls:
        with pytest.raises(error):
            call()


def test_selector_can_be_watched(pipe: Pipe) -> None:
    with XpollSelector() as inner, reference() as outer:
        outer.register(inner.fileno(), EVENT_READ)
        inner.register(pipe[1], EVENT_WRITE)
        assert ready(outer) == {inner.fileno(): EVENT_READ}
