"""xpoll.flags: every constant is in one enumeration, with its value."""
import enum
import signal
import subprocess
import sys

import pytest
import xpoll
import xpoll.flags
from xpoll.flags import (FdNote, Filter, Flag, ProcNote, QueueFlag, SignalNote, TimerNote, UserNote,
                         VnodeNote, notes)

NOTES: list[type[enum.IntFlag]] = [FdNote, UserNote, TimerNote, SignalNote, ProcNote, VnodeNote]
# Of USER, the masks, and the operation that is none.
NO_MEMBERS = {"NOTE_FFNOP", "NOTE_FFCTRLMASK", "NOTE_FFLAGSMASK"}


def test_every_constant_is_a_member() -> None:
    members = {f"FILT_{each.name}": each.value for each in Filter}
    members |= {str(each.name): each.value for each in (*Flag, *QueueFlag)}
    for group in NOTES:
        members |= {f"NOTE_{name}": each.value for name, each in group.__members__.items()}
    constants = {name: value for name, value in vars(xpoll).items()
                 if name.isupper() and not name.startswith(("AIO_", "_"))}
    assert members == {name: value for name, value in constants.items()
                       if name not in NO_MEMBERS}


def test_members_go_where_numbers_go(queue: xpoll.Queue) -> None:
    queue.add(7, Filter.USER, Flag.ADD | Flag.CLEAR, UserNote.TRIGGER)
    event, = queue.wait(1)
    assert Filter(event.filter) is Filter.USER
    assert Flag(event.flags) == 0
    assert xpoll.Event(7, Filter.USER, Flag.ADD) == xpoll.Event(7, xpoll.FILT_USER, xpoll.ADD)


@pytest.mark.parametrize("event, expected", [
    (xpoll.Event(1, xpoll.FILT_VNODE, 0, 6), VnodeNote.WRITE | VnodeNote.EXTEND),
    (xpoll.Event(1, xpoll.FILT_PROC, 0, 0x80000008), ProcNote.EXIT | ProcNote.STATUS_UNKNOWN),
    (xpoll.Event(1, xpoll.FILT_TIMER, 0, 8), TimerNote.NSECONDS),
    (xpoll.Event(1, xpoll.FILT_READ, 0, 0x10000), FdNote.COUNT),
    (xpoll.Event(signal.SIGHUP, xpoll.FILT_SIGNAL, 0, 3), 3),
    # The program's own bits, and those of a later version, are kept.
    (xpoll.Event(1, xpoll.FILT_USER, 0, 0x123), 0x123),
    (xpoll.Event(1, xpoll.FILT_VNODE, 0, 1 << 30), 1 << 30),
])
def test_notes_are_those_of_the_filter(event: xpoll.Event, expected: int) -> None:
    assert notes(event) == expected == event.fflags
    assert type(notes(event)) is type(expected) or isinstance(notes(event), enum.IntFlag)


def test_they_print_as_names() -> None:
    assert repr(Flag(xpoll.EOF)) == f"<Flag.EOF: {xpoll.EOF}>"
    assert "WRITE|EXTEND" in repr(notes(xpoll.Event(1, xpoll.FILT_VNODE, 0, 6)))
    assert str(Flag(3)) == f"{Flag(3)}" == "Flag.ADD|DELETE"
    assert str(Filter.USER) == f"{Filter.USER}" == "Filter.USER"
    assert str(Flag(0)) == "Flag(0)"
    assert f"{Flag(3):#x} {Filter.USER:d}" == f"0x3 {xpoll.FILT_USER}"


@pytest.mark.parametrize("name", ["aio.process", "flags.Flag"])
def test_modules_need_no_import_of_their_own(name: str) -> None:
    code = f"import xpoll, sys; assert 'asyncio' not in sys.modules; print(xpoll.{name})"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
