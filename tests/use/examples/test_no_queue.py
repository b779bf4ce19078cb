"""The programs of examples/ where no queue can be opened.

Goal: each ends with an error and a message, and none spins.  Method: XPOLL_BACKEND names no back
end, and the kernel ends what takes five seconds of processor time.
"""

import os
import resource
import subprocess
import unittest

import xt

FOLDER = os.environ["XPOLL_EXAMPLES"]
PROCESSOR_S = 5
# ten-lines leaves out every check; echo-poll and pages-select do not use xpoll; a tree uses
# the best back end, whatever XPOLL_BACKEND is.
LEFT_OUT = {"ten-lines", "echo-poll", "pages-select", "tree-changes"}
CERTIFICATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "localhost.pem")
ARGUMENTS = {
    "fetch": ["1000", "1"],
    "file-changes": [__file__],
    "file-watcher": [__file__],
    "http-hello": ["0"],
    "pages-queue": ["1000"],
    "process-follower": ["true"],
    "tail-follow": [__file__],
    "tail-name": [__file__],
    "tcp-proxy": ["1"],
    "tls-echo": [CERTIFICATE, CERTIFICATE],
    "tutorial/copy": [__file__, "/dev/null"],
    "tutorial/rerun": [__file__, "true"],
    "udp-echo": ["0"],
}


def programs():
    for folder, _, names in os.walk(FOLDER):
        for name in names:
            path = os.path.join(folder, name)
            if os.access(path, os.X_OK) and name not in LEFT_OUT:
                yield os.path.relpath(path, FOLDER)


class NoQueue(unittest.TestCase):
    def test_each_program_ends_with_a_message(self):
        names = sorted(programs())
        self.assertGreater(len(names), 20)
        for name in names:
            with self.subTest(program=name):
                self.check(name)

    def check(self, name):
        arguments = ARGUMENTS.get(name, ARGUMENTS.get(os.path.basename(name), []))
        result = subprocess.run(
            [os.path.join(FOLDER, name), *arguments], capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=xt.LIMIT_S,
            env={**os.environ, "XPOLL_BACKEND": "nope", "LC_ALL": "C"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S,) * 2))
        self.assertIn(result.returncode, (1, 2), result)
        self.assertRegex(result.stderr, "not supported|Invalid argument", result)


if __name__ == "__main__":
    xt.main()
