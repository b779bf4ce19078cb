"""Load for an HTTP server: connections that are idle after one request, and others that are not."""

import selectors
import socket

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def ask(connection):
    """One request, and its answer, whose body ends with a line feed."""
    connection.sendall(REQUEST)
    answer = b""
    while not answer.endswith(b"hello\n"):
        part = connection.recv(4096)
        if not part:
            raise ConnectionError("the server has closed a connection")
        answer += part


class Load:
    """All connections; each has had its first answer when this is made."""

    def __init__(self, port, idle, active):
        self.connections = [socket.create_connection(("localhost", port), timeout=60)
                            for _ in range(idle + active)]
        for connection in self.connections:
            ask(connection)
        self.active = self.connections[idle:]

    def run(self, requests):
        """Make so many on the active ones, each of which has one under way at any time."""
        with selectors.DefaultSelector() as selector:
            for connection in self.active:
                selector.register(connection, selectors.EVENT_READ, [b""])
                connection.sendall(REQUEST)
            left, under_way = requests - len(self.active), len(self.active)
            while under_way:
                for key, _ in selector.select(60):
                    part = key.fileobj.recv(4096)
                    if not part:
                        raise ConnectionError("the server has closed a connection")
                    key.data[0] += part
                    if not key.data[0].endswith(b"hello\n"):
                        continue
                    key.data[0] = b""
                    under_way -= 1
                    if left > 0:
                        left, under_way = left - 1, under_way + 1
                        key.fileobj.sendall(REQUEST)

    def close(self):
        for connection in self.connections:
            connection.close()
