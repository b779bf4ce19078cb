#!/usr/bin/env python3
"""How much of src/ the tests have run, line by line.

  coverage.py [--least PERCENT] BUILD_DIR

Reads what a build of the coverage preset has left behind, by means of gcov.
Prints one row per file, the lines that never ran, and the total; exit 1 when
the total is below --least.
"""
import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def counts(build_dir):
    """{file below src/: {line: times run}}."""
    lines = defaultdict(lambda: defaultdict(int))
    for data in sorted((build_dir / "src").rglob("*.gcda")):
        report = subprocess.run(["gcov", "--json-format", "--stdout", str(data)],
                                check=True, capture_output=True, text=True).stdout
        for file in json.loads(report)["files"]:
            path = Path(build_dir / file["file"]).resolve()
            if ROOT / "src" in path.parents:
                for line in file["lines"]:
                    name = str(path.relative_to(ROOT))
                    lines[name][line["line_number"]] += line["count"]
    return lines


def ranges(numbers):
    """[1, 2, 3, 7] as "1-3 7"."""
    runs = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("build_dir", type=Path)
    options = parser.parse_args()

    total = run = 0
    for name, lines in sorted(counts(options.build_dir.resolve()).items()):
        missed = sorted(number for number, times in lines.items() if times == 0)
        total, run = total + len(lines), run + len(lines) - len(missed)
        print(f"{name:<28}{100 - 100 * len(missed) / len(lines):>6.1f} %  {ranges(missed)}")
    if not total:
        sys.exit("coverage: no data; build the coverage preset and run its tests")
    percent = 100 * run / total
    print(f"coverage: {percent:.1f} % of {total} lines in src/ (at least {options.least} %)")
    sys.exit(1 if percent < options.least else 0)


if __name__ == "__main__":
    main()
