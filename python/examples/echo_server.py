"""An echo server: one thread, level mode.

    echo_server.py [PORT]

A connection is watched either for reading, while its buffer is empty, or for writing, while its
peer is slower than we are: both filters are added once, then enabled and disabled, which
usually costs no system call. Ends on SIGINT and SIGTERM.
"""
from __future__ import annotations

import errno
import signal
import socket
import sys

import xpoll


class Connection:
    """A client, and its bytes that were not sent back yet."""

    def __init__(self, queue: xpoll.Queue, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.queue, self.sock, self.unsent = queue, sock, b""
        queue.add(sock, xpoll.FILT_READ, udata=self)
        queue.add(sock, xpoll.FILT_WRITE, xpoll.DISABLE, udata=self)

    def serve(self) -> bool:
        """Read and write what can be; false at the end."""
        waited = bool(self.unsent)
        try:
            if not waited:
                self.unsent = self.sock.recv(4096)
                if not self.unsent:
                    return False
            self.unsent = self.unsent[self.sock.send(self.unsent):]
        except BlockingIOError:
            pass
        except OSError:
            return False
        if waited != bool(self.unsent):
            ours, others = xpoll.FILT_READ, xpoll.FILT_WRITE
            if self.unsent:
                ours, others = others, ours
            self.queue.enable(self.sock, ours)
            self.queue.disable(self.sock, others)
        return True

    def close(self) -> None:
        xpoll.close_fd(self.sock.detach())  # And nothing more comes of it.


def accept(queue: xpoll.Queue, listener: socket.socket) -> None:
    try:
        Connection(queue, listener.accept()[0])
    except BlockingIOError:
        pass
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):  # Too many: until one is closed.
            queue.disable(listener, xpoll.FILT_READ)


def main() -> None:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    with xpoll.Queue() as queue, socket.create_server(("127.0.0.1", port)) as listener:
        for number in signal.SIGINT, signal.SIGTERM:
            signal.signal(number, signal.SIG_IGN)  # It is observed all the same.
            queue.add(number, xpoll.FILT_SIGNAL)
        listener.setblocking(False)
        queue.add(listener, xpoll.FILT_READ)
        print(f"listening on 127.0.0.1 port {listener.getsockname()[1]}", flush=True)
        while True:
            for event in queue.wait():
                if event.filter == xpoll.FILT_SIGNAL:
                    return
                connection = event.udata
                if connection is None:
                    accept(queue, listener)
                elif not connection.serve():
                    connection.close()
                    queue.enable(listener, xpoll.FILT_READ)


if __name__ == "__main__":
    main()
