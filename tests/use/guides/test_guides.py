"""The code of README, the guides and the tutorial, as it stands on the pages.

Goal: each block compiles by the line that the pages print, against an installed library, and
does what its page says.  Method: install into a temporary prefix; take the blocks from the pages;
a program is used with real clients, files and signals, a fragment by a driver of this folder
that is put behind it.  blocks.py says which test runs which block, and that none is left out.

usage: test_guides.py BUILD_FOLDER
"""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import blocks
import xt

HERE = os.path.dirname(os.path.abspath(__file__))
CONSUMER = os.path.join(HERE, os.pardir, "install", "consumer")
BUILD = sys.argv.pop(1)
LINE = "cc -std=c11 prog.c $(pkg-config --cflags --libs xpoll)\n"
LINE_TUTORIAL = "cc -std=c11 -pthread echo.c -o echo $(pkg-config --cflags --libs xpoll)\n"
LINE_CPP = "c++ -std=c++20 prog.cpp $(pkg-config --cflags --libs xpoll)\n"
COMPILES = re.compile(r"^(cc|c\+\+) ")
PORT = re.compile(r"\b7000\b")
TRIES = 20  # another process may take the port
# The header, the function and a call of it that a program of another system checks for.
DROP_INS = {"kqueue": ("sys/event.h", "kqueue", "kqueue()"),
            "epoll": ("sys/epoll.h", "epoll_create1", "epoll_create1(0)")}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Guides(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = os.path.join(folder.name, "prefix")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True,
                       stdout=subprocess.DEVNULL)
        (cls.libraries,) = {path for path, _, names in os.walk(cls.prefix)
                            if "libxpoll.so" in names}
        tools = os.path.join(folder.name, "tools")
        os.mkdir(tools)
        compiler = shutil.which(shlex.split(os.environ.get("CC", "cc"))[0])
        os.symlink(compiler, os.path.join(tools, "cc"))
        cls.environment = {
            **os.environ,
            "PATH": os.pathsep.join([tools, f"{cls.prefix}/bin", os.environ["PATH"]]),
            "PKG_CONFIG_PATH": os.path.join(cls.libraries, "pkgconfig"),
            "CMAKE_PREFIX_PATH": cls.prefix, "LD_LIBRARY_PATH": cls.libraries}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def shell(self, line, folder="."):
        """Run a line of a page; what it prints."""
        result = subprocess.run(["sh", "-euc", line], cwd=self.path(folder), text=True,
                                env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, timeout=xt.LIMIT_S)
        self.assertEqual(result.returncode, 0, f"{line}\n{result.stdout}")
        return result.stdout

    def compile(self, text, line=LINE, name="prog.c"):
        self.write(name, text)
        self.shell(line.replace(" prog.c", " -Wall -Wextra -Werror -pthread prog.c"))

    def start(self, *words):
        """What it prints comes line by line, as on a terminal."""
        child = subprocess.Popen(
            ["stdbuf", "-oL", *(words or [self.path("a.out")])], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment, cwd=self.folder)
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        return child

    def ends(self, child, text=b""):
        """Write that and close; what the program has printed when it ended without error."""
        out, err = child.communicate(text, timeout=xt.LIMIT_S)
        self.assertEqual((child.returncode, err), (0, b""), out)
        return out

    def drive(self, driver, block):
        """Compile the block with the driver behind it, which has to end without error."""
        suffix = driver.rpartition(".")[2]
        shutil.copy(os.path.join(HERE, "drive.h"), self.folder)
        with open(os.path.join(HERE, driver), encoding="utf-8") as file:
            self.compile(block.text + file.read(), LINE if suffix == "c" else LINE_CPP,
                         f"prog.{suffix}")
        child = self.start()
        out, err = child.communicate(timeout=xt.LIMIT_S)
        self.assertEqual(child.returncode, 0, err)
        return out, err

    # The poll-like level, the modes, errors.

    def run_ten_lines(self, block):
        self.compile(block.text)
        self.assertEqual(self.ends(self.start(), b"hello\n"), b"hello\n")

    def run_level(self, block):
        self.drive("level.c", block)

    def run_edge(self, block):
        self.drive("edge.c", block)

    def run_one_shot(self, block):
        self.drive("one_shot.c", block)

    def run_dispatch(self, block):
        self.drive("dispatch.c", block)

    def run_edge_to_level(self, block):
        self.drive("edge_to_level.c", block)

    def run_want_write(self, block):
        self.drive("want_write.c", block)

    def run_add_reader(self, block):
        _, err = self.drive("add_reader.c", block)
        self.assertRegex(err, rb"^fd \d+: Bad file descriptor\n")

    # Whole programs.

    def served(self, block):
        """A connection to the server of the block, which has a port of its own here."""
        self.assertEqual(len(PORT.findall(block.text)), 1)
        for _ in range(TRIES):
            port = free_port()
            self.compile(PORT.sub(str(port), block.text))
            child = self.start()
            while child.poll() is None:
                try:
                    return port, socket.create_connection(("127.0.0.1", port), xt.LIMIT_S)
                except ConnectionRefusedError:
                    time.sleep(0.01)  # it has not called listen yet
        raise AssertionError(f"the server does not start: {child.communicate()}")

    def run_echo_server(self, block):
        port, first = self.served(block)
        others = [socket.create_connection(("127.0.0.1", port), xt.LIMIT_S) for _ in range(20)]
        for round_ in range(3):
            for i, one in enumerate([first, *others]):
                one.sendall(b"%d of %d" % (round_, i))
            for i, one in enumerate([first, *others]):
                self.assertEqual(one.recv(100), b"%d of %d" % (round_, i))
        for one in [first, *others]:
            one.close()

    def run_from_kqueue(self, block):
        self.compile(block.text)
        child = self.start()
        child.stdin.write(b"x")
        child.stdin.flush()
        seen = {child.stdout.readline() for _ in range(2)}
        self.assertEqual(seen, {b"tick\n", b"stdin\n"})
        child.stdin.write(b"y")
        child.stdin.flush()
        while child.stdout.readline() != b"stdin\n":
            pass  # a tick
        self.assertIn(b"stdin\n", self.ends(child))

    def run_callbacks(self, block):
        self.compile(block.text)
        for number in None, signal.SIGINT:
            child = self.start()
            child.stdin.write(b"hello\n")
            child.stdin.flush()
            self.assertEqual(child.stdout.readline().lstrip(b"."), b"hello\n")
            self.assertEqual(child.stdout.read(1), b".")  # a second is over
            if number is None:
                self.assertRegex(self.ends(child), rb"^\.*$")
            else:
                child.send_signal(number)
                self.assertEqual(child.wait(xt.LIMIT_S), 0)

    def run_pool(self, block):
        self.compile(block.text)
        self.assertEqual(self.ends(self.start()), b"pipe 0: 1000 messages\n")

    def run_pool_poll(self, block):
        self.compile(block.text)
        self.assertEqual(self.ends(self.start()), b"200000 bytes\n")

    # The lines of the tutorial, typed at a shell.

    def typed(self, block, name, *awaited):
        """What is printed; instead of each sleep, wait until as many lines match the next word."""
        shutil.copy(blocks.ROOT / "examples/tutorial" / f"{name}.c", self.folder)
        self.shell(LINE_TUTORIAL.replace("echo", name))
        lines = block.text
        self.assertEqual(lines.count("sleep 2"), len(awaited))
        for word, count in awaited:
            lines = lines.replace("sleep 2", f"until [ $(grep -c '{word}' out) -ge {count} ]; "
                                  "do sleep 0.02; done", 1)
        self.shell(f">out\n{{ {lines}wait\n}} >out 2>&1")
        with open(self.path("out"), encoding="utf-8") as out:
            return out.read()

    def run_tutorial_ticks(self, block):
        out = self.typed(block, "ticks", ("tick", 1), ("hang-up", 1))
        self.assertTrue(out.endswith("terminated\n"), out)

    def run_tutorial_rerun(self, block):
        out = self.typed(block, "rerun", ("exit status 0", 1), ("exit status 0", 2))
        self.assertTrue(out.endswith("notes.txt was deleted\n"), out)

    def run_tutorial_copy(self, block):
        self.assertEqual(self.typed(block, "copy"), "")

    # C++.

    def with_cpp(self):
        program = "#include <coroutine>\n#include <chrono>\nint main() {}\n"
        if shutil.which("c++") is None or subprocess.run(
                ["c++", "-std=c++20", "-fsyntax-only", "-xc++", "-"], input=program, text=True,
                capture_output=True).returncode != 0:
            self.skipTest("no compiler of C++20")

    def run_cpp_events(self, block):
        self.with_cpp()
        self.compile(block.text, LINE_CPP, "prog.cpp")
        child = self.start()
        self.assertIn(b"TIMER", child.stdout.readline())
        self.assertIn(b"READ", self.ends(child, b"x"))

    def run_cpp_resume(self, block):
        self.with_cpp()
        self.assertEqual(self.drive("resume.cpp", block)[0], b"1\n")

    def run_cpp_poll(self, block):
        self.with_cpp()
        self.assertEqual(self.drive("poll.cpp", block)[0], b"a\n")

    def run_cpp_give_up(self, block):
        self.with_cpp()
        self.compile(block.text, LINE_CPP, "prog.cpp")
        self.assertEqual(self.ends(self.start(), b"hello\n"), b"hello\n")
        child = self.start()
        self.assertEqual(child.stdout.read(), b"nothing came\n")
        self.assertEqual(child.wait(xt.LIMIT_S), 0)

    # Command lines, and the files of build tools.

    def run_installed(self, block):
        out = self.shell(block.text)
        self.assertIn("epoll", out)
        self.assertRegex(out, r"(?m)^\d+\.\d+\.\d+$")

    def run_labels(self, block):
        """Tests of each label are there.

        CTest writes a log into the folder that it is asked about, even to list tests.  That of
        the build is the log of the suite that runs this test, so another folder includes it.
        """
        with open(self.path("CTestTestfile.cmake"), "w", encoding="utf-8") as file:
            file.write(f"subdirs([[{BUILD}]])\n")
        line = block.text.replace("--test-dir build", f"-N --test-dir {shlex.quote(self.folder)}")
        for kind in "unit", "contract", "source":
            self.assertIn(f": {kind}.", self.shell(line))

    def run_pages_queue(self, block):
        compiled, started, asked = block.text.splitlines()
        self.assertEqual((started, asked),
                         ("./a.out 10000 7000 &", "echo please | nc 127.0.0.1 7000 | wc -c"))
        for name in "pages-queue.c", "loopback.c", "loopback.h":
            shutil.copy(blocks.ROOT / "examples" / name, self.folder)
        self.shell(compiled)
        child = self.start(self.path("a.out"), "10000", "0")
        port = int(child.stdout.readline().rpartition(b" ")[2])
        with socket.create_connection(("127.0.0.1", port), xt.LIMIT_S) as client:
            client.sendall(b"please\n")
            self.assertGreater(sum(map(len, iter(lambda: client.recv(1 << 20), b""))), 1 << 20)

    def drop_in_program(self, name):
        shutil.copy(os.path.join(CONSUMER, f"{name}.c"), self.path("prog.c"))

    def run_drop_in(self, name, program):
        self.shell(program)
        # On Linux the program would run without the drop-in as well.
        if name == "epoll" and sys.platform == "linux":
            self.assertIn("U xpoll_epoll_ctl", self.shell(f"nm {program}"))

    def by_hand(self, name, block):
        self.drop_in_program(name)
        self.shell(block.text)
        self.run_drop_in(name, "./a.out")

    def by_configure(self, name, block):
        """A configure script as Autoconf's: the header by CPPFLAGS, the function by LIBS."""
        header, function, _ = DROP_INS[name]
        self.drop_in_program(name)
        self.write("configure", f"""#!/bin/sh
for word; do
	case $word in CPPFLAGS=*) CPPFLAGS=${{word#*=}} ;; LIBS=*) LIBS=${{word#*=}} ;; esac
done
printf '#include <{header}>\\n' | cc -E $CPPFLAGS - >/dev/null || exit 1
printf 'char {function}(); int main() {{ return {function}(); }}' |
	cc -xc -w - -o conftest $LIBS || exit 1
cc $CPPFLAGS prog.c -o prog $LIBS
""")
        os.chmod(self.path("configure"), 0o755)
        self.shell(block.text)
        self.run_drop_in(name, "./prog")

    def by_cmake(self, name, block):
        self.cmake_program(block.text, f"{name}.c")
        self.run_drop_in(name, "build/prog")

    def by_cmake_unchanged(self, name, block):
        """A project that does not know of this library, and checks for the function."""
        header, function, call = DROP_INS[name]
        self.drop_in_program(name)
        self.write("CMakeLists.txt", f"""cmake_minimum_required(VERSION 3.20)
project(guide C)
include(CheckSymbolExists)
include(CheckCSourceRuns)
check_symbol_exists({function} "{header}" HAVE_IT)
check_c_source_runs("#include <{header}>
int main(void) {{ return {call} < 0; }}" IT_RUNS)
if(NOT HAVE_IT OR NOT IT_RUNS)
  message(FATAL_ERROR "no {function}")
endif()
add_executable(prog prog.c)
""")
        self.shell(f"{block.text}cmake --build build")
        self.run_drop_in(name, "build/prog")

    def by_meson(self, name, block):
        self.meson_program(block.text, f"{name}.c")
        self.run_drop_in(name, "build/prog")

    def run_kqueue_by_hand(self, block):
        self.by_hand("kqueue", block)

    def run_kqueue_by_configure(self, block):
        self.by_configure("kqueue", block)

    def run_kqueue_by_cmake(self, block):
        self.by_cmake("kqueue", block)

    def run_kqueue_by_cmake_unchanged(self, block):
        self.by_cmake_unchanged("kqueue", block)

    def run_kqueue_by_meson(self, block):
        self.by_meson("kqueue", block)

    def run_epoll_by_hand(self, block):
        self.by_hand("epoll", block)

    def run_epoll_by_archive(self, block):
        self.drop_in_program("epoll")
        self.shell(block.text)
        self.shell("./a.out")
        self.assertIn(" xpoll_epoll_ctl", self.shell("nm ./a.out"))

    def run_epoll_by_configure(self, block):
        self.by_configure("epoll", block)

    def run_epoll_by_cmake(self, block):
        self.by_cmake("epoll", block)

    def run_epoll_by_cmake_unchanged(self, block):
        self.by_cmake_unchanged("epoll", block)

    def run_epoll_by_meson(self, block):
        self.by_meson("epoll", block)

    def cmake_program(self, lines, program):
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(guide C)\n"
                   f"add_executable(prog prog.c)\n{lines}")
        shutil.copy(os.path.join(CONSUMER, program), self.path("prog.c"))
        self.shell("cmake -G Ninja -B build && cmake --build build && build/prog")

    def run_packaging_cmake(self, block):
        self.cmake_program(block.text, "main.c")

    def meson_program(self, lines, program):
        if not shutil.which("meson"):
            self.skipTest("meson is not installed")
        shutil.copy(os.path.join(CONSUMER, program), self.path("prog.c"))
        self.write("meson.build", f"project('guide', 'c')\n{lines}")
        self.shell("meson setup build && ninja -C build && build/prog")

    def run_packaging_meson(self, block):
        self.meson_program(block.text, "main.c")

    def run_epoll_over_poll(self, block):
        self.drop_in_program("epoll")
        self.shell(LINE.replace("-std=c11 ", "-o prog ").replace(" xpoll", " xpoll-epoll"))
        self.shell(block.text)

    def run_epoll_over_model(self, block):
        if not os.path.exists(os.path.join(BUILD, "lib/over-epoll/libxpoll-epoll.so.1")):
            self.skipTest("this build has no models of other kernels")
        self.drop_in_program("epoll")
        self.shell(LINE.replace("-std=c11 ", "-o prog ").replace(" xpoll", " xpoll-epoll"))
        self.shell(block.text.replace("/path/to/xpoll/build", shlex.quote(BUILD)))

    def run_kqueue_version(self, block):
        """Lines for a function of a program; the comment says what is printed."""
        self.write("prog.c", "#include <stdio.h>\n#include <sys/event.h>\n"
                   f"int main(void)\n{{\n{block.text}\treturn 0;\n}}\n")
        self.shell(LINE.replace(" xpoll", " xpoll-kqueue"))
        self.assertIn(f"/* {self.shell('./a.out').strip()} */", block.text)

    def test_lines_compile(self):
        """Each line of a page that compiles a program."""
        seen = 0
        for block, runner in blocks.with_runner(blocks.all_blocks(), blocks.TABLE):
            if block is None or runner != "test_guides.py":
                continue
            with self.subTest(page=block.page, line=block.line):
                seen += 1
                compiler = COMPILES.match(block.text)
                self.assertTrue(compiler, block.text)
                source = "prog.cpp" if compiler[1] == "c++" else "prog.c"
                if source == "prog.cpp":
                    self.with_cpp()
                self.write(source, "#include <xpoll.h>\nint main() { return !xpoll_version(); }\n")
                shutil.copy(blocks.ROOT / "examples/tutorial/echo.c", self.folder)
                self.shell(block.text)
                if "echo.c" not in block.text:
                    self.shell("./a.out")
        self.assertGreaterEqual(seen, 5)


def test_of(block, runner):
    def test(self):
        getattr(self, f"run_{runner}")(block)
    return test


# A test for each block.
for found, known in blocks.with_runner(blocks.all_blocks(), blocks.TABLE):
    if found is not None and known and not blocks.in_tree(known):
        page = re.sub(r"\W", "_", os.path.splitext(os.path.basename(found.page))[0])
        name = f"test_{page}_{known}"
        setattr(Guides, name + "_again" * hasattr(Guides, name), test_of(found, known))

if __name__ == "__main__":
    xt.main()
