"""What the tests of real programs share: starting them with the drop-in in front,
loading them, stopping them, and reading what the drop-in says it did.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

TOOL = os.environ["XPOLL_TOOL"]
IDLE = 300     # idle connections: more than the drop-in passes through
DEADLINE = 30  # seconds for what must happen


def environment(**settings):
    kept = {k: v for k, v in os.environ.items()
            if not k.startswith("XPOLL_POLL") and k != "LD_PRELOAD"}
    return {**kept, **{f"XPOLL_POLL_{k}": str(v) for k, v in settings.items()}}


def find(name):
    """The path of a program, as a user's PATH may lack the sbin folders; or skip."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise unittest.SkipTest(f"{name} is not installed")
    return path


HELD = [] # sockets


def free_port():
    """One that nobody else is given: it stays bound here, and servers share it by SO_REUSEADDR."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    HELD.append(held)
    return held.getsockname()[1]


class Stats:
    """The drop-in's lines, summed up."""

    def __init__(self, text):
        self.lines = re.findall(r"^xpoll-poll: .*$", text, re.M)
        joined = "\n".join(self.lines)
        for name in ("calls", "passed through", "arrays"):
            counts = re.findall(rf"(\d+) {name}", joined)
            setattr(self, name.split()[0], sum(map(int, counts)))


class Server:
    """A program in the foreground, and what it writes to stderr."""

    def __init__(self, folder, port, *command, **settings):
        self.port = port
        self.settings = settings
        self.log = open(os.path.join(folder, "stderr"), "w+", encoding="utf-8",
                        errors="replace")
        self.process = subprocess.Popen(
            [TOOL, "run", "--poll", "--stats", "--", *command], cwd=folder,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env=environment(**settings), start_new_session=True)
        try:
            self.wait_for_port()
        except AssertionError:
            self.kill()
            raise

    def kill(self):
        """It and all its workers, if a test has failed before it was stopped."""
        if self.log.closed:
            return  # It has stopped, and its number may be another's by now.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def wait_for_port(self):
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)  # Nothing reports when a server is there.
        self.process.kill()
        raise AssertionError(f"it does not serve:\n{self.said()}")

    def workers(self):
        """The processes that it has started."""
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return set(file.read().split())

    def said(self):
        self.log.flush()
        self.log.seek(0)
        return self.log.read()

    def stop(self, number):
        """End it by a signal; (exit code, statistics)."""
        self.process.send_signal(number)
        try:
            code = self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"it does not stop:\n{self.said()}") from None
        said = self.said()
        self.log.close()
        return code, Stats(said), said


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="xpoll-programs.")
        os.chmod(self.folder, 0o755)  # A server may change to another user.
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.document = os.urandom(1 << 20)
        self.write("document", self.document)
        self.write("small", b"hello\n")

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    @contextlib.contextmanager
    def connections(self, port, count=IDLE):
        """Idle connections; a server that stops would wait for them."""
        with contextlib.ExitStack() as stack:
            for _ in range(count):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), 5))
            yield

    def load(self, port, path="/small"):
        """A second of requests; not one of them may fail."""
        wrk = subprocess.run([find("wrk"), "-t1", "-c16", "-d1s", "--timeout", "20s",
                              f"http://127.0.0.1:{port}{path}"], capture_output=True,
                             text=True, timeout=DEADLINE, check=True).stdout
        self.assertNotRegex(wrk, "Socket errors|Non-2xx")
        self.assertGreater(float(re.search(r"Requests/sec: *([\d.]+)", wrk)[1]), 10, wrk)

    def fetch(self, port, path="/document"):
        """Whole and intact."""
        curl = subprocess.run([find("curl"), "-sS", "--max-time", "20",
                               f"http://127.0.0.1:{port}{path}"], capture_output=True,
                              timeout=DEADLINE, check=True)
        self.assertEqual(curl.stdout, self.document)

    def serve(self, server):
        """Load among idle connections, twice: arrays are known the second time."""
        with self.connections(server.port):
            for _ in range(2):
                self.load(server.port)
                self.fetch(server.port)

    def check_stop(self, server, number, code=0):
        got, stats, said = server.stop(number)
        self.assertEqual(got, code, said)
        self.assertGreater(stats.calls, 0, said)
        self.assertGreater(stats.arrays, 0, said)
        # By default a busy machine may make the real function the faster one.
        if server.settings.get("AFTER") == 0:
            self.assertGreater(stats.calls - stats.passed, stats.calls // 2, said)

    def check_server(self, port, number, *command):
        """As users have it, and with arrays that are kept whatever they cost."""
        for settings in {}, {"AFTER": 0}:
            with self.subTest(**settings):
                server = Server(self.folder, port, *command, **settings)
                self.addCleanup(server.kill)
                self.serve(server)
                self.check_stop(server, number)
