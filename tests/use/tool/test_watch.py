"""xpoll watch: its arguments, its output, how it ends, and the sources that are
one registration each.

Goal: every event that happens is printed, once, with what is known of it; every
mistake is named; it ends when it should and leaves nothing behind.  Method: the
program that $XPOLL_TOOL names watches what the test does.
"""

import os
import pty
import resource
import signal
import socket
import subprocess
import time
import unittest

import xt
from watching import LIMIT_S, TOOL, WatchTest, environment

NAMELESS = 987654321  # no process has this id: it is beyond every pid_max


class WatchArguments(WatchTest):
    # arguments, and what the message must say
    TABLE = [
        ([], "expected something to watch"),
        (["-r"], "expected something to watch"),
        (["--frobnicate"], "--frobnicate: no such option"),
        ([""], "unexpected argument ''"),
        (["/no/such/path"], "/no/such/path: No such file or directory"),
        (["--file"], "--file needs a value: PATH"),
        (["--file="], "--file needs a value: PATH"),
        (["--file", "/no/such/path"], "--file /no/such/path: No such file"),
        (["--file", "/"], "--file /: a directory; watch it with --dir"),
        (["--dir", "/no/such/path"], "--dir /no/such/path: No such file"),
        (["--dir", TOOL], f"--dir {TOOL}: Not a directory"),
        (["--pid", "0"], "--pid 0: expected a process id"),
        (["--pid", "-1"], "--pid -1: expected a process id"),
        (["--pid", "init"], "--pid init: expected a process id"),
        (["--pid", "1x"], "--pid 1x: expected a process id"),
        (["--pid", "9" * 30], "expected a process id"),
        (["--pid", str(NAMELESS)], f"--pid {NAMELESS}: no such process"),
        (["--signal", "FROB"], "--signal FROB: expected a signal such as HUP"),
        (["--signal", "hup"], "--signal hup: expected a signal such as HUP"),
        (["--signal", "0"], "--signal 0: expected a signal"),
        (["--signal", "65"], "--signal 65: expected a signal"),
        (["--signal", "RTMIN+99"], "--signal RTMIN+99: expected a signal"),
        (["--signal", "KILL"], "--signal KILL: no process can catch"),
        (["--signal", "SIGSTOP"], "--signal SIGSTOP: no process can catch"),
        (["--timer", "0"], "--timer 0: expected a time from 1ms"),
        (["--timer", "-1s"], "--timer -1s: expected a time"),
        (["--timer", "1us"], "--timer 1us: expected a time from 1ms"),
        (["--timer", "5 ms"], "--timer 5 ms: expected a time"),
        (["--timer", "5x"], "--timer 5x: expected a time"),
        (["--timer", "ms"], "--timer ms: expected a time"),
        (["--timer", "1.2.3s"], "--timer 1.2.3s: expected a time"),
        (["--timer", "infs"], "--timer infs: expected a time"),
        (["--timer", "1e9"], "--timer 1e9: expected a time"),
        (["--timer", "9999h"], "--timer 9999h: expected a time from 1ms to 8784h"),
        (["--fd", "zero"], "--fd zero: expected the number of a descriptor"),
        (["--fd", "-1"], "--fd -1: expected the number of a descriptor"),
        (["--fd", "9" * 30], "expected the number of a descriptor"),
        (["--fd", "999"], "--fd 999: not an open descriptor"),
        (["--listen", "http"], "--listen http: expected a port from 0 to 65535"),
        (["--listen", "65536"], "--listen 65536: expected a port"),
        (["--listen", "localhost:80"], "--listen localhost:80: expected a port"),
        (["--listen", "127.0.0.1:"], "--listen 127.0.0.1:: expected a port"),
        (["--listen", "::1:x"], "--listen ::1:x: expected a port"),
        (["--listen", "192.0.2.1:0"], "--listen 192.0.2.1:0: Cannot assign"),
        (["--exec"], "--exec needs a value: CMD..."),
        (["--exec=true"], "--exec=true: --exec takes no value"),
        (["--json=yes"], "--json=yes: --json takes no value"),
        (["-rx"], "-rx: no such option -x"),
        (["--events", "made", "."], "--events: 'made' is not an event; known are"),
        (["--events", "write,", "."], "--events: '' is not an event"),
        (["--events=", "."], "--events needs a value: LIST"),
        (["--exclude=", "."], "--exclude needs a value: GLOB"),
        (["--run=", "."], "--run needs a value: CMD"),
        (["--count", "0", "."], "--count 0: expected a whole number from 1"),
        (["--count", "many", "."], "--count many: expected a whole number"),
        (["--timeout", "soon", "."], "--timeout soon: expected a time such as 500ms"),
        (["--timeout", "0", "."], "--timeout 0: expected a time"),
    ]

    def test_bad_arguments_are_named_with_exit_code_2(self):
        for args, message in self.TABLE:
            with self.subTest(args=args):
                result = self.run_watch(*args)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertTrue(result.stderr.startswith("xpoll watch: " + message) or
                                message in result.stderr.splitlines()[0],
                                result.stderr)

    def test_two_dashes_end_the_options(self):
        result = self.run_watch("--", "--file")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("--file: No such file or directory", result.stderr)


class WatchOutput(WatchTest):
    """One line for each event, in both forms."""

    def test_text_has_time_source_events_and_subject(self):
        reader, writer = os.pipe()
        watch = self.watch("--fd", str(reader), json_lines=False, pass_fds=[reader])
        os.write(writer, b"x")
        self.assertRegex(watch.next(), rf"^\d\d:\d\d:\d\d\.\d\d\d  fd       read.*"
                         rf"  {reader}$")
        os.close(writer)
        os.close(reader)
        self.assertIn("eof", watch.next())
        self.check_end(watch)

    def test_json_has_the_same_and_the_time(self):
        reader, writer = os.pipe()
        watch = self.watch("--fd", str(reader), pass_fds=[reader])
        before = time.time()
        os.write(writer, b"x")
        line = watch.next()
        self.assertLessEqual(before - 0.001, line.pop("time"))
        line.pop("bytes", None)
        self.assertEqual(line, {"source": "fd", "events": ["read"], "fd": reader})
        os.close(writer)
        os.close(reader)
        watch.until("eof", fd=reader)
        self.check_end(watch)

    def on_terminal(self, **more):
        """A line of text, as a terminal gets it."""
        ours, theirs = pty.openpty()
        try:
            watch = self.watch("--timer", "10ms", "--count", "1", json_lines=False, stdout=theirs,
                               env=environment(**{"TERM": "xterm", "NO_COLOR": "", **more}))
            self.assertEqual(watch.child.wait(LIMIT_S), 0)
            return os.read(ours, 4096)
        finally:
            os.close(theirs)
            os.close(ours)

    def test_colours_are_for_terminals_whose_user_wants_them(self):
        self.assertRegex(self.on_terminal(),
                         rb"^\x1b\[2m[\d:.]+\x1b\[0m  timer +\x1b\[1m\w+ .*\x1b\[0m")
        for settings in {"NO_COLOR": "1"}, {"TERM": "dumb"}:
            with self.subTest(settings=settings):
                line = self.on_terminal(**settings)
                self.assertRegex(line, rb"^[\d:.]+  timer +\w+ ")
                self.assertNotIn(b"\x1b", line)

    def test_quiet_prints_nothing(self):
        reader, writer = os.pipe()
        os.close(writer)
        result = self.run_watch("-q", "--fd", "0", stdin=reader)
        os.close(reader)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))


class WatchEnd(WatchTest):
    """What ends it, and with which exit code."""

    def idle(self, *args, **more):
        """A watch of a descriptor on which nothing happens."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, writer)
        watch = self.watch(*args, "--fd", str(reader), pass_fds=[reader], **more)
        os.close(reader)
        return watch

    def test_signals_end_it_by_that_signal(self):
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            with self.subTest(number=number):
                self.check_end(self.idle(), -number, number=number)

    def test_interrupt_from_the_terminal_ends_it(self):
        ours, theirs = pty.openpty()
        watch = self.watch("--fd", "0", stdin=theirs, start_new_session=True,
                           preexec_fn=lambda: make_terminal(theirs))
        os.close(theirs)
        os.write(ours, b"\x03")
        self.check_end(watch, -signal.SIGINT)
        os.close(ours)

    def test_ignored_signal_stays_ignored(self):
        watch = self.idle(preexec_fn=lambda: signal.signal(signal.SIGHUP,
                                                           signal.SIG_IGN))
        watch.child.send_signal(signal.SIGHUP)
        self.check_end(watch, -signal.SIGTERM, number=signal.SIGTERM)

    def test_count_ends_it_with_0(self):
        reader, writer = os.pipe()
        watch = self.watch("--count", "2", "--fd", str(reader), pass_fds=[reader])
        for _ in range(2):
            os.write(writer, b"x")
            watch.until("read")
        self.check_end(watch)
        os.close(reader)
        os.close(writer)

    def test_timeout_is_0_unless_events_were_to_be_counted(self):
        self.check_end(self.idle("--timeout", "10ms"))
        self.check_end(self.idle("--timeout", "10ms", "--count", "1"), 3)

    def test_reader_that_goes_away_ends_it_though_nothing_happens(self):
        for make in os.pipe, lambda: [s.detach() for s in socket.socketpair()]:
            with self.subTest(make=make):
                reader, writer = make()
                watch = self.idle(stdout=writer)
                os.close(writer)
                os.close(reader)
                self.check_end_without_output(watch, 1)

    def check_end_without_output(self, watch, code):
        self.assertEqual(watch.child.wait(LIMIT_S), code)
        self.assertEqual(watch.said + watch.child.stderr.read(),
                         b"xpoll watch: ready\n")

    def test_signal_ends_it_while_its_output_is_stuck(self):
        inputs, writer = os.pipe()
        reader, output = os.pipe()
        os.set_blocking(output, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(output, bytes(4096))
        os.set_blocking(output, True)
        watch = self.watch("--fd", str(inputs), stdout=output, pass_fds=[inputs])
        os.write(writer, b"x")
        self.wait_for(lambda: self.writes(watch.child.pid))
        watch.child.send_signal(signal.SIGTERM)
        self.check_end_without_output(watch, -signal.SIGTERM)
        for fd in inputs, writer, reader, output:
            os.close(fd)

    def writes(self, pid):
        """Is a process in a system call whose first argument is descriptor 1?"""
        try:
            with open(f"/proc/{pid}/syscall") as file:
                return file.read().split()[1:2] == ["0x1"]
        except OSError as error:
            self.skipTest(f"cannot see what a process does: {error}")

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full_disk_is_told_and_ends_it(self):
        for option in "--json", "--events=write":
            with self.subTest(option=option), open("/dev/full", "w") as full, \
                    open(os.devnull) as null:
                result = self.run_watch(option, "--fd", "0", stdin=null, stdout=full)
                self.assertEqual(result.returncode, 1)
                self.assertEqual(result.stderr, "xpoll watch: ready\nxpoll: cannot "
                                 "write to standard output: No space left on device\n")

    def test_closed_output_is_told_and_ends_it(self):
        result = subprocess.run(
            ["sh", "-c", f"exec {TOOL} watch --fd 0 </dev/null >&-"],
            stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, env=environment())
        self.assertEqual(result.returncode, 1)
        self.assertIn("xpoll: cannot write to standard output", result.stderr)

    def test_too_few_descriptors_are_told(self):
        result = self.run_watch("--listen", "0", preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (5, 5)))
        self.assertIn(result.returncode, (1, 2))
        self.assertRegex(result.stderr, "[Tt]oo many open files")


def make_terminal(fd):
    """fd becomes the controlling terminal of this session."""
    import fcntl
    import termios
    fcntl.ioctl(fd, termios.TIOCSCTTY, 0)


class WatchFd(WatchTest):
    def test_each_arrival_is_told_then_the_end(self):
        ours, theirs = socket.socketpair()
        watch = self.watch("--fd", str(theirs.fileno()), pass_fds=[theirs.fileno()])
        for _ in range(3):
            ours.send(b"x")
            watch.until("read", fd=theirs.fileno())
        ours.close()
        watch.until("eof", fd=theirs.fileno())
        self.check_end(watch)
        self.assertEqual(len(watch.seen), 4)
        self.assertEqual(theirs.recv(10), b"xxx")  # nothing was consumed
        theirs.close()

    def test_a_terminal_that_hangs_up_has_sent_nothing(self):
        master, slave = os.openpty()
        watch = self.watch("--fd", str(slave), pass_fds=[slave])
        os.close(master)
        self.assertEqual(watch.next()["events"], ["eof"])
        self.check_end(watch)
        os.close(slave)

    def test_several_end_one_by_one(self):
        pipes = [os.pipe() for _ in range(3)]
        options = sum((["--fd", str(reader)] for reader, _ in pipes), [])
        watch = self.watch(*options, pass_fds=[reader for reader, _ in pipes])
        for reader, writer in pipes:
            os.close(writer)
            watch.until("eof", fd=reader)
            os.close(reader)
        self.check_end(watch)


class WatchTimer(WatchTest):
    def test_timers_go_on_and_are_never_early(self):
        before = time.monotonic()
        watch = self.watch("--timer", "2ms", "--timer", "0.1s", "--count", "100")
        lines = watch.rest()
        elapsed = time.monotonic() - before
        self.check_end(watch)
        counts = {"2ms": 0, "0.1s": 0}
        for line in lines:
            self.assertEqual((line["source"], line["events"]), ("timer", ["expire"]))
            counts[line["timer"]] += line["count"]
        self.assertTrue(90 < counts["2ms"] <= elapsed / 0.002, counts)
        self.assertTrue(1 <= counts["0.1s"] <= elapsed / 0.1, counts)

    def test_count_ends_a_timer(self):
        watch = self.watch("--timer", "1ms", "--count", "5")
        self.assertEqual(len(watch.rest()), 5)
        self.check_end(watch)


class WatchSignal(WatchTest):
    def test_signals_are_told_and_do_not_end_it(self):
        names = ["HUP", "INT", "SIGUSR1", "CHLD", "WINCH", "TSTP", "RTMIN+3", "12"]
        numbers = [signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGCHLD,
                   signal.SIGWINCH, signal.SIGTSTP, signal.SIGRTMIN + 3, 12]
        told = ["HUP", "INT", "USR1", "CHLD", "WINCH", "TSTP", "RTMIN+3", "USR2"]
        watch = self.watch(*sum((["--signal", name] for name in names), []))
        for number, name in zip(numbers, told):
            watch.child.send_signal(number)
            self.assertEqual(watch.until("deliver", signal=name)[-1]["count"], 1)
        self.check_end(watch, -signal.SIGTERM, number=signal.SIGTERM)
        self.assertEqual(len(watch.seen), len(names))

    def test_blocked_and_ignored_signals_are_told_too(self):
        def prepare():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
            signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        watch = self.watch("--signal", "USR1", "--signal", "USR2", preexec_fn=prepare)
        for number, name in (signal.SIGUSR1, "USR1"), (signal.SIGUSR2, "USR2"):
            watch.child.send_signal(number)
            watch.until("deliver", signal=name)
        self.check_end(watch, -signal.SIGTERM, number=signal.SIGTERM)

    def test_many_realtime_signals_are_all_counted(self):
        watch = self.watch("--signal", "RTMIN")
        for _ in range(200):
            watch.child.send_signal(signal.SIGRTMIN)
        count = 0
        while count < 200:
            count += watch.until("deliver")[-1]["count"]
        self.assertEqual(count, 200)
        self.check_end(watch, -signal.SIGTERM, number=signal.SIGTERM)

    def test_without_the_option_a_signal_has_its_default_action(self):
        watch = self.watch("--signal", "HUP")
        self.check_end(watch, -signal.SIGUSR1, number=signal.SIGUSR1)


class WatchListen(WatchTest):
    def listen(self, *args, **more):
        watch = self.watch("--listen", *args, **more)
        watch.wait_said("listening on ")
        first = watch.said.decode().splitlines()[0]
        host, port = first.split(" on ")[1].rsplit(":", 1)
        self.address = f"{host}:{port}"
        watch.said = watch.said.replace(first.encode() + b"\n", b"")
        return watch, (host.strip("[]"), int(port))

    def test_connections_are_told_with_their_bytes(self):
        watch, address = self.listen("0")
        self.assertEqual(address[0], "127.0.0.1")
        client = socket.create_connection(address, LIMIT_S)
        peer = "%s:%d" % client.getsockname()
        self.assertEqual(watch.until("accept")[-1]["peer"], peer)
        client.sendall(bytes(100000))
        total = 0
        while total < 100000:
            line = watch.until("read", peer=peer, address=self.address)[-1]
            total += line["bytes"]
        self.assertEqual(total, 100000)
        client.close()
        watch.until("close", peer=peer)
        self.check_end(watch, -signal.SIGINT, number=signal.SIGINT)

    def test_reset_is_told_as_the_error(self):
        watch, address = self.listen("127.0.0.1:0")
        client = socket.create_connection(address, LIMIT_S)
        watch.until("accept")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
        watch.until("close", error="Connection reset by peer")
        self.check_end(watch, -signal.SIGTERM, number=signal.SIGTERM)

    def test_port_in_use_is_told(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = str(other.getsockname()[1])
            result = self.run_watch("--listen", port)
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (2, "", f"xpoll watch: --listen {port}: "
                                 "Address already in use\n"))

    def test_ipv6_has_brackets(self):
        try:
            with socket.socket(socket.AF_INET6) as other:
                other.bind(("::1", 0))
        except OSError as error:
            self.skipTest(f"no IPv6 here: {error}")
        watch, address = self.listen("[::1]:0")
        socket.create_connection(address, LIMIT_S).close()
        self.assertRegex(watch.until("accept")[-1]["peer"], r"^\[::1\]:\d+$")
        watch.until("close")
        self.check_end(watch, -signal.SIGTERM, number=signal.SIGTERM)

    def test_no_descriptor_for_a_connection_waits_for_one(self):
        watch, address = self.listen("0", preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (16, 16)))
        clients = [socket.create_connection(address, LIMIT_S) for _ in range(16)]
        watch.wait_said("cannot accept: too many open files")
        accepted = {line["peer"] for line in watch.seen} | {
            watch.next()["peer"] for _ in range(1)}
        self.assertLess(len(accepted), 16)
        for client in clients:
            client.close()
        closed = set()
        while len(closed) < 16:
            line = watch.next()
            if "close" in line["events"]:
                closed.add(line["peer"])
        watch.child.send_signal(signal.SIGTERM)
        watch.child.wait(LIMIT_S)


if __name__ == "__main__":
    xt.main()
