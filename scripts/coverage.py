#!/usr/bin/env python3
"""Print how much of src/ the tests have run, by lines and by branches.

  coverage.py [--least PERCENT] BUILD_DIR

Reads the data of a build of the coverage preset, with gcov.  Prints one row for each
file, with the lines that never ran, and the totals.  The exit status is 1 if the tests
ran less than --least per cent of the lines.
"""
import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


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


def percent(parts):
    """Of dictionaries of counts."""
    all_counts = [count for part in parts for count in part.values()]
    run = sum(count > 0 for count in all_counts)
    return 100 * run / max(len(all_counts), 1), len(all_counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("build_dir", type=Path)
    options = parser.parse_args()

    lines, branches = counts(options.build_dir.resolve())
    if not lines:
        sys.exit("coverage: no data; build the coverage preset and run its tests")
    for name in sorted(lines):
        missed = sorted(number for number, times in lines[name].items() if times == 0)
        print(f"{name:<38}{percent([lines[name]])[0]:>6.1f} %  {ranges(missed)}")
    total, count = percent(lines.values())
    print(f"coverage: {percent(branches.values())[0]:.1f} % of the branches in src/")
    print(f"coverage: {total:.1f} % of {count} lines in src/ (at least {options.least} %)")
    sys.exit(1 if total < options.least else 0)


if __name__ == "__main__":
    main()
