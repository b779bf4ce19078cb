"""The echo server by a pool of threads that share one queue.

    thread_pool.py [PORT]

In dispatch mode an event goes to one thread, and there is no other event for its connection until
that thread enables it again: so no connection is in two threads, and none needs a lock. Ends on
SIGINT and SIGTERM.
"""
from __future__ import annotations

import errno
import signal
import socket
import sys
import threading

import xpoll

THREADS = 4


class Connection:
    """A client, and its bytes that were not sent back yet."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock, self.unsent = sock, b""

    def serve(self) -> int | None:
        """Read and write what can be; the filter to wait for then, None at the end."""
        try:
            if not self.unsent:
                self.unsent = self.sock.recv(4096)
                if not self.unsent:
                    return None
            self.unsent = self.unsent[self.sock.send(self.unsent):]
        except BlockingIOError:
            pass
        except OSError:
            return None
        return xpoll.FILT_WRITE if self.unsent else xpoll.FILT_READ


class Server:
    def __init__(self, queue: xpoll.Queue, listener: socket.socket) -> None:
        self.queue, self.listener, self.ending = queue, listener, False

    def accept(self) -> None:
        try:
            sock, _ = self.listener.accept()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):  # Else when one is closed.
                self.queue.enable(self.listener, xpoll.FILT_READ)
            return
        self.queue.enable(self.listener, xpoll.FILT_READ)
        connection = Connection(sock)
        self.queue.add(sock, xpoll.FILT_WRITE, xpoll.DISPATCH | xpoll.DISABLE, udata=connection)
        # The last, as from here on another thread may have it.
        self.queue.add(sock, xpoll.FILT_READ, xpoll.DISPATCH, udata=connection)

    def handle(self, event: xpoll.Event) -> None:
        if event.filter == xpoll.FILT_SIGNAL:
            self.ending = True
        elif event.udata is None:
            self.accept()
        elif (following := event.udata.serve()) is not None:
            self.queue.enable(event.udata.sock, following)
        else:
            xpoll.close_fd(event.udata.sock.detach())  # And nothing more comes of it.
            self.queue.enable(self.listener, xpoll.FILT_READ)

    def work(self) -> None:
        while not self.ending:
            for event in self.queue.wait(max_events=1):
                self.handle(event)
        self.queue.wake()  # One wake ends one wait: pass it on to the next thread.


def main() -> None:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    with xpoll.Queue() as queue, socket.create_server(("127.0.0.1", port)) as listener:
        for number in signal.SIGINT, signal.SIGTERM:
            signal.signal(number, signal.SIG_IGN)  # It is observed all the same.
            queue.add(number, xpoll.FILT_SIGNAL)
        listener.setblocking(False)
        queue.add(listener, xpoll.FILT_READ, xpoll.DISPATCH)
        print(f"listening on 127.0.0.1 port {listener.getsockname()[1]}", flush=True)
        server = Server(queue, listener)
        threads = [threading.Thread(target=server.work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
