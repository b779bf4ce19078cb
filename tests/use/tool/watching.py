"""`xpoll watch` as a child process: its events as they come."""

import json
import os
import select
import signal
import subprocess
import tempfile
import time
import unittest

import xt

TOOL = os.environ["XPOLL_TOOL"]
LIMIT_S = xt.LIMIT_S


def environment(**more):
    result = {k: v for k, v in os.environ.items() if k != "XPOLL_BACKEND"}
    result.update(more)
    return result


class Watch:
    """A running `xpoll watch --json`; it is ready when this returns."""

    def __init__(self, *args, json_lines=True, **more):
        command = [TOOL, "watch", *(["--json"] if json_lines else []), *args]
        self.child = subprocess.Popen(
            command, stdin=more.pop("stdin", subprocess.DEVNULL),
            stdout=more.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE,
            env=more.pop("env", environment()), **more)
        self.json_lines = json_lines
        self.out = b""  # read, but no whole line yet
        self.said = b""  # all of stderr
        self.seen = []
        while b"watch: ready\n" not in self.said:
            self.read_stderr()

    def read_stderr(self):
        self.wait_readable(self.child.stderr)
        part = os.read(self.child.stderr.fileno(), 65536)
        self.said += part
        if not part:
            self.child.wait(LIMIT_S)
            raise AssertionError(f"ended with {self.child.returncode}: {self.said}")

    def wait_readable(self, file):
        if not select.select([file], [], [], LIMIT_S)[0]:
            raise AssertionError(f"nothing came; seen: {self.seen}, {self.said}")

    def wait_said(self, text):
        while text not in self.said.decode():
            self.read_stderr()

    def next(self):
        """The next line; None at the end."""
        while b"\n" not in self.out:
            self.wait_readable(self.child.stdout)
            part = os.read(self.child.stdout.fileno(), 65536)
            if not part:
                return None
            self.out += part
        line, self.out = self.out.split(b"\n", 1)
        self.seen.append(json.loads(line) if self.json_lines else line.decode())
        return self.seen[-1]

    def until(self, *events, **fields):
        """The lines up to one that has these events and fields."""
        first = len(self.seen)
        while True:
            line = self.next()
            if line is None:
                raise AssertionError(f"{events} {fields} did not come: {self.seen}")
            if set(events) <= set(line["events"]) and all(
                    line.get(key) == value for key, value in fields.items()):
                return self.seen[first:]

    def rest(self):
        """All lines up to the end."""
        first = len(self.seen)
        while self.next() is not None:
            pass
        return self.seen[first:]

    def end(self, number=signal.SIGTERM):
        """End it by a signal; the exit code and what it said."""
        self.child.send_signal(number)
        return self.finish()

    def finish(self):
        """Wait for its end; the exit code and what it said but "ready"."""
        self.said += self.child.communicate(timeout=LIMIT_S)[1]
        said = self.said.decode().replace("xpoll watch: ready\n", "")
        return self.child.returncode, said


class WatchTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text="text\n", mode="w"):
        path = self.path(name)
        with open(path, mode) as file:
            file.write(text)
        return path

    def watch(self, *args, **more):
        """A Watch that does not outlive the test."""
        watch = Watch(*args, **more)
        self.addCleanup(self.discard, watch)
        return watch

    @staticmethod
    def discard(watch):
        if watch.child.poll() is None:
            watch.child.kill()
        watch.child.wait()
        for file in watch.child.stdout, watch.child.stderr:
            if file is not None:
                file.close()

    def check_end(self, watch, code=0, said="", number=None):
        """It ends, by itself or by a signal, and says no more than this."""
        result = watch.end(number) if number else watch.finish()
        self.assertEqual(result, (code, said))

    def run_watch(self, *args, **more):
        return subprocess.run(
            [TOOL, "watch", *args], stdin=more.pop("stdin", subprocess.DEVNULL),
            stdout=more.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE,
            text=True, timeout=LIMIT_S, env=more.pop("env", environment()), **more)

    @staticmethod
    def wait_for(condition):
        """Look until something holds that no event reports."""
        limit = time.monotonic() + LIMIT_S
        while not condition():
            if time.monotonic() > limit:
                raise AssertionError("it never came to hold")
            time.sleep(0.01)
