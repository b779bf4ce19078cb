"""The constants as enumerations: the same numbers, which print as names.

    >>> xpoll.flags.Flag(event.flags)
    <Flag.EOF: 32768>
    >>> print(xpoll.flags.Flag(3))
    Flag.ADD|DELETE
    >>> xpoll.flags.notes(event)
    <VnodeNote.WRITE|EXTEND: 6>

The constants of xpoll itself are plain integers, which are faster where there are many events.
Either may be used wherever the other may.
"""
from __future__ import annotations

import enum

from xpoll import _xpoll
from xpoll._xpoll import Event

__all__ = ["FdNote", "Filter", "Flag", "ProcNote", "QueueFlag", "SignalNote", "TimerNote",
           "UserNote", "VnodeNote", "notes"]


class IntEnum(enum.IntEnum):
    """From Python 3.11 on the standard one prints as its number."""

    def __str__(self) -> str:
        return enum.Enum.__str__(self)

    def __format__(self, spec: str) -> str:
        return int(self).__format__(spec) if spec else str(self)


class IntFlag(enum.IntFlag):
    """The same for flags."""

    def __str__(self) -> str:
        return enum.Flag.__str__(self)

    def __format__(self, spec: str) -> str:
        return int(self).__format__(spec) if spec else str(self)


class QueueFlag(IntFlag):
    """The flags of Queue()."""

    TELL_MODES = _xpoll.TELL_MODES
    VNODE_AS_BSD = _xpoll.VNODE_AS_BSD
    ALL_READY = _xpoll.ALL_READY
    COUNT_IDLE = _xpoll.COUNT_IDLE
    RESTART = _xpoll.RESTART


class Filter(IntEnum):
    """The kind of event: Event.filter."""

    READ = _xpoll.FILT_READ
    WRITE = _xpoll.FILT_WRITE
    AIO = _xpoll.FILT_AIO
    VNODE = _xpoll.FILT_VNODE
    PROC = _xpoll.FILT_PROC
    SIGNAL = _xpoll.FILT_SIGNAL
    TIMER = _xpoll.FILT_TIMER
    USER = _xpoll.FILT_USER
    EMPTY = _xpoll.FILT_EMPTY
    EXCEPT = _xpoll.FILT_EXCEPT


class Flag(IntFlag):
    """Event.flags, in changes and events."""

    ADD = _xpoll.ADD
    DELETE = _xpoll.DELETE
    ENABLE = _xpoll.ENABLE
    DISABLE = _xpoll.DISABLE
    ONESHOT = _xpoll.ONESHOT
    CLEAR = _xpoll.CLEAR
    RECEIPT = _xpoll.RECEIPT
    DISPATCH = _xpoll.DISPATCH
    KEEPUDATA = _xpoll.KEEPUDATA
    SETUDATA = _xpoll.SETUDATA
    WHOLE = _xpoll.WHOLE
    ERROR = _xpoll.ERROR
    EOF = _xpoll.EOF


class FdNote(IntFlag):
    """Event.fflags of READ, WRITE and EXCEPT."""

    LOWAT = _xpoll.NOTE_LOWAT
    COUNT = _xpoll.NOTE_COUNT
    SOERR = _xpoll.NOTE_SOERR
    EXCLUSIVE = _xpoll.NOTE_EXCLUSIVE
    OOB = _xpoll.NOTE_OOB


class UserNote(IntFlag):
    """Event.fflags of USER; the lower 24 bits are the program's."""

    FFAND = _xpoll.NOTE_FFAND
    FFOR = _xpoll.NOTE_FFOR
    TRIGGER = _xpoll.NOTE_TRIGGER
    FFCOPY = _xpoll.NOTE_FFCOPY


class TimerNote(IntFlag):
    """Event.fflags of TIMER."""

    SECONDS = _xpoll.NOTE_SECONDS
    MSECONDS = _xpoll.NOTE_MSECONDS
    USECONDS = _xpoll.NOTE_USECONDS
    NSECONDS = _xpoll.NOTE_NSECONDS
    ABSTIME = _xpoll.NOTE_ABSTIME
    MONOTONIC = _xpoll.NOTE_MONOTONIC


class SignalNote(IntFlag):
    """Event.fflags of SIGNAL."""

    ACCEPT = _xpoll.NOTE_ACCEPT


class ProcNote(IntFlag):
    """Event.fflags of PROC."""

    EXIT = _xpoll.NOTE_EXIT
    FORK = _xpoll.NOTE_FORK
    EXEC = _xpoll.NOTE_EXEC
    TRACK = _xpoll.NOTE_TRACK
    TRACKERR = _xpoll.NOTE_TRACKERR
    CHILD = _xpoll.NOTE_CHILD
    STATUS_UNKNOWN = _xpoll.NOTE_STATUS_UNKNOWN


class VnodeNote(IntFlag):
    """Event.fflags of VNODE."""

    DELETE = _xpoll.NOTE_DELETE
    WRITE = _xpoll.NOTE_WRITE
    EXTEND = _xpoll.NOTE_EXTEND
    ATTRIB = _xpoll.NOTE_ATTRIB
    LINK = _xpoll.NOTE_LINK
    RENAME = _xpoll.NOTE_RENAME
    REVOKE = _xpoll.NOTE_REVOKE
    OPEN = _xpoll.NOTE_OPEN
    CLOSE = _xpoll.NOTE_CLOSE
    CLOSE_WRITE = _xpoll.NOTE_CLOSE_WRITE
    READ = _xpoll.NOTE_READ
    TRUNCATE = _xpoll.NOTE_TRUNCATE


_NOTES: dict[int, type[IntFlag]] = {
    _xpoll.FILT_READ: FdNote, _xpoll.FILT_WRITE: FdNote, _xpoll.FILT_EXCEPT: FdNote,
    _xpoll.FILT_USER: UserNote, _xpoll.FILT_TIMER: TimerNote, _xpoll.FILT_PROC: ProcNote,
    _xpoll.FILT_SIGNAL: SignalNote, _xpoll.FILT_VNODE: VnodeNote,
}


def notes(event: Event) -> int:
    """The fflags of an event, as the enumeration of its filter."""
    made = _NOTES.get(event.filter)
    return made(event.fflags) if made else event.fflags
