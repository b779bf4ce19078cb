#!/usr/bin/env python3
"""How much of src/ the tests have run, line by line and branch by branch.

  coverage.py [--least PERCENT] [--new COUNT] [--list] BUILD_DIR

Reads what a build of the coverage preset has left behind, by means of gcov.
Prints one row per file with the lines that never ran and are not in
scripts/uncovered.txt, and the totals; exit 1 when the total of lines is below
--least, or when there are more than --new of those lines: chance and the machine
account for a few.  --list prints entries for all lines that never ran.
"""
import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import reasons

ROOT = Path(__file__).resolve().parent.parent
UNCOVERED = ROOT / "scripts" / "uncovered.txt"


def counts(build_dir):
    """{file below src/: {line: times run}} and the same of (line, nth branch)."""
    lines, branches = (defaultdict(lambda: defaultdict(int)) for _ in range(2))
    for data in sorted((build_dir / "src").rglob("*.gcda")):
        report = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout",
                                 str(data)], check=True, capture_output=True, text=True).stdout
        for file in json.loads(report)["files"]:
            path = Path(build_dir / file["file"]).resolve()
            if ROOT / "src" not in path.parents:
                continue
            name = str(path.relative_to(ROOT))
            for line in file["lines"]:
                number = line["line_number"]
                lines[name][number] += line["count"]
                for nth, branch in enumerate(line["branches"]):
                    if not branch["throw"]:
                        branches[name][number, nth] += branch["count"]
    return lines, branches


def ranges(numbers):
    """[1, 2, 3, 7] as "1-3 7"."""
    runs = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def justified():
    """{(file, text of a line): how many such lines}."""
    entries = Counter()
    for line in reasons.entries(UNCOVERED) if UNCOVERED.exists() else ():
        name, text = line.split(None, 1)
        entries[name, text.strip()] += 1
    return entries


def stale(entries):
    for (name, text), count in entries.items():
        path = ROOT / name
        here = path.exists() and [line.strip() for line in path.read_text().splitlines()]
        if not here or here.count(text) < count:
            yield f"{UNCOVERED.name}: no such line any more: {name} {text}"


def percent(parts):
    """Of dictionaries of counts."""
    all_counts = [count for part in parts for count in part.values()]
    run = sum(count > 0 for count in all_counts)
    return 100 * run / max(len(all_counts), 1), len(all_counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--new", type=int, default=0)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("build_dir", type=Path)
    options = parser.parse_args()

    lines, branches = counts(options.build_dir.resolve())
    if not lines:
        sys.exit("coverage: no data; build the coverage preset and run its tests")
    entries = justified()
    findings = list(stale(entries))
    new = 0
    for name in sorted(lines):
        left = Counter({key: count for key, count in entries.items() if key[0] == name})
        missed = []
        for number in sorted(line for line, times in lines[name].items() if times == 0):
            text = reasons.text_of(name, number)
            if options.list:
                print(f"{name} {text}")
            elif left[name, text] > 0:
                left[name, text] -= 1
            else:
                missed.append(number)
        new += len(missed)
        if not options.list:
            print(f"{name:<38}{percent([lines[name]])[0]:>6.1f} %  {ranges(missed)}")
    if options.list:
        return
    for finding in findings:
        print(finding)
    total, count = percent(lines.values())
    print(f"coverage: {percent(branches.values())[0]:.1f} % of the branches in src/")
    print(f"coverage: {total:.1f} % of {count} lines in src/ (at least {options.least} %); "
          f"{new} never ran and have no reason in scripts/{UNCOVERED.name}")
    sys.exit(1 if total < options.least or new > options.new else 0)


if __name__ == "__main__":
    main()
