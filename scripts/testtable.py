"""The tables that end a run of the tests: what ran, on which back ends, what was
skipped and why.

A record is one run of CTest: {"suite": its name, "seconds": wall clock, "tests":
[{"name", "outcome", "seconds", "labels"}], "skips": {test or test:case: reason}}.
"""
import re
import shutil
import textwrap
from collections import Counter, defaultdict

BACKENDS = ("epoll", "poll", "select", "kqueue", "devpoll", "port", "afd")
OUTCOMES = ("failed", "skipped")


def suite_of(name):
    """contract.wake.epoll is of contract, tool/Json of tool."""
    return re.split(r"[./]", name)[0]


def backend_of(test):
    """The back end that a test is labelled with; "any" if it is about none."""
    return next((label for label in test["labels"] if label in BACKENDS), "any")


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
        outcome = test["outcome"]
        column = backend_of(test) if outcome == "passed" else outcome
        for suite in (suite_of(test["name"]), "total"):
            counts[suite][column] += 1
            seconds[suite] += test["seconds"]
    columns = [*(name for name in (*BACKENDS, "any") if counts["total"][name]), *OUTCOMES]
    rows = [(suite, *(counts[suite][column] or None for column in columns), seconds[suite])
            for suite in [*sorted(set(counts) - {"total"}), "total"]]
    print_rows("passed, of suite", [*columns, "seconds"], rows)


def print_runs(records):
    """One row per run; its time is by the clock on the wall."""
    rows = []
    for record in records:
        outcomes = Counter(test["outcome"] for test in record["tests"])
        rows.append((record["suite"], len(record["tests"]),
                     *(outcomes[outcome] for outcome in OUTCOMES), record["seconds"]))
    rows.append(("total", *(sum(row[i] for row in rows) for i in range(1, 5))))
    print_rows("run", ["tests", *OUTCOMES, "seconds"], rows)


def print_failures(records):
    """Which tests failed, and in which run; returns how many."""
    failures = [f"{test['name']} ({record['suite']})" for record in records
                for test in record["tests"] if test["outcome"] == "failed"]
    if failures:
        print("\nfailed")
    for failure in failures:
        print(f"       {failure}")
    return len(failures)


def print_findings(records):
    """What made a run fail without a failed test."""
    findings = [f"{finding} ({record['suite']})" for record in records
                for finding in record["findings"]]
    if findings:
        print("\nfailures beside the tests")
    for finding in findings:
        print(f"       {finding}")


def print_again(records):
    """Tests that passed only when they were run again: each is a question."""
    tests = [f"{test} ({record['suite']})" for record in records for test in record["again"]]
    if tests:
        print("\nfailed first, and passed when run again: find out why")
    for test in tests:
        print(f"       {test}")


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
    width = shutil.get_terminal_size((100, 24)).columns
    for reason, (suites, runs) in sorted(reasons.items(),
                                         key=lambda item: -item[1][0].total()):
        where = ", ".join(sorted(suites))
        if len(runs) < len(records):
            where += f"; {', '.join(sorted(runs))}"
        print(textwrap.fill(f"{suites.total():>5}  {reason} ({where})", max(width, 60),
                            subsequent_indent=" " * 7))
