"""What the kernel behind a back end says otherwise than poll(2).

DIFFERENCES.md says the same to programs.  It is about what has to be delivered, and what may be
delivered once more; what may be delivered at all is the same for all: nothing that does not hold.
"""
from __future__ import annotations

from select import POLLERR, POLLHUP, POLLIN, POLLOUT, POLLPRI

import xpoll
from world import POLLRDHUP, SOCKETS


# Files that fstat(2) cannot distinguish: the kernel gives all of them one inode.
ANONYMOUS = ("eventfd", "nested")


class Kernel:
    """That of poll and select: what poll(2) says."""

    lingers = False  # A closed file of which there is a duplicate may be reported.
    touches = False  # A change of one filter may deliver the others' edges again.
    shallow = False  # A watched queue cannot watch what is a set of files itself.

    def notices(self, old: str, new: str) -> bool:
        """Does an ADD see that the number of a file of one kind is another's of this kind?"""
        return old not in ANONYMOUS or new not in ANONYMOUS

    def demands(self, filter: int, kind: str, bits: int, ready: int) -> int:
        """Of the bits that make a filter ready, those that have to be delivered."""
        return ready

    def repeats(self, kind: str, bits: int) -> bool:
        """Is an edge delivered again to a filter beside which another is delivered by level?"""
        return bool(bits & (POLLERR | POLLHUP))  # They are delivered for all filters together.


class Epoll(Kernel):
    lingers = True

    def notices(self, old: str, new: str) -> bool:
        return True


class Kqueue(Kernel):
    # Where all that is registered is an edge, one of them shows whether it is the same file.
    touches = True
    # Over the drop-in each queue is two epoll sets, of which Linux nests five.
    shallow = True

    def notices(self, old: str, new: str) -> bool:
        return True

    def demands(self, filter: int, kind: str, bits: int, ready: int) -> int:
        # EVFILT_EXCEPT is about urgent data, and knows of no end.
        if filter == xpoll.FILT_EXCEPT:
            return ready & POLLPRI
        # A socket that was never connected has no end and no room: the filters are silent.
        if kind in SOCKETS and bits & POLLHUP and not bits & (POLLIN | POLLRDHUP):
            return ready if kind == "listener" else 0
        # The end alone is a mark that is never reached; datagrams have none, nor has a
        # terminal that was hung up.
        if filter == xpoll.FILT_READ and kind in ("dgram", "tty") and not ready & POLLIN:
            return 0
        # An error without an end is READ's; there is no room that WRITE could report.
        if filter == xpoll.FILT_WRITE and not bits & (POLLOUT | POLLHUP):
            return 0
        return ready

    def repeats(self, kind: str, bits: int) -> bool:
        # EV_CLEAR belongs to a filter, but what nobody may look at from the side is looked at
        # by enabling it anew, and so are all filters of an end.
        return kind not in ("pipe", *SOCKETS) or bool(bits & (POLLERR | POLLHUP | POLLRDHUP))


KERNELS: dict[str, Kernel] = {"epoll": Epoll(), "kqueue": Kqueue()}


def kernel_of(backend: str) -> Kernel:
    return KERNELS.get(backend, Kernel())
