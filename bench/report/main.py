#!/usr/bin/env python3
"""Measure everything, and make a page of it.

  main.py measure [--quick] [--only REGEX] FOLDER   run the steps, into FOLDER/*.json, and do
                                                    what page does
  main.py counts [COMMIT] [--only REGEX]            count system calls and instructions, and
                                                    compare them with those of a commit
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

import counts as counts_of  # noqa: E402
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
    "looptest": (14, [8, 1000, 9000], 3, 20, [8, 1000, 9000], 0.25, 0.1),
    "beside": (5, [8], 4, 15, [8], 0.2, 0.1),
    "active": (13, [1000], 3, 15, [1000], 0.5, 0.2),
    "nested": (4, [1000], 3, 15, [1000], 0.3, 0.05),
    "edge": (6, [1000], 3, 15, [1000], 0.3, 0.05),
    "dispatch": (10, [1000], 3, 15, [1000], 0.3, 0.1),
    "pause": (9, [1000], 3, 15, [1000], 0.2, 0.2),
    "unread": (5, [1], 2, 15, [1], 0.2, 0.1),
    "proxy": (9, [200, 2000], 4, 15, [200], 0.2, 0.3),
    "idle": (13, IDLE, 1, 15, IDLE[::3], 0.1, 0.05),
    "costs": (10, [10, 100, 1000, 3000, 9000], 1, 15, [10, 100, 1000], 0.1, 0.12),
    "wake": (8, [2], 3, 20, [2], 0.3, 0.05),
    "threads": (5, [256], 4, 15, [256], 0.3, 1.4),
    "pool": (5, [64], 4, 15, [64], 0.2, 1),
    "pool-both": (5, [64], 4, 15, [64], 0.2, 1),
    "echo": (5, [1000], 4, 15, [1000], 0.2, 0.3),
    "reactor": (5, [64], 4, 15, [64], 0.2, 0.6),
    "hand-off": (5, [256], 4, 15, [256], 0.3, 1),
    "changes": (5, [256], 3, 15, [256], 0.2, 2.3),
    "wake-all": (5, [16], 2, 15, [16], 0.2, 2.9),
    "listener": (5, [1], 4, 15, [1], 0.2, 0.6),
    "churn": (10, [16], 3, 20, [16], 0.3, 0.05),
    "http": (9, [1010, 9010], 5, 15, [1010], 0.3, 0.25),
    "memory": (9, [10, 100, *MEMORY, 19000], 1, 15, MEMORY, 0.1, 0.05),
    "aio": (7, [10000], 4, 15, [10000], 0.2, 0.7),
    "sources": (5, [1], 4, 15, [1], 0.2, 0.3),
    "burst": (5, [10000], 4, 15, [300], 0.2, 4),
    "files": (6, [10, 100, 1000, 19000, 100000], 3, 15, [1000], 0.2, 0.6),
    "track": (6, [1000], 4, 15, [200], 0.2, 0.1),
    "timers": (8, [10 ** 4, 10 ** 5, 10 ** 6], 3, 15, [10 ** 5], 0.4, 0.1),
    "user": (5, [10, 10 ** 3, 10 ** 4, 10 ** 5, 10 ** 6, 10 ** 7], 1, 15, [10 ** 4], 0.2, 0.1),
    "drop-in": (4, [16, 100, 1000, 9000], 3, 15, [16, 1000, 9000], 0.2, 0.05),
}
# Two passes over so many take longer than a turn: their rounds, and what one takes.  Few
# timers sleep until they are due far more than they work.
MANY = {("timers", 10 ** 4): (15, 0.1), ("timers", 10 ** 6): (15, 4),
        ("user", 10 ** 7): (3, 3), ("files", 100000): (15, 4)}
INSTRUCTIONS_S = 4  # that it takes about to count those of a workload
HTTP_LONG = ["--idle", "16,1000,9000", "--rounds", "4", "-t", "1"]
HTTP_QUICK = ["--idle", "1000", "--rounds", "1", "-t", "1"]


def plan(folder, quick):
    def script(name, path, seconds, *arguments):
        return Step(name, [shutil.which(PYTHON + "/bin/python") or "python3", path, "--json",
                           os.path.join(folder, name + ".json"), *arguments], seconds)

    steps = []
    for workload, (variants, sizes, seconds, turns, few, short, turn) in PLAN.items():
        if quick:
            sizes, seconds, turns = few, short, 2
        for n in sizes:
            name = f"{workload}-{n}"
            times, each = MANY.get((workload, n), (turns, turn))
            command = [XPOLL, "bench", workload, "-n", str(n), "-t", str(seconds),
                       "--rounds", str(times), *EXTRA.get(workload, []),
                       "--json", os.path.join(folder, name + ".json")]
            steps.append(Step(name, command, variants * (seconds + each * times)))
        if workload not in counts_of.NO_INSTRUCTIONS and not quick:
            n, operations = counts_of.COUNTED[workload]
            steps.append(script(f"instructions-{workload}", INSTRUCTIONS, INSTRUCTIONS_S,
                                workload, str(n), str(operations)))
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


def counts(options):
    names = [name for name in counts_of.COUNTED if re.search(options.only, name)]
    return counts_of.run(options.commit, names)


def readme(options):
    results = numbers.Results(options.folder)
    if options.only == "java":
        readme_of.update_java(results, ROOT)
    else:
        readme_of.update(results, ROOT)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("measure", "counts", "page", "readme"))
    parser.add_argument("folder", nargs="?", help="build/bench; of counts a commit")
    parser.add_argument("--quick", action="store_true", help="short turns, few sizes")
    parser.add_argument("--only", default="", help="steps whose name this finds")
    options = parser.parse_intermixed_args()
    options.commit = options.folder
    options.folder = options.folder or "build/bench"
    return globals()[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
