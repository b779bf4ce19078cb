#!/usr/bin/env python3
"""Measure everything, and make a page of it.

  main.py measure [--quick] [--only REGEX] FOLDER   run the steps, into FOLDER/*.json, and do
                                                    what page does
  main.py page [--quick] FOLDER                     make FOLDER/report.html
  main.py growth FOLDER                             what grows with n, and how fast
  main.py readme FOLDER                             put those of the README into it,
  main.py readme --only java FOLDER                 or those of java/README.md

Exit codes: 0 done, 1 a step failed (the others were run), 2 wrong arguments.
"""

import argparse
import collections
import contextlib
import os
import re
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
PEERS = os.path.join(ROOT, "build/bench/peers")

# A name, a command that writes NAME.json, and about how long it takes.
Step = collections.namedtuple("Step", "name command seconds")

# The article's numbers of idle connections beside its 10 active ones; the last one is
# what a usual limit of 20000 descriptors leaves of its 10240.
IDLE = [10 + idle for idle in (0, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 9000)]
COSTS = [100, 250, 500, 750, 1000]
GROWTH = [10, *COSTS, 3000, 9000]
# The table grows by 256 descriptors at a time.
MEMORY = [1000, 1000 + 32 * 256]
MILLIONS = [10 ** power for power in range(1, 8)]
# Where two processors play, a turn takes what the scheduler makes of it.
EXTRA = {"wake": ["--pin", "0"]}
# workload: variants, then sizes, seconds for each variant and rounds: of the long run, and of
# the quick one, which has 5 rounds.
PLAN = {
    "looptest": (13, [8, 1000, 9000], 5, 25, [8, 1000, 9000], 0.3),
    "active": (11, [1000], 6, 25, [1000], 0.6),
    "nested": (3, [1000], 6, 25, [1000], 0.5),
    "edge": (5, [1000], 6, 25, [1000], 0.5),
    "dispatch": (8, [1000], 6, 25, [1000], 0.5),
    "idle": (11, IDLE, 1, 10, IDLE[::4] + IDLE[-1:], 0.1),
    "costs": (7, GROWTH, 1.5, 10, COSTS, 0.2),
    "wake": (7, [2], 4, 25, [2], 0.4),
    "threads": (4, [256], 6, 25, [256], 0.5),
    "hand-off": (4, [256], 6, 10, [256], 0.5),
    "changes": (4, [256], 4, 10, [256], 0.3),
    "wake-all": (4, [16], 4, 10, [16], 0.3),
    "listener": (4, [1], 4, 10, [1], 0.3),
    "churn": (7, [16], 4, 25, [16], 0.4),
    "http": (6, [1010, 9010], 8, 10, [1010], 0.5),
    "memory": (7, [10, 100, *MEMORY, 19000], 1, 5, MEMORY, 0.1),
    "aio": (6, [10000], 5, 10, [10000], 0.3),
    "sources": (4, [1], 5, 10, [1], 0.3),
    "files": (5, [10, 100, 1000, 10000, 19000], 5, 10, [10, 1000], 0.2),
    "track": (5, [1000], 5, 10, [200], 0.2),
    "timers": (5, MILLIONS[2:], 5, 5, [100000], 0.5),
    "user": (4, MILLIONS, 2, 5, [10000], 0.3),
    "drop-in": (4, [16, 100, 1000, 5000, 9000], 4, 20, [16, 100, 1000, 5000, 9000], 0.2),
}
HTTP_LONG = ["--idle", "0,500,1000,4000,9000", "--rounds", "5", "-t", "1"]
HTTP_QUICK = ["--idle", "1000", "--rounds", "1", "-t", "1"]


def plan(folder, quick):
    steps = []
    for workload, (variants, sizes, seconds, rounds, few, short) in PLAN.items():
        if quick:
            sizes, seconds, rounds = few, short, 5
        for n in sizes:
            name = f"{workload}-{n}"
            command = [XPOLL, "bench", workload, "-n", str(n), "-t", str(seconds),
                       "--rounds", str(rounds), *EXTRA.get(workload, []),
                       "--json", os.path.join(folder, name + ".json")]
            # Turns begin with a warm-up of up to 50 ms.
            steps.append(Step(name, command, variants * (seconds * 1.2 + 0.04 * rounds)))
    command = ["python3", HTTP, *(HTTP_QUICK if quick else HTTP_LONG), "--json",
               os.path.join(folder, "http.json")]
    return [*steps, Step("http", command, 40 if quick else 800)]


def forget(folder):
    """Results of an earlier run would be mixed with those of this one."""
    for quick in False, True:
        for step in plan(folder, quick):
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(folder, step.name + ".json"))


def build_rivals():
    """The programs beside which xpoll is measured; the page names those that are missing."""
    print("bench: building nginx, and the rivals in Rust", file=sys.stderr)
    for command in (["tests/dropin/get-nginx.sh", "build/programs"],
                    ["bench/peers/build.sh", PEERS]):
        subprocess.run(["sh", *command], cwd=ROOT, check=False)


def measure(options):
    os.environ["XPOLL_BENCH_PEERS"] = PEERS
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


def growth(options):
    print(numbers.growth_text(numbers.Results(options.folder)))
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
    parser.add_argument("what", choices=("measure", "page", "growth", "readme"))
    parser.add_argument("folder", nargs="?", default="build/bench")
    parser.add_argument("--quick", action="store_true", help="short turns, few sizes")
    parser.add_argument("--only", default="", help="steps whose name this finds")
    options = parser.parse_intermixed_args()
    return globals()[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
