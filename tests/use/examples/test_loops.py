"""A queue inside the loop of another library: GLib, libuv, asyncio.

Goal: the guest loses nothing, and neither does its host, which has the signals.  Method: the
tests of the echo server.  The class is chosen by name; one whose library is not here is a skip.
"""

import os
import subprocess
import unittest

import test_bindings
import xt
from client import command


class Glib(test_bindings.EchoServer):
    library = "GLib"
    command = ("inside-glib",)

    def setUp(self):
        if not os.path.exists(command(*self.command)[-1]):
            self.skipTest(f"{self.library} is not installed; ./dev check installs it")
        super().setUp()

    def test_back_end_without_a_descriptor_is_refused(self):
        result = subprocess.run(command(*self.command), env={**os.environ, "XPOLL_BACKEND": "poll"},
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=xt.LIMIT_S)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, r"(xpoll_fd: |OSError: .*)Operation not supported")


class Libuv(Glib):
    library = "libuv"
    command = ("inside-libuv",)


class Asyncio(Glib):
    library = "Python"
    command = ("inside-asyncio",)


if __name__ == "__main__":
    xt.main()
