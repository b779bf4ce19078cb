"""The figures of the kqueue paper as programs, and tail -f.

Goal: the three forms of the echo program do the same; signals are counted;
changes of a file are printed; and the tail examples print what coreutils' tail prints,
whatever becomes of the file.  Method: real sockets, signals and files, and
tail(1) beside ours.
"""

import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import xt

FOLDER = os.environ["XPOLL_EXAMPLES"]
LIMIT_S = xt.LIMIT_S


def program(name):
    return os.path.join(FOLDER, name)


class Child:
    """A program whose output is waited for."""

    def __init__(self, *command):
        self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.out = b""
        self.said = b""

    def wait(self, done):
        """Read until done(self); False if it did not come to be."""
        limit = time.monotonic() + LIMIT_S
        files = [self.child.stdout, self.child.stderr]
        while not done(self):
            left = limit - time.monotonic()
            ready = select.select(files, [], [], max(0, left))[0] if files else []
            if not ready:
                return False
            for file in ready:
                part = os.read(file.fileno(), 65536)
                if not part:
                    files.remove(file)
                elif file is self.child.stdout:
                    self.out += part
                else:
                    self.said += part
        return True

    def wait_out(self, text):
        if not self.wait(lambda it: text in it.out):
            raise AssertionError(f"{text} did not come: {self.out} {self.said}")

    def end(self, number=signal.SIGTERM):
        if self.child.poll() is None:
            self.child.send_signal(number)
        self.child.communicate()
        return self.child.returncode


class FigureTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode="w"):
        with open(self.path(name), mode) as file:
            file.write(text)
        return self.path(name)

    def start(self, *command):
        child = Child(*command)
        self.addCleanup(child.end)
        return child


class Figures(FigureTest):
    ECHOES = "echo-poll", "echo-queue", "echo-udata"

    def test_echo_in_three_forms_sends_everything_back(self):
        for name in self.ECHOES:
            with self.subTest(program=name):
                self.echo(name)

    def echo(self, name):
        pairs = [socket.socketpair() for _ in range(50)]
        numbers = [theirs.fileno() for _, theirs in pairs]
        child = subprocess.Popen([program(name), *map(str, numbers)],
                                 pass_fds=numbers, stderr=subprocess.PIPE)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        for _, theirs in pairs:
            theirs.close()
        failures = []
        threads = [threading.Thread(target=self.talk, args=(ours, i, failures))
                   for i, (ours, _) in enumerate(pairs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual((child.communicate(timeout=LIMIT_S)[1], child.returncode),
                         (b"", 0))

    def talk(self, ours, seed, failures):
        """Send and receive at random; odd ones close early."""
        rng = random.Random(seed)
        ours.settimeout(LIMIT_S)
        try:
            for _ in range(20 if seed % 2 == 0 else 3):
                data = os.urandom(rng.choice((1, 100, 4096, 30000)))
                sender = threading.Thread(target=ours.sendall, args=(data,))
                sender.start()
                back = b""
                while len(back) < len(data):
                    part = ours.recv(65536)
                    if not part:
                        raise EOFError("closed too early")
                    back += part
                sender.join()
                if back != data:
                    raise ValueError("something else came back")
        except Exception as failure:  # goes on in the main thread
            failures.append(repr(failure))
        ours.close()

    def test_echo_of_a_number_that_is_not_open_ends(self):
        for name in self.ECHOES:
            with self.subTest(program=name):
                result = subprocess.run([program(name), "1000"], timeout=LIMIT_S,
                                        stdin=subprocess.DEVNULL)
                self.assertEqual(result.returncode, 0)

    def test_signals_are_counted_beside_their_default(self):
        child = self.start(program("signal-count"))
        child.wait_out(b"waits for signal 1\n")
        total = 0
        for _ in range(5):
            child.child.send_signal(signal.SIGHUP)
            total += 1
            child.wait(lambda it: sum(map(int, re.findall(
                rb"delivered (\d+) times\n", it.out))) == total)
        self.assertEqual(sum(map(int, re.findall(rb"delivered (\d+)", child.out))), 5)
        self.assertEqual(child.end(), -signal.SIGTERM)

    def test_changes_of_a_file_are_told_until_it_is_deleted(self):
        path = self.write("a", "text\n")
        child = self.start(program("file-changes"), path)
        child.wait_out(b"watching")
        self.write("a", "more\n", "a")
        child.wait_out(b" written")
        os.chmod(path, 0o600)
        child.wait_out(b" chmod/chowned")
        os.rename(path, self.path("b"))
        child.wait_out(b" renamed")
        os.unlink(self.path("b"))
        child.wait_out(b" deleted")
        self.assertEqual(child.child.wait(LIMIT_S), 0)

    def test_changes_of_a_tree_are_printed_until_it_is_deleted(self):
        os.mkdir(self.path("top"))
        child = self.start(program("tree-changes"), self.path("top"))
        child.wait_out(b"watching\n")
        os.makedirs(self.path("top/a/b"))
        child.wait_out(b"create a\ncreate a/b\n")
        self.write("top/a/b/c", "text\n")
        child.wait_out(b"create a/b/c\n")
        os.rename(self.path("top/a/b"), self.path("top/d"))
        child.wait_out(b"rename a/b -> d\n")
        self.write("top/d/c", "more\n", "a")
        child.wait_out(b"write d/c\n")
        shutil.rmtree(self.path("top"))
        child.wait_out(b"delete d\n")
        child.wait_out(b"end \n")
        self.assertEqual(child.child.wait(LIMIT_S), 0)

    def test_file_that_is_not_there_is_named(self):
        for name in "file-changes", "tail-follow", "tail-name":
            result = subprocess.run([program(name), "/no/such/file"], timeout=LIMIT_S,
                                    stderr=subprocess.PIPE, text=True)
            self.assertEqual(result.returncode, 1)
            self.assertIn("/no/such/file: No such file", result.stderr)


class Tail(FigureTest):
    """tail-follow and tail-name beside tail(1)."""

    def setUp(self):
        super().setUp()
        if not shutil.which("tail"):
            self.skipTest("tail is not installed")
        self.file = self.write("file", "first\n")
        self.printed = ""

    def start_both(self, option="-f"):
        ours = {"-f": "tail-follow", "-F": "tail-name"}[option]
        # -s: how often tail looks by itself, where it does.
        self.ours = self.start(program(ours), self.file)
        # env: the user's language may not be English.
        self.theirs = self.start("env", "LC_ALL=C", "tail", "-c", "+1", "-s", "0.1", option,
                                 self.file)
        self.check("first\n")

    def check(self, more):
        """Both have printed this in addition, and nothing else."""
        self.printed += more
        for child in self.theirs, self.ours:
            done = child.wait(lambda it: len(it.out) >= len(self.printed))
            self.assertTrue(done, f"{child.child.args[0]}: {child.out} {child.said}")
            self.assertEqual(child.out.decode(), self.printed, child.child.args[0])

    def append(self, text):
        self.write("file", text, "a")
        self.check(text)

    def check_truncation_is_told(self):
        for child in self.theirs, self.ours:
            child.wait(lambda it: b"file truncated" in it.said)
            self.assertIn(b"file truncated", child.said)

    def test_growing_file(self):
        self.start_both()
        for i in range(20):
            self.append(f"line {i}\n" * random.choice((1, 10, 10000)))

    def test_truncated_file(self):
        self.start_both()
        self.append("second\n" * 100)
        os.truncate(self.file, 0)
        self.check_truncation_is_told()
        self.append("third\n")
        self.write("file", "4th\n")  # truncates it and writes at once
        self.check("4th\n")
        self.append("fifth\n")

    def test_renamed_and_deleted_file_is_followed_by_descriptor(self):
        self.start_both()
        os.rename(self.file, self.path("old"))
        self.write("file", "another\n")
        self.write("old", "still followed\n", "a")
        self.check("still followed\n")
        with open(self.path("old"), "a") as file:
            os.unlink(self.path("old"))
            file.write("though it has no name\n")
        self.check("though it has no name\n")

    def test_renamed_file_is_replaced_by_name(self):
        self.start_both("-F")
        for i in range(3):
            self.append(f"line {i}\n")
            os.rename(self.file, self.path(f"old{i}"))
            self.write("file", f"new {i}\n")
            self.check(f"new {i}\n")

    def test_file_that_is_replaced_at_once_is_followed_by_name(self):
        self.start_both("-F")
        for i in range(3):
            os.rename(self.write("new", f"new {i}\n"), self.file)
            self.check(f"new {i}\n")
            self.append(f"more {i}\n")

    def test_file_that_is_deleted_and_made_again_is_followed_by_name(self):
        self.start_both("-F")
        for i in range(3):
            os.unlink(self.file)
            self.write("file", f"again {i}\n")
            self.check(f"again {i}\n")
            self.append(f"more {i}\n")


if __name__ == "__main__":
    xt.main()
