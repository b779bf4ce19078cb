"""The command line of xpoll.

Goal: every option does what --help says, every mistake is named, and nothing
is left behind.  Method: run the program that $XPOLL_TOOL names and look at its
exit code, output and files.  Measurements are as short as they can be: what
they measure is not tested here.
"""

import contextlib
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

import xt

TOOL = os.environ["XPOLL_TOOL"]
SHORT = ["-t", "0.01", "--rounds", "1"]
LOOPTEST = ["bench", "looptest"]
ALL_VARIANTS = ["xpoll-epoll", "xpoll-poll", "xpoll-select", "raw-epoll", "four-calls",
                "raw-poll", "kevent", "libkqueue", "libevent", "libev", "libuv", "limit"]
RESULT_FIELDS = {"variant", "default", "reads_per_second", "ns_per_read",
                 "syscalls_per_read", "ratio_raw_epoll", "ratio_limit"}


def state(pid):
    """Of a process: "T" if it is stopped, "Z" if it has ended, "" if it was reaped."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def until_state(pid, wanted):
    """Wait until the process has this state, or has ended; its state then."""
    while (now := state(pid)) not in (wanted, "", "Z", "X"):
        os.sched_yield()
    return now


def environment(**more):
    result = {k: v for k, v in os.environ.items() if k != "XPOLL_BACKEND"}
    result.update(more)
    return result


def run(*args, env=None, **more):
    return subprocess.run([TOOL, *args], stdin=subprocess.DEVNULL, text=True,
                          stdout=more.pop("stdout", subprocess.PIPE),
                          stderr=subprocess.PIPE, env=env or environment(),
                          timeout=xt.LIMIT_S, **more)


class ToolTest(unittest.TestCase):
    maxDiff = None

    def check(self, result, code=0, err=""):
        self.assertEqual((result.returncode, result.stderr), (code, err))
        return result.stdout

    def check_json(self, *args, env=None):
        out = self.check(run(*LOOPTEST, *SHORT, *args, "--json", "-", env=env))
        return json.loads(out)


class Help(ToolTest):
    COMMANDS = [[], ["info"], ["watch"], ["bench"], LOOPTEST]

    def test_help_of_each_command_tells_its_usage(self):
        for command in self.COMMANDS:
            for option in "--help", "-h":
                with self.subTest(command=command, option=option):
                    out = self.check(run(*command, option))
                    self.assertTrue(out.startswith(
                        " ".join(["usage: xpoll", *command])), out)
                    self.assertTrue(all(len(line) <= 80
                                        for line in out.splitlines()), out)

    def test_help_and_version_have_help_as_well(self):
        for words in ["help", "--help"], ["help", "-h"], ["version", "--help"], \
                ["help", "help"]:
            with self.subTest(words=words):
                self.assertEqual(self.check(run(*words)), self.check(run("help")))

    def test_help_lists_commands_workloads_and_options(self):
        self.assertRegex(run("help").stdout, r"(?s)info .*watch .*bench ")
        self.assertRegex(run("bench", "--help").stdout, "looptest ")
        out = run(*LOOPTEST, "--help").stdout
        for option in "-n", "-t", "--rounds", "--operations", "--pin", "--backend", "--peers", \
                "--json":
            self.assertIn("\n  " + option + " ", out)

    def test_version_everywhere_is_the_same(self):
        version = self.check(run("version"))
        self.assertRegex(version, r"^xpoll \d+\.\d+\.\d+\n$")
        for command in self.COMMANDS:
            with self.subTest(command=command):
                self.assertEqual(self.check(run(*command, "--version")), version)


class Info(ToolTest):
    def test_info_tells_back_ends_filters_and_limits(self):
        out = self.check(run("info"))
        self.assertRegex(out, r"(?m)^  \w+ +yes, the default$")
        for name in "poll", "select":
            self.assertRegex(out, rf"(?m)^  {name} +yes")
        self.assertRegex(out, r"(?m)^  READ( +yes)+$")
        self.assertIn("RLIMIT_NOFILE", out)

    def test_info_tells_what_each_source_takes_or_why_it_is_missing(self):
        out = self.check(run("info"))
        for source in ("timers", "signals", "the end of processes", "forks and execs",
                       "files", "asynchronous I/O"):
            self.assertRegex(out, rf"(?m)^  {source} +(no: )?\S")
        if os.path.exists("/proc/self/fd/0"):
            self.assertRegex(out, r"(?m)^  timers +none$")
            self.assertRegex(out, r"(?m)^  files +inotify$")

    def test_info_tells_in_which_way_asynchronous_io_is_done(self):
        out = self.check(run("info"))
        self.assertRegex(out, r"asynchronous I/O +by (io_uring: (?=.*io_uring)"
                              r"|threads[^:]*: )(?=.*thread)")
        out = self.check(run("info", env=environment(XPOLL_AIO="threads")))
        self.assertRegex(out, r"asynchronous I/O +by threads, set by XPOLL_AIO: "
                              r".*thread")
        out = self.check(run("info", env=environment(XPOLL_AIO="abacus")))
        self.assertRegex(out, r"asynchronous I/O +no: .*\(XPOLL_AIO is abacus\)")

    def test_info_with_few_descriptors_tells_that_reason(self):
        out = self.check(run("info", preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (6, 6))))
        for name in "select", "signals", "files":
            self.assertRegex(out, rf"(?m)^  {name} +no: Too many open files")

    def test_info_with_backend_from_environment_marks_it_default(self):
        out = self.check(run("info", env=environment(XPOLL_BACKEND="poll")))
        self.assertRegex(out, r"(?m)^  poll +yes, the default$")

    def test_unknown_backend_in_environment_is_named_with_those_that_are_here(self):
        for command in ["info"], ["info", "--json"], ["watch", "--timer", "1s"], LOOPTEST:
            with self.subTest(command=command):
                result = run(*command, env=environment(XPOLL_BACKEND="abacus"))
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                name = " ".join(word for word in command if word[0] != "-" and word != "1s")
                self.assertRegex(result.stderr, rf'^xpoll {name}: XPOLL_BACKEND: no back end '
                                                r'"abacus"; usable here: (\w+, )*select\n$')

    def test_json_has_what_the_text_has(self):
        info = json.loads(self.check(run("info", "--json")))
        text = self.check(run("info"))
        self.assertTrue(text.startswith(f"xpoll {info['version']}\non {info['system']}\n"), text)
        self.assertRegex(text, rf"(?m)^  {info['default']} +yes, the default$")
        for backend in info["backends"]:
            self.assertRegex(text, rf"(?m)^  {backend['name']} +yes")
            self.assertEqual(backend["usable"], True)
            self.assertLessEqual({"READ", "READ.LOWAT", "WRITE", "TIMER"},
                                 set(backend["filters"]))
        for name, source in info["sources"].items():
            words = re.search(rf"(?m)^  {name} +(no: )?(.*)$", text)
            self.assertEqual(source["usable"], words[1] is None)
            shown = source["takes" if source["usable"] else "reason"]
            self.assertEqual(sorted(re.findall(r"\w+", shown)),
                             sorted(re.findall(r"\w+", words[2])))
        self.assertEqual(info["limits"]["RLIMIT_NOFILE/soft"],
                         resource.getrlimit(resource.RLIMIT_NOFILE)[0])

    def test_json_with_few_descriptors_has_the_reason(self):
        info = json.loads(self.check(run("info", "--json", preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (6, 6)))))
        backend = next(it for it in info["backends"] if it["name"] == "select")
        self.assertEqual(backend, {"name": "select", "usable": False, "filters": [],
                                   "reason": "Too many open files"})
        self.assertEqual(info["sources"]["files"]["usable"], False)
        self.assertRegex(info["sources"]["files"]["reason"], "^Too many open files")


class BadArguments(ToolTest):
    # arguments, and what the message must say
    TABLE = [
        ([], "expected a command"),
        (["frobnicate"], "frobnicate: no such command"),
        (["--frobnicate"], "--frobnicate: no such option"),
        (["info", "more"], "unexpected argument 'more'"),
        (["bench"], "expected a workload"),
        (["bench", "frobnicate"], "frobnicate: no such workload"),
        (["bench", "-n"], "-n: no such option"),
        (LOOPTEST + ["8"], "unexpected argument '8'"),
        (LOOPTEST + ["--frobnicate"], "--frobnicate: no such option"),
        (LOOPTEST + ["--roundsx", "1"], "--roundsx: no such option"),
        (LOOPTEST + ["-n"], "-n needs a value: N"),
        (LOOPTEST + ["--rounds"], "--rounds needs a value: R"),
        (LOOPTEST + ["-n", "0"], "-n 0: expected a whole number from 1 to"),
        (LOOPTEST + ["-n", "-1"], "-n -1: expected a whole number from 1 to"),
        (LOOPTEST + ["-n", "8x"], "-n 8x: expected a whole number"),
        (LOOPTEST + ["-nx"], "-n x: expected a whole number"),
        (LOOPTEST + ["-n", ""], "-n : expected a whole number"),
        (LOOPTEST + ["-n", " 8"], "-n  8: expected a whole number"),
        (LOOPTEST + ["-n", "8.5"], "-n 8.5: expected a whole number"),
        (LOOPTEST + ["-n", "9" * 30], "expected a whole number from 1 to"),
        (LOOPTEST + ["-n", "4294967304"], "expected a whole number from 1 to"),
        (LOOPTEST + ["-t", "0"], "-t 0: expected a number from 0.001 to 86400"),
        (LOOPTEST + ["-t", "-1"], "-t -1: expected a number"),
        (LOOPTEST + ["-t", "soon"], "-t soon: expected a number"),
        (LOOPTEST + ["-t", "nan"], "-t nan: expected a number"),
        (LOOPTEST + ["-t", "1e9"], "-t 1e9: expected a number"),
        (LOOPTEST + ["-t", "1.2.3"], "-t 1.2.3: expected a number"),
        (LOOPTEST + ["-t", ""], "-t : expected a number"),
        (LOOPTEST + ["--rounds=0"], "--rounds 0: expected a whole number"),
        (LOOPTEST + ["--rounds", "1001"], "expected a whole number from 1 to 1000"),
        (LOOPTEST + ["--pin", "-1"], "--pin -1: expected a whole number from 0 to"),
        (LOOPTEST + ["--pin", "many"], "--pin many: expected a whole number"),
        (["bench", "threads", "-n", "0"], "-n 0: expected a whole number from 1 to"),
        (["bench", "churn", "-n", "-1"], "-n -1: expected a whole number from 1 to"),
        (["bench", "costs", "-t", "0"], "-t 0: expected a number from 0.001"),
        (["bench", "memory", "--peers", "mio"], "--peers mio: expected none, raw or all"),
        (LOOPTEST + ["--peers", "some"], "--peers some: expected none, raw or all"),
        (LOOPTEST + ["--peers="], "--peers : expected none, raw or all"),
        (LOOPTEST + ["--json="], "--json needs a value: FILE"),
        (LOOPTEST + ["--backend="], "--backend needs a value: LIST"),
        (LOOPTEST + ["--backend", "abacus"], 'no back end "abacus"; usable here'),
        (LOOPTEST + ["--backend", "poll,"], 'no back end ""; usable here'),
        (LOOPTEST + ["--backend", ",poll"], 'no back end ""; usable here'),
        (LOOPTEST + ["--backend", "poll,pol"], 'no back end "pol"; usable here'),
        (LOOPTEST + ["--backend", "POLL"], 'no back end "POLL"; usable here'),
    ]

    def test_bad_arguments_are_named_with_exit_code_2(self):
        for args, message in self.TABLE:
            with self.subTest(args=args):
                result = run(*args)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(message, result.stderr)
                self.assertTrue(result.stderr.startswith("xpoll"), result.stderr)

    def test_unknown_backend_tells_the_usable_ones(self):
        result = run(*LOOPTEST, "--backend", "abacus")
        self.assertRegex(result.stderr, r"usable here: .*poll, select")


class Limits(ToolTest):
    def test_soft_limit_is_raised(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        result = run(*LOOPTEST, *SHORT, "-n", "100", "--backend", "poll",
                     "--peers", "none", preexec_fn=lambda: resource.setrlimit(
                         resource.RLIMIT_NOFILE, (64, hard)))
        self.check(result)

    def test_n_beyond_the_hard_limit_is_refused(self):
        def lower():
            resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
        # A process that may raise it again has no such limit.
        raised = subprocess.run(
            [sys.executable, "-c", "import resource as r;"
             "r.setrlimit(r.RLIMIT_NOFILE, (400, 400))"],
            stderr=subprocess.DEVNULL, preexec_fn=lower)
        if raised.returncode == 0:
            self.skipTest("this process may raise any limit")
        result = run(*LOOPTEST, *SHORT, "-n", "100", preexec_fn=lower)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, r"-n 100: too many; at most 68 pipes are possible here")


class Json(ToolTest):
    def test_fields_and_variants_are_as_documented(self):
        report = self.check_json("-n", "8", "--rounds", "3")
        self.assertEqual((report["benchmark"], report["n"]), ("looptest", 8))
        self.assertEqual(report["rounds"], 3)
        self.assertLessEqual({"kernel", "cpu", "cores"}, set(report["machine"]))
        variants = [r["variant"] for r in report["results"]]
        if "raw-epoll" in variants:
            self.assertEqual(variants, [v for v in ALL_VARIANTS
                                        if v not in report["missing"]])
        self.assertEqual(sum(r["default"] for r in report["results"]), 1)
        for result in report["results"]:
            self.assertLessEqual(RESULT_FIELDS, set(result))
            self.assertIs(type(result["default"]), bool)

    def test_every_workload_reports_its_ratios(self):
        for workload, references in (("drop-in", ("raw_poll", "raw_epoll")),
                                     ("timers", ("libevent", "libuv"))):
            result = run("bench", workload, "-n", "40", "-t", "0.001", "--rounds", "1",
                         "--json", "-")
            self.assertEqual(result.returncode, 0, result.stderr)
            for line in json.loads(result.stdout)["results"]:
                self.assertLessEqual({f"ratio_{r}" for r in references}, set(line))

    def test_numbers_agree_with_each_other(self):
        results = {r["variant"]: r for r in self.check_json()["results"]}
        for result in results.values():
            rate = result["reads_per_second"]
            self.assertGreater(rate, 0)
            self.assertAlmostEqual(result["ns_per_read"] * rate / 1e9, 1, 6)
            self.assertAlmostEqual(
                result["ratio_limit"],
                rate / results["limit"]["reads_per_second"], 6)
            self.assertLessEqual(result["spread"]["min"], rate)
            self.assertGreaterEqual(result["spread"]["max"], rate)

    def test_system_calls_of_the_hand_written_are_known(self):
        known = {"raw-epoll": 6, "four-calls": 4, "raw-poll": 4, "limit": 2}
        for result in self.check_json()["results"]:
            calls = known.get(result["variant"])
            if calls is not None:
                self.assertAlmostEqual(result["syscalls_per_read"], calls, 1)

    def test_backend_and_peers_choose_the_variants(self):
        report = self.check_json("--backend", "select,poll,select",
                                 "--peers=none", "-n1")
        self.assertEqual([r["variant"] for r in report["results"]],
                         ["xpoll-select", "xpoll-poll", "limit"])
        self.assertEqual([r["ratio_raw_epoll"] for r in report["results"]],
                         [None] * 3)

    def test_backend_from_environment_is_the_default(self):
        report = self.check_json(env=environment(XPOLL_BACKEND="select"))
        self.assertEqual([r["variant"] for r in report["results"] if r["default"]],
                         ["xpoll-select"])


class Workloads(ToolTest):
    """Each workload that is written on loops: n, unit, phases, first reference."""
    K = ["k=1", "k=16", "k=256"]
    POOL = [f"{n} threads, k={k}" for n in (2, 4, 16) for k in (1, 4, 64)]
    T = ["1 thread", *(f"{n} threads" for n in (2, 4, 8, 16, 32))]
    TABLE = {
        "active": (20, "read", K, "raw_epoll"),
        "idle": (20, "read", None, "raw_epoll"),
        "edge": (20, "read", K, "raw_epoll"),
        "dispatch": (20, "read", K, "raw_epoll"),
        "costs": (20, "operation", ["add", "wait, none", "1st disable", "disable",
                                    "enable", "wait, all", "delete"], "raw_epoll"),
        "wake": (2, "wake", None, "raw_epoll"),
        "threads": (20, "event", T, "raw_epoll"),
        "pool": (64, "event", POOL, "raw_epoll"),
        "pool-both": (64, "event", POOL, "kevent"),
        "echo": (64, "request", ["1 active", "64 active", "all active"], "raw_epoll"),
        "reactor": (64, "event", [f"{n}, k={k}" for n in ("1 worker", "4 workers")
                                  for k in (1, 64)], "raw_epoll"),
        "pause": (4, "event", [f"M={m}" for m in (1, 2, 4, 8, 64)], "raw_epoll"),
        "unread": (2, "toggle", None, "kevent"),
        "proxy": (4, "piece", ["1 busy", "64 busy", "1000 busy"], "raw_poll"),
        "beside": (8, "read", ["alone", "signal", "process", "file watched", "timer", "user",
                               "file read", "exposed"], "raw_epoll"),
        "hand-off": (20, "event", T, "raw_epoll"),
        "changes": (20, "change", T, "raw_epoll"),
        "wake-all": (2, "wake", T, "raw_epoll"),
        "listener": (1, "connection", T, "raw_epoll"),
        "http": (20, "request", ["10 busy", "1000 busy", "10 in turns", "1000 in turns"],
                 "raw_epoll"),
        "user": (20, "operation", ["open", "add", "trigger", "change", "delete", "destroy"],
                 "by_hand"),
        "churn": (2, "connection", None, "raw_epoll"),
        "memory": (20, "descriptor", ["empty", "add", "destroy"], "raw_epoll"),
        "sources": (1, "event", ["process", "signal"], "by_hand"),
        "burst": (20, "event", ["children", "signals"], "by_hand"),
        "files": (20, "file", ["watch", "event", "burst"], "by_hand"),
        "track": (20, "fork", ["follow", "followed", "until known"], "nobody"),
    }

    def measure(self, name, *args):
        n = self.TABLE[name][0]
        out = self.check(run("bench", name, "-t", "0.001", "--rounds", "1", "-n", str(n),
                             *args, "--json", "-"))
        return json.loads(out)

    def test_each_variant_has_each_phase(self):
        for name, (n, unit, phases, reference) in self.TABLE.items():
            with self.subTest(workload=name):
                report = self.measure(name)
                self.assertEqual((report["benchmark"], report["n"]), (name, n))
                self.assertIn(report["clock"], ("processor", "monotonic"))
                variants = dict.fromkeys(r["variant"] for r in report["results"])
                self.assertLessEqual({"xpoll-poll", "xpoll-select"}, set(variants))
                self.assertFalse(set(variants) & set(report["missing"]))
                self.assertEqual([(r["variant"], r.get("phase")) for r in report["results"]],
                                 [(v, p) for v in variants for p in phases or [None]])
                for result in report["results"]:
                    self.assertGreater(result[f"{unit}s_per_second"], 0)
                    self.assertGreaterEqual(result[f"{unit}s"], 1)
                    self.assertIn(f"syscalls_per_{unit}", result)
                    self.assertIn(f"ratio_{reference}", result)

    def test_children_end_with_the_benchmark_that_is_killed(self):
        for name in "burst", "http", "beside", "track":
            with self.subTest(workload=name):
                bench = subprocess.Popen([TOOL, "bench", name, "-n", "200", "--rounds", "1000"],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    child = self.stopped_child(bench.pid)
                finally:
                    bench.kill()
                    bench.wait()
                # It may have been stopped before it asked the kernel to be killed with its
                # parent; then it goes on, and finds that its parent has ended.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGCONT)
                until_state(child, "")

    def stopped_child(self, pid):
        """A process that would never end by itself."""
        while True:
            with open(f"/proc/{pid}/task/{pid}/children") as file:
                child = int((file.read().split() or [0])[0])
            if child == 0:
                continue
            os.kill(child, signal.SIGSTOP)
            if until_state(child, "T") == "T":
                return child

    def test_operations_are_as_many_as_asked_for(self):
        for name, phases in ("active", [300] * 3), ("costs", [20, 16, 20, 20, 20, 16, 20]):
            with self.subTest(workload=name):
                report = self.measure(name, "--operations", "300", "--peers", "raw",
                                      "-t", "5")
                for variant in dict.fromkeys(r["variant"] for r in report["results"]):
                    self.assertEqual([r[self.TABLE[name][1] + "s"] for r in report["results"]
                                      if r["variant"] == variant], phases)

    def test_reads_of_the_hand_written_take_known_system_calls(self):
        for name, known in (("active", [3, 2 + 1 / 16, 2 + 1 / 20]),
                            ("dispatch", [4, 3 + 1 / 16, 3 + 1 / 20])):
            with self.subTest(workload=name):
                results = [r for r in self.measure(name)["results"]
                           if r["variant"] == "raw-epoll"]
                for result, calls in zip(results, known):
                    self.assertAlmostEqual(result["syscalls_per_read"], calls, 1)

    def test_operations_are_counted_with_the_threads_of_libraries(self):
        results = {r["variant"]: r for r in self.measure(
            "unread", "--operations", "100", "--peers", "raw", "--backend", "poll")["results"]}
        if results["kevent"]["syscalls_per_toggle"] is None:
            self.skipTest("the kernel counts for root only")
        self.assertAlmostEqual(results["raw-epoll"]["syscalls_per_toggle"], 4, 2)
        self.assertGreaterEqual(results["kevent"]["syscalls_per_toggle"], 2)

    def test_toggles_beside_an_unread_byte_wake_once(self):
        results = {r["variant"]: r for r in self.measure("unread")["results"]}
        for variant, wakes in ("xpoll-poll", 1), ("xpoll-select", 1), ("raw-epoll", 2):
            self.assertEqual(results[variant]["wakes_per_toggle"], wakes)

    def test_row_that_spreads_is_no_result(self):
        report = self.check_json("--rounds", "3")
        for row in report["results"]:
            self.assertEqual(row["spread"]["result"], row["spread"]["quartiles"] <= 0.05)
            self.assertLessEqual(row["syscalls"]["min"] or 0, row["syscalls"]["max"] or 0)

    def test_queues_without_a_descriptor_are_not_nested(self):
        report = json.loads(self.check(run("bench", "nested", *SHORT, "-n", "4", "--json", "-",
                                           "--backend", "epoll,poll")))
        self.assertEqual({r["variant"] for r in report["results"]},
                         {"xpoll-epoll", "raw-epoll", "kevent", "libkqueue", "limit"}
                         - set(report["missing"]))
        self.assertIn("poll", report["missing"])

    def test_reads_are_measured_in_each_phase(self):
        result = run("bench", "aio", "-t", "0.001", "--rounds", "1", "-n", "20", "--json", "-")
        if "io_uring: " in result.stderr:
            self.skipTest("the system refuses io_uring")
        phases = [f"{way}, {n}" for way in ("cached", "direct") for n in (1, 8, 64)]
        for variant in "xpoll-poll", "io_uring", "pread":
            found = [r for r in json.loads(self.check(result))["results"]
                     if r["variant"] == variant]
            self.assertEqual([r["phase"] for r in found], phases)
            self.assertTrue(all(r["reads_per_second"] > 0 for r in found))

    def test_memory_of_a_descriptor_is_told(self):
        results = {r["variant"]: r for r in self.measure("memory")["results"]
                   if r["phase"] == "add"}
        told = results["raw-poll"]["bytes_per_descriptor"]
        if told is None:
            self.skipTest("malloc does not tell")
        self.assertGreaterEqual(told, 8)  # a struct pollfd

    # With what the command has of its own beside it.
    def test_memory_of_an_empty_queue_is_at_most_6_kib(self):
        for result in self.measure("memory")["results"]:
            if result["phase"] == "empty" and result["variant"] == "xpoll-epoll":
                self.assertLessEqual(result["bytes_per_descriptor"] or 0, 8192)

    def test_library_that_is_not_here_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "libuv.so.1"), "w").close()
            result = run("bench", "active", *SHORT, "-n", "4", "--backend", "poll",
                         env=environment(LD_LIBRARY_PATH=folder))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"(?m)^not here, .*: .*libuv \(Debian: libuv1\)")

    def peer(self, script):
        """Measure looptest beside a program that is this script."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mio")
            with open(path, "w") as file:
                file.write("#!/bin/sh\n" + script)
            os.chmod(path, 0o755)
            return run(*LOOPTEST, *SHORT, "--backend", "poll", "--json", "-",
                       env=environment(XPOLL_BENCH_PEERS=folder))

    def test_program_that_answers_is_measured(self):
        report = json.loads(self.check(self.peer(
            '[ "$1 $2" = "looptest 8" ] && echo 1000 5000\n')))
        self.assertIn("mio", [r["variant"] for r in report["results"]])
        self.assertIn("polling", report["missing"])

    def test_program_that_ends_or_lies_is_an_error(self):
        for script in "exit 0\n", "echo hello\n", "echo 0 5\n", "echo 5 5; exit 1\n":
            with self.subTest(script=script):
                result = self.peer(script)
                self.assertEqual((result.returncode, result.stdout), (1, ""))
                self.assertIn("xpoll bench looptest: mio: ", result.stderr)

    def test_one_processor_is_enough(self):
        first = min(os.sched_getaffinity(0))
        report = self.measure("threads", "--pin", str(first), "--backend", "poll")
        self.assertEqual(report["rounds"], 1)

    def test_processor_that_is_not_there_is_refused(self):
        result = run("bench", "active", *SHORT, "--pin", "1023")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("--pin 1023: cannot run on this processor", result.stderr)


class Timers(ToolTest):
    FIELDS = {"variant", "phase", "default", "timers_per_second", "ns_per_timer",
              "syscalls_per_timer", "bytes_per_timer", "ratio_libevent", "ratio_libuv"}

    def measure(self, *args):
        out = self.check(run("bench", "timers", *SHORT, "-n", "500", "--json", "-", *args))
        return json.loads(out)

    def test_each_variant_has_each_phase(self):
        report = self.measure()
        self.assertEqual((report["benchmark"], report["n"]), ("timers", 500))
        variants = ["xpoll-epoll", "xpoll-poll", "xpoll-select"]
        variants += [name for name in ("kevent", "libevent", "libev", "libuv", "timerfd")
                     if name not in report["missing"]]
        self.assertEqual([(r["variant"], r["phase"]) for r in report["results"]],
                         [(v, p) for v in variants for p in ("arm", "re-arm", "cancel", "expire")])
        for result in report["results"]:
            self.assertEqual(self.FIELDS - set(result), set())
            self.assertGreater(result["timers_per_second"], 0)
            self.assertEqual(result["timers"] % 500, 0)

    def test_peers_raw_leaves_the_libraries_out(self):
        report = self.measure("--peers", "raw", "--backend", "poll")
        self.assertEqual({r["variant"] for r in report["results"]},
                         {"xpoll-poll", "kevent", "timerfd"})
        self.assertEqual(report["missing"], [])
        self.assertEqual({r["ratio_libuv"] for r in report["results"]}, {None})

    def test_library_that_is_not_here_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            # A file that is found first and is no library.
            open(os.path.join(folder, "libuv.so.1"), "w").close()
            result = run("bench", "timers", *SHORT, "-n", "500", "--backend", "poll",
                         env=environment(LD_LIBRARY_PATH=folder))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"(?m)^not here, so not measured: .*libuv \(Debian: libuv")
        self.assertRegex(result.stdout, r"(?m)^expire .* x libevent +x libev +x libuv ")


class Files(ToolTest):
    FAST = [*LOOPTEST, *SHORT, "--backend", "poll", "--peers", "none"]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "report.json")

    def load(self, path):
        with open(path) as file:
            return json.load(file)

    def test_file_holds_the_report_beside_the_table(self):
        out = self.check(run(*self.FAST, "--json", self.path))
        self.assertRegex(out, r"(?m)^xpoll-poll .*\d")
        self.assertEqual(self.load(self.path)["benchmark"], "looptest")
        self.assertEqual(os.listdir(self.folder), ["report.json"])

    def test_existing_file_is_replaced(self):
        with open(self.path, "w") as file:
            file.write("x" * 100000)
        self.check(run(*self.FAST, "--json", self.path))
        self.load(self.path)

    def test_symbolic_link_is_followed(self):
        link = os.path.join(self.folder, "link")
        open(self.path, "w").close()
        os.symlink(self.path, link)
        self.check(run(*self.FAST, "--json", link))
        self.assertTrue(os.path.islink(link))
        self.load(self.path)

    def test_device_is_written_directly(self):
        self.check(run(*self.FAST, "--json", "/dev/null"))
        self.assertFalse(os.path.isfile("/dev/null"))

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full_device_fails(self):
        result = run(*self.FAST, "--json", "/dev/full")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/dev/full", result.stderr)

    def test_unwritable_names_are_refused_before_the_run(self):
        for path in (self.folder, self.path + "/below",
                     os.path.join(self.folder, "no", "such", "folder")):
            with self.subTest(path=path):
                # The run would take an hour.
                result = run(*LOOPTEST, "-t", "3600", "--json", path)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn("--json " + path, result.stderr)
                self.assertEqual(os.listdir(self.folder), [])

    def test_interrupt_leaves_nothing_behind(self):
        for number in signal.SIGINT, signal.SIGTERM:
            with self.subTest(number=number):
                self.interrupt(number)

    def interrupt(self, number):
        ours, theirs = pty.openpty()  # a terminal, so that progress is shown
        child = subprocess.Popen(
            [TOOL, *LOOPTEST, "-t", "3600", "--json", self.path],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs,
            env=environment())
        os.close(theirs)
        shown = b""
        while b"round 1 of" not in shown:
            shown += os.read(ours, 4096)
        self.assertEqual(len(os.listdir(self.folder)), 1)
        child.send_signal(number)
        self.assertEqual(child.communicate(timeout=xt.LIMIT_S)[0], b"")
        os.close(ours)
        self.assertEqual(child.returncode, -number)
        self.assertEqual(os.listdir(self.folder), [])


class Pipes(ToolTest):
    COMMANDS = [["--help"], ["info"], [*Files.FAST], [*Files.FAST, "--json", "-"]]

    def test_reader_that_went_away_causes_no_noise(self):
        for command in self.COMMANDS:
            with self.subTest(command=command):
                reader, writer = os.pipe()
                os.close(reader)
                self.check(run(*command, stdout=writer), code=1)
                os.close(writer)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_output_that_cannot_be_written_fails(self):
        for command in self.COMMANDS:
            with self.subTest(command=command), open("/dev/full", "w") as full:
                result = run(*command, stdout=full)
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr,
                                 r"^xpoll: cannot write to standard output: .")


if __name__ == "__main__":
    xt.main()
