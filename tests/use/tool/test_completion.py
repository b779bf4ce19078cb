"""Completion of the command line in bash and zsh.

Goal: what a shell offers is what the command understands, no more and no less.
Method: ask --help for the options, and the shells, as they run, for theirs.
"""

import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest

import xt

TOOL = os.environ["XPOLL_TOOL"]
FOLDER = os.environ["XPOLL_COMPLETION"]
LIMIT_S = xt.LIMIT_S
EVENTS = {"create", "delete", "rename", "write", "extend", "truncate", "attrib",
          "link", "revoke", "open", "read", "close", "close-write"}


def options(*command):
    """The options that --help lists."""
    text = subprocess.run([TOOL, *command, "--help"], stdout=subprocess.PIPE,
                          text=True, check=True).stdout
    return set(re.findall(r"(?:^  |, )(--?[a-z]+)", text, re.M))


class Bash(unittest.TestCase):
    def setUp(self):
        if not shutil.which("bash"):
            self.skipTest("bash is not installed; ./dev check installs it")

    def complete(self, *words, folder="."):
        """What bash offers for the last of the words."""
        script = ('. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1));'
                  ' _xpoll; printf "%s\\n" "${COMPREPLY[@]}"')
        result = subprocess.run(
            ["bash", "--norc", "-c", script, "bash", FOLDER + "/xpoll.bash", TOOL, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
            timeout=LIMIT_S)
        self.assertEqual(result.stderr, "")
        return set(result.stdout.split())

    def test_commands_are_those_of_help(self):
        text = subprocess.run([TOOL, "help"], stdout=subprocess.PIPE, text=True).stdout
        commands = set(re.findall(r"^  ([a-z]+) ", text, re.M))
        self.assertEqual(self.complete(""), commands | {"--help", "--version"})
        self.assertEqual(self.complete("wa"), {"watch"})

    def test_options_are_those_of_help(self):
        for command in ["info"], ["watch"], ["run"], ["selftest"], ["bench", "looptest"]:
            with self.subTest(command=command):
                self.assertEqual(self.complete(*command, "-"), options(*command))

    def test_values_fit_their_option(self):
        self.assertEqual(self.complete("watch", "--events", ""), EVENTS)
        self.assertEqual(self.complete("watch", "--events", "write,cl"),
                         {"write,close", "write,close-write"})
        self.assertEqual(self.complete("watch", "--signal", "US"), {"USR1", "USR2"})
        self.assertIn(str(os.getpid()), self.complete("watch", "--pid", ""))
        self.assertEqual(self.complete("bench", ""),
                         self.workloads() | {"--help", "--version"})
        self.assertEqual(self.complete("bench", "looptest", "--peers", "r"), {"raw"})

    @staticmethod
    def workloads():
        text = subprocess.run([TOOL, "bench", "--help"], stdout=subprocess.PIPE,
                              text=True).stdout
        return set(re.findall(r"^  ([a-z-]+) ", text, re.M))

    def test_paths_and_commands_are_offered(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(folder + "/sub")
            open(folder + "/file", "w").close()
            self.assertEqual(self.complete("watch", "", folder=folder), {"sub", "file"})
            self.assertEqual(self.complete("watch", "--dir", "", folder=folder), {"sub"})
            self.assertEqual(self.complete("watch", "--file", "f", folder=folder),
                             {"file"})
            self.assertEqual(self.complete("watch", "--exec", "cat", "", folder=folder),
                             {"sub", "file"})
        self.assertIn("cat", self.complete("watch", "--exec", "ca"))
        self.assertIn("cat", self.complete("run", "--poll", "--", "ca"))
        self.assertIn("cat", self.complete("run", "--poll", "ca"))


class Terminal:
    """A zsh at a terminal of its own."""

    def __init__(self):
        self.child, self.fd = pty.fork()
        if self.child == 0:
            os.environ.update(TERM="dumb")
            os.environ["PATH"] = os.path.dirname(TOOL) + ":" + os.environ["PATH"]
            os.execvp("zsh", ["zsh", "-f"])
        self.shown = ""
        self.type(f"stty cols 200 rows 200; fpath=({FOLDER} $fpath);"
                  " autoload -U compinit; compinit -u -D; setopt no_auto_menu;"
                  " LISTMAX=1000; PS1='rea''dy> '\n")
        self.wait("ready> ")

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait(self, text):
        limit = time.monotonic() + LIMIT_S
        while text not in self.shown:
            left = max(0, limit - time.monotonic())
            if not select.select([self.fd], [], [], left)[0]:
                raise AssertionError(f"{text!r} did not come: {self.shown!r}")
            self.shown += os.read(self.fd, 65536).decode(errors="replace")

    def close(self):
        os.close(self.fd)
        os.waitpid(self.child, 0)


class Zsh(unittest.TestCase):
    """The tabulator is pressed and the list is read."""

    def setUp(self):
        if not shutil.which("zsh"):
            self.skipTest("zsh is not installed; ./dev check installs it")

    def complete(self, line):
        """What is listed for a line: the first words of the list's lines."""
        terminal = Terminal()
        try:
            terminal.shown = ""
            terminal.type(line + "\t")
            terminal.wait("ready> " + line)  # shown once more below the list
            listed = terminal.shown.split("ready> ")[0].splitlines()
        finally:
            terminal.close()
        return {entry.split()[0] for entry in listed[1:] if entry.strip()}

    def test_options_are_those_of_help(self):
        for command in ["watch"], ["run"], ["selftest"], ["bench", "looptest"]:
            with self.subTest(command=command):
                long = {o for o in options(*command) if o.startswith("--")}
                self.assertEqual(self.complete("xpoll " + " ".join(command) + " --"),
                                 long)

    def test_commands_and_events_are_offered(self):
        self.assertEqual(self.complete("xpoll "),
                         {"info", "watch", "bench", "run", "selftest", "help", "version"})
        self.assertEqual(self.complete("xpoll watch --events write,"),
                         EVENTS - {"write"})


if __name__ == "__main__":
    xt.main()
