"""The files of the model, and what the kernel says of them.

The operations let the kernel do what it likes, refusals included: what came of it is seen
by poll(2).  Noted is only what poll(2) does not report: that something arrived, or happened.
"""
from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import socket
import tempfile
import termios
import time
import tty
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import xpoll

POLLRDHUP = select.POLLRDHUP
ALL_BITS = select.POLLIN | select.POLLOUT | select.POLLPRI | POLLRDHUP
KINDS = ("pipe", "unix", "tcp", "tty", "regular", "dgram", "eventfd", "listener", "lone",
         "nested", "null", "directory")
SOCKETS = ("unix", "dgram", "tcp", "lone", "listener")
COUNTED = ("pipe", "unix", "tcp", "tty", "lone")  # Bytes to read can be counted,
ROOMY = ("pipe", "unix", "tcp", "lone")  # and the room for writing.
STREAMS = ("pipe", "unix", "tcp", "dgram")  # With a peer, and a buffer that fills up.
SMALL = 4096
TERMINAL_HOLDS = 4095  # Bytes to read; what is written beyond stays outside.
# Longer than a terminal needs for that on any machine.
ARRIVES = 10.0
# Numbers from here on are the files'; what else the model opens stays below, and below that
# what the library opens.
LOWEST = 200
ASIDE = 150


class File:
    """An open file, as the kernel knows it: several numbers may name it."""

    def __init__(self, kind: str, fd: int) -> None:
        self.kind = kind
        self.numbers = {fd}
        self.peers: list[File] = []
        self.activity = 0  # Grows with whatever may change its state.
        self.arrivals = 0  # Grows with whatever arrives to be read.
        self.size = 0  # Of a regular file;
        self.happened: Counter[int] = Counter()  # NOTE_*: how often this happened to it.

    def __repr__(self) -> str:
        return f"<{self.kind} {sorted(self.numbers)}>"


@dataclass
class Look:
    """What the kernel says of all open numbers at a moment."""

    kinds: dict[int, str]
    bits: dict[int, int]
    at_end: set[int]  # Regular files with nothing to read.
    unread: dict[int, int]  # Bytes to read
    room: dict[int, int]  # and to write.


@dataclass
class Child:
    """A process of ours."""

    pid: int
    letters: int  # It reads from the other end what to do.
    status: int | None = None  # What waitpid(2) says; None: it is alive.
    reaped: bool = False


def duplicate(fd: int, lowest: int = LOWEST) -> int:
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, lowest)


def count_unread(fd: int) -> int:
    return int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)), "little")


def count_room(fd: int, kind: str) -> int:
    if kind == "pipe":
        return fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) - count_unread(fd)
    unsent = int.from_bytes(fcntl.ioctl(fd, termios.TIOCOUTQ, bytes(4)), "little")
    with socket.socket(fileno=os.dup(fd)) as sock:
        return sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) - unsent


def is_at_end(fd: int) -> bool:
    return os.lseek(fd, 0, os.SEEK_CUR) == os.fstat(fd).st_size


class World:
    """All open files by their numbers."""

    def __init__(self) -> None:
        self.files: dict[int, File] = {}
        self.children: list[Child] = []

    def look(self) -> Look:
        poll = select.poll()
        for fd in self.files:
            poll.register(fd, ALL_BITS)
        bits = dict.fromkeys(self.files, 0)
        bits.update(poll.poll(0))
        kinds = {fd: file.kind for fd, file in self.files.items()}
        ends = {fd for fd, kind in kinds.items() if kind == "regular" and is_at_end(fd)}
        unread = {}
        for fd, kind in kinds.items():
            with contextlib.suppress(OSError):  # A terminal that has hung up.
                unread |= {fd: count_unread(fd)} if kind in COUNTED else {}
        room = {fd: count_room(fd, kind) for fd, kind in kinds.items() if kind in ROOMY}
        return Look(kinds, bits, ends, unread, room)

    # --- Making files -----------------------------------------------------------------

    def make(self, kind: str) -> None:
        """A new file, or two that are connected."""
        low = getattr(self, f"make_{kind}")()
        fds = [duplicate(fd) for fd in low]
        for fd in low:
            os.close(fd)
        made = [File(kind, fd) for fd in fds]
        for file, fd in zip(made, fds):
            file.peers = [other for other in made if other is not file]
            file.size = os.fstat(fd).st_size
            os.set_blocking(fd, False)
            self.files[fd] = file

    def make_pipe(self) -> Iterable[int]:
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, SMALL)
        return reader, writer

    def make_pair(self, kind: socket.SocketKind) -> Iterable[int]:
        ends = socket.socketpair(socket.AF_UNIX, kind)
        for end in ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
        return [end.detach() for end in ends]

    def make_unix(self) -> Iterable[int]:
        return self.make_pair(socket.SOCK_STREAM)

    def make_dgram(self) -> Iterable[int]:
        return self.make_pair(socket.SOCK_DGRAM)

    def make_tcp(self) -> Iterable[int]:
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
            client = socket.create_connection(server.getsockname())
            ends = client, server.accept()[0]
        for end in ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return [end.detach() for end in ends]

    def make_tty(self) -> Iterable[int]:
        master, slave = pty.openpty()
        tty.setraw(slave)
        return master, slave

    def make_regular(self) -> Iterable[int]:
        fd, path = tempfile.mkstemp()
        os.unlink(path)
        os.write(fd, b"some text")
        os.lseek(fd, 0, os.SEEK_SET)
        return [fd]

    def make_eventfd(self) -> Iterable[int]:
        return [os.eventfd(0)]

    def make_listener(self) -> Iterable[int]:
        return [socket.create_server(("127.0.0.1", 0)).detach()]

    def make_lone(self) -> Iterable[int]:
        """A stream socket that is not connected."""
        return [socket.socket().detach()]

    def make_nested(self) -> Iterable[int]:
        """An epoll set, which nobody may look at from the side, and what is in it."""
        fd = os.eventfd(0)
        with select.epoll() as nest:
            nest.register(fd, select.EPOLLIN)
            return os.dup(nest.fileno()), fd

    def make_null(self) -> Iterable[int]:
        return [os.open(os.devnull, os.O_RDWR)]

    def make_directory(self) -> Iterable[int]:
        return [os.open("/", os.O_RDONLY)]

    # --- What happens to them -----------------------------------------------------------

    def touch(self, file: File, arrived: bool = False) -> None:
        """Something was done to it; what it wrote arrived where it is read."""
        for each in [file, *file.peers]:
            each.activity += 1
        if arrived and file.kind != "nested":
            for reader in [file] if file.kind in ("regular", "eventfd") else file.peers:
                reader.arrivals += 1

    def note(self, fd: int, note: int) -> None:
        """Something happened to a regular file that VNODE reports."""
        file = self.files[fd]
        if file.kind != "regular":
            return
        before, file.size = file.size, os.fstat(fd).st_size
        file.happened[note] += 1
        file.happened[xpoll.NOTE_EXTEND] += file.size > before
        file.happened[xpoll.NOTE_TRUNCATE] += file.size < before

    def write(self, fd: int, size: int = 1) -> None:
        file = self.files[fd]
        try:
            if file.kind in ("eventfd", "nested"):
                os.eventfd_write(fd, 1)
            elif file.kind == "regular":
                os.pwrite(fd, b"x" * size, os.fstat(fd).st_size)
                self.note(fd, xpoll.NOTE_WRITE)
            elif file.kind == "tty":
                self.touch(file, arrived=self.write_terminal(fd, size))
                return
            else:
                os.write(fd, b"x" * size)
        except OSError:
            self.touch(file)
        else:
            self.touch(file, arrived=True)

    def write_terminal(self, fd: int, size: int) -> bool:
        """A thread of the kernel brings it to the other end: wait for that.  Did anything?"""
        reader = min((number for peer in self.files[fd].peers for number in peer.numbers),
                     default=-1)
        before = count_unread(reader) if reader >= 0 else 0
        size = os.write(fd, b"x" * size)
        if reader < 0:
            return False
        end = time.monotonic() + ARRIVES
        while count_unread(reader) < min(before + size, TERMINAL_HOLDS):
            if time.monotonic() > end:
                raise RuntimeError("the terminal keeps what was written")
            time.sleep(0)
        return count_unread(reader) > before

    def write_much(self, fd: int) -> None:
        self.write(fd, 5000)

    def fill(self, fd: int) -> None:
        file = self.files[fd]
        if file.kind not in STREAMS:
            return
        try:
            while True:
                os.write(fd, b"x" * SMALL)
                self.touch(file, arrived=True)
        except OSError:
            self.touch(file)

    def read(self, fd: int) -> None:
        file = self.files[fd]
        try:
            if file.kind == "listener":
                with socket.socket(fileno=os.dup(fd)) as server:
                    server.accept()[0].close()
            elif os.read(fd, 8):
                self.note(fd, xpoll.NOTE_READ)
        except OSError:
            pass
        self.touch(file)

    def drain(self, fd: int) -> None:
        file = self.files[fd]
        try:
            while file.kind != "listener" and os.read(fd, 65536):
                self.touch(file)
                self.note(fd, xpoll.NOTE_READ)
        except OSError:
            pass
        self.touch(file)

    def cut(self, fd: int) -> None:
        """A regular file loses half of what it has."""
        file = self.files[fd]
        if file.kind == "regular" and file.size > 0:
            os.ftruncate(fd, file.size // 2)
            self.note(fd, xpoll.NOTE_WRITE)
            self.touch(file)

    def change_mode(self, fd: int) -> None:
        file = self.files[fd]
        if file.kind == "regular":
            os.fchmod(fd, os.fstat(fd).st_mode ^ 0o020)
            self.note(fd, xpoll.NOTE_ATTRIB)

    def seek_start(self, fd: int) -> None:
        if self.files[fd].kind == "regular":
            os.lseek(fd, 0, os.SEEK_SET)

    def seek_end(self, fd: int) -> None:
        if self.files[fd].kind == "regular":
            os.lseek(fd, 0, os.SEEK_END)

    def shut(self, fd: int, how: int) -> None:
        file = self.files[fd]
        if file.kind not in SOCKETS:
            return
        try:
            with socket.socket(fileno=os.dup(fd)) as sock:
                sock.shutdown(how)
        except OSError:
            pass
        self.touch(file)

    def shut_reading(self, fd: int) -> None:
        self.shut(fd, socket.SHUT_RD)

    def shut_writing(self, fd: int) -> None:
        self.shut(fd, socket.SHUT_WR)

    def shut_both(self, fd: int) -> None:
        self.shut(fd, socket.SHUT_RDWR)

    def send_urgent(self, fd: int) -> None:
        file = self.files[fd]
        if file.kind != "tcp":
            return
        try:
            with socket.socket(fileno=os.dup(fd)) as sock:
                sock.send(b"!", socket.MSG_OOB)
        except OSError:
            pass
        self.touch(file)

    def knock(self, fd: int) -> None:
        """A client for a listener; it stays in the backlog."""
        file = self.files[fd]
        if file.kind != "listener":
            return
        with socket.socket(fileno=os.dup(fd)) as server, socket.socket() as client:
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        self.touch(file)

    # --- Processes ------------------------------------------------------------------------

    def spawn(self) -> Child:
        """A child that has nothing of ours open, and ends when it is asked how."""
        reader, writer = os.pipe()
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", "read status; exit $status"], os.environ,
                             file_actions=[(os.POSIX_SPAWN_DUP2, reader, 0)])
        os.close(reader)
        child = Child(pid, duplicate(writer, ASIDE))
        os.close(writer)
        self.children.append(child)
        return child

    def end(self, child: Child, how: int) -> None:
        """By exit(2), or, if negative, by a signal; it stays a zombie."""
        if how < 0:
            os.kill(child.pid, -how)
        else:
            os.write(child.letters, b"%d\n" % how)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        child.status = how << 8 if how >= 0 else -how

    def reap(self, child: Child) -> None:
        if child.status is None:
            self.end(child, -signal.SIGKILL)
        os.waitpid(child.pid, 0)
        os.close(child.letters)
        child.reaped = True
        self.children.remove(child)

    # --- Numbers --------------------------------------------------------------------------

    def closed(self, fd: int) -> None:
        file = self.files.pop(fd)
        file.numbers.discard(fd)
        self.touch(file)
        if not file.numbers:
            for peer in file.peers:
                peer.peers.remove(file)

    def named(self, fd: int, file: File) -> None:
        """The number is this file's now."""
        if fd in self.files:
            self.closed(fd)
        file.numbers.add(fd)
        self.files[fd] = file

    def close_all(self) -> None:
        for fd in self.files:
            os.close(fd)
        self.files.clear()
        for child in list(self.children):
            self.reap(child)
