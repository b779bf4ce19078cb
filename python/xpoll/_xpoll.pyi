# Types of the extension module; python/tests/test_types.py compares them with it.
import selectors
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Final, Self, final

from _typeshed import FileDescriptorLike, ReadableBuffer, StrOrBytesPath, structseq
from typing_extensions import disjoint_base

__version__: str

TELL_MODES: Final[int]
VNODE_AS_BSD: Final[int]
ALL_READY: Final[int]
COUNT_IDLE: Final[int]
RESTART: Final[int]

ADD: Final[int]
DELETE: Final[int]
ENABLE: Final[int]
DISABLE: Final[int]
ONESHOT: Final[int]
CLEAR: Final[int]
RECEIPT: Final[int]
DISPATCH: Final[int]
KEEPUDATA: Final[int]
SETUDATA: Final[int]
WHOLE: Final[int]
ERROR: Final[int]
EOF: Final[int]

FILT_READ: Final[int]
FILT_WRITE: Final[int]
FILT_AIO: Final[int]
FILT_VNODE: Final[int]
FILT_PROC: Final[int]
FILT_SIGNAL: Final[int]
FILT_TIMER: Final[int]
FILT_USER: Final[int]
FILT_EMPTY: Final[int]
FILT_EXCEPT: Final[int]

NOTE_LOWAT: Final[int]
NOTE_COUNT: Final[int]
NOTE_SOERR: Final[int]
NOTE_EXCLUSIVE: Final[int]
NOTE_OOB: Final[int]
NOTE_FFNOP: Final[int]
NOTE_FFAND: Final[int]
NOTE_FFOR: Final[int]
NOTE_FFCOPY: Final[int]
NOTE_FFCTRLMASK: Final[int]
NOTE_FFLAGSMASK: Final[int]
NOTE_TRIGGER: Final[int]
NOTE_SECONDS: Final[int]
NOTE_MSECONDS: Final[int]
NOTE_USECONDS: Final[int]
NOTE_NSECONDS: Final[int]
NOTE_ABSTIME: Final[int]
NOTE_MONOTONIC: Final[int]
NOTE_ACCEPT: Final[int]
NOTE_EXIT: Final[int]
NOTE_FORK: Final[int]
NOTE_EXEC: Final[int]
NOTE_TRACK: Final[int]
NOTE_TRACKERR: Final[int]
NOTE_CHILD: Final[int]
NOTE_STATUS_UNKNOWN: Final[int]
NOTE_DELETE: Final[int]
NOTE_WRITE: Final[int]
NOTE_EXTEND: Final[int]
NOTE_ATTRIB: Final[int]
NOTE_LINK: Final[int]
NOTE_RENAME: Final[int]
NOTE_REVOKE: Final[int]
NOTE_OPEN: Final[int]
NOTE_CLOSE: Final[int]
NOTE_CLOSE_WRITE: Final[int]
NOTE_READ: Final[int]
NOTE_TRUNCATE: Final[int]

AIO_READ: Final[int]
AIO_WRITE: Final[int]
AIO_FSYNC: Final[int]
AIO_FDATASYNC: Final[int]

def backends() -> list[str]: ...
def supports(filter: int, fflags: int = 0) -> bool: ...
def close_fd(fd: FileDescriptorLike, /) -> None: ...
def forget_fd(fd: FileDescriptorLike, /) -> None: ...

@final
class Event:
    __match_args__ = ("ident", "filter", "flags", "fflags", "data", "udata")
    def __new__(
        cls,
        ident: FileDescriptorLike,
        filter: int = ...,
        flags: int = ...,
        fflags: int = 0,
        data: int = 0,
        udata: Any = None,
    ) -> Self: ...
    @property
    def ident(self) -> int: ...
    @property
    def filter(self) -> int: ...
    @property
    def flags(self) -> int: ...
    @property
    def fflags(self) -> int: ...
    @property
    def data(self) -> int: ...
    @property
    def udata(self) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __lt__(self, other: Event, /) -> bool: ...
    def __le__(self, other: Event, /) -> bool: ...
    def __gt__(self, other: Event, /) -> bool: ...
    def __ge__(self, other: Event, /) -> bool: ...
    def __reduce__(self) -> tuple[type[Event], tuple[int, int, int, int, int, Any]]: ...
    def __hash__(self) -> int: ...

@final
class Aio:
    @property
    def ident(self) -> int: ...
    @property
    def op(self) -> int: ...
    @property
    def fd(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def done(self) -> bool: ...
    @property
    def result(self) -> int | None: ...
    @property
    def udata(self) -> Any: ...

@disjoint_base
class Queue:
    def __new__(
        cls,
        backend: str | None = None,
        size_hint: int = 0,
        flags: int = 0,
        busy_poll_us: int = 0,
    ) -> Self: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    @property
    def backend(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def control(
        self,
        changes: Iterable[Event] | None,
        max_events: int = 0,
        timeout: float | None = None,
        sigmask: Iterable[int] | None = None,
    ) -> list[Event]: ...
    def wait(
        self,
        timeout: float | None = None,
        max_events: int = 256,
        sigmask: Iterable[int] | None = None,
    ) -> list[Event]: ...
    def add(
        self,
        ident: FileDescriptorLike,
        filter: int,
        flags: int = 0,
        fflags: int = 0,
        data: int = 0,
        udata: Any = None,
    ) -> None: ...
    def delete(self, ident: FileDescriptorLike, filter: int) -> None: ...
    def enable(self, ident: FileDescriptorLike, filter: int) -> None: ...
    def disable(self, ident: FileDescriptorLike, filter: int) -> None: ...
    def trigger(self, ident: int, fflags: int = 0) -> None: ...
    def ctl(self, op: int, events: int, fd: FileDescriptorLike, udata: Any = None) -> None: ...
    def register(self, fd: FileDescriptorLike, eventmask: int = ..., udata: Any = None) -> None: ...
    def modify(self, fd: FileDescriptorLike, eventmask: int, udata: Any = ...) -> None: ...
    def unregister(self, fd: FileDescriptorLike) -> None: ...
    def poll(
        self,
        timeout: float | None = None,
        max_events: int = 256,
        sigmask: Iterable[int] | None = None,
    ) -> list[tuple[int, int, Any]]: ...
    def aio_submit(
        self,
        op: int,
        fd: FileDescriptorLike,
        buffer: ReadableBuffer | None = None,
        offset: int = 0,
        *,
        udata: Any = None,
    ) -> Aio: ...
    def aio_cancel(self, aio: Aio, /) -> None: ...
    def lookup(self, ident: FileDescriptorLike, filter: int) -> Event | None: ...
    def wake(self) -> None: ...
    def wake_all(self) -> None: ...
    def fileno(self) -> int: ...
    def next_timeout(self) -> float | None: ...
    def reinit(self) -> None: ...
    def supports(self, filter: int, fflags: int = 0) -> bool: ...
    def stats(self) -> dict[str, int]: ...
    def close(self) -> None: ...

@disjoint_base
class _Selector:
    def __new__(cls, backend: str | None = None, size_hint: int = 0) -> Self: ...
    @property
    def backend(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    @property
    def _keys(self) -> dict[int, selectors.SelectorKey]: ...
    def _find(self, fileobj: FileDescriptorLike, /) -> selectors.SelectorKey: ...
    def _get(self, fileobj: FileDescriptorLike, default: Any) -> Any: ...
    def register(
        self, fileobj: FileDescriptorLike, events: int, data: Any = None
    ) -> selectors.SelectorKey: ...
    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey: ...
    def modify(
        self, fileobj: FileDescriptorLike, events: int, data: Any = None
    ) -> selectors.SelectorKey: ...
    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]: ...
    def get_key(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey: ...
    def fileno(self) -> int: ...
    def reinit(self) -> None: ...
    def close(self) -> None: ...

@final
class TreeChange(structseq[Any], tuple[str, str, str | None, int, int]):
    __match_args__: Final = ("kind", "path", "to", "notes", "error")
    @property
    def kind(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def to(self) -> str | None: ...
    @property
    def notes(self) -> int: ...
    @property
    def error(self) -> int: ...

@final
class Tree:
    def __new__(
        cls, path: StrOrBytesPath, *, flat: bool = False, links: bool = False, notes: int = 0
    ) -> Self: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> TreeChange: ...
    @property
    def closed(self) -> bool: ...
    def next(self, timeout: float | None = None) -> TreeChange | None: ...
    def fileno(self) -> int: ...
    def wake(self) -> None: ...
    def close(self) -> None: ...
