"""The retrofit of a select(2) server: the program before and after, used alike.

Goal: what the guide's "after" does is what its "before" does, also as a daemon and for silent
connections; and it serves descriptors that select(2) cannot.  Method: real clients.
"""

import os
import re
import resource
import signal
import socket
import subprocess
import unittest

import xt
from client import SOCKET_TIMEOUT_S, Server, command, receive

PAGE = b"." * (4 << 20)
LONG_MS, SHORT_MS = "60000", "100"
CLIENTS = 20
MANY = 1100  # more than select(2) knows


class Before(unittest.TestCase):
    program = "pages-select"

    def start(self, *arguments):
        server = Server(self.program, *arguments)
        self.addCleanup(server.child.kill)
        return server

    def connect(self, server):
        connection = server.connect()
        self.addCleanup(connection.close)
        return connection

    def check_page(self, connection):
        connection.sendall(b"a page, please\n")
        self.assertEqual(receive(connection, len(PAGE) + 1), PAGE)

    def check_end(self, server):
        self.assertEqual(server.stop(), (-signal.SIGTERM, ""))

    def test_each_client_gets_the_page_and_the_end(self):
        server = self.start(LONG_MS)
        connections = [self.connect(server) for _ in range(CLIENTS)]
        connections[0].sendall(b"half of a ")
        connections.pop().close()
        # Who asks and does not read keeps nobody waiting.
        for connection in connections[1:5]:
            connection.sendall(b"later\n")
        for connection in [*connections[5:], connections[0]]:
            self.check_page(connection)
        for connection in connections[1:5]:
            self.assertEqual(receive(connection, len(PAGE) + 1), PAGE)
        self.check_end(server)

    def test_silent_connections_are_closed(self):
        server = self.start(SHORT_MS)
        silent = [self.connect(server) for _ in range(CLIENTS)]
        for connection in silent:
            self.assertEqual(connection.recv(1), b"")
        self.check_end(server)

    def test_daemon_serves_after_its_parent_has_ended(self):
        parent = subprocess.Popen(command(self.program, "-d", LONG_MS), text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(parent.stdout.close)
        port = int(re.fullmatch(r"listening on 127\.0\.0\.1 port (\d+)\n",
                                parent.stdout.readline())[1])
        daemon = int(re.fullmatch(r"process (\d+)\n", parent.stdout.readline())[1])
        try:
            self.assertEqual(parent.wait(SOCKET_TIMEOUT_S), 0)
            with socket.create_connection(("127.0.0.1", port), SOCKET_TIMEOUT_S) as connection:
                self.check_page(connection)
        finally:
            os.kill(daemon, signal.SIGTERM)
        self.assertEqual(parent.stdout.read(), "")  # until the last who has it is gone

    def test_arguments_are_wanted(self):
        for arguments in [], ["0"], ["-d"], [LONG_MS, "http"]:
            with self.subTest(arguments=arguments):
                result = subprocess.run(command(self.program, *arguments), capture_output=True,
                                        text=True, timeout=xt.LIMIT_S)
                self.assertEqual((result.returncode, result.stdout), (1, ""))
                self.assertRegex(result.stderr, r"(?m)^usage: ")


class After(Before):
    program = "pages-queue"

    def test_descriptors_beyond_those_of_select(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= hard < MANY + 100:
            self.skipTest("too few descriptors allowed")
        resource.setrlimit(resource.RLIMIT_NOFILE, (MANY + 100, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        server = self.start(LONG_MS)
        connections = [self.connect(server) for _ in range(MANY)]
        self.check_page(connections[-1])
        self.check_page(connections[0])
        self.check_end(server)


if __name__ == "__main__":
    xt.main()
