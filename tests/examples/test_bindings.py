"""The five programs that a binding has as examples, driven by one client.

Goal: in each language they do the same.  XPOLL_EXAMPLES names the folder of the
programs: echo-server, thread-pool, file-watcher, process-follower and
timers-and-signals.
"""

import os
import signal
import subprocess
import tempfile
import unittest

import test_examples
import xt
from client import FOLDER


class EchoServer(test_examples.Echo):
    command = ("echo-server",)


class ThreadPool(test_examples.Echo):
    command = ("thread-pool",)


class Small(unittest.TestCase):
    def start(self, *command):
        program, *args = command
        child = subprocess.Popen([os.path.join(FOLDER, program), *args], text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def expect(self, child, *lines):
        for line in lines:
            self.assertEqual(child.stdout.readline(), line + "\n")

    def test_files_are_watched_until_they_are_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            with open(path, "w") as file:
                child = self.start("file-watcher", folder, path)
                self.expect(child, f"watching {folder}", f"watching {path}")
                file.write("text")
                file.flush()
                self.expect(child, f"{path}: WRITE | EXTEND")
                os.ftruncate(file.fileno(), 0)
                self.expect(child, f"{path}: WRITE | TRUNCATE")
            os.unlink(path)
            lines = {child.stdout.readline() for _ in range(2)}
            self.assertEqual(lines, {f"{folder}: WRITE\n", f"{path}: DELETE\n"})
        self.expect(child, f"{folder}: DELETE")
        self.assertEqual((child.stdout.read(), child.wait()), ("", 0))

    def test_a_process_is_followed_to_its_end(self):
        child = self.start("process-follower", "sh", "-c", "(exit 5); true; exit 3")
        lines = child.stdout.read().splitlines()
        self.assertEqual(child.wait(), 3)
        first = lines[0].split(":")[0]
        self.assertIn(f"{first}: exit status: 3", lines)
        made = [line for line in lines if line.endswith(f"made by {first}")]
        if made:  # It may be followed here.
            other = made[0].split(":")[0]
            # If it was gone before it was seen its status is unknown.
            ends = {f"{other}: exit status: 5", f"{other}: ended"}
            self.assertEqual(len(ends.intersection(lines)), 1, lines)

    def test_a_missing_command_is_an_exit_status(self):
        child = self.start("process-follower", "/nonexistent/command")
        self.assertIn("exit status: 127", child.stdout.read())
        self.assertEqual(child.wait(), 127)

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
