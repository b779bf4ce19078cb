"""What the guide says of system calls, counted by strace.

Goal: modify of a selector, and enable and disable of a queue, mostly make no system call.
Method: a program that does each some hundred times, with strace(1) counting the changes of the
kernel's set.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import xt  # type: ignore[import-not-found]

ROUNDS = 500
MOST = ROUNDS // 10

SELECTOR = """
import selectors, socket, xpoll
left, right = socket.socketpair()
with left, right, xpoll.XpollSelector("epoll") as selector:
    selector.register(left, selectors.EVENT_READ)
    for _ in range({rounds}):
        selector.modify(left, selectors.EVENT_READ | selectors.EVENT_WRITE)
        assert len(selector.select(0)) == 1
        selector.modify(left, selectors.EVENT_READ)
        assert selector.select(0) == []
"""
QUEUE = """
import socket, xpoll
left, right = socket.socketpair()
with left, right, xpoll.Queue("epoll") as queue:
    queue.add(left, xpoll.FILT_WRITE)
    for _ in range({rounds}):
        queue.disable(left, xpoll.FILT_WRITE)
        assert queue.wait(0) == []
        queue.enable(left, xpoll.FILT_WRITE)
        assert len(queue.wait(0)) == 1
"""
# The same with epoll's own selector, which shows that strace counts.
EPOLL = SELECTOR.replace('xpoll.XpollSelector("epoll")', "selectors.EpollSelector()")


class Calls(unittest.TestCase):
    def setUp(self) -> None:
        tried = shutil.which("strace") and subprocess.run(
            ["strace", "-D", "-qq", "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not tried or tried.returncode != 0:
            self.skipTest("strace cannot trace here")

    def changes(self, program: str) -> int:
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            subprocess.run(["strace", "-D", "-f", "-qq", "-e", "trace=epoll_ctl", "-o", log,
                            sys.executable, "-c", program.format(rounds=ROUNDS)],
                           check=True, timeout=xt.LIMIT_S)
            with open(log, encoding="utf-8", errors="replace") as file:
                return sum("epoll_ctl(" in line for line in file)

    def test_modify_of_a_selector_mostly_makes_no_system_call(self) -> None:
        self.assertGreaterEqual(self.changes(EPOLL), 2 * ROUNDS)
        self.assertLess(self.changes(SELECTOR), MOST)

    def test_enable_and_disable_mostly_make_no_system_call(self) -> None:
        self.assertLess(self.changes(QUEUE), MOST)


if __name__ == "__main__":
    xt.main()
