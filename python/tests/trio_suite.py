"""All of trio's own tests, with xpoll in the place of select.epoll or of select.kqueue.

    trio_suite.py epoll|kqueue

Trio has an event loop for each of the two, and takes no other.  Its loop for kqueue uses a queue
for descriptors and, by PROC, for the ends of its child processes.  The exit code is 77 without
trio.
"""
import asyncio  # noqa: F401  This and the next two look at the system, and at select.
import ctypes.util  # noqa: F401
import importlib
import importlib.util
import select
import selectors  # noqa: F401
import sys
from functools import partial

import pytest
import xpoll


class Epoll(xpoll.Queue):
    """select.epoll reports pairs, and minds what is registered twice."""

    def poll(self, timeout: float | None = None,  # type: ignore[override]
             maxevents: int = -1) -> list[tuple[int, int]]:
        if timeout is not None and timeout < 0:
            timeout = None
        return [(fd, revents) for fd, revents, _ in super().poll(timeout)]

    def register(self, fd: int, eventmask: int = 0) -> None:  # type: ignore[override]
        if any(self.lookup(fd, filter) for filter in (xpoll.FILT_READ, xpoll.FILT_WRITE)):
            raise FileExistsError
        super().register(fd, eventmask)


def replace_kqueue() -> None:
    """Trio takes it where there is no epoll, and on another system."""
    vars(select).update({
        "kqueue": partial(xpoll.Queue, flags=xpoll.TELL_MODES), "kevent": xpoll.Event,
        **{"KQ_FILTER_" + name: getattr(xpoll, "FILT_" + name)
           for name in ("READ", "WRITE", "PROC")},
        **{"KQ_EV_" + name: getattr(xpoll, name) for name in ("ADD", "DELETE", "ONESHOT")},
        "KQ_NOTE_EXIT": xpoll.NOTE_EXIT})
    del select.epoll
    platform, sys.platform = sys.platform, "freebsd"
    try:
        importlib.import_module("trio.lowlevel")
    finally:
        sys.platform = platform


def main(kind: str) -> int:
    if importlib.util.find_spec("trio") is None:
        print("SKIP: trio is not installed")
        return 77
    if kind == "kqueue":
        replace_kqueue()
    else:
        setattr(select, "epoll", Epoll)
    trio = importlib.import_module("trio")

    async def backend() -> str:
        return str(trio.lowlevel.current_statistics().io_statistics.backend)

    assert trio.run(backend) == kind
    return int(pytest.main(["-q", "-p", "trio._tests.pytest_plugin", "-p", "no:cacheprovider",
                            "--skip-optional-imports", "-W", "ignore", "--pyargs", "trio",
                            *sys.argv[2:]]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
