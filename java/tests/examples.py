"""The five programs of java/examples, driven as their users would, and those of the guide.

Each is compiled with all warnings, and run with the flags of its guide.
usage: examples.py JAVA_HOME BUILD_FOLDER
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent / "examples"
JAVA = Path(sys.argv.pop(1)) / "bin"
JAR = next(path for path in sorted(Path(sys.argv.pop(1)).glob("xpoll-*.jar"))
           if not path.name.endswith("-demo.jar"))
HANG_S = 60  # a bound for hangs, nothing waits for it to pass
WORK = tempfile.TemporaryDirectory(prefix="xpoll-java-examples.")


def guide_programs():
    """The programs of the guide, as files."""
    guide = HERE.parent.parent / "docs" / "guide" / "java.md"
    for text in re.findall(r"^```java\n(.*?)^```", guide.read_text(), re.M | re.S):
        file = Path(WORK.name) / (re.search(r"^class (\w+)", text, re.M)[1] + ".java")
        file.write_text(text)
        yield file


def setUpModule():
    made = subprocess.run([JAVA / "javac", "-Xlint:all", "-d", WORK.name, "-cp", JAR,
                           *sorted(SOURCES.glob("*.java")), *guide_programs()],
                          stderr=subprocess.PIPE, text=True, check=False)
    # That handlers of signals are the JDK's own is a warning that nothing turns off.
    warnings = [line for line in made.stderr.splitlines()
                if "warning:" in line and "internal proprietary API" not in line]
    if made.returncode or warnings:
        raise AssertionError(made.stderr)


def tearDownModule():
    WORK.cleanup()


class Program:
    """A running example, of which the lines are read one by one."""

    def __init__(self, name, *arguments):
        environment = {key: value for key, value in os.environ.items()
                       if "JAVA" not in key}
        self.child = subprocess.Popen(
            [JAVA / "java", "-XX:TieredStopAtLevel=1", "-Xmx64m",
             "--enable-native-access=ALL-UNNAMED",
             "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
             "-cp", f"{JAR}:{WORK.name}", name, *arguments], text=True, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.watchdog = threading.Timer(HANG_S, self.child.kill)
        self.watchdog.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.watchdog.cancel()
        self.child.kill()
        self.child.communicate()

    def line(self):
        return self.child.stdout.readline().rstrip("\n")

    def lines_until_end(self):
        return self.child.stdout.read().splitlines()

    def lines_until(self, last):
        seen = []
        while last not in seen:
            line = self.line()
            if not line:
                raise AssertionError(f"no {last!r} after {seen}")
            seen.append(line)
        return seen


class Servers(unittest.TestCase):
    """EchoServer and ThreadPool: every byte comes back, with many clients at a time."""

    SIZE = 300_000
    CLIENTS = 10

    def talk(self, port, number, failures):
        try:
            data = bytes([number]) * self.SIZE
            with socket.create_connection(("127.0.0.1", port), HANG_S) as client:
                sender = threading.Thread(target=client.sendall, args=(data,))
                sender.start()
                got = b""
                while len(got) < self.SIZE:
                    part = client.recv(1 << 16)
                    if not part:
                        break
                    got += part
                sender.join()
                client.shutdown(socket.SHUT_WR)
                if got != data or client.recv(1) != b"":
                    failures.append(f"client {number}: {len(got)} bytes")
        except OSError as error:
            failures.append(f"client {number}: {error}")

    def serve(self, name, *arguments):
        with Program(name, "0", *arguments) as program:
            line = program.line()
            self.assertRegex(line, r"^listening on 127\.0\.0\.1 port \d+$")
            port = int(line.split()[-1])
            failures = []
            threads = [threading.Thread(target=self.talk, args=(port, number, failures))
                       for number in range(self.CLIENTS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])
            program.child.terminate()
            self.assertEqual(program.child.wait(), 128 + signal.SIGTERM)
            self.assertEqual(program.child.stdout.read(), "")

    def test_echo_server(self):
        self.serve("EchoServer")

    def test_thread_pool(self):
        self.serve("ThreadPool", "3")


class Watchers(unittest.TestCase):
    """FileWatcher, ProcessFollower, TimersAndSignals: what is done is printed."""

    def test_file_watcher(self):
        file = Path(WORK.name) / "watched"
        file.write_text("")
        with Program("FileWatcher", str(file)) as program:
            self.assertEqual(program.line(), "watching 1")
            with file.open("a") as text:
                text.write("more")
            self.assertEqual(program.line(), f"{file}: written grown")
            file.chmod(0o600)
            self.assertEqual(program.line(), f"{file}: attributes")
            file.unlink()
            self.assertIn("deleted", program.lines_until_end()[-1])
            self.assertEqual(program.child.wait(), 0)

    def test_process_follower(self):
        with subprocess.Popen(["sh", "-c", "read line; exit 7"], stdin=subprocess.PIPE) as other:
            with Program("ProcessFollower", str(other.pid)) as program:
                self.assertEqual(program.line(), f"following {other.pid}")
                other.stdin.write(b"\n")
                other.stdin.close()
                self.assertIn(program.line(), (f"{other.pid}: exit 7", f"{other.pid}: end"))
                self.assertEqual(program.child.wait(), 0)

    def test_timers_and_signals(self):
        with Program("TimersAndSignals", "2") as program:
            self.assertEqual(program.line(), "waiting")
            self.assertEqual(program.line(), "ticks 1")
            program.child.send_signal(signal.SIGHUP)
            program.lines_until("signals 1")
            program.child.send_signal(signal.SIGHUP)
            program.lines_until("signals 2")
            self.assertEqual(program.child.wait(), 0)


class Guide(unittest.TestCase):
    """The programs of the guide end by themselves."""

    def test_poller(self):
        with Program("Hello") as program:
            self.assertEqual(program.lines_until_end(), ["the pipe is readable"])

    def test_event_queue(self):
        with Program("Child") as program:
            lines = program.lines_until_end()
            self.assertTrue(any(line.startswith("TIMER ident=1") for line in lines), lines)
            self.assertTrue(any(line.startswith("PROC ") for line in lines), lines)
            self.assertEqual(program.child.wait(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
