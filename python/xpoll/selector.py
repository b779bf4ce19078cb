"""XpollSelector: xpoll for the selectors module and asyncio."""
from __future__ import annotations

import selectors
from collections.abc import Coroutine, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from xpoll import _xpoll

if TYPE_CHECKING:
    import asyncio

    from _typeshed import FileDescriptorLike

    KeyMap = Mapping[FileDescriptorLike, selectors.SelectorKey]
else:
    KeyMap = Mapping

T = TypeVar("T")


class _Keys(KeyMap):
    """The registered file objects and their keys."""

    __slots__ = ("_selector",)

    def __init__(self, selector: _xpoll._Selector) -> None:
        self._selector = selector

    def __len__(self) -> int:
        return len(self._selector._keys)

    def __iter__(self) -> Iterator[int]:
        # Of a copy, which is made at once: another thread may register meanwhile.
        return iter(list(self._selector._keys))

    def __getitem__(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        return self._selector._find(fileobj)

    # asyncio asks for each change: faster than Mapping's own.
    @overload
    def get(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey | None: ...
    @overload
    def get(self, fileobj: FileDescriptorLike, default: T) -> selectors.SelectorKey | T: ...

    def get(self, fileobj: FileDescriptorLike, default: Any = None) -> Any:
        return self._selector._get(fileobj, default)


class XpollSelector(_xpoll._Selector, selectors.BaseSelector):
    """A selector on an xpoll queue.

    backend    one of xpoll.backends(); None means $XPOLL_BACKEND, or the best one
    size_hint  how many descriptors are expected; not a limit

    It accepts any file object that has a descriptor, including regular files, and may be
    changed while another thread is in select().  Only one thread at a time may be in select().

    In a forked child register(), select(), fileno() and a modify() that changes events raise
    OSError (EBADF) until reinit().  Methods that use only the keys work on the child's copy.
    """

    def get_map(self) -> KeyMap:
        """The registered file objects and their keys, as a mapping; None if closed."""
        return None if self.closed else _Keys(self)  # type: ignore[return-value]


def run(main: Coroutine[Any, Any, T], *, debug: bool | None = None) -> T:
    """asyncio.run on a loop that uses xpoll."""
    import asyncio

    with asyncio.Runner(debug=debug, loop_factory=new_event_loop) as runner:
        return runner.run(main)


def new_event_loop() -> asyncio.SelectorEventLoop:
    """Return a new asyncio event loop that uses xpoll.

    Use it as asyncio.Runner(loop_factory=xpoll.new_event_loop) or, from Python 3.12 on, as
    asyncio.run(main(), loop_factory=xpoll.new_event_loop).
    """
    # Not above: importing asyncio takes longer than everything else here.
    import asyncio

    return asyncio.SelectorEventLoop(XpollSelector())
