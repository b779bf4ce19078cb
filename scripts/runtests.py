#!/usr/bin/env python3
"""Run CTest, compare its skips with the expected ones, and summarize runs.

  runtests.py run [--suite NAME] BUILD_DIR [CTEST_ARGUMENT|VARIABLE=VALUE...]
  runtests.py summary
  runtests.py --self-test

run prints one line of progress and, of CTest's output, only that of tests that fail; with -V all
of it.  Before CTest's closing lines it prints tables: what passed on which
back ends, and what was skipped and why; and findings, which are skips that
tests/expected-skips.txt does not list, and tests without time limit, label or skip code.  With
--suite findings are failures, and the results go to build/results/NAME.json.  The variables are
for the environment.  summary prints the tables of all such runs together, and one closing line in
CTest's form.  Both end with a sentence for people.
"""
import argparse
import contextlib
import io
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import textwrap
import time
from collections import Counter, defaultdict
from pathlib import Path

import systems

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "results"
EXPECTED = ROOT / "tests" / "expected-skips.txt"
BACKENDS = tuple(systems.backends())
OUTCOMES = {"Passed": "passed", "Skipped": "skipped"} # Any other is "failed".
PROPERTIES = ("TIMEOUT", "LABELS", "SKIP_RETURN_CODE")
# The suites of each part of the project.
PARTS = {
    "the C library": "contract source unit fault stress soak fuzz runner model-kernels proof model",
    "the command": "tool", "the drop-ins": "dropin kqueue dropin-epoll secure",
    "the examples": "examples",
    "an installation": "install", "C++": "cpp", "Python": "python", "Java": "java",
    "Rust": "rust", "texts and sources": "static",
}
CLOSING = re.compile(r"^\d+% tests passed, (\d+) tests failed out of (\d+)")
ENDED = re.compile(r"^ *(?:\d+/\d+ +)?Test +#\d+: (\S+) [. ]*\**(\w.*?) +([\d.]+) sec")


# --- A run ---------------------------------------------------------------------------


def tests_of(build_dir):
    """{test: its properties}.  Asking CTest overwrites its log."""
    text = subprocess.run(["ctest", "--test-dir", str(build_dir), "--show-only=json-v1"],
                          check=True, capture_output=True, text=True).stdout
    return {test["name"]: {prop["name"]: prop["value"] for prop in test.get("properties", [])}
            for test in json.loads(text)["tests"]}


class Progress:
    """How far CTest is: a line that is rewritten on a terminal, and elsewhere one every 20 s."""

    LINE = re.compile(r"^ +Start +\d+: |^ *\d+/\d+ +Test +#\d+: |^Internal ctest changing|"
                      r"^Test project |^Connected to MAKE|^ *Test +#\d+: ")

    def __init__(self, count, everything):
        self.count, self.everything = count, everything
        self.terminal = sys.stdout.isatty()
        self.start = self.printed = time.monotonic()
        self.shown = False

    def show(self, line, ended, failed):
        """A line of CTest's; and how many tests ended, and failed, by now."""
        if self.everything or not self.LINE.match(line) or "***Failed" in line \
                or "***Timeout" in line or "***Exception" in line:
            if line.strip() or self.everything:
                self.clear()
                print(line, end="", flush=True)
        now = time.monotonic()
        if not self.everything and (self.terminal or now - self.printed >= 20):
            self.printed = now
            text = f"{ended} of {self.count} tests, {failed} failed, {clock(now - self.start)}"
            print(f"\r{text}\033[K" if self.terminal else f"tests: {text}",
                  end="" if self.terminal else "\n", flush=True)
            self.shown = self.terminal

    def clear(self):
        if self.shown:
            print("\r\033[K", end="")
            self.shown = False


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def run_ctest(build_dir, arguments):
    """Run CTest with a line of progress; return (exit code, {test: (outcome, seconds)}, tests
    that failed and were run again, the held-back closing lines)."""
    variables = [argument for argument in arguments if re.match(r"[A-Z_]+=", argument)]
    os.environ.update(variable.split("=", 1) for variable in variables)
    command = ["ctest", "--test-dir", str(build_dir), "--output-on-failure",
               "--no-tests=error", *(word for word in arguments if word not in variables)]
    closing, ended, again = [], {}, []
    listed = subprocess.run([*command[:3], "-N", *command[4:]], capture_output=True, text=True)
    count = re.search(r"^Total Tests: (\d+)", listed.stdout, re.M)
    progress = Progress(count[1] if count else "?", {"-V", "-VV", "--verbose"} & set(arguments))
    failed = 0
    with subprocess.Popen(command, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as ctest:
        for line in ctest.stdout:
            if closing or CLOSING.match(line):
                closing.append(line)
                continue
            end = ENDED.match(line)
            if end:
                name, outcome = end[1], OUTCOMES.get(end[2], "failed")
                if name in ended and outcome == "passed":
                    again.append(name)
                ended[name] = (outcome, float(end[3]))
                failed += outcome == "failed"
            progress.show(line, len(ended), failed)
    progress.clear()
    return ctest.returncode, ended, again, closing


def skip_reasons(build_dir, skipped):
    """{test or test:case: reason}, for whole tests and for cases inside of one.

    CTest's log has the reasons; that a whole test was skipped only its output says.
    """
    log = build_dir / "Testing" / "Temporary" / "LastTest.log"
    reasons = dict.fromkeys(skipped, "no reason given (CTest's log has none; did a test run ctest "
                                     "in this folder?)")
    for part in re.split(r"^(?=\d+/\d+ Testing: )", log.read_text(errors="replace"), flags=re.M):
        head = re.match(r"\d+/\d+ Testing: (\S+)", part)
        test = head.group(1) if head else None
        whole = re.search(r"\b(?:SKIP|skip): *(.*)$", part, re.M)
        if test in reasons and whole:
            reasons[test] = whole.group(1).strip()
        for case, reason in re.findall(r"^ +skip +(\w+): *(.*)$", part, re.M):
            reasons[f"{test}:{case}"] = reason.strip()
            if reasons.get(test, "").startswith("no reason given"):
                del reasons[test]  # Each of its cases has its own.
    return reasons


def findings_of(tests, skips):
    """Tests that xpoll_add_test did not add, and skips that nobody expects."""
    for test, present in tests.items():
        for name in PROPERTIES:
            if name not in present:
                yield f"{test}: no {name} (cmake/Test.cmake: xpoll_add_test)"
    rules = [line.split(None, 1) for line in EXPECTED.read_text().splitlines()
             if line.strip() and not line.startswith("#")]
    for test, reason in sorted(skips.items()):
        if not any(re.fullmatch(name, test) and re.search(why.strip(), reason)
                   for name, why in rules):
            yield f"unexpected skip: {test}: {reason} (tests/expected-skips.txt does not list it)"


def busy_children():
    """Seconds of processors that ended children of this process have used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(options):
    build_dir = options.build_dir.resolve()
    tests = tests_of(build_dir)
    start, busy = time.monotonic(), busy_children()
    code, ended, again, closing = run_ctest(build_dir, options.arguments)
    skips = skip_reasons(build_dir, [name for name, end in ended.items() if end[0] == "skipped"])
    record = {
        "suite": options.suite or build_dir.name, "build": str(options.build_dir),
        "seconds": time.monotonic() - start, "busy": busy_children() - busy,
        "skips": skips, "again": again,
        "tests": [{"name": name, "outcome": outcome, "seconds": seconds,
                   "labels": tests.get(name, {}).get("LABELS", [])}
                  for name, (outcome, seconds) in ended.items()],
        "failed": [name for name, end in ended.items() if end[0] == "failed"],
        "findings": list(findings_of(tests, skips)),
    }
    if closing and options.suite:
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / f"{options.suite}.json").write_text(json.dumps(record))
    if len(ended) > 1:
        print_suites([record])
        print_skips([record])
    print_list("findings", [record])
    print()
    sys.stdout.writelines(closing)
    if options.suite:
        code = code or (1 if record["findings"] else 0)
    elif ended:
        record["findings"] = []
        print_parts(record)
        print_verdict([record])
    return code


def summary(_options):
    records = [json.loads(path.read_text())
               for path in sorted(RESULTS.glob("*.json"), key=lambda p: p.stat().st_mtime)]
    if not records:
        print("dev: no test ran", file=sys.stderr)
        return 1
    print_suites(records)
    print_skips(records)
    print_runs(records)
    print_list("failed", records)
    print_list("findings", records)
    print_list("again", records, "failed first, and passed when run again: find out why")
    count = sum(len(record["tests"]) for record in records)
    failed = sum(len(record["failed"]) for record in records)
    percent = 100 * (count - failed) // max(count, 1)
    print(f"\n{percent}% tests passed, {failed} tests failed out of {count}")
    print_verdict(records)
    return 1 if failed else 0


# --- The tables, of a run or of several -------------------------------------------------


def suite_of(name):
    """contract.wake.epoll is of contract, tool/Json of tool."""
    return re.split(r"[./]", name)[0]


def print_rows(title, heads, rows):
    """Rows are (name, number or None...); the last one is the total."""
    width = max(len(title), *(len(row[0]) for row in rows))
    print(f"\n{title:<{width}}" + "".join(f"{head:>9}" for head in heads))
    for row in rows:
        print(f"{row[0]:<{width}}" +
              "".join(f"{'-' if number is None else round(number):>9}" for number in row[1:]))


def print_suites(records):
    """One row per suite: passed on each back end, failed, skipped, time of the tests."""
    counts, seconds = defaultdict(Counter), Counter()
    for test in (test for record in records for test in record["tests"]):
        column = test["outcome"]
        if column == "passed":
            column = next((label for label in test["labels"] if label in BACKENDS), "any")
        for suite in (suite_of(test["name"]), "total"):
            counts[suite][column] += 1
            seconds[suite] += test["seconds"]
    columns = [name for name in (*BACKENDS, "any") if counts["total"][name]]
    columns += ["failed", "skipped"]
    rows = [(suite, *(counts[suite][column] or None for column in columns), seconds[suite])
            for suite in [*sorted(set(counts) - {"total"}), "total"]]
    print_rows("passed, of suite", [*columns, "seconds"], rows)


def print_runs(records):
    """One row per run; its time is by the clock on the wall."""
    rows = []
    for record in records:
        outcomes = Counter(test["outcome"] for test in record["tests"])
        rows.append((record["suite"], len(record["tests"]), outcomes["failed"],
                     outcomes["skipped"], record["seconds"]))
    rows.append(("total", *(sum(column) for column in list(zip(*rows))[1:])))
    print_rows("run", ["tests", "failed", "skipped", "seconds"], rows)


def print_skips(records):
    """Every reason once: how often, in which suites, and in which runs if not in all."""
    reasons = defaultdict(lambda: (Counter(), set()))
    for record in records:
        for test, reason in record["skips"].items():
            suites, runs = reasons[reason]
            suites[suite_of(test)] += 1
            runs.add(record["suite"])
    if not reasons:
        return
    print("\nskipped, with cases inside of tests that passed")
    width = max(shutil.get_terminal_size((100, 24)).columns, 60)
    for reason, (suites, runs) in sorted(reasons.items(),
                                         key=lambda item: -item[1][0].total()):
        where = ", ".join(sorted(suites))
        if len(runs) < len(records):
            where += f"; {', '.join(sorted(runs))}"
        print(textwrap.fill(f"{suites.total():>5}  {reason} ({where})", width,
                            subsequent_indent=" " * 7))


def print_list(key, records, title=None):
    """What each run has under this key, if anything."""
    items = [f"       {item} ({record['suite']})" for record in records for item in record[key]]
    if items:
        print(f"\n{title or key}", *items, sep="\n")


def print_parts(record):
    """What was tested, what was skipped as a whole, and how long each step took."""
    tested, skipped = [], []
    for part, suites in PARTS.items():
        outcomes = {test["outcome"] for test in record["tests"]
                    if suite_of(test["name"]) in suites.split()}
        if outcomes:
            (skipped if outcomes == {"skipped"} else tested).append(part)
    steps = os.environ.get("XPOLL_TOOK", "").split()
    steps = [(name, int(seconds)) for name, seconds in zip(steps[::2], steps[1::2])]
    steps.append(("tests", record["seconds"]))
    print(f"\ntested:   {', '.join(tested)}")
    if skipped:
        print(f"skipped:  {', '.join(skipped)}; why stands above")
    print("time:     " + ", ".join(f"{name} {clock(seconds)}" for name, seconds in steps) +
          f"; in all {clock(sum(seconds for _, seconds in steps))}; the processors were busy with "
          f"the tests for {clock(record['busy'])}")


def print_verdict(records):
    """For people, in one sentence or two: what passed, what did not, and what to do."""
    outcomes = Counter(test["outcome"] for record in records for test in record["tests"])
    left = len({reason for record in records for reason in record["skips"].values()})
    bad = [record for record in records if record["failed"]]
    print()
    if bad:
        print(f"{outcomes['failed']} of {outcomes.total()} tests failed.  The first one again, "
              f"alone:\n  ctest --test-dir {bad[0]['build']} -R "
              f"'^{re.escape(bad[0]['failed'][0])}$' --output-on-failure")
    elif any(record["findings"] for record in records):
        print("No test failed, but what stands above under findings has to be mended: "
              "tests/expected-skips.txt\nlists the skips that are right.")
    else:
        print(f"All {outcomes['passed']} tests that could run here passed." +
              (f"  What was skipped, and the {left} reasons, stands above." if left else ""))


def self_test():
    """Is the last sentence right of a run that passed, that failed, and with findings?"""
    def verdict(outcomes, skips, findings):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            print_verdict([{"suite": "s", "build": "build/s", "skips": skips,
                            "tests": [{"outcome": outcome} for outcome in outcomes],
                            "failed": [name for name in outcomes if name == "failed"],
                            "findings": findings}])
        return said.getvalue()

    cases = (("All 1 tests that could run here passed.\n", ["passed"], {}, []),
             ("the 1 reasons, stands above.", ["passed"], {"a": "no x", "b": "no x"}, []),
             ("1 of 2 tests failed.  The first one again, alone:\n"
              "  ctest --test-dir build/s -R '^failed$'", ["passed", "failed"], {}, ["f"]),
             ("No test failed, but", ["passed"], {}, ["unexpected skip"]))
    wrong = [case for case in cases if case[0] not in verdict(*case[1:])]
    print(*wrong or ["runtests: the sentences are right"], sep="\n")
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("run")
    verb.add_argument("--suite")
    verb.add_argument("build_dir", type=Path)
    verb.add_argument("arguments", nargs=argparse.REMAINDER)
    verb.set_defaults(call=run)
    verbs.add_parser("summary").set_defaults(call=summary)
    options = parser.parse_args()
    sys.exit(options.call(options))


if __name__ == "__main__":
    main()
