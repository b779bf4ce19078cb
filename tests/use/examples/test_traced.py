"""The pool of threads under strace, which makes each of its system calls slow.

Goal: slow threads do not hand an event to each other for ever: a client that sends ten
bytes and waits for the answer gets it, again and again, and the calls are few.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import client
import xt

ROUNDS = 50
EACH = 8  # calls of a kind for a round of two events
CALLS = "epoll_wait,epoll_pwait,epoll_pwait2,epoll_ctl,poll,ppoll,pselect6"


class Traced(unittest.TestCase):
    def setUp(self):
        # -D: the program is the child, and strace a child of its own.
        self.strace = ["strace", "-D", "-f", "-qq", "-e", f"trace={CALLS}"]
        tried = shutil.which("strace") and subprocess.run(
            [*self.strace, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not tried or tried.returncode != 0:
            self.skipTest("strace cannot trace here")

    def test_client_of_a_traced_pool_gets_every_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            program = client.LANGUAGES["c"]("thread-pool")
            client.LANGUAGES["traced"] = lambda name: [*self.strace, "-o", log, *program]
            client.LANGUAGE = "traced"
            server = client.Server("thread-pool")
            self.addCleanup(server.child.kill)
            with server.connect() as connection:
                for i in range(ROUNDS):
                    text = b"%010d" % i
                    connection.sendall(text)
                    self.assertEqual(client.receive(connection, 10), text)
            self.assertEqual(server.stop(), (0, ""))
            with open(log, encoding="ascii") as file:
                calls = re.findall(r"(epoll_p?wait2?|epoll_ctl|p?poll|pselect6)\(", file.read())
            changes = calls.count("epoll_ctl")
            self.assertLessEqual(changes, EACH * ROUNDS)
            self.assertLessEqual(len(calls) - changes, 3 * EACH * ROUNDS)


if __name__ == "__main__":
    xt.main()
