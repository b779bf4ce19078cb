#!/usr/bin/env python3
"""What other thresholds would cost: the tables of docs/decisions/0020-thresholds.md.

    bench/tune/tune.py [THRESHOLD...] [--seconds S] [--rounds R]

Builds the library once for each value, in build/tune, and runs program.c on each of
them in turns.  Prints Markdown: medians of the rounds.
"""

import argparse
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/tune"
NEVER = 10**6

# The file, the values, and the scenarios with their parameters.
THRESHOLDS = {
    "UNHARVESTED_MOST": ("core/create.c", [1, 4, 16, 64], [("hot", 1), ("hot", 16)]),
    "CHUNK_LEAST": (
        "core/candidate.c",
        [1, 4, 16, 64],
        [("many", 16), ("many", 64), ("many", 1000)],
    ),
    "CHUNK_MOST": ("core/candidate.c", [64, 256, 1024], [("many", 64), ("many", 1000)]),
    "FRUITLESS_MOST": (
        "core/interest.c",
        [1, 2, 4, 8, 15, NEVER],
        [("room", 1), ("room", 2), ("room", 4), ("room", 16), ("room", 100), ("room", 1000)],
    ),
    "IDLE_CHECKS_MOST": (
        "core/candidate.c",
        [1, 2, 4, 8, NEVER],
        [("pause", 1), ("pause", 4), ("pause", 16), ("pause", 100), ("room", 4), ("room", 16)],
    ),
    "FLIPS_MOST": (
        "core/interest.c",
        [0, 2, 4],
        [("pause", 2), ("pause", 4), ("pause", 16), ("pause", 100)],
    ),
}


def complain(message):
    print(f"tune: {message}", file=sys.stderr)
    sys.exit(2)


def build(name, file, value):
    """The program on a library in which the threshold has that value."""
    tree = BUILD / f"{name}-{value}"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "src", tree / "src")
    source = tree / "src" / file
    text, count = re.subn(rf"\b{name} = \d+,", f"{name} = {value},", source.read_text())
    if count != 1:
        complain(f"{file} does not set {name}")
    source.write_text(text)
    units = ROOT / "build/release/src/CMakeFiles/xpoll_objects.dir/Unity/unity_0_c.c"
    if not units.exists():
        complain("first ./dev build")
    unit = tree / "library.c"
    unit.write_text(units.read_text().replace(f"{ROOT}/src/", f"{tree}/src/"))
    program = tree / "program"
    subprocess.run(
        ["cc", "-std=c11", "-O2", "-D_GNU_SOURCE", "-w",
         f"-I{tree}/src", f"-I{ROOT}/include", unit, ROOT / "bench/tune/program.c",
         "-o", program, "-pthread"], check=True)
    return program


def measure(programs, scenarios, rounds, seconds):
    """Of each scenario and program the medians of what it prints."""
    seen = {}
    for _ in range(rounds):
        for scenario, parameter in scenarios:
            for value, program in programs.items():
                out = subprocess.run(
                    [program, scenario, str(parameter), str(seconds)],
                    check=True, capture_output=True, text=True).stdout
                key = scenario, parameter, value
                seen.setdefault(key, []).append([float(word) for word in out.split()])
    return {key: [statistics.median(column) for column in zip(*rows)]
            for key, rows in seen.items()}


def table(name, values, scenarios, medians):
    print(f"\n`{name}`: nanoseconds a step (system calls a step)\n")
    print("| |", " | ".join("never" if v == NEVER else str(v) for v in values), "|")
    print("|---|" + "--:|" * len(values))
    for scenario, parameter in scenarios:
        cells = []
        for value in values:
            ns, calls, waits = medians[scenario, parameter, value]
            cells.append(f"{ns:.0f} ({calls:.2f})" + (f", {waits:.0f} waits" if waits else ""))
        print(f"| {scenario} {parameter} |", " | ".join(cells), "|")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("thresholds", nargs="*", metavar="THRESHOLD",
                        help="one of " + ", ".join(THRESHOLDS) + " (default: all)")
    parser.add_argument("--seconds", type=float, default=0.1, help="of each run (default 0.1)")
    parser.add_argument("--rounds", type=int, default=9, help="default 9")
    options = parser.parse_args()
    for name in options.thresholds or THRESHOLDS:
        if name not in THRESHOLDS:
            complain(f"{name}: no such threshold; there are " + ", ".join(THRESHOLDS))
        file, values, scenarios = THRESHOLDS[name]
        programs = {value: build(name, file, value) for value in values}
        table(name, values, scenarios,
              measure(programs, scenarios, options.rounds, options.seconds))


if __name__ == "__main__":
    main()
