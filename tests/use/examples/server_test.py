"""What the tests of all servers share: a server for each test, and a crowd of clients."""

import contextlib
import pathlib
import random
import signal
import threading
import time
import unittest

from client import SOCKET_TIMEOUT_S, Server

ACTIVE = 150
IDLE = 150
CLIENT_THREADS = 4


class ServerTest(unittest.TestCase):
    command = ()

    def setUp(self):
        self.server = Server(*self.command)
        self.addCleanup(self.server.child.kill)
        self.connections = []
        self.addCleanup(lambda: [c.close() for c in self.connections])

    def connect(self, count=1):
        fresh = [self.server.connect() for _ in range(count)]
        self.connections += fresh
        return fresh if count > 1 else fresh[0]

    def check_stop(self, number=signal.SIGTERM):
        self.assertEqual(self.server.stop(number), (0, ""))

    def check_asleep(self, server):
        """Each thread of it is found asleep: none goes round and round."""
        tasks = pathlib.Path(f"/proc/{server.child.pid}/task")
        awake = {task / "stat" for task in tasks.iterdir()} if tasks.is_dir() else set()
        deadline = time.monotonic() + SOCKET_TIMEOUT_S
        while awake and time.monotonic() < deadline:
            for stat in set(awake):
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    if stat.read_text().rpartition(")")[2].split()[0] == "R":
                        continue
                awake.remove(stat)
        self.assertEqual(awake, set())

    def share_out(self, talk, connections):
        """Let talk(connections, random) run in several threads, a share each."""
        failures = []

        def work(index):
            try:
                talk(connections[index::CLIENT_THREADS], random.Random(index))
            except BaseException as failure:  # goes on in the main thread
                failures.append(failure)

        threads = [threading.Thread(target=work, args=(i,))
                   for i in range(CLIENT_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
