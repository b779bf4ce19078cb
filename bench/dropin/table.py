#!/usr/bin/env python3
"""The poll(2) drop-in beside the kernel's poll(2), in each regime: a table in Markdown.

    bench/dropin/table.py [--library FILE] [--n N,...] [--kind KIND,...] [--warm SECONDS]

How many are ready, by how many there are and how many of them change between two calls.  A
figure is the processor time of the program with the drop-in over that without: the least of
rounds in which both run in turns.  Where one is closed in each round, what closing and opening
it takes without the drop-in is taken off both.
"""

import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/dropin-table"
READY = (0, 1, 5, 10, 25, 50, 75, 90, 100)
CHURN = ((0, "none"), (1, "1 closed"), (0.1, "10 % closed"), (-1, "1 changed"))


def compiled():
    BUILD.mkdir(parents=True, exist_ok=True)
    program = BUILD / "program"
    source = pathlib.Path(__file__).with_name("program.c")
    command = ["cc", "-O2", "-D_GNU_SOURCE", "-o", program, source]
    subprocess.run(command, check=True)
    return program


def measured(program, library, arguments):
    environment = dict(os.environ)
    if library:
        environment["LD_PRELOAD"] = str(library)
    result = subprocess.run(
        [program, *map(str, arguments)], env=environment, check=True, capture_output=True, text=True
    )
    return [float(word) for word in result.stdout.split()]


def ratio(options, kind, n, ready, churn):
    calls = max(200, int(options.seconds * 1e9 / (2000 + 60 * n)))
    warm = int(calls * options.warm)
    arguments = (kind, n, ready, churn, warm, calls)
    ours, real, rest = [], [], []
    for _ in range(options.rounds):
        ours.append(measured(options.program, options.library, arguments)[0])
        total, others = measured(options.program, None, arguments)
        real.append(total)
        rest.append(others if churn == 1 else 0)
    return (min(ours) - min(rest)) / (min(real) - min(rest))


def churn_of(churn, n):
    return max(1, int(churn * n)) if 0 < churn < 1 else churn


def table(options, kind, n):
    rows = [(0, "none")] if kind == "sleep" else CHURN
    print(f"\n{kind}, n = {n}\n")
    print("| ready, % |" + "".join(f" {name} |" for _, name in rows))
    print("|---|" + "---|" * len(rows))
    worst = 0
    for percent in (0,) if kind == "sleep" else options.ready:
        ready = n * percent // 100
        line = [ratio(options, kind, n, ready, churn_of(churn, n)) for churn, _ in rows]
        worst = max(worst, *line)
        print(f"| {percent} |" + "".join(f" {value:.2f} |" for value in line), flush=True)
    return worst


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    library = ROOT / "build/release/lib/libxpoll-poll.so"
    parser.add_argument("--library", type=pathlib.Path, default=library)
    parser.add_argument("--kind", default="event,unix,sleep")
    parser.add_argument("--n", type=numbers, default=[32, 100, 1000, 5000])
    parser.add_argument("--ready", type=numbers, default=READY)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each run")
    parser.add_argument("--warm", type=float, default=1, help="so much of that before it")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    options.program = compiled()
    worst = [table(options, kind, n) for kind in options.kind.split(",") for n in options.n]
    print(f"\nworst: {max(worst):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
