"""xpoll watch: processes, and the commands it starts itself.

Goal: every fork, exec and end of a tree of processes is printed, the command that
is watched does not notice, and what was started ends with the watch.  Method:
shell and Python programs whose processes the test knows.
"""

from collections import Counter
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

import xt
from watching import LIMIT_S, TOOL, WatchTest, environment

NO_TRACKING = "forks and execs cannot be followed here"


def may_track():
    """Can forks and execs be followed on this system?"""
    result = subprocess.run([TOOL, "watch", "--json", "--exec", "true"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            text=True, timeout=LIMIT_S, env=environment())
    return "no forks and execs" not in result.stderr


NAMESPACE = ["unshare", "--pid", "--fork"]


def has_namespaces():
    """May this user start a process in a namespace of its own?"""
    return subprocess.run([*NAMESPACE, "true"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


class ProcessTest(WatchTest):
    def setUp(self):
        super().setUp()
        self.children = []

    def start(self, *command, **more):
        child = subprocess.Popen(command, stdin=subprocess.PIPE, **more)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.addCleanup(child.stdin.close)
        return child

    def need_tracking(self):
        if not may_track():
            self.skipTest(NO_TRACKING)


class WatchPid(ProcessTest):
    @unittest.skipUnless(shutil.which("unshare") and has_namespaces(),
                         "no namespace of processes can be made here")
    def test_names_are_not_those_of_other_processes(self):
        # In the namespace process 1 is the command, and /proc has another one of this number.
        result = subprocess.run(
            [*NAMESPACE, TOOL, "watch", "--json", "--pid", "1", "--timeout", "1s",
             "--exec", "true"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            timeout=LIMIT_S, env=environment(), check=False)
        with open("/proc/1/cmdline", encoding="utf-8", errors="replace") as file:
            other = file.read().split("\0")[0]
        self.assertIn("process", result.stdout)
        self.assertNotIn(other, result.stdout)

    def test_exit_of_another_process_is_told_and_ends_it(self):
        child = self.start("cat")
        watch = self.watch("--pid", str(child.pid))
        child.stdin.close()
        child.wait()
        line = watch.rest()[-1]
        self.assertEqual((line["source"], line["pid"]), ("process", child.pid))
        self.assertIn("exit", line["events"])
        self.check_end(watch)

    def test_process_that_is_a_zombie_is_told_at_once(self):
        child = self.start("true")
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        watch = self.watch("--pid", str(child.pid))
        self.assertIn("exit", watch.rest()[-1]["events"])
        self.assertEqual(watch.finish()[0], 0)

    def test_forks_and_execs_of_the_process_are_told(self):
        self.need_tracking()
        child = self.start("sh", "-c", "read x; (exit 0); exec cat")
        watch = self.watch("--pid", str(child.pid))
        child.stdin.write(b"\n")
        child.stdin.flush()
        watch.until("fork", pid=child.pid)
        if "exec" not in watch.seen[-1]["events"]:
            watch.until("exec", pid=child.pid)
        child.stdin.close()
        watch.until("exit", pid=child.pid)
        self.assertEqual({line["pid"] for line in watch.seen}, {child.pid})
        self.check_end(watch)

    def test_with_r_children_are_followed(self):
        self.need_tracking()
        child = self.start("sh", "-c", "read x; (exit 3); exit 0")
        watch = self.watch("-r", "--pid", str(child.pid))
        child.stdin.write(b"\n")
        child.stdin.close()
        lines = watch.rest()
        self.assertEqual(len({line["pid"] for line in lines}), 2)
        self.assertTrue([l for l in lines if l.get("parent") == child.pid])
        self.check_end(watch)

    def test_process_that_may_not_be_followed_is_told_with_its_reason(self):
        watch = self.watch("--pid", "1", "--timeout", "10ms")
        watch.rest()
        code, said = watch.finish()
        if code == 0:
            self.skipTest("every process may be followed here")
        self.assertEqual(code, 1)
        self.assertIn("--pid 1: only its end is reported, no forks and execs", said)


class WatchExec(ProcessTest):
    def test_command_is_followed_to_its_end(self):
        watch = self.watch("--exec", "sh", "-c", "exit 3")
        lines = watch.rest()
        self.assertEqual(lines[-1]["status"], 3)
        self.assertEqual({line["pid"] for line in lines}, {lines[0]["pid"]})
        self.assertEqual(watch.finish()[0], 3)

    def test_killed_command_is_told_by_its_signal(self):
        watch = self.watch("--exec", "sh", "-c", "kill -KILL $$")
        line = watch.rest()[-1]
        self.assertEqual((line["events"][-1], line["signal"]), ("killed", "KILL"))
        self.assertEqual(watch.finish()[0], 128 + signal.SIGKILL)

    def test_the_example_of_the_paper(self):
        """A forks B and C, C forks D, D executes a program, which exits."""
        self.need_tracking()
        watch = self.watch("--exec", sys.executable, "-c", """
import os
if os.fork() == 0: os._exit(1)          # B
if os.fork() == 0:                      # C
    if os.fork() == 0:                  # D
        os.execvp('sh', ['sh', '-c', 'exit 4'])
    os.wait()
    os._exit(2)
os.wait(), os.wait()
os._exit(3)""")
        lines = watch.rest()
        self.assertEqual(watch.finish()[0], 3)
        parents, happened, status = {}, {}, {}
        for line in lines:
            happened.setdefault(line["pid"], set()).update(line["events"])
            if "parent" in line:
                parents[line["pid"]] = line["parent"]
            if "status" in line:
                status[line["pid"]] = line["status"]
        first = lines[0]["pid"]
        self.assertEqual(len(happened), 4)
        self.assertLessEqual({"exec", "fork", "exit"}, happened[first])
        self.assertEqual(status[first], 3)
        last = [pid for pid in happened if "exec" in happened[pid] and pid != first]
        self.assertEqual(len(last), 1)
        between = parents.get(last[0])
        self.assertLessEqual({"child", "fork", "exit"}, happened[between])
        self.assertEqual(parents.get(between), first)
        for pid in happened:
            self.assertIn("exit", happened[pid])

    def test_two_hundred_processes_that_fork_at_once(self):
        self.need_tracking()
        watch = self.watch("--exec", sys.executable, "-c", """
import os
for i in range(200):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os.wait()
        os._exit(0)
for i in range(200): os.wait()""")
        lines = watch.rest()
        self.assertEqual(watch.finish()[0], 0)
        missed = [l for l in lines if "missed" in l["events"]]
        # A system that is busy gives the same number to several of them.
        born = Counter(l["pid"] for l in lines if "child" in l["events"])
        died = Counter(l["pid"] for l in lines if "exit" in l["events"])
        self.assertLessEqual(born, died)
        if not missed:
            self.assertEqual(sum(born.values()), 400)

    def test_pipeline_of_a_shell_is_told_with_its_commands(self):
        self.need_tracking()
        watch = self.watch("--exec", "sh", "-c",
                           "echo one | cat | sed s/one/two/ >/dev/null; exit 0")
        lines = watch.rest()
        commands = {l.get("command", "") for l in lines if "exec" in l["events"]}
        self.assertTrue([c for c in commands if c.startswith("sh -c")], commands)
        self.assertEqual(watch.finish()[0], 0)

    def test_output_of_the_command_stays_apart_from_json(self):
        watch = self.watch("--exec", "echo", "{not json")
        watch.rest()
        self.assertEqual(watch.finish(), (0, "{not json\n"))
        result = self.run_watch("--exec", "echo", "plain")
        self.assertIn("plain\n", result.stdout)

    def test_command_finds_signals_and_limits_as_they_were(self):
        script = ("import os, resource, signal, sys; print(sorted(n for n in range(1, 65)"
                  " if n not in (9, 19, 32, 33) and"
                  " signal.getsignal(n) not in (signal.SIG_DFL, None,"
                  " signal.default_int_handler)),"
                  " sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),"
                  " resource.getrlimit(resource.RLIMIT_NOFILE), flush=True)\n"
                  "if 'end' in sys.argv: os.kill(os.getppid(), signal.SIGTERM)")

        def prepare():
            signal.signal(signal.SIGUSR2, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
        command = [sys.executable, "-c", script]
        plain = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                               preexec_fn=prepare)
        result = self.run_watch(
            "-q", "--signal", "USR1", "--signal", "USR2", "--signal", "CHLD",
            "--signal", "HUP", "--exec", *command, "end", preexec_fn=prepare)
        self.assertEqual(result.stdout, plain.stdout)

    def test_command_that_cannot_be_executed_is_named(self):
        for command, reason in (["/no/such/command"], "No such file or directory"), (
                ["frobnicate-nothing"], "No such file"), ([self.folder],
                                                          "Permission denied"):
            with self.subTest(command=command):
                result = self.run_watch("--exec", *command)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(f"xpoll watch: --exec {command[0]}: {reason}",
                              result.stderr)

    def test_no_descriptor_leaks_into_the_command(self):
        self.write("a")
        result = self.run_watch("-q", "--file", self.path("a"), "--listen", "0",
                                "--exec",
                                "sh", "-c", "ls /proc/self/fd | wc -l; kill $PPID")
        self.assertEqual(result.stdout.split(), ["4"])

    def test_signal_is_passed_on_and_the_end_is_told(self):
        watch = self.watch("--exec", "sh", "-c",
                           "trap 'exit 5' TERM; echo here >&2; while :; do sleep 1; done")
        watch.wait_said("here\n")
        watch.child.send_signal(signal.SIGTERM)
        lines = watch.rest()
        self.assertEqual([l["status"] for l in lines if l["pid"] == lines[0]["pid"]
                          and "status" in l], [5])
        self.assertEqual(watch.finish()[0], -signal.SIGTERM)

    def test_second_signal_ends_it_at_once(self):
        watch = self.watch("--exec", "sh", "-c",
                           "trap '' INT TERM; echo here >&2; read x; sleep 30")
        watch.wait_said("here\n")
        watch.child.send_signal(signal.SIGINT)
        watch.child.send_signal(signal.SIGTERM)
        self.assertIn(watch.child.wait(LIMIT_S), (-signal.SIGINT, -signal.SIGTERM))

    def test_timeout_ends_the_command(self):
        watch = self.watch("--timeout", "300ms", "--exec", "sh", "-c", "read x; cat",
                           stdin=subprocess.PIPE)
        pid = watch.next()["pid"]
        self.addCleanup(watch.child.stdin.close)
        watch.rest()
        watch.child.wait(LIMIT_S)
        self.assertEqual(watch.child.returncode, 0)
        self.wait_for(lambda: not os.path.exists(f"/proc/{pid}"))


class WatchRun(ProcessTest):
    def test_burst_of_events_runs_once_and_later_ones_again(self):
        path = self.write("a")
        log = self.path("log")
        watch = self.watch("--file", path, "--run", f"echo run >>{log}; echo done >&2")
        for i in range(20):
            self.write("a", "more\n", "a")
        watch.wait_said("done\n")
        first = open(log).read().count("run")
        self.assertLessEqual(1, first)
        self.assertLess(first, 5)
        watch.said = watch.said.replace(b"done\n", b"")
        self.write("a", "more\n", "a")
        watch.wait_said("done\n")
        self.assertLess(first, open(log).read().count("run"))
        watch.end()

    def test_events_while_it_runs_make_it_run_once_more(self):
        path, log, gate = self.write("a"), self.path("log"), self.path("gate")
        os.mkfifo(gate)
        watch = self.watch("--file", path, "--run",
                           f"echo begin >&2; read x <{gate}; echo end >&2")
        self.write("a", "more\n", "a")
        watch.wait_said("begin\n")
        for i in range(20):
            self.write("a", "more\n", "a")
            watch.until("write")
        self.write("gate", "go\n")
        watch.wait_said("begin\nend\nbegin\n")
        self.write("gate", "go\n")
        watch.wait_said("begin\nend\nbegin\nend\n")
        watch.child.send_signal(signal.SIGTERM)
        self.assertEqual(watch.finish(), (-signal.SIGTERM, "begin\nend\n" * 2))

    def test_count_waits_for_the_command(self):
        path = self.write("a")
        watch = self.watch("--file", path, "--count", "1", "--run",
                           "echo ran >&2; exit 7")
        os.chmod(path, 0o600)
        watch.rest()
        self.assertEqual(watch.finish(), (
            0, "ran\nxpoll watch: --run echo ran >&2; exit 7: exit status 7\n"))

    def test_what_runs_is_told_to_end(self):
        path = self.write("a")
        watch = self.watch("--file", path, "--run",
                           "trap 'echo ended >&2; exit' TERM; echo here >&2; "
                           "while :; do sleep 0.1; done")
        os.chmod(path, 0o600)
        watch.wait_said("here\n")
        code, said = watch.end()
        self.assertEqual(code, -signal.SIGTERM)
        self.assertIn("ended\n", said)

    def test_json_is_not_disturbed(self):
        path = self.write("a")
        watch = self.watch("--file", path, "--count", "1", "--run", "echo {")
        os.chmod(path, 0o600)
        self.assertEqual(len(watch.rest()), 1)
        self.assertEqual(watch.finish(), (0, "{\n"))


if __name__ == "__main__":
    xt.main()
