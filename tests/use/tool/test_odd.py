"""The command in odd surroundings.

Goal: nothing that is closed, given twice, or deeper than anybody needs makes it
write into its own descriptors, wait for ever or fall over.  Method: do that, and
look at what it says, at its exit code and at what its children find.
"""

import os
import resource
import signal
import subprocess

import xt
from watching import LIMIT_S, TOOL, WatchTest, environment

DEEPEST = 2048  # levels below a --dir: PATH_MAX / 2


def shell(line):
    return subprocess.run(["sh", "-c", line], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=LIMIT_S, env=environment())


class ClosedDescriptors(WatchTest):
    def test_closed_output_is_no_descriptor_of_the_queue(self):
        result = shell(f"exec {TOOL} watch --timer 1ms --count 2 >&-")
        self.assertEqual((result.returncode, result.stderr),
                         (1, "xpoll watch: ready\nxpoll: cannot write to standard "
                             "output: Bad file descriptor\n"))

    def test_nothing_is_needed_to_run_quietly(self):
        result = shell(f"exec {TOOL} watch -q --timer 1ms --count 2 <&- >&- 2>&-")
        self.assertEqual(result.returncode, 0)

    def test_closed_input_is_closed_for_what_is_started(self):
        path = self.path("open")
        look = f"for i in 0 3 4 5 6 7; do test -e /proc/self/fd/$i && echo $i; done > {path}"
        result = shell(f"exec {TOOL} watch -q --exec sh -c '{look}; true' <&-")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(path) as file:
            self.assertEqual(file.read(), "")

    def test_closed_input_cannot_be_watched(self):
        result = shell(f"exec {TOOL} watch --fd 0 <&-")
        self.assertEqual((result.returncode, result.stderr),
                         (2, "xpoll watch: --fd 0: not an open descriptor\n"))


class Twice(WatchTest):
    def test_descriptor_that_is_asked_for_twice_ends_once(self):
        reader, writer = os.pipe()
        watch = self.watch("--fd", str(reader), "--fd", str(reader), pass_fds=[reader])
        os.close(reader)
        os.close(writer)
        self.assertEqual([line["events"] for line in watch.rest()], [["eof"]])
        self.check_end(watch)

    def test_process_that_is_asked_for_twice_ends_once(self):
        child = subprocess.Popen(["sleep", "1000"])
        watch = self.watch("--pid", str(child.pid), "--pid", str(child.pid))
        child.kill()
        child.wait()
        self.assertEqual(len([1 for line in watch.rest()
                              if {"killed", "exit"} & set(line["events"])]), 1)
        self.assertIn(watch.finish()[0], (0, 1))  # 1: forks cannot be followed here

    def test_own_descriptors_are_none_to_watch(self):
        for number in 3, 4, 5, 6, 7:
            result = self.run_watch("--dir", self.folder, "--fd", str(number))
            self.assertEqual((result.returncode, result.stderr),
                             (2, f"xpoll watch: --fd {number}: not an open descriptor\n"))


class Words(WatchTest):
    def test_flags_may_be_one_word(self):
        result = self.run_watch("-qr", "--count", "1", "--timer", "1ms")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        result = self.run_watch("-qx", self.folder)
        self.assertEqual(result.returncode, 2)
        self.assertIn("-qx: no such option -x", result.stderr)

    def test_help_takes_a_command(self):
        for words in ["watch"], ["info"], ["run"], ["bench"], ["bench", "looptest"]:
            with self.subTest(words=words):
                self.assertEqual(shell(" ".join([TOOL, "help", *words])).stdout,
                                 shell(" ".join([TOOL, *words, "--help"])).stdout)
        for words in "nothing", "watch --exec", "watch a b":
            with self.subTest(words=words):
                self.assertEqual(shell(f"{TOOL} help {words}").returncode, 2)


class Depth(WatchTest):
    def make_chain(self, name, levels):
        """A directory in a directory, and so on; the names are d."""
        os.mkdir(self.path(name))
        fd = os.open(self.path(name), os.O_RDONLY)
        for _ in range(levels - 1):
            os.mkdir("d", dir_fd=fd)
            below = os.open("d", os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = below
        return fd

    def setUp(self):
        super().setUp()
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard != resource.RLIM_INFINITY and hard < 5200:
            self.skipTest("needs 5200 descriptors")
        os.mkdir(self.path("all"))
        # Python's own way calls itself for each level.
        self.addCleanup(subprocess.run, ["rm", "-rf", self.path("all")], check=True)

    def test_tree_deeper_than_a_path_is_watched_down_to_there(self):
        os.close(self.make_chain("all/a", DEEPEST + 5))
        watch = self.watch("-r", "--dir", self.path("all"))
        self.write("all/a/file")
        watch.until("create", path=self.path("all/a/file"))
        code, said = watch.end()
        self.assertEqual(code, -signal.SIGTERM)
        self.assertIn("not watched: File name too long", said)

    def test_trees_that_are_moved_below_each_other_stay_bounded(self):
        levels = 1500
        end = self.make_chain("all/a", levels)
        os.close(self.make_chain("all/b", levels))
        # No names: thousands of them, each longer than the last.
        watch = self.watch("-r", "--dir", self.path("all"), "--events", "write")
        os.rename(self.path("all/b"), "b", dst_dir_fd=end)
        os.close(end)
        self.write("all/a/file")
        watch.until("write", path=self.path("all/a/file"))
        self.assertEqual(watch.end()[0], -signal.SIGTERM)


if __name__ == "__main__":
    xt.main()
