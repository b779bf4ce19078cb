"""A server of examples/ as a child process, and sockets to talk to it."""

import os
import re
import signal
import socket
import subprocess

FOLDER = os.environ["XPOLL_EXAMPLES"]
SOCKET_TIMEOUT_S = 30  # a bound for hangs, nothing waits for it to pass


class Server:
    """A running example server; stop() checks that it ends cleanly."""

    def __init__(self, *command):
        program, *args = command
        self.child = subprocess.Popen(
            [os.path.join(FOLDER, program), *args, "0"], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        line = self.child.stdout.readline()
        found = re.fullmatch(r"listening on 127\.0\.0\.1 port (\d+)\n", line)
        if found is None:
            self.child.kill()
            raise AssertionError(f"{command}: {line!r}, "
                                 f"{self.child.communicate()[1]!r}")
        self.port = int(found[1])

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port),
                                        SOCKET_TIMEOUT_S)

    def stop(self, number=signal.SIGTERM):
        """End it by a signal; its exit code and what it said on stderr."""
        self.child.send_signal(number)
        try:
            err = self.child.communicate(timeout=SOCKET_TIMEOUT_S)[1]
        finally:
            self.child.kill()
        return self.child.returncode, err


def receive(connection, size):
    """Exactly size bytes, or fewer if the peer has closed."""
    parts = []
    while size > 0:
        part = connection.recv(min(size, 1 << 16))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def send_until_stuck(connection, data):
    """Send until the peer takes no more; how many bytes it took."""
    sent = 0
    connection.settimeout(0.2)  # so long nothing moves: it is stuck
    try:
        while sent < len(data):
            sent += connection.send(data[sent:sent + (1 << 16)])
    except socket.timeout:
        pass
    connection.settimeout(SOCKET_TIMEOUT_S)
    return sent


def reset(connection):
    """Close with a reset in place of a proper end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                          b"\1\0\0\0\0\0\0\0")
    connection.close()
