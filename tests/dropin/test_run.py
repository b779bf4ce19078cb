"""`xpoll run --poll`, and the library as a file.

Goal: the command puts the library in front of a program and nothing else
changes; the library exports what it replaces and does not call that by name.
Method: run small programs, look at output and exit codes; read the symbols.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import xt

TOOL = os.environ["XPOLL_TOOL"]
LIBRARY = os.environ["XPOLL_POLL_LIBRARY"]
REPLACED = {"poll", "ppoll", "__poll_chk", "__ppoll_chk", "select", "pselect",
            "close", "close_range", "closefrom", "dup2", "dup3", "fclose",
            "pclose", "freopen", "freopen64", "closedir", "unshare", "prctl",
            "seccomp_load"}
POLLER = """
import os, select
poll = select.poll()
pipes = [os.pipe() for _ in range(100)]
for r, w in pipes:
    poll.register(r, select.POLLIN)
for i in range(100):
    os.write(pipes[i][1], b"x")
    assert poll.poll(0) == [(pipes[i][0], select.POLLIN)]
    os.read(pipes[i][0], 1)
print("fine")
"""


def environment(**more):
    kept = {k: v for k, v in os.environ.items()
            if not k.startswith("XPOLL_POLL") and k != "LD_PRELOAD"}
    return {**kept, **more}


def run(*args, env=None, **more):
    return subprocess.run([TOOL, "run", *args], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, env=env or environment(), timeout=50,
                          **more)


class Run(unittest.TestCase):
    def check(self, result, code, out="", err=""):
        self.assertEqual((result.returncode, result.stdout), (code, out), result.stderr)
        self.assertRegex(result.stderr, f"^{err}$")

    def test_program_runs_with_its_arguments_output_and_exit_code(self):
        self.check(run("--poll", "sh", "-c", 'echo "$1"; exit 7', "sh", "--poll"),
                   7, "--poll\n")
        self.check(run("--poll", "--", "echo", "--", "a b"), 0, "-- a b\n")

    def test_library_is_in_front(self):
        result = run("--poll", "--stats", "--", sys.executable, "-c", POLLER)
        # A real call is due after some time.
        self.check(result, 0, "fine\n",
                   r"xpoll-poll: \S+\[\d+\]: 100 calls, \d+ passed through, 1 arrays, "
                   r"0 evicted, \d+ system calls made, 0 closes found late\n")

    def test_other_preloaded_libraries_stay(self):
        result = run("--poll", "sh", "-c", 'echo "$LD_PRELOAD"',
                     env=environment(LD_PRELOAD="libm.so.6"))
        self.check(result, 0, f"{LIBRARY}:libm.so.6\n")

    def test_runtime_of_a_sanitizer_stays_in_front(self):
        for others, expected in (
                ("/lib/libasan.so.99:libm.so.6", f"/lib/libasan.so.99:{LIBRARY}:libm.so.6"),
                ("libasan.so.99 libubsan.so.99", f"libasan.so.99 libubsan.so.99:{LIBRARY}"),
                ("libclang_rt.asan.so", f"libclang_rt.asan.so:{LIBRARY}"),
                ("libm.so.6:libasan.so.99", f"{LIBRARY}:libm.so.6:libasan.so.99")):
            with self.subTest(others=others), tempfile.TemporaryDirectory() as folder:
                # The linker complains of libraries that are not there: only look.
                show = os.path.join(folder, "show.sh")
                with open(show, "w") as file:
                    file.write('echo "$LD_PRELOAD"\n')
                result = run("--poll", "sh", show, env=environment(LD_PRELOAD=others))
                self.assertEqual((result.returncode, result.stdout), (0, expected + "\n"))

    def test_program_with_asan_runs(self):
        source = "#include <poll.h>\n#include <stdio.h>\n" \
            "int main(void) { struct pollfd f[64]; for (int i = 0; i < 64; i++) f[i].fd = -1;\n" \
            "return puts(\"ran\") < 0 || poll(f, 64, 0) != 0; }\n"
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "asan")
            built = subprocess.run(["gcc", "-fsanitize=address", "-x", "c", "-", "-o", program],
                                   input=source, text=True, capture_output=True)
            runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], text=True,
                                     capture_output=True).stdout.strip()
            if built.returncode != 0 or not os.path.isabs(runtime):
                self.skipTest("no AddressSanitizer of gcc")
            runtime = os.path.realpath(runtime)
            result = run("--poll", program,
                         env=environment(LD_PRELOAD=runtime, ASAN_OPTIONS="detect_leaks=0"))
            self.check(result, 0, "ran\n")

    def test_switched_off_it_passes_everything_through(self):
        result = run("--poll", "--stats", sys.executable, "-c", POLLER,
                     env=environment(XPOLL_POLL="0"))
        self.check(result, 0, "fine\n", r".*: 100 calls, 100 passed through, 0 arrays.*\n")

    def test_without_stats_nothing_is_said(self):
        self.check(run("--poll", sys.executable, "-c", POLLER), 0, "fine\n")

    def test_settings_that_are_no_numbers_are_ignored(self):
        wrong = {"MIN": "many", "AFTER": "-1", "RECHECK": "1s", "STATS": "yes"}
        result = run("--poll", sys.executable, "-c", POLLER,
                     env=environment(**{f"XPOLL_POLL_{k}": v for k, v in wrong.items()}))
        self.check(result, 0, "fine\n")

    def test_least_of_0_descriptors_is_1(self):
        # Through ctypes all calls come from one place.
        poller = "import ctypes\n" \
            "poll = ctypes.CDLL(None).poll\n" \
            "nobody = (ctypes.c_uint64 * 40)(*[0xffffffff] * 40)\n" \
            "print([poll(nobody, 40, 0), poll(None, 0, 0), poll(nobody, 40, 0)])\n"
        result = run("--poll", sys.executable, "-c", poller,
                     env=environment(XPOLL_POLL_MIN="0", XPOLL_POLL_AFTER="0"))
        self.check(result, 0, "[0, 0, 0]\n")

    def test_long_program_name_is_cut_in_the_statistics(self):
        with tempfile.TemporaryDirectory() as folder:
            link = os.path.join(folder, "x" * 250)
            os.symlink(sys.executable, link)
            result = run("--poll", "--stats", link, "-c", POLLER)
        self.check(result, 0, "fine\n", r"xpoll-poll: x{64}\[\d+\]: .* found late\n")

    def test_child_that_does_not_call_tells_no_statistics(self):
        poller = POLLER + "import sys\nsys.stdout.flush()\n" \
            "if os.fork() != 0:\n    assert os.wait()[1] == 0\n"
        result = run("--poll", "--stats", sys.executable, "-c", poller)
        self.check(result, 0, "fine\n", r"xpoll-poll: [^\n]*: 100 calls, [^\n]*\n")

    def test_statistics_that_nobody_reads_change_nothing(self):
        poller = "import signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\n" + POLLER
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb") as stderr:
            for more in ({"stderr": stderr}, {"preexec_fn": lambda: os.close(2)}):
                with self.subTest(**more):
                    result = subprocess.run(
                        [TOOL, "run", "--poll", "--stats", sys.executable, "-c", poller],
                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                        env=environment(), timeout=50, **more)
                    self.assertEqual((result.returncode, result.stdout), (0, "fine\n"))

    def test_program_that_is_not_there_is_127(self):
        self.check(run("--poll", "/no/such/program"), 127, "",
                   "xpoll run: /no/such/program: No such file or directory\n")
        self.check(run("--poll", "no-such-program-at-all"), 127, "",
                   "xpoll run: no-such-program-at-all: No such file or directory\n")

    def test_program_that_cannot_be_executed_is_126(self):
        with tempfile.NamedTemporaryFile() as file:
            self.check(run("--poll", file.name), 126, "",
                       f"xpoll run: {file.name}: Permission denied\n")

    def test_wrong_arguments_are_named(self):
        hint = r"\nTry 'xpoll run --help'\.\n"
        for args, said in ((["true"], "--poll is missing: .*"),
                           (["--poll"], "expected a program"),
                           (["--poll", "--"], "expected a program"),
                           (["--kueue", "true"], "--kueue: no such option")):
            with self.subTest(args=args):
                self.check(run(*args), 2, "", f"xpoll run: {said}{hint}")

    def test_help_tells_usage_and_options(self):
        result = run("--help")
        self.assertTrue(result.stdout.startswith("usage: xpoll run --poll"))
        self.assertIn("--stats", result.stdout)

    def test_signals_are_as_they_were(self):
        result = run("--poll", "sh", "-c", "kill -PIPE $$")
        self.assertEqual(result.returncode, -signal.SIGPIPE)

    def test_static_program_is_said_to_be_out_of_reach(self):
        source = "int main(void) { return 5; }\n"
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "static")
            built = subprocess.run(["cc", "-static", "-x", "c", "-", "-o", program],
                                   input=source, text=True, capture_output=True)
            if built.returncode != 0:
                self.skipTest("no static C library")
            self.check(run("--poll", program), 5, "",
                       f"xpoll run: {program} is statically linked, .*\n")
            # The interpreter of a script counts, also if env(1) finds it.
            for line in (f"#!{program}", f"#! {program} -x", "#!/usr/bin/env static",
                         "#!/usr/bin/env -S static -x"):
                with self.subTest(line=line):
                    script = os.path.join(folder, "script")
                    with open(script, "w") as file:
                        file.write(line + "\n")
                    os.chmod(script, 0o755)
                    path = folder + ":" + os.environ["PATH"]
                    self.check(run("--poll", script, env=environment(PATH=path)), 5, "",
                               f"xpoll run: {program} is statically linked, .*\n")

    def test_set_user_id_program_is_said_to_be_out_of_reach(self):
        if os.getuid() == 0:
            self.skipTest("to root no program of root's is another user's")
        su = "/bin/su"
        if not os.path.exists(su) or not os.stat(su).st_mode & 0o4000:
            self.skipTest("no set-user-ID program here")
        result = run("--poll", su, "--version")
        self.assertEqual(result.returncode, 0)
        self.assertIn("runs as another user", result.stderr)


class Library(unittest.TestCase):
    def symbols(self, kind):
        out = subprocess.run(["nm", "-D", "-P", kind, LIBRARY], text=True, check=True,
                             capture_output=True).stdout
        return {re.split("[@ ]", line)[0] for line in out.splitlines()}

    def test_exports_are_what_it_replaces(self):
        self.assertEqual(self.symbols("--defined-only"), REPLACED | {"xpoll_poll_syscalls"})

    def test_nothing_that_it_replaces_is_called_by_name(self):
        relocations = subprocess.run(["readelf", "-r", "--wide", LIBRARY], text=True,
                                     check=True, capture_output=True).stdout
        called = set(re.findall(r"_(?:JUMP_SLOT?|GLOB_DAT?)\s+\S+\s+(\w+)", relocations))
        self.assertIn("dlsym", called)
        self.assertEqual(called & REPLACED, set())

    def test_it_needs_nothing_but_the_c_library(self):
        out = subprocess.run(["readelf", "-d", LIBRARY], text=True, check=True,
                             capture_output=True).stdout
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", out))
        self.assertTrue(needed <= {"libc.so.6", "libc.so", "libdl.so.2", "libpthread.so.0"},
                        needed)


if __name__ == "__main__":
    xt.main()
