"""A queue inside asyncio's loop: an echo server that waits with xpoll, in an asyncio program.

    inside_asyncio.py [PORT]

The queue is one descriptor for the loop. When it is readable, take what there is, without
waiting; between two rounds the loop serves its own tasks. Here the loop handles SIGINT and SIGTERM.
"""
from __future__ import annotations

import asyncio
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

    def serve(self) -> None:
        """READ or WRITE is enabled, never both: one wait names a connection once at most."""
        waited = bool(self.unsent)
        try:
            if not waited:
                self.unsent = self.sock.recv(4096)
            if not self.unsent:
                xpoll.close_fd(self.sock.detach())
                return
            self.unsent = self.unsent[self.sock.send(self.unsent):]
        except BlockingIOError:
            pass
        except OSError:
            xpoll.close_fd(self.sock.detach())
            return
        if waited != bool(self.unsent):
            filters = xpoll.FILT_READ, xpoll.FILT_WRITE
            self.queue.disable(self.sock, filters[waited])
            self.queue.enable(self.sock, filters[not waited])


def queue_is_readable(queue: xpoll.Queue, listener: socket.socket) -> None:
    for event in queue.wait(0):
        if event.udata is not None:
            event.udata.serve()
            continue
        try:
            Connection(queue, listener.accept()[0])
        except OSError:
            pass  # It has gone again.


async def main() -> None:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    with xpoll.Queue() as queue, socket.create_server(("127.0.0.1", port)) as listener:
        listener.setblocking(False)
        queue.add(listener, xpoll.FILT_READ)
        loop.add_reader(queue.fileno(), queue_is_readable, queue, listener)
        for number in signal.SIGINT, signal.SIGTERM:
            loop.add_signal_handler(number, ended.set)
        print(f"listening on 127.0.0.1 port {listener.getsockname()[1]}", flush=True)
        await ended.wait()
        loop.remove_reader(queue.fileno())


if __name__ == "__main__":
    asyncio.run(main())
