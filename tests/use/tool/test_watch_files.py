"""xpoll watch: files and directories.

Goal: what happens to a file, by whatever name, and to all that is below a
directory, is printed once and rightly, also while directories come and go; nothing
is missed.  Method: the test does it and knows what must be printed; what the
system itself says afterwards (a walk through the tree) is compared with what
can be concluded from the lines.
"""

import os
import random
import resource
import shutil
import signal
import subprocess
import unittest

import xt
from watching import LIMIT_S, TOOL, WatchTest, environment


PRIVATE = ["unshare", "--mount", "sh", "-c"]


def can_unmount():
    return shutil.which("unshare") and os.path.ismount("/sys") and subprocess.run(
        [*PRIVATE, "umount -l /sys"], capture_output=True, check=False).returncode == 0


class FileTest(WatchTest):
    def stop(self, watch):
        self.check_end(watch, -signal.SIGTERM, number=signal.SIGTERM)


class WatchFile(FileTest):
    def test_what_is_done_to_a_file_is_told(self):
        path = self.write("a")
        watch = self.watch("--file", path)
        self.write("a", "more\n", "a")
        watch.until("write", "extend", source="file", path=path)
        os.truncate(path, 0)
        watch.until("truncate", path=path)
        os.chmod(path, 0o600)
        watch.until("attrib", path=path)
        os.link(path, self.path("b"))
        watch.until("link", path=path)
        os.unlink(path)
        watch.until("delete", path=path)
        self.stop(watch)

    def test_a_file_that_the_kernel_makes_up_is_said_to_be_silent(self):
        result = subprocess.run([TOOL, "watch", "--timeout", "1ms", "--file", "/proc/self/mounts"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, timeout=LIMIT_S, env=environment())
        self.assertIn("may report no changes", result.stderr)
        self.assertIn("--fd 0 </proc/self/mounts", result.stderr)

    @unittest.skipUnless(can_unmount(), "nothing can be unmounted here")
    def test_a_file_beside_a_folder_without_its_mount_is_not_said_to_be_silent(self):
        result = subprocess.run([*PRIVATE, f"umount -l /sys && exec '{TOOL}' watch "
                                           "--timeout 1ms --file /etc/passwd"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, timeout=LIMIT_S, env=environment())
        self.assertEqual(result.stderr, "xpoll watch: ready\n")

    def test_events_choose_what_is_told(self):
        path = self.write("a")
        watch = self.watch("--file", path, "--events", "close-write")
        self.write("a", "more\n", "a")
        self.assertEqual(watch.next()["events"], ["close-write"])
        with open(path) as file:
            file.read()
        os.chmod(path, 0o600)
        self.write("a", "more\n", "a")
        self.assertEqual(watch.next()["events"], ["close-write"])
        self.assertEqual(len(watch.seen), 2)
        self.stop(watch)

    def test_open_and_read_are_told_if_asked_for(self):
        path = self.write("a")
        watch = self.watch("--file", path, "--events", "open,read,close")
        with open(path) as file:
            watch.until("open", path=path)
            file.read()
            watch.until("read", path=path)
        watch.until("close", path=path)
        self.stop(watch)

    def test_file_that_is_replaced_is_followed_by_name(self):
        path = self.write("a", "old\n")
        watch = self.watch("--file", path)
        for i in range(3):
            os.rename(self.write("new", f"{i}\n"), path)
            watch.until("create", path=path)
            self.write("a", "more\n", "a")
            watch.until("write", path=path)
        self.stop(watch)

    def test_file_that_is_deleted_is_told_when_it_is_there_again(self):
        path = self.write("a")
        watch = self.watch("--file", path)
        for _ in range(3):
            os.unlink(path)
            watch.until("delete", path=path)
            self.write("a")
            watch.until("create", path=path)
        os.rename(path, self.path("b"))
        watch.until("rename", path=path)
        self.write("a")
        watch.until("create", path=path)
        self.stop(watch)

    def test_symbolic_link_that_is_turned_is_followed(self):
        self.write("one")
        self.write("two")
        link = self.path("link")
        os.symlink("one", link)
        watch = self.watch("--file", link)
        os.symlink("two", self.path("other"))
        os.rename(self.path("other"), link)
        watch.until("create", path=link)
        self.write("two", "more\n", "a")
        watch.until("write", path=link)
        self.stop(watch)

    def test_folder_that_is_deleted_ends_it(self):
        os.mkdir(self.path("sub"))
        path = self.write("sub/a")
        watch = self.watch("--file", path)
        shutil.rmtree(self.path("sub"))
        self.assertIn("delete", watch.rest()[0]["events"])
        self.check_end(watch)

    def test_many_files_share_their_folder(self):
        paths = [self.write(f"f{i}") for i in range(300)]
        watch = self.watch(*paths)
        random.Random(7).shuffle(paths)
        for path in paths:
            with open(path, "a") as file:
                file.write("more\n")
        told = set()
        while len(told) < len(paths):
            line = watch.next()
            self.assertIn("write", line["events"])
            told.add(line["path"])
        self.assertEqual(told, set(paths))
        descriptors = len(os.listdir(f"/proc/{watch.child.pid}/fd"))
        self.assertLess(descriptors, len(paths) + 20)
        self.stop(watch)

    def test_any_name_survives_both_forms(self):
        names = [b"sp ace", b"quo\"te\\", b"new\nline\x1b[31m", b"\xff\xfe",
                 "\u00e9\u20ac\U0001f600".encode(), b"\xed\xa0\x80"]
        paths = [os.path.join(self.folder.encode(), name) for name in names]
        for path in paths:
            with open(path, "w") as file:
                file.write("x")
        plain = self.watch(*paths, json_lines=False)
        watch = self.watch(*paths)
        for path in paths:
            os.truncate(path, 0)
            line = watch.until("truncate")[-1]
            self.assertEqual(os.fsencode(line["path"]), path)
            text = plain.next()
            self.assertTrue(text.isprintable(), text)
        self.stop(plain)
        self.stop(watch)

    def test_file_without_permission_is_named(self):
        if os.geteuid() == 0:
            self.skipTest("root may read everything")
        path = self.write("a")
        os.chmod(path, 0)
        result = self.run_watch("--file", path)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn(f"--file {path}: Permission denied", result.stderr)


class WatchDir(FileTest):
    def test_entries_and_their_contents_are_told(self):
        watch = self.watch("--dir", self.folder)
        path = self.write("a")
        watch.until("create", source="dir", path=path)
        self.write("a", "more\n", "a")
        watch.until("write", path=path)
        os.rename(path, self.path("b"))
        watch.until("rename", path=path, to=self.path("b"))
        self.write("b", "more\n", "a")
        watch.until("write", path=self.path("b"))
        os.unlink(self.path("b"))
        watch.until("delete", path=self.path("b"))
        self.stop(watch)

    def test_without_r_what_is_below_is_not_told(self):
        os.mkdir(self.path("sub"))
        watch = self.watch("--dir", self.folder)
        self.write("sub/a")
        os.mkdir(self.path("other"))
        self.write("other/b")
        self.write("zzz")
        watch.until("create", path=self.path("zzz"))
        self.assertEqual({line["path"] for line in watch.seen},
                         {self.path("other"), self.path("zzz")})
        self.stop(watch)

    def test_entry_that_is_replaced_is_deleted_and_renamed(self):
        path = self.write("a")
        watch = self.watch("--dir", self.folder)
        new = self.write("new")
        watch.until("create", path=new)
        os.rename(new, path)
        lines = [line for line in watch.until("rename", path=new, to=path)
                 if line["events"] != ["write"]]
        self.assertEqual((lines[0]["events"], lines[0]["path"]), (["delete"], path))
        self.write("a", "more\n", "a")
        watch.until("write", path=path)
        self.stop(watch)

    def test_directory_that_is_deleted_or_renamed_ends_it(self):
        for word, act in ("delete", os.rmdir), (
                "rename", lambda path: os.rename(path, path + "2")):
            with self.subTest(word=word):
                path = self.path("sub")
                os.mkdir(path)
                watch = self.watch("--dir", path)
                act(path)
                self.assertEqual(watch.rest()[-1]["events"], [word])
                self.check_end(watch)

    def test_excluded_names_and_paths_are_not_told(self):
        os.makedirs(self.path(".git"))
        os.makedirs(self.path("src", "build"))
        watch = self.watch("-r", "--dir", self.folder, "--exclude", ".git",
                           "--exclude", "*.o", "--exclude", self.path("src", "b*"))
        for name in (".git/index", "src/a.o", "src/build/x", "src/bin",
                     "src/sub.c"):
            self.write(name)
        watch.until("create", path=self.path("src", "sub.c"))
        self.assertEqual({line["path"] for line in watch.seen},
                         {self.path("src", "sub.c")})
        self.stop(watch)

    def test_odd_entries_are_told_and_not_opened(self):
        os.mkfifo(self.path("fifo"))
        os.symlink("nowhere", self.path("dangling"))
        os.symlink(".", self.path("loop"))
        watch = self.watch("-r", "--dir", self.folder)
        os.mkfifo(self.path("fifo2"))
        watch.until("create", path=self.path("fifo2"))
        os.unlink(self.path("dangling"))
        watch.until("delete", path=self.path("dangling"))
        os.rename(self.path("loop"), self.path("knot"))
        watch.until("rename", path=self.path("loop"), to=self.path("knot"))
        self.stop(watch)

    def test_unreadable_directory_below_is_told_and_the_rest_watched(self):
        if os.geteuid() == 0:
            self.skipTest("root may read everything")
        os.mkdir(self.path("closed"), 0)
        watch = self.watch("-r", "--dir", self.folder)
        path = self.write("a")
        watch.until("create", path=path)
        code, said = watch.end()
        self.assertEqual(code, -signal.SIGTERM)
        self.assertIn(f"{self.path('closed')}: not watched: Permission denied", said)

    def test_files_and_directories_need_no_descriptors(self):
        for i in range(100):
            os.mkdir(self.path(f"d{i}"))
            self.write(f"f{i}")
        watch = self.watch("-r", "--dir", self.folder, preexec_fn=lambda: (
            resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))))
        for i in range(100):
            path = self.write(f"d{i}/new")
            watch.until("create", path=path)
            self.write(f"f{i}", "more\n", "a")
            watch.until("write", path=self.path(f"f{i}"))
        self.stop(watch)


class WatchTree(FileTest):
    """-r, while the tree changes."""

    def test_new_directories_are_entered_with_what_is_in_them(self):
        watch = self.watch("-r", "--dir", self.folder)
        deep = self.path("x", "y", "z")
        os.makedirs(deep)
        self.write("x/y/z/a")
        watch.until("create", path=os.path.join(deep, "a"))
        created = [l["path"] for l in watch.seen if "create" in l["events"]]
        self.assertEqual(created, [self.path("x"), self.path("x", "y"), deep,
                                   os.path.join(deep, "a")])
        self.write("x/y/z/a", "more\n", "a")
        watch.until("write", path=os.path.join(deep, "a"))
        self.stop(watch)

    def test_directory_that_is_renamed_keeps_what_is_in_it(self):
        os.makedirs(self.path("old", "sub"))
        self.write("old/sub/a")
        watch = self.watch("-r", "--dir", self.folder)
        os.rename(self.path("old"), self.path("new"))
        watch.until("rename", path=self.path("old"), to=self.path("new"))
        self.write("new/sub/a", "more\n", "a")
        watch.until("write", path=self.path("new", "sub", "a"))
        self.write("new/sub/b")
        watch.until("create", path=self.path("new", "sub", "b"))
        self.assertFalse([l for l in watch.seen if "delete" in l["events"]])
        self.stop(watch)

    def test_move_between_directories_is_one_event(self):
        os.mkdir(self.path("x"))
        os.mkdir(self.path("y"))
        self.write("x/a")
        watch = self.watch("-r", "--dir", self.folder)
        os.rename(self.path("x", "a"), self.path("y", "b"))
        watch.until("rename", path=self.path("x", "a"), to=self.path("y", "b"))
        self.assertEqual(len(watch.seen), 1)
        self.stop(watch)

    def test_tree_that_is_removed_is_told_entry_by_entry(self):
        os.makedirs(self.path("x", "y"))
        for name in "x/a", "x/y/b", "x/y/c":
            self.write(name)
        watch = self.watch("-r", "--dir", self.folder)
        shutil.rmtree(self.path("x"))
        watch.until("delete", path=self.path("x"))
        deleted = [l["path"] for l in watch.seen if "delete" in l["events"]]
        self.assertEqual(sorted(deleted), sorted(map(self.path, (
            "x", "x/a", "x/y", "x/y/b", "x/y/c"))))
        self.assertEqual(len(watch.seen), 5)
        self.stop(watch)

    def test_storm_leaves_the_tree_that_the_lines_tell(self):
        seed = random.randrange(1 << 30)
        known = {self.folder}
        self.build(random.Random(seed), 100)
        for folder, folders, files in os.walk(self.folder):
            known.update(os.path.join(folder, name) for name in folders + files)
        watch = self.watch("-r", "--dir", self.folder)
        self.build(random.Random(seed + 1), 2000)
        last = self.write("the-last")
        for line in watch.until("create", path=last):
            self.apply(known, line)
        # What was done before may be printed after it.
        os.unlink(last)
        for line in watch.until("delete", path=last):
            self.apply(known, line)
        there = {self.folder}
        for folder, folders, files in os.walk(self.folder):
            there.update(os.path.join(folder, name) for name in folders + files)
        self.assertEqual(known, there, f"seed {seed}")
        self.stop(watch)

    def build(self, rng, steps):
        """Make, rename and remove files and directories at random."""
        for _ in range(steps):
            names = [rng.choice("abcde") for _ in range(rng.randrange(1, 4))]
            path, other = self.path(*names), self.path(rng.choice("abcde"),
                                                       rng.choice("abcde"))
            act = rng.randrange(5)
            try:
                if act == 0:
                    os.mkdir(path)
                elif act == 1:
                    self.write(os.path.join(*names, rng.choice("uvw")))
                elif act == 2:
                    os.rename(path, other)
                elif act == 3:
                    os.unlink(os.path.join(path, rng.choice("uvw")))
                elif rng.randrange(10) == 0:
                    shutil.rmtree(path)
            except OSError:
                pass  # there is no such thing now, or it is in the way

    def apply(self, known, line):
        path, to = line["path"], line.get("to")
        if "create" in line["events"]:
            known.add(path)
        elif "delete" in line["events"]:
            known.discard(path)
        elif "rename" in line["events"]:
            for name in [n for n in known if n == path or n.startswith(path + "/")]:
                known.remove(name)
                known.add(to + name[len(path):])

    def test_reports_that_the_kernel_drops_are_told_and_made_good(self):
        try:
            with open("/proc/sys/fs/inotify/max_queued_events") as file:
                most = int(file.read())
        except OSError as error:
            self.skipTest(f"no limit of reports is known: {error}")
        if most > 100000:
            self.skipTest("too many reports before any is dropped")
        pair = [self.write("a"), self.write("b")]
        watch = self.watch("-r", "--dir", self.folder)
        single = self.watch(*pair)
        for child in watch.child, single.child:
            child.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        for i in range(most + 10):  # those of one file in a row would be one
            os.chmod(pair[i % 2], 0o600 + i // 2 % 2)
        os.mkdir(self.path("sub"))
        late = self.write("sub/late")
        self.write("b", "more\n", "a")
        for child in watch.child, single.child:
            child.send_signal(signal.SIGCONT)
        watch.until("overflow", source="dir", path=self.folder)
        watch.until("create", path=late)
        single.until("overflow", "extend", path=pair[1])
        self.write("a", "more\n", "a")
        watch.until("write", path=pair[0])
        self.stop(watch)
        self.stop(single)

    def test_lines_in_a_file_of_the_tree_do_not_keep_it_from_its_end(self):
        """Each line is one more change; a file of 64 MB would be the end of a hang."""
        with open(self.path("out"), "w") as out:
            result = subprocess.run(
                [TOOL, "watch", "-r", "--dir", self.folder, "--timeout", "0.1",
                 "--exec", "touch", self.path("a")], check=False,
                stdout=out, stderr=subprocess.DEVNULL, env=environment(), timeout=LIMIT_S,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2 ** 26, 2 ** 26)))
        self.assertEqual(result.returncode, 0)
        self.assertGreater(os.path.getsize(self.path("out")), 0)

    def test_thousands_of_files_are_watched_and_idle(self):
        for i in range(50):
            os.mkdir(self.path(f"d{i}"))
            for k in range(100):
                self.write(f"d{i}/f{k}")
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if limit < 5200:
            self.skipTest("needs 5200 descriptors")
        watch = self.watch("-r", self.folder)
        self.write("d49/f99", "more\n", "a")
        self.assertEqual(watch.next()["path"], self.path("d49", "f99"))
        self.stop(watch)


if __name__ == "__main__":
    xt.main()
