#!/usr/bin/env python3
"""Run CTest, compare its skips with the expected ones, and summarize runs.

  runtests.py run [--strict] [--suite NAME] BUILD_DIR [CTEST_ARGUMENT|VARIABLE=VALUE...]
  runtests.py summary

run prints CTest's output.  Before CTest's closing lines it prints a table of suites,
back ends, and skips with their reasons.  It also reports skips that
tests/expected-skips.txt does not list, and tests without time limit, label or skip
code; with --strict these are failures.  With --suite the results are also written to
build/results/NAME.json.  The variables are for the environment.  summary prints the
tables of several such runs together, and one closing line in CTest's form.  Both end
with a sentence for people.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import testtable

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "results"
EXPECTED = ROOT / "tests" / "expected-skips.txt"
CLOSING = re.compile(r"^\d+% tests passed, (\d+) tests failed out of (\d+)")
ENDED = re.compile(r"^ *(?:\d+/\d+ +)?Test +#\d+: (\S+) [. ]*\**(\w.*?) +([\d.]+) sec")
PROPERTIES = ("TIMEOUT", "LABELS", "SKIP_RETURN_CODE")


def expected_skips():
    """Pairs of regular expressions: test name, reason."""
    rules = []
    for line in EXPECTED.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, reason = line.split(None, 1)
            rules.append((re.compile(name), re.compile(reason.strip())))
    return rules


def skip_reasons(build_dir, skipped):
    """{test or test:case: reason}, for whole tests and for cases inside of one.

    CTest's log has the reasons; that a whole test was skipped only its output says.
    """
    log = build_dir / "Testing" / "Temporary" / "LastTest.log"
    reasons = dict.fromkeys(skipped, "no reason given")
    for part in re.split(r"^(?=\d+/\d+ Testing: )", log.read_text(errors="replace"), flags=re.M):
        head = re.match(r"\d+/\d+ Testing: (\S+)", part)
        test = head.group(1) if head else None
        whole = re.search(r"\b(?:SKIP|skip): *(.*)$", part, re.M)
        if test in reasons and whole:
            reasons[test] = whole.group(1).strip()
        for case, reason in re.findall(r"^ +skip +(\w+): *(.*)$", part, re.M):
            reasons[f"{test}:{case}"] = reason.strip()
            if reasons.get(test) == "no reason given":
                del reasons[test]  # Each of its cases has its own.
    return reasons


def unexpected_skips(skips):
    rules = expected_skips()
    return [f"unexpected skip: {test}: {reason} (tests/expected-skips.txt does not list it)"
            for test, reason in sorted(skips.items())
            if not any(name.fullmatch(test) and why.search(reason) for name, why in rules)]


def tests_of(build_dir):
    """{test: its properties}.  Asking CTest overwrites its log."""
    text = subprocess.run(["ctest", "--test-dir", str(build_dir), "--show-only=json-v1"],
                          check=True, capture_output=True, text=True).stdout
    return {test["name"]: {prop["name"]: prop["value"] for prop in test.get("properties", [])}
            for test in json.loads(text)["tests"]}


def careless_tests(tests):
    """Tests that xpoll_add_test did not add."""
    for test, present in tests.items():
        for name in PROPERTIES:
            if name not in present:
                yield f"{test}: no {name} (cmake/Test.cmake: xpoll_add_test)"


def run_ctest(build_dir, arguments):
    """Stream CTest; return (exit code, {test: (outcome, seconds)}, tests that failed and were
    run again, the held-back closing lines)."""
    variables = [argument for argument in arguments if re.match(r"[A-Z_]+=", argument)]
    os.environ.update(variable.split("=", 1) for variable in variables)
    command = ["ctest", "--test-dir", str(build_dir), "--output-on-failure",
               "--no-tests=error", *(word for word in arguments if word not in variables)]
    closing, ended, again = [], {}, []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as ctest:
        for line in ctest.stdout:
            if closing or CLOSING.match(line):
                closing.append(line)
            else:
                print(line, end="", flush=True)
            end = ENDED.match(line)
            if end:
                if end.group(1) in ended and end.group(2) == "Passed":
                    again.append(end.group(1))
                ended[end.group(1)] = (end.group(2), float(end.group(3)))
    return ctest.returncode, ended, again, closing


def record_of(suite, tests, ended, skips):
    """What a run leaves for the tables."""
    def outcome(word):
        return {"Passed": "passed", "Skipped": "skipped"}.get(word, "failed")

    return {"suite": suite, "skips": skips,
            "tests": [{"name": name, "outcome": outcome(word), "seconds": seconds,
                       "labels": tests.get(name, {}).get("LABELS", [])}
                      for name, (word, seconds) in ended.items()]}


def run(options):
    build_dir = options.build_dir.resolve()
    tests = tests_of(build_dir)
    findings = list(careless_tests(tests))
    start = time.monotonic()
    code, ended, again, closing = run_ctest(build_dir, options.arguments)
    skips = skip_reasons(build_dir, [name for name, (word, _) in ended.items()
                                     if word == "Skipped"])
    findings += unexpected_skips(skips)

    record = record_of(options.suite or build_dir.name, tests, ended, skips)
    record["build"] = str(options.build_dir)
    record["seconds"] = time.monotonic() - start
    record["again"] = again
    record["findings"] = findings if options.strict else []
    if closing and options.suite:
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / f"{options.suite}.json").write_text(json.dumps(record))
    if len(ended) > 1:
        testtable.print_suites([record])
        testtable.print_skips([record])
        print()
    for finding in findings:
        print(finding)
    sys.stdout.writelines(closing)
    if not options.suite and ended:
        testtable.print_verdict([record])
    sys.stdout.flush()
    if code == 0 and findings and options.strict:
        print("dev: the tests passed, but what stands above them is a failure here",
              file=sys.stderr)
        return 1
    return code


def summary(_options):
    records = [json.loads(path.read_text())
               for path in sorted(RESULTS.glob("*.json"), key=lambda p: p.stat().st_mtime)]
    if not records:
        print("dev: no test ran", file=sys.stderr)
        return 1
    testtable.print_suites(records)
    testtable.print_skips(records)
    testtable.print_runs(records)
    failed = testtable.print_failures(records)
    testtable.print_findings(records)
    testtable.print_again(records)
    count = sum(len(record["tests"]) for record in records)
    percent = 100 * (count - failed) // max(count, 1)
    print(f"\n{percent}% tests passed, {failed} tests failed out of {count}")
    testtable.print_verdict(records)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("run")
    verb.add_argument("--strict", action="store_true")
    verb.add_argument("--suite")
    verb.add_argument("build_dir", type=Path)
    verb.add_argument("arguments", nargs=argparse.REMAINDER)
    verb.set_defaults(call=run)
    verbs.add_parser("summary").set_defaults(call=summary)
    options = parser.parse_args()
    sys.exit(options.call(options))


if __name__ == "__main__":
    main()
