"""The five programs that each language has as examples, driven by one client.

Goal: they do the same in all of them: the same arguments, output and exit codes.  The
table of languages is in client.py.  Method: each step waits for the line that the one
before must bring.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

import xt
from client import LANGUAGE, Server, command, receive, reset, send_until_stuck
from server_test import ACTIVE, IDLE, ServerTest

# Java reaps its children by itself, so that their status may be gone.
REAPS = LANGUAGE == "java"


class EchoServer(ServerTest):
    command = ("echo-server",)

    def check_echo(self, connection, data):
        connection.sendall(data)
        self.assertEqual(receive(connection, len(data)), data)

    def talk(self, connections, rng):
        for _ in range(10):
            rng.shuffle(connections)
            sent = [(c, os.urandom(rng.choice((1, 100, 4096, 4097, 20000))))
                    for c in connections]
            for connection, data in sent:
                connection.sendall(data)
            for connection, data in sent:
                self.assertEqual(receive(connection, len(data)), data)

    def test_hundreds_of_connections_half_of_them_idle(self):
        connections = self.connect(ACTIVE + IDLE)
        idle, active = connections[::2], connections[1::2]
        self.share_out(self.talk, active)
        for connection in idle:
            self.check_echo(connection, b"awake")
        self.check_stop()
        for connection in connections:
            self.assertEqual(connection.recv(1), b"")

    def test_slow_reader_gets_every_byte(self):
        slow, other = self.connect(2)
        data = os.urandom(1 << 20) * 32
        sent = send_until_stuck(slow, data)
        self.assertLess(sent, len(data))
        self.check_echo(other, b"not blocked by the slow one")
        self.check_asleep(self.server)
        rest = threading.Thread(target=slow.sendall, args=(data[sent:],))
        rest.start()
        self.assertEqual(receive(slow, len(data)), data)
        rest.join()
        self.check_stop()

    def test_after_a_write_that_sent_nothing_it_sleeps(self):
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "first_send_blocks.so")
            source = os.path.join(os.path.dirname(__file__), "first_send_blocks.c")
            build = ["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, source]
            if not shutil.which("cc") or subprocess.run(build, check=False).returncode != 0:
                self.skipTest("no shared library can be made")
            options = "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")
            server = Server(*self.command, LD_PRELOAD=library, ASAN_OPTIONS=options)
        self.addCleanup(server.child.kill)
        with server.connect() as connection:
            for _ in range(3):
                self.check_echo(connection, b"text")
            self.check_asleep(server)
        self.assertEqual(server.stop(), (0, ""))

    def test_end_of_file_comes_after_the_last_byte(self):
        connection = self.connect()
        data = os.urandom(50000)
        connection.sendall(data)
        connection.shutdown(1)
        self.assertEqual(receive(connection, len(data) + 1), data)
        self.check_stop()

    def test_rude_clients_harm_nobody(self):
        polite = self.connect()
        for _ in range(50):
            rude = self.server.connect()
            rude.sendall(os.urandom(30000))
            reset(rude)
            self.check_echo(polite, b"still here")
        rude = self.server.connect()
        send_until_stuck(rude, bytes(1 << 25))
        reset(rude)
        self.check_echo(polite, b"still here")
        self.check_stop(signal.SIGINT)


class ThreadPool(EchoServer):
    command = ("thread-pool",)


class Small(unittest.TestCase):
    def start(self, *words, **more):
        child = subprocess.Popen(command(*words), text=True, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, **more)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def expect(self, child, *lines):
        """These come next, in any order."""
        self.assertEqual(sorted(child.stdout.readline() for _ in lines),
                         sorted(line + "\n" for line in lines))

    def test_servers_choose_a_port_and_end_when_asked(self):
        for name in "echo-server", "thread-pool":
            for number in signal.SIGINT, signal.SIGTERM:
                with self.subTest(program=name, signal=number):
                    child = self.start(name)
                    self.assertRegex(child.stdout.readline(),
                                     r"^listening on 127\.0\.0\.1 port [1-9]\d*\n")
                    child.send_signal(number)
                    self.assertEqual((child.stdout.read(), child.wait()), ("", 0))

    def test_what_cannot_be_is_refused(self):
        for words in (["echo-server", "http"], ["thread-pool", "70000"],
                      ["file-watcher", "/no/such/file"], ["tree-changes", "/no/such/file"]):
            with self.subTest(command=words):
                result = subprocess.run(command(*words), stdin=subprocess.DEVNULL,
                                        capture_output=True, text=True, check=False)
                self.assertNotIn(result.returncode, (0, -signal.SIGABRT))
                self.assertEqual(result.stdout, "")
                self.assertRegex(result.stderr, words[1] if "/" in words[1] else ".")

    def test_files_are_watched_until_they_are_gone(self):
        with tempfile.TemporaryDirectory() as elsewhere:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "file")
                with open(path, "w") as file:
                    child = self.start("file-watcher", folder, path)
                    self.expect(child, f"watching {folder}", f"watching {path}")
                    file.write("text")
                    file.flush()
                    self.expect(child, f"{path}: written grown")
                    os.ftruncate(file.fileno(), 0)
                    self.expect(child, f"{path}: written cut")
                moved = os.path.join(elsewhere, "file")
                os.rename(path, moved)
                self.expect(child, f"{folder}: written grown", f"{path}: renamed")
                os.unlink(moved)
                self.expect(child, f"{path}: deleted")
            self.expect(child, f"{folder}: deleted")
        self.assertEqual((child.stdout.read(), child.wait()), ("", 0))

    def test_directory_tree_is_watched_until_it_is_deleted(self):
        top = os.path.join(tempfile.mkdtemp(), "top")
        self.addCleanup(shutil.rmtree, os.path.dirname(top))
        os.mkdir(top)
        child = self.start("tree-changes", top)
        self.expect(child, "watching")
        os.makedirs(os.path.join(top, "a/b"))
        self.expect(child, "create a", "create a/b")
        with open(os.path.join(top, "a/b/c"), "w") as file:
            self.expect(child, "create a/b/c")
            file.write("text")
        self.expect(child, "write a/b/c")
        os.rename(os.path.join(top, "a/b"), os.path.join(top, "d"))
        self.expect(child, "rename a/b -> d")
        shutil.rmtree(top)
        self.expect(child, "delete a", "delete d/c", "delete d")
        self.assertEqual((child.stdout.read(), child.wait()), ("end \n", 0))

    def follow(self, *words):
        """The exit code, the first process, and the lines."""
        child = self.start("process-follower", *words, stderr=subprocess.DEVNULL)
        lines = child.stdout.read().splitlines()
        # What it makes may come before all that it does.
        first = re.match(r"(?:\d+: made by )?(\d+)", lines[0])[1]
        return child.wait(), first, lines

    def check_end(self, pid, end, lines, may_be_unknown=REAPS):
        wanted = [f"{pid}: {end}"]
        if may_be_unknown:
            wanted.append(f"{pid}: ended")
        self.assertEqual(len([line for line in lines if line in wanted]), 1, lines)

    def test_a_process_is_followed_to_its_end(self):
        code, first, lines = self.follow("sh", "-c", "(exit 5); true; exit 3")
        self.assertEqual(code, 3)
        self.check_end(first, "exit 3", lines)
        if len(lines) > 1:  # It may be followed here.
            # "exec" also of the shell that waits before the command, if that was just begun.
            self.assertEqual(len(set(lines)), 4, lines)
            self.assertIn(f"{first}: exec", lines)
            other, = [line.split(":")[0] for line in lines
                      if line.endswith(f": made by {first}")]
            # If it was gone before it was seen its status is unknown.
            self.check_end(other, "exit 5", lines, True)

    def test_a_command_that_a_signal_ends(self):
        code, first, lines = self.follow("sh", "-c", "kill -TERM $$")
        self.assertEqual(code, 128 + signal.SIGTERM)
        self.check_end(first, f"signal {int(signal.SIGTERM)}", lines)

    def test_a_missing_command_is_an_exit_status(self):
        code, first, lines = self.follow("/no/such/command")
        self.assertEqual(code, 127)
        self.check_end(first, "exit 127", lines)

    def test_timers_tick_beside_signals(self):
        child = self.start("timers-and-signals")

        def until(name, count):
            for line in child.stdout:
                if line.startswith(name) and int(line.split()[1]) >= count:
                    return

        until("ticks:", 3)
        child.send_signal(signal.SIGHUP)
        until("hang-ups:", 1)
        child.send_signal(signal.SIGHUP)
        until("hang-ups:", 2)
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.stdout.read().splitlines()[-1], "end")
        self.assertEqual(child.wait(), 0)


if __name__ == "__main__":
    xt.main()
