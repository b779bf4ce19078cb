"""xpoll.Event: a value with the fields of select.kevent."""
import copy
import gc
import pickle
import socket
import weakref

import pytest
import xpoll


def test_defaults_are_those_of_kevent() -> None:
    event = xpoll.Event(3)
    assert (event.ident, event.filter, event.flags) == (3, xpoll.FILT_READ, xpoll.ADD)
    assert (event.fflags, event.data, event.udata) == (0, 0, None)


def test_arguments_by_keyword_are_kept() -> None:
    udata = object()
    event = xpoll.Event(ident=2**64 - 1, filter=xpoll.FILT_USER, flags=0xffff,
                        fflags=0xffffffff, data=-2**63, udata=udata)
    assert (event.ident, event.filter, event.flags) == (2**64 - 1, xpoll.FILT_USER, 0xffff)
    assert (event.fflags, event.data) == (0xffffffff, -2**63)
    assert event.udata is udata


def test_object_with_fileno_is_taken_as_descriptor() -> None:
    left, right = socket.socketpair()
    with left, right:
        assert xpoll.Event(left, xpoll.FILT_WRITE).ident == left.fileno()


@pytest.mark.parametrize("arguments, error", [
    ((-1,), ValueError),
    (("text",), TypeError),
    ((2**31,), OverflowError),
    ((2**64, xpoll.FILT_USER), OverflowError),
    ((-1, xpoll.FILT_USER), OverflowError),
    ((1, 2**15), OverflowError),
    ((1, xpoll.FILT_READ, 2**16), OverflowError),
    ((1, xpoll.FILT_READ, -1), OverflowError),
    ((1, xpoll.FILT_READ, 0, 2**32), OverflowError),
    ((1, xpoll.FILT_READ, 0, 0, 2**63), OverflowError),
    ((1, xpoll.FILT_READ, 0.5), TypeError),
    ((), TypeError),
])
def test_bad_argument_is_refused(arguments: tuple[object, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        xpoll.Event(*arguments)  # type: ignore[arg-type]


def test_equality_compares_every_field() -> None:
    event = xpoll.Event(1, udata=[1])
    assert event == xpoll.Event(1, udata=[1])
    assert hash(event) == hash(xpoll.Event(1, udata=[1]))
    for other in (xpoll.Event(2, udata=[1]), xpoll.Event(1, xpoll.FILT_WRITE, udata=[1]),
                  xpoll.Event(1, flags=0, udata=[1]), xpoll.Event(1, fflags=1, udata=[1]),
                  xpoll.Event(1, data=1, udata=[1]), xpoll.Event(1, udata=[2]), 1):
        assert event != other


def test_fields_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        xpoll.Event(1).ident = 2  # type: ignore[misc]


def test_repr_says_what_it_is() -> None:
    assert repr(xpoll.Event(5, data=12)) == "<xpoll.Event READ ident=5 data=12 ADD>"
    assert repr(xpoll.Event(1, xpoll.FILT_USER, udata="x")).endswith(" udata='x'>")


def test_match_takes_the_fields_in_order() -> None:
    match xpoll.Event(7, xpoll.FILT_WRITE):
        case xpoll.Event(ident, xpoll.FILT_WRITE):
            assert ident == 7
        case _:
            pytest.fail("no match")


def test_cycle_through_udata_is_collected() -> None:
    class Node:
        event: xpoll.Event

    node = Node()
    node.event = xpoll.Event(1, udata=node)
    gone = weakref.ref(node)
    del node
    gc.collect()
    assert gone() is None


def test_order_is_that_of_the_fields() -> None:
    """As select.kevent has it."""
    fields = [(1, -1, 0, 0, 0), (1, -1, 0, 0, 5), (1, -1, 0, 1, -5), (1, -1, 1, 0, 0),
              (1, 1, 0, 0, 0), (2, -2, 0, 0, 0), (2**31 - 1, -1, 0, 0, -1)]
    events = [xpoll.Event(*each) for each in fields]
    assert sorted(reversed(events)) == events
    for i, left in enumerate(events):
        for j, right in enumerate(events):
            assert (left < right, left <= right, left > right, left >= right) == (
                i < j, i <= j, i > j, i >= j)
            assert (left == right) == (i == j)


def test_order_of_the_same_fields_is_that_of_udata() -> None:
    one, two, none = (xpoll.Event(1, udata=udata) for udata in ("a", "b", None))
    assert one < two and two > one and one <= two and not one >= two
    assert none <= none and none >= none and not none < none
    with pytest.raises(TypeError):
        assert none < one
    with pytest.raises(TypeError):
        assert one < (1,)  # type: ignore[operator]


@pytest.mark.parametrize("event", [
    xpoll.Event(5), xpoll.Event(2**64 - 1, xpoll.FILT_USER, 0xffff, 2**32 - 1, -2**63, ["list"]),
    xpoll.Event(0, -2**15, 0, 0, 2**63 - 1, {"a": None})])
def test_pickle_and_copy_give_an_equal_one(event: xpoll.Event) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(event, protocol)) == event
    assert copy.copy(event) == event
    assert copy.copy(event).udata is event.udata
    deep = copy.deepcopy(event)
    assert deep == event
    assert event.udata is None or deep.udata is not event.udata


def test_pickle_of_what_cannot_be_is_refused() -> None:
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        pickle.dumps(xpoll.Event(1, udata=lambda: None))
