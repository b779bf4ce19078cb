"""The tables that end a run of the tests: what ran, on which back ends, what was
skipped and why, and what to do about a failure.

A record is one run of CTest: {"suite": its name, "build": its folder, "seconds": wall clock,
"tests": [{"name", "outcome", "seconds", "labels"}], "skips": {test or test:case: reason},
"again": [test], "findings": [text]}.
"""
import contextlib
import io
import re
import shutil
import sys
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
        print("\nfindings")
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


def print_verdict(records):
    """For people, in one sentence or two: what passed, what did not, and what to do."""
    outcomes = Counter(test["outcome"] for record in records for test in record["tests"])
    left = len({reason for record in records for reason in record["skips"].values()})
    bad = [(record, test["name"]) for record in records for test in record["tests"]
           if test["outcome"] == "failed"]
    print()
    if bad:
        record, name = bad[0]
        print(f"{outcomes['failed']} of {outcomes.total()} tests failed.  The first one again, "
              f"alone:\n  ctest --test-dir {record['build']} -R '^{re.escape(name)}$' "
              "--output-on-failure")
    elif any(record["findings"] for record in records):
        print("No test failed, but what stands above under findings has to be mended: "
              "tests/expected-skips.txt\nlists the skips that are right.")
    else:
        print(f"All {outcomes['passed']} tests that could run here passed." +
              (f"  What was skipped, and the {left} reasons, stands above." if left else ""))


def self_test():
    """Is the last sentence right of a run that passed, that failed, and with findings?"""
    passed, failed = ({"name": name, "outcome": name, "labels": [], "seconds": 1}
                      for name in ("passed", "failed"))

    def verdict(tests, skips, findings):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            print_verdict([{"suite": "s", "build": "build/s", "tests": tests, "skips": skips,
                            "findings": findings}])
        return said.getvalue()

    cases = (("All 1 tests that could run here passed.\n", [passed], {}, []),
             ("the 1 reasons, stands above.", [passed], {"a": "no x", "b": "no x"}, []),
             ("1 of 2 tests failed.  The first one again, alone:\n"
              "  ctest --test-dir build/s -R '^failed$'", [passed, failed], {}, ["f"]),
             ("No test failed, but", [passed], {}, ["unexpected skip"]))
    wrong = [case for case in cases if case[0] not in verdict(*case[1:])]
    print(*wrong or ["testtable: the sentences are right"], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(self_test())
