"""The programs of the tutorial, used as its pages say.

Goal: each of the six does what its page promises.  Method: real clients, signals, files
and terminals' input; every wait is for output, and nothing sleeps.
"""

import os
import signal
import subprocess
import time
import unittest

import xt
from client import Server, receive
from test_figures import LIMIT_S, FigureTest, program

CLIENTS = 20


def tutorial(name):
    return program(os.path.join("tutorial", name))


class Servers(unittest.TestCase):
    def check(self, name):
        server = Server(tutorial(name))
        self.addCleanup(server.child.kill)
        connections = [server.connect() for _ in range(CLIENTS)]
        for connection in connections:
            self.addCleanup(connection.close)
        for turn in range(10):
            for i, connection in enumerate(connections):
                connection.sendall(b"%d from client %d\n" % (turn, i))
            for i, connection in enumerate(connections):
                text = b"%d from client %d\n" % (turn, i)
                self.assertEqual(receive(connection, len(text)), text)
            # One that leaves disturbs nobody, and its number is used again.
            connections.pop(0).close()
            connections.append(server.connect())
            self.addCleanup(connections[-1].close)
        self.assertEqual(server.stop(), (-signal.SIGTERM, ""))

    def test_step_1_echo_serves_many_clients(self):
        self.check("echo")

    def test_step_3_pool_serves_many_clients(self):
        self.check("pool")


class Programs(FigureTest):
    def test_step_2_ticks_counts_timers_and_signals(self):
        child = self.start(tutorial("ticks"), "10")
        child.wait_out(b"tick(s)\n")
        child.child.send_signal(signal.SIGHUP)
        child.wait_out(b"1 hang-up(s)")
        ticks = child.out.count(b"tick(s)")
        self.assertTrue(child.wait(lambda it: it.out.count(b"tick(s)") > ticks))
        self.assertEqual(child.child.poll(), None)
        child.child.send_signal(signal.SIGTERM)
        child.wait_out(b"terminated\n")
        self.assertEqual(child.child.wait(LIMIT_S), 0)

    def test_step_4_rerun_runs_the_command_after_each_change(self):
        path = self.write("watched", "first\n")
        child = self.start(tutorial("rerun"), path, "cat", path)
        child.wait_out(b"first\nexit status 0\n")
        self.write("watched", "second\n", "a")
        child.wait_out(b"first\nsecond\nexit status 0\n")
        os.remove(path)
        child.wait_out(b"was deleted\n")
        self.assertEqual(child.child.wait(LIMIT_S), 0)

    def test_step_4_rerun_prints_the_status_and_says_what_is_wrong(self):
        path = self.write("watched", "")
        child = self.start(tutorial("rerun"), path, "sh", "-c", "exit 7")
        child.wait_out(b"exit status 7\n")
        for arguments in ["nowhere", "true"], []:
            with self.subTest(arguments=arguments):
                result = subprocess.run([tutorial("rerun"), *arguments], cwd=self.folder,
                                        capture_output=True, timeout=LIMIT_S)
                self.assertEqual((result.returncode, result.stdout), (1, b""))
                self.assertRegex(result.stderr, b"^nowhere: |usage: ")

    def test_step_5_copy_copies_files_of_every_size(self):
        for size in 0, 1, 65535, 65536, 65537, 8 * 65536, 3000001:
            with self.subTest(size=size):
                text = os.urandom(size)
                source = self.write("from", text, "wb")
                self.write("to", b"what was there before", "wb")
                result = subprocess.run([tutorial("copy"), source, self.path("to")],
                                        capture_output=True, timeout=LIMIT_S)
                self.assertEqual((result.returncode, result.stderr), (0, b""))
                with open(self.path("to"), "rb") as file:
                    self.assertEqual(file.read(), text)

    def test_step_5_copy_says_what_is_wrong(self):
        source = self.write("from", b"x", "wb")
        os.mkdir(self.path("folder"))
        for arguments in [source, self.path("folder")], [source], [self.path("folder"), source]:
            with self.subTest(arguments=arguments):
                result = subprocess.run([tutorial("copy"), *arguments], capture_output=True,
                                        timeout=LIMIT_S)
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr, b"^copy")

    def test_step_6_inside_has_ticks_and_lines(self):
        child = subprocess.Popen([tutorial("inside"), "10"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(child.kill)
        if os.environ["XPOLL_BACKEND"] != "epoll":
            _, err = child.communicate(timeout=LIMIT_S)
            self.assertEqual((child.returncode, err), (1, b"inside: Operation not supported\n"))
            return
        limit = time.monotonic() + LIMIT_S
        ticks = 0
        while ticks == 0 and time.monotonic() < limit:
            child.stdin.write(b"a line\n")
            child.stdin.flush()
            words = child.stdout.readline().split(maxsplit=3)
            self.assertEqual(words[3], b"a line\n")
            ticks = int(words[1])
        self.assertGreater(ticks, 0)
        child.communicate(timeout=LIMIT_S)
        self.assertEqual(child.returncode, 0)


if __name__ == "__main__":
    xt.main()
