#!/usr/bin/env python3
"""Measure everything, and make a page of it.

  main.py measure [--quick] [--only REGEX] FOLDER   run the steps, into FOLDER/*.json, and do
                                                    what page does
  main.py page [--quick] FOLDER                     make FOLDER/report.html
  main.py readme FOLDER                             put those of the README into it,
  main.py readme --only java FOLDER                 or those of java/README.md

Exit codes: 0 done, 1 a step failed (the others were run), 2 wrong arguments.
"""

import argparse
import collections
import contextlib
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "bench"))

import page as page_of  # noqa: E402
import readme as readme_of  # noqa: E402
import results as numbers  # noqa: E402
import rounds  # noqa: E402

XPOLL = os.path.join(ROOT, "build/release/bin/xpoll")
HTTP = os.path.join(ROOT, "bench/http.py")
INSTRUCTIONS = os.path.join(ROOT, "scripts/instructions.py")
START = os.path.join(ROOT, "bench/start.py")
LOOPTEST = os.path.join(ROOT, "python/bench/looptest.py")
PEERS = os.path.join(ROOT, "build/bench/peers")
# An environment with uvloop, and where the Python binding and a select.kqueue are.
PYTHON = os.path.join(ROOT, "build/bench/python")
BINDING = {"PYTHONPATH": os.path.join(ROOT, "build/release/python"),
           "KQSELECT": os.path.join(ROOT, "build/release/lib")}

# A name, a command that writes NAME.json, and about how long it takes.
Step = collections.namedtuple("Step", "name command seconds")

# Of the article's numbers of idle connections beside its 10 active ones; the last one is
# what a usual limit of 20000 descriptors leaves of its 10240.
IDLE = [10 + idle for idle in (0, 20, 80, 320, 1280, 5120, 9000)]
# The table grows by 256 descriptors at a time.
MEMORY = [1000, 1000 + 32 * 256]
# Where two processors play, a turn takes what the scheduler makes of it.
EXTRA = {"wake": ["--pin", "0"]}
# workload: variants, then sizes, seconds for each variant and rounds: of the long run, and of
# the quick one, which has 2 rounds; and what a turn takes beside its share of the seconds.
PLAN = {
    "looptest": (13, [8, 1000, 9000], 3, 20, [8, 1000, 9000], 0.3, 0.1),
    "active": (11, [1000], 3, 15, [1000], 0.6, 0.2),
    "nested": (3, [1000], 3, 15, [1000], 0.5, 0.05),
    "edge": (5, [1000], 3, 15, [1000], 0.5, 0.05),
    "dispatch": (8, [1000], 3, 15, [1000], 0.5, 0.1),
    "idle": (11, IDLE, 1, 10, IDLE[::3], 0.1, 0.05),
    "costs": (8, [10, 100, 1000, 3000, 9000], 1, 10, [10, 100, 1000], 0.2, 0.12),
    "wake": (7, [2], 3, 20, [2], 0.4, 0.05),
    "threads": (4, [256], 4, 10, [256], 0.5, 1.4),
    "hand-off": (4, [256], 4, 7, [256], 0.5, 1),
    "changes": (4, [256], 3, 7, [256], 0.3, 2.3),
    "wake-all": (4, [16], 2, 5, [16], 0.3, 2.9),
    "listener": (4, [1], 4, 10, [1], 0.3, 0.6),
    "churn": (7, [16], 3, 20, [16], 0.4, 0.05),
    "http": (6, [1010, 9010], 6, 10, [1010], 0.5, 0.25),
    "memory": (7, [10, 100, *MEMORY, 19000], 1, 5, MEMORY, 0.1, 0.05),
    "aio": (7, [10000], 4, 7, [10000], 0.2, 0.7),
    "sources": (4, [1], 4, 10, [1], 0.3, 0.3),
    "files": (5, [10, 1000, 19000], 3, 7, [1000], 0.2, 0.6),
    "track": (5, [1000], 4, 10, [200], 0.2, 0.1),
    "timers": (5, [10 ** 4, 10 ** 5, 10 ** 6, 10 ** 7], 3, 5, [10 ** 5], 0.5, 0.1),
    "user": (4, [10, 10 ** 3, 10 ** 4, 10 ** 5, 10 ** 6, 10 ** 7], 1, 5, [10 ** 4], 0.3, 0.1),
    "drop-in": (4, [16, 100, 1000, 9000], 3, 15, [16, 1000, 9000], 0.2, 0.05),
}
# Two passes over so many take longer than a turn: their rounds, and what one takes.  Few
# timers sleep until they are due far more than they work.
MANY = {("timers", 10 ** 4): (5, 2), ("timers", 10 ** 6): (3, 3),
        ("timers", 10 ** 7): (1, 30), ("user", 10 ** 7): (3, 3)}
# Whose instructions are counted: with which n, operations, and about how long that takes.
# Valgrind knows no pidfd_open(2), so sources and track are not among them; and threads that
# are always busy spin for as long as chance has it.
COUNTED = {
    "looptest": (8, 2000, 2), "active": (1000, 2000, 4), "nested": (1000, 2000, 2),
    "edge": (1000, 2000, 3), "dispatch": (1000, 2000, 3), "idle": (330, 2000, 2),
    "costs": (1000, 1, 2), "wake": (2, 300, 1), "hand-off": (256, 300, 3),
    "changes": (256, 1000, 2), "wake-all": (16, 100, 2), "listener": (1, 200, 2),
    "churn": (16, 500, 2), "http": (1010, 2000, 7), "memory": (1000, 1, 1),
    "aio": (10000, 64, 4), "files": (1000, 200, 10), "timers": (10 ** 5, 1, 11),
    "user": (10 ** 4, 1, 2), "drop-in": (1000, 2000, 1),
}
HTTP_LONG = ["--idle", "16,1000,9000", "--rounds", "4", "-t", "1"]
HTTP_QUICK = ["--idle", "1000", "--rounds", "1", "-t", "1"]


def plan(folder, quick):
    def script(name, path, seconds, *arguments):
        return Step(name, [shutil.which(PYTHON + "/bin/python") or "python3", path, "--json",
                           os.path.join(folder, name + ".json"), *arguments], seconds)

    steps = []
    for workload, (variants, sizes, seconds, rounds, few, short, turn) in PLAN.items():
        if quick:
            sizes, seconds, rounds = few, short, 2
        for n in sizes:
            name = f"{workload}-{n}"
            times, each = MANY.get((workload, n), (rounds, turn))
            command = [XPOLL, "bench", workload, "-n", str(n), "-t", str(seconds),
                       "--rounds", str(times), *EXTRA.get(workload, []),
                       "--json", os.path.join(folder, name + ".json")]
            steps.append(Step(name, command, variants * (seconds + each * times)))
        if workload in COUNTED and not quick:
            n, operations, seconds = COUNTED[workload]
            steps.append(script(f"instructions-{workload}", INSTRUCTIONS, seconds, workload,
                                str(n), str(operations)))
    for n in (8, 400) if os.path.isdir(BINDING["PYTHONPATH"] + "/xpoll") else ():
        steps.append(script(f"python-{n}", LOOPTEST, 4 if quick else 21, "-n", str(n),
                            "-t", "0.2", "--rounds", "1" if quick else "5"))
    return [*steps, script("start", START, 2 if quick else 7,
                           "--rounds", "100" if quick else "500"),
            script("http", HTTP, 45 if quick else 530, *(HTTP_QUICK if quick else HTTP_LONG))]


def forget(folder):
    """Results of an earlier run would be mixed with those of this one."""
    for quick in False, True:
        for step in plan(folder, quick):
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(folder, step.name + ".json"))


def build_rivals():
    """The programs beside which xpoll is measured; the page names those that are missing."""
    print("bench: building nginx, and the rivals in Rust and Python", file=sys.stderr)
    for command in (["sh", "tests/dropin/get-nginx.sh", "build/programs"],
                    ["sh", "bench/peers/build.sh", PEERS], ["python3", "-m", "venv", PYTHON],
                    [PYTHON + "/bin/pip", "-q", "install", "uvloop"]):
        with contextlib.suppress(FileNotFoundError):
            subprocess.run(command, cwd=ROOT, check=False)


def measure(options):
    os.environ.update(BINDING, XPOLL_BENCH_PEERS=PEERS)
    if not options.quick and not options.only:
        build_rivals()
    steps = [step for step in plan(options.folder, options.quick)
             if re.search(options.only, step.name)]
    failed, before = [], 0
    os.makedirs(options.folder, exist_ok=True)
    if not options.only:
        forget(options.folder)
    progress = rounds.Progress(sum(step.seconds for step in steps), "bench")
    for step in steps:
        progress.show(step.name, before)
        with open(os.path.join(options.folder, step.name + ".txt"), "w",
                  encoding="utf-8") as file:
            code = subprocess.run(step.command, stdout=file, stderr=subprocess.STDOUT,
                                  check=False).returncode
        if code not in (0, 77):
            failed.append(step.name)
        before = step.seconds
    progress.show("done", before)
    for name in failed:
        print(f"bench: {name} failed; {options.folder}/{name}.txt says why", file=sys.stderr)
    return page(options) or (1 if failed else 0)


def page(options):
    path = os.path.join(options.folder, "report.html")
    page_of.write(numbers.Results(options.folder), path,
                  "./dev bench" + (" --quick" if options.quick else ""))
    print(f"the page is {path}")
    return 0


def readme(options):
    results = numbers.Results(options.folder)
    if options.only == "java":
        readme_of.update_java(results, ROOT)
    else:
        readme_of.update(results, ROOT)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("measure", "page", "readme"))
    parser.add_argument("folder", nargs="?", default="build/bench")
    parser.add_argument("--quick", action="store_true", help="short turns, few sizes")
    parser.add_argument("--only", default="", help="steps whose name this finds")
    options = parser.parse_intermixed_args()
    return globals()[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
